#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "kernels/cpu_gemm.h"

/* cblas.h's values, which every CBLAS shares. */
#define ROW_MAJOR 101
#define NO_TRANS 111
#define TRANS 112

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

void
ra_cpu_gemm(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
            size_t k, const float *a, size_t lda, const float *b, size_t ldb,
            float beta, float *c, size_t ldc)
{
  if (m == 0 || n == 0)
    return;
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
