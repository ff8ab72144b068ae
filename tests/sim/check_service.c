/* The rollout service against one that takes every step of every replica by
 * itself; its bound of admission, its staleness, its place in a plan. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/generate/service.h"
#include "tests/support/check_main.h"
#include "tests/support/service_law.h"

#define N_BATCHES 5
#define MAX_RUNNING 8
#define MAX_REPLICAS 4
#define MAX_N 256

static const RaServeSource source = {line, mixed, NULL};

/* --- The oracle --- */

typedef struct {
  double now_s;
  uint32_t n, version;
  uint32_t index[MAX_RUNNING], made[MAX_RUNNING];
} OracleReplica;

typedef struct {
  double end_s[MAX_N];
  uint32_t version[MAX_N];
} Oracle;

/* How many have come, of @n; or with @begun are at least under way. */
static uint32_t
versions_at(const RaServiceVersion *versions, uint32_t n, gboolean begun,
            double now_s)
{
  uint32_t i = 0;

  while (i < n && (begun ? versions[i].begin_s : versions[i].end_s) <= now_s)
    i++;
  return i;
}

/* Sequences that have all their tokens leave. */
static void
oracle_leave(const RaServiceSpec *spec, OracleReplica *r, Oracle *out)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < r->n; i++)
    if (r->made[i] == spec->response[r->index[i]]) {
      out->end_s[r->index[i]] = r->now_s;
    } else {
      r->index[n] = r->index[i];
      r->made[n++] = r->made[i];
    }
  r->n = n;
}

/* Keys of what stands from @first on; each has a token more. */
static void
oracle_keys(const RaServiceSpec *spec, OracleReplica *r, uint32_t first,
            Oracle *out)
{
  double tokens = 0, pairs = 0;

  for (uint32_t i = first; i < r->n; i++) {
    double kv = (double)spec->prompt[r->index[i]] + r->made[i]++;

    tokens += kv;
    pairs += kv * (kv + 1) / 2;
  }
  r->now_s += BASE_S + PROMPT_S * tokens + PAIR_S * pairs;
  oracle_leave(spec, r, out);
}

/* One step: every sequence attends to all that it knows. */
static void
oracle_step(const RaServiceSpec *spec, OracleReplica *r, Oracle *out)
{
  double kv = 0;

  for (uint32_t i = 0; i < r->n; i++)
    kv += (double)spec->prompt[r->index[i]] + r->made[i]++;
  r->now_s += BASE_S + SEQUENCE_S * r->n + TOKEN_S * kv;
  oracle_leave(spec, r, out);
}

/* @more: batches that it admits too many; @pauses: FALSE is the fault of
 * replicas that go on while weights come. */
static void
oracle_run(const RaServiceSpec *spec, const RaServiceVersion *versions,
           uint32_t n_known, uint32_t more, gboolean pauses, Oracle *out)
{
  OracleReplica replicas[MAX_REPLICAS] = {{0}};
  uint32_t submitted = 0;

  for (uint32_t i = 0; i < spec->n; i++)
    out->end_s[i] = (double)INFINITY;
  for (;;) {
    OracleReplica *r = &replicas[0];
    uint32_t version, first;
    gboolean drains;
    double at_s;

    for (uint32_t d = 1; d < spec->n_replicas; d++)
      if (replicas[d].now_s < r->now_s)
        r = &replicas[d];
    if (isinf(r->now_s))
      return;
    at_s = r->now_s;
    version = versions_at(versions, n_known, pauses, r->now_s);
    drains =
        version != r->version && spec->refit == RA_SERVICE_DRAIN && r->n > 0;
    if (version != r->version && !drains) {
      const RaServiceVersion *v = &versions[version - 1];

      r->version = version;
      if (pauses)
        r->now_s = fmax(v->end_s, r->now_s + (v->end_s - v->begin_s));
      if (spec->refit == RA_SERVICE_INTERRUPT && r->n > 0)
        oracle_keys(spec, r, 0, out);
      if (r->now_s > at_s)
        continue;
    }
    version = versions_at(versions, n_known, FALSE, r->now_s);
    first = r->n;
    while (!drains && r->n < spec->max_sequences && submitted < spec->n &&
           submitted < (version + spec->staleness + 1 + more) * spec->sync *
                           spec->batch) {
      out->version[submitted] = r->version;
      r->made[r->n] = 0;
      r->index[r->n++] = submitted++;
    }
    if (r->n > first)
      oracle_keys(spec, r, first, out);
    else if (r->n > 0)
      oracle_step(spec, r, out);
    else {
      version = versions_at(versions, n_known, pauses, r->now_s);
      r->now_s = version == n_known ? (double)INFINITY
                 : pauses           ? versions[version].begin_s
                                    : versions[version].end_s;
    }
  }
}

/* --- Tests --- */

/* Lengths and versions at random: every third transfer takes no time. */
static void
random_case(uint32_t seed, RaServiceSpec *spec, uint32_t *prompt,
            uint32_t *response, RaServiceVersion *versions)
{
  RaRng rng = ra_rng_init(seed, 0);

  *spec = (RaServiceSpec){
      .n_replicas = 1 + (uint32_t)ra_rng_below(&rng, MAX_REPLICAS),
      .max_sequences = 1 + (uint32_t)ra_rng_below(&rng, MAX_RUNNING),
      .batch = 1 + (uint32_t)ra_rng_below(&rng, 16),
      .staleness = (uint32_t)ra_rng_below(&rng, 4),
      .sync = 1 + seed % 3,
      .refit = RA_SERVICE_DRAIN + (int)ra_rng_below(&rng, 3),
      .prompt = prompt,
      .response = response};
  spec->batch = MAX(spec->batch / spec->sync, 1);
  spec->n = spec->batch * (N_BATCHES + spec->sync * (spec->staleness + 1));
  for (uint32_t i = 0; i < spec->n; i++) {
    prompt[i] = 1 + (uint32_t)ra_rng_below(&rng, 40);
    response[i] = 1 + (uint32_t)ra_rng_below(&rng, 60);
  }
  for (uint32_t k = 0; k < N_BATCHES; k++) {
    RaServiceVersion *v = &versions[k];

    v->begin_s = (k > 0 ? v[-1].end_s : 0) + 0.05 + 2 * ra_rng_uniform(&rng);
    v->end_s = v->begin_s + (k % 3 == 0 ? 0 : ra_rng_uniform(&rng));
  }
}

static int
compare(const void *a, const void *b)
{
  const double *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* Every batch is ready when the oracle's is, and its sequences are as stale;
 * an oracle that admits a batch more is not, nor one whose replicas go on while
 * weights come. */
START_TEST(test_oracle)
{
  guint n_off = 0, n_early = 0, n_stale = 0;

  for (uint32_t seed = 0; seed < 200; seed++) {
    uint32_t prompt[MAX_N], response[MAX_N];
    RaServiceVersion versions[N_BATCHES];
    double ready_s[N_BATCHES], sorted[MAX_N];
    uint64_t staleness[N_BATCHES], expected[N_BATCHES] = {0};
    RaServiceSpec spec;
    Oracle oracle, wrong, restless;
    RaServiceResult result = {
        .n_batches = N_BATCHES, .ready_s = ready_s, .staleness = staleness};

    random_case(seed, &spec, prompt, response, versions);
    ck_assert_uint_le(spec.n, MAX_N);
    ra_service_run(&spec, &source, versions, N_BATCHES, &result);
    oracle_run(&spec, versions, N_BATCHES, 0, TRUE, &oracle);
    oracle_run(&spec, versions, N_BATCHES, 1, TRUE, &wrong);
    oracle_run(&spec, versions, N_BATCHES, 0, FALSE, &restless);
    memcpy(sorted, oracle.end_s, spec.n * sizeof *sorted);
    qsort(sorted, spec.n, sizeof *sorted, compare);
    for (uint32_t k = 0; k < N_BATCHES; k++) {
      double end_s = sorted[(k + 1) * spec.batch - 1];

      ck_assert(isfinite(end_s));
      ck_assert_double_eq_tol(ready_s[k], end_s, 1e-9 * end_s);
    }
    for (uint32_t i = 0; i < spec.n; i++) {
      uint32_t place = 0;

      for (uint32_t j = 0; j < spec.n; j++)
        place += oracle.end_s[j] < oracle.end_s[i] - 1e-12 ||
                 (fabs(oracle.end_s[j] - oracle.end_s[i]) <= 1e-12 && j < i);
      if (isfinite(oracle.end_s[i]) && place < N_BATCHES * spec.batch) {
        uint32_t batch = place / spec.batch;

        expected[batch - MIN(batch, spec.sync * oracle.version[i])]++;
      }
    }
    for (uint32_t k = 0; k < N_BATCHES; k++) {
      ck_assert_uint_eq(staleness[k], expected[k]);
      n_stale += k > 0 && staleness[k] > 0;
    }
    memcpy(sorted, wrong.end_s, spec.n * sizeof *sorted);
    qsort(sorted, spec.n, sizeof *sorted, compare);
    n_off += fabs(sorted[N_BATCHES * spec.batch - 1] - ready_s[N_BATCHES - 1]) >
             1e-6;
    memcpy(sorted, restless.end_s, spec.n * sizeof *sorted);
    qsort(sorted, spec.n, sizeof *sorted, compare);
    n_early += sorted[N_BATCHES * spec.batch - 1] <
               ready_s[N_BATCHES - 1] * (1 - 1e-6);
  }
  ck_assert_uint_gt(n_off, 20);
  ck_assert_uint_gt(n_early, 20);
  ck_assert_uint_gt(n_stale, 20);
}
END_TEST

/* Without a version no more than (eta + 1) s B are ever begun: with eta 1 and a
 * sync after every batch two are ready, the third never is; with one after
 * every two, four are, of which batch j waited for j trainings. */
START_TEST(test_admission)
{
  uint32_t prompt[64], response[64];
  double ready_s[5];
  uint64_t staleness[5];
  RaServiceSpec spec = {2,  4,      8,        1,    1, RA_SERVICE_DRAIN,
                        64, prompt, response, NULL, 1, 1};
  RaServiceResult result = {
      .n_batches = 3, .ready_s = ready_s, .staleness = staleness};

  for (guint i = 0; i < 64; i++)
    prompt[i] = response[i] = 5;
  ra_service_run(&spec, &source, NULL, 0, &result);
  ck_assert(isfinite(ready_s[1]) && isinf(ready_s[2]));
  /* None of batch 0 is stale, all of batch 1 are of version 0. */
  ck_assert_uint_eq(staleness[0], 8);
  ck_assert_uint_eq(staleness[1], 8);
  ck_assert_uint_eq(staleness[2], 0);
  spec.sync = 2;
  result.n_batches = 5;
  ra_service_run(&spec, &source, NULL, 0, &result);
  ck_assert(isfinite(ready_s[3]) && isinf(ready_s[4]));
  for (guint j = 0; j < 4; j++)
    ck_assert_uint_eq(staleness[j], 8);
}
END_TEST

/* A version that comes while all run: draining begins nothing more until they
 * have ended, interrupting computes keys anew, in flight nothing is lost.  One
 * replica whose version takes 1 s ends all by that much later. */
START_TEST(test_refits)
{
  uint32_t prompt[16], response[16];
  const RaServiceVersion version = {0.2, 0.2}, slow = {0.2, 1.2};
  double ready_s[3][2], late_s[2];
  uint64_t staleness[2], recomputed[3];

  for (guint i = 0; i < 16; i++) {
    prompt[i] = 100;
    response[i] = 30 + 4 * i;
  }
  for (int refit = 0; refit < 3; refit++) {
    RaServiceSpec spec = {
        1,  4,      8,        1,    1, RA_SERVICE_DRAIN + refit,
        16, prompt, response, NULL, 1, 1};
    RaServiceResult result = {
        .n_batches = 2, .ready_s = ready_s[refit], .staleness = staleness};

    ra_service_run(&spec, &source, &version, 1, &result);
    recomputed[refit] = result.recomputed_tokens;
    result.ready_s = late_s;
    ra_service_run(&spec, &source, &slow, 1, &result);
    ck_assert_double_eq_tol(late_s[1] - ready_s[refit][1], 1, 1e-9);
  }
  ck_assert_double_gt(fabs(ready_s[0][1] - ready_s[2][1]), 1e-3);
  ck_assert_double_gt(ready_s[1][1], ready_s[2][1]);
  ck_assert_uint_eq(recomputed[0], 0);
  ck_assert_uint_gt(recomputed[1], 400);
  ck_assert_uint_eq(recomputed[2], 0);
}
END_TEST

/* Iteration k, counted from 0, must have what was written in iteration k - 1 -
 * eta where each is synced.  With s = 3 and eta 1, six iterations run on what
 * there was (i = 0: (0 + 1 + 1) 3 = 6), the next three need the first sync, of
 * iteration 2, and so on; the last that may run on version 2 is 2 + 3 (1 + 1) =
 * 8.  One iteration less in between is found. */
START_TEST(test_version)
{
  RaCallPlan one = {.sync_interval = 0}, three = {.sync_interval = 3};
  uint32_t made = 77;

  for (uint32_t k = 0; k < 20; k++) {
    ck_assert_int_eq(ra_plan_version(&one, 2, k, &made), k >= 3);
    if (k >= 3)
      ck_assert_uint_eq(made, k - 3);
    ck_assert_int_eq(ra_plan_version(&three, 1, k, &made), k >= 6);
    if (k >= 6)
      ck_assert_uint_eq(made, (k / 3 - 1) * 3 - 1);
    if (k >= 6) {
      ck_assert(ra_plan_is_synced(&three, made));
      ck_assert_int_ge(ra_plan_last_reader(&three, 1, made), k);
      ck_assert_int_lt(ra_plan_last_reader(&three, 1, made) - 3, k);
    }
  }
  ck_assert_int_eq(ra_plan_last_reader(&three, 1, 2), 8);
  ck_assert_int_eq(ra_plan_last_reader(&one, 2, 4), 7);
}
END_TEST

static Suite *
service_suite(void)
{
  Suite *suite = suite_create("service");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_oracle);
  tcase_add_test(tcase, test_admission);
  tcase_add_test(tcase, test_refits);
  tcase_add_test(tcase, test_version);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(service_suite)
