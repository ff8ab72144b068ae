/* Matrix products on a GPU: bf16 operands, fp32 sums, by cuBLASLt.
 *
 * A shape's algorithm is asked for once, of the library's own heuristic, and
 * kept, of the last RA_CUDA_GEMM_SHAPES at most; so the second product of a
 * shape costs a look in a table.  Row major, as the CPU's ra_cpu_gemm(); the
 * library is column major, so it is given the transposed product: c' = b' a'.
 *
 * What runs is the heuristic's first proposal, never what a clock found
 * quickest: it follows from the shape, the library's release and the GPU alone,
 * so ranks that share a product agree, and a run that goes on from a checkpoint
 * has the bits of one that was not stopped.  How much that leaves on the table,
 * bench/gpu_kernels measures.
 *
 *     g_autoptr(RaCudaGemm) gemm = ra_cuda_gemm_new(&error);
 *     RaCudaProduct p = {.m = tokens, .n = rows, .k = hidden,
 *                        .order_b = RA_CPU_TRANSPOSED,
 *                        .lda = hidden, .ldb = hidden, .ldc = rows};
 *     ra_cuda_gemm(gemm, &p, x, weight, NULL, out, stream, &error);
 *
 * Error of an element: k 2^-22 sum |a| |b| (tensor cores truncate; see
 * exec/backend/cuda_selftest.c), then 2^-8 of it where c is bf16: parts of a
 * sum that is split over k are added in fp32.  Of a sum of rows of a: k 2^-22
 * sum |a|, which the library does not promise, and
 * tests/device/check_gpu_gemm.c holds.
 */
#ifndef RA_EXEC_BACKEND_CUDA_GEMM_H
#define RA_EXEC_BACKEND_CUDA_GEMM_H

#include <glib.h>

#include "kernels/cpu/cpu_gemm.h"

/* Of device memory that each takes for the library to work in: what cuBLAS has
 * by itself on compute capability 9.0 (its documentation, cublasSetWorkspace),
 * so that its heuristic has the algorithms that it is known by. */
gsize ra_cuda_gemm_workspace_bytes(void);

typedef enum {
  RA_CUDA_STORE,    /* bf16 c = a b */
  RA_CUDA_ADD,      /* bf16 c += a b: a residual stream */
  RA_CUDA_ADD_F32,  /* fp32 c += a b: a gradient */
  RA_CUDA_STORE_F32 /* fp32 c = a b: logits that are sampled from */
} RaCudaResult;

/* What a product does with a bias beside it, in the kernel that makes it. */
typedef enum {
  RA_CUDA_NO_BIAS,
  RA_CUDA_BIAS,         /* c = a b + bias (n) bf16: before the one rounding of
                           a bf16 c */
  RA_CUDA_BIAS_GRADIENT /* bias (m) fp32 = sums of the rows of a, stored, and
                           never added to; fp32 c */
} RaCudaBias;

/* Shapes whose algorithm is kept: micro-batches of ragged lengths have a new
 * one each, of some 2 KiB. */
#define RA_CUDA_GEMM_SHAPES 2048

/* One product; its operands as ra_cpu_gemm() has them. */
typedef struct {
  RaCpuOrder order_a; /* plain: (m, k); transposed: (k, m) */
  RaCpuOrder order_b; /* plain: (k, n); transposed: (n, k) */
  RaCudaResult result;
  RaCudaBias bias;
  gsize m, n, k;
  gsize lda, ldb, ldc; /* elements between rows */
} RaCudaProduct;

typedef struct _RaCudaGemm RaCudaGemm;

/**
 * ra_cuda_gemm_new:
 * @error: %RA_ERROR_DEVICE
 *
 * For the current device: a handle and 32 MiB of workspace (cuBLAS's advice
 * for Hopper), which are beside a rank's slab.  One stream at a time may use
 * it: each thread has its own.
 *
 * Returns: (transfer full) (nullable): ra_cuda_gemm_free() it
 */
RaCudaGemm *ra_cuda_gemm_new(GError **error);
void ra_cuda_gemm_free(RaCudaGemm *gemm);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCudaGemm, ra_cuda_gemm_free)

/**
 * ra_cuda_gemm_fuses:
 * @product: with a bias
 *
 * Returns: whether the library has an algorithm that does with the bias what
 *   it says; %FALSE: the caller does
 */
gboolean ra_cuda_gemm_fuses(RaCudaGemm *gemm, const RaCudaProduct *product);

/**
 * ra_cuda_gemm:
 * @a: bf16 in device memory, 16-byte aligned
 * @b: likewise
 * @bias: (nullable): likewise, of a @product that has one, read or written
 * @c: bf16 or fp32, as @product says
 * @stream: cudaStream_t
 * @error: %RA_ERROR_DEVICE: there is no algorithm, or the launch failed
 *
 * Returns: whether it was launched
 */
gboolean ra_cuda_gemm(RaCudaGemm *gemm, const RaCudaProduct *product,
                      const void *a, const void *b, void *bias, void *c,
                      void *stream, GError **error);

/* Algorithms that the library proposes for @product, at most @n_most; what
 * ra_cuda_gemm() takes is number 0.   Returns: their number; 0 on an error. */
guint ra_cuda_gemm_candidates(RaCudaGemm *gemm, const RaCudaProduct *product,
                              guint n_most, GError **error);

/* As ra_cuda_gemm() without a bias, by algorithm @which of
 * ra_cuda_gemm_candidates(), which was the last to be asked: how much the first
 * leaves on the table. */
gboolean ra_cuda_gemm_by(RaCudaGemm *gemm, const RaCudaProduct *product,
                         guint which, const void *a, const void *b, void *c,
                         void *stream, GError **error);

#endif
