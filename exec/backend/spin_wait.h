/* Looking for what another thread is about to do, before sleeping.
 *
 * To be woken takes 50 to 100 us where cores are virtual (MEASURED: between
 * two ranks of `reallot run`), longer than most of what ranks wait for; so who
 * has a core of its own looks for a while.
 *
 *     if (!ra_spin_until(has_arrived, box))
 *       sleep until it has
 */
#ifndef RA_EXEC_BACKEND_SPIN_WAIT_H
#define RA_EXEC_BACKEND_SPIN_WAIT_H

#include <glib.h>

typedef gboolean (*RaSpinFunc)(gconstpointer data);

/* How long is looked: more than a rank is late for a layer of a small model,
 * and little of what a rank waits for a whole call. */
#define RA_SPIN_MAX_S 1e-3

/**
 * ra_spin_until:
 * @is_there: asked again and again, without a lock
 * @data: for @is_there
 *
 * Returns: whether it is there; %FALSE after %RA_SPIN_MAX_S
 */
gboolean ra_spin_until(RaSpinFunc is_there, gconstpointer data);

#endif
