/* Interference in the replay: tasks that run beside others on their GPUs.
 *
 * A lane's computation and communication slow each other (estimator/overlap.h).
 * A task progresses at
 *
 *     rate = total_s / (total_s + beside_s)
 *
 * while on any of its lanes a task of the other side runs, and at 1 otherwise:
 * a task on several lanes is as slow as its slowest part.  Sides are the
 * classes DEVICE and, together, COMM and collectives between calls
 * (reallocation, transfer); copies to the host and host calls have none.
 *
 * What happens at one instant is settled at once when it is over, so neither
 * the order of events at one time nor a task that follows another without a gap
 * shows: times are those of the unfolded graph to the last bit
 * (graph/expand/fold.h). A task's time without company is begin + total_s
 * exactly.  Interference only adds: no task, and so no end, is earlier than
 * without it.
 *
 *     RaInterfere *x = ra_interfere_new(graph, costs);   NULL: nothing to do
 *     ra_interfere_start(x, task, seq, now_s, &queue);   what is ready
 *     ra_interfere_settle(x, now_s, &queue);    before a later event is popped
 *     while (ra_queue_pop(&queue, &event))
 *       if (ra_interfere_is_end(x, &event)) ...
 *
 * Cost: O(its lanes) a task, and what runs on a lane where its company changes.
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
 * @costs: (array length=n_tasks): borrowed; a task's is looked at when it
 *   starts
 *
 * Returns: (transfer full) (nullable): %NULL where no task of @costs has a
 *   beside_s
 */
RaInterfere *ra_interfere_new(const RaTaskGraph *graph, const RaCost *costs);
void ra_interfere_free(RaInterfere *interfere);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaInterfere, ra_interfere_free)

/* @task begins at @now_s; @seq goes with its end.  Its end comes into @queue
 * when the instant is settled, at once if it takes no time. */
void ra_interfere_start(RaInterfere *interfere, RaTaskId task, uint32_t seq,
                        double now_s, RaQueue *queue);

/* @task begins, and leaves, company to others that ends when something else
 * says so; it is not slowed itself. */
void ra_interfere_enter(RaInterfere *interfere, RaTaskId task);
void ra_interfere_leave(RaInterfere *interfere, RaTaskId task);

/* All events of @now_s are through: pushes ends that are new or have moved. */
void ra_interfere_settle(RaInterfere *interfere, double now_s, RaQueue *queue);

/* Whether @event is the end of its task, which then runs no longer, or one that
 * has moved since. */
gboolean ra_interfere_is_end(RaInterfere *interfere, const RaEvent *event);

/* (transfer full) (array length=n_tasks): seconds that interference has added
 * to each, 0 exactly where it has not; g_free() it.  After the run. */
double *ra_interfere_added_s(RaInterfere *interfere);

#endif
