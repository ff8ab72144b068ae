/* Products of a layer's experts on this machine's GPU, both ways: one kernel of
 * ours for all, and one call of the library an expert. */
#ifndef RA_BENCH_GPU_GPU_EXPERTS_H
#define RA_BENCH_GPU_GPU_EXPERTS_H

#include "bench/gpu/gpu_device.h"

/* Prints a row for each number of rows an expert and product: seconds of both,
 * and of the bound that reading the matrices is. */
void bench_gpu_experts(BenchGpu *gpu);

#endif
