#include "kernels/device.cuh"
#include "kernels/sums.h"

#define THREADS 256
#define LOOK_BLOCKS 1024 /* of the search for what is not a number */

__device__ static inline size_t
thread_number()
{
  return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

__device__ static inline float
value_at(const void *x, size_t i, int f32)
{
  return f32 ? static_cast<const float *>(x)[i]
             : ra_bf16_to_f32(static_cast<const uint16_t *>(x)[i]);
}

__global__ static void
reduce_kernel(RaKRanks ranks, size_t n, int f32, int largest)
{
  size_t i = thread_number();
  float sum;

  if (i >= n)
    return;
  sum = value_at(ranks.in[0], i, f32);
  for (uint32_t rank = 1; rank < ranks.n_in; rank++) {
    float x = value_at(ranks.in[rank], i, f32);

    sum = !largest ? sum + x : x > sum ? x : sum;
  }
  for (uint32_t rank = 0; rank < ranks.n_out; rank++)
    if (f32)
      static_cast<float *>(ranks.out[rank])[i] = sum;
    else
      static_cast<uint16_t *>(ranks.out[rank])[i] = ra_bf16_from_f32(sum);
}

__global__ static void
add_bias_kernel(size_t n_rows, size_t n, const uint16_t *__restrict__ bias,
                uint16_t *__restrict__ y)
{
  size_t i = thread_number();

  if (i < n_rows * n)
    y[i] = ra_bf16_from_f32(ra_bf16_to_f32(y[i]) + ra_bf16_to_f32(bias[i % n]));
}

__global__ static void
add_columns_kernel(size_t n_rows, size_t n, const uint16_t *__restrict__ x,
                   float *__restrict__ sums)
{
  size_t column = thread_number();
  float sum;

  if (column >= n)
    return;
  sum = sums[column];
  for (size_t row = 0; row < n_rows; row++)
    sum += ra_bf16_to_f32(x[row * n + column]);
  sums[column] = sum;
}

/* x - x is 0 of what is finite, and not a number of the rest. */
__global__ static void
find_odd_kernel(size_t n, const void *__restrict__ x, int f32, uint32_t *flag)
{
  for (size_t i = thread_number(); i < n; i += (size_t)gridDim.x * THREADS) {
    float value = value_at(x, i, f32);

    if (!(value - value == 0.0f))
      *flag = 1;
  }
}

static bool
blocks_for(size_t n, unsigned *out)
{
  size_t n_blocks = (n + THREADS - 1) / THREADS;

  *out = (unsigned)n_blocks;
  return n_blocks <= 0x7fffffff;
}

extern "C" int
ra_k_reduce(const RaKRanks *ranks, size_t n, int f32, int largest, void *stream)
{
  auto kernel = reduce_kernel;
  unsigned n_blocks;

  if (ranks->n_in == 0 || ranks->n_in > RA_K_RANKS ||
      ranks->n_out > RA_K_RANKS || !blocks_for(n, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, n_blocks, THREADS, 0, stream, *ranks, n, f32, largest);
  return cudaGetLastError();
}

extern "C" int
ra_k_add_bias(size_t n_rows, size_t n, const uint16_t *bias, uint16_t *y,
              void *stream)
{
  auto kernel = add_bias_kernel;
  unsigned n_blocks;

  if (!blocks_for(n_rows * n, &n_blocks))
    return cudaErrorInvalidValue;
  if (n_rows * n == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, n_blocks, THREADS, 0, stream, n_rows, n, bias, y);
  return cudaGetLastError();
}

extern "C" int
ra_k_add_columns(size_t n_rows, size_t n, const uint16_t *x, float *sum,
                 void *stream)
{
  auto kernel = add_columns_kernel;
  unsigned n_blocks;

  if (!blocks_for(n, &n_blocks))
    return cudaErrorInvalidValue;
  if (n_rows * n == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, n_blocks, THREADS, 0, stream, n_rows, n, x, sum);
  return cudaGetLastError();
}

extern "C" int
ra_k_find_odd(size_t n, const void *x, int f32, uint32_t *flag, void *stream)
{
  auto kernel = find_odd_kernel;
  size_t n_blocks = (n + THREADS - 1) / THREADS;

  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, n_blocks < LOOK_BLOCKS ? (unsigned)n_blocks : LOOK_BLOCKS,
            THREADS, 0, stream, n, x, f32, flag);
  return cudaGetLastError();
}
