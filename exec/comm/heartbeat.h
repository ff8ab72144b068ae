/* A pulse: how one can tell from outside that a thread goes on.
 *
 * A thread that leads one beats whenever it begins a piece of work, and says
 * when it waits for others: who does neither for long has stalled.
 *
 *     ra_heartbeat_lead(&rank->pulse);
 *     ra_heartbeat_beat();
 *     ra_heartbeat_wait(TRUE); ... ra_heartbeat_wait(FALSE);      beats too
 */
#ifndef RA_EXEC_COMM_HEARTBEAT_H
#define RA_EXEC_COMM_HEARTBEAT_H

#include <glib.h>
#include <stdatomic.h>

typedef struct {
  atomic_uint n; /* beats, wraps */
  atomic_bool waits;
} RaHeartbeat;

/* @pulse: (nullable): the calling thread's from now on. */
void ra_heartbeat_lead(RaHeartbeat *pulse);

/* Of the calling thread, if it leads one. */
void ra_heartbeat_beat(void);
void ra_heartbeat_wait(gboolean waits);

#endif
