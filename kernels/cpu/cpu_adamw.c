/* AdamW, and the sum of squares of gradients. */
#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_adamw.h"

RA_CPU_KERNEL void
ra_cpu_adamw(size_t n, const RaCpuAdamw *adamw, uint64_t step, float clip,
             const float *grad, float *weight, float *first, float *second)
{
  float b1 = adamw->beta1, b2 = adamw->beta2, eps = adamw->eps;
  double correct1 = 1 - pow((double)b1, (double)step);
  double correct2 = 1 - pow((double)b2, (double)step);
  float shrink = (float)(1 - (double)adamw->rate * (double)adamw->decay);
  float rate = (float)((double)adamw->rate / correct1);
  float inv_root = (float)(1 / sqrt(correct2));

#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    float g = grad[i] * clip;
    float m = b1 * first[i] + (1.0f - b1) * g;
    float v = b2 * second[i] + (1.0f - b2) * g * g;

    first[i] = m;
    second[i] = v;
    weight[i] =
        weight[i] * shrink - rate * m / (__builtin_sqrtf(v) * inv_root + eps);
  }
}

RA_CPU_KERNEL double
ra_cpu_sum_squares(size_t n, const float *x)
{
  double parts[8] = {0}, sum = 0;
  size_t whole = n / 8 * 8;

  for (size_t i = 0; i < whole; i += 8) {
#pragma omp simd
    for (size_t j = 0; j < 8; j++)
      parts[j] += (double)x[i + j] * (double)x[i + j];
  }
  for (size_t i = whole; i < n; i++)
    parts[i - whole] += (double)x[i] * (double)x[i];
  for (size_t j = 0; j < 8; j++)
    sum += parts[j];
  return sum;
}
