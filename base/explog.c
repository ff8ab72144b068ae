/* exp and log out of + - x / and bit moves, hence the same everywhere.
 *
 * Both reduce the argument by powers of two with ln 2 split in two parts (a
 * high one of 33 bits, whose product with an exponent is exact) and sum a
 * Taylor series whose first omitted term is below 2^-57 of the result.
 */
#include "config.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"

_Static_assert(FLT_EVAL_METHOD == 0, "double must be computed as double");
_Static_assert(DBL_MANT_DIG == 53, "double must be IEEE binary64");

#define LN2_HIGH 0x1.62e42feep-1       /* ln 2 to 33 bits */
#define LN2_LOW 0x1.a39ef35793c76p-33  /* ln 2 - LN2_HIGH, rounded */
#define LOG2_E 0x1.71547652b82fep+0    /* 1 / ln 2 */
#define SQRT2_BITS 0x6a09e667f3bcdu    /* fraction bits of sqrt 2 */
#define FRACTION_BITS 0xfffffffffffffu /* of a double */

/* Arguments beyond these overflow or vanish: ln(DBL_MAX) = 709.78...,
 * ln(2^-1075) = -745.13... (half of the smallest subnormal). */
#define EXP_MAX 0x1.62e42fefa39efp+9
#define EXP_MIN -0x1.74910d52d3051p+9

static double
from_bits(uint64_t bits)
{
  double x;

  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint64_t
to_bits(double x)
{
  uint64_t bits;

  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* 2^k for -1022 <= k <= 1023. */
static double
power_of_two(int k)
{
  return from_bits((uint64_t)(k + 1023) << 52);
}

double
ra_exp(double x)
{
  /* 1/n! for n = 13 down to 2. With |r| <= ln(2)/2 = 0.3466 the term of n = 14
   * is 0.3466^14 / 14! = 4e-18 = 2^-58. */
  static const double factor[] = {
      1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800,
      1. / 362880,     1. / 40320,     1. / 5040,     1. / 720,
      1. / 120,        1. / 24,        1. / 6,        1. / 2};
  double high, low, r, sum = 0;
  int k;

  if (!(x <= EXP_MAX))
    return x > EXP_MAX ? (double)INFINITY : x; /* x: NaN */
  if (x < EXP_MIN)
    return 0;
  /* x = k ln 2 + r, r = high - low */
  k = (int)(x * LOG2_E + (x < 0 ? -0.5 : 0.5));
  high = x - k * LN2_HIGH;
  low = k * LN2_LOW;
  r = high - low;
  for (gsize i = 0; i < G_N_ELEMENTS(factor); i++)
    sum = sum * r + factor[i];
  sum = 1 + (high + (r * r * sum - low));
  /* In two steps where 2^k or the result is not a normal number. */
  if (k > 1023)
    return sum * 2 * power_of_two(k - 1);
  if (k < -1022)
    return sum * power_of_two(k + 1022) * power_of_two(-1022);
  return sum * power_of_two(k);
}

double
ra_log(double x)
{
  static const double term[] = {2. / 23, 2. / 21, 2. / 19, 2. / 17,
                                2. / 15, 2. / 13, 2. / 11, 2. / 9,
                                2. / 7,  2. / 5,  2. / 3};
  uint64_t bits, up;
  double f, s, z, half_square, series = 0;
  int k = 0;

  if (!(x > 0))
    return x == 0 ? -(double)INFINITY : (double)NAN;
  if (x > DBL_MAX)
    return x;
  if (x < DBL_MIN) {
    x *= 0x1p54;
    k = -54;
  }
  /* x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2) */
  bits = to_bits(x);
  up = (bits & FRACTION_BITS) >= SQRT2_BITS;
  k += (int)(bits >> 52) - 1023 + (int)up;
  f = from_bits((bits & FRACTION_BITS) | ((UINT64_C(1023) - up) << 52)) - 1;
  /* log(1 + f) = 2 atanh(s), s = f / (2 + f), |s| <= 0.1716: the series
   * 2 (s + s^3/3 + s^5/5 ...) to s^23; s^24 / 25 = 2^-66.  As f =
   * s (2 + f), its first term is f - s f, and s f = f^2/2 - s f^2/2: only f
   * itself is not small against the result, so its rounding alone counts. */
  s = f / (2 + f);
  z = s * s;
  for (size_t i = 0; i < sizeof term / sizeof *term; i++)
    series = (series + term[i]) * z;
  half_square = 0.5 * f * f;
  return k * LN2_HIGH -
         ((half_square - (s * (half_square + series) + k * LN2_LOW)) - f);
}
