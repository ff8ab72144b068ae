/* Where curves cross, looked for between the values of an axis.
 *
 *     sweep = ra_refine(sweep, &flags, &options, &error);
 *
 * Of a crossover the points half way between the two values are run, again
 * between those where the curves now cross, and so on, [study] bisect times.
 * What lies half way is written as the values are, with every number of them
 * between its neighbours (by ratio on a logarithmic axis), whole where these
 * are: `8` and `16` give `12`, `lognormal(2048, 2048, 8192)` and
 * `lognormal(4096, 4096, 16384)` give `lognormal(3072, 3072, 12288)`.  Values
 * that are no numbers, such as names, have nothing between them.  A value at
 * which one of the two curves has no plan says nothing of where they meet: it
 * is left out, and a quarter or three of the way is tried.
 */
#ifndef RA_STUDY_SWEEP_REFINE_H
#define RA_STUDY_SWEEP_REFINE_H

#include "study/sweep/sweep.h"

/**
 * ra_refine_between:
 * @frac: of the way from @a to @b
 *
 * Returns: (transfer full) (nullable): the text; %NULL: they differ in more
 *   than numbers, or nothing is between
 */
char *ra_refine_between(const char *a, const char *b, double frac,
                        gboolean is_log);

/**
 * ra_refine:
 * @sweep: (transfer full): of a question about a crossover, else it is returned
 * @flags, @options: that it was made with
 * @error: as ra_sweep_new()
 *
 * Returns: (transfer full): with the further values on the axis; its study is
 *   its own
 */
RaSweep *ra_refine(RaSweep *sweep, const RaSetupFlags *flags,
                   const RaSweepOptions *options, GError **error);

#endif
