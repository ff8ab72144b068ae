/* Laws of expert layers against their formula by hand, and whose they are. */
#include "config.h"

#include <string.h>

#include "estimator/estimator_impl.h"
#include "estimator/fit.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

/* 8 tokens choose 4 of 4 experts, 2 of which are here: 16 rows, both visited.
 * An expert has 3 x 100 x 50 = 15,000 elements.  With 2 rows more an expert,
 * half of a tile, the products are 20 x 30,000 FLOP at 0.5e12 FLOP/s, 1.2 us.
 * Weights are 60,000 bytes at 0.5e9 B/s, 120 us.  Rows are 16 x 100 x 10 bytes
 * at 1e9 B/s, 16 us.  1 ms + 2 x 0.1 ms + 16 us + 120 us + 1.2 us / 4 = 1336.3
 * us.
 *
 * Of 100 tokens by a power law of exponent 1 the fuller rank has 1 + sqrt((I2
 * I0 / I1^2 - 1) 2 ln 2 / 2) of 200 rows with I0 = ln 80, I1 = 79 and I2 =
 * (80^2 - 1) / 2: 1.92951..., 385.902... us of rows, and products of 389.902...
 * x 30,000 FLOP, 23.394... us.  Of 8 tokens by one of exponent 1.2, I0 = (1 -
 * 6.4^-0.2) / 0.2, I1 = (6.4^0.8 - 1) / 0.8 and I2 = (6.4^1.8 - 1) / 1.8:
 * 1.44719... of 16 rows.
 *
 * 8 tokens choose 32 of 256 experts, 128 of which are here.  By a power law of
 * exponent 1, between 0.01 and 2, 1 + sqrt((I2 I0 / I1^2 - 1) 2 ln 2 / 128) of
 * 16 rows with I0 = ln 200, I1 = 1.99 and I2 = (4 - 1e-4) / 2: 18.155..., for
 * 0.14184... an expert.  ln(2 / 1.32399...) / I0 of them, 0.07785..., have
 * half a row, but 0.14184... - 0.14184...^2 / 2 have one by chance: 16.867...
 * Dealt in turn, 16 rows are on 16 experts: 1 ms + 1.6 ms + 16 us + 960 us +
 * 2.88 us / 4.
 *
 * A replay that finds 60,000 bytes of weights in a cache of 100,000 reads 2 x
 * 0.6 - 1 of them: 24 us.
 *
 * A weight of MXFP4 is 17 / 32 bytes, with a scale's byte for 32 of them:
 * 31.875 us; of NVFP4 9 / 16, for 16: 33.75 us.  Rows are 1.6 us there.  In
 * fp8 weights are 30 us, and 8 tokens of 10 bytes an element 8 us, of which an
 * exchange leaves a half. */
START_TEST(test_experts)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "experts.bf16.floor-s=1e-3", "experts.bf16.expert-s=1e-4",
      "experts.bf16.tile-rows=4", "experts.bf16.peak-frac=0.5",
      "experts.bf16.bandwidth-frac=0.5", "experts.bf16.row-bytes=10",
      "experts.bf16.serial-frac=0.25", "experts.bf16.skew-frac=1",
      "experts.nvfp4.floor-s=1e-3", "experts.nvfp4.bandwidth-frac=0.5",
      "experts.mxfp4.floor-s=2e-3", "experts.mxfp4.bandwidth-frac=0.5",
      "experts.fp8.floor-s=1e-3", "experts.fp8.token-bytes=10",
      "experts.mxfp4mxfp8.floor-s=3e-3",
      "experts.mxfp4mxfp8.bandwidth-frac=0.5", NULL));
  RaOp op = {
      .kind = RA_OP_EXPERTS, .count = 1, .dim = {8, 100, 50, 4, 4, 2, 0}};
  RaOp few = {
      .kind = RA_OP_EXPERTS, .count = 1, .dim = {8, 100, 50, 256, 4, 2, 0}};
  RaOp plain = op;

  bench_check(ra_estimator_op_s(b->estimator, &op), 1336.3e-6);
  plain.flags = RA_OP_PLAIN;
  bench_check_differs(ra_estimator_op_s(b->estimator, &plain), 1336.3e-6);
  op.dim[6] = 120;
  bench_check(ra_estimator_op_s(b->estimator, &op), 0.0013435624152826672);
  op.dim[6] = 100;
  op.dim[0] = 100;
  bench_check(ra_estimator_op_s(b->estimator, &op), 0.0017117512561605768);
  /* Backward: weights 240 us, products 2.4 us. */
  op.kind = RA_OP_EXPERTS_BACKWARD;
  op.dim[0] = 8;
  op.dim[6] = 0;
  bench_check(ra_estimator_op_s(b->estimator, &op), 1456.6e-6);
  op.flags = RA_OP_FROZEN;
  bench_check(ra_estimator_op_s(b->estimator, &op), 1336.3e-6);
  op.dim[0] = 0;
  ck_assert_double_eq(ra_estimator_op_s(b->estimator, &op), 0);
  few.dim[6] = 100;
  bench_check(ra_estimator_op_s(b->estimator, &few), 0.0037178025067806167);
  few.dim[6] = RA_OP_SKEW_DEALT;
  bench_check(ra_estimator_op_s(b->estimator, &few), 3576.72e-6);
  ra_experts_laws_replay(&b->estimator->experts, 100000);
  few = (RaOp){
      .kind = RA_OP_EXPERTS, .count = 1, .dim = {8, 100, 50, 4, 4, 2, 0}};
  bench_check(ra_estimator_op_s(b->estimator, &few), 1240.3e-6);
  ra_experts_laws_replay(&b->estimator->experts, 0);
  plain.flags = 0;
  plain.dtype = RA_DTYPE_FP8;
  bench_check(ra_estimator_op_s(b->estimator, &plain), 1039.6e-6);
  plain.flags = RA_OP_ROUTED;
  bench_check(ra_estimator_op_s(b->estimator, &plain), 1035.6e-6);
  plain.dtype = RA_DTYPE_BF16;
  plain.flags = RA_OP_NARROW;
  bench_check(ra_estimator_op_s(b->estimator, &plain), 2033.475e-6);
  plain.dtype = RA_DTYPE_FP8;
  bench_check(ra_estimator_op_s(b->estimator, &plain), 1035.35e-6);
  plain.flags |= RA_OP_BLOCK;
  bench_check(ra_estimator_op_s(b->estimator, &plain), 3033.475e-6);
}
END_TEST

/* A system that names an engine's kernels has their laws in calls that
 * generate; a type that was not measured of the engine, and training, the
 * common law.  Rows of an exchange have their own, SGLang's of up to 128 tokens
 * a rank another.  Rows of a fit are of their own engine: 8 even tokens of an
 * ideal layer take what the floor adds. */
START_TEST(test_experts_of_an_engine)
{
  g_autofree char *text = profile_text((const char *const[]){
      "experts.fp8.floor-s=0.2", "experts.bf16.floor-s=0.1",
      "experts.fp8.trtllm.floor-s=0.5", "experts.fp8block.floor-s=0.6",
      "experts.fp8block.wide.trtllm.floor-s=0.7",
      "experts.fp8block.masked.sglang.floor-s=0.8",
      "experts.fp8block.contiguous.sglang.floor-s=0.9", NULL});
  char *first = strstr(text, "[law experts.bf16.trtllm]");
  char *after = strstr(first, "[law experts.fp8.trtllm]");
  RaSystemConstants constants = RA_SYSTEM_CONSTANTS_NONE;
  RaMeasured row = {.op = {.kind = RA_OP_EXPERTS,
                           .dtype = RA_DTYPE_FP8,
                           .count = 1,
                           .dim = {8, 1, 1, 4, 4, 1, 0}},
                    .measured_s = 1};
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof row);
  g_autoptr(Bench) b = NULL;
  RaOp wide = row.op;
  double s[3];

  memmove(first, after, strlen(after) + 1);
  b = bench_new(profile_text_parse(text));
  wide.dtype = RA_DTYPE_BF16;
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &row.op), 0.2, 1e-6);
  constants.kernels = RA_KERNELS_TRTLLM;
  ra_estimator_set_system(b->estimator, &constants);
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &row.op), 0.5, 1e-6);
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &wide), 0.1, 1e-6);
  ck_assert_double_eq_tol(ra_estimator_call_op_s(b->estimator, &row.op, TRUE),
                          0.5, 1e-6);
  ck_assert_double_eq_tol(ra_estimator_call_op_s(b->estimator, &row.op, FALSE),
                          0.2, 1e-6);
  row.op.flags = RA_OP_BLOCK | RA_OP_ROUTED;
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &row.op), 0.7, 1e-6);
  constants.kernels = RA_KERNELS_SGLANG;
  ra_estimator_set_system(b->estimator, &constants);
  row.op.dim[0] = 128;
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &row.op), 0.8, 1e-6);
  row.op.dim[0] = 129;
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &row.op), 0.9, 1e-6);
  row.op.flags = RA_OP_BLOCK;
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &row.op), 0.6, 1e-6);
  row.op.dim[0] = 8;
  row.op.flags = 0;
  g_array_append_val(rows, row);
  row.kernels = RA_KERNELS_TRTLLM;
  g_array_append_val(rows, row);
  row.kernels = RA_KERNELS_COMMON;
  g_array_append_val(rows, row);
  ra_fit_predict(b->profile, rows, s);
  for (guint i = 0; i < 3; i++)
    ck_assert_double_eq_tol(s[i], i == 1 ? 0.5 : 0.2, 1e-6);
}
END_TEST

/* The law has routing in it, so the routing of a list costs nothing beside.  A
 * profile without the law costs the parts of the layer; rows that an exchange
 * brings take no less (the fault: what the law, of other rows, says). */
START_TEST(test_experts_without_a_law)
{
  g_autofree char *text = profile_text(NULL);
  char *first = strstr(text, "[law experts.bf16]");
  char *after = strstr(first, "[law attention]");
  g_autoptr(Bench) with = bench_new(profile_text_load(NULL, NULL));
  g_autoptr(Bench) without = NULL;
  RaOp op = {.kind = RA_OP_EXPERTS, .count = 1, .dim = {8, 64, 32, 4, 4, 2, 0}};
  RaOp router = {.kind = RA_OP_ROUTER, .count = 1, .dim = {8, 4, 4}};
  RaOp parts[RA_OP_EXPERTS_PARTS] = {op};
  guint n = ra_op_list_lower(parts, 1);
  double s = 0;

  memmove(first, after, strlen(after) + 1);
  without = bench_new(profile_text_parse(text));
  for (guint i = 0; i < n; i++)
    s += ra_estimator_op_s(without->estimator, &parts[i]);
  ck_assert_double_eq(ra_estimator_op_s(without->estimator, &op), s);
  bench_check_differs(ra_estimator_op_s(with->estimator, &op), s);
  ck_assert_double_gt(ra_estimator_op_s(with->estimator, &router), 0);
  router.flags = RA_OP_ROUTED;
  ck_assert_double_eq(ra_estimator_op_s(with->estimator, &router), 0);
  ck_assert_double_lt(ra_estimator_op_s(with->estimator, &op), s);
  op.flags = RA_OP_ROUTED;
  bench_check(ra_estimator_op_s(with->estimator, &op), s);
}
END_TEST

static Suite *
experts_suite(void)
{
  Suite *suite = suite_create("experts");
  TCase *tcase = tcase_create("laws");

  tcase_add_test(tcase, test_experts);
  tcase_add_test(tcase, test_experts_of_an_engine);
  tcase_add_test(tcase, test_experts_without_a_law);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(experts_suite)
