/* GEMMs of a layer's experts on this machine's GPU: one grouped kernel for all,
 * against one library call an expert. */
#ifndef RA_BENCH_GPU_GPU_EXPERTS_H
#define RA_BENCH_GPU_GPU_EXPERTS_H

#include "bench/gpu/gpu_device.h"

/* Prints a row for each number of rows an expert and each GEMM: seconds of
 * both, and the lower bound of reading the matrices. */
void bench_gpu_experts(BenchGpu *gpu);

#endif
