/* A pulse: how one can tell from outside that a thread goes on.
 *
 * A thread that leads one beats whenever it begins a piece of work, and says
 * when it waits for others: who does neither for long has stalled.
 *
 *     ra_pulse_lead(&rank->pulse);
 *     ra_pulse_beat();
 *     ra_pulse_wait(TRUE); ... ra_pulse_wait(FALSE);      beats too
 */
#ifndef RA_EXEC_COMM_PULSE_H
#define RA_EXEC_COMM_PULSE_H

#include <glib.h>
#include <stdatomic.h>

typedef struct {
  atomic_uint n; /* beats, wraps */
  atomic_bool waits;
} RaPulse;

/* @pulse: (nullable): the calling thread's from now on. */
void ra_pulse_lead(RaPulse *pulse);

/* Of the calling thread, if it leads one. */
void ra_pulse_beat(void);
void ra_pulse_wait(gboolean waits);

#endif
