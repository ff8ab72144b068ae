/* A GPU for benchmarks: arrays, inputs, a clock. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "bench/figure.h"
#include "bench/gpu/gpu_device.h"
#include "exec/backend/cuda_selftest.h"
#include "kernels/cpu/bf16.h"

double
bench_gpu_once_s(BenchGpu *gpu, BenchGpuRun run)
{
  float ms = 0;

  if (cudaEventRecord(gpu->begin, NULL) != cudaSuccess || run(gpu) != 0 ||
      cudaEventRecord(gpu->end, NULL) != cudaSuccess ||
      cudaEventSynchronize(gpu->end) != cudaSuccess ||
      cudaEventElapsedTime(&ms, gpu->begin, gpu->end) != cudaSuccess)
    return (double)NAN;
  return (double)ms * 1e-3;
}

double
bench_gpu_s(BenchGpu *gpu, BenchGpuRun run)
{
  double seconds[BENCH_GPU_RUNS];

  for (int i = -3; i < gpu->n_runs; i++) {
    double s = bench_gpu_once_s(gpu, run);

    if (i >= 0)
      seconds[i] = s;
  }
  return bench_median(seconds, (guint)gpu->n_runs);
}

/* 1 GiB of random bf16 in each array but the last, made of 16 MiB of them. */
static gboolean
gpu_fill(BenchGpu *g)
{
  const gsize block = (gsize)16 << 20;
  g_autofree uint16_t *host = g_malloc(block);
  g_autoptr(GRand) rand = g_rand_new_with_seed(1);
  g_autofree uint32_t *indices = g_new0(uint32_t, 4 * BENCH_GPU_ROWS);
  g_autofree float *ones = g_new(float, BENCH_GPU_ROWS *BENCH_GPU_COLUMNS);

  for (gsize i = 0; i < block / 2; i++)
    host[i] = ra_bf16_from_f32((float)g_rand_double_range(rand, -1, 1));
  for (int a = 0; a < BENCH_GPU_ARRAYS; a++) {
    if (cudaMalloc(&g->array[a], BENCH_GPU_BYTES) != cudaSuccess ||
        cudaMemset(g->array[a], 0xff, BENCH_GPU_BYTES) != cudaSuccess)
      return FALSE;
    for (gsize at = 0; a < BENCH_GPU_ARRAYS - 1 && at < BENCH_GPU_BYTES;
         at += block)
      if (cudaMemcpy((char *)g->array[a] + at, host, block,
                     cudaMemcpyHostToDevice) != cudaSuccess)
        return FALSE;
  }
  for (uint32_t i = 0; i < BENCH_GPU_ROWS; i++)
    indices[i] = i * 5 % BENCH_GPU_ROWS;
  for (gsize i = 0; i < (gsize)BENCH_GPU_ROWS * BENCH_GPU_COLUMNS; i++)
    ones[i] = i % BENCH_GPU_COLUMNS < BENCH_GPU_COLUMNS / 2 ? 1.0f : 0.0f;
  return cudaMalloc((void **)&g->indices,
                    4 * BENCH_GPU_ROWS * sizeof *indices) == cudaSuccess &&
         cudaMemcpy(g->indices, indices, 4 * BENCH_GPU_ROWS * sizeof *indices,
                    cudaMemcpyHostToDevice) == cudaSuccess &&
         cudaMalloc((void **)&g->positions, BENCH_GPU_ROWS * BENCH_GPU_COLUMNS *
                                                sizeof *ones) == cudaSuccess &&
         cudaMemcpy(g->positions, ones,
                    BENCH_GPU_ROWS * BENCH_GPU_COLUMNS * sizeof *ones,
                    cudaMemcpyHostToDevice) == cudaSuccess;
}

gboolean
bench_gpu_open(BenchGpu *g, gboolean quick, GError **error)
{
  struct cudaDeviceProp properties;

  if (!ra_cuda_open(error))
    return FALSE;
  if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess) {
    g->n_processors = (uint32_t)properties.multiProcessorCount;
    printf("# %s, %u processors\n", properties.name, g->n_processors);
  }
  g->n_runs = quick ? 5 : BENCH_GPU_RUNS;
  g->gemm = ra_cuda_gemm_new(error);
  if (!g->gemm)
    return FALSE;
  if (cudaEventCreate(&g->begin) == cudaSuccess &&
      cudaEventCreate(&g->end) == cudaSuccess && gpu_fill(g))
    return TRUE;
  g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
              "device memory could not be filled: %s",
              cudaGetErrorString(cudaGetLastError()));
  return FALSE;
}
