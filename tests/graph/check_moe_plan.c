/* Plans that spread experts over ranks: gradients, geometry, refusals. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/expand/lane.h"
#include "graph/memory/memory.h"
#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"
#include "tests/support/profile_text.h"

#define WORKLOAD                                                               \
  "[workload]\nformat = 1\nalgorithm = sft\ndataset = d\nprompts = 64\n"       \
  "prompt-length = fixed(64)\nresponse-length = fixed(64)\n"                   \
  "[model m]\nconfig = ../../share/models/mixtral-8x7b.json\n"                 \
  "trainable = true\n"                                                         \
  "[call train]\nmodel = m\nkind = train\ninputs = d\n"

/* Lengths that differ. */
#define RAGGED                                                                 \
  "[workload]\nformat = 1\nalgorithm = sft\ndataset = d\nprompts = 64\n"       \
  "prompt-length = fixed(64)\nresponse-length = lognormal(600, 900, 4096)\n"   \
  "[model m]\nconfig = ../../share/models/mixtral-8x7b.json\n"                 \
  "trainable = true\n"                                                         \
  "[call train]\nmodel = m\nkind = train\ninputs = d\n"

static RaTaskGraph *
graph_of(const char *workload, const char *keys, PlanText **out_text)
{
  g_autofree char *cluster = plan_text_cluster(2);
  g_autofree char *plan = g_strconcat(
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call train]\n", keys,
      NULL);
  RaTaskGraph *graph;

  *out_text = plan_text_new(workload, cluster, plan, 1);
  graph = ra_expand((*out_text)->augmented, RA_FIDELITY_STAGE, 0, NULL);
  ck_assert_ptr_nonnull(graph);
  return graph;
}

/* Bytes of the tasks of @kind whose op has @ranks ranks; all are of the first
 * dimension. */
static double
task_bytes(const RaTaskGraph *g, RaTaskKind kind, uint64_t ranks)
{
  double sum = 0;

  for (RaTaskId t = 0; t < g->n_tasks; t++)
    if (g->kind[t] == kind && g->works[g->work[t]].op.dim[1] == ranks)
      sum += (double)g->works[g->work[t]].op.dim[0];
  return sum;
}

/* Mixtral on dp 8 x tp 2: of 32 layers' experts a GPU has 8 x 3 h f / 2 a
 * layer with ep 1 and a quarter of it with ep 4.  With ep 4 the gradients of
 * experts (fp32) are summed over 8 / 4 = 2 ranks, all others over 8, in
 * buckets or at once; ZeRO 1 gives a GPU an eighth of the others' state and a
 * half of its experts', and gathers the same way.  The faults: the counts of
 * ep 1. */
START_TEST(test_gradients)
{
  const double experts = 32.0 * 8 * 3 * 4096 * 14336 / 2 / 4;

  for (guint overlap = 0; overlap < 2; overlap++) {
    const char *more = overlap ? "overlap-grad-reduce = true\n" : "";
    g_autofree char *keys =
        g_strconcat("mesh = all\ndp = 8\ntp = 2\nzero = 1\ngrad-dtype = fp32\n"
                    "ep = 4\n",
                    more, NULL);
    PlanText *text;
    RaTaskGraph *g = graph_of(WORKLOAD, keys, &text);
    RaPiece whole = {.n_layers = 32, .has_embedding = 1, .has_head = 1};
    double n = (double)ra_piece_n_params(&g->shards[0], &whole);
    double dense = n - experts, state = 0;

    ck_assert_double_eq(task_bytes(g, RA_TASK_GRAD_REDUCE, 8), 4 * dense);
    ck_assert_double_eq(task_bytes(g, RA_TASK_GRAD_REDUCE, 2), 4 * experts);
    ck_assert_double_eq(task_bytes(g, RA_TASK_PARAM_GATHER, 8), 2 * dense);
    ck_assert_double_eq(task_bytes(g, RA_TASK_PARAM_GATHER, 2), 2 * experts);
    ck_assert_double_ne(task_bytes(g, RA_TASK_GRAD_REDUCE, 8), 4 * n);
    for (RaTaskId t = 0; t < g->n_tasks; t++)
      if (g->kind[t] == RA_TASK_OPTIMIZER && g->replica[t] == 0)
        state += (double)g->works[g->work[t]].op.dim[0];
    ck_assert_double_eq(state, ceil(dense / 8) + experts / 2);
    ck_assert_double_ne(state, ceil(n / 8));
    ra_task_graph_free(g);
    plan_text_free(text);
  }
}
END_TEST

/* Parameters that the optimizer steps of stage @stage update. */
static double
stepped(const RaTaskGraph *g, uint32_t stage)
{
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    if (g->kind[t] == RA_TASK_OPTIMIZER && g->stage[t] == stage)
      return (double)g->works[g->work[t]].op.dim[0];
  return 0;
}

/* Copies of Mixtral's state to host memory, dp 8 x tp 2 with ZeRO 1: a rank has
 * 12 bytes for an eighth of what is no expert's; of its experts, which with ep
 * 4 two ranks hold alike, for a half.  All 16 ranks together have 12 bytes a
 * parameter, and 12 more for norms and routers, which both tp ranks have.  The
 * fault: an eighth of the experts, too. */
START_TEST(test_state_copies)
{
  const double experts = 32.0 * 8 * 3 * 4096 * 14336;
  const double both = 32.0 * (2 * 4096 + 4096 * 8) + 4096;
  const char *keys = "mesh = all\ndp = 8\ntp = 2\nzero = 1\nep = 4\n"
                     "grad-dtype = fp32\noptimizer-residency = host\n";
  PlanText *text;
  RaTaskGraph *g = graph_of(WORKLOAD, keys, &text);
  const RaModel *model = text->workload->models[0].model;
  double all = (double)ra_model_n_params(model), rest = all - experts;
  double most, state,
      total = ra_augment_copy_bytes(text->plan, 0, RA_COPY_OPTIMIZER, &most,
                                    &state);

  ck_assert_double_eq_tol(total, 12 * (all + both), 1e-6 * total);
  ck_assert_double_eq_tol(state, 12 * ((rest + both) / 2 / 8 + experts / 8 / 2),
                          1e-6 * state);
  ck_assert_double_eq(most, state);
  ra_task_graph_free(g);
  plan_text_free(text);
}
END_TEST

/* Mixtral with experts over tensor-parallel ranks, 32 / pp layers a stage.  On
 * its last stage, which has head and final norm:
 *
 *     dense    layers (2 h (q + kv) / tp + h E + 2 h) + h + h vocab / tp
 *     experts  layers 3 h f 8 / (ep expert-tp)
 *
 * which the stage's optimizer divides by dp cp and by tp dp cp / (expert-tp
 * ep).  Sums of gradients (4 bytes) are of all stages.  The last row has one
 * replica, whose tp ranks hold each expert twice: these alone are summed, and
 * sharded.  Memory has 12 bytes of state for what the optimizer updates.  The
 * fault: ranks of experts that are dp cp / ep, as where tp cuts them. */
START_TEST(test_gradients_over_tp)
{
  static const struct {
    const char *keys;
    uint32_t pp, tp, data, ep, cut;
  } rows[] = {
      {"dp = 2\ntp = 8\nep = 8\nexpert-tp = 1\n", 1, 8, 2, 8, 1},
      {"dp = 4\ntp = 4\nep = 8\nexpert-tp = 1\n", 1, 4, 4, 8, 1},
      {"dp = 2\ncp = 2\ntp = 4\nep = 4\nexpert-tp = 2\n", 1, 4, 4, 4, 2},
      {"dp = 2\npp = 2\ntp = 4\nep = 2\nexpert-tp = 1\n", 2, 4, 2, 2, 1},
      {"pp = 2\ntp = 8\nep = 4\nexpert-tp = 1\n", 2, 8, 1, 4, 1}};

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *keys = g_strconcat(
        "mesh = all\nzero = 1\ngrad-dtype = fp32\nsequence-parallel = true\n",
        rows[i].keys, i % 2 ? "overlap-grad-reduce = true\n" : "", NULL);
    PlanText *text;
    RaTaskGraph *g = graph_of(WORKLOAD, keys, &text);
    uint32_t pp = rows[i].pp, tp = rows[i].tp;
    double same = tp * rows[i].data / (double)(rows[i].ep * rows[i].cut);
    double layers = 32.0 / pp, h = 4096, table = h * 32000 / tp;
    double experts = layers * 3 * h * 14336 * 8 / (rows[i].ep * rows[i].cut);
    double dense =
        layers * (2 * h * (4096 + 1024) / tp + h * 8 + 2 * h) + h + table;
    double all = pp == 1 ? dense + table : 2 * dense - h;
    g_autoptr(RaMemory) memory = ra_memory_new(text->plan);
    double state;

    if (pp == 1)
      dense += table; /* the embedding */
    state = ceil(dense / rows[i].data) + ceil(experts / same);
    ck_assert_double_eq(stepped(g, pp - 1), state);
    ck_assert_double_eq((double)memory->calls[0].stages[pp - 1].optimizer_bytes,
                        12 * state);
    ck_assert_double_eq((double)memory->calls[0].stages[pp - 1].param_bytes,
                        2 * (dense + experts));
    if (rows[i].data > 1 && (uint32_t)same != rows[i].data) {
      ck_assert_double_eq(task_bytes(g, RA_TASK_GRAD_REDUCE, rows[i].data),
                          4 * all);
      ck_assert_double_eq(task_bytes(g, RA_TASK_PARAM_GATHER, rows[i].data),
                          2 * all);
    }
    ck_assert_double_eq(
        task_bytes(g, RA_TASK_GRAD_REDUCE, (uint64_t)same),
        4 * (pp * experts + ((uint32_t)same == rows[i].data ? all : 0)));
    ck_assert_double_ne(state, ceil(dense / rows[i].data) +
                                   ceil(experts * rows[i].ep / rows[i].data));
    ra_task_graph_free(g);
    plan_text_free(text);
  }
}
END_TEST

/* Seconds of the @k-th computation of replica @d, which stand in the graph in
 * the order of the schedule. */
static double
step_s(const RaTaskGraph *g, const RaCost *costs, uint32_t d, uint32_t k)
{
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    if ((g->kind[t] == RA_TASK_FORWARD || g->kind[t] == RA_TASK_BACKWARD) &&
        g->replica[t] == d && k-- == 0)
      return costs[t].total_s;
  ck_abort_msg("no such step");
  return 0;
}

#define SPLIT "sequence-parallel = true\n"

/* When the gradients' reduction begins in Mixtral on dp 4 x tp 4, lengths
 * ragged, 8 micro-batches, so 16 computations a replica: replicas that
 * share experts end each together, so with ep 2 the slower pair of (0, 1) and
 * (2, 3) decides:
 *
 *     max over pairs of  sum over k of  max over the pair of step k
 *
 * with ep 4 all four in one, with ep 1 each for itself.  With cp 2 a replica's
 * ep 2 are its own cp ranks: each for itself.  Experts over tp ranks need as
 * many times fewer replicas.  The fault: each for itself where they share. */
START_TEST(test_replicas_meet)
{
  static const struct {
    const char *keys;
    uint32_t n; /* replicas that share */
  } rows[] = {{"dp = 4\ntp = 4\n", 1},
              {"dp = 4\ntp = 4\nep = 2\n", 2},
              {"dp = 4\ntp = 4\nep = 4\n", 4},
              {"dp = 4\ntp = 2\ncp = 2\nep = 2\n", 1},
              {"dp = 4\ntp = 2\ncp = 2\nep = 4\n", 2},
              {"dp = 4\ntp = 2\ncp = 2\nep = 2\nrank-order = tp-dp-cp-pp\n", 2},
              {"dp = 4\ntp = 4\nep = 4\nexpert-tp = 1\n" SPLIT, 1},
              {"dp = 4\ntp = 4\nep = 8\nexpert-tp = 1\n" SPLIT, 2},
              {"dp = 4\ntp = 4\nep = 8\nexpert-tp = 2\n" SPLIT, 4},
              {"dp = 4\ntp = 2\ncp = 2\nep = 4\nexpert-tp = 1\n" SPLIT, 1}};

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *keys =
        g_strconcat("mesh = all\nmicro-batches = 8\n", rows[i].keys, NULL);
    RaProfile *profile = profile_text_shipped("h100-sxm");
    PlanText *text;
    RaTaskGraph *g = graph_of(RAGGED, keys, &text);
    RaEstimator *estimator;
    double expected = 0, alone = 0, begin = 0;
    RaSim *sim;

    ck_assert_uint_eq(ra_call_plan_ep_replicas(&text->plan->calls[0]),
                      rows[i].n);
    text->cluster->device = profile->spec;
    estimator = ra_estimator_new(profile, text->cluster, NULL);
    sim = ra_sim_new(g, estimator, NULL);
    ck_assert(ra_sim_run(sim, NULL));
    for (uint32_t first = 0; first < 4; first += rows[i].n) {
      double sum = 0;
      for (uint32_t k = 0; k < 16; k++) {
        double most = 0;
        for (uint32_t d = first; d < first + rows[i].n; d++)
          most = MAX(most, step_s(g, ra_sim_costs(sim), d, k));
        sum += most;
      }
      expected = MAX(expected, sum);
    }
    for (uint32_t d = 0; d < 4; d++) {
      double sum = 0;
      for (uint32_t k = 0; k < 16; k++)
        sum += step_s(g, ra_sim_costs(sim), d, k);
      alone = MAX(alone, sum);
    }
    for (RaTaskId t = 0; t < g->n_tasks && begin == 0; t++)
      if (g->kind[t] == RA_TASK_GRAD_REDUCE)
        begin = ra_sim_result(sim)->begin_s[t];
    ck_assert_double_eq_tol(begin, expected, 1e-9 * expected);
    ck_assert(rows[i].n == 4 ? alone < 0.99 * begin
                             : alone < (1 + 1e-9) * begin);
    ra_sim_free(sim);
    ra_estimator_free(estimator);
    ra_task_graph_free(g);
    plan_text_free(text);
    ra_profile_free(profile);
  }
}
END_TEST

static void
check_same_graph(const RaTaskGraph *a, const RaTaskGraph *b)
{
  ck_assert_uint_eq(a->n_tasks, b->n_tasks);
  ck_assert_uint_eq(a->n_works, b->n_works);
  ck_assert_uint_eq(a->n_lanes, b->n_lanes);
  for (RaTaskId t = 0; t < a->n_tasks; t++) {
    ck_assert_uint_eq(ra_task_name_hash(a, t), ra_task_name_hash(b, t));
    ck_assert_uint_eq(a->work[t], b->work[t]);
    ck_assert_uint_eq(a->group[t], b->group[t]);
  }
  for (uint32_t w = 0; w < a->n_works; w++) {
    RaOp x[RA_OP_LIST_MAX], y[RA_OP_LIST_MAX];
    guint n = ra_work_ops(a, w, x);
    ck_assert_uint_eq(n, ra_work_ops(b, w, y));
    ck_assert_mem_eq(x, y, n * sizeof *x);
  }
}

/* ep = cp = 1 is what a plan without the keys says, op for op, and so is
 * expert-tp = tp; ep = 2 and expert-tp = 1 are other graphs. */
START_TEST(test_ones_change_nothing)
{
  static const char base[] = "mesh = all\ndp = 4\ntp = 2\npp = 2\n"
                             "zero = 1\nsequence-parallel = true\n";
  PlanText *text[4];
  RaTaskGraph *g[4] = {graph_of(WORKLOAD, base, &text[0])};
  g_autofree char *ones =
      g_strconcat(base, "ep = 1\ncp = 1\nexpert-tp = 2\n", NULL);
  g_autofree char *two = g_strconcat(base, "ep = 2\n", NULL);
  g_autofree char *whole = g_strconcat(base, "expert-tp = 1\n", NULL);

  g[1] = graph_of(WORKLOAD, ones, &text[1]);
  g[2] = graph_of(WORKLOAD, two, &text[2]);
  g[3] = graph_of(WORKLOAD, whole, &text[3]);
  check_same_graph(g[0], g[1]);
  ck_assert_uint_gt(g[2]->n_tasks, g[0]->n_tasks);
  ck_assert_uint_gt(g[3]->n_tasks, g[0]->n_tasks);
  for (guint i = 0; i < 4; i++) {
    ra_task_graph_free(g[i]);
    plan_text_free(text[i]);
  }
}
END_TEST

/* On nodes of 8 in the order tp, cp, dp with tp 2, cp 2, dp 4, ep 4: data rank
 * i stands at GPUs 2 i and 2 i + 1, so a node has data ranks 0 to 3.  Those of
 * ep 0 to 3 are one node's; the same experts lie on data ranks 0 and 4, on two
 * nodes; all 8 lie 4 a node. */
START_TEST(test_geometry)
{
  PlanText *text;
  RaTaskGraph *g =
      graph_of(WORKLOAD, "mesh = all\ndp = 4\ntp = 2\ncp = 2\nep = 4\n", &text);
  const RaCallPlan *plan = &text->plan->calls[0];
  RaAxisGeometry ep = ra_data_geometry(plan, text->cluster, RA_DATA_EP);
  RaAxisGeometry same = ra_data_geometry(plan, text->cluster, RA_DATA_EXPERTS);
  RaAxisGeometry all = ra_data_geometry(plan, text->cluster, RA_DATA_ALL);

  ck_assert(ep.ranks == 4 && ep.ranks_per_node == 4 && ep.groups_per_node == 2);
  ck_assert(same.ranks == 2 && same.ranks_per_node == 1 &&
            same.groups_per_node == 8);
  ck_assert(all.ranks == 8 && all.ranks_per_node == 4 &&
            all.groups_per_node == 2);
  for (uint32_t rank = 0; rank < 16; rank++) {
    RaCoord at = ra_call_plan_coord(plan, rank);
    RaCoord back =
        ra_call_plan_data_coord(plan, at, ra_call_plan_data_rank(plan, &at));
    ck_assert_uint_eq(ra_call_plan_data_rank(plan, &at), rank / 2);
    ck_assert_uint_eq(ra_call_plan_ep_rank(plan, &at), rank / 2 % 4);
    ck_assert_mem_eq(&at, &back, sizeof at);
  }
  ra_task_graph_free(g);
  plan_text_free(text);
}
END_TEST

/* The same GPUs with tp 4, dp 4, ep 4, expert-tp 2: expert rank e is GPU e, so
 * ep 0 to 3 are GPUs 0, 2, 4 and 6 of one node, the two that cut the same
 * experts 0 and 1, and the same parts lie on 0 and 8, on two nodes.  GPU 5 has
 * part 1 of the experts of ep 2. */
START_TEST(test_geometry_over_tp)
{
  PlanText *text;
  RaTaskGraph *g = graph_of(WORKLOAD,
                            "mesh = all\ndp = 4\ntp = 4\nep = 4\n"
                            "expert-tp = 2\nsequence-parallel = true\n",
                            &text);
  const RaCallPlan *plan = &text->plan->calls[0];
  RaAxisGeometry ep = ra_data_geometry(plan, text->cluster, RA_DATA_EP);
  RaAxisGeometry cut = ra_data_geometry(plan, text->cluster, RA_DATA_EXPERT_TP);
  RaAxisGeometry same = ra_data_geometry(plan, text->cluster, RA_DATA_EXPERTS);
  RaCoord at = ra_call_plan_coord(plan, 5);

  ck_assert(ep.ranks == 4 && ep.ranks_per_node == 4 && ep.groups_per_node == 2);
  ck_assert(cut.ranks == 2 && cut.ranks_per_node == 2 &&
            cut.groups_per_node == 4);
  ck_assert(same.ranks == 2 && same.ranks_per_node == 1 &&
            same.groups_per_node == 8);
  ck_assert_uint_eq(ra_call_plan_expert_rank(plan, &at), 5);
  ck_assert_uint_eq(ra_call_plan_ep_rank(plan, &at), 2);
  ck_assert_uint_eq(ra_call_plan_expert_dp(plan), 2);
  for (uint32_t rank = 0; rank < 16; rank++) {
    RaCoord back = ra_call_plan_expert_coord(plan, at, rank);
    ck_assert_uint_eq(ra_call_plan_rank(plan, &back), rank);
  }
  ra_task_graph_free(g);
  plan_text_free(text);
}
END_TEST

/* (transfer full): what is wrong with a plan of WORKLOAD, "" if nothing. */
static char *
message_of(const char *keys)
{
  g_autofree char *cluster = plan_text_cluster(2);
  g_autofree char *text = g_strconcat(
      "[plan]\nworkload = w\ncluster = c\n[call train]\n", keys, NULL);
  g_autofree char *name = g_build_filename(g_getenv("srcdir"), "tests", "data",
                                           "in-memory.workload", NULL);
  g_autoptr(RaKeyFile) w =
      ra_key_file_parse(name, WORKLOAD, strlen(WORKLOAD), NULL);
  g_autoptr(RaKeyFile) c =
      ra_key_file_parse("c", cluster, strlen(cluster), NULL);
  g_autoptr(RaKeyFile) p = ra_key_file_parse("p", text, strlen(text), NULL);
  RaWorkload *workload = ra_workload_load(w, NULL);
  RaCluster *on = ra_cluster_load(c, NULL);
  g_autoptr(GError) error = NULL;
  RaPlan *plan = ra_plan_load(p, workload, on, &error);
  char *message = g_strdup(plan ? "" : error->message);

  ra_plan_free(plan);
  ra_workload_free(workload);
  ra_cluster_free(on);
  return message;
}

START_TEST(test_refusals)
{
  static const struct {
    const char *keys, *message;
  } rows[] = {
      {"mesh = all\ndp = 16\nep = 8\n", ""},
      {"mesh = all\ndp = 16\nep = 16\n",
       "p:7: 'ep' is 16, expected a divisor of 8, the experts of a layer of "
       "'mixtral-8x7b'"},
      {"mesh = all\ndp = 2\ntp = 4\npp = 2\nep = 4\n",
       "p:9: 'ep' is 4, expected a divisor of 2, 'dp' x 'cp', whose ranks "
       "share "
       "the experts"},
      {"mesh = all\ndp = 2\ntp = 4\ncp = 2\nep = 4\n", ""},
      {"mesh = all\ndp = 2\ntp = 8\nep = 8\nexpert-tp = 1\n" SPLIT, ""},
      {"mesh = all\ndp = 2\ntp = 8\nep = 8\nexpert-tp = 1\n",
       "p:9: 'expert-tp' is 1 with 'tp' 8, expected 'sequence-parallel' true "
       "to train: tp ranks would each send all tokens"},
      {"mesh = all\ndp = 2\ntp = 8\nep = 8\nexpert-tp = 4\n" SPLIT,
       "p:8: 'ep' is 8, expected a divisor of 4, 'dp' x 'cp' x 'tp' / "
       "'expert-tp', whose ranks share the experts"},
      {"mesh = all\ndp = 4\ntp = 4\nexpert-tp = 8\n" SPLIT,
       "p:8: 'expert-tp' is 8, expected a divisor of 4, 'tp'"},
      {"mesh = all\ndp = 4\ntp = 4\nexpert-tp = 1\nzero = 3\n" SPLIT, ""},
      {"mesh = all\ndp = 1\ntp = 16\nexpert-tp = 1\nzero = 3\n" SPLIT,
       "p:9: 'zero' is 3 with spread experts on one data rank, expected 0 or "
       "1"},
      {"mesh = all\ndp = 16\nep = 8\nzero = 3\nzero-group = 8\n",
       "p:9: 'ep' is 8, expected 'zero-group' all of dp"},
      {"mesh = all\ndp = 2\ntp = 4\ncp = 4\n",
       "p:6: 'dp' x 'tp' x 'pp' x 'cp' is 2 x 4 x 1 x 4 = 32, expected 16, the "
       "GPUs of 'mesh'"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *message = message_of(rows[i].keys);
    ck_assert_str_eq(message, rows[i].message);
  }
}
END_TEST

static Suite *
moe_plan_suite(void)
{
  Suite *suite = suite_create("moe_plan");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_gradients);
  tcase_add_test(tcase, test_gradients_over_tp);
  tcase_add_test(tcase, test_replicas_meet);
  tcase_add_test(tcase, test_ones_change_nothing);
  tcase_add_test(tcase, test_geometry);
  tcase_add_test(tcase, test_geometry_over_tp);
  tcase_add_test(tcase, test_state_copies);
  tcase_add_test(tcase, test_refusals);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(moe_plan_suite)
