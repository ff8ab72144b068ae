/* Replays with the estimator: what a call costs alone, how much it computes,
 * and the shipped plans from end to end. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "sim/breakdown.h"
#include "sim/flop.h"
#include "study/replay.h"
#include "tests/support/check_main.h"
#include "tests/support/critical_path.h"
#include "tests/support/plan_text.h"

enum { PROMPT = 16, RESPONSE = 48, N = 32 };

#define PPO_HEAD                                                               \
  "[workload]\nformat = 1\nalgorithm = ppo\ndataset = prompts\n"               \
  "prompts = 32\nprompt-length = fixed(16)\nresponse-length = fixed(48)\n"     \
  "mini-batches = 2\nepochs = 3\n"

/* The same, but every iteration draws other lengths. */
#define PPO_HEAD_DRAWN                                                         \
  "[workload]\nformat = 1\nalgorithm = ppo\ndataset = prompts\n"               \
  "prompts = 32\nprompt-length = uniform(8, 24)\n"                             \
  "response-length = lognormal(48, 40, 400)\nmini-batches = 2\nepochs = 3\n"

#define CALL(name, keys) "[call " name "]\n" keys "\n"
#define ALL(keys)                                                              \
  "[plan]\nformat = 1\nworkload = w\ncluster = c\n" CALL("gen", keys)          \
      CALL("ref", keys) CALL("rew", keys) CALL("val", keys)                    \
          CALL("atrain", keys) CALL("ctrain", keys)

enum { GEN, REF, REW, VAL, ATRAIN, CTRAIN };

typedef struct {
  PlanText *text;
  RaProfile *profile;
  RaEstimator *estimator;
} Setup;

static Setup
setup_new(const char *head, const char *plan, uint32_t n_iterations)
{
  g_autofree char *path = g_build_filename(
      g_getenv("srcdir"), "traces", "profiles", "h100-sxm.profile", NULL);
  g_autofree char *workload = g_strconcat(head, plan_text_ppo, NULL);
  g_autofree char *cluster = plan_text_cluster(2);
  g_autoptr(GError) error = NULL;
  g_autoptr(RaKeyFile) file = ra_key_file_load(path, &error);
  Setup s;

  ck_assert_msg(file != NULL, "%s", error ? error->message : "");
  s.text = plan_text_new(workload, cluster, plan, n_iterations);
  s.profile = ra_profile_load(file, &error);
  ck_assert_msg(s.profile != NULL, "%s", error ? error->message : "");
  s.text->cluster->device = s.profile->spec;
  s.estimator = ra_estimator_new(s.profile, s.text->cluster, &error);
  ck_assert_msg(s.estimator != NULL, "%s", error ? error->message : "");
  return s;
}

static void
setup_clear(Setup *s)
{
  ra_estimator_free(s->estimator);
  ra_profile_free(s->profile);
  plan_text_free(s->text);
}

static RaSim *
simulate(const Setup *s, RaFidelity fidelity, RaTaskGraph **out_graph)
{
  RaSim *sim;

  *out_graph = ra_expand(s->text->augmented, fidelity, 0, NULL);
  ck_assert_ptr_nonnull(*out_graph);
  sim = ra_sim_new(*out_graph, s->estimator, NULL);
  ck_assert_ptr_nonnull(sim);
  ck_assert(ra_sim_run(sim, NULL));
  return sim;
}

/* Causal forward of @n whole sequences of @length tokens. */
static double
forward_flop(const RaModel *model, uint32_t n, uint64_t length)
{
  RaBatch batch = {n, n * length, n * length, n * length * (length + 1) / 2};

  return ra_model_forward_flop(model, &batch);
}

/* Generation computes the prompt and all of the response but its last token,
 * each token attending to those before it and itself: the causal forward of
 * prompt + response - 1 tokens, less the lm head (2 hidden x vocabulary) on
 * all tokens of the prompt but the last, which nobody samples from.  Assessment
 * computes whole sequences, training does so three times over (forward 1,
 * backward 2) in each of three epochs. However the plan cuts them. */
static void
check_model_flop(const char *plan)
{
  Setup s = setup_new(PPO_HEAD, plan, 2);
  const RaModel *actor = s.text->workload->models[0].model;
  const RaModel *critic = s.text->workload->models[1].model;
  double whole = forward_flop(actor, N, PROMPT + RESPONSE);
  double value = forward_flop(critic, N, PROMPT + RESPONSE);
  double head = 2.0 * actor->hidden * actor->vocab;
  double expected[] = {forward_flop(actor, N, PROMPT + RESPONSE - 1) -
                           N * (PROMPT - 1) * head,
                       whole,
                       value,
                       value,
                       9 * whole,
                       9 * value};

  for (int f = 0; f < 2; f++) {
    RaTaskGraph *graph;
    RaSim *sim = simulate(&s, f ? RA_FIDELITY_STAGE : RA_FIDELITY_CALL, &graph);
    g_autoptr(RaBreakdown) breakdown = ra_breakdown_new(sim, graph);
    double sum = 0;

    for (guint c = 0; c < breakdown->n_calls; c++) {
      ck_assert_double_eq_tol(breakdown->calls[c].flop, expected[c],
                              1e-12 * expected[c]);
      ck_assert_double_ge(breakdown->calls[c].hardware_flop,
                          0.9 * breakdown->calls[c].flop);
      /* the fault to catch: logits of whole prompts */
      if (c == 0)
        ck_assert_double_lt(breakdown->calls[c].flop,
                            0.999 *
                                forward_flop(actor, N, PROMPT + RESPONSE - 1));
      sum += expected[c];
    }
    /* Both train calls consume one set: its tokens count once, and once
     * whatever the epochs. */
    ck_assert_double_eq_tol(breakdown->tokens, N * (PROMPT + RESPONSE), 1e-9);
    ck_assert_double_eq_tol(breakdown->mfu_frac,
                            sum / breakdown->iteration_s / breakdown->n_gpus /
                                989e12,
                            1e-9 * breakdown->mfu_frac);
    ra_sim_free(sim);
    ra_task_graph_free(graph);
  }
  setup_clear(&s);
}

START_TEST(test_model_flop)
{
  check_model_flop(ALL("mesh = node0\ntp = 8"));
  check_model_flop(ALL("mesh = node[0-1]\ntp = 4\npp = 2\ndp = 2"));
  check_model_flop(ALL("mesh = node[0-1]\ntp = 1\npp = 4\ndp = 4\n"
                       "micro-batches = 4"));
}
END_TEST

/* The parts of @call in iteration 0 alone. */
static RaTaskGraph *
isolated_call(const Setup *s, uint32_t call)
{
  RaExpandOptions options = {
      .fidelity = RA_FIDELITY_STAGE, .one_call = TRUE, .call = call};

  return ra_expand_with(s->text->augmented, &options, NULL);
}

/* Decode on the hardware, step by step from the op lists.  Step t = 1 .. 47 of
 * 32 sequences in dp 2 x 2 micro-batches of 8 sequences attends to 8 (16 + t).
 */
START_TEST(test_decode_hardware_flop)
{
  Setup s = setup_new(PPO_HEAD, ALL("mesh = node0\ntp = 2\npp = 2\ndp = 2"), 1);
  g_autoptr(RaTaskGraph) graph = isolated_call(&s, GEN);
  g_autofree RaFlopShare *shares = ra_flop_count(graph, 0);
  RaOp ops[RA_OP_LIST_MAX];
  double sum = 0;

  ck_assert_uint_eq(graph->n_dynamics, 2);
  for (uint32_t d = 0; d < 2; d++) {
    const RaDynamic *dynamic = &graph->dynamics[d];

    ck_assert_uint_eq(dynamic->n_groups, 2);
    for (uint32_t p = 0; p < 2; p++)
      for (uint64_t t = 1; t < RESPONSE; t++) {
        RaBatch batch = {8, 8, 8 * (PROMPT + t), 8 * (PROMPT + t)};
        guint n = ra_op_list(&graph->shards[dynamic->shard],
                             &dynamic->pieces[p], RA_PHASE_DECODE, &batch, ops);

        for (guint i = 0; i < n; i++) /* 2 groups, tp 2 */
          sum += 2 * 2 * ops[i].count * ra_op_flop(&ops[i]);
      }
  }
  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    guint n;

    if (graph->work[t] == RA_NONE)
      continue;
    n = ra_work_ops(graph, graph->work[t], ops);
    for (guint i = 0; i < n; i++)
      sum += graph->group_n_gpus[graph->group[t]] * ops[i].count *
             ra_op_flop(&ops[i]);
  }
  ck_assert_double_eq_tol(shares[GEN].hardware_flop, sum, 1e-12 * sum);
  setup_clear(&s);
}
END_TEST

/* Where all calls run on one lane (one mesh, tensor parallelism alone) nothing
 * overlaps, so call fidelity, a sum of calls simulated alone, equals stage
 * fidelity, in every iteration with its own lengths; on more stages calls
 * overlap in one and not in the other, and the sum is the longer.  That is also
 * the fault: the comparison tells them apart.
 */
START_TEST(test_call_fidelity)
{
  static const struct {
    const char *head, *plan;
  } cases[] = {{PPO_HEAD, ALL("mesh = node0\ntp = 8")},
               {PPO_HEAD_DRAWN, ALL("mesh = node0\ntp = 8")},
               {PPO_HEAD, ALL("mesh = node0\ntp = 2\npp = 4")}};

  for (int i = 0; i < 3; i++) {
    Setup s = setup_new(cases[i].head, cases[i].plan, 3);
    RaTaskGraph *stage_graph, *call_graph;
    RaSim *stage = simulate(&s, RA_FIDELITY_STAGE, &stage_graph);
    RaSim *call = simulate(&s, RA_FIDELITY_CALL, &call_graph);
    double stage_s = ra_sim_result(stage)->makespan_s;
    double call_s = ra_sim_result(call)->makespan_s;

    ck_assert_double_gt(stage_s, 0);
    if (i < 2)
      ck_assert_double_eq_tol(call_s, stage_s, 1e-9 * stage_s);
    else
      ck_assert_double_gt(call_s, stage_s * (1 + 1e-6));
    ra_sim_free(stage);
    ra_sim_free(call);
    ra_task_graph_free(stage_graph);
    ra_task_graph_free(call_graph);
    setup_clear(&s);
  }
}
END_TEST

/* A call in four parts: their durations add up to the call alone, and the
 * causes of each fit in it. */
START_TEST(test_parts_add_up)
{
  static const char *const workload =
      PPO_HEAD "[model m]\nconfig = tiny.json\n"
               "[call score]\nmodel = m\nkind = inference\n"
               "inputs = seq:chunk(4)\noutputs = s\n";
  g_autofree char *plan =
      g_strconcat(ALL("mesh = node0\ntp = 2\npp = 2\ndp = 2"),
                  "[call score]\nmesh = node1\ntp = 2\npp = 2\ndp = 2\n", NULL);
  Setup s = setup_new(workload, plan, 1);
  uint32_t score = ra_workload_find_call(s.text->workload, "score");
  RaTaskGraph *graph;
  RaSim *sim = simulate(&s, RA_FIDELITY_CALL, &graph);
  const RaCost *costs = ra_sim_costs(sim);
  const uint32_t calls[] = {GEN, score};

  for (int i = 0; i < 2; i++) {
    g_autoptr(RaTaskGraph) alone_graph = isolated_call(&s, calls[i]);
    g_autoptr(RaSim) alone = ra_sim_new(alone_graph, s.estimator, NULL);
    double sum_s = 0;
    uint32_t n_parts = 0;

    ck_assert(ra_sim_run(alone, NULL));
    for (RaTaskId t = 0; t < graph->n_tasks; t++) {
      double causes_s = costs[t].compute_s + costs[t].comm_s + costs[t].host_s;

      if (graph->kind[t] != RA_TASK_CALL ||
          s.text->augmented->nodes[graph->node[t]].call != calls[i])
        continue;
      n_parts++;
      sum_s += costs[t].total_s;
      ck_assert_double_le(causes_s, costs[t].total_s * (1 + 1e-9));
      ck_assert_double_gt(causes_s, 0);
    }
    ck_assert_uint_eq(n_parts, 4);
    ck_assert_double_eq_tol(sum_s, ra_sim_result(alone)->makespan_s,
                            1e-9 * sum_s);
  }
  ra_sim_free(sim);
  ra_task_graph_free(graph);
  setup_clear(&s);
}
END_TEST

static void
check_replay(const RaSetup *setup, const RaReplayOptions *options,
             const char *name)
{
  g_autoptr(RaReplay) replay = ra_replay_new(setup, options, NULL);
  g_autoptr(RaReplay) again = ra_replay_new(setup, options, NULL);
  g_autoptr(RaBreakdown) b = NULL;
  g_autoptr(CriticalPath) path = NULL;
  double sum, whole;

  ck_assert_msg(replay && again, "%s", name);
  ck_assert_msg(ra_sim_result(replay->sim)->fingerprint ==
                    ra_sim_result(again->sim)->fingerprint,
                "%s", name);
  b = ra_breakdown_new(replay->sim, replay->graph);
  whole = b->n_gpus * b->iteration_s;
  sum = b->realloc_gpu_s + b->idle_gpu_s;
  for (guint c = 0; c < b->n_calls; c++)
    sum += b->calls[c].compute_gpu_s + b->calls[c].comm_gpu_s +
           b->calls[c].host_gpu_s + b->calls[c].bubble_gpu_s +
           b->calls[c].interference_gpu_s;
  ck_assert_msg(fabs(sum - whole) <= 1e-9 * whole, "%s", name);
  ck_assert_msg(b->mfu_frac > 0 && b->mfu_frac < 1, "%s: MFU %g", name,
                b->mfu_frac);
  path = critical_path_new(replay->sim, replay->graph);
  sum = path->compute_s + path->comm_s + path->host_s + path->bubble_s +
        path->realloc_s + path->interference_s;
  ck_assert_msg(fabs(sum - path->makespan_s) <= 1e-9 * sum, "%s", name);
}

/* Every shipped plan but the one of 1,024 GPUs (bench/simulate replays that),
 * at both fidelities: the same twice; GPU-seconds add up to GPUs x window; the
 * path adds up to the makespan; an MFU between 0 and 1. */
START_TEST(test_shipped_plans)
{
  g_autofree char *folder =
      g_build_filename(g_getenv("srcdir"), "share", "plans", NULL);
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  guint n = 0;

  ck_assert_ptr_nonnull(dir);
  while ((name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(RaSetup) setup = NULL;
    RaSetupFlags flags = {0};
    RaReplayOptions options = {.n_iterations = 3,
                               .fidelity = RA_FIDELITY_STAGE};

    if (!g_str_has_suffix(name, ".plan") || strstr(name, "1024"))
      continue;
    setup = ra_setup_load(path, RA_FILE_PLAN, &flags, &error);
    ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
    check_replay(setup, &options, name);
    options.fidelity = RA_FIDELITY_CALL;
    check_replay(setup, &options, name);
    n++;
  }
  ck_assert_uint_gt(n, 10);
}
END_TEST

static Suite *
replay_suite(void)
{
  Suite *suite = suite_create("replay");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_model_flop);
  tcase_add_test(tcase, test_decode_hardware_flop);
  tcase_add_test(tcase, test_call_fidelity);
  tcase_add_test(tcase, test_parts_add_up);
  tcase_add_test(tcase, test_shipped_plans);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(replay_suite)
