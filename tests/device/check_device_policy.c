/* CUDA kernels of advantages, losses and sampling, run thread by thread on the
 * CPU (tests/emulator) or on a device: log-probabilities against their formula
 * in double, the others against the CPU's kernels, whose own reference is the
 * formula (check_cpu_policy).
 */
#include "config.h"

#include "kernels/logprob.h"
#include "kernels/policy.h"
#include "kernels/sample.h"
#include "tests/device/device_array.h"

#define U 0x1p-24 /* fp32 */
#define UB 0x1p-8 /* bf16 */

/* Lengths of none, one, a warp, a warp and one, and several: carries. */
START_TEST(test_gae)
{
  static const uint32_t starts[] = {0, 0, 1, 33, 66, 266};
  enum { N_SEQUENCES = 5, N = 266 };
  const float gamma = 0.99f, lambda = 0.95f;
  RaRng rng = ra_rng_init(1, 0);
  float *r = device_f32(&rng, N, -1, 1), *v = device_f32(&rng, N, -2, 2);
  float *a = device_poisoned(N * sizeof(float));
  float *ret = device_poisoned(N * sizeof(float));
  float expected[N], expected_ret[N];
  uint32_t *begin = device_copy(starts, sizeof starts);

  ck_assert_int_eq(device_done(ra_k_gae(N_SEQUENCES, begin, r, v, gamma, lambda,
                                        a, ret, NULL)),
                   0);
  ra_cpu_gae(N_SEQUENCES, begin, r, v, gamma, lambda, expected, expected_ret);
  for (uint32_t s = 0; s < N_SEQUENCES; s++) {
    double size = 0;

    for (uint32_t t = begin[s + 1]; t-- > begin[s];) {
      size = (double)gamma * (double)lambda * size + fabs((double)r[t]) +
             fabs((double)v[t]) +
             (t + 1 < begin[s + 1] ? fabs((double)v[t + 1]) : 0);
      /* 12 u, and 6 u of the CPU's own */
      device_assert_near((double)a[t], (double)expected[t], 18 * U * size,
                         "advantage", t);
      device_assert_near((double)ret[t], (double)a[t] + (double)v[t],
                         U * fabs((double)ret[t]), "return", t);
    }
  }
  device_free(r);
  device_free(v);
  device_free(a);
  device_free(ret);
  device_free(begin);
}
END_TEST

/* 300 groups are two blocks; one group of equal rewards: advantages 0. */
START_TEST(test_group)
{
  enum { GROUPS = 300, SAMPLES = 7, N = GROUPS * SAMPLES };
  RaRng rng = ra_rng_init(2, 0);
  float *r = device_f32(&rng, N, 0, 1), *a = device_poisoned(N * sizeof(float));
  float expected[N];

  for (int i = 0; i < SAMPLES; i++)
    r[i] = 0.5f;
  ck_assert_int_eq(
      device_done(ra_k_group_advantages(GROUPS, SAMPLES, r, a, NULL)), 0);
  ra_cpu_group_advantages(GROUPS, SAMPLES, r, expected);
  for (int i = 0; i < N; i++)
    device_assert_near((double)a[i], (double)expected[i],
                       4 * U * fabs((double)expected[i]), "advantage",
                       (gsize)i);
  ck_assert_double_eq((double)a[0], 0);
  device_free(r);
  device_free(a);
}
END_TEST

/* More tokens than the blocks have threads (128 x 256), with and without a
 * reference; ratios on both sides of the clip. */
START_TEST(test_policy)
{
  enum { N = 128 * 256 + 77 };
  const float clip = 0.2f, weight = 0.1f, scale = 1.0f / N;
  RaRng rng = ra_rng_init(3, 0);
  float *lp = device_f32(&rng, N, -2, 0), *old = device_f32(&rng, N, -2, 0);
  float *ref = device_f32(&rng, N, -2, 0), *a = device_f32(&rng, N, -2, 2);
  float *d = device_poisoned(N * sizeof(float));
  float *expected = device_poisoned(N * sizeof(float));
  RaCpuLoss *workspace = device_poisoned(RA_K_LOSS_BLOCKS * sizeof *workspace);
  RaCpuLoss *got = device_new(sizeof *got), sum = {0};
  const float *reference = _i == 0 ? NULL : ref;
  double size = 0;

  *got = (RaCpuLoss){0};
  ck_assert_int_eq(
      device_done(ra_k_policy_loss(N, lp, old, reference, a, clip, weight,
                                   scale, d, workspace, got, NULL)),
      0);
  ra_cpu_policy_loss(N, lp, old, reference, a, clip, weight, scale, expected,
                     &sum);
  for (gsize i = 0; i < N; i++) {
    double term = (1 + exp((double)(lp[i] - old[i]))) * fabs((double)a[i]);

    if (reference)
      term += (double)weight * (1 + exp(fabs((double)(ref[i] - lp[i]))));
    size += term;
    device_assert_near((double)d[i], (double)expected[i],
                       16 * U * term * (double)scale, "gradient", i);
  }
  device_assert_near(got->loss, sum.loss, 16 * U * size, "loss", 0);
  device_assert_near(got->kl, sum.kl, 16 * U * N * exp(2), "kl", 0);
  ck_assert_double_eq(got->clipped, sum.clipped);
  ck_assert_double_gt(sum.clipped, N / 10);
  device_free(lp);
  device_free(old);
  device_free(ref);
  device_free(a);
  device_free(d);
  device_free(expected);
  device_free(workspace);
  device_free(got);
}
END_TEST

START_TEST(test_value)
{
  enum { N = 1000 };
  const float clip = _i == 0 ? 0.2f : 0;
  RaRng rng = ra_rng_init(4, 0);
  float *v = device_f32(&rng, N, -1, 1), *old = device_f32(&rng, N, -1, 1);
  float *ret = device_f32(&rng, N, -1, 1);
  float *d = device_poisoned(N * sizeof(float)), expected[N];
  RaCpuLoss *workspace = device_poisoned(RA_K_LOSS_BLOCKS * sizeof *workspace);
  RaCpuLoss *got = device_new(sizeof *got), sum = {0};

  *got = (RaCpuLoss){0};
  ck_assert_int_eq(device_done(ra_k_value_loss(N, v, old, ret, clip, 0.5f, d,
                                               workspace, got, NULL)),
                   0);
  ra_cpu_value_loss(N, v, old, ret, clip, 0.5f, expected, &sum);
  for (gsize i = 0; i < N; i++)
    device_assert_near((double)d[i], (double)expected[i], 4 * U, "gradient", i);
  device_assert_near(got->loss, sum.loss, 16 * U * N, "loss", 0);
  ck_assert_double_eq(got->clipped, sum.clipped);
  device_free(v);
  device_free(old);
  device_free(ret);
  device_free(d);
  device_free(workspace);
  device_free(got);
}
END_TEST

/* Two ranks that share 2,064 tokens as 1,037 and 1,027: rows of 1,040 and 1,032
 * columns, of which the last are not a number.  Token 1,037, the second rank's
 * first, would be the first rank's first such column. */
enum { LP_ROWS = 5, LP_FIRST = 1037, LP_ALL = 2064 };

static const uint32_t lp_begin[] = {0, LP_FIRST, LP_ALL};
static const uint32_t lp_row[] = {1040, 1032};
static const uint32_t lp_targets[LP_ROWS] = {0, 1036, 1037, 2063, 1500};
static const float lp_grad[LP_ROWS] = {1, -0.5f, 0, 2, 0.25f};

/* Element @i of @row of what both ranks have. */
static double
lp_at(uint16_t *const of_rank[2], uint32_t row, uint32_t i)
{
  int r = i >= LP_FIRST;

  return device_at(of_rank[r], row * lp_row[r] + i - lp_begin[r]);
}

static void
check_logprob_row(uint16_t *const in[2], uint16_t *const out[2], uint32_t row,
                  double lse, double log_prob)
{
  double most = -INFINITY, sum = 0, exact, wanted, g = (double)lp_grad[row];
  double slack = (60 + LP_ALL / 1024.0) * U + 0x1p-22;

  for (uint32_t i = 0; i < LP_ALL; i++)
    most = fmax(most, lp_at(in, row, i));
  for (uint32_t i = 0; i < LP_ALL; i++)
    sum += exp(lp_at(in, row, i) - most);
  exact = most + log(sum);
  wanted = lp_at(in, row, lp_targets[row]);
  device_assert_near(lse, exact, slack + 2 * U * (fabs(exact) + fabs(most)),
                     "lse", row);
  device_assert_near(log_prob, wanted - exact,
                     slack + 4 * U * (fabs(exact) + fabs(wanted)), "log p",
                     row);
  for (uint32_t i = 0; i < LP_ALL; i++) {
    double z = lp_at(in, row, i), p = exp(z - exact);
    double gradient = g * ((i == lp_targets[row]) - p);
    double at = isfinite(z) ? fabs(z) : 0;

    device_assert_near(lp_at(out, row, i), gradient,
                       UB * fabs(gradient) +
                           fabs(g) * p *
                               (0x1p-21 + slack + 2 * U * (at + fabs(exact))) +
                           fabs(g) * U,
                       "gradient", i);
  }
}

/* Sets the columns behind the last of rank @r, or holds that they are 0. */
static void
pad_logits(uint16_t *z, int r, gboolean done)
{
  uint32_t n = lp_begin[r + 1] - lp_begin[r];

  for (uint32_t row = 0; row < LP_ROWS; row++)
    for (uint32_t i = n; i < lp_row[r]; i++) {
      uint16_t *at = &z[row * lp_row[r] + i];

      if (done)
        ck_assert_uint_eq(*at, 0);
      *at = 0x7fff; /* not a number */
    }
}

/* One row has logits of -infinity only on one of the ranks.  The faults that
 * this catches: a target counted by both ranks, a padding counted or left. */
START_TEST(test_logprob)
{
  RaRng rng = ra_rng_init(7, 0);
  uint16_t *z[2], *in[2];
  RaCpuLogSum *sums = device_poisoned(2 * LP_ROWS * sizeof *sums);
  float *log_prob = device_poisoned(LP_ROWS * sizeof(float));
  float *lse = device_poisoned(LP_ROWS * sizeof(float));
  float *grad = device_copy(lp_grad, sizeof lp_grad);
  uint32_t *targets = device_copy(lp_targets, sizeof lp_targets);

  for (int r = 0; r < 2; r++) {
    uint32_t n = lp_begin[r + 1] - lp_begin[r];

    z[r] = device_bf16(&rng, LP_ROWS * lp_row[r], 6);
    in[r] = device_poisoned(LP_ROWS * lp_row[r] * 2);
    for (uint32_t i = 0; r == 0 && i < n; i++)
      z[r][4 * lp_row[r] + i] = 0xff80; /* -infinity */
    pad_logits(z[r], r, FALSE);
    memcpy(in[r], z[r], LP_ROWS * lp_row[r] * 2);
    ck_assert_int_eq(
        device_done(ra_k_log_sum(LP_ROWS, lp_begin[r], n, lp_row[r], z[r],
                                 targets, sums + r * LP_ROWS, NULL)),
        0);
  }
  ck_assert_int_eq(
      device_done(ra_k_log_prob(LP_ROWS, 2, sums, log_prob, lse, NULL)), 0);
  for (int r = 0; r < 2; r++) {
    uint32_t n = lp_begin[r + 1] - lp_begin[r];

    ck_assert_int_eq(
        device_done(ra_k_log_prob_backward(LP_ROWS, lp_begin[r], n, lp_row[r],
                                           targets, lse, grad, z[r], NULL)),
        0);
    pad_logits(z[r], r, TRUE);
  }
  for (uint32_t row = 0; row < LP_ROWS; row++)
    check_logprob_row(in, z, row, (double)lse[row], (double)log_prob[row]);
  for (int r = 0; r < 2; r++) {
    device_free(z[r]);
    device_free(in[r]);
  }
  device_free(sums);
  device_free(log_prob);
  device_free(lse);
  device_free(grad);
  device_free(targets);
}
END_TEST

/* ---- Sampling -------------------------------------------------------------*/

enum { VOCABULARY = 1300, ROWS = 60 };

static const RaCpuSampling samplings[] = {
    {1, 0, 1},    {0.7f, 0, 1},  {0, 0, 1},       {1, 50, 1},
    {1, 0, 0.9f}, {1, 40, 0.8f}, {1.5f, 1, 0.5f}, {1, 0, 1e-6f}};

/* The token of every row is the CPU's, but where the CPU's margin says that a
 * rounding may decide, and then in few.  Log-probabilities within 2^-20 +
 * 4 u |lp| (exp of both sides).  The fault that this catches: n_equal of top-p
 * counted from above the edge of top-k. */
START_TEST(test_sample)
{
  const RaCpuSampling *how = &samplings[_i];
  RaRng rng = ra_rng_init(5, (uint64_t)_i);
  uint16_t *logits = device_bf16(&rng, ROWS * VOCABULARY, 6);
  float row_logits[VOCABULARY], workspace[2 * VOCABULARY];
  RaCpuSample *out = device_poisoned(ROWS * sizeof *out);
  uint32_t n_near = 0;
  double *uniforms = device_new(ROWS * sizeof *uniforms);

  for (int row = 0; row < ROWS; row++)
    uniforms[row] = ra_rng_uniform(&rng);
  ck_assert_int_eq(device_done(ra_k_sample(ROWS, VOCABULARY, logits, how,
                                           uniforms, out, NULL)),
                   0);
  for (int row = 0; row < ROWS; row++) {
    RaCpuSample s;

    for (gsize i = 0; i < VOCABULARY; i++)
      row_logits[i] = (float)device_at(logits, (gsize)row * VOCABULARY + i);
    s = ra_cpu_sample(VOCABULARY, row_logits, how, uniforms[row], workspace);
    if (out[row].token != s.token && how->temperature > 0 &&
        s.margin < RA_K_SAMPLE_MARGIN) {
      n_near++;
      continue;
    }
    ck_assert_msg(out[row].token == s.token, "row %d: token %u, expected %u",
                  row, out[row].token, s.token);
    device_assert_near((double)out[row].margin, (double)s.margin,
                       (double)RA_K_SAMPLE_MARGIN, "margin", (gsize)row);
    device_assert_near((double)out[row].log_prob, (double)s.log_prob,
                       0x1p-20 + 4 * U * fabs((double)s.log_prob), "log p",
                       (gsize)row);
  }
  ck_assert_uint_lt(n_near, ROWS / 10);
  device_free(logits);
  device_free(out);
  device_free(uniforms);
}
END_TEST

/* Equal logits at the edge: of 1,300 equal ones top-k 7 keeps tokens 0 to 6,
 * and top-p 0.5 of those the first four (3.5 rounds up); u = 0.99 takes the
 * last of them.  At temperature 0 the first of equal ones is taken. */
START_TEST(test_ties)
{
  static const struct {
    RaCpuSampling how;
    double uniform;
    uint32_t token;
  } rows[] = {{{1, 7, 1}, 0.99, 6},
              {{1, 7, 0.5f}, 0.99, 3},
              {{1, 7, 0.5f}, 0, 0},
              {{0, 0, 1}, 0.99, 0},
              {{1, 0, 1}, 0.5, 650}};
  uint16_t *logits = device_new(VOCABULARY * sizeof *logits);
  RaCpuSample *out = device_new(sizeof *out);
  double *uniform = device_new(sizeof *uniform);

  memset(logits, 0, VOCABULARY * sizeof *logits);

  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    *uniform = rows[i].uniform;
    ck_assert_int_eq(device_done(ra_k_sample(1, VOCABULARY, logits,
                                             &rows[i].how, uniform, out, NULL)),
                     0);
    ck_assert_msg(out->token == rows[i].token, "row %zu: %u, expected %u", i,
                  out->token, rows[i].token);
    device_assert_near((double)out->log_prob, -log(VOCABULARY), 0x1p-20,
                       "log p", i);
  }
  device_free(logits);
  device_free(out);
  device_free(uniform);
}
END_TEST

static Suite *
device_policy_suite(void)
{
  Suite *suite = suite_create("device_policy");
  TCase *tcase = tcase_create("policy");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_gae);
  tcase_add_test(tcase, test_group);
  tcase_add_loop_test(tcase, test_policy, 0, 2);
  tcase_add_loop_test(tcase, test_value, 0, 2);
  tcase_add_test(tcase, test_logprob);
  tcase_add_loop_test(tcase, test_sample, 0, (int)G_N_ELEMENTS(samplings));
  tcase_add_test(tcase, test_ties);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_policy_suite)
