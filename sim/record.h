/* A simulated run as a trace: what `simulate --trace` writes.
 *
 * One row a task that takes time, named as the executor names it, so that the
 * two traces line up; joins, which take none and run nowhere, are left out.
 * FLOP and bytes are those of the task's ops on one GPU; a generation's, which
 * the simulator replays and does not list, are 0.
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
 * @graph: what it ran
 *
 * The head gets source, seed, workload, cluster, plan (file names without
 * folder) and gpus-per-node; the caller adds the rest.  Rows are sorted.
 *
 * Cost: O(tasks log tasks + works x ops).
 *
 * Returns: (transfer full): ra_trace_free() it
 */
RaTrace *ra_record(const RaSim *sim, const RaTaskGraph *graph);

typedef struct _RaRecorder RaRecorder;

/**
 * ra_recorder_new:
 * @sim: before ra_sim_run(); borrowed
 * @graph: what it will run; borrowed
 *
 * From then on every step of every task is a row (sim/sim.h,
 * ra_sim_set_visit()).
 *
 * Returns: (transfer full): ra_recorder_finish() it
 */
RaRecorder *ra_recorder_new(RaSim *sim, const RaTaskGraph *graph);
void ra_recorder_free(RaRecorder *recorder);

/**
 * ra_recorder_finish:
 * @recorder: (transfer full): its simulation has run
 * @decode: (nullable): the estimator that it ran with: ops of decode steps are
 *   rows too (sim/record_decode.h)
 *
 * ra_record(), but a task with steps is their rows: named after it and them,
 * with op and shape.
 *
 * Returns: (transfer full): ra_trace_free() it
 */
RaTrace *ra_recorder_finish(RaRecorder *recorder, const RaEstimator *decode);

#endif
