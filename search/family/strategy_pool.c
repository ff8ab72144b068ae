/* Placements in pools: disaggregated (Xiao et al., arXiv 2312.11819) and
 * HybridFlow's (arXiv 2409.19256). */
#include "config.h"

#include <inttypes.h>

#include "base/error.h"
#include "graph/augment/realloc.h"
#include "search/family/pool.h"

/* A trained model's calls that do not train are its shadow's. */
static gboolean
is_shadow(const RaWriter *writer, uint32_t call)
{
  return ra_writer_is_trained(writer, call) &&
         writer->workload->calls[call].kind != RA_CALL_TRAIN;
}

/* "'--split' has 3 numbers, expected 6: actor_generate:..., or 4: ..." */
static gboolean
fail_split(const RaPools *pools, guint n_models, GError **error)
{
  const RaWorkload *workload = pools->writer->workload;
  g_autoptr(GString) names = g_string_new(NULL);
  g_autoptr(GString) models = g_string_new(NULL);

  for (guint p = 0; p < pools->n; p++)
    g_string_append_printf(names, "%s%s", p > 0 ? ":" : "",
                           ra_pools_name(pools, p));
  for (guint m = 0; m < workload->n_models; m++)
    g_string_append_printf(models, "%s%s", m > 0 ? ":" : "",
                           workload->models[m].name);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--split: %u numbers, expected %u, %s, or %u, %s",
              pools->writer->options->n_split, pools->n, names->str, n_models,
              models->str);
  return FALSE;
}

/* The user's weights: of pools, or of models, whose parts share by what they
 * cost. */
static gboolean
take_split(RaPools *pools, GError **error)
{
  const RaStrategyOptions *options = pools->writer->options;
  const RaWorkload *workload = pools->writer->workload;
  g_autofree double *sum = g_new0(double, workload->n_models + 1);

  if (options->n_split == pools->n) {
    for (guint p = 0; p < pools->n; p++)
      pools->weights[p] = options->split[p];
    return TRUE;
  }
  if (options->n_split != workload->n_models)
    return fail_split(pools, workload->n_models, error);
  for (guint p = 0; p < pools->n; p++)
    sum[pools->keys[p] / 2] += pools->gpu_s[p];
  for (guint p = 0; p < pools->n; p++) {
    uint64_t model = pools->keys[p] / 2;

    pools->weights[p] = options->split[model] * pools->gpu_s[p] / sum[model];
  }
  return TRUE;
}

static void
say_disaggregated(const RaPools *pools)
{
  RaWriter *writer = pools->writer;
  double all_gpu_s = 0;

  for (guint p = 0; p < pools->n; p++)
    all_gpu_s += pools->gpu_s[p];
  for (guint c = 0; c < pools->n_calls; c++) {
    guint p = pools->pool[c];

    if (p == RA_NONE)
      continue;
    ra_draft_say(
        writer->draft, c,
        "%" PRIu32 " dedicated GPUs%s, for %.0f %% of the GPU time.",
        ra_mesh_n_gpus(&pools->meshes[p]),
        is_shadow(writer, c) ? ", with a shadow copy of the trained model" : "",
        100 * pools->gpu_s[p] / all_gpu_s);
  }
}

gboolean
ra_strategy_disaggregated(RaWriter *writer, GError **error)
{
  const RaWorkload *workload = writer->workload;
  g_autoptr(RaPools) pools = ra_pools_new(writer);

  g_string_append(
      writer->draft->head,
      "Disaggregated placement (Xiao et al., arXiv 2312.11819): dedicated GPUs "
      "for every model, and for the shadows of trained models that generate or "
      "infer.  Chunks in the workload's edges let them work concurrently.");
  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t c = workload->order[i];

    if (ra_writer_on_gpus(writer, c))
      ra_pools_add(pools,
                   2 * (uint64_t)workload->calls[c].model +
                       (uint64_t)is_shadow(writer, c),
                   c);
  }
  if (!ra_pools_weigh(pools, error) ||
      (writer->options->n_split > 0 && !take_split(pools, error)) ||
      !ra_pools_place(pools, error) ||
      !ra_pools_offer(pools, RA_RESIDENCY_KEEP, RA_REALLOC_P2P, error))
    return FALSE;
  say_disaggregated(pools);
  return TRUE;
}

static void
say_hybridflow(const RaPools *pools)
{
  RaWriter *writer = pools->writer;
  const RaWorkload *workload = writer->workload;

  for (guint c = 0; c < pools->n_calls; c++) {
    if (pools->pool[c] == RA_NONE)
      continue;
    if (pools->n > 2)
      ra_draft_say(writer->draft, c, "Pool of its model.");
    else if (pools->n > 1)
      ra_draft_say(writer->draft, c, "Pool of the models with %s head.",
                   workload->models[workload->calls[c].model].head ==
                           RA_HEAD_VALUE
                       ? "a value"
                       : "an lm");
    if (workload->calls[c].kind == RA_CALL_GENERATE)
      ra_draft_say(
          writer->draft, c,
          "Fastest layout that fits, by the estimator, whatever the layout of "
          "training: the weights change layout within the pool.");
    else if (workload->calls[c].kind == RA_CALL_TRAIN)
      ra_draft_say(writer->draft, c, "%s",
                   writer->draft->weighs
                       ? "Fastest layout that fits, by the estimator."
                       : "Least tensor and pipeline parallelism that fits, "
                         "data parallel over the rest.");
  }
}

/* The pool of @call: by kind of head where there is more than one node, or as
 * the user's split has it: one for all, by head, by model. */
static uint64_t
hybridflow_key(const RaWriter *writer, uint32_t call)
{
  const RaWorkload *workload = writer->workload;
  const RaStrategyOptions *options = writer->options;
  uint32_t model = workload->calls[call].model;

  if (options->n_split == 1 ||
      (options->n_split == 0 && writer->cluster->n_nodes == 1))
    return 0;
  return options->n_split > 2 ? model : (uint64_t)workload->models[model].head;
}

/* The user's weights. */
static gboolean
take_pools(RaPools *pools, GError **error)
{
  const RaStrategyOptions *options = pools->writer->options;

  if (options->n_split != pools->n) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--split: %u numbers, expected 1 (one pool), 2 (models with an "
                "lm head:with a value head) or one per model, %u",
                options->n_split, pools->writer->workload->n_models);
    return FALSE;
  }
  for (guint p = 0; p < pools->n; p++)
    pools->weights[p] = options->split[pools->keys[p]];
  return TRUE;
}

/* One pool for each kind of head if both have room, else one for all. */
gboolean
ra_strategy_hybridflow(RaWriter *writer, GError **error)
{
  const RaWorkload *workload = writer->workload;
  const RaCluster *cluster = writer->cluster;
  g_autoptr(RaPools) pools = ra_pools_new(writer);

  g_string_append(
      writer->draft->head,
      "Resource pools (HybridFlow, arXiv 2409.19256): one pool for models with "
      "an lm head, another for those with a value head if there is more than "
      "one node.  Generation has another layout than training on the same "
      "GPUs, and the weights change layout in place (3D-HybridEngine).");
  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t c = workload->order[i];

    if (ra_writer_on_gpus(writer, c))
      ra_pools_add(pools, hybridflow_key(writer, c), c);
  }
  if (writer->options->n_split > 0 && !take_pools(pools, error))
    return FALSE;
  if (pools->n == 1) {
    pools->meshes[0] = ra_shape_mesh_nodes(cluster, 0, cluster->n_nodes);
    pools->even = (cluster->n_nodes & (cluster->n_nodes - 1)) == 0;
  } else if ((writer->options->n_split == 0 && !ra_pools_weigh(pools, error)) ||
             !ra_pools_place(pools, error)) {
    return FALSE;
  }
  if (!ra_pools_offer(pools, RA_RESIDENCY_RELEASE, RA_REALLOC_BROADCAST, error))
    return FALSE;
  say_hybridflow(pools);
  return TRUE;
}
