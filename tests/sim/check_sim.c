#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "sim/fingerprint.h"
#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/graph_builder.h"

/* A random acyclic graph on 4 lanes with its durations, 0 among them; whole
 * durations make many ties. */
static TestGraph *
random_graph(RaRng *rng, uint32_t n, double *out_duration_s)
{
  TestGraph *g = test_graph_new(4, 1, 2, 2);

  for (uint32_t t = 0; t < n; t++) {
    test_graph_task(g, (RaTaskKind)ra_rng_below(rng, RA_TASK_JOIN),
                    (uint32_t)ra_rng_below(rng, 4),
                    (uint32_t)ra_rng_below(rng, 16));
    out_duration_s[t] = (double)ra_rng_below(rng, 4);
    for (uint32_t e = 0; t > 0 && e < ra_rng_below(rng, 4); e++)
      test_graph_edge(g, (RaTaskId)ra_rng_below(rng, t), t);
  }
  test_graph_finish(g);
  return g;
}

typedef struct {
  double *begin_s, *end_s; /* (n_tasks) */
  RaTaskId *critical_pred; /* (n_tasks) */
  uint64_t fingerprint;
} Naive;

static void
naive_clear(Naive *naive)
{
  g_free(naive->begin_s);
  g_free(naive->end_s);
  g_free(naive->critical_pred);
}

/* The rule of sim.h, word for word and without a heap: of the running tasks the
 * one with the least (end, seq) ends; a task that waits for nothing more
 * begins, in the order of the edges. @skip_edge is left out: the deliberate
 * fault. */
static Naive
naive_run(const RaTaskGraph *graph, const double *duration_s,
          uint32_t skip_edge)
{
  uint32_t n = graph->n_tasks, seq = 0;
  Naive naive = {g_new0(double, n), g_new0(double, n), g_new(RaTaskId, n),
                 RA_FINGERPRINT_INIT};
  g_autofree uint32_t *unmet = g_memdup2(graph->n_pred, n * sizeof *unmet);
  g_autofree uint32_t *seqs = g_new0(uint32_t, n);
  g_autofree int *state = g_new0(int, n); /* 0 waits, 1 runs, 2 has ended */

  if (skip_edge != RA_NONE)
    unmet[graph->succ[skip_edge]]--;
  for (RaTaskId t = 0; t < n; t++) {
    naive.critical_pred[t] = RA_NONE;
    if (unmet[t] > 0)
      continue;
    state[t] = 1;
    seqs[t] = seq++;
    naive.end_s[t] = duration_s[t];
  }
  for (;;) {
    RaTaskId next = RA_NONE;

    for (RaTaskId t = 0; t < n; t++)
      if (state[t] == 1 &&
          (next == RA_NONE || naive.end_s[t] < naive.end_s[next] ||
           (naive.end_s[t] == naive.end_s[next] && seqs[t] < seqs[next])))
        next = t;
    if (next == RA_NONE)
      return naive;
    state[next] = 2;
    naive.fingerprint =
        ra_fingerprint_add(naive.fingerprint, ra_task_name_hash(graph, next),
                           naive.begin_s[next], naive.end_s[next]);
    for (uint32_t e = graph->succ_begin[next]; e < graph->succ_begin[next + 1];
         e++) {
      RaTaskId to = graph->succ[e], *pred = &naive.critical_pred[to];

      if (e == skip_edge)
        continue;
      if (*pred == RA_NONE || naive.end_s[*pred] < naive.end_s[next] ||
          (naive.end_s[*pred] == naive.end_s[next] && next < *pred))
        *pred = next;
      if (--unmet[to] > 0)
        continue;
      state[to] = 1;
      seqs[to] = seq++;
      naive.begin_s[to] = naive.end_s[next];
      naive.end_s[to] = naive.end_s[next] + duration_s[to];
    }
  }
}

static gboolean
agrees(const RaSimResult *result, const Naive *naive, uint32_t n)
{
  return memcmp(result->begin_s, naive->begin_s, n * sizeof(double)) == 0 &&
         memcmp(result->end_s, naive->end_s, n * sizeof(double)) == 0 &&
         memcmp(result->critical_pred, naive->critical_pred,
                n * sizeof(RaTaskId)) == 0 &&
         result->fingerprint == naive->fingerprint;
}

static RaSim *
run(const RaTaskGraph *graph, const double *duration_s)
{
  RaSim *sim = ra_sim_new_with_durations(graph, duration_s);

  ck_assert(ra_sim_run(sim, NULL));
  ck_assert_uint_eq(ra_sim_result(sim)->n_events, graph->n_tasks);
  return sim;
}

/* a(2) -> b(3), a -> c(1), b and c -> d(1): b and c begin at 2, d when the
 * later of them has ended, at 5, and all is done at 6; d waited for b. */
START_TEST(test_diamond)
{
  static const double duration_s[] = {2, 3, 1, 1};
  g_autoptr(TestGraph) g = test_graph_new(1, 1, 1, 1);
  g_autoptr(RaSim) sim = NULL;
  const RaSimResult *result;

  for (int i = 0; i < 4; i++)
    test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  test_graph_edge(g, 0, 1);
  test_graph_edge(g, 0, 2);
  test_graph_edge(g, 1, 3);
  test_graph_edge(g, 2, 3);
  sim = run(test_graph_finish(g), duration_s);
  result = ra_sim_result(sim);
  ck_assert_double_eq(result->begin_s[1], 2);
  ck_assert_double_eq(result->begin_s[2], 2);
  ck_assert_double_eq(result->begin_s[3], 5);
  ck_assert_double_eq(result->makespan_s, 6);
  ck_assert_uint_eq(result->critical_pred[0], RA_NONE);
  ck_assert_uint_eq(result->critical_pred[3], 1);
  /* Running again is running once. */
  ck_assert(ra_sim_run(sim, NULL));
  ck_assert_double_eq(result->makespan_s, 6);
}
END_TEST

/* Two predecessors that end at once: the critical one is that of the least id,
 * though task 1 became ready first (task 2 began it) and its end comes first.
 */
START_TEST(test_critical_tie)
{
  static const double duration_s[] = {1, 1, 1, 1};
  g_autoptr(TestGraph) g = test_graph_new(1, 1, 1, 1);
  g_autoptr(RaSim) sim = NULL;

  for (int i = 0; i < 4; i++)
    test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  test_graph_edge(g, 2, 1);
  test_graph_edge(g, 2, 0);
  test_graph_edge(g, 1, 3);
  test_graph_edge(g, 0, 3);
  sim = run(test_graph_finish(g), duration_s);
  ck_assert_uint_eq(ra_sim_result(sim)->critical_pred[3], 0);
}
END_TEST

/* Two iterations of one task each, 1 s and 2 s in a row. */
START_TEST(test_iteration_ends)
{
  static const double duration_s[] = {1, 2};
  g_autoptr(TestGraph) g = test_graph_new(1, 1, 1, 2);
  g_autoptr(RaSim) sim = NULL;

  test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  test_graph_task(g, RA_TASK_FORWARD, 1, 1);
  test_graph_edge(g, 0, 1);
  sim = run(test_graph_finish(g), duration_s);
  ck_assert_double_eq(ra_sim_result(sim)->iteration_end_s[0], 1);
  ck_assert_double_eq(ra_sim_result(sim)->iteration_end_s[1], 3);
}
END_TEST

/* 10^3 random graphs of up to 60 tasks: begins, ends, critical predecessors and
 * the order of events equal the definition's, bit for bit. */
START_TEST(test_equals_definition)
{
  RaRng rng = ra_rng_init(11, 0);
  double duration_s[64];

  for (int i = 0; i < 1000; i++) {
    uint32_t n = 1 + (uint32_t)ra_rng_below(&rng, 60);
    g_autoptr(TestGraph) g = random_graph(&rng, n, duration_s);
    g_autoptr(RaSim) sim = run(&g->graph, duration_s);
    Naive naive = naive_run(&g->graph, duration_s, RA_NONE);

    ck_assert(agrees(ra_sim_result(sim), &naive, n));
    naive_clear(&naive);
  }
}
END_TEST

/* The fault that this oracle must catch: one edge ignored. */
START_TEST(test_definition_sees_lost_edge)
{
  static const double duration_s[] = {1, 1, 1};
  g_autoptr(TestGraph) g = test_graph_new(1, 1, 1, 1);
  g_autoptr(RaSim) sim = NULL;
  Naive naive;

  for (int i = 0; i < 3; i++)
    test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  test_graph_edge(g, 0, 1);
  test_graph_edge(g, 1, 2);
  sim = run(test_graph_finish(g), duration_s);
  naive = naive_run(&g->graph, duration_s, 1);
  ck_assert(!agrees(ra_sim_result(sim), &naive, 3));
  naive_clear(&naive);
}
END_TEST

/* The order of the queues is fixed, so the makespan is a maximum of sums over
 * paths: a longer duration never shortens it. */
START_TEST(test_monotone)
{
  RaRng rng = ra_rng_init(12, 0);
  double duration_s[64];

  for (int i = 0; i < 200; i++) {
    uint32_t n = 1 + (uint32_t)ra_rng_below(&rng, 60);
    g_autoptr(TestGraph) g = random_graph(&rng, n, duration_s);
    g_autoptr(RaSim) sim = run(&g->graph, duration_s);

    for (uint32_t t = 0; t < n; t++) {
      g_autoptr(RaSim) longer = NULL;

      duration_s[t] += 0.5;
      longer = run(&g->graph, duration_s);
      duration_s[t] -= 0.5;
      ck_assert_double_ge(ra_sim_result(longer)->makespan_s,
                          ra_sim_result(sim)->makespan_s);
    }
  }
}
END_TEST

/* Task ids are only names: under another numbering, here backwards, every task
 * begins and ends at the same time. */
START_TEST(test_relabelling)
{
  RaRng rng = ra_rng_init(13, 0);
  double duration_s[64], reversed_s[64];

  for (int i = 0; i < 200; i++) {
    uint32_t n = 1 + (uint32_t)ra_rng_below(&rng, 60);
    g_autoptr(TestGraph) g = random_graph(&rng, n, duration_s);
    g_autoptr(TestGraph) h = test_graph_new(4, 1, 2, 2);
    g_autoptr(RaSim) sim = run(&g->graph, duration_s);
    g_autoptr(RaSim) other = NULL;

    for (uint32_t t = 0; t < n; t++) {
      test_graph_task(h, RA_TASK_FORWARD, 0, 1);
      reversed_s[t] = duration_s[n - 1 - t];
    }
    for (guint e = 0; e < g->from->len; e++)
      test_graph_edge(h, n - 1 - g_array_index(g->from, RaTaskId, e),
                      n - 1 - g_array_index(g->to, RaTaskId, e));
    other = run(test_graph_finish(h), reversed_s);
    for (uint32_t t = 0; t < n; t++) {
      ck_assert_double_eq(ra_sim_result(sim)->begin_s[t],
                          ra_sim_result(other)->begin_s[n - 1 - t]);
      ck_assert_double_eq(ra_sim_result(sim)->end_s[t],
                          ra_sim_result(other)->end_s[n - 1 - t]);
    }
  }
}
END_TEST

/* Nothing takes time: all ends at 0, and every task has run. */
START_TEST(test_zero_durations)
{
  RaRng rng = ra_rng_init(14, 0);
  double duration_s[64];
  g_autoptr(TestGraph) g = random_graph(&rng, 50, duration_s);
  g_autoptr(RaSim) sim = NULL;

  memset(duration_s, 0, sizeof duration_s);
  sim = run(&g->graph, duration_s);
  ck_assert_double_eq(ra_sim_result(sim)->makespan_s, 0);
}
END_TEST

static uint64_t
fingerprint(TestGraph *g, const double *duration_s)
{
  g_autoptr(RaSim) sim = run(&g->graph, duration_s);

  return ra_sim_result(sim)->fingerprint;
}

/* The same twice; another where a time moves by 1 ns, where a name changes, or
 * where two tasks of one time change places; the same where a time moves
 * by 0.1 ns (1 s + 0.1 ns rounds to 1,000,000,000 ns). */
START_TEST(test_fingerprint)
{
  double duration_s[] = {1, 1, 1};
  g_autoptr(TestGraph) g = test_graph_new(1, 1, 2, 1);
  g_autoptr(TestGraph) h = test_graph_new(1, 1, 2, 1);
  uint64_t f;

  for (int i = 0; i < 3; i++) {
    test_graph_task(g, RA_TASK_FORWARD, 0, 1);
    test_graph_task(h, RA_TASK_FORWARD, 0, 1);
  }
  test_graph_edge(g, 0, 1);
  test_graph_edge(g, 0, 2);
  test_graph_edge(h, 0, 2);
  test_graph_edge(h, 0, 1);
  test_graph_finish(g);
  test_graph_finish(h);
  f = fingerprint(g, duration_s);
  ck_assert(fingerprint(g, duration_s) == f);
  ck_assert(fingerprint(h, duration_s) != f);
  duration_s[2] = 1 + 1e-10;
  ck_assert(fingerprint(g, duration_s) == f);
  duration_s[2] = 1 + 1e-9;
  ck_assert(fingerprint(g, duration_s) != f);
  duration_s[2] = 1;
  g_array_index(g->node, uint32_t, 2) = 1;
  ck_assert(fingerprint(g, duration_s) != f);
}
END_TEST

/* 1.5 ns is 2, half up; 2^63 ns and more is 2^63 - 1. */
START_TEST(test_nanoseconds)
{
  ck_assert_uint_eq(ra_fingerprint_ns(0), 0);
  ck_assert_uint_eq(ra_fingerprint_ns(1.4e-9), 1);
  ck_assert_uint_eq(ra_fingerprint_ns(1.5e-9), 2);
  ck_assert_uint_eq(ra_fingerprint_ns(1), 1000000000);
  ck_assert_uint_eq(ra_fingerprint_ns(1e300), INT64_MAX);
}
END_TEST

/* 0 -> 1 -> 2 -> 3 -> 1, 3 -> 4: the cycle is 1, 2, 3; task 4 only waits for
 * it. Task 1 is micro-batch 1 of call c0 in iteration 0. */
START_TEST(test_cycle)
{
  static const double duration_s[] = {1, 1, 1, 1, 1};
  g_autoptr(TestGraph) g = test_graph_new(1, 1, 1, 1);
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSim) sim = NULL;
  g_autofree char *expected = NULL;
  char name[64];

  for (int i = 0; i < 5; i++)
    test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  for (RaTaskId t = 0; t < 4; t++)
    test_graph_edge(g, t, t + 1);
  test_graph_edge(g, 3, 1);
  sim = ra_sim_new_with_durations(test_graph_finish(g), duration_s);
  ck_assert(!ra_sim_run(sim, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  ra_task_name(&g->graph, 1, name, sizeof name);
  expected = g_strdup_printf("the task graph has a cycle of 3 tasks, so that "
                             "task '%s' never starts, expected an acyclic "
                             "graph",
                             name);
  ck_assert_str_eq(error->message, expected);
}
END_TEST

/* Injected durations stand under the cause of their kind. */
START_TEST(test_injected_costs)
{
  static const double duration_s[] = {1, 2, 3};
  g_autoptr(TestGraph) g = test_graph_new(1, 1, 1, 1);
  g_autoptr(RaSim) sim = NULL;
  const RaCost *costs;

  test_graph_task(g, RA_TASK_BACKWARD, 0, 1);
  test_graph_task(g, RA_TASK_SEND, 0, 1);
  test_graph_task(g, RA_TASK_HOST, 0, 1);
  sim = run(test_graph_finish(g), duration_s);
  costs = ra_sim_costs(sim);
  ck_assert_double_eq(costs[0].compute_s, 1);
  ck_assert_double_eq(costs[1].comm_s, 2);
  ck_assert_double_eq(costs[2].host_s, 3);
  for (int i = 0; i < 3; i++)
    ck_assert_double_eq(costs[i].total_s, duration_s[i]);
}
END_TEST

static Suite *
sim_suite(void)
{
  Suite *suite = suite_create("sim");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_diamond);
  tcase_add_test(tcase, test_critical_tie);
  tcase_add_test(tcase, test_iteration_ends);
  tcase_add_test(tcase, test_equals_definition);
  tcase_add_test(tcase, test_definition_sees_lost_edge);
  tcase_add_test(tcase, test_monotone);
  tcase_add_test(tcase, test_relabelling);
  tcase_add_test(tcase, test_zero_durations);
  tcase_add_test(tcase, test_fingerprint);
  tcase_add_test(tcase, test_nanoseconds);
  tcase_add_test(tcase, test_cycle);
  tcase_add_test(tcase, test_injected_costs);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(sim_suite)
