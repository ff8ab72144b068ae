/* The experts of a layer, on one rank of those that share them.
 *
 * A router gives every token a softmax over all experts.  The k largest are its
 * experts, and the layer's output is the sum of their outputs with these
 * weights, divided by the sum of the weights unless RaNumerics.raw_top_k
 * (Mixtral, arXiv 2401.04088, section 2.1; norm_topk_prob of Qwen3-MoE's
 * config.json).  Other routers: RaCpuRouting.
 *
 * Rows go to the rank that has the expert and back, one row per choice, by an
 * all-to-all of exact sizes: no capacity limit, no dropped tokens.  A
 * tensor-parallel rank has its part of every expert and of their outputs, which
 * are summed after the rows are back.
 *
 *     kept->experts = ra_experts_forward(stage, layer, t, x, out);
 *     ra_experts_backward(kept->experts, layer, x, d_out, d_x);
 *     ra_experts_free(kept->experts);
 *
 * Private to exec/model/stage*.c.
 */
#ifndef RA_EXEC_MODEL_STAGE_EXPERTS_H
#define RA_EXEC_MODEL_STAGE_EXPERTS_H

#include "exec/model/stage_impl.h"

/* TRUE if each rank of the tensor-parallel group sends its own rows to experts
 * and gathers them there: both rows and experts are shared.  Then t counts
 * these rows, and their output is no part of a sum. */
gboolean ra_experts_share_rows(const RaStage *stage);

/**
 * ra_experts_forward:
 * @t: tokens of this rank, >= 0; may differ between ranks
 * @x: (t, hidden) normed
 * @out: (t, hidden); on a tensor-parallel rank its part of a sum
 *
 * Every rank of the group calls it for the same layer.
 *
 * Returns: (transfer full): intermediates for the backward pass; free with
 *   ra_experts_free()
 */
RaExperts *ra_experts_forward(RaStage *stage, gint32 layer, gsize t,
                              const RaElem *x, RaElem *out);

/**
 * ra_experts_backward:
 * @x: as in the forward pass
 * @d_out: (t, hidden) gradient of the sum over tensor-parallel ranks
 * @d_x: (t, hidden), written; on a tensor-parallel rank its part of a sum
 *
 * Adds to the gradients of experts, and its part to the router's.
 */
void ra_experts_backward(RaExperts *experts, gint32 layer, const RaElem *x,
                         const RaElem *d_out, RaElem *d_x);

void ra_experts_free(RaExperts *experts);

#endif
