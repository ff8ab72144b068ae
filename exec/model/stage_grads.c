/* Gradients of which the ranks of a tensor-parallel group have copies or
 * parts. */
#include "config.h"

#include "exec/comm/device_comm.h"
#include "exec/model/stage_impl.h"

/* Key and value heads that several ranks of the group hold. */
static gboolean
is_shared(const RaStage *stage, const RaTensor *tensor)
{
  return (tensor->kind == RA_TENSOR_K || tensor->kind == RA_TENSOR_V) &&
         stage->n_tp > stage->model->n_kv_heads;
}

/* Parameters that all ranks have and each uses for its own part: norms of heads
 * or latents, and matrices that make latents, for its heads, a router for its
 * part of the experts' outputs, other norms for its rows where ranks share
 * them. */
static gboolean
is_partial(const RaStage *stage, const RaParam *param)
{
  const RaTensor *t = &param->tensor;

  if (t->kind == RA_TENSOR_ROUTER ||
      (t->kind == RA_TENSOR_MIXER && t->split == RA_SPLIT_NONE) ||
      (stage->sequence_parallel && t->kind == RA_TENSOR_NORM))
    return TRUE;
  return t->kind == RA_TENSOR_NORM && t->layer != RA_TENSOR_NO_LAYER &&
         stage->params->grads + param->offset <
             ra_stage_norm_grad(stage, t->layer, RA_LAYER_NORM_ATTENTION);
}

/* The sum over the ranks that hold the same heads of keys or values. */
static void
sum_shared(RaStage *stage, const RaParam *param, uint32_t sharers)
{
  gsize n = ra_param_n(param), first = stage->tp->rank / sharers * sharers;
  float *grad = stage->params->grads + param->offset;
  float *all = ra_stage_take_bytes(stage, n * stage->n_tp * sizeof *all);

  ra_device_comm_all_gather(stage->backend, stage->tp, grad, all,
                            n * sizeof *all);
  stage->backend->copy(grad, all + first * n, n * sizeof *grad);
  for (gsize rank = first + 1; rank < first + sharers; rank++)
    stage->backend->add_f32(n, all + rank * n, grad);
  ra_stage_give(stage, all);
}

void
ra_stage_sum_shared_grads(RaStage *stage)
{
  uint32_t sharers = stage->n_tp / MAX(stage->model->n_kv_heads, 1u);
  gboolean partial = stage->model->qk_norm || stage->model->n_experts > 0 ||
                     ra_stage_is_latent(stage) || stage->sequence_parallel;

  if (!stage->tp || (sharers <= 1 && !partial))
    return;
  for (uint32_t i = 0; i < stage->params->n_params; i++) {
    const RaParam *param = &stage->params->params[i];

    if (sharers > 1 && is_shared(stage, &param->tensor))
      sum_shared(stage, param, sharers);
    else if (partial && is_partial(stage, param))
      ra_device_comm_all_reduce_f32(stage->backend, stage->tp,
                                    stage->params->grads + param->offset,
                                    ra_param_n(param));
  }
}

double
ra_stage_grad_squares(const RaStage *stage, const RaGradParts *parts)
{
  uint32_t rank = stage->tp ? stage->tp->rank : 0;
  uint32_t sharers = MAX(stage->n_tp / MAX(stage->model->n_kv_heads, 1u), 1u);
  uint32_t n_params = stage->params->n_params;
  g_autofree gsize *n = g_new(gsize, n_params + 1);
  g_autofree const float **x = g_new(const float *, n_params + 1);
  guint n_arrays = 0;

  for (uint32_t i = 0; i < n_params; i++) {
    const RaParam *param = &stage->params->params[i];
    const RaTensor *t = &param->tensor;
    gboolean wanted = t->expert != RA_TENSOR_NO_EXPERT ? parts->experts
                      : t->kind == RA_TENSOR_EMBEDDING
                          ? parts->dense && parts->embedding
                          : parts->dense;
    RaSpan own;
    gsize at;

    if (!wanted || (t->split == RA_SPLIT_NONE && rank > 0) ||
        (is_shared(stage, t) && rank % sharers != 0))
      continue;
    own = ra_param_held(stage->params, param, RA_PARAMS_FIRST, &at);
    n[n_arrays] = own.end - own.begin;
    x[n_arrays++] = stage->params->grads + param->offset + own.begin;
  }
  return stage->backend->sum_squares(n_arrays, n, x);
}
