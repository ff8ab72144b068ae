/* Generation of replicas that share shards or experts: closed forms against a
 * graph in which every gather, exchange and computation of every step is a task
 * of its own; and what replicas in step would take longer. */
#include "config.h"

#include <math.h>

#include "sim/cost.h"
#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/graph_builder.h"
#include "tests/support/plan_text.h"
#include "tests/support/profile_text.h"

enum { REPLICAS = 2, MAX_UNITS = 40 };

/* Two replicas, one on node 0 and one on node 1. */
typedef struct {
  PlanText *text;
  RaTaskGraph *graph;
  RaProfile *profile;
  RaEstimator *estimator;
  double alone_s[REPLICAS]; /* in closed form */
} Bench;

static Bench
bench_new(const char *model, const char *const *lengths, const char *keys,
          const char *nic, uint64_t seed)
{
  g_autofree char *cluster = g_strdup_printf(
      "[cluster]\nnodes = 2\ngpus-per-node = 1\ngpu = h100-sxm\n"
      "nics-per-node = 1\nnic = %s\n",
      nic);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nalgorithm = x\ndataset = prompts\nprompts = 8\n"
      "prompt-length = %s\nresponse-length = %s\n"
      "[model m]\nconfig = %s\n"
      "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n",
      lengths[0], lengths[1], model);
  g_autofree char *plan =
      g_strdup_printf("[plan]\nworkload = w\ncluster = c\n"
                      "[call gen]\nmesh = all\ndp = 2\nlaunch = graph\n%s",
                      keys);
  Bench b = {.text = plan_text_new(workload, cluster, plan, 1)};
  RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE, .seed = seed};

  b.profile = profile_text_load(NULL, NULL);
  b.text->cluster->device = b.profile->spec;
  b.graph = ra_expand_with(b.text->augmented, &options, NULL);
  b.estimator = ra_estimator_new(b.profile, b.text->cluster, NULL);
  ck_assert_uint_eq(b.graph->n_dynamics, REPLICAS);
  for (guint r = 0; r < REPLICAS; r++) {
    RaCost cost = {0};
    RaDecodeResult result = {.part_end_s = &b.alone_s[r], .part_cost = &cost};

    ra_dynamic_run(b.graph, b.estimator, r, NULL, &result);
  }
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

/* --- what a step is made of --- */

typedef struct {
  double compute_s, gather_s; /* without collectives inside */
  double exchange_s[2];       /* to the experts and back; 0: there are none */
} Unit;

typedef struct {
  Unit units[MAX_UNITS];
  guint n;
  double host_s;
  gboolean is_active; /* some sequence goes on */
} Step;

static Unit
unit_of(const Bench *b, const RaPiece *part, const RaBatch *batch)
{
  const RaShard *shard = &b->graph->shards[b->graph->dynamics[0].shard];
  RaOp ops[RA_OP_LIST_MAX], gather = ra_op_gather(shard, part);
  guint n = ra_op_list(shard, part, RA_PHASE_DECODE, batch, ops);
  guint n_exchanges = 0;
  Unit unit = {.compute_s = 0};

  if (shard->zero_ranks > 1)
    unit.gather_s = ra_estimator_op_s(b->estimator, &gather);
  for (guint i = 0; i < n; i++) {
    double s = ra_estimator_op_s(b->estimator, &ops[i]) * ops[i].count;

    if (ra_op_class((RaOpKind)ops[i].kind) != RA_OP_CLASS_COMM) {
      unit.compute_s += s;
      continue;
    }
    ck_assert_uint_lt(n_exchanges, G_N_ELEMENTS(unit.exchange_s));
    unit.exchange_s[n_exchanges++] = s;
  }
  return unit;
}

/* Batch and lengths as sim/generate/decode.h says them. */
static Step
step_of(const Bench *b, guint replica, uint32_t number)
{
  const RaDynamic *d = &b->graph->dynamics[replica];
  RaPiece piece = d->pieces[0], part = {.has_embedding = 1};
  RaBatch batch = {0};
  RaDecodeLine line;
  Step step = {.n = 0};

  for (uint32_t i = 0; i < d->n_sequences; i++)
    if (d->response[i] > number) {
      batch.n_sequences++;
      batch.kv_tokens += d->prompt[i] + number;
    }
  batch.q_tokens = batch.n_sequences;
  batch.pairs = batch.kv_tokens;
  step.is_active = batch.n_sequences > 0;
  if (!step.is_active)
    return step;
  ck_assert_uint_le(piece.n_layers + 2, MAX_UNITS);
  step.units[step.n++] = unit_of(b, &part, &batch);
  for (uint32_t i = 0; i < piece.n_layers; i++) {
    part = (RaPiece){.first_layer = i, .n_layers = 1};
    step.units[step.n++] = unit_of(b, &part, &batch);
  }
  part = (RaPiece){.has_head = 1};
  step.units[step.n++] = unit_of(b, &part, &batch);
  ra_estimator_decode(b->estimator, &b->graph->shards[d->shard], &piece,
                      batch.n_sequences, batch.kv_tokens, &line);
  step.host_s = line.cost.host_s;
  return step;
}

/* --- the tasks --- */

typedef enum {
  PLAY_OWN,  /* each replica gathers and exchanges as it likes */
  PLAY_STEP, /* gathers and exchanges are of both, until both have ended */
  PLAY_LATE  /* a deliberate fault: nothing is gathered ahead, and experts are
                at hand */
} Play;

typedef struct {
  TestGraph *g;
  GArray *alone_s; /* double, by task */
} Net;

static RaTaskId
net_task(Net *net, RaTaskKind kind, uint32_t lanes, double s)
{
  g_array_append_val(net->alone_s, s);
  return test_graph_task(net->g, kind, 0, lanes);
}

static void
after(Net *net, RaTaskId from, RaTaskId to)
{
  if (from != RA_NONE)
    test_graph_edge(net->g, from, to);
}

/* A collective of @lanes: it waits for @last of each of its replicas. */
static RaTaskId
meet(Net *net, uint32_t lanes, double s, const RaTaskId *last)
{
  RaTaskId task = net_task(net, RA_TASK_PARAM_GATHER, lanes, s);

  for (guint r = 0; r < REPLICAS; r++)
    if (lanes >> r & 1)
      after(net, last[r], task);
  return task;
}

/* Host work at the end of a step of replica @r. */
static RaTaskId
end_step(Net *net, guint r, const Step *step, RaTaskId computed,
         RaTaskId gathered)
{
  RaTaskId end =
      net_task(net, RA_TASK_HOST, 1u << r, step->is_active ? step->host_s : 0);

  after(net, computed, end);
  after(net, gathered, end);
  return end;
}

/* A step of the replicas of @lanes, that go on from @inout_last: unit u is
 * gathered after unit u - 1, once u - 2 has computed, and computes after both,
 * to the experts and back in the middle. */
static void
play_step(Net *net, uint32_t lanes, const Step *steps, Play play,
          RaTaskId *inout_last)
{
  RaTaskId computed[REPLICAS][2], begin[REPLICAS], gathered = RA_NONE;
  guint n = 0;

  for (guint r = 0; r < REPLICAS; r++) {
    computed[r][0] = computed[r][1] = begin[r] = inout_last[r];
    if (lanes >> r & 1)
      n = MAX(n, steps[r].n);
  }
  for (guint u = 0; u < n; u++) {
    double gather_s = 0, exchange_s[2] = {0};
    RaTaskId free[REPLICAS], at[REPLICAS];

    for (guint r = 0; r < REPLICAS; r++) {
      const Unit *unit = &steps[r].units[u];

      free[r] = play == PLAY_LATE ? computed[r][1] : computed[r][0];
      at[r] = computed[r][1];
      if (!(lanes >> r & 1) || !steps[r].is_active)
        continue;
      gather_s = unit->gather_s;
      for (guint k = 0; k < 2 && play != PLAY_LATE; k++)
        exchange_s[k] = MAX(exchange_s[k], unit->exchange_s[k]);
    }
    if (gather_s > 0) {
      RaTaskId before = gathered;

      gathered = meet(net, lanes, gather_s, free);
      after(net, before, gathered);
    }
    for (guint half = 0; half <= 2; half++) {
      RaTaskId met = RA_NONE;

      for (guint r = 0; r < REPLICAS; r++) {
        if (!(lanes >> r & 1) || !steps[r].is_active)
          continue;
        begin[r] = net_task(net, RA_TASK_FORWARD, 1u << r,
                            steps[r].units[u].compute_s / 3);
        after(net, at[r], begin[r]);
        if (half == 0)
          after(net, gathered, begin[r]);
        at[r] = begin[r];
      }
      if (half < 2 && exchange_s[half] > 0)
        met = meet(net, lanes, exchange_s[half], at);
      for (guint r = 0; met != RA_NONE && r < REPLICAS; r++)
        if (lanes >> r & 1)
          at[r] = met;
    }
    for (guint r = 0; r < REPLICAS; r++) {
      computed[r][0] = computed[r][1];
      computed[r][1] = at[r];
    }
  }
  for (guint r = 0; r < REPLICAS; r++)
    if (lanes >> r & 1)
      inout_last[r] = end_step(net, r, &steps[r], computed[r][1], gathered);
}

static uint32_t
n_steps_of(const Bench *b, guint replica)
{
  const RaDynamic *d = &b->graph->dynamics[replica];
  uint32_t n = 0;

  for (uint32_t i = 0; i < d->n_sequences; i++)
    n = MAX(n, d->response[i] - 1);
  return n;
}

static void
play_all(const Bench *b, Play play, double *out_s)
{
  Net net = {test_graph_new(REPLICAS, 1, 1, 1),
             g_array_new(FALSE, FALSE, sizeof(double))};
  RaTaskId last[REPLICAS] = {RA_NONE, RA_NONE};
  uint32_t n = MAX(n_steps_of(b, 0), n_steps_of(b, 1));
  g_autoptr(RaSim) sim = NULL;

  for (uint32_t number = 1; number <= n; number++) {
    Step steps[REPLICAS] = {step_of(b, 0, number), step_of(b, 1, number)};

    if (play == PLAY_STEP)
      play_step(&net, 3, steps, play, last);
    for (guint r = 0; r < REPLICAS && play != PLAY_STEP; r++)
      if (steps[r].is_active)
        play_step(&net, 1u << r, steps, play, last);
  }
  test_graph_finish(net.g);
  sim = ra_sim_new_with_durations(
      &net.g->graph, (const double *)(const void *)net.alone_s->data);
  ck_assert(ra_sim_run(sim, NULL));
  for (guint r = 0; r < REPLICAS; r++)
    out_s[r] = ra_sim_result(sim)->end_s[last[r]];
  g_clear_pointer(&sim, ra_sim_free);
  test_graph_free(net.g);
  g_array_unref(net.alone_s);
}

static gboolean
close_to(double a, double b)
{
  return fabs(a - b) <= 1e-9 * fabs(b);
}

static const struct {
  const char *model, *keys;
} kinds[] = {{"llama-3.2-1b.json", "zero = 3\n"},
             {"mixtral-8x7b.json", "ep = 2\n"}};
static const char *const nics[] = {"1000 Gbit/s", "8 Gbit/s", "400 Mbit/s"};
static const char *const lengths[][2] = {
    {"fixed(64)", "fixed(41)"}, {"uniform(64, 2048)", "uniform(4, 40)"}};

/* Lengths alike and drawn, cards from quick to slow: each replica's closed form
 * is its own tasks' end; where lengths are alike also what both in step take.
 * Without anything ahead, or without exchanges, it is not: the fault. */
START_TEST(test_own_pace)
{
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    for (guint k = 0; k < G_N_ELEMENTS(lengths); k++)
      for (guint c = 0; c < G_N_ELEMENTS(nics); c++) {
        Bench b =
            bench_new(kinds[i].model, lengths[k], kinds[i].keys, nics[c], 3);
        double own_s[REPLICAS], step_s[REPLICAS], late_s[REPLICAS];

        play_all(&b, PLAY_OWN, own_s);
        play_all(&b, PLAY_STEP, step_s);
        play_all(&b, PLAY_LATE, late_s);
        for (guint r = 0; r < REPLICAS; r++) {
          ck_assert_msg(close_to(b.alone_s[r], own_s[r]), "%u %u %u: %g, %g", i,
                        k, c, b.alone_s[r], own_s[r]);
          ck_assert(!close_to(b.alone_s[r], late_s[r]));
          if (k == 0)
            ck_assert(close_to(b.alone_s[r], step_s[r]));
        }
        bench_clear(&b);
      }
}
END_TEST

/* Replicas in step, of unlike lengths: never quicker than the slower at its own
 * pace.  Where gathers bound a step (400 Mbit/s) it is their sum, then what its
 * last unit computes: later by what the other's last unit takes longer, step by
 * step, a thousandth.  Quicker cards and experts: as much later as the one that
 * ends first had more to do before, here under 5 %. */
START_TEST(test_in_step)
{
  double most_frac[G_N_ELEMENTS(kinds)] = {0};

  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    for (guint c = 0; c < G_N_ELEMENTS(nics); c++)
      for (uint64_t seed = 1; seed <= 4; seed++) {
        Bench b =
            bench_new(kinds[i].model, lengths[1], kinds[i].keys, nics[c], seed);
        guint slow = b.alone_s[1] > b.alone_s[0];
        double step_s[REPLICAS], longer_s = 0, late_frac;

        play_all(&b, PLAY_STEP, step_s);
        late_frac = step_s[slow] / b.alone_s[slow] - 1;
        for (uint32_t number = 1; number <= n_steps_of(&b, slow); number++) {
          Step mine = step_of(&b, slow, number);
          Step other = step_of(&b, 1 - slow, number);

          if (other.is_active)
            longer_s +=
                MAX(0, other.units[other.n - 1].compute_s + other.host_s -
                           mine.units[mine.n - 1].compute_s - mine.host_s);
        }
        ck_assert_double_ge(late_frac, -1e-9);

        most_frac[i] = MAX(most_frac[i], late_frac);
        if (i == 0 && c == 2) {
          ck_assert(close_to(step_s[slow], b.alone_s[slow] + longer_s));
          ck_assert_double_lt(longer_s, 1e-3 * b.alone_s[slow]);
        }
        bench_clear(&b);
      }
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    ck_assert(most_frac[i] > 1e-4 && most_frac[i] < 0.05);
}
END_TEST

static Suite *
decode_tasks_suite(void)
{
  Suite *suite = suite_create("generation by tasks");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_own_pace);
  tcase_add_test(tcase, test_in_step);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(decode_tasks_suite)
