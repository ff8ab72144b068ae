/* Measurement of contenders: each replayed on a thread. */
#include "config.h"

#include <math.h>

#include "base/error.h"
#include "base/jobs.h"
#include "search/family/strategy.h"
#include "sim/breakdown.h"
#include "study/contest/contest_impl.h"
#include "study/memory_verdict.h"
#include "study/replay.h"

typedef struct {
  RaContest *contest;
  const RaSetup *setup;
  const RaContestOptions *options;
  gboolean are_families; /* to be planned first */
  const RaUntil *until;  /* nullable: of planning and replays */
  guint first;           /* contender of job 0 */
  GError **errors;       /* (n_contenders) */
  gint n_done;           /* atomic */
  gint n_fit;            /* atomic: replayed, and they fit */
} Job;

/* TRUE if there is a plan, so that a wish to stop ends what looks for another.
 */
static gboolean
has_plan(Job *job)
{
  return !job->are_families || g_atomic_int_get(&job->n_fit) > 0;
}

/* Replays the plan that @setup has read. */
static gboolean
replay(RaContender *c, const RaSetup *setup, Job *job, GError **error)
{
  const RaUntil *whole = job->options->whole;
  RaUntil first = {job->options->give_up, whole ? whole->end_us : 0};
  RaReplayOptions replay_options = {.n_iterations = job->options->n_iterations,
                                    .fidelity = RA_FIDELITY_STAGE,
                                    .seed = job->options->seed,
                                    .until =
                                        has_plan(job) ? job->until : &first};
  g_autoptr(RaReplay) run = ra_replay_new(setup, &replay_options, error);
  g_autoptr(RaMemoryVerdict) fit = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;

  if (!run)
    return FALSE;
  breakdown = ra_breakdown_new(run->sim, run->graph);
  fit = ra_memory_verdict_new(setup, NULL, run);
  c->worth = (RaWorth){breakdown->iteration_s, breakdown->tokens_per_s,
                       breakdown->usd, breakdown->n_gpus};
  c->peak_bytes = fit->peak_bytes;
  c->fits = fit->fits;
  ra_doubt_take(setup, run, breakdown, &c->doubt);
  g_atomic_int_add(&job->n_fit, c->fits);
  return TRUE;
}

/* With a setup that shares all but the plan. */
static gboolean
measure(Job *job, RaContender *c, GError **error)
{
  RaSetup setup = *job->setup;
  gboolean ok;

  setup.plan = NULL;
  setup.plan_path = NULL;
  ok = ra_setup_read_plan(&setup, c->name, c->text, error) &&
       replay(c, &setup, job, error);
  ra_plan_free(setup.plan);
  g_free(setup.plan_path);
  return ok;
}

/* --- fits under every draw --- */

typedef struct {
  const RaSetup *setup;
  const RaContestOptions *options;
  const RaContender *contender;
  double *peak_bytes; /* (n_draws - 1) 0: not known */
  gboolean *fits;     /* the same */
} Draws;

/* A lack of time, the only error that a plan which was replayed can have,
 * leaves the draw unknown. */
static void
run_draw(guint draw, guint thread, gpointer data)
{
  Draws *d = data;
  RaSetup setup = *d->setup;
  RaReplayOptions replay_options = {.n_iterations = d->options->n_iterations,
                                    .fidelity = RA_FIDELITY_STAGE,
                                    .seed = d->options->seed + 1 + draw,
                                    .until = d->options->whole};
  g_autoptr(RaReplay) run = NULL;

  (void)thread;
  setup.plan = NULL;
  setup.plan_path = NULL;
  if (ra_setup_read_plan(&setup, d->contender->name, d->contender->text, NULL))
    run = ra_replay_new(&setup, &replay_options, NULL);
  if (run) {
    g_autoptr(RaMemoryVerdict) fit = ra_memory_verdict_new(&setup, NULL, run);

    d->peak_bytes[draw] = fit->peak_bytes;
    d->fits[draw] = fit->fits;
  }
  g_clear_pointer(&run, ra_replay_free); /* before its plan */
  ra_plan_free(setup.plan);
  g_free(setup.plan_path);
}

gboolean
ra_contest_confirm(RaContest *contest, guint i, const RaSetup *setup,
                   const RaContestOptions *options)
{
  RaContender *c = ra_contender(contest, i);
  guint n = options->n_draws > 1 ? options->n_draws - 1 : 0;
  g_autofree double *peak_bytes = g_new0(double, n + 1);
  g_autofree gboolean *fits = g_new0(gboolean, n + 1);
  Draws draws = {setup, options, c, peak_bytes, fits};

  if (!c->fits || c->is_sure || ra_workload_is_even(setup->workload))
    return c->fits;
  c->is_sure = TRUE;
  ra_jobs_run(n, options->n_threads, run_draw, &draws);
  for (guint k = 0; k < n; k++) {
    c->peak_bytes = MAX(c->peak_bytes, peak_bytes[k]);
    c->fits = c->fits && (fits[k] || peak_bytes[k] == 0);
  }
  return c->fits;
}

/* Plans of a family are refused for reasons that a person wants to read; other
 * errors end the contest. */
static gboolean
plan_family(Job *job, RaContender *c, RaStrategyKind kind, GError **error)
{
  RaUntil until = {job->until && has_plan(job) ? job->until->stop
                                               : job->options->give_up,
                   job->until ? job->until->end_us : 0};
  RaStrategyOptions strategy = {.kind = kind, .until = &until};
  const RaSetup *setup = job->setup;
  g_autoptr(GError) refusal = NULL;
  g_autoptr(RaDraft) draft = ra_strategy_plan(
      setup->workload, setup->cluster, setup->estimator, &strategy, &refusal);

  if (!draft) {
    c->refusal = g_strdup(refusal->message);
    return TRUE;
  }
  for (guint i = 0; job->options->eager && i < setup->workload->n_calls; i++)
    draft->plan->calls[i].launch = RA_LAUNCH_EAGER;
  c->text = ra_draft_write(draft, job->options->workload, job->options->cluster,
                           job->options->system, error);
  return c->text != NULL;
}

static void
tell(Job *job)
{
  RaContestNews news = {.phase = "planning strategies",
                        .n_done = (guint)g_atomic_int_add(&job->n_done, 1) + 1,
                        .n_all = RA_N_STRATEGIES,
                        .best_s = (double)NAN};

  if (job->are_families && job->options->progress)
    job->options->progress(&news, job->options->data);
}

/* Those first that are planned at once or are mostly the fastest, as the time
 * may not suffice for all. */
static const RaStrategyKind order[RA_N_STRATEGIES] = {
    RA_STRATEGY_MEGATRON,  RA_STRATEGY_HYBRIDFLOW,    RA_STRATEGY_REAL,
    RA_STRATEGY_COLOCATED, RA_STRATEGY_DISAGGREGATED, RA_STRATEGY_INTERLEAVING};

static void
run_one(guint index, guint thread, gpointer data)
{
  Job *job = data;
  guint i = job->are_families ? (guint)order[index] : job->first + index;
  RaContender *c = ra_contender(job->contest, i);

  (void)thread;
  if (job->are_families &&
      !plan_family(job, c, (RaStrategyKind)i, &job->errors[i]))
    return;
  if (c->text)
    measure(job, c, &job->errors[i]);
  if (g_error_matches(job->errors[i], RA_ERROR, RA_ERROR_NEGATIVE)) {
    /* Not replayed, it may yet be where the search begins. */
    if (!ra_until_is_over(job->until))
      g_clear_pointer(&c->text, g_free);
    c->refusal = g_strdup(job->errors[i]->message);
    g_clear_error(&job->errors[i]);
  }
  tell(job);
}

/* The first error in their order counts. */
static gboolean
run_all(Job *job, guint first, GError **error)
{
  guint n = job->contest->contenders->len;
  g_autofree GError **errors = job->errors = g_new0(GError *, n);
  gboolean ok = TRUE;

  job->first = first;
  ra_jobs_run(n - first, job->options->n_threads, run_one, job);
  for (guint i = first; i < n; i++) {
    if (!errors[i])
      continue;
    if (ok)
      g_propagate_error(error, errors[i]);
    else
      g_error_free(errors[i]);
    ok = FALSE;
  }
  return ok;
}

gboolean
ra_contest_families(RaContest *contest, const RaSetup *setup,
                    const RaContestOptions *options, const RaUntil *until,
                    GError **error)
{
  Job job = {contest, setup, options, TRUE, until, 0, NULL, 0, 0};

  return run_all(&job, 0, error);
}

gboolean
ra_contest_measure(RaContest *contest, guint first, const RaSetup *setup,
                   const RaContestOptions *options, GError **error)
{
  Job job = {contest, setup, options, FALSE, options->whole, 0, NULL, 0, 0};

  return run_all(&job, first, error);
}
