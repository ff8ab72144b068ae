/* The duration of every task of a graph at call fidelity where calls and
 * reallocations cost what ReaL's estimator says (estimator/real.h), so that
 * both estimators are replayed by one simulator.
 *
 * Transfers, offloads and reloads take no time, as in ReaL's search; a part of
 * a call takes its share of the whole.
 */
#ifndef RA_SIM_REAL_COSTS_H
#define RA_SIM_REAL_COSTS_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

/**
 * ra_real_task_costs:
 * @graph: at call fidelity
 * @estimator: its laws time the layers
 * @out_costs: (out) (array length=n_tasks)
 * @error: %RA_ERROR_INPUT: @graph is not at call fidelity
 *
 * Cost: O(tasks) and one ra_real_call_s() a call, one ra_real_realloc_s() a
 * reallocation.
 *
 * Returns: %TRUE on success
 */
gboolean ra_real_task_costs(const RaTaskGraph *graph,
                            const RaEstimator *estimator, RaCost *out_costs,
                            GError **error);

#endif
