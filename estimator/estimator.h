/* The estimator: the one source of costs.
 *
 * It is made from a profile (fitted coefficients of one GPU class and its
 * links) and a cluster (how many GPUs share which links).  It gives the cost of
 * an op, a collective, a list of ops, a work of the task graph, and a decode
 * step as a function of the tokens attended to.  The time of an op is that of a
 * fitted law, corrected by a measured table if the profile has one.
 *
 *     RaEstimator *est = ra_estimator_new(profile, cluster, &error);
 *     RaCost cost;
 *     ra_estimator_ops(est, ops, n_ops, RA_LAUNCH_EAGER, &cost);
 *
 * Immutable once made, so any number of threads may use it.  No call here
 * allocates; an op costs well under 100 ns.  A thread that estimates many ops
 * uses a fork, which memoizes.
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
  double beside_s;  /* not part of total_s: slowdown if communication (for
                       communication: computation) overlaps with all of it
                       (estimator/overlap.h) */
} RaCost;

/* A piece of a decode step's time as a function of the key-value tokens K in
 * the batch:
 *
 *     total(K) = cost.total_s + s_per_token (K - from_tokens)
 *     for from_tokens <= K <= until_tokens
 *
 * The slope is compute.  It is zero while the host is the bound: compute_s then
 * grows by compute_s_per_token, and host_s shrinks by as much. */
typedef struct {
  RaCost cost;                /* at from_tokens */
  double s_per_token;         /* slope of total_s, >= 0 */
  double compute_s_per_token; /* of compute_s, >= s_per_token */
  uint64_t from_tokens;
  uint64_t until_tokens; /* last K of this piece, >= from_tokens; UINT64_MAX:
                            no limit */
} RaDecodeLine;

/* Cost of @n_steps steps of @n_active sequences along @line, with @kv_tokens at
 * the first step: m c + slope (m (K - from) + n m (m - 1) / 2).  The last step
 * has at most line->until_tokens. */
static inline RaCost
ra_decode_line_cost(const RaDecodeLine *line, double n_active,
                    uint64_t kv_tokens, uint64_t n_steps)
{
  double m = (double)n_steps;
  double tokens = m * (double)(kv_tokens - line->from_tokens) +
                  n_active * (m * (m - 1) / 2);
  double grown_s = line->s_per_token * tokens;
  double computed_s = line->compute_s_per_token * tokens;

  return (RaCost){.total_s = m * line->cost.total_s + grown_s,
                  .compute_s = m * line->cost.compute_s + computed_s,
                  .comm_s = m * line->cost.comm_s,
                  .host_s = m * line->cost.host_s - (computed_s - grown_s),
                  .beside_s = m * line->cost.beside_s};
}

/**
 * ra_estimator_new:
 * @profile: borrowed, outlives the estimator
 * @cluster: borrowed, outlives the estimator; its device, not that of @profile,
 *   gives all rates, so that a sweep of the device has an effect
 * @error: %RA_ERROR_INPUT: @profile lacks a law that a cost needs
 *
 * Returns: (transfer full): ra_estimator_free() it
 */
RaEstimator *ra_estimator_new(const RaProfile *profile,
                              const RaCluster *cluster, GError **error);

/**
 * ra_estimator_add_kind:
 * @kind: (transfer full): estimator of the cluster as if all nodes were of its
 *   next kind (ra_cluster_of_kind()); added before the system is set
 *
 * The estimator itself is that of kind 0: its costs are for nodes of that kind.
 * A caller that knows on which nodes something runs uses the estimators of
 * their kinds and takes the slowest: a collective waits for its slowest member,
 * and a message between two nodes has the rate of the slower one.
 */
void ra_estimator_add_kind(RaEstimator *estimator, RaEstimator *kind);
/* Number of kinds; 1 if all nodes are alike. */
guint ra_estimator_n_kinds(const RaEstimator *estimator);
/* (transfer none): the estimator of @kind, below ra_estimator_n_kinds(). */
const RaEstimator *ra_estimator_kind(const RaEstimator *estimator, guint kind);

/**
 * ra_estimator_set_system:
 * @constants: (nullable): costs of a system apart from its kernels, copied;
 *   %NULL and RA_SYSTEM_CONSTANTS_NONE: none
 *
 * Must be called before any cost is computed.  The constants enter at
 *
 *     a stage's decode step, launch eager:
 *         host  = max(launches x eager_launch,
 *                     layers x (decode_layer + decode_adapter) + decode_stage)
 *         decode_adapter where the weights have adapters
 *         total = max(device, host), host_s = total - device
 *     any step of generation, at its last stage:
 *         host_s + decode_step + running sequences x decode_sequence: the
 *         engine's scheduler and sampler, which wait for the previous step
 *     a step of continuous batching with prompts in it:
 *         host  = max(launches x eager_launch, layers x prefill_layer)
 *     all-reduces in a node, of calls that generate:
 *         the law of the engine's own, if there is one (ra_collective_s())
 *     works of calls that do not generate (forward, backward):
 *         compute = compute_factor x (compute of the kernels
 *                   + (attention_factor - 1) x attention's
 *                   + (memory_factor - 1) x that of norms, activations,
 *                     rotations, additions and losses)
 *         comm    = comm_factor x collectives
 *         launch eager, train_launch given: max(device, launches x
 *                   train_launch) for each of embedding, layers and head
 *         a forward at the last stage: host_s + sequences x train_sequence,
 *         which nothing hides
 *     sends and gradient reductions:
 *         comm    = comm_factor x wire
 *     reallocation and transfer:
 *         total = wire + largest bytes in or out of a GPU / weight_sync
 *                 + cast, by the law of RA_OP_CAST, of weights that become
 *                 8 bits (graph/augment/realloc.h)
 *     expert layers, by the laws of the engine's kernels where the profile has
 *         them, else by the common ones
 *
 * The optimizer and the prefill of static batches do not change.
 */
void ra_estimator_set_system(RaEstimator *estimator,
                             const RaSystemConstants *constants);

/**
 * ra_estimator_set_real:
 * @real: %TRUE: whole calls and reallocations cost what ReaL's own estimator
 *   gives for them (estimator/real.h), at call fidelity
 *
 * Must be called before any cost is computed.
 */
void ra_estimator_set_real(RaEstimator *estimator, gboolean real);
gboolean ra_estimator_is_real(const RaEstimator *estimator);

/**
 * ra_estimator_fork:
 * @estimator: borrowed, outlives the fork; completely set up
 *
 * The same estimator for one thread alone, with a memo of the costs of ops and
 * of the lines of decode steps (estimator/memo.h).  Results are equal to the
 * last bit.  It is 4 times as fast if most ops repeat, as those of a task
 * graph's works do.  Models of the shards that it is asked about outlive it.
 *
 * Cost: at most 1.9 MB, by what is asked
 *
 * Returns: (transfer full): ra_estimator_free() it
 */
RaEstimator *ra_estimator_fork(const RaEstimator *estimator);

/* Forks of an estimator that are kept. */
typedef struct _RaForks RaForks;

/**
 * ra_estimator_keep_forks:
 * @estimator: completely set up
 *
 * Until ra_forks_drop(), forks that are freed are kept, with what they know,
 * and ra_estimator_fork() gives one of them: work on many plans meets the same
 * ops and lines again.  Models that a fork was asked about outlive the end.
 * Pairs nest; any thread may fork in between.
 *
 * Returns: (transfer full): ra_forks_drop() it
 */
RaForks *ra_estimator_keep_forks(const RaEstimator *estimator);
void ra_forks_drop(RaForks *forks);

void ra_estimator_free(RaEstimator *estimator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaEstimator, ra_estimator_free)

/* The law of the slowdown by overlap. */
const RaOverlapLaw *ra_estimator_overlap(const RaEstimator *estimator);

/**
 * ra_estimator_op_s:
 * @op: shapes per GPU; @op->count is ignored
 *
 * Device seconds of one run of @op, without the host.  A collective of one rank
 * and an op without work cost 0.
 *
 * Returns: seconds, >= 0, finite
 */
double ra_estimator_op_s(const RaEstimator *estimator, const RaOp *op);

/**
 * ra_estimator_ops:
 * @ops: (array length=n_ops): run in order, each count times
 * @launch: RaLaunch: eager costs host time for each kernel; if the host is
 *   slower than the device, host_s is the difference.  graph costs one launch a
 *   list and a small gap a kernel
 * @out_cost: (out): copies count as comm_s
 *
 *     device = sum of count x op over compute, communication and copies;
 *              for an %RA_OP_BEHIND op only max(0, op - the op before it)
 *     eager  : host_s = max(0, launches x eager_launch - device)
 *     graph  : host_s = graph_launch + launches x graph_gap
 *
 * The time of host ops is added to host_s.  A collective is launched like a
 * kernel; an op of no time launches nothing.
 *
 * An %RA_OP_BEHIND op and the op before it overlap and slow each other: the
 * slowdown of the latter is compute_s.  In eager mode, launches hide this
 * slowdown first.
 *
 * Cost: the estimates of the ops, no allocation.
 */
void ra_estimator_ops(const RaEstimator *estimator, const RaOp *ops,
                      guint n_ops, int launch, RaCost *out_cost);

/* Cost of the work @work of @graph: for a shard with its call's launch mode,
 * for a single op (a send, a gradient reduction, an optimizer) without the
 * host, which runs ahead of it. */
void ra_estimator_work(const RaEstimator *estimator, const RaTaskGraph *graph,
                       uint32_t work, RaCost *out_cost);

/* Use of the links of its GPUs by a communication op; @generates: of a call
 * that generates, whose engine has all-reduces of its own. */
void ra_estimator_link_use(const RaEstimator *estimator, const RaOp *op,
                           gboolean generates, RaLinkUse *out_use);

/* Host time of launches. */
typedef struct {
  double eager_s; /* each kernel, launched one by one */
  double graph_s; /* a captured graph, once */
  double gap_s;   /* gap before each kernel of a captured graph */
} RaLaunchCost;

RaLaunchCost ra_estimator_launch(const RaEstimator *estimator);

/**
 * ra_estimator_work_op_s:
 * @work: work of a shard
 * @ops: (array length=n_ops): its ops
 * @out_s: (out) (array length=n_ops): device seconds of one run of each op,
 *   with the slowdown by an op that overlaps with it
 * @out_seen_s: (out) (array length=n_ops): the same, but for an %RA_OP_BEHIND
 *   op only the excess over the op before it
 *
 * The terms of ra_estimator_work(), with the system's factors of computation.
 */
void ra_estimator_work_op_s(const RaEstimator *estimator,
                            const RaTaskGraph *graph, uint32_t work,
                            const RaOp *ops, guint n_ops, double *out_s,
                            double *out_seen_s);

/**
 * ra_estimator_decode:
 * @shard: a generate call's shard
 * @piece: the stage
 * @n_sequences: sequences of the step, >= 1
 * @kv_tokens: K, total tokens attended to
 *
 * One decode step of a stage at K = from_tokens of @out_line, and the line that
 * it follows as K grows.
 *
 * Under ZeRO 3, which shards the weights, the step gathers them unit by unit
 * (embedding, each layer, head), each while the unit before it computes.  Two
 * whole units are in memory at a time, so the gather of unit i + 1 starts with
 * unit i.  With computation c and gather g of n units
 *
 *     device = g_1 + sum over i < n of max(c_i + s g_{i+1}, g_{i+1}) + c_n
 *
 * where s = memory_frac / (1 + memory_frac) of the overlap law.
 * (This is DeepSpeed's ZeRO-3 inference, which made generation slow in
 * DeepSpeed-Chat, arXiv 2308.01320, and in Xiao et al.'s co-located placement,
 * arXiv 2312.11819.)  The first gather of a step is never hidden, as sampling
 * precedes it.  comm_s is the part that computation does not hide.
 *
 * With drafts (RaShard.draft_tokens, d) a step here is the part of a pass that
 * makes one token of each sequence.  A pass verifies d + 1 positions of each
 * sequence, behind d passes of the layer that drafts (none if they are looked
 * up), and makes 1 + d draft_accepted_frac tokens:
 *
 *     step = (pass(d + 1) + d draft) / (1 + d draft_accepted_frac)
 *
 * (Leviathan et al., arXiv 2211.17192; engines report the share of drafts that
 * are accepted.)  Attention reads the keys once for all positions.
 */
void ra_estimator_decode(const RaEstimator *estimator, const RaShard *shard,
                         const RaPiece *piece, uint32_t n_sequences,
                         uint64_t kv_tokens, RaDecodeLine *out_line);

/**
 * ra_estimator_decode_line:
 *
 * The line of ra_estimator_decode() that holds at K, the same for all K of its
 * piece: it begins where one would that starts from the highest power of two of
 * tokens a sequence that K reaches.  A fork knows it the second time.  (A step
 * that gathers its weights, or whose GEMMs depend on reuse, has one from K on.)
 *
 * Cost: that of some ra_estimator_decode(); 40 ns of a line that is known
 */
void ra_estimator_decode_line(const RaEstimator *estimator,
                              const RaShard *shard, const RaPiece *piece,
                              uint32_t n_sequences, uint64_t kv_tokens,
                              RaDecodeLine *out_line);

/* TRUE if the GEMMs of a decode step depend on the reuse distance of their
 * weights (graph/op/op_reuse.h): the profile has "gemm.fp32.reuse".  Steps with
 * prompts, and steps that gather their weights, do not. */
gboolean ra_estimator_has_reuse(const RaEstimator *estimator);

/* A step of continuous batching. */
typedef struct {
  RaBatch chunks;     /* chunks of prompts: sums over them */
  RaBatch decode;     /* sequences with one token each; may be empty */
  uint32_t n_sampled; /* sequences that get a token */
} RaMixedBatch;

/* The batch of a batcher's @step. */
RaMixedBatch ra_mixed_batch(const RaBatchStretch *step);

/**
 * ra_op_list_mixed:
 * @out_ops: (out) (array length=RA_OP_LIST_MAX)
 *
 * The ops of a forward pass over the tokens of both parts.  Attention is
 * separate: that of the chunks as of whole sequences, that of the others as of
 * a decode step.
 *
 * Returns: number of ops
 */
guint ra_op_list_mixed(const RaShard *shard, const RaPiece *piece,
                       const RaMixedBatch *batch, RaOp *out_ops);

/**
 * ra_estimator_mixed:
 * @shard: a generate call's shard, cp 1, its weights not sharded
 * @batch: at least one chunk
 *
 * The step is launched eagerly under any launch mode of the shard: engines only
 * capture graphs of pure decode steps.
 */
void ra_estimator_mixed(const RaEstimator *estimator, const RaShard *shard,
                        const RaPiece *piece, const RaMixedBatch *batch,
                        RaCost *out_cost);

#endif
