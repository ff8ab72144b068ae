/* Activations: memory that a micro-batch keeps for its backward pass, and
 * workspace of a pass while it runs.  Both are derived from the op lists; a new
 * op states in graph/op/activation.c which tensors it keeps.
 *
 *     uint64_t kept = ra_activation_bytes(&shard, &piece, &batch);
 *     uint64_t more = ra_workspace_bytes(&shard, &piece, RA_PHASE_BACKWARD,
 *                                        &batch);
 *
 * Bytes are those of one GPU of the tensor-parallel group.  *Kept* memory lives
 * from the begin of the forward to the end of the backward, *workspace* while a
 * pass runs.
 *
 * A layer keeps the tensors that equation 1 of arXiv 2205.05198 (Korthikanti et
 * al.) lists: the inputs of norms, linear layers and activation functions; q, k
 * and v.  With s tokens, b sequences, width h, a heads, tensor parallel degree
 * t:
 *
 *     their layer              s b h (34 + 5 a s / h)
 *     less dropout masks       s b h (32 + 4 a s / h)       2 s b h, a s^2 b
 *     with flash attention     s b h 32                     scores recomputed
 *     tensor parallel          s b h (8 + 24 / t)           equation 2
 *     and sequence parallel    s b h 32 / t                 equation 4
 *     full recomputation       s b h 2, or 2 / t            the layer's input
 *
 * There is no dropout except in the core of attention where a plan selects it
 * (post-training runs without).  Attention is flash attention unless a plan
 * selects a core.  Selective recomputation, which recomputes the core of
 * attention, thus saves nothing by default; with `attention = core` it saves
 * 2 a s^2 b, with dropout all of 5 a s^2 b.  Gated MLPs and grouped heads have
 * fewer or more of the same terms.
 *
 * In addition each row keeps, in fp32:
 * - the inverse standard deviation of its norms, for LayerNorm also the mean;
 * - one log-sum per head of attention that recomputes its weights;
 * - the values that the loss reads.
 * With fp8 GEMMs a linear layer keeps its input in 8 bits with its scales
 * (graph/op/op_cast.h), and attention its output, which it reads again: of the
 * 32 s b h, 8 are inputs of linear layers, which have 4 and 2 of attention's.
 *
 * The head of a training call also keeps the fp32 softmax of its logits
 * (Megatron-LM's vocab_parallel_cross_entropy), s b V / t 4; with an in-place
 * loss (graph/input/cluster.h) the 16-bit logits, s b V / t 2.
 */
#ifndef RA_GRAPH_OP_ACTIVATION_H
#define RA_GRAPH_OP_ACTIVATION_H

#include "graph/op/op.h"

/**
 * ra_activation_bytes:
 * @shard: partition of the model; its `recompute` matters
 * @piece: layers, with or without embedding and head
 * @batch: one micro-batch
 *
 * Additive over pieces: the parts of a piece sum to the piece.
 * Cost: O(ops of a layer), allocates nothing.
 *
 * Returns: bytes kept by a training forward for its backward
 */
uint64_t ra_activation_bytes(const RaShard *shard, const RaPiece *piece,
                             const RaBatch *batch);

/**
 * ra_workspace_bytes:
 * @phase: forward, backward or decode
 *
 * Largest input and output of one op (or of its gradients, which have the same
 * shapes) plus the residual stream.  Memory kept for the backward does not
 * count again.  In addition:
 * - A step of ring attention holds another rank's keys and values and those
 *   that are arriving; in the backward also the gradients that travel with
 *   them.
 * - The backward of attention holds the gradients of queries in fp32.
 * - The backward of full recomputation holds one layer as ra_activation_bytes()
 *   counts it without recomputation.
 * - A decode step that is launched as a graph has ra_graph_sequences().
 *
 * Returns: bytes that a pass of @batch needs in addition to what it keeps
 */
uint64_t ra_workspace_bytes(const RaShard *shard, const RaPiece *piece,
                            RaPhase phase, const RaBatch *batch);

/**
 * ra_kv_token_bytes:
 *
 * Cache of one token in those of @piece's layers whose cache grows with every
 * token, on one GPU (ra_model_cache_bytes()), without layers that attend
 * within windows.  Of plain layers
 *
 *     2 layers ceil(kv_heads / tp) head_dim bytes
 *
 * A GPU holds at least one head, so tp > kv_heads saves nothing more.
 *
 * Returns: bytes
 */
uint64_t ra_kv_token_bytes(const RaShard *shard, const RaPiece *piece);

/**
 * ra_kv_sequence_bytes:
 * @n_tokens: longest sequence
 *
 * What one sequence of up to @n_tokens tokens holds in @piece's layers whatever
 * its length: the window's keys and values of layers that attend within one
 * (@n_tokens if that is less), and the states of linear mixers.
 *
 * Returns: bytes; 0 if all layers are plain
 */
uint64_t ra_kv_sequence_bytes(const RaShard *shard, const RaPiece *piece,
                              uint64_t n_tokens);

#endif
