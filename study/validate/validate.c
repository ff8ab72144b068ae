/* Validation: collects benchmark sets and scores them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/jobs.h"
#include "estimator/robust.h"
#include "study/validate/validate.h"

/* One level on its way through the threads. */
typedef struct {
  const RaValidateLevel *level;
  RaValidateJob job;
  GError *error; /* owned */
} Work;

typedef struct {
  const RaValidateOptions *options;
  GArray *works; /* (Work) */
  GMutex mutex;  /* guards the progress */
} Run;

static void
row_clear(gpointer data)
{
  RaValidateRow *row = data;

  g_free(row->name);
  g_free(row->fold);
  g_free(row->group);
  g_free(row->repeat);
}

void
ra_validate_add(RaValidateJob *job, RaValidateRow row)
{
  g_return_if_fail(row.measured > 0 && isfinite(row.measured));
  g_return_if_fail(row.predicted >= 0 && isfinite(row.predicted));
  g_array_append_val(job->rows, row);
}

void
ra_validate_set_bars(RaValidateJob *job, const char *part, double median_bar,
                     double p90_bar)
{
  RaValidateBar bar = {g_intern_string(part), median_bar, p90_bar};

  g_array_append_val(job->bars, bar);
}

void
ra_validate_note(RaValidateJob *job, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  g_ptr_array_add(job->notes, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

static void
work_clear(Work *work)
{
  g_clear_pointer(&work->job.rows, g_array_unref);
  g_clear_pointer(&work->job.notes, g_ptr_array_unref);
  g_clear_pointer(&work->job.bars, g_array_unref);
  g_clear_error(&work->error);
}

/* The rows of a level that reads one folder at a time. */
static gboolean
collect_each(Work *work)
{
  const char *const *folders = work->job.folders;
  gboolean many = folders[1] != NULL;

  for (guint i = 0; folders[i]; i++) {
    g_autofree char *path =
        g_build_filename(folders[i], work->level->source, NULL);

    work->job.data = folders[i];
    if ((!many || g_file_test(path, G_FILE_TEST_IS_DIR)) &&
        !work->level->collect(work->level, &work->job, &work->error))
      return FALSE;
  }
  return TRUE;
}

static void
collect(guint i, guint thread, gpointer data)
{
  Run *run = data;
  Work *work = &g_array_index(run->works, Work, i);
  const RaValidateOptions *options = run->options;
  gboolean ok =
      work->level->joins
          ? work->level->collect(work->level, &work->job, &work->error)
          : collect_each(work);

  (void)thread;
  if (!ok && !work->error)
    g_assert_not_reached(); /* a failure without a reason */
  if (!options->progress)
    return;
  g_mutex_lock(&run->mutex);
  options->progress(work->level, options->progress_data);
  g_mutex_unlock(&run->mutex);
}

/* The levels of @levels that the options ask for, (Work). */
static GArray *
choose(const RaValidateLevel *levels, guint n_levels,
       const RaValidateOptions *options, const GPtrArray *folders,
       RaValidateShared *shared)
{
  GArray *works = g_array_new(FALSE, TRUE, sizeof(Work));
  RaValidateModes mode =
      options->cross ? RA_VALIDATE_CROSS : RA_VALIDATE_SHIPPED;

  for (guint i = 0; i < n_levels; i++) {
    Work work = {.level = &levels[i],
                 .job = {.data = options->data,
                         .folders = (const char *const *)folders->pdata,
                         .cross = options->cross,
                         .quick = options->quick,
                         .shared = shared}};

    if (!(levels[i].modes & mode) ||
        (options->pattern &&
         !g_pattern_match_simple(options->pattern, levels[i].id)))
      continue;
    work.job.rows = g_array_new(FALSE, FALSE, sizeof(RaValidateRow));
    g_array_set_clear_func(work.job.rows, row_clear);
    work.job.notes = g_ptr_array_new_with_free_func(g_free);
    work.job.bars = g_array_new(FALSE, FALSE, sizeof(RaValidateBar));
    g_array_append_val(works, work);
  }
  return works;
}

static void
collect_all(GArray *works, const RaValidateOptions *options)
{
  Run run = {.options = options, .works = works};

  g_mutex_init(&run.mutex);
  ra_jobs_run(works->len, options->n_threads, collect, &run);
  g_mutex_clear(&run.mutex);
}

/* A level that could not be read has no rows and says why. */
static void
take_fault(Work *work, RaValidation *v)
{
  if (!work->error)
    return;
  g_array_set_size(work->job.rows, 0);
  g_ptr_array_set_size(work->job.notes, 0);
  ra_validate_note(&work->job, "not scored: %s", work->error->message);
  if (!v->fault)
    v->fault = g_steal_pointer(&work->error);
}

/* Scores every part of a level, in the order in which they come. */
static void
score_parts(const Work *work, GArray *scores)
{
  const RaValidateLevel *level = work->level;
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

  for (guint i = 0; i < work->job.rows->len; i++) {
    const RaValidateRow *row = &g_array_index(work->job.rows, RaValidateRow, i);
    RaValidateScore score;

    if (!g_hash_table_add(seen, (gpointer)row->part))
      continue;
    score = ra_validate_score(work->job.rows, row->part);
    score.level = level;
    score.median_bar = level->median_bar;
    score.p90_bar = level->p90_bar;
    for (guint b = 0; b < work->job.bars->len; b++) {
      const RaValidateBar *bar =
          &g_array_index(work->job.bars, RaValidateBar, b);

      if (bar->part == row->part) {
        score.median_bar = bar->median_bar;
        score.p90_bar = bar->p90_bar;
      }
    }
    if (!level->scored)
      score.median_bar = score.p90_bar = 0;
    g_array_append_val(scores, score);
  }
}

static void
result_clear(gpointer data)
{
  RaValidateResult *result = data;

  g_array_unref(result->rows);
  g_ptr_array_unref(result->notes);
}

static RaValidation *
gather_results(GArray *works)
{
  RaValidation *v = g_new0(RaValidation, 1);

  v->results = g_array_new(FALSE, FALSE, sizeof(RaValidateResult));
  g_array_set_clear_func(v->results, result_clear);
  v->scores = g_array_new(FALSE, FALSE, sizeof(RaValidateScore));
  for (guint i = 0; i < works->len; i++) {
    Work *work = &g_array_index(works, Work, i);
    RaValidateResult result = {.level = work->level,
                               .first_score = v->scores->len};

    take_fault(work, v);
    if (work->job.rows->len == 0 && work->job.notes->len == 0)
      continue;
    score_parts(work, v->scores);
    result.n_scores = v->scores->len - result.first_score;
    result.rows = g_steal_pointer(&work->job.rows);
    result.notes = g_steal_pointer(&work->job.notes);
    g_array_append_val(v->results, result);
  }
  return v;
}

/* Nothing to score: why. */
static void
no_scores(RaValidation **v, const char *data, GError **error)
{
  const RaValidateResult *first =
      (*v)->results->len > 0
          ? &g_array_index((*v)->results, RaValidateResult, 0)
          : NULL;

  if ((*v)->fault)
    g_propagate_error(error, g_steal_pointer(&(*v)->fault));
  else if (first)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no measurements that can be scored; %s: %s", data,
                first->level->id, (char *)first->notes->pdata[0]);
  else
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no measurements that can be scored, expected "
                "kernels_gemm/gemm_h100_bf16*.csv and the like",
                data);
  g_clear_pointer(v, ra_validation_free);
}

/* (transfer container) (element-type filename): all folders, NULL behind the
 * last. */
static GPtrArray *
find_folders(const RaValidateOptions *options, GError **error)
{
  g_autoptr(GPtrArray) folders = g_ptr_array_new();

  g_ptr_array_add(folders, (gpointer)options->data);
  for (guint i = 0; options->more && options->more[i]; i++)
    g_ptr_array_add(folders, (gpointer)options->more[i]);
  for (guint i = 0; i < folders->len; i++) {
    const char *folder = g_ptr_array_index(folders, i);

    if (g_file_test(folder, G_FILE_TEST_IS_DIR))
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: not a folder, expected a folder of measurements", folder);
    return NULL;
  }
  g_ptr_array_add(folders, NULL);
  return g_steal_pointer(&folders);
}

RaValidation *
ra_validate_levels(const RaValidateLevel *levels, guint n_levels,
                   const RaValidateOptions *options, GError **error)
{
  g_autoptr(GArray) works = NULL;
  g_autoptr(GPtrArray) folders = find_folders(options, error);
  RaValidateShared shared = {.steps = NULL};
  RaValidation *v = NULL;

  if (!folders)
    return NULL;
  g_mutex_init(&shared.mutex);
  works = choose(levels, n_levels, options, folders, &shared);
  if (works->len == 0)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "no benchmark set '%s'%s, expected an id or a pattern of ids "
                "such as 'gemm-*'",
                options->pattern, options->cross ? " with --cross" : "");
  else {
    collect_all(works, options);
    v = gather_results(works);
  }
  for (guint i = 0; i < works->len; i++)
    work_clear(&g_array_index(works, Work, i));
  g_clear_pointer(&shared.steps, g_array_unref);
  g_mutex_clear(&shared.mutex);
  if (v && v->scores->len == 0)
    no_scores(&v, options->data, error);
  return v;
}
void
ra_validation_free(RaValidation *validation)
{
  if (validation == NULL)
    return;
  g_array_unref(validation->results);
  g_array_unref(validation->scores);
  g_clear_error(&validation->fault);
  g_free(validation);
}
