/* A tornado: how far each resource moves an iteration, the widest on top, as a
 * picture or as text.
 *
 *     ra_tornado_plot(sensitivity, "tornado.svg", &error);
 *     g_autofree char *text = ra_tornado_text(sensitivity, 80);
 *
 * Two bars a resource from the line of no change: filled for more of it,
 * hatched for less, so that it reads without colour too.  A bar that does not
 * fit memory is named so.
 */
#ifndef RA_STUDY_PLOT_TORNADO_H
#define RA_STUDY_PLOT_TORNADO_H

#include "study/sweep/sensitivity.h"

/* Whether @path has an ending that can be drawn. */
gboolean ra_tornado_check(const char *path, GError **error);

/**
 * ra_tornado_plot:
 * @path: .svg, .png or .pdf; the data go beside it
 * @error: as ra_picture_write()
 */
gboolean ra_tornado_plot(const RaSensitivity *sensitivity, const char *path,
                         GError **error);

/* (transfer full): bars of # (more) and - (less), @n_columns wide. */
char *ra_tornado_text(const RaSensitivity *sensitivity, guint n_columns);

#endif
