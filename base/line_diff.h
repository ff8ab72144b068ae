/* The difference of two texts, line by line, in the unified form.
 *
 *     g_autofree char *diff = ra_line_diff("run.sh", "faster.sh", a, b);
 *     if (*diff)
 *       puts(diff);                                 patch -p0 takes it
 *
 * Typical sizes: scripts of 50 to 500 lines, of which 1 to 20 differ.
 */
#ifndef RA_BASE_LINE_DIFF_H
#define RA_BASE_LINE_DIFF_H

#include <glib.h>

/**
 * ra_line_diff:
 * @a_name, @b_name: what the heads say
 * @a, @b: the texts
 *
 * As few lines as possible are deleted and inserted, with three lines around
 * them.  Where what lies between the first and the last difference has more
 * than 4,000,000 pairs of lines, all of it is replaced.
 *
 * Cost: the pairs of lines between the first and the last difference.
 *
 * Returns: (transfer full): "" if they are equal
 */
char *ra_line_diff(const char *a_name, const char *b_name, const char *a,
                   const char *b);

#endif
