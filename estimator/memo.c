/* A direct-mapped cache of op costs. */
#include "config.h"

#include <string.h>

#include "estimator/memo.h"

/* Ops kept: 0.6 MB.  A table of micro-batches asks for the ops of one batch
 * close together (each layer's, each stage's), so few are enough: with 2^13 9
 * of 10 are found of the demo's 4.7 x 10^5 (bench/simulate). */
#define MEMO_BITS 13

struct _RaOpMemo {
  RaOp ops[1 << MEMO_BITS]; /* count 0; kind RA_N_OPS: none */
  double seconds[1 << MEMO_BITS];
};

RaOpMemo *
ra_op_memo_new(void)
{
  RaOpMemo *memo = g_new(RaOpMemo, 1);

  for (guint i = 0; i < G_N_ELEMENTS(memo->ops); i++)
    memo->ops[i].kind = RA_N_OPS;
  return memo;
}

void
ra_op_memo_free(RaOpMemo *memo)
{
  g_free(memo);
}

/* The slot of an op: a multiplication a word, of which the high bits count. */
static guint
slot_of(const RaOp *op)
{
  uint64_t h = op->kind | (uint64_t)op->dtype << 8 | (uint64_t)op->flags << 16;

  for (guint i = 0; i < RA_OP_DIMS; i++)
    h = (h ^ op->dim[i]) * UINT64_C(0x9e3779b97f4a7c15);
  return (guint)(h >> (64 - MEMO_BITS));
}

static gboolean
same_op(const RaOp *a, const RaOp *b)
{
  return a->kind == b->kind && a->dtype == b->dtype && a->flags == b->flags &&
         memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

double
ra_op_memo_s(RaOpMemo *memo, const RaEstimator *estimator, const RaOp *op,
             RaOpMemoAsk ask)
{
  guint slot = slot_of(op);

  if (same_op(&memo->ops[slot], op))
    return memo->seconds[slot];
  memo->ops[slot] = *op;
  memo->seconds[slot] = ask(estimator, op);
  return memo->seconds[slot];
}
