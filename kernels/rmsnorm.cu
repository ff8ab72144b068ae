/* RMSNorm with residual addition, forward. */
#include "kernels/device.cuh"
#include "kernels/rmsnorm.h"

/* One block a row; a thread holds VPT vectors of it in registers, so that the
 * row is read once.  n_vectors = n_hidden / 8.
 */
template <int VPT>
__global__ static void __launch_bounds__(1024)
    rmsnorm_kernel(uint4 *__restrict__ out, uint4 *__restrict__ residual,
                   const uint4 *__restrict__ x,
                   const uint4 *__restrict__ weight, int n_vectors, float eps)
{
  RA_SHARED(float, warps, RA_WARP);
  size_t row = (size_t)blockIdx.x * n_vectors;
  RaVector held[VPT];
  float sum = 0.0f, inv;

  ra_after();
  RA_UNROLL
  for (int j = 0; j < VPT; j++) {
    int at = threadIdx.x + j * blockDim.x;
    RaVector in;

    if (at >= n_vectors)
      break;
    held[j].raw = residual[row + at];
    in.raw = x ? x[row + at] : make_uint4(0, 0, 0, 0);
    RA_UNROLL
    for (int i = 0; i < 8; i++) {
      float value;

      if (x)
        held[j].bf16[i] = ra_bf16_from_f32(ra_bf16_to_f32(in.bf16[i]) +
                                           ra_bf16_to_f32(held[j].bf16[i]));
      value = ra_bf16_to_f32(held[j].bf16[i]);
      sum += value * value;
    }
    if (x)
      residual[row + at] = held[j].raw;
  }
  inv = ra_k_rmsnorm_inv(ra_block_sum(sum, warps), 8 * n_vectors, eps);
  RA_UNROLL
  for (int j = 0; j < VPT; j++) {
    int at = threadIdx.x + j * blockDim.x;
    RaVector w;

    if (at >= n_vectors)
      break;
    w.raw = weight[at];
    RA_UNROLL
    for (int i = 0; i < 8; i++)
      w.bf16[i] = ra_k_rmsnorm_scale(held[j].bf16[i], inv, w.bf16[i]);
    out[row + at] = w.raw;
  }
}

extern "C" int
ra_k_rmsnorm(uint16_t *out, uint16_t *residual, const uint16_t *x,
             const uint16_t *weight, size_t n_rows, size_t n_hidden, float eps,
             void *stream)
{
  if (!ra_k_rmsnorm_shape_ok(n_rows, n_hidden, eps) || !ra_is_aligned(out) ||
      !ra_is_aligned(residual) || !ra_is_aligned(x) || !ra_is_aligned(weight))
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;

  auto launch = [&](auto kernel) {
    RA_LAUNCH_AFTER(
        kernel, (unsigned)n_rows, ra_k_rmsnorm_threads(n_hidden), 0, stream,
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
