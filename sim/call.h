/* What a call costs by itself: the duration of call-fidelity tasks.
 *
 * The call is expanded alone at stage fidelity and simulated; part c takes from
 * the end of part c - 1 to its own end.  So a plan at call fidelity is built of
 * the same costs as at stage fidelity, without what calls do to each other.
 */
#ifndef RA_SIM_CALL_H
#define RA_SIM_CALL_H

#include "estimator/estimator.h"
#include "graph/augment/augment.h"

/**
 * ra_call_costs:
 * @graph: its plan, seed, and whether to fold
 * @call: a call of its workload
 * @iteration: of its augmented graph, whose lengths count
 * @estimator: what an op costs
 * @error: as ra_expand_with()
 *
 * Cost: one expansion and one simulation of the call in that iteration.
 *
 * Returns: (transfer full) (array length=n_parts): trip by trip, where the call
 *   runs in each (graph/input/trips.h); total_s is the part's
 *   duration, the causes are means over the call's GPUs within it, the rest is
 *   waiting; %NULL on error; g_free() it
 */
RaCost *ra_call_costs(const RaTaskGraph *graph, uint32_t call,
                      uint32_t iteration, const RaEstimator *estimator,
                      GError **error);

#endif
