#include "config.h"

#include "exec/comm/pulse.h"

static _Thread_local RaPulse *current;

void
ra_pulse_lead(RaPulse *pulse)
{
  current = pulse;
}

void
ra_pulse_beat(void)
{
  if (current)
    atomic_fetch_add_explicit(&current->n, 1, memory_order_relaxed);
}

void
ra_pulse_wait(gboolean waits)
{
  if (!current)
    return;
  ra_pulse_beat();
  atomic_store_explicit(&current->waits, waits, memory_order_relaxed);
}
