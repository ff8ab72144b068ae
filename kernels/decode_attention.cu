/* Attention of one token over paged keys and values, split over tokens. */
#include "kernels/attention.h"
#include "kernels/attention_tile.cuh"
#include "kernels/decode_attention.h"

#define TILE RA_K_DECODE_TILE
#define THREADS 128 /* four warps, each 16 of a tile's tokens */
#define WARPS (THREADS / RA_WARP)
#define ROWS RA_K_DECODE_GROUP

static const float log2_e = 1.4426950408889634f;

/* Pages of a sequence. */
struct Pages {
  const uint32_t *numbers;
  uint32_t n_tokens, n_rows, shift; /* of a page; 32: no power of two */

  /* Row of the cache of a token below @end; 0 from there on. */
  __device__ uint32_t
  row_of(int token, int end) const
  {
    uint32_t at = (uint32_t)token, page;

    if (token >= end)
      return 0;
    page = shift < 32 ? at >> shift : at / n_tokens;
    return numbers[page] * n_rows + at - page * n_tokens;
  }
};

__device__ static inline Pages
pages_of(const RaKDecode &shape, uint32_t sequence)
{
  uint32_t n = shape.page_tokens, shift = 0;

  while (n >> shift > 1)
    shift++;
  return {shape.pages + (size_t)sequence * shape.max_pages, n, shape.page_rows,
          1u << shift == n ? shift : 32};
}

/* Begins to copy tokens @first to + 63 of a sequence, from @rows of the cache;
 * zeroes from @end on. */
template <int HD>
__device__ static inline void
load_tokens(const RaKDecode &shape, const uint32_t *rows, uint16_t *tile_k,
            uint16_t *tile_v, const uint16_t *k, const uint16_t *v,
            uint32_t kv_head, int first, int end)
{
  enum { CHUNKS = HD / 8 };

  RA_UNROLL
  for (int i = 0; i < TILE * CHUNKS / THREADS; i++) {
    int at = i * THREADS + (int)threadIdx.x;
    int row = at / CHUNKS, chunk = at % CHUNKS;
    bool is_there = first + row < end;
    size_t from =
        ((size_t)rows[row] * shape.kv_heads + kv_head) * HD + (size_t)chunk * 8;

    ra_copy_async(ra_tile_at<HD>(tile_k, row, chunk), k + from, is_there);
    ra_copy_async(ra_tile_at<HD>(tile_v, row, chunk), v + from, is_there);
  }
}

/* State of a head in a warp of a block, or in a part of a sequence. */
struct Part {
  float most, sum; /* of the powers of two; -INFINITY and 0: of no token */
};

/* Weight of a part in a whole whose largest power is @most; NaN stays. */
__device__ static inline float
weight_of(float part_most, float most)
{
  return part_most == -INFINITY ? 0.0f : exp2f(part_most - most);
}

/* Takes in the scores of 16 tokens, @token the lane's first of them; those from
 * @end on are masked.  All of a warp's tokens may be.  @slopes: what a token's
 * distance from @last, the new one, adds, in powers of two. */
template <int HD>
__device__ static inline void
soften(float scores[2][4], Part parts[2], float sums[HD / 8][4],
       float scale_log2, const float slopes[2], int token, int end, int last)
{
  RA_UNROLL
  for (int half = 0; half < 2; half++) {
    float now = parts[half].most, shrink;

    RA_UNROLL
    for (int e = 0; e < 4; e++) {
      float *score = &scores[e / 2][2 * half + e % 2];

      int at = token + 8 * (e / 2) + e % 2;

      *score = at < end
                   ? *score * scale_log2 + slopes[half] * (float)(at - last)
                   : -INFINITY;
      now = fmaxf(now, *score);
    }
    now = ra_quad_max(now);
    shrink = weight_of(parts[half].most, now);
    parts[half] = {now, parts[half].sum * shrink};
    RA_UNROLL
    for (int e = 0; e < 4; e++) {
      float *score = &scores[e / 2][2 * half + e % 2];

      *score = weight_of(*score, now);
      parts[half].sum += *score;
    }
    RA_UNROLL
    for (int j = 0; j < HD / 8; j++) {
      sums[j][2 * half] *= shrink;
      sums[j][2 * half + 1] *= shrink;
    }
  }
}

/* Each warp's sums and what they are relative to, where all can read them. */
template <int HD>
__device__ static inline void
share(float *whole, Part *parts, const float sums[HD / 8][4], const Part *mine)
{
  int warp = (int)threadIdx.x / RA_WARP, lane = (int)threadIdx.x % RA_WARP;

  RA_UNROLL
  for (int half = 0; half < 2; half++) {
    int row = warp * ROWS + lane / 4 + 8 * half;
    float sum = ra_quad_sum(mine[half].sum);

    if (lane % 4 == 0)
      parts[row] = {mine[half].most, sum};
    RA_UNROLL
    for (int j = 0; j < HD / 8; j++)
      *reinterpret_cast<float2 *>(whole + row * HD + 8 * j + 2 * (lane % 4)) =
          make_float2(sums[j][2 * half], sums[j][2 * half + 1]);
  }
}

/* Element @at of head @row over all warps. */
template <int HD>
__device__ static inline Part
merge_warps(const float *whole, const Part *parts, int row, int at,
            float *out_value)
{
  Part all = {-INFINITY, 0.0f};
  float value = 0.0f;

  for (int w = 0; w < WARPS; w++)
    all.most = fmaxf(all.most, parts[w * ROWS + row].most);
  for (int w = 0; w < WARPS; w++) {
    float weight = weight_of(parts[w * ROWS + row].most, all.most);

    all.sum += weight * parts[w * ROWS + row].sum;
    value += weight * whole[(w * ROWS + row) * HD + at];
  }
  *out_value = value;
  return all;
}

/* The group's queries, zeroes below them. */
template <int HD>
__device__ static inline void
load_queries(uint16_t *tile, const uint16_t *q, int group)
{
  for (int i = (int)threadIdx.x; i < ROWS * (HD / 8); i += THREADS) {
    int row = i / (HD / 8), chunk = i % (HD / 8);

    ra_copy_async(ra_tile_at<HD>(tile, row, chunk),
                  q + (row < group ? row * HD + chunk * 8 : 0), row < group);
  }
}

/* Where the workspace has what parts are relative to: behind their values. */
__device__ static inline Part *
parts_of(const RaKDecode &shape, float *workspace, int hd)
{
  return reinterpret_cast<Part *>(workspace + (size_t)shape.n_sequences *
                                                  shape.q_heads *
                                                  shape.n_parts * (size_t)hd);
}

/* Results of the block: the output, or a part of it for merge_parts(). */
template <int HD>
__device__ static inline void
store(const RaKDecode &shape, const float *whole, const Part *parts,
      size_t first_row, int group, uint16_t *out, float *workspace)
{
  for (int i = (int)threadIdx.x; i < group * HD; i += THREADS) {
    int row = i / HD, at = i % HD;
    size_t part = (first_row + row) * shape.n_parts + blockIdx.x;
    float value;
    Part all = merge_warps<HD>(whole, parts, row, at, &value);

    if (shape.n_parts == 1) {
      out[(first_row + row) * HD + at] =
          ra_bf16_from_f32(all.sum == 0.0f ? 0.0f : value / all.sum);
      continue;
    }
    workspace[part * HD + at] = value;
    if (at == 0)
      parts_of(shape, workspace, HD)[part] = all;
  }
}

/* Combines the parts of the group's heads, in the order of the tokens. */
template <int HD>
__device__ static inline void
merge_parts(const RaKDecode &shape, float *workspace, size_t first_row,
            int group, uint16_t *out)
{
  for (int i = (int)threadIdx.x; i < group * (HD / 4); i += THREADS) {
    size_t row = first_row + i / (HD / 4), first = row * shape.n_parts;
    int at = 4 * (i % (HD / 4));
    const Part *parts = parts_of(shape, workspace, HD) + first;
    const float *values = workspace + first * HD + at;
    float most = -INFINITY, sum = 0.0f, value[4] = {};
    union {
      uint2 raw;
      uint16_t bf16[4];
    } packed;

    RA_UNROLL_FOUR
    for (uint32_t p = 0; p < shape.n_parts; p++)
      most = fmaxf(most, parts[p].most);
    RA_UNROLL_FOUR
    for (uint32_t p = 0; p < shape.n_parts; p++) {
      float4 four = *reinterpret_cast<const float4 *>(values + p * HD);
      float weight = weight_of(parts[p].most, most);

      sum += weight * parts[p].sum;
      value[0] += weight * four.x;
      value[1] += weight * four.y;
      value[2] += weight * four.z;
      value[3] += weight * four.w;
    }
    RA_UNROLL
    for (int e = 0; e < 4; e++)
      packed.bf16[e] = ra_bf16_from_f32(sum == 0.0f ? 0.0f : value[e] / sum);
    *reinterpret_cast<uint2 *>(out + row * HD + at) = packed.raw;
  }
}

/* Slope of head @row of a group of @group, in powers of two. */
__device__ static inline float
slope_of(const RaKDecode &shape, uint32_t kv_head, int group, int row)
{
  return shape.slopes && row < group
             ? shape.slopes[kv_head * (uint32_t)group + (uint32_t)row] * log2_e
             : 0.0f;
}

/* Tokens of a block: a part of a sequence's. */
struct Span {
  uint32_t sequence, kv_head;
  int first, end, length; /* length: of the sequence */
};

__device__ static inline Span
span_of(const RaKDecode &shape)
{
  uint32_t kv_head = blockIdx.y, sequence = blockIdx.z;
  int length = (int)shape.lengths[sequence];
  int n_all = (length + TILE - 1) / TILE;
  int each = (n_all + (int)shape.n_parts - 1) / (int)shape.n_parts * TILE;
  int first = (int)blockIdx.x * each;

  return {sequence, kv_head, first,
          first + each < length ? first + each : length, length};
}

/* Goes over the tiles of @span, of which the first is under way.  @rows: of
 * that tile and the next; @row: the thread's of the one behind. */
template <int HD>
__device__ static inline void
attend(const Span &span, const Pages &pages, uint32_t *rows, uint32_t row,
       const uint16_t *tile_q, uint16_t *tile_k, uint16_t *tile_v,
       const uint16_t *k, const uint16_t *v, float scale_log2,
       const float slopes[2], Part mine[2], float sums[HD / 8][4],
       const RaKDecode &shape)
{
  int warp = (int)threadIdx.x / RA_WARP, lane = (int)threadIdx.x % RA_WARP;
  int token = (int)threadIdx.x; /* of a tile */

  for (int at = span.first, slot = 0; at < span.end;
       at += TILE, slot = TILE * HD - slot) {
    int is_odd = slot > 0;
    const uint16_t *own_k = tile_k + slot + 16 * warp * HD;
    const uint16_t *own_v = tile_v + slot + 16 * warp * HD;
    float scores[2][4] = {};

    if (at + TILE < span.end)
      load_tokens<HD>(shape, rows + TILE - is_odd * TILE,
                      tile_k + TILE * HD - slot, tile_v + TILE * HD - slot, k,
                      v, span.kv_head, at + TILE, span.end);
    ra_copy_commit();
    ra_copy_wait<1>();
    __syncthreads();
    RA_UNROLL
    for (int step = 0; step < HD / 16; step++) {
      uint32_t left[4], right[4];

      ra_tile_left<HD>(left, tile_q, 0, step);
      ra_tile_right<HD>(right, own_k, 0, step);
      ra_mma_pair(scores, left, right);
    }
    soften<HD>(scores, mine, sums, scale_log2, slopes,
               at + 16 * warp + 2 * (lane % 4), span.end, span.length - 1);
    ra_add_product<HD, 16>(sums, scores, own_v);
    if (token < TILE) { /* of the tile after the next, found a tile ago */
      rows[is_odd * TILE + token] = row;
      row = pages.row_of(at + 3 * TILE + token, span.end);
    }
    __syncthreads();
  }
}

/* blockIdx: (part, key head, sequence). */
template <int HD>
__global__ static void
__launch_bounds__(THREADS)
    decode_kernel(RaKDecode shape, const uint16_t *__restrict__ q,
                  const uint16_t *__restrict__ k,
                  const uint16_t *__restrict__ v, uint16_t *__restrict__ out,
                  float *workspace, float scale_log2)
{
  RA_DYNAMIC(memory);
  RA_SHARED(Part, parts, WARPS * ROWS);
  RA_SHARED(uint32_t, is_last, 1);
  RA_SHARED(uint32_t, rows, 2 * TILE); /* of this tile and the next */
  uint16_t *tile_q = reinterpret_cast<uint16_t *>(memory);
  uint16_t *tile_k = tile_q + ROWS * HD;     /* two; at the end the sums */
  uint16_t *tile_v = tile_k + 2 * TILE * HD; /* two */
  float *whole = reinterpret_cast<float *>(tile_k); /* WARPS, ROWS, HD */
  const Span span = span_of(shape);
  uint32_t kv_head = span.kv_head, s = span.sequence;
  int group = (int)(shape.q_heads / shape.kv_heads);
  const Pages pages = pages_of(shape, s);
  int lane = (int)threadIdx.x % RA_WARP;
  size_t first_row = (size_t)s * shape.q_heads + kv_head * (uint32_t)group;
  Part mine[2] = {{-INFINITY, 0.0f}, {-INFINITY, 0.0f}};
  float sums[HD / 8][4] = {};
  int token = (int)threadIdx.x; /* of a tile */
  uint32_t row = 0;
  bool is_new = span.first + TILE >= span.length; /* the token is there */
  float slopes[2] = {slope_of(shape, kv_head, group, lane / 4),
                     slope_of(shape, kv_head, group, lane / 4 + 8)};

  if (token < TILE) {
    rows[token] = pages.row_of(span.first + token, span.end);
    rows[TILE + token] = pages.row_of(span.first + TILE + token, span.end);
    row = pages.row_of(span.first + 2 * TILE + token, span.end);
  }
  __syncthreads();
  /* The kernel in front writes queries and the new token's row alone. */
  if (!is_new && span.first < span.end)
    load_tokens<HD>(shape, rows, tile_k, tile_v, k, v, kv_head, span.first,
                    span.end);
  ra_after();
  if (is_new && span.first < span.end)
    load_tokens<HD>(shape, rows, tile_k, tile_v, k, v, kv_head, span.first,
                    span.end);
  load_queries<HD>(
      tile_q, q + s * shape.q_stride + kv_head * (size_t)group * HD, group);
  ra_copy_commit();
  attend<HD>(span, pages, rows, row, tile_q, tile_k, tile_v, k, v, scale_log2,
             slopes, mine, sums, shape);
  ra_copy_wait<0>();
  __syncthreads(); /* nobody copies to the tiles, nobody reads them */
  share<HD>(whole, parts, sums, mine);
  __syncthreads();
  store<HD>(shape, whole, parts, first_row, group, out, workspace);
  if (shape.n_parts > 1 &&
      ra_block_is_last(&shape.counts[(size_t)s * shape.kv_heads + kv_head],
                       shape.n_parts, is_last))
    merge_parts<HD>(shape, workspace, first_row, group, out);
}

extern "C" uint32_t
ra_k_decode_parts(uint32_t n_sequences, uint32_t kv_heads, uint32_t head_dim,
                  uint32_t max_length, uint32_t n_processors)
{
  uint64_t n_blocks = (uint64_t)n_sequences * kv_heads;
  uint64_t all = (uint64_t)n_processors * (head_dim <= 64 ? 4 : 2);
  uint64_t wanted = n_blocks > 0 ? (all + n_blocks - 1) / n_blocks : 1;
  uint64_t most = max_length / RA_K_DECODE_PART;

  most = most > 1 ? most : 1;
  return (uint32_t)(wanted < most ? wanted : most);
}

extern "C" size_t
ra_k_decode_workspace(const RaKDecode *shape)
{
  return shape->n_parts > 1 ? (size_t)shape->n_sequences * shape->q_heads *
                                  shape->n_parts * (shape->head_dim + 2)
                            : 0;
}

template <int HD>
static int
launch(const RaKDecode *shape, const uint16_t *q, const uint16_t *k,
       const uint16_t *v, uint16_t *out, float *workspace, void *stream)
{
  int n_bytes = (ROWS + 4 * TILE) * HD * 2;
  dim3 grid(shape->n_parts, shape->kv_heads, shape->n_sequences);
  auto decode = decode_kernel<HD>;
  cudaError_t code = cudaFuncSetAttribute(
      decode, cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes);

  if (code != cudaSuccess)
    return code;
  RA_LAUNCH_AFTER(decode, grid, THREADS, n_bytes, stream, *shape, q, k, v, out,
                  workspace, log2_e / sqrtf((float)HD));
  return cudaGetLastError();
}

extern "C" int
ra_k_decode_attention(const RaKDecode *shape, const uint16_t *q,
                      const uint16_t *k, const uint16_t *v, uint16_t *out,
                      float *workspace, void *stream)
{
  if (!ra_k_attention_head_ok(shape->head_dim) || shape->kv_heads == 0 ||
      shape->kv_heads > 65535 || shape->q_heads % shape->kv_heads != 0 ||
      shape->q_heads / shape->kv_heads > RA_K_DECODE_GROUP ||
      shape->q_heads < shape->kv_heads || shape->page_tokens == 0 ||
      shape->n_parts == 0 || shape->n_sequences > 65535 ||
      (shape->n_parts > 1 && (!shape->counts || !ra_is_aligned(workspace))) ||
      shape->q_stride % 8 != 0 || !ra_is_aligned(q) || !ra_is_aligned(k) ||
      !ra_is_aligned(v) || !ra_is_aligned(out))
    return cudaErrorInvalidValue;
  if (shape->n_sequences == 0)
    return cudaSuccess;
  return shape->head_dim == 64
             ? launch<64>(shape, q, k, v, out, workspace, stream)
             : launch<128>(shape, q, k, v, out, workspace, stream);
}
