/* Attention with scores in memory: GEMMs and memory-bound kernels. */
#include "config.h"

#include "estimator/attention_core.h"

/* Names of dim[] of the attention ops. */
enum { SEQUENCES, Q_TOKENS, KV_TOKENS, PAIRS, Q_HEADS, KV_HEADS, HEAD_DIM };

/* A batched product, its batch laid along its rows. */
static double
product_s(const RaGemmLaw *gemm, const RaOp *op, uint64_t m, uint64_t n,
          uint64_t k)
{
  RaOp product = {.kind = RA_OP_GEMM,
                  .dtype = op->dtype,
                  .count = 1,
                  .dim = {m * op->dim[Q_HEADS], n, k, 1}};

  return ra_gemm_s(gemm, &product) *
         (op->flags & RA_OP_RAGGED ? RA_GEMM_RAGGED_FACTOR : 1);
}

/* The bytes that the GEMMs move are in their law: this is the rest of
 * ra_op_bytes(). */
static double
passes_bytes(const RaOp *op, gboolean back)
{
  double e = ra_dtype_bytes((RaDtype)op->dtype);
  double mask = op->flags & RA_OP_DROPOUT ? 2 * e + 1 : 0;
  double output = (double)op->dim[Q_TOKENS] * (double)op->dim[Q_HEADS] *
                  (double)op->dim[HEAD_DIM];

  return ra_op_n_scores(op) * ((back ? 3 : 2) * e + mask) + 2 * e * output;
}

double
ra_attention_core_s(const RaGemmLaw *gemm, const RaMemoryLaw *memory,
                    const RaOp *op)
{
  const uint64_t *d = op->dim;
  gboolean back = op->kind == RA_OP_ATTENTION_CORE_BACKWARD;
  uint64_t keys;
  double s;

  if (d[SEQUENCES] == 0 || d[Q_TOKENS] == 0 || d[Q_HEADS] == 0)
    return 0;
  keys = (d[KV_TOKENS] + d[SEQUENCES] - 1) / d[SEQUENCES];
  s = product_s(gemm, op, d[Q_TOKENS], keys, d[HEAD_DIM]) +
      product_s(gemm, op, d[Q_TOKENS], d[HEAD_DIM], keys);
  return (back ? 2 : 1) * s +
         ra_memory_op_bytes_s(memory, passes_bytes(op, back));
}
