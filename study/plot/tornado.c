/* Tornado plot of a sensitivity. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/palette.h"
#include "base/quote.h"
#include "study/plot/picture.h"
#include "study/plot/tornado.h"

#define FONT_PT 9
#define WIDTH_PX 760
#define ROW_PX 34
#define AROUND_PX 90 /* above and below the rows */
#define NAME_COLUMNS 12
#define LEAST_COLUMNS 40
#define TEXT_FRAC 0.0005 /* less is no bar */

gboolean
ra_tornado_check(const char *path, GError **error)
{
  return ra_picture_terminal(path, FONT_PT, NULL, error);
}

static const RaResponse *
at(const RaSensitivity *s, guint i)
{
  return &g_array_index(s->responses, RaResponse, i);
}

/* 0: no bar. */
static double
bar_frac(const RaResponse *r, const RaTrial *trial)
{
  double frac = ra_response_frac(r, trial);

  return isfinite(frac) ? frac : 0;
}

static char *
make_data(const RaSensitivity *s)
{
  GString *out = g_string_new("# row\tresource\tmore_change_frac\t"
                              "less_change_frac\tmore_fits\tless_fits\n");

  for (guint i = 0; i < s->responses->len; i++) {
    const RaResponse *r = at(s, i);

    g_string_append_printf(out, "%u\t", s->responses->len - i);
    ra_quote_column(out, ra_response_title(r));
    g_string_append_printf(out, "\t%.6g\t%.6g\t%d\t%d\n", bar_frac(r, &r->more),
                           bar_frac(r, &r->less),
                           r->more.refusal || ra_trial_fits(&r->more),
                           r->less.refusal || ra_trial_fits(&r->less));
  }
  return g_string_free(out, FALSE);
}

static char *
make_script(const RaSensitivity *s, const char *terminal, const char *data)
{
  GString *out = g_string_new(NULL);
  g_autofree char *base =
      ra_quantity_format(s->base.iteration_s, RA_UNIT_SECONDS);
  uint32_t more = ra_palette_color(0), less = ra_palette_color(1);
  guint n = s->responses->len;

  ra_picture_append_size(out, terminal, WIDTH_PX, AROUND_PX + n * ROW_PX);
  ra_quote_block(out, "d", data);
  g_string_append(out, "set datafile separator tab\nset title ");
  ra_quote_gnuplot(out,
                   "an iteration of %s, with %.3g times of one resource and "
                   "with 1/%.3g",
                   base, s->factor, s->factor);
  g_string_append_printf(
      out,
      "\nset xlabel 'change of the iteration time (%%)'\nset border 1\n"
      "set xtics nomirror out scale 0.5\nset ytics scale 0\n"
      "set yrange [0.4:%u.6]\nset offsets graph 0.08, graph 0.08, 0, 0\n"
      "set arrow from 0,0.4 to 0,%u.6 nohead lw 1 lc rgb 'black' front\n"
      "set key bottom right Left reverse noenhanced\nset style fill solid 1\n",
      n, n);
  g_string_append_printf(
      out,
      "plot $d using (0):1:(0):($3*100):($1+0.02):($1+0.34):ytic(2) with "
      "boxxyerror fs solid 1 border lc rgb '#%06" PRIx32 "' lc rgb '#%06" PRIx32
      "' title 'more', "
      "$d using (0):1:(0):($4*100):($1-0.34):($1-0.02) with boxxyerror fs "
      "transparent pattern 4 border lc rgb '#%06" PRIx32 "' lc rgb '#%06" PRIx32
      "' title 'less', ",
      more, more, less, less);
  g_string_append(
      out, "$d using ($3*100):($1+0.18):($5 > 0.5 ? '' : 'does not fit') "
           "with labels "
           "font ',8' offset char 5,0 notitle, "
           "$d using ($4*100):($1-0.18):($6 > 0.5 ? '' : 'does not fit') "
           "with labels "
           "font ',8' offset char 5,0 notitle\n");
  return g_string_free(out, FALSE);
}

gboolean
ra_tornado_plot(const RaSensitivity *s, const char *path, GError **error)
{
  g_autofree char *data = make_data(s);
  g_autofree char *script = NULL, *terminal = NULL;

  if (!ra_picture_terminal(path, FONT_PT, &terminal, error))
    return FALSE;
  script = make_script(s, terminal, data);
  return ra_picture_write(path, NULL, data, script, error);
}

/* --- text --- */

/* One side of a bar: @mark from the column of no change to that of @frac. */
static void
draw(char *line, double frac, double low, double step, char mark)
{
  int zero = (int)round(-low / step), end = (int)round((frac - low) / step);

  for (int i = MIN(zero, end); i < MAX(zero, end); i++)
    line[i] = mark;
}

static void
append_bar(GString *out, const char *name, double frac, double low, double step,
           guint width, char mark)
{
  g_autofree char *line = g_strnfill(width + 1, ' ');

  line[(int)round(-low / step)] = '|';
  draw(line, frac, low, step, mark);
  g_string_append_printf(out, "%-*s%s %+.1f %%\n", NAME_COLUMNS, name, line,
                         100 * frac);
}

char *
ra_tornado_text(const RaSensitivity *s, guint n_columns)
{
  GString *out = g_string_new(NULL);
  guint width = MAX(n_columns, LEAST_COLUMNS) - NAME_COLUMNS - 10;
  double low = -TEXT_FRAC, high = TEXT_FRAC, step;

  for (guint i = 0; i < s->responses->len; i++) {
    const RaResponse *r = at(s, i);
    double a = bar_frac(r, &r->more), b = bar_frac(r, &r->less);

    low = MIN(low, MIN(a, b));
    high = MAX(high, MAX(a, b));
  }
  step = (high - low) / width;
  g_string_append_printf(out,
                         "Change of the iteration time: # resource times %.3g, "
                         "- divided by %.3g\n",
                         s->factor, s->factor);
  for (guint i = 0; i < s->responses->len; i++) {
    const RaResponse *r = at(s, i);

    if (ra_response_size(r) < TEXT_FRAC)
      continue;
    append_bar(out, r->name, bar_frac(r, &r->more), low, step, width, '#');
    if (!r->is_one_sided)
      append_bar(out, "", bar_frac(r, &r->less), low, step, width, '-');
  }
  return g_string_free(out, FALSE);
}
