/* Fitting gives back what it was fitted on: fit(simulate(profile)) = profile.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/folder.h"
#include "estimator/estimator.h"
#include "estimator/fit.h"
#include "estimator/robust.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"

/* A profile whose laws are none of the starts of the fits (estimator/fit_law.c)
 * but within their bounds. */
static RaProfile *
truth(void)
{
  return profile_text_load(
      "device.memory-bandwidth=1e12 B/s", "device.bf16=1e15 FLOP/s",
      "device.intra-node=1e11 B/s", "gemm.bf16.sms=100", "gemm.bf16.tile-m=128",
      "gemm.bf16.tile-n=256", "gemm.bf16.floor-s=4e-6",
      "gemm.bf16.peak-frac=0.6", "gemm.bf16.split-k=2000",
      "gemm.bf16.wave-frac=0.7", "gemm.bf16.ramp-k=300",
      "gemm.bf16.small-tile-frac=0.8", "gemm.bf16.bandwidth-frac=0.7",
      "gemm.bf16.serial-frac=0.3", "decode-attention.sms=100",
      "decode-attention.flash=3", "decode-attention.cache-bytes=1e7",
      "decode-attention.floor-s=2e-5", "decode-attention.launch-s=5e-6",
      "decode-attention.split-s=3e-7", "decode-attention.block-s=3e-6",
      "decode-attention.tile-s=5e-6", "decode-attention.bandwidth-frac=0.6",
      "memory.norm.floor-s=5e-6", "memory.norm.base-s=2e-6",
      "memory.norm.bandwidth-frac=0.4", NULL);
}

/* The time of @op under @profile, as a measured row. */
static void
simulate(const RaProfile *profile, RaOp op, uint64_t line, uint64_t other_line,
         GArray *rows)
{
  RaCluster cluster = {.n_nodes = 2,
                       .gpus_per_node = 8,
                       .nics_per_node = 8,
                       .nic_bytes_per_s = 1e10,
                       .device = profile->spec};
  g_autoptr(RaEstimator) e = ra_estimator_new(profile, &cluster, NULL);
  RaMeasured row = {.op = op, .line = {line, other_line}};

  ck_assert_ptr_nonnull(e);
  row.op.count = 1;
  row.measured_s = ra_estimator_op_s(e, &row.op);
  g_array_append_val(rows, row);
}

static GArray *
gemm_rows(const RaProfile *profile)
{
  static const uint64_t sizes[] = {128, 512, 1024, 3072, 8192, 16384};
  static const uint64_t ms[] = {1,   8,    64,   65,   200,  384,
                                640, 1024, 1500, 2049, 4096, 8192};
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (guint i = 0; i < G_N_ELEMENTS(ms); i++)
    for (guint j = 0; j < G_N_ELEMENTS(sizes); j++)
      for (guint k = 0; k < G_N_ELEMENTS(sizes); k++) {
        RaOp op = {.kind = RA_OP_GEMM,
                   .dtype = RA_DTYPE_BF16,
                   .dim = {ms[i], sizes[j], sizes[k], 1}};

        simulate(profile, op, sizes[j], sizes[k], rows);
      }
  return rows;
}

static GArray *
decode_rows(const RaProfile *profile)
{
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (uint64_t s = 1; s <= 512; s *= 2)
    for (uint64_t length = 2; length <= 32768; length *= 4)
      for (uint64_t q = 4; q <= 64; q *= 2)
        for (uint64_t kv = 1; kv <= 8 && kv <= q; kv *= 2) {
          RaOp op = {.kind = RA_OP_DECODE_ATTENTION,
                     .dtype = RA_DTYPE_BF16,
                     .dim = {s, s, s * length, s * length, q, kv, 128}};

          simulate(profile, op, q, 0, rows);
        }
  return rows;
}

static GArray *
norm_rows(const RaProfile *profile)
{
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (uint64_t tokens = 1; tokens <= 65536; tokens *= 2)
    for (uint64_t width = 1024; width <= 16384; width *= 2) {
      RaOp op = {
          .kind = RA_OP_NORM, .dtype = RA_DTYPE_BF16, .dim = {tokens, width}};

      simulate(profile, op, width, width, rows);
    }
  return rows;
}

/* The largest relative difference of a fitted coefficient of @name between
 * @a and @b. */
static double
distance(const RaProfile *a, const RaProfile *b, const char *name)
{
  const RaFitLaw *law = ra_fit_law(name);
  double worst = 0;

  for (guint i = 0; i < law->n_coefficients; i++) {
    double x, y;

    ck_assert(ra_law_get(a, ra_profile_law(a, name), law->coefficients[i].name,
                         &x, NULL));
    ck_assert(ra_law_get(b, ra_profile_law(b, name), law->coefficients[i].name,
                         &y, NULL));
    worst = MAX(worst, fabs(x / y - 1));
  }
  return worst;
}

/* Fits @name of another profile on @rows and compares it with @profile. */
static double
refit(const RaProfile *profile, const char *name, const GArray *rows,
      guint *out_outliers)
{
  g_autoptr(RaProfile) other = truth();
  RaFitResult result;

  ra_fit_coefficients(ra_fit_law(name), other, rows, &result);
  *out_outliers = result.n_outliers;
  return distance(profile, other, name);
}

typedef GArray *(*Rows)(const RaProfile *profile);

static const struct {
  const char *law;
  Rows rows;
} cases[] = {{"gemm.bf16", gemm_rows},
             {"decode-attention", decode_rows},
             {"memory.norm", norm_rows}};

/* Coefficients come back to 1 %, also where every 17th row is 5 times too slow:
 * those, and no others, are outliers.  A law that was simulated with another
 * coefficient does not fit. */
START_TEST(test_back)
{
  g_autoptr(RaProfile) profile = truth();
  const char *name = cases[_i].law;
  g_autoptr(GArray) rows = cases[_i].rows(profile);
  guint n_outliers, n_slow = 0;
  double worst = refit(profile, name, rows, &n_outliers);

  ck_assert_msg(worst < 0.01, "%s: %g", name, worst);
  for (guint i = 0; i < rows->len; i += 17, n_slow++)
    g_array_index(rows, RaMeasured, i).measured_s *= 5;
  worst = refit(profile, name, rows, &n_outliers);
  ck_assert_msg(worst < 0.01, "%s with outliers: %g", name, worst);
  ck_assert_uint_ge(n_outliers, n_slow);
  /* Faulty: all of them twice as slow is another law. */
  for (guint i = 0; i < rows->len; i++)
    g_array_index(rows, RaMeasured, i).measured_s *= 2;
  ck_assert_double_gt(refit(profile, name, rows, &n_outliers), 0.1);
}
END_TEST

/* A table: rows that are 10 % slower than the law at n = 1024 and at no other
 * n.  The law with its table then has every row; left out, n = 1024 is
 * predicted from its neighbours, 9 % too quick, and the others near it
 * are not. */
START_TEST(test_table)
{
  g_autoptr(RaProfile) profile = truth();
  const RaFitLaw *law = ra_fit_law("gemm.bf16");
  g_autoptr(GArray) rows = gemm_rows(profile);
  g_autoptr(GArray) errors = NULL;
  g_autoptr(GArray) again = NULL;
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, "gemm.bf16");
  guint table, n_quick = 0;

  for (guint i = 0; i < rows->len; i++)
    if (g_array_index(rows, RaMeasured, i).op.dim[1] == 1024)
      g_array_index(rows, RaMeasured, i).measured_s *= 1.1;
  target->grid = ra_fit_table(law, profile, rows, law->tables[0]);
  again = gemm_rows(profile);
  for (guint i = 0; i < rows->len; i++)
    ck_assert_double_eq_tol(g_array_index(again, RaMeasured, i).measured_s /
                                g_array_index(rows, RaMeasured, i).measured_s,
                            1, 1e-6);
  errors = ra_fit_cross(law, profile, rows, &table);
  ck_assert_uint_eq(table, 1);
  ck_assert_uint_eq(errors->len, 2 * rows->len); /* by n and by k */
  for (guint i = 0; i < errors->len; i++) {
    const RaHeldOut *one = &g_array_index(errors, RaHeldOut, i);
    const RaOp *op = &g_array_index(rows, RaMeasured, one->row).op;

    n_quick += one->line == 0 && op->dim[1] == 1024 &&
               fabs(one->error + 1 - 1 / 1.1) < 0.02;
  }
  ck_assert_uint_ge(n_quick, 60); /* of 72 */
  /* The table and the coefficients are those from before. */
  ck_assert_ptr_nonnull(target->grid);
}
END_TEST

/* Merging the same rows, 20 % slower, into the table of the first: every cell
 * has two samples, their mean 0.5 ln 1.2 above the first and that deviation;
 * a row of another m adds a knot.  A wrong factor shows. */
START_TEST(test_merge)
{
  g_autoptr(RaProfile) profile = truth();
  const RaFitLaw *law = ra_fit_law("gemm.bf16");
  g_autoptr(GArray) rows = gemm_rows(profile);
  RaOp op = {
      .kind = RA_OP_GEMM, .dtype = RA_DTYPE_BF16, .dim = {777, 128, 128, 1}};
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, "gemm.bf16");
  g_autoptr(RaGrid) merged = NULL;
  guint n_two = 0, n_one = 0;

  ck_assert_ptr_null(ra_fit_merge(law, profile, rows));
  target->grid = ra_fit_table(law, profile, rows, law->tables[0]);
  for (guint i = 0; i < rows->len; i++)
    g_array_index(rows, RaMeasured, i).measured_s *= 1.2;
  simulate(profile, op, 128, 128, rows);
  merged = ra_fit_merge(law, profile, rows);
  ck_assert_ptr_nonnull(merged);
  ck_assert_uint_eq(merged->axes[0].n_knots, target->grid->axes[0].n_knots + 1);
  for (gsize i = 0; i < merged->n_cells; i++) {
    const RaGridCell *cell = &merged->cells[i];

    n_one += cell->n == 1;
    if (cell->n != 2)
      continue;
    n_two++;
    ck_assert_double_eq_tol(cell->mean, 0.5 * log(1.2), 1e-5);
    ck_assert_double_eq_tol(cell->deviation, 0.5 * log(1.2), 1e-5);
    ck_assert(fabs(cell->mean - 0.5 * log(1.3)) > 1e-2);
  }
  ck_assert_uint_eq(n_two, rows->len - 1);
  ck_assert_uint_eq(n_one, 1);
}
END_TEST

/* Quantiles and the scale by hand: of 3, 1, 2, 4 the 0.5-quantile is the 2nd,
 * the 0.9-quantile the 4th; 1.4826 times the median 2 of the sizes. */
START_TEST(test_statistics)
{
  double v[] = {3, 1, 2, 4}, r[] = {-3, 1, -2, 4};

  ck_assert_double_eq(ra_robust_quantile(v, 4, 0.5), 2);
  ck_assert_double_eq(ra_robust_quantile(v, 4, 0.9), 4);
  ck_assert_double_eq(ra_robust_quantile(v, 0, 0.9), 0);
  ck_assert_double_eq_tol(ra_robust_scale(r, 4), 1.4826 * 2, 1e-12);
}
END_TEST

static void
write_rows(const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *parent = g_path_get_dirname(path);

  g_mkdir_with_parents(parent, 0700);
  ck_assert(g_file_set_contents(path, text, -1, NULL));
}

static const struct {
  const char *source;
  double us[2];
  uint64_t dim[5];
} eight_bits[] = {{"cast", {3, 4}, {8192, 1, 1, 0, 2048}},
                  {"decode-attention.fp8", {7}, {2, 2, 2000, 2000, 8}},
                  {"decode-attention.wide", {60, 71}, {2, 2, 128, 128, 8}},
                  {"attention.wide", {11, 12}, {2, 2000, 2000, 123968, 8}},
                  {"attention.fp8", {21, 22}, {2, 2000, 2000, 123968, 8}},
                  {"latent-decode.fp8", {9}, {2, 2, 2000, 2000, 16}},
                  {"latent-decode.fp8.sglang", {19}, {2, 2, 2000, 2000, 16}},
                  {"latent-attention.fp8", {13}, {1, 4, 4, 10, 16}},
                  {"latent-attention.fp8.sglang", {14}, {1, 4, 4, 10, 16}},
                  {"latent-absorbed.fp8", {15}, {1, 4, 4, 10, 16}}};

/* Rows of 8 bits: a cast of 4 x 2048 alone, and with the search for its scale
 * after it; none of 512 columns.  Decode steps of fp8 caches: no windows,
 * no heads of 256, and none of the files of 16 bits.  Of those decode steps of
 * heads of 256 or in a window, and prompts in a window of 64 or
 * of heads of 256; 1,000 tokens in a window of 1,024, and whole steps of heads
 * of 128, are others.  Prompts of SGLang are whole in one kernel, on the cache
 * in the others, but for those of a token, which are steps. */
START_TEST(test_eight_bits)
{
  g_autofree char *folder = g_dir_make_tmp("rows-XXXXXX", NULL);
  const char *data[] = {folder, NULL};

  write_rows(folder, "kernels_quantize/scalematrix_h100_fp8.csv",
             "m,k,latency_us\n4,2048,3\n4,512,2\n");
  write_rows(folder, "kernels_quantize/computescale_h100_fp8.csv",
             "m,k,latency_us\n4,512,1\n4,2048,1\n8,2048,1\n");
  write_rows(folder, "kernels_attention_wide/decode_h100_fp8kv.csv",
             "batch,kv_len,q_heads,kv_heads,head_dim,window,latency_us\n"
             "2,1000,8,2,128,0,7\n2,1000,8,2,128,64,6\n2,1000,8,2,256,0,8\n");
  write_rows(folder, "kernels_attention_wide/decode_h100_bf16.csv",
             "batch,kv_len,q_heads,kv_heads,head_dim,window,latency_us\n"
             "2,1000,8,2,128,0,70\n2,1000,8,2,128,64,60\n"
             "2,1000,8,2,256,0,71\n");
  write_rows(folder, "kernels_attention_wide/prefill_h100_bf16.csv",
             "batch,seq_q_eq_kv,q_heads,kv_heads,head_dim,window,latency_us\n"
             "2,1000,8,2,128,64,11\n2,1000,8,2,128,1024,10\n"
             "2,1000,8,2,256,0,12\n");
  write_rows(folder, "kernels_mla/mladecode_h100_fp8kv.csv",
             "batch,kv_len,heads,latency_us\n2,1000,16,9\n");
  write_rows(folder, "kernels_mla/mladecode_h100_bf16.csv",
             "batch,kv_len,heads,latency_us\n2,1000,16,90\n");
  write_rows(folder, "kernels_mla_sglang/mladecode_h100_fp8kv.csv",
             "batch,kv_len,heads,latency_us\n2,1000,16,19\n");
  write_rows(folder, "kernels_mla/mlaprefill_h100_fp8kv.csv",
             "batch,seq_q_eq_kv,heads,latency_us,kernel\n1,4,16,13,default\n");
  write_rows(folder, "kernels_mla_sglang/mlaprefill_h100_fp8kv.csv",
             "batch,seq_q_eq_kv,heads,latency_us,kernel\n"
             "1,4,16,15,flash_attention\n1,1,16,16,flash_attention\n"
             "1,4,16,14,trtllm_mla\n");
  write_rows(folder, "kernels_attention_wide/prefill_h100_fp8kv.csv",
             "batch,seq_q_eq_kv,q_heads,kv_heads,head_dim,window,latency_us\n"
             "2,1000,8,2,128,64,21\n2,1000,8,2,256,0,22\n");
  for (guint i = 0; i < G_N_ELEMENTS(eight_bits); i++) {
    g_autoptr(GArray) rows =
        ra_measured_rows(data, eight_bits[i].source, "h100", NULL);

    ck_assert(rows != NULL);
    ck_assert_uint_eq(rows->len, eight_bits[i].us[1] > 0 ? 2 : 1);
    for (guint n = 0; n < rows->len; n++) {
      const RaMeasured *row = &g_array_index(rows, RaMeasured, n);

      ck_assert_double_eq(row->measured_s, eight_bits[i].us[n] * 1e-6);
      for (guint d = 0; n == 0 && d < 5; d++)
        ck_assert_uint_eq(row->op.dim[d], eight_bits[i].dim[d]);
      ck_assert(!strstr(eight_bits[i].source, "fp8") ||
                row->op.dtype == RA_DTYPE_FP8);
    }
  }
  ra_folder_remove(folder);
}
END_TEST

/* Tokens that DeepEP exchanges as SGLang calls it: 4 of 256 elements, each to 2
 * of 8 experts on 4 ranks, which meet 4 (1 - C(6,2) / C(8,2)) = 13/7 of them:
 * fp8 with 4 bytes of scales for 128 elements there, 264 a row, and 16 bits
 * back, 512; of low latency 2 copies.  Other engines' rows are left out.
 * In an NVLink domain 16 ranks with an expert each, of which 2 are met: NVFP4
 * with 16 bytes of scales, 144 a row, its counts before it; 8 ranks, which
 * DeepEP reaches, and what comes back in fewer bits are left out. */
START_TEST(test_exchanges)
{
  static const struct {
    const char *source;
    double us, copies, row_bytes;
    uint64_t sms, ranks;
  } wanted[] = {{"tokens.dispatch", 5, 13.0 / 7, 264, 20, 4},
                {"tokens.combine", 6, 13.0 / 7, 512, 24, 4},
                {"tokens.dispatch-low", 7, 2, 264, 0, 4},
                {"tokens.combine-low", 8, 2, 512, 0, 4},
                {"tokens.dispatch-domain", 11, 2, 144, RA_OP_EXCHANGE_SMS, 16},
                {"tokens.combine-domain", 3, 2, 512, RA_OP_EXCHANGE_SMS, 16}};
  g_autofree char *folder = g_dir_make_tmp("rows-XXXXXX", NULL);
  const char *data[] = {folder, NULL};

  write_rows(folder, "comm_moe_a2a/a2a_h100.csv",
             "backend,phase,ep,hidden,topk,experts,tokens_per_rank,sms,"
             "latency_us,framework,dtype\n"
             "deepep_ht,dispatch,4,256,2,8,4,20,5,sglang,default\n"
             "deepep_ht,combine,4,256,2,8,4,24,6,sglang,default\n"
             "deepep_ll,dispatch,4,256,2,8,4,0,7,sglang,default\n"
             "deepep_ll,combine,4,256,2,8,4,0,8,sglang,default\n"
             "deepep_ht,dispatch,4,256,2,8,4,20,9,vllm,default\n"
             "trtllm_deepep_ht,combine,4,256,2,8,4,0,9,trtllm,bfloat16\n"
             "NVLinkTwoSided,prepare,16,256,2,16,4,0,1,trtllm,nvfp4\n"
             "NVLinkTwoSided,dispatch,16,256,2,16,4,0,10,trtllm,nvfp4\n"
             "NVLinkTwoSided,dispatch,8,256,2,16,4,0,2,trtllm,nvfp4\n"
             "NVLinkTwoSided,combine,16,256,2,16,4,0,3,trtllm,nvfp4\n"
             "NVLinkTwoSided,combine_low_precision,16,256,2,16,4,0,1,trtllm,"
             "nvfp4\n");
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
    g_autoptr(GArray) rows =
        ra_measured_rows(data, wanted[i].source, "h100", NULL);
    const RaOp *op;

    ck_assert(rows && rows->len == 1);
    op = &g_array_index(rows, RaMeasured, 0).op;
    ck_assert_double_eq_tol(g_array_index(rows, RaMeasured, 0).measured_s,
                            wanted[i].us * 1e-6, 1e-12);
    ck_assert_uint_eq(op->kind, RA_OP_ALL_TO_ALL);
    ck_assert_double_eq_tol((double)op->dim[0],
                            4 * wanted[i].copies * wanted[i].row_bytes, 0.5);
    ck_assert_uint_eq(op->dim[1], wanted[i].ranks);
    ck_assert_uint_eq(op->dim[2], wanted[i].ranks);
    ck_assert_double_eq((double)op->dim[4], wanted[i].row_bytes);
    ck_assert_uint_eq(op->dim[5], 4);
    ck_assert_uint_eq(op->dim[6], wanted[i].sms);
    ck_assert_uint_eq(op->flags, i % 2 ? RA_OP_ROUTED : 0);
  }
  ra_folder_remove(folder);
}
END_TEST

/* All-reduces of engines: of 16-bit elements, in graphs, by the first word of
 * the kernel's name, of every release; NCCL's are none of them (the fault). */
START_TEST(test_own_sums)
{
  static const struct {
    const char *source;
    guint n;
    double us;
    RaKernels kernels;
  } wanted[] = {{"all-reduce.trtllm", 2, 3, RA_KERNELS_TRTLLM},
                {"all-reduce.sglang", 1, 5, RA_KERNELS_SGLANG},
                {"all-reduce.vllm", 1, 7, RA_KERNELS_VLLM},
                {"all-reduce", 1, 8, RA_KERNELS_COMMON}};
  g_autofree char *folder = g_dir_make_tmp("rows-XXXXXX", NULL);
  const char *data[] = {folder, NULL};

  write_rows(folder, "comm_nccl/aic_custom_allreduce_h100.csv",
             "gpu,kernel,num_gpus,message_size_elems,time_us\n"
             "h100,TRTLLM_trtllm,4,512,3\n"
             "h100,TRTLLM,4,512,4\n"
             "h100,SGLang_CustomAllReduce_graph,4,512,5\n"
             "h100,vLLM_custom_eager,4,512,6\n"
             "h100,vLLM_custom_graph,4,512,7\n"
             "b200,vLLM_custom_graph,4,512,9\n");
  write_rows(folder, "comm_nccl/aic_nccl_intranode.csv",
             "gpu,collective,dtype,num_gpus,bytes,time_us\n"
             "h100,all_reduce,half,4,1024,8\n");
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
    g_autoptr(GArray) rows =
        ra_measured_rows(data, wanted[i].source, "h100", NULL);
    const RaMeasured *row;

    ck_assert(rows && rows->len == wanted[i].n);
    row = &g_array_index(rows, RaMeasured, 0);
    ck_assert_double_eq_tol(row->measured_s, wanted[i].us * 1e-6, 1e-12);
    ck_assert_int_eq(row->kernels, wanted[i].kernels);
    ck_assert_uint_eq(row->op.dim[0], 1024);
    ck_assert_uint_eq(row->op.dim[1], 4);
    ck_assert_uint_eq(row->op.dim[2], 4);
  }
  ra_folder_remove(folder);
}
END_TEST

/* Whole blocks of latent attention, at the op of attention: a decode step on a
 * cache of fp8, a prompt of 4 tokens in 16 bits; none of NVFP4. */
START_TEST(test_blocks)
{
  static const char *const sources[] = {"latent-block-step", "latent-block"};
  static const uint64_t dims[2][4] = {{2, 2, 2000, 2000}, {1, 4, 4, 10}};
  g_autofree char *folder = g_dir_make_tmp("rows-XXXXXX", NULL);
  const char *data[] = {folder, NULL};

  write_rows(folder, "kernels_mla/mlamoduledecode_h100_bf16.csv",
             "model,batch,kv_len,heads,kv_dtype,gemm_dtype,latency_us\n"
             "deepseek-ai/DeepSeek-V3,2,1000,16,fp8,fp8block,5\n"
             "deepseek-ai/DeepSeek-V3,2,1000,16,fp8,nvfp4,4\n");
  write_rows(folder, "kernels_mla/mlamoduleprefill_h100_bf16.csv",
             "model,batch,seq_q,prefix,heads,kv_dtype,gemm_dtype,latency_us\n"
             "deepseek-ai/DeepSeek-V3,1,4,0,16,bf16,bf16,6\n");
  for (guint i = 0; i < 2; i++) {
    g_autoptr(GArray) rows = ra_measured_rows(data, sources[i], "h100", NULL);
    const RaMeasured *row;

    ck_assert(rows && rows->len == 1);
    row = &g_array_index(rows, RaMeasured, 0);
    ck_assert_uint_eq(row->op.kind, i ? RA_OP_LATENT : RA_OP_LATENT_DECODE);
    ck_assert_uint_eq(row->op.dtype, i ? RA_DTYPE_BF16 : RA_DTYPE_FP8);
    ck_assert_uint_eq(row->block.gemm_dtype, i ? RA_DTYPE_BF16 : RA_DTYPE_FP8);
    for (guint d = 0; d < 4; d++)
      ck_assert_uint_eq(row->op.dim[d], dims[i][d]);
  }
  ra_folder_remove(folder);
}
END_TEST

/* The products of 16 heads beside latent attention, before and after it; one
 * head is no batch. */
START_TEST(test_matrices)
{
  static const uint64_t dims[2][4] = {{4, 512, 128, 16}, {4, 128, 512, 16}};
  g_autofree char *folder = g_dir_make_tmp("rows-XXXXXX", NULL);
  const char *data[] = {folder, NULL};
  g_autoptr(GArray) rows = NULL;

  write_rows(folder, "kernels_mla/mlabmm_h100_bf16.csv",
             "op,tokens,heads,latency_us\nmla_gen_pre,4,16,5\n"
             "mla_gen_post,4,16,6\nmla_gen_pre,4,1,3\n");
  rows = ra_measured_rows(data, "latent-matrices", "h100", NULL);
  ck_assert(rows && rows->len == 2);
  for (guint n = 0; n < 2; n++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, n);

    ck_assert_double_eq(row->measured_s, (5 + n) * 1e-6);
    for (guint d = 0; d < 4; d++)
      ck_assert_uint_eq(row->op.dim[d], dims[n][d]);
  }
  ra_folder_remove(folder);
}
END_TEST

static Suite *
calibrate_suite(void)
{
  Suite *suite = suite_create("calibrate");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_back, 0, G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_table);
  tcase_add_test(tcase, test_merge);
  tcase_add_test(tcase, test_statistics);
  tcase_add_test(tcase, test_eight_bits);
  tcase_add_test(tcase, test_exchanges);
  tcase_add_test(tcase, test_own_sums);
  tcase_add_test(tcase, test_matrices);
  tcase_add_test(tcase, test_blocks);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(calibrate_suite)
