/* Reuse distance: bytes that pass through the caches between two uses of a
 * GEMM's weights.
 *
 * A decode step reads all weights of its stage once, and the keys and values of
 * its sequences.  Their sum is the distance between two reads of a weight.  The
 * ranks of a node may share a cache (a host's cores), so the distance counts
 * all ranks of the call on one node.  It is in whole MiB, rounded up, so that
 * the many lengths of a generation give few values.
 *
 *     n = ra_op_list(&shard, &piece, RA_PHASE_DECODE, &batch, ops);
 *     ra_op_set_reuse(ops, n, ra_op_reuse_mib(&shard, &piece, &batch, &until));
 *
 * An op list leaves it 0.  Callers set it only if the profile has a law for it
 * (estimator/gemm.h).
 */
#ifndef RA_GRAPH_OP_OP_REUSE_H
#define RA_GRAPH_OP_OP_REUSE_H

#include "graph/op/op.h"

/* Index of the reuse in a GEMM's dim[], MiB. */
#define RA_OP_REUSE_DIM 4
#define RA_OP_REUSE_UNIT (UINT64_C(1) << 20) /* bytes */

/**
 * ra_op_reuse_mib:
 * @shard: partition; the ranks of its tensor-parallel groups on a node, of all
 *   stages and replicas, share the caches
 * @piece: the stage
 * @batch: batch of a decode step
 * @out_until_tokens: (out): largest number of keys with the same reuse
 *
 *     ceil(ranks (weights + keys and values) / 1 MiB)
 *
 * weights: n k batch of each GEMM; for experts, of those that are visited.
 * Other calls on the same node are ignored.
 *
 * Returns: MiB, >= 1; 0, unknown, if zero 3 gathers the weights at every step.
 *   O(1), allocates nothing
 */
uint64_t ra_op_reuse_mib(const RaShard *shard, const RaPiece *piece,
                         const RaBatch *batch, uint64_t *out_until_tokens);

/* Sets the reuse of every GEMM among @ops. */
void ra_op_set_reuse(RaOp *ops, guint n_ops, uint64_t mib);

#endif
