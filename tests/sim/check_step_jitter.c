/* Jitter of a step that all GPUs share. */
#include "config.h"

#include <math.h>

#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"
#include "tests/support/profile_text.h"

enum { ITERATIONS = 40 };

/* Seconds of the first forward of every iteration on one GPU, which does
 * nothing but compute. */
static void
forwards(const char *step_jitter, double *out_s)
{
  g_autofree char *cluster = g_strdup_printf(
      "[cluster]\nnodes = 1\ngpus-per-node = 1\ngpu = h100-sxm\n"
      "step-jitter = %s\n",
      step_jitter);
  g_autoptr(RaProfile) profile = profile_text_load(NULL, NULL);
  PlanText *t = plan_text_new(
      "[workload]\nalgorithm = sft\ndataset = d\nprompts = 4\n"
      "prompt-length = fixed(64)\nresponse-length = fixed(64)\n"
      "[model m]\nconfig = tiny.json\ntrainable = true\n"
      "[call train]\nmodel = m\nkind = train\ninputs = d\n",
      cluster,
      "[plan]\nworkload = w\ncluster = c\n[call train]\nmesh = all\n"
      "launch = graph\n",
      ITERATIONS);
  RaExpandOptions options = {.fidelity = RA_FIDELITY_OP};
  g_autoptr(RaTaskGraph) graph = NULL;
  g_autoptr(RaEstimator) estimator = NULL;
  g_autoptr(RaSim) sim = NULL;
  guint n = 0;

  t->cluster->device = profile->spec;
  graph = ra_expand_with(t->augmented, &options, NULL);
  estimator = ra_estimator_new(profile, t->cluster, NULL);
  sim = ra_sim_new(graph, estimator, NULL);
  ck_assert(ra_sim_run(sim, NULL));
  for (RaTaskId task = 0; task < graph->n_tasks; task++)
    if (graph->kind[task] == RA_TASK_FORWARD && n < ITERATIONS &&
        graph->augmented->nodes[graph->node[task]].iteration == n)
      out_s[n++] = ra_sim_costs(sim)[task].compute_s;
  ck_assert_uint_eq(n, ITERATIONS);
  plan_text_free(t);
}

/* Without, all iterations take the same; with a standard deviation of 0.1 they
 * take 1 + 0.1 z times as long, and 40 z have a mean within 0.5 and a deviation
 * between 0.7 and 1.3 of the one asked for (3 standard errors: 0.47, 0.34).  A
 * factor drawn by op would leave a hundredth of that: the deliberate fault. */
START_TEST(test_step_jitter)
{
  double alone_s[ITERATIONS], jittered_s[ITERATIONS], mean = 0, squares = 0;

  forwards("0", alone_s);
  forwards("0.1", jittered_s);
  for (guint i = 0; i < ITERATIONS; i++) {
    double z = (jittered_s[i] / alone_s[i] - 1) / 0.1;

    ck_assert_double_eq(alone_s[i], alone_s[0]);
    mean += z / ITERATIONS;
    squares += z * z / ITERATIONS;
  }
  ck_assert_double_le(fabs(mean), 0.5);
  ck_assert_double_ge(sqrt(squares - mean * mean), 0.7);
  ck_assert_double_le(sqrt(squares - mean * mean), 1.3);
}
END_TEST

static Suite *
step_jitter_suite(void)
{
  Suite *suite = suite_create("step jitter");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_step_jitter);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(step_jitter_suite)
