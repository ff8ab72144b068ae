#include "config.h"

#include <math.h>

#include "kernels/cpu.h"
#include "kernels/cpu_attention.h"
#include "kernels/cpu_gemm.h"

#define BLOCK RA_CPU_ATTENTION_BLOCK

/* One head of one sequence: where its parts begin. */
typedef struct {
  const float *q, *k, *v; /* (n, head_dim), rows `stride` apart */
  size_t stride;          /* of q, k and v */
  size_t out_stride;      /* of out: q_heads x head_dim */
  size_t lse_stride;      /* of lse: q_heads */
  size_t head_dim;
  size_t n; /* tokens of the sequence */
  float scale;
} Head;

size_t
ra_cpu_attention_workspace(const RaCpuAttention *shape)
{
  size_t longest = 0;

  for (uint32_t s = 0; s < shape->n_sequences; s++) {
    size_t n = shape->begin[s + 1] - shape->begin[s];

    longest = n > longest ? n : longest;
  }
  return 2 * BLOCK * longest;
}

static Head
head_at(const RaCpuAttention *shape, uint32_t sequence, uint32_t q_head,
        const float *q, const float *k, const float *v)
{
  size_t first = shape->begin[sequence] * shape->stride;
  size_t kv_head = q_head / (shape->q_heads / shape->kv_heads);

  return (Head){.q = q + first + q_head * shape->head_dim,
                .k = k + first + kv_head * shape->head_dim,
                .v = v + first + kv_head * shape->head_dim,
                .stride = shape->stride,
                .out_stride = (size_t)shape->q_heads * shape->head_dim,
                .lse_stride = shape->q_heads,
                .head_dim = shape->head_dim,
                .n = shape->begin[sequence + 1] - shape->begin[sequence],
                .scale = (float)(1.0 / sqrt((double)shape->head_dim))};
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

/* The scores of queries @first to @first + @rows - 1, each with the keys of
 * all of them and before, (rows, first + rows). */
static void
block_scores(const Head *h, size_t first, size_t rows, float *scores)
{
  ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, rows, first + rows, h->head_dim,
              h->q + first * h->stride, h->stride, h->k, h->stride, 0, scores,
              first + rows);
}

/* Scores of one query to probabilities, zero past the diagonal. */
RA_CPU_KERNEL static void
softmax_row(float *row, size_t n_seen, size_t n, float scale, float *out_lse)
{
  float most = row[0], sum = 0, inv;

#pragma omp simd reduction(max : most)
  for (size_t j = 0; j < n_seen; j++)
    most = row[j] > most ? row[j] : most;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < n_seen; j++) {
    row[j] = ra_cpu_exp((row[j] - most) * scale);
    sum += row[j];
  }
  inv = 1.0f / sum;
#pragma omp simd
  for (size_t j = 0; j < n_seen; j++)
    row[j] *= inv;
  if (n > n_seen)
    memset(row + n_seen, 0, (n - n_seen) * sizeof *row);
  *out_lse = most * scale + logf(sum);
}

static void
head_forward(const Head *h, float *out, float *lse, float *scores)
{
  for (size_t first = 0; first < h->n; first += BLOCK) {
    size_t rows = h->n - first < BLOCK ? h->n - first : BLOCK;
    size_t n = first + rows;

    block_scores(h, first, rows, scores);
    for (size_t i = 0; i < rows; i++)
      softmax_row(scores + i * n, first + i + 1, n, h->scale,
                  lse + (first + i) * h->lse_stride);
    ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, rows, h->head_dim, n, scores, n,
                h->v, h->stride, 0, out + first * h->out_stride, h->out_stride);
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

      head_forward(&h, out + first * h.out_stride + head * h.head_dim,
                   out_lse + first * h.lse_stride + head, workspace);
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
  float *probs = workspace, *d_probs = workspace + BLOCK * h->n;

  for (size_t at = 0; is_first && at < h->n; at++) {
    memset(d_k + at * h->stride, 0, h->head_dim * sizeof *d_k);
    memset(d_v + at * h->stride, 0, h->head_dim * sizeof *d_v);
  }
  for (size_t first = 0; first < h->n; first += BLOCK) {
    size_t rows = h->n - first < BLOCK ? h->n - first : BLOCK;
    size_t n = first + rows;
    const float *d_rows = d_out + first * h->out_stride;
    const float *q = h->q + first * h->stride;

    block_scores(h, first, rows, probs);
    ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, rows, n, h->head_dim, d_rows,
                h->out_stride, h->v, h->stride, 0, d_probs, n);
    for (size_t i = 0; i < rows; i++) {
      const float *d_row = d_rows + i * h->out_stride;
      const float *o = out + (first + i) * h->out_stride;

      probability_row(probs + i * n, first + i + 1, n, h->scale,
                      lse[(first + i) * h->lse_stride]);
      score_gradient_row(probs + i * n, d_probs + i * n, n, h->scale,
                         dot(h->head_dim, d_row, o));
    }
    ra_cpu_gemm(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, h->head_dim, rows, probs, n,
                d_rows, h->out_stride, 1, d_v, h->stride);
    ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, rows, h->head_dim, n, d_probs, n,
                h->k, h->stride, 0, d_q + first * h->stride, h->stride);
    ra_cpu_gemm(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, h->head_dim, rows, d_probs,
                n, q, h->stride, 1, d_k, h->stride);
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
      size_t at = shape->begin[s] * h.out_stride + head * h.head_dim;
      size_t q_at = shape->begin[s] * h.stride + head * h.head_dim;
      size_t kv_at = shape->begin[s] * h.stride + head / group * h.head_dim;

      head_backward(&h, out + at, lse + shape->begin[s] * h.lse_stride + head,
                    d_out + at, d_q + q_at, d_k + kv_at, d_v + kv_at,
                    head % group == 0, workspace);
    }
}
