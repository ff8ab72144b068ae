/* Sampling of tokens: temperature, top-k, top-p in integers. */
#include "kernels/device.cuh"
#include "kernels/sample.h"

#define THREADS 512
#define WARPS (THREADS / RA_WARP)
#define BITS 11
#define BINS (1 << BITS)
#define ONE 1099511627776.0f /* 2^40, weight of the largest logit */

typedef unsigned long long Whole;

/* exp(z) in whole numbers, z <= 0. */
__device__ static inline Whole
weigh(float z)
{
  return (Whole)rintf(expf(z) * ONE);
}

/* State that the threads of a block share. */
struct Row {
  const uint16_t *logits;
  uint32_t n;
  float most, inv_temperature;
  Whole least;      /* weight: lighter tokens are not kept */
  uint32_t n_equal; /* that are as light as that and kept, the first ones */
  double margin;    /* weight: what would have kept others */
};

__device__ static inline float
logit_at(const Row &row, uint32_t i)
{
  return ra_bf16_to_f32(row.logits[i]);
}

__device__ static inline Whole
weight_at(const Row &row, uint32_t i)
{
  return weigh((logit_at(row, i) - row.most) * row.inv_temperature);
}

/* Over the block, in every thread; @slots: WARPS. */
__device__ static inline Whole
block_sum(Whole value, Whole *slots)
{
  Whole sum = 0;

  for (int half = 16; half > 0; half /= 2)
    value += __shfl_xor_sync(RA_ALL_LANES, value, half);
  __syncthreads();
  if (threadIdx.x % RA_WARP == 0)
    slots[threadIdx.x / RA_WARP] = value;
  __syncthreads();
  RA_UNROLL_FOUR /* all at once spill on sm_100 */
  for (int w = 0; w < WARPS; w++)
    sum += slots[w];
  return sum;
}

/* The largest over the block, likewise. */
__device__ static inline Whole
block_most(Whole value, Whole *slots)
{
  Whole most = 0;

  for (int half = 16; half > 0; half /= 2) {
    Whole other = __shfl_xor_sync(RA_ALL_LANES, value, half);

    value = other > value ? other : value;
  }
  __syncthreads();
  if (threadIdx.x % RA_WARP == 0)
    slots[threadIdx.x / RA_WARP] = value;
  __syncthreads();
  RA_UNROLL_FOUR
  for (int w = 0; w < WARPS; w++)
    most = slots[w] > most ? slots[w] : most;
  return most;
}

/* Sum over the threads before this one; @out_all: over all. */
__device__ static inline Whole
block_before(Whole value, Whole *slots, Whole *out_all)
{
  int lane = (int)threadIdx.x % RA_WARP, warp = (int)threadIdx.x / RA_WARP;
  Whole upto = value, before = 0, all = 0;

  for (int step = 1; step < RA_WARP; step *= 2) {
    Whole other = __shfl_up_sync(RA_ALL_LANES, upto, (unsigned)step);

    if (lane >= step)
      upto += other;
  }
  __syncthreads();
  if (lane == RA_WARP - 1)
    slots[warp] = upto;
  __syncthreads();
  RA_UNROLL_FOUR
  for (int w = 0; w < WARPS; w++) {
    before += w < warp ? slots[w] : 0;
    all += slots[w];
  }
  *out_all = all;
  return before + upto - value;
}

/* Goes from the heaviest weight down until what is taken, each token counting
 * its weight or 1, is at least @wanted: the weight of the last token taken, and
 * what was taken before all of that weight.  @bins: shared. */
__device__ static inline Whole
edge_of(const Row &row, bool by_count, Whole least, Whole wanted, Whole *bins,
        Whole *found, Whole *out_before)
{
  Whole prefix = 0, before = 0;

  /* Weights are at most 2^40: four digits of 11 bits. */
  for (int shift = 3 * BITS; shift >= 0; shift -= BITS) {
    __syncthreads();
    for (int b = (int)threadIdx.x; b < BINS; b += THREADS)
      bins[b] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < row.n; i += THREADS) {
      Whole weight = weight_at(row, i);

      if (weight >= least && weight >> (shift + BITS) == prefix)
        atomicAdd(&bins[weight >> shift & (BINS - 1)],
                  by_count ? (Whole)1 : weight);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int b = BINS - 1;

      while (b > 0 && before + bins[b] < wanted)
        before += bins[b--];
      found[0] = (Whole)b;
      found[1] = before;
    }
    __syncthreads();
    prefix = prefix << BITS | found[0];
    before = found[1];
  }
  *out_before = before;
  return prefix;
}

/* Memory of a block for its work. */
struct Space {
  Whole *bins, *slots, *found; /* BINS, WARPS, 2 */
};

/* Weights above the least kept, and the kept ones that are equal to it. */
__device__ static inline Whole
kept_sum(const Row &row, const Space &space)
{
  Whole heavier = 0;

  for (uint32_t i = threadIdx.x; i < row.n; i += THREADS) {
    Whole weight = weight_at(row, i);

    heavier += weight > row.least ? weight : 0;
  }
  heavier = block_sum(heavier, space.slots);
  return row.least > 0 ? heavier + row.n_equal * row.least : heavier;
}

/* The margin is no more than what parts the lightest weight that is kept from
 * the next. */
__device__ static inline void
see_edge(Row *row, const Space &space)
{
  Whole lighter = 0, n_equal = 0, gap;

  for (uint32_t i = threadIdx.x; i < row->n; i += THREADS) {
    Whole weight = weight_at(*row, i);

    n_equal += weight == row->least;
    lighter = weight < row->least && weight > lighter ? weight : lighter;
  }
  n_equal = block_sum(n_equal, space.slots);
  lighter = block_most(lighter, space.slots);
  gap = n_equal > row->n_equal ? 0 : row->least - lighter;
  row->margin = fmin(row->margin, (double)gap);
}

/* Sets what top-k and top-p keep.  Returns: the sum of it. */
__device__ static inline Whole
restrict_row(Row *row, const RaCpuSampling &how, Whole all, const Space &space)
{
  Whole kept = all, above, edge, wanted;
  uint32_t n_more;
  double part;

  if (how.top_k > 0 && how.top_k < row->n) {
    row->least =
        edge_of(*row, true, 0, how.top_k, space.bins, space.found, &above);
    row->n_equal = how.top_k - (uint32_t)above;
    kept = kept_sum(*row, space);
    see_edge(row, space);
  }
  if (how.top_p >= 1.0f)
    return kept;
  wanted = (Whole)ceil((double)how.top_p * (double)kept);
  wanted = wanted > 0 ? wanted : 1;
  edge =
      edge_of(*row, false, row->least, wanted, space.bins, space.found, &above);
  if (edge == 0)
    return kept;
  n_more = (uint32_t)((wanted - above + edge - 1) / edge);
  row->n_equal =
      edge > row->least || n_more < row->n_equal ? n_more : row->n_equal;
  row->least = edge;
  part = (double)how.top_p * (double)kept;
  kept = kept_sum(*row, space);
  row->margin = fmin(row->margin, fabs((double)kept - part));
  row->margin = fmin(row->margin, fabs((double)kept - (double)edge - part));
  see_edge(row, space);
  return kept;
}

/* Result of find_token(). */
struct Found {
  uint32_t token;
  Whole before, upto; /* sums of kept weights without it and with it */
};

/* The first token at which the kept weights' sum is above @reach: written to
 * @out by the thread that has it.  Greedy: the first of the largest logits,
 * whose weights those of near ones may equal. */
__device__ static inline void
find_token(const Row &row, bool greedy, Whole reach, const Space &space,
           Found *out)
{
  Whole before = 0;
  uint32_t equal_before = 0;

  for (uint32_t first = 0; first < row.n && before <= reach; first += THREADS) {
    uint32_t i = first + threadIdx.x;
    Whole weight = i < row.n ? weight_at(row, i) : 0, n_equal, part, rank, upto;
    bool is_equal;

    if (greedy)
      weight = i < row.n && logit_at(row, i) >= row.most;
    is_equal = i < row.n && weight == row.least && row.least > 0;
    rank = block_before(is_equal, space.slots, &n_equal);
    if (weight < row.least || (is_equal && equal_before + rank >= row.n_equal))
      weight = 0;
    upto = before + block_before(weight, space.slots, &part);
    if (weight > 0 && upto + weight > reach && upto <= reach)
      *out = {i, upto, upto + weight};
    equal_before += (uint32_t)n_equal;
    before += part;
  }
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

/* Two blocks a processor: three would have registers spill. */
__global__ static void
__launch_bounds__(THREADS, 2)
    sample_kernel(uint32_t n, const uint16_t *__restrict__ logits,
                  RaCpuSampling how, const double *__restrict__ uniforms,
                  RaCpuSample *__restrict__ out)
{
  RA_SHARED(Whole, bins, BINS);
  RA_SHARED(Whole, slots, WARPS);
  RA_SHARED(Whole, edge, 2);
  RA_SHARED(float, warps, RA_WARP);
  RA_SHARED(Found, found, 1);
  Space space = {bins, slots, edge};
  bool greedy = how.temperature <= 0.0f;
  Row row = {logits + (size_t)blockIdx.x * n,
             n,
             -INFINITY,
             greedy ? 1.0f : 1.0f / how.temperature,
             0,
             n,
             0};
  Whole all = 0, sum = 0, reach = 0;
  float lead = 0.0f;

  for (uint32_t i = threadIdx.x; i < n; i += THREADS)
    row.most = fmaxf(row.most, logit_at(row, i));
  row.most = ra_block_max(row.most, warps);
  for (uint32_t i = threadIdx.x; i < n; i += THREADS)
    all += weight_at(row, i);
  all = block_sum(all, slots);
  row.margin = (double)all;
  if (!greedy) {
    sum = restrict_row(&row, how, all, space);
    reach = (Whole)(uniforms[blockIdx.x] * (double)sum);
  }
  if (threadIdx.x == 0)
    found[0] = {n - 1, sum, sum}; /* were rounding to run past the end */
  find_token(row, greedy, reach, space, found);
  __syncthreads();
  if (greedy)
    lead = lead_of(row, found[0].token, warps);
  if (threadIdx.x == 0)
    out[blockIdx.x] = {
        found[0].token,
        (logit_at(row, found[0].token) - row.most) * row.inv_temperature -
            logf((float)all / ONE),
        greedy ? lead
               : margin_of(row, found[0], uniforms[blockIdx.x], (double)sum,
                           (double)all)};
}

extern "C" int
ra_k_sample(size_t n_rows, uint32_t n, const uint16_t *logits,
            const RaCpuSampling *sampling, const double *uniforms,
            RaCpuSample *out, void *stream)
{
  auto kernel = sample_kernel;

  if (n == 0 || n > RA_K_SAMPLE_MAX || n_rows > 0x7fffffff)
    return cudaErrorInvalidValue;
  if (n_rows == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, (unsigned)n_rows, THREADS, 0, stream, n, logits, *sampling,
            uniforms, out);
  return cudaGetLastError();
}
