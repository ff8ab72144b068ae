/* Objectives: the value of a plan. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "study/objective.h"

const char *const ra_objective_names[] = {
    "time", "tokens-per-gpu", "cost", "gpus", "regret", "p95", NULL};

gboolean
ra_objective_is_time(const RaObjective *objective)
{
  return objective->kind == RA_OBJECTIVE_TIME ||
         objective->kind == RA_OBJECTIVE_REGRET ||
         objective->kind == RA_OBJECTIVE_P95;
}

double
ra_objective_value(const RaObjective *objective, const RaWorth *worth)
{
  double value = (double)NAN;

  if (objective->within_s > 0 && !(worth->iteration_s <= objective->within_s))
    return (double)INFINITY;
  switch ((RaObjectiveKind)objective->kind) {
  case RA_OBJECTIVE_TIME:
  case RA_OBJECTIVE_REGRET:
  case RA_OBJECTIVE_P95:
    value = worth->iteration_s;
    break;
  case RA_OBJECTIVE_TOKENS_PER_GPU:
    value = worth->n_gpus / worth->tokens_per_s;
    break;
  case RA_OBJECTIVE_COST:
    value = worth->usd;
    break;
  case RA_OBJECTIVE_GPUS:
    value = worth->n_gpus;
    break;
  case RA_N_OBJECTIVES:
    g_return_val_if_reached((double)INFINITY);
  }
  return isfinite(value) ? value : (double)INFINITY;
}

gboolean
ra_objective_better(const RaObjective *objective, const RaWorth *a,
                    const RaWorth *b)
{
  double value_a = ra_objective_value(objective, a);
  double value_b = ra_objective_value(objective, b);

  if (value_a < value_b || value_b < value_a)
    return value_a < value_b;
  return a->iteration_s < b->iteration_s;
}

gboolean
ra_objective_check(const RaObjective *objective, double usd_per_gpu_h,
                   const char *cluster, GError **error)
{
  if (objective->kind == RA_OBJECTIVE_COST && !(usd_per_gpu_h > 0)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--objective=cost: %s has no price, expected a key 'price' "
                "there or --set 'cluster.price=2.5 USD/gpu/h'",
                cluster);
    return FALSE;
  }
  if (objective->kind == RA_OBJECTIVE_GPUS && !(objective->within_s > 0)) {
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "--objective=gpus: missing time limit, expected --within=SECONDS");
    return FALSE;
  }
  return TRUE;
}

char *
ra_objective_say(const RaObjective *objective, const RaWorth *worth)
{
  switch ((RaObjectiveKind)objective->kind) {
  case RA_OBJECTIVE_TOKENS_PER_GPU:
    return g_strdup_printf("%.4g tokens/s per GPU",
                           worth->tokens_per_s / worth->n_gpus);
  case RA_OBJECTIVE_COST:
    return g_strdup_printf("%.4g USD per iteration", worth->usd);
  case RA_OBJECTIVE_GPUS:
    return g_strdup_printf("%" PRIu32 " GPUs", worth->n_gpus);
  case RA_OBJECTIVE_P95:
    return g_strdup_printf("%.4g s in 95 %% of the samples",
                           worth->iteration_s);
  case RA_OBJECTIVE_TIME:
  case RA_OBJECTIVE_REGRET:
  case RA_N_OBJECTIVES:
    break;
  }
  return g_strdup_printf("%.4g s per iteration", worth->iteration_s);
}
