/* Validation: scores by hand, folders laid out in other ways, faults, threads.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/text.h"
#include "estimator/fit.h"
#include "study/validate/validate_impl.h"
#include "study/validate/validate_report.h"
#include "study/validate/validate_short.h"
#include "tests/support/check_main.h"

static void
row_free_strings(gpointer data)
{
  RaValidateRow *row = data;

  g_free(row->name);
  g_free(row->group);
  g_free(row->repeat);
}

/* (measured, predicted, group, repeat) of one part. */
static GArray *
sample(void)
{
  static const struct {
    double measured, predicted;
    const char *group, *repeat;
  } rows[] = {
      {10, 11, "a", NULL}, {20, 18, "a", NULL}, {40, 10, "a", NULL},
      {10, 10, NULL, "x"}, {12, 12, NULL, "x"},
  };
  GArray *all = g_array_new(FALSE, FALSE, sizeof(RaValidateRow));

  g_array_set_clear_func(all, row_free_strings);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    RaValidateRow row = {RA_VALIDATE_ROW,
                         .name = g_strdup("row"),
                         .part = g_intern_static_string("h100"),
                         .group = g_strdup(rows[i].group),
                         .repeat = g_strdup(rows[i].repeat),
                         .measured = rows[i].measured,
                         .predicted = rows[i].predicted};

    if (i < 2)
      row.roofline = 5;
    g_array_append_val(all, row);
  }
  return all;
}

/* Errors 0.1, -0.1, -0.75, 0, 0: sizes sorted 0 0 0.1 0.1 0.75, median the
 * third, p90 the fifth; signed -0.75 -0.1 0 0 0.1, median 0.  Pairs of group a:
 * (10, 20) kept, (10, 40) and (20, 40) turned round: 1 of 3.  Repeats 10 and
 * 12: 2/12 and 2/10 apart, median the first of two.  Roofline 5 of 10 and of
 * 20: 0.5 and 0.75. */
START_TEST(test_score)
{
  g_autoptr(GArray) rows = sample();
  const char *part = g_intern_static_string("h100");
  RaValidateScore s = ra_validate_score(rows, part);

  ck_assert_uint_eq(s.n_rows, 5);
  ck_assert_double_eq_tol(s.median_frac, 0.1, 1e-12);
  ck_assert_double_eq_tol(s.p90_frac, 0.75, 1e-12);
  ck_assert_double_eq_tol(s.worst_frac, -0.75, 1e-12);
  ck_assert_uint_eq(s.worst, 2);
  ck_assert_double_eq_tol(s.bias_frac, 0, 1e-12);
  ck_assert_uint_eq(s.n_pairs, 3);
  ck_assert_double_eq_tol(s.pairs_frac, 1. / 3, 1e-12);
  ck_assert_uint_eq(s.n_repeated, 2);
  ck_assert_double_eq_tol(s.repeat_median_frac, 2. / 12, 1e-12);
  ck_assert_double_eq_tol(s.repeat_p90_frac, 0.2, 1e-12);
  ck_assert_double_eq_tol(s.roofline_median_frac, 0.5, 1e-12);
  ck_assert_double_eq_tol(s.roofline_p90_frac, 0.75, 1e-12);
  /* Another part has none of them; the wrong prediction was the third. */
  ck_assert_uint_eq(ra_validate_score(rows, NULL).n_rows, 0);
  g_array_index(rows, RaValidateRow, 2).predicted = 30;
  s = ra_validate_score(rows, part);
  ck_assert_double_eq_tol(s.pairs_frac, 1, 1e-12);
  ck_assert_double_eq_tol(s.p90_frac, 0.25, 1e-12);
}
END_TEST

/* Predicted 11 for 10, and 10 for 12: ratios of 1.1 and 1 / 1.2.  An interval
 * of a tenth either way has the first and not the second, one of a fifth both;
 * rows without one do not count. */
START_TEST(test_intervals)
{
  g_autoptr(GArray) rows = sample();
  const char *part = g_intern_static_string("h100");
  RaValidateScore s = ra_validate_score(rows, part);

  ck_assert_uint_eq(s.n_intervals, 0);
  ck_assert(isnan(s.coverage_frac));
  g_array_index(rows, RaValidateRow, 0).interval_frac = 0.1001;
  g_array_index(rows, RaValidateRow, 4).predicted = 10;
  g_array_index(rows, RaValidateRow, 4).interval_frac = 0.1001;
  s = ra_validate_score(rows, part);
  ck_assert_uint_eq(s.n_intervals, 2);
  ck_assert_double_eq(s.coverage_frac, 0.5);
  g_array_index(rows, RaValidateRow, 4).interval_frac = 0.2001;
  s = ra_validate_score(rows, part);
  ck_assert_double_eq(s.coverage_frac, 1);
  ck_assert_double_eq_tol(s.interval_frac, 0.1001, 1e-12);
}
END_TEST

/* The table itself: every level says what it is, and a bar is scored. */
START_TEST(test_table)
{
  g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);

  for (guint i = 0; i < ra_validate_n_levels(); i++) {
    const RaValidateLevel *level = ra_validate_level_at(i);

    ck_assert_msg(g_hash_table_add(ids, (gpointer)level->id), "%s twice",
                  level->id);
    ck_assert(level->title && level->source && level->unit && level->modes);
    ck_assert_msg(level->convention != NULL, "%s: no convention", level->id);
    ck_assert(level->collect != NULL);
    ck_assert(level->scored == (level->median_bar > 0 || level->p90_bar > 0 ||
                                level->intervals));
  }
}
END_TEST

/* --- folders --- */

static char *
make_folder(void)
{
  char *folder = g_dir_make_tmp("reallot-validate-XXXXXX", NULL);

  ck_assert_ptr_nonnull(folder);
  return folder;
}

static void
put(const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *dir = g_path_get_dirname(path);

  ck_assert_int_eq(g_mkdir_with_parents(dir, 0777), 0);
  ck_assert(g_file_set_contents(path, text, -1, NULL));
}

static RaValidation *
run(const char *folder, const char *pattern, gboolean cross, guint n_threads,
    GError **error)
{
  RaValidateOptions options = {.data = folder,
                               .cross = cross,
                               .pattern = pattern,
                               .n_threads = n_threads};

  return ra_validate(&options, error);
}

/* Seconds of a GEMM by the shipped profile of the H100. */
static double
product_s(uint64_t m, uint64_t n, uint64_t k)
{
  g_autoptr(RaProfile) profile = ra_validate_profile("h100", NULL);
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  RaMeasured row = {
      .op = {.kind = RA_OP_GEMM, .count = 1, .dim = {m, n, k, 1}}};
  double s;

  ck_assert_ptr_nonnull(profile);
  row.op.dtype = RA_DTYPE_BF16;
  g_array_append_val(rows, row);
  ra_fit_predict(profile, rows, &s);
  return s;
}

/* A folder as a sealed one is: other file names, other columns, more of them,
 * CRLF, a shape that is not published, a GPU that nobody has a profile of, and
 * no other source. */
START_TEST(test_sealed)
{
  g_autofree char *folder = make_folder();
  g_autoptr(RaValidation) v = NULL;
  g_autoptr(GError) error = NULL;
  const RaValidateResult *first;
  const RaValidateRow *row;

  put(folder, "kernels_gemm/gemm_h100_bf16_heldout.csv",
      "power_w,k,latency_us,m,n\r\n700,4096,100,512,1024\r\n"
      "700,4096,,512,2048\r\n,,50,8,\r\n");
  put(folder, "kernels_gemm/gemm_h100_bf16_more.csv",
      "m,n,k,latency_us\n64,128,256,10\n");
  put(folder, "kernels_gemm/gemm_x900_bf16_heldout.csv",
      "m,n,k,latency_us\n64,128,256,10\n128,128,256,12\n");
  v = run(folder, NULL, FALSE, 0, &error);
  ck_assert_msg(v != NULL, "%s", error ? error->message : "no error");
  ck_assert_uint_eq(v->results->len, 1);
  first = &g_array_index(v->results, RaValidateResult, 0);
  ck_assert_str_eq(first->level->id, "gemm-bf16");
  ck_assert_uint_eq(first->rows->len, 2);
  row = &g_array_index(first->rows, RaValidateRow, 0);
  ck_assert_uint_eq(row->line, 2);
  ck_assert(g_str_has_suffix(row->file, "gemm_h100_bf16_heldout.csv"));
  ck_assert_double_eq_tol(row->measured, 100e-6, 1e-12);
  ck_assert_double_eq_tol(row->predicted, product_s(512, 1024, 4096), 1e-15);
  /* m and k changed round is another product: the columns are by name. */
  ck_assert(fabs(row->predicted - product_s(4096, 1024, 512)) > 1e-7);
  ck_assert_uint_eq(first->notes->len, 1);
  ck_assert_str_eq(first->notes->pdata[0],
                   "x900: 2 rows are not scored: no profile of this GPU");
  ra_folder_remove(folder);
}
END_TEST

/* Repeats stand together; older NCCL, other dtypes and single GPUs do not
 * count. */
START_TEST(test_collectives)
{
  g_autofree char *folder = make_folder();
  g_autoptr(RaValidation) v = NULL;
  g_autoptr(GError) error = NULL;
  const RaValidateScore *score;

  put(folder, "comm_nccl/aic_nccl_intranode_heldout.csv",
      "run,gpu,nccl_dir,collective,dtype,num_gpus,bytes,time_us\n"
      "1,h100,2.9,all_reduce,half,8,1048576,90\n"
      "1,h100,2.27.3,all_reduce,half,8,1048576,40\n"
      "2,h100,2.27.3,all_reduce,half,8,1048576,50\n"
      "1,h100,2.27.3,all_reduce,int8,8,1048576,40\n"
      "1,h100,2.23,all_reduce,half,8,1048576,41\n"
      "1,h100,2.27.3,all_reduce,half,1,1048576,3\n");
  v = run(folder, "collectives", FALSE, 1, &error);
  ck_assert_msg(v != NULL, "%s", error ? error->message : "no error");
  score = &g_array_index(v->scores, RaValidateScore, 0);
  ck_assert_uint_eq(score->n_rows, 2);
  ck_assert_uint_eq(score->n_repeated, 2);
  /* 40 of 50 and 50 of 40. */
  ck_assert_double_eq_tol(score->repeat_median_frac, 0.2, 1e-12);
  ck_assert_double_eq_tol(score->repeat_p90_frac, 0.25, 1e-12);
  ra_folder_remove(folder);
}
END_TEST

static void
expect_error(const char *folder, const char *pattern, const char *what)
{
  g_autoptr(GError) error = NULL;
  RaValidation *v = run(folder, pattern, FALSE, 0, &error);

  ck_assert_ptr_null(v);
  ck_assert(error && error->domain == RA_ERROR);
  ck_assert_msg(strstr(error->message, what) != NULL, "%s", error->message);
}

START_TEST(test_faults)
{
  g_autofree char *folder = make_folder();

  expect_error("/nonexistent", NULL, "/nonexistent: not a folder");
  expect_error(folder, NULL, "no measurements that can be scored");
  expect_error(folder, "nonsense", "no benchmark set 'nonsense'");
  put(folder, "kernels_gemm/gemm_x900_bf16.csv",
      "m,n,k,latency_us\n1,128,128,3\n");
  expect_error(folder, NULL, "x900: 1 rows are not scored");
  put(folder, "kernels_gemm/gemm_h100_bf16.csv",
      "m,n,k,latency_us\n1,128,x,3\n");
  expect_error(folder, NULL, "gemm_h100_bf16.csv:2: 'k' is 'x'");
  put(folder, "kernels_gemm/gemm_h100_bf16.csv", "m,n,latency_us\n1,128,3\n");
  expect_error(folder, NULL, "gemm_h100_bf16.csv:1: there is no column 'k'");
  ra_folder_remove(folder);
}
END_TEST

static char *
as_text(const RaValidation *v)
{
  g_autoptr(RaTable) scores = ra_validation_scores(v, FALSE);
  g_autoptr(RaTable) worst = ra_validation_worst(v, 3);
  GString *out = g_string_new(NULL);

  ra_table_write(scores, RA_FORMAT_TSV, out);
  ra_table_write(worst, RA_FORMAT_TSV, out);
  ra_validation_bars(v, out);
  return g_string_free(out, FALSE);
}

/* A table of products whose times a formula makes: 3 us, and 1 us a 10^9 FLOP
 * above.  A cross validation predicts every row twice, by n and by k, and says
 * the same on one thread and on four. */
START_TEST(test_cross_threads)
{
  g_autofree char *folder = make_folder(), *one = NULL, *four = NULL;
  g_autoptr(GString) text = g_string_new("m,n,k,latency_us\n");
  g_autoptr(RaValidation) a = NULL, b = NULL;
  g_autoptr(GError) error = NULL;

  for (guint m = 64; m <= 4096; m *= 4)
    for (guint n = 256; n <= 4096; n *= 2)
      for (guint k = 256; k <= 4096; k *= 2)
        g_string_append_printf(text, "%u,%u,%u,%.4f\n", m, n, k,
                               3 + 2e-9 * m * n * k);
  put(folder, "kernels_gemm/gemm_h100_bf16.csv", text->str);
  a = run(folder, "gemm-*", TRUE, 1, &error);
  ck_assert_msg(a != NULL, "%s", error ? error->message : "no error");
  b = run(folder, "gemm-*", TRUE, 4, NULL);
  ck_assert_ptr_nonnull(b);
  ck_assert_uint_eq(g_array_index(a->scores, RaValidateScore, 0).n_rows,
                    2 * 4 * 5 * 5);
  one = as_text(a);
  four = as_text(b);
  ck_assert_str_eq(one, four);
  ck_assert(strstr(one, "bar\tgemm-bf16-h100-median-frac\t") != NULL);
  /* Rows at random have no bar. */
  ck_assert(strstr(one, "gemm-random\th100") != NULL);
  ck_assert(strstr(one, "bar\tgemm-random") == NULL);
  ra_folder_remove(folder);
}
END_TEST

/* Twelve rows of a file, of which those of 8 GPUs are half as long again as
 * predicted: the column that says so is found, its neighbours are not, and a
 * column that is a result is none.  With errors that no column tells apart it
 * says that. */
START_TEST(test_why)
{
  g_autofree char *folder = g_dir_make_tmp("validate-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "x.csv", NULL);
  g_autoptr(GString) text = g_string_new("kind,gpus,bytes,time_us\r\n");
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaValidateRow));
  g_autofree char *why = NULL, *none = NULL;
  RaValidateScore score = {.part = g_intern_static_string("h100"),
                           .median_frac = 0.01,
                           .p90_frac = 0.3,
                           .p90_bar = 0.1};

  for (guint i = 0; i < 12; i++) {
    gboolean off = i % 3 == 2;
    RaValidateRow row = {RA_VALIDATE_ROW,    .name = (char *)"op bytes=1",
                         .part = score.part, .file = g_intern_string(path),
                         .line = i + 2,      .measured = off ? 1.5 : 1.01,
                         .predicted = 1};

    g_string_append_printf(text, "ring,%u,%u,%d\r\n", 2u << (i % 3), 1u << i,
                           off ? 9 : 1);
    g_array_append_val(rows, row);
  }
  ck_assert(g_file_set_contents(path, text->str, -1, NULL));
  why = ra_validate_why(rows, &score);
  ck_assert_str_eq(why, "all 4 rows beyond 10 % have 8 GPUs: the 4 such are "
                        "predicted 33.3 % too fast at the median; the other 8 "
                        "have 1.0 / 1.0 %");
  for (guint i = 0; i < 12; i++)
    g_array_index(rows, RaValidateRow, i).line = 2;
  none = ra_validate_why(rows, &score);
  /* 4 of 12 rows took 1.5, the others 1.01 of what is predicted; without three
   * of the four the 90th percentile of nine is the largest, 1/3. */
  ck_assert_str_eq(none, "4 of 12 rows are beyond 10 %, 4 predicted too "
                         "fast, 0 too slow, and no column separates them "
                         "from the others; without the 3 furthest off: 1.0 / "
                         "33.3 %");
  g_unlink(path);
  g_rmdir(folder);
}
END_TEST

static Suite *
validate_suite(void)
{
  Suite *suite = suite_create("validate");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_score);
  tcase_add_test(tcase, test_intervals);
  tcase_add_test(tcase, test_why);
  tcase_add_test(tcase, test_table);
  tcase_add_test(tcase, test_sealed);
  tcase_add_test(tcase, test_collectives);
  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_cross_threads);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(validate_suite)
