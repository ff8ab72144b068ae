/* Causal attention over packed sequences, its merge and its gradient. */
#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_attention.h"
#include "kernels/cpu/cpu_gemm.h"

#define BLOCK RA_CPU_ATTENTION_BLOCK

/* One head of one sequence: where its parts begin. */
typedef struct {
  const float *q, *k, *v; /* (n, head_dim), rows `stride` apart */
  size_t stride;          /* of q */
  size_t kv_stride;       /* of k */
  size_t v_stride;        /* of v */
  size_t d_q_stride;      /* of its gradient */
  size_t out_stride;      /* of out: q_heads x value_dim */
  size_t lse_stride;      /* of lse: q_heads */
  size_t head_dim;
  size_t value_dim;
  size_t n;             /* queries of the sequence */
  size_t n_kv;          /* its keys */
  const uint32_t *seen; /* (n) keys of each; NULL: itself and those before */
  float scale;
  float slope;               /* of ALiBi; 0: none */
  const uint32_t *q_places;  /* (n) for it; NULL: 0, 1, ... */
  const uint32_t *kv_places; /* (n_kv) likewise */
  size_t window;             /* keys of a query; 0: all */
  float sink;                /* its score; -INFINITY: none */
} Head;

static const uint32_t *
kv_begin(const RaCpuAttention *shape)
{
  return shape->kv_begin ? shape->kv_begin : shape->begin;
}

static size_t
kv_stride(const RaCpuAttention *shape)
{
  return shape->kv_stride ? shape->kv_stride : shape->stride;
}

static size_t
value_dim(const RaCpuAttention *shape)
{
  return shape->value_dim ? shape->value_dim : shape->head_dim;
}

static size_t
v_stride(const RaCpuAttention *shape)
{
  return shape->v_stride ? shape->v_stride : kv_stride(shape);
}

static size_t
d_q_stride(const RaCpuAttention *shape)
{
  return shape->d_q_stride ? shape->d_q_stride : shape->stride;
}

size_t
ra_cpu_attention_workspace(const RaCpuAttention *shape)
{
  size_t longest = 0;
  const uint32_t *begin = kv_begin(shape);

  for (uint32_t s = 0; s < shape->n_sequences; s++) {
    size_t n = begin[s + 1] - begin[s];

    longest = n > longest ? n : longest;
  }
  return 2 * BLOCK * longest;
}

static Head
head_at(const RaCpuAttention *shape, uint32_t sequence, uint32_t q_head,
        const float *q, const float *k, const float *v)
{
  const uint32_t *kv = kv_begin(shape) + sequence;
  size_t first = shape->begin[sequence];
  size_t kv_head = q_head / (shape->q_heads / shape->kv_heads);
  size_t kv_at = kv[0] * kv_stride(shape) + kv_head * shape->head_dim;

  return (Head){.q = q + first * shape->stride + q_head * shape->head_dim,
                .k = k + kv_at,
                .v = v + kv[0] * v_stride(shape) + kv_head * value_dim(shape),
                .stride = shape->stride,
                .kv_stride = kv_stride(shape),
                .v_stride = v_stride(shape),
                .d_q_stride = d_q_stride(shape),
                .out_stride = shape->q_heads * value_dim(shape),
                .lse_stride = shape->q_heads,
                .head_dim = shape->head_dim,
                .value_dim = value_dim(shape),
                .n = shape->begin[sequence + 1] - first,
                .n_kv = kv[1] - kv[0],
                .seen = shape->seen ? shape->seen + first : NULL,
                .scale = shape->scale > 0
                             ? shape->scale
                             : (float)(1.0 / sqrt((double)shape->head_dim)),
                .slope = shape->slopes ? shape->slopes[q_head] : 0,
                .q_places = shape->q_places ? shape->q_places + first : NULL,
                .kv_places = shape->kv_places ? shape->kv_places + kv[0] : NULL,
                .window = shape->window,
                .sink = shape->sinks ? shape->sinks[q_head] : -INFINITY};
}

/* Query heads to do. */
static uint32_t
first_head(const RaCpuAttention *shape)
{
  return shape->kv_first * (shape->q_heads / shape->kv_heads);
}

static uint32_t
last_head(const RaCpuAttention *shape)
{
  return (shape->kv_last ? shape->kv_last : shape->kv_heads) *
         (shape->q_heads / shape->kv_heads);
}

/* Keys that query @i sees. */
static size_t
n_seen(const Head *h, size_t i)
{
  return h->seen ? h->seen[i] : i + 1;
}

/* The first of them. */
static size_t
first_seen(const Head *h, size_t i)
{
  size_t n = n_seen(h, i);

  return h->window > 0 && n > h->window ? n - h->window : 0;
}

float
ra_cpu_alibi_slope(uint32_t head, uint32_t n_heads)
{
  uint32_t p = 1;

  while (p <= n_heads / 2)
    p *= 2;
  if (head < p)
    return (float)exp2(-8.0 * (head + 1) / p);
  return (float)exp2(-8.0 * (2 * (head - p) + 1) / (2 * p));
}

/* ALiBi of query @at, before the scale; @places of keys; NULL: 0, 1, ... */
RA_CPU_KERNEL static void
add_distance(float *row, size_t at, size_t n, const uint32_t *places,
             float slope)
{
  if (places) {
#pragma omp simd
    for (size_t j = 0; j < n; j++)
      row[j] += slope * ((float)places[j] - (float)at);
    return;
  }
#pragma omp simd
  for (size_t j = 0; j < n; j++)
    row[j] += slope * ((float)j - (float)at);
}

/* The scores of queries @first to @first + @rows - 1, each with @n keys from
 * @low on, the first that the first of them sees, (rows, n). */
static void
block_scores(const Head *h, size_t first, size_t rows, size_t low, size_t n,
             float *scores)
{
  ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, rows, n, h->head_dim,
              h->q + first * h->stride, h->stride, h->k + low * h->kv_stride,
              h->kv_stride, 0, scores, n);
  for (size_t i = 0; h->slope != 0 && i < rows; i++)
    add_distance(scores + i * n,
                 (h->q_places ? h->q_places[first + i] : first + i) -
                     (h->kv_places ? 0 : low),
                 n, h->kv_places ? h->kv_places + low : NULL,
                 h->slope / h->scale);
}

/* Scores of one query to probabilities, zero past the diagonal. */
RA_CPU_KERNEL static void
softmax_row(float *row, size_t n_seen, size_t n, float scale, float sink,
            float *out_lse)
{
  float most = row[0], sum = 0, inv;

  if (n_seen == 0) {
    memset(row, 0, n * sizeof *row);
    *out_lse = sink;
    return;
  }

#pragma omp simd reduction(max : most)
  for (size_t j = 0; j < n_seen; j++)
    most = row[j] > most ? row[j] : most;
  if (sink > most * scale)
    most = sink / scale;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < n_seen; j++) {
    row[j] = ra_cpu_exp((row[j] - most) * scale);
    sum += row[j];
  }
  if (sink > -INFINITY)
    sum += expf(sink - most * scale);
  inv = 1.0f / sum;
#pragma omp simd
  for (size_t j = 0; j < n_seen; j++)
    row[j] *= inv;
  if (n > n_seen)
    memset(row + n_seen, 0, (n - n_seen) * sizeof *row);
  *out_lse = most * scale + logf(sum);
}

static void
clear_rows(size_t n_rows, size_t n, float *x, size_t stride)
{
  for (size_t i = 0; i < n_rows; i++)
    memset(x + i * stride, 0, n * sizeof *x);
}

static void
head_forward(const Head *h, float *out, float *lse, float *scores)
{
  for (size_t first = 0; first < h->n; first += BLOCK) {
    size_t rows = h->n - first < BLOCK ? h->n - first : BLOCK;
    size_t low = first_seen(h, first), n = n_seen(h, first + rows - 1) - low;
    float *to = out + first * h->out_stride;

    if (n == 0) {
      clear_rows(rows, h->value_dim, to, h->out_stride);
      for (size_t i = 0; i < rows; i++)
        lse[(first + i) * h->lse_stride] = h->sink;
      continue;
    }
    block_scores(h, first, rows, low, n, scores);
    for (size_t i = 0; i < rows; i++) {
      size_t from = first_seen(h, first + i) - low;
      float *row = scores + i * n;

      memset(row, 0, from * sizeof *row);
      softmax_row(row + from, n_seen(h, first + i) - low - from, n - from,
                  h->scale, h->sink, lse + (first + i) * h->lse_stride);
    }
    ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, rows, h->value_dim, n, scores, n,
                h->v + low * h->v_stride, h->v_stride, 0, to, h->out_stride);
  }
}

void
ra_cpu_attention(const RaCpuAttention *shape, const float *q, const float *k,
                 const float *v, float *out, float *out_lse, float *workspace)
{
  for (uint32_t s = 0; s < shape->n_sequences; s++)
    for (uint32_t head = first_head(shape); head < last_head(shape); head++) {
      Head h = head_at(shape, s, head, q, k, v);
      size_t first = shape->begin[s];

      head_forward(&h, out + first * h.out_stride + head * h.value_dim,
                   out_lse + first * h.lse_stride + head, workspace);
    }
}

/* @b: of the weights of two parts that of the second. */
RA_CPU_KERNEL static void
merge_row(size_t n, float a, float b, const float *part, float *out)
{
#pragma omp simd
  for (size_t i = 0; i < n; i++)
    out[i] = a * out[i] + b * part[i];
}

void
ra_cpu_attention_merge(size_t n_tokens, size_t n_heads, size_t head_dim,
                       const float *part, const float *part_lse, float *out,
                       float *lse)
{
  for (size_t i = 0; i < n_tokens * n_heads; i++) {
    float most = part_lse[i] > lse[i] ? part_lse[i] : lse[i];
    float a = expf(lse[i] - most), b = expf(part_lse[i] - most), sum = a + b;

    merge_row(head_dim, a / sum, b / sum, part + i * head_dim,
              out + i * head_dim);
    lse[i] = most + logf(sum);
  }
}

/* Scores of one query to probabilities, by its lse. */
RA_CPU_KERNEL static void
probability_row(float *row, size_t n_seen, size_t n, float scale, float lse)
{
#pragma omp simd
  for (size_t j = 0; j < n_seen; j++)
    row[j] = ra_cpu_exp(row[j] * scale - lse);
  if (n > n_seen)
    memset(row + n_seen, 0, (n - n_seen) * sizeof *row);
}

/* ds of one query, over the gradient @d_row of its probabilities @row. */
RA_CPU_KERNEL static void
score_gradient_row(const float *row, float *d_row, size_t n, float scale,
                   float mean)
{
#pragma omp simd
  for (size_t j = 0; j < n; j++)
    d_row[j] = row[j] * (d_row[j] - mean) * scale;
}

RA_CPU_KERNEL static float
dot(size_t n, const float *a, const float *b)
{
  float sum = 0;

#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/* The first head of a group writes d_k and d_v, the others add. */
static void
head_backward(const Head *h, const float *out, const float *lse,
              const float *d_out, float *d_q, float *d_k, float *d_v,
              int is_first, float *workspace)
{
  float *probs = workspace, *d_probs = workspace + BLOCK * h->n_kv;

  if (is_first) {
    clear_rows(h->n_kv, h->head_dim, d_k, h->kv_stride);
    clear_rows(h->n_kv, h->value_dim, d_v, h->v_stride);
  }
  for (size_t first = 0; first < h->n; first += BLOCK) {
    size_t rows = h->n - first < BLOCK ? h->n - first : BLOCK;
    size_t low = first_seen(h, first), n = n_seen(h, first + rows - 1) - low;
    size_t kv_at = low * h->kv_stride, v_at = low * h->v_stride;
    float *d_q_rows = d_q + first * h->d_q_stride;
    const float *d_rows = d_out + first * h->out_stride;
    const float *q = h->q + first * h->stride;

    if (n == 0) {
      clear_rows(rows, h->head_dim, d_q_rows, h->d_q_stride);
      continue;
    }
    block_scores(h, first, rows, low, n, probs);
    ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, rows, n, h->value_dim, d_rows,
                h->out_stride, h->v + v_at, h->v_stride, 0, d_probs, n);
    for (size_t i = 0; i < rows; i++) {
      const float *d_row = d_rows + i * h->out_stride;
      const float *o = out + (first + i) * h->out_stride;

      size_t from = first_seen(h, first + i) - low;

      memset(probs + i * n, 0, from * sizeof *probs);
      probability_row(probs + i * n + from, n_seen(h, first + i) - low - from,
                      n - from, h->scale, lse[(first + i) * h->lse_stride]);
      score_gradient_row(probs + i * n, d_probs + i * n, n, h->scale,
                         dot(h->value_dim, d_row, o));
    }
    ra_cpu_gemm(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, h->value_dim, rows, probs,
                n, d_rows, h->out_stride, 1, d_v + v_at, h->v_stride);
    ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, rows, h->head_dim, n, d_probs, n,
                h->k + kv_at, h->kv_stride, 0, d_q_rows, h->d_q_stride);
    ra_cpu_gemm(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, h->head_dim, rows, d_probs,
                n, q, h->stride, 1, d_k + kv_at, h->kv_stride);
  }
}

void
ra_cpu_attention_backward(const RaCpuAttention *shape, const float *q,
                          const float *k, const float *v, const float *out,
                          const float *lse, const float *d_out, float *d_q,
                          float *d_k, float *d_v, float *workspace)
{
  for (uint32_t s = 0; s < shape->n_sequences; s++)
    for (uint32_t head = first_head(shape); head < last_head(shape); head++) {
      uint32_t group = shape->q_heads / shape->kv_heads;
      Head h = head_at(shape, s, head, q, k, v);
      size_t at = shape->begin[s] * h.out_stride + head * h.value_dim;
      size_t q_at = shape->begin[s] * h.d_q_stride + head * h.head_dim;
      size_t kv_at =
          kv_begin(shape)[s] * h.kv_stride + head / group * h.head_dim;
      size_t v_at =
          kv_begin(shape)[s] * h.v_stride + head / group * h.value_dim;

      head_backward(&h, out + at, lse + shape->begin[s] * h.lse_stride + head,
                    d_out + at, d_q + q_at, d_k + kv_at, d_v + v_at,
                    head % group == 0, workspace);
    }
}

void
ra_cpu_sinks_backward(size_t n_tokens, uint32_t n_heads, size_t head_dim,
                      const float *sinks, const float *out, const float *lse,
                      const float *d_out, float *d_sinks)
{
  for (uint32_t head = 0; head < n_heads; head++) {
    double sum = 0;

    for (size_t i = head; i < n_tokens * n_heads; i += n_heads)
      sum += (double)expf(sinks[head] - lse[i]) *
             (double)dot(head_dim, out + i * head_dim, d_out + i * head_dim);
    d_sinks[head] -= (float)sum;
  }
}
