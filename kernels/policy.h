/* Advantages and the losses of reinforcement learning on a GPU, fp32.
 *
 * Formulas, arrays and references are those of kernels/cpu/cpu_policy.h.  The
 * term of a token is written once, below.  Sums over tokens are in double, in
 * RA_K_LOSS_BLOCKS parts that are then added in order, so that they are equal
 * on any GPU.
 *
 * Errors, u = 2^-24:
 *
 *     gae               12 u sum (gamma lambda)^l (|r| + |V| + |V'|): a scan of
 *                       five levels and a carry every 32 tokens
 *     terms of a loss   8 u (1 + ratio) |A|, and with a reference
 *                       8 u kl_weight (1 + e^|ref - lp|) more
 *     gradients         those of the terms times scale
 *     group advantages  4 u
 */
#ifndef RA_KERNELS_POLICY_H
#define RA_KERNELS_POLICY_H

#include <math.h>

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu_policy.h"

#define RA_K_LOSS_BLOCKS 128

#ifdef __cplusplus
extern "C" {
#endif

/* All arrays are device memory; every function returns a cudaError_t. */
int ra_k_gae(uint32_t n_sequences, const uint32_t *begin, const float *rewards,
             const float *values, float gamma, float lambda,
             float *out_advantages, float *out_returns, void *stream);
int ra_k_group_advantages(size_t n_groups, size_t n_samples,
                          const float *rewards, float *out, void *stream);
/* @workspace: (RA_K_LOSS_BLOCKS) RaCpuLoss; @out: one, added to. */
int ra_k_policy_loss(size_t n, const float *log_prob, const float *old,
                     const float *reference, const float *advantages,
                     float clip, float kl_weight, float scale,
                     float *d_log_prob, RaCpuLoss *workspace, RaCpuLoss *out,
                     void *stream);
int ra_k_value_loss(size_t n, const float *values, const float *old,
                    const float *returns, float clip, float scale,
                    float *d_values, RaCpuLoss *workspace, RaCpuLoss *out,
                    void *stream);

#ifdef __cplusplus
}
#endif

/* Adds the term of one token in the loss of the policy to @out.  Returns: its
 * gradient, not scaled.  @reference: NULL or that of the token. */
RA_HD float
ra_k_policy_term(float log_prob, float old, const float *reference,
                 float advantage, float clip, float kl_weight, RaCpuLoss *out)
{
  float change = log_prob - old, ratio = expf(change);
  float held = fminf(fmaxf(ratio, 1.0f - clip), 1.0f + clip);
  float free_loss = -advantage * ratio, held_loss = -advantage * held;
  float gradient = free_loss >= held_loss ? free_loss : 0.0f;

  out->loss += (double)fmaxf(free_loss, held_loss);
  out->clipped += held_loss > free_loss ? 1.0 : 0.0;
  if (reference) {
    float away = *reference - log_prob, up = expf(away);
    float k3 = up - away - 1.0f;

    out->kl += (double)k3;
    out->loss += (double)(kl_weight * k3);
    return gradient + kl_weight * (1.0f - up);
  }
  out->kl += (double)(ratio - 1.0f - change);
  return gradient;
}

/* The same for the loss of the value. */
RA_HD float
ra_k_value_term(float value, float old, float wanted, float clip,
                RaCpuLoss *out)
{
  float error = value - wanted, moved = value - old;
  float held = clip > 0.0f ? fminf(fmaxf(moved, -clip), clip) : moved;
  float held_error = old + held - wanted;
  int is_held =
      held_error * held_error > error * error && (moved < held || moved > held);

  out->loss += is_held ? 0.5 * (double)held_error * (double)held_error
                       : 0.5 * (double)error * (double)error;
  out->clipped += is_held ? 1.0 : 0.0;
  return is_held ? 0.0f : error;
}

#endif
