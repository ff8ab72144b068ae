/* Choice of the sequences that an iteration starts, of those that it completes,
 * and of the replica of each. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "graph/input/plan_tail.h"
#include "graph/rollout/rollout_impl.h"

/* A number, and whose it is, for sorting. */
typedef struct {
  uint64_t key;
  uint32_t index;
} Keyed;

static int
compare_keyed(const void *a, const void *b)
{
  const Keyed *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

void
ra_candidates_free(RaCandidates *candidates)
{
  if (!candidates)
    return;
  g_free(candidates->all);
  g_free(candidates->completed);
  g_free(candidates->is_kept);
  g_free(candidates);
}

void
ra_candidates_stop(RaCandidates *c, uint32_t samples, uint32_t n_wanted)
{
  uint32_t n_prompts = c->n / samples;
  g_autofree Keyed *order = g_new(Keyed, n_prompts);

  g_free(c->completed);
  g_free(c->is_kept);
  c->completed = g_new0(uint32_t, n_prompts);
  c->is_kept = g_new0(gboolean, n_prompts);
  for (uint32_t i = 0; i < c->n; i++)
    c->completed[i / samples] = MAX(c->completed[i / samples], c->all[i].end);
  for (uint32_t p = 0; p < n_prompts; p++)
    order[p] = (Keyed){c->completed[p], p};
  qsort(order, n_prompts, sizeof *order, compare_keyed);
  for (uint32_t i = 0; i < n_wanted; i++)
    c->is_kept[order[i].index] = TRUE;
  c->stop = c->completed[order[n_wanted - 1].index];
  for (uint32_t i = 0; i < c->n; i++)
    c->all[i].end = MIN(c->all[i].end, c->stop);
}

/* Those that @before leaves unfinished, and fresh ones up to @n. */
static RaCandidates *
begin(const RaCandidates *before, uint32_t samples, uint32_t n,
      uint32_t *prompt, uint32_t *response)
{
  RaCandidates *c = g_new0(RaCandidates, 1);
  uint32_t n_carried = 0;

  c->all = g_new0(RaCandidate, n);
  for (uint32_t i = 0; before && i < before->n; i++) {
    const RaCandidate *old = &before->all[i];

    if (!before->is_kept[i / samples])
      c->all[n_carried++] = (RaCandidate){.prompt = old->prompt,
                                          .response = old->response,
                                          .done = old->done + old->made};
  }
  c->n = n;
  for (uint32_t i = n_carried; i < n; i++)
    c->all[i] = (RaCandidate){.prompt = prompt[i - n_carried],
                              .response = response[i - n_carried]};
  for (uint32_t i = 0; i < n; i++)
    c->all[i].end = c->all[i].response - c->all[i].done;
  return c;
}

/* An earlier iteration, of which only what it leaves is wanted. */
static void
serve_before(const RaPlan *plan, uint32_t call, uint32_t iteration,
             uint64_t seed, RaCandidates *c)
{
  RaArena *arena = ra_arena_new(0);
  g_auto(RaRolloutRun) run = {0};

  ra_rollout_run_init(&run, arena, plan, call, c);
  ra_candidates_assign(c, run.call, seed,
                       ra_prediction_stream(call, iteration));
  ra_rollout_serve(&run, call, plan->workload->calls[call].samples_per_prompt);
  ra_arena_free(arena);
}

RaCandidates *
ra_candidates_new(const RaPlan *plan, uint32_t call, uint32_t iteration,
                  uint64_t seed, RaRolloutDraw draw)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaTail *tail = &plan->calls[call].tail;
  gboolean carries =
      tail->over_sample > 1 && tail->unfinished == RA_UNFINISHED_CARRY;
  uint32_t n = ra_plan_tail_prompts(plan, call) * c->samples_per_prompt;
  g_autofree uint32_t *prompt = g_new(uint32_t, n);
  g_autofree uint32_t *response = g_new(uint32_t, n);
  RaCandidates *result = NULL;

  for (uint32_t k = carries ? 0 : iteration; k <= iteration; k++) {
    RaCandidates *before = result;

    draw(plan->workload, call, k, seed, n, prompt, response);
    result = begin(before, c->samples_per_prompt, n, prompt, response);
    ra_candidates_free(before);
    if (plan->calls[call].batching == RA_BATCHING_STATIC) {
      ra_candidates_stop(result, c->samples_per_prompt,
                         plan->workload->n_prompts);
      for (uint32_t i = 0; i < result->n; i++)
        result->all[i].made = result->all[i].end;
    } else if (k < iteration) {
      serve_before(plan, call, k, seed, result);
    }
  }
  return result;
}

/* Those with something to generate, longest predicted first; the key is what is
 * predicted, counted down from the top. */
static uint32_t
sort_predicted(const RaCandidates *c, const RaTail *tail, uint64_t seed,
               uint64_t stream, Keyed *out)
{
  g_autofree Keyed *place = g_new(Keyed, c->n);
  RaRng rng = ra_rng_init(seed, stream);
  uint32_t n = 0;

  for (uint32_t i = 0; i < c->n; i++)
    if (c->all[i].end > 0)
      place[n++] = (Keyed){c->all[i].response - c->all[i].done, i};
  qsort(place, n, sizeof *place, compare_keyed);
  for (uint32_t i = 0; i < n; i++) {
    double z = ra_normal_quantile((i + 0.5) / n);
    uint32_t at = i;

    if (tail->prediction < 1) {
      rng.counter = place[i].index;
      z = tail->prediction * z +
          sqrt(1 - tail->prediction * tail->prediction) * ra_rng_normal(&rng);
      at = MIN((uint32_t)(ra_normal_cdf(z) * n), n - 1);
    }
    out[i] = (Keyed){UINT32_MAX - place[at].key, place[i].index};
  }
  qsort(out, n, sizeof *out, compare_keyed);
  return n;
}

/* The replica with the fewest tokens is the root of a heap, ties by number. */
static void
sink(Keyed *heap, uint32_t n)
{
  uint32_t at = 0;

  for (;;) {
    uint32_t least = at;
    Keyed swap = heap[at];

    for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
      if (compare_keyed(&heap[child], &heap[least]) < 0)
        least = child;
    if (least == at)
      return;
    heap[at] = heap[least];
    heap[least] = swap;
    at = least;
  }
}

static void
assign_by_length(RaCandidates *c, const RaCallPlan *plan, uint64_t seed,
                 uint64_t stream)
{
  g_autofree Keyed *order = g_new(Keyed, c->n);
  g_autofree Keyed *heap = g_new(Keyed, plan->dp);
  uint32_t n = sort_predicted(c, &plan->tail, seed, stream, order);

  for (uint32_t d = 0; d < plan->dp; d++)
    heap[d] = (Keyed){0, d};
  for (uint32_t i = 0; i < n; i++) {
    c->all[order[i].index].replica = heap[0].index;
    c->all[order[i].index].place = i;
    heap[0].key += UINT32_MAX - order[i].key;
    sink(heap, plan->dp);
  }
}

void
ra_candidates_assign(RaCandidates *c, const RaCallPlan *plan, uint64_t seed,
                     uint64_t stream)
{
  uint64_t n = 0, at = 0;

  if (plan->tail.assignment == RA_ASSIGN_LENGTH) {
    assign_by_length(c, plan, seed, stream);
    return;
  }
  for (uint32_t i = 0; i < c->n; i++)
    n += c->all[i].end > 0;
  /* Replica d has the sequences from d n / dp on. */
  for (uint32_t i = 0; i < c->n; i++)
    if (c->all[i].end > 0) {
      c->all[i].place = (uint32_t)at;
      c->all[i].replica = (uint32_t)(((at++ + 1) * plan->dp - 1) / n);
    }
}
