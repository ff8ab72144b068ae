/* Preference losses over pairs, and advantages of algorithms without a critic.
 *
 * A pair is a chosen and a rejected response to one prompt.  The loss depends
 * on the margin between the two, by the model of Bradley and Terry.
 */
#ifndef RA_KERNELS_CPU_CPU_PREFERENCE_H
#define RA_KERNELS_CPU_CPU_PREFERENCE_H

#include "kernels/cpu/cpu_policy.h"

/**
 * ra_cpu_pair_loss:
 * @margin: margin of the chosen response
 * @scale: factor of the loss: 1 / pairs of the mini-batch
 * @out: the loss is added to it; `clipped` grows by 1 if the margin is above 0
 *
 *     L = -log sigmoid(margin)       dL/dmargin = -sigmoid(-margin)
 *
 * Reward models (arXiv 2203.02155, equation 1): margin r_chosen - r_rejected.
 * DPO (arXiv 2305.18290, equation 7): see ra_cpu_log_ratio().
 *
 * Returns: @scale dL/dmargin
 */
double ra_cpu_pair_loss(double margin, double scale, RaCpuLoss *out);

/**
 * ra_cpu_log_ratio:
 * @log_prob: (n) log-probabilities of a response's tokens
 * @reference: (n) log-probabilities under the reference
 *
 * The margin of DPO is beta times (the log ratio of the chosen response - that
 * of the rejected one).
 *
 * Returns: sum of log_prob - reference
 */
double ra_cpu_log_ratio(size_t n, const float *log_prob,
                        const float *reference);

/**
 * ra_cpu_leave_one_out:
 * @n_groups: prompts
 * @n_samples: responses to each, >= 2
 * @rewards: (n_groups, n_samples)
 * @out: as @rewards
 *
 * RLOO (arXiv 2402.14740, equation 8): the reward minus the mean reward of the
 * other responses to the prompt.
 */
void ra_cpu_leave_one_out(size_t n_groups, size_t n_samples,
                          const float *rewards, float *out);

/**
 * ra_cpu_remax_advantages:
 * @n: tokens of the response
 * @log_prob: (nullable) (n) log-probabilities when it was sampled
 * @reference: (nullable) (n) log-probabilities under the reference
 * @gain: its reward minus that of the greedy response
 * @kl_weight: beta
 * @out: (n)
 *
 * ReMax (arXiv 2310.10505, algorithm 2, with the penalty of its section 3.1):
 *
 *     A_t = gain - beta sum over u >= t of (log_prob_u - reference_u)
 */
void ra_cpu_remax_advantages(size_t n, const float *log_prob,
                             const float *reference, double gain,
                             double kl_weight, float *out);

#endif
