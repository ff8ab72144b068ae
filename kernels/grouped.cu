/* Grouped GEMMs with counts of rows on the device, and their gradients. */
#include "kernels/grouped.h"
#include "kernels/tile.cuh"

/* A tile of a result, by two warps down and two across of 32 x 64 each. */
#define TILE_M 64
#define TILE_N 128
#define STEP 64 /* terms of a sum */
#define STAGES 3
#define THREADS 128
#define BLOCKS 2 /* of a processor */

enum { N_LEFT = TILE_M * STEP, N_STAGE = (TILE_M + TILE_N) * STEP };
enum { STAGE_BYTES = STAGES * N_STAGE * (int)sizeof(uint16_t) };

/* Which rows and columns a result has, and what its sums go over:
 *
 *     OUTPUT  y (rows, n)        k
 *     INPUT   d_x (rows, k)      n
 *     WEIGHT  d_weight (n, k)    rows
 */
enum Product { OUTPUT, INPUT, WEIGHT };

/* ---- Whose tiles are where ----------------------------------------------- */

/* Shared memory: rows and tiles of the groups before each, (n_groups + 1). */
struct Groups {
  uint32_t *first_row, *first_tile;
};

static __host__ __device__ inline uint32_t
n_tiles(size_t n, uint32_t of)
{
  return (uint32_t)((n + of - 1) / of);
}

/* Tiles across, and those of a group of @count rows. */
template <Product P>
static __host__ __device__ inline uint32_t
n_across(const RaKGroups &g)
{
  return n_tiles(P == OUTPUT ? g.n : g.k, TILE_N);
}

template <Product P>
static __host__ __device__ inline uint32_t
n_of_group(const RaKGroups &g, uint32_t count)
{
  uint32_t down = n_tiles(P == WEIGHT ? g.n : count, TILE_M);

  return count == 0 ? 0 : down * n_across<P>(g);
}

/* The sum of @value over the lanes before this one and, in @out_all, over all.
 */
__device__ static inline uint32_t
sum_before(uint32_t value, uint32_t *out_all)
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
template <Product P>
__device__ static inline void
find_groups(const RaKGroups &g, Groups at)
{
  uint32_t rows = 0, tiles = 0;

  for (uint32_t first = 0; threadIdx.x < RA_WARP && first <= g.n_groups;
       first += RA_WARP) {
    uint32_t i = first + threadIdx.x, of_rows, of_tiles;
    uint32_t count = i < g.n_groups ? g.counts[i] : 0;
    uint32_t row = rows + sum_before(count, &of_rows);
    uint32_t tile = tiles + sum_before(n_of_group<P>(g, count), &of_tiles);

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
group_of(uint32_t n_groups, const uint32_t *first_tile, uint32_t tile)
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

/* Work of a block: factors from where the tile begins. */
struct Place {
  const uint16_t *left, *right;
  size_t left_stride, right_stride, out; /* of the result: its first element */
  int n_rows, n_columns; /* of the tile that are there, or more than it has */
  int n_terms;
};

/* Tiles of a group go down first, so that blocks side by side read the same
 * part of its matrix. */
template <Product P>
__device__ static inline Place
find_place(const RaKGroups &g, Groups at, uint32_t tile, const uint16_t *left,
           const uint16_t *right)
{
  uint32_t group = group_of(g.n_groups, at.first_tile, tile);
  size_t row = at.first_row[group], count = at.first_row[group + 1] - row;
  size_t height = P == WEIGHT ? g.n : count, width = P == OUTPUT ? g.n : g.k;
  uint32_t down = n_tiles(height, TILE_M);
  size_t in_group = tile - at.first_tile[group];
  size_t m = in_group % down * TILE_M, n = in_group / down * TILE_N;
  size_t matrix = group * g.n * g.k;
  Place p;

  p.n_rows = (int)(height - m < TILE_M ? height - m : TILE_M);
  p.n_columns = (int)(width - n < TILE_N ? width - n : TILE_N);
  p.n_terms = (int)(P == OUTPUT ? g.k : P == INPUT ? g.n : count);
  p.left_stride = P == OUTPUT ? g.k : g.n;
  p.right_stride = g.k;
  p.left = left + row * p.left_stride + (P == WEIGHT ? m : m * p.left_stride);
  p.right =
      right + (P == WEIGHT ? row * g.k : matrix) + (P == OUTPUT ? n * g.k : n);
  p.out = (P == WEIGHT ? matrix : row * width) + m * width + n;
  return p;
}

/* ---- Tiles --------------------------------------------------------------- */

/* Begins to copy the factors' terms from 64 @step on. */
template <Product P>
__device__ static inline void
load(const Place &p, int step, uint16_t *memory)
{
  uint16_t *left = memory + step % STAGES * N_STAGE, *right = left + N_LEFT;
  int first = step * STEP, n = p.n_terms - first;

  if (P == WEIGHT)
    ra_tile_load<STEP, TILE_M, THREADS>(left, p.left + first * p.left_stride,
                                        p.left_stride, n, p.n_rows);
  else
    ra_tile_load<TILE_M, STEP, THREADS>(left, p.left + first, p.left_stride,
                                        p.n_rows, n);
  if (P == OUTPUT)
    ra_tile_load<TILE_N, STEP, THREADS>(right, p.right + first, p.right_stride,
                                        p.n_columns, n);
  else
    ra_tile_load<STEP, TILE_N, THREADS>(right, p.right + first * p.right_stride,
                                        p.right_stride, n, p.n_columns);
}

__device__ static inline int
warp_row()
{
  return (int)threadIdx.x / RA_WARP % 2 * 32;
}

__device__ static inline int
warp_column()
{
  return (int)threadIdx.x / RA_WARP / 2 * 64;
}

/* sums += the warp's part of a step of @n terms; what is not there is left out,
 * 16 rows, columns or terms at a time: of few rows a group that is most. */
template <Product P>
__device__ static inline void
multiply(float sums[2][8][4], const uint16_t *left, const Place &p, int n)
{
  const uint16_t *right = left + N_LEFT;

  RA_UNROLL
  for (int step = 0; step < STEP / 16; step++) {
    uint32_t a[2][4];

    if (16 * step >= n || warp_row() >= p.n_rows)
      break;
    RA_UNROLL
    for (int i = 0; i < 2; i++)
      if (P == WEIGHT)
        ra_tile_left_rows<TILE_M>(a[i], left, 16 * step, warp_row() / 16 + i);
      else
        ra_tile_left<STEP>(a[i], left, warp_row() + 16 * i, step);
    RA_UNROLL
    for (int pair = 0; pair < 4; pair++) {
      uint32_t b[4];

      if (warp_column() + 16 * pair >= p.n_columns)
        break;
      if (P == OUTPUT)
        ra_tile_right<STEP>(b, right, warp_column() + 16 * pair, step);
      else
        ra_tile_right_rows<TILE_N>(b, right, 16 * step,
                                   warp_column() / 16 + pair);
      RA_UNROLL
      for (int i = 0; i < 2; i++)
        if (warp_row() + 16 * i < p.n_rows)
          ra_mma_pair(&sums[i][2 * pair], a[i], b);
    }
  }
}

/* Four columns of a row. */
__device__ static inline void
store(uint16_t *out, const float x[4])
{
  *reinterpret_cast<uint2 *>(out) =
      uint2{ra_pack_bf16_fast(x[0], x[1]), ra_pack_bf16_fast(x[2], x[3])};
}

__device__ static inline void
store(float *out, const float x[4])
{
  float4 *at = reinterpret_cast<float4 *>(out), old = *at;

  *at = make_float4(old.x + x[0], old.y + x[1], old.z + x[2], old.w + x[3]);
}

/* A lane has two columns of each eight; neighbours give each other two, so that
 * the even one has four of the first eight, the odd one of the second, and four
 * lanes have 32 bytes of a row at least. */
__device__ static inline void
take_four(float out[4], const float first[2], const float second[2])
{
  bool odd = threadIdx.x % 2;

  RA_UNROLL
  for (int i = 0; i < 2; i++) {
    float other = __shfl_xor_sync(RA_ALL_LANES, odd ? first[i] : second[i], 1);

    out[i] = odd ? other : first[i];
    out[2 + i] = odd ? second[i] : other;
  }
}

template <typename Out>
__device__ static inline void
store_tile(const Place &p, const float sums[2][8][4], Out *out, size_t width)
{
  int lane = (int)threadIdx.x % RA_WARP;

  RA_UNROLL
  for (int i = 0; i < 4; i++) {
    int row = warp_row() + 8 * i + lane / 4, half = i % 2 * 2;

    RA_UNROLL
    for (int j = 0; j < 8; j += 2) {
      int column = warp_column() + 8 * (j + lane % 2) + lane % 4 / 2 * 4;
      float four[4];

      take_four(four, sums[i / 2][j] + half, sums[i / 2][j + 1] + half);
      if (row < p.n_rows && column < p.n_columns)
        store(out + p.out + row * width + column, four);
    }
  }
}

template <Product P, typename Out>
__global__ static void
__launch_bounds__(THREADS, BLOCKS)
    grouped_kernel(RaKGroups g, const uint16_t *__restrict__ left,
                   const uint16_t *__restrict__ right, Out *__restrict__ out)
{
  RA_DYNAMIC(dynamic);
  RA_SHARED(uint32_t, first_row, RA_K_GROUPS + 1);
  RA_SHARED(uint32_t, first_tile, RA_K_GROUPS + 1);
  uint16_t *memory = reinterpret_cast<uint16_t *>(dynamic);
  Groups at = {first_row, first_tile};

  find_groups<P>(g, at);
  for (uint32_t tile = blockIdx.x; tile < first_tile[g.n_groups];
       tile += gridDim.x) {
    Place p = find_place<P>(g, at, tile, left, right);
    int n_steps = (p.n_terms + STEP - 1) / STEP;
    float sums[2][8][4] = {};

    for (int step = 0; step < STAGES - 1; step++) {
      if (step < n_steps)
        load<P>(p, step, memory);
      ra_copy_commit(); /* maybe of nothing: the wait counts groups */
    }
    for (int step = 0; step < n_steps; step++) {
      ra_copy_wait<STAGES - 2>();
      __syncthreads(); /* all have what they wait for, and are done with the
                          step before, where the next is copied to */
      if (step + STAGES - 1 < n_steps)
        load<P>(p, step + STAGES - 1, memory);
      ra_copy_commit();
      multiply<P>(sums, memory + step % STAGES * N_STAGE, p,
                  p.n_terms - step * STEP);
    }
    ra_copy_wait<0>();
    __syncthreads();
    store_tile(p, sums, out, P == OUTPUT ? g.n : g.k);
  }
}

/* ---- Calls --------------------------------------------------------------- */

/* No more tiles than these: of each group but the last row of tiles is full.
 * They and their numbers are below 2^31. */
template <Product P>
static uint64_t
most_tiles(const RaKGroups &g)
{
  uint64_t n = g.n_rows < g.n_groups ? g.n_rows : g.n_groups;

  return P == WEIGHT ? n * n_of_group<P>(g, 1)
                     : (n + g.n_rows / TILE_M) * n_across<P>(g);
}

template <Product P, typename Out>
static int
launch(const RaKGroups *g, const uint16_t *left, const uint16_t *right,
       Out *out, void *stream)
{
  auto kernel = grouped_kernel<P, Out>;
  uint64_t n_blocks = (uint64_t)BLOCKS * g->n_processors, n;
  cudaError_t code;

  if (g->n_groups > RA_K_GROUPS || g->n_rows > UINT32_MAX ||
      g->n_processors == 0 || g->n % 8 != 0 || g->k % 8 != 0 || g->n == 0 ||
      g->k == 0 || g->n > INT32_MAX || g->k > INT32_MAX ||
      !ra_is_aligned(left) || !ra_is_aligned(right) || !ra_is_aligned(out))
    return cudaErrorInvalidValue;
  n = most_tiles<P>(*g);
  if (n > INT32_MAX)
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  code = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGE_BYTES);
  if (code != cudaSuccess)
    return (int)code;
  RA_LAUNCH(kernel, (unsigned)(n < n_blocks ? n : n_blocks), THREADS,
            STAGE_BYTES, stream, *g, left, right, out);
  return cudaGetLastError();
}

extern "C" int
ra_k_grouped(const RaKGroups *groups, const uint16_t *x, const uint16_t *weight,
             uint16_t *y, void *stream)
{
  return launch<OUTPUT>(groups, x, weight, y, stream);
}

extern "C" int
ra_k_grouped_input(const RaKGroups *groups, const uint16_t *d_y,
                   const uint16_t *weight, uint16_t *d_x, void *stream)
{
  return launch<INPUT>(groups, d_y, weight, d_x, stream);
}

extern "C" int
ra_k_grouped_weight(const RaKGroups *groups, const uint16_t *d_y,
                    const uint16_t *x, float *d_weight, void *stream)
{
  return launch<WEIGHT>(groups, d_y, x, d_weight, stream);
}
