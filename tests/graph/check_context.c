/* Ring attention over context-parallel ranks: pairs, bytes, overlap, time. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "graph/op/activation.h"
#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"
#include "tests/support/plan_text.h"

static RaModel *
gated_model(uint32_t ffn)
{
  RaModelShape s;
  RaModel *m;

  ra_model_shape_init(&s, RA_MLP_GATED);
  s.layers = 2;
  s.hidden = 512;
  s.heads = 8;
  s.kv_heads = 2;
  s.ffn = ffn;
  s.vocab = 3200;
  m = ra_model_from_shape(&s, NULL);
  ck_assert_ptr_nonnull(m);
  return m;
}

static RaShard
make_shard(const RaModel *m, uint32_t cp)
{
  return (RaShard){.model = m,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 1,
                   .cp = cp,
                   .dtype = RA_DTYPE_BF16};
}

static const RaPiece layers = {.n_layers = 2};

static RaBatch
whole_sequences(uint32_t n, uint64_t s)
{
  return (RaBatch){n, n * s, n * s, n * (s * (s + 1) / 2)};
}

/* Query-key pairs of rank @rank with the keys of rank @keys, position by
 * position; @zigzag: chunks r and 2 cp - 1 - r of 2 cp, else the r-th of cp. */
static uint64_t
count_pairs(uint64_t s, uint32_t cp, uint32_t rank, uint32_t keys,
            gboolean zigzag)
{
  uint64_t chunk = zigzag ? s / (2 * cp) : s / cp, n = 0;

  for (uint64_t q = 0; q < s; q++)
    for (uint64_t k = 0; k <= q; k++) {
      uint64_t a = q / chunk, b = k / chunk;
      if (zigzag) {
        a = MIN(a, 2 * cp - 1 - a);
        b = MIN(b, 2 * cp - 1 - b);
      }
      n += a == rank && b == keys;
    }
  return n;
}

/* Pairs of the rank's own keys and of the ring's other steps, a layer. */
static void
list_pairs(const RaShard *shard, RaPhase phase, const RaBatch *batch,
           uint64_t out_pairs[2], uint32_t *out_steps)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(shard, &layers, phase, batch, ops), at = 0;

  *out_steps = 0;
  for (guint i = 0; i < n; i++)
    if (ops[i].kind == RA_OP_ATTENTION ||
        ops[i].kind == RA_OP_ATTENTION_BACKWARD) {
      ck_assert_uint_lt(at, 2);
      out_pairs[at++] = ops[i].dim[3];
      *out_steps += ops[i].count / layers.n_layers;
    }
  ck_assert_uint_eq(at, 2);
}

/* Against positions counted one by one: every rank sees the same pairs in
 * every step, and the list says how many.  All of them together see each pair
 * of the sequence once.  The fault: contiguous parts, where ranks differ. */
START_TEST(test_pairs)
{
  g_autoptr(RaModel) m = gated_model(1024);

  for (uint32_t cp = 2; cp <= 4; cp++) {
    RaShard shard = make_shard(m, cp);
    uint64_t s = 24, pairs[2];
    RaBatch batch = whole_sequences(1, s);
    uint32_t n_steps;
    guint n_caught = 0;

    list_pairs(&shard, RA_PHASE_FORWARD, &batch, pairs, &n_steps);
    ck_assert_uint_eq(n_steps, cp);
    for (uint32_t r = 0; r < cp; r++)
      for (uint32_t k = 0; k < cp; k++) {
        ck_assert_uint_eq(count_pairs(s, cp, r, k, TRUE),
                          pairs[r == k ? 0 : 1]);
        n_caught += count_pairs(s, cp, r, k, FALSE) != pairs[r == k ? 0 : 1];
      }
    ck_assert_uint_gt(n_caught, 0);
    ck_assert_uint_eq(cp * ((cp - 1) * pairs[1] + pairs[0]), batch.pairs);
  }
}
END_TEST

static double
list_flop(const RaShard *shard, RaPhase phase, const RaBatch *batch)
{
  RaPiece whole = {.n_layers = 2, .has_embedding = 1, .has_head = 1};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(shard, &whole, phase, batch, ops);
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += ra_op_flop(&ops[i]) * ops[i].count;
  return sum;
}

/* All ranks together compute what one would, forward, backward and with
 * recomputation: 32,768 tokens divide by 2 x 8.  Where they do not divide,
 * rounding up adds less than one token and one pair a step.  The fault: ranks
 * that each attend to all pairs. */
START_TEST(test_flop_is_independent_of_cp)
{
  g_autoptr(RaModel) m = gated_model(1024);
  RaBatch batch = whole_sequences(2, 32768);
  RaBatch ragged = {2, 1500, 1500, 1000 * 1001 / 2 + 500 * 501 / 2};

  for (guint mode = 0; mode < 3; mode++) {
    RaPhase phase = mode ? RA_PHASE_BACKWARD : RA_PHASE_FORWARD;
    RaShard one = make_shard(m, 1);

    one.recompute = mode == 2 ? RA_RECOMPUTE_FULL : RA_RECOMPUTE_NONE;
    for (uint32_t cp = 2; cp <= 8; cp *= 2) {
      RaShard shard = one;
      RaBatch fault = batch;
      double expected = list_flop(&one, phase, &batch);

      shard.cp = cp;
      fault.pairs *= cp;
      ck_assert_double_eq(cp * list_flop(&shard, phase, &batch), expected);
      ck_assert_double_ne(cp * list_flop(&shard, phase, &fault), expected);
      expected = list_flop(&one, phase, &ragged);
      ck_assert_double_ge(cp * list_flop(&shard, phase, &ragged), expected);
      ck_assert_double_le(cp * list_flop(&shard, phase, &ragged),
                          expected * (1 + 2.0 * cp / 1500));
    }
  }
}
END_TEST

static double
ring_bytes(const RaShard *shard, RaPhase phase, const RaBatch *batch)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(shard, &layers, phase, batch, ops);
  double sum = 0;

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == RA_OP_SEND) {
      ck_assert_uint_eq(ops[i].dim[1], shard->cp_rings_per_node > 0);
      ck_assert_uint_eq(ops[i].dim[2], MAX(shard->cp_rings_per_node, 1));
      sum += (double)ops[i].dim[0] * ops[i].count;
    }
  return sum;
}

/* 8,192 tokens over 4 ranks: keys and values of 2,048 tokens are 2 x 2048 x 2
 * heads x 64 x 2 bytes = 1 MiB.  Forward they move on 3 times a layer; backward
 * they and their gradients do, and the gradients once more: 7.  Full
 * recomputation goes round once more: 10.  None without cp.  The fault:
 * queries' 8 heads instead of the 2 of keys. */
START_TEST(test_ring_bytes)
{
  g_autoptr(RaModel) m = gated_model(1024);
  RaBatch batch = whole_sequences(1, 8192);
  RaShard shard = make_shard(m, 4), one = make_shard(m, 1);
  const double mib = 1024 * 1024;

  for (shard.cp_rings_per_node = 0; shard.cp_rings_per_node <= 4;
       shard.cp_rings_per_node += 2) {
    ck_assert_double_eq(ring_bytes(&shard, RA_PHASE_FORWARD, &batch),
                        2 * 3 * mib);
    ck_assert_double_eq(ring_bytes(&shard, RA_PHASE_BACKWARD, &batch),
                        2 * 7 * mib);
    ck_assert_double_ne(ring_bytes(&shard, RA_PHASE_FORWARD, &batch),
                        2 * 3 * 4 * mib);
  }
  shard.recompute = RA_RECOMPUTE_FULL;
  ck_assert_double_eq(ring_bytes(&shard, RA_PHASE_BACKWARD, &batch),
                      2 * 10 * mib);
  ck_assert_double_eq(ring_bytes(&one, RA_PHASE_FORWARD, &batch), 0);
}
END_TEST

/* 8,192 tokens over 4 ranks, a model whose MLP is so narrow that attention is
 * the largest op of a layer.  Of 2,048 tokens queries are 8 x 64 x 2 bytes: 2
 * MiB, as the residual stream, keys and values 1 MiB.  In MiB beside the stream
 * a step on another rank's keys has
 *
 *     forward    the keys at hand and coming 2, its output and the sum 4: 6;
 *                without a backward own q, k, v too, 3: 9
 *     backward   these keys 2, gradients of keys, own and coming 2, of queries,
 *                own and their sum 4, and as any attention its output's 2 and
 *                those of q, k, v 3: 13
 *
 * and 8 fp32 a token: forward log-sums, backward sums of weights with their
 * gradients.
 *
 * Without a ring the forward's attention has q, k, v, its output and log-sums
 * of four times the tokens: 4 x (3 + 2); with a backward more stands in rotary
 * positions, 2 x 10 heads.  The fault: another rank's keys counted once,
 * forward 5. */
START_TEST(test_ring_workspace)
{
  g_autoptr(RaModel) m = gated_model(256);
  RaBatch batch = whole_sequences(1, 8192);
  RaShard shard = make_shard(m, 4), one = make_shard(m, 1);
  const uint64_t mib = 1024 * 1024, sums = 2048 * 8 * 4;

  ck_assert_uint_eq(
      ra_workspace_bytes(&shard, &layers, RA_PHASE_FORWARD, &batch),
      (2 + 9) * mib + sums);
  ck_assert_uint_eq(ra_workspace_bytes(&one, &layers, RA_PHASE_FORWARD, &batch),
                    (8 + 20) * mib + 4 * sums);
  shard.loss = one.loss = 1;
  ck_assert_uint_eq(
      ra_workspace_bytes(&shard, &layers, RA_PHASE_FORWARD, &batch),
      (2 + 6) * mib + sums);
  ck_assert_uint_ne(
      ra_workspace_bytes(&shard, &layers, RA_PHASE_FORWARD, &batch),
      (2 + 5) * mib + sums);
  ck_assert_uint_eq(
      ra_workspace_bytes(&shard, &layers, RA_PHASE_BACKWARD, &batch),
      (2 + 13) * mib + sums);
  ck_assert_uint_eq(ra_workspace_bytes(&one, &layers, RA_PHASE_FORWARD, &batch),
                    (8 + 20) * mib);
}
END_TEST

/* Two runs of a product of 2 x 500^3 FLOP at 1 TFLOP/s = 0.25 ms with a message
 * beside each.  20,000 bytes in a node at 1e8 B/s take 0.2 ms: hidden.  45,000
 * take 0.45 ms: 0.2 ms seen each time.  Not flagged, both are seen in full:
 * the fault. */
START_TEST(test_overlap)
{
  g_autoptr(Bench) b = bench_new(
      profile_text_load("device.memory-bandwidth=1000000 GB/s", NULL));
  RaOp ops[2] = {bench_op(RA_OP_GEMM, 500, 500, 500, 1),
                 bench_op(RA_OP_SEND, 20000, 0, 1, 0)};
  RaCost cost;

  ops[0].count = ops[1].count = 2;
  ops[1].flags = RA_OP_BEHIND;
  ra_estimator_ops(b->estimator, ops, 2, RA_LAUNCH_GRAPH, &cost);
  ck_assert_double_eq_tol(cost.compute_s, 0.5e-3, 1e-12);
  ck_assert_double_eq(cost.comm_s, 0);
  ops[1].dim[0] = 45000;
  ra_estimator_ops(b->estimator, ops, 2, RA_LAUNCH_GRAPH, &cost);
  ck_assert_double_eq_tol(cost.comm_s, 0.4e-3, 1e-12);
  ck_assert_double_eq_tol(cost.total_s, 0.9e-3, 1e-12);
  ops[1].flags = 0;
  ra_estimator_ops(b->estimator, ops, 2, RA_LAUNCH_GRAPH, &cost);
  ck_assert_double_eq_tol(cost.comm_s, 0.9e-3, 1e-12);
}
END_TEST

#define WORKLOAD                                                               \
  "[workload]\nformat = 1\nalgorithm = sft\ndataset = d\nprompts = 16\n"       \
  "prompt-length = fixed(1024)\nresponse-length = fixed(1024)\n"               \
  "[model m]\nconfig = tiny.json\ntrainable = true\n"                          \
  "[call train]\nmodel = m\nkind = train\ninputs = d\n"

/* Seconds of a training step of the plan with @keys on a node of 8, at 1
 * TFLOP/s, memory without limit and links of @link. */
static double
step_s(const char *keys, const char *link, uint32_t *out_n_lanes)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *plan = g_strconcat(
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call train]\n"
      "mesh = all\nlaunch = graph\nzero = 1\n",
      keys, NULL);
  g_autofree char *intra = g_strconcat("device.intra-node=", link, NULL);
  RaProfile *profile =
      profile_text_load("device.memory-bandwidth=1000000000 GB/s", intra, NULL);
  PlanText *text = plan_text_new(WORKLOAD, cluster, plan, 1);
  RaEstimator *estimator;
  RaTaskGraph *graph;
  RaSim *sim;
  double s;

  text->cluster->device = profile->spec;
  estimator = ra_estimator_new(profile, text->cluster, NULL);
  graph = ra_expand(text->augmented, RA_FIDELITY_STAGE, 0, NULL);
  sim = ra_sim_new(graph, estimator, NULL);
  ck_assert(ra_sim_run(sim, NULL));
  s = ra_sim_result(sim)->makespan_s;
  if (out_n_lanes)
    *out_n_lanes = graph->n_lanes;
  ra_sim_free(sim);
  ra_task_graph_free(graph);
  ra_estimator_free(estimator);
  plan_text_free(text);
  ra_profile_free(profile);
  return s;
}

/* 16 equal sequences on 8 GPUs: 2 whole ones each, or 4 GPUs on the quarters of
 * 8, or 2 on the halves of 4: the same work, and the same time where messages
 * cost nothing.  The fault: over links of 1 MB/s the ring is seen. */
START_TEST(test_equal_work_takes_equal_time)
{
  static const char free_link[] = "1000000000 GB/s";
  uint32_t n_lanes;
  double whole_s = step_s("dp = 8\n", free_link, &n_lanes);

  ck_assert_uint_eq(n_lanes, 8);
  ck_assert_double_eq_tol(step_s("dp = 2\ncp = 4\n", free_link, &n_lanes),
                          whole_s, 1e-6 * whole_s);
  ck_assert_uint_eq(n_lanes, 2); /* cp ranks of a replica are one lane */
  ck_assert_double_eq_tol(
      step_s("dp = 4\ncp = 2\nrank-order = tp-dp-cp-pp\n", free_link, NULL),
      whole_s, 1e-6 * whole_s);
  ck_assert_double_gt(step_s("dp = 2\ncp = 4\n", "1000 kB/s", NULL),
                      1.1 * step_s("dp = 8\n", "1000 kB/s", NULL));
}
END_TEST

/* Sum over the ops of @first that are of kind @kind, each times its count. */
static double
op_sum(const RaShard *shard, uint32_t first, RaPhase phase, RaOpKind kind)
{
  const RaBatch batch = whole_sequences(2, 4096);
  const RaPiece layer = {.first_layer = first, .n_layers = 1};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(shard, &layer, phase, &batch, ops);
  double sum = 0;

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == kind)
      sum +=
          (kind == RA_OP_SEND ? (double)ops[i].dim[0] : ra_op_flop(&ops[i])) *
          ops[i].count;
  return sum;
}

/* Mixers that are no attention to all keys exchange tokens for heads.  8,192
 * tokens over 4 ranks are 2,048, of which a rank gives 3/4 away, in bf16: 3072
 * bytes an element of a token.  Elements, in and out:
 *
 *     Moonlight   16 heads of 2 (128 + 64) + 128, and 128: 10,240
 *     gpt-oss     layer 0, windows: 64 + 2 x 8 heads of 64, and 64: 9,216
 *     Qwen3-Next  layer 0: 2 x 2048 keys, 2 x 4096 values and gates, 2 x 32
 *                 scalars, and 4096: 16,448
 *     Nemotron    layer 0: 2 x 8 x 128, 2 x 4096, 64 scalars, and 4096: 14,400
 *
 * backward the same.  All ranks together compute what one would; the fault:
 * all heads on every rank, which are 4 times as many. */
START_TEST(test_exchange)
{
  static const struct {
    const char *name;
    RaOpKind kind;
    double elements;
  } cases[] = {{"moonlight-16b-a3b", RA_OP_LATENT, 10240},
               {"gpt-oss-20b", RA_OP_ATTENTION, 9216},
               {"qwen3-next-80b-a3b", RA_OP_SCAN, 16448},
               {"nemotron-3-nano-30b-a3b", RA_OP_SCAN, 14400}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *file = g_strconcat(cases[i].name, ".json", NULL);
    g_autofree char *path = ra_share_find("models", file, NULL, NULL);
    g_autoptr(RaModel) m = path ? ra_model_load(path, NULL) : NULL;
    RaShard one, shard;
    double whole;

    ck_assert_ptr_nonnull(m);
    one = make_shard(m, 1);
    shard = make_shard(m, 4);
    whole = op_sum(&one, 0, RA_PHASE_FORWARD, cases[i].kind);
    ck_assert_double_eq(op_sum(&one, 0, RA_PHASE_FORWARD, RA_OP_SEND), 0);
    ck_assert_double_eq(op_sum(&shard, 0, RA_PHASE_FORWARD, RA_OP_SEND),
                        3072 * cases[i].elements);
    ck_assert_double_eq(op_sum(&shard, 0, RA_PHASE_BACKWARD, RA_OP_SEND),
                        3072 * cases[i].elements);
    ck_assert_double_eq_tol(
        4 * op_sum(&shard, 0, RA_PHASE_FORWARD, cases[i].kind), whole,
        1e-9 * whole);
    ck_assert_double_ne(op_sum(&shard, 0, RA_PHASE_FORWARD, cases[i].kind),
                        whole);
  }
}
END_TEST

static Suite *
context_suite(void)
{
  Suite *suite = suite_create("context");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_pairs);
  tcase_add_test(tcase, test_flop_is_independent_of_cp);
  tcase_add_test(tcase, test_ring_bytes);
  tcase_add_test(tcase, test_ring_workspace);
  tcase_add_test(tcase, test_overlap);
  tcase_add_test(tcase, test_equal_work_takes_equal_time);
  tcase_add_test(tcase, test_exchange);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(context_suite)
