/* Cost of an isolated call: the duration of call-fidelity tasks.
 *
 * The call is expanded alone at stage fidelity and simulated; part c lasts from
 * the end of part c - 1 to its own end.  A plan at call fidelity thus has the
 * same costs as at stage fidelity, without the effects of calls on each other.
 */
#ifndef RA_SIM_CALL_H
#define RA_SIM_CALL_H

#include "estimator/estimator.h"
#include "graph/augment/augment.h"

/**
 * ra_call_costs:
 * @graph: provides plan, seed, and the choice of folding
 * @call: a call of its workload
 * @iteration: iteration of its augmented graph, which decides the lengths
 * @estimator: costs of ops
 * @error: as for ra_expand_with()
 *
 * Cost: one expansion and one simulation of the call in that iteration.
 *
 * Returns: (transfer full) (array length=n_parts): costs of parts, trip by trip
 *   if the call runs in each trip (graph/input/trips.h).  total_s is the part's
 *   duration, the causes are means over the call's GPUs within it, and the rest
 *   is waiting.  %NULL on error; g_free() it
 */
RaCost *ra_call_costs(const RaTaskGraph *graph, uint32_t call,
                      uint32_t iteration, const RaEstimator *estimator,
                      GError **error);

#endif
