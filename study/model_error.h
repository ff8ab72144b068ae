/* By how much a prediction may be off, as held-out measurements say it.
 *
 *     const char *source;
 *     double frac = ra_model_error(setup, &source);
 */
#ifndef RA_STUDY_MODEL_ERROR_H
#define RA_STUDY_MODEL_ERROR_H

#include "study/setup.h"

/* The 95 % quantile of the normal law over its median size: half of the
 * predictions are within the median error of what is measured, nine of ten
 * within so many of it, where the errors are normal. */
#define RA_ERROR_NINE_OF_TEN (1.6448536269514722 / 0.6744897501960817)

/* The standard deviation of a normal law whose median size is 1. */
#define RA_ERROR_SIGMA (1 / 0.6744897501960817)

/* The median size of the relative error of an iteration, with a system that of
 * its runs, else the largest one of the GPU's laws; what says so is static.
 * NAN: nothing does. */
double ra_model_error(const RaSetup *setup, const char **out_source);

#endif
