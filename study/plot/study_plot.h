/* The points of a study as a picture: curves along its axis, or, of a pareto
 * question, one metric over the other with the front.
 *
 *     ra_study_plot(sweep, answer, "gpus.svg", &error);
 *
 * Curves differ in colour, mark and dashes, so that the picture reads in
 * greyscale; points that do not keep to the limits are open and not joined;
 * those of the answer have a ring.  Bands (bars, of a pareto question) are what
 * the error of the model leaves open in nine cases of ten, study/model_error.h.
 */
#ifndef RA_STUDY_PLOT_STUDY_PLOT_H
#define RA_STUDY_PLOT_STUDY_PLOT_H

#include "study/sweep/answer.h"

/* Whether @path has an ending that can be drawn. */
gboolean ra_study_plot_check(const char *path, GError **error);

/**
 * ra_study_plot:
 * @path: .svg, .png or .pdf; the data go beside it
 * @error: as ra_picture_write()
 */
gboolean ra_study_plot(const RaSweep *sweep, const RaAnswer *answer,
                       const char *path, GError **error);

/* (transfer full): the same as text, a letter a curve, a small one where a
 * point does not keep to the limits. */
char *ra_study_text(const RaSweep *sweep, guint n_columns, guint n_lines);

#endif
