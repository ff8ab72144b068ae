/* GEMMs of few rows. */
#include "kernels/device.cuh"
#include "kernels/few_rows.h"

#define WARPS 8
#define THREADS (WARPS * RA_WARP)
#define TILE 16  /* columns of y that one mma has */
#define CHUNK 32 /* terms that the lanes of a row load at a time, 8 each */
#define ROWS RA_K_FEW_ROWS
#define STEP (TILE + 1) /* floats of a sum's rows in shared memory */

struct Arrays {
  const uint16_t *x, *weight, *bias;
  void *y;
};

/* A lane's part of a chunk.  The terms of a sum may have any order that both
 * factors share: lane t of the four that hold a row takes 8 t to 8 t + 7, and
 * gives them to two mma of 16 terms, four to each. */
template <int TILES> struct Chunk {
  uint4 weight[TILES][2]; /* rows g and g + 8 of each tile */
  uint4 x[2];             /* rows g and g + 8 */
};

__device__ static inline uint4
load(const uint16_t *row, size_t at, bool is_there)
{
  return is_there ? *reinterpret_cast<const uint4 *>(row + at)
                  : make_uint4(0, 0, 0, 0);
}

template <int TILES>
__device__ static inline void
load_chunk(Chunk<TILES> &c, const RaKFewRows &s, const Arrays &a, size_t column,
           size_t at)
{
  size_t g = threadIdx.x % RA_WARP / 4;
  bool is_in = at < s.k;

  RA_UNROLL
  for (int i = 0; i < TILES; i++)
    RA_UNROLL
  for (int half = 0; half < 2; half++) {
    size_t row = column + TILE * i + 8 * half + g;

    c.weight[i][half] =
        load(a.weight + row * s.stride_weight, at, is_in && row < s.n);
  }
  RA_UNROLL
  for (int half = 0; half < 2; half++) {
    size_t row = 8 * half + g;

    c.x[half] = load(a.x + row * s.stride_x, at, is_in && row < s.m);
  }
}

/* sums[i][half]: columns of tile i by rows 8 half to 8 half + 7. */
template <int TILES>
__device__ static inline void
add_chunk(float sums[TILES][2][4], const Chunk<TILES> &c)
{
  RA_UNROLL
  for (int i = 0; i < TILES; i++) {
    const uint4 &low = c.weight[i][0], &high = c.weight[i][1];
    const uint32_t first[4] = {low.x, high.x, low.y, high.y};
    const uint32_t second[4] = {low.z, high.z, low.w, high.w};

    RA_UNROLL
    for (int half = 0; half < 2; half++) {
      ra_mma(sums[i][half], first, c.x[half].x, c.x[half].y);
      ra_mma(sums[i][half], second, c.x[half].z, c.x[half].w);
    }
  }
}

/* AHEAD chunks, one behind the other, are on their way at a time. */
template <int TILES, int AHEAD>
__device__ static inline void
add_terms(float sums[TILES][2][4], const RaKFewRows &s, const Arrays &a,
          size_t column)
{
  size_t warp = threadIdx.x / RA_WARP, lane = threadIdx.x % 4;

  for (size_t at = warp * AHEAD * CHUNK; at < s.k;
       at += (size_t)WARPS * AHEAD * CHUNK) {
    Chunk<TILES> chunks[AHEAD];

    RA_UNROLL
    for (int i = 0; i < AHEAD; i++)
      load_chunk<TILES>(chunks[i], s, a, column, at + i * CHUNK + 8 * lane);
    RA_UNROLL
    for (int i = 0; i < AHEAD; i++)
      add_chunk<TILES>(sums, chunks[i]);
  }
}

/* Element @at of y, of column @column. */
__device__ static inline void
store(const RaKFewRows &s, const Arrays &a, size_t at, size_t column, float sum)
{
  uint16_t *narrow = static_cast<uint16_t *>(a.y);
  float *wide = static_cast<float *>(a.y);

  if (a.bias)
    sum += ra_bf16_to_f32(a.bias[column]);
  if (s.adds)
    sum += s.f32 ? wide[at] : ra_bf16_to_f32(narrow[at]);
  if (s.f32)
    wide[at] = sum;
  else
    narrow[at] = ra_bf16_from_f32(sum);
}

template <int TILES, int AHEAD>
__global__ static void
__launch_bounds__(THREADS) few_rows_kernel(RaKFewRows s, Arrays a)
{
  RA_SHARED(float, parts, WARPS *TILES *ROWS *STEP);
  size_t column = (size_t)blockIdx.x * TILES * TILE;
  int warp = (int)threadIdx.x / RA_WARP, lane = (int)threadIdx.x % RA_WARP;
  float sums[TILES][2][4] = {};

  add_terms<TILES, AHEAD>(sums, s, a, column);
  RA_UNROLL
  for (int i = 0; i < TILES; i++)
    RA_UNROLL
  for (int half = 0; half < 2; half++)
    RA_UNROLL
  for (int e = 0; e < 4; e++) {
    int row = 8 * half + 2 * (lane % 4) + e % 2;

    parts[((warp * TILES + i) * ROWS + row) * STEP + lane / 4 + 8 * (e / 2)] =
        sums[i][half][e];
  }
  __syncthreads();
  for (int at = (int)threadIdx.x; at < TILES * TILE * (int)s.m; at += THREADS) {
    int row = at / (TILES * TILE), i = at % (TILES * TILE) / TILE;
    const float *part = parts + (i * ROWS + row) * STEP + at % TILE;
    size_t mine = column + at % (TILES * TILE);
    float sum = part[0];

    for (int w = 1; w < WARPS; w++)
      sum += part[w * TILES * ROWS * STEP];
    if (mine < s.n)
      store(s, a, row * s.stride_y + mine, mine, sum);
  }
}

extern "C" bool
ra_k_few_rows_ok(const RaKFewRows *s)
{
  return s->m <= RA_K_FEW_ROWS && s->n <= (size_t)1 << 31 && s->k % 8 == 0 &&
         s->stride_x % 8 == 0 && s->stride_weight % 8 == 0 &&
         s->stride_x >= s->k && s->stride_weight >= s->k && s->stride_y >= s->n;
}

/* Wide blocks read x less often, narrow ones fill the GPU: four blocks of 64
 * columns a multiprocessor, or two of 32, or what there are of 16. */
extern "C" int
ra_k_few_rows(const RaKFewRows *shape, const uint16_t *x,
              const uint16_t *weight, const uint16_t *bias, void *y,
              void *stream)
{
  const Arrays a = {x, weight, bias, y};
  size_t n = shape->n;

  if (!ra_k_few_rows_ok(shape) || !ra_is_aligned(x) || !ra_is_aligned(weight))
    return cudaErrorInvalidValue;
  if (shape->m == 0 || n == 0)
    return cudaSuccess;

  auto launch = [&](auto kernel, size_t columns) {
    RA_LAUNCH(kernel, (unsigned)((n + columns - 1) / columns), THREADS, 0,
              stream, *shape, a);
  };

  if (n >= (size_t)4 * 64 * shape->n_processors)
    launch(few_rows_kernel<4, 2>, 4 * TILE);
  else if (n >= (size_t)2 * 32 * shape->n_processors)
    launch(few_rows_kernel<2, 4>, 2 * TILE);
  else
    launch(few_rows_kernel<1, 4>, TILE);
  return cudaGetLastError();
}
