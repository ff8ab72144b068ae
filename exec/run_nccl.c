/* A rank's NCCL communicators, made on its thread, and reallocation by them. */
#include "config.h"

#include <unistd.h>

#include "exec/comm/places.h"
#include "exec/run_impl.h"
#include "graph/memory/memory_blocks.h"

#define PATIENCE 4 /* how much later than a stall its peers give up */

/* Elements in transit into or out of a rank at a time: 128 MiB of bf16, some
 * 0.3 ms of a link of 450 GB/s, so that the rounds of a window take much longer
 * than their launches.  It is little compared to a layer of 70 B parameters
 * (855 M). */
#define MOST_ELEMENTS (UINT64_C(1) << 26)
#define GIB (1024.0 * 1024 * 1024)
#define MOST_SETS 4 /* communicators for broadcasts of each reallocation */

/* Arguments and result of a rank's thread that joins. */
typedef struct {
  RaRank *rank;
  const RaNcclId *id;
  pthread_t thread;
  GError *error; /* owned */
} Joiner;

static const RaNcclApi *
api_of(const RaRun *run)
{
  return run->options.nccl->api;
}

/* Its guard says it, unless a rank has an earlier fault. */
static void
fail(const char *line, gpointer data)
{
  RaRank *rank = data;
  const RaRunOptions *o = &rank->run->options;

  ra_rank_lose(rank, line);
  if (!atomic_load(&rank->clock.is_at_work) && o->fault)
    o->fault(line, 0, o->fault_data);
  if (!atomic_load(&rank->clock.is_at_work) || !o->fault)
    g_error("%s", line);
  for (;;)
    pause();
}

static void
make_ends(RaRank *rank)
{
  const RaCommGroups *s = rank->run->splits;

  for (uint32_t i = 0; i < s->groups->len; i++)
    if (g_array_index(s->groups, RaCommGroup, i).kind != RA_GROUP_PAIR &&
        ra_comm_groups_rank_in(s, i, rank->rank) != RA_NONE)
      rank->ends[i] = ra_nccl_comm_new(rank->nccl, i);
  rank->alone =
      rank->run->n_ranks == 1 ? ra_nccl_comm_new(rank->nccl, RA_NONE) : NULL;
  rank->messages.forward = ra_nccl_pairs_new(rank->nccl, RA_STREAM_PP_SEND);
  rank->messages.backward =
      ra_nccl_pairs_new(rank->nccl, RA_STREAM_PP_SEND_BACK);
}

static gboolean
enter(RaRank *rank, GError **error)
{
  const RaRun *run = rank->run;
  int result = api_of(run)->enter(rank->device);

  if (result == RA_NCCL_OK)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE,
              "nccl: device %u of rank %u: %s", rank->device, rank->rank,
              api_of(run)->error(result, NULL));
  return FALSE;
}

/* TRUE if the device has room for the account beside the communicators. */
static gboolean
has_room(const RaRank *rank, guint64 free_bytes, GError **error)
{
  const RaRun *run = rank->run;
  const RaBackend *b = run->backend;
  guint64 n_bytes =
      ra_memory_order_peak(run->account, run->graph->lane_of_gpu[rank->gpu]) +
      (b->workspace_bytes ? b->workspace_bytes() : 0);

  if (n_bytes <= free_bytes)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
              "rank %u needs %.3f GiB, expected at most the %.3f GiB that are "
              "free on its device, where its communicators have %.3f GiB",
              rank->rank, (double)n_bytes / GIB, (double)free_bytes / GIB,
              (double)rank->memory.communicators_bytes / GIB);
  return FALSE;
}

static void *
join(void *data)
{
  Joiner *j = data;
  RaRank *rank = j->rank;
  RaRun *run = rank->run;
  RaNcclOptions options = {.api = api_of(run),
                           .patience_s = run->options.stall_s > 0
                                             ? PATIENCE * run->options.stall_s
                                             : G_MAXDOUBLE,
                           .fail = fail,
                           .fail_data = rank,
                           .device = rank->device};

  guint64 before_bytes, after_bytes, free_bytes;

  if (!enter(rank, &j->error))
    return NULL;
  before_bytes = ra_run_device_bytes(run, &free_bytes);
  rank->nccl =
      ra_nccl_new(&options, j->id, run->n_ranks, rank->rank, &j->error);
  if (rank->nccl &&
      ra_nccl_split(rank->nccl, run->splits, run->plan, &j->error)) {
    make_ends(rank);
    after_bytes = ra_run_device_bytes(run, &free_bytes);
    rank->memory.communicators_bytes =
        after_bytes - MIN(before_bytes, after_bytes);
    has_room(rank, free_bytes, &j->error);
  }
  ra_rank_leave(rank);
  return NULL;
}

void
ra_rank_enter(RaRank *rank)
{
  g_autoptr(GError) error = NULL;

  if (rank->run->options.nccl && !enter(rank, &error))
    ra_rank_lose(rank, error->message);
}

void
ra_rank_use(const RaRank *rank)
{
  if (rank->run->options.nccl)
    api_of(rank->run)->use(rank->device);
}

void
ra_rank_leave(RaRank *rank)
{
  if (rank->run->options.nccl)
    api_of(rank->run)->leave();
}

static gboolean
find_devices(RaRun *run, GError **error)
{
  uint32_t first;

  if (!ra_places_first(run->world, run->n_ranks, api_of(run)->n_devices(),
                       &first, error))
    return FALSE;
  for (uint32_t i = first; i < run->n_ranks; i++)
    run->ranks[i].device = i - first;
  return TRUE;
}

/* Between all ranks, which must be here. */
static gboolean
make_peers(RaRun *run, GError **error)
{
  g_autofree uint32_t *devices = g_new(uint32_t, run->n_ranks);

  for (uint32_t i = 0; i < run->n_ranks; i++) {
    devices[i] = run->ranks[i].device;
    if (ra_run_is_here(run, i))
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "copies between peers: rank %u is in another process, expected "
                "grouped messages",
                i);
    return FALSE;
  }
  if (!ra_peers_check(api_of(run), devices, run->n_ranks, error))
    return FALSE;
  run->peers = ra_peers_new(api_of(run), devices, run->n_ranks);
  for (uint32_t i = 0; i < run->n_ranks; i++)
    run->ranks[i].peer = ra_peers_comm_new(run->peers, i, fail, &run->ranks[i]);
  return TRUE;
}

static gboolean
share_id(RaRun *run, RaNcclId *id, GError **error)
{
  /* A process without an id does not come; the others hear of it from the
   * world. */
  if ((!run->world || run->world->process == 0) &&
      !ra_nccl_id(api_of(run), id, error))
    return FALSE;
  if (run->world)
    run->world->table->share(run->world, id, sizeof *id);
  return TRUE;
}

gboolean
ra_run_join_nccl(RaRun *run, GError **error)
{
  g_autofree Joiner *joiners = g_new0(Joiner, run->n_ranks);
  RaNcclId id = {{0}};
  gboolean is_well = TRUE;

  if (!find_devices(run, error) ||
      (run->options.nccl->by_peers && !make_peers(run, error)) ||
      !share_id(run, &id, error))
    return FALSE;
  for (uint32_t i = 0; i < run->n_ranks; i++) {
    joiners[i] = (Joiner){&run->ranks[i], &id, 0, NULL};
    if (ra_run_is_here(run, i) &&
        pthread_create(&joiners[i].thread, NULL, join, &joiners[i]) != 0)
      g_error("cannot start a thread for rank %u", i);
  }
  for (uint32_t i = 0; i < run->n_ranks; i++) {
    if (ra_run_is_here(run, i))
      pthread_join(joiners[i].thread, NULL);
    if (joiners[i].error && is_well)
      g_propagate_error(error, joiners[i].error);
    else
      g_clear_error(&joiners[i].error);
    is_well = is_well && !joiners[i].error;
  }
  for (uint32_t i = 0; i < run->n_ranks && !is_well; i++)
    if (run->ranks[i].nccl)
      ra_nccl_drop(run->ranks[i].nccl);
  return is_well;
}

/* ---- the slab -------------------------------------------------------------*/

/* Groups carry from it, and from the host's memory never.  Pairs are left out:
 * what they send is copied first (exec/comm/comm_nccl.c). */
void
ra_rank_slab_new(RaRank *rank, gsize n_bytes)
{
  const RaRun *run = rank->run;

  if (run->options.nccl && !run->backend->is_host)
    rank->memory.slab = ra_nccl_shown_new(rank->nccl, n_bytes);
  rank->memory.slab_is_shown = rank->memory.slab != NULL;
  if (!rank->memory.slab)
    rank->memory.slab = run->backend->alloc(n_bytes);
  for (uint32_t i = 0;
       rank->memory.slab_is_shown && i < run->splits->groups->len; i++)
    if (rank->ends[i])
      ra_nccl_enrol(rank->ends[i], rank->memory.slab, n_bytes);
}

void
ra_rank_slab_free(RaRank *rank)
{
  if (rank->memory.slab_is_shown)
    ra_nccl_shown_free(api_of(rank->run), rank->memory.slab);
  else
    rank->run->backend->free(rank->memory.slab);
}

/* ---- reallocation ---------------------------------------------------------*/

void
ra_run_add_rounds(RaRun *run)
{
  /* Copies are between two. */
  const RaRoundLimits limits = {MOST_ELEMENTS,
                                run->options.nccl->by_peers ? 0 : MOST_SETS};

  for (uint32_t call = 0; call < run->workload->n_calls; call++) {
    RaRounds *r;

    if (!run->slices[call])
      continue;
    r = run->rounds[call] = ra_rounds_new(run->slices[call], run->rank_of_gpu,
                                          run->n_ranks, &limits);
    run->sets[call] = g_new(uint32_t, r->n_sets + 1);
    for (uint32_t i = 0; i < r->n_sets; i++)
      run->sets[call][i] =
          ra_comm_groups_add(run->splits, call, RA_GROUP_SET, RA_STREAM_REALLOC,
                             r->set_begin[i + 1] - r->set_begin[i],
                             r->set_ranks + r->set_begin[i]);
  }
}

void
ra_rank_realloc_rounds(RaRank *rank, uint32_t call, const RaReshard *reshard,
                       const RaParams *source, RaParams *target)
{
  const RaRun *run = rank->run;
  const RaRounds *r = run->rounds[call];
  RaReshard carried = *reshard;
  g_autofree RaComm **sets = g_new0(RaComm *, r->n_sets + 1);

  for (uint32_t i = 0; i < r->n_sets; i++)
    sets[i] = rank->ends[run->sets[call][i]];
  if (rank->peer)
    carried.world = rank->peer;
  ra_reshard_rounds(&carried, r, sets, source, target);
}
