/* CUDA kernels on rows and single elements, run thread by thread on the CPU
 * (tests/emulator) or on a device, against their formulas in double on the same
 * inputs, within the bounds of their headers.
 */
#include "config.h"

#include "kernels/adamw.h"
#include "kernels/cpu/cpu_pointwise.h"
#include "kernels/intervals.h"
#include "kernels/pointwise.h"
#include "kernels/rmsnorm.h"
#include "kernels/seed.h"
#include "tests/device/device_array.h"

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
  device_seed((uint64_t)_i);
  ck_assert_int_eq(
      device_done(ra_k_rmsnorm(out, r, x, w, n_rows, n, 1e-5f, NULL)), 0);
  ck_assert_int_eq(
      device_done(ra_k_rmsnorm_ref(out_ref, r_ref, x, w, n_rows, n, 1e-5f)), 0);
  ck_assert_mem_eq(out, out_ref, n_rows * n * 2);
  ck_assert_mem_eq(r, r_ref, n_rows * n * 2);
  ck_assert_int_eq(
      device_done(ra_k_rmsnorm(out + 1, r, x, w, 1, 8, 1e-5f, NULL)), 1);
  device_free(x);
  device_free(r);
  device_free(w);
  device_free(r_ref);
  device_free(out);
  device_free(out_ref);
}
END_TEST

/* 300 rows: more than the 264 groups that sum dw, so that some have two.  The
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
  device_seed((uint64_t)_i);
  ck_assert_int_eq(device_done(ra_k_rmsnorm_backward(
                       d, r, d_out, w, d_w, workspace, n_rows, n, 1e-5f, NULL)),
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
  device_free(r);
  device_free(w);
  device_free(d_out);
  device_free(d);
  device_free(d_in);
  device_free(d_w);
  device_free(workspace);
  g_free(sum);
  g_free(size);
}
END_TEST

/* Rows with something behind the heads, which must stay as it is; turned and
 * turned back. */
START_TEST(test_rope)
{
  enum { N = 5, HEADS = 3, HD = 48, STRIDE = HEADS * HD + 8, POSITIONS = 40 };
  static const uint32_t at[N] = {0, 39, 7, 7, 21};
  RaRng rng = ra_rng_init(3, 0);
  uint16_t *x = device_bf16(&rng, N * STRIDE, 2);
  uint16_t *in = device_poisoned(N * STRIDE * 2);
  uint32_t *positions = device_copy(at, sizeof at);
  float *table = device_poisoned(POSITIONS * HD * sizeof(float));
  int direction = _i == 0 ? 1 : -1;

  memcpy(in, x, N * STRIDE * 2);
  ra_cpu_rope_table(POSITIONS, HD, &(RaCpuRope){.theta = 10000}, table);
  ck_assert_int_eq(device_done(ra_k_rope(N, HEADS, HD, positions, table,
                                         direction, x, STRIDE, NULL)),
                   0);
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
  ck_assert_int_eq(
      device_done(ra_k_rope(1, 1, 40, positions, table, 1, x, 40, NULL)), 1);
  device_free(x);
  device_free(in);
  device_free(positions);
  device_free(table);
}
END_TEST

/* The same for a decode step: bits of the kernel above, of q in place, of k at
 * its row of the cache, and of v as it was there. */
START_TEST(test_rope_rows)
{
  enum { N = 3, Q = 3, KV = 2, HD = 64, HEADS = Q + 2 * KV, ROWS = 5 };
  enum { STRIDE = HEADS * HD + 8, POSITIONS = 40, ROW = KV * HD };
  static const uint32_t at[N] = {0, 39, 7}, to[N] = {4, 0, 2};
  RaRng rng = ra_rng_init(4, 0);
  uint16_t *x = device_bf16(&rng, N * STRIDE, 2);
  uint16_t *expected = device_poisoned(N * STRIDE * 2);
  uint16_t *k = device_poisoned(ROWS * ROW * 2);
  uint16_t *v = device_poisoned(ROWS * ROW * 2);
  uint32_t *positions = device_copy(at, sizeof at);
  uint32_t *rows = device_copy(to, sizeof to);
  float *table = device_poisoned(POSITIONS * HD * sizeof(float));

  memcpy(expected, x, N * STRIDE * 2);
  ra_cpu_rope_table(POSITIONS, HD, &(RaCpuRope){.theta = 10000}, table);
  ck_assert_int_eq(device_done(ra_k_rope(N, Q + KV, HD, positions, table, 1,
                                         expected, STRIDE, NULL)),
                   0);
  ck_assert_int_eq(device_done(ra_k_rope_rows(N, Q, KV, HD, positions, rows,
                                              table, x, STRIDE, k, v, NULL)),
                   0);
  for (gsize t = 0; t < N; t++) {
    const uint16_t *row = expected + t * STRIDE;

    ck_assert_mem_eq(x + t * STRIDE, row, 2 * Q * HD);
    ck_assert_mem_eq(k + to[t] * ROW, row + Q * HD, 2 * ROW);
    ck_assert_mem_eq(v + to[t] * ROW, row + Q * HD + ROW, 2 * ROW);
  }
  device_free(x);
  device_free(expected);
  device_free(k);
  device_free(v);
  device_free(positions);
  device_free(rows);
  device_free(table);
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
  ck_assert_int_eq(device_done(ra_k_swiglu(N, WIDTH, in, out, NULL)), 0);
  ck_assert_int_eq(
      device_done(ra_k_swiglu_backward(N, WIDTH, d_in, d_out, d_in, NULL)), 0);
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
  ck_assert_int_eq(device_done(ra_k_swiglu(N, 300, in, out, NULL)), 1);
  device_free(in);
  device_free(d_out);
  device_free(out);
  device_free(d_in);
}
END_TEST

/* A rank that has tokens 10 to 19 of the vocabulary: those below and above give
 * zeroes.  Backward, of rows 0 and 9, which occur three times and once. */
START_TEST(test_embedding)
{
  enum { N = 6, WIDTH = 24, FIRST = 10, ROWS = 10 };
  static const uint32_t some[N] = {9, 10, 19, 20, 10, 10};
  static const uint32_t rows[] = {0, 9}, starts[] = {0, 3, 4};
  static const uint32_t who[] = {1, 4, 5, 2};
  uint32_t *tokens = device_copy(some, sizeof some);
  uint32_t *kinds = device_copy(rows, sizeof rows);
  uint32_t *begin = device_copy(starts, sizeof starts);
  uint32_t *order = device_copy(who, sizeof who);
  RaRng rng = ra_rng_init(5, 0);
  uint16_t *table = device_bf16(&rng, ROWS * WIDTH, 1);
  uint16_t *out = device_poisoned(N * WIDTH * 2);
  uint16_t *d_out = device_bf16(&rng, N * WIDTH, 1);
  float *d_table = device_f32(&rng, ROWS * WIDTH, -1, 1);
  float *before = device_poisoned(ROWS * WIDTH * sizeof(float));

  memcpy(before, d_table, ROWS * WIDTH * sizeof(float));
  ck_assert_int_eq(device_done(ra_k_embedding(N, WIDTH, FIRST, ROWS, tokens,
                                              NULL, table, out, NULL)),
                   0);
  ck_assert_int_eq(device_done(ra_k_embedding_backward(
                       2, WIDTH, kinds, begin, order, d_out, d_table, NULL)),
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
  device_free(table);
  device_free(out);
  device_free(d_out);
  device_free(d_table);
  device_free(before);
  device_free(tokens);
  device_free(kinds);
  device_free(begin);
  device_free(order);
}
END_TEST

/* Tokens of which three are known by their places among the newest only: rows
 * of these. */
START_TEST(test_newest)
{
  enum { N = 6, WIDTH = 24, FIRST = 10, ROWS = 10 };
  static const uint32_t known[N] = {9, 10, 19, 20, 10, 10},
                        news[] = {20, 9, 19};
  uint32_t *tokens = device_copy(known, sizeof known);
  uint32_t *places = device_copy(known, sizeof known);
  uint32_t *newest = device_copy(news, sizeof news);
  RaRng rng = ra_rng_init(5, 0);
  uint16_t *table = device_bf16(&rng, ROWS * WIDTH, 1);
  uint16_t *expected = device_poisoned(N * WIDTH * 2);
  uint16_t *out = device_poisoned(N * WIDTH * 2);

  places[0] = RA_K_DRAWN | 1;
  places[2] = RA_K_DRAWN | 2;
  places[3] = RA_K_DRAWN;
  ck_assert_int_eq(device_done(ra_k_embedding(N, WIDTH, FIRST, ROWS, tokens,
                                              NULL, table, expected, NULL)),
                   0);
  ck_assert_int_eq(device_done(ra_k_embedding(N, WIDTH, FIRST, ROWS, places,
                                              newest, table, out, NULL)),
                   0);
  ck_assert_mem_eq(expected, out, N * WIDTH * sizeof *out);
  device_free(tokens);
  device_free(places);
  device_free(newest);
  device_free(table);
  device_free(expected);
  device_free(out);
}
END_TEST

/* A sum of two bf16 is exact in fp32 where their exponents are near, and rounds
 * once. */
START_TEST(test_add)
{
  enum { N = 2056 };
  RaRng rng = ra_rng_init(6, 0);
  uint16_t *x = device_bf16(&rng, N, 3), *y = device_bf16(&rng, N, 3);
  uint16_t *sum = device_poisoned(N * 2);

  memcpy(sum, y, N * 2);
  ck_assert_int_eq(device_done(ra_k_add(N, x, sum, NULL)), 0);
  for (gsize i = 0; i < N; i++)
    ck_assert_uint_eq(
        sum[i], ra_bf16_from_f32(ra_bf16_to_f32(x[i]) + ra_bf16_to_f32(y[i])));
  ck_assert_int_eq(device_done(ra_k_add(N - 1, x, sum, NULL)), 1);
  device_free(x);
  device_free(y);
  device_free(sum);
}
END_TEST

/* Three steps of 1,030 parameters, two of them behind the last whole four; a
 * norm above the one allowed, and below: clip 0.5 / (norm + 1e-6), and 1; once
 * more in arrays that are not aligned. */
START_TEST(test_adamw)
{
  enum { N = 1030 };
  RaCpuAdamw a = {1e-3f, 0.9f, 0.95f, 1e-8f, 0.1f};
  float max_norm = _i % 2 == 0 ? 0.5f : 1e6f;
  gsize at = _i < 2 ? 0 : 1; /* the latter: arrays begin anywhere */
  RaRng rng = ra_rng_init(8, 0);
  float *w = device_f32(&rng, N + 1, -1, 1) + at;
  float *m = device_f32(&rng, N + 2, 0, 0) + 2 * at;
  float *v = device_f32(&rng, N, 0, 0);
  uint16_t *narrow = (uint16_t *)device_poisoned((N + 1) * 2) + at;
  double *parts = device_poisoned(RA_K_SQUARES_BLOCKS * sizeof(double));
  double *squares = device_new(sizeof(double));
  double exact[N], em[N] = {0}, ev[N] = {0};

  for (gsize i = 0; i < N; i++)
    exact[i] = (double)w[i];
  for (uint64_t step = 1; step <= 3; step++) {
    float *g = device_f32(&rng, N + 1, -1, 1) + at;
    double norm = 0, clip;

    *squares = 0;
    for (gsize i = 0; i < N; i++)
      norm += (double)g[i] * (double)g[i];
    ck_assert_int_eq(device_done(ra_k_sum_squares(N, g, parts, squares, NULL)),
                     0);
    device_assert_near(*squares, norm, N * 0x1p-50 * norm, "squares", 0);
    clip = fmin(1, (double)max_norm / (sqrt(norm) + 1e-6));
    ck_assert_int_eq(device_done(ra_k_adamw(N, &a, step, 1, squares, max_norm,
                                            g, w, m, v, narrow, NULL)),
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
    device_free(g - at);
  }
  device_free(w - at);
  device_free(m - 2 * at);
  device_free(v);
  device_free(narrow - at);
  device_free(parts);
  device_free(squares);
}
END_TEST

/* Weights that a run begins with: (3, 100) elements at row 2^33 + 5, column
 * 70,000 of tensor 9 have the host's bits, and their copy in fp32 is exact. */
START_TEST(test_seed)
{
  enum { N = 300 };
  RaSeedRect rect = {UINT64_C(0x123456789abcdef), 9, (UINT64_C(1) << 33) + 5,
                     70000, 100};
  uint16_t *out = device_poisoned((N + 1) * sizeof *out);
  float *wide = device_poisoned((N + 1) * sizeof *wide);
  uint16_t behind = out[N];
  float wide_behind = wide[N];

  ck_assert_int_eq(device_done(ra_k_seed(N, &rect, out, NULL)), 0);
  ck_assert_int_eq(device_done(ra_k_widen(N, out, wide, NULL)), 0);
  for (gsize i = 0; i < N; i++) {
    RaSeedRect one = {rect.seed, 9, rect.row + i / 100, rect.col + i % 100, 1};

    ck_assert_uint_eq(out[i], ra_bf16_from_f32(ra_seeded(&one, 0)));
    ck_assert(wide[i] == ra_bf16_to_f32(out[i]));
  }
  ck_assert_uint_eq(out[N], behind);
  ck_assert_mem_eq(&wide[N], &wide_behind, sizeof wide_behind);
  rect.n_cols = 0;
  ck_assert_int_ne(device_done(ra_k_seed(N, &rect, out, NULL)), 0);
  device_free(out);
  device_free(wide);
}
END_TEST

/* Copies (n) @listed of @units units, @n_pieces pieces: what they say is
 * copied, nothing else is written. */
static void
check_intervals(gsize n, const RaKInterval *listed, gsize units,
                uint64_t n_pieces)
{
  RaKInterval *list = device_copy(listed, n * sizeof *listed);
  uint32_t *from = device_poisoned(units * 16), *to;
  g_autofree uint32_t *expected = NULL;

  to = device_poisoned(units * 16);
  for (gsize i = 0; i < units * 4; i++)
    from[i] = (uint32_t)i;
  expected = g_memdup2(to, units * 16);
  for (gsize i = 0; i < n; i++)
    for (gsize row = 0; row < list[i].n_rows; row++)
      memcpy(expected + 4 * (list[i].to + row * list[i].to_pitch),
             from + 4 * (list[i].from + row * list[i].from_pitch),
             16 * list[i].n);
  ck_assert_uint_eq(ra_k_intervals_number(n, list), n_pieces);
  ck_assert_int_eq(
      device_done(ra_k_copy_intervals(n, list, n_pieces, from, to, NULL)), 0);
  ck_assert_mem_eq(to, expected, units * 16);
  device_free(list);
  device_free(from);
  device_free(to);
}

/* Intervals of one unit, of a piece less one, of a piece, of three and a bit,
 * of 300 rows of 7 that lie apart on both sides, which are 2100 units: 1 + 1 +
 * 1 + 4 + 2 pieces. */
START_TEST(test_intervals)
{
  static const RaKInterval listed[] = {
      {.from = 5, .to = 0, .n = 1, .n_rows = 1},
      {.from = 100, .to = 10, .n = RA_K_PIECE - 1, .n_rows = 1},
      {.from = 3000, .to = 3000, .n = RA_K_PIECE, .n_rows = 1},
      {.from = 5200, .to = 5200, .n = 3 * RA_K_PIECE + 3, .n_rows = 1},
      {.from = 11, .to = 12000, .n = 7, .n_rows = 300, 50, 19}};

  check_intervals(G_N_ELEMENTS(listed), listed, 18000, 9);
}
END_TEST

/* More pieces than blocks, of which each then copies a run: intervals of one to
 * three units in reverse order, every thousandth of three pieces, and two in a
 * row without a unit.  The faults that this catches: a run that goes on with
 * the interval that it began with, or stops at an empty one. */
START_TEST(test_interval_runs)
{
  enum { N_LIST = 9000, UNITS = 80000 };
  g_autofree RaKInterval *list = g_new(RaKInterval, N_LIST);
  uint64_t at = 0;

  for (gsize i = 0; i < N_LIST; i++) {
    uint64_t n = i % 1000 == 500   ? 2 * RA_K_PIECE + 1
                 : i % 1000 >= 998 ? 0
                                   : 1 + i % 3;

    list[i] =
        (RaKInterval){.from = UNITS - at - n, .to = at, .n = n, .n_rows = 1};
    at += n;
  }
  ck_assert_uint_le(at, UNITS);
  check_intervals(N_LIST, list, UNITS, N_LIST + 9 * 2 - 9 * 2);
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
  tcase_add_test(tcase, test_rope_rows);
  tcase_add_test(tcase, test_swiglu);
  tcase_add_test(tcase, test_embedding);
  tcase_add_test(tcase, test_newest);
  tcase_add_test(tcase, test_add);
  tcase_add_loop_test(tcase, test_adamw, 0, 4);
  tcase_add_test(tcase, test_seed);
  tcase_add_test(tcase, test_intervals);
  tcase_add_test(tcase, test_interval_runs);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_suite)
