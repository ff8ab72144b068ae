/* Merging of new samples into an existing table. */
#include "config.h"

#include <string.h>

#include "estimator/fit.h"

/* @knot as the text of a table has it, to ten digits (traces/grid.h): what is
 * new of 16 GiB is at the knot that was read of them. */
static double
as_written(double knot)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  return g_ascii_strtod(g_ascii_formatd(text, sizeof text, "%.10g", knot),
                        NULL);
}

/* The knots of both axes, or of @a alone where those are too many. */
static void
add_union(RaGrid *grid, const RaGridAxis *a, const RaGridAxis *b)
{
  double knots[2 * RA_GRID_KNOTS];
  guint i = 0, j = 0, n = 0;

  while (i < a->n_knots || j < b->n_knots) {
    double new_knot = j < b->n_knots ? as_written(b->knots[j]) : 0;
    gboolean first =
        j == b->n_knots || (i < a->n_knots && a->knots[i] <= new_knot);

    knots[n] = first ? a->knots[i] : new_knot;
    if (first && j < b->n_knots && new_knot <= a->knots[i])
      j++;
    i += first;
    j += !first;
    n++;
  }
  if (n > RA_GRID_KNOTS)
    ra_grid_add_axis(grid, a->name, a->knots, a->n_knots);
  else
    ra_grid_add_axis(grid, a->name, knots, n);
}

/* Adds the measured cells of @from, each to the knots at or below its own. */
static void
add_cells(RaGrid *grid, const RaGrid *from)
{
  for (gsize cell = 0; cell < from->n_cells; cell++) {
    gsize index = 0;

    for (guint a = 0; a < from->n_axes; a++) {
      const RaGridAxis *axis = &from->axes[a];
      double frac;
      double at =
          as_written(axis->knots[cell / from->stride[a] % axis->n_knots]);
      guint i = ra_grid_axis_at(&grid->axes[a], at, &frac);

      index += (i + (frac >= 1)) * grid->stride[a];
    }
    ra_grid_merge(grid, index, &from->cells[cell]);
  }
}

RaGrid *
ra_fit_merge(const RaFitLaw *law, RaProfile *profile, const GArray *rows)
{
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, law->law);
  RaGrid *old = target ? target->grid : NULL, *merged;
  g_autoptr(RaGrid) fresh = NULL;
  RaFitAxes axes;
  RaResidual residual;

  if (!old || !ra_residual_init(&residual, profile, law->law, NULL))
    return NULL;
  for (guint a = 0; a < old->n_axes; a++)
    axes[a] = (RaFeature)residual.feature[a];
  axes[old->n_axes] = RA_N_FEATURES;
  target->grid = NULL;
  fresh = ra_fit_table(law, profile, rows, axes);
  target->grid = old;
  merged = ra_grid_new();
  for (guint a = 0; a < old->n_axes; a++)
    add_union(merged, &old->axes[a], &fresh->axes[a]);
  add_cells(merged, old);
  add_cells(merged, fresh);
  ra_grid_fill(merged);
  return merged;
}
