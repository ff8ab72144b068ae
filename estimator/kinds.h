/* Which kinds of nodes a task runs on, where a cluster's are not all alike.
 *
 *     g_autofree uint32_t *kinds = ra_group_kinds_new(graph);
 *     kinds[graph->group[t]] bits of RaMachineKind; 0: on no GPU
 */
#ifndef RA_ESTIMATOR_KINDS_H
#define RA_ESTIMATOR_KINDS_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

/* (array length=n_groups) (transfer full): by group.  O(GPUs + groups). */
uint32_t *ra_group_kinds_new(const RaTaskGraph *graph);

/**
 * ra_dynamic_kinds_new:
 *
 * Returns: (transfer full) (array): by dynamic, then by stage, the kinds of
 *   nodes that the stage of its replica is on; of dynamic d from @out_begin[d]
 *   on (transfer full, n_dynamics + 1)
 */
uint32_t *ra_dynamic_kinds_new(const RaTaskGraph *graph, uint32_t **out_begin);

/* What @work of @graph costs on the slowest of @kinds; 0: as on the first. */
void ra_kinds_work(const RaEstimator *estimator, const RaTaskGraph *graph,
                   uint32_t work, uint32_t kinds, RaCost *out_cost);

#endif
