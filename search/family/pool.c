/* Pools: their weights, meshes and shapes. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "search/family/cluster_split.h"
#include "search/family/pool.h"

RaPools *
ra_pools_new(RaWriter *writer)
{
  RaPools *pools = g_new0(RaPools, 1);
  guint n = writer->workload->n_calls;

  pools->writer = writer;
  pools->even = TRUE;
  pools->n_calls = n;
  pools->pool = g_new(uint32_t, n);
  pools->keys = g_new0(uint64_t, n);
  pools->gpu_s = g_new0(double, n);
  pools->weights = g_new0(double, n);
  pools->meshes = g_new0(RaMesh, n);
  for (guint c = 0; c < n; c++)
    pools->pool[c] = RA_NONE;
  return pools;
}

void
ra_pools_free(RaPools *pools)
{
  if (!pools)
    return;
  g_free(pools->pool);
  g_free(pools->keys);
  g_free(pools->gpu_s);
  g_free(pools->weights);
  g_free(pools->meshes);
  g_free(pools);
}

void
ra_pools_add(RaPools *pools, uint64_t key, uint32_t call)
{
  guint p = 0;

  while (p < pools->n && pools->keys[p] != key)
    p++;
  if (p == pools->n)
    pools->keys[pools->n++] = key;
  pools->pool[call] = p;
}

const char *
ra_pools_name(const RaPools *pools, guint pool)
{
  const RaWorkload *workload = pools->writer->workload;

  for (guint i = 0; i < workload->n_calls; i++) {
    if (pools->pool[workload->order[i]] == pool)
      return workload->calls[workload->order[i]].name;
  }
  g_return_val_if_reached("");
}

/* Request for a call of a pool: only the optimizer state is sharded. */
static RaShapeAsk
ask_for(const RaPools *pools, uint32_t call, const RaMesh *mesh)
{
  gboolean trains = pools->writer->workload->calls[call].kind == RA_CALL_TRAIN;

  return (RaShapeAsk){.call = call,
                      .mesh = *mesh,
                      .zero = trains ? 1 : 0,
                      .recompute = RA_RECOMPUTE_SELECTIVE,
                      .even = pools->even,
                      .batching = pools->writer->batching};
}

/* Seconds of a call on all GPUs in the first shape that fits alone, or in the
 * last; what has no room on all GPUs has none on a part of them. */
static double
time_on_all_s(const RaPools *pools, uint32_t call, GError **error)
{
  const RaCluster *cluster = pools->writer->cluster;
  RaMesh all = ra_shape_mesh_nodes(cluster, 0, cluster->n_nodes);
  RaShapeAsk ask = ask_for(pools, call, &all);
  g_autoptr(GArray) shapes = NULL;
  double memory_bytes = cluster->device.memory_bytes;

  ask.even = FALSE;
  shapes = ra_shapes_new(pools->writer->workload, cluster, &ask);
  for (guint i = 0; i < shapes->len; i++) {
    const RaShape *shape = &g_array_index(shapes, RaShape, i);
    double bytes = shape->need.held_bytes + shape->need.work_bytes;

    if (bytes <= RA_NEED_LIMIT_FRAC * memory_bytes ||
        (i + 1 == shapes->len && bytes <= memory_bytes))
      return ra_writer_time_s(pools->writer, call, shape, error);
  }
  if (shapes->len > 0)
    ra_writer_fail_fit(pools->writer, call, &all, error);
  else
    ra_writer_fail(pools->writer, call, &all, 0, error);
  return -1;
}

/* Phases are told apart by what is done in them. */
static guint
phase_of(const RaPools *pools, guint pool)
{
  const RaWorkload *workload = pools->writer->workload;
  guint phase = RA_CALL_TRAIN;

  for (guint c = 0; c < workload->n_calls; c++) {
    if (pools->pool[c] == pool)
      phase = MIN(phase, (guint)workload->calls[c].kind);
  }
  return phase;
}

static gboolean
may_lag(const RaWorkload *workload)
{
  for (guint c = 0; c < workload->n_calls; c++) {
    if (workload->calls[c].staleness > 0)
      return TRUE;
  }
  return FALSE;
}

gboolean
ra_pools_weigh(RaPools *pools, GError **error)
{
  const RaWorkload *workload = pools->writer->workload;
  uint32_t n_gpus = ra_cluster_n_gpus(pools->writer->cluster);
  double phase_s[RA_CALL_HOST] = {0}, rollout = 0;

  for (guint c = 0; c < workload->n_calls; c++) {
    double time_s;

    if (pools->pool[c] == RA_NONE)
      continue;
    time_s = time_on_all_s(pools, c, error);
    if (time_s < 0)
      return FALSE;
    pools->gpu_s[pools->pool[c]] += time_s * n_gpus;
  }
  for (guint p = 0; p < pools->n; p++)
    phase_s[phase_of(pools, p)] += pools->gpu_s[p];
  for (guint k = 0; k < RA_CALL_TRAIN; k++)
    rollout += sqrt(phase_s[k]);
  for (guint p = 0; p < pools->n; p++) {
    guint phase = phase_of(pools, p);

    pools->weights[p] = pools->gpu_s[p] / sqrt(phase_s[phase]);
    if (may_lag(workload))
      pools->weights[p] *=
          phase < RA_CALL_TRAIN ? rollout : sqrt(phase_s[phase]);
  }
  return TRUE;
}

/* TRUE if the calls of a pool fit on @mesh without those of others. */
static gboolean
may_work(void *user, guint pool, const RaMesh *mesh)
{
  const RaPools *pools = user;
  const RaWriter *writer = pools->writer;
  g_autoptr(RaDraft) draft = ra_draft_new(writer->workload, writer->cluster);

  for (guint c = 0; c < pools->n_calls; c++) {
    RaShapeAsk ask;
    GArray *shapes;

    if (pools->pool[c] != pool)
      continue;
    ask = ask_for(pools, c, mesh);
    shapes = ra_shapes_new(writer->workload, writer->cluster, &ask);
    if (shapes->len == 0) {
      g_array_unref(shapes);
      return FALSE;
    }
    ra_draft_offer(draft, c, shapes);
  }
  return ra_draft_settle(draft, NULL);
}

static gboolean
fail_place(const RaPools *pools, GError **error)
{
  guint none = 0;
  uint32_t n_taken = 0;

  while (none < pools->n && pools->meshes[none].n_nodes > 0)
    n_taken += ra_mesh_n_gpus(&pools->meshes[none++]);
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
              "does not fit: '%s' finds too few GPUs, or none that divide its "
              "batch, as the calls before it need at least %" PRIu32
              " of %" PRIu32,
              ra_pools_name(pools, none), n_taken,
              ra_cluster_n_gpus(pools->writer->cluster));
  return FALSE;
}

gboolean
ra_pools_place(RaPools *pools, GError **error)
{
  const RaCluster *cluster = pools->writer->cluster;

  for (pools->even = TRUE;; pools->even = FALSE) {
    if (ra_cluster_split(cluster, pools->weights, pools->n, may_work, pools,
                         pools->meshes))
      return TRUE;
    if (!pools->even)
      break;
  }
  return fail_place(pools, error);
}

/* Where an engine takes what memory is left, every call has seconds to weigh
 * against it. */
static gboolean
is_costed(const RaWriter *writer, uint32_t call)
{
  return writer->workload->calls[call].kind == RA_CALL_GENERATE ||
         writer->batching != RA_SHAPE_STATIC;
}

static GArray *
shapes_on(const RaPools *pools, uint32_t call, const RaMesh *mesh,
          GError **error)
{
  const RaWriter *writer = pools->writer;
  RaShapeAsk ask = ask_for(pools, call, mesh);

  return is_costed(writer, call)
             ? ra_writer_timed(writer, &ask, error)
             : ra_shapes_new(writer->workload, writer->cluster, &ask);
}

gboolean
ra_pools_offer(RaPools *pools, int residency, int realloc, GError **error)
{
  RaWriter *writer = pools->writer;

  writer->draft->weighs = writer->batching != RA_SHAPE_STATIC;
  for (guint c = 0; c < pools->n_calls; c++) {
    gboolean copy = pools->pool[c] != RA_NONE &&
                    ra_writer_is_trained(writer, c) &&
                    writer->workload->calls[c].kind != RA_CALL_TRAIN;
    g_autoptr(GArray) shapes = NULL;

    if (pools->pool[c] == RA_NONE)
      continue;
    shapes = shapes_on(pools, c, &pools->meshes[pools->pool[c]], error);
    if (!shapes)
      return FALSE;
    if (shapes->len == 0)
      return ra_writer_fail_fit(writer, c, &pools->meshes[pools->pool[c]],
                                error);
    for (guint i = 0; copy && i < shapes->len; i++) {
      g_array_index(shapes, RaShape, i).plan.residency = residency;
      g_array_index(shapes, RaShape, i).plan.realloc = realloc;
    }
    ra_draft_offer(writer->draft, c, g_steal_pointer(&shapes));
  }
  return TRUE;
}
