/* Inputs of attention's gradients from each query: its lse, and
 * D_i = do_i o_i (arXiv 2205.14135, appendix B.4). */
#ifndef RA_KERNELS_ATTENTION_DELTA_CUH
#define RA_KERNELS_ATTENTION_DELTA_CUH

#include "kernels/device.cuh"

#define RA_DELTA_THREADS 128

/* @delta (n_rows) from dense rows of @out and @d_out; one warp a row.
 * @counts (n_rows): zeroed, unless NULL. */
template <int HD>
__global__ static void
__launch_bounds__(RA_DELTA_THREADS)
    ra_delta_kernel(const uint16_t *__restrict__ out,
                    const uint16_t *__restrict__ d_out,
                    float *__restrict__ delta, size_t n_rows,
                    uint32_t *__restrict__ counts)
{
  size_t row =
      (size_t)blockIdx.x * (RA_DELTA_THREADS / RA_WARP) + threadIdx.x / RA_WARP;
  int lane = (int)threadIdx.x % RA_WARP;
  float sum = 0.0f;

  if (row >= n_rows) /* of the whole warp */
    return;
  RA_UNROLL
  for (int i = 0; i < HD / 64; i++) {
    size_t at = row * HD + 64 * i + 2 * lane;
    uint32_t x = *reinterpret_cast<const uint32_t *>(out + at);
    uint32_t y = *reinterpret_cast<const uint32_t *>(d_out + at);

    sum += ra_bf16_to_f32((uint16_t)x) * ra_bf16_to_f32((uint16_t)y) +
           ra_bf16_to_f32((uint16_t)(x >> 16)) *
               ra_bf16_to_f32((uint16_t)(y >> 16));
  }
  sum = ra_warp_sum(sum);
  if (lane == 0)
    delta[row] = sum;
  if (lane == 0 && counts)
    counts[row] = 0;
}

template <int HD>
static inline void
ra_start_delta(const uint16_t *out, const uint16_t *d_out, float *delta,
               size_t n_rows, uint32_t *counts, void *stream)
{
  auto kernel = ra_delta_kernel<HD>;
  size_t each = RA_DELTA_THREADS / RA_WARP;

  RA_LAUNCH(kernel, (unsigned)((n_rows + each - 1) / each), RA_DELTA_THREADS, 0,
            stream, out, d_out, delta, n_rows, counts);
}

/* lse in powers of two, and D, of the query at index @at; values that make its
 * probabilities 0 unless the query exists (@is). */
__device__ static inline float2
ra_query_row(const float *lse, const float *delta, size_t at, bool is)
{
  const float log2_e = 1.4426950408889634f;

  return is ? make_float2(lse[at] * log2_e, delta[at])
            : make_float2(INFINITY, 0.0f);
}

#endif
