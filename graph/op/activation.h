/* Activations: what a micro-batch keeps for its backward pass, and what a pass
 * needs while it runs.  Derived from the op lists, so a new op is counted once
 * it says what it keeps (graph/op/activation.c).
 *
 *     uint64_t kept = ra_activation_bytes(&shard, &piece, &batch);
 *     uint64_t more = ra_workspace_bytes(&shard, &piece, RA_PHASE_BACKWARD,
 *                                        &batch);
 *
 * Bytes of one GPU of the tensor-parallel group.  *Kept*: from the begin of the
 * forward to the end of the backward.  *Workspace*: while a pass runs.
 *
 * A layer keeps what arXiv 2205.05198 (Korthikanti et al.), equation 1, lists:
 * the inputs of norms, linear layers and activation functions; q, k and v.
 * With s tokens, b sequences, width h, a heads, tensor parallel degree t:
 *
 *     their layer              s b h (34 + 5 a s / h)
 *     less dropout masks       s b h (32 + 4 a s / h)       2 s b h, a s^2 b
 *     with flash attention     s b h 32                     scores recomputed
 *     tensor parallel          s b h (8 + 24 / t)           equation 2
 *     and sequence parallel    s b h 32 / t                 equation 4
 *     full recomputation       s b h 2, or 2 / t            the layer's input
 *
 * We have no dropout but in the core of attention, where a plan asks for it
 * (post-training runs without), and flash attention unless a plan asks for a
 * core, so selective recomputation, which recomputes the core of attention,
 * keeps the same; of `attention = core` it saves 2 a s^2 b, with dropout all
 * of 5 a s^2 b.  Gated MLPs and grouped heads have fewer or more of the same
 * terms.  Beside them, in fp32, a row keeps the inverse of its norms, of
 * LayerNorm the mean too, a log-sum a head of attention that computes its
 * weights again, and what the loss reads.  The head of a training call also
 * keeps the fp32 softmax of its logits (Megatron-LM's
 * vocab_parallel_cross_entropy), s b V / t 4.
 */
#ifndef RA_GRAPH_OP_ACTIVATION_H
#define RA_GRAPH_OP_ACTIVATION_H

#include "graph/op/op.h"

/**
 * ra_activation_bytes:
 * @shard: how the model is cut; its `recompute` counts
 * @piece: which layers, and whether embedding and head
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
 * A decode step that is launched as a graph is of ra_graph_sequences().
 *
 * Largest input and output of one op (or of the gradients of one, which have
 * their shapes) with the residual stream; what is kept for the backward is not
 * counted again.  A step of ring attention also has another rank's keys and
 * values, those that come and, backward, the gradients that go round with them.
 * The backward of full recomputation also holds one layer
 * as ra_activation_bytes() counts it without recomputation.
 *
 * Returns: bytes that a pass of @batch needs beside what it keeps
 */
uint64_t ra_workspace_bytes(const RaShard *shard, const RaPiece *piece,
                            RaPhase phase, const RaBatch *batch);

/**
 * ra_kv_token_bytes:
 *
 * Keys and values of one token in @piece's layers on one GPU:
 *
 *     2 layers ceil(kv_heads / tp) head_dim bytes
 *
 * A GPU holds one head at least, so beyond tp = kv_heads nothing is saved.
 *
 * Returns: bytes
 */
uint64_t ra_kv_token_bytes(const RaShard *shard, const RaPiece *piece);

#endif
