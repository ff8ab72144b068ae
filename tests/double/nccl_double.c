/* The double of NCCL: global state, watchdog, faults, table of functions. */
#include "config.h"

#include "tests/double/nccl_double_impl.h"

NcclDouble nccl_double_all = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
_Thread_local Host *nccl_double_host;

void
nccl_double_add_active(int n)
{
  d.n_active += (guint)n; /* wraps: adds what is negative too */
  if (d.n_active > 0 || nccl_double_drive_ops())
    return;
  for (guint i = 0; i < d.streams->len; i++) {
    const Stream *s = d.streams->pdata[i];

    d.is_stuck = d.is_stuck || s->is_busy;
  }
  for (guint i = 0; i < d.hosts->len; i++)
    d.is_stuck = d.is_stuck || ((Host *)d.hosts->pdata[i])->looks;
  pthread_cond_broadcast(&d.changed);
}

void
nccl_double_look(gboolean looks)
{
  if (host && !looks)
    host->seen = NULL;
  if (!host || host->looks == looks)
    return;
  host->looks = looks;
  nccl_double_add_active(looks ? -1 : 1);
}

void
nccl_double_wake(const Stream *stream)
{
  for (guint i = 0; i < d.hosts->len; i++) {
    Host *h = d.hosts->pdata[i];

    if (h->looks && h->mark.stream == stream && h->mark.n <= stream->n_over) {
      h->looks = FALSE;
      d.n_active++;
    }
  }
}

static RaNcclApi api;

/* As many as a plan has ranks, or as the process is shown. */
static uint32_t
n_devices(void)
{
  return d.n_devices > 0 ? d.n_devices : G_MAXUINT32;
}

static int
use(uint32_t device)
{
  if (device >= n_devices())
    return NCCL_DOUBLE_USAGE;
  if (d.memory)
    d.memory->use(device);
  return RA_NCCL_OK;
}

static int
enter(uint32_t device)
{
  nccl_double_enter();
  return use(device);
}

static void
make_api(void)
{
  nccl_double_set_groups(&api);
  nccl_double_set_streams(&api);
  nccl_double_set_comms(&api);
  nccl_double_set_enrol(&api);
  api.n_devices = n_devices;
  api.use = use;
  api.enter = enter;
  api.leave = nccl_double_leave;
}

const RaNcclApi *
nccl_double(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  pthread_once(&once, make_api);
  return &api;
}

void
nccl_double_begin(uint32_t n_hosts, uint32_t seed)
{
  d.hosts = g_ptr_array_new_with_free_func(g_free);
  d.streams = g_ptr_array_new();
  d.comms = g_ptr_array_new_with_free_func(g_free);
  d.shared = g_ptr_array_new_with_free_func(nccl_double_shared_free);
  d.enrolments = g_ptr_array_new_with_free_func(g_free);
  d.n_hosts = d.n_active = d.n_absent = n_hosts; /* they are about to enter */
  d.n_inside = 0;
  d.is_stuck = FALSE;
  d.seed = seed;
  d.tally = (NcclDoubleTally){0};
  for (guint i = 0; i < NCCL_DOUBLE_N_FOLLOWS; i++) {
    d.n_follows[i] = 0;
    d.forgets[i] = FALSE;
  }
}

void
nccl_double_end(void)
{
  g_assert_cmpuint(d.streams->len, ==, 0);
  pthread_mutex_lock(&d.lock);
  d.n_ends++;
  pthread_cond_broadcast(&d.changed);
  pthread_mutex_unlock(&d.lock);
  g_ptr_array_unref(d.hosts);
  g_ptr_array_unref(d.streams);
  g_ptr_array_unref(d.comms);
  g_ptr_array_unref(d.shared);
  g_ptr_array_unref(d.enrolments);
}

void
nccl_double_enter(void)
{
  host = g_new0(Host, 1);
  pthread_mutex_lock(&d.lock);
  g_ptr_array_add(d.hosts, host);
  d.n_inside++;
  if (d.n_absent > 0)
    d.n_absent--;
  else
    d.n_active++;
  pthread_mutex_unlock(&d.lock);
}

void
nccl_double_leave(void)
{
  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  nccl_double_add_active(-1);
  if (--d.n_inside == 0 && d.n_absent == 0) {
    d.n_absent = d.n_hosts; /* they may come again, and then all do */
    d.n_active += d.n_hosts;
  }
  pthread_mutex_unlock(&d.lock);
  host = NULL;
}

void
nccl_double_set_memory(const NcclDoubleMemory *memory)
{
  d.memory = memory;
}

void
nccl_double_open(void)
{
  if (d.memory)
    d.memory->enter();
}

void
nccl_double_close(void)
{
  if (d.memory)
    d.memory->leave();
}

void
nccl_double_take(gsize made_bytes, gsize n_bytes)
{
  d.made_bytes = made_bytes;
  d.connected_bytes = n_bytes;
}

void
nccl_double_add_in_order(gboolean in_order)
{
  d.adds_in_order = in_order;
}

void
nccl_double_cut_off(gboolean is_cut)
{
  d.is_cut = is_cut;
}

void
nccl_double_forget(NcclDoubleFollow kind)
{
  pthread_mutex_lock(&d.lock);
  d.forgets[kind] = TRUE;
  pthread_mutex_unlock(&d.lock);
}

guint
nccl_double_n_follows(NcclDoubleFollow kind)
{
  guint n;

  pthread_mutex_lock(&d.lock);
  n = d.n_follows[kind];
  pthread_mutex_unlock(&d.lock);
  return n;
}

gboolean
nccl_double_is_stuck(void)
{
  gboolean is_stuck;

  pthread_mutex_lock(&d.lock);
  is_stuck = d.is_stuck;
  pthread_mutex_unlock(&d.lock);
  return is_stuck;
}

void
nccl_double_fail(RaNcclHandle comm, int result)
{
  pthread_mutex_lock(&d.lock);
  for (guint i = 0; i < d.comms->len; i++)
    if (!comm || d.comms->pdata[i] == comm)
      ((Comm *)d.comms->pdata[i])->result = result;
  pthread_cond_broadcast(&d.changed);
  pthread_mutex_unlock(&d.lock);
}

NcclDoubleTally
nccl_double_tally(void)
{
  NcclDoubleTally tally;

  pthread_mutex_lock(&d.lock);
  tally = d.tally;
  pthread_mutex_unlock(&d.lock);
  return tally;
}
