/* Scheduler of continuous batching: admission, steps, preemption. */
#include "config.h"

#include <stdlib.h>

#include "graph/rollout/batcher_impl.h"

RaBatcher *
ra_batcher_new(const RaBatching *batching, const uint32_t *prompt,
               const uint32_t *response, uint32_t n)
{
  RaBatcher *b;

  g_return_val_if_fail(batching && batching->max_sequences > 0, NULL);
  g_return_val_if_fail(batching->step_tokens >= batching->max_sequences, NULL);
  g_return_val_if_fail(batching->block_tokens > 0 && batching->group > 0, NULL);
  b = g_new0(RaBatcher, 1);
  b->batching = *batching;
  b->prompt = prompt;
  b->response = response;
  b->n = n;
  b->sequences = g_new0(RaBatchSequence, MAX(n, 1u));
  b->groups = g_new0(RaBatchGroup, (gsize)n + 1);
  b->again = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  b->head = b->tail = RA_BATCHER_NOBODY;
  b->at_residue = g_new0(uint64_t, batching->block_tokens);
  b->ends = g_array_new(FALSE, FALSE, sizeof(RaBatchEnd));
  b->first = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  b->ended = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  b->paused = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  b->returned = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  b->kept = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  for (uint32_t i = 0; i < n; i++) {
    g_assert(prompt[i] > 0 && response[i] > 0);
    g_assert(batching->n_blocks == 0 ||
             ra_batching_blocks(batching, prompt[i], response[i]) <=
                 batching->n_blocks);
  }
  return b;
}

void
ra_batcher_free(RaBatcher *b)
{
  if (!b)
    return;
  g_free(b->sequences);
  g_free(b->groups);
  g_free(b->at_residue);
  g_array_unref(b->again);
  g_array_unref(b->ends);
  g_array_unref(b->first);
  g_array_unref(b->ended);
  g_array_unref(b->paused);
  g_array_unref(b->returned);
  g_array_unref(b->kept);
  g_free(b->pauses);
  g_free(b->tools_s);
  g_free(b);
}

void
ra_batcher_arrive(RaBatcher *b, uint32_t n)
{
  g_return_if_fail(n >= b->n_arrived && n <= b->n);
  b->n_arrived = n;
}

/* --- running and waiting --- */

void
ra_batcher_link_last(RaBatcher *b, uint32_t i)
{
  RaBatchSequence *s = &b->sequences[i];

  s->before = b->tail;
  s->next = RA_BATCHER_NOBODY;
  if (b->tail == RA_BATCHER_NOBODY)
    b->head = i;
  else
    b->sequences[b->tail].next = i;
  b->tail = i;
  b->n_running++;
  ra_batcher_group(b, i)->n_running++;
}

void
ra_batcher_set_decoding(RaBatcher *b, uint32_t i, gboolean decodes)
{
  RaBatchSequence *s = &b->sequences[i];
  uint64_t size = b->batching.block_tokens;

  if (decodes) {
    b->kv_tokens += s->computed;
    b->n_decoding++;
    /* Modulo 2^64 first, which size need not divide: kept as a residue. */
    b->at_residue[(s->computed + size - b->step % size) % size]++;
    s->end_step = b->step + ra_batcher_response(b, i) - s->generated;
    s->computed -= b->step; /* wraps; + step is what is meant */
    ra_batcher_push_end(b, (RaBatchEnd){s->end_step, i});
    s->state = RA_BATCH_DECODES;
    return;
  }
  s->computed += b->step;
  b->kv_tokens -= s->computed;
  b->n_decoding--;
  b->at_residue[(s->computed + size - b->step % size) % size]--;
  s->generated = ra_batcher_response(b, i) - (uint32_t)(s->end_step - b->step);
  s->state = RA_BATCH_FILLS;
}

/* The sequence stops running and gives its blocks back. */
static void
leave(RaBatcher *b, uint32_t i)
{
  RaBatchSequence *s = &b->sequences[i];
  RaBatchGroup *group = ra_batcher_group(b, i);

  b->used_blocks -= ra_batcher_own_blocks(b, i, ra_batcher_held_tokens(b, i));
  if (s->state == RA_BATCH_DECODES)
    ra_batcher_set_decoding(b, i, FALSE);
  if (--group->n_running == 0) {
    b->used_blocks -= group->n_blocks;
    group->n_blocks = 0;
  }
  if (s->before == RA_BATCHER_NOBODY)
    b->head = s->next;
  else
    b->sequences[s->before].next = s->next;
  if (s->next == RA_BATCHER_NOBODY)
    b->tail = s->before;
  else
    b->sequences[s->next].before = s->before;
  b->n_running--;
}

static void
preempt_last(RaBatcher *b)
{
  uint32_t i = b->tail;

  leave(b, i);
  b->sequences[i].state = RA_BATCH_WAITS;
  g_array_append_val(b->again, i);
  b->work.n_preempted++;
}

/* Who is next to be admitted, or RA_BATCHER_NOBODY. */
static uint32_t
first_waiting(const RaBatcher *b)
{
  if (b->again->len > 0)
    return g_array_index(b->again, uint32_t, b->again->len - 1);
  if (b->next_new < b->n_arrived)
    return b->next_new;
  return b->n_readmitted < b->returned->len
             ? g_array_index(b->returned, uint32_t, b->n_readmitted)
             : RA_BATCHER_NOBODY;
}

/* --- the step that comes --- */

/* Tokens that sequence @i knows and has not computed, where it fills. */
static uint64_t
tokens_ahead(const RaBatcher *b, uint32_t i)
{
  const RaBatchSequence *s = &b->sequences[i];

  return ra_batcher_prompt(b, i) + s->generated - s->computed;
}

static void
add_chunk(RaBatcher *b, uint32_t i, uint64_t n)
{
  RaBatchStretch *stretch = &b->stretch;
  RaBatchSequence *s = &b->sequences[i];
  uint64_t all = s->computed + n;

  s->chunk = (uint32_t)n;
  stretch->n_chunks++;
  stretch->n_whole += n == tokens_ahead(b, i);
  stretch->chunk_tokens += n;
  stretch->chunk_kv_tokens += all;
  stretch->chunk_pairs += n * s->computed + n * (n + 1) / 2;
  if (!b->batching.reserve)
    ra_batcher_take_blocks(b, i, s->computed, all);
}

/* The running sequences have their tokens; whether none was preempted. */
static gboolean
serve_running(RaBatcher *b, uint64_t *inout_tokens)
{
  gboolean all = TRUE;
  uint64_t need, chunk;

  for (;;) {
    uint32_t last = b->tail;

    /* Only the last admitted can lack a part of its prompt: it had what the
     * others left. */
    need = ra_batcher_n_crossing(b, 0);
    chunk = 0;
    if (last != RA_BATCHER_NOBODY &&
        b->sequences[last].state == RA_BATCH_FILLS) {
      const RaBatchSequence *s = &b->sequences[last];

      chunk = MIN(tokens_ahead(b, last), *inout_tokens - b->n_decoding);
      if (!b->batching.reserve)
        need +=
            ra_batcher_more_blocks(b, last, s->computed, s->computed + chunk);
    }
    if (need <= ra_batcher_free_blocks(b))
      break;
    if (ra_batcher_evict(b, RA_BATCHER_NOBODY))
      continue;
    preempt_last(b);
    all = FALSE;
  }
  *inout_tokens -= b->n_decoding;
  b->used_blocks += ra_batcher_n_crossing(b, 0);
  if (chunk > 0) {
    add_chunk(b, b->tail, chunk);
    *inout_tokens -= chunk;
  }
  return all;
}

/* Admits the first that waits; FALSE: it finds no place. */
static gboolean
admit(RaBatcher *b, uint64_t *inout_tokens)
{
  uint32_t i = first_waiting(b);
  RaBatchSequence *s;
  uint64_t found, n, held;
  gboolean kept;

  if (i == RA_BATCHER_NOBODY || *inout_tokens == 0 ||
      b->n_running == b->batching.max_sequences)
    return FALSE;
  s = &b->sequences[i];
  found = b->pauses ? b->pauses[i].kept : 0;
  kept = found > 0;
  if (!kept)
    found = ra_batcher_group(b, i)->n_blocks * b->batching.block_tokens;
  s->computed = found;
  n = MIN(tokens_ahead(b, i), *inout_tokens);
  held =
      b->batching.reserve ? (uint64_t)b->prompt[i] + b->response[i] : found + n;
  while (ra_batcher_more_blocks(b, i, found, held) > ra_batcher_free_blocks(b))
    if (!ra_batcher_evict(b, i))
      return FALSE;
  if (b->again->len > 0)
    g_array_set_size(b->again, b->again->len - 1);
  else if (b->next_new < b->n_arrived)
    b->next_new++;
  else
    b->n_readmitted++;
  if (kept)
    b->work.n_kept += ra_batcher_unkeep(b, i);
  s->state = RA_BATCH_FILLS;
  ra_batcher_link_last(b, i);
  if (b->batching.reserve)
    ra_batcher_take_blocks(b, i, found, held);
  b->work.n_shared += kept ? 0 : found;
  add_chunk(b, i, n);
  *inout_tokens -= n;
  return TRUE;
}

/* Steps until one ends or the free blocks do, at least 1: the first has its
 * blocks already. */
static uint64_t
steps_alike(RaBatcher *b)
{
  const RaBatchEnd *end = ra_batcher_first_end(b);
  uint64_t most = end->step - b->step, size = b->batching.block_tokens;
  uint64_t left = ra_batcher_free_blocks(b), rounds, steps = 1;

  if (left == UINT64_MAX || b->batching.reserve)
    return most;
  /* In block_tokens steps every sequence takes one block. */
  rounds = left / b->n_decoding;
  if (rounds > most / size)
    return most;
  left -= rounds * b->n_decoding;
  steps += rounds * size;
  while (steps < most && ra_batcher_n_crossing(b, steps) <= left) {
    left -= ra_batcher_n_crossing(b, steps);
    steps++;
  }
  return MIN(steps, most);
}

gboolean
ra_batcher_next(RaBatcher *b, RaBatchStretch *out_stretch)
{
  uint64_t tokens = b->batching.step_tokens;
  gboolean undisturbed;

  if (b->n_running == 0 && first_waiting(b) == RA_BATCHER_NOBODY)
    return FALSE;
  g_return_val_if_fail(b->stretch.n_steps == 0, FALSE); /* not taken */
  b->stretch = (RaBatchStretch){.n_steps = 1};
  undisturbed = serve_running(b, &tokens);
  while (undisturbed && admit(b, &tokens))
    ;
  b->stretch.n_decoding = b->n_decoding;
  b->stretch.kv_tokens = b->kv_tokens + b->n_decoding;
  /* After a preemption the next step may admit what this one may not. */
  if (b->stretch.n_chunks == 0 && undisturbed)
    b->stretch.n_steps = steps_alike(b);
  b->work.peak_sequences = MAX(b->work.peak_sequences, b->n_running);
  *out_stretch = b->stretch;
  return TRUE;
}

/* Blocks for the steps after the first of @n_steps. */
static void
grow(RaBatcher *b, uint64_t n_steps)
{
  uint64_t size = b->batching.block_tokens, rounds = (n_steps - 1) / size;

  if (b->batching.reserve)
    return;
  b->used_blocks += rounds * b->n_decoding;
  for (uint64_t k = rounds * size + 1; k < n_steps; k++)
    b->used_blocks += ra_batcher_n_crossing(b, k);
}

/* A turn of the sequence has ended. */
static void
end_turn(RaBatcher *b, uint32_t i)
{
  uint64_t held = ra_batcher_held_tokens(b, i);
  uint64_t group_blocks = ra_batcher_group(b, i)->n_blocks;

  leave(b, i);
  if (ra_batcher_has_turn(b, i)) {
    ra_batcher_pause(b, i, held, group_blocks);
    return;
  }
  g_array_append_val(b->ended, i);
  b->sequences[i].state = RA_BATCH_DONE;
}

/* Those whose chunk was computed: the last of the running, back to the first
 * that fills. */
static void
end_chunks(RaBatcher *b)
{
  uint32_t i = b->tail;

  if (b->stretch.n_chunks == 0)
    return;
  for (uint32_t k = 1; k < b->stretch.n_chunks; k++)
    i = b->sequences[i].before;
  for (uint32_t next; i != RA_BATCHER_NOBODY; i = next) {
    RaBatchSequence *s = &b->sequences[i];

    next = s->next;
    s->computed += s->chunk;
    if (tokens_ahead(b, i) > 0)
      continue;
    if (s->generated++ == 0)
      g_array_append_val(b->first, i);
    if (s->generated < ra_batcher_response(b, i)) {
      ra_batcher_set_decoding(b, i, TRUE);
      continue;
    }
    end_turn(b, i);
  }
}

static void
end_decoding(RaBatcher *b)
{
  const RaBatchEnd *end;

  while ((end = ra_batcher_first_end(b)) && end->step == b->step) {
    uint32_t i = end->sequence;

    ra_batcher_pop_end(b);
    end_turn(b, i);
  }
}

static gint
by_sequence(gconstpointer a, gconstpointer b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

void
ra_batcher_take(RaBatcher *b, uint64_t n_steps)
{
  RaBatchStretch *stretch = &b->stretch;

  g_return_if_fail(n_steps >= 1 && n_steps <= stretch->n_steps);
  g_array_set_size(b->first, 0);
  g_array_set_size(b->ended, 0);
  g_array_set_size(b->paused, 0);
  grow(b, n_steps);
  b->work.last_blocks = b->used_blocks;
  b->work.peak_blocks = MAX(b->work.peak_blocks, b->used_blocks);
  b->work.n_steps += n_steps;
  b->work.n_stretches++;
  b->work.n_computed += n_steps * stretch->n_decoding + stretch->chunk_tokens;
  b->step += n_steps;
  b->kv_tokens += n_steps * b->n_decoding;
  end_decoding(b);
  end_chunks(b);
  if (b->tools_s) /* the order in which they call is the sequences' own */
    g_array_sort(b->paused, by_sequence);
  stretch->n_steps = 0;
}

const uint32_t *
ra_batcher_first(const RaBatcher *b, guint *out_n)
{
  *out_n = b->first->len;
  return (const uint32_t *)(const void *)b->first->data;
}

const uint32_t *
ra_batcher_ended(const RaBatcher *b, guint *out_n)
{
  *out_n = b->ended->len;
  return (const uint32_t *)(const void *)b->ended->data;
}

uint64_t
ra_batcher_blocks(const RaBatcher *b)
{
  return b->used_blocks;
}

const RaBatcherWork *
ra_batcher_work(const RaBatcher *b)
{
  return &b->work;
}
