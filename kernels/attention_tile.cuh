/* Operations on the results of tile multiplications (kernels/tile.cuh), for
 * attention's forward, backward and decode. */
#ifndef RA_KERNELS_ATTENTION_TILE_CUH
#define RA_KERNELS_ATTENTION_TILE_CUH

#include "kernels/tile.cuh"

/* Columns 16 @pair to + 15 of a result @d, as a left factor. */
__device__ static inline void
ra_left_of(uint32_t out[4], const float d[][4], int pair)
{
  const float *low = d[2 * pair], *high = d[2 * pair + 1];

  out[0] = ra_pack_bf16_fast(low[0], low[1]);
  out[1] = ra_pack_bf16_fast(low[2], low[3]);
  out[2] = ra_pack_bf16_fast(high[0], high[1]);
  out[3] = ra_pack_bf16_fast(high[2], high[3]);
}

/* The same for all COLS columns. */
template <int COLS>
__device__ static inline void
ra_left_of_all(uint32_t out[COLS / 16][4], const float d[COLS / 8][4])
{
  RA_UNROLL
  for (int step = 0; step < COLS / 16; step++)
    ra_left_of(out[step], d, step);
}

/* sums += d (16 rows of the warp, COLS columns) x COLS rows of @tile. */
template <int HD, int COLS>
__device__ static inline void
ra_add_product(float sums[HD / 8][4], const float d[COLS / 8][4],
               const uint16_t *tile)
{
  RA_UNROLL
  for (int step = 0; step < COLS / 16; step++) {
    uint32_t left[4];

    ra_left_of(left, d, step);
    RA_UNROLL
    for (int pair = 0; pair < HD / 16; pair++) {
      uint32_t right[4];

      ra_tile_right_rows<HD>(right, tile, 16 * step, pair);
      ra_mma_pair(&sums[2 * pair], left, right);
    }
  }
}

/* Sum over the four lanes that share a row of a result. */
__device__ static inline float
ra_quad_sum(float value)
{
  value += __shfl_xor_sync(RA_ALL_LANES, value, 1);
  return value + __shfl_xor_sync(RA_ALL_LANES, value, 2);
}

__device__ static inline float
ra_quad_max(float value)
{
  value = fmaxf(value, __shfl_xor_sync(RA_ALL_LANES, value, 1));
  return fmaxf(value, __shfl_xor_sync(RA_ALL_LANES, value, 2));
}

/* Stores rows @row and @row + 8 of a result in bf16, if they are below @n,
 * times
 * @scale_low and @scale_high. */
template <int HD>
__device__ static inline void
ra_store_rows(uint16_t *out, size_t stride, const float d[][4], int row, int n,
              float scale_low, float scale_high)
{
  int column = 2 * ((int)threadIdx.x % 4);

  RA_UNROLL
  for (int j = 0; j < HD / 8; j++) {
    if (row < n)
      *reinterpret_cast<uint32_t *>(out + row * stride + 8 * j + column) =
          ra_pack_bf16_fast(d[j][0] * scale_low, d[j][1] * scale_low);
    if (row + 8 < n)
      *reinterpret_cast<uint32_t *>(out + (row + 8) * stride + 8 * j + column) =
          ra_pack_bf16_fast(d[j][2] * scale_high, d[j][3] * scale_high);
  }
}

/* Stores rows @row and @row + 8 of a tile, if they are below @n, and their lse.
 * The first row of the tile is row @first of (tokens, q_heads).  @d: sums with
 * weights that are powers of two relative to @most; @part: the sum of these
 * weights over the columns of a lane. */
template <int HD>
__device__ static inline void
ra_store_attended(uint16_t *out, float *out_lse, uint32_t q_heads, size_t first,
                  int n, int row, const float d[][4], const float most[2],
                  const float part[2])
{
  const float ln_2 = 0.6931471805599453f;
  float sum[2] = {ra_quad_sum(part[0]), ra_quad_sum(part[1])};

  /* a sum of 0: of no column, and neither is there anything to weigh */
  ra_store_rows<HD>(out + first * HD, (size_t)q_heads * HD, d, row, n,
                    sum[0] == 0.0f ? 0.0f : 1.0f / sum[0],
                    sum[1] == 0.0f ? 0.0f : 1.0f / sum[1]);
  for (int half = 0; half < 2; half++)
    if (threadIdx.x % 4 == 0 && row + 8 * half < n)
      out_lse[first + (size_t)(row + 8 * half) * q_heads] =
          (most[half] + log2f(sum[half])) * ln_2;
}

#endif
