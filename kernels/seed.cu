/* Weights that a run begins with. */
#include "kernels/device.cuh"
#include "kernels/seed.h"

#define THREADS 256

__device__ static inline size_t
thread_number()
{
  return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

static unsigned
blocks_for(size_t n)
{
  return (unsigned)((n + THREADS - 1) / THREADS);
}

__global__ static void
seed_kernel(size_t n, RaSeedRect rect, uint16_t *__restrict__ out)
{
  size_t i = thread_number();

  if (i < n)
    out[i] = ra_bf16_from_f32(ra_seeded(&rect, i));
}

__global__ static void
widen_kernel(size_t n, const uint16_t *__restrict__ x, float *__restrict__ out)
{
  size_t i = thread_number();

  if (i < n)
    out[i] = ra_bf16_to_f32(x[i]);
}

extern "C" int
ra_k_seed(size_t n, const RaSeedRect *rect, uint16_t *out, void *stream)
{
  auto kernel = seed_kernel;

  if (n >> 39 || rect->n_cols == 0)
    return cudaErrorInvalidValue;
  if (n > 0)
    RA_LAUNCH(kernel, blocks_for(n), THREADS, 0, stream, n, *rect, out);
  return cudaGetLastError();
}

extern "C" int
ra_k_widen(size_t n, const uint16_t *x, float *out, void *stream)
{
  auto kernel = widen_kernel;

  if (n >> 39)
    return cudaErrorInvalidValue;
  if (n > 0)
    RA_LAUNCH(kernel, blocks_for(n), THREADS, 0, stream, n, x, out);
  return cudaGetLastError();
}
