/* The ops of a stage: each runs through the back end and is recorded with the
 * shape that the op table gives it.  Private to exec/model/stage*.c.
 */
#ifndef RA_EXEC_MODEL_STAGE_IMPL_H
#define RA_EXEC_MODEL_STAGE_IMPL_H

#include "exec/model/stage.h"

/* What the host tells the ops of a step, one token a sequence. */
typedef struct {
  uint32_t n;                /* sequences */
  const uint32_t *tokens;    /* (n); NULL without the embedding */
  const uint32_t *positions; /* (n) of them */
  const uint32_t *pages;     /* (n, max_pages) of the cache */
  const uint32_t *lengths;   /* (n) tokens of each, with the new one */
  const uint32_t *rows;      /* (n) of the cache, of the new one */
  const float *slopes;       /* (q_heads) of ALiBi; NULL: other positions */
} RaStageStep;

/* Elements of one token's q, k and v. */
static inline gsize
ra_stage_qkv_width(const RaStage *s)
{
  return ((gsize)s->q_heads + 2 * (gsize)s->kv_heads) * s->model->head_dim;
}

static inline gsize
ra_stage_q_width(const RaStage *s)
{
  return (gsize)s->q_heads * s->model->head_dim;
}

/* Where a tensor's weights, or gradients, begin; NULL: not here. */
const RaElem *ra_stage_weight(const RaStage *stage, RaTensorKind kind,
                              gint32 layer, gboolean bias);
float *ra_stage_grad(const RaStage *stage, RaTensorKind kind, gint32 layer,
                     gboolean bias);

/* Memory of at least @n elements, or bytes, and back. */
RaElem *ra_stage_take(RaStage *stage, gsize n);
void *ra_stage_take_bytes(RaStage *stage, gsize n_bytes);
void ra_stage_give(RaStage *stage, void *slab);

/* Element @i of @x. */
#define ra_stage_at(s, x, i) ra_elem_at((s)->backend, x, i)

/* Of its elements. */
static inline RaDtype
ra_stage_dtype(const RaStage *s)
{
  return s->backend->elem_bytes == sizeof(float) ? RA_DTYPE_FP32
                                                 : RA_DTYPE_BF16;
}

/* Bytes of @n elements, or of floats, with what keeps arrays behind each other
 * where ops want them. */
static inline gsize
ra_stage_elem_room(const RaStage *s, gsize n)
{
  gsize step = s->backend->align_bytes;

  return (n * s->backend->elem_bytes + step - 1) / step * step;
}

static inline gsize
ra_stage_float_room(const RaStage *s, gsize n)
{
  gsize step = s->backend->align_bytes;

  return (n * sizeof(float) + step - 1) / step * step;
}

/* --- ops; @t tokens --- */

/* When an op begins, and what it was once it has ended; see RaOp. */
double ra_stage_begin(RaStage *s);
void ra_stage_record(RaStage *s, RaOpKind kind, double begin_s, gsize d0,
                     gsize d1, gsize d2, gsize d3);

/* The same of attention, with the dimensions of graph/op/op.h: @kv_tokens and
 * @pairs are sums over sequences. */
void ra_stage_record_attention(RaStage *s, RaOpKind kind, double begin_s,
                               gsize n_sequences, gsize q_tokens,
                               gsize kv_tokens, gsize pairs);

/* Looks whether the op of @kind, which has not been recorded, has made (n)
 * finite numbers. */
void ra_stage_look(RaStage *s, RaOpKind kind, gsize n, const RaElem *made);
void ra_stage_look_f32(RaStage *s, RaOpKind kind, gsize n, const float *made);

/* y (t, n) = x (t, k) weight (n, k)' + bias */
void ra_stage_linear(RaStage *s, gsize t, gsize n, gsize k, const RaElem *x,
                     const RaElem *weight, const RaElem *bias, RaElem *y);
/* y (t) = x (t, k) weight (k), fp32: a value head */
void ra_stage_linear_values(RaStage *s, gsize t, gsize k, const RaElem *x,
                            const RaElem *weight, float *y);
/* d_x (t, k) = d_y (t, n) weight (n, k) */
void ra_stage_linear_input(RaStage *s, gsize t, gsize n, gsize k,
                           const RaElem *d_y, const RaElem *weight,
                           RaElem *d_x);
/* d_weight (n, k) += d_y' x, d_bias (n) += columns of d_y */
void ra_stage_linear_weight(RaStage *s, gsize t, gsize n, gsize k,
                            const RaElem *d_y, const RaElem *x, float *d_weight,
                            float *d_bias);
/* A norm of hidden states: what it has, and their gradients. */
typedef struct {
  const RaElem *weight, *bias; /* (hidden); bias NULL: none */
  float *d_weight, *d_bias;    /* likewise; NULL: not trained */
} RaStageNorm;

/* Floats of a row that the backward needs of its forward. */
static inline gsize
ra_stage_norm_stats(const RaStage *s)
{
  return s->model->norm == RA_NORM_LAYER ? 2 : 1;
}

void ra_stage_norm(RaStage *s, gsize t, const RaElem *x, RaStageNorm norm,
                   RaElem *out, float *out_inv);
void ra_stage_norm_backward(RaStage *s, gsize t, const RaElem *x,
                            RaStageNorm norm, const float *inv,
                            const RaElem *d_out, RaElem *d_x);
/* y += bias, @t rows, where each rank has its own part of y = x weight' summed:
 * nothing without a tensor-parallel group, where ra_stage_linear() has added
 * it. */
void ra_stage_add_summed_bias(RaStage *s, gsize t, const RaElem *bias,
                              RaElem *y);
/* What of such a bias ra_stage_linear() adds. */
static inline const RaElem *
ra_stage_own_bias(const RaStage *s, const RaElem *bias)
{
  return s->tp ? NULL : bias;
}
/* Learned positions, where the model has them, of this rank's rows of @t. */
void ra_stage_add_positions(RaStage *s, gsize t, const uint32_t *positions,
                            RaElem *rows);
/* y += x, @t rows */
void ra_stage_add(RaStage *s, gsize t, const RaElem *x, RaElem *y);
/* q and k of @qkv */
void ra_stage_rope(RaStage *s, gsize t, const uint32_t *positions,
                   int direction, RaElem *qkv);
/* The norms of the heads of q and k, in place in @qkv; as they were they go to
 * @raw (t, q_heads head_dim) and then (t, kv_heads head_dim), @inv likewise. */
void ra_stage_head_norms(RaStage *s, gsize t, gint32 layer, RaElem *qkv,
                         RaElem *raw, float *inv);
/* @d_qkv: gradient of what came out, replaced by that of what went in. */
void ra_stage_head_norms_backward(RaStage *s, gsize t, gint32 layer,
                                  const RaElem *raw, const float *inv,
                                  RaElem *d_qkv);
void ra_stage_attention(RaStage *s, const RaTokens *tokens, const RaElem *qkv,
                        RaElem *out, float *out_lse);
void ra_stage_attention_backward(RaStage *s, const RaTokens *tokens,
                                 const RaElem *qkv, const RaElem *out,
                                 const float *lse, const RaElem *d_out,
                                 RaElem *d_qkv);
/* The same round the ring of @tokens; exec/model/stage_ring.c. */
void ra_stage_ring_attention(RaStage *s, const RaTokens *tokens,
                             const RaElem *qkv, RaElem *out, float *out_lse);
void ra_stage_ring_attention_backward(RaStage *s, const RaTokens *tokens,
                                      const RaElem *qkv, const RaElem *out,
                                      const float *lse, const RaElem *d_out,
                                      RaElem *d_qkv);
/* @layer: of the cache */
RaDecode ra_stage_decode_shape(const RaStage *s, const RaCache *cache,
                               const RaStageStep *step);
/* Keys and values of @qkv (n) go to @rows (n) of the cache. */
void ra_stage_cache_rows(RaStage *s, gsize n, const uint32_t *rows,
                         const RaElem *qkv, const RaCache *cache,
                         uint32_t layer);
/* Of a step: its keys and values go to the cache first. */
void ra_stage_decode_attention(RaStage *s, const RaCache *cache, uint32_t layer,
                               const RaStageStep *step, const RaElem *qkv,
                               RaElem *out);
void ra_stage_swiglu(RaStage *s, gsize t, gsize width, const RaElem *gate_up,
                     RaElem *out);
void ra_stage_swiglu_backward(RaStage *s, gsize t, gsize width,
                              const RaElem *gate_up, const RaElem *d_out,
                              RaElem *d_gate_up);
/* Of the model's MLP: SwiGLU, or what it has without a gate. */
void ra_stage_activation(RaStage *s, gsize t, gsize width, const RaElem *in,
                         RaElem *out);
void ra_stage_activation_backward(RaStage *s, gsize t, gsize width,
                                  const RaElem *in, const RaElem *d_out,
                                  RaElem *d_in);
void ra_stage_embedding(RaStage *s, gsize t, const uint32_t *tokens,
                        RaElem *out);
void ra_stage_embedding_backward(RaStage *s, gsize t, const uint32_t *tokens,
                                 const uint32_t *positions,
                                 const RaElem *d_out);
/* --- logits of this rank: (t, its part of the vocabulary), logits_row elements
 * from row to row, exec/model/stage_logits.c --- */

/* Whether rows of any rank have columns behind their last, of any value. */
gboolean ra_stage_logits_padded(const RaStage *stage);
/* From the normed rows @x (t, hidden) by the head.  Padded ones are looked at
 * in what is made of them. */
void ra_stage_logits(RaStage *s, gsize t, const RaElem *x, RaElem *logits);
void ra_stage_logits_backward(RaStage *s, gsize t, const RaElem *d_logits,
                              RaElem *d_x);
/* To the head's gradient. */
void ra_stage_logits_weight(RaStage *s, gsize t, const RaElem *d_logits,
                            const RaElem *x);
/* Log-probabilities of the targets. */
void ra_stage_log_prob(RaStage *s, gsize t, const RaElem *logits,
                       const uint32_t *targets, float *out_log_prob,
                       float *out_lse);
void ra_stage_log_prob_backward(RaStage *s, gsize t, const uint32_t *targets,
                                const float *lse, const float *d_log_prob,
                                RaElem *logits);
/* (nullable): memory of @n rows of all logits; %NULL on the host. */
RaElem *ra_stage_take_logits(RaStage *s, gsize n);
/* All logits of @n normed rows (n, hidden), to @all: of the device. */
void ra_stage_row_logits(RaStage *s, gsize n, const RaElem *normed,
                         RaElem *all);
/* @all to @out (n, vocab) of the host, or what is drawn from them to the
 * stage's draw. */
void ra_stage_end_logits(RaStage *s, gsize n, const RaElem *all, float *out);
/* (t, vocab) of all ranks from (t, this rank's); @out: of the device. */
void ra_stage_gather_logits(RaStage *s, gsize t, const RaElem *logits,
                            RaElem *out);

/* The norms of a layer are neighbours: of q, of k, before attention, before the
 * MLP; the first two only where the model has them. */
typedef enum {
  RA_LAYER_NORM_Q,
  RA_LAYER_NORM_K,
  RA_LAYER_NORM_ATTENTION,
  RA_LAYER_NORM_MLP
} RaLayerNorm;

const RaElem *ra_stage_norm_weight(const RaStage *s, gint32 layer,
                                   RaLayerNorm which);
float *ra_stage_norm_grad(const RaStage *s, gint32 layer, RaLayerNorm which);
RaStageNorm ra_stage_layer_norm(const RaStage *s, gint32 layer,
                                RaLayerNorm which);
/* Before the head, and behind the embedding. */
RaStageNorm ra_stage_head_norm(const RaStage *s);
RaStageNorm ra_stage_embedding_norm(const RaStage *s);

/* Rows of the vocabulary here, and the first. */
RaSpan ra_stage_vocab(const RaStage *stage);
/* (n_vocab, hidden) of the head: its own or the embedding's. */
const RaElem *ra_stage_head_weight(const RaStage *stage);
float *ra_stage_head_grad(const RaStage *stage);

/* --- rows: hidden states of @t tokens, exec/model/stage_rows.c --- */

/* Rows that a rank has of them, at most, and this one: all without sequence
 * parallelism. */
gsize ra_stage_room(const RaStage *s, gsize t);
gsize ra_stage_n_rows(const RaStage *s, gsize t);
/* Elements of the rows of all ranks, with room for each. */
gsize ra_stage_whole_n(const RaStage *s, gsize t);
/* (nullable): memory of as many; %NULL: a rank's rows are all. */
RaElem *ra_stage_take_whole(RaStage *s, gsize t);
/* This rank's rows in it. */
RaElem *ra_stage_rows_of(const RaStage *s, gsize t, RaElem *whole);
/* All ranks' @rows, in @whole, or where they are; @again: a gather that stands
 * in no op list, as it goes on behind another op. */
const RaElem *ra_stage_gather_rows(RaStage *s, gsize t, const RaElem *rows,
                                   RaElem *whole, gboolean again);
/* The sum of @whole over the tensor-parallel group, to @rows: this rank's,
 * which may be those in @whole, else @whole. */
void ra_stage_sum_rows(RaStage *s, gsize t, RaElem *whole, RaElem *rows);

/* --- layers --- */

/* Layer @layer of the model, from the rows @x to @out, which are @x's place or
 * another; with @kept->middle another.
 * @cache (nullable): keys and values go to its layer @cache_layer, for @slots;
 * @step (nullable): one token a sequence, which reads the cache. */
void ra_layer_forward(RaStage *s, gint32 layer, const RaTokens *tokens,
                      const RaElem *x, RaLayerKept *kept, RaElem *out,
                      const RaCache *cache, uint32_t cache_layer,
                      const uint32_t *slots, const RaStageStep *step);
/* The core of its attention, from what is kept of q, k and v. */
void ra_layer_attention(RaStage *s, const RaTokens *tokens, RaLayerKept *kept);
/* @d: gradient of the output's rows, replaced by that of the input's; @x: what
 * went in. */
void ra_layer_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
                       const RaElem *x, const RaLayerKept *kept, RaElem *d);

/* Bytes of what a layer keeps of @t tokens, and its parts in @slab; experts
 * have their own: ra_layer_kept_clear(). */
gsize ra_layer_kept_n(const RaStage *s, gsize t);
RaLayerKept ra_layer_kept(const RaStage *s, gsize t, void *slab);
/* The same of a layer that keeps nothing: as much as its largest op reads and
 * writes beside the rows. */
gsize ra_layer_room_n(const RaStage *s, gsize t);
RaLayerKept ra_layer_room(const RaStage *s, gsize t, void *slab);
void ra_layer_kept_clear(RaLayerKept *kept);

#endif
