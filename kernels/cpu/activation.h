/* Activations of an MLP without a gate, y = act(x), element by element, and
 * their gradients, for device and host.
 *
 *     GELU          x Phi(x), Phi of the normal distribution (arXiv 1606.08415)
 *     tanh GELU     x (1 + tanh z) / 2 = x s(2 z), s(t) = 1 / (1 + e^-t),
 *                   z = sqrt(2 / pi) (x + 0.044715 x^3): "gelu_new"
 *     squared ReLU  max(x, 0)^2 (arXiv 2109.08668)
 *
 * Gradients: Phi(x) + x phi(x);  s + x s (1 - s) 2 z';  2 max(x, 0).
 *
 * Error for |x| < 10^12, with u = 2^-24, exp within a relative 4 u and erf
 * within 2 u.  t = 2 z has 5 roundings, which move s by s (1 - s) 5 |t| u, at
 * most 1.2 u.  exp, the sum and the division (4 u on a GPU) move it by 10 u s;
 * erf moves by 3 u with its argument.
 *
 *     GELU, tanh GELU   |error| <= 16 u |x|; gradient 64 u
 *     squared ReLU      u of the exact result; its gradient is exact
 *
 * (Gradient: |x z'| <= 3 |z|, and |z| s (1 - s) (10 |t| + 20) u < 20 u.)
 */
#ifndef RA_KERNELS_CPU_ACTIVATION_H
#define RA_KERNELS_CPU_ACTIVATION_H

#include <math.h>

#include "kernels/cpu/bf16.h"

typedef enum {
  RA_ACTIVATION_FAMILY,    /* that of the model's family */
  RA_ACTIVATION_GELU_TANH, /* gpt2, bloom */
  RA_ACTIVATION_GELU,      /* mpt */
  RA_ACTIVATION_RELU2      /* nemotron */
} RaActivation;

#define RA_ACTIVATION_TWO_Z 1.5957691216057308f /* 2 sqrt(2 / pi) */

/* 2 z, and its derivative. */
RA_HD float
ra_k_gelu_two_z(float x)
{
  return RA_ACTIVATION_TWO_Z * (x + 0.044715f * x * x * x);
}

RA_HD float
ra_k_gelu_two_dz(float x)
{
  return RA_ACTIVATION_TWO_Z * (1.0f + 3 * 0.044715f * x * x);
}

/* x / y, on a GPU by the special function unit, within 2 ulp up to 2^126 and 0
 * beyond (CUDA C++ Programming Guide, __fdividef): by the book it is ten
 * instructions and a branch, which took a third of tanh GELU's time. */
RA_HD float
ra_k_quotient(float x, float y)
{
#ifdef __CUDA_ARCH__
  return __fdividef(x, y);
#else
  return x / y;
#endif
}

RA_HD float
ra_k_activation(RaActivation kind, float x)
{
  float positive = x <= 0.0f ? 0.0f : x; /* NaN stays */

  switch (kind) {
  case RA_ACTIVATION_GELU:
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
  case RA_ACTIVATION_RELU2:
    return positive * positive;
  default:
    return ra_k_quotient(x, 1.0f + expf(-ra_k_gelu_two_z(x)));
  }
}

RA_HD float
ra_k_activation_slope(RaActivation kind, float x)
{
  float s;

  switch (kind) {
  case RA_ACTIVATION_GELU:
    return 0.5f * (1.0f + erff(x * 0.70710678f)) +
           x * 0.39894228f * expf(-0.5f * x * x);
  case RA_ACTIVATION_RELU2:
    return x <= 0.0f ? 0.0f : 2.0f * x;
  default:
    s = ra_k_quotient(1.0f, 1.0f + expf(-ra_k_gelu_two_z(x)));
    return s + x * s * (1.0f - s) * ra_k_gelu_two_dz(x);
  }
}

#endif
