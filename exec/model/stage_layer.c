/* A transformer layer, forward and backward, and the intermediates it keeps. */
#include "config.h"

#include "exec/model/stage_experts.h"
#include "exec/model/stage_latent.h"
#include "exec/model/stage_shared.h"

#define O RA_TENSOR_O

/* Heads that have a norm. */
static gsize
normed_heads(const RaStage *s)
{
  return s->model->qk_norm ? (gsize)s->q_heads + s->kv_heads : 0;
}

/* Width of the dense MLP of @layer, RA_NONE: of any; experts allocate what
 * their rows need. */
static gsize
kept_ffn(const RaStage *s, uint32_t layer)
{
  gboolean none = layer == RA_NONE
                      ? ra_model_n_moe_layers(s->model) == s->model->n_layers
                      : ra_model_layer_is_moe(s->model, layer);

  return none ? 0 : s->ffn;
}

/* Width of the input of its activation. */
static gsize
kept_up(const RaStage *s, uint32_t layer)
{
  return (s->model->mlp == RA_MLP_GATED ? 2 : 1) * kept_ffn(s, layer);
}

/* The first of the matrices that make it, which are neighbours. */
static RaTensorKind
up_kind(const RaStage *s)
{
  return s->model->mlp == RA_MLP_GATED ? RA_TENSOR_GATE : RA_TENSOR_UP;
}

/* Bytes of what the mixer of a layer keeps beside its normed input and what the
 * heads have made. */
static gsize
mixer_kept_n(const RaStage *s, gsize t)
{
  gsize heads = t * normed_heads(s);

  if (ra_stage_is_latent(s))
    return ra_latent_kept_n(s, t);
  return ra_stage_elem_room(s, t * ra_stage_qkv_width(s)) +
         ra_stage_elem_room(s, heads * s->model->head_dim) +
         ra_stage_float_room(s, heads);
}

gsize
ra_layer_kept_n(const RaStage *s, uint32_t layer, gsize t)
{
  gsize hidden = s->model->hidden, room = ra_stage_room(s, t);

  return 3 * ra_stage_elem_room(s, room * hidden) +
         2 * ra_stage_float_room(s, room * ra_stage_norm_stats(s)) +
         mixer_kept_n(s, t) +
         ra_stage_elem_room(s, t * ra_stage_attended_width(s)) +
         ra_stage_float_room(s, t * s->q_heads) +
         ra_stage_elem_room(s, t * kept_up(s, layer)) +
         ra_stage_elem_room(s, t * kept_ffn(s, layer));
}

RaLayerKept
ra_layer_kept(const RaStage *s, uint32_t layer, gsize t, void *slab)
{
  gsize hidden = s->model->hidden, heads = t * normed_heads(s);
  gsize room = ra_stage_room(s, t);
  char *at = slab;
  RaLayerKept k = {0};

  k.normed = ra_stage_cut(s, &at, room * hidden);
  k.inv = ra_stage_cut_floats(s, &at, room * ra_stage_norm_stats(s));
  k.attended = ra_stage_cut(s, &at, t * ra_stage_attended_width(s));
  k.lse = ra_stage_cut_floats(s, &at, t * s->q_heads);
  k.middle = ra_stage_cut(s, &at, room * hidden);
  k.mlp_normed = ra_stage_cut(s, &at, room * hidden);
  k.mlp_inv = ra_stage_cut_floats(s, &at, room * ra_stage_norm_stats(s));
  if (ra_stage_is_latent(s)) {
    ra_latent_kept(s, t, &at, &k);
  } else {
    k.qkv = ra_stage_cut(s, &at, t * ra_stage_qkv_width(s));
    k.heads = ra_stage_cut(s, &at, heads * s->model->head_dim);
    k.heads_inv = ra_stage_cut_floats(s, &at, heads);
  }
  k.gate_up = ra_stage_cut(s, &at, t * kept_up(s, layer));
  k.active = ra_stage_cut(s, &at, t * kept_ffn(s, layer));
  return k;
}

/* Sizes for a layer that keeps nothing: outputs of its ops in turn, bytes. */
typedef struct {
  gsize first;  /* normed, heads, attended, mlp_normed, active */
  gsize second; /* statistics of norms; qkv and behind it those of its heads;
                   gate_up; what is added to the rows */
} Turns;

static Turns
turns_of(const RaStage *s, gsize t)
{
  gsize rows = ra_stage_room(s, t) * s->model->hidden;
  gsize heads = t * normed_heads(s) * s->model->head_dim;
  gsize first = MAX(MAX(rows, t * ra_stage_q_width(s)), heads);
  gsize n_floats = t * MAX(s->q_heads, normed_heads(s));
  gsize qkv = ra_stage_elem_room(s, t * ra_stage_qkv_width(s)) +
              ra_stage_float_room(s, n_floats);

  return (Turns){
      ra_stage_elem_room(s, MAX(first, t * kept_ffn(s, RA_NONE))),
      MAX(qkv, ra_stage_elem_room(s, MAX(rows, t * kept_up(s, RA_NONE))))};
}

/* Turns of the MLP alone, where the mixer has places of its own. */
static Turns
mlp_turns_of(const RaStage *s, gsize t)
{
  gsize rows = ra_stage_room(s, t) * s->model->hidden;

  return (Turns){ra_stage_elem_room(s, MAX(rows, t * kept_ffn(s, RA_NONE))),
                 ra_stage_elem_room(s, MAX(rows, t * kept_up(s, RA_NONE)))};
}

gsize
ra_layer_room_n(const RaStage *s, gsize t, gboolean step)
{
  Turns turns;

  if (!ra_stage_is_latent(s)) {
    turns = turns_of(s, t);
    return turns.first + turns.second;
  }
  turns = mlp_turns_of(s, t);
  return MAX(turns.first + turns.second, ra_latent_room_n(s, t, step));
}

/* Latent attention and the MLP behind it have the same bytes in turn; what is
 * added to the rows has the last ones, which neither reads then. */
static RaLayerKept
latent_room(const RaStage *s, gsize t, gboolean step, void *slab)
{
  gsize rows = ra_stage_elem_room(s, ra_stage_room(s, t) * s->model->hidden);
  char *second = (char *)slab + mlp_turns_of(s, t).first;
  RaLayerKept k = {0};

  ra_latent_room(s, t, step, slab, &k);
  k.mlp_normed = k.active = slab;
  k.gate_up = (RaElem *)(void *)second;
  k.mlp_inv = (float *)(void *)second;
  k.branch =
      (RaElem *)(void *)((char *)slab + ra_layer_room_n(s, t, step) - rows);
  return k;
}

/* An op reads of one turn and writes to the other; what is added to the rows
 * does so at once. */
RaLayerKept
ra_layer_room(const RaStage *s, gsize t, gboolean step, void *slab)
{
  char *second;
  char *behind;
  RaLayerKept k = {0};

  if (ra_stage_is_latent(s))
    return latent_room(s, t, step, slab);
  second = (char *)slab + turns_of(s, t).first;
  behind = second + ra_stage_elem_room(s, t * ra_stage_qkv_width(s));
  k.normed = k.heads = k.attended = k.mlp_normed = k.active = slab;
  k.qkv = k.gate_up = k.branch = (RaElem *)(void *)second;
  k.inv = k.mlp_inv = (float *)(void *)second;
  k.lse = k.heads_inv = (float *)(void *)behind;
  return k;
}

void
ra_layer_kept_clear(RaLayerKept *kept)
{
  g_clear_pointer(&kept->experts, ra_experts_free);
  g_clear_pointer(&kept->shared, ra_shared_free);
}

static gboolean
is_moe(const RaStage *s, gint32 layer)
{
  return ra_model_layer_is_moe(s->model, (guint32)layer);
}

/* TRUE if what comes after attention is of this rank's rows alone: of experts
 * that ranks share only the rows that came to them are gathered. */
static gboolean
keeps_rows(const RaStage *s, gint32 layer)
{
  return is_moe(s, layer) && ra_experts_share_rows(s);
}

static void
enter(RaStage *s, gint32 layer)
{
  uint32_t kind = ra_model_layer_kind(s->model, (uint32_t)layer);

  ra_stage_enter(s, (RaBlock)(RA_BLOCK_LAYER + kind), (uint32_t)layer);
}

/* @rows (n_tokens) of the cache, in a layer of it. */
static void
find_rows(const RaTokens *tokens, const RaCache *cache, const uint32_t *slots,
          uint32_t *rows)
{
  for (uint32_t i = 0; i < tokens->n_sequences; i++)
    for (uint32_t t = tokens->begin[i]; t < tokens->begin[i + 1]; t++)
      rows[t] = ra_cache_row(cache, slots[i], tokens->positions[t]);
}

/* The keys and values of a prefill to their places in the cache. */
static void
fill_cache(RaStage *s, const RaTokens *tokens, const RaElem *qkv,
           const RaCache *cache, uint32_t layer, const uint32_t *slots)
{
  g_autofree uint32_t *rows = g_new(uint32_t, (gsize)tokens->n_tokens + 1);

  find_rows(tokens, cache, slots, rows);
  ra_stage_cache_rows(s, tokens->n_tokens, rows, qkv, cache, layer);
}

/* From all rows @x of what goes in to a part of all that come out, @out. */
static void
mlp_forward(RaStage *s, gint32 layer, gsize t, const RaElem *x,
            RaLayerKept *kept, RaElem *out)
{
  gsize hidden = s->model->hidden, ffn = s->ffn;

  if (is_moe(s, layer)) {
    ra_layer_kept_clear(kept); /* experts of the previous layer, or of the first
                                  run */
    kept->experts = ra_experts_forward(s, layer, t, x, out);
    return;
  }
  ra_stage_linear(s, t, kept_up(s, RA_NONE), hidden, x,
                  ra_stage_weight(s, up_kind(s), layer, FALSE),
                  ra_stage_weight(s, up_kind(s), layer, TRUE), kept->gate_up);
  ra_stage_activation(s, t, ffn, kept->gate_up, kept->active);
  ra_stage_linear(
      s, t, hidden, ffn, kept->active,
      ra_stage_weight(s, RA_TENSOR_DOWN, layer, FALSE),
      ra_stage_own_bias(s, ra_stage_weight(s, RA_TENSOR_DOWN, layer, TRUE)),
      out);
}

void
ra_layer_attention(RaStage *s, gint32 layer, const RaTokens *tokens,
                   RaLayerKept *kept)
{
  if (tokens->ring)
    ra_stage_ring_attention(s, tokens, kept->qkv, kept->attended, kept->lse);
  else
    ra_stage_attention(s, layer, tokens, kept->qkv, kept->attended, kept->lse);
}

/* From all rows @x to q, k and v before their positions. */
static void
qkv_forward(RaStage *s, gint32 layer, const RaTokens *tokens, const RaElem *x,
            RaLayerKept *kept)
{
  gsize t = tokens->n_tokens;

  ra_stage_linear(s, t, ra_stage_qkv_width(s), s->model->hidden, x,
                  ra_stage_weight(s, RA_TENSOR_Q, layer, FALSE),
                  ra_stage_weight(s, RA_TENSOR_Q, layer, TRUE), kept->qkv);
  if (s->model->qk_norm)
    ra_stage_head_norms(s, t, layer, kept->qkv, kept->heads, kept->heads_inv);
}

/* From q, k and v to what the heads have made of them. */
static void
attention_forward(RaStage *s, gint32 layer, const RaTokens *tokens,
                  RaLayerKept *kept, const RaCache *cache, uint32_t cache_layer,
                  const uint32_t *slots, const RaStageStep *step)
{
  if (step) {
    ra_stage_rope_step(s, cache, cache_layer, step, kept->qkv);
    ra_stage_decode_attention(s, layer, cache, cache_layer, step, kept->qkv,
                              kept->attended);
    return;
  }
  ra_stage_rope(s, tokens->n_tokens, tokens->positions, 1, kept->qkv);
  if (cache)
    fill_cache(s, tokens, kept->qkv, cache, cache_layer, slots);
  ra_layer_attention(s, layer, tokens, kept);
}

/* From all rows @x to what the heads have made of them. */
static void
mixer_forward(RaStage *s, gint32 layer, const RaTokens *tokens, const RaElem *x,
              RaLayerKept *kept, const RaCache *cache, uint32_t cache_layer,
              const uint32_t *slots, const RaStageStep *step)
{
  g_autofree uint32_t *rows = NULL;

  if (!ra_stage_is_latent(s)) {
    qkv_forward(s, layer, tokens, x, kept);
    attention_forward(s, layer, tokens, kept, cache, cache_layer, slots, step);
    return;
  }
  if (cache && !step) {
    rows = g_new(uint32_t, (gsize)tokens->n_tokens + 1);
    find_rows(tokens, cache, slots, rows);
  }
  ra_latent_forward(s, layer, tokens, x, kept, cache, cache_layer,
                    step ? step->rows : rows, step);
}

static const RaElem *
out_weight(const RaStage *s, gint32 layer)
{
  return ra_stage_is_latent(s) ? ra_latent_weight(s, layer, RA_LATENT_OUT)
                               : ra_stage_weight(s, O, layer, FALSE);
}

/* The sum of @rows and @branch, both (n), in the place @to of one of them; at
 * once, or as the next norm begins, which reads the sum. */
static void
join(RaStage *s, gsize n, RaLayerKept *kept, const RaElem *rows,
     const RaElem *branch, RaElem *to)
{
  if (!kept->adds_later) {
    ra_stage_add(s, n, to == branch ? rows : branch, to);
    return;
  }
  g_assert(rows == to);
  kept->lacks = branch;
  ra_stage_record(s, RA_OP_ADD, ra_stage_begin(s), n, s->model->hidden, 0, 0);
}

/* Only rows that nothing else needs lack something: those of join(). */
void
ra_layer_norm(RaStage *s, gsize n, RaLayerKept *kept, const RaElem *rows,
              RaStageNorm norm, RaElem *out, float *out_inv)
{
  if (kept->lacks)
    ra_stage_add_norm(s, n, g_steal_pointer(&kept->lacks),
                      (RaElem *)(gpointer)rows, norm, out);
  else
    ra_stage_norm(s, n, rows, norm, out, out_inv);
}

void
ra_layer_settle(RaStage *s, gsize n, RaLayerKept *kept, RaElem *rows)
{
  if (kept->lacks)
    s->backend->add(n * s->model->hidden, g_steal_pointer(&kept->lacks), rows);
}

static gboolean
has_shared(const RaStage *s, gint32 layer)
{
  return is_moe(s, layer) && s->model->shared_ffn > 0;
}

/* Adds the output of the shared experts to that of the routed ones, @made: all
 * rows and a part of a sum, or this rank's rows. */
static void
shared_forward(RaStage *s, gint32 layer, gsize t, RaLayerKept *kept,
               RaElem *whole, RaElem *made)
{
  gboolean apart = keeps_rows(s, layer);
  const RaElem *x = kept->mlp_normed;

  /* whole may be @made, in which the routed ones' output is */
  RaElem *all = apart ? whole : ra_stage_take_whole(s, t);

  x = ra_stage_gather_rows(s, t, x, all, !apart);
  kept->shared = ra_shared_forward(s, layer, t, x);
  if (!apart) {
    ra_stage_add(s, t, ra_shared_out(kept->shared), made);
    ra_stage_give(s, all);
    return;
  }
  s->backend->copy(all, ra_shared_out(kept->shared),
                   t * s->model->hidden * s->backend->elem_bytes);
  ra_stage_sum_rows(s, t, all, ra_stage_rows_of(s, t, all));
  ra_stage_add(s, ra_stage_n_rows(s, t), ra_stage_rows_of(s, t, all), made);
}

/* The MLP of the layer, from the rows @x to @out, which may be @x. */
static void
mlp_block(RaStage *s, gint32 layer, gsize t, const RaElem *x, RaElem *whole,
          RaLayerKept *kept, RaElem *out)
{
  gsize n = ra_stage_n_rows(s, t);
  RaElem *branch = kept->middle ? out : kept->branch;
  RaElem *made = whole ? whole : branch;

  ra_layer_norm(s, n, kept, x, ra_stage_layer_norm(s, layer, RA_LAYER_NORM_MLP),
                kept->mlp_normed, kept->mlp_inv);
  if (keeps_rows(s, layer)) {
    mlp_forward(s, layer, n, kept->mlp_normed, kept, branch);
    if (has_shared(s, layer))
      shared_forward(s, layer, t, kept, whole, branch);
  } else {
    mlp_forward(s, layer, t,
                ra_stage_gather_rows(s, t, kept->mlp_normed, whole, FALSE),
                kept, made);
    if (has_shared(s, layer))
      shared_forward(s, layer, t, kept, whole, made);
    ra_stage_sum_rows(s, t, made, branch);
    if (!is_moe(s, layer))
      ra_stage_add_summed_bias(
          s, n, ra_stage_weight(s, RA_TENSOR_DOWN, layer, TRUE), branch);
  }
  join(s, n, kept, x, branch, out);
}

void
ra_layer_forward(RaStage *s, gint32 layer, const RaTokens *tokens,
                 const RaElem *x, RaLayerKept *kept, RaElem *out,
                 const RaCache *cache, uint32_t cache_layer,
                 const uint32_t *slots, const RaStageStep *step)
{
  gsize t = tokens->n_tokens, n = ra_stage_n_rows(s, t);
  RaElem *whole = ra_stage_take_whole(s, t);
  RaElem *middle = kept->middle ? kept->middle : out;
  RaElem *branch = middle == x ? kept->branch : middle;
  RaElem *made = whole ? whole : branch;
  const RaElem *o_bias = ra_stage_weight(s, O, layer, TRUE);

  enter(s, layer);
  ra_layer_norm(s, n, kept, x,
                ra_stage_layer_norm(s, layer, RA_LAYER_NORM_ATTENTION),
                kept->normed, kept->inv);
  mixer_forward(s, layer, tokens,
                ra_stage_gather_rows(s, t, kept->normed, whole, FALSE), kept,
                cache, cache_layer, slots, step);
  ra_stage_linear(s, t, s->model->hidden, ra_stage_attended_width(s),
                  kept->attended, out_weight(s, layer),
                  ra_stage_own_bias(s, o_bias), made);
  ra_stage_sum_rows(s, t, made, branch);
  ra_stage_add_summed_bias(s, n, o_bias, branch);
  join(s, n, kept, x, branch, middle);
  mlp_block(s, layer, t, middle, whole, kept, out);
  ra_stage_give(s, whole);
}

/* Memory of the backward of a block. */
typedef struct {
  RaElem *d_hidden; /* all rows; before them the gradient of the input of the
                       block's last GEMM, (t, narrow) */
  RaElem *wide;     /* (t, wide) of what comes out of the first */
  RaElem *whole;    /* all rows that were gathered; NULL: not shared */
} Scratch;

static Scratch
scratch_take(RaStage *s, gsize t, gsize narrow, gsize wide)
{
  gsize n = MAX(ra_stage_whole_n(s, t), t * narrow);
  RaElem *slab = ra_stage_take(s, n + t * wide);

  return (Scratch){slab, ra_stage_at(s, slab, n), ra_stage_take_whole(s, t)};
}

static void
scratch_give(RaStage *s, const Scratch *scratch)
{
  ra_stage_give(s, scratch->whole);
  ra_stage_give(s, scratch->d_hidden);
}

/* @d: all rows of the gradient, in @scratch->whole where rows are shared. */
static void
dense_backward(RaStage *s, gint32 layer, gsize t, const RaLayerKept *kept,
               const RaElem *d, const Scratch *scratch)
{
  gsize hidden = s->model->hidden, ffn = s->ffn;
  RaElem *d_active = scratch->d_hidden, *d_gate_up = scratch->wide;

  ra_stage_linear_input(s, t, hidden, ffn, d,
                        ra_stage_weight(s, RA_TENSOR_DOWN, layer, FALSE),
                        d_active);
  ra_stage_linear_weight(s, t, hidden, ffn, d, kept->active,
                         ra_stage_grad(s, RA_TENSOR_DOWN, layer, FALSE),
                         ra_stage_grad(s, RA_TENSOR_DOWN, layer, TRUE));
  ra_stage_activation_backward(s, t, ffn, kept->gate_up, d_active, d_gate_up);
  ra_stage_linear_input(s, t, kept_up(s, RA_NONE), hidden, d_gate_up,
                        ra_stage_weight(s, up_kind(s), layer, FALSE),
                        scratch->d_hidden);
  ra_stage_linear_weight(
      s, t, kept_up(s, RA_NONE), hidden, d_gate_up,
      ra_stage_gather_rows(s, t, kept->mlp_normed, scratch->whole, TRUE),
      ra_stage_grad(s, up_kind(s), layer, FALSE),
      ra_stage_grad(s, up_kind(s), layer, TRUE));
}

static void
experts_backward(RaStage *s, gint32 layer, gsize t, const RaLayerKept *kept,
                 const RaElem *d, const Scratch *scratch)
{
  RaElem *whole;

  if (keeps_rows(s, layer)) {
    ra_experts_backward(kept->experts, layer, kept->mlp_normed, d,
                        ra_stage_rows_of(s, t, scratch->d_hidden));
    return;
  }
  whole = ra_stage_take_whole(s, t);
  ra_experts_backward(kept->experts, layer,
                      ra_stage_gather_rows(s, t, kept->mlp_normed, whole, TRUE),
                      d, scratch->d_hidden);
  ra_stage_give(s, whole);
}

/* Adds the shared experts' part of the gradient of the input to that of the
 * routed ones, in @scratch; @d: as experts_backward(). */
static void
shared_backward(RaStage *s, gint32 layer, gsize t, const RaLayerKept *kept,
                const RaElem *d, const Scratch *scratch)
{
  gboolean apart = keeps_rows(s, layer);
  RaElem *x = ra_stage_take_whole(s, t);
  RaElem *d_all = apart ? ra_stage_take_whole(s, t) : NULL;
  RaElem *d_x = ra_stage_take(s, ra_stage_whole_n(s, t));
  RaElem *rows = ra_stage_rows_of(s, t, d_x);

  if (apart)
    d = ra_stage_gather_rows(s, t, d, d_all, FALSE);
  ra_shared_backward(kept->shared, layer,
                     ra_stage_gather_rows(s, t, kept->mlp_normed, x, TRUE), d,
                     d_x);
  if (apart)
    ra_stage_sum_rows(s, t, d_x, rows);
  if (apart)
    ra_stage_add(s, ra_stage_n_rows(s, t), rows,
                 ra_stage_rows_of(s, t, scratch->d_hidden));
  else
    ra_stage_add(s, t, d_x, scratch->d_hidden);
  ra_stage_give(s, d_x);
  ra_stage_give(s, d_all);
  ra_stage_give(s, x);
}

/* Sums the outputs of backward GEMMs over the tensor-parallel ranks. */
static void
sum_hidden(RaStage *s, gsize t, const Scratch *scratch)
{
  ra_stage_sum_rows(s, t, scratch->d_hidden,
                    ra_stage_rows_of(s, t, scratch->d_hidden));
}

/* Takes the outputs of backward GEMMs, in @scratch, summed, through the norm
 * before them and adds the result to @d. */
static void
norm_backward(RaStage *s, gint32 layer, gsize t, RaLayerNorm which,
              const RaElem *x, const float *inv, const Scratch *scratch,
              RaElem *d)
{
  gsize n = ra_stage_n_rows(s, t);
  RaElem *rows = ra_stage_rows_of(s, t, scratch->d_hidden);

  /* The gradient of the norm's input needs no more than that of its output
   * itself, row by row. */
  ra_stage_norm_backward(s, n, x, ra_stage_layer_norm(s, layer, which), inv,
                         rows, rows);
  ra_stage_add(s, n, rows, d);
}

static void
mlp_backward(RaStage *s, gint32 layer, gsize t, const RaLayerKept *kept,
             RaElem *d)
{
  gboolean moe = is_moe(s, layer);
  const Scratch scratch =
      scratch_take(s, t, moe ? 0 : s->ffn, moe ? 0 : kept_up(s, RA_NONE));
  const RaElem *d_out =
      keeps_rows(s, layer)
          ? d
          : ra_stage_gather_rows(s, t, d, scratch.whole, FALSE);

  if (moe)
    experts_backward(s, layer, t, kept, d_out, &scratch);
  else
    dense_backward(s, layer, t, kept, d_out, &scratch);
  if (has_shared(s, layer))
    shared_backward(s, layer, t, kept, d_out, &scratch);
  if (!keeps_rows(s, layer))
    sum_hidden(s, t, &scratch);
  norm_backward(s, layer, t, RA_LAYER_NORM_MLP, kept->middle, kept->mlp_inv,
                &scratch, d);
  scratch_give(s, &scratch);
}

/* From the gradient of what the heads have made, @scratch->d_hidden, to that of
 * all rows, in its place. */
static void
heads_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
               const RaLayerKept *kept, const Scratch *scratch)
{
  gsize t = tokens->n_tokens, hidden = s->model->hidden;
  gsize qkv = ra_stage_qkv_width(s);
  RaElem *d_attended = scratch->d_hidden, *d_qkv = scratch->wide;

  if (tokens->ring)
    ra_stage_ring_attention_backward(s, tokens, kept->qkv, kept->attended,
                                     kept->lse, d_attended, d_qkv);
  else
    ra_stage_attention_backward(s, layer, tokens, kept->qkv, kept->attended,
                                kept->lse, d_attended, d_qkv);
  ra_stage_rope(s, t, tokens->positions, -1, d_qkv);
  if (s->model->qk_norm)
    ra_stage_head_norms_backward(s, t, layer, kept->heads, kept->heads_inv,
                                 d_qkv);
  ra_stage_linear_input(s, t, qkv, hidden, d_qkv,
                        ra_stage_weight(s, RA_TENSOR_Q, layer, FALSE),
                        scratch->d_hidden);
  ra_stage_linear_weight(
      s, t, qkv, hidden, d_qkv,
      ra_stage_gather_rows(s, t, kept->normed, scratch->whole, TRUE),
      ra_stage_grad(s, RA_TENSOR_Q, layer, FALSE),
      ra_stage_grad(s, RA_TENSOR_Q, layer, TRUE));
}

static void
attention_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
                   const RaElem *x, const RaLayerKept *kept, RaElem *d)
{
  gboolean latent = ra_stage_is_latent(s);
  gsize t = tokens->n_tokens, hidden = s->model->hidden;
  gsize width = ra_stage_attended_width(s);
  const Scratch scratch =
      scratch_take(s, t, latent ? ra_latent_narrow(s) : width,
                   latent ? ra_latent_wide(s) : ra_stage_qkv_width(s));
  const RaElem *d_out = ra_stage_gather_rows(s, t, d, scratch.whole, FALSE);

  ra_stage_linear_input(s, t, hidden, width, d_out, out_weight(s, layer),
                        scratch.d_hidden);
  ra_stage_linear_weight(s, t, hidden, width, d_out, kept->attended,
                         latent ? ra_latent_grad(s, layer, RA_LATENT_OUT)
                                : ra_stage_grad(s, O, layer, FALSE),
                         ra_stage_grad(s, O, layer, TRUE));
  if (latent)
    ra_latent_backward(
        s, layer, tokens,
        ra_stage_gather_rows(s, t, kept->normed, scratch.whole, TRUE), kept,
        scratch.d_hidden, scratch.wide);
  else
    heads_backward(s, layer, tokens, kept, &scratch);
  sum_hidden(s, t, &scratch);
  norm_backward(s, layer, t, RA_LAYER_NORM_ATTENTION, x, kept->inv, &scratch,
                d);
  scratch_give(s, &scratch);
}

void
ra_layer_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
                  const RaElem *x, const RaLayerKept *kept, RaElem *d)
{
  enter(s, layer);
  mlp_backward(s, layer, tokens->n_tokens, kept, d);
  attention_backward(s, layer, tokens, x, kept, d);
}
