/* Cost of every task of a graph: its duration by cause.
 *
 * Tasks share works, so the cost of a work is computed once, like that of a
 * replica's generation (sim/generate/decode.h) and, at call fidelity, of a call
 * (sim/call.h).
 */
#ifndef RA_SIM_COST_H
#define RA_SIM_COST_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"
#include "sim/generate/decode.h"

/**
 * ra_task_costs:
 * @graph: the graph
 * @estimator: costs of ops
 * @out_costs: (out) (array length=n_tasks): total_s is the duration.  For a
 *   decode or call task it exceeds the sum of the causes by the time that the
 *   task's GPUs wait inside.  It is 0 for a task without work
 * @error: as for ra_expand_call(), at call fidelity; as for
 *   ra_real_task_costs(), with ReaL's estimator
 *
 * Cost: O(tasks + works), plus the costs in sim/generate/decode.h and
 * sim/call.h.
 *
 * Returns: %TRUE on success
 */
gboolean ra_task_costs(const RaTaskGraph *graph, const RaEstimator *estimator,
                       RaCost *out_costs, GError **error);

/**
 * ra_dynamic_run:
 * @index: index into the graph's dynamics
 * @kinds: (nullable) (array): kinds of nodes by stage
 * @inout_result: as for ra_decode_run().  Its watch gets the steps on the
 *   slowest nodes alone; n_steps and n_evaluated may stay unset
 *
 * Replays a replica's generation, with static or continuous batching.
 */
void ra_dynamic_run(const RaTaskGraph *graph, const RaEstimator *estimator,
                    uint32_t index, const uint32_t *kinds,
                    RaDecodeResult *inout_result);

/* Cost of a task of @kind with duration @duration_s: all of it has the cause of
 * the kind. */
RaCost ra_task_cost_of_duration(RaTaskKind kind, double duration_s);

#endif
