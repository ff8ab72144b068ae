/* Pointwise kernels: rotary positions, activations, the embedding table.
 *
 * Rotary positions (arXiv 2104.09864) have the order of Hugging Face's Llama:
 * element i of the first half of a head and element i of the second rotate by
 * the angle position x frequency i (cpu_rope.h).
 * SwiGLU (arXiv 2002.05202): silu(gate) up, silu(x) = x / (1 + e^-x).
 */
#ifndef RA_KERNELS_CPU_CPU_POINTWISE_H
#define RA_KERNELS_CPU_CPU_POINTWISE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/cpu_rope.h"

/**
 * ra_cpu_rope:
 * @n_tokens: rows
 * @n_heads: consecutive heads of a row
 * @head_dim: even
 * @positions: (n_tokens) row of the table
 * @cos_sin: from ra_cpu_rope_table()
 * @direction: 1: rotate; -1: rotate back, which is also the gradient; each
 *   multiplies by the amplitude of the table
 * @x: (n_tokens) rows @stride floats apart, rotated in place
 *
 * Error: 3 u (|a| + |b|) of each element, a and b the two that rotate.
 */
void ra_cpu_rope(size_t n_tokens, size_t n_heads, size_t head_dim,
                 const uint32_t *positions, const float *cos_sin, int direction,
                 float *x, size_t stride);

/* As ra_cpu_rope(), but elements 2 i and 2 i + 1 of a head rotate (DeepSeek's
 * order: rope_interleave of transformers). */
void ra_cpu_rope_pairs(size_t n_tokens, size_t n_heads, size_t head_dim,
                       const uint32_t *positions, const float *cos_sin,
                       int direction, float *x, size_t stride);

/**
 * ra_cpu_gate_rows:
 * @gate: (n_rows) logits
 * @x: (n_rows, n)
 *
 * out = sigmoid(gate) x, within 4 u.
 */
void ra_cpu_gate_rows(size_t n_rows, size_t n, const float *gate,
                      const float *x, float *out);

/* d_x = g d_out, d_gate = g (1 - g) (d_out . x), g = sigmoid(gate); the product
 * of a row in double. */
void ra_cpu_gate_rows_backward(size_t n_rows, size_t n, const float *gate,
                               const float *x, const float *d_out, float *d_x,
                               float *d_gate);

/**
 * ra_cpu_swiglu:
 * @n_tokens: rows
 * @width: width of the gate, of up and of the output
 * @gate_up: (n_tokens, 2 width), gate before up
 * @out: (n_tokens, width)
 *
 * Error: 2^-21 of each element: that of ra_cpu_exp() and four operations.
 */
void ra_cpu_swiglu(size_t n_tokens, size_t width, const float *gate_up,
                   float *out);

/**
 * ra_cpu_swiglu_backward:
 * @d_out: (n_tokens, width)
 * @d_gate_up: (n_tokens, 2 width), written; may be @gate_up
 *
 * d up = d silu(g), d g = d up s (1 + g (1 - s)) with s = 1 / (1 + e^-g).
 * Error: 2^-20 |d up s| (1 + |g| + |g| s) for the gate, 2^-21 |d silu(g)| for
 * up.
 */
void ra_cpu_swiglu_backward(size_t n_tokens, size_t width, const float *gate_up,
                            const float *d_out, float *d_gate_up);

/* Slope and bound of gpt_oss (modeling_gpt_oss.py of transformers 4.57,
 * GptOssExperts: alpha, limit). */
#define RA_CPU_CLAMPED_SLOPE 1.702f
#define RA_CPU_CLAMPED_MOST 7.0f

/**
 * ra_cpu_clamped_swiglu:
 *
 * As ra_cpu_swiglu() with y = (u + 1) g s, s = 1 / (1 + e^(-1.702 g)), where g
 * is min(gate, 7) and u is up within -7 to 7.
 */
void ra_cpu_clamped_swiglu(size_t n_tokens, size_t width, const float *gate_up,
                           float *out);

/* As ra_cpu_swiglu_backward(): d u = d g s, d g = d (u + 1) s (1 + 1.702 g
 * (1 - s)); both 0 beyond their bounds. */
void ra_cpu_clamped_swiglu_backward(size_t n_tokens, size_t width,
                                    const float *gate_up, const float *d_out,
                                    float *d_gate_up);

/**
 * ra_cpu_activation:
 * @kind: not %RA_ACTIVATION_FAMILY
 * @x: (n)
 * @out: (n)
 *
 * Formula and error: kernels/cpu/activation.h.
 */
void ra_cpu_activation(RaActivation kind, size_t n, const float *x, float *out);

/* Gradient @d_x (n) from @d_out (n); @d_x may be @x or @d_out. */
void ra_cpu_activation_backward(RaActivation kind, size_t n, const float *x,
                                const float *d_out, float *d_x);

/**
 * ra_cpu_embedding:
 * @n_tokens: rows
 * @width: width of the table
 * @first: token of the table's first row
 * @n_rows: rows of the table; tokens outside [first, first + n_rows) give
 *   zeroes, so that the sum over the ranks that share the vocabulary is the
 *   whole
 * @tokens: (n_tokens)
 * @table: (n_rows, width)
 * @out: (n_tokens, width)
 *
 * Exact.
 */
void ra_cpu_embedding(size_t n_tokens, size_t width, uint32_t first,
                      uint32_t n_rows, const uint32_t *tokens,
                      const float *table, float *out);

/* The gradient: adds rows of @d_out to those of @d_table, in the order of the
 * tokens.  Error: (tokens of a kind) u sum |terms|. */
void ra_cpu_embedding_backward(size_t n_tokens, size_t width, uint32_t first,
                               uint32_t n_rows, const uint32_t *tokens,
                               const float *d_out, float *d_table);

/* 1 if all elements of @x (n) are finite, else 0. */
int ra_cpu_is_finite(size_t n, const float *x);

#endif
