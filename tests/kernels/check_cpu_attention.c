#include "config.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu_attention.h"
#include "kernels/cpu/cpu_gemm.h"
#include "tests/support/check_main.h"
#include "tests/support/cpu_random.h"

#define Q_HEADS 4
#define KV_HEADS 2
#define HEAD_DIM 6
#define OUT (Q_HEADS * HEAD_DIM)
#define STRIDE ((Q_HEADS + 2 * KV_HEADS) * HEAD_DIM)

/* Ragged: a single token, less than a block of 64, more than two. */
static const uint32_t begin[] = {0, 1, 31, 31 + 135};
#define N_SEQUENCES 3
#define N_TOKENS 166

static const RaCpuAttention shape = {.n_sequences = N_SEQUENCES,
                                     .begin = begin,
                                     .q_heads = Q_HEADS,
                                     .kv_heads = KV_HEADS,
                                     .head_dim = HEAD_DIM,
                                     .stride = STRIDE};

/* One query head of one query in double.  @fault: sees one key too many. */
static void
naive(const double *qkv, uint32_t first, uint32_t at, uint32_t head,
      gboolean fault, double *out)
{
  double weights[N_TOKENS], most = (double)-INFINITY, sum = 0;
  uint32_t kv = head / (Q_HEADS / KV_HEADS);
  uint32_t last = MIN(at + (fault ? 1 : 0), N_TOKENS - 1);

  for (uint32_t j = first; j <= last; j++) {
    weights[j] = 0;
    for (uint32_t i = 0; i < HEAD_DIM; i++)
      weights[j] += qkv[at * STRIDE + head * HEAD_DIM + i] *
                    qkv[j * STRIDE + (Q_HEADS + kv) * HEAD_DIM + i];
    weights[j] /= sqrt(HEAD_DIM);
    most = fmax(most, weights[j]);
  }
  for (uint32_t j = first; j <= last; j++)
    sum += weights[j] = exp(weights[j] - most);
  for (uint32_t i = 0; i < HEAD_DIM; i++) {
    out[i] = 0;
    for (uint32_t j = first; j <= last; j++)
      out[i] += weights[j] / sum *
                qkv[j * STRIDE + (Q_HEADS + KV_HEADS + kv) * HEAD_DIM + i];
  }
}

static void
naive_all(const double *qkv, gboolean fault, double *out)
{
  for (uint32_t s = 0; s < N_SEQUENCES; s++)
    for (uint32_t at = begin[s]; at < begin[s + 1]; at++)
      for (uint32_t head = 0; head < Q_HEADS; head++)
        naive(qkv, begin[s], at, head, fault, out + at * OUT + head * HEAD_DIM);
}

typedef struct {
  float *qkv;     /* (N_TOKENS, STRIDE) */
  double *exact;  /* the same in double */
  float *out;     /* (N_TOKENS, OUT) */
  float *lse;     /* (N_TOKENS, Q_HEADS) */
  float *scratch; /* workspace */
} Fixture;

static Fixture
fixture_new(void)
{
  Fixture f = {.qkv = cpu_random(1, N_TOKENS * STRIDE, 1),
               .exact = g_new(double, N_TOKENS *STRIDE),
               .out = g_new(float, N_TOKENS *OUT),
               .lse = g_new(float, N_TOKENS *Q_HEADS),
               .scratch = g_new(float, ra_cpu_attention_workspace(&shape))};

  ck_assert(ra_cpu_gemm_open());
  for (gsize i = 0; i < N_TOKENS * STRIDE; i++)
    f.exact[i] = (double)f.qkv[i];
  ra_cpu_attention(&shape, f.qkv, f.qkv + OUT,
                   f.qkv + OUT + KV_HEADS * HEAD_DIM, f.out, f.lse, f.scratch);
  return f;
}

static void
fixture_clear(Fixture *f)
{
  g_free(f->qkv);
  g_free(f->exact);
  g_free(f->out);
  g_free(f->lse);
  g_free(f->scratch);
}

/* |v| <= 1 and exponents below 3, so the header's bound is at most
 * 2 (14 u 3 + 2^-22 + 137 u) = 2.2e-5; 1e-5 is asked for. */
static double
worst_forward(const Fixture *f, gboolean fault)
{
  g_autofree double *out = g_new(double, N_TOKENS *OUT);
  double worst = 0;

  naive_all(f->exact, fault, out);
  for (gsize i = 0; i < N_TOKENS * OUT; i++)
    worst = fmax(worst, fabs((double)f->out[i] - out[i]));
  return worst;
}

START_TEST(test_forward)
{
  Fixture f = fixture_new();

  ck_assert_double_lt(worst_forward(&f, FALSE), 1e-5);
  ck_assert_double_gt(worst_forward(&f, TRUE), 1e-3);
  fixture_clear(&f);
}
END_TEST

static double
weighed(const double *qkv, const float *d_out)
{
  g_autofree double *out = g_new(double, N_TOKENS *OUT);
  double sum = 0;

  naive_all(qkv, FALSE, out);
  for (gsize i = 0; i < N_TOKENS * OUT; i++)
    sum += out[i] * (double)d_out[i];
  return sum;
}

/* Central differences of the double formula, h = 1e-4, at places spread over
 * queries, keys and values: 1e-8 of their own, fp32 some 1e-5. */
START_TEST(test_backward)
{
  Fixture f = fixture_new();
  g_autofree float *d_out = cpu_random(2, N_TOKENS * OUT, 1);
  g_autofree float *d = g_new(float, N_TOKENS *STRIDE);

  ra_cpu_attention_backward(
      &shape, f.qkv, f.qkv + OUT, f.qkv + OUT + KV_HEADS * HEAD_DIM, f.out,
      f.lse, d_out, d, d + OUT, d + OUT + KV_HEADS * HEAD_DIM, f.scratch);
  for (gsize at = 0; at < N_TOKENS * STRIDE; at += 211) {
    double old = f.exact[at], up, down, h = 1e-4;

    f.exact[at] = old + h;
    up = weighed(f.exact, d_out);
    f.exact[at] = old - h;
    down = weighed(f.exact, d_out);
    f.exact[at] = old;
    ck_assert_double_eq_tol((double)d[at], (up - down) / (2 * h), 2e-5);
  }
  fixture_clear(&f);
}
END_TEST

/* The sum of outputs times @d_out with sinks, by the outputs and the lse
 * without: a sink of score a is e^a more in the sum that divides. */
static double
weighed_sinks(const Fixture *f, const double *sinks, const float *d_out)
{
  double sum = 0;

  for (gsize i = 0; i < N_TOKENS * OUT; i++) {
    double lse = (double)f->lse[i / HEAD_DIM];
    double sink = sinks[i / HEAD_DIM % Q_HEADS];

    sum += (double)f->out[i] / (1 + exp(sink - lse)) * (double)d_out[i];
  }
  return sum;
}

/* Outputs are those without sinks times 1 / (1 + e^(a - lse)), and lse grows by
 * the log of 1 + e^(a - lse), of sinks below and far above all scores: e^100 is
 * no float, so that a maximum of the keys alone (the fault) makes what is no
 * number.  The gradient is the central difference of the same in double. */
START_TEST(test_sinks)
{
  static const float sinks[Q_HEADS] = {0.5f, -2, 3, 100};
  Fixture f = fixture_new();
  RaCpuAttention with = shape;
  g_autofree float *out = g_new(float, N_TOKENS *OUT);
  g_autofree float *lse = g_new(float, N_TOKENS *Q_HEADS);
  g_autofree float *d_out = cpu_random(2, N_TOKENS * OUT, 1);
  float d_sinks[Q_HEADS] = {1, 1, 1, 1}; /* is added to */
  double at[Q_HEADS], h = 1e-4;

  with.sinks = sinks;
  ra_cpu_attention(&with, f.qkv, f.qkv + OUT, f.qkv + OUT + KV_HEADS * HEAD_DIM,
                   out, lse, f.scratch);
  ra_cpu_sinks_backward(N_TOKENS, Q_HEADS, HEAD_DIM, sinks, out, lse, d_out,
                        d_sinks);
  for (gsize i = 0; i < N_TOKENS * OUT; i++) {
    double sink = (double)sinks[i / HEAD_DIM % Q_HEADS];
    double was = (double)f.lse[i / HEAD_DIM], more = exp(sink - was);

    ck_assert_double_eq_tol((double)out[i], (double)f.out[i] / (1 + more),
                            1e-6);
    ck_assert_double_eq_tol((double)lse[i / HEAD_DIM], was + log1p(more), 1e-5);
  }
  for (uint32_t head = 0; head < Q_HEADS; head++) {
    double up, down;

    for (uint32_t i = 0; i < Q_HEADS; i++)
      at[i] = (double)sinks[i];
    at[head] += h;
    up = weighed_sinks(&f, at, d_out);
    at[head] -= 2 * h;
    down = weighed_sinks(&f, at, d_out);
    ck_assert_double_eq_tol((double)d_sinks[head] - 1, (up - down) / (2 * h),
                            2e-5);
  }
  fixture_clear(&f);
}
END_TEST

/* The last token of the longest sequence, from a cache of its keys and values,
 * pages from the last to the first with what is no number between them: the row
 * that the packed forward makes; and with sinks, whose row is smaller. */
START_TEST(test_decode)
{
  enum { PAGE = 4, ROWS = 6 };
  static const float sinks[Q_HEADS] = {0.5f, -2, 3, 100};
  Fixture f = fixture_new();
  uint32_t first = begin[2], n = begin[3] - begin[2], last = begin[3] - 1;
  gsize width = KV_HEADS * HEAD_DIM;
  gsize n_rows = (gsize)n * ROWS;
  g_autofree float *k = g_new(float, n_rows *width);
  g_autofree float *v = g_new(float, n_rows *width);
  g_autofree uint32_t *pages = g_new(uint32_t, n);
  RaCpuDecode paged = {.q_heads = Q_HEADS,
                       .kv_heads = KV_HEADS,
                       .head_dim = HEAD_DIM,
                       .n_kv = n,
                       .pages = pages,
                       .page_tokens = PAGE,
                       .page_rows = ROWS};
  float out[OUT];

  for (gsize i = 0; i < n_rows * width; i++)
    k[i] = v[i] = NAN;
  for (uint32_t t = 0; t < n; t++) {
    const float *key = f.qkv + (first + t) * STRIDE + OUT;
    gsize row;

    pages[t / PAGE] = n / PAGE - t / PAGE;
    row = (gsize)pages[t / PAGE] * ROWS + t % PAGE;
    memcpy(k + row * width, key, width * sizeof *k);
    memcpy(v + row * width, key + width, width * sizeof *v);
  }
  ra_cpu_decode_attention(&paged, f.qkv + last * STRIDE, k, v, out, f.scratch);
  for (gsize i = 0; i < OUT; i++)
    ck_assert_double_eq_tol((double)out[i], (double)f.out[last * OUT + i],
                            1e-6);
  paged.sinks = sinks;
  ra_cpu_decode_attention(&paged, f.qkv + last * STRIDE, k, v, out, f.scratch);
  for (gsize i = 0; i < OUT; i++) {
    double more = (double)sinks[i / HEAD_DIM] -
                  (double)f.lse[last * Q_HEADS + i / HEAD_DIM];

    ck_assert_double_eq_tol(
        (double)out[i], (double)f.out[last * OUT + i] / (1 + exp(more)), 1e-6);
  }
  fixture_clear(&f);
}
END_TEST

/* 12 heads: eight of 2^-1 to 2^-8, then every second of sixteen that go by a
 * half; and attention with slopes is that without after the same was added to
 * scores by hand, through one more element of q and k: with q_e = 1 and
 * k_e = slope j / scale the product is it.  The fault: no slope. */
START_TEST(test_slopes)
{
  static const uint32_t one[] = {0, 5};
  enum { N = 5, DIM = 4 };
  RaCpuAttention plain = {.n_sequences = 1,
                          .begin = one,
                          .q_heads = 1,
                          .kv_heads = 1,
                          .head_dim = DIM,
                          .stride = 3 * DIM};
  RaCpuAttention sloped = plain;
  float slope = ra_cpu_alibi_slope(0, 1) * 64; /* 2^-8 64 */
  g_autofree float *x = cpu_random(9, (gsize)N * plain.stride, 1);
  g_autofree float *workspace =
      g_new(float, ra_cpu_attention_workspace(&plain));
  float out[3][N * DIM], lse[N];

  ck_assert(ra_cpu_gemm_open());
  for (uint32_t h = 0; h < 12; h++)
    ck_assert_double_eq_tol(log2((double)ra_cpu_alibi_slope(h, 12)),
                            h < 8 ? -1.0 - h : -0.5 - (h - 8), 1e-6);
  ck_assert_double_eq((double)slope, 0.25);
  for (uint32_t j = 0; j < N; j++) /* the last element is what is added */
    x[j * plain.stride + DIM - 1] = x[j * plain.stride + 2 * DIM - 1] = 0;
  sloped.slopes = &slope;
  ra_cpu_attention(&plain, x, x + DIM, x + 2 * DIM, out[0], lse, workspace);
  ra_cpu_attention(&sloped, x, x + DIM, x + 2 * DIM, out[1], lse, workspace);
  for (uint32_t j = 0; j < N; j++) {
    x[j * plain.stride + DIM - 1] = 1;
    x[j * plain.stride + 2 * DIM - 1] = slope * (float)j * sqrtf(DIM);
  }
  ra_cpu_attention(&plain, x, x + DIM, x + 2 * DIM, out[2], lse, workspace);
  for (gsize i = 0; i < N * DIM; i++) {
    ck_assert_double_eq_tol((double)out[1][i], (double)out[2][i], 1e-6);
    ck_assert(i < DIM || fabsf(out[1][i] - out[0][i]) > 1e-5f);
  }
}
END_TEST

/* Some keys of each sequence, dense: k, then v. */
typedef struct {
  uint32_t begin[N_SEQUENCES + 1];
  uint32_t from[N_SEQUENCES]; /* place of the first in its sequence */
  uint32_t seen[N_TOKENS];
  float kv[N_TOKENS * 2 * KV_HEADS * HEAD_DIM];
  float d_kv[N_TOKENS * 2 * KV_HEADS * HEAD_DIM];
  RaCpuAttention shape;
} Keys;

#define KV_WIDTH (KV_HEADS * HEAD_DIM)

/* The first half of each sequence's keys, rounded up, or the rest. */
static Keys *
keys_new(const float *qkv, gboolean rest)
{
  Keys *keys = g_new0(Keys, 1);

  for (uint32_t s = 0; s < N_SEQUENCES; s++) {
    uint32_t n = begin[s + 1] - begin[s], half = (n + 1) / 2;
    uint32_t count = rest ? n - half : half;

    keys->from[s] = rest ? half : 0;
    keys->begin[s + 1] = keys->begin[s] + count;
    ra_cpu_copy_rect(count, 2 * KV_WIDTH,
                     qkv + (begin[s] + keys->from[s]) * STRIDE + OUT, STRIDE,
                     keys->kv + keys->begin[s] * 2 * KV_WIDTH, 2 * KV_WIDTH);
    for (uint32_t i = 0; i < n; i++)
      keys->seen[begin[s] + i] =
          CLAMP(i + 1, keys->from[s], keys->from[s] + count) - keys->from[s];
  }
  keys->shape = shape;
  keys->shape.kv_begin = keys->begin;
  keys->shape.seen = keys->seen;
  keys->shape.kv_stride = 2 * KV_WIDTH;
  keys->shape.d_q_stride = OUT;
  return keys;
}

static double
worst_of(gsize n, const float *a, const float *b)
{
  double worst = 0;

  for (gsize i = 0; i < n; i++)
    worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
  return worst;
}

static void
attend(const Keys *keys, const float *qkv, float *out, float *lse,
       float *scratch)
{
  ra_cpu_attention(&keys->shape, qkv, keys->kv, keys->kv + KV_WIDTH, out, lse,
                   scratch);
}

/* Over one half of the keys and then over the other, merged, is over all; of a
 * sequence of one token the other half is nothing.  The fault: not merged. */
START_TEST(test_merge)
{
  Fixture f = fixture_new();
  g_autofree Keys *a = keys_new(f.qkv, FALSE), *b = keys_new(f.qkv, TRUE);
  g_autofree float *out = g_new(float, N_TOKENS *OUT);
  g_autofree float *part = g_new(float, N_TOKENS *OUT);
  g_autofree float *lse = g_new(float, N_TOKENS *Q_HEADS);
  g_autofree float *part_lse = g_new(float, N_TOKENS *Q_HEADS);

  attend(a, f.qkv, out, lse, f.scratch);
  attend(b, f.qkv, part, part_lse, f.scratch);
  ck_assert(isinf(part_lse[0]) && part_lse[0] < 0 && part[0] == 0);
  ck_assert_double_gt(worst_of(N_TOKENS * OUT, out, f.out), 1e-2);
  ra_cpu_attention_merge(N_TOKENS, Q_HEADS, HEAD_DIM, part, part_lse, out, lse);
  ck_assert_double_lt(worst_of(N_TOKENS * OUT, out, f.out), 2e-6);
  ck_assert_double_lt(worst_of(N_TOKENS * Q_HEADS, lse, f.lse), 4e-6);
  fixture_clear(&f);
}
END_TEST

/* The gradients of both halves are those of all: of queries their sum.  The
 * fault: of one half alone. */
START_TEST(test_merge_backward)
{
  Fixture f = fixture_new();
  Keys *half[2] = {keys_new(f.qkv, FALSE), keys_new(f.qkv, TRUE)};
  g_autofree float *d_out = cpu_random(2, N_TOKENS * OUT, 1);
  g_autofree float *d = g_new(float, N_TOKENS *STRIDE);
  g_autofree float *d_q = g_new(float, N_TOKENS *OUT);
  g_autofree float *sum = g_new0(float, N_TOKENS *OUT);

  ra_cpu_attention_backward(&shape, f.qkv, f.qkv + OUT, f.qkv + OUT + KV_WIDTH,
                            f.out, f.lse, d_out, d, d + OUT, d + OUT + KV_WIDTH,
                            f.scratch);
  for (guint h = 0; h < 2; h++) {
    Keys *k = half[h];

    ra_cpu_attention_backward(&k->shape, f.qkv, k->kv, k->kv + KV_WIDTH, f.out,
                              f.lse, d_out, d_q, k->d_kv, k->d_kv + KV_WIDTH,
                              f.scratch);
    for (gsize i = 0; i < N_TOKENS * OUT; i++)
      sum[i] += d_q[i];
    for (uint32_t s = 0; s < N_SEQUENCES; s++)
      for (uint32_t i = k->begin[s]; i < k->begin[s + 1]; i++)
        ck_assert_double_lt(
            worst_of(2 * KV_WIDTH, k->d_kv + i * 2 * KV_WIDTH,
                     d + (begin[s] + k->from[s] + i - k->begin[s]) * STRIDE +
                         OUT),
            4e-6);
  }
  for (gsize i = 0; i < N_TOKENS; i++)
    ck_assert_double_lt(worst_of(OUT, sum + i * OUT, d + i * STRIDE), 4e-6);
  ck_assert_double_gt(worst_of(N_TOKENS * OUT, sum, d_q), 1e-2);
  g_free(half[0]);
  g_free(half[1]);
  fixture_clear(&f);
}
END_TEST

#define NARROW 4 /* elements of a value, of HEAD_DIM */
#define NARROW_ALL ((gsize)KV_HEADS * NARROW)
#define NARROW_OUT ((gsize)Q_HEADS * NARROW)

/* The first elements of each head of @from (N_TOKENS, heads, HEAD_DIM), rows of
 * which are @stride apart. */
static void
narrow_heads(uint32_t heads, const float *from, gsize stride, float *out)
{
  for (gsize i = 0; i < N_TOKENS; i++)
    for (gsize h = 0; h < heads; h++)
      memcpy(out + (i * heads + h) * NARROW, from + i * stride + h * HEAD_DIM,
             NARROW * sizeof *out);
}

/* Values narrower than keys, in an array of their own: each element of an
 * output is a sum of that element of the values, so that what comes out is the
 * first elements of what whole values give, and lse the same.  Backward the
 * gradients are those of whole outputs whose other elements have a gradient of
 * 0.  Strides of keys for values, or a head's width of them (the faults), read
 * other elements. */
START_TEST(test_narrow_values)
{
  Fixture f = fixture_new();
  RaCpuAttention narrow = shape;
  g_autofree float *v = g_new(float, N_TOKENS *NARROW_ALL);
  g_autofree float *out = g_new(float, N_TOKENS *NARROW_OUT);
  g_autofree float *wanted = g_new(float, N_TOKENS *NARROW_OUT);
  g_autofree float *lse = g_new(float, N_TOKENS *Q_HEADS);
  g_autofree float *d_out = cpu_random(2, N_TOKENS * NARROW_OUT, 1);
  g_autofree float *d_whole = g_new0(float, N_TOKENS *OUT);
  g_autofree float *d = g_new(float, N_TOKENS *STRIDE);
  g_autofree float *d_n = g_new(float, N_TOKENS *STRIDE);
  g_autofree float *d_v = g_new(float, N_TOKENS *NARROW_ALL);

  narrow.value_dim = NARROW;
  narrow.v_stride = NARROW_ALL;
  narrow_heads(KV_HEADS, f.qkv + OUT + KV_WIDTH, STRIDE, v);
  narrow_heads(Q_HEADS, f.out, OUT, wanted);
  ra_cpu_attention(&narrow, f.qkv, f.qkv + OUT, v, out, lse, f.scratch);
  ck_assert_double_lt(worst_of(N_TOKENS * NARROW_OUT, out, wanted), 1e-6);
  ck_assert_mem_eq(lse, f.lse, N_TOKENS * Q_HEADS * sizeof *lse);
  for (gsize i = 0; i < N_TOKENS * Q_HEADS; i++)
    memcpy(d_whole + i * HEAD_DIM, d_out + i * NARROW, NARROW * sizeof *d_out);
  ra_cpu_attention_backward(&shape, f.qkv, f.qkv + OUT, f.qkv + OUT + KV_WIDTH,
                            f.out, f.lse, d_whole, d, d + OUT,
                            d + OUT + KV_WIDTH, f.scratch);
  ra_cpu_attention_backward(&narrow, f.qkv, f.qkv + OUT, v, out, lse, d_out,
                            d_n, d_n + OUT, d_v, f.scratch);
  narrow_heads(KV_HEADS, d + OUT + KV_WIDTH, STRIDE, wanted);
  ck_assert_double_lt(worst_of(N_TOKENS * NARROW_ALL, d_v, wanted), 4e-6);
  for (gsize i = 0; i < N_TOKENS; i++)
    ck_assert_double_lt(
        worst_of(OUT + KV_WIDTH, d_n + i * STRIDE, d + i * STRIDE), 4e-6);
  fixture_clear(&f);
}
END_TEST

/* Latents, whose first elements are the values, with a scale of their own: the
 * query of a step times 3 / 2 at 2 / 3 of the usual scale is that at the usual
 * one, whose values are the keys; what comes out is its first elements. */
START_TEST(test_decode_latents)
{
  enum { N = 5 };
  static const uint32_t pages[N] = {0, 1, 2, 3, 4};
  RaCpuDecode usual = {.q_heads = Q_HEADS,
                       .kv_heads = 1,
                       .head_dim = HEAD_DIM,
                       .n_kv = N,
                       .pages = pages,
                       .page_tokens = 1,
                       .page_rows = 1};
  RaCpuDecode latent = usual;
  g_autofree float *q = cpu_random(3, OUT, 1);
  g_autofree float *k = cpu_random(4, (gsize)N * HEAD_DIM, 1);
  float out[OUT], narrow[Q_HEADS * NARROW], workspace[Q_HEADS * N];

  ra_cpu_decode_attention(&usual, q, k, k, out, workspace);
  latent.value_dim = NARROW;
  latent.scale = (float)(2 / (3 * sqrt(HEAD_DIM)));
  for (gsize i = 0; i < OUT; i++)
    q[i] *= 1.5f;
  ra_cpu_decode_attention(&latent, q, k, k, narrow, workspace);
  for (gsize h = 0; h < Q_HEADS; h++)
    ck_assert_double_lt(
        worst_of(NARROW, narrow + h * NARROW, out + h * HEAD_DIM), 1e-6);
}
END_TEST

static Suite *
cpu_attention_suite(void)
{
  Suite *suite = suite_create("cpu_attention");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_forward);
  tcase_add_test(tcase, test_backward);
  tcase_add_test(tcase, test_sinks);
  tcase_add_test(tcase, test_merge);
  tcase_add_test(tcase, test_merge_backward);
  tcase_add_test(tcase, test_decode);
  tcase_add_test(tcase, test_slopes);
  tcase_add_test(tcase, test_narrow_values);
  tcase_add_test(tcase, test_decode_latents);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(cpu_attention_suite)
