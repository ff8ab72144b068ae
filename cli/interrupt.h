/* Ctrl-C during a long command: the first stops it with its results so far, the
 * second ends it at once.
 */
#ifndef RA_CLI_INTERRUPT_H
#define RA_CLI_INTERRUPT_H

#include <glib.h>

#define RA_INTERRUPT_S 0.5

/**
 * ra_interrupt_watch: from now on the first SIGINT is recorded, and the next
 * one ends the process as by default
 *
 * Returns: (transfer none): 0, non-zero after the first SIGINT; read it with
 * g_atomic_int_get(), from any thread
 */
gint *ra_interrupt_watch(void);

/**
 * ra_interrupt_bound: after the first SIGINT, from now on, the process has
 * %RA_INTERRUPT_S to end by itself; then @last_words are written to standard
 * error and it exits with status 1
 * @last_words: (transfer full) of @data, called from another thread
 *
 * For work that is kept as it is done, and looks at the watch seldom.
 */
void ra_interrupt_bound(char *(*last_words)(gconstpointer data),
                        gconstpointer data);

/**
 * ra_interrupt_late:
 *
 * Returns: (transfer none): 0, non-zero %RA_INTERRUPT_S after the first SIGINT,
 *   for work that first looks for something to end with
 */
const gint *ra_interrupt_late(void);

/* Acts as a SIGINT; returns TRUE if SIGINT is watched. */
gboolean ra_interrupt_note(void);

#endif
