/* Rotary positions, activations, embedding, cache rows, sums. */
#include "kernels/device.cuh"
#include "kernels/pointwise.h"

/* Every kernel here gives a thread one vector of eight elements. */
#define THREADS 256

__device__ static inline size_t
thread_number()
{
  return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

static bool
blocks_for(size_t n_threads, unsigned *out_blocks)
{
  size_t n = (n_threads + THREADS - 1) / THREADS;

  *out_blocks = (unsigned)n;
  return n <= 0x7fffffff; /* of a grid */
}

/* Eight floats, 16 bytes a load. */
__device__ static inline void
load_floats(float to[8], const float *from)
{
  *reinterpret_cast<float4 *>(to) = *reinterpret_cast<const float4 *>(from);
  *reinterpret_cast<float4 *>(to + 4) =
      *reinterpret_cast<const float4 *>(from + 4);
}

/* Rotates a vector of the first half of a head with that of the second half,
 * by elements of the table from @row on. */
__device__ static inline void
turn(RaVector *a, RaVector *b, const float *row, int half, float direction)
{
  alignas(16) float c[8], s[8];

  load_floats(c, row);
  load_floats(s, row + half);
  RA_UNROLL
  for (int e = 0; e < 8; e++) {
    float y = ra_bf16_to_f32(a->bf16[e]), z = ra_bf16_to_f32(b->bf16[e]);
    float sine = direction * s[e];

    a->bf16[e] = ra_bf16_from_f32(y * c[e] - z * sine);
    b->bf16[e] = ra_bf16_from_f32(z * c[e] + y * sine);
  }
}

__global__ static void
rope_kernel(size_t n, int n_heads, int n_vectors,
            const uint32_t *__restrict__ positions,
            const float *__restrict__ cos_sin, float direction,
            uint16_t *__restrict__ x, size_t stride)
{
  size_t i = thread_number(), token, head, vector;
  int half = 8 * n_vectors;
  uint4 *at_a, *at_b;
  RaVector a, b;

  ra_after();
  if (i >= n)
    return;
  token = ra_divide(ra_divide(i, (size_t)n_vectors, &vector), (size_t)n_heads,
                    &head);
  at_a = reinterpret_cast<uint4 *>(x + token * stride + head * 2 * half +
                                   8 * vector);
  at_b = at_a + n_vectors;
  a.raw = *at_a;
  b.raw = *at_b;
  turn(&a, &b, cos_sin + (size_t)positions[token] * 2 * half + 8 * vector, half,
       direction);
  *at_a = a.raw;
  *at_b = b.raw;
}

/* The same for the heads of q; those of k, and of v as they are, go to row
 * rows[token] of the cache. */
__global__ static void
rope_rows_kernel(size_t n, int q_heads, int kv_heads, int n_vectors,
                 const uint32_t *__restrict__ positions,
                 const uint32_t *__restrict__ rows,
                 const float *__restrict__ cos_sin, uint16_t *__restrict__ qkv,
                 size_t stride, uint16_t *__restrict__ k,
                 uint16_t *__restrict__ v)
{
  size_t i = thread_number(), token, at, rest, vector;
  int half = 8 * n_vectors, n_heads = q_heads + 2 * kv_heads, head;
  uint16_t *to;
  RaVector a, b;

  ra_after();
  if (i >= n)
    return;
  token = ra_divide(ra_divide(i, (size_t)n_vectors, &vector), (size_t)n_heads,
                    &rest);
  head = (int)rest;
  to = qkv + token * stride + head * 2 * half + 8 * vector;
  a.raw = *reinterpret_cast<const uint4 *>(to);
  b.raw = *reinterpret_cast<const uint4 *>(to + half);
  if (head < q_heads + kv_heads)
    turn(&a, &b, cos_sin + (size_t)positions[token] * 2 * half + 8 * vector,
         half, 1.0f);
  if (head >= q_heads) {
    at = (size_t)rows[token] * kv_heads + (head - q_heads) % kv_heads;
    to = (head < q_heads + kv_heads ? k : v) + at * 2 * half + 8 * vector;
  }
  *reinterpret_cast<uint4 *>(to) = a.raw;
  *reinterpret_cast<uint4 *>(to + half) = b.raw;
}

extern "C" int
ra_k_rope(size_t n_tokens, size_t n_heads, size_t head_dim,
          const uint32_t *positions, const float *cos_sin, int direction,
          uint16_t *x, size_t stride, void *stream)
{
  size_t n = n_tokens * n_heads * (head_dim / 16);
  auto kernel = rope_kernel;
  unsigned n_blocks;

  if (head_dim % 16 != 0 || head_dim == 0 || stride % 8 != 0 ||
      !ra_is_aligned(x) || !ra_is_aligned(cos_sin) || !blocks_for(n, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH_AFTER(kernel, n_blocks, THREADS, 0, stream, n, (int)n_heads,
                  (int)(head_dim / 16), positions, cos_sin, (float)direction, x,
                  stride);
  return cudaGetLastError();
}

extern "C" int
ra_k_rope_rows(size_t n_tokens, size_t q_heads, size_t kv_heads,
               size_t head_dim, const uint32_t *positions, const uint32_t *rows,
               const float *cos_sin, uint16_t *qkv, size_t stride, uint16_t *k,
               uint16_t *v, void *stream)
{
  size_t n = n_tokens * (q_heads + 2 * kv_heads) * (head_dim / 16);
  auto kernel = rope_rows_kernel;
  unsigned n_blocks;

  if (head_dim % 16 != 0 || head_dim == 0 || stride % 8 != 0 ||
      !ra_is_aligned(qkv) || !ra_is_aligned(cos_sin) || !ra_is_aligned(k) ||
      !ra_is_aligned(v) || !blocks_for(n, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH_AFTER(kernel, n_blocks, THREADS, 0, stream, n, (int)q_heads,
                  (int)kv_heads, (int)(head_dim / 16), positions, rows, cos_sin,
                  qkv, stride, k, v);
  return cudaGetLastError();
}

/* n_vectors: of a row of the output. */
__global__ static void
swiglu_kernel(size_t n, size_t n_vectors, const uint4 *__restrict__ gate_up,
              uint4 *__restrict__ out)
{
  size_t i = thread_number(), at, rest;
  RaVector gate, up;

  ra_after();
  if (i >= n)
    return;
  at = ra_divide(i, n_vectors, &rest) * 2 * n_vectors;
  at += rest;
  gate.raw = gate_up[at];
  up.raw = gate_up[at + n_vectors];
  RA_UNROLL
  for (int e = 0; e < 8; e++) {
    float g = ra_bf16_to_f32(gate.bf16[e]);

    gate.bf16[e] =
        ra_bf16_from_f32(g * ra_k_sigmoid(g) * ra_bf16_to_f32(up.bf16[e]));
  }
  out[i] = gate.raw;
}

/* d_gate_up may be gate_up: a thread reads what it writes, before. */
__global__ static void
swiglu_backward_kernel(size_t n, size_t n_vectors, const uint4 *gate_up,
                       const uint4 *__restrict__ d_out, uint4 *d_gate_up)
{
  size_t i = thread_number(), at, rest;
  RaVector gate, up, d;

  ra_after();
  if (i >= n)
    return;
  at = ra_divide(i, n_vectors, &rest) * 2 * n_vectors;
  at += rest;
  gate.raw = gate_up[at];
  up.raw = gate_up[at + n_vectors];
  d.raw = d_out[i];
  RA_UNROLL
  for (int e = 0; e < 8; e++) {
    float g = ra_bf16_to_f32(gate.bf16[e]), u = ra_bf16_to_f32(up.bf16[e]);
    float y = ra_bf16_to_f32(d.bf16[e]), s = ra_k_sigmoid(g);

    gate.bf16[e] = ra_bf16_from_f32(y * u * s * (1.0f + g * (1.0f - s)));
    up.bf16[e] = ra_bf16_from_f32(y * g * s);
  }
  d_gate_up[at] = gate.raw;
  d_gate_up[at + n_vectors] = up.raw;
}

extern "C" int
ra_k_swiglu(size_t n_tokens, size_t width, const uint16_t *gate_up,
            uint16_t *out, void *stream)
{
  size_t n = n_tokens * (width / 8);
  auto kernel = swiglu_kernel;
  unsigned n_blocks;

  if (width % 8 != 0 || !ra_is_aligned(gate_up) || !ra_is_aligned(out) ||
      !blocks_for(n, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH_AFTER(kernel, n_blocks, THREADS, 0, stream, n, width / 8,
                  reinterpret_cast<const uint4 *>(gate_up),
                  reinterpret_cast<uint4 *>(out));
  return cudaGetLastError();
}

extern "C" int
ra_k_swiglu_backward(size_t n_tokens, size_t width, const uint16_t *gate_up,
                     const uint16_t *d_out, uint16_t *d_gate_up, void *stream)
{
  size_t n = n_tokens * (width / 8);
  auto kernel = swiglu_backward_kernel;
  unsigned n_blocks;

  if (width % 8 != 0 || !ra_is_aligned(gate_up) || !ra_is_aligned(d_out) ||
      !ra_is_aligned(d_gate_up) || !blocks_for(n, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH_AFTER(kernel, n_blocks, THREADS, 0, stream, n, width / 8,
                  reinterpret_cast<const uint4 *>(gate_up),
                  reinterpret_cast<const uint4 *>(d_out),
                  reinterpret_cast<uint4 *>(d_gate_up));
  return cudaGetLastError();
}

template <RaActivation KIND>
__global__ static void
activation_kernel(size_t n, const uint4 *__restrict__ x,
                  uint4 *__restrict__ out)
{
  size_t i = thread_number();
  RaVector a;

  ra_after();
  if (i >= n)
    return;
  a.raw = x[i];
  RA_UNROLL
  for (int e = 0; e < 8; e++)
    a.bf16[e] =
        ra_bf16_from_f32(ra_k_activation(KIND, ra_bf16_to_f32(a.bf16[e])));
  out[i] = a.raw;
}

/* d_x may be x or d_out. */
template <RaActivation KIND>
__global__ static void
activation_backward_kernel(size_t n, const uint4 *x, const uint4 *d_out,
                           uint4 *d_x)
{
  size_t i = thread_number();
  RaVector a, d;

  ra_after();
  if (i >= n)
    return;
  a.raw = x[i];
  d.raw = d_out[i];
  RA_UNROLL
  for (int e = 0; e < 8; e++)
    d.bf16[e] = ra_bf16_from_f32(
        ra_bf16_to_f32(d.bf16[e]) *
        ra_k_activation_slope(KIND, ra_bf16_to_f32(a.bf16[e])));
  d_x[i] = d.raw;
}

extern "C" int
ra_k_activate(RaActivation kind, size_t n, const uint16_t *x, uint16_t *out,
              void *stream)
{
  auto kernel = kind == RA_ACTIVATION_GELU
                    ? activation_kernel<RA_ACTIVATION_GELU>
                : kind == RA_ACTIVATION_RELU2
                    ? activation_kernel<RA_ACTIVATION_RELU2>
                    : activation_kernel<RA_ACTIVATION_GELU_TANH>;
  unsigned n_blocks;

  if (kind == RA_ACTIVATION_FAMILY || n % 8 != 0 || !ra_is_aligned(x) ||
      !ra_is_aligned(out) || !blocks_for(n / 8, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH_AFTER(kernel, n_blocks, THREADS, 0, stream, n / 8,
                  reinterpret_cast<const uint4 *>(x),
                  reinterpret_cast<uint4 *>(out));
  return cudaGetLastError();
}

extern "C" int
ra_k_activate_backward(RaActivation kind, size_t n, const uint16_t *x,
                       const uint16_t *d_out, uint16_t *d_x, void *stream)
{
  auto kernel = kind == RA_ACTIVATION_GELU
                    ? activation_backward_kernel<RA_ACTIVATION_GELU>
                : kind == RA_ACTIVATION_RELU2
                    ? activation_backward_kernel<RA_ACTIVATION_RELU2>
                    : activation_backward_kernel<RA_ACTIVATION_GELU_TANH>;
  unsigned n_blocks;

  if (kind == RA_ACTIVATION_FAMILY || n % 8 != 0 || !ra_is_aligned(x) ||
      !ra_is_aligned(d_out) || !ra_is_aligned(d_x) ||
      !blocks_for(n / 8, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH_AFTER(kernel, n_blocks, THREADS, 0, stream, n / 8,
                  reinterpret_cast<const uint4 *>(x),
                  reinterpret_cast<const uint4 *>(d_out),
                  reinterpret_cast<uint4 *>(d_x));
  return cudaGetLastError();
}

__global__ static void
embedding_kernel(size_t n, size_t n_vectors, uint32_t first, uint32_t n_rows,
                 const uint32_t *__restrict__ tokens,
                 const uint32_t *__restrict__ newest,
                 const uint4 *__restrict__ table, uint4 *__restrict__ out)
{
  size_t i = thread_number(), vector;
  uint32_t token, row;

  ra_after();
  if (i >= n)
    return;
  token = tokens[ra_divide(i, n_vectors, &vector)];
  if (newest && (token & RA_K_DRAWN))
    token = newest[token & ~RA_K_DRAWN];
  row = token - first; /* below 0: above every n_rows */
  out[i] =
      row < n_rows ? table[row * n_vectors + vector] : make_uint4(0, 0, 0, 0);
}

extern "C" int
ra_k_embedding(size_t n_tokens, size_t width, uint32_t first, uint32_t n_rows,
               const uint32_t *tokens, const uint32_t *newest,
               const uint16_t *table, uint16_t *out, void *stream)
{
  size_t n = n_tokens * (width / 8);
  auto kernel = embedding_kernel;
  unsigned n_blocks;

  if (width % 8 != 0 || !ra_is_aligned(table) || !ra_is_aligned(out) ||
      !blocks_for(n, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH_AFTER(kernel, n_blocks, THREADS, 0, stream, n, width / 8, first,
                  n_rows, tokens, newest,
                  reinterpret_cast<const uint4 *>(table),
                  reinterpret_cast<uint4 *>(out));
  return cudaGetLastError();
}

__global__ static void
cache_rows_kernel(size_t n, size_t n_vectors, const uint32_t *__restrict__ rows,
                  const uint4 *__restrict__ in, size_t stride,
                  uint4 *__restrict__ k, uint4 *__restrict__ v)
{
  size_t i = thread_number(), row, at;

  ra_after();
  if (i >= n)
    return;
  row = ra_divide(i, 2 * n_vectors, &at);
  if (at < n_vectors)
    k[rows[row] * n_vectors + at] = in[row * stride + at];
  else
    v[rows[row] * n_vectors + at - n_vectors] = in[row * stride + at];
}

extern "C" int
ra_k_cache_rows(size_t n, size_t width, const uint32_t *rows,
                const uint16_t *in, size_t stride, uint16_t *k, uint16_t *v,
                void *stream)
{
  size_t n_vectors = n * 2 * (width / 8);
  auto kernel = cache_rows_kernel;
  unsigned n_blocks;

  if (width % 8 != 0 || stride % 8 != 0 || !ra_is_aligned(in) ||
      !ra_is_aligned(k) || !ra_is_aligned(v) ||
      !blocks_for(n_vectors, &n_blocks))
    return cudaErrorInvalidValue;
  if (n_vectors == 0)
    return cudaSuccess;
  RA_LAUNCH_AFTER(kernel, n_blocks, THREADS, 0, stream, n_vectors, width / 8,
                  rows, reinterpret_cast<const uint4 *>(in), stride / 8,
                  reinterpret_cast<uint4 *>(k), reinterpret_cast<uint4 *>(v));
  return cudaGetLastError();
}

/* blockIdx: (256 vectors of a row, kind of token). */
__global__ static void
embedding_backward_kernel(size_t n_vectors, const uint32_t *__restrict__ kinds,
                          const uint32_t *__restrict__ begin,
                          const uint32_t *__restrict__ order,
                          const uint4 *__restrict__ d_out,
                          float *__restrict__ d_table)
{
  size_t vector = thread_number();
  uint32_t kind = blockIdx.y;
  float sums[8] = {};
  float *to;

  ra_after();
  if (vector >= n_vectors)
    return;
  for (uint32_t i = begin[kind]; i < begin[kind + 1]; i++) {
    RaVector d;

    d.raw = d_out[order[i] * n_vectors + vector];
    RA_UNROLL
    for (int e = 0; e < 8; e++)
      sums[e] += ra_bf16_to_f32(d.bf16[e]);
  }
  to = d_table + (kinds[kind] * n_vectors + vector) * 8;
  RA_UNROLL
  for (int e = 0; e < 8; e++)
    to[e] += sums[e];
}

extern "C" int
ra_k_embedding_backward(size_t n_kinds, size_t width, const uint32_t *kinds,
                        const uint32_t *begin, const uint32_t *order,
                        const uint16_t *d_out, float *d_table, void *stream)
{
  const size_t most = 65535; /* of a grid */
  auto kernel = embedding_backward_kernel;
  unsigned n_blocks;

  if (width % 8 != 0 || !ra_is_aligned(d_out) || !ra_is_aligned(d_table) ||
      !blocks_for(width / 8, &n_blocks))
    return cudaErrorInvalidValue;
  if (width == 0)
    return cudaSuccess;
  for (size_t done = 0; done < n_kinds; done += most) {
    size_t left = n_kinds - done;
    dim3 grid(n_blocks, (unsigned)(left < most ? left : most));

    RA_LAUNCH_AFTER(kernel, grid, THREADS, 0, stream, width / 8, kinds + done,
                    begin + done, order, reinterpret_cast<const uint4 *>(d_out),
                    d_table);
  }
  return cudaGetLastError();
}

__global__ static void
add_kernel(size_t n, const uint4 *__restrict__ x, uint4 *__restrict__ y)
{
  size_t i = thread_number();
  RaVector a, b;

  ra_after();
  if (i >= n)
    return;
  a.raw = x[i];
  b.raw = y[i];
  RA_UNROLL
  for (int e = 0; e < 8; e++)
    b.bf16[e] =
        ra_bf16_from_f32(ra_bf16_to_f32(a.bf16[e]) + ra_bf16_to_f32(b.bf16[e]));
  y[i] = b.raw;
}

extern "C" int
ra_k_add(size_t n, const uint16_t *x, uint16_t *y, void *stream)
{
  auto kernel = add_kernel;
  unsigned n_blocks;

  if (n % 8 != 0 || !ra_is_aligned(x) || !ra_is_aligned(y) ||
      !blocks_for(n / 8, &n_blocks))
    return cudaErrorInvalidValue;
  if (n == 0)
    return cudaSuccess;
  RA_LAUNCH_AFTER(kernel, n_blocks, THREADS, 0, stream, n / 8,
                  reinterpret_cast<const uint4 *>(x),
                  reinterpret_cast<uint4 *>(y));
  return cudaGetLastError();
}
