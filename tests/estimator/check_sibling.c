/* Rows that siblings lend.
 *
 * Times are made up: the sibling's have a step at a size that the GPU has no
 * row of, as where NCCL changes its protocol, and the GPU's are the sibling's
 * times a c^(power of the size).  ln of that ratio is linear in ln(size), so
 * what is lent must be the GPU's time to rounding, though no size near it tells
 * of the step. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "estimator/calibrate/gpu.h"
#include "estimator/fit.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"

#define STEP 3.0 /* what the other protocol costs */

static double
sibling_s(const RaOp *op)
{
  double size = (double)op->dim[0];

  return 1e-6 * (double)op->dim[1] * (1 + size / 4096) *
         (size > 20000 && size < 200000 ? STEP : 1);
}

static double
own_s(const RaOp *op)
{
  return sibling_s(op) * 0.7 * pow((double)op->dim[0], 0.05);
}

static void
add(GArray *rows, uint64_t bytes, uint64_t ranks, gboolean own)
{
  RaMeasured row = {.op = {.kind = RA_OP_ALL_REDUCE,
                           .count = 1,
                           .dim = {bytes, ranks, ranks, 1}}};

  row.measured_s = own ? own_s(&row.op) : sibling_s(&row.op);
  g_array_append_val(rows, row);
}

/* Sizes of 1 KiB to 1 MiB in powers of 4 for the GPU, of 2 for the sibling,
 * which has 4 ranks, too. */
static GArray *
own_rows(void)
{
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (uint64_t bytes = 1024; bytes <= 1048576; bytes *= 4)
    for (uint64_t ranks = 2; ranks <= 8; ranks *= 4)
      add(rows, bytes, ranks, TRUE);
  return rows;
}

static GPtrArray *
sibling_rows(void)
{
  GPtrArray *all =
      g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (uint64_t bytes = 1024; bytes <= 1048576; bytes *= 2)
    for (uint64_t ranks = 2; ranks <= 8; ranks *= 2)
      add(rows, bytes, ranks, FALSE);
  g_ptr_array_add(all, rows);
  return all;
}

/* 2 numbers of ranks and the 5 sizes between are lent, exactly; 4 ranks, of
 * which the GPU has no row, are not.  The fault: read between its own rows, a
 * size at the step is off by a factor. */
START_TEST(test_step)
{
  g_autoptr(GArray) rows = own_rows(), all = NULL;
  g_autoptr(GPtrArray) siblings = sibling_rows();
  RaFitLaw law = *ra_fit_law("all-reduce");
  double share, worst = 0;

  law.siblings = siblings;
  all = ra_fit_borrow(&law, rows, &share);
  ck_assert_double_eq(share, 1);
  ck_assert_uint_eq(all->len, rows->len + 2 * 5);
  for (guint i = 0; i < all->len; i++) {
    const RaMeasured *row = &g_array_index(all, RaMeasured, i);
    RaOp low = row->op, high = row->op;

    ck_assert_uint_ne(row->op.dim[1], 4);
    ck_assert_uint_eq(row->op.count, 1);
    ck_assert_double_lt(fabs(row->measured_s / own_s(&row->op) - 1), 1e-9);
    if (i < rows->len)
      continue;
    low.dim[0] /= 2;
    high.dim[0] *= 2;
    worst = MAX(worst,
                fabs(log(sqrt(own_s(&low) * own_s(&high)) / own_s(&row->op))));
  }
  ck_assert_double_gt(worst, log(STEP) / 3);
}
END_TEST

/* A table with what is lent has the step; one of the rows alone has not. */
START_TEST(test_table)
{
  g_autoptr(GArray) rows = own_rows(), wanted = NULL;
  g_autoptr(GPtrArray) siblings = sibling_rows();
  g_autoptr(RaProfile) profile = profile_text_load(NULL, NULL);
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, "all-reduce");
  RaFitLaw law = *ra_fit_law("all-reduce");
  double worst[2] = {0, 0}, share;

  law.siblings = siblings;
  wanted = ra_fit_borrow(&law, rows, &share);
  for (guint lent = 0; lent < 2; lent++) {
    g_autofree double *s = g_new(double, wanted->len);

    law.siblings = lent ? siblings : NULL;
    target->grid = ra_fit_table(&law, profile, rows, law.tables[0]);
    ra_fit_predict(profile, wanted, s);
    g_clear_pointer(&target->grid, ra_grid_free);
    for (guint i = 0; i < wanted->len; i++) {
      const RaMeasured *row = &g_array_index(wanted, RaMeasured, i);

      worst[lent] = MAX(worst[lent], fabs(s[i] / own_s(&row->op) - 1));
    }
  }
  ck_assert_double_gt(worst[0], 0.3);
  ck_assert_double_lt(worst[1], 1e-3); /* thousandths of ln() */
}
END_TEST

/* Products: n and k between are read one after the other, so that a product of
 * neither n nor k of the GPU is lent, too; beyond its last k the ratio stays.
 * Half of ln(seconds) is the sibling's. */
START_TEST(test_products)
{
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GArray) other = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GPtrArray) siblings = g_ptr_array_new();
  g_autoptr(GArray) all = NULL;
  RaFitLaw law = *ra_fit_law("gemm.bf16");
  double share;
  guint n_beyond = 0, n_corners = 0;

  for (uint64_t n = 256; n <= 1024; n *= 2)
    for (uint64_t k = 256; k <= 2048; k *= 2) {
      RaMeasured row = {.op = {.kind = RA_OP_GEMM, .dim = {16, n, k, 1}},
                        .measured_s = 1e-12 * (double)(n * k)};

      g_array_append_val(other, row);
      row.measured_s *= 2;
      if (n != 512 && k != 512 && k != 2048)
        g_array_append_val(rows, row);
    }
  g_ptr_array_add(siblings, other);
  law.siblings = siblings;
  all = ra_fit_borrow(&law, rows, &share);
  ck_assert_double_eq(share, 0.5);
  ck_assert_uint_eq(rows->len, 4);
  ck_assert_uint_eq(all->len, other->len);
  for (guint i = 0; i < all->len; i++) {
    const RaMeasured *row = &g_array_index(all, RaMeasured, i);
    const uint64_t *dim = row->op.dim;

    n_beyond += dim[2] == 2048;
    n_corners += dim[1] == 512 && dim[2] == 512;
    ck_assert_double_lt(
        fabs(row->measured_s / (2e-12 * (double)(dim[1] * dim[2])) - 1), 1e-9);
  }
  ck_assert_uint_eq(n_beyond, 3);
  ck_assert_uint_eq(n_corners, 1);
  ck_assert(!ra_fit_borrows(ra_fit_law("gemm.fp8")));
}
END_TEST

/* Rows in all of the siblings of @gpu in @data, each of which has one. */
static void
check_siblings(const char *gpu, const char *const *data, guint expected)
{
  GError *error = NULL;
  g_autoptr(GPtrArray) siblings =
      ra_gpu_siblings(ra_gpu_find(gpu), data, "all-reduce", &error);
  guint n = 0;

  ck_assert_msg(siblings != NULL, "%s", error ? error->message : "");
  for (guint i = 0; i < siblings->len; i++)
    n += ((const GArray *)siblings->pdata[i])->len;
  ck_assert_msg(n == expected, "%s: %u", gpu, n);
}

/* A folder with a row each of five GPUs: the B200's siblings are the B300 and
 * the GB200, which are of one generation with it, the H200's is the H100; the
 * H100, which others are transferred from, has none, nor has a card on PCIe.  A
 * row of a sibling that is no row is an error of its file.  Without data sheets
 * none is known to be a sibling. */
START_TEST(test_siblings)
{
  g_autofree char *folder = g_dir_make_tmp("check_sibling_XXXXXX", NULL);
  g_autofree char *misc = g_build_filename(folder, "misc", NULL);
  g_autofree char *nccl = g_build_filename(folder, "comm_nccl", NULL);
  g_autofree char *sheets = g_build_filename(misc, "hardware_specs.csv", NULL);
  g_autofree char *rows =
      g_build_filename(nccl, "aic_nccl_intranode.csv", NULL);
  const char *const data[] = {folder, NULL};
  const char *sheet = "system,mem_bw_Bps,mem_bytes,bf16_flops,fp8_flops,"
                      "intra_node_Bps_per_gpu,pcie_Bps,p2p_latency_s\n"
                      "h100_sxm,3e12,8e10,1e15,2e15,450e9,64e9,1e-5\n"
                      "h200_sxm,4e12,14e10,1e15,2e15,450e9,64e9,1e-5\n"
                      "b200_sxm,8e12,18e10,2e15,4e15,900e9,64e9,1e-5\n"
                      "b300_sxm,8e12,28e10,2e15,4e15,900e9,64e9,1e-5\n";
  const char *text = "gpu,nccl_dir,collective,dtype,num_gpus,bytes,time_us\n"
                     "h100,2,all_reduce,half,2,512,1\n"
                     "h200,2,all_reduce,half,2,512,1\n"
                     "b200,2,all_reduce,half,2,512,1\n"
                     "b300,2,all_reduce,half,2,512,1\n"
                     "gb200,2,all_reduce,half,2,512,1\n";
  g_autofree char *bad =
      g_strconcat(text, "gb200,2,all_reduce,half,2,1,x\n", NULL);
  GError *error = NULL;

  ck_assert(g_mkdir(misc, 0700) == 0 && g_mkdir(nccl, 0700) == 0);
  ck_assert(g_file_set_contents(sheets, sheet, -1, NULL));
  ck_assert(g_file_set_contents(rows, text, -1, NULL));
  check_siblings("b200-sxm", data, 2);
  check_siblings("gb200", data, 2);
  check_siblings("h200-sxm", data, 1);
  check_siblings("h100-sxm", data, 0);
  check_siblings("a40", data, 0);
  ck_assert(g_file_set_contents(rows, bad, -1, NULL));
  ck_assert_ptr_null(
      ra_gpu_siblings(ra_gpu_find("b200-sxm"), data, "all-reduce", &error));
  ck_assert_ptr_nonnull(strstr(error->message, "aic_nccl_intranode.csv:7: "));
  g_clear_error(&error);
  ck_assert(g_remove(sheets) == 0);
  check_siblings("b200-sxm", data, 0);
  ck_assert(g_remove(rows) == 0);
  ck_assert(g_rmdir(misc) == 0 && g_rmdir(nccl) == 0 && g_rmdir(folder) == 0);
}
END_TEST

static Suite *
sibling_suite(void)
{
  Suite *suite = suite_create("sibling");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_step);
  tcase_add_test(tcase, test_table);
  tcase_add_test(tcase, test_products);
  tcase_add_test(tcase, test_siblings);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(sibling_suite)
