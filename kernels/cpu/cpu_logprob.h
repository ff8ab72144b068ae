/* Log-probabilities and cross-entropy over a vocabulary that ranks may share.
 *
 * A rank has the logits of tokens [first, first + n).  Each rank computes three
 * numbers a row; merged over the ranks in order they give
 *
 *     lse = max + log sum exp(z - max)       log p(target) = z_target - lse
 *
 * without storing any probability (arXiv 1909.08053, section 3).  The gradient
 * of a sum of log-probabilities with weights g_t is
 *
 *     d z_i = g ([i = target] - exp(z_i - lse)).
 */
#ifndef RA_KERNELS_CPU_CPU_LOGPROB_H
#define RA_KERNELS_CPU_CPU_LOGPROB_H

#include <stddef.h>
#include <stdint.h>

/* A rank's part of a row. */
typedef struct {
  float most;   /* largest logit; -INFINITY: no logits */
  float sum;    /* sum of exp(logit - most) */
  float target; /* the target's logit, 0 if another rank has it */
} RaCpuLogSum;

/**
 * ra_cpu_log_sum:
 * @n_rows: tokens
 * @first: token of the first column
 * @n: columns of this rank; may be 0
 * @stride: elements from a row of @logits to the next, >= n
 * @logits: (n_rows, n)
 * @targets: (n_rows) tokens whose log-probability is wanted
 * @out: (n_rows)
 *
 * Error of the sum: (n + 1) u + 2^-22, relative.
 */
void ra_cpu_log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                    const float *logits, const uint32_t *targets,
                    RaCpuLogSum *out);

/**
 * ra_cpu_log_prob:
 * @n_ranks: ranks that share the vocabulary
 * @sums: (n_ranks, n_rows)
 * @out_log_prob: (n_rows)
 * @out_lse: (n_rows) for the gradient
 *
 * Error: ((n + n_ranks + 2) u + 2^-22) + 2 u (|z| + |lse|), absolute.
 */
void ra_cpu_log_prob(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums,
                     float *out_log_prob, float *out_lse);

/**
 * ra_cpu_log_prob_backward:
 * @lse: (n_rows)
 * @d_log_prob: (n_rows) gradient of each log-probability
 * @logits: (n_rows, n), @stride apart: replaced by their gradient; elements
 *   after the columns of a row are set to 0
 *
 * Error: |g| p (2^-21 + 2 u (|z| + |lse|)).
 */
void ra_cpu_log_prob_backward(size_t n_rows, uint32_t first, uint32_t n,
                              size_t stride, const uint32_t *targets,
                              const float *lse, const float *d_log_prob,
                              float *logits);

#endif
