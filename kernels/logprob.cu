/* Log-probabilities over a shared vocabulary, and their gradient. */
#include "kernels/device.cuh"
#include "kernels/logprob.h"

#define THREADS 512

static const float log2_e = 1.4426950408889634f;

/* Columns behind a row's last are as if they were -inf; @n: those before. */
__device__ static inline void
cut(float value[8], uint32_t n)
{
  RA_UNROLL
  for (uint32_t i = 0; i < 8; i++)
    value[i] = i < n ? value[i] : -INFINITY;
}

/* One block a row; @stride: vectors. */
__global__ static void
__launch_bounds__(THREADS)
    log_sum_kernel(uint32_t first, uint32_t n, size_t stride,
                   const uint4 *__restrict__ logits,
                   const uint32_t *__restrict__ targets,
                   RaCpuLogSum *__restrict__ out)
{
  RA_SHARED(float, warps, RA_WARP);
  RA_SHARED(float, sums, RA_WARP);
  size_t row = blockIdx.x;
  const uint4 *from = logits + row * stride;
  uint32_t target = targets[row] - first; /* below 0: above every column */
  float most = -INFINITY, sum = 0.0f, whole;

  for (uint32_t at = threadIdx.x; 8 * at < n; at += THREADS) {
    RaVector z;
    float value[8], now = most;

    z.raw = from[at];
    RA_UNROLL
    for (int i = 0; i < 8; i++)
      value[i] = ra_bf16_to_f32(z.bf16[i]);
    if (8 * at + 8 > n)
      cut(value, n - 8 * at);
    RA_UNROLL
    for (int i = 0; i < 8; i++)
      now = fmaxf(now, value[i]);
    if (now > most) {
      sum *= expf(most - now); /* of none: e^-inf = 0 */
      most = now;
    }
    if (most > -INFINITY) /* or all are -inf: nothing to add */
      RA_UNROLL
    for (int i = 0; i < 8; i++)
      sum += ra_exp2_fast((value[i] - most) * log2_e);
  }
  whole = ra_block_max(most, warps);
  sum = ra_block_sum(most > -INFINITY ? sum * expf(most - whole) : 0.0f, sums);
  if (threadIdx.x == 0) {
    const uint16_t *logit = reinterpret_cast<const uint16_t *>(from) + target;

    out[row].most = whole;
    out[row].sum = sum;
    out[row].target = target < n ? ra_bf16_to_f32(*logit) : 0.0f;
  }
}

extern "C" int
ra_k_log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
             const uint16_t *logits, const uint32_t *targets, RaCpuLogSum *out,
             void *stream)
{
  auto kernel = log_sum_kernel;

  if (stride % 8 != 0 || stride < n || n_rows > 0x7fffffff ||
      !ra_is_aligned(logits))
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, (unsigned)n_rows, THREADS, 0, stream, first, n, stride / 8,
            reinterpret_cast<const uint4 *>(logits), targets, out);
  return cudaGetLastError();
}

__global__ static void
log_prob_kernel(size_t n_rows, size_t n_ranks,
                const RaCpuLogSum *__restrict__ sums,
                float *__restrict__ out_log_prob, float *__restrict__ out_lse)
{
  size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  float most = -INFINITY, sum = 0.0f, target = 0.0f, lse;

  if (row >= n_rows)
    return;
  for (size_t r = 0; r < n_ranks; r++)
    most = fmaxf(most, sums[r * n_rows + row].most);
  for (size_t r = 0; r < n_ranks; r++) {
    RaCpuLogSum part = sums[r * n_rows + row];

    if (part.most > -INFINITY)
      sum += part.sum * expf(part.most - most);
    target += part.target;
  }
  lse = most + logf(sum);
  out_log_prob[row] = target - lse;
  out_lse[row] = lse;
}

extern "C" int
ra_k_log_prob(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums,
              float *out_log_prob, float *out_lse, void *stream)
{
  auto kernel = log_prob_kernel;

  if (n_rows > (size_t)0x7fffffff * 128)
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, (unsigned)((n_rows + 127) / 128), 128, 0, stream, n_rows,
            n_ranks, sums, out_log_prob, out_lse);
  return cudaGetLastError();
}

/* blockIdx: (vectors of a row, row by turns); @stride: vectors. */
__global__ static void
__launch_bounds__(THREADS)
    backward_kernel(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                    const uint32_t *__restrict__ targets,
                    const float *__restrict__ lse,
                    const float *__restrict__ d_log_prob,
                    uint4 *__restrict__ logits)
{
  uint32_t at = blockIdx.x * THREADS + threadIdx.x;

  if (at >= stride)
    return;
  for (size_t row = blockIdx.y; row < n_rows; row += gridDim.y) {
    uint4 *to = logits + row * stride + at;
    uint32_t target = targets[row] - first;
    float g = d_log_prob[row], base = lse[row];
    RaVector z;

    z.raw = *to;
    RA_UNROLL
    for (int i = 0; i < 8; i++) {
      uint32_t column = 8 * at + (uint32_t)i;
      float hit = target == column ? 1.0f : 0.0f;
      float d = g * (hit - expf(ra_bf16_to_f32(z.bf16[i]) - base));

      z.bf16[i] = ra_bf16_from_f32(column < n ? d : 0.0f);
    }
    *to = z.raw;
  }
}

extern "C" int
ra_k_log_prob_backward(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                       const uint32_t *targets, const float *lse,
                       const float *d_log_prob, uint16_t *logits, void *stream)
{
  dim3 grid((unsigned)((stride / 8 + THREADS - 1) / THREADS),
            (unsigned)(n_rows < 65535 ? n_rows : 65535));
  auto kernel = backward_kernel;

  if (stride % 8 != 0 || stride < n || !ra_is_aligned(logits))
    return cudaErrorInvalidValue;
  if (n_rows == 0 || stride == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, grid, THREADS, 0, stream, n_rows, first, n, stride / 8,
            targets, lse, d_log_prob, reinterpret_cast<uint4 *>(logits));
  return cudaGetLastError();
}
