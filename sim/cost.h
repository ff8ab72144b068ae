/* The duration of every task of a graph, by cause.
 *
 * Tasks share works, so a work is costed once; so are a replica's generation
 * (sim/generate/decode.h) and, at call fidelity, a call (sim/call.h).
 */
#ifndef RA_SIM_COST_H
#define RA_SIM_COST_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"
#include "sim/generate/decode.h"

/**
 * ra_task_costs:
 * @graph: the graph
 * @estimator: what an op costs
 * @out_costs: (out) (array length=n_tasks): total_s is the duration; of a
 *   decode or call task it is more than the sum of the causes by what the
 *   task's GPUs wait inside.  A task without work takes 0
 * @error: as ra_expand_call(), at call fidelity; as ra_real_task_costs() of an
 *   estimator that is ReaL's
 *
 * Cost: O(tasks + works) and what sim/generate/decode.h and sim/call.h say.
 *
 * Returns: %TRUE on success
 */
gboolean ra_task_costs(const RaTaskGraph *graph, const RaEstimator *estimator,
                       RaCost *out_costs, GError **error);

/**
 * ra_dynamic_run:
 * @index: of the graph's dynamics
 * @kinds: (nullable) (array): of nodes, by stage
 * @inout_result: as of ra_decode_run(), told to its watch of the slowest nodes
 *   alone; n_steps and n_evaluated may be left
 *
 * Replays a replica's generation, however it batches.
 */
void ra_dynamic_run(const RaTaskGraph *graph, const RaEstimator *estimator,
                    uint32_t index, const uint32_t *kinds,
                    RaDecodeResult *inout_result);

/* The cost of a task of @kind that takes @duration_s, whatever of: all of it
 * under the one cause that the kind stands for. */
RaCost ra_task_cost_of_duration(RaTaskKind kind, double duration_s);

#endif
