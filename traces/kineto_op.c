/* The known PyTorch ops and collectives, and their shapes. */
#include "config.h"

#include <string.h>

#include "traces/kineto_op.h"

/* Where the tensors of an op stand among its inputs, by what it is. */
typedef enum {
  SHAPE_GEMM,      /* at: (m, k), (k, n) */
  SHAPE_BATCHED,   /* at: (batch, m, k), (batch, k, n) */
  SHAPE_ATTENTION, /* at: q, k of (sequences, tokens, heads, head_dim) */
  SHAPE_ROWS,      /* at: (..., width): tokens, width */
  SHAPE_TABLE,     /* at: (vocab, width), indices */
  SHAPE_SAME,      /* at: two of one shape: tokens, width */
  SHAPE_PLAIN      /* at: (..., width): tokens, width, not gated */
} Shape;

static const struct {
  const char *name;
  RaOpKind kind;
  Shape shape;
  guint at;   /* first of its tensors */
  int causal; /* input that says so; -1: none */
} ops[] = {
    {"aten::mm", RA_OP_GEMM, SHAPE_GEMM, 0, -1},
    {"aten::addmm", RA_OP_GEMM, SHAPE_GEMM, 1, -1},
    {"aten::_scaled_mm", RA_OP_GEMM, SHAPE_GEMM, 0, -1},
    {"aten::bmm", RA_OP_GEMM, SHAPE_BATCHED, 0, -1},
    {"aten::baddbmm", RA_OP_GEMM, SHAPE_BATCHED, 1, -1},
    {"aten::_flash_attention_forward", RA_OP_ATTENTION, SHAPE_ATTENTION, 0, 8},
    {"aten::_flash_attention_backward", RA_OP_ATTENTION_BACKWARD,
     SHAPE_ATTENTION, 1, 11},
    {"aten::native_layer_norm", RA_OP_NORM, SHAPE_ROWS, 0, -1},
    {"aten::_fused_rms_norm", RA_OP_NORM, SHAPE_ROWS, 0, -1},
    {"aten::native_layer_norm_backward", RA_OP_NORM_BACKWARD, SHAPE_ROWS, 0,
     -1},
    {"aten::_fused_rms_norm_backward", RA_OP_NORM_BACKWARD, SHAPE_ROWS, 0, -1},
    {"aten::embedding", RA_OP_EMBEDDING, SHAPE_TABLE, 0, -1},
    {"aten::add", RA_OP_ADD, SHAPE_SAME, 0, -1},
    {"aten::add_", RA_OP_ADD, SHAPE_SAME, 0, -1},
    {"aten::silu", RA_OP_ACTIVATION, SHAPE_PLAIN, 0, -1},
    {"aten::gelu", RA_OP_ACTIVATION, SHAPE_PLAIN, 0, -1},
};

static gboolean
dtype_of(const char *type, uint8_t *out)
{
  static const struct {
    const char *type;
    RaDtype dtype;
  } types[] = {
      {"c10::BFloat16", RA_DTYPE_BF16},
      {"BFloat16", RA_DTYPE_BF16},
      {"c10::Half", RA_DTYPE_FP16},
      {"Half", RA_DTYPE_FP16},
      {"float", RA_DTYPE_FP32},
      {"Float", RA_DTYPE_FP32},
      {"c10::Float8_e4m3fn", RA_DTYPE_FP8},
      {"Float8_e4m3fn", RA_DTYPE_FP8},
  };

  for (guint i = 0; type && i < G_N_ELEMENTS(types); i++) {
    if (g_str_equal(type, types[i].type)) {
      *out = (uint8_t)types[i].dtype;
      return TRUE;
    }
  }
  return FALSE;
}

/* Product of the dimensions of @input but the last. */
static uint64_t
tokens_of(const RaKinetoInputs *in, guint input)
{
  uint64_t n = 1;

  for (guint d = 0; d + 1 < in->n_dims[input]; d++)
    n *= in->dim[input][d];
  return n;
}

static gboolean
fill_gemm(const RaKinetoInputs *in, guint at, guint batched, RaOp *op)
{
  const uint64_t *a = in->dim[at], *b = in->dim[at + 1];

  if (in->n_dims[at] != 2 + batched || in->n_dims[at + 1] != 2 + batched ||
      a[1 + batched] != b[batched] || (batched && a[0] != b[0]))
    return FALSE;
  op->dim[0] = a[batched];
  op->dim[1] = b[1 + batched];
  op->dim[2] = a[1 + batched];
  op->dim[3] = batched ? a[0] : 1;
  return TRUE;
}

/* Queries are the last of the keys, as PyTorch aligns the causal mask of flash
 * attention: query i of q sees keys up to kv - q + i, in all
 * q (2 kv - q + 1) / 2 of them. */
static gboolean
fill_attention(const RaKinetoInputs *in, guint at, RaOp *op)
{
  const uint64_t *q = in->dim[at], *k = in->dim[at + 1];

  if (in->n_dims[at] != 4 || in->n_dims[at + 1] != 4 || k[1] < q[1])
    return FALSE;
  op->dim[0] = q[0];
  op->dim[1] = q[0] * q[1];
  op->dim[2] = q[0] * k[1];
  op->dim[3] = in->is_causal ? q[0] * (q[1] * (2 * k[1] - q[1] + 1) / 2)
                             : q[0] * q[1] * k[1];
  op->dim[4] = q[2];
  op->dim[5] = k[2];
  op->dim[6] = q[3];
  return TRUE;
}

static gboolean
fill_rows(const RaKinetoInputs *in, guint at, RaOp *op)
{
  if (in->n_dims[at] < 2)
    return FALSE;
  op->dim[0] = tokens_of(in, at);
  op->dim[1] = in->dim[at][in->n_dims[at] - 1];
  return TRUE;
}

static gboolean
fill_table(const RaKinetoInputs *in, guint at, RaOp *op)
{
  uint64_t tokens = 1;

  if (in->n_dims[at] != 2)
    return FALSE;
  for (guint d = 0; d < in->n_dims[at + 1]; d++)
    tokens *= in->dim[at + 1][d];
  op->dim[0] = tokens;
  op->dim[1] = in->dim[at][1];
  op->dim[2] = in->dim[at][0];
  return TRUE;
}

static gboolean
same_shape(const RaKinetoInputs *in, guint at)
{
  return in->n_dims[at] == in->n_dims[at + 1] &&
         memcmp(in->dim[at], in->dim[at + 1],
                in->n_dims[at] * sizeof in->dim[at][0]) == 0;
}

static gboolean
fill(Shape shape, const RaKinetoInputs *in, guint at, RaOp *op)
{
  switch (shape) {
  case SHAPE_GEMM:
    return fill_gemm(in, at, 0, op);
  case SHAPE_BATCHED:
    return fill_gemm(in, at, 1, op);
  case SHAPE_ATTENTION:
    return fill_attention(in, at, op);
  case SHAPE_TABLE:
    return fill_table(in, at, op);
  case SHAPE_SAME:
    return same_shape(in, at) && fill_rows(in, at, op);
  case SHAPE_ROWS:
  case SHAPE_PLAIN:
    return fill_rows(in, at, op);
  }
  return FALSE;
}

gboolean
ra_kineto_op(const char *name, const RaKinetoInputs *in, RaOp *out_op)
{
  RaOp op = {.count = 1};

  for (guint i = 0; i < G_N_ELEMENTS(ops); i++) {
    if (!g_str_equal(name, ops[i].name))
      continue;
    op.kind = (uint8_t)ops[i].kind;
    if (ops[i].at + 2 > RA_KINETO_INPUTS || !dtype_of(in->type, &op.dtype) ||
        !fill(ops[i].shape, in, ops[i].at, &op))
      return FALSE;
    for (guint d = 0; ra_op_dim_name(ops[i].kind, d); d++) {
      if (op.dim[d] == 0 && ops[i].shape != SHAPE_PLAIN &&
          !ra_op_dim_is_optional(ops[i].kind, d))
        return FALSE; /* an empty tensor takes no kernel */
    }
    *out_op = op;
    return TRUE;
  }
  return FALSE;
}

int
ra_kineto_causal_input(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(ops); i++) {
    if (g_str_equal(name, ops[i].name))
      return ops[i].causal;
  }
  return -1;
}

gboolean
ra_kineto_collective(const char *name, const char *dtype, uint64_t n_in,
                     uint64_t n_out, uint64_t n_ranks, uint64_t gpus_per_node,
                     RaOp *out_op)
{
  static const struct {
    const char *name;
    RaOpKind kind;
  } kinds[] = {
      {"allreduce", RA_OP_ALL_REDUCE},
      {"allgather", RA_OP_ALL_GATHER},
      {"_allgather_base", RA_OP_ALL_GATHER},
      {"all_gather_into_tensor", RA_OP_ALL_GATHER},
      {"reduce_scatter", RA_OP_REDUCE_SCATTER},
      {"_reduce_scatter_base", RA_OP_REDUCE_SCATTER},
      {"reduce_scatter_tensor", RA_OP_REDUCE_SCATTER},
      {"broadcast", RA_OP_BROADCAST},
      {"all_to_all", RA_OP_ALL_TO_ALL},
      {"all_to_allv", RA_OP_ALL_TO_ALL},
  };
  RaOp op = {.count = 1};

  if (n_ranks < 2 || gpus_per_node == 0 || !dtype_of(dtype, &op.dtype))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    if (!g_str_equal(name, kinds[i].name))
      continue;
    op.kind = (uint8_t)kinds[i].kind;
    /* The whole vector, which a gather puts out and a scatter takes in. */
    op.dim[0] = MAX(n_in, n_out) * ra_dtype_bytes((RaDtype)op.dtype);
    op.dim[1] = n_ranks;
    op.dim[2] = MIN(n_ranks, gpus_per_node);
    op.dim[3] = 1;
    op.dtype = RA_DTYPE_BF16; /* payloads are bytes */
    *out_op = op;
    return op.dim[0] > 0;
  }
  return FALSE;
}
