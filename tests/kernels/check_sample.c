/* Sampling against distributions that are enumerated. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "kernels/cpu/cpu_sample.h"
#include "tests/support/check_main.h"

#define N 23          /* tokens */
#define N_DRAWS 20000 /* uniform numbers, evenly spaced */

static const RaCpuSampling samplings[] = {
    {1, 0, 1},       {0.5f, 0, 1},    {2, 0, 1},      {1, 1, 1},
    {1, 5, 1},       {1, 0, 0.3f},    {1, 0, 0.9f},   {0.7f, 7, 0.8f},
    {1.5f, 3, 0.5f}, {1, 23, 0.999f}, {1, 40, 0.01f},
};

/* Standard logits, some of them equal: tokens 4, 9 and 17. */
static void
make_logits(uint64_t seed, float *out)
{
  RaRng rng = ra_rng_init(seed, 0);

  for (uint32_t i = 0; i < N; i++)
    out[i] = (float)(4 * ra_rng_uniform(&rng) - 2);
  out[9] = out[17] = out[4];
}

/* Where token @i stands when the most likely come first, of equal ones the
 * first in number. */
static uint32_t
place_of(const double *p, uint32_t i)
{
  uint32_t place = 0;

  for (uint32_t j = 0; j < N; j++)
    place += p[j] > p[i] || (p[j] >= p[i] && j < i);
  return place;
}

/* By definition: softmax of z / T; the k most likely; of these the fewest,
 * most likely first, that have top_p of what these have; what is kept again
 * adds up to 1.  @of_all: top_p is of all, a fault. */
static void
distribution(const float *z, const RaCpuSampling *s, gboolean of_all,
             double *out_p)
{
  double p[N], kept[N], sum = 0, of_k = 0, part = 0, whole = 0;
  uint32_t k = s->top_k > 0 && s->top_k < N ? s->top_k : N;

  for (uint32_t i = 0; i < N; i++)
    sum += p[i] = exp((double)z[i] / (double)s->temperature);
  for (uint32_t i = 0; i < N; i++)
    p[i] /= sum;
  for (uint32_t i = 0; i < N; i++)
    of_k += place_of(p, i) < k ? p[i] : 0;
  memset(kept, 0, sizeof kept);
  for (uint32_t place = 0; place < k; place++)
    for (uint32_t i = 0; i < N; i++)
      if (place_of(p, i) == place &&
          (s->top_p >= 1 || part < (double)s->top_p * (of_all ? 1 : of_k))) {
        part += p[i];
        kept[i] = p[i];
      }
  for (uint32_t i = 0; i < N; i++)
    whole += kept[i];
  for (uint32_t i = 0; i < N; i++)
    out_p[i] = kept[i] / whole;
}

/* How often each token is drawn by (j + 1/2) / N_DRAWS, all j. */
static void
draw(const float *z, const RaCpuSampling *s, uint32_t *out_n)
{
  float workspace[2 * N];

  memset(out_n, 0, N * sizeof *out_n);
  for (uint32_t j = 0; j < N_DRAWS; j++)
    out_n[ra_cpu_sample(N, z, s, (j + 0.5) / N_DRAWS, workspace).token]++;
}

/* The largest difference of a token's draws from its share. */
static double
worst(const float *z, const RaCpuSampling *s, gboolean of_all)
{
  double p[N], most = 0;
  uint32_t n[N];

  distribution(z, s, of_all, p);
  draw(z, s, n);
  for (uint32_t i = 0; i < N; i++)
    most = fmax(most, fabs(n[i] - N_DRAWS * p[i]));
  return most;
}

/* Evenly spaced numbers fall on an interval of length p within one of N p
 * times; bounds of intervals are rounded by less than 23 u (2^-24) of 1, 0.03
 * of a draw.  So 1.1 at most, whatever the temperature, top-k and top-p. */
START_TEST(test_shares)
{
  for (uint64_t seed = 0; seed < 20; seed++) {
    float z[N];

    make_logits(seed, z);
    ck_assert_double_le(worst(z, &samplings[_i], FALSE), 1.1);
  }
}
END_TEST

/* A top-p of all tokens, not of the top k, is seen: 0.8 of seven tokens'
 * share is less than 0.8 of all. */
START_TEST(test_fault)
{
  const RaCpuSampling both = {0.7f, 7, 0.8f};
  float z[N];

  make_logits(0, z);
  ck_assert_double_gt(worst(z, &both, TRUE), 10);
}
END_TEST

/* The margin is what must happen for another token to be drawn: a number that
 * is nearer to @u than it draws the same, one that is twice as far on one of
 * the two sides another, as without top-k and top-p nothing else decides. */
START_TEST(test_margin)
{
  const RaCpuSampling plain = {1, 0, 1};
  float z[N], workspace[2 * N];

  make_logits(7, z);
  for (uint32_t j = 0; j < 200; j++) {
    double u = (j + 0.5) / 200;
    RaCpuSample at = ra_cpu_sample(N, z, &plain, u, workspace);
    double near = 0.9 * (double)at.margin, far = 1.1 * (double)at.margin;
    gboolean same = TRUE;

    for (int side = -1; side <= 1; side += 2) {
      double in = CLAMP(u + side * near, 0, 1 - 1e-9);
      double out = CLAMP(u + side * far, 0, 1 - 1e-9);

      ck_assert_uint_eq(ra_cpu_sample(N, z, &plain, in, workspace).token,
                        at.token);
      same &= ra_cpu_sample(N, z, &plain, out, workspace).token == at.token;
    }
    ck_assert_msg(!same || u + far >= 1 || u - far <= 0,
                  "a number further than the margin draws the same");
  }
}
END_TEST

/* Logits that differ by rounding draw another token only where the margin is
 * below the change: eps of every logit changes no sum of probabilities by more
 * than 2 eps p (1 - p) <= eps / 2. */
START_TEST(test_ties)
{
  const float eps = 1e-5f;
  uint32_t n_other = 0;
  float z[N], y[N], workspace[2 * N];

  make_logits(11, z);
  for (uint32_t i = 0; i < N; i++)
    y[i] = z[i] + (i % 2 ? eps : -eps);
  for (uint32_t j = 0; j < 100000; j++) {
    const RaCpuSampling plain = {1, 0, 1};
    double u = (j + 0.5) / 100000;
    RaCpuSample a = ra_cpu_sample(N, z, &plain, u, workspace);
    RaCpuSample b = ra_cpu_sample(N, y, &plain, u, workspace);

    if (a.token == b.token)
      continue;
    n_other++;
    ck_assert_double_le((double)a.margin, (double)eps);
  }
  ck_assert_uint_gt(n_other, 0);
  ck_assert_uint_lt(n_other, 100);
}
END_TEST

static Suite *
sample_suite(void)
{
  Suite *suite = suite_create("sample");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_shares, 0, G_N_ELEMENTS(samplings));
  tcase_add_test(tcase, test_fault);
  tcase_add_test(tcase, test_margin);
  tcase_add_test(tcase, test_ties);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(sample_suite)
