/* Validation plot: predicted against measured values, a panel per benchmark
 * set.
 *
 * Both axes are logarithmic and have the same range.  The full line is
 * predicted = measured; the dashed lines are at the bar of the 90th percentile.
 * Parts (GPUs) differ in colour, lightness and mark.  Coinciding points are
 * plotted once.  The points are written as TSV next to the picture, with or
 * without gnuplot.
 *
 *     ra_validation_plot(v, "errors.svg", &error);
 *
 * Typical sizes: 40 panels, 300 kB of SVG.
 */
#ifndef RA_STUDY_PLOT_VALIDATE_PLOT_H
#define RA_STUDY_PLOT_VALIDATE_PLOT_H

#include "study/validate/validate.h"

/**
 * ra_validation_plot:
 * @path: ends in .svg, .png or .pdf; the points go to the same name in .dat
 * @error: %RA_ERROR_INPUT: an unknown ending, or gnuplot is not installed (the
 *   points are written then); %RA_ERROR_IO: a file cannot be written, or
 *   gnuplot failed
 *
 * Returns: %TRUE where the picture and its points were written
 */
gboolean ra_validation_plot(const RaValidation *validation, const char *path,
                            GError **error);

/* TRUE if ra_validation_plot() supports the ending of @path. */
gboolean ra_validation_plot_check(const char *path, GError **error);

#endif
