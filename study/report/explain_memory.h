/* Memory by holder over time: what `simulate --explain` says of it.
 *
 * GPUs that the same calls run on are one group, of which the fullest GPU is
 * shown.  Its memory goes up and down with every micro-batch, so what counts is
 * the most in each of 128 windows of the run; the turns that are told are where
 * the largest swings of that turn: the least swing that counts is the least for
 * which no more than %RA_EXPLAIN_TURNS are left.  The peak is always told.
 *
 *   memory_turns    a row a turn: when, what the GPU then has, and of what most
 *   memory_over_time  a row a turn and holder: what each has then
 *
 * Bytes are of one GPU, with framework and slack; holders of a turn sum to what
 * the GPU has then.
 */
#ifndef RA_STUDY_REPORT_EXPLAIN_MEMORY_H
#define RA_STUDY_REPORT_EXPLAIN_MEMORY_H

#include "base/table.h"
#include "study/replay.h"

#define RA_EXPLAIN_TURNS 12

/**
 * ra_explain_memory:
 * @setup: that was replayed; borrowed
 * @replay: has run; borrowed
 * @out_turns: (out) (transfer full)
 * @out_holders: (out) (transfer full)
 *
 * Cost: O(lanes of all tasks + groups x events x holders).
 */
void ra_explain_memory(const RaSetup *setup, const RaReplay *replay,
                       RaTable **out_turns, RaTable **out_holders);

/**
 * ra_turning_points:
 * @level: (array length=n)
 * @max: at least 2
 * @out: (out) (array length=max): ascending: 0, the turns, n - 1
 *
 * Turns of the largest swings of @level: each is the highest, or the lowest,
 * between its neighbours, and differs from both by a swing that counts, ends
 * apart.  Of equals the first.
 *
 * Returns: how many, 0 of none
 */
guint ra_turning_points(const double *level, guint n, guint max, guint *out);

#endif
