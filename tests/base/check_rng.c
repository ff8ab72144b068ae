#include "config.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "tests/support/check_main.h"

/* Known answers of the Random123 distribution (kat_vectors, philox4x32 10):
 * all zeros, all ones, the digits of pi. */
static const struct {
  uint32_t counter[4], key[2], out[4];
} answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(test_known_answers)
{
  uint32_t out[4];

  ra_rng_block(answers[_i].counter, answers[_i].key, out);
  ck_assert_mem_eq(out, answers[_i].out, sizeof out);
}
END_TEST

/* One wrong bit of the key or the counter is seen in all four words. */
START_TEST(test_known_answers_see_a_fault)
{
  uint32_t counter[4], key[2], out[4];

  for (guint bit = 0; bit < 192; bit++) {
    memcpy(counter, answers[_i].counter, sizeof counter);
    memcpy(key, answers[_i].key, sizeof key);
    *(bit < 128 ? &counter[bit / 32] : &key[bit / 32 - 4]) ^= 1u << bit % 32;
    ra_rng_block(counter, key, out);
    for (int i = 0; i < 4; i++)
      ck_assert_uint_ne(out[i], answers[_i].out[i]);
  }
}
END_TEST

/* Words 0 and 1 of the block whose counter is (n, stream) and whose key is the
 * seed, low words first; the three by an independent Python program. */
START_TEST(test_stream)
{
  static const uint64_t wanted[] = {UINT64_C(0x2d4a0d9390aafdc4),
                                    UINT64_C(0x6cadf41d1d237aa0),
                                    UINT64_C(0x25b3d2d3a2b03895)};
  RaRng rng =
      ra_rng_init(UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210));
  RaRng skipped = rng;

  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
    ck_assert(ra_rng_bits(&rng) == wanted[i]);
  skipped.counter = 2;
  ck_assert(ra_rng_bits(&skipped) == wanted[2]);
}
END_TEST

/* 10^6 draws in 100 bins of 10^4: chi-square has 99 degrees of freedom, mean
 * 99, sd sqrt(198) = 14.07; five sd above is 170.  @power is the deliberate
 * fault: u^power is uniform for 1 alone. */
static double
chi_square(double power)
{
  guint bins[100] = {0};
  RaRng rng = ra_rng_init(1, 0);
  double sum = 0;

  for (int i = 0; i < 1000000; i++) {
    double u = ra_rng_uniform(&rng);

    ck_assert(u > 0 && u < 1);
    bins[(int)(100 * (power == 1 ? u : ra_exp(power * ra_log(u))))]++;
  }
  for (int i = 0; i < 100; i++)
    sum += (bins[i] - 1e4) * (bins[i] - 1e4) / 1e4;
  return sum;
}

START_TEST(test_uniform)
{
  ck_assert_double_lt(chi_square(1), 170);
  ck_assert_double_gt(chi_square(1.02), 170);
}
END_TEST

/* With n = 3 * 2^62 a third lies below 2^62; without rejection the values there
 * would come twice as often as the others, half of all: 2 of 4 quarters of
 * 2^64. sd of the share of 10^5: sqrt(2/9/1e5) = 0.0015. */
START_TEST(test_below)
{
  const uint64_t n = UINT64_C(3) << 62;
  RaRng rng = ra_rng_init(2, 0);
  RaRng biased = ra_rng_init(2, 0);
  double share = 0, biased_share = 0;

  for (int i = 0; i < 100000; i++) {
    uint64_t value = ra_rng_below(&rng, n);

    ck_assert(value < n);
    share += value < n / 3 ? 1e-5 : 0;
    biased_share += ra_rng_bits(&biased) % n < n / 3 ? 1e-5 : 0;
  }
  ck_assert_double_eq_tol(share, 1. / 3, 5 * 0.0015);
  ck_assert_double_ge(fabs(biased_share - 1. / 3), 5 * 0.0015);
  ck_assert(ra_rng_below(&rng, 1) == 0);
}
END_TEST

/* 10^6 normals: mean 0 with sd 0.001, variance 1 with sd sqrt(2/1e6) =
 * 0.0014, third moment 0 with sd sqrt(15/1e6) = 0.0039, fourth 3 with sd
 * sqrt(96/1e6) = 0.0098; five sd each.  @shift and @scale are the faults. */
static gboolean
has_normal_moments(double shift, double scale)
{
  RaRng rng = ra_rng_init(3, 0);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;

  for (int i = 0; i < 1000000; i++) {
    double x = shift + scale * ra_rng_normal(&rng);

    m1 += x * 1e-6;
    m2 += x * x * 1e-6;
    m3 += x * x * x * 1e-6;
    m4 += x * x * x * x * 1e-6;
  }
  return fabs(m1) < 0.005 && fabs(m2 - 1) < 0.007 && fabs(m3) < 0.0194 &&
         fabs(m4 - 3) < 0.049;
}

START_TEST(test_normal_moments)
{
  ck_assert(has_normal_moments(0, 1));
  ck_assert(!has_normal_moments(0.01, 1));
  ck_assert(!has_normal_moments(0, 1.01));
}
END_TEST

/* The distribution function by libm's erfc, an independent oracle.  A relative
 * error d of x changes p by about x^2 d of itself in the tail; x^2 <= 68 and d
 * about 2e-16 give 1.4e-14, and erfc's own error is below 1e-14. */
static gboolean
is_quantile(double x, double p)
{
  return fabs(0.5 * erfc(-x * sqrt(0.5)) - p) <= 3e-14 * p;
}

START_TEST(test_quantile)
{
  double last = -10;

  for (int i = 1; i < 100000; i++) {
    double p = i / 2e5;
    double x = ra_normal_quantile(p);

    ck_assert_msg(is_quantile(x, p), "p %a x %a", p, x);
    ck_assert_double_gt(x, last);
    ck_assert_double_eq_tol(ra_normal_quantile(1 - p), -x, 1e-10);
    last = x;
  }
  for (double p = 0.5; p >= 0x1p-53; p *= 0.97)
    ck_assert_msg(is_quantile(ra_normal_quantile(p), p), "p %a", p);
  /* A relative error of 1e-12 in x is seen. */
  ck_assert(!is_quantile(ra_normal_quantile(1e-3) * (1 + 1e-12), 1e-3));
}
END_TEST

/* Distance in units of the last place of @wanted. */
static double
ulps(double value, double wanted)
{
  int exponent;

  frexp(wanted, &exponent);
  return fabs(value - wanted) / ldexp(1, exponent - 53);
}

/* libm itself is within 1 ulp, so a distance of 2 bounds ours by 3 and, as it
 * is at most 1 here, by 2.  An error of 4 ulp, the fault, is out. */
START_TEST(test_exp_log)
{
  RaRng rng = ra_rng_init(4, 0);

  for (int i = 0; i < 1000000; i++) {
    double x = (2 * ra_rng_uniform(&rng) - 1) * 700;
    double near = 0.5 + ra_rng_uniform(&rng);
    double y = ldexp(near, (int)ra_rng_below(&rng, 2040) - 1020);

    ck_assert_msg(ulps(ra_exp(x), exp(x)) <= 1, "exp %a", x);
    ck_assert_msg(ulps(ra_log(y), log(y)) <= 1, "log %a", y);
    ck_assert_msg(ulps(ra_log(near), log(near)) <= 1, "log %a", near);
  }
  ck_assert_double_gt(ulps(ra_exp(1) * (1 + 0x1p-50), exp(1)), 1);
}
END_TEST

/* Bit patterns: exp and log rounded from 60 digits (Python's decimal), except
 * the three marked, where ours is the neighbour; they pin the rounding of
 * every step, so any compiler that contracts or reorders is caught. */
START_TEST(test_golden)
{
  static const double exps[][2] = {
      {1, 0x1.5bf0a8b14576ap+1}, /* true ...69 */
      {-1, 0x1.78b56362cef38p-2},
      {0.5, 0x1.a61298e1e069cp+0},
      {10, 0x1.5829dcf950560p+14},
      {-10, 0x1.7cd79b5647c9ap-15}, /* true ...9b */
      {100, 0x1.3494a9b171bf5p+144},
      {-700, 0x1.14f2b0fb9307fp-1010},
      {700, 0x1.d945df4f8ec8ep+1009},
      {1e-10, 0x1.000000006df38p+0},
      {-0.3, 0x1.7b4c869c37c05p-1}};
  static const double logs[][2] = {{2, 0x1.62e42fefa39efp-1},
                                   {3, 0x1.193ea7aad030ap+0}, /* true ...0b */
                                   {10, 0x1.26bb1bbb55516p+1},
                                   {0.5, -0x1.62e42fefa39efp-1},
                                   {0.1, -0x1.26bb1bbb55515p+1},
                                   {1.5, 0x1.9f323ecbf984cp-2},
                                   {1e300, 0x1.5963447f87fb5p+9},
                                   {0x1p-1074, -0x1.74385446d71c3p+9},
                                   {1 + 0x1p-52, 0x1.fffffffffffffp-53},
                                   {0.7071, -0x1.62e6b3842a25ep-2}};
  /* 0.975 and 2^-53: Python's NormalDist().inv_cdf, 1.9599639845400536 and
   * -8.209536151601386. */
  static const double quantiles[][2] = {{0.5, 0},
                                        {0.975, 0x1.f5c0331eeff82p+0},
                                        {0x1p-53, -0x1.06b48528cea51p+3}};

  for (guint i = 0; i < G_N_ELEMENTS(exps); i++)
    ck_assert_msg(ra_exp(exps[i][0]) == exps[i][1], "exp %a", exps[i][0]);
  for (guint i = 0; i < G_N_ELEMENTS(logs); i++)
    ck_assert_msg(ra_log(logs[i][0]) == logs[i][1], "log %a", logs[i][0]);
  for (guint i = 0; i < G_N_ELEMENTS(quantiles); i++)
    ck_assert_msg(ra_normal_quantile(quantiles[i][0]) == quantiles[i][1],
                  "quantile %a", quantiles[i][0]);
}
END_TEST

/* As libm at the ends: overflow at 709.79, the smallest subnormal at -745.13,
 * a subnormal within one step (2^-1074) of libm's. */
START_TEST(test_ends)
{
  ck_assert_double_infinite(ra_exp(709.79));
  ck_assert_double_eq(ra_exp(709.7), exp(709.7));
  ck_assert_double_eq(ra_exp(-745.13), 0x1p-1074);
  ck_assert_double_eq(ra_exp(-745.14), 0);
  ck_assert_double_eq_tol(ra_exp(-740), exp(-740), 0x1p-1074);
  ck_assert_double_eq(ra_exp(0), 1);
  ck_assert_double_eq(ra_exp(-(double)INFINITY), 0);
  ck_assert_double_infinite(ra_exp((double)INFINITY));
  ck_assert_double_nan(ra_exp((double)NAN));
  ck_assert_double_eq(ra_log(1), 0);
  ck_assert(ra_log(0) == -(double)INFINITY);
  ck_assert_double_infinite(ra_log((double)INFINITY));
  ck_assert_double_nan(ra_log(-1));
  ck_assert_double_nan(ra_log((double)NAN));
}
END_TEST

static Suite *
rng_suite(void)
{
  Suite *suite = suite_create("rng");
  TCase *bits = tcase_create("bits");
  TCase *reals = tcase_create("reals");

  tcase_add_loop_test(bits, test_known_answers, 0, G_N_ELEMENTS(answers));
  tcase_add_loop_test(bits, test_known_answers_see_a_fault, 0,
                      G_N_ELEMENTS(answers));
  tcase_add_test(bits, test_stream);
  tcase_add_test(bits, test_below);
  suite_add_tcase(suite, bits);
  tcase_add_test(reals, test_uniform);
  tcase_add_test(reals, test_normal_moments);
  tcase_add_test(reals, test_quantile);
  tcase_add_test(reals, test_exp_log);
  tcase_add_test(reals, test_golden);
  tcase_add_test(reals, test_ends);
  suite_add_tcase(suite, reals);
  return suite;
}

RA_CHECK_MAIN(rng_suite)
