/* The shared experts of a layer: one MLP that every token goes through beside
 * its routed experts (arXiv 2401.06066, section 3.2).  Qwen2-MoE multiplies its
 * output by a sigmoid of a row of weights times the token
 * (modeling_qwen2_moe.py of transformers 4.57).
 *
 *     kept->shared = ra_shared_forward(stage, layer, t, x);
 *     ra_stage_add(stage, t, ra_shared_out(kept->shared), out);
 *     ra_shared_backward(kept->shared, layer, x, d_out, d_x);
 *     ra_shared_free(kept->shared);
 *
 * Private to exec/model/stage*.c.
 */
#ifndef RA_EXEC_MODEL_STAGE_SHARED_H
#define RA_EXEC_MODEL_STAGE_SHARED_H

#include "exec/model/stage_impl.h"

/**
 * ra_shared_forward:
 * @x: (t, hidden) normed, all rows of the tensor-parallel group
 *
 * Returns: (transfer full): the output and what the backward pass needs
 */
RaShared *ra_shared_forward(RaStage *stage, gint32 layer, gsize t,
                            const RaElem *x);

/* (t, hidden): on a tensor-parallel rank its part of a sum. */
const RaElem *ra_shared_out(const RaShared *shared);

/**
 * ra_shared_backward:
 * @x: as in the forward pass
 * @d_out: (t, hidden) gradient of the sum over tensor-parallel ranks
 * @d_x: (t, hidden), written; on a tensor-parallel rank its part of a sum
 *
 * Adds to the gradients of the parameters, and its part to the gate's.
 */
void ra_shared_backward(RaShared *shared, gint32 layer, const RaElem *x,
                        const RaElem *d_out, RaElem *d_x);

void ra_shared_free(RaShared *shared);

#endif
