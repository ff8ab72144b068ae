/* Advantages and the losses of reinforcement learning, with their gradients.
 *
 * Arrays are over the tokens of responses, packed: sequence s has entries
 * begin[s] to begin[s + 1] - 1.  A loss is a sum over tokens times `scale`
 * (1 / tokens of the mini-batch); gradients include `scale`.
 */
#ifndef RA_KERNELS_CPU_CPU_POLICY_H
#define RA_KERNELS_CPU_CPU_POLICY_H

#include <stddef.h>
#include <stdint.h>

/**
 * ra_cpu_gae:
 * @begin: (n_sequences + 1)
 * @rewards: reward of each token
 * @values: value of the state before each token
 * @gamma: discount
 * @lambda: parameter of the exponential average
 * @out_advantages: may be @rewards
 * @out_returns: (nullable): advantage + value
 *
 * Generalized advantage estimation (arXiv 1506.02438, equation 16); the value
 * after the last token of a sequence is 0:
 *
 *     A_t = delta_t + gamma lambda A_(t+1)
 *     delta_t = r_t + gamma V_(t+1) - V_t
 *
 * Error: 6 u sum (gamma lambda)^l (|r| + |V| + |V'|) of the terms of A_t.
 */
void ra_cpu_gae(uint32_t n_sequences, const uint32_t *begin,
                const float *rewards, const float *values, float gamma,
                float lambda, float *out_advantages, float *out_returns);

/**
 * ra_cpu_group_advantages:
 * @n_groups: prompts
 * @n_samples: samples of each prompt
 * @rewards: (n_groups, n_samples), one a sequence
 * @out: as @rewards
 *
 * GRPO (arXiv 2402.03300): (r - mean) / (standard deviation + 1e-4) over the
 * samples of a prompt; the deviation with n - 1, as in TRL.
 */
void ra_cpu_group_advantages(size_t n_groups, size_t n_samples,
                             const float *rewards, float *out);

/* Mean and standard deviation (n - 1) of (n), in double; 0 for n < 2. */
void ra_cpu_moments(size_t n, const float *x, double *out_mean,
                    double *out_deviation);

/* Sums of a pass over a batch, not scaled. */
typedef struct {
  double loss;    /* loss over tokens */
  double clipped; /* tokens whose ratio or value was clipped */
  double kl;      /* estimate of KL(new || reference), or of (old || new) */
} RaCpuLoss;

/**
 * ra_cpu_policy_loss:
 * @n: tokens
 * @log_prob: log-probabilities under the current policy
 * @old: log-probabilities when the tokens were sampled
 * @reference: (nullable): log-probabilities under the reference; adds kl_weight
 *   k3 to the loss
 * @advantages: advantage of each token
 * @clip: epsilon
 * @kl_weight: beta of GRPO, with a @reference
 * @scale: factor of the loss
 * @d_log_prob: (nullable): (n) gradient, written
 * @out: added to
 *
 * The clipped surrogate (arXiv 1707.06347, equation 7), and with a @reference
 * the estimator of GRPO (arXiv 2402.03300, equation 4):
 *
 *     r = exp(lp - old)     L = max(-A r, -A clip(r, 1 - eps, 1 + eps))
 *     k3 = exp(ref - lp) - (ref - lp) - 1
 *
 * out->kl is the sum of k3 with a @reference, else that of
 * exp(lp - old) - 1 - (lp - old).
 */
void ra_cpu_policy_loss(size_t n, const float *log_prob, const float *old,
                        const float *reference, const float *advantages,
                        float clip, float kl_weight, float scale,
                        float *d_log_prob, RaCpuLoss *out);

/**
 * ra_cpu_value_loss:
 * @values: values of the current critic
 * @old: values when the advantages were computed
 * @returns: targets of the values
 * @d_values: (nullable): (n) gradient, written
 * @clip: largest change of a value from @old; 0: no clip
 *
 *     L = max((v - R)^2, (old + clip(v - old, -eps, eps) - R)^2) / 2
 */
void ra_cpu_value_loss(size_t n, const float *values, const float *old,
                       const float *returns, float clip, float scale,
                       float *d_values, RaCpuLoss *out);

#endif
