/* The time of GEMMs by the reuse distance of their weights. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "estimator/fit.h"

/* Rows of one shape, reuse by reuse. */
typedef struct {
  guint n;                           /* reuses at which it was measured */
  guint knot[RA_GRID_KNOTS];         /* (n) of the axis, ascending */
  double ln_s[RA_GRID_KNOTS];        /* (n) of their times */
  RaGridCell samples[RA_GRID_KNOTS]; /* (n) theirs */
} Line;

static gboolean
is_same_shape(const RaOp *a, const RaOp *b)
{
  return a->dim[0] == b->dim[0] && a->dim[1] == b->dim[1] &&
         a->dim[2] == b->dim[2] && a->dim[3] == b->dim[3];
}

static void
read_line(const RaGridAxis *axis, const GArray *rows, const RaOp *shape,
          Line *out)
{
  out->n = 0;
  for (guint k = 0; k < axis->n_knots; k++)
    for (guint i = 0; i < rows->len; i++) {
      const RaMeasured *row = &g_array_index(rows, RaMeasured, i);
      double reuse = ra_feature(RA_FEATURE_REUSE, &row->op);

      if (!is_same_shape(&row->op, shape) || reuse < axis->knots[k] ||
          reuse > axis->knots[k])
        continue;
      out->knot[out->n] = k;
      out->ln_s[out->n] = ra_log(row->measured_s);
      out->samples[out->n++] = row->samples;
      break;
    }
}

/* The nearest line that never falls, in squares: neighbours that fall become
 * their mean (pool adjacent violators: Ayer et al., Annals of Mathematical
 * Statistics 26, 1955). */
static void
make_monotone(guint n, double *y)
{
  double mean[RA_GRID_KNOTS];
  guint size[RA_GRID_KNOTS], n_pools = 0, at = 0;

  for (guint i = 0; i < n; i++) {
    mean[n_pools] = y[i];
    size[n_pools++] = 1;
    while (n_pools > 1 && mean[n_pools - 2] > mean[n_pools - 1]) {
      guint a = size[n_pools - 2], b = size[n_pools - 1];

      mean[n_pools - 2] =
          (a * mean[n_pools - 2] + b * mean[n_pools - 1]) / (a + b);
      size[--n_pools - 1] = a + b;
    }
  }
  for (guint p = 0; p < n_pools; p++)
    for (guint i = 0; i < size[p]; i++)
      y[at++] = mean[p];
}

/* Errors of all points but the first and the last when each is read between its
 * neighbours. */
static void
leave_out(const RaGridAxis *axis, const Line *line, GArray *errors)
{
  for (guint i = 1; i + 1 < line->n; i++) {
    double a = axis->x[line->knot[i - 1]], b = axis->x[line->knot[i + 1]];
    double frac = (axis->x[line->knot[i]] - a) / (b - a);
    double between =
        line->ln_s[i - 1] + frac * (line->ln_s[i + 1] - line->ln_s[i - 1]);
    RaHeldOut held = {.error = exp(between - line->ln_s[i]) - 1};

    g_array_append_val(errors, held);
  }
}

/* Index in @line of the knot @lap; line->n: it was not measured there. */
static guint
find_lap(const RaGridAxis *axis, const Line *line, double lap)
{
  guint i = 0;

  while (i < line->n &&
         (axis->knots[line->knot[i]] < lap || axis->knots[line->knot[i]] > lap))
    i++;
  return i;
}

static const RaFeature features[] = {RA_FEATURE_M, RA_FEATURE_N, RA_FEATURE_K,
                                     RA_FEATURE_REUSE};
#define REUSE (G_N_ELEMENTS(features) - 1)

static void
add_line(RaGrid *grid, const RaOp *shape, const Line *line, guint lap)
{
  double at[RA_GRID_AXES], y[RA_GRID_KNOTS];

  for (guint a = 0; a < REUSE; a++)
    at[a] = ra_feature(features[a], shape);
  memcpy(y, line->ln_s, line->n * sizeof *y);
  make_monotone(line->n, y);
  for (guint i = 0; i < line->n; i++) {
    RaGridCell cell = {.n = MAX(line->samples[i].n, 1u),
                       .mean = y[i] - y[lap],
                       .deviation = line->samples[i].deviation};
    gssize index;

    at[REUSE] = grid->axes[REUSE].knots[line->knot[i]];
    index = ra_grid_find(grid, at);
    if (index >= 0)
      ra_grid_merge(grid, (gsize)index, &cell);
  }
}

RaGrid *
ra_fit_reuse(const GArray *rows, double lap_mib, GArray *held_out)
{
  g_autoptr(RaGrid) grid = ra_grid_new();
  guint n_lines = 0;

  if (rows->len == 0)
    return NULL;
  for (guint a = 0; a < G_N_ELEMENTS(features); a++)
    ra_fit_add_axis(grid, features[a], rows);
  for (guint i = 0; i < rows->len; i++) {
    const RaOp *op = &g_array_index(rows, RaMeasured, i).op;
    double reuse = ra_feature(RA_FEATURE_REUSE, op);
    guint lap;
    Line line;

    if (reuse < lap_mib || reuse > lap_mib)
      continue; /* each shape once */
    read_line(&grid->axes[REUSE], rows, op, &line);
    lap = find_lap(&grid->axes[REUSE], &line, lap_mib);
    if (line.n < 2 || lap == line.n)
      continue;
    leave_out(&grid->axes[REUSE], &line, held_out);
    add_line(grid, op, &line, lap);
    n_lines++;
  }
  if (n_lines == 0)
    return NULL;
  ra_grid_fill(grid);
  return g_steal_pointer(&grid);
}
