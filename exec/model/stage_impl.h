/* The ops of a stage: each runs through the back end and is recorded with the
 * shape that the op table gives it.  Private to exec/model/stage*.c.
 */
#ifndef RA_EXEC_MODEL_STAGE_IMPL_H
#define RA_EXEC_MODEL_STAGE_IMPL_H

#include "exec/model/stage.h"

/* Host data of a decode step's ops, one token per sequence. */
typedef struct {
  uint32_t n;                /* sequences */
  const uint32_t *tokens;    /* (n); NULL without the embedding */
  const uint32_t *positions; /* (n) positions of the tokens */
  const uint32_t *pages;     /* (n, max_pages) pages of the cache */
  const uint32_t *lengths;   /* (n) tokens of each sequence, including the new
                                one */
  const uint32_t *rows;      /* (n) rows of the cache for the new tokens */
  const float *slopes;       /* (q_heads) slopes of ALiBi; NULL: other
                                positions */
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

/* TRUE if the layers have latent attention: exec/model/stage_latent.h. */
static inline gboolean
ra_stage_is_latent(const RaStage *s)
{
  return s->model->kv_rank > 0;
}

/* Elements of what a token's heads have made. */
static inline gsize
ra_stage_attended_width(const RaStage *s)
{
  return ra_stage_is_latent(s) ? (gsize)s->q_heads * s->model->value_dim
                               : ra_stage_q_width(s);
}

/* Start of a tensor's weights, or gradients; NULL: not on this rank. */
const RaElem *ra_stage_weight(const RaStage *stage, RaTensorKind kind,
                              gint32 layer, gboolean bias);
float *ra_stage_grad(const RaStage *stage, RaTensorKind kind, gint32 layer,
                     gboolean bias);
/* The same of the routed experts that are here, from the first on. */
const RaElem *ra_stage_expert_weight(const RaStage *stage, RaTensorKind kind,
                                     gint32 layer, gboolean bias);
float *ra_stage_expert_grad(const RaStage *stage, RaTensorKind kind,
                            gint32 layer, gboolean bias);

/* Allocate at least @n elements, or bytes, and free them. */
RaElem *ra_stage_take(RaStage *stage, gsize n);
void *ra_stage_take_bytes(RaStage *stage, gsize n_bytes);
void ra_stage_give(RaStage *stage, void *slab);

/* Element @i of @x. */
#define ra_stage_at(s, x, i) ra_elem_at((s)->backend, x, i)

/* Type of the elements. */
static inline RaDtype
ra_stage_dtype(const RaStage *s)
{
  return s->backend->elem_bytes == sizeof(float) ? RA_DTYPE_FP32
                                                 : RA_DTYPE_BF16;
}

/* Bytes of @n elements, or floats, rounded up to the alignment of arrays. */
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

/* The next @n elements at @at, or floats, which goes on behind them. */
static inline RaElem *
ra_stage_cut(const RaStage *s, char **at, gsize n)
{
  char *begin = *at;

  *at += ra_stage_elem_room(s, n);
  return (RaElem *)(void *)begin;
}

static inline float *
ra_stage_cut_floats(const RaStage *s, char **at, gsize n)
{
  char *begin = *at;

  *at += ra_stage_float_room(s, n);
  return (float *)(void *)begin;
}

/* --- ops; @t tokens --- */

/* ra_stage_begin() returns the start of an op; ra_stage_record() records the op
 * when it has ended; see RaOp. */
double ra_stage_begin(RaStage *s);
void ra_stage_record(RaStage *s, RaOpKind kind, double begin_s, gsize d0,
                     gsize d1, gsize d2, gsize d3);

/* Records attention, with the dimensions of graph/op/op.h: @kv_tokens and
 * @pairs are sums over sequences. */
void ra_stage_record_attention(RaStage *s, RaOpKind kind, double begin_s,
                               gsize n_sequences, gsize q_tokens,
                               gsize kv_tokens, gsize pairs);

/* With @s->checks_ops, check that the op of @kind, which is not recorded yet,
 * has made (n) finite numbers; the host waits for a device to answer. */
void ra_stage_look(RaStage *s, RaOpKind kind, gsize n, const RaElem *made);
void ra_stage_look_f32(RaStage *s, RaOpKind kind, gsize n, const float *made);
/* Checks the (n) numbers that a pass ends with, elements or, with @f32, floats.
 * A number that is not finite in any layer arrives there, as every op passes it
 * on.  The gradients are checked in their sum of squares.  A device answers at
 * ra_stage_settle(), which follows a wait for it. */
void ra_stage_look_last(RaStage *s, RaOpKind kind, gsize n, gconstpointer made,
                        gboolean f32);
void ra_stage_settle(RaStage *s);
/* Waits for a device: whether the (n) numbers @x are finite. */
gboolean ra_stage_is_finite(const RaStage *s, gsize n, gconstpointer x,
                            gboolean f32);

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
/* Parameters of a norm of hidden states, and their gradients. */
typedef struct {
  const RaElem *weight, *bias; /* (hidden); bias NULL: none */
  float *d_weight, *d_bias;    /* likewise; NULL: not trained */
} RaStageNorm;

/* Floats per row that the backward pass needs from the forward pass. */
static inline gsize
ra_stage_norm_stats(const RaStage *s)
{
  return s->model->norm == RA_NORM_LAYER ? 2 : 1;
}

void ra_stage_norm(RaStage *s, gsize t, const RaElem *x, RaStageNorm norm,
                   RaElem *out, float *out_inv);
/* @rows += @y, and the norm of them.  The addition is recorded where its term
 * was made. */
void ra_stage_add_norm(RaStage *s, gsize t, const RaElem *y, RaElem *rows,
                       RaStageNorm norm, RaElem *out);
void ra_stage_norm_backward(RaStage *s, gsize t, const RaElem *x,
                            RaStageNorm norm, const float *inv,
                            const RaElem *d_out, RaElem *d_x);
/* y += bias for @t rows, after the ranks' parts of y = x weight' are summed.
 * Does nothing without a tensor-parallel group, where ra_stage_linear() adds
 * the bias. */
void ra_stage_add_summed_bias(RaStage *s, gsize t, const RaElem *bias,
                              RaElem *y);
/* The bias that ra_stage_linear() adds in such a case. */
static inline const RaElem *
ra_stage_own_bias(const RaStage *s, const RaElem *bias)
{
  return s->tp ? NULL : bias;
}
/* Adds learned positions, if the model has them, to this rank's rows of @t. */
void ra_stage_add_positions(RaStage *s, gsize t, const uint32_t *positions,
                            RaElem *rows);
/* y += x, @t rows */
void ra_stage_add(RaStage *s, gsize t, const RaElem *x, RaElem *y);
/* Rotates q and k of @qkv. */
void ra_stage_rope(RaStage *s, gsize t, const uint32_t *positions,
                   int direction, RaElem *qkv);
/* The same for a decode step, whose keys and values go to layer @layer of
 * @cache; those of a model with other positions as they are. */
void ra_stage_rope_step(RaStage *s, const RaCache *cache, uint32_t layer,
                        const RaStageStep *step, RaElem *qkv);
/* Apply the norms of the heads of q and k, in place in @qkv.  The input goes to
 * @raw: (t, q_heads head_dim), then (t, kv_heads head_dim); @inv likewise. */
void ra_stage_head_norms(RaStage *s, gsize t, gint32 layer, RaElem *qkv,
                         RaElem *raw, float *inv);
/* @d_qkv: gradient of the output, replaced by that of the input. */
void ra_stage_head_norms_backward(RaStage *s, gsize t, gint32 layer,
                                  const RaElem *raw, const float *inv,
                                  RaElem *d_qkv);
void ra_stage_attention(RaStage *s, gint32 layer, const RaTokens *tokens,
                        const RaElem *qkv, RaElem *out, float *out_lse);
void ra_stage_attention_backward(RaStage *s, gint32 layer,
                                 const RaTokens *tokens, const RaElem *qkv,
                                 const RaElem *out, const float *lse,
                                 const RaElem *d_out, RaElem *d_qkv);
/* The same over the ring of @tokens; exec/model/stage_ring.c. */
void ra_stage_ring_attention(RaStage *s, const RaTokens *tokens,
                             const RaElem *qkv, RaElem *out, float *out_lse);
void ra_stage_ring_attention_backward(RaStage *s, const RaTokens *tokens,
                                      const RaElem *qkv, const RaElem *out,
                                      const float *lse, const RaElem *d_out,
                                      RaElem *d_qkv);
/* Shape of a step's attention over the last @window tokens of @cache; 0:
 * all. */
RaDecode ra_stage_decode_shape(const RaStage *s, const RaCache *cache,
                               uint32_t window, const RaStageStep *step);
/* Stores keys and values of @qkv (n) in @rows (n) of the cache. */
void ra_stage_cache_rows(RaStage *s, gsize n, const uint32_t *rows,
                         const RaElem *qkv, const RaCache *cache,
                         uint32_t layer);
/* Attention of a decode step, after ra_stage_rope_step(). */
void ra_stage_decode_attention(RaStage *s, gint32 layer, const RaCache *cache,
                               uint32_t cache_layer, const RaStageStep *step,
                               const RaElem *qkv, RaElem *out);
void ra_stage_swiglu(RaStage *s, gsize t, gsize width, const RaElem *gate_up,
                     RaElem *out);
void ra_stage_swiglu_backward(RaStage *s, gsize t, gsize width,
                              const RaElem *gate_up, const RaElem *d_out,
                              RaElem *d_gate_up);
/* The model's MLP: SwiGLU, or its activation without a gate. */
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

/* Logits of the normed rows @x (t, hidden) by the head.  Padded logits are
 * checked in the results computed from them. */
void ra_stage_logits(RaStage *s, gsize t, const RaElem *x, RaElem *logits);
void ra_stage_logits_backward(RaStage *s, gsize t, const RaElem *d_logits,
                              RaElem *d_x);
/* Adds to the head's gradient. */
void ra_stage_logits_weight(RaStage *s, gsize t, const RaElem *d_logits,
                            const RaElem *x);
/* Log-probabilities of the targets. */
void ra_stage_log_prob(RaStage *s, gsize t, const RaElem *logits,
                       const uint32_t *targets, float *out_log_prob,
                       float *out_lse);
void ra_stage_log_prob_backward(RaStage *s, gsize t, const uint32_t *targets,
                                const float *lse, const float *d_log_prob,
                                RaElem *logits);
/* (nullable): memory for @n rows of all ranks' logits; %NULL on the host. */
RaElem *ra_stage_take_logits(RaStage *s, gsize n);
/* All ranks' logits of @n normed rows (n, hidden), to @all in device memory. */
void ra_stage_row_logits(RaStage *s, gsize n, const RaElem *normed,
                         RaElem *all);
/* Copies @all to @out (n, vocab) in host memory; if the stage samples, stores
 * the samples instead. */
void ra_stage_end_logits(RaStage *s, gsize n, const RaElem *all, float *out);

/* Norms of a layer, in the order of their tensors; only some models have the
 * first two, of heads or of latents. */
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
/* Norms before the head and after the embedding. */
RaStageNorm ra_stage_head_norm(const RaStage *s);
RaStageNorm ra_stage_embedding_norm(const RaStage *s);

/* Rows of the vocabulary on this rank. */
RaSpan ra_stage_vocab(const RaStage *stage);
/* (n_vocab, hidden) weights of the head: its own, or the embedding's. */
const RaElem *ra_stage_head_weight(const RaStage *stage);
float *ra_stage_head_grad(const RaStage *stage);

/* --- rows: hidden states of @t tokens, exec/model/stage_rows.c --- */

/* Maximal number of rows of a rank, and the number of this rank's; all without
 * sequence parallelism. */
gsize ra_stage_room(const RaStage *s, gsize t);
gsize ra_stage_n_rows(const RaStage *s, gsize t);
/* Elements of all ranks' rows, each with the maximal number. */
gsize ra_stage_whole_n(const RaStage *s, gsize t);
/* (nullable): memory of that size; %NULL: a rank's rows are all rows. */
RaElem *ra_stage_take_whole(RaStage *s, gsize t);
/* This rank's rows in @whole. */
RaElem *ra_stage_rows_of(const RaStage *s, gsize t, RaElem *whole);
/* Gathers all ranks' @rows into @whole, or returns @rows if they are all.
 * @again: the gather is in no op list, because it overlaps with another op. */
const RaElem *ra_stage_gather_rows(RaStage *s, gsize t, const RaElem *rows,
                                   RaElem *whole, gboolean again);
/* Sums @whole over the tensor-parallel group: this rank's rows to @rows, which
 * may be part of @whole; without shared rows in place. */
void ra_stage_sum_rows(RaStage *s, gsize t, RaElem *whole, RaElem *rows);

/* --- layers --- */

/* Layer @layer of the model, from rows @x to @out, which may be @x unless
 * @kept->middle is set.
 * @cache (nullable): keys and values go to its layer @cache_layer, for @slots;
 * @step (nullable): one token per sequence, which reads the cache. */
void ra_layer_forward(RaStage *s, gint32 layer, const RaTokens *tokens,
                      const RaElem *x, RaLayerKept *kept, RaElem *out,
                      const RaCache *cache, uint32_t cache_layer,
                      const uint32_t *slots, const RaStageStep *step);
/* The core of its attention, from the kept q, k and v. */
void ra_layer_attention(RaStage *s, gint32 layer, const RaTokens *tokens,
                        RaLayerKept *kept);
/* @d: gradient of the output rows, replaced by that of the input rows; @x: the
 *   input. */
void ra_layer_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
                       const RaElem *x, const RaLayerKept *kept, RaElem *d);

/* Bytes that @layer keeps for @t tokens, RA_NONE: that any may, and its arrays
 * in @slab; experts have their own memory: ra_layer_kept_clear(). */
gsize ra_layer_kept_n(const RaStage *s, uint32_t layer, gsize t);
RaLayerKept ra_layer_kept(const RaStage *s, uint32_t layer, gsize t,
                          void *slab);
/* The same for a layer that keeps nothing: inputs and outputs of its largest
 * op, besides the rows; @step: of a decode step. */
gsize ra_layer_room_n(const RaStage *s, gsize t, gboolean step);
RaLayerKept ra_layer_room(const RaStage *s, gsize t, gboolean step, void *slab);
void ra_layer_kept_clear(RaLayerKept *kept);

/* The norm of @n rows, after what they lack (@kept->lacks) has been added. */
void ra_layer_norm(RaStage *s, gsize n, RaLayerKept *kept, const RaElem *rows,
                   RaStageNorm norm, RaElem *out, float *out_inv);
/* Adds what @n rows lack. */
void ra_layer_settle(RaStage *s, gsize n, RaLayerKept *kept, RaElem *rows);

#endif
