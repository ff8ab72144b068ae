/* Memory footprints of calls, and the loads that they depend on. */
#include "config.h"

#include <math.h>

#include "graph/input/plan_batching.h"
#include "graph/input/plan_tail.h"
#include "graph/input/trips.h"
#include "search/space/footprint.h"
#include "search/space/isolated_call.h"

struct _RaLoads {
  const RaWorkload *workload; /* borrowed */
  uint32_t n_all;             /* iterations */
  uint32_t n_iterations; /* those that differ whatever the plan: 1, or n_all */
  uint64_t seed;
  uint32_t *n_trips;          /* (n_iterations) owned; 0: no trips */
  uint32_t most_trips;        /* of any iteration */
  GMutex lock;                /* of: */
  GHashTable *known;          /* Key -> RaCallLoad, owned */
  RaArena *arena;             /* owns the sets */
  const RaSequenceSet **sets; /* (n_iterations, n_calls, 1 + most_trips) sampled
                                 once, by the call that makes them: what is left
                                 of all trips, and each trip; NULL: not yet;
                                 owned */
};

typedef struct {
  uint32_t call, dp, n_micro_batches, n_mini_batches;
  RaBatching batching; /* max_sequences 0: static */
  uint32_t kv_block;
  gboolean drops;       /* keys and values during tools */
  int balance, padding; /* of micro-batches */
  uint32_t padded_length;
  RaTail tail;
} Key;

static guint
key_hash(gconstpointer item)
{
  const Key *key = item;
  guint hash =
      ((key->call * 31 + key->dp) * 65599u + key->n_micro_batches) * 31 +
      key->n_mini_batches;

  return hash * 31 + (guint)key->batching.n_blocks;
}

static gboolean
same_batching(const RaBatching *a, const RaBatching *b)
{
  return a->max_sequences == b->max_sequences &&
         a->step_tokens == b->step_tokens &&
         a->block_tokens == b->block_tokens && a->n_blocks == b->n_blocks &&
         a->group == b->group && a->reserve == b->reserve;
}

static gboolean
key_equal(gconstpointer a, gconstpointer b)
{
  const Key *x = a, *y = b;

  return x->call == y->call && x->dp == y->dp &&
         x->n_micro_batches == y->n_micro_batches &&
         x->n_mini_batches == y->n_mini_batches &&
         same_batching(&x->batching, &y->batching) &&
         x->kv_block == y->kv_block && x->drops == y->drops &&
         x->balance == y->balance && x->padding == y->padding &&
         x->padded_length == y->padded_length &&
         ra_plan_same_tail(&x->tail, &y->tail);
}

RaLoads *
ra_loads_new(const RaWorkload *workload, uint32_t n_iterations, uint64_t seed)
{
  RaLoads *loads = g_new0(RaLoads, 1);

  loads->workload = workload;
  loads->n_all = n_iterations;
  loads->n_iterations =
      ra_workload_is_even(workload) && !ra_trips_are_set(workload)
          ? 1
          : n_iterations;
  loads->seed = seed;
  g_mutex_init(&loads->lock);
  loads->known = g_hash_table_new_full(key_hash, key_equal, g_free, g_free);
  loads->arena = ra_arena_new(0);
  loads->n_trips = g_new0(uint32_t, loads->n_iterations);
  for (uint32_t k = 0; k < loads->n_iterations; k++) {
    if (ra_trips_are_set(workload))
      loads->n_trips[k] = ra_trips_draw(workload, k, seed, NULL);
    loads->most_trips = MAX(loads->most_trips, loads->n_trips[k]);
  }
  loads->sets = g_new0(const RaSequenceSet *, (gsize)loads->n_iterations *
                                                  workload->n_calls *
                                                  (1 + loads->most_trips));
  return loads;
}

void
ra_loads_free(RaLoads *loads)
{
  if (!loads)
    return;
  g_hash_table_unref(loads->known);
  ra_arena_free(loads->arena);
  g_free(loads->sets);
  g_free(loads->n_trips);
  g_mutex_clear(&loads->lock);
  g_free(loads);
}

uint32_t
ra_loads_n_trips(const RaLoads *loads, uint32_t call, uint32_t k)
{
  return loads->workload->calls[call].each_trip ? loads->n_trips[k] : 1;
}

uint32_t
ra_loads_most_trips(const RaLoads *loads, uint32_t call)
{
  return loads->workload->calls[call].each_trip ? loads->most_trips : 1;
}

const RaSequenceSet *
ra_loads_set(RaLoads *loads, const RaPlan *plan, uint32_t set, uint32_t k,
             uint32_t trip)
{
  gsize at =
      (loads->n_iterations == 1 ? 0 : (gsize)k) * loads->workload->n_calls +
      set;
  const RaSequenceSet **slot;

  at = at * (1 + loads->most_trips) + (trip == RA_NONE ? 0 : 1 + trip);
  slot = &loads->sets[at];
  g_mutex_lock(&loads->lock);
  if (!*slot)
    *slot = trip == RA_NONE
                ? ra_sequence_set_new(loads->arena, plan, set, k, loads->seed)
                : ra_sequence_set_new_trip(loads->arena, plan, set, k, trip,
                                           loads->seed);
  g_mutex_unlock(&loads->lock);
  return *slot;
}

/* TRUE if its sequences and their order are those of every plan: no chunks, no
 * long tails. */
static gboolean
is_common(const RaLoads *loads, const RaPlan *plan, uint32_t call)
{
  const RaCall *calls = loads->workload->calls;
  uint32_t set = calls[call].set;

  return calls[set].n_parts == 1 && !ra_tail_is_set(&plan->calls[set].tail);
}

/* The largest load of @call in @plan. */
static RaCallLoad
new_load(RaLoads *loads, const RaPlan *plan, uint32_t call)
{
  const RaCall *c = &loads->workload->calls[call];
  RaCallLoad load = {.kv_tokens = 0};
  g_autofree RaCallLoad *all = NULL;

  if (!is_common(loads, plan, call)) {
    all = ra_call_loads_new(
        plan, ra_plan_carries(plan) ? loads->n_all : loads->n_iterations,
        loads->seed);
    return all[call];
  }
  for (uint32_t k = 0; k < loads->n_iterations; k++)
    for (uint32_t trip = 0; trip < ra_loads_n_trips(loads, call, k); trip++)
      ra_call_load_add(
          plan, call,
          ra_loads_set(loads, plan, c->set, k, c->each_trip ? trip : RA_NONE),
          &load);
  return load;
}

const RaCallLoad *
ra_loads_of(RaLoads *loads, const RaPlan *plan, uint32_t call)
{
  const RaCallPlan *p = &plan->calls[call];
  Key key = {.call = call,
             .dp = p->dp,
             .n_micro_batches = p->n_micro_batches,
             .n_mini_batches = p->n_mini_batches,
             .kv_block = p->kv_block,
             .drops = p->tool_kv_drops,
             .balance = p->balance,
             .padding = p->padding,
             .padded_length = p->padded_length,
             .tail = p->tail};
  RaCallLoad *load, made;

  if (loads->workload->calls[call].kind == RA_CALL_GENERATE)
    key.batching = ra_call_batching(plan, call);
  g_mutex_lock(&loads->lock);
  load = g_hash_table_lookup(loads->known, &key);
  g_mutex_unlock(&loads->lock);
  if (load)
    return load;
  made = new_load(loads, plan, call);
  g_mutex_lock(&loads->lock);
  load = g_hash_table_lookup(loads->known, &key);
  if (!load) {
    load = g_memdup2(&made, sizeof *load);
    g_hash_table_insert(loads->known, g_memdup2(&key, sizeof key), load);
  }
  g_mutex_unlock(&loads->lock);
  return load;
}

/* @bytes of @holder, so that their sum times one and slack is their memory. */
static uint64_t
weighed(const RaMemory *memory, uint32_t holder, uint64_t bytes)
{
  double firm = ra_memory_is_firm(memory, holder) ? (double)bytes : 0;

  return firm > 0 ? (uint64_t)ceil(ra_memory_weighed(memory, firm, firm))
                  : bytes;
}

/* As fill_most() of graph/memory/memory_table.c: a cache grows, the rest is
 * there from the begin to the end. */
static void
fill_stage(RaStageFootprint *out, const RaMemory *memory, uint32_t call,
           uint32_t stage, const RaTransients *transients, uint64_t *scratch)
{
  const RaStageMemory *s = &memory->calls[call].stages[stage];
  uint32_t n = ra_memory_n_holders(memory);

  out->bytes[RA_FOOT_PARAMS] =
      weighed(memory, ra_holder(RA_HOLD_COPY, call), s->param_bytes);
  out->bytes[RA_FOOT_GRADS] =
      weighed(memory, ra_holder(RA_HOLD_GRADS, call), s->grad_bytes);
  out->bytes[RA_FOOT_OPTIMIZER] =
      weighed(memory, ra_holder(RA_HOLD_OPTIMIZER, call), s->optimizer_bytes);
  out->bytes[RA_FOOT_PACKED] =
      weighed(memory, ra_holder(RA_HOLD_BUFFERS, call), s->packed_bytes);
  for (uint32_t h = 0; h < n; h++)
    scratch[h] = 0;
  ra_transients_add(transients, call, scratch);
  for (uint32_t h = 0; h < n; h++)
    out->bytes[h == ra_holder(RA_HOLD_KV, call) ? RA_FOOT_KV : RA_FOOT_WORK] +=
        weighed(memory, h, scratch[h]);
}

void
ra_footprint_init(RaFootprint *footprint, RaLoads *loads,
                  const RaCluster *cluster, uint32_t call,
                  const RaCallPlan *plan)
{
  g_autoptr(RaIsolatedCall) lone =
      ra_isolated_call_new(loads->workload, cluster, call, plan);
  RaMemory *memory = ra_memory_new_call(lone->plan, call);
  const RaCallLoad *load = ra_loads_of(loads, lone->plan, call);
  g_autofree uint64_t *scratch = g_new(uint64_t, ra_memory_n_holders(memory));
  g_autofree RaTransients *transients =
      ra_call_transients_new(memory, call, load);

  *footprint = (RaFootprint){.n_stages = plan->pp};
  footprint->stages = g_new0(RaStageFootprint, plan->pp);
  for (uint32_t s = 0; s < plan->pp; s++) {
    RaStageFootprint *stage = &footprint->stages[s];
    uint64_t sum = 0;

    fill_stage(stage, memory, call, s, &transients[s], scratch);
    for (guint k = 0; k < RA_N_FEET; k++) {
      footprint->most.bytes[k] = MAX(footprint->most.bytes[k], stage->bytes[k]);
      sum += k == RA_FOOT_PACKED ? 0 : stage->bytes[k];
    }
    footprint->total_bytes = MAX(footprint->total_bytes, sum);
  }
  ra_memory_free(memory);
}

void
ra_footprint_clear(RaFootprint *footprint)
{
  g_clear_pointer(&footprint->stages, g_free);
}
