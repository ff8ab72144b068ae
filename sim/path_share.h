/* Shares of the critical path by cause.
 *
 *     g_autoptr(GArray) shares = ra_critical_path_shares(sim, graph,
 *     estimator);
 *     for (guint i = 0; i < shares->len; i++)
 *       use(&g_array_index(shares, RaPathShare, i));
 *
 * A task's time is split by the causes of its cost (RaCost), its computation
 * and communication further by the ops of its list, in proportion to their
 * times.  The rest of a device task's time is waiting inside: for the slowest
 * rank if ranks differ, else within a decoding pipeline.
 *
 * The shares add up to the makespan.  Typical sizes: 10 to 40.
 */
#ifndef RA_SIM_PATH_SHARE_H
#define RA_SIM_PATH_SHARE_H

#include "sim/sim.h"

typedef enum {
  RA_CAUSE_COMPUTE,      /* by op */
  RA_CAUSE_COMM,         /* exposed communication, by op and link */
  RA_CAUSE_HOST,         /* the device waits for launches; host work */
  RA_CAUSE_BUBBLE,       /* inside a decode pipeline */
  RA_CAUSE_STRAGGLER,    /* inside a task: waiting for the slowest rank */
  RA_CAUSE_INTERFERENCE, /* computation slowed by overlapping communication */
  RA_CAUSE_CONTENTION,   /* communication that shares links, by op and link */
  RA_CAUSE_DATA,         /* reallocation and transfers between calls */
  RA_CAUSE_MEMORY,       /* offloads and reloads */
  RA_N_CAUSES
} RaCause;

/* Links that an op uses. */
typedef enum { RA_REACH_NONE, RA_REACH_NODE, RA_REACH_NETWORK } RaReach;

typedef struct {
  uint8_t cause; /* RaCause */
  uint8_t op;    /* RaOpKind; RA_N_OPS: no single op, see `task` */
  uint8_t task;  /* RaTaskKind, if op is RA_N_OPS */
  uint8_t reach; /* RaReach, for communication */
  double time_s; /* on the path */
} RaPathShare;

/**
 * ra_critical_path_shares:
 * @sim: has run; borrowed
 * @graph: its graph; borrowed
 * @estimator: estimator of the run; borrowed
 *
 * Sums over ra_critical_tasks().   Cost: that of ra_critical_tasks(), plus the
 * ops of its works.
 *
 * Returns: (transfer full) (element-type RaPathShare): by time, longest first
 */
GArray *ra_critical_path_shares(const RaSim *sim, const RaTaskGraph *graph,
                                const RaEstimator *estimator);

const char *ra_cause_name(RaCause cause);
/* Its op, or kind of task. */
const char *ra_cause_what(const RaPathShare *share);
const char *ra_reach_name(RaReach reach); /* "node", "network", "-" */

#endif
