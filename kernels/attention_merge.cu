/* Merge of two results of attention over different keys. */
#include "kernels/attention.h"
#include "kernels/device.cuh"

#define THREADS 128

/* A warp has a row of a token and head, two elements a lane at a time; all of
 * it has read lse before it is written. */
__global__ static void
__launch_bounds__(THREADS)
    merge_kernel(size_t n_rows, uint32_t head_dim,
                 const uint16_t *__restrict__ part,
                 const float *__restrict__ part_lse, uint16_t *__restrict__ out,
                 float *__restrict__ lse)
{
  size_t row = (size_t)blockIdx.x * (THREADS / RA_WARP) + threadIdx.x / RA_WARP;
  uint32_t lane = threadIdx.x % RA_WARP;
  float mine, other, most, a, b, sum;

  if (row >= n_rows) /* of the whole warp */
    return;
  mine = lse[row];
  other = part_lse[row];
  most = fmaxf(mine, other);
  a = expf(mine - most);
  b = expf(other - most);
  sum = a + b;
  a /= sum;
  b /= sum;
  __syncwarp();
  if (lane == 0)
    lse[row] = most + logf(sum);
  for (uint32_t i = 2 * lane; i < head_dim; i += 2 * RA_WARP) {
    uint32_t *at = reinterpret_cast<uint32_t *>(out + row * head_dim + i);
    uint32_t x = *at;
    uint32_t y = *reinterpret_cast<const uint32_t *>(part + row * head_dim + i);

    *at = ra_pack_bf16_fast(a * ra_bf16_to_f32((uint16_t)x) +
                                b * ra_bf16_to_f32((uint16_t)y),
                            a * ra_bf16_to_f32((uint16_t)(x >> 16)) +
                                b * ra_bf16_to_f32((uint16_t)(y >> 16)));
  }
}

extern "C" int
ra_k_attention_merge(size_t n_tokens, uint32_t n_heads, uint32_t head_dim,
                     const uint16_t *part, const float *part_lse, uint16_t *out,
                     float *lse, void *stream)
{
  size_t n_rows = n_tokens * n_heads;
  size_t n_blocks = (n_rows + THREADS / RA_WARP - 1) / (THREADS / RA_WARP);

  if (head_dim % 2 != 0 || n_blocks > INT32_MAX || !ra_is_aligned(part) ||
      !ra_is_aligned(out))
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;
  RA_LAUNCH(merge_kernel, (unsigned)n_blocks, THREADS, 0, stream, n_rows,
            head_dim, part, part_lse, out, lse);
  return cudaGetLastError();
}
