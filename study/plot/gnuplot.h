/* gnuplot as a function: a script in, a picture out.
 *
 * The script, the picture and the complaints go through files that have no
 * name, so there is no shell, no pipe that could break and nothing to remove
 * afterwards.  gnuplot can run commands and write files, which nothing switches
 * off: texts of a script go through base/quote.h.  gnuplot is looked for when
 * it is needed: `reallot` neither links nor requires it.
 *
 *     g_autofree char *program = ra_gnuplot_find();
 *     if (program && ra_gnuplot_run(program, script, &bytes, &error)) ...
 *
 * Typical sizes: 100 kB in, 100 kB out, 0.1 s.
 */
#ifndef RA_STUDY_PLOT_GNUPLOT_H
#define RA_STUDY_PLOT_GNUPLOT_H

#include <glib.h>

/* A hundred times what a picture of 10^5 boxes takes. */
#define RA_GNUPLOT_LIMIT_S 300.0

/* (transfer full) (nullable): where gnuplot is; %NULL: not installed. */
char *ra_gnuplot_find(void);

/**
 * ra_gnuplot_run:
 * @program: from ra_gnuplot_find()
 * @script: sets a terminal and no output
 * @limit_s: it is ended after as long: %RA_GNUPLOT_LIMIT_S
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
