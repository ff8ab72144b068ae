/* Routing, rows to experts and back, and their gradients. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu_experts.h"

static void
softmax(size_t n, float *x)
{
  float most = x[0];
  double sum = 0;

  for (size_t i = 1; i < n; i++)
    most = fmaxf(most, x[i]);
  for (size_t i = 0; i < n; i++) {
    x[i] = expf(x[i] - most);
    sum += (double)x[i];
  }
  for (size_t i = 0; i < n; i++)
    x[i] = (float)((double)x[i] / sum);
}

static void
sigmoids(size_t n, float *x)
{
  for (size_t i = 0; i < n; i++)
    x[i] = 1.0f / (1.0f + expf(-x[i]));
}

static uint32_t
group_size(const RaCpuRouting *r)
{
  return r->n_experts / (r->n_groups > 0 ? r->n_groups : 1);
}

static float
score_of(const RaCpuRouting *r, const float *probs, uint32_t i)
{
  return r->bias ? probs[i] + r->bias[i] : probs[i];
}

/* Sum of the two largest scores of a group, or the largest. */
static float
group_score(const RaCpuRouting *r, const float *probs, uint32_t group)
{
  float first = -INFINITY, second = -INFINITY;
  uint32_t n = group_size(r);

  for (uint32_t i = group * n; i < (group + 1) * n; i++) {
    float score = score_of(r, probs, i);

    if (score > first) {
      second = first;
      first = score;
    } else if (score > second) {
      second = score;
    }
  }
  return n > 1 && !r->by_largest ? first + second : first;
}

/* TRUE if a token may have experts of @group. */
static bool
is_open(const RaCpuRouting *r, const float *probs, uint32_t group)
{
  uint32_t n_before = 0;
  float score;

  if (r->n_groups <= 1)
    return true;
  score = group_score(r, probs, group);
  for (uint32_t g = 0; g < r->n_groups; g++)
    n_before += g != group &&
                ra_cpu_expert_before(group_score(r, probs, g), g, score, group);
  return n_before < r->top_groups;
}

/* The best expert of @group that is none of the @n of @taken; @inout_best: the
 * best so far. */
static void
choose_of_group(const RaCpuRouting *r, const float *probs, uint32_t group,
                uint32_t n, const uint32_t *taken, uint32_t *inout_best,
                float *inout_most)
{
  uint32_t size = group_size(r);

  for (uint32_t i = group * size; i < (group + 1) * size; i++) {
    float score = score_of(r, probs, i);
    bool is_taken = false;

    for (uint32_t b = 0; b < n; b++)
      is_taken |= taken[b] == i;
    if (is_taken || !ra_cpu_expert_before(score, i, *inout_most, *inout_best))
      continue;
    *inout_best = i;
    *inout_most = score;
  }
}

static void
choose(const RaCpuRouting *r, const float *probs, uint32_t *out)
{
  uint32_t n_groups = r->n_groups > 0 ? r->n_groups : 1;

  for (uint32_t j = 0; j < r->top_k; j++) {
    float most = -INFINITY;

    out[j] = r->n_experts;
    for (uint32_t g = 0; g < n_groups; g++)
      if (is_open(r, probs, g))
        choose_of_group(r, probs, g, j, out, &out[j], &most);
  }
}

static double
scale_of(const RaCpuRouting *r)
{
  return r->scale > 0 ? (double)r->scale : 1;
}

void
ra_cpu_route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
             uint32_t *choice, float *gates)
{
  uint32_t n = routing->n_experts, k = routing->top_k;

  for (size_t i = 0; i < n_tokens; i++, probs += n, choice += k, gates += k) {
    double sum = 0;

    if (routing->sigmoid)
      sigmoids(n, probs);
    else
      softmax(n, probs);
    choose(routing, probs, choice);
    for (uint32_t j = 0; j < k; j++)
      sum += (double)probs[choice[j]];
    if (routing->raw)
      sum = 1;
    for (uint32_t j = 0; j < k; j++)
      gates[j] = (float)(scale_of(routing) * ((double)probs[choice[j]] / sum));
  }
}

void
ra_cpu_place_rows(const RaCpuRouting *routing, size_t n, const uint32_t *choice,
                  uint32_t *counts, uint32_t *place)
{
  uint32_t next = 0;

  memset(counts, 0, routing->n_experts * sizeof *counts);
  for (size_t i = 0; i < n; i++)
    counts[choice[i]]++;
  for (uint32_t x = 0; x < routing->n_experts; x++) {
    next += counts[x];
    counts[x] = next - counts[x];
  }
  for (size_t i = 0; i < n; i++)
    place[i] = counts[choice[i]]++;
  /* they are where each expert's rows end now */
  for (uint32_t x = routing->n_experts; x-- > 1;)
    counts[x] -= counts[x - 1];
}

void
ra_cpu_spread_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                   const uint32_t *place, const float *x, const float *gates,
                   float *rows)
{
  for (size_t i = 0; i < n_tokens * routing->top_k; i++) {
    const float *from = x + i / routing->top_k * width;
    float *to = rows + place[i] * width;

    for (size_t c = 0; c < width; c++)
      to[c] = gates ? gates[i] * from[c] : from[c];
  }
}

void
ra_cpu_collect_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                    const uint32_t *place, const float *rows,
                    const float *gates, bool add, float *out)
{
  for (size_t i = 0; i < n_tokens * routing->top_k; i++) {
    const float *from = rows + place[i] * width;
    float *to = out + i / routing->top_k * width;
    bool first = i % routing->top_k == 0 && !add;

    for (size_t c = 0; c < width; c++)
      to[c] = (first ? 0 : to[c]) + (gates ? gates[i] * from[c] : from[c]);
  }
}

/* From the gradient @d (n) of the scores @probs to that of their logits. */
static void
scores_backward(const RaCpuRouting *r, const float *probs,
                const uint32_t *choice, float *d)
{
  double dot = 0;

  for (size_t j = 0; j < r->top_k && !r->sigmoid; j++)
    dot += (double)probs[choice[j]] * (double)d[choice[j]];
  for (size_t x = 0; x < r->n_experts; x++) {
    double p = (double)probs[x];

    d[x] = (float)(r->sigmoid ? p * (1 - p) * (double)d[x]
                              : p * ((double)d[x] - dot));
  }
}

void
ra_cpu_route_backward(const RaCpuRouting *routing, size_t n_tokens,
                      size_t width, const float *probs, const uint32_t *choice,
                      const float *gates, const uint32_t *place,
                      const float *d_out, const float *made, float *d_logits)
{
  size_t n = routing->n_experts, k = routing->top_k;
  double scale = scale_of(routing);

  memset(d_logits, 0, n_tokens * n * sizeof *d_logits);
  for (size_t i = 0; i < n_tokens; i++, probs += n, choice += k, gates += k) {
    float *d = d_logits + i * n;
    double sum = 0, mean = 0;

    for (size_t j = 0; j < k; j++) {
      const float *row = made + place[i * k + j] * width;
      double d_gate = 0;

      for (size_t c = 0; c < width; c++)
        d_gate += (double)d_out[i * width + c] * (double)row[c];
      d[choice[j]] = (float)(scale * d_gate);
      sum += (double)probs[choice[j]];
      mean += d_gate * (double)gates[j];
    }
    for (size_t j = 0; j < k && !routing->raw; j++)
      d[choice[j]] = (float)(((double)d[choice[j]] - mean) / sum);
    scores_backward(routing, probs, choice, d);
  }
}
