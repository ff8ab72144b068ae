/* Sequence sets: sampling of lengths, order of arrival, prefix sums. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "graph/expand/sequence.h"
#include "graph/input/plan_batching.h"
#include "graph/input/trips.h"
#include "graph/input/turns.h"
#include "graph/rollout/batcher_replica.h"

/* Streams of random numbers: prompts, each set's responses, and what answers to
 * one prompt have in common. */
#define GROUP_STREAM (UINT32_C(1) << 31)

static uint64_t
stream_of(uint32_t iteration, uint32_t which)
{
  return (uint64_t)iteration << 32 | which;
}

/* Sequences that an iteration may draw. */
static uint64_t
n_drawn(const RaWorkload *w, uint32_t set, uint32_t n)
{
  return ra_trips_are_set(w) ? (uint64_t)w->max_trips * w->n_trip_prompts *
                                   w->calls[set].samples_per_prompt
                             : n;
}

/* Lengths of what there really is; answers that are generated stay drawn. */
static void
take_lengths(const RaWorkload *w, uint32_t set, uint32_t iteration,
             uint32_t first, uint32_t n, uint32_t n_prompts, uint32_t *prompt,
             uint32_t *response)
{
  uint32_t samples = w->calls[set].samples_per_prompt;

  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = first + i;
    uint32_t row =
        ra_text_data_row(w->data, iteration, n_prompts, at / samples);

    ra_text_data_field(w->data, row, 0, &prompt[i]);
    if (w->calls[set].kind != RA_CALL_GENERATE)
      ra_text_data_field(w->data, row, 1 + at % samples, &response[i]);
  }
}

/* @n sequences from number @first of @iteration on, a prompt's first one; what
 * is replayed takes the place of what is drawn, @n_rows an iteration. */
static void
draw_from(const RaWorkload *w, uint32_t set, uint32_t iteration, uint64_t seed,
          uint32_t first, uint32_t n, uint64_t n_rows, uint32_t *prompt,
          uint32_t *response)
{
  uint32_t samples = w->calls[set].samples_per_prompt;

  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = first + i;

    prompt[i] = at % samples
                    ? prompt[i - 1]
                    : ra_length_draw(&w->prompt_length, seed,
                                     stream_of(iteration, 0), at / samples);
    response[i] = ra_length_draw_in_group(
        &w->response_length, seed, stream_of(iteration, set + 1), at,
        stream_of(iteration, GROUP_STREAM + set), at / samples,
        w->response_correlation);
  }
  if (w->data)
    take_lengths(w, set, iteration, first, n, (uint32_t)(n_rows / samples),
                 prompt, response);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t row = (uint64_t)iteration * n_rows + first + i;

    if (w->prompt_length.in_order)
      prompt[i] = ra_length_replay(&w->prompt_length, row);
    if (w->response_length.in_order)
      response[i] = ra_length_replay(&w->response_length, row);
  }
}

/* RaRolloutDraw. */
static void
draw_lengths(const RaWorkload *w, uint32_t set, uint32_t iteration,
             uint64_t seed, uint32_t n, uint32_t *prompt, uint32_t *response)
{
  draw_from(w, set, iteration, seed, 0, n, n, prompt, response);
}

/* Sequences that training uses if the workload has trips. */
static void
draw_passed(const RaWorkload *w, uint32_t set, uint32_t iteration,
            uint64_t seed, uint32_t *prompt, uint32_t *response,
            uint32_t *number)
{
  uint32_t samples = w->calls[set].samples_per_prompt;
  g_autofree uint32_t *groups = g_new(uint32_t, w->n_prompts);

  ra_trips_draw(w, iteration, seed, groups);
  for (uint32_t i = 0; i < w->n_prompts; i++)
    draw_from(w, set, iteration, seed, groups[i] * samples, samples,
              n_drawn(w, set, 0), prompt + i * samples, response + i * samples);
  for (uint32_t i = 0; i < w->n_prompts * samples; i++)
    number[i] = groups[i / samples] * samples + i % samples;
}

/* A sequence and when it ends, for sorting. */
typedef struct {
  uint64_t response; /* tokens; of a rollout, the clock's as it is complete; to
                        cut evenly, of the whole sequence */
  uint32_t sequence;
} RaEnding;

static int
compare_endings(const void *a, const void *b)
{
  const RaEnding *x = a, *y = b;
  if (x->response != y->response)
    return x->response < y->response ? -1 : 1;
  return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Those of one replica as they end under continuous batching. */
static void
continuous_order(const RaBatching *batching, uint32_t n_groups, uint32_t first,
                 uint32_t n, const uint32_t *prompt, const uint32_t *response,
                 RaEnding *out_ends)
{
  g_autofree uint32_t *order = g_new(uint32_t, n);

  ra_batching_order(batching, n_groups, n, prompt + first, response + first,
                    order);
  for (uint32_t i = 0; i < n; i++)
    out_ends[first + i] =
        (RaEnding){response[first + order[i]], first + order[i]};
}

/* Order of arrival: part by part, replica by replica, shortest response first
 * (with continuous batching as they end); with one part the order of prompts.
 */
static void
arrival_order(const RaPlan *plan, uint32_t set, uint32_t n,
              const uint32_t *prompt, const uint32_t *response,
              uint32_t *out_order)
{
  const RaCall *call = &plan->workload->calls[set];
  uint32_t dp = plan->calls[set].dp, parts = call->n_parts;
  uint32_t share, out = 0;
  g_autofree RaEnding *ends = NULL;
  RaBatching batching;

  if (call->kind != RA_CALL_GENERATE || parts <= 1) {
    for (uint32_t i = 0; i < n; i++)
      out_order[i] = i;
    return;
  }
  share = n / dp;
  ends = g_new(RaEnding, n);
  batching = ra_call_batching(plan, set);
  for (uint32_t i = 0; i < n; i++)
    ends[i] = (RaEnding){response[i], i};
  for (uint32_t d = 0; d < dp; d++)
    if (batching.max_sequences > 0)
      continuous_order(&batching, plan->calls[set].n_micro_batches, d * share,
                       share, prompt, response, ends);
    else
      qsort(ends + d * share, share, sizeof *ends, compare_endings);
  for (uint32_t c = 0; c < parts; c++)
    for (uint32_t d = 0; d < dp; d++)
      for (uint32_t i = (uint32_t)((uint64_t)c * share / parts);
           i < (uint64_t)(c + 1) * share / parts; i++)
        out_order[out++] = ends[d * share + i].sequence;
}

/* As ra_rollout_new() has them; in parts by when each is complete. */
static const RaRollout *
roll_out(RaArena *arena, const RaPlan *plan, uint32_t set, uint32_t iteration,
         uint64_t seed, uint32_t *prompt, uint32_t *response, uint32_t *order)
{
  const RaCall *call = &plan->workload->calls[set];
  uint32_t n = call->n_sequences;
  g_autofree uint64_t *end = g_new(uint64_t, n);
  g_autofree RaEnding *ends = g_new(RaEnding, n);
  RaRolloutSet out = {prompt, response, end};
  const RaRollout *rollout =
      ra_rollout_new(arena, plan, set, iteration, seed, draw_lengths, &out);

  for (uint32_t i = 0; i < n; i++)
    ends[i] = (RaEnding){call->n_parts > 1 ? end[i] : 0, i};
  qsort(ends, n, sizeof *ends, compare_endings);
  for (uint32_t i = 0; i < n; i++)
    order[i] = ends[i].sequence;
  return rollout;
}

/* The turns of @n sequences with numbers @index (NULL: from @first on), of
 * which @response has the first; it gets their sums.  NULL: there are none. */
static const RaTurns *
draw_turns(RaArena *arena, const RaWorkload *w, RaTurnSource source,
           uint32_t first, uint32_t n, uint32_t *response)
{
  g_autofree uint32_t *numbers = NULL;
  const RaTurns *turns;

  if (!ra_turns_are_set(w))
    return NULL;
  if (!source.index) {
    numbers = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
      numbers[i] = first + i;
    source.index = numbers;
  }
  source.response = response;
  turns = ra_turns_new(arena, w, &source, n);
  for (uint32_t i = 0; i < n; i++)
    response[i] = ra_turns_tokens(turns, i);
  return turns;
}

/* The order of arrival and the sums of a set of @n drawn lengths. */
static RaSequenceSet *
finish(RaArena *arena, uint32_t n, const uint32_t *prompt,
       const uint32_t *response, const uint32_t *order, const RaTurns *turns,
       const RaRollout *rollout)
{
  RaSequenceSet *s = ra_arena_alloc(arena, 1, sizeof *s);
  uint64_t *sums[4], longest = 0;

  for (guint i = 0; i < G_N_ELEMENTS(sums); i++)
    sums[i] = ra_arena_alloc(arena, (gsize)n + 1, sizeof **sums);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t p = prompt[i];
    uint64_t whole = (uint64_t)prompt[order[i]] + response[order[i]];
    sums[0][i + 1] = sums[0][i] + p;
    sums[1][i + 1] = sums[1][i] + p * (p + 1) / 2;
    sums[2][i + 1] = sums[2][i] + whole;
    sums[3][i + 1] = sums[3][i] + whole * (whole + 1) / 2;
    longest = MAX(longest, whole);
  }
  *s = (RaSequenceSet){n,       prompt,  response, sums[0], sums[1], order,
                       sums[2], sums[3], longest,  turns,   rollout};
  return s;
}

RaSequenceSet *
ra_sequence_set_new(RaArena *arena, const RaPlan *plan, uint32_t set,
                    uint32_t iteration, uint64_t seed)
{
  const RaWorkload *w = plan->workload;
  gboolean passed = w->calls[set].each_trip;
  uint32_t n = passed ? w->n_prompts * w->calls[set].samples_per_prompt
                      : w->calls[set].n_sequences;
  uint32_t *prompt = ra_arena_alloc(arena, n, sizeof *prompt);
  uint32_t *response = ra_arena_alloc(arena, n, sizeof *response);
  uint32_t *order = ra_arena_alloc(arena, n, sizeof *order);
  const RaRollout *rollout = NULL;
  const RaTurns *turns = NULL;
  RaTurnSource source = {.set = set, .iteration = iteration, .seed = seed};

  if (passed) {
    g_autofree uint32_t *number = g_new(uint32_t, n);

    draw_passed(w, set, iteration, seed, prompt, response, number);
    source.index = number;
    turns = draw_turns(arena, w, source, 0, n, response);
    for (uint32_t i = 0; i < n; i++)
      order[i] = i;
  } else if (w->calls[set].kind == RA_CALL_GENERATE &&
             ra_tail_is_set(&plan->calls[set].tail)) {
    rollout =
        roll_out(arena, plan, set, iteration, seed, prompt, response, order);
  } else {
    draw_lengths(w, set, iteration, seed, n, prompt, response);
    turns = draw_turns(arena, w, source, 0, n, response);
    arrival_order(plan, set, n, prompt, response, order);
  }
  return finish(arena, n, prompt, response, order, turns, rollout);
}

RaSequenceSet *
ra_sequence_set_new_trip(RaArena *arena, const RaPlan *plan, uint32_t set,
                         uint32_t iteration, uint32_t trip, uint64_t seed)
{
  const RaWorkload *w = plan->workload;
  uint32_t n = w->calls[set].n_sequences;
  uint32_t *prompt = ra_arena_alloc(arena, n, sizeof *prompt);
  uint32_t *response = ra_arena_alloc(arena, n, sizeof *response);
  uint32_t *order = ra_arena_alloc(arena, n, sizeof *order);
  const RaTurns *turns;
  RaTurnSource source = {.set = set, .iteration = iteration, .seed = seed};

  draw_from(w, set, iteration, seed, trip * n, n, n_drawn(w, set, n), prompt,
            response);
  turns = draw_turns(arena, w, source, trip * n, n, response);
  arrival_order(plan, set, n, prompt, response, order);
  return finish(arena, n, prompt, response, order, turns, NULL);
}

RaBatch
ra_sequence_set_batch(const RaSequenceSet *set, uint32_t first, uint32_t last)
{
  uint64_t tokens = set->tokens[last] - set->tokens[first];
  return (RaBatch){last - first, tokens, tokens,
                   set->pairs[last] - set->pairs[first]};
}

/* Sorts @ranked, which is in the order of the set, so that the longest comes
 * first and of equally long ones the first: digit by digit of the lengths, as
 * comparisons of thousands of lengths are most of what a cut takes.  @spare:
 * (n). */
static void
rank_lengths(RaEnding *ranked, RaEnding *spare, uint32_t n)
{
  uint64_t longest = 0;

  for (uint32_t i = 0; i < n; i++)
    longest = MAX(longest, ranked[i].response);
  for (guint shift = 0; shift < 64 && longest >> shift > 0; shift += 8) {
    uint32_t at[256] = {0}, begin = 0;

    for (uint32_t i = 0; i < n; i++)
      at[ranked[i].response >> shift & 0xff]++;
    for (guint digit = 256; digit-- > 0;) {
      uint32_t count = at[digit];
      at[digit] = begin;
      begin += count;
    }
    for (uint32_t i = 0; i < n; i++)
      spare[at[ranked[i].response >> shift & 0xff]++] = ranked[i];
    memcpy(ranked, spare, n * sizeof *ranked);
  }
}

/* Restores the heap of batches @heap under its root, of which the tokens grew:
 * the fewest tokens first, of equal ones the first batch. */
static void
sift_fewest(uint32_t *heap, uint32_t n, const RaBatch *batches)
{
  uint32_t moved = heap[0], at = 0;
  uint64_t tokens = batches[moved].q_tokens;

  for (uint32_t child = 1; child < n; child = 2 * at + 1) {
    uint64_t least = batches[heap[child]].q_tokens;

    if (child + 1 < n) {
      uint64_t right = batches[heap[child + 1]].q_tokens;

      if (right < least || (right == least && heap[child + 1] < heap[child])) {
        child++;
        least = right;
      }
    }
    if (tokens < least || (tokens == least && moved < heap[child]))
      break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moved;
}

/* Each sequence, the longest first, goes to the batch with the fewest tokens,
 * of equal ones to the first; so a batch's first is its longest.  @out_to:
 * (nullable) (n): the batch of each. */
static void
cut_evenly(const RaSequenceSet *set, uint32_t first, uint32_t n, uint32_t m,
           RaBatch *out_batches, uint64_t *out_longest, uint32_t *out_to)
{
  g_autofree RaEnding *ranked = g_new(RaEnding, 2 * (gsize)n);
  g_autofree uint32_t *heap = g_new(uint32_t, m);

  for (uint32_t i = 0; i < n; i++)
    ranked[i] = (RaEnding){set->tokens[first + i + 1] - set->tokens[first + i],
                           first + i};
  rank_lengths(ranked, ranked + n, n);
  memset(out_batches, 0, m * sizeof *out_batches);
  for (uint32_t k = 0; k < m; k++)
    heap[k] = k;
  for (uint32_t i = 0; i < n; i++) {
    RaBatch one =
        ra_sequence_set_batch(set, ranked[i].sequence, ranked[i].sequence + 1);
    RaBatch *to = &out_batches[heap[0]];

    if (to->n_sequences == 0)
      out_longest[heap[0]] = one.q_tokens;
    to->n_sequences += one.n_sequences;
    to->q_tokens += one.q_tokens;
    to->kv_tokens += one.kv_tokens;
    to->pairs += one.pairs;
    if (out_to)
      out_to[ranked[i].sequence - first] = heap[0];
    sift_fewest(heap, m, out_batches);
  }
}

/* Tokens of the longest of [@first, @last). */
static uint64_t
longest_of(const RaSequenceSet *set, uint32_t first, uint32_t last)
{
  uint64_t longest = 0;

  for (uint32_t i = first; i < last; i++)
    longest = MAX(longest, set->tokens[i + 1] - set->tokens[i]);
  return longest;
}

/* @longest: tokens of the longest sequence of @batch. */
static void
pad(RaBatch *batch, uint64_t longest)
{
  batch->q_tokens = batch->kv_tokens = batch->n_sequences * longest;
  batch->pairs = batch->n_sequences * (longest * (longest + 1) / 2);
}

/* Batch by batch, in the order of the set; @to (n) has the batch of each, or is
 * NULL: they are in order already. */
static void
list_sequences(const RaSequenceSet *set, uint32_t first, uint32_t n, uint32_t m,
               const uint32_t *to, const RaBatch *batches, uint32_t *out)
{
  g_autofree uint32_t *next = g_new0(uint32_t, m);

  for (uint32_t k = 1; k < m; k++)
    next[k] = next[k - 1] + batches[k - 1].n_sequences;
  for (uint32_t i = 0; i < n; i++)
    out[to ? next[to[i]]++ : i] = set->order[first + i];
}

void
ra_sequence_set_cut(const RaSequenceSet *set, uint32_t first, uint32_t n,
                    uint32_t m, const RaCallPlan *how, RaBatch *out_batches,
                    uint32_t *out_sequences)
{
  gboolean pads = how->padding != RA_PADDING_NONE || how->padded_length > 0;
  gboolean is_even = how->balance == RA_BALANCE_TOKENS;
  g_autofree uint64_t *longest = NULL;
  g_autofree uint32_t *to =
      is_even && out_sequences ? g_new(uint32_t, n) : NULL;
  uint32_t share;

  g_return_if_fail(m > 0 && n >= m);
  share = n / m;
  longest = g_new0(uint64_t, m);
  if (is_even)
    cut_evenly(set, first, n, m, out_batches, longest, to);
  for (uint32_t i = 0; i < m && !is_even; i++) {
    uint32_t begin = first + i * share, end = begin + share;

    out_batches[i] = ra_sequence_set_batch(set, begin, end);
    longest[i] = pads ? longest_of(set, begin, end) : 0;
  }
  if (out_sequences)
    list_sequences(set, first, n, m, to, out_batches, out_sequences);
  for (uint32_t i = 0; i < m && pads; i++) {
    if (how->padding == RA_PADDING_BATCH)
      longest[i] = set->longest;
    pad(&out_batches[i], MAX(longest[i], how->padded_length));
  }
}

RaBatch
ra_sequence_set_prompts(const RaSequenceSet *set, uint32_t first, uint32_t last)
{
  uint64_t tokens = set->prompt_tokens[last] - set->prompt_tokens[first];
  return (RaBatch){last - first, tokens, tokens,
                   set->prompt_pairs[last] - set->prompt_pairs[first]};
}
