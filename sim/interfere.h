/* Interference in the replay: slowdown of tasks that overlap on their GPUs.
 *
 * A lane's computation and communication slow each other (estimator/overlap.h).
 * A task progresses at
 *
 *     rate = total_s / (total_s + beside_s)
 *
 * while a task of the other side runs on any of its lanes, and at 1 otherwise:
 * a task on several lanes is as slow as its slowest part.  The sides are the
 * class DEVICE, and COMM together with collectives between calls (reallocation,
 * transfer).  Copies to the host and host calls have no side.
 *
 * All changes of one instant take effect together at its end.  The result thus
 * does not depend on the order of events at one time, or on a task that follows
 * another without a gap: times are those of the unfolded graph to the last bit
 * (graph/expand/fold.h).  A task without overlap ends at begin + total_s
 * exactly.  Interference only adds time: no task begins or ends earlier than
 * without it.
 *
 *     RaInterfere *x = ra_interfere_new(graph, costs);   NULL: nothing to do
 *     ra_interfere_start(x, task, seq, now_s, &queue);   a ready task
 *     ra_interfere_settle(x, now_s, &queue);    before a later event is popped
 *     while (ra_queue_pop(&queue, &event))
 *       if (ra_interfere_is_end(x, &event)) ...
 *
 * Cost: O(lanes of the task) per task, plus the tasks that run on a lane when
 * overlap begins or ends there.
 */
#ifndef RA_SIM_INTERFERE_H
#define RA_SIM_INTERFERE_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"
#include "sim/network/queue.h"

typedef struct _RaInterfere RaInterfere;

/**
 * ra_interfere_new:
 * @graph: borrowed
 * @costs: (array length=n_tasks): borrowed; a task's cost is read when it
 * starts
 *
 * Returns: (transfer full) (nullable): %NULL if beside_s is 0 in all @costs
 */
RaInterfere *ra_interfere_new(const RaTaskGraph *graph, const RaCost *costs);
void ra_interfere_free(RaInterfere *interfere);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaInterfere, ra_interfere_free)

/* Starts @task at @now_s; @seq is the sequence number of its end.
 * ra_interfere_settle() pushes the end into @queue; this function does so at
 * once for a task without duration. */
void ra_interfere_start(RaInterfere *interfere, RaTaskId task, uint32_t seq,
                        double now_s, RaQueue *queue);

/* Begin and end of a task that slows others but is not slowed itself; the
 * caller decides when it ends. */
void ra_interfere_enter(RaInterfere *interfere, RaTaskId task);
void ra_interfere_leave(RaInterfere *interfere, RaTaskId task);

/* Settles the instant @now_s after all its events: pushes ends that are new or
 * have moved. */
void ra_interfere_settle(RaInterfere *interfere, double now_s, RaQueue *queue);

/* TRUE if @event is the end of its task, which then no longer runs; FALSE if
 * the end has moved since. */
gboolean ra_interfere_is_end(RaInterfere *interfere, const RaEvent *event);

/* (transfer full) (array length=n_tasks): seconds that interference has added
 * to each task, exactly 0 if none; g_free() it.  Call it after the run. */
double *ra_interfere_added_s(RaInterfere *interfere);

#endif
