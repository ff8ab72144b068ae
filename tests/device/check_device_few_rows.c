/* GEMMs of few rows, run thread by thread on the CPU (tests/emulator) or on a
 * device, against the sums in double on the same inputs, within the bound of
 * kernels/few_rows.h.
 */
#include "config.h"

#include "kernels/few_rows.h"
#include "tests/device/device_array.h"

enum { BEHIND = 8 }; /* elements behind a row, which are not its own */

/* Blocks of 16, 32 and 64 columns, whole and not; sums that fill no chunk of
 * a warp, some and more than all; rows that no lane, half and all of them
 * have. */
static const struct {
  gsize m, n, k;
  unsigned n_processors;
  gboolean f32, adds, bias;
} cases[] = {
    {16, 48, 1024, 132, FALSE, FALSE, FALSE},
    {1, 8, 8, 132, FALSE, FALSE, TRUE},
    {7, 50, 264, 132, TRUE, FALSE, FALSE},
    {9, 100, 2056, 1, FALSE, TRUE, FALSE},
    {16, 300, 72, 1, TRUE, TRUE, TRUE},
    {16, 260, 40, 1, FALSE, FALSE, FALSE},
    {0, 64, 64, 1, FALSE, FALSE, FALSE},
};

START_TEST(test_few_rows)
{
  RaKFewRows s = {.m = cases[_i].m,
                  .n = cases[_i].n,
                  .k = cases[_i].k,
                  .stride_x = cases[_i].k + BEHIND,
                  .stride_weight = cases[_i].k + 2 * BEHIND,
                  .stride_y = cases[_i].n + BEHIND,
                  .f32 = cases[_i].f32,
                  .adds = cases[_i].adds,
                  .n_processors = cases[_i].n_processors};
  RaRng rng = ra_rng_init(31, (uint64_t)_i);
  uint16_t *x = device_bf16(&rng, (s.m + 1) * s.stride_x, 1);
  uint16_t *weight = device_bf16(&rng, s.n * s.stride_weight, 1);
  uint16_t *bias = device_bf16(&rng, s.n, 4);
  gsize n_y = s.m * s.stride_y;
  uint16_t *narrow = device_bf16(&rng, n_y + 1, 4);
  float *wide = device_f32(&rng, n_y + 1, -4, 4);
  g_autofree double *before = g_new(double, n_y + 1);
  void *y = s.f32 ? (void *)wide : narrow;

  for (gsize i = 0; i < n_y; i++)
    before[i] = s.f32 ? (double)wide[i] : device_at(narrow, i);
  device_seed((uint64_t)_i);
  ck_assert_int_eq(device_done(ra_k_few_rows(
                       &s, x, weight, cases[_i].bias ? bias : NULL, y, NULL)),
                   0);
  for (gsize i = 0; i < n_y; i++) {
    gsize row = i / s.stride_y, column = i % s.stride_y;
    double got = s.f32 ? (double)wide[i] : device_at(narrow, i);
    double wanted = 0, size = 0;

    if (column >= s.n) {
      ck_assert_double_eq(got, before[i]);
      continue;
    }
    for (gsize t = 0; t < s.k; t++) {
      double term = device_at(x, row * s.stride_x + t) *
                    device_at(weight, column * s.stride_weight + t);

      wanted += term;
      size += fabs(term);
    }
    if (cases[_i].bias)
      wanted += device_at(bias, column), size += fabs(device_at(bias, column));
    if (s.adds)
      wanted += before[i], size += fabs(before[i]);
    device_assert_near(got, wanted,
                       (double)s.k * 0x1p-22 * size +
                           (s.f32 ? 0 : 0x1p-8 * fabs(wanted)),
                       "y", i);
  }
  device_free(x);
  device_free(weight);
  device_free(bias);
  device_free(narrow);
  device_free(wide);
}
END_TEST

/* It refuses 17 rows, terms or strides that are no multiple of 8,
 * rows that overlap, weights that are not aligned. */
START_TEST(test_refused)
{
  const RaKFewRows whole = {2, 16, 16, 16, 16, 16, FALSE, FALSE, 1};
  RaKFewRows s[5] = {whole, whole, whole, whole, whole};
  RaRng rng = ra_rng_init(1, 1);
  uint16_t *x = device_bf16(&rng, 1024, 1), *y = device_bf16(&rng, 1024, 1);

  s[0].m = RA_K_FEW_ROWS + 1;
  s[1].k = 12;
  s[2].stride_x = 20;
  s[3].stride_weight = 8;
  s[4].stride_y = 8;
  ck_assert(ra_k_few_rows_ok(&whole));
  for (int i = 0; i < 5; i++) {
    ck_assert(!ra_k_few_rows_ok(&s[i]));
    ck_assert_int_eq(device_done(ra_k_few_rows(&s[i], x, x, NULL, y, NULL)), 1);
  }
  ck_assert_int_eq(device_done(ra_k_few_rows(&whole, x, x + 1, NULL, y, NULL)),
                   1);
  device_free(x);
  device_free(y);
}
END_TEST

static Suite *
few_rows_suite(void)
{
  Suite *suite = suite_create("few_rows");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_few_rows, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_refused);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(few_rows_suite)
