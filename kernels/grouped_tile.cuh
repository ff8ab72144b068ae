/* Tiles of grouped GEMMs, for both variants: which group has them, and stores
 * of their results. */
#ifndef RA_KERNELS_GROUPED_TILE_CUH
#define RA_KERNELS_GROUPED_TILE_CUH

#include "kernels/device.cuh"
#include "kernels/grouped.h"

/* ---- Tiles of groups ----------------------------------------------------- */

/* Shared memory: rows and tiles of the groups before each, (n_groups + 1). */
struct RaGroups {
  uint32_t *first_row, *first_tile;
};

/* A tile: its group, that group's rows, and the first row and column of the
 * group's result. */
struct RaGroupTile {
  uint32_t group;
  size_t row, count, m, n;
};

/* Columns of a result, and terms of its sums.  @count: rows of the group. */
template <RaKProduct P>
static __host__ __device__ inline size_t
ra_group_width(const RaKGroups &g)
{
  return P == RA_K_OUTPUT ? g.n : g.k;
}

template <RaKProduct P>
static __host__ __device__ inline size_t
ra_group_height(const RaKGroups &g, size_t count)
{
  return P == RA_K_WEIGHT ? g.n : count;
}

template <RaKProduct P>
static __host__ __device__ inline size_t
ra_group_terms(const RaKGroups &g, size_t count)
{
  return P == RA_K_OUTPUT ? g.k : P == RA_K_INPUT ? g.n : count;
}

static __host__ __device__ inline uint32_t
ra_n_tiles(size_t n, uint32_t of)
{
  return (uint32_t)((n + of - 1) / of);
}

/* Tiles of M x N of a group of @count rows. */
template <RaKProduct P, int M, int N>
static __host__ __device__ inline uint32_t
ra_group_tiles(const RaKGroups &g, uint32_t count)
{
  return count == 0 ? 0
                    : ra_n_tiles(ra_group_height<P>(g, count), M) *
                          ra_n_tiles(ra_group_width<P>(g), N);
}

/* The sum of @value over the lanes before this one and, in @out_all, over all.
 */
__device__ static inline uint32_t
ra_sum_before(uint32_t value, uint32_t *out_all)
{
  uint32_t lane = threadIdx.x % RA_WARP, sum = value;

  for (uint32_t d = 1; d < RA_WARP; d *= 2) {
    uint32_t other = __shfl_up_sync(RA_ALL_LANES, sum, d);

    sum += lane >= d ? other : 0;
  }
  *out_all = __shfl_sync(RA_ALL_LANES, sum, RA_WARP - 1);
  return sum - value;
}

/* By the first warp, 32 groups at a time. */
template <RaKProduct P, int M, int N>
__device__ static inline void
ra_groups_find(const RaKGroups &g, RaGroups at)
{
  uint32_t rows = 0, tiles = 0;

  for (uint32_t first = 0; threadIdx.x < RA_WARP && first <= g.n_groups;
       first += RA_WARP) {
    uint32_t i = first + threadIdx.x, of_rows, of_tiles;
    uint32_t count = i < g.n_groups ? g.counts[i] : 0;
    uint32_t row = rows + ra_sum_before(count, &of_rows);
    uint32_t tile =
        tiles + ra_sum_before(ra_group_tiles<P, M, N>(g, count), &of_tiles);

    if (i <= g.n_groups) {
      at.first_row[i] = row;
      at.first_tile[i] = tile;
    }
    rows += of_rows;
    tiles += of_tiles;
  }
  __syncthreads();
}

/* The group that has tile @tile, which is one of all: the last that begins no
 * later. */
__device__ static inline uint32_t
ra_group_of(uint32_t n_groups, const uint32_t *first_tile, uint32_t tile)
{
  uint32_t low = 0, high = n_groups;

  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;

    if (first_tile[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Tiles of a group go down first, so that blocks side by side read the same
 * part of its matrix. */
template <RaKProduct P, int M, int N>
__device__ static inline RaGroupTile
ra_group_tile(const RaKGroups &g, RaGroups at, uint32_t tile)
{
  RaGroupTile t;
  uint32_t down, in_group;

  t.group = ra_group_of(g.n_groups, at.first_tile, tile);
  t.row = at.first_row[t.group];
  t.count = at.first_row[t.group + 1] - t.row;
  down = ra_n_tiles(ra_group_height<P>(g, t.count), M);
  in_group = tile - at.first_tile[t.group];
  t.m = (size_t)(in_group % down) * M;
  t.n = (size_t)(in_group / down) * N;
  return t;
}

/* First element of a tile in the result of all groups. */
template <RaKProduct P>
__device__ static inline size_t
ra_group_out(const RaKGroups &g, const RaGroupTile &t)
{
  size_t width = ra_group_width<P>(g);

  return (P == RA_K_WEIGHT ? t.group * g.n * g.k : t.row * width) +
         t.m * width + t.n;
}

/* ---- Results ------------------------------------------------------------- */

/* A lane has two columns of each eight; neighbours give each other two, so that
 * the even one has four of the first eight, the odd one of the second, and four
 * lanes have 32 bytes of a row at least. */
__device__ static inline void
ra_take_four(float out[4], const float first[2], const float second[2])
{
  bool odd = threadIdx.x % 2;

  RA_UNROLL
  for (int i = 0; i < 2; i++) {
    float other = __shfl_xor_sync(RA_ALL_LANES, odd ? first[i] : second[i], 1);

    out[i] = odd ? other : first[i];
    out[2 + i] = odd ? second[i] : other;
  }
}

/* ---- Calls --------------------------------------------------------------- */

/* No more tiles than these: of each group but the last row of tiles is full.
 * They and their numbers are below 2^31. */
template <RaKProduct P, int M, int N>
static inline uint64_t
ra_group_most_tiles(const RaKGroups &g)
{
  uint64_t n = g.n_rows < g.n_groups ? g.n_rows : g.n_groups;

  return P == RA_K_WEIGHT
             ? n * ra_group_tiles<P, M, N>(g, 1)
             : (n + g.n_rows / M) * ra_n_tiles(ra_group_width<P>(g), N);
}

/* TRUE if the kernels take these groups and arrays. */
static inline bool
ra_groups_are_ok(const RaKGroups &g, const void *left, const void *right,
                 const void *out)
{
  return g.n_groups <= RA_K_GROUPS && g.n_rows <= INT32_MAX &&
         g.n_processors > 0 && g.n % 8 == 0 && g.k % 8 == 0 && g.n > 0 &&
         g.k > 0 && g.n <= INT32_MAX && g.k <= INT32_MAX &&
         ra_is_aligned(left) && ra_is_aligned(right) && ra_is_aligned(out);
}

/* *@out_n: most tiles of a call; 0: there is nothing to do. */
template <RaKProduct P, int M, int N>
static inline int
ra_groups_begin(const RaKGroups &g, const void *left, const void *right,
                const void *out, uint32_t *out_n)
{
  uint64_t n;

  if (!ra_groups_are_ok(g, left, right, out))
    return cudaErrorInvalidValue;
  n = ra_group_most_tiles<P, M, N>(g);
  *out_n = (uint32_t)n;
  return n > INT32_MAX ? cudaErrorInvalidValue : cudaSuccess;
}

/* Calls Variant::launch<P, Out>() of @product. */
template <typename Variant>
static inline int
ra_groups_launch(RaKProduct product, const RaKGroups *groups,
                 const uint16_t *left, const uint16_t *right, void *out,
                 void *stream)
{
  if (product == RA_K_WEIGHT)
    return Variant::template launch<RA_K_WEIGHT>(
        *groups, left, right, static_cast<float *>(out), stream);
  uint16_t *bf16 = static_cast<uint16_t *>(out);

  return product == RA_K_OUTPUT
             ? Variant::template launch<RA_K_OUTPUT>(*groups, left, right, bf16,
                                                     stream)
             : Variant::template launch<RA_K_INPUT>(*groups, left, right, bf16,
                                                    stream);
}

#endif
