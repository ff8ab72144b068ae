/* Refinement of crossovers: searches between the values of an axis for the
 * place where curves cross.
 *
 *     sweep = ra_refine(sweep, &flags, &options, &error);
 *
 * The point half way between the two values of a crossover is run, then the one
 * between those where the curves now cross, and so on, [study] bisect times.  A
 * value half way is written like the two values, with each number between its
 * neighbours (by ratio on a logarithmic axis), and whole where these are.  `8`
 * and `16` give `12`; `lognormal(2048, 2048, 8192)` and `lognormal(4096, 4096,
 * 16384)` give `lognormal(3072, 3072, 12288)`. Values that are no numbers, such
 * as names, have nothing between them.  A value at which one of the two curves
 * has no plan does not locate the crossing: it is left out, and a quarter or
 * three quarters of the way are tried.
 */
#ifndef RA_STUDY_SWEEP_REFINE_H
#define RA_STUDY_SWEEP_REFINE_H

#include "study/sweep/sweep.h"

/**
 * ra_refine_between:
 * @frac: fraction of the way from @a to @b
 *
 * Returns: (transfer full) (nullable): the text; %NULL: the values differ in
 * more than numbers, or nothing is between them
 */
char *ra_refine_between(const char *a, const char *b, double frac,
                        gboolean is_log);

/**
 * ra_refine:
 * @sweep: (transfer full): of a crossover question; otherwise returned
 *   unchanged
 * @flags, @options: those that it was made with
 * @error: as ra_sweep_new()
 *
 * Returns: (transfer full): a sweep with the further values on the axis, which
 * owns its study
 */
RaSweep *ra_refine(RaSweep *sweep, const RaSetupFlags *flags,
                   const RaSweepOptions *options, GError **error);

#endif
