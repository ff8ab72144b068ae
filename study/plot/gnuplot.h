/* gnuplot as a function: a script in, a picture out.
 *
 * The script, the picture and the error messages go through unnamed temporary
 * files, so there is no shell, no pipe that could break and nothing to remove
 * afterwards.  gnuplot can run commands and write files, and no option turns
 * that off, so text enters a script only through base/quote.h.  gnuplot is
 * located when it is needed: `reallot` neither links nor requires it.
 *
 *     g_autofree char *program = ra_gnuplot_find();
 *     if (program && ra_gnuplot_run(program, script, &bytes, &error)) ...
 *
 * Typical sizes: 100 kB in, 100 kB out, 0.1 s.
 */
#ifndef RA_STUDY_PLOT_GNUPLOT_H
#define RA_STUDY_PLOT_GNUPLOT_H

#include <glib.h>

/* Time limit of one picture: a hundred times that of 10^5 boxes. */
#define RA_GNUPLOT_LIMIT_S 300.0

/* Path of gnuplot (transfer full) (nullable); %NULL: not installed. */
char *ra_gnuplot_find(void);

/**
 * ra_gnuplot_run:
 * @program: from ra_gnuplot_find()
 * @script: sets a terminal and no output
 * @limit_s: seconds after which gnuplot is killed: %RA_GNUPLOT_LIMIT_S
 * @out_picture: (out) (transfer full): what gnuplot wrote; untouched on error
 * @error: %RA_ERROR_IO: no room for temporary files, gnuplot cannot be run,
 *   failed (with the first line of its reason), took too long, or wrote
 *   nothing
 *
 * The user's own gnuplot settings, files and variables, are not read.
 *
 * Returns: %TRUE on success
 */
gboolean ra_gnuplot_run(const char *program, const char *script, double limit_s,
                        GBytes **out_picture, GError **error);

#endif
