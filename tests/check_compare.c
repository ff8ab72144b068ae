#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/compare.h"
#include "tests/check_main.h"

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
  /* Of the sizes 0 and 1/2 the upper one. */
  ck_assert_double_eq_tol(c->call_error_frac, 0.5, 1e-12);
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
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(compare_suite)
