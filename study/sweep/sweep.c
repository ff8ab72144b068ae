/* Sweep: runs the points of a study that the cache lacks. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "study/model_error.h"
#include "study/sweep/deal.h"
#include "study/sweep/sweep.h"

/* A sweep while it runs. */
typedef struct {
  RaSweep *sweep;
  const RaSweepOptions *options;
  guint n;              /* trials: draws of all points, point by point */
  guint n_draws;        /* of a point */
  RaStudyPoint *points; /* (n) */
  RaTrial *trials;      /* (n) */
  uint64_t *keys;       /* (n) */
  guint *whose;         /* (n_new): trials that are not in the cache */
  guint n_new;
  guint n_done;
} Job;

static void
tell(const Job *job)
{
  if (job->options->progress)
    job->options->progress(job->n_done, job->n, job->sweep->n_cached,
                           job->options->data);
}

static void
on_done(guint index, const RaTrial *trial, void *data)
{
  Job *job = data;
  RaPointCache *cache = job->options->cache;

  if (cache && !ra_point_cache_put(cache, job->keys[job->whose[index]], trial))
    job->sweep->is_kept = FALSE;
  job->n_done++;
  tell(job);
}

/* Reads the cached points; lists the others. */
static void
look_up(Job *job)
{
  RaSweep *sweep = job->sweep;
  RaPointCache *cache = job->options->cache;

  for (guint i = 0; i < job->n; i++) {
    const RaTrialSpec *spec = &job->points[i].spec;

    if (cache) {
      job->keys[i] = ra_point_cache_key(cache, spec);
      if (ra_point_cache_get(cache, job->keys[i], &job->trials[i])) {
        sweep->n_cached++;
        continue;
      }
    }
    job->whose[job->n_new++] = i;
  }
  job->n_done = sweep->n_cached;
}

char *
ra_sweep_stopped_line(guint n_done, guint n_points, gboolean is_kept)
{
  return g_strdup_printf("stopped after %u of %u points%s", n_done, n_points,
                         is_kept ? ", which are kept" : "");
}

static char *
stopped_line(const Job *job)
{
  return ra_sweep_stopped_line(job->n_done, job->n,
                               job->options->cache != NULL);
}

/* The work of other processes ends with them. */
static void
on_stopped(void *data)
{
  const Job *job = data;
  RaWorld *world = job->options->world;
  g_autoptr(GError) error = g_error_new(RA_ERROR, RA_ERROR_NEGATIVE, "stopped");
  g_autofree char *line = stopped_line(job);

  world->table->fail(world, ra_error_exit_status(error), 0, line);
}

/* All processes have the same points, and the same program for them. */
static gboolean
agree(const Job *job, GError **error)
{
  g_autoptr(RaPointCache) cache = ra_point_cache_new(NULL); /* for its keys */
  uint64_t hash = RA_HASH_INIT;

  for (guint i = 0; i < job->n; i++)
    hash = ra_hash_u64(hash, ra_point_cache_key(cache, &job->points[i].spec));
  return ra_world_agree(job->options->world, hash, "the study", error);
}

/* The same by all processes of a world; then each has what came of it. */
static void
run_in_world(Job *job, RaTrial *trials)
{
  const RaSweepOptions *o = job->options;
  g_autofree RaTrialSpec *specs = g_new0(RaTrialSpec, job->n);

  for (guint i = 0; i < job->n; i++)
    specs[i] = job->points[i].spec;
  if (o->world->process > 0) {
    ra_deal_serve(o->world, specs, o->n_threads);
  } else {
    ra_deal_trials(o->world, specs, job->whose, job->n_new, o->n_threads,
                   o->stop, on_stopped, on_done, job, trials);
    for (guint i = 0; i < job->n_new; i++)
      job->trials[job->whose[i]] = trials[i];
  }
  ra_deal_share(o->world, job->trials, job->n);
}

/* Runs the others; FALSE: it was stopped. */
static gboolean
run_new(Job *job)
{
  g_autofree RaTrialSpec *specs = g_new0(RaTrialSpec, job->n_new + 1);
  g_autofree RaTrial *trials = g_new0(RaTrial, job->n_new + 1);
  guint n_run;

  for (guint i = 0; i < job->n_new; i++)
    specs[i] = job->points[job->whose[i]].spec;
  tell(job);
  if (job->options->world) {
    run_in_world(job, trials);
    return TRUE;
  }
  n_run = ra_trials_run(specs, job->n_new, job->options->n_threads,
                        job->options->stop, on_done, job, trials);
  for (guint i = 0; i < job->n_new; i++)
    job->trials[job->whose[i]] = trials[i];
  return n_run == job->n_new;
}

/* Puts the draws of point @i together: means, the most of memory, and by how
 * much they differ; takes them. */
static void
put_together(Job *job, guint i)
{
  RaSweepPoint *out = &job->sweep->points[i];
  RaTrial *draws = &job->trials[i * job->n_draws];
  guint n = job->n_draws;
  double s = 0, tokens = 0, usd = 0, mfu = 0, square = 0;

  for (guint d = 1; d < n && !draws[0].refusal; d++)
    if (draws[d].refusal) {
      draws[0].refusal = g_steal_pointer(&draws[d].refusal);
      draws[0].is_fault = draws[d].is_fault;
    }
  for (guint d = 0; d < n; d++) {
    s += draws[d].iteration_s / n;
    tokens += draws[d].tokens_per_s * draws[d].iteration_s / n;
    usd += draws[d].usd / n;
    mfu += draws[d].mfu_frac * draws[d].iteration_s / n;
  }
  for (guint d = 0; d < n; d++)
    square += (draws[d].iteration_s - s) * (draws[d].iteration_s - s);
  out->trial = draws[0];
  out->draws_frac = n > 1 ? sqrt(square / (n - 1)) / s : (double)NAN;
  out->error_frac = draws[0].error.frac;
  for (guint d = 1; d < n; d++) {
    out->trial.peak_bytes = MAX(out->trial.peak_bytes, draws[d].peak_bytes);
    ra_trial_clear(&draws[d]);
  }
  if (n == 1 || out->trial.refusal)
    return;
  out->trial.iteration_s = s;
  out->trial.tokens_per_s = tokens / s;
  out->trial.usd = usd;
  out->trial.mfu_frac = mfu / s;
  /* The median size of the mean's own error beside the model's. */
  out->error_frac = hypot(isfinite(out->error_frac) ? out->error_frac : 0,
                          out->draws_frac / sqrt(n) / RA_ERROR_SIGMA);
}

static void
fill(RaSweepPoint *out, const RaStudy *study, const RaStudyPoint *point)
{
  RaFigures *f = &out->figures;

  f->trial = &out->trial;
  f->n_runs = point->n_runs;
  f->has_failures = point->has_failures && !out->trial.refusal;
  if (f->has_failures)
    f->goodput = ra_goodput(&point->failures, out->trial.n_gpus);
  out->is_allowed = !out->trial.refusal && ra_study_allows(study, f);
}

/* Where no point can be read, why the first cannot. */
static gboolean
check_faults(const RaSweep *sweep, GError **error)
{
  const RaTrial *first = &sweep->points[0].trial;

  for (guint i = 0; i < sweep->n; i++)
    if (!sweep->points[i].trial.refusal || !sweep->points[i].trial.is_fault)
      return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: no point can be run: %s",
              ra_key_file_name(sweep->study->file), first->refusal);
  return FALSE;
}

static gboolean
run(Job *job, GError **error)
{
  RaSweep *sweep = job->sweep;

  if (job->options->world && !agree(job, error))
    return FALSE;
  look_up(job);
  if (!run_new(job)) {
    g_autofree char *line = stopped_line(job);

    for (guint i = 0; i < job->n; i++)
      ra_trial_clear(&job->trials[i]);
    g_set_error_literal(error, RA_ERROR, RA_ERROR_NEGATIVE, line);
    return FALSE;
  }
  for (guint i = 0; i < sweep->n; i++) {
    put_together(job, i);
    fill(&sweep->points[i], sweep->study, &job->points[i * job->n_draws]);
  }
  return check_faults(sweep, error);
}

RaSweep *
ra_sweep_new(const RaStudy *study, const RaSetupFlags *flags,
             const RaSweepOptions *options, GError **error)
{
  g_autoptr(RaSweep) sweep = g_new0(RaSweep, 1);
  Job job = {.sweep = sweep, .options = options};
  gboolean ok;

  g_return_val_if_fail(study && flags && options, NULL);
  sweep->study = study;
  sweep->n = study->n_points;
  sweep->is_kept = TRUE;
  sweep->points = g_new0(RaSweepPoint, sweep->n);
  job.n_draws = study->n_draws;
  job.n = sweep->n * job.n_draws;
  job.points = g_new0(RaStudyPoint, job.n);
  job.trials = g_new0(RaTrial, job.n);
  job.keys = g_new0(uint64_t, job.n);
  job.whose = g_new0(guint, job.n);
  for (guint i = 0; i < job.n; i++) {
    ra_study_point(study, flags, i / job.n_draws, &job.points[i]);
    job.points[i].spec.replay.seed += i % job.n_draws;
  }
  ok = run(&job, error);
  for (guint i = 0; i < job.n; i++)
    ra_study_point_clear(&job.points[i]);
  g_free(job.points);
  g_free(job.trials);
  g_free(job.keys);
  g_free(job.whose);
  return ok ? g_steal_pointer(&sweep) : NULL;
}

void
ra_sweep_free(RaSweep *sweep)
{
  if (!sweep)
    return;
  for (guint i = 0; i < sweep->n; i++)
    ra_trial_clear(&sweep->points[i].trial);
  g_free(sweep->points);
  ra_study_free(sweep->refined);
  g_free(sweep);
}

/* TRUE if some point has @metric. */
static gboolean
is_known(const RaSweep *sweep, const RaMetric *metric)
{
  for (guint i = 0; i < sweep->n; i++)
    if (!sweep->points[i].trial.refusal &&
        isfinite(ra_metric_value(metric, &sweep->points[i].figures)))
      return TRUE;
  return FALSE;
}

/* Two cells: if a point fits, and why it has no figures. */
static void
add_fit(RaTable *table, const RaTrial *trial, guint n_chars)
{
  g_autofree char *valid = NULL, *cut = NULL, *shown = NULL;

  if (!trial->refusal) {
    ra_table_truth(table, ra_trial_fits(trial));
    ra_table_missing(table);
    return;
  }
  valid = g_utf8_make_valid(trial->refusal, -1);
  if ((guint)g_utf8_strlen(valid, -1) > n_chars) {
    cut = g_utf8_substring(valid, 0, (glong)n_chars - 3);
    shown = g_strconcat(cut, "...", NULL);
  }
  ra_table_missing(table);
  ra_table_text(table, shown ? shown : valid);
}

static void
add_row(RaTable *table, const RaSweep *sweep, guint i, const gboolean *known,
        guint n_chars)
{
  const RaStudy *study = sweep->study;
  const RaSweepPoint *p = &sweep->points[i];
  guint n;
  const RaMetric *metrics = ra_metrics(&n);

  ra_table_row(table);
  for (guint a = 0; a < study->n_axes; a++)
    ra_table_text(table, study->axes[a].labels[ra_study_value(study, i, a)]);
  for (guint m = 0; m < n; m++)
    if (known[m])
      ra_metric_cell(&metrics[m], table,
                     p->trial.refusal
                         ? (double)NAN
                         : ra_metric_value(&metrics[m], &p->figures));
  if (study->n_draws > 1)
    ra_table_real(table, p->trial.refusal ? (double)NAN : p->draws_frac);
  ra_table_real(table, p->trial.refusal ? (double)NAN : p->error_frac);
  ra_table_truth(table, p->is_allowed);
  add_fit(table, &p->trial, n_chars);
}

RaTable *
ra_sweep_table(const RaSweep *sweep, guint n_chars)
{
  const RaStudy *study = sweep->study;
  RaTable *table = ra_table_new("points");
  guint n;
  const RaMetric *metrics = ra_metrics(&n);
  g_autofree gboolean *known = g_new0(gboolean, n);

  for (guint a = 0; a < study->n_axes; a++)
    ra_table_column(table, study->axes[a].name, RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint m = 0; m < n; m++) {
    known[m] = is_known(sweep, &metrics[m]);
    if (known[m])
      ra_table_column(table, metrics[m].column, metrics[m].unit,
                      metrics[m].cell);
  }
  if (study->n_draws > 1)
    ra_table_column(table, "sd_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "error_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "allowed", RA_UNIT_NONE, RA_CELL_TRUTH);
  ra_table_column(table, "fits", RA_UNIT_NONE, RA_CELL_TRUTH);
  ra_table_column(table, "refusal", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < sweep->n; i++)
    add_row(table, sweep, i, known, n_chars);
  return table;
}
