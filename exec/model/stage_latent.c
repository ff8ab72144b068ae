/* Latent attention, forward, backward and on its cache. */
#include "config.h"

#include <math.h>

#include "exec/model/stage_latent.h"

/* DeepseekV3RMSNorm of modeling_deepseek_v3.py (transformers 4.57): the norms
 * of latents have the class's own epsilon, not that of config.json. */
#define LATENT_EPS 1e-6f

/* Widths of a token on this rank, elements. */
typedef struct {
  gsize hidden, heads, q_rank, kv_rank, nope, rope, value;
  gsize qk;     /* nope + rope */
  gsize q;      /* of the queries of all heads, and of the keys */
  gsize v;      /* of the values of all heads */
  gsize cached; /* kv_rank + rope */
  gsize down;   /* of the first matrices together */
} Widths;

static Widths
widths_of(const RaStage *s)
{
  const RaModel *m = s->model;
  Widths w = {.hidden = m->hidden,
              .heads = s->q_heads,
              .q_rank = m->q_rank,
              .kv_rank = m->kv_rank,
              .nope = m->nope_dim,
              .rope = m->rope_dim,
              .value = m->value_dim};

  w.qk = w.nope + w.rope;
  w.q = w.heads * w.qk;
  w.v = w.heads * w.value;
  w.cached = w.kv_rank + w.rope;
  w.down = w.cached + (w.q_rank > 0 ? w.q_rank : w.q);
  return w;
}

/* --- parameters: neighbours, in the order of the checkpoint --- */

static const RaParam *
param_of(const RaStage *s, gint32 layer, RaLatentMatrix which)
{
  guint first = s->model->q_rank > 0 ? RA_LATENT_Q_DOWN : RA_LATENT_Q;

  return ra_params_find(s->params, RA_TENSOR_MIXER, layer, FALSE) + which -
         first;
}

const RaElem *
ra_latent_weight(const RaStage *s, gint32 layer, RaLatentMatrix which)
{
  return ra_stage_at(s, (const RaElem *)s->params->weights,
                     param_of(s, layer, which)->offset);
}

float *
ra_latent_grad(const RaStage *s, gint32 layer, RaLatentMatrix which)
{
  return s->params->grads + param_of(s, layer, which)->offset;
}

/* --- memory --- */

gsize
ra_latent_kept_n(const RaStage *s, gsize t)
{
  Widths w = widths_of(s);

  return 2 * (ra_stage_elem_room(s, t * w.q_rank) +
              ra_stage_elem_room(s, t * w.kv_rank) +
              ra_stage_elem_room(s, t * w.q)) +
         ra_stage_elem_room(s, t * w.v) +
         ra_stage_float_room(s, w.q_rank > 0 ? t : 0) +
         ra_stage_float_room(s, t);
}

void
ra_latent_kept(const RaStage *s, gsize t, char **at, RaLayerKept *kept)
{
  Widths w = widths_of(s);
  RaLatentKept *k = &kept->latent;

  k->q_down = ra_stage_cut(s, at, t * w.q_rank);
  k->q_normed = ra_stage_cut(s, at, t * w.q_rank);
  k->kv_down = ra_stage_cut(s, at, t * w.kv_rank);
  k->kv_normed = ra_stage_cut(s, at, t * w.kv_rank);
  k->q = ra_stage_cut(s, at, t * w.q);
  k->k = ra_stage_cut(s, at, t * w.q);
  k->v = ra_stage_cut(s, at, t * w.v);
  k->q_inv = ra_stage_cut_floats(s, at, w.q_rank > 0 ? t : 0);
  k->kv_inv = ra_stage_cut_floats(s, at, t);
}

/* Memory of a layer that keeps nothing, in turn; each op reads of some places
 * and writes to others.
 *
 *             forward                      decode step
 *     first   latents, attended            what the first matrices make, the
 *                                          latents behind it; then absorbed
 *                                          queries; then attended
 *     second  queries                      (none)
 *     third   keys, values; before, in     queries; then the latents that come
 *             the values' place, what      out
 *             the first matrices make
 *
 * The normed input is where the first matrices do not write.  Statistics of
 * norms, which nobody reads, are where the log-sum-exp will be, or behind the
 * latents of a step.
 */
typedef struct {
  gsize down;          /* width of what the first matrices make to norm it */
  gsize latents;       /* where they begin, elements, of a step */
  gsize stats;         /* likewise */
  gsize second, third; /* likewise */
  gsize end;
} Places;

static Places
places_of(const RaStage *s, gsize t, gboolean step)
{
  Widths w = widths_of(s);
  gsize rows = ra_stage_room(s, t) * w.hidden,
        latent = MAX(w.q_rank, w.kv_rank);
  gsize behind = w.q_rank > 0 ? 0 : rows; /* no queries in the first's way */
  Places p = {.down = w.q_rank + w.kv_rank};

  if (step) {
    p.latents = t * (p.down + w.rope);
    p.stats = p.latents + MAX(behind, t * latent);
    p.third = MAX(p.stats + t * sizeof(float) / s->backend->elem_bytes,
                  t * MAX(w.heads * w.cached, w.v));
    p.end = p.third + MAX(rows, t * MAX(w.q, w.heads * w.kv_rank));
    return p;
  }
  p.second = MAX(behind, t * MAX(w.v, latent));
  p.third = MAX(p.second + t * w.q, rows);
  p.end = p.third + MAX(rows, t * (w.q + MAX(w.v, p.down)));
  return p;
}

gsize
ra_latent_room_n(const RaStage *s, gsize t, gboolean step)
{
  return ra_stage_float_room(s, step ? 0 : t * s->q_heads) +
         ra_stage_elem_room(s, places_of(s, t, step).end);
}

static void
step_room(const RaStage *s, gsize t, RaElem *first, RaLayerKept *kept)
{
  Widths w = widths_of(s);
  Places p = places_of(s, t, TRUE);
  RaElem *latents = ra_stage_at(s, first, p.latents);
  RaElem *third = ra_stage_at(s, first, p.third);

  kept->normed = w.q_rank > 0 ? third : latents;
  kept->attended = first;
  kept->inv = (float *)(void *)ra_stage_at(s, first, p.stats);
  kept->latent = (RaLatentKept){.q_down = first,
                                .q_normed = latents,
                                .q_inv = kept->inv,
                                .kv_down = ra_stage_at(s, first, t * w.q_rank),
                                .kv_normed = latents,
                                .kv_inv = kept->inv,
                                .q = third,
                                .k = ra_stage_at(s, first, t * p.down),
                                .absorbed = first,
                                .out = third};
}

void
ra_latent_room(const RaStage *s, gsize t, gboolean step, void *slab,
               RaLayerKept *kept)
{
  Widths w = widths_of(s);
  Places p = places_of(s, t, step);
  char *at = slab;
  RaElem *first, *third, *down;

  if (step) {
    step_room(s, t, slab, kept);
    return;
  }
  kept->lse = kept->inv = ra_stage_cut_floats(s, &at, t * s->q_heads);
  first = (RaElem *)(void *)at;
  third = ra_stage_at(s, first, p.third);
  down = ra_stage_at(s, third, t * w.q);
  kept->normed = kept->attended = first;
  kept->latent = (RaLatentKept){.q_down = down,
                                .q_normed = first,
                                .q_inv = kept->inv,
                                .kv_down = ra_stage_at(s, down, t * w.q_rank),
                                .kv_normed = first,
                                .kv_inv = kept->inv,
                                .q = ra_stage_at(s, first, p.second),
                                .k = third,
                                .v = down};
}

/* --- ops --- */

/* y (t, n) = x (t, k) weight (n, k)', rows of y @ldy apart; of an op. */
static void
multiply(const RaStage *s, gsize t, gsize n, gsize k, const RaElem *x,
         const RaElem *weight, RaElem *y, gsize ldy)
{
  if (t > 0)
    s->backend->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, t, n, k, x, k, weight, k,
                     0, y, ldy);
}

/* The first matrices, which are one op: latents, and the part of the keys that
 * rotates, rows of which are @ldk apart. */
static void
go_down(RaStage *s, gint32 layer, gsize t, const RaElem *x,
        const RaLatentKept *k, RaElem *k_rope, gsize ldk)
{
  Widths w = widths_of(s);
  double start = ra_stage_begin(s);
  const RaElem *kv = ra_latent_weight(s, layer, RA_LATENT_KV_DOWN);

  if (w.q_rank > 0)
    multiply(s, t, w.q_rank, w.hidden, x,
             ra_latent_weight(s, layer, RA_LATENT_Q_DOWN), k->q_down, w.q_rank);
  else
    multiply(s, t, w.q, w.hidden, x, ra_latent_weight(s, layer, RA_LATENT_Q),
             k->q, w.q);
  multiply(s, t, w.kv_rank, w.hidden, x, kv, k->kv_down, w.kv_rank);
  multiply(s, t, w.rope, w.hidden, x, ra_stage_at(s, kv, w.kv_rank * w.hidden),
           k_rope, ldk);
  ra_stage_look(s, RA_OP_GEMM, t * (w.q_rank > 0 ? w.q_rank : w.q),
                w.q_rank > 0 ? k->q_down : k->q);
  ra_stage_look(s, RA_OP_GEMM, t * w.kv_rank, k->kv_down);
  ra_stage_record(s, RA_OP_GEMM, start, t, w.down, w.hidden, 1);
}

static void
norm(RaStage *s, gint32 layer, RaLayerNorm which, gsize t, gsize n,
     const RaElem *x, RaElem *out, float *out_inv)
{
  double start = ra_stage_begin(s);

  s->backend->norm(t, n, LATENT_EPS, x, ra_stage_norm_weight(s, layer, which),
                   out, out_inv);
  ra_stage_look(s, RA_OP_NORM, t * n, out);
  ra_stage_record(s, RA_OP_NORM, start, t, n, 0, 0);
}

static void
norm_backward(RaStage *s, gint32 layer, RaLayerNorm which, gsize t, gsize n,
              const RaElem *x, const float *inv, const RaElem *d_out,
              RaElem *d_x)
{
  double start = ra_stage_begin(s);

  s->backend->norm_backward(t, n, LATENT_EPS, x,
                            ra_stage_norm_weight(s, layer, which), inv, d_out,
                            d_x, ra_stage_norm_grad(s, layer, which));
  ra_stage_look(s, RA_OP_NORM_BACKWARD, t * n, d_x);
  ra_stage_record(s, RA_OP_NORM_BACKWARD, start, t, n, 0, 0);
}

/* Rotates the last elements of every head of @q, and @k_rope, rows of which are
 * @ldk apart. */
static void
rotate(RaStage *s, gsize t, const uint32_t *positions, int direction, RaElem *q,
       RaElem *k_rope, gsize ldk)
{
  Widths w = widths_of(s);
  double start = ra_stage_begin(s);
  const RaBackend *b = s->backend;

  for (gsize h = 0; h <= w.heads; h++)
    (s->numerics.rope_pairs ? b->rope_pairs : b->rope)(
        t, 1, w.rope, positions, s->cos_sin, direction,
        h < w.heads ? ra_stage_at(s, q, h * w.qk + w.nope) : k_rope,
        h < w.heads ? w.q : ldk);
  ra_stage_record(s, RA_OP_ROPE, start, t, w.heads + 1, w.rope, 0);
}

/* Keys and values of all heads from the latent, beside the part of the first
 * head's keys that has rotated, which the others get too. */
static void
go_up(RaStage *s, gint32 layer, gsize t, const RaLatentKept *k)
{
  Widths w = widths_of(s);
  double start = ra_stage_begin(s);
  const RaElem *weight = ra_latent_weight(s, layer, RA_LATENT_KV);

  for (gsize h = 0; h < w.heads; h++) {
    const RaElem *of_head =
        ra_stage_at(s, weight, h * (w.nope + w.value) * w.kv_rank);

    multiply(s, t, w.nope, w.kv_rank, k->kv_normed, of_head,
             ra_stage_at(s, k->k, h * w.qk), w.q);
    multiply(s, t, w.value, w.kv_rank, k->kv_normed,
             ra_stage_at(s, of_head, w.nope * w.kv_rank),
             ra_stage_at(s, k->v, h * w.value), w.v);
    if (h > 0)
      s->backend->copy_rect(t, w.rope, ra_stage_at(s, k->k, w.nope), w.q,
                            ra_stage_at(s, k->k, h * w.qk + w.nope), w.q);
  }
  ra_stage_look(s, RA_OP_GEMM, t * w.v, k->v);
  ra_stage_record(s, RA_OP_GEMM, start, t, w.heads * (w.nope + w.value),
                  w.kv_rank, 1);
}

/* The latents and what has rotated to their @rows (t) of the cache. */
static void
fill_cache(RaStage *s, gsize t, const RaElem *latents, const RaElem *k_rope,
           gsize ldk, const RaCache *cache, uint32_t layer,
           const uint32_t *rows)
{
  Widths w = widths_of(s);
  g_autofree RaBackendRect *rects = g_new(RaBackendRect, 2 * t + 1);

  for (gsize i = 0; i < t; i++) {
    RaElem *to =
        ra_stage_at(s, ra_cache_keys(cache, layer), (gsize)rows[i] * w.cached);

    rects[2 * i] =
        (RaBackendRect){.from = ra_stage_at(s, latents, i * w.kv_rank),
                        .to = to,
                        .n_rows = 1,
                        .n_cols = w.kv_rank,
                        .from_stride = w.kv_rank,
                        .to_stride = w.cached};
    rects[2 * i + 1] = (RaBackendRect){.from = ra_stage_at(s, k_rope, i * ldk),
                                       .to = ra_stage_at(s, to, w.kv_rank),
                                       .n_rows = 1,
                                       .n_cols = w.rope,
                                       .from_stride = ldk,
                                       .to_stride = w.cached};
  }
  s->backend->copy_rects((guint)(2 * t), rects);
}

static RaCpuAttention
shape_of(const RaStage *s, const RaTokens *tokens)
{
  Widths w = widths_of(s);

  return (RaCpuAttention){.n_sequences = tokens->n_sequences,
                          .begin = tokens->begin,
                          .q_heads = s->q_heads,
                          .kv_heads = s->q_heads,
                          .head_dim = (uint32_t)w.qk,
                          .value_dim = (uint32_t)w.value,
                          .stride = w.q,
                          .v_stride = w.v,
                          .scale = (float)s->numerics.score_scale};
}

/* With the widths that graph/op/op.h has behind the heads. */
static void
record(RaStage *s, RaOpKind kind, double start, gsize n_sequences,
       gsize q_tokens, gsize kv_tokens, gsize pairs)
{
  Widths w = widths_of(s);
  gboolean step = kind == RA_OP_LATENT_DECODE;

  ra_stage_record(s, kind, start, n_sequences, q_tokens, kv_tokens, pairs);
  if (s->ops) {
    RaOp *op = &g_array_index(s->ops, RaOpRecord, s->ops->len - 1).op;

    op->dim[4] = w.heads;
    op->dim[5] = step ? w.kv_rank : w.qk;
    op->dim[6] = step ? w.rope : w.value;
  }
}

static void
record_pairs(RaStage *s, RaOpKind kind, double start, const RaTokens *tokens)
{
  gsize pairs = 0;

  for (uint32_t i = 0; i < tokens->n_sequences; i++) {
    gsize n = tokens->begin[i + 1] - tokens->begin[i];

    pairs += n * (n + 1) / 2;
  }
  record(s, kind, start, tokens->n_sequences, tokens->n_tokens,
         tokens->n_tokens, pairs);
}

static void
attend(RaStage *s, const RaTokens *tokens, const RaLayerKept *kept)
{
  Widths w = widths_of(s);
  double start = ra_stage_begin(s);
  RaCpuAttention shape = shape_of(s, tokens);
  const RaLatentKept *k = &kept->latent;
  float *workspace = ra_stage_take_bytes(
      s, s->backend->attention_workspace(&shape, FALSE) * sizeof *workspace);

  s->backend->attention(&shape, k->q, k->k, k->v, kept->attended, kept->lse,
                        workspace);
  ra_stage_give(s, workspace);
  ra_stage_look(s, RA_OP_LATENT, tokens->n_tokens * w.v, kept->attended);
  record_pairs(s, RA_OP_LATENT, start, tokens);
}

/* --- a decode step --- */

/* The products of the heads with their parts of a matrix: of the queries with
 * that of the keys or, with @out, of the latents that come out with that of the
 * values. */
static void
absorb(RaStage *s, gint32 layer, gsize t, gboolean out, const RaElem *x,
       RaElem *y)
{
  Widths w = widths_of(s);
  double start = ra_stage_begin(s);
  const RaElem *weight = ra_latent_weight(s, layer, RA_LATENT_KV);

  for (gsize h = 0; h < w.heads && t > 0; h++) {
    const RaElem *keys =
        ra_stage_at(s, weight, h * (w.nope + w.value) * w.kv_rank);
    const RaElem *values = ra_stage_at(s, keys, w.nope * w.kv_rank);

    if (out)
      s->backend->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, t, w.value, w.kv_rank,
                       ra_stage_at(s, x, h * w.kv_rank), w.heads * w.kv_rank,
                       values, w.kv_rank, 0, ra_stage_at(s, y, h * w.value),
                       w.v);
    else
      s->backend->gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, t, w.kv_rank, w.nope,
                       ra_stage_at(s, x, h * w.qk), w.q, keys, w.kv_rank, 0,
                       ra_stage_at(s, y, h * w.cached), w.heads * w.cached);
  }
  ra_stage_record(s, RA_OP_GEMM, start, t, out ? w.value : w.kv_rank,
                  out ? w.kv_rank : w.nope, w.heads);
}

/* From the queries to what the heads have made of the cached latents. */
static void
step_forward(RaStage *s, gint32 layer, RaLayerKept *kept, const RaCache *cache,
             uint32_t cache_layer, const RaStageStep *step)
{
  Widths w = widths_of(s);
  const RaLatentKept *k = &kept->latent;
  RaDecode shape = ra_stage_decode_shape(s, cache, 0, step);
  RaElem *keys = ra_cache_keys(cache, cache_layer);
  gsize n = step->n, seen = 0;
  float *workspace;
  double start;

  absorb(s, layer, n, FALSE, k->q, k->absorbed);
  for (gsize h = 0; h < w.heads; h++)
    s->backend->copy_rect(n, w.rope, ra_stage_at(s, k->q, h * w.qk + w.nope),
                          w.q,
                          ra_stage_at(s, k->absorbed, h * w.cached + w.kv_rank),
                          w.heads * w.cached);
  shape.kv_heads = 1;
  shape.head_dim = (uint32_t)w.cached;
  shape.value_dim = (uint32_t)w.kv_rank;
  shape.scale = (float)(s->numerics.score_scale > 0 ? s->numerics.score_scale
                                                    : 1 / sqrt((double)w.qk));
  shape.stride = w.heads * w.cached;
  start = ra_stage_begin(s);
  workspace = ra_stage_take_bytes(s, s->backend->decode_workspace(&shape) *
                                         sizeof *workspace);
  s->backend->decode_attention(&shape, k->absorbed, keys, keys, k->out,
                               workspace);
  ra_stage_give(s, workspace);
  for (uint32_t i = 0; i < n; i++)
    seen += step->lengths[i];
  ra_stage_look(s, RA_OP_LATENT_DECODE, n * w.heads * w.kv_rank, k->out);
  record(s, RA_OP_LATENT_DECODE, start, n, n, seen, seen);
  absorb(s, layer, n, TRUE, k->out, kept->attended);
}

void
ra_latent_forward(RaStage *s, gint32 layer, const RaTokens *tokens,
                  const RaElem *x, RaLayerKept *kept, const RaCache *cache,
                  uint32_t cache_layer, const uint32_t *rows,
                  const RaStageStep *step)
{
  Widths w = widths_of(s);
  const RaLatentKept *k = &kept->latent;
  gsize t = tokens->n_tokens, ldk = step ? w.rope : w.q;
  RaElem *k_rope = step ? k->k : ra_stage_at(s, k->k, w.nope);

  go_down(s, layer, t, x, k, k_rope, ldk);
  if (w.q_rank > 0) {
    norm(s, layer, RA_LAYER_NORM_Q, t, w.q_rank, k->q_down, k->q_normed,
         k->q_inv);
    ra_stage_linear(s, t, w.q, w.q_rank, k->q_normed,
                    ra_latent_weight(s, layer, RA_LATENT_Q), NULL, k->q);
  }
  norm(s, layer, RA_LAYER_NORM_K, t, w.kv_rank, k->kv_down, k->kv_normed,
       k->kv_inv);
  rotate(s, t, tokens->positions, 1, k->q, k_rope, ldk);
  if (cache)
    fill_cache(s, t, k->kv_normed, k_rope, ldk, cache, cache_layer, rows);
  if (step) {
    step_forward(s, layer, kept, cache, cache_layer, step);
    return;
  }
  go_up(s, layer, t, k);
  attend(s, tokens, kept);
}

/* --- backward --- */

gsize
ra_latent_narrow(const RaStage *s)
{
  Widths w = widths_of(s);

  return MAX(w.v, MAX(w.q_rank, w.kv_rank));
}

/* Gradients of queries, keys and values, and later of latents in their
 * places. */
typedef struct {
  gsize q, k, v;
} Wide;

static Wide
wide_of(const RaStage *s)
{
  Widths w = widths_of(s);

  return (Wide){MAX(w.q, w.q_rank), MAX(w.q, w.kv_rank), MAX(w.v, 2 * w.rope)};
}

gsize
ra_latent_wide(const RaStage *s)
{
  Wide wide = wide_of(s);

  return wide.q + wide.k + wide.v;
}

static void
attend_backward(RaStage *s, const RaTokens *tokens, const RaLayerKept *kept,
                const RaElem *d_attended, RaElem *d_q, RaElem *d_k, RaElem *d_v)
{
  Widths w = widths_of(s);
  double start = ra_stage_begin(s);
  RaCpuAttention shape = shape_of(s, tokens);
  const RaLatentKept *k = &kept->latent;
  float *workspace = ra_stage_take_bytes(
      s, s->backend->attention_workspace(&shape, TRUE) * sizeof *workspace);

  s->backend->attention_backward(&shape, k->q, k->k, k->v, kept->attended,
                                 kept->lse, d_attended, d_q, d_k, d_v,
                                 workspace);
  ra_stage_give(s, workspace);
  ra_stage_look(s, RA_OP_LATENT_BACKWARD, tokens->n_tokens * w.q, d_q);
  record_pairs(s, RA_OP_LATENT_BACKWARD, start, tokens);
}

/* Adds x' (t, k) of @d_y (t, n), rows of which are @ldy apart, to a gradient
 * (n, k); of an op. */
static void
add_weight(const RaStage *s, gsize t, gsize n, gsize k, const RaElem *d_y,
           gsize ldy, const RaElem *x, float *d_weight)
{
  if (t > 0)
    s->backend->gemm_f32(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, k, t, d_y, ldy, x,
                         k, 1, d_weight, k);
}

/* d_x (t, k) = beta d_x + d_y (t, n) weight (n, k); of an op. */
static void
add_input(const RaStage *s, gsize t, gsize n, gsize k, const RaElem *d_y,
          gsize ldy, const RaElem *weight, float beta, RaElem *d_x)
{
  if (t > 0)
    s->backend->gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, t, k, n, d_y, ldy, weight, k,
                     beta, d_x, k);
}

/* From the gradients of keys and values of all heads to that of the latent. */
static void
up_backward(RaStage *s, gint32 layer, gsize t, const RaLatentKept *k,
            const RaElem *d_k, const RaElem *d_v, RaElem *d_latent)
{
  Widths w = widths_of(s);
  const RaElem *weight = ra_latent_weight(s, layer, RA_LATENT_KV);
  float *grad = ra_latent_grad(s, layer, RA_LATENT_KV);
  gsize both = w.nope + w.value;
  double start = ra_stage_begin(s);

  for (gsize h = 0; h < w.heads; h++) {
    const RaElem *of_head = ra_stage_at(s, weight, h * both * w.kv_rank);

    add_input(s, t, w.nope, w.kv_rank, ra_stage_at(s, d_k, h * w.qk), w.q,
              of_head, h > 0, d_latent);
    add_input(s, t, w.value, w.kv_rank, ra_stage_at(s, d_v, h * w.value), w.v,
              ra_stage_at(s, of_head, w.nope * w.kv_rank), 1, d_latent);
  }
  ra_stage_look(s, RA_OP_GEMM, t * w.kv_rank, d_latent);
  ra_stage_record(s, RA_OP_GEMM, start, t, w.kv_rank, w.heads * both, 1);
  start = ra_stage_begin(s);
  for (gsize h = 0; h < w.heads; h++) {
    float *of_head = grad + h * both * w.kv_rank;

    add_weight(s, t, w.nope, w.kv_rank, ra_stage_at(s, d_k, h * w.qk), w.q,
               k->kv_normed, of_head);
    add_weight(s, t, w.value, w.kv_rank, ra_stage_at(s, d_v, h * w.value), w.v,
               k->kv_normed, of_head + w.nope * w.kv_rank);
  }
  ra_stage_look_f32(s, RA_OP_GEMM, w.heads * both * w.kv_rank, grad);
  ra_stage_record(s, RA_OP_GEMM, start, w.heads * both, w.kv_rank, t, 1);
}

/* The sum over the heads of the gradients of what rotates in keys, which all
 * share, to @d_rope (t, rope), with as much memory behind it. */
static void
sum_heads(const RaStage *s, gsize t, const RaElem *d_k, RaElem *d_rope)
{
  Widths w = widths_of(s);
  RaElem *one = ra_stage_at(s, d_rope, t * w.rope);

  for (gsize h = 0; h < w.heads; h++) {
    s->backend->copy_rect(t, w.rope, ra_stage_at(s, d_k, h * w.qk + w.nope),
                          w.q, h > 0 ? one : d_rope, w.rope);
    if (h > 0)
      s->backend->add(t * w.rope, one, d_rope);
  }
}

/* The first matrices, from the gradients of their outputs: of what the queries
 * come from, of the other latent and of what rotates. */
static void
down_backward(RaStage *s, gint32 layer, gsize t, const RaElem *x,
              const RaElem *d_q, const RaElem *d_kv, const RaElem *d_rope,
              RaElem *d_x)
{
  Widths w = widths_of(s);
  RaLatentMatrix q = w.q_rank > 0 ? RA_LATENT_Q_DOWN : RA_LATENT_Q;
  const RaElem *kv = ra_latent_weight(s, layer, RA_LATENT_KV_DOWN);
  float *grad = ra_latent_grad(s, layer, RA_LATENT_KV_DOWN);
  gsize n_q = w.q_rank > 0 ? w.q_rank : w.q, rows = w.kv_rank * w.hidden;
  double start = ra_stage_begin(s);

  add_input(s, t, n_q, w.hidden, d_q, n_q, ra_latent_weight(s, layer, q), 0,
            d_x);
  add_input(s, t, w.kv_rank, w.hidden, d_kv, w.kv_rank, kv, 1, d_x);
  add_input(s, t, w.rope, w.hidden, d_rope, w.rope, ra_stage_at(s, kv, rows), 1,
            d_x);
  ra_stage_look(s, RA_OP_GEMM, t * w.hidden, d_x);
  ra_stage_record(s, RA_OP_GEMM, start, t, w.hidden, w.down, 1);
  start = ra_stage_begin(s);
  add_weight(s, t, n_q, w.hidden, d_q, n_q, x, ra_latent_grad(s, layer, q));
  add_weight(s, t, w.kv_rank, w.hidden, d_kv, w.kv_rank, x, grad);
  add_weight(s, t, w.rope, w.hidden, d_rope, w.rope, x, grad + rows);
  ra_stage_look_f32(s, RA_OP_GEMM, w.cached * w.hidden, grad);
  ra_stage_record(s, RA_OP_GEMM, start, w.down, w.hidden, t, 1);
}

void
ra_latent_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
                   const RaElem *x, const RaLayerKept *kept, RaElem *d_hidden,
                   RaElem *wide)
{
  Widths w = widths_of(s);
  Wide places = wide_of(s);
  const RaLatentKept *k = &kept->latent;
  gsize t = tokens->n_tokens;
  RaElem *d_q = wide, *d_k = ra_stage_at(s, wide, t * places.q);
  RaElem *d_v = ra_stage_at(s, d_k, t * places.k);

  attend_backward(s, tokens, kept, d_hidden, d_q, d_k, d_v);
  up_backward(s, layer, t, k, d_k, d_v, d_hidden);
  sum_heads(s, t, d_k, d_v);
  rotate(s, t, tokens->positions, -1, d_q, d_v, w.rope);
  norm_backward(s, layer, RA_LAYER_NORM_K, t, w.kv_rank, k->kv_down, k->kv_inv,
                d_hidden, d_k);
  if (w.q_rank > 0) {
    ra_stage_linear_input(s, t, w.q, w.q_rank, d_q,
                          ra_latent_weight(s, layer, RA_LATENT_Q), d_hidden);
    ra_stage_linear_weight(s, t, w.q, w.q_rank, d_q, k->q_normed,
                           ra_latent_grad(s, layer, RA_LATENT_Q), NULL);
    norm_backward(s, layer, RA_LAYER_NORM_Q, t, w.q_rank, k->q_down, k->q_inv,
                  d_hidden, d_q);
  }
  down_backward(s, layer, t, x, d_q, d_k, d_v, d_hidden);
}
