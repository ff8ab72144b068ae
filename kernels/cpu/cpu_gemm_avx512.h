/* Matrix products of large operands on cores with AVX-512.
 *
 * MEASURED beside OpenBLAS 0.3.21, in turn, on one core of a Xeon: 1.1 of its
 * FLOP/s where an operand lies as it is read, 0.9 to 1.1 where both do not, at
 * 1024 rows of 512 to 4096 columns.  An element's terms are
 * added in their order, in one accumulator for each 512 of them, so that its
 * bits depend on k alone: not on how rows and columns are shared out, nor on
 * where in the matrix it stands.
 */
#ifndef RA_KERNELS_CPU_CPU_GEMM_AVX512_H
#define RA_KERNELS_CPU_CPU_GEMM_AVX512_H

#include "kernels/cpu/cpu_gemm.h"

/* Whether this core has it.  Not under ThreadSanitizer, which would watch every
 * load.   Thread: any. */
int ra_cpu_gemm_has_avx512(void);

/**
 * ra_cpu_gemm_avx512:
 *
 * ra_cpu_gemm(), whose arguments and contract it has, for @k >= 1 and a core
 * that has AVX-512.  @beta is 0 or 1.
 *
 * Error: (k + 1) u sum |a| |b| + 2 u |c| of each element.
 * Cost: 1.1 MiB of memory a thread, static.   Thread: any.
 */
void ra_cpu_gemm_avx512(RaCpuOrder order_a, RaCpuOrder order_b, size_t m,
                        size_t n, size_t k, const float *a, size_t lda,
                        const float *b, size_t ldb, float beta, float *c,
                        size_t ldc);

/* The same of few rows and weights that lie transposed, c = a b': @b is read
 * once and not packed.  An element's bits depend on @k alone here too. */
void ra_cpu_gemm_thin_avx512(size_t m, size_t n, size_t k, const float *a,
                             size_t lda, const float *b, size_t ldb, float *c,
                             size_t ldc);

#endif
