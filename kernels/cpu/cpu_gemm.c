/* GEMMs of few rows, the choice of GEMM, and copies and sums of rows. */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_gemm.h"
#include "kernels/cpu/cpu_gemm_avx512.h"

/* cblas.h's values, which every CBLAS shares. */
#define ROW_MAJOR 101
#define NO_TRANS 111
#define TRANS 112

/* Up to so many rows packing the weights costs more than it gains, if sums are
 * long.  MEASURED: (rows, 512) x (512, 2816) from memory, one core of a Xeon
 * with AVX-512, OpenBLAS 0.3.21: 1.6 of its FLOP/s at 12 and 16 rows, 1.4 at
 * 20, 1.1 at 24 to 32. */
#define THIN_ROWS 32
#define THIN_ROWS_AVX512 16 /* alike: 1.1 at 16 rows, 0.9 at 24 */
#define THIN_ROWS_ALWAYS 8
#define THIN_TERMS 256
#define OWN_ROWS                                                               \
  4 /* from here on tiles of kernels/cpu/cpu_gemm_avx512.c fill */
#define OWN_COLS 16
#define LINE_FLOATS 16 /* of a cache line */
/* A thread's address space: OpenBLAS takes a buffer for each thread that calls
 * it, and tries again for ever where there is no room (BUFFER_SIZE of 0.3.21,
 * common_x86_64.h); glibc's heap of a thread (HEAP_MAX_SIZE). */
#define THREAD_BYTES (((size_t)32 << 22) + ((size_t)64 << 20))

typedef void (*SgemmFunc)(int order, int order_a, int order_b, int m, int n,
                          int k, float alpha, const float *a, int lda,
                          const float *b, int ldb, float beta, float *c,
                          int ldc);

static SgemmFunc sgemm; /* written once, before anybody reads it */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
open_library(void)
{
  void *library, *symbol;

  /* Read while the library is loaded: no pool of threads is made. */
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  symbol = library ? dlsym(library, "cblas_sgemm") : NULL;
  /* ISO C has no conversion from an object's to a function's address. */
  memcpy(&sgemm, &symbol, sizeof sgemm);
}

int
ra_cpu_gemm_open(void)
{
  pthread_once(&once, open_library);
  return sgemm != NULL;
}

int
ra_cpu_gemm_has_room(size_t n_threads)
{
  size_t n_bytes = n_threads * THREAD_BYTES;
  void *room;

  if (n_threads == 0)
    return 1;
  room = mmap(NULL, n_bytes, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return room != MAP_FAILED && munmap(room, n_bytes) == 0;
}

/* Dot products of four rows of @a with four of @b, over @k: each element that
 * is loaded serves four products, and weights are read from memory once. */
RA_CPU_KERNEL static void
thin_tile(size_t k, const float *a, size_t lda, const float *b, size_t ldb,
          float *out)
{
  const float *a0 = a, *a1 = a + lda, *a2 = a + 2 * lda, *a3 = a + 3 * lda;
  const float *b0 = b, *b1 = b + ldb, *b2 = b + 2 * ldb, *b3 = b + 3 * ldb;
  float s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
  float s20 = 0, s21 = 0, s22 = 0, s23 = 0, s30 = 0, s31 = 0, s32 = 0, s33 = 0;

#pragma omp simd reduction(+ : s00, s01, s02, s03, s10, s11, s12, s13, s20,    \
                               s21, s22, s23, s30, s31, s32, s33)
  for (size_t i = 0; i < k; i++) {
    s00 += a0[i] * b0[i], s01 += a0[i] * b1[i];
    s02 += a0[i] * b2[i], s03 += a0[i] * b3[i];
    s10 += a1[i] * b0[i], s11 += a1[i] * b1[i];
    s12 += a1[i] * b2[i], s13 += a1[i] * b3[i];
    s20 += a2[i] * b0[i], s21 += a2[i] * b1[i];
    s22 += a2[i] * b2[i], s23 += a2[i] * b3[i];
    s30 += a3[i] * b0[i], s31 += a3[i] * b1[i];
    s32 += a3[i] * b2[i], s33 += a3[i] * b3[i];
  }
  out[0] = s00, out[1] = s01, out[2] = s02, out[3] = s03;
  out[4] = s10, out[5] = s11, out[6] = s12, out[7] = s13;
  out[8] = s20, out[9] = s21, out[10] = s22, out[11] = s23;
  out[12] = s30, out[13] = s31, out[14] = s32, out[15] = s33;
}

/* The same where fewer than four rows or columns are left. */
RA_CPU_KERNEL static void
thin_edge(size_t rows, size_t cols, size_t k, const float *a, size_t lda,
          const float *b, size_t ldb, float *out)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      const float *x = a + i * lda, *y = b + j * ldb;
      float sum = 0;

#pragma omp simd reduction(+ : sum)
      for (size_t l = 0; l < k; l++)
        sum += x[l] * y[l];
      out[4 * i + j] = sum;
    }
}

/* c = a b' of few rows: a CBLAS would first copy all of b to pack it. */
static void
thin(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
     size_t ldb, float *c, size_t ldc)
{
  for (size_t col = 0; col < n; col += 4) {
    /* Rows are too short for the hardware to see the next ones coming. */
    for (size_t i = 0; col + 8 <= n && i < 4 * k; i += LINE_FLOATS)
      __builtin_prefetch(b + (col + 4) * ldb + i, 0, 2);
    for (size_t row = 0; row < m; row += 4) {
      float tile[16];
      size_t rows = m - row < 4 ? m - row : 4, cols = n - col < 4 ? n - col : 4;

      if (rows == 4 && cols == 4)
        thin_tile(k, a + row * lda, lda, b + col * ldb, ldb, tile);
      else
        thin_edge(rows, cols, k, a + row * lda, lda, b + col * ldb, ldb, tile);
      for (size_t i = 0; i < rows; i++)
        memcpy(c + (row + i) * ldc + col, tile + 4 * i, cols * sizeof *c);
    }
  }
}

int
ra_cpu_gemm_is_splittable(size_t m, size_t n)
{
  return m >= OWN_ROWS && n >= OWN_COLS && ra_cpu_gemm_has_avx512();
}

int
ra_cpu_gemm_is_thin(size_t m, size_t k)
{
  size_t most = ra_cpu_gemm_has_avx512() ? THIN_ROWS_AVX512 : THIN_ROWS;

  return m <= THIN_ROWS_ALWAYS || (m <= most && k >= THIN_TERMS);
}

void
ra_cpu_gemm(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
            size_t k, const float *a, size_t lda, const float *b, size_t ldb,
            float beta, float *c, size_t ldc)
{
  if (m == 0 || n == 0)
    return;
  if (k == 0) { /* a rank with no row of the vocabulary */
    for (size_t row = 0; row < m && beta <= 0; row++)
      memset(c + row * ldc, 0, n * sizeof *c);
    return;
  }
  if (ra_cpu_gemm_is_thin(m, k) && order_a == RA_CPU_PLAIN &&
      order_b == RA_CPU_TRANSPOSED && beta <= 0) {
    (ra_cpu_gemm_has_avx512() ? ra_cpu_gemm_thin_avx512 : thin)(m, n, k, a, lda,
                                                                b, ldb, c, ldc);
    return;
  }
  if (ra_cpu_gemm_is_splittable(m, n)) {
    ra_cpu_gemm_avx512(order_a, order_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
    return;
  }
  sgemm(ROW_MAJOR, order_a == RA_CPU_PLAIN ? NO_TRANS : TRANS,
        order_b == RA_CPU_PLAIN ? NO_TRANS : TRANS, (int)m, (int)n, (int)k,
        1.0f, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

void
ra_cpu_copy_rect(size_t n_rows, size_t n_cols, const float *in,
                 size_t in_stride, float *out, size_t out_stride)
{
  if (n_cols == in_stride && n_cols == out_stride) {
    memcpy(out, in, n_rows * n_cols * sizeof *out);
    return;
  }
  for (size_t row = 0; row < n_rows; row++)
    memcpy(out + row * out_stride, in + row * in_stride, n_cols * sizeof *out);
}

RA_CPU_KERNEL void
ra_cpu_add(size_t n, const float *x, float *y)
{
#pragma omp simd
  for (size_t i = 0; i < n; i++)
    y[i] += x[i];
}

RA_CPU_KERNEL void
ra_cpu_add_columns(size_t n_rows, size_t n, const float *x, float *sum)
{
  for (size_t row = 0; row < n_rows; row++) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
      sum[i] += x[row * n + i];
  }
}

RA_CPU_KERNEL void
ra_cpu_add_bias(size_t n_rows, size_t n, const float *bias, float *y)
{
  for (size_t row = 0; row < n_rows; row++) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
      y[row * n + i] += bias[i];
  }
}
