/* AdamW over a slab, and the sum of squares of gradients. */
#include "kernels/adamw.h"
#include "kernels/device.cuh"

#define THREADS 256

/* Over the block, in every thread, as ra_block_sum() in double. */
__device__ static inline double
block_sum(double value, double *warps)
{
  int lane = (int)threadIdx.x % RA_WARP;

  for (int half = 16; half > 0; half /= 2)
    value += __shfl_xor_sync(RA_ALL_LANES, value, half);
  if (lane == 0)
    warps[threadIdx.x / RA_WARP] = value;
  __syncthreads();
  value = lane < (int)blockDim.x / RA_WARP ? warps[lane] : 0.0;
  for (int half = 16; half > 0; half /= 2)
    value += __shfl_xor_sync(RA_ALL_LANES, value, half);
  return value;
}

__global__ static void
__launch_bounds__(THREADS)
    squares_kernel(size_t n, size_t n_vectors, const float *__restrict__ x,
                   double *__restrict__ parts)
{
  RA_SHARED(double, warps, RA_WARP);
  size_t step = (size_t)gridDim.x * THREADS;
  size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
  double sum = 0.0;

  for (size_t at = i; at < n_vectors; at += step) {
    float4 v = reinterpret_cast<const float4 *>(x)[at];

    sum += (double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z +
           (double)v.w * v.w;
  }
  for (size_t at = 4 * n_vectors + i; at < n; at += step)
    sum += (double)x[at] * x[at];
  sum = block_sum(sum, warps);
  if (threadIdx.x == 0)
    parts[blockIdx.x] = sum;
}

__global__ static void
__launch_bounds__(RA_K_SQUARES_BLOCKS)
    add_parts_kernel(unsigned n_parts, const double *__restrict__ parts,
                     double *__restrict__ out)
{
  RA_SHARED(double, warps, RA_WARP);
  double sum =
      block_sum(threadIdx.x < n_parts ? parts[threadIdx.x] : 0.0, warps);

  if (threadIdx.x == 0)
    *out += sum;
}

extern "C" int
ra_k_sum_squares(size_t n, const float *x, double *workspace, double *out,
                 void *stream)
{
  auto squares = squares_kernel;
  auto add_parts = add_parts_kernel;
  size_t n_whole = (n + 4 * THREADS - 1) / (4 * THREADS);
  unsigned n_blocks = n_whole < 1 ? 1
                                  : (unsigned)(n_whole < RA_K_SQUARES_BLOCKS
                                                   ? n_whole
                                                   : RA_K_SQUARES_BLOCKS);

  RA_LAUNCH(squares, n_blocks, THREADS, 0, stream, n,
            ra_is_aligned(x) ? n / 4 : 0, x, workspace);
  RA_LAUNCH(add_parts, 1, RA_K_SQUARES_BLOCKS, 0, stream, n_blocks, workspace,
            out);
  return cudaGetLastError();
}

/* A parameter a thread, of arrays that begin anywhere: shards of ranks whose
 * number does not divide what they share. */
__global__ static void
__launch_bounds__(THREADS)
    adamw_one_kernel(size_t n, RaCpuAdamw adamw, float bias1, float bias2,
                     float scale, const double *__restrict__ sum_squares,
                     float max_norm, const float *__restrict__ grad,
                     float *__restrict__ master, float *__restrict__ first,
                     float *__restrict__ second, uint16_t *__restrict__ weight)
{
  size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
  float clip = scale * (sum_squares ? ra_k_clip(*sum_squares, max_norm) : 1.0f);

  if (i >= n)
    return;
  ra_k_adamw_step(&adamw, bias1, bias2, clip * grad[i], &master[i], &first[i],
                  &second[i]);
  weight[i] = ra_bf16_from_f32(master[i]);
}

/* Four parameters a thread; the last few alone. */
__global__ static void
__launch_bounds__(THREADS)
    adamw_kernel(size_t n, RaCpuAdamw adamw, float bias1, float bias2,
                 float scale, const double *__restrict__ sum_squares,
                 float max_norm, const float *__restrict__ grad,
                 float *__restrict__ master, float *__restrict__ first,
                 float *__restrict__ second, uint16_t *__restrict__ weight)
{
  size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) * 4;
  float clip = scale * (sum_squares ? ra_k_clip(*sum_squares, max_norm) : 1.0f);
  alignas(16) float g[4], w[4], m[4], v[4];

  if (i >= n)
    return;
  if (i + 4 > n) {
    for (; i < n; i++) {
      ra_k_adamw_step(&adamw, bias1, bias2, clip * grad[i], &master[i],
                      &first[i], &second[i]);
      weight[i] = ra_bf16_from_f32(master[i]);
    }
    return;
  }
  *reinterpret_cast<float4 *>(g) = *reinterpret_cast<const float4 *>(grad + i);
  *reinterpret_cast<float4 *>(w) = *reinterpret_cast<float4 *>(master + i);
  *reinterpret_cast<float4 *>(m) = *reinterpret_cast<float4 *>(first + i);
  *reinterpret_cast<float4 *>(v) = *reinterpret_cast<float4 *>(second + i);
  RA_UNROLL
  for (int e = 0; e < 4; e++)
    ra_k_adamw_step(&adamw, bias1, bias2, clip * g[e], &w[e], &m[e], &v[e]);
  *reinterpret_cast<float4 *>(master + i) = make_float4(w[0], w[1], w[2], w[3]);
  *reinterpret_cast<float4 *>(first + i) = make_float4(m[0], m[1], m[2], m[3]);
  *reinterpret_cast<float4 *>(second + i) = make_float4(v[0], v[1], v[2], v[3]);
  *reinterpret_cast<uint2 *>(weight + i) = {ra_pack_bf16(w[0], w[1]),
                                            ra_pack_bf16(w[2], w[3])};
}

extern "C" int
ra_k_adamw(size_t n, const RaCpuAdamw *adamw, uint64_t step, float scale,
           const double *sum_squares, float max_norm, const float *grad,
           float *master, float *first, float *second, uint16_t *weight,
           void *stream)
{
  bool fours = ra_is_aligned(grad) && ra_is_aligned(master) &&
               ra_is_aligned(first) && ra_is_aligned(second) &&
               ra_is_aligned(weight);
  size_t a_block = (fours ? 4 : 1) * THREADS;
  size_t n_blocks = (n + a_block - 1) / a_block;
  auto kernel = fours ? adamw_kernel : adamw_one_kernel;

  if (step == 0 || n_blocks > 0x7fffffff)
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, (unsigned)n_blocks, THREADS, 0, stream, n, *adamw,
            (float)(1 - pow((double)adamw->beta1, (double)step)),
            (float)(1 - pow((double)adamw->beta2, (double)step)), scale,
            sum_squares, max_norm, grad, master, first, second, weight);
  return cudaGetLastError();
}
