/* Ops that stand in for those without a law. */
#include "config.h"

#include "estimator/nearest.h"

static void
set_attention(RaOp *op, RaOpKind kind, uint64_t q_heads, uint64_t kv_heads,
              uint64_t head_dim)
{
  op->kind = (uint8_t)kind;
  op->flags &= (uint16_t)~RA_OP_SPARSE; /* to keys as they come */
  op->dim[4] = q_heads;
  op->dim[5] = kv_heads;
  op->dim[6] = head_dim;
}

/* As many GEMMs as heads and chunks, of the inner size that gives the FLOP. */
static void
set_scan(RaOp *op)
{
  uint64_t chunk = MAX(op->dim[6], 1), width = MAX(op->dim[5], 1);
  uint64_t n = MAX(op->dim[3] * ((op->dim[1] + chunk - 1) / chunk), 1);
  double inner = ra_op_flop(op) / (2.0 * (double)(chunk * width * n));

  *op = (RaOp){.kind = RA_OP_GEMM,
               .dtype = op->dtype,
               .count = op->count,
               .dim = {chunk, width, MAX((uint64_t)(inner + 0.5), 1), n}};
}

gboolean
ra_op_nearest(const RaOp *op, RaOp *out_op)
{
  const uint64_t *d = op->dim;
  RaOpKind step = d[0] == d[1] ? RA_OP_DECODE_ATTENTION : RA_OP_ATTENTION;

  *out_op = *op;
  switch ((RaOpKind)op->kind) {
  case RA_OP_LATENT:
    set_attention(out_op, RA_OP_ATTENTION, d[4], d[4], (d[5] + d[6]) / 2);
    return TRUE;
  case RA_OP_LATENT_BACKWARD:
    set_attention(out_op, RA_OP_ATTENTION_BACKWARD, d[4], d[4],
                  (d[5] + d[6]) / 2);
    return TRUE;
  case RA_OP_LATENT_DECODE:
    set_attention(out_op, step, d[4], 1, (d[5] + d[6]) / 2);
    return TRUE;
  case RA_OP_DECODE_ATTENTION:
    if (!(op->flags & RA_OP_SPARSE))
      return FALSE;
    set_attention(out_op, RA_OP_DECODE_ATTENTION, d[4], d[5], d[6]);
    out_op->dim[2] = d[3]; /* without the choice */
    return TRUE;
  case RA_OP_COMPRESSED:
    set_attention(out_op, step, d[4], 1, d[5]);
    return TRUE;
  case RA_OP_COMPRESSED_BACKWARD:
    set_attention(out_op, RA_OP_ATTENTION_BACKWARD, d[4], 1, d[5]);
    return TRUE;
  case RA_OP_INDEXER:
    set_attention(out_op, step, d[4], 1, MAX(d[5] / 2, 1));
    return TRUE;
  case RA_OP_SCAN:
  case RA_OP_SCAN_BACKWARD:
    set_scan(out_op);
    return TRUE;
  default:
    return FALSE;
  }
}
