/* Seconds of the ops of a task graph's works, on the nodes that run them.
 *
 *     g_autoptr(RaOpCosts) costs = ra_op_costs_new(graph, estimator);
 *     RaOpTimes times = ra_op_costs_of(costs, task);
 *     times.op_s[i] of op i of the work's program (graph/expand/op_program.h)
 *
 * Where nodes are of several kinds, the ops of a task take what they take on
 * the slowest for its work of the kinds that its group is on, as at stage
 * fidelity (estimator/kinds.h): a collective inside waits for the slowest.
 *
 * Typical sizes: 10^3 works of 30 to 100 ops.
 */
#ifndef RA_SIM_OP_COST_H
#define RA_SIM_OP_COST_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

typedef struct _RaOpCosts RaOpCosts;

typedef struct {
  const double *op_s;         /* of one run of each op */
  const double *seen_s;       /* of it, not behind the op before */
  const RaLaunchCost *launch; /* of the nodes whose times these are */
} RaOpTimes;

/**
 * ra_op_costs_new:
 * @graph: borrowed
 * @estimator: borrowed during the call
 *
 * Cost: the ops of each work, once for each set of kinds that runs it.
 *
 * Returns: (transfer full): ra_op_costs_free() it
 */
RaOpCosts *ra_op_costs_new(const RaTaskGraph *graph,
                           const RaEstimator *estimator);
void ra_op_costs_free(RaOpCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaOpCosts, ra_op_costs_free)

/* Of @task, whose work is of a shard.  O(1). */
RaOpTimes ra_op_costs_of(const RaOpCosts *costs, RaTaskId task);

#endif
