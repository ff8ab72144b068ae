/* Columns of an iteration's data, prompts, and transfers. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "exec/experience.h"
#include "graph/augment/layout.h"

#define PROMPT_STREAM 0x70726f6d /* "prom" */

static uint32_t
drawn_token(uint64_t seed, uint32_t iteration, uint32_t prompt, uint32_t place,
            uint32_t vocab)
{
  uint32_t counter[4] = {place, prompt, iteration, PROMPT_STREAM};
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, out[4];

  ra_rng_block(counter, key, out);
  return (uint32_t)(((uint64_t)out[0] * vocab) >> 32);
}

/* The smallest vocabulary of the models: a token must be one of all. */
static uint32_t
vocab_of(const RaWorkload *w)
{
  uint32_t vocab = UINT32_MAX;

  for (guint i = 0; i < w->n_models; i++)
    vocab = MIN(vocab, w->models[i].model->vocab);
  return vocab;
}

/* Sequence @at of the data: its prompt, and an answer that is not generated. */
static void
write_text(const RaWorkload *w, const RaCall *call, uint32_t iteration,
           uint32_t at, uint32_t *out)
{
  uint32_t samples = call->samples_per_prompt, n;
  uint32_t row = ra_text_data_row(w->data, iteration,
                                  call->n_sequences / samples, at / samples);
  const uint32_t *from = ra_text_data_field(w->data, row, 0, &n);

  memcpy(out, from, n * sizeof *out);
  out += n;
  if (call->kind == RA_CALL_GENERATE)
    return;
  from = ra_text_data_field(w->data, row, 1 + at % samples, &n);
  memcpy(out, from, n * sizeof *out);
}

static void
add_set(RaExperience *e, uint32_t set, uint32_t iteration, uint64_t seed)
{
  RaExperienceSet *s = &e->sets[set];
  const RaCall *call = &e->plan->workload->calls[set];
  RaColumn *text = &e->columns[2 * set];
  uint32_t n, vocab = vocab_of(e->plan->workload);

  s->set = set;
  s->seqs = ra_sequence_set_new(e->arena, e->plan, set, iteration, seed);
  n = s->seqs->n_sequences;
  s->text_begin = ra_arena_alloc(e->arena, n + 1, sizeof *s->text_begin);
  s->begin = ra_arena_alloc(e->arena, n + 1, sizeof *s->begin);
  for (uint32_t i = 0; i < n; i++) {
    s->begin[i + 1] = s->begin[i] + s->seqs->response[i];
    s->text_begin[i + 1] =
        s->text_begin[i] + s->seqs->prompt[i] + s->seqs->response[i];
  }
  *text =
      (RaColumn){.kind = RA_COLUMN_TEXT, .call = set, .n = s->text_begin[n]};
  text->tokens = ra_arena_alloc(e->arena, text->n, sizeof *text->tokens);
  for (uint32_t i = 0; i < n; i++) {
    gboolean generated = call->kind == RA_CALL_GENERATE;
    uint32_t length =
        s->seqs->prompt[i] + (generated ? 0 : s->seqs->response[i]);

    if (e->plan->workload->data) {
      write_text(e->plan->workload, call, iteration, i,
                 text->tokens + s->text_begin[i]);
      continue;
    }
    for (uint32_t k = 0; k < length; k++)
      text->tokens[s->text_begin[i] + k] = drawn_token(
          seed, iteration,
          k < s->seqs->prompt[i] ? i / call->samples_per_prompt : ~i, k, vocab);
  }
}

/* Adds the numbers that @call computes for its set, if any. */
static void
add_numbers(RaExperience *e, uint32_t id)
{
  const RaWorkload *w = e->plan->workload;
  const RaCall *call = &w->calls[id];
  const RaExperienceSet *s = &e->sets[call->set];
  RaColumn *c = &e->columns[2 * id + 1];
  uint32_t n = s->seqs->n_sequences;

  if (call->kind == RA_CALL_TRAIN)
    return;
  c->call = id;
  c->n = s->begin[n];
  if (call->kind == RA_CALL_HOST ||
      (w->models[call->model].head == RA_HEAD_VALUE &&
       !w->models[call->model].trainable)) {
    c->kind = RA_COLUMN_REWARD;
    c->n = n;
  } else {
    c->kind = w->models[call->model].head == RA_HEAD_VALUE ? RA_COLUMN_VALUE
                                                           : RA_COLUMN_LOG_PROB;
  }
  c->values = ra_arena_alloc(e->arena, c->n, sizeof *c->values);
}

/* The arrays that transfers fill are there from the start: ranks make none. */
static void
add_copy(RaExperience *e, uint32_t producer, uint32_t reader)
{
  guint n_calls = e->plan->workload->n_calls;

  for (guint i = 0; i < 2; i++) {
    const RaColumn *from = &e->columns[2 * producer + i];
    RaColumn *to = &e->copies[(2 * producer + i) * n_calls + reader];

    if (from->n == 0)
      continue;
    *to = *from;
    if (from->tokens)
      to->tokens = ra_arena_alloc(e->arena, from->n, sizeof *to->tokens);
    else
      to->values = ra_arena_alloc(e->arena, from->n, sizeof *to->values);
  }
}

/* Pieces, replicas and micro-batches are those of graph/expand/expand_*.c. */
static void
add_order(RaExperience *e, uint32_t call)
{
  const RaCall *c = &e->plan->workload->calls[call];
  const RaCallPlan *p = &e->plan->calls[call];
  RaCallOrder *order = &e->orders[call];
  const RaSequenceSet *seqs;
  uint32_t n_cuts, size, n = 0, *sequences, *begin;
  g_autofree RaBatch *batches = NULL;

  if (c->kind == RA_CALL_HOST)
    return;
  seqs = e->sets[c->set].seqs;
  sequences = ra_arena_alloc(e->arena, seqs->n_sequences, sizeof *sequences);
  order->sequences = sequences;
  if (c->kind == RA_CALL_GENERATE || p->balance != RA_BALANCE_TOKENS) {
    for (uint32_t i = 0; i < seqs->n_sequences; i++)
      sequences[i] = c->kind == RA_CALL_GENERATE ? i : seqs->order[i];
    return;
  }
  n_cuts = MAX(ra_call_plan_n_pieces(c, p), 1u) * p->dp;
  size = c->n_sequences / n_cuts;
  batches = g_new(RaBatch, p->n_micro_batches);
  begin =
      ra_arena_alloc(e->arena, n_cuts * p->n_micro_batches + 1, sizeof *begin);
  order->begin = begin;
  for (uint32_t i = 0; i < n_cuts; i++) {
    ra_sequence_set_cut(seqs, i * size, size, p->n_micro_batches, p, batches,
                        sequences + i * size);
    for (uint32_t m = 0; m < p->n_micro_batches; m++, n++)
      begin[n + 1] = begin[n] + batches[m].n_sequences;
  }
}

/* As graph/augment/augment.c has it: data stay where both calls spread the same
 * replicas over the same GPUs. */
static gboolean
is_transferred(const RaPlan *plan, uint32_t from, uint32_t to)
{
  const RaCallPlan *x = &plan->calls[from], *y = &plan->calls[to];

  return x->set && y->set &&
         !(ra_mesh_equal(&x->mesh, &y->mesh) && x->dp == y->dp);
}

RaExperience *
ra_experience_new(const RaPlan *plan, uint32_t iteration, uint64_t seed)
{
  const RaWorkload *w = plan->workload;
  RaArena *arena = ra_arena_new(0);
  RaExperience *e = ra_arena_alloc(arena, 1, sizeof *e);
  guint n = w->n_calls;

  e->arena = arena;
  e->plan = plan;
  e->sets = ra_arena_alloc(arena, n, sizeof *e->sets);
  e->orders = ra_arena_alloc(arena, n, sizeof *e->orders);
  e->columns = ra_arena_alloc(arena, 2 * (gsize)n, sizeof *e->columns);
  e->copies = ra_arena_alloc(arena, 2 * (gsize)n * n, sizeof *e->copies);
  for (guint i = 0; i < n; i++)
    if (w->calls[i].set == i)
      add_set(e, i, iteration, seed);
  for (guint i = 0; i < n; i++) {
    add_order(e, i);
    add_numbers(e, i);
  }
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < w->calls[i].n_inputs; k++) {
      uint32_t producer = w->calls[i].inputs[k].producer;

      if (producer != RA_NONE && is_transferred(plan, producer, i))
        add_copy(e, producer, i);
    }
  return e;
}

void
ra_experience_free(RaExperience *experience)
{
  if (experience)
    ra_arena_free(experience->arena);
}

const RaColumn *
ra_experience_column(const RaExperience *experience, uint32_t producer,
                     gboolean is_text, uint32_t reader)
{
  gsize at = 2 * (gsize)producer + (is_text ? 0 : 1);
  const RaColumn *made = &experience->columns[at], *copy;

  if (reader == RA_NONE)
    return made->n > 0 ? made : NULL;
  copy = &experience->copies[at * experience->plan->workload->n_calls + reader];
  return copy->n > 0 ? copy : made->n > 0 ? made : NULL;
}

/* Where sequence @at of @set is in @column. */
static RaSpan
span_of(const RaExperienceSet *set, const RaColumn *column, uint32_t at)
{
  if (column->kind == RA_COLUMN_REWARD)
    return (RaSpan){at, at + 1};
  if (column->kind == RA_COLUMN_TEXT)
    return (RaSpan){set->text_begin[at], set->text_begin[at + 1]};
  return (RaSpan){set->begin[at], set->begin[at + 1]};
}

/* The call that made the texts of @call's set. */
static uint32_t
set_of(const RaExperience *experience, uint32_t call)
{
  return experience->plan->workload->calls[call].set;
}

void
ra_experience_transfer(RaExperience *experience, uint32_t producer,
                       uint32_t reader, uint32_t first, uint32_t last)
{
  const RaExperienceSet *s = &experience->sets[set_of(experience, producer)];

  for (guint i = 0; i < 2; i++) {
    const RaColumn *from =
        ra_experience_column(experience, producer, i == 0, RA_NONE);
    const RaColumn *to =
        ra_experience_column(experience, producer, i == 0, reader);

    for (uint32_t k = first; from && from != to && k < last; k++) {
      RaSpan span = span_of(s, from, s->seqs->order[k]);
      gsize n_bytes = (span.end - span.begin) * sizeof(float);

      if (from->tokens)
        memcpy(to->tokens + span.begin, from->tokens + span.begin, n_bytes);
      else
        memcpy(to->values + span.begin, from->values + span.begin, n_bytes);
    }
  }
}

RaTokens *
ra_experience_tokens(const RaExperience *experience, uint32_t reader,
                     uint32_t first, uint32_t last, gboolean prompts)
{
  uint32_t set = set_of(experience, reader), n = last - first;
  const RaExperienceSet *s = &experience->sets[set];
  const RaColumn *text = ra_experience_column(experience, set, TRUE, reader);
  g_autofree uint32_t *lengths = g_new(uint32_t, n + 1);
  g_autofree const uint32_t **texts = g_new(const uint32_t *, n + 1);

  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = experience->orders[reader].sequences[first + i];

    lengths[i] = s->seqs->prompt[at] + (prompts ? 0 : s->seqs->response[at]);
    texts[i] = text->tokens + s->text_begin[at];
  }
  return ra_tokens_new(n, lengths, texts);
}
