/* The norms of a layer, and those of the heads of q and k. */
#include "config.h"

#include "exec/model/stage_impl.h"

/* Where norm @which of a layer is, from the layer's first. */
static gsize
norm_offset(const RaModel *m, RaLayerNorm which)
{
  gsize q = m->qk_norm ? m->head_dim : m->q_rank;
  gsize heads = q + (m->qk_norm ? m->head_dim : m->kv_rank);

  switch (which) {
  case RA_LAYER_NORM_Q:
    return 0;
  case RA_LAYER_NORM_K:
    return q;
  case RA_LAYER_NORM_ATTENTION:
    return heads;
  default:
    return heads + m->hidden;
  }
}

const RaElem *
ra_stage_norm_weight(const RaStage *s, gint32 layer, RaLayerNorm which)
{
  return ra_stage_at(s, ra_stage_weight(s, RA_TENSOR_NORM, layer, FALSE),
                     norm_offset(s->model, which));
}

float *
ra_stage_norm_grad(const RaStage *s, gint32 layer, RaLayerNorm which)
{
  return ra_stage_grad(s, RA_TENSOR_NORM, layer, FALSE) +
         norm_offset(s->model, which);
}

/* The norm whose first parameters are @weight and @bias, @at elements on. */
static RaStageNorm
norm_at(const RaStage *s, const RaParam *weight, const RaParam *bias, gsize at)
{
  const RaElem *all = s->params->weights;
  float *grads = s->params->grads;

  return (RaStageNorm){
      .weight = ra_stage_at(s, all, weight->offset + at),
      .bias = bias ? ra_stage_at(s, all, bias->offset + at) : NULL,
      .d_weight = grads ? grads + weight->offset + at : NULL,
      .d_bias = grads && bias ? grads + bias->offset + at : NULL};
}

RaStageNorm
ra_stage_layer_norm(const RaStage *s, gint32 layer, RaLayerNorm which)
{
  const RaParams *p = s->params;
  gsize at = which == RA_LAYER_NORM_MLP ? s->model->hidden : 0;
  gsize heads = norm_offset(s->model, RA_LAYER_NORM_ATTENTION);
  RaStageNorm norm = norm_at(s, ra_params_find(p, RA_TENSOR_NORM, layer, FALSE),
                             NULL, heads + at);
  const RaParam *bias = ra_params_find(p, RA_TENSOR_NORM, layer, TRUE);

  if (bias) {
    RaStageNorm of_bias = norm_at(s, bias, NULL, at); /* heads have none */

    norm.bias = of_bias.weight;
    norm.d_bias = of_bias.d_weight;
  }
  return norm;
}

RaStageNorm
ra_stage_embedding_norm(const RaStage *s)
{
  const RaParams *p = s->params;

  return norm_at(
      s, ra_params_find(p, RA_TENSOR_NORM, RA_TENSOR_NO_LAYER, FALSE),
      ra_params_find(p, RA_TENSOR_NORM, RA_TENSOR_NO_LAYER, TRUE), 0);
}

/* A stage that has the embedding's norm too has it before. */
RaStageNorm
ra_stage_head_norm(const RaStage *s)
{
  const RaParams *p = s->params;
  const RaParam *weight =
      ra_params_find(p, RA_TENSOR_NORM, RA_TENSOR_NO_LAYER, FALSE);
  const RaParam *bias =
      ra_params_find(p, RA_TENSOR_NORM, RA_TENSOR_NO_LAYER, TRUE);
  gboolean both =
      s->model->embedding_norm &&
      ra_params_find(p, RA_TENSOR_EMBEDDING, RA_TENSOR_NO_LAYER, FALSE) &&
      weight + 1 < p->params + p->n_params &&
      weight[1].tensor.kind == RA_TENSOR_NORM &&
      weight[1].tensor.layer == RA_TENSOR_NO_LAYER && !weight[1].tensor.bias;

  return norm_at(s, weight, bias, both ? s->model->hidden : 0);
}

void
ra_stage_norm(RaStage *s, gsize t, const RaElem *x, RaStageNorm norm,
              RaElem *out, float *out_inv)
{
  double start = ra_stage_begin(s);
  gsize n = s->model->hidden;

  if (s->model->norm == RA_NORM_LAYER)
    s->backend->layer_norm(t, n, s->numerics.norm_eps, x, norm.weight,
                           norm.bias, out, out_inv);
  else
    s->backend->norm(t, n, s->numerics.norm_eps, x, norm.weight, out, out_inv);
  ra_stage_look(s, RA_OP_NORM, t * n, out);
  ra_stage_record(s, RA_OP_NORM, start, t, n, 0, 0);
}

void
ra_stage_add_norm(RaStage *s, gsize t, const RaElem *y, RaElem *rows,
                  RaStageNorm norm, RaElem *out)
{
  double start = ra_stage_begin(s);
  gsize n = s->model->hidden;
  float eps = s->numerics.norm_eps;

  if (s->model->norm == RA_NORM_LAYER)
    s->backend->add_layer_norm(t, n, eps, y, rows, norm.weight, norm.bias, out);
  else
    s->backend->add_norm(t, n, eps, y, rows, norm.weight, out);
  ra_stage_look(s, RA_OP_NORM, t * n, out);
  ra_stage_record(s, RA_OP_NORM, start, t, n, 0, 0);
}

void
ra_stage_norm_backward(RaStage *s, gsize t, const RaElem *x, RaStageNorm norm,
                       const float *inv, const RaElem *d_out, RaElem *d_x)
{
  double start = ra_stage_begin(s);
  gsize n = s->model->hidden;

  if (s->model->norm == RA_NORM_LAYER)
    s->backend->layer_norm_backward(t, n, x, norm.weight, inv, d_out, d_x,
                                    norm.d_weight, norm.d_bias);
  else
    s->backend->norm_backward(t, n, s->numerics.norm_eps, x, norm.weight, inv,
                              d_out, d_x, norm.d_weight);
  ra_stage_look(s, RA_OP_NORM_BACKWARD, t * n, d_x);
  ra_stage_record(s, RA_OP_NORM_BACKWARD, start, t, n, 0, 0);
}

void
ra_stage_head_norms(RaStage *s, gsize t, gint32 layer, RaElem *qkv, RaElem *raw,
                    float *inv)
{
  double start = ra_stage_begin(s);
  gsize dim = s->model->head_dim, stride = ra_stage_qkv_width(s);
  const gsize heads[2] = {s->q_heads, s->kv_heads};
  RaElem *normed = ra_stage_take(s, t * MAX(heads[0], heads[1]) * dim);

  for (int i = 0; i < 2; i++) {
    gsize width = heads[i] * dim;

    s->backend->copy_rect(t, width, qkv, stride, raw, width);
    s->backend->norm(t * heads[i], dim, s->numerics.norm_eps, raw,
                     ra_stage_norm_weight(
                         s, layer, i == 0 ? RA_LAYER_NORM_Q : RA_LAYER_NORM_K),
                     normed, inv);
    s->backend->copy_rect(t, width, normed, width, qkv, stride);
    qkv = ra_stage_at(s, qkv, width);
    raw = ra_stage_at(s, raw, t * width);
    inv += t * heads[i];
  }
  ra_stage_give(s, normed);
  ra_stage_record(s, RA_OP_NORM, start, t * (heads[0] + heads[1]), dim, 0, 0);
}

void
ra_stage_head_norms_backward(RaStage *s, gsize t, gint32 layer,
                             const RaElem *raw, const float *inv, RaElem *d_qkv)
{
  double start = ra_stage_begin(s);
  gsize dim = s->model->head_dim, stride = ra_stage_qkv_width(s);
  const gsize heads[2] = {s->q_heads, s->kv_heads};
  RaElem *d = ra_stage_take(s, t * MAX(heads[0], heads[1]) * dim);

  for (int i = 0; i < 2; i++) {
    RaLayerNorm which = i == 0 ? RA_LAYER_NORM_Q : RA_LAYER_NORM_K;
    gsize width = heads[i] * dim;

    s->backend->copy_rect(t, width, d_qkv, stride, d, width);
    s->backend->norm_backward(t * heads[i], dim, s->numerics.norm_eps, raw,
                              ra_stage_norm_weight(s, layer, which), inv, d, d,
                              ra_stage_norm_grad(s, layer, which));
    s->backend->copy_rect(t, width, d, width, d_qkv, stride);
    d_qkv = ra_stage_at(s, d_qkv, width);
    raw = ra_stage_at(s, raw, t * width);
    inv += t * heads[i];
  }
  ra_stage_give(s, d);
  ra_stage_record(s, RA_OP_NORM_BACKWARD, start, t * (heads[0] + heads[1]), dim,
                  0, 0);
}
