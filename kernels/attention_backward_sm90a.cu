/* Attention's gradients for compute capability 9.0, five products a tile: a
 * block owns 128 keys, 64 a warpgroup, and goes over the queries that see them,
 * 64 a tile (128 with heads of 64), which one warp begins to copy, two stages
 * ahead.  Of a tile it computes scores S' = K Q' and dP' = V dO', the
 * probabilities P' and dS', and adds P' dO to dV and dS' Q to dK, which stay in
 * registers.  dS' goes through shared memory, as dQ = dS K is a sum over the
 * keys of both warpgroups.  Another warp loads lse and delta of the tile's
 * queries.
 *
 * dQ is a sum over blocks too, in fp32 in the workspace.  A warp for each
 * warpgroup lets the bulk copy engine add to it, when all blocks with earlier
 * keys have: a turn for each tile of queries, head and warpgroup.  The order of
 * all additions is so that of the keys, and the bits of dQ are those of every
 * run.  The block with a tile's own keys is the last; it adds the sum to its
 * registers and writes bf16.
 *
 * A block takes a ticket for the keys that it owns, and blocks wait for those
 * with lower tickets alone: the lowest ticket of all that are not done waits
 * for none, so that some block always goes on, however few run together and in
 * whatever order they begin.  Tickets go over heads and sequences first, then
 * over keys, and tiles of queries come from the last: of two blocks that add
 * to the same tiles the later is then one tile behind the earlier.
 *
 * What is past a sequence's end is another's and may be anything: rows of it
 * are made zeroes before they are multiplied.
 *
 * Shared memory: 225 KiB (193 with heads of 64).  Registers of a thread that
 * multiplies: 128 of sums (64 with heads of 64), 64 of scores and dP (128), 32
 * of dQ when these are gone.
 */
#include "kernels/attention.h"
#include "kernels/attention_backward_sm90a.cuh"
#include "kernels/attention_delta.cuh"

static const float log2_e = 1.4426950408889634f;

struct Results {
  const float *lse, *delta;
  uint16_t *d_q, *d_k, *d_v;
  Sums sums;
  float scale, scale_log2;
};

/* Loads lse and delta of the tiles' queries to @rows, by the lanes of one warp:
 * a tile ahead of the warps that multiply, which never wait for a load. */
template <int HD>
__device__ static inline void
load_rows(const Place &p, const RaKAttention &shape, const Results &r,
          float *rows, Barriers *b)
{
  const int N = QUERIES(HD);
  int lane = (int)threadIdx.x % RA_WARP, i = 0;

  for (int query = p.last; query >= p.first; query -= N)
    for (int head = p.head; head < p.head + p.n_heads; head++, i++) {
      int stage = i % STAGES;
      float *to = rows + stage * 2 * N;

      ra_barrier_wait(&b->free[stage], (unsigned)(i / STAGES + 1) % 2);
      RA_UNROLL_TWO
      for (int at = lane; at < N; at += RA_WARP) {
        float2 row = ra_query_row(r.lse, r.delta,
                                  (size_t)(p.begin + (uint32_t)(query + at)) *
                                          shape.q_heads +
                                      (uint32_t)head,
                                  query + at < p.length);

        to[at] = row.x;
        to[N + at] = row.y;
      }
      __syncwarp();
      if (lane == 0)
        ra_barrier_arrive(&b->full[stage]);
    }
}

/* Scores of what a query does not see: @behind is the first query less the
 * first key. */
template <int N>
__device__ static inline void
mask(float scores[N / 8][4], int behind)
{
  int column = 2 * ((int)threadIdx.x % 4) + behind, row = lane_row();

  RA_UNROLL
  for (int j = 0; j < N / 8; j++) {
    RA_UNROLL
    for (int i = 0; i < 4; i++)
      if (8 * j + column + i % 2 < row + i / 2 * 8)
        scores[j][i] = -INFINITY;
  }
}

/* Probabilities in @scores.  @rows: of the queries. */
template <int N>
__device__ static inline void
soften(float scores[N / 8][4], const float *lse, float scale_log2)
{
  const float2 *of =
      reinterpret_cast<const float2 *>(lse) + (int)threadIdx.x % 4;

  RA_UNROLL
  for (int j = 0; j < N / 8; j++) {
    float2 it = of[4 * j];

    RA_UNROLL
    for (int i = 0; i < 4; i++)
      scores[j][i] = ra_exp2_fast(
          fmaf(scores[j][i], scale_log2, -(i % 2 == 0 ? it.x : it.y)));
  }
}

/* Probabilities and ds, without its scale, as left factors, 16 queries at a
 * time, so that registers are given back; ds also in shared memory, in rows of
 * the warpgroup from @to on. */
template <int N>
__device__ static inline void
differentiate(uint32_t left_p[N / 16][4], uint32_t left_s[N / 16][4],
              uint16_t *to, const float scores[N / 8][4], float d_p[N / 8][4],
              const float *delta)
{
  const float2 *of =
      reinterpret_cast<const float2 *>(delta) + (int)threadIdx.x % 4;
  int lane = (int)threadIdx.x % RA_WARP, matrix = lane / 8;
  int row = (int)threadIdx.x / RA_WARP % WARPS * 16 + matrix % 2 * 8 + lane % 8;
  /* of the first 16 queries; others are this by exclusive or, or in the next
   * panel */
  int at = row * RA_PANEL + ((matrix / 2) ^ (lane % 8)) * 8;

  RA_UNROLL
  for (int step = N / 16 - 1; step >= 0; step--) { /* the reverse spills */
    RA_UNROLL
    for (int j = 2 * step; j < 2 * step + 2; j++) {
      float2 it = of[4 * j];

      RA_UNROLL
      for (int i = 0; i < 4; i++)
        d_p[j][i] = scores[j][i] * (d_p[j][i] - (i % 2 == 0 ? it.x : it.y));
    }
    ra_left_of(left_p[step], scores, step);
    ra_left_of(left_s[step], d_p, step);
    ra_proxy_store_matrices(
        to + step / 4 * OWN * RA_PANEL + (at ^ (step % 4 * 16)), left_s[step]);
  }
}

/* The thread's warpgroup, from lane 0, so that the compiler knows it, and what
 * follows from it, to be the same in a warp: addresses of products are then
 * uniform, without a copy for each. */
__device__ static inline int
warpgroup_of_thread()
{
  return __shfl_sync(RA_ALL_LANES, (int)threadIdx.x / RA_WARPGROUP, 0);
}

/* The lanes of one warpgroup work with this. */
template <int HD> struct Group {
  const Place &p;
  const RaKAttention &shape;
  const Memory<HD> &m;
  Barriers *b;
  const Results &r;
  const float *rows; /* (STAGES, 2, QUERIES): of the tiles' queries */
  int group;
};

/* d_q of a tile: to where the engine adds it, or the end of its sum. */
template <int HD>
__device__ static inline void
put_queries(const Group<HD> &g, int i, int query, int head,
            float (&d_q)[TILE / 8][4])
{
  const Place &p = g.p;
  int thread = (int)threadIdx.x % RA_WARPGROUP, stage = i % SUMS(HD);

  if (query >= p.first + OWN) {
    ra_barrier_wait(&g.b->sums_free[g.group][stage],
                    (unsigned)(i / SUMS(HD) + 1) % 2);
    RA_UNROLL
    for (int j = 0; j < TILE / 8; j++)
      ra_proxy_store(g.m.sums(g.group, stage) + (j * RA_WARPGROUP + thread) * 4,
                     make_float4(d_q[j][0], d_q[j][1], d_q[j][2], d_q[j][3]));
    ra_proxy_fence();
    __syncwarp();
    if (threadIdx.x % RA_WARP == 0)
      ra_barrier_arrive(&g.b->sums_full[g.group][stage]);
    return;
  }
  if (p.turn > 0) {
    size_t which = part_of<HD>(p, g.shape, query, head, g.group);
    const float4 *part =
        reinterpret_cast<const float4 *>(g.r.sums.part(which)) + thread;

    if (threadIdx.x % RA_WARP == 0)
      ra_turn_wait(g.r.sums.turns + which, p.turn);
    __syncwarp();
    RA_UNROLL
    for (int j = 0; j < TILE / 8; j++) {
      float4 sum = part[j * RA_WARPGROUP];

      d_q[j][0] += sum.x;
      d_q[j][1] += sum.y;
      d_q[j][2] += sum.z;
      d_q[j][3] += sum.w;
    }
  }
  query += HD == 64 ? g.group * TILE : 0;
  ra_store_rows<TILE>(
      g.r.d_q + (size_t)(p.begin + (uint32_t)query) * g.shape.d_q_stride +
          (size_t)head * HD + (HD == 64 ? 0 : g.group * TILE),
      g.shape.d_q_stride, d_q, lane_row(), p.length - query, g.r.scale,
      g.r.scale);
}

/* Tile number @i, of queries from @query on of @head, for the 64 keys of one
 * warpgroup. */
template <int HD>
__device__ static inline void
add_queries(const Group<HD> &g, int i, int query, int head,
            float (&sum_k)[HD / 8][4], float (&sum_v)[HD / 8][4])
{
  const int N = QUERIES(HD);
  const Place &p = g.p;
  int stage = i % STAGES;
  int behind = query - p.first - g.group * TILE;
  const float *lse = g.rows + stage * 2 * N, *delta = lse + N;
  int own = g.group * TILE * RA_PANEL;
  float scores[N / 8][4], d_p[N / 8][4], d_q[TILE / 8][4];
  uint32_t left_p[N / 16][4], left_s[N / 16][4];

  if (p.length - query < N)
    clear_rows<HD, N>(g.m.queries(stage), g.m.d_out(stage), p.length - query);
  begin_product<HD>(scores, g.m.keys + own, g.m.queries(stage));
  ra_wgmma_commit();
  begin_product<HD>(d_p, g.m.values() + own, g.m.d_out(stage));
  ra_wgmma_commit();
  ra_wgmma_wait<1>(scores);
  if (behind < TILE)
    mask<N>(scores, behind);
  soften<N>(scores, lse, g.r.scale_log2);
  ra_wgmma_wait<0>(d_p);
  differentiate<N>(left_p, left_s, g.m.ds(stage) + own, scores, d_p, delta);
  begin_sums<HD>(sum_v, left_p, g.m.d_out(stage));
  ra_wgmma_commit();
  ra_proxy_fence();
  ra_named_wait(BOTH, GROUPS * RA_WARPGROUP);
  begin_queries<HD>(d_q, g.m, stage, g.group);
  begin_sums<HD>(sum_k, left_s, g.m.queries(stage));
  ra_wgmma_commit();
  ra_wgmma_wait<1>(sum_v);
  ra_wgmma_wait<1>(d_q);
  put_queries<HD>(g, i, query, head, d_q);
  ra_wgmma_wait<0>(sum_k);
}

/* All of them. */
template <int HD>
__device__ static inline void
consume(const Group<HD> &g, float (&sum_k)[HD / 8][4],
        float (&sum_v)[HD / 8][4])
{
  const Place &p = g.p;
  int i = 0;

  ra_barrier_wait(&g.b->own_full, 0);
  if (p.length - p.first < OWN)
    clear_rows<HD, OWN>(g.m.keys, g.m.values(), p.length - p.first);
  for (int query = p.last; query >= p.first; query -= QUERIES(HD))
    for (int head = p.head; head < p.head + p.n_heads; head++, i++) {
      int stage = i % STAGES;

      ra_barrier_wait(&g.b->full[stage], (unsigned)(i / STAGES) % 2);
      add_queries<HD>(g, i, query, head, sum_k, sum_v);
      if (threadIdx.x % RA_WARP == 0)
        ra_barrier_arrive(&g.b->free[stage]);
    }
}

/* The keys of the next ticket; past the sequence's end if it has fewer. */
template <int HD>
__device__ static inline void
take_place(Place *p, const RaKAttention &shape, uint32_t *ticket)
{
  uint32_t mine = atomicAdd(ticket, 1u);
  uint32_t n = shape.kv_heads * shape.n_sequences;
  uint32_t sequence = mine % n / shape.kv_heads;

  p->begin = shape.begin[sequence];
  p->length = (int)(shape.begin[sequence + 1] - p->begin);
  p->turn = mine / n;
  p->first = (int)(p->turn * OWN);
  p->kv_head = (int)(mine % shape.kv_heads);
  p->n_heads = (int)(shape.q_heads / shape.kv_heads);
  p->head = p->kv_head * p->n_heads;
  p->last = (p->length - 1) / QUERIES(HD) * QUERIES(HD);
}

/* blockIdx.x: one of as many blocks as tiles of 128 keys. */
template <int HD>
__global__ static void
__launch_bounds__(THREADS, 1)
    gradients_kernel(RaKAttention shape, const __grid_constant__ Maps maps,
                     Results r)
{
  RA_DYNAMIC(memory);
  RA_SHARED(Barriers, barriers, 1);
  RA_SHARED(float, rows, STAGES * 2 * QUERIES(HD));
  RA_SHARED(Place, place, 1); /* read again and again: registers are scarce */
  Memory<HD> m(memory);
  const Place &p = *place;
  int warpgroup = warpgroup_of_thread();

  if (threadIdx.x == 0) {
    take_place<HD>(place, shape, r.sums.ticket);
    init_barriers(barriers);
  }
  __syncthreads();
  if (p.first >= p.length)
    return;
  if (warpgroup == 0) {
    int warp = (int)threadIdx.x / RA_WARP;

    ra_registers_fewer<24>();
    if (threadIdx.x == 0)
      produce<HD>(p, maps, m, barriers);
    else if (threadIdx.x % RA_WARP == 0 && warp <= GROUPS)
      add_sums<HD>(p, shape, m, barriers, r.sums, warp - 1);
    else if (warp == GROUPS + 1)
      load_rows<HD>(p, shape, r, rows, barriers);
  } else {
    float sum_k[HD / 8][4] = {}, sum_v[HD / 8][4] = {};
    int group = warpgroup - 1;

    ra_registers_more<240>();
    consume<HD>({p, shape, m, barriers, r, rows, group}, sum_k, sum_v);

    int row = group * TILE + lane_row();
    size_t at = (size_t)(p.begin + (uint32_t)p.first) * shape.stride +
                (size_t)p.kv_head * HD;

    ra_store_rows<HD>(r.d_k + at, shape.stride, sum_k, row, p.length - p.first,
                      r.scale, r.scale);
    ra_store_rows<HD>(r.d_v + at, shape.stride, sum_v, row, p.length - p.first,
                      1.0f, 1.0f);
  }
}

/* The workspace, for each row: fp32 of d_q, as many as whole tiles of all
 * queries have; delta; and a count, more than the ticket and the turns. */
extern "C" size_t
ra_k_attention_backward_workspace(const RaKAttention *s)
{
  size_t n_rows = (size_t)s->n_tokens * s->q_heads;

  return ra_is_sm90() && ra_k_attention_is_plain(s) ? n_rows * (s->head_dim + 2)
                                                    : n_rows;
}

template <int HD>
static int
launch(const RaKAttention &shape, const Maps &maps, const Results &r,
       void *stream)
{
  int n_bytes = Memory<HD>::N_BYTES + RA_SWIZZLE_BYTES;
  size_t n = (size_t)((shape.max_length + OWN - 1) / OWN) * shape.kv_heads *
             shape.n_sequences;
  auto kernel = gradients_kernel<HD>;
  int code = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes);

  if (code != cudaSuccess)
    return code;
  if (n > 0x7fffffff) /* the limit of a grid */
    return cudaErrorInvalidValue;
  RA_LAUNCH(kernel, (unsigned)n, THREADS, n_bytes, stream, shape, maps, r);
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
  float *delta = workspace + n_rows * hd;
  uint32_t *counts = reinterpret_cast<uint32_t *>(delta + n_rows);
  RaKAttention s = *shape;
  Results r = {lse,   delta,         d_q,
               d_k,   d_v,           {workspace, counts + 1, counts},
               scale, scale * log2_e};
  Maps maps;
  int code = cudaSuccess;

  if (!ra_k_attention_gradient_ok(shape, q, k, v, out, d_out, d_q, d_k, d_v) ||
      !ra_is_aligned(workspace))
    return cudaErrorInvalidValue;
  if (!ra_is_sm90() || !ra_k_attention_is_plain(shape))
    return cudaErrorNotSupported;
  if (shape->n_sequences == 0 || shape->max_length == 0)
    return cudaSuccess;
  s.d_q_stride = s.d_q_stride > 0 ? s.d_q_stride : s.stride;
  auto map = [&](RaTensorMap *to, const uint16_t *x, uint32_t heads,
                 size_t stride, uint32_t rows) {
    if (code == cudaSuccess)
      code = ra_tensor_map(to, x, hd, heads, s.n_tokens, stride, rows);
  };
  map(&maps.q, q, s.q_heads, s.stride, QUERIES(hd));
  map(&maps.k, k, s.kv_heads, s.stride, OWN);
  map(&maps.v, v, s.kv_heads, s.stride, OWN);
  map(&maps.d_out, d_out, s.q_heads, (size_t)s.q_heads * hd, QUERIES(hd));
  if (code != cudaSuccess)
    return code;
  if (hd == 64) {
    ra_start_delta<64>(out, d_out, delta, n_rows, counts, stream);
    return launch<64>(s, maps, r, stream);
  }
  ra_start_delta<128>(out, d_out, delta, n_rows, counts, stream);
  return launch<128>(s, maps, r, stream);
}
