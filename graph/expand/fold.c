/* Folding: classes of twin replicas and lanes by refinement. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/partition.h"
#include "graph/expand/expand_call.h"
#include "graph/expand/fold.h"
#include "graph/input/plan_tail.h"
#include "graph/input/turns.h"

/* A call while classes are refined. */
typedef struct {
  const RaCall *c;
  const RaCallPlan *plan;
  uint32_t n_units;    /* dp x pp */
  uint32_t *unit;      /* (n_lanes) dp * pp + stage or RA_NONE */
  uint32_t *begin;     /* (n_units + 1) CSR into lane */
  uint32_t *lane;      /* lanes of each unit */
  uint32_t *colour;    /* (dp) class of the replica */
  uint32_t *weight;    /* (dp) arena: the result */
  uint32_t n_replicas; /* classes */
} Call;

typedef struct {
  RaBuilder *builder;
  const RaPlan *plan;
  const RaFoldScope *scope;
  uint32_t begin_iteration, end_iteration; /* whose sequences count */
  Call *calls; /* (n_calls) plan NULL: not in the graph */
  uint32_t n_calls;
  uint32_t n_lanes;
  uint32_t *lane_colour; /* (n_lanes) */
  uint32_t n_classes;    /* of lanes */
  uint32_t *key;         /* (lanes or replicas) scratch */
} Fold;

/* Splits the replicas of @call by fold->key. */
static void
split(Fold *fold, Call *call)
{
  call->n_replicas =
      ra_partition_refine(call->colour, fold->key, call->plan->dp);
}

static gboolean
is_split(const Call *call)
{
  return call->n_replicas == call->plan->dp;
}

/* --- (1): what replicas do --- */

/* Splits by the lengths of the sequences that replicas have of the block of
 * @n from @first on: of each its own share, in order. */
static void
split_by_block(Fold *fold, Call *call, const RaSequenceSet *set, uint32_t first,
               uint32_t n)
{
  uint32_t dp = call->plan->dp, share = n / dp;

  for (uint32_t i = 0; i < share && !is_split(call); i++) {
    for (uint32_t d = 0; d < dp; d++) {
      uint32_t at = first + d * share + i;
      fold->key[d] = (uint32_t)(set->tokens[at + 1] - set->tokens[at]);
    }
    split(fold, call);
  }
}

/* As generation reads them, in order of prompts. */
static void
split_by_responses(Fold *fold, Call *call, const RaSequenceSet *set)
{
  uint32_t dp = call->plan->dp, share = call->c->n_sequences / dp;

  for (uint32_t i = 0; i < 2 * share && !is_split(call); i++) {
    const uint32_t *length = i < share ? set->response : set->prompt;
    for (uint32_t d = 0; d < dp; d++)
      fold->key[d] = length[d * share + i % share];
    split(fold, call);
  }
}

static void
split_by_sequences(Fold *fold, Call *call)
{
  const RaWorkload *w = fold->plan->workload;
  uint32_t n_blocks = ra_call_plan_n_pieces(call->c, call->plan);
  gboolean turns = ra_turns_are_set(w);
  gboolean drawn = turns || !ra_workload_is_even(w);

  if ((call->c->kind == RA_CALL_GENERATE &&
       ra_tail_is_set(&call->plan->tail)) ||
      (call->c->each_trip && drawn) ||
      (call->c->kind == RA_CALL_GENERATE && turns)) {
    /* Moves make replicas differ, for any lengths; trips have many sets, and
     * turns have tools. */
    for (uint32_t d = 0; d < call->plan->dp; d++)
      fold->key[d] = d;
    split(fold, call);
    return;
  }
  if (!drawn && (call->c->each_trip || ra_plan_iterations_alike(fold->plan)))
    return;
  for (uint32_t k = fold->begin_iteration;
       k < fold->end_iteration && !is_split(call); k++) {
    const RaSequenceSet *set =
        ra_builder_sequences(fold->builder, call->c->set, k);
    uint32_t n = call->c->n_sequences / n_blocks;
    if (call->c->kind == RA_CALL_GENERATE)
      split_by_responses(fold, call, set);
    else
      for (uint32_t b = 0; b < n_blocks; b++)
        split_by_block(fold, call, set, b * n, n);
  }
}

/* Splits by which of the sends to the next stage cross nodes. */
static void
split_by_sends(Fold *fold, Call *call)
{
  uint32_t pp = call->plan->pp;

  for (uint32_t s = 0; s < pp && pp > 1 && !is_split(call); s++) {
    for (uint32_t d = 0; d < call->plan->dp; d++)
      fold->key[d] = (uint32_t)ra_send_crosses(call->plan, fold->plan->cluster,
                                               d, s, (s + 1) % pp);
    split(fold, call);
  }
}

/* --- (2): where they do it --- */

static int
compare_colours(const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* The set of colours of the lanes of @unit, ascending, into @out. */
static uint32_t
unit_colours(const Fold *fold, const Call *call, uint32_t unit, uint32_t *out)
{
  uint32_t n = 0, n_set = 0;

  for (uint32_t i = call->begin[unit]; i < call->begin[unit + 1]; i++)
    out[n++] = fold->lane_colour[call->lane[i]];
  if (n > 1)
    qsort(out, n, sizeof *out, compare_colours);
  for (uint32_t i = 0; i < n; i++)
    if (i == 0 || out[i] != out[n_set - 1])
      out[n_set++] = out[i];
  return n_set;
}

/* Splits the replicas by the sets of classes of lanes on stage @stage: by the
 * first of each set, by the second ... */
static void
split_by_stage(Fold *fold, Call *call, uint32_t stage, uint32_t *sets)
{
  uint32_t dp = call->plan->dp, pp = call->plan->pp, longest = 0;
  g_autofree uint32_t *n = g_new(uint32_t, dp);

  for (uint32_t d = 0; d < dp; d++) {
    uint32_t unit = d * pp + stage;
    n[d] = unit_colours(fold, call, unit, sets + call->begin[unit]);
    longest = MAX(longest, n[d]);
  }
  for (uint32_t i = 0; i < longest && !is_split(call); i++) {
    for (uint32_t d = 0; d < dp; d++)
      fold->key[d] = i < n[d] ? sets[call->begin[d * pp + stage] + i] : RA_NONE;
    split(fold, call);
  }
}

/* Splits the replicas by whom they share shards or experts with: by the colours
 * of their set of @size neighbours, sorted, each as often as it occurs. */
static void
split_by_set(Fold *fold, Call *call, uint32_t size)
{
  uint32_t dp = call->plan->dp;
  g_autofree uint32_t *sets = NULL;

  if (size == dp || size == 1 || is_split(call))
    return;
  sets = g_memdup2(call->colour, dp * sizeof *sets);
  for (uint32_t d = 0; d < dp; d += size)
    qsort(sets + d, size, sizeof *sets, compare_colours);
  for (uint32_t i = 0; i < size && !is_split(call); i++) {
    for (uint32_t d = 0; d < dp; d++)
      fold->key[d] = sets[d / size * size + i];
    split(fold, call);
  }
}

static void
split_replicas(Fold *fold, Call *call)
{
  g_autofree uint32_t *sets = NULL;

  if (is_split(call))
    return;
  sets = g_new(uint32_t, MAX(call->begin[call->n_units], 1u));
  for (uint32_t s = 0; s < call->plan->pp; s++)
    split_by_stage(fold, call, s, sets);
  split_by_set(fold, call, call->plan->zero ? call->plan->zero_group : 1);
  split_by_set(fold, call, ra_call_plan_ep_replicas(call->plan));
}

/* --- (3): lanes --- */

static void
split_lanes(Fold *fold, const Call *call)
{
  uint32_t pp = call->plan->pp;

  for (uint32_t l = 0; l < fold->n_lanes; l++) {
    uint32_t unit = call->unit[l];
    if (unit == RA_NONE)
      fold->key[l] = RA_NONE;
    else if (fold->scope->whole_calls) /* stages differ in what they hold */
      fold->key[l] = unit % pp;
    else
      fold->key[l] = call->colour[unit / pp] * pp + unit % pp;
  }
  fold->n_classes =
      ra_partition_refine(fold->lane_colour, fold->key, fold->n_lanes);
}

static uint32_t
count_classes(const Fold *fold)
{
  uint32_t n = fold->n_classes;

  for (uint32_t i = 0; i < fold->n_calls; i++)
    if (fold->calls[i].plan)
      n += fold->calls[i].n_replicas;
  return n;
}

static void
refine(Fold *fold)
{
  uint32_t before;

  do {
    before = count_classes(fold);
    for (uint32_t i = 0; i < fold->n_calls; i++)
      if (fold->calls[i].plan)
        split_lanes(fold, &fold->calls[i]);
    for (uint32_t i = 0; i < fold->n_calls && !fold->scope->whole_calls; i++)
      if (fold->calls[i].plan)
        split_replicas(fold, &fold->calls[i]);
  } while (count_classes(fold) > before);
}

/* --- all of it --- */

/* The lanes of each unit, by counting. */
static void
list_units(const Fold *fold, Call *call)
{
  uint32_t n = 0;

  call->begin = g_new0(uint32_t, (gsize)call->n_units + 1);
  for (uint32_t l = 0; l < fold->n_lanes; l++)
    if (call->unit[l] != RA_NONE) {
      call->begin[call->unit[l] + 1]++;
      n++;
    }
  for (uint32_t u = 0; u < call->n_units; u++)
    call->begin[u + 1] += call->begin[u];
  call->lane = g_new(uint32_t, MAX(n, 1u));
  for (uint32_t l = 0; l < fold->n_lanes; l++)
    if (call->unit[l] != RA_NONE)
      call->lane[call->begin[call->unit[l]]++] = l;
  for (uint32_t u = call->n_units; u > 0; u--)
    call->begin[u] = call->begin[u - 1];
  call->begin[0] = 0;
}

static void
call_init(Fold *fold, uint32_t index)
{
  Call *call = &fold->calls[index];
  const RaCallPlan *plan = &fold->plan->calls[index];

  if (!plan->set ||
      (fold->scope->only_call != RA_NONE && fold->scope->only_call != index))
    return;
  call->plan = plan;
  call->c = &fold->plan->workload->calls[index];
  call->n_units = plan->dp * plan->pp;
  call->unit = g_new(uint32_t, fold->n_lanes);
  ra_lane_map_units(ra_builder_lanes(fold->builder), index, call->unit);
  list_units(fold, call);
  call->colour = g_new0(uint32_t, plan->dp);
  call->n_replicas = 1;
  if (call->c->kind != RA_CALL_HOST && !fold->scope->whole_calls) {
    split_by_sends(fold, call);
    split_by_sequences(fold, call);
  }
}

/* The first of every class stands for all of it. */
static void
weigh_replicas(const Fold *fold, Call *call)
{
  RaArena *arena = ra_builder_arena(fold->builder);
  uint32_t dp = call->plan->dp, n_seen = 0;
  g_autofree uint32_t *first = g_new(uint32_t, call->n_replicas);

  call->weight = ra_arena_alloc(arena, dp, sizeof *call->weight);
  for (uint32_t d = 0; d < dp; d++) {
    if (call->colour[d] == n_seen)
      first[n_seen++] = d;
    call->weight[first[call->colour[d]]]++;
  }
}

static void
call_clear(Call *call)
{
  g_free(call->unit);
  g_free(call->begin);
  g_free(call->lane);
  g_free(call->colour);
}

void
ra_fold_apply(RaBuilder *builder, const RaFoldScope *scope)
{
  const RaAugmented *augmented = ra_builder_augmented(builder);
  const RaPlan *plan = augmented->plan;
  RaLaneMap *lanes = ra_builder_lanes(builder);
  Fold fold = {.builder = builder, .plan = plan, .scope = scope};
  const uint32_t **weights;
  uint32_t n_keys;

  fold.begin_iteration = scope->only_call == RA_NONE ? 0 : scope->iteration;
  fold.end_iteration = scope->only_call == RA_NONE ? augmented->n_iterations
                                                   : scope->iteration + 1;
  fold.n_calls = plan->workload->n_calls;
  fold.n_lanes = n_keys = ra_lane_map_n_lanes(lanes);
  fold.n_classes = 1;
  for (uint32_t i = 0; i < fold.n_calls; i++)
    n_keys = MAX(n_keys, plan->calls[i].set ? plan->calls[i].dp : 1);
  fold.calls = g_new0(Call, fold.n_calls);
  fold.lane_colour = g_new0(uint32_t, MAX(fold.n_lanes, 1u));
  fold.key = g_new(uint32_t, n_keys);
  for (uint32_t i = 0; i < fold.n_calls; i++)
    call_init(&fold, i);
  refine(&fold);

  weights =
      ra_arena_alloc(ra_builder_arena(builder), fold.n_calls, sizeof *weights);
  for (uint32_t i = 0; i < fold.n_calls; i++)
    if (fold.calls[i].plan && !scope->whole_calls) {
      weigh_replicas(&fold, &fold.calls[i]);
      weights[i] = fold.calls[i].weight;
    }
  ra_lane_map_fold(lanes, fold.lane_colour, fold.n_lanes ? fold.n_classes : 0,
                   weights);
  for (uint32_t i = 0; i < fold.n_calls; i++)
    call_clear(&fold.calls[i]);
  g_free(fold.calls);
  g_free(fold.lane_colour);
  g_free(fold.key);
}
