/* A fold does not see the rows that it leaves out: of each level, the rows of
 * one line (every repeat of them) take a twentieth longer; predictions of that
 * line, left out, must stay the same, others' must not. (Which of two or three
 * tables a law has is chosen by the errors of all folds: so little does not
 * change it.) */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/folder.h"
#include "estimator/fit.h"
#include "study/validate/validate.h"
#include "tests/support/check_main.h"

#define SLOWER 1.05
#define ROUNDING 1e-12 /* predicted = measured (1 + error) */

/* Rows of a table, times last; @slow: rows of the line that is left out. */
typedef void (*Write)(GString *out, gboolean slow);

static void
add(GString *out, gboolean slow, double us)
{
  g_string_append_printf(out, "%.4f\n", slow ? SLOWER * us : us);
}

/* 3 us, and 1 us for 5 x 10^8 products; @slow_n may be slow, with @slow_k or if
 * that is 0 with every k. */
static void
multiply(GString *out, guint slow_n, guint slow_k)
{
  g_string_append(out, "m,n,k,latency_us\n");
  for (guint m = 64; m <= 4096; m *= 4)
    for (guint n = 256; n <= 4096; n *= 2)
      for (guint k = 256; k <= 4096; k *= 4) {
        g_string_append_printf(out, "%u,%u,%u,", m, n, k);
        add(out, n == slow_n && (slow_k == 0 || k == slow_k),
            3 + 2e-9 * m * n * k);
      }
}

static void
products(GString *out, gboolean slow)
{
  multiply(out, slow ? 1024 : 0, 0);
}

static void
pairs(GString *out, gboolean slow)
{
  multiply(out, slow ? 1024 : 0, 1024);
}

/* 6 us, and 1 us for 10^9 operations; 16 query heads may be slow. */
static void
prefills(GString *out, gboolean slow)
{
  g_string_append(out,
                  "batch,seq_q_eq_kv,q_heads,kv_heads,head_dim,latency_us\n");
  for (guint batch = 1; batch <= 16; batch *= 4)
    for (guint s = 128; s <= 8192; s *= 4)
      for (guint heads = 8; heads <= 64; heads *= 2) {
        g_string_append_printf(out, "%u,%u,%u,8,128,", batch, s, heads);
        add(out, slow && heads == 16, 6 + 4e-9 * batch * s * s * heads * 64);
      }
}

/* 8 us, 50 ns a query head, by which tables differ, and 10 ns a token; 16 heads
 * may be slow. */
static void
decodes(GString *out, gboolean slow)
{
  g_string_append(out, "batch,kv_len,q_heads,kv_heads,head_dim,latency_us\n");
  for (guint batch = 1; batch <= 64; batch *= 4)
    for (guint s = 128; s <= 8192; s *= 4)
      for (guint heads = 8; heads <= 64; heads *= 2) {
        g_string_append_printf(out, "%u,%u,%u,8,128,", batch, s, heads);
        add(out, slow && heads == 16, 8 + 0.05 * heads + 1e-5 * batch * s);
      }
}

/* Two runs of each; one line of sizes or of GPUs may be slow. */
static void
collectives(GString *out, guint bytes, guint gpus)
{
  static const char *const kinds[] = {"all_reduce", "all_gather",
                                      "reduce_scatter", "alltoall"};

  g_string_append(out,
                  "gpu,nccl_dir,collective,dtype,num_gpus,bytes,run,time_us\n");
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++)
    for (guint n = 2; n <= 8; n *= 2)
      for (guint b = 1024; b <= 1u << 26; b *= 4)
        for (guint r = 1; r <= 2; r++) {
          g_string_append_printf(out, "h100,2.27.3,%s,half,%u,%u,%u,", kinds[k],
                                 n, b, r);
          add(out, b == bytes || n == gpus, 8 + n + r * 0.1 + 5e-6 * b);
        }
}

static void
sizes(GString *out, gboolean slow)
{
  collectives(out, slow ? 1048576 : 0, 0);
}

static void
counts(GString *out, gboolean slow)
{
  collectives(out, 0, slow ? 4 : 0);
}

static void
sends(GString *out, gboolean slow)
{
  g_string_append(out, "system,collective,num_workers,devices_per_node,bytes,"
                       "median_us\n");
  for (guint bytes = 4096; bytes <= 1u << 26; bytes += bytes / 4) {
    g_string_append_printf(out, "h100_dgx,send_recv,2,2,%u,", bytes);
    add(out, slow && bytes >= 1u << 20 && bytes < 5u << 18, 8 + 4e-6 * bytes);
  }
}

/* Norms of one model; another's are a line of their own. */
static void
layers(GString *out, gboolean slow)
{
  g_string_append(out, "tp,num_tokens,input_layernorm_us\n");
  for (guint tp = 1; tp <= 8; tp *= 2)
    for (guint tokens = 64; tokens <= 4096; tokens += 64) {
      g_string_append_printf(out, "%u,%u,", tp, tokens);
      add(out, slow, 4 + 0.02 * tokens);
    }
}

static const char single[] =
    "gpus,global_batch,micro_batch,hidden,heads,layers,seq,tp,dp,pp,"
    "iter_time_ms\n";

/* A millisecond a sequence and layer over all GPUs; tp 2 x dp 4 may be slow. */
static void
steps(GString *out, gboolean slow)
{
  g_string_append(out, single);
  for (guint tp = 1; tp <= 8; tp *= 2)
    for (guint dp = 1; dp * tp <= 8; dp *= 2)
      for (guint layers_of = 12; layers_of <= 24; layers_of *= 2) {
        g_string_append_printf(out, "%u,32,2,2048,16,%u,1024,%u,%u,%u,", 8u,
                               layers_of, tp, dp, 8 / tp / dp);
        add(out, slow && tp == 2 && dp == 4, 32.0 * layers_of / 4 + tp + dp);
      }
}

static const struct {
  const char *level, *file, *fold; /* of the slow rows, how it begins */
  Write write;
  const char *other; /* NULL, or a second file of rows that are never slow */
  gboolean fixed;    /* other folds are fitted on runs that the source names,
                        none of which is here */
} cases[] = {
    {"gemm-bf16", "kernels_gemm/gemm_h100_bf16.csv", "n 1024", products, NULL,
     FALSE},
    {"attention-prefill", "kernels_attention/prefill_h100_bf16.csv",
     "query heads 16", prefills, NULL, FALSE},
    {"attention-decode", "kernels_attention/decode_h100_bf16.csv",
     "query heads 16", decodes, NULL, FALSE},
    {"layer-ops", "kernels_vidur/h100_llama2-7b.csv", "model", layers,
     "kernels_vidur/h100_llama2-70b.csv", FALSE},
    {"collectives", "comm_nccl/aic_nccl_intranode.csv", "bytes 1048576", sizes,
     NULL, FALSE},
    {"collectives-by-gpus", "comm_nccl/aic_nccl_intranode.csv", "GPUs 4",
     counts, NULL, FALSE},
    {"p2p-node", "comm_vidur/network.csv", "quarter octave 80", sends, NULL,
     FALSE},
    {"train-node", "train_vtrain/single_node_a100.csv", "tp 2, dp 4, pp 1",
     steps, NULL, TRUE},
    {"gemm-pairs", "kernels_gemm/gemm_h100_bf16.csv", "fold", pairs, NULL,
     FALSE},
};

static void
put(const char *folder, const char *name, Write write, gboolean slow)
{
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *dir = g_path_get_dirname(path);

  write(text, slow);
  ck_assert_int_eq(g_mkdir_with_parents(dir, 0777), 0);
  ck_assert(g_file_set_contents(path, text->str, -1, NULL));
}

static RaValidation *
cross(guint index, gboolean slow)
{
  g_autofree char *folder = g_dir_make_tmp("reallot-folds-XXXXXX", NULL);
  RaValidateOptions options = {
      .data = folder, .cross = TRUE, .pattern = cases[index].level};
  g_autoptr(GError) error = NULL;
  RaValidation *v;

  put(folder, cases[index].file, cases[index].write, slow);
  if (cases[index].other)
    put(folder, cases[index].other, cases[index].write, FALSE);
  v = ra_validate(&options, &error);
  ck_assert_msg(v != NULL, "%s", error ? error->message : "no error");
  ra_folder_remove(folder);
  return v;
}

START_TEST(test_unseen)
{
  g_autoptr(RaValidation) as_is = cross((guint)_i, FALSE);
  g_autoptr(RaValidation) slowed = cross((guint)_i, TRUE);
  const GArray *a = g_array_index(as_is->results, RaValidateResult, 0).rows;
  const GArray *b = g_array_index(slowed->results, RaValidateResult, 0).rows;
  guint n_unseen = 0, n_moved = 0, n_slow = 0;
  const char *fold = NULL;

  ck_assert_uint_eq(a->len, b->len);
  for (guint i = 0; i < a->len; i++) {
    const RaValidateRow *x = &g_array_index(a, RaValidateRow, i);
    const RaValidateRow *y = &g_array_index(b, RaValidateRow, i);
    gboolean slow = y->measured > 1.02 * x->measured;

    ck_assert_str_eq(x->name, y->name);
    ck_assert_str_eq(x->fold, y->fold);
    n_slow += slow;
    if (slow && g_str_has_prefix(y->fold, cases[_i].fold)) {
      /* One line: the same of all its rows. */
      ck_assert_str_eq(y->fold, fold ? fold : y->fold);
      fold = y->fold;
      ck_assert_msg(fabs(x->predicted / y->predicted - 1) < ROUNDING,
                    "%s, %s: %.17g, %.17g", x->name, x->fold, x->predicted,
                    y->predicted);
      n_unseen++;
    } else if (!slow) {
      n_moved += fabs(x->predicted / y->predicted - 1) > ROUNDING;
    }
  }
  ck_assert_uint_gt(n_unseen, 0);
  /* Products are predicted twice, by n and by k. */
  ck_assert_uint_eq(n_slow, _i == 0 ? 2 * n_unseen : n_unseen);
  /* The fault to catch: a fold that sees the rows moves with them. */
  ck_assert(n_moved > 0 || cases[_i].fixed);
}
END_TEST

/* Products of @gpu, @factor times as long. */
static void
put_products(const char *folder, const char *gpu, double factor)
{
  g_autofree char *name = g_strdup_printf("gemm_%s_bf16.csv", gpu);
  g_autofree char *path = g_build_filename(folder, "kernels_gemm", name, NULL);
  g_autofree char *dir = g_path_get_dirname(path);
  g_autoptr(GString) text = g_string_new("m,n,k,latency_us\n");

  for (guint m = 64; m <= 4096; m *= 4)
    for (guint n = 512; n <= 8192; n *= 4)
      for (guint k = 512; k <= 8192; k *= 4)
        g_string_append_printf(text, "%u,%u,%u,%.6f\n", m, n, k,
                               factor * (3 + 2e-9 * m * n * k));
  ck_assert_int_eq(g_mkdir_with_parents(dir, 0777), 0);
  ck_assert(g_file_set_contents(path, text->str, -1, NULL));
}

/* (transfer full): the GB200 left out, from rows of the B200 that take @factor
 * as long as they might. */
static RaValidation *
from_sibling(double factor)
{
  g_autofree char *folder = g_dir_make_tmp("reallot-folds-XXXXXX", NULL);
  RaValidateOptions options = {
      .data = folder, .cross = TRUE, .pattern = "gpu-left-out-sibling"};
  g_autoptr(GError) error = NULL;
  RaValidation *v;

  put_products(folder, "gb200", 1);
  put_products(folder, "b200", factor);
  v = ra_validate(&options, &error);
  ck_assert_msg(v != NULL, "%s", error ? error->message : "no error");
  ra_folder_remove(folder);
  return v;
}

/* The B200's shipped table borrows n = 512 and k = 512 from the GB200.  Where
 * this is left out the table is made of the B200's own rows: if they take half
 * as long again, so do predictions at their shapes.  The fault: those of the
 * shipped table stay where they are. */
START_TEST(test_lent)
{
  g_autoptr(RaValidation) one = from_sibling(1), more = from_sibling(1.5);
  const GArray *a = g_array_index(one->results, RaValidateResult, 0).rows;
  const GArray *b = g_array_index(more->results, RaValidateResult, 0).rows;
  guint n = 0;

  ck_assert_uint_eq(a->len, b->len);
  for (guint i = 0; i < a->len; i++) {
    const RaValidateRow *x = &g_array_index(a, RaValidateRow, i);
    const RaValidateRow *y = &g_array_index(b, RaValidateRow, i);

    ck_assert_str_eq(x->name, y->name);
    if (!g_str_has_prefix(x->part, "gb200 from b200"))
      continue;
    ck_assert_msg(fabs(y->predicted / x->predicted / 1.5 - 1) < 1e-6,
                  "%s: %.9g, %.9g", x->name, x->predicted, y->predicted);
    n++;
  }
  ck_assert_uint_eq(n, 4 * 3 * 3);
}
END_TEST

/* Words that name a further group: "each size and each n", "n and of k". */
static guint
n_groups_said(const char *held_out)
{
  return 1 + (strstr(held_out, " and each ") || strstr(held_out, " and of "));
}

/* A law's text on its folds names as many groupings as it leaves out.  (The
 * fault: laws of expert exchanges said tokens, too, and left out shapes alone.)
 */
START_TEST(test_said)
{
  for (guint i = 0; i < ra_fit_n_laws(); i++) {
    const RaFitLaw *law = ra_fit_law_at(i);
    guint n = 0;

    for (guint line = 0; line < RA_MEASURED_LINES; line++)
      n += (law->lines >> line) & 1;
    ck_assert_msg(n == n_groups_said(law->held_out), "%s: %u, but '%s'",
                  law->law, n, law->held_out);
  }
}
END_TEST

static Suite *
folds_suite(void)
{
  Suite *suite = suite_create("folds");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 300);
  tcase_add_loop_test(tcase, test_unseen, 0, G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_lent);
  tcase_add_test(tcase, test_said);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(folds_suite)
