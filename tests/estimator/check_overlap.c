/* The overlap law: its rows, its fit, what an op list costs under it. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>

#include "estimator/overlap.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

static void
add(GArray *rows, uint64_t kernel, double alone_s, double slowdown,
    double overlap_frac, gboolean by_memory)
{
  RaOverlapRowsKernel row = {.alone_s = alone_s,
                             .beside_s = alone_s * (1 + slowdown),
                             .overlap_frac = overlap_frac,
                             .by_memory = by_memory,
                             .kernel = kernel};

  g_array_append_val(rows, row);
}

/* Three kernels bound by memory.  The first runs 1 s slowed by 0.6 and 1 s by
 * nothing, half of it beside: mean (0.6 + 0) / (1 + 0.5) = 0.4.  The second,
 * 1 s, by 0.1.  The third, 1 s, by 9, which is clipped to 5.  Weights 1.5, 1,
 * 1: of 3.5 the median is reached in the order 0.1, 0.4, 5 at 0.4.  One product
 * by 0.03.  A row that did not overlap counts nothing.
 *
 * Left out, the first is predicted from 0.1 and 5, of equal weight: 0.1, so 2 +
 * 1.5 x 0.1 for the 2.6 measured; the product from nothing: 1 for 1.03. */
START_TEST(test_fit)
{
  g_autoptr(GArray) rows =
      g_array_new(FALSE, FALSE, sizeof(RaOverlapRowsKernel));
  g_autoptr(RaOverlapFit) fit = NULL;
  double median, p90;

  add(rows, 0, 1, 0.6, 1, TRUE);
  add(rows, 0, 1, 0, 0.5, TRUE);
  add(rows, 1, 1, 0.1, 1, TRUE);
  add(rows, 2, 1, 9, 1, TRUE);
  add(rows, 3, 1, 0.03, 1, FALSE);
  add(rows, 3, 7, 3, 0, FALSE);
  fit = ra_overlap_fit_new(rows);
  bench_check(fit->memory_frac, 0.4);
  /* The plain mean of the five is not what is asked for. */
  bench_check_differs(fit->memory_frac, (0.6 + 0.1 + 5) / 3.5);
  ck_assert_double_eq_tol(fit->product_frac, 0.03, 1e-12);
  ck_assert_uint_eq(fit->n_rows, 5);
  ck_assert_uint_eq(fit->n_outliers, 1);
  ck_assert_uint_eq(fit->n_kernels, 4);
  bench_check(fit->kernels[0].predicted_s, 2.15);
  bench_check(fit->kernels[0].beside_s, 2.6);
  bench_check(fit->kernels[3].predicted_s, 1);
  /* Off by 0.45 / 2.6, |1.4 / 1.1 - 1|, |1.4 / 10 - 1|; the second and third
   * have the others' median, 0.4.  The product has no others: what it is off
   * (0.03 / 1.03) says nothing of the law. */
  ra_overlap_errors(fit, FALSE, &median, &p90);
  bench_check(median, 0.3 / 1.1);
  ck_assert_double_ge(p90, 0.3 / 1.1);
  ck_assert_double_le(p90, 0.86 + 1e-12);
  ra_overlap_errors(fit, TRUE, &median, &p90);
  ck_assert_double_le(median, 0.6 / 2.6);
}
END_TEST

/* A call costs 50 us (messages up to 64 KiB: 60 less 10 alone); of 1 MiB and
 * more, 170 and 290 us in place are 120 and 240 on the wire for 100 and 200
 * alone: 0.2. */
START_TEST(test_messages)
{
  static const double alone_s[] = {1e-5, 1e-4, 2e-4};
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  RaMeasured each[] = {
      {.op = {.dim = {1 << 10}}, .measured_s = 6e-5},
      {.op = {.dim = {1 << 20}}, .measured_s = 17e-5},
      {.op = {.dim = {2 << 20}}, .measured_s = 29e-5},
  };

  g_array_append_vals(rows, each, 3);
  ck_assert_double_eq_tol(ra_overlap_fit_messages(rows, alone_s), 0.2, 1e-9);
  g_array_set_size(rows, 1);
  ck_assert_double_eq(ra_overlap_fit_messages(rows, alone_s), 0);
}
END_TEST

static void
write_file(const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);

  ck_assert(g_file_set_contents(path, text, -1, NULL));
}

/* Columns by name, further ones ignored; rows of another GPU left alone; a
 * collective without its ranks left out; a field that is no number refused. */
START_TEST(test_rows)
{
  g_autofree char *root = g_dir_make_tmp("reallot-XXXXXX", NULL);
  const char *data[] = {root, NULL};
  g_autofree char *folder = g_build_filename(root, "overlap", NULL);
  g_autoptr(GArray) kernels = NULL, messages = NULL, none = NULL;
  GError *error = NULL;
  const RaOverlapRowsKernel *row;

  ck_assert_int_eq(g_mkdir(folder, 0700), 0);
  write_file(folder, "echo_kernel_slowdown_a100_heldout.csv",
             "id,kernel,alone_ns,overlapped_ns,overlap_ratio,slowdown,"
             "compute_pct,memory_pct\n"
             "1,gemm,1000,1100,0.5,0.1,90,50\n2,norm,500,900,1,0.8,10,60\n"
             "3,gemm,2000,2000,0,0,90,50\n");
  write_file(folder, "aicb_insitu_comm_a100.csv",
             "op,group,group_size,msg_bytes,stage,count,median_us\n"
             "all_gather,dp,4,1048576,x,1,99\nall_to_all,ep,,8,x,1,9\n"
             "iteration,,,,,1,5\n");
  kernels = ra_overlap_rows_kernels(data, "a100", &error);
  messages = ra_overlap_rows_messages(data, "a100", &error);
  none = ra_overlap_rows_kernels(data, "h100", &error);
  ck_assert(kernels && messages && none);
  ck_assert_uint_eq(none->len, 0);
  ck_assert_uint_eq(kernels->len, 3);
  row = &g_array_index(kernels, RaOverlapRowsKernel, 1);
  bench_check(row->alone_s, 500e-9);
  bench_check(row->beside_s, 900e-9);
  ck_assert(row->by_memory && row->kernel == 1);
  ck_assert_uint_eq(g_array_index(kernels, RaOverlapRowsKernel, 2).kernel, 0);
  ck_assert_uint_eq(messages->len, 1);
  bench_check(g_array_index(messages, RaMeasured, 0).measured_s, 99e-6);
  write_file(folder, "echo_kernel_slowdown_a100_heldout.csv",
             "kernel,alone_ns,overlapped_ns,overlap_ratio,compute_pct,"
             "memory_pct\ngemm,soon,1100,0.5,90,50\n");
  ck_assert_ptr_null(ra_overlap_rows_kernels(data, "a100", &error));
  ck_assert_ptr_nonnull(strstr(error->message, ":2: 'alone_ns' is 'soon'"));
  g_error_free(error);
}
END_TEST

/* The ideal device does 1 TFLOP/s and 1 GB/s: an op of fewer than 1,000 FLOP a
 * byte is bound by memory.  A product of 10,000 in each dimension does 2 x
 * 10^12 FLOP in 2 s on 6 x 10^8 bytes, so 3,333 a byte: 0.5 of it.  A norm of
 * 1,000 x 1,000 moves 4 x 10^6 bytes in 4 ms: 2 of that.  An all-gather beside
 * them in the list adds nothing.  Eager launches that take 1 s longer than the
 * device hide 1 s of it. */
START_TEST(test_list)
{
  RaProfile *ideal = profile_text_load(
      "overlap.product-frac=0.5", "overlap.memory-frac=2",
      "overlap.comm-frac=0.25", "host.eager-launch-s=1", NULL);
  g_autoptr(Bench) b = bench_new(ideal);
  RaOp ops[] = {bench_op(RA_OP_GEMM, 10000, 10000, 10000, 1),
                bench_op(RA_OP_NORM, 1000, 1000, 0, 0),
                bench_op(RA_OP_ALL_GATHER, 1 << 20, 8, 8, 1)};
  RaCost cost;
  double device_s;

  ra_estimator_ops(b->estimator, ops, 3, RA_LAUNCH_GRAPH, &cost);
  bench_check(cost.beside_s, 0.5 * 2 + 2 * 4e-3);
  bench_check_differs(cost.beside_s, 2 * 2 + 2 * 4e-3);
  device_s = cost.compute_s + cost.comm_s;
  ops[1].count = 1;
  ra_estimator_ops(b->estimator, ops, 3, RA_LAUNCH_EAGER, &cost);
  bench_check(cost.host_s, 3 - device_s);
  bench_check(cost.beside_s, 1.008 - (3 - device_s));
}
END_TEST

/* Attention of a ring's step hides a message that is shorter; each second of
 * that costs it what the law says of its kind. */
START_TEST(test_behind)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "overlap.product-frac=0.5", "overlap.memory-frac=0.5", NULL));
  RaOp ops[] = {bench_op(RA_OP_GEMM, 10000, 10000, 10000, 1),
                bench_op(RA_OP_SEND, 100000000, 0, 1, 0)};
  RaCost cost;

  /* 2 s, and 1 s at 10^8 B/s. */
  ops[1].flags = RA_OP_BEHIND;
  ra_estimator_ops(b->estimator, ops, 2, RA_LAUNCH_GRAPH, &cost);
  bench_check(cost.compute_s, 2.5);
  bench_check(cost.comm_s, 0);
}
END_TEST

/* A profile without the law: nothing slows anything. */
START_TEST(test_without)
{
  RaProfile *shipped = profile_text_shipped("a100-sxm");
  RaOverlapLaw law;
  GError *error = NULL;

  ck_assert(ra_overlap_law_init(&law, shipped, &shipped->spec, &error));
  ck_assert_double_gt(law.memory_frac, law.product_frac);
  for (guint i = 0; i < shipped->n_laws; i++)
    if (g_str_equal(shipped->laws[i].name, "overlap"))
      shipped->laws[i].name = "overlaq";
  ck_assert(ra_overlap_law_init(&law, shipped, &shipped->spec, &error));
  ck_assert(law.memory_frac == 0 && law.product_frac == 0);
  ra_profile_free(shipped);
}
END_TEST

static Suite *
overlap_suite(void)
{
  Suite *suite = suite_create("overlap");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_fit);
  tcase_add_test(tcase, test_messages);
  tcase_add_test(tcase, test_rows);
  tcase_add_test(tcase, test_list);
  tcase_add_test(tcase, test_behind);
  tcase_add_test(tcase, test_without);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(overlap_suite)
