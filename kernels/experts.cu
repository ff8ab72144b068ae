/* Routing, rows to experts and back, and their gradients. */
#include "kernels/device.cuh"
#include "kernels/experts.h"

#define THREADS 256 /* of what has a vector of eight elements a thread */
#define TOKENS 4    /* of a block that has a warp a token */
#define PLACERS 512 /* threads that look for an expert's rows */

static bool
blocks_for(size_t n, size_t of_block, unsigned *out_blocks)
{
  size_t n_blocks = (n + of_block - 1) / of_block;

  *out_blocks = (unsigned)n_blocks;
  return n_blocks <= 0x7fffffff; /* of a grid */
}

static bool
takes(const RaCpuRouting *routing)
{
  return routing->n_experts <= RA_K_EXPERTS && routing->top_k <= RA_K_TOP &&
         routing->top_k > 0 && routing->top_k <= routing->n_experts;
}

/* ---- Routing ------------------------------------------------------------- */

/* A warp a token, lane l has experts l, l + 32, ...; lane j ends up with the
 * token's choice j. */
__global__ static void
route_kernel(size_t n_tokens, RaCpuRouting routing, float *__restrict__ probs,
             uint32_t *__restrict__ choice, float *__restrict__ gates)
{
  size_t token = (size_t)blockIdx.x * TOKENS + threadIdx.x / RA_WARP;
  uint32_t lane = threadIdx.x % RA_WARP, n = routing.n_experts, taken = 0;
  uint32_t mine = 0;
  float most = -INFINITY, sum = 0, chosen = 0, gate = 0;
  float *p = probs + token * n;

  if (token >= n_tokens)
    return;
  for (uint32_t x = lane; x < n; x += RA_WARP)
    most = fmaxf(most, p[x]);
  most = ra_warp_max(most);
  for (uint32_t x = lane; x < n; x += RA_WARP) {
    p[x] = expf(p[x] - most);
    sum += p[x];
  }
  sum = ra_warp_sum(sum);
  for (uint32_t x = lane; x < n; x += RA_WARP)
    p[x] /= sum;
  for (uint32_t j = 0; j < routing.top_k; j++) {
    uint32_t best = n;
    float value = -1;

    for (uint32_t x = lane; x < n; x += RA_WARP)
      if (!(taken >> x / RA_WARP & 1) &&
          ra_cpu_expert_before(p[x], x, value, best)) {
        value = p[x];
        best = x;
      }
    for (int half = 16; half > 0; half /= 2) {
      float other = __shfl_xor_sync(RA_ALL_LANES, value, half);
      uint32_t x = __shfl_xor_sync(RA_ALL_LANES, best, half);

      if (ra_cpu_expert_before(other, x, value, best)) {
        value = other;
        best = x;
      }
    }
    if (best % RA_WARP == lane)
      taken |= 1u << best / RA_WARP;
    chosen += value;
    mine = lane == j ? best : mine;
    gate = lane == j ? value : gate;
  }
  if (lane >= routing.top_k)
    return;
  choice[token * routing.top_k + lane] = mine;
  gates[token * routing.top_k + lane] = routing.raw ? gate : gate / chosen;
}

extern "C" int
ra_k_route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
           uint32_t *choice, float *gates, void *stream)
{
  auto kernel = route_kernel;
  unsigned n_blocks;

  if (!takes(routing) || !blocks_for(n_tokens, TOKENS, &n_blocks))
    return cudaErrorInvalidValue;
  if (n_tokens == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, n_blocks, TOKENS * RA_WARP, 0, stream, n_tokens, *routing,
            probs, choice, gates);
  return cudaGetLastError();
}

/* A block an expert, which looks at all choices twice: how many are of experts
 * before it and of it, in each warp's part; then the places of its own.  What
 * is read again and again is small and stays in the L2 cache. */
__global__ static void
place_kernel(uint32_t n, const uint32_t *__restrict__ choice,
             uint32_t *__restrict__ counts, uint32_t *__restrict__ place)
{
  const uint32_t n_warps = PLACERS / RA_WARP;
  RA_SHARED(uint32_t, before, n_warps);
  RA_SHARED(uint32_t, of_it, n_warps);
  uint32_t lane = threadIdx.x % RA_WARP, warp = threadIdx.x / RA_WARP;
  uint32_t turns = (n / RA_WARP + n_warps) / n_warps; /* of a warp */
  uint64_t begin = (uint64_t)warp * turns * RA_WARP + lane;
  uint32_t n_before = 0, n_of_it = 0, at = 0;

  for (uint32_t turn = 0; turn < turns; turn++) {
    uint64_t i = begin + (uint64_t)turn * RA_WARP;
    uint32_t expert = i < n ? choice[i] : RA_K_EXPERTS;

    n_before += __popc(__ballot_sync(RA_ALL_LANES, expert < blockIdx.x));
    n_of_it += __popc(__ballot_sync(RA_ALL_LANES, expert == blockIdx.x));
  }
  if (lane == 0) {
    before[warp] = n_before;
    of_it[warp] = n_of_it;
  }
  __syncthreads();
  n_of_it = 0;
  for (uint32_t w = 0; w < n_warps; w++) {
    at += before[w] + (w < warp ? of_it[w] : 0);
    n_of_it += of_it[w];
  }
  if (threadIdx.x == 0)
    counts[blockIdx.x] = n_of_it;
  for (uint32_t turn = 0; turn < turns; turn++) {
    uint64_t i = begin + (uint64_t)turn * RA_WARP;
    bool is_its = i < n && choice[i] == blockIdx.x;
    unsigned votes = __ballot_sync(RA_ALL_LANES, is_its);

    if (is_its)
      place[i] = at + (uint32_t)__popc(votes & ((1u << lane) - 1));
    at += (uint32_t)__popc(votes);
  }
}

extern "C" int
ra_k_place_rows(const RaCpuRouting *routing, size_t n, const uint32_t *choice,
                uint32_t *counts, uint32_t *place, void *stream)
{
  auto kernel = place_kernel;

  if (!takes(routing) || n > UINT32_MAX)
    return cudaErrorInvalidValue;
  RA_LAUNCH(kernel, routing->n_experts, PLACERS, 0, stream, (uint32_t)n, choice,
            counts, place);
  return cudaGetLastError();
}

/* ---- Rows ---------------------------------------------------------------- */

__global__ static void
spread_kernel(size_t n, size_t n_vectors, uint32_t top_k,
              const uint32_t *__restrict__ place, const uint4 *__restrict__ x,
              const float *__restrict__ gates, uint4 *__restrict__ rows)
{
  size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
  size_t row = i / n_vectors, vector = i % n_vectors;
  RaVector a;

  if (i >= n)
    return;
  a.raw = x[row / top_k * n_vectors + vector];
  RA_UNROLL
  for (int e = 0; e < 8 && gates; e++)
    a.bf16[e] = ra_bf16_from_f32(gates[row] * ra_bf16_to_f32(a.bf16[e]));
  rows[place[row] * n_vectors + vector] = a.raw;
}

extern "C" int
ra_k_spread_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                 const uint32_t *place, const uint16_t *x, const float *gates,
                 uint16_t *rows, void *stream)
{
  size_t n = n_tokens * routing->top_k * (width / 8);
  auto kernel = spread_kernel;
  unsigned n_blocks;

  if (!takes(routing) || width % 8 != 0 || !ra_is_aligned(x) ||
      !ra_is_aligned(rows) || !blocks_for(n, THREADS, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, n_blocks, THREADS, 0, stream, n, width / 8, routing->top_k,
            place, reinterpret_cast<const uint4 *>(x), gates,
            reinterpret_cast<uint4 *>(rows));
  return cudaGetLastError();
}

__global__ static void
collect_kernel(size_t n, size_t n_vectors, uint32_t top_k,
               const uint32_t *__restrict__ place,
               const uint4 *__restrict__ rows, const float *__restrict__ gates,
               bool add, uint4 *__restrict__ out)
{
  size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
  size_t token = i / n_vectors, vector = i % n_vectors;
  float sums[8] = {};
  RaVector a;

  if (i >= n)
    return;
  if (add) {
    a.raw = out[i];
    RA_UNROLL
    for (int e = 0; e < 8; e++)
      sums[e] = ra_bf16_to_f32(a.bf16[e]);
  }
  for (size_t row = token * top_k; row < (token + 1) * top_k; row++) {
    float gate = gates ? gates[row] : 1;

    a.raw = rows[place[row] * n_vectors + vector];
    RA_UNROLL
    for (int e = 0; e < 8; e++)
      sums[e] += gate * ra_bf16_to_f32(a.bf16[e]);
  }
  RA_UNROLL
  for (int e = 0; e < 8; e++)
    a.bf16[e] = ra_bf16_from_f32(sums[e]);
  out[i] = a.raw;
}

extern "C" int
ra_k_collect_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                  const uint32_t *place, const uint16_t *rows,
                  const float *gates, bool add, uint16_t *out, void *stream)
{
  size_t n = n_tokens * (width / 8);
  auto kernel = collect_kernel;
  unsigned n_blocks;

  if (!takes(routing) || width % 8 != 0 || !ra_is_aligned(rows) ||
      !ra_is_aligned(out) || !blocks_for(n, THREADS, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, n_blocks, THREADS, 0, stream, n, width / 8, routing->top_k,
            place, reinterpret_cast<const uint4 *>(rows), gates, add,
            reinterpret_cast<uint4 *>(out));
  return cudaGetLastError();
}

/* ---- The router's gradient ----------------------------------------------- */

/* (n_vectors) of @a . @b, in every lane. */
__device__ static inline float
warp_dot(size_t n_vectors, const uint4 *a, const uint4 *b)
{
  float sum = 0;

  for (size_t v = threadIdx.x % RA_WARP; v < n_vectors; v += RA_WARP) {
    RaVector x, y;

    x.raw = a[v];
    y.raw = b[v];
    RA_UNROLL
    for (int e = 0; e < 8; e++)
      sum += ra_bf16_to_f32(x.bf16[e]) * ra_bf16_to_f32(y.bf16[e]);
  }
  return ra_warp_sum(sum);
}

/* A warp a token; lane j has what belongs to the token's choice j. */
__global__ static void
route_backward_kernel(size_t n_tokens, RaCpuRouting routing, size_t n_vectors,
                      const float *__restrict__ probs,
                      const uint32_t *__restrict__ choice,
                      const float *__restrict__ gates,
                      const uint32_t *__restrict__ place,
                      const uint4 *__restrict__ d_out,
                      const uint4 *__restrict__ made,
                      uint16_t *__restrict__ d_logits)
{
  size_t token = (size_t)blockIdx.x * TOKENS + threadIdx.x / RA_WARP;
  size_t first = token * routing.top_k, row = token * routing.n_experts;
  uint32_t lane = threadIdx.x % RA_WARP, n = routing.n_experts, mine = n;
  float d = 0, gate = 0, prob = 0, dot;

  if (token >= n_tokens)
    return;
  if (lane < routing.top_k) {
    mine = choice[first + lane];
    gate = gates[first + lane];
    prob = probs[row + mine];
  }
  for (uint32_t j = 0; j < routing.top_k; j++) {
    float of_gate = warp_dot(n_vectors, d_out + token * n_vectors,
                             made + place[first + j] * n_vectors);

    d = lane == j ? of_gate : d;
  }
  if (!routing.raw) {
    float mean = ra_warp_sum(d * gate), sum = ra_warp_sum(prob);

    d = (d - mean) / sum;
  }
  dot = ra_warp_sum(prob * d); /* 0 in lanes without a choice */
  for (uint32_t x = lane; x - lane < n; x += RA_WARP) {
    float of_prob = 0;

    for (uint32_t j = 0; j < routing.top_k; j++) {
      float of_choice = __shfl_sync(RA_ALL_LANES, d, (int)j);

      if (__shfl_sync(RA_ALL_LANES, mine, (int)j) == x)
        of_prob = of_choice;
    }
    if (x < n)
      d_logits[row + x] = ra_bf16_from_f32(probs[row + x] * (of_prob - dot));
  }
}

extern "C" int
ra_k_route_backward(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                    const float *probs, const uint32_t *choice,
                    const float *gates, const uint32_t *place,
                    const uint16_t *d_out, const uint16_t *made,
                    uint16_t *d_logits, void *stream)
{
  auto kernel = route_backward_kernel;
  unsigned n_blocks;

  if (!takes(routing) || width % 8 != 0 || !ra_is_aligned(d_out) ||
      !ra_is_aligned(made) || !blocks_for(n_tokens, TOKENS, &n_blocks))
    return cudaErrorInvalidValue;
  if (n_tokens == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, n_blocks, TOKENS * RA_WARP, 0, stream, n_tokens, *routing,
            width / 8, probs, choice, gates, place,
            reinterpret_cast<const uint4 *>(d_out),
            reinterpret_cast<const uint4 *>(made), d_logits);
  return cudaGetLastError();
}
