/* Heartbeat of a rank's thread, by which a watchdog detects that it has
 * stalled.
 *
 * A thread that leads a pulse beats whenever it begins a piece of work, and
 * marks when it waits for others.  A thread that does neither for a long time
 * has stalled.
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
  atomic_uint n; /* number of beats, wraps */
  atomic_bool waits;
} RaHeartbeat;

/* Makes @pulse (nullable) the pulse of the calling thread. */
void ra_heartbeat_lead(RaHeartbeat *pulse);

/* Beat or mark the calling thread's pulse, if it has one. */
void ra_heartbeat_beat(void);
void ra_heartbeat_wait(gboolean waits);

#endif
