/* Tiles of bf16 in shared memory, and the loads of their parts for the tensor
 * cores, for attention and grouped GEMMs.
 *
 * A tile has rows of HD elements, HD / 8 chunks of 16 bytes.  Chunk c of row r
 * is at c ^ (r mod 8), so that the eight rows of a matrix that ldmatrix reads
 * are in eight different groups of four banks.
 */
#ifndef RA_KERNELS_TILE_CUH
#define RA_KERNELS_TILE_CUH

#include "kernels/device.cuh"

template <int HD>
__device__ static inline uint16_t *
ra_tile_at(uint16_t *tile, int row, int chunk)
{
  return tile + row * HD + ((chunk ^ (row & 7)) * 8);
}

template <int HD>
__device__ static inline const uint16_t *
ra_tile_at(const uint16_t *tile, int row, int chunk)
{
  return tile + row * HD + ((chunk ^ (row & 7)) * 8);
}

/* Starts to copy ROWS rows, @stride elements apart, with THREADS threads; rows
 * from @n on and elements from @n_columns on, a multiple of 8, are zeroes. */
template <int ROWS, int HD, int THREADS>
__device__ static inline void
ra_tile_load(uint16_t *tile, const uint16_t *from, size_t stride, int n,
             int n_columns = HD)
{
  enum { CHUNKS = HD / 8 };

  RA_UNROLL
  for (int i = 0; i < ROWS * CHUNKS / THREADS; i++) {
    int at = i * THREADS + (int)threadIdx.x;
    int row = at / CHUNKS, chunk = at % CHUNKS;
    bool is_there = row < n && chunk * 8 < n_columns;

    ra_copy_async(ra_tile_at<HD>(tile, row, chunk),
                  from + (is_there ? row * stride + chunk * 8 : 0), is_there);
  }
}

/* The left factor: rows @row to + 15, elements 16 @step to + 15. */
template <int HD>
__device__ static inline void
ra_tile_left(uint32_t out[4], const uint16_t *tile, int row, int step)
{
  int lane = (int)threadIdx.x % RA_WARP, matrix = lane / 8;

  ra_load_matrices<false>(out, ra_tile_at<HD>(tile,
                                              row + lane % 8 + 8 * (matrix % 2),
                                              2 * step + matrix / 2));
}

/* The left factor with the sum over rows @row to + 15 of the tile: its rows are
 * their elements 16 @pair to + 15. */
template <int HD>
__device__ static inline void
ra_tile_left_rows(uint32_t out[4], const uint16_t *tile, int row, int pair)
{
  int lane = (int)threadIdx.x % RA_WARP, matrix = lane / 8;

  ra_load_matrices<true>(out,
                         ra_tile_at<HD>(tile, row + lane % 8 + 8 * (matrix / 2),
                                        2 * pair + matrix % 2));
}

/* The right factor of rows x transpose: columns are rows @row to + 15 of the
 * tile, the sum is over elements 16 @step to + 15.  out[0..1]: the first eight
 * columns, out[2..3]: the others. */
template <int HD>
__device__ static inline void
ra_tile_right(uint32_t out[4], const uint16_t *tile, int row, int step)
{
  int lane = (int)threadIdx.x % RA_WARP, matrix = lane / 8;

  ra_load_matrices<false>(out, ra_tile_at<HD>(tile,
                                              row + lane % 8 + 8 * (matrix / 2),
                                              2 * step + matrix % 2));
}

/* The right factor with the sum over rows @row to + 15 of the tile: columns are
 * its elements 16 @pair to + 15. */
template <int HD>
__device__ static inline void
ra_tile_right_rows(uint32_t out[4], const uint16_t *tile, int row, int pair)
{
  int lane = (int)threadIdx.x % RA_WARP, matrix = lane / 8;

  ra_load_matrices<true>(out,
                         ra_tile_at<HD>(tile, row + lane % 8 + 8 * (matrix % 2),
                                        2 * pair + matrix / 2));
}

/* Adds to d[2 p] and d[2 p + 1] the left factor times the two halves of the
 * right factor. */
__device__ static inline void
ra_mma_pair(float d[][4], const uint32_t left[4], const uint32_t right[4])
{
  ra_mma(d[0], left, right[0], right[1]);
  ra_mma(d[1], left, right[2], right[3]);
}

#endif
