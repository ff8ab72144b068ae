/* Log-probabilities over a shared vocabulary, and their gradient. */
#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_logprob.h"

RA_CPU_KERNEL void
ra_cpu_log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
               const float *logits, const uint32_t *targets, RaCpuLogSum *out)
{
  for (size_t row = 0; row < n_rows; row++) {
    const float *z = logits + row * stride; /* (n) */
    uint32_t at = targets[row] - first;
    float most = n > 0 ? z[0] : -INFINITY, sum = 0;

#pragma omp simd reduction(max : most)
    for (uint32_t i = 0; i < n; i++)
      most = z[i] > most ? z[i] : most;
#pragma omp simd reduction(+ : sum)
    for (uint32_t i = 0; i < n; i++)
      sum += ra_cpu_exp(z[i] - most);
    out[row] =
        (RaCpuLogSum){.most = most, .sum = sum, .target = at < n ? z[at] : 0};
  }
}

void
ra_cpu_log_prob(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums,
                float *out_log_prob, float *out_lse)
{
  for (size_t row = 0; row < n_rows; row++) {
    float most = -INFINITY, sum = 0, target = 0;

    for (size_t rank = 0; rank < n_ranks; rank++)
      most = fmaxf(most, sums[rank * n_rows + row].most);
    for (size_t rank = 0; rank < n_ranks; rank++) {
      const RaCpuLogSum *s = &sums[rank * n_rows + row];

      sum += s->sum * expf(s->most - most);
      target += s->target;
    }
    out_lse[row] = most + logf(sum);
    out_log_prob[row] = target - out_lse[row];
  }
}

RA_CPU_KERNEL void
ra_cpu_log_prob_backward(size_t n_rows, uint32_t first, uint32_t n,
                         size_t stride, const uint32_t *targets,
                         const float *lse, const float *d_log_prob,
                         float *logits)
{
  for (size_t row = 0; row < n_rows; row++) {
    float *z = logits + row * stride; /* (n) */
    float g = d_log_prob[row], shift = lse[row];
    uint32_t at = targets[row] - first;

#pragma omp simd
    for (uint32_t i = 0; i < n; i++)
      z[i] = -g * ra_cpu_exp(z[i] - shift);
    if (at < n)
      z[at] += g;
    for (size_t i = n; i < stride; i++)
      z[i] = 0;
  }
}
