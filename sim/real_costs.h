/* Costs of tasks at call fidelity by ReaL's estimator (estimator/real.h), so
 * that one simulator replays both estimators.
 *
 * Transfers, offloads and reloads take no time, as in ReaL's search.  A part of
 * a call takes its share of the whole call.
 */
#ifndef RA_SIM_REAL_COSTS_H
#define RA_SIM_REAL_COSTS_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

/**
 * ra_real_task_costs:
 * @graph: at call fidelity
 * @estimator: provides the laws for the times of layers
 * @out_costs: (out) (array length=n_tasks)
 * @error: %RA_ERROR_INPUT: @graph is not at call fidelity
 *
 * Cost: O(tasks), plus one ra_real_call_s() per call and one
 * ra_real_realloc_s() per reallocation.
 *
 * Returns: %TRUE on success
 */
gboolean ra_real_task_costs(const RaTaskGraph *graph,
                            const RaEstimator *estimator, RaCost *out_costs,
                            GError **error);

#endif
