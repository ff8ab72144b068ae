/* Attention of one token from a cache. */
#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_attention.h"

static inline size_t
row_of(const RaCpuDecode *s, size_t token)
{
  return (size_t)s->pages[token / s->page_tokens] * s->page_rows +
         token % s->page_tokens;
}

/* The query heads of one key head: scores, softmax, weighted values. */
RA_CPU_KERNEL static void
decode_group(const RaCpuDecode *s, const float *q, const float *k,
             const float *v, uint32_t first_head, float *out, float *scores)
{
  const float *slopes = s->slopes ? s->slopes + first_head : NULL;
  const float *sinks = s->sinks ? s->sinks + first_head : NULL;
  uint32_t group = s->q_heads / s->kv_heads;
  size_t head_dim = s->head_dim;
  size_t n_kv = s->window > 0 && s->n_kv > s->window ? s->window : s->n_kv;
  size_t first = s->n_kv - n_kv; /* token that it sees */
  size_t stride = s->kv_heads * head_dim;
  size_t value_dim = s->value_dim > 0 ? s->value_dim : head_dim;
  float scale = s->scale > 0 ? s->scale : (float)(1.0 / sqrt((double)head_dim));

  for (size_t j = 0; j < n_kv; j++) {
    const float *b = k + row_of(s, first + j) * stride;

    for (uint32_t g = 0; g < group; g++) {
      const float *a = q + g * head_dim;
      float sum = 0;

#pragma omp simd reduction(+ : sum)
      for (size_t i = 0; i < head_dim; i++)
        sum += a[i] * b[i];
      scores[g * n_kv + j] =
          sum * scale +
          (slopes ? slopes[g] * ((float)j - (float)(n_kv - 1)) : 0);
    }
  }
  for (uint32_t g = 0; g < group; g++) {
    float *row = scores + g * n_kv, most = row[0], sum = 0, inv;

#pragma omp simd reduction(max : most)
    for (size_t j = 0; j < n_kv; j++)
      most = row[j] > most ? row[j] : most;
    if (sinks && sinks[g] > most)
      most = sinks[g];
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < n_kv; j++) {
      row[j] = ra_cpu_exp(row[j] - most);
      sum += row[j];
    }
    if (sinks)
      sum += expf(sinks[g] - most);
    inv = 1.0f / sum;
#pragma omp simd
    for (size_t j = 0; j < n_kv; j++)
      row[j] *= inv;
  }
  memset(out, 0, group * value_dim * sizeof *out);
  for (size_t j = 0; j < n_kv; j++) {
    const float *b = v + row_of(s, first + j) * stride;

    for (uint32_t g = 0; g < group; g++) {
      float p = scores[g * n_kv + j];

#pragma omp simd
      for (size_t i = 0; i < value_dim; i++)
        out[g * value_dim + i] += p * b[i];
    }
  }
}

void
ra_cpu_decode_attention(const RaCpuDecode *s, const float *q, const float *k,
                        const float *v, float *out, float *workspace)
{
  uint32_t group = s->q_heads / s->kv_heads;

  for (uint32_t h = 0; h < s->kv_heads; h++) {
    size_t at = (size_t)h * group;
    size_t value_dim = s->value_dim > 0 ? s->value_dim : s->head_dim;

    decode_group(s, q + at * s->head_dim, k + (size_t)h * s->head_dim,
                 v + (size_t)h * s->head_dim, h * group, out + at * value_dim,
                 workspace);
  }
}
