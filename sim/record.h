/* Record of a simulated run as a trace, for `simulate --trace`.
 *
 * There is one row per task with a duration, with the executor's name, so that
 * the two traces can be compared.  Joins, which have no duration and no lane,
 * are left out.  FLOP and bytes are those of the task's ops on one GPU; they
 * are 0 for generations, which the simulator replays without op lists.
 *
 *     g_autoptr(RaTrace) trace = ra_record(sim, graph);
 *     ra_trace_set_head(trace, "command", ...);
 *     ra_trace_save(trace, path, &error);
 *
 * Typical sizes: 10^3 to 10^6 rows.
 */
#ifndef RA_SIM_RECORD_H
#define RA_SIM_RECORD_H

#include "sim/sim.h"
#include "traces/trace.h"

/**
 * ra_record:
 * @sim: after a successful ra_sim_run()
 * @graph: its graph
 *
 * Sets source, seed, workload, cluster, plan (file names without folder) and
 * gpus-per-node in the head; the caller adds the rest.  Rows are sorted.
 *
 * Cost: O(tasks log tasks + works x ops).
 *
 * Returns: (transfer full): ra_trace_free() it
 */
RaTrace *ra_record(const RaSim *sim, const RaTaskGraph *graph);

/**
 * ra_record_path:
 * @sim: after a successful ra_sim_run()
 * @graph: its graph
 *
 * The rows of ra_record() that are on the critical path (ra_critical_tasks()),
 * in order of time, without a head.
 *
 * Returns: (transfer full): ra_trace_free() it
 */
RaTrace *ra_record_path(const RaSim *sim, const RaTaskGraph *graph);

typedef struct _RaRecorder RaRecorder;

/**
 * ra_recorder_new:
 * @sim: before ra_sim_run(); borrowed
 * @graph: its graph; borrowed
 *
 * Records every step of every task as a row (sim/sim.h, ra_sim_set_visit()).
 *
 * Returns: (transfer full): ra_recorder_finish() it
 */
RaRecorder *ra_recorder_new(RaSim *sim, const RaTaskGraph *graph);
void ra_recorder_free(RaRecorder *recorder);

/**
 * ra_recorder_finish:
 * @recorder: (transfer full): its simulation has run
 * @decode: (nullable): estimator of the run; if given, ops of decode steps are
 *   rows too (sim/record_decode.h)
 *
 * Like ra_record(), but rows of steps replace the row of their task.  A row has
 * the names of task and step, op and shape.
 *
 * Returns: (transfer full): ra_trace_free() it
 */
RaTrace *ra_recorder_finish(RaRecorder *recorder, const RaEstimator *decode);

#endif
