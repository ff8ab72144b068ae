/* When what is copied to and from pinned host memory holds a GPU's memory, in
 * the order of a lane's tasks.
 *
 * A reload goes on beside the call before, from when all that its node waits
 * for has ended (graph/augment/augment_host.c: the call before that one is off
 * its GPUs); an offload beside the call behind it.  A lane runs its tasks in
 * the order of their numbers, so each task is two *moments*, 2 t as it begins
 * and 2 t + 1 while it goes on, and
 *
 *     a reload    has its bytes from moment 2 c + 1, c the first task that
 *                 computes behind what it waits for, if c comes before it
 *     an offload  has them to before 2 c + 1, c the first that computes behind
 *                 it
 *
 * so that the call of c has room beside either, and both of them never: the
 * reload waits for the offload.  All else is there from 2 t of its first task
 * to 2 t + 1 of its last.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_AHEAD_H
#define RA_GRAPH_MEMORY_MEMORY_AHEAD_H

#include "graph/memory/memory_table.h"

typedef struct {
  const RaMemoryTable *table; /* borrowed */
  RaTaskId *waits;   /* (n_tasks) of a reload one past the last that it waits
                        for, 0: nothing; owned; NULL: no plan copies */
  RaTaskId *compute; /* (n_tasks + 1) the first of the lane from there on that
                        computes, n_tasks: none; owned */
} RaMemoryAhead;

/* O(tasks + edges). */
void ra_memory_ahead_init(RaMemoryAhead *ahead, const RaMemoryTable *table,
                          uint32_t lane);
void ra_memory_ahead_clear(RaMemoryAhead *ahead);

/* The task of the lane that @change, of its table, stands at: as it says but
 * for what a reload takes, which is taken as an earlier one begins. */
RaTaskId ra_memory_ahead_task(const RaMemoryAhead *ahead,
                              const RaMemoryChange *change);

/* The moment from which @change counts, a multiple of 2 unless it is of a
 * copy. */
uint32_t ra_memory_ahead_moment(const RaMemoryAhead *ahead,
                                const RaMemoryChange *change);

/* Whether @change is of a copy that goes on beside a call. */
static inline gboolean
ra_memory_ahead_moves(const RaMemoryAhead *ahead, const RaMemoryChange *change)
{
  return ra_memory_ahead_moment(ahead, change) % 2 == 1;
}

#endif
