/* The axes of a study, and its points. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "search/family/strategy.h"
#include "study/change.h"
#include "study/sweep/study_impl.h"

#define MAX_WEIGHT 1000000
#define LOG_RATIO 8.0 /* numbers that span more are on a logarithmic scale */

static const struct {
  const char *name;
  RaAxisKind kind;
  int file; /* RaFileKind; -1: none */
} words[] = {
    {"plan", RA_AXIS_PLAN, RA_FILE_PLAN},
    {"workload", RA_AXIS_WORKLOAD, RA_FILE_WORKLOAD},
    {"cluster", RA_AXIS_CLUSTER, RA_FILE_CLUSTER},
    {"profile", RA_AXIS_PROFILE, RA_FILE_PROFILE},
    {"system", RA_AXIS_SYSTEM, RA_FILE_SYSTEM},
    {"placement", RA_AXIS_PLACEMENT, -1},
    {"split", RA_AXIS_SPLIT, -1},
    {"batching", RA_AXIS_BATCHING, -1},
    {"seed", RA_AXIS_SEED, -1},
    {"runs", RA_AXIS_RUNS, -1},
};

/* The kind of a key, and of what file it is the name. */
static RaAxisKind
kind_of(const char *key, int *out_file)
{
  *out_file = -1;
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (g_str_equal(words[i].name, key)) {
      *out_file = words[i].file;
      return words[i].kind;
    }
  return g_str_has_prefix(key, "failures.") ? RA_AXIS_FAILURES : RA_AXIS_CHANGE;
}

/* Parses `4:1` into @out (RA_STUDY_SPLIT_MAX); 0: invalid. */
static guint
split_counts(const char *text, uint32_t *out)
{
  g_auto(GStrv) parts = g_strsplit(text, ":", -1);
  guint n = 0;

  for (; parts[n]; n++) {
    uint64_t value;

    if (n == RA_STUDY_SPLIT_MAX || !ra_text_uint64(parts[n], &value) ||
        value < 1 || value > MAX_WEIGHT)
      return 0;
    out[n] = (uint32_t)value;
  }
  return n;
}

/* TRUE if @value will do for a key that names no file. */
static gboolean
check_word(const RaStudy *study, RaAxisKind kind, const char *key,
           const char *value, GError **error)
{
  g_autofree char *text = NULL;
  g_auto(RaChange) change = {.text = NULL};
  RaFailures failures = {.gpu_mtbf_s = 1};
  uint32_t split[RA_STUDY_SPLIT_MAX];
  uint64_t number = 0;
  gboolean ok = TRUE;

  switch (kind) {
  case RA_AXIS_CHANGE:
    text = g_strdup_printf("%s=%s", key, value);
    return ra_change_parse(text, &change, error);
  case RA_AXIS_FAILURES:
    if (study->has_failures)
      return ra_study_set_failures(&failures, key, value, error);
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' without [failures], expected that group above it", key);
    return FALSE;
  case RA_AXIS_PLACEMENT:
    ok = g_str_equal(value, "search") ||
         g_strv_contains(ra_strategy_names, value);
    break;
  case RA_AXIS_SPLIT:
    ok = split_counts(value, split) > 0;
    break;
  case RA_AXIS_BATCHING:
    ok = g_strv_contains(ra_strategy_batchings, value);
    break;
  case RA_AXIS_SEED:
  case RA_AXIS_RUNS:
    ok = ra_text_uint64(value, &number) &&
         (kind == RA_AXIS_SEED || (number >= 1 && number <= MAX_WEIGHT));
    break;
  default:
    break;
  }
  if (!ok)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "'%s' is not a value of %s",
                value, key);
  return ok;
}

/* One value, with its file found. */
static char *
read_value(const RaStudy *study, const char *key, const char *value,
           GError **error)
{
  int file;
  RaAxisKind kind = kind_of(key, &file);

  if (file < 0)
    return check_word(study, kind, key, value, error) ? g_strdup(value) : NULL;
  if (kind == RA_AXIS_SYSTEM && g_str_equal(value, "none"))
    return g_strdup("");
  return ra_share_find(ra_file_kind_folder((RaFileKind)file), value,
                       ra_key_file_name(study->file), error);
}

/* `8 | 1` of an axis of two keys. */
static gboolean
read_values(RaStudy *study, RaStudyAxis *axis, guint group,
            const char *const *texts, GError **error)
{
  GError *cause = NULL;

  for (guint v = 0; v < axis->n_values; v++) {
    g_auto(GStrv) parts = g_strsplit(texts[v], "|", -1);
    guint n = g_strv_length(parts);

    if (n != axis->n_keys)
      return ra_key_file_fail(study->file, group, "values", error,
                              "'%s' is %u values, expected %u, one per key",
                              texts[v], n, axis->n_keys);
    for (guint k = 0; k < n; k++) {
      char *value =
          read_value(study, axis->keys[k], g_strstrip(parts[k]), &cause);

      axis->values[v * axis->n_keys + k] = value;
      if (value)
        continue;
      ra_key_file_fail(study->file, group, "values", error, "%s",
                       cause->message);
      g_error_free(cause);
      return FALSE;
    }
  }
  return TRUE;
}

gboolean
ra_study_label_number(const char *label, double *out_x)
{
  const char *at = strchr(label, '(');
  char *end;

  at = at ? at + 1 : label;
  *out_x = g_ascii_strtod(at, &end);
  return end != at && isfinite(*out_x);
}

/* Numbers that ascend are a scale; all else are places. */
static void
place_values(RaStudyAxis *axis, int scale)
{
  axis->x = g_new0(double, axis->n_values);
  axis->is_number = TRUE;
  for (guint v = 0; v < axis->n_values; v++)
    axis->is_number = axis->is_number &&
                      ra_study_label_number(axis->labels[v], &axis->x[v]) &&
                      (v == 0 || axis->x[v] > axis->x[v - 1]);
  for (guint v = 0; !axis->is_number && v < axis->n_values; v++)
    axis->x[v] = v + 1;
  axis->is_log =
      axis->x[0] > 0 &&
      (scale == 1 || (scale < 0 && axis->is_number &&
                      axis->x[axis->n_values - 1] > LOG_RATIO * axis->x[0]));
}

/* Axes and metrics are columns of one table. */
static gboolean
check_name(const RaStudy *study, const RaStudyAxis *axis, guint group,
           GError **error)
{
  guint n;
  const RaMetric *metrics = ra_metrics(&n);
  static const char *const others[] = {"allowed",    "fits",    "refusal",
                                       "error_frac", "sd_frac", "low",
                                       "high",       "share",   NULL};
  gboolean is_taken = g_strv_contains(others, axis->name);

  for (guint i = 0; i < n; i++)
    is_taken = is_taken || g_str_equal(axis->name, metrics[i].column);
  return !is_taken || ra_key_file_fail(study->file, group, NULL, error,
                                       "'%s' is a column of every study, "
                                       "expected another name for the axis",
                                       axis->name);
}

gboolean
ra_study_read_axis(RaStudy *study, guint group, GError **error)
{
  RaStudyAxis *axis = &study->axes[study->n_axes - 1];
  RaStudyAxisKeys keys = {.scale = -1};
  gsize n_specs;
  const RaKeySpec *specs = ra_study_key_specs("axis", &n_specs);

  axis->name = ra_key_file_group_name(study->file, group);
  if (!check_name(study, axis, group, error) ||
      !ra_key_file_read_group(study->file, group, specs, n_specs, &keys, error))
    return FALSE;
  axis->n_keys = g_strv_length((char **)keys.keys);
  if (axis->n_keys > RA_STUDY_KEYS_MAX)
    return ra_key_file_fail(study->file, group, "key", error,
                            "%u keys, expected %d at most", axis->n_keys,
                            RA_STUDY_KEYS_MAX);
  for (guint k = 0; k < axis->n_keys; k++) {
    int file;

    axis->keys[k] = keys.keys[k];
    axis->kinds[k] = (int)kind_of(keys.keys[k], &file);
  }
  axis->n_values = g_strv_length((char **)keys.values);
  axis->labels = g_strdupv((char **)(keys.labels ? keys.labels : keys.values));
  axis->values = g_new0(char *, axis->n_values * axis->n_keys);
  if (g_strv_length(axis->labels) != axis->n_values)
    return ra_key_file_fail(study->file, group, "labels", error,
                            "%u labels, expected %u, one per value",
                            g_strv_length(axis->labels), axis->n_values);
  place_values(axis, keys.scale);
  return read_values(study, axis, group, keys.values, error);
}

void
ra_study_axis_clear(RaStudyAxis *axis)
{
  for (guint i = 0; axis->values && i < axis->n_values * axis->n_keys; i++)
    g_free(axis->values[i]);
  g_free(axis->values);
  g_strfreev(axis->labels);
  g_free(axis->x);
}

guint
ra_study_value(const RaStudy *study, guint point, guint axis)
{
  for (guint a = study->n_axes - 1; a > axis; a--)
    point /= study->axes[a].n_values;
  return point % study->axes[axis].n_values;
}

/* --- a point --- */

static void
apply(RaStudyPoint *point, const char *key, RaAxisKind kind, const char *value)
{
  RaTrialSpec *spec = &point->spec;
  uint64_t number;

  switch (kind) {
  case RA_AXIS_CHANGE:
    g_ptr_array_add(point->sets, g_strdup_printf("%s=%s", key, value));
    break;
  case RA_AXIS_PLAN:
    spec->plan = value;
    break;
  case RA_AXIS_WORKLOAD:
    spec->flags.workload = value;
    break;
  case RA_AXIS_CLUSTER:
    spec->flags.cluster = value;
    break;
  case RA_AXIS_PROFILE:
    spec->flags.profile = value;
    break;
  case RA_AXIS_SYSTEM:
    spec->flags.system = *value ? value : NULL;
    break;
  case RA_AXIS_PLACEMENT:
    spec->placement = value;
    break;
  case RA_AXIS_SPLIT:
    spec->split = point->split;
    spec->n_split = split_counts(value, point->split);
    break;
  case RA_AXIS_BATCHING:
    spec->batching = 0;
    while (ra_strategy_batchings[spec->batching] &&
           !g_str_equal(ra_strategy_batchings[spec->batching], value))
      spec->batching++;
    break;
  case RA_AXIS_SEED:
    ra_text_uint64(value, &spec->replay.seed);
    break;
  case RA_AXIS_RUNS:
    ra_text_uint64(value, &number);
    point->n_runs = (uint32_t)number;
    break;
  case RA_AXIS_FAILURES:
    ra_study_set_failures(&point->failures, key, value, NULL);
    break;
  }
}

/* @flag if it was given, else the study's. */
static const char *
either(const char *flag, const char *own)
{
  return flag ? flag : own;
}

void
ra_study_point(const RaStudy *study, const RaSetupFlags *flags, guint i,
               RaStudyPoint *point)
{
  RaTrialSpec *spec = &point->spec;

  memset(point, 0, sizeof *point);
  spec->plan = study->plan;
  spec->placement = study->placement;
  spec->batching = study->batching;
  spec->n_steps = study->n_steps;
  spec->replay = study->replay;
  spec->flags = *flags;
  spec->flags.workload = either(flags->workload, study->workload);
  spec->flags.cluster = either(flags->cluster, study->cluster);
  spec->flags.profile = either(flags->profile, study->profile);
  spec->flags.system = either(flags->system, study->system);
  point->n_runs = 1;
  point->has_failures = study->has_failures;
  point->failures = study->failures;
  point->sets = g_ptr_array_new_with_free_func(g_free);
  for (guint s = 0; study->sets && study->sets[s]; s++)
    g_ptr_array_add(point->sets, g_strdup(study->sets[s]));
  for (guint s = 0; flags->sets && flags->sets[s]; s++)
    g_ptr_array_add(point->sets, g_strdup(flags->sets[s]));
  for (guint a = 0; a < study->n_axes; a++) {
    const RaStudyAxis *axis = &study->axes[a];
    guint v = ra_study_value(study, i, a);

    for (guint k = 0; k < axis->n_keys; k++)
      apply(point, axis->keys[k], (RaAxisKind)axis->kinds[k],
            axis->values[v * axis->n_keys + k]);
  }
  g_ptr_array_add(point->sets, NULL);
  spec->flags.sets = (const char *const *)point->sets->pdata;
}

void
ra_study_point_clear(RaStudyPoint *point)
{
  g_ptr_array_unref(point->sets);
}

gboolean
ra_study_allows(const RaStudy *study, const RaFigures *figures)
{
  for (guint i = 0; i < study->n_limits; i++) {
    const RaStudyLimit *limit = &study->limits[i];
    double value;

    if (!limit->metric) {
      if (!ra_trial_fits(figures->trial))
        return FALSE;
      continue;
    }
    value = ra_metric_value(limit->metric, figures);
    if (limit->is_upper && !(value < limit->value) &&
        (limit->is_strict || !(value <= limit->value)))
      return FALSE;
    if (!limit->is_upper && !(value > limit->value) &&
        (limit->is_strict || !(value >= limit->value)))
      return FALSE;
  }
  return TRUE;
}
