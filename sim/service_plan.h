/* Times of a plan's rollout service (graph/input/plan_service.h) in the task
 * graph.
 *
 * The generate call has made batch k of the service when its node of iteration
 * k ends.  Versions arrive when the graph's reallocations end, which wait only
 * for earlier batches.  The graph is therefore replayed with the known batches,
 * then the service with the resulting arrivals, and so on to the last batch.  A
 * node of the call lasts from its begin in the graph until its batch is ready.
 *
 * Training uses the workload's samples in order of submission; the service's
 * own batches are in order of completion, with the same law.  At call fidelity
 * the call is the batch alone.
 */
#ifndef RA_SIM_SERVICE_PLAN_H
#define RA_SIM_SERVICE_PLAN_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

typedef struct {
  uint32_t call;
  uint32_t n_batches;  /* iterations */
  double *ready_s;     /* (n_batches) owned */
  uint64_t *staleness; /* (n_batches) number of sequences by staleness, owned */
  double mean_staleness;
  uint32_t max_staleness;
  uint64_t recomputed_tokens; /* tokens whose keys were computed again for new
                                 versions */
} RaServiceReport;

/**
 * ra_service_apply:
 * @graph: graph with the call and the training of its model; otherwise the
 *   function has no effect
 * @inout_costs: (array length=n_tasks): costs of the service's tasks are set
 * @out_report: (out) (nullable) (transfer full): ra_service_report_free() it;
 *   %NULL: the plan has no service
 * @error: as for ra_sim_run(); %RA_ERROR_INPUT: a batch that cannot complete
 *   with any version
 *
 * Cost: one replay and one run of the service per iteration.
 */
gboolean ra_service_apply(const RaTaskGraph *graph,
                          const RaEstimator *estimator, RaCost *inout_costs,
                          RaServiceReport **out_report, GError **error);
void ra_service_report_free(RaServiceReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaServiceReport, ra_service_report_free)

#endif
