/* Sampling of tokens, and its margin. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_sample.h"

/* The largest first; of equal ones no matter. */
static int
compare_down(const void *a, const void *b)
{
  float x = *(const float *)a, y = *(const float *)b;

  return (x < y) - (x > y);
}

/* exp(z / t - max): @out_probs; their sum. */
RA_CPU_KERNEL static double
weigh(uint32_t n, const float *logits, float inv_temperature,
      float *out_weights)
{
  float most = logits[0];
  double sum = 0;

#pragma omp simd reduction(max : most)
  for (uint32_t i = 0; i < n; i++)
    most = logits[i] > most ? logits[i] : most;
#pragma omp simd
  for (uint32_t i = 0; i < n; i++)
    out_weights[i] = ra_cpu_exp((logits[i] - most) * inv_temperature);
  for (uint32_t i = 0; i < n; i++)
    sum += (double)out_weights[i];
  return sum;
}

static RaCpuSample
most_likely(uint32_t n, const float *logits, float *weights)
{
  double sum = weigh(n, logits, 1, weights);
  RaCpuSample best = {.token = 0};
  float second = -INFINITY;

  for (uint32_t i = 1; i < n; i++)
    if (logits[i] > logits[best.token]) {
      second = logits[best.token];
      best.token = i;
    } else if (logits[i] > second) {
      second = logits[i];
    }
  best.margin = logits[best.token] - second;
  best.log_prob = (float)-log(sum);
  return best;
}

/* How many of the @n largest weights are kept, and how near the decision was.
 * @sorted: (n) descending. */
static uint32_t
n_kept(uint32_t n, const float *sorted, double sum,
       const RaCpuSampling *sampling, double *out_margin)
{
  uint32_t k = sampling->top_k > 0 && sampling->top_k < n ? sampling->top_k : n;
  double kept = 0, before = 0, part;
  uint32_t i = 0;

  *out_margin = k < n ? (double)(sorted[k - 1] - sorted[k]) / sum : 1;
  if (sampling->top_p >= 1)
    return k;
  for (uint32_t j = 0; j < k; j++)
    kept += (double)sorted[j];
  part = (double)sampling->top_p * kept;
  for (i = 0; i < k && before < part; i++)
    before += (double)sorted[i];
  i = i > 0 ? i : 1;
  *out_margin = fmin(*out_margin, fabs(before - part) / sum);
  *out_margin =
      fmin(*out_margin, fabs(before - (double)sorted[i - 1] - part) / sum);
  if (i < n)
    *out_margin = fmin(*out_margin, (double)(sorted[i - 1] - sorted[i]) / sum);
  return i;
}

/* Keeps @n_keep of the @n weights, of equal ones at the edge the first, and
 * sets the others to 0.  Returns: their sum */
static double
keep(uint32_t n, float *weights, const float *sorted, uint32_t n_keep)
{
  float edge = sorted[n_keep - 1];
  uint32_t n_equal = 0;
  double sum = 0;

  for (uint32_t i = 0; i < n_keep; i++)
    n_equal += sorted[i] <= edge;
  for (uint32_t i = 0; i < n; i++) {
    if (weights[i] < edge || (weights[i] <= edge && n_equal == 0))
      weights[i] = 0;
    else if (weights[i] <= edge)
      n_equal--;
    sum += (double)weights[i];
  }
  return sum;
}

RaCpuSample
ra_cpu_sample(uint32_t n, const float *logits, const RaCpuSampling *sampling,
              double uniform, float *workspace)
{
  float *weights = workspace, *sorted = workspace + n;
  double all, sum, margin = 1, upto = 0, before = 0;
  RaCpuSample sample = {.token = 0};

  if (sampling->temperature <= 0)
    return most_likely(n, logits, weights);
  all = sum = weigh(n, logits, 1.0f / sampling->temperature, weights);
  if ((sampling->top_k > 0 && sampling->top_k < n) || sampling->top_p < 1) {
    memcpy(sorted, weights, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_down);
    sum = keep(n, weights, sorted, n_kept(n, sorted, all, sampling, &margin));
  }
  for (uint32_t i = 0; i < n; i++) {
    if (weights[i] <= 0)
      continue;
    sample.token = i; /* the last kept one where rounding runs past the end */
    before = upto;
    upto += (double)weights[i];
    if (upto > uniform * sum)
      break;
  }
  margin = fmin(margin, fabs(upto / sum - uniform));
  if (before > 0)
    margin = fmin(margin, fabs(uniform - before / sum));
  sample.margin = (float)margin;
  sample.log_prob = (float)log((double)weights[sample.token] / all);
  return sample;
}
