/* Copies of intervals, and the transpose. */
#include "kernels/device.cuh"
#include "kernels/intervals.h"

#define THREADS 256
#define MOST_BLOCKS 4096

extern "C" uint64_t
ra_k_intervals_number(size_t n, RaKInterval *intervals)
{
  uint64_t n_pieces = 0;

  for (size_t i = 0; i < n; i++) {
    intervals[i].piece = n_pieces;
    n_pieces +=
        (intervals[i].n * intervals[i].n_rows + RA_K_PIECE - 1) / RA_K_PIECE;
  }
  return n_pieces;
}

/* The interval that @piece is of: the last that begins at it or before. */
__device__ static inline size_t
interval_of(size_t n, const RaKInterval *intervals, uint64_t piece)
{
  size_t low = 0, high = n; /* low's piece <= piece < high's */

  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;

    if (intervals[middle].piece <= piece)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Of unit @i.  A division of 64 bits takes as long as the copy. */
__device__ static inline uint64_t
row_of(uint64_t i, const RaKInterval &it)
{
  if (it.n_rows == 1)
    return 0;
  if (it.n * it.n_rows <= 0xffffffffu)
    return (uint32_t)i / (uint32_t)it.n;
  return i / it.n;
}

__global__ static void
__launch_bounds__(THREADS)
    copy_kernel(size_t n, const RaKInterval *__restrict__ intervals,
                uint64_t n_pieces, const uint4 *__restrict__ from,
                uint4 *__restrict__ to)
{
  for (uint64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    RaKInterval it = intervals[interval_of(n, intervals, piece)];
    uint64_t first = (piece - it.piece) * RA_K_PIECE, all = it.n * it.n_rows;
    uint64_t end = first + RA_K_PIECE < all ? first + RA_K_PIECE : all;

    for (uint64_t i = first + threadIdx.x; i < end; i += THREADS) {
      uint64_t row = row_of(i, it), col = i - row * it.n;

      to[it.to + row * it.to_pitch + col] =
          from[it.from + row * it.from_pitch + col];
    }
  }
}

extern "C" int
ra_k_copy_intervals(size_t n, const RaKInterval *intervals, uint64_t n_pieces,
                    const void *from, void *to, void *stream)
{
  auto kernel = copy_kernel;

  if (!ra_is_aligned(from) || !ra_is_aligned(to))
    return cudaErrorInvalidValue;
  if (n_pieces == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, (unsigned)(n_pieces < MOST_BLOCKS ? n_pieces : MOST_BLOCKS),
            THREADS, 0, stream, n, intervals, n_pieces,
            static_cast<const uint4 *>(from), static_cast<uint4 *>(to));
  return cudaGetLastError();
}

#define TILE 64

/* Where vector @c (of eight columns) of row @r of a tile lies: shifted within
 * the row by the eight rows that r is one of, so that the same column of eight
 * such groups is in different banks. */
__device__ static inline int
tile_at(int r, int c)
{
  return r * (TILE / 8) + (c ^ r / 8);
}

/* A tile of 64 x 64 through shared memory: 128 bytes of a row or a column in
 * eight lanes' vectors, in and out. */
__global__ static void
__launch_bounds__(THREADS) transpose_kernel(size_t n_rows, size_t n_cols,
                                            const uint16_t *__restrict__ in,
                                            uint16_t *__restrict__ out)
{
  RA_SHARED(uint4, tile, TILE * TILE / 8);
  const uint16_t *columns = reinterpret_cast<const uint16_t *>(tile);
  size_t row = (size_t)blockIdx.x * TILE, col = (size_t)blockIdx.y * TILE;

  for (int i = (int)threadIdx.x; i < TILE * TILE / 8; i += THREADS) {
    int r = i / (TILE / 8), c = i % (TILE / 8);

    if (row + r < n_rows && col + 8 * c < n_cols)
      tile[tile_at(r, c)] = *reinterpret_cast<const uint4 *>(
          in + (row + r) * n_cols + col + 8 * c);
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < TILE * TILE / 8; i += THREADS) {
    int c = i / (TILE / 8), r = i % (TILE / 8) * 8; /* eight rows of column c */
    RaVector v;

    if (row + r >= n_rows || col + c >= n_cols)
      continue;
    RA_UNROLL
    for (int e = 0; e < 8; e++)
      v.bf16[e] = columns[8 * tile_at(r + e, c / 8) + c % 8];
    *reinterpret_cast<uint4 *>(out + (col + c) * n_rows + row + r) = v.raw;
  }
}

extern "C" int
ra_k_transpose(size_t n_rows, size_t n_cols, const uint16_t *in, uint16_t *out,
               void *stream)
{
  auto kernel = transpose_kernel;
  size_t n_x = (n_rows + TILE - 1) / TILE, n_y = (n_cols + TILE - 1) / TILE;

  if (n_rows % 8 != 0 || n_cols % 8 != 0 || n_x > 0x7fffffff || n_y > 65535 ||
      !ra_is_aligned(in) || !ra_is_aligned(out))
    return cudaErrorInvalidValue;
  if (n_rows == 0 || n_cols == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, dim3((unsigned)n_x, (unsigned)n_y), THREADS, 0, stream,
            n_rows, n_cols, in, out);
  return cudaGetLastError();
}
