/* A back end: a table of functions that run the ops of the graph.
 *
 * Each function has the contract of the CPU kernel of its name
 * (kernels/cpu/cpu_*.h).  The executor does arithmetic through this table only,
 * so another device is another table; `host` is the CPU's.
 *
 * Activations and the parameters that ops read are *elements*, whose width the
 * back end chooses.  RaElem is never defined: code outside a back end neither
 * reads an element nor computes an address other than by ra_elem_at().
 * Statistics, gradients and optimizer moments are fp32 in every back end.
 *
 * Elements and fp32 arrays are in device memory, which the host accesses by
 * copies (`read`, `write`).  Arrays of uint32_t are in host memory; those of
 * experts are in device memory.
 */
#ifndef RA_EXEC_BACKEND_BACKEND_H
#define RA_EXEC_BACKEND_BACKEND_H

#include <glib.h>

#include "graph/input/model.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/cpu_adamw.h"
#include "kernels/cpu/cpu_attention.h"
#include "kernels/cpu/cpu_experts.h"
#include "kernels/cpu/cpu_gemm.h"
#include "kernels/cpu/cpu_logprob.h"
#include "kernels/cpu/cpu_sample.h"
#include "kernels/seed.h"

typedef struct RaElem RaElem;

/* Attention of a decode step over keys and values in pages of (page_tokens,
 * kv_heads, head_dim): exec/model/cache.h. */
typedef struct {
  uint32_t n;              /* sequences */
  const uint32_t *pages;   /* (n, max_pages) pages of each, in the order of
                              tokens */
  const uint32_t *lengths; /* (n) tokens of each, including the new one */
  uint32_t max_pages;      /* pages of a sequence at most */
  uint32_t page_tokens;
  uint32_t page_rows;         /* (kv_heads, head_dim) rows from one page to the
                                 next */
  uint32_t q_heads, kv_heads; /* as in RaCpuAttention */
  uint32_t head_dim;
  gsize stride;        /* elements from one sequence's q to the next */
  const float *slopes; /* (q_heads) slopes of ALiBi, in host memory; NULL:
                          none */
  uint32_t window;     /* tokens that a query sees at most; 0: all */
  const float *sinks;  /* (q_heads) scores of sinks, in device memory; NULL:
                          none */
  uint32_t value_dim;  /* as in RaCpuDecode; 0: head_dim */
  float scale;         /* likewise; 0: 1 / sqrt(head_dim) */
} RaDecode;

/* Rows sorted by expert: the rows of an expert are contiguous. */
typedef struct {
  uint32_t n_experts;
  gsize n_rows;           /* rows of all experts */
  const uint32_t *counts; /* (n_experts) rows of each, in device memory */
  uint32_t *read;         /* (n_experts) the same in host memory, once
                             is_read */
  gboolean is_read;       /* read is valid: exec/backend/expert_rows.h */
} RaExpertRows;

/* The GEMM of every expert with its rows; the matrix of an expert is (n, k). */
typedef enum {
  RA_EXPERTS_OUTPUT, /* (rows, n) = a (rows, k) b (n_experts, n, k)' */
  RA_EXPERTS_INPUT,  /* (rows, k) = a (rows, n) b (n_experts, n, k) */
  RA_EXPERTS_WEIGHT  /* (n_experts, n, k) += a (rows, n)' b (rows, k) */
} RaExpertsProduct;

/* A rectangle of elements to copy. */
typedef struct {
  const RaElem *from;
  RaElem *to;
  gsize n_rows, n_cols;
  gsize from_stride, to_stride; /* elements between rows */
} RaBackendRect;

/* Queues of a thread; each runs in order. */
typedef enum {
  RA_BACKEND_OPS, /* all except concurrent copies */
  RA_BACKEND_IN,  /* copies from host memory */
  RA_BACKEND_OUT, /* copies to host memory */
  RA_BACKEND_N_QUEUES
} RaBackendQueue;

/* A copy that overlaps with the ops of the thread that has begun it. */
typedef struct _RaBackendCopy RaBackendCopy;

/* Captured ops, which one call launches, any number of times. */
typedef struct _RaBackendGraph RaBackendGraph;

/* clang-format off */
typedef struct {
  const char *name;  /* "host" */
  gsize elem_bytes;  /* width of an RaElem */
  gsize align_bytes; /* arrays begin at multiples of it */
  gboolean is_host;  /* memory is the host's, elements are fp32 */

  /* --- memory of the device --- */
  void *(*alloc)(gsize n_bytes);      /* uninitialised; ends the program if
                                         there is no memory */
  void (*free)(void *memory);         /* (nullable) */
  void *(*alloc_host)(gsize n_bytes); /* host memory that the device copies
                                         fastest */
  void (*free_host)(void *memory);    /* (nullable) */
  void (*zero)(void *to, gsize n_bytes);
  void (*copy)(void *to, const void *from, gsize n_bytes);
  /* Copies to host memory. */
  void (*read)(void *to, const void *from, gsize n_bytes);
  /* Copies from host memory, or from device memory. */
  void (*write)(void *to, const void *from, gsize n_bytes);
  /* Copies to host memory as fp32, and back. */
  void (*read_elems)(gsize n, const RaElem *from, float *to);
  void (*write_elems)(gsize n, const float *from, RaElem *to);
  /* Makes the (n) elements of @rect (kernels/seed.h). (nullable): the host
   * makes and writes them */
  void (*seed)(gsize n, const RaSeedRect *rect, RaElem *out);
  /* Elements as floats in device memory. (nullable): likewise */
  void (*widen)(gsize n, const RaElem *x, float *out);
  void (*wait)(void); /* for all ops that this thread has begun, but not for
                         concurrent copies */
  /* Copies to or from memory of alloc_host(), in the thread's queue for that
   * direction, after what its ops and that queue have begun.  (nullable);
   * returns NULL: the copy has ended, always so where the next two functions
   * are NULL */
  RaBackendCopy *(*begin_copy)(void *to, const void *from, gsize n_bytes,
                               gboolean to_host);
  /* Orders what the thread begins in @queue from now on after @copy. */
  void (*follow_copy)(RaBackendQueue queue, const RaBackendCopy *copy);
  /* Waits for @copy, of this thread, and frees it.  Returns when it began and
   * ended, in seconds of CLOCK_MONOTONIC */
  void (*end_copy)(RaBackendCopy *copy, double *out_begin_s, double *out_end_s);
  /* The device's clock: a mark follows all ops that the thread has begun, and
   * does not wait for them.  A thread has at most n_marks marks before it reads
   * them, and a captured graph has none; 0: no marks, as ops end when they
   * return. */
  uint32_t n_marks;
  uint32_t (*mark)(void);            /* number of the mark, from 0 */
  void (*read_marks)(double *out_s); /* waits; gives the seconds from the first
                                        mark to each, then clears all */
  /* Keeps the (n) @words of the host in device memory until the thread replaces
   * them (0: none).  Their address is stable while the scratch buffers are
   * large enough.  An op with some of these words as argument copies nothing.
   * (nullable): the device can read all host memory. */
  void (*keep_words)(gsize n, const uint32_t *words);
  /* Between these two calls ops are captured and do not run; (nullable): the
   * back end cannot capture.  @anew: numbers of checks (is_finite()) start at
   * 1.  A copy to or from the host ends the capture and runs what was captured
   * so far; then, and after a failure, end_capture() returns NULL. */
  void (*begin_capture)(gboolean anew);
  RaBackendGraph *(*end_capture)(void); /* free with free_graph() */
  /* TRUE if the thread can launch it: its scratch buffers have not moved. */
  gboolean (*holds_graph)(const RaBackendGraph *graph);
  void (*begin_graph)(RaBackendGraph *graph);
  void (*free_graph)(RaBackendGraph *graph); /* (nullable) */
  /* Once: the number of the first captured check that has found a value which
   * is not finite; 0: none known so far */
  uint32_t (*odd)(void);
  /* Device memory of a thread's ops besides their arguments: the GEMM
   * workspace; the same plus scratch buffers, which have grown with the shapes
   * so far.  (nullable) both: none */
  gsize (*workspace_bytes)(void);
  gsize (*held_bytes)(void);
  const char *(*failure)(void); /* (nullable): the first failure */
  /* (nullable): whether the ops support the shapes of a model that @n_tp ranks
   * share; else RA_ERROR_INPUT, without "file:line: " */
  gboolean (*supports)(const RaModel *model, uint32_t n_tp, GError **error);

  /* --- ops --- */
  void (*gemm)(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
               size_t k, const RaElem *a, size_t lda, const RaElem *b,
               size_t ldb, float beta, RaElem *c, size_t ldc);
  void (*gemm_f32)(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
                   size_t k, const RaElem *a, size_t lda, const RaElem *b,
                   size_t ldb, float beta, float *c, size_t ldc);
  /* y (m, n) = x (m, k) weight (n, k)' + bias (n) */
  void (*gemm_bias)(size_t m, size_t n, size_t k, const RaElem *x,
                    const RaElem *weight, const RaElem *bias, RaElem *y);
  /* d_weight (n, k) += d_y (m, n)' x (m, k), d_bias (n) += rows of d_y */
  void (*gemm_bias_backward)(size_t m, size_t n, size_t k, const RaElem *d_y,
                             const RaElem *x, float *d_weight, float *d_bias);
  void (*copy_rect)(size_t n_rows, size_t n_cols, const RaElem *in,
                    size_t in_stride, RaElem *out, size_t out_stride);
  /* Copies @n rectangles that write no element twice. */
  void (*copy_rects)(guint n, const RaBackendRect *rects);
  void (*add)(size_t n, const RaElem *x, RaElem *y);
  void (*add_f32)(size_t n, const float *x, float *y);
  void (*add_bias)(size_t n_rows, size_t n, const RaElem *bias, RaElem *y);
  void (*add_columns)(size_t n_rows, size_t n, const RaElem *x, float *sum);
  /* Reduces over all @in, @n_ranks <= RA_BACKEND_RANKS, in their order, to all
   * @out: the sum or, with @largest, the maximum; of elements or, with @f32, of
   * floats */
  void (*reduce)(uint32_t n_ranks, const void *const *in, uint32_t n_out,
                 void *const *out, gsize n, gboolean f32, gboolean largest);
  void (*norm)(size_t n_rows, size_t n, float eps, const RaElem *x,
               const RaElem *weight, RaElem *out, float *out_inv);
  void (*norm_backward)(size_t n_rows, size_t n, float eps, const RaElem *x,
                        const RaElem *weight, const float *inv,
                        const RaElem *d_out, RaElem *d_x, float *d_weight);
  void (*layer_norm)(size_t n_rows, size_t n, float eps, const RaElem *x,
                     const RaElem *weight, const RaElem *bias, RaElem *out,
                     float *out_stats);
  /* x += y, then norm() or layer_norm() of x, in one: what add() and they make,
   * bit for bit.  (nullable) both: no better than one after the other */
  void (*add_norm)(size_t n_rows, size_t n, float eps, const RaElem *y,
                   RaElem *x, const RaElem *weight, RaElem *out);
  void (*add_layer_norm)(size_t n_rows, size_t n, float eps, const RaElem *y,
                         RaElem *x, const RaElem *weight, const RaElem *bias,
                         RaElem *out);
  void (*layer_norm_backward)(size_t n_rows, size_t n, const RaElem *x,
                              const RaElem *weight, const float *stats,
                              const RaElem *d_out, RaElem *d_x,
                              float *d_weight, float *d_bias);
  void (*rope)(size_t n_tokens, size_t n_heads, size_t head_dim,
               const uint32_t *positions, const float *cos_sin, int direction,
               RaElem *x, size_t stride);
  /* (nullable): no such order of the elements that rotate */
  void (*rope_pairs)(size_t n_tokens, size_t n_heads, size_t head_dim,
                     const uint32_t *positions, const float *cos_sin,
                     int direction, RaElem *x, size_t stride);
  void (*swiglu)(size_t n_tokens, size_t width, const RaElem *gate_up,
                 RaElem *out);
  void (*swiglu_backward)(size_t n_tokens, size_t width, const RaElem *gate_up,
                          const RaElem *d_out, RaElem *d_gate_up);
  /* The same of ra_cpu_clamped_swiglu(). (nullable) both */
  void (*clamped_swiglu)(size_t n_tokens, size_t width, const RaElem *gate_up,
                         RaElem *out);
  void (*clamped_swiglu_backward)(size_t n_tokens, size_t width,
                                  const RaElem *gate_up, const RaElem *d_out,
                                  RaElem *d_gate_up);
  /* out (n_rows, n) = sigmoid(gate (n_rows)) x; the backward pass writes @d_x
   * and the gradient of @gate.  (nullable) both */
  void (*gate_rows)(size_t n_rows, size_t n, const RaElem *gate,
                    const RaElem *x, RaElem *out);
  void (*gate_rows_backward)(size_t n_rows, size_t n, const RaElem *gate,
                             const RaElem *x, const RaElem *d_out, RaElem *d_x,
                             RaElem *d_gate);
  void (*activation)(RaActivation kind, size_t n, const RaElem *x, RaElem *out);
  void (*activation_backward)(RaActivation kind, size_t n, const RaElem *x,
                              const RaElem *d_out, RaElem *d_x);
  /* A token may be one that draw() has made: RA_TOKEN_DRAWN | its slot. */
  void (*embedding)(size_t n_tokens, size_t width, uint32_t first,
                    uint32_t n_rows, const uint32_t *tokens,
                    const RaElem *table, RaElem *out);
  void (*embedding_backward)(size_t n_tokens, size_t width, uint32_t first,
                             uint32_t n_rows, const uint32_t *tokens,
                             const RaElem *d_out, float *d_table);
  /* Writes rows of a cache: @in (n, 2 width) has a key followed by its value,
   * @stride from one row to the next; they go to @rows (n) of @k and @v (rows,
   * width) */
  void (*cache_rows)(size_t n, size_t width, const uint32_t *rows,
                     const RaElem *in, size_t stride, RaElem *k, RaElem *v);
  /* Both of a decode step in one: rope() of the heads of q in @qkv, and
   * cache_rows() of those of k, rotated likewise, and of v.  What is left of k
   * in @qkv is undefined. */
  void (*rope_rows)(size_t n, size_t q_heads, size_t kv_heads, size_t head_dim,
                    const uint32_t *positions, const uint32_t *rows,
                    const float *cos_sin, RaElem *qkv, size_t stride, RaElem *k,
                    RaElem *v);
  /* Floats of workspace for a forward pass or, with @back, a backward pass. */
  gsize (*attention_workspace)(const RaCpuAttention *shape, gboolean back);
  void (*attention)(const RaCpuAttention *shape, const RaElem *q,
                    const RaElem *k, const RaElem *v, RaElem *out,
                    float *out_lse, float *workspace);
  void (*attention_backward)(const RaCpuAttention *shape, const RaElem *q,
                             const RaElem *k, const RaElem *v,
                             const RaElem *out, const float *lse,
                             const RaElem *d_out, RaElem *d_q, RaElem *d_k,
                             RaElem *d_v, float *workspace);
  /* (nullable): no sinks; those of the shapes above are the weights
   * themselves, in device memory */
  void (*sinks_backward)(size_t n_tokens, uint32_t n_heads, size_t head_dim,
                         const float *sinks, const RaElem *out,
                         const float *lse, const RaElem *d_out, float *d_sinks);
  void (*attention_merge)(size_t n_tokens, size_t n_heads, size_t head_dim,
                          const RaElem *part, const float *part_lse,
                          RaElem *out, float *lse); /* (nullable): no rings */
  gsize (*decode_workspace)(const RaDecode *shape); /* floats */
  void (*decode_attention)(const RaDecode *shape, const RaElem *q,
                           const RaElem *k, const RaElem *v, RaElem *out,
                           float *workspace);
  /* Ops of experts: kernels/cpu/cpu_experts.h. */
  void (*route)(const RaCpuRouting *routing, size_t n_tokens, float *probs,
                uint32_t *choice, float *gates);
  void (*place_rows)(const RaCpuRouting *routing, size_t n,
                     const uint32_t *choice, uint32_t *counts, uint32_t *place);
  void (*spread_rows)(const RaCpuRouting *routing, size_t n_tokens,
                      size_t width, const uint32_t *place, const RaElem *x,
                      const float *gates, RaElem *rows);
  void (*collect_rows)(const RaCpuRouting *routing, size_t n_tokens,
                       size_t width, const uint32_t *place, const RaElem *rows,
                       const float *gates, bool add, RaElem *out);
  void (*route_backward)(const RaCpuRouting *routing, size_t n_tokens,
                         size_t width, const float *probs,
                         const uint32_t *choice, const float *gates,
                         const uint32_t *place, const RaElem *d_out,
                         const RaElem *made, RaElem *d_logits);
  /* @out: elements; floats for RA_EXPERTS_WEIGHT */
  void (*gemm_experts)(RaExpertsProduct product, RaExpertRows *rows, size_t n,
                       size_t k, const RaElem *a, const RaElem *b, void *out);
  /* Rows of logits are @stride elements apart: ra_logits_row() or as many as
   * divide likewise.  Columns after the @n are ignored; the backward pass sets
   * them to 0. */
  void (*log_sum)(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                  const RaElem *logits, const uint32_t *targets,
                  RaCpuLogSum *out);
  void (*log_prob)(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums,
                   float *out_log_prob, float *out_lse);
  void (*log_prob_backward)(size_t n_rows, uint32_t first, uint32_t n,
                            size_t stride, const uint32_t *targets,
                            const float *lse, const float *d_log_prob,
                            RaElem *logits);
  /* @logits: (n_rows, n); @uniforms: (n_rows) in [0, 1); @out: (n_rows) in host
   *   memory, complete on return */
  void (*sample)(size_t n_rows, uint32_t n, const RaElem *logits,
                 const RaCpuSampling *how, const double *uniforms,
                 RaCpuSample *out);
  /* The same without a wait: @out is memory of alloc_host(), complete when it
   * has been waited for.  Until then the thread's embedding() finds the token
   * of a row by its slot, of @n_slots, which is the same from a draw to the
   * last embedding of what it made.  (nullable): sample() only */
  void (*draw)(size_t n_rows, uint32_t n, const RaElem *logits,
               const RaCpuSampling *how, const double *uniforms,
               uint32_t n_slots, const uint32_t *slots, RaCpuSample *out);
  /* @master: fp32 weights, which @weight is rounded from; on the host
   *   @weight */
  void (*adamw)(size_t n, const RaCpuAdamw *adamw, uint64_t step, float clip,
                const float *grad, RaElem *weight, float *master, float *first,
                float *second);
  /* Sum of squares of @n_arrays arrays, n[i] elements of x[i], added in order;
   * waits once, or not at all for no arrays */
  double (*sum_squares)(guint n_arrays, const gsize *n, const float *const *x);
  /* TRUE if all are finite; a device may report an earlier op instead. */
  gboolean (*is_finite)(size_t n, const RaElem *x);
  gboolean (*is_finite_f32)(size_t n, const float *x);
} RaBackend;
/* clang-format on */

#define RA_BACKEND_RANKS 64

/* In place of a token that the device has and the host does not know yet; no
 * vocabulary has so many. */
#define RA_TOKEN_DRAWN UINT32_C(0x80000000)

/* Element @i of @x; const if @x is. */
static inline RaElem *
ra_elem_at_(const RaBackend *backend, RaElem *x, gsize i)
{
  return (RaElem *)(void *)((char *)x + i * backend->elem_bytes);
}

static inline const RaElem *
ra_elem_at_const_(const RaBackend *backend, const RaElem *x, gsize i)
{
  return (const RaElem *)(const void *)((const char *)x +
                                        i * backend->elem_bytes);
}

/* clang-format off */
#define ra_elem_at(backend, x, i)                                              \
  _Generic((x), RaElem *: ra_elem_at_, const RaElem *: ra_elem_at_const_)      \
  (backend, x, i)
/* clang-format on */

/* Elements of the host back end are floats. */
static inline float *
ra_host_floats(const RaElem *x)
{
  return (float *)(gpointer)x;
}

static inline RaElem *
ra_host_elems(const float *x)
{
  return (RaElem *)(gpointer)x;
}

/**
 * ra_elem_floats:
 * @x: (n) elements
 * @out_room: (out) (nullable): buffer to free with g_free(); %NULL: none was
 *   made
 *
 * Returns: (transfer none): @x as floats in host memory: in place, or in the
 *   buffer
 */
const float *ra_elem_floats(const RaBackend *backend, gsize n, const RaElem *x,
                            float **out_room);

/**
 * ra_backend_host:
 * @error: %RA_ERROR_NO_DEVICE: no CBLAS library
 *
 * Returns: (nullable) (transfer none): the CPU's table
 */
const RaBackend *ra_backend_host(GError **error);

/* (transfer none): the same table for its memory functions; its GEMMs may be
 * missing. */
const RaBackend *ra_backend_host_memory(void);

#endif
