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
choose(uint32_t n, uint32_t k, const float *probs, uint32_t *out)
{
  for (uint32_t j = 0; j < k; j++) {
    uint32_t best = n;
    float most = -1;

    for (uint32_t i = 0; i < n; i++) {
      bool taken = false;

      for (uint32_t b = 0; b < j; b++)
        taken |= out[b] == i;
      if (!taken && ra_cpu_expert_before(probs[i], i, most, best)) {
        best = i;
        most = probs[i];
      }
    }
    out[j] = best;
  }
}

void
ra_cpu_route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
             uint32_t *choice, float *gates)
{
  uint32_t n = routing->n_experts, k = routing->top_k;

  for (size_t i = 0; i < n_tokens; i++, probs += n, choice += k, gates += k) {
    double sum = 0;

    softmax(n, probs);
    choose(n, k, probs, choice);
    for (uint32_t j = 0; j < k; j++)
      sum += (double)probs[choice[j]];
    if (routing->raw)
      sum = 1;
    for (uint32_t j = 0; j < k; j++)
      gates[j] = (float)((double)probs[choice[j]] / sum);
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

void
ra_cpu_route_backward(const RaCpuRouting *routing, size_t n_tokens,
                      size_t width, const float *probs, const uint32_t *choice,
                      const float *gates, const uint32_t *place,
                      const float *d_out, const float *made, float *d_logits)
{
  size_t n = routing->n_experts, k = routing->top_k;

  memset(d_logits, 0, n_tokens * n * sizeof *d_logits);
  for (size_t i = 0; i < n_tokens; i++, probs += n, choice += k, gates += k) {
    float *d = d_logits + i * n;
    double sum = 0, mean = 0, dot = 0;

    for (size_t j = 0; j < k; j++) {
      const float *row = made + place[i * k + j] * width;
      double d_gate = 0;

      for (size_t c = 0; c < width; c++)
        d_gate += (double)d_out[i * width + c] * (double)row[c];
      d[choice[j]] = (float)d_gate;
      sum += (double)probs[choice[j]];
      mean += d_gate * (double)gates[j];
    }
    for (size_t j = 0; j < k && !routing->raw; j++)
      d[choice[j]] = (float)(((double)d[choice[j]] - mean) / sum);
    for (size_t j = 0; j < k; j++)
      dot += (double)probs[choice[j]] * (double)d[choice[j]];
    for (size_t x = 0; x < n; x++)
      d[x] = (float)((double)probs[x] * ((double)d[x] - dot));
  }
}
