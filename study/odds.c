/* Odds of plans over the worlds that the model's errors allow. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "estimator/robust.h"
#include "sim/breakdown.h"
#include "study/odds.h"

#define P95 0.95
#define N_ITERATIONS 3 /* the second is steady */

/* 97.5 % quantile of the normal law. */
#define TWO_SIDED_95 1.9599639845400542

/* --- one run --- */

/* How many different layouts the calls of @plan have. */
static guint
count_layouts(const RaPlan *plan)
{
  guint n = 0;

  for (guint c = 0; c < plan->workload->n_calls; c++) {
    gboolean is_new = plan->workload->calls[c].kind != RA_CALL_HOST;

    for (guint k = 0; k < c && is_new; k++)
      is_new = plan->workload->calls[k].kind == RA_CALL_HOST ||
               !ra_call_plan_same_layout(&plan->calls[k], &plan->calls[c]);
    n += is_new;
  }
  return n;
}

static guint
count_reallocs(const RaAugmented *augmented)
{
  guint n = 0;

  for (uint32_t i = 0; i < augmented->n_nodes; i++)
    n += augmented->nodes[i].kind == RA_NODE_REALLOC &&
         augmented->nodes[i].iteration == 0;
  return n;
}

void
ra_doubt_clear(RaDoubt *doubt)
{
  g_clear_pointer(&doubt->parts, g_array_unref);
}

void
ra_doubt_take(const RaSetup *setup, const RaReplay *run,
              const RaBreakdown *breakdown, RaDoubt *doubt)
{
  ra_doubt_clear(doubt);
  ra_model_error(setup, run->estimator, run->graph, run->sim, &doubt->error);
  doubt->parts = ra_model_error_parts(setup->plan, breakdown);
  doubt->n_layouts = count_layouts(setup->plan);
  doubt->n_reallocs = count_reallocs(run->augmented);
}

gboolean
ra_doubt_is_known(const RaDoubt *doubt)
{
  return doubt->parts && isfinite(doubt->error.frac);
}

/* --- worlds --- */

static double
value_in(const RaOddsPlan *plan, uint64_t seed, guint world)
{
  const RaDoubt *doubt = plan->doubt;
  double e = ra_model_error_draw(
      &doubt->error, (const RaErrorPart *)(void *)doubt->parts->data,
      doubt->parts->len, seed, world);

  return plan->value * ra_exp(RA_ERROR_SIGMA * e);
}

void
ra_odds_draw(const RaOddsPlan *plans, guint n, uint64_t seed, RaOdds *out_odds)
{
  g_autofree double *values = g_new(double, n);
  g_autofree double *regrets = g_new(double, (gsize)n *RA_ODDS_WORLDS);

  for (guint i = 0; i < n; i++)
    out_odds[i] = (RaOdds){.n_best = 0};
  for (guint world = 0; world < RA_ODDS_WORLDS; world++) {
    guint best = 0;

    for (guint i = 0; i < n; i++) {
      values[i] = value_in(&plans[i], seed, world);
      if (values[i] < values[best])
        best = i;
    }
    out_odds[best].n_best++;
    for (guint i = 0; i < n; i++) {
      double regret = values[i] / values[best] - 1;

      regrets[i * RA_ODDS_WORLDS + world] = regret;
      out_odds[i].regret_frac += regret / RA_ODDS_WORLDS;
    }
  }
  for (guint i = 0; i < n; i++)
    out_odds[i].regret_p95_frac =
        ra_robust_quantile(regrets + i * RA_ODDS_WORLDS, RA_ODDS_WORLDS, P95);
}

guint
ra_odds_wins(const RaOddsPlan *a, const RaOddsPlan *b, uint64_t seed)
{
  guint n = 0;

  for (guint world = 0; world < RA_ODDS_WORLDS; world++)
    n += value_in(a, seed, world) < value_in(b, seed, world);
  return n;
}

gboolean
ra_odds_tell_apart(guint n_wins)
{
  return fabs(n_wins - RA_ODDS_WORLDS / 2.0) >
         TWO_SIDED_95 * sqrt(RA_ODDS_WORLDS) / 2;
}

/* --- two plans --- */

/* The time of @text and what may be wrong with it. */
static gboolean
replay(RaSetup *setup, const char *text, const RaReplayOptions *options,
       double *out_s, RaDoubt *doubt, GError **error)
{
  g_autoptr(RaReplay) run = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;

  if (!ra_setup_read_plan(setup, "the plan", text, error))
    return FALSE;
  run = ra_replay_new(setup, options, error);
  if (!run)
    return FALSE;
  breakdown = ra_breakdown_new(run->sim, run->graph);
  ra_doubt_take(setup, run, breakdown, doubt);
  *out_s = breakdown->iteration_s;
  return TRUE;
}

gboolean
ra_odds_risk(RaSetup *setup, const char *now, const char *then, uint64_t seed,
             const RaUntil *until, double *out_frac, GError **error)
{
  RaReplayOptions options = {.n_iterations = N_ITERATIONS,
                             .fidelity = RA_FIDELITY_STAGE,
                             .seed = seed,
                             .until = until};
  g_auto(RaDoubt) before = {.parts = NULL};
  g_auto(RaDoubt) after = {.parts = NULL};
  RaOddsPlan a = {.doubt = &before}, b = {.doubt = &after};

  if (!replay(setup, now, &options, &a.value, &before, error) ||
      !replay(setup, then, &options, &b.value, &after, error))
    return FALSE;
  *out_frac = ra_doubt_is_known(&before) && ra_doubt_is_known(&after)
                  ? (double)ra_odds_wins(&a, &b, seed) / RA_ODDS_WORLDS
                  : (double)NAN;
  return TRUE;
}
