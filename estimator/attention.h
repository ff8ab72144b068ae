/* The laws of attention: whole sequences, their gradient, one token.
 *
 * A forward pass reads q, k, v once and computes only the pairs that the causal
 * mask leaves; a decode step reads the cache of every sequence.  Decode is
 * piecewise linear in the tokens attended to, so that sums over steps have a
 * closed form.
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
  double s_per_flop;     /* with all multiprocessors busy and wide heads */
  double head_dim_half;  /* cost of a score apart from its GEMMs, in elements
                            of a head */
  double tile_s;         /* start and end of a tile, on its multiprocessor */
  double row_s;          /* start and end, for each row of a tile */
  double lone_ratio;     /* time of an isolated tile / its share of full ones */
  double s_per_byte;     /* memory */
  double backward_ratio; /* FLOP/s of the forward pass / the backward pass */
  RaResidual residual;   /* of the forward pass */
  RaResidual backward_residual; /* of the gradient */
} RaAttentionLaw;

/* Table of ln(seconds) by cell, which never falls along the length.  The first
 * lookup computes it: training needs none, and a fit makes thousands of
 * estimators. */
typedef struct {
  gsize is_made; /* g_once_init_enter()'s */
  float *log_s;  /* owned once made */
} RaDecodeTable;

typedef struct {
  guint flash;          /* generation of the kernel */
  double sms;           /* multiprocessors */
  double cache_bytes;   /* last-level cache of the device */
  double floor_s;       /* added to every call */
  double launch_s;      /* each further kernel of a call */
  double split_s;       /* combining each part of a split cache */
  double block_s;       /* a block of keys, one after another */
  double tile_s;        /* start and end of a thread block */
  double s_per_byte;    /* memory */
  double s_per_flop;    /* of the products, as in RaAttentionLaw; 0: they are
                           in the rest */
  double head_dim_half; /* likewise */
  RaResidual residual;  /* first axis: length */
  RaDecodeTable *table; /* owned; NULL: no table */
  RaDtype dtype;        /* of the cache that was measured */
} RaDecodeAttentionLaw;

/* @name: "attention", "attention.wide", "attention.fp8" or "encoder-attention";
 * the backward is one law.  Of a decode step: "decode-attention",
 * "decode-attention.wide", or "decode-attention.fp8" of an 8-bit cache.
 * @error: %RA_ERROR_INPUT: a law is missing. */
gboolean ra_attention_law_init(RaAttentionLaw *law, const RaProfile *profile,
                               const RaDevice *device, const char *name,
                               GError **error);
gboolean ra_decode_attention_law_init(RaDecodeAttentionLaw *law,
                                      const RaProfile *profile,
                                      const RaDevice *device, const char *name,
                                      GError **error);
void ra_decode_attention_law_clear(RaDecodeAttentionLaw *law);

/**
 * ra_attention_s:
 * @op: an %RA_OP_ATTENTION: sequences, q_tokens, kv_tokens, pairs, q_heads,
 *   kv_heads, head_dim
 *
 * Device seconds of one causal forward pass.  estimator/flash.h cuts it into
 * tiles of R rows, `rows` in total, with the keys of each tile in S splits:
 *
 *     pair   = 4 (head_dim + head_dim_half) / (peak_flop_per_s peak_frac)
 *     start  = tile_s + R row_s
 *     keys   = kv_tokens / sequences,   seen = pairs / q_tokens
 *     work   = rows (seen + edge) pair + tiles start / sms
 *     edge   = keys - 2 seen, from 0 to half a block of 128
 *     chain  = start + lone R min(keys / S, 2 seen + 128) sms pair
 *     memory = bytes / (memory_bytes_per_s bandwidth_frac)
 *     parts  = 8 S q_tokens q_heads (head_dim + 1)
 *                / (memory_bytes_per_s bandwidth_frac)    if S > 1: fp32,
 *                                                         written and combined
 *     law    = floor + parts + max(work, chain, memory)
 *     t      = law exp(r),  r from the table
 *
 * Queries see half of the keys, and the last ones all.  Within windows they see
 * less, and half a block beyond the far edge.
 *
 * head_dim_half is the cost of a score apart from its GEMMs: exponentials (16 a
 * cycle and multiprocessor), scaling, maxima, sums.  A processor without such a
 * kernel has one tile a head and no chain.
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
 * Five GEMMs for the two of the forward pass (arXiv 2307.08691 section 3.1: the
 * scores are recomputed), at the paper's ratio of rates.  No published
 * measurement was found.
 *
 * Returns: seconds, >= 0
 */
double ra_attention_backward_s(const RaAttentionLaw *law, const RaOp *op);

/**
 * ra_decode_attention_s:
 * @op: an %RA_OP_DECODE_ATTENTION, one query a sequence
 *
 * Device seconds of one decode step.  estimator/flash.h cuts it into tiles,
 * with the keys of each in S splits of B blocks of 128, or 2 B of 64:
 *
 *     bytes   = 2 kv_tokens kv_heads head_dim bytes_per_element
 *               + 2 (3 with copies of queries and outputs) sequences q_heads
 *                 head_dim bytes_per_element
 *     missed  = 0 up to half of the cache of the device, 1 from all of it
 *     memory  = missed bytes / (memory_bytes_per_s bandwidth_frac)
 *     kernels = 2 with copies + 1 with splits
 *     law     = floor + kernels launch_s + S split_s (if S > 1)
 *               + max(B block_s head_dim / 128, tiles S tile_s / sms, memory,
 *                     products)
 *     products = rows (kv_tokens / sequences) pair,  as ra_attention_s() has it
 *
 * The rows of a tile are multiplied whether queries fill them or not: 64 where
 * five heads share keys.  GPUs of few FLOP/s for their memory (H20: 37 a byte;
 * H100: 295) then compute longer than they read.  A law fitted on a GPU's own
 * rows has no products: the rows say what they take.
 *
 * The law holds at lengths that are powers of two and is linear between them.
 * On a processor without such a kernel it is the sum of tiles and memory, and
 * all bytes miss.
 *
 * Without a table, t = law.  With one, T(i) is the measured time at its i-th
 * length: law exp(r) at the knots of all axes; its logarithm is linear in log2
 * between them; it is made never to fall with i.  t is linear in kv_tokens
 * between lengths, so that a decode step stays a line between knots; it has the
 * law's slope above the last length and is constant below the first.  Outside
 * the knots of the other axes:
 *
 *     above       T(i) of the nearest knot + the increase of the law from there
 *     only below  law exp(r of the nearest), made never to fall, and at most
 *                 T(i) of the nearest knot
 *
 * Valid: 1..2048 sequences, 2..32768 tokens each, 1..64 heads.
 * Source: coefficients, the profile.   Cost: about 80 ns, no allocation.
 *
 * Returns: seconds, >= 0; 0 without sequences
 */
double ra_decode_attention_s(const RaDecodeAttentionLaw *law, const RaOp *op);

/**
 * ra_decode_attention_line:
 * @op: as above
 * @out_until_tokens: (out): the last kv_tokens for which the slope is valid;
 *   %UINT64_MAX: no limit
 *
 * Returns: d ra_decode_attention_s() / d kv_tokens at @op, s per token, >= 0
 */
double ra_decode_attention_line(const RaDecodeAttentionLaw *law, const RaOp *op,
                                uint64_t *out_until_tokens);

#endif
