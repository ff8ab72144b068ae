/* Pairs and tokens of a batch whose queries attend within windows. */
#include "config.h"

#include "graph/op/op.h"

/* Sum of min(i, w) over i = 1 .. n, where n need not be whole. */
static double
window_sum(double n, double w)
{
  return n <= w ? n * (n + 1) / 2 : w * (w + 1) / 2 + (n - w) * w;
}

/* TRUE if every query is the only one of its sequence, as in decode steps. */
static gboolean
is_decode(const RaBatch *batch)
{
  return batch->kv_tokens == batch->pairs;
}

uint64_t
ra_op_pairs(const RaBatch *batch, uint32_t window)
{
  double w = window, q = (double)batch->q_tokens, n = batch->n_sequences;
  double pairs = (double)batch->pairs, length, sum;

  if (window == 0 || q <= 0 || n <= 0)
    return batch->pairs;
  if (is_decode(batch))
    return MIN(batch->pairs, batch->q_tokens * window);
  if (batch->q_tokens == batch->kv_tokens) { /* whole sequences */
    length = 2 * pairs / q - 1;
    if (length <= w)
      return batch->pairs;
    sum = q / length * window_sum(length, w);
  } else { /* the last q / n tokens of kv / n */
    length = (double)batch->kv_tokens / n;
    sum = n * (window_sum(length, w) - window_sum(MAX(length - q / n, 0), w));
  }
  return MIN((uint64_t)(sum + 0.5), batch->pairs);
}

uint64_t
ra_op_kv_tokens(const RaBatch *batch, uint32_t window)
{
  uint64_t n = batch->n_sequences;

  if (window == 0 || batch->q_tokens == batch->kv_tokens)
    return batch->kv_tokens;
  return MIN(batch->kv_tokens,
             is_decode(batch) ? n * window : n * window + batch->q_tokens);
}

/* Sum of min(floor(i / m), k) over i = 1 .. n; k 0: no bound. */
static double
entry_sum(double n, double m, double k)
{
  double bound = k * m, whole, sum;

  whole = (double)(uint64_t)((k > 0 ? MIN(n, bound) : n) / m);
  sum = m * whole * (whole - 1) / 2;
  if (k > 0 && n > bound)
    return sum + k + (n - bound) * k;
  return sum + whole * (n - whole * m + 1);
}

uint64_t
ra_op_entry_pairs(const RaBatch *batch, uint32_t ratio, uint32_t top_k)
{
  double q = (double)batch->q_tokens, n = batch->n_sequences, length, sum;
  double m = MAX(ratio, 1);

  if (q <= 0 || n <= 0)
    return 0;
  if (is_decode(batch))
    return top_k > 0 ? MIN(batch->pairs / (uint64_t)m, batch->q_tokens * top_k)
                     : batch->pairs / (uint64_t)m;
  if (batch->q_tokens == batch->kv_tokens) { /* whole sequences */
    length = 2 * (double)batch->pairs / q - 1;
    sum = q / length * entry_sum(length, m, top_k);
  } else {
    length = (double)batch->kv_tokens / n;
    sum = n * (entry_sum(length, m, top_k) -
               entry_sum(MAX(length - q / n, 0), m, top_k));
  }
  return (uint64_t)(sum + 0.5);
}

#define NARROW_MOST 128 /* widest heads of most models, and of most tables */

/* TRUE if a query misses a key before it, on average: less may be rounding of
 * the pairs of a share.  Sequences of several lengths have more pairs than as
 * many of one. */
static gboolean
misses_keys(const RaOp *op)
{
  double n = (double)op->dim[0], q = (double)op->dim[1];

  return op->dim[2] <= op->dim[1] && n > 0 &&
         (double)op->dim[3] + q < q * (q / n + 1) / 2;
}

gboolean
ra_op_is_wide(const RaOp *op)
{
  switch ((RaOpKind)op->kind) {
  case RA_OP_ATTENTION:
  case RA_OP_ATTENTION_BACKWARD:
    return !(op->flags & RA_OP_NONCAUSAL) &&
           (op->dim[6] > NARROW_MOST || misses_keys(op));
  case RA_OP_DECODE_ATTENTION:
    return op->dim[6] > NARROW_MOST || op->flags & RA_OP_WINDOW;
  default:
    return FALSE;
  }
}
