/* Laws with tables: factors and decode lines by hand, and what is refused. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimator/calibrate/calibrate_impl.h"
#include "estimator/estimator_impl.h"
#include "estimator/extrapolation.h"
#include "estimator/fit.h"
#include "estimator/robust.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

/* The ideal profile with @table behind it. */
static RaProfile *
with_table(const char *table, GError **error)
{
  g_autofree char *ideal = profile_text(NULL);
  g_autofree char *text = g_strconcat(ideal, table, NULL);
  g_autoptr(RaKeyFile) file = ra_key_file_parse("p", text, strlen(text), error);

  return file ? ra_profile_load(file, error) : NULL;
}

/* A product of 64 x 64 x 64 moves 3 * 4096 elements of 2 bytes at 1e9/s: the
 * law is 24.576 us, 1.5 of that for m = 128: (2 * 8192 + 4096) * 2 = 40.96 us.
 * The table says +0.2 at m = 64 and -0.1 at 128; halfway in log2, at
 * m = 96 (log2 is linear between powers of two), +0.05. */
START_TEST(test_gemm)
{
  g_autoptr(Bench) b = bench_new(
      with_table("[table gemm.bf16]\naxis-1 = m 64 128\naxis-2 = n 64\n"
                 "at-64 = 200 -100\n",
                 NULL));
  RaOp op = bench_op(RA_OP_GEMM, 64, 64, 64, 1);
  double law_s = 24.576e-6;

  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &op),
                          law_s * exp(0.2), law_s * 1e-7);
  op.dim[0] = 128;
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &op),
                          40.96e-6 * exp(-0.1), law_s * 1e-7);
  op.dim[0] = 96;
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &op),
                          (2 * 96 * 64 + 4096) * 2e-9 * exp(0.05),
                          law_s * 1e-7);
  /* Two of 32 rows count as one of 64 (matrices of up to 512 x 512 have another
   * law); TF32 has no table. */
  op = bench_op(RA_OP_GEMM, 32, 64, 1024, 2);
  ck_assert_double_eq_tol(
      ra_estimator_op_s(b->estimator, &op),
      2 * (32 * 1024 + 32 * 64 + 64 * 1024) * 2e-9 * exp(0.2), law_s * 1e-6);
  op = bench_op(RA_OP_GEMM, 64, 64, 64, 1);
  op.dtype = RA_DTYPE_FP32;
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &op), 2 * law_s,
                          law_s * 1e-7);
}
END_TEST

/* A collective of @bytes on @ranks of a node, with a table of @counts, all
 * zero, and a latency of 1 ms for 2 ranks, 7 ms for 8 and 3 ms for 4 where
 * @latency. */
static double
node_s(RaOpKind kind, const char *counts, gboolean latency, uint64_t bytes,
       uint64_t ranks)
{
  static const char *const lines[] = {"low", "mid", "high"};
  static const char *const seconds[] = {"2-s=1e-3", "4-s=3e-3", "8-s=7e-3"};
  const char *law = kind == RA_OP_ALL_REDUCE ? "all-reduce" : "all-to-all";
  g_autoptr(GPtrArray) edits = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *ideal = NULL, *text = NULL;
  g_autoptr(RaKeyFile) file = NULL;
  g_autoptr(Bench) b = NULL;
  RaOp op = bench_op(kind, bytes, ranks, ranks, 1);

  for (guint i = 0; latency && i < 9; i++)
    g_ptr_array_add(edits, g_strdup_printf("%s.%s-latency-%s", law,
                                           lines[i / 3], seconds[i % 3]));
  g_ptr_array_add(edits, NULL);
  ideal = profile_text((const char *const *)edits->pdata);
  text = g_strdup_printf("%s[table %s]\naxis-1 = bytes 1024 1048576\n"
                         "axis-2 = ranks %s\nat-%c = 0 0\nat-%c = 0 0\n",
                         ideal, law, counts, counts[0], counts[2]);
  file = ra_key_file_parse("p", text, strlen(text), NULL);
  ck_assert_ptr_nonnull(file);
  b = bench_new(ra_profile_load(file, NULL));
  return ra_estimator_op_s(b->estimator, &op);
}

/* Numbers of GPUs that no row is of.  Without latency a ring of n takes
 * 2 (n-1)/n bytes / 1e8: of 10^6 bytes 10 ms for 2, 15 for 4, 17.5 for 8, and
 * (n-1)/n on a straight line through two of them gives the third.  An
 * all-to-all: 5 ms for 2, 7.5 for 4; a further doubling adds as much, 10 ms.
 * Latency of a byte alone is straight in n: of 2 and 8 it is 1 + 6 (4 - 2) /
 * (8 - 2) = 3 ms at 4, of 4 and 8 it is 3 + 4 (16 - 4) / (8 - 4) = 15 at 16,
 * less what the bytes of the table's least messages, of which the step is
 * taken, add to it. */
START_TEST(test_ranks_between)
{
  const RaOpKind ring = RA_OP_ALL_REDUCE, peers = RA_OP_ALL_TO_ALL;

  ck_assert_double_eq_tol(node_s(ring, "2 8", FALSE, 1000000, 2), 10e-3, 1e-9);
  ck_assert_double_eq_tol(node_s(ring, "2 8", FALSE, 1000000, 4), 15e-3, 1e-9);
  ck_assert_double_eq_tol(node_s(ring, "2 4", FALSE, 1000000, 8), 17.5e-3,
                          1e-9);
  ck_assert_double_eq_tol(node_s(ring, "4 8", FALSE, 1000000, 2), 10e-3, 1e-9);
  ck_assert_double_eq_tol(node_s(peers, "2 4", FALSE, 1000000, 8), 10e-3, 1e-9);
  ck_assert_double_eq_tol(node_s(ring, "2 8", TRUE, 1, 4), 3e-3, 1e-7);
  ck_assert_double_eq_tol(node_s(ring, "4 8", TRUE, 1, 16), 15e-3, 1e-4);
  /* Straight in log2 n, both would be off: 13.75 and 4 ms. */
  ck_assert(fabs(node_s(ring, "2 8", FALSE, 1000000, 4) - 13.75e-3) > 1e-3);
  ck_assert(fabs(node_s(ring, "2 8", TRUE, 1, 4) - 4e-3) > 5e-4);
}
END_TEST

#define DECODE                                                                 \
  "[table decode-attention]\naxis-1 = length 100 1000\n"                       \
  "axis-2 = sequences 2\naxis-3 = q-heads 8\naxis-4 = kv-heads 4\n"            \
  "axis-5 = width 64\nat-2-8-4-64 = 100 300\n"

static RaOp
decode_op(uint64_t tokens, uint64_t kv_heads)
{
  return bench_attention(RA_OP_DECODE_ATTENTION, 2, 2, tokens, tokens, 8,
                         kv_heads, 64);
}

/* A token of 4 key heads of 64 is 2 * 4 * 64 * 2 = 1024 bytes, 1.024 us;
 * queries and outputs of two sequences are 2 * 16 * 64 * 2 = 4096 bytes, so
 * T(100) = (204.8 + 4.096) us e^0.1, T(1000) = (2048 + 4.096) us e^0.3; linear
 * between, 1.024 us a token beyond, flat before.  With 8 key heads, which the
 * table has not, the law's further 1.024 us a token come to both. */
START_TEST(test_decode)
{
  g_autoptr(Bench) b = bench_new(with_table(DECODE, NULL));
  double first_s = 208.896e-6 * exp(0.1), last_s = 2052.096e-6 * exp(0.3);
  const struct {
    uint64_t tokens, kv_heads;
    double s;
  } cases[] = {{200, 4, first_s},
               {2000, 4, last_s},
               {1100, 4, (first_s + last_s) / 2},
               {50, 4, first_s},
               {3000, 4, last_s + 1.024e-3},
               {200, 8, first_s + 204.8e-6},
               {1100, 8, (first_s + last_s) / 2 + 1.1264e-3}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    RaOp op = decode_op(cases[i].tokens, cases[i].kv_heads);

    ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &op), cases[i].s,
                            1e-6 * cases[i].s);
    /* Another table's would show. */
    ck_assert_double_gt(
        fabs(cases[i].s * 1.01 / ra_estimator_op_s(b->estimator, &op) - 1),
        1e-3);
  }
}
END_TEST

/* A table that falls with the length is held up: T(1000) = e^-3 2048 us =
 * 102 us is less than T(100) = 231 us, which it becomes. */
START_TEST(test_decode_falls)
{
  g_autofree char *text = g_strdup(DECODE);
  g_autoptr(Bench) b = NULL;
  RaOp first = decode_op(200, 4), last = decode_op(2000, 4);

  g_autoptr(GString) edited = g_string_new(text);
  g_string_replace(edited, "100 300", "100 -3000", 0);
  b = bench_new(with_table(edited->str, NULL));
  bench_check(ra_estimator_op_s(b->estimator, &last),
              ra_estimator_op_s(b->estimator, &first));
}
END_TEST

/* Knots n 64..128: 32 columns twice are 64, inside, as a batch is looked up as
 * one product of all its columns; 130 is outside; so is a zero product not,
 * which costs nothing. */
START_TEST(test_outside)
{
  g_autoptr(Bench) b = bench_new(with_table(
      "[table gemm.bf16]\naxis-1 = n 64 128\nat = 200 -100\n", NULL));
  RaOp op = bench_op(RA_OP_GEMM, 64, 32, 1024, 2);
  RaExtrapolation outside;

  ck_assert(!ra_estimator_extrapolation(b->estimator, &op, &outside));
  op.dim[1] = 65; /* twice: 130 */
  ck_assert(ra_estimator_extrapolation(b->estimator, &op, &outside));
  ck_assert_str_eq(outside.law, "gemm.bf16");
  ck_assert_str_eq(outside.axis, "n");
  ck_assert_double_eq(outside.value, 130);
  ck_assert_double_eq(outside.limit, 128);
  op.dim[1] = 31;
  ck_assert(ra_estimator_extrapolation(b->estimator, &op, &outside));
  ck_assert_double_eq(outside.limit, 64);
  op.dim[1] = 0;
  ck_assert(!ra_estimator_extrapolation(b->estimator, &op, &outside));
}
END_TEST

/* Sums of 64 x 64 bf16 move 3 x 2 x 4096 = 24,576 bytes (two read, one
 * written): within knots to 32,768; of 64 x 128 twice that: beyond. */
START_TEST(test_outside_memory)
{
  g_autoptr(Bench) b = bench_new(with_table(
      "[table memory.add]\naxis-1 = bytes 1024 32768\nat = 0 0\n", NULL));
  RaOp op = bench_op(RA_OP_ADD, 64, 64, 0, 0);
  RaExtrapolation outside;

  ck_assert_double_eq(ra_op_bytes(&op), 24576);
  ck_assert(!ra_estimator_extrapolation(b->estimator, &op, &outside));
  op.dim[1] = 128;
  ck_assert(ra_estimator_extrapolation(b->estimator, &op, &outside));
  ck_assert_str_eq(outside.law, "memory.add");
  ck_assert_str_eq(outside.axis, "bytes");
  ck_assert_double_eq(outside.value, 49152);
  ck_assert_double_eq(outside.limit, 32768);
}
END_TEST

START_TEST(test_refused)
{
  static const struct {
    const char *table, *message;
  } cases[] = {
      {"[table gemm]\naxis-1 = m 1\nat = 0\n",
       "there is no law 'gemm' before its table"},
      {"[table gemm.bf16]\nat = 0\n", "the table has no 'axis-1'"},
      {"[table gemm.bf16]\naxis-1 = q 1\nat = 0\n",
       "axis 'q' of the table of 'gemm.bf16' is unknown"},
      {"[table decode-attention]\naxis-1 = length 1\nat = 0\n",
       "the axes of this table are not 'length' first"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(RaProfile) profile = with_table(cases[i].table, &error);
    RaCluster cluster = {.n_nodes = 1, .gpus_per_node = 1};

    if (profile) {
      cluster.device = profile->spec;
      ck_assert_ptr_null(ra_estimator_new(profile, &cluster, &error));
    }
    ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
    ck_assert_msg(g_str_has_prefix(error->message, "p:") &&
                      strstr(error->message, cases[i].message),
                  "%s", error->message);
  }
}
END_TEST

/* Laws of whole blocks: models of traces/measured_sparse.c, DeepSeek-V3.2,
 * MiniMax-M3 and DeepSeek-V4's layers of 128 to 1, each with the op of its law.
 */
static const struct {
  const char *law;
  RaOpKind kind;
  guint8 model;
  guint16 compress;
} of_blocks[] = {
    {"indexer-step", RA_OP_INDEXER, 1, 0},
    {"block-sparse-step", RA_OP_DECODE_ATTENTION, 4, 0},
    {"compressed-step", RA_OP_COMPRESSED, 5, 128},
};

/* Rows of decode steps of attention, whole blocks. */
static GArray *
blocks(guint which)
{
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (uint32_t n = 1; n <= 256; n *= 4)
    for (uint64_t length = 1024; length <= 65536; length *= 4) {
      RaMeasured row = {.block = {.model = of_blocks[which].model,
                                  .is_step = 1,
                                  .compress = of_blocks[which].compress,
                                  .heads = 8,
                                  .batch = {n, n, n * length, n * length}}};
      RaOp ops[RA_OP_LIST_MAX];
      guint n_ops = ra_measured_block(&row, ops);

      for (guint i = 0; i < n_ops; i++)
        if (ops[i].kind == of_blocks[which].kind)
          row.op = ops[i];
      ck_assert_uint_eq(row.op.count, 1);
      g_array_append_val(rows, row);
    }
  return rows;
}

/* Equations of a matrix L L' by hand: with L = (2; 1 3; 0 -1 1) it is (4 2 0;
 * 2 10 -3; 0 -3 2), and x = (1 -2 3) makes b = (0 -27 12); what is above the
 * diagonal is not read.  A matrix (4; 0 4; 0 -3 0.5) has 0.5 - 9 / 4 for the
 * last square of L, below 0: no solution (the fault: a root of it). */
START_TEST(test_solve)
{
  double a[] = {4, NAN, NAN, 2, 10, NAN, 0, -3, 2}, b[] = {0, -27, 12};
  double none[] = {4, 0, 0, 0, 4, 0, 0, -3, 0.5}, c[] = {0, 0, 0};

  ck_assert(ra_robust_solve(3, a, b));
  ck_assert_double_eq_tol(b[0], 1, 1e-12);
  ck_assert_double_eq_tol(b[1], -2, 1e-12);
  ck_assert_double_eq_tol(b[2], 3, 1e-12);
  ck_assert(!ra_robust_solve(3, none, c));
}
END_TEST

/* A law comes back from whole blocks, as what the other ops take is known:
 * floor 1 ms and half of the memory's bandwidth, from a start at others.  Rows
 * that count as the op alone (the fault) give another. */
START_TEST(test_block)
{
  static const char *const of[] = {"floor-s", "bandwidth-frac"};
  static const double truth[] = {1e-3, 0.5};
  const char *name = of_blocks[_i].law;
  g_autofree char *floor_s = g_strdup_printf("%s.floor-s=0.001", name);
  g_autofree char *rate = g_strdup_printf("%s.bandwidth-frac=0.5", name);
  g_autoptr(RaProfile) profile = profile_text_load(floor_s, rate, NULL);
  g_autoptr(GArray) rows = blocks((guint)_i);
  g_autofree double *s = g_new(double, rows->len);
  g_autoptr(GArray) of_law =
      ra_calibrate_rows_of(rows, ra_fit_law(name), profile);

  ra_fit_beside(profile, rows);
  /* Rows that are merged into a law know the same of their blocks. */
  ck_assert_uint_eq(of_law->len, rows->len);
  for (guint i = 0; i < rows->len; i++)
    ck_assert_double_eq(g_array_index(of_law, RaMeasured, i).beside_s,
                        g_array_index(rows, RaMeasured, i).beside_s);
  ra_fit_predict(profile, rows, s);
  for (guint i = 0; i < rows->len; i++) {
    RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    ck_assert_double_gt(row->beside_s, 0);
    row->measured_s = s[i];
  }
  for (guint fault = 0; fault < 2; fault++) {
    RaFitResult result;
    const RaLaw *law;
    gboolean same = TRUE;

    for (guint i = 0; fault && i < rows->len; i++)
      g_array_index(rows, RaMeasured, i).beside_s = 0;
    ra_fit_coefficients(ra_fit_law(name), profile, rows, &result);
    law = ra_profile_law(profile, name);
    for (guint c = 0; c < G_N_ELEMENTS(of); c++)
      for (guint i = 0; i < law->n_coefficients; i++)
        if (strcmp(law->coefficients[i].name, of[c]) == 0)
          same &= fabs(law->coefficients[i].value / truth[c] - 1) < 1e-2;
    ck_assert_msg(same == !fault, "%s %u", name, fault);
  }
}
END_TEST

/* A block is what its list takes together, of which two ops run beside others
 * (the fault: one after the other). */
START_TEST(test_block_overlap)
{
  static const char *const gpus[] = {"h100-sxm", "b200-sxm"};

  for (guint g = 0; g < G_N_ELEMENTS(gpus); g++) {
    g_autoptr(Bench) b = bench_new(profile_text_shipped(gpus[g]));
    g_autoptr(GArray) rows = blocks(0);
    g_autofree double *s = g_new(double, rows->len);

    ra_fit_beside(b->profile, rows);
    ra_fit_predict(b->profile, rows, s);
    for (guint i = 0; i < rows->len; i++) {
      RaOp ops[RA_OP_LIST_MAX];
      guint n = ra_measured_block(&g_array_index(rows, RaMeasured, i), ops);
      RaCost cost = {0};
      double serial_s = 0;

      ra_estimator_sum_ops(b->estimator, ops, n, TRUE, &cost);
      for (guint k = 0; k < n; k++)
        serial_s += ra_estimator_op_s(b->estimator, &ops[k]);
      bench_check(s[i], cost.compute_s);
      ck_assert_double_gt(serial_s, 1.000001 * cost.compute_s);
    }
  }
}
END_TEST

static Suite *
residual_suite(void)
{
  Suite *suite = suite_create("residual");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_gemm);
  tcase_add_test(tcase, test_ranks_between);
  tcase_add_test(tcase, test_decode);
  tcase_add_test(tcase, test_decode_falls);
  tcase_add_test(tcase, test_outside);
  tcase_add_test(tcase, test_outside_memory);
  tcase_add_test(tcase, test_refused);
  tcase_add_test(tcase, test_solve);
  tcase_add_loop_test(tcase, test_block, 0, G_N_ELEMENTS(of_blocks));
  tcase_add_test(tcase, test_block_overlap);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(residual_suite)
