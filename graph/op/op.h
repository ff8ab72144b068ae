/* Operations (ops): the steps of a task, with their shapes.  The one op table.
 *
 * The op lists of a transformer layer (forward, backward, recompute, prefill,
 * decode), the embedding, the head and the optimizer exist once, here.  FLOPs
 * and bytes follow from them, the estimator predicts their time, the executor
 * runs them.
 *
 * A multiply-add is 2 FLOP.  Bytes are the traffic of the device's memory
 * interface if nothing stays in cache (collectives and copies: the payload).
 * Dimensions are per GPU, after tensor and sequence parallelism.
 *
 * Adding an op: one row in ops[] of op.c (name, dimension names, class), its
 * FLOP and byte formulas there, its place in a list of op_list.c, its cost in
 * estimator/, its kernel in the executor.
 */
#ifndef RA_GRAPH_OP_OP_H
#define RA_GRAPH_OP_OP_H

#include <glib.h>
#include <stdint.h>

#include "graph/input/model.h"
#include "graph/input/workload.h"

typedef enum {
  /* kind            dim[]  */
  RA_OP_GEMM,      /* m, n, k, batch: out(m, n) = in(m, k) x weight(k, n);
                      reuse: see graph/op/op_reuse.h, 0: unknown */
  RA_OP_ATTENTION, /* sequences, q_tokens, kv_tokens, pairs, q_heads, kv_heads,
                      head_dim */
  RA_OP_ATTENTION_BACKWARD,      /* the same */
  RA_OP_ATTENTION_CORE,          /* the same: scores in memory, not in tiles */
  RA_OP_ATTENTION_CORE_BACKWARD, /* the same */
  RA_OP_DECODE_ATTENTION,        /* the same; one query token per sequence; if
                                    sparse, the choice of blocks too: kv_tokens
                                    are scored, of which pairs are seen */
  RA_OP_NORM,                    /* tokens, width */
  RA_OP_NORM_BACKWARD,           /* tokens, width */
  RA_OP_ROPE,                    /* tokens, heads, head_dim */
  RA_OP_ACTIVATION,          /* tokens, width, gated (0 or 1): SwiGLU or GELU */
  RA_OP_ACTIVATION_BACKWARD, /* the same */
  RA_OP_ADD,                 /* tokens, width: residual */
  RA_OP_EMBEDDING,           /* tokens, width, vocab */
  RA_OP_EMBEDDING_BACKWARD,  /* the same */
  RA_OP_CROSS_ENTROPY,       /* tokens, vocab: log-prob or loss of each token */
  RA_OP_CROSS_ENTROPY_BACKWARD, /* the same */
  RA_OP_ROUTER,     /* tokens, experts, chosen: top-k of the gate's logits */
  RA_OP_PERMUTE,    /* tokens, width, copies: tokens to experts' order or
                       back; copies: per token, included in tokens (0: 1) */
  RA_OP_SAMPLE,     /* sequences, vocab */
  RA_OP_LOSS,       /* tokens: elementwise PPO or value loss, KL, advantages */
  RA_OP_OPTIMIZER,  /* parameters, cast_bytes: AdamW with fp32 master weights;
                       traffic of the casts of all new weights that follow */
  RA_OP_ALL_REDUCE, /* bytes, ranks, ranks_per_node, groups_per_node */
  RA_OP_REDUCE_SCATTER, /* the same; bytes: the whole vector */
  RA_OP_ALL_GATHER,     /* the same; bytes: the whole vector */
  RA_OP_ALL_TO_ALL,     /* the same; bytes: sent by one rank, one part for each
                           rank; node_bytes: those that go to other nodes, 0:
                           the parts of their ranks; tokens of this rank that go
                           to experts by DeepEP's kernels, 0: by NCCL's; in a
                           node node_bytes are then those of a token's row;
                           multiprocessors of these, 0: those of low latency */
  RA_OP_BROADCAST,      /* the same; bytes: the vector */
  RA_OP_SEND, /* bytes, inter_node (0 or 1), pairs_per_node: point to point */
  RA_OP_REALLOC, /* intra_bytes, inter_bytes: largest traffic in or out of one
                    GPU; steps; cast_elements: weights that one GPU casts from
                    16 to 8 bits, in blocks, once they have arrived */
  RA_OP_OFFLOAD, /* bytes: device to host, over one link; state: of these, the
                    optimizer's */
  RA_OP_RELOAD,  /* bytes, state: host to device */
  RA_OP_HOST,    /* nanoseconds of host work */
  RA_OP_LATENT,  /* latent attention, keys and values made whole: sequences,
                    q_tokens, kv_tokens, pairs, heads, key_dim, value_dim */
  RA_OP_LATENT_BACKWARD, /* the same */
  RA_OP_LATENT_DECODE,   /* on the latent cache itself, by absorbed matrices:
                            sequences, q_tokens, kv_tokens, pairs, heads, rank,
                            rope_dim */
  RA_OP_INDEXER, /* scores of an indexer and its choice: sequences, q_tokens,
                    kv_tokens, pairs, heads, head_dim, chosen */
  RA_OP_CONV,    /* causal convolution of channels: tokens, width, taps,
                    sequences, whose last taps are read and written */
  RA_OP_CONV_BACKWARD, /* the same */
  RA_OP_SCAN, /* linear attention in chunks: sequences, tokens, key_heads,
                    value_heads, key_dim, state_dim, chunk */
  RA_OP_SCAN_BACKWARD, /* the same */
  RA_OP_SCAN_STEP,     /* one token a sequence on its state: sequences, tokens,
                          key_heads, value_heads, key_dim, state_dim */
  RA_OP_EXPERTS,       /* tokens, hidden, width, experts, chosen, ep, skew: an
                       expert layer without its router's product and exchanges.
                       Tokens of all ranks; width of an expert on this one;
                       experts of the layer; skew: exponent of the power law of
                       their loads, hundredths; 0: even by chance;
                       %RA_OP_SKEW_DEALT: dealt in turn */
  RA_OP_EXPERTS_BACKWARD, /* the same */
  RA_OP_CAST, /* elements, reads, copies, block, width: 16-bit values to 8 bits;
                 reads: passes over them; copies: as they are, and transposed;
                 block: values that share a scale of 4 bytes, 0: all; width:
                 elements of a row, 0: not known */
  RA_OP_COMPRESSED, /* attention to a window and to compressed entries, whose
                       one head is keys and values, prompts' or a step's:
                       sequences, q_tokens, kv_tokens, pairs, heads, head_dim,
                       ratio: tokens of an entry, 0: the window alone */
  RA_OP_COMPRESSED_BACKWARD, /* the same */
  RA_N_OPS
} RaOpKind;

/* Class in which an op's time is reported. */
typedef enum {
  RA_OP_CLASS_COMPUTE,
  RA_OP_CLASS_COMM,
  RA_OP_CLASS_COPY,
  RA_OP_CLASS_HOST
} RaOpClass;

#define RA_OP_DIMS 7
#define RA_OP_SKEW_DEALT 65535 /* of experts: every one has as many rows */
/* Tokens of a rank up to which DeepEP's kernels of low latency take them, and
 * the experts a masked layout (SGLang,
 * SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK). */
#define RA_OP_MASKED_TOKENS 128
/* Multiprocessors of DeepEP's other kernels (Buffer.num_sms, buffer.py). */
#define RA_OP_EXCHANGE_SMS 20
/* Ranks that they reach over NVLink (NUM_MAX_NVL_PEERS, configs.cuh), beyond
 * which kernels are of the whole domain of an NVL72. */
#define RA_OP_NVLINK_PEERS 8

typedef enum {
  RA_OP_BEHIND = 1,     /* overlaps the preceding op of the list, run by run:
                           only its excess over that op is exposed */
  RA_OP_DROPOUT = 2,    /* core of attention with dropout on its weights */
  RA_OP_UNFUSED = 4,    /* cross-entropy as an eager framework runs it */
  RA_OP_RAGGED = 8,     /* GEMM with rows whose length is not a multiple of 16
                           bytes (8 elements) */
  RA_OP_QUANTIZED = 16, /* fp8 GEMM whose operand in(m, k) is already fp8 */
  RA_OP_FROZEN = 32,    /* GEMM or experts with weights that are not trained:
                           its backward needs no operand */
  RA_OP_DELTA = 64,     /* scan by a delta rule, or its convolution; else
                           Mamba-2's */
  RA_OP_ON_CPU = 128,   /* optimizer whose state and step are the host's */
  RA_OP_BLOCK = 256,    /* fp8 with a scale a block: 1 x 128 of the operand, 128
                           x 128 of the weight */
  RA_OP_NARROW = 512,   /* 4 bits in place of 8 (NVFP4); with 16-bit tokens, or
                           beside RA_OP_BLOCK, of weights alone (MXFP4) */
  RA_OP_PLAIN = 1024,   /* experts of two matrices: not gated */
  RA_OP_ROUTED = 2048,  /* router or permutation of an expert layer, which the
                           law of RA_OP_EXPERTS was measured with; experts to
                           which an exchange brings rows: a rank has 1 / ep of
                           the tokens; all-to-all that brings rows back */
  RA_OP_NONCAUSAL = 4096, /* attention of all queries to all keys: no mask */
  RA_OP_KIMI = 8192,      /* scan or convolution of Kimi delta attention, whose
                          decay is by channel */
  RA_OP_WINDOW = 16384,   /* attention of a decode step within a window */
  RA_OP_SPARSE = 32768    /* attention to the keys, or compressed entries, that
                          an indexer chose for each query; an indexer of
                          compressed entries */
} RaOpFlags;

typedef struct {
  uint8_t kind;             /* RaOpKind */
  uint8_t dtype;            /* RaDtype of the operands */
  uint16_t flags;           /* RaOpFlags */
  uint32_t count;           /* consecutive runs in its list (layers), >= 1 */
  uint64_t dim[RA_OP_DIMS]; /* by kind, rest 0 */
} RaOp;

/* "gemm", static. */
const char *ra_op_name(RaOpKind kind);
RaOpClass ra_op_class(RaOpKind kind);
/* Name of dimension @index, NULL past the last. */
const char *ra_op_dim_name(RaOpKind kind, guint index);

/* Type in which an op of kind @kind computes, in a model of @dtype: @dtype for
 * GEMMs and for ops that read the key/value cache, else ra_activation_dtype().
 */
RaDtype ra_op_dtype(RaOpKind kind, RaDtype dtype);

/* FLOP and bytes of one of the @op->count runs. O(1). */
double ra_op_flop(const RaOp *op);
double ra_op_bytes(const RaOp *op);

/* TRUE for attention over whole sequences, its backward, and cores. */
gboolean ra_op_is_attention(RaOpKind kind);

/* Number of scores of a core of attention: every query of a sequence by every
 * key, for sequences of equal length. */
double ra_op_n_scores(const RaOp *op);

/* Kernels that one run launches in an eager framework (0 for host ops). */
guint ra_op_n_launches(const RaOp *op);

/* TRUE if 0 in that dimension means unknown: ra_op_shape() then omits it. */
gboolean ra_op_dim_is_optional(RaOpKind kind, guint index);

/* (transfer full): shape for traces, "m=16,n=4096,k=4096,batch=1".  It ends in
 * ",reuse=24" for a GEMM with a known reuse, ",dtype=fp8" if the type is not
 * bf16, and ",flags=behind+ragged" if there are flags.  It describes the whole
 * op except its count. */
char *ra_op_shape(const RaOp *op);

/**
 * ra_op_parse:
 * @name: ra_op_name() of the op
 * @shape: ra_op_shape() of the op; its parts may have any order
 * @out_op: (out): untouched on error; count 1
 * @error: %RA_ERROR_INPUT without file and line: the caller prefixes
 *
 * The inverse of ra_op_name() and ra_op_shape().
 */
gboolean ra_op_parse(const char *name, const char *shape, RaOp *out_op,
                     GError **error);

/* --- the op lists of a piece of a model --- */

typedef enum {
  RA_PHASE_FORWARD,  /* inference, or training's forward */
  RA_PHASE_BACKWARD, /* gradients of inputs and weights, after the shard's
                        recomputation */
  RA_PHASE_DECODE,   /* one new token per sequence, with RaShard.draft_tokens
                        more that are verified */
  RA_N_PHASES
} RaPhase;

/* Partition of a model by a call: all that shapes an op except the batch. */
typedef struct {
  const RaModel *model;        /* borrowed */
  uint32_t tp;                 /* tensor parallel degree */
  uint32_t tp_ranks_per_node;  /* tp ranks that share a node */
  uint32_t tp_groups_per_node; /* tp groups that share a node's NICs, >= 1 */
  uint32_t cp; /* ranks that share each sequence; 0 counts as 1, as for ep */
  uint32_t cp_rings_per_node;  /* rings that leave a node through its NICs; 0:
                                  a ring stays in its node */
  uint32_t ep;                 /* expert parallel degree */
  uint32_t ep_ranks_per_node;  /* ep ranks that share a node */
  uint32_t ep_groups_per_node; /* ep groups that share a node's NICs, >= 1 */
  uint32_t expert_tp; /* ranks that cut an expert; 0: tp, and its geometry */
  uint32_t expert_tp_ranks_per_node;
  uint32_t expert_tp_groups_per_node;
  uint8_t dispatch;       /* RaDispatch of graph/input/plan.h */
  uint8_t groups_experts; /* 0 or 1: the experts of a layer are one op, not
                                what ra_op_list_lower() makes of it */
  uint8_t dtype;          /* RaDtype of parameters; see ra_op_dtype() */
  uint8_t kv_dtype;       /* 1 + RaDtype of cached keys and values; 0: that
                                of parameters */
  uint8_t by_block;       /* 0 or 1: fp8 products have %RA_OP_BLOCK */
  uint8_t expert_dtype;   /* RaExpertDtype of graph/input/plan.h */
  uint8_t fp8_gemms;      /* 0 or 1: linear layers of @dtype compute in fp8 */
  uint8_t fp8_scaling;    /* RaFp8Scaling of graph/input/plan.h, of these */
  uint32_t bf16_first;    /* layers of the model's start, and end, in which */
  uint32_t bf16_last;     /* they do not */
  uint8_t recompute;      /* RaRecompute of graph/input/plan.h */
  uint8_t attention;      /* RaAttention of graph/input/plan.h */
  uint8_t cross_entropy;  /* RaCrossEntropy of graph/input/plan.h */
  uint8_t sequence_parallel; /* 0 or 1 */
  uint8_t scatter_sends;     /* 0 or 1: tp ranks send parts to the next stage,
                                which gathers them */
  uint8_t launch;            /* RaLaunch */
  uint8_t sampling;          /* the head samples (generate) */
  uint8_t second_stream;     /* 0 or 1: an engine's for small ops of latent
                                attention, which overlap others */
  uint8_t loss;              /* the head computes a loss (train) */
  uint8_t in_place_loss;     /* RaMemoryHabits: memory of the logits only */
  uint8_t draft_tokens;      /* generate: guessed before each pass, RaDrafts */
  uint8_t draft_layer;       /* 0 or 1: by one more layer */
  float draft_accepted_frac;
  /* zero 3: the dp ranks that shard the weights; ranks 0: not sharded */
  uint32_t zero_ranks;
  uint32_t zero_ranks_per_node;
  uint32_t zero_groups_per_node;
  /* and those of experts that are spread; 0: they are as other weights */
  uint32_t zero_expert_ranks;
  uint32_t zero_expert_ranks_per_node;
  uint32_t zero_expert_groups_per_node;
} RaShard;

/* RaDtype of the keys and values that @shard caches. */
static inline RaDtype
ra_shard_kv_dtype(const RaShard *shard)
{
  return (RaDtype)(shard->kv_dtype > 0 ? shard->kv_dtype - 1 : shard->dtype);
}

/* Positions of a sequence in a pass of generation, and its tokens of a pass. */
static inline uint32_t
ra_shard_positions(const RaShard *shard)
{
  return 1u + shard->draft_tokens;
}

static inline double
ra_shard_tokens_per_pass(const RaShard *shard)
{
  return 1 + shard->draft_tokens * (double)shard->draft_accepted_frac;
}

/* Contiguous piece of the model: a (virtual) pipeline stage. */
typedef struct {
  uint32_t first_layer;
  uint32_t n_layers;
  uint8_t has_embedding; /* the first stage */
  uint8_t has_head;      /* the last: final norm, lm or value head, loss */
} RaPiece;

/* TRUE if the op lists of a forward pass or a decode step over @a and over @b
 * are the same: as many layers of each kind, as many in fp8, the same ends. */
gboolean ra_piece_is_alike(const RaShard *shard, const RaPiece *a,
                           const RaPiece *b);

/* The layers of @piece whose linear layers compute in fp8, without ends; none
 * if @shard has no fp8 GEMMs. */
RaPiece ra_piece_fp8_layers(const RaShard *shard, const RaPiece *piece);

/* Batch of ragged sequences as an op sees it.  All values are sums over the
 * sequences of a whole replica; the op list divides them by context
 * parallelism.
 */
typedef struct {
  uint32_t n_sequences;
  uint64_t q_tokens;  /* tokens computed */
  uint64_t kv_tokens; /* tokens attended to, at most, by each sequence */
  uint64_t pairs; /* query-key pairs under the causal mask: sum s (s + 1) / 2
                     for whole sequences; kv_tokens for decode */
} RaBatch;

/* Query-key pairs of @batch if a query attends to at most @window keys, its own
 * included: sum min(i, window) over the positions i of a sequence.  0: all.
 *
 * A batch has sums, not lengths: its sequences count as equally long.  Whole
 * sequences have the mean length that a token sees, 2 pairs / tokens - 1, which
 * is theirs if they are equal. */
uint64_t ra_op_pairs(const RaBatch *batch, uint32_t window);

/* Tokens that the queries of @batch attend to, at most, if a query attends to
 * @window keys: kv_tokens, or what is left of it. */
uint64_t ra_op_kv_tokens(const RaBatch *batch, uint32_t window);

/* Query-key pairs of @batch with entries of @ratio tokens each, of which a
 * query sees at most @top_k (0: all) of those that end where it stands or
 * before: sum min(floor(i / ratio), top_k) over the positions i of a sequence,
 * from 1.  Lengths are those of ra_op_pairs(). */
uint64_t ra_op_entry_pairs(const RaBatch *batch, uint32_t ratio,
                           uint32_t top_k);

/* TRUE for causal attention of heads beyond 128, or in a window that leaves out
 * a key a query and more, and for a decode step's of heads beyond 128, or in a
 * window: engines have other kernels for it. */
gboolean ra_op_is_wide(const RaOp *op);

#define RA_OP_LIST_MAX 1024

/**
 * ra_op_list:
 * @shard: partition of the model
 * @piece: part of the model
 * @phase: forward, backward or decode
 * @batch: sequences
 * @out_ops: (out) (array length=RA_OP_LIST_MAX): written in order of execution;
 *   the count of a layer's op is the number of layers of that kind
 *
 * Lists the ops of one GPU of the tensor-parallel group, with its
 * tensor-parallel collectives, which run between computations and are exposed.
 * Layers of one kind are folded: the list has the number of runs of each op,
 * not the interleaving of layers.
 *
 * Backward of a GEMM is two GEMMs (input and weight gradient).  Full
 * recomputation prepends the layers' forward, selective the attention's.
 *
 * Experts: tokens choose independently and evenly, so all ranks have equally
 * many.  t tokens visit E (1 - (1 - k / E)^t) of the E experts on average (each
 * token misses an expert with probability 1 - k / E).  With ep > 1 each layer
 * has two all-to-alls per pass, dispatch and combine, of tokens x k x hidden on
 * each rank (including its own part, as the op's bytes do).  With sequence
 * parallelism a rank sends its share of the tokens and the expert-tp ranks
 * gather the received ones (Megatron-LM, token_dispatcher.py,
 * MoEAlltoAllTokenDispatcher).  Without, and with expert-tp < tp: if the tp
 * group has all experts, each rank computes the choices that fall on its own
 * and the group sums the outputs; else each rank sends its tp-th of the tokens
 * and the tp group gathers the outputs.  The other ranks of an exchange are
 * assumed to have as many tokens as this one.  With dispatch `once` (DeepEP), a
 * token is sent to each rank that has one of its experts, and over the network
 * to each node that does, instead of k times.
 *
 * Context parallelism is ring attention (arXiv 2310.01889) in balanced zig-zag
 * order (arXiv 2404.13358).  It has cp steps, each on one rank's keys and
 * values while the next rank's arrive; the rank's own come first.  A step after
 * the first has the same number of pairs on every rank, sum s^2 / (2 cp^2); the
 * first, causal, has sum s / (2 cp) more.  Every step but the first merges two
 * partial outputs.  Backward sends keys, values and their gradients, which
 * travel one step more to return to their rank.
 *
 * Latent attention makes keys and values of all heads from the latent ones in
 * forward and backward.  A decode step multiplies the queries by the keys'
 * matrix instead, attends to the latent cache, and multiplies what comes out by
 * the values' (absorbed matrices, arXiv 2405.04434 section 2.1.2).  So do
 * prompts whose keys an indexer chooses, without a loss.  Every tp rank makes
 * all of the latent queries, keys and values.  An indexer scores all pairs, on
 * every rank; attention then has at most index_top_k keys a query.  Its choice
 * has no gradient, nor then has it.
 *
 * Linear mixers compute in chunks of a sequence, and step by step in decode.
 * Each is an input projection, a convolution, the scan, a norm with a gate and
 * an output projection.
 *
 * Shared experts run on all tokens like a dense MLP of their width.
 *
 * Adapters (graph/input/lora.h) follow the GEMM of their target: A of its
 * targets in one GEMM, then B of each, and the sum; backward in reverse.  The
 * weights of a model with adapters are frozen: their backward computes
 * gradients of inputs alone, and that of an embedding is empty.
 *
 * With fp8 GEMMs each linear layer casts its input first, and the gradient of
 * its output in the backward (graph/op/op_cast.h).
 *
 * Returns: number of ops, <= RA_OP_LIST_MAX. O(1), allocates nothing.
 */
guint ra_op_list(const RaShard *shard, const RaPiece *piece, RaPhase phase,
                 const RaBatch *batch, RaOp *out_ops);

/**
 * ra_op_list_step:
 * @batch: all rows: tokens computed, and as many sequences as are sampled
 * @chunks: chunks of prompts among them
 * @steps: sequences that decode one token each
 *
 * As ra_op_list(), of a step of continuous batching.  Mixers see chunks and
 * decoding sequences apart; the ops of the latter are last in the list.
 */
guint ra_op_list_step(const RaShard *shard, const RaPiece *piece,
                      const RaBatch *batch, const RaBatch *chunks,
                      const RaBatch *steps, RaOp *out_ops);

/**
 * ra_op_list_experts:
 * @shard: partition of a model with experts, where no tokens are exchanged
 * @tokens: tokens of each rank
 * @out_ops: (out) (array length=RA_OP_LIST_MAX)
 *
 * Part of ra_op_list() for the experts of one layer, forward: from the router's
 * GEMM to the sum of the experts' outputs.
 *
 * Returns: number of ops
 */
guint ra_op_list_experts(const RaShard *shard, uint64_t tokens, RaOp *out_ops);

/**
 * ra_op_list_lower:
 * @ops: (inout) (array length=RA_OP_LIST_MAX): @n_ops of a list
 *
 * Replaces each op of experts by its parts: a batch of products up, the
 * activation, a batch of products down; backward in reverse, with the products
 * of the weights' gradients.  The batch is the experts that even loads visit,
 * with equal numbers of rows.  Routing then counts for itself.
 *
 * Returns: number of ops
 */
guint ra_op_list_lower(RaOp *ops, guint n_ops);

/* Most ops of one that has been lowered. */
#define RA_OP_EXPERTS_PARTS 5

/* Parameters of @piece on one GPU of the tp group (replicated norms count in
 * full, vocabulary is padded up to a multiple of tp, experts / ep). */
uint64_t ra_piece_n_params(const RaShard *shard, const RaPiece *piece);

/* Parameters of experts among them, without routers.  Their gradients are
 * reduced over ra_call_plan_expert_dp() ranks, the others' over dp x cp. */
uint64_t ra_piece_n_expert_params(const RaShard *shard, const RaPiece *piece);

/* Trained parameters among either, which have gradients: the adapters alone if
 * the model has any (graph/input/lora.h), else all. */
uint64_t ra_piece_n_trained(const RaShard *shard, const RaPiece *piece);
uint64_t ra_piece_n_trained_experts(const RaShard *shard, const RaPiece *piece);

/* Elements of the matrices of @piece on one GPU whose products are in fp8; 0 if
 * @shard has no fp8 GEMMs. */
uint64_t ra_piece_n_fp8(const RaShard *shard, const RaPiece *piece);

/* Weights that share a scale of 4 bytes, blockwise. */
#define RA_FP8_WEIGHT_BLOCK (128 * 128)

/* Bytes of one 8-bit copy of @n such elements with its scales, and those that a
 * cast of them moves which writes both copies. */
uint64_t ra_op_fp8_weight_bytes(const RaShard *shard, uint64_t n);
uint64_t ra_op_fp8_weight_traffic(const RaShard *shard, uint64_t n);

/* All-gather of @piece's weights from the shards of zero 3; 0 bytes if @shard
 * does not shard them. */
RaOp ra_op_gather(const RaShard *shard, const RaPiece *piece);

/* The same of weights of experts that are spread, which ra_op_gather() leaves
 * out; 0 bytes if there are none. */
RaOp ra_op_gather_experts(const RaShard *shard, const RaPiece *piece);

/* Expected number of parts that have one of the k = @n_chosen experts that a
 * token visits, if the experts are divided into @n_parts equal parts:
 * n (1 - C(E - E / n, k) / C(E, k)).  O(k). */
double ra_experts_parts_met(double n_experts, double n_chosen, double n_parts);

/* Expected number of experts of one of @ep ranks that the @n_tokens of all
 * ranks visit, rounded: at least 1 and at most @choices. */
uint64_t ra_experts_met(const RaModel *model, uint32_t ep, uint64_t n_tokens,
                        uint64_t choices);

/* The same of @op, an %RA_OP_EXPERTS or its backward, and the copies of tokens
 * that come to its rank if loads are even. */
uint64_t ra_op_experts_met(const RaOp *op);
uint64_t ra_op_experts_rows(const RaOp *op);

/* Model FLOP of @batch through the whole model, forward only, without tp
 * padding or recomputation, as MFU counts them.  Each token counts only the
 * experts that it visits.  Backward counts twice this. */
double ra_model_forward_flop(const RaModel *model, const RaBatch *batch);

/* The same of decode steps, whose prompts have been computed: no images. */
double ra_model_decode_flop(const RaModel *model, const RaBatch *batch);

/* Model FLOP of the prompts of a generate call: only the last token of each
 * prompt needs logits, so the head counts once per sequence. */
double ra_model_prefill_flop(const RaModel *model, const RaBatch *batch);

/* Model FLOP of training on @batch, forward and backward: three times forward,
 * minus the gradients of the frozen weights of a model with adapters, whose
 * vision tower has no backward. */
double ra_model_train_flop(const RaModel *model, const RaBatch *batch);

/* Stride of a row of @n logits, elements.  Rows of two-byte elements are padded
 * to 16 bytes, the alignment that GPU GEMMs and kernels require
 * (exec/backend/cuda_gemm.h, kernels/logprob.h); the padding is unused.  Rows
 * of fp32 are for a CPU, and dense. */
static inline uint64_t
ra_logits_row(uint64_t n, uint64_t element_bytes)
{
  return element_bytes == 2 ? (n + 7) / 8 * 8 : n;
}

#endif
