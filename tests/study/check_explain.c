/* Why the time went: causes of the path, what idle GPUs wait for. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/breakdown.h"
#include "sim/path_share.h"
#include "sim/waiting.h"
#include "study/report/explain.h"
#include "tests/support/check_main.h"
#include "tests/support/critical_path.h"
#include "tests/support/graph_builder.h"

/* ---- Waiting ------------------------------------------------------------- */

/* GPU-seconds that the group of @gpus waits for @call (RA_NONE: the end). */
static double
waited(const RaWaiting *w, const char *gpus, uint32_t call)
{
  double sum = 0;

  for (guint i = 0; i < w->n; i++)
    if (strcmp(w->gpus[w->rows[i].group], gpus) == 0 && w->rows[i].call == call)
      sum += w->rows[i].gpu_s;
  return sum;
}

/* Lanes of 2 GPUs.  Call 0 on lane 0: 0 to 3 s.  Call 1 on lane 1 waits for it:
 * 3 to 5 s.  Call 0 again on lane 0, after that: 5 to 6 s.  Call 2 on lane 2
 * after call 1 too: 5 to 5.5 s.  Lane 0 waits 2 s for call 1.  Lane 1 waits 3 s
 * for call 0 and ends 1 s early.  Lane 2 waits 5 s: 2 for call 1, and 3 for
 * what that waited for, call 0; and ends 0.5 s early. */
START_TEST(test_chains)
{
  g_autoptr(TestGraph) g = test_graph_new(3, 2, 3, 1);
  const double durations[] = {3, 2, 1, 0.5};
  RaTaskId a = test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  RaTaskId b = test_graph_task(g, RA_TASK_FORWARD, 1, 2);
  RaTaskId c = test_graph_task(g, RA_TASK_BACKWARD, 0, 1);
  RaTaskId d = test_graph_task(g, RA_TASK_FORWARD, 2, 4);
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(RaWaiting) w = NULL;

  test_graph_edge(g, a, b);
  test_graph_edge(g, b, c);
  test_graph_edge(g, b, d);
  sim = ra_sim_new_with_durations(test_graph_finish(g), durations);
  ck_assert(ra_sim_run(sim, NULL));
  w = ra_waiting_new(sim, &g->graph);
  ck_assert_uint_eq(w->n_groups, 3);
  ck_assert_double_eq(waited(w, "0-1", 1), 2 * 2);
  ck_assert_double_eq(waited(w, "0-1", 0), 0);
  ck_assert_double_eq(waited(w, "0-1", RA_NONE), 0);
  ck_assert_double_eq(waited(w, "2-3", 0), 2 * 3);
  ck_assert_double_eq(waited(w, "2-3", RA_NONE), 2 * 1);
  ck_assert_double_eq(waited(w, "4-5", 1), 2 * 2);
  ck_assert_double_eq(waited(w, "4-5", 0), 2 * 3);
  ck_assert_double_eq(waited(w, "4-5", RA_NONE), 2 * 0.5);
}
END_TEST

/* GPU-seconds that some task runs: a second's worth of every lane looked at
 * moment by moment, as durations are whole.  @forget leaves a task out: the
 * deliberate fault. */
static double
busy_gpu_s(const RaTaskGraph *g, const RaSimResult *r, RaTaskId forget)
{
  double busy = 0;

  for (uint32_t lane = 0; lane < g->n_lanes; lane++)
    for (double at = 0; at < r->makespan_s; at++) {
      gboolean runs = FALSE, any = FALSE;

      for (RaTaskId t = 0; t < g->n_tasks; t++)
        for (uint32_t i = g->group_begin[t]; i < g->group_begin[t + 1]; i++) {
          any = any || g->group_lane[i] == lane;
          runs = runs || (g->group_lane[i] == lane && t != forget &&
                          r->begin_s[t] <= at && r->end_s[t] > at);
        }
      busy += any && runs ? g->lanes[lane].n_gpus : 0;
    }
  return busy;
}

/* On random graphs idle and busy GPU-seconds make up all of the run. */
START_TEST(test_nothing_is_lost)
{
  RaRng rng = ra_rng_init(3, 3);
  guint n_seen = 0;

  for (guint k = 0; k < 100; k++) {
    g_autoptr(TestGraph) g = test_graph_new(4, 2, 3, 1);
    double durations[30], idle = 0, all = 0;
    g_autoptr(RaSim) sim = NULL;
    g_autoptr(RaWaiting) w = NULL;

    for (uint32_t t = 0; t < 30; t++) {
      test_graph_task(g, RA_TASK_FORWARD, (uint32_t)ra_rng_below(&rng, 3),
                      (uint32_t)ra_rng_below(&rng, 16));
      durations[t] = (double)ra_rng_below(&rng, 4);
      for (uint32_t e = 0; t > 0 && e < ra_rng_below(&rng, 4); e++)
        test_graph_edge(g, (RaTaskId)ra_rng_below(&rng, t), t);
    }
    sim = ra_sim_new_with_durations(test_graph_finish(g), durations);
    ck_assert(ra_sim_run(sim, NULL));
    w = ra_waiting_new(sim, &g->graph);
    for (guint group = 0; group < w->n_groups; group++) {
      idle += w->idle_gpu_s[group];
      all += w->n_gpus[group] * w->makespan_s;
    }
    ck_assert_double_eq_tol(
        idle + busy_gpu_s(&g->graph, ra_sim_result(sim), RA_NONE), all, 1e-9);
    n_seen +=
        fabs(idle + busy_gpu_s(&g->graph, ra_sim_result(sim), 7) - all) > 1e-9;
  }
  ck_assert_uint_gt(n_seen, 10);
}
END_TEST

/* ---- Causes of the path -------------------------------------------------- */

static double
sum_of(const GArray *shares, int cause)
{
  double sum = 0;

  for (guint i = 0; i < shares->len; i++) {
    const RaPathShare *share = &g_array_index(shares, RaPathShare, i);

    if (cause < 0 || share->cause == cause)
      sum += share->time_s;
  }
  return sum;
}

/* The shares add up to the run, and by cause to what critical_path_new()
 * has, which knows no ops; each cause is there where the plan has it. */
static void
check_plan(const char *name, RaFidelity fidelity, gboolean flows,
           const char *const *sets, int wanted)
{
  g_autofree char *path =
      g_build_filename(g_getenv("srcdir"), "share", "plans", name, NULL);
  RaSetupFlags flags = {.sets = sets};
  RaReplayOptions options = {
      .n_iterations = 2, .fidelity = fidelity, .flows = flows};
  RaSetup *setup = ra_setup_load(path, RA_FILE_PLAN, &flags, NULL);
  g_autoptr(RaReplay) replay = ra_replay_new(setup, &options, NULL);
  g_autoptr(GArray) shares =
      ra_critical_path_shares(replay->sim, replay->graph, setup->estimator);
  CriticalPath *whole = critical_path_new(replay->sim, replay->graph);
  double all_s = whole->makespan_s, tol_s = 1e-9 * all_s;

  ck_assert_double_eq_tol(sum_of(shares, -1), all_s, tol_s);
  ck_assert_double_eq_tol(sum_of(shares, RA_CAUSE_COMPUTE), whole->compute_s,
                          tol_s);
  ck_assert_double_eq_tol(sum_of(shares, RA_CAUSE_HOST), whole->host_s, tol_s);
  ck_assert_double_eq_tol(sum_of(shares, RA_CAUSE_BUBBLE) +
                              sum_of(shares, RA_CAUSE_STRAGGLER),
                          whole->bubble_s, tol_s);
  if (!flows)
    ck_assert_double_eq_tol(sum_of(shares, RA_CAUSE_COMM), whole->comm_s,
                            tol_s);
  ck_assert_double_gt(sum_of(shares, wanted), 0);
  for (guint i = 1; i < shares->len; i++)
    ck_assert_double_ge(g_array_index(shares, RaPathShare, i - 1).time_s,
                        g_array_index(shares, RaPathShare, i).time_s);
  /* a share that is a hundredth off shows */
  g_array_index(shares, RaPathShare, 0).time_s *= 1.01;
  ck_assert_double_gt(fabs(sum_of(shares, -1) - all_s), tol_s);
  critical_path_free(whole);
  ra_setup_free(setup);
}

START_TEST(test_shipped_plans)
{
  static const char *const slow[] = {"cluster.stragglers=0.1", NULL};
  static const char *const narrow[] = {
      "cluster.fabric=rail(leaf=4, oversubscription=16)", NULL};
  static const char demo[] = "ppo-llama3-70b-128.plan";

  check_plan(demo, RA_FIDELITY_STAGE, FALSE, NULL, RA_CAUSE_COMM);
  check_plan(demo, RA_FIDELITY_CALL, FALSE, NULL, RA_CAUSE_DATA);
  check_plan(demo, RA_FIDELITY_OP, FALSE, slow, RA_CAUSE_STRAGGLER);
  check_plan(demo, RA_FIDELITY_STAGE, TRUE, narrow, RA_CAUSE_CONTENTION);
  check_plan("ppo-llama2-7b-8-offload.plan", RA_FIDELITY_STAGE, FALSE, NULL,
             RA_CAUSE_MEMORY);
  check_plan("sft-llama3.1-405b-16384.plan", RA_FIDELITY_STAGE, FALSE, NULL,
             RA_CAUSE_INTERFERENCE);
}
END_TEST

/* Links stand there with flows alone. */
START_TEST(test_tables)
{
  g_autofree char *path = g_build_filename(g_getenv("srcdir"), "share", "plans",
                                           "ppo-llama2-7b-8.plan", NULL);
  RaSetupFlags flags = {0};
  RaReplayOptions options = {.n_iterations = 2, .fidelity = RA_FIDELITY_STAGE};
  RaSetup *setup = ra_setup_load(path, RA_FILE_PLAN, &flags, NULL);

  for (guint i = 0; i < 2; i++) {
    g_autoptr(RaReplay) replay = NULL;
    g_autoptr(RaExplain) explain = NULL;

    options.flows = i == 1;
    replay = ra_replay_new(setup, &options, NULL);
    explain = ra_explain_new(setup, replay);
    ck_assert_uint_gt(ra_table_n_rows(explain->causes), 3);
    ck_assert_uint_gt(ra_table_n_rows(explain->waiting), 0);
    ck_assert((explain->links != NULL) == options.flows);
    if (explain->links)
      ck_assert_uint_gt(ra_table_n_rows(explain->links), 0);
  }
  ra_setup_free(setup);
}
END_TEST

static Suite *
explain_suite(void)
{
  Suite *suite = suite_create("explain");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_chains);
  tcase_add_test(tcase, test_nothing_is_lost);
  tcase_add_test(tcase, test_shipped_plans);
  tcase_add_test(tcase, test_tables);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(explain_suite)
