/* Ops of mixers other than attention with shared heads; private to
 * graph/op/op_list.c and op_mixer.c. */
#ifndef RA_GRAPH_OP_OP_MIXER_H
#define RA_GRAPH_OP_OP_MIXER_H

#include "graph/op/op_lora.h"

/* Adds the mixer of the builder's kind, between its norm's collective and that
 * of its output; backward in reverse. */
void ra_op_add_mixer(RaOpBuilder *b);

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

#endif
