/* Gradients of causal attention on any device, and the choice of variant. */
#include "kernels/attention.h"
#include "kernels/attention_delta.cuh"
#include "kernels/attention_sight.cuh"
#include "kernels/attention_tile.cuh"

/* A block owns 64 rows, 16 a warp, and goes over the other side in tiles of 32:
 * what it owns stays in registers as fp32 sums. */
#define OWN 64
#define TILE 32
#define THREADS 128

static const float log2_e = 1.4426950408889634f;

/* Arrays that the kernels read and write; pointers into device memory. */
struct Arrays {
  const uint16_t *q, *k, *v, *d_out;
  const float *lse, *delta;
  uint16_t *d_q, *d_k, *d_v;
  float scale, scale_log2;
};

/* Two arrays with rows of a head, of which a block copies tiles of 32 rows. */
struct Pair {
  const uint16_t *x, *y; /* row 0 of the sequence */
  size_t stride_x, stride_y;
  int length;
};

/* Begins to copy ROWS rows from @row on. */
template <int HD, int ROWS>
__device__ static inline void
load(const Pair &p, int row, uint16_t *tile_x, uint16_t *tile_y)
{
  ra_tile_load<ROWS, HD, THREADS>(tile_x, p.x + (size_t)row * p.stride_x,
                                  p.stride_x, p.length - row);
  ra_tile_load<ROWS, HD, THREADS>(tile_y, p.y + (size_t)row * p.stride_y,
                                  p.stride_y, p.length - row);
}

/* Queries of @head and the gradients of their outputs; keys and values. */
template <int HD>
__device__ static inline Pair
queries_of(const RaKAttention &shape, const Arrays &a, uint32_t head)
{
  size_t begin = shape.begin[blockIdx.z], dense = (size_t)shape.q_heads * HD;

  return {a.q + begin * shape.stride + (size_t)head * HD,
          a.d_out + begin * dense + (size_t)head * HD, shape.stride, dense,
          ra_n_queries(shape)};
}

template <int HD>
__device__ static inline Pair
keys_of(const RaKAttention &shape, const Arrays &a, uint32_t kv_head)
{
  size_t at =
      shape.kv_begin[blockIdx.z] * shape.kv_stride + (size_t)kv_head * HD;

  return {a.k + at, a.v + at, shape.kv_stride, shape.kv_stride,
          ra_n_keys(shape)};
}

/* one = rows of the warp in own_x x the tile x transposed, two = likewise y. */
template <int HD>
__device__ static inline void
multiply(float one[TILE / 8][4], float two[TILE / 8][4], const uint16_t *own_x,
         const uint16_t *own_y, const uint16_t *x, const uint16_t *y)
{
  int warp_row = (int)threadIdx.x / RA_WARP * 16;

  RA_UNROLL_TWO /* more spills */
      for (int step = 0; step < HD / 16; step++)
  {
    uint32_t left_x[4], left_y[4];

    ra_tile_left<HD>(left_x, own_x, warp_row, step);
    ra_tile_left<HD>(left_y, own_y, warp_row, step);
    RA_UNROLL
    for (int pair = 0; pair < TILE / 16; pair++) {
      uint32_t right[4];

      ra_tile_right<HD>(right, x, 16 * pair, step);
      ra_mma_pair(&one[2 * pair], left_x, right);
      ra_tile_right<HD>(right, y, 16 * pair, step);
      ra_mma_pair(&two[2 * pair], left_y, right);
    }
  }
}

/* Numbers of query @row of blockIdx.z's sequence. */
__device__ static inline float2
row_of(const RaKAttention &shape, const Arrays &a, uint32_t head, int row,
       int length)
{
  return ra_query_row(
      a.lse, a.delta,
      (size_t)(shape.begin[blockIdx.z] + (uint32_t)row) * shape.q_heads + head,
      row < length);
}

/* A tile of keys from @first on: ds in @scores.  Queries are rows, the lane's
 * @row and row + 8 of the sequence's. */
template <bool PLAIN>
__device__ static inline void
soften_rows(float scores[TILE / 8][4], const float d_p[TILE / 8][4],
            const float2 rows[2], const RaSight sights[2],
            const RaKAttention &shape, int first, int row, const Arrays &a)
{
  int lane = (int)threadIdx.x % RA_WARP;

  RA_UNROLL
  for (int j = 0; j < TILE / 8; j++) {
    RA_UNROLL
    for (int i = 0; i < 4; i++) {
      int key = first + 8 * j + 2 * (lane % 4) + i % 2;
      float p = 0.0f;

      if (PLAIN ? key <= row + i / 2 * 8 : key < sights[i / 2].seen)
        p = exp2f(ra_look_far<PLAIN>(scores[j][i] * a.scale_log2,
                                     ra_place_of_key<PLAIN>(shape, key),
                                     sights[i / 2]) -
                  rows[i / 2].x);

      scores[j][i] = p * (d_p[j][i] - rows[i / 2].y) * a.scale;
    }
  }
}

/* blockIdx: (tile of 64 queries from the last, query head, sequence). */
template <int HD, bool PLAIN>
__global__ static void
__launch_bounds__(THREADS) queries_kernel(RaKAttention shape, Arrays a)
{
  RA_DYNAMIC(memory);
  uint16_t *own_q = reinterpret_cast<uint16_t *>(memory);
  uint16_t *own_do = own_q + OWN * HD;
  uint16_t *tile_k = own_do + OWN * HD;      /* two */
  uint16_t *tile_v = tile_k + 2 * TILE * HD; /* two */
  uint32_t head = blockIdx.y;
  Pair own = queries_of<HD>(shape, a, head);
  Pair keys = keys_of<HD>(shape, a, head / (shape.q_heads / shape.kv_heads));
  int first = (int)(gridDim.x - 1 - blockIdx.x) * OWN;
  int end = first + OWN < own.length ? first + OWN : own.length;
  int lane = (int)threadIdx.x % RA_WARP;
  int own_row = (int)threadIdx.x / RA_WARP * 16 + lane / 4;
  float2 rows[2];
  RaSight sights[2];
  float sums[HD / 8][4] = {};

  if (first >= own.length)
    return;
  end = ra_seen_by<PLAIN>(shape, end - 1, own.length); /* of keys */
  load<HD, OWN>(own, first, own_q, own_do);
  load<HD, TILE>(keys, 0, tile_k, tile_v);
  ra_copy_commit();
  rows[0] = row_of(shape, a, head, first + own_row, own.length);
  rows[1] = row_of(shape, a, head, first + own_row + 8, own.length);
  sights[0] = ra_sight_of<PLAIN>(shape, head, first + own_row, own.length);
  sights[1] = ra_sight_of<PLAIN>(shape, head, first + own_row + 8, own.length);
  for (int at = 0, slot = 0; at < end; at += TILE, slot = TILE * HD - slot) {
    float scores[TILE / 8][4] = {}, d_p[TILE / 8][4] = {};

    if (at + TILE < end)
      load<HD, TILE>(keys, at + TILE, tile_k + TILE * HD - slot,
                     tile_v + TILE * HD - slot);
    ra_copy_commit();
    ra_copy_wait<1>();
    __syncthreads();
    multiply<HD>(scores, d_p, own_q, own_do, tile_k + slot, tile_v + slot);
    soften_rows<PLAIN>(scores, d_p, rows, sights, shape, at, first + own_row,
                       a);
    ra_add_product<HD, TILE>(sums, scores, tile_k + slot);
    __syncthreads();
  }
  ra_copy_wait<0>();
  ra_store_rows<HD>(a.d_q +
                        ((size_t)shape.begin[blockIdx.z] + (uint32_t)first) *
                            shape.d_q_stride +
                        (size_t)head * HD,
                    shape.d_q_stride, sums, own_row, own.length - first, 1.0f,
                    1.0f);
}

/* A tile of queries: probabilities in @scores, ds in @d_p.  Keys are rows, the
 * lane's @row and row + 8 of the block's, which begin with @first. */
template <bool PLAIN>
__device__ static inline void
soften_columns(float scores[TILE / 8][4], float d_p[TILE / 8][4],
               const float2 *rows, const RaSight *sights, const float *places,
               int first, int row, int query, const Arrays &a)
{
  int lane = (int)threadIdx.x % RA_WARP;

  RA_UNROLL
  for (int j = 0; j < TILE / 8; j++) {
    RA_UNROLL
    for (int i = 0; i < 4; i++) {
      int at = 8 * j + 2 * (lane % 4) + i % 2;
      int own = row + i / 2 * 8;
      float p = 0.0f;

      if (PLAIN ? first + own <= query + at : first + own < sights[at].seen)
        p = exp2f(ra_look_far<PLAIN>(scores[j][i] * a.scale_log2,
                                     PLAIN ? 0.0f : places[own], sights[at]) -
                  rows[at].x);

      scores[j][i] = p;
      d_p[j][i] = p * (d_p[j][i] - rows[at].y) * a.scale;
    }
  }
}

/* Numbers that soften_columns() needs of a tile of queries of @head, @first and
 * on of @n; each is read by one thread. */
template <bool PLAIN>
__device__ static inline void
look_at_queries(const RaKAttention &shape, const Arrays &a, uint32_t head,
                int first, int n, float2 *rows, RaSight *sights)
{
  int i = (int)threadIdx.x;

  if (i >= TILE)
    return;
  rows[i] = row_of(shape, a, head, first + i, n);
  if (!PLAIN)
    sights[i] = ra_sight_of<PLAIN>(shape, head, first + i, n);
}

/* blockIdx: (tile of 64 keys, key head, sequence).  Keys are rows here and
 * queries columns, so that probabilities are the left factor as they lie; tiles
 * of queries come head by head of the group. */
template <int HD, bool PLAIN>
__global__ static void
__launch_bounds__(THREADS) keys_kernel(RaKAttention shape, Arrays a)
{
  RA_DYNAMIC(memory);
  RA_SHARED(float2, rows, 2 * TILE);                /* of the tile's queries */
  RA_SHARED(RaSight, sights, PLAIN ? 1 : 2 * TILE); /* likewise */
  RA_SHARED(float, places, PLAIN ? 1 : OWN);        /* of the keys */
  uint16_t *own_k = reinterpret_cast<uint16_t *>(memory);
  uint16_t *own_v = own_k + OWN * HD;
  uint16_t *tile_q = own_v + OWN * HD;        /* two */
  uint16_t *tile_do = tile_q + 2 * TILE * HD; /* two */
  uint32_t group = shape.q_heads / shape.kv_heads, head = blockIdx.y * group;
  Pair own = keys_of<HD>(shape, a, blockIdx.y);
  int length = ra_n_queries(shape);
  int first = (int)blockIdx.x * OWN;
  int from = ra_first_that_sees<PLAIN>(shape, first, length); /* of queries */
  int n_queries = (length - from + TILE - 1) / TILE;          /* of one head */
  int n_tiles = n_queries * (int)group;
  int own_row =
      (int)threadIdx.x / RA_WARP * 16 + (int)threadIdx.x % RA_WARP / 4;
  float sum_k[HD / 8][4] = {}, sum_v[HD / 8][4] = {};

  if (first >= own.length)
    return;
  load<HD, OWN>(own, first, own_k, own_v);
  load<HD, TILE>(queries_of<HD>(shape, a, head), from, tile_q, tile_do);
  ra_copy_commit();
  if (!PLAIN && threadIdx.x < OWN && first + (int)threadIdx.x < own.length)
    places[threadIdx.x] =
        ra_place_of_key<PLAIN>(shape, first + (int)threadIdx.x);
  for (int tile = 0; tile < n_tiles; tile++) {
    int slot = tile % 2, next = tile + 1;
    int query = from + tile % n_queries * TILE;
    float scores[TILE / 8][4] = {}, d_p[TILE / 8][4] = {};

    if (next < n_tiles)
      load<HD, TILE>(
          queries_of<HD>(shape, a, head + (uint32_t)(next / n_queries)),
          from + next % n_queries * TILE, tile_q + (1 - slot) * TILE * HD,
          tile_do + (1 - slot) * TILE * HD);
    ra_copy_commit();
    look_at_queries<PLAIN>(shape, a, head + (uint32_t)(tile / n_queries), query,
                           length, rows + slot * TILE,
                           sights + (PLAIN ? 0 : slot * TILE));
    ra_copy_wait<1>();
    __syncthreads();
    multiply<HD>(scores, d_p, own_k, own_v, tile_q + slot * TILE * HD,
                 tile_do + slot * TILE * HD);
    soften_columns<PLAIN>(scores, d_p, rows + slot * TILE,
                          sights + (PLAIN ? 0 : slot * TILE), places, first,
                          own_row, query, a);
    ra_add_product<HD, TILE>(sum_v, scores, tile_do + slot * TILE * HD);
    ra_add_product<HD, TILE>(sum_k, d_p, tile_q + slot * TILE * HD);
    __syncthreads();
  }
  ra_copy_wait<0>();
  own = keys_of<HD>(shape, a, blockIdx.y); /* not kept in registers */
  ra_store_rows<HD>(a.d_k + (own.x - a.k) + (size_t)first * own.stride_x,
                    own.stride_x, sum_k, own_row, own.length - first, 1.0f,
                    1.0f);
  ra_store_rows<HD>(a.d_v + (own.y - a.v) + (size_t)first * own.stride_y,
                    own.stride_y, sum_v, own_row, own.length - first, 1.0f,
                    1.0f);
}

template <int HD, bool PLAIN>
static int
launch(const RaKAttention &shape, const Arrays &a, const uint16_t *out,
       float *workspace, void *stream)
{
  int n_bytes = (2 * OWN + 4 * TILE) * HD * 2;
  size_t n_rows = (size_t)shape.n_tokens * shape.q_heads;
  dim3 queries((shape.max_length + OWN - 1) / OWN, shape.q_heads,
               shape.n_sequences);
  dim3 keys((shape.max_keys + OWN - 1) / OWN, shape.kv_heads,
            shape.n_sequences);
  auto of_queries = queries_kernel<HD, PLAIN>;
  auto of_keys = keys_kernel<HD, PLAIN>;
  cudaError_t code = cudaFuncSetAttribute(
      of_queries, cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes);

  if (code == cudaSuccess)
    code = cudaFuncSetAttribute(
        of_keys, cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes);
  if (code != cudaSuccess)
    return code;
  if (queries.x > 0)
    ra_start_delta<HD>(out, a.d_out, workspace, n_rows, NULL, stream);
  if (keys.x > 0)
    RA_LAUNCH(of_keys, keys, THREADS, n_bytes, stream, shape, a);
  if (queries.x > 0)
    RA_LAUNCH(of_queries, queries, THREADS, n_bytes, stream, shape, a);
  return cudaGetLastError();
}

extern "C" int
ra_k_attention_backward_mma(const RaKAttention *shape, const uint16_t *q,
                            const uint16_t *k, const uint16_t *v,
                            const uint16_t *out, const float *lse,
                            const uint16_t *d_out, uint16_t *d_q, uint16_t *d_k,
                            uint16_t *d_v, float *workspace, void *stream)
{
  RaKAttention whole = ra_attention_whole(shape);
  float scale = 1.0f / sqrtf((float)shape->head_dim);
  Arrays a = {q,   k,   v,   d_out, lse,           workspace,
              d_q, d_k, d_v, scale, scale * log2_e};

  if (!ra_k_attention_gradient_ok(shape, q, k, v, out, d_out, d_q, d_k, d_v))
    return cudaErrorInvalidValue;
  if (shape->n_sequences == 0)
    return cudaSuccess;
  if (ra_k_attention_is_plain(shape))
    return shape->head_dim == 64
               ? launch<64, true>(whole, a, out, workspace, stream)
               : launch<128, true>(whole, a, out, workspace, stream);
  return shape->head_dim == 64
             ? launch<64, false>(whole, a, out, workspace, stream)
             : launch<128, false>(whole, a, out, workspace, stream);
}

extern "C" int
ra_k_attention_backward(const RaKAttention *shape, const uint16_t *q,
                        const uint16_t *k, const uint16_t *v,
                        const uint16_t *out, const float *lse,
                        const uint16_t *d_out, uint16_t *d_q, uint16_t *d_k,
                        uint16_t *d_v, float *workspace, void *stream)
{
  int code = ra_k_attention_backward_wgmma(shape, q, k, v, out, lse, d_out, d_q,
                                           d_k, d_v, workspace, stream);

  return code == cudaErrorNotSupported
             ? ra_k_attention_backward_mma(shape, q, k, v, out, lse, d_out, d_q,
                                           d_k, d_v, workspace, stream)
             : code;
}
