/* A back end: one table of functions that run the ops of the graph.
 *
 * Each has the contract of the CPU kernel of its name (kernels/cpu/cpu_*.h).
 * The executor reaches arithmetic through this table only, so that another
 * device is another table; `host` is that of the CPU.
 *
 * Activations and the parameters that ops read are *elements*, as wide as the
 * back end has them; their type is never defined, so that nobody looks into one
 * or counts in them but by ra_elem_at().  Statistics, gradients and moments are
 * fp32 in every back end.  Both lie in the device's memory: the host sees them
 * through copies (`read`, `write`).  Arrays of uint32_t are the host's, and the
 * device's where they are of experts.
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

typedef struct RaElem RaElem;

/* A step's attention over keys and values in pages of (page_tokens, kv_heads,
 * head_dim): exec/model/cache.h. */
typedef struct {
  uint32_t n;              /* sequences */
  const uint32_t *pages;   /* (n, max_pages) of each, in the order of tokens */
  const uint32_t *lengths; /* (n) tokens of each, with the new one */
  uint32_t max_pages;      /* of a sequence */
  uint32_t page_tokens;
  uint32_t page_rows;         /* (kv_heads, head_dim) from a page to the next */
  uint32_t q_heads, kv_heads; /* as RaCpuAttention */
  uint32_t head_dim;
  gsize stride;        /* elements from a sequence's q to the next's */
  const float *slopes; /* (q_heads) of ALiBi, the host's; NULL: none */
} RaDecode;

/* Rows of experts, an expert's behind those of the one before. */
typedef struct {
  uint32_t n_experts;
  gsize n_rows;           /* of all */
  const uint32_t *counts; /* (n_experts) rows of each, the device's */
  uint32_t *read;         /* (n_experts) the same in the host's memory, once */
  gboolean is_read;       /* they are: exec/backend/expert_rows.h */
} RaExpertRows;

/* A product of every expert with its rows; its matrix is (n, k). */
typedef enum {
  RA_EXPERTS_OUTPUT, /* (rows, n) = a (rows, k) b (n_experts, n, k)' */
  RA_EXPERTS_INPUT,  /* (rows, k) = a (rows, n) b (n_experts, n, k) */
  RA_EXPERTS_WEIGHT  /* (n_experts, n, k) += a (rows, n)' b (rows, k) */
} RaExpertsProduct;

/* A rectangle of elements on its way. */
typedef struct {
  const RaElem *from;
  RaElem *to;
  gsize n_rows, n_cols;
  gsize from_stride, to_stride; /* elements between rows */
} RaBackendRect;

/* Queues of a thread, each in order. */
typedef enum {
  RA_BACKEND_OPS, /* all that is not said to be beside the ops */
  RA_BACKEND_IN,  /* copies from the host's memory */
  RA_BACKEND_OUT, /* and to it */
  RA_BACKEND_N_QUEUES
} RaBackendQueue;

/* A copy that goes on beside the ops of the thread that has begun it. */
typedef struct _RaBackendCopy RaBackendCopy;

/* Ops that one call begins, as often as one likes. */
typedef struct _RaBackendGraph RaBackendGraph;

/* clang-format off */
typedef struct {
  const char *name;    /* "host" */
  gsize elem_bytes;    /* of an RaElem */
  gsize align_bytes;   /* arrays begin at multiples of it */
  gboolean is_host;    /* the host's memory, elements are fp32 */

  /* --- memory of the device --- */
  void *(*alloc)(gsize n_bytes); /* of any value; ends the program without */
  void (*free)(void *memory);    /* (nullable) */
  void *(*alloc_host)(gsize n_bytes); /* the host's, that it copies fastest */
  void (*free_host)(void *memory);    /* (nullable) */
  void (*zero)(void *to, gsize n_bytes);
  void (*copy)(void *to, const void *from, gsize n_bytes);
  void (*read)(void *to, const void *from, gsize n_bytes);  /* to the host's */
  void (*write)(void *to, const void *from, gsize n_bytes); /* from it, or the
                                                               device's */
  void (*read_elems)(gsize n, const RaElem *from, float *to); /* the host's */
  void (*write_elems)(gsize n, const float *from, RaElem *to);
  void (*wait)(void);              /* for all that this thread has begun, but
                                      for copies beside ops */
  /* To memory of alloc_host() or from it, in the thread's queue of that way,
   * behind what its ops and that queue have begun; (nullable): NULL: it is
   * over, as all are where the next two are NULL */
  RaBackendCopy *(*begin_copy)(void *to, const void *from, gsize n_bytes,
                               gboolean to_host);
  /* What the thread begins in @queue from now on comes behind @copy. */
  void (*follow_copy)(RaBackendQueue queue, const RaBackendCopy *copy);
  /* Waits for @copy, whose thread it is, and frees it; seconds of the clock
   * CLOCK_MONOTONIC when it began and ended */
  void (*end_copy)(RaBackendCopy *copy, double *out_begin_s, double *out_end_s);
  /* The device's clock: a mark stands behind all that the thread has begun,
   * and is not waited for.  Of a thread's marks there are at most n_marks
   * before they are read, and none in what a graph is made of; 0: there are
   * none, ops end as they return. */
  uint32_t n_marks;
  uint32_t (*mark)(void);            /* its number, from 0 */
  void (*read_marks)(double *out_s); /* waits; seconds of each after the first;
                                        then there are none */
  /* The device has the (n) @words of the host until the thread tells of others
   * (0: none), at one place as long as rooms hold: an op that is given some of
   * them copies nothing.  (nullable): it has all the host has. */
  void (*keep_words)(gsize n, const uint32_t *words);
  /* What the thread begins between the two is captured and does not run;
   * (nullable): it cannot be.  @anew: looks (is_finite()) count from 1.  What
   * goes to the host or comes from it ends that, behind all so far: then and on
   * a failure nothing was captured: NULL. */
  void (*begin_capture)(gboolean anew);
  RaBackendGraph *(*end_capture)(void); /* free_graph() it */
  /* Whether the thread can begin it: its rooms are where they were. */
  gboolean (*holds_graph)(const RaBackendGraph *graph);
  void (*begin_graph)(RaBackendGraph *graph);
  void (*free_graph)(RaBackendGraph *graph); /* (nullable) */
  /* Once: the first look of graphs that has seen what is not finite; 0: none
   * that is known so far */
  uint32_t (*odd)(void);
  /* Bytes of the device that the ops of a thread have beside what they are
   * given: the workspace that each takes for its products; that and rooms as
   * large as shapes so far have asked for.  (nullable) both: none */
  gsize (*workspace_bytes)(void);
  gsize (*held_bytes)(void);
  const char *(*failure)(void);    /* (nullable): what has gone wrong first */
  /* (nullable): whether the ops take the shapes of a model that so many ranks
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
  void (*copy_rects)(guint n, const RaBackendRect *rects); /* of no element
                                                              twice */
  void (*add)(size_t n, const RaElem *x, RaElem *y);
  void (*add_f32)(size_t n, const float *x, float *y);
  void (*add_bias)(size_t n_rows, size_t n, const RaElem *bias, RaElem *y);
  void (*add_columns)(size_t n_rows, size_t n, const RaElem *x, float *sum);
  /* @n_ranks <= RA_BACKEND_RANKS: elements, or of @f32 floats, of all @in
   * added in their order (@largest: the largest), to all @out */
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
  void (*layer_norm_backward)(size_t n_rows, size_t n, const RaElem *x,
                              const RaElem *weight, const float *stats,
                              const RaElem *d_out, RaElem *d_x,
                              float *d_weight, float *d_bias);
  void (*rope)(size_t n_tokens, size_t n_heads, size_t head_dim,
               const uint32_t *positions, const float *cos_sin, int direction,
               RaElem *x, size_t stride);
  void (*swiglu)(size_t n_tokens, size_t width, const RaElem *gate_up,
                 RaElem *out);
  void (*swiglu_backward)(size_t n_tokens, size_t width, const RaElem *gate_up,
                          const RaElem *d_out, RaElem *d_gate_up);
  void (*activation)(RaActivation kind, size_t n, const RaElem *x, RaElem *out);
  void (*activation_backward)(RaActivation kind, size_t n, const RaElem *x,
                              const RaElem *d_out, RaElem *d_x);
  void (*embedding)(size_t n_tokens, size_t width, uint32_t first,
                    uint32_t n_rows, const uint32_t *tokens,
                    const RaElem *table, RaElem *out);
  void (*embedding_backward)(size_t n_tokens, size_t width, uint32_t first,
                             uint32_t n_rows, const uint32_t *tokens,
                             const RaElem *d_out, float *d_table);
  /* Rows of a cache: @in (n, 2 width), a key and its value behind it, @stride
   * from one to the next, go to @rows (n) of @k and @v (rows, width) */
  void (*cache_rows)(size_t n, size_t width, const uint32_t *rows,
                     const RaElem *in, size_t stride, RaElem *k, RaElem *v);
  /* Floats of a forward or, @back, a backward. */
  gsize (*attention_workspace)(const RaCpuAttention *shape, gboolean back);
  void (*attention)(const RaCpuAttention *shape, const RaElem *q,
                    const RaElem *k, const RaElem *v, RaElem *out,
                    float *out_lse, float *workspace);
  void (*attention_backward)(const RaCpuAttention *shape, const RaElem *q,
                             const RaElem *k, const RaElem *v,
                             const RaElem *out, const float *lse,
                             const RaElem *d_out, RaElem *d_q, RaElem *d_k,
                             RaElem *d_v, float *workspace);
  void (*attention_merge)(size_t n_tokens, size_t n_heads, size_t head_dim,
                          const RaElem *part, const float *part_lse,
                          RaElem *out, float *lse); /* (nullable): no rings */
  gsize (*decode_workspace)(const RaDecode *shape); /* floats */
  void (*decode_attention)(const RaDecode *shape, const RaElem *q,
                           const RaElem *k, const RaElem *v, RaElem *out,
                           float *workspace);
  /* Of experts: kernels/cpu/cpu_experts.h. */
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
  /* @out: elements, or of _WEIGHT floats */
  void (*gemm_experts)(RaExpertsProduct product, RaExpertRows *rows, size_t n,
                       size_t k, const RaElem *a, const RaElem *b, void *out);
  /* Rows of logits are @stride elements apart, ra_logits_row() or as many as
   * divide likewise; columns behind the @n are not counted, backward 0. */
  void (*log_sum)(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                  const RaElem *logits, const uint32_t *targets,
                  RaCpuLogSum *out);
  void (*log_prob)(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums,
                   float *out_log_prob, float *out_lse);
  void (*log_prob_backward)(size_t n_rows, uint32_t first, uint32_t n,
                            size_t stride, const uint32_t *targets,
                            const float *lse, const float *d_log_prob,
                            RaElem *logits);
  /* @logits: (n_rows, n); @uniforms: (n_rows) in [0, 1); @out: (n_rows) the
   * host's, which are there on return */
  void (*sample)(size_t n_rows, uint32_t n, const RaElem *logits,
                 const RaCpuSampling *how, const double *uniforms,
                 RaCpuSample *out);
  /* @master: fp32 weights, which @weight is made of; on the host @weight */
  void (*adamw)(size_t n, const RaCpuAdamw *adamw, uint64_t step, float clip,
                const float *grad, RaElem *weight, float *master, float *first,
                float *second);
  /* Of @n_arrays arrays, n[i] of x[i], one behind the other; waits once,
   * for none not at all */
  double (*sum_squares)(guint n_arrays, const gsize *n, const float *const *x);
  /* Whether all are finite; a device may answer for an op before this one. */
  gboolean (*is_finite)(size_t n, const RaElem *x);
  gboolean (*is_finite_f32)(size_t n, const float *x);
} RaBackend;
/* clang-format on */

#define RA_BACKEND_RANKS 64

/* Element @i of @x, for reading or writing as @x is. */
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

/* Elements of the host back end are these. */
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
 * @out_room: (out) (nullable): to be freed by g_free(); %NULL: nothing was made
 *
 * Returns: (transfer none): @x in the host's memory, as it is there or in the
 *   room
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

/* (transfer none): the same, for its memory: there may be no products. */
const RaBackend *ra_backend_host_memory(void);

#endif
