/* Published training runs: their tables, as plans, and constants from them. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "study/validate/train_fit.h"
#include "study/validate/validate.h"
#include "study/validate/validate_impl.h"
#include "tests/support/check_main.h"

static char *folder;

static void
write_table(const char *below, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename(folder, below, NULL);
  g_autofree char *file = g_build_filename(path, name, NULL);

  g_mkdir_with_parents(path, 0700);
  ck_assert(g_file_set_contents(file, text, -1, NULL));
}

static const char node_text[] =
    "gpus,global_batch,micro_batch,hidden,heads,layers,seq,tp,dp,pp,"
    "iter_time_ms\n"
    "1,4,2,1024,16,12,1024,1,1,1,100\n"
    "2,8,2,1024,16,12,1024,1,2,1,110\n"
    "2,4,1,1024,16,12,1024,2,1,1,200\n"
    "2,8,8,2048,16,24,1024,1,1,2,700\n"
    "4,16,4,2048,16,24,1024,2,1,2,400\n"
    "8,16,8,2048,16,24,1024,8,1,1,330\n";

static const char bench_text[] =
    "id,source,gpu,gpus,task,params_b,layers,hidden,heads,kv_heads,ffn,vocab,"
    "gated_mlp,seq,gbs_seq,mbs,tp,pp,vpp,cp,ep,dp,sharding,recompute,precision,"
    "step_time_s\n"
    "a-1,internevo,A100-80GB,8,pretrain,7.3,32,4096,32,32,11008,103168,1,2048,"
    "64,2,1,1,n/a,,,8,ZeRO-1 within node(8),none,bf16,4\n"
    "a-2,nemo,H100-80GB,8,lora,7.3,32,4096,32,32,11008,32000,1,2048,"
    "64,2,1,1,,,,8,,none,bf16,4\n"
    "a-3,nemo,H100-80GB,8,pretrain,7.3,32,4096,32,32,11008,32000,1,2048,"
    "64,2,1,1,,,,8,,?,fp8,4\n"
    "a-4,nemo,H100-80GB,8,pretrain,7.3,,,,,,,,2048,64,2,1,1,,,,8,,,fp8,4\n"
    "a-5,llm-foundry,X900,8,pretrain,7,32,4096,32,32,16384,50368,0,2048,"
    "64,2,1,1,,,,8,FULL_SHARD,full,bf16,4\n";

static const char forward_text[] = "layers,batch,seq,forward_ms\n"
                                   "2,1,2048,15\n4,1,2048,24\n40,1,64,9\n";

static void
make_folder(void)
{
  folder = g_dir_make_tmp("reallot-train-XXXXXX", NULL);
  ck_assert_ptr_nonnull(folder);
  write_table("train_vtrain", "single_node_a100_heldout.csv", node_text);
  write_table("train_tables", "train_bench_heldout.csv", bench_text);
  write_table("misc", "galvatron_llama2_7b_forward.csv", forward_text);
}

static void
drop_folder(void)
{
  static const char *const files[] = {
      "train_vtrain/single_node_a100_heldout.csv", "train_vtrain",
      "train_tables/train_bench_heldout.csv",      "train_tables",
      "misc/galvatron_llama2_7b_forward.csv",      "misc"};

  for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_build_filename(folder, files[i], NULL);

    g_remove(path);
  }
  g_rmdir(folder);
  g_free(folder);
}

static GPtrArray *
rows_of(RaTrainSet set)
{
  GError *error = NULL;
  GPtrArray *rows = ra_train_rows(folder, set, &error);

  ck_assert_msg(rows != NULL, "%s", error ? error->message : "");
  return rows;
}

/* Columns by name, held-out files too; what is no number is not given. */
START_TEST(test_rows)
{
  g_autoptr(GPtrArray) node = rows_of(RA_TRAIN_VTRAIN_NODE);
  g_autoptr(GPtrArray) tables = rows_of(RA_TRAIN_TABLES);
  g_autoptr(GPtrArray) none = rows_of(RA_TRAIN_VTRAIN_NODES);
  const RaTrainRow *row = g_ptr_array_index(node, 4);

  ck_assert_uint_eq(node->len, 6);
  ck_assert_uint_eq(none->len, 0);
  ck_assert_str_eq(row->source, "vtrain");
  ck_assert_uint_eq(row->line, 6);
  ck_assert_uint_eq(row->hidden, 2048);
  ck_assert_uint_eq(row->pp, 2);
  ck_assert(fabs(row->measured_s - 0.4) < 1e-12);
  ck_assert_uint_eq(tables->len, 5);
  row = g_ptr_array_index(tables, 0);
  ck_assert_uint_eq(row->vpp, 0); /* n/a */
  ck_assert_uint_eq(row->vocab, 103168);
  ck_assert_str_eq(row->sharding, "ZeRO-1 within node(8)");
  ck_assert(ra_train_row_is_full(row));
  /* Does not say what it recomputes, or its shape. */
  ck_assert(!ra_train_row_is_full(g_ptr_array_index(tables, 2)));
  ck_assert(!ra_train_row_is_full(g_ptr_array_index(tables, 3)));
}
END_TEST

/* The FLOP of the first row by hand: 4 x 1024 tokens, 12 layers, h = 1024.  A
 * layer's products are 24 h^2 a token forward, scores and values another 4 s h;
 * with full recomputation and the backward four times that.  The head's 2 h V
 * thrice, V = 50,257 unpadded at tp 1.  One A100 of 312 TFLOP/s. */
START_TEST(test_flop)
{
  g_autoptr(GPtrArray) rows = rows_of(RA_TRAIN_VTRAIN_NODE);
  g_autoptr(RaTrainRun) run = ra_train_run_new(rows->pdata[0], NULL);
  g_autoptr(RaProfile) a100 = ra_validate_profile("a100", NULL);
  double h = 1024, tokens = 4096;
  double flop =
      tokens * (12 * 4 * (24 * h * h + 4 * 1024 * h) + 3 * 2 * h * 50257);

  ck_assert_ptr_nonnull(run);
  ck_assert_double_eq_tol(ra_train_run_roofline_s(run, a100) * 312e12 / flop, 1,
                          1e-9);
  /* The fault: padded as at tp 2 it would be another vocabulary. */
  ck_assert_double_ne(flop, flop + tokens * 3 * 2 * h * (50304 - 50257));
  ck_assert_double_gt(ra_train_run_s(run, a100, NULL, NULL, NULL),
                      ra_train_run_roofline_s(run, a100));
}
END_TEST

/* Twice the micro-batches on the same GPU take less than twice as long, by the
 * optimizer alone: T(4) - T(2) = T(6) - T(4). */
START_TEST(test_micro_batches)
{
  g_autoptr(GPtrArray) rows = rows_of(RA_TRAIN_VTRAIN_NODE);
  g_autoptr(RaProfile) a100 = ra_validate_profile("a100", NULL);
  double s[3];

  for (guint i = 0; i < 3; i++) {
    RaTrainRow row = *(const RaTrainRow *)rows->pdata[0];
    g_autoptr(RaTrainRun) run = NULL;

    row.batch = 4 * (i + 1);
    run = ra_train_run_new(&row, NULL);
    s[i] = ra_train_run_s(run, a100, NULL, NULL, NULL);
  }
  ck_assert_double_gt(s[1], s[0]);
  ck_assert_double_eq_tol((s[2] - s[1]) / (s[1] - s[0]), 1, 1e-9);
}
END_TEST

START_TEST(test_bad_rows)
{
  g_autoptr(GPtrArray) rows = rows_of(RA_TRAIN_VTRAIN_NODE);
  RaTrainRow row = *(const RaTrainRow *)rows->pdata[1];
  GError *error = NULL;

  row.batch = 6; /* of 2 replicas with 2 sequences a micro-batch */
  ck_assert_ptr_null(ra_train_run_new(&row, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "expected a multiple of"));
  g_clear_error(&error);
  row.batch = 8;
  row.layers = 0;
  ck_assert_ptr_null(ra_train_run_new(&row, &error));
  g_clear_error(&error);
}
END_TEST

/* fit(simulate(constants)) gives the constants back, from three of six runs,
 * and a run that is left out is no point. */
START_TEST(test_fit_gives_back)
{
  g_autoptr(GPtrArray) rows = rows_of(RA_TRAIN_VTRAIN_NODE);
  g_autoptr(RaProfile) a100 = ra_validate_profile("a100", NULL);
  RaSystemConstants truth = RA_SYSTEM_CONSTANTS_NONE, found;
  RaTrainCase cases[6];
  gboolean left_out[6] = {FALSE};
  guint points[RA_TRAIN_POINTS], n;
  g_autoptr(RaTrainFit) fit = NULL;

  truth.train_launch_s = 80e-6;
  truth.compute_factor = 1.3;
  truth.comm_factor = 1.6;
  for (guint i = 0; i < 6; i++) {
    RaTrainRow *row = rows->pdata[i];

    cases[i] = (RaTrainCase){row, ra_train_run_new(row, NULL), TRUE};
    row->measured_s = ra_train_run_s(cases[i].run, a100, &truth, NULL, NULL);
  }
  fit = ra_train_fit_new(cases, 6, a100, NULL);
  n = ra_train_fit(fit, NULL, &found, points);
  ck_assert_uint_eq(n, 3);
  ck_assert_double_eq_tol(found.train_launch_s / 80e-6, 1, 0.03);
  ck_assert_double_eq_tol(found.compute_factor, 1.3, 0.03);
  for (guint i = 0; i < 6; i++)
    ck_assert_double_eq_tol(
        ra_train_fit_s(fit, i, &found) / cases[i].row->measured_s, 1, 0.05);
  left_out[points[1]] = TRUE;
  n = points[1];
  ra_train_fit(fit, left_out, &found, points);
  for (guint p = 0; p < RA_TRAIN_POINTS; p++)
    ck_assert_uint_ne(points[p], n);
  for (guint i = 0; i < 6; i++)
    left_out[i] = TRUE;
  ck_assert_uint_eq(ra_train_fit(fit, left_out, &found, NULL), 0);
  for (guint i = 0; i < 6; i++)
    ra_train_run_free(cases[i].run);
}
END_TEST

static guint
count_rows(gboolean cross, const char *level, guint *out_notes)
{
  RaValidateOptions options = {
      .data = folder, .cross = cross, .pattern = level, .n_threads = 1};
  GError *error = NULL;
  g_autoptr(RaValidation) v = ra_validate(&options, &error);
  guint n = 0;

  ck_assert_msg(v != NULL, "%s", error ? error->message : "");
  *out_notes = 0;
  for (guint i = 0; i < v->results->len; i++) {
    const RaValidateResult *r = &g_array_index(v->results, RaValidateResult, i);

    n += r->rows->len;
    *out_notes += r->notes->len;
  }
  return n;
}

/* One node: six rows, all predicted, in both modes.  Tables: of five rows one
 * says all; the GPU of another is unknown, one has no shape, one is LoRA. */
START_TEST(test_levels)
{
  guint notes;

  ck_assert_uint_eq(count_rows(FALSE, "train-node", &notes), 6);
  ck_assert_uint_eq(notes, 1);
  ck_assert_uint_eq(count_rows(TRUE, "train-node", &notes), 6);
  ck_assert_uint_eq(count_rows(FALSE, "train-tables", &notes), 1);
  ck_assert_uint_eq(notes, 4);
  ck_assert_uint_eq(count_rows(FALSE, "train-tables-open", &notes), 1);
  /* The model has 32 layers, not 40. */
  ck_assert_uint_eq(count_rows(FALSE, "forward-layers", &notes), 2);
}
END_TEST

static Suite *
train_suite(void)
{
  Suite *suite = suite_create("train");
  TCase *tcase = tcase_create("core");

  tcase_add_checked_fixture(tcase, make_folder, drop_folder);
  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_rows);
  tcase_add_test(tcase, test_flop);
  tcase_add_test(tcase, test_micro_batches);
  tcase_add_test(tcase, test_bad_rows);
  tcase_add_test(tcase, test_fit_gives_back);
  tcase_add_test(tcase, test_levels);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(train_suite)
