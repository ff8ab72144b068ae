/* The laws of attention: whole sequences, their gradient, one token.
 *
 * A forward reads q, k, v once and computes only what the causal mask leaves;
 * a decode step reads the cache of every sequence.  Decode is linear in the
 * tokens attended to, in two pieces, so that sums over steps are closed.
 */
#ifndef RA_ESTIMATOR_ATTENTION_H
#define RA_ESTIMATOR_ATTENTION_H

#include "estimator/residual.h"
#include "graph/cluster.h"
#include "graph/op.h"
#include "traces/profile.h"

typedef struct {
  double floor_s;        /* added to every call */
  double s_per_flop;     /* all multiprocessors busy, heads wide */
  double sms;            /* multiprocessors */
  double ramp_tokens;    /* keys that a query costs beyond the visible */
  double head_dim_half;  /* width at half rate, elements */
  double tile_tokens;    /* queries that one multiprocessor takes at a time */
  double s_per_byte;     /* memory */
  double head_s;         /* each head of each sequence */
  double backward_ratio; /* forward's over backward's FLOP/s */
  RaResidual residual;
  RaResidual backward_residual; /* of the gradient beside its law */
} RaAttentionLaw;

typedef struct {
  double floor_s;      /* least time of the part that grows */
  double base_s;       /* its time at an empty cache */
  double head_s;       /* each query head of each sequence */
  double sequence_s;   /* each sequence */
  double s_per_byte;   /* memory, of the cache */
  RaResidual residual; /* its first axis is the length */
  float *log_s;        /* ln of seconds at each cell of the table, which never
                          falls along the length; owned; NULL: no table */
} RaDecodeAttentionLaw;

/* @error: %RA_ERROR_INPUT: a law is missing. */
gboolean ra_attention_law_init(RaAttentionLaw *law, const RaProfile *profile,
                               const RaDevice *device, GError **error);
gboolean ra_decode_attention_law_init(RaDecodeAttentionLaw *law,
                                      const RaProfile *profile,
                                      const RaDevice *device, GError **error);
void ra_decode_attention_law_clear(RaDecodeAttentionLaw *law);

/**
 * ra_attention_s:
 * @op: an %RA_OP_ATTENTION: sequences, q_tokens, kv_tokens, pairs, q_heads,
 *   kv_heads, head_dim
 *
 * Device seconds of one causal forward:
 *
 *     rate   = peak_flop_per_s peak_frac head_dim / (head_dim + head_dim_half)
 *     work   = 4 (pairs + q_tokens ramp_tokens) q_heads head_dim / rate
 *     tile   = 4 tile_tokens (kv_tokens / sequences + ramp_tokens) head_dim
 *              sms / rate                         the longest row of tiles
 *     memory = bytes / (memory_bytes_per_s bandwidth_frac)
 *              + sequences q_heads head_s
 *     law    = floor + max(work, tile, memory)
 *     t      = law exp(r),  r from the table
 *
 * GQA changes the memory part only, as in FlashAttention.
 * Valid: batch 1..256, length 1..16384, 1..64 heads, head_dim 64 and 128.
 * Source: work partitioning, arXiv 2307.08691 section 3; coefficients, the
 * profile.   Cost: about 50 ns, no allocation.
 *
 * Returns: seconds, >= 0; 0 without tokens or heads
 */
double ra_attention_s(const RaAttentionLaw *law, const RaOp *op);

/**
 * ra_attention_backward_s:
 * @op: an %RA_OP_ATTENTION_BACKWARD
 *
 *     t = (floor + (forward(op) - floor) 5/2 / efficiency_frac) exp(r)
 *
 * Five products for the forward's two (arXiv 2307.08691 section 3.1: the
 * scores are computed again), at the paper's ratio of rates; no measurement by
 * others was found.
 *
 * Returns: seconds, >= 0
 */
double ra_attention_backward_s(const RaAttentionLaw *law, const RaOp *op);

/**
 * ra_decode_attention_s:
 * @op: an %RA_OP_DECODE_ATTENTION, one query a sequence
 *
 *     cache = 2 kv_tokens kv_heads head_dim bytes_per_element
 *     law   = sequences (q_heads head_s + sequence_s)
 *             + max(floor, base + cache / (memory_bytes_per_s bandwidth_frac))
 *
 * Without a table that is t.  With one, T(i) is the measured time at its i-th
 * length, law exp(r) at the knots of all axes, in the logarithm linear in log2
 * between them, made never to fall with i; and t is linear in kv_tokens between
 * lengths, so that a decode step stays a line between knots (the law's slope
 * beyond the last length, flat before the first).  Above the other axes' knots
 * T(i) is the nearest one's and what the law is more than there; below them
 * alone the law exp(r of the nearest), made never to fall, and no more than the
 * nearest one's.
 * Valid: 1..2048 sequences, 2..32768 tokens each, 1..64 heads.
 * Source: coefficients, the profile.   Cost: about 80 ns, no allocation.
 *
 * Returns: seconds, >= 0; 0 without sequences
 */
double ra_decode_attention_s(const RaDecodeAttentionLaw *law, const RaOp *op);

/**
 * ra_decode_attention_line:
 * @op: as above
 * @out_until_tokens: (out): the last kv_tokens for which the slope holds,
 *   %UINT64_MAX: all beyond
 *
 * Returns: d ra_decode_attention_s() / d kv_tokens at @op, s per token, >= 0
 */
double ra_decode_attention_line(const RaDecodeAttentionLaw *law, const RaOp *op,
                                uint64_t *out_until_tokens);

#endif
