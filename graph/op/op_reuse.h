/* Reuse: what passes through the caches between two uses of a product's
 * weights.
 *
 * A decode step goes through all weights of its stage once, and through the
 * keys and values of its sequences, so each weight is read again when so many
 * bytes have passed.  Where the ranks of a node share a cache (a host's cores),
 * what all of them read passes through it: the reuse is that of all ranks of
 * the call on one node, in whole MiB, rounded up, so that few values come of
 * the many lengths of a generation.
 *
 *     n = ra_op_list(&shard, &piece, RA_PHASE_DECODE, &batch, ops);
 *     ra_op_set_reuse(ops, n, ra_op_reuse_mib(&shard, &piece, &batch, &until));
 *
 * An op list says none: only where a profile has a law of it (estimator/gemm.h)
 * does somebody set it.
 */
#ifndef RA_GRAPH_OP_OP_REUSE_H
#define RA_GRAPH_OP_OP_REUSE_H

#include "graph/op/op.h"

/* Of a product's dim[], MiB. */
#define RA_OP_REUSE_DIM 4
#define RA_OP_REUSE_UNIT (UINT64_C(1) << 20) /* bytes */

/**
 * ra_op_reuse_mib:
 * @shard: whose ranks on a node share the caches: those of its tensor-parallel
 *   groups, all stages and replicas
 * @piece: the stage
 * @batch: of a decode step
 * @out_until_tokens: (out): the most keys of the step with the same reuse
 *
 *     ceil(ranks (weights + keys and values) / 1 MiB)
 *
 * weights: n k batch of each product, those of experts as many as are visited.
 * Other calls on the same node count for nothing.
 *
 * Returns: MiB, >= 1; 0, not said, where zero 3 gathers the weights anew at
 *   every step.  O(1), allocates nothing
 */
uint64_t ra_op_reuse_mib(const RaShard *shard, const RaPiece *piece,
                         const RaBatch *batch, uint64_t *out_until_tokens);

/* Says so of every product among @ops. */
void ra_op_set_reuse(RaOp *ops, guint n_ops, uint64_t mib);

#endif
