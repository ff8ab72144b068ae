/* One rank's NCCL: its communicators, and the end of a run when they fail. */
#include "config.h"

#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "exec/comm/heartbeat.h"
#include "exec/comm/nccl_impl.h"

#define LOOKS 1000  /* before it sleeps between them */
#define SLEEP_US 50 /* between two looks */

double
ra_nccl_now_s(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

gboolean
ra_nccl_look_once(RaNccl *nccl, const RaNcclHandle *handles, guint n,
                  RaNcclMark mark, int *out_result)
{
  const RaNcclApi *api = nccl->options.api;
  int state = RA_NCCL_OK;

  *out_result = mark ? api->mark_look(mark) : RA_NCCL_BUSY;
  if (mark && *out_result == RA_NCCL_OK)
    return TRUE;
  if (*out_result != RA_NCCL_BUSY)
    return FALSE;
  for (guint i = 0; i < n; i++) {
    int result = api->async_error(handles[i], &state);

    *out_result = result != RA_NCCL_OK ? result : state;
    if (*out_result != RA_NCCL_OK && *out_result != RA_NCCL_BUSY)
      return FALSE;
  }
  *out_result = RA_NCCL_BUSY;
  return FALSE;
}

void
ra_nccl_pause(guint n_looks)
{
  if (n_looks > LOOKS)
    usleep(SLEEP_US);
}

gboolean
ra_nccl_look(RaNccl *nccl, const RaNcclHandle *handles, guint n,
             RaNcclMark mark, int *out_result)
{
  double begin_s = ra_nccl_now_s();
  guint n_looks = 0;
  gboolean is_done;

  ra_heartbeat_wait(TRUE);
  while (!(is_done = ra_nccl_look_once(nccl, handles, n, mark, out_result)) &&
         *out_result == RA_NCCL_BUSY &&
         ra_nccl_now_s() - begin_s < nccl->options.patience_s)
    ra_nccl_pause(++n_looks);
  ra_heartbeat_wait(FALSE);
  return is_done;
}

/* (transfer full): message why @result ends a wait. */
static char *
result_text(const RaNccl *nccl, RaNcclHandle handle, int result)
{
  if (result == RA_NCCL_BUSY)
    return g_strdup_printf(
        "no other rank arrived within %.3g s: one has died or stalled",
        nccl->options.patience_s);
  return g_strdup(nccl->options.api->error(result, handle));
}

void
ra_nccl_drop(RaNccl *nccl)
{
  const RaNcclApi *api = nccl->options.api;

  if (nccl->is_dropped || nccl->is_left)
    return;
  nccl->is_dropped = TRUE;
  for (guint i = 0; nccl->handles && i < nccl->splits->groups->len; i++)
    if (nccl->handles[i])
      api->drop(nccl->handles[i]);
  if (nccl->world)
    api->drop(nccl->world);
}

void
ra_nccl_fail(RaNccl *nccl, const char *group, RaNcclHandle handle,
             const char *what, int result)
{
  g_autofree char *why = result_text(nccl, handle, result);
  g_autofree char *line = g_strdup_printf("nccl: %s on rank %u (%s): %s", what,
                                          nccl->rank, group, why);

  ra_nccl_drop(nccl);
  nccl->options.fail(line, nccl->options.fail_data);
  g_assert_not_reached();
}

RaNcclStream
ra_nccl_stream(RaNccl *nccl, RaStream stream)
{
  int result = RA_NCCL_OK;

  if (!nccl->streams[stream])
    result = nccl->options.api->stream_new(&nccl->streams[stream]);
  if (result != RA_NCCL_OK)
    ra_nccl_fail(nccl, "device", NULL, "a stream", result);
  return nccl->streams[stream];
}

/* The power of two that holds @n_bytes. */
static guint
size_of(gsize n_bytes)
{
  return MAX(g_bit_storage(MAX(n_bytes, 1) - 1), 8);
}

void *
ra_nccl_take(RaNccl *nccl, gsize n_bytes)
{
  guint size = size_of(n_bytes);
  GPtrArray *spare = nccl->spare[size];
  void *data = NULL;
  int result;

  if (spare && spare->len > 0)
    return g_ptr_array_steal_index_fast(spare, spare->len - 1);
  result = nccl->options.api->alloc(&data, (gsize)1 << size);
  if (result != RA_NCCL_OK)
    ra_nccl_fail(nccl, "device", NULL, "memory of a message", result);
  return data;
}

void
ra_nccl_give(RaNccl *nccl, void *data, gsize n_bytes)
{
  guint size = size_of(n_bytes);

  if (!nccl->spare[size])
    nccl->spare[size] = g_ptr_array_new();
  g_ptr_array_add(nccl->spare[size], data);
}

void *
ra_nccl_shown_new(RaNccl *nccl, gsize n_bytes)
{
  const RaNcclApi *api = nccl->options.api;
  void *data = NULL;
  int result;

  if (!api->alloc_shown)
    return NULL;
  result = api->alloc_shown(&data, n_bytes);
  if (result != RA_NCCL_OK)
    ra_nccl_fail(nccl, "device", NULL, "registered memory", result);
  return data;
}

void
ra_nccl_shown_free(const RaNcclApi *api, void *data)
{
  api->free_shown(data);
}

static void
free_spare(RaNccl *nccl)
{
  for (guint size = 0; size < RA_NCCL_SIZES; size++) {
    GPtrArray *spare = nccl->spare[size];

    for (guint i = 0; spare && i < spare->len; i++)
      nccl->options.api->free(spare->pdata[i]);
    if (spare)
      g_ptr_array_unref(spare);
  }
}

/* ---- making ---------------------------------------------------------------*/

static gboolean
set_error(const RaNccl *nccl, const char *what, RaNcclHandle handle, int result,
          GError **error)
{
  g_autofree char *why = result_text(nccl, handle, result);

  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE, "nccl: %s on rank %u: %s", what,
              nccl->rank, why);
  return FALSE;
}

gboolean
ra_nccl_id(const RaNcclApi *api, RaNcclId *out_id, GError **error)
{
  int result = api->unique_id(out_id);

  if (result == RA_NCCL_OK)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE, "nccl: no unique id: %s",
              api->error(result, NULL));
  return FALSE;
}

/* Runs @call, which may wait for peers; FALSE: it failed, or goes on alone
 * (@nccl->is_left). */
static gboolean
guarded(RaNccl *nccl, int (*call)(gpointer data), gpointer data,
        GDestroyNotify free_data, const char *what, GError **error)
{
  RaNcclGuard *guard = ra_nccl_guard_start(call, data, free_data);
  int result;

  ra_heartbeat_wait(TRUE);
  nccl->is_left = !ra_nccl_guard_wait(guard, nccl->options.patience_s, &result);
  ra_heartbeat_wait(FALSE);
  if (nccl->is_left)
    result = RA_NCCL_BUSY;
  return result == RA_NCCL_OK || set_error(nccl, what, NULL, result, error);
}

/* All that makes the communicator of all; its own, so that a call that
 * is left has it. */
typedef struct {
  RaNcclOptions options;
  RaNcclId id;
  uint32_t n_ranks, rank;
  RaNcclHandle made;
} World;

static int
make_world(gpointer data)
{
  World *w = data;
  int result = w->options.api->use(w->options.device);

  return result != RA_NCCL_OK
             ? result
             : w->options.api->init(&w->made, w->n_ranks, &w->id, w->rank);
}

RaNccl *
ra_nccl_new(const RaNcclOptions *options, const RaNcclId *id, uint32_t n_ranks,
            uint32_t rank, GError **error)
{
  RaNccl *nccl = g_new0(RaNccl, 1);
  World *w = g_new(World, 1);
  gboolean is_made;

  nccl->options = *options;
  nccl->n_ranks = n_ranks;
  nccl->rank = rank;
  *w = (World){*options, *id, n_ranks, rank, NULL};
  is_made = guarded(nccl, make_world, w, g_free,
                    "the communicator of all ranks", error);
  if (is_made)
    nccl->world = w->made;
  if (!nccl->is_left)
    g_free(w);
  if (is_made)
    return nccl;
  ra_nccl_free(nccl);
  return NULL;
}

/* A block of the library takes a whole multiprocessor beside our kernels, for
 * as long as it waits for its peer: it has 640 threads, our kernels nearly all
 * registers.  NEEDSWORK: 4 is a guess; no GPU has shown with how many a message
 * between two ranks reaches its link's rate. */
static uint32_t
most_blocks(const RaCommGroups *splits, guint group)
{
  return g_array_index(splits->groups, RaCommGroup, group).kind == RA_GROUP_PAIR
             ? 4
             : 0;
}

static int
make_splits(gpointer data)
{
  RaNccl *nccl = data;
  const RaNcclApi *api = nccl->options.api;
  const RaCommGroups *splits = nccl->splits;
  int result = api->use(nccl->options.device);

  for (uint32_t i = 0; i < splits->n_splits && result == RA_NCCL_OK; i++) {
    int key, colour = ra_comm_groups_colour(splits, i, nccl->rank, &key);
    gboolean is_in = colour >= 0;

    result = api->split(nccl->world, is_in ? colour : RA_NCCL_NO_COLOUR, key,
                        is_in ? most_blocks(splits, (guint)colour) : 0,
                        is_in ? &nccl->handles[colour] : &nccl->no_group);
  }
  return result;
}

/* An operation of one number on @group, in @data of the device. */
static int
begin_small(const RaNccl *nccl, guint group, float *data, RaNcclStream stream)
{
  const RaNcclApi *api = nccl->options.api;
  RaNcclHandle handle = nccl->handles[group];

  if (g_array_index(nccl->splits->groups, RaCommGroup, group).kind !=
      RA_GROUP_PAIR)
    return api->all_reduce(data, data, 1, RA_COMM_F32, RA_REDUCE_SUM, handle,
                           stream);
  if (ra_comm_groups_rank_in(nccl->splits, group, nccl->rank) == 0)
    return api->send(data, sizeof *data, 1, handle, stream);
  return api->recv(data, sizeof *data, 0, handle, stream);
}

/* Until @stream is empty; peers that have joined may be gone by now. */
static int
drain(const RaNccl *nccl, RaNcclStream stream)
{
  const RaNcclApi *api = nccl->options.api;
  RaNcclMark mark = NULL;
  int result = api->mark_new(stream, &mark);

  for (guint n_looks = 0; result == RA_NCCL_OK; ra_nccl_pause(++n_looks)) {
    result = api->mark_look(mark);
    if (result != RA_NCCL_BUSY)
      break;
    result = RA_NCCL_OK;
    for (guint i = 0; i < nccl->splits->groups->len; i++)
      if (nccl->handles[i] && result == RA_NCCL_OK)
        api->async_error(nccl->handles[i], &result);
  }
  if (mark)
    api->mark_free(mark);
  return result;
}

/* The first operation of a communicator connects its members, which takes
 * memory and waits in the library.  All ranks go through the groups in one
 * order: the first that is not connected yet has all its members waiting. */
static int
connect_splits(gpointer data)
{
  RaNccl *nccl = data;
  const RaNcclApi *api = nccl->options.api;
  RaNcclStream stream = NULL;
  void *number = NULL;
  int result = api->use(nccl->options.device);

  if (result == RA_NCCL_OK)
    result = api->alloc(&number, sizeof(float));
  if (result == RA_NCCL_OK)
    result = api->stream_new(&stream);
  for (guint i = 0; i < nccl->splits->groups->len && result == RA_NCCL_OK; i++)
    if (nccl->handles[i])
      result = begin_small(nccl, i, number, stream);
  if (result == RA_NCCL_OK)
    result = drain(nccl, stream);
  if (stream)
    api->stream_free(stream);
  if (number)
    api->free(number);
  return result;
}

gboolean
ra_nccl_split(RaNccl *nccl, const RaCommGroups *splits, const RaPlan *plan,
              GError **error)
{
  g_return_val_if_fail(!nccl->splits, FALSE);
  nccl->splits = splits;
  nccl->plan = plan;
  nccl->handles = g_new0(RaNcclHandle, splits->groups->len + 1);
  if (guarded(nccl, make_splits, nccl, NULL, "a split", error) &&
      guarded(nccl, connect_splits, nccl, NULL, "the first operation", error))
    return TRUE;
  ra_nccl_drop(nccl);
  return FALSE;
}

static int
close_comm(const RaNccl *nccl, RaNcclHandle handle)
{
  const RaNcclApi *api = nccl->options.api;
  int result = handle ? api->finalize(handle) : RA_NCCL_OK;

  return handle && result == RA_NCCL_OK ? api->destroy(handle) : result;
}

static int
close_all(gpointer data)
{
  const RaNccl *nccl = data;
  int result = nccl->options.api->use(nccl->options.device);

  for (guint i = 0; nccl->handles && i < nccl->splits->groups->len; i++)
    if (result == RA_NCCL_OK)
      result = close_comm(nccl, nccl->handles[i]);
  return result == RA_NCCL_OK ? close_comm(nccl, nccl->world) : result;
}

static void
free_rest(gpointer data)
{
  RaNccl *nccl = data;

  for (guint i = 0; i < RA_N_STREAMS; i++)
    if (nccl->streams[i])
      nccl->options.api->stream_free(nccl->streams[i]);
  free_spare(nccl);
  g_free(nccl->handles);
  g_free(nccl);
}

void
ra_nccl_leave(RaNccl *nccl)
{
  if (nccl && nccl->world && !nccl->closing && !nccl->is_dropped &&
      !nccl->is_left)
    nccl->closing = ra_nccl_guard_start(close_all, nccl, free_rest);
}

/* Memory that a call which was left may still use is freed behind it, or
 * never. */
void
ra_nccl_free(RaNccl *nccl)
{
  RaNcclGuard *closing;
  int result;

  if (!nccl)
    return;
  ra_nccl_leave(nccl);
  closing = nccl->closing;
  if (closing ? ra_nccl_guard_wait(closing, nccl->options.patience_s, &result)
              : !nccl->is_left || !nccl->world)
    free_rest(nccl);
}
