/* GAE, GRPO's advantages, the losses of policy and value. */
#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_policy.h"

void
ra_cpu_gae(uint32_t n_sequences, const uint32_t *begin, const float *rewards,
           const float *values, float gamma, float lambda,
           float *out_advantages, float *out_returns)
{
  for (uint32_t s = 0; s < n_sequences; s++) {
    float next_value = 0, advantage = 0;

    for (uint32_t t = begin[s + 1]; t-- > begin[s];) {
      float value = values[t];

      advantage =
          rewards[t] + gamma * next_value - value + gamma * lambda * advantage;
      out_advantages[t] = advantage;
      if (out_returns)
        out_returns[t] = advantage + value;
      next_value = value;
    }
  }
}

void
ra_cpu_moments(size_t n, const float *x, double *out_mean,
               double *out_deviation)
{
  double sum = 0, squares = 0;

  for (size_t i = 0; i < n; i++)
    sum += (double)x[i];
  *out_mean = n > 0 ? sum / (double)n : 0;
  for (size_t i = 0; i < n; i++)
    squares += ((double)x[i] - *out_mean) * ((double)x[i] - *out_mean);
  *out_deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
}

void
ra_cpu_group_advantages(size_t n_groups, size_t n_samples, const float *rewards,
                        float *out)
{
  for (size_t g = 0; g < n_groups; g++) {
    const float *group = rewards + g * n_samples; /* (n_samples) */
    double mean, deviation;

    ra_cpu_moments(n_samples, group, &mean, &deviation);
    for (size_t i = 0; i < n_samples; i++)
      out[g * n_samples + i] =
          (float)(((double)group[i] - mean) / (deviation + 1e-4));
  }
}

void
ra_cpu_policy_loss(size_t n, const float *log_prob, const float *old,
                   const float *reference, const float *advantages, float clip,
                   float kl_weight, float scale, float *d_log_prob,
                   RaCpuLoss *out)
{
  for (size_t i = 0; i < n; i++) {
    float change = log_prob[i] - old[i], a = advantages[i];
    float ratio = expf(change);
    float held = fminf(fmaxf(ratio, 1 - clip), 1 + clip);
    float free_loss = -a * ratio, held_loss = -a * held;
    float gradient = free_loss >= held_loss ? free_loss : 0;

    out->loss += (double)fmaxf(free_loss, held_loss);
    out->clipped += held_loss > free_loss;
    if (reference) {
      float away = reference[i] - log_prob[i], up = expf(away);

      out->kl += (double)(up - away - 1);
      out->loss += (double)(kl_weight * (up - away - 1));
      gradient += kl_weight * (1 - up);
    } else {
      out->kl += (double)(ratio - 1 - change);
    }
    if (d_log_prob)
      d_log_prob[i] = gradient * scale;
  }
}

void
ra_cpu_value_loss(size_t n, const float *values, const float *old,
                  const float *returns, float clip, float scale,
                  float *d_values, RaCpuLoss *out)
{
  for (size_t i = 0; i < n; i++) {
    float error = values[i] - returns[i], moved = values[i] - old[i];
    float held = clip > 0 ? fminf(fmaxf(moved, -clip), clip) : moved;
    float held_error = old[i] + held - returns[i];
    int is_held = held_error * held_error > error * error;

    /* Where the clip holds, the value may move without changing the loss. */
    is_held = is_held && (moved < held || moved > held);
    out->loss += is_held ? 0.5 * (double)held_error * (double)held_error
                         : 0.5 * (double)error * (double)error;
    out->clipped += is_held;
    if (d_values)
      d_values[i] = is_held ? 0 : error * scale;
  }
}
