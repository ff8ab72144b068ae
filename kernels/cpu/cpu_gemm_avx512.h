/* GEMMs on cores with AVX-512: large operands, and few rows.
 *
 * MEASURED against OpenBLAS 0.3.21, in turn, on one core of a Xeon, at 1024
 * rows of 512 to 4096 columns: 1.1 of its FLOP/s if an operand is stored as it
 * is read, 0.9 to 1.1 if neither is.  The terms of an element are added in
 * order, in one accumulator for each 512 of them.  So its bits depend on k
 * alone, not on the split of rows and columns or on its place in the matrix.
 */
#ifndef RA_KERNELS_CPU_CPU_GEMM_AVX512_H
#define RA_KERNELS_CPU_CPU_GEMM_AVX512_H

#include "kernels/cpu/cpu_gemm.h"

/* 1 if this core has AVX-512, else 0.  0 under ThreadSanitizer, which would
 * check every load.   Thread: any. */
int ra_cpu_gemm_has_avx512(void);

/**
 * ra_cpu_gemm_avx512:
 *
 * ra_cpu_gemm(), with the same arguments and contract, for @k >= 1 and a core
 * with AVX-512.  @beta is 0 or 1.
 *
 * Error: (k + 1) u sum |a| |b| + 2 u |c| of each element.
 * Memory: 1.1 MiB a thread, static.   Thread: any.
 */
void ra_cpu_gemm_avx512(RaCpuOrder order_a, RaCpuOrder order_b, size_t m,
                        size_t n, size_t k, const float *a, size_t lda,
                        const float *b, size_t ldb, float beta, float *c,
                        size_t ldc);

/* The same for few rows and transposed weights, c = a b': @b is read once and
 * not packed.  Here too, the bits of an element depend on @k alone. */
void ra_cpu_gemm_thin_avx512(size_t m, size_t n, size_t k, const float *a,
                             size_t lda, const float *b, size_t ldb, float *c,
                             size_t ldc);

#endif
