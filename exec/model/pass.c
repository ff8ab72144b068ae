/* A pass of a micro-batch: forward and backward over its layers. */
#include "config.h"

#include "exec/model/stage_impl.h"
#include "graph/input/plan.h"

static void *
take_bytes(RaPass *pass, gsize n_bytes)
{
  void *slab = ra_stage_take_bytes(pass->stage, n_bytes);

  g_ptr_array_add(pass->slabs, slab);
  return slab;
}

static RaElem *
take(RaPass *pass, gsize n)
{
  return take_bytes(pass, n * pass->stage->backend->elem_bytes);
}

static void
give(RaPass *pass, void *slab)
{
  g_ptr_array_remove_fast(pass->slabs, slab);
  ra_stage_give(pass->stage, slab);
}

/* TRUE if every layer keeps what its backward needs; else its input only. */
static gboolean
keeps_layers(const RaPass *pass)
{
  return pass->keep && pass->stage->recompute != RA_RECOMPUTE_FULL;
}

static gboolean
is_value(const RaPass *pass)
{
  return pass->stage->model->head == RA_HEAD_VALUE;
}

RaPass *
ra_pass_new(RaStage *stage, const RaPiece *piece, const RaTokens *tokens,
            gboolean keep)
{
  RaPass *p = g_new0(RaPass, 1);
  gsize t = tokens->n_tokens, room = ra_stage_room(stage, t);
  gsize hidden = stage->model->hidden;

  p->stage = stage;
  p->piece = *piece;
  p->tokens = tokens;
  p->keep = keep;
  p->slabs = g_ptr_array_new();
  p->inputs = g_new0(RaElem *, piece->n_layers + 1);
  /* Without a backward all are in one place. */
  for (uint32_t i = 0; i <= piece->n_layers; i++)
    p->inputs[i] = keep || i == 0 ? take(p, room * hidden) : p->inputs[0];
  p->layers = g_new0(RaLayerKept, piece->n_layers + 1);
  for (uint32_t i = 0; keeps_layers(p) && i < piece->n_layers; i++)
    p->layers[i] = ra_layer_kept(
        stage, piece->first_layer + i, t,
        take_bytes(p, ra_layer_kept_n(stage, piece->first_layer + i, t)));
  if (piece->has_head)
    p->values = p->log_prob = p->numbers = g_new0(float, t + 1);
  return p;
}

void
ra_pass_free(RaPass *pass)
{
  if (!pass)
    return;
  for (uint32_t i = 0; i < pass->piece.n_layers; i++)
    ra_layer_kept_clear(&pass->layers[i]);
  for (guint i = 0; i < pass->slabs->len; i++)
    ra_stage_give(pass->stage, pass->slabs->pdata[i]);
  g_ptr_array_unref(pass->slabs);
  g_free(pass->inputs);
  g_free(pass->numbers);
  g_free(pass->layers);
  g_free(pass);
}

static void
head_norm(RaPass *pass)
{
  RaStage *s = pass->stage;
  gsize room = ra_stage_room(s, pass->tokens->n_tokens);

  pass->head_normed = take(pass, room * s->model->hidden);
  pass->head_inv =
      take_bytes(pass, room * ra_stage_norm_stats(s) * sizeof *pass->head_inv);
  ra_stage_enter(s, RA_BLOCK_HEAD, RA_NONE);
  ra_stage_norm(s, ra_stage_n_rows(s, pass->tokens->n_tokens),
                pass->inputs[pass->piece.n_layers], ra_stage_head_norm(s),
                pass->head_normed, pass->head_inv);
}

/* Finds the first layer whose result, which is kept, is not finite.  The first
 * layer's input is the result of the embedding, or of another rank. */
static void
find_layer(RaPass *pass)
{
  RaStage *s = pass->stage;
  gsize n = ra_stage_n_rows(s, pass->tokens->n_tokens) * s->model->hidden;
  RaOpPlace *place = &s->bad.place;
  uint32_t i = 0, layer;

  while (i <= pass->piece.n_layers &&
         ra_stage_is_finite(s, n, pass->inputs[i], FALSE))
    i++;
  if (i > pass->piece.n_layers) /* the head's own */
    return;
  if (i == 0 && pass->piece.has_embedding) {
    place->block = RA_BLOCK_EMBEDDING;
    return;
  }
  layer = pass->piece.first_layer + i - 1;
  place->layer = layer;
  place->block = RA_BLOCK_LAYER + ra_model_layer_kind(s->model, layer);
}

static void
head_forward(RaPass *pass)
{
  RaStage *s = pass->stage;
  gsize t = pass->tokens->n_tokens, hidden = s->model->hidden;
  RaElem *whole = ra_stage_take_whole(s, t);
  const RaElem *x;

  pass->made = take_bytes(pass, t * sizeof *pass->made);
  head_norm(pass);
  x = ra_stage_gather_rows(s, t, pass->head_normed, whole, FALSE);
  if (is_value(pass)) {
    ra_stage_linear_values(s, t, hidden, x, ra_stage_head_weight(s),
                           pass->made);
  } else {
    pass->lse = take_bytes(pass, t * sizeof *pass->lse);
    pass->logits = take(pass, t * s->logits_row);
    ra_stage_logits(s, t, x, pass->logits);
  }
  ra_stage_give(s, whole);
  if (!is_value(pass))
    ra_stage_log_prob(s, t, pass->logits, pass->tokens->targets, pass->made,
                      pass->lse);
  s->backend->read(pass->numbers, pass->made, t * sizeof *pass->made);
  ra_stage_settle(s);
  if (s->bad.is_set && s->bad.is_block && pass->keep)
    find_layer(pass);
}

/* Room for all tokens of a prefill. */
static void
reserve(const RaTokens *tokens, RaCache *cache, const uint32_t *slots)
{
  for (uint32_t i = 0; i < tokens->n_sequences; i++)
    if (tokens->begin[i + 1] > tokens->begin[i])
      ra_cache_reserve(cache, slots[i],
                       tokens->positions[tokens->begin[i + 1] - 1] + 1);
}

/* From tokens to the first layer's rows. */
static void
embed(RaPass *pass)
{
  RaStage *s = pass->stage;
  gsize t = pass->tokens->n_tokens;
  RaElem *whole = ra_stage_take_whole(s, t);
  RaElem *rows = pass->inputs[0], *made;

  if (s->model->embedding_norm) {
    gsize room = ra_stage_room(s, t);

    rows = pass->embedded = take(pass, room * s->model->hidden);
    pass->embedded_inv = take_bytes(pass, room * ra_stage_norm_stats(s) *
                                              sizeof *pass->embedded_inv);
  }
  made = whole ? whole : rows;
  ra_stage_enter(s, RA_BLOCK_EMBEDDING, RA_NONE);
  ra_stage_embedding(s, t, pass->tokens->tokens, made);
  ra_stage_sum_rows(s, t, made, rows);
  ra_stage_give(s, whole);
  ra_stage_add_positions(s, t, pass->tokens->positions, rows);
  if (pass->embedded)
    ra_stage_norm(s, ra_stage_n_rows(s, t), rows, ra_stage_embedding_norm(s),
                  pass->inputs[0], pass->embedded_inv);
  if (pass->embedded && !pass->keep) {
    give(pass, pass->embedded);
    give(pass, pass->embedded_inv);
  }
}

/* Layers that keep nothing share their room. */
static void
layers_forward(RaPass *pass, RaCache *cache, const uint32_t *slots)
{
  RaStage *s = pass->stage;
  gsize t = pass->tokens->n_tokens;
  gboolean keeps = keeps_layers(pass);
  void *slab =
      keeps ? NULL : ra_stage_take_bytes(s, ra_layer_room_n(s, t, FALSE));
  RaLayerKept room =
      keeps ? (RaLayerKept){0} : ra_layer_room(s, t, FALSE, slab);

  for (uint32_t i = 0; i < pass->piece.n_layers; i++)
    ra_layer_forward(s, (gint32)(pass->piece.first_layer + i), pass->tokens,
                     pass->inputs[i], keeps ? &pass->layers[i] : &room,
                     pass->inputs[i + 1], cache, i, slots, FALSE);
  ra_layer_kept_clear(&room);
  ra_stage_give(s, slab);
}

/* The head of a prefill looks at one token a sequence: see last_logits. */
const RaElem *
ra_pass_forward(RaPass *pass, const void *input, RaCache *cache,
                const uint32_t *slots)
{
  RaStage *s = pass->stage;

  if (cache)
    reserve(pass->tokens, cache, slots);
  if (pass->piece.has_embedding)
    embed(pass);
  else
    s->backend->write(pass->inputs[0], input,
                      ra_stage_n_rows(s, pass->tokens->n_tokens) *
                          s->model->hidden * s->backend->elem_bytes);
  layers_forward(pass, cache, slots);
  if (pass->piece.has_head && !cache)
    head_forward(pass);
  return pass->inputs[pass->piece.n_layers];
}

/* The gradient of log_prob or values, which the host has, on the device: fp32
 * for a vocabulary, of values elements. */
static void *
head_gradient(RaPass *pass, const float *d_output)
{
  RaStage *s = pass->stage;
  gsize t = pass->tokens->n_tokens;
  void *d = ra_stage_take_bytes(s, t * sizeof *d_output);

  if (is_value(pass))
    s->backend->write_elems(t, d_output, d);
  else
    s->backend->write(d, d_output, t * sizeof *d_output);
  return d;
}

/* From it, @d_made, to that of the last layer's output, @d. */
static void
head_backward(RaPass *pass, const void *d_made, RaElem *d)
{
  RaStage *s = pass->stage;
  gsize t = pass->tokens->n_tokens, hidden = s->model->hidden;
  gsize n_rows = ra_stage_n_rows(s, t);
  RaElem *whole = ra_stage_take_whole(s, t), *x = ra_stage_take_whole(s, t);
  RaElem *made = whole ? whole : d;

  ra_stage_enter(s, RA_BLOCK_HEAD, RA_NONE);
  if (is_value(pass)) {
    ra_stage_linear_input(s, t, 1, hidden, d_made, ra_stage_head_weight(s),
                          made);
    ra_stage_linear_weight(
        s, t, 1, hidden, d_made,
        ra_stage_gather_rows(s, t, pass->head_normed, x, TRUE),
        ra_stage_head_grad(s), NULL);
  } else {
    ra_stage_log_prob_backward(s, t, pass->tokens->targets, pass->lse, d_made,
                               pass->logits);
    ra_stage_logits_backward(s, t, pass->logits, made);
    ra_stage_logits_weight(
        s, t, pass->logits,
        ra_stage_gather_rows(s, t, pass->head_normed, x, TRUE));
  }
  if (!is_value(pass)) /* else every rank has made all rows */
    ra_stage_sum_rows(s, t, made, d);
  else if (whole)
    s->backend->copy(d, ra_stage_rows_of(s, t, whole),
                     n_rows * hidden * s->backend->elem_bytes);
  ra_stage_give(s, whole);
  ra_stage_give(s, x);
  ra_stage_norm_backward(s, n_rows, pass->inputs[pass->piece.n_layers],
                         ra_stage_head_norm(s), pass->head_inv, d, d);
}

/* Recomputes the intermediates of layer @i into @kept; the output is not
 * needed.
 */
static void
recompute(RaPass *pass, uint32_t i, RaLayerKept *kept)
{
  RaStage *s = pass->stage;
  gsize room = ra_stage_room(s, pass->tokens->n_tokens);
  uint32_t layer = pass->piece.first_layer + i;
  RaElem *out;

  ra_stage_enter(
      s, (RaBlock)(RA_BLOCK_LAYER + ra_model_layer_kind(s->model, layer)),
      layer);
  if (s->recompute == RA_RECOMPUTE_SELECTIVE && !ra_stage_is_latent(s))
    ra_layer_attention(s, (gint32)layer, pass->tokens, kept);
  if (s->recompute != RA_RECOMPUTE_FULL)
    return;
  out = ra_stage_take(s, room * s->model->hidden);
  ra_layer_forward(s, (gint32)(pass->piece.first_layer + i), pass->tokens,
                   pass->inputs[i], kept, out, NULL, 0, NULL, FALSE);
  ra_stage_give(s, out);
}

static void
layers_backward(RaPass *pass, const RaPiece *part)
{
  RaStage *s = pass->stage;
  gsize t = pass->tokens->n_tokens;
  uint32_t first = part->first_layer - pass->piece.first_layer;
  gboolean keeps = keeps_layers(pass);
  void *slab =
      keeps ? NULL : ra_stage_take_bytes(s, ra_layer_kept_n(s, RA_NONE, t));
  RaLayerKept one =
      keeps ? (RaLayerKept){0} : ra_layer_kept(s, RA_NONE, t, slab);

  for (uint32_t i = first + part->n_layers; i-- > first;) {
    RaLayerKept *kept = keeps ? &pass->layers[i] : &one;

    recompute(pass, i, kept);
    ra_layer_backward(s, (gint32)(pass->piece.first_layer + i), pass->tokens,
                      pass->inputs[i], kept, pass->d);
  }
  ra_layer_kept_clear(&one);
  ra_stage_give(s, slab);
}

const RaElem *
ra_pass_backward(RaPass *pass, const RaPiece *part, const void *d_output)
{
  RaStage *s = pass->stage;
  gsize t = pass->tokens->n_tokens, hidden = s->model->hidden;
  gsize n = ra_stage_room(s, t) * hidden;

  g_return_val_if_fail(pass->keep && s->params->grads, NULL);
  if (!pass->d) {
    pass->d = take(pass, n);
    if (!pass->piece.has_head)
      s->backend->write(pass->d, d_output,
                        ra_stage_n_rows(s, t) * hidden *
                            s->backend->elem_bytes);
  }
  part = part ? part : &pass->piece;
  if (part->has_head) {
    void *d_made = head_gradient(pass, d_output);

    head_backward(pass, d_made, pass->d);
    ra_stage_give(s, d_made);
  }
  layers_backward(pass, part);
  if (part->has_embedding) {
    RaElem *whole = ra_stage_take_whole(s, t);

    ra_stage_enter(s, RA_BLOCK_EMBEDDING, RA_NONE);
    if (pass->embedded)
      ra_stage_norm_backward(s, ra_stage_n_rows(s, t), pass->embedded,
                             ra_stage_embedding_norm(s), pass->embedded_inv,
                             pass->d, pass->d);
    ra_stage_embedding_backward(
        s, t, pass->tokens->tokens, pass->tokens->positions,
        ra_stage_gather_rows(s, t, pass->d, whole, FALSE));
    ra_stage_give(s, whole);
  }
  return pass->d;
}

void
ra_pass_last_logits(RaPass *pass, float *out_logits)
{
  RaStage *s = pass->stage;
  gsize hidden = s->model->hidden, n = pass->tokens->n_sequences;
  gsize t = pass->tokens->n_tokens;
  RaElem *rows = take(pass, n * hidden), *whole = ra_stage_take_whole(s, t);
  RaElem *taken = ra_stage_take_logits(s, n);
  RaElem *all = taken ? taken : ra_host_elems(out_logits);
  const RaElem *x;

  head_norm(pass);
  x = ra_stage_gather_rows(s, t, pass->head_normed, whole, FALSE);
  for (gsize i = 0; i < n; i++)
    s->backend->copy(
        ra_stage_at(s, rows, i * hidden),
        ra_stage_at(s, x, (pass->tokens->begin[i + 1] - 1) * hidden),
        hidden * s->backend->elem_bytes);
  ra_stage_give(s, whole);
  ra_stage_row_logits(s, n, rows, all);
  ra_stage_end_logits(s, n, all, out_logits);
  ra_stage_settle(s);
  ra_stage_give(s, taken);
}
