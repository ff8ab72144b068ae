/* The gradient of RMSNorm. */
#include "kernels/backward_row.cuh"
#include "kernels/columns.cuh"
#include "kernels/rmsnorm.h"

/* A thread's part of the row's sums of r^2 and g r. */
template <int VPT>
__device__ static inline float2
sums_of(const RaBackwardRow<VPT> &now, const uint4 *weight, int n_vectors)
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
      float x = ra_bf16_to_f32(r.bf16[i]);

      sums.x += x * x;
      sums.y += ra_bf16_to_f32(d.bf16[i]) * ra_bf16_to_f32(w.bf16[i]) * x;
    }
  }
  return sums;
}

/* A block goes over rows blockIdx.x, + gridDim.x, ... and keeps what they add
 * to dw of its columns in registers.  n_vectors = n_hidden / 8.  What a thread
 * writes of a row it has read itself, so that @d_residual may be @d_out unless
 * @adds. */
template <int VPT>
__global__ static void __launch_bounds__(1024)
    backward_kernel(uint4 *d_residual, const uint4 *__restrict__ residual,
                    const uint4 *d_out, const uint4 *__restrict__ weight,
                    float *__restrict__ workspace, size_t n_rows, int n_vectors,
                    float eps, bool adds)
{
  RA_SHARED(float2, warps, 2 * RA_WARP);
  float d_weight[VPT][8] = {};
  RaBackwardRow<VPT> now = {}, next = {};
  int turn = 0;

  for (size_t row = blockIdx.x; row < n_rows; row += gridDim.x, turn++) {
    float2 sums;
    float inv, back;

    if (VPT > 1 || turn == 0)
      ra_backward_load(&now, residual, d_out, d_residual, row, n_vectors, adds);
    sums = sums_of(now, weight, n_vectors);
    if (VPT == 1 && row + gridDim.x < n_rows)
      ra_backward_load(&next, residual, d_out, d_residual, row + gridDim.x,
                       n_vectors, adds);
    sums = ra_block_sums(sums, warps, turn);
    inv = ra_k_rmsnorm_inv(sums.x, 8 * n_vectors, eps);
    back = sums.y / (float)(8 * n_vectors) * inv * inv * inv;
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
      RA_UNROLL
      for (int i = 0; i < 8; i++) {
        float x = ra_bf16_to_f32(r.bf16[i]);
        float y = ra_bf16_to_f32(d.bf16[i]);

        d_weight[j][i] += y * x * inv;
        out.bf16[i] =
            ra_bf16_from_f32(ra_bf16_to_f32(out.bf16[i]) +
                             (y * ra_bf16_to_f32(w.bf16[i]) * inv - x * back));
      }
      d_residual[row * n_vectors + at] = out.raw;
    }
    if (VPT == 1)
      now = next;
  }
  ra_store_columns<VPT>(workspace + (size_t)blockIdx.x * 8 * n_vectors,
                        d_weight, n_vectors);
}

static int
run(uint16_t *d_residual, const uint16_t *residual, const uint16_t *d_out,
    const uint16_t *weight, float *d_weight, float *workspace, size_t n_rows,
    size_t n_hidden, float eps, bool adds, void *stream)
{
  unsigned n_groups =
      n_rows < RA_K_RMSNORM_BLOCKS ? (unsigned)n_rows : RA_K_RMSNORM_BLOCKS;

  if (!ra_k_rmsnorm_shape_ok(n_rows, n_hidden, eps) ||
      n_hidden > RA_K_RMSNORM_BACKWARD_MAX || !ra_is_aligned(d_residual) ||
      !ra_is_aligned(residual) || !ra_is_aligned(d_out) ||
      !ra_is_aligned(weight) || !ra_is_aligned(workspace))
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;

  auto launch = [&](auto kernel) {
    RA_LAUNCH(kernel, n_groups, ra_k_rmsnorm_threads(n_hidden), 0, stream,
              reinterpret_cast<uint4 *>(d_residual),
              reinterpret_cast<const uint4 *>(residual),
              reinterpret_cast<const uint4 *>(d_out),
              reinterpret_cast<const uint4 *>(weight), workspace, n_rows,
              (int)(n_hidden / 8), eps, adds);
  };

  if (n_hidden <= 8192)
    launch(backward_kernel<1>);
  else
    launch(backward_kernel<2>);
  ra_start_columns(n_groups, n_hidden, n_hidden, workspace, d_weight, stream);
  return cudaGetLastError();
}

extern "C" int
ra_k_rmsnorm_backward(uint16_t *d_residual, const uint16_t *residual,
                      const uint16_t *d_out, const uint16_t *weight,
                      float *d_weight, float *workspace, size_t n_rows,
                      size_t n_hidden, float eps, void *stream)
{
  return run(d_residual, residual, d_out, weight, d_weight, workspace, n_rows,
             n_hidden, eps, true, stream);
}

extern "C" int
ra_k_rmsnorm_backward_alone(uint16_t *d_x, const uint16_t *x,
                            const uint16_t *d_out, const uint16_t *weight,
                            float *d_weight, float *workspace, size_t n_rows,
                            size_t n_hidden, float eps, void *stream)
{
  return run(d_x, x, d_out, weight, d_weight, workspace, n_rows, n_hidden, eps,
             false, stream);
}
