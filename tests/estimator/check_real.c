/* ReaL's own estimator: its formulas, its grid, its reallocation, its bytes,
 * and a replay with them. */
#include "config.h"

#include "estimator/real.h"
#include "sim/breakdown.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"
#include "tests/support/plan_text.h"

/* tests/data/tiny.json: hidden 64, MLP 128, 16 layers, 8 heads of 8, vocabulary
 * 512.  Forward FLOP of a token: a layer's products 2 x 64 x (192 + 64 + 256)
 * + 2 x 128 x 64 = 81,920, of 16 layers 1,310,720, head 2 x 64 x 512 = 65,536;
 * of a pair of tokens 4 x 64 in each layer. */
#define TOKEN_FLOP 1376256.0
#define PAIR_FLOP 4096.0

#define WORKLOAD                                                               \
  "[workload]\nformat = 1\nalgorithm = test\ndataset = prompts\n"              \
  "prompts = 32\nprompt-length = uniform(8, 128)\n"                            \
  "response-length = uniform(8, 48)\nmini-batches = 2\n"                       \
  "[model actor]\nconfig = tiny.json\ntrainable = true\n"                      \
  "[model ref]\nconfig = tiny.json\nhead = value\n"                            \
  "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"             \
  "outputs = seq\n"                                                            \
  "[call ref]\nmodel = ref\nkind = inference\ninputs = seq\noutputs = r\n"     \
  "[call train]\nmodel = actor\nkind = train\ninputs = seq, r\n"

enum { GEN, REF, TRAIN };

static PlanText *
text_new(const char *gen, const char *train)
{
  g_autofree char *cluster = plan_text_cluster(4);
  g_autofree char *plan =
      g_strdup_printf("[plan]\nworkload = w\ncluster = c\n[call gen]\n%s\n"
                      "[call ref]\nmesh = node0:gpu0\n[call train]\n%s\n",
                      gen, train);

  return plan_text_new(WORKLOAD, cluster, plan, 2);
}

/* ---- Formulas -------------------------------------------------------------*/

typedef struct {
  int kind;
  uint32_t tp, pp, dp;
  gboolean recompute;
  double seconds;
} Formula;

/* fwd 1 s, bwd 2 s, optimizer 0.5 s, decode 0.01 s, 101 tokens:
 *   train 1 1 1     (1 + 2) x 1 + 0.5 = 3.5, x 0.96
 *   and recomputing 4.5 x 0.96
 *   train tp 4 alone: 3.5 x (1 - 0.16) x (1 - 0.12)
 *   train 4 2 2     M = 4: 3 x 5 + 0.5 = 15.5, x 0.88
 *   train 1 16 1    M = 32: 3 x 47 + 0.5 = 141.5, x 1.16
 *   infer 2 2 1     3 x 0.94;  1 1 4: 1
 *   gen 1 2 1       3 + 0.01 x 100 x 2 = 5;  2 2 1: x 0.94;  4 2 4: x 0.76 */
static const Formula formulas[] = {
    {RA_CALL_TRAIN, 1, 1, 1, FALSE, 3.36},
    {RA_CALL_TRAIN, 1, 1, 1, TRUE, 4.32},
    {RA_CALL_TRAIN, 4, 1, 1, FALSE, 2.5872},
    {RA_CALL_TRAIN, 4, 2, 2, FALSE, 13.64},
    {RA_CALL_TRAIN, 1, 16, 1, FALSE, 164.14},
    {RA_CALL_INFERENCE, 2, 2, 1, FALSE, 2.82},
    {RA_CALL_INFERENCE, 1, 1, 4, FALSE, 1},
    {RA_CALL_GENERATE, 1, 2, 1, FALSE, 5},
    {RA_CALL_GENERATE, 2, 2, 1, FALSE, 4.7},
    {RA_CALL_GENERATE, 4, 2, 4, FALSE, 3.8},
};

START_TEST(test_formula)
{
  const RaRealOps ops = {1, 2, 0.5, 0.01};
  const Formula *f = &formulas[_i];
  RaRealCall call = {.kind = f->kind,
                     .gen_tokens = 101,
                     .recompute = f->recompute,
                     .tp = f->tp,
                     .pp = f->pp,
                     .dp = f->dp,
                     .n_epochs = 1};

  bench_check(ra_real_time_s(&call, &ops), f->seconds);
  /* the fault to catch: a pipeline one step longer */
  call.pp++;
  bench_check_differs(ra_real_time_s(&call, &ops), f->seconds);
}
END_TEST

/* P = 3 x 512 x 64 + 16 (3 x 64 x 128 + 4 x 64^2) = 753,664.
 *   train     4 P / 4 + 20 P / 8 = 3.5 P
 *   inference 4 P / 4
 *   generate  4 P / 4 + 4 x 8 (10 + 6) x 64 x 16 / 8 = P + 65,536 */
START_TEST(test_bytes)
{
  PlanText *t = text_new("mesh = node0:gpu0", "mesh = node0:gpu0");
  RaRealCall call = {.model = t->workload->models[0].model,
                     .kind = RA_CALL_TRAIN,
                     .n_sequences = 8,
                     .seq_tokens = 6,
                     .gen_tokens = 10,
                     .tp = 2,
                     .pp = 2,
                     .dp = 2};

  bench_check(ra_real_call_bytes(&call), 3.5 * 753664);
  call.kind = RA_CALL_INFERENCE;
  bench_check(ra_real_call_bytes(&call), 753664);
  call.kind = RA_CALL_GENERATE;
  bench_check(ra_real_call_bytes(&call), 819200);
  bench_check_differs(753664, ra_real_call_bytes(&call)); /* without a cache */
  plan_text_free(t);
}
END_TEST

/* ---- The grid -------------------------------------------------------------*/

START_TEST(test_interpolate)
{
  const double x[] = {1, 2, 4}, y[] = {10, 30, 40};

  bench_check(ra_real_interpolate(x, y, 3, 1), 10);
  bench_check(ra_real_interpolate(x, y, 3, 1.5), 20);
  bench_check(ra_real_interpolate(x, y, 3, 3), 35);
  bench_check(ra_real_interpolate(x, y, 3, 8), 80);         /* 40 x 8 / 4 */
  bench_check(ra_real_interpolate(x, y, 3, 0.5), 5);        /* 10 x 0.5 / 1 */
  bench_check_differs(ra_real_interpolate(x, y, 3, 8), 60); /* the last slope */
}
END_TEST

/* 10^12 FLOP/s and nothing else.  Sequences of 128, pp dp = 1:
 *   4  on the grid: 512 tokens, 4 x 128 x 129 / 2 = 33,024 pairs
 *   3  384 tokens, half way between the mean of 2 x 128 and 1 x 256 (16,512
 *      and 32,896 pairs: 24,704) and that of 4 x 128, 2 x 256, 1 x 512 (33,024,
 *      65,792 and 131,328: 230,144 / 3)
 *   1024  131,072 tokens: twice 128 x 512 = 65,536 (128 x 131,328 pairs)
 * and of length 100 below the grid: 100 / 128 of 1 x 128 (8,256 pairs). */
START_TEST(test_grid)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load("device.memory-bandwidth=1e100 B/s", NULL));
  PlanText *t = text_new("mesh = node0:gpu0", "mesh = node0:gpu0");
  const struct {
    double n, length, tokens, pairs, scale;
  } points[] = {{4, 128, 512, 33024, 1},
                {3, 128, 384, (24704 + 230144 / 3.0) / 2, 1},
                {1024, 128, 65536, 128 * 131328.0, 2},
                {1, 100, 128, 8256, 100 / 128.0}};

  for (guint i = 0; i < G_N_ELEMENTS(points); i++) {
    RaRealCall call = {.model = t->workload->models[1].model, /* value head */
                       .kind = RA_CALL_INFERENCE,
                       .n_sequences = points[i].n,
                       .seq_tokens = points[i].length,
                       .tp = 1,
                       .pp = 1,
                       .dp = 1,
                       .tp_per_node = 1};
    double expected =
        1e-12 * points[i].scale *
        (points[i].tokens * TOKEN_FLOP + points[i].pairs * PAIR_FLOP);
    RaRealOps ops;

    ra_real_ops(b->estimator, &call, &ops);
    bench_check(ops.forward_s, expected);
    bench_check_differs(ops.forward_s, expected - 1e-12 * TOKEN_FLOP);
    /* A stage of two has half of it, and so does a replica of two. */
    call.pp = 2;
    call.n_sequences *= 4;
    call.dp = 2;
    ra_real_ops(b->estimator, &call, &ops);
    bench_check(ops.forward_s, expected / 2);
  }
  plan_text_free(t);
}
END_TEST

/* In training on 2 stages and one replica a micro-batch is n / 4; the backward
 * of GEMMs is twice the forward, the optimizer's bytes are free here, and
 * launches are seen: a system's factor is on compute. */
START_TEST(test_train_ops)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load("device.memory-bandwidth=1e100 B/s", NULL));
  const RaSystemConstants system = {.compute_factor = 3};
  PlanText *t = text_new("mesh = node0:gpu0", "mesh = node0:gpu[0-1]\npp = 2");
  RaRealCall call;
  RaRealOps ops;
  double forward_s = 1e-12 * (1024 * TOKEN_FLOP + 8 * 8256 * PAIR_FLOP) / 2;

  /* 32 sequences, the longest prompt 128: 8 of them a micro-batch. */
  ck_assert(ra_real_call_init(&call, t->plan, TRAIN));
  ra_real_ops(b->estimator, &call, &ops);
  bench_check(ops.forward_s, forward_s);
  ck_assert_double_gt(ops.backward_s, 2 * ops.forward_s);
  ra_estimator_set_system(b->estimator, &system);
  ra_real_ops(b->estimator, &call, &ops);
  bench_check(ops.forward_s, 3 * forward_s);
  plan_text_free(t);
}
END_TEST

/* ---- Reallocation ---------------------------------------------------------*/

#define NODE_S(params) (16 * (params) / (1800 * 0x1p30))
#define CROSS_S(params) (16 * (params) / (200 * 0x1p30))

/* With P parameters:
 *  1  1 GPU to tp 2 with it among them: it copies its half in place and sends
 *     the other; the other GPU receives: 0.03 + P / 2 within the node, both
 *  2  1 GPU to one on each of two other nodes: both nodes at once
 *  3  pp 2 to tp 2 on the same two GPUs: each keeps a quarter (0.03), sends one
 *     and receives one (0.03): as stages may differ, what both send together is
 *     P / 2
 *  4  the same layout: nothing
 *  5  2 replicas on 2 nodes to tp 1, dp 16 there: of each node 7 GPUs receive
 *     from its own source, which sends once */
static const struct {
  const char *gen, *train;
  double steps_s, node, cross; /* of P */
} moves[] = {
    {"mesh = node0:gpu[0-1]\ntp = 2", "mesh = node0:gpu0", 0.03, 0.5, 0},
    {"mesh = node[1-2]:gpu0\ndp = 2", "mesh = node0:gpu0", 0.03, 0, 2},
    {"mesh = node0:gpu[0-1]\ntp = 2", "mesh = node0:gpu[0-1]\npp = 2", 0.06,
     0.5, 0},
    {"mesh = node0:gpu[0-1]\ntp = 2", "mesh = node0:gpu[0-1]\ntp = 2", 0, 0, 0},
    {"mesh = node[0-1]\ndp = 16", "mesh = node[0-1]:gpu0\ndp = 2", 0.03, 1, 0},
};

START_TEST(test_realloc)
{
  PlanText *t = text_new(moves[_i].gen, moves[_i].train);
  const RaModel *model = t->workload->models[0].model;
  double n = (double)ra_model_n_params(model);
  double expected = moves[_i].steps_s + NODE_S(moves[_i].node * n) +
                    CROSS_S(moves[_i].cross * n);
  double s = ra_real_realloc_s(model, &t->plan->calls[TRAIN],
                               &t->plan->calls[GEN], t->cluster);

  bench_check(s, expected);
  bench_check_differs(s, expected + CROSS_S(n));
  plan_text_free(t);
}
END_TEST

/* ---- A replay -------------------------------------------------------------*/

/* All on the GPUs of two nodes in turn, generation in a layout of its own: an
 * iteration is its calls and the reallocation. */
START_TEST(test_replay)
{
  g_autoptr(Bench) b = bench_new(profile_text_shipped("h100-sxm"));
  PlanText *t =
      text_new("mesh = node[0-1]\ndp = 16", "mesh = node[0-1]\ntp = 8\ndp = 2");
  g_autoptr(RaTaskGraph) graph =
      ra_expand(t->augmented, RA_FIDELITY_CALL, 0, NULL);
  g_autoptr(RaTaskGraph) stages =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
  g_autoptr(RaBreakdown) breakdown = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSim) sim = NULL, refused = NULL;
  double expected =
      ra_real_realloc_s(t->workload->models[0].model, &t->plan->calls[TRAIN],
                        &t->plan->calls[GEN], t->cluster);

  ra_estimator_set_real(b->estimator, TRUE);
  for (uint32_t c = 0; c < 3; c++) {
    RaRealCall call;

    ck_assert(ra_real_call_init(&call, t->plan, c));
    expected += ra_real_call_s(b->estimator, &call);
  }
  sim = ra_sim_new(graph, b->estimator, NULL);
  ck_assert(ra_sim_run(sim, NULL));
  breakdown = ra_breakdown_new(sim, graph);
  bench_check(breakdown->iteration_s, expected);
  refused = ra_sim_new(stages, b->estimator, &error);
  ck_assert_ptr_null(refused);
  ck_assert_str_eq(error->message, "ReaL's estimator has whole calls only, "
                                   "expected call fidelity");
  plan_text_free(t);
}
END_TEST

static Suite *
real_suite(void)
{
  Suite *suite = suite_create("real");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_formula, 0, G_N_ELEMENTS(formulas));
  tcase_add_test(tcase, test_bytes);
  tcase_add_test(tcase, test_interpolate);
  tcase_add_test(tcase, test_grid);
  tcase_add_test(tcase, test_train_ops);
  tcase_add_loop_test(tcase, test_realloc, 0, G_N_ELEMENTS(moves));
  tcase_add_test(tcase, test_replay);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(real_suite)
