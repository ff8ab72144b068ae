/* Collectives of generations that contend with other communication: against a
 * graph in which every collective of every step is a task of its own. */
#include "config.h"

#include <math.h>

#include "sim/cost.h"
#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/graph_builder.h"
#include "tests/support/plan_text.h"
#include "tests/support/profile_text.h"

static const char decode_cluster[] =
    "[cluster]\nnodes = 4\ngpus-per-node = 1\ngpu = h100-sxm\n"
    "nics-per-node = 1\nnic = 400 Gbit/s\n";

/* A generation with tp 2 over nodes 2 and 3. */
typedef struct {
  PlanText *text;
  RaTaskGraph *graph;
  RaProfile *profile;
  RaEstimator *estimator;
  const RaDynamic *dynamic;
  uint32_t task; /* decodes */
  double alone_s;
  double comm_s; /* of it, the mean over stages */
  double send_s; /* of all tokens, one by one */
} Bench;

static void
cost_decode(Bench *b)
{
  RaCost cost = {0};
  RaDecodeResult result = {.part_end_s = &b->alone_s, .part_cost = &cost};

  ra_dynamic_run(b->graph, b->estimator, 0, NULL, &result);
  b->comm_s = cost.comm_s;
  for (uint32_t i = 0; i < b->dynamic->n_sequences; i++)
    b->send_s += ra_estimator_op_s(b->estimator, &b->dynamic->send) *
                 (b->dynamic->prompt[i] + b->dynamic->response[i]);
}

/* Cards with which a step communicates for 3 of 10 parts of its time. */
static double
card_bytes_per_s(const Bench *b, uint32_t n_steps, double bytes_per_s)
{
  const RaDynamic *d = b->dynamic;
  RaDecodeLine line;
  double comm_s;

  ra_estimator_decode(b->estimator, &b->graph->shards[d->shard], &d->pieces[0],
                      d->n_sequences, (64 + n_steps / 2) * d->n_sequences,
                      &line);
  comm_s = line.cost.comm_s + (d->n_stages - 1) * d->n_sequences *
                                  ra_estimator_op_s(b->estimator, &d->send);
  return bytes_per_s * comm_s / (line.cost.total_s - line.cost.comm_s) * 7 / 3;
}

static Bench
bench_new(const char *lengths, uint32_t n_steps, const char *keys)
{
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nalgorithm = x\ndataset = prompts\nprompts = 8\n"
      "prompt-length = fixed(64)\nresponse-length = %s\n"
      "[model m]\nconfig = tiny.json\n"
      "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n",
      lengths);
  g_autofree char *plan =
      g_strdup_printf("[plan]\nworkload = w\ncluster = c\n"
                      "[call gen]\nmesh = node[2-3]\nlaunch = graph\n%s",
                      keys);
  Bench b = {.text = plan_text_new(workload, decode_cluster, plan, 1)};
  RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE, .seed = 3};

  b.profile = profile_text_load(NULL, NULL);
  b.text->cluster->device = b.profile->spec;
  b.graph = ra_expand_with(b.text->augmented, &options, NULL);
  b.estimator = ra_estimator_new(b.profile, b.text->cluster, NULL);
  ck_assert_uint_eq(b.graph->n_dynamics, 1);
  b.dynamic = &b.graph->dynamics[0];
  b.text->cluster->nic_bytes_per_s =
      card_bytes_per_s(&b, n_steps, b.text->cluster->nic_bytes_per_s);
  ra_estimator_free(b.estimator);
  b.estimator = ra_estimator_new(b.profile, b.text->cluster, NULL);
  for (RaTaskId t = 0; t < b.graph->n_tasks; t++)
    if (b.graph->kind[t] == RA_TASK_DECODE)
      b.task = t;
  cost_decode(&b);
  return b;
}

static void
bench_clear(Bench *b)
{
  ra_estimator_free(b->estimator);
  ra_profile_free(b->profile);
  ra_task_graph_free(b->graph);
  plan_text_free(b->text);
}

/* Tasks by hand beside the generation: their works and seconds. */
typedef struct {
  const Bench *b;
  TestGraph *g;
  GArray *works;   /* RaWork */
  GArray *alone_s; /* double, by task */
  uint32_t node;
} Net;

static Net
net_new(const Bench *b)
{
  Net net = {
      b, test_graph_new(4, 1, 1, 1), g_array_new(FALSE, FALSE, sizeof(RaWork)),
      g_array_new(FALSE, FALSE, sizeof(double)), b->graph->node[b->task]};

  return net;
}

static RaTaskId
net_task(Net *net, RaTaskKind kind, uint32_t lanes, const RaOp *op,
         double alone_s)
{
  RaTaskId task = test_graph_task(net->g, kind, net->node, lanes);

  if (op) {
    RaWork work = {.shard = RA_NONE, .op = *op};

    g_array_append_val(net->works, work);
    g_array_index(net->g->work, uint32_t, task) = net->works->len - 1;
  }
  g_array_append_val(net->alone_s, alone_s);
  return task;
}

/* @n rivals that take @s seconds alone, on the card of node 2. */
static void
net_rivals(Net *net, guint n, double s)
{
  double bytes = s * net->b->text->cluster->nic_bytes_per_s;
  /* 2 (n - 1) / n of the bytes each way: of two ranks, all of them */
  RaOp op = {.kind = RA_OP_ALL_REDUCE,
             .dtype = RA_DTYPE_FP32,
             .count = 1,
             .dim = {(uint64_t)llround(bytes), 2, 1, 1}};

  for (guint i = 0; i < n; i++)
    net_task(net, RA_TASK_GRAD_REDUCE, 1u << i | 1u << 2, &op,
             ra_estimator_op_s(net->b->estimator, &op));
}

/* The task that decodes is the last; @fault: it takes no links. */
static double *
net_run(Net *net, gboolean has_decode, gboolean fault)
{
  RaTaskGraph *graph = &net->g->graph;
  uint32_t n = net->g->kind->len;
  g_autofree uint32_t *dynamic = g_new(uint32_t, n);
  g_autoptr(RaSim) sim = NULL;
  double *end_s = g_new(double, n);

  test_graph_finish(net->g);
  graph->augmented = net->b->text->augmented;
  graph->works = (const RaWork *)(void *)net->works->data;
  graph->n_works = net->works->len;
  graph->shards = net->b->graph->shards;
  graph->n_shards = net->b->graph->n_shards;
  for (uint32_t t = 0; t < n; t++)
    dynamic[t] = has_decode && !fault && t + 1 == n ? 0 : RA_NONE;
  graph->dynamic = dynamic;
  graph->dynamics = net->b->dynamic;
  graph->n_dynamics = 1;
  sim = ra_sim_new_with_durations(graph,
                                  (const double *)(void *)net->alone_s->data);
  ck_assert(ra_sim_use_network(sim, net->b->estimator, NULL));
  ck_assert(ra_sim_run(sim, NULL));
  for (uint32_t t = 0; t < n; t++)
    end_s[t] = ra_sim_result(sim)->end_s[t];
  test_graph_free(net->g);
  g_array_unref(net->works);
  g_array_unref(net->alone_s);
  return end_s;
}

/* The rivals' ends, then the generation's. */
static double *
run_whole(const Bench *b, guint n_rivals, double rival_s, gboolean fault)
{
  Net net = net_new(b);

  net_rivals(&net, n_rivals, rival_s);
  net_task(&net, RA_TASK_DECODE, 3u << 2, NULL, b->alone_s);
  return net_run(&net, TRUE, fault);
}

/* The same with a task for what a step computes before each of its collectives,
 * and for each collective: batches and lengths as sim/generate/decode.h says
 * them. */
static double *
run_steps(const Bench *b, guint n_rivals, double rival_s)
{
  const RaDynamic *d = b->dynamic;
  Net net = net_new(b);
  RaTaskId last = RA_NONE;
  uint32_t n_steps = 0;
  double *all_s, *end_s = g_new(double, n_rivals + 1);

  net_rivals(&net, n_rivals, rival_s);
  for (uint32_t i = 0; i < d->n_sequences; i++)
    n_steps = MAX(n_steps, d->response[i] - 1);
  for (uint32_t step = 1; step <= n_steps; step++) {
    RaBatch batch = {0};
    RaOp ops[RA_OP_LIST_MAX];
    RaDecodeLine line;
    guint n_ops, n_comm = 0;

    for (uint32_t i = 0; i < d->n_sequences; i++)
      if (d->response[i] > step) {
        batch.n_sequences++;
        batch.kv_tokens += d->prompt[i] + step;
      }
    batch.q_tokens = batch.n_sequences;
    batch.pairs = batch.kv_tokens;
    ra_estimator_decode(b->estimator, &b->graph->shards[d->shard],
                        &d->pieces[0], batch.n_sequences, batch.kv_tokens,
                        &line);
    n_ops = ra_op_list(&b->graph->shards[d->shard], &d->pieces[0],
                       RA_PHASE_DECODE, &batch, ops);
    for (guint i = 0; i < n_ops; i++)
      n_comm += ra_op_class((RaOpKind)ops[i].kind) == RA_OP_CLASS_COMM;
    for (guint i = 0; i < n_ops; i++) {
      RaTaskId compute, comm;
      double s = ra_estimator_op_s(b->estimator, &ops[i]) * ops[i].count;

      if (ra_op_class((RaOpKind)ops[i].kind) != RA_OP_CLASS_COMM)
        continue;
      compute = net_task(&net, RA_TASK_FORWARD, 3u << 2, NULL,
                         (line.cost.total_s - line.cost.comm_s) / n_comm);
      comm = net_task(&net, RA_TASK_GRAD_REDUCE, 3u << 2, &ops[i], s);
      if (last != RA_NONE)
        test_graph_edge(net.g, last, compute);
      test_graph_edge(net.g, compute, comm);
      last = comm;
    }
  }
  all_s = net_run(&net, FALSE, FALSE);
  for (guint i = 0; i < n_rivals; i++)
    end_s[i] = all_s[i];
  end_s[n_rivals] = all_s[last];
  g_free(all_s);
  return end_s;
}

/* Lengths alike and not, 100 steps (a cycle each) and 1,000 (8 a cycle); one
 * and two rivals on one of its cards, that end before and after it: all ends
 * are those of the graph of steps within three cycles: steps of one batch grow,
 * cycles are alike, so a rival's end meets another phase of them; where the
 * rival outlasts the generation, to 1e-9.  One that takes no links ends as
 * alone, and so do its rivals: the deliberate fault. */
START_TEST(test_against_steps)
{
  static const struct {
    const char *lengths;
    uint32_t n_steps;
  } cases[] = {{"fixed(101)", 100},
               {"uniform(20, 100)", 100},
               {"fixed(1001)", 1000},
               {"uniform(200, 1000)", 1000}};
  static const double rival_parts[] = {0.4, 1.7};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Bench b = bench_new(cases[i].lengths, cases[i].n_steps, "tp = 2\n");

    for (guint n = 0; n <= 2; n++)
      for (guint k = 0; k < G_N_ELEMENTS(rival_parts); k++) {
        double rival_s = rival_parts[k] * b.alone_s;
        g_autofree double *whole = run_whole(&b, n, rival_s, FALSE);
        g_autofree double *fault = run_whole(&b, n, rival_s, TRUE);
        g_autofree double *steps = run_steps(&b, n, rival_s);
        double three_s = 3 * b.alone_s / MIN(cases[i].n_steps, 128);

        ck_assert(b.comm_s > 0.1 * b.alone_s && b.comm_s < 0.6 * b.alone_s);
        if (n == 0) {
          ck_assert_double_eq(whole[0], b.alone_s);
          ck_assert_double_eq_tol(steps[0], b.alone_s, 1e-9 * b.alone_s);
        }
        for (guint j = 0; j <= n; j++) {
          ck_assert_double_eq_tol(whole[j], steps[j], three_s);
          if (k > 0)
            ck_assert_double_eq_tol(whole[j], steps[j], 1e-9 * steps[j]);
          if (n > 0)
            ck_assert_double_gt(fabs(fault[j] - steps[j]), three_s);
        }
      }
    bench_clear(&b);
  }
}
END_TEST

/* A rival on one of its cards all the time: what it communicates takes twice as
 * long, with two rivals three times, whatever its steps, prompts among them;
 * alone it takes what it does without a network, to the last bit.  Over two
 * stages, half of whose time is the mean of two, of which one sends: later by
 * no more than all its sends twice. */
START_TEST(test_in_closed_form)
{
  static const char *const keys[] = {
      "tp = 2\n", "tp = 2\nmicro-batches = 2\n",
      "tp = 2\nbatching = continuous\nmax-sequences = 3\n",
      "pp = 2\nmicro-batches = 2\n",
      "pp = 2\nmicro-batches = 2\nbatching = continuous\n"};

  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    gboolean over_stages = keys[i][0] == 'p';
    Bench b = bench_new("uniform(100, 300)", 300, keys[i]);

    for (guint n = 0; n <= 2; n++) {
      g_autofree double *end_s = run_whole(&b, n, 10 * b.alone_s, FALSE);
      double late_s = end_s[n] - b.alone_s;

      ck_assert(n > 0 || late_s == 0);
      if (over_stages)
        ck_assert(n == 0 || (late_s > 0 && late_s < n * b.send_s));
      else
        ck_assert_double_eq_tol(late_s, n * b.comm_s, 1e-7 * b.alone_s);
    }
    ck_assert_double_gt(b.comm_s, 0.1 * b.alone_s);
    bench_clear(&b);
  }
}
END_TEST

static Suite *
flows_decode_suite(void)
{
  Suite *suite = suite_create("flows of generations");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_against_steps);
  tcase_add_test(tcase, test_in_closed_form);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(flows_decode_suite)
