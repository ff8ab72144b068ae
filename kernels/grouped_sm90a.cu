/* Grouped GEMMs for compute capability 9.0: a block goes over tiles of 128 x
 * 256 of the results of all groups.  One thread begins bulk copies of both
 * factors, 64 terms a stage, three stages ahead and on into the next tile; two
 * warpgroups multiply, each for 64 rows of the tile.  A warpgroup begins a
 * stage's products before it waits for those of the stage before.
 *
 * Groups begin and end at any row:
 *
 *  - y and d_x: a tile's last rows may be the next group's, in factors and
 *    results.  Such rows are multiplied and not stored; of a tile with 64 rows
 *    or less the second warpgroup has none, and they are not copied.
 *  - d_weight: a sum's last terms may be the next group's.  Both factors are
 *    made zeroes there first, as they may be anything.
 *
 * Terms past the end of n or k are zeroes of the engine, which knows where each
 * matrix ends.
 *
 * Shared memory: a stage has 16 KiB of the left factor and 32 of the right, 192
 * KiB in all, and 8 for where groups begin: one block a multiprocessor.
 * Registers of a thread that multiplies: 128 sums.
 */
#include "kernels/grouped_tile.cuh"
#include "kernels/hopper.cuh"

#define GROUPS 2                       /* warpgroups that multiply */
#define WARPS (RA_WARPGROUP / RA_WARP) /* of each */
#define THREADS ((GROUPS + 1) * RA_WARPGROUP)
#define ROWS 64 /* of a warpgroup's products */
#define TILE_M (GROUPS * ROWS)
#define TILE_N 256
#define STEP RA_PANEL /* terms of a stage */
#define STAGES 4

/* Steps that the first warpgroup is ahead of the second, and named barriers: of
 * both, when it is; one within each. */
#define AHEAD 2
#define BOTH 1
#define WITHIN (BOTH + 1)

enum {
  PANEL = 64 * RA_PANEL, /* a square panel, all but the right factor of y */
  LEFT = TILE_M * STEP,
  STAGE = LEFT + TILE_N * STEP,
  N_BYTES = STAGES * STAGE * (int)sizeof(uint16_t) + RA_SWIZZLE_BYTES
};

/* Boxes of 64 rows; of 256 of the right factor of y. */
struct Maps {
  RaTensorMap left, right;
};

/* `full`: the stage has arrived; `free`: all that read it have done so. */
struct Barriers {
  RaBarrier full[STAGES], free[STAGES];
};

/* The part of a tile that is there. */
struct Part {
  int n_rows, n_columns; /* of its result */
  int n_terms;
};

/* In every lane alike, known to be so: addresses for products are uniform. */
__device__ static inline int
of_warp(size_t x, size_t most)
{
  return __shfl_sync(RA_ALL_LANES, (int)(x < most ? x : most), 0);
}

template <RaKProduct P>
__device__ static inline Part
part_of(const RaKGroups &g, const RaGroupTile &t)
{
  return {of_warp(ra_group_height<P>(g, t.count) - t.m, TILE_M),
          of_warp(ra_group_width<P>(g) - t.n, TILE_N),
          of_warp(ra_group_terms<P>(g, t.count), INT32_MAX)};
}

/* ---- Copies -------------------------------------------------------------- */

/* Starts to copy terms @first and on of a tile; @n: panels of the left. */
template <RaKProduct P>
__device__ static inline void
copy_stage(const RaGroupTile &t, const Maps *maps, uint16_t *stage, int first,
           int n, RaBarrier *full)
{
  uint16_t *right = stage + LEFT;
  int row = (int)t.row, m = (int)t.m, column = (int)t.n, group = (int)t.group;

  ra_barrier_expect(full, (uint32_t)(n * PANEL + TILE_N * STEP) * 2);
  for (int i = 0; i < n; i++)
    if (P == RA_K_WEIGHT)
      ra_bulk_copy(stage + i * PANEL, &maps->left, m + i * ROWS, row + first, 0,
                   full);
    else
      ra_bulk_copy(stage + i * PANEL, &maps->left, first, row + m + i * ROWS, 0,
                   full);
  if (P == RA_K_OUTPUT)
    ra_bulk_copy(right, &maps->right, first, column, group, full);
  else
    for (int i = 0; i < TILE_N / RA_PANEL; i++)
      ra_bulk_copy(right + i * PANEL, &maps->right, column + i * RA_PANEL,
                   P == RA_K_INPUT ? first : row + first,
                   P == RA_K_INPUT ? group : 0, full);
}

/* One thread: the stages of all tiles. */
template <RaKProduct P>
__device__ static inline void
produce(const RaKGroups &g, RaGroups at, const Maps *maps, uint16_t *stages,
        Barriers *b)
{
  uint32_t i = 0;

  for (uint32_t tile = blockIdx.x; tile < at.first_tile[g.n_groups];
       tile += gridDim.x) {
    RaGroupTile t = ra_group_tile<P, TILE_M, TILE_N>(g, at, tile);
    int n = ra_group_height<P>(g, t.count) - t.m > ROWS ? GROUPS : 1;
    int n_terms = (int)ra_group_terms<P>(g, t.count);

    for (int first = 0; first < n_terms; first += STEP, i++) {
      ra_barrier_wait(&b->free[i % STAGES], (i / STAGES + 1) % 2);
      copy_stage<P>(t, maps, stages + i % STAGES * STAGE, first, n,
                    &b->full[i % STAGES]);
    }
  }
}

/* ---- Products ------------------------------------------------------------ */

/* Begins sums (= or +=) the warpgroup's rows of a stage. */
template <RaKProduct P>
__device__ static inline void
begin_step(float (&sums)[TILE_N / 8][4], const uint16_t *stage, int group,
           bool adds)
{
  /* 16 terms on: columns of a panel, or its rows, in units of 16 bytes. */
  const int by_columns = 2, by_rows = 16 * RA_PANEL * 2 / 16;
  uint64_t left = ra_descriptor(stage + group * PANEL, 0);
  uint64_t right = ra_descriptor(stage + LEFT, 2 * PANEL);

  ra_wgmma_fence(sums);
  RA_UNROLL
  for (int i = 0; i < STEP / 16; i++)
    ra_wgmma_wide<P == RA_K_WEIGHT, P != RA_K_OUTPUT>(
        sums, left + i * (P == RA_K_WEIGHT ? by_rows : by_columns),
        right + i * (P == RA_K_OUTPUT ? by_columns : by_rows), adds || i > 0);
  ra_wgmma_commit();
}

/* Zeroes terms @n and on of a stage, the warpgroup's of the left factor.  Both
 * write the same zeroes to the right one, so that neither waits for the other.
 */
__device__ static inline void
clear_terms(uint16_t *stage, int n, int group)
{
  ra_proxy_clear<ROWS, STEP>(stage + group * PANEL, n);
  ra_proxy_clear<TILE_N, STEP>(stage + LEFT, n);
  ra_proxy_fence();
  ra_named_wait((unsigned)(WITHIN + group), RA_WARPGROUP);
}

/* One warpgroup's lanes: the sums of a tile, all but the last step done.  @i:
 * stages before.
 *
 * The second warpgroup begins a tile when the first has done AHEAD steps of it,
 * so that one multiplies while the other stores results.  Tiles of no more
 * steps have no such turn.  The first comes to the next tile's turn only when
 * the second has freed a step of this tile, so has had its own.
 */
template <RaKProduct P>
__device__ static inline void
multiply(float (&sums)[TILE_N / 8][4], const Part &p, uint16_t *stages,
         Barriers *b, int group, uint32_t i)
{
  bool tells = threadIdx.x % RA_WARP == 0; /* that its warp has read */
  bool works = group * ROWS < p.n_rows;
  static_assert(2 * AHEAD + 1 >= STAGES, "a step of this tile is freed");
  bool turns = p.n_terms > AHEAD * STEP;

  if (turns && group == 1)
    ra_named_wait(BOTH, GROUPS * RA_WARPGROUP);
  for (int first = 0; first < p.n_terms; first += STEP, i++) {
    uint16_t *stage = stages + i % STAGES * STAGE;

    ra_barrier_wait(&b->full[i % STAGES], i / STAGES % 2);
    if (works) {
      if (P == RA_K_WEIGHT && p.n_terms - first < STEP)
        clear_terms(stage, p.n_terms - first, group);
      begin_step<P>(sums, stage, group, first > 0);
      ra_wgmma_wait<1>(sums);
    }
    if (turns && group == 0 && first == AHEAD * STEP)
      ra_named_arrive(BOTH, GROUPS * RA_WARPGROUP);
    if (tells && first > 0)
      ra_barrier_arrive(&b->free[(i - 1) % STAGES]);
  }
}

/* ---- Results ------------------------------------------------------------- */

/* The lanes of a quad have two columns each of four times eight, from sums[0]
 * on; afterwards lane q has all eight of the q-th, as bf16. */
__device__ static inline uint4
take_eight(const float (*sums)[4], int half)
{
  bool odd = threadIdx.x % 2, high = threadIdx.x % 4 / 2;
  uint32_t x[4];

  RA_UNROLL
  for (int i = 0; i < 4; i++)
    x[i] = ra_pack_bf16_fast(sums[i][half], sums[i][half + 1]);
  RA_UNROLL
  for (int i = 0; i < 4; i += 2) {
    uint32_t other = __shfl_xor_sync(RA_ALL_LANES, odd ? x[i] : x[i + 1], 1);

    x[i] = odd ? other : x[i];
    x[i + 1] = odd ? x[i + 1] : other;
  }
  RA_UNROLL
  for (int i = 0; i < 2; i++) {
    uint32_t other = __shfl_xor_sync(RA_ALL_LANES, high ? x[i] : x[i + 2], 2);

    x[i] = high ? other : x[i];
    x[i + 2] = high ? x[i + 2] : other;
  }
  return make_uint4(x[0], x[1], x[2], x[3]);
}

/* 64 bytes of a row in four lanes' stores. */
__device__ static inline void
store_row(uint16_t *row, const float (&sums)[TILE_N / 8][4], int half,
          bool is_there, int n_columns)
{
  RA_UNROLL
  for (int j = 0; j < TILE_N / 8; j += 4) {
    uint4 eight = take_eight(&sums[j], half);
    int column = 8 * (j + (int)threadIdx.x % 4);

    if (is_there && column < n_columns)
      ra_store_whole(reinterpret_cast<uint4 *>(row + column), eight);
  }
}

/* The same, added: AT_ONCE loads are under way together. */
__device__ static inline void
store_row(float *row, const float (&sums)[TILE_N / 8][4], int half,
          bool is_there, int n_columns)
{
  const int AT_ONCE = 8;
  int own = 8 * ((int)threadIdx.x % 2) + (int)threadIdx.x % 4 / 2 * 4;
  int n = is_there ? n_columns - own : 0; /* columns from the lane's on */

  RA_UNROLL
  for (int first = 0; first < TILE_N / 8; first += 2 * AT_ONCE) {
    float4 *at = reinterpret_cast<float4 *>(row + own + 8 * first);
    float old[AT_ONCE][4];

    RA_UNROLL
    for (int i = 0; i < AT_ONCE; i++)
      if (8 * first + 16 * i < n)
        *reinterpret_cast<float4 *>(old[i]) = at[4 * i];
    RA_UNROLL
    for (int i = 0; i < AT_ONCE; i++) {
      int j = first + 2 * i;
      float four[4];

      ra_take_four(four, sums[j] + half, sums[j + 1] + half);
      if (8 * j < n)
        ra_store_whole(&at[4 * i],
                       make_float4(old[i][0] + four[0], old[i][1] + four[1],
                                   old[i][2] + four[2], old[i][3] + four[3]));
    }
  }
}

/* The tile's d_weight is read from memory while its sums are computed: a thread
 * asks for half a row, which store_row() then finds in the L2 cache. */
__device__ static inline void
prefetch_tile(const float *out, size_t width, const Part &p, int group)
{
  int thread = (int)threadIdx.x % RA_WARPGROUP;
  int row = group * ROWS + thread / 2, column = thread % 2 * (TILE_N / 2);
  int n = p.n_columns - column;

  if (row < p.n_rows && n > 0)
    ra_bulk_prefetch(out + row * width + column,
                     (uint32_t)(n < TILE_N / 2 ? n : TILE_N / 2) *
                         (uint32_t)sizeof *out);
}

/* y and d_x have nothing yet. */
__device__ static inline void
prefetch_tile(const uint16_t *, size_t, const Part &, int)
{
}

template <typename Out>
__device__ static inline void
store_tile(Out *out, size_t width, const Part &p, int group,
           const float (&sums)[TILE_N / 8][4])
{
  int lane = (int)threadIdx.x % RA_WARP;
  int row = group * ROWS + (int)threadIdx.x / RA_WARP % WARPS * 16 + lane / 4;

  RA_UNROLL
  for (int half = 0; half < 2; half++)
    store_row(out + (row + 8 * half) * width, sums, 2 * half,
              row + 8 * half < p.n_rows, p.n_columns);
}

/* The place of the next tile is found while the last step is multiplied. */
template <RaKProduct P, typename Out>
__device__ static inline void
consume(const RaKGroups &g, RaGroups at, uint16_t *stages, Barriers *b,
        int group, Out *out)
{
  uint32_t n = at.first_tile[g.n_groups], i = 0;
  RaGroupTile t = {};

  if (blockIdx.x < n)
    t = ra_group_tile<P, TILE_M, TILE_N>(g, at, blockIdx.x);
  for (uint32_t tile = blockIdx.x; tile < n; tile += gridDim.x) {
    Part p = part_of<P>(g, t);
    Out *to = out + ra_group_out<P>(g, t);
    size_t width = ra_group_width<P>(g);
    float sums[TILE_N / 8][4];

    prefetch_tile(to, width, p, group);
    multiply<P>(sums, p, stages, b, group, i);
    i += (uint32_t)(p.n_terms + STEP - 1) / STEP;
    if (tile + gridDim.x < n)
      t = ra_group_tile<P, TILE_M, TILE_N>(g, at, tile + gridDim.x);
    ra_wgmma_wait<0>(sums);
    if (threadIdx.x % RA_WARP == 0)
      ra_barrier_arrive(&b->free[(i - 1) % STAGES]);
    if (group * ROWS < p.n_rows)
      store_tile(to, width, p, group, sums);
  }
}

/* 168 registers a thread at entry; 40 x 128 + 2 x 232 x 128 are no more. */
template <RaKProduct P, typename Out>
__global__ static void
__launch_bounds__(THREADS, 1)
    grouped_kernel(RaKGroups g, const __grid_constant__ Maps maps,
                   Out *__restrict__ out)
{
  RA_DYNAMIC(memory);
  RA_SHARED(Barriers, barriers, 1);
  RA_SHARED(uint32_t, first_row, RA_K_GROUPS + 1);
  RA_SHARED(uint32_t, first_tile, RA_K_GROUPS + 1);
  uint16_t *stages = reinterpret_cast<uint16_t *>(ra_swizzle_begin(memory));
  RaGroups at = {first_row, first_tile};
  int warpgroup = __shfl_sync(RA_ALL_LANES, (int)threadIdx.x / RA_WARPGROUP, 0);

  for (unsigned i = threadIdx.x; i < STAGES; i += THREADS) {
    ra_barrier_init(&barriers->full[i], 1);
    ra_barrier_init(&barriers->free[i], GROUPS * WARPS);
  }
  ra_groups_find<P, TILE_M, TILE_N>(g, at);
  if (warpgroup == 0) {
    ra_registers_fewer<40>();
    if (threadIdx.x == 0)
      produce<P>(g, at, &maps, stages, barriers);
  } else {
    ra_registers_more<232>();
    consume<P>(g, at, stages, barriers, warpgroup - 1, out);
  }
}

/* ---- Calls --------------------------------------------------------------- */

template <RaKProduct P>
static int
make_maps(Maps *out, const RaKGroups &g, const uint16_t *left,
          const uint16_t *right)
{
  int code = ra_tensor_map_matrices(
      &out->left, left, P == RA_K_OUTPUT ? g.k : g.n, g.n_rows, 1, ROWS);

  if (code != cudaSuccess)
    return code;
  return P == RA_K_WEIGHT
             ? ra_tensor_map_matrices(&out->right, right, g.k, g.n_rows, 1,
                                      STEP)
             : ra_tensor_map_matrices(&out->right, right, g.k, g.n, g.n_groups,
                                      P == RA_K_OUTPUT ? TILE_N : STEP);
}

struct Wgmma {
  template <RaKProduct P, typename Out>
  static int
  launch(const RaKGroups &g, const uint16_t *left, const uint16_t *right,
         Out *out, void *stream)
  {
    auto kernel = grouped_kernel<P, Out>;
    uint32_t n;
    Maps maps;
    int code = ra_groups_begin<P, TILE_M, TILE_N>(g, left, right, out, &n);

    if (code != cudaSuccess || n == 0)
      return code;
    if (!ra_is_sm90())
      return cudaErrorNotSupported;
    code = make_maps<P>(&maps, g, left, right);
    if (code == cudaSuccess)
      code = (int)cudaFuncSetAttribute(
          kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, N_BYTES);
    if (code != cudaSuccess)
      return code;
    RA_LAUNCH(kernel, n < g.n_processors ? n : g.n_processors, THREADS, N_BYTES,
              stream, g, maps, out);
    return (int)cudaGetLastError();
  }
};

extern "C" int
ra_k_grouped_wgmma(RaKProduct product, const RaKGroups *groups,
                   const uint16_t *left, const uint16_t *right, void *out,
                   void *stream)
{
  return ra_groups_launch<Wgmma>(product, groups, left, right, out, stream);
}
