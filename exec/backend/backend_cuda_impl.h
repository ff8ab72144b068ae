/* Functions of the GPU's table.  Private to exec/backend/backend_cuda*.c. */
#ifndef RA_EXEC_BACKEND_BACKEND_CUDA_IMPL_H
#define RA_EXEC_BACKEND_BACKEND_CUDA_IMPL_H

#include "exec/backend/backend_cuda.h"
#include "exec/backend/cuda_device.h"
#include "exec/backend/cuda_gemm.h"
#include "kernels/cpu/bf16.h"

static inline const uint16_t *
bf16(const RaElem *x)
{
  return (const uint16_t *)(gconstpointer)x;
}

static inline uint16_t *
bf16_out(RaElem *x)
{
  return (uint16_t *)(gpointer)x;
}

/* --- state of a thread: exec/backend/backend_cuda_thread.c --- */

/* Scratch buffers of a thread on the device.  Reuse is safe while a kernel
 * runs: later writes follow it in the thread's stream. */
typedef enum {
  RA_CUDA_WORDS, /* tokens, positions, targets, kinds */
  RA_CUDA_BEGINS,
  RA_CUDA_ORDER,
  RA_CUDA_SUMS,
  RA_CUDA_COUNTS, /* zeroes between two ops */
  RA_CUDA_KEPT,   /* words of the table's keep_words() */
  RA_CUDA_NEWEST, /* tokens of the table's draw(), by slot */
  RA_CUDA_DRAWS,  /* what blocks that sample a row leave each other */
  RA_CUDA_N_ROOMS
} RaCudaRoom;

/* Scratch buffer @which, at least @n_bytes. */
void *ra_cuda_scratch(RaCudaRoom which, gsize n_bytes);
/* (@n_bytes) of pinned host memory, which a kernel can write; the thread's next
 * call invalidates it. */
void *ra_cuda_pinned(gsize n_bytes);
/* (n) numbers of the host, copied to the buffer; the kept words if they are
 * there. */
const uint32_t *ra_cuda_upload(RaCudaRoom which, gsize n,
                               const uint32_t *numbers);

/* (nullable) (transfer none) */
RaCudaGemm *ra_cuda_thread_gemm(void);

/* Entry of the table: scratch buffers and the GEMM workspace. */
gsize ra_cuda_held_bytes(void);

/* Ends a capture and launches what was captured so far; before an operation
 * that cannot be captured. */
void ra_cuda_spill(void);

/* Marks of a thread at most: those of some thousand ops, whose time hides the
 * wait for them. */
#define RA_CUDA_MARKS 8192

/* Entries of the table. */
uint32_t ra_cuda_mark(void);
void ra_cuda_read_marks(double *out_s);
void ra_cuda_keep_words(gsize n, const uint32_t *words);
void ra_cuda_begin_capture(gboolean anew);
RaBackendGraph *ra_cuda_end_capture(void);
gboolean ra_cuda_holds_graph(const RaBackendGraph *graph);
void ra_cuda_begin_graph(RaBackendGraph *graph);
void ra_cuda_free_graph(RaBackendGraph *graph);
uint32_t ra_cuda_odd(void);

/* is_finite() for elements or, with @f32, for floats. */
gboolean ra_cuda_look(gsize n, const void *x, gboolean f32);

/* Entries of the table. */
RaBackendCopy *ra_cuda_begin_copy(void *to, const void *from, gsize n_bytes,
                                  gboolean to_host);
void ra_cuda_follow_copy(RaBackendQueue queue, const RaBackendCopy *copy);
void ra_cuda_end_copy(RaBackendCopy *copy, double *out_begin_s,
                      double *out_end_s);

/* Checks the result @code of the call @what, a literal.  The first failure is
 * kept, from a code other than 0, with the ops that the thread has begun since
 * it last waited for all of them, or from a @line, which is owned. */
void ra_cuda_check(int code, const char *what);
/* The same of what is no op, and of such a wait. */
void ra_cuda_check_event(int code);
void ra_cuda_check_wait(int code, const char *what);
void ra_cuda_fail(char *line);
const char *ra_cuda_failure(void);

/* Entries of the table. */
void ra_cuda_product(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
                     size_t k, const RaElem *a, size_t lda, const RaElem *b,
                     size_t ldb, float beta, RaElem *c, size_t ldc);
void ra_cuda_product_f32(RaCpuOrder order_a, RaCpuOrder order_b, size_t m,
                         size_t n, size_t k, const RaElem *a, size_t lda,
                         const RaElem *b, size_t ldb, float beta, float *c,
                         size_t ldc);
void ra_cuda_product_bias(size_t m, size_t n, size_t k, const RaElem *x,
                          const RaElem *weight, const RaElem *bias, RaElem *y);
void ra_cuda_product_bias_backward(size_t m, size_t n, size_t k,
                                   const RaElem *d_y, const RaElem *x,
                                   float *d_weight, float *d_bias);
gsize ra_cuda_attention_workspace(const RaCpuAttention *shape, gboolean back);
void ra_cuda_attention(const RaCpuAttention *shape, const RaElem *q,
                       const RaElem *k, const RaElem *v, RaElem *out,
                       float *out_lse, float *workspace);
void ra_cuda_attention_backward(const RaCpuAttention *shape, const RaElem *q,
                                const RaElem *k, const RaElem *v,
                                const RaElem *out, const float *lse,
                                const RaElem *d_out, RaElem *d_q, RaElem *d_k,
                                RaElem *d_v, float *workspace);
void ra_cuda_attention_merge(size_t n_tokens, size_t n_heads, size_t head_dim,
                             const RaElem *part, const float *part_lse,
                             RaElem *out, float *lse);
void ra_cuda_copy_rect(size_t n_rows, size_t n_cols, const RaElem *in,
                       size_t in_stride, RaElem *out, size_t out_stride);
void ra_cuda_copy_rects(guint n, const RaBackendRect *rects);
void ra_cuda_embedding(size_t n_tokens, size_t width, uint32_t first,
                       uint32_t n_rows, const uint32_t *tokens,
                       const RaElem *table, RaElem *out);
void ra_cuda_rope_rows(size_t n, size_t q_heads, size_t kv_heads,
                       size_t head_dim, const uint32_t *positions,
                       const uint32_t *rows, const float *cos_sin, RaElem *qkv,
                       size_t stride, RaElem *k, RaElem *v);
void ra_cuda_cache_rows(size_t n, size_t width, const uint32_t *rows,
                        const RaElem *in, size_t stride, RaElem *k, RaElem *v);
void ra_cuda_embedding_backward(size_t n_tokens, size_t width, uint32_t first,
                                uint32_t n_rows, const uint32_t *tokens,
                                const RaElem *d_out, float *d_table);
void ra_cuda_route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
                   uint32_t *choice, float *gates);
void ra_cuda_place_rows(const RaCpuRouting *routing, size_t n,
                        const uint32_t *choice, uint32_t *counts,
                        uint32_t *place);
void ra_cuda_spread_rows(const RaCpuRouting *routing, size_t n_tokens,
                         size_t width, const uint32_t *place, const RaElem *x,
                         const float *gates, RaElem *rows);
void ra_cuda_collect_rows(const RaCpuRouting *routing, size_t n_tokens,
                          size_t width, const uint32_t *place,
                          const RaElem *rows, const float *gates, bool add,
                          RaElem *out);
void ra_cuda_route_backward(const RaCpuRouting *routing, size_t n_tokens,
                            size_t width, const float *probs,
                            const uint32_t *choice, const float *gates,
                            const uint32_t *place, const RaElem *d_out,
                            const RaElem *made, RaElem *d_logits);
void ra_cuda_gemm_experts(RaExpertsProduct product, RaExpertRows *rows,
                          size_t n, size_t k, const RaElem *a, const RaElem *b,
                          void *out);
void ra_cuda_sample(size_t n_rows, uint32_t n, const RaElem *logits,
                    const RaCpuSampling *how, const double *uniforms,
                    RaCpuSample *out);
void ra_cuda_draw(size_t n_rows, uint32_t n, const RaElem *logits,
                  const RaCpuSampling *how, const double *uniforms,
                  uint32_t n_slots, const uint32_t *slots, RaCpuSample *out);
gsize ra_cuda_decode_workspace(const RaDecode *shape);
void ra_cuda_decode_attention(const RaDecode *shape, const RaElem *q,
                              const RaElem *k, const RaElem *v, RaElem *out,
                              float *workspace);

#endif
