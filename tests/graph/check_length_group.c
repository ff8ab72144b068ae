/* Lengths correlated within a group: the law of each, the correlation, what is
 * fitted back. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "graph/expand/sequence.h"
#include "graph/input/length.h"
#include "tests/support/check_edit.h"
#include "tests/support/check_main.h"
#include "traces/measured_length.h"

#define N_GROUPS 20000
#define SIZE 4

static RaLength
law_from(const char *text)
{
  RaLength law;

  ck_assert(ra_length_parse(text, NULL, &law, NULL));
  return law;
}

static uint32_t
draw(const RaLength *law, uint32_t i, double rho)
{
  return ra_length_draw_in_group(law, 7, 1, i, 2, i / SIZE, rho);
}

/* With correlation 0 every draw is that of no group; with 1 all of a group are
 * one; fixed lengths stay. */
START_TEST(test_ends)
{
  static const char *const laws[] = {"fixed(9)", "uniform(3, 60)",
                                     "lognormal(600, 450, 1024)"};

  for (guint l = 0; l < G_N_ELEMENTS(laws); l++) {
    g_auto(RaLength) law = law_from(laws[l]);
    guint n_other = 0;

    for (uint32_t i = 0; i < 400; i++) {
      ck_assert_uint_eq(draw(&law, i, 0), ra_length_draw(&law, 7, 1, i));
      ck_assert_uint_eq(draw(&law, i, 1), draw(&law, i - i % SIZE, 1));
      n_other += draw(&law, i, 1) != draw(&law, i, 0);
    }
    ck_assert(l == 0 ? n_other == 0 : n_other > 300);
  }
}
END_TEST

/* A share z of the standard normal law is the quantile Phi(z) of the law:
 * uniform(1, 4) has quartiles at -0.6745, 0 and 0.6745; a lognormal length is
 * e^(m + s z), so of lognormal(e^(1/2) 100, sd, .) with s = 1 it is 100 e^z. */
START_TEST(test_quantiles)
{
  g_auto(RaLength) uniform = law_from("uniform(1, 4)");
  double mean = 100 * exp(0.5), sd = mean * sqrt(exp(1.0) - 1);
  g_autofree char *text =
      g_strdup_printf("lognormal(%.9f, %.9f, 9999)", mean, sd);
  g_auto(RaLength) lognormal = law_from(text);
  static const struct {
    double z;
    uint32_t uniform, lognormal; /* round(100 e^z) */
  } at[] = {{-9, 1, 1},     {-0.68, 1, 51}, {-0.67, 2, 51}, {-0.01, 2, 99},
            {0.01, 3, 101}, {0.67, 3, 195}, {0.68, 4, 197}, {9, 4, 9999}};

  for (guint i = 0; i < G_N_ELEMENTS(at); i++) {
    ck_assert_uint_eq(ra_length_at(&uniform, at[i].z), at[i].uniform);
    ck_assert_uint_eq(ra_length_at(&lognormal, at[i].z), at[i].lognormal);
  }
}
END_TEST

/* The mean of each draw is the law's whatever the correlation: 80,000 draws in
 * groups of 4 with correlation rho have a mean of variance sd^2 (1 + 3 rho) /
 * 80,000; six deviations. */
START_TEST(test_marginal)
{
  g_auto(RaLength) law = law_from("lognormal(600, 450, 1048576)");

  for (double rho = 0; rho <= 1; rho += 0.25) {
    double sum = 0;

    for (uint32_t i = 0; i < N_GROUPS * SIZE; i++)
      sum += draw(&law, i, rho);
    ck_assert_double_le(fabs(sum / (N_GROUPS * SIZE) - 600),
                        6 * 450 * sqrt((1 + 3 * rho) / (N_GROUPS * SIZE)));
  }
}
END_TEST

/* Draws with a correlation are fitted back to it, to the law's mean and its
 * deviation; the fault: draws of one group taken for another's (the group's
 * number shifted by one draw) are not. */
START_TEST(test_fit)
{
  g_auto(RaLength) law = law_from("lognormal(600, 450, 1048576)");
  uint32_t n = N_GROUPS * SIZE;
  g_autofree double *lengths = g_new(double, n);
  g_autofree uint32_t *groups = g_new(uint32_t, n);
  static const double rhos[] = {0, 0.3, 0.8};
  RaMeasuredLengthFit fit, wrong;

  for (guint r = 0; r < G_N_ELEMENTS(rhos); r++) {
    for (uint32_t i = 0; i < n; i++) {
      lengths[i] = draw(&law, i, rhos[r]);
      groups[i] = i / SIZE;
    }
    ck_assert(ra_measured_length_fit(lengths, groups, n, &fit));
    ck_assert_uint_eq(fit.n_groups, N_GROUPS);
    ck_assert_uint_eq(fit.n_answers, n);
    ck_assert_double_le(fabs(fit.correlation - rhos[r]),
                        4 * fit.correlation_error + 1e-3);
    ck_assert_double_le(fabs(fit.mean - 600), 12);
    ck_assert_double_le(fabs(fit.sd - 450), 18);
    for (uint32_t i = 0; i < n; i++)
      groups[i] = (i + 1) / SIZE;
    ck_assert(ra_measured_length_fit(lengths, groups, n, &wrong));
    if (rhos[r] > 0)
      ck_assert_double_gt(fabs(wrong.correlation - rhos[r]),
                          4 * wrong.correlation_error + 1e-3);
  }
}
END_TEST

/* By hand, logarithms to base 2 (rho has none): {1, 3} and {5, 7}: within = (1
 * + 1 + 1 + 1) / 2 = 2, between = 2 x 4 + 2 x 4 = 16, n0 = (4 - 8 / 4) / 1 = 2,
 * rho = 14 / 18. */
START_TEST(test_fit_by_hand)
{
  static const double lengths[] = {2, 8, 32, 128};
  static const uint32_t groups[] = {4, 4, 9, 9}, alone[] = {1, 2, 3, 4};
  RaMeasuredLengthFit fit = {0};

  ck_assert(ra_measured_length_fit(lengths, groups, 4, &fit));
  ck_assert_double_eq_tol(fit.correlation, 14.0 / 18, 1e-12);
  ck_assert_double_eq_tol(fit.correlation_error,
                          sqrt(2.0 / 2) * (4.0 / 18) * (1 + 14.0 / 18), 1e-12);
  ck_assert(!ra_measured_length_fit(lengths, alone, 4, &fit));
  ck_assert(!ra_measured_length_fit(lengths, groups, 2, &fit));
  ck_assert(!ra_measured_length_fit(lengths, groups, 0, &fit));
}
END_TEST

static Suite *
group_suite(void)
{
  Suite *suite = suite_create("length_group");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_ends);
  tcase_add_test(tcase, test_quantiles);
  tcase_add_test(tcase, test_marginal);
  tcase_add_test(tcase, test_fit);
  tcase_add_test(tcase, test_fit_by_hand);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(group_suite)
