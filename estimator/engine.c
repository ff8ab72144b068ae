/* The inference engine: its own all-reduce, and the host time of steps without
 * a captured graph. */
#include "config.h"

#include "estimator/estimator_impl.h"

double
ra_estimator_engine_sum_s(const RaEstimator *estimator, const RaOp *op)
{
  double n = (double)op->dim[1], latency_s = estimator->system.one_shot_s;
  double wire_s = (double)op->dim[0] * estimator->one_shot_s_per_byte;
  double one_s = latency_s + (n - 1) * wire_s;
  double two_s = 2 * latency_s + 2 * (n - 1) / n * wire_s;

  return MIN(one_s, two_s);
}

void
ra_estimator_engine_sums(const RaEstimator *estimator, const RaOp *ops,
                         guint n_ops, RaCost *cost)
{
  if (estimator->system.one_shot_s <= 0)
    return;
  for (guint i = 0; i < n_ops; i++) {
    const RaOp *op = &ops[i];
    double saved_s;

    if (op->kind != RA_OP_ALL_REDUCE || op->dim[1] < 2 ||
        op->dim[1] > op->dim[2])
      continue;
    saved_s = ra_estimator_op_s(estimator, op) -
              ra_estimator_engine_sum_s(estimator, op);
    cost->comm_s -= MAX(saved_s, 0) * op->count;
  }
}

void
ra_estimator_add_prompts(const RaEstimator *estimator, const RaPiece *piece,
                         RaCost *cost)
{
  double host_s = piece->n_layers * estimator->system.prefill_layer_s;

  if (host_s > cost->total_s) {
    cost->host_s += host_s - cost->total_s;
    cost->total_s = host_s;
  }
}
