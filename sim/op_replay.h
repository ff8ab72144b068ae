/* Replay of the ops of a task, one by one: op fidelity.
 *
 * A task with a program (graph/expand/op_program.h) runs its steps in order on
 * its device group's compute stream.  The host of the group launches them in
 * order, with the profile's launch time per kernel, and runs ahead:
 *
 *     issue(i) = max(issue(i - 1), host begins) + launches(i) x eager launch
 *     begin(i) = max(end(i - 1), issue of its first launch)
 *     end(i)   = max(begin(i) + op(i), issue(i) + op(i) / launches(i))
 *
 * The host begins with a task once it has launched the preceding task of the
 * same queue and call, and all other predecessors of the task have ended.  An
 * example is a message of another stage (Megatron-LM synchronises after a
 * receive, p2p_communication.py, batch_p2p_sync).  With captured graphs a task
 * has one launch before its first step and a gap per kernel, as in estimator.h.
 * A step with RA_OP_BEHIND begins together with the preceding one; the next
 * step waits for both.  Tasks on other streams stretch an overlapping task as a
 * whole (sim/interfere.h); the times of its steps do not include that.
 *
 * If the device never waits for the host, a task takes its work's cost at stage
 * fidelity, up to the rounding of sums.
 *
 * Ranks may differ (RaCluster's jitter and stragglers).  Every GPU of the group
 * then computes at its own speed, and a collective waits for the last.  An op
 * on a GPU takes longer by these factors:
 * - slow(gpu): `straggler-slowdown` for a fraction `stragglers` of the GPUs,
 *   sampled by seed, else 1;
 * - 1 + jitter z: z is the sum of four uniform numbers, scaled to mean 0 and
 *   variance 1, from (seed, task, step, gpu) alone;
 * - 1 + step-jitter z: z from (seed, iteration), common to an iteration.
 *
 * A task's ops affect no other task until it ends, so they are all replayed
 * when it begins, 5 to 10 ns each.
 */
#ifndef RA_SIM_OP_REPLAY_H
#define RA_SIM_OP_REPLAY_H

#include "base/hash.h"
#include "estimator/estimator.h"
#include "graph/expand/op_program.h"

typedef struct _RaOpReplay RaOpReplay;

/* Callback for a step that has run: @cursor is at the step, which lasts from
 * @begin_s (of the first rank) to @end_s (of the last). */
typedef void (*RaOpVisit)(RaTaskId task, const RaOpCursor *cursor,
                          double begin_s, double end_s, void *data);

/**
 * ra_op_replay_new:
 * @graph: borrowed, at op fidelity
 * @estimator: borrowed
 *
 * Computes the costs of the ops of all works.
 *
 * Returns: (transfer full): ra_op_replay_free() it
 */
RaOpReplay *ra_op_replay_new(const RaTaskGraph *graph,
                             const RaEstimator *estimator);
void ra_op_replay_free(RaOpReplay *replay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaOpReplay, ra_op_replay_free)

/* Sample of @gpu, in [0, 1): the GPU is slow if `stragglers` is larger. */
static inline double
ra_op_replay_share(uint64_t seed, uint32_t gpu)
{
  uint64_t hash = ra_hash_u64(ra_hash_u64(RA_HASH_INIT, seed), gpu);

  return (double)(hash >> 11) * 0x1p-53;
}

/* Calls @visit for every step from now on; NULL: no callback. */
void ra_op_replay_set_visit(RaOpReplay *replay, RaOpVisit visit, void *data);

/* TRUE if @task has a program of several ops; a single op is described by its
 * duration. */
gboolean ra_op_replay_has(const RaOpReplay *replay, RaTaskId task);

/* TRUE if the same host launches @to, which waits for @from, after @from
 * without waiting for its end. */
gboolean ra_op_replay_runs_ahead(const RaTaskGraph *graph, RaTaskId from,
                                 RaTaskId to);

/**
 * ra_op_replay_run:
 * @task: a task with a program
 * @begin_s: time at which all its predecessors have ended
 * @host_s: time at which all predecessors for which the host waits have ended
 * @out_cost: (inout): cost by cause; total_s lasts until its end; beside_s is
 *   not changed
 * @hash: (inout): every step's kind and times are added
 *
 * Tasks of one queue must be run in the queue's order.   Cost: O(steps).
 *
 * Returns: number of its steps
 */
uint64_t ra_op_replay_run(RaOpReplay *replay, RaTaskId task, double begin_s,
                          double host_s, RaCost *out_cost, uint64_t *hash);

/* Factor on the duration of @task, which is one op: that of its slowest
 * rank. */
double ra_op_replay_slowest(const RaOpReplay *replay, RaTaskId task);

#endif
