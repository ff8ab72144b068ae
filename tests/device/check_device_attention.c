/* Attention's CUDA kernels, run thread by thread on the CPU (tests/emulator) or
 * on a device, against the formulas in double on the same bf16 inputs, within
 * the bounds of their headers.
 */
#include "config.h"

#include "kernels/attention.h"
#include "tests/device/device_array.h"

/* Lengths of one tile, of one row more, and in between; an empty one. */
static const uint32_t begin[] = {0, 1, 66, 194, 194, 259};

enum {
  N_SEQUENCES = 5,
  N_TOKENS = 259,
  LONGEST = 128,
  MOST = 517, /* of any test */
  MOST_WIDTH = 128,
  LANES = 8, /* numbers of a row at once */
  Q_HEADS = 4,
  KV_HEADS = 2
};

typedef int (*Forward)(const RaKAttention *shape, const uint16_t *q,
                       const uint16_t *k, const uint16_t *v, uint16_t *out,
                       float *out_lse, void *stream);

typedef int (*Backward)(const RaKAttention *shape, const uint16_t *q,
                        const uint16_t *k, const uint16_t *v,
                        const uint16_t *out, const float *lse,
                        const uint16_t *d_out, uint16_t *d_q, uint16_t *d_k,
                        uint16_t *d_v, float *workspace, void *stream);

/* The device is not one that the kernel is for. */
enum { NOT_SUPPORTED = 801 };

static const struct {
  Forward forward;
  Backward backward;
  uint32_t head_dim;
  uint64_t seed; /* of the inputs and of the order of the threads */
} cases[] = {{ra_k_attention_mma, ra_k_attention_backward_mma, 128, 1},
             {ra_k_attention_mma, ra_k_attention_backward_mma, 64, 2},
             {ra_k_attention_wgmma, ra_k_attention_backward_wgmma, 128, 3},
             {ra_k_attention_wgmma, ra_k_attention_backward_wgmma, 64, 4},
             {ra_k_attention, ra_k_attention_backward, 64, 5}};

/* One attention and what the kernels made of it. */
typedef struct {
  RaKAttention shape;
  uint32_t *begin;
  uint16_t *in;   /* (tokens, stride): q, k and v of each */
  double *exact;  /* the same numbers */
  uint16_t *d_in; /* as in */
  uint16_t *out;
  uint16_t *d_out;
  float *lse;
} Attention;

enum { Q, K, V };

/* Element @e of head @head of @which of @token. */
static gsize
at(const Attention *a, int which, uint32_t token, uint32_t head, uint32_t e)
{
  uint32_t before = which == Q ? 0 : which == K ? Q_HEADS : Q_HEADS + KV_HEADS;

  return token * a->shape.stride + (before + head) * a->shape.head_dim + e;
}

/* Three blocks take all tiles of queries, and leave no ticket behind. */
enum { N_PROCESSORS = 3 };

static int
forward(const Attention *a, int which, uint16_t *out, float *lse)
{
  static const uint32_t none;
  RaKAttention shape = a->shape;
  int code;

  shape.ticket = device_copy(&none, sizeof none);
  shape.n_processors = N_PROCESSORS;
  code = device_done(cases[which].forward(
      &shape, a->in + at(a, Q, 0, 0, 0), a->in + at(a, K, 0, 0, 0),
      a->in + at(a, V, 0, 0, 0), out, lse, NULL));
  ck_assert_uint_eq(*shape.ticket, none);
  device_free(shape.ticket);
  return code;
}

static void
attention_clear(Attention *a)
{
  g_free(a->exact);
  device_free(a->in);
  device_free(a->d_in);
  device_free(a->out);
  device_free(a->d_out);
  device_free(a->lse);
  device_free(a->begin);
}

static void
make_in(Attention *a, RaRng *rng)
{
  gsize n = a->shape.n_tokens * a->shape.stride;

  a->in = device_bf16(rng, n, 2);
  a->exact = g_new(double, n);
  for (gsize i = 0; i < n; i++)
    a->exact[i] = device_at(a->in, i);
}

/* Returns: FALSE, and @a is clear: this device has no such kernel. */
static gboolean
attention_run(Attention *a, int which)
{
  uint32_t hd = cases[which].head_dim;
  RaRng rng = ra_rng_init(cases[which].seed, 0);
  gsize stride = (Q_HEADS + 2 * KV_HEADS) * hd;
  gsize n_out = (gsize)N_TOKENS * Q_HEADS * hd;
  int code;

  a->begin = device_copy(begin, sizeof begin);
  a->shape = (RaKAttention){.n_sequences = N_SEQUENCES,
                            .n_tokens = N_TOKENS,
                            .max_length = LONGEST,
                            .begin = a->begin,
                            .q_heads = Q_HEADS,
                            .kv_heads = KV_HEADS,
                            .head_dim = hd,
                            .stride = stride};
  make_in(a, &rng);
  a->d_out = device_bf16(&rng, n_out, 1);
  a->d_in = device_poisoned(N_TOKENS * stride * 2);
  a->out = device_poisoned(n_out * 2);
  a->lse = device_poisoned(N_TOKENS * Q_HEADS * sizeof(float));
  device_seed(cases[which].seed);
  code = forward(a, which, a->out, a->lse);
  if (code == NOT_SUPPORTED) {
    attention_clear(a);
    return FALSE;
  }
  ck_assert_int_eq(code, 0);
  return TRUE;
}

static void
attention_run_backward(const Attention *a, int which)
{
  float *workspace = device_poisoned(
      ra_k_attention_backward_workspace(&a->shape) * sizeof(float));

  ck_assert_int_eq(
      device_done(cases[which].backward(
          &a->shape, a->in + at(a, Q, 0, 0, 0), a->in + at(a, K, 0, 0, 0),
          a->in + at(a, V, 0, 0, 0), a->out, a->lse, a->d_out,
          a->d_in + at(a, Q, 0, 0, 0), a->d_in + at(a, K, 0, 0, 0),
          a->d_in + at(a, V, 0, 0, 0), workspace, NULL)),
      0);
  device_free(workspace);
}

/* The sum of @x times @y (n); @out_magnitude: that of the products' sizes. */
static double
dot(uint32_t n, const double *x, const double *y, double *out_magnitude)
{
  double sums[LANES] = {0}, magnitudes[LANES] = {0}, sum = 0;

  for (uint32_t e = 0; e < n; e += LANES)
    for (uint32_t i = 0; i < LANES; i++) {
      sums[i] += x[e + i] * y[e + i];
      magnitudes[i] += fabs(x[e + i] * y[e + i]);
    }
  *out_magnitude = 0;
  for (uint32_t i = 0; i < LANES; i++) {
    sum += sums[i];
    *out_magnitude += magnitudes[i];
  }
  return sum;
}

/* Adds @by times @x (n) to @sum, and @size times its sizes to @magnitude. */
static void
add_scaled(uint32_t n, double by, double size, const double *restrict x,
           double *restrict sum, double *restrict magnitude)
{
  for (uint32_t e = 0; e < n; e += LANES)
    for (uint32_t i = 0; i < LANES; i++) {
      sum[e + i] += by * x[e + i];
      magnitude[e + i] += size * fabs(x[e + i]);
    }
}

/* Probabilities of @query over the keys of its sequence from @first on; @out_e:
 * e_i of the header.  Returns: lse. */
static double
probabilities(const Attention *a, uint32_t first, uint32_t query, uint32_t head,
              double *out_p, double *out_e)
{
  uint32_t hd = a->shape.head_dim, n = query - first + 1;
  double most = -INFINITY, sum = 0, largest = 0;

  for (uint32_t j = 0; j < n; j++) {
    double magnitude;

    out_p[j] =
        dot(hd, a->exact + at(a, Q, query, head, 0),
            a->exact + at(a, K, first + j, head / (Q_HEADS / KV_HEADS), 0),
            &magnitude) /
        sqrt((double)hd);
    most = fmax(most, out_p[j]);
    largest = fmax(largest, magnitude / sqrt((double)hd));
  }
  for (uint32_t j = 0; j < n; j++)
    sum += exp(out_p[j] - most);
  for (uint32_t j = 0; j < n; j++)
    out_p[j] = exp(out_p[j] - most) / sum;
  *out_e = ((double)hd * 0x1p-22 + 0x1p-21) * largest;
  return most + log(sum);
}

static void
check_forward_row(const Attention *a, uint32_t first, uint32_t query,
                  uint32_t head)
{
  uint32_t hd = a->shape.head_dim, n = query - first + 1;
  double p[MOST], e_i, exact_lse;
  double lse = (double)a->lse[query * Q_HEADS + head];

  exact_lse = probabilities(a, first, query, head, p, &e_i);
  device_assert_near(lse, exact_lse,
                     e_i + 0x1p-20 * fabs(exact_lse) + n * 0x1p-22, "lse",
                     query);
  for (uint32_t e = 0; e < hd; e++) {
    gsize i = ((gsize)query * Q_HEADS + head) * hd + e;
    double exact = 0, magnitude = 0;

    for (uint32_t j = 0; j < n; j++) {
      double x = p[j] * device_at(a->in, at(a, V, first + j,
                                            head / (Q_HEADS / KV_HEADS), e));

      exact += x;
      magnitude += fabs(x);
    }
    device_assert_near(
        device_at(a->out, i), exact,
        (2 * e_i + 2 * 0x1p-8 + n * 0x1p-22 + 0x1p-19) * magnitude, "out", i);
  }
}

/* A lost tile, a mask one column off or a wrong head of a group is far outside:
 * a column's share is above 1/128, twice the bound. */
START_TEST(test_forward)
{
  Attention a;

  if (!attention_run(&a, _i))
    return;
  for (uint32_t s = 0; s < N_SEQUENCES; s++)
    for (uint32_t i = begin[s]; i < begin[s + 1]; i++)
      for (uint32_t head = 0; head < Q_HEADS; head++)
        check_forward_row(&a, begin[s], i, head);
  attention_clear(&a);
}
END_TEST

/* Exact gradients and, for each element, the sum that its bound is of. */
typedef struct {
  double *exact, *magnitude; /* (tokens, stride) */
} Gradients;

static void
add_row(const Attention *a, Gradients *g, uint32_t first, uint32_t query,
        uint32_t head, double *e_most)
{
  uint32_t hd = a->shape.head_dim, n = query - first + 1;
  uint32_t kv = head / (Q_HEADS / KV_HEADS);
  gsize row = ((gsize)query * Q_HEADS + head) * hd;
  double scale = 1 / sqrt((double)hd), p[MOST], d[MOST_WIDTH], delta = 0, e_i;

  probabilities(a, first, query, head, p, &e_i);
  *e_most = fmax(*e_most, e_i);
  for (uint32_t e = 0; e < hd; e++) {
    d[e] = device_at(a->d_out, row + e);
    delta += device_at(a->out, row + e) * d[e];
  }
  for (uint32_t j = 0; j < n; j++) {
    gsize q = at(a, Q, query, head, 0), k = at(a, K, first + j, kv, 0);
    gsize v = at(a, V, first + j, kv, 0);
    double magnitude, d_p = dot(hd, d, a->exact + v, &magnitude);
    double ds = p[j] * (d_p - delta) * scale;
    double size = p[j] * (magnitude + fabs(delta)) * scale;

    add_scaled(hd, p[j], p[j], d, g->exact + v, g->magnitude + v);
    add_scaled(hd, ds, size, a->exact + k, g->exact + q, g->magnitude + q);
    add_scaled(hd, ds, size, a->exact + q, g->exact + k, g->magnitude + k);
  }
}

/* Those of the sequences @first holds, (n + 1) first tokens. */
static void
check_gradients(const Attention *a, const uint32_t *first, uint32_t n)
{
  gsize n_all = a->shape.n_tokens * a->shape.stride;
  Gradients g = {g_new0(double, n_all), g_new0(double, n_all)};
  double e_most = 0;
  double sums = a->shape.max_length * Q_HEADS / KV_HEADS * 0x1p-22;

  for (uint32_t s = 0; s < n; s++)
    for (uint32_t i = first[s]; i < first[s + 1]; i++)
      for (uint32_t head = 0; head < Q_HEADS; head++)
        add_row(a, &g, first[s], i, head, &e_most);
  for (gsize i = 0; i < n_all; i++)
    device_assert_near(device_at(a->d_in, i), g.exact[i],
                       (2 * e_most + 3 * 0x1p-8 + sums + 0x1p-18) *
                           g.magnitude[i],
                       "gradient", i);
  g_free(g.exact);
  g_free(g.magnitude);
}

/* The fault that this catches: d_k of one head of the group only. */
START_TEST(test_backward)
{
  Attention a;

  if (!attention_run(&a, _i))
    return;
  attention_run_backward(&a, _i);
  check_gradients(&a, begin, N_SEQUENCES);
  attention_clear(&a);
}
END_TEST

/* Another order of threads and blocks gives the same bits. */
START_TEST(test_order)
{
  Attention a;
  gsize n_out = (gsize)N_TOKENS * Q_HEADS * cases[_i].head_dim * 2;
  gsize n_lse = N_TOKENS * Q_HEADS * sizeof(float);
  uint16_t *out;
  float *lse;

  if (!attention_run(&a, _i))
    return;
  out = device_poisoned(n_out);
  lse = device_poisoned(n_lse);
  device_seed(77);
  ck_assert_int_eq(forward(&a, _i, out, lse), 0);
  ck_assert_mem_eq(a.out, out, n_out);
  ck_assert_mem_eq(a.lse, lse, n_lse);
  device_free(out);
  device_free(lse);
  attention_clear(&a);
}
END_TEST

/* Numbers that are not finite in one sequence stay there: a tile of keys or
 * values that reaches into the next has none of them in the results. */
START_TEST(test_apart)
{
  Attention a;
  gsize token = (gsize)Q_HEADS * cases[_i].head_dim;
  gsize n_out = N_TOKENS * token;
  uint16_t *out;
  float *lse;

  if (!attention_run(&a, _i))
    return;
  out = device_poisoned(n_out * 2);
  lse = device_poisoned(N_TOKENS * Q_HEADS * sizeof(float));
  memset(a.in + begin[2] * a.shape.stride, 0xff,
         (begin[3] - begin[2]) * a.shape.stride * 2);
  ck_assert_int_eq(forward(&a, _i, out, lse), 0);
  ck_assert_mem_eq(out, a.out, begin[2] * token * 2);
  ck_assert_mem_eq(out + begin[3] * token, a.out + begin[3] * token,
                   (n_out - begin[3] * token) * 2);
  device_free(out);
  device_free(lse);
  attention_clear(&a);
}
END_TEST

/* The same of gradients, in another order of threads and blocks: the bits of
 * other sequences stay. */
START_TEST(test_backward_apart)
{
  Attention a;
  gsize n, token = (gsize)Q_HEADS * cases[_i].head_dim;
  uint16_t *was;

  if (!attention_run(&a, _i))
    return;
  n = N_TOKENS * a.shape.stride;
  attention_run_backward(&a, _i);
  was = device_copy(a.d_in, n * 2);
  memset(a.in + begin[2] * a.shape.stride, 0xff,
         (begin[3] - begin[2]) * a.shape.stride * 2);
  memset(a.d_out + begin[2] * token, 0xff, (begin[3] - begin[2]) * token * 2);
  device_seed(77);
  attention_run_backward(&a, _i);
  ck_assert_mem_eq(a.d_in, was, begin[2] * a.shape.stride * 2);
  ck_assert_mem_eq(a.d_in + begin[3] * a.shape.stride,
                   was + begin[3] * a.shape.stride,
                   (n - begin[3] * a.shape.stride) * 2);
  device_free(was);
  attention_clear(&a);
}
END_TEST

static const uint32_t long_begin[] = {0, 517, 700};

/* As attention_run(), of these sequences. */
static gboolean
attention_run_long(Attention *a, int which)
{
  uint32_t hd = cases[which].head_dim;
  gsize stride = (Q_HEADS + 2 * KV_HEADS) * hd;
  RaRng rng = ra_rng_init(cases[which].seed, 1);
  int code;

  a->begin = device_copy(long_begin, sizeof long_begin);
  a->shape = (RaKAttention){.n_sequences = 2,
                            .n_tokens = 700,
                            .max_length = MOST,
                            .begin = a->begin,
                            .q_heads = Q_HEADS,
                            .kv_heads = KV_HEADS,
                            .head_dim = hd,
                            .stride = stride};
  make_in(a, &rng);
  a->d_out = device_bf16(&rng, 700 * Q_HEADS * hd, 1);
  a->d_in = device_poisoned(700 * stride * 2);
  a->out = device_poisoned((gsize)700 * Q_HEADS * hd * 2);
  a->lse = device_poisoned(700 * Q_HEADS * sizeof(float));
  device_seed(cases[which].seed);
  code = forward(a, which, a->out, a->lse);
  if (code == NOT_SUPPORTED) {
    attention_clear(a);
    return FALSE;
  }
  ck_assert_int_eq(code, 0);
  return TRUE;
}

/* One to five tiles of keys, more than there are stages, and the last of them
 * not whole; gradients too.  A block of the variant for capability 9.0 has some
 * nine of 28 tiles of queries.  The faults that this catches: a stage's parity
 * that does not turn, values or queries that are not given back at the end of a
 * tile. */
START_TEST(test_long)
{
  Attention a;

  if (!attention_run_long(&a, _i))
    return;
  for (uint32_t s = 0; s < 2; s++)
    for (uint32_t i = long_begin[s]; i < long_begin[s + 1]; i++)
      check_forward_row(&a, long_begin[s], i, i % Q_HEADS);
  attention_run_backward(&a, _i);
  check_gradients(&a, long_begin, 2);
  attention_clear(&a);
}
END_TEST

/* Cases of capability 9.0 alone, where blocks add to d_q in turns. */
enum { FIRST_WGMMA = 2, N_WGMMA = 2, N_SEEDS = 4 };

/* Blocks that run together, one ahead of another as drawn, give the same bits
 * in every run.  The faults that this catches: a block that does not wait for
 * its turn, gives it before the engine has written, or waits for a block that
 * has no room to begin. */
START_TEST(test_turns)
{
  int which = FIRST_WGMMA + _i;
  Attention a;
  gsize n_bytes;
  uint16_t *was;

  if (!attention_run_long(&a, which))
    return;
  n_bytes = a.shape.n_tokens * a.shape.stride * 2;
  a.shape.n_sequences = a.shape.kv_heads = 1; /* enough, and less to do */
  a.shape.n_tokens = long_begin[1];
  a.shape.q_heads = 2;
  ck_assert_int_eq(forward(&a, which, a.out, a.lse), 0);
  attention_run_backward(&a, which);
  was = device_copy(a.d_in, n_bytes);
  for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
    memset(a.d_in, 0xff, n_bytes);
    device_seed(seed);
    attention_run_backward(&a, which);
    ck_assert_mem_eq(a.d_in, was, n_bytes);
  }
  device_free(was);
  attention_clear(&a);
}
END_TEST

#ifndef RA_ON_GPU

/* The backward pass multiplies five matrices of each tile of queries and 128
 * keys that has a pair which is visible: scores, dP, dV, dK, dQ, each of
 * 8192 / head_dim queries by 128 keys by head_dim. */
START_TEST(test_products)
{
  int which = FIRST_WGMMA + _i;
  uint32_t hd = cases[which].head_dim, n_queries = 8192 / hd;
  uint64_t n_tiles = 0, before;
  Attention a;

  ck_assert(attention_run(&a, which));
  for (uint32_t s = 0; s < N_SEQUENCES; s++)
    for (uint32_t q = 0; q < begin[s + 1] - begin[s]; q += n_queries)
      for (uint32_t key = 0; key < q + n_queries; key += 128)
        n_tiles += Q_HEADS;
  before = ra_emu_n_multiplied();
  attention_run_backward(&a, which);
  ck_assert_uint_eq(ra_emu_n_multiplied() - before,
                    5 * n_tiles * n_queries * 128 * hd);
  attention_clear(&a);
}
END_TEST

#endif

START_TEST(test_refused)
{
  static uint16_t array[64] __attribute__((aligned(16)));
  RaKAttention good = {.n_sequences = 1,
                       .n_tokens = 1,
                       .max_length = 1,
                       .begin = begin,
                       .q_heads = 4,
                       .kv_heads = 2,
                       .head_dim = 64,
                       .stride = 512},
               bad;
  float lse[4];

#define RUN(shape, q) ra_k_attention(shape, q, array, array, array, lse, NULL)
  bad = good;
  bad.head_dim = 96;
  ck_assert_int_eq(device_done(RUN(&bad, array)), 1);
  bad = good;
  bad.q_heads = 3;
  ck_assert_int_eq(device_done(RUN(&bad, array)), 1);
  bad = good;
  bad.stride = 508;
  ck_assert_int_eq(device_done(RUN(&bad, array)), 1);
  ck_assert_int_eq(device_done(RUN(&good, array + 1)), 1);
  bad = good;
  bad.n_processors = N_PROCESSORS; /* and no ticket */
  ck_assert_int_eq(device_done(ra_k_attention_wgmma(&bad, array, array, array,
                                                    array, lse, NULL)),
                   1);
  good.n_sequences = 0;
  ck_assert_int_eq(device_done(RUN(&good, array)), 0);
#undef RUN
}
END_TEST

static Suite *
device_attention_suite(void)
{
  Suite *suite = suite_create("device_attention");
  TCase *tcase = tcase_create("attention");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_forward, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_loop_test(tcase, test_backward, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_loop_test(tcase, test_backward_apart, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_loop_test(tcase, test_order, 0, RA_CHECK_SOME(G_N_ELEMENTS(cases)));
  tcase_add_loop_test(tcase, test_apart, 0, RA_CHECK_SOME(G_N_ELEMENTS(cases)));
  tcase_add_loop_test(tcase, test_long, 0, RA_CHECK_SOME(G_N_ELEMENTS(cases)));
  tcase_add_loop_test(tcase, test_turns, 0, N_WGMMA);
#ifndef RA_ON_GPU
  tcase_add_loop_test(tcase, test_products, 0, N_WGMMA);
#endif
  tcase_add_test(tcase, test_refused);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_attention_suite)
