/* The rollout service of a plan (graph/input/plan_service.h): its times within
 * the task graph.
 *
 * Batch k of the service is what the generate call has made when its node of
 * iteration k ends.  Versions arrive as the graph's reallocations end, which
 * only wait for batches before: so the graph is replayed with the batches that
 * are known, the service run with the arrivals that this gives, and so on to
 * the last.  A node of the call takes from when the graph lets it begin to when
 * its batch is ready.
 *
 * Batches are trained on as the workload draws them, in order of submission;
 * the service's own are in order of completion, of the same law.  At call
 * fidelity the call is the batch alone.
 */
#ifndef RA_SIM_SERVICE_PLAN_H
#define RA_SIM_SERVICE_PLAN_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

typedef struct {
  uint32_t call;
  uint32_t n_batches;  /* iterations */
  double *ready_s;     /* (n_batches) owned */
  uint64_t *staleness; /* (n_batches) sequences by staleness, owned */
  double mean_staleness;
  uint32_t max_staleness;
  uint64_t recomputed_tokens; /* keys computed anew as versions came */
} RaServiceReport;

/**
 * ra_service_apply:
 * @graph: with the call and what trains its model, or nothing is done
 * @inout_costs: (array length=n_tasks): those of the service's tasks are set
 * @out_report: (out) (nullable) (transfer full): ra_service_report_free() it;
 *   %NULL: the plan has no service
 * @error: as ra_sim_run(); %RA_ERROR_INPUT: a batch that no version lets
 *   complete
 *
 * Cost: a replay and a run of the service an iteration.
 */
gboolean ra_service_apply(const RaTaskGraph *graph,
                          const RaEstimator *estimator, RaCost *inout_costs,
                          RaServiceReport **out_report, GError **error);
void ra_service_report_free(RaServiceReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaServiceReport, ra_service_report_free)

#endif
