/* A grid: samples measured at the knots of a few axes, interpolated between
 * them.
 *
 * An axis is a quantity (rows of a GEMM, bytes of a message) with its measured
 * values as knots.  A cell has the number, mean and standard deviation of its
 * samples, so that new samples merge without the old ones.  Values are
 * interpolated linearly in the log2 of each axis, and are constant outside the
 * outermost knots.  That log2 is linear between powers of two, so that it is
 * equal on every machine.  ra_grid_fill() fills unmeasured cells once, from
 * their nearest measured neighbours along the axes.
 *
 *     double m[] = {1, 2, 4}, k[] = {128, 256};
 *     RaGrid *grid = ra_grid_new();
 *     ra_grid_add_axis(grid, "m", m, 3);
 *     ra_grid_add_axis(grid, "k", k, 2);
 *     ra_grid_sample(grid, (double[]){2, 128}, -0.031);
 *     ra_grid_fill(grid);
 *     double r = ra_grid_at(grid, (double[]){3, 200});
 *
 * Typical sizes: 74 x 18 x 18 cells; a look-up costs 10 to 40 ns and allocates
 * nothing.
 */
#ifndef RA_TRACES_GRID_H
#define RA_TRACES_GRID_H

#include <glib.h>
#include <stdint.h>

#include "base/keyfile.h"

#define RA_GRID_AXES 5
#define RA_GRID_KNOTS 128 /* most knots of an axis */

typedef struct {
  char *name;      /* "m"; owned */
  guint n_knots;   /* >= 1 */
  double *knots;   /* (n_knots) ascending, > 0; owned */
  double *x;       /* (n_knots) log2 of the knots; owned */
  double *per_gap; /* (n_knots - 1) 1 / (x[i + 1] - x[i]); owned */
  guint8 *first;   /* (n_first) knot to search from, by leading bits of a value;
                      owned */
  guint n_first;   /* eighths of an octave that the knots cover */
  guint base;      /* leading bits of the first knot */
} RaGridAxis;

typedef struct {
  guint n;          /* samples, 0: not measured */
  double mean;      /* mean of the samples */
  double deviation; /* standard deviation about the mean, 0 for one sample */
} RaGridCell;

typedef struct {
  guint n_axes;
  RaGridAxis axes[RA_GRID_AXES];
  gsize stride[RA_GRID_AXES]; /* cells from one knot to the next */
  gsize n_cells;
  RaGridCell *cells; /* (n_cells) the first axis varies fastest; owned */
  float *values;     /* (n_cells) means, holes filled; NULL before filling */
  gsize n_spikes;    /* measured cells that were filled as if they were holes */
  gboolean is_exact; /* statistics are written to 1e-9, else to 1e-3 */
} RaGrid;

RaGrid *ra_grid_new(void);
void ra_grid_free(RaGrid *grid);
/* (transfer full): a copy of knots and cells, filled. */
RaGrid *ra_grid_copy(const RaGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaGrid, ra_grid_free)

/**
 * ra_grid_add_axis:
 * @knots: (array length=n_knots): ascending, finite, > 0; 1..RA_GRID_KNOTS
 *
 * Adds an axis, before the first sample.
 */
void ra_grid_add_axis(RaGrid *grid, const char *name, const double *knots,
                      guint n_knots);

/* Index of the cell whose knots are exactly @at; -1 if there is none. */
gssize ra_grid_find(const RaGrid *grid, const double *at);

/**
 * ra_grid_sample:
 * @at: (array length=n_axes): a knot of each axis
 *
 * Adds one sample to a cell.
 *
 * Returns: %FALSE if @at is not a cell
 */
gboolean ra_grid_sample(RaGrid *grid, const double *at, double value);

/**
 * ra_grid_merge:
 *
 * Adds the samples of @cell to cell @index: number, mean and deviation become
 * those of all samples (Chan, Golub, LeVeque, 1979).
 */
void ra_grid_merge(RaGrid *grid, gsize index, const RaGridCell *cell);

/**
 * ra_grid_fill:
 *
 * Sets `values`:
 *
 *     measured cell  its mean, unless the cell is a spike
 *     spike          as a hole; the samples stay in `cells`.  A spike has one
 *                    or two samples and is at least 1 (a factor of e, for
 *                    logarithms) away from the interpolation between its
 *                    neighbours.  The last cell of an axis is none if it is
 *                    less than that away from the cell before it.
 *     hole           the mean over the axes of the linear interpolation between
 *                    its nearest measured neighbours on both sides, or of the
 *                    nearest on one; weighted by 1 / the square of their error
 *                    over that distance, as the measured cells of the axis
 *                    tell it.  Holes that have both neighbours along an axis
 *                    are filled first.
 *
 * All values are 0 for a grid without samples.   Cost: about 50 ns a hole, and
 * 10 ns a cell.
 */
void ra_grid_fill(RaGrid *grid);

/* A point of a grid over some of its axes: the cells around it and their
 * weights. */
typedef struct {
  gsize origin;               /* lowest of the cells around the point */
  guint n_axes;               /* axes along which it lies between knots */
  gsize stride[RA_GRID_AXES]; /* (n_axes) distance to the next cell, in cells */
  double frac[RA_GRID_AXES];  /* (n_axes) position between both, (0, 1] */
} RaGridSpot;

/* Locates the point @at over the axes from @first on. */
void ra_grid_spot(const RaGrid *grid, const double *at, guint first,
                  RaGridSpot *out_spot);

/* Interpolates linearly between @values, which are laid out like the grid's. */
double ra_grid_spot_value(const RaGridSpot *spot, const float *values);

/**
 * ra_grid_at:
 * @grid: filled
 * @at: (array length=n_axes): values of the axes, >= 0
 *
 * Returns: the interpolated value
 */
double ra_grid_at(const RaGrid *grid, const double *at);

/**
 * ra_grid_read:
 * @group: index of the grid's group in @file
 * @error: %RA_ERROR_INPUT `file:line: ...`
 *
 * Reads a group such as:
 *
 *     axis-1 = m 1 2 4
 *     axis-2 = k 128 256
 *     at-128 = -31 (12) 5*3~7
 *     at-256 = ...
 *
 * There is a line `at-` for each combination of the knots of all axes but the
 * first, with a cell for each knot of the first:
 *
 *     -31    mean of one sample in thousandths: whole, or with up to six
 *            decimals if the table is exact
 *     5*3~7  mean of 3 samples with a standard deviation of 7 thousandths
 *     (12)   value filled from the neighbours; alone if nothing was measured,
 *            or before a spike, which is not used
 *
 * Returns: (transfer full): %NULL on error
 */
RaGrid *ra_grid_read(const RaKeyFile *file, guint group, GError **error);

/* Appends the lines of a filled grid's group; ra_grid_read() reads back the
 * same grid. */
void ra_grid_write(const RaGrid *grid, GString *out);

/* log2 of @x, linear between powers of two; @x normal, > 0. */
double ra_log2_linear(double x);

/**
 * ra_grid_axis_at:
 * @out_frac: (out): position between the returned knot and the next, [0, 1]
 *
 * Returns: index of the knot at or below @value; the last but one above the
 *   last knot
 */
guint ra_grid_axis_at(const RaGridAxis *axis, double value, double *out_frac);

#endif
