/* Collectives inside of tasks, with flows: what they take of links. */
#include "config.h"

#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"
#include "tests/support/profile_text.h"

static const char inside_workload[] =
    "[workload]\nalgorithm = sft\ndataset = d\nprompts = 8\n"
    "prompt-length = fixed(64)\nresponse-length = fixed(64)\n"
    "[model m]\nconfig = tiny.json\ntrainable = true\n"
    "[call train]\nmodel = m\nkind = train\ninputs = d\n";

/* Use by the collectives of the work of a GPU's link to its peers, where
 * latency is none: all their time. */
static double
wanted_s(const RaTaskGraph *graph, const RaEstimator *estimator, uint32_t work)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_work_ops(graph, work, ops);
  double sum_s = 0;

  for (guint i = 0; i < n; i++)
    if (ra_op_class((RaOpKind)ops[i].kind) == RA_OP_CLASS_COMM)
      sum_s += ra_estimator_op_s(estimator, &ops[i]) * ops[i].count;
  return sum_s;
}

/* tp 8 on one node, nothing beside.  A pass that takes D, c of it collectives,
 * with GPU 3's link to its peers at a part f of its rate: the link carries f a
 * second, so c takes c / f there, which hides as long as that is less than D:
 * the pass takes max(D, c / f).  With the whole link each takes D to the last
 * bit.  A flow that took nothing of the link would end with D at any f: the
 * deliberate fault, which the test finds as some pass is late. */
START_TEST(test_inside)
{
  static const double parts[] = {1, 0.3, 0.05};

  for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
    g_autoptr(RaProfile) profile = profile_text_load(NULL, NULL);
    double link = profile->spec.intra_bytes_per_s * parts[i];
    g_autofree char *cluster =
        g_strdup_printf("[cluster]\nnodes = 1\ngpus-per-node = 8\n"
                        "gpu = h100-sxm\n[link node0/gpu3]\nrate = %.17g B/s\n",
                        link);
    PlanText *t = plan_text_new(inside_workload, cluster,
                                "[plan]\nworkload = w\ncluster = c\n"
                                "[call train]\nmesh = node0\ntp = 8\n"
                                "micro-batches = 2\n",
                                1);
    g_autoptr(RaTaskGraph) graph = NULL;
    g_autoptr(RaEstimator) estimator = NULL;
    g_autoptr(RaSim) sim = NULL;
    RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE};
    guint n_late = 0, n_inside = 0;

    t->cluster->device = profile->spec;
    graph = ra_expand_with(t->augmented, &options, NULL);
    estimator = ra_estimator_new(profile, t->cluster, NULL);
    sim = ra_sim_new(graph, estimator, NULL);
    ck_assert(ra_sim_use_network(sim, estimator, NULL));
    ck_assert(ra_sim_run(sim, NULL));
    for (RaTaskId task = 0; task < graph->n_tasks; task++) {
      const RaSimResult *r = ra_sim_result(sim);
      double alone_s = ra_sim_costs(sim)[task].total_s, want_s;

      if (graph->work[task] == RA_NONE ||
          graph->works[graph->work[task]].shard == RA_NONE)
        continue;
      want_s = wanted_s(graph, estimator, graph->work[task]) / parts[i];
      n_inside += want_s > 0;
      n_late += want_s > alone_s;
      if (parts[i] == 1)
        ck_assert_double_eq(r->end_s[task], r->begin_s[task] + alone_s);
      ck_assert_double_eq_tol(r->end_s[task] - r->begin_s[task],
                              MAX(alone_s, want_s), 1e-7 * alone_s);
      ck_assert_double_eq_tol(r->late_s[task], MAX(want_s - alone_s, 0),
                              1e-7 * want_s);
    }
    ck_assert_uint_gt(n_inside, 3);
    ck_assert(parts[i] == 1 ? n_late == 0 : n_late > 0);
    plan_text_free(t);
  }
}
END_TEST

static Suite *
flows_inside_suite(void)
{
  Suite *suite = suite_create("flows inside tasks");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_inside);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(flows_inside_suite)
