/* Ctrl-C during a long command: the first stops it with its results so far, the
 * second ends it at once.
 */
#ifndef RA_CLI_INTERRUPT_H
#define RA_CLI_INTERRUPT_H

#include <glib.h>

/**
 * ra_interrupt_watch: from now on the first SIGINT is recorded, and the next
 * one ends the process as by default
 *
 * Returns: (transfer none): 0, non-zero after the first SIGINT; read it with
 * g_atomic_int_get(), from any thread
 */
gint *ra_interrupt_watch(void);

/* Acts as a SIGINT; returns TRUE if SIGINT is watched. */
gboolean ra_interrupt_note(void);

#endif
