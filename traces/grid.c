/* Grids of samples: axes, look-up, filling of holes. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "traces/grid.h"

/* A double's bits from the exponent down to an eighth of an octave. */
#define BUCKET_SHIFT 49

/* A cell of fewer samples that is further from its neighbours than this (a
 * factor of e) is a slip of the measurement; waves are a factor of 2. */
#define SPIKE 1.0
#define SPIKE_SAMPLES 3

RaGrid *
ra_grid_new(void)
{
  return g_new0(RaGrid, 1);
}

void
ra_grid_free(RaGrid *grid)
{
  if (grid == NULL)
    return;
  for (guint a = 0; a < grid->n_axes; a++) {
    RaGridAxis *axis = &grid->axes[a];

    g_free(axis->name);
    g_free(axis->knots);
    g_free(axis->x);
    g_free(axis->per_gap);
    g_free(axis->first);
  }
  g_free(grid->cells);
  g_free(grid->values);
  g_free(grid);
}

RaGrid *
ra_grid_copy(const RaGrid *grid)
{
  RaGrid *copy = ra_grid_new();

  for (guint a = 0; a < grid->n_axes; a++)
    ra_grid_add_axis(copy, grid->axes[a].name, grid->axes[a].knots,
                     grid->axes[a].n_knots);
  memcpy(copy->cells, grid->cells, grid->n_cells * sizeof *grid->cells);
  copy->is_exact = grid->is_exact;
  ra_grid_fill(copy);
  return copy;
}

static uint64_t
bits_of(double x)
{
  uint64_t bits;

  memcpy(&bits, &x, sizeof bits);
  return bits;
}

double
ra_log2_linear(double x)
{
  uint64_t bits = bits_of(x);

  return (double)((int)(bits >> 52) - 1023) +
         (double)(bits & 0xfffffffffffffu) * 0x1p-52;
}

/* For each bucket of bits the last knot that is not above its start. */
static void
index_axis(RaGridAxis *axis)
{
  guint last = (guint)(bits_of(axis->knots[axis->n_knots - 1]) >> BUCKET_SHIFT);

  axis->base = (guint)(bits_of(axis->knots[0]) >> BUCKET_SHIFT);
  axis->n_first = last - axis->base + 1;
  axis->first = g_new0(guint8, axis->n_first);
  for (guint b = 0, i = 0; b < axis->n_first; b++) {
    while (i + 1 < axis->n_knots &&
           bits_of(axis->knots[i + 1]) <= (uint64_t)(axis->base + b)
                                              << BUCKET_SHIFT)
      i++;
    axis->first[b] = (guint8)i;
  }
}

void
ra_grid_add_axis(RaGrid *grid, const char *name, const double *knots,
                 guint n_knots)
{
  RaGridAxis *axis = &grid->axes[grid->n_axes];

  g_return_if_fail(grid->n_axes < RA_GRID_AXES);
  g_return_if_fail(n_knots >= 1 && n_knots <= RA_GRID_KNOTS);
  grid->stride[grid->n_axes] = grid->n_axes == 0 ? 1 : grid->n_cells;
  grid->n_axes++;
  axis->name = g_strdup(name);
  axis->n_knots = n_knots;
  axis->knots = g_memdup2(knots, n_knots * sizeof *knots);
  axis->x = g_new(double, n_knots);
  axis->per_gap = g_new0(double, n_knots);
  for (guint i = 0; i < n_knots; i++) {
    axis->x[i] = ra_log2_linear(knots[i]);
    if (i > 0)
      axis->per_gap[i - 1] = 1 / (axis->x[i] - axis->x[i - 1]);
  }
  index_axis(axis);
  grid->n_cells = n_knots * (grid->n_cells ? grid->n_cells : 1);
  g_free(grid->cells);
  grid->cells = g_new0(RaGridCell, grid->n_cells);
}

guint
ra_grid_axis_at(const RaGridAxis *axis, double value, double *out_frac)
{
  guint i, bucket;

  *out_frac = 0;
  if (value <= axis->knots[0])
    return 0;
  if (value >= axis->knots[axis->n_knots - 1]) {
    *out_frac = axis->n_knots > 1 ? 1 : 0;
    return axis->n_knots > 1 ? axis->n_knots - 2 : 0;
  }
  bucket = (guint)(bits_of(value) >> BUCKET_SHIFT) - axis->base;
  for (i = axis->first[bucket]; axis->knots[i + 1] <= value;)
    i++;
  *out_frac = (ra_log2_linear(value) - axis->x[i]) * axis->per_gap[i];
  return i;
}

gssize
ra_grid_find(const RaGrid *grid, const double *at)
{
  gsize index = 0;

  for (guint a = 0; a < grid->n_axes; a++) {
    double frac;
    guint i = ra_grid_axis_at(&grid->axes[a], at[a], &frac);

    i += frac >= 1;
    if (grid->axes[a].knots[i] < at[a] || grid->axes[a].knots[i] > at[a])
      return -1;
    index += i * grid->stride[a];
  }
  return (gssize)index;
}

void
ra_grid_merge(RaGrid *grid, gsize index, const RaGridCell *more)
{
  RaGridCell *cell = &grid->cells[index];
  double n = cell->n, k = more->n;
  double step = more->mean - cell->mean, squares;

  if (more->n == 0)
    return;
  squares = n * cell->deviation * cell->deviation +
            k * more->deviation * more->deviation +
            step * step * n * k / (n + k);
  cell->n += more->n;
  cell->mean += step * k / (n + k);
  cell->deviation = sqrt(squares / (n + k));
}

gboolean
ra_grid_sample(RaGrid *grid, const double *at, double value)
{
  gssize index = ra_grid_find(grid, at);
  RaGridCell one = {.n = 1, .mean = value};

  if (index < 0)
    return FALSE;
  ra_grid_merge(grid, (gsize)index, &one);
  return TRUE;
}

/* The nearest known cell from @index along axis @a, which stands at knot
 * @knot, in direction @step (+1, -1); the knot reached, or -1. */
static int
nearest(const RaGrid *grid, const guint8 *known, gsize index, guint a,
        guint knot, int step)
{
  int n = (int)grid->axes[a].n_knots, at = (int)knot + step;
  gssize stride = step * (gssize)grid->stride[a];

  for (gssize i = (gssize)index + stride; at >= 0 && at < n;
       at += step, i += stride)
    if (known[i])
      return at;
  return -1;
}

/* How far off neighbours along each axis are: the square of their mean error
 * over the root of the distance in octaves. */
typedef struct {
  double one[RA_GRID_AXES]; /* by the nearest on one side */
  double two[RA_GRID_AXES]; /* interpolated between both, by theirs */
} AxisErrors;

/* A table that tells nothing is off by a factor of e an octave; between two
 * ends of a random walk by a quarter of what it is beyond one.  No axis is
 * exact. */
#define UNKNOWN_ERROR 1.0
#define BETWEEN_FRAC 0.25
#define LEAST_ERROR 1e-6

/* Sums of these errors. */
typedef struct {
  double one, two;
  guint n_one, n_two;
} ErrorSum;

/* The line of axis @a whose first cell is @origin. */
static void
add_line(const RaGrid *grid, const guint8 *known, gsize origin, guint a,
         ErrorSum *sum)
{
  const RaGridAxis *axis = &grid->axes[a];
  const float *line = &grid->values[origin];
  gsize stride = grid->stride[a];
  int last = -1, before = -1;

  for (guint i = 0; i < axis->n_knots; i++) {
    double value = (double)line[i * stride], gap;

    if (!known[origin + i * stride])
      continue;
    if (last >= 0) {
      double middle = (double)line[(gsize)last * stride];

      gap = axis->x[i] - axis->x[last];
      sum->one += fabs(value - middle) / sqrt(gap);
      sum->n_one++;
      if (before >= 0) {
        double first = (double)line[(gsize)before * stride];

        gap = axis->x[i] - axis->x[before];
        first += (value - first) * (axis->x[last] - axis->x[before]) / gap;
        sum->two += fabs(first - middle) / sqrt(gap);
        sum->n_two++;
      }
    }
    before = last;
    last = (int)i;
  }
}

static double
squared(double sum, guint n, double otherwise)
{
  return n > 0 ? (sum / n) * (sum / n) + LEAST_ERROR : otherwise;
}

static void
find_errors(const RaGrid *grid, const guint8 *known, AxisErrors *out)
{
  for (guint a = 0; a < grid->n_axes; a++) {
    gsize stride = grid->stride[a];
    gsize block = stride * grid->axes[a].n_knots;
    ErrorSum sum = {0};

    for (gsize start = 0; start < grid->n_cells; start += block)
      for (gsize i = 0; i < stride; i++)
        add_line(grid, known, start + i, a, &sum);
    out->one[a] = squared(sum.one, sum.n_one, UNKNOWN_ERROR);
    out->two[a] = squared(sum.two, sum.n_two, BETWEEN_FRAC * out->one[a]);
  }
}

/* Value that the neighbours along the axes suggest for hole @index; FALSE if
 * there is none, or without @one_sided if no axis has both. */
static gboolean
guess(const RaGrid *grid, const guint8 *known, const AxisErrors *errors,
      gsize index, gboolean one_sided, float *out_value)
{
  double sum = 0, weight = 0;
  gboolean has_both = FALSE;

  for (guint a = 0; a < grid->n_axes; a++) {
    const RaGridAxis *axis = &grid->axes[a];
    gsize stride = grid->stride[a];
    guint knot = (guint)(index / stride % axis->n_knots);
    const float *line = &grid->values[index - knot * stride];
    int low = nearest(grid, known, index, a, knot, -1);
    int high = nearest(grid, known, index, a, knot, 1);
    double x = axis->x[knot], w, value;

    if (low >= 0 && high >= 0) {
      double gap = axis->x[high] - axis->x[low];

      w = 1 / (errors->two[a] * gap);
      value = (double)line[(gsize)low * stride];
      value += ((double)line[(gsize)high * stride] - value) *
               (x - axis->x[low]) / gap;
      has_both = TRUE;
    } else if (low >= 0 || high >= 0) {
      int at = low >= 0 ? low : high;

      w = 1 / (errors->one[a] * fabs(x - axis->x[at]));
      value = (double)line[(gsize)at * stride];
    } else {
      continue;
    }
    sum += w * value;
    weight += w;
  }
  if (weight <= 0 || (!has_both && !one_sided))
    return FALSE;
  *out_value = (float)(sum / weight);
  return TRUE;
}

/* Fills what can be told from @known.  Returns: cells filled */
static gsize
fill_once(RaGrid *grid, guint8 *known, const AxisErrors *errors,
          gboolean one_sided)
{
  g_autofree guint8 *next = g_memdup2(known, grid->n_cells);
  gsize n = 0;

  for (gsize i = 0; i < grid->n_cells; i++)
    if (!known[i] &&
        guess(grid, known, errors, i, one_sided, &grid->values[i])) {
      next[i] = 1;
      n++;
    }
  memcpy(known, next, grid->n_cells);
  return n;
}

/* TRUE if cell @index, which is the last of those known along an axis, is as
 * its nearest there: nothing stands on its other side that could say more. */
static gboolean
continues_edge(const RaGrid *grid, const guint8 *known, gsize index)
{
  for (guint a = 0; a < grid->n_axes; a++) {
    gsize stride = grid->stride[a];
    guint knot = (guint)(index / stride % grid->axes[a].n_knots);
    const float *line = &grid->values[index - knot * stride];
    int low = nearest(grid, known, index, a, knot, -1);
    int high = nearest(grid, known, index, a, knot, 1);
    int at = low >= 0 ? low : high;

    if (at >= 0 && (low < 0) != (high < 0) &&
        fabs((double)line[(gsize)at * stride] - grid->cells[index].mean) <
            SPIKE)
      return TRUE;
  }
  return FALSE;
}

/* Forgets in @known the cells of few samples that stand alone. */
static void
drop_spikes(RaGrid *grid, guint8 *known, const AxisErrors *errors)
{
  g_autofree guint8 *all = g_memdup2(known, grid->n_cells);

  grid->n_spikes = 0;
  for (gsize i = 0; i < grid->n_cells; i++) {
    float around;

    if (!all[i] || grid->cells[i].n >= SPIKE_SAMPLES ||
        !guess(grid, all, errors, i, FALSE, &around) ||
        fabs((double)around - grid->cells[i].mean) < SPIKE ||
        continues_edge(grid, all, i))
      continue;
    known[i] = 0;
    grid->n_spikes++;
  }
}

void
ra_grid_fill(RaGrid *grid)
{
  g_autofree guint8 *known = g_new0(guint8, grid->n_cells);
  AxisErrors errors;

  g_free(grid->values);
  grid->values = g_new0(float, grid->n_cells);
  for (gsize i = 0; i < grid->n_cells; i++)
    if (grid->cells[i].n > 0) {
      grid->values[i] = (float)grid->cells[i].mean;
      known[i] = 1;
    }
  find_errors(grid, known, &errors);
  drop_spikes(grid, known, &errors);
  while (fill_once(grid, known, &errors, FALSE) > 0 ||
         fill_once(grid, known, &errors, TRUE) > 0)
    ;
}

void
ra_grid_spot(const RaGrid *grid, const double *at, guint first,
             RaGridSpot *out_spot)
{
  gsize origin = 0;
  guint n = 0;

  for (guint a = first; a < grid->n_axes; a++) {
    double frac;

    origin += ra_grid_axis_at(&grid->axes[a], at[a], &frac) * grid->stride[a];
    if (frac <= 0)
      continue;
    out_spot->frac[n] = frac;
    out_spot->stride[n++] = grid->stride[a];
  }
  out_spot->origin = origin;
  out_spot->n_axes = n;
}

double
ra_grid_spot_value(const RaGridSpot *spot, const float *values)
{
  double corner[1 << RA_GRID_AXES];
  gsize offset[1 << RA_GRID_AXES];
  guint n = 1;

  offset[0] = spot->origin;
  for (guint a = 0; a < spot->n_axes; a++, n *= 2)
    for (guint i = 0; i < n; i++)
      offset[n + i] = offset[i] + spot->stride[a];
  for (guint i = 0; i < n; i++)
    corner[i] = (double)values[offset[i]];
  for (guint a = spot->n_axes; a-- > 0;) {
    n /= 2;
    for (guint i = 0; i < n; i++)
      corner[i] += (corner[n + i] - corner[i]) * spot->frac[a];
  }
  return corner[0];
}

double
ra_grid_at(const RaGrid *grid, const double *at)
{
  RaGridSpot spot;

  ra_grid_spot(grid, at, 0, &spot);
  return ra_grid_spot_value(&spot, grid->values);
}
