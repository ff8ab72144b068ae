#include "config.h"

#include <string.h>

#include "sim/record.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

#define CALL(name, keys) "[call " name "]\n" keys "\n"

static PlanText *
make(void)
{
  g_autofree char *workload =
      g_strconcat("[workload]\nformat = 1\nalgorithm = ppo\n"
                  "dataset = prompts\nprompts = 8\n"
                  "prompt-length = fixed(16)\nresponse-length = fixed(48)\n",
                  plan_text_ppo, NULL);
  g_autofree char *cluster = plan_text_cluster(1);

  return plan_text_new(workload, cluster,
                       "[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                       /* clang-format off */
      CALL("gen", "mesh = node0\ndp = 2\ntp = 4")
      CALL("ref", "mesh = node0\ntp = 8")
      CALL("rew", "mesh = node0\ntp = 8")
      CALL("val", "mesh = node0\ntp = 8")
      CALL("atrain", "mesh = node0\ntp = 4\npp = 2")
      CALL("ctrain", "mesh = node0\ntp = 8"),
                       /* clang-format on */
                       2);
}

/* A run with task i taking (i mod 7 + 1) ms: a row a task but the joins, with
 * the simulator's times, the task's own name and GPUs, sorted; the file that
 * it makes reads back.  A forward pass has FLOP and bytes.
 */
START_TEST(test_rows_are_tasks)
{
  PlanText *t = make();
  g_autoptr(RaTaskGraph) graph =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
  g_autofree double *durations = g_new(double, graph->n_tasks);
  g_autoptr(GHashTable) row_of = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(RaTrace) trace = NULL, again = NULL;
  g_autofree char *text = NULL;
  guint n_tasks = 0;
  gsize n_bytes;

  for (RaTaskId i = 0; i < graph->n_tasks; i++)
    durations[i] = graph->kind[i] == RA_TASK_JOIN ? 0 : 1e-3 * (i % 7 + 1);
  sim = ra_sim_new_with_durations(graph, durations);
  ck_assert(ra_sim_run(sim, NULL));
  trace = ra_record(sim, graph);
  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);

    g_hash_table_insert(row_of, (char *)row->name, (RaTraceRow *)row);
    ck_assert(i == 0 || ra_trace_row(trace, i - 1)->begin_s <= row->begin_s);
  }
  for (RaTaskId i = 0; i < graph->n_tasks; i++) {
    g_autofree char *ranks = ra_group_ranks(graph, graph->group[i]);
    char name[256];
    const RaTraceRow *row;

    if (graph->kind[i] == RA_TASK_JOIN)
      continue;
    n_tasks++;
    ra_task_name(graph, i, name, sizeof name);
    row = g_hash_table_lookup(row_of, name);
    ck_assert_msg(row != NULL, "%s", name);
    ck_assert(row->begin_s == ra_sim_result(sim)->begin_s[i]);
    ck_assert(row->end_s == ra_sim_result(sim)->end_s[i]);
    ck_assert_str_eq(row->ranks, ranks);
    if (graph->kind[i] == RA_TASK_FORWARD)
      ck_assert(row->flop > 0 && row->bytes > 0);
  }
  ck_assert_uint_eq(ra_trace_n_rows(trace), n_tasks);
  ck_assert_uint_gt(n_tasks, 20);
  ck_assert_str_eq(ra_trace_head(trace, "gpus-per-node"), "8");
  ck_assert_str_eq(ra_trace_head(trace, "workload"), "in-memory.workload");
  text = ra_trace_format(trace, &n_bytes);
  again = ra_trace_parse("again", text, n_bytes, NULL);
  ck_assert_uint_eq(ra_trace_n_rows(again), n_tasks);
  plan_text_free(t);
}
END_TEST

static Suite *
record_suite(void)
{
  Suite *suite = suite_create("record");
  TCase *tcase = tcase_create("rows");

  tcase_add_test(tcase, test_rows_are_tasks);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(record_suite)
