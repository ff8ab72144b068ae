/* Table of ops: names, dimensions, classes, FLOPs, bytes, launches. */
#include "config.h"

#include "graph/op/op_reuse.h"

/* Cross-entropy of Megatron-LM before it was fused
 * (megatron/mpu/cross_entropy.py, _VocabParallelCrossEntropy, 2021), a kernel a
 * line.  Forward: to fp32, maximum, difference, three of the mask of targets,
 * two of masked targets, four of the target's logits, exponential, sum,
 * logarithm, difference, quotient; then the loss with its mask: six.  Backward:
 * index of targets, update, product with the gradient, back to 16 bits. */
#define UNFUSED_LAUNCHES 23
#define UNFUSED_BACKWARD_LAUNCHES 6
/* Bytes of a logit that those of them with a kernel over all logits move: to
 * fp32 e + 4, maximum 4, difference, exponential and quotient 8 each, sum 4;
 * backward product 8, back to 16 bits 4 + e. */
#define UNFUSED_BYTES 36
#define UNFUSED_BACKWARD_BYTES 12

/* The op table: one row an op. */
typedef struct {
  const char *name;
  RaOpClass class;
  guint n_launches; /* kernels of one run in an eager framework */
  const char *dims[RA_OP_DIMS];
} RaOpRow;

#define COLLECTIVE_DIMS                                                        \
  {                                                                            \
    "bytes", "ranks", "ranks_per_node", "groups_per_node"                      \
  }
#define ATTENTION_DIMS                                                         \
  {                                                                            \
    "sequences", "q_tokens", "kv_tokens", "pairs", "q_heads", "kv_heads",      \
        "head_dim"                                                             \
  }

/* clang-format off */
static const RaOpRow ops[RA_N_OPS] = {
  [RA_OP_GEMM] = {"gemm", RA_OP_CLASS_COMPUTE, 1,
    {"m", "n", "k", "batch", "reuse"}},
  [RA_OP_ATTENTION] = {"attention", RA_OP_CLASS_COMPUTE, 1, ATTENTION_DIMS},
  [RA_OP_ATTENTION_BACKWARD] =
    {"attention_backward", RA_OP_CLASS_COMPUTE, 1, ATTENTION_DIMS},
  [RA_OP_ATTENTION_CORE] =
    {"attention_core", RA_OP_CLASS_COMPUTE, 4, ATTENTION_DIMS},
  [RA_OP_ATTENTION_CORE_BACKWARD] =
    {"attention_core_backward", RA_OP_CLASS_COMPUTE, 6, ATTENTION_DIMS},
  [RA_OP_DECODE_ATTENTION] =
    {"decode_attention", RA_OP_CLASS_COMPUTE, 1, ATTENTION_DIMS},
  [RA_OP_NORM] = {"norm", RA_OP_CLASS_COMPUTE, 1, {"tokens", "width"}},
  [RA_OP_NORM_BACKWARD] =
    {"norm_backward", RA_OP_CLASS_COMPUTE, 1, {"tokens", "width"}},
  [RA_OP_ROPE] =
    {"rope", RA_OP_CLASS_COMPUTE, 1, {"tokens", "heads", "head_dim"}},
  [RA_OP_ACTIVATION] =
    {"activation", RA_OP_CLASS_COMPUTE, 1, {"tokens", "width", "gated"}},
  [RA_OP_ACTIVATION_BACKWARD] = {"activation_backward", RA_OP_CLASS_COMPUTE, 1,
                                 {"tokens", "width", "gated"}},
  [RA_OP_ADD] = {"add", RA_OP_CLASS_COMPUTE, 1, {"tokens", "width"}},
  [RA_OP_EMBEDDING] =
    {"embedding", RA_OP_CLASS_COMPUTE, 1, {"tokens", "width", "vocab"}},
  [RA_OP_EMBEDDING_BACKWARD] = {"embedding_backward", RA_OP_CLASS_COMPUTE, 1,
                                {"tokens", "width", "vocab"}},
  [RA_OP_CROSS_ENTROPY] =
    {"cross_entropy", RA_OP_CLASS_COMPUTE, 1, {"tokens", "vocab"}},
  [RA_OP_CROSS_ENTROPY_BACKWARD] =
    {"cross_entropy_backward", RA_OP_CLASS_COMPUTE, 1, {"tokens", "vocab"}},
  [RA_OP_ROUTER] =
    {"router", RA_OP_CLASS_COMPUTE, 1, {"tokens", "experts", "chosen"}},
  [RA_OP_PERMUTE] = {"permute", RA_OP_CLASS_COMPUTE, 1,
                     {"tokens", "width", "copies"}},
  [RA_OP_SAMPLE] = {"sample", RA_OP_CLASS_COMPUTE, 1, {"sequences", "vocab"}},
  [RA_OP_LOSS] = {"loss", RA_OP_CLASS_COMPUTE, 1, {"tokens"}},
  [RA_OP_OPTIMIZER] = {"optimizer", RA_OP_CLASS_COMPUTE, 1, {"parameters"}},
  [RA_OP_ALL_REDUCE] = {"all_reduce", RA_OP_CLASS_COMM, 1, COLLECTIVE_DIMS},
  [RA_OP_REDUCE_SCATTER] =
    {"reduce_scatter", RA_OP_CLASS_COMM, 1, COLLECTIVE_DIMS},
  [RA_OP_ALL_GATHER] = {"all_gather", RA_OP_CLASS_COMM, 1, COLLECTIVE_DIMS},
  [RA_OP_ALL_TO_ALL] =
    {"all_to_all", RA_OP_CLASS_COMM, 1,
     {"bytes", "ranks", "ranks_per_node", "groups_per_node", "node_bytes"}},
  [RA_OP_BROADCAST] = {"broadcast", RA_OP_CLASS_COMM, 1, COLLECTIVE_DIMS},
  [RA_OP_SEND] =
    {"send", RA_OP_CLASS_COMM, 1, {"bytes", "inter_node", "pairs_per_node"}},
  [RA_OP_REALLOC] =
    {"realloc", RA_OP_CLASS_COMM, 1, {"intra_bytes", "inter_bytes", "steps"}},
  [RA_OP_OFFLOAD] = {"offload", RA_OP_CLASS_COPY, 1, {"bytes"}},
  [RA_OP_RELOAD] = {"reload", RA_OP_CLASS_COPY, 1, {"bytes"}},
  [RA_OP_HOST] = {"host", RA_OP_CLASS_HOST, 0, {"nanoseconds"}},
};
/* clang-format on */

const char *
ra_op_name(RaOpKind kind)
{
  g_return_val_if_fail(kind < RA_N_OPS, "?");
  return ops[kind].name;
}

RaOpClass
ra_op_class(RaOpKind kind)
{
  g_return_val_if_fail(kind < RA_N_OPS, RA_OP_CLASS_COMPUTE);
  return ops[kind].class;
}

const char *
ra_op_dim_name(RaOpKind kind, guint index)
{
  g_return_val_if_fail(kind < RA_N_OPS, NULL);
  return index < RA_OP_DIMS ? ops[kind].dims[index] : NULL;
}

gboolean
ra_op_dim_is_optional(RaOpKind kind, guint index)
{
  return kind == RA_OP_GEMM && index == RA_OP_REUSE_DIM;
}

RaDtype
ra_op_dtype(RaOpKind kind, RaDtype dtype)
{
  switch (kind) {
  case RA_OP_GEMM:
  case RA_OP_DECODE_ATTENTION:
  case RA_OP_OPTIMIZER:
    return dtype;
  default:
    return ra_activation_dtype(dtype);
  }
}

guint
ra_op_n_launches(const RaOp *op)
{
  guint n = ops[op->kind].n_launches;

  if (op->flags & RA_OP_UNFUSED)
    n = op->kind == RA_OP_CROSS_ENTROPY ? UNFUSED_LAUNCHES
                                        : UNFUSED_BACKWARD_LAUNCHES;
  return op->flags & RA_OP_DROPOUT ? n + 1 : n;
}

double
ra_op_n_scores(const RaOp *op)
{
  const uint64_t *d = op->dim;

  return d[0] == 0
             ? 0
             : (double)d[1] * ((double)d[2] / (double)d[0]) * (double)d[4];
}

/* Only matrix products count: no peak that an op could be held against exists
 * for the rest, and MFU counts none of it.  Attention is two products over
 * the visible pairs forward (scores, values), five backward (scores again,
 * dV, dP, dQ, dK: arXiv 2307.08691, section 3.1).  A core of attention computes
 * masked pairs too, and keeps the scores: four backward. */
double
ra_op_flop(const RaOp *op)
{
  const uint64_t *d = op->dim;
  double heads_dim = (double)d[4] * (double)d[6];

  switch (op->kind) {
  case RA_OP_GEMM:
    return 2.0 * (double)d[0] * (double)d[1] * (double)d[2] * (double)d[3];
  case RA_OP_ATTENTION:
  case RA_OP_DECODE_ATTENTION:
    return 2.0 * 2.0 * (double)d[3] * heads_dim;
  case RA_OP_ATTENTION_BACKWARD:
    return 5.0 * 2.0 * (double)d[3] * heads_dim;
  case RA_OP_ATTENTION_CORE:
    return 2.0 * 2.0 * ra_op_n_scores(op) * (double)d[6];
  case RA_OP_ATTENTION_CORE_BACKWARD:
    return 4.0 * 2.0 * ra_op_n_scores(op) * (double)d[6];
  default:
    return 0.0;
  }
}

/* Query-sized and key-sized elements of an attention op. */
static double
attention_elements(const RaOp *op, double per_query, double per_key)
{
  const uint64_t *d = op->dim;
  return per_query * (double)d[1] * (double)d[4] * (double)d[6] +
         per_key * (double)d[2] * (double)d[5] * (double)d[6];
}

/* Bytes that passes over the scores move: @per_score elements of each; dropout
 * reads and writes them and has a byte of mask. */
static double
scores_bytes(const RaOp *op, double per_score)
{
  double e = ra_dtype_bytes(op->dtype);

  return ra_op_n_scores(op) *
         (e * per_score + (op->flags & RA_OP_DROPOUT ? 2 * e + 1 : 0));
}

/* Forward: scores written, softmax, read; the output is copied to be
 * contiguous.  Backward: weights read for dV, their gradient written, softmax
 * (both read, one written), read for dQ and dK. */
static double
core_bytes(const RaOp *op)
{
  gboolean back = op->kind == RA_OP_ATTENTION_CORE_BACKWARD;

  return ra_dtype_bytes(op->dtype) *
             attention_elements(op, back ? 6 : 4, back ? 4 : 2) +
         scores_bytes(op, back ? 7 : 4);
}

/* Bytes per logit in cross-entropy: read, and written backward. */
static double
logit_bytes(const RaOp *op)
{
  double e = ra_dtype_bytes(op->dtype);
  gboolean unfused = (op->flags & RA_OP_UNFUSED) != 0;

  if (op->kind == RA_OP_CROSS_ENTROPY)
    return unfused ? e + UNFUSED_BYTES : e;
  return unfused ? e + UNFUSED_BACKWARD_BYTES : 2 * e;
}

double
ra_op_bytes(const RaOp *op)
{
  const uint64_t *d = op->dim;
  double e = ra_dtype_bytes(op->dtype);
  double area = (double)d[0] * (double)d[1];

  switch (op->kind) {
  case RA_OP_GEMM:
    return e * (double)d[3] *
           (area + (double)d[2] * ((double)d[0] + (double)d[1]));
  case RA_OP_ATTENTION:
  case RA_OP_DECODE_ATTENTION:
    return e * attention_elements(op, 2, 2); /* q, out; k, v */
  case RA_OP_ATTENTION_BACKWARD:
    return e *
           attention_elements(op, 4, 4); /* q, out, dout, dq; k, v, dk, dv */
  case RA_OP_ATTENTION_CORE:
  case RA_OP_ATTENTION_CORE_BACKWARD:
    return core_bytes(op);
  case RA_OP_NORM:
    return e * 2 * area;
  case RA_OP_NORM_BACKWARD:
    return e * 3 * area; /* x, dy; dx */
  case RA_OP_ROPE:
    return e * 2 * area * (double)d[2];
  case RA_OP_ACTIVATION:
    return e * (d[2] ? 3 : 2) * area;
  case RA_OP_ACTIVATION_BACKWARD:
    return e * (d[2] ? 5 : 3) * area; /* gate, up, dy; dgate, dup */
  case RA_OP_ADD:
    return e * 3 * area;
  case RA_OP_EMBEDDING:
    return e * 2 * area + 4 * (double)d[0]; /* row, out; int32 token */
  case RA_OP_EMBEDDING_BACKWARD:
    return e * 3 * area + 4 * (double)d[0]; /* dy; row read and written */
  case RA_OP_CROSS_ENTROPY:                 /* logits; token, log-prob */
  case RA_OP_CROSS_ENTROPY_BACKWARD:
    return logit_bytes(op) * area + 8 * (double)d[0];
  case RA_OP_ROUTER:
    return 4 * area + 8 * (double)d[0] * (double)d[2]; /* fp32; id, weight */
  case RA_OP_PERMUTE: /* all copies on one side, each token on the other */
    return e * area * (1 + 1 / (double)MAX(d[2], 1));
  case RA_OP_SAMPLE:
    return e * area + 4 * (double)d[0];
  case RA_OP_LOSS:
    /* fp32 log-prob, old and reference log-prob, advantage, value, return;
     * gradient out */
    return 4 * 7 * (double)d[0];
  case RA_OP_OPTIMIZER:
    /* fp32 gradient read; master, first and second moment read and written;
     * parameter written */
    return (4 + 3 * 8 + e) * (double)d[0];
  case RA_OP_REALLOC:
    return (double)d[0] + (double)d[1];
  case RA_OP_HOST:
    return 0;
  default: /* collectives and copies: the payload */
    return (double)d[0];
  }
}
