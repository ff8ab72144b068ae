/* Study plot: curves, fronts and their bands. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/palette.h"
#include "base/quote.h"
#include "study/model_error.h"
#include "study/plot/picture.h"
#include "study/plot/study_plot.h"
#include "study/sweep/curve.h"
#include "study/sweep/spread.h"

#define FONT_PT 9
#define WIDTH_PX 760
#define HEIGHT_PX 440
#define BAND_OPACITY 0.15
#define TIC_FRAC 0.06 /* of an axis, between names of values */
#define WORDY_CHARS 30
#define FLAT_FRAC 1e-3    /* a metric that differs by less is flat */
#define LOG_RATIO 8.0     /* a metric that spans more is logarithmic */
#define ROOM_FRAC 0.05    /* of an axis, beyond its points */
#define MARGIN_COLUMNS 12 /* of the axis of a text */
#define LETTERS 26

/* Filled marks and open ones of gnuplot that differ without colour. */
static const guint filled[] = {7, 5, 9, 11, 13, 15};
static const guint hollow[] = {6, 4, 8, 10, 12, 14};

gboolean
ra_study_plot_check(const char *path, GError **error)
{
  return ra_picture_terminal(path, FONT_PT, NULL, error);
}

/* Axes of the picture. */
typedef struct {
  const RaSweep *sweep;
  const RaStudy *study;
  const RaStudyAxis *axis;   /* NULL: x is a metric */
  const RaMetric *x, *y;     /* x NULL where axis is not */
  const RaStudyLimit *limit; /* nullable: of y */
  gboolean is_log;
} Sheet;

static Sheet
sheet_of(const RaSweep *sweep)
{
  const RaStudy *study = sweep->study;
  Sheet s = {.sweep = sweep, .study = study, .y = study->metrics[0]};

  if (study->question == RA_QUESTION_PARETO) {
    s.x = study->metrics[0];
    s.y = study->metrics[1];
    return s;
  }
  /* For the fewest GPUs within a minute, curves cross the minute. */
  for (guint i = 0; i < study->n_limits; i++) {
    const RaStudyLimit *limit = &study->limits[i];

    if (limit->metric &&
        (limit->metric == s.y || study->question == RA_QUESTION_MINIMUM ||
         study->question == RA_QUESTION_MAXIMUM)) {
      s.y = limit->metric;
      s.limit = limit;
    }
  }
  s.axis = &study->axes[study->along];
  s.is_log = s.axis->is_log;
  return s;
}

static double
y_of(const Sheet *s, guint point)
{
  const RaSweepPoint *p = &s->sweep->points[point];

  return p->trial.refusal ? (double)NAN : ra_metric_value(s->y, &p->figures);
}

static double
x_of(const Sheet *s, guint point)
{
  const RaSweepPoint *p = &s->sweep->points[point];

  if (s->axis)
    return s->axis->x[ra_study_value(s->study, point, s->study->along)];
  return p->trial.refusal ? (double)NAN : ra_metric_value(s->x, &p->figures);
}

/* Between what y is in nine of ten cases, by the error of the point; NAN: it
 * does not count. */
static void
find_band(const Sheet *s, guint point, double *out_low, double *out_high)
{
  const RaSweepPoint *p = &s->sweep->points[point];
  double factor = p->is_allowed && p->error_frac > 0
                      ? exp(p->error_frac * RA_ERROR_NINE_OF_TEN)
                      : (double)NAN;
  double a = ra_spread_metric(s->sweep, point, s->y, 1 / factor);
  double b = ra_spread_metric(s->sweep, point, s->y, factor);

  *out_low = MIN(a, b);
  *out_high = MAX(a, b);
}

static double
band_low(const Sheet *s, guint point)
{
  double low, high;

  find_band(s, point, &low, &high);
  return low;
}

static double
band_high(const Sheet *s, guint point)
{
  double low, high;

  find_band(s, point, &low, &high);
  return high;
}

/* The range of what ran. */
static void
find_range(const Sheet *s, double (*of)(const Sheet *, guint), double *out_low,
           double *out_high)
{
  *out_low = (double)INFINITY;
  *out_high = -(double)INFINITY;
  for (guint i = 0; i < s->sweep->n; i++) {
    double value = of(s, i);

    if (!isfinite(value))
      continue;
    *out_low = MIN(*out_low, value);
    *out_high = MAX(*out_high, value);
  }
}

/* Where value @v lies on the axis, in [0, 1]. */
static double
place_of(const RaStudyAxis *axis, guint v)
{
  double first = axis->x[0], last = axis->x[axis->n_values - 1];

  if (!(last > first))
    return 0;
  return axis->is_log ? log(axis->x[v] / first) / log(last / first)
                      : (axis->x[v] - first) / (last - first);
}

static gboolean
is_answer(const RaAnswer *answer, guint point)
{
  for (guint i = 0; i < answer->points->len; i++)
    if (g_array_index(answer->points, guint, i) == point)
      return TRUE;
  return FALSE;
}

static void
append_number(GString *out, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf(out, "\t%s",
                         isfinite(value)
                             ? g_ascii_formatd(text, sizeof text, "%.9g", value)
                             : "NaN");
}

/* TRUE if value @v of @curve counts but no neighbour does, so that no line and
 * no band goes through it. */
static gboolean
is_alone(const Sheet *s, guint curve, guint v)
{
  const RaSweepPoint *points = s->sweep->points;
  guint n = s->study->axes[s->study->along].n_values;

  return (v == 0 ||
          !points[ra_study_curve_point(s->study, curve, v - 1)].is_allowed) &&
         (v + 1 == n ||
          !points[ra_study_curve_point(s->study, curve, v + 1)].is_allowed);
}

/* A block a curve: x, y of all, of those that count, of the answer. */
static char *
make_data(const Sheet *s, const RaAnswer *answer)
{
  GString *out = g_string_new(
      "# value\tx\ty\ty of points that count\ty of the answer\tleast and "
      "most of y in nine of ten cases\tthe same of points alone; a block "
      "a curve\n");

  for (guint c = 0; c < ra_study_n_curves(s->study); c++) {
    g_autofree char *name = ra_study_curve_name(s->study, c);
    const RaStudyAxis *axis = &s->study->axes[s->study->along];

    g_string_append(out, c > 0 ? "\n\n" : "");
    ra_quote_comment(out, "%s", name);
    for (guint v = 0; v < axis->n_values; v++) {
      guint point = ra_study_curve_point(s->study, c, v);
      double y = y_of(s, point);
      gboolean counts = s->sweep->points[point].is_allowed;

      ra_quote_column(out, axis->labels[v]);
      append_number(out, x_of(s, point));
      append_number(out, y);
      append_number(out, counts ? y : (double)NAN);
      append_number(out, is_answer(answer, point) ? y : (double)NAN);
      append_number(out, band_low(s, point));
      append_number(out, band_high(s, point));
      append_number(out, is_alone(s, c, v) ? band_low(s, point) : (double)NAN);
      append_number(out, is_alone(s, c, v) ? band_high(s, point) : (double)NAN);
      g_string_append_c(out, '\n');
    }
  }
  return g_string_free(out, FALSE);
}

/* 1, 2 and 5 times each power of ten, named. */
static void
append_log_tics(GString *out, const char *name, double low, double high)
{
  static const double steps[] = {1, 2, 5};
  guint n = 0;

  g_string_append_printf(out, "set %stics (", name);
  for (double power = pow(10, floor(log10(low))); power <= high; power *= 10)
    for (guint i = 0; i < G_N_ELEMENTS(steps); i++)
      if (steps[i] * power >= low && steps[i] * power <= high)
        g_string_append_printf(out, "%s%.9g", n++ > 0 ? ", " : "",
                               steps[i] * power);
  g_string_append(out, ")\n");
}

/* The range of an axis with some room, from 0 where that is near; a metric that
 * spans much is on a logarithmic scale, as is an axis of @is_log. */
static void
append_range(GString *out, const Sheet *s, const char *name,
             double (*of)(const Sheet *, guint), gboolean is_log)
{
  double low, high, room;

  find_range(s, of, &low, &high);
  if (of == y_of) {
    double least, most;

    find_range(s, band_low, &least, &most);
    low = MIN(low, least);
    find_range(s, band_high, &least, &most);
    high = MAX(high, most);
  }
  if (of == y_of && high > 0 && high - low < FLAT_FRAC * high) {
    g_string_append_printf(out, "set yrange [0:%.9g]\n", 1.1 * high);
    return;
  }
  if (!(high > low))
    return;
  if (of == y_of && s->limit) {
    low = MIN(low, s->limit->value);
    high = MAX(high, s->limit->value);
  }
  is_log = is_log || (of == y_of && low > 0 && high > LOG_RATIO * low);
  room = is_log ? pow(high / low, ROOM_FRAC) : ROOM_FRAC * (high - low);
  if (is_log)
    g_string_append_printf(out, "set logscale %s\n", name);
  if (is_log && of == y_of)
    append_log_tics(out, name, low / room, high * room);
  if (is_log)
    g_string_append_printf(out, "set %srange [%.9g:%.9g]\n", name, low / room,
                           high * room);
  else
    g_string_append_printf(
        out, "set %srange [%.9g:%.9g]\n", name,
        of == y_of && low >= 0 && low < high / 2 ? 0 : low - room, high + room);
}

/* The values of the axis, named where there is room beside the last name. */
static void
append_tics(GString *out, const RaStudyAxis *axis)
{
  guint last = axis->n_values - 1, before = 0;

  g_string_append(out, "set xtics noenhanced (");
  for (guint v = 0; v <= last; v++) {
    double room = place_of(axis, v) - place_of(axis, before);
    double rest = place_of(axis, last) - place_of(axis, v);
    gboolean has_room =
        v == 0 || v == last || (room > TIC_FRAC && rest > TIC_FRAC);

    g_string_append(out, v > 0 ? ", " : "");
    ra_quote_gnuplot(out, "%s", has_room ? axis->labels[v] : "");
    g_string_append_printf(out, " %.9g", axis->x[v]);
    before = has_room ? v : before;
  }
  g_string_append(out, ")\n");
}

/* TRUE if names of curves are too long to stand beside them. */
static gboolean
is_wordy(const RaStudy *study)
{
  for (guint c = 0; c < ra_study_n_curves(study); c++) {
    g_autofree char *name = ra_study_curve_name(study, c);

    if (strlen(name) > WORDY_CHARS)
      return TRUE;
  }
  return FALSE;
}

static void
append_axes(GString *out, const Sheet *s)
{
  g_string_append(out, "set datafile separator tab\nset title ");
  ra_quote_gnuplot(out, "%s", s->study->title);
  g_string_append(out, " noenhanced\nset xlabel ");
  ra_quote_gnuplot(out, "%s", s->axis ? s->axis->name : s->x->title);
  g_string_append(out, " noenhanced\nset ylabel ");
  ra_quote_gnuplot(out, "%s", s->y->title);
  g_string_append_printf(out,
                         " noenhanced\nset border 3\n"
                         "set tics nomirror out scale 0.5\n"
                         "set key outside %s Left reverse noenhanced\n",
                         is_wordy(s->study) ? "bottom center maxcols 1 height 2"
                                            : "right top");
  append_range(out, s, "x", x_of, s->is_log);
  append_range(out, s, "y", y_of, FALSE);
  if (!s->axis)
    return;
  append_tics(out, s->axis);
}

/* Bands that hold curves nine times of ten, below them; of points alone, and
 * where there are no curves, as bars. */
static void
append_bands(GString *out, const Sheet *s)
{
  for (guint c = 0; c < ra_study_n_curves(s->study); c++) {
    uint32_t color = ra_palette_color(c);

    if (s->axis)
      g_string_append_printf(out,
                             "$d index %u using 2:6:7 with filledcurves fs "
                             "transparent solid %g noborder lc rgb '#%06" PRIx32
                             "' notitle, ",
                             c, BAND_OPACITY, color);
    g_string_append_printf(out,
                           "$d index %u using 2:4:%s with yerrorbars pt 0 "
                           "lw 1 lc rgb '#%06" PRIx32 "' notitle, ",
                           c, s->axis ? "8:9" : "6:7", color);
  }
}

/* Points of metrics alone, named by their values of the axis that no mark
 * shows. */
static void
append_names(GString *out, const Sheet *s)
{
  const RaStudyAxis *axis = &s->study->axes[s->study->along];

  if (s->axis || axis->n_values < 2)
    return;
  for (guint c = 0; c < ra_study_n_curves(s->study); c++)
    g_string_append_printf(out,
                           ", $d index %u using 2:3:(strcol(1)) with labels "
                           "noenhanced left offset 1,0.4 tc rgb '#%06" PRIx32
                           "' notitle",
                           c, ra_palette_color(c));
}

static char *
make_script(const Sheet *s, const char *terminal, const char *data)
{
  GString *out = g_string_new(NULL);
  guint n = ra_study_n_curves(s->study);

  ra_picture_append_size(out, terminal, WIDTH_PX, HEIGHT_PX);
  ra_quote_block(out, "d", data);
  append_axes(out, s);
  g_string_append(out, "plot ");
  append_bands(out, s);
  for (guint c = 0; c < n; c++) {
    g_autofree char *name = ra_study_curve_name(s->study, c);
    uint32_t color = ra_palette_color(c);
    guint mark = c % G_N_ELEMENTS(filled);

    g_string_append_printf(
        out,
        "%s$d index %u using 2:4 with %s pt %u ps 0.9 %s lc rgb '#%06" PRIx32
        "' ",
        c > 0 ? ", " : "", c, s->axis ? "linespoints" : "points", filled[mark],
        s->axis ? "lw 2" : "", color);
    if (*name) {
      g_string_append(out, "title ");
      ra_quote_gnuplot(out, "%s", name);
    } else {
      g_string_append(out, "notitle");
    }
    g_string_append_printf(
        out,
        ", $d index %u using 2:3 with points pt %u ps 0.9 lc rgb "
        "'#%06" PRIx32 "' notitle, $d index %u using 2:5 with points pt 6 ps 2 "
        "lw 1 lc rgb 'black' notitle",
        c, hollow[mark], color, c);
  }
  append_names(out, s);
  if (s->limit)
    g_string_append_printf(out,
                           ", %.9g with lines lw 1 dt 2 lc rgb '#606060' "
                           "title 'limit'",
                           s->limit->value);
  g_string_append_c(out, '\n');
  return g_string_free(out, FALSE);
}

gboolean
ra_study_plot(const RaSweep *sweep, const RaAnswer *answer, const char *path,
              GError **error)
{
  Sheet sheet = sheet_of(sweep);
  g_autofree char *data = make_data(&sheet, answer);
  g_autofree char *script = NULL, *terminal = NULL;

  if (!ra_picture_terminal(path, FONT_PT, &terminal, error))
    return FALSE;
  script = make_script(&sheet, terminal, data);
  return ra_picture_write(path, NULL, data, script, error);
}

/* --- text --- */

/* Which of @n cells @value is in. */
static guint
cell_of(double value, double low, double high, gboolean is_log, guint n)
{
  double at = high > low ? (value - low) / (high - low) : 0;

  if (is_log && high > low)
    at = log(value / low) / log(high / low);
  return (guint)CLAMP(at * n, 0, n - 1);
}

static void
append_lines(GString *out, const Sheet *s, char **rows, guint n_lines,
             double low, double high)
{
  for (guint l = 0; l < n_lines; l++) {
    g_autofree char *label =
        g_strdup_printf("%.4g", high - (high - low) * l / (n_lines - 1));

    g_strchomp(rows[l]);
    g_string_append_printf(out, "%*s |%s\n", MARGIN_COLUMNS - 2,
                           l == 0 || l + 1 == n_lines ? label : "", rows[l]);
  }
  for (guint c = 0; c < MIN(ra_study_n_curves(s->study), LETTERS); c++) {
    g_autofree char *name = ra_study_curve_name(s->study, c);

    if (*name)
      g_string_append_printf(out, "%*s%c %s\n", MARGIN_COLUMNS, "",
                             (char)('A' + c), name);
  }
  g_string_append_printf(out, "%*ssmall: does not meet the limits\n",
                         MARGIN_COLUMNS, "");
}

char *
ra_study_text(const RaSweep *sweep, guint n_columns, guint n_lines)
{
  Sheet s = sheet_of(sweep);
  GString *out = g_string_new(NULL);
  guint width = MAX(n_columns, 2 * MARGIN_COLUMNS) - MARGIN_COLUMNS;
  double x0, x1, y0, y1;
  g_auto(GStrv) rows = g_new0(char *, n_lines + 1);

  find_range(&s, x_of, &x0, &x1);
  find_range(&s, y_of, &y0, &y1);
  if (!(x1 >= x0) || !(y1 >= y0))
    return g_string_free(out, FALSE);
  for (guint l = 0; l < n_lines; l++)
    rows[l] = g_strnfill(width, ' ');
  for (guint c = 0; c < ra_study_n_curves(s.study); c++)
    for (guint v = 0; v < s.study->axes[s.study->along].n_values; v++) {
      guint point = ra_study_curve_point(s.study, c, v);

      char letter = (char)((sweep->points[point].is_allowed ? 'A' : 'a') + c);

      if (!isfinite(y_of(&s, point)))
        continue;
      rows[n_lines - 1 - cell_of(y_of(&s, point), y0, y1, FALSE, n_lines)]
          [cell_of(x_of(&s, point), x0, x1, s.is_log, width)] =
              c < LETTERS ? letter : '*';
    }
  g_string_append_printf(out, "%s over %s, %.4g to %.4g%s\n", s.y->title,
                         s.axis ? s.axis->name : s.x->title, x0, x1,
                         s.is_log ? ", logarithmic" : "");
  append_lines(out, &s, rows, n_lines, y0, y1);
  return g_string_free(out, FALSE);
}
