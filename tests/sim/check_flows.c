/* Communication that contends: topology, shares, times by hand and by a second
 * solver. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/sim.h"
#include "study/replay.h"
#include "tests/support/check_main.h"
#include "tests/support/graph_builder.h"
#include "tests/support/profile_text.h"

#define NIC 1e6 /* bytes/s */
#define MAX_TASKS 40

/* All-reduces between two lanes each, all of them ready at 0, on an ideal
 * device (no latency, all of every rate): a lane is a node of @gpus_per_lane
 * GPUs. */
typedef struct {
  TestGraph *g;
  RaProfile *profile;
  RaEstimator *estimator;
  RaWork works[MAX_TASKS];
  uint32_t n;
} Net;

static Net
net_new(uint32_t n_lanes, uint32_t gpus_per_lane, uint32_t nics)
{
  Net net = {.g = test_graph_new(n_lanes, gpus_per_lane, 1, 1)};

  net.g->cluster.nics_per_node = nics;
  net.g->cluster.nic_bytes_per_s = NIC;
  return net;
}

/* Takes @alone_s: of 2 x r ranks in a ring the cards of a node carry 2 (n - 1)
 * / n of the bytes each way, a GPU its r-th part at its share of the cards. */
static RaTaskId
net_task(Net *net, uint32_t a, uint32_t b, double alone_s)
{
  uint32_t r = net->g->cluster.gpus_per_node;
  double n = 2.0 * r, rate = net->g->cluster.nics_per_node * NIC;
  RaTaskId task = test_graph_task(net->g, RA_TASK_GRAD_REDUCE, 0,
                                  UINT32_C(1) << a | UINT32_C(1) << b);

  g_array_index(net->g->work, uint32_t, task) = net->n;
  net->works[net->n++] = (RaWork){
      .shard = RA_NONE,
      .op = {.kind = RA_OP_ALL_REDUCE,
             .dtype = RA_DTYPE_FP32,
             .count = 1,
             .dim = {(uint64_t)llround(alone_s * rate * n / (2 * (n - 1))),
                     2 * r, r, 1}}};
  return task;
}

/* @profile: taken over.  Runs it with flows; a failed topology is NULL. */
static RaSim *
net_run(Net *net, RaProfile *profile)
{
  RaTaskGraph *graph = &net->g->graph;
  g_autoptr(RaSim) sim = NULL;

  test_graph_finish(net->g);
  graph->works = net->works;
  graph->n_works = net->n;
  net->profile = profile;
  net->g->cluster.device = profile->spec;
  net->g->cluster.device.intra_bytes_per_s = 1e12; /* never the bound */
  net->estimator = ra_estimator_new(profile, &net->g->cluster, NULL);
  sim = ra_sim_new(graph, net->estimator, NULL);
  if (!ra_sim_use_network(sim, net->estimator, NULL))
    return NULL;
  ck_assert(ra_sim_run(sim, NULL));
  return g_steal_pointer(&sim);
}

static void
net_clear(Net *net)
{
  ra_estimator_free(net->estimator);
  ra_profile_free(net->profile);
  test_graph_free(net->g);
}

static RaProfile *
ideal(void)
{
  return profile_text_load(NULL, NULL);
}

/* Two all-reduces of 1 and 2 s that share node 1: each gets half of its card
 * until the first has ended, at 2 s with 1 s of the other done; the rest at
 * full rate: 3 s.  A third one on nodes 3 and 4 meets nobody: 1.5 s to the bit.
 */
START_TEST(test_shared_card)
{
  Net net = net_new(5, 1, 1);
  RaTaskId a = net_task(&net, 0, 1, 1), b = net_task(&net, 1, 2, 2);
  RaTaskId c = net_task(&net, 3, 4, 1.5);
  g_autoptr(RaSim) sim = net_run(&net, ideal());
  const RaSimResult *r = ra_sim_result(sim);
  g_autofree RaLinkBusy *busy = NULL;
  g_autofree char *name = NULL;
  guint n;

  ck_assert_double_eq_tol(r->end_s[a], 2, 1e-8);
  ck_assert_double_eq_tol(r->end_s[b], 3, 1e-8);
  ck_assert_double_eq(r->end_s[c], ra_sim_costs(sim)[c].total_s);
  ck_assert_double_eq(r->added_s[c], 0);
  ck_assert_double_eq_tol(r->added_s[a], 1, 1e-8);
  /* node 1's card, in and out, was busy for 1 + 2 s and is what both waited
   * for; the others for what they carried */
  busy = ra_flows_busy(ra_sim_flows(sim), &n);
  ck_assert_uint_eq(n, 10);
  ck_assert_double_eq_tol(busy[0].busy_s, 3, 1e-8);
  ck_assert_double_eq_tol(busy[0].waited_s + busy[1].waited_s, 2, 1e-7);
  ck_assert_double_eq_tol(busy[2].busy_s, 2, 1e-8);
  name =
      ra_topology_link_name(ra_flows_topology(ra_sim_flows(sim)), busy[0].link);
  ck_assert_str_eq(name, "network out, GPUs 1");
  net_clear(&net);
}
END_TEST

/* Half of a task's time is latency (0.5 s of 1): two of them at 50 % of a card
 * fill it exactly and do not slow each other; three want 1.5 cards, so each
 * goes on at 2/3 and all end after 1.5 s. */
START_TEST(test_latency_takes_no_bandwidth)
{
  for (uint32_t n = 2; n <= 3; n++) {
    Net net = net_new(6, 1, 1);
    g_autoptr(RaSim) sim = NULL;

    for (uint32_t i = 0; i < n; i++)
      net_task(&net, 0, 1 + i, 0.5);
    /* lane 0 is the first of all: queues apart */
    for (uint32_t i = 0; i < n; i++)
      g_array_index(net.g->lane_mask, uint32_t, i) =
          UINT32_C(1) << i | UINT32_C(1) << 5;
    sim =
        net_run(&net, profile_text_load("inter-node.low-latency-s=0.5",
                                        "inter-node.high-latency-s=0.5", NULL));
    ck_assert_double_eq_tol(ra_sim_costs(sim)[0].total_s, 1, 1e-9);
    ck_assert_double_eq_tol(ra_sim_result(sim)->makespan_s, n == 2 ? 1 : 1.5,
                            1e-8);
    net_clear(&net);
  }
}
END_TEST

/* A node below each leaf, ways up a quarter of the cards: a ring that alone
 * takes 1 s takes 4.  Below one leaf, 1. */
START_TEST(test_oversubscription)
{
  static const struct {
    uint32_t leaf;
    double ratio, want_s;
  } cases[] = {{1, 4, 4}, {2, 4, 1}, {1, 1, 1}, {1, 1.5, 1.5}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Net net = net_new(2, 1, 1);
    g_autoptr(RaSim) sim = NULL;

    net_task(&net, 0, 1, 1);
    net.g->cluster.fabric =
        (RaFabric){RA_FABRIC_RAIL, cases[i].leaf, cases[i].ratio, 0};
    sim = net_run(&net, ideal());
    ck_assert_double_eq_tol(ra_sim_result(sim)->makespan_s, cases[i].want_s,
                            1e-8);
    net_clear(&net);
  }
}
END_TEST

/* Leaves of two nodes, their way up over two spines, a card wide each: rings
 * from node 0 to 2 and from 1 to 3 take 1 s each where they hash to different
 * spines, both ways, and 2 s where they meet on one.  Evenly spread: 1 s. Which
 * it is depends on GPU numbers alone; of the 10 pairs of nodes in two leaves of
 * 5 some meet and some do not. */
START_TEST(test_spines)
{
  guint n_met = 0, n_free = 0;

  for (uint32_t i = 1; i < 5; i++)
    for (uint32_t n_spines = 0; n_spines <= 5; n_spines += 5) {
      Net net = net_new(10, 1, 1);
      g_autoptr(RaSim) sim = NULL;
      double end_s;

      net_task(&net, 0, 5, 1);
      net_task(&net, i, 5 + i, 1);
      net.g->cluster.fabric = (RaFabric){RA_FABRIC_RAIL, 5, 1, n_spines};
      sim = net_run(&net, ideal());
      end_s = ra_sim_result(sim)->makespan_s;
      ck_assert(fabs(end_s - 1) < 1e-8 || (n_spines && fabs(end_s - 2) < 1e-8));
      n_met += end_s > 1.5;
      n_free += n_spines > 0 && end_s < 1.5;
      net_clear(&net);
    }
  ck_assert_uint_gt(n_met, 0);
  ck_assert_uint_gt(n_free, 0);
}
END_TEST

/* Two GPUs a node with a card each.  A card at half its rate: its GPU's half of
 * the ring takes twice as long, and so the ring.  A card that has failed: both
 * GPUs through the other one, 2 s again.  Both failed: refused.  A card for
 * both GPUs is half of it each, as the law counts: 1 s. */
START_TEST(test_unequal_links)
{
  static const struct {
    uint32_t nics, n_links;
    double rate0, rate1, want_s;
  } cases[] = {{2, 0, 0, 0, 1},  {2, 1, NIC / 2, 0, 2}, {2, 1, 0, 0, 2},
               {2, 2, 0, 0, -1}, {1, 0, 0, 0, 1},       {1, 1, NIC / 4, 0, 4}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Net net = net_new(2, 2, cases[i].nics);
    RaClusterLink links[] = {{RA_LINK_NIC, 1, 0, cases[i].rate0},
                             {RA_LINK_NIC, 1, 1, cases[i].rate1}};
    g_autoptr(RaSim) sim = NULL;

    net_task(&net, 0, 1, 1);
    net.g->cluster.links = links;
    net.g->cluster.n_links = cases[i].n_links;
    sim = net_run(&net, ideal());
    if (cases[i].want_s < 0)
      ck_assert_ptr_null(sim);
    else
      ck_assert_double_eq_tol(ra_sim_result(sim)->makespan_s, cases[i].want_s,
                              1e-5); /* bytes are whole */
    net_clear(&net);
  }
}
END_TEST

/* ---- A second solver ----------------------------------------------------- */

/* Tasks between random lanes: of each its two lanes and what it has left. */
typedef struct {
  uint32_t lane[2];
  double left_s, end_s;
} Ring;

/* Rates by filling all links at one pace: at each round the fullest link's open
 * rings stop.  No card above 1, no ring above 1. */
static void
fill(const Ring *rings, uint32_t n, uint32_t n_lanes, double *rate)
{
  g_autofree double *used = g_new0(double, n_lanes);

  for (uint32_t i = 0; i < n; i++)
    rate[i] = rings[i].left_s > 0 ? -1 : 0;
  for (;;) {
    double level = 1;
    uint32_t full = RA_NONE, n_open = 0;

    for (uint32_t l = 0; l < n_lanes; l++) {
      double open = 0;

      for (uint32_t i = 0; i < n; i++)
        open += rate[i] < 0 && (rings[i].lane[0] == l || rings[i].lane[1] == l);
      if (open > 0 && (1 - used[l]) / open < level) {
        level = (1 - used[l]) / open;
        full = l;
      }
      n_open += open > 0;
    }
    if (n_open == 0)
      return;
    for (uint32_t i = 0; i < n; i++) {
      if (rate[i] >= 0 || (full != RA_NONE && rings[i].lane[0] != full &&
                           rings[i].lane[1] != full))
        continue;
      rate[i] = level;
      used[rings[i].lane[0]] += level;
      used[rings[i].lane[1]] += level;
    }
  }
}

static void
solve(Ring *rings, uint32_t n, uint32_t n_lanes)
{
  double rate[MAX_TASKS], now_s = 0;

  for (uint32_t n_left = n; n_left > 0;) {
    double step_s = (double)INFINITY;

    fill(rings, n, n_lanes, rate);
    for (uint32_t i = 0; i < n; i++)
      if (rate[i] > 0)
        step_s = MIN(step_s, rings[i].left_s / rate[i]);
    now_s += step_s;
    for (uint32_t i = 0; i < n; i++) {
      if (!(rate[i] > 0))
        continue;
      rings[i].left_s -= rate[i] * step_s;
      if (rings[i].left_s > 1e-9)
        continue;
      rings[i].left_s = 0;
      rings[i].end_s = now_s;
      n_left--;
    }
  }
}

/* 200 networks: every end as the second solver has it; the sum of what the
 * cards carried is what was to be carried.  A solver that takes one ring to be
 * between other lanes finds other ends: the deliberate fault. */
START_TEST(test_against_another_solver)
{
  RaRng rng = ra_rng_init(7, 7);
  guint n_differ = 0;

  for (guint k = 0; k < 200; k++) {
    uint32_t n_lanes = 4 + (uint32_t)ra_rng_below(&rng, 8);
    uint32_t n = 2 + (uint32_t)ra_rng_below(&rng, MAX_TASKS - 2);
    Net net = net_new(n_lanes, 1, 1);
    Ring rings[MAX_TASKS] = {{{0, 0}, 0, 0}}, wrong[MAX_TASKS];
    g_autoptr(RaSim) sim = NULL;
    g_autofree RaLinkBusy *busy = NULL;
    double carried_s = 0, asked_s = 0;
    guint n_busy;

    for (uint32_t i = 0; i < n; i++) {
      uint32_t a = (uint32_t)ra_rng_below(&rng, n_lanes);
      uint32_t b =
          (a + 1 + (uint32_t)ra_rng_below(&rng, n_lanes - 1)) % n_lanes;
      double alone_s = 0.5 + ra_rng_uniform(&rng);

      rings[i] = (Ring){{a, b}, 0, 0};
      net_task(&net, a, b, alone_s);
    }
    sim = net_run(&net, ideal());
    for (uint32_t i = 0; i < n; i++) {
      rings[i].left_s = ra_sim_costs(sim)[i].total_s;
      asked_s += 4 * rings[i].left_s;
    }
    memcpy(wrong, rings, sizeof wrong);
    wrong[0].lane[0] = (wrong[0].lane[1] + 1) % n_lanes;
    solve(rings, n, n_lanes);
    solve(wrong, n, n_lanes);
    for (uint32_t i = 0; i < n; i++) {
      ck_assert_double_eq_tol(ra_sim_result(sim)->end_s[i], rings[i].end_s,
                              1e-7);
      n_differ += fabs(rings[i].end_s - wrong[i].end_s) > 1e-6;
    }
    busy = ra_flows_busy(ra_sim_flows(sim), &n_busy);
    for (guint i = 0; i < n_busy; i++) {
      carried_s += busy[i].busy_s;
      ck_assert_double_le(busy[i].busy_s,
                          ra_sim_result(sim)->makespan_s * (1 + 1e-8));
    }
    ck_assert_double_eq_tol(carried_s, asked_s, 1e-6);
    net_clear(&net);
  }
  ck_assert_uint_gt(n_differ, 100);
}
END_TEST

/* ---- Shipped plans ------------------------------------------------------- */

/* Where no task was late every time is the closed law's, to the last bit; of
 * the plans whose calls follow each other that is so. */
static gboolean
check_plan(const char *path)
{
  RaSetupFlags flags = {0};
  RaReplayOptions options = {
      .n_iterations = 2, .fidelity = RA_FIDELITY_STAGE, .unfolded = TRUE};
  RaSetup *setup = ra_setup_load(path, RA_FILE_PLAN, &flags, NULL);
  g_autoptr(RaReplay) off = ra_replay_new(setup, &options, NULL);
  g_autoptr(RaReplay) flows = NULL;
  const RaSimResult *a = ra_sim_result(off->sim), *b;
  gboolean is_late = FALSE;
  uint32_t n = off->graph->n_tasks;

  options.flows = TRUE;
  flows = ra_replay_new(setup, &options, NULL);
  b = ra_sim_result(flows->sim);
  for (RaTaskId t = 0; t < n; t++)
    is_late = is_late || b->late_s[t] > 0;
  if (!is_late)
    ck_assert(memcmp(a->begin_s, b->begin_s, n * sizeof *a->begin_s) == 0 &&
              memcmp(a->end_s, b->end_s, n * sizeof *a->end_s) == 0);
  ck_assert_double_le(a->makespan_s, b->makespan_s * (1 + 1e-9));
  ra_setup_free(setup);
  return is_late;
}

enum { PARTS = 4 };

START_TEST(test_shipped_plans)
{
  g_autofree char *folder =
      g_build_filename(g_getenv("srcdir"), "share", "plans", NULL);
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  guint n = 0, n_free = 0;

  while ((name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);

    if (!g_str_has_suffix(name, ".plan") || strstr(name, "1024") ||
        strstr(name, "16384") || n++ % PARTS != (guint)_i)
      continue;
    n_free += !check_plan(path);
  }
  ck_assert_uint_gt(n_free, 0);
}
END_TEST

static Suite *
flows_suite(void)
{
  Suite *suite = suite_create("flows");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_shared_card);
  tcase_add_test(tcase, test_latency_takes_no_bandwidth);
  tcase_add_test(tcase, test_oversubscription);
  tcase_add_test(tcase, test_spines);
  tcase_add_test(tcase, test_unequal_links);
  tcase_add_test(tcase, test_against_another_solver);
  tcase_add_loop_test(tcase, test_shipped_plans, 0, PARTS);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(flows_suite)
