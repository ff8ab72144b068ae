/* The critical path by call, kind of task and cause.
 *
 *     GArray *rows = ra_critical_path_rows(graph, sim);
 *     for (guint i = 0; i < rows->len; i++)
 *       use(&g_array_index(rows, RaPathRow, i));
 *
 * Private to study/report/outcome.c.  Typical sizes: 5 to 30 rows.
 */
#ifndef RA_STUDY_REPORT_PATH_CAUSE_H
#define RA_STUDY_REPORT_PATH_CAUSE_H

#include "sim/sim.h"

/* All tasks on the path of one kind and one call or move, over all iterations.
 */
typedef struct {
  uint8_t node_kind;     /* RaNodeKind */
  uint8_t task_kind;     /* RaTaskKind */
  uint32_t call;         /* that runs or waits */
  uint32_t n_tasks;      /* on the path */
  double total_s;        /* of all of them */
  double compute_s;      /* by cause, for calls; the rest of total_s is waiting
                            inside the call */
  double comm_s;         /* communication within calls */
  double host_s;         /* waiting of the device for the host, or host work */
  double interference_s; /* slowdown of computation by communication that
                            overlaps with it */
} RaPathRow;

/**
 * ra_critical_path_rows:
 * @graph: the tasks
 * @sim: has run
 *
 * Sums up ra_critical_tasks(). Every task of the path begins when the one
 * before it ends, the first at 0, so the sum of total_s is the makespan.
 *
 * Cost: O(tasks + edges + path x rows).
 *
 * Returns: (transfer full) (element-type RaPathRow): by total_s, descending,
 * ties in order of the path from its end; rows without time are left out
 */
GArray *ra_critical_path_rows(const RaTaskGraph *graph, const RaSim *sim);

#endif
