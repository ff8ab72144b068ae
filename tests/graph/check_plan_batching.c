/* Continuous batching as a plan's choice: keys, tasks, memory, FLOP. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/input/plan_batching.h"
#include "graph/memory/memory_peak.h"
#include "graph/rollout/batcher_replica.h"
#include "sim/breakdown.h"
#include "sim/flop.h"
#include "sim/generate/decode.h"
#include "sim/generate/serve.h"
#include "sim/memory_replay.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"
#include "tests/support/zero_run.h"

static PlanText *
text_with(const char *lengths, const char *gen)
{
  g_autofree char *first = g_strdup_printf("dp = 8\n%s", gen);
  const char *keys[3] = {first, "dp = 8", "dp = 8"};

  return text_new("tiny.json", lengths, keys);
}

static Run
run_with(PlanText *t)
{
  return run_new(t, profile_text_shipped("h100-sxm"), 4e11);
}

/* Where all sequences fit at once, prompts in one step, the steps after it are
 * those of static batching, and so are the parts' ends. */
START_TEST(test_like_static)
{
  static const char lengths[] = "uniform(1, 40)";
  Run a = run_with(text_with(lengths, "launch = graph"));
  Run b = run_with(text_with(lengths, "launch = graph\nbatching = continuous"));

  for (uint32_t d = 0; d < 8; d++) {
    const RaDynamic *x = &a.graph->dynamics[d], *y = &b.graph->dynamics[d];
    double decoded_s, served_s;
    RaCost cost = {0}, first = {0};
    RaDecodeResult decode = {.part_end_s = &decoded_s, .part_cost = &cost};
    RaServeReplica replica = {b.estimator, &b.graph->shards[y->shard],
                              y->pieces};
    RaServeSource source = ra_serve_source(&replica);
    RaServeResult serve = {
        .n_parts = 1, .part_end_s = &served_s, .part_cost = &cost};
    g_autoptr(RaBatcher) batcher =
        ra_batcher_new(&y->batching, y->prompt, y->response, y->n_sequences);
    RaBatchStretch step = {.n_steps = 1,
                           .n_chunks = 16,
                           .n_whole = 16,
                           .chunk_tokens = 256,
                           .chunk_kv_tokens = 256,
                           .chunk_pairs = 16 * 16 * 17 / 2};

    ck_assert(x->batching.max_sequences == 0 &&
              y->batching.max_sequences == 256);
    ra_decode_run(a.estimator, &a.graph->shards[x->shard], x, &decode);
    ra_serve_run(&source, batcher, y->n_sequences, NULL, &serve);
    source.mixed(source.context, &step, &first);
    ck_assert_double_eq_tol(served_s, first.total_s + decoded_s,
                            1e-9 * served_s);
    /* Without the prompts it would not be. */
    ck_assert_double_gt(fabs(served_s - decoded_s), 1e-9 * served_s);
  }
  run_clear(&a);
  run_clear(&b);
}
END_TEST

/* A replica's tasks: 1 decode, no forward of the generate call, which begins
 * when what it waits for has ended. */
START_TEST(test_tasks)
{
  Run r = run_with(text_with("fixed(8)", "batching = continuous"));
  guint n_decode = 0;

  for (RaTaskId t = 0; t < r.graph->n_tasks; t++) {
    const RaNode *node = &r.graph->augmented->nodes[r.graph->node[t]];

    if (node->kind != RA_NODE_CALL || node->call != GENERATE)
      continue;
    ck_assert(r.graph->kind[t] == RA_TASK_DECODE ||
              r.graph->kind[t] == RA_TASK_JOIN);
    n_decode += r.graph->kind[t] == RA_TASK_DECODE;
  }
  /* Replicas with equal lengths are folded. */
  ck_assert_uint_ge(n_decode, 1);
  ck_assert_uint_le(n_decode, 8);
  run_clear(&r);
}
END_TEST

/* Model FLOP are the workload's, whatever the batching; hardware FLOP are more
 * where preemption computes tokens again, less where samples share prompts. */
START_TEST(test_flop)
{
  /* 16 + 40 tokens: 4 blocks of 16; a token is 2 x 2 x 8 x 8 x 16 layers = 4096
   * bytes, a block 64 KiB. */
  Run plain = run_with(text_with("fixed(40)", ""));
  Run served = run_with(text_with("fixed(40)", "batching = continuous"));
  Run tight = run_with(
      text_with("fixed(40)", "batching = continuous\nkv-memory = 512 KiB"));
  g_autofree RaFlopShare *a = ra_flop_count(plain.graph, 0);
  g_autofree RaFlopShare *b = ra_flop_count(served.graph, 0);
  g_autofree RaFlopShare *c = ra_flop_count(tight.graph, 0);

  ck_assert_double_eq_tol(a[GENERATE].model_flop, b[GENERATE].model_flop,
                          1e-9 * a[GENERATE].model_flop);
  ck_assert_double_eq_tol(a[GENERATE].hardware_flop, b[GENERATE].hardware_flop,
                          1e-9 * a[GENERATE].hardware_flop);
  ck_assert_double_eq_tol(a[GENERATE].model_flop, c[GENERATE].model_flop,
                          1e-9 * a[GENERATE].model_flop);
  ck_assert_double_gt(c[GENERATE].hardware_flop,
                      1.01 * b[GENERATE].hardware_flop);
  ck_assert_double_gt(ra_sim_result(tight.sim)->makespan_s,
                      ra_sim_result(served.sim)->makespan_s);
  run_clear(&plain);
  run_clear(&served);
  run_clear(&tight);
}
END_TEST

static uint64_t
most_kv(const Run *r)
{
  g_autoptr(RaMemoryTable) table = ra_memory_table_new(r->graph);
  g_autoptr(RaMemoryReplay) memory = ra_memory_replay_new(r->sim, table);
  g_autofree RaCallLoad *loads = ra_call_loads_new(r->text->plan, 1, 0);
  RaMemoryPeak peak;

  ra_memory_peak(table->memory, r->text->augmented, loads, &peak);
  for (uint32_t lane = 0; lane < r->graph->n_lanes; lane++)
    ck_assert_double_le(memory->lanes[lane].peak_bytes, peak.total_bytes);
  ra_memory_peak_clear(&peak);
  return loads[GENERATE].kv_tokens;
}

/* A replica of 16 sequences of 16 + 40 tokens.  All at once: at the last step
 * each has 55 tokens with keys, in 4 blocks of 16.  Four at a time: 16 blocks.
 * With a pool, the pool.  The bound is never below the replay. */
START_TEST(test_memory)
{
  Run all = run_with(text_with("fixed(40)", "batching = continuous"));
  Run four = run_with(
      text_with("fixed(40)", "batching = continuous\nmax-sequences = 4"));
  Run pool = run_with(
      text_with("fixed(40)", "batching = continuous\nkv-memory = 512 KiB"));

  ck_assert_uint_eq(most_kv(&all), 16 * 4 * 16);
  ck_assert_uint_eq(most_kv(&four), 4 * 4 * 16);
  ck_assert_uint_eq(most_kv(&pool), (512 << 10) / (4096 * 16) * 16);
  run_clear(&all);
  run_clear(&four);
  run_clear(&pool);
}
END_TEST

/* 4 sequences in 2 parts, two at a time: sequence 0 (1 token) ends in the first
 * step, so 2 is admitted in the second; ends in order 0, 2, 1, 3 though
 * responses ascend as 0, 2, 3, 1. */
START_TEST(test_order)
{
  static const uint32_t prompt[] = {4, 4, 4, 4}, response[] = {1, 9, 3, 8};
  RaBatching batching = {
      .max_sequences = 2, .step_tokens = 64, .block_tokens = 16, .group = 1};
  uint32_t order[4];
  uint64_t peak[2], left[2];

  ra_batching_order(&batching, 1, 4, prompt, response, order);
  ck_assert(order[0] == 0 && order[1] == 2 && order[2] == 1 && order[3] == 3);
  /* One block each: two, and at the end of part 1 (0 and 2 have ended) that of
   * 1. */
  ra_batching_kv_tokens(&batching, 1, 4, prompt, response, 2, peak, left);
  ck_assert(peak[0] == 32 && left[0] == 16 && peak[1] == 32 && left[1] == 0);
}
END_TEST

/* Keys that a plan may not have, with their line: 1 [plan], 5 the call, 6 its
 * mesh, 7 dp, 8 on. */
START_TEST(test_refused)
{
  static const struct {
    const char *gen, *train, *message;
  } cases[] = {
      {"batching = dynamic", "",
       "in-memory.plan:8: 'batching' is 'dynamic', expected one of "
       "static, continuous"},
      {"max-sequences = 4", "",
       "in-memory.plan:8: 'max-sequences' with static batching"},
      {"batching = continuous\nmax-sequences = 9000", "",
       "in-memory.plan:9: 'max-sequences' is 9000, expected at most 8192"},
      {"batching = continuous\nmicro-batches = 2", "",
       "in-memory.plan:8: 'batching' is continuous with 'micro-batches' 2 and "
       "'pp' 1, expected 1"},
      {"batching = continuous\nzero = 3", "",
       "in-memory.plan:8: 'batching' is continuous with 'zero' 3"},
      {"batching = continuous\nkv-memory = 128 KiB", "",
       "in-memory.plan:9: 'kv-memory' has room for 2 blocks of 16 tokens, "
       "expected at least 4"},
      {"", "batching = continuous", "expected it on generate calls only"},
      {"", "kv-block = 8", "expected it on generate calls only"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(RaKeyFile) file = NULL;
    PlanText *t = text_with("fixed(40)", "");
    g_autofree char *text = g_strdup_printf(
        "[plan]\nformat = 1\nworkload = w\ncluster = c\n"
        "[call gen]\nmesh = node0\ndp = 8\n%s\n[call infer]\nmesh = node0\n"
        "dp = 8\n[call train]\nmesh = node0\ndp = 8\n%s\n",
        cases[i].gen, cases[i].train);
    GError *error = NULL;

    file = ra_key_file_parse("in-memory.plan", text, strlen(text), NULL);
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_null(ra_plan_load(file, t->workload, t->cluster, &error));
    ck_assert_msg(strstr(error->message, cases[i].message), "%s",
                  error->message);
    g_error_free(error);
    plan_text_free(t);
  }
}
END_TEST

static Suite *
plan_batching_suite(void)
{
  Suite *suite = suite_create("plan_batching");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_like_static);
  tcase_add_test(tcase, test_tasks);
  tcase_add_test(tcase, test_flop);
  tcase_add_test(tcase, test_memory);
  tcase_add_test(tcase, test_order);
  tcase_add_test(tcase, test_refused);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(plan_batching_suite)
