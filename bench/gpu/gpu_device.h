/* A GPU for benchmarks of its kernels: arrays of random numbers, other inputs,
 * and a clock.
 *
 *     BenchGpu gpu = {0};
 *     if (bench_gpu_open(&gpu, FALSE, &error))
 *       seconds = bench_gpu_s(&gpu, run_norm);
 *
 * A program has one, which lives as long as the program.
 */
#ifndef RA_BENCH_GPU_GPU_DEVICE_H
#define RA_BENCH_GPU_GPU_DEVICE_H

#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdint.h>

#include "exec/backend/cuda_gemm.h"

#define BENCH_GPU_BYTES ((gsize)1 << 30) /* size of an array */

enum { BENCH_GPU_ARRAYS = 6, BENCH_GPU_ROWS = 16384, BENCH_GPU_COLUMNS = 128 };
enum { BENCH_GPU_RUNS = 40 }; /* of a measurement, at most */

typedef struct {
  void *array[BENCH_GPU_ARRAYS]; /* random bf16, the last one NaN */
  float *positions;              /* (rows, columns) of rotations by zero */
  uint32_t *indices;             /* (4 rows) the first: rows in random order */
  RaCudaGemm *gemm;
  cudaEvent_t begin, end;
  int n_runs;
  uint32_t n_processors;
  double copy_bytes_per_s; /* set by the program that measures it */
} BenchGpu;

/* Launches the measured kernel; returns 0 or an error. */
typedef int (*BenchGpuRun)(BenchGpu *gpu);

/**
 * bench_gpu_open:
 * @quick: 5 runs instead of 40
 * @error: there is no device, or less than 7 GiB of free memory
 *
 * Prints the device's name, as a comment.
 */
gboolean bench_gpu_open(BenchGpu *gpu, gboolean quick, GError **error);

/* Device seconds of one run; NAN if a launch failed. */
double bench_gpu_once_s(BenchGpu *gpu, BenchGpuRun run);

/* Median device seconds of @run, after three warm-up runs; NAN if a launch
 * failed. */
double bench_gpu_s(BenchGpu *gpu, BenchGpuRun run);

#endif
