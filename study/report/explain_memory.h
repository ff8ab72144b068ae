/* Explanation of memory: memory by holder over time, for `simulate --explain`.
 *
 * GPUs that the same calls run on form a group, which is represented by its
 * GPU with the highest peak.  Its memory rises and falls with every
 * micro-batch, so each of 128 windows of the run counts with its maximum.  The
 * reported turning points are those with the largest swings: the threshold is
 * the smallest swing that leaves at most %RA_EXPLAIN_TURNS of them.  The peak
 * is always reported.
 *
 *   memory_extremes   a row per turning point: its time, the memory of the GPU,
 *                     and the largest holder
 *   memory_over_time  a row per turning point and holder: the holder's memory
 *
 * Bytes are those of one GPU, with framework and slack; the holders of a
 * turning point add up to the GPU's memory.
 */
#ifndef RA_STUDY_REPORT_EXPLAIN_MEMORY_H
#define RA_STUDY_REPORT_EXPLAIN_MEMORY_H

#include "base/table.h"
#include "study/replay.h"

#define RA_EXPLAIN_TURNS 12

/**
 * ra_explain_memory:
 * @setup: setup of the replay; borrowed
 * @replay: has run; borrowed
 * @out_turns: (out) (transfer full): table memory_extremes
 * @out_holders: (out) (transfer full): table memory_over_time
 *
 * Cost: O(lanes of all tasks + groups x events x holders).
 */
void ra_explain_memory(const RaSetup *setup, const RaReplay *replay,
                       RaTable **out_turns, RaTable **out_holders);

/**
 * ra_turning_points:
 * @level: (array length=n): values
 * @max: at least 2
 * @out: (out) (array length=max): ascending: 0, the turning points, n - 1
 *
 * Finds the turning points with the largest swings of @level.  Except for the
 * ends, each is the maximum or minimum between its neighbours and differs from
 * both by a swing above the threshold.  Of equal values the first counts.
 *
 * Returns: their number; 0 if @n is 0
 */
guint ra_turning_points(const double *level, guint n, guint max, guint *out);

#endif
