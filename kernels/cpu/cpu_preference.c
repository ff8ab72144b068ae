/* Preference losses, and advantages without a critic. */
#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu_preference.h"

/* log(1 + exp(-m)) of either sign without overflow. */
double
ra_cpu_pair_loss(double margin, double scale, RaCpuLoss *out)
{
  double small = exp(-fabs(margin));

  out->loss += fmax(-margin, 0) + log1p(small);
  out->clipped += margin > 0;
  return -scale * (margin > 0 ? small : 1) / (1 + small);
}

double
ra_cpu_log_ratio(size_t n, const float *log_prob, const float *reference)
{
  double sum = 0;

  for (size_t i = 0; i < n; i++)
    sum += (double)log_prob[i] - (double)reference[i];
  return sum;
}

void
ra_cpu_leave_one_out(size_t n_groups, size_t n_samples, const float *rewards,
                     float *out)
{
  for (size_t g = 0; g < n_groups; g++) {
    const float *group = rewards + g * n_samples; /* (n_samples) */
    double sum = 0;

    for (size_t i = 0; i < n_samples; i++)
      sum += (double)group[i];
    for (size_t i = 0; i < n_samples; i++) {
      double own = (double)group[i];

      out[g * n_samples + i] =
          (float)(own - (sum - own) / (double)(n_samples - 1));
    }
  }
}

void
ra_cpu_remax_advantages(size_t n, const float *log_prob, const float *reference,
                        double gain, double kl_weight, float *out)
{
  for (size_t t = n; t-- > 0;) {
    if (log_prob && reference)
      gain -= kl_weight * ((double)log_prob[t] - (double)reference[t]);
    out[t] = (float)gain;
  }
}
