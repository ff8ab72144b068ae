/* Direct-mapped caches of op costs and of lines of decode steps. */
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

/* A multiplication a word, of which the high @bits count. */
static guint
slot_of(uint64_t h, const uint64_t *words, guint n_words, guint bits)
{
  for (guint i = 0; i < n_words; i++)
    h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
  return (guint)(h >> (64 - bits));
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
  uint64_t kind =
      op->kind | (uint64_t)op->dtype << 8 | (uint64_t)op->flags << 16;
  guint slot = slot_of(kind, op->dim, RA_OP_DIMS, MEMO_BITS);

  if (same_op(&memo->ops[slot], op))
    return memo->seconds[slot];
  memo->ops[slot] = *op;
  memo->seconds[slot] = ask(estimator, op);
  return memo->seconds[slot];
}

/* Subjects kept, of 0.3 KB each: a call with a thousand sequences at a time has
 * a few thousand. */
#define LINE_BITS 12

struct _RaLinesMemo {
  RaKnownLines at[1 << LINE_BITS]; /* 0 sequences: none */
};

RaLinesMemo *
ra_lines_memo_new(void)
{
  return g_new0(RaLinesMemo, 1);
}

void
ra_lines_memo_free(RaLinesMemo *memo)
{
  g_free(memo);
}

RaKnownLines *
ra_lines_memo_at(RaLinesMemo *memo, const RaLineSubject *subject)
{
  uint64_t words[sizeof *subject / sizeof(uint64_t)];
  RaKnownLines *at;

  G_STATIC_ASSERT(sizeof words == sizeof *subject);
  memcpy(words, subject, sizeof words);
  at = &memo->at[slot_of(0, words, G_N_ELEMENTS(words), LINE_BITS)];
  if (memcmp(&at->subject, subject, sizeof *subject) != 0) {
    at->subject = *subject;
    at->n = 0;
  }
  return at;
}
