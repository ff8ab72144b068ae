/* Nearest law: the op whose law stands in for an op without one of its own.
 *
 *     latent attention   attention, as many heads of keys as of queries, with
 *                        head_dim (key_dim + value_dim) / 2: equal FLOP and
 *                        bytes
 *     its decode step    a decode step whose queries share one head of keys,
 *                        with head_dim (rank + rope_dim) / 2: equal bytes
 *     an indexer         the same with half its head_dim; whole sequences as
 *                        attention with one head of keys
 *     a scan             batched GEMMs of a chunk: equal FLOP; but at least the
 *                        time of its bytes, by the law of elementwise ops
 *     steps, convolutions  their bytes alone, by that law
 *
 * A profile may have laws of these but the indexer (estimator/roof.h);
 * then this says only how much longer their backward passes take.  The error of
 * all these is not known.
 */
#ifndef RA_ESTIMATOR_NEAREST_H
#define RA_ESTIMATOR_NEAREST_H

#include "graph/op/op.h"

/**
 * ra_op_nearest:
 * @op: an op
 * @out_op: (out): the op whose law it has, @op itself if that has its own
 *
 * Returns: %TRUE if @out_op is another op than @op
 */
gboolean ra_op_nearest(const RaOp *op, RaOp *out_op);

#endif
