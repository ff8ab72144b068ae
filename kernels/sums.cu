/* Sums over ranks and columns, biases, the test for non-finite numbers. */
#include "kernels/columns.cuh"
#include "kernels/sums.h"

#define THREADS 256
#define LOOK_BLOCKS 1024 /* of the search for what is not a number */

__device__ static inline size_t
thread_number()
{
  return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

/* 16 bytes of an array of either type. */
union RaSums {
  uint4 raw;
  uint16_t bf16[8];
  float f32[4];
};

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

/* The same, 16 bytes of each array a thread. */
__global__ static void
reduce_vectors_kernel(RaKRanks ranks, size_t n_vectors, int f32, int largest)
{
  size_t i = thread_number();
  float sums[8];

  if (i >= n_vectors)
    return;
  for (uint32_t rank = 0; rank < ranks.n_in; rank++) {
    RaSums in;

    in.raw = static_cast<const uint4 *>(ranks.in[rank])[i];
    RA_UNROLL
    for (int e = 0; e < 8; e++) {
      float x = f32 ? in.f32[e % 4] : ra_bf16_to_f32(in.bf16[e]);

      sums[e] = rank == 0     ? x
                : !largest    ? sums[e] + x
                : x > sums[e] ? x
                              : sums[e];
    }
  }
  for (uint32_t rank = 0; rank < ranks.n_out; rank++) {
    RaSums out;

    RA_UNROLL
    for (int e = 0; e < 8; e++)
      if (!f32)
        out.bf16[e] = ra_bf16_from_f32(sums[e]);
      else if (e < 4)
        out.f32[e] = sums[e];
    static_cast<uint4 *>(ranks.out[rank])[i] = out.raw;
  }
}

/* n_vectors: of a row; rows by turns. */
__global__ static void
bias_vectors_kernel(size_t n_rows, size_t n_vectors,
                    const uint4 *__restrict__ bias, uint4 *__restrict__ y)
{
  size_t column = thread_number();
  RaVector b;

  if (column >= n_vectors)
    return;
  b.raw = bias[column];
  for (size_t row = blockIdx.y; row < n_rows; row += gridDim.y) {
    RaVector v;

    v.raw = y[row * n_vectors + column];
    RA_UNROLL
    for (int e = 0; e < 8; e++)
      v.bf16[e] = ra_bf16_from_f32(ra_bf16_to_f32(v.bf16[e]) +
                                   ra_bf16_to_f32(b.bf16[e]));
    y[row * n_vectors + column] = v.raw;
  }
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

__global__ static void
find_odd_vectors_kernel(size_t n_vectors, const uint4 *__restrict__ x, int f32,
                        uint32_t code, volatile uint32_t *flag)
{
  ra_after();
  for (size_t i = thread_number(); i < n_vectors;
       i += (size_t)gridDim.x * THREADS) {
    bool odd = false;
    RaSums in;

    in.raw = x[i];
    RA_UNROLL
    for (int e = 0; e < 8; e++) {
      float value = f32 ? in.f32[e % 4] : ra_bf16_to_f32(in.bf16[e]);

      odd = odd || !(value - value == 0.0f);
    }
    if (odd && *flag == 0)
      *flag = code;
  }
}

/* x - x is 0 of what is finite, and not a number of the rest. */
__global__ static void
find_odd_kernel(size_t n, const void *__restrict__ x, int f32, uint32_t code,
                volatile uint32_t *flag)
{
  ra_after();
  for (size_t i = thread_number(); i < n; i += (size_t)gridDim.x * THREADS) {
    float value = value_at(x, i, f32);

    if (!(value - value == 0.0f) && *flag == 0)
      *flag = code;
  }
}

static bool
blocks_for(size_t n, unsigned *out)
{
  size_t n_blocks = (n + THREADS - 1) / THREADS;

  *out = (unsigned)n_blocks;
  return n_blocks <= 0x7fffffff;
}

static bool
has_vectors(const RaKRanks *ranks, size_t n, int f32)
{
  if (n % (f32 ? 4 : 8) != 0)
    return false;
  for (uint32_t rank = 0; rank < ranks->n_in; rank++)
    if (!ra_is_aligned(ranks->in[rank]))
      return false;
  for (uint32_t rank = 0; rank < ranks->n_out; rank++)
    if (!ra_is_aligned(ranks->out[rank]))
      return false;
  return true;
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
  if (has_vectors(ranks, n, f32)) {
    auto vectors = reduce_vectors_kernel;

    n /= f32 ? 4 : 8;
    RA_LAUNCH(vectors, (unsigned)((n + THREADS - 1) / THREADS), THREADS, 0,
              stream, *ranks, n, f32, largest);
    return cudaGetLastError();
  }
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
  if (n % 8 == 0 && ra_is_aligned(bias) && ra_is_aligned(y)) {
    auto vectors = bias_vectors_kernel;
    dim3 grid((unsigned)((n / 8 + THREADS - 1) / THREADS),
              (unsigned)(n_rows < 65535 ? n_rows : 65535));

    RA_LAUNCH(vectors, grid, THREADS, 0, stream, n_rows, n / 8,
              reinterpret_cast<const uint4 *>(bias),
              reinterpret_cast<uint4 *>(y));
    return cudaGetLastError();
  }
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
  if (n % 8 == 0 && ra_is_aligned(x)) {
    ra_start_columns(n_rows, n, n, x, sum, stream);
    return cudaGetLastError();
  }
  RA_LAUNCH(kernel, n_blocks, THREADS, 0, stream, n_rows, n, x, sum);
  return cudaGetLastError();
}

extern "C" int
ra_k_find_odd(size_t n, const void *x, int f32, uint32_t code, uint32_t *flag,
              void *stream)
{
  auto kernel = find_odd_kernel;
  size_t n_blocks = (n + THREADS - 1) / THREADS;

  if (n == 0)
    return cudaSuccess;
  if (n % (f32 ? 4 : 8) == 0 && ra_is_aligned(x)) {
    auto vectors = find_odd_vectors_kernel;

    n /= f32 ? 4 : 8;
    n_blocks = (n + THREADS - 1) / THREADS;
    RA_LAUNCH_AFTER(
        vectors, n_blocks < LOOK_BLOCKS ? (unsigned)n_blocks : LOOK_BLOCKS,
        THREADS, 0, stream, n, static_cast<const uint4 *>(x), f32, code, flag);
    return cudaGetLastError();
  }
  RA_LAUNCH_AFTER(kernel,
                  n_blocks < LOOK_BLOCKS ? (unsigned)n_blocks : LOOK_BLOCKS,
                  THREADS, 0, stream, n, x, f32, code, flag);
  return cudaGetLastError();
}
