/* A back end: one table of functions that run the ops of the graph.
 *
 * Each has the contract of the CPU kernel of its name (kernels/cpu_*.h).  The
 * executor reaches arithmetic through this table only, so that another device
 * is another table; `host` is that of the CPU.
 */
#ifndef RA_EXEC_BACKEND_H
#define RA_EXEC_BACKEND_H

#include <glib.h>

#include "kernels/cpu_adamw.h"
#include "kernels/cpu_attention.h"
#include "kernels/cpu_gemm.h"
#include "kernels/cpu_logprob.h"
#include "kernels/cpu_sample.h"

/* clang-format off */
typedef struct {
  const char *name; /* "host" */
  void (*gemm)(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
               size_t k, const float *a, size_t lda, const float *b,
               size_t ldb, float beta, float *c, size_t ldc);
  void (*copy_rect)(size_t n_rows, size_t n_cols, const float *in,
                    size_t in_stride, float *out, size_t out_stride);
  void (*add)(size_t n, const float *x, float *y);
  void (*add_bias)(size_t n_rows, size_t n, const float *bias, float *y);
  void (*add_columns)(size_t n_rows, size_t n, const float *x, float *sum);
  void (*norm)(size_t n_rows, size_t n, float eps, const float *x,
               const float *weight, float *out, float *out_inv);
  void (*norm_backward)(size_t n_rows, size_t n, const float *x,
                        const float *weight, const float *inv,
                        const float *d_out, float *d_x, float *d_weight);
  void (*rope)(size_t n_tokens, size_t n_heads, size_t head_dim,
               const uint32_t *positions, const float *cos_sin, int direction,
               float *x, size_t stride);
  void (*swiglu)(size_t n_tokens, size_t width, const float *gate_up,
                 float *out);
  void (*swiglu_backward)(size_t n_tokens, size_t width, const float *gate_up,
                          const float *d_out, float *d_gate_up);
  void (*embedding)(size_t n_tokens, size_t width, uint32_t first,
                    uint32_t n_rows, const uint32_t *tokens,
                    const float *table, float *out);
  void (*embedding_backward)(size_t n_tokens, size_t width, uint32_t first,
                             uint32_t n_rows, const uint32_t *tokens,
                             const float *d_out, float *d_table);
  void (*attention)(const RaCpuAttention *shape, const float *q,
                    const float *k, const float *v, float *out,
                    float *out_lse, float *workspace);
  void (*attention_backward)(const RaCpuAttention *shape, const float *q,
                             const float *k, const float *v, const float *out,
                             const float *lse, const float *d_out, float *d_q,
                             float *d_k, float *d_v, float *workspace);
  void (*decode_attention)(uint32_t q_heads, uint32_t kv_heads,
                           uint32_t head_dim, size_t n_kv, const float *q,
                           const float *k, const float *v, float *out,
                           float *workspace);
  void (*log_sum)(size_t n_rows, uint32_t first, uint32_t n,
                  const float *logits, const uint32_t *targets,
                  RaCpuLogSum *out);
  void (*log_prob)(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums,
                   float *out_log_prob, float *out_lse);
  void (*log_prob_backward)(size_t n_rows, uint32_t first, uint32_t n,
                            const uint32_t *targets, const float *lse,
                            const float *d_log_prob, float *logits);
  RaCpuSample (*sample)(uint32_t n, const float *logits,
                        const RaCpuSampling *sampling, double uniform,
                        float *workspace);
  void (*adamw)(size_t n, const RaCpuAdamw *adamw, uint64_t step, float clip,
                const float *grad, float *weight, float *first,
                float *second);
  double (*sum_squares)(size_t n, const float *x);
} RaBackend;
/* clang-format on */

/**
 * ra_backend_host:
 * @error: %RA_ERROR_NO_DEVICE: no CBLAS library
 *
 * Returns: (nullable) (transfer none): the CPU's table
 */
const RaBackend *ra_backend_host(GError **error);

#endif
