/* RMSNorm (arXiv 1910.07467) and LayerNorm (arXiv 1607.06450), forward and
 * backward, fp32.
 *
 *     inv = 1 / sqrt(sum x^2 / n + eps)      a row (token) of n elements
 *     y_i = x_i inv w_i
 *
 * Backward with g_i = dy_i w_i and c = inv^3 / n sum g_j x_j:
 *
 *     dx_i = g_i inv - c x_i        dw_i = sum over rows dy_i x_i inv
 *
 * LayerNorm, with m = sum x / n, x' = (x - m) inv and the inv of x - m:
 *
 *     y_i = x'_i w_i + b_i    dx_i = inv (g_i - sum g / n - x'_i sum g x' / n)
 *     dw_i = sum over rows dy_i x'_i        db_i = sum over rows dy_i
 *
 * Bytes: 8 an element forward, 16 backward.  Typical: 4,096 rows of 4,096.
 */
#ifndef RA_KERNELS_CPU_CPU_NORM_H
#define RA_KERNELS_CPU_CPU_NORM_H

#include <stddef.h>

/**
 * ra_cpu_norm:
 * @n_rows: tokens
 * @n: elements of a row
 * @eps: > 0
 * @x: (n_rows, n)
 * @weight: (n)
 * @out: (n_rows, n), may not overlap @x
 * @out_inv: (n_rows) inv, for the backward pass
 *
 * Error: (n / 2 + 5) u of each element: the sum has n terms >= 0, the square
 * root halves their error, and five operations round once.
 */
void ra_cpu_norm(size_t n_rows, size_t n, float eps, const float *x,
                 const float *weight, float *out, float *out_inv);

/**
 * ra_cpu_norm_backward:
 * @inv: (n_rows) from the forward pass
 * @d_out: (n_rows, n) gradient of the output
 * @d_x: (n_rows, n) gradient of the input, written; may be @d_out
 * @d_weight: (n) added to
 *
 * Error of d_x: (1.5 n + 12) u (|g_i inv| + inv^3 / n |x_i|
 * sum |g_j x_j|); to d_weight: (n_rows + n / 2 + 6) u sum |dy_i x_i inv|.
 */
void ra_cpu_norm_backward(size_t n_rows, size_t n, const float *x,
                          const float *weight, const float *inv,
                          const float *d_out, float *d_x, float *d_weight);

/**
 * ra_cpu_layer_norm:
 * @bias: (nullable): (n)
 * @out_stats: (n_rows, 2) mean and inv, for the backward pass
 *
 * Error, with M = max |x| of the row: (n / 2 + 6) u |x'_i w_i| for the scale,
 * 2 (n + 1) u M inv |w_i| for the mean, and u (|x'_i w_i| + |b_i|).
 */
void ra_cpu_layer_norm(size_t n_rows, size_t n, float eps, const float *x,
                       const float *weight, const float *bias, float *out,
                       float *out_stats);

/**
 * ra_cpu_layer_norm_backward:
 * @stats: (n_rows, 2) from the forward pass
 * @d_x: (n_rows, n) written; may be @d_out
 * @d_weight: (n) added to
 * @d_bias: (nullable): (n) added to
 *
 * Error of d_x: (2 n + 16) u inv (|g_i| + sum |g| / n + |x'_i| sum |g x'| / n);
 * error of x' as above.
 */
void ra_cpu_layer_norm_backward(size_t n_rows, size_t n, const float *x,
                                const float *weight, const float *stats,
                                const float *d_out, float *d_x, float *d_weight,
                                float *d_bias);

#endif
