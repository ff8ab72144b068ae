#include "config.h"

#include <glib.h>
#include <math.h>

#include "kernels/cpu/bf16.h"
#include "kernels/rmsnorm.h"
#include "tests/support/check_main.h"

/* Derived by hand from the formats: 1.0 is exponent 127, so 0x3f80; the next
 * bf16 is 1 + 2^-7 = 0x3f81.
 */
START_TEST(test_bf16_rounding)
{
  static const struct {
    float value;
    uint16_t bits;
  } rows[] = {
      {0.0f, 0x0000},
      {-0.0f, 0x8000},
      {1.0f, 0x3f80},
      {-2.0f, 0xc000},
      {0x1.02p0f, 0x3f81},     /* 1 + 2^-7: exact */
      {0x1.01p0f, 0x3f80},     /* 1 + 2^-8: tie, even is below */
      {0x1.03p0f, 0x3f82},     /* 1 + 3 2^-8: tie, even is above */
      {0x1.010002p0f, 0x3f81}, /* just above the tie */
      {0x1.00fffep0f, 0x3f80}, /* just below it */
      {0x1.ffp0f, 0x4000},     /* 2 - 2^-8: tie, carries into the exponent */
      {0x1.fep127f, 0x7f7f},   /* the largest bf16 */
      {0x1.fefffep127f, 0x7f7f},
      {0x1.ffp127f, 0x7f80}, /* half an ulp above it: infinity */
      {0x1p-133f, 0x0001},   /* the least subnormal */
      {0x1p-134f, 0x0000},   /* tie with zero, zero is even */
      {0x1.8p-133f, 0x0002}, /* tie, even is above */
      {INFINITY, 0x7f80},
      {-INFINITY, 0xff80},
  };

  for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
    ck_assert_msg(ra_bf16_from_f32(rows[i].value) == rows[i].bits,
                  "%a gave 0x%04x, not 0x%04x", (double)rows[i].value,
                  ra_bf16_from_f32(rows[i].value), rows[i].bits);
}
END_TEST

/* Every bf16 is an fp32, so there and back is the identity; a signalling NaN
 * comes back quiet (bit 0x40 set).  A NaN whose fraction lies in the dropped
 * half must not become infinity.
 */
START_TEST(test_bf16_round_trip)
{
  uint32_t low_nan = 0x7f800001;
  float value;

  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    gboolean is_nan = (bits & 0x7fff) > 0x7f80;
    uint32_t expected = is_nan ? bits | 0x40 : bits;

    ck_assert_uint_eq(ra_bf16_from_f32(ra_bf16_to_f32((uint16_t)bits)),
                      expected);
  }
  memcpy(&value, &low_nan, sizeof value);
  ck_assert_uint_eq(ra_bf16_from_f32(value), 0x7fc0);
}
END_TEST

/* Nearest of all: against a search over the two neighbours in exact (double)
 * arithmetic, on bit patterns spread over all finite fp32.
 */
START_TEST(test_bf16_nearest)
{
  GRand *rand = g_rand_new_with_seed(1);

  for (int i = 0; i < 100000; i++) {
    uint32_t bits = g_rand_int(rand) & 0xff7fffffu; /* finite */
    uint16_t below = (uint16_t)(bits >> 16), got;
    double to_below, to_above;
    float value;

    memcpy(&value, &bits, sizeof value);
    got = ra_bf16_from_f32(value);
    if ((below & 0x7fff) == 0x7f7f)
      continue; /* the neighbour is infinity; done by hand above */
    to_below = fabs((double)value - (double)ra_bf16_to_f32(below));
    to_above =
        fabs((double)value - (double)ra_bf16_to_f32((uint16_t)(below + 1)));
    if (to_below < to_above)
      ck_assert_uint_eq(got, below);
    else if (to_above < to_below)
      ck_assert_uint_eq(got, below + 1);
    else
      ck_assert_uint_eq(got, below + (below & 1));
  }
  g_rand_free(rand);
}
END_TEST

/* One case of the norm: inputs, and what the reference made of them. */
typedef struct {
  size_t n_rows;
  size_t n_hidden;
  float eps;
  uint16_t *x;      /* [n_rows, n_hidden] */
  uint16_t *before; /* [n_rows, n_hidden] residual that went in */
  uint16_t *after;  /* [n_rows, n_hidden] residual that came out */
  uint16_t *weight; /* [n_hidden] */
  uint16_t *out;    /* [n_rows, n_hidden] */
} Norm;

static uint16_t *
random_bf16(GRand *rand, size_t n, double scale)
{
  uint16_t *values = g_new(uint16_t, n);

  for (size_t i = 0; i < n; i++)
    values[i] =
        ra_bf16_from_f32((float)(scale * g_rand_double_range(rand, -1.0, 1.0)));
  return values;
}

static Norm
norm_new(size_t n_rows, size_t n_hidden, double scale, float eps)
{
  GRand *rand = g_rand_new_with_seed((guint32)(n_rows * 65537 + n_hidden));
  size_t n = n_rows * n_hidden;
  Norm norm = {.n_rows = n_rows, .n_hidden = n_hidden, .eps = eps};

  norm.x = random_bf16(rand, n, scale);
  norm.before = random_bf16(rand, n, scale);
  norm.after = g_memdup2(norm.before, n * sizeof *norm.before);
  norm.weight = random_bf16(rand, n_hidden, 2.0);
  norm.out = g_new0(uint16_t, n);
  g_rand_free(rand);
  ck_assert_int_eq(ra_k_rmsnorm_ref(norm.out, norm.after, norm.x, norm.weight,
                                    n_rows, n_hidden, eps),
                   0);
  return norm;
}

static void
norm_clear(Norm *norm)
{
  g_free(norm->x);
  g_free(norm->before);
  g_free(norm->after);
  g_free(norm->weight);
  g_free(norm->out);
}

/* Elements of the output outside the header's bound, by a second
 * implementation: the textbook formula in double, summed in index order.  Its
 * own error, 2^-53 times some 10^4 terms, is far below the bound's 2^-18.
 */
static size_t
norm_count_bad(const Norm *norm, double eps)
{
  size_t n_bad = 0;

  for (size_t row = 0; row < norm->n_rows; row++) {
    const uint16_t *r = norm->after + row * norm->n_hidden;
    double sum = 0.0;

    for (size_t i = 0; i < norm->n_hidden; i++)
      sum += pow((double)ra_bf16_to_f32(r[i]), 2.0);
    for (size_t i = 0; i < norm->n_hidden; i++) {
      double exact = (double)ra_bf16_to_f32(r[i]) *
                     (double)ra_bf16_to_f32(norm->weight[i]) /
                     sqrt(sum / (double)norm->n_hidden + eps);
      double got = (double)ra_bf16_to_f32(norm->out[row * norm->n_hidden + i]);

      if (!(fabs(got - exact) <=
            RA_K_RMSNORM_REL * fabs(exact) + RA_K_RMSNORM_ABS))
        n_bad++;
    }
  }
  return n_bad;
}

static const struct {
  size_t n_rows, n_hidden;
  double scale;
} norm_cases[] = {
    {3, 8, 1.0},     {5, 256, 1.0},    {2, 264, 10.0},      {2, 896, 0.01},
    {2, 4096, 1.0},  {1, 8192, 100.0}, {2, 8200, 1.0},      {1, 16384, 1e-4},
    {1, 32768, 1.0}, {4, 5120, 1e6},   {2, 14336, 0.00001},
};

START_TEST(test_rmsnorm_bound)
{
  Norm norm = norm_new(norm_cases[_i].n_rows, norm_cases[_i].n_hidden,
                       norm_cases[_i].scale, 1e-5f);

  ck_assert_uint_eq(norm_count_bad(&norm, (double)1e-5f), 0);
  norm_clear(&norm);
}
END_TEST

/* The residual: x + r in double is exact here (exponents within 2^45 of each
 * other), rounded to fp32 and then to bf16, so 2^-8 + 2^-24 and their product.
 */
START_TEST(test_rmsnorm_residual)
{
  Norm norm = norm_new(4, 1024, 3.0, 1e-6f);

  for (size_t i = 0; i < norm.n_rows * norm.n_hidden; i++) {
    double exact = (double)ra_bf16_to_f32(norm.x[i]) +
                   (double)ra_bf16_to_f32(norm.before[i]);

    ck_assert_double_le(fabs((double)ra_bf16_to_f32(norm.after[i]) - exact),
                        (RA_BF16_U + 2 * RA_F32_U) * fabs(exact));
  }
  norm_clear(&norm);
}
END_TEST

/* By hand: a row of eight 3s after the sum, eps = 7: mean square 9, inv =
 * 1 / sqrt(16) = 1/4, so 3 * 1/4 * 2 = 1.5.
 */
START_TEST(test_rmsnorm_by_hand)
{
  uint16_t x[8], r[8], weight[8], out[8];

  for (int i = 0; i < 8; i++) {
    x[i] = ra_bf16_from_f32(1.0f);
    r[i] = ra_bf16_from_f32(2.0f);
    weight[i] = ra_bf16_from_f32(2.0f);
  }
  ck_assert_int_eq(ra_k_rmsnorm_ref(out, r, x, weight, 1, 8, 7.0f), 0);
  for (int i = 0; i < 8; i++) {
    ck_assert_uint_eq(r[i], ra_bf16_from_f32(3.0f));
    ck_assert_uint_eq(out[i], ra_bf16_from_f32(1.5f));
  }
}
END_TEST

/* The oracle must catch: one element two units in the last place off (an
 * error of at least 1.5 ulp >= 1.5 2^-8); eps forgotten where it matters; and
 * a vector of 8 lost from the sum of a row of 64 equal values, which makes inv
 * too large by sqrt(64/56) - 1 = 6.9 %.
 */
START_TEST(test_rmsnorm_faults)
{
  Norm norm = norm_new(2, 256, 1.0, 1e-5f);
  Norm small = norm_new(2, 256, 1e-3, 1e-5f);

  norm.out[300] = (uint16_t)(norm.out[300] + 2);
  ck_assert_uint_eq(norm_count_bad(&norm, (double)1e-5f), 1);
  ck_assert_uint_ge(norm_count_bad(&small, 0.0), 500);
  norm_clear(&norm);
  norm_clear(&small);

  norm = norm_new(1, 64, 0.0, 1e-5f);
  for (size_t i = 0; i < 64; i++) {
    norm.after[i] = ra_bf16_from_f32(1.0f);
    norm.weight[i] = ra_bf16_from_f32(1.0f);
    norm.out[i] = ra_bf16_from_f32(1.0f / sqrtf(56.0f / 64.0f + 1e-5f));
  }
  ck_assert_uint_eq(norm_count_bad(&norm, (double)1e-5f), 64);
  norm_clear(&norm);
}
END_TEST

/* Refused shapes leave the output alone. */
START_TEST(test_rmsnorm_shapes)
{
  uint16_t x[16] = {0}, r[16] = {0}, weight[16] = {0}, out[16] = {7};

  ck_assert_int_eq(ra_k_rmsnorm_ref(out, r, x, weight, 1, 0, 1e-5f), 1);
  ck_assert_int_eq(ra_k_rmsnorm_ref(out, r, x, weight, 1, 12, 1e-5f), 1);
  ck_assert_int_eq(ra_k_rmsnorm_ref(out, r, x, weight, 1, 32776, 1e-5f), 1);
  ck_assert_int_eq(ra_k_rmsnorm_ref(out, r, x, weight, 1, 16, 0.0f), 1);
  ck_assert_int_eq(ra_k_rmsnorm_ref(out, r, x, weight, 1, 16, NAN), 1);
  ck_assert_uint_eq(out[0], 7);
  ck_assert_int_eq(ra_k_rmsnorm_ref(out, r, x, weight, 0, 16, 1e-5f), 0);
  ck_assert_uint_eq(out[0], 7);
}
END_TEST

/* A multiple of a warp, one thread a vector of 8 until 1,024 are in use. */
START_TEST(test_rmsnorm_threads)
{
  ck_assert_int_eq(ra_k_rmsnorm_threads(8), 32);
  ck_assert_int_eq(ra_k_rmsnorm_threads(256), 32);
  ck_assert_int_eq(ra_k_rmsnorm_threads(264), 64);
  ck_assert_int_eq(ra_k_rmsnorm_threads(4096), 512);
  ck_assert_int_eq(ra_k_rmsnorm_threads(8192), 1024);
  ck_assert_int_eq(ra_k_rmsnorm_threads(32768), 1024);
}
END_TEST

static Suite *
kernels_suite(void)
{
  Suite *suite = suite_create("kernels");
  TCase *bf16 = tcase_create("bf16");
  TCase *rmsnorm = tcase_create("rmsnorm");

  tcase_add_test(bf16, test_bf16_rounding);
  tcase_add_test(bf16, test_bf16_round_trip);
  tcase_add_test(bf16, test_bf16_nearest);
  suite_add_tcase(suite, bf16);
  tcase_add_loop_test(rmsnorm, test_rmsnorm_bound, 0,
                      (int)G_N_ELEMENTS(norm_cases));
  tcase_add_test(rmsnorm, test_rmsnorm_residual);
  tcase_add_test(rmsnorm, test_rmsnorm_by_hand);
  tcase_add_test(rmsnorm, test_rmsnorm_faults);
  tcase_add_test(rmsnorm, test_rmsnorm_shapes);
  tcase_add_test(rmsnorm, test_rmsnorm_threads);
  suite_add_tcase(suite, rmsnorm);
  return suite;
}

RA_CHECK_MAIN(kernels_suite)
