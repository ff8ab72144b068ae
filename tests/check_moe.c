/* Experts spread over ranks: products, bytes, experts met, gradients. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/lane.h"
#include "tests/check_main.h"
#include "tests/plan_text.h"

/* A published model and what its config.json says. */
typedef struct {
  const char *config;
  double h, q, kv; /* hidden; width of queries and of keys */
  double e, k, f;  /* experts, chosen, width of one */
} Published;

static const Published published[] = {
    {"mixtral-8x7b", 4096, 32 * 128, 8 * 128, 8, 2, 14336},
    {"qwen3-30b-a3b", 2048, 32 * 128, 4 * 128, 128, 8, 768},
};

static RaModel *
load_model(const char *name)
{
  g_autofree char *file = g_strdup_printf("%s.json", name);
  g_autofree char *path =
      g_build_filename(g_getenv("srcdir"), "share", "models", file, NULL);
  GError *error = NULL;
  RaModel *model = ra_model_load(path, &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "");
  return model;
}

static RaShard
make_shard(const RaModel *m, uint32_t ep)
{
  return (RaShard){.model = m,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 8,
                   .cp = 1,
                   .ep = ep,
                   .ep_ranks_per_node = ep,
                   .ep_groups_per_node = 1,
                   .dtype = RA_DTYPE_BF16};
}

static double
list_flop(const RaOp *ops, guint n, guint skip)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    if (i != skip)
      sum += ra_op_flop(&ops[i]) * ops[i].count;
  return sum;
}

/* One layer, N tokens in sequences of 512 over ep ranks, which together do
 *
 *     2 N (h (2 q + 2 kv) + h E + 3 k h f) + 4 q pairs
 *
 * FLOP forward, twice the first term and 2.5 times the second backward,
 * whatever ep: each rank has N / ep tokens and E / ep experts, each expert N k
 * / E rows.  The faults: a list that has lost its largest product; all experts
 * computed for every token, E instead of k. */
START_TEST(test_flop_is_independent_of_ep)
{
  enum { N = 16384, S = 512 };

  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    const Published *p = &published[i];
    g_autoptr(RaModel) m = load_model(p->config);
    RaPiece layer = {.first_layer = 3, .n_layers = 1};
    double pairs = N / S * (S * (S + 1.0) / 2);
    double dense = p->h * (2 * p->q + 2 * p->kv) + p->h * p->e;
    double products = 2.0 * N * (dense + 3 * p->k * p->h * p->f);
    double all = 2.0 * N * (dense + 3 * p->e * p->h * p->f);
    double scores = 4 * p->q * pairs;

    for (uint32_t ep = 1; ep <= 8; ep = ep == 1 ? 2 : ep * 4) {
      RaShard shard = make_shard(m, ep);
      uint32_t t = N / ep;
      RaBatch batch = {t / S, t, t, (uint64_t)pairs / ep};
      RaOp ops[RA_OP_LIST_MAX];
      guint n = ra_op_list(&shard, &layer, RA_PHASE_FORWARD, &batch, ops);
      guint largest = 0;

      for (guint j = 0; j < n; j++)
        if (ra_op_flop(&ops[j]) > ra_op_flop(&ops[largest]))
          largest = j;
      ck_assert_double_eq(ep * list_flop(ops, n, n), products + scores);
      ck_assert_double_ne(ep * list_flop(ops, n, largest), products + scores);
      ck_assert_double_lt(ep * list_flop(ops, n, n), all + scores);
      n = ra_op_list(&shard, &layer, RA_PHASE_BACKWARD, &batch, ops);
      ck_assert_double_eq(ep * list_flop(ops, n, n),
                          2 * products + 2.5 * scores);
    }
  }
}
END_TEST

/* Dispatch and combine each send tokens k (ep - 1) / ep rows of the hidden
 * width in BF16 to other ranks: the op says tokens k h 2 bytes, of which one
 * part in ep stays.  Two a pass, four where backward computes again, none
 * without ep.  With sequence parallelism each of tp ranks sends its share of
 * the tokens, and the tp group gathers what all of them got: tokens k rows.
 * The fault: one copy of a token instead of k. */
START_TEST(test_all_to_all_bytes)
{
  enum { T = 2048 };

  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    const Published *p = &published[i];
    g_autoptr(RaModel) m = load_model(p->config);
    RaPiece layers = {.n_layers = 4};
    RaBatch batch = {4, T, T, 4 * 512 * 513 / 2};

    for (uint32_t ep = 1; ep <= 8; ep = ep == 1 ? 2 : ep * 4)
      for (guint mode = 0; mode < 4; mode++) {
        RaShard shard = make_shard(m, ep);
        RaOp ops[RA_OP_LIST_MAX];
        gboolean sp = mode == 3;
        double sent = 0, rows = T / (sp ? 4 : 1) * p->k;
        double expected = rows * p->h * 2 * (ep - 1) / ep * 2 * 4;
        guint n, n_gathers = 0;

        shard.recompute = mode == 2 ? RA_RECOMPUTE_FULL : RA_RECOMPUTE_NONE;
        shard.sequence_parallel = sp;
        shard.tp = sp ? 4 : 1;
        n = ra_op_list(&shard, &layers,
                       mode == 1 || mode == 2 ? RA_PHASE_BACKWARD
                                              : RA_PHASE_FORWARD,
                       &batch, ops);
        for (guint j = 0; j < n; j++) {
          if (ops[j].kind == RA_OP_ALL_TO_ALL) {
            ck_assert_uint_eq(ops[j].dim[1], ep);
            sent += ra_op_bytes(&ops[j]) * (ep - 1) / ep * ops[j].count;
          }
          n_gathers += ops[j].kind == RA_OP_ALL_GATHER &&
                       (double)ops[j].dim[0] == T * p->k * p->h * 2;
        }
        expected *= mode == 2 ? 2 : 1;
        ck_assert_double_eq(sent, expected);
        ck_assert_uint_eq(n_gathers, sp && ep > 1 ? 1 : 0);
        if (ep > 1)
          ck_assert_double_ne(sent, expected / p->k);
      }
  }
}
END_TEST

/* Mean number of the experts of rank 0 of @ep that @tokens tokens meet, over
 * all ways in which each can choose 2 of @e: enumerated. */
static double
mean_met(uint32_t e, uint32_t ep, uint32_t tokens)
{
  uint32_t choice[15], n = 0, sum = 0, n_ways = 1, mask = (1u << e / ep) - 1;

  for (uint32_t a = 0; a < e; a++)
    for (uint32_t b = 0; b < a; b++)
      choice[n++] = 1u << a | 1u << b;
  for (uint32_t t = 0; t < tokens; t++)
    n_ways *= n;
  for (uint32_t way = 0; way < n_ways; way++) {
    uint32_t met = 0;
    for (uint32_t t = 0, rest = way; t < tokens; t++, rest /= n)
      met |= choice[rest % n];
    sum += (uint32_t)__builtin_popcount(met & mask);
  }
  return (double)sum / n_ways;
}

static uint64_t
experts_read(const RaModel *m, uint32_t ep, uint32_t tokens)
{
  RaShard shard = make_shard(m, ep);
  RaPiece layer = {.n_layers = 1};
  RaBatch batch = {tokens, tokens, 10 * tokens, 10 * tokens};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &layer, RA_PHASE_DECODE, &batch, ops);

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == RA_OP_GEMM && ops[i].dim[2] == m->expert_ffn)
      return ops[i].dim[3];
  ck_abort_msg("no product of experts");
  return 0;
}

/* A decode step reads the weights of as many experts as its tokens meet on
 * average, rounded, against every way to choose.  Ranks of an ep group add
 * their tokens.  The fault: one expert a choice, which is too many. */
START_TEST(test_experts_met_in_decode)
{
  RaModelShape shape;
  guint n_faults = 0;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 1;
  shape.hidden = 64;
  shape.heads = 4;
  shape.vocab = 100;
  shape.experts_per_token = 2;
  shape.expert_ffn = 48;
  for (uint32_t e = 4; e <= 6; e += 2) {
    shape.experts = e;
    g_autoptr(RaModel) m = ra_model_from_shape(&shape, NULL);
    for (uint32_t ep = 1; ep <= 2; ep++)
      for (uint32_t tokens = 1; tokens * ep <= 4; tokens++) {
        double mean = mean_met(e, ep, tokens * ep);
        ck_assert_uint_eq(experts_read(m, ep, tokens), (uint64_t)round(mean));
        n_faults += (uint64_t)round(mean) != MIN(2 * tokens, e / ep);
      }
  }
  ck_assert_uint_ge(n_faults, 3);
}
END_TEST

/* 128 experts, 8 chosen, by hand: 1 token meets 8; 16 meet
 * 128 (1 - (15/16)^16) = 82.4; 8 ranks of 16 tokens meet
 * 16 (1 - (15/16)^128) = 15.996 of a rank's 16. */
START_TEST(test_qwen3_experts_met)
{
  g_autoptr(RaModel) m = load_model("qwen3-30b-a3b");

  ck_assert_uint_eq(experts_read(m, 1, 1), 8);
  ck_assert_uint_eq(experts_read(m, 1, 16), 82);
  ck_assert_uint_eq(experts_read(m, 8, 16), 16);
  ck_assert_uint_eq(experts_read(m, 8, 1), 6); /* 16 (1 - (15/16)^8) = 6.45 */
}
END_TEST

/* A rank of ep has 1 / ep of the experts and all the rest, which is what its
 * layout says; all ranks together have the model once and the rest ep times. */
START_TEST(test_params)
{
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    const Published *p = &published[i];
    g_autoptr(RaModel) m = load_model(p->config);
    RaPiece whole = {
        .n_layers = m->n_layers, .has_embedding = 1, .has_head = 1};
    double experts = m->n_layers * p->e * 3 * p->h * p->f;

    for (uint32_t ep = 1; ep <= 8; ep *= 2) {
      RaShard shard = make_shard(m, ep);
      double n = (double)ra_piece_n_params(&shard, &whole);
      double n_experts = (double)ra_piece_n_expert_params(&shard, &whole);
      ck_assert_double_eq(n_experts, experts / ep);
      ck_assert_double_eq(n - n_experts,
                          (double)ra_model_n_params(m) - experts);
    }
  }
}
END_TEST

#define WORKLOAD                                                               \
  "[workload]\nformat = 1\nalgorithm = sft\ndataset = d\nprompts = 64\n"       \
  "prompt-length = fixed(64)\nresponse-length = fixed(64)\n"                   \
  "[model m]\nconfig = ../../share/models/mixtral-8x7b.json\n"                 \
  "trainable = true\n"                                                         \
  "[call train]\nmodel = m\nkind = train\ninputs = d\n"

static RaTaskGraph *
graph_of(const char *keys, PlanText **out_text)
{
  g_autofree char *cluster = plan_text_cluster(2);
  g_autofree char *plan = g_strconcat(
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call train]\n", keys,
      NULL);
  RaTaskGraph *graph;

  *out_text = plan_text_new(WORKLOAD, cluster, plan, 1);
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
    RaTaskGraph *g = graph_of(keys, &text);
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

/* ep = cp = 1 is what a plan without the keys says, op for op; ep = 2 is
 * another graph. */
START_TEST(test_ones_change_nothing)
{
  static const char base[] = "mesh = all\ndp = 4\ntp = 2\npp = 2\n"
                             "zero = 1\nsequence-parallel = true\n";
  PlanText *text[3];
  RaTaskGraph *g[3] = {graph_of(base, &text[0])};
  g_autofree char *ones = g_strconcat(base, "ep = 1\ncp = 1\n", NULL);
  g_autofree char *two = g_strconcat(base, "ep = 2\n", NULL);

  g[1] = graph_of(ones, &text[1]);
  g[2] = graph_of(two, &text[2]);
  check_same_graph(g[0], g[1]);
  ck_assert_uint_gt(g[2]->n_tasks, g[0]->n_tasks);
  for (guint i = 0; i < 3; i++) {
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
      graph_of("mesh = all\ndp = 4\ntp = 2\ncp = 2\nep = 4\n", &text);
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
moe_suite(void)
{
  Suite *suite = suite_create("moe");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_flop_is_independent_of_ep);
  tcase_add_test(tcase, test_all_to_all_bytes);
  tcase_add_test(tcase, test_experts_met_in_decode);
  tcase_add_test(tcase, test_qwen3_experts_met);
  tcase_add_test(tcase, test_params);
  tcase_add_test(tcase, test_gradients);
  tcase_add_test(tcase, test_ones_change_nothing);
  tcase_add_test(tcase, test_geometry);
  tcase_add_test(tcase, test_refusals);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(moe_suite)
