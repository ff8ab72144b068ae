/* The rollout service whose replicas are pipelines. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "tests/support/check_main.h"
#include "tests/support/service_law.h"

#define N_BATCHES 5
#define MAX_RUNNING 8
#define MAX_REPLICAS 4
#define MAX_N 256

static const RaServeSource source = {line, mixed, NULL};

/* Each of two stages takes half of a step; a token takes SEND_S to pass, and
 * with @context none does. */
#define SEND_S 1e-4

static void
half_line(gconstpointer context, uint32_t stage, uint32_t n, uint64_t kv,
          RaDecodeLine *out)
{
  (void)stage;
  line(context, n, kv, out);
  out->cost.total_s /= 2;
  out->cost.compute_s /= 2;
  out->s_per_token /= 2;
}

static void
half_mixed(gconstpointer context, uint32_t stage, const RaBatchStretch *step,
           RaCost *out)
{
  (void)stage;
  mixed(context, step, out);
  out->total_s /= 2;
  out->compute_s /= 2;
}

static double
send_s(gconstpointer context, uint64_t n_tokens)
{
  return context ? 0 : SEND_S * (double)n_tokens;
}

/* 300 random services of one micro-batch a replica, with sends that take no
 * time: two stages of half a step each are one of a whole one, which
 * test_oracle() holds, batch by batch; costs are the mean of two, half of it.
 * With sends, and no version to wait for, the first batch is ready later: the
 * fault that this finds. */
START_TEST(test_stages_of_a_step)
{
  const RaServePipeSource free_pipe = {half_line, half_mixed, send_s, &source,
                                       NULL};
  const RaServePipeSource paid_pipe = {half_line, half_mixed, send_s, NULL,
                                       NULL};
  guint n_late = 0;

  for (guint i = 0; i < 300; i++) {
    RaRng rng = ra_rng_init(i, 5);
    uint32_t prompt[MAX_N], response[MAX_N];
    RaServiceVersion versions[N_BATCHES];
    double now_s = 0;
    double whole_s[N_BATCHES], free_s[N_BATCHES], paid_s[N_BATCHES];
    uint64_t staleness[N_BATCHES], other[N_BATCHES];
    RaServiceSpec spec = {
        .n_replicas = 1 + (uint32_t)ra_rng_below(&rng, MAX_REPLICAS),
        .max_sequences = 1 + (uint32_t)ra_rng_below(&rng, MAX_RUNNING),
        .batch = 1 + (uint32_t)ra_rng_below(&rng, 12),
        .staleness = (uint32_t)ra_rng_below(&rng, 3),
        .sync = 1,
        .refit = RA_SERVICE_DRAIN + (int)ra_rng_below(&rng, 3),
        .n = MAX_N,
        .prompt = prompt,
        .response = response,
        .n_stages = 2,
        .n_groups = 1};
    RaServiceResult whole = {
        .n_batches = N_BATCHES, .ready_s = whole_s, .staleness = staleness};
    RaServiceResult stages = {
        .n_batches = N_BATCHES, .ready_s = free_s, .staleness = other};
    RaServiceResult late = {
        .n_batches = N_BATCHES, .ready_s = paid_s, .staleness = other};

    for (guint k = 0; k < MAX_N; k++) {
      prompt[k] = 1 + (uint32_t)ra_rng_below(&rng, 50);
      response[k] = 1 + (uint32_t)ra_rng_below(&rng, 200);
    }
    for (guint k = 0; k < N_BATCHES; k++) {
      versions[k].begin_s = now_s += 3 * ra_rng_uniform(&rng);
      versions[k].end_s = now_s += ra_rng_uniform(&rng);
    }
    ra_service_run(&spec, &source, versions, N_BATCHES, &whole);
    spec.pipe = &free_pipe;
    ra_service_run(&spec, NULL, versions, N_BATCHES, &stages);
    for (guint k = 0; k < N_BATCHES; k++)
      ck_assert_double_eq_tol(free_s[k], whole_s[k], 1e-9 * whole_s[k]);
    ck_assert_int_eq(memcmp(staleness, other, sizeof other), 0);
    ck_assert_uint_eq(whole.recomputed_tokens, stages.recomputed_tokens);
    spec.pipe = &paid_pipe;
    late.n_batches = whole.n_batches = 1;
    ra_service_run(&spec, NULL, NULL, 0, &late);
    spec.pipe = NULL;
    ra_service_run(&spec, &source, NULL, 0, &whole);
    n_late += paid_s[0] > whole_s[0] * (1 + 1e-9);
  }
  ck_assert_uint_eq(n_late, 300);
}
END_TEST

/* Without a version and with places for all, two micro-batches go round two
 * stages as in sim/generate/serve_pipe.h, which has its own oracle; in one
 * micro-batch the stages wait for each other. */
START_TEST(test_micro_batches_of_stages)
{
  enum { N = 16 };
  const RaServePipeSource pipe = {half_line, half_mixed, send_s, NULL, NULL};
  uint32_t prompt[N], response[N];
  double ready_s, part_s, one_s;
  uint64_t staleness;
  RaCost cost;
  RaDynamic dynamic = {.n_groups = 2,
                       .n_stages = 2,
                       .n_sequences = N,
                       .prompt = prompt,
                       .response = response,
                       .n_parts = 1,
                       .weight = 1,
                       .batching = {.max_sequences = N / 2,
                                    .step_tokens = 100000,
                                    .block_tokens = 16,
                                    .group = 1}};
  RaServeResult served = {
      .n_parts = 1, .part_end_s = &part_s, .part_cost = &cost};
  RaServiceSpec spec = {.n_replicas = 1,
                        .max_sequences = N,
                        .batch = N,
                        .sync = 1,
                        .refit = RA_SERVICE_DRAIN,
                        .n = N,
                        .prompt = prompt,
                        .response = response,
                        .pipe = &pipe,
                        .n_stages = 2,
                        .n_groups = 2};
  RaServiceResult result = {
      .n_batches = 1, .ready_s = &ready_s, .staleness = &staleness};
  RaServiceResult one = {
      .n_batches = 1, .ready_s = &one_s, .staleness = &staleness};

  for (uint32_t i = 0; i < N; i++) {
    prompt[i] = 10 + i;
    response[i] = 50 + 7 * i % 40;
  }
  ra_serve_pipe(&pipe, &dynamic, &served);
  ra_service_run(&spec, NULL, NULL, 0, &result);
  ck_assert_double_eq_tol(ready_s, part_s, 1e-9 * part_s);
  ck_assert_double_eq_tol(result.cost.total_s, cost.total_s,
                          1e-9 * cost.total_s);
  spec.n_groups = 1;
  ra_service_run(&spec, NULL, NULL, 0, &one);
  ck_assert_double_gt(fabs(one_s - part_s), 0.01 * part_s);
}
END_TEST

static Suite *
service_pipe_suite(void)
{
  Suite *suite = suite_create("service over stages");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_stages_of_a_step);
  tcase_add_test(tcase, test_micro_batches_of_stages);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(service_pipe_suite)
