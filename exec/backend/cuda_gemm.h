/* GEMMs on a GPU: bf16 operands, fp32 accumulation, by cuBLASLt.
 *
 * The library's heuristic chooses the algorithm of a shape once; the last
 * RA_CUDA_GEMM_SHAPES choices are kept, so the second GEMM of a shape costs a
 * table lookup.  Matrices are row major, as in ra_cpu_gemm(); the library is
 * column major, so it computes the transposed GEMM: c' = b' a'.
 *
 * The heuristic's first proposal runs, never the fastest by measurement.  It
 * depends on the shape, the library's release and the GPU alone.  So ranks that
 * share a GEMM agree, and a resumed run has the bits of an uninterrupted one.
 * bench/gpu_kernels measures the cost of that choice.
 *
 *     g_autoptr(RaCudaGemm) gemm = ra_cuda_gemm_new(&error);
 *     RaCudaProduct p = {.m = tokens, .n = rows, .k = hidden,
 *                        .order_b = RA_CPU_TRANSPOSED,
 *                        .lda = hidden, .ldb = hidden, .ldc = rows};
 *     ra_cuda_gemm(gemm, &p, x, weight, NULL, out, stream, &error);
 *
 * Error of an element: k 2^-22 sum |a| |b| (tensor cores truncate; see
 * exec/backend/cuda_selftest.c), then 2^-8 of it where c is bf16.  Where c is
 * bf16 and added to, the library may round a b before it adds, as it does on an
 * H100 with cuBLAS 13.0: 2^-8 |a b| more.  Parts of a sum that is split over k
 * are added in fp32.  Error of a sum of rows of a: k 2^-22 sum |a|.  The
 * library does not guarantee it; tests/device/check_gpu_gemm.c checks it.
 */
#ifndef RA_EXEC_BACKEND_CUDA_GEMM_H
#define RA_EXEC_BACKEND_CUDA_GEMM_H

#include <glib.h>

#include "kernels/cpu/cpu_gemm.h"

/* Device memory of each handle's workspace: cuBLAS's own default on compute
 * capability 9.0 (its documentation, cublasSetWorkspace), so that the heuristic
 * can choose among its usual algorithms. */
gsize ra_cuda_gemm_workspace_bytes(void);

typedef enum {
  RA_CUDA_STORE,    /* bf16 c = a b */
  RA_CUDA_ADD,      /* bf16 c += a b: a residual stream */
  RA_CUDA_ADD_F32,  /* fp32 c += a b: a gradient */
  RA_CUDA_STORE_F32 /* fp32 c = a b: logits for sampling */
} RaCudaResult;

/* Bias of a GEMM, computed in the same kernel. */
typedef enum {
  RA_CUDA_NO_BIAS,
  RA_CUDA_BIAS,         /* c = a b + bias (n) bf16: added before a bf16 c is
                           rounded, once */
  RA_CUDA_BIAS_GRADIENT /* bias (m) fp32 = sums of the rows of a, stored, never
                           added to; c is fp32 */
} RaCudaBias;

/* Number of shapes whose algorithm is kept: every micro-batch of ragged lengths
 * has a new shape, some 2 KiB each. */
#define RA_CUDA_GEMM_SHAPES 2048

/* One GEMM; its operands as in ra_cpu_gemm(). */
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
 * Makes a handle for the current device, with 32 MiB of workspace (cuBLAS's
 * advice for Hopper), which is not part of a rank's slab.  One stream at a time
 * may use it: each thread has its own.
 *
 * Returns: (transfer full) (nullable): free with ra_cuda_gemm_free()
 */
RaCudaGemm *ra_cuda_gemm_new(GError **error);
void ra_cuda_gemm_free(RaCudaGemm *gemm);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCudaGemm, ra_cuda_gemm_free)

/**
 * ra_cuda_gemm_fuses:
 * @product: with a bias
 *
 * Returns: whether the library has an algorithm that fuses the bias; %FALSE:
 *   the caller must compute it
 */
gboolean ra_cuda_gemm_fuses(RaCudaGemm *gemm, const RaCudaProduct *product);

/**
 * ra_cuda_gemm:
 * @a: bf16 in device memory, 16-byte aligned
 * @b: likewise
 * @bias: (nullable): likewise; read or written if @product has a bias
 * @c: bf16 or fp32, by @product
 * @stream: cudaStream_t
 * @error: %RA_ERROR_DEVICE: there is no algorithm, or the launch failed
 *
 * Returns: whether it was launched
 */
gboolean ra_cuda_gemm(RaCudaGemm *gemm, const RaCudaProduct *product,
                      const void *a, const void *b, void *bias, void *c,
                      void *stream, GError **error);

/* Finds algorithms that the library proposes for @product, at most @n_most;
 * ra_cuda_gemm() uses number 0.   Returns: their number; 0 on an error. */
guint ra_cuda_gemm_candidates(RaCudaGemm *gemm, const RaCudaProduct *product,
                              guint n_most, GError **error);

/* As ra_cuda_gemm() without a bias, by algorithm @which of the last call of
 * ra_cuda_gemm_candidates(); it measures the cost of using the first. */
gboolean ra_cuda_gemm_by(RaCudaGemm *gemm, const RaCudaProduct *product,
                         guint which, const void *a, const void *b, void *c,
                         void *stream, GError **error);

#endif
