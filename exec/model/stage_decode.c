/* A decode step: one more token of sequences whose keys and values are in a
 * cache. */
#include "config.h"

#include <string.h>

#include "exec/model/stage_steps.h"
#include "graph/input/plan.h"

typedef struct {
  RaStage *stage;
  const RaPiece *piece;
  RaCache *cache;
  RaStageStep told;
  uint32_t *words; /* owned: all words, contiguous */
  gsize n_words;
  RaDraw draw;    /* the stage's, with uniforms and slots of these words */
  RaTokens batch; /* the same as a micro-batch of one token each */
  RaElem *x;      /* (room, hidden) */
  RaElem *whole;  /* rows of all ranks; NULL: they are not shared */
  RaElem *all;    /* (n, vocab) with the head; the host's own or taken */
  void *kept_slab;
  RaLayerKept kept;
} Step;

/* The uniform numbers that tokens are drawn with, and their slots, are words
 * too, so that they come with the others: the first, for their alignment.
 * Drawn or not, words behind them have one place, which graphs have kept. */
static void
tell_draw(Step *step, uint32_t n)
{
  const RaDraw *draw = step->stage->draw;
  uint32_t *slots = step->words + 2 * (gsize)step->told.n;

  if (!step->piece->has_head)
    return;
  step->n_words = 3 * (gsize)step->told.n;
  if (!draw)
    return;
  memcpy(step->words, draw->uniforms, n * sizeof *draw->uniforms);
  step->draw = *draw;
  step->draw.uniforms = (const double *)(gpointer)step->words;
  if (!draw->slots)
    return;
  memcpy(slots, draw->slots, n * sizeof *slots);
  step->draw.slots = slots;
}

/* (n) words more, of @from (nullable); the last again behind @n_from. */
static const uint32_t *
tell(Step *step, const uint32_t *from, uint32_t n_from)
{
  uint32_t *to = step->words + step->n_words, n = step->told.n;

  if (!from)
    return NULL;
  for (uint32_t i = 0; i < n; i++)
    to[i] = from[MIN(i, n_from - 1)];
  step->n_words += n;
  return to;
}

static void
step_init(Step *step, uint32_t n, const uint32_t *slots, const uint32_t *tokens,
          const uint32_t *positions)
{
  const RaStage *s = step->stage;
  gsize n_all = step->told.n, max_pages = ra_cache_max_pages(step->cache);
  uint32_t *begin, *lengths, *rows, *pages;

  step->words = g_new0(uint32_t, (8 + max_pages) * n_all + s->q_heads + 1);
  tell_draw(step, n);
  step->told.tokens = tell(step, tokens, n);
  step->told.positions = tell(step, positions, n);
  lengths = step->words + step->n_words;
  rows = lengths + n_all;
  pages = rows + n_all;
  for (uint32_t i = 0; i < n_all; i++) {
    uint32_t slot = slots[MIN(i, n - 1)], at = step->told.positions[i];

    ra_cache_reserve(step->cache, slot, at + 1);
    lengths[i] = at + 1;
    rows[i] = ra_cache_row(step->cache, slot, at);
    memcpy(pages + i * max_pages, ra_cache_pages(step->cache, slot),
           max_pages * sizeof *pages);
  }
  step->told.lengths = lengths;
  step->told.rows = rows;
  step->told.pages = pages;
  step->n_words += (2 + max_pages) * n_all;
  if (s->slopes) {
    memcpy(step->words + step->n_words, s->slopes,
           s->q_heads * sizeof *s->slopes);
    step->told.slopes = (const float *)(gpointer)(step->words + step->n_words);
    step->n_words += s->q_heads;
  }
  begin = step->words + step->n_words; /* the host's own */
  for (uint32_t i = 0; i <= n_all; i++)
    begin[i] = i;
  step->batch = (RaTokens){.n_sequences = step->told.n,
                           .n_tokens = step->told.n,
                           .begin = begin,
                           .positions = (uint32_t *)step->told.positions};
}

static void
step_take(Step *step, float *out)
{
  RaStage *s = step->stage;
  gsize n = step->told.n, hidden = s->model->hidden;

  step->x = ra_stage_take(s, ra_stage_room(s, n) * hidden);
  step->whole = ra_stage_take_whole(s, n);
  step->kept_slab = ra_stage_take_bytes(s, ra_layer_room_n(s, n, TRUE));
  step->kept = ra_layer_room(s, n, TRUE, step->kept_slab);
  step->kept.adds_later = !s->ops && s->backend->add_norm;
  if (!step->piece->has_head)
    return;
  step->all = ra_stage_take_logits(s, n);
  if (!step->all)
    step->all = ra_host_elems(out);
}

static void
step_give(Step *step)
{
  RaStage *s = step->stage;

  ra_layer_kept_clear(&step->kept);
  if (step->piece->has_head && !s->backend->is_host)
    ra_stage_give(s, step->all);
  ra_stage_give(s, step->kept_slab);
  ra_stage_give(s, step->whole);
  ra_stage_give(s, step->x);
}

/* From tokens to the rows. */
static void
embed(const Step *step)
{
  RaStage *s = step->stage;
  gsize n = step->told.n;
  RaElem *x = s->model->embedding_norm ? step->kept.normed : step->x;
  RaElem *made = step->whole ? step->whole : x;

  ra_stage_enter(s, RA_BLOCK_EMBEDDING, RA_NONE);
  ra_stage_embedding(s, n, step->told.tokens, made);
  ra_stage_sum_rows(s, n, made, x);
  ra_stage_add_positions(s, n, step->told.positions, x);
  if (s->model->embedding_norm)
    ra_stage_norm(s, ra_stage_n_rows(s, n), x, ra_stage_embedding_norm(s),
                  step->x, step->kept.inv);
}

/* The ops: from tokens, or the rows, to logits, or rows. */
static RaElem *
walk(gpointer data)
{
  Step *step = data;
  RaStage *s = step->stage;
  const RaPiece *piece = step->piece;
  gsize n = step->told.n;
  RaElem *x = step->x, *normed = step->kept.normed;

  if (piece->has_embedding)
    embed(step);
  for (uint32_t i = 0; i < piece->n_layers; i++)
    ra_layer_forward(s, (gint32)(piece->first_layer + i), &step->batch, x,
                     &step->kept, x, step->cache, i, NULL, &step->told);
  if (piece->has_head) {
    ra_stage_enter(s, RA_BLOCK_HEAD, RA_NONE);
    ra_layer_norm(s, ra_stage_n_rows(s, n), &step->kept, x,
                  ra_stage_head_norm(s), normed, step->kept.inv);
    ra_stage_row_logits(s, n,
                        ra_stage_gather_rows(s, n, normed, step->whole, FALSE),
                        step->all);
  }
  ra_layer_settle(s, ra_stage_n_rows(s, n), &step->kept, x);
  return x;
}

/* Rows of the stage before, and the last again behind @n. */
static void
write_rows(const Step *step, uint32_t n, const char *input)
{
  const RaStage *s = step->stage;
  gsize n_bytes = s->model->hidden * s->backend->elem_bytes;
  gsize n_mine = ra_stage_n_rows(s, n);

  s->backend->write(step->x, input, n_mine * n_bytes);
  for (uint32_t i = n; i < step->told.n; i++)
    s->backend->write(ra_stage_at(s, step->x, i * s->model->hidden),
                      input + (n - 1) * n_bytes, n_bytes);
}

static gboolean
can_capture(const RaStage *s, uint32_t n)
{
  return s->steps && n > 0 && !s->ops && !s->ep && !s->cp;
}

static void
begin_steps(const Step *step)
{
  const RaDecode attention =
      ra_stage_decode_shape(step->stage, step->cache, 0, &step->told);
  const RaStepShape shape = {
      .piece = *step->piece,
      .n = step->told.n,
      .max_pages = ra_cache_max_pages(step->cache),
      .cache = ra_cache_keys(step->cache, 0),
      .weights = step->stage->params->weights,
      .workspace = step->stage->backend->decode_workspace(&attention)};

  ra_steps_begin(step->stage, &shape);
}

/* From the logits to what is drawn, which is waited for unless it stays on the
 * device, or from the rows. */
static void
end(const Step *step, uint32_t n, const RaElem *made, gboolean captured,
    void *out)
{
  RaStage *s = step->stage;
  const RaBackend *b = s->backend;
  const RaDraw *draw = s->draw;

  if (step->piece->has_head) {
    s->draw = draw ? &step->draw : NULL;
    ra_stage_end_logits(s, n, step->all, out);
    s->draw = draw;
  } else {
    b->copy(out, made,
            ra_stage_n_rows(s, n) * s->model->hidden * b->elem_bytes);
    if (captured)
      b->wait(); /* as what is sent will be */
  }
  if (draw && draw->slots)
    ra_steps_look_later(s);
  else if (captured)
    ra_steps_look(s);
  else if (step->piece->has_head)
    ra_stage_settle(s);
}

void
ra_stage_decode(RaStage *s, const RaPiece *piece, RaCache *cache, uint32_t n,
                const uint32_t *slots, const uint32_t *tokens,
                const uint32_t *positions, const void *input, void *out)
{
  const RaBackend *b = s->backend;
  gboolean captured = can_capture(s, n);
  Step step = {.stage = s, .piece = piece, .cache = cache};
  RaElem *made;

  /* Rows that ranks share are cut by their number. */
  step.told.n = captured && !s->sequence_parallel ? ra_graph_sequences(n) : n;
  step_init(&step, n, slots, piece->has_embedding ? tokens : NULL, positions);
  if (b->keep_words)
    b->keep_words(step.n_words, step.words);
  if (captured)
    begin_steps(&step);
  step_take(&step, out);
  if (!piece->has_embedding)
    write_rows(&step, n, input);
  made = captured ? ra_steps_run(s, walk, &step) : walk(&step);
  end(&step, n, made, captured, out);
  step_give(&step);
  if (captured)
    ra_steps_end(s);
  if (b->keep_words)
    b->keep_words(0, NULL);
  g_free(step.words);
}
