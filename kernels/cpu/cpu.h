/* Rules and helpers of all CPU kernels of the host back end.
 *
 * A CPU kernel is a plain C function ra_cpu_<kernel>() on fp32 arrays of the
 * host, in a header that states its shapes and its error.  It allocates
 * nothing, keeps no state and may run on any number of threads at once if its
 * outputs are not shared.  Important loops have `omp simd`, which lets the
 * compiler change the order of a sum.  That order is fixed for fixed sizes on a
 * fixed machine, so that the same call gives the same bits.
 *
 * RA_CPU_KERNEL compiles a function for several instruction sets and picks one
 * when the program is loaded.  Thread and address sanitizers are not ready at
 * that time, so they get the plain one.
 *
 * Errors are stated in units of u = RA_CPU_U = 2^-24, the rounding of fp32.  A
 * sum of n terms in any order is within n u sum|terms| of the exact one (N. J.
 * Higham, Accuracy and Stability of Numerical Algorithms, equation 4.4, to
 * first order).
 */
#ifndef RA_KERNELS_CPU_CPU_H
#define RA_KERNELS_CPU_CPU_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RA_CPU_U (1.0 / 16777216) /* unit roundoff of fp32, 2^-24 */

#if defined __x86_64__ && defined __GLIBC__ && !defined __SANITIZE_THREAD__ && \
    !defined __SANITIZE_ADDRESS__ && defined __GNUC__ && !defined __clang__
#define RA_CPU_KERNEL                                                          \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RA_CPU_KERNEL
#endif

/**
 * ra_cpu_exp:
 * @x: any number; NaN gives NaN, so that it shows in the result
 *
 * exp(x) for vectorised loops: 2^n e^r with n = round(x / ln 2) and a
 * polynomial of degree 6 on |r| <= ln 2 / 2 (Cephes expf.c).  0 below -87.3,
 * about 1.7e38 above 88.
 *
 * Error: 2^-22 of the value, measured over all fp32 of [-87, 88] by
 * tests/kernels/check_cpu_pointwise.c.
 */
static inline float
ra_cpu_exp(float x)
{
  const float shift = 0x1.8p23f; /* adding it rounds to an integer */
  /* NaN, which compares false, to a bound: its integer would be undefined. */
  float y = x > -87.3f ? (x > 88.0f ? 88.0f : x) : -87.3f;
  float n = (y * 0x1.715476p0f + shift) - shift;
  float r = (y - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  int32_t bits;
  float scale;

  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  bits = ((int32_t)n + 127) * (1 << 23);
  memcpy(&scale, &bits, sizeof scale);
  p = x == x ? p : x;
  return x < -87.3f ? 0.0f : p * scale;
}

#endif
