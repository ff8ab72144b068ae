/* Ops of mixers other than attention with shared heads, and of vision towers;
 * private to graph/op/op_list.c, op_mixer.c, op_vision.c and op_count.c. */
#ifndef RA_GRAPH_OP_OP_MIXER_H
#define RA_GRAPH_OP_OP_MIXER_H

#include "graph/op/op_lora.h"

/* Adds the mixer of the builder's kind, between its norm's collective and that
 * of its output; backward in reverse. */
void ra_op_add_mixer(RaOpBuilder *b);

/* Outputs of the first matrix of attention that an indexer of blocks reads, on
 * this rank, normed and rotated with the others; 0: the kind has none, or the
 * phase is backward. */
uint64_t ra_op_index_width(const RaOpBuilder *b);

/* Adds the choice of blocks of keys, if the kind has it: no gradient.  That of
 * a decode step is its attention's. */
void ra_op_add_block_indexer(RaOpBuilder *b);

/* Marks @op, attention of the kind, if its queries have blocks of their own:
 * without gradients, as engines run it. */
void ra_op_set_blocks(const RaOpBuilder *b, RaOp *op);

/* Adds an op of attention of @kind over @pairs, of the builder's chunks; in
 * decode, or apart for the sequences that decode, one of @decode_kind. */
void ra_op_add_pairs(RaOpBuilder *b, RaOpKind kind, RaOpKind decode_kind,
                     const uint64_t *dims, const uint64_t *decode_dims);

/* Context parallelism of a mixer that is no attention to all keys: its ranks
 * exchange tokens for heads and have all tokens of their heads (DeepSpeed-
 * Ulysses, arXiv 2309.14509; Megatron-LM's Mamba layers do the same,
 * core/ssm/mamba_context_parallel.py).  Adds the exchange of @width elements a
 * token, as one message of what a rank gives away; nothing without cp. */
void ra_op_add_exchange(RaOpBuilder *b, uint64_t width);

/* Adds the passes over the residual streams of a block, n of them (DeepSeek-V4,
 * section 2.2; transformers' DeepseekV4HyperConnection).  Before the block, a
 * matrix of @outputs > 0, n (n + 2) of a layer's block and n of the head, gives
 * the weights by which they are summed to its input.  Behind it (@outputs 0)
 * they are mixed, and its output is added to each.  Backward all that was read
 * is read again beside the gradients, and the streams' gradient is added to.
 * Passes count as sums, of 3 values an element, by what they read and write. */
void ra_op_add_streams(RaOpBuilder *b, uint64_t outputs);

/* Adds the vision tower over the images of the builder's prompts.  Every whole
 * sequence has those of a prompt.  Chunks of prompts, which a step of
 * continuous batching has, have images as prompts have on average a token, so
 * that those of a prompt add up to its images, less what a shared prefix leaves
 * out; tokens of tools count as a prompt's.  The tower is cut by tensor
 * parallelism as vLLM cuts it; every rank of context parallelism computes all
 * of it, as verl cuts the sequence behind it.  Nothing in decode.  Full
 * recomputation repeats its layers. */
void ra_op_add_tower(RaOpBuilder *b);

/* Model FLOP of the tower on the images of @n_prompts prompts, forward. */
double ra_op_tower_flop(const RaModel *model, uint32_t n_prompts);

#endif
