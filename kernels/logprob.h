/* Log-probabilities and cross-entropy over a vocabulary that ranks may share,
 * from bf16 logits; no probability is stored but as the gradient in place.
 *
 * What ranks add together and the formulas are those of
 * kernels/cpu/cpu_logprob.h, whose functions on the widened logits are the
 * reference.  A row is read once forward and once, with a write, backward: 2
 * and 4 bytes a logit.
 *
 * Error, u = 2^-24: of the sum (60 + n / 1,024) u + 2^-22 relative: a thread
 * adds its part, rescaled at most once a vector by a power that is within 2
 * ulp, then warps and block; of log_prob that and 2 u (|z| + |lse|), absolute;
 * of the gradient |g| p (2^-21 + 2 u (|z| + |lse|)) and a rounding to bf16,
 * 2^-8 of it.
 */
#ifndef RA_KERNELS_LOGPROB_H
#define RA_KERNELS_LOGPROB_H

#include "kernels/cpu/cpu_logprob.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ra_k_log_sum:
 * @n: columns
 * @stride: elements from a row of @logits to the next, >= n, a multiple of 8
 * @logits: (n_rows, n) bf16, 16-byte aligned; what is behind the @n columns of
 *   a row is not counted, whatever it is
 * @targets: (n_rows)
 * @out: (n_rows)
 *
 * As ra_cpu_log_sum(), on device memory.  Returns: a cudaError_t, 1 for a shape
 * or alignment that is not allowed.
 */
int ra_k_log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                 const uint16_t *logits, const uint32_t *targets,
                 RaCpuLogSum *out, void *stream);

/* As ra_cpu_log_prob(): the ranks' sums together, in their order. */
int ra_k_log_prob(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums,
                  float *out_log_prob, float *out_lse, void *stream);

/* As ra_cpu_log_prob_backward(): bf16 logits are replaced by their gradient,
 * and what is behind the @n columns by 0, so that products may read it. */
int ra_k_log_prob_backward(size_t n_rows, uint32_t first, uint32_t n,
                           size_t stride, const uint32_t *targets,
                           const float *lse, const float *d_log_prob,
                           uint16_t *logits, void *stream);

#ifdef __cplusplus
}
#endif

#endif
