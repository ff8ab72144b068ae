/* RMSNorm and LayerNorm, forward and backward. */
#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_norm.h"

RA_CPU_KERNEL void
ra_cpu_norm(size_t n_rows, size_t n, float eps, const float *x,
            const float *weight, float *out, float *out_inv)
{
  for (size_t row = 0; row < n_rows; row++) {
    const float *in = x + row * n; /* (n) */
    float *y = out + row * n;      /* (n) */
    float sum = 0, inv;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
      sum += in[i] * in[i];
    inv = 1.0f / sqrtf(sum / (float)n + eps);
#pragma omp simd
    for (size_t i = 0; i < n; i++)
      y[i] = in[i] * inv * weight[i];
    out_inv[row] = inv;
  }
}

RA_CPU_KERNEL void
ra_cpu_norm_backward(size_t n_rows, size_t n, const float *x,
                     const float *weight, const float *inv, const float *d_out,
                     float *d_x, float *d_weight)
{
  for (size_t row = 0; row < n_rows; row++) {
    const float *in = x + row * n;     /* (n) */
    const float *dy = d_out + row * n; /* (n) */
    float *dx = d_x + row * n;         /* (n) */
    float r = inv[row], dot = 0;

#pragma omp simd reduction(+ : dot)
    for (size_t i = 0; i < n; i++)
      dot += dy[i] * weight[i] * in[i];
    dot *= r * r * r / (float)n;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      float g = dy[i]; /* before dx: they may be one array */

      dx[i] = g * weight[i] * r - dot * in[i];
      d_weight[i] += g * in[i] * r;
    }
  }
}

RA_CPU_KERNEL static float
mean_of(size_t n, const float *x)
{
  float sum = 0;

#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++)
    sum += x[i];
  return sum / (float)n;
}

RA_CPU_KERNEL void
ra_cpu_layer_norm(size_t n_rows, size_t n, float eps, const float *x,
                  const float *weight, const float *bias, float *out,
                  float *out_stats)
{
  for (size_t row = 0; row < n_rows; row++) {
    const float *in = x + row * n; /* (n) */
    float *y = out + row * n;      /* (n) */
    float mean = mean_of(n, in), sum = 0, inv;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
      sum += (in[i] - mean) * (in[i] - mean);
    inv = 1.0f / sqrtf(sum / (float)n + eps);
#pragma omp simd
    for (size_t i = 0; i < n; i++)
      y[i] = (in[i] - mean) * inv * weight[i];
    if (bias)
#pragma omp simd
      for (size_t i = 0; i < n; i++)
        y[i] += bias[i];
    out_stats[2 * row] = mean;
    out_stats[2 * row + 1] = inv;
  }
}

RA_CPU_KERNEL void
ra_cpu_layer_norm_backward(size_t n_rows, size_t n, const float *x,
                           const float *weight, const float *stats,
                           const float *d_out, float *d_x, float *d_weight,
                           float *d_bias)
{
  for (size_t row = 0; row < n_rows; row++) {
    const float *in = x + row * n;     /* (n) */
    const float *dy = d_out + row * n; /* (n) */
    float *dx = d_x + row * n;         /* (n) */
    float mean = stats[2 * row], r = stats[2 * row + 1], sum = 0, dot = 0;

    if (d_bias)
#pragma omp simd
      for (size_t i = 0; i < n; i++)
        d_bias[i] += dy[i];
#pragma omp simd reduction(+ : sum, dot)
    for (size_t i = 0; i < n; i++) {
      sum += dy[i] * weight[i];
      dot += dy[i] * weight[i] * ((in[i] - mean) * r);
    }
    sum /= (float)n;
    dot /= (float)n;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      float g = dy[i], y = (in[i] - mean) * r; /* before dx: as above */

      dx[i] = r * (g * weight[i] - sum - y * dot);
      d_weight[i] += g * y;
    }
  }
}
