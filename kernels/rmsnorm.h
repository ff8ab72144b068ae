/* RMSNorm forward with the residual addition fused in, and its gradient, bf16
 * in and out.
 *
 * For every row (a token's hidden state) of n_hidden elements, with all
 * intermediate values in fp32:
 *
 *     r[i]   = bf16(x[i] + r[i])                     the residual stream
 *     inv    = 1 / sqrt(sum(r[i]^2) / n_hidden + eps)
 *     out[i] = bf16(r[i] * inv * w[i])
 *
 * The norm reads the rounded residual, as the next layer will.  Typical: 4,096
 * rows of 8,192 (Llama-3-70B), eps 1e-5.  Bytes moved: 8 per element plus the
 * weights; the row stays in registers between the two passes.
 *
 * Both entry points have the same arguments and give the same bits: the order
 * of the sum is the same (see ra_k_rmsnorm_threads()), and every other
 * operation is the same IEEE 754 operation (see kernels/cpu/bf16.h).  The
 * squares r^2 are exact in fp32 (8 + 8 significant bits), so a fused
 * multiply-add changes nothing.
 *
 * Error of out[i] against exact arithmetic on the rounded r, u = 2^-24, as long
 * as r inv and the squares are normal fp32 numbers (or negligible against eps):
 *
 *   - sum: a thread adds 8 VPT squares in a row (VPT = n_hidden / 8 / threads
 *     rounded up, <= 4), then 5 levels in the warp and 5 over the warps: at
 *     most 42 roundings on any path of non-negative terms, 42 u;
 *   - / n_hidden and + eps: 2 u.  The square root halves the previous errors,
 *     (42 + 2) / 2 = 22 u, and rounds, u; the division rounds, u;
 *   - the two multiplications: 2 u.  Together 26 u < 32 u = 2^-19;
 *   - rounding to bf16: 2^-8 of the value, or half the least subnormal, 2^-134.
 *
 * With (1 + 2^-19)(1 + 2^-8) - 1 < 2^-8 + 2^-18,
 *
 *     |out - exact| <= (2^-8 + 2^-18) |exact| + 2^-133.
 *
 * Backward pass of the rounded residual r, with g = d_out w and d_res, the
 * gradient of the residual stream:
 *
 *     d[i]   = bf16(d_res[i] + g[i] inv - r[i] inv^3 / n_hidden sum(g r))
 *     dw[i] += sum over rows of d_out[i] r[i] inv
 *
 * Its sums over a row are like those of the forward pass.  dw is summed over
 * RA_K_RMSNORM_BLOCKS groups of rows, each in order, and then over the groups,
 * so the bits are equal on any GPU.  Error, with
 * S = |d_res| + |g inv| + |r| inv^3 / n sum |g r|:
 *
 *     |d - exact|  <= 2^-8 |exact| + 2^-17 S + 2^-133
 *     |dw - exact| <= (rows + 64) 2^-24 sum |d_out r inv| + 2^-24 |dw before|
 *
 * (26 u of inv, three times; the sum of the row 44 u; five operations: below
 * 2^-17 = 128 u.)  Bytes: 8 an element.
 */
#ifndef RA_KERNELS_RMSNORM_H
#define RA_KERNELS_RMSNORM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/bf16.h"

#define RA_K_RMSNORM_BACKWARD_MAX 16384 /* longest row of the gradient */
/* Groups of rows that sum dw: two blocks on each of 132 multiprocessors. */
#define RA_K_RMSNORM_BLOCKS 264
#define RA_K_RMSNORM_MAX 32768                      /* longest row, elements */
#define RA_K_RMSNORM_REL (RA_BF16_U + 1.0 / 262144) /* 2^-8 + 2^-18 */
#define RA_K_RMSNORM_ABS 0x1p-133

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ra_k_rmsnorm:
 * @out: [n_rows, n_hidden] bf16, 16-byte aligned, written
 * @residual: [n_rows, n_hidden] bf16, 16-byte aligned, read and overwritten
 * @x: [n_rows, n_hidden] bf16, 16-byte aligned; %NULL: adds nothing and only
 *   reads @residual
 * @weight: [n_hidden] bf16, 16-byte aligned
 * @n_rows: >= 0, < 2^31
 * @n_hidden: a multiple of 8 in [8, RA_K_RMSNORM_MAX]
 * @eps: > 0
 * @stream: a cudaStream_t, %NULL for the default one
 *
 * Starts the kernel on the current device, asynchronously.  All pointers are
 * device memory and none may overlap.
 *
 * Returns: a cudaError_t, 0 if it was launched; cudaErrorInvalidValue (1) if a
 *   shape or an alignment is not allowed, and nothing runs
 */
int ra_k_rmsnorm(uint16_t *out, uint16_t *residual, const uint16_t *x,
                 const uint16_t *weight, size_t n_rows, size_t n_hidden,
                 float eps, void *stream);

/**
 * ra_k_rmsnorm_ref:
 *
 * The reference on the host, in host memory of any alignment; @x is not %NULL.
 *
 * Returns: 0, or 1 for a shape that ra_k_rmsnorm() refuses
 */
int ra_k_rmsnorm_ref(uint16_t *out, uint16_t *residual, const uint16_t *x,
                     const uint16_t *weight, size_t n_rows, size_t n_hidden,
                     float eps);

/**
 * ra_k_rmsnorm_backward:
 * @d_residual: [n_rows, n_hidden] bf16: read as d_res, overwritten with d
 * @residual: [n_rows, n_hidden] bf16, as the forward pass left it
 * @d_out: [n_rows, n_hidden] bf16
 * @weight: [n_hidden] bf16
 * @d_weight: [n_hidden] fp32, added to
 * @workspace: [RA_K_RMSNORM_BLOCKS, n_hidden] fp32, 16-byte aligned
 * @n_hidden: a multiple of 8 in [8, RA_K_RMSNORM_BACKWARD_MAX]
 *
 * Otherwise as ra_k_rmsnorm().  The reference is ra_cpu_norm_backward() on the
 * widened inputs.
 */
int ra_k_rmsnorm_backward(uint16_t *d_residual, const uint16_t *residual,
                          const uint16_t *d_out, const uint16_t *weight,
                          float *d_weight, float *workspace, size_t n_rows,
                          size_t n_hidden, float eps, void *stream);

/* The gradient of a norm without a residual stream: @d_x is written, and may be
 * @d_out. */
int ra_k_rmsnorm_backward_alone(uint16_t *d_x, const uint16_t *x,
                                const uint16_t *d_out, const uint16_t *weight,
                                float *d_weight, float *workspace,
                                size_t n_rows, size_t n_hidden, float eps,
                                void *stream);

#ifdef __cplusplus
}
#endif

/* 1 if both entry points accept this shape, else 0. */
RA_HD int
ra_k_rmsnorm_shape_ok(size_t n_rows, size_t n_hidden, float eps)
{
  return n_rows < (size_t)1 << 31 && n_hidden >= 8 &&
         n_hidden <= RA_K_RMSNORM_MAX && n_hidden % 8 == 0 && eps > 0;
}

/**
 * ra_k_rmsnorm_threads:
 * @n_hidden: elements of a row
 *
 * Threads of the block that reduces one row, a multiple of 32 up to 1,024.
 * Thread t adds the squares of elements 8 (t + j threads) + 0..7, j = 0, 1,
 * ..., in this order.  The 32 sums of a warp are then added in a butterfly
 * (lane ^ 16, ^ 8, ... ^ 1), and so are those of the warps, padded with zeros
 * to 32.
 *
 * Returns: the number of threads
 */
RA_HD int
ra_k_rmsnorm_threads(size_t n_hidden)
{
  size_t n_vectors = (n_hidden / 8 + 31) / 32 * 32;

  return n_vectors < 1024 ? (int)n_vectors : 1024;
}

/* 1 / sqrt(sum / n_hidden + eps); rsqrtf() would differ by 2 ulp. */
RA_HD float
ra_k_rmsnorm_inv(float sum, int n_hidden, float eps)
{
  return 1.0f / sqrtf(sum / (float)n_hidden + eps);
}

/* One element of the output. */
RA_HD uint16_t
ra_k_rmsnorm_scale(uint16_t residual, float inv, uint16_t weight)
{
  return ra_bf16_from_f32(ra_bf16_to_f32(residual) * inv *
                          ra_bf16_to_f32(weight));
}

#endif
