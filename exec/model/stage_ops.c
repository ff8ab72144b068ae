/* The ops of a stage, each with its record and its check. */
#include "config.h"

#include "exec/comm/device_comm.h"
#include "exec/model/stage_impl.h"

void
ra_stage_linear(RaStage *s, gsize t, gsize n, gsize k, const RaElem *x,
                const RaElem *weight, const RaElem *bias, RaElem *y)
{
  double start = ra_stage_begin(s);

  if (t > 0 && bias) /* 0: a replica that is done meets others at experts */
    s->backend->gemm_bias(t, n, k, x, weight, bias, y);
  else if (t > 0)
    s->backend->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, t, n, k, x, k, weight, k,
                     0, y, n);
  ra_stage_look(s, RA_OP_GEMM, t * n, y);
  ra_stage_record(s, RA_OP_GEMM, start, t, n, k, 1);
}

void
ra_stage_linear_values(RaStage *s, gsize t, gsize k, const RaElem *x,
                       const RaElem *weight, float *y)
{
  double start = ra_stage_begin(s);

  s->backend->gemm_f32(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, t, 1, k, x, k, weight,
                       k, 0, y, 1);
  ra_stage_look_last(s, RA_OP_GEMM, t, y, TRUE);
  ra_stage_record(s, RA_OP_GEMM, start, t, 1, k, 1);
}

void
ra_stage_linear_input(RaStage *s, gsize t, gsize n, gsize k, const RaElem *d_y,
                      const RaElem *weight, RaElem *d_x)
{
  double start = ra_stage_begin(s);

  if (t > 0) /* a rank of a ring may have none of short sequences */
    s->backend->gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, t, k, n, d_y, n, weight, k, 0,
                     d_x, k);
  ra_stage_look(s, RA_OP_GEMM, t * k, d_x);
  ra_stage_record(s, RA_OP_GEMM, start, t, k, n, 1);
}

void
ra_stage_linear_weight(RaStage *s, gsize t, gsize n, gsize k, const RaElem *d_y,
                       const RaElem *x, float *d_weight, float *d_bias)
{
  double start = ra_stage_begin(s);

  if (t > 0 && d_bias)
    s->backend->gemm_bias_backward(t, n, k, d_y, x, d_weight, d_bias);
  else if (t > 0)
    s->backend->gemm_f32(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, k, t, d_y, n, x, k,
                         1, d_weight, k);
  ra_stage_look_f32(s, RA_OP_GEMM, n * k, d_weight);
  ra_stage_record(s, RA_OP_GEMM, start, n, k, t, 1);
}

void
ra_stage_add(RaStage *s, gsize t, const RaElem *x, RaElem *y)
{
  double start = ra_stage_begin(s);

  s->backend->add(t * s->model->hidden, x, y);
  ra_stage_record(s, RA_OP_ADD, start, t, s->model->hidden, 0, 0);
}

void
ra_stage_rope(RaStage *s, gsize t, const uint32_t *positions, int direction,
              RaElem *qkv)
{
  double start = ra_stage_begin(s);
  gsize heads = (gsize)s->q_heads + s->kv_heads; /* q and k are neighbours */
  gsize dim = s->model->head_dim, part = s->rotary_dim;

  if (s->model->position != RA_POSITION_ROTARY)
    return;
  if (part == dim)
    s->backend->rope(t, heads, dim, positions, s->cos_sin, direction, qkv,
                     ra_stage_qkv_width(s));
  for (gsize h = 0; part < dim && h < heads; h++)
    s->backend->rope(t, 1, part, positions, s->cos_sin, direction,
                     ra_stage_at(s, qkv, h * dim), ra_stage_qkv_width(s));
  ra_stage_record(s, RA_OP_ROPE, start, t, heads, s->model->head_dim, 0);
}

void
ra_stage_rope_step(RaStage *s, const RaCache *cache, uint32_t layer,
                   const RaStageStep *step, RaElem *qkv)
{
  double start = ra_stage_begin(s);
  gsize q_heads = s->q_heads, kv_heads = s->kv_heads, dim = s->model->head_dim;

  if (s->model->position != RA_POSITION_ROTARY || s->rotary_dim < dim) {
    ra_stage_rope(s, step->n, step->positions, 1, qkv);
    ra_stage_cache_rows(s, step->n, step->rows, qkv, cache, layer);
    return;
  }
  s->backend->rope_rows(step->n, q_heads, kv_heads, dim, step->positions,
                        step->rows, s->cos_sin, qkv, ra_stage_qkv_width(s),
                        ra_cache_keys(cache, layer),
                        ra_cache_values(cache, layer));
  ra_stage_record(s, RA_OP_ROPE, start, step->n, q_heads + kv_heads, dim, 0);
}

/* Keys that a query of layer @layer sees at most; 0: all. */
static uint32_t
window_of(const RaStage *s, gint32 layer)
{
  return s->model->kinds[ra_model_layer_kind(s->model, (guint32)layer)].window;
}

/* Scores of the sinks of layer @layer; NULL: none. */
static const float *
sinks_of(const RaStage *s, gint32 layer)
{
  return s->model->sinks ? (const float *)(gconstpointer)ra_stage_weight(
                               s, RA_TENSOR_MIXER, layer, FALSE)
                         : NULL;
}

static RaCpuAttention
attention_shape(const RaStage *s, gint32 layer, const RaTokens *tokens)
{
  return (RaCpuAttention){.n_sequences = tokens->n_sequences,
                          .begin = tokens->begin,
                          .q_heads = s->q_heads,
                          .kv_heads = s->kv_heads,
                          .head_dim = s->model->head_dim,
                          .stride = ra_stage_qkv_width(s),
                          .slopes = s->slopes,
                          .window = window_of(s, layer),
                          .sinks = sinks_of(s, layer),
                          .scale = (float)s->numerics.score_scale};
}

void
ra_stage_record_attention(RaStage *s, RaOpKind kind, double start,
                          gsize n_sequences, gsize q_tokens, gsize kv_tokens,
                          gsize pairs)
{
  ra_stage_record(s, kind, start, n_sequences, q_tokens, kv_tokens, pairs);
  if (s->ops) {
    RaOp *op = &g_array_index(s->ops, RaOpRecord, s->ops->len - 1).op;

    op->dim[4] = s->q_heads;
    op->dim[5] = s->kv_heads;
    op->dim[6] = s->model->head_dim;
  }
}

static gsize
n_pairs(const RaTokens *tokens, gsize window)
{
  gsize pairs = 0;

  for (uint32_t i = 0; i < tokens->n_sequences; i++) {
    gsize n = tokens->begin[i + 1] - tokens->begin[i];
    gsize w = window > 0 ? MIN(window, n) : n;

    pairs += w * (w + 1) / 2 + (n - w) * w;
  }
  return pairs;
}

void
ra_stage_attention(RaStage *s, gint32 layer, const RaTokens *tokens,
                   const RaElem *qkv, RaElem *out, float *out_lse)
{
  double start = ra_stage_begin(s);
  RaCpuAttention shape = attention_shape(s, layer, tokens);
  float *workspace = ra_stage_take_bytes(
      s, s->backend->attention_workspace(&shape, FALSE) * sizeof *workspace);
  gsize k = ra_stage_q_width(s);
  gsize v = k + (gsize)s->kv_heads * s->model->head_dim;

  s->backend->attention(&shape, qkv, ra_stage_at(s, qkv, k),
                        ra_stage_at(s, qkv, v), out, out_lse, workspace);
  ra_stage_give(s, workspace);
  ra_stage_look(s, RA_OP_ATTENTION, tokens->n_tokens * ra_stage_q_width(s),
                out);
  ra_stage_record_attention(s, RA_OP_ATTENTION, start, tokens->n_sequences,
                            tokens->n_tokens, tokens->n_tokens,
                            n_pairs(tokens, shape.window));
}

void
ra_stage_attention_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
                            const RaElem *qkv, const RaElem *out,
                            const float *lse, const RaElem *d_out,
                            RaElem *d_qkv)
{
  double start = ra_stage_begin(s);
  RaCpuAttention shape = attention_shape(s, layer, tokens);
  float *workspace = ra_stage_take_bytes(
      s, s->backend->attention_workspace(&shape, TRUE) * sizeof *workspace);
  gsize k = ra_stage_q_width(s);
  gsize v = k + (gsize)s->kv_heads * s->model->head_dim;

  s->backend->attention_backward(&shape, qkv, ra_stage_at(s, qkv, k),
                                 ra_stage_at(s, qkv, v), out, lse, d_out, d_qkv,
                                 ra_stage_at(s, d_qkv, k),
                                 ra_stage_at(s, d_qkv, v), workspace);
  ra_stage_give(s, workspace);
  if (shape.sinks)
    s->backend->sinks_backward(tokens->n_tokens, s->q_heads, s->model->head_dim,
                               shape.sinks, out, lse, d_out,
                               ra_stage_grad(s, RA_TENSOR_MIXER, layer, FALSE));
  ra_stage_look(s, RA_OP_ATTENTION_BACKWARD,
                tokens->n_tokens * ra_stage_qkv_width(s), d_qkv);
  ra_stage_record_attention(s, RA_OP_ATTENTION_BACKWARD, start,
                            tokens->n_sequences, tokens->n_tokens,
                            tokens->n_tokens, n_pairs(tokens, shape.window));
}

RaDecode
ra_stage_decode_shape(const RaStage *s, const RaCache *cache, uint32_t window,
                      const RaStageStep *step)
{
  return (RaDecode){.n = step->n,
                    .pages = step->pages,
                    .lengths = step->lengths,
                    .max_pages = ra_cache_max_pages(cache),
                    .page_tokens = ra_cache_shape(cache)->page_tokens,
                    .page_rows = ra_cache_page_rows(cache),
                    .q_heads = s->q_heads,
                    .kv_heads = s->kv_heads,
                    .head_dim = s->model->head_dim,
                    .stride = ra_stage_qkv_width(s),
                    .slopes = step->slopes,
                    .window = window,
                    .scale = (float)s->numerics.score_scale};
}

void
ra_stage_cache_rows(RaStage *s, gsize n, const uint32_t *rows,
                    const RaElem *qkv, const RaCache *cache, uint32_t layer)
{
  s->backend->cache_rows(n, ra_cache_shape(cache)->width, rows,
                         ra_stage_at(s, qkv, ra_stage_q_width(s)),
                         ra_stage_qkv_width(s), ra_cache_keys(cache, layer),
                         ra_cache_values(cache, layer));
}

void
ra_stage_decode_attention(RaStage *s, gint32 layer, const RaCache *cache,
                          uint32_t cache_layer, const RaStageStep *step,
                          const RaElem *qkv, RaElem *out)
{
  double start = ra_stage_begin(s);
  RaDecode shape = ra_stage_decode_shape(s, cache, window_of(s, layer), step);
  float *workspace = ra_stage_take_bytes(
      s, s->backend->decode_workspace(&shape) * sizeof *workspace);
  gsize n = step->n, seen = 0;

  shape.sinks = sinks_of(s, layer);
  s->backend->decode_attention(&shape, qkv, ra_cache_keys(cache, cache_layer),
                               ra_cache_values(cache, cache_layer), out,
                               workspace);
  for (uint32_t i = 0; i < n; i++)
    seen += shape.window > 0 ? MIN(step->lengths[i], shape.window)
                             : step->lengths[i];
  ra_stage_give(s, workspace);
  ra_stage_look(s, RA_OP_DECODE_ATTENTION, n * ra_stage_q_width(s), out);
  ra_stage_record_attention(s, RA_OP_DECODE_ATTENTION, start, n, n, seen, seen);
}

void
ra_stage_swiglu(RaStage *s, gsize t, gsize width, const RaElem *gate_up,
                RaElem *out)
{
  double start = ra_stage_begin(s);

  if (s->numerics.clamped_swiglu)
    s->backend->clamped_swiglu(t, width, gate_up, out);
  else
    s->backend->swiglu(t, width, gate_up, out);
  ra_stage_look(s, RA_OP_ACTIVATION, t * width, out);
  ra_stage_record(s, RA_OP_ACTIVATION, start, t, width, 1, 0);
}

void
ra_stage_swiglu_backward(RaStage *s, gsize t, gsize width,
                         const RaElem *gate_up, const RaElem *d_out,
                         RaElem *d_gate_up)
{
  double start = ra_stage_begin(s);

  if (s->numerics.clamped_swiglu)
    s->backend->clamped_swiglu_backward(t, width, gate_up, d_out, d_gate_up);
  else
    s->backend->swiglu_backward(t, width, gate_up, d_out, d_gate_up);
  ra_stage_look(s, RA_OP_ACTIVATION_BACKWARD, 2 * t * width, d_gate_up);
  ra_stage_record(s, RA_OP_ACTIVATION_BACKWARD, start, t, width, 1, 0);
}

void
ra_stage_activation(RaStage *s, gsize t, gsize width, const RaElem *in,
                    RaElem *out)
{
  double start = ra_stage_begin(s);

  if (s->model->mlp == RA_MLP_GATED) {
    ra_stage_swiglu(s, t, width, in, out);
    return;
  }
  s->backend->activation(s->numerics.activation, t * width, in, out);
  ra_stage_look(s, RA_OP_ACTIVATION, t * width, out);
  ra_stage_record(s, RA_OP_ACTIVATION, start, t, width, 0, 0);
}

void
ra_stage_activation_backward(RaStage *s, gsize t, gsize width, const RaElem *in,
                             const RaElem *d_out, RaElem *d_in)
{
  double start = ra_stage_begin(s);

  if (s->model->mlp == RA_MLP_GATED) {
    ra_stage_swiglu_backward(s, t, width, in, d_out, d_in);
    return;
  }
  s->backend->activation_backward(s->numerics.activation, t * width, in, d_out,
                                  d_in);
  ra_stage_look(s, RA_OP_ACTIVATION_BACKWARD, t * width, d_in);
  ra_stage_record(s, RA_OP_ACTIVATION_BACKWARD, start, t, width, 0, 0);
}

void
ra_stage_embedding(RaStage *s, gsize t, const uint32_t *tokens, RaElem *out)
{
  double start = ra_stage_begin(s);
  RaSpan vocab = ra_stage_vocab(s);

  s->backend->embedding(
      t, s->model->hidden, (uint32_t)vocab.begin,
      (uint32_t)(vocab.end - vocab.begin), tokens,
      ra_stage_weight(s, RA_TENSOR_EMBEDDING, RA_TENSOR_NO_LAYER, FALSE), out);
  ra_stage_look(s, RA_OP_EMBEDDING, t * s->model->hidden, out);
  ra_stage_record(s, RA_OP_EMBEDDING, start, t, s->model->hidden, s->vocab_pad,
                  0);
}

void
ra_stage_embedding_backward(RaStage *s, gsize t, const uint32_t *tokens,
                            const uint32_t *positions, const RaElem *d_out)
{
  double start = ra_stage_begin(s);
  RaSpan vocab = ra_stage_vocab(s);

  s->backend->embedding_backward(
      t, s->model->hidden, (uint32_t)vocab.begin,
      (uint32_t)(vocab.end - vocab.begin), tokens, d_out,
      ra_stage_grad(s, RA_TENSOR_EMBEDDING, RA_TENSOR_NO_LAYER, FALSE));
  if (s->model->position == RA_POSITION_LEARNED)
    s->backend->embedding_backward(
        t, s->model->hidden, 0, s->model->max_positions, positions, d_out,
        ra_stage_grad(s, RA_TENSOR_POSITION, RA_TENSOR_NO_LAYER, FALSE));
  ra_stage_record(s, RA_OP_EMBEDDING_BACKWARD, start, t, s->model->hidden,
                  s->vocab_pad, 0);
}
