/* Clusters whose nodes are of several kinds. */
#include "config.h"

#include "base/error.h"
#include "study/memory_verdict.h"
#include "study/replay.h"
#include "study/sweep/resource.h"
#include "tests/support/search_case.h"

static const char cluster_text[] = "[cluster]\n"
                                   "nodes = 6\n"
                                   "gpus-per-node = 8\n"
                                   "gpu = h100-sxm\n"
                                   "nics-per-node = 8\n"
                                   "nic = 400 Gbit/s\n"
                                   "price = 2 USD/gpu/h\n"
                                   "[kind old]\n"
                                   "nodes = node[1,4-9]\n"
                                   "gpu = a100-sxm\n"
                                   "nic = 200 Gbit/s\n";

static RaCluster *
load(const char *text, GError **error)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("x.cluster", text, strlen(text), error);

  return file ? ra_cluster_load(file, error) : NULL;
}

/* Nodes 1, 4 and 5 are old, 6 to 9 are beyond the cluster. */
START_TEST(reading)
{
  GError *error = NULL;
  RaCluster *c = load(cluster_text, &error), old;
  RaMesh mesh;

  ck_assert_msg(c != NULL, "%s", error ? error->message : "");
  ck_assert_uint_eq(c->n_kinds, 2);
  for (uint32_t node = 0; node < 6; node++)
    ck_assert_uint_eq(ra_cluster_kind(c, node * 8 + 7),
                      node == 1 || node >= 4 ? 1 : 0);
  ck_assert(ra_mesh_parse("node[2-3]", c, &mesh, NULL));
  ck_assert_uint_eq(ra_cluster_kinds(c, &mesh), 1);
  ck_assert(ra_mesh_parse("node[3-5]", c, &mesh, NULL));
  ck_assert_uint_eq(ra_cluster_kinds(c, &mesh), 3);
  /* A kind has from the cluster what it does not say. */
  old = ra_cluster_of_kind(c, 1);
  ck_assert_str_eq(old.gpu, "a100-sxm");
  ck_assert_uint_eq(old.nics_per_node, 8);
  ck_assert_double_eq(old.nic_bytes_per_s, 25e9);
  ck_assert_double_eq(old.usd_per_gpu_h, 2);
  ck_assert_ptr_null(old.kind_of_node);
  ra_cluster_free(c);
}
END_TEST

/* The line of what is wrong, and what was expected. */
START_TEST(bad)
{
  static const struct {
    const char *rest, *says;
  } cases[] = {
      {"[kind old]\ngpu = x\n", "x.cluster:7: "},
      {"[kind old]\nnodes = all\n", "x.cluster:8: 'nodes' is 'all'"},
      {"[kind old]\nnodes = node1:gpu[0-3]\n", "some whole nodes"},
      {"[kind old]\nnodes = node[0-\n", "x.cluster:8: 'nodes': "},
      {"[kind old]\nnodes = node1\nnicc = 1 GB/s\n", "did you mean 'nic'"},
      {"[kind a]\nnodes = node1\n[kind b]\nnodes = node[0-1]\n",
       "x.cluster:10: node 1 is of kind 'a' already"},
      {"[kind]\nnodes = node1\n", "x.cluster:7: "},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text =
        g_strconcat("[cluster]\nnodes = 2\ngpus-per-node = 8\ngpu = h100-sxm\n"
                    "nics-per-node = 8\nnic = 1 GB/s\n",
                    cases[i].rest, NULL);
    GError *error = NULL;

    ck_assert_ptr_null(load(text, &error));
    ck_assert_int_eq(error->code, RA_ERROR_INPUT);
    ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s",
                  error->message);
    g_error_free(error);
  }
}
END_TEST

/* --- a plan on some nodes --- */

/* Seconds of an iteration of sft on two nodes of @cluster, and $. */
static double
seconds_of(const char *cluster, const char *mesh, const char *tp,
           const char *pp, const char *fabric, const RaReplayOptions *options,
           double *out_usd)
{
  g_autofree char *on = g_strdup_printf("call actor_train.mesh=%s", mesh);
  g_autofree char *t = g_strdup_printf("call actor_train.tp=%s", tp);
  g_autofree char *p = g_strdup_printf("call actor_train.pp=%s", pp);
  const char *sets[] = {on,
                        t,
                        p,
                        "call actor_train.dp=2",
                        "call actor_train.micro-batches=4",
                        fabric,
                        NULL};
  RaSetupFlags flags = {.cluster = cluster, .sets = sets};
  GError *error = NULL;
  g_autoptr(RaSetup) setup =
      ra_setup_load("sft-llama3-8b-8.plan", RA_FILE_PLAN, &flags, &error);
  g_autoptr(RaReplay) replay = NULL;
  RaBreakdown *b;
  double iteration_s;

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  replay = ra_replay_new(setup, options, &error);
  ck_assert_msg(replay != NULL, "%s", error ? error->message : "");
  b = ra_breakdown_new(replay->sim, replay->graph);
  iteration_s = b->iteration_s;
  *out_usd = b->usd;
  ra_breakdown_free(b);
  return iteration_s;
}

static double
seconds(const char *cluster, const char *mesh, const char *tp, const char *pp,
        RaFidelity fidelity, double *out_usd)
{
  RaReplayOptions options = {
      .n_iterations = 2, .fidelity = fidelity, .seed = 1};

  return seconds_of(cluster, mesh, tp, pp, NULL, &options, out_usd);
}

/* On nodes of one kind it takes what it takes on a cluster of that kind alone;
 * across kinds no less than on either.  As dp across, the slower replica is
 * waited for: all of the slower time less what the gradients take on the faster
 * links; as pp across, only half of the stages are slow.  $: 16 GPUs at 6.155,
 * 2.7, or 8 of each at their mean. */
START_TEST(one_kind)
{
  static const RaFidelity fidelities[] = {RA_FIDELITY_CALL, RA_FIDELITY_STAGE,
                                          RA_FIDELITY_OP};

  for (guint f = 0; f < G_N_ELEMENTS(fidelities); f++) {
    RaFidelity fidelity = fidelities[f];
    double usd[5];
    double h100 =
        seconds("h100-4n.cluster", "node[0-1]", "8", "1", fidelity, &usd[0]);
    double a100 =
        seconds("a100-4n.cluster", "node[0-1]", "8", "1", fidelity, &usd[1]);
    double first = seconds("h100-a100-4n.cluster", "node[0-1]", "8", "1",
                           fidelity, &usd[2]);
    double last = seconds("h100-a100-4n.cluster", "node[2-3]", "8", "1",
                          fidelity, &usd[3]);
    double across = seconds("h100-a100-4n.cluster", "node[1-2]", "8", "1",
                            fidelity, &usd[4]);
    double h100_pp =
        seconds("h100-4n.cluster", "node[0-1]", "4", "2", fidelity, &usd[0]);
    double a100_pp =
        seconds("a100-4n.cluster", "node[0-1]", "4", "2", fidelity, &usd[1]);
    double across_pp = seconds("h100-a100-4n.cluster", "node[1-2]", "4", "2",
                               fidelity, &usd[1]);

    ck_assert_double_eq(first, h100);
    ck_assert_double_eq(last, a100);
    ck_assert(a100 > 1.5 * h100);
    ck_assert_double_eq_tol(across, a100, 0.02 * a100);
    ck_assert(across_pp > h100_pp && across_pp <= a100_pp);
    ck_assert_double_eq_tol(usd[2] / (16 * 6.155 * first / 3600), 1, 1e-9);
    ck_assert_double_eq_tol(usd[3] / (16 * 2.7 * last / 3600), 1, 1e-9);
    ck_assert_double_eq_tol(usd[4] / (8 * (6.155 + 2.7) * across / 3600), 1,
                            1e-9);
  }
}
END_TEST

/* Over a network: on nodes of one kind what it takes on a cluster of that kind
 * alone, whatever the fabric, as each kind's links are measured by its own law
 * (cards of 400 and of 200 Gbit/s); below leaves of one node and 4 times
 * oversubscribed no less.  Two nodes of which one is slow: no less than the
 * slow kind alone less what the fast links save, and no more than it. */
START_TEST(network)
{
  static const char *const fabrics[] = {"cluster.fabric=flat",
                                        "cluster.fabric=fat-tree(leaf=1, "
                                        "oversubscription=4)"};
  RaReplayOptions options = {.n_iterations = 2,
                             .fidelity = RA_FIDELITY_STAGE,
                             .seed = 1,
                             .flows = TRUE};
  double usd, h100[2], a100[2];

  for (guint f = 0; f < 2; f++) {
    double across;

    h100[f] = seconds_of("h100-4n.cluster", "node[0-1]", "8", "1", fabrics[f],
                         &options, &usd);
    a100[f] = seconds_of("a100-4n.cluster", "node[0-1]", "8", "1", fabrics[f],
                         &options, &usd);
    ck_assert_double_eq(seconds_of("h100-a100-4n.cluster", "node[0-1]", "8",
                                   "1", fabrics[f], &options, &usd),
                        h100[f]);
    ck_assert_double_eq_tol(seconds_of("h100-a100-4n.cluster", "node[2-3]", "8",
                                       "1", fabrics[f], &options, &usd),
                            a100[f], 1e-9 * a100[f]);
    across = seconds_of("h100-a100-4n.cluster", "node[1-2]", "8", "1",
                        fabrics[f], &options, &usd);
    ck_assert(across > h100[f]);
    ck_assert_double_eq_tol(across, a100[f], 0.02 * a100[f]);
  }
  ck_assert(h100[1] > h100[0] && a100[1] > a100[0]);
}
END_TEST

/* ReaL's estimator has one kind of GPU. */
START_TEST(refused)
{
  RaSetupFlags flags = {.cluster = "h100-a100-4n.cluster", .real = TRUE};
  RaReplayOptions options = {.n_iterations = 1, .seed = 1};
  GError *error = NULL;
  g_autoptr(RaSetup) setup =
      ra_setup_load("sft-llama3-8b-8.plan", RA_FILE_PLAN, &flags, &error);

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  ck_assert_ptr_null(ra_replay_new(setup, &options, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "one kind of GPU"));
  g_clear_error(&error);
}
END_TEST

/* Twice the network is twice the cards of every kind: 400 and 200 Gbit/s are
 * 50 and 25 GB/s. */
START_TEST(sensitivity)
{
  RaSetupFlags flags = {.cluster = "h100-a100-4n.cluster"};
  g_autoptr(RaSetup) setup =
      ra_setup_load("sft-llama3-8b-8.plan", RA_FILE_PLAN, &flags, NULL);
  g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *now = NULL;
  gboolean own = FALSE, other = FALSE;

  for (guint i = 0; i < RA_N_RESOURCES; i++)
    if (strcmp(ra_resources[i].name, "network") == 0)
      ck_assert(ra_resources[i].change(setup, 2, sets, &now));
  for (guint i = 0; i < sets->len; i++) {
    own = own || strcmp(sets->pdata[i], "cluster.nic=100000000000 B/s") == 0;
    other =
        other || strcmp(sets->pdata[i], "kind a100.nic=50000000000 B/s") == 0;
  }
  ck_assert_uint_eq(sets->len, 2);
  ck_assert(own && other);
}
END_TEST

/* --- search --- */

/* As evaluated so simulated, to the last bit; the third kind of memory says
 * whether the fullest GPU is the one with the least room. */
static void
compare(const char *workload, const char *const *sets, RaSpaceKind kind,
        guint n)
{
  SearchCase c;
  guint n_both = 0, n_over = 0, n_unlike = 0;

  search_case_init(&c, workload, "h100-a100-4n.cluster", sets, kind, NULL);
  for (guint i = 0; i < n; i++) {
    RaPoint point = search_case_point(&c, i % 2), other;
    RaScore score, wrong;

    search_case_compare(&c, &point);
    ra_evaluate(c.evaluator, &point, &score);
    n_over += score.over_bytes > 0;
    for (guint k = 0; k < c.setup->workload->n_calls; k++)
      n_both += ra_space_candidate(c.space, k, point.calls[k])->kinds == 3;
    /* The fault: a call on other nodes is another plan. */
    other = point;
    other.calls[0] = search_case_choice(&c, 0);
    ra_evaluate(c.evaluator, &other, &wrong);
    n_unlike += !search_case_same(&score, &wrong);
  }
  ck_assert_uint_gt(n_both, n / 8);
  ck_assert_uint_gt(n_unlike, n / 2);
  ck_assert_uint_gt(n_over, 0);
  search_case_clear(&c);
}

START_TEST(simulator)
{
  const char *sets[] = {"workload.prompts=64", NULL};

  compare("ppo-llama2-7b.workload", sets, RA_SPACE_REAL, 80);
}
END_TEST

/* 48 GB instead of 80 on the last nodes, drawn lengths, a host call. */
START_TEST(simulator_memory)
{
  const char *sets[] = {"workload.prompts=32", "kind a100.gpu=l40s", NULL};

  compare("grpo-qwen2.5-7b.workload", sets, RA_SPACE_REAL, 40);
}
END_TEST

/* No candidate costs less than its bound, on both kinds either. */
START_TEST(bounds)
{
  const char *sets[] = {"workload.prompts=32", NULL};
  SearchCase c;
  guint n_both = 0, n_tight = 0;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-a100-4n.cluster", sets,
                   RA_SPACE_REAL, NULL);
  for (guint call = 0; call < c.setup->workload->n_calls; call++)
    for (uint32_t i = 0; i < c.space->calls[call].n; i++) {
      double call_s = ra_cost_table_call_s(c.costs, call, i)[0];
      double bound_s = ra_cost_table_bound_s(c.costs, call, i);

      ck_assert_msg(bound_s <= call_s, "%u %u: %g > %g", call, i, bound_s,
                    call_s);
      n_tight += bound_s > 0.95 * call_s;
      n_both += c.space->calls[call].candidates[i].kinds == 3;
    }
  ck_assert_uint_gt(n_both, 0);
  ck_assert_uint_gt(n_tight, 0);
  search_case_clear(&c);
}
END_TEST

static Suite *
kinds_suite(void)
{
  Suite *s = suite_create("kinds");
  TCase *core = tcase_create("core");

  tcase_set_timeout(core, 600);
  tcase_add_test(core, reading);
  tcase_add_test(core, bad);
  tcase_add_test(core, one_kind);
  tcase_add_test(core, network);
  tcase_add_test(core, refused);
  tcase_add_test(core, sensitivity);
  tcase_add_test(core, simulator);
  tcase_add_test(core, simulator_memory);
  tcase_add_test(core, bounds);
  suite_add_tcase(s, core);
  return s;
}

RA_CHECK_MAIN(kinds_suite)
