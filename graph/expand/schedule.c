/* Pipeline schedules: GPipe, 1F1B, interleaved 1F1B. */
#include "config.h"

#include "graph/expand/schedule.h"
#include "graph/input/plan.h"

/* The @k-th forward of a stage. */
static RaSlot
forward_slot(uint32_t p, uint32_t v, uint32_t k)
{
  uint32_t round = k / (p * v), within = k % (p * v);
  return (RaSlot){0, (uint16_t)(within / p),
                  (uint16_t)(round * p + within % p)};
}

/* The @k-th backward: chunks in reverse. */
static RaSlot
backward_slot(uint32_t p, uint32_t v, uint32_t k)
{
  RaSlot slot = forward_slot(p, v, k);
  slot.backward = 1;
  slot.chunk = (uint16_t)(v - 1 - slot.chunk);
  return slot;
}

guint
ra_schedule_fill(int kind, uint32_t p, uint32_t v, uint32_t m, uint32_t s,
                 RaSlot *out_slots)
{
  uint32_t total = v * m, warmup, n = 0;

  g_return_val_if_fail(s < p && v >= 1 && m >= 1, 0);
  if (kind == RA_SCHEDULE_GPIPE)
    warmup = total;
  else if (v > 1)
    warmup = 2 * (p - s - 1) + (v - 1) * p;
  else
    warmup = p - s - 1;
  warmup = MIN(warmup, total);

  for (uint32_t k = 0; k < warmup; k++)
    out_slots[n++] = forward_slot(p, v, k);
  for (uint32_t k = 0; k < total - warmup; k++) {
    out_slots[n++] = forward_slot(p, v, warmup + k);
    out_slots[n++] = backward_slot(p, v, k);
  }
  for (uint32_t k = total - warmup; k < total; k++)
    out_slots[n++] = backward_slot(p, v, k);
  return n;
}

guint
ra_schedule_fill_forward(uint32_t m, RaSlot *out_slots)
{
  for (uint32_t k = 0; k < m; k++)
    out_slots[k] = forward_slot(1, 1, k);
  return m;
}
