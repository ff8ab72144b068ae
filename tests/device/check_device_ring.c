/* Attention over keys that are not those of the queries, with ALiBi's
 * distances, and the merge of two such, run thread by thread on the CPU
 * (tests/emulator) or on a device, against the formulas in double on the same
 * inputs: the worst distance in parts of the bounds of kernels/attention.h is
 * at most 1, and far above it after a fault.
 */
#include "config.h"

#include "kernels/attention.h"
#include "kernels/cpu/cpu_attention.h"
#include "tests/device/device_array.h"

/* Chunks of the ranks of a ring: more keys than queries and fewer, none of
 * either, one tile and more. */
static const uint32_t begin[] = {0, 70, 70, 200, 203};
static const uint32_t kv_begin[] = {0, 129, 169, 234, 234};

enum {
  N_SEQUENCES = 4,
  N_QUERIES = 203,
  N_KEYS = 234,
  LONGEST = 130, /* queries of a sequence */
  MOST = 129,    /* keys of one */
  Q_HEADS = 6,
  KV_HEADS = 2,
  GROUP = Q_HEADS / KV_HEADS
};

/* Fields of RaKAttention that a case sets; ALiBi's distances are of places that
 * the ranks' chunks have, or of a sequence's own tokens. */
static const struct {
  uint32_t head_dim;
  gboolean apart, slopes;
} cases[] = {{64, TRUE, FALSE}, {128, TRUE, FALSE}, {64, TRUE, TRUE},
             {128, TRUE, TRUE}, {64, FALSE, TRUE},  {128, FALSE, TRUE}};

/* One attention; all arrays the device's. */
typedef struct {
  RaKAttention shape;
  const uint32_t *kv_begin; /* also where the shape has none */
  uint16_t *q, *k, *v, *out, *d_out, *d_q, *d_k, *d_v;
  uint32_t *begins, *kv_begins, *seen, *q_places, *kv_places;
  float *slopes, *lse, *workspace;
} Ring;

/* Query @i of a sequence of @n with @n_keys sees the more the later it is; the
 * first ten none, the last all of them. */
static uint32_t
seen_by(uint32_t i, uint32_t n, uint32_t n_keys)
{
  return i < 10 ? 0 : i + 1 == n ? n_keys : n_keys * (i - 9) / n;
}

static void
set_sight(Ring *r)
{
  for (uint32_t s = 0; s < N_SEQUENCES; s++) {
    uint32_t n_keys = kv_begin[s + 1] - kv_begin[s];

    for (uint32_t i = begin[s]; i < begin[s + 1]; i++) {
      r->seen[i] = seen_by(i - begin[s], begin[s + 1] - begin[s], n_keys);
      r->q_places[i] = 3 * r->seen[i] + 1;
    }
    for (uint32_t j = kv_begin[s]; j < kv_begin[s + 1]; j++)
      r->kv_places[j] = 3 * (j - kv_begin[s]) + j % 2;
  }
}

static Ring *
ring_new(int which)
{
  uint32_t hd = cases[which].head_dim;
  gboolean apart = cases[which].apart;
  Ring *r = g_new0(Ring, 1);
  RaRng rng = ra_rng_init(40, (uint64_t)which);
  gsize q = (gsize)Q_HEADS * hd, kv = 2 * (gsize)KV_HEADS * hd;
  uint32_t n_keys = apart ? N_KEYS : N_QUERIES;

  r->kv_begin = apart ? kv_begin : begin;
  r->begins = device_copy(begin, sizeof begin);
  r->kv_begins = device_copy(kv_begin, sizeof kv_begin);
  r->seen = device_new(N_QUERIES * sizeof *r->seen);
  r->q_places = device_new(N_QUERIES * sizeof *r->q_places);
  r->kv_places = device_new(N_KEYS * sizeof *r->kv_places);
  r->slopes = device_new(Q_HEADS * sizeof *r->slopes);
  set_sight(r);
  for (uint32_t h = 0; h < Q_HEADS; h++)
    r->slopes[h] = ra_cpu_alibi_slope(h, Q_HEADS);
  r->shape = (RaKAttention){.n_sequences = N_SEQUENCES,
                            .n_tokens = N_QUERIES,
                            .max_length = LONGEST,
                            .begin = r->begins,
                            .q_heads = Q_HEADS,
                            .kv_heads = KV_HEADS,
                            .head_dim = hd,
                            .stride = q + 8,
                            .kv_stride = kv,
                            .d_q_stride = q};
  if (apart) {
    r->shape.kv_begin = r->kv_begins;
    r->shape.seen = r->seen;
    r->shape.max_keys = MOST;
    r->shape.q_places = r->q_places;
    r->shape.kv_places = r->kv_places;
  }
  if (cases[which].slopes)
    r->shape.slopes = r->slopes;
  r->q = device_bf16(&rng, N_QUERIES * r->shape.stride, 2);
  r->k = device_bf16(&rng, n_keys * kv, 2);
  r->v = r->k + kv / 2;
  r->d_out = device_bf16(&rng, N_QUERIES * q, 1);
  r->out = device_poisoned(N_QUERIES * q * 2);
  r->d_q = device_poisoned(N_QUERIES * q * 2);
  r->d_k = device_poisoned(n_keys * kv * 2);
  r->d_v = r->d_k + kv / 2;
  r->lse = device_poisoned((gsize)N_QUERIES * Q_HEADS * sizeof(float));
  r->workspace = device_poisoned((gsize)N_QUERIES * Q_HEADS * sizeof(float));
  device_seed((uint64_t)which);
  return r;
}

static void
ring_free(Ring *r)
{
  device_free(r->begins);
  device_free(r->kv_begins);
  device_free(r->seen);
  device_free(r->q_places);
  device_free(r->kv_places);
  device_free(r->slopes);
  device_free(r->q);
  device_free(r->k);
  device_free(r->d_out);
  device_free(r->out);
  device_free(r->d_q);
  device_free(r->d_k);
  device_free(r->lse);
  device_free(r->workspace);
  g_free(r);
}

static void
run_forward(Ring *r)
{
  ck_assert_int_eq(device_done(ra_k_attention(&r->shape, r->q, r->k, r->v,
                                              r->out, r->lse, NULL)),
                   0);
}

/* Distance in parts of the bound; 0 within a bound of 0. */
static void
take(double got, double exact, double bound, double *worst)
{
  double off = fabs(got - exact);

  if (!(off <= 0))
    *worst = off / bound >= 0 ? fmax(*worst, off / bound) : (double)INFINITY;
}

/* Keys of its sequence that query @i of sequence @s sees. */
static uint32_t
n_seen(const Ring *r, uint32_t s, uint32_t i)
{
  return r->shape.seen ? r->seen[i] : i - begin[s] + 1;
}

/* Query @i's scores of the keys that it sees; returns e_i of the header. */
static double
scores_of(const Ring *r, uint32_t s, uint32_t i, uint32_t head, double *out)
{
  uint32_t hd = r->shape.head_dim, kv = head / GROUP;
  double scale = 1 / sqrt((double)hd), largest = 0;

  for (uint32_t j = 0; j < n_seen(r, s, i); j++) {
    uint32_t key = r->kv_begin[s] + j;
    double score = 0, magnitude = 0, far = 0;

    for (uint32_t e = 0; e < hd; e++) {
      double x = device_at(r->q, i * r->shape.stride + head * hd + e) *
                 device_at(r->k, key * r->shape.kv_stride + kv * hd + e);

      score += x * scale;
      magnitude += fabs(x) * scale;
    }
    if (r->shape.slopes)
      far = (double)r->slopes[head] *
            (r->shape.q_places
                 ? (double)r->kv_places[key] - (double)r->q_places[i]
                 : (double)j - (double)(i - begin[s]));
    out[j] = score + far;
    largest = fmax(largest, magnitude + fabs(far));
  }
  return ((double)hd * 0x1p-22 + 0x1p-21) * largest;
}

static void
take_row(const Ring *r, uint32_t s, uint32_t i, uint32_t head, double *worst)
{
  uint32_t hd = r->shape.head_dim, kv = head / GROUP, n = n_seen(r, s, i);
  double p[LONGEST], most = -HUGE_VAL, sum = 0, lse, e_i;
  double got = (double)r->lse[i * Q_HEADS + head];

  e_i = scores_of(r, s, i, head, p);
  for (uint32_t j = 0; j < n; j++)
    most = fmax(most, p[j]);
  for (uint32_t j = 0; j < n; j++)
    sum += exp(p[j] - most);
  lse = most + log(sum);
  if (n == 0)
    *worst = isinf(got) && got < 0 ? *worst : (double)INFINITY;
  else
    take(got, lse, e_i + 0x1p-20 * fabs(lse) + n * 0x1p-22, worst);
  for (uint32_t e = 0; e < hd; e++) {
    double exact = 0, magnitude = 0;

    for (uint32_t j = 0; j < n; j++) {
      double x = exp(p[j] - most) / sum *
                 device_at(r->v, (r->kv_begin[s] + j) * r->shape.kv_stride +
                                     kv * hd + e);

      exact += x;
      magnitude += fabs(x);
    }
    take(device_at(r->out, ((gsize)i * Q_HEADS + head) * hd + e), exact,
         (2 * e_i + 2 * 0x1p-8 + n * 0x1p-22 + 0x1p-19) * magnitude, worst);
  }
}

static double
worst_forward(const Ring *r)
{
  double worst = 0;

  for (uint32_t s = 0; s < N_SEQUENCES; s++)
    for (uint32_t i = begin[s]; i < begin[s + 1]; i++)
      for (uint32_t head = 0; head < Q_HEADS; head++)
        take_row(r, s, i, head, &worst);
  return worst;
}

/* A query in the middle of the third sequence sees one key more, or stands one
 * place further back. */
static void
make_fault(Ring *r)
{
  if (r->shape.seen)
    r->seen[150]++;
  else
    r->slopes[3] *= 1.5f;
}

static void
undo_fault(Ring *r)
{
  if (r->shape.seen)
    r->seen[150]--;
  else
    r->slopes[3] = ra_cpu_alibi_slope(3, Q_HEADS);
}

START_TEST(test_forward)
{
  Ring *r = ring_new(_i);

  run_forward(r);
  ck_assert_double_le(worst_forward(r), 1);
  make_fault(r);
  run_forward(r);
  undo_fault(r);
  ck_assert_double_gt(worst_forward(r), 2);
  if (r->shape.q_places && r->shape.slopes) {
    r->q_places[150]++;
    run_forward(r);
    r->q_places[150]--;
    ck_assert_double_gt(worst_forward(r), 2);
  }
  ring_free(r);
}
END_TEST

/* Exact gradients, as large as the arrays, and the sums of their bounds. */
typedef struct {
  double *d_q, *d_k, *d_v, *q_size, *k_size, *v_size;
  double e_most;
} Gradients;

static void
add_row(const Ring *r, Gradients *g, uint32_t s, uint32_t i, uint32_t head)
{
  uint32_t hd = r->shape.head_dim, n = n_seen(r, s, i);
  gsize row = ((gsize)i * Q_HEADS + head) * hd;
  double scale = 1 / sqrt((double)hd), delta = 0, p[LONGEST];
  double lse = (double)r->lse[i * Q_HEADS + head];

  g->e_most = fmax(g->e_most, scores_of(r, s, i, head, p));
  for (uint32_t e = 0; e < hd; e++)
    delta += device_at(r->out, row + e) * device_at(r->d_out, row + e);
  for (uint32_t j = 0; j < n; j++) {
    gsize key = (r->kv_begin[s] + j) * r->shape.kv_stride + head / GROUP * hd;
    double d_p = 0, size = 0, ds;

    p[j] = exp(p[j] - lse);
    for (uint32_t e = 0; e < hd; e++) {
      double d = device_at(r->d_out, row + e);
      double x = d * device_at(r->v, key + e);

      d_p += x;
      size += fabs(x);
      g->d_v[key + e] += p[j] * d;
      g->v_size[key + e] += fabs(p[j] * d);
    }
    ds = p[j] * (d_p - delta) * scale;
    size = p[j] * (size + fabs(delta)) * scale;
    for (uint32_t e = 0; e < hd; e++) {
      double q = device_at(r->q, i * r->shape.stride + head * hd + e);
      double k = device_at(r->k, key + e);

      g->d_q[row + e] += ds * k;
      g->q_size[row + e] += size * fabs(k);
      g->d_k[key + e] += ds * q;
      g->k_size[key + e] += size * fabs(q);
    }
  }
}

static double
worst_backward(const Ring *r)
{
  uint32_t hd = r->shape.head_dim;
  gsize n_q = (gsize)N_QUERIES * Q_HEADS * hd;
  gsize n_kv = r->kv_begin[N_SEQUENCES] * r->shape.kv_stride;
  gsize width = (gsize)KV_HEADS * hd;
  Gradients g = {g_new0(double, n_q),
                 g_new0(double, n_kv),
                 g_new0(double, n_kv),
                 g_new0(double, n_q),
                 g_new0(double, n_kv),
                 g_new0(double, n_kv),
                 0};
  double worst = 0, part;

  for (uint32_t s = 0; s < N_SEQUENCES; s++)
    for (uint32_t i = begin[s]; i < begin[s + 1]; i++)
      for (uint32_t head = 0; head < Q_HEADS; head++)
        add_row(r, &g, s, i, head);
  part = 2 * g.e_most + 3 * 0x1p-8 + LONGEST * GROUP * 0x1p-22 + 0x1p-18;
  for (gsize i = 0; i < n_q; i++)
    take(device_at(r->d_q, i), g.d_q[i], part * g.q_size[i], &worst);
  for (gsize key = 0; key < n_kv; key += r->shape.kv_stride)
    for (gsize i = key; i < key + width; i++) {
      take(device_at(r->d_k, i), g.d_k[i], part * g.k_size[i], &worst);
      take(device_at(r->d_v, i), g.d_v[i], part * g.v_size[i], &worst);
    }
  g_free(g.d_q);
  g_free(g.d_k);
  g_free(g.d_v);
  g_free(g.q_size);
  g_free(g.k_size);
  g_free(g.v_size);
  return worst;
}

static void
run_backward(Ring *r)
{
  ck_assert_int_eq(device_done(ra_k_attention_backward(
                       &r->shape, r->q, r->k, r->v, r->out, r->lse, r->d_out,
                       r->d_q, r->d_k, r->d_v, r->workspace, NULL)),
                   0);
}

/* Gradients of an output and lse over these keys and others, which the formulas
 * take as they are: those here, lse more by a half. */
START_TEST(test_backward)
{
  Ring *r = ring_new(_i);

  run_forward(r);
  for (gsize i = 0; i < (gsize)N_QUERIES * Q_HEADS; i++)
    r->lse[i] = r->lse[i] > -INFINITY ? r->lse[i] + 0.5f : 0.0f;
  run_backward(r);
  ck_assert_double_le(worst_backward(r), 1);
  make_fault(r);
  run_backward(r);
  undo_fault(r);
  ck_assert_double_gt(worst_backward(r), 2);
  ring_free(r);
}
END_TEST

/* A rank with none of the queries has gradients of its keys all the same: 0. */
START_TEST(test_no_queries)
{
  Ring *r = ring_new(0);
  gsize width = (gsize)KV_HEADS * r->shape.head_dim;

  memset(r->begins, 0, sizeof begin);
  r->shape.n_tokens = r->shape.max_length = 0;
  run_forward(r);
  run_backward(r);
  for (gsize key = 0; key < N_KEYS * 2 * width; key += 2 * width)
    for (gsize i = 0; i < width; i++) {
      ck_assert_uint_eq(r->d_k[key + i], 0);
      ck_assert_uint_eq(r->d_v[key + i], 0);
    }
  ring_free(r);
}
END_TEST

/* Rows of which one saw nothing in @part, and some are far apart. */
START_TEST(test_merge)
{
  enum { N_TOKENS = 37, N = N_TOKENS * Q_HEADS };
  uint32_t hd = _i ? 128 : 64;
  RaRng rng = ra_rng_init(41, (uint64_t)_i);
  uint16_t *part = device_bf16(&rng, N * hd, 1);
  uint16_t *out = device_bf16(&rng, N * hd, 1);
  uint16_t *was = device_copy(out, N * hd * 2);
  float *part_lse = device_f32(&rng, N, -20, 20);
  float *lse = device_f32(&rng, N, -20, 20);
  float *lse_was = device_copy(lse, N * sizeof *lse);
  double worst = 0;

  part_lse[5] = -INFINITY;
  ck_assert_int_eq(device_done(ra_k_attention_merge(N_TOKENS, Q_HEADS, hd, part,
                                                    part_lse, out, lse, NULL)),
                   0);
  for (gsize row = 0; row < N; row++) {
    double x = (double)lse_was[row], y = (double)part_lse[row];
    double most = fmax(x, y), exact = most + log(exp(x - most) + exp(y - most));
    double a = exp(x - exact), b = exp(y - exact);

    take((double)lse[row], exact,
         0x1p-21 * (1 + fmax(fabs(x), isinf(y) ? 0 : fabs(y))), &worst);
    for (gsize i = row * hd; i < (row + 1) * hd; i++)
      take(device_at(out, i), a * device_at(was, i) + b * device_at(part, i),
           (0x1p-8 + 0x1p-20) *
               (a * fabs(device_at(was, i)) + b * fabs(device_at(part, i))),
           &worst);
  }
  ck_assert_double_le(worst, 1);
  ck_assert_mem_eq(&lse[5], &lse_was[5], sizeof *lse);
  ck_assert_mem_eq(out + 5 * hd, was + 5 * hd, hd * 2);
  device_free(part);
  device_free(out);
  device_free(was);
  device_free(part_lse);
  device_free(lse);
  device_free(lse_was);
}
END_TEST

/* Other keys without how many of them are seen; strides; the kernel for
 * capability 9.0 alone leaves what is not plain to the other. */
START_TEST(test_refused)
{
  Ring *r = ring_new(0);
  RaKAttention bad = r->shape;

#define RUN(run, shape)                                                        \
  device_done(run(shape, r->q, r->k, r->v, r->out, r->lse, NULL))
  bad.seen = NULL;
  ck_assert_int_eq(RUN(ra_k_attention, &bad), 1);
  bad = r->shape;
  bad.kv_stride += 4;
  ck_assert_int_eq(RUN(ra_k_attention, &bad), 1);
  ck_assert_int_eq(RUN(ra_k_attention_wgmma, &r->shape), 801);
#undef RUN
  ck_assert_int_eq(device_done(ra_k_attention_merge(1, 1, 63, r->q, r->lse,
                                                    r->out, r->lse, NULL)),
                   1);
  ring_free(r);
}
END_TEST

static Suite *
device_ring_suite(void)
{
  Suite *suite = suite_create("device_ring");
  TCase *tcase = tcase_create("ring");

  tcase_set_timeout(tcase, 240);
  tcase_add_loop_test(tcase, test_forward, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_loop_test(tcase, test_backward, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_no_queries);
  tcase_add_loop_test(tcase, test_merge, 0, 2);
  tcase_add_test(tcase, test_refused);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_ring_suite)
