/* Picture file: the result of a gnuplot script in the format of the file's
 * ending, with the plotted data next to it.
 *
 *     if (ra_picture_terminal(path, 9, &terminal, &error)) {
 *       ra_picture_append_size(script, terminal, 1200, 500);
 *       ... the rest of the script ...
 *       ra_picture_write(path, NULL, data, script->str, &error);
 *     }
 *
 * Typical sizes: 100 kB of script, 0.1 to 2 s.
 */
#ifndef RA_STUDY_PLOT_PICTURE_H
#define RA_STUDY_PLOT_PICTURE_H

#include <glib.h>

/**
 * ra_picture_terminal:
 * @path: of the picture
 * @font_pt: font size in PNG and PDF; SVG uses this plus 3 as pixels, which
 *   looks alike
 * @out_terminal: (out) (transfer full) (nullable): argument of `set terminal`,
 *   without a size; %NULL: only check
 * @error: %RA_ERROR_INPUT: the ending is none of .svg, .png, .pdf
 *
 * Returns: %TRUE on success
 */
gboolean ra_picture_terminal(const char *path, guint font_pt,
                             char **out_terminal, GError **error);

/* Appends `set terminal ... size ...` for @width_px x @height_px; PDF sizes are
 * in inches of 96 pixels. */
void ra_picture_append_size(GString *script, const char *terminal,
                            double width_px, double height_px);

/**
 * ra_picture_data_path:
 * @path: of the picture, with an ending of four characters
 *
 * Returns: (transfer full): the same with the ending .dat
 */
char *ra_picture_data_path(const char *path);

/**
 * ra_picture_write:
 * @path: of the picture
 * @data_path: (nullable): of the data; %NULL: ra_picture_data_path()
 * @data: text of the data
 * @script: draws them
 * @error: %RA_ERROR_INPUT: gnuplot is not installed; the data are then written
 *   all the same; as ra_gnuplot_run(), ra_file_write()
 *
 * Returns: %TRUE if both were written
 */
gboolean ra_picture_write(const char *path, const char *data_path,
                          const char *data, const char *script, GError **error);

#endif
