/* Ctrl-C of a long command: once, it ends with what it has; again, at once. */
#ifndef RA_CLI_INTERRUPT_H
#define RA_CLI_INTERRUPT_H

#include <glib.h>

/**
 * ra_interrupt_watch: from now on the first SIGINT is noted, and the next one
 * ends the process as if nobody had watched
 *
 * Returns: (transfer none): 0, not 0 once it came; to read with
 *   g_atomic_int_get(), from any thread
 */
gint *ra_interrupt_watch(void);

/* As if SIGINT had come; returns whether it is watched. */
gboolean ra_interrupt_note(void);

#endif
