/* AdamW on a GPU over all parameters of a rank at once.
 *
 * It has fp32 master weights and moments, fp32 gradients, and bf16 weights for
 * the next step.  Gradients are clipped by their norm on the device, without
 * the host.  Formulas are those of kernels/cpu/cpu_adamw.h, the reference.  All
 * tensors of a rank are in one array, so one launch updates them all.
 * Bytes: 30 a parameter; the sum of squares reads 4.
 *
 * Error: 10 u of the step and u of the weight, u = 2^-24 (sqrt and division of
 * the device round like the CPU's; multiply-adds may be fused), and one
 * rounding of the copy to bf16.  Squares: n 2^-56 relative, in double.
 */
#ifndef RA_KERNELS_ADAMW_H
#define RA_KERNELS_ADAMW_H

#include <math.h>

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu_adamw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RA_K_SQUARES_BLOCKS 512 /* partial sums */

/**
 * ra_k_sum_squares:
 * @n: elements
 * @x: (n) fp32, faster if 16-byte aligned
 * @workspace: (RA_K_SQUARES_BLOCKS) doubles
 * @out: a double, added to
 *
 * Deterministic on any GPU: at most RA_K_SQUARES_BLOCKS parts, which depend
 * only on @n and the alignment of @x, are added in order.
 */
int ra_k_sum_squares(size_t n, const float *x, double *workspace, double *out,
                     void *stream);

/**
 * ra_k_adamw:
 * @n: parameters
 * @step: from 1
 * @scale: first factor of the gradients
 * @sum_squares: (nullable): sum over the gradients of all ranks, which are then
 *   clipped to @max_norm
 * @max_norm: > 0; clipping is that of torch.nn.utils.clip_grad_norm_(): a
 *   factor of max_norm / (norm + 1e-6), if that is below 1
 * @grad: (n) fp32
 * @master: (n) fp32, updated
 * @first: (n) fp32, updated
 * @second: (n) fp32, updated
 * @weight: (n) bf16, written
 *
 * Faster if all arrays are 16-byte aligned.
 */
int ra_k_adamw(size_t n, const RaCpuAdamw *adamw, uint64_t step, float scale,
               const double *sum_squares, float max_norm, const float *grad,
               float *master, float *first, float *second, uint16_t *weight,
               void *stream);

#ifdef __cplusplus
}
#endif

/* Clipping factor of gradients with this sum of squares. */
RA_HD float
ra_k_clip(double sum_squares, float max_norm)
{
  double factor = (double)max_norm / (sqrt(sum_squares) + 1e-6);

  return factor < 1 ? (float)factor : 1.0f;
}

/* Step of one parameter; @bias1 and @bias2: 1 - beta^step. */
RA_HD void
ra_k_adamw_step(const RaCpuAdamw *a, float bias1, float bias2, float grad,
                float *master, float *first, float *second)
{
  float m = a->beta1 * *first + (1.0f - a->beta1) * grad;
  float v = a->beta2 * *second + (1.0f - a->beta2) * grad * grad;

  *first = m;
  *second = v;
  *master = *master * (1.0f - a->rate * a->decay) -
            a->rate * (m / bias1) / (sqrtf(v / bias2) + a->eps);
}

#endif
