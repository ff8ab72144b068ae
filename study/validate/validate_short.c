/* Explanations of missed bars. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/robust.h"
#include "study/validate/validate_short.h"

/* Values of a column that are tried; of more, as many quantiles. */
#define VALUES_MAX 48
/* A condition that tells less than this of the rows that are off is none. */
#define LEAST_J 0.3
/* Gain that a second condition must have. */
#define MORE_J 0.1

/* The rows of a part, by column. */
typedef struct {
  GPtrArray *rows; /* (RaValidateRow), borrowed */
  gboolean *off;   /* beyond the bar */
  guint n_off;
  GPtrArray *names;   /* of columns (char *) */
  GPtrArray *columns; /* of each, GPtrArray of (char *), a row each, borrowed;
                         NULL: the row's file has not that column */
  GHashTable *files;  /* path -> GPtrArray of GStrv: lines, the head first */
} Rows;

typedef enum { EQUAL, AT_LEAST, AT_MOST } Relation;

typedef struct {
  guint column;
  Relation relation;
  const char *value; /* borrowed */
  double j;          /* share of those off less share of the others */
} Condition;

static double
error_of(const RaValidateRow *row)
{
  return row->predicted / row->measured - 1;
}

static gboolean
misses(double value, double bar)
{
  return bar > 0 && value > bar;
}

gboolean
ra_validate_is_short(const RaValidateScore *score)
{
  return misses(score->median_frac, score->median_bar) ||
         misses(score->p90_frac, score->p90_bar);
}

/* Columns that are measured, or say where a row is from. */
static gboolean
is_result(const char *name)
{
  static const char *const endings[] = {"_us",   "_ms",  "_ns",   "_s",
                                        "_GBps", "_gpu", "_kind", "mfu",
                                        "hfu",   "_gib", NULL};
  static const char *const names[] = {"id",     "run",   "note",     "origin",
                                      "source", "ratio", "slowdown", "rows",
                                      "year",   NULL};

  for (guint i = 0; endings[i]; i++)
    if (g_str_has_suffix(name, endings[i]))
      return TRUE;
  return g_strv_contains(names, name) || strstr(name, "latency") != NULL;
}

static void
lines_free(gpointer lines)
{
  g_ptr_array_unref(lines);
}

/* The lines of @path, split; none where it cannot be read (again). */
static GPtrArray *
lines_of(Rows *r, const char *path)
{
  GPtrArray *lines = g_hash_table_lookup(r->files, path);
  g_autofree char *text = NULL;
  g_auto(GStrv) whole = NULL;

  if (lines)
    return lines;
  lines = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
  g_hash_table_insert(r->files, g_strdup(path), lines);
  if (!g_str_has_suffix(path, ".csv") ||
      !g_file_get_contents(path, &text, NULL, NULL))
    return lines;
  whole = g_strsplit(text, "\n", -1);
  for (guint i = 0; whole[i]; i++)
    g_ptr_array_add(lines, g_strsplit(g_strchomp(whole[i]), ",", -1));
  return lines;
}

/* The column called @name, made where there is none. */
static GPtrArray *
column_of(Rows *r, const char *name)
{
  GPtrArray *column;

  for (guint i = 0; i < r->names->len; i++)
    if (strcmp(g_ptr_array_index(r->names, i), name) == 0)
      return g_ptr_array_index(r->columns, i);
  column = g_ptr_array_new();
  g_ptr_array_set_size(column, (gint)r->rows->len);
  g_ptr_array_add(r->names, g_strdup(name));
  g_ptr_array_add(r->columns, column);
  return column;
}

/* The fields of row @index, and its op where the line has several. */
static void
add_fields(Rows *r, guint index)
{
  const RaValidateRow *row = g_ptr_array_index(r->rows, index);
  const char *blank = strchr(row->name, ' ');
  GPtrArray *lines;
  char **head, **fields;

  if (blank && strchr(blank, '=')) {
    g_autofree char *op = g_strndup(row->name, (gsize)(blank - row->name));

    column_of(r, "op")->pdata[index] = (gpointer)g_intern_string(op);
  }
  lines = row->file ? lines_of(r, row->file) : NULL;
  if (!lines || row->line < 2 || row->line > lines->len)
    return;
  head = g_ptr_array_index(lines, 0);
  fields = g_ptr_array_index(lines, row->line - 1);
  for (guint c = 0; head[c] && fields[c]; c++)
    if (*head[c] && !is_result(head[c]))
      column_of(r, head[c])->pdata[index] = fields[c];
}

static void
rows_clear(Rows *r)
{
  g_ptr_array_unref(r->rows);
  g_free(r->off);
  g_ptr_array_unref(r->names);
  g_ptr_array_unref(r->columns);
  g_hash_table_unref(r->files);
}

static void
rows_init(Rows *r, const GArray *all, const char *part, double bar)
{
  *r = (Rows){.rows = g_ptr_array_new(),
              .names = g_ptr_array_new_with_free_func(g_free),
              .columns = g_ptr_array_new_with_free_func(lines_free),
              .files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             lines_free)};
  for (guint i = 0; i < all->len; i++)
    if (g_array_index(all, RaValidateRow, i).part == part)
      g_ptr_array_add(r->rows, &g_array_index(all, RaValidateRow, i));
  r->off = g_new0(gboolean, r->rows->len + 1);
  for (guint i = 0; i < r->rows->len; i++) {
    r->off[i] = fabs(error_of(g_ptr_array_index(r->rows, i))) > bar;
    r->n_off += r->off[i];
    add_fields(r, i);
  }
}

static gboolean
number_of(const char *text, double *out)
{
  char *end;

  if (!text || !*text)
    return FALSE;
  *out = g_ascii_strtod(text, &end);
  return *end == '\0' && isfinite(*out);
}

static gboolean
holds(const Rows *r, const Condition *c, guint row)
{
  const GPtrArray *column = g_ptr_array_index(r->columns, c->column);
  const char *text = column->pdata[row];
  double x, y;

  if (!text)
    return FALSE;
  if (c->relation == EQUAL)
    return strcmp(text, c->value) == 0;
  if (!number_of(text, &x) || !number_of(c->value, &y))
    return FALSE;
  return c->relation == AT_LEAST ? x >= y : x <= y;
}

/* J of @c among the rows of @within (nullable: all). */
static double
weigh(const Rows *r, const Condition *c, const gboolean *within)
{
  double off = 0, others = 0;
  guint n = r->rows->len;

  for (guint i = 0; i < n; i++) {
    if ((within && !within[i]) || !holds(r, c, i))
      continue;
    if (r->off[i])
      off++;
    else
      others++;
  }
  return off / r->n_off - (n > r->n_off ? others / (n - r->n_off) : 0);
}

static int
compare_values(gconstpointer a, gconstpointer b)
{
  const char *x = *(char *const *)a, *y = *(char *const *)b;
  double u, v;

  if (number_of(x, &u) && number_of(y, &v))
    return (u > v) - (u < v);
  return strcmp(x, y);
}

/* The values of a column, each once; too many: some. */
static GPtrArray *
values_of(const GPtrArray *column)
{
  g_autoptr(GPtrArray) sorted = g_ptr_array_new();
  g_autoptr(GPtrArray) distinct = g_ptr_array_new();
  GPtrArray *some = g_ptr_array_new();
  guint step;

  for (guint i = 0; i < column->len; i++)
    if (column->pdata[i])
      g_ptr_array_add(sorted, column->pdata[i]);
  g_ptr_array_sort(sorted, compare_values);
  for (guint i = 0; i < sorted->len; i++)
    if (i == 0 || compare_values(&sorted->pdata[i - 1], &sorted->pdata[i]) != 0)
      g_ptr_array_add(distinct, sorted->pdata[i]);
  step = (distinct->len + VALUES_MAX - 1) / VALUES_MAX;
  for (guint i = 0; i < distinct->len; i += MAX(step, 1))
    g_ptr_array_add(some, distinct->pdata[i]);
  return some;
}

/* The condition that tells most; value NULL: none. */
static Condition
best_condition(const Rows *r, const gboolean *within)
{
  Condition best = {.j = 0};

  for (guint c = 0; c < r->columns->len; c++) {
    g_autoptr(GPtrArray) values = values_of(g_ptr_array_index(r->columns, c));

    for (guint v = 0; values->len > 1 && v < values->len; v++)
      for (guint relation = EQUAL; relation <= AT_MOST; relation++) {
        Condition one = {.column = c,
                         .relation = (Relation)relation,
                         .value = values->pdata[v]};

        one.j = weigh(r, &one, within);
        if (one.j > best.j + 1e-9)
          best = one;
      }
  }
  return best;
}

/* Columns in a reader's words, before and behind the value. */
static const struct {
  const char *column, *before, *behind;
} words[] = {
    {"isl", "prompts of ", " tokens"},
    {"osl", "responses of ", " tokens"},
    {"seq", "sequences of ", " tokens"},
    {"bytes", "messages of ", " bytes"},
    {"num_gpus", "", " GPUs"},
    {"gpus", "", " GPUs"},
    {"nodes", "", " nodes"},
    {"mbs", "micro-batches of ", ""},
    {"micro_batch", "micro-batches of ", ""},
    {"op", "", ""},
};

static void
say_condition(const Rows *r, const Condition *c, GString *out)
{
  static const char *const signs[] = {"", " or more", " or less"};
  const char *name = g_ptr_array_index(r->names, c->column);

  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (*c->value && strcmp(words[i].column, name) == 0) {
      g_string_append_printf(out, "%s%s%s%s", words[i].before, c->value,
                             words[i].behind, signs[c->relation]);
      return;
    }
  g_string_append_printf(out, "%s %s%s", name,
                         *c->value ? c->value : "not published",
                         signs[c->relation]);
}

/* Median and p90 of the size, median of the sign, of rows that are @in or not.
 */
static void
quantiles(const Rows *r, const gboolean *in, gboolean wanted, guint *out_n,
          double *out)
{
  g_autofree double *size = g_new(double, r->rows->len + 1);
  g_autofree double *sign = g_new(double, r->rows->len + 1);
  guint n = 0;

  for (guint i = 0; i < r->rows->len; i++)
    if ((in[i] != FALSE) == wanted) {
      sign[n] = error_of(g_ptr_array_index(r->rows, i));
      size[n] = fabs(sign[n]);
      n++;
    }
  *out_n = n;
  out[0] = n > 0 ? ra_robust_quantile(size, n, 0.5) : 0;
  out[1] = n > 0 ? ra_robust_quantile(size, n, 0.9) : 0;
  out[2] = n > 0 ? ra_robust_quantile(sign, n, 0.5) : 0;
}

/* "4 of the 5 rows beyond 25 % have cp 2 or more: the 6 such are predicted 31.0
 * % too quick at the median; the other 3 have 3.0 / 4.0 %". */
static void
say_group(const Rows *r, const gboolean *in, double bar, const char *what,
          GString *out)
{
  guint n_in, n_out, n_off = 0;
  double inside[3], outside[3];

  quantiles(r, in, TRUE, &n_in, inside);
  quantiles(r, in, FALSE, &n_out, outside);
  for (guint i = 0; i < r->rows->len; i++)
    n_off += in[i] && r->off[i];
  if (r->n_off == 1)
    g_string_append(out, "the only row");
  else if (n_off == r->n_off)
    g_string_append_printf(out, "all %u rows", n_off);
  else
    g_string_append_printf(out, "%u of the %u rows", n_off, r->n_off);
  g_string_append_printf(out,
                         " beyond %.3g %% %s %s: the %u such %s predicted %.1f "
                         "%% too %s at the median",
                         bar * 100, n_off == 1 ? "has" : "have", what, n_in,
                         n_in == 1 ? "is" : "are", fabs(inside[2]) * 100,
                         inside[2] < 0 ? "fast" : "slow");
  if (n_out > 0)
    g_string_append_printf(out, "; the other %u have %.1f / %.1f %%", n_out,
                           outside[0] * 100, outside[1] * 100);
}

/* Rows that are furthest off and nothing else in common. */
#define ALONE 3

/* "11 of 55 rows are beyond 15 %, 8 predicted too quick, 3 too slow, in no
 * column unlike the others; without the 3 furthest off: 4.1 / 15.9 %". */
static void
say_alone(const Rows *r, double bar, GString *out)
{
  g_autofree gboolean *in = g_new0(gboolean, r->rows->len + 1);
  guint n, n_quick = 0, n_far = MIN(ALONE, r->rows->len);
  double q[3];

  for (guint i = 0; i < r->rows->len; i++)
    n_quick += r->off[i] && error_of(g_ptr_array_index(r->rows, i)) < 0;
  for (guint k = 0; k < n_far; k++) {
    guint worst = 0;
    double most = -1;

    for (guint i = 0; i < r->rows->len; i++) {
      double size = fabs(error_of(g_ptr_array_index(r->rows, i)));

      if (!in[i] && size > most) {
        most = size;
        worst = i;
      }
    }
    in[worst] = TRUE;
  }
  quantiles(r, in, FALSE, &n, q);
  g_string_append_printf(
      out,
      "%u of %u rows are beyond %.3g %%, %u predicted too fast, %u too slow, "
      "and no column separates them from the others; without the %u furthest "
      "off: %.1f / %.1f %%",
      r->n_off, r->rows->len, bar * 100, n_quick, r->n_off - n_quick, n_far,
      q[0] * 100, q[1] * 100);
}

static char *
say(const Rows *r, double bar)
{
  GString *out = g_string_new(NULL);
  g_autoptr(GString) what = g_string_new(NULL);
  g_autofree gboolean *in = g_new0(gboolean, r->rows->len + 1);
  Condition first = {.j = 0}, second;

  if (r->n_off < r->rows->len)
    first = best_condition(r, NULL);
  if (!first.value || first.j < LEAST_J) {
    say_alone(r, bar, out);
    return g_string_free(out, FALSE);
  }
  for (guint i = 0; i < r->rows->len; i++)
    in[i] = holds(r, &first, i);
  say_condition(r, &first, what);
  second = best_condition(r, in);
  if (second.value && second.j > first.j + MORE_J) {
    g_string_append(what, " and ");
    say_condition(r, &second, what);
    for (guint i = 0; i < r->rows->len; i++)
      in[i] = in[i] && holds(r, &second, i);
  }
  say_group(r, in, bar, what->str, out);
  return g_string_free(out, FALSE);
}

char *
ra_validate_why(const GArray *rows, const RaValidateScore *score)
{
  double bar = misses(score->p90_frac, score->p90_bar) ? score->p90_bar
                                                       : score->median_bar;
  char *text;
  Rows r;

  rows_init(&r, rows, score->part, bar);
  text = say(&r, bar);
  rows_clear(&r);
  return text;
}

static char *
say_bar(double value, double bar)
{
  return bar > 0 ? g_strdup_printf("%.1f of %.3g %%", value * 100, bar * 100)
                 : g_strdup("-");
}

RaTable *
ra_validation_short(const RaValidation *validation)
{
  RaTable *table = ra_table_new("short");

  ra_table_column(table, "level", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "of", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "median", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "p90", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "why", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < validation->results->len; i++) {
    const RaValidateResult *result =
        &g_array_index(validation->results, RaValidateResult, i);

    for (guint j = 0; j < result->n_scores; j++) {
      const RaValidateScore *s = &g_array_index(
          validation->scores, RaValidateScore, result->first_score + j);
      g_autofree char *median = say_bar(s->median_frac, s->median_bar);
      g_autofree char *p90 = say_bar(s->p90_frac, s->p90_bar);
      g_autofree char *why = NULL;

      if (!ra_validate_is_short(s))
        continue;
      why = ra_validate_why(result->rows, s);
      ra_table_row(table);
      ra_table_text(table, result->level->id);
      ra_table_text(table, s->part ? s->part : "-");
      ra_table_text(table, median);
      ra_table_text(table, p90);
      ra_table_text(table, why);
    }
  }
  return table;
}
