/* Iterations of RLHF without communication, against the closed forms of their
 * placements.  D is a call's duration, G generation, A assessment, T training.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/breakdown.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

/* Generation by the actor, two assessments that nobody trains, training of the
 * actor and of a student on the same sequences. */
#define WORKLOAD(keys)                                                         \
  "[workload]\nformat = 1\nalgorithm = two-trainers\ndataset = prompts\n"      \
  "prompts = 32\nprompt-length = fixed(16)\nresponse-length = "                \
  "fixed(48)\n" keys "[model actor]\nconfig = tiny.json\ntrainable = true\n"   \
  "[model student]\nconfig = tiny.json\ntrainable = true\n"                    \
  "[model ref]\nconfig = tiny.json\n"                                          \
  "[model reward]\nconfig = tiny.json\nhead = value\n"                         \
  "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"             \
  "outputs = seq\n"                                                            \
  "[call ref]\nmodel = ref\nkind = inference\ninputs = seq\noutputs = logp\n"  \
  "[call rew]\nmodel = reward\nkind = inference\ninputs = seq\noutputs = r\n"  \
  "[call atrain]\nmodel = actor\nkind = train\ninputs = seq, logp, r\n"        \
  "[call strain]\nmodel = student\nkind = train\ninputs = seq, logp, r\n"

#define PLAN(gen, ref, rew, atrain, strain)                                    \
  "[plan]\nformat = 1\nworkload = w\ncluster = c\n"                            \
  "[call gen]\n" gen "[call ref]\n" ref "[call rew]\n" rew                     \
  "[call atrain]\n" atrain "[call strain]\n" strain

#define NODES(which, dp) "mesh = node" which "\ntp = 8\ndp = " dp "\n"

enum { GEN, REF, REW, ATRAIN, STRAIN, N_CALLS };

static const char *const one_mesh =
    PLAN(NODES("[0-3]", "4"), NODES("[0-3]", "4"), NODES("[0-3]", "4"),
         NODES("[0-3]", "4"), NODES("[0-3]", "4"));
static const char *const disjoint =
    PLAN(NODES("0", "1"), NODES("1", "1"), NODES("2", "1"), NODES("3", "1"),
         NODES("4", "1"));
/* Generation on the nodes of both assessments, training beside them. */
static const char *const split =
    PLAN(NODES("[0-1]", "2"), NODES("0", "1"), NODES("1", "1"), NODES("2", "1"),
         NODES("3", "1"));

/* A simulation of @n_iterations with the calls' durations; moves take
 * @move_s. */
typedef struct {
  PlanText *text;
  RaTaskGraph *graph;
  RaSim *sim;
} Run;

static Run
run_plan(const char *workload, const char *plan, uint32_t n_iterations,
         const double *call_s, double move_s)
{
  g_autofree char *cluster = plan_text_cluster(5);
  g_autofree double *duration_s = NULL;
  Run run;

  run.text = plan_text_new(workload, cluster, plan, n_iterations);
  run.graph = ra_expand(run.text->augmented, RA_FIDELITY_CALL, 0, NULL);
  ck_assert_ptr_nonnull(run.graph);
  duration_s = g_new(double, run.graph->n_tasks);
  for (RaTaskId t = 0; t < run.graph->n_tasks; t++) {
    const RaNode *node = &run.text->augmented->nodes[run.graph->node[t]];

    duration_s[t] = run.graph->kind[t] == RA_TASK_CALL ? call_s[node->call]
                    : node->kind == RA_NODE_CALL       ? 0
                                                       : move_s;
  }
  run.sim = ra_sim_new_with_durations(run.graph, duration_s);
  ck_assert(ra_sim_run(run.sim, NULL));
  return run;
}

static void
run_clear(Run *run)
{
  ra_sim_free(run->sim);
  ra_task_graph_free(run->graph);
  plan_text_free(run->text);
}

static double
makespan_s(const char *workload, const char *plan, uint32_t n_iterations,
           const double *call_s, double move_s)
{
  Run run = run_plan(workload, plan, n_iterations, call_s, move_s);
  double s = ra_sim_result(run.sim)->makespan_s;

  run_clear(&run);
  return s;
}

static void
random_durations(RaRng *rng, double *call_s)
{
  for (int c = 0; c < N_CALLS; c++)
    call_s[c] = 0.1 + 10 * ra_rng_uniform(rng);
}

static gboolean
is_near(double a, double b)
{
  return fabs(a - b) <= 1e-12 * b;
}

/* On one mesh one call runs at a time: D_G + sum D_A + sum D_T an iteration.
 * The fault: moves that take time are not in the form. */
START_TEST(test_synchronous)
{
  RaRng rng = ra_rng_init(41, 0);
  double d[N_CALLS], sum_s;

  for (int i = 0; i < 50; i++) {
    random_durations(&rng, d);
    sum_s = d[GEN] + (d[REF] + d[REW]) + (d[ATRAIN] + d[STRAIN]);
    ck_assert(is_near(makespan_s(WORKLOAD(""), one_mesh, 1, d, 0), sum_s));
    ck_assert(is_near(makespan_s(WORKLOAD(""), one_mesh, 3, d, 0), 3 * sum_s));
    ck_assert(!is_near(makespan_s(WORKLOAD(""), disjoint, 1, d, 1), sum_s));
  }
}
END_TEST

/* On meshes of their own calls that do not wait for each other run side by
 * side: D_G + max D_A + max D_T.  The fault: on one mesh they do not. */
START_TEST(test_disjoint)
{
  RaRng rng = ra_rng_init(42, 0);
  double d[N_CALLS], form_s;

  for (int i = 0; i < 50; i++) {
    random_durations(&rng, d);
    form_s = d[GEN] + MAX(d[REF], d[REW]) + MAX(d[ATRAIN], d[STRAIN]);
    ck_assert(is_near(makespan_s(WORKLOAD(""), disjoint, 1, d, 0), form_s));
    ck_assert(!is_near(makespan_s(WORKLOAD(""), one_mesh, 1, d, 0), form_s));
  }
}
END_TEST

/* One step off: iteration k generates with what k - 2 trained, so the rollout
 * of the next iteration runs beside the training of this one.  Rollouts follow
 * each other on their nodes, as trainings do on theirs, and iteration k + 2's
 * rollout waits for k's training: the period is
 *
 *     max(D_G + max D_A, max D_T, (D_G + max D_A + max D_T) / 2)
 *
 * whose last term is the mean of the other two.  Over iterations 10 to 30 the
 * mean period is that but for what one of them may be off, here nothing: after
 * the start every iteration is alike (or every second, where both are equal).
 * The fault: without staleness the period is the sum. */
START_TEST(test_one_step_off)
{
  RaRng rng = ra_rng_init(43, 0);
  double d[N_CALLS];

  for (int i = 0; i < 50; i++) {
    double rollout_s, train_s, period_s, sync_s;
    Run run, sync;

    random_durations(&rng, d);
    rollout_s = d[GEN] + MAX(d[REF], d[REW]);
    train_s = MAX(d[ATRAIN], d[STRAIN]);
    run = run_plan(WORKLOAD("staleness = 1\n"), split, 31, d, 0);
    sync = run_plan(WORKLOAD(""), split, 31, d, 0);
    period_s = (ra_sim_result(run.sim)->iteration_end_s[30] -
                ra_sim_result(run.sim)->iteration_end_s[10]) /
               20;
    sync_s = (ra_sim_result(sync.sim)->iteration_end_s[30] -
              ra_sim_result(sync.sim)->iteration_end_s[10]) /
             20;
    ck_assert_msg(fabs(period_s - MAX(rollout_s, train_s)) <= 1e-9 * period_s,
                  "case %d: %.17g against max(%.17g, %.17g)", i, period_s,
                  rollout_s, train_s);
    /* D_G waits for the actor alone; the student may lag behind it. */
    ck_assert_double_ge(sync_s, rollout_s + d[ATRAIN] - 1e-9);
    run_clear(&run);
    run_clear(&sync);
  }
}
END_TEST

/* The window of the breakdown is one period, here of three iterations on one
 * mesh: the mean of the second and third, nothing of it idle. */
START_TEST(test_window)
{
  static const double d[N_CALLS] = {5, 1, 2, 3, 4};
  Run run = run_plan(WORKLOAD(""), one_mesh, 3, d, 0);
  g_autoptr(RaBreakdown) breakdown = ra_breakdown_new(run.sim, run.graph);

  ck_assert_uint_eq(breakdown->first_iteration, 1);
  ck_assert_uint_eq(breakdown->n_iterations, 2);
  ck_assert_double_eq_tol(breakdown->iteration_s, 15, 1e-12);
  ck_assert_uint_eq(breakdown->n_gpus, 32);
  ck_assert_double_eq_tol(breakdown->idle_gpu_s, 0, 1e-9);
  for (guint c = 0; c < N_CALLS; c++) {
    ck_assert_double_eq_tol(breakdown->calls[c].compute_gpu_s, 32 * d[c], 1e-9);
    ck_assert_double_eq_tol(breakdown->calls[c].wall_s, d[c], 1e-12);
    ck_assert_uint_eq(breakdown->calls[c].n_gpus, 32);
  }
  /* The second iteration begins at 15 s with generation. */
  ck_assert_double_eq_tol(breakdown->calls[GEN].begin_s, 15, 1e-12);
  ck_assert_double_eq_tol(breakdown->calls[GEN].end_s, 20, 1e-12);
  run_clear(&run);
}
END_TEST

static Suite *
forms_suite(void)
{
  Suite *suite = suite_create("forms");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_synchronous);
  tcase_add_test(tcase, test_disjoint);
  tcase_add_test(tcase, test_one_step_off);
  tcase_add_test(tcase, test_window);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(forms_suite)
