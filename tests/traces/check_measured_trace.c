/* The op rows of a trace as measured ops. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "traces/measured_trace.h"

#define GEMM "m=16,n=32,k=64,batch=1"
#define NORM "tokens=16,width=32"
#define REDUCE "bytes=4096,ranks=2,ranks_per_node=2,groups_per_node=1"

/* A row of a trace; op NULL: a task. */
typedef struct {
  const char *name, *ranks, *op, *shape;
  double begin_s, end_s;
} Row;

static RaTrace *
trace_of(const Row *rows, guint n)
{
  RaTrace *trace = ra_trace_new();

  for (guint i = 0; i < n; i++)
    ra_trace_add(trace, &(RaTraceRow){.name = rows[i].name,
                                      .call = "c",
                                      .kind = "fwd",
                                      .ranks = rows[i].ranks,
                                      .stream = "compute",
                                      .op = rows[i].op,
                                      .shape = rows[i].shape,
                                      .begin_s = rows[i].begin_s,
                                      .end_s = rows[i].end_s});
  ra_trace_sort(trace);
  return trace;
}

static GArray *
measure(const Row *rows, guint n, RaMeasuredTally *tally)
{
  g_autoptr(RaTrace) trace = trace_of(rows, n);
  GArray *out = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  ck_assert(ra_measured_trace(trace, "t", out, tally, NULL));
  return out;
}

/* The row of @kind. */
static const RaMeasured *
row_of(const GArray *rows, RaOpKind kind)
{
  for (guint i = 0; i < rows->len; i++)
    if (g_array_index(rows, RaMeasured, i).op.kind == kind)
      return &g_array_index(rows, RaMeasured, i);
  ck_abort_msg("no row of %s", ra_op_name(kind));
}

/* Two ops of one task: products of 1 and 4 s, a norm of 1 s.  The product's
 * median is in the middle of ln 1 and ln 4, 2 s; ln(sample / 2) is -ln 2 and
 * ln 2, so mean 0 and deviation ln 2.  The task's 6 s are nobody's cost. */
START_TEST(test_ops_of_a_task)
{
  const Row rows[] = {{"it0/t", "0", NULL, NULL, 0, 6},
                      {"it0/t/l0/gemm.0", "0", "gemm", GEMM, 0, 1},
                      {"it0/t/l0/norm.1", "0", "norm", NORM, 1, 2},
                      {"it0/t/l1/gemm.0", "0", "gemm", GEMM, 2, 6}};
  RaMeasuredTally tally;
  g_autoptr(GArray) out = measure(rows, 4, &tally);
  const RaMeasured *gemm = row_of(out, RA_OP_GEMM);

  ck_assert_uint_eq(out->len, 2);
  ck_assert_uint_eq(tally.n_ops, 3);
  ck_assert_uint_eq(tally.n_samples, 3);
  ck_assert_uint_eq(tally.n_beside, 0);
  ck_assert_double_eq_tol(gemm->measured_s, 2, 1e-9);
  ck_assert_uint_eq(gemm->samples.n, 2);
  ck_assert_double_eq_tol(gemm->samples.mean, 0, 1e-9);
  ck_assert_double_eq_tol(gemm->samples.deviation, log(2), 1e-9);
  ck_assert_uint_eq(gemm->op.dim[2], 64);
  ck_assert_uint_eq(gemm->line[0], 32);
  ck_assert_uint_eq(gemm->line[1], 64);
  ck_assert_double_eq_tol(row_of(out, RA_OP_NORM)->measured_s, 1, 1e-9);
}
END_TEST

/* Rank 0 comes to a reduction at 1 s, rank 1 at 5 s, and both end at 6 s: it
 * took 1 s, and rank 0 waited 4.  Were rank 0's row a sample of its own it
 * would have taken 5 s: the fault that this must catch. */
START_TEST(test_waiting)
{
  const Row rows[] = {
      {"it0/t/l0/norm.0", "0", "norm", NORM, 0, 1},
      {"it0/t/l0/norm.0", "1", "norm", NORM, 0, 5},
      {"it0/t/l0/all_reduce.1", "0", "all_reduce", REDUCE, 1, 6},
      {"it0/t/l0/all_reduce.1", "1", "all_reduce", REDUCE, 5, 6}};
  RaMeasuredTally tally;
  g_autoptr(GArray) out = measure(rows, 4, &tally);
  g_autoptr(GArray) alone = measure(rows, 3, &tally);

  ck_assert_double_eq_tol(row_of(out, RA_OP_ALL_REDUCE)->measured_s, 1, 1e-9);
  ck_assert_uint_eq(row_of(out, RA_OP_ALL_REDUCE)->samples.n, 1);
  ck_assert_double_eq_tol(row_of(alone, RA_OP_ALL_REDUCE)->measured_s, 5, 1e-9);
  /* A norm is not waited for: two samples. */
  ck_assert_uint_eq(row_of(out, RA_OP_NORM)->samples.n, 2);
}
END_TEST

/* Rows that share GPU 1's time with a gradient's reduction are left out, and so
 * is the reduction; the same GEMM on GPU 3 is not, nor one that ends where the
 * reduction begins, give or take a nanosecond. */
START_TEST(test_beside)
{
  const Row rows[] = {{"it0/t/l0/gemm.0", "1", "gemm", GEMM, 1, 2},
                      {"it0/t/l0/gemm.1", "3", "gemm", GEMM, 2, 4},
                      {"it0/t/l0/gemm.2", "1", "gemm", GEMM, 2, 8},
                      {"it0/grad", "0-1", "all_reduce", REDUCE, 2 - 1e-9, 3},
                      {"it0/t/l0/gemm.3", "1", "gemm", GEMM, 8, 8}};
  RaMeasuredTally tally;
  g_autoptr(GArray) out = measure(rows, 5, &tally);

  ck_assert_uint_eq(out->len, 1);
  ck_assert_uint_eq(tally.n_ops, 5);
  ck_assert_uint_eq(tally.n_beside, 2);
  ck_assert_uint_eq(tally.n_short, 1);
  ck_assert_uint_eq(row_of(out, RA_OP_GEMM)->samples.n, 2);
  ck_assert_double_eq_tol(row_of(out, RA_OP_GEMM)->measured_s, sqrt(2), 1e-9);
}
END_TEST

/* The last of nine samples of 1 s and one of 10 s is an outlier: named, not in
 * the mean. One of 2 s is within a factor of e and stays. */
START_TEST(test_outliers)
{
  Row rows[10];
  RaMeasuredTally tally;
  g_autoptr(GArray) out = NULL, kept = NULL;

  for (guint i = 0; i < 10; i++)
    rows[i] = (Row){"it0/t/l0/gemm.0", "0", "gemm", GEMM, 20. * i, 20. * i + 1};
  rows[4].end_s += 9;
  out = measure(rows, 10, &tally);
  ck_assert_uint_eq(tally.n_outliers, 1);
  ck_assert_double_eq_tol(tally.worst_ratio, 10, 1e-6);
  ck_assert_uint_eq(tally.worst.kind, RA_OP_GEMM);
  ck_assert_uint_eq(row_of(out, RA_OP_GEMM)->samples.n, 9);
  ck_assert_double_eq_tol(row_of(out, RA_OP_GEMM)->samples.mean, 0, 1e-9);
  rows[4].end_s -= 8;
  kept = measure(rows, 10, &tally);
  ck_assert_uint_eq(tally.n_outliers, 0);
  ck_assert_double_eq_tol(row_of(kept, RA_OP_GEMM)->samples.mean, log(2) / 10,
                          1e-9);
}
END_TEST

/* A bad op is told of by file and line: the head has 1 line, the names are line
 * 2. The node is that of the head, one of 8 NICs of 50 GB/s without. */
START_TEST(test_file)
{
#define COLUMNS                                                                \
  "name\titeration\tcall\tkind\tranks\tstream\top\tshape\tbegin_s\tend_"       \
  "s\tflop"                                                                    \
  "\tbytes\n"
  static const char bad[] =
      "# reallot trace 1\n" COLUMNS "a\t0\tc\tfwd\t0\tcompute\tgemm\t" GEMM
      "\t0\t1\t0\t0\n"
      "b\t0\tc\tfwd\t0\tcompute\tgemm\tm=1\t1\t2\t0\t0\n";
  static const char good[] =
      "# reallot trace 1\n# gpus-per-node: 4\n# nics-per-node: 2\n"
      "# nic-bytes-per-s: 1e9\n" COLUMNS "a\t0\tc\tfwd\t0\tcompute\tgemm\t" GEMM
      "\t0\t1\t0\t0\n";
  g_autoptr(RaTrace) trace = ra_trace_parse("f", bad, strlen(bad), NULL);
  g_autoptr(RaTrace) other = ra_trace_parse("g", good, strlen(good), NULL);
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GError) error = NULL;
  RaMeasuredTally tally;

  ck_assert_ptr_nonnull(trace);
  ck_assert_ptr_nonnull(other);
  ck_assert(!ra_measured_trace(trace, "f", rows, &tally, &error));
  ck_assert_msg(g_str_has_prefix(error->message, "f:4: the shape of a gemm"),
                "%s", error->message);
  ck_assert_uint_eq(rows->len, 0);
  ck_assert(ra_measured_trace(other, "g", rows, &tally, NULL));
  ck_assert_uint_eq(rows->len, 1);
  ck_assert_uint_eq(row_of(rows, RA_OP_GEMM)->gpus_per_node, 4);
  ck_assert_uint_eq(row_of(rows, RA_OP_GEMM)->nics_per_node, 2);
  ck_assert_double_eq(row_of(rows, RA_OP_GEMM)->nic_bytes_per_s, 2e9);
  ck_assert_uint_eq(row_of(rows, RA_OP_GEMM)->file_line, 6);
}
END_TEST

static Suite *
measured_trace_suite(void)
{
  Suite *suite = suite_create("measured_trace");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_ops_of_a_task);
  tcase_add_test(tcase, test_waiting);
  tcase_add_test(tcase, test_beside);
  tcase_add_test(tcase, test_outliers);
  tcase_add_test(tcase, test_file);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(measured_trace_suite)
