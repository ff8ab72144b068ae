/* Convergence plot of a search. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/palette.h"
#include "base/quote.h"
#include "study/plot/convergence.h"
#include "study/plot/picture.h"

#define FONT_PT 9
#define WIDTH_PX 700
#define HEIGHT_PX 400
/* A logarithmic axis has no 0: the first sample of a search takes that. */
#define LEAST_S 1e-3
#define MARGIN_COLUMNS 12 /* of the axis of a text */

gboolean
ra_convergence_check(const char *path, GError **error)
{
  return ra_picture_terminal(path, FONT_PT, NULL, error);
}

/* Best of @round after @s seconds; INFINITY: none yet. */
static double
best_at(const RaContestRound *round, double s)
{
  const GArray *curve = round->found.curve;
  double best_s = (double)INFINITY;

  for (guint i = 0; i < curve->len; i++) {
    const RaMcmcSample *sample = &g_array_index(curve, RaMcmcSample, i);

    if (sample->seconds <= s)
      best_s = MIN(best_s, sample->best_s);
  }
  return best_s;
}

/* When the round ended. */
static double
end_s(const RaContestRound *round)
{
  return round->found.seconds + (round->bounded ? round->exact.seconds : 0);
}

/* --- a picture --- */

/* Seconds, best, bound. */
static char *
make_data(const RaContest *contest)
{
  GString *out = g_string_new("# seconds\tbest_s\tbound_s\n");

  if (contest->searched) {
    const RaContestRound *round = &contest->round;
    const GArray *curve = round->found.curve;

    ra_quote_comment(out, "search");
    for (guint i = 0; i < curve->len; i++) {
      const RaMcmcSample *s = &g_array_index(curve, RaMcmcSample, i);

      g_string_append_printf(out, "%.6g\t%.9g\t%.9g\n",
                             MAX(s->seconds, LEAST_S), s->best_s,
                             round->bound_s);
    }
    if (curve->len > 0)
      g_string_append_printf(out, "%.6g\t%.9g\t%.9g\n",
                             MAX(end_s(round), LEAST_S), round->best_s,
                             round->bound_s);
  }
  return g_string_free(out, FALSE);
}

static char *
make_script(const RaContest *contest, const char *terminal, const char *data)
{
  GString *s = g_string_new(NULL);

  ra_picture_append_size(s, terminal, WIDTH_PX, HEIGHT_PX);
  ra_quote_block(s, "d", data);
  g_string_append(s, "set xlabel 'seconds of search'\n"
                     "set ylabel 'iteration time (s)'\n"
                     "set logscale x\nset format x '%g'\nset border 3\n"
                     "set yrange [0:*]\nset tics nomirror out scale 0.5\n"
                     "set key right center noenhanced\n");
  if (contest->searched && contest->round.found.curve->len > 0)
    g_string_append_printf(
        s,
        "plot $d using 1:2 with steps lw 2 lc rgb '#%06" PRIx32
        "' title 'best', $d using 1:3 with lines lw 2 dt 2 lc rgb '#%06" PRIx32
        "' title 'lower bound'\n",
        ra_palette_color(0), ra_palette_color(0));
  else
    g_string_append(s, "plot NaN notitle\n");
  return g_string_free(s, FALSE);
}

gboolean
ra_convergence_plot(const RaContest *contest, const char *path, GError **error)
{
  g_autofree char *data = make_data(contest);
  g_autofree char *script = NULL, *terminal = NULL;

  if (!ra_picture_terminal(path, FONT_PT, &terminal, error))
    return FALSE;
  script = make_script(contest, terminal, data);
  return ra_picture_write(path, NULL, data, script, error);
}

/* --- text --- */

/* Seconds at the middle of column @i of @n, logarithmic between begin and end.
 */
static double
column_s(const RaContestRound *round, guint i, guint n)
{
  double end = MAX(end_s(round), LEAST_S);
  const GArray *curve = round->found.curve;
  double begin =
      MAX(g_array_index(curve, RaMcmcSample, 0).seconds, LEAST_S * end);

  return begin * pow(end / begin, (i + 1.0) / n);
}

static void
append_round(GString *out, const RaContestRound *round, guint n_columns,
             guint n_lines)
{
  const GArray *curve = round->found.curve;
  double top_s, low_s = round->bound_s;
  guint width = n_columns - MARGIN_COLUMNS;

  if (curve->len == 0)
    return;
  top_s = best_at(round, column_s(round, 0, width));
  if (!(top_s > low_s) || !isfinite(top_s))
    top_s = MAX(round->best_s, low_s);
  g_string_append_printf(out, "%s: best (*) and lower bound (-) in seconds\n",
                         "search");
  for (guint line = 0; line < n_lines; line++) {
    double step = (top_s - low_s) / (n_lines - 1);
    double at = top_s - step * line;
    gsize start;

    g_string_append_printf(out, "%*.4g |", MARGIN_COLUMNS - 2, at);
    start = out->len;
    for (guint i = 0; i < width; i++) {
      double best_s = i + 1 == width
                          ? round->best_s
                          : best_at(round, column_s(round, i, width));
      gboolean here = step > 0 ? fabs(best_s - at) <= step / 2 : line == 0;

      g_string_append_c(out, here ? '*' : line + 1 == n_lines ? '-' : ' ');
    }
    while (out->len > start && out->str[out->len - 1] == ' ')
      g_string_truncate(out, out->len - 1);
    g_string_append_c(out, '\n');
  }
  g_string_append_printf(out, "%*s %.3g s to %.3g s of search, logarithmic\n",
                         MARGIN_COLUMNS, "", column_s(round, 0, width),
                         end_s(round));
}

char *
ra_convergence_text(const RaContest *contest, guint n_columns, guint n_lines)
{
  GString *out = g_string_new(NULL);

  n_columns = MAX(n_columns, MARGIN_COLUMNS + 4);
  n_lines = MAX(n_lines, 4);
  if (contest->searched)
    append_round(out, &contest->round, n_columns, n_lines);
  return g_string_free(out, FALSE);
}
