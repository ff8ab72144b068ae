#include "config.h"

#include "exec/stage_impl.h"

#define NORM RA_TENSOR_NORM
#define O RA_TENSOR_O

gsize
ra_layer_kept_n(const RaStage *s, gsize t)
{
  gsize hidden = s->model->hidden;

  return t * (3 * hidden + 2 + ra_stage_qkv_width(s) + ra_stage_q_width(s) +
              s->q_heads + 3 * (gsize)s->ffn);
}

RaLayerKept
ra_layer_kept(const RaStage *s, gsize t, float *slab)
{
  gsize hidden = s->model->hidden;
  RaLayerKept k;

  k.normed = slab;
  k.inv = k.normed + t * hidden;
  k.qkv = k.inv + t;
  k.attended = k.qkv + t * ra_stage_qkv_width(s);
  k.lse = k.attended + t * ra_stage_q_width(s);
  k.middle = k.lse + t * s->q_heads;
  k.mlp_normed = k.middle + t * hidden;
  k.mlp_inv = k.mlp_normed + t * hidden;
  k.gate_up = k.mlp_inv + t;
  k.active = k.gate_up + t * 2 * s->ffn;
  return k;
}

/* A layer has two norms: that of attention is the first, that of the MLP
 * follows. */
static const float *
mlp_norm_weight(const RaStage *s, gint32 layer)
{
  return ra_stage_weight(s, NORM, layer, FALSE) + s->model->hidden;
}

/* New keys and values to their places in the cache. */
static void
fill_cache(RaStage *s, const RaTokens *tokens, const float *qkv, RaCache *cache,
           uint32_t layer, const uint32_t *slots)
{
  gsize width = ra_stage_qkv_width(s), q = ra_stage_q_width(s);

  for (uint32_t i = 0; i < tokens->n_sequences; i++) {
    gsize first = tokens->begin[i], n = tokens->begin[i + 1] - first;
    gsize at =
        (((gsize)layer * cache->n_slots + slots[i]) * cache->n_positions +
         tokens->positions[first]) *
        cache->width;
    const float *from = qkv + first * width + q;

    s->backend->copy_rect(n, cache->width, from, width, cache->k + at,
                          cache->width);
    s->backend->copy_rect(n, cache->width, from + cache->width, width,
                          cache->v + at, cache->width);
  }
}

void
ra_layer_forward(RaStage *s, gint32 layer, const RaTokens *tokens,
                 const float *x, RaLayerKept *kept, float *out, RaCache *cache,
                 uint32_t cache_layer, const uint32_t *slots, gboolean decode)
{
  gsize t = tokens->n_tokens, hidden = s->model->hidden;

  ra_stage_enter(s, RA_BLOCK_DENSE, (uint32_t)layer);
  ra_stage_norm(s, t, x, ra_stage_weight(s, NORM, layer, FALSE), kept->normed,
                kept->inv);
  ra_stage_linear(s, t, ra_stage_qkv_width(s), hidden, kept->normed,
                  ra_stage_weight(s, RA_TENSOR_Q, layer, FALSE),
                  ra_stage_weight(s, RA_TENSOR_Q, layer, TRUE), kept->qkv);
  ra_stage_rope(s, t, tokens->positions, 1, kept->qkv);
  if (cache)
    fill_cache(s, tokens, kept->qkv, cache, cache_layer, slots);
  if (decode)
    ra_stage_decode_attention(s, cache, cache_layer, tokens->n_sequences, slots,
                              tokens->positions, kept->qkv, kept->attended);
  else
    ra_stage_attention(s, tokens, kept->qkv, kept->attended, kept->lse);
  ra_stage_linear(s, t, hidden, ra_stage_q_width(s), kept->attended,
                  ra_stage_weight(s, O, layer, FALSE), NULL, kept->middle);
  ra_stage_all_reduce(s, t, kept->middle);
  ra_stage_add(s, t, x, kept->middle);

  ra_stage_norm(s, t, kept->middle, mlp_norm_weight(s, layer), kept->mlp_normed,
                kept->mlp_inv);
  ra_stage_linear(s, t, 2 * (gsize)s->ffn, hidden, kept->mlp_normed,
                  ra_stage_weight(s, RA_TENSOR_GATE, layer, FALSE), NULL,
                  kept->gate_up);
  ra_stage_swiglu(s, t, kept->gate_up, kept->active);
  ra_stage_linear(s, t, hidden, s->ffn, kept->active,
                  ra_stage_weight(s, RA_TENSOR_DOWN, layer, FALSE), NULL, out);
  ra_stage_all_reduce(s, t, out);
  ra_stage_add(s, t, kept->middle, out);
}

static void
mlp_backward(RaStage *s, gint32 layer, gsize t, const RaLayerKept *kept,
             float *d, float *d_hidden, float *d_wide)
{
  gsize hidden = s->model->hidden, ffn = s->ffn;
  float *d_active = d_wide, *d_gate_up = d_wide + t * ffn;
  float *d_norm = ra_stage_grad(s, NORM, layer, FALSE) + hidden;

  ra_stage_linear_input(s, t, hidden, ffn, d,
                        ra_stage_weight(s, RA_TENSOR_DOWN, layer, FALSE),
                        d_active);
  ra_stage_linear_weight(s, t, hidden, ffn, d, kept->active,
                         ra_stage_grad(s, RA_TENSOR_DOWN, layer, FALSE), NULL);
  ra_stage_swiglu_backward(s, t, kept->gate_up, d_active, d_gate_up);
  ra_stage_linear_input(s, t, 2 * ffn, hidden, d_gate_up,
                        ra_stage_weight(s, RA_TENSOR_GATE, layer, FALSE),
                        d_hidden);
  ra_stage_linear_weight(s, t, 2 * ffn, hidden, d_gate_up, kept->mlp_normed,
                         ra_stage_grad(s, RA_TENSOR_GATE, layer, FALSE), NULL);
  ra_stage_all_reduce(s, t, d_hidden);
  /* d_active is free again: the gradient of the norm's input needs no more
   * than d_hidden itself, row by row. */
  ra_stage_norm_backward(s, t, kept->middle, mlp_norm_weight(s, layer),
                         kept->mlp_inv, d_hidden, d_hidden, d_norm);
  ra_stage_add(s, t, d_hidden, d);
}

static void
attention_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
                   const float *x, const RaLayerKept *kept, float *d,
                   float *d_hidden, float *d_wide)
{
  gsize t = tokens->n_tokens, hidden = s->model->hidden;
  gsize q = ra_stage_q_width(s), qkv = ra_stage_qkv_width(s);
  float *d_attended = d_wide, *d_qkv = d_wide + t * q;

  ra_stage_linear_input(s, t, hidden, q, d, ra_stage_weight(s, O, layer, FALSE),
                        d_attended);
  ra_stage_linear_weight(s, t, hidden, q, d, kept->attended,
                         ra_stage_grad(s, O, layer, FALSE), NULL);
  ra_stage_attention_backward(s, tokens, kept->qkv, kept->attended, kept->lse,
                              d_attended, d_qkv);
  ra_stage_rope(s, t, tokens->positions, -1, d_qkv);
  ra_stage_linear_input(s, t, qkv, hidden, d_qkv,
                        ra_stage_weight(s, RA_TENSOR_Q, layer, FALSE),
                        d_hidden);
  ra_stage_linear_weight(s, t, qkv, hidden, d_qkv, kept->normed,
                         ra_stage_grad(s, RA_TENSOR_Q, layer, FALSE),
                         ra_stage_grad(s, RA_TENSOR_Q, layer, TRUE));
  ra_stage_all_reduce(s, t, d_hidden);
  ra_stage_norm_backward(s, t, x, ra_stage_weight(s, NORM, layer, FALSE),
                         kept->inv, d_hidden, d_hidden,
                         ra_stage_grad(s, NORM, layer, FALSE));
  ra_stage_add(s, t, d_hidden, d);
}

void
ra_layer_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
                  const float *x, const RaLayerKept *kept, float *d)
{
  gsize t = tokens->n_tokens;
  gsize wide =
      MAX(3 * (gsize)s->ffn, ra_stage_q_width(s) + ra_stage_qkv_width(s));
  float *slab = ra_stage_take(s, t * (s->model->hidden + wide));
  float *d_wide = slab + t * s->model->hidden;

  ra_stage_enter(s, RA_BLOCK_DENSE, (uint32_t)layer);
  mlp_backward(s, layer, t, kept, d, slab, d_wide);
  attention_backward(s, layer, tokens, x, kept, d, slab, d_wide);
  ra_stage_give(s, slab);
}
