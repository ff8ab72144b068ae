/* Causal attention over packed sequences of any lengths on tensor cores.
 *
 * Forward and backward pass, bf16 in and out, fp32 inside, with grouped query
 * heads.  The keys may be a part of those that the queries see; the results of
 * parts are merged.  ALiBi's distances may be added to scores.
 *
 * Shapes and formulas are those of kernels/cpu/cpu_attention.h, whose functions
 * on the widened inputs are the reference.  A thread block has 64 or 128
 * queries of one head; in the backward pass, 64 or 128 keys or queries.
 * Probabilities are never stored (arXiv 2205.14135, 2307.08691).
 *
 * Gradients are sums in a fixed order, the same bits in each run.  On
 * capability 9.0 one kernel has five GEMMs a tile: a block owns 128 keys, and
 * adds to d_q in its turn.  Elsewhere, and for keys or distances that are not
 * plain, one kernel owns 64 keys a block and another as many queries: scores
 * are computed twice, seven GEMMs.
 *
 * Error, with u = 2^-24 and U = 2^-8, the rounding of bf16.  Products of bf16
 * are exact in fp32, and a sum of n of them is within n 2^-22 sum|terms|
 * (tensor cores truncate; see exec/backend/cuda_selftest.c).  With e_i =
 * (head_dim 2^-22 + 2^-21) max_j (scale sum_d |q_id k_jd| + |slope (j - i)|)
 *
 *     p'  = p (1 + 2 e_i + U + 2^-20)          a probability in the GEMM
 *     |out - exact| <= (2 e_i + 2 U + i 2^-22 + 2^-19) sum_j p_ij |v_j|
 *     |d_v - exact| <= (2 e + 2 U + rows 2^-22 + 2^-19) sum_i p_ij |do_i|
 *     |d_q - exact| <= (2 e_i + 3 U + i 2^-22 + 2^-18) sum_j S_ij |k_j|
 *     S_ij = scale p_ij (sum_d |do_id v_jd| + |D_i|)     and d_k as d_q
 *
 * (U once for the probability or ds, once for the result, and once more for
 * D_i, which is that of the rounded output).  lse is within
 * e_i + 2^-20 |lse_i| + i 2^-22.
 */
#ifndef RA_KERNELS_ATTENTION_H
#define RA_KERNELS_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Shape and layout of forward and backward. */
typedef struct {
  uint32_t n_sequences;
  uint32_t n_tokens;     /* tokens of all sequences */
  uint32_t max_length;   /* longest sequence, tokens */
  const uint32_t *begin; /* device: (n_sequences + 1) first token of each */
  uint32_t q_heads;      /* a multiple of kv_heads */
  uint32_t kv_heads;
  uint32_t head_dim; /* ra_k_attention_head_ok() */
  size_t stride;     /* elements between consecutive tokens of q, k, v, a
                        multiple of 8 */
  /* Keys that are not those of the queries, as in RaCpuAttention (two device
   * arrays); NULL: a query sees its own key and those before it. */
  const uint32_t *kv_begin;  /* (n_sequences + 1) */
  const uint32_t *seen;      /* (n_tokens) */
  uint32_t max_keys;         /* most keys of a sequence, with kv_begin */
  size_t kv_stride;          /* elements between keys or values; 0: stride */
  size_t d_q_stride;         /* elements between gradients of q; 0: stride */
  const float *slopes;       /* device: (q_heads) of ALiBi; NULL: none */
  const uint32_t *q_places;  /* device: (n_tokens) places in the sequence, for
                               ALiBi; NULL: 0, 1, ... of each */
  const uint32_t *kv_places; /* device: (keys) likewise */
  /* For ra_k_attention() alone, in its variant of capability 9.0: */
  uint32_t *ticket;      /* device: 0 before it, and 0 again behind it */
  uint32_t n_processors; /* multiprocessors of the device */
} RaKAttention;

/**
 * ra_k_attention:
 * @q: (n_tokens, q_heads, head_dim) bf16, tokens @shape->stride elements apart
 * @k: (n_tokens, kv_heads, head_dim), likewise
 * @v: as @k
 * @out: (n_tokens, q_heads, head_dim), dense
 * @out_lse: (n_tokens, q_heads) fp32; -infinity for a query that sees no key,
 *   whose output is 0
 * @stream: a cudaStream_t
 *
 * All arrays are device memory, 16-byte aligned.  Starts the variant for the
 * device and shape and returns: ra_k_attention_wgmma() if it is supported, else
 * ra_k_attention_mma().
 *
 * Returns: a cudaError_t; 1 (cudaErrorInvalidValue): a shape or an alignment
 *   is not allowed, and nothing runs
 */
int ra_k_attention(const RaKAttention *shape, const uint16_t *q,
                   const uint16_t *k, const uint16_t *v, uint16_t *out,
                   float *out_lse, void *stream);

/* The variant for any device with bf16 (since capability 8.0): tiles of 64,
 * matrix multiplications of a warp. */
int ra_k_attention_mma(const RaKAttention *shape, const uint16_t *q,
                       const uint16_t *k, const uint16_t *v, uint16_t *out,
                       float *out_lse, void *stream);

/* The variant for capability 9.0 alone and plain shapes: tiles of 128, matrix
 * multiplications of a warpgroup, bulk copies.  Returns: also 801
 * (cudaErrorNotSupported) on another device or for another shape, and nothing
 * runs. */
int ra_k_attention_wgmma(const RaKAttention *shape, const uint16_t *q,
                         const uint16_t *k, const uint16_t *v, uint16_t *out,
                         float *out_lse, void *stream);

/**
 * ra_k_attention_merge:
 * @part: (n_tokens, n_heads, head_dim) result over some keys
 * @part_lse: (n_tokens, n_heads) its lse; -infinity: no key seen
 * @out: (n_tokens, n_heads, head_dim) result over other keys, replaced by that
 *   over both
 * @lse: (n_tokens, n_heads) likewise, finite
 *
 * ra_cpu_attention_merge() on the device, with one more rounding to bf16.  With
 * the weights a and b of the two results
 *
 *     |out - exact| <= (U + 2^-20) (a |out| + b |part|)
 *     |lse - exact| <= 2^-21 (1 + max(|lse|, |part_lse|))
 *
 * (exponents differ by a rounding of x in e^-x, x e^-x < 1/2).
 *
 * Returns: a cudaError_t; 1: an odd @head_dim, or too many rows for a grid
 */
int ra_k_attention_merge(size_t n_tokens, uint32_t n_heads, uint32_t head_dim,
                         const uint16_t *part, const float *part_lse,
                         uint16_t *out, float *lse, void *stream);

/**
 * ra_k_attention_backward:
 * @out: output of the forward pass, over all keys if these are a part of them
 * @lse: likewise
 * @d_out: (n_tokens, q_heads, head_dim), dense
 * @d_q: as @q, written
 * @d_k: as @k, written
 * @d_v: as @k, written
 * @workspace: ra_k_attention_backward_workspace() floats
 *
 * For a part of the keys, @d_q is their part of the gradient.
 *
 * Returns: as ra_k_attention()
 */
int ra_k_attention_backward(const RaKAttention *shape, const uint16_t *q,
                            const uint16_t *k, const uint16_t *v,
                            const uint16_t *out, const float *lse,
                            const uint16_t *d_out, uint16_t *d_q, uint16_t *d_k,
                            uint16_t *d_v, float *workspace, void *stream);

/**
 * ra_k_attention_backward_workspace:
 *
 * One for each row, n_tokens q_heads of them.  For the variant of capability
 * 9.0 head_dim + 2, as it sums d_q in fp32 (graph/op/activation.c counts the
 * same).  Tokens, heads, and what makes a shape plain matter.
 *
 * Returns: floats that ra_k_attention_backward() needs on this device
 */
size_t ra_k_attention_backward_workspace(const RaKAttention *shape);

/* The variants for any device and for capability 9.0 alone, as for the forward
 * pass. */
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

/* 1 if attention and decode attention have kernels for heads of this width,
 * else 0.  The kernels are templates; another width is one more instance. */
static inline int
ra_k_attention_head_ok(uint32_t head_dim)
{
  return head_dim == 64 || head_dim == 128;
}

/* 1 if the kernels accept this shape, else 0.  65,535 is the limit of a grid.
 */
static inline int
ra_k_attention_shape_ok(const RaKAttention *s)
{
  return ra_k_attention_head_ok(s->head_dim) && s->kv_heads > 0 &&
         s->q_heads > 0 && s->q_heads <= 65535 &&
         s->q_heads % s->kv_heads == 0 && s->stride % 8 == 0 &&
         s->kv_stride % 8 == 0 && s->d_q_stride % 8 == 0 &&
         !s->kv_begin == !s->seen && s->n_sequences <= 65535;
}

/* 1 if the kernels of the gradients accept this shape and the alignment of the
 * arrays, else 0. */
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

/* 1 if queries see their own keys, without distances, else 0.  Other shapes
 * have kernels of their own, but none for capability 9.0 alone. */
static inline int
ra_k_attention_is_plain(const RaKAttention *s)
{
  return !s->kv_begin && !s->slopes &&
         (s->kv_stride == 0 || s->kv_stride == s->stride);
}

#endif
