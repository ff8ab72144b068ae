/* Operations: what a task does, with shapes.  The one op table.
 *
 * The op list of a transformer layer (forward, backward, recompute, prefill,
 * decode), of the embedding, the head and the optimizer is written once, here.
 * FLOPs and bytes are derived from it, the estimator costs it, the executor
 * runs it.
 *
 * A multiply-add is 2 FLOP.  Bytes are what must cross the device's memory
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
                      reuse: see graph/op/op_reuse.h, 0: not said */
  RA_OP_ATTENTION, /* sequences, q_tokens, kv_tokens, pairs, q_heads, kv_heads,
                      head_dim */
  RA_OP_ATTENTION_BACKWARD,      /* the same */
  RA_OP_ATTENTION_CORE,          /* the same: scores in memory, not in tiles */
  RA_OP_ATTENTION_CORE_BACKWARD, /* the same */
  RA_OP_DECODE_ATTENTION,        /* the same; one query token a sequence */
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
                       back; copies: of each, counted in tokens (0: 1) */
  RA_OP_SAMPLE,     /* sequences, vocab */
  RA_OP_LOSS,       /* tokens: elementwise PPO or value loss, KL, advantages */
  RA_OP_OPTIMIZER,  /* parameters: AdamW with fp32 master weights */
  RA_OP_ALL_REDUCE, /* bytes, ranks, ranks_per_node, groups_per_node */
  RA_OP_REDUCE_SCATTER, /* the same; bytes: the whole vector */
  RA_OP_ALL_GATHER,     /* the same; bytes: the whole vector */
  RA_OP_ALL_TO_ALL,     /* the same; bytes: what one rank sends, a rank's part
                           each; node_bytes: what of it goes to other nodes,
                           0: the parts of their ranks */
  RA_OP_BROADCAST,      /* the same; bytes: the vector */
  RA_OP_SEND, /* bytes, inter_node (0 or 1), pairs_per_node: point to point */
  RA_OP_REALLOC, /* intra_bytes, inter_bytes: largest in or out of one GPU;
                    steps */
  RA_OP_OFFLOAD, /* bytes: device to host, over one link */
  RA_OP_RELOAD,  /* bytes: host to device, over one link */
  RA_OP_HOST,    /* nanoseconds of host work */
  RA_N_OPS
} RaOpKind;

/* What an op's time counts as. */
typedef enum {
  RA_OP_CLASS_COMPUTE,
  RA_OP_CLASS_COMM,
  RA_OP_CLASS_COPY,
  RA_OP_CLASS_HOST
} RaOpClass;

#define RA_OP_DIMS 7

typedef enum {
  RA_OP_BEHIND = 1,     /* runs beside the op before it in the list, run by run:
                          only what it takes longer is seen */
  RA_OP_DROPOUT = 2,    /* a core of attention drops some of its weights */
  RA_OP_UNFUSED = 4,    /* cross-entropy as an eager framework runs it */
  RA_OP_RAGGED = 8,     /* a product with rows that are no multiple of 16 bytes
                          (8 elements) long */
  RA_OP_QUANTIZED = 16, /* an fp8 product whose operand in(m, k) comes in fp8 */
  RA_OP_FROZEN = 32     /* a product with weights that are not trained: its
                           backward needs no operand */
} RaOpFlags;

typedef struct {
  uint8_t kind;   /* RaOpKind */
  uint8_t dtype;  /* RaDtype of the operands */
  uint16_t flags; /* RaOpFlags */
  uint32_t count; /* times it runs in a row in its list (layers), >= 1 */
  uint64_t dim[RA_OP_DIMS]; /* by kind, rest 0 */
} RaOp;

/* "gemm", static. */
const char *ra_op_name(RaOpKind kind);
RaOpClass ra_op_class(RaOpKind kind);
/* Name of dimension @index, NULL past the last. */
const char *ra_op_dim_name(RaOpKind kind, guint index);

/* What an op of kind @kind computes in, in a model of @dtype: products and
 * what reads the cache of keys in @dtype, the rest in ra_activation_dtype(). */
RaDtype ra_op_dtype(RaOpKind kind, RaDtype dtype);

/* FLOP and bytes of one of the @op->count runs. O(1). */
double ra_op_flop(const RaOp *op);
double ra_op_bytes(const RaOp *op);

/* Scores of a core of attention: every query of a sequence by every key, all
 * sequences taken to be equally long. */
double ra_op_n_scores(const RaOp *op);

/* Kernels that one run of it launches, as an eager framework does (0 for host).
 */
guint ra_op_n_launches(const RaOp *op);

/* Whether 0 of that dimension says nothing: a shape then leaves it out. */
gboolean ra_op_dim_is_optional(RaOpKind kind, guint index);

/* (transfer full): "m=16,n=4096,k=4096,batch=1", for traces; behind it
 * ",reuse=24" of a product that says it, ",dtype=fp8" where that is not bf16
 * and ",flags=behind+ragged" where it has any, so that it is all of the op but
 * its count. */
char *ra_op_shape(const RaOp *op);

/**
 * ra_op_parse:
 * @name: ra_op_name() of it
 * @shape: ra_op_shape() of it; the order of its parts does not count
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
  RA_PHASE_BACKWARD, /* gradients of inputs and weights; with the recomputation
                        its shard asks for */
  RA_PHASE_DECODE,   /* one new token a sequence */
  RA_N_PHASES
} RaPhase;

/* How a call cuts its model: everything but the batch that shapes an op. */
typedef struct {
  const RaModel *model;        /* borrowed */
  uint32_t tp;                 /* tensor parallel degree */
  uint32_t tp_ranks_per_node;  /* tp ranks that share a node */
  uint32_t tp_groups_per_node; /* tp groups that share a node's NICs, >= 1 */
  uint32_t cp; /* ranks that share each sequence; 0 counts as 1, as in ep */
  uint32_t cp_rings_per_node;  /* rings that leave a node by its NICs; 0: a
                                  ring stays in its node */
  uint32_t ep;                 /* expert parallel degree */
  uint32_t ep_ranks_per_node;  /* ep ranks that share a node */
  uint32_t ep_groups_per_node; /* ep groups that share a node's NICs, >= 1 */
  uint8_t dispatch;            /* RaDispatch of graph/input/plan.h */
  uint8_t experts_whole;       /* tp ranks have whole experts, a tp-th of them
                                  each, not a tp-th of every expert */
  uint8_t dtype;               /* RaDtype of parameters; see ra_op_dtype() */
  uint8_t recompute;           /* RaRecompute of graph/input/plan.h */
  uint8_t attention;           /* RaAttention of graph/input/plan.h */
  uint8_t cross_entropy;       /* RaCrossEntropy of graph/input/plan.h */
  uint8_t sequence_parallel;   /* 0 or 1 */
  uint8_t scatter_sends;       /* 0 or 1: stages send parts, gathered by tp */
  uint8_t launch;              /* RaLaunch */
  uint8_t sampling;            /* the head samples (generate) */
  uint8_t loss;                /* the head computes a loss (train) */
  /* zero 3: the dp ranks that have the weights in shards; ranks 0: whole */
  uint32_t zero_ranks;
  uint32_t zero_ranks_per_node;
  uint32_t zero_groups_per_node;
} RaShard;

/* A contiguous piece of the model: a (virtual) pipeline stage. */
typedef struct {
  uint32_t first_layer;
  uint32_t n_layers;
  uint8_t has_embedding; /* the first stage */
  uint8_t has_head;      /* the last: final norm, lm or value head, loss */
} RaPiece;

/* What a batch of ragged sequences is to an op.  All sums over its sequences;
 * of a whole replica: context parallelism cuts it in the op list. */
typedef struct {
  uint32_t n_sequences;
  uint64_t q_tokens;  /* tokens computed */
  uint64_t kv_tokens; /* tokens attended to, at most, each sequence */
  uint64_t pairs; /* query-key pairs under the causal mask: sum s (s + 1) / 2
                     for whole sequences; kv_tokens for decode */
} RaBatch;

#define RA_OP_LIST_MAX 128

/**
 * ra_op_list:
 * @shard: how the model is cut
 * @piece: which part of it
 * @phase: what is done
 * @batch: with what
 * @out_ops: (out) (array length=RA_OP_LIST_MAX): written in order of execution;
 * ops of a layer carry count = layers of the same kind
 *
 * The ops of one GPU of the tensor-parallel group, its tensor-parallel
 * collectives included (they stand between computations and are exposed).
 * Layers of one kind are folded: an op list says how often each op runs, not
 * the interleaving of layers; ra_op_list_layer() gives one layer's order.
 *
 * Experts: tokens choose independently and evenly, so every rank gets as many
 * and t tokens meet E (1 - (1 - k / E)^t) of the E experts on average (each
 * misses an expert with probability 1 - k / E).  With ep > 1 each layer has two
 * all-to-alls a pass, dispatch and combine, of tokens x k x hidden on each rank
 * (its own part included, as the op's bytes are); with sequence parallelism a
 * rank sends its share of the tokens and the tp group gathers what came
 * (Megatron-LM, token_dispatcher.py, MoEAlltoAllTokenDispatcher).  The other
 * ep ranks are taken to have as many tokens as this one.  Dispatched once
 * (DeepEP), a token is sent, not k times, but to each rank that has one of its
 * experts, and over the network to each node that does.
 *
 * Context parallelism is ring attention (arXiv 2310.01889) in balanced zig-zag
 * order (arXiv 2404.13358): cp steps, each on one rank's keys and values while
 * the next rank's arrive, the rank's own first.  A step after the first sees
 * the same number of pairs on every rank, sum s^2 / (2 cp^2); the first,
 * causal, sum s / (2 cp) more.
 * Each but the first merges two partial outputs.  Backward sends keys, values
 * and their gradients, which travel one step more to come home.
 *
 * Adapters (graph/input/lora.h) stand behind the product that they are beside:
 * A of its targets in one product, then B of each, and the sum; backward in
 * reverse. Weights beside them are frozen: their backward is of inputs alone,
 * and that of an embedding is none.
 *
 * Backward of a GEMM is two GEMMs (input and weight gradient); full
 * recomputation prepends the layers' forward, selective the attention's.
 *
 * Returns: number of ops, <= RA_OP_LIST_MAX. O(1), allocates nothing.
 */
guint ra_op_list(const RaShard *shard, const RaPiece *piece, RaPhase phase,
                 const RaBatch *batch, RaOp *out_ops);

/**
 * ra_op_list_experts:
 * @shard: of a model with experts, no ep
 * @tokens: of each rank
 * @visited: experts that they meet, >= 1
 * @out_ops: (out) (array length=RA_OP_LIST_MAX)
 *
 * What one layer's experts do forward, out of ra_op_list(), from the router's
 * product to the sum of what came back, had the tokens met so many experts,
 * each as many rows.
 *
 * Returns: number of ops
 */
guint ra_op_list_experts(const RaShard *shard, uint64_t tokens,
                         uint64_t visited, RaOp *out_ops);

/* Parameters that one GPU of the tp group holds of @piece (replicated norms
 * counted in full, vocabulary padded up to a multiple of tp, experts / ep). */
uint64_t ra_piece_n_params(const RaShard *shard, const RaPiece *piece);

/* Those of them that are experts', routers not counted: their gradients are
 * summed over dp x cp / ep ranks, the others' over dp x cp. */
uint64_t ra_piece_n_expert_params(const RaShard *shard, const RaPiece *piece);

/* Of either, those that a train call has gradients of: adapters alone where the
 * model has any (graph/input/lora.h), else all. */
uint64_t ra_piece_n_trained(const RaShard *shard, const RaPiece *piece);
uint64_t ra_piece_n_trained_experts(const RaShard *shard, const RaPiece *piece);

/* The all-gather of @piece's weights from the shards of zero 3; 0 bytes where
 * @shard has them whole. */
RaOp ra_op_gather(const RaShard *shard, const RaPiece *piece);

/* Of the experts cut into @n_parts equal parts, how many parts have one of the
 * k that a token visits, on average: n (1 - C(E - E / n, k) / C(E, k)).  O(k).
 */
double ra_experts_parts_met(const RaModel *model, uint32_t n_parts);

/* Experts of one of @ep ranks that @n_tokens, of all ranks, meet: expected and
 * rounded, at least one and no more than there are @choices. */
uint64_t ra_experts_met(const RaModel *model, uint32_t ep, uint64_t n_tokens,
                        uint64_t choices);

/* Model FLOP of @batch through the whole model, forward only, without tp
 * padding or recomputation: what MFU counts.  A token meets the experts that
 * it visits, no others.  Backward counts twice this. */
double ra_model_forward_flop(const RaModel *model, const RaBatch *batch);

/* The same for the prompts of a generate call: only each one's last token
 * needs logits, so the head counts once a sequence. */
double ra_model_prefill_flop(const RaModel *model, const RaBatch *batch);

/* Model FLOP of training on @batch, forward and backward: three times forward,
 * less the gradients of weights that are frozen beside adapters. */
double ra_model_train_flop(const RaModel *model, const RaBatch *batch);

/* Elements from one row of @n logits to the next: where they are of two bytes,
 * whole vectors of 16, as products and kernels of a GPU want rows to begin
 * (exec/backend/cuda_gemm.h, kernels/logprob.h).  The columns behind the @n are
 * nobody's.  Rows of fp32 are a CPU's, and dense. */
static inline uint64_t
ra_logits_row(uint64_t n, uint64_t element_bytes)
{
  return element_bytes == 2 ? (n + 7) / 8 * 8 : n;
}

#endif
