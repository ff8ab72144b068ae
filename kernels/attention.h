/* Causal attention over packed sequences of any lengths on tensor cores:
 * forward and backward, bf16 in and out, fp32 inside; grouped query heads.
 * Keys may be some of those that the queries see, whose results are merged, and
 * scores may have ALiBi's distances added.
 *
 * Shapes and formulas are those of kernels/cpu/cpu_attention.h, whose functions
 * on the widened inputs are the reference.  A block of 64 or 128 queries of one
 * head is worked on at a time, or of 64 keys in the backward; probabilities are
 * never stored (arXiv 2205.14135, 2307.08691).
 *
 * Gradients are sums in a fixed order: d_k and d_v come from one kernel, whose
 * blocks each own 64 or 128 keys and go over all queries and all heads of the
 * group, d_q from another that owns as many queries; scores are made twice for
 * that, seven products instead of five, and no atomic addition.
 *
 * Error, u = 2^-24 and U = 2^-8 the rounding of bf16:
 * products of bf16 are exact in fp32, and a sum of n of them is within
 * n 2^-22 sum|terms| (tensor cores truncate; see exec/backend/cuda_selftest.c),
 * so that with e_i = (head_dim 2^-22 + 2^-21) max_j (scale sum_d |q_id k_jd| +
 * |slope (j - i)|)
 *
 *     p'  = p (1 + 2 e_i + U + 2^-20)          a probability as multiplied
 *     |out - exact| <= (2 e_i + 2 U + i 2^-22 + 2^-19) sum_j p_ij |v_j|
 *     |d_v - exact| <= (2 e + 2 U + rows 2^-22 + 2^-19) sum_i p_ij |do_i|
 *     |d_q - exact| <= (2 e_i + 3 U + i 2^-22 + 2^-18) sum_j S_ij |k_j|
 *     S_ij = scale p_ij (sum_d |do_id v_jd| + |D_i|)     and d_k as d_q
 *
 * (U once for the probability or ds, once for the result; D_i is of the rounded
 * output, hence one more).  lse is within e_i + 2^-20 |lse_i| + i 2^-22.
 */
#ifndef RA_KERNELS_ATTENTION_H
#define RA_KERNELS_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What forward and backward work on. */
typedef struct {
  uint32_t n_sequences;
  uint32_t n_tokens;     /* of all sequences */
  uint32_t max_length;   /* of one */
  const uint32_t *begin; /* device: (n_sequences + 1) first token of each */
  uint32_t q_heads;      /* a multiple of kv_heads */
  uint32_t kv_heads;
  uint32_t head_dim; /* ra_k_attention_head_ok() */
  size_t stride; /* elements from a token's q, k, v to the next's, a multiple
                        of 8 */
  /* Keys that are not the queries' own, as RaCpuAttention has them (two device
   * arrays); NULL: they are, and a query sees itself and those before it. */
  const uint32_t *kv_begin;  /* (n_sequences + 1) */
  const uint32_t *seen;      /* (n_tokens) */
  uint32_t max_keys;         /* of one sequence, where there is kv_begin */
  size_t kv_stride;          /* from a key or value to the next; 0: stride */
  size_t d_q_stride;         /* and of the gradient of q; 0: stride */
  const float *slopes;       /* device: (q_heads) of ALiBi; NULL: none */
  const uint32_t *q_places;  /* device: (n_tokens) for it, in their sequences;
                               NULL: 0, 1, ... of each */
  const uint32_t *kv_places; /* device: (keys) likewise */
} RaKAttention;

/**
 * ra_k_attention:
 * @q: (n_tokens, q_heads, head_dim) bf16, tokens @shape->stride elements apart
 * @k: (n_tokens, kv_heads, head_dim), likewise
 * @v: as @k
 * @out: (n_tokens, q_heads, head_dim), dense
 * @out_lse: (n_tokens, q_heads) fp32; of a query that sees no key -infinity,
 *   and its output 0
 * @stream: a cudaStream_t
 *
 * All device memory, 16-byte aligned.  Starts the kernel that is right for the
 * device and shape and returns: ra_k_attention_wgmma() where it is supported,
 * else ra_k_attention_mma().
 *
 * Returns: a cudaError_t; 1 (cudaErrorInvalidValue): a shape or an alignment
 *   that is not allowed, and then nothing runs
 */
int ra_k_attention(const RaKAttention *shape, const uint16_t *q,
                   const uint16_t *k, const uint16_t *v, uint16_t *out,
                   float *out_lse, void *stream);

/* The same on any device that has bf16 (capability 8.0 on): tiles of 64, a
 * warp's products. */
int ra_k_attention_mma(const RaKAttention *shape, const uint16_t *q,
                       const uint16_t *k, const uint16_t *v, uint16_t *out,
                       float *out_lse, void *stream);

/* The same on capability 9.0 alone, for shapes that are plain: tiles of 128, a
 * warpgroup's products, bulk copies.  Returns: also 801
 * (cudaErrorNotSupported): on another device or of another shape, and then
 * nothing runs. */
int ra_k_attention_wgmma(const RaKAttention *shape, const uint16_t *q,
                         const uint16_t *k, const uint16_t *v, uint16_t *out,
                         float *out_lse, void *stream);

/**
 * ra_k_attention_merge:
 * @part: (n_tokens, n_heads, head_dim) over some keys
 * @part_lse: (n_tokens, n_heads) of it; -infinity: none seen
 * @out: (n_tokens, n_heads, head_dim) over others, replaced by that over both
 * @lse: (n_tokens, n_heads) likewise, finite
 *
 * ra_cpu_attention_merge() on the device: of one more rounding to bf16.  With
 * the weights a and b of the two
 *
 *     |out - exact| <= (U + 2^-20) (a |out| + b |part|)
 *     |lse - exact| <= 2^-21 (1 + max(|lse|, |part_lse|))
 *
 * (exponents differ by a rounding of x in e^-x, x e^-x < 1/2).
 *
 * Returns: a cudaError_t; 1: an odd @head_dim, or more rows than a grid has
 */
int ra_k_attention_merge(size_t n_tokens, uint32_t n_heads, uint32_t head_dim,
                         const uint16_t *part, const float *part_lse,
                         uint16_t *out, float *lse, void *stream);

/**
 * ra_k_attention_backward:
 * @out: of the forward, over all keys where these are some of them
 * @lse: likewise
 * @d_out: (n_tokens, q_heads, head_dim), dense
 * @d_q: as @q, written
 * @d_k: as @k, written
 * @d_v: as @k, written
 * @workspace: (n_tokens, q_heads) fp32
 *
 * Of some of the keys it is their part of @d_q.
 *
 * Returns: as ra_k_attention()
 */
int ra_k_attention_backward(const RaKAttention *shape, const uint16_t *q,
                            const uint16_t *k, const uint16_t *v,
                            const uint16_t *out, const float *lse,
                            const uint16_t *d_out, uint16_t *d_q, uint16_t *d_k,
                            uint16_t *d_v, float *workspace, void *stream);

/* The same on any device, and on capability 9.0 alone, as of the forward. */
int ra_k_attention_backward_mma(const RaKAttention *shape, const uint16_t *q,
                                const uint16_t *k, const uint16_t *v,
                                const uint16_t *out, const float *lse,
                                const uint16_t *d_out, uint16_t *d_q,
                                uint16_t *d_k, uint16_t *d_v, float *workspace,
                                void *stream);
int ra_k_attention_backward_wgmma(const RaKAttention *shape, const uint16_t *q,
                                  const uint16_t *k, const uint16_t *v,
                                  const uint16_t *out, const float *lse,
                                  const uint16_t *d_out, uint16_t *d_q,
                                  uint16_t *d_k, uint16_t *d_v,
                                  float *workspace, void *stream);

#ifdef __cplusplus
}
#endif

/* Whether attention, decode attention too, has kernels for heads of this width:
 * 1 or 0.  Each is a template; another width is one more of it. */
static inline int
ra_k_attention_head_ok(uint32_t head_dim)
{
  return head_dim == 64 || head_dim == 128;
}

/* Whether the kernels take this shape: 1 or 0.  65,535: of a grid. */
static inline int
ra_k_attention_shape_ok(const RaKAttention *s)
{
  return ra_k_attention_head_ok(s->head_dim) && s->kv_heads > 0 &&
         s->q_heads > 0 && s->q_heads <= 65535 &&
         s->q_heads % s->kv_heads == 0 && s->stride % 8 == 0 &&
         s->kv_stride % 8 == 0 && s->d_q_stride % 8 == 0 &&
         !s->kv_begin == !s->seen && s->n_sequences <= 65535;
}

/* Whether the gradients' kernels take this shape and begins of arrays: 1 or 0.
 */
static inline int
ra_k_attention_gradient_ok(const RaKAttention *s, const void *q, const void *k,
                           const void *v, const void *out, const void *d_out,
                           const void *d_q, const void *d_k, const void *d_v)
{
  const void *arrays[] = {q, k, v, out, d_out, d_q, d_k, d_v};

  for (int i = 0; i < 8; i++)
    if ((uintptr_t)arrays[i] % 16 != 0)
      return 0;
  return ra_k_attention_shape_ok(s);
}

/* Whether queries see their own keys, and no distances: 1 or 0.  Other shapes
 * have kernels of their own, none of them for capability 9.0 alone. */
static inline int
ra_k_attention_is_plain(const RaKAttention *s)
{
  return !s->kv_begin && !s->slopes &&
         (s->kv_stride == 0 || s->kv_stride == s->stride);
}

#endif
