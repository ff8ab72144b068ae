/* What idle GPUs wait for.
 *
 * A GPU is idle while no task runs on it.  The gap ends with a task, which
 * waited for the one that ended last before it, which had itself waited ...:
 * that chain, followed back to where the gap begins, is what the GPU waited
 * for, moment by moment.  After the last task of a GPU there is nothing left.
 *
 * GPUs that the same calls run on are one group.
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
  uint32_t call;     /* that the GPUs waited for, or whose move; RA_NONE: the
                        run's end */
  uint8_t node_kind; /* RaNodeKind of it */
  uint8_t task_kind; /* RaTaskKind of it */
  double gpu_s;      /* idle */
} RaWaitingRow;

typedef struct {
  RaWaitingRow *rows; /* (n) owned: group by group, longest first */
  guint n;
  char **gpus;        /* (n_groups) owned: "0-7,16-23" */
  double *idle_gpu_s; /* (n_groups) owned: sum of the rows */
  uint32_t *n_gpus;   /* (n_groups) owned */
  guint n_groups;
  double makespan_s; /* that they were there for */
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
