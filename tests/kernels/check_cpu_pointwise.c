#include "config.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_experts.h"
#include "kernels/cpu/cpu_gemm.h"
#include "kernels/cpu/cpu_norm.h"
#include "kernels/cpu/cpu_pointwise.h"
#include "tests/support/check_main.h"
#include "tests/support/cpu_random.h"

#define N_ROWS 5
#define WIDTH 37 /* no multiple of a vector */

/* Against libm's double exp, on every 1,009th fp32 of [-87, 88] (1,009 is
 * prime, so that all low bits come): the header's 2^-22. */
START_TEST(test_exp)
{
  double worst = 0;

  for (int sign = 0; sign < 2; sign++)
    for (uint32_t bits = 0;; bits += 1009) {
      uint32_t with_sign = bits | (sign ? 0x80000000u : 0);
      float x;
      double exact;

      memcpy(&x, &with_sign, sizeof x);
      if (x > 88 || x < -87)
        break;
      exact = exp((double)x);
      worst = fmax(worst, fabs((double)ra_cpu_exp(x) - exact) / exact);
    }
  ck_assert_msg(worst < 0x1p-22, "error %g", worst);
  /* Bounds that the header states: no infinity, no subnormal. */
  ck_assert(ra_cpu_exp(-88.0f) <= 0.0f);
  ck_assert(ra_cpu_exp(-INFINITY) <= 0.0f);
  ck_assert(isfinite(ra_cpu_exp(1000.0f)));
  ck_assert(isnan(ra_cpu_exp((float)NAN)));
}
END_TEST

/* The formula of the header in double, within its bound (n / 2 + 5) u; with
 * @fault the reference forgets eps, which for rows of 0.01 must show. */
static gsize
norm_n_bad(double scale, gboolean fault)
{
  g_autofree float *x = cpu_random(1, N_ROWS * WIDTH, scale);
  g_autofree float *w = cpu_random(2, WIDTH, 2);
  float out[N_ROWS * WIDTH], inv[N_ROWS];
  gsize n_bad = 0;

  ra_cpu_norm(N_ROWS, WIDTH, 1e-5f, x, w, out, inv);
  for (gsize row = 0; row < N_ROWS; row++) {
    double sum = 0;

    for (gsize i = 0; i < WIDTH; i++)
      sum += pow((double)x[row * WIDTH + i], 2);
    for (gsize i = 0; i < WIDTH; i++) {
      gsize at = row * WIDTH + i;
      double exact = (double)x[at] * (double)w[i] /
                     sqrt(sum / WIDTH + (fault ? 0 : (double)1e-5f));

      n_bad += fabs((double)out[at] - exact) >
               (WIDTH / 2.0 + 5) * RA_CPU_U * fabs(exact);
    }
  }
  return n_bad;
}

START_TEST(test_norm)
{
  ck_assert_uint_eq(norm_n_bad(1, FALSE), 0);
  ck_assert_uint_eq(norm_n_bad(0.01, FALSE), 0);
  ck_assert_uint_gt(norm_n_bad(0.01, TRUE), 0);
}
END_TEST

/* sum dy y of the norm in double, for difference quotients. */
static double
norm_value(const double *x, const double *w, const float *dy)
{
  double value = 0;

  for (gsize row = 0; row < N_ROWS; row++) {
    double sum = 0;

    for (gsize i = 0; i < WIDTH; i++)
      sum += x[row * WIDTH + i] * x[row * WIDTH + i];
    for (gsize i = 0; i < WIDTH; i++)
      value += (double)dy[row * WIDTH + i] * x[row * WIDTH + i] * w[i] /
               sqrt(sum / WIDTH + (double)1e-5f);
  }
  return value;
}

/* Gradients against central differences of the double formula: with h = 1e-4
 * their error is h^2 f''' / 6, some 1e-8, and fp32's is some 1e-6. */
START_TEST(test_norm_backward)
{
  g_autofree float *x = cpu_random(3, N_ROWS * WIDTH, 1);
  g_autofree float *w = cpu_random(4, WIDTH, 2);
  g_autofree float *dy = cpu_random(5, N_ROWS * WIDTH, 1);
  float out[N_ROWS * WIDTH], inv[N_ROWS];
  float d_x[N_ROWS * WIDTH] = {0}, d_w[WIDTH] = {0};
  double xd[N_ROWS * WIDTH], wd[WIDTH], h = 1e-4;

  for (gsize i = 0; i < N_ROWS * WIDTH; i++)
    xd[i] = (double)x[i];
  for (gsize i = 0; i < WIDTH; i++)
    wd[i] = (double)w[i];
  ra_cpu_norm(N_ROWS, WIDTH, 1e-5f, x, w, out, inv);
  ra_cpu_norm_backward(N_ROWS, WIDTH, x, w, inv, dy, d_x, d_w);
  for (gsize i = 0; i < N_ROWS * WIDTH + WIDTH; i++) {
    gboolean is_x = i < N_ROWS * WIDTH;
    double *at = is_x ? &xd[i] : &wd[i - N_ROWS * WIDTH], old = *at, up, down;

    *at = old + h;
    up = norm_value(xd, wd, dy);
    *at = old - h;
    down = norm_value(xd, wd, dy);
    *at = old;
    ck_assert_double_eq_tol((double)(is_x ? d_x[i] : d_w[i - N_ROWS * WIDTH]),
                            (up - down) / (2 * h), 1e-5);
  }
}
END_TEST

/* sum dy y of LayerNorm in double; @out (nullable): y. */
static double
layer_norm_value(const double *x, const double *w, const double *b,
                 const float *dy, double *out)
{
  double value = 0;

  for (gsize row = 0; row < N_ROWS; row++) {
    const double *in = x + row * WIDTH;
    double mean = 0, squares = 0;

    for (gsize i = 0; i < WIDTH; i++)
      mean += in[i] / WIDTH;
    for (gsize i = 0; i < WIDTH; i++)
      squares += (in[i] - mean) * (in[i] - mean);
    for (gsize i = 0; i < WIDTH; i++) {
      double y = (in[i] - mean) / sqrt(squares / WIDTH + (double)1e-5f);

      value += (double)dy[row * WIDTH + i] * (y * w[i] + b[i]);
      if (out)
        out[row * WIDTH + i] = y * w[i] + b[i];
    }
  }
  return value;
}

/* Forward within its bound on rows that are 30 from zero, and the gradients of
 * x, w and b against central differences as above, in place. */
START_TEST(test_layer_norm)
{
  enum { N = N_ROWS * WIDTH };
  g_autofree float *x = cpu_random(33, N, 1), *w = cpu_random(34, WIDTH, 2);
  g_autofree float *b = cpu_random(35, WIDTH, 1), *dy = cpu_random(36, N, 1);
  float out[N], stats[2 * N_ROWS], d_x[N], d_w[WIDTH] = {0}, d_b[WIDTH] = {0};
  double all[N + 2 * WIDTH], *xd = all, *wd = all + N, *bd = wd + WIDTH;
  double exact[N], h = 1e-4;

  for (gsize i = 0; i < N; i++) {
    x[i] += _i == 0 ? 0 : 30;
    xd[i] = (double)x[i];
  }
  for (gsize i = 0; i < WIDTH; i++) {
    wd[i] = (double)w[i];
    bd[i] = (double)b[i];
  }
  ra_cpu_layer_norm(N_ROWS, WIDTH, 1e-5f, x, w, b, out, stats);
  layer_norm_value(xd, wd, bd, dy, exact);
  for (gsize i = 0; i < N; i++) {
    double y = exact[i] - bd[i % WIDTH], inv = (double)stats[i / WIDTH * 2 + 1];
    double bound = (WIDTH / 2.0 + 7) * fabs(y) + fabs(bd[i % WIDTH]) +
                   2.0 * (WIDTH + 1) * 31 * inv * fabs(wd[i % WIDTH]);

    ck_assert_double_le(fabs((double)out[i] - exact[i]), bound * RA_CPU_U);
  }
  memcpy(d_x, dy, sizeof d_x);
  ra_cpu_layer_norm_backward(N_ROWS, WIDTH, x, w, stats, d_x, d_x, d_w, d_b);
  for (gsize i = 0; i < N + 2 * WIDTH; i++) {
    double got = (double)(i < N           ? d_x[i]
                          : i < N + WIDTH ? d_w[i - N]
                                          : d_b[i - N - WIDTH]);
    double old = all[i], up, down;

    all[i] = old + h;
    up = layer_norm_value(xd, wd, bd, dy, NULL);
    all[i] = old - h;
    down = layer_norm_value(xd, wd, bd, dy, NULL);
    all[i] = old;
    ck_assert_double_eq_tol(got, (up - down) / (2 * h), _i == 0 ? 1e-5 : 1e-4);
  }
}
END_TEST

/* Formulas of the header in double by tanh and erf, within its bounds; and that
 * one GELU is not the other. */
START_TEST(test_activation)
{
  enum { N = 4001 };
  RaActivation kind = (RaActivation)(_i + 1);
  static float x[N], d[N], y[N];
  double most = 0;

  for (gsize i = 0; i < N; i++) {
    x[i] = ((float)i - N / 2) * 0.005f;
    d[i] = 1;
  }
  ra_cpu_activation(kind, N, x, y);
  ra_cpu_activation_backward(kind, N, x, d, d);
  for (gsize i = 0; i < N; i++) {
    double at = (double)x[i], c = sqrt(2 / G_PI), a = 0.044715;
    double t = tanh(c * (at + a * at * at * at));
    double phi = (1 + erf(at * G_SQRT2 / 2)) / 2;
    double gelu = at * phi, tanh_gelu = at * (1 + t) / 2, exact, slope;

    exact = kind == RA_ACTIVATION_GELU        ? gelu
            : kind == RA_ACTIVATION_GELU_TANH ? tanh_gelu
                                              : fmax(at, 0) * fmax(at, 0);
    slope = kind == RA_ACTIVATION_GELU
                ? phi + at * exp(-at * at / 2) / sqrt(2 * G_PI)
            : kind == RA_ACTIVATION_GELU_TANH
                ? (1 + t) / 2 + at * (1 - t * t) / 2 * c * (1 + 3 * a * at * at)
                : 2 * fmax(at, 0);
    ck_assert_double_le(fabs((double)y[i] - exact),
                        16 * RA_CPU_U * fmax(fabs(at), exact));
    ck_assert_double_le(fabs((double)d[i] - slope), 64 * RA_CPU_U);
    most = fmax(most, fabs(gelu - tanh_gelu));
  }
  ck_assert_double_gt(most, 1e-4);
}
END_TEST

/* head_dim 4, theta 100: frequencies 1 and 100^(-1/2) = 0.1.  At position 2
 * elements 0 and 2 turn by 2, elements 1 and 3 by 0.2. */
START_TEST(test_rope)
{
  float table[3 * 4], x[4] = {1, 2, 3, 4};
  uint32_t position = 2;

  ra_cpu_rope_table(3, 4, &(RaCpuRope){.theta = 100}, table);
  ra_cpu_rope(1, 1, 4, &position, table, 1, x, 4);
  ck_assert_double_eq_tol((double)x[0], cos(2.0) - 3 * sin(2.0), 1e-6);
  ck_assert_double_eq_tol((double)x[1], 2 * cos(0.2) - 4 * sin(0.2), 1e-6);
  ck_assert_double_eq_tol((double)x[2], 3 * cos(2.0) + sin(2.0), 1e-6);
  ck_assert_double_eq_tol((double)x[3], 4 * cos(0.2) + 2 * sin(0.2), 1e-6);
  /* A turn is undone by the turn back. */
  ra_cpu_rope(1, 1, 4, &position, table, -1, x, 4);
  for (int i = 0; i < 4; i++)
    ck_assert_double_eq_tol((double)x[i], i + 1.0, 1e-6);
}
END_TEST

/* The same frequencies: now elements 0 and 1 turn by 2, elements 2 and 3 by
 * 0.2; in the order of halves (the fault) element 0 would have 3 sin 2. */
START_TEST(test_rope_pairs)
{
  float table[3 * 4], x[4] = {1, 2, 3, 4};
  uint32_t position = 2;

  ra_cpu_rope_table(3, 4, &(RaCpuRope){.theta = 100}, table);
  ra_cpu_rope_pairs(1, 1, 4, &position, table, 1, x, 4);
  ck_assert_double_eq_tol((double)x[0], cos(2.0) - 2 * sin(2.0), 1e-6);
  ck_assert_double_eq_tol((double)x[1], 2 * cos(2.0) + sin(2.0), 1e-6);
  ck_assert_double_eq_tol((double)x[2], 3 * cos(0.2) - 4 * sin(0.2), 1e-6);
  ck_assert_double_eq_tol((double)x[3], 4 * cos(0.2) + 3 * sin(0.2), 1e-6);
  ra_cpu_rope_pairs(1, 1, 4, &position, table, -1, x, 4);
  for (int i = 0; i < 4; i++)
    ck_assert_double_eq_tol((double)x[i], i + 1.0, 1e-6);
}
END_TEST

/* Probabilities 0.35 and 0.05, 0.3 and 0.3: the first group has the largest,
 * the second the larger sum.  Weights are twice the chosen one's, 0.7 and 0.6;
 * the fault is the other rule's group. */
START_TEST(test_groups)
{
  RaCpuRouting routing = {.n_experts = 4,
                          .top_k = 1,
                          .raw = true,
                          .n_groups = 2,
                          .top_groups = 1,
                          .scale = 2};
  const float logits[] = {logf(0.35f), logf(0.05f), logf(0.3f), logf(0.3f)};

  for (int by_largest = 0; by_largest < 2; by_largest++) {
    float probs[4], gate;
    uint32_t choice;

    memcpy(probs, logits, sizeof probs);
    routing.by_largest = by_largest;
    ra_cpu_route(&routing, 1, probs, &choice, &gate);
    ck_assert_uint_eq(choice, by_largest ? 0 : 2);
    ck_assert_double_eq_tol((double)gate, by_largest ? 0.7 : 0.6, 1e-6);
  }
}
END_TEST

/* Plain frequencies 1 and 0.1 as above, scaled by 4.  Linear: 1/4 and 1/40.
 * llama3 of length 20 pi: 10 rounds and 1; the first is above 2.5, the second a
 * quarter of the way from 0.5 to 2.5: 0.1 (0.75 / 4 + 0.25) = 0.04375.  yarn of
 * length 2000 pi: pair i goes round 1000 / 10^i times, so 500 times would be
 * pair log10 2 and 10 times pair 2; rounded outwards 0 and 2, pair 1 half way:
 * 0.1 (0.5 / 4 + 0.5) = 0.0625; not rounded it keeps 1 / (2 - log10 2).  At
 * position 0 cosines are the amplitude. */
START_TEST(test_rope_scaled)
{
  const double pi = acos(-1);
  RaCpuRope rope = {.theta = 100, .kind = RA_CPU_ROPE_LINEAR, .factor = 4};
  double part = 1 / (2 - log10(2));
  float table[4];

  ck_assert_double_eq_tol(ra_cpu_rope_frequency(&rope, 4, 0), 0.25, 1e-15);
  ck_assert_double_eq_tol(ra_cpu_rope_frequency(&rope, 4, 1), 0.025, 1e-15);
  rope.kind = RA_CPU_ROPE_LLAMA3;
  rope.length = 20 * pi;
  rope.low = 0.5;
  rope.high = 2.5;
  ck_assert_double_eq_tol(ra_cpu_rope_frequency(&rope, 4, 0), 1, 1e-15);
  ck_assert_double_eq_tol(ra_cpu_rope_frequency(&rope, 4, 1), 0.04375, 1e-15);
  rope.kind = RA_CPU_ROPE_YARN;
  rope.length = 2000 * pi;
  rope.low = 10;
  rope.high = 500;
  ck_assert_double_eq_tol(ra_cpu_rope_frequency(&rope, 4, 0), 1, 1e-15);
  ck_assert_double_eq_tol(ra_cpu_rope_frequency(&rope, 4, 1), 0.0625, 1e-15);
  rope.exact_pairs = true;
  ck_assert_double_eq_tol(ra_cpu_rope_frequency(&rope, 4, 1),
                          0.1 * ((1 - part) / 4 + part), 1e-15);
  rope.amplitude = 2;
  ra_cpu_rope_table(1, 4, &rope, table);
  ck_assert(table[0] == 2 && table[1] == 2 && table[2] == 0 && table[3] == 0);
}
END_TEST

/* The header's formulas in double, and the gradient's by differences of them;
 * bounds 2^-21 of the value and, of gradients of size 4, 1e-5. */
START_TEST(test_swiglu)
{
  g_autofree float *gate_up = cpu_random(6, 2 * N_ROWS * WIDTH, 4);
  g_autofree float *dy = cpu_random(7, N_ROWS * WIDTH, 1);
  float out[N_ROWS * WIDTH], d[2 * N_ROWS * WIDTH];

  ra_cpu_swiglu(N_ROWS, WIDTH, gate_up, out);
  ra_cpu_swiglu_backward(N_ROWS, WIDTH, gate_up, dy, d);
  for (gsize row = 0; row < N_ROWS; row++)
    for (gsize i = 0; i < WIDTH; i++) {
      gsize at = 2 * row * WIDTH + i;
      double g = (double)gate_up[at], u = (double)gate_up[at + WIDTH];
      double silu = g / (1 + exp(-g)), h = 1e-4;
      double slope =
          ((g + h) / (1 + exp(-g - h)) - (g - h) / (1 + exp(-g + h))) / (2 * h);
      double weight = (double)dy[row * WIDTH + i];

      ck_assert_double_eq_tol((double)out[row * WIDTH + i], silu * u,
                              0x1p-21 * fabs(silu * u) + 1e-30);
      ck_assert_double_eq_tol((double)d[at], weight * u * slope, 1e-5);
      ck_assert_double_eq_tol((double)d[at + WIDTH], weight * silu, 1e-5);
    }
}
END_TEST

/* (u + 1) g / (1 + e^(-1.702 g)) of values within the bounds and beyond each,
 * in double, and central differences of it; 2^-20 of the value, as one
 * operation more than SwiGLU's is 4 u.  Beyond a bound nothing changes: the
 * gradient is 0, which one that does not look at the bound misses. */
static double
clamped_value(double gate, double up)
{
  double g = fmin(gate, 7), u = fmin(fmax(up, -7), 7);

  return (u + 1) * g / (1 + exp(-1.702 * g));
}

START_TEST(test_clamped_swiglu)
{
  static const float gates[] = {-20, -1, 0.5f, 3, 6.5f, 7.5f, 12};
  static const float ups[] = {-9, -6, -1, 0.25f, 4, 6.75f, 8};
  float out[7], d[14], gate_up[14], dy[7] = {1, 1, 1, 1, 1, 1, 1}, h = 1e-4f;

  for (int shift = 0; shift < 7; shift++) {
    for (int i = 0; i < 7; i++) {
      gate_up[i] = gates[i];
      gate_up[7 + i] = ups[(i + shift) % 7];
    }
    ra_cpu_clamped_swiglu(1, 7, gate_up, out);
    ra_cpu_clamped_swiglu_backward(1, 7, gate_up, dy, d);
    for (int i = 0; i < 7; i++) {
      double g = (double)gate_up[i], u = (double)gate_up[7 + i];
      double value = clamped_value(g, u), e = (double)h;

      ck_assert_double_eq_tol((double)out[i], value,
                              0x1p-20 * fabs(value) + 1e-12);
      ck_assert_double_eq_tol(
          (double)d[i],
          (clamped_value(g + e, u) - clamped_value(g - e, u)) / (2 * e), 1e-5);
      ck_assert_double_eq_tol(
          (double)d[7 + i],
          (clamped_value(g, u + e) - clamped_value(g, u - e)) / (2 * e), 1e-5);
    }
  }
}
END_TEST

/* A vocabulary of 6 on two ranks of 3: the sum of their parts is the table's
 * row, and the gradient of a token that comes twice is the sum of both. */
START_TEST(test_embedding)
{
  const uint32_t tokens[3] = {1, 5, 1};
  const float table[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const float d_out[6] = {1, 2, 3, 4, 5, 6};
  float low[6], high[6], d_table[6] = {0};

  ra_cpu_embedding(3, 2, 0, 3, tokens, table, low);
  ra_cpu_embedding(3, 2, 3, 3, tokens, table + 6, high);
  for (int t = 0; t < 3; t++)
    for (int i = 0; i < 2; i++)
      ck_assert_double_eq((double)(low[2 * t + i] + high[2 * t + i]),
                          (double)(table[2 * tokens[t] + (uint32_t)i]));
  ra_cpu_embedding_backward(3, 2, 0, 3, tokens, d_out, d_table);
  ck_assert_double_eq((double)(d_table[2]), (double)(1 + 5));
  ck_assert_double_eq((double)(d_table[3]), (double)(2 + 6));
  ck_assert_double_eq(
      (double)(d_table[0] + d_table[1] + d_table[4] + d_table[5]), (double)(0));
}
END_TEST

/* (1 2; 3 4) (5 6; 7 8) = (19 22; 43 50); transposed operands give the same
 * from (1 3; 2 4) and (5 7; 6 8); beta 1 adds what was there. */
START_TEST(test_gemm)
{
  const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  const float at[4] = {1, 3, 2, 4}, bt[4] = {5, 7, 6, 8};
  float c[4] = {1, 1, 1, 1};

  ck_assert_msg(ra_cpu_gemm_open(), "no OpenBLAS");
  ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, 2, 2, 2, a, 2, b, 2, 1, c, 2);
  ck_assert_double_eq((double)(c[0]), (double)(20));
  ck_assert_double_eq((double)(c[3]), (double)(51));
  ra_cpu_gemm(RA_CPU_TRANSPOSED, RA_CPU_TRANSPOSED, 2, 2, 2, at, 2, bt, 2, 0, c,
              2);
  ck_assert_double_eq((double)(c[0]), (double)(19));
  ck_assert_double_eq((double)(c[1]), (double)(22));
  ck_assert_double_eq((double)(c[2]), (double)(43));
  ck_assert_double_eq((double)(c[3]), (double)(50));
}
END_TEST

/* Products of few rows take a path of their own: against double, within the
 * header's (k + 1) u sum |a| |b|, with rows and columns that do not fill a
 * tile.  Short sums take it up to 8 rows, long ones up to 32. */
START_TEST(test_thin)
{
  const size_t k = _i == 0 ? 133 : 300, n = 11;
  g_autofree float *a = cpu_random(8, 33 * k, 1);
  g_autofree float *b = cpu_random(9, n * k, 1);
  float c[33 * 11];

  ck_assert(ra_cpu_gemm_open());
  for (size_t m = 1; m <= 33; m++) {
    ra_cpu_gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, m, n, k, a, k, b, k, 0, c, n);
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < n; j++) {
        double sum = 0, size = 0;

        for (size_t l = 0; l < k; l++) {
          double term = (double)a[i * k + l] * (double)b[j * k + l];

          sum += term;
          size += fabs(term);
        }
        ck_assert_double_eq_tol((double)c[i * n + j], sum,
                                (double)(k + 1) * RA_CPU_U * size);
      }
  }
}
END_TEST

static Suite *
cpu_pointwise_suite(void)
{
  Suite *suite = suite_create("cpu_pointwise");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_exp);
  tcase_add_test(tcase, test_norm);
  tcase_add_test(tcase, test_norm_backward);
  tcase_add_test(tcase, test_rope);
  tcase_add_test(tcase, test_rope_pairs);
  tcase_add_test(tcase, test_rope_scaled);
  tcase_add_test(tcase, test_groups);
  tcase_add_loop_test(tcase, test_layer_norm, 0, 2);
  tcase_add_loop_test(tcase, test_activation, 0, 3);
  tcase_add_test(tcase, test_swiglu);
  tcase_add_test(tcase, test_clamped_swiglu);
  tcase_add_test(tcase, test_embedding);
  tcase_add_test(tcase, test_gemm);
  tcase_add_loop_test(tcase, test_thin, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(cpu_pointwise_suite)
