#include "config.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPUS(N) "mesh = node0:gpu[" N "]\n"
#define ALL GPUS("0-7")
#define N_ITERATIONS 3

static const RunSpec one_ppo = {.algorithm = "ppo",
                                .config = "run.json",
                                .all = GPUS("0"),
                                .n_iterations = N_ITERATIONS,
                                .seed = 6};

/* clang-format off */
static const struct {
  const char *algorithm, *config, *all, *generate, *train;
} layouts[] = {
    {"ppo", "run.json", GPUS("0-1") "tp = 2\n", NULL, NULL},
    {"ppo", "run.json", GPUS("0-1") "dp = 2\n", NULL, NULL},
    {"ppo", "run.json", GPUS("0-1") "pp = 2\n", NULL, NULL},
    {"ppo", "run.json", ALL "tp = 8\n", NULL, "recompute = full\n"},
    {"ppo", "run.json", ALL "dp = 8\n", NULL, "overlap-grad-reduce = true\n"},
    {"ppo", "run.json", ALL "tp = 2\npp = 2\ndp = 2\n", NULL,
     "micro-batches = 4\nrecompute = selective\n"},
    {"ppo", "run.json", ALL "tp = 2\npp = 4\nmicro-batches = 4\n", NULL,
     "schedule = gpipe\n"},
    {"ppo", "run.json", GPUS("0-3") "pp = 2\ntp = 2\nmicro-batches = 4\n",
     NULL, "schedule = interleaved:2\n"},
    {"ppo", "run.json", ALL "tp = 4\ndp = 2\n", ALL "dp = 4\npp = 2\n", NULL},
    {"ppo", "run.json", GPUS("0-3") "tp = 2\npp = 2\n",
     GPUS("4-7") "dp = 2\ntp = 2\n", NULL},
    {"ppo", "run.json", GPUS("0-3") "dp = 2\npp = 2\nstage-layers = 3,1\n",
     GPUS("4-7") "tp = 4\nrealloc = all-gather\n", NULL},
    {"ppo", "run.json", GPUS("0-3") "tp = 4\n",
     GPUS("4-5") "pp = 2\nrealloc = p2p\nresidency = keep\n", NULL},
    {"ppo", "run-tied.json", ALL "tp = 2\npp = 2\ndp = 2\n",
     GPUS("4-7") "tp = 4\n", NULL},
    {"grpo", "run.json", ALL "tp = 2\ndp = 2\npp = 2\n", GPUS("0-1") "dp = 2\n",
     NULL},
    {"sft", "run-tied.json", ALL "tp = 2\ndp = 2\npp = 2\n", NULL,
     "micro-batches = 4\n"},
    /* sequences shared */
    {"ppo", "run.json", GPUS("0-1") "cp = 2\n", GPUS("0-1") "tp = 2\n", NULL},
    {"ppo", "run.json", ALL "cp = 4\ndp = 2\n", ALL "tp = 4\ndp = 2\n",
     "recompute = full\n"},
    {"ppo", "run.json", GPUS("0-3") "cp = 2\ntp = 2\n",
     GPUS("4-7") "dp = 2\npp = 2\n", "zero = 1\n"},
    {"grpo", "run-tied.json", ALL "tp = 2\ncp = 2\npp = 2\n",
     ALL "dp = 4\ntp = 2\n", "micro-batches = 2\n"},
};
/* clang-format on */

static RunFixture *
run_of(const RunSpec *spec)
{
  RunFixture *f = run_fixture_new(spec);

  run_fixture_go(f);
  return f;
}

/* Six training steps of three iterations in another layout: the same tokens are
 * drawn (no tie falls differently under this seed), and losses and parameters
 * are those of one rank within 1e-4. */
START_TEST(test_layout)
{
  RunSpec spec = one_ppo;
  RunFixture *one, *many;
  g_autoptr(GArray) a = NULL, b = NULL;
  double worst;

  spec.algorithm = layouts[_i].algorithm;
  spec.config = layouts[_i].config;
  one = run_of(&spec);
  spec.all = layouts[_i].all;
  spec.generate = layouts[_i].generate;
  spec.train = layouts[_i].train;
  many = run_of(&spec);
  for (uint32_t k = 0; k < N_ITERATIONS; k++) {
    const RaRunIteration *x = ra_run_iteration(one->run, k);
    const RaRunIteration *y = ra_run_iteration(many->run, k);

    ck_assert_double_eq_tol(y->reward, x->reward, 1e-7);
    ck_assert_double_eq_tol(y->kl, x->kl, 1e-5);
    ck_assert_double_eq_tol(y->policy_loss, x->policy_loss, 1e-4);
    ck_assert_double_eq_tol(y->value_loss, x->value_loss, 1e-4);
    ck_assert_double_eq_tol(y->grad_norm, x->grad_norm,
                            1e-4 * fabs(x->grad_norm));
  }
  a = run_fixture_params(many, "atrain");
  b = run_fixture_params(one, "atrain");
  worst = run_fixture_worst(a, b);
  ck_assert_msg(worst < 1e-4, "layout %d: parameters off by %g", _i, worst);
  run_fixture_free(one);
  run_fixture_free(many);
}
END_TEST

/* The same layout twice: every bit of every parameter, and the tokens. */
START_TEST(test_twice)
{
  RunSpec spec = one_ppo;
  RunFixture *a, *b;
  g_autoptr(GArray) x = NULL, y = NULL;

  spec.all = ALL "tp = 2\npp = 2\ndp = 2\n";
  spec.generate = GPUS("0-3") "tp = 4\n";
  a = run_of(&spec);
  b = run_of(&spec);
  for (uint32_t k = 0; k < N_ITERATIONS; k++) {
    const RaColumn *s =
        ra_experience_column(ra_run_experience(a->run, k), 0, TRUE, RA_NONE);
    const RaColumn *t =
        ra_experience_column(ra_run_experience(b->run, k), 0, TRUE, RA_NONE);

    ck_assert_mem_eq(s->tokens, t->tokens, s->n * sizeof *s->tokens);
  }
  x = run_fixture_params(a, "ctrain");
  y = run_fixture_params(b, "ctrain");
  ck_assert_uint_eq(x->len, y->len);
  ck_assert_mem_eq(x->data, y->data, x->len * sizeof(float));
  run_fixture_free(a);
  run_fixture_free(b);
}
END_TEST

/* Generation reads in iteration 2 what training wrote in iteration 1, bit for
 * bit, in its own layout. */
START_TEST(test_realloc)
{
  RunSpec spec = one_ppo;
  RunFixture *f;
  g_autoptr(GArray) trained = NULL, read = NULL;

  spec.all = GPUS("0-3") "tp = 2\npp = 2\n";
  spec.generate = GPUS("4-7") "dp = 4\n";
  spec.n_iterations = 2;
  f = run_of(&spec);
  read = run_fixture_params(f, "gen");
  run_fixture_free(f);
  spec.n_iterations = 1;
  f = run_of(&spec);
  trained = run_fixture_params(f, "atrain");
  run_fixture_free(f);
  ck_assert_uint_eq(read->len, trained->len);
  ck_assert_mem_eq(read->data, trained->data, read->len * sizeof(float));
}
END_TEST

static GArray *
params_of(const RunSpec *spec)
{
  RunFixture *f = run_of(spec);
  GArray *params = run_fixture_params(f, "atrain");

  run_fixture_free(f);
  return params;
}

/* Generation that lags by one version beside training: the same in two pairs of
 * meshes, whichever runs ahead, and where one layout generates and trains.  The
 * fault is to read the newest version: a run without lag, in one layout. */
START_TEST(test_stale)
{
  RunSpec spec = {.algorithm = "grpo",
                  .config = "run.json",
                  .all = GPUS("0-3") "tp = 2\npp = 2\n",
                  .generate = GPUS("4-7") "dp = 4\n",
                  .n_iterations = 4,
                  .seed = 2,
                  .staleness = 1};
  g_autoptr(GArray) x = params_of(&spec), y = NULL, z = NULL, newest = NULL;

  spec.all = GPUS("0-1") "dp = 2\n";
  spec.generate = GPUS("2-3") "tp = 2\nresidency = keep\n";
  y = params_of(&spec);
  spec.generate = NULL;
  z = params_of(&spec);
  spec.staleness = 0;
  newest = params_of(&spec);
  ck_assert_double_lt(run_fixture_worst(x, y), 1e-4);
  ck_assert_double_lt(run_fixture_worst(z, y), 1e-4);
  ck_assert_double_gt(run_fixture_worst(newest, y), 1e-4);
}
END_TEST

/* --- calls on disjoint meshes --- */

static pthread_mutex_t met_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t met_cond = PTHREAD_COND_INITIALIZER;
static guint n_there, n_met;

/* A reward that waits, a little, for the reward of another call. */
static double
meet(const uint32_t *prompt, uint32_t n_prompt, const uint32_t *response,
     uint32_t n_response, uint32_t vocab)
{
  struct timespec end;

  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 2;
  pthread_mutex_lock(&met_lock);
  if (n_met > 0) {
    pthread_mutex_unlock(&met_lock);
    return 0;
  }
  n_there++;
  pthread_cond_broadcast(&met_cond);
  while (n_there < 2 && pthread_cond_timedwait(&met_cond, &met_lock, &end) == 0)
    ;
  n_met = n_there >= 2 ? n_there : 1;
  pthread_mutex_unlock(&met_lock);
  return 0;
}

/* Two rules after one generation: on meshes that share no GPU both are under
 * way at once, so that they meet; on one mesh (the fault) the first waits in
 * vain.
 */
START_TEST(test_disjoint)
{
  RunSpec spec = {.algorithm = "grpo",
                  .config = "run.json",
                  .all = GPUS("0-1") "tp = 2\n",
                  .n_iterations = 1,
                  .seed = 3,
                  .two_rules = TRUE,
                  .first_rule = GPUS("0"),
                  .second_rule = _i == 0 ? GPUS("1") : GPUS("0")};
  RunFixture *f = run_fixture_new(&spec);

  f->options.rule = meet;
  n_there = n_met = 0;
  run_fixture_go(f);
  ck_assert_uint_eq(n_met, _i == 0 ? 2 : 1);
  run_fixture_free(f);
}
END_TEST

/* The comparison sees a learning rate that is off by a tenth. */
START_TEST(test_fault)
{
  RunFixture *a = run_of(&one_ppo), *b = run_fixture_new(&one_ppo);
  g_autoptr(GArray) x = run_fixture_params(a, "atrain"), y = NULL;

  b->options.policy.rate *= 1.1f;
  run_fixture_go(b);
  y = run_fixture_params(b, "atrain");
  ck_assert_double_gt(run_fixture_worst(x, y), 1e-4);
  run_fixture_free(a);
  run_fixture_free(b);
}
END_TEST

/* As many decode steps as the graph has that is simulated: of each replica the
 * longest response, of which the prefill makes the first token. */
START_TEST(test_steps)
{
  RunSpec spec = one_ppo;
  uint32_t n_run = 0, n_graph = 0;
  RunFixture *f;

  spec.all = GPUS("0-3") "dp = 2\npp = 2\n";
  f = run_of(&spec);
  for (uint32_t k = 0; k < N_ITERATIONS; k++)
    n_run += ra_run_iteration(f->run, k)->n_steps;
  ck_assert_uint_eq(f->graph->n_dynamics, 2 * N_ITERATIONS);
  for (uint32_t i = 0; i < f->graph->n_dynamics; i++) {
    const RaDynamic *d = &f->graph->dynamics[i];
    uint32_t longest = 0;

    for (uint32_t s = 0; s < d->n_sequences; s++)
      longest = MAX(longest, d->response[s]);
    n_graph += longest - 1;
  }
  ck_assert_uint_eq(n_run, n_graph);
  run_fixture_free(f);
}
END_TEST

/* 1F1B of two stages, four micro-batches, two mini-batches, three iterations:
 * 8 messages to the second stage and 8 back each iteration.  The second stage
 * begins an iteration with its first message, and has asked for the other 7
 * before their tasks; the first has asked for all 8 while it ran something
 * else: 3 (7 + 8). */
START_TEST(test_receives_ahead)
{
  RunSpec spec = one_ppo;
  uint32_t n_sends = 0;
  RunFixture *f;

  spec.algorithm = "sft";
  spec.all = GPUS("0-1") "pp = 2\n";
  spec.train = "micro-batches = 4\n";
  f = run_of(&spec);
  for (RaTaskId t = 0; t < f->graph->n_tasks; t++)
    n_sends += f->graph->kind[t] == RA_TASK_SEND;
  ck_assert_uint_eq(n_sends, 48);
  ck_assert_uint_eq(ra_run_n_ahead(f->run, RA_AHEAD_STAGES), 45);
  run_fixture_free(f);
}
END_TEST

/* One call an iteration, two stages of a rank each: what only the second one's
 * tasks wait for beyond their node is the order of its lane, and the first rank
 * enters the node without it.  A rank that waits for all that its node waits
 * for (the fault) has none. */
START_TEST(test_calls_ahead)
{
  RunSpec spec = one_ppo;
  const RaTaskGraph *g;
  uint32_t n_later = 0;
  RunFixture *f;

  spec.algorithm = "sft";
  spec.all = GPUS("0-1") "pp = 2\n";
  spec.train = "micro-batches = 4\n";
  f = run_of(&spec);
  g = f->graph;
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
      n_later += g->stage[g->succ[e]] > 0 && g->node[g->succ[e]] != g->node[t];
  ck_assert_uint_gt(n_later, 0);
  ck_assert_uint_eq(ra_run_n_ahead(f->run, RA_AHEAD_CALLS), n_later);
  run_fixture_free(f);
}
END_TEST

/* Steps of two stages, group by group: a step's tokens are asked for on the
 * first stage before it computes, the second's input of every group but the
 * first while one before is computed.  The first token is the prefill's, so a
 * group is in step k (from 0) if one of its sequences has more than k + 1.
 * Without the groups after the first (the fault) it would be fewer.
 *
 * In its step k >= 1 the first group does not wait for what the second makes in
 * step k - 1: there is such a k for each 1 <= k < both longest_0 - 1 and
 * longest_1.  A first stage that waits for all groups (the fault) has none. */
START_TEST(test_steps_ahead)
{
  RunSpec spec = one_ppo;
  uint32_t n_tokens = 0, n_inputs = 0, n_laps = 0;
  RunFixture *f;

  spec.all = GPUS("0-1") "pp = 2\nmicro-batches = 2\n";
  f = run_of(&spec);
  for (uint32_t i = 0; i < f->graph->n_dynamics; i++) {
    const RaDynamic *d = &f->graph->dynamics[i];
    uint32_t most[2] = {0};

    ck_assert_uint_eq(d->n_groups, 2);
    for (uint32_t g = 0; g < d->n_groups; g++) {
      uint32_t longest = 0;

      for (uint32_t s = g * d->n_sequences / 2;
           s < (g + 1) * d->n_sequences / 2; s++)
        longest = MAX(longest, d->response[s]);
      n_tokens += longest - 1;
      n_inputs += g > 0 ? longest - 1 : 0;
      most[g] = longest;
    }
    for (uint32_t k = 1; k + 1 < most[0] && k < most[1]; k++)
      n_laps++;
  }
  ck_assert_uint_gt(n_inputs, 0);
  ck_assert_uint_eq(ra_run_n_ahead(f->run, RA_AHEAD_STEPS),
                    n_tokens + n_inputs);
  ck_assert_uint_gt(n_laps, 0);
  ck_assert_uint_eq(ra_run_n_ahead(f->run, RA_AHEAD_LAPS), n_laps);
  run_fixture_free(f);
}
END_TEST

/* A row a task that takes time, by its name in the graph, in time. */
START_TEST(test_trace)
{
  RunSpec spec = one_ppo;
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
  RunFixture *f;
  guint n = 0;

  spec.all = GPUS("0-3") "tp = 2\npp = 2\n";
  f = run_of(&spec);
  ra_run_trace(f->run, trace);
  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);

    ck_assert(g_hash_table_add(names, (gpointer)row->name));
    ck_assert_double_le(row->begin_s, row->end_s);
    ck_assert_double_gt(row->end_s, 0);
  }
  for (RaTaskId t = 0; t < f->graph->n_tasks; t++) {
    char name[256];

    ra_task_name(f->graph, t, name, sizeof name);
    n += f->graph->kind[t] != RA_TASK_JOIN;
    if (f->graph->kind[t] != RA_TASK_JOIN)
      ck_assert(g_hash_table_contains(names, name));
  }
  ck_assert_uint_eq(n, ra_trace_n_rows(trace));
  run_fixture_free(f);
}
END_TEST

static Suite *
run_suite(void)
{
  Suite *suite = suite_create("run");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_layout, 0, G_N_ELEMENTS(layouts));
  tcase_add_test(tcase, test_twice);
  tcase_add_test(tcase, test_realloc);
  tcase_add_test(tcase, test_stale);
  tcase_add_loop_test(tcase, test_disjoint, 0, 2);
  tcase_add_test(tcase, test_fault);
  tcase_add_test(tcase, test_trace);
  tcase_add_test(tcase, test_steps);
  tcase_add_test(tcase, test_receives_ahead);
  tcase_add_test(tcase, test_steps_ahead);
  tcase_add_test(tcase, test_calls_ahead);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_suite)
