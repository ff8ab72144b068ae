/* Refinement of crossovers between the values of an axis. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "study/sweep/answer_impl.h"
#include "study/sweep/refine.h"
#include "study/sweep/study_impl.h"

/* Fractions at which a crossing is searched, in this order. */
static const double ways[] = {0.5, 0.25, 0.75};

#define NEAR_FRAC 0.01 /* two values that are nearer are one */

/* --- a value between two --- */

/* The number at *at, which goes behind it; FALSE: none is there. */
static gboolean
take_number(const char **at, double *out_value, gboolean *out_is_whole)
{
  char *end;

  if (!g_ascii_isdigit(**at))
    return FALSE;
  *out_value = g_ascii_strtod(*at, &end);
  *out_is_whole = strspn(*at, "0123456789") == (gsize)(end - *at);
  *at = end;
  return TRUE;
}

static double
between(double a, double b, double frac, gboolean is_log)
{
  return is_log && a > 0 && b > 0 ? a * pow(b / a, frac) : a + frac * (b - a);
}

char *
ra_refine_between(const char *a, const char *b, double frac, gboolean is_log)
{
  g_autoptr(GString) out = g_string_new(NULL);
  const char *first = a, *second = b;

  while (*a || *b) {
    double x, y, value;
    gboolean x_is_whole, y_is_whole;
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    if (*a == *b && !g_ascii_isdigit(*a)) {
      g_string_append_c(out, *a);
      a++;
      b++;
      continue;
    }
    if (!take_number(&a, &x, &x_is_whole) || !take_number(&b, &y, &y_is_whole))
      return NULL;
    value = between(x, y, frac, is_log);
    if (x_is_whole && y_is_whole)
      value = floor(value + 0.5);
    g_string_append(out, g_ascii_formatd(text, sizeof text, "%.10g", value));
  }
  if (g_str_equal(out->str, first) || g_str_equal(out->str, second))
    return NULL;
  return g_string_free(g_steal_pointer(&out), FALSE);
}

/* --- an axis with other values --- */

/* One value of an axis, owned. */
typedef struct {
  char *label;
  char **values; /* (n_keys + 1) */
  double x;
} Value;

static void
value_clear(Value *value)
{
  g_free(value->label);
  g_strfreev(value->values);
}

static Value
value_at(const RaStudyAxis *axis, guint v)
{
  Value value = {.label = g_strdup(axis->labels[v]),
                 .values = g_new0(char *, axis->n_keys + 1),
                 .x = axis->x[v]};

  for (guint k = 0; k < axis->n_keys; k++)
    value.values[k] = g_strdup(axis->values[v * axis->n_keys + k]);
  return value;
}

/* FALSE: nothing is between @v - 1 and @v. */
static gboolean
value_between(const RaStudyAxis *axis, guint v, double frac, Value *out)
{
  Value value = {.values = g_new0(char *, axis->n_keys + 1)};
  gboolean ok = TRUE;

  for (guint k = 0; ok && k < axis->n_keys; k++) {
    const char *a = axis->values[(v - 1) * axis->n_keys + k];
    const char *b = axis->values[v * axis->n_keys + k];

    value.values[k] = g_str_equal(a, b)
                          ? g_strdup(a)
                          : ra_refine_between(a, b, frac, axis->is_log);
    ok = value.values[k] != NULL;
  }
  value.label = ok ? ra_refine_between(axis->labels[v - 1], axis->labels[v],
                                       frac, axis->is_log)
                   : NULL;
  if (value.label && ra_study_label_number(value.label, &value.x)) {
    *out = value;
    return TRUE;
  }
  value_clear(&value);
  return FALSE;
}

/* @old with @values (Value) on the axis along which curves run. */
static RaStudy *
study_with(const RaStudy *old, const GArray *values, GError **error)
{
  RaStudy *study = ra_study_load(old->file, error);
  RaStudyAxis *axis;

  if (!study)
    return NULL;
  study->along = old->along;
  axis = &study->axes[study->along];
  study->n_points = study->n_points / axis->n_values * values->len;
  ra_study_axis_clear(axis);
  axis->n_values = values->len;
  axis->labels = g_new0(char *, values->len + 1);
  axis->values = g_new0(char *, values->len * axis->n_keys);
  axis->x = g_new0(double, values->len);
  for (guint v = 0; v < values->len; v++) {
    const Value *value = &g_array_index(values, Value, v);

    axis->labels[v] = g_strdup(value->label);
    axis->x[v] = value->x;
    for (guint k = 0; k < axis->n_keys; k++)
      axis->values[v * axis->n_keys + k] = g_strdup(value->values[k]);
  }
  return study;
}

/* --- a round --- */

/* Between values @v - 1 and @v curve @to gets better than @from. */
typedef struct {
  guint v, from, to;
} Gap;

typedef struct {
  RaSweep *sweep; /* owned */
  const RaSetupFlags *flags;
  const RaSweepOptions *options;
  GHashTable *tried; /* labels, owned */
  GArray *values;    /* (Value): what is run now, ascending */
  GArray *gaps;      /* (Gap): that each is in */
} Job;

/* Takes what is to be run between the values that curves cross between. */
static void
choose(Job *job)
{
  const RaStudyAxis *axis = ra_study_along(job->sweep->study);
  g_autoptr(RaAnswer) answer = ra_answer_make(job->sweep, NULL);

  for (guint i = 0; i < answer->points->len; i++) {
    guint point = g_array_index(answer->points, guint, i);
    const RaCrossing *c = &g_array_index(answer->crossings, RaCrossing, i);
    guint v =
        ra_study_value(job->sweep->study, point, job->sweep->study->along);
    Gap gap = {v, c->from, c->to};

    for (guint w = 0; w < G_N_ELEMENTS(ways); w++) {
      Value value;

      if (fabs(axis->x[v] - axis->x[v - 1]) < NEAR_FRAC * fabs(axis->x[v]) ||
          !value_between(axis, v, ways[w], &value))
        continue;
      if (!g_hash_table_add(job->tried, g_strdup(value.label))) {
        value_clear(&value);
        continue;
      }
      g_array_append_val(job->values, value);
      g_array_append_val(job->gaps, gap);
      break;
    }
  }
}

/* TRUE if the curves that meet in gap @i and count on both sides of it do
 * between, at value @i of @more. */
static gboolean
counts(const Job *job, const RaSweep *more, guint i)
{
  const RaStudy *study = job->sweep->study;
  const RaSweepPoint *points = job->sweep->points;
  const Gap *gap = &g_array_index(job->gaps, Gap, i);
  const guint curves[] = {gap->from, gap->to};

  for (guint k = 0; k < G_N_ELEMENTS(curves); k++) {
    guint c = curves[k];
    gboolean is_beside =
        points[ra_study_curve_point(study, c, gap->v - 1)].is_allowed &&
        points[ra_study_curve_point(study, c, gap->v)].is_allowed;

    if (is_beside &&
        !more->points[ra_study_curve_point(more->study, c, i)].is_allowed)
      return FALSE;
  }
  return TRUE;
}

/* Moves the points of value @from of @source to value @to of @out. */
static void
move_points(RaSweep *source, guint from, RaSweep *out, guint to)
{
  for (guint c = 0; c < ra_study_n_curves(out->study); c++) {
    RaSweepPoint *a =
        &source->points[ra_study_curve_point(source->study, c, from)];
    RaSweepPoint *b = &out->points[ra_study_curve_point(out->study, c, to)];

    *b = *a;
    b->figures.trial = &b->trial;
    memset(&a->trial, 0, sizeof a->trial);
  }
}

/* The values of @job->sweep and those of @more that say something. */
static gboolean
merge(Job *job, RaSweep *more, GError **error)
{
  const RaStudyAxis *axis = ra_study_along(job->sweep->study);
  g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(Value));
  g_autofree guint *from = g_new(guint, axis->n_values + job->values->len);
  RaSweep *out = g_new0(RaSweep, 1);
  guint i = 0;

  g_array_set_clear_func(values, (GDestroyNotify)value_clear);
  for (guint v = 0; v < axis->n_values; v++) {
    Value own = value_at(axis, v);

    for (; i < job->values->len && g_array_index(job->gaps, Gap, i).v == v; i++)
      if (counts(job, more, i)) {
        Value one = value_at(ra_study_along(more->study), i);

        from[values->len] = axis->n_values + i;
        g_array_append_val(values, one);
      }
    from[values->len] = v;
    g_array_append_val(values, own);
  }
  out->refined = study_with(job->sweep->study, values, error);
  out->study = out->refined;
  out->is_kept = job->sweep->is_kept && more->is_kept;
  out->n_cached = job->sweep->n_cached + more->n_cached;
  if (!out->study) {
    g_free(out);
    return FALSE;
  }
  out->n = out->study->n_points;
  out->points = g_new0(RaSweepPoint, out->n);
  for (guint v = 0; v < values->len; v++)
    if (from[v] < axis->n_values)
      move_points(job->sweep, from[v], out, v);
    else
      move_points(more, from[v] - axis->n_values, out, v);
  ra_sweep_free(job->sweep);
  job->sweep = out;
  return TRUE;
}

/* FALSE with @error, or without where there is no more to do. */
static gboolean
run_round(Job *job, GError **error)
{
  g_autoptr(RaStudy) study = NULL;
  g_autoptr(RaSweep) more = NULL;

  g_array_set_size(job->values, 0);
  g_array_set_size(job->gaps, 0);
  choose(job);
  if (job->values->len == 0)
    return FALSE;
  study = study_with(job->sweep->study, job->values, error);
  more = study ? ra_sweep_new(study, job->flags, job->options, error) : NULL;
  return more && merge(job, more, error);
}

RaSweep *
ra_refine(RaSweep *sweep, const RaSetupFlags *flags,
          const RaSweepOptions *options, GError **error)
{
  const RaStudy *study = sweep->study;
  guint n_rounds = study->n_bisect;
  GError *cause = NULL;
  Job job = {.sweep = sweep, .flags = flags, .options = options};

  if (study->question != RA_QUESTION_CROSSOVER ||
      !ra_study_along(study)->is_number)
    return sweep;
  job.tried = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  job.values = g_array_new(FALSE, FALSE, sizeof(Value));
  g_array_set_clear_func(job.values, (GDestroyNotify)value_clear);
  job.gaps = g_array_new(FALSE, FALSE, sizeof(Gap));
  while (n_rounds-- > 0 && run_round(&job, &cause))
    ;
  g_hash_table_unref(job.tried);
  g_array_unref(job.values);
  g_array_unref(job.gaps);
  if (!cause)
    return job.sweep;
  g_propagate_error(error, cause);
  ra_sweep_free(job.sweep);
  return NULL;
}
