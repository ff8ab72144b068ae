/* CUDA kernels of experts, run thread by thread on the CPU (tests/emulator) or
 * on a device, against their formulas in double on the same inputs, within the
 * bounds of kernels/experts.h.
 */
#include "config.h"

#include "kernels/experts.h"
#include "tests/device/device_array.h"

#define U 0x1p-24 /* fp32 */
#define UB 0x1p-8 /* bf16 */

typedef struct {
  RaCpuRouting routing;
  gsize n_tokens, width;
} Shape;

/* Fewer experts than lanes and more, as many choices as experts, no token. */
static const Shape shapes[] = {
    {{.n_experts = 8, .top_k = 2}, 37, 24},
    {{.n_experts = 8, .top_k = 8, .raw = true}, 5, 8},
    {{.n_experts = 128, .top_k = 8}, 21, 72},
    {{.n_experts = 136, .top_k = 3, .raw = true}, 300, 264},
    {{.n_experts = 64, .top_k = 32}, 3, 512},
    {{.n_experts = 8, .top_k = 2}, 0, 8},
};

/* Sources of a token's rows, by the kernels. */
typedef struct {
  const Shape *s;
  gsize n; /* choices */
  float *logits, *probs, *gates;
  uint32_t *choice, *counts, *place;
} Routed;

/* Logits of eighths, many of them equal: ties. */
static Routed
routed_new(const Shape *s, RaRng *rng)
{
  gsize n = s->n_tokens * s->routing.n_experts;
  gsize n_choices = s->n_tokens * s->routing.top_k;
  Routed r = {
      .s = s,
      .n = n_choices,
      .logits = device_f32(rng, n, -24, 24),
      .gates = device_poisoned(n_choices * sizeof(float)),
      .choice = device_poisoned(n_choices * sizeof(uint32_t)),
      .counts = device_poisoned(s->routing.n_experts * sizeof(uint32_t)),
      .place = device_poisoned(n_choices * sizeof(uint32_t)),
  };

  for (gsize i = 0; i < n; i++)
    r.logits[i] = floorf(r.logits[i]) / 8;
  r.probs = device_copy(r.logits, n * sizeof(float));
  ck_assert_int_eq(device_done(ra_k_route(&s->routing, s->n_tokens, r.probs,
                                          r.choice, r.gates, NULL)),
                   0);
  ck_assert_int_eq(device_done(ra_k_place_rows(&s->routing, n_choices, r.choice,
                                               r.counts, r.place, NULL)),
                   0);
  return r;
}

static void
routed_clear(Routed *r)
{
  device_free(r->logits);
  device_free(r->probs);
  device_free(r->gates);
  device_free(r->choice);
  device_free(r->counts);
  device_free(r->place);
}

/* Experts of larger probability than @expert, and of equal ones before it. */
static gsize
rank_of(const float *probs, gsize n, gsize expert)
{
  gsize rank = 0;

  for (gsize x = 0; x < n; x++)
    rank +=
        probs[x] > probs[expert] || (probs[x] == probs[expert] && x < expert);
  return rank;
}

/* Choice j is the expert that j others stand before: of equal logits, which
 * have equal probabilities, the first. */
START_TEST(test_route)
{
  const Shape *s = &shapes[_i];
  gsize n = s->routing.n_experts, k = s->routing.top_k;
  RaRng rng = ra_rng_init(1, (uint64_t)_i);
  Routed r;

  device_seed((uint64_t)_i);
  r = routed_new(s, &rng);
  for (gsize t = 0; t < s->n_tokens; t++) {
    const float *logits = r.logits + t * n, *probs = r.probs + t * n;
    double sum = 0, chosen = 0, low = 0, high = -1e9;

    for (gsize x = 0; x < n; x++) {
      sum += exp((double)logits[x]);
      low = fmin(low, (double)logits[x]);
      high = fmax(high, (double)logits[x]);
    }
    for (gsize x = 0; x < n; x++) {
      double exact = exp((double)logits[x]) / sum;

      device_assert_near((double)probs[x], exact,
                         ((double)n / 32 + 15 + 2 * (high - low)) * U * exact,
                         "p", t * n + x);
    }
    for (gsize j = 0; j < k; j++) {
      uint32_t expert = r.choice[t * k + j];

      ck_assert_uint_lt(expert, n);
      ck_assert_uint_eq(rank_of(probs, n, expert), j);
      chosen += (double)probs[expert];
    }
    for (gsize j = 0; j < k; j++) {
      double p = (double)probs[r.choice[t * k + j]];
      double exact = s->routing.raw ? p : p / chosen;

      device_assert_near((double)r.gates[t * k + j], exact,
                         ((double)k + 1) * U * exact, "gate", t * k + j);
    }
  }
  routed_clear(&r);
}
END_TEST

/* Rows by expert, of an expert in the order of the choices; and as the host's
 * kernel has them, bit for bit.  7 x 512 choices and more: warps look at
 * several turns of 32. */
START_TEST(test_places)
{
  static const gsize sizes[] = {0, 1, 31, 32, 512, 513, 3700};
  const RaCpuRouting routing = {.n_experts = 40, .top_k = 1};
  gsize n = sizes[_i], next = 0;
  RaRng rng = ra_rng_init(2, (uint64_t)_i);
  uint32_t *choice = device_poisoned(n * sizeof *choice);
  uint32_t *place = device_poisoned(n * sizeof *place);
  uint32_t *host_place = device_poisoned(n * sizeof *place);
  uint32_t *counts = device_poisoned(40 * sizeof *counts);
  uint32_t *host_counts = device_poisoned(40 * sizeof *counts);

  for (gsize i = 0; i < n; i++) /* none of expert 3 */
    choice[i] = (uint32_t)(ra_rng_uniform(&rng) * 36) + 4;
  device_seed((uint64_t)_i);
  ck_assert_int_eq(
      device_done(ra_k_place_rows(&routing, n, choice, counts, place, NULL)),
      0);
  for (uint32_t x = 0; x < 40; x++) {
    uint32_t count = 0;

    for (gsize i = 0; i < n; i++)
      if (choice[i] == x) {
        ck_assert_uint_eq(place[i], next++);
        count++;
      }
    ck_assert_uint_eq(counts[x], count);
  }
  ra_cpu_place_rows(&routing, n, choice, host_counts, host_place);
  ck_assert_mem_eq(place, host_place, n * sizeof *place);
  ck_assert_mem_eq(counts, host_counts, 40 * sizeof *counts);
  device_free(choice);
  device_free(place);
  device_free(host_place);
  device_free(counts);
  device_free(host_counts);
}
END_TEST

/* To the rows, with weights and without. */
START_TEST(test_spread)
{
  const Shape *s = &shapes[_i];
  gsize width = s->width, k = s->routing.top_k;
  RaRng rng = ra_rng_init(3, (uint64_t)_i);
  Routed r = routed_new(s, &rng);
  uint16_t *x = device_bf16(&rng, s->n_tokens * width, 2);
  uint16_t *rows = device_poisoned(r.n * width * 2);
  uint16_t *weighted = device_poisoned(r.n * width * 2);

  ck_assert_int_eq(device_done(ra_k_spread_rows(&s->routing, s->n_tokens, width,
                                                r.place, x, NULL, rows, NULL)),
                   0);
  ck_assert_int_eq(
      device_done(ra_k_spread_rows(&s->routing, s->n_tokens, width, r.place, x,
                                   r.gates, weighted, NULL)),
      0);
  for (gsize i = 0; i < r.n; i++)
    for (gsize c = 0; c < width; c++) {
      gsize at = i / k * width + c, to = r.place[i] * width + c;
      double exact = (double)r.gates[i] * device_at(x, at);

      ck_assert_uint_eq(rows[to], x[at]);
      device_assert_near(device_at(weighted, to), exact,
                         (UB + U) * fabs(exact) + 0x1p-133, "row", to);
    }
  device_free(x);
  device_free(rows);
  device_free(weighted);
  routed_clear(&r);
}
END_TEST

/* Back from the rows, with weights or beside what is there.  The deliberate
 * fault: the rows of the next token. */
START_TEST(test_collect)
{
  const Shape *s = &shapes[_i];
  gsize width = s->width, k = s->routing.top_k, n = s->n_tokens * width;
  RaRng rng = ra_rng_init(5, (uint64_t)_i);
  Routed r = routed_new(s, &rng);
  uint16_t *x = device_bf16(&rng, n, 2);
  uint16_t *rows = device_bf16(&rng, r.n * width, 2);
  uint16_t *sum = device_poisoned(n * 2), *more = device_copy(x, n * 2);
  double rounding = ((double)k + 2) * U;

  ck_assert_int_eq(
      device_done(ra_k_collect_rows(&s->routing, s->n_tokens, width, r.place,
                                    rows, r.gates, false, sum, NULL)),
      0);
  ck_assert_int_eq(
      device_done(ra_k_collect_rows(&s->routing, s->n_tokens, width, r.place,
                                    rows, NULL, true, more, NULL)),
      0);
  for (gsize i = 0; i < n; i++) {
    gsize first = i / width * k, c = i % width;
    double of_gates = 0, size = 0, next = 0;
    double all = device_at(x, i), all_size = fabs(all);

    for (gsize j = first; j < first + k; j++) {
      double row = device_at(rows, r.place[j] * width + c);

      of_gates += (double)r.gates[j] * row;
      size += fabs((double)r.gates[j] * row);
      all += row;
      all_size += fabs(row);
      next += (double)r.gates[j] *
              device_at(rows, r.place[(j + k) % r.n] * width + c);
    }
    device_assert_near(device_at(sum, i), of_gates,
                       UB * fabs(of_gates) + rounding * size, "sum", i);
    device_assert_near(device_at(more, i), all,
                       UB * fabs(all) + rounding * all_size, "more", i);
    if (i == 0)
      ck_assert_double_gt(fabs(device_at(sum, 0) - next),
                          2 * (UB * fabs(next) + rounding * size));
  }
  ck_assert_int_eq(
      device_done(ra_k_collect_rows(&s->routing, s->n_tokens, width + 4,
                                    r.place, rows, NULL, true, more, NULL)),
      1);
  device_free(x);
  device_free(rows);
  device_free(sum);
  device_free(more);
  routed_clear(&r);
}
END_TEST

/* sum_j gate_j dots_j of the first token, of @logits. */
static double
loss(const Routed *r, const double *logits, const double *dots)
{
  gsize n = r->s->routing.n_experts, k = r->s->routing.top_k;
  double all = 0, chosen = 0, sum = 0;

  for (gsize x = 0; x < n; x++)
    all += exp(logits[x]);
  for (gsize j = 0; j < k; j++) {
    chosen += exp(logits[r->choice[j]]);
    sum += exp(logits[r->choice[j]]) * dots[j];
  }
  return sum / (r->s->routing.raw ? all : chosen);
}

/* Its derivative by logit @x by differences, which know nothing of the formula:
 * of 1e-5, so off by 1e-10 / 6 of a third derivative, below the largest of
 * @dots, and by the sums' roundings, 2^-53 / 1e-5 of it. */
static double
slope(const Routed *r, gsize x, const double *dots)
{
  gsize n = r->s->routing.n_experts;
  g_autofree double *logits = g_new(double, n);
  double up;

  for (gsize y = 0; y < n; y++)
    logits[y] = (double)r->logits[y] + (y == x) * 1e-5;
  up = loss(r, logits, dots);
  logits[x] -= 2e-5;
  return (up - loss(r, logits, dots)) / 2e-5;
}

/* @dots of token @t's choices; returns the largest sum of their terms' sizes.
 */
static double
dot_rows(const Routed *r, gsize t, const uint16_t *d_out, const uint16_t *made,
         double *dots)
{
  gsize width = r->s->width, k = r->s->routing.top_k;
  double largest = 0;

  for (gsize j = 0; j < k; j++) {
    const uint16_t *row = made + r->place[t * k + j] * width;
    double size = 0;

    dots[j] = 0;
    for (gsize c = 0; c < width; c++) {
      double term = device_at(d_out, t * width + c) * device_at(row, c);

      dots[j] += term;
      size += fabs(term);
    }
    largest = fmax(largest, size);
  }
  return largest;
}

/* By the formula, and of the first token by differences. */
START_TEST(test_route_backward)
{
  const Shape *s = &shapes[_i];
  gsize n = s->routing.n_experts, k = s->routing.top_k, width = s->width;
  RaRng rng = ra_rng_init(4, (uint64_t)_i);
  Routed r = routed_new(s, &rng);
  uint16_t *d_out = device_bf16(&rng, s->n_tokens * width, 1);
  uint16_t *made = device_bf16(&rng, r.n * width, 1);
  uint16_t *d_logits = device_poisoned(s->n_tokens * n * 2);
  g_autofree double *dots = g_new(double, k), *d = g_new(double, n);

  ck_assert_int_eq(device_done(ra_k_route_backward(
                       &s->routing, s->n_tokens, width, r.probs, r.choice,
                       r.gates, r.place, d_out, made, d_logits, NULL)),
                   0);
  for (gsize t = 0; t < s->n_tokens; t++) {
    const float *p = r.probs + t * n;
    const uint32_t *choice = r.choice + t * k;
    double largest = dot_rows(&r, t, d_out, made, dots);
    double chosen = 0, mean = 0, dot = 0;

    memset(d, 0, n * sizeof *d);
    for (gsize j = 0; j < k; j++) {
      chosen += (double)p[choice[j]];
      mean += dots[j] * (double)r.gates[t * k + j];
    }
    for (gsize j = 0; j < k; j++) {
      d[choice[j]] = s->routing.raw ? dots[j] : (dots[j] - mean) / chosen;
      dot += (double)p[choice[j]] * d[choice[j]];
    }
    for (gsize x = 0; x < n; x++) {
      double got = device_at(d_logits, t * n + x);
      double exact = (double)p[x] * (d[x] - dot);
      double bound = UB * fabs(exact) + 0x1p-133 +
                     ((double)width / 8 + 8 * (double)k + 44) * U *
                         (double)p[x] * largest / (s->routing.raw ? 1 : chosen);

      device_assert_near(got, exact, bound, "d logit", t * n + x);
      if (t == 0)
        device_assert_near(got, slope(&r, x, dots), bound + 1e-9 * largest,
                           "d logit by differences", x);
    }
  }
  device_free(d_out);
  device_free(made);
  device_free(d_logits);
  routed_clear(&r);
}
END_TEST

/* A NaN is chosen nevertheless, each expert once. */
START_TEST(test_nan)
{
  const RaCpuRouting routing = {.n_experts = 40, .top_k = 3};
  const RaCpuRouting wide = {.n_experts = RA_K_EXPERTS + 8, .top_k = 3};
  const RaCpuRouting deep = {.n_experts = 40, .top_k = 33};
  float *probs = device_poisoned(40 * sizeof *probs);
  float *gates = device_poisoned(3 * sizeof *gates);
  uint32_t *choice = device_poisoned(3 * sizeof *choice);

  for (int on_host = 0; on_host < 2; on_host++) {
    if (on_host)
      ra_cpu_route(&routing, 1, probs, choice, gates);
    else
      ck_assert_int_eq(
          device_done(ra_k_route(&routing, 1, probs, choice, gates, NULL)), 0);
    for (uint32_t j = 0; j < 3; j++)
      ck_assert_uint_eq(choice[j], j);
  }
  ck_assert_int_eq(
      device_done(ra_k_route(&wide, 1, probs, choice, gates, NULL)), 1);
  ck_assert_int_eq(
      device_done(ra_k_route(&deep, 1, probs, choice, gates, NULL)), 1);
  device_free(probs);
  device_free(gates);
  device_free(choice);
}
END_TEST

static Suite *
device_experts_suite(void)
{
  Suite *suite = suite_create("device_experts");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_route, 0, G_N_ELEMENTS(shapes));
  tcase_add_loop_test(tcase, test_places, 0, 7);
  tcase_add_loop_test(tcase, test_spread, 0, G_N_ELEMENTS(shapes));
  tcase_add_loop_test(tcase, test_collect, 0, G_N_ELEMENTS(shapes));
  tcase_add_loop_test(tcase, test_route_backward, 0, G_N_ELEMENTS(shapes));
  tcase_add_test(tcase, test_nan);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_experts_suite)
