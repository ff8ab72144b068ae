/* LayerNorm (arXiv 1607.06450) forward with the residual addition fused in, and
 * its gradient, bf16 in and out, fp32 inside.
 *
 * For every row of n elements, with m = sum r / n:
 *
 *     r[i]   = bf16(x[i] + r[i])                     the residual stream
 *     inv    = 1 / sqrt(sum((r[i] - m)^2) / n + eps)
 *     out[i] = bf16((r[i] - m) inv w[i] + b[i])
 *
 * The row stays in registers between the three passes, so that the variance is
 * a sum over differences and not a difference of sums.  Typical: 4,096 rows of
 * 4,096.  Bytes: 8 an element forward, and 8 backward.
 *
 * Error, with u = 2^-24 and A = sum |r| / n.  Sums add at most 42 terms on any
 * path (kernels/rmsnorm.h), so the mean is within 44 u A.  Let T = 44 u A inv.
 * The first-order error of the variance vanishes, as differences sum to zero;
 * so inv moves by T^2 / 2 and 26 u of itself.  With r' = (r - m) inv,
 *
 *     |out - exact| <= 2^-8 |exact| + |w| (T + (T^2 + 32 u) |r'|) + 4 u |b|
 *                      + 2^-133
 *
 * Backward pass of the rounded r, with m and inv of the forward pass, g = d_out
 * w and d_res, the gradient of the residual stream:
 *
 *     d[i]   = bf16(d_res[i] + inv (g[i] - sum g / n - r'[i] sum(g r') / n))
 *     dw[i] += sum over rows of d_out[i] r'[i]    db[i] += sum of d_out[i]
 *
 * These are summed over RA_K_LAYERNORM_BLOCKS groups of rows, each in order,
 * and then over the groups, so the bits are equal on any GPU.  Error against
 * exact arithmetic on the same m and inv, with S = |d_res| + inv (|g| + sum |g|
 * / n + |r'| sum |g r'| / n):
 *
 *     |d - exact|  <= 2^-8 |exact| + 2^-17 S + 2^-133
 *     |dw - exact| <= (rows + 64) u sum |d_out r'| + u |dw before|, db likewise
 */
#ifndef RA_KERNELS_LAYERNORM_H
#define RA_KERNELS_LAYERNORM_H

#include <stddef.h>
#include <stdint.h>

#define RA_K_LAYERNORM_MAX 32768 /* longest row, elements */
#define RA_K_LAYERNORM_BACKWARD_MAX 16384
#define RA_K_LAYERNORM_BLOCKS 264 /* groups of rows that sum, as of RMSNorm */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ra_k_layernorm:
 * @out: (n_rows, n) bf16, written
 * @residual: (n_rows, n) bf16, read and overwritten
 * @x: (nullable): (n_rows, n) bf16; %NULL: adds nothing and only reads
 *   @residual
 * @weight: (n) bf16
 * @bias: (nullable): (n) bf16
 * @stats: (nullable): (n_rows, 2) fp32, m and inv, written
 * @n: a multiple of 8 in [8, RA_K_LAYERNORM_MAX]
 * @eps: > 0
 *
 * Arrays of bf16 are 16-byte aligned and none overlap.
 *
 * Returns: a cudaError_t; cudaErrorInvalidValue (1) if an argument is not
 *   allowed, and nothing runs
 */
int ra_k_layernorm(uint16_t *out, uint16_t *residual, const uint16_t *x,
                   const uint16_t *weight, const uint16_t *bias, float *stats,
                   size_t n_rows, size_t n, float eps, void *stream);

/**
 * ra_k_layernorm_backward:
 * @d: (n_rows, n) bf16: written; if @adds, first read as d_res; may be @d_out
 *   unless @adds
 * @residual: (n_rows, n) bf16, as the forward pass left it
 * @stats: (n_rows, 2) of the forward pass
 * @d_weight: (n) fp32, added to
 * @d_bias: (nullable): (n) fp32, added to
 * @workspace: (RA_K_LAYERNORM_BLOCKS, 2, n) fp32, 16-byte aligned
 * @n: at most RA_K_LAYERNORM_BACKWARD_MAX
 */
int ra_k_layernorm_backward(uint16_t *d, int adds, const uint16_t *residual,
                            const float *stats, const uint16_t *d_out,
                            const uint16_t *weight, float *d_weight,
                            float *d_bias, float *workspace, size_t n_rows,
                            size_t n, void *stream);

#ifdef __cplusplus
}
#endif

#endif
