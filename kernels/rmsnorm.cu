#include <cuda_runtime_api.h>

#include "kernels/rmsnorm.h"

/* Eight bf16 of one row as the 16 bytes that one load moves. */
union Vector {
  uint4 raw;
  uint16_t bf16[8];
};

/* Sum of @value over the block, in every thread.  One butterfly in the warp,
 * one over the warps' sums; every warp does the second, which spares a second
 * barrier.
 */
__device__ static float
block_sum(float value)
{
  __shared__ float warps[32];
  int lane = threadIdx.x % 32;

  for (int half = 16; half > 0; half /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, half);
  if (lane == 0)
    warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = lane < (int)blockDim.x / 32 ? warps[lane] : 0.0f;
  for (int half = 16; half > 0; half /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, half);
  return value;
}

/* One block a row; a thread holds VPT vectors of it in registers, so that the
 * row is read once.  n_vectors = n_hidden / 8.
 */
template <int VPT>
__global__ static void __launch_bounds__(1024)
    rmsnorm_kernel(uint4 *__restrict__ out, uint4 *__restrict__ residual,
                   const uint4 *__restrict__ x,
                   const uint4 *__restrict__ weight, int n_vectors, float eps)
{
  size_t row = (size_t)blockIdx.x * n_vectors;
  Vector held[VPT];
  float sum = 0.0f, inv;

#pragma unroll
  for (int j = 0; j < VPT; j++) {
    int at = threadIdx.x + j * blockDim.x;
    Vector in;

    if (at >= n_vectors)
      break;
    in.raw = x[row + at];
    held[j].raw = residual[row + at];
#pragma unroll
    for (int i = 0; i < 8; i++) {
      float value;

      held[j].bf16[i] = ra_bf16_from_f32(ra_bf16_to_f32(in.bf16[i]) +
                                         ra_bf16_to_f32(held[j].bf16[i]));
      value = ra_bf16_to_f32(held[j].bf16[i]);
      sum += value * value;
    }
    residual[row + at] = held[j].raw;
  }
  inv = ra_k_rmsnorm_inv(block_sum(sum), 8 * n_vectors, eps);
#pragma unroll
  for (int j = 0; j < VPT; j++) {
    int at = threadIdx.x + j * blockDim.x;
    Vector w;

    if (at >= n_vectors)
      break;
    w.raw = weight[at];
#pragma unroll
    for (int i = 0; i < 8; i++)
      w.bf16[i] = ra_k_rmsnorm_scale(held[j].bf16[i], inv, w.bf16[i]);
    out[row + at] = w.raw;
  }
}

static bool
aligned(const void *pointer)
{
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

extern "C" int
ra_k_rmsnorm(uint16_t *out, uint16_t *residual, const uint16_t *x,
             const uint16_t *weight, size_t n_rows, size_t n_hidden, float eps,
             void *stream)
{
  if (!ra_k_rmsnorm_shape_ok(n_rows, n_hidden, eps) || !aligned(out) ||
      !aligned(residual) || !aligned(x) || !aligned(weight))
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;

  auto launch = [&](auto kernel) {
    kernel<<<(unsigned)n_rows, ra_k_rmsnorm_threads(n_hidden), 0,
             static_cast<cudaStream_t>(stream)>>>(
        reinterpret_cast<uint4 *>(out), reinterpret_cast<uint4 *>(residual),
        reinterpret_cast<const uint4 *>(x),
        reinterpret_cast<const uint4 *>(weight), (int)(n_hidden / 8), eps);
  };

  /* 1,024 threads of 8 elements hold 8,192 of them a vector.  Eight vectors a
   * thread would spill its 64 registers; no model has such rows.
   */
  if (n_hidden <= 8192)
    launch(rmsnorm_kernel<1>);
  else if (n_hidden <= 16384)
    launch(rmsnorm_kernel<2>);
  else
    launch(rmsnorm_kernel<4>);
  return cudaGetLastError();
}
