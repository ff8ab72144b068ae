/* Validation plot: predicted against measured values. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/palette.h"
#include "base/quote.h"
#include "base/text.h"
#include "study/plot/picture.h"
#include "study/plot/validate_plot.h"

#define FONT_PT 8
#define PANEL_PX 300
#define ABOVE_PX 50 /* title */
#define KEYS_MAX 6  /* lines of a panel's key that leave its points free */
#define COLUMNS 4
#define CELLS 150 /* of an axis: points of one cell are drawn once */

/* Filled and open marks of gnuplot that differ without colour. */
static const guint marks[] = {7, 4, 9, 6, 5, 12, 2};

gboolean
ra_validation_plot_check(const char *path, GError **error)
{
  return ra_picture_terminal(path, FONT_PT, NULL, error);
}

/* The range of both axes of a panel. */
static void
find_range(const RaValidateResult *result, double *out_low, double *out_high)
{
  *out_low = (double)INFINITY;
  *out_high = 0;
  for (guint i = 0; i < result->rows->len; i++) {
    const RaValidateRow *row = &g_array_index(result->rows, RaValidateRow, i);
    double least = MIN(row->measured, row->predicted);

    *out_high = MAX(*out_high, MAX(row->measured, row->predicted));
    *out_low = MIN(*out_low, least > 0 ? least : row->measured);
  }
  *out_low *= 0.8;
  *out_high *= 1.25;
}

/* Which cell of an axis @x is in. */
static guint
cell_of(double x, double low, double high)
{
  double at = log(MAX(x, low) / low) / log(high / low) * CELLS;

  return (guint)CLAMP(at, 0, CELLS - 1);
}

/* The points of one part, those that would fall on another left out. */
static void
append_points(GString *out, const RaValidateResult *result, const char *part,
              double low, double high)
{
  g_autofree guint8 *taken = g_new0(guint8, CELLS * CELLS);

  for (guint i = 0; i < result->rows->len; i++) {
    const RaValidateRow *row = &g_array_index(result->rows, RaValidateRow, i);
    guint8 *cell = &taken[cell_of(row->measured, low, high) * CELLS +
                          cell_of(row->predicted, low, high)];

    if (row->part != part || *cell)
      continue;
    *cell = 1;
    g_string_append_printf(out, "%.6g\t%.6g\n", row->measured,
                           MAX(row->predicted, low));
  }
}

/* All points as blocks that gnuplot and people can read: a block a part, named
 * in a line before it. */
static char *
make_data(const RaValidation *v)
{
  GString *out = g_string_new("# measured\tpredicted, a block a level and "
                              "part\n");

  for (guint i = 0; i < v->results->len; i++) {
    const RaValidateResult *result =
        &g_array_index(v->results, RaValidateResult, i);
    double low, high;

    find_range(result, &low, &high);
    for (guint j = 0; j < result->n_scores; j++) {
      const RaValidateScore *s =
          &g_array_index(v->scores, RaValidateScore, result->first_score + j);

      ra_quote_comment(out, "%s %s (%s)", result->level->id,
                       s->part ? s->part : "-", result->level->unit);
      append_points(out, result, s->part, low, high);
      g_string_append(out, "\n\n");
    }
  }
  return g_string_free(out, FALSE);
}

/* Title of a part in the key; many parts share one line, as it would cover the
 * points. */
static void
append_part_title(GString *s, const RaValidateScore *score, guint n_scores)
{
  if (n_scores > KEYS_MAX) {
    g_string_append(s, "notitle");
    return;
  }
  g_string_append(s, "title ");
  ra_quote_gnuplot(s, "%s %.1f / %.1f %%", score->part ? score->part : "",
                   score->median_frac * 100, score->p90_frac * 100);
}

static void
append_all_title(GString *s, const RaValidation *v,
                 const RaValidateResult *result)
{
  double least = (double)INFINITY, most = 0;

  if (result->n_scores <= KEYS_MAX) {
    g_string_append(s, "notitle");
    return;
  }
  for (guint j = 0; j < result->n_scores; j++) {
    const RaValidateScore *score =
        &g_array_index(v->scores, RaValidateScore, result->first_score + j);

    least = MIN(least, score->median_frac);
    most = MAX(most, score->median_frac);
  }
  g_string_append_printf(s, "title '%u parts, medians %.1f to %.1f %%'",
                         result->n_scores, least * 100, most * 100);
}

/* One panel; its points are blocks @block and so on of $d. */
static void
append_panel(GString *s, const RaValidation *v, const RaValidateResult *result)
{
  const RaValidateLevel *level = result->level;
  double low, high, bar = 0;

  find_range(result, &low, &high);
  g_string_append(s, "set title ");
  ra_quote_gnuplot(s, "%s", level->id);
  g_string_append_printf(s,
                         " noenhanced offset 0,-0.5\nset xrange [%.6g:%.6g]\n"
                         "set yrange [%.6g:%.6g]\nset xlabel ",
                         low, high, low, high);
  ra_quote_gnuplot(s, "measured (%s)", level->unit);
  g_string_append(s, " offset 0,0.5\nset ylabel ");
  ra_quote_gnuplot(s, "predicted (%s)", level->unit);
  g_string_append(s, " offset 1,0\nplot ");
  for (guint j = 0; j < result->n_scores; j++) {
    const RaValidateScore *score =
        &g_array_index(v->scores, RaValidateScore, result->first_score + j);

    bar = MAX(bar, score->p90_bar);
    g_string_append_printf(
        s,
        "$d index %u using 1:2 with points pt %u ps 0.3 lc rgb '#%06" PRIx32
        "' ",
        result->first_score + j, marks[j % G_N_ELEMENTS(marks)],
        ra_palette_color(j));
    append_part_title(s, score, result->n_scores);
    g_string_append(s, ", ");
  }
  if (bar > 0)
    g_string_append_printf(s,
                           "x * %.6g with lines lw 1 dt 2 lc rgb '#606060' "
                           "notitle, x * %.6g with lines lw 1 dt 2 lc rgb "
                           "'#606060' notitle, ",
                           1 + bar, MAX(1 - bar, 0.01));
  g_string_append(s, "x with lines lw 1 lc rgb 'black' ");
  append_all_title(s, v, result);
  g_string_append_c(s, '\n');
}

static char *
make_script(const RaValidation *v, const char *terminal, const char *data)
{
  GString *s = g_string_new(NULL);
  guint n = 0, columns, rows;
  double width, height;

  for (guint i = 0; i < v->results->len; i++)
    n += g_array_index(v->results, RaValidateResult, i).n_scores > 0;
  columns = MIN(n, COLUMNS);
  rows = (n + columns - 1) / columns;
  width = columns * PANEL_PX;
  height = rows * PANEL_PX + ABOVE_PX;
  ra_picture_append_size(s, terminal, width, height);
  ra_quote_block(s, "d", data);
  g_string_append_printf(
      s,
      "set multiplot layout %u,%u title 'predicted against "
      "measured; median / p90 of the error'\n"
      "set logscale xy\nset format xy '10^{%%T}'\nset border 3\n"
      "set tics nomirror out scale 0.5\nset samples 2\n"
      "set key left top Left reverse samplen 0.5 spacing 0.9 noenhanced\n",
      rows, columns);
  for (guint i = 0; i < v->results->len; i++) {
    const RaValidateResult *result =
        &g_array_index(v->results, RaValidateResult, i);

    if (result->n_scores > 0)
      append_panel(s, v, result);
  }
  g_string_append(s, "unset multiplot\n");
  return g_string_free(s, FALSE);
}

gboolean
ra_validation_plot(const RaValidation *validation, const char *path,
                   GError **error)
{
  g_autofree char *data = make_data(validation);
  g_autofree char *script = NULL, *terminal = NULL;

  if (!ra_picture_terminal(path, FONT_PT, &terminal, error))
    return FALSE;
  script = make_script(validation, terminal, data);
  return ra_picture_write(path, NULL, data, script, error);
}
