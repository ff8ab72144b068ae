/* The communicator `local`: collectives of threads in shared memory. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "exec/backend/spin_wait.h"
#include "exec/comm/comm_local.h"
#include "exec/comm/heartbeat.h"
#include "exec/comm/mailbox.h"

/* A started reduction of the whole group, or a receive. */
struct _RaCommRequest {
  RaMailbox *box;      /* borrowed; of a receive */
  RaReceipt receipt;   /* its receipt */
  RaCommRequest *next; /* younger */
  uint64_t number;     /* in the order in which they were started */
  gboolean scatters;   /* each sum goes to one member */
  RaReduce reduce;
  gsize n;
  float **data; /* (n_ranks) of the members that have come */
  uint32_t n_arrived;
  uint32_t n_left; /* members that have not waited */
  gsize n_taken;   /* chunks that somebody has taken */
  gsize n_done;    /* chunks that are done */
  double done_s;   /* when all were, monotonic */
};

/* Arguments of a member in the current collective. */
typedef struct {
  const void *in;
  void *out;
} Slot;

struct _RaLocalGroup {
  uint32_t n_ranks;
  gboolean spins;         /* waiting threads spin before they block */
  Slot *slots;            /* (n_ranks) */
  RaMailbox *mailboxes;   /* (n_ranks to, n_ranks from) */
  RaCommRequest *started; /* the oldest */
  pthread_mutex_t lock;   /* guards started */
  pthread_cond_t changed; /* the barrier, or a started reduction */
  atomic_uint n_arrived;  /* at the barrier */
  atomic_uint passed;     /* barriers, wraps */
};

typedef struct {
  RaComm comm;
  RaLocalGroup *group; /* borrowed */
  uint64_t n_started;
} LocalComm;

static RaLocalGroup *
group_of(RaComm *comm)
{
  return ((LocalComm *)comm)->group;
}

/* A barrier that a member is at. */
typedef struct {
  RaLocalGroup *group;
  unsigned passed; /* before it */
} AtBarrier;

static gboolean
has_passed(gconstpointer data)
{
  const AtBarrier *at = data;

  return atomic_load_explicit(&at->group->passed, memory_order_acquire) !=
         at->passed;
}

static void
barrier(RaComm *comm)
{
  RaLocalGroup *g = group_of(comm);
  AtBarrier at = {g, atomic_load(&g->passed)};

  if (atomic_fetch_add(&g->n_arrived, 1) + 1 == g->n_ranks) {
    atomic_store(&g->n_arrived, 0);
    pthread_mutex_lock(&g->lock);
    atomic_store(&g->passed, at.passed + 1);
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    return;
  }
  if (g->spins && ra_spin_until(has_passed, &at))
    return;
  ra_heartbeat_wait(TRUE);
  pthread_mutex_lock(&g->lock);
  while (!has_passed(&at))
    pthread_cond_wait(&g->changed, &g->lock);
  pthread_mutex_unlock(&g->lock);
  ra_heartbeat_wait(FALSE);
}

static void
arrive(RaComm *comm, const void *in, void *out)
{
  group_of(comm)->slots[comm->rank] = (Slot){.in = in, .out = out};
  barrier(comm);
}

#define TILE 256 /* floats that are reduced at a time: they stay in cache */

/* Adds elements @first to @first + @n - 1 of the members' @data in the order
 * of the ranks. */
static void
reduce_tile(const float *const *data, uint32_t n_ranks, RaReduce reduce,
            gsize first, gsize n, float *out)
{
  memcpy(out, data[0] + first, n * sizeof *out);
  for (uint32_t rank = 1; rank < n_ranks; rank++) {
    const float *x = data[rank] + first;

    if (reduce == RA_REDUCE_SUM)
      for (gsize i = 0; i < n; i++)
        out[i] += x[i];
    else
      for (gsize i = 0; i < n; i++)
        out[i] = x[i] > out[i] ? x[i] : out[i];
  }
}

/* Elements [begin, end) of all members' arrays, in place. */
static void
reduce_span(float *const *data, uint32_t n_ranks, RaReduce reduce, gsize begin,
            gsize end)
{
  float tile[TILE];

  for (gsize first = begin; first < end; first += TILE) {
    gsize n = MIN((gsize)TILE, end - first);

    reduce_tile((const float *const *)data, n_ranks, reduce, first, n, tile);
    for (uint32_t rank = 0; rank < n_ranks; rank++)
      memcpy(data[rank] + first, tile, n * sizeof *tile);
  }
}

/* The same of [begin, end) out of @n, where each sum goes to the member whose
 * part it is in. */
static void
scatter_span(float *const *data, uint32_t n_ranks, gsize n, gsize begin,
             gsize end)
{
  float tile[TILE];

  for (uint32_t rank = 0; rank < n_ranks; rank++) {
    gsize first = MAX(begin, n * rank / n_ranks);
    gsize last = MIN(end, n * (rank + 1) / n_ranks);

    for (; first < last; first += TILE) {
      gsize count = MIN((gsize)TILE, last - first);

      reduce_tile((const float *const *)data, n_ranks, RA_REDUCE_SUM, first,
                  count, tile);
      memcpy(data[rank] + first, tile, count * sizeof *tile);
    }
  }
}

static void
all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n)
{
  RaLocalGroup *g = group_of(comm);
  float **all = g_newa(float *, g->n_ranks);

  arrive(comm, NULL, data);
  for (uint32_t rank = 0; rank < g->n_ranks; rank++)
    all[rank] = g->slots[rank].out;
  reduce_span(all, g->n_ranks, reduce, n * comm->rank / g->n_ranks,
              n * (comm->rank + 1) / g->n_ranks);
  barrier(comm);
}

static void
reduce_scatter(RaComm *comm, const float *in, float *out, gsize n)
{
  RaLocalGroup *g = group_of(comm);
  const float **all = g_newa(const float *, g->n_ranks);

  arrive(comm, in, NULL);
  for (uint32_t rank = 0; rank < g->n_ranks; rank++)
    all[rank] = g->slots[rank].in;
  for (gsize first = 0; first < n; first += TILE) {
    float tile[TILE]; /* @out may be part of @in: read all first */
    gsize count = MIN((gsize)TILE, n - first);

    reduce_tile(all, g->n_ranks, RA_REDUCE_SUM, n * comm->rank + first, count,
                tile);
    memcpy(out + first, tile, count * sizeof *tile);
  }
  barrier(comm);
}

static void
all_gather(RaComm *comm, const void *in, void *out, gsize n_bytes)
{
  RaLocalGroup *g = group_of(comm);

  arrive(comm, in, NULL);
  for (uint32_t rank = 0; rank < g->n_ranks; rank++) {
    char *to = (char *)out + rank * n_bytes;

    if (to != g->slots[rank].in)
      memcpy(to, g->slots[rank].in, n_bytes);
  }
  barrier(comm);
}

static void
broadcast(RaComm *comm, uint32_t root, void *data, gsize n_bytes)
{
  arrive(comm, data, NULL);
  if (comm->rank != root)
    memcpy(data, group_of(comm)->slots[root].in, n_bytes);
  barrier(comm);
}

static void
all_to_all(RaComm *comm, const void *in, void *out, gsize n_bytes)
{
  RaLocalGroup *g = group_of(comm);

  arrive(comm, in, NULL);
  for (uint32_t rank = 0; rank < g->n_ranks; rank++)
    memcpy((char *)out + rank * n_bytes,
           (const char *)g->slots[rank].in + comm->rank * n_bytes, n_bytes);
  barrier(comm);
}

static void
send_message(RaComm *comm, uint32_t to, const void *data, gsize n_bytes)
{
  RaLocalGroup *g = group_of(comm);

  ra_mailbox_send(&g->mailboxes[to * g->n_ranks + comm->rank], data, n_bytes);
}

static void
recv_message(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  RaLocalGroup *g = group_of(comm);
  RaMailbox *box = &g->mailboxes[comm->rank * g->n_ranks + from];
  RaReceipt receipt;

  ra_mailbox_expect(box, &receipt, data, n_bytes);
  ra_heartbeat_wait(TRUE);
  ra_mailbox_wait(box, &receipt, g->spins);
  ra_heartbeat_wait(FALSE);
}

static RaCommRequest *
start_recv(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  RaLocalGroup *g = group_of(comm);
  RaCommRequest *request = g_new0(RaCommRequest, 1);

  request->box = &g->mailboxes[comm->rank * g->n_ranks + from];
  ra_mailbox_expect(request->box, &request->receipt, data, n_bytes);
  return request;
}

/* The started reduction of this number, made by the first member to arrive.
 * Locked. */
static RaCommRequest *
find_request(RaLocalGroup *g, uint64_t number)
{
  RaCommRequest **at = &g->started;

  while (*at && (*at)->number != number)
    at = &(*at)->next;
  if (!*at) {
    *at = g_new0(RaCommRequest, 1);
    (*at)->number = number;
    (*at)->data = g_new0(float *, g->n_ranks);
    (*at)->n_left = g->n_ranks;
  }
  return *at;
}

#define CHUNK ((gsize)16384) /* floats of a started reduction at a time */

static gsize
n_chunks(const RaCommRequest *request)
{
  return MAX((request->n + CHUNK - 1) / CHUNK, 1);
}

static double
now_s(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Does chunks of @request until all are taken.  Locked, but not meanwhile. */
static void
work_on(RaLocalGroup *g, RaCommRequest *request)
{
  while (request->n_taken < n_chunks(request)) {
    gsize first = CHUNK * request->n_taken++;

    pthread_mutex_unlock(&g->lock);
    if (request->scatters)
      scatter_span(request->data, g->n_ranks, request->n, first,
                   MIN(first + CHUNK, request->n));
    else
      reduce_span(request->data, g->n_ranks, request->reduce, first,
                  MIN(first + CHUNK, request->n));
    pthread_mutex_lock(&g->lock);
    if (++request->n_done < n_chunks(request))
      continue;
    request->done_s = now_s();
    pthread_cond_broadcast(&g->changed);
  }
}

/* The last member to arrive does the reduction, and members that wait help; the
 * others continue. */
static RaCommRequest *
start_reduction(RaComm *comm, RaReduce reduce, gboolean scatters, float *data,
                gsize n)
{
  RaLocalGroup *g = group_of(comm);
  RaCommRequest *request;

  pthread_mutex_lock(&g->lock);
  request = find_request(g, ((LocalComm *)comm)->n_started++);
  request->data[comm->rank] = data;
  request->reduce = reduce;
  request->scatters = scatters;
  request->n = n;
  if (++request->n_arrived == g->n_ranks) {
    pthread_cond_broadcast(&g->changed);
    work_on(g, request);
  }
  pthread_mutex_unlock(&g->lock);
  return request;
}

static RaCommRequest *
start_all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n)
{
  return start_reduction(comm, reduce, FALSE, data, n);
}

static RaCommRequest *
start_reduce_scatter(RaComm *comm, float *data, gsize n)
{
  return start_reduction(comm, RA_REDUCE_SUM, TRUE, data, n);
}

static double
wait_request(RaComm *comm, RaCommRequest *request)
{
  RaLocalGroup *g = group_of(comm);
  gboolean is_last;
  double done_s;

  if (request->box) {
    ra_heartbeat_wait(TRUE);
    ra_mailbox_wait(request->box, &request->receipt, g->spins);
    ra_heartbeat_wait(FALSE);
    g_free(request);
    return now_s();
  }
  ra_heartbeat_wait(TRUE);
  pthread_mutex_lock(&g->lock);
  while (request->n_arrived < g->n_ranks)
    pthread_cond_wait(&g->changed, &g->lock);
  work_on(g, request);
  while (request->n_done < n_chunks(request))
    pthread_cond_wait(&g->changed, &g->lock);
  ra_heartbeat_wait(FALSE);
  done_s = request->done_s;
  is_last = --request->n_left == 0;
  if (is_last) {
    RaCommRequest **at = &g->started;

    while (*at != request)
      at = &(*at)->next;
    *at = request->next;
  }
  pthread_mutex_unlock(&g->lock);
  if (is_last) {
    g_free(request->data);
    g_free(request);
  }
  return done_s;
}

static void
comm_free(RaComm *comm)
{
  g_free(comm);
}

static const RaCommTable table = {
    .name = "local",
    .shares_memory = TRUE,
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

RaLocalGroup *
ra_local_group_new(uint32_t n_ranks, gboolean spins)
{
  RaLocalGroup *g = g_new0(RaLocalGroup, 1);

  g_return_val_if_fail(n_ranks >= 1, NULL);
  g->n_ranks = n_ranks;
  g->spins = spins;
  g->slots = g_new0(Slot, n_ranks);
  g->mailboxes = g_new0(RaMailbox, (gsize)n_ranks * n_ranks);
  pthread_mutex_init(&g->lock, NULL);
  pthread_cond_init(&g->changed, NULL);
  for (uint32_t i = 0; i < n_ranks * n_ranks; i++)
    ra_mailbox_init(&g->mailboxes[i]);
  return g;
}

void
ra_local_group_free(RaLocalGroup *group)
{
  if (!group)
    return;
  for (uint32_t i = 0; i < group->n_ranks * group->n_ranks; i++)
    ra_mailbox_clear(&group->mailboxes[i]);
  pthread_cond_destroy(&group->changed);
  pthread_mutex_destroy(&group->lock);
  g_free(group->mailboxes);
  g_free(group->slots);
  g_free(group);
}

RaComm *
ra_local_comm_new(RaLocalGroup *group, uint32_t rank)
{
  LocalComm *local = g_new0(LocalComm, 1);

  local->comm =
      (RaComm){.table = &table, .rank = rank, .n_ranks = group->n_ranks};
  local->group = group;
  return &local->comm;
}
