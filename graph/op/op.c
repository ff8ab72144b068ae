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

#define LATENT_DIMS                                                            \
  {                                                                            \
    "sequences", "q_tokens", "kv_tokens", "pairs", "heads", "key_dim",         \
        "value_dim"                                                            \
  }
#define COMPRESSED_DIMS                                                        \
  {                                                                            \
    "sequences", "q_tokens", "kv_tokens", "pairs", "heads", "head_dim",        \
        "ratio"                                                                \
  }
#define CONV_DIMS                                                              \
  {                                                                            \
    "tokens", "width", "taps", "sequences"                                     \
  }
#define SCAN_DIMS                                                              \
  {                                                                            \
    "sequences", "tokens", "key_heads", "value_heads", "key_dim", "state_dim", \
        "chunk"                                                                \
  }
#define EXPERTS_DIMS                                                           \
  {                                                                            \
    "tokens", "hidden", "width", "experts", "chosen", "ep", "skew"             \
  }
/* Kernels of a scan in flash-linear-attention (chunk_gated_delta_rule_fwd):
 * sums of gates, products of keys, inverse, rows, states, outputs; Mamba-2's
 * _mamba_chunk_scan_combined_fwd has five. */
#define SCAN_LAUNCHES 6

/* clang-format off */
static const RaOpRow ops[RA_N_OPS] = {
  [RA_OP_COMPRESSED] =
    {"compressed_attention", RA_OP_CLASS_COMPUTE, 1, COMPRESSED_DIMS},
  [RA_OP_COMPRESSED_BACKWARD] =
    {"compressed_attention_backward", RA_OP_CLASS_COMPUTE, 1, COMPRESSED_DIMS},
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
  [RA_OP_EXPERTS] = {"experts", RA_OP_CLASS_COMPUTE, 3, EXPERTS_DIMS},
  [RA_OP_EXPERTS_BACKWARD] =
    {"experts_backward", RA_OP_CLASS_COMPUTE, 5, EXPERTS_DIMS},
  [RA_OP_SAMPLE] = {"sample", RA_OP_CLASS_COMPUTE, 1, {"sequences", "vocab"}},
  [RA_OP_LOSS] = {"loss", RA_OP_CLASS_COMPUTE, 1, {"tokens"}},
  [RA_OP_OPTIMIZER] = {"optimizer", RA_OP_CLASS_COMPUTE, 1,
    {"parameters", "cast_bytes"}},
  [RA_OP_ALL_REDUCE] = {"all_reduce", RA_OP_CLASS_COMM, 1, COLLECTIVE_DIMS},
  [RA_OP_REDUCE_SCATTER] =
    {"reduce_scatter", RA_OP_CLASS_COMM, 1, COLLECTIVE_DIMS},
  [RA_OP_ALL_GATHER] = {"all_gather", RA_OP_CLASS_COMM, 1, COLLECTIVE_DIMS},
  [RA_OP_ALL_TO_ALL] =
    {"all_to_all", RA_OP_CLASS_COMM, 1,
     {"bytes", "ranks", "ranks_per_node", "groups_per_node", "node_bytes",
      "tokens", "multiprocessors"}},
  [RA_OP_BROADCAST] = {"broadcast", RA_OP_CLASS_COMM, 1, COLLECTIVE_DIMS},
  [RA_OP_SEND] =
    {"send", RA_OP_CLASS_COMM, 1, {"bytes", "inter_node", "pairs_per_node"}},
  [RA_OP_REALLOC] =
    {"realloc", RA_OP_CLASS_COMM, 1,
     {"intra_bytes", "inter_bytes", "steps", "cast_elements"}},
  [RA_OP_OFFLOAD] = {"offload", RA_OP_CLASS_COPY, 1, {"bytes", "state"}},
  [RA_OP_RELOAD] = {"reload", RA_OP_CLASS_COPY, 1, {"bytes", "state"}},
  [RA_OP_HOST] = {"host", RA_OP_CLASS_HOST, 0, {"nanoseconds"}},
  [RA_OP_LATENT] = {"latent_attention", RA_OP_CLASS_COMPUTE, 1, LATENT_DIMS},
  [RA_OP_LATENT_BACKWARD] =
    {"latent_attention_backward", RA_OP_CLASS_COMPUTE, 1, LATENT_DIMS},
  [RA_OP_LATENT_DECODE] =
    {"latent_decode", RA_OP_CLASS_COMPUTE, 1,
     {"sequences", "q_tokens", "kv_tokens", "pairs", "heads", "rank",
      "rope_dim"}},
  [RA_OP_INDEXER] =
    {"indexer", RA_OP_CLASS_COMPUTE, 2,
     {"sequences", "q_tokens", "kv_tokens", "pairs", "heads", "head_dim",
      "chosen"}},
  [RA_OP_CONV] = {"conv", RA_OP_CLASS_COMPUTE, 1, CONV_DIMS},
  [RA_OP_CONV_BACKWARD] =
    {"conv_backward", RA_OP_CLASS_COMPUTE, 1, CONV_DIMS},
  [RA_OP_SCAN] = {"scan", RA_OP_CLASS_COMPUTE, SCAN_LAUNCHES, SCAN_DIMS},
  [RA_OP_SCAN_BACKWARD] =
    {"scan_backward", RA_OP_CLASS_COMPUTE, 2 * SCAN_LAUNCHES, SCAN_DIMS},
  [RA_OP_SCAN_STEP] =
    {"scan_step", RA_OP_CLASS_COMPUTE, 1,
     {"sequences", "tokens", "key_heads", "value_heads", "key_dim",
      "state_dim"}},
  [RA_OP_CAST] =
    {"cast", RA_OP_CLASS_COMPUTE, 1,
     {"elements", "reads", "copies", "block", "width"}},
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
  return (kind == RA_OP_GEMM && index == RA_OP_REUSE_DIM) ||
         (kind == RA_OP_CAST && index == 4) ||
         (kind == RA_OP_ALL_TO_ALL && index >= 5) ||
         (kind == RA_OP_REALLOC && index == 3) ||
         ((kind == RA_OP_OFFLOAD || kind == RA_OP_RELOAD ||
           kind == RA_OP_OPTIMIZER) &&
          index == 1);
}

RaDtype
ra_op_dtype(RaOpKind kind, RaDtype dtype)
{
  switch (kind) {
  case RA_OP_GEMM:
  case RA_OP_DECODE_ATTENTION:
  case RA_OP_LATENT_DECODE:
  case RA_OP_EXPERTS:
  case RA_OP_EXPERTS_BACKWARD:
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

gboolean
ra_op_is_attention(RaOpKind kind)
{
  return (kind >= RA_OP_ATTENTION && kind <= RA_OP_ATTENTION_CORE_BACKWARD) ||
         kind == RA_OP_LATENT || kind == RA_OP_LATENT_BACKWARD;
}

double
ra_op_n_scores(const RaOp *op)
{
  const uint64_t *d = op->dim;

  return d[0] == 0
             ? 0
             : (double)d[1] * ((double)d[2] / (double)d[0]) * (double)d[4];
}

/* FLOP of a scan forward, a token and head of values: @c tokens a chunk, keys
 * of @k, values of @v elements.
 *
 * Mamba-2 (arXiv 2405.21060, section 6): the chunk's outputs from its own
 * tokens 2 c v, from the state before it 2 k v, its part of the next state
 * 2 k v; and the scores of its own tokens 2 c k, which heads of a group share.
 *
 * A delta rule (arXiv 2412.06464, section 3.3, as in flash-linear-attention):
 * the products of keys 2 c k, the triangular inverse c^2 / 3, its products with
 * keys 2 c k and values 2 c v, what the state already says of the keys 2 k v,
 * the scores 2 c k, the outputs 2 c v and 2 k v, the next state 2 k v. */
static double
scan_flop(const RaOp *op)
{
  double keys = (double)op->dim[2], heads = (double)op->dim[3];
  double k = (double)op->dim[4], v = (double)op->dim[5], c = (double)op->dim[6];
  double token = op->flags & RA_OP_DELTA
                     ? heads * (6 * c * k + 4 * c * v + 6 * k * v + c * c / 3)
                     : keys * 2 * c * k + heads * (2 * c * v + 4 * k * v);

  return (double)op->dim[1] * token;
}

/* FLOP of one step on the states: what the state says of the key (delta rule),
 * its update, its output. */
static double
step_flop(const RaOp *op)
{
  double passes = op->flags & RA_OP_DELTA ? 3 : 2;

  return (double)op->dim[1] * passes * 2 * (double)op->dim[3] *
         (double)op->dim[4] * (double)op->dim[5];
}

/* Products over the matrices of experts: backward those of inputs' gradients,
 * and of trained weights'. */
static double
expert_passes(const RaOp *op)
{
  return op->kind == RA_OP_EXPERTS_BACKWARD && !(op->flags & RA_OP_FROZEN) ? 2
                                                                           : 1;
}

/* Elements of the matrices of one expert here. */
static double
expert_area(const RaOp *op)
{
  return (op->flags & RA_OP_PLAIN ? 2.0 : 3.0) * (double)op->dim[1] *
         (double)op->dim[2];
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
  case RA_OP_LATENT:
    return 2.0 * (double)d[3] * (double)d[4] * (double)(d[5] + d[6]);
  case RA_OP_LATENT_BACKWARD: /* scores again, dQ, dK; dV, dP */
    return 2.0 * (double)d[3] * (double)d[4] * (double)(3 * d[5] + 2 * d[6]);
  case RA_OP_LATENT_DECODE: /* scores of all, values of the rank's */
    return 2.0 * (double)d[3] * (double)d[4] * (double)(2 * d[5] + d[6]);
  case RA_OP_INDEXER:
    return 2.0 * (double)d[3] * (double)d[4] * (double)d[5];
  case RA_OP_COMPRESSED:
    return 2.0 * 2.0 * (double)d[3] * (double)d[4] * (double)d[5];
  case RA_OP_COMPRESSED_BACKWARD:
    return 5.0 * 2.0 * (double)d[3] * (double)d[4] * (double)d[5];
  case RA_OP_CONV:
    return 2.0 * (double)d[0] * (double)d[1] * (double)d[2];
  case RA_OP_CONV_BACKWARD:
    return 4.0 * (double)d[0] * (double)d[1] * (double)d[2];
  case RA_OP_SCAN:
    return scan_flop(op);
  case RA_OP_SCAN_BACKWARD: /* forward again, and twice it */
    return 3 * scan_flop(op);
  case RA_OP_SCAN_STEP:
    return step_flop(op);
  case RA_OP_EXPERTS:
  case RA_OP_EXPERTS_BACKWARD:
    return expert_passes(op) * 2.0 * (double)ra_op_experts_rows(op) *
           expert_area(op);
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

/* Bytes of latent attention: queries and outputs of all heads, keys and values
 * of all heads, or the latent ones of all; the gradients of each backward. */
static double
latent_bytes(const RaOp *op)
{
  const uint64_t *d = op->dim;
  double q = (double)d[1] * (double)d[4], kv = (double)d[2];
  double both = (double)(d[5] + d[6]), e = ra_dtype_bytes(op->dtype);

  switch (op->kind) {
  case RA_OP_LATENT_DECODE: /* queries of both, outputs of the rank */
    return e * (q * (both + (double)d[5]) + kv * both);
  case RA_OP_INDEXER: /* scores' weights fp32; fp8 keys; chosen int32 */
    return q * ((double)d[5] + 4) + kv * (double)d[5] +
           4 * (double)d[1] * (double)d[6];
  case RA_OP_COMPRESSED: /* queries and outputs of 16 bits */
    return (2 * ra_dtype_bytes(ra_activation_dtype((RaDtype)op->dtype)) * q +
            e * kv) *
           (double)d[5];
  case RA_OP_COMPRESSED_BACKWARD: /* q, out, dout, dq; kv, dkv */
    return e * (4 * q + 2 * kv) * (double)d[5];
  default:
    return e * (op->kind == RA_OP_LATENT_BACKWARD ? 2 : 1) *
           (q + kv * (double)d[4]) * both;
  }
}

/* Bytes of a scan: queries, keys, values, outputs, and the states between
 * chunks in fp32, written and read; backward the gradients too, and a second
 * pass over the inputs.  A step reads and writes each sequence's states. */
static double
scan_bytes(const RaOp *op)
{
  const uint64_t *d = op->dim;
  double e = ra_dtype_bytes(op->dtype), tokens = (double)d[1];
  double state = (double)d[3] * (double)d[4] * (double)d[5] * 4;
  double rows = tokens * e * 2 *
                ((double)d[2] * (double)d[4] + (double)d[3] * (double)d[5]);

  if (op->kind == RA_OP_SCAN_STEP)
    return rows + 2 * state * (double)d[0];
  rows += 2 * state * tokens / (double)MAX(d[6], 1);
  return op->kind == RA_OP_SCAN_BACKWARD ? 3 * rows : rows;
}

/* Bytes of what an expert layer runs. */
static double
experts_bytes(const RaOp *op)
{
  RaOp parts[RA_OP_EXPERTS_PARTS] = {*op};
  guint n = ra_op_list_lower(parts, 1);
  double bytes = 0;

  for (guint i = 0; i < n; i++)
    bytes += ra_op_bytes(&parts[i]);
  return bytes;
}

/* Bytes of a cast: 16-bit values read, 8-bit copies and their scales written.
 */
static double
cast_bytes(const RaOp *op)
{
  double n = (double)op->dim[0], copies = (double)op->dim[2];
  double block = (double)op->dim[3];

  return n * ((double)op->dim[1] * ra_dtype_bytes((RaDtype)op->dtype) + copies +
              (block > 0 ? 4 * copies / block : 0));
}

/* Bytes of collectives and copies, and of mixers other than attention. */
static double
other_bytes(const RaOp *op)
{
  switch (op->kind) {
  case RA_OP_LATENT:
  case RA_OP_LATENT_BACKWARD:
  case RA_OP_LATENT_DECODE:
  case RA_OP_INDEXER:
  case RA_OP_COMPRESSED:
  case RA_OP_COMPRESSED_BACKWARD:
    return latent_bytes(op);
  case RA_OP_SCAN:
  case RA_OP_SCAN_BACKWARD:
  case RA_OP_SCAN_STEP:
    return scan_bytes(op);
  case RA_OP_EXPERTS:
  case RA_OP_EXPERTS_BACKWARD:
    return experts_bytes(op);
  case RA_OP_CAST:
    return cast_bytes(op);
  case RA_OP_REALLOC:
    return (double)op->dim[0] + (double)op->dim[1];
  case RA_OP_HOST:
    return 0;
  default: /* the payload */
    return (double)op->dim[0];
  }
}

/* Bytes of a batch of products: operands, weights of 4 bits with their scales
 * where they alone are narrow, outputs. */
static double
product_bytes(const RaOp *op)
{
  const uint64_t *d = op->dim;
  double e = ra_dtype_bytes((RaDtype)op->dtype), in = e, weight = e;

  if (op->flags & RA_OP_NARROW && op->dtype == RA_DTYPE_FP8 &&
      !(op->flags & RA_OP_BLOCK))
    in = weight = e / 2;
  else if (op->flags & RA_OP_NARROW)
    weight = RA_MXFP4_BYTES;
  return (double)d[3] *
         (e * (double)d[0] * (double)d[1] +
          (double)d[2] * (in * (double)d[0] + weight * (double)d[1]));
}

/* Bytes of a decode step.  On blocks of keys: queries and outputs, the keys and
 * values that are seen, and a key of 16 bits, as wide as a head's, of each
 * token that is scored. */
static double
step_bytes(const RaOp *op)
{
  RaOp seen = *op;

  if (!(op->flags & RA_OP_SPARSE))
    return ra_dtype_bytes((RaDtype)op->dtype) * attention_elements(op, 2, 2);
  seen.dim[2] = op->dim[3];
  return ra_dtype_bytes((RaDtype)op->dtype) * attention_elements(&seen, 2, 2) +
         2 * (double)op->dim[2] * (double)op->dim[6];
}

double
ra_op_bytes(const RaOp *op)
{
  const uint64_t *d = op->dim;
  double e = ra_dtype_bytes(op->dtype);
  double area = (double)d[0] * (double)d[1];

  switch (op->kind) {
  case RA_OP_GEMM:
    return product_bytes(op);
  case RA_OP_DECODE_ATTENTION:
    return step_bytes(op);
  case RA_OP_ATTENTION:
    return e * attention_elements(op, 2, 2); /* q, out; k, v */
  case RA_OP_ATTENTION_BACKWARD:
    return e *
           attention_elements(op, 4, 4); /* q, out, dout, dq; k, v, dk, dv */
  case RA_OP_ATTENTION_CORE:
  case RA_OP_ATTENTION_CORE_BACKWARD:
    return core_bytes(op);
  case RA_OP_CONV: /* tokens, and the inputs before a sequence's first */
    return e * 2 *
           (area + (double)d[3] * (double)d[1] * (double)MAX(d[2], 1) -
            (double)d[3] * (double)d[1]);
  case RA_OP_NORM:
    return e * 2 * area;
  case RA_OP_CONV_BACKWARD:
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
    return (4 + 3 * 8 + e) * (double)d[0] + (double)d[1];
  default:
    return other_bytes(op);
  }
}
