/* Cost of residency: replays of plans by hand on an ideal device, whose copies
 * take bytes / rate, against closed forms. */
#include "config.h"

#include "sim/breakdown.h"
#include "study/report/moves.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"
#include "tests/support/plan_run.h"

/* Two models of tiny.json judge 32 sequences of 64 tokens on one GPU, one after
 * the other. */
static const char *const judges =
    "[workload]\nformat = 1\nalgorithm = judge\ndataset = prompts\n"
    "prompts = 32\nprompt-length = fixed(16)\nresponse-length = fixed(48)\n"
    "[model a]\nconfig = tiny.json\n[model b]\nconfig = tiny.json\n"
    "[call one]\nmodel = a\nkind = inference\ninputs = prompts\n"
    "outputs = x\n"
    "[call two]\nmodel = b\nkind = inference\ninputs = x\n";

/* Parameters of tiny.json: 16 layers of 4 x 64 x 64 + 3 x 64 x 128 + 2 x 64,
 * embedding and head of 512 x 64, a last norm of 64; 2 bytes each in bf16. */
#define MODEL_BYTES (2 * (16 * 41088 + 2 * 32768 + 64))

static Run
run(const char *workload, const char *plan, uint32_t n_iterations,
    const char *host)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *edit = g_strdup_printf("device.host=%s", host);
  Run r;

  r.text = plan_text_new(workload, cluster, plan, n_iterations);
  r.profile = profile_text_load(edit, NULL);
  r.text->cluster->device = r.profile->spec;
  r.estimator = ra_estimator_new(r.profile, r.text->cluster, NULL);
  ck_assert_ptr_nonnull(r.estimator);
  r.graph = ra_expand(r.text->augmented, RA_FIDELITY_STAGE, 0, NULL);
  ck_assert_ptr_nonnull(r.graph);
  r.sim = ra_sim_new(r.graph, r.estimator, NULL);
  ck_assert_ptr_nonnull(r.sim);
  ck_assert(ra_sim_run(r.sim, NULL));
  return r;
}

static double
iteration_s(const Run *r)
{
  g_autoptr(RaBreakdown) b = ra_breakdown_new(r->sim, r->graph);
  return b->iteration_s;
}

#define ONE_GPU "mesh = node0:gpu0\n"
#define JUDGE_PLAN(keys)                                                       \
  "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call one]\n" ONE_GPU keys   \
  "[call two]\n" ONE_GPU keys

static double
judge_s(const char *plan, const char *host)
{
  Run r = run(judges, plan, 6, host);
  double s = iteration_s(&r);

  run_clear(&r);
  return s;
}

/* With both in host memory each call is preceded by a reload of r = bytes /
 * rate that runs behind the call before.  The calls take C each (the same
 * shapes), so in the steady state
 *
 *     r <= C   a reload ends before the call that it hides behind: 2 C, as
 *              without
 *     r >  C   the reloads follow each other without a gap: 2 r; that is
 *              2 C + 2 (r - C), the exposed rest of each
 *
 * 1,446,016 bytes at 1e9 B/s are 1.4 ms, at 1e6 B/s 1.446 s; C is some 170
 * ms.  Not hidden at all it would be 2 C + 2 r. */
START_TEST(test_reload_is_hidden)
{
  double without_s = judge_s(JUDGE_PLAN(""), "1000 kB/s");
  double fast_s = judge_s(JUDGE_PLAN("residency = host\n"), "1 GB/s");
  double slow_s = judge_s(JUDGE_PLAN("residency = host\n"), "1000 kB/s");
  double r_s = MODEL_BYTES / 1e6;

  ck_assert_double_gt(without_s / 2, MODEL_BYTES / 1e9);
  ck_assert_double_lt(without_s / 2, r_s);
  bench_check(fast_s, without_s);
  bench_check(slow_s, 2 * r_s);
  bench_check_differs(slow_s, without_s + 2 * r_s);
}
END_TEST

/* One call alone on its GPUs has nothing to make room for: it is reloaded once,
 * before the first iteration, and the makespan is r + n C.  In tp 2 a GPU holds
 * 16 (40,960 / 2 + 128) + 65,536 / 2 + 64 = 362,560 parameters, and both have
 * links of their own. */
static void
check_alone(const char *keys, double bytes)
{
  static const char *const alone =
      "[workload]\nformat = 1\nalgorithm = judge\ndataset = prompts\n"
      "prompts = 32\nprompt-length = fixed(16)\nresponse-length = fixed(48)\n"
      "[model a]\nconfig = tiny.json\n"
      "[call one]\nmodel = a\nkind = inference\ninputs = prompts\n";
  g_autofree char *plan =
      g_strconcat("[plan]\nformat = 1\nworkload = w\ncluster = c\n[call one]\n",
                  keys, "residency = host\n", NULL);
  Run r = run(alone, plan, 3, "1000 kB/s");
  double c_s = iteration_s(&r);

  bench_check(ra_sim_result(r.sim)->makespan_s, bytes / 1e6 + 3 * c_s);
  run_clear(&r);
}

START_TEST(test_alone_stays)
{
  check_alone(ONE_GPU, MODEL_BYTES);
  check_alone("mesh = node0:gpu[0-1]\ntp = 2\n", 2 * 362560);
}
END_TEST

/* The first row of the moves table that is of @kind, as TSV writes it. */
static char *
first_row(const Run *r, const char *kind)
{
  g_autoptr(RaTable) table = ra_moves_table(r->graph, r->sim, 1);
  g_autoptr(GString) out = g_string_new(NULL);
  g_auto(GStrv) lines = NULL;
  guint i = 0;

  ra_table_write(table, RA_FORMAT_TSV, out);
  lines = g_strsplit(out->str, "\n", -1);
  while (!g_str_has_prefix(lines[i], kind))
    i++;
  return g_strdup(lines[i]);
}

/* The slow reloads above take r an iteration, of which r - C is exposed: call
 * one of an iteration could begin when two of the one before has ended, which
 * began when its own reload ended, and this one's reload began then too. */
START_TEST(test_moves_table)
{
  Run r = run(judges, JUDGE_PLAN("residency = host\n"), 6, "1000 kB/s");
  double c_s = judge_s(JUDGE_PLAN(""), "1000 kB/s") / 2;
  double r_s = MODEL_BYTES / 1e6;
  g_autofree char *row = first_row(&r, "reload");
  g_auto(GStrv) cells = g_strsplit(row, "\t", -1);

  ck_assert_str_eq(cells[1], "host");
  bench_check(g_ascii_strtod(cells[3], NULL), MODEL_BYTES);
  bench_check(g_ascii_strtod(cells[4], NULL), MODEL_BYTES);
  ck_assert_double_eq_tol(g_ascii_strtod(cells[6], NULL), r_s, 1e-8);
  ck_assert_double_eq_tol(g_ascii_strtod(cells[7], NULL), r_s - c_s, 1e-8);
  run_clear(&r);
}
END_TEST

/* One model is trained in turn with another judge, its optimizer state in host
 * memory: 12 bytes a parameter out and in again, on streams of their own.  The
 * state is gone for no longer than the judge runs, so with T the training, J
 * the judge and x one way, x > J,
 *
 *     out begins when training ends, in when out has ended; training follows
 *     in: T + 2 x
 *
 * Without it T + J. */
START_TEST(test_optimizer_round_trip)
{
  static const char *const train =
      "[workload]\nformat = 1\nalgorithm = sft\ndataset = prompts\n"
      "prompts = 32\nprompt-length = fixed(16)\nresponse-length = fixed(48)\n"
      "[model a]\nconfig = tiny.json\ntrainable = true\n"
      "[model b]\nconfig = tiny.json\n"
      "[call judge]\nmodel = b\nkind = inference\ninputs = prompts\n"
      "outputs = x\n"
      "[call train]\nmodel = a\nkind = train\ninputs = x\n";
#define TRAIN_PLAN(keys)                                                       \
  "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call judge]\n" ONE_GPU      \
  "[call train]\n" ONE_GPU keys
  Run without = run(train, TRAIN_PLAN(""), 4, "1000 kB/s");
  Run with =
      run(train, TRAIN_PLAN("optimizer-residency = host\n"), 4, "1000 kB/s");
  g_autoptr(RaBreakdown) b = ra_breakdown_new(without.sim, without.graph);
  double x_s = 6 * MODEL_BYTES / 1e6;

  ck_assert_double_lt(b->calls[0].wall_s, x_s);
  bench_check(iteration_s(&without), b->calls[0].wall_s + b->calls[1].wall_s);
  bench_check(iteration_s(&with), b->calls[1].wall_s + 2 * x_s);
  bench_check_differs(iteration_s(&with), b->calls[1].wall_s + x_s);
  run_clear(&without);
  run_clear(&with);
}
END_TEST

/* Two models trained in turn, both optimizer states in host memory, x one way
 * much longer than a training T.  Out and in of one overlap in and out of the
 * other, on a stream each way: a model is trained, goes out, comes in, so T + 2
 * x.  On one stream it would be the four copies, 4 x. */
START_TEST(test_streams_overlap)
{
  static const char *const two =
      "[workload]\nformat = 1\nalgorithm = sft\ndataset = prompts\n"
      "prompts = 32\nprompt-length = fixed(16)\nresponse-length = fixed(48)\n"
      "[model a]\nconfig = tiny.json\ntrainable = true\n"
      "[model b]\nconfig = tiny.json\ntrainable = true\n"
      "[call one]\nmodel = a\nkind = train\ninputs = prompts\n"
      "outputs = x\n"
      "[call two]\nmodel = b\nkind = train\ninputs = x\n";
#define TWO_PLAN(keys)                                                         \
  "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call one]\n" ONE_GPU keys   \
  "[call two]\n" ONE_GPU keys
  Run without = run(two, TWO_PLAN(""), 6, "1000 kB/s");
  Run with = run(two, TWO_PLAN("optimizer-residency = host\n"), 6, "1000 kB/s");
  double t_s = iteration_s(&without) / 2, x_s = 6 * MODEL_BYTES / 1e6;

  ck_assert_double_lt(t_s, x_s);
  bench_check(iteration_s(&with), t_s + 2 * x_s);
  bench_check_differs(iteration_s(&with), 4 * x_s);
  run_clear(&without);
  run_clear(&with);
}
END_TEST

/* Scores in 2 chunks: 32 sequences of 64 tokens of 4 bytes an iteration, in two
 * transfers. */
START_TEST(test_moves_of_chunks)
{
  static const char *const chunks =
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
      "prompts = 32\nprompt-length = fixed(16)\nresponse-length = fixed(48)\n"
      "[model a]\nconfig = tiny.json\n[model b]\nconfig = tiny.json\n"
      "[call one]\nmodel = a\nkind = generate\ninputs = prompts\n"
      "outputs = x\n"
      "[call two]\nmodel = b\nkind = inference\ninputs = x:chunk(2)\n";
  Run r = run(chunks,
              "[plan]\nformat = 1\nworkload = w\ncluster = c\n"
              "[call one]\n" ONE_GPU "[call two]\nmesh = node0:gpu1\n",
              3, "1000 kB/s");
  g_autofree char *row = first_row(&r, "transfer");
  g_auto(GStrv) cells = g_strsplit(row, "\t", -1);

  ck_assert_str_eq(cells[1], "one");
  ck_assert_str_eq(cells[2], "two");
  bench_check(g_ascii_strtod(cells[3], NULL), 32 * 64 * 4);
  bench_check(g_ascii_strtod(cells[4], NULL), 32 * 64 * 4 / 2);
  run_clear(&r);
}
END_TEST

static Suite *
reload_suite(void)
{
  Suite *suite = suite_create("reload");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_reload_is_hidden);
  tcase_add_test(tcase, test_alone_stays);
  tcase_add_test(tcase, test_moves_table);
  tcase_add_test(tcase, test_optimizer_round_trip);
  tcase_add_test(tcase, test_streams_overlap);
  tcase_add_test(tcase, test_moves_of_chunks);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(reload_suite)
