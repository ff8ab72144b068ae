#include "config.h"

#include "estimator/estimator_impl.h"
#include "estimator/outside.h"

static const char *
collective_law(const RaEstimator *e, const RaOp *op, const RaResidual **out)
{
  static const char *const collectives[] = {
      "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast"};
  guint kind = op->kind - RA_OP_ALL_REDUCE;

  if (op->dim[1] < 2)
    return NULL;
  if (op->dim[2] == op->dim[1]) {
    *out = &e->links.collective[kind].residual;
    return collectives[kind];
  }
  if (op->kind == RA_OP_ALL_REDUCE)
    *out = &e->links.inter.residual;
  return op->kind == RA_OP_ALL_TO_ALL ? "inter-node.all-to-all" : "inter-node";
}

static const char *
product_law(const RaEstimator *e, const RaOp *op, const RaResidual **out)
{
  if (op->dtype == RA_DTYPE_FP32 && e->has_fp32) {
    *out = &e->gemm_fp32.residual;
    return "gemm.fp32";
  }
  *out = op->dtype == RA_DTYPE_FP8 ? &e->gemm_fp8.residual : &e->gemm.residual;
  return op->dtype == RA_DTYPE_FP8 ? "gemm.fp8" : "gemm.bf16";
}

/* Name of the law that @op is costed by, NULL without one; @out: its table
 * where there is one that @op is looked up in. */
static const char *
law_of(const RaEstimator *e, const RaOp *op, const RaResidual **out)
{
  const RaMemoryLaw *memory;

  *out = NULL;
  switch (ra_op_class(op->kind)) {
  case RA_OP_CLASS_HOST:
    return NULL;
  case RA_OP_CLASS_COPY:
    return "host-copy";
  default:
    break;
  }
  switch ((RaOpKind)op->kind) {
  case RA_OP_GEMM:
    return product_law(e, op, out);
  case RA_OP_ATTENTION:
    *out = &e->attention.residual;
    return "attention";
  case RA_OP_ATTENTION_BACKWARD:
    *out = e->attention.backward_residual.grid ? &e->attention.backward_residual
                                               : &e->attention.residual;
    return "attention-backward";
  case RA_OP_DECODE_ATTENTION:
    *out = &e->decode_attention.residual;
    return "decode-attention";
  case RA_OP_ATTENTION_CORE:
  case RA_OP_ATTENTION_CORE_BACKWARD:
    return NULL;
  case RA_OP_ALL_REDUCE:
  case RA_OP_REDUCE_SCATTER:
  case RA_OP_ALL_GATHER:
  case RA_OP_ALL_TO_ALL:
  case RA_OP_BROADCAST:
    return collective_law(e, op, out);
  case RA_OP_SEND:
    *out = op->dim[1] ? NULL : &e->links.send.residual;
    return "send";
  case RA_OP_REALLOC:
    return "realloc";
  default:
    memory = &e->memory[ra_estimator_memory_kind(op)];
    *out = &memory->residual;
    return memory->name;
  }
}

const char *
ra_estimator_law(const RaEstimator *estimator, const RaOp *op)
{
  const RaResidual *residual;

  return law_of(estimator, op, &residual);
}

gboolean
ra_estimator_outside(const RaEstimator *estimator, const RaOp *op,
                     RaOutside *out_outside)
{
  const RaResidual *residual;
  const char *law = law_of(estimator, op, &residual);
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
