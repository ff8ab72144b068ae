/* Placement strategies of the literature, which write plans.
 *
 *     RaStrategyOptions options = {.kind = RA_STRATEGY_HYBRIDFLOW};
 *     g_autoptr(RaDraft) draft =
 *         ra_strategy_plan(workload, cluster, estimator, &options, &error);
 *     if (draft)
 *       text = ra_draft_write(draft, "w.workload", "c.cluster", NULL, &error);
 *
 *     colocated      every model on all GPUs, ZeRO-3, one call after the other
 *     interleaving   the same, but models that are never trained on halves,
 *                    which run concurrently
 *     disaggregated  every model on GPUs of its own; so is the second copy of a
 *                    trained model that generates or infers
 *                    (these three: Xiao et al., arXiv 2312.11819)
 *     megatron       tp = GPUs of a node, pp = nodes, for every call (the
 *                    baseline of ReaL, arXiv 2406.14088)
 *     real           each call where the estimator says it is fastest, calls
 *                    that do not wait for each other on halves where that pays
 *                    (ReaL's kind of plan, found greedily; not its search)
 *     hybridflow     pools: models with an lm head on one, value heads on the
 *                    other; generation in the fastest layout, on the GPUs
 *                    of training (arXiv 2409.19256)
 *
 * A writer identifies calls by kind, head and whether their model is trained,
 * never by name, so it serves any workload.
 */
#ifndef RA_SEARCH_FAMILY_STRATEGY_H
#define RA_SEARCH_FAMILY_STRATEGY_H

#include "base/until.h"
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

/* Batching of generation.  AUTO: static if that yields a plan, else the faster
 * of both.  STATIC and CONTINUOUS: only that kind.  QUICKEST: the faster of
 * both. */
typedef enum {
  RA_STRATEGY_BATCHING_AUTO,
  RA_STRATEGY_BATCHING_STATIC,
  RA_STRATEGY_BATCHING_CONTINUOUS,
  RA_STRATEGY_BATCHING_QUICKEST
} RaStrategyBatching;

/* Names "auto", ...: NULL-terminated, by RaStrategyBatching. */
extern const char *const ra_strategy_batchings[];

/* Names "colocated", ...: NULL-terminated, by RaStrategyKind. */
extern const char *const ra_strategy_names[];

typedef struct {
  RaStrategyKind kind;
  const uint32_t *split; /* (n_split) nullable; disaggregated: weights of the
                            parts, in the order of ra_strategy_plan()'s message;
                            hybridflow: number of pools, 1: one for all, 2: by
                            head (lm:value), else one per model */
  guint n_split;
  uint32_t generate_tp; /* colocated, interleaving: tp of generation instead of
                           ZeRO-3; 0: ZeRO-3 */
  gboolean fit;         /* megatron: the least pp that fits; dp is the rest */
  int batching;         /* RaStrategyBatching */
  const RaUntil *until; /* nullable: when over, planning is refused */
} RaStrategyOptions;

/**
 * ra_strategy_plan:
 * @workload: borrowed, outlives the draft
 * @cluster: borrowed, outlives the draft; its device filled
 * @estimator: source of call costs for real, hybridflow and disaggregated
 * @options: borrowed
 * @error: %RA_ERROR_NEGATIVE `strategy: ...`: a call cannot be cut for its
 *   GPUs, or does not fit, or the time is up; %RA_ERROR_INPUT: the split has
 *   the wrong number of parts (the message names them)
 *
 * Where the sequences do not divide among the GPUs of a node (72), as many as
 * a power of two (64) are used; where all nodes (12) have no plan, as many of
 * them as a power of two (8).
 *
 * Continuously batched generation gets as `kv-memory` what the memory account
 * of the whole plan leaves (search/family/continuous.h).
 *
 * Cost: milliseconds; real simulates each isolated call some 20 times.
 *
 * Returns: (transfer full): free with ra_draft_free()
 */
RaDraft *ra_strategy_plan(const RaWorkload *workload, const RaCluster *cluster,
                          const RaEstimator *estimator,
                          const RaStrategyOptions *options, GError **error);

#endif
