/* Sampling of the next token: temperature, top-k, top-p.
 *
 * The token is the first, in order of number, at which the probabilities of
 * the kept tokens add up to more than the uniform number from the caller.  So
 * equal numbers sample equal tokens on any machine, unless a rounding decides:
 * the margin tells.
 */
#ifndef RA_KERNELS_CPU_CPU_SAMPLE_H
#define RA_KERNELS_CPU_CPU_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  float temperature; /* logits are divided by it; 0: the largest logit, of
                        equal ones the first */
  uint32_t top_k;    /* number of most likely tokens to keep; 0: all */
  float top_p; /* of these, keep the fewest with this total probability; 1: all
                  (arXiv 1904.09751) */
} RaCpuSampling;

typedef struct {
  uint32_t token;
  float log_prob; /* log-probability among all tokens, at the temperature (0: at
                     1) */
  float margin;   /* least change of a probability, or at temperature 0 of a
                     logit, that would give another token */
} RaCpuSample;

/**
 * ra_cpu_sample:
 * @n: tokens, >= 1
 * @logits: (n)
 * @sampling: temperature, top-k, top-p
 * @uniform: in [0, 1)
 * @workspace: (2 n) floats
 *
 * Probabilities are added in double.   Cost: O(n); with top-k or top-p at most
 * O(n log n).
 *
 * Returns: the token
 */
RaCpuSample ra_cpu_sample(uint32_t n, const float *logits,
                          const RaCpuSampling *sampling, double uniform,
                          float *workspace);

#endif
