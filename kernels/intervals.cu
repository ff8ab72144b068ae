/* Copies of intervals. */
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

/* Row of unit @i. A division of 64 bits takes as long as the copy. */
__device__ static inline uint64_t
row_of(uint64_t i, const RaKInterval &it)
{
  if (it.n_rows == 1)
    return 0;
  if (it.n * it.n_rows <= 0xffffffffu)
    return (uint32_t)i / (uint32_t)it.n;
  return i / it.n;
}

/* A block copies a run of pieces, so that it searches once: the next piece is
 * of this interval or of the next that is not empty.  All that is read again
 * for each piece leaves 32 registers, with which 8 blocks fit. */
__global__ static void
__launch_bounds__(THREADS)
    copy_kernel(size_t n, const RaKInterval *__restrict__ intervals,
                uint64_t n_pieces, const uint4 *__restrict__ from,
                uint4 *__restrict__ to)
{
  uint32_t piece = (uint32_t)(n_pieces * blockIdx.x / gridDim.x);
  uint32_t last = (uint32_t)(n_pieces * (blockIdx.x + 1) / gridDim.x);
  size_t at = interval_of(n, intervals, piece);

  for (; piece < last; piece++) {
    RaKInterval it;
    uint64_t first, end;

    while (at + 1 < n && intervals[at + 1].piece <= piece)
      at++;
    it = intervals[at];
    first = (piece - it.piece) * RA_K_PIECE;
    end = it.n * it.n_rows;
    end = first + RA_K_PIECE < end ? first + RA_K_PIECE : end;
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

  if (!ra_is_aligned(from) || !ra_is_aligned(to) || n_pieces > 0xffffffffu)
    return cudaErrorInvalidValue;
  if (n_pieces == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, (unsigned)(n_pieces < MOST_BLOCKS ? n_pieces : MOST_BLOCKS),
            THREADS, 0, stream, n, intervals, n_pieces,
            static_cast<const uint4 *>(from), static_cast<uint4 *>(to));
  return cudaGetLastError();
}
