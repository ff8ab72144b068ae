#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/run/compare_impl.h"
#include "tests/support/check_main.h"

/* Two iterations of calls a and b, one task each, on GPUs 0 and 1, at times
 * scaled by @a and @b; the run has a task more. */
static RaTrace *
trace_of(double a, double b, gboolean further)
{
  RaTrace *t = ra_trace_new();
  double at = 0;

  for (uint32_t k = 0; k < 2; k++) {
    g_autofree char *x = g_strdup_printf("it%u/a/fwd", k);
    g_autofree char *y = g_strdup_printf("it%u/b/bwd", k);

    ra_trace_add(t, &(RaTraceRow){.name = x,
                                  .iteration = k,
                                  .call = "a",
                                  .kind = "fwd",
                                  .ranks = "0-1",
                                  .stream = "compute",
                                  .begin_s = at,
                                  .end_s = at + a});
    at += a;
    ra_trace_add(t, &(RaTraceRow){.name = y,
                                  .iteration = k,
                                  .call = "b",
                                  .kind = "bwd",
                                  .ranks = "0",
                                  .stream = "compute",
                                  .begin_s = at,
                                  .end_s = at + b});
    at += b;
  }
  if (further)
    ra_trace_add(t, &(RaTraceRow){.name = "it1/transfer",
                                  .iteration = 1,
                                  .call = "transfer",
                                  .kind = "transfer",
                                  .ranks = "",
                                  .stream = "transfer",
                                  .begin_s = at,
                                  .end_s = at});
  return t;
}

static void
check_table(const RaTable *table, const char *wanted)
{
  g_autoptr(GString) out = g_string_new(NULL);

  ra_table_write(table, RA_FORMAT_TSV, out);
  ck_assert_str_eq(out->str, wanted);
}

/* Simulated 1 and 2 s, measured 2 and 2 s: a is off by 1/2 - 1, b by 0, the
 * iteration by 3/4 - 1.  Compute GPU seconds: 2 (2 a + b) = 8 and 12. */
START_TEST(test_tables)
{
  g_autoptr(RaTrace) sim = trace_of(1, 2, FALSE);
  g_autoptr(RaTrace) run = trace_of(2, 2, TRUE);
  g_autoptr(RaComparison) c = ra_compare(sim, run, 1, NULL);

  ck_assert_ptr_nonnull(c);
  check_table(c->summary,
              "# summary\nn_tasks\tonly_simulated\tonly_measured\tsimulated_s\t"
              "measured_s\terror_frac\tsimulated_compute_gpu_s\t"
              "measured_compute_gpu_s\n4\t0\t1\t6\t8\t-0.25\t8\t12\n");
  check_table(c->iterations,
              "# iterations\niteration\tsimulated_s\tmeasured_s\terror_frac\n"
              "0\t3\t4\t-0.25\n1\t3\t4\t-0.25\n");
  check_table(c->calls, "# calls\ncall\tn\tsimulated_s\tmeasured_s\terror_frac"
                        "\tmedian_size_frac\na\t1\t1\t2\t-0.5\t0.5\n"
                        "b\t1\t2\t2\t0\t0\n");
  check_table(c->kinds, "# kinds\nkind\tn_tasks\tsimulated_s\tmeasured_s\t"
                        "error_frac\tmedian_size_frac\n"
                        "fwd\t2\t2\t4\t-0.5\t0.5\nbwd\t2\t4\t4\t0\t0\n");
  check_table(c->worst, "# worst\ntask\tsimulated_s\tmeasured_s\terror_frac\n"
                        "it0/a/fwd\t1\t2\t-0.5\n");
  ck_assert_double_eq_tol(c->iteration_error_frac, 0.25, 1e-12);
  /* The upper one of the sizes 0 and 1/2. */
  ck_assert_double_eq_tol(c->call_error_frac, 0.5, 1e-12);
}
END_TEST

static void
add_op(RaTrace *t, const char *name, const char *ranks, const char *op,
       double begin_s, double end_s)
{
  ra_trace_add(t, &(RaTraceRow){.name = name,
                                .call = "a",
                                .kind = "fwd",
                                .ranks = ranks,
                                .stream = "compute",
                                .op = op,
                                .shape = op ? "tokens=1" : NULL,
                                .begin_s = begin_s,
                                .end_s = end_s});
}

/* A pass of a norm of 1 s and a sum of 2 s, from 1 to 5 with a second between
 * them that is no op, an optimizer of 1 s; no row of the pass itself. */
static RaTrace *
simulated_ops(void)
{
  RaTrace *t = ra_trace_new();

  add_op(t, "it0/a/fwd/l0/norm.0", "0-1", "norm", 1, 2);
  add_op(t, "it0/a/fwd/l0/all_reduce.1", "0-1", "all_reduce", 3, 5);
  add_op(t, "it0/a/optimizer", "0-1", "optimizer", 5, 6);
  return t;
}

/* On two ranks the norm takes 2 and 4 s, 3 in the mean.  The sum begins at 4
 * and at 5 and ends at 8: 3 s from the second's arrival.  It has a rope of 1 s
 * besides, in the pass from 1 to 10: outside of ops 9 - 3 - 3 - 1 = 2 s, one
 * more than was simulated. */
static RaTrace *
measured_ops(void)
{
  RaTrace *t = ra_trace_new();

  add_op(t, "it0/a/fwd", "0-1", NULL, 1, 10);
  add_op(t, "it0/a/fwd/l0/norm.0", "0", "norm", 1, 3);
  add_op(t, "it0/a/fwd/l0/norm.0", "1", "norm", 1, 5);
  add_op(t, "it0/a/fwd/l0/all_reduce.1", "0", "all_reduce", 4, 8);
  add_op(t, "it0/a/fwd/l0/all_reduce.1", "1", "all_reduce", 5, 7.5);
  add_op(t, "it0/a/fwd/l0/rope.2", "0-1", "rope", 8, 9);
  add_op(t, "it0/a/optimizer", "0-1", "optimizer", 10, 12);
  return t;
}

/* Pass and optimizer: simulated 4 + 1, measured 9 + 2, so 6 s are lacking:
 * norms 3 - 1, sums 3 - 2, optimizer 2 - 1, the rope 1, and 1 outside. */
START_TEST(test_ops)
{
  g_autoptr(RaTrace) sim = simulated_ops(), run = measured_ops();
  g_autoptr(RaComparison) c = ra_compare(sim, run, 0, NULL);

  ck_assert_ptr_nonnull(c);
  check_table(c->ops, "# ops\nop\tn\tsimulated_s\tmeasured_s\terror_frac\t"
                      "median_size_frac\tonly_simulated\tonly_measured\n"
                      "norm\t1\t1\t3\t-0.666666667\t0.666666667\t0\t0\n"
                      "all_reduce\t1\t2\t3\t-0.333333333\t0.333333333\t0\t0\n"
                      "optimizer\t1\t1\t2\t-0.5\t0.5\t0\t0\n"
                      "rope\t0\t0\t0\t-\t-\t0\t1\n");
  check_table(c->lacks,
              "# lacks\ncall\tsimulated_task_s\tmeasured_task_s\tlacking_s\t"
              "in_ops_s\tin_other_ops_s\toutside_ops_s\n"
              "a\t5\t11\t6\t4\t1\t1\n");
}
END_TEST

/* Where an op's name ends and its task's begins; names that look alike. */
START_TEST(test_op_names)
{
  static const struct {
    const char *name, *op, *task;
  } names[] = {
      {"it0/a/d0/fwd/l17/gemm.4", "gemm", "it0/a/d0/fwd"},
      {"it0/a/d0/fwd/head/gemm.1", "gemm", "it0/a/d0/fwd"},
      {"it0/g/b0/decode/step9/g0/l3/gemm.1", "gemm", "it0/g/b0/decode"},
      {"it0/g/b0/decode/step9/g1/s0/send", "send", "it0/g/b0/decode"},
      {"it0/a/fwd/gemm.12", "gemm", "it0/a/fwd"}, /* of another program */
      {"it0/a/d0/s0/b0/m1/send", "send", "it0/a/d0/s0/b0/m1/send"},
      {"it0/a/s1/b0/d0/optimizer", "optimizer", "it0/a/s1/b0/d0/optimizer"},
      {"it0/transfer/x>y", "realloc", "it0/transfer/x>y"},
      {"gemm.1", "gemm", "gemm.1"},
      {"it0/a/d0/fwd/l17/gemm.4", NULL, "it0/a/d0/fwd/l17/gemm.4"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    RaTraceRow row = {.name = names[i].name, .op = names[i].op};

    ck_assert_msg(ra_op_row_task(&row) == strlen(names[i].task), "%s",
                  names[i].name);
  }
}
END_TEST

/* Both in one picture: a lane each, though they look the same, under their
 * names; times of both in the title. */
START_TEST(test_plot)
{
  g_autoptr(RaTrace) sim = trace_of(1, 2, FALSE), run = trace_of(1, 2, FALSE);
  g_autofree char *text = NULL;

  ck_assert(ra_compare_plot(sim, run, NULL, &text, NULL));
  ck_assert_ptr_nonnull(strstr(text, "6 s simulated, 6 s measured\n"));
  ck_assert_ptr_nonnull(strstr(text, "\nsimulated gpu 0  "));
  ck_assert_ptr_nonnull(strstr(text, "\nmeasured gpu 0  "));
  ck_assert_ptr_nonnull(strstr(text, "\nmeasured gpu 1  "));
  ck_assert_ptr_null(strstr(text, "gpu 2"));
}
END_TEST

/* Traces of other plans, and a trace of two runs. */
START_TEST(test_refused)
{
  g_autoptr(RaTrace) sim = trace_of(1, 1, FALSE);
  g_autoptr(RaTrace) none = ra_trace_new();
  g_autoptr(RaTrace) twice = trace_of(1, 1, TRUE);
  GError *error = NULL;

  ck_assert_ptr_null(ra_compare(sim, none, 1, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  g_clear_error(&error);
  ra_trace_add(twice, ra_trace_row(sim, 0));
  ck_assert_ptr_null(ra_compare(sim, twice, 1, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "it0/a/fwd"));
  g_clear_error(&error);
}
END_TEST

static Suite *
compare_suite(void)
{
  Suite *suite = suite_create("compare");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_tables);
  tcase_add_test(tcase, test_refused);
  tcase_add_test(tcase, test_ops);
  tcase_add_test(tcase, test_op_names);
  tcase_add_test(tcase, test_plot);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(compare_suite)
