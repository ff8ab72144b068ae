/* Transfers by data sheet: what is carried over, and how; what GPUs are called.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/folder.h"
#include "estimator/calibrate/transfer.h"
#include "estimator/estimator.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"

#define GIB 1073741824.0

/* Round numbers: 2e12 B/s over 100 SMs at 1 GHz are 20 bytes a cycle each. */
static const RaGpu from_gpu = {.name = "h100-sxm",
                               .rows = "h100",
                               .architecture = "hopper",
                               .sms = 100,
                               .clock_hz = 1e9,
                               .fp32_lanes = 128,
                               .exponentials = 16};
static const RaSheet from_sheet = {80 * GIB, 2e12, 1e15, 2e15,
                                   4e11,     5e10, 1e-5};

/* A base whose coefficients are no start of a fit, with two tables. */
static RaProfile *
new_base(void)
{
  static const struct {
    const char *law, *name;
    double value;
  } set[] = {{"gemm.bf16", "floor-s", 4e-6},
             {"gemm.bf16", "peak-frac", 0.5},
             {"gemm.bf16", "bandwidth-frac", 0.5},
             {"gemm.bf16", "serial-frac", 0},
             {"gemm.bf16", "ramp-k", 0},
             {"memory.norm", "floor-s", 1e-6},
             {"memory.norm", "base-s", 0},
             {"memory.norm", "bandwidth-frac", 0.4},
             {"memory.add", "floor-s", 1e-6},
             {"memory.add", "base-s", 0},
             {"memory.add", "bandwidth-frac", 0.8},
             {"all-reduce", "low-latency-8-s", 6e-6},
             {"inter-node", "low-latency-s", 7e-6}};
  static const char *const tables[] = {"gemm.bf16", "decode-attention"};
  RaProfile *base = ra_transfer_start(&from_gpu, &from_sheet);

  for (guint i = 0; i < G_N_ELEMENTS(set); i++) {
    const RaLaw *law = ra_profile_law(base, set[i].law);

    for (guint c = 0; c < law->n_coefficients; c++)
      if (strcmp(law->coefficients[c].name, set[i].name) == 0)
        law->coefficients[c].value = set[i].value;
  }
  for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
    RaLaw *law = (RaLaw *)(gpointer)ra_profile_law(base, tables[i]);
    double knots[] = {1, 2};

    law->grid = ra_grid_new();
    ra_grid_add_axis(law->grid, i == 0 ? "m" : "length", knots, 2);
    ra_grid_sample(law->grid, &knots[1], 0.25);
    ra_grid_fill(law->grid);
  }
  return base;
}

static double
coefficient(const RaProfile *profile, const char *law, const char *name)
{
  double value = -1;

  ck_assert(
      ra_law_get(profile, ra_profile_law(profile, law), name, &value, NULL));
  return value;
}

static double
op_s(RaProfile *profile, RaOp op)
{
  RaCluster cluster = {
      .n_nodes = 1, .gpus_per_node = 8, .device = profile->spec};
  g_autoptr(RaEstimator) estimator = NULL;

  /* The tables are of few axes; what counts here is the law. */
  for (guint i = 0; i < profile->n_laws; i++)
    g_clear_pointer(&profile->laws[i].grid, ra_grid_free);
  estimator = ra_estimator_new(profile, &cluster, NULL);
  ck_assert_ptr_nonnull(estimator);
  return ra_estimator_op_s(estimator, &op);
}

static const RaOp skinny = {.kind = RA_OP_GEMM,
                            .dtype = RA_DTYPE_BF16,
                            .count = 1,
                            .dim = {1, 16384, 16384, 1}};
static const RaOp square = {.kind = RA_OP_GEMM,
                            .dtype = RA_DTYPE_BF16,
                            .count = 1,
                            .dim = {25600, 25600, 8192, 1}};
static const RaOp norm = {.kind = RA_OP_NORM,
                          .dtype = RA_DTYPE_BF16,
                          .count = 1,
                          .dim = {65536, 8192}};
static const RaOp add = {.kind = RA_OP_ADD,
                         .dtype = RA_DTYPE_BF16,
                         .count = 1,
                         .dim = {65536, 8192}};

/* To its own data sheet: every coefficient, every table. */
static gboolean
is_itself(const RaProfile *base, const RaProfile *made)
{
  for (guint i = 0; i < base->n_laws; i++) {
    const RaLaw *a = &base->laws[i], *b = &made->laws[i];

    for (guint c = 0; c < a->n_coefficients; c++)
      if (fabs(a->coefficients[c].value - b->coefficients[c].value) > 0)
        return FALSE;
    if ((a->grid != NULL) != (b->grid != NULL))
      return FALSE;
  }
  return TRUE;
}

START_TEST(test_itself)
{
  g_autoptr(RaProfile) base = new_base();
  g_autoptr(RaProfile) made =
      ra_transfer_profile(&from_gpu, base, &from_gpu, &from_sheet);
  RaGpu slower = from_gpu;
  g_autoptr(RaProfile) other = NULL;

  ck_assert(is_itself(base, made));
  ck_assert_double_eq(ra_profile_law(made, "gemm.bf16")->grid->cells[1].mean,
                      0.25f);
  /* The fault: another clock is not itself. */
  slower.clock_hz = 0.9e9;
  other = ra_transfer_profile(&from_gpu, base, &slower, &from_sheet);
  ck_assert(!is_itself(base, other));
}
END_TEST

/* Twice the bandwidth, 40 bytes a cycle and SM:
 *
 *     product     its share stays: beyond the floor half the time
 *     sum         the same
 *     norm        its share falls by sqrt(2): 1 / sqrt(2) of the time
 *     square one  compute: 25600 / 128 = 200 and 25600 / 256 = 100 tiles are
 *                 200 whole waves of 100: 2 m n k / (1e15 0.5), as before */
START_TEST(test_bandwidth)
{
  RaSheet twice = from_sheet;
  g_autoptr(RaProfile) base = new_base();
  g_autoptr(RaProfile) made = NULL;
  double before_s, compute_s = 2 * 25600. * 25600 * 8192 / 5e14 + 4e-6;

  twice.memory_bytes_per_s *= 2;
  made = ra_transfer_profile(&from_gpu, base, &from_gpu, &twice);
  before_s = op_s(base, skinny) - 4e-6;
  ck_assert_double_eq_tol((op_s(made, skinny) - 4e-6) / before_s, 0.5, 1e-12);
  ck_assert_double_eq_tol(op_s(made, add) / op_s(base, add), 0.5, 1e-12);
  ck_assert_double_eq_tol(op_s(made, norm) / op_s(base, norm), sqrt(0.5),
                          1e-12);
  ck_assert_double_eq_tol(op_s(base, square), compute_s, 1e-9);
  ck_assert_double_eq_tol(op_s(made, square), compute_s, 1e-9);
  /* The fault: with the same bandwidth nothing is quicker. */
  g_clear_pointer(&made, ra_profile_free);
  made = ra_transfer_profile(&from_gpu, base, &from_gpu, &from_sheet);
  ck_assert_double_gt((op_s(made, skinny) - 4e-6) / before_s, 0.99);
}
END_TEST

/* Half the clock: kernels and collectives in a node start twice as slowly, the
 * network and the peak of the data sheet stay. */
START_TEST(test_clock)
{
  RaGpu slow = from_gpu;
  g_autoptr(RaProfile) base = new_base();
  g_autoptr(RaProfile) made = NULL;

  slow.clock_hz = 0.5e9;
  made = ra_transfer_profile(&from_gpu, base, &slow, &from_sheet);
  ck_assert_double_eq_tol(coefficient(made, "gemm.bf16", "floor-s"), 8e-6,
                          1e-18);
  ck_assert_double_eq_tol(coefficient(made, "all-reduce", "low-latency-8-s"),
                          12e-6, 1e-18);
  ck_assert_double_eq_tol(coefficient(made, "inter-node", "low-latency-s"),
                          7e-6, 1e-18);
  ck_assert_double_eq_tol(coefficient(made, "gemm.bf16", "peak-frac"), 0.5,
                          1e-18);
}
END_TEST

/* Other multiprocessors or kernels leave all tables behind; a twentieth more of
 * them does not. */
START_TEST(test_tables)
{
  RaGpu fewer = from_gpu, newer = from_gpu, close = from_gpu;
  g_autoptr(RaProfile) base = new_base();
  g_autoptr(RaProfile) cut = NULL, next = NULL, kept = NULL;

  close.sms = 105;
  kept = ra_transfer_profile(&from_gpu, base, &close, &from_sheet);
  ck_assert_ptr_nonnull(ra_profile_law(kept, "gemm.bf16")->grid);
  ck_assert_double_eq(coefficient(kept, "gemm.bf16", "sms"), 105);
  g_clear_pointer(&kept, ra_profile_free);
  close.sms = 106;
  kept = ra_transfer_profile(&from_gpu, base, &close, &from_sheet);
  ck_assert_ptr_null(ra_profile_law(kept, "gemm.bf16")->grid);
  fewer.sms = 80;
  newer.architecture = "blackwell";
  cut = ra_transfer_profile(&from_gpu, base, &fewer, &from_sheet);
  next = ra_transfer_profile(&from_gpu, base, &newer, &from_sheet);
  ck_assert_double_eq(coefficient(cut, "gemm.bf16", "sms"), 80);
  ck_assert_ptr_null(ra_profile_law(cut, "gemm.bf16")->grid);
  ck_assert_ptr_null(ra_profile_law(next, "gemm.bf16")->grid);
  ck_assert_ptr_null(ra_profile_law(cut, "decode-attention")->grid);
  ck_assert_ptr_null(ra_profile_law(next, "decode-attention")->grid);
}
END_TEST

/* A share above its bound of 1 is not made by a transfer: 0.8 x sqrt(20 / 5)
 * would be 1.6. */
START_TEST(test_bound)
{
  RaSheet quarter = from_sheet;
  g_autoptr(RaProfile) base = new_base();
  g_autoptr(RaProfile) made = NULL;
  const RaLaw *law = ra_profile_law(base, "memory.norm");

  for (guint c = 0; c < law->n_coefficients; c++)
    if (strcmp(law->coefficients[c].name, "bandwidth-frac") == 0)
      law->coefficients[c].value = 0.8;
  quarter.memory_bytes_per_s /= 4;
  made = ra_transfer_profile(&from_gpu, base, &from_gpu, &quarter);
  ck_assert_double_eq(coefficient(made, "memory.norm", "bandwidth-frac"), 1);
}
END_TEST

/* A score of 60 elements beside its products, where 4 elements are 4 FLOP and a
 * multiprocessor does 1e15 / (100 1e9) = 10^4 FLOP a cycle, 2500 elements:
 * 0.024 cycles.  FlashAttention 3 hides exponentials, so on 128 lanes that
 * is 3.072 fp32 operations.  On a GPU of half the peak, 64 lanes and
 * FlashAttention 2: 3.072 / 64 + 1 / 16 = 0.1105 cycles of 1250 elements; and
 * back. */
START_TEST(test_scores)
{
  RaGpu hidden = from_gpu, shown = from_gpu;
  RaSheet half = from_sheet;
  g_autoptr(RaProfile) base = new_base();
  g_autoptr(RaProfile) made = NULL, back = NULL;

  hidden.flash = 3;
  hidden.fp32_lanes = 128;
  shown.flash = 2;
  shown.fp32_lanes = 64;
  half.bf16_flop_per_s /= 2;
  made = ra_transfer_profile(&hidden, base, &shown, &half);
  back = ra_transfer_profile(&shown, made, &hidden, &from_sheet);
  ck_assert_double_eq_tol(coefficient(base, "attention", "head-dim-half"), 60,
                          1e-12);
  ck_assert_double_eq_tol(coefficient(made, "attention", "head-dim-half"),
                          0.1105 * 1250, 1e-9);
  ck_assert_double_eq_tol(coefficient(back, "attention", "head-dim-half"), 60,
                          1e-9);
  ck_assert_double_eq(coefficient(made, "attention", "flash"), 2);
  /* The fault: as it is, or by the peak alone. */
  ck_assert_double_gt(
      fabs(coefficient(made, "attention", "head-dim-half") - 60), 1);
  ck_assert_double_gt(
      fabs(coefficient(made, "attention", "head-dim-half") - 30), 1);
}
END_TEST

START_TEST(test_names)
{
  static const char *const called[][2] = {
      {"NVIDIA H100 80GB HBM3", "h100-sxm"},
      {"h100_sxm", "h100-sxm"},
      {"H100", "h100-sxm"},
      {"A100-SXM4-80GB", "a100-sxm"},
      {"rtxpro6000", "rtx-pro-6000"},
      {"L40S", "l40s"},
      {"RTX 6000 Pro Blackwell SE", "rtx-pro-6000"},
      {"gb200", "gb200"},
      {"b200_sxm", "b200-sxm"}};

  for (guint i = 0; i < G_N_ELEMENTS(called); i++) {
    const RaGpu *gpu = ra_gpu_find(called[i][0]);

    ck_assert_msg(gpu != NULL, "%s", called[i][0]);
    ck_assert_str_eq(gpu->name, called[i][1]);
  }
  ck_assert_ptr_null(ra_gpu_find("x900"));
  ck_assert_ptr_null(ra_gpu_find(""));
  /* Each is found by its own names, and has a shipped profile on whose data
   * sheet it says the same. */
  for (guint i = 0; i < ra_gpu_n(); i++) {
    const RaGpu *gpu = ra_gpu_at(i);
    g_autoptr(RaProfile) p = profile_text_shipped(gpu->name);

    ck_assert_ptr_eq(ra_gpu_find(gpu->name), gpu);
    ck_assert_ptr_eq(ra_gpu_find(gpu->rows), gpu);
    ck_assert_ptr_nonnull(ra_gpu_find(gpu->links));
    ck_assert_str_eq(p->device, gpu->name);
    ck_assert((p->base != NULL) == (gpu->bases != NULL));
    if (gpu->cited)
      ck_assert_double_eq_tol(p->spec.bf16_flop_per_s,
                              gpu->sheet.bf16_flop_per_s,
                              1e-5 * p->spec.bf16_flop_per_s);
  }
}
END_TEST

static void
write_file(const char *folder, const char *below, const char *name,
           const char *text)
{
  g_autofree char *dir = g_build_filename(folder, below, NULL);
  g_autofree char *path = g_build_filename(dir, name, NULL);

  ck_assert_int_eq(g_mkdir_with_parents(dir, 0700), 0);
  ck_assert(g_file_set_contents(path, text, -1, NULL));
}

/* Cards that meet over PCIe: the L40S's pairs and short messages, and beyond
 * them what four A100 cards take, 8 in 6/7 of the vector ((2 3 / 4) / (2 7 /
 * 8)), and a gather in half the time of an all-reduce. */
START_TEST(test_pcie)
{
  static const struct {
    double bytes, ranks, us;
  } expected[] = {
      {1 << 20, 2, 70}, {1024, 8, 20}, {7e6, 4, 200}, {6e6, 8, 200}};
  g_autofree char *folder = g_dir_make_tmp("reallot-pcie-XXXXXX", NULL);
  const char *data[] = {folder, NULL};
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GArray) own = NULL;

  write_file(folder, "comm_nccl", "aic_nccl_intranode.csv",
             "gpu,nccl_dir,collective,dtype,num_gpus,bytes,time_us\n"
             "l40s,2.27.3,all_gather,half,2,1048576,70\n"
             "l40s,2.27.3,all_gather,half,8,1024,20\n"
             "l40s,2.27.3,all_gather,half,8,1048576,900\n"
             "a100,2.27.3,all_gather,half,8,1024,9\n");
  write_file(folder, "comm_vidur", "network.csv",
             "system,collective,num_workers,devices_per_node,bytes,median_us\n"
             "a100_pairwise_nvlink,all_reduce,4,4,7000000,400\n"
             "a100_pairwise_nvlink,all_reduce,2,2,7000000,60\n"
             "h100_pairwise_nvlink,all_reduce,4,4,7000000,300\n"
             "a100_dgx,all_reduce,4,4,7000000,50\n");
  rows = ra_measured_rows(data, "all-gather", "a100-pcie", NULL);
  ck_assert_ptr_nonnull(rows);
  ck_assert_uint_eq(rows->len, G_N_ELEMENTS(expected));
  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    ck_assert_int_eq(row->op.kind, RA_OP_ALL_GATHER);
    ck_assert_double_eq_tol((double)row->op.dim[0], expected[i].bytes, 0.5);
    ck_assert_double_eq_tol((double)row->op.dim[1], expected[i].ranks, 0.5);
    ck_assert_double_eq_tol(row->measured_s, expected[i].us * 1e-6, 1e-12);
  }
  /* The box itself has its own rows alone. */
  own = ra_measured_rows(data, "all-gather", "l40s", NULL);
  ck_assert_uint_eq(own->len, 3);
  ra_folder_remove(folder);
}
END_TEST

/* A card on PCIe 5 takes the share of its slot that the A100 got of PCIe 4:
 * comm_vidur has such a node of H100, which nothing was fitted on; 66846720
 * bytes over 4 take 2055 us there.  The A100's own sizes, left out in turn, are
 * hit within 3.7 % (error-p90 of the law): so much for its share, and so much
 * again for the share of another node.  PCIe 4 would be a factor of 2 off. */
START_TEST(test_pcie_5)
{
  g_autoptr(RaProfile) p = profile_text_shipped("h100-pcie");
  RaOp op = {.kind = RA_OP_ALL_REDUCE, .count = 1, .dim = {66846720, 4, 4, 1}};

  ck_assert_double_eq_tol(op_s(p, op), 2055e-6, 2 * 0.037 * 2055e-6);
}
END_TEST

/* The same score with tensor cores of twice the width and twice the rows: 0.012
 * cycles of 5,000 elements, with twice the special units 0.006.  A tile takes
 * half.  The fault: cycles that stay make 120. */
START_TEST(test_rows)
{
  RaGpu hopper = from_gpu, blackwell = from_gpu;
  RaSheet twice = from_sheet;
  g_autoptr(RaProfile) base = new_base();
  g_autoptr(RaProfile) made = NULL, ultra = NULL;
  double tile_s = coefficient(base, "attention", "tile-s");

  hopper.flash = blackwell.flash = 3;
  blackwell.architecture = RA_GPU_BLACKWELL;
  twice.bf16_flop_per_s *= 2;
  made = ra_transfer_profile(&hopper, base, &blackwell, &twice);
  blackwell.exponentials = 32;
  ultra = ra_transfer_profile(&hopper, base, &blackwell, &twice);
  ck_assert_double_eq_tol(coefficient(made, "attention", "head-dim-half"), 60,
                          1e-9);
  ck_assert_double_eq_tol(coefficient(ultra, "attention", "head-dim-half"), 30,
                          1e-9);
  ck_assert_double_gt(tile_s, 0);
  ck_assert_double_eq_tol(coefficient(made, "attention", "tile-s"), tile_s / 2,
                          1e-9 * tile_s);
}
END_TEST

static Suite *
transfer_suite(void)
{
  Suite *suite = suite_create("transfer");
  TCase *tc = tcase_create("core");

  tcase_add_test(tc, test_itself);
  tcase_add_test(tc, test_bandwidth);
  tcase_add_test(tc, test_clock);
  tcase_add_test(tc, test_tables);
  tcase_add_test(tc, test_bound);
  tcase_add_test(tc, test_scores);
  tcase_add_test(tc, test_rows);
  tcase_add_test(tc, test_names);
  tcase_add_test(tc, test_pcie);
  tcase_add_test(tc, test_pcie_5);
  suite_add_tcase(suite, tc);
  return suite;
}

RA_CHECK_MAIN(transfer_suite)
