/* The norms of a layer, and those of the heads of q and k. */
#include "config.h"

#include "exec/stage_impl.h"

/* Where norm @which of a layer is, from the layer's first. */
static gsize
norm_offset(const RaModel *m, RaLayerNorm which)
{
  gsize heads = m->qk_norm ? 2 * (gsize)m->head_dim : 0;

  switch (which) {
  case RA_LAYER_NORM_Q:
    return 0;
  case RA_LAYER_NORM_K:
    return m->head_dim;
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
