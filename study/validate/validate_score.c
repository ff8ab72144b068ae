/* The score of a level's rows. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/robust.h"
#include "study/validate/validate.h"

static double
error_of(const RaValidateRow *row)
{
  return row->predicted / row->measured - 1;
}

/* Median and 90th percentile of @values, which it sorts. */
static void
quantiles(GArray *values, double *out_median, double *out_p90)
{
  double *v = (double *)(gpointer)values->data;

  *out_median = *out_p90 = (double)NAN;
  if (values->len == 0)
    return;
  *out_median = ra_robust_quantile(v, values->len, 0.5);
  *out_p90 = ra_robust_quantile(v, values->len, 0.9);
}

/* Rows of @part by their group, or (@by_repeat) by their key of repeats:
 * string, borrowed -> GPtrArray of rows. */
static GHashTable *
gather(const GArray *rows, const char *part, gboolean by_repeat)
{
  GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
                                            (GDestroyNotify)g_ptr_array_unref);

  for (guint i = 0; i < rows->len; i++) {
    RaValidateRow *row = &g_array_index(rows, RaValidateRow, i);
    char *key = by_repeat ? row->repeat : row->group;
    GPtrArray *list;

    if (row->part != part || !key)
      continue;
    list = g_hash_table_lookup(table, key);
    if (!list)
      g_hash_table_insert(table, key, list = g_ptr_array_new());
    g_ptr_array_add(list, row);
  }
  return table;
}

/* Pairs of a group that are measured apart, and how many of them the
 * prediction puts in the same order: one that it calls equal counts half. */
static void
count_pairs(const GPtrArray *list, guint64 *n_pairs, double *n_agree)
{
  for (guint i = 0; i < list->len; i++)
    for (guint j = 0; j < i; j++) {
      const RaValidateRow *a = list->pdata[i], *b = list->pdata[j];
      double measured = a->measured - b->measured;
      double predicted = a->predicted - b->predicted;

      if (!(fabs(measured) >
            MAX(a->apart_frac, b->apart_frac) * MIN(a->measured, b->measured)))
        continue;
      ++*n_pairs;
      *n_agree += predicted * measured > 0   ? 1
                  : predicted * measured < 0 ? 0
                                             : 0.5;
    }
}

static void
score_pairs(const GArray *rows, RaValidateScore *score)
{
  g_autoptr(GHashTable) groups = gather(rows, score->part, FALSE);
  GHashTableIter iter;
  gpointer list;
  double n_agree = 0;

  g_hash_table_iter_init(&iter, groups);
  while (g_hash_table_iter_next(&iter, NULL, &list))
    count_pairs(list, &score->n_pairs, &n_agree);
  score->pairs_frac =
      score->n_pairs > 0 ? n_agree / (double)score->n_pairs : (double)NAN;
}

/* By how much repeats of a configuration differ from each other. */
static void
score_repeats(const GArray *rows, RaValidateScore *score)
{
  g_autoptr(GHashTable) keys = gather(rows, score->part, TRUE);
  g_autoptr(GArray) size = g_array_new(FALSE, FALSE, sizeof(double));
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init(&iter, keys);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    const GPtrArray *list = value;

    for (guint i = 0; list->len > 1 && i < list->len; i++)
      for (guint j = 0; j < list->len; j++) {
        const RaValidateRow *a = list->pdata[i], *b = list->pdata[j];
        double apart = fabs(a->measured / b->measured - 1);

        if (i != j)
          g_array_append_val(size, apart);
      }
    score->n_repeated += list->len > 1 ? list->len : 0;
  }
  for (guint i = 0; i < rows->len; i++) {
    const RaValidateRow *row = &g_array_index(rows, RaValidateRow, i);

    if (row->part == score->part && isfinite(row->repeat_frac)) {
      g_array_append_val(size, row->repeat_frac);
      score->n_repeated++;
    }
  }
  quantiles(size, &score->repeat_median_frac, &score->repeat_p90_frac);
}

gboolean
ra_validate_is_in(const RaValidateRow *row)
{
  return fabs(log(row->measured / row->predicted)) <= log1p(row->interval_frac);
}

/* How many of the rows with an interval are measured in it. */
static void
score_intervals(const GArray *rows, RaValidateScore *score)
{
  g_autoptr(GArray) size = g_array_new(FALSE, FALSE, sizeof(double));
  guint n_in = 0;
  double p90;

  for (guint i = 0; i < rows->len; i++) {
    const RaValidateRow *row = &g_array_index(rows, RaValidateRow, i);

    if (row->part != score->part || !isfinite(row->interval_frac))
      continue;
    g_array_append_val(size, row->interval_frac);
    n_in += ra_validate_is_in(row);
  }
  score->n_intervals = size->len;
  score->coverage_frac = size->len > 0 ? (double)n_in / size->len : (double)NAN;
  quantiles(size, &score->interval_frac, &p90);
}

RaValidateScore
ra_validate_score(const GArray *rows, const char *part)
{
  RaValidateScore score = {.part = part, .worst_frac = 0};
  g_autoptr(GArray) size = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) sign = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) roof = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = 0; i < rows->len; i++) {
    const RaValidateRow *row = &g_array_index(rows, RaValidateRow, i);
    double error = error_of(row), apart = fabs(error);

    if (row->part != part)
      continue;
    g_array_append_val(size, apart);
    g_array_append_val(sign, error);
    if (score.n_rows++ == 0 || apart > fabs(score.worst_frac)) {
      score.worst = i;
      score.worst_frac = error;
    }
    if (isfinite(row->roofline)) {
      double below = fabs(row->roofline / row->measured - 1);

      g_array_append_val(roof, below);
    }
  }
  quantiles(size, &score.median_frac, &score.p90_frac);
  quantiles(roof, &score.roofline_median_frac, &score.roofline_p90_frac);
  if (sign->len > 0)
    score.bias_frac =
        ra_robust_quantile((double *)(gpointer)sign->data, sign->len, 0.5);
  score_pairs(rows, &score);
  score_repeats(rows, &score);
  score_intervals(rows, &score);
  return score;
}
