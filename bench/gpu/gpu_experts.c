/* Experts' GEMMs: one grouped kernel against one library call an expert. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "bench/gpu/gpu_experts.h"
#include "kernels/grouped.h"

/* Gate and up of Qwen3-30B-A3B, half of its experts: their gradients in fp32
 * fit an array. */
enum { EXPERTS = 64, N = 1536, K = 2048 };
enum { OUTPUT, INPUT, WEIGHT, PRODUCTS };

static const char *const names[PRODUCTS] = {"grouped", "grouped_input",
                                            "grouped_weight"};
static const uint32_t most_rows = 512; /* an expert */

/* Rows and GEMM of the next run: every expert has as many rows, which the
 * library likes best, and nothing waits for the counts. */
static uint32_t n_rows;
static int product;

static int
run_grouped(BenchGpu *g)
{
  const RaKGroups groups = {.n_groups = EXPERTS,
                            .n_rows = (gsize)EXPERTS * n_rows,
                            .counts = g->indices,
                            .n = N,
                            .k = K,
                            .n_processors = g->n_processors};

  if (product == OUTPUT)
    return ra_k_grouped(&groups, g->array[0], g->array[1], g->array[2], NULL);
  if (product == INPUT)
    return ra_k_grouped_input(&groups, g->array[0], g->array[1], g->array[2],
                              NULL);
  return ra_k_grouped_weight(&groups, g->array[0], g->array[1], g->array[2],
                             NULL);
}

/* Bytes from one expert's left factor, right factor and result to the next's.
 */
static void
steps_of(gsize out[3])
{
  const gsize of_x = n_rows * K * 2, of_y = n_rows * N * 2, matrix = N * K * 2;

  out[0] = product == OUTPUT ? of_x : of_y;
  out[1] = product == WEIGHT ? of_x : matrix;
  out[2] = product == WEIGHT ? 2 * matrix : product == OUTPUT ? of_y : of_x;
}

static int
run_library(BenchGpu *g)
{
  const RaCudaProduct of_one[PRODUCTS] = {
      {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_STORE, RA_CUDA_NO_BIAS, n_rows,
       N, K, K, K, N},
      {RA_CPU_PLAIN, RA_CPU_PLAIN, RA_CUDA_STORE, RA_CUDA_NO_BIAS, n_rows, K, N,
       N, K, K},
      {RA_CPU_TRANSPOSED, RA_CPU_PLAIN, RA_CUDA_ADD_F32, RA_CUDA_NO_BIAS, N, K,
       n_rows, N, K, K},
  };
  gsize step[3];

  steps_of(step);
  for (gsize x = 0; x < EXPERTS; x++)
    if (!ra_cuda_gemm(g->gemm, &of_one[product],
                      (char *)g->array[0] + x * step[0],
                      (char *)g->array[1] + x * step[1], NULL,
                      (char *)g->array[2] + x * step[2], NULL, NULL))
      return 1;
  return 0;
}

static gboolean
set_counts(BenchGpu *g)
{
  uint32_t counts[EXPERTS];

  for (int x = 0; x < EXPERTS; x++)
    counts[x] = n_rows;
  return cudaMemcpy(g->indices, counts, sizeof counts,
                    cudaMemcpyHostToDevice) == cudaSuccess;
}

void
bench_gpu_experts(BenchGpu *g)
{
  /* Bytes of the matrices alone: read, and of a gradient read and written in
   * fp32. */
  const double n_bytes[PRODUCTS] = {
      2.0 * EXPERTS * N * K, 2.0 * EXPERTS * N * K, 8.0 * EXPERTS * N * K};

  puts("# rows an expert, of 64; seconds of one launch for all, of one call "
       "of the library each, of a copy of the matrices' bytes");
  puts("experts\trows\tseconds\tlibrary_seconds\tcopy_seconds\tlibrary_ratio");
  for (n_rows = 1; n_rows <= most_rows; n_rows *= 2) {
    if (!set_counts(g))
      return;
    for (product = 0; product < PRODUCTS; product++) {
      double s = bench_gpu_s(g, run_grouped);
      double library_s = bench_gpu_s(g, run_library);

      printf("%s\t%u\t%.4g\t%.4g\t%.4g\t%.3f\n", names[product], n_rows, s,
             library_s, n_bytes[product] / g->copy_bytes_per_s, library_s / s);
    }
  }
}
