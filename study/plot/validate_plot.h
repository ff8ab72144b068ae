/* The picture of a validation: measured against predicted, a panel a level.
 *
 * Both axes are logarithmic and have the same range; the full line is
 * predicted = measured, the dashed ones stand at the bar of the 90th
 * percentile.  Parts (GPUs) differ in colour, lightness and mark.  Points that
 * would fall on one another are drawn once.  The points are written as TSV
 * beside the picture, with or without gnuplot.
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

/* Whether ra_validation_plot() could write a picture of that ending. */
gboolean ra_validation_plot_check(const char *path, GError **error);

#endif
