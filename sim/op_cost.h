/* Times of the ops of a task graph's works, on the nodes that run them.
 *
 *     g_autoptr(RaOpCosts) costs = ra_op_costs_new(graph, estimator);
 *     RaOpTimes times = ra_op_costs_of(costs, task);
 *     times.op_s[i] of op i of the work's program (graph/expand/op_program.h)
 *
 * With several kinds of nodes, the ops of a task have the times of one kind:
 * the slowest for the task's work among the kinds of its group, as at stage
 * fidelity (estimator/kinds.h).  A collective inside waits for the slowest.
 *
 * Typical sizes: 10^3 works of 30 to 100 ops.
 */
#ifndef RA_SIM_OP_COST_H
#define RA_SIM_OP_COST_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

typedef struct _RaOpCosts RaOpCosts;

typedef struct {
  const double *op_s;         /* time of one run of each op */
  const double *seen_s;       /* part of it that does not overlap the preceding
                                 op */
  const RaLaunchCost *launch; /* launch costs of the nodes with these times */
} RaOpTimes;

/**
 * ra_op_costs_new:
 * @graph: borrowed
 * @estimator: borrowed during the call
 *
 * Cost: O(ops) for each work and each set of kinds that runs it.
 *
 * Returns: (transfer full): ra_op_costs_free() it
 */
RaOpCosts *ra_op_costs_new(const RaTaskGraph *graph,
                           const RaEstimator *estimator);
void ra_op_costs_free(RaOpCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaOpCosts, ra_op_costs_free)

/* Times of @task, whose work has a shard.  O(1). */
RaOpTimes ra_op_costs_of(const RaOpCosts *costs, RaTaskId task);

#endif
