/* Descents by replay: from the best plan down to where none beside it is
 * better at stage fidelity. */
#include "config.h"

#include "study/contest/contest_impl.h"

/* Plans replayed at each step down at stage fidelity, and most such steps:
 * chosen, as half of the time left bounds them where a time is given. */
#define REPLAY_NEAR 16
#define REPLAY_STEPS 8

/* --- the best of them --- */

/* The best since @first that may win and is a point of the space, if it is
 * better than @best; @best: none is. */
static uint32_t
best_since(const RaContest *contest, guint first, uint32_t best)
{
  for (guint i = first; i < contest->contenders->len; i++) {
    const RaContender *c = ra_contender(contest, i);

    if (ra_contest_may_win(contest, i) && (c->is_found || c->is_start) &&
        (best == RA_NONE ||
         ra_objective_better(&contest->objective, &c->worth,
                             &ra_contender(contest, best)->worth)))
      best = i;
  }
  return best;
}

/* The same of those that fit under every draw. */
static uint32_t
surest_since(RaContest *contest, guint first, uint32_t best,
             const RaSetup *setup, const RaContestOptions *options)
{
  uint32_t found;

  while ((found = best_since(contest, first, best)) != best &&
         !ra_contest_confirm(contest, found, setup, options))
    ;
  return found;
}

/* The best of those since @first stays, if it is better than @best. */
static gboolean
keep_better(RaContest *contest, guint first, uint32_t *best,
            const RaSetup *setup, const RaContestOptions *options)
{
  uint32_t found = surest_since(contest, first, *best, setup, options);

  if (found == *best) {
    g_array_set_size(contest->contenders, first);
    return FALSE;
  }
  if (found != first) {
    RaContender other = *ra_contender(contest, first);

    *ra_contender(contest, first) = *ra_contender(contest, found);
    *ra_contender(contest, found) = other;
  }
  g_array_set_size(contest->contenders, first + 1);
  *best = first;
  return TRUE;
}

/* Has the tables know the costs of what is beside @point, a start. */
static void
know_beside(const RaField *field, const RaPoint *point)
{
  g_autoptr(RaEvaluator) evaluator = ra_evaluator_new(field->costs);
  g_autoptr(GArray) beside = ra_space_add_beside(field->space, point);
  RaScore score;

  for (guint i = 0; i < beside->len; i++)
    ra_evaluate(evaluator, &g_array_index(beside, RaPoint, i), &score);
}

/* Half of the time that is left: the rest is for the finalists. */
static RaUntil
half_of(const RaContestOptions *options)
{
  RaUntil half = {options->stop, options->whole ? options->whole->end_us : 0};

  if (half.end_us > 0)
    half.end_us = (g_get_monotonic_time() + half.end_us) / 2;
  return half;
}

/* --- steps down --- */

/* One step from the contender @best, @point of @field, as @name; *@best is the
 * better one, if there is one. */
static gboolean
step_down(RaContest *contest, const char *name, const RaField *field,
          const RaPoint *point, const RaSetup *setup,
          const RaContestOptions *options, uint32_t *best, GError **error)
{
  guint first = contest->contenders->len;

  if (!ra_contest_enter_near(contest, name, field, point, REPLAY_NEAR, options,
                             error) ||
      !ra_contest_measure(contest, first, setup, options, error))
    return FALSE;
  if (!keep_better(contest, first, best, setup, options))
    return TRUE;
  g_free(ra_contender(contest, *best)->name);
  ra_contender(contest, *best)->name = g_strdup(name);
  return TRUE;
}

/* Has the tables know the costs of candidates that may be faster than those of
 * @point, with the others of their call. */
static void
know_faster(const RaField *field, const RaPoint *point, guint n_threads)
{
  const RaWorkload *w = field->space->workload;
  uint32_t n_like = ra_cost_table_n_like(field->costs);

  for (uint32_t c = 0; c < w->n_calls; c++) {
    uint32_t n = field->space->calls[c].n, n_faster = 0;
    uint32_t n_parts = ra_cost_table_n_parts(field->costs, c) * n_like;
    g_autofree uint32_t *faster = g_new(uint32_t, n);
    const double *own_s;
    double sum_s = 0;

    if (w->calls[c].model == RA_NONE)
      continue;
    own_s = ra_cost_table_call_s(field->costs, c, point->calls[c].candidate);
    for (uint32_t i = 0; i < n_parts; i++)
      sum_s += own_s[i];
    for (uint32_t i = 0; i < n; i++)
      if (i != point->calls[c].candidate &&
          ra_cost_table_bound_s(field->costs, c, i) < sum_s)
        faster[n_faster++] = i;
    ra_cost_table_learn(field->costs, c, faster, n_faster, n_threads);
  }
}

/* The field of the contender @best and what differs from it in the details of
 * one call, which candidates have by rule.  FALSE: it is no plan there. */
static gboolean
open_details(RaField *details, const RaField *field, const RaContender *best,
             const RaContestOptions *options, RaPoint *out_point)
{
  RaUntil over = {NULL, 1}; /* no candidates by rule */

  *details = (RaField){
      .setup = field->setup, .cluster = field->cluster, .until = over};
  if (!ra_field_open(details, options, NULL) ||
      !ra_setup_read_plan(details->setup, best->name, best->text, NULL) ||
      !ra_space_add(details->space, details->setup->plan, out_point))
    return FALSE;
  g_array_unref(ra_space_add_details(details->space, out_point));
  details->costs = ra_cost_table_new_from(
      details->space, details->setup->estimator,
      field->kept ? field->kept->store : NULL, options->n_threads, NULL);
  if (!details->costs)
    return FALSE;
  ra_cost_table_bound_rest(details->costs, options->whole, options->n_threads);
  know_faster(details, out_point, options->n_threads);
  return TRUE;
}

/* From the best to neighbours in the field or, if @fine, to details that no
 * rule chose, one call at a time. */
static gboolean
descend(RaContest *contest, const RaField *field, gboolean fine,
        const RaSetup *setup, const RaContestOptions *options, uint32_t *best,
        GError **error)
{
  uint32_t last = RA_NONE;

  for (guint step = 1; *best != last && step <= REPLAY_STEPS; step++) {
    g_autofree char *name =
        g_strdup_printf(fine ? "search-fine.%u" : "search-down.%u", step);
    g_auto(RaField) details = {NULL};
    RaPoint point = ra_contender(contest, *best)->point;

    last = *best;
    if (ra_until_is_over(options->whole) ||
        (fine && !open_details(&details, field, ra_contender(contest, *best),
                               options, &point)))
      return TRUE;
    if (!fine && ra_contender(contest, *best)->is_start && !field->says)
      know_beside(field, &point);
    if (!step_down(contest, name, fine ? &details : field, &point, setup,
                   options, best, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
ra_contest_descend(RaContest *contest, const RaField *field,
                   const RaSetup *setup, const RaContestOptions *options,
                   GError **error)
{
  RaUntil half = half_of(options);
  RaContestOptions timed = *options;
  uint32_t best;

  if (options->n_near == 0)
    return TRUE;
  timed.whole = &half;
  best = surest_since(contest, 0, RA_NONE, setup, &timed);
  if (best == RA_NONE)
    return TRUE;
  if (!descend(contest, field, FALSE, setup, &timed, &best, error))
    return FALSE;
  if (options->kind != RA_SPACE_COMMON || options->prove_s > 0 ||
      contest->limited || field->says)
    return TRUE;
  half = half_of(options);
  return descend(contest, field, TRUE, setup, &timed, &best, error);
}
