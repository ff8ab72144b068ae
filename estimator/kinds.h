/* Kinds of nodes that a task runs on, in a cluster of several kinds.
 *
 *     g_autofree uint32_t *kinds = ra_group_kinds_new(graph);
 *     kinds[graph->group[t]] bits of RaMachineKind; 0: on no GPU
 */
#ifndef RA_ESTIMATOR_KINDS_H
#define RA_ESTIMATOR_KINDS_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

/* (array length=n_groups) (transfer full): kinds of the nodes of each group.
 * Cost: O(GPUs + groups). */
uint32_t *ra_group_kinds_new(const RaTaskGraph *graph);

/**
 * ra_dynamic_kinds_new:
 *
 * Returns: (transfer full) (array): kinds of the nodes of each stage of the
 *   replica of each dynamic; those of dynamic d start at @out_begin[d]
 *   (transfer full, n_dynamics + 1)
 */
uint32_t *ra_dynamic_kinds_new(const RaTaskGraph *graph, uint32_t **out_begin);

/* Cost of @work of @graph on the slowest of @kinds; 0: on the first kind. */
void ra_kinds_work(const RaEstimator *estimator, const RaTaskGraph *graph,
                   uint32_t work, uint32_t kinds, RaCost *out_cost);

/**
 * ra_kinds_decode_line:
 * @kinds: of nodes; 0: all that there are
 *
 * The line at @kv_tokens (ra_estimator_decode_line()) of the kind whose step is
 * the slowest there; it holds as far as those of all kinds.
 */
void ra_kinds_decode_line(const RaEstimator *estimator, const RaShard *shard,
                          const RaPiece *piece, uint32_t kinds,
                          uint32_t n_sequences, uint64_t kv_tokens,
                          RaDecodeLine *out_line);

#endif
