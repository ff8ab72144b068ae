/* Held-out errors: the shipped method on measurements that it did not see.
 *
 * Every line of a source (a value of n, of query heads, a model, a size, a
 * number of GPUs, a table) is left out in turn, law and table are fitted on
 * the rest, and the errors of what was left out are pooled by level.
 *
 *     held_out_bars(profile, "h100", data);
 */
#ifndef RA_BENCH_HELD_OUT_H
#define RA_BENCH_HELD_OUT_H

#include "traces/profile.h"

/* Prints a row `held-out` and the bars of each level that @data has rows of
 * @gpu for.  @profile: of that GPU; its coefficients come back. */
void held_out_bars(RaProfile *profile, const char *gpu, const char *data);

/* `bar<TAB>name<TAB>value<TAB>limit<TAB>ok|short`; NAN: short. */
void print_bar(const char *name, double value, double limit);

#endif
