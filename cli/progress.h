/* A line on the terminal while something takes long.
 *
 *     g_autoptr(RaProgress) progress = ra_progress_begin("simulating");
 *     ... work ...
 *
 * Says nothing unless standard error is a terminal and the work takes longer
 * than a second; then shows the seconds, and wipes its line at the end.  Runs
 * in a thread of its own, so that the work needs not know of it.
 */
#ifndef RA_CLI_PROGRESS_H
#define RA_CLI_PROGRESS_H

#include <glib.h>

typedef struct _RaProgress RaProgress;

/* (nullable): @what is borrowed until the end. */
RaProgress *ra_progress_begin(const char *what);
void ra_progress_end(RaProgress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaProgress, ra_progress_end)

#endif
