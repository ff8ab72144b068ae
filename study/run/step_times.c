/* Seconds of the phases of an RL step. */
#include "config.h"

#include <math.h>

#include "sim/breakdown.h"
#include "study/replay.h"
#include "study/run/step_times.h"

const char *const ra_step_phase_names[] = {
    "generate", "reward", "log-probs", "reference", "values",
    "critic",   "update", "sync",      "step",      NULL};

/* Phase of @call of @workload. */
static RaStepPhase
phase_of(const RaWorkload *workload, const RaCall *call)
{
  const RaWorkloadModel *m =
      call->model == RA_NONE ? NULL : &workload->models[call->model];
  gboolean is_value = m && m->head == RA_HEAD_VALUE;

  switch (call->kind) {
  case RA_CALL_GENERATE:
    return RA_STEP_GENERATE;
  case RA_CALL_TRAIN:
    return is_value ? RA_STEP_CRITIC : RA_STEP_UPDATE;
  case RA_CALL_INFERENCE:
    if (m->trainable)
      return is_value ? RA_STEP_VALUES : RA_STEP_LOGPROB;
    return is_value ? RA_STEP_REWARD : RA_STEP_REFERENCE;
  default:
    return RA_STEP_REWARD;
  }
}

/* Wall time of the phases; the sum of what a synchronous step runs in turn. */
static double
add_walls(const RaSetup *setup, const RaBreakdown *breakdown, RaStepTimes *out)
{
  double sum_s = 0;

  for (guint i = 0; i < breakdown->n_calls; i++) {
    const RaCallShare *share = &breakdown->calls[i];
    const RaCall *call = &setup->workload->calls[share->call];

    out->s[phase_of(setup->workload, call)] += share->wall_s;
    sum_s += share->wall_s;
  }
  return sum_s;
}

/* Time of the copies from host memory of @iteration, which no phase has
 * (NeMo-RL's "training_prep", slime's "wake_up"), one after another. */
static double
reloads_s(const RaReplay *replay, uint32_t iteration)
{
  const RaTaskGraph *g = replay->graph;
  const RaSimResult *result = ra_sim_result(replay->sim);
  double sum_s = 0;

  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    const RaNode *node = &g->augmented->nodes[g->node[t]];

    if (node->kind == RA_NODE_RELOAD && node->iteration == iteration)
      sum_s += result->end_s[t] - result->begin_s[t];
  }
  return sum_s;
}

gboolean
ra_step_times(const RaSetup *setup, RaStepTimes *out_times, RaDoubt *doubt,
              GError **error)
{
  uint32_t lag = 0, n;
  RaReplayOptions options = {.fidelity = RA_FIDELITY_STAGE};
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;
  RaStepTimes times = {.s = {0}};
  double sum_s;

  for (guint i = 0; i < setup->workload->n_calls; i++) {
    const RaCall *call = &setup->workload->calls[i];

    lag =
        MAX(lag, call->staleness * MAX(1, setup->plan->calls[i].sync_interval));
  }
  n = options.n_iterations = lag > 0 ? 4 * (lag + 1) : 2;
  replay = ra_replay_new(setup, &options, error);
  if (!replay)
    return FALSE;
  breakdown = ra_breakdown_new(replay->sim, replay->graph);
  sum_s = add_walls(setup, breakdown, &times);
  times.s[RA_STEP_TOTAL] = breakdown->iteration_s;
  if (lag > 0) {
    const double *end_s = ra_sim_result(replay->sim)->iteration_end_s;

    times.s[RA_STEP_TOTAL] = (end_s[n - 1] - end_s[n / 2 - 1]) / (n / 2);
    times.s[RA_STEP_SYNC] = breakdown->realloc_gpu_s / breakdown->n_gpus;
  } else {
    sum_s += reloads_s(replay, n - 1);
    times.s[RA_STEP_SYNC] = fmax(0, breakdown->iteration_s - sum_s);
  }
  *out_times = times;
  if (doubt)
    ra_doubt_take(setup, replay, breakdown, doubt);
  return TRUE;
}
