/* How a search converged: the best plan so far, and what none can be below,
 * over time.
 *
 *     if (!ra_convergence_plot(contest, "curve.svg", &error)) ...
 *     g_autofree char *text = ra_convergence_text(contest, 78, 14);
 *
 * Times are run_s of search/evaluate/evaluate.h, at call fidelity from the
 * search's tables: what it makes small.  Where lengths are drawn there is a
 * curve for the mean and one for the longest.  The bound is the one known at
 * the end.
 *
 * Typical sizes: 5 to 100 samples a curve.
 */
#ifndef RA_STUDY_PLOT_CONVERGENCE_H
#define RA_STUDY_PLOT_CONVERGENCE_H

#include "study/contest/contest.h"

/* Whether the ending of @path is one that can be drawn. */
gboolean ra_convergence_check(const char *path, GError **error);

/**
 * ra_convergence_plot:
 * @path: ends in .svg, .png or .pdf; the data are written beside it, .dat
 * @error: as ra_picture_write()
 *
 * Returns: %TRUE if both were written
 */
gboolean ra_convergence_plot(const RaContest *contest, const char *path,
                             GError **error);

/* (transfer full): the same for a terminal, @n_columns wide and with @n_lines
 * for each curve; both at least 4 and no more than is needed. */
char *ra_convergence_text(const RaContest *contest, guint n_columns,
                          guint n_lines);

#endif
