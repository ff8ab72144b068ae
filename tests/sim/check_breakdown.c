#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "sim/account.h"
#include "sim/breakdown.h"
#include "tests/support/check_main.h"
#include "tests/support/critical_path.h"
#include "tests/support/graph_builder.h"

enum { MAX_TASKS = 40 };

/* The costs of a simulation made of durations, to be split by a test; nothing
 * reads them before the account does. */
static RaCost *
costs_of(RaSim *sim)
{
  return (RaCost *)ra_sim_costs(sim);
}

static RaSim *
run(const RaTaskGraph *graph, const double *duration_s)
{
  RaSim *sim = ra_sim_new_with_durations(graph, duration_s);

  ck_assert(ra_sim_run(sim, NULL));
  return sim;
}

/* One lane of 8 GPUs, one call and the reallocation before it, in seconds:
 *
 *     realloc   0-2
 *     forward     2-5      1 compute, 0.5 communication, 0.5 host, 1 waiting
 *     send        2-6      hidden to 5, exposed 5-6
 *     (nothing)     6-7    the host works elsewhere: bubble (a task of lane 1)
 *     backward        7-8  compute
 *
 * Lane 0 a GPU: compute 1 + 1, communication 0.5 + 1, host 0.5, bubble 1 + 1,
 * realloc 2.  Lane 1 has the host task 6-7 alone: idle 0-6 and 7-8. */
START_TEST(test_by_hand)
{
  static const double duration_s[] = {2, 3, 4, 1, 1};
  g_autoptr(TestGraph) g = test_graph_new(2, 8, 1, 1);
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;
  uint32_t move = test_graph_node(g, RA_NODE_REALLOC, 0);
  const RaCallShare *call;

  test_graph_task(g, RA_TASK_REALLOC, move, 1);
  test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  test_graph_task(g, RA_TASK_SEND, 0, 1);
  test_graph_task(g, RA_TASK_HOST, 0, 2);
  test_graph_task(g, RA_TASK_BACKWARD, 0, 1);
  test_graph_edge(g, 0, 1);
  test_graph_edge(g, 0, 2);
  test_graph_edge(g, 2, 3);
  test_graph_edge(g, 3, 4);
  g->cluster.usd_per_gpu_h = 3600;
  sim = run(test_graph_finish(g), duration_s);
  costs_of(sim)[1] = (RaCost){3, 1, 0.5, 0.5, 0};
  breakdown = ra_breakdown_new(sim, &g->graph);
  call = &breakdown->calls[0];
  ck_assert_double_eq_tol(breakdown->window_s, 8, 1e-12);
  ck_assert_uint_eq(breakdown->n_gpus, 16);
  ck_assert_uint_eq(call->n_gpus, 16);
  ck_assert_double_eq_tol(call->compute_gpu_s, 8 * 2, 1e-12);
  ck_assert_double_eq_tol(call->comm_gpu_s, 8 * 1.5, 1e-12);
  ck_assert_double_eq_tol(call->host_gpu_s, 8 * (0.5 + 1), 1e-12);
  ck_assert_double_eq_tol(call->bubble_gpu_s, 8 * 2, 1e-12);
  ck_assert_double_eq_tol(breakdown->realloc_gpu_s, 8 * 2, 1e-12);
  ck_assert_double_eq_tol(breakdown->idle_gpu_s, 8 * 7, 1e-12);
  ck_assert_double_eq_tol(call->begin_s, 2, 1e-12);
  ck_assert_double_eq_tol(call->wall_s, 6, 1e-12);
  /* 3,600 USD a GPU and hour, 16 GPUs for 8 s: 128 USD. */
  ck_assert_double_eq_tol(breakdown->usd, 128, 1e-9);
  /* Nothing here says what it computes. */
  ck_assert_double_eq(call->flop, 0);
}
END_TEST

START_TEST(test_no_price)
{
  static const double duration_s[] = {1};
  g_autoptr(TestGraph) g = test_graph_new(1, 8, 1, 1);
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;

  test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  sim = run(test_graph_finish(g), duration_s);
  breakdown = ra_breakdown_new(sim, &g->graph);
  ck_assert(isnan(breakdown->usd));
}
END_TEST

/* Everything takes no time: a window of 0 s, rates 0, nothing divided by it. */
START_TEST(test_empty_window)
{
  static const double duration_s[] = {0};
  g_autoptr(TestGraph) g = test_graph_new(1, 8, 1, 1);
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;

  test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  sim = run(test_graph_finish(g), duration_s);
  breakdown = ra_breakdown_new(sim, &g->graph);
  ck_assert_double_eq(breakdown->iteration_s, 0);
  ck_assert_double_eq(breakdown->tokens_per_s, 0);
  ck_assert_double_eq(breakdown->mfu_frac, 0);
}
END_TEST

/* Three iterations of a call of 2 s with a reallocation of 1 s between: 2, 1,
 * 2, 1, 2.  The window is from 2 to 8: two iterations of 3 s, of which 1 s
 * moves parameters.  (Were the reallocation the iteration's that it follows,
 * the window would lose one.) */
START_TEST(test_window_has_each_move_once)
{
  static const double duration_s[] = {2, 1, 2, 1, 2};
  g_autoptr(TestGraph) g = test_graph_new(1, 8, 1, 3);
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;

  for (uint32_t i = 0; i < 3; i++) {
    test_graph_task(g, RA_TASK_FORWARD, i, 1);
    if (i < 2)
      test_graph_task(g, RA_TASK_REALLOC,
                      test_graph_node(g, RA_NODE_REALLOC, i), 1);
  }
  for (RaTaskId t = 0; t < 4; t++)
    test_graph_edge(g, t, t + 1);
  sim = run(test_graph_finish(g), duration_s);
  breakdown = ra_breakdown_new(sim, &g->graph);
  ck_assert_double_eq_tol(breakdown->iteration_s, 3, 1e-12);
  ck_assert_double_eq_tol(breakdown->realloc_gpu_s, 8, 1e-12);
  ck_assert_double_eq_tol(breakdown->calls[0].compute_gpu_s, 16, 1e-12);
  ck_assert_double_eq_tol(breakdown->idle_gpu_s, 0, 1e-12);
}
END_TEST

/* A random graph on 4 lanes, two calls in two iterations and a reallocation;
 * device tasks of a lane follow each other, as a stream's do. */
static TestGraph *
random_graph(RaRng *rng, uint32_t n, double *out_duration_s)
{
  TestGraph *g = test_graph_new(4, 2, 2, 2);
  RaTaskId last[4] = {RA_NONE, RA_NONE, RA_NONE, RA_NONE};
  uint32_t move = test_graph_node(g, RA_NODE_REALLOC, 1);

  for (uint32_t t = 0; t < n; t++) {
    RaTaskKind kind = (RaTaskKind)ra_rng_below(rng, RA_TASK_JOIN);
    gboolean moves = kind == RA_TASK_REALLOC || kind == RA_TASK_TRANSFER;
    uint32_t mask = (uint32_t)ra_rng_below(rng, 16);

    test_graph_task(g, kind, moves ? move : (uint32_t)ra_rng_below(rng, 4),
                    mask);
    out_duration_s[t] = (double)ra_rng_below(rng, 4) * ra_rng_uniform(rng);
    for (uint32_t l = 0; l < 4; l++) {
      if (!(mask >> l & 1) || kind == RA_TASK_SEND ||
          kind == RA_TASK_GRAD_REDUCE || moves || kind == RA_TASK_HOST)
        continue;
      if (last[l] != RA_NONE)
        test_graph_edge(g, last[l], t);
      last[l] = t;
    }
    if (t > 0 && ra_rng_below(rng, 2))
      test_graph_edge(g, (RaTaskId)ra_rng_below(rng, t), t);
  }
  test_graph_finish(g);
  return g;
}

/* GPU-seconds by cause: 0 compute, 1 comm, 2 host, 3 bubble of each call, then
 * reallocation and idle. */
enum { N_CALLS = 2, REALLOC = 4 * N_CALLS, IDLE, N_CAUSES };

static int
rank_of(RaTaskKind kind)
{
  switch (kind) {
  case RA_TASK_SEND:
  case RA_TASK_GRAD_REDUCE:
  case RA_TASK_CLIP:
  case RA_TASK_PARAM_GATHER:
    return 1;
  case RA_TASK_HOST:
    return 2;
  case RA_TASK_REALLOC:
  case RA_TASK_TRANSFER:
    return 3;
  default:
    return 0;
  }
}

/* Charges [a, b) of a lane as sim/account.h says: the running task of the least
 * rank, of those the first begun; else the call that is open longest. */
static void
naive_charge(const TestGraph *g, const RaSimResult *r, const RaCost *costs,
             uint32_t lane, double a, double b, double *causes)
{
  double gpu_s = (b - a) * g->lanes[lane].n_gpus, open_s = G_MAXDOUBLE;
  RaTaskId best = RA_NONE;
  uint32_t open = RA_NONE;

  for (RaTaskId t = 0; t < g->graph.n_tasks; t++)
    if (g_array_index(g->lane_mask, uint32_t, t) >> lane & 1 &&
        r->begin_s[t] <= a && r->end_s[t] >= b &&
        (best == RA_NONE ||
         rank_of(g->graph.kind[t]) < rank_of(g->graph.kind[best]) ||
         (rank_of(g->graph.kind[t]) == rank_of(g->graph.kind[best]) &&
          r->begin_s[t] < r->begin_s[best])))
      best = t;
  if (best != RA_NONE) {
    uint32_t call = g->nodes[g->graph.node[best]].call;
    const RaCost *c = &costs[best];
    int rank = rank_of(g->graph.kind[best]);

    if (rank == 0) {
      causes[4 * call] += gpu_s * c->compute_s / c->total_s;
      causes[4 * call + 1] += gpu_s * c->comm_s / c->total_s;
      causes[4 * call + 2] += gpu_s * c->host_s / c->total_s;
      causes[4 * call + 3] +=
          gpu_s * (1 - (c->compute_s + c->comm_s + c->host_s) / c->total_s);
    } else {
      causes[rank == 3 ? REALLOC : 4 * call + (uint32_t)rank] += gpu_s;
    }
    return;
  }
  for (uint32_t n = 0; n < 4; n++) {
    double begin_s = G_MAXDOUBLE, end_s = 0;

    for (RaTaskId t = 0; t < g->graph.n_tasks; t++)
      if (g->graph.node[t] == n &&
          g_array_index(g->lane_mask, uint32_t, t) >> lane & 1) {
        begin_s = MIN(begin_s, r->begin_s[t]);
        end_s = MAX(end_s, r->end_s[t]);
      }
    if (begin_s <= a && end_s >= b && begin_s < open_s) {
      open_s = begin_s;
      open = g->nodes[n].call;
    }
  }
  causes[open == RA_NONE ? IDLE : 4 * open + 3] += gpu_s;
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Looks at every elementary interval of the window between any two events. */
static void
naive_account(const TestGraph *g, RaSim *sim, double from_s, double to_s,
              double *causes)
{
  const RaSimResult *r = ra_sim_result(sim);
  double at[2 * MAX_TASKS + 2];
  uint32_t n = 0;

  for (RaTaskId t = 0; t < g->graph.n_tasks; t++) {
    at[n++] = r->begin_s[t];
    at[n++] = r->end_s[t];
  }
  at[n++] = from_s;
  at[n++] = to_s;
  qsort(at, n, sizeof *at, compare_doubles);
  for (uint32_t l = 0; l < 4; l++) {
    gboolean used = FALSE;

    for (RaTaskId t = 0; t < g->graph.n_tasks; t++)
      used |= g_array_index(g->lane_mask, uint32_t, t) >> l & 1;
    for (uint32_t i = 0; used && i + 1 < n; i++)
      if (at[i] >= from_s && at[i + 1] <= to_s && at[i + 1] > at[i])
        naive_charge(g, r, costs_of(sim), l, at[i], at[i + 1], causes);
  }
}

static void
split_costs(RaRng *rng, const RaTaskGraph *graph, RaCost *costs)
{
  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    double left_s = costs[t].total_s;

    if (rank_of(graph->kind[t]) > 0)
      continue;
    costs[t].compute_s = left_s * ra_rng_uniform(rng);
    left_s -= costs[t].compute_s;
    costs[t].comm_s = left_s * ra_rng_uniform(rng);
    left_s -= costs[t].comm_s;
    costs[t].host_s = left_s * ra_rng_uniform(rng);
  }
}

static void
flatten(const RaAccountShare *shares, const RaAccountRest *rest, double *out)
{
  for (int c = 0; c < N_CALLS; c++) {
    out[4 * c] = shares[c].compute_gpu_s;
    out[4 * c + 1] = shares[c].comm_gpu_s;
    out[4 * c + 2] = shares[c].host_gpu_s;
    out[4 * c + 3] = shares[c].bubble_gpu_s;
  }
  out[REALLOC] = rest->realloc_gpu_s;
  out[IDLE] = rest->idle_gpu_s;
}

/* 10^3 random graphs and windows: every cause as the definition says, and all
 * of them GPUs x window, to 1e-9.  Every tenth time a second of one task is
 * taken away before the definition is asked: the fault that it must catch. */
START_TEST(test_account_equals_definition)
{
  RaRng rng = ra_rng_init(51, 0);
  double duration_s[MAX_TASKS];
  uint32_t n_faults = 0;

  for (int i = 0; i < 1000; i++) {
    uint32_t n = 1 + (uint32_t)ra_rng_below(&rng, MAX_TASKS);
    g_autoptr(TestGraph) g = random_graph(&rng, n, duration_s);
    g_autoptr(RaSim) sim = run(&g->graph, duration_s);
    g_autoptr(RaAccount) account = NULL;
    g_autofree RaAccountShare *shares = NULL;
    double end_s = ra_sim_result(sim)->makespan_s;
    double from_s = end_s * 0.5 * ra_rng_uniform(&rng);
    double to_s = from_s + (end_s - from_s) * ra_rng_uniform(&rng);
    double naive[N_CAUSES] = {0}, got[N_CAUSES], sum = 0, whole;
    gboolean same = TRUE;
    RaAccountRest rest;

    split_costs(&rng, &g->graph, costs_of(sim));
    account = ra_account_new(sim, &g->graph);
    shares = ra_account_window(account, from_s, to_s, &rest);
    whole = ra_account_n_gpus(account) * (to_s - from_s);
    flatten(shares, &rest, got);
    for (int c = 0; c < N_CAUSES; c++)
      sum += got[c];
    ck_assert_double_eq_tol(sum, whole, 1e-9 * whole + 1e-300);
    if (i % 10 == 0) {
      RaTaskId t = (RaTaskId)ra_rng_below(&rng, n);

      ra_sim_result(sim)->end_s[t] += 0.1;
    }
    naive_account(g, sim, from_s, to_s, naive);
    for (int c = 0; c < N_CAUSES; c++)
      same = same && fabs(got[c] - naive[c]) <= 1e-9 * whole;
    ck_assert_msg(same || i % 10 == 0, "case %d", i);
    n_faults += !same;
  }
  /* A task may lie outside the window, or behind another: not all show. */
  ck_assert_uint_gt(n_faults, 20);
}
END_TEST

/* The path through 10^3 random graphs: steps follow each other from 0 to the
 * makespan, and the causes add up to it. */
START_TEST(test_critical_path_adds_up)
{
  RaRng rng = ra_rng_init(52, 0);
  double duration_s[MAX_TASKS];

  for (int i = 0; i < 1000; i++) {
    uint32_t n = 1 + (uint32_t)ra_rng_below(&rng, MAX_TASKS);
    g_autoptr(TestGraph) g = random_graph(&rng, n, duration_s);
    g_autoptr(RaSim) sim = run(&g->graph, duration_s);
    g_autoptr(CriticalPath) path = NULL;
    double at_s = 0, sum_s;

    split_costs(&rng, &g->graph, costs_of(sim));
    path = critical_path_new(sim, &g->graph);
    ck_assert_double_eq(path->makespan_s, ra_sim_result(sim)->makespan_s);
    for (guint s = 0; s < path->n_steps; s++) {
      ck_assert_double_eq(path->steps[s].begin_s, at_s);
      ck_assert_uint_gt(path->steps[s].n_tasks, 0);
      at_s = path->steps[s].end_s;
    }
    ck_assert_double_eq(at_s, path->makespan_s);
    sum_s = path->compute_s + path->comm_s + path->host_s + path->bubble_s +
            path->realloc_s;
    ck_assert_double_eq_tol(sum_s, path->makespan_s,
                            1e-9 * path->makespan_s + 1e-300);
  }
}
END_TEST

/* forward 1, forward 2 (one step), send 3, backward 4, reallocation 5; a short
 * task beside them is not on the path. */
START_TEST(test_critical_path_by_hand)
{
  static const double duration_s[] = {1, 2, 3, 4, 5, 0.5};
  static const uint8_t kinds[] = {RA_TASK_FORWARD, RA_TASK_SEND,
                                  RA_TASK_BACKWARD, RA_TASK_REALLOC};
  static const double ends_s[] = {3, 6, 10, 15};
  g_autoptr(TestGraph) g = test_graph_new(1, 8, 1, 1);
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(CriticalPath) path = NULL;
  uint32_t move = test_graph_node(g, RA_NODE_REALLOC, 0);

  test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  test_graph_task(g, RA_TASK_SEND, 0, 1);
  test_graph_task(g, RA_TASK_BACKWARD, 0, 1);
  test_graph_task(g, RA_TASK_REALLOC, move, 1);
  test_graph_task(g, RA_TASK_FORWARD, 0, 1);
  for (RaTaskId t = 0; t < 4; t++)
    test_graph_edge(g, t, t + 1);
  test_graph_edge(g, 0, 5);
  test_graph_edge(g, 5, 4);
  sim = run(test_graph_finish(g), duration_s);
  path = critical_path_new(sim, &g->graph);
  ck_assert_uint_eq(path->n_steps, 4);
  for (guint s = 0; s < 4; s++) {
    ck_assert_uint_eq(path->steps[s].kind, kinds[s]);
    ck_assert_double_eq(path->steps[s].end_s, ends_s[s]);
  }
  ck_assert_uint_eq(path->steps[0].n_tasks, 2);
  ck_assert_uint_eq(path->steps[3].node, move);
  ck_assert_double_eq(path->compute_s, 7);
  ck_assert_double_eq(path->comm_s, 3);
  ck_assert_double_eq(path->realloc_s, 5);
}
END_TEST

/* A clip waits for a forward and a backward that end at once.  Which of them
 * the path takes does not depend on which was made first: the forward, as its
 * kind comes first.  That the least id is another rule shows in
 * critical_pred. */
START_TEST(test_critical_path_tie)
{
  static const double duration_s[] = {1, 1, 2};

  for (guint order = 0; order < 2; order++) {
    g_autoptr(TestGraph) g = test_graph_new(2, 8, 1, 1);
    g_autoptr(RaSim) sim = NULL;
    g_autofree RaTaskId *tasks = NULL;
    RaTaskId forward = order, least;
    uint32_t n;

    test_graph_task(g, order ? RA_TASK_BACKWARD : RA_TASK_FORWARD, 0, 1);
    test_graph_task(g, order ? RA_TASK_FORWARD : RA_TASK_BACKWARD, 0, 2);
    test_graph_task(g, RA_TASK_CLIP, 0, 3);
    test_graph_edge(g, 0, 2);
    test_graph_edge(g, 1, 2);
    sim = run(test_graph_finish(g), duration_s);
    tasks = ra_critical_tasks(sim, &g->graph, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(tasks[0], 2);
    ck_assert_uint_eq(tasks[1], forward);
    least = ra_sim_result(sim)->critical_pred[2];
    ck_assert_uint_eq(least, 0);
  }
}
END_TEST

static Suite *
breakdown_suite(void)
{
  Suite *suite = suite_create("breakdown");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_by_hand);
  tcase_add_test(tcase, test_no_price);
  tcase_add_test(tcase, test_empty_window);
  tcase_add_test(tcase, test_window_has_each_move_once);
  tcase_add_test(tcase, test_account_equals_definition);
  tcase_add_test(tcase, test_critical_path_adds_up);
  tcase_add_test(tcase, test_critical_path_by_hand);
  tcase_add_test(tcase, test_critical_path_tie);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(breakdown_suite)
