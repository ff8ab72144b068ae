/* Contest: families, rounds of search and the winner. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/input/plan_write.h"
#include "search/family/strategy.h"
#include "study/contest/contest_impl.h"
#include "study/contest/neighbour.h"
#include "study/contest/rejected.h"

/* Share of the time for the families. */
#define BEFORE_FRAC 0.5
/* Share of what is then left in which chains run: the rest is for replays. */
#define CHAINS_FRAC 0.7
#define LEAST_CHAINS_S 0.1

/* They divide memory by what the last plan needs over what there is, then by
 * the fourth and the sixteenth power of it; chosen. */
#define TIGHTER_TRIES 6

static double
now_s(void)
{
  return (double)g_get_monotonic_time() * 1e-6;
}

static void
contender_clear(gpointer data)
{
  RaContender *c = data;

  g_free(c->name);
  g_free(c->refusal);
  g_free(c->text);
  g_free(c->unsaid);
  ra_doubt_clear(&c->doubt);
}

/* --- a round of the search --- */

static void
say(const RaContestOptions *options, const char *phase)
{
  RaContestNews news = {.phase = phase, .best_s = (double)NAN};

  if (options->progress)
    options->progress(&news, options->data);
}

/* Families, and what was found before, are where chains begin.  A limit forbids
 * candidates, so then they do not add theirs. */
static void
add_starts(RaField *field, RaContest *contest, const RaContestOptions *options)
{
  field->starts = g_array_new(FALSE, FALSE, sizeof(RaPoint));
  field->whose = g_array_new(FALSE, FALSE, sizeof(guint));
  for (guint i = 0; !contest->limited && i < contest->contenders->len; i++) {
    RaContender *c = ra_contender(contest, i);
    RaPoint point;

    if (!c->text || c->unsaid ||
        !ra_setup_read_plan(field->setup, c->name, c->text, NULL) ||
        !ra_space_add(field->space, field->setup->plan, &point))
      continue;
    c->is_start = TRUE;
    c->point = point;
    if (!options->target)
      g_array_unref(ra_space_add_beside(field->space, &point));
    g_array_append_val(field->starts, point);
    g_array_append_val(field->whose, i);
  }
}

/* Whom chains tell how far they are. */
typedef struct {
  const RaContestOptions *options;
  double bound_s;
} Watcher;

static void
tell(double best_s, uint64_t n_steps, void *data)
{
  const Watcher *w = data;
  RaContestNews news = {.phase = "searching",
                        .best_s = best_s,
                        .bound_s = w->bound_s,
                        .n_steps = n_steps};

  w->options->progress(&news, w->options->data);
}

/* Where limits allow a model's parameters to be: the first of release, keep,
 * host; or @wanted. */
static void
fill_residency(const RaField *field, int wanted, uint8_t *out)
{
  for (uint32_t m = 0; m < field->setup->workload->n_models; m++) {
    int r = wanted;

    if (!ra_space_allows_residency(field->space, m, r))
      for (r = RA_RESIDENCY_RELEASE;
           r < RA_RESIDENCY_HOST &&
           !ra_space_allows_residency(field->space, m, r);)
        r++;
    out[m] = (uint8_t)r;
  }
}

/* Seconds of chains; 0: no limit. */
static double
chains_s(const RaField *field, const RaContestOptions *options)
{
  double before_s;

  if (!(options->time_limit_s > 0) || field->until.end_us == 0)
    return options->time_limit_s;
  /* The preparation's end is the middle of what was left. */
  before_s = (double)(field->until.end_us - field->begin_us) * 1e-6;
  return MAX(CHAINS_FRAC *
                 (2 * before_s - (now_s() - 1e-6 * (double)field->begin_us)),
             LEAST_CHAINS_S);
}

/* From the best start down; taken where that is lower.  Chains may have left it
 * for a plan with a shorter run and longer iterations. */
static void
descend_from_start(RaContestRound *round, const RaField *field,
                   gboolean residencies)
{
  RaPoint point = field->best;
  RaScore score;

  ra_neighbours_descend(field->costs, &point, residencies, &score);
  if (score.over_bytes > 0 ||
      ra_neighbours_value_s(field->space, &score) >=
          ra_neighbours_value_s(field->space, &round->found.score))
    return;
  round->found.point = point;
  round->found.score = score;
}

/* Chains; where none of their plans fits, once more with parameters in host
 * memory between calls.  Then down to where no single change helps.  What is to
 * be proven keeps them on the GPUs. */
static void
run_chains(RaContestRound *round, const RaField *field,
           const RaContestOptions *options, double limit_s)
{
  Watcher watcher = {options, ra_field_bound_s(field)};
  gboolean proves = options->prove_s > 0;
  uint8_t residency[RA_POINT_MAX];
  RaMcmcOptions chains = {
      .n_threads = options->n_threads,
      .n_steps = options->n_steps,
      .time_limit_s = limit_s,
      .seed = options->seed,
      .starts = (const RaPoint *)(gpointer)field->starts->data,
      .n_starts = field->starts->len,
      .best = isfinite(field->best_s) ? &field->best : NULL,
      .residency = residency,
      .residency_most = proves ? RA_RESIDENCY_KEEP : RA_RESIDENCY_HOST,
      .stop = options->stop,
      .peers = options->peers,
      .progress = options->progress ? tell : NULL,
      .data = &watcher};

  if (field->says) {
    ra_contest_target_descend(field, limit_s, options,
                              options->progress ? tell : NULL, &watcher,
                              &round->found);
    round->bound_s = watcher.bound_s;
    return;
  }
  fill_residency(field, RA_RESIDENCY_RELEASE, residency);
  ra_mcmc_search(field->costs, &chains, &round->found);
  fill_residency(field, RA_RESIDENCY_HOST, residency);
  if (!round->found.found &&
      !(options->stop && g_atomic_int_get(options->stop))) {
    ra_mcmc_result_clear(&round->found);
    chains.n_starts = 0;
    ra_mcmc_search(field->costs, &chains, &round->found);
  }
  round->bound_s = watcher.bound_s;
  if (round->found.found)
    ra_neighbours_descend(field->costs, &round->found.point, !proves,
                          &round->found.score);
  if (round->found.found && isfinite(field->best_s))
    descend_from_start(round, field, !proves);
}

/* Exact search among plans with the residencies of those found; plans that
 * reload from host memory have none. */
static void
prove(RaContestRound *round, const RaField *field,
      const RaContestOptions *options)
{
  const RaMcmcResult *found = &round->found;
  uint8_t residency[RA_POINT_MAX];
  RaExactOptions exact = {.time_limit_s = options->prove_s,
                          .seed = options->seed,
                          .n_threads = options->n_threads,
                          .starts = &found->point,
                          .n_starts = found->found ? 1 : 0,
                          .residency = residency};

  fill_residency(field, RA_RESIDENCY_RELEASE, residency);
  if (found->found)
    memcpy(residency, found->point.residency, sizeof residency);
  for (uint32_t m = 0; m < field->setup->workload->n_models; m++)
    if (residency[m] == RA_RESIDENCY_HOST || field->space->pins)
      return;
  round->bounded = TRUE;
  if (!options->peers) {
    ra_exact_search(field->costs, &exact, &round->exact);
  } else { /* one process, whose clock counts */
    if (options->peers->world->process == 0)
      ra_exact_search(field->costs, &exact, &round->exact);
    ra_contest_share_exact(options->peers->world, field->costs, &round->exact);
  }
  round->bound_s = MAX(round->bound_s, round->exact.bound_s);
}

/* The found plan @first, and where it does not fit under every draw those
 * beside it. */
static void
confirm_found(RaContest *contest, guint first, const RaSetup *setup,
              const RaContestOptions *options)
{
  guint n = contest->contenders->len;

  for (guint i = first; i < n; i++)
    if (ra_contest_confirm(contest, i, setup, options))
      return;
}

/* Whichever of chains and branch and bound found the better plan enters, and
 * from there as far down as one call at a time leads. */
static gboolean
enter_found(RaContest *contest, RaContestRound *round, const char *name,
            const RaField *field, const RaSetup *setup,
            const RaContestOptions *options, GError **error)
{
  guint first = contest->contenders->len;
  const RaMcmcResult *found = &round->found;
  const RaExactResult *exact = &round->exact;
  RaPoint point = found->point;
  RaScore score;

  if ((!found->found || found->score.run_s >= RA_COST_NO_TIME_S) &&
      !(round->bounded && exact->found)) {
    RaContender *c = ra_contest_enter(contest, name);

    round->best_s = (double)NAN;
    c->is_found = TRUE;
    c->refusal = g_strdup("no plan that fits was found");
    return TRUE;
  }
  score = found->score;
  if (round->bounded && exact->found &&
      (!found->found || exact->score.run_s < found->score.run_s)) {
    point = exact->point;
    ra_neighbours_descend(field->costs, &point, FALSE, &score);
  }
  round->best_s = score.run_s;
  if (!ra_contest_enter_point(contest, name, field, &point, score.iteration_s,
                              options, error) ||
      !ra_contest_enter_near(contest, name, field, &point, options->n_near,
                             options, error) ||
      !ra_contest_measure(contest, first, setup, options, error))
    return FALSE;
  confirm_found(contest, first, setup, options);
  return TRUE;
}

/* The start that is next in the order of the families' times, those that fit
 * first; RA_NONE: all are scored. */
static guint
next_start(const RaContest *contest, const RaField *field, const gboolean *done)
{
  const RaContender *best = NULL;
  guint next = RA_NONE;

  for (guint i = 0; i < field->starts->len; i++) {
    const RaContender *c =
        ra_contender(contest, g_array_index(field->whose, guint, i));

    if (done[i] || (best && best->fits && !c->fits) ||
        (best && best->fits == c->fits &&
         best->worth.iteration_s <= c->worth.iteration_s))
      continue;
    best = c;
    next = i;
  }
  return next;
}

/* Times of the families from the tables, the best first: that one whatever the
 * time, as the search has to be no worse. */
static void
score_starts(RaContest *contest, RaField *field,
             const RaContestOptions *options)
{
  g_autoptr(RaEvaluator) evaluator = ra_evaluator_new(field->costs);
  g_autofree gboolean *done = g_new0(gboolean, field->starts->len + 1);
  guint next;

  field->best_s = (double)INFINITY;
  while ((next = next_start(contest, field, done)) != RA_NONE) {
    RaPoint *point = &g_array_index(field->starts, RaPoint, next);
    RaScore score;

    if (isfinite(field->best_s) && !options->peers &&
        ra_until_is_over(&field->until))
      return;
    done[next] = TRUE;
    ra_evaluate(evaluator, point, &score);
    ra_contender(contest, g_array_index(field->whose, guint, next))->call_s =
        score.iteration_s;
    if (score.over_bytes > 0 || score.run_s >= RA_COST_NO_TIME_S ||
        ra_neighbours_value_s(field->space, &score) >= field->best_s)
      continue;
    field->best_s = ra_neighbours_value_s(field->space, &score);
    field->best = *point;
  }
}

/* Plans that fit by the tables may not fit at stage fidelity, whose peaks are
 * others: then chains run again in less memory, in more of it where none of
 * theirs fits. */
static gboolean
run_tighter(RaContest *contest, RaContestRound *round, RaField *field,
            guint first, const RaSetup *setup, const RaContestOptions *options,
            GError **error)
{
  RaDevice *device = &field->setup->cluster->device;
  double memory_bytes = device->memory_bytes, tight_bytes = memory_bytes;
  double over_bytes = memory_bytes; /* in which one was found that is over */
  guint n_found = 0;

  for (guint i = 0; i < TIGHTER_TRIES; i++) {
    const RaContender *last = ra_contender(contest, first);
    g_autofree char *name = NULL;

    if (last->refusal || last->fits || ra_until_is_over(options->whole) ||
        (options->stop && g_atomic_int_get(options->stop)))
      return TRUE;
    if (tight_bytes == over_bytes)
      tight_bytes *= pow(memory_bytes / last->peak_bytes, 1 << 2 * n_found);
    else /* in which none was found */
      tight_bytes = sqrt(tight_bytes * over_bytes);
    device->memory_bytes = tight_bytes;
    ra_mcmc_result_clear(&round->found);
    field->best_s = (double)INFINITY; /* it may not fit there */
    run_chains(round, field, options, chains_s(field, options) / 2);
    device->memory_bytes = memory_bytes;
    if (!round->found.found)
      continue;
    over_bytes = tight_bytes;
    first = contest->contenders->len;
    name = n_found++ ? g_strdup_printf("search-tight-%u", n_found)
                     : g_strdup("search-tight");
    if (!enter_found(contest, round, name, field, setup, options, error))
      return FALSE;
  }
  return TRUE;
}

/* A call may have none if the time is up and no plan brings one. */
static gboolean
has_candidates(const RaField *field, GError **error)
{
  for (uint32_t c = 0; c < field->setup->workload->n_calls; c++)
    if (field->space->calls[c].n == 0) {
      g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                  "the time was up before all layouts were prepared");
      return FALSE;
    }
  return TRUE;
}

/* Space, costs and starts, while there is time. */
static gboolean
prepare(RaContest *contest, RaField *field, const RaContestOptions *options,
        GError **error)
{
  say(options, "preparing layouts");
  if (!ra_field_open(field, options, error))
    return FALSE;
  contest->candidates = ra_rejected_counts(field->space);
  add_starts(field, contest, options);
  if (!has_candidates(field, error) ||
      (options->target &&
       !ra_contest_target_open(contest, field, options, error)))
    return FALSE;
  if (options->keeps_costs)
    field->kept = ra_kept_costs_new(NULL, field->setup, options->n_iterations,
                                    options->seed);
  field->costs = ra_cost_table_new_from(field->space, field->setup->estimator,
                                        field->kept ? field->kept->store : NULL,
                                        options->n_threads, error);
  if (!field->costs ||
      (options->peers &&
       !ra_world_agree(options->peers->world, ra_field_hash(field, options),
                       "the search", error)))
    return FALSE;
  score_starts(contest, field, options);
  return TRUE;
}

static gboolean
run_round(RaContest *contest, RaSetup *setup, RaSetup *tables,
          const RaContestOptions *options, gint64 end_us, GError **error)
{
  RaContestRound *round = &contest->round;
  double begin_s = now_s();
  g_auto(RaField) field = {.setup = tables,
                           .cluster = setup->cluster,
                           .until = {options->stop, end_us},
                           .begin_us = g_get_monotonic_time()};
  guint first;

  if (!prepare(contest, &field, options, error))
    return FALSE;
  contest->searched = TRUE;
  round->log10_points = ra_space_log10_points(field.space);
  round->prepare_s = now_s() - begin_s;
  run_chains(round, &field, options, chains_s(&field, options));
  if (options->prove_s > 0 &&
      !(options->stop && g_atomic_int_get(options->stop)))
    prove(round, &field, options);
  first = contest->contenders->len;
  return enter_found(contest, round, "search", &field, setup, options, error) &&
         run_tighter(contest, round, &field, first, setup, options, error) &&
         ra_contest_descend(contest, &field, setup, options, error);
}

/* --- all of it --- */

/* Enters a search without candidates: a family may still win, unless there are
 * limits.  FALSE with @error set from @cause (transfer full), if that is no
 * such refusal. */
static gboolean
refuse_round(RaContest *contest, GError *cause, GError **error)
{
  RaContender *c;

  if (contest->limited ||
      !g_error_matches(cause, RA_ERROR, RA_ERROR_NEGATIVE)) {
    g_propagate_error(error, cause);
    return FALSE;
  }
  c = ra_contest_enter(contest, "search");
  c->is_found = TRUE;
  c->refusal = g_strdup(cause->message);
  g_free(contest->refusal);
  contest->refusal = g_strdup(cause->message);
  g_error_free(cause);
  return TRUE;
}

/* On nodes as wide as what divides, and with the lengths of @setup; where they
 * cannot be searched, with their mean: what is found is measured with them. */
static gboolean
search(RaContest *contest, RaSetup *setup, const RaContestOptions *options,
       gint64 end_us, GError **error)
{
  RaWorkload even = *setup->workload;
  RaCluster narrow = *setup->cluster;
  RaSetup tables = *setup;
  GError *cause = NULL;
  gboolean good;

  tables.plan = NULL;
  tables.plan_path = NULL;
  narrow.gpus_per_node = ra_shape_node_gpus(setup->workload, setup->cluster);
  tables.cluster = &narrow;
  if (!ra_space_accepts(setup->workload, &cause)) {
    even.prompt_length = ra_length_at_mean(&even.prompt_length);
    even.response_length = ra_length_at_mean(&even.response_length);
    if (!ra_space_accepts(&even, NULL)) {
      g_propagate_error(error, cause);
      return FALSE;
    }
    g_clear_error(&cause);
    tables.workload = &even;
    contest->by_mean = TRUE;
  }
  good = run_round(contest, setup, &tables, options, end_us, error);
  ra_plan_free(tables.plan);
  g_free(tables.plan_path);
  return good;
}

static gboolean
run(RaContest *contest, RaSetup *setup, const RaContestOptions *options,
    GError **error)
{
  gint64 begin_us = g_get_monotonic_time();
  gint64 end_us =
      options->time_limit_s > 0 && !options->peers
          ? begin_us + (gint64)(1e6 * BEFORE_FRAC * options->time_limit_s)
          : 0;
  RaUntil until = {options->stop, end_us};
  GError *cause = NULL;

  for (guint kind = 0; !options->given && kind < RA_N_STRATEGIES; kind++)
    ra_contest_enter(contest, ra_strategy_names[kind]);
  if (!options->given) {
    say(options, "planning strategies");
    if (!ra_contest_families(contest, setup, options, &until, error))
      return FALSE;
  }
  contest->is_cut = ra_until_is_over(&until);
  if (options->target)
    ra_contest_target_ask(contest, setup, options);
  if (options->families_only)
    return TRUE;
  /* Half of what is left is for the chains. */
  if (end_us > 0)
    end_us = (g_get_monotonic_time() + begin_us +
              (gint64)(1e6 * options->time_limit_s)) /
             2;
  if (search(contest, setup, options, end_us, &cause))
    return TRUE;
  return refuse_round(contest, cause, error);
}

gboolean
ra_contest_may_win(const RaContest *contest, uint32_t i)
{
  const RaContender *c = ra_contender(contest, i);

  return c->text && c->fits && !c->unsaid &&
         (c->is_found || !contest->limited) &&
         isfinite(ra_objective_value(&contest->objective, &c->worth));
}

static void
choose(RaContest *contest)
{
  contest->winner = RA_NONE;
  for (guint i = 0; i < contest->contenders->len; i++) {
    if (ra_contest_may_win(contest, i) &&
        (contest->winner == RA_NONE ||
         ra_objective_better(&contest->objective,
                             &ra_contender(contest, i)->worth,
                             &ra_contender(contest, contest->winner)->worth)))
      contest->winner = i;
  }
}

RaContest *
ra_contest_new(RaSetup *setup, const RaContestOptions *options, GError **error)
{
  g_autoptr(RaContest) contest = NULL;
  RaForks *forks;
  gboolean ok;

  g_return_val_if_fail(options->n_iterations >= 2, NULL);
  g_return_val_if_fail(options->n_steps > 0 || options->time_limit_s > 0, NULL);
  contest = g_new0(RaContest, 1);
  contest->limited =
      options->limits != NULL || options->pins != NULL || options->n_gpus > 0;
  contest->objective = options->objective;
  contest->contenders = g_array_new(FALSE, FALSE, sizeof(RaContender));
  g_array_set_clear_func(contest->contenders, contender_clear);
  forks = ra_estimator_keep_forks(setup->estimator);
  ok = run(contest, setup, options, error);
  ra_forks_drop(forks);
  if (!ok)
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
  ra_table_free(contest->candidates);
  ra_mcmc_result_clear(&contest->round.found);
  g_free(contest->refusal);
  g_free(contest);
}
