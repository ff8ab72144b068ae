/* The least and the most. */
#include "config.h"

#include <math.h>

#include "study/sweep/answer_impl.h"

static double
iteration_s(const RaAnswerMaker *m, guint point)
{
  return m->sweep->points[point].trial.iteration_s;
}

/* TRUE if @a is better than @b; RA_NONE is worse than all. */
static gboolean
is_better(const RaAnswerMaker *m, guint a, guint b)
{
  double x, y;

  if (a == RA_NONE || b == RA_NONE)
    return b == RA_NONE && a != RA_NONE;
  x = ra_answer_value(m, a);
  y = ra_answer_value(m, b);
  if (m->study->question == RA_QUESTION_MAXIMUM) {
    x = -x;
    y = -y;
  }
  return x < y || (!(y < x) && iteration_s(m, a) < iteration_s(m, b));
}

/* The columns and cells of what the error makes of it. */
static void
spread_columns(const RaAnswerMaker *m)
{
  RaTable *table = m->answer->table;

  if (!m->spread)
    return;
  ra_table_column(table, "low", m->metric->unit, m->metric->cell);
  ra_table_column(table, "high", m->metric->unit, m->metric->cell);
  ra_table_column(table, "share", RA_UNIT_NONE, RA_CELL_FRAC);
}

static void
spread_cells(const RaAnswerMaker *m, guint point)
{
  RaTable *table = m->answer->table;
  double low = (double)NAN, high = (double)NAN;

  if (!m->spread)
    return;
  ra_spread_values(m->spread, ra_study_curve_of(m->study, point), &low, &high);
  ra_metric_cell(m->metric, table, low);
  ra_metric_cell(m->metric, table, high);
  ra_table_real(table, ra_spread_share(m->spread, point));
}

/* "; 64 to 128 within the error, there in 80 % of it" */
static void
say_spread(const RaAnswerMaker *m)
{
  double low, high;

  if (!m->spread || !ra_spread_values(m->spread, RA_NONE, &low, &high))
    return;
  {
    g_autofree char *least = ra_metric_say(m->metric, low);
    g_autofree char *most = ra_metric_say(m->metric, high);

    if (low < high)
      g_string_append_printf(m->sentence, "; 90 %% interval %s to %s", least,
                             most);
    else
      g_string_append(m->sentence, "; the same in the 90 % interval");
  }
  if (ra_spread_found(m->spread) < 1)
    g_string_append_printf(m->sentence, ", none in %.0f %% of the cases",
                           100 * (1 - ra_spread_found(m->spread)));
}

void
ra_answer_extreme(RaAnswerMaker *m)
{
  RaTable *table = m->answer->table;
  guint n_curves = ra_study_n_curves(m->study);
  g_autofree guint *best = g_new(guint, n_curves);

  ra_answer_axis_columns(m, FALSE);
  ra_answer_metric_column(m, m->metric);
  ra_answer_beside_columns(m);
  spread_columns(m);
  for (guint c = 0; c < n_curves; c++) {
    guint at = c;

    best[c] = RA_NONE;
    for (guint v = 0; v < ra_study_along(m->study)->n_values; v++) {
      guint point = ra_study_curve_point(m->study, c, v);

      if (!isnan(ra_answer_value(m, point)) && is_better(m, point, best[c]))
        best[c] = point;
    }
    for (; at > 0 && is_better(m, best[at], best[at - 1]); at--) {
      guint other = best[at - 1];

      best[at - 1] = best[at];
      best[at] = other;
    }
  }
  for (guint c = 0; c < n_curves && best[c] != RA_NONE; c++) {
    ra_answer_mark(m, best[c]);
    ra_table_row(table);
    ra_answer_axis_cells(m, best[c], FALSE);
    ra_metric_cell(m->metric, table, ra_answer_value(m, best[c]));
    ra_answer_beside_cells(m, best[c]);
    spread_cells(m, best[c]);
  }
  if (!m->answer->found)
    return;
  g_string_append_printf(m->sentence, "The %s of %s: ",
                         m->study->question == RA_QUESTION_MINIMUM ? "minimum"
                                                                   : "maximum",
                         m->metric->name);
  ra_answer_say_point(m, best[0]);
  say_spread(m);
}
