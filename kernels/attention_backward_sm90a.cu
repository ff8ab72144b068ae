/* Attention's gradients for compute capability 9.0: the two kernels of
 * attention_backward.cu with a warpgroup's products and bulk copies.  A block
 * owns 128 rows of one side, 64 a warpgroup, and goes over the other side in
 * tiles of 64, which one warp begins to copy, two stages ahead; while one
 * warpgroup has its exponentials the other's products run.
 *
 * What is past a sequence's end is another's and may be anything: rows of a
 * tile are made zeroes before they are multiplied, by both warpgroups alike.
 *
 * Shared memory: both arrays of the 128 rows and of two tiles, 128 KiB at
 * head_dim 128.  Registers of a thread that multiplies: 64 scores and products,
 * 32 factors, and of sums HD / 2 for queries, HD for keys.
 */
#include "kernels/attention.h"
#include "kernels/attention_backward_sm90a.cuh"
#include "kernels/attention_delta.cuh"

static const float log2_e = 1.4426950408889634f;

/* Boxes of TILE rows; d_out's are of an array of its own. */
struct Maps {
  RaTensorMap q, k, v, d_out;
};

struct Results {
  const float *lse, *delta;
  uint16_t *d_q, *d_k, *d_v;
  float scale, scale_log2;
};

/* Scores on the diagonal, of what a query does not see: of columns behind the
 * row, or of those before it where keys are rows. */
template <bool KEYS>
__device__ static inline void
mask(float scores[TILE / 8][4])
{
  int column = 2 * ((int)threadIdx.x % 4), row = lane_row();

  RA_UNROLL
  for (int j = 0; j < TILE / 8; j++) {
    RA_UNROLL
    for (int i = 0; i < 4; i++) {
      int behind = 8 * j + column + i % 2 - row - i / 2 * 8;

      if (KEYS ? behind < 0 : behind > 0)
        scores[j][i] = -INFINITY;
    }
  }
}

/* Queries are rows: ds of a tile of keys, without its scale, in @scores. */
__device__ static inline void
soften_rows(float scores[TILE / 8][4], const float d_p[TILE / 8][4],
            const float2 rows[2], float scale_log2)
{
  RA_UNROLL
  for (int j = 0; j < TILE / 8; j++) {
    RA_UNROLL
    for (int i = 0; i < 4; i++) {
      float2 of = rows[i / 2];

      scores[j][i] = ra_exp2_fast(fmaf(scores[j][i], scale_log2, -of.x)) *
                     (d_p[j][i] - of.y);
    }
  }
}

/* Keys are rows: probabilities of a tile of queries and ds, likewise, as left
 * factors, 16 queries at a time, so that registers are given back. */
__device__ static inline void
soften_columns(uint32_t left_p[TILE / 16][4], uint32_t left_s[TILE / 16][4],
               float scores[TILE / 8][4], float d_p[TILE / 8][4],
               const float2 *rows, float scale_log2)
{
  const float2 *of = rows + 2 * ((int)threadIdx.x % 4);

  RA_UNROLL
  for (int step = 0; step < TILE / 16; step++) {
    RA_UNROLL
    for (int j = 2 * step; j < 2 * step + 2; j++) {
      RA_UNROLL
      for (int i = 0; i < 4; i++) {
        float2 it = of[8 * j + i % 2];

        scores[j][i] = ra_exp2_fast(fmaf(scores[j][i], scale_log2, -it.x));
        d_p[j][i] = scores[j][i] * (d_p[j][i] - it.y);
      }
    }
    ra_left_of(left_p[step], scores, step);
    ra_left_of(left_s[step], d_p, step);
  }
}

/* Both products of a tile with the own rows. */
template <int HD>
__device__ static inline void
begin_both(float (&scores)[TILE / 8][4], float (&d_p)[TILE / 8][4],
           const Memory<HD> &m, int group, const uint16_t *tile_x,
           const uint16_t *tile_y)
{
  begin_product<HD>(scores, m.own_x + group * TILE * RA_PANEL, tile_x);
  begin_product<HD>(d_p, m.own_y() + group * TILE * RA_PANEL, tile_y);
  ra_wgmma_commit();
}

/* The thread's warpgroup, from lane 0, so that the compiler knows it, and what
 * follows from it, to be the same in a warp: addresses of products are then
 * uniform, without a copy for each. */
__device__ static inline int
warpgroup_of_thread()
{
  return __shfl_sync(RA_ALL_LANES, (int)threadIdx.x / RA_WARPGROUP, 0);
}

/* One warpgroup's lanes: all tiles of keys for its 64 queries. */
template <int HD>
__device__ static inline void
consume_keys(const Place &p, const RaKAttention &shape, const Memory<HD> &m,
             Barriers *b, const Results &r, int group, float (&sums)[HD / 8][4])
{
  int first = p.first + group * TILE, row = lane_row();
  size_t at = (size_t)(p.begin + (uint32_t)(first + row)) * shape.q_heads +
              (uint32_t)p.head;
  float2 rows[2] = {ra_query_row(r.lse, r.delta, at, first + row < p.length),
                    ra_query_row(r.lse, r.delta, at + 8 * (size_t)shape.q_heads,
                                 first + row + 8 < p.length)};

  ra_barrier_wait(&b->own_full, 0);
  for (int i = 0; i < p.n_each; i++) {
    int stage = i % STAGES, key = i * TILE;
    uint16_t *tile_k = m.tile_x(stage);
    uint16_t *tile_v = m.tile_y(stage);

    ra_barrier_wait(&b->full[stage], (unsigned)(i / STAGES) % 2);
    if (key <= first) { /* else none of these queries sees it */
      float scores[TILE / 8][4], d_p[TILE / 8][4];
      uint32_t left[TILE / 16][4];

      if (p.length - key < TILE)
        clear_rows<HD>(tile_k, tile_v, p.length - key, group);
      begin_both<HD>(scores, d_p, m, group, tile_k, tile_v);
      ra_wgmma_wait<0>(scores);
      ra_wgmma_wait<0>(d_p);
      if (key == first)
        mask<false>(scores);
      soften_rows(scores, d_p, rows, r.scale_log2);
      ra_left_of_all<TILE>(left, scores);
      begin_sums<HD>(sums, left, tile_k);
      ra_wgmma_commit();
      ra_wgmma_wait<0>(sums);
    }
    if (threadIdx.x % RA_WARP == 0)
      ra_barrier_arrive(&b->free[stage]);
  }
}

/* blockIdx: (tile of 128 queries from the last, query head, sequence). */
template <int HD>
__global__ static void
__launch_bounds__(THREADS, 1)
    queries_kernel(RaKAttention shape, const __grid_constant__ Maps maps,
                   Results r)
{
  RA_DYNAMIC(memory);
  RA_SHARED(Barriers, barriers, 1);
  Memory<HD> m(memory);
  Place p;
  int end, warpgroup = warpgroup_of_thread();

  p.begin = shape.begin[blockIdx.z];
  p.length = (int)(shape.begin[blockIdx.z + 1] - p.begin);
  p.first = (int)(gridDim.x - 1 - blockIdx.x) * OWN;
  p.head = (int)blockIdx.y;
  p.other = p.head / (int)(shape.q_heads / shape.kv_heads);
  p.n_heads = 1;
  p.from = 0;
  end = p.first + OWN < p.length ? p.first + OWN : p.length;
  p.n_each = (end + TILE - 1) / TILE;
  if (p.first >= p.length)
    return;
  if (threadIdx.x == 0)
    init_barriers(barriers);
  __syncthreads();
  if (warpgroup == 0) {
    ra_registers_fewer<24>();
    if (threadIdx.x == 0)
      produce<HD>(p, &maps.q, &maps.d_out, &maps.k, &maps.v, m, barriers);
  } else {
    float sums[HD / 8][4] = {};
    int group = warpgroup - 1;

    ra_registers_more<240>();
    consume_keys<HD>(p, shape, m, barriers, r, group, sums);
    ra_store_rows<HD>(
        r.d_q + (size_t)(p.begin + (uint32_t)p.first) * shape.d_q_stride +
            (size_t)p.head * HD,
        shape.d_q_stride, sums, group * TILE + lane_row(), p.length - p.first,
        r.scale, r.scale);
  }
}

/* First of the warpgroup's own rows. */
__device__ static inline int
first_of_group(const Place &p, int group)
{
  return p.first + group * TILE;
}

/* One warpgroup's lanes: tile number @i, of queries from @query on of @head,
 * for its 64 keys. */
template <int HD>
__device__ static inline void
add_queries(const Place &p, const RaKAttention &shape, const Memory<HD> &m,
            const Results &r, int group, int i, int query, int head,
            float2 *rows, float (&sum_k)[HD / 8][4], float (&sum_v)[HD / 8][4])
{
  int stage = i % STAGES, thread = (int)threadIdx.x % RA_WARPGROUP;
  uint16_t *tile_q = m.tile_x(stage);
  uint16_t *tile_do = m.tile_y(stage);
  float2 *of = rows + (group * STAGES + stage) * TILE;
  float scores[TILE / 8][4], d_p[TILE / 8][4];
  uint32_t left_p[TILE / 16][4], left_s[TILE / 16][4];

  if (p.length - query < TILE)
    clear_rows<HD>(tile_q, tile_do, p.length - query, group);
  begin_both<HD>(scores, d_p, m, group, tile_q, tile_do);
  if (thread < TILE)
    of[thread] = ra_query_row(r.lse, r.delta,
                              (size_t)(p.begin + (uint32_t)(query + thread)) *
                                      shape.q_heads +
                                  (uint32_t)head,
                              query + thread < p.length);
  ra_named_wait((unsigned)(WITHIN + group), RA_WARPGROUP);
  ra_wgmma_wait<0>(scores);
  ra_wgmma_wait<0>(d_p);
  if (query == first_of_group(p, group))
    mask<true>(scores);
  soften_columns(left_p, left_s, scores, d_p, of, r.scale_log2);
  begin_sums<HD>(sum_v, left_p, tile_do);
  begin_sums<HD>(sum_k, left_s, tile_q);
  ra_wgmma_commit();
  ra_wgmma_wait<0>(sum_v);
  ra_wgmma_wait<0>(sum_k);
}

/* All of them, head by head. */
template <int HD>
__device__ static inline void
consume_queries(const Place &p, const RaKAttention &shape, const Memory<HD> &m,
                Barriers *b, const Results &r, int group, float2 *rows,
                float (&sum_k)[HD / 8][4], float (&sum_v)[HD / 8][4])
{
  int i = 0;

  ra_barrier_wait(&b->own_full, 0);
  for (int head = p.other; head < p.other + p.n_heads; head++)
    for (int query = p.first; query < p.length; query += TILE, i++) {
      int stage = i % STAGES;

      ra_barrier_wait(&b->full[stage], (unsigned)(i / STAGES) % 2);
      /* else none of these queries sees these keys */
      if (query >= first_of_group(p, group))
        add_queries<HD>(p, shape, m, r, group, i, query, head, rows, sum_k,
                        sum_v);
      if (threadIdx.x % RA_WARP == 0)
        ra_barrier_arrive(&b->free[stage]);
    }
}

/* blockIdx: (tile of 128 keys, key head, sequence). */
template <int HD>
__global__ static void
__launch_bounds__(THREADS, 1)
    keys_kernel(RaKAttention shape, const __grid_constant__ Maps maps,
                Results r)
{
  RA_DYNAMIC(memory);
  RA_SHARED(Barriers, barriers, 1);
  RA_SHARED(float2, rows, GROUPS * STAGES * TILE); /* of the tiles' queries */
  RA_SHARED(Place, place, 1); /* read again and again: registers are scarce */
  Memory<HD> m(memory);
  Place &p = *place;
  int warpgroup = warpgroup_of_thread();

  if (threadIdx.x == 0) {
    p.begin = shape.begin[blockIdx.z];
    p.length = (int)(shape.begin[blockIdx.z + 1] - p.begin);
    p.first = (int)blockIdx.x * OWN;
    p.head = (int)blockIdx.y;
    p.n_heads = (int)(shape.q_heads / shape.kv_heads);
    p.other = p.head * p.n_heads;
    p.from = p.first;
    p.n_each = (p.length - p.first + TILE - 1) / TILE;
    init_barriers(barriers);
  }
  __syncthreads();
  if (p.first >= p.length)
    return;
  if (warpgroup == 0) {
    ra_registers_fewer<24>();
    if (threadIdx.x == 0)
      produce<HD>(p, &maps.k, &maps.v, &maps.q, &maps.d_out, m, barriers);
  } else {
    float sum_k[HD / 8][4] = {}, sum_v[HD / 8][4] = {};
    int group = warpgroup - 1;

    ra_registers_more<240>();
    consume_queries<HD>(p, shape, m, barriers, r, group, rows, sum_k, sum_v);

    int row = group * TILE + lane_row();
    size_t at = (size_t)(p.begin + (uint32_t)p.first) * shape.stride +
                (size_t)p.head * HD;

    ra_store_rows<HD>(r.d_k + at, shape.stride, sum_k, row, p.length - p.first,
                      r.scale, r.scale);
    ra_store_rows<HD>(r.d_v + at, shape.stride, sum_v, row, p.length - p.first,
                      1.0f, 1.0f);
  }
}

template <int HD>
static int
launch(const RaKAttention &shape, const Maps &maps, const Results &r,
       void *stream)
{
  int n_bytes = 2 * (2 * OWN + 2 * STAGES * TILE) * HD + RA_SWIZZLE_BYTES;
  unsigned n = (shape.max_length + OWN - 1) / OWN;
  auto of_queries = queries_kernel<HD>;
  auto of_keys = keys_kernel<HD>;
  cudaError_t code = cudaFuncSetAttribute(
      of_queries, cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes);

  if (code == cudaSuccess)
    code = cudaFuncSetAttribute(
        of_keys, cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes);
  if (code != cudaSuccess)
    return code;
  RA_LAUNCH(of_keys, dim3(n, shape.kv_heads, shape.n_sequences), THREADS,
            n_bytes, stream, shape, maps, r);
  RA_LAUNCH(of_queries, dim3(n, shape.q_heads, shape.n_sequences), THREADS,
            n_bytes, stream, shape, maps, r);
  return cudaGetLastError();
}

extern "C" int
ra_k_attention_backward_wgmma(const RaKAttention *shape, const uint16_t *q,
                              const uint16_t *k, const uint16_t *v,
                              const uint16_t *out, const float *lse,
                              const uint16_t *d_out, uint16_t *d_q,
                              uint16_t *d_k, uint16_t *d_v, float *workspace,
                              void *stream)
{
  uint32_t hd = shape->head_dim;
  float scale = 1.0f / sqrtf((float)hd);
  size_t n_rows = (size_t)shape->n_tokens * shape->q_heads;
  RaKAttention s = *shape;
  Results r = {lse, workspace, d_q, d_k, d_v, scale, scale * log2_e};
  Maps maps;
  int code = cudaSuccess;

  if (!ra_k_attention_gradient_ok(shape, q, k, v, out, d_out, d_q, d_k, d_v))
    return cudaErrorInvalidValue;
  if (!ra_is_sm90() || !ra_k_attention_is_plain(shape))
    return cudaErrorNotSupported;
  if (shape->n_sequences == 0 || shape->max_length == 0)
    return cudaSuccess;
  s.d_q_stride = s.d_q_stride > 0 ? s.d_q_stride : s.stride;
  auto map = [&](RaTensorMap *to, const uint16_t *x, uint32_t heads,
                 size_t stride) {
    if (code == cudaSuccess)
      code = ra_tensor_map(to, x, hd, heads, s.n_tokens, stride, TILE);
  };
  map(&maps.q, q, s.q_heads, s.stride);
  map(&maps.k, k, s.kv_heads, s.stride);
  map(&maps.v, v, s.kv_heads, s.stride);
  map(&maps.d_out, d_out, s.q_heads, (size_t)s.q_heads * hd);
  if (code != cudaSuccess)
    return code;
  if (hd == 64) {
    ra_start_delta<64>(out, d_out, workspace, n_rows, stream);
    return launch<64>(s, maps, r, stream);
  }
  ra_start_delta<128>(out, d_out, workspace, n_rows, stream);
  return launch<128>(s, maps, r, stream);
}
