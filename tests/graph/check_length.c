/* Laws of lengths: draws against closed forms, files, bad input. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/input/length.h"
#include "tests/support/check_edit.h"
#include "tests/support/check_main.h"

#define N_DRAWS 200000

/* Phi by libm: independent of the series in graph/input/length.c. */
static double
phi(double x)
{
  return erfc(-x / sqrt(2.0)) / 2;
}

static RaLength
law_from(const char *text)
{
  RaLength law;
  GError *error = NULL;

  ck_assert_msg(ra_length_parse(text, NULL, &law, &error), "%s",
                error ? error->message : "");
  return law;
}

START_TEST(test_fixed)
{
  RaLength law = law_from(" fixed( 1024 ) ");

  ck_assert_int_eq(law.kind, RA_LENGTH_FIXED);
  ck_assert_uint_eq(law.max_tokens, 1024);
  ck_assert_double_eq(ra_length_mean(&law), 1024);
  for (guint i = 0; i < 10; i++)
    ck_assert_uint_eq(ra_length_draw(&law, 7, 3, i), 1024);
  ra_length_clear(&law);
}
END_TEST

/* uniform(3, 6): four values, each with probability 1/4, mean 4.5.  A count
 * of n draws with p = 1/4 has standard deviation sqrt(n p (1 - p)); six of
 * them are exceeded once in 5e8 seeds. */
START_TEST(test_uniform)
{
  RaLength law = law_from("uniform(3, 6)");
  double sd = sqrt(N_DRAWS * 0.25 * 0.75);
  guint count[7] = {0};

  ck_assert_double_eq(ra_length_mean(&law), 4.5);
  for (guint i = 0; i < N_DRAWS; i++) {
    uint32_t n_tokens = ra_length_draw(&law, 1, 0, i);

    ck_assert(n_tokens >= 3 && n_tokens <= 6);
    count[n_tokens]++;
  }
  for (guint n = 3; n <= 6; n++)
    ck_assert_double_le(fabs(count[n] - N_DRAWS / 4.0), 6 * sd);
  ra_length_clear(&law);
}
END_TEST

/* lognormal(600, 450, 16384), which a maximum of 27 times the mean does not
 * shift: (sd / mean)^2 = 0.5625, so s^2 = ln 1.5625 and the median is
 * 600 / sqrt(1.5625) = 600 / 1.25 = 480 exactly.  A draw is at most n exactly
 * if the real draw is below n + 1/2, so
 *     P(draw <= n) = Phi((ln (n + 1/2) - ln 480) / s)  for n < 16384. */
START_TEST(test_lognormal_quantiles)
{
  static const uint32_t at[] = {100, 240, 480, 700, 960, 1023};
  RaLength law = law_from("lognormal(600, 450, 16384)");
  double s = sqrt(log(1.5625));
  guint below[G_N_ELEMENTS(at)] = {0};

  ck_assert_double_eq_tol(law.log_mean, log(480.0), 1e-12);
  ck_assert_double_eq_tol(law.log_sd, s, 1e-12);
  for (guint i = 0; i < N_DRAWS; i++) {
    uint32_t n_tokens = ra_length_draw(&law, 42, 5, i);

    ck_assert(n_tokens >= 1 && n_tokens <= 16384);
    for (guint j = 0; j < G_N_ELEMENTS(at); j++)
      below[j] += n_tokens <= at[j];
  }
  for (guint j = 0; j < G_N_ELEMENTS(at); j++) {
    double p = phi((log(at[j] + 0.5) - log(480.0)) / s);
    double sd = sqrt(N_DRAWS * p * (1 - p));

    ck_assert_double_le(fabs(below[j] - N_DRAWS * p), 6 * sd);
  }
  ra_length_clear(&law);
}
END_TEST

/* lognormal(3, 5, 10): so narrow that rounding moves a fifth of the draws, and
 * that the maximum and the least of 1 move the mean by less than half a token.
 * (5 / 3)^2 + 1 = 34 / 9; at least 1, so below 1.5 all is 1. */
START_TEST(test_lognormal_rounding)
{
  RaLength law = law_from("lognormal(3, 5, 10)");
  double s = sqrt(log(34 / 9.0));
  double m = log(3.0) - s * s / 2;
  guint count[11] = {0};

  for (guint i = 0; i < N_DRAWS; i++)
    count[ra_length_draw(&law, 8, 0, i)]++;
  for (guint n = 1; n <= 10; n++) {
    double below = n == 1 ? 0 : phi((log(n - 0.5) - m) / s);
    double p = (n == 10 ? 1 : phi((log(n + 0.5) - m) / s)) - below;

    ck_assert_double_le(fabs(count[n] - N_DRAWS * p),
                        6 * sqrt(N_DRAWS * p * (1 - p)));
  }
  ra_length_clear(&law);
}
END_TEST

/* E max(1, min(X, M)) without the closed form: 1 + the integral of P(X > t)
 * over [1, M], by the trapezoid rule in steps of 1/8. */
static double
mean_by_integration(double m, double s, double max)
{
  double n = 8 * (max - 1);
  double sum = 0;

  for (double i = 0; i <= n; i++) {
    double t = 1 + i / 8;
    double above = 1 - phi((log(t) - m) / s);

    sum += (i < 0.5 || i > n - 0.5) ? above / 2 : above;
  }
  return 1 + sum / 8;
}

/* The mean of the cut lengths is the one written, whatever the maximum cuts:
 * by integration and by samples.  The logarithm keeps the deviation of the mean
 * and the deviation written. */
START_TEST(test_lognormal_mean)
{
  static const double laws[][3] = {
      {600, 450, 1024},    {600, 450, 32768},  {1200, 1000, 4096},
      {3251, 1853, 3981},  {3, 5, 10},         {500, 5, 1000},
      {4000, 9000, 16384}, {1000, 3000, 1001}, {1, 3, 4}};

  for (guint i = 0; i < G_N_ELEMENTS(laws); i++) {
    char *text = g_strdup_printf("lognormal(%g, %g, %g)", laws[i][0],
                                 laws[i][1], laws[i][2]);
    RaLength law = law_from(text);
    double cv = laws[i][1] / laws[i][0];
    double sum = 0, squares = 0;

    ck_assert_double_eq_tol(law.log_sd, sqrt(log(1 + cv * cv)), 1e-9);
    /* Half a token is the rounding; the trapezoid rule errs by at most
     * h^2 / 12 |f'(b) - f'(a)| < 1e-2. */
    ck_assert_double_eq_tol(ra_length_mean(&law), laws[i][0], 0.5);
    ck_assert_double_eq_tol(
        ra_length_mean(&law),
        mean_by_integration(law.log_mean, law.log_sd, laws[i][2]), 1e-2);
    for (guint k = 0; k < N_DRAWS; k++) {
      double n_tokens = ra_length_draw(&law, 9, i, k);

      sum += n_tokens;
      squares += n_tokens * n_tokens;
    }
    double mean = sum / N_DRAWS;
    double error = sqrt((squares / N_DRAWS - mean * mean) / N_DRAWS);
    /* Rounding to whole tokens may shift the mean by less than 0.5. */
    ck_assert_double_le(fabs(mean - ra_length_mean(&law)), 0.5 + 6 * error);
    ra_length_clear(&law);
    g_free(text);
  }
}
END_TEST

/* lognormal(600, 342, 8192, 0.01): a hundredth of the samples is at 8192, which
 * the others, the lowest of a lognormal law, do not reach.  The former take
 * 81.92 of the mean, so that of the latter is (600 - 81.92) / 0.99 = 523.3. */
START_TEST(test_lognormal_full)
{
  RaLength law = law_from("lognormal(600, 342, 8192, 0.01)");
  double sum = 0, n_full = 0, sd = sqrt(N_DRAWS * 0.01 * 0.99);

  ck_assert_double_eq_tol(ra_length_mean(&law), 600, 0.5);
  for (guint k = 0; k < N_DRAWS; k++) {
    uint32_t n_tokens = ra_length_draw(&law, 3, 1, k);

    if (n_tokens == 8192)
      n_full++;
    else
      sum += n_tokens;
  }
  ck_assert_double_le(fabs(n_full - N_DRAWS * 0.01), 6 * sd);
  /* Their deviation is below 342. */
  ck_assert_double_eq_tol(sum / (N_DRAWS - n_full), 523.3,
                          0.5 + 6 * 342 / sqrt(N_DRAWS));
  ck_assert_uint_eq(ra_length_at(&law, 2.4), 8192); /* Phi(2.326) = 0.99 */
  ck_assert_uint_lt(ra_length_at(&law, 2.3), 3000);
  ra_length_clear(&law);
}
END_TEST

START_TEST(test_full_bad)
{
  static const char *const bad[][2] = {
      {"lognormal(600, 342, 8192, 1.5)",
       "share at max is '1.5', expected a number from 0 to 1"},
      {"lognormal(600, 342, 8192, 0.1)",
       "share at max is '0.1', expected one whose samples leave a part of the "
       "mean to the others"}};

  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    RaLength law;
    GError *error = NULL;

    ck_assert(!ra_length_parse(bad[i][0], NULL, &law, &error));
    ck_assert_str_eq(error->message, bad[i][1]);
    g_error_free(error);
  }
}
END_TEST

/* The deliberate fault: the law that is not shifted, of median 480 and s^2 =
 * ln 1.5625, which has a mean of 539 where 600 is written.  The oracle sees it
 * where the maximum matters and not where it does not. */
START_TEST(test_lognormal_oracle)
{
  double m = log(480.0), s = sqrt(log(1.5625));

  ck_assert_double_gt(fabs(600 - mean_by_integration(m, s, 1024)), 50);
  ck_assert_double_lt(fabs(600 - mean_by_integration(m, s, 65536)), 0.1);
}
END_TEST

/* A draw depends on (seed, stream, index) and on nothing else, and every one
 * of the three matters. */
START_TEST(test_draws_are_pure)
{
  static const char *const texts[] = {"uniform(1, 1000000)",
                                      "lognormal(5000, 4000, 1000000)"};

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    RaLength law = law_from(texts[i]);
    uint32_t forward[100];
    guint n_same[3] = {0};

    for (guint k = 0; k < 100; k++)
      forward[k] = ra_length_draw(&law, 11, 22, k);
    for (guint k = 100; k-- > 0;) {
      ck_assert_uint_eq(ra_length_draw(&law, 11, 22, k), forward[k]);
      n_same[0] += ra_length_draw(&law, 12, 22, k) == forward[k];
      n_same[1] += ra_length_draw(&law, 11, 23, k) == forward[k];
      n_same[2] += ra_length_draw(&law, 11, 22, k + 1) == forward[k];
    }
    /* By chance two draws of the narrower law (sd 4,000) agree once in some
     * 10^4; five of 100 would need 10^-12. */
    for (guint k = 0; k < 3; k++)
      ck_assert_uint_lt(n_same[k], 5);
    ra_length_clear(&law);
  }
}
END_TEST

/* Writes @text to a new file; (transfer full): its path. */
static char *
write_lengths(const char *text)
{
  char *path = NULL;
  int fd = g_file_open_tmp("reallot-length-XXXXXX.csv", &path, NULL);

  ck_assert_int_ge(fd, 0);
  ck_assert(g_close(fd, NULL));
  ck_assert(g_file_set_contents(path, text, -1, NULL));
  return path;
}

/* Three rows 10, 20, 60: mean 30, each with probability 1/3. */
START_TEST(test_file)
{
  char *path = write_lengths("# a comment\nrequest,output_tokens\r\n"
                             "1,10\n2, 20\n\n3,60\n");
  char *text = g_strdup_printf("file(%s:output_tokens)", path);
  char *first = g_strdup_printf("file(%s)", path);
  RaLength law = law_from(text);
  double sd = sqrt(N_DRAWS * (1 / 3.0) * (2 / 3.0));
  guint count[61] = {0};

  ck_assert_uint_eq(law.n_samples, 3);
  ck_assert_uint_eq(law.min_tokens, 10);
  ck_assert_uint_eq(law.max_tokens, 60);
  ck_assert_double_eq(ra_length_mean(&law), 30);
  for (guint i = 0; i < N_DRAWS; i++)
    count[ra_length_draw(&law, 0, 0, i)]++;
  ck_assert_uint_eq(count[10] + count[20] + count[60], N_DRAWS);
  ck_assert_double_le(fabs(count[10] - N_DRAWS / 3.0), 6 * sd);
  ck_assert_double_le(fabs(count[60] - N_DRAWS / 3.0), 6 * sd);
  ra_length_clear(&law);
  /* Without a column the first one, 1, 2, 3: mean 2. */
  law = law_from(first);
  ck_assert_double_eq(ra_length_mean(&law), 2);
  ra_length_clear(&law);
  g_unlink(path);
  g_free(first);
  g_free(text);
  g_free(path);
}
END_TEST

/* Bad lengths files: the message begins with the file's own place. */
START_TEST(test_file_bad)
{
  static const struct {
    const char *text;
    const char *column;
    const char *message;
  } bad[] = {
      {"", "", ":1: no lengths, expected a head line and at least one row"},
      {"n\n", "", ":2: no lengths, expected a head line and at least one row"},
      {"n\n5\nfive\n", "",
       ":3: no length in column 1, expected a whole number of tokens from 1 "
       "to 16777216"},
      {"n\n0\n", "",
       ":2: no length in column 1, expected a whole number of tokens from 1 "
       "to 16777216"},
      {"n\n-3\n", "",
       ":2: no length in column 1, expected a whole number of tokens from 1 "
       "to 16777216"},
      {"n\n99999999999999999999999\n", "",
       ":2: no length in column 1, expected a whole number of tokens from 1 "
       "to 16777216"},
      {"a,tokens\n1,2\n3\n", ":tokens",
       ":3: no length in column 2, expected a whole number of tokens from 1 "
       "to 16777216"},
      {"a,tokens\n1,2\n", ":tokenz",
       ":1: no column 'tokenz', expected one of this head line, did you mean "
       "'tokens'?"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    char *path = write_lengths(bad[i].text);
    char *text = g_strdup_printf("file(%s%s)", path, bad[i].column);
    char *expected = g_strconcat(path, bad[i].message, NULL);
    RaLength law = {.n_samples = 77};
    GError *error = NULL;

    ck_assert(!ra_length_parse(text, NULL, &law, &error));
    ck_assert_str_eq(error->message, expected);
    ck_assert_uint_eq(law.n_samples, 77);
    g_error_free(error);
    g_unlink(path);
    g_free(expected);
    g_free(text);
    g_free(path);
  }
}
END_TEST

static const char usage[] = "fixed(n), uniform(min, max), "
                            "lognormal(mean, sd, max[, share at max]), "
                            "file(path:column) or "
                            "replay(path:column)";

START_TEST(test_bad)
{
  /* %s stands for the usage. */
  static const struct {
    const char *text;
    const char *message;
  } bad[] = {
      {"1024", "unknown length distribution '1024', expected %s"},
      {"fixd(3)", "unknown length distribution 'fixd', expected %s, did you "
                  "mean 'fixed'?"},
      {"fixed", "'fixed' has 0 arguments, expected 1 as in %s"},
      {"fixed(1, 2)", "'fixed' has 2 arguments, expected 1 as in %s"},
      {"fixed(0)", "length is '0', expected a whole number from 1 to "
                   "16777216"},
      {"fixed(-1)", "length is '-1', expected a whole number from 1 to "
                    "16777216"},
      {"fixed(1.5)", "length is '1.5', expected a whole number from 1 to "
                     "16777216"},
      {"fixed(18446744073709551617)",
       "length is '18446744073709551617', expected a whole number from 1 to "
       "16777216"},
      {"fixed(3", "'fixed(3' cannot be read, expected word or word(argument, "
                  "argument)"},
      {"fixed 3)", "'fixed 3)' cannot be read, expected word or "
                   "word(argument, argument)"},
      {"fixed()", "'fixed()' cannot be read, expected word or word(argument, "
                  "argument)"},
      {"uniform(6, 3)", "max is '3', expected a whole number from 6 to "
                        "16777216"},
      {"lognormal(600, 0, 1024)",
       "sd is '0', expected a number from 0.001 to 16777216"},
      {"lognormal(nan, 1, 1024)",
       "mean is 'nan', expected a number from 1 to 16777216"},
      {"lognormal(600, inf, 1024)",
       "sd is 'inf', expected a number from 0.001 to 16777216"},
      /* 1 + (0.001 / 16777216)^2 is 1 in double precision. */
      {"lognormal(1024, 300, 1024)",
       "mean is '1024', expected less than the maximum '1024' (or fixed(n))"},
      {"lognormal(4000, 3000, 1000)",
       "mean is '4000', expected less than the maximum '1000' (or fixed(n))"},
      {"lognormal(16777215, 0.001, 16777216)",
       "sd is '0.001', expected more than 0 with a mean of '16777215' (or "
       "fixed(n))"},
      {"file(:x)", "file is ':x', expected path or path:column"},
      {"file(x:)", "file is 'x:', expected path or path:column"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    char **parts = g_strsplit(bad[i].message, "%s", 2);
    char *expected = parts[1] ? g_strconcat(parts[0], usage, parts[1], NULL)
                              : g_strdup(parts[0]);
    RaLength law;
    GError *error = NULL;

    ck_assert_msg(!ra_length_parse(bad[i].text, NULL, &law, &error),
                  "accepted %s", bad[i].text);
    ck_assert_str_eq(error->message, expected);
    g_error_free(error);
    g_free(expected);
    g_strfreev(parts);
  }
}
END_TEST

static Suite *
length_suite(void)
{
  Suite *suite = suite_create("length");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_fixed);
  tcase_add_test(tcase, test_uniform);
  tcase_add_test(tcase, test_lognormal_quantiles);
  tcase_add_test(tcase, test_lognormal_rounding);
  tcase_add_test(tcase, test_lognormal_mean);
  tcase_add_test(tcase, test_lognormal_oracle);
  tcase_add_test(tcase, test_lognormal_full);
  tcase_add_test(tcase, test_full_bad);
  tcase_add_test(tcase, test_draws_are_pure);
  tcase_add_test(tcase, test_file);
  tcase_add_test(tcase, test_file_bad);
  tcase_add_test(tcase, test_bad);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(length_suite)
