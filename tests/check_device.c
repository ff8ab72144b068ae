/* CUDA kernels on rows and single elements, run thread by thread on the CPU
 * (tests/emulator), against their formulas in double on the same inputs, within
 * the bounds of their headers.
 */
#include "config.h"

#include "kernels/adamw.h"
#include "kernels/cpu_pointwise.h"
#include "kernels/intervals.h"
#include "kernels/logprob.h"
#include "kernels/pointwise.h"
#include "kernels/rmsnorm.h"
#include "tests/check_main.h"
#include "tests/device_array.h"

#define U 0x1p-24  /* fp32 */
#define UB 0x1p-8  /* bf16 */
#define TINY 1e-30 /* where nothing adds up */

/* The CUDA kernel and its reference give the same bits, ragged blocks and all
 * three variants; what the reference gives, check_kernels holds. */
START_TEST(test_rmsnorm)
{
  static const gsize widths[] = {8, 264, 896, 8200, 16392};
  gsize n = widths[_i], n_rows = 3;
  RaRng rng = ra_rng_init(1, (uint64_t)_i);
  uint16_t *x = device_bf16(&rng, n_rows * n, 2);
  uint16_t *r = device_bf16(&rng, n_rows * n, 2), *w = device_bf16(&rng, n, 1);
  uint16_t *r_ref = device_poisoned(n_rows * n * 2);
  uint16_t *out = device_poisoned(n_rows * n * 2);
  uint16_t *out_ref = device_poisoned(n_rows * n * 2);

  memcpy(r_ref, r, n_rows * n * 2);
  ra_emu_seed((uint64_t)_i);
  ck_assert_int_eq(ra_k_rmsnorm(out, r, x, w, n_rows, n, 1e-5f, NULL), 0);
  ck_assert_int_eq(ra_k_rmsnorm_ref(out_ref, r_ref, x, w, n_rows, n, 1e-5f), 0);
  ck_assert_mem_eq(out, out_ref, n_rows * n * 2);
  ck_assert_mem_eq(r, r_ref, n_rows * n * 2);
  ck_assert_int_eq(ra_k_rmsnorm(out + 1, r, x, w, 1, 8, 1e-5f, NULL), 1);
  free(x);
  free(r);
  free(w);
  free(r_ref);
  free(out);
  free(out_ref);
}
END_TEST

/* 300 rows: more than the 256 groups that sum dw, so that some have two.  The
 * fault that this catches: a second row that reads the first one's sums. */
START_TEST(test_rmsnorm_backward)
{
  static const struct {
    gsize n, n_rows;
  } shapes[] = {{264, 300}, {8200, 2}};
  gsize n = shapes[_i].n, n_rows = shapes[_i].n_rows;
  RaRng rng = ra_rng_init(2, (uint64_t)_i);
  uint16_t *r = device_bf16(&rng, n_rows * n, 2), *w = device_bf16(&rng, n, 1);
  uint16_t *d_out = device_bf16(&rng, n_rows * n, 1);
  uint16_t *d = device_bf16(&rng, n_rows * n, 1);
  uint16_t *d_in = device_poisoned(n_rows * n * 2);
  float *d_w = device_f32(&rng, n, -1, 1);
  float *workspace = device_poisoned(RA_K_RMSNORM_BLOCKS * n * sizeof(float));
  double *sum = g_new(double, n), *size = g_new0(double, n);

  memcpy(d_in, d, n_rows * n * 2);
  for (gsize i = 0; i < n; i++)
    sum[i] = (double)d_w[i];
  ra_emu_seed((uint64_t)_i);
  ck_assert_int_eq(ra_k_rmsnorm_backward(d, r, d_out, w, d_w, workspace, n_rows,
                                         n, 1e-5f, NULL),
                   0);
  for (gsize row = 0; row < n_rows; row++) {
    double squares = 0, dot = 0, dot_size = 0, inv, back;

    for (gsize i = row * n; i < row * n + n; i++) {
      double g = device_at(d_out, i) * device_at(w, i - row * n);

      squares += device_at(r, i) * device_at(r, i);
      dot += g * device_at(r, i);
      dot_size += fabs(g * device_at(r, i));
    }
    inv = 1 / sqrt(squares / (double)n + (double)1e-5f);
    back = inv * inv * inv / (double)n;
    for (gsize i = row * n; i < row * n + n; i++) {
      double g = device_at(d_out, i) * device_at(w, i - row * n) * inv;
      double x = device_at(r, i), down = device_at(d_in, i);
      double exact = down + g - x * back * dot;
      double bound = fabs(down) + fabs(g) + fabs(x) * back * dot_size;

      device_assert_near(device_at(d, i), exact,
                         UB * fabs(exact) + 0x1p-17 * bound + 0x1p-133, "d", i);
      sum[i - row * n] += device_at(d_out, i) * x * inv;
      size[i - row * n] += fabs(device_at(d_out, i) * x * inv);
    }
  }
  for (gsize i = 0; i < n; i++)
    device_assert_near((double)d_w[i], sum[i],
                       ((double)n_rows + 64) * U * (size[i] + 1), "dw", i);
  free(r);
  free(w);
  free(d_out);
  free(d);
  free(d_in);
  free(d_w);
  free(workspace);
  g_free(sum);
  g_free(size);
}
END_TEST

/* Rows with something behind the heads, which must stay as it is; turned and
 * turned back. */
START_TEST(test_rope)
{
  enum { N = 5, HEADS = 3, HD = 48, STRIDE = HEADS * HD + 8, POSITIONS = 40 };
  static const uint32_t positions[N] = {0, 39, 7, 7, 21};
  RaRng rng = ra_rng_init(3, 0);
  uint16_t *x = device_bf16(&rng, N * STRIDE, 2);
  uint16_t *in = device_poisoned(N * STRIDE * 2);
  float table[POSITIONS * HD];
  int direction = _i == 0 ? 1 : -1;

  memcpy(in, x, N * STRIDE * 2);
  ra_cpu_rope_table(POSITIONS, HD, 10000, table);
  ck_assert_int_eq(
      ra_k_rope(N, HEADS, HD, positions, table, direction, x, STRIDE, NULL), 0);
  for (gsize t = 0; t < N; t++)
    for (gsize i = 0; i < STRIDE; i++) {
      gsize e = i % HD, pair = e < HD / 2 ? i + HD / 2 : i - HD / 2;
      const float *row = table + positions[t] * HD;
      double a, b, c, s;

      if (i >= HEADS * HD) {
        ck_assert_uint_eq(x[t * STRIDE + i], in[t * STRIDE + i]);
        continue;
      }
      a = device_at(in, t * STRIDE + i);
      b = device_at(in, t * STRIDE + pair);
      c = (double)row[e % (HD / 2)];
      s = direction * (double)row[HD / 2 + e % (HD / 2)];
      s = e < HD / 2 ? -s : s;
      device_assert_near(device_at(x, t * STRIDE + i), a * c + b * s,
                         UB * fabs(a * c + b * s) + 4 * U * (fabs(a) + fabs(b)),
                         "rope", t * STRIDE + i);
    }
  ck_assert_int_eq(ra_k_rope(1, 1, 40, positions, table, 1, x, 40, NULL), 1);
  free(x);
  free(in);
}
END_TEST

START_TEST(test_swiglu)
{
  enum { N = 7, WIDTH = 296 };
  RaRng rng = ra_rng_init(4, 0);
  uint16_t *in = device_bf16(&rng, N * 2 * WIDTH, 12);
  uint16_t *d_out = device_bf16(&rng, N * WIDTH, 1);
  uint16_t *out = device_poisoned(N * WIDTH * 2);
  uint16_t *d_in = device_poisoned(N * 2 * WIDTH * 2);

  memcpy(d_in, in, N * 2 * WIDTH * 2); /* in place */
  ck_assert_int_eq(ra_k_swiglu(N, WIDTH, in, out, NULL), 0);
  ck_assert_int_eq(ra_k_swiglu_backward(N, WIDTH, d_in, d_out, d_in, NULL), 0);
  for (gsize i = 0; i < N * WIDTH; i++) {
    gsize gate = i / WIDTH * 2 * WIDTH + i % WIDTH, up = gate + WIDTH;
    double g = device_at(in, gate), u = device_at(in, up);
    double s = 1 / (1 + exp(-g)), d = device_at(d_out, i);
    double d_gate = d * u * s * (1 + g * (1 - s)), d_up = d * g * s;

    device_assert_near(device_at(out, i), g * s * u,
                       (UB + 8 * U) * fabs(g * s * u) + TINY, "out", i);
    device_assert_near(device_at(d_in, gate), d_gate,
                       UB * fabs(d_gate) + 16 * U * fabs(d * u) * (1 + fabs(g)),
                       "d gate", gate);
    device_assert_near(device_at(d_in, up), d_up,
                       (UB + 8 * U) * fabs(d_up) + TINY, "d up", up);
  }
  ck_assert_int_eq(ra_k_swiglu(N, 300, in, out, NULL), 1);
  free(in);
  free(d_out);
  free(out);
  free(d_in);
}
END_TEST

/* A rank that has tokens 10 to 19 of the vocabulary: those below and above give
 * zeroes.  Backward, of rows 0 and 9, which occur three times and once. */
START_TEST(test_embedding)
{
  enum { N = 6, WIDTH = 24, FIRST = 10, ROWS = 10 };
  static const uint32_t tokens[N] = {9, 10, 19, 20, 10, 10};
  static const uint32_t kinds[] = {0, 9}, begin[] = {0, 3, 4};
  static const uint32_t order[] = {1, 4, 5, 2};
  RaRng rng = ra_rng_init(5, 0);
  uint16_t *table = device_bf16(&rng, ROWS * WIDTH, 1);
  uint16_t *out = device_poisoned(N * WIDTH * 2);
  uint16_t *d_out = device_bf16(&rng, N * WIDTH, 1);
  float *d_table = device_f32(&rng, ROWS * WIDTH, -1, 1);
  float *before = device_poisoned(ROWS * WIDTH * sizeof(float));

  memcpy(before, d_table, ROWS * WIDTH * sizeof(float));
  ck_assert_int_eq(
      ra_k_embedding(N, WIDTH, FIRST, ROWS, tokens, table, out, NULL), 0);
  ck_assert_int_eq(ra_k_embedding_backward(2, WIDTH, kinds, begin, order, d_out,
                                           d_table, NULL),
                   0);
  for (gsize t = 0; t < N; t++)
    for (gsize e = 0; e < WIDTH; e++) {
      gboolean is_here = tokens[t] >= FIRST && tokens[t] < FIRST + ROWS;

      ck_assert_uint_eq(out[t * WIDTH + e],
                        is_here ? table[(tokens[t] - FIRST) * WIDTH + e] : 0);
    }
  for (gsize i = 0; i < ROWS * WIDTH; i++) {
    double sum = 0, size = 0;

    for (gsize t = 0; t < N; t++)
      if (tokens[t] == FIRST + i / WIDTH) {
        sum += device_at(d_out, t * WIDTH + i % WIDTH);
        size += fabs(device_at(d_out, t * WIDTH + i % WIDTH));
      }
    device_assert_near((double)d_table[i], (double)before[i] + sum,
                       4 * U * (size + fabs((double)before[i])), "d table", i);
  }
  free(table);
  free(out);
  free(d_out);
  free(d_table);
  free(before);
}
END_TEST

/* Casts round as ra_bf16_from_f32() does; a sum of two bf16 is exact in fp32
 * where their exponents are near, and rounds once. */
START_TEST(test_casts)
{
  enum { N = 2056 };
  RaRng rng = ra_rng_init(6, 0);
  float *x = device_f32(&rng, N, -3, 3);
  uint16_t *y = device_poisoned(N * 2), *z = device_bf16(&rng, N, 3);
  uint16_t *sum = device_poisoned(N * 2);
  float *wide = device_poisoned(N * sizeof(float));

  memcpy(sum, z, N * 2);
  ck_assert_int_eq(ra_k_narrow(N, x, y, NULL), 0);
  ck_assert_int_eq(ra_k_widen(N, y, wide, NULL), 0);
  ck_assert_int_eq(ra_k_add(N, y, sum, NULL), 0);
  for (gsize i = 0; i < N; i++) {
    ck_assert_uint_eq(y[i], ra_bf16_from_f32(x[i]));
    ck_assert_double_eq((double)wide[i], device_at(y, i));
    ck_assert_uint_eq(
        sum[i], ra_bf16_from_f32(ra_bf16_to_f32(y[i]) + ra_bf16_to_f32(z[i])));
  }
  ck_assert_int_eq(ra_k_add(N - 1, y, sum, NULL), 1);
  free(x);
  free(y);
  free(z);
  free(sum);
  free(wide);
}
END_TEST

/* Two ranks that share 2,064 tokens as 1,040 and 1,024. */
enum { LP_ROWS = 5, LP_FIRST = 1040, LP_ALL = 2064 };

static const uint32_t lp_targets[LP_ROWS] = {0, 1039, 1040, 2063, 1500};
static const float lp_grad[LP_ROWS] = {1, -0.5f, 0, 2, 0.25f};

/* Element @i of @row of what both ranks have. */
static double
lp_at(uint16_t *const of_rank[2], uint32_t row, uint32_t i)
{
  return i < LP_FIRST
             ? device_at(of_rank[0], row * LP_FIRST + i)
             : device_at(of_rank[1], row * (LP_ALL - LP_FIRST) + i - LP_FIRST);
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

/* One row has logits of -infinity only on one of the ranks.  The fault that
 * this catches: a target counted by both ranks. */
START_TEST(test_logprob)
{
  static const uint32_t begin[] = {0, LP_FIRST, LP_ALL};
  RaRng rng = ra_rng_init(7, 0);
  uint16_t *z[2], *in[2];
  RaCpuLogSum sums[2 * LP_ROWS];
  float log_prob[LP_ROWS], lse[LP_ROWS];

  for (int r = 0; r < 2; r++) {
    uint32_t n = begin[r + 1] - begin[r];

    z[r] = device_bf16(&rng, LP_ROWS * n, 6);
    in[r] = device_poisoned(LP_ROWS * n * 2);
    for (uint32_t i = 0; r == 0 && i < n; i++)
      z[r][4 * n + i] = 0xff80; /* -infinity */
    memcpy(in[r], z[r], LP_ROWS * n * 2);
    ck_assert_int_eq(ra_k_log_sum(LP_ROWS, begin[r], n, z[r], lp_targets,
                                  sums + r * LP_ROWS, NULL),
                     0);
  }
  ck_assert_int_eq(ra_k_log_prob(LP_ROWS, 2, sums, log_prob, lse, NULL), 0);
  for (int r = 0; r < 2; r++)
    ck_assert_int_eq(ra_k_log_prob_backward(LP_ROWS, begin[r],
                                            begin[r + 1] - begin[r], lp_targets,
                                            lse, lp_grad, z[r], NULL),
                     0);
  for (uint32_t row = 0; row < LP_ROWS; row++)
    check_logprob_row(in, z, row, (double)lse[row], (double)log_prob[row]);
  for (int r = 0; r < 2; r++) {
    free(z[r]);
    free(in[r]);
  }
}
END_TEST

/* Three steps of 1,030 parameters, two of them behind the last whole four; a
 * norm above the one allowed, and below: clip 0.5 / (norm + 1e-6), and 1. */
START_TEST(test_adamw)
{
  enum { N = 1030 };
  RaCpuAdamw a = {1e-3f, 0.9f, 0.95f, 1e-8f, 0.1f};
  float max_norm = _i == 0 ? 0.5f : 1e6f;
  RaRng rng = ra_rng_init(8, 0);
  float *w = device_f32(&rng, N, -1, 1), *m = device_f32(&rng, N, 0, 0);
  float *v = device_f32(&rng, N, 0, 0);
  uint16_t *narrow = device_poisoned(N * 2);
  double parts[RA_K_SQUARES_BLOCKS], exact[N], em[N] = {0}, ev[N] = {0};

  for (gsize i = 0; i < N; i++)
    exact[i] = (double)w[i];
  for (uint64_t step = 1; step <= 3; step++) {
    float *g = device_f32(&rng, N, -1, 1);
    double squares = 0, norm = 0, clip;

    for (gsize i = 0; i < N; i++)
      norm += (double)g[i] * (double)g[i];
    ck_assert_int_eq(ra_k_sum_squares(N, g, parts, &squares, NULL), 0);
    device_assert_near(squares, norm, N * 0x1p-50 * norm, "squares", 0);
    clip = fmin(1, (double)max_norm / (sqrt(norm) + 1e-6));
    ck_assert_int_eq(
        ra_k_adamw(N, &a, step, &squares, max_norm, g, w, m, v, narrow, NULL),
        0);
    for (gsize i = 0; i < N; i++) {
      double grad = clip * (double)g[i], b1 = (double)a.beta1;
      double b2 = (double)a.beta2, move;

      em[i] = b1 * em[i] + (1 - b1) * grad;
      ev[i] = b2 * ev[i] + (1 - b2) * grad * grad;
      move = (double)a.rate * (em[i] / (1 - pow(b1, (double)step))) /
             (sqrt(ev[i] / (1 - pow(b2, (double)step))) + (double)a.eps);
      exact[i] = exact[i] * (1 - (double)a.rate * (double)a.decay) - move;
      /* 10 u of a step of the rate at most, u of the weight, each step; moments
       * that cancel lose more of themselves, hence the rate and not the step */
      device_assert_near((double)w[i], exact[i],
                         (double)step * (40 * U * (double)a.rate +
                                         2 * U * (1 + fabs(exact[i]))),
                         "weight", i);
      ck_assert_uint_eq(narrow[i], ra_bf16_from_f32(w[i]));
    }
    free(g);
  }
  free(w);
  free(m);
  free(v);
  free(narrow);
}
END_TEST

/* Intervals of one unit, of a piece less one, of a piece, and of three and a
 * bit: 1 + 1 + 1 + 4 pieces; nothing else is written. */
START_TEST(test_intervals)
{
  enum { UNITS = 12000 };
  RaKInterval list[] = {{5, 0, 1, 0},
                        {100, 10, RA_K_PIECE - 1, 0},
                        {3000, 3000, RA_K_PIECE, 0},
                        {5200, 5200, 3 * RA_K_PIECE + 3, 0}};
  uint32_t *from = device_poisoned(UNITS * 16), *to;
  uint64_t n_pieces = ra_k_intervals_number(G_N_ELEMENTS(list), list);
  g_autofree uint32_t *expected = NULL;

  to = device_poisoned(UNITS * 16);
  for (uint32_t i = 0; i < UNITS * 4; i++)
    from[i] = i;
  expected = g_memdup2(to, UNITS * 16);
  for (gsize i = 0; i < G_N_ELEMENTS(list); i++)
    memcpy(expected + 4 * list[i].to, from + 4 * list[i].from, 16 * list[i].n);
  ck_assert_uint_eq(n_pieces, 7);
  ck_assert_int_eq(
      ra_k_copy_intervals(G_N_ELEMENTS(list), list, n_pieces, from, to, NULL),
      0);
  ck_assert_mem_eq(to, expected, UNITS * 16);
  free(from);
  free(to);
}
END_TEST

START_TEST(test_transpose)
{
  enum { ROWS = 72, COLS = 200 };
  RaRng rng = ra_rng_init(9, 0);
  uint16_t *in = device_bf16(&rng, ROWS * COLS, 1);
  uint16_t *out = device_poisoned(ROWS * COLS * 2);

  ck_assert_int_eq(ra_k_transpose(ROWS, COLS, in, out, NULL), 0);
  for (gsize r = 0; r < ROWS; r++)
    for (gsize c = 0; c < COLS; c++)
      ck_assert_uint_eq(out[c * ROWS + r], in[r * COLS + c]);
  ck_assert_int_eq(ra_k_transpose(ROWS, COLS - 4, in, out, NULL), 1);
  free(in);
  free(out);
}
END_TEST

static Suite *
device_suite(void)
{
  Suite *suite = suite_create("device");
  TCase *tcase = tcase_create("rows");

  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_rmsnorm, 0, 5);
  tcase_add_loop_test(tcase, test_rmsnorm_backward, 0, 2);
  tcase_add_loop_test(tcase, test_rope, 0, 2);
  tcase_add_test(tcase, test_swiglu);
  tcase_add_test(tcase, test_embedding);
  tcase_add_test(tcase, test_casts);
  tcase_add_test(tcase, test_logprob);
  tcase_add_loop_test(tcase, test_adamw, 0, 2);
  tcase_add_test(tcase, test_intervals);
  tcase_add_test(tcase, test_transpose);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(device_suite)
