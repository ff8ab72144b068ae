#include "config.h"

#include <math.h>

#include "study/answer.h"

#define FLAT 1e-9 /* a curve that is its chord, but for rounding */

/* --- curves --- */

static guint
stride(const RaStudy *study)
{
  guint n = 1;

  for (guint a = study->along + 1; a < study->n_axes; a++)
    n *= study->axes[a].n_values;
  return n;
}

static const RaStudyAxis *
along(const RaStudy *study)
{
  return &study->axes[study->along];
}

guint
ra_study_n_curves(const RaStudy *study)
{
  return study->n_points / along(study)->n_values;
}

guint
ra_study_curve_point(const RaStudy *study, guint curve, guint v)
{
  guint s = stride(study), n = along(study)->n_values;

  return curve / s * s * n + v * s + curve % s;
}

char *
ra_study_curve_name(const RaStudy *study, guint curve)
{
  GString *out = g_string_new(NULL);
  guint point = ra_study_curve_point(study, curve, 0);

  for (guint a = 0; a < study->n_axes; a++) {
    const RaStudyAxis *axis = &study->axes[a];

    if (a != study->along)
      g_string_append_printf(out, "%s%s %s", out->len > 0 ? ", " : "",
                             axis->name,
                             axis->labels[ra_study_value(study, point, a)]);
  }
  return g_string_free(out, FALSE);
}

/* --- an answer while it is made --- */

typedef struct {
  const RaSweep *sweep;
  const RaStudy *study;
  const RaMetric *metric;
  RaAnswer *answer;
  GString *sentence;
} Maker;

/* NAN: the point does not count. */
static double
value_at(const Maker *m, guint point)
{
  const RaSweepPoint *p = &m->sweep->points[point];

  return p->is_allowed ? ra_metric_value(m->metric, &p->figures) : (double)NAN;
}

static double
curve_value(const Maker *m, guint curve, guint v)
{
  return value_at(m, ra_study_curve_point(m->study, curve, v));
}

/* The columns of the axes, but along where @is_curve. */
static void
axis_columns(const Maker *m, gboolean is_curve)
{
  for (guint a = 0; a < m->study->n_axes; a++)
    if (!is_curve || a != m->study->along)
      ra_table_column(m->answer->table, m->study->axes[a].name, RA_UNIT_NONE,
                      RA_CELL_TEXT);
}

static void
axis_cells(const Maker *m, guint point, gboolean is_curve)
{
  for (guint a = 0; a < m->study->n_axes; a++)
    if (!is_curve || a != m->study->along)
      ra_table_text(
          m->answer->table,
          m->study->axes[a].labels[ra_study_value(m->study, point, a)]);
}

static void
metric_column(const Maker *m, const RaMetric *metric)
{
  ra_table_column(m->answer->table, metric->column, metric->unit, metric->cell);
}

/* Metrics beside the study's own, where they are others. */
static void
beside_columns(const Maker *m)
{
  if (!g_str_equal(m->metric->name, "gpus"))
    metric_column(m, ra_metric_find("gpus"));
  if (!g_str_equal(m->metric->name, "iteration"))
    metric_column(m, ra_metric_find("iteration"));
}

static void
beside_cells(const Maker *m, guint point)
{
  const RaFigures *f = &m->sweep->points[point].figures;
  const RaMetric *gpus = ra_metric_find("gpus");

  if (m->metric != gpus)
    ra_metric_cell(gpus, m->answer->table, ra_metric_value(gpus, f));
  if (!g_str_equal(m->metric->name, "iteration"))
    ra_table_real(m->answer->table, f->trial->iteration_s);
}

/* "64 at nodes 8, placement hybridflow" */
static void
say_point(const Maker *m, guint point)
{
  g_autofree char *value = ra_metric_say(m->metric, value_at(m, point));

  g_string_append_printf(m->sentence, "%s at ", value);
  for (guint a = 0; a < m->study->n_axes; a++) {
    const RaStudyAxis *axis = &m->study->axes[a];

    g_string_append_printf(m->sentence, "%s%s %s", a > 0 ? ", " : "",
                           axis->name,
                           axis->labels[ra_study_value(m->study, point, a)]);
  }
}

static void
mark(const Maker *m, guint point)
{
  g_array_append_val(m->answer->points, point);
  m->answer->found = TRUE;
}

/* --- fits --- */

static void
answer_fits(Maker *m)
{
  RaTable *table = m->answer->table;
  guint n = along(m->study)->n_values, n_all = 0;
  g_autofree char *least = g_strconcat("first_", along(m->study)->name, NULL);
  g_autofree char *most = g_strconcat("last_", along(m->study)->name, NULL);

  axis_columns(m, TRUE);
  ra_table_column(table, "n_points", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "n_allowed", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, least, RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, most, RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint c = 0; c < ra_study_n_curves(m->study); c++) {
    guint first = n, last = n, count = 0;

    for (guint v = 0; v < n; v++) {
      guint point = ra_study_curve_point(m->study, c, v);

      if (!m->sweep->points[point].is_allowed)
        continue;
      first = MIN(first, v);
      last = v;
      count++;
      mark(m, point);
    }
    ra_table_row(table);
    axis_cells(m, ra_study_curve_point(m->study, c, 0), TRUE);
    ra_table_integer(table, n);
    ra_table_integer(table, count);
    ra_table_text(table, first < n ? along(m->study)->labels[first] : "-");
    ra_table_text(table, first < n ? along(m->study)->labels[last] : "-");
    n_all += count;
  }
  g_string_append_printf(m->sentence, "%u of %u points will do", n_all,
                         m->sweep->n);
}

/* --- minimum, maximum --- */

static double
iteration_s(const Maker *m, guint point)
{
  return m->sweep->points[point].trial.iteration_s;
}

/* Whether @a is better than @b; RA_NONE is worse than all. */
static gboolean
is_better(const Maker *m, guint a, guint b)
{
  double x, y;

  if (a == RA_NONE || b == RA_NONE)
    return b == RA_NONE && a != RA_NONE;
  x = value_at(m, a);
  y = value_at(m, b);
  if (m->study->question == RA_QUESTION_MAXIMUM) {
    x = -x;
    y = -y;
  }
  return x < y || (!(y < x) && iteration_s(m, a) < iteration_s(m, b));
}

static void
answer_extreme(Maker *m)
{
  RaTable *table = m->answer->table;
  guint n_curves = ra_study_n_curves(m->study);
  g_autofree guint *best = g_new(guint, n_curves);

  axis_columns(m, FALSE);
  metric_column(m, m->metric);
  beside_columns(m);
  for (guint c = 0; c < n_curves; c++) {
    guint at = c;

    best[c] = RA_NONE;
    for (guint v = 0; v < along(m->study)->n_values; v++) {
      guint point = ra_study_curve_point(m->study, c, v);

      if (!isnan(value_at(m, point)) && is_better(m, point, best[c]))
        best[c] = point;
    }
    for (; at > 0 && is_better(m, best[at], best[at - 1]); at--) {
      guint other = best[at - 1];

      best[at - 1] = best[at];
      best[at] = other;
    }
  }
  for (guint c = 0; c < n_curves && best[c] != RA_NONE; c++) {
    mark(m, best[c]);
    ra_table_row(table);
    axis_cells(m, best[c], FALSE);
    ra_metric_cell(m->metric, table, value_at(m, best[c]));
    beside_cells(m, best[c]);
  }
  if (!m->answer->found)
    return;
  g_string_append_printf(m->sentence, "The %s of %s: ",
                         m->study->question == RA_QUESTION_MINIMUM ? "least"
                                                                   : "most",
                         m->metric->name);
  say_point(m, best[0]);
}

/* --- knee --- */

/* Where value @v lies between @first and @last, in [0, 1]. */
static double
scaled(const RaStudyAxis *axis, guint first, guint last, guint v)
{
  const double *x = axis->x;

  return axis->is_log ? log(x[v] / x[first]) / log(x[last] / x[first])
                      : (x[v] - x[first]) / (x[last] - x[first]);
}

/* RA_NONE: fewer than three points, or a straight line. */
static guint
find_knee(const Maker *m, guint curve)
{
  const RaStudyAxis *axis = along(m->study);
  guint first = RA_NONE, last = RA_NONE, knee = RA_NONE;
  double most = FLAT;

  for (guint v = 0; v < axis->n_values; v++) {
    if (isnan(curve_value(m, curve, v)))
      continue;
    first = first == RA_NONE ? v : first;
    last = v;
  }
  for (guint v = first; first != last && v < last; v++) {
    double y0 = curve_value(m, curve, first), y1 = curve_value(m, curve, last);
    double y = (curve_value(m, curve, v) - y0) / (y1 - y0);
    double x = scaled(axis, first, last, v);

    if (fabs(y - x) > most) { /* false of NAN */
      most = fabs(y - x);
      knee = ra_study_curve_point(m->study, curve, v);
    }
  }
  return knee;
}

static void
answer_knee(Maker *m)
{
  RaTable *table = m->answer->table;

  axis_columns(m, FALSE);
  metric_column(m, m->metric);
  beside_columns(m);
  for (guint c = 0; c < ra_study_n_curves(m->study); c++) {
    guint knee = find_knee(m, c);

    if (knee == RA_NONE)
      continue;
    ra_table_row(table);
    axis_cells(m, knee, FALSE);
    ra_metric_cell(m->metric, table, value_at(m, knee));
    beside_cells(m, knee);
    g_string_append_printf(m->sentence, "%s",
                           m->answer->found ? "; " : "The knee: ");
    say_point(m, knee);
    mark(m, knee);
  }
}

/* --- crossover --- */

/* The best curve at @v; RA_NONE: none counts there. */
static guint
best_curve(const Maker *m, guint v)
{
  guint best = RA_NONE;
  double least = (double)INFINITY;

  for (guint c = 0; c < ra_study_n_curves(m->study); c++) {
    double value = curve_value(m, c, v);

    value = m->metric->more_is_better ? -value : value;
    if (value < least) { /* false of NAN */
      least = value;
      best = c;
    }
  }
  return best;
}

/* Where @to begins to be better than @from between the values @v - 1 and @v. */
static double
crossing(const Maker *m, guint from, guint to, guint v)
{
  const RaStudyAxis *axis = along(m->study);
  double before = curve_value(m, from, v - 1) - curve_value(m, to, v - 1);
  double after = curve_value(m, from, v) - curve_value(m, to, v);

  if (isnan(before) || isnan(after))
    return axis->x[v];
  return axis->x[v - 1] +
         (axis->x[v] - axis->x[v - 1]) * before / (before - after);
}

static void
answer_crossover(Maker *m)
{
  RaTable *table = m->answer->table;
  const RaStudyAxis *axis = along(m->study);
  guint before = best_curve(m, 0);

  ra_table_column(table, axis->name, RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "from", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "to", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint v = 1; v < axis->n_values; v++) {
    guint now = best_curve(m, v);

    if (now != RA_NONE && before != RA_NONE && now != before) {
      g_autofree char *from = ra_study_curve_name(m->study, before);
      g_autofree char *to = ra_study_curve_name(m->study, now);
      double x = crossing(m, before, now, v);

      ra_table_row(table);
      ra_table_real(table, x);
      ra_table_text(table, from);
      ra_table_text(table, to);
      mark(m, ra_study_curve_point(m->study, now, v));
      g_string_append_printf(m->sentence, "%sfrom %s %.4g on %s",
                             m->sentence->len > 0 ? "; " : "", axis->name, x,
                             to);
    }
    before = now != RA_NONE ? now : before;
  }
  if (m->answer->found || before == RA_NONE)
    return;
  {
    g_autofree char *name = ra_study_curve_name(m->study, before);
    g_string_append_printf(m->sentence, "No crossover: %s is best throughout",
                           name);
    m->answer->found = TRUE;
  }
}

/* --- pareto --- */

/* The metric of @point so that less is better; NAN: it does not count. */
static double
cost_of(const Maker *m, guint point, guint which)
{
  const RaMetric *metric = m->study->metrics[which];
  const RaSweepPoint *p = &m->sweep->points[point];
  double value;

  if (!p->is_allowed)
    return (double)NAN;
  value = ra_metric_value(metric, &p->figures);
  return metric->more_is_better ? -value : value;
}

static gboolean
is_beaten(const Maker *m, guint point)
{
  double x = cost_of(m, point, 0), y = cost_of(m, point, 1);

  for (guint i = 0; i < m->sweep->n; i++) {
    double a = cost_of(m, i, 0), b = cost_of(m, i, 1);

    if (a <= x && b <= y && (a < x || b < y))
      return TRUE;
  }
  return FALSE;
}

static void
answer_pareto(Maker *m)
{
  RaTable *table = m->answer->table;
  GArray *points = m->answer->points;

  axis_columns(m, FALSE);
  metric_column(m, m->study->metrics[0]);
  metric_column(m, m->study->metrics[1]);
  for (guint i = 0; i < m->sweep->n; i++)
    if (!isnan(cost_of(m, i, 0)) && !isnan(cost_of(m, i, 1)) &&
        !is_beaten(m, i))
      mark(m, i);
  for (guint i = 1; i < points->len; i++)
    for (guint j = i; j > 0; j--) {
      guint *b = &g_array_index(points, guint, j), *a = b - 1, swap = *a;

      if (!(cost_of(m, *b, 0) < cost_of(m, *a, 0)))
        break;
      *a = *b;
      *b = swap;
    }
  for (guint i = 0; i < points->len; i++) {
    guint point = g_array_index(points, guint, i);
    const RaFigures *f = &m->sweep->points[point].figures;

    ra_table_row(table);
    axis_cells(m, point, FALSE);
    for (guint k = 0; k < 2; k++)
      ra_metric_cell(m->study->metrics[k], table,
                     ra_metric_value(m->study->metrics[k], f));
  }
  g_string_append_printf(m->sentence,
                         "%u of %u points are beaten by none in both %s and %s",
                         points->len, m->sweep->n, m->study->metrics[0]->name,
                         m->study->metrics[1]->name);
}

RaAnswer *
ra_answer_new(const RaSweep *sweep)
{
  static void (*const answers[])(Maker *) = {
      [RA_QUESTION_FITS] = answer_fits,
      [RA_QUESTION_MINIMUM] = answer_extreme,
      [RA_QUESTION_MAXIMUM] = answer_extreme,
      [RA_QUESTION_KNEE] = answer_knee,
      [RA_QUESTION_CROSSOVER] = answer_crossover,
      [RA_QUESTION_PARETO] = answer_pareto,
  };
  RaAnswer *answer = g_new0(RaAnswer, 1);
  Maker maker = {sweep, sweep->study, sweep->study->metrics[0], answer,
                 g_string_new(NULL)};

  answer->table = ra_table_new("answer");
  answer->points = g_array_new(FALSE, FALSE, sizeof(guint));
  answers[sweep->study->question](&maker);
  if (!answer->found)
    g_string_assign(maker.sentence, "No point answers the question");
  answer->sentence = g_string_free(maker.sentence, FALSE);
  return answer;
}

void
ra_answer_free(RaAnswer *answer)
{
  if (!answer)
    return;
  ra_table_free(answer->table);
  g_array_unref(answer->points);
  g_free(answer->sentence);
  g_free(answer);
}
