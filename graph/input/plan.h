/* Execution plan: a device mesh and a parallel strategy for every call.
 *
 *     [plan]
 *     format = 1
 *     workload = ppo-llama3-70b.workload   ra_share_find("workloads", ...)
 *     cluster = h100-16n.cluster           ra_share_find("clusters", ...)
 *     system = reallhf-2024                optional: ("systems", ...)
 *     [call actor_train]
 *     mesh = node[0-15]
 *     dp = 4
 *     tp = 8
 *     pp = 4
 *     cp = 1                     ranks that share each sequence
 *     ep = 1                     ranks that share a layer's experts
 *     expert-tp = 8              ranks that cut each expert; default: tp
 *     dispatch = copies          copies | once: see RaDispatch
 *     micro-batches = 8          per replica and mini-batch
 *     mini-batches = 4           optimizer steps per epoch, replacing the
 *                                workload's number: this changes the algorithm
 *     schedule = 1f1b            gpipe | 1f1b | interleaved:2
 *     sequence-parallel = true
 *     scatter-sends = true       each tp rank sends its part between stages
 *     recompute = full           none | selective | full
 *     attention = flash          flash | core | core-dropout: see RaAttention
 *     cross-entropy = fused      fused | unfused: see RaCrossEntropy
 *     zero = 1                   0 | 1 | 2 | 3
 *     zero-group = 8             dp ranks that share one set of shards
 *     gathers = ahead            ahead | in-turn: with zero 3, see RaGathers
 *     grad-dtype = fp32          bf16 | fp16 | fp32
 *     master-weights = fp32      fp32 | remainders | none: see RaMasterWeights
 *     moments-dtype = fp32       bf16 | fp16 | fp32: of AdamW's two moments
 *     overlap-grad-reduce = true
 *     launch = eager             eager | graph: launch of decode steps
 *     rank-order = tp-cp-dp-pp   innermost first; cp may be left out
 *     stage-layers = 21,20,20,19 uneven pipeline; default: even, the
 *                                remainder to the middle stages
 *     residency = release        release | keep | host: see RaResidency
 *     balance = sequences        sequences | tokens: see RaBalance
 *     padding = none             none | micro-batch | batch: see RaPadding
 *     padded-length = 3072       tokens of every sequence; default: by padding
 *     optimizer-residency = keep keep | host | cpu: see RaResidency
 *     grad-residency = keep      keep | release: memory of gradients between
 *                                training calls
 *     realloc = broadcast        broadcast | p2p | all-gather: how this layout
 *                                receives what training wrote in another
 *     gemm-dtype = fp8           train, inference: of linear layers' GEMMs;
 *                                default: the model's
 *     fp8-scaling = blockwise    blockwise | tensorwise | delayed: see
 *                                RaFp8Scaling
 *     fp8-params = false         weights are stored in fp8 alone
 *     bf16-first-layers = 0      layers at the start, and at the end, whose
 *     bf16-last-layers = 0       linear layers do not compute in fp8
 *     dtype = fp8                generate: of the weights there, quantised as
 *                                they arrive; default: the model's
 *     kv-dtype = bf16            generate: of the KV cache; default:
 *                                the model's
 *     expert-dtype = mxfp4       generate: mxfp4 | nvfp4, of the weights of
 *                                experts; default: dtype
 *     batching = static          generate: see graph/input/plan_batching.h
 *     over-sample = 1            long tails: see graph/input/plan_tail.h
 *
 * Only train calls have mini-batches, schedule, recompute, attention,
 * cross-entropy, scatter-sends, zero 1 and 2, grad-dtype, master-weights,
 * moments-dtype, overlap-grad-reduce, optimizer-residency and grad-residency.
 * Only the other calls have realloc, and all but generate balance, padding and
 * padded-length.
 * A host call has a mesh or no group at all.
 *
 * Context parallelism cuts every sequence into 2 cp chunks.  Rank r has the
 * r-th and the r-th last (the balanced zig-zag of ring attention); cp ranks
 * hold the same parameters and reduce gradients with dp.
 *
 * Experts have a division of a stage's tp x cp x dp ranks of their own, as in
 * Megatron-Core (expert_tensor_parallel_size, megatron/core/parallel_state.py):
 * expert-tp neighbours cut every expert as tp cuts a dense MLP, ep sets of
 * these hold experts / ep each, and what remains, tp cp dp / (expert-tp ep),
 * are replicas.  Ranks are counted along tp first, then as data ranks,
 * whatever the rank order.  With expert-tp = tp, the default, ep data ranks
 * share the experts; with expert-tp = 1 experts are whole.
 *
 * Tokens of a tp group: with sequence parallelism each rank sends its own to
 * the experts, and where expert-tp > 1 its ranks gather what they received
 * (MoEAlltoAllTokenDispatcher).  Without, all tp ranks have all tokens.
 * Megatron-Core refuses to train so; with expert-tp < tp, so do plans.  Other
 * calls do as inference engines do (vLLM's --enable-expert-parallel): if a tp
 * group has the experts among itself, each rank computes those that it has
 * and the group sums the outputs; else each rank takes a tp-th of the tokens
 * and the group gathers the outputs.
 *
 * Defaults: tp, dp, pp, cp, ep = 1; expert-tp: tp; micro-batches: pp for
 * generate and inference, 2 pp for train where pp > 1, else 1; schedule 1f1b;
 * recompute none; attention flash; cross-entropy fused; zero 0, zero-group dp;
 * grad-dtype the model's; launch eager; residency release; optimizer-residency
 * and grad-residency keep; realloc broadcast; balance sequences; padding none;
 * master-weights and moments-dtype fp32.
 *
 * Invariants after ra_plan_load():
 * - dp tp pp cp = GPUs of the mesh; cp is 1 for generate;
 * - expert-tp divides tp and the width of experts; ep expert-tp divides
 *   tp cp dp; ep divides the experts; a dense model has neither;
 * - tp divides heads and MLP width; kv heads divide by tp or tp by them;
 * - pp x virtual stages <= layers;
 * - sequences divide by mini-batches (train) or parts (others), times dp, times
 *   micro-batches;
 * - zero-group divides dp, and is dp where experts are spread (ep, expert-tp);
 *   generate has zero 0 then;
 * - interleaved: pp > 1 and micro-batches divide by pp;
 * - sequence-parallel: tp > 1;
 * - calls of one model in one layout have one residency
 *   (graph/input/residency.h).
 *
 * ZeRO (arXiv 1910.02054) shards over dp: 1 the optimizer state, 2 the
 * gradients too, 3 the parameters too.  One set of shards spans zero_group
 * neighbours along dp with all of their cp ranks, and the sets are replicas
 * (MiCS, arXiv 2205.00119; the hybrid sharding of PyTorch FSDP).  For inference
 * and generate calls, 3 shards the weights; every forward and every decode step
 * gathers them.  Experts that are spread are sharded over the ranks that hold
 * the same ones, all other weights over all data ranks (nemo_automodel,
 * torchtitan: FSDP inside expert parallelism).
 *
 * Typical sizes: 6 calls; meshes of 4 to 16,384 GPUs.
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

/* Implementation of attention in training: where its scores are. */
typedef enum {
  RA_ATTENTION_FLASH,       /* one kernel, in its tiles (arXiv 2205.14135) */
  RA_ATTENTION_CORE,        /* in memory: a GEMM, a fused softmax, a GEMM */
  RA_ATTENTION_CORE_DROPOUT /* the same, with dropout on the weights */
} RaAttention;

/* Kernels of the training loss over the logits. */
typedef enum {
  RA_CROSS_ENTROPY_FUSED,  /* reads logits once, writes once in the backward */
  RA_CROSS_ENTROPY_UNFUSED /* one kernel per step, in fp32 */
} RaCrossEntropy;

typedef enum { RA_LAUNCH_EAGER, RA_LAUNCH_GRAPH } RaLaunch;

/* Padded batch of a decode step of @n sequences that is launched as a CUDA
 * graph.  Padding keeps the number of captured shapes small as sequences end;
 * the padding sequences repeat the last one. */
static inline uint32_t
ra_graph_sequences(uint32_t n)
{
  return n <= 2 ? n : n <= 4 ? 4 : (n + 7) / 8 * 8;
}

/* Location of the parameters of a call's layout while no call reads them.
 *
 * RELEASE  A copy of parameters that are trained in another layout is dropped
 *          after its last reader and reallocated next time (ReaL, arXiv
 *          2406.14088).  Parameters that no other layout could restore stay.
 * KEEP     Such a copy stays as a shadow model (Xiao et al., arXiv 2312.11819).
 *          It is refitted once a rollout: between two readers where these may
 *          lag behind training.
 * HOST     Pinned host memory: reloaded before use and dropped after it, and
 *          copied out first where training or a reallocation changed it.
 * CPU      Optimizer state alone: it stays in host memory, and so does its
 *          step.  Gradients go down, updated parameters come up (DeepSpeed's
 *          CPUAdam, arXiv 2101.06840; Megatron-Core's optimizer_cpu_offload).
 */
typedef enum {
  RA_RESIDENCY_RELEASE,
  RA_RESIDENCY_KEEP,
  RA_RESIDENCY_HOST,
  RA_RESIDENCY_CPU
} RaResidency;

/* Master weights of 16-bit parameters in the optimizer's state.
 *
 * FP32        4 bytes each, and an fp32 copy of 16-bit gradients in the step.
 * REMAINDERS  The 16 bits that a bf16 parameter lacks, 2 bytes, and no copy of
 *             gradients (FusedAdam of Transformer Engine with
 *             store_param_remainders, which Megatron-Core's
 *             use_precision_aware_optimizer sets); with zero 3 as FP32.
 * NONE        The 16-bit parameters are stepped themselves, by gradients of
 *             their type: torch.optim.AdamW on a model that was loaded in bf16
 *             (fsdp_config.model_dtype of verl, dtype of TRL).
 */
typedef enum {
  RA_MASTER_FP32,
  RA_MASTER_REMAINDERS,
  RA_MASTER_NONE
} RaMasterWeights;

/* Values that share a scale where linear layers compute in fp8: recipes of
 * Transformer Engine (transformer_engine/common/recipe/__init__.py), whose
 * casts are in graph/op/op_cast.h.
 *
 * BLOCKWISE   128 of a row of activations, 128 x 128 of a weight, by their
 *             maximum (Float8BlockScaling; DeepSeek-V3, arXiv 2412.19437)
 * TENSORWISE  a tensor, by its maximum (Float8CurrentScaling)
 * DELAYED     a tensor, by maxima of earlier steps (DelayedScaling)
 *
 * Such layers keep two 8-bit copies of a weight, one of them transposed, beside
 * its 16 bits while a call runs, and write them once an optimizer step.  With
 * fp8-params these copies are all there is: no more bytes than 16 bits have,
 * nothing is cast, and ZeRO gathers 8 bits.
 *
 * Layers of bf16-first-layers and bf16-last-layers have none of this
 * (is_first_last_bf16_layer() in megatron/core/fp8_utils.py).
 */
typedef enum {
  RA_FP8_BLOCKWISE,
  RA_FP8_TENSORWISE,
  RA_FP8_DELAYED
} RaFp8Scaling;

/* Weights of experts in a generate call, where they are not of its dtype.
 *
 * MXFP4  4 bits and a byte of scale for 32 (gpt-oss), of tokens in 16 bits, or
 *        where dtype is fp8 (DeepSeek-V4) in 8
 * NVFP4  4 bits and a byte of scale for 16, of tokens in 4 bits too
 */
typedef enum {
  RA_EXPERT_DTYPE_SAME,
  RA_EXPERT_DTYPE_MXFP4,
  RA_EXPERT_DTYPE_NVFP4
} RaExpertDtype;

/* When a forward pass with zero 3 gathers the weights of the next layers.
 *
 * AHEAD    beside the computation before them (PyTorch's FSDP, DeepSpeed)
 * IN_TURN  after it: with one hardware queue for all streams
 *          (CUDA_DEVICE_MAX_CONNECTIONS=1) a gather that is issued behind a
 *          layer's kernels starts behind them.  A backward pass issues its
 *          gathers before the kernels, and is the same for both.
 */
typedef enum { RA_GATHERS_AHEAD, RA_GATHERS_IN_TURN } RaGathers;

/* How micro-batches divide the sequences of a replica.
 *
 * SEQUENCES  Each has as many, in their order.
 * TOKENS     Each has about as many tokens, whatever the number of its
 *            sequences: the longest goes first, to the emptiest.  Frameworks
 *            that bound micro-batches in tokens do so (verl,
 *            rearrange_micro_batches() in verl/utils/seqlen_balancing.py).
 */
typedef enum { RA_BALANCE_SEQUENCES, RA_BALANCE_TOKENS } RaBalance;

/* Length to which sequences of a micro-batch are padded, where a framework does
 * not pack them.  All that a layer does it does to padding too. */
typedef enum {
  RA_PADDING_NONE,        /* packed one behind the other */
  RA_PADDING_MICRO_BATCH, /* the longest of the micro-batch */
  RA_PADDING_BATCH        /* the longest of the step's sequences */
} RaPadding;

/* Batching of a generate call, that is, which sequences step together:
 * graph/input/plan_batching.h. */
typedef enum { RA_BATCHING_STATIC, RA_BATCHING_CONTINUOUS } RaBatchingKind;

/* Number of times that a token is sent to the experts that it visits. */
typedef enum {
  RA_DISPATCH_COPIES, /* once for each expert: NCCL's all-to-all */
  RA_DISPATCH_ONCE    /* once to each rank, and node, that has one: DeepEP */
} RaDispatch;

/* Axes along which ranks are laid out. */
typedef enum {
  RA_AXIS_TP,
  RA_AXIS_CP,
  RA_AXIS_DP,
  RA_AXIS_PP,
  RA_N_AXES
} RaAxis;

typedef struct {
  gboolean set;               /* the plan has a group for this call */
  RaMesh mesh;                /* host calls: where data is gathered; without a
                                 group, GPU 0 of node 0 represents its host */
  uint32_t dp, tp, pp, cp;    /* degrees, >= 1 */
  uint32_t ep;                /* expert parallel degree; 0 counts as 1 */
  uint32_t expert_tp;         /* ranks that cut an expert; 0 counts as tp */
  int dispatch;               /* RaDispatch */
  uint8_t axis[RA_N_AXES];    /* RaAxis, innermost first */
  uint32_t n_micro_batches;   /* per replica and mini-batch (train) or part */
  int balance;                /* RaBalance; train and inference */
  int padding;                /* RaPadding; train and inference */
  uint32_t padded_length;     /* tokens of a sequence at least; 0: by padding */
  uint32_t n_mini_batches;    /* train: replaces the workload's number; 0: the
                                 workload's, which is never repeated here */
  int schedule;               /* RaScheduleKind; train only */
  uint32_t n_virtual;         /* model chunks per stage: 1 unless interleaved */
  uint32_t *stage_layers;     /* (pp * n_virtual) layers of virtual stage
                                 v * pp + s, owned; NULL: host call */
  gboolean scatter_sends;     /* each tp rank sends a tp-th to the next stage,
                                 which gathers it; train only */
  gboolean sequence_parallel; /* Megatron-style, in the tp group */
  int recompute;              /* RaRecompute */
  int attention;              /* RaAttention; train only */
  int cross_entropy;          /* RaCrossEntropy; train only */
  int zero;                   /* 0 to 3: ZeRO stage in dp, see above */
  uint32_t zero_group;        /* dp ranks of one set of shards; 1 with zero 0 */
  int gathers;                /* RaGathers; zero 3 only */
  int grad_dtype;             /* RaDtype of the gradient reduction */
  int master_weights;         /* RaMasterWeights; train only */
  int moments_dtype;          /* 1 + RaDtype of 16 bits; 0: fp32 */
  gboolean overlap_grad_reduce; /* in buckets during the last backward */
  int dtype;                    /* 1 + RaDtype of the weights of a generate
                                   call; 0: the model's, which is never
                                   repeated here */
  int kv_dtype;                 /* the same, of its keys and values */
  int expert_dtype;             /* RaExpertDtype of a generate call */
  gboolean fp8_gemms;           /* of linear layers; train and inference */
  int fp8_scaling;              /* RaFp8Scaling of these */
  gboolean fp8_params;          /* weights of these are stored in fp8 */
  uint32_t bf16_first;          /* layers at the start without fp8 */
  uint32_t bf16_last;           /* and at the end */
  int launch;                   /* RaLaunch */
  int residency;                /* RaResidency of the parameters */
  int optimizer_residency;      /* RaResidency but RELEASE; train only */
  gboolean releases_grads;      /* they exist while the call runs; train only */
  int realloc;                  /* RaReallocScheme of graph/augment/realloc.h */
  int batching;                 /* RaBatchingKind; generate only, as below */
  uint32_t max_sequences;       /* continuous: running per replica */
  uint32_t prefill_tokens;      /* continuous: per step */
  uint32_t kv_block;            /* tokens per block of keys; 0: default */
  uint64_t kv_memory_bytes;     /* continuous: per GPU; 0: no limit */
  int kv_admission;             /* continuous: 0 prompt, 1 whole */
  gboolean prefix_sharing;      /* continuous: samples share their prompt */
  int tool_kv_drops;            /* continuous: keys and values of a paused
                                   sequence: 0 kept, 1 dropped */
  int service;                  /* RaServiceRefit of plan_service.h */
  uint32_t sync_interval;       /* service: iterations from one version to the
                                   next; 0 counts as 1 */
  RaTail tail;                  /* static: handling of long sequences */
  guint group;                  /* in the key file, for messages, if set */
} RaCallPlan;

typedef struct {
  RaKeyFile *file;            /* owned reference */
  const RaWorkload *workload; /* borrowed: outlives the plan */
  const RaCluster *cluster;   /* borrowed: outlives the plan */
  RaCallPlan *calls;          /* (workload->n_calls) same index */
} RaPlan;

/* Optimizer steps per epoch of a train call; parts of any other call. */
static inline uint32_t
ra_call_plan_n_pieces(const RaCall *call, const RaCallPlan *plan)
{
  if (call->kind != RA_CALL_TRAIN)
    return call->n_parts;
  return plan->n_mini_batches > 0 ? plan->n_mini_batches : call->n_mini_batches;
}

/* RaDtype of the weights that a call of @plan reads, of model @model. */
static inline RaDtype
ra_call_plan_dtype(const RaCallPlan *plan, const RaWorkloadModel *model)
{
  return (RaDtype)(plan->dtype > 0 ? plan->dtype - 1 : model->dtype);
}

/* Bytes of an element of an expert's weight that a call of @plan reads. */
static inline double
ra_call_plan_expert_bytes(const RaCallPlan *plan, const RaWorkloadModel *model)
{
  return plan->expert_dtype == RA_EXPERT_DTYPE_MXFP4 ? RA_MXFP4_BYTES
         : plan->expert_dtype == RA_EXPERT_DTYPE_NVFP4
             ? RA_NVFP4_BYTES
             : ra_dtype_bytes(ra_call_plan_dtype(plan, model));
}

/* RaDtype of the keys and values that a call of @plan caches. */
static inline RaDtype
ra_call_plan_kv_dtype(const RaCallPlan *plan, const RaWorkloadModel *model)
{
  return (RaDtype)(plan->kv_dtype > 0 ? plan->kv_dtype - 1 : model->dtype);
}

/* "blockwise", ..., by RaFp8Scaling; NULL-terminated. */
extern const char *const ra_fp8_scaling_words[];

/* TRUE if linear layers of both compute in the same type, and store it. */
static inline gboolean
ra_call_plan_same_fp8(const RaCallPlan *a, const RaCallPlan *b)
{
  return a->fp8_gemms == b->fp8_gemms && a->fp8_scaling == b->fp8_scaling &&
         a->fp8_params == b->fp8_params && a->bf16_first == b->bf16_first &&
         a->bf16_last == b->bf16_last;
}

/* (array length=out_n) (nullable): the keys that `[noun]` of a plan may have,
 * static; %NULL if a plan has no group `[noun]`. */
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
 * @n_layers: layers of the model, >= @n_stages
 * @n_stages: virtual stages, >= 1
 * @out_layers: (out) (array length=n_stages): layers of each stage
 *
 * Default partition: n_layers / n_stages each, and the remainder one by one to
 * the middle stages, as the first and the last also hold embedding and head.
 */
void ra_stage_layers_even(uint32_t n_layers, uint32_t n_stages,
                          uint32_t *out_layers);

/* Coordinates of a rank along the four axes. */
typedef struct {
  uint32_t at[RA_N_AXES]; /* by RaAxis, each below its degree */
} RaCoord;

/* Conversion between coordinates @coord and the rank in the mesh: mixed radix,
 * axis[0] varies fastest. */
uint32_t ra_call_plan_rank(const RaCallPlan *plan, const RaCoord *coord);
RaCoord ra_call_plan_coord(const RaCallPlan *plan, uint32_t rank);

/* Data rank: the number of @coord among the ranks of its tp rank and stage,
 * along dp and cp.  The inner one of these axes varies fastest. */
uint32_t ra_call_plan_data_rank(const RaCallPlan *plan, const RaCoord *coord);
/* @coord with dp and cp set to data rank @data_rank, < dp x cp. */
RaCoord ra_call_plan_data_coord(const RaCallPlan *plan, RaCoord coord,
                                uint32_t data_rank);

/* Expert-parallel degree, >= 1, and ranks that cut an expert, which divide
 * tp. */
uint32_t ra_call_plan_ep(const RaCallPlan *plan);
uint32_t ra_call_plan_expert_tp(const RaCallPlan *plan);

/* Number of the rank at @coord among those of its stage as experts count them:
 * data rank x tp + tp rank.  Its part of an expert is this modulo expert-tp,
 * and its expert-parallel rank the quotient modulo ep.  Ranks with equal
 * quotients by ep x expert-tp exchange tokens; those with equal remainders
 * hold the same. */
uint32_t ra_call_plan_expert_rank(const RaCallPlan *plan, const RaCoord *coord);
/* @coord with tp, dp and cp set to expert rank @expert_rank, < tp x cp x dp. */
RaCoord ra_call_plan_expert_coord(const RaCallPlan *plan, RaCoord coord,
                                  uint32_t expert_rank);
uint32_t ra_call_plan_ep_rank(const RaCallPlan *plan, const RaCoord *coord);

/* Data ranks after which experts repeat: with this as n, the ranks of a stage
 * at tp rank t and at data ranks d and d + n hold the same. */
uint32_t ra_call_plan_expert_period(const RaCallPlan *plan);

/* Ranks that hold the same parts of the same experts, >= 1. */
uint32_t ra_call_plan_expert_dp(const RaCallPlan *plan);

/* TRUE if experts are divided in another way than a dense MLP is. */
gboolean ra_call_plan_spreads_experts(const RaCallPlan *plan);

/* Number n of neighbouring replicas, starting at a multiple of n, that exchange
 * tokens only with each other; 1 where an expert-parallel group consists of cp
 * ranks of one replica. */
uint32_t ra_call_plan_ep_replicas(const RaCallPlan *plan);

/* Degree along @axis. */
uint32_t ra_call_plan_degree(const RaCallPlan *plan, RaAxis axis);

/* First layer of virtual stage @vstage (0 .. pp * n_virtual - 1). */
uint32_t ra_call_plan_first_layer(const RaCallPlan *plan, uint32_t vstage);

/* Data ranks (dp x cp) that share one set of ZeRO shards: zero_group x cp; 1
 * with zero 0. */
uint32_t ra_call_plan_zero_ranks(const RaCallPlan *plan);

/* Ranks over which ZeRO divides the optimizer's state of a parameter: those of
 * a set of shards, for experts that are spread those that hold the same; 1 with
 * zero 0. */
uint32_t ra_call_plan_state_ranks(const RaCallPlan *plan, gboolean of_experts);

/* Shards into which zero 3 cuts the parameters of a tensor-parallel rank: the
 * data ranks (dp x cp) of a group; 1 below zero 3. */
uint32_t ra_call_plan_n_shards(const RaCallPlan *plan);

/* Index of the shard of the rank at @coord. */
uint32_t ra_call_plan_zero_rank(const RaCallPlan *plan, const RaCoord *coord);

/* The same of the parameters of experts, which zero 3 cuts over the ranks that
 * hold the same ones. */
uint32_t ra_call_plan_n_expert_shards(const RaCallPlan *plan);
uint32_t ra_call_plan_expert_shard(const RaCallPlan *plan,
                                   const RaCoord *coord);

/* Equality of mesh, degrees, rank order (of the axes longer than 1), stages,
 * experts and shards: every GPU holds the same parameters under both. */
gboolean ra_call_plan_same_layout(const RaCallPlan *a, const RaCallPlan *b);

#endif
