/* Extrapolation: the law and axis by which an op leaves its measurements. */
#include "config.h"

#include "estimator/estimator_impl.h"
#include "estimator/extrapolation.h"

static const RaResidual *
collective_table(const RaEstimator *e, const RaOp *op)
{
  const RaTokenLaw *tokens = ra_collective_tokens(&e->links, op);

  if (op->dim[1] < 2)
    return NULL;
  if (tokens)
    return &tokens->residual;
  if (op->dim[2] == op->dim[1])
    return &e->links.collective[op->kind - RA_OP_ALL_REDUCE].residual;
  return op->kind == RA_OP_ALL_REDUCE ? &e->links.inter.residual : NULL;
}

static const RaResidual *
product_table(const RaEstimator *e, const RaOp *op)
{
  if (op->dtype == RA_DTYPE_FP32 && e->has_fp32)
    return &e->gemm_fp32.residual;
  return op->dtype == RA_DTYPE_FP8 ? &e->gemm_fp8.residual : &e->gemm.residual;
}

/* The table that @op is looked up in; NULL: its law has none, or it has no law
 * of its own. */
static const RaResidual *
table_of(const RaEstimator *e, const RaOp *op)
{
  RaKernels kernels = e->system.kernels;
  const RaRoofLaw *roof = ra_estimator_roof(e, op, kernels);

  if (roof)
    return &roof->residual;
  switch ((RaOpKind)op->kind) {
  case RA_OP_LATENT:
  case RA_OP_LATENT_BACKWARD:
  case RA_OP_LATENT_DECODE:
  case RA_OP_INDEXER:
  case RA_OP_COMPRESSED:
  case RA_OP_COMPRESSED_BACKWARD:
  case RA_OP_SCAN:
  case RA_OP_SCAN_BACKWARD:
    return NULL;
  case RA_OP_GEMM:
    return product_table(e, op);
  case RA_OP_EXPERTS:
  case RA_OP_EXPERTS_BACKWARD:
    return e->experts.any ? &ra_estimator_experts(e, op, kernels)->residual
                          : NULL;
  case RA_OP_ATTENTION:
    return &ra_estimator_attention(e, op, kernels)->residual;
  case RA_OP_ATTENTION_BACKWARD:
    return ra_estimator_attention(e, op, kernels)->backward_residual.grid
               ? &ra_estimator_attention(e, op, kernels)->backward_residual
               : &ra_estimator_attention(e, op, kernels)->residual;
  case RA_OP_DECODE_ATTENTION:
    return &ra_estimator_decode_attention(e, op, kernels)->residual;
  case RA_OP_ALL_REDUCE:
  case RA_OP_REDUCE_SCATTER:
  case RA_OP_ALL_GATHER:
  case RA_OP_ALL_TO_ALL:
  case RA_OP_BROADCAST:
    return collective_table(e, op);
  case RA_OP_SEND:
    return op->dim[1] ? NULL : &e->links.send.residual;
  case RA_OP_ATTENTION_CORE:
  case RA_OP_ATTENTION_CORE_BACKWARD:
  case RA_OP_REALLOC:
  case RA_OP_OFFLOAD:
  case RA_OP_RELOAD:
  case RA_OP_HOST:
    return NULL;
  default:
    return &e->memory[ra_estimator_memory_kind(op)].residual;
  }
}

gboolean
ra_estimator_extrapolation(const RaEstimator *estimator, const RaOp *op,
                           RaExtrapolation *out_outside)
{
  const RaResidual *residual = table_of(estimator, op);
  const RaGridAxis *knots;
  RaFeature feature;
  guint axis;

  if (!residual || !residual->grid ||
      !ra_residual_outside(residual, op, &axis) ||
      ra_estimator_op_s(estimator, op) <= 0)
    return FALSE;
  feature = (RaFeature)residual->feature[axis];
  knots = &residual->grid->axes[axis];
  out_outside->law = residual->law;
  out_outside->axis = ra_feature_name(feature);
  out_outside->value = ra_feature(feature, op);
  out_outside->limit = out_outside->value < knots->knots[0]
                           ? knots->knots[0]
                           : knots->knots[knots->n_knots - 1];
  return TRUE;
}

gboolean
ra_estimator_has_law(const RaEstimator *estimator, const RaOp *op)
{
  gboolean mixer = (op->kind >= RA_OP_LATENT && op->kind <= RA_OP_SCAN_STEP) ||
                   op->kind == RA_OP_COMPRESSED ||
                   op->kind == RA_OP_COMPRESSED_BACKWARD;
  const RaRoofLaw *roof =
      ra_estimator_roof(estimator, op, estimator->system.kernels);

  return !mixer || (roof && (!ra_roof_is_backward(op) ||
                             roof->roof == RA_ROOF_LATENT_BACKWARD));
}

gboolean
ra_estimator_formula(const RaEstimator *estimator, const RaOp *op,
                     RaCollectiveChoice *out_choice)
{
  return ra_collective_formula(&estimator->links, op, out_choice);
}
