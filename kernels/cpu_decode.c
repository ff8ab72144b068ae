#include "config.h"

#include <math.h>

#include "kernels/cpu.h"
#include "kernels/cpu_attention.h"

/* The query heads of one key head: scores, softmax, weighted values. */
RA_CPU_KERNEL static void
decode_group(uint32_t group, size_t head_dim, size_t stride, size_t n_kv,
             const float *q, const float *k, const float *v,
             const float *slopes, float *out, float *scores)
{
  float scale = (float)(1.0 / sqrt((double)head_dim));

  for (size_t j = 0; j < n_kv; j++)
    for (uint32_t g = 0; g < group; g++) {
      const float *a = q + g * head_dim, *b = k + j * stride;
      float sum = 0;

#pragma omp simd reduction(+ : sum)
      for (size_t i = 0; i < head_dim; i++)
        sum += a[i] * b[i];
      scores[g * n_kv + j] =
          sum * scale +
          (slopes ? slopes[g] * ((float)j - (float)(n_kv - 1)) : 0);
    }
  for (uint32_t g = 0; g < group; g++) {
    float *row = scores + g * n_kv, most = row[0], sum = 0, inv;

#pragma omp simd reduction(max : most)
    for (size_t j = 0; j < n_kv; j++)
      most = row[j] > most ? row[j] : most;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < n_kv; j++) {
      row[j] = ra_cpu_exp(row[j] - most);
      sum += row[j];
    }
    inv = 1.0f / sum;
#pragma omp simd
    for (size_t j = 0; j < n_kv; j++)
      row[j] *= inv;
  }
  memset(out, 0, group * head_dim * sizeof *out);
  for (size_t j = 0; j < n_kv; j++)
    for (uint32_t g = 0; g < group; g++) {
      float p = scores[g * n_kv + j];

#pragma omp simd
      for (size_t i = 0; i < head_dim; i++)
        out[g * head_dim + i] += p * v[j * stride + i];
    }
}

void
ra_cpu_decode_attention(uint32_t q_heads, uint32_t kv_heads, uint32_t head_dim,
                        size_t n_kv, const float *q, const float *k,
                        const float *v, const float *slopes, float *out,
                        float *workspace)
{
  uint32_t group = q_heads / kv_heads;
  size_t stride = (size_t)kv_heads * head_dim;

  for (uint32_t h = 0; h < kv_heads; h++) {
    size_t at = (size_t)h * group * head_dim;

    decode_group(group, head_dim, stride, n_kv, q + at, k + h * head_dim,
                 v + h * head_dim, slopes ? slopes + h * group : NULL, out + at,
                 workspace);
  }
}
