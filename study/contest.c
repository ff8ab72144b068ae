#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/plan_write.h"
#include "search/strategy.h"
#include "sim/breakdown.h"
#include "study/contest.h"
#include "study/fit.h"

/* Times that differ by less are the same plan, or as good. */
#define SAME_FRAC 1e-9

static double
now_s(void)
{
  return (double)g_get_monotonic_time() * 1e-6;
}

static RaContender *
at(const RaContest *contest, uint32_t i)
{
  return &g_array_index(contest->contenders, RaContender, i);
}

static void
contender_clear(gpointer data)
{
  RaContender *c = data;

  g_free(c->name);
  g_free(c->refusal);
  g_free(c->text);
}

static RaContender *
enter(RaContest *contest, const char *name)
{
  RaContender c = {.name = g_strdup(name), .call_s = (double)NAN};

  g_array_append_val(contest->contenders, c);
  return at(contest, contest->contenders->len - 1);
}

/* --- what a plan is worth --- */

/* Replays the plan that @setup has read. */
static gboolean
replay(RaContender *c, RaSetup *setup, const RaContestOptions *options,
       GError **error)
{
  RaReplayOptions replay_options = {.n_iterations = options->n_iterations,
                                    .fidelity = RA_FIDELITY_STAGE,
                                    .seed = options->seed};
  g_autoptr(RaReplay) run = ra_replay_new(setup, &replay_options, error);
  g_autoptr(RaFit) fit = NULL;
  RaBreakdown *breakdown;

  if (!run)
    return FALSE;
  breakdown = ra_breakdown_new(run->sim, run->graph);
  fit = ra_fit_new(setup, NULL, run);
  c->iteration_s = breakdown->iteration_s;
  c->tokens_per_s = breakdown->tokens_per_s;
  c->usd = breakdown->usd;
  c->peak_bytes = fit->peak_bytes;
  c->fits = fit->fits;
  ra_breakdown_free(breakdown);
  return TRUE;
}

static gboolean
measure(RaContender *c, RaSetup *setup, const RaContestOptions *options,
        GError **error)
{
  return ra_setup_read_plan(setup, c->name, c->text, error) &&
         replay(c, setup, options, error);
}

/* --- families --- */

/* Plans of a family are refused for reasons that a person wants to read; other
 * errors end the contest. */
static gboolean
enter_family(RaContest *contest, RaSetup *setup, RaStrategyKind kind,
             const RaContestOptions *options, GError **error)
{
  RaStrategyOptions strategy = {.kind = kind};
  RaContender *c = enter(contest, ra_strategy_names[kind]);
  g_autoptr(GError) refusal = NULL;
  g_autoptr(RaDraft) draft = ra_strategy_plan(
      setup->workload, setup->cluster, setup->estimator, &strategy, &refusal);

  if (!draft) {
    c->refusal = g_strdup(refusal->message);
    return TRUE;
  }
  c->text = ra_draft_write(draft, options->workload, options->cluster,
                           options->system, error);
  return c->text && measure(c, setup, options, error);
}

/* --- a round of the search --- */

/* What a round works with. */
typedef struct {
  RaSetup *setup; /* of the lengths that it searches; borrowed */
  RaSpace *space;
  RaCostTable *costs;
  GArray *starts; /* (RaPoint) */
  GArray *whose;  /* (guint) contenders, same index */
} Field;

static void
field_clear(Field *field)
{
  ra_cost_table_free(field->costs);
  ra_space_free(field->space);
  g_clear_pointer(&field->starts, g_array_unref);
  g_clear_pointer(&field->whose, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Field, field_clear)

/* (array) owned: of the limits that are typed; %NULL with @error. */
static RaLimit *
read_limits(const RaSetup *setup, const char *const *texts, guint *out_n,
            GError **error)
{
  guint n = texts ? g_strv_length((char **)texts) : 0;
  g_autofree RaLimit *limits = g_new0(RaLimit, n + 1);

  for (guint i = 0; i < n; i++)
    if (!ra_limit_parse(texts[i], setup->workload, setup->cluster, &limits[i],
                        error)) {
      g_prefix_error(error, "--limit: ");
      return NULL;
    }
  *out_n = n;
  return g_steal_pointer(&limits);
}

static gboolean
open_space(Field *field, const RaContestOptions *options, GError **error)
{
  RaSpaceOptions space = {.kind = (int)options->kind,
                          .n_iterations = options->n_iterations,
                          .seed = options->seed};
  g_autofree RaLimit *limits =
      read_limits(field->setup, options->limits, &space.n_limits, error);

  if (!limits)
    return FALSE;
  space.limits = limits;
  field->space = ra_space_new(field->setup->workload, field->setup->cluster,
                              &space, error);
  return field->space != NULL;
}

/* Families, and what was found before, are where chains begin.  A limit forbids
 * candidates, so then they do not add theirs. */
static void
add_starts(Field *field, RaContest *contest)
{
  field->starts = g_array_new(FALSE, FALSE, sizeof(RaPoint));
  field->whose = g_array_new(FALSE, FALSE, sizeof(guint));
  for (guint i = 0; !contest->limited && i < contest->contenders->len; i++) {
    RaContender *c = at(contest, i);
    RaPoint point;

    if (!c->text || !ra_setup_read_plan(field->setup, c->name, c->text, NULL) ||
        !ra_space_add(field->space, field->setup->plan, &point))
      continue;
    c->is_start = TRUE;
    g_array_append_val(field->starts, point);
    g_array_append_val(field->whose, i);
  }
}

static void
run_chains(RaContestRound *round, const Field *field, guint n_rounds,
           const RaContestOptions *options)
{
  RaMcmcOptions chains = {.n_threads = options->n_threads,
                          .n_steps = options->n_steps,
                          .time_limit_s = options->time_limit_s / n_rounds,
                          .seed = options->seed,
                          .starts =
                              (const RaPoint *)(gpointer)field->starts->data,
                          .n_starts = field->starts->len,
                          .stop = options->stop,
                          .progress = options->progress,
                          .data = options->data};

  ra_mcmc_search(field->costs, &chains, &round->found);
}

static void
prove(RaContestRound *round, const Field *field,
      const RaContestOptions *options)
{
  const RaMcmcResult *found = &round->found;
  RaExactOptions exact = {.time_limit_s = options->prove_s,
                          .seed = options->seed,
                          .starts = &found->point,
                          .n_starts = found->found ? 1 : 0,
                          .residency =
                              found->found ? found->point.residency : NULL};

  round->bounded = TRUE;
  ra_exact_search(field->costs, &exact, &round->exact);
}

/* Whichever of chains and branch and bound found the better plan enters. */
static gboolean
enter_found(RaContest *contest, const RaContestRound *round, const Field *field,
            RaSetup *setup, const RaContestOptions *options, GError **error)
{
  RaPlanWords words = {.workload = options->workload,
                       .cluster = options->cluster,
                       .system = options->system};
  RaContender *c = enter(contest, round->name);
  const RaMcmcResult *found = &round->found;
  const RaExactResult *exact = &round->exact;
  const RaPoint *point = found->found ? &found->point : NULL;
  RaPlan *plan;

  c->is_found = TRUE;
  if (round->bounded && exact->found &&
      (!point || exact->score.run_s < found->score.run_s))
    point = &exact->point;
  if (!point) {
    c->refusal = g_strdup("no plan that fits was found");
    return TRUE;
  }
  plan = ra_space_plan_new(field->space, point);
  c->text = ra_plan_write(plan, &words, error);
  ra_space_plan_free(plan);
  if (contest->n_rounds == 1)
    c->call_s =
        (point == &exact->point ? &exact->score : &found->score)->iteration_s;
  return c->text && measure(c, setup, options, error);
}

/* Times of the families from the tables. */
static void
score_starts(RaContest *contest, const Field *field)
{
  g_autoptr(RaEvaluator) evaluator = ra_evaluator_new(field->costs);

  for (guint i = 0; i < field->starts->len; i++) {
    RaScore score;

    ra_evaluate(evaluator, &g_array_index(field->starts, RaPoint, i), &score);
    at(contest, g_array_index(field->whose, guint, i))->call_s =
        score.iteration_s;
  }
}

/* @searched: like @setup, with the round's lengths; perhaps @setup itself. */
static gboolean
run_round(RaContest *contest, RaContestRound *round, RaSetup *searched,
          RaSetup *setup, const RaContestOptions *options, GError **error)
{
  g_auto(Field) field = {.setup = searched};
  double begin_s = now_s();

  if (!open_space(&field, options, error))
    return FALSE;
  add_starts(&field, contest);
  field.costs = ra_cost_table_new(field.space, searched->estimator,
                                  options->n_threads, error);
  if (!field.costs)
    return FALSE;
  round->log10_points = ra_space_log10_points(field.space);
  round->prepare_s = now_s() - begin_s;
  run_chains(round, &field, contest->n_rounds, options);
  if (options->prove_s > 0 && contest->n_rounds == 1 &&
      !(options->stop && g_atomic_int_get(options->stop)))
    prove(round, &field, options);
  if (contest->n_rounds == 1)
    score_starts(contest, &field);
  return enter_found(contest, round, &field, setup, options, error);
}

/* --- all of it --- */

static uint32_t
tokens_of(const RaLength *law, gboolean is_longest)
{
  return is_longest ? law->max_tokens : (uint32_t)(ra_length_mean(law) + 0.5);
}

/* The same with lengths that are all alike. */
static RaSetup *
load_fixed(const RaSetup *setup, const RaSetupFlags *flags, gboolean is_longest,
           GError **error)
{
  const RaWorkload *w = setup->workload;
  g_autofree char *prompt =
      g_strdup_printf("workload.prompt-length=fixed(%u)",
                      tokens_of(&w->prompt_length, is_longest));
  g_autofree char *response =
      g_strdup_printf("workload.response-length=fixed(%u)",
                      tokens_of(&w->response_length, is_longest));
  g_autoptr(GPtrArray) sets = g_ptr_array_new();
  RaSetupFlags fixed = *flags;

  for (guint i = 0; flags->sets && flags->sets[i]; i++)
    g_ptr_array_add(sets, (gpointer)flags->sets[i]);
  g_ptr_array_add(sets, prompt);
  g_ptr_array_add(sets, response);
  g_ptr_array_add(sets, NULL);
  fixed.sets = (const char *const *)sets->pdata;
  return ra_setup_load_pair(&fixed, error);
}

static gboolean
run(RaContest *contest, RaSetup *setup, const RaSetupFlags *flags,
    const RaContestOptions *options, GError **error)
{
  static const char *const names[] = {"search-mean", "search-long"};

  for (guint kind = 0; kind < RA_N_STRATEGIES; kind++)
    if (!enter_family(contest, setup, (RaStrategyKind)kind, options, error))
      return FALSE;
  if (setup->workload->prompt_length.kind == RA_LENGTH_FIXED &&
      setup->workload->response_length.kind == RA_LENGTH_FIXED) {
    contest->n_rounds = 1;
    contest->rounds[0].name = "search";
    return run_round(contest, &contest->rounds[0], setup, setup, options,
                     error);
  }
  contest->n_rounds = RA_CONTEST_ROUNDS;
  for (guint i = 0; i < contest->n_rounds; i++) {
    g_autoptr(RaSetup) fixed = load_fixed(setup, flags, i == 1, error);

    contest->rounds[i].name = names[i];
    if (!fixed ||
        !run_round(contest, &contest->rounds[i], fixed, setup, options, error))
      return FALSE;
  }
  return TRUE;
}

static void
choose(RaContest *contest)
{
  contest->winner = RA_NONE;
  for (guint i = 0; i < contest->contenders->len; i++) {
    const RaContender *c = at(contest, i);

    /* What was limited must keep to it. */
    if (c->text && c->fits && (c->is_found || !contest->limited) &&
        (contest->winner == RA_NONE ||
         c->iteration_s < at(contest, contest->winner)->iteration_s))
      contest->winner = i;
  }
}

RaContest *
ra_contest_new(RaSetup *setup, const RaSetupFlags *flags,
               const RaContestOptions *options, GError **error)
{
  g_autoptr(RaContest) contest = NULL;

  g_return_val_if_fail(options->n_iterations >= 2, NULL);
  g_return_val_if_fail(options->n_steps > 0 || options->time_limit_s > 0, NULL);
  contest = g_new0(RaContest, 1);
  contest->limited = options->limits != NULL;
  contest->contenders = g_array_new(FALSE, FALSE, sizeof(RaContender));
  g_array_set_clear_func(contest->contenders, contender_clear);
  if (!run(contest, setup, flags, options, error))
    return NULL;
  choose(contest);
  return g_steal_pointer(&contest);
}

void
ra_contest_free(RaContest *contest)
{
  if (!contest)
    return;
  g_array_unref(contest->contenders);
  for (guint i = 0; i < contest->n_rounds; i++)
    ra_mcmc_result_clear(&contest->rounds[i].found);
  g_free(contest);
}

uint32_t
ra_contest_second(const RaContest *contest)
{
  uint32_t second = RA_NONE;
  double best_s;

  if (contest->winner == RA_NONE)
    return RA_NONE;
  best_s = at(contest, contest->winner)->iteration_s;
  for (guint i = 0; i < contest->contenders->len; i++) {
    const RaContender *c = at(contest, i);

    if (!c->text || !c->fits || c->iteration_s <= best_s * (1 + SAME_FRAC) ||
        (c->is_found && at(contest, contest->winner)->is_found))
      continue;
    if (second == RA_NONE || c->iteration_s < at(contest, second)->iteration_s)
      second = i;
  }
  return second;
}

RaTable *
ra_contest_table(const RaContest *contest)
{
  RaTable *table = ra_table_new("plans");

  ra_table_column(table, "plan", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "of_winner_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "by_table_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "tokens_per_s", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "usd", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "peak_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "note", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < contest->contenders->len; i++) {
    const RaContender *c = at(contest, i);

    ra_table_row(table);
    ra_table_text(table, c->name);
    if (!c->text) {
      for (guint k = 0; k < 6; k++)
        ra_table_missing(table);
      ra_table_text(table, c->refusal);
      continue;
    }
    ra_table_real(table, c->iteration_s);
    ra_table_real(table, contest->winner == RA_NONE
                             ? (double)NAN
                             : c->iteration_s /
                                   at(contest, contest->winner)->iteration_s);
    ra_table_real(table, c->call_s);
    ra_table_real(table, c->tokens_per_s);
    ra_table_real(table, c->usd);
    ra_table_real(table, c->peak_bytes);
    ra_table_text(table, i == contest->winner ? "winner"
                         : !c->fits           ? "does not fit"
                                              : "");
  }
  return table;
}

RaTable *
ra_contest_curve(const RaContest *contest)
{
  RaTable *table = ra_table_new("convergence");

  ra_table_column(table, "search", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "proposals", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "best_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  for (guint k = 0; k < contest->n_rounds; k++) {
    const GArray *curve = contest->rounds[k].found.curve;

    for (guint i = 0; i < curve->len; i++) {
      const RaMcmcSample *s = &g_array_index(curve, RaMcmcSample, i);

      ra_table_row(table);
      ra_table_text(table, contest->rounds[k].name);
      ra_table_integer(table, s->n_steps);
      ra_table_real(table, s->seconds);
      ra_table_real(table, s->best_s);
    }
  }
  return table;
}
