/* The world over MPI; linked by reallot-mpi only. */
#include "config.h"

#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "exec/backend/spin_wait.h"
#include "exec/comm/cross_memory.h"
#include "exec/comm/heartbeat.h"
#include "exec/comm/mpi_impl.h"

/* A count that every MPI function takes. */
#define MOST_BYTES ((gsize)1 << 30)

static RaMpiWorld *
of(RaWorld *world)
{
  return (RaMpiWorld *)world;
}

void
ra_mpi_enter(RaMpiWorld *w)
{
  if (w->one_at_a_time)
    pthread_mutex_lock(&w->lock);
}

void
ra_mpi_leave(RaMpiWorld *w)
{
  if (w->one_at_a_time)
    pthread_mutex_unlock(&w->lock);
}

/* ---- waiting --------------------------------------------------------------*/

typedef struct {
  RaMpiWorld *world;
  gsize n;
  MPI_Request *requests;
} Awaited;

static gboolean
are_done(gconstpointer data)
{
  const Awaited *a = data;
  int done;

  ra_mpi_enter(a->world);
  MPI_Testall((int)a->n, a->requests, &done, MPI_STATUSES_IGNORE);
  ra_mpi_leave(a->world);
  return done != 0;
}

void
ra_mpi_wait(RaMpiWorld *w, gsize n, MPI_Request *requests)
{
  Awaited a = {w, n, requests};
  struct timespec nap = {0, 20 * 1000};

  if (w->world.spins && ra_spin_until(are_done, &a))
    return;
  for (guint i = 0; i < 20 && !w->world.spins; i++) {
    if (are_done(&a))
      return;
    sched_yield();
  }
  ra_heartbeat_wait(TRUE);
  while (!are_done(&a)) {
    nanosleep(&nap, NULL);
    nap.tv_nsec = MIN(nap.tv_nsec * 5 / 4, 500 * 1000);
  }
  ra_heartbeat_wait(FALSE);
}

/* Frees what has arrived; sent_lock is held. */
static void
reap_locked(RaMpiWorld *w)
{
  RaMpiSent **at = &w->sent;

  while (*at) {
    RaMpiSent *sent = *at;
    int done;

    ra_mpi_enter(w);
    MPI_Test(&sent->request, &done, MPI_STATUS_IGNORE);
    ra_mpi_leave(w);
    if (!done) {
      at = &sent->next;
      continue;
    }
    *at = sent->next;
    atomic_fetch_sub_explicit(&w->n_sent, 1, memory_order_relaxed);
    g_free(sent->data);
    g_free(sent);
  }
}

static void
reap(RaMpiWorld *w)
{
  pthread_mutex_lock(&w->sent_lock);
  reap_locked(w);
  pthread_mutex_unlock(&w->sent_lock);
}

static void
nudge(RaWorld *world)
{
  RaMpiWorld *w = of(world);

  if (atomic_load_explicit(&w->n_sent, memory_order_relaxed) == 0 ||
      pthread_mutex_trylock(&w->sent_lock) != 0)
    return;
  reap_locked(w);
  pthread_mutex_unlock(&w->sent_lock);
}

void
ra_mpi_keep(RaMpiWorld *w, MPI_Request request, void *data)
{
  RaMpiSent *sent = g_new0(RaMpiSent, 1);

  reap(w);
  sent->request = request;
  sent->data = data;
  pthread_mutex_lock(&w->sent_lock);
  sent->next = w->sent;
  w->sent = sent;
  atomic_fetch_add_explicit(&w->n_sent, 1, memory_order_relaxed);
  pthread_mutex_unlock(&w->sent_lock);
}

void
ra_mpi_recv(RaMpiWorld *w, MPI_Comm comm, int process, int tag, void *data,
            gsize n_bytes, GArray *requests)
{
  for (gsize at = 0; at < n_bytes; at += MOST_BYTES) {
    MPI_Request request;

    ra_mpi_enter(w);
    MPI_Irecv((char *)data + at, (int)MIN(n_bytes - at, MOST_BYTES), MPI_BYTE,
              process, tag, comm, &request);
    ra_mpi_leave(w);
    g_array_append_val(requests, request);
  }
}

void
ra_mpi_send(RaMpiWorld *w, MPI_Comm comm, int process, int tag,
            const void *data, gsize n_bytes, GArray *requests)
{
  for (gsize at = 0; at < n_bytes; at += MOST_BYTES) {
    MPI_Request request;

    ra_mpi_enter(w);
    MPI_Isend((const char *)data + at, (int)MIN(n_bytes - at, MOST_BYTES),
              MPI_BYTE, process, tag, comm, &request);
    ra_mpi_leave(w);
    g_array_append_val(requests, request);
  }
}

/* ---- notes ----------------------------------------------------------------*/

static void
post(RaWorld *world, uint32_t to, const void *note, gsize n_bytes)
{
  RaMpiWorld *w = of(world);
  void *copy = g_memdup2(note, n_bytes);
  MPI_Request request;

  g_return_if_fail(n_bytes > 0 && n_bytes <= RA_WORLD_NOTE_BYTES);
  ra_mpi_enter(w);
  MPI_Isend(copy, (int)n_bytes, MPI_BYTE, (int)to, 0, w->notes, &request);
  ra_mpi_leave(w);
  ra_mpi_keep(w, request, copy);
  pthread_mutex_lock(&w->sent_lock);
  w->n_posted[to]++;
  pthread_mutex_unlock(&w->sent_lock);
}

/* TRUE if there was one; take_lock is held. */
static gboolean
take_one(RaMpiWorld *w, RaWorldFunc func, gpointer data)
{
  MPI_Status status;
  int done, n = 0;

  ra_mpi_enter(w);
  MPI_Test(&w->next_note, &done, &status);
  if (done)
    MPI_Get_count(&status, MPI_BYTE, &n);
  ra_mpi_leave(w);
  if (!done)
    return FALSE;
  w->n_taken[status.MPI_SOURCE]++;
  func((uint32_t)status.MPI_SOURCE, w->note, (gsize)n, data);
  ra_mpi_enter(w);
  MPI_Start(&w->next_note);
  ra_mpi_leave(w);
  return TRUE;
}

/* One thread at a time takes; the others have what it takes. */
static void
take(RaWorld *world, RaWorldFunc func, gpointer data)
{
  RaMpiWorld *w = of(world);

  if (pthread_mutex_trylock(&w->take_lock) != 0)
    return;
  while (take_one(w, func, data))
    ;
  pthread_mutex_unlock(&w->take_lock);
}

static GPtrArray *
gather(RaWorld *world, const void *mine, gsize n_bytes)
{
  RaMpiWorld *w = of(world);
  g_autofree uint64_t *sizes = g_new0(uint64_t, world->n_processes);
  g_autoptr(GArray) requests = g_array_new(FALSE, FALSE, sizeof(MPI_Request));
  uint64_t n = n_bytes;
  MPI_Request request;
  GPtrArray *out;

  ra_mpi_enter(w);
  MPI_Igather(&n, 1, MPI_UINT64_T, sizes, 1, MPI_UINT64_T, 0, w->all, &request);
  ra_mpi_leave(w);
  ra_mpi_wait(w, 1, &request);
  if (world->process > 0) {
    ra_mpi_send(w, w->all, 0, 1, mine, n_bytes, requests);
    ra_mpi_wait(w, requests->len, (MPI_Request *)(gpointer)requests->data);
    return NULL;
  }
  out = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
  for (uint32_t p = 0; p < world->n_processes; p++) {
    char *data = p == 0 ? g_memdup2(mine, n_bytes) : g_malloc(sizes[p] + 1);

    if (p > 0)
      ra_mpi_recv(w, w->all, (int)p, 1, data, sizes[p], requests);
    g_ptr_array_add(out, g_bytes_new_take(data, sizes[p]));
  }
  ra_mpi_wait(w, requests->len, (MPI_Request *)(gpointer)requests->data);
  return out;
}

static void
share(RaWorld *world, void *data, gsize n_bytes)
{
  RaMpiWorld *w = of(world);

  for (gsize at = 0; at < n_bytes; at += MOST_BYTES) {
    MPI_Request request;

    ra_mpi_enter(w);
    MPI_Ibcast((char *)data + at, (int)MIN(n_bytes - at, MOST_BYTES), MPI_BYTE,
               0, w->all, &request);
    ra_mpi_leave(w);
    ra_mpi_wait(w, 1, &request);
  }
}

static void
pass(RaWorld *world, uint32_t from, void *data, gsize n_bytes)
{
  RaMpiWorld *w = of(world);
  g_autoptr(GArray) requests = g_array_new(FALSE, FALSE, sizeof(MPI_Request));

  if (world->process == from)
    ra_mpi_send(w, w->all, 0, 2, data, n_bytes, requests);
  else if (world->process == 0)
    ra_mpi_recv(w, w->all, (int)from, 2, data, n_bytes, requests);
  ra_mpi_wait(w, requests->len, (MPI_Request *)(gpointer)requests->data);
}

static void
settle(RaWorld *world, RaWorldFunc func, gpointer data)
{
  RaMpiWorld *w = of(world);
  uint32_t n = world->n_processes;
  g_autofree uint64_t *wanted = g_new0(uint64_t, n);
  struct timespec nap = {0, 50 * 1000};
  gboolean is_done = FALSE;
  MPI_Request request;

  ra_mpi_enter(w);
  MPI_Ialltoall(w->n_posted, 1, MPI_UINT64_T, wanted, 1, MPI_UINT64_T, w->all,
                &request);
  ra_mpi_leave(w);
  ra_mpi_wait(w, 1, &request);
  while (!is_done) {
    take(world, func, data);
    reap(w);
    is_done = w->sent == NULL;
    for (uint32_t p = 0; p < n; p++)
      is_done = is_done && w->n_taken[p] == wanted[p];
    if (!is_done)
      nanosleep(&nap, NULL);
  }
}

/* ---- coming and going -----------------------------------------------------*/

static void
name_ranks(RaWorld *world, uint32_t n_ranks)
{
  RaMpiWorld *w = of(world);
  uint32_t last = 0;
  char host[256] = "", *hosts;

  if (gethostname(host, sizeof host - 1) != 0)
    g_strlcpy(host, "?", sizeof host);
  hosts = g_malloc0((gsize)world->n_processes * sizeof host);
  MPI_Allgather(host, sizeof host, MPI_BYTE, hosts, sizeof host, MPI_BYTE,
                w->all);
  for (uint32_t p = 0, r = 0; p < world->n_processes; p++) {
    const char *at = hosts + p * sizeof host;
    g_autofree char *name = NULL;

    for (last = r;
         last < n_ranks && ra_world_process(world, last, n_ranks) == p;)
      last++;
    if (last == r)
      name = g_strdup_printf("process %u on %s", p, at);
    else if (last == r + 1)
      name = g_strdup_printf("rank %u (process %u on %s)", r, p, at);
    else
      name = g_strdup_printf("ranks %u to %u (process %u on %s)", r, last - 1,
                             p, at);
    r = last;
    ra_failure_detector_name(w->watch, p, name);
  }
  g_free(hosts);
}

static void
fail_all(RaWorld *world, int status, uint64_t order, const char *line)
{
  ra_failure_detector_fail(of(world)->watch, status, order, line);
}

static void
set_patience(RaWorld *world, double silent_s)
{
  ra_failure_detector_set_patience(of(world)->watch, silent_s);
}

static const RaWorldTable table = {
    .group_new = ra_mpi_group_new,
    .group_free = ra_mpi_group_free,
    .comm_new = ra_mpi_comm_new,
    .nudge = nudge,
    .post = post,
    .take = take,
    .settle = settle,
    .gather = gather,
    .share = share,
    .pass = pass,
    .name_ranks = name_ranks,
    .set_patience = set_patience,
    .fail = fail_all,
};

/* Processes on this machine share its cores. */
static void
count_here(RaMpiWorld *w)
{
  MPI_Comm here;
  uint32_t first = w->world.process;
  int n = 1;

  MPI_Comm_split_type(w->all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &n);
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_UINT32_T, MPI_MIN, here);
  MPI_Comm_free(&here);
  w->world.n_here = (uint32_t)n;
  w->world.first_here = first;
  w->world.spins = n <= sysconf(_SC_NPROCESSORS_ONLN);
}

static gboolean
watch_all(RaMpiWorld *w, const RaWorldHooks *hooks, GError **error)
{
  char where[RA_FAILURE_DETECTOR_WHERE_BYTES] = "";

  w->watch =
      ra_failure_detector_new(w->world.process, w->world.n_processes, hooks);
  if (w->world.process == 0 &&
      !ra_failure_detector_listen(w->watch, where, error))
    return FALSE;
  MPI_Bcast(where, sizeof where, MPI_BYTE, 0, w->all);
  return ra_failure_detector_join(w->watch, where, error);
}

static RaMpiWorld *
world_new(int level)
{
  RaMpiWorld *w = g_new0(RaMpiWorld, 1);
  int process, n;

  MPI_Comm_dup(MPI_COMM_WORLD, &w->all);
  MPI_Comm_dup(MPI_COMM_WORLD, &w->notes);
  MPI_Comm_rank(w->all, &process);
  MPI_Comm_size(w->all, &n);
  w->world = (RaWorld){.table = &table,
                       .process = (uint32_t)process,
                       .n_processes = (uint32_t)n};
  w->one_at_a_time = level < MPI_THREAD_MULTIPLE;
  pthread_mutex_init(&w->lock, NULL);
  pthread_mutex_init(&w->sent_lock, NULL);
  pthread_mutex_init(&w->take_lock, NULL);
  w->n_posted = g_new0(uint64_t, n);
  w->n_taken = g_new0(uint64_t, n);
  w->note = g_malloc(RA_WORLD_NOTE_BYTES);
  MPI_Recv_init(w->note, (int)RA_WORLD_NOTE_BYTES, MPI_BYTE, MPI_ANY_SOURCE, 0,
                w->notes, &w->next_note);
  MPI_Start(&w->next_note);
  return w;
}

gboolean
ra_world_is_linked(void)
{
  return TRUE;
}

RaWorld *
ra_world_open(const RaWorldHooks *hooks, GError **error)
{
  RaMpiWorld *w;
  int level = MPI_THREAD_SINGLE;

  /* Open MPI 4.1 does not ask before it does, and fails then. */
  if (!ra_cross_memory_allowed())
    g_setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", FALSE);
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS ||
      level < MPI_THREAD_SERIALIZED) {
    g_set_error(error, RA_ERROR, RA_ERROR_DEVICE,
                "MPI gives thread level %d, expected at least "
                "MPI_THREAD_SERIALIZED",
                level);
    return NULL;
  }
  w = world_new(level);
  count_here(w);
  if (watch_all(w, hooks, error))
    return &w->world;
  return NULL; /* the process ends: what it has goes with it */
}

void
ra_world_close(RaWorld *world, const GError *error)
{
  RaMpiWorld *w = of(world);
  MPI_Request request;

  if (!world)
    return;
  if (error)
    ra_failure_detector_fail(w->watch, ra_error_exit_status(error), 0,
                             error->message);
  ra_mpi_enter(w);
  MPI_Ibarrier(w->all, &request);
  ra_mpi_leave(w);
  ra_mpi_wait(w, 1, &request);
  ra_failure_detector_leave(w->watch);
  MPI_Cancel(&w->next_note);
  MPI_Wait(&w->next_note, MPI_STATUS_IGNORE);
  MPI_Request_free(&w->next_note);
  MPI_Comm_free(&w->notes);
  MPI_Comm_free(&w->all);
  MPI_Finalize();
  g_free(w->n_posted);
  g_free(w->n_taken);
  g_free(w->note);
  pthread_mutex_destroy(&w->lock);
  pthread_mutex_destroy(&w->sent_lock);
  pthread_mutex_destroy(&w->take_lock);
  g_free(w);
}
