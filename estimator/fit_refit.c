/* Merging of a run into an existing table, as one sample of the variation
 * between runs. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "estimator/fit.h"

#define CORNERS (1u << RA_GRID_AXES)

/* A row on the grid. */
typedef struct {
  double shift;   /* ln(measured / predicted by law and table) */
  double error_2; /* squared standard error of its samples' mean */
  guint n;        /* samples */
  double deviation;
  guint n_corners;
  gsize corner[CORNERS];  /* cells that it is between */
  double weight[CORNERS]; /* how much of each is in what was predicted */
} Seen;

/* Sums over the rows of one cell, by their weights there. */
typedef struct {
  double weight, weight_2, shift, error_2, known_2;
  double n, samples_2; /* samples; their squared deviations */
} Said;

/* Squared standard error of a cell's mean; of what nobody measured none. */
static double
cell_error_2(const RaGridCell *cell)
{
  return cell->n > 0 ? cell->deviation * cell->deviation / cell->n : 0;
}

static void
see(const RaResidual *residual, const RaMeasured *row, double law_s, Seen *out)
{
  const RaGrid *grid = residual->grid;
  double at[RA_GRID_AXES];
  RaGridSpot spot;
  guint n = MAX(row->samples.n, 1);

  ra_residual_features(residual, &row->op, at);
  ra_grid_spot(grid, at, 0, &spot);
  *out = (Seen){.n = n,
                .deviation = row->samples.deviation,
                .n_corners = 1u << spot.n_axes};
  out->error_2 = out->deviation * out->deviation / n;
  out->shift = row->samples.mean + ra_log(row->measured_s / MAX(law_s, 1e-12)) -
               ra_grid_at(grid, at);
  for (guint c = 0; c < out->n_corners; c++) {
    out->corner[c] = spot.origin;
    out->weight[c] = 1;
    for (guint a = 0; a < spot.n_axes; a++) {
      gboolean next = c >> a & 1;

      out->corner[c] += next ? spot.stride[a] : 0;
      out->weight[c] *= next ? spot.frac[a] : 1 - spot.frac[a];
    }
  }
}

static GArray *
see_rows(const RaFitLaw *law, RaProfile *profile, const GArray *rows)
{
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, law->law);
  g_autofree double *s = g_new(double, rows->len + 1);
  GArray *all = g_array_sized_new(FALSE, TRUE, sizeof(Seen), rows->len);
  RaGrid *grid = target->grid;
  RaResidual residual;

  ra_residual_init(&residual, profile, law->law, NULL);
  target->grid = NULL;
  ra_fit_predict(profile, rows, s);
  target->grid = grid;
  g_array_set_size(all, rows->len);
  for (guint i = 0; i < rows->len; i++)
    see(&residual, &g_array_index(rows, RaMeasured, i), s[i],
        &g_array_index(all, Seen, i));
  return all;
}

/* How often somebody ran: each trace is one. */
static guint
count_runs(const GArray *rows)
{
  g_autoptr(GHashTable) files = g_hash_table_new(g_direct_hash, g_direct_equal);

  for (guint i = 0; i < rows->len; i++)
    g_hash_table_add(
        files, (gpointer)(guintptr)g_array_index(rows, RaMeasured, i).file);
  return g_hash_table_size(files);
}

/* Squared deviation of a cell from run to run, by moments: a row's shift has
 * its own draw (of @n_runs) and those of the cells that it is between, and the
 * errors of all their means. */
static double
between_2(const RaGrid *grid, const GArray *all, guint n_runs)
{
  double sum = 0, draws = 0;

  for (guint i = 0; i < all->len; i++) {
    const Seen *seen = &g_array_index(all, Seen, i);

    sum += seen->shift * seen->shift - seen->error_2;
    draws += 1. / n_runs;
    for (guint c = 0; c < seen->n_corners; c++) {
      double weight_2 = seen->weight[c] * seen->weight[c];

      sum -= weight_2 * cell_error_2(&grid->cells[seen->corner[c]]);
      draws += weight_2;
    }
  }
  return fmax(sum / draws, 0);
}

static void
say(const RaGrid *grid, const Seen *seen, double tau_2, Said *said)
{
  double known_2 = 0; /* of what was predicted */

  for (guint c = 0; c < seen->n_corners; c++)
    known_2 += seen->weight[c] * seen->weight[c] *
               (cell_error_2(&grid->cells[seen->corner[c]]) + tau_2);
  for (guint c = 0; c < seen->n_corners; c++) {
    Said *s = &said[seen->corner[c]];
    double weight = seen->weight[c];

    s->weight += weight;
    s->weight_2 += weight * weight;
    s->shift += weight * seen->shift;
    s->error_2 += weight * weight * seen->error_2;
    s->known_2 += weight * known_2;
    s->n += weight * seen->n;
    s->samples_2 += weight * seen->n * seen->deviation * seen->deviation;
  }
}

/* Moves one cell by its share of what was said of it. */
static void
change(RaGridCell *cell, float filled, const Said *said, double tau_2,
       guint n_runs)
{
  double own_2 = cell_error_2(cell) + tau_2;
  double run_2 = said->error_2 / (said->weight * said->weight) + tau_2 / n_runs;
  double share = said->weight_2 / said->weight * own_2;
  double all = said->known_2 / said->weight + run_2;
  double gain = all > 0 ? share / all : 0;

  if (gain <= 0)
    return;
  if (cell->n == 0)
    *cell = (RaGridCell){.n = MAX((guint)rint(said->n), 1),
                         .mean = (double)filled,
                         .deviation = sqrt(said->samples_2 / said->n)};
  cell->mean += gain * said->shift / said->weight;
}

RaGrid *
ra_fit_refit(const RaFitLaw *law, RaProfile *profile, const GArray *rows)
{
  const RaLaw *target = ra_profile_law(profile, law->law);
  const RaGrid *old = target ? target->grid : NULL;
  g_autoptr(GArray) all = NULL;
  g_autofree Said *said = NULL;
  guint n_runs = count_runs(rows);
  RaGrid *grid;
  double tau_2;

  if (!old)
    return NULL;
  all = see_rows(law, profile, rows);
  tau_2 = between_2(old, all, n_runs);
  said = g_new0(Said, old->n_cells);
  for (guint i = 0; i < all->len; i++)
    say(old, &g_array_index(all, Seen, i), tau_2, said);
  grid = ra_grid_copy(old);
  for (gsize i = 0; i < grid->n_cells; i++)
    if (said[i].weight > 0)
      change(&grid->cells[i], old->values[i], &said[i], tau_2, n_runs);
  ra_grid_fill(grid);
  return grid;
}
