/* Causal attention over packed sequences of any lengths, forward, backward and
 * one token at a time from a cache; fp32, grouped query heads.
 *
 * Sequences lie one after the other: tokens begin[s] to begin[s + 1] - 1 are
 * those of sequence s.  Query head h reads key head h / (q_heads / kv_heads).
 *
 *     p_ij = exp(scale q_i k_j - lse_i)  j <= i,  scale = 1 / sqrt(head_dim)
 *     lse_i = log sum_j exp(scale q_i k_j)        o_i = sum_j p_ij v_j
 *
 * A block of RA_CPU_ATTENTION_BLOCK queries is worked on at a time, so that
 * probabilities take 64 x (longest) floats and are never stored; the backward
 * makes them again from lse (arXiv 2205.14135).  The products are CBLAS's.
 *
 * Error: with e = (head_dim + 8) u max_j |scale| sum_d |q_id k_jd| the error of
 * an exponent, probabilities are within 2 (e + 2^-22) of themselves and an
 * output within 2 (e + 2^-22 + (i + 2) u) sum_j p_ij |v_j|.
 */
#ifndef RA_KERNELS_CPU_CPU_ATTENTION_H
#define RA_KERNELS_CPU_CPU_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#define RA_CPU_ATTENTION_BLOCK 64 /* queries */

/* What forward and backward work on. */
typedef struct {
  uint32_t n_sequences;  /* >= 0 */
  const uint32_t *begin; /* (n_sequences + 1) first token of each; the last is
                            all tokens */
  uint32_t q_heads;      /* a multiple of kv_heads */
  uint32_t kv_heads;     /* >= 1 */
  uint32_t head_dim;     /* elements of a head */
  size_t stride;         /* floats from a token's q, k or v to the next's */
  uint32_t kv_first;     /* key heads to do, with their query heads */
  uint32_t kv_last;      /* and one behind; 0: all */
  /* Keys that are not the queries' own, sequence by sequence: NULL and 0: they
   * are, and a query sees itself and those before it. */
  const uint32_t *kv_begin; /* (n_sequences + 1) first key of each */
  const uint32_t *seen; /* (tokens) keys of its sequence that a query sees, the
                           first so many; no fewer than the query before */
  size_t kv_stride;     /* floats from a key or value to the next; 0: stride */
  size_t d_q_stride;    /* and of the gradient of q; 0: stride */
  const float *slopes;  /* (q_heads) of ALiBi; NULL: none */
  const uint32_t *q_places;  /* (tokens) of queries in their sequences, for
                                ALiBi; NULL: 0, 1, ... of each */
  const uint32_t *kv_places; /* (keys) likewise */
} RaCpuAttention;

/**
 * ra_cpu_alibi_slope:
 * @head: of @n_heads query heads
 *
 * What ALiBi (arXiv 2108.12409) adds to the score of query i and key j is this
 * times j - i: 2^(-8 (h + 1) / p) for the first p heads, p the largest power of
 * two not above @n_heads, and 2^(-8 (2 (h - p) + 1) / (2 p)) for the others, as
 * build_alibi_tensor() of bloom and build_mpt_alibi_tensor() of mpt have it
 * (transformers).
 */
float ra_cpu_alibi_slope(uint32_t head, uint32_t n_heads);

/* Floats of workspace that both need: 2 x block x longest sequence of keys. */
size_t ra_cpu_attention_workspace(const RaCpuAttention *shape);

/**
 * ra_cpu_attention:
 * @q: (tokens, q_heads, head_dim), tokens @shape->stride floats apart
 * @k: (tokens, kv_heads, head_dim), likewise
 * @v: as @k
 * @out: (tokens, q_heads, head_dim), dense
 * @out_lse: (tokens, q_heads); of a query that sees no key -infinity, and its
 *   output 0
 * @workspace: ra_cpu_attention_workspace() floats
 */
void ra_cpu_attention(const RaCpuAttention *shape, const float *q,
                      const float *k, const float *v, float *out,
                      float *out_lse, float *workspace);

/**
 * ra_cpu_attention_merge:
 * @part: (tokens, heads, head_dim) over some keys
 * @part_lse: (tokens, heads) of it; -infinity: none seen
 * @out: (tokens, heads, head_dim) over others, replaced by that over both
 * @lse: (tokens, heads) likewise, finite
 *
 *     lse = log(e^a + e^b)   out = e^(a - lse) out + e^(b - lse) part
 *
 * (arXiv 2310.01889).   Error: 8 u of the larger of the two, and twice that of
 * the exponents.
 */
void ra_cpu_attention_merge(size_t n_tokens, size_t n_heads, size_t head_dim,
                            const float *part, const float *part_lse,
                            float *out, float *lse);

/**
 * ra_cpu_attention_backward:
 * @out: of the forward, over all keys where these are some of them
 * @lse: likewise
 * @d_out: (tokens, q_heads, head_dim), dense
 * @d_q: as @q, written
 * @d_k: as @k, written
 * @d_v: as @k, written
 *
 * With dp_ij = do_i v_j and D_i = do_i o_i:
 *
 *     ds_ij = p_ij (dp_ij - D_i) scale
 *     dq_i = sum_j ds_ij k_j   dk_j = sum_i ds_ij q_i   dv_j = sum_i p_ij do_i
 *
 * where the sums over i take in all query heads of the group.  Of some of the
 * keys it is their part of dq.
 */
void ra_cpu_attention_backward(const RaCpuAttention *shape, const float *q,
                               const float *k, const float *v, const float *out,
                               const float *lse, const float *d_out, float *d_q,
                               float *d_k, float *d_v, float *workspace);

/* A sequence whose keys and values lie in pages: token t at row
 * pages[t / page_tokens] page_rows + t % page_tokens. */
typedef struct {
  uint32_t q_heads, kv_heads; /* the first a multiple of the second */
  uint32_t head_dim;
  size_t n_kv;           /* cached tokens, the new one's among them, >= 1 */
  const uint32_t *pages; /* (pages of n_kv tokens) */
  uint32_t page_tokens;
  uint32_t page_rows;  /* from a page to the next */
  const float *slopes; /* (q_heads) of ALiBi; NULL: none */
} RaCpuDecode;

/**
 * ra_cpu_decode_attention:
 * @shape: of the sequence
 * @q: (q_heads, head_dim) of the new token
 * @k: (rows, kv_heads, head_dim)
 * @v: as @k
 * @out: (q_heads, head_dim)
 * @workspace: (q_heads / kv_heads, n_kv) floats
 *
 * One sequence's new token.  Reads each key and value once: what bounds it.
 */
void ra_cpu_decode_attention(const RaCpuDecode *shape, const float *q,
                             const float *k, const float *v, float *out,
                             float *workspace);

#endif
