/* Causal attention over packed sequences of any lengths: forward, backward and
 * one token at a time from a cache; fp32, grouped query heads.
 *
 * Sequences follow one another: sequence s has tokens begin[s] to
 * begin[s + 1] - 1.  Query head h reads key head h / (q_heads / kv_heads).
 *
 *     p_ij = exp(scale q_i k_j - lse_i)  j <= i
 *     lse_i = log sum_j exp(scale q_i k_j)        o_i = sum_j p_ij v_j
 *
 * With a window of w keys, j > i - w: the query's own key and w - 1 before it.
 * With a sink of score a in a head, lse_i is the log of exp(a) more: a key of
 * no value, which every query sees (gpt_oss).
 *
 * It works on RA_CPU_ATTENTION_BLOCK queries at a time, so that probabilities
 * need 64 x (longest) floats and are never stored; the backward pass recomputes
 * them from lse (arXiv 2205.14135).  The GEMMs are those of CBLAS.
 *
 * Error: let e = (head_dim + 8) u max_j |scale| sum_d |q_id k_jd| be the error
 * of an exponent.  Probabilities are within a relative 2 (e + 2^-22), and an
 * output is within 2 (e + 2^-22 + (i + 2) u) sum_j p_ij |v_j|.
 */
#ifndef RA_KERNELS_CPU_CPU_ATTENTION_H
#define RA_KERNELS_CPU_CPU_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#define RA_CPU_ATTENTION_BLOCK 64 /* queries */

/* Shape and layout of forward and backward. */
typedef struct {
  uint32_t n_sequences;  /* >= 0 */
  const uint32_t *begin; /* (n_sequences + 1) first token of each; the last is
                            all tokens */
  uint32_t q_heads;      /* a multiple of kv_heads */
  uint32_t kv_heads;     /* >= 1 */
  uint32_t head_dim;     /* elements of a head */
  size_t stride;         /* floats between consecutive tokens of q, k or v */
  uint32_t kv_first;     /* first key head to do, with its query heads */
  uint32_t kv_last;      /* one after the last key head to do; 0: all */
  /* Keys that are not those of the queries, sequence by sequence; NULL and 0: a
   * query sees its own key and those before it. */
  const uint32_t *kv_begin; /* (n_sequences + 1) first key of each */
  const uint32_t *seen;     /* (tokens) number of keys of its sequence, from the
                           first, that a query sees; never falls */
  size_t kv_stride;         /* floats between keys or values; 0: stride */
  size_t d_q_stride;        /* floats between gradients of q; 0: stride */
  const float *slopes;      /* (q_heads) of ALiBi; NULL: none */
  const uint32_t *q_places; /* (tokens) places of queries in their sequences,
                                for ALiBi; NULL: 0, 1, ... of each */
  const uint32_t *kv_places; /* (keys) likewise */
  uint32_t window;    /* keys that a query sees at most, its last; 0: all */
  const float *sinks; /* (q_heads) scores of sinks; NULL: none */
  uint32_t value_dim; /* elements of a value, and of an output; 0: head_dim */
  size_t v_stride;    /* floats between values; 0: as between keys */
  float scale;        /* of scores; 0: 1 / sqrt(head_dim) */
} RaCpuAttention;

/**
 * ra_cpu_alibi_slope:
 * @head: one of @n_heads query heads
 *
 * ALiBi (arXiv 2108.12409) adds the slope times j - i to the score of query i
 * and key j.  With p the largest power of two not above @n_heads:
 *
 *     slope = 2^(-8 (h + 1) / p)                the first p heads
 *             2^(-8 (2 (h - p) + 1) / (2 p))    the others
 *
 * as in build_alibi_tensor() of bloom and build_mpt_alibi_tensor() of mpt
 * (transformers).
 *
 * Returns: the slope of @head
 */
float ra_cpu_alibi_slope(uint32_t head, uint32_t n_heads);

/* Floats of workspace for forward or backward: 2 x block x longest sequence of
 * keys. */
size_t ra_cpu_attention_workspace(const RaCpuAttention *shape);

/**
 * ra_cpu_attention:
 * @q: (tokens, q_heads, head_dim), tokens @shape->stride floats apart
 * @k: (tokens, kv_heads, head_dim), likewise
 * @v: as @k
 * @out: (tokens, q_heads, head_dim), dense
 * @out_lse: (tokens, q_heads); -infinity for a query that sees no key, whose
 *   output is 0
 * @workspace: ra_cpu_attention_workspace() floats
 */
void ra_cpu_attention(const RaCpuAttention *shape, const float *q,
                      const float *k, const float *v, float *out,
                      float *out_lse, float *workspace);

/**
 * ra_cpu_attention_merge:
 * @part: (tokens, heads, head_dim) result over some keys
 * @part_lse: (tokens, heads) its lse; -infinity: no key seen
 * @out: (tokens, heads, head_dim) result over other keys, replaced by that over
 *   both
 * @lse: (tokens, heads) likewise, finite
 *
 *     lse = log(e^a + e^b)   out = e^(a - lse) out + e^(b - lse) part
 *
 * (arXiv 2310.01889).   Error: 8 u of the larger of the two, and twice the
 * error of the exponents.
 */
void ra_cpu_attention_merge(size_t n_tokens, size_t n_heads, size_t head_dim,
                            const float *part, const float *part_lse,
                            float *out, float *lse);

/**
 * ra_cpu_attention_backward:
 * @out: output of the forward pass, over all keys if these are a part of them
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
 * where the sums over i include all query heads of the group.  For a part of
 * the keys, dq is their part of the gradient.
 */
void ra_cpu_attention_backward(const RaCpuAttention *shape, const float *q,
                               const float *k, const float *v, const float *out,
                               const float *lse, const float *d_out, float *d_q,
                               float *d_k, float *d_v, float *workspace);

/**
 * ra_cpu_sinks_backward:
 * @sinks: (n_heads) scores
 * @out: (n_tokens, n_heads, head_dim) of ra_cpu_attention()
 * @lse: (n_tokens, n_heads) likewise
 * @d_out: (n_tokens, n_heads, head_dim)
 * @d_sinks: (n_heads), added to
 *
 * As a sink has no value, its dp is 0 and d_sink = -sum_i exp(a - lse_i) D_i.
 * Error: sums are in double; that of exp() and of D_i is left.
 */
void ra_cpu_sinks_backward(size_t n_tokens, uint32_t n_heads, size_t head_dim,
                           const float *sinks, const float *out,
                           const float *lse, const float *d_out,
                           float *d_sinks);

/* A sequence with keys and values in pages: token t is at row
 * pages[t / page_tokens] page_rows + t % page_tokens. */
typedef struct {
  uint32_t q_heads, kv_heads; /* the first a multiple of the second */
  uint32_t head_dim;
  size_t n_kv;           /* cached tokens, including the new one, >= 1 */
  const uint32_t *pages; /* (pages of n_kv tokens) */
  uint32_t page_tokens;
  uint32_t page_rows;  /* rows from a page to the next */
  const float *slopes; /* (q_heads) of ALiBi; NULL: none */
  uint32_t window;     /* cached tokens that it sees at most; 0: all */
  const float *sinks;  /* (q_heads) scores of sinks; NULL: none */
  uint32_t value_dim;  /* first elements of a row of values that are the value,
                          and elements of an output; 0: head_dim */
  float scale;         /* of scores; 0: 1 / sqrt(head_dim) */
} RaCpuDecode;

/**
 * ra_cpu_decode_attention:
 * @shape: shape of the sequence
 * @q: (q_heads, head_dim) of the new token
 * @k: (rows, kv_heads, head_dim)
 * @v: as @k
 * @out: (q_heads, head_dim)
 * @workspace: (q_heads / kv_heads, n_kv) floats
 *
 * Attention of the new token of one sequence.  It reads each key and value
 * once, which bounds its time.
 */
void ra_cpu_decode_attention(const RaCpuDecode *shape, const float *q,
                             const float *k, const float *v, float *out,
                             float *workspace);

#endif
