/* GEMMs (matrix multiplications), and copies between strided rows.
 *
 * GEMMs of few rows and, on cores with AVX-512, those of many are computed here
 * (kernels/cpu/cpu_gemm_avx512.h); CBLAS computes the others.
 *
 * OpenBLAS is loaded when the first model is made, not with the program:
 * linking it costs tens of milliseconds at start and a pool of threads.  A GEMM
 * runs on the thread that calls it.
 */
#ifndef RA_KERNELS_CPU_CPU_GEMM_H
#define RA_KERNELS_CPU_CPU_GEMM_H

#include <stddef.h>

/**
 * ra_cpu_gemm_open:
 *
 * Loads OpenBLAS once and sets it to one thread a call.   Thread: any.
 *
 * Returns: 1, or 0 if it is not installed (Debian: libopenblas0-pthread)
 */
int ra_cpu_gemm_open(void);

/* 1 if the address space has room for what @n_threads threads take of it, 192
 * MiB each with OpenBLAS's buffer, else 0: a GEMM might then never end. */
int ra_cpu_gemm_has_room(size_t n_threads);

/* Order in which an operand is stored. */
typedef enum { RA_CPU_PLAIN, RA_CPU_TRANSPOSED } RaCpuOrder;

/**
 * ra_cpu_gemm:
 * @order_a: order of @a
 * @order_b: order of @b
 * @m: rows of @c
 * @n: columns of @c
 * @k: terms of each sum; may be 0
 * @a: (m, k) rows of @lda floats; transposed: (k, m)
 * @b: (k, n) rows of @ldb floats; transposed: (n, k)
 * @beta: 0: @c is not read; 1: added to
 * @c: (m, n) rows of @ldc floats
 *
 * c = a b + beta c, row major.  Needs ra_cpu_gemm_open().
 *
 * Error: (k + 1) u sum |a| |b| + 2 u |c| of each element.
 */
void ra_cpu_gemm(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
                 size_t k, const float *a, size_t lda, const float *b,
                 size_t ldb, float beta, float *c, size_t ldc);

/* 1 if a GEMM has the same bits for any split into parts of at least @m rows
 * and
 * @n columns each, else 0. */
int ra_cpu_gemm_is_splittable(size_t m, size_t n);

/* 1 if a GEMM of @m rows and @k terms with transposed weights, as in a decode
 * step, reads these once and packs nothing, else 0. */
int ra_cpu_gemm_is_thin(size_t m, size_t k);

/**
 * ra_cpu_copy_rect:
 * @n_rows: rows to copy
 * @n_cols: floats of each
 * @in: first element, rows @in_stride floats apart
 * @out: first element, rows @out_stride floats apart; no overlap
 *
 * Copies a rectangle of one matrix to a place in another, to pack and unpack
 * slices of parameters.  Exact.
 */
void ra_cpu_copy_rect(size_t n_rows, size_t n_cols, const float *in,
                      size_t in_stride, float *out, size_t out_stride);

/* y += x, (n).  Error: u |y|. */
void ra_cpu_add(size_t n, const float *x, float *y);

/* Adds the rows of @x (n_rows, n) to @sum (n): gradients of a bias.  Error:
 * (n_rows + 1) u sum |terms|. */
void ra_cpu_add_columns(size_t n_rows, size_t n, const float *x, float *sum);

/* Adds @bias (n) to each of the @n_rows rows of @y (n_rows, n). */
void ra_cpu_add_bias(size_t n_rows, size_t n, const float *bias, float *y);

#endif
