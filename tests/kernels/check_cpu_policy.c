#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu_adamw.h"
#include "kernels/cpu/cpu_logprob.h"
#include "kernels/cpu/cpu_policy.h"
#include "kernels/cpu/cpu_sample.h"
#include "tests/support/check_main.h"
#include "tests/support/cpu_random.h"

#define N_ROWS 7
#define VOCAB 41

/* The log-probability in double. */
static double
log_prob(const float *z, uint32_t target)
{
  double sum = 0;

  for (uint32_t i = 0; i < VOCAB; i++)
    sum += exp((double)z[i]);
  return (double)z[target] - log(sum);
}

/* 41 tokens over three ranks of 14, 14 and 13, and one of none: merged, the
 * log-probability of the whole row.  Bound: 41 + 6 roundings, 2^-22, and
 * 2 u (8 + 12), together below 1e-5.  @fault drops one rank's part. */
static double
worst_log_prob(gboolean fault)
{
  static const uint32_t first[5] = {0, 14, 28, 41, 41};
  g_autofree float *z = cpu_random(1, N_ROWS * VOCAB, 8);
  uint32_t targets[N_ROWS];
  RaCpuLogSum sums[4 * N_ROWS];
  float got[N_ROWS], lse[N_ROWS];
  double worst = 0;

  for (uint32_t row = 0; row < N_ROWS; row++)
    targets[row] = row * 6;
  for (uint32_t rank = 0; rank < 4; rank++) {
    uint32_t n = first[rank + 1] - first[rank];
    float part[N_ROWS * VOCAB];

    for (uint32_t i = 0; i < N_ROWS * n; i++)
      part[i] = z[i / MAX(n, 1u) * VOCAB + first[rank] + i % MAX(n, 1u)];
    ra_cpu_log_sum(N_ROWS, first[rank], n, n, part, targets,
                   sums + rank * N_ROWS);
  }
  ra_cpu_log_prob(N_ROWS, fault ? 2 : 4, sums, got, lse);
  for (uint32_t row = 0; row < N_ROWS; row++)
    worst = fmax(worst, fabs((double)got[row] -
                             log_prob(z + row * VOCAB, targets[row])));
  return worst;
}

START_TEST(test_log_prob)
{
  ck_assert_double_lt(worst_log_prob(FALSE), 1e-5);
  ck_assert_double_gt(worst_log_prob(TRUE), 1e-2);
}
END_TEST

/* Central differences of the double formula. */
START_TEST(test_log_prob_backward)
{
  g_autofree float *z = cpu_random(2, VOCAB, 3);
  g_autofree float *d = cpu_random(2, VOCAB, 3);
  uint32_t target = 11;
  float lse = (float)((double)z[11] - log_prob(z, 11)), g = 0.7f;

  ra_cpu_log_prob_backward(1, 0, VOCAB, VOCAB, &target, &lse, &g, d);
  for (uint32_t i = 0; i < VOCAB; i++) {
    double p = exp((double)z[i] - (double)lse);

    ck_assert_double_eq_tol((double)d[i], (double)g * ((i == 11) - p), 1e-6);
  }
}
END_TEST

/* Probabilities 1/2, 1/4, 1/8, 1/8 in the order of tokens 2, 0, 3, 1. */
static const float four[4] = {1.38629436f, 0.69314718f, 2.07944154f,
                              0.69314718f};

static uint32_t
drawn(float temperature, uint32_t top_k, float top_p, double uniform)
{
  const RaCpuSampling sampling = {temperature, top_k, top_p};
  float workspace[8];

  return ra_cpu_sample(4, four, &sampling, uniform, workspace).token;
}

/* In order of number the sums are 1/4, 3/8, 7/8, 1.  The two most likely
 * together have 3/4: of them token 0 has 1/3.  Probability 0.6 needs those two
 * as well, 0.4 only token 2; three of the four: of the two equal ones the
 * first, so 1/4, 1/8, 1/2 over 7/8: token 1 from 2/7 to 3/7. */
START_TEST(test_sample)
{
  const RaCpuSampling plain = {1, 0, 1}, greedy = {0, 0, 1};
  float workspace[8];
  RaCpuSample sample;

  ck_assert_uint_eq(drawn(1, 0, 1, 0.24), 0);
  ck_assert_uint_eq(drawn(1, 0, 1, 0.26), 1);
  ck_assert_uint_eq(drawn(1, 0, 1, 0.38), 2);
  ck_assert_uint_eq(drawn(1, 0, 1, 0.88), 3);
  ck_assert_uint_eq(drawn(1, 2, 1, 0.33), 0);
  ck_assert_uint_eq(drawn(1, 2, 1, 0.34), 2);
  ck_assert_uint_eq(drawn(1, 0, 0.6f, 0.33), 0);
  ck_assert_uint_eq(drawn(1, 0, 0.6f, 0.34), 2);
  ck_assert_uint_eq(drawn(1, 0, 0.4f, 0.0), 2);
  ck_assert_uint_eq(drawn(1, 3, 1, 0.30), 1);
  ck_assert_uint_eq(drawn(1, 3, 1, 0.99), 2);
  ck_assert_uint_eq(drawn(0, 0, 1, 0.99), 2);
  /* Temperature 1/2 squares: 1/4, 1/16, 1/64, 1/64 over 22/64; token 0 has
   * 4/22. */
  ck_assert_uint_eq(drawn(0.5f, 0, 1, 0.18), 0);
  ck_assert_uint_eq(drawn(0.5f, 0, 1, 0.19), 1);
  sample = ra_cpu_sample(4, four, &plain, 0.38, workspace);
  ck_assert_double_eq_tol((double)sample.log_prob, log(0.5), 1e-6);
  ck_assert_double_eq_tol((double)sample.margin, 0.005, 1e-6);
  sample = ra_cpu_sample(4, four, &greedy, 0, workspace);
  ck_assert_double_eq_tol((double)sample.margin, log(2), 1e-6);
}
END_TEST

/* Two sequences of 2 and 1.  gamma 1/2, lambda 1/2; by hand from the back:
 * A_1 = 2 - 4 = -2, A_0 = 1 + 2 - 8 - 2 / 4 = -5.5; the other 3 - 1 = 2. */
START_TEST(test_gae)
{
  const uint32_t begin[3] = {0, 2, 3};
  const float rewards[3] = {1, 2, 3}, values[3] = {8, 4, 1};
  float advantages[3], returns[3];

  ra_cpu_gae(2, begin, rewards, values, 0.5f, 0.5f, advantages, returns);
  ck_assert_double_eq((double)advantages[0], -5.5);
  ck_assert_double_eq((double)advantages[1], -2);
  ck_assert_double_eq((double)advantages[2], 2);
  ck_assert_double_eq((double)returns[0], 2.5);
}
END_TEST

/* Rewards 0, 1: mean 1/2, deviation sqrt(1/2); 3, 3: no deviation, 0. */
START_TEST(test_group)
{
  const float rewards[4] = {0, 1, 3, 3};
  float out[4];

  ra_cpu_group_advantages(2, 2, rewards, out);
  ck_assert_double_eq_tol((double)out[1], 0.5 / (sqrt(0.5) + 1e-4), 1e-6);
  ck_assert_double_eq((double)out[2], 0);
}
END_TEST

/* log ratio log 2 with clip 0.2: at A = 1 the clip holds (loss -1.2, gradient
 * 0), at A = -1 it does not (2, 2); unclipped, ratio 1: gradient -A.  k3 with
 * ref - lp = log 2: 2 - log 2 - 1, gradient 1 - 2. */
START_TEST(test_policy_loss)
{
  const float lp[3] = {0, 0, -1}, old[3] = {-0.69314718f, -0.69314718f, -1};
  const float a[3] = {1, -1, 3}, ref[3] = {0.69314718f, 0, -1};
  float d[3];
  RaCpuLoss loss = {0};

  ra_cpu_policy_loss(3, lp, old, NULL, a, 0.2f, 0, 0.5f, d, &loss);
  ck_assert_double_eq_tol(loss.loss, -1.2 + 2 - 3, 1e-6);
  ck_assert_double_eq_tol((double)d[0], 0, 1e-6);
  ck_assert_double_eq_tol((double)d[1], 1, 1e-6);
  ck_assert_double_eq_tol((double)d[2], -1.5, 1e-6);
  ck_assert_double_eq(loss.clipped, 1);
  loss = (RaCpuLoss){0};
  ra_cpu_policy_loss(3, lp, old, ref, a, 0.2f, 0.1f, 1, d, &loss);
  ck_assert_double_eq_tol(loss.kl, 1 - log(2), 1e-6);
  ck_assert_double_eq_tol((double)d[0], -0.1, 1e-6);
}
END_TEST

/* clip 1, old 0.  v = 3, R = 0: held error 1 < 3, so free: 4.5, gradient 3.
 * v = 3, R = 4: held error 3 > 1: 4.5, gradient 0. */
START_TEST(test_value_loss)
{
  const float v[2] = {3, 3}, old[2] = {0, 0}, r[2] = {0, 4};
  float d[2];
  RaCpuLoss loss = {0};

  ra_cpu_value_loss(2, v, old, r, 1, 1, d, &loss);
  ck_assert_double_eq(loss.loss, 9);
  ck_assert_double_eq(loss.clipped, 1);
  ck_assert_double_eq((double)d[0], 3);
  ck_assert_double_eq((double)d[1], 0);
}
END_TEST

/* The first step moves by rate g / (|g| + eps / sqrt(1)) after the decay:
 * m / (1 - b1) = g and sqrt(v / (1 - b2)) = |g|. */
START_TEST(test_adamw)
{
  const RaCpuAdamw adamw = {0.1f, 0.9f, 0.999f, 1e-8f, 0.5f};
  float grad[11], weight[11], first[11] = {0}, second[11] = {0};

  for (int i = 0; i < 11; i++) {
    grad[i] = (float)(i - 5) * 3;
    weight[i] = 2;
  }
  ra_cpu_adamw(11, &adamw, 1, 0.25f, grad, weight, first, second);
  for (int i = 0; i < 11; i++)
    ck_assert_double_eq_tol((double)weight[i],
                            2 * 0.95 - 0.1 * ((i > 5) - (i < 5)), 1e-6);
  /* 9 (25 + 16 + 9 + 4 + 1) 2 = 990 */
  ck_assert_double_eq(ra_cpu_sum_squares(11, grad), 990);
}
END_TEST

static Suite *
cpu_policy_suite(void)
{
  Suite *suite = suite_create("cpu_policy");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_log_prob);
  tcase_add_test(tcase, test_log_prob_backward);
  tcase_add_test(tcase, test_sample);
  tcase_add_test(tcase, test_gae);
  tcase_add_test(tcase, test_group);
  tcase_add_test(tcase, test_policy_loss);
  tcase_add_test(tcase, test_value_loss);
  tcase_add_test(tcase, test_adamw);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(cpu_policy_suite)
