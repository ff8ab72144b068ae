/* Op fidelity: programs, their sum, the host, unlike ranks. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/estimator_impl.h"
#include "sim/sim.h"
#include "study/replay.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_run.h"

/* ---- Programs of the shipped plans --------------------------------------- */

/* A program has every op of the list as often as the list says, layers in
 * order, first to last or backward last to first.  @n_left_out steps at the end
 * are forgotten: the deliberate fault. */
static gboolean
program_is_list(const RaTaskGraph *graph, uint32_t work, guint n_left_out)
{
  RaOp list[RA_OP_LIST_MAX];
  uint64_t seen[RA_OP_LIST_MAX] = {0}, n_steps, i = 0;
  guint n = ra_work_ops(graph, work, list);
  gboolean back = graph->works[work].phase == RA_PHASE_BACKWARD;
  uint32_t last = RA_NONE;
  RaOpProgram program;
  RaOpCursor at;

  ra_work_program(graph, work, &program);
  n_steps = ra_op_program_n_steps(&program) - n_left_out;
  if (program.n_ops != n)
    return FALSE;
  at = ra_op_cursor(&program);
  while (i < n_steps && ra_op_cursor_next(&at)) {
    seen[at.op]++;
    i++;
    if (memcmp(list[at.op].dim, program.ops[at.op].dim, sizeof list->dim) != 0)
      return FALSE;
    if (at.layer == RA_NONE)
      continue;
    if (last != RA_NONE && last != at.layer &&
        last + (back ? -1u : 1u) != at.layer)
      return FALSE;
    last = at.layer;
  }
  for (guint op = 0; op < n; op++)
    if (seen[op] != list[op].count)
      return FALSE;
  return i == n_steps && (n_left_out > 0 || !ra_op_cursor_next(&at));
}

/* Runs at stage and at op fidelity with the same estimator. */
typedef struct {
  RaSetup *setup;
  RaReplay *stage, *op;
} Pair;

static Pair
pair_new(const char *name, const char *const *sets, gboolean no_host)
{
  g_autofree char *path =
      g_build_filename(g_getenv("srcdir"), "share", "plans", name, NULL);
  g_autoptr(GError) error = NULL;
  RaSetupFlags flags = {.sets = sets};
  RaReplayOptions options = {.n_iterations = 1, .fidelity = RA_FIDELITY_STAGE};
  Pair p = {.setup = ra_setup_load(path, RA_FILE_PLAN, &flags, &error)};

  ck_assert_msg(p.setup != NULL, "%s", error ? error->message : "");
  if (no_host)
    p.setup->estimator->eager_launch_s = 0;
  p.stage = ra_replay_new(p.setup, &options, NULL);
  options.fidelity = RA_FIDELITY_OP;
  p.op = ra_replay_new(p.setup, &options, NULL);
  ck_assert(p.stage && p.op);
  return p;
}

static void
pair_clear(Pair *p)
{
  ra_replay_free(p->stage);
  ra_replay_free(p->op);
  ra_setup_free(p->setup);
}

/* The largest relative difference of @a and @b, one a task; @n tasks. */
static double
apart(const RaCost *a, const RaCost *b, uint32_t n)
{
  double most = 0;

  for (uint32_t t = 0; t < n; t++)
    most = MAX(most, fabs(a[t].total_s - b[t].total_s) /
                         MAX(fabs(a[t].total_s), 1e-9));
  return most;
}

/* Where the host is never waited for (eager launches take no time; captured
 * graphs keep theirs) the steps of a task sum to its stage cost, 1e-9 relative,
 * and so does the run; its causes too.  In every shipped plan. */
static void
check_sums(const char *name)
{
  Pair p = pair_new(name, NULL, TRUE);
  const RaTaskGraph *graph = p.op->graph;
  const RaCost *stage = ra_sim_costs(p.stage->sim);
  const RaCost *op = ra_sim_costs(p.op->sim);
  double a = ra_sim_result(p.stage->sim)->makespan_s;
  double b = ra_sim_result(p.op->sim)->makespan_s;

  ck_assert_uint_eq(graph->n_tasks, p.stage->graph->n_tasks);
  ck_assert_double_le(apart(stage, op, graph->n_tasks), 1e-9);
  ck_assert_double_le(fabs(a - b), 1e-9 * a);
  ck_assert_uint_ge(ra_sim_result(p.op->sim)->n_events,
                    ra_sim_result(p.stage->sim)->n_events);
  for (uint32_t t = 0; t < graph->n_tasks; t++) {
    ck_assert_double_le(fabs(stage[t].compute_s - op[t].compute_s),
                        1e-9 * stage[t].total_s);
    ck_assert_double_le(fabs(stage[t].comm_s - op[t].comm_s),
                        1e-9 * stage[t].total_s);
  }
  for (uint32_t work = 0; work < graph->n_works; work++)
    ck_assert_msg(program_is_list(graph, work, 0), "%s, work %u", name, work);
  pair_clear(&p);
}

enum { PARTS = 6 };

START_TEST(test_steps_sum_to_the_stage)
{
  g_autofree char *folder =
      g_build_filename(g_getenv("srcdir"), "share", "plans", NULL);
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  guint n = 0;

  while ((name = g_dir_read_name(dir)))
    if (g_str_has_suffix(name, ".plan") && n++ % PARTS == (guint)_i)
      check_sums(name);
  ck_assert_uint_gt(n, 10);
}
END_TEST

/* A program that ends a step early is not its list, and a task that is 2e-9
 * longer is not its stage's. */
START_TEST(test_faults_are_seen)
{
  Pair p = pair_new("rm-llama3-8b-8.plan", NULL, TRUE);
  uint32_t n = p.op->graph->n_tasks, work = 0;
  RaCost *costs = g_memdup2(ra_sim_costs(p.op->sim), n * sizeof(RaCost));

  while (p.op->graph->works[work].shard == RA_NONE)
    work++;
  ck_assert(program_is_list(p.op->graph, work, 0));
  ck_assert(!program_is_list(p.op->graph, work, 1));
  costs[0].total_s *= 1 + 2e-9;
  ck_assert_double_gt(apart(ra_sim_costs(p.stage->sim), costs, n), 1e-9);
  g_free(costs);
  pair_clear(&p);
}
END_TEST

/* A ring of cp ranks: the own keys, then cp - 1 turns of (attention, send,
 * add). */
START_TEST(test_ring_turns)
{
  Pair p = pair_new("sft-mixtral-8x7b-32k-32.plan", NULL, TRUE);
  const RaTaskGraph *graph = p.op->graph;
  guint kinds[16] = {0}, n = 0;
  RaOpProgram program;
  RaOpCursor at;
  uint32_t cp = graph->shards[0].cp;

  ck_assert_uint_ge(cp, 2);
  for (uint32_t work = 0; work < graph->n_works && n == 0; work++) {
    if (graph->works[work].shard == RA_NONE ||
        graph->works[work].phase != RA_PHASE_FORWARD)
      continue;
    ra_work_program(graph, work, &program);
    at = ra_op_cursor(&program);
    while (ra_op_cursor_next(&at) && n < 1 + 3 * (cp - 1)) {
      guint kind = program.ops[at.op].kind;
      if (n > 0 || kind == RA_OP_ATTENTION)
        kinds[n++] = kind;
      if (n == G_N_ELEMENTS(kinds))
        break;
    }
  }
  ck_assert_uint_eq(kinds[0], RA_OP_ATTENTION);
  for (guint i = 0; i + 1 < n && i < 3 * (cp - 1); i++) {
    static const guint turn[] = {RA_OP_ATTENTION, RA_OP_SEND, RA_OP_ADD};
    ck_assert_uint_eq(kinds[1 + i], turn[i % 3]);
  }
  ck_assert_uint_ge(n, 4);
  pair_clear(&p);
}
END_TEST

/* ---- The host ------------------------------------------------------------ */

/* tiny.json inferred with on @pp stages in two micro-batches. */
static Run
run_new(const char *cluster_keys, const char *call_keys, double launch_s,
        uint64_t seed, RaFidelity fidelity)
{
  g_autofree char *nodes = plan_text_cluster(1);
  g_autofree char *cluster = g_strconcat(nodes, cluster_keys, NULL);
  g_autofree char *plan =
      g_strdup_printf("[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                      "[call infer]\nmicro-batches = 2\n%s",
                      call_keys);
  Run r = {.text = plan_text_new(
               "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
               "prompts = 64\nprompt-length = fixed(16)\n"
               "response-length = fixed(16)\n[model m]\nconfig = tiny.json\n"
               "[call infer]\nmodel = m\nkind = inference\ninputs = prompts\n"
               "outputs = r\n",
               cluster, plan, 1),
           .profile = profile_text_load(NULL, NULL)};

  r.text->cluster->device = r.profile->spec;
  r.estimator = ra_estimator_new(r.profile, r.text->cluster, NULL);
  r.estimator->eager_launch_s = launch_s;
  r.graph = ra_expand(r.text->augmented, fidelity, seed, NULL);
  r.sim = ra_sim_new(r.graph, r.estimator, NULL);
  ck_assert(r.sim && ra_sim_run(r.sim, NULL));
  return r;
}

/* The forward of stage @stage and micro-batch @micro. */
static RaTaskId
forward(const Run *r, uint32_t stage, uint32_t micro)
{
  for (RaTaskId t = 0; t < r->graph->n_tasks; t++)
    if (r->graph->kind[t] == RA_TASK_FORWARD && r->graph->stage[t] == stage &&
        r->graph->micro_batch[t] == micro)
      return t;
  ck_abort_msg("no such task");
  return RA_NONE;
}

/* Launched kernels and device seconds of a task, and of its last kernel. */
typedef struct {
  double n, device_s, last_s;
} Sum;

static Sum
sum_of(const Run *r, RaTaskId task)
{
  RaOpProgram program;
  RaOpCursor at;
  Sum sum = {0};

  ra_work_program(r->graph, r->graph->work[task], &program);
  at = ra_op_cursor(&program);
  while (ra_op_cursor_next(&at)) {
    double s = ra_estimator_op_s(r->estimator, &program.ops[at.op]);

    if (!(s > 0))
      continue;
    sum.n++;
    sum.device_s += s;
    sum.last_s = s;
  }
  return sum;
}

/* Launches of 1,000 s: the device always waits.  On one stage the host goes on
 * with the second micro-batch at once, so its last kernel is launched after
 * both tasks' launches:
 *
 *     end(m) = 1000 (n_0 + .. + n_m) + the last kernel
 *
 * where stage fidelity has 1000 n(m) each.  With launches of 1e-12 s the device
 * is the slower by far: end(0) = 1e-12 + device, end(1) = end(0) + device. */
START_TEST(test_host_runs_ahead)
{
  Run slow = run_new("", "mesh = node0:gpu0\n", 1000, 0, RA_FIDELITY_OP);
  Run fast = run_new("", "mesh = node0:gpu0\n", 1e-12, 0, RA_FIDELITY_OP);
  const RaSimResult *s = ra_sim_result(slow.sim);
  const RaSimResult *f = ra_sim_result(fast.sim);
  RaTaskId a = forward(&slow, 0, 0), b = forward(&slow, 0, 1);
  Sum x = sum_of(&slow, a), y = sum_of(&slow, b);

  ck_assert_double_eq_tol(s->end_s[a], 1000 * x.n + x.last_s, 1e-6);
  ck_assert_double_eq_tol(s->end_s[b], 1000 * (x.n + y.n) + y.last_s, 1e-6);
  ck_assert_double_eq_tol(ra_sim_costs(slow.sim)[a].host_s,
                          s->end_s[a] - x.device_s, 1e-6);
  ck_assert_double_eq_tol(f->end_s[a], 1e-12 + x.device_s, 1e-15);
  ck_assert_double_eq_tol(f->end_s[b], 1e-12 + x.device_s + y.device_s, 1e-15);
  run_clear(&slow);
  run_clear(&fast);
}
END_TEST

/* The second stage's host begins when the message is there: at the end of the
 * first stage's task and the send, and not before. */
START_TEST(test_host_waits_for_messages)
{
  Run r =
      run_new("", "mesh = node0:gpu[0-1]\npp = 2\n", 1000, 0, RA_FIDELITY_OP);
  const RaSimResult *s = ra_sim_result(r.sim);
  RaTaskId first = forward(&r, 0, 0), second = forward(&r, 1, 0);
  Sum x = sum_of(&r, first), y = sum_of(&r, second);

  ck_assert_double_gt(s->begin_s[second], s->end_s[first]);
  ck_assert_double_eq_tol(s->end_s[first], 1000 * x.n + x.last_s, 1e-6);
  ck_assert_double_eq_tol(s->end_s[second],
                          s->begin_s[second] + 1000 * y.n + y.last_s, 1e-6);
  run_clear(&r);
}
END_TEST

/* ---- Unlike ranks -------------------------------------------------------- */

/* All GPUs slow by 3: computation takes 3 times as long, communication as long
 * as before.  tp = 2. */
START_TEST(test_all_stragglers)
{
  Run r = run_new("stragglers = 1\nstraggler-slowdown = 3\n",
                  "mesh = node0:gpu[0-1]\ntp = 2\n", 0, 0, RA_FIDELITY_OP);
  Run alike =
      run_new("", "mesh = node0:gpu[0-1]\ntp = 2\n", 0, 0, RA_FIDELITY_OP);
  RaTaskId t = forward(&r, 0, 0);
  RaCost x = ra_sim_costs(r.sim)[t], y = ra_sim_costs(alike.sim)[t];

  ck_assert_double_gt(y.comm_s, 0);
  ck_assert_double_eq_tol(x.compute_s, 3 * y.compute_s, 1e-12);
  ck_assert_double_eq_tol(x.comm_s, y.comm_s, 1e-12);
  ck_assert_double_eq_tol(x.total_s, 3 * y.compute_s + y.comm_s, 1e-12);
  run_clear(&r);
  run_clear(&alike);
}
END_TEST

/* One of two tp ranks slow (the seed is searched for): the other waits at every
 * collective, so the task takes as long as if both were, and half of their
 * GPUs' time is computation at 3, half at 1: 2 times on average, the rest
 * waiting. */
START_TEST(test_one_straggler)
{
  const char *const keys = "mesh = node0:gpu[0-1]\ntp = 2\n";
  Run alike = run_new("", keys, 0, 0, RA_FIDELITY_OP);
  RaCost y = ra_sim_costs(alike.sim)[forward(&alike, 0, 0)];
  guint n_one = 0, n_none = 0, n_both = 0;

  for (uint64_t seed = 0; seed < 64; seed++) {
    Run r = run_new("stragglers = 0.5\nstraggler-slowdown = 3\n", keys, 0, seed,
                    RA_FIDELITY_OP);
    RaCost x = ra_sim_costs(r.sim)[forward(&r, 0, 0)];
    double mean = x.compute_s / y.compute_s;

    if (fabs(mean - 2) < 1e-9) {
      n_one++;
      ck_assert_double_eq_tol(x.total_s, 3 * y.compute_s + y.comm_s, 1e-12);
    } else if (fabs(mean - 1) < 1e-9) {
      n_none++;
      ck_assert_double_eq_tol(x.total_s, y.total_s, 1e-12);
    } else {
      n_both++;
      ck_assert_double_eq_tol(mean, 3, 1e-9);
    }
    run_clear(&r);
  }
  /* of 64 fair pairs; each bound is 4 standard deviations away */
  ck_assert(n_one > 16 && n_one < 48 && n_none > 2 && n_both > 2);
  run_clear(&alike);
}
END_TEST

/* Jitter of 10 % on one GPU: a task's time over the plain one is the mean of
 * n kernels' factors weighted by their time, so it is within 5 x 10 % / sqrt(k)
 * of 1 with k >= 1 the effective number of kernels, (sum s)^2 / sum s^2; it is
 * the same for a seed, another for another.  Below op fidelity nothing
 * changes. */
START_TEST(test_jitter)
{
  const char *const keys = "mesh = node0:gpu0\n";
  Run alike = run_new("", keys, 0, 0, RA_FIDELITY_OP);
  Run a = run_new("jitter = 0.1\n", keys, 0, 1, RA_FIDELITY_OP);
  Run b = run_new("jitter = 0.1\n", keys, 0, 1, RA_FIDELITY_OP);
  Run c = run_new("jitter = 0.1\n", keys, 0, 2, RA_FIDELITY_OP);
  Run stage = run_new("jitter = 0.1\n", keys, 0, 1, RA_FIDELITY_STAGE);
  RaTaskId t = forward(&alike, 0, 0);
  double plain = ra_sim_costs(alike.sim)[t].total_s, squares = 0, k;
  RaOpProgram program;
  RaOpCursor at;

  ra_work_program(alike.graph, alike.graph->work[t], &program);
  at = ra_op_cursor(&program);
  while (ra_op_cursor_next(&at))
    squares += pow(ra_estimator_op_s(alike.estimator, &program.ops[at.op]), 2);
  k = plain * plain / squares;
  ck_assert_double_gt(k, 5);
  ck_assert_double_le(fabs(ra_sim_costs(a.sim)[t].total_s / plain - 1),
                      5 * 0.1 / sqrt(k));
  ck_assert_double_ne(ra_sim_costs(a.sim)[t].total_s, plain);
  ck_assert_uint_eq(ra_sim_result(a.sim)->fingerprint,
                    ra_sim_result(b.sim)->fingerprint);
  ck_assert_uint_ne(ra_sim_result(a.sim)->fingerprint,
                    ra_sim_result(c.sim)->fingerprint);
  ck_assert_double_eq_tol(ra_sim_costs(stage.sim)[t].total_s, plain,
                          1e-12 * plain);
  run_clear(&alike);
  run_clear(&a);
  run_clear(&b);
  run_clear(&c);
  run_clear(&stage);
}
END_TEST

/* ---- Rows ---------------------------------------------------------------- */

/* A row a step, named after its task and op, and one for every task without
 * steps but joins, with its op where it has one.  Op and shape are all of the
 * op: its FLOP and bytes follow. */
START_TEST(test_rows_are_steps)
{
  g_autofree char *path = g_build_filename(g_getenv("srcdir"), "share", "plans",
                                           "rm-llama3-8b-8.plan", NULL);
  RaSetupFlags flags = {0};
  RaReplayOptions options = {
      .n_iterations = 1, .fidelity = RA_FIDELITY_OP, .record = TRUE};
  RaSetup *setup = ra_setup_load(path, RA_FILE_PLAN, &flags, NULL);
  g_autoptr(RaReplay) replay = ra_replay_new(setup, &options, NULL);
  g_autoptr(RaTrace) trace = ra_replay_trace(setup, replay);
  guint n_joins = 0, n_steps = 0, n_alone = 0;

  for (RaTaskId t = 0; t < replay->graph->n_tasks; t++)
    n_joins += replay->graph->kind[t] == RA_TASK_JOIN;
  ck_assert_uint_eq(ra_trace_n_rows(trace) + n_joins,
                    ra_sim_result(replay->sim)->n_events);
  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);
    RaOp op;

    if (!row->op)
      continue;
    n_steps += strstr(row->name, row->op) != NULL;
    n_alone += strstr(row->name, row->op) == NULL;
    ck_assert(ra_op_parse(row->op, row->shape, &op, NULL));
    ck_assert_double_eq(row->flop, ra_op_flop(&op));
    ck_assert_double_eq(row->bytes, ra_op_bytes(&op));
  }
  ck_assert_uint_gt(n_steps, 1000);
  ck_assert_uint_gt(n_alone, 0);
  ck_assert_uint_lt(n_alone, 100);
  ra_setup_free(setup);
}
END_TEST

static Suite *
op_replay_suite(void)
{
  Suite *suite = suite_create("op_replay");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_steps_sum_to_the_stage, 0, PARTS);
  tcase_add_test(tcase, test_faults_are_seen);
  tcase_add_test(tcase, test_ring_turns);
  tcase_add_test(tcase, test_host_runs_ahead);
  tcase_add_test(tcase, test_host_waits_for_messages);
  tcase_add_test(tcase, test_all_stragglers);
  tcase_add_test(tcase, test_one_straggler);
  tcase_add_test(tcase, test_jitter);
  tcase_add_test(tcase, test_rows_are_steps);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(op_replay_suite)
