/* CUDA kernels of models with LayerNorm and MLPs without a gate, against their
 * formulas in double on the same inputs, within the bounds of their headers.
 */
#include "config.h"

#include "kernels/layernorm.h"
#include "kernels/pointwise.h"
#include "tests/device/device_array.h"

#define U 0x1p-24 /* fp32 */
#define UB 0x1p-8 /* bf16 */

/* Mean and 1 / deviation of (n) at @x, and of |x| the mean. */
static void
stats_of(const uint16_t *x, gsize n, double *mean, double *inv, double *size)
{
  double sum = 0, sizes = 0, squares = 0;

  for (gsize i = 0; i < n; i++) {
    sum += device_at(x, i);
    sizes += fabs(device_at(x, i));
  }
  *mean = sum / (double)n;
  *size = sizes / (double)n;
  for (gsize i = 0; i < n; i++)
    squares += pow(device_at(x, i) - *mean, 2);
  *inv = 1 / sqrt(squares / (double)n + (double)1e-5f);
}

/* Rows far from zero (@shift), where a variance of squares less the square of
 * the mean would have nothing left: 100^2 = 10^4 against 1 / 3 in fp32 leaves
 * 2^-24 10^4 / (1 / 3) = 0.2 % of it, above the bound's 2^-8 of values up to 2
 * in some element.  Ragged blocks and all three variants. */
START_TEST(test_forward)
{
  static const gsize widths[] = {8, 264, 896, 8200, 16392};
  gsize n = widths[_i], n_rows = 3;
  gboolean adds = _i % 2 == 0;
  RaRng rng = ra_rng_init(31, (uint64_t)_i);
  uint16_t *x = device_bf16(&rng, n_rows * n, 1), *w = device_bf16(&rng, n, 2);
  uint16_t *r = device_bf16(&rng, n_rows * n, 1), *b = device_bf16(&rng, n, 2);
  uint16_t *out = device_poisoned(n_rows * n * 2);
  uint16_t *r_in = device_poisoned(n_rows * n * 2);
  float *stats = device_poisoned(n_rows * 2 * sizeof *stats);

  for (gsize i = n; i < 2 * n; i++) /* the second row */
    r[i] = ra_bf16_from_f32(ra_bf16_to_f32(r[i]) + 100);
  memcpy(r_in, r, n_rows * n * 2);
  device_seed((uint64_t)_i);
  ck_assert_int_eq(
      device_done(ra_k_layernorm(out, r, adds ? x : NULL, w, adds ? b : NULL,
                                 stats, n_rows, n, 1e-5f, NULL)),
      0);
  for (gsize row = 0; row < n_rows; row++) {
    double mean, inv, size, t;

    for (gsize i = row * n; i < row * n + n; i++) {
      float sum = ra_bf16_to_f32(r_in[i]);

      if (adds)
        sum += ra_bf16_to_f32(x[i]);
      ck_assert_uint_eq(r[i], ra_bf16_from_f32(sum));
    }
    stats_of(r + row * n, n, &mean, &inv, &size);
    t = 44 * U * size * inv;
    device_assert_near((double)stats[2 * row], mean, 44 * U * size, "mean",
                       row);
    device_assert_near((double)stats[2 * row + 1], inv,
                       (t * t / 2 + 26 * U) * inv, "inv", row);
    for (gsize i = 0; i < n; i++) {
      double y = (device_at(r, row * n + i) - mean) * inv;
      double wi = device_at(w, i), bi = adds ? device_at(b, i) : 0;
      double exact = y * wi + bi;

      device_assert_near(device_at(out, row * n + i), exact,
                         UB * fabs(exact) +
                             fabs(wi) * (t + (t * t + 32 * U) * fabs(y)) +
                             4 * U * fabs(bi) + 0x1p-133,
                         "out", row * n + i);
    }
  }
  ck_assert_int_eq(
      device_done(ra_k_layernorm(out, r, x, w, b + 1, NULL, 1, 8, 1e-5f, NULL)),
      1);
  device_free(x);
  device_free(r);
  device_free(r_in);
  device_free(w);
  device_free(b);
  device_free(out);
  device_free(stats);
}
END_TEST

/* Arrays of a gradient. */
typedef struct {
  gsize n, n_rows;
  gboolean adds, biased;
  uint16_t *r, *w, *d_out, *d, *d_in; /* bf16, d_in: d before */
  float *stats, *d_w, *d_b, *room;
  double *sum, *sizes; /* (2 n) of dw and of db, and of |terms| */
} Backward;

static Backward
backward_new(int variant)
{
  Backward b = {.n = variant == 0 ? 264 : 8200,
                .n_rows = variant == 0 ? 300 : 2,
                .adds = variant == 0,
                .biased = variant == 0};
  RaRng rng = ra_rng_init(32, (uint64_t)variant);
  gsize n = b.n, all = b.n_rows * n;

  b.r = device_bf16(&rng, all, 2);
  b.w = device_bf16(&rng, n, 1);
  b.d_out = device_bf16(&rng, all, 1);
  b.d = device_bf16(&rng, all, 1);
  b.d_in = device_copy(b.d, all * 2);
  b.stats = device_poisoned(b.n_rows * 2 * sizeof *b.stats);
  b.d_w = device_f32(&rng, n, -1, 1);
  b.d_b = device_f32(&rng, n, -1, 1);
  b.room = device_poisoned(RA_K_LAYERNORM_BLOCKS * 2 * n * sizeof *b.room);
  b.sum = g_new(double, 2 * n);
  b.sizes = g_new0(double, 2 * n);
  for (gsize i = 0; i < n; i++) {
    b.sum[i] = (double)b.d_w[i];
    b.sum[n + i] = (double)b.d_b[i];
  }
  for (gsize row = 0; row < b.n_rows; row++) {
    double mean, inv, size;

    stats_of(b.r + row * n, n, &mean, &inv, &size);
    b.stats[2 * row] = (float)mean;
    b.stats[2 * row + 1] = (float)inv;
  }
  return b;
}

static void
backward_clear(Backward *b)
{
  void *arrays[] = {b->r,     b->w,   b->d_out, b->d,   b->d_in,
                    b->stats, b->d_w, b->d_b,   b->room};

  for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++)
    device_free(arrays[i]);
  g_free(b->sum);
  g_free(b->sizes);
}

/* The row's d against the formula, and what it adds to the sums. */
static void
check_row(const Backward *b, gsize row)
{
  gsize n = b->n, first = row * n;
  double m = (double)b->stats[2 * row], inv = (double)b->stats[2 * row + 1];
  double g_sum = 0, g_size = 0, dot = 0, dot_size = 0;

  for (gsize i = 0; i < n; i++) {
    double y = (device_at(b->r, first + i) - m) * inv;
    double g = device_at(b->d_out, first + i) * device_at(b->w, i);

    g_sum += g / (double)n;
    g_size += fabs(g) / (double)n;
    dot += g * y / (double)n;
    dot_size += fabs(g * y) / (double)n;
  }
  for (gsize i = 0; i < n; i++) {
    double y = (device_at(b->r, first + i) - m) * inv;
    double dy = device_at(b->d_out, first + i), g = dy * device_at(b->w, i);
    double down = b->adds ? device_at(b->d_in, first + i) : 0;
    double exact = down + inv * (g - g_sum - y * dot);
    double bound = fabs(down) + inv * (fabs(g) + g_size + fabs(y) * dot_size);

    device_assert_near(device_at(b->d, first + i), exact,
                       UB * fabs(exact) + 0x1p-17 * bound + 0x1p-133, "d",
                       first + i);
    b->sum[i] += dy * y;
    b->sizes[i] += fabs(dy * y);
    b->sum[n + i] += b->biased ? dy : 0;
    b->sizes[n + i] += b->biased ? fabs(dy) : 0;
  }
}

/* 300 rows: more than the 264 groups, so that some have two. */
START_TEST(test_backward)
{
  Backward b = backward_new(_i);
  double u = ((double)b.n_rows + 64) * U;

  device_seed((uint64_t)_i);
  ck_assert_int_eq(device_done(ra_k_layernorm_backward(
                       b.d, b.adds, b.r, b.stats, b.d_out, b.w, b.d_w,
                       b.biased ? b.d_b : NULL, b.room, b.n_rows, b.n, NULL)),
                   0);
  for (gsize row = 0; row < b.n_rows; row++)
    check_row(&b, row);
  for (gsize i = 0; i < b.n; i++) {
    device_assert_near((double)b.d_w[i], b.sum[i], u * (b.sizes[i] + 1), "dw",
                       i);
    device_assert_near((double)b.d_b[i], b.sum[b.n + i],
                       u * (b.sizes[b.n + i] + 1), "db", i);
  }
  backward_clear(&b);
}
END_TEST

/* y and its slope in double, by libm's erf and tanh. */
static double
exact_of(RaActivation kind, double x, double *slope)
{
  double z, t;

  switch (kind) {
  case RA_ACTIVATION_GELU:
    *slope =
        (1 + erf(x * G_SQRT2 / 2)) / 2 + x * exp(-x * x / 2) / sqrt(2 * G_PI);
    return x * (1 + erf(x * G_SQRT2 / 2)) / 2;
  case RA_ACTIVATION_RELU2:
    *slope = 2 * fmax(x, 0);
    return fmax(x, 0) * fmax(x, 0);
  default:
    z = sqrt(2 / G_PI) * (x + 0.044715 * x * x * x);
    t = tanh(z);
    *slope = (1 + t) / 2 +
             x * (1 - t * t) / 2 * sqrt(2 / G_PI) * (1 + 3 * 0.044715 * x * x);
    return x * (1 + t) / 2;
  }
}

/* Values on both sides of where each saturates; in place backward, once over x
 * and once over d_out.  The two GELUs differ by up to 5e-4, more than their
 * bounds: one for the other is seen, which is this oracle's fault. */
START_TEST(test_activation)
{
  enum { N = 8 * 300 };
  RaActivation kind = (RaActivation)(_i + 1);
  RaRng rng = ra_rng_init(33, (uint64_t)_i);
  uint16_t *x = device_bf16(&rng, N, 9), *d_out = device_bf16(&rng, N, 1);
  uint16_t *out = device_poisoned(N * 2), *d_x = device_copy(x, N * 2);
  uint16_t *again = device_copy(d_out, N * 2);
  gsize n_other = 0;

  device_seed((uint64_t)_i);
  ck_assert_int_eq(device_done(ra_k_activate(kind, N, x, out, NULL)), 0);
  ck_assert_int_eq(
      device_done(ra_k_activate_backward(kind, N, d_x, d_out, d_x, NULL)), 0);
  ck_assert_int_eq(
      device_done(ra_k_activate_backward(kind, N, x, again, again, NULL)), 0);
  for (gsize i = 0; i < N; i++) {
    double slope, at = device_at(x, i), d = device_at(d_out, i);
    double exact = exact_of(kind, at, &slope), bound;

    bound = UB * fabs(exact) + 16 * U * fabs(at) + 0x1p-133;
    device_assert_near(device_at(out, i), exact, bound, "out", i);
    device_assert_near(device_at(d_x, i), d * slope,
                       UB * fabs(d * slope) +
                           64 * U * fabs(d) * fmax(1, fabs(slope)) + 0x1p-133,
                       "d", i);
    ck_assert_uint_eq(again[i], d_x[i]);
    exact = exact_of(kind == RA_ACTIVATION_GELU ? RA_ACTIVATION_GELU_TANH
                                                : RA_ACTIVATION_GELU,
                     at, &slope);
    n_other += fabs(device_at(out, i) - exact) > bound;
  }
  ck_assert_uint_gt(n_other, 0);
  ck_assert_int_eq(device_done(ra_k_activate(kind, 12, x, out, NULL)), 1);
  ck_assert_int_eq(
      device_done(ra_k_activate(RA_ACTIVATION_FAMILY, 8, x, out, NULL)), 1);
  device_free(x);
  device_free(d_out);
  device_free(out);
  device_free(d_x);
  device_free(again);
}
END_TEST

static Suite *
device_classic_suite(void)
{
  Suite *suite = suite_create("device_classic");
  TCase *tcase = tcase_create("classic");

  tcase_add_loop_test(tcase, test_forward, 0, 5);
  tcase_add_loop_test(tcase, test_backward, 0, 2);
  tcase_add_loop_test(tcase, test_activation, 0, 3);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_classic_suite)
