/* Report of a validation: scores, worst rows, bars. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/validate/validate_report.h"
#include "study/validate/validate_short.h"

/* Rows that are shown of a level that misses its bar. */
#define SHORT_ROWS 3

static const RaValidateScore *
score_at(const RaValidation *v, guint index)
{
  return &g_array_index(v->scores, RaValidateScore, index);
}

/* TRUE if a bar is met; one that is none is. */
static gboolean
is_met(double value, double bar)
{
  return !(bar > 0) || value <= bar;
}

/* TRUE if intervals are scored and contain as many rows as they say. */
static gboolean
is_covered(const RaValidateScore *s)
{
  return s->coverage_frac >= RA_COVERAGE_LOW &&
         s->coverage_frac <= RA_COVERAGE_HIGH;
}

static const char *
verdict(const RaValidateScore *s)
{
  if (s->level->intervals)
    return is_covered(s) ? "ok" : "short";
  if (!(s->median_bar > 0) && !(s->p90_bar > 0))
    return "-";
  return is_met(s->median_frac, s->median_bar) &&
                 is_met(s->p90_frac, s->p90_bar)
             ? "ok"
             : "short";
}

/* "3.5 / 12 %". */
static char *
format_bars(const RaValidateScore *s)
{
  if (s->level->intervals)
    return g_strdup_printf("%.3g to %.3g %% in interval", RA_COVERAGE_LOW * 100,
                           RA_COVERAGE_HIGH * 100);
  if (s->median_bar > 0 && s->p90_bar > 0)
    return g_strdup_printf("%.3g / %.3g %%", s->median_bar * 100,
                           s->p90_bar * 100);
  if (s->median_bar > 0 || s->p90_bar > 0)
    return g_strdup_printf(s->median_bar > 0 ? "%.3g / - %%" : "- / %.3g %%",
                           MAX(s->median_bar, s->p90_bar) * 100);
  return g_strdup("-");
}

static void
bar_cell(RaTable *table, double bar)
{
  if (bar > 0)
    ra_table_real(table, bar);
  else
    ra_table_missing(table);
}

/* Where columns of intervals are shown: in data, and where a score has one. */
static gboolean
shows_intervals(const RaValidation *v, gboolean brief)
{
  for (guint i = 0; brief && i < v->scores->len; i++)
    if (score_at(v, i)->n_intervals > 0)
      return TRUE;
  return !brief;
}

static void
score_columns(RaTable *table, gboolean brief, gboolean intervals)
{
  static const char *const numbers[] = {"median_frac", "p90_frac",
                                        "worst_frac",  "bias_frac",
                                        "order_frac",  "repeat_frac"};

  ra_table_column(table, "source", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "level", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "of", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "rows", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
    ra_table_column(table, numbers[i], RA_UNIT_NONE, RA_CELL_FRAC);
  if (!brief)
    ra_table_column(table, "repeat_p90_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "roofline_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  if (intervals) {
    ra_table_column(table, "interval_frac", RA_UNIT_NONE, RA_CELL_FRAC);
    ra_table_column(table, "coverage_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  }
  if (brief) {
    ra_table_column(table, "bars", RA_UNIT_NONE, RA_CELL_TEXT);
  } else {
    ra_table_column(table, "roofline_p90_frac", RA_UNIT_NONE, RA_CELL_FRAC);
    ra_table_column(table, "median_bar_frac", RA_UNIT_NONE, RA_CELL_FRAC);
    ra_table_column(table, "p90_bar_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  }
  ra_table_column(table, "verdict", RA_UNIT_NONE, RA_CELL_TEXT);
  if (brief)
    return;
  ra_table_column(table, "worst_row", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "worst_where", RA_UNIT_NONE, RA_CELL_TEXT);
}

/* "gemm_h100_bf16.csv:12", (transfer full). */
static char *
where(const RaValidateRow *row)
{
  g_autofree char *base = row->file ? g_path_get_basename(row->file) : NULL;

  return base ? g_strdup_printf("%s:%u", base, row->line) : g_strdup("-");
}

static void
score_row(RaTable *table, const RaValidateScore *s, const RaValidateRow *worst,
          gboolean brief, gboolean intervals, const char *before)
{
  gboolean again = brief && g_strcmp0(before, s->level->source) == 0;
  const char *more = brief ? strchr(s->level->source, ',') : NULL;
  g_autofree char *source =
      more ? g_strdup_printf("%.*s ...", (int)(more - s->level->source),
                             s->level->source)
           : g_strdup(s->level->source);

  ra_table_row(table);
  ra_table_text(table, again ? "" : source);
  ra_table_text(table, s->level->id);
  ra_table_text(table, s->part ? s->part : "-");
  ra_table_integer(table, s->n_rows);
  ra_table_real(table, s->median_frac);
  ra_table_real(table, s->p90_frac);
  ra_table_real(table, s->worst_frac);
  ra_table_real(table, s->bias_frac);
  ra_table_real(table, s->pairs_frac);
  ra_table_real(table, s->repeat_median_frac);
  if (!brief)
    ra_table_real(table, s->repeat_p90_frac);
  ra_table_real(table, s->roofline_median_frac);
  if (intervals) {
    ra_table_real(table, s->interval_frac);
    ra_table_real(table, s->coverage_frac);
  }
  if (brief) {
    g_autofree char *bars = format_bars(s);

    ra_table_text(table, bars);
  } else {
    ra_table_real(table, s->roofline_p90_frac);
    bar_cell(table, s->median_bar);
    bar_cell(table, s->p90_bar);
  }
  ra_table_text(table, verdict(s));
  if (!brief) {
    g_autofree char *place = where(worst);

    ra_table_text(table, worst->name);
    ra_table_text(table, place);
  }
}

RaTable *
ra_validation_scores(const RaValidation *validation, gboolean brief)
{
  RaTable *table = ra_table_new("scores");
  gboolean intervals = shows_intervals(validation, brief);
  const char *before = NULL;

  score_columns(table, brief, intervals);
  for (guint i = 0; i < validation->results->len; i++) {
    const RaValidateResult *result =
        &g_array_index(validation->results, RaValidateResult, i);

    for (guint j = 0; j < result->n_scores; j++) {
      const RaValidateScore *s = score_at(validation, result->first_score + j);

      score_row(table, s, &g_array_index(result->rows, RaValidateRow, s->worst),
                brief, intervals, before);
      before = s->level->source;
    }
  }
  return table;
}

RaTable *
ra_validation_levels(const RaValidation *validation)
{
  RaTable *table = ra_table_new("levels");

  ra_table_column(table, "level", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "what", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "unit", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "convention", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < validation->results->len; i++) {
    const RaValidateLevel *level =
        g_array_index(validation->results, RaValidateResult, i).level;

    ra_table_row(table);
    ra_table_text(table, level->id);
    ra_table_text(table, level->title);
    ra_table_text(table, level->unit);
    ra_table_text(table, level->convention);
  }
  return table;
}

/* By the error's size, largest first; then as they come. */
static int
compare_rows(gconstpointer a, gconstpointer b)
{
  const RaValidateRow *x = *(RaValidateRow *const *)a;
  const RaValidateRow *y = *(RaValidateRow *const *)b;
  double ex = fabs(x->predicted / x->measured - 1);
  double ey = fabs(y->predicted / y->measured - 1);

  return ex < ey ? 1 : ex > ey ? -1 : (x > y) - (x < y);
}

static void
worst_of(RaTable *table, const RaValidateResult *result,
         const RaValidateScore *score, guint n)
{
  g_autoptr(GPtrArray) rows = g_ptr_array_new();

  for (guint i = 0; i < result->rows->len; i++) {
    RaValidateRow *row = &g_array_index(result->rows, RaValidateRow, i);

    if (row->part == score->part)
      g_ptr_array_add(rows, row);
  }
  g_ptr_array_sort(rows, compare_rows);
  for (guint i = 0; i < rows->len && i < n; i++) {
    const RaValidateRow *row = rows->pdata[i];
    g_autofree char *place = where(row);

    ra_table_row(table);
    ra_table_text(table, result->level->id);
    ra_table_text(table, row->part ? row->part : "-");
    ra_table_real(table, row->predicted / row->measured - 1);
    ra_table_real(table, row->measured);
    ra_table_real(table, row->predicted);
    ra_table_text(table, result->level->unit);
    ra_table_text(table, row->name);
    ra_table_text(table, row->fold ? row->fold : "-");
    ra_table_text(table, place);
  }
}

RaTable *
ra_validation_worst(const RaValidation *validation, guint n)
{
  RaTable *table = ra_table_new("worst");

  ra_table_column(table, "level", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "of", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "error_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "measured", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "predicted", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "unit", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "row", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "left_out", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "where", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < validation->results->len; i++) {
    const RaValidateResult *result =
        &g_array_index(validation->results, RaValidateResult, i);

    for (guint j = 0; j < result->n_scores; j++) {
      const RaValidateScore *s = score_at(validation, result->first_score + j);

      worst_of(table, result, s,
               n > 0 || !ra_validate_is_short(s) ? n : SHORT_ROWS);
    }
  }
  return table;
}

RaTable *
ra_validation_notes(const RaValidation *validation)
{
  RaTable *table = ra_table_new("notes");

  ra_table_column(table, "level", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "note", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < validation->results->len; i++) {
    const RaValidateResult *result =
        &g_array_index(validation->results, RaValidateResult, i);

    for (guint j = 0; j < result->notes->len; j++) {
      ra_table_row(table);
      ra_table_text(table, result->level->id);
      ra_table_text(table, result->notes->pdata[j]);
    }
  }
  return table;
}

static void
append_bar(GString *out, const RaValidateScore *s, const char *what,
           double value, double bar)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE], limit[G_ASCII_DTOSTR_BUF_SIZE];

  if (!(bar > 0))
    return;
  g_ascii_formatd(number, sizeof number, "%.3g", value);
  g_ascii_formatd(limit, sizeof limit, "%g", bar);
  g_string_append_printf(out, "bar\t%s%s%s-%s-frac\t%s\t<=%s\t%s\n",
                         s->level->id, s->part ? "-" : "",
                         s->part ? s->part : "", what, number, limit,
                         is_met(value, bar) ? "ok" : "short");
}

static void
append_coverage(GString *out, const RaValidateScore *s)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd(number, sizeof number, "%.3g", s->coverage_frac);
  g_string_append_printf(out, "bar\t%s-%s-coverage-frac\t%s\t%g..%g\t%s\n",
                         s->level->id, s->part ? s->part : "all", number,
                         RA_COVERAGE_LOW, RA_COVERAGE_HIGH, verdict(s));
}

void
ra_validation_bars(const RaValidation *validation, GString *out)
{
  for (guint i = 0; i < validation->scores->len; i++) {
    const RaValidateScore *s = score_at(validation, i);

    append_bar(out, s, "median", s->median_frac, s->median_bar);
    append_bar(out, s, "p90", s->p90_frac, s->p90_bar);
    if (s->level->intervals)
      append_coverage(out, s);
  }
}

char *
ra_validation_verdict(const RaValidation *validation)
{
  const RaValidateScore *furthest = NULL;
  guint n_bars = 0, n_met = 0;
  double most = 1;

  for (guint i = 0; i < validation->scores->len; i++) {
    const RaValidateScore *s = score_at(validation, i);
    double over = MAX(s->median_bar > 0 ? s->median_frac / s->median_bar : 0,
                      s->p90_bar > 0 ? s->p90_frac / s->p90_bar : 0);

    n_bars += (s->median_bar > 0) + (s->p90_bar > 0) + s->level->intervals;
    n_met += (s->level->intervals && is_covered(s)) +
             (s->median_bar > 0 && is_met(s->median_frac, s->median_bar)) +
             (s->p90_bar > 0 && is_met(s->p90_frac, s->p90_bar));
    if (over > most) {
      most = over;
      furthest = s;
    }
  }
  if (!furthest)
    return g_strdup_printf("%u of %u error limits are met.", n_met, n_bars);
  return g_strdup_printf("%u of %u error limits are met; furthest off: %s%s%s, "
                         "%.1f / %.1f %% (median / p90).",
                         n_met, n_bars, furthest->level->id,
                         furthest->part ? " of " : "",
                         furthest->part ? furthest->part : "",
                         furthest->median_frac * 100, furthest->p90_frac * 100);
}
