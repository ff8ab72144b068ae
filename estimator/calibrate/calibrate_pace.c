/* The pace of a host: rows in wall seconds against laws in CPU seconds. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/calibrate/calibrate_impl.h"

/* One row of a run against what the profile has of it. */
typedef struct {
  double ln;     /* ln(measured / predicted), the latter in a core's seconds */
  double weight; /* seconds of the run that it stands for */
} Ratio;

static int
compare_ratios(gconstpointer a, gconstpointer b)
{
  const Ratio *x = a, *y = b;

  return (x->ln > y->ln) - (x->ln < y->ln);
}

gboolean
ra_calibrate_is_paced(const RaOp *op)
{
  RaOpClass class = ra_op_class((RaOpKind)op->kind);

  return class == RA_OP_CLASS_COMPUTE || class == RA_OP_CLASS_COPY;
}

/* The weighted median: half of the seconds lie on either side, so that ops that
 * the laws get wrong, which are few of the seconds, do not count for more. */
static double
middle(GArray *ratios)
{
  double all = 0, below = 0;

  g_array_sort(ratios, compare_ratios);
  for (guint i = 0; i < ratios->len; i++)
    all += g_array_index(ratios, Ratio, i).weight;
  for (guint i = 0; i < ratios->len; i++) {
    below += g_array_index(ratios, Ratio, i).weight;
    if (below >= all / 2)
      return g_array_index(ratios, Ratio, i).ln;
  }
  return 0;
}

/* ln of the pace of the run whose rows stand in @file: as it measured it, else
 * what its ops took over what the laws say of them.  A core's second is no less
 * than one of the wall: what is below is the laws' error, and stays theirs. */
static double
pace_of(const char *file, const GArray *rows, const double *predicted_s)
{
  g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(Ratio));

  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);
    Ratio r;

    if (!row->of_run || row->file != file || !ra_calibrate_is_paced(&row->op) ||
        !(predicted_s[i] > 0))
      continue;
    if (row->wall_per_cpu > 0)
      return log(MAX(row->wall_per_cpu, 1));
    r = (Ratio){log(row->measured_s / predicted_s[i]),
                row->measured_s * MAX(row->samples.n, 1u)};
    g_array_append_val(ratios, r);
  }
  return MAX(middle(ratios), 0);
}

/* Rows of @file to a core's seconds. */
static void
unpace(GArray *rows, const char *file, double pace)
{
  for (guint i = 0; i < rows->len; i++) {
    RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    if (row->of_run && row->file == file && ra_calibrate_is_paced(&row->op))
      row->measured_s /= pace;
  }
}

/* One more draw, of what calibrations and runs of this machine differ by. */
static void
add_draw(double ln, RaPace *pace)
{
  double was = log(pace->wall_per_cpu), n = pace->n_draws;
  double now = (n * was + ln) / (n + 1);
  double squares =
      n * (pace->error_frac * pace->error_frac + (was - now) * (was - now)) +
      (ln - now) * (ln - now);

  pace->wall_per_cpu = CLAMP(exp(now), RA_PACE_LEAST, RA_PACE_MOST);
  pace->error_frac = sqrt(squares / (n + 1));
  pace->n_draws++;
}

GArray *
ra_calibrate_paced(const RaProfile *profile, const GArray *rows,
                   gboolean has_draws, RaPace *out_pace)
{
  GArray *own = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autofree double *predicted_s = g_new(double, rows->len + 1);
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

  g_array_append_vals(own, rows->data, rows->len);
  *out_pace = profile->pace;
  if (profile->pace.n_draws == 0)
    return own;
  if (has_draws)
    ra_fit_predict(profile, rows, predicted_s);
  for (guint i = 0; i < rows->len; i++) {
    RaMeasured *row = &g_array_index(own, RaMeasured, i);
    double ln;

    if (!row->of_run && row->of_wall && ra_calibrate_is_paced(&row->op))
      row->measured_s /= profile->pace.wall_per_cpu;
    if (!row->of_run || !g_hash_table_add(seen, (gpointer)(guintptr)row->file))
      continue;
    ln = has_draws ? pace_of(row->file, rows, predicted_s)
                   : log(profile->pace.wall_per_cpu);
    unpace(own, row->file, exp(ln));
    if (has_draws)
      add_draw(ln, out_pace);
  }
  return own;
}

char *
ra_calibrate_pace_text(const char *text, const RaPace *pace)
{
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  GString *out = g_string_new(NULL);
  gboolean inside = FALSE;

  for (guint i = 0; lines[i]; i++) {
    const char *line = lines[i];

    if (*line == '[')
      inside = g_str_has_prefix(line, "[pace]");
    if (inside && g_str_has_prefix(line, "wall-per-cpu = "))
      g_string_append_printf(out, "wall-per-cpu = %.4f", pace->wall_per_cpu);
    else if (inside && g_str_has_prefix(line, "error = "))
      g_string_append_printf(out, "error = %.4f", pace->error_frac);
    else if (inside && g_str_has_prefix(line, "draws = "))
      g_string_append_printf(out, "draws = %u", pace->n_draws);
    else
      g_string_append(out, line);
    if (lines[i + 1])
      g_string_append_c(out, '\n');
  }
  return g_string_free(out, FALSE);
}
