/* Study plot: curves along the study's axis, or, for a pareto question, one
 * metric over the other with the front.
 *
 *     ra_study_plot(sweep, answer, "gpus.svg", &error);
 *
 * Curves differ in colour, mark and dashes, so the picture is readable in
 * greyscale.  Points that violate the limits are open and not joined; points of
 * the answer have a ring; points of a front are named.  Bands (for a pareto
 * question, bars) are the 90 % range of the model's error
 * (study/model_error.h).
 */
#ifndef RA_STUDY_PLOT_STUDY_PLOT_H
#define RA_STUDY_PLOT_STUDY_PLOT_H

#include "study/sweep/answer.h"

/* TRUE if the ending of @path is a supported picture format. */
gboolean ra_study_plot_check(const char *path, GError **error);

/**
 * ra_study_plot:
 * @path: .svg, .png or .pdf; the data go next to it
 * @error: as ra_picture_write()
 */
gboolean ra_study_plot(const RaSweep *sweep, const RaAnswer *answer,
                       const char *path, GError **error);

/* The same as text (transfer full): a letter per curve, in lower case where a
 * point violates the limits. */
char *ra_study_text(const RaSweep *sweep, guint n_columns, guint n_lines);

#endif
