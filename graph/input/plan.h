/* The execution plan: a device mesh and a parallel strategy for every call.
 *
 *     [plan]
 *     format = 1
 *     workload = ppo-llama3-70b.workload   found by ra_data_find("workloads",
 *     cluster = h100-16n.cluster           ...) and ("clusters", ...)
 *     system = reallhf-2024                optional: ("systems", ...)
 *     [call actor_train]
 *     mesh = node[0-15]
 *     dp = 4
 *     tp = 8
 *     pp = 4
 *     cp = 1                     ranks that share each sequence
 *     ep = 1                     ranks that share a layer's experts
 *     dispatch = copies          copies | once: see RaDispatch
 *     micro-batches = 8          of one mini-batch, a replica
 *     mini-batches = 4           optimizer steps of an epoch, instead of the
 *                                workload's: another algorithm
 *     schedule = 1f1b            gpipe | 1f1b | interleaved:2
 *     sequence-parallel = true
 *     scatter-sends = true       tp ranks send parts between stages
 *     recompute = full           none | selective | full
 *     attention = flash          flash | core | core-dropout: see RaAttention
 *     cross-entropy = fused      fused | unfused: see RaCrossEntropy
 *     zero = 1                   0 | 1 | 2 | 3
 *     zero-group = 8             dp ranks that one set of shards spans
 *     grad-dtype = fp32          bf16 | fp16 | fp32
 *     overlap-grad-reduce = true
 *     launch = eager             eager | graph: of decode steps
 *     rank-order = tp-cp-dp-pp   innermost first; cp may be left out
 *     stage-layers = 21,20,20,19 uneven pipeline; default: even, the
 *                                remainder to the middle stages
 *     residency = release        release | keep | host: see RaResidency
 *     optimizer-residency = keep keep | host: between training calls
 *     realloc = broadcast        broadcast | p2p | all-gather: how this layout
 *                                gets what training wrote in another
 *     batching = static          and more of generate:
 *     graph/input/plan_batching.h
 *     over-sample = 1            and more of long tails:
 *     graph/input/plan_tail.h
 *
 * mini-batches, schedule, recompute, attention, cross-entropy, scatter-sends,
 * zero 1 and 2, grad-dtype, overlap-grad-reduce and optimizer-residency are of
 * train calls only, realloc of the others; a host call has a mesh or no group
 * at all.
 * Context parallelism cuts every sequence into 2 cp chunks, of which rank r
 * has the r-th and the r-th last (the balanced zig-zag of ring attention); cp
 * ranks hold the same parameters and reduce gradients with dp.  Expert
 * parallelism takes its ranks from those of dp x cp of a stage (Megatron-LM's
 * convention): the ep neighbours, in rank order, hold experts / ep whole
 * experts each, and every expert is cut by tp as a dense MLP.
 *
 * Defaults: tp, dp, pp, cp, ep = 1; micro-batches: pp for generate and
 * inference, 2 pp for train where pp > 1, else 1; schedule 1f1b; recompute
 * none; attention flash; cross-entropy fused; zero 0, zero-group dp; grad-dtype
 * the model's; launch eager; residency release; optimizer-residency keep;
 * realloc broadcast.
 *
 * Invariants after ra_plan_load(): dp tp pp cp = GPUs of the mesh; ep divides
 * dp cp and the experts, and is 1 for a dense model; cp is 1 for generate;
 * heads and MLP
 * width divide by tp (kv heads divide by tp or tp by them); pp x virtual
 * stages <= layers; sequences divide by mini-batches (train) or parts
 * (others), times dp, times micro-batches; zero-group divides dp; interleaved:
 * pp > 1 and micro-batches divide by pp; sequence-parallel: tp > 1; calls of
 * one model in one layout have one residency (graph/input/residency.h).
 *
 * ZeRO (arXiv 1910.02054) shards over dp: 1 the optimizer state, 2 the
 * gradients too, 3 the parameters too.  One set of shards spans zero_group
 * neighbours along dp with all of their cp ranks, and the sets are replicas
 * (MiCS, arXiv 2205.00119; the hybrid sharding of PyTorch FSDP).  Of inference
 * and generate calls 3 shards the weights, which every forward and every decode
 * step gathers. Typical sizes: 6 calls; meshes of 4 to 16,384 GPUs.
 */
#ifndef RA_GRAPH_INPUT_PLAN_H
#define RA_GRAPH_INPUT_PLAN_H

#include "graph/input/cluster.h"
#include "graph/input/tail.h"
#include "graph/input/workload.h"

typedef enum {
  RA_SCHEDULE_GPIPE,
  RA_SCHEDULE_1F1B,
  RA_SCHEDULE_INTERLEAVED
} RaScheduleKind;

typedef enum {
  RA_RECOMPUTE_NONE,
  RA_RECOMPUTE_SELECTIVE, /* the core of attention */
  RA_RECOMPUTE_FULL       /* every layer from its input */
} RaRecompute;

/* What keeps the scores of training's attention. */
typedef enum {
  RA_ATTENTION_FLASH,       /* one kernel, in its tiles (arXiv 2205.14135) */
  RA_ATTENTION_CORE,        /* memory: a product, a fused softmax, a product */
  RA_ATTENTION_CORE_DROPOUT /* the same, with dropout on the weights */
} RaAttention;

/* The kernels of training's loss over the logits. */
typedef enum {
  RA_CROSS_ENTROPY_FUSED,  /* logits are read once, and once written backward */
  RA_CROSS_ENTROPY_UNFUSED /* a kernel a step, in fp32 */
} RaCrossEntropy;

typedef enum { RA_LAUNCH_EAGER, RA_LAUNCH_GRAPH } RaLaunch;

/* Sequences of a decode step of @n that is launched as a graph: so that not
 * every sequence that ends is another shape.  Those behind the @n repeat the
 * last. */
static inline uint32_t
ra_graph_sequences(uint32_t n)
{
  return n <= 2 ? n : n <= 4 ? 4 : (n + 7) / 8 * 8;
}

/* Where the parameters of a call's layout are while no call reads them.
 *
 * RELEASE  a copy of what is trained in another layout is dropped after its
 *          last reader and reallocated next time (ReaL, arXiv 2406.14088);
 *          what no other layout could fill again stays
 * KEEP     such a copy stays, a shadow model (Xiao et al., arXiv 2312.11819),
 *          and is refitted once a rollout: between two readers where these may
 *          lag behind training
 * HOST     in pinned host memory: reloaded before use, dropped after it, and
 *          copied out first where training or a reallocation changed it
 */
typedef enum {
  RA_RESIDENCY_RELEASE,
  RA_RESIDENCY_KEEP,
  RA_RESIDENCY_HOST
} RaResidency;

/* Which sequences of a generate call step together:
 * graph/input/plan_batching.h. */
typedef enum { RA_BATCHING_STATIC, RA_BATCHING_CONTINUOUS } RaBatchingKind;

/* How often a token is sent to the experts that it visits. */
typedef enum {
  RA_DISPATCH_COPIES, /* once for each: NCCL's all-to-all */
  RA_DISPATCH_ONCE    /* once to each rank, and node, that has one: DeepEP */
} RaDispatch;

/* The four axes along which ranks are laid out. */
typedef enum {
  RA_AXIS_TP,
  RA_AXIS_CP,
  RA_AXIS_DP,
  RA_AXIS_PP,
  RA_N_AXES
} RaAxis;

typedef struct {
  gboolean set;             /* the plan has a group for this call */
  RaMesh mesh;              /* host calls: where data is gathered; without a
                               group GPU 0 of node 0 stands for its host */
  uint32_t dp, tp, pp, cp;  /* degrees, >= 1 */
  uint32_t ep;              /* of the dp x cp ranks; 0 counts as 1 */
  int dispatch;             /* RaDispatch */
  gboolean experts_whole;   /* tp ranks have whole experts, as inference engines
                               do; of plans in memory of one call alone: no file
                               can say it, as no reallocation knows it */
  uint8_t axis[RA_N_AXES];  /* RaAxis, innermost first */
  uint32_t n_micro_batches; /* a replica and mini-batch (train) or part */
  uint32_t n_mini_batches;  /* train: instead of the workload's; 0: as there,
                               never the same number */
  int schedule;             /* RaScheduleKind; train only */
  uint32_t n_virtual;       /* model chunks a stage: 1 unless interleaved */
  uint32_t *stage_layers;   /* (pp * n_virtual) layers of virtual stage
                               v * pp + s, owned; NULL: host call */
  gboolean scatter_sends;   /* stages send a tp-th each and gather it; train
                               only */
  gboolean sequence_parallel; /* Megatron-style, in the tp group */
  int recompute;              /* RaRecompute */
  int attention;              /* RaAttention; train only */
  int cross_entropy;          /* RaCrossEntropy; train only */
  int zero;                   /* 0 to 3: what is sharded in dp, see above */
  uint32_t zero_group;        /* dp ranks of one set of shards; 1 with zero 0 */
  int grad_dtype;             /* RaDtype of the gradient reduction */
  gboolean overlap_grad_reduce; /* in buckets behind the last backward */
  int launch;                   /* RaLaunch */
  int residency;                /* RaResidency of the parameters */
  int optimizer_residency;      /* RaResidency, KEEP or HOST; train only */
  int realloc;                  /* RaReallocScheme of graph/augment/realloc.h */
  int batching;                 /* RaBatchingKind; generate only, as below */
  uint32_t max_sequences;       /* continuous: of a replica, at a time */
  uint32_t prefill_tokens;      /* continuous: of a step */
  uint32_t kv_block;            /* tokens of a block of keys; 0: default */
  uint64_t kv_memory_bytes;     /* continuous: of each GPU; 0: no limit */
  int kv_admission;             /* continuous: 0 prompt, 1 whole */
  gboolean prefix_sharing;      /* continuous: samples share their prompt */
  int tool_kv_drops;            /* continuous: 0 who pauses keeps, 1 drops */
  int service;            /* RaServiceRefit of graph/input/plan_service.h */
  uint32_t sync_interval; /* service: iterations from one version to the
                                   next; 0 counts as 1 */
  RaTail tail;            /* static: what is done about long sequences */
  guint group;            /* of the key file, for messages, if set */
} RaCallPlan;

typedef struct {
  RaKeyFile *file;            /* owned reference */
  const RaWorkload *workload; /* borrowed: outlives the plan */
  const RaCluster *cluster;   /* borrowed: outlives the plan */
  RaCallPlan *calls;          /* (workload->n_calls) same index */
} RaPlan;

/* Optimizer steps of an epoch of a train call; parts of others. */
static inline uint32_t
ra_call_plan_n_pieces(const RaCall *call, const RaCallPlan *plan)
{
  if (call->kind != RA_CALL_TRAIN)
    return call->n_parts;
  return plan->n_mini_batches > 0 ? plan->n_mini_batches : call->n_mini_batches;
}

/* (array length=out_n) (nullable): the keys that `[noun]` of a plan may have,
 * static; %NULL for a noun that it does not have. */
const RaKeySpec *ra_plan_key_specs(const char *noun, gsize *out_n);

/**
 * ra_plan_files:
 * @file: a plan
 * @out_workload: (out) (transfer none): as written, borrowed from @file
 * @out_cluster: (out) (transfer none): as written, borrowed from @file
 * @error: %RA_ERROR_INPUT `file:line: ...`: unknown groups, a key of [plan]
 *   missing or unknown
 *
 * Reads only `[plan]`, so that both files can be loaded before the calls.
 *
 * Returns: %TRUE on success
 */
gboolean ra_plan_files(RaKeyFile *file, const char **out_workload,
                       const char **out_cluster, GError **error);

/* (nullable) (transfer none): the value of `system` in [plan] of @file, which
 * ra_plan_files() has accepted. */
const char *ra_plan_system(RaKeyFile *file);

/**
 * ra_plan_load:
 * @file: (transfer none): referenced
 * @workload: borrowed
 * @cluster: borrowed
 * @error: %RA_ERROR_INPUT `file:line: ...`: an unknown call (nearest
 *   suggested), a call of the workload without a group, a mesh outside the
 *   cluster, a strategy that does not tile its mesh, heads or layers or
 *   batches that do not divide
 *
 * Cost: O(calls x keys + virtual stages).
 *
 * Returns: (transfer full): ra_plan_free() it
 */
RaPlan *ra_plan_load(RaKeyFile *file, const RaWorkload *workload,
                     const RaCluster *cluster, GError **error);
void ra_plan_free(RaPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPlan, ra_plan_free)

/**
 * ra_stage_layers_even:
 * @n_layers: of the model, >= @n_stages
 * @n_stages: virtual stages, >= 1
 * @out_layers: (out) (array length=n_stages): layers of each
 *
 * The default cut: n_layers / n_stages each, and the remainder one by one to
 * the middle stages, as the first and the last also hold embedding and head.
 */
void ra_stage_layers_even(uint32_t n_layers, uint32_t n_stages,
                          uint32_t *out_layers);

/* Where a rank stands: coordinates along the four axes. */
typedef struct {
  uint32_t at[RA_N_AXES]; /* by RaAxis, each below its degree */
} RaCoord;

/* Rank in the mesh of coordinates @coord: mixed radix, axis[0] fastest; and
 * back. */
uint32_t ra_call_plan_rank(const RaCallPlan *plan, const RaCoord *coord);
RaCoord ra_call_plan_coord(const RaCallPlan *plan, uint32_t rank);

/* The ranks of one tp rank and stage, numbered: along dp and cp, whichever is
 * inner in the rank order fastest. */
uint32_t ra_call_plan_data_rank(const RaCallPlan *plan, const RaCoord *coord);
/* @coord with dp and cp set to data rank @data_rank, < dp x cp. */
RaCoord ra_call_plan_data_coord(const RaCallPlan *plan, RaCoord coord,
                                uint32_t data_rank);

/* Expert-parallel degree, >= 1, and rank: the data rank modulo the degree.
 * Data ranks with one quotient exchange tokens, those with one remainder hold
 * the same experts. */
uint32_t ra_call_plan_ep(const RaCallPlan *plan);
uint32_t ra_call_plan_ep_rank(const RaCallPlan *plan, const RaCoord *coord);

/* Neighbouring replicas, from a multiple of their number on, that exchange
 * tokens with each other and no others: 1 where the ranks of a group are cp
 * ranks of one. */
uint32_t ra_call_plan_ep_replicas(const RaCallPlan *plan);

/* Degree along @axis. */
uint32_t ra_call_plan_degree(const RaCallPlan *plan, RaAxis axis);

/* First layer of virtual stage @vstage (0 .. pp * n_virtual - 1). */
uint32_t ra_call_plan_first_layer(const RaCallPlan *plan, uint32_t vstage);

/* Data ranks (dp x cp) that one set of zero's shards spans: zero_group x cp; 1
 * with zero 0. */
uint32_t ra_call_plan_zero_ranks(const RaCallPlan *plan);

/* Parts into which zero 3 cuts what a tensor-parallel rank holds of the
 * parameters, 1 without: the data ranks (dp x cp) of a group. */
uint32_t ra_call_plan_n_shards(const RaCallPlan *plan);

/* Which of them the rank at @coord has. */
uint32_t ra_call_plan_zero_rank(const RaCallPlan *plan, const RaCoord *coord);

/* Equal mesh, degrees, rank order (of the axes longer than 1), stages, experts
 * and shards: parameters lie in the same places. */
gboolean ra_call_plan_same_layout(const RaCallPlan *a, const RaCallPlan *b);

#endif
