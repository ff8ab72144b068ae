/* Expected error of a prediction, from held-out measurements.
 *
 *     const char *source;
 *     double frac = ra_model_error(setup, &source);
 */
#ifndef RA_STUDY_MODEL_ERROR_H
#define RA_STUDY_MODEL_ERROR_H

#include "study/setup.h"

/* Ratio of the 90 % range to the median absolute error, for normal errors: the
 * 95 % quantile of the normal law over its median size.  Half of the
 * predictions are within the median error, nine of ten within this multiple of
 * it. */
#define RA_ERROR_NINE_OF_TEN (1.6448536269514722 / 0.6744897501960817)

/* Standard deviation of a normal law whose median absolute value is 1. */
#define RA_ERROR_SIGMA (1 / 0.6744897501960817)

/* Median absolute relative error of an iteration: that of the system's runs if
 * there is a system, else the largest one of the GPU's laws.  @out_source names
 * the origin, static.  NAN: not known. */
double ra_model_error(const RaSetup *setup, const char **out_source);

#endif
