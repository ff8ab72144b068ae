/* CUDA kernels of log-probabilities and sampling, run thread by thread on the
 * CPU (tests/emulator) or on a device: log-probabilities against their formula
 * in double, samples against the CPU's kernels, whose own reference is the
 * formula (check_cpu_policy).
 */
#include "config.h"

#include "kernels/logprob.h"
#include "kernels/sample.h"
#include "tests/device/device_array.h"

#define U 0x1p-24 /* fp32 */
#define UB 0x1p-8 /* bf16 */

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
  double slack = (60 + LP_ALL / 1024.0 + 2 * log(LP_ALL)) * U + 0x1p-22;

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

/* Samples into @out by several blocks a row, and in @again by one: the same
 * bits, as weights are whole numbers. */
static void
sample_twice(const uint16_t *logits, const RaCpuSampling *how,
             const double *uniforms, const uint32_t *slots, uint32_t *newest,
             RaCpuSample *out)
{
  RaCpuSample *again = device_poisoned(ROWS * sizeof *again);
  void *workspace = device_poisoned(ra_k_sample_workspace(ROWS));
  uint32_t *counts = device_new(ROWS * sizeof *counts);

  memset(counts, 0, ROWS * sizeof *counts);
  ck_assert_int_eq(
      device_done(ra_k_sample(ROWS, VOCABULARY, logits, how, uniforms, slots,
                              newest, out, workspace, counts, NULL)),
      0);
  ck_assert_int_eq(
      device_done(ra_k_sample(ROWS, VOCABULARY, logits, how, uniforms, NULL,
                              NULL, again, NULL, NULL, NULL)),
      0);
  ck_assert_mem_eq(out, again, ROWS * sizeof *out);
  for (int row = 0; row < ROWS; row++)
    ck_assert_uint_eq(counts[row], 0);
  device_free(again);
  device_free(workspace);
  device_free(counts);
}

/* The token of every row is the CPU's, but where the CPU's margin says that a
 * rounding may decide, and then in few.  Log-probabilities within 2^-20 +
 * 4 u |lp| (exp of both sides).  Each is also at its place of the newest
 * tokens, which are in reverse.  The fault that this catches: n_equal of top-p
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
  uint32_t *slots = device_new(ROWS * sizeof *slots);
  uint32_t *newest = device_poisoned(ROWS * sizeof *newest);

  for (int row = 0; row < ROWS; row++) {
    uniforms[row] = ra_rng_uniform(&rng);
    slots[row] = (uint32_t)(ROWS - 1 - row);
  }
  sample_twice(logits, how, uniforms, slots, newest, out);
  for (int row = 0; row < ROWS; row++) {
    RaCpuSample s;

    ck_assert_uint_eq(newest[ROWS - 1 - row], out[row].token);

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
  device_free(slots);
  device_free(newest);
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
    ck_assert_int_eq(
        device_done(ra_k_sample(1, VOCABULARY, logits, &rows[i].how, uniform,
                                NULL, NULL, out, NULL, NULL, NULL)),
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
device_sample_suite(void)
{
  Suite *suite = suite_create("device_sample");
  TCase *tcase = tcase_create("sample");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_logprob);
  tcase_add_loop_test(tcase, test_sample, 0, (int)G_N_ELEMENTS(samplings));
  tcase_add_test(tcase, test_ties);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_sample_suite)
