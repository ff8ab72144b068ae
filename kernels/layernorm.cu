/* LayerNorm with residual addition, and its gradient. */
#include "kernels/backward_row.cuh"
#include "kernels/columns.cuh"
#include "kernels/layernorm.h"
#include "kernels/rmsnorm.h"

/* One block a row; a thread holds VPT vectors of it in registers, so that the
 * row is read once.  n_vectors = n / 8. */
template <int VPT>
__global__ static void __launch_bounds__(1024)
    layernorm_kernel(uint4 *__restrict__ out, uint4 *__restrict__ residual,
                     const uint4 *__restrict__ x,
                     const uint4 *__restrict__ weight,
                     const uint4 *__restrict__ bias, float2 *__restrict__ stats,
                     int n_vectors, float eps)
{
  RA_SHARED(float, warps, 2 * RA_WARP); /* of two sums */
  size_t row = (size_t)blockIdx.x * n_vectors;
  RaVector held[VPT];
  float sum = 0.0f, squares = 0.0f, mean, inv;

  ra_after();
  RA_UNROLL
  for (int j = 0; j < VPT; j++) {
    int at = (int)(threadIdx.x + j * blockDim.x);
    RaVector in;

    if (at >= n_vectors)
      break;
    held[j].raw = residual[row + at];
    in.raw = x ? x[row + at] : make_uint4(0, 0, 0, 0);
    RA_UNROLL
    for (int i = 0; i < 8; i++) {
      if (x)
        held[j].bf16[i] = ra_bf16_from_f32(ra_bf16_to_f32(in.bf16[i]) +
                                           ra_bf16_to_f32(held[j].bf16[i]));
      sum += ra_bf16_to_f32(held[j].bf16[i]);
    }
    if (x)
      residual[row + at] = held[j].raw;
  }
  mean = ra_block_sum(sum, warps) / (float)(8 * n_vectors);
  RA_UNROLL
  for (int j = 0; j < VPT; j++) {
    if ((int)(threadIdx.x + j * blockDim.x) >= n_vectors)
      break;
    RA_UNROLL
    for (int i = 0; i < 8; i++) {
      float value = ra_bf16_to_f32(held[j].bf16[i]) - mean;

      squares += value * value;
    }
  }
  inv = ra_k_rmsnorm_inv(ra_block_sum(squares, warps + RA_WARP), 8 * n_vectors,
                         eps);
  if (stats && threadIdx.x == 0)
    stats[blockIdx.x] = make_float2(mean, inv);
  RA_UNROLL
  for (int j = 0; j < VPT; j++) {
    int at = (int)(threadIdx.x + j * blockDim.x);
    RaVector w, b;

    if (at >= n_vectors)
      break;
    w.raw = weight[at];
    b.raw = bias ? bias[at] : make_uint4(0, 0, 0, 0);
    RA_UNROLL
    for (int i = 0; i < 8; i++)
      w.bf16[i] = ra_bf16_from_f32((ra_bf16_to_f32(held[j].bf16[i]) - mean) *
                                       inv * ra_bf16_to_f32(w.bf16[i]) +
                                   ra_bf16_to_f32(b.bf16[i]));
    out[row + at] = w.raw;
  }
}

extern "C" int
ra_k_layernorm(uint16_t *out, uint16_t *residual, const uint16_t *x,
               const uint16_t *weight, const uint16_t *bias, float *stats,
               size_t n_rows, size_t n, float eps, void *stream)
{
  if (!ra_k_rmsnorm_shape_ok(n_rows, n, eps) || !ra_is_aligned(out) ||
      !ra_is_aligned(residual) || !ra_is_aligned(x) || !ra_is_aligned(weight) ||
      !ra_is_aligned(bias))
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;

  auto launch = [&](auto kernel) {
    RA_LAUNCH_AFTER(kernel, (unsigned)n_rows, ra_k_rmsnorm_threads(n), 0,
                    stream, reinterpret_cast<uint4 *>(out),
                    reinterpret_cast<uint4 *>(residual),
                    reinterpret_cast<const uint4 *>(x),
                    reinterpret_cast<const uint4 *>(weight),
                    reinterpret_cast<const uint4 *>(bias),
                    reinterpret_cast<float2 *>(stats), (int)(n / 8), eps);
  };

  if (n <= 8192)
    launch(layernorm_kernel<1>);
  else if (n <= 16384)
    launch(layernorm_kernel<2>);
  else
    launch(layernorm_kernel<4>);
  return cudaGetLastError();
}

/* A thread's part of the row's sums of g and g r'; at_row: mean, inv. */
template <int VPT>
__device__ static inline float2
sums_of(const RaBackwardRow<VPT> &now, const uint4 *weight, float2 at_row,
        int n_vectors)
{
  float2 sums = make_float2(0.0f, 0.0f);

  RA_UNROLL
  for (int j = 0; j < VPT; j++) {
    int at = (int)(threadIdx.x + j * blockDim.x);
    RaVector w, r, d;

    if (at >= n_vectors)
      break;
    r.raw = now.r[j];
    d.raw = now.d[j];
    w.raw = weight[at];
    RA_UNROLL
    for (int i = 0; i < 8; i++) {
      float x = (ra_bf16_to_f32(r.bf16[i]) - at_row.x) * at_row.y;
      float g = ra_bf16_to_f32(d.bf16[i]) * ra_bf16_to_f32(w.bf16[i]);

      sums.x += g;
      sums.y += g * x;
    }
  }
  return sums;
}

/* A block goes over rows blockIdx.x, + gridDim.x, ... and keeps what they add
 * to dw and db of its columns in registers.  A thread reads what it writes
 * before. */
template <int VPT>
__global__ static void
__launch_bounds__(VPT > 1 ? 512 : 1024)
    layernorm_backward_kernel(uint4 *d_residual, const uint4 *residual,
                              const float2 *__restrict__ stats,
                              const uint4 *d_out,
                              const uint4 *__restrict__ weight,
                              float *__restrict__ workspace, size_t n_rows,
                              int n_vectors, bool adds)
{
  RA_SHARED(float2, warps, 2 * RA_WARP);
  float d_weight[VPT][8] = {}, d_bias[VPT][8] = {};
  float per_row = 1.0f / (float)(8 * n_vectors);
  RaBackwardRow<VPT> now = {}, next = {};
  float2 at_row = make_float2(0.0f, 0.0f), at_next = at_row;
  int turn = 0;

  for (size_t row = blockIdx.x; row < n_rows; row += gridDim.x, turn++) {
    float2 sums;

    if (VPT > 1 || turn == 0) {
      ra_backward_load(&now, residual, d_out, d_residual, row, n_vectors, adds);
      at_row = stats[row];
    }
    sums = sums_of(now, weight, at_row, n_vectors);
    if (VPT == 1 && row + gridDim.x < n_rows) {
      at_next = stats[row + gridDim.x];
      ra_backward_load(&next, residual, d_out, d_residual, row + gridDim.x,
                       n_vectors, adds);
    }
    sums = ra_block_sums(sums, warps, turn);
    sums.x *= per_row;
    sums.y *= per_row;
    RA_UNROLL
    for (int j = 0; j < VPT; j++) {
      int at = (int)(threadIdx.x + j * blockDim.x);
      RaVector w, r, d, out;

      if (at >= n_vectors)
        break;
      r.raw = now.r[j];
      d.raw = now.d[j];
      out.raw = now.out[j];
      w.raw = weight[at];
      if (VPT > 2 && adds)
        out.raw = d_residual[row * n_vectors + at];
      RA_UNROLL
      for (int i = 0; i < 8; i++) {
        float x = (ra_bf16_to_f32(r.bf16[i]) - at_row.x) * at_row.y;
        float y = ra_bf16_to_f32(d.bf16[i]);

        d_weight[j][i] += y * x;
        d_bias[j][i] += y;
        out.bf16[i] = ra_bf16_from_f32(
            ra_bf16_to_f32(out.bf16[i]) +
            at_row.y * (y * ra_bf16_to_f32(w.bf16[i]) - sums.x - x * sums.y));
      }
      d_residual[row * n_vectors + at] = out.raw;
    }
    if (VPT == 1) {
      now = next;
      at_row = at_next;
    }
  }
  workspace += (size_t)blockIdx.x * 16 * n_vectors;
  ra_store_columns<VPT>(workspace, d_weight, n_vectors);
  ra_store_columns<VPT>(workspace + 8 * n_vectors, d_bias, n_vectors);
}

/* Rows too long for one vector a thread have half the threads, so that their
 * sums stay in registers. */
extern "C" int
ra_k_layernorm_backward(uint16_t *d, int adds, const uint16_t *residual,
                        const float *stats, const uint16_t *d_out,
                        const uint16_t *weight, float *d_weight, float *d_bias,
                        float *workspace, size_t n_rows, size_t n, void *stream)
{
  unsigned n_groups =
      n_rows < RA_K_LAYERNORM_BLOCKS ? (unsigned)n_rows : RA_K_LAYERNORM_BLOCKS;

  if (!ra_k_rmsnorm_shape_ok(n_rows, n, 1.0f) ||
      n > RA_K_LAYERNORM_BACKWARD_MAX || !ra_is_aligned(d) ||
      !ra_is_aligned(residual) || !ra_is_aligned(d_out) ||
      !ra_is_aligned(weight) || !ra_is_aligned(workspace))
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;

  auto launch = [&](auto kernel, int n_threads) {
    RA_LAUNCH(kernel, n_groups, n_threads, 0, stream,
              reinterpret_cast<uint4 *>(d),
              reinterpret_cast<const uint4 *>(residual),
              reinterpret_cast<const float2 *>(stats),
              reinterpret_cast<const uint4 *>(d_out),
              reinterpret_cast<const uint4 *>(weight), workspace, n_rows,
              (int)(n / 8), adds != 0);
  };

  if (n <= 8192)
    launch(layernorm_backward_kernel<1>, ra_k_rmsnorm_threads(n));
  else
    launch(layernorm_backward_kernel<4>, 512);
  ra_start_columns(n_groups, n, 2 * n, workspace, d_weight, stream,
                   {n, d_bias});
  return cudaGetLastError();
}
