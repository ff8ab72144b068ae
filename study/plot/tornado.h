/* Tornado plot: the effect of each resource on an iteration, the largest on
 * top, as a picture or as text.
 *
 *     ra_tornado_plot(sensitivity, "tornado.svg", &error);
 *     g_autofree char *text = ra_tornado_text(sensitivity, 80);
 *
 * Each resource has two bars from the line of no change: filled for more of it,
 * hatched for less, so the picture is readable without colour.  A bar is marked
 * if the plan does not fit memory.
 */
#ifndef RA_STUDY_PLOT_TORNADO_H
#define RA_STUDY_PLOT_TORNADO_H

#include "study/sweep/sensitivity.h"

/* TRUE if the ending of @path is a supported picture format. */
gboolean ra_tornado_check(const char *path, GError **error);

/**
 * ra_tornado_plot:
 * @path: .svg, .png or .pdf; the data go next to it
 * @error: as ra_picture_write()
 */
gboolean ra_tornado_plot(const RaSensitivity *sensitivity, const char *path,
                         GError **error);

/* Bars of # (more) and - (less) (transfer full), @n_columns wide. */
char *ra_tornado_text(const RaSensitivity *sensitivity, guint n_columns);

#endif
