/* Tasks that slow each other: sim/interfere.h. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/breakdown.h"
#include "tests/support/check_main.h"
#include "tests/support/critical_path.h"
#include "tests/support/graph_builder.h"

enum { MAX_TASKS = 24 };

/* A run of @graph whose tasks take duration_s alone, beside_s more beside the
 * other side. */
static RaSim *
run(const RaTaskGraph *graph, const double *duration_s, const double *beside_s)
{
  RaSim *sim = ra_sim_new_with_durations(graph, duration_s);
  RaCost *costs = (RaCost *)ra_sim_costs(sim);

  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    costs[t].beside_s = beside_s[t];
  ck_assert(ra_sim_run(sim, NULL));
  return sim;
}

static void
check_end(const RaSim *sim, RaTaskId task, double end_s, double added_s)
{
  const RaSimResult *result = ra_sim_result(sim);

  ck_assert_double_eq_tol(result->end_s[task], end_s, 1e-12);
  ck_assert_double_eq_tol(ra_sim_added_s(result, task), added_s, 1e-12);
}

/* A backward of 4 s, half as long again beside communication, and a reduction
 * of 1 s that takes twice as long beside it, on one lane from 0.  The reduction
 * ends at 2; by then the backward has done 2 / 1.5 s and has 4 - 4/3 left: it
 * ends at 2 + 8/3, 2/3 later than alone.  On another lane nothing changes. */
START_TEST(test_two)
{
  static const double duration_s[] = {4, 1, 1};
  static const double beside_s[] = {2, 1, 1};
  g_autoptr(TestGraph) g = test_graph_new(2, 1, 1, 1);
  g_autoptr(RaSim) sim = NULL;

  test_graph_task(g, RA_TASK_BACKWARD, 0, 1);
  test_graph_task(g, RA_TASK_GRAD_REDUCE, 0, 1);
  test_graph_task(g, RA_TASK_GRAD_REDUCE, 0, 2);
  sim = run(test_graph_finish(g), duration_s, beside_s);
  check_end(sim, 0, 2 + 8.0 / 3, 2.0 / 3);
  check_end(sim, 1, 2, 1);
  check_end(sim, 2, 1, 0);
  ck_assert(ra_sim_added_s(ra_sim_result(sim), 2) == 0);
  /* As if only the reduction were slowed. */
  ck_assert_double_ge(fabs(ra_sim_result(sim)->end_s[0] - 4), 0.1);
}
END_TEST

/* A collective of 3 s over lanes 0 and 1 (twice as long beside computation);
 * lane 0 computes 2 s (twice as long), lane 1 1 s (half as long again).  It is
 * slowed while either computes, to 4: half done by then, 1 s is left, it ends
 * at 5. */
START_TEST(test_lanes)
{
  static const double duration_s[] = {3, 2, 1};
  static const double beside_s[] = {3, 2, 0.5};
  g_autoptr(TestGraph) g = test_graph_new(2, 1, 1, 1);
  g_autoptr(RaSim) sim = NULL;

  test_graph_task(g, RA_TASK_PARAM_GATHER, 0, 3);
  test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  test_graph_task(g, RA_TASK_FORWARD, 0, 2);
  sim = run(test_graph_finish(g), duration_s, beside_s);
  check_end(sim, 0, 5, 2);
  check_end(sim, 1, 4, 2);
  check_end(sim, 2, 1.5, 0.5);
}
END_TEST

/* Sides: reallocation slows and is slowed, copies to the host and host calls
 * are not, and two collectives leave each other alone. */
START_TEST(test_sides)
{
  static const RaTaskKind others[] = {RA_TASK_REALLOC, RA_TASK_TRANSFER,
                                      RA_TASK_SEND,    RA_TASK_OFFLOAD,
                                      RA_TASK_RELOAD,  RA_TASK_HOST};
  static const double duration_s[] = {1, 2}, beside_s[] = {1, 2};

  for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
    double slowed = i < 3;
    g_autoptr(TestGraph) g = test_graph_new(1, 1, 1, 1);
    g_autoptr(TestGraph) h = test_graph_new(1, 1, 1, 1);
    g_autoptr(RaSim) sim = NULL, alike = NULL;

    test_graph_task(g, RA_TASK_DECODE, 0, 1);
    test_graph_task(g, others[i], 0, 1);
    sim = run(test_graph_finish(g), duration_s, beside_s);
    check_end(sim, 0, 1 + slowed, slowed);
    check_end(sim, 1, 2 + slowed, slowed);
    test_graph_task(h, RA_TASK_SEND, 0, 1);
    test_graph_task(h, others[i], 0, 1);
    alike = run(test_graph_finish(h), duration_s, beside_s);
    check_end(alike, 0, 1, 0);
    check_end(alike, 1, 2, 0);
  }
}
END_TEST

/* Events at one instant do not show, to the last bit: beside one forward of 0.7
 * s the gather ends when it does beside seven of 0.1 s, with a join that takes
 * no time between. */
START_TEST(test_instant)
{
  double duration_s[16] = {3, 0.7}, beside_s[16] = {1, 0};
  g_autoptr(TestGraph) one = test_graph_new(1, 1, 1, 1);
  g_autoptr(TestGraph) many = test_graph_new(1, 1, 1, 1);
  g_autoptr(RaSim) whole = NULL, parts = NULL;
  double end_s = 0;

  for (guint i = 0; i < 7; i++)
    end_s += 0.1;
  duration_s[1] = end_s;
  test_graph_task(one, RA_TASK_PARAM_GATHER, 0, 1);
  test_graph_task(one, RA_TASK_FORWARD, 0, 1);
  whole = run(test_graph_finish(one), duration_s, beside_s);
  test_graph_task(many, RA_TASK_PARAM_GATHER, 0, 1);
  for (guint i = 0; i < 13; i++) {
    RaTaskId t = test_graph_task(many, i % 2 ? RA_TASK_JOIN : RA_TASK_FORWARD,
                                 0, i % 2 ? 0 : 1);

    duration_s[t] = i % 2 ? 0 : 0.1;
    if (i > 0)
      test_graph_edge(many, t - 1, t);
  }
  parts = run(test_graph_finish(many), duration_s, beside_s);
  ck_assert(ra_sim_result(parts)->end_s[13] == end_s);
  ck_assert(ra_sim_result(whole)->end_s[0] == ra_sim_result(parts)->end_s[0]);
}
END_TEST

/* The backward of test_two(): 4 s of computing and 2/3 s of interference; the
 * reduction is hidden.  All of it is on the critical path. */
START_TEST(test_account)
{
  static const double duration_s[] = {4, 1}, beside_s[] = {2, 1};
  g_autoptr(TestGraph) g = test_graph_new(1, 8, 1, 1);
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(RaBreakdown) b = NULL;
  g_autoptr(CriticalPath) path = NULL;

  test_graph_task(g, RA_TASK_BACKWARD, 0, 1);
  test_graph_task(g, RA_TASK_GRAD_REDUCE, 0, 1);
  sim = run(test_graph_finish(g), duration_s, beside_s);
  b = ra_breakdown_new(sim, &g->graph);
  ck_assert_double_eq_tol(b->calls[0].compute_gpu_s, 8 * 4, 1e-12);
  ck_assert_double_eq_tol(b->calls[0].interference_gpu_s, 8 * 2.0 / 3, 1e-12);
  ck_assert_double_eq_tol(b->calls[0].comm_gpu_s, 0, 1e-12);
  path = critical_path_new(sim, &g->graph);
  ck_assert_double_eq_tol(path->compute_s, 4, 1e-12);
  ck_assert_double_eq_tol(path->interference_s, 2.0 / 3, 1e-12);
}
END_TEST

/* --- the definition, step by step --- */

typedef struct {
  double left_s[MAX_TASKS], end_s[MAX_TASKS];
  uint32_t unmet[MAX_TASKS];
  int state[MAX_TASKS]; /* 0 waits, 1 runs, 2 has ended */
} Fluid;

static int
side(uint8_t kind)
{
  return kind == RA_TASK_FORWARD ? 0 : kind == RA_TASK_SEND ? 1 : 2;
}

/* TRUE if @task has company; @first_lane: looks at its first lane alone, the
 * deliberate fault. */
static gboolean
has_company(const TestGraph *g, const Fluid *fluid, const double *duration_s,
            RaTaskId task, gboolean first_lane)
{
  uint32_t mask = g_array_index(g->lane_mask, uint32_t, task);

  if (first_lane)
    mask &= ~mask + 1;
  for (RaTaskId t = 0; t < g->graph.n_tasks; t++)
    if (fluid->state[t] == 1 && duration_s[t] > 0 &&
        side(g->graph.kind[t]) == 1 - side(g->graph.kind[task]) &&
        (mask & g_array_index(g->lane_mask, uint32_t, t)))
      return TRUE;
  return FALSE;
}

/* Rates from one end to the next, all of them anew at each. */
static void
fluid_run(const TestGraph *g, const double *duration_s, const double *beside_s,
          gboolean first_lane, Fluid *fluid)
{
  const RaTaskGraph *graph = &g->graph;
  double now_s = 0;

  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    fluid->left_s[t] = duration_s[t];
    fluid->unmet[t] = graph->n_pred[t];
    fluid->state[t] = graph->n_pred[t] == 0;
  }
  for (;;) {
    double slow[MAX_TASKS], step_s = INFINITY;
    RaTaskId first = RA_NONE;

    for (RaTaskId t = 0; t < graph->n_tasks; t++) {
      if (fluid->state[t] != 1)
        continue;
      slow[t] = 1;
      if (duration_s[t] > 0 && has_company(g, fluid, duration_s, t, first_lane))
        slow[t] += beside_s[t] / duration_s[t];
      if (fluid->left_s[t] * slow[t] < step_s) {
        step_s = fluid->left_s[t] * slow[t];
        first = t;
      }
    }
    if (first == RA_NONE)
      return;
    now_s += step_s;
    for (RaTaskId t = 0; t < graph->n_tasks; t++)
      if (fluid->state[t] == 1)
        fluid->left_s[t] = MAX(fluid->left_s[t] - step_s / slow[t], 0);
    fluid->state[first] = 2;
    fluid->end_s[first] = now_s;
    for (uint32_t e = graph->succ_begin[first];
         e < graph->succ_begin[first + 1]; e++)
      if (--fluid->unmet[graph->succ[e]] == 0)
        fluid->state[graph->succ[e]] = 1;
  }
}

static TestGraph *
random_graph(RaRng *rng, uint32_t n, double *out_duration_s,
             double *out_beside_s)
{
  static const RaTaskKind kinds[] = {RA_TASK_FORWARD, RA_TASK_SEND,
                                     RA_TASK_OFFLOAD};
  TestGraph *g = test_graph_new(4, 1, 1, 1);

  for (uint32_t t = 0; t < n; t++) {
    test_graph_task(g, kinds[ra_rng_below(rng, 3)], 0,
                    (uint32_t)ra_rng_below(rng, 16));
    out_duration_s[t] = (double)ra_rng_below(rng, 4) * ra_rng_uniform(rng);
    out_beside_s[t] = 2 * out_duration_s[t] * ra_rng_uniform(rng);
    for (uint32_t e = 0; t > 0 && e < ra_rng_below(rng, 3); e++)
      test_graph_edge(g, (RaTaskId)ra_rng_below(rng, t), t);
  }
  test_graph_finish(g);
  return g;
}

static double
furthest(const RaSimResult *result, const Fluid *fluid, uint32_t n)
{
  double most = 0;

  for (RaTaskId t = 0; t < n; t++)
    most = fmax(most, fabs(result->end_s[t] - fluid->end_s[t]));
  return most;
}

/* 10^3 random graphs: the ends of the definition; no end is earlier than
 * without interference, no task is slowed by more than beside_s, and what was
 * added is what it took longer.  A definition that looks at the first lane of a
 * task alone is found out. */
START_TEST(test_definition)
{
  RaRng rng = ra_rng_init(41, 0);
  guint n_found = 0;

  for (guint i = 0; i < 1000; i++) {
    double duration_s[MAX_TASKS], beside_s[MAX_TASKS];
    uint32_t n = 1 + (uint32_t)ra_rng_below(&rng, MAX_TASKS);
    g_autoptr(TestGraph) g = random_graph(&rng, n, duration_s, beside_s);
    g_autoptr(RaSim) sim = run(&g->graph, duration_s, beside_s);
    g_autoptr(RaSim) idle = ra_sim_new_with_durations(&g->graph, duration_s);
    const RaSimResult *result = ra_sim_result(sim);
    Fluid fluid, wrong;

    ck_assert(ra_sim_run(idle, NULL));
    fluid_run(g, duration_s, beside_s, FALSE, &fluid);
    fluid_run(g, duration_s, beside_s, TRUE, &wrong);
    ck_assert_double_le(furthest(result, &fluid, n), 1e-9);
    n_found += furthest(result, &wrong, n) > 1e-9;
    for (RaTaskId t = 0; t < n; t++) {
      double added_s = ra_sim_added_s(result, t);

      ck_assert_double_ge(result->end_s[t] + 1e-12,
                          ra_sim_result(idle)->end_s[t]);
      ck_assert_double_le(added_s, beside_s[t] + 1e-12);
      ck_assert_double_eq_tol(result->end_s[t] - result->begin_s[t],
                              duration_s[t] + added_s, 1e-9);
    }
  }
  ck_assert_uint_gt(n_found, 100);
}
END_TEST

static Suite *
interfere_suite(void)
{
  Suite *suite = suite_create("interfere");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_two);
  tcase_add_test(tcase, test_lanes);
  tcase_add_test(tcase, test_sides);
  tcase_add_test(tcase, test_instant);
  tcase_add_test(tcase, test_account);
  tcase_add_test(tcase, test_definition);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(interfere_suite)
