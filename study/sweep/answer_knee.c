/* Questions about curves: knees and crossovers. */
#include "config.h"

#include <math.h>

#include "study/sweep/answer_impl.h"

#define FLAT 1e-9 /* a curve that is its chord, but for rounding */

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
find_knee(const RaAnswerMaker *m, guint curve)
{
  const RaStudyAxis *axis = ra_study_along(m->study);
  guint first = RA_NONE, last = RA_NONE, knee = RA_NONE;
  double most = FLAT;

  for (guint v = 0; v < axis->n_values; v++) {
    if (isnan(ra_answer_curve_value(m, curve, v)))
      continue;
    first = first == RA_NONE ? v : first;
    last = v;
  }
  for (guint v = first; first != last && v < last; v++) {
    double y0 = ra_answer_curve_value(m, curve, first),
           y1 = ra_answer_curve_value(m, curve, last);
    double y = (ra_answer_curve_value(m, curve, v) - y0) / (y1 - y0);
    double x = scaled(axis, first, last, v);

    if (fabs(y - x) > most) { /* false of NAN */
      most = fabs(y - x);
      knee = ra_study_curve_point(m->study, curve, v);
    }
  }
  return knee;
}

/* The columns, cells and words of where it may be. */
static void
spread_columns(const RaAnswerMaker *m, RaCellType cell)
{
  if (!m->spread)
    return;
  ra_table_column(m->answer->table, "low", RA_UNIT_NONE, cell);
  ra_table_column(m->answer->table, "high", RA_UNIT_NONE, cell);
}

static void
knee_spread(const RaAnswerMaker *m, guint curve)
{
  const RaStudyAxis *axis = ra_study_along(m->study);
  RaTable *table = m->answer->table;
  guint low, high;

  if (!m->spread)
    return;
  if (!ra_spread_places(m->spread, curve, &low, &high)) {
    ra_table_missing(table);
    ra_table_missing(table);
    return;
  }
  ra_table_text(table, axis->labels[low]);
  ra_table_text(table, axis->labels[high]);
  if (low < high)
    g_string_append_printf(m->sentence, " (90 %% interval %s to %s)",
                           axis->labels[low], axis->labels[high]);
}

void
ra_answer_knee(RaAnswerMaker *m)
{
  RaTable *table = m->answer->table;

  ra_answer_axis_columns(m, FALSE);
  ra_answer_metric_column(m, m->metric);
  ra_answer_beside_columns(m);
  spread_columns(m, RA_CELL_TEXT);
  for (guint c = 0; c < ra_study_n_curves(m->study); c++) {
    guint knee = find_knee(m, c);

    if (knee == RA_NONE)
      continue;
    ra_table_row(table);
    ra_answer_axis_cells(m, knee, FALSE);
    ra_metric_cell(m->metric, table, ra_answer_value(m, knee));
    ra_answer_beside_cells(m, knee);
    g_string_append_printf(m->sentence, "%s",
                           m->answer->found ? "; " : "The knee: ");
    ra_answer_say_point(m, knee);
    knee_spread(m, c);
    ra_answer_mark(m, knee);
  }
}

/* --- crossover --- */

/* The best curve at @v; RA_NONE: none counts there. */
static guint
best_curve(const RaAnswerMaker *m, guint v)
{
  guint best = RA_NONE;
  double least = (double)INFINITY;

  for (guint c = 0; c < ra_study_n_curves(m->study); c++) {
    double value = ra_answer_curve_value(m, c, v);

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
crossing(const RaAnswerMaker *m, guint from, guint to, guint v)
{
  const RaStudyAxis *axis = ra_study_along(m->study);
  double before = ra_answer_curve_value(m, from, v - 1) -
                  ra_answer_curve_value(m, to, v - 1);
  double after =
      ra_answer_curve_value(m, from, v) - ra_answer_curve_value(m, to, v);

  if (isnan(before) || isnan(after))
    return axis->x[v];
  return axis->x[v - 1] +
         (axis->x[v] - axis->x[v - 1]) * before / (before - after);
}

static void
crossing_spread(const RaAnswerMaker *m, guint to, double x)
{
  RaTable *table = m->answer->table;
  double low = (double)NAN, high = (double)NAN;

  if (!m->spread)
    return;
  if (ra_spread_crossings(m->spread, to, x, &low, &high) && low < high)
    g_string_append_printf(m->sentence, " (90 %% interval %.4g to %.4g)", low,
                           high);
  ra_table_real(table, low);
  ra_table_real(table, high);
}

void
ra_answer_crossover(RaAnswerMaker *m)
{
  RaTable *table = m->answer->table;
  const RaStudyAxis *axis = ra_study_along(m->study);
  guint before = best_curve(m, 0);

  ra_table_column(table, axis->name, RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "from", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "to", RA_UNIT_NONE, RA_CELL_TEXT);
  spread_columns(m, RA_CELL_REAL);
  for (guint v = 1; v < axis->n_values; v++) {
    guint now = best_curve(m, v);

    if (now != RA_NONE && before != RA_NONE && now != before) {
      g_autofree char *from = ra_study_curve_name(m->study, before);
      g_autofree char *to = ra_study_curve_name(m->study, now);
      double x = crossing(m, before, now, v);
      RaCrossing one = {x, before, now};

      ra_table_row(table);
      ra_table_real(table, x);
      ra_table_text(table, from);
      ra_table_text(table, to);
      ra_answer_mark(m, ra_study_curve_point(m->study, now, v));
      g_array_append_val(m->answer->crossings, one);
      g_string_append_printf(m->sentence, "%sfrom %s %.4g on %s",
                             m->sentence->len > 0 ? "; " : "", axis->name, x,
                             to);
      crossing_spread(m, now, x);
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
