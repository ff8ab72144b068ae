/* The laws of attention: whole sequences, their gradient, one token.
 *
 * A forward reads q, k, v once and computes only what the causal mask leaves;
 * a decode step reads the cache of every sequence.  Decode is linear in the
 * tokens attended to, piece by piece, so that sums over steps are closed.
 */
#ifndef RA_ESTIMATOR_ATTENTION_H
#define RA_ESTIMATOR_ATTENTION_H

#include "estimator/residual.h"
#include "graph/input/cluster.h"
#include "graph/op/op.h"
#include "traces/profile.h"

typedef struct {
  guint flash;           /* generation of the kernel, estimator/flash.h */
  double sms;            /* multiprocessors */
  double floor_s;        /* added to every call */
  double s_per_flop;     /* all multiprocessors busy, heads wide */
  double head_dim_half;  /* what a score costs beside its products, as elements
                            of a head */
  double tile_s;         /* begin and end of a tile, on its multiprocessor */
  double row_s;          /* and for each of its rows */
  double lone_ratio;     /* time of a tile alone over its share of full ones */
  double s_per_byte;     /* memory */
  double backward_ratio; /* forward's over backward's FLOP/s */
  RaResidual residual;
  RaResidual backward_residual; /* of the gradient beside its law */
} RaAttentionLaw;

typedef struct {
  guint flash;         /* generation of the kernel */
  double sms;          /* multiprocessors */
  double cache_bytes;  /* of the device's last level */
  double floor_s;      /* added to every call */
  double launch_s;     /* each further kernel of it */
  double split_s;      /* each share of a split cache, when combined */
  double block_s;      /* a block of keys, one after the other */
  double tile_s;       /* begin and end of a thread block */
  double s_per_byte;   /* memory */
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
 * Device seconds of one causal forward, cut as estimator/flash.h says into
 * tiles of R rows, rows in all, keys of each in S splits:
 *
 *     pair   = 4 (head_dim + head_dim_half) / (peak_flop_per_s peak_frac)
 *     start  = tile_s + R row_s
 *     work   = rows (pairs / q_tokens) pair + tiles start / sms
 *     chain  = start + lone R (kv_tokens / sequences / S) sms pair
 *     memory = bytes / (memory_bytes_per_s bandwidth_frac)
 *     parts  = 8 S q_tokens q_heads (head_dim + 1)
 *                / (memory_bytes_per_s bandwidth_frac)    where S > 1: fp32
 *                                                         written and combined
 *     law    = floor + parts + max(work, chain, memory)
 *     t      = law exp(r),  r from the table
 *
 * The width's half is what a score costs beside its products: exponentials (16
 * a cycle and multiprocessor), scaling, maxima, sums.  A processor without such
 * a kernel has one tile a head and no chain.
 * Valid: batch 1..256, length 1..16384, 1..64 heads, head_dim 64 and 128.
 * Source: work partitioning, arXiv 2307.08691 section 3, arXiv 2407.08608;
 * coefficients, the profile.   Cost: about 60 ns, no allocation.
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
 * Cut as estimator/flash.h says, keys of each tile in S splits of B blocks:
 *
 *     bytes   = 2 kv_tokens kv_heads head_dim bytes_per_element
 *               + 2 (3 with copies of queries and outputs) sequences q_heads
 *                 head_dim bytes_per_element
 *     missed  = 0 up to half of the cache of the device, 1 from all of it
 *     memory  = missed bytes / (memory_bytes_per_s bandwidth_frac)
 *     kernels = 2 with copies + 1 with splits
 *     law     = floor + kernels launch_s + S split_s (where S > 1)
 *               + max(B block_s head_dim / 128, tiles S tile_s / sms, memory)
 *
 * at lengths that are powers of two, linear between them.  A processor without
 * such a kernel takes the sum of tiles and memory, and misses all bytes.
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
