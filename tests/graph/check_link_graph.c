/* Networks as graphs: what a file may say, ways, times with flows. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"
#include "tests/support/profile_text.h"

#define HEAD                                                                   \
  "[cluster]\n"                                                                \
  "nodes = 2\n"                                                                \
  "gpus-per-node = 8\n"                                                        \
  "gpu = h100-sxm\n"                                                           \
  "nics-per-node = 8\n"                                                        \
  "nic = 400 Gbit/s\n"                                                         \
  "fabric = graph\n" /* line 7 */

#define STAR "[link a]\nends = node*/nic* hub\nrate = 400 Gbit/s\n"

static RaCluster *
cluster_from(const char *text, GError **error)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("x.cluster", text, strlen(text), error);

  return file ? ra_cluster_load(file, error) : NULL;
}

/* Each with the line that is wrong and a word of what is said of it. */
START_TEST(test_bad)
{
  static const struct {
    const char *text, *want;
  } cases[] = {
      {HEAD "[link a]\nends = node*/nic*\nrate = 1 B/s\n", ":9: 'ends' is"},
      {HEAD "[link a]\nends = a b c\nrate = 1 B/s\n", "two ends"},
      {HEAD "[link a]\nends = a a\nrate = 1 B/s\n", "two different"},
      {HEAD "[link a]\nends = node2/nic0 a\nrate = 1 B/s\n", "a NIC that"},
      {HEAD "[link a]\nends = node0/nic[0-8] a\nrate = 1 B/s\n", "a NIC that"},
      {HEAD "[link a]\nends = node[1-0]/nic0 a\nrate = 1 B/s\n", "node[0-3]"},
      {HEAD "[link a]\nends = a[0-5000] b\nrate = 1 B/s\n", "4096"},
      {HEAD "[link a]\nends = a[0-1]x b\nrate = 1 B/s\n", "name of a switch"},
      {HEAD STAR "[link leaf0/rail0]\nrate = 1 B/s\n", ":11: link 'leaf0"},
      {HEAD STAR "[link node0/nic0]\nrate = 1 B/s\nlatency = 1 us\n",
       ":13: 'latency' without"},
      {HEAD, ":7: node 1 is cut off"},
      {HEAD "[link a]\nends = node0/nic* hub\nrate = 1 B/s\n",
       ":7: node 1 is cut off"},
      {HEAD STAR "[link b]\nends = node1/nic* hub\nrate = 0 B/s\n",
       ":13: node 1 is cut off"},
      {"[cluster]\nnodes = 1\ngpus-per-node = 8\ngpu = h100-sxm\n" STAR,
       ":6: 'ends' without a graph"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;

    ck_assert_ptr_null(cluster_from(cases[i].text, &error));
    ck_assert_msg(strstr(error->message, cases[i].want) != NULL, "case %u: %s",
                  i, error->message);
  }
}
END_TEST

/* Cards 0 to 15, then leaf0, leaf1, spine0, spine1: a card of node 0 is 4 links
 * from one of node 1, over either spine.  Without leaf0-spine0 all flows go
 * over spine1.  A link that is there twice counts as the last says. */
START_TEST(test_ways)
{
#define LEAVES                                                                 \
  HEAD "[link a]\nends = node0/nic* leaf0\nrate = 1 B/s\n"                     \
       "[link b]\nends = node1/nic* leaf1\nrate = 1 B/s\n"                     \
       "[link c]\nends = leaf[0-1] spine[0-1]\nrate = 1 B/s\n"
  g_autoptr(RaCluster) whole = cluster_from(LEAVES, NULL);
  g_autoptr(RaCluster) failed = cluster_from(
      LEAVES "[link d]\nends = spine0 leaf0\nrate = 0 B/s\n", NULL);
  g_autofree uint16_t *distance = ra_link_graph_distances(whole->graph, 8);
  g_autofree uint16_t *other = ra_link_graph_distances(failed->graph, 8);
  guint n[2] = {0, 0};

  ck_assert_uint_eq(whole->graph->links->len, 20);
  ck_assert_uint_eq(failed->graph->links->len, 20);
  ck_assert_uint_eq(distance[0], 4);
  ck_assert_uint_eq(distance[9], 2);
  ck_assert_uint_eq(distance[16], 3);
  for (uint64_t flow = 0; flow < 100; flow++) {
    n[ra_link_graph_next(whole->graph, 16, distance, flow).to - 18]++;
    ck_assert_uint_eq(ra_link_graph_next(failed->graph, 16, other, flow).to,
                      19);
  }
  /* 100 throws of a coin: 3.5 standard deviations about 50 */
  ck_assert_uint_gt(n[0], 32);
  ck_assert_uint_gt(n[1], 32);
}
END_TEST

static const char workload[] =
    "[workload]\nalgorithm = sft\ndataset = d\nprompts = 16\n"
    "prompt-length = fixed(64)\nresponse-length = fixed(64)\n"
    "[model m]\nconfig = tiny.json\ntrainable = true\n"
    "[call train]\nmodel = m\nkind = train\ninputs = d\n";

typedef struct {
  PlanText *text;
  RaProfile *profile; /* ideal, peers never the bound */
  RaTaskGraph *graph;
  RaEstimator *estimator;
  RaSim *sim;
} Run;

/* dp 16 over two nodes joined by @links, with flows. */
static Run
run_new(const char *links)
{
  g_autofree char *cluster = g_strconcat(HEAD, links, NULL);
  RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE};
  Run run = {.profile = profile_text_load(NULL, NULL)};

  run.text = plan_text_new(workload, cluster,
                           "[plan]\nworkload = w\ncluster = c\n"
                           "[call train]\nmesh = all\ndp = 16\n",
                           1);
  run.text->cluster->device = run.profile->spec;
  run.text->cluster->device.intra_bytes_per_s = 1e15;
  run.graph = ra_expand_with(run.text->augmented, &options, NULL);
  run.estimator = ra_estimator_new(run.profile, run.text->cluster, NULL);
  run.sim = ra_sim_new(run.graph, run.estimator, NULL);
  ck_assert(ra_sim_use_network(run.sim, run.estimator, NULL));
  ck_assert(ra_sim_run(run.sim, NULL));
  return run;
}

static void
run_clear(Run *run)
{
  ra_sim_free(run->sim);
  ra_estimator_free(run->estimator);
  ra_task_graph_free(run->graph);
  plan_text_free(run->text);
  ra_profile_free(run->profile);
}

/* A reduction of gradients, @factor and @latency_s of its case. */
static void
check_reduction(const Run *run, RaTaskId task, double factor, double latency_s)
{
  const RaSimResult *r = ra_sim_result(run->sim);
  const RaOp *op = &run->graph->works[run->graph->work[task]].op;
  double alone_s = ra_sim_costs(run->sim)[task].total_s, want_s;
  double took_s = r->end_s[task] - r->begin_s[task];
  RaLinkUse use;

  ra_estimator_link_use(run->estimator, op, FALSE, &use);
  ck_assert_double_gt(use.inter_s, 0);
  want_s = MAX(alone_s, factor * use.inter_s) +
           latency_s * (op->kind == RA_OP_ALL_REDUCE ? 2 : 1);
  ck_assert_double_eq_tol(took_s, want_s, 1e-6 * want_s);
  if (factor == 1 && latency_s == 0)
    ck_assert_double_eq(r->end_s[task], r->begin_s[task] + alone_s);
  else
    ck_assert_double_gt(took_s, alone_s * 1.0001);
}

/* Gradients of dp 16 on two nodes, reduced behind the last backward with nobody
 * else on the links; alone D, of which the cards are full for c.
 *
 *   every card on one switch at its rate: D to the last bit
 *   one card's link at a quarter: its ring takes 4 c there: max(D, 4 c)
 *   leaves joined by one spine of four, 800 Gbit/s for 8 cards: as by a quarter
 *   card 3 of node 1 fails: its GPU's ring goes with card 4's: 2 c
 *   10 us a link, two on the way, an all-reduce of two nodes has two messages
 *     after each other: D + 40 us, others one: D + 20 us */
START_TEST(test_times)
{
  static const struct {
    const char *links;
    double factor, latency_s;
  } cases[] = {
      {STAR, 1, 0},
      {STAR "[link b]\nends = node1/nic3 hub\nrate = 100 Gbit/s\n", 4, 0},
      {"[link a]\nends = node0/nic* leaf0\nrate = 400 Gbit/s\n"
       "[link b]\nends = node1/nic* leaf1\nrate = 400 Gbit/s\n"
       "[link c]\nends = leaf[0-1] spine[0-3]\nrate = 800 Gbit/s\n"
       "[link d]\nends = leaf0 spine[1-3]\nrate = 0 B/s\n",
       4, 0},
      {STAR "[link b]\nends = node1/nic3 hub\nrate = 0 B/s\n", 2, 0},
      {"[link a]\nends = node*/nic* hub\nrate = 400 Gbit/s\nlatency = 10 us\n",
       1, 20e-6},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Run run = run_new(cases[i].links);
    guint n = 0;

    for (RaTaskId task = 0; task < run.graph->n_tasks; task++)
      if (run.graph->kind[task] == RA_TASK_GRAD_REDUCE) {
        check_reduction(&run, task, cases[i].factor, cases[i].latency_s);
        n++;
      }
    ck_assert_uint_gt(n, 0);
    run_clear(&run);
  }
}
END_TEST

static Suite *
link_graph_suite(void)
{
  Suite *suite = suite_create("link graph");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_bad);
  tcase_add_test(tcase, test_ways);
  tcase_add_test(tcase, test_times);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(link_graph_suite)
