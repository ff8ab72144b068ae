/* Rotary positions, activations, embedding, test for finite numbers. */
#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_pointwise.h"

/* Rotates pair i, elements @step i and @apart behind it, by angle i. */
__attribute__((always_inline)) static inline void
rotate(size_t n_tokens, size_t n_heads, size_t head_dim,
       const uint32_t *positions, const float *cos_sin, int direction, float *x,
       size_t stride, size_t step, size_t apart)
{
  size_t half = head_dim / 2;
  float sign = direction < 0 ? -1.0f : 1.0f;

  for (size_t t = 0; t < n_tokens; t++) {
    const float *cosine = cos_sin + positions[t] * head_dim; /* (half) */
    const float *sine = cosine + half;                       /* (half) */

    for (size_t h = 0; h < n_heads; h++) {
      float *a = x + t * stride + h * head_dim;
      float *b = a + apart;

#pragma omp simd
      for (size_t i = 0; i < half; i++) {
        float s = sign * sine[i], first = a[step * i], second = b[step * i];

        a[step * i] = first * cosine[i] - second * s;
        b[step * i] = second * cosine[i] + first * s;
      }
    }
  }
}

RA_CPU_KERNEL void
ra_cpu_rope(size_t n_tokens, size_t n_heads, size_t head_dim,
            const uint32_t *positions, const float *cos_sin, int direction,
            float *x, size_t stride)
{
  rotate(n_tokens, n_heads, head_dim, positions, cos_sin, direction, x, stride,
         1, head_dim / 2);
}

void
ra_cpu_rope_pairs(size_t n_tokens, size_t n_heads, size_t head_dim,
                  const uint32_t *positions, const float *cos_sin,
                  int direction, float *x, size_t stride)
{
  rotate(n_tokens, n_heads, head_dim, positions, cos_sin, direction, x, stride,
         2, 1);
}

void
ra_cpu_gate_rows(size_t n_rows, size_t n, const float *gate, const float *x,
                 float *out)
{
  for (size_t i = 0; i < n_rows; i++) {
    float g = 1.0f / (1.0f + expf(-gate[i]));

    for (size_t c = 0; c < n; c++)
      out[i * n + c] = g * x[i * n + c];
  }
}

void
ra_cpu_gate_rows_backward(size_t n_rows, size_t n, const float *gate,
                          const float *x, const float *d_out, float *d_x,
                          float *d_gate)
{
  for (size_t i = 0; i < n_rows; i++) {
    float g = 1.0f / (1.0f + expf(-gate[i]));
    double sum = 0;

    for (size_t c = i * n; c < (i + 1) * n; c++) {
      sum += (double)d_out[c] * (double)x[c];
      d_x[c] = g * d_out[c];
    }
    d_gate[i] = (float)((double)g * (1 - (double)g) * sum);
  }
}

RA_CPU_KERNEL void
ra_cpu_swiglu(size_t n_tokens, size_t width, const float *gate_up, float *out)
{
  for (size_t t = 0; t < n_tokens; t++) {
    const float *gate = gate_up + t * 2 * width; /* (width) */
    const float *up = gate + width;              /* (width) */
    float *y = out + t * width;                  /* (width) */

#pragma omp simd
    for (size_t i = 0; i < width; i++)
      y[i] = gate[i] / (1.0f + ra_cpu_exp(-gate[i])) * up[i];
  }
}

RA_CPU_KERNEL void
ra_cpu_swiglu_backward(size_t n_tokens, size_t width, const float *gate_up,
                       const float *d_out, float *d_gate_up)
{
  for (size_t t = 0; t < n_tokens; t++) {
    const float *gate = gate_up + t * 2 * width; /* (width) */
    const float *up = gate + width;              /* (width) */
    const float *dy = d_out + t * width;         /* (width) */
    float *d_gate = d_gate_up + t * 2 * width;   /* (width) */
    float *d_up = d_gate + width;                /* (width) */

#pragma omp simd
    for (size_t i = 0; i < width; i++) {
      float g = gate[i], u = up[i], d = dy[i];
      float s = 1.0f / (1.0f + ra_cpu_exp(-g));

      d_up[i] = d * g * s;
      d_gate[i] = d * u * s * (1.0f + g * (1.0f - s));
    }
  }
}

RA_CPU_KERNEL void
ra_cpu_clamped_swiglu(size_t n_tokens, size_t width, const float *gate_up,
                      float *out)
{
  const float most = RA_CPU_CLAMPED_MOST;

  for (size_t t = 0; t < n_tokens; t++) {
    const float *gate = gate_up + t * 2 * width; /* (width) */
    const float *up = gate + width;              /* (width) */

#pragma omp simd
    for (size_t i = 0; i < width; i++) {
      float g = gate[i] > most ? most : gate[i];
      float u = up[i] > most ? most : up[i] < -most ? -most : up[i];

      out[t * width + i] =
          (u + 1.0f) * g / (1.0f + ra_cpu_exp(-RA_CPU_CLAMPED_SLOPE * g));
    }
  }
}

RA_CPU_KERNEL void
ra_cpu_clamped_swiglu_backward(size_t n_tokens, size_t width,
                               const float *gate_up, const float *d_out,
                               float *d_gate_up)
{
  const float most = RA_CPU_CLAMPED_MOST, slope = RA_CPU_CLAMPED_SLOPE;

  for (size_t t = 0; t < n_tokens; t++) {
    const float *gate = gate_up + t * 2 * width; /* (width) */
    const float *up = gate + width;              /* (width) */
    float *d_gate = d_gate_up + t * 2 * width;   /* (width) */
    float *d_up = d_gate + width;                /* (width) */

#pragma omp simd
    for (size_t i = 0; i < width; i++) {
      float d = d_out[t * width + i], raw_g = gate[i], raw_u = up[i];
      float g = raw_g > most ? most : raw_g;
      float u = raw_u > most ? most : raw_u < -most ? -most : raw_u;
      float s = 1.0f / (1.0f + ra_cpu_exp(-slope * g));

      d_up[i] = u == raw_u ? d * g * s : 0.0f;
      d_gate[i] = g == raw_g
                      ? d * (u + 1.0f) * s * (1.0f + slope * g * (1.0f - s))
                      : 0.0f;
    }
  }
}

/* The tanh GELU in one loop that vectorises; the others are libm's. */
RA_CPU_KERNEL static void
gelu_tanh(size_t n, const float *x, float *out)
{
#pragma omp simd
  for (size_t i = 0; i < n; i++)
    out[i] = x[i] / (1.0f + ra_cpu_exp(-ra_k_gelu_two_z(x[i])));
}

RA_CPU_KERNEL static void
gelu_tanh_backward(size_t n, const float *x, const float *d_out, float *d_x)
{
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    float s = 1.0f / (1.0f + ra_cpu_exp(-ra_k_gelu_two_z(x[i])));

    d_x[i] = d_out[i] * (s + x[i] * s * (1.0f - s) * ra_k_gelu_two_dz(x[i]));
  }
}

void
ra_cpu_activation(RaActivation kind, size_t n, const float *x, float *out)
{
  if (kind == RA_ACTIVATION_GELU_TANH) {
    gelu_tanh(n, x, out);
    return;
  }
  for (size_t i = 0; i < n; i++)
    out[i] = ra_k_activation(kind, x[i]);
}

void
ra_cpu_activation_backward(RaActivation kind, size_t n, const float *x,
                           const float *d_out, float *d_x)
{
  if (kind == RA_ACTIVATION_GELU_TANH) {
    gelu_tanh_backward(n, x, d_out, d_x);
    return;
  }
  for (size_t i = 0; i < n; i++)
    d_x[i] = d_out[i] * ra_k_activation_slope(kind, x[i]);
}

void
ra_cpu_embedding(size_t n_tokens, size_t width, uint32_t first, uint32_t n_rows,
                 const uint32_t *tokens, const float *table, float *out)
{
  for (size_t t = 0; t < n_tokens; t++) {
    uint32_t row = tokens[t] - first; /* wraps below: then >= n_rows */

    if (row < n_rows)
      memcpy(out + t * width, table + row * width, width * sizeof *out);
    else
      memset(out + t * width, 0, width * sizeof *out);
  }
}

/* Infinity and what is no number times 0 are no number, and so is any sum with
 * one. */
RA_CPU_KERNEL int
ra_cpu_is_finite(size_t n, const float *x)
{
  float sum = 0;

#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++)
    sum += x[i] * 0;
  return sum == 0;
}

RA_CPU_KERNEL void
ra_cpu_embedding_backward(size_t n_tokens, size_t width, uint32_t first,
                          uint32_t n_rows, const uint32_t *tokens,
                          const float *d_out, float *d_table)
{
  for (size_t t = 0; t < n_tokens; t++) {
    uint32_t row = tokens[t] - first;

    if (row >= n_rows)
      continue;
#pragma omp simd
    for (size_t i = 0; i < width; i++)
      d_table[row * width + i] += d_out[t * width + i];
  }
}
