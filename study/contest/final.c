/* Final of a contest: replays under several seeds, and the winner. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/jobs.h"
#include "estimator/robust.h"
#include "sim/breakdown.h"
#include "study/contest/final.h"
#include "study/memory_verdict.h"

/* Times that differ by less are the same plan, or as good. */
#define SAME_FRAC 1e-9
#define FAMILIES 2
#define DRAWS_P95 20 /* the least of which one in twenty is above */
#define P95 0.95

static RaFinalist *
at(const RaFinal *final, uint32_t i)
{
  return &g_array_index(final->finalists, RaFinalist, i);
}

static void
finalist_clear(gpointer data)
{
  RaFinalist *f = data;

  g_free(f->draws);
}

const RaSize *
ra_finalist_size(const RaFinal *final, uint32_t i)
{
  return &g_array_index(final->sizing->sizes, RaSize, at(final, i)->size);
}

const RaContender *
ra_finalist_contender(const RaFinal *final, uint32_t i)
{
  return &g_array_index(ra_finalist_size(final, i)->contest->contenders,
                        RaContender, at(final, i)->contender);
}

/* --- who is in it --- */

static gboolean
is_same(const RaWorth *a, const RaWorth *b)
{
  return a->n_gpus == b->n_gpus &&
         fabs(a->iteration_s - b->iteration_s) <= b->iteration_s * SAME_FRAC;
}

/* Enters the best that may win and is not like one who is in; @families: of
 * those alone.  FALSE: there is none. */
static gboolean
enter_best(RaFinal *final, gboolean families)
{
  const RaWorth *best = NULL;
  RaFinalist one = {.size = RA_NONE};

  for (guint s = 0; s < final->sizing->sizes->len; s++) {
    const RaSize *size = &g_array_index(final->sizing->sizes, RaSize, s);

    for (guint i = 0; size->contest && i < size->contest->contenders->len;
         i++) {
      const RaContender *c =
          &g_array_index(size->contest->contenders, RaContender, i);
      gboolean is_new =
          ra_contest_may_win(size->contest, i) && !(families && c->is_found);

      for (guint k = 0; is_new && k < final->finalists->len; k++)
        is_new = !is_same(&ra_finalist_contender(final, k)->worth, &c->worth);
      if (!is_new ||
          (best && !ra_objective_better(&final->objective, &c->worth, best)))
        continue;
      best = &c->worth;
      one = (RaFinalist){.size = s, .contender = i, .name = c->name};
    }
  }
  if (best)
    g_array_append_val(final->finalists, one);
  return best != NULL;
}

static guint
n_families(const RaFinal *final)
{
  guint n = 0;

  for (guint i = 0; i < final->finalists->len; i++)
    n += !ra_finalist_contender(final, i)->is_found;
  return n;
}

/* The best few, with families among them. */
static void
enter_all(RaFinal *final, const RaFinalOptions *options)
{
  guint n_top = ra_until_is_over(&options->until) ? 1 : options->n_top;

  while (final->finalists->len < n_top && enter_best(final, FALSE))
    ;
  while (n_top > 1 && n_families(final) < FAMILIES && enter_best(final, TRUE))
    ;
}

static gboolean
is_drawn(const RaSetup *setup)
{
  return setup->workload->prompt_length.kind != RA_LENGTH_FIXED ||
         setup->workload->response_length.kind != RA_LENGTH_FIXED ||
         ra_cluster_ranks_differ(setup->cluster);
}

/* --- replays --- */

typedef struct {
  const RaFinal *final;
  const RaFinalOptions *options;
  gdouble *peak_bytes; /* (draws, finalists) */
  gboolean *fits;      /* the same */
  guint *n_done;       /* (draws) finalists replayed */
  GMutex mutex;        /* of: */
  GError *error;       /* the first */
} Field;

/* One finalist under one draw: a setup that shares all but the plan. */
static gboolean
replay(Field *field, guint f, guint draw, GError **error)
{
  RaFinalist *finalist = at(field->final, f);
  const RaContender *c = ra_finalist_contender(field->final, f);
  RaSetup setup = *ra_finalist_size(field->final, f)->setup;
  RaReplayOptions options = {.n_iterations = field->options->n_iterations,
                             .fidelity = RA_FIDELITY_OP,
                             .seed = field->options->seed + draw,
                             .until = &field->options->until};
  g_autoptr(RaReplay) run = NULL;
  guint cell = draw * field->final->finalists->len + f;
  gboolean ok;

  setup.plan = NULL;
  setup.plan_path = NULL;
  ok = ra_setup_read_plan(&setup, c->name, c->text, error);
  run = ok ? ra_replay_new(&setup, &options, error) : NULL;
  if (run) {
    g_autoptr(RaBreakdown) b = ra_breakdown_new(run->sim, run->graph);
    g_autoptr(RaMemoryVerdict) fit = ra_memory_verdict_new(&setup, NULL, run);

    finalist->draws[draw] =
        (RaWorth){b->iteration_s, b->tokens_per_s, b->usd, b->n_gpus};
    field->peak_bytes[cell] = fit->peak_bytes;
    field->fits[cell] = fit->fits;
  }
  ok = run != NULL;
  g_clear_pointer(&run, ra_replay_free); /* before its plan */
  ra_plan_free(setup.plan);
  g_free(setup.plan_path);
  return ok;
}

static void
run_job(guint i, guint thread, gpointer data)
{
  Field *field = data;
  GError *error = NULL;
  guint n = field->final->finalists->len, draw = i / n;
  gboolean ok;

  (void)thread;
  ok = replay(field, i % n, draw, &error);
  if (!ok && ra_until_is_over(&field->options->until) &&
      g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE)) {
    g_error_free(error);
    return;
  }
  g_mutex_lock(&field->mutex);
  field->n_done[draw] += ok;
  if (ok)
    ;
  else if (field->error)
    g_error_free(error);
  else
    field->error = error;
  g_mutex_unlock(&field->mutex);
}

/* The figures of the contest, as nothing else is known. */
static void
take_contest(RaFinal *final, Field *field)
{
  final->is_stage = TRUE;
  final->n_draws = 1;
  for (guint i = 0; i < final->finalists->len; i++) {
    const RaContender *c = ra_finalist_contender(final, i);

    at(final, i)->draws[0] = c->worth;
    field->peak_bytes[i] = c->peak_bytes;
    field->fits[i] = c->fits;
  }
}

static gboolean
replay_all(RaFinal *final, Field *field, GError **error)
{
  guint n = final->finalists->len * final->n_draws;
  g_autofree guint *n_done = field->n_done = g_new0(guint, final->n_draws);
  g_autoptr(GPtrArray) kept =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_forks_drop);

  for (guint i = 0; i < final->finalists->len; i++)
    g_ptr_array_add(kept, ra_estimator_keep_forks(
                              ra_finalist_size(final, i)->setup->estimator));
  g_mutex_init(&field->mutex);
  ra_jobs_run(n, field->options->n_threads, run_job, field);
  g_mutex_clear(&field->mutex);
  field->n_done = NULL;
  if (!field->error) {
    guint n_whole = 0;

    while (n_whole < final->n_draws && n_done[n_whole] == final->finalists->len)
      n_whole++;
    final->n_draws = n_whole;
    if (n_whole == 0)
      take_contest(final, field);
    return TRUE;
  }
  g_propagate_error(error, field->error);
  return FALSE;
}

/* --- what came of it --- */

static double
deviation(double sum, double squares, guint n)
{
  double variance = n > 1 ? (squares - sum * sum / n) / (n - 1) : 0;

  return sqrt(MAX(variance, 0));
}

static void
sum_up(const RaFinal *final, const Field *field, guint i)
{
  RaFinalist *f = at(final, i);
  g_autofree double *times_s = g_new(double, final->n_draws);
  double sum_s = 0, squares_s = 0, tokens = 0;
  guint n = final->n_draws;

  f->mean = f->draws[0];
  f->mean.usd = 0;
  for (guint d = 0; d < n; d++) {
    const RaWorth *w = &f->draws[d];

    times_s[d] = w->iteration_s;
    sum_s += w->iteration_s;
    squares_s += w->iteration_s * w->iteration_s;
    tokens += w->tokens_per_s * w->iteration_s;
    f->mean.usd += w->usd / n;
    f->peak_bytes =
        MAX(f->peak_bytes, field->peak_bytes[d * final->finalists->len + i]);
    f->n_fits += field->fits[d * final->finalists->len + i] ? 1 : 0;
  }
  f->mean.iteration_s = sum_s / n;
  f->mean.tokens_per_s = tokens / sum_s;
  f->deviation_s = deviation(sum_s, squares_s, n);
  f->p95_s = n > 1 ? ra_robust_quantile(times_s, n, P95) : f->mean.iteration_s;
}

RaWorth
ra_finalist_worth(const RaFinal *final, uint32_t i)
{
  RaWorth worth = at(final, i)->mean;

  if (final->objective.kind == RA_OBJECTIVE_P95)
    worth.iteration_s = at(final, i)->p95_s;
  return worth;
}

static gboolean
may_win(const RaFinal *final, guint i)
{
  const RaFinalist *f = at(final, i);

  RaWorth worth = ra_finalist_worth(final, i);

  return f->n_fits == final->n_draws &&
         isfinite(ra_objective_value(&final->objective, &worth));
}

static gboolean
is_better(const RaFinal *final, uint32_t i, uint32_t k)
{
  double a = at(final, i)->odds.regret_frac, b = at(final, k)->odds.regret_frac;
  RaWorth worth = ra_finalist_worth(final, i);
  RaWorth other = ra_finalist_worth(final, k);

  if (final->objective.kind == RA_OBJECTIVE_REGRET && final->has_odds && a != b)
    return a < b;
  return ra_objective_better(&final->objective, &worth, &other);
}

/* The best that may win, @but and (@families) what was found left out. */
static uint32_t
best_but(const RaFinal *final, uint32_t but, gboolean families)
{
  uint32_t best = RA_NONE;

  for (guint i = 0; i < final->finalists->len; i++)
    if (i != but && may_win(final, i) &&
        !(families && ra_finalist_contender(final, i)->is_found) &&
        (best == RA_NONE || is_better(final, i, best)))
      best = i;
  return best;
}

/* Relative lead of @a over @b; with equally many GPUs it is the time. */
static double
lead_of(int kind, const RaWorth *a, const RaWorth *b)
{
  gboolean by_time = kind == RA_OBJECTIVE_GPUS && a->n_gpus == b->n_gpus;
  RaObjective plain = {.kind = by_time ? RA_OBJECTIVE_TIME : kind};

  return 1 - ra_objective_value(&plain, a) / ra_objective_value(&plain, b);
}

/* By how much the winner is ahead of @f, draw by draw. */
static void
measure_lead(const RaFinal *final, RaFinalist *f)
{
  double sum = 0, squares = 0;

  for (guint d = 0; d < final->n_draws; d++) {
    double ahead = lead_of(final->objective.kind,
                           &at(final, final->winner)->draws[d], &f->draws[d]);

    sum += ahead;
    squares += ahead * ahead;
  }
  f->ahead_frac = sum / final->n_draws;
  f->deviation_frac = deviation(sum, squares, final->n_draws);
}

/* --- worlds --- */

/* A limit of the time is none of a world's; a number of GPUs does not depend on
 * it. */
static RaOddsPlan
plan_of(const RaFinal *final, uint32_t i)
{
  RaObjective plain = {.kind = final->objective.kind};
  RaWorth worth = ra_finalist_worth(final, i);

  return (RaOddsPlan){.value = ra_objective_value(&plain, &worth),
                      .doubt = &ra_finalist_contender(final, i)->doubt};
}

guint
ra_final_wins(const RaFinal *final, uint32_t i, uint32_t k)
{
  RaOddsPlan a = plan_of(final, i), b = plan_of(final, k);

  return ra_odds_wins(&a, &b, final->seed);
}

/* Odds of those that may win. */
static void
draw_odds(RaFinal *final)
{
  guint n_all = final->finalists->len, n = 0;
  g_autofree RaOddsPlan *plans = g_new(RaOddsPlan, n_all);
  g_autofree RaOdds *odds = g_new(RaOdds, n_all);
  g_autofree uint32_t *of = g_new(uint32_t, n_all);

  if (final->objective.kind == RA_OBJECTIVE_GPUS)
    return;
  for (guint i = 0; i < n_all; i++) {
    if (!may_win(final, i))
      continue;
    if (!ra_doubt_is_known(&ra_finalist_contender(final, i)->doubt))
      return;
    of[n] = i;
    plans[n++] = plan_of(final, i);
  }
  if (n < 2)
    return;
  ra_odds_draw(plans, n, final->seed, odds);
  for (guint k = 0; k < n; k++)
    at(final, of[k])->odds = odds[k];
  final->has_odds = TRUE;
}

static gboolean
is_simpler(const RaFinal *final, uint32_t i, uint32_t k)
{
  const RaContender *a = ra_finalist_contender(final, i);
  const RaContender *b = ra_finalist_contender(final, k);

  if (a->is_found != b->is_found)
    return b->is_found;
  return a->doubt.n_layouts != b->doubt.n_layouts
             ? a->doubt.n_layouts < b->doubt.n_layouts
             : a->doubt.n_reallocs < b->doubt.n_reallocs;
}

/* The simplest of those that cannot be told apart from the best; of equally
 * simple ones the better. */
static uint32_t
find_simplest(const RaFinal *final)
{
  uint32_t simplest = final->best;

  for (guint i = 0; final->has_odds && i < final->finalists->len; i++)
    if (may_win(final, i) && i != final->best &&
        at(final, i)->mean.n_gpus == at(final, final->best)->mean.n_gpus &&
        !ra_odds_tell_apart(ra_final_wins(final, final->best, i)) &&
        (is_simpler(final, i, simplest) ||
         (!is_simpler(final, simplest, i) && is_better(final, i, simplest))))
      simplest = i;
  return simplest;
}

/* --- all of it --- */

static guint
n_draws_of(const RaSizing *sizing, const RaObjective *objective,
           const RaFinalOptions *options)
{
  if (options->n_draws > 0)
    return options->n_draws;
  if (!is_drawn(g_array_index(sizing->sizes, RaSize, sizing->winner).setup))
    return 1;
  return objective->kind == RA_OBJECTIVE_P95 ? DRAWS_P95 : RA_FINAL_DRAWS;
}

static void
find_places(RaFinal *final)
{
  draw_odds(final);
  final->best = best_but(final, RA_NONE, FALSE);
  final->winner = final->second = final->family = RA_NONE;
  if (final->best == RA_NONE)
    return;
  final->winner = find_simplest(final);
  final->second = best_but(final, final->winner, FALSE);
  final->family = best_but(final, final->winner, TRUE);
  for (guint i = 0; i < final->finalists->len; i++)
    measure_lead(final, at(final, i));
}

RaFinal *
ra_final_new(const RaSizing *sizing, const RaObjective *objective,
             const RaFinalOptions *options, GError **error)
{
  g_autoptr(RaFinal) final = g_new0(RaFinal, 1);
  g_autofree gdouble *peaks = NULL;
  g_autofree gboolean *fits = NULL;
  Field field = {.final = final, .options = options};
  guint n;

  g_return_val_if_fail(options->n_top > 0 && options->n_iterations > 1, NULL);
  final->sizing = sizing;
  final->objective = *objective;
  final->seed = options->seed;
  final->n_draws = n_draws_of(sizing, objective, options);
  final->finalists = g_array_new(FALSE, FALSE, sizeof(RaFinalist));
  g_array_set_clear_func(final->finalists, finalist_clear);
  enter_all(final, options);
  n = final->finalists->len * final->n_draws;
  field.peak_bytes = peaks = g_new0(gdouble, n);
  field.fits = fits = g_new0(gboolean, n);
  for (guint i = 0; i < final->finalists->len; i++)
    at(final, i)->draws = g_new0(RaWorth, final->n_draws);
  if (!replay_all(final, &field, error))
    return NULL;
  for (guint i = 0; i < final->finalists->len; i++)
    sum_up(final, &field, i);
  find_places(final);
  return g_steal_pointer(&final);
}

void
ra_final_free(RaFinal *final)
{
  if (!final)
    return;
  g_array_unref(final->finalists);
  g_free(final);
}

static void
add_odds(RaTable *table, const RaFinal *final, uint32_t i)
{
  const RaOdds *odds = &at(final, i)->odds;
  gboolean has = final->has_odds && may_win(final, i);

  ra_table_real(table,
                has ? (double)odds->n_best / RA_ODDS_WORLDS : (double)NAN);
  ra_table_real(table, has ? odds->regret_frac : (double)NAN);
  ra_table_real(table, has ? odds->regret_p95_frac : (double)NAN);
}

static const char *
note_of(const RaFinal *final, uint32_t i)
{
  return i == final->winner                      ? "winner"
         : at(final, i)->n_fits < final->n_draws ? "does not fit"
         : !may_win(final, i)                    ? "takes too long"
         : i == final->best                      ? "no surer, less simple"
                                                 : "";
}

RaTable *
ra_final_table(const RaFinal *final)
{
  RaTable *table = ra_table_new("finalists");

  ra_table_column(table, "plan", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "nodes", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "sd_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "winner_ahead_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "ahead_sd_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "best_worlds_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "regret_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "regret_p95_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "tokens_per_s", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "usd", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "peak_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "note", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < final->finalists->len; i++) {
    const RaFinalist *f = at(final, i);
    gboolean has_spread = final->n_draws > 1;

    ra_table_row(table);
    ra_table_text(table, f->name);
    ra_table_integer(table, ra_finalist_size(final, i)->n_nodes);
    ra_table_real(table, f->mean.iteration_s);
    ra_table_real(table, has_spread ? f->deviation_s : (double)NAN);
    ra_table_real(table, i == final->winner || final->winner == RA_NONE
                             ? (double)NAN
                             : f->ahead_frac);
    ra_table_real(table,
                  i == final->winner || !has_spread || final->winner == RA_NONE
                      ? (double)NAN
                      : f->deviation_frac);
    add_odds(table, final, i);
    ra_table_real(table, f->mean.tokens_per_s);
    ra_table_real(table, f->mean.usd);
    ra_table_real(table, f->peak_bytes);
    ra_table_text(table, note_of(final, i));
  }
  return table;
}
