/* Pointwise kernels on a GPU, bf16 with fp32 inside: rotary positions, SwiGLU,
 * the embedding table, sums.
 *
 * Formulas and layouts are those of kernels/cpu/cpu_pointwise.h, whose
 * functions on the widened inputs are the reference; @width and head_dim / 2
 * are multiples of 8, and pointers 16-byte aligned.  All functions return a
 * cudaError_t: 1 (cudaErrorInvalidValue) if an argument is not allowed, and
 * nothing runs.
 *
 * Errors: one rounding to bf16, U = 2^-8 of the exact result, and before it in
 * fp32 (u = 2^-24; expf of the device within 2 ulp, CUDA C++ Programming Guide,
 * mathematical functions)
 *
 *     rope                4 u (|a| + |b|)
 *     swiglu              8 u |exact|
 *     swiglu_backward     16 u |dy up| (1 + |g|); for up 8 u |exact|
 *     activation          kernels/cpu/activation.h
 *     embedding, add      none; 0
 *     embedding_backward  (tokens of a kind) u sum |terms|
 */
#ifndef RA_KERNELS_POINTWISE_H
#define RA_KERNELS_POINTWISE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/bf16.h"

/* silu(g) = g / (1 + e^-g) */
RA_HD float
ra_k_sigmoid(float g)
{
  return 1.0f / (1.0f + expf(-g));
}

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ra_k_rope:
 * @x: (n_tokens) rows of n_heads heads, @stride elements apart, in place
 * @stride: a multiple of 8
 * @head_dim: a multiple of 16
 * @positions: (n_tokens) rows of the table
 * @cos_sin: fp32, from ra_cpu_rope_table()
 * @direction: 1: rotate; -1: rotate back, which is the gradient
 */
int ra_k_rope(size_t n_tokens, size_t n_heads, size_t head_dim,
              const uint32_t *positions, const float *cos_sin, int direction,
              uint16_t *x, size_t stride, void *stream);

/**
 * ra_k_rope_rows:
 * @qkv: (n_tokens) rows of q_heads + 2 kv_heads heads, @stride elements apart
 * @rows: (n_tokens) rows of the cache
 * @k: (rows, kv_heads, head_dim)
 * @v: as @k
 *
 * Rotates the heads of q in place; those of k go, rotated, and those of v, as
 * they are, to their row of the cache.
 */
int ra_k_rope_rows(size_t n_tokens, size_t q_heads, size_t kv_heads,
                   size_t head_dim, const uint32_t *positions,
                   const uint32_t *rows, const float *cos_sin, uint16_t *qkv,
                   size_t stride, uint16_t *k, uint16_t *v, void *stream);

/* @gate_up: (n_tokens, 2 width), gate before up; @out: (n_tokens, width) */
int ra_k_swiglu(size_t n_tokens, size_t width, const uint16_t *gate_up,
                uint16_t *out, void *stream);

/* @d_gate_up may be @gate_up */
int ra_k_swiglu_backward(size_t n_tokens, size_t width, const uint16_t *gate_up,
                         const uint16_t *d_out, uint16_t *d_gate_up,
                         void *stream);

/* (n), n a multiple of 8; @kind is not %RA_ACTIVATION_FAMILY. */
int ra_k_activate(RaActivation kind, size_t n, const uint16_t *x, uint16_t *out,
                  void *stream);

/* @d_x may be @x or @d_out */
int ra_k_activate_backward(RaActivation kind, size_t n, const uint16_t *x,
                           const uint16_t *d_out, uint16_t *d_x, void *stream);

/* A token that is none yet: the place in the newest tokens that has it. */
#define RA_K_DRAWN UINT32_C(0x80000000)

/* Rows of @table for tokens in [first, first + n_rows); zeroes for others.
 * @newest: (nullable): tokens by place, for those of @tokens with
 * RA_K_DRAWN */
int ra_k_embedding(size_t n_tokens, size_t width, uint32_t first,
                   uint32_t n_rows, const uint32_t *tokens,
                   const uint32_t *newest, const uint16_t *table, uint16_t *out,
                   void *stream);

/**
 * ra_k_embedding_backward:
 * @n_kinds: different tokens of this rank's part
 * @kinds: (n_kinds) their rows in the table
 * @begin: (n_kinds + 1) first entry of each in @order
 * @order: positions in @d_out, ascending
 * @d_out: (positions, width) bf16
 * @d_table: (rows, width) fp32, added to
 *
 * The host, which has the tokens, makes the lists.  So rows are added in a
 * fixed order, and no two blocks add to one row.
 */
int ra_k_embedding_backward(size_t n_kinds, size_t width, const uint32_t *kinds,
                            const uint32_t *begin, const uint32_t *order,
                            const uint16_t *d_out, float *d_table,
                            void *stream);

/**
 * ra_k_cache_rows:
 * @rows: (n) device: destinations, all different
 * @in: (n, 2 width) bf16: each a key followed by its value, @stride elements
 *   apart, a multiple of 8
 * @k: (rows, width) bf16
 * @v: as @k
 *
 * Writes keys and values to their rows of a cache; other rows stay.
 */
int ra_k_cache_rows(size_t n, size_t width, const uint32_t *rows,
                    const uint16_t *in, size_t stride, uint16_t *k, uint16_t *v,
                    void *stream);

/* y += x, (n), n a multiple of 8 */
int ra_k_add(size_t n, const uint16_t *x, uint16_t *y, void *stream);

#ifdef __cplusplus
}
#endif

#endif
