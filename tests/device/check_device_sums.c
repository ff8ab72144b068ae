/* More CUDA kernels, tested as in tests/device/check_device.c: norms without a
 * residual, sums over ranks, rows and columns, the test for non-finite numbers.
 */
#include "config.h"

#include "kernels/pointwise.h"
#include "kernels/rmsnorm.h"
#include "kernels/sums.h"
#include "tests/device/device_array.h"

#define U 0x1p-24 /* fp32 */
#define UB 0x1p-8 /* bf16 */

/* Without a residual: what is normed stays as it is, and a gradient in place is
 * that beside a residual's gradient of 0. */
START_TEST(test_rmsnorm_alone)
{
  enum { N = 264, ROWS = 5 };
  RaRng rng = ra_rng_init(12, 0);
  uint16_t *x = device_bf16(&rng, ROWS * N, 2), *w = device_bf16(&rng, N, 1);
  uint16_t *zero = device_new(ROWS * N * 2),
           *d = device_bf16(&rng, ROWS * N, 1);
  uint16_t *before = device_copy(x, ROWS * N * 2), *wanted;
  uint16_t *out = device_poisoned(ROWS * N * 2);
  uint16_t *out_ref = device_poisoned(ROWS * N * 2);
  float *d_w[2] = {device_new(N * 4), device_new(N * 4)};
  float *workspace = device_poisoned(RA_K_RMSNORM_BLOCKS * N * sizeof(float));

  memset(zero, 0, ROWS * N * 2);
  memset(d_w[0], 0, N * 4);
  memset(d_w[1], 0, N * 4);
  wanted = device_copy(zero, ROWS * N * 2);
  ck_assert_int_eq(
      device_done(ra_k_rmsnorm(out, x, NULL, w, ROWS, N, 1e-5f, NULL)), 0);
  ck_assert_mem_eq(x, before, ROWS * N * 2);
  ck_assert_int_eq(
      device_done(ra_k_rmsnorm_ref(out_ref, x, zero, w, ROWS, N, 1e-5f)), 0);
  ck_assert_mem_eq(out, out_ref, ROWS * N * 2);
  ck_assert_int_eq(
      device_done(ra_k_rmsnorm_backward(wanted, x, d, w, d_w[0], workspace,
                                        ROWS, N, 1e-5f, NULL)),
      0);
  ck_assert_int_eq(device_done(ra_k_rmsnorm_backward_alone(
                       d, x, d, w, d_w[1], workspace, ROWS, N, 1e-5f, NULL)),
                   0);
  ck_assert_mem_eq(d, wanted, ROWS * N * 2);
  ck_assert_mem_eq(d_w[0], d_w[1], N * 4);
  device_free(x);
  device_free(w);
  device_free(zero);
  device_free(d);
  device_free(before);
  device_free(wanted);
  device_free(out);
  device_free(out_ref);
  device_free(d_w[0]);
  device_free(d_w[1]);
  device_free(workspace);
}
END_TEST

/* Three ranks, of which the sum goes to two, in place; bf16 and fp32. */
START_TEST(test_reduce)
{
  enum { N = 700 };
  RaRng rng = ra_rng_init(13, (uint64_t)_i);
  int f32 = _i == 1;
  RaKRanks ranks = {.n_in = 3, .n_out = 2};
  double *sum = g_new0(double, N), *size = g_new0(double, N);

  for (int r = 0; r < 3; r++) {
    float *x = device_f32(&rng, N, -1, 1);
    uint16_t *narrow = device_poisoned(N * 2);

    for (gsize i = 0; i < N; i++) {
      double value = (double)x[i];

      narrow[i] = ra_bf16_from_f32(x[i]);
      value = f32 ? value : device_at(narrow, i);
      sum[i] += value;
      size[i] += fabs(value);
    }
    ranks.in[r] = f32 ? (void *)x : (void *)narrow;
    device_free(f32 ? (void *)narrow : (void *)x);
  }
  ranks.out[0] = (void *)(gsize)ranks.in[0];
  ranks.out[1] = (void *)(gsize)ranks.in[2];
  ck_assert_int_eq(device_done(ra_k_reduce(&ranks, N, f32, 0, NULL)), 0);
  for (int r = 0; r < 2; r++)
    for (gsize i = 0; i < N; i++) {
      double got =
          f32 ? (double)((float *)ranks.out[r])[i] : device_at(ranks.out[r], i);

      device_assert_near(got, sum[i],
                         3 * U * size[i] + (f32 ? 0 : UB * fabs(sum[i])), "sum",
                         i);
    }
  for (int r = 0; r < 3; r++)
    device_free((void *)(gsize)ranks.in[r]);
  ranks.n_in = 0;
  ck_assert_int_eq(device_done(ra_k_reduce(&ranks, N, f32, 0, NULL)), 1);
  g_free(sum);
  g_free(size);
}
END_TEST

/* A bias to rows and its gradient, the columns' sums; and the fault, a number
 * that is none, where it is looked for. */
START_TEST(test_bias)
{
  enum { ROWS = 9, N = 300 };
  RaRng rng = ra_rng_init(14, 0);
  uint16_t *y = device_bf16(&rng, ROWS * N, 1), *b = device_bf16(&rng, N, 1);
  uint16_t *in = device_copy(y, ROWS * N * 2);
  float *sum = device_f32(&rng, N, -1, 1);
  float *first = device_copy(sum, N * 4);
  uint32_t *flag = device_new(4);

  *flag = 0;
  ck_assert_int_eq(device_done(ra_k_add_columns(ROWS, N, y, sum, NULL)), 0);
  ck_assert_int_eq(device_done(ra_k_add_bias(ROWS, N, b, y, NULL)), 0);
  for (gsize i = 0; i < N; i++) {
    double exact = (double)first[i], size = fabs(exact);

    for (gsize row = 0; row < ROWS; row++) {
      double x = device_at(in, row * N + i), with = x + device_at(b, i);

      exact += x;
      size += fabs(x);
      device_assert_near(device_at(y, row * N + i), with,
                         UB * fabs(with) + 2 * U, "bias", i);
    }
    device_assert_near((double)sum[i], exact, (ROWS + 1) * U * size, "column",
                       i);
  }
  ck_assert_int_eq(device_done(ra_k_find_odd(ROWS * N, y, 0, 7, flag, NULL)),
                   0);
  ck_assert_uint_eq(*flag, 0);
  ck_assert_int_eq(device_done(ra_k_find_odd(N, sum, 1, 7, flag, NULL)), 0);
  ck_assert_uint_eq(*flag, 0);
  y[ROWS * N - 1] = 0x7f80; /* infinite */
  ck_assert_int_eq(device_done(ra_k_find_odd(ROWS * N, y, 0, 7, flag, NULL)),
                   0);
  ck_assert_uint_eq(*flag, 7);
  ck_assert_int_eq(device_done(ra_k_find_odd(ROWS * N, y, 0, 8, flag, NULL)),
                   0);
  ck_assert_uint_eq(*flag, 7); /* the first */
  device_free(y);
  device_free(b);
  device_free(in);
  device_free(sum);
  device_free(first);
  device_free(flag);
}
END_TEST

/* Columns of more rows than a thread loads together, 4 of 256 apart, and of a
 * last block that does not own 32: the sums in double, within (rows + 1) U of
 * the sizes.  The faults that this catches: a part that is added twice, or
 * never, of one row in a thousand or more; and a block that writes behind its
 * columns. */
START_TEST(test_columns)
{
  enum { ROWS = 1030, N = 72, BEHIND = 24 };
  RaRng rng = ra_rng_init(23, 0);
  uint16_t *x = device_bf16(&rng, ROWS * N, 1);
  float *sum = device_f32(&rng, N + BEHIND, -1, 1);
  float *first;

  for (gsize i = N; i < N + BEHIND; i++)
    sum[i] = -0.0f; /* to add a zero would show */
  first = device_copy(sum, (N + BEHIND) * 4);
  for (gsize i = 0; i < ROWS * N; i++)
    x[i] &= 0x7fff; /* positive, so that each counts */
  ck_assert_int_eq(device_done(ra_k_add_columns(ROWS, N, x, sum, NULL)), 0);
  for (gsize i = 0; i < N; i++) {
    double exact = (double)first[i], size = fabs(exact);

    for (gsize row = 0; row < ROWS; row++) {
      exact += device_at(x, row * N + i);
      size += device_at(x, row * N + i);
    }
    device_assert_near((double)sum[i], exact, (ROWS + 1) * U * size, "column",
                       i);
  }
  ck_assert_mem_eq(sum + N, first + N, BEHIND * 4);
  device_free(x);
  device_free(sum);
  device_free(first);
}
END_TEST

/* Three keys and values of rows that have a query before them, 40 apart, to
 * rows 6, 0 and 3 of 8; the others stay.  Strides and widths that are no
 * multiple of a vector are refused. */
START_TEST(test_cache_rows)
{
  enum { N = 3, WIDTH = 16, STRIDE = 40, ROWS = 8, AHEAD = 8 };
  static const uint32_t some[N] = {6, 0, 3};
  RaRng rng = ra_rng_init(21, 0);
  uint32_t *rows = device_copy(some, sizeof some);
  uint16_t *in = device_bf16(&rng, N * STRIDE, 1);
  uint16_t *k = device_bf16(&rng, ROWS * WIDTH, 1);
  uint16_t *v = device_bf16(&rng, ROWS * WIDTH, 1);
  uint16_t *want_k = device_copy(k, ROWS * WIDTH * 2);
  uint16_t *want_v = device_copy(v, ROWS * WIDTH * 2);

  for (gsize i = 0; i < N; i++) {
    memcpy(want_k + some[i] * WIDTH, in + i * STRIDE + AHEAD, WIDTH * 2);
    memcpy(want_v + some[i] * WIDTH, in + i * STRIDE + AHEAD + WIDTH,
           WIDTH * 2);
  }
  ck_assert_int_eq(device_done(ra_k_cache_rows(N, WIDTH, rows, in + AHEAD,
                                               STRIDE, k, v, NULL)),
                   0);
  ck_assert_mem_eq(k, want_k, ROWS * WIDTH * 2);
  ck_assert_mem_eq(v, want_v, ROWS * WIDTH * 2);
  ck_assert_mem_ne(k, v, ROWS * WIDTH * 2);
  ck_assert_int_eq(ra_k_cache_rows(N, 12, rows, in, STRIDE, k, v, NULL), 1);
  ck_assert_int_eq(ra_k_cache_rows(N, WIDTH, rows, in, 36, k, v, NULL), 1);
  ck_assert_int_eq(ra_k_cache_rows(N, WIDTH, rows, in + 4, STRIDE, k, v, NULL),
                   1);
  ck_assert_int_eq(ra_k_cache_rows(0, WIDTH, rows, in, STRIDE, k, v, NULL), 0);
  device_free(rows);
  device_free(in);
  device_free(k);
  device_free(v);
  device_free(want_k);
  device_free(want_v);
}
END_TEST

static Suite *
device_sums_suite(void)
{
  Suite *suite = suite_create("device_sums");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_rmsnorm_alone);
  tcase_add_loop_test(tcase, test_reduce, 0, 2);
  tcase_add_test(tcase, test_bias);
  tcase_add_test(tcase, test_columns);
  tcase_add_test(tcase, test_cache_rows);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_sums_suite)
