/* The ops of a task, one by one: op fidelity.
 *
 * A task with a program (graph/expand/op_program.h) runs its steps in order on
 * its device group's compute stream.  The host of the group launches them in
 * order, each taking the profile's launch time a kernel, and runs ahead:
 *
 *     issue(i) = max(issue(i - 1), host begins) + launches(i) x eager launch
 *     begin(i) = max(end(i - 1), issue of its first launch)
 *     end(i)   = max(begin(i) + op(i), issue(i) + op(i) / launches(i))
 *
 * The host begins with a task once it has launched the one before in the same
 * queue and call, and all that the task waits for beside that one has ended: a
 * message of another stage, say (Megatron-LM synchronises after a receive,
 * p2p_communication.py, batch_p2p_sync).  With captured graphs a task pays one
 * launch before its first step and a gap a kernel, as in estimator.h.  A step
 * that is RA_OP_BEHIND begins with the one before it; the next waits for both.
 * What runs beside a task on other streams stretches it as a whole
 * (sim/interfere.h): its steps have the times without that.
 *
 * Where the host is never waited for a task takes what its work costs at stage
 * fidelity, up to the rounding of sums.
 *
 * Ranks may be unlike (RaCluster's jitter and stragglers): every GPU of the
 * group then computes at its own pace, and a collective waits for the last.  A
 * GPU's op takes slow(gpu) (1 + jitter z) times as long, z the sum of four
 * uniform numbers, scaled to mean 0 and variance 1, from (seed, task, step,
 * gpu) alone, and all of an iteration (1 + step-jitter z) times, z from (seed,
 * iteration); slow(gpu) is `straggler-slowdown` for a `stragglers` part of the
 * GPUs, drawn by seed, else 1.
 *
 * What a task's ops do touches no other task until it ends, so they are
 * replayed in one go when it begins, 5 to 10 ns each.
 */
#ifndef RA_SIM_OP_REPLAY_H
#define RA_SIM_OP_REPLAY_H

#include "base/hash.h"
#include "estimator/estimator.h"
#include "graph/expand/op_program.h"

typedef struct _RaOpReplay RaOpReplay;

/* A step that has run: @cursor at it, from @begin_s (of the first rank) to
 * @end_s (of the last). */
typedef void (*RaOpVisit)(RaTaskId task, const RaOpCursor *cursor,
                          double begin_s, double end_s, void *data);

/**
 * ra_op_replay_new:
 * @graph: borrowed, at op fidelity
 * @estimator: borrowed
 *
 * Costs the ops of all works.
 *
 * Returns: (transfer full): ra_op_replay_free() it
 */
RaOpReplay *ra_op_replay_new(const RaTaskGraph *graph,
                             const RaEstimator *estimator);
void ra_op_replay_free(RaOpReplay *replay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaOpReplay, ra_op_replay_free)

/* In [0, 1): under @seed @gpu is slow where `stragglers` is more. */
static inline double
ra_op_replay_share(uint64_t seed, uint32_t gpu)
{
  uint64_t hash = ra_hash_u64(ra_hash_u64(RA_HASH_INIT, seed), gpu);

  return (double)(hash >> 11) * 0x1p-53;
}

/* Calls @visit for every step from now on; NULL: nobody. */
void ra_op_replay_set_visit(RaOpReplay *replay, RaOpVisit visit, void *data);

/* Whether @task has a program of several ops: of a single one its duration is
 * all there is to know. */
gboolean ra_op_replay_has(const RaOpReplay *replay, RaTaskId task);

/* Whether @to, which waits for @from, is launched behind it by the same host
 * without waiting for its end. */
gboolean ra_op_replay_runs_ahead(const RaTaskGraph *graph, RaTaskId from,
                                 RaTaskId to);

/**
 * ra_op_replay_run:
 * @task: has a program
 * @begin_s: all that it waits for has ended
 * @host_s: all of that which the host waits for has ended
 * @out_cost: (inout): by cause; total_s: until its end; beside_s stays
 * @hash: (inout): every step's kind and times are added
 *
 * Tasks of one queue are to be run in its order.  O(steps).
 *
 * Returns: its steps
 */
uint64_t ra_op_replay_run(RaOpReplay *replay, RaTaskId task, double begin_s,
                          double host_s, RaCost *out_cost, uint64_t *hash);

/* What the ranks of @task make of a duration that is one op: the slowest's. */
double ra_op_replay_slowest(const RaOpReplay *replay, RaTaskId task);

#endif
