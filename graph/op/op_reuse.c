/* Reuse distance of the weights of a decode step. */
#include "config.h"

#include <math.h>

#include "graph/op/op_reuse.h"

/* Bytes of weights that one run of @op reads. */
static double
weight_bytes(const RaOp *op)
{
  return ra_dtype_bytes(op->dtype) * (double)op->dim[1] * (double)op->dim[2] *
         (double)op->dim[3];
}

/* Bytes of the key and the value of one token. */
static double
token_bytes(const RaOp *op)
{
  return ra_dtype_bytes(op->dtype) * 2 * (double)op->dim[5] *
         (double)op->dim[6];
}

uint64_t
ra_op_reuse_mib(const RaShard *shard, const RaPiece *piece,
                const RaBatch *batch, uint64_t *out_until_tokens)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops =
      shard->zero_ranks > 1
          ? 0
          : ra_op_list_lower(
                ops, ra_op_list(shard, piece, RA_PHASE_DECODE, batch, ops));
  double ranks = MAX((double)shard->tp_ranks_per_node, 1) *
                 MAX((double)shard->tp_groups_per_node, 1);
  double weights = 0, per_token = 0, tokens = 0, until, mib;

  *out_until_tokens = UINT64_MAX;
  if (n_ops == 0)
    return 0;

  for (guint i = 0; i < n_ops; i++)
    if (ops[i].kind == RA_OP_GEMM) {
      weights += ops[i].count * weight_bytes(&ops[i]);
    } else if (ops[i].kind == RA_OP_DECODE_ATTENTION) {
      per_token += ops[i].count * token_bytes(&ops[i]);
      tokens = (double)ops[i].dim[2];
    }
  mib =
      fmax(ceil(ranks * (weights + per_token * tokens) / RA_OP_REUSE_UNIT), 1);
  until = (mib * RA_OP_REUSE_UNIT / ranks - weights) / per_token;
  if (per_token > 0 && until < 0x1p62)
    *out_until_tokens = (uint64_t)until;
  return (uint64_t)mib;
}

void
ra_op_set_reuse(RaOp *ops, guint n_ops, uint64_t mib)
{
  for (guint i = 0; i < n_ops; i++)
    if (ops[i].kind == RA_OP_GEMM)
      ops[i].dim[RA_OP_REUSE_DIM] = mib;
}
