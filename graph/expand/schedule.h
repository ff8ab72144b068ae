/* Pipeline schedules: the order in which a stage runs its micro-batches.
 *
 *     RaSlot slots[2 * 8];
 *     guint n = ra_schedule_fill(RA_SCHEDULE_1F1B, 4, 1, 8, 0, slots);
 *
 * With p stages, v model chunks per stage, m micro-batches and stage s:
 *
 * gpipe        All forwards, then all backwards (arXiv 1811.06965).
 * 1f1b         min(p - s - 1, m) forwards; then one forward, one backward in
 *              turn; then the remaining backwards (PipeDream-flush, arXiv
 *              2104.04473, fig. 4 above).
 * interleaved  The same over v m virtual micro-batches, starting with
 *              2 (p - s - 1) + (v - 1) p forwards.  Virtual micro-batch k is
 *              chunk (k mod p v) / p of micro-batch p (k / p v) + k mod p
 *              (Megatron-LM, fig. 4 below).  m is a multiple of p.
 *
 * Bubble over ideal time with equal stages: (p - 1) / m, interleaved (p - 1) /
 * (v m).
 */
#ifndef RA_GRAPH_EXPAND_SCHEDULE_H
#define RA_GRAPH_EXPAND_SCHEDULE_H

#include <glib.h>
#include <stdint.h>

/* Slot of a stage's program. */
typedef struct {
  uint8_t backward;     /* 0: forward */
  uint16_t chunk;       /* model chunk, 0 .. v - 1 */
  uint16_t micro_batch; /* 0 .. m - 1 */
} RaSlot;

/**
 * ra_schedule_fill:
 * @kind: RaScheduleKind
 * @p: stages, >= 1
 * @v: chunks per stage, 1 unless interleaved
 * @m: micro-batches, >= 1
 * @s: the stage, < p
 * @out_slots: (out) (array length=2*v*m): in program order
 *
 * Returns: 2 v m
 */
guint ra_schedule_fill(int kind, uint32_t p, uint32_t v, uint32_t m, uint32_t s,
                       RaSlot *out_slots);

/* Writes @m forwards, the schedule of inference and prefill; returns @m. */
guint ra_schedule_fill_forward(uint32_t m, RaSlot *out_slots);

#endif
