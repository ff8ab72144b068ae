/* Set of trainers' logs: constants of an installation from the first third of
 * its steps, and the later ones, with their own lengths, under them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimator/robust.h"
#include "study/run/log_compare.h"
#include "study/validate/step_row.h"
#include "study/validate/validate_impl.h"

#define FIELD(name) G_STRUCT_OFFSET(RaLogStep, name)

/* RaLogSetup: published step @data with the lengths of the steps. */
static RaSetup *
setup_of(gconstpointer data, const RaStepLog *log, guint first, guint last,
         GError **error)
{
  RaStepRow row = *(const RaStepRow *)data;
  double prompt = ra_step_log_median(log, first, last, FIELD(prompt_mean));
  double mean = ra_step_log_median(log, first, last, FIELD(response_mean));
  double tokens = ra_step_log_median(log, first, last, FIELD(tokens));

  if (prompt > 0)
    row.prompt_mean = prompt;
  if (mean > 0)
    row.response_mean = mean;
  if (tokens > 0)
    row.total_tokens = tokens;
  return ra_published_setup(&row, NULL, error);
}

/* The first row of the log's source that can be predicted. */
static const RaStepRow *
row_of(const GArray *rows, const char *source)
{
  for (guint i = 0; i < rows->len; i++) {
    const RaStepRow *row = &g_array_index(rows, RaStepRow, i);
    g_autoptr(RaSetup) setup = NULL;

    if (!g_str_equal(row->cell[RA_STEP_CELL_SOURCE], source) ||
        !g_str_equal(row->cell[RA_STEP_CELL_PROVENANCE], "attributed") ||
        !g_str_equal(row->cell[RA_STEP_CELL_COMPLETENESS], "A"))
      continue;
    setup = ra_published_setup(row, NULL, NULL);
    if (setup)
      return row;
  }
  return NULL;
}

/* Median error of the later steps if each took @median_s. */
static double
constant_error(const GArray *later, double median_s)
{
  g_autofree double *errors = g_new(double, later->len + 1);

  for (guint i = 0; i < later->len; i++)
    errors[i] =
        fabs(median_s / g_array_index(later, RaLogLater, i).measured_s - 1);
  return ra_robust_quantile(errors, later->len, 0.5);
}

/* Steps by which a line is laid, evenly spaced. */
#define LINE_STEPS 60

/* Median error of @n steps of @tokens and @seconds by the line through two of
 * them whose mean error is least. */
static double
least_line_error(const double *tokens, const double *seconds, guint n)
{
  double errors[LINE_STEPS], least = (double)INFINITY, median = NAN;

  for (guint a = 0; a < n; a++)
    for (guint b = 0; b < a; b++) {
      double slope = (seconds[a] - seconds[b]) / (tokens[a] - tokens[b]);
      double sum = 0;

      for (guint i = 0; i < n; i++) {
        double s = seconds[a] + slope * (tokens[i] - tokens[a]);

        errors[i] = fabs(s / seconds[i] - 1);
        sum += errors[i];
      }
      if (!(sum < least))
        continue;
      least = sum;
      median = ra_robust_quantile(errors, n, 0.5);
    }
  return median;
}

/* Median error of the later steps of @log by the straight line in their mean
 * length that fits them best, themselves seen: what lengths do not tell. */
static double
line_error(const RaStepLog *log)
{
  guint first = MAX(2, log->steps->len / 3), n = 0;
  guint stride = (log->steps->len - first) / LINE_STEPS + 1;
  double tokens[LINE_STEPS], seconds[LINE_STEPS];

  for (guint i = first; i < log->steps->len && n < LINE_STEPS; i += stride) {
    const RaLogStep *step = &g_array_index(log->steps, RaLogStep, i);

    if (step->response_mean <= 0 || step->times.s[RA_STEP_TOTAL] <= 0)
      continue;
    tokens[n] = step->response_mean;
    seconds[n++] = step->times.s[RA_STEP_TOTAL];
  }
  return least_line_error(tokens, seconds, n);
}

static gboolean
score(RaValidateJob *job, const char *path, const char *source,
      const RaStepRow *row, GError **error)
{
  g_autoptr(RaStepLog) log = ra_step_log_load(path, error);
  g_autoptr(GPtrArray) keys = g_ptr_array_new();
  g_autoptr(GArray) later = NULL;
  g_autoptr(GString) fitted = g_string_new(NULL);
  RaSystemConstants constants;

  if (!log ||
      !ra_step_log_constants(setup_of, row, log, &constants, keys, error))
    return FALSE;
  later = ra_step_log_later(setup_of, row, log, &constants, error);
  if (!later)
    return FALSE;
  if (later->len == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "no step has its seconds");
    return FALSE;
  }
  for (guint i = 0; i < keys->len; i++)
    g_string_append_printf(fitted, "%s%s %.4g", i ? ", " : "",
                           (const char *)keys->pdata[i],
                           *ra_system_constant(&constants, keys->pdata[i]));
  ra_validate_note(
      job,
      "%s: %u steps; fitted %s; if all took the median of the "
      "first third, the median error were %.1f %%; the line in their mean "
      "length that fits the later steps best leaves %.1f %%",
      source, log->steps->len, fitted->str,
      100 * constant_error(
                later, ra_step_log_median(log, 1, MAX(2, log->steps->len / 3),
                                          FIELD(times.s[RA_STEP_TOTAL]))),
      100 * line_error(log));
  for (guint i = 0; i < later->len; i++) {
    const RaLogLater *one = &g_array_index(later, RaLogLater, i);
    RaValidateRow out = {RA_VALIDATE_ROW, .file = g_intern_string(path),
                         .line = (guint)one->step, .measured = one->measured_s,
                         .predicted = one->predicted_s};

    out.name = g_strdup_printf("%s step %" G_GUINT64_FORMAT, source,
                               (guint64)one->step);
    out.part = g_intern_string(source);
    ra_validate_add(job, out);
  }
  return TRUE;
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* (transfer full) (element-type utf8): the logs of @folder, by name. */
static GPtrArray *
logs_of(const char *folder)
{
  g_autofree char *path = g_build_filename(folder, "rl_steps", "logs", NULL);
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  GDir *dir = g_dir_open(path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name(dir)))
    if (g_str_has_suffix(name, ".csv"))
      g_ptr_array_add(names, g_build_filename(path, name, NULL));
  if (dir)
    g_dir_close(dir);
  g_ptr_array_sort(names, by_name);
  return names;
}

gboolean
ra_validate_logs(const RaValidateLevel *level, RaValidateJob *job,
                 GError **error)
{
  for (guint f = 0; job->folders[f]; f++) {
    g_autoptr(GArray) rows = ra_published_rows(job->folders[f], error);
    g_autoptr(GPtrArray) logs = logs_of(job->folders[f]);

    if (!rows)
      return FALSE;
    for (guint i = 0; i < logs->len; i++) {
      g_autofree char *source = g_path_get_basename(logs->pdata[i]);
      g_autoptr(GError) reason = NULL;
      const RaStepRow *row;

      source[strlen(source) - strlen(".csv")] = '\0';
      row = row_of(rows, source);
      if (!row || !score(job, logs->pdata[i], source, row, &reason))
        ra_validate_note(job, "%s: not predicted: %s", source,
                         reason ? reason->message
                                : "no whole row of its plan and GPUs");
    }
  }
  return TRUE;
}
