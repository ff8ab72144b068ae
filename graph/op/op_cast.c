/* Casts and GEMMs of linear layers that compute in fp8. */
#include "config.h"

#include "graph/input/plan.h"
#include "graph/op/op_cast.h"

/* Activations that share a scale, blockwise. */
#define ROW_BLOCK 128
#define SCALE_BYTES 4

static uint64_t
n_reads(const RaShard *shard)
{
  return shard->fp8_scaling == RA_FP8_TENSORWISE ? 2 : 1;
}

static void
add_cast(RaOpBuilder *b, uint64_t n, uint64_t width, uint64_t reads,
         uint64_t copies)
{
  gboolean blocks = b->shard->fp8_scaling == RA_FP8_BLOCKWISE;

  ra_op_add(b, RA_OP_CAST, n, reads, copies, blocks ? ROW_BLOCK : 0);
  b->ops[b->n_ops - 1].dim[4] = width;
}

/* TRUE if a GEMM reads a transposed copy: that of the weight's gradient. */
static gboolean
is_transposed(const RaOpBuilder *b)
{
  return b->model->lora_rank == 0 &&
         (b->phase == RA_PHASE_BACKWARD || b->keeps);
}

/* TRUE if the last op has gathered the @n elements from the tp ranks for this
 * cast alone: adapters read them in 16 bits. */
static gboolean
is_gathered(const RaOpBuilder *b, uint64_t n)
{
  const RaOp *last = b->n_ops > 0 ? &b->ops[b->n_ops - 1] : NULL;

  return last && last->kind == RA_OP_ALL_GATHER && last->count == b->count &&
         last->dim[1] == b->shard->tp && last->dim[0] == n * b->element_bytes &&
         b->model->lora_rank == 0;
}

uint64_t
ra_op_cast_copy_bytes(uint64_t n, uint64_t block)
{
  return n + (block > 0 ? (n + block - 1) / block * SCALE_BYTES : 0);
}

void
ra_op_add_cast(RaOpBuilder *b, uint64_t n, uint64_t width)
{
  uint64_t copies = is_transposed(b) ? 2 : 1;
  RaOp gather;

  if (!b->shard->fp8_gemms || n == 0)
    return;
  if (!is_gathered(b, n)) {
    add_cast(b, n, width, n_reads(b->shard), copies);
    return;
  }
  gather = b->ops[--b->n_ops];
  add_cast(b, (n + b->shard->tp - 1) / b->shard->tp, width, n_reads(b->shard),
           copies);
  gather.dim[0] = ra_op_cast_copy_bytes(n, b->ops[b->n_ops - 1].dim[3]);
  b->ops[b->n_ops++] = gather;
}

void
ra_op_set_fp8(RaOpBuilder *b, guint first)
{
  gboolean blocks = b->shard->fp8_scaling == RA_FP8_BLOCKWISE;

  for (guint i = first; b->shard->fp8_gemms && i < b->n_ops; i++) {
    b->ops[i].dtype = RA_DTYPE_FP8;
    b->ops[i].flags |= RA_OP_QUANTIZED | (blocks ? RA_OP_BLOCK : 0);
  }
}

/* Rows come to the matrices up at their full width and to the matrix down at
 * that of an expert; the gradients of their outputs are as wide as those. */
void
ra_op_cast_experts(RaOpBuilder *b)
{
  RaOp experts = b->ops[b->n_ops - 1];
  gboolean back = b->phase == RA_PHASE_BACKWARD;
  gboolean has_law = b->shard->groups_experts && !back;
  uint64_t rows = ra_op_experts_rows(&experts), width = experts.dim[2];
  uint64_t up = experts.flags & RA_OP_PLAIN ? width : 2 * width;
  uint64_t n = rows * (experts.dim[1] + (back ? up : width));
  guint first;

  if (!b->shard->fp8_gemms)
    return;
  b->n_ops--;
  if (!has_law)
    ra_op_add_cast(b, n, experts.dim[1]);
  else if (is_transposed(b))
    add_cast(b, n, experts.dim[1], 0, 1);
  first = b->n_ops;
  b->ops[b->n_ops++] = experts;
  ra_op_set_fp8(b, first);
  if (has_law)
    b->ops[first].flags &= (uint16_t)~RA_OP_QUANTIZED;
}

/* Elements of the matrix of a GEMM, or of the experts here. */
static uint64_t
n_weights(const RaOp *op)
{
  const uint64_t *d = op->dim;

  if (op->kind == RA_OP_GEMM)
    return d[1] * d[2] * d[3];
  return d[1] * d[2] * (op->flags & RA_OP_PLAIN ? 2 : 3) *
         (d[3] / MAX(d[5], 1));
}

uint64_t
ra_piece_n_fp8(const RaShard *shard, const RaPiece *piece)
{
  const RaBatch batch = {1, 1, 1, 1};
  RaShard own = *shard;
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops;
  uint64_t n = 0;

  if (!shard->fp8_gemms)
    return 0;
  own.groups_experts = 1;
  n_ops = ra_op_list(&own, piece, RA_PHASE_FORWARD, &batch, ops);
  for (guint i = 0; i < n_ops; i++)
    if (ops[i].dtype == RA_DTYPE_FP8)
      n += ops[i].count * n_weights(&ops[i]);
  return n;
}

uint64_t
ra_op_fp8_weight_bytes(const RaShard *shard, uint64_t n)
{
  return shard->fp8_scaling == RA_FP8_BLOCKWISE
             ? n + (n + RA_FP8_WEIGHT_BLOCK - 1) / RA_FP8_WEIGHT_BLOCK * 4
             : n;
}

uint64_t
ra_op_fp8_weight_traffic(const RaShard *shard, uint64_t n)
{
  return n * n_reads(shard) * ra_dtype_bytes((RaDtype)shard->dtype) +
         2 * ra_op_fp8_weight_bytes(shard, n);
}
