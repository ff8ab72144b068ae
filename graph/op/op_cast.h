/* Linear layers that compute in fp8: their casts and GEMMs.
 *
 * Private to graph/op/op_list.c and op_lora.c.
 *
 * As Transformer Engine does (transformer_engine/pytorch/module/linear.py and
 * grouped_linear.py, 2026-08), activations are 16 bits between layers.  A layer
 * casts its input to 8 bits, and in the backward the gradient of its output;
 * the GEMMs of the output and of both gradients read what the casts have
 * written.  These GEMMs read their operands along the dimension that they sum
 * over.  For the weight's gradient it is the tokens: a cast writes a second,
 * transposed copy of the input and of the gradient.
 *
 *     cast of               reads           copies
 *     the input, forward    2 bytes, R x    1; 2 where a backward reads it
 *     the output's gradient 2 bytes, R x    2; 1 where the weight is frozen
 *     a weight, each step   2 bytes, R x    2
 *
 * The scaling (RaFp8Scaling) gives R and the values that share a scale:
 *
 *     blockwise    1   128 of a row (activations), 128 x 128 (weights)
 *     tensorwise   2   all: the maximum must be known before the cast
 *     delayed      1   all: the maximum of earlier steps
 *
 * A forward that full recomputation repeats writes one copy, its repetition
 * two.  Experts cast the rows that come to them; a law of RA_OP_EXPERTS was
 * measured with the casts of its inputs, and lacks only the transposed copies.
 *
 * Under sequence parallelism each tp rank casts its rows, and a copy with its
 * scales is gathered (gather_along_first_dim() in the same files); sums of
 * partial outputs carry 16 bits.
 */
#ifndef RA_GRAPH_OP_OP_CAST_H
#define RA_GRAPH_OP_OP_CAST_H

#include "graph/op/op_lora.h"

/* Bytes of a copy of @n elements with their scales, one a @block; 0: of all. */
uint64_t ra_op_cast_copy_bytes(uint64_t n, uint64_t block);

/* Adds the cast of @n elements, in rows of @width, that linear layers read:
 * their inputs, or backward the gradients of their outputs; before the gather
 * of them that is the last op.  Nothing without fp8 GEMMs. */
void ra_op_add_cast(RaOpBuilder *b, uint64_t n, uint64_t width);

/* The casts of the experts that the last op computes go before it. */
void ra_op_cast_experts(RaOpBuilder *b);

/* Makes the GEMMs from op @first on fp8, of operands that have been cast. */
void ra_op_set_fp8(RaOpBuilder *b, guint first);

#endif
