/* A picture file: a gnuplot script drawn in the format that the file's ending
 * says, with the data that were drawn beside it.
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
 * @font_pt: size of its texts in PNG and PDF; in SVG they are that and 3 pixels
 *   high, which looks alike
 * @out_terminal: (out) (transfer full) (nullable): what `set terminal` takes,
 *   without a size; %NULL: only look
 * @error: %RA_ERROR_INPUT: an ending that is none of .svg, .png, .pdf
 *
 * Returns: %TRUE on success
 */
gboolean ra_picture_terminal(const char *path, guint font_pt,
                             char **out_terminal, GError **error);

/* `set terminal ... size ...`: of @width_px x @height_px, in inches for PDF, of
 * which 96 pixels make one. */
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
 * @data: text of these
 * @script: draws them
 * @error: %RA_ERROR_INPUT: gnuplot is not installed; the data are then written
 *   all the same; as ra_gnuplot_run(), ra_file_write()
 *
 * Returns: %TRUE if both were written
 */
gboolean ra_picture_write(const char *path, const char *data_path,
                          const char *data, const char *script, GError **error);

#endif
