/* A GPU for benchmarks of its kernels: arrays of random numbers, a clock, and
 * what is needed beside.
 *
 *     BenchGpu gpu = {0};
 *     if (bench_gpu_open(&gpu, FALSE, &error))
 *       seconds = bench_gpu_s(&gpu, run_norm);
 *
 * A program has one; it ends with the program.
 */
#ifndef RA_BENCH_GPU_GPU_DEVICE_H
#define RA_BENCH_GPU_GPU_DEVICE_H

#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdint.h>

#include "exec/backend/cuda_gemm.h"

#define BENCH_GPU_BYTES ((gsize)1 << 30) /* of an array */

enum { BENCH_GPU_ARRAYS = 6, BENCH_GPU_ROWS = 16384, BENCH_GPU_COLUMNS = 128 };

typedef struct {
  void *array[BENCH_GPU_ARRAYS]; /* random bf16, the last one NaN */
  float *positions;              /* (rows, columns) of rotations by nothing */
  uint32_t *indices;             /* (4 rows) the first: rows in no order */
  RaCudaGemm *gemm;
  cudaEvent_t begin, end;
  int n_runs;
  uint32_t n_processors;
  double copy_bytes_per_s; /* for who measures it */
} BenchGpu;

/* Launches what is measured; 0, or what went wrong. */
typedef int (*BenchGpuRun)(BenchGpu *gpu);

/**
 * bench_gpu_open:
 * @quick: 5 runs in place of 40
 * @error: there is no device, or no 7 GiB of its memory
 *
 * Prints the device's name, as a comment.
 */
gboolean bench_gpu_open(BenchGpu *gpu, gboolean quick, GError **error);

/* Median seconds of the device for @run, after three that do not count; NAN
 * where a launch failed. */
double bench_gpu_s(BenchGpu *gpu, BenchGpuRun run);

#endif
