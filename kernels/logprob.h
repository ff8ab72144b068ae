/* Log-probabilities and cross-entropy over a vocabulary that ranks may share,
 * from bf16 logits.  Probabilities are stored only as the gradient, in place.
 *
 * The formulas, and the sums that ranks exchange, are those of
 * kernels/cpu/cpu_logprob.h, whose functions on the widened logits are the
 * reference.  A row is read once forward, and read and written once backward: 2
 * and 4 bytes a logit.
 *
 * Errors, u = 2^-24:
 *
 *     sum       (60 + n / 1,024 + 2 ln n) u + 2^-22 relative: a thread adds
 *               its part, rescaled at most once a vector by a power within
 *               2 ulp; then warps and block.  A power has its exponent d, below
 *               the largest logit, rounded twice: 2 |d| u, and the mean of |d|
 *               weighed by e^d is no more than ln n, an entropy
 *     log_prob  that of the sum and 2 u (|z| + |lse|), absolute
 *     gradient  |g| p (2^-21 + 2 u (|z| + |lse|)) and a rounding to bf16, 2^-8
 *               of it
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
 * @logits: (n_rows, n) bf16, 16-byte aligned; elements after the @n columns of
 *   a row have no effect
 * @targets: (n_rows)
 * @out: (n_rows)
 *
 * ra_cpu_log_sum() on device memory.
 *
 * Returns: a cudaError_t, 1 if a shape or an alignment is not allowed
 */
int ra_k_log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                 const uint16_t *logits, const uint32_t *targets,
                 RaCpuLogSum *out, void *stream);

/* ra_cpu_log_prob() on device memory: combines the sums of the ranks, in order.
 */
int ra_k_log_prob(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums,
                  float *out_log_prob, float *out_lse, void *stream);

/* ra_cpu_log_prob_backward() on device memory: replaces bf16 logits by their
 * gradient, and elements after the @n columns by 0, so that GEMMs can read
 * them. */
int ra_k_log_prob_backward(size_t n_rows, uint32_t first, uint32_t n,
                           size_t stride, const uint32_t *targets,
                           const float *lse, const float *d_log_prob,
                           uint16_t *logits, void *stream);

#ifdef __cplusplus
}
#endif

#endif
