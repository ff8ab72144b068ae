/* Trials: one plan replayed and reduced to its figures. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/jobs.h"
#include "base/text.h"
#include "search/family/strategy.h"
#include "sim/breakdown.h"
#include "sim/memory_replay.h"
#include "study/contest/contest.h"
#include "study/sweep/trial.h"

/* --- a plan by a family or by search --- */

/* Text of the plan of @kind; NULL with @error. */
static char *
family_text(const RaTrialSpec *spec, const RaSetup *setup, int kind,
            GError **error)
{
  RaStrategyOptions options = {.kind = (RaStrategyKind)kind,
                               .batching = spec->batching};
  g_autoptr(RaDraft) draft = NULL;

  if (kind == RA_STRATEGY_DISAGGREGATED || kind == RA_STRATEGY_HYBRIDFLOW) {
    options.split = spec->split;
    options.n_split = spec->n_split;
  }
  draft = ra_strategy_plan(setup->workload, setup->cluster, setup->estimator,
                           &options, error);
  /* Its files are the setup's, whatever it calls them. */
  return draft ? ra_draft_write(draft, "a.workload", "a.cluster", NULL, error)
               : NULL;
}

static char *
search_text(const RaTrialSpec *spec, RaSetup *setup, GError **error)
{
  RaContestOptions options = {.kind = RA_SPACE_COMMON,
                              .n_iterations = MAX(spec->replay.n_iterations, 2),
                              .seed = spec->replay.seed,
                              .n_steps = spec->n_steps,
                              .n_threads = 1,
                              .workload = "a.workload",
                              .cluster = "a.cluster"};
  g_autoptr(RaContest) contest = ra_contest_new(setup, &options, error);

  if (!contest)
    return NULL;
  if (contest->winner != RA_NONE)
    return g_strdup(
        g_array_index(contest->contenders, RaContender, contest->winner).text);
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE, "no plan that fits");
  return NULL;
}

/* Reads the plan into @setup. */
static gboolean
place(const RaTrialSpec *spec, RaSetup *setup, GError **error)
{
  g_autofree char *text = NULL;
  int kind = 0;

  while (ra_strategy_names[kind] &&
         !g_str_equal(ra_strategy_names[kind], spec->placement))
    kind++;
  text = ra_strategy_names[kind] ? family_text(spec, setup, kind, error)
                                 : search_text(spec, setup, error);
  return text && ra_setup_read_plan(setup, spec->placement, text, error);
}

/* --- a trial --- */

static void
measure(const RaSetup *setup, const RaReplay *replay, RaTrial *trial)
{
  g_autoptr(RaBreakdown) breakdown =
      ra_breakdown_new(replay->sim, replay->graph);
  g_autoptr(RaMemoryTable) table = ra_memory_table_new(replay->graph);
  g_autoptr(RaMemoryReplay) memory = ra_memory_replay_new(replay->sim, table);

  trial->iteration_s = breakdown->iteration_s;
  trial->tokens_per_s = breakdown->tokens_per_s;
  trial->mfu_frac = breakdown->mfu_frac;
  trial->usd = breakdown->usd;
  ra_model_error(setup, replay->estimator, replay->graph, replay->sim,
                 &trial->error);
  trial->n_gpus = breakdown->n_gpus;
  trial->capacity_bytes = memory->capacity_bytes;
  if (memory->fullest != RA_NONE)
    trial->peak_bytes = memory->lanes[memory->fullest].peak_bytes;
  trial->fingerprint = ra_sim_result(replay->sim)->fingerprint;
}

void
ra_trial_run(const RaTrialSpec *spec, RaTrial *out_trial)
{
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaReplay) replay = NULL;
  GError *error = NULL;

  g_return_if_fail(spec && (spec->plan || spec->placement) && out_trial);
  memset(out_trial, 0, sizeof *out_trial);
  setup = spec->plan
              ? ra_setup_load(spec->plan, RA_FILE_PLAN, &spec->flags, &error)
              : ra_setup_load_pair(&spec->flags, &error);
  if (setup)
    out_trial->files = ra_setup_files(setup, spec->plan != NULL);
  if (setup && (spec->plan || place(spec, setup, &error)))
    replay = ra_replay_new(setup, &spec->replay, &error);
  if (replay) {
    measure(setup, replay, out_trial);
    return;
  }
  out_trial->is_fault = !g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE);
  out_trial->refusal = g_strdup(error->message);
  g_error_free(error);
}

void
ra_trial_clear(RaTrial *trial)
{
  g_clear_pointer(&trial->refusal, g_free);
  g_clear_pointer(&trial->files, g_strfreev);
}

gboolean
ra_trial_fits(const RaTrial *trial)
{
  return !trial->refusal && trial->peak_bytes <= trial->capacity_bytes;
}

/* --- many --- */

typedef struct {
  const RaTrialSpec *specs;
  const gint *stop;
  RaTrialDone done;
  void *data; /* of it */
  RaTrial *trials;
  GMutex lock; /* of done and n_run */
  guint n_run;
} Job;

static void
run_one(guint i, guint thread, gpointer data)
{
  Job *job = data;

  (void)thread;
  if (job->stop && g_atomic_int_get(job->stop))
    return;
  ra_trial_run(&job->specs[i], &job->trials[i]);
  g_mutex_lock(&job->lock);
  job->n_run++;
  if (job->done)
    job->done(i, &job->trials[i], job->data);
  g_mutex_unlock(&job->lock);
}

void
ra_trial_count(guint index, const RaTrial *trial, void *data)
{
  RaTrialCount *count = data;

  (void)index;
  (void)trial;
  if (count)
    g_atomic_int_inc(&count->n_done);
}

guint
ra_trials_run(const RaTrialSpec *specs, guint n, guint n_threads,
              const gint *stop, RaTrialDone done, void *data,
              RaTrial *out_trials)
{
  Job job = {.specs = specs,
             .stop = stop,
             .done = done,
             .data = data,
             .trials = out_trials};

  g_return_val_if_fail((specs && out_trials) || n == 0, 0);
  memset(out_trials, 0, n * sizeof *out_trials);
  g_mutex_init(&job.lock);
  ra_jobs_run(n, n_threads, run_one, &job);
  g_mutex_clear(&job.lock);
  return job.n_run;
}
