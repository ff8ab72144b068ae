/* Ops of latent attention, windows and linear mixers, by hand. */
#include "config.h"

#include "graph/op/op.h"
#include "tests/support/check_main.h"

static double
flop_of(RaOpKind kind, guint16 flags, const uint64_t *dims)
{
  RaOp op = {.kind = (uint8_t)kind, .flags = flags, .count = 1};

  for (guint i = 0; i < RA_OP_DIMS; i++)
    op.dim[i] = dims[i];
  return ra_op_flop(&op);
}

static double
bytes_of(RaOpKind kind, const uint64_t *dims)
{
  RaOp op = {.kind = (uint8_t)kind, .dtype = RA_DTYPE_BF16, .count = 1};

  for (guint i = 0; i < RA_OP_DIMS; i++)
    op.dim[i] = dims[i];
  return ra_op_bytes(&op);
}

/* Windows: 2 sequences of 10 tokens have 110 pairs; within 4, each has 1 + 2 +
 * 3 + 7 * 4 = 34.  Decode at 10 tokens each: 20 pairs, 8 within 4.  Chunks of
 * the last 3 of 10 tokens: 8 + 9 + 10 = 27 pairs each, 12 within 4. */
START_TEST(test_windows)
{
  const RaBatch whole = {2, 20, 20, 110}, step = {2, 2, 20, 20};
  const RaBatch chunk = {2, 6, 20, 54}, few = {2, 6, 6, 12};

  ck_assert_uint_eq(ra_op_pairs(&whole, 0), 110);
  ck_assert_uint_eq(ra_op_pairs(&whole, 4), 68);
  ck_assert_uint_eq(ra_op_pairs(&whole, 10), 110);
  ck_assert_uint_eq(ra_op_pairs(&step, 4), 8);
  ck_assert_uint_eq(ra_op_kv_tokens(&step, 4), 8);
  ck_assert_uint_eq(ra_op_kv_tokens(&whole, 4), 20);
  ck_assert_uint_eq(ra_op_pairs(&chunk, 4), 24);
  ck_assert_uint_eq(ra_op_pairs(&few, 4), 12);
}
END_TEST

/* DeepSeek-V3 on 8 of 128 heads: a pair costs 2 * 16 * (192 + 128) = 10240 FLOP
 * whole, 2 * 16 * (2 * 512 + 64) = 34816 absorbed; a cached token 576 elements
 * of 2 bytes.  Backward: 2 * 16 * (3 * 192 + 2 * 128) = 26624.  The step's
 * bytes: 4 queries of 16 * 576 and outputs of 16 * 512, 4000 tokens of 576. */
START_TEST(test_latent)
{
  const uint64_t whole[] = {1, 100, 100, 5050, 16, 192, 128};
  const uint64_t step[] = {4, 4, 4000, 4000, 16, 512, 64};

  ck_assert_double_eq(flop_of(RA_OP_LATENT, 0, whole), 5050.0 * 10240);
  ck_assert_double_eq(flop_of(RA_OP_LATENT_BACKWARD, 0, whole), 5050.0 * 26624);
  ck_assert_double_eq(flop_of(RA_OP_LATENT_DECODE, 0, step), 4000.0 * 34816);
  ck_assert_double_eq(bytes_of(RA_OP_LATENT_DECODE, step),
                      2.0 * (4 * 16 * (576 + 512) + 4000 * 576));
  ck_assert_double_eq(bytes_of(RA_OP_LATENT, whole),
                      2.0 * (100 * 16 + 100 * 16) * 320);
}
END_TEST

/* A scan of 128 tokens, chunks of 64, keys and states of 8 and 4, 2 groups and
 * 6 heads.  Mamba-2: a token 2 * 2 * 64 * 8 + 6 * (2 * 64 * 4 + 4 * 8 * 4) =
 * 2048 + 3840.  Delta: 6 * (6 * 64 * 8 + 4 * 64 * 4 + 6 * 8 * 4 + 64^2 / 3) =
 * 6 * (4288 + 4096 / 3) = 33920.  A step of 3 sequences: 3 * 6 * 8 * 4 states
 * of 2 FLOP, two or three times; its bytes 3 * 2 * 2 (16 + 24) of rows and 2 *
 * 3 * 192 * 4 of states. */
START_TEST(test_scans)
{
  const uint64_t scan[] = {1, 128, 2, 6, 8, 4, 64};
  const uint64_t step[] = {3, 3, 2, 6, 8, 4, 0};

  ck_assert_double_eq(flop_of(RA_OP_SCAN, 0, scan), 128.0 * 5888);
  ck_assert_double_eq(flop_of(RA_OP_SCAN, RA_OP_DELTA, scan), 128.0 * 33920);
  ck_assert_double_eq(flop_of(RA_OP_SCAN_BACKWARD, 0, scan), 3 * 128.0 * 5888);
  ck_assert_double_eq(flop_of(RA_OP_SCAN_STEP, 0, step), 2.0 * 3 * 2 * 192);
  ck_assert_double_eq(flop_of(RA_OP_SCAN_STEP, RA_OP_DELTA, step),
                      3.0 * 3 * 2 * 192);
  ck_assert_double_eq(bytes_of(RA_OP_SCAN_STEP, step),
                      3 * 2 * 2 * 40 + 2.0 * 3 * 192 * 4);
}
END_TEST

static Suite *
op_mixer_suite(void)
{
  Suite *suite = suite_create("op_mixer");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_windows);
  tcase_add_test(tcase, test_latent);
  tcase_add_test(tcase, test_scans);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(op_mixer_suite)
