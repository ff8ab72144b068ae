/* Convergence plot of a search: the best plan so far and the lower bound, over
 * time.
 *
 *     if (!ra_convergence_plot(contest, "curve.svg", &error)) ...
 *     g_autofree char *text = ra_convergence_text(contest, 78, 14);
 *
 * Times are run_s of search/evaluate/evaluate.h, which the search minimizes, at
 * call fidelity from its tables.  Where lengths are sampled there is a curve
 * for the mean and one for the longest.  The bound is the one known at the end.
 *
 * Typical sizes: 5 to 100 samples per curve.
 */
#ifndef RA_STUDY_PLOT_CONVERGENCE_H
#define RA_STUDY_PLOT_CONVERGENCE_H

#include "study/contest/contest.h"

/* TRUE if the ending of @path is a supported picture format. */
gboolean ra_convergence_check(const char *path, GError **error);

/**
 * ra_convergence_plot:
 * @path: ends in .svg, .png or .pdf; the data are written next to it, .dat
 * @error: as ra_picture_write()
 *
 * Returns: %TRUE if both were written
 */
gboolean ra_convergence_plot(const RaContest *contest, const char *path,
                             GError **error);

/* The same as text for a terminal (transfer full), @n_columns wide and at most
 * @n_lines per curve; both at least 4. */
char *ra_convergence_text(const RaContest *contest, guint n_columns,
                          guint n_lines);

#endif
