/* Shared parts of the plan writers; private to search/family/strategy*.c.
 *
 * A writer offers shapes for every call of the workload that runs on GPUs and
 * gives its reasons.  ra_strategy_plan() then makes the shapes fit.
 */
#ifndef RA_SEARCH_FAMILY_STRATEGY_IMPL_H
#define RA_SEARCH_FAMILY_STRATEGY_IMPL_H

#include "search/family/strategy.h"

typedef struct {
  const RaWorkload *workload;
  const RaCluster *cluster;
  const RaEstimator *estimator;
  const RaStrategyOptions *options;
  RaDraft *draft;
  int batching; /* RaShapeBatching of generate calls */
} RaWriter;

/* A writer: offers shapes for the calls of a strategy; @error: NEGATIVE, INPUT.
 */
typedef gboolean (*RaStrategyWrite)(RaWriter *writer, GError **error);

gboolean ra_strategy_colocated(RaWriter *writer, GError **error);
gboolean ra_strategy_interleaving(RaWriter *writer, GError **error);
gboolean ra_strategy_disaggregated(RaWriter *writer, GError **error);
gboolean ra_strategy_megatron(RaWriter *writer, GError **error);
gboolean ra_strategy_real(RaWriter *writer, GError **error);
gboolean ra_strategy_hybridflow(RaWriter *writer, GError **error);

/* TRUE if the call runs on GPUs, so that it needs a shape. */
gboolean ra_writer_on_gpus(const RaWriter *writer, uint32_t call);

/* TRUE if some call trains the model of @call. */
gboolean ra_writer_is_trained(const RaWriter *writer, uint32_t call);

/* Sets "'call' cannot be cut for N GPUs: ...", with the requested @tp (0: any),
 * and returns FALSE. */
gboolean ra_writer_fail(const RaWriter *writer, uint32_t call,
                        const RaMesh *mesh, uint32_t tp, GError **error);

/* Sets "does not fit: 'call' ..." for a call that is too large by itself, and
 * returns FALSE. */
gboolean ra_writer_fail_fit(const RaWriter *writer, uint32_t call,
                            const RaMesh *mesh, GError **error);

/**
 * ra_writer_offer:
 * @ask: call, mesh and restrictions
 *
 * Offers all shapes in order of tp x pp.
 *
 * Returns: %FALSE if there is none
 */
gboolean ra_writer_offer(RaWriter *writer, const RaShapeAsk *ask,
                         GError **error);

/* Two disjoint halves of the cluster: of its nodes, or of every node.  FALSE:
 * it cannot be halved. */
gboolean ra_writer_halves(const RaWriter *writer, RaMesh *out_halves);

/* Seconds of the isolated call on its mesh; negative, with @error, on failure.
 */
double ra_writer_time_s(const RaWriter *writer, uint32_t call,
                        const RaShape *shape, GError **error);

/**
 * ra_writer_timed:
 * @ask: call, mesh and restrictions
 * @error: the call cannot be costed
 *
 * Finds the shapes that fit by themselves, the fastest first by
 * ra_writer_time_s(). Shapes that are not worth costing come last, with an
 * infinite time: pipelines of a generate call longer than twice the shortest
 * that fits, and otherwise tp x pp above four times the least.
 *
 * Returns: (transfer full) (element-type RaShape) (nullable): perhaps empty
 */
GArray *ra_writer_timed(const RaWriter *writer, const RaShapeAsk *ask,
                        GError **error);

#endif
