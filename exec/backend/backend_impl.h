/* Functions of the host's table.  Private to exec/backend/backend_*.c. */
#ifndef RA_EXEC_BACKEND_BACKEND_IMPL_H
#define RA_EXEC_BACKEND_BACKEND_IMPL_H

#include "exec/backend/backend.h"
#include "exec/backend/team.h"

/* Elements per part: some 10 us of a core, about the time in which the threads
 * of a team synchronise. */
#define RA_PART_ELEMENTS 32768

/* Lower bound of part @part, if @n is cut into @n_parts at multiples of
 * @step. */
static inline gsize
ra_part_bound(gsize n, uint32_t part, uint32_t n_parts, gsize step)
{
  gsize n_steps = (n + step - 1) / step;

  return MIN(n_steps * part / n_parts * step, n);
}

/* Entries of the table; each has the contract of its kernel. */
void ra_host_gemm(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
                  size_t k, const float *a, size_t lda, const float *b,
                  size_t ldb, float beta, float *c, size_t ldc);
void ra_host_norm_backward(size_t n_rows, size_t n, const float *x,
                           const float *weight, const float *inv,
                           const float *d_out, float *d_x, float *d_weight);
void ra_host_layer_norm_backward(size_t n_rows, size_t n, const float *x,
                                 const float *weight, const float *stats,
                                 const float *d_out, float *d_x,
                                 float *d_weight, float *d_bias);
void ra_host_attention(const RaCpuAttention *shape, const float *q,
                       const float *k, const float *v, float *out,
                       float *out_lse, float *workspace);
void ra_host_attention_backward(const RaCpuAttention *shape, const float *q,
                                const float *k, const float *v,
                                const float *out, const float *lse,
                                const float *d_out, float *d_q, float *d_k,
                                float *d_v, float *workspace);
void ra_host_decode_attention(const RaDecode *shape, const float *q,
                              const float *k, const float *v, float *out,
                              float *workspace);
gboolean ra_host_is_finite(size_t n, const float *x);
void ra_host_copy_rect(size_t n_rows, size_t n_cols, const float *in,
                       size_t in_stride, float *out, size_t out_stride);
void ra_host_add(size_t n, const float *x, float *y);
void ra_host_norm(size_t n_rows, size_t n, float eps, const float *x,
                  const float *weight, float *out, float *out_inv);
void ra_host_layer_norm(size_t n_rows, size_t n, float eps, const float *x,
                        const float *weight, const float *bias, float *out,
                        float *out_stats);
void ra_host_activation(RaActivation kind, size_t n, const float *x,
                        float *out);
void ra_host_activation_backward(RaActivation kind, size_t n, const float *x,
                                 const float *d_out, float *d_x);
void ra_host_rope(size_t n_tokens, size_t n_heads, size_t head_dim,
                  const uint32_t *positions, const float *cos_sin,
                  int direction, float *x, size_t stride);
/* @clamped: of ra_cpu_clamped_swiglu(). */
void ra_host_swiglu(size_t n_tokens, size_t width, gboolean clamped,
                    const float *gate_up, float *out);
void ra_host_swiglu_backward(size_t n_tokens, size_t width, gboolean clamped,
                             const float *gate_up, const float *d_out,
                             float *d_gate_up);
void ra_host_embedding(size_t n_tokens, size_t width, uint32_t first,
                       uint32_t n_rows, const uint32_t *tokens,
                       const float *table, float *out);
void ra_host_cache_rows(size_t n, size_t width, const uint32_t *rows,
                        const float *in, size_t stride, float *k, float *v);
void ra_host_attention_merge(size_t n_tokens, size_t n_heads, size_t head_dim,
                             const float *part, const float *part_lse,
                             float *out, float *lse);
void ra_host_sample(size_t n_rows, uint32_t n, const float *logits,
                    const RaCpuSampling *how, const double *uniforms,
                    RaCpuSample *out);
void ra_host_log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                     const float *logits, const uint32_t *targets,
                     RaCpuLogSum *out);
void ra_host_log_prob_backward(size_t n_rows, uint32_t first, uint32_t n,
                               size_t stride, const uint32_t *targets,
                               const float *lse, const float *d_log_prob,
                               float *logits);
void ra_host_adamw(size_t n, const RaCpuAdamw *constants, uint64_t step,
                   float clip, const float *grad, float *weight, float *first,
                   float *second);

#endif
