/* Answer of a study: tables and sentences. */
#include "config.h"

#include <math.h>

#include "study/sweep/answer_impl.h"

double
ra_answer_value(const RaAnswerMaker *m, guint point)
{
  const RaSweepPoint *p = &m->sweep->points[point];

  return p->is_allowed ? ra_metric_value(m->metric, &p->figures) : (double)NAN;
}

double
ra_answer_curve_value(const RaAnswerMaker *m, guint curve, guint v)
{
  return ra_answer_value(m, ra_study_curve_point(m->study, curve, v));
}

/* The columns of the axes, but along where @is_curve. */
void
ra_answer_axis_columns(const RaAnswerMaker *m, gboolean is_curve)
{
  for (guint a = 0; a < m->study->n_axes; a++)
    if (!is_curve || a != m->study->along)
      ra_table_column(m->answer->table, m->study->axes[a].name, RA_UNIT_NONE,
                      RA_CELL_TEXT);
}

void
ra_answer_axis_cells(const RaAnswerMaker *m, guint point, gboolean is_curve)
{
  for (guint a = 0; a < m->study->n_axes; a++)
    if (!is_curve || a != m->study->along)
      ra_table_text(
          m->answer->table,
          m->study->axes[a].labels[ra_study_value(m->study, point, a)]);
}

void
ra_answer_metric_column(const RaAnswerMaker *m, const RaMetric *metric)
{
  ra_table_column(m->answer->table, metric->column, metric->unit, metric->cell);
}

/* Metrics beside the study's own, where they are others. */
void
ra_answer_beside_columns(const RaAnswerMaker *m)
{
  if (!g_str_equal(m->metric->name, "gpus"))
    ra_answer_metric_column(m, ra_metric_find("gpus"));
  if (!g_str_equal(m->metric->name, "iteration"))
    ra_answer_metric_column(m, ra_metric_find("iteration"));
}

void
ra_answer_beside_cells(const RaAnswerMaker *m, guint point)
{
  const RaFigures *f = &m->sweep->points[point].figures;
  const RaMetric *gpus = ra_metric_find("gpus");

  if (m->metric != gpus)
    ra_metric_cell(gpus, m->answer->table, ra_metric_value(gpus, f));
  if (!g_str_equal(m->metric->name, "iteration"))
    ra_table_real(m->answer->table, f->trial->iteration_s);
}

/* "64 at nodes 8, placement hybridflow" */
void
ra_answer_say_point(const RaAnswerMaker *m, guint point)
{
  g_autofree char *value = ra_metric_say(m->metric, ra_answer_value(m, point));

  g_string_append_printf(m->sentence, "%s at ", value);
  for (guint a = 0; a < m->study->n_axes; a++) {
    const RaStudyAxis *axis = &m->study->axes[a];

    g_string_append_printf(m->sentence, "%s%s %s", a > 0 ? ", " : "",
                           axis->name,
                           axis->labels[ra_study_value(m->study, point, a)]);
  }
}

void
ra_answer_mark(const RaAnswerMaker *m, guint point)
{
  g_array_append_val(m->answer->points, point);
  m->answer->found = TRUE;
}

/* --- fits --- */

#define SURE 0.95 /* of the draws of an error */

/* Points of curve @c that will do in at least @share of the draws. */
static guint
n_with_error(const RaAnswerMaker *m, guint c, double share)
{
  guint n = 0;

  for (guint v = 0; v < ra_study_along(m->study)->n_values; v++)
    n += ra_spread_share(m->spread, ra_study_curve_point(m->study, c, v)) >=
         share;
  return n;
}

static void
answer_fits(RaAnswerMaker *m)
{
  RaTable *table = m->answer->table;
  guint n = ra_study_along(m->study)->n_values, n_all = 0;
  g_autofree char *least =
      g_strconcat("first_", ra_study_along(m->study)->name, NULL);
  g_autofree char *most =
      g_strconcat("last_", ra_study_along(m->study)->name, NULL);

  ra_answer_axis_columns(m, TRUE);
  ra_table_column(table, "n_points", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "n_allowed", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, least, RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, most, RA_UNIT_NONE, RA_CELL_TEXT);
  if (m->spread) {
    ra_table_column(table, "n_surely", RA_UNIT_NONE, RA_CELL_INTEGER);
    ra_table_column(table, "n_perhaps", RA_UNIT_NONE, RA_CELL_INTEGER);
  }
  for (guint c = 0; c < ra_study_n_curves(m->study); c++) {
    guint first = n, last = n, count = 0;

    for (guint v = 0; v < n; v++) {
      guint point = ra_study_curve_point(m->study, c, v);

      if (!m->sweep->points[point].is_allowed)
        continue;
      first = MIN(first, v);
      last = v;
      count++;
      ra_answer_mark(m, point);
    }
    ra_table_row(table);
    ra_answer_axis_cells(m, ra_study_curve_point(m->study, c, 0), TRUE);
    ra_table_integer(table, n);
    ra_table_integer(table, count);
    ra_table_text(table,
                  first < n ? ra_study_along(m->study)->labels[first] : "-");
    ra_table_text(table,
                  first < n ? ra_study_along(m->study)->labels[last] : "-");
    n_all += count;
    if (!m->spread)
      continue;
    ra_table_integer(table, n_with_error(m, c, SURE));
    ra_table_integer(table, n_with_error(m, c, 1 - SURE));
  }
  g_string_append_printf(m->sentence, "%u of %u points satisfy the limits",
                         n_all, m->sweep->n);
}

/* --- pareto --- */

/* The metric of @point so that less is better; NAN: it does not count. */
static double
cost_of(const RaAnswerMaker *m, guint point, guint which)
{
  const RaMetric *metric = m->study->metrics[which];
  const RaSweepPoint *p = &m->sweep->points[point];
  double value;

  if (!p->is_allowed)
    return (double)NAN;
  value = ra_metric_value(metric, &p->figures);
  return metric->more_is_better ? -value : value;
}

typedef struct {
  guint point;
  double x, y;
} Cost;

/* By the first metric, of equal ones by the second. */
static int
compare_costs(gconstpointer a, gconstpointer b)
{
  const Cost *p = a, *q = b;

  if (p->x != q->x)
    return p->x < q->x ? -1 : 1;
  return p->y != q->y ? (p->y < q->y ? -1 : 1)
                      : (p->point > q->point) - (p->point < q->point);
}

/* Marks the front, which in the order of the first metric is what is less in
 * the second than all before it, or the same in both. */
static void
mark_front(const RaAnswerMaker *m)
{
  g_autoptr(GArray) costs = g_array_new(FALSE, FALSE, sizeof(Cost));
  const Cost *last = NULL;

  for (guint i = 0; i < m->sweep->n; i++) {
    Cost cost = {i, cost_of(m, i, 0), cost_of(m, i, 1)};

    if (!isnan(cost.x) && !isnan(cost.y))
      g_array_append_val(costs, cost);
  }
  g_array_sort(costs, compare_costs);
  for (guint i = 0; i < costs->len; i++) {
    const Cost *cost = &g_array_index(costs, Cost, i);

    if (last && !(cost->y < last->y) &&
        compare_costs(&(Cost){0, cost->x, cost->y},
                      &(Cost){0, last->x, last->y}) != 0)
      continue;
    ra_answer_mark(m, cost->point);
    last = cost;
  }
}

static void
answer_pareto(RaAnswerMaker *m)
{
  RaTable *table = m->answer->table;
  GArray *points = m->answer->points;
  guint n_perhaps = 0;

  ra_answer_axis_columns(m, FALSE);
  ra_answer_metric_column(m, m->study->metrics[0]);
  ra_answer_metric_column(m, m->study->metrics[1]);
  if (m->spread)
    ra_table_column(table, "share", RA_UNIT_NONE, RA_CELL_FRAC);
  mark_front(m);
  for (guint i = 0; i < points->len; i++) {
    guint point = g_array_index(points, guint, i);
    const RaFigures *f = &m->sweep->points[point].figures;

    ra_table_row(table);
    ra_answer_axis_cells(m, point, FALSE);
    for (guint k = 0; k < 2; k++)
      ra_metric_cell(m->study->metrics[k], table,
                     ra_metric_value(m->study->metrics[k], f));
    if (m->spread)
      ra_table_real(table, ra_spread_share(m->spread, point));
  }
  g_string_append_printf(m->sentence,
                         "%u of %u points are Pareto-optimal in %s and %s",
                         points->len, m->sweep->n, m->study->metrics[0]->name,
                         m->study->metrics[1]->name);
  for (guint i = 0; m->spread && i < m->sweep->n; i++)
    n_perhaps += ra_spread_share(m->spread, i) >= 1 - SURE;
  if (m->spread)
    g_string_append_printf(m->sentence, "; %u may be, in the 90 %% intervals",
                           n_perhaps);
}

/* --- all --- */

RaAnswer *
ra_answer_make(const RaSweep *sweep, const RaSpread *spread)
{
  static void (*const answers[])(RaAnswerMaker *) = {
      [RA_QUESTION_FITS] = answer_fits,
      [RA_QUESTION_MINIMUM] = ra_answer_extreme,
      [RA_QUESTION_MAXIMUM] = ra_answer_extreme,
      [RA_QUESTION_KNEE] = ra_answer_knee,
      [RA_QUESTION_CROSSOVER] = ra_answer_crossover,
      [RA_QUESTION_PARETO] = answer_pareto,
  };
  RaAnswer *answer = g_new0(RaAnswer, 1);
  RaAnswerMaker maker = {.sweep = sweep,
                         .study = sweep->study,
                         .metric = sweep->study->metrics[0],
                         .spread = spread,
                         .answer = answer,
                         .sentence = g_string_new(NULL)};

  answer->table = ra_table_new("answer");
  answer->points = g_array_new(FALSE, FALSE, sizeof(guint));
  answer->crossings = g_array_new(FALSE, FALSE, sizeof(RaCrossing));
  answers[sweep->study->question](&maker);
  if (!answer->found)
    g_string_assign(maker.sentence, "No point answers the question");
  answer->sentence = g_string_free(maker.sentence, FALSE);
  return answer;
}

RaAnswer *
ra_answer_new(const RaSweep *sweep)
{
  g_autoptr(RaSpread) spread = ra_spread_new(sweep);

  return ra_answer_make(sweep, spread);
}

void
ra_answer_free(RaAnswer *answer)
{
  if (!answer)
    return;
  ra_table_free(answer->table);
  g_array_unref(answer->points);
  g_array_unref(answer->crossings);
  g_free(answer->sentence);
  g_free(answer);
}
