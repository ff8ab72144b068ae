/* Causal attention forward on any device, and the choice of variant. */
#include "kernels/attention.h"
#include "kernels/attention_sight.cuh"
#include "kernels/attention_tile.cuh"

/* Queries and keys of a tile; four warps of 16 queries. */
#define TILE_Q 64
#define TILE_K 64
#define THREADS 128

static const float log2_e = 1.4426950408889634f;

/* Where the running softmax of a lane's two rows stands, in powers of two. */
struct Running {
  float most[2]; /* of scores x scale x log2 e */
  float sum[2];  /* of this lane's columns */
};

/* Takes the scores of one tile in: they become probabilities relative to the
 * new maximum, @out of before is scaled to it.  Plain: columns of a row past
 * its own are masked, @diagonal is the first column less the first row;
 * else @first_key is the first column, and a row may have seen none yet. */
template <int HD, bool PLAIN>
__device__ static inline void
soften(float scores[TILE_K / 8][4], Running *running, float out[HD / 8][4],
       float scale_log2, int diagonal, const RaKAttention &shape,
       const RaSight sights[2], int first_key)
{
  int lane = (int)threadIdx.x % RA_WARP;
  bool masked = diagonal + TILE_K > 1;

  RA_UNROLL
  for (int half = 0; half < 2; half++) {
    int row = lane / 4 + 8 * half;
    float most = running->most[half], base, shrink, sum = 0.0f;

    RA_UNROLL
    for (int j = 0; j < TILE_K / 8; j++) {
      RA_UNROLL
      for (int i = 2 * half; i < 2 * half + 2; i++) {
        int column = 8 * j + 2 * (lane % 4) + i % 2;

        scores[j][i] *= scale_log2;
        if (PLAIN ? masked && diagonal + column > row
                  : first_key + column >= sights[half].seen)
          scores[j][i] = -INFINITY;
        else
          scores[j][i] = ra_look_far<PLAIN>(
              scores[j][i], ra_place_of_key<PLAIN>(shape, first_key + column),
              sights[half]);
        most = fmaxf(most, scores[j][i]);
      }
    }
    most = ra_quad_max(most);
    base = !PLAIN && most == -INFINITY ? 0.0f : most;
    shrink = exp2f(running->most[half] - base);
    RA_UNROLL
    for (int j = 0; j < TILE_K / 8; j++) {
      RA_UNROLL
      for (int i = 2 * half; i < 2 * half + 2; i++) {
        scores[j][i] = exp2f(scores[j][i] - base);
        sum += scores[j][i];
      }
    }
    running->most[half] = most;
    running->sum[half] = running->sum[half] * shrink + sum;
    RA_UNROLL
    for (int j = 0; j < HD / 8; j++) {
      out[j][2 * half] *= shrink;
      out[j][2 * half + 1] *= shrink;
    }
  }
}

/* Work of a block. */
struct Place {
  uint32_t begin, head;  /* first token of the sequence; query head */
  int length, first;     /* queries of the sequence; the tile's first */
  int n_keys, n_tiles;   /* of the sequence; of them, that its queries see */
  size_t stride;         /* of keys */
  const uint16_t *k, *v; /* of the sequence and the key head */
};

/* blockIdx: (tile of queries from the last, query head, sequence). */
template <int HD, bool PLAIN>
__device__ static inline Place
find_place(const RaKAttention &shape, const uint16_t *k, const uint16_t *v)
{
  Place p;
  size_t at;
  int end, seen;

  p.begin = shape.begin[blockIdx.z];
  p.head = blockIdx.y;
  p.length = ra_n_queries(shape);
  p.first = (int)(gridDim.x - 1 - blockIdx.x) * TILE_Q;
  p.n_keys = ra_n_keys(shape);
  end = p.first + TILE_Q < p.length ? p.first + TILE_Q : p.length;
  seen = ra_seen_by<PLAIN>(shape, end - 1, p.length);
  p.n_tiles = (seen + TILE_K - 1) / TILE_K;
  p.stride = shape.kv_stride;
  at = shape.kv_begin[blockIdx.z] * p.stride +
       (size_t)(p.head / (shape.q_heads / shape.kv_heads)) * HD;
  p.k = k + at;
  p.v = v + at;
  return p;
}

/* Begins to copy tile number @tile of keys and values where it belongs. */
template <int HD>
__device__ static inline void
load_keys(const Place &p, int tile, uint16_t *tile_k, uint16_t *tile_v)
{
  size_t at = (size_t)tile * TILE_K * p.stride;
  int left = p.n_keys - tile * TILE_K, slot = tile % 2 * TILE_K * HD;

  ra_tile_load<TILE_K, HD, THREADS>(tile_k + slot, p.k + at, p.stride, left);
  ra_tile_load<TILE_K, HD, THREADS>(tile_v + slot, p.v + at, p.stride, left);
}

/* scores = the warp's queries x a tile of keys, transposed. */
template <int HD>
__device__ static inline void
multiply(float scores[TILE_K / 8][4], const uint32_t queries[HD / 16][4],
         const uint16_t *keys)
{
  RA_UNROLL
  for (int step = 0; step < HD / 16; step++) {
    RA_UNROLL
    for (int pair = 0; pair < TILE_K / 16; pair++) {
      uint32_t right[4];

      ra_tile_right<HD>(right, keys, 16 * pair, step);
      ra_mma_pair(&scores[2 * pair], queries[step], right);
    }
  }
}

/* Plain: a first column is always below every row of a tile that is there: no
 * row is masked as a whole and `most` is finite after the first tile. */
template <int HD, bool PLAIN>
__global__ static void
__launch_bounds__(THREADS)
    attention_kernel(RaKAttention shape, const uint16_t *__restrict__ q,
                     const uint16_t *__restrict__ k,
                     const uint16_t *__restrict__ v, uint16_t *__restrict__ out,
                     float *__restrict__ out_lse, float scale_log2)
{
  RA_DYNAMIC(memory);
  uint16_t *tile_q = reinterpret_cast<uint16_t *>(memory);
  uint16_t *tile_k = tile_q + TILE_Q * HD;     /* two */
  uint16_t *tile_v = tile_k + 2 * TILE_K * HD; /* two */
  Place p = find_place<HD, PLAIN>(shape, k, v);
  int warp_row = (int)threadIdx.x / RA_WARP * 16;
  Running running = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
  float sums[HD / 8][4] = {};
  uint32_t queries[HD / 16][4];
  RaSight sights[2];

  if (p.first >= p.length)
    return;
  for (int half = 0; half < 2; half++)
    sights[half] = ra_sight_of<PLAIN>(
        shape, p.head,
        p.first + warp_row + (int)threadIdx.x % RA_WARP / 4 + 8 * half,
        p.length);
  ra_tile_load<TILE_Q, HD, THREADS>(
      tile_q, q + (p.begin + p.first) * shape.stride + (size_t)p.head * HD,
      shape.stride, p.length - p.first);
  load_keys<HD>(p, 0, tile_k, tile_v);
  ra_copy_commit();
  for (int tile = 0; tile < p.n_tiles; tile++) {
    int slot = tile % 2 * TILE_K * HD;
    float scores[TILE_K / 8][4] = {};

    if (tile + 1 < p.n_tiles)
      load_keys<HD>(p, tile + 1, tile_k, tile_v);
    ra_copy_commit(); /* maybe of nothing: the wait counts groups */
    ra_copy_wait<1>();
    __syncthreads();
    if (tile == 0) {
      RA_UNROLL
      for (int step = 0; step < HD / 16; step++)
        ra_tile_left<HD>(queries[step], tile_q, warp_row, step);
    }
    multiply<HD>(scores, queries, tile_k + slot);
    soften<HD, PLAIN>(scores, &running, sums, scale_log2,
                      tile * TILE_K - p.first - warp_row, shape, sights,
                      tile * TILE_K);
    ra_add_product<HD, TILE_K>(sums, scores, tile_v + slot);
    __syncthreads(); /* the tile after next goes where this one is */
  }
  ra_copy_wait<0>();
  ra_store_attended<HD>(out, out_lse, shape.q_heads,
                        (size_t)(p.begin + p.first) * shape.q_heads + p.head,
                        p.length - p.first,
                        warp_row + (int)threadIdx.x % RA_WARP / 4, sums,
                        running.most, running.sum);
}

extern "C" int
ra_k_attention_mma(const RaKAttention *shape, const uint16_t *q,
                   const uint16_t *k, const uint16_t *v, uint16_t *out,
                   float *out_lse, void *stream)
{
  if (!ra_k_attention_shape_ok(shape) || !ra_is_aligned(q) ||
      !ra_is_aligned(k) || !ra_is_aligned(v) || !ra_is_aligned(out))
    return cudaErrorInvalidValue;
  if (shape->n_sequences == 0 || shape->max_length == 0)
    return cudaSuccess;

  auto launch = [&](auto kernel) {
    int n_bytes = (int)((TILE_Q + 4 * TILE_K) * shape->head_dim * 2);
    dim3 grid((shape->max_length + TILE_Q - 1) / TILE_Q, shape->q_heads,
              shape->n_sequences);
    cudaError_t code = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes);

    if (code != cudaSuccess)
      return (int)code;
    RA_LAUNCH(kernel, grid, THREADS, n_bytes, stream, ra_attention_whole(shape),
              q, k, v, out, out_lse, log2_e / sqrtf((float)shape->head_dim));
    return (int)cudaGetLastError();
  };

  if (ra_k_attention_is_plain(shape))
    return shape->head_dim == 64 ? launch(attention_kernel<64, true>)
                                 : launch(attention_kernel<128, true>);
  return shape->head_dim == 64 ? launch(attention_kernel<64, false>)
                               : launch(attention_kernel<128, false>);
}

extern "C" int
ra_k_attention(const RaKAttention *shape, const uint16_t *q, const uint16_t *k,
               const uint16_t *v, uint16_t *out, float *out_lse, void *stream)
{
  int code = ra_k_attention_wgmma(shape, q, k, v, out, out_lse, stream);

  return code == cudaErrorNotSupported
             ? ra_k_attention_mma(shape, q, k, v, out, out_lse, stream)
             : code;
}
