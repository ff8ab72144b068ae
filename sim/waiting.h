/* Causes of idle time: the tasks for which idle GPUs wait.
 *
 * A GPU is idle while no task runs on it.  The gap ends with a task, which
 * waited for the predecessor that ended last, which in turn waited for another.
 * This chain, back to the begin of the gap, gives the cause of each moment.
 * After its last task a GPU waits for nothing.
 *
 * GPUs with the same calls form a group.
 *
 *     g_autoptr(RaWaiting) waiting = ra_waiting_new(sim, graph);
 *     for (guint i = 0; i < waiting->n; i++) use(&waiting->rows[i]);
 *
 * The rows of a group add up to its idle GPU-seconds.
 */
#ifndef RA_SIM_WAITING_H
#define RA_SIM_WAITING_H

#include "sim/sim.h"

typedef struct {
  uint32_t group;    /* of GPUs, from 0 */
  uint32_t call;     /* call, or call of the move, for which the GPUs waited;
                        RA_NONE: end of the run */
  uint8_t node_kind; /* RaNodeKind of the cause */
  uint8_t task_kind; /* RaTaskKind of the cause */
  double gpu_s;      /* idle GPU-seconds */
} RaWaitingRow;

typedef struct {
  RaWaitingRow *rows; /* (n) owned: group by group, longest first */
  guint n;
  char **gpus;        /* (n_groups) owned: "0-7,16-23" */
  double *idle_gpu_s; /* (n_groups) owned: sum of the rows */
  uint32_t *n_gpus;   /* (n_groups) owned */
  guint n_groups;
  double makespan_s; /* length of the run */
} RaWaiting;

/**
 * ra_waiting_new:
 * @sim: has run; borrowed
 * @graph: its graph; borrowed
 *
 * Cost: O(tasks log tasks + lanes of all tasks + chains).
 *
 * Returns: (transfer full): ra_waiting_free() it
 */
RaWaiting *ra_waiting_new(const RaSim *sim, const RaTaskGraph *graph);
void ra_waiting_free(RaWaiting *waiting);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaWaiting, ra_waiting_free)

#endif
