/* The heartbeat of the calling thread. */
#include "config.h"

#include "exec/comm/heartbeat.h"

static _Thread_local RaHeartbeat *current;

void
ra_heartbeat_lead(RaHeartbeat *pulse)
{
  current = pulse;
}

void
ra_heartbeat_beat(void)
{
  if (current)
    atomic_fetch_add_explicit(&current->n, 1, memory_order_relaxed);
}

void
ra_heartbeat_wait(gboolean waits)
{
  if (!current)
    return;
  ra_heartbeat_beat();
  atomic_store_explicit(&current->waits, waits, memory_order_relaxed);
}
