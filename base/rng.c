/* Philox4x32-10, and uniform and normal numbers made from its blocks. */
#include "config.h"

#include <math.h>

#include "base/philox.h"
#include "base/rng.h"

void
ra_rng_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
  ra_philox(counter, key, out);
}

RaRng
ra_rng_init(uint64_t seed, uint64_t stream)
{
  return (RaRng){seed, stream, 0};
}

uint64_t
ra_rng_bits(RaRng *rng)
{
  g_return_val_if_fail(rng != NULL, 0);

  uint32_t counter[4] = {(uint32_t)rng->counter, (uint32_t)(rng->counter >> 32),
                         (uint32_t)rng->stream, (uint32_t)(rng->stream >> 32)};
  uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
  uint32_t out[4];

  ra_rng_block(counter, key, out);
  rng->counter++;
  return (uint64_t)out[1] << 32 | out[0];
}

double
ra_rng_uniform(RaRng *rng)
{
  /* 52 bits and a half: with 53 the largest would round to 1. */
  return ((double)(ra_rng_bits(rng) >> 12) + 0.5) * 0x1p-52;
}

uint64_t
ra_rng_below(RaRng *rng, uint64_t n)
{
  g_return_val_if_fail(rng != NULL && n >= 1, 0);

  /* 2^64 mod n draws at the bottom are one too many of their remainder. */
  uint64_t surplus = (0 - n) % n;
  uint64_t bits;

  do
    bits = ra_rng_bits(rng);
  while (bits < surplus);
  return bits % n;
}

/* numerator[0] + numerator[1] x + ... over the same with the denominator. */
static double
ratio(const double numerator[8], const double denominator[8], double x)
{
  double above = 0, below = 0;

  for (int i = 7; i >= 0; i--) {
    above = above * x + numerator[i];
    below = below * x + denominator[i];
  }
  return above / below;
}

/* PPND16 of M. J. Wichura, "Algorithm AS 241: the percentage points of the
 * normal distribution", Applied Statistics 37 (1988) 477-484: relative error
 * about 1e-16. */
double
ra_normal_quantile(double p)
{
  static const double middle_above[8] = {
      3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
      1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
      3.3430575583588128105e4, 2.5090809287301226727e3};
  static const double middle_below[8] = {1,
                                         4.2313330701600911252e1,
                                         6.8718700749205790830e2,
                                         5.3941960214247511077e3,
                                         2.1213794301586595867e4,
                                         3.9307895800092710610e4,
                                         2.8729085735721942674e4,
                                         5.2264952788528545610e3};
  static const double near_above[8] = {
      1.42343711074968357734e0,  4.63033784615654529590e0,
      5.76949722146069140550e0,  3.64784832476320460504e0,
      1.27045825245236838258e0,  2.41780725177450611770e-1,
      2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double near_below[8] = {1,
                                       2.05319162663775882187e0,
                                       1.67638483018380384940e0,
                                       6.89767334985100004550e-1,
                                       1.48103976427480074590e-1,
                                       1.51986665636164571966e-2,
                                       5.47593808499534494600e-4,
                                       1.05075007164441684324e-9};
  static const double far_above[8] = {
      6.65790464350110377720e0,  5.46378491116411436990e0,
      1.78482653991729133580e0,  2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3,
      2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double far_below[8] = {1,
                                      5.99832206555887937690e-1,
                                      1.36929880922735805310e-1,
                                      1.48753612908506148525e-2,
                                      7.86869131145613259100e-4,
                                      1.84631831751005468180e-5,
                                      1.42151175831644588870e-7,
                                      2.04426310338993978564e-15};
  double q, r, x;

  g_return_val_if_fail(p > 0 && p < 1, 0);

  q = p - 0.5;
  if (fabs(q) <= 0.425)
    return q * ratio(middle_above, middle_below, 0.180625 - q * q);
  r = sqrt(-ra_log(q < 0 ? p : 1 - p));
  x = r <= 5 ? ratio(near_above, near_below, r - 1.6)
             : ratio(far_above, far_below, r - 5);
  return q < 0 ? -x : x;
}

double
ra_rng_normal(RaRng *rng)
{
  return ra_normal_quantile(ra_rng_uniform(rng));
}

double
ra_normal_cdf(double x)
{
  double sum, term;

  if (x < 0)
    return 1.0 - ra_normal_cdf(-x);
  if (x > 8.5) /* 1 - Phi(8.5) is 1e-17 */
    return 1.0;
  sum = term = x;
  for (int i = 3; term > sum * 1e-17; i += 2) {
    term *= x * x / i;
    sum += term;
  }
  /* 0.9189... is ln(2 pi) / 2 */
  return 0.5 + sum * ra_exp(-x * x / 2 - 0.91893853320467274178);
}
