/* Largest loads of all calls: sequences, tokens, keys and values. */
#include "config.h"

#include "graph/expand/sequence.h"
#include "graph/input/plan_batching.h"
#include "graph/input/trips.h"
#include "graph/memory/memory_generate.h"
#include "graph/rollout/batcher_replica.h"

/* A step of continuous batching, and cached tokens of every replica. */
static void
add_continuous(const RaPlan *plan, uint32_t call, const RaSequenceSet *set,
               RaCallLoad *load)
{
  const RaCall *c = &plan->workload->calls[call];
  uint32_t share = c->n_sequences / plan->calls[call].dp;
  RaBatching batching = ra_call_batching(plan, call);
  g_autofree uint64_t *peak = g_new(uint64_t, 2 * (gsize)c->n_parts);

  for (uint32_t d = 0; d < plan->calls[call].dp; d++) {
    uint32_t first = d * share;

    ra_batching_kv_tokens(&batching, plan->calls[call].n_micro_batches, share,
                          set->prompt + first, set->response + first,
                          c->n_parts, peak, peak + c->n_parts);
    for (uint32_t i = 0; i < c->n_parts; i++)
      load->kv_tokens = MAX(load->kv_tokens, peak[i]);
    ra_batch_raise(
        &load->batch,
        ra_batching_largest_step(
            &batching,
            set->turns ? ra_turns_largest_prompts(share, set->prompt + first,
                                                  set->response + first)
                       : ra_sequence_set_prompts(set, first, first + share)));
  }
  load->decode = load->batch;
}

/* Prefill groups and cached tokens of every replica. */
static void
add_generate(const RaPlan *plan, uint32_t call, const RaSequenceSet *set,
             RaCallLoad *load)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  uint32_t share = c->n_sequences / p->dp, m = p->n_micro_batches;
  g_autofree uint64_t *peak = g_new(uint64_t, 2 * (gsize)c->n_parts);

  if (set->rollout) {
    ra_rollout_add_load(plan, call, set->rollout, load);
    return;
  }
  if (p->batching == RA_BATCHING_CONTINUOUS) {
    add_continuous(plan, call, set, load);
    return;
  }
  for (uint32_t d = 0; d < p->dp; d++) {
    uint32_t first = d * share;
    ra_kv_peak_tokens(share, set->prompt + first, set->response + first,
                      ra_call_plan_kv_block(p), c->n_parts, peak,
                      peak + c->n_parts);
    for (uint32_t i = 0; i < c->n_parts; i++)
      load->kv_tokens = MAX(load->kv_tokens, peak[i]);
    load->prompt_tokens = MAX(
        load->prompt_tokens, ra_prompts_kv_room(p, share, set->prompt + first));
    for (uint32_t g = 0; g < m; g++) {
      uint32_t begin = (uint32_t)((uint64_t)g * share / m);
      uint32_t end = (uint32_t)((uint64_t)(g + 1) * share / m);
      RaBatch step = {end - begin, end - begin, 0, 0};
      ra_batch_raise(&load->batch,
                     ra_sequence_set_prompts(set, first + begin, first + end));
      ra_batch_raise(&load->decode, step);
    }
  }
}

/* Micro-batches of an inference or train call, as they are cut in
 * graph/expand/expand_*.c. */
static void
add_micro_batches(const RaPlan *plan, uint32_t call, const RaSequenceSet *set,
                  RaCallLoad *load)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  uint32_t n_shares = MAX(ra_call_plan_n_pieces(c, p), 1u);
  uint32_t n = n_shares * p->dp, size = c->n_sequences / n;
  g_autofree RaBatch *batches = g_new(RaBatch, p->n_micro_batches);

  for (uint32_t i = 0; i < n; i++) {
    ra_sequence_set_cut(set, i * size, size, p->n_micro_batches, p, batches,
                        NULL);
    for (uint32_t k = 0; k < p->n_micro_batches; k++)
      ra_batch_raise(&load->batch, batches[k]);
  }
}

void
ra_call_load_add(const RaPlan *plan, uint32_t call, const RaSequenceSet *set,
                 RaCallLoad *load)
{
  if (plan->workload->calls[call].kind == RA_CALL_GENERATE)
    add_generate(plan, call, set, load);
  else
    add_micro_batches(plan, call, set, load);
}

static void
add_trips(const RaPlan *plan, uint32_t call, uint32_t k, uint64_t seed,
          RaCallLoad *load)
{
  uint32_t n_trips = ra_trips_draw(plan->workload, k, seed, NULL);

  for (uint32_t trip = 0; trip < n_trips; trip++) {
    RaArena *arena = ra_arena_new(0);

    ra_call_load_add(plan, call,
                     ra_sequence_set_new_trip(arena, plan,
                                              plan->workload->calls[call].set,
                                              k, trip, seed),
                     load);
    ra_arena_free(arena);
  }
}

RaCallLoad *
ra_call_loads_new(const RaPlan *plan, uint32_t n_iterations, uint64_t seed)
{
  const RaWorkload *w = plan->workload;
  RaCallLoad *loads = g_new0(RaCallLoad, w->n_calls);

  for (uint32_t k = 0; k < n_iterations; k++) {
    RaArena *arena = ra_arena_new(0);
    g_autofree RaSequenceSet **sets = g_new0(RaSequenceSet *, w->n_calls);

    for (uint32_t i = 0; i < w->n_calls; i++) {
      uint32_t set = w->calls[i].set;
      if (w->calls[i].model == RA_NONE)
        continue;
      if (w->calls[i].each_trip) {
        add_trips(plan, i, k, seed, &loads[i]);
        continue;
      }
      if (!sets[set])
        sets[set] = ra_sequence_set_new(arena, plan, set, k, seed);
      ra_call_load_add(plan, i, sets[set], &loads[i]);
    }
    ra_arena_free(arena);
  }
  return loads;
}
