/* Exact search: descents from random points, and the certificate. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/exact_impl.h"

double
ra_exact_elapsed_s(const RaExact *s)
{
  return (double)(g_get_monotonic_time() - s->begin_us) * 1e-6;
}

/* --- the best so far --- */

void
ra_exact_take(RaExact *s, const RaPoint *point, const RaScore *score)
{
  RaExactResult *r = s->result;

  s->result->n_scored++;
  if (score->over_bytes > 0 || (r->found && score->run_s >= r->score.run_s))
    return;
  r->found = TRUE;
  r->point = *point;
  r->score = *score;
}

double
ra_exact_limit_s(const RaExact *s)
{
  return s->result->found ? s->result->score.run_s * (1 - s->options->gap_frac)
                          : (double)INFINITY;
}

static RaChoice
random_choice(RaExact *s, uint32_t call)
{
  const RaSpaceCall *c = &s->space->calls[call];
  RaChoice choice = {(uint32_t)ra_rng_below(&s->rng, c->n), 0};

  choice.position = (uint32_t)ra_rng_below(
      &s->rng, c->candidates[choice.candidate].n_positions);
  return choice;
}

/* From @point by the first of random changes of one call that helps, until
 * many did not. */
static void
descend(RaExact *s, RaPoint *point)
{
  enum { BASE = RA_LANES - 1, N_TRIES = 600 };
  RaEvaluator *e = s->evaluator;
  RaScore scores[RA_LANES];
  double best_s, bounds[RA_LANES];

  ra_evaluator_set(e, BASE, point);
  ra_evaluator_spread(e, BASE);
  ra_evaluator_run(e, 1, scores);
  ra_exact_take(s, point, &scores[0]);
  best_s = ra_evaluator_penalised_s(e, &scores[0]);
  for (guint tries = 0; tries < N_TRIES; tries++) {
    gboolean any = FALSE;

    ra_evaluator_spread(e, BASE);
    for (guint lane = 0; lane < BASE; lane++) {
      uint32_t call = s->order[ra_rng_below(&s->rng, s->n_order)];
      ra_evaluator_move(e, lane, call, random_choice(s, call));
    }
    ra_evaluator_bound(e, BASE, bounds);
    for (guint lane = 0; lane < BASE; lane++)
      any |= bounds[lane] < best_s;
    if (!any)
      continue;
    ra_evaluator_run(e, BASE, scores);
    for (guint lane = 0; lane < BASE; lane++) {
      ra_exact_take(s, ra_evaluator_point(e, lane), &scores[lane]);
      if (ra_evaluator_penalised_s(e, &scores[lane]) >= best_s)
        continue;
      best_s = ra_evaluator_penalised_s(e, &scores[lane]);
      ra_evaluator_copy(e, BASE, lane);
      tries = 0;
    }
  }
}

static void
fill_residency(const RaExact *s, RaPoint *point)
{
  for (guint m = 0; s->options->residency && m < s->space->workload->n_models;
       m++)
    point->residency[m] = s->options->residency[m];
}

static void
find_start(RaExact *s)
{
  for (guint i = 0; i < s->options->n_starts; i++) {
    RaPoint point = s->options->starts[i];
    if (ra_space_check(s->space, &point))
      descend(s, &point);
  }
  for (guint i = 0; i < s->options->n_descents; i++) {
    RaPoint point = {.residency = {0}};
    fill_residency(s, &point);
    for (uint32_t c = 0; c < s->n_calls; c++)
      point.calls[c] = random_choice(s, c);
    descend(s, &point);
  }
}

/* --- all of it --- */

/* Calls with a model, the longest first. */
static void
order_calls(RaExact *s)
{
  const RaWorkload *w = s->space->workload;
  double longest_s[RA_POINT_MAX] = {0};

  for (uint32_t c = 0; c < s->n_calls; c++) {
    longest_s[c] = (double)INFINITY;
    for (uint32_t i = 0; i < s->space->calls[c].n; i++) {
      double t = ra_cost_table_least_s(s->costs, c, i);
      longest_s[c] = MIN(longest_s[c], t);
    }
    if (w->calls[c].model == RA_NONE)
      continue;
    s->order[s->n_order++] = c;
    for (uint32_t i = s->n_order - 1;
         i > 0 && longest_s[s->order[i]] > longest_s[s->order[i - 1]]; i--) {
      uint32_t swap = s->order[i];
      s->order[i] = s->order[i - 1];
      s->order[i - 1] = swap;
    }
  }
}

void
ra_exact_search(RaCostTable *costs, const RaExactOptions *options,
                RaExactResult *out_result)
{
  RaExact s = {.costs = costs,
               .space = ra_cost_table_space(costs),
               .options = options,
               .result = out_result,
               .open_s = (double)INFINITY};
  RaPoint root = {.residency = {0}};

  memset(out_result, 0, sizeof *out_result);
  s.n_calls = s.space->workload->n_calls;
  s.begin_us = g_get_monotonic_time();
  s.rng = ra_rng_init(options->seed, 0);
  s.evaluator = ra_evaluator_new(costs);
  order_calls(&s);
  find_start(&s);
  fill_residency(&s, &root);
  for (uint32_t i = 0; i < s.n_order; i++)
    root.calls[s.order[i]].candidate = RA_NONE;
  if (s.n_order > 0)
    ra_exact_explore(&s, &root);
  if (out_result->found && !out_result->score.is_exact) {
    ra_evaluator_set(s.evaluator, 0, &out_result->point);
    ra_evaluator_run(s.evaluator, 1, &out_result->score);
    ra_evaluator_exact_peak(s.evaluator, 0, &out_result->score);
  }
  out_result->bound_s = MIN(s.open_s, ra_exact_limit_s(&s));
  out_result->is_proven = !(s.open_s < ra_exact_limit_s(&s));
  out_result->seconds = ra_exact_elapsed_s(&s);
  ra_evaluator_free(s.evaluator);
}
