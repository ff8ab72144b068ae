/* New samples of traces into the tables of a profile. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/estimator.h"
#include "estimator/fit.h"
#include "study/calibrate.h"
#include "tests/check_main.h"
#include "tests/profile_text.h"

/* Samples of products about their ideal times: from product @from on, every
 * @step, with numbers and deviations of their own. */
static GArray *
noisy_rows(const RaProfile *truth, guint from, guint step)
{
  static const uint64_t sizes[] = {128, 1024, 3072, 16384};
  RaCluster cluster = {.n_nodes = 1,
                       .gpus_per_node = 8,
                       .nics_per_node = 8,
                       .nic_bytes_per_s = 1,
                       .device = truth->spec};
  g_autoptr(RaEstimator) e = ra_estimator_new(truth, &cluster, NULL);
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (guint i = from; i < 128; i += step) {
    RaMeasured row = {
        .op = {.kind = RA_OP_GEMM,
               .count = 1,
               .dim = {1 + 100 * (i / 16), sizes[i % 4], sizes[i / 4 % 4], 1}},
        .line = {sizes[i % 4], sizes[i / 4 % 4]},
        .samples = {2 + i % 5, 1e-3 * (i % 3), 2e-3 * (i % 7)}};

    row.measured_s =
        ra_estimator_op_s(e, &row.op) * (1 + 0.002 * (i * 7 % 13) + 0.1 * from);
    g_array_append_val(rows, row);
  }
  return rows;
}

static RaProfile *
merged(RaProfile *profile, const char *text, const GArray *rows, char **out)
{
  GError *error = NULL;
  g_autoptr(RaCalibration) c =
      ra_calibrate_merge_rows("t.profile", text, rows, "more", &error);

  ck_assert_msg(c != NULL, "%s", error ? error->message : "");
  ra_profile_free(profile);
  *out = g_strdup(c->text->str);
  return profile_text_parse(*out);
}

/* Cells of tables by their knots. */
static void
compare_cells(const RaGrid *a, const RaGrid *b, double *out_worst)
{
  *out_worst = 0;
  ck_assert_uint_eq(a->n_cells, b->n_cells);
  for (guint i = 0; i < a->n_axes; i++)
    ck_assert_mem_eq(a->axes[i].knots, b->axes[i].knots,
                     a->axes[i].n_knots * sizeof *a->axes[i].knots);
  for (gsize i = 0; i < a->n_cells; i++) {
    ck_assert_uint_eq(a->cells[i].n, b->cells[i].n);
    *out_worst = MAX(*out_worst, fabs(a->cells[i].mean - b->cells[i].mean));
    *out_worst =
        MAX(*out_worst, fabs(a->cells[i].deviation - b->cells[i].deviation));
  }
}

/* Merging B into the file of A, without A's rows, is the table of A and B
 * together, to 1e-9 in every cell: its number, mean and deviation; and A into B
 * the same.  B's rows are A's of one op in two and others in between. */
START_TEST(test_merge)
{
  g_autofree char *right = profile_text(NULL);
  g_autoptr(RaProfile) truth = profile_text_parse(right);
  g_autoptr(GArray) a = noisy_rows(truth, 0, 1), b = noisy_rows(truth, 1, 2);
  g_autoptr(GArray) both = noisy_rows(truth, 0, 1);
  const RaFitLaw *law = ra_fit_law("gemm.bf16");
  g_autoptr(RaCalibration) first = ra_calibrate_rows(
      "t.profile", right, NULL, _i ? b : a, "first", NULL, NULL);
  g_autofree char *text = NULL;
  RaProfile *second = NULL;
  g_autoptr(RaGrid) table = NULL;
  RaGrid *kept;
  RaLaw *target;
  double worst;

  ck_assert_ptr_nonnull(first);
  second = merged(NULL, first->text->str, _i ? a : b, &text);
  target = (RaLaw *)(gpointer)ra_profile_law(second, "gemm.bf16");
  ck_assert_ptr_nonnull(target->grid);
  g_array_append_vals(both, b->data, b->len);
  kept = g_steal_pointer(&target->grid);
  table = ra_fit_table(law, second, both, law->tables[0]);
  target->grid = kept;
  compare_cells(table, target->grid, &worst);
  ck_assert_msg(worst < 1e-9, "%g", worst);
  ck_assert_ptr_nonnull(strstr(target->source, "rows of more"));
  ck_assert_uint_eq(target->n_rows, both->len);
  /* Faulty: another deviation of one cell shows. */
  target->grid->cells[0].deviation += 2e-9;
  compare_cells(table, target->grid, &worst);
  ck_assert_double_gt(worst, 1e-9);
  ra_profile_free(second);
}
END_TEST

static Suite *
calibrate_merge_suite(void)
{
  Suite *suite = suite_create("calibrate_merge");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_merge, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(calibrate_merge_suite)
