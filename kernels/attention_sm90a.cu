/* Attention forward for compute capability 9.0, after FlashAttention-3 (arXiv
 * 2407.08608): a block has 128 queries of one head at a time.  One warp begins
 * bulk copies of tiles of keys and values, two stages; two warpgroups multiply,
 * each for 64 queries.  They take turns to begin products, so that while one's
 * run the other has its softmax; within a warpgroup the scores of a tile are
 * made while the last tile's values are added.
 *
 * A multiprocessor has one block, which takes tiles of queries until there are
 * none: what the next one reads comes, and one warpgroup begins it, while the
 * other ends the one before and stores it.  Tickets say which tile is next.
 *
 * Tiles of keys come from the last to the first: the one on the diagonal is the
 * only one with a mask or with rows past the sequence's end, and in it every
 * query has its own key, so that `most` is finite from there on.
 *
 * Shared memory: two tiles each of queries, keys and values, 192 KiB at
 * head_dim 128: one block a multiprocessor.  Registers of a thread that
 * multiplies: 64 scores, 32 probabilities, HD / 2 sums.
 */
#include "kernels/attention.h"
#include "kernels/attention_tile.cuh"
#include "kernels/hopper.cuh"

#define TILE 128
#define STAGES 2
#define ITEMS 2                        /* tiles of queries */
#define GROUPS 2                       /* warpgroups that multiply */
#define WARPS (RA_WARPGROUP / RA_WARP) /* of each */
#define THREADS ((GROUPS + 1) * RA_WARPGROUP)

/* Named barriers: the turn of each warpgroup, and one within each. */
#define TURN 1
#define WITHIN (TURN + GROUPS)

static const float log2_e = 1.4426950408889634f;

/* A tile of HD / 64 panels. */
template <int HD> struct Tile {
  enum { PANEL = TILE * RA_PANEL, SIZE = TILE * HD, BYTES = 2 * TILE * HD };
};

struct Maps {
  RaTensorMap q, k, v;
};

/* Shared memory's barriers.  What is `full` has come, what is `free` has been
 * read by all warps that multiply.  A place is full and free with its queries.
 */
struct Barriers {
  RaBarrier q_full[ITEMS], q_free[ITEMS];
  RaBarrier k_full[STAGES], k_free[STAGES];
  RaBarrier v_full[STAGES], v_free[STAGES];
  float known[GROUPS * RA_WARPGROUP]; /* of ra_before() */
};

/* A tile of queries. */
struct Place {
  uint32_t begin;    /* first token of the sequence */
  int head, kv_head; /* of queries, of keys */
  int length, first; /* tokens of the sequence; the tile's first query */
  int n_tiles; /* of keys that its queries see; 0: there is no tile left */
};

/* Tickets, with those that are past a sequence's end. */
struct Tickets {
  uint32_t n, n_rows; /* of all; tiles of the longest sequence */
};

/* The tile of the next ticket: (sequence, tile from the last, query head).
 * Those of a sequence with most keys come first, of all heads: the last are
 * short, and no multiprocessor is left alone with a long one.  Each block asks
 * until it gets a ticket that there is not; the last of these is known by its
 * number, and makes the count 0 again. */
__device__ static inline Place
take_place(const RaKAttention &shape, const Tickets &tickets)
{
  for (;;) {
    uint32_t mine = atomicAdd(shape.ticket, 1u);
    Place p = {};

    if (mine >= tickets.n) {
      if (mine == tickets.n + gridDim.x - 1)
        *shape.ticket = 0;
      return p;
    }
    uint32_t sequence = mine / shape.q_heads / tickets.n_rows;

    p.begin = shape.begin[sequence];
    p.head = (int)(mine % shape.q_heads);
    p.kv_head = p.head / (int)(shape.q_heads / shape.kv_heads);
    p.length = (int)(shape.begin[sequence + 1] - p.begin);
    p.n_tiles = (int)(tickets.n_rows - mine / shape.q_heads % tickets.n_rows);
    p.first = (p.n_tiles - 1) * TILE;
    if (p.first < p.length)
      return p;
  }
}

__device__ static inline void
init_barriers(Barriers *b)
{
  for (int i = 0; i < ITEMS; i++) {
    ra_barrier_init(&b->q_full[i], 1);
    ra_barrier_init(&b->q_free[i], GROUPS * WARPS);
  }
  for (int i = 0; i < STAGES; i++) {
    ra_barrier_init(&b->k_full[i], 1);
    ra_barrier_init(&b->v_full[i], 1);
    ra_barrier_init(&b->k_free[i], GROUPS * WARPS);
    ra_barrier_init(&b->v_free[i], GROUPS * WARPS);
  }
}

template <int HD>
__device__ static inline void
copy_tile(uint16_t *tile, const RaTensorMap *map, int head, int token,
          RaBarrier *full)
{
  ra_barrier_expect(full, Tile<HD>::BYTES);
  for (int panel = 0; panel < HD / RA_PANEL; panel++)
    ra_bulk_copy(tile + panel * Tile<HD>::PANEL, map, panel * RA_PANEL, head,
                 token, full);
}

/* One thread, tile by tile of queries: these, then keys and values from the
 * last on. */
template <int HD>
__device__ static inline void
produce(const RaKAttention &shape, const Tickets &tickets, const Maps *maps,
        Place *places, uint16_t *tiles_q, uint16_t *tiles_k, uint16_t *tiles_v,
        Barriers *b)
{
  unsigned n = 0; /* tiles of keys that have been copied */

  for (unsigned item = 0;; item++) {
    Place p = take_place(shape, tickets);
    unsigned slot = item % ITEMS;

    ra_barrier_wait(&b->q_free[slot], (item / ITEMS + 1) % 2);
    places[slot] = p;
    if (p.n_tiles == 0) {
      ra_barrier_arrive(&b->q_full[slot]);
      return;
    }
    copy_tile<HD>(tiles_q + slot * Tile<HD>::SIZE, &maps->q, p.head,
                  (int)p.begin + p.first, &b->q_full[slot]);
    for (int i = 0; i < p.n_tiles; i++, n++) {
      int stage = (int)(n % STAGES);
      int token = (int)p.begin + (p.n_tiles - 1 - i) * TILE;
      unsigned before = (n / STAGES + 1) % 2;

      ra_barrier_wait(&b->k_free[stage], before);
      copy_tile<HD>(tiles_k + stage * Tile<HD>::SIZE, &maps->k, p.kv_head,
                    token, &b->k_full[stage]);
      ra_barrier_wait(&b->v_free[stage], before);
      copy_tile<HD>(tiles_v + stage * Tile<HD>::SIZE, &maps->v, p.kv_head,
                    token, &b->v_full[stage]);
    }
  }
}

/* Where the running softmax of a lane's two rows stands, in powers of two. */
struct Running {
  float most[2];   /* of scores x scale x log2 e */
  float sum[2];    /* of this lane's columns */
  float shrink[2]; /* what the sums of before are to be scaled by */
};

/* Scores of columns past a row's own, in the tile on the diagonal. */
__device__ static inline void
mask(float scores[TILE / 8][4], int group)
{
  int lane = (int)threadIdx.x % RA_WARP;
  int warp = (int)threadIdx.x / RA_WARP % 4;
  int row = group * 64 + warp * 16 + lane / 4;

  RA_UNROLL
  for (int j = 0; j < TILE / 8; j++) {
    RA_UNROLL
    for (int i = 0; i < 4; i++)
      if (8 * j + 2 * (lane % 4) + i % 2 > row + i / 2 * 8)
        scores[j][i] = -INFINITY;
  }
}

/* Scores become probabilities relative to the new maximum. */
__device__ static inline void
soften(float scores[TILE / 8][4], Running *running, float scale_log2)
{
  RA_UNROLL
  for (int half = 0; half < 2; half++) {
    float most = -INFINITY, sum = 0.0f;

    RA_UNROLL
    for (int j = 0; j < TILE / 8; j++)
      most = fmaxf(most, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
    most = fmaxf(running->most[half], ra_quad_max(most) * scale_log2);
    running->shrink[half] = ra_exp2_fast(running->most[half] - most);
    RA_UNROLL
    for (int j = 0; j < TILE / 8; j++) {
      RA_UNROLL
      for (int i = 2 * half; i < 2 * half + 2; i++) {
        scores[j][i] = ra_exp2_fast(fmaf(scores[j][i], scale_log2, -most));
        sum += scores[j][i];
      }
    }
    running->most[half] = most;
    running->sum[half] = running->sum[half] * running->shrink[half] + sum;
  }
}

/* Begins scores = the group's 64 queries x a tile of keys, transposed. */
template <int HD>
__device__ static inline void
begin_scores(float (&scores)[TILE / 8][4], const uint16_t *queries,
             const uint16_t *keys)
{
  ra_wgmma_fence(scores);
  RA_UNROLL
  for (int step = 0; step < HD / 16; step++) {
    int panel = step / 4 * Tile<HD>::PANEL;

    ra_wgmma(scores, ra_descriptor(queries + panel, 0) + step % 4 * 2,
             ra_descriptor(keys + panel, 0) + step % 4 * 2, step > 0);
  }
  ra_wgmma_commit();
}

/* Begins sums += probabilities x a tile of values. */
template <int HD>
__device__ static inline void
begin_sums(float (&sums)[HD / 8][4], const uint32_t left[TILE / 16][4],
           const uint16_t *values)
{
  ra_wgmma_fence(sums);
  RA_UNROLL
  for (int step = 0; step < TILE / 16; step++)
    ra_wgmma_rows(
        sums, left[step],
        ra_descriptor(values + step * 16 * RA_PANEL, 2 * Tile<HD>::PANEL));
  ra_wgmma_commit();
}

/* Rows of values from @n on, another sequence's: a probability of 0 times what
 * is not finite would be no number.  Both warpgroups write the same zeroes. */
template <int HD>
__device__ static inline void
clear_rows(uint16_t *values, int n, int group)
{
  ra_proxy_clear<HD, TILE>(values, n);
  ra_proxy_fence();
  ra_named_wait((unsigned)(WITHIN + group), RA_WARPGROUP);
}

/* Its warp has read what @free is for. */
__device__ static inline void
tell(RaBarrier *free)
{
  if (threadIdx.x % RA_WARP == 0)
    ra_barrier_arrive(free);
}

/* One warpgroup's lanes: all tiles of keys for its 64 queries; @n came before.
 * @q_free: told when it has read the queries */
template <int HD>
__device__ static inline void
consume(const Place &p, unsigned n, const uint16_t *tile_q, RaBarrier *q_free,
        const uint16_t *tiles_k, uint16_t *tiles_v, Barriers *b,
        float scale_log2, int group, Running *running, float (&sums)[HD / 8][4])
{
  const uint16_t *queries = tile_q + group * 64 * RA_PANEL;
  unsigned mine = (unsigned)(TURN + group);
  unsigned other = (unsigned)(TURN + (group + 1) % GROUPS);
  unsigned stage = n % STAGES, parity = n / STAGES % 2;
  float scores[TILE / 8][4];
  uint32_t left[TILE / 16][4];

  ra_barrier_wait(&b->k_full[stage], parity);
  ra_named_wait(mine, GROUPS * RA_WARPGROUP);
  begin_scores<HD>(scores, queries, tiles_k + stage * Tile<HD>::SIZE);
  ra_named_arrive(other, GROUPS * RA_WARPGROUP);
  ra_wgmma_wait<0>(scores);
  tell(&b->k_free[stage]);
  if (p.n_tiles == 1)
    tell(q_free);
  mask(scores, group);
  soften(scores, running, scale_log2);
  ra_left_of_all<TILE>(left, scores);
  if (p.length - p.first < TILE) {
    ra_barrier_wait(&b->v_full[stage], parity);
    clear_rows<HD>(tiles_v + stage * Tile<HD>::SIZE, p.length - p.first, group);
  }

  for (int i = 1; i < p.n_tiles; i++) {
    unsigned last = stage, of_last = parity;

    n++;
    stage = n % STAGES;
    parity = n / STAGES % 2;
    ra_barrier_wait(&b->k_full[stage], parity);
    ra_named_wait(mine, GROUPS * RA_WARPGROUP);
    begin_scores<HD>(scores, queries, tiles_k + stage * Tile<HD>::SIZE);
    ra_barrier_wait(&b->v_full[last], of_last);
    begin_sums<HD>(sums, left, tiles_v + last * Tile<HD>::SIZE);
    ra_named_arrive(other, GROUPS * RA_WARPGROUP);
    ra_wgmma_wait<1>(scores);
    tell(&b->k_free[stage]);
    if (i + 1 == p.n_tiles)
      tell(q_free);
    soften(scores, running, scale_log2);
    ra_before(&b->known[threadIdx.x - RA_WARPGROUP],
              running->sum[0] + running->sum[1]);
    ra_wgmma_wait<0>(sums);
    tell(&b->v_free[last]);
    RA_UNROLL
    for (int j = 0; j < HD / 8; j++) {
      RA_UNROLL
      for (int k = 0; k < 4; k++)
        sums[j][k] *= running->shrink[k / 2];
    }
    ra_left_of_all<TILE>(left, scores);
  }

  ra_barrier_wait(&b->v_full[stage], parity);
  begin_sums<HD>(sums, left, tiles_v + stage * Tile<HD>::SIZE);
  ra_wgmma_wait<0>(sums);
  tell(&b->v_free[stage]);
}

/* One warpgroup's lanes: all tiles of queries of the block.  Turns go round
 * without an end, across tiles: the last one that is given is taken back. */
template <int HD>
__device__ static inline void
consume_all(const RaKAttention &shape, const Place *places,
            const uint16_t *tiles_q, const uint16_t *tiles_k, uint16_t *tiles_v,
            Barriers *b, float scale_log2, int group, uint16_t *out,
            float *out_lse)
{
  int row = group * 64 + (int)threadIdx.x / RA_WARP % WARPS * 16 +
            (int)threadIdx.x % RA_WARP / 4;
  unsigned n = 0;

  if (group == 1)
    ra_named_arrive(TURN, GROUPS * RA_WARPGROUP);
  for (unsigned item = 0;; item++) {
    Running running = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}, {0.0f, 0.0f}};
    float sums[HD / 8][4] = {};

    unsigned slot = item % ITEMS;

    ra_barrier_wait(&b->q_full[slot], item / ITEMS % 2);
    Place p = places[slot];

    p.n_tiles = __shfl_sync(RA_ALL_LANES, p.n_tiles, 0);
    if (p.n_tiles == 0)
      break;
    consume<HD>(p, n, tiles_q + slot * Tile<HD>::SIZE, &b->q_free[slot],
                tiles_k, tiles_v, b, scale_log2, group, &running, sums);
    n += (unsigned)p.n_tiles;
    ra_store_attended<HD>(out, out_lse, shape.q_heads,
                          (size_t)(p.begin + p.first) * shape.q_heads + p.head,
                          p.length - p.first, row, sums, running.most,
                          running.sum);
  }
  if (group == 0)
    ra_named_wait(TURN, GROUPS * RA_WARPGROUP);
}

/* 168 registers a thread at entry; 24 x 128 + 2 x 240 x 128 are no more. */
template <int HD>
__global__ static void
__launch_bounds__(THREADS, 1)
    attention_kernel(RaKAttention shape, Tickets tickets,
                     const __grid_constant__ Maps maps,
                     uint16_t *__restrict__ out, float *__restrict__ out_lse,
                     float scale_log2)
{
  RA_DYNAMIC(memory);
  RA_SHARED(Barriers, barriers, 1);
  RA_SHARED(Place, places, ITEMS);
  uint16_t *tiles_q = reinterpret_cast<uint16_t *>(ra_swizzle_begin(memory));
  uint16_t *tiles_k = tiles_q + ITEMS * Tile<HD>::SIZE;
  uint16_t *tiles_v = tiles_k + STAGES * Tile<HD>::SIZE;
  int warpgroup = __shfl_sync(RA_ALL_LANES, (int)threadIdx.x / RA_WARPGROUP, 0);

  if (threadIdx.x == 0)
    init_barriers(barriers);
  __syncthreads();
  if (warpgroup == 0) {
    ra_registers_fewer<24>();
    if (threadIdx.x == 0)
      produce<HD>(shape, tickets, &maps, places, tiles_q, tiles_k, tiles_v,
                  barriers);
  } else {
    ra_registers_more<240>();
    consume_all<HD>(shape, places, tiles_q, tiles_k, tiles_v, barriers,
                    scale_log2, warpgroup - 1, out, out_lse);
  }
}

extern "C" int
ra_k_attention_wgmma(const RaKAttention *shape, const uint16_t *q,
                     const uint16_t *k, const uint16_t *v, uint16_t *out,
                     float *out_lse, void *stream)
{
  uint32_t hd = shape->head_dim;
  uint32_t n_rows = (shape->max_length + TILE - 1) / TILE;
  uint64_t n = (uint64_t)n_rows * shape->q_heads * shape->n_sequences;
  Maps maps;
  int code;

  if (!ra_k_attention_shape_ok(shape) || !ra_is_aligned(q) ||
      !ra_is_aligned(k) || !ra_is_aligned(v) || !ra_is_aligned(out))
    return cudaErrorInvalidValue;
  if (shape->n_sequences == 0 || shape->max_length == 0)
    return cudaSuccess;
  if (!ra_is_sm90() || !ra_k_attention_is_plain(shape))
    return cudaErrorNotSupported;
  if (!shape->ticket || shape->n_processors == 0 || n > INT32_MAX)
    return cudaErrorInvalidValue;
  code = ra_tensor_map(&maps.q, q, hd, shape->q_heads, shape->n_tokens,
                       shape->stride, TILE);
  if (code == cudaSuccess)
    code = ra_tensor_map(&maps.k, k, hd, shape->kv_heads, shape->n_tokens,
                         shape->stride, TILE);
  if (code == cudaSuccess)
    code = ra_tensor_map(&maps.v, v, hd, shape->kv_heads, shape->n_tokens,
                         shape->stride, TILE);
  if (code != cudaSuccess)
    return code;

  auto launch = [&](auto kernel) {
    int n_bytes =
        (int)((ITEMS + 2 * STAGES) * TILE * hd * 2) + RA_SWIZZLE_BYTES;
    unsigned n_blocks =
        n < shape->n_processors ? (unsigned)n : shape->n_processors;
    cudaError_t status = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes);

    if (status != cudaSuccess)
      return (int)status;
    RA_LAUNCH(kernel, n_blocks, THREADS, n_bytes, stream, *shape,
              Tickets{(uint32_t)n, n_rows}, maps, out, out_lse,
              log2_e / sqrtf((float)hd));
    return (int)cudaGetLastError();
  };

  return hd == 64 ? launch(attention_kernel<64>)
                  : launch(attention_kernel<128>);
}
