/* Clock of a rank: where it is among its tasks, when each of them ran, and the
 * ops of which they consisted.  Private to exec/run*.c.
 *
 * The rank's own thread writes; the thread that detects faults reads task,
 * is_at_work and pulse.
 */
#ifndef RA_EXEC_RUN_CLOCK_H
#define RA_EXEC_RUN_CLOCK_H

#include <stdatomic.h>

#include "exec/comm/heartbeat.h"
#include "exec/model/stage.h"
#include "exec/run.h"

typedef struct _RaRank RaRank;

/* Times of a task on a rank. */
typedef struct {
  RaTaskId task;
  double begin_s, end_s;
} RaTaskTime;

typedef struct {
  uint32_t node;          /* last node whose predecessors it has waited for */
  atomic_uint task;       /* current task */
  double begin_s;         /* start of the current task; waiting for its inputs
                             may move it */
  atomic_bool is_at_work; /* the rank's thread runs */
  RaHeartbeat pulse;      /* heartbeat of its thread */
  GArray *times;          /* RaTaskTime, owned */
  GArray *ops;            /* see exec/run_ops.c, owned; NULL: not recorded */
  GArray *task_ops;       /* likewise */
  RaCpuTime paced;        /* CPU time of its ops that wait for no other rank */
} RaRankClock;

/* --- exec/run_ops.c --- */

/* Makes the stages of @rank record their ops from now on. */
void ra_rank_record(RaRank *rank);
/* Assigns what they have recorded to @task, which has ended. */
void ra_rank_take_ops(RaRank *rank, RaTaskId task);
/* Sets the single op of @task, as this rank has run it. */
void ra_rank_set_op(RaRank *rank, RaTaskId task, RaOpKind kind, uint64_t d0,
                    uint64_t d1);
/* (transfer full) (nullable): (n_tasks) the op of each task that was one op,
 * from its first rank; for moves, the op of the graph; kind RA_N_OPS: several
 * ops.  NULL: ops were not recorded. */
RaOp *ra_run_task_ops(const RaRun *run);
/* Appends a row per op and rank to @trace. */
void ra_run_trace_ops(const RaRun *run, RaTrace *trace);

/* Records an op of @task that ends now and that the rank's stage does not see,
 * if ops are recorded; needs the stage. */
void ra_rank_add_op(const RaRank *rank, RaTaskId task, RaOpKind kind,
                    double begin_s, uint64_t d0, uint64_t d1);

#endif
