/* The communicator `mpi`: members of a group in several processes.
 *
 * All operations consist of messages between members.  A process may have
 * several members of a group, while MPI's collectives are between processes;
 * and MPI leaves the order of a sum open.  Here sums are added in the order of
 * the members, so the bits are those of the communicator `local`.
 *
 * An all-reduce of n floats sends each member its part, adds, and sends the
 * sums around: 2 (N - 1) / N n floats per member, the minimum.  A small one
 * goes whole to all members through persistent requests: one latency.
 */
#include "config.h"

#include <string.h>
#include <time.h>

#include "exec/comm/mpi_impl.h"

/* Kinds of messages, in tags. */
enum { MESSAGE, FIRST, SECOND, SMALL, N_KINDS };
#define NUMBERS 1024 /* operations that tags tell apart */
#define SLOT_BITS_MOST 8
#define N_SMALL 8          /* sizes with persistent requests, of a member */
#define SMALL_BYTES 16384u /* the largest of them */

struct _RaWorldGroup {
  RaMpiWorld *world; /* borrowed */
  MPI_Comm comm;
  uint32_t n_ranks;
  int *process;   /* (n_ranks) in comm, owned */
  uint32_t *slot; /* (n_ranks) number among those of its process, owned */
  guint slot_bits;
};

/* A small sum: everybody's floats to everybody. */
typedef struct {
  gsize n; /* floats; 0: none yet */
  uint64_t used;
  float *all;            /* (n_ranks, n) owned */
  MPI_Request *requests; /* (2 (n_ranks - 1)) persistent, owned */
} Small;

typedef struct {
  RaComm comm;
  RaWorldGroup *group; /* borrowed */
  uint32_t number;     /* number of the next collective */
  uint64_t n_used;
  Small small[N_SMALL];
} MpiComm;

struct _RaCommRequest {
  RaReduce reduce;
  gboolean scatters; /* each has its part of the sum and no more */
  float *data;       /* NULL: a receive */
  gsize n;
  uint32_t number;
  float *parts;     /* (n_ranks, own span) owned */
  GArray *requests; /* MPI_Request, owned */
};

static RaWorldGroup *
group_of(RaComm *comm)
{
  return ((MpiComm *)comm)->group;
}

static int
tag_of(const RaWorldGroup *g, int kind, uint32_t number, uint32_t from,
       uint32_t to)
{
  uint32_t tag = number % NUMBERS * N_KINDS + (uint32_t)kind;

  return (int)((tag << g->slot_bits | g->slot[from]) << g->slot_bits |
               g->slot[to]);
}

static void
recv_from(RaComm *comm, uint32_t from, int kind, uint32_t number, void *data,
          gsize n_bytes, GArray *requests)
{
  RaWorldGroup *g = group_of(comm);

  ra_mpi_recv(g->world, g->comm, g->process[from],
              tag_of(g, kind, number, from, comm->rank), data, n_bytes,
              requests);
}

static void
send_to(RaComm *comm, uint32_t to, int kind, uint32_t number, const void *data,
        gsize n_bytes, GArray *requests)
{
  RaWorldGroup *g = group_of(comm);

  ra_mpi_send(g->world, g->comm, g->process[to],
              tag_of(g, kind, number, comm->rank, to), data, n_bytes, requests);
}

static GArray *
new_requests(void)
{
  return g_array_new(FALSE, FALSE, sizeof(MPI_Request));
}

/* Waits for all of @requests and empties them. */
static void
finish(RaComm *comm, GArray *requests)
{
  ra_mpi_wait(group_of(comm)->world, requests->len,
              (MPI_Request *)(gpointer)requests->data);
  g_array_set_size(requests, 0);
}

/* Adds row @rank of (n_ranks, n) @parts to @out in the order of ranks; the
 * first is there. */
static void
add_parts(const float *parts, uint32_t n_ranks, RaReduce reduce, gsize n,
          float *out)
{
  memcpy(out, parts, n * sizeof *out);
  for (uint32_t rank = 1; rank < n_ranks; rank++) {
    const float *x = parts + rank * n;

    if (reduce == RA_REDUCE_SUM)
      for (gsize i = 0; i < n; i++)
        out[i] += x[i];
    else
      for (gsize i = 0; i < n; i++)
        out[i] = x[i] > out[i] ? x[i] : out[i];
  }
}

static gsize
span_begin(const RaComm *comm, gsize n, uint32_t rank)
{
  return n * rank / comm->n_ranks;
}

static gsize
span_n(const RaComm *comm, gsize n, uint32_t rank)
{
  return span_begin(comm, n, rank + 1) - span_begin(comm, n, rank);
}

/* ---- sums -----------------------------------------------------------------*/

static RaCommRequest *
start_all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n)
{
  RaCommRequest *r = g_new0(RaCommRequest, 1);
  gsize mine = span_n(comm, n, comm->rank);

  *r = (RaCommRequest){.reduce = reduce,
                       .data = data,
                       .n = n,
                       .number = ((MpiComm *)comm)->number++,
                       .parts = g_new(float, mine * comm->n_ranks + 1),
                       .requests = new_requests()};
  for (uint32_t i = 0; i < comm->n_ranks; i++)
    if (i != comm->rank)
      recv_from(comm, i, FIRST, r->number, r->parts + i * mine,
                mine * sizeof *data, r->requests);
  for (uint32_t i = 0; i < comm->n_ranks; i++)
    if (i != comm->rank)
      send_to(comm, i, FIRST, r->number, data + span_begin(comm, n, i),
              span_n(comm, n, i) * sizeof *data, r->requests);
  memcpy(r->parts + comm->rank * mine, data + span_begin(comm, n, comm->rank),
         mine * sizeof *data);
  return r;
}

static RaCommRequest *
start_reduce_scatter(RaComm *comm, float *data, gsize n)
{
  RaCommRequest *r = start_all_reduce(comm, RA_REDUCE_SUM, data, n);

  r->scatters = TRUE;
  return r;
}

static double
wait_request(RaComm *comm, RaCommRequest *r)
{
  gsize mine = span_n(comm, r->n, comm->rank);
  float *sum = r->data ? r->data + span_begin(comm, r->n, comm->rank) : NULL;
  struct timespec t;

  finish(comm, r->requests);
  if (sum)
    add_parts(r->parts, comm->n_ranks, r->reduce, mine, sum);
  for (uint32_t i = 0; sum && !r->scatters && i < comm->n_ranks; i++)
    if (i != comm->rank) {
      recv_from(comm, i, SECOND, r->number, r->data + span_begin(comm, r->n, i),
                span_n(comm, r->n, i) * sizeof *sum, r->requests);
      send_to(comm, i, SECOND, r->number, sum, mine * sizeof *sum, r->requests);
    }
  finish(comm, r->requests);
  g_array_unref(r->requests);
  g_free(r->parts);
  g_free(r);
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
clear_small(RaComm *comm, Small *s)
{
  RaMpiWorld *w = group_of(comm)->world;

  if (s->n == 0)
    return;
  ra_mpi_enter(w);
  for (uint32_t i = 0; i < 2 * (comm->n_ranks - 1); i++)
    MPI_Request_free(&s->requests[i]);
  ra_mpi_leave(w);
  g_free(s->all);
  g_free(s->requests);
  *s = (Small){0};
}

static void
make_small(RaComm *comm, Small *s, gsize n)
{
  RaWorldGroup *g = group_of(comm);
  float *mine;
  guint k = 0;

  s->n = n;
  s->all = g_new(float, comm->n_ranks *n);
  s->requests = g_new(MPI_Request, 2 * (comm->n_ranks - 1) + 1);
  mine = s->all + comm->rank * n;
  ra_mpi_enter(g->world);
  for (uint32_t i = 0; i < comm->n_ranks; i++)
    if (i != comm->rank) {
      MPI_Recv_init(s->all + i * n, (int)n, MPI_FLOAT, g->process[i],
                    tag_of(g, SMALL, 0, i, comm->rank), g->comm,
                    &s->requests[k++]);
      MPI_Send_init(mine, (int)n, MPI_FLOAT, g->process[i],
                    tag_of(g, SMALL, 0, comm->rank, i), g->comm,
                    &s->requests[k++]);
    }
  ra_mpi_leave(g->world);
}

/* The persistent requests of sums of @n floats; the oldest make room. */
static Small *
find_small(RaComm *comm, gsize n)
{
  MpiComm *c = (MpiComm *)comm;
  Small *oldest = &c->small[0];

  for (guint i = 0; i < N_SMALL; i++) {
    if (c->small[i].n == n)
      return &c->small[i];
    if (c->small[i].used < oldest->used)
      oldest = &c->small[i];
  }
  clear_small(comm, oldest);
  make_small(comm, oldest, n);
  return oldest;
}

static void
all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n)
{
  RaMpiWorld *w = group_of(comm)->world;
  guint n_requests = 2 * (comm->n_ranks - 1);
  Small *s;

  if (n == 0)
    return;
  if (n * sizeof *data > SMALL_BYTES) {
    wait_request(comm, start_all_reduce(comm, reduce, data, n));
    return;
  }
  s = find_small(comm, n);
  s->used = ++((MpiComm *)comm)->n_used;
  memcpy(s->all + comm->rank * n, data, n * sizeof *data);
  ra_mpi_enter(w);
  MPI_Startall((int)n_requests, s->requests);
  ra_mpi_leave(w);
  ra_mpi_wait(w, n_requests, s->requests);
  add_parts(s->all, comm->n_ranks, reduce, n, data);
}

static void
reduce_scatter(RaComm *comm, const float *in, float *out, gsize n)
{
  uint32_t number = ((MpiComm *)comm)->number++;
  g_autoptr(GArray) requests = new_requests();
  g_autofree float *parts = g_new(float, n * comm->n_ranks + 1);

  for (uint32_t i = 0; i < comm->n_ranks; i++)
    if (i != comm->rank) {
      recv_from(comm, i, FIRST, number, parts + i * n, n * sizeof *in,
                requests);
      send_to(comm, i, FIRST, number, in + i * n, n * sizeof *in, requests);
    }
  memcpy(parts + comm->rank * n, in + comm->rank * n, n * sizeof *in);
  finish(comm, requests);
  add_parts(parts, comm->n_ranks, RA_REDUCE_SUM, n, out);
}

/* ---- the others -----------------------------------------------------------*/

static void
all_gather(RaComm *comm, const void *in, void *out, gsize n_bytes)
{
  uint32_t number = ((MpiComm *)comm)->number++;
  g_autoptr(GArray) requests = new_requests();
  char *mine = (char *)out + comm->rank * n_bytes;

  if (mine != in)
    memcpy(mine, in, n_bytes);
  for (uint32_t i = 0; i < comm->n_ranks; i++)
    if (i != comm->rank) {
      recv_from(comm, i, FIRST, number, (char *)out + i * n_bytes, n_bytes,
                requests);
      send_to(comm, i, FIRST, number, mine, n_bytes, requests);
    }
  finish(comm, requests);
}

static void
broadcast(RaComm *comm, uint32_t root, void *data, gsize n_bytes)
{
  uint32_t number = ((MpiComm *)comm)->number++;
  g_autoptr(GArray) requests = new_requests();

  if (comm->rank != root)
    recv_from(comm, root, FIRST, number, data, n_bytes, requests);
  for (uint32_t i = 0; comm->rank == root && i < comm->n_ranks; i++)
    if (i != root)
      send_to(comm, i, FIRST, number, data, n_bytes, requests);
  finish(comm, requests);
}

static void
all_to_all(RaComm *comm, const void *in, void *out, gsize n_bytes)
{
  uint32_t number = ((MpiComm *)comm)->number++;
  g_autoptr(GArray) requests = new_requests();

  memcpy((char *)out + comm->rank * n_bytes,
         (const char *)in + comm->rank * n_bytes, n_bytes);
  for (uint32_t i = 0; i < comm->n_ranks; i++)
    if (i != comm->rank) {
      recv_from(comm, i, FIRST, number, (char *)out + i * n_bytes, n_bytes,
                requests);
      send_to(comm, i, FIRST, number, (const char *)in + i * n_bytes, n_bytes,
              requests);
    }
  finish(comm, requests);
}

static void
send_message(RaComm *comm, uint32_t to, const void *data, gsize n_bytes)
{
  g_autoptr(GArray) requests = new_requests();
  void *copy = g_memdup2(data, MAX(n_bytes, 1));

  send_to(comm, to, MESSAGE, 0, copy, n_bytes, requests);
  for (guint i = 0; i < requests->len; i++)
    ra_mpi_keep(group_of(comm)->world, g_array_index(requests, MPI_Request, i),
                i + 1 == requests->len ? copy : NULL);
}

static void
recv_message(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  g_autoptr(GArray) requests = new_requests();

  recv_from(comm, from, MESSAGE, 0, data, n_bytes, requests);
  finish(comm, requests);
}

/* MPI keeps the order of a member's messages: receives match in the order in
 * which they are posted. */
static RaCommRequest *
start_recv(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  RaCommRequest *request = g_new0(RaCommRequest, 1);

  request->requests = new_requests();
  recv_from(comm, from, MESSAGE, 0, data, n_bytes, request->requests);
  return request;
}

/* Rounds: after round k everybody knows of 2^(k + 1) members. */
static void
barrier(RaComm *comm)
{
  g_autoptr(GArray) requests = new_requests();
  uint32_t n = comm->n_ranks;
  char sent = 0, got;

  for (uint32_t step = 1; step < n; step *= 2) {
    uint32_t number = ((MpiComm *)comm)->number++;

    recv_from(comm, (comm->rank + n - step) % n, FIRST, number, &got, 1,
              requests);
    send_to(comm, (comm->rank + step) % n, FIRST, number, &sent, 1, requests);
    finish(comm, requests);
  }
}

static void
comm_free(RaComm *comm)
{
  for (guint i = 0; i < N_SMALL; i++)
    clear_small(comm, &((MpiComm *)comm)->small[i]);
  g_free(comm);
}

static const RaCommTable table = {
    .name = "mpi",
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .all_to_all = all_to_all,
    .send = send_message,
    .recv = recv_message,
    .barrier = barrier,
    .start_all_reduce = start_all_reduce,
    .start_reduce_scatter = start_reduce_scatter,
    .start_recv = start_recv,
    .wait = wait_request,
    .free = comm_free,
};

/* ---- groups ---------------------------------------------------------------*/

/* The processes of @group, each once, in the order of their first members, as a
 * communicator of their own. */
static void
make_comm(RaWorldGroup *group, const uint32_t *process_of)
{
  RaMpiWorld *w = group->world;
  g_autofree int *processes = g_new(int, group->n_ranks);
  g_autofree uint32_t *taken = g_new0(uint32_t, group->n_ranks);
  MPI_Group all, part;
  uint32_t most = 0;
  int n = 0;

  for (uint32_t i = 0; i < group->n_ranks; i++) {
    int at = 0;

    while (at < n && processes[at] != (int)process_of[i])
      at++;
    if (at == n)
      processes[n++] = (int)process_of[i];
    group->process[i] = at;
    group->slot[i] = taken[at]++;
    most = MAX(most, group->slot[i]);
  }
  while (most >> group->slot_bits > 0)
    group->slot_bits++;
  g_assert(group->slot_bits <= SLOT_BITS_MOST);
  ra_mpi_enter(w);
  MPI_Comm_group(w->all, &all);
  MPI_Group_incl(all, n, processes, &part);
  MPI_Comm_create_group(w->all, part, 0, &group->comm);
  MPI_Group_free(&part);
  MPI_Group_free(&all);
  ra_mpi_leave(w);
}

RaWorldGroup *
ra_mpi_group_new(RaWorld *world, uint32_t n_ranks, const uint32_t *process_of)
{
  RaWorldGroup *g = g_new0(RaWorldGroup, 1);

  g->world = (RaMpiWorld *)world;
  g->n_ranks = n_ranks;
  g->process = g_new0(int, n_ranks);
  g->slot = g_new0(uint32_t, n_ranks);
  make_comm(g, process_of);
  return g;
}

void
ra_mpi_group_free(RaWorldGroup *group)
{
  if (!group)
    return;
  ra_mpi_enter(group->world);
  MPI_Comm_free(&group->comm);
  ra_mpi_leave(group->world);
  g_free(group->process);
  g_free(group->slot);
  g_free(group);
}

RaComm *
ra_mpi_comm_new(RaWorldGroup *group, uint32_t rank)
{
  MpiComm *c = g_new0(MpiComm, 1);

  c->comm = (RaComm){.table = &table, .rank = rank, .n_ranks = group->n_ranks};
  c->group = group;
  return &c->comm;
}
