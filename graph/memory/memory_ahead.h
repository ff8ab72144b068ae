/* Lifetimes of GPU memory that is copied to and from pinned host memory, in the
 * order of a lane's tasks.
 *
 * A reload overlaps the preceding call.  It begins when all predecessors of its
 * node have ended (graph/augment/augment_host.c: the call before that one has
 * left its GPUs).  An offload overlaps the next call.  A lane runs its tasks in
 * the order of their numbers.  Each task t is two *moments*, 2 t when it begins
 * and 2 t + 1 while it runs:
 *
 *     reload    has its bytes from moment 2 c + 1 on, where c is the first
 *               computing task after its predecessors, if c precedes the reload
 *     offload   has its bytes until before 2 c + 1, where c is the first
 *               computing task after it
 *
 * The call of c thus needs memory for one of the two, never for both: the
 * reload waits for the offload.  All other memory exists from 2 t of its first
 * task to 2 t + 1 of its last.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_AHEAD_H
#define RA_GRAPH_MEMORY_MEMORY_AHEAD_H

#include "graph/memory/memory_table.h"

typedef struct {
  const RaMemoryTable *table; /* borrowed */
  RaTaskId *waits;   /* (n_tasks) for a reload, one past its last predecessor;
                        0: none; owned; NULL: the plan has no such copies */
  RaTaskId *compute; /* (n_tasks + 1) first computing task of the lane from
                        there on; n_tasks: none; owned */
} RaMemoryAhead;

/* O(tasks + edges). */
void ra_memory_ahead_init(RaMemoryAhead *ahead, const RaMemoryTable *table,
                          uint32_t lane);
void ra_memory_ahead_clear(RaMemoryAhead *ahead);

/* Task of the lane at which @change, from its table, happens: @change's task,
 * except that a reload allocates at an earlier task. */
RaTaskId ra_memory_ahead_task(const RaMemoryAhead *ahead,
                              const RaMemoryChange *change);

/* Moment from which @change counts; odd only for a copy that overlaps a
 * call. */
uint32_t ra_memory_ahead_moment(const RaMemoryAhead *ahead,
                                const RaMemoryChange *change);

/* TRUE if @change belongs to a copy that overlaps a call. */
static inline gboolean
ra_memory_ahead_moves(const RaMemoryAhead *ahead, const RaMemoryChange *change)
{
  return ra_memory_ahead_moment(ahead, change) % 2 == 1;
}

#endif
