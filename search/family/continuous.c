/* Shapes of generation with continuous batching. */
#include "config.h"

#include "graph/input/plan_batching.h"
#include "graph/input/turns.h"
#include "search/family/continuous.h"

/* The call of a plan of nothing else, for what is asked of plans. */
typedef struct {
  RaPlan plan;
  RaCallPlan *calls; /* (n_calls) owned */
} Lone;

static void
lone_init(Lone *lone, const RaWorkload *workload, const RaCluster *cluster,
          uint32_t call, const RaCallPlan *plan)
{
  lone->calls = g_new0(RaCallPlan, workload->n_calls);
  lone->calls[call] = *plan;
  lone->plan =
      (RaPlan){.workload = workload, .cluster = cluster, .calls = lone->calls};
}

static uint64_t
round_up(double bytes)
{
  return ((uint64_t)bytes / RA_SERVING_STEP_BYTES + 1) * RA_SERVING_STEP_BYTES;
}

/* Bytes of @n sequences of @prompt and @response tokens. */
static uint64_t
bytes_of(const Lone *lone, uint32_t call, double n, uint64_t prompt,
         uint64_t response)
{
  RaBatching batching = {.block_tokens = RA_BATCHING_KV_BLOCK,
                         .state_blocks =
                             ra_call_state_blocks(&lone->plan, call)};

  return round_up(n * (double)ra_batching_blocks(&batching, prompt, response) *
                  (double)ra_call_kv_block_bytes(&lone->plan, call));
}

static uint64_t
whole_bytes(const Lone *lone, uint32_t call)
{
  const RaWorkload *w = lone->plan.workload;
  const RaCallPlan *p = &lone->calls[call];

  return bytes_of(lone, call, w->calls[call].n_sequences / p->dp,
                  (uint64_t)ra_length_mean(&w->prompt_length) + 1,
                  (uint64_t)ra_turns_mean_tokens(w) + 1);
}

/* Every micro-batch has a scheduler that needs room for the longest. */
static uint64_t
least_bytes(const Lone *lone, uint32_t call)
{
  const RaWorkload *w = lone->plan.workload;

  return bytes_of(lone, call, lone->calls[call].n_micro_batches,
                  w->prompt_length.max_tokens, ra_turns_max_tokens(w));
}

void
ra_continuous_set(RaCallPlan *plan, uint32_t n_sequences)
{
  uint32_t share = n_sequences / plan->dp;

  plan->batching = RA_BATCHING_CONTINUOUS;
  plan->prefill_tokens = RA_BATCHING_PREFILL_TOKENS;
  plan->max_sequences =
      MAX(MIN(share, RA_BATCHING_PREFILL_TOKENS), plan->n_micro_batches);
  plan->kv_block = RA_BATCHING_KV_BLOCK;
}

void
ra_continuous_add(GArray *shapes, const RaWorkload *workload,
                  const RaCluster *cluster, uint32_t call, const RaShape *shape)
{
  RaShape served = *shape;
  uint64_t most, least;
  Lone lone;

  if (shape->plan.zero != 0)
    return;
  ra_continuous_set(&served.plan, workload->calls[call].n_sequences);
  lone_init(&lone, workload, cluster, call, &served.plan);
  most = whole_bytes(&lone, call);
  least = least_bytes(&lone, call);
  for (uint64_t bytes = MAX(most, least);; bytes /= 2) {
    served.plan.kv_memory_bytes = round_up((double)MAX(bytes, least));
    served.need = ra_need_call(workload, call, &served.plan);
    if ((double)served.plan.kv_memory_bytes < cluster->device.memory_bytes)
      ra_shapes_add(shapes, &served);
    if (bytes <= least)
      break;
  }
  g_free(lone.calls);
}

void
ra_continuous_clear(RaCallPlan *plan)
{
  plan->batching = RA_BATCHING_STATIC;
  plan->prefill_tokens = plan->max_sequences = plan->kv_block = 0;
  plan->kv_memory_bytes = 0;
}

RaContinuousRoom
ra_continuous_room(const RaWorkload *workload, const RaCluster *cluster,
                   uint32_t call, const RaCallPlan *plan)
{
  RaContinuousRoom room;
  Lone lone;

  lone_init(&lone, workload, cluster, call, plan);
  room = (RaContinuousRoom){whole_bytes(&lone, call), least_bytes(&lone, call)};
  g_free(lone.calls);
  return room;
}

uint64_t
ra_continuous_whole_bytes(const RaWorkload *workload, const RaCluster *cluster,
                          uint32_t call, const RaCallPlan *plan)
{
  uint64_t bytes;
  Lone lone;

  lone_init(&lone, workload, cluster, call, plan);
  bytes = whole_bytes(&lone, call);
  g_free(lone.calls);
  return bytes;
}

double
ra_continuous_slowdown(const RaWorkload *workload, const RaCluster *cluster,
                       uint32_t call, const RaShape *shape)
{
  double whole =
      (double)ra_continuous_whole_bytes(workload, cluster, call, &shape->plan);
  double part = MIN((double)shape->plan.kv_memory_bytes / whole, 1);
  double weights = shape->need.held_bytes;

  return (weights / part + whole / 2) / (weights + whole / 2);
}
