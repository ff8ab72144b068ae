/* Placement families of the literature as writers of plans.
 *
 *     RaStrategyOptions options = {.kind = RA_STRATEGY_HYBRIDFLOW};
 *     g_autoptr(RaDraft) draft =
 *         ra_strategy_plan(workload, cluster, estimator, &options, &error);
 *     if (draft)
 *       text = ra_draft_write(draft, "w.workload", "c.cluster", NULL, &error);
 *
 *     colocated      every model on all GPUs, ZeRO-3, one call after the other
 *     interleaving   the same, but models that are never trained on halves,
 *                    which work at the same time
 *     disaggregated  every model, and the shadows of trained ones that generate
 *                    or infer, on GPUs of its own
 *                    (these three: Xiao et al., arXiv 2312.11819)
 *     megatron       tp = GPUs of a node, pp = nodes, for every call (the
 *                    baseline of ReaL, arXiv 2406.14088)
 *     real           each call where the estimator says it is quickest, calls
 *                    that do not wait for each other on halves where that pays
 *                    (ReaL's kind of plan, found greedily; not its search)
 *     hybridflow     pools: models with an lm head on one, value heads on the
 *                    other; generation in the quickest layout, on the GPUs
 *                    of training (arXiv 2409.19256)
 *
 * A writer knows calls by kind, head and whether their model is trained, never
 * by name, so it serves any workload.
 */
#ifndef RA_SEARCH_FAMILY_STRATEGY_H
#define RA_SEARCH_FAMILY_STRATEGY_H

#include "estimator/estimator.h"
#include "search/family/draft.h"

typedef enum {
  RA_STRATEGY_COLOCATED,
  RA_STRATEGY_INTERLEAVING,
  RA_STRATEGY_DISAGGREGATED,
  RA_STRATEGY_MEGATRON,
  RA_STRATEGY_REAL,
  RA_STRATEGY_HYBRIDFLOW,
  RA_N_STRATEGIES
} RaStrategyKind;

/* How generation is batched: static where that has a plan, else the quicker of
 * both; static; continuous; the quicker of both. */
typedef enum {
  RA_STRATEGY_BATCHING_AUTO,
  RA_STRATEGY_BATCHING_STATIC,
  RA_STRATEGY_BATCHING_CONTINUOUS,
  RA_STRATEGY_BATCHING_QUICKEST
} RaStrategyBatching;

/* "auto", ...: NULL-terminated, by RaStrategyBatching. */
extern const char *const ra_strategy_batchings[];

/* "colocated", ...: NULL-terminated, by RaStrategyKind. */
extern const char *const ra_strategy_names[];

typedef struct {
  RaStrategyKind kind;
  const uint32_t *split; /* (n_split) nullable; disaggregated: weights of the
                            parts, in order of ra_strategy_plan()'s message;
                            hybridflow: of pools, 1: one for all, 2: by head
                            (lm:value), else one a model */
  guint n_split;
  uint32_t generate_tp; /* colocated, interleaving: generation in tp instead of
                           ZeRO-3; 0: ZeRO-3 */
  gboolean fit;         /* megatron: the least pp that fits, dp the rest */
  int batching;         /* RaStrategyBatching */
} RaStrategyOptions;

/**
 * ra_strategy_plan:
 * @workload: borrowed, outlives the draft
 * @cluster: borrowed, outlives the draft; its device filled
 * @estimator: what a call costs; asked by real, hybridflow and disaggregated
 * @options: borrowed
 * @error: %RA_ERROR_NEGATIVE `strategy: ...`: a call cannot be cut for its
 *   GPUs, it does not fit; %RA_ERROR_INPUT: a split of another number of parts
 *   (names them)
 *
 * Generation that is batched continuously has as `kv-memory` what the account
 * of the whole plan leaves (search/family/continuous.h).
 *
 * Cost: milliseconds; real simulates each call some 20 times alone.
 *
 * Returns: (transfer full): ra_draft_free() it
 */
RaDraft *ra_strategy_plan(const RaWorkload *workload, const RaCluster *cluster,
                          const RaEstimator *estimator,
                          const RaStrategyOptions *options, GError **error);

#endif
