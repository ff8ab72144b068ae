/* Grouped GEMMs with counts of rows on the device, and their gradients, for any
 * device with bf16. */
#include "kernels/grouped_tile.cuh"
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

/* Work of a block: factors from where the tile begins. */
struct Place {
  const uint16_t *left, *right;
  size_t left_stride, right_stride, out; /* of the result: its first element */
  int n_rows, n_columns; /* of the tile that are there, or more than it has */
  int n_terms;
};

template <RaKProduct P>
__device__ static inline Place
find_place(const RaKGroups &g, RaGroups at, uint32_t tile, const uint16_t *left,
           const uint16_t *right)
{
  RaGroupTile t = ra_group_tile<P, TILE_M, TILE_N>(g, at, tile);
  size_t height = ra_group_height<P>(g, t.count);
  size_t width = ra_group_width<P>(g), matrix = t.group * g.n * g.k;
  Place p;

  p.n_rows = (int)(height - t.m < TILE_M ? height - t.m : TILE_M);
  p.n_columns = (int)(width - t.n < TILE_N ? width - t.n : TILE_N);
  p.n_terms = (int)ra_group_terms<P>(g, t.count);
  p.left_stride = P == RA_K_OUTPUT ? g.k : g.n;
  p.right_stride = g.k;
  p.left = left + t.row * p.left_stride +
           (P == RA_K_WEIGHT ? t.m : t.m * p.left_stride);
  p.right = right + (P == RA_K_WEIGHT ? t.row * g.k : matrix) +
            (P == RA_K_OUTPUT ? t.n * g.k : t.n);
  p.out = ra_group_out<P>(g, t);
  return p;
}

/* ---- Tiles --------------------------------------------------------------- */

/* Begins to copy the factors' terms from 64 @step on. */
template <RaKProduct P>
__device__ static inline void
load(const Place &p, int step, uint16_t *memory)
{
  uint16_t *left = memory + step % STAGES * N_STAGE, *right = left + N_LEFT;
  int first = step * STEP, n = p.n_terms - first;

  if (P == RA_K_WEIGHT)
    ra_tile_load<STEP, TILE_M, THREADS>(left, p.left + first * p.left_stride,
                                        p.left_stride, n, p.n_rows);
  else
    ra_tile_load<TILE_M, STEP, THREADS>(left, p.left + first, p.left_stride,
                                        p.n_rows, n);
  if (P == RA_K_OUTPUT)
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
template <RaKProduct P>
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
      if (P == RA_K_WEIGHT)
        ra_tile_left_rows<TILE_M>(a[i], left, 16 * step, warp_row() / 16 + i);
      else
        ra_tile_left<STEP>(a[i], left, warp_row() + 16 * i, step);
    RA_UNROLL
    for (int pair = 0; pair < 4; pair++) {
      uint32_t b[4];

      if (warp_column() + 16 * pair >= p.n_columns)
        break;
      if (P == RA_K_OUTPUT)
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
  ra_store_whole(
      reinterpret_cast<uint2 *>(out),
      uint2{ra_pack_bf16_fast(x[0], x[1]), ra_pack_bf16_fast(x[2], x[3])});
}

__device__ static inline void
store(float *out, const float x[4])
{
  float4 *at = reinterpret_cast<float4 *>(out), old = *at;

  *at = make_float4(old.x + x[0], old.y + x[1], old.z + x[2], old.w + x[3]);
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

      ra_take_four(four, sums[i / 2][j] + half, sums[i / 2][j + 1] + half);
      if (row < p.n_rows && column < p.n_columns)
        store(out + p.out + row * width + column, four);
    }
  }
}

template <RaKProduct P, typename Out>
__global__ static void
__launch_bounds__(THREADS, BLOCKS)
    grouped_kernel(RaKGroups g, const uint16_t *__restrict__ left,
                   const uint16_t *__restrict__ right, Out *__restrict__ out)
{
  RA_DYNAMIC(dynamic);
  RA_SHARED(uint32_t, first_row, RA_K_GROUPS + 1);
  RA_SHARED(uint32_t, first_tile, RA_K_GROUPS + 1);
  uint16_t *memory = reinterpret_cast<uint16_t *>(dynamic);
  RaGroups at = {first_row, first_tile};

  ra_groups_find<P, TILE_M, TILE_N>(g, at);
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
    store_tile(p, sums, out, ra_group_width<P>(g));
  }
}

/* ---- Calls --------------------------------------------------------------- */

struct Mma {
  template <RaKProduct P, typename Out>
  static int
  launch(const RaKGroups &g, const uint16_t *left, const uint16_t *right,
         Out *out, void *stream)
  {
    auto kernel = grouped_kernel<P, Out>;
    uint64_t n_blocks = (uint64_t)BLOCKS * g.n_processors;
    uint32_t n;
    int code = ra_groups_begin<P, TILE_M, TILE_N>(g, left, right, out, &n);

    if (code != cudaSuccess || n == 0)
      return code;
    code = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGE_BYTES);
    if (code != cudaSuccess)
      return code;
    RA_LAUNCH(kernel, (unsigned)(n < n_blocks ? n : n_blocks), THREADS,
              STAGE_BYTES, stream, g, left, right, out);
    return cudaGetLastError();
  }
};

extern "C" int
ra_k_grouped_mma(RaKProduct product, const RaKGroups *groups,
                 const uint16_t *left, const uint16_t *right, void *out,
                 void *stream)
{
  return ra_groups_launch<Mma>(product, groups, left, right, out, stream);
}

/* The variant for the device. */
static int
multiply_groups(RaKProduct product, const RaKGroups *groups,
                const uint16_t *left, const uint16_t *right, void *out,
                void *stream)
{
  int code = ra_k_grouped_wgmma(product, groups, left, right, out, stream);

  return code == cudaErrorNotSupported
             ? ra_k_grouped_mma(product, groups, left, right, out, stream)
             : code;
}

extern "C" int
ra_k_grouped(const RaKGroups *groups, const uint16_t *x, const uint16_t *weight,
             uint16_t *y, void *stream)
{
  return multiply_groups(RA_K_OUTPUT, groups, x, weight, y, stream);
}

extern "C" int
ra_k_grouped_input(const RaKGroups *groups, const uint16_t *d_y,
                   const uint16_t *weight, uint16_t *d_x, void *stream)
{
  return multiply_groups(RA_K_INPUT, groups, d_y, weight, d_x, stream);
}

extern "C" int
ra_k_grouped_weight(const RaKGroups *groups, const uint16_t *d_y,
                    const uint16_t *x, float *d_weight, void *stream)
{
  return multiply_groups(RA_K_WEIGHT, groups, d_y, x, d_weight, stream);
}
