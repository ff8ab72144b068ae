/* Progress line on the terminal during long work.
 *
 *     g_autoptr(RaProgress) progress = ra_progress_begin("simulating");
 *     ... work ...
 *
 * It appears only if standard error is a terminal and the work takes longer
 * than a second.  It then shows the seconds, and is erased at the end.  It runs
 * in a thread of its own, so the work needs no calls for it.  Work in parts has
 * them counted.
 */
#ifndef RA_CLI_PROGRESS_H
#define RA_CLI_PROGRESS_H

#include <glib.h>

typedef struct _RaProgress RaProgress;

/* Starts a progress line (nullable); @what is borrowed until the end. */
RaProgress *ra_progress_begin(const char *what);
/* Shows how many parts of the work have ended, of how many there are: two
 * integers that are set atomically, borrowed until the end. */
void ra_progress_count(RaProgress *progress, const gint *n_done, const gint *n);
void ra_progress_end(RaProgress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaProgress, ra_progress_end)

#endif
