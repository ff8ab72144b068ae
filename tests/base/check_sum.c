/* Exact sums: against whole numbers, and whatever the order and grouping. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "base/sum.h"
#include "tests/support/check_main.h"

static double
sum_of(const double *values, guint n)
{
  RaSum sum = RA_SUM_INIT;

  for (guint i = 0; i < n; i++)
    ra_sum_add(&sum, values[i], 1);
  return ra_sum_get(&sum);
}

/* 2^53 + 1 + 1: by +, each 1 is half a unit of the last place and is lost;
 * the sum is 2^53 + 2.  1e100 + 1 - 1e100 = 1.  2^53 + 1 is a tie and goes to
 * the even 2^53; with 2^-60 more it is above the tie and goes to 2^53 + 2,
 * with as much less below and back. */
START_TEST(test_by_hand)
{
  const double big = 9007199254740992.0; /* 2^53 */
  const double lost[] = {big, 1, 1}, far[] = {1e100, 1, -1e100};
  const double tie[] = {big, 1}, above[] = {big, 1, ldexp(1, -60)};
  const double below[] = {big, 1, -ldexp(1, -60)};

  ck_assert_double_eq(sum_of(lost, 3), big + 2);
  ck_assert_double_eq(sum_of(far, 3), 1);
  ck_assert_double_eq(sum_of(tie, 2), big);
  ck_assert_double_eq(sum_of(above, 3), big + 2);
  ck_assert_double_eq(sum_of(below, 3), big);
  ck_assert_double_eq(sum_of(lost, 0), 0);
}
END_TEST

/* Values that are whole multiples of 2^-40 below 2^10, 1,000 of them: as whole
 * numbers their sum is below 2^60 and exact, and rounds once as a double. */
START_TEST(test_against_integers)
{
  RaRng rng = ra_rng_init(62, 0);

  for (int c = 0; c < 200; c++) {
    RaSum sum = RA_SUM_INIT;
    int64_t whole = 0;
    for (guint i = 0; i < 1000; i++) {
      int64_t v = (int64_t)ra_rng_below(&rng, UINT64_C(1) << 50);
      if (ra_rng_below(&rng, 3) == 0)
        v = -v;
      whole += v;
      ra_sum_add(&sum, ldexp((double)v, -40), 1);
    }
    ck_assert_double_eq(ra_sum_get(&sum), ldexp((double)whole, -40));
  }
}
END_TEST

/* n times x at once, and one by one between others in another order; and the
 * fault: + sees the difference in most cases. */
START_TEST(test_grouping)
{
  RaRng rng = ra_rng_init(63, 0);
  guint n_plain_differs = 0;

  for (int c = 0; c < 200; c++) {
    RaSum grouped = RA_SUM_INIT, single = RA_SUM_INIT;
    double x[8], plain = 0, plain_grouped = 0;
    for (guint i = 0; i < 8; i++) {
      x[i] = (ra_rng_uniform(&rng) - 0.25) *
             ldexp(1, (int)ra_rng_below(&rng, 200) - 100);
      ra_sum_add(&grouped, x[i], 37);
      plain_grouped += 37 * x[i];
    }
    for (guint k = 0; k < 37; k++)
      for (guint i = 8; i-- > 0;) {
        ra_sum_add(&single, x[i], 1);
        plain += x[i];
      }
    ck_assert_double_eq(ra_sum_get(&grouped), ra_sum_get(&single));
    n_plain_differs += plain < plain_grouped || plain > plain_grouped;
  }
  ck_assert_uint_gt(n_plain_differs, 100);
}
END_TEST

static Suite *
sum_suite(void)
{
  Suite *suite = suite_create("sum");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_by_hand);
  tcase_add_test(tcase, test_against_integers);
  tcase_add_test(tcase, test_grouping);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(sum_suite)
