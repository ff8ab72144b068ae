/* AdamW (arXiv 1711.05101) with the gradient clipped by its norm.
 *
 *     g = clip grad                   m = b1 m + (1 - b1) g
 *                                     v = b2 v + (1 - b2) g^2
 *     w = w (1 - rate decay) - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t))
 *         + eps)
 *
 * as in PyTorch's AdamW.  Bytes: 28 a parameter.
 */
#ifndef RA_KERNELS_CPU_CPU_ADAMW_H
#define RA_KERNELS_CPU_CPU_ADAMW_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  float rate;  /* learning rate */
  float beta1; /* decay of the first moment */
  float beta2; /* decay of the second moment */
  float eps;
  float decay; /* weight decay */
} RaCpuAdamw;

/**
 * ra_cpu_adamw:
 * @n: parameters
 * @adamw: constants
 * @step: from 1
 * @clip: factor of the gradients
 * @grad: (n)
 * @weight: (n) updated
 * @first: (n) first moments, updated
 * @second: (n) second moments, updated
 *
 * Error: 8 u of the step and u of the weight.
 */
void ra_cpu_adamw(size_t n, const RaCpuAdamw *adamw, uint64_t step, float clip,
                  const float *grad, float *weight, float *first,
                  float *second);

/* The sum of squares of @x (n), in double, in eight partial sums whose order
 * depends on @n only.  Error: n 2^-56, relative. */
double ra_cpu_sum_squares(size_t n, const float *x);

#endif
