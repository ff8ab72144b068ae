/* The critical path by what runs on it and by cause.
 *
 *     GArray *rows = ra_path_rows(graph, sim);
 *     for (guint i = 0; i < rows->len; i++)
 *       use(&g_array_index(rows, RaPathRow, i));
 *
 * Private to study/report/outcome.c.  Typical sizes: 5 to 30 rows.
 */
#ifndef RA_STUDY_REPORT_PATH_CAUSE_H
#define RA_STUDY_REPORT_PATH_CAUSE_H

#include "sim/sim.h"

/* Tasks of one kind of one call or move, of all iterations. */
typedef struct {
  uint8_t node_kind;     /* RaNodeKind */
  uint8_t task_kind;     /* RaTaskKind */
  uint32_t call;         /* that runs or waits */
  uint32_t n_tasks;      /* on the path */
  double total_s;        /* all of them */
  double compute_s;      /* by cause, of calls; what is left of total_s is
                            waiting inside */
  double comm_s;         /* communication within calls */
  double host_s;         /* the device waits for the host, or host work */
  double interference_s; /* computation slowed by communication beside it */
} RaPathRow;

/**
 * ra_path_rows:
 * @graph: the tasks
 * @sim: has run
 *
 * Sums up ra_critical_tasks().
 * Every task of the path begins when the one before it ends, the first at 0,
 * so the sum of total_s is the makespan.
 *
 * Cost: O(tasks + edges + path x rows).
 *
 * Returns: (transfer full) (element-type RaPathRow): by total_s, descending,
 *   ties in order of the path from its end; rows without time are left out
 */
GArray *ra_path_rows(const RaTaskGraph *graph, const RaSim *sim);

#endif
