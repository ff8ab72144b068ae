/* A grid: what was measured at the knots of a few axes, and what that says
 * between them.
 *
 * An axis is a quantity (rows of a product, bytes of a message) with its
 * measured values as knots; a cell holds how many samples fell on it, their
 * mean and their standard deviation, so that new samples merge without the old
 * ones.  Values are looked up linearly in the log2 of each axis (linear between
 * powers of two, so that it is the same on every machine) and are held beyond
 * the outermost knots.  Cells that nobody measured are filled once, by
 * ra_grid_fill(), from their nearest measured neighbours along the axes.
 *
 *     double m[] = {1, 2, 4}, k[] = {128, 256};
 *     RaGrid *grid = ra_grid_new();
 *     ra_grid_add_axis(grid, "m", m, 3);
 *     ra_grid_add_axis(grid, "k", k, 2);
 *     ra_grid_sample(grid, (double[]){2, 128}, -0.031);
 *     ra_grid_fill(grid);
 *     double r = ra_grid_at(grid, (double[]){3, 200});
 *
 * Typical sizes: 74 x 18 x 18 cells; one look-up 10 to 40 ns, no allocation.
 */
#ifndef RA_TRACES_GRID_H
#define RA_TRACES_GRID_H

#include <glib.h>
#include <stdint.h>

#include "base/keyfile.h"

#define RA_GRID_AXES 5
#define RA_GRID_KNOTS 128 /* of one axis, at most */

typedef struct {
  char *name;      /* "m"; owned */
  guint n_knots;   /* >= 1 */
  double *knots;   /* (n_knots) ascending, > 0; owned */
  double *x;       /* (n_knots) their log2; owned */
  double *per_gap; /* (n_knots - 1) 1 / (x[i + 1] - x[i]); owned */
  guint8 *first;   /* (n_first) by bits of the value: knot to search from */
  guint n_first;
  guint base; /* those bits of the first knot */
} RaGridAxis;

typedef struct {
  guint n;          /* samples, 0: not measured */
  double mean;      /* of the samples */
  double deviation; /* their standard deviation about it, 0 for one */
} RaGridCell;

typedef struct {
  guint n_axes;
  RaGridAxis axes[RA_GRID_AXES];
  gsize stride[RA_GRID_AXES]; /* cells from one knot to the next */
  gsize n_cells;
  RaGridCell *cells; /* (n_cells) the first axis varies fastest; owned */
  float *values;     /* (n_cells) means, holes filled; NULL before */
  gsize n_spikes;    /* cells measured that were filled as if holes */
  gboolean is_exact; /* statistics are written to 1e-9, else to 1e-3 */
} RaGrid;

RaGrid *ra_grid_new(void);
void ra_grid_free(RaGrid *grid);
/* (transfer full): the same knots and cells, filled. */
RaGrid *ra_grid_copy(const RaGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaGrid, ra_grid_free)

/**
 * ra_grid_add_axis:
 * @knots: (array length=n_knots): ascending, finite, > 0; 1..RA_GRID_KNOTS
 *
 * Before the first sample.
 */
void ra_grid_add_axis(RaGrid *grid, const char *name, const double *knots,
                      guint n_knots);

/* Index of the cell whose knots are exactly @at; -1 where there is none. */
gssize ra_grid_find(const RaGrid *grid, const double *at);

/**
 * ra_grid_sample:
 * @at: (array length=n_axes): a knot of each axis
 *
 * Adds one sample to a cell.
 *
 * Returns: %FALSE where @at is no cell
 */
gboolean ra_grid_sample(RaGrid *grid, const double *at, double value);

/**
 * ra_grid_merge:
 *
 * Adds @cell's samples to cell @index: n, mean and deviation are then those of
 * all of them (Chan, Golub, LeVeque, 1979).
 */
void ra_grid_merge(RaGrid *grid, gsize index, const RaGridCell *cell);

/**
 * ra_grid_fill:
 *
 * Sets `values`: a measured cell's mean, unless it is of one or two samples
 * and off what its neighbours on both sides say by more than 1 (a factor of e,
 * where values are logarithms), nor as near as that to the one before it along
 * an axis that it is the last of: such a spike stays in `cells` and counts as a
 * hole; a hole's mean over the axes of the linear interpolation between its
 * nearest measured neighbours on both sides, each weighted by 1 / their
 * distance; where no axis has both, the same over the nearest on one side.  All
 * 0 for a grid without samples.  Cost: about 50 ns a hole.
 */
void ra_grid_fill(RaGrid *grid);

/* A point of a grid, over some of its axes: between which cells it is. */
typedef struct {
  gsize origin;               /* the lowest of the cells around it */
  guint n_axes;               /* along which it is between knots */
  gsize stride[RA_GRID_AXES]; /* (n_axes) to the next cell */
  double frac[RA_GRID_AXES];  /* (n_axes) how far on the way, (0, 1] */
} RaGridSpot;

/* The point @at, over the axes from @first on. */
void ra_grid_spot(const RaGrid *grid, const double *at, guint first,
                  RaGridSpot *out_spot);

/* Linear between @values, which are laid out as the grid's. */
double ra_grid_spot_value(const RaGridSpot *spot, const float *values);

/**
 * ra_grid_at:
 * @grid: filled
 * @at: (array length=n_axes): values of the axes, >= 0
 *
 * Returns: the value there
 */
double ra_grid_at(const RaGrid *grid, const double *at);

/**
 * ra_grid_read:
 * @group: of @file: `axis-1 = m 1 2 4`, `axis-2 = k 128 256`, and a line for
 *   each combination of the knots of all axes but the first,
 *   `at-128 = -31 (12) 5*3~7`, with a cell for each knot of the first: the mean
 *   in thousandths (whole, or with up to six decimals where the table is
 * exact), behind it `*3~7` where it is of 3 samples with a standard deviation
 * of 7 thousandths; in parentheses a value filled from the neighbours, alone
 * where nothing was measured, or before a spike that is not used
 * @error: %RA_ERROR_INPUT `file:line: ...`
 *
 * Returns: (transfer full): %NULL on error
 */
RaGrid *ra_grid_read(const RaKeyFile *file, guint group, GError **error);

/* Appends the lines of such a group, of a filled grid; what is read back is
 * what was written. */
void ra_grid_write(const RaGrid *grid, GString *out);

/* log2 of @x, linear between powers of two; @x normal, > 0. */
double ra_log2_linear(double x);

/**
 * ra_grid_axis_at:
 * @out_frac: (out): how far from the knot returned to the next, [0, 1]
 *
 * Returns: index of the knot at or below @value; the last but one beyond
 */
guint ra_grid_axis_at(const RaGridAxis *axis, double value, double *out_frac);

#endif
