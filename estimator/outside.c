#include "config.h"

#include "estimator/estimator_impl.h"
#include "estimator/outside.h"

/* The table that @op is looked up in, and its law's name; NULL: none. */
static const RaResidual *
residual_of(const RaEstimator *e, const RaOp *op, const char **out_law)
{
  static const char *const collectives[] = {
      "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast"};
  gboolean fp8 = op->dtype == RA_DTYPE_FP8;

  switch ((RaOpKind)op->kind) {
  case RA_OP_GEMM:
    *out_law = fp8 ? "gemm.fp8" : "gemm.bf16";
    return fp8 ? &e->gemm_fp8.residual : &e->gemm.residual;
  case RA_OP_ATTENTION:
  case RA_OP_ATTENTION_BACKWARD:
    *out_law = "attention";
    return &e->attention.residual;
  case RA_OP_DECODE_ATTENTION:
    *out_law = "decode-attention";
    return &e->decode_attention.residual;
  case RA_OP_ALL_REDUCE:
  case RA_OP_REDUCE_SCATTER:
  case RA_OP_ALL_GATHER:
  case RA_OP_ALL_TO_ALL:
  case RA_OP_BROADCAST:
    if (op->dim[1] < 2)
      return NULL;
    *out_law = collectives[op->kind - RA_OP_ALL_REDUCE];
    if (op->dim[2] == op->dim[1])
      return &e->links.collective[op->kind - RA_OP_ALL_REDUCE].residual;
    *out_law = "inter-node";
    return op->kind == RA_OP_ALL_REDUCE ? &e->links.inter.residual : NULL;
  case RA_OP_SEND:
    *out_law = "send";
    return op->dim[1] ? NULL : &e->links.send.residual;
  default:
    return NULL;
  }
}

gboolean
ra_estimator_outside(const RaEstimator *estimator, const RaOp *op,
                     RaOutside *out_outside)
{
  const char *law = NULL;
  const RaResidual *residual = residual_of(estimator, op, &law);
  const RaGridAxis *knots;
  RaFeature feature;
  guint axis;

  if (!residual || !residual->grid ||
      !ra_residual_outside(residual, op, &axis) ||
      ra_estimator_op_s(estimator, op) <= 0)
    return FALSE;
  feature = (RaFeature)residual->feature[axis];
  knots = &residual->grid->axes[axis];
  out_outside->law = law;
  out_outside->axis = ra_feature_name(feature);
  out_outside->value = ra_feature(feature, op);
  out_outside->limit = out_outside->value < knots->knots[0]
                           ? knots->knots[0]
                           : knots->knots[knots->n_knots - 1];
  return TRUE;
}
