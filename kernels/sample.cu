/* Sampling of tokens: temperature, top-k, top-p in integers. */
#include "kernels/device.cuh"
#include "kernels/sample.h"

#define THREADS 1024
#define OWN 8 /* bins, vectors' elements of a thread */
#define BINS (THREADS * OWN)
#define STEP (RA_WARP * 8)   /* tokens that a warp reads at once */
#define ONE 1099511627776.0f /* 2^40, weight of the largest logit */

typedef unsigned long long Whole;

/* A row, its first key and what is kept of it; the same in every thread. */
struct Row {
  const uint16_t *logits;
  uint32_t n;
  bool is_aligned;
  uint32_t top; /* key of the largest logit */
  float most, inv_temperature;
  float far;        /* z from which on all weights are below @least */
  Whole least;      /* weight: lighter tokens are not kept */
  uint32_t n_equal; /* that are as light as that and kept, the first ones */
  double margin;    /* weight: what would have kept others */
};

/* A bf16 as a number of the same order; 0 is of no number. */
__device__ static inline uint32_t
key_of(uint16_t logit)
{
  return logit & 0x8000 ? (uint16_t)~logit : logit | 0x8000u;
}

__device__ static inline float
value_of(uint32_t key)
{
  return ra_bf16_to_f32((uint16_t)(key & 0x8000 ? key & 0x7fff : ~key));
}

__device__ static inline float
logit_at(const Row &row, uint32_t i)
{
  return ra_bf16_to_f32(row.logits[i]);
}

/* exp(z) of a logit in whole numbers. */
__device__ static inline Whole
weigh(const Row &row, float logit)
{
  float z = (logit - row.most) * row.inv_temperature;

  return z < row.far ? 0 : (Whole)rintf(expf(z) * ONE);
}

/* TRUE if all tokens of @n are kept. */
__host__ __device__ static inline bool
is_whole(const RaCpuSampling &how, uint32_t n)
{
  return (how.top_k == 0 || how.top_k >= n) && how.top_p >= 1.0f;
}

/* ---- Over the block -------------------------------------------------------*/

__device__ static inline Whole
warp_sum(Whole value)
{
  for (int half = 16; half > 0; half /= 2)
    value += __shfl_xor_sync(RA_ALL_LANES, value, half);
  return value;
}

__device__ static inline Whole
warp_most(Whole value)
{
  for (int half = 16; half > 0; half /= 2) {
    Whole other = __shfl_xor_sync(RA_ALL_LANES, value, half);

    value = other > value ? other : value;
  }
  return value;
}

/* Sum over this lane and those before it. */
__device__ static inline Whole
warp_upto(Whole value)
{
  int lane = (int)threadIdx.x % RA_WARP;

  for (int step = 1; step < RA_WARP; step *= 2) {
    Whole other = __shfl_up_sync(RA_ALL_LANES, value, (unsigned)step);

    if (lane >= step)
      value += other;
  }
  return value;
}

/* In every thread; @slots: one a warp. */
__device__ static inline Whole
block_sum(Whole value, Whole *slots)
{
  value = warp_sum(value);
  __syncthreads();
  if (threadIdx.x % RA_WARP == 0)
    slots[threadIdx.x / RA_WARP] = value;
  __syncthreads();
  return warp_sum(slots[threadIdx.x % RA_WARP]);
}

__device__ static inline Whole
block_most(Whole value, Whole *slots)
{
  value = warp_most(value);
  __syncthreads();
  if (threadIdx.x % RA_WARP == 0)
    slots[threadIdx.x / RA_WARP] = value;
  __syncthreads();
  return warp_most(slots[threadIdx.x % RA_WARP]);
}

/* Sum over the threads before this one; @out_all: over all. */
__device__ static inline Whole
block_before(Whole value, Whole *slots, Whole *out_all)
{
  int warp = (int)threadIdx.x / RA_WARP;
  Whole upto = warp_upto(value), of_warps, before;

  __syncthreads();
  if (threadIdx.x % RA_WARP == RA_WARP - 1)
    slots[warp] = upto;
  __syncthreads();
  of_warps = warp_upto(slots[threadIdx.x % RA_WARP]);
  before = __shfl_sync(RA_ALL_LANES, of_warps, warp > 0 ? warp - 1 : 0);
  *out_all = __shfl_sync(RA_ALL_LANES, of_warps, RA_WARP - 1);
  return (warp > 0 ? before : 0) + upto - value;
}

/* ---- Counts of logits -----------------------------------------------------*/

/* Memory of a block: counts of the BINS keys from @top down, and the largest
 * key below those, 0 if there is none. */
struct Space {
  uint32_t *bins; /* BINS */
  Whole *slots;   /* 32 */
  Whole *found;   /* 1 */
  uint32_t top, below;
};

/* Calls see(key) for each logit from @first, a multiple of 8, to before @end,
 * by the threads in turn. */
template <typename See>
__device__ static inline void
visit(const Row &row, uint32_t first, uint32_t end, See see)
{
  const uint4 *vectors = reinterpret_cast<const uint4 *>(row.logits);
  uint32_t n_vectors = row.is_aligned ? end / 8 : first / 8;

  RA_UNROLL_FOUR
  for (uint32_t v = first / 8 + threadIdx.x; v < n_vectors; v += THREADS) {
    RaVector in;

    in.raw = vectors[v];
    RA_UNROLL
    for (int i = 0; i < 8; i++)
      see(key_of(in.bf16[i]));
  }
  for (uint32_t i = 8 * n_vectors + threadIdx.x; i < end; i += THREADS)
    see(key_of(row.logits[i]));
}

/* Counts the keys from @top down.  Most logits of a row have one of a thousand
 * keys, so that few lanes of a warp meet at a bin. */
__device__ static inline void
count_keys(const Row &row, uint32_t top, Space *space)
{
  uint32_t below = 0;

  if (space->top == top)
    return;
  __syncthreads();
  for (int b = (int)threadIdx.x; b < BINS; b += THREADS)
    space->bins[b] = 0;
  __syncthreads();
  visit(row, 0, row.n, [&](uint32_t key) {
    if (top - key < BINS)
      atomicAdd(&space->bins[top - key], 1u);
    else if (key < top && key > below)
      below = key;
  });
  space->below = (uint32_t)block_most(below, space->slots);
  space->top = top;
}

/* How the tokens are parted by a weight. */
struct Parts {
  Whole n_above, above; /* number and sum of the heavier ones */
  Whole n_equal;
  Whole lighter; /* largest weight below */
};

/* All of the row if @least is 0. */
__device__ static inline Parts
part_by(const Row &row, Whole least, Space *space)
{
  Parts p = {0, 0, 0, 0};
  uint32_t top = row.top;
  Whole next = 0;

  for (;;) {
    count_keys(row, top, space);
    for (uint32_t b = threadIdx.x; b < BINS && b < top; b += THREADS) {
      Whole count = space->bins[b], weight;

      if (count == 0)
        continue;
      weight = weigh(row, value_of(top - b));
      p.n_above += weight > least ? count : 0;
      p.above += weight > least ? count * weight : 0;
      p.n_equal += weight == least ? count : 0;
      if (weight < least && weight > p.lighter)
        p.lighter = weight;
    }
    top = space->below;
    next = top > 0 ? weigh(row, value_of(top)) : 0;
    if (next == 0 || next < least)
      break;
  }
  p.lighter = next < least && next > p.lighter ? next : p.lighter;
  return {block_sum(p.n_above, space->slots), block_sum(p.above, space->slots),
          block_sum(p.n_equal, space->slots),
          block_most(p.lighter, space->slots)};
}

/* Key of the token with which what is taken from the largest logit down, each
 * token counting its weight or 1, is at least @wanted; 0 if none of a weight
 * is. */
__device__ static inline uint32_t
edge_of(const Row &row, bool by_count, Whole wanted, Space *space)
{
  uint32_t top = row.top;
  Whole before = 0;

  while (top > 0 && weigh(row, value_of(top)) > 0) {
    Whole own = 0, upto, all;
    uint32_t first = threadIdx.x * OWN, end = first + OWN;
    auto part = [&](uint32_t b) {
      Whole count = b < top ? space->bins[b] : 0;

      return count == 0 || by_count ? count
                                    : count * weigh(row, value_of(top - b));
    };

    count_keys(row, top, space);
    for (uint32_t b = first; b < end; b++)
      own += part(b);
    upto = before + block_before(own, space->slots, &all);
    if (upto < wanted && upto + own >= wanted) { /* one thread's, at most */
      uint32_t b = first;

      for (upto += part(b); upto < wanted; upto += part(b))
        b++;
      *space->found = top - b;
    }
    __syncthreads();
    if (before + all >= wanted)
      return (uint32_t)*space->found;
    before += all;
    top = space->below;
  }
  return 0;
}

/* ---- What is kept ---------------------------------------------------------*/

/* Keeps what is heavier than @parts' edge and the first @n_equal of those that
 * are equal.  Two on the scale of z part a weight from lighter ones.  Returns:
 * the sum of it. */
__device__ static inline Whole
keep(Row *row, float z, Whole least, uint32_t n_equal, const Parts &parts)
{
  Whole gap = parts.n_equal > n_equal ? 0 : least - parts.lighter;

  row->least = least;
  row->n_equal = n_equal;
  row->far = z - 2.0f;
  row->margin = fmin(row->margin, (double)gap);
  return parts.above + n_equal * least;
}

/* Sets what top-k and top-p keep. */
__device__ static inline void
restrict_row(Row *row, const RaCpuSampling &how, Whole all, Space *space)
{
  Whole kept = all, wanted, least;
  uint32_t edge, n_more;
  Row whole = *row;
  Parts parts;
  double part;
  float z;

  if (how.top_k > 0 && how.top_k < row->n) {
    edge = edge_of(whole, true, how.top_k, space);
    z = (value_of(edge) - row->most) * row->inv_temperature;
    least = edge > 0 ? weigh(whole, value_of(edge)) : 0;
    if (least > 0) {
      parts = part_by(whole, least, space);
      n_more = how.top_k - (uint32_t)parts.n_above;
      kept = keep(row, z, least, n_more, parts);
    } else {
      row->margin = 0; /* no weight parts what is kept from the rest */
    }
  }
  if (how.top_p >= 1.0f)
    return;
  part = (double)how.top_p * (double)kept;
  wanted = (Whole)ceil(part);
  wanted = wanted > 0 ? wanted : 1;
  edge = edge_of(whole, false, wanted, space);
  if (edge == 0)
    return;
  z = (value_of(edge) - row->most) * row->inv_temperature;
  least = weigh(whole, value_of(edge));
  parts = part_by(whole, least, space);
  n_more = (uint32_t)((wanted - parts.above + least - 1) / least);
  if (least <= row->least && row->n_equal < n_more)
    n_more = row->n_equal;
  kept = keep(row, z, least, n_more, parts);
  row->margin = fmin(row->margin, fabs((double)kept - part));
  row->margin = fmin(row->margin, fabs((double)kept - (double)least - part));
}

/* ---- The token ------------------------------------------------------------*/

/* Result of find_token(). */
struct Found {
  uint32_t token;
  Whole before, upto; /* sums of kept weights without it and with it */
};

/* A run of tokens: a warp's at a time, as many runs as threads at most. */
struct Runs {
  Whole *heavier;    /* (THREADS) sums of what is above the least */
  uint32_t *n_equal; /* (THREADS); NULL: the least is 0, and none counts */
  uint32_t n, length;
};

__device__ static inline Runs
runs_of(uint32_t n, Whole *heavier, uint32_t *n_equal)
{
  uint32_t length = (n + THREADS * STEP - 1) / (THREADS * STEP) * STEP;

  return {heavier, n_equal, (n + length - 1) / length, length};
}

/* Adds weight @weight to a run's sums. */
__device__ static inline void
add_weight(const Row &row, Whole weight, Whole *heavier, uint32_t *n_equal)
{
  *heavier += weight > row.least ? weight : 0;
  *n_equal += weight == row.least && row.least > 0;
}

/* Sums of runs @first to before @last. */
__device__ static inline void
sum_runs(const Row &row, const Runs &runs, uint32_t first, uint32_t last)
{
  uint32_t lane = threadIdx.x % RA_WARP;

  for (uint32_t run = first + threadIdx.x / RA_WARP; run < last;
       run += THREADS / RA_WARP) {
    uint32_t end = (run + 1) * runs.length, n_equal = 0;
    Whole heavier = 0;

    end = end < row.n ? end : row.n;
    for (uint32_t i = run * runs.length + 8 * lane; i < end; i += STEP) {
      RaVector in;

      if (row.is_aligned && i + 8 <= end) {
        in.raw = *reinterpret_cast<const uint4 *>(row.logits + i);
        RA_UNROLL
        for (int e = 0; e < 8; e++)
          add_weight(row, weigh(row, ra_bf16_to_f32(in.bf16[e])), &heavier,
                     &n_equal);
      } else {
        for (uint32_t e = i; e < end && e < i + 8; e++)
          add_weight(row, weigh(row, logit_at(row, e)), &heavier, &n_equal);
      }
    }
    heavier = warp_sum(heavier);
    n_equal = (uint32_t)warp_sum(n_equal);
    if (lane == 0) {
      runs.heavier[run] = heavier;
      if (runs.n_equal)
        runs.n_equal[run] = n_equal;
    }
  }
}

/* Tokens of @run one after the other, by one warp: the first at which the kept
 * weights' sum, @before in front of the run, is above @reach. */
__device__ static inline void
find_in_run(const Row &row, const Runs &runs, uint32_t run, Whole before,
            Whole equal_before, Whole reach, Found *out)
{
  uint32_t lane = threadIdx.x % RA_WARP, end = (run + 1) * runs.length;

  end = end < row.n ? end : row.n;
  for (uint32_t first = run * runs.length; first < end && before <= reach;
       first += RA_WARP) {
    uint32_t i = first + lane;
    Whole weight = i < end ? weigh(row, logit_at(row, i)) : 0, upto;
    bool is_equal = weight == row.least && row.least > 0;
    unsigned equal = __ballot_sync(RA_ALL_LANES, is_equal);
    Whole rank = equal_before + __popc(equal & ((1u << lane) - 1));

    if (weight < row.least || (is_equal && rank >= row.n_equal))
      weight = 0;
    upto = before + warp_upto(weight);
    if (weight > 0 && upto > reach && upto - weight <= reach)
      *out = {i, upto - weight, upto};
    before = __shfl_sync(RA_ALL_LANES, upto, RA_WARP - 1);
    equal_before += __popc(equal);
  }
}

/* The first token at which the kept weights' sum is above @u of it all, to
 * shared @out, of the sums of runs.  Returns: the sum of all. */
__device__ static inline Whole
find_token(const Row &row, double u, const Runs &runs, Whole *slots, Found *out)
{
  RA_SHARED(uint32_t, at, 1);
  RA_SHARED(Whole, in_front, 2); /* of the run: sum, equal ones */
  Whole heavier = 0, equal = 0, equal_before, kept, before, sum, reach;

  if (threadIdx.x < runs.n) {
    heavier = runs.heavier[threadIdx.x];
    equal = runs.n_equal ? runs.n_equal[threadIdx.x] : 0;
  }
  equal_before = block_before(equal, slots, &kept);
  kept = equal_before < row.n_equal ? row.n_equal - equal_before : 0;
  kept = heavier + (kept < equal ? kept : equal) * row.least;
  before = block_before(kept, slots, &sum);
  reach = (Whole)(u * (double)sum);
  if (threadIdx.x == 0) {
    *out = {row.n - 1, sum, sum}; /* were rounding to run past the end */
    *at = runs.n;
  }
  __syncthreads();
  if (before <= reach && before + kept > reach) {
    *at = threadIdx.x;
    in_front[0] = before;
    in_front[1] = equal_before;
  }
  __syncthreads();
  if (*at < runs.n && threadIdx.x < RA_WARP)
    find_in_run(row, runs, *at, in_front[0], in_front[1], reach, out);
  __syncthreads();
  return sum;
}

/* The first of the largest logits; in every thread. */
__device__ static inline uint32_t
first_of(const Row &row, Whole *slots)
{
  uint32_t first = row.n;

  for (uint32_t i = threadIdx.x; i < row.n && first == row.n; i += THREADS)
    first = logit_at(row, i) >= row.most ? i : row.n;
  return row.n - (uint32_t)block_most(row.n - first, slots);
}

/* By how much the largest logit is above the next; in every thread. */
__device__ static inline float
lead_of(const Row &row, uint32_t token, float *warps)
{
  float next = -INFINITY;

  for (uint32_t i = threadIdx.x; i < row.n; i += THREADS)
    next = i != token ? fmaxf(next, logit_at(row, i)) : next;
  return row.most - ra_block_max(next, warps);
}

/* Margin, in probability, of a token that was sampled with @u from kept weights
 * of @sum, of @all. */
__device__ static inline float
margin_of(const Row &row, const Found &found, double u, double sum, double all)
{
  double drawn = fabs((double)found.upto - u * sum);

  if (found.before > 0)
    drawn = fmin(drawn, fabs(u * sum - (double)found.before));
  return fminf((float)row.margin / (float)all, (float)drawn / (float)sum);
}

/* Row number @number, without its largest logit. */
__device__ static inline Row
row_of(size_t number, uint32_t n, const uint16_t *logits, float temperature)
{
  Row row = {logits + number * n,
             n,
             false,
             0,
             0,
             temperature <= 0.0f ? 1.0f : 1.0f / temperature,
             -INFINITY,
             0,
             n,
             INFINITY};

  row.is_aligned =
      n % 8 == 0 && reinterpret_cast<uintptr_t>(row.logits) % 16 == 0;
  return row;
}

__device__ static inline void
set_top(Row *row, uint32_t top)
{
  row->top = top;
  row->most = value_of(top);
}

/* Largest key from @first to before @end. */
__device__ static inline uint32_t
top_of(const Row &row, uint32_t first, uint32_t end, Whole *slots)
{
  uint32_t top = 0;

  visit(row, first, end, [&](uint32_t key) { top = key > top ? key : top; });
  return (uint32_t)block_most(top, slots);
}

/* Where the token of a row goes. */
struct Drawn {
  const uint32_t *places;
  uint32_t *newest;
  RaCpuSample *out;
};

/* By one thread.  @all: the weight of all tokens. */
__device__ static inline void
put_token(const Drawn &to, size_t number, const Row &row, uint32_t token,
          Whole all, float margin)
{
  float z = (logit_at(row, token) - row.most) * row.inv_temperature;

  to.out[number] = {token, z - logf((float)all / ONE), margin};
  if (to.newest)
    to.newest[to.places[number]] = token;
}

/* A block a row. */
__global__ static void
__launch_bounds__(THREADS)
    sample_kernel(uint32_t n, const uint16_t *__restrict__ logits,
                  RaCpuSampling how, const double *__restrict__ uniforms,
                  Drawn to)
{
  RA_SHARED(uint32_t, bins, BINS);
  RA_SHARED(Whole, slots, RA_WARP);
  RA_SHARED(Whole, edge, 1);
  RA_SHARED(float, warps, RA_WARP);
  RA_SHARED(Whole, heavier, THREADS);
  RA_SHARED(uint32_t, n_equal, THREADS);
  RA_SHARED(Found, found, 1);
  Space space = {bins, slots, edge, 0, 0};
  Row row = row_of(blockIdx.x, n, logits, how.temperature);
  bool greedy = how.temperature <= 0.0f;
  bool whole = is_whole(how, n);
  Runs runs = runs_of(n, heavier, n_equal);
  Whole all = 0, sum = 0;
  uint32_t token;
  float margin;

  ra_after();
  set_top(&row, top_of(row, 0, n, slots));
  if (greedy || !whole) {
    all = part_by(row, 0, &space).above;
    row.margin = (double)all;
  }
  if (greedy) {
    token = first_of(row, slots);
    margin = lead_of(row, token, warps);
  } else {
    if (!whole)
      restrict_row(&row, how, all, &space);
    sum_runs(row, runs, 0, runs.n);
    __syncthreads();
    sum = find_token(row, uniforms[blockIdx.x], runs, slots, found);
    all = whole ? sum : all;
    row.margin = whole ? (double)all : row.margin;
    token = found->token;
    margin =
        margin_of(row, *found, uniforms[blockIdx.x], (double)sum, (double)all);
  }
  if (threadIdx.x == 0)
    put_token(to, blockIdx.x, row, token, all, margin);
}

/* ---- Several blocks a row -------------------------------------------------*/

/* Results that the blocks of a row leave each other: ra_k_sample(). */
struct Share {
  Whole heavier[THREADS];
  uint32_t tops[RA_K_SAMPLE_PARTS];
};

/* Runs of part blockIdx.x: first and end. */
__device__ static inline uint32_t
first_run(const Runs &runs, uint32_t part)
{
  return runs.n * part / RA_K_SAMPLE_PARTS;
}

__global__ static void
__launch_bounds__(THREADS)
    tops_kernel(uint32_t n, const uint16_t *__restrict__ logits, Share *parts)
{
  RA_SHARED(Whole, slots, RA_WARP);
  Row row = row_of(blockIdx.y, n, logits, 1.0f);
  Runs runs = runs_of(n, nullptr, nullptr);
  uint32_t first = first_run(runs, blockIdx.x) * runs.length;
  uint32_t end = first_run(runs, blockIdx.x + 1) * runs.length, top;

  ra_after();
  top = top_of(row, first, end < n ? end : n, slots);
  if (threadIdx.x == 0)
    parts[blockIdx.y].tops[blockIdx.x] = top;
}

/* The last block of a row takes the token. */
__global__ static void
__launch_bounds__(THREADS)
    runs_kernel(uint32_t n, const uint16_t *__restrict__ logits,
                float temperature, const double *__restrict__ uniforms,
                Share *parts, uint32_t *counts, Drawn to)
{
  RA_SHARED(Whole, slots, RA_WARP);
  RA_SHARED(Found, found, 1);
  RA_SHARED(uint32_t, is_last, 1);
  Row row = row_of(blockIdx.y, n, logits, temperature);
  Share *own = parts + blockIdx.y;
  Runs runs = runs_of(n, own->heavier, nullptr);
  uint32_t top = 0;
  Whole sum;

  ra_after();
  for (int i = 0; i < RA_K_SAMPLE_PARTS; i++)
    top = own->tops[i] > top ? own->tops[i] : top;
  set_top(&row, top);
  sum_runs(row, runs, first_run(runs, blockIdx.x),
           first_run(runs, blockIdx.x + 1));
  if (!ra_block_is_last(counts + blockIdx.y, RA_K_SAMPLE_PARTS, is_last))
    return;
  sum = find_token(row, uniforms[blockIdx.y], runs, slots, found);
  row.margin = (double)sum;
  if (threadIdx.x == 0)
    put_token(
        to, blockIdx.y, row, found->token, sum,
        margin_of(row, *found, uniforms[blockIdx.y], (double)sum, (double)sum));
}

/* ---- Launches -------------------------------------------------------------*/

extern "C" size_t
ra_k_sample_workspace(size_t n_rows)
{
  return n_rows * sizeof(Share);
}

extern "C" int
ra_k_sample(size_t n_rows, uint32_t n, const uint16_t *logits,
            const RaCpuSampling *sampling, const double *uniforms,
            const uint32_t *slots, uint32_t *newest, RaCpuSample *out,
            void *workspace, uint32_t *counts, void *stream)
{
  auto alone = sample_kernel;
  auto tops = tops_kernel;
  auto runs = runs_kernel;
  Drawn to = {slots, newest, out};
  dim3 grid(RA_K_SAMPLE_PARTS, (unsigned)n_rows);

  if (n == 0 || n > RA_K_SAMPLE_MAX || n_rows > 0x7fffffff)
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;
  if (!workspace || n_rows > 65535 || sampling->temperature <= 0.0f ||
      !is_whole(*sampling, n)) {
    RA_LAUNCH_AFTER(alone, (unsigned)n_rows, THREADS, 0, stream, n, logits,
                    *sampling, uniforms, to);
    return cudaGetLastError();
  }
  RA_LAUNCH_AFTER(tops, grid, THREADS, 0, stream, n, logits,
                  static_cast<Share *>(workspace));
  RA_LAUNCH_AFTER(runs, grid, THREADS, 0, stream, n, logits,
                  sampling->temperature, uniforms,
                  static_cast<Share *>(workspace), counts, to);
  return cudaGetLastError();
}
