/* Spin briefly on a condition before blocking on it.
 *
 * Waking a thread costs 50 to 100 us where cores are virtual (MEASURED: between
 * two ranks of `reallot run`), longer than most waits of a rank.  A thread with
 * a core of its own therefore spins first.
 *
 *     if (!ra_spin_until(has_arrived, box))
 *       block until it has
 */
#ifndef RA_EXEC_BACKEND_SPIN_WAIT_H
#define RA_EXEC_BACKEND_SPIN_WAIT_H

#include <glib.h>

typedef gboolean (*RaSpinFunc)(gconstpointer data);

/* Maximal time to spin: longer than a rank is late for a layer of a small
 * model, and short compared to the wait for a whole call. */
#define RA_SPIN_MAX_S 1e-3

/**
 * ra_spin_until:
 * @is_there: the condition, called repeatedly without a lock
 * @data: for @is_there
 *
 * Returns: whether the condition holds; %FALSE after %RA_SPIN_MAX_S
 */
gboolean ra_spin_until(RaSpinFunc is_there, gconstpointer data);

#endif
