/* What the writers of plans share.  Private to search/family/strategy*.c.
 *
 * A writer offers shapes for every call of the workload that runs on GPUs and
 * says why; ra_strategy_plan() then makes them fit.
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
  int batching; /* RaShapeBatching, of generate calls */
} RaWriter;

/* What offers shapes for the calls of a strategy; @error: NEGATIVE, INPUT. */
typedef gboolean (*RaStrategyWrite)(RaWriter *writer, GError **error);

gboolean ra_strategy_colocated(RaWriter *writer, GError **error);
gboolean ra_strategy_interleaving(RaWriter *writer, GError **error);
gboolean ra_strategy_disaggregated(RaWriter *writer, GError **error);
gboolean ra_strategy_megatron(RaWriter *writer, GError **error);
gboolean ra_strategy_real(RaWriter *writer, GError **error);
gboolean ra_strategy_hybridflow(RaWriter *writer, GError **error);

/* The call runs on GPUs, so that it needs a shape. */
gboolean ra_writer_on_gpus(const RaWriter *writer, uint32_t call);

/* Whether some call trains the model of @call. */
gboolean ra_writer_is_trained(const RaWriter *writer, uint32_t call);

/* FALSE and "'call' cannot be cut for N GPUs: ...", where @tp was asked for (0:
 * any). */
gboolean ra_writer_fail(const RaWriter *writer, uint32_t call,
                        const RaMesh *mesh, uint32_t tp, GError **error);

/* FALSE and "does not fit: 'call' ...", of a call that is too large alone. */
gboolean ra_writer_fail_fit(const RaWriter *writer, uint32_t call,
                            const RaMesh *mesh, GError **error);

/**
 * ra_writer_offer:
 * @ask: call, mesh and what else is wanted
 *
 * Offers all shapes in order of tp x pp.
 *
 * Returns: %FALSE if there is none
 */
gboolean ra_writer_offer(RaWriter *writer, const RaShapeAsk *ask,
                         GError **error);

/* Two disjoint halves of the cluster: of its nodes, or of every node; FALSE:
 * it cannot be halved. */
gboolean ra_writer_halves(const RaWriter *writer, RaMesh *out_halves);

/* Seconds of the call by itself on its mesh; negative and @error on failure. */
double ra_writer_time_s(const RaWriter *writer, uint32_t call,
                        const RaShape *shape, GError **error);

/**
 * ra_writer_timed:
 * @ask: call, mesh and what else is wanted
 * @error: the call cannot be costed
 *
 * The shapes that fit alone, quickest first by ra_writer_time_s(); those that
 * are not worth costing come last, with an infinite time: pipelines of a
 * generate call beyond twice the shortest that fits, else tp x pp beyond four
 * times the least.
 *
 * Returns: (transfer full) (element-type RaShape) (nullable): perhaps empty
 */
GArray *ra_writer_timed(const RaWriter *writer, const RaShapeAsk *ask,
                        GError **error);

#endif
