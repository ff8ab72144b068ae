/* New samples of traces into the tables of a profile. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/calibrate/calibrate.h"
#include "estimator/estimator.h"
#include "estimator/fit.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"

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
      "t.profile", right, NULL, _i ? b : a, NULL, "first", NULL, NULL);
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

/* Products of 8 x 4 x 4 shapes that take e^@shift, by turns e^-@shift, of what
 * @e says; @n samples of deviation @deviation each. */
static GArray *
shifted_rows(const RaEstimator *e, double shift, guint n, double deviation,
             const char *file)
{
  static const uint64_t sizes[] = {128, 1024, 4096, 16384};
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (guint i = 0; i < 128; i++) {
    RaMeasured row = {
        .op = {.kind = RA_OP_GEMM,
               .count = 1,
               .dim = {1u << i / 16, sizes[i % 4], sizes[i / 4 % 4], 1}},
        .samples = {n, 0, deviation},
        .file = file,
        .of_run = TRUE};

    row.measured_s =
        ra_estimator_op_s(e, &row.op) * exp(i % 2 ? shift : -shift);
    g_array_append_val(rows, row);
  }
  return rows;
}

static RaEstimator *
estimator_of(const RaProfile *profile)
{
  RaCluster cluster = {.n_nodes = 1,
                       .gpus_per_node = 8,
                       .nics_per_node = 8,
                       .nic_bytes_per_s = 1,
                       .device = profile->spec};

  return ra_estimator_new(profile, &cluster, NULL);
}

/* By how much of @shift every cell of the refit has moved: all the same. */
static double
gain_of(const RaGrid *before, const RaGrid *after, double shift)
{
  double gain = (after->cells[0].mean - before->cells[0].mean) / -shift;

  ck_assert_uint_eq(before->n_cells, 128);
  ck_assert_uint_eq(after->n_cells, 128);
  for (guint m = 0; m < 8; m++)
    for (guint i = 0; i < 16; i++) {
      gsize c = m * before->stride[0] + i % 4 * before->stride[1] +
                i / 4 * before->stride[2];
      double sign = i % 2 ? 1 : -1;

      ck_assert_double_eq_tol(
          sign * (after->cells[c].mean - before->cells[c].mean) / shift, gain,
          1e-6);
      ck_assert_uint_eq(after->cells[c].n, before->cells[c].n);
    }
  return gain;
}

/* A calibration of 4 repeats, 0.02 apart, whose mean is known within 0.01
 * (squared, 1e-4), and a run of 400 of each (1e-6).
 * - 0.1 apart: runs differ by tau^2 = (0.01 - 1.01e-4) / 2 = 0.0049495; a cell
 *   moves by (1e-4 + tau^2) / 0.01 = 0.50495.
 * - 0.01 apart, no more than repeats say: tau = 0 and 1e-4 / 1.01e-4 = 0.990.
 * By numbers alone (the fault) it would be 400 / 404 in both. */
START_TEST(test_run)
{
  static const struct {
    double shift, gain;
  } cases[] = {{0.1, 0.50495}, {0.01, 1e-4 / 1.01e-4}};
  g_autofree char *text = profile_text(NULL);
  g_autoptr(RaProfile) profile = profile_text_parse(text);
  const RaFitLaw *law = ra_fit_law("gemm.bf16");
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, "gemm.bf16");
  g_autoptr(RaEstimator) e = estimator_of(profile);
  double shift = cases[_i].shift;
  g_autoptr(GArray) probe = shifted_rows(e, 0, 4, 0.02, "probe");
  g_autoptr(GArray) run = shifted_rows(e, shift, 400, 0.02, "run");
  g_autoptr(RaGrid) refit = NULL;
  g_autoptr(RaGrid) pooled = NULL;

  ck_assert_ptr_null(ra_fit_refit(law, profile, run)); /* no table */
  target->grid = ra_fit_table(law, profile, probe, law->tables[0]);
  refit = ra_fit_refit(law, profile, run);
  ck_assert_double_eq_tol(gain_of(target->grid, refit, shift), cases[_i].gain,
                          1e-5);
  pooled = ra_fit_merge(law, profile, run);
  ck_assert_double_eq_tol(
      (pooled->cells[0].mean - target->grid->cells[0].mean) / -shift,
      400. / 404, 1e-5);
}
END_TEST

/* One product of 6 rows, between 4 and 8 (half way, as between powers of two it
 * is linear), 0.1 more than the table of what was measured once: of draws 1 its
 * own and 2 / 4 those of the two cells, which move by (tau^2 / 2) / (tau^2 / 2
 * + tau^2) = 1/3 of it.  The same in two runs: 1/2; but (the fault) the same
 * twice in one run is one draw. */
START_TEST(test_runs)
{
  static const struct {
    const char *file;
    double gain;
  } cases[] = {{NULL, 1. / 3}, {"b", 1. / 2}, {"a", 1. / 3}};
  g_autofree char *text = profile_text(NULL);
  g_autoptr(RaProfile) profile = profile_text_parse(text);
  const RaFitLaw *law = ra_fit_law("gemm.bf16");
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, "gemm.bf16");
  g_autoptr(RaEstimator) e = estimator_of(profile);
  g_autoptr(GArray) probe = shifted_rows(e, 0, 1, 0, "probe");
  g_autoptr(GArray) run = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(RaGrid) refit = NULL;
  RaMeasured row = g_array_index(probe, RaMeasured, 0);

  row.op.dim[0] = 6;
  row.file = "a";
  row.measured_s = ra_estimator_op_s(e, &row.op) * exp(0.1);
  g_array_append_val(run, row);
  row.file = cases[_i].file;
  if (row.file)
    g_array_append_val(run, row);
  target->grid = ra_fit_table(law, profile, probe, law->tables[0]);
  refit = ra_fit_refit(law, profile, run);
  for (guint m = 0; m < 8; m++) /* 1, 2, 4, 8 ... */
    ck_assert_double_eq_tol(refit->cells[m * refit->stride[0]].mean,
                            m == 2 || m == 3 ? 0.1 * cases[_i].gain : 0, 1e-6);
}
END_TEST

/* A profile of a probe of products, and a run of the same ones, which a test
 * then changes. */
typedef struct {
  RaProfile *truth;
  RaEstimator *estimator; /* of it */
  GArray *run;            /* RaMeasured */
  RaCalibration *fitted;  /* on the probe */
} Probed;

static void
probed_init(Probed *p)
{
  g_autofree char *plain = profile_text(NULL);
  g_autoptr(GArray) probe = NULL;

  p->truth = profile_text_parse(plain);
  p->estimator = estimator_of(p->truth);
  p->run = shifted_rows(p->estimator, 0, 4, 0.02, "a");
  probe = shifted_rows(p->estimator, 0, 4, 0.02, "probe");
  for (guint i = 0; i < probe->len; i++)
    g_array_index(probe, RaMeasured, i).of_run = FALSE;
  p->fitted = ra_calibrate_rows("t.profile", plain, NULL, probe, NULL, "it",
                                NULL, NULL);
  ck_assert_ptr_nonnull(p->fitted);
}

static void
probed_clear(Probed *p)
{
  ra_calibration_free(p->fitted);
  g_array_unref(p->run);
  ra_estimator_free(p->estimator);
  ra_profile_free(p->truth);
}

/* The pace after the run is merged into what was fitted, with a pace of 2 or
 * without; @out_moved: by how much a cell of products did, at most. */
static RaPace
merged_pace(const Probed *p, gboolean is_paced, double *out_moved)
{
  g_autofree char *start = g_strconcat(
      p->fitted->text->str,
      is_paced ? "\n[pace]\nwall-per-cpu = 2\nerror = 0\ndraws = 1\n"
                 "source = a test\n"
               : "",
      NULL);
  g_autoptr(RaProfile) first = profile_text_parse(start);
  const RaGrid *was = ra_profile_law(first, "gemm.bf16")->grid;
  g_autofree char *out = NULL;
  RaProfile *second = merged(NULL, start, p->run, &out);
  const RaGrid *is = ra_profile_law(second, "gemm.bf16")->grid;
  RaPace pace = second->pace;

  *out_moved = 0;
  for (gsize c = 0; c < is->n_cells; c++)
    *out_moved = fmax(*out_moved, fabs(is->cells[c].mean - was->cells[c].mean));
  ra_profile_free(second);
  return pace;
}

/* A machine of pace 2 runs a plan at 8 (all its ops at four times what the
 * profile has them at): the run's is one draw beside the calibration's, the
 * mean of their logarithms 4, and nothing is left for the cells.  Its deviation
 * is ln 2 = 0.6931.  Two such runs: (2 8 8)^(1/3) = 5.0397.  Without a pace in
 * the profile (the fault) cells take it. */
START_TEST(test_pace)
{
  static const double want[] = {4, 5.0397, 1};
  gboolean is_paced = _i < 2;
  double moved = 0;
  RaPace pace;
  Probed p;

  probed_init(&p);
  if (_i == 1) {
    g_autoptr(GArray) more = shifted_rows(p.estimator, 0, 4, 0.02, "b");

    g_array_append_vals(p.run, more->data, more->len);
  }
  for (guint i = 0; i < p.run->len; i++)
    g_array_index(p.run, RaMeasured, i).measured_s *= 8;
  pace = merged_pace(&p, is_paced, &moved);
  ck_assert_uint_eq(pace.n_draws, is_paced ? 2 + (guint)_i : 0);
  ck_assert_double_eq_tol(pace.wall_per_cpu, want[_i], 1e-3);
  if (_i == 0)
    ck_assert_double_eq_tol(pace.error_frac, 0.6931, 1e-4);
  if (is_paced)
    ck_assert_double_lt(moved, 1e-3);
  else
    ck_assert_double_gt(moved, 0.5);
  probed_clear(&p);
}
END_TEST

/* A run whose products take 0.9 of what the profile has, and an all-reduce that
 * takes what it should and (case 0) half of all products' seconds more, as
 * ranks wait in it: together they are predicted too short, and shorter still
 * with the products' cells: the profile stays as it is, letter by letter, and
 * that is told.  Without the wait (case 1, the fault: a guard that refuses all)
 * they are predicted too long, and the cells move. */
START_TEST(test_worse_is_left)
{
  RaMeasured wait = {.op = {.kind = RA_OP_ALL_REDUCE,
                            .dtype = RA_DTYPE_BF16,
                            .count = 1,
                            .dim = {1 << 26, 8, 8, 1}},
                     .of_run = TRUE};
  g_autoptr(RaCalibration) out = NULL;
  double products_s = 0;
  Probed p;

  probed_init(&p);
  for (guint i = 0; i < p.run->len; i++) {
    RaMeasured *row = &g_array_index(p.run, RaMeasured, i);

    products_s += row->measured_s * MAX(row->samples.n, 1u);
    row->measured_s *= 0.9;
  }
  wait.file = g_array_index(p.run, RaMeasured, 0).file;
  wait.measured_s =
      ra_estimator_op_s(p.estimator, &wait.op) + (_i == 0 ? products_s / 2 : 0);
  g_array_append_val(p.run, wait);
  out = ra_calibrate_merge_rows("t.profile", p.fitted->text->str, p.run, "more",
                                NULL);
  ck_assert_ptr_nonnull(out);
  ck_assert_int_eq(strcmp(out->text->str, p.fitted->text->str) == 0, _i == 0);
  ck_assert_int_eq(
      out->notes->len > 0 &&
          strstr(out->notes->pdata[out->notes->len - 1], "left as it was"),
      _i == 0);
  probed_clear(&p);
}
END_TEST

/* The same run says itself at which pace it was, W: the draw is that, what its
 * ops took beside goes into their cells.  8: as above.  2: the machine's own,
 * so 2 stays 2 and cells move; 0.5, which no clock can say: taken for 1, which
 * makes sqrt(2).  A pace that is taken from the ops in spite of it makes 4 of
 * all (the fault). */
START_TEST(test_own_pace)
{
  static const double said[] = {8, 2, 0.5}, want[] = {4, 2, 1.41421};
  double moved = 0;
  RaPace pace;
  Probed p;

  probed_init(&p);
  for (guint i = 0; i < p.run->len; i++) {
    g_array_index(p.run, RaMeasured, i).measured_s *= 8;
    g_array_index(p.run, RaMeasured, i).wall_per_cpu = said[_i];
  }
  pace = merged_pace(&p, TRUE, &moved);
  ck_assert_double_eq_tol(pace.wall_per_cpu, want[_i], 1e-3);
  if (_i == 0)
    ck_assert_double_lt(moved, 1e-3);
  else
    ck_assert_double_gt(moved, 0.5);
  probed_clear(&p);
}
END_TEST

static Suite *
calibrate_merge_suite(void)
{
  Suite *suite = suite_create("calibrate_merge");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_merge, 0, 2);
  tcase_add_loop_test(tcase, test_run, 0, 2);
  tcase_add_loop_test(tcase, test_runs, 0, 3);
  tcase_add_loop_test(tcase, test_pace, 0, 3);
  tcase_add_loop_test(tcase, test_own_pace, 0, 3);
  tcase_add_loop_test(tcase, test_worse_is_left, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(calibrate_merge_suite)
