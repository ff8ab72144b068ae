/* The estimator: owns every cost.
 *
 * Made from a profile (fitted coefficients of one GPU class and its links) and
 * a cluster (how many GPUs share which links).  It costs an op, a collective, a
 * list of ops, a work of the task graph, and a decode step as a function of the
 * tokens attended to.  An op's time comes, in order, from a measured table, a
 * fitted law, the roofline with the profile's efficiency; this version has laws
 * and roofline, tables come behind the same calls.
 *
 *     RaEstimator *est = ra_estimator_new(profile, cluster, &error);
 *     RaCost cost;
 *     ra_estimator_ops(est, ops, n_ops, RA_LAUNCH_EAGER, &cost);
 *
 * Immutable once made: any number of threads may ask.  No call here allocates;
 * an op costs well under 100 ns.  A thread that asks for many ops takes a fork,
 * which remembers.
 */
#ifndef RA_ESTIMATOR_ESTIMATOR_H
#define RA_ESTIMATOR_ESTIMATOR_H

#include "estimator/collective.h"
#include "estimator/overlap.h"
#include "graph/expand/task.h"
#include "graph/input/cluster.h"
#include "graph/op/op.h"
#include "traces/profile.h"
#include "traces/system.h"

typedef struct _RaEstimator RaEstimator;

/* Seconds of a list of ops on one GPU, by cause; total_s is the sum of the
 * causes. */
typedef struct {
  double total_s;   /* wall seconds */
  double compute_s; /* the device computes */
  double comm_s;    /* collectives and sends, exposed inside the list */
  double host_s;    /* the device waits for the host: launches, host work */
  double beside_s;  /* no part of total_s: what it would take longer with
                       communication (of communication: computation) beside all
                       of it (estimator/overlap.h) */
} RaCost;

/* A piece of a decode step's time as a function of the key-value tokens in
 * the batch: total(K) = cost.total_s + s_per_token (K - from_tokens) for
 * from_tokens <= K <= until_tokens; the slope is compute (zero where the host
 * is the bound: there compute_s grows as host_s shrinks, and cost
 * is their split at from_tokens). */
typedef struct {
  RaCost cost;           /* at from_tokens */
  double s_per_token;    /* slope of total_s, >= 0 */
  uint64_t from_tokens;  /* K asked for */
  uint64_t until_tokens; /* last K of this piece, >= from_tokens; UINT64_MAX:
                            all beyond */
} RaDecodeLine;

/* Of @n_steps steps along @line that @n_active sequences take together, with
 * @kv_tokens at the first: m c + slope (m (K - from) + n m (m - 1) / 2).  The
 * last has at most line->until_tokens. */
static inline RaCost
ra_decode_line_cost(const RaDecodeLine *line, double n_active,
                    uint64_t kv_tokens, uint64_t n_steps)
{
  double m = (double)n_steps;
  double grown_s =
      line->s_per_token * (m * (double)(kv_tokens - line->from_tokens) +
                           n_active * (m * (m - 1) / 2));

  return (RaCost){.total_s = m * line->cost.total_s + grown_s,
                  .compute_s = m * line->cost.compute_s + grown_s,
                  .comm_s = m * line->cost.comm_s,
                  .host_s = m * line->cost.host_s,
                  .beside_s = m * line->cost.beside_s};
}

/**
 * ra_estimator_new:
 * @profile: borrowed, outlives the estimator
 * @cluster: borrowed, outlives the estimator; its device filled, from which
 *   (not from @profile's) all rates are taken, so that a sweep of it counts
 * @error: %RA_ERROR_INPUT: a law that a cost needs is missing in @profile
 *
 * Returns: (transfer full): ra_estimator_free() it
 */
RaEstimator *ra_estimator_new(const RaProfile *profile,
                              const RaCluster *cluster, GError **error);

/**
 * ra_estimator_add_kind:
 * @kind: (transfer full): of the cluster as if all nodes were of its next kind
 *   (ra_cluster_of_kind()); before the system is set
 *
 * An estimator by itself is that of kind 0.  What is asked of it is of nodes of
 * that kind; who knows on which nodes something runs asks the estimators of
 * their kinds, and takes the slowest: a collective waits for its slowest
 * member, and what passes between two nodes passes at the slower one's rate.
 */
void ra_estimator_add_kind(RaEstimator *estimator, RaEstimator *kind);
/* 1 where nodes are all alike. */
guint ra_estimator_n_kinds(const RaEstimator *estimator);
/* (transfer none): that of @kind, below ra_estimator_n_kinds(). */
const RaEstimator *ra_estimator_kind(const RaEstimator *estimator, guint kind);

/**
 * ra_estimator_set_system:
 * @constants: (nullable): what a system costs beside its kernels, copied; %NULL
 *   and RA_SYSTEM_CONSTANTS_NONE: nothing
 *
 * To be called before the estimator is asked.  The constants enter at
 *
 *     a stage's decode step, launch eager:
 *         host  = max(launches x eager_launch,
 *                     layers x decode_layer + decode_stage)
 *         total = max(device, host), host_s what it adds to the device's time
 *     a replica's decode step, launch graph, at its last stage:
 *         host_s = that of the graph + decode_step: the engine's scheduler and
 *         sampler, which wait for the step before
 *     a step of continuous batching with prompts in it:
 *         host  = max(launches x eager_launch, layers x prefill_layer)
 *     all-reduces in a node, of decode steps and of batched steps:
 *         min(wire, the engine's own: one_shot, estimator_impl.h)
 *     works of calls that do not generate (forward, backward):
 *         compute = compute_factor x (compute of the kernels
 *                   + (attention_factor - 1) x attention's)
 *         comm    = comm_factor x collectives
 *         launch eager, train_launch given: of embedding, layers and head
 *                   max(device, launches x train_launch) each
 *     sends and gradient reductions:
 *         comm    = comm_factor x wire
 *     reallocation and transfer:
 *         total = wire + largest bytes in or out of a GPU / weight_sync
 *
 * The optimizer and the prefill of static batches stay as they are.
 */
void ra_estimator_set_system(RaEstimator *estimator,
                             const RaSystemConstants *constants);

/**
 * ra_estimator_set_real:
 * @real: whether whole calls and reallocations are to cost what ReaL's own
 *   estimator takes for them (estimator/real.h), at call fidelity; to be called
 *   before the estimator is asked
 */
void ra_estimator_set_real(RaEstimator *estimator, gboolean real);
gboolean ra_estimator_is_real(const RaEstimator *estimator);

/**
 * ra_estimator_fork:
 * @estimator: borrowed, outlives the fork; all of it set
 *
 * The same estimator for one thread alone, with a memo of the ops that it was
 * asked for (estimator/memo.h): equal to the last bit, and 4 times as fast
 * where most ops come again, as those of a task graph's works do.
 *
 * Cost: 0.6 MB.   Returns: (transfer full): ra_estimator_free() it
 */
RaEstimator *ra_estimator_fork(const RaEstimator *estimator);

void ra_estimator_free(RaEstimator *estimator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaEstimator, ra_estimator_free)

/* How it slows what runs together. */
const RaOverlapLaw *ra_estimator_overlap(const RaEstimator *estimator);

/**
 * ra_estimator_op_s:
 * @op: shapes per GPU; @op->count is ignored
 *
 * Device seconds of one run of @op, without the host: a collective of one rank
 * and an op without work take 0.
 *
 * Returns: seconds, >= 0, finite
 */
double ra_estimator_op_s(const RaEstimator *estimator, const RaOp *op);

/**
 * ra_estimator_ops:
 * @ops: (array length=n_ops): run in order, each count times
 * @launch: RaLaunch: eager pays host time a kernel; where the host is slower
 *   than the device the difference is host_s. graph pays one launch a list and
 *   a small gap a kernel
 * @out_cost: (out): copies count as comm_s
 *
 *     device = sum of count x op over compute, communication and copies;
 *              of an %RA_OP_BEHIND op only max(0, op - the op before it)
 *     eager  : host_s = max(0, launches x eager_launch - device)
 *     graph  : host_s = graph_launch + launches x graph_gap
 *
 * An %RA_OP_BEHIND op and the op before it slow each other: what the latter
 * takes longer for it is compute_s.  In eager mode what interference adds hides
 * behind the launches first.
 *
 * and the time of host ops beside.  A collective launches as a kernel does;
 * an op that takes no time launches nothing.
 *
 * Cost: the ops' estimates, no allocation.
 */
void ra_estimator_ops(const RaEstimator *estimator, const RaOp *ops,
                      guint n_ops, int launch, RaCost *out_cost);

/* Cost of @graph's work @work: of a shard as its call launches, of a single op
 * (a send, a gradient reduction, an optimizer) without the host, which runs
 * ahead of it. */
void ra_estimator_work(const RaEstimator *estimator, const RaTaskGraph *graph,
                       uint32_t work, RaCost *out_cost);

/* Seconds of @op, an all-reduce in a node, by the engine's own kernels under
 * the system's one_shot (> 0; estimator_impl.h has the formula). */
double ra_estimator_engine_sum_s(const RaEstimator *estimator, const RaOp *op);

/* What a communication op takes of the links of its GPUs. */
void ra_estimator_link_use(const RaEstimator *estimator, const RaOp *op,
                           RaLinkUse *out_use);

/* What launching kernels costs a host. */
typedef struct {
  double eager_s; /* of each kernel, launched one by one */
  double graph_s; /* of a captured graph, once */
  double gap_s;   /* before each kernel of a captured graph */
} RaLaunchCost;

RaLaunchCost ra_estimator_launch(const RaEstimator *estimator);

/**
 * ra_estimator_work_op_s:
 * @work: of a shard
 * @ops: (array length=n_ops): ops of its program
 * @out_s: (out) (array length=n_ops): device seconds of one run of each, with
 *   what those behind which another runs take longer for it
 * @out_seen_s: (out) (array length=n_ops): the same; of an %RA_OP_BEHIND op
 * only what it takes longer than the op before it
 *
 * The terms of ra_estimator_work(), with what the system adds to computation.
 */
void ra_estimator_work_op_s(const RaEstimator *estimator,
                            const RaTaskGraph *graph, uint32_t work,
                            const RaOp *ops, guint n_ops, double *out_s,
                            double *out_seen_s);

/**
 * ra_estimator_decode:
 * @shard: a generate call's shard
 * @piece: the stage
 * @n_sequences: in the step, >= 1
 * @kv_tokens: K, tokens attended to in all
 *
 * One decode step of a stage at K, and the line on which it stays as K grows.
 *
 * Where zero 3 has the weights in shards the step gathers them unit by unit
 * (embedding, each layer, head), the next one while one computes.  With two
 * units whole at a time unit i + 1 is gathered from the moment unit i begins,
 * so with computation c and gather g of n units
 *
 *     device = g_1 + sum over i < n of max(c_i + s g_{i+1}, g_{i+1}) + c_n
 *
 * where s = memory_frac / (1 + memory_frac) of the overlap law.
 * (DeepSpeed's ZeRO-3 inference: what made generation slow in DeepSpeed-Chat,
 * arXiv 2308.01320, and in Xiao et al.'s co-located placement, arXiv
 * 2312.11819.)  The first gather of a step is never hidden: sampling stands
 * before it.  comm_s has what computation does not hide.
 */
void ra_estimator_decode(const RaEstimator *estimator, const RaShard *shard,
                         const RaPiece *piece, uint32_t n_sequences,
                         uint64_t kv_tokens, RaDecodeLine *out_line);

/* Whether products of a decode step cost what the reuse of their weights says
 * (graph/op/op_reuse.h): the profile has "gemm.fp32.reuse".  Steps with prompts
 * in them, and those that gather their weights, have none. */
gboolean ra_estimator_has_reuse(const RaEstimator *estimator);

/* A step of continuous batching. */
typedef struct {
  RaBatch chunks;     /* of prompts: sums over them */
  RaBatch decode;     /* sequences with one token each; may be none */
  uint32_t n_sampled; /* sequences that get a token */
} RaMixedBatch;

/* That of @step, of a batcher. */
RaMixedBatch ra_mixed_batch(const RaBatchStretch *step);

/**
 * ra_op_list_mixed:
 * @out_ops: (out) (array length=RA_OP_LIST_MAX)
 *
 * The ops of a forward pass over the tokens of both, attention apart: of the
 * chunks as of whole sequences, of the others as of a decode step.
 *
 * Returns: number of ops
 */
guint ra_op_list_mixed(const RaShard *shard, const RaPiece *piece,
                       const RaMixedBatch *batch, RaOp *out_ops);

/**
 * ra_estimator_mixed:
 * @shard: a generate call's shard, cp 1, its weights in place
 * @batch: at least one chunk
 *
 * The step is launched eagerly, whatever the shard's launch: engines capture
 * graphs of pure decode steps alone.
 */
void ra_estimator_mixed(const RaEstimator *estimator, const RaShard *shard,
                        const RaPiece *piece, const RaMixedBatch *batch,
                        RaCost *out_cost);

#endif
