/* How FlashAttention cuts an op, and what its laws make of that. */
#include "config.h"

#include "estimator/attention.h"
#include "estimator/flash.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

static RaFlash
cut_of(guint generation, double sms, uint64_t sequences, uint64_t queries,
       uint64_t keys, uint64_t q_heads, uint64_t kv_heads, uint64_t width)
{
  RaOp op = bench_attention(RA_OP_ATTENTION, sequences, sequences * queries,
                            sequences * keys, 1, q_heads, kv_heads, width);
  RaFlash cut;

  ra_flash_cut(generation, sms, &op, &cut);
  return cut;
}

/* Tiles by hand.  Generation 2, 3 sequences of 100 queries and 8 heads: two
 * tiles of 64 rows a head, 48.  Generation 3 packs the 4 heads that share keys:
 * 400 rows are 4 tiles of 128 (3 of 192 where heads are narrow), 2 key heads, 3
 * sequences: 24 (18).  12 rows of one query fill one tile of 64. */
START_TEST(test_tiles)
{
  RaFlash two = cut_of(2, 100, 3, 100, 100, 8, 2, 128);
  RaFlash three = cut_of(3, 100, 3, 100, 100, 8, 2, 128);
  RaFlash narrow = cut_of(3, 100, 3, 100, 100, 8, 2, 64);
  RaFlash few = cut_of(3, 100, 1, 3, 100, 8, 2, 128);
  RaFlash none = cut_of(0, 1, 3, 100, 100, 8, 2, 128);

  ck_assert_double_eq(two.n_tiles, 48);
  ck_assert_double_eq(two.n_rows, 48 * 64);
  ck_assert_double_eq(three.n_tiles, 24);
  ck_assert_double_eq(three.n_rows, 24 * 128);
  ck_assert_double_eq(narrow.n_tiles, 18);
  ck_assert_double_eq(narrow.tile_rows, 192);
  ck_assert_double_eq(few.tile_rows, 64);
  ck_assert_double_eq(few.n_tiles, 2);
  ck_assert_double_eq(none.n_tiles, 24);
  ck_assert_double_eq(none.n_rows, 2400);
}
END_TEST

/* Within a window generation 2 does not swap queries for heads: a tile of each
 * of 8 heads of 3 sequences where 2 heads' keys make 6, no splits, no copies.
 * Generations 3 and 4 pack them as ever (the fault: as generation 2). */
START_TEST(test_window)
{
  RaOp op =
      bench_attention(RA_OP_DECODE_ATTENTION, 3, 3, 3 * 1024, 1, 8, 2, 128);
  RaFlash cut;

  ra_flash_cut(2, 100, &op, &cut);
  ck_assert_double_eq(cut.n_tiles, 6);
  ck_assert_double_gt(cut.n_splits, 1);
  ck_assert(cut.copies);
  op.flags = RA_OP_WINDOW;
  ra_flash_cut(2, 100, &op, &cut);
  ck_assert_double_eq(cut.n_tiles, 24);
  ck_assert_double_eq(cut.n_splits, 1);
  ck_assert(!cut.copies);
  for (guint generation = 3; generation <= 4; generation++) {
    ra_flash_cut(generation, 100, &op, &cut);
    ck_assert_double_eq(cut.n_tiles, 6);
  }
}
END_TEST

/* Splits by hand.  Generation 2 splits only where heads share keys and each
 * sequence has one query: 4 tiles on 2 x 100 slots, 64 blocks of keys: a wave
 * can be full, so 0.85 x 200 / 4 = 42.5, 43 shares.  Generation 3 has 100 slots
 * and at most 32: 4 tiles x 32 fill a wave: 0.85 x 100 / 4, 22; not over 4
 * blocks or fewer, nor where 80 tiles nearly fill 100 slots. */
START_TEST(test_splits)
{
  ck_assert_double_eq(cut_of(2, 100, 2, 1, 8192, 8, 2, 128).n_splits, 43);
  ck_assert_double_eq(cut_of(2, 100, 2, 1, 8192, 2, 2, 128).n_splits, 1);
  ck_assert_double_eq(cut_of(2, 100, 2, 2, 8192, 8, 2, 128).n_splits, 1);
  ck_assert_double_eq(cut_of(3, 100, 2, 1, 8192, 8, 2, 128).n_splits, 22);
  ck_assert_double_eq(cut_of(3, 100, 2, 1, 8192, 2, 2, 128).n_splits, 22);
  ck_assert_double_eq(cut_of(3, 100, 2, 1, 512, 8, 2, 128).n_splits, 1);
  ck_assert_double_eq(cut_of(3, 100, 40, 1, 8192, 8, 2, 128).n_splits, 1);
  /* Wide heads have blocks of 64 keys: of 1,024, 4 tiles x 16 fill 0.32 of a
   * wave, 0.85 of that are 13.6 shares each; in blocks of 128 4 x 8 and 6.8. */
  ck_assert_double_eq(cut_of(2, 100, 2, 1, 1024, 8, 2, 256).n_splits, 14);
  ck_assert_double_eq(cut_of(2, 100, 2, 1, 1024, 8, 2, 128).n_splits, 7);
  ck_assert_double_eq(cut_of(2, 100, 2, 1, 1024, 8, 2, 256).block_keys, 64);
  /* One tile cannot fill a wave with 32: 0.85 of what 32 do, 28. */
  ck_assert_double_eq(cut_of(3, 100, 1, 1, 8192, 1, 1, 128).n_splits, 28);
  ck_assert(cut_of(2, 100, 2, 1, 100, 8, 2, 128).copies);
  ck_assert(!cut_of(2, 100, 1, 1, 100, 8, 2, 128).copies);
  ck_assert(!cut_of(2, 100, 2, 1, 100, 8, 1, 128).copies);
  ck_assert(!cut_of(3, 100, 2, 1, 100, 8, 2, 128).copies);
}
END_TEST

#define DECODE                                                                 \
  "decode-attention.sms=100", "decode-attention.cache-bytes=4194304",          \
      "decode-attention.floor-s=1e-5", "decode-attention.launch-s=3e-6",       \
      "decode-attention.split-s=1e-7", "decode-attention.block-s=2e-6",        \
      "decode-attention.tile-s=4e-6"

/* One token of 2 sequences, 8 heads, 2 of keys, 128 wide, 8192 tokens each: 64
 * blocks of keys.  2: in 43 shares, two after the other, 4 us, but 4 x 43
 * begins of 4 us on 100 multiprocessors are 6.88; with two copies
 * and what combines, 3 launches of 3 us, and 43 of 0.1; queries and outputs are
 * moved three times.  3: in 22 shares, three after the other, 6 us.  Memory is
 * infinitely quick; of 1e9 B/s it takes 2 x 256 (16384 x 2 + 3 x 16) bytes,
 * more than the cache of 4 MiB.  0.5 MiB fit into half of it and take none. */
START_TEST(test_decode)
{
  g_autoptr(Bench) two =
      bench_new(profile_text_load(DECODE, "decode-attention.flash=2",
                                  "device.memory-bandwidth=1e20 B/s", NULL));
  g_autoptr(Bench) three =
      bench_new(profile_text_load(DECODE, "decode-attention.flash=3",
                                  "device.memory-bandwidth=1e20 B/s", NULL));
  g_autoptr(Bench) slow =
      bench_new(profile_text_load(DECODE, "decode-attention.flash=2", NULL));
  RaOp op =
      bench_attention(RA_OP_DECODE_ATTENTION, 2, 2, 16384, 16384, 8, 2, 128);

  bench_check(ra_estimator_op_s(two->estimator, &op),
              1e-5 + 9e-6 + 4.3e-6 + 6.88e-6);
  bench_check(ra_estimator_op_s(three->estimator, &op),
              1e-5 + 3e-6 + 2.2e-6 + 6e-6);
  bench_check(ra_estimator_op_s(slow->estimator, &op),
              1e-5 + 9e-6 + 4.3e-6 + 2 * 256 * (16384 * 2 + 3 * 16.0) / 1e9);
  /* 512 tokens: four blocks in four shares. */
  op.dim[2] = op.dim[3] = 1024;
  bench_check(ra_estimator_op_s(slow->estimator, &op),
              1e-5 + 9e-6 + 0.4e-6 + 2e-6);
  /* The fault: a cache that keeps nothing. */
  bench_check_differs(ra_estimator_op_s(slow->estimator, &op),
                      1e-5 + 9e-6 + 0.4e-6 +
                          2 * 256 * (1024 * 2 + 3 * 16.0) / 1e9);
}
END_TEST

/* 2 sequences of 8192 tokens, 2 heads of keys: the rows of 4 tiles of 64 are
 * multiplied with all keys, twice and 128 wide: 4 x 256 x 8192 x 128 FLOP, and
 * 12 more elements a score.  At 1e12 FLOP/s, of which attention reaches 0.5,
 * 2.35 ms.  The faults: the 8 rows that queries fill, 0.29 ms; and none, as of
 * a law of the GPU's own rows, which have them. */
START_TEST(test_products)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      DECODE, "decode-attention.flash=3", "device.memory-bandwidth=1e20 B/s",
      "device.bf16=1e12 FLOP/s", "attention.peak-frac=0.5",
      "attention.head-dim-half=12", "decode-attention.transferred=a100", NULL));
  g_autoptr(Bench) own = bench_new(profile_text_load(
      DECODE, "decode-attention.flash=3", "device.memory-bandwidth=1e20 B/s",
      "device.bf16=1e12 FLOP/s", NULL));
  RaOp op =
      bench_attention(RA_OP_DECODE_ATTENTION, 2, 2, 16384, 16384, 8, 2, 128);

  bench_check(ra_estimator_op_s(own->estimator, &op),
              1e-5 + 3e-6 + 2.2e-6 + 6e-6); /* as in test_decode */
  bench_check(ra_estimator_op_s(b->estimator, &op),
              1e-5 + 3e-6 + 2.2e-6 + 4.0 * 256 * 8192 * (128 + 12) / 0.5e12);
}
END_TEST

/* The table of a cache of fp8 is its own: rows of
 * kernels_attention_wide/decode_h200_fp8kv.csv at knots of all its axes, to the
 * thousandths of the table: one of blocks, one of 1.07 GB. */
START_TEST(test_fp8)
{
  g_autoptr(Bench) b = bench_new(profile_text_shipped("h200-sxm"));
  RaOp few =
      bench_attention(RA_OP_DECODE_ATTENTION, 128, 128, 512, 512, 64, 1, 64);
  RaOp many = bench_attention(RA_OP_DECODE_ATTENTION, 16, 16, 16 << 15,
                              16 << 15, 32, 8, 128);

  few.dtype = many.dtype = RA_DTYPE_FP8;
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &few), 14.027e-6,
                          0.002 * 14.027e-6);
  ck_assert_double_eq_tol(ra_estimator_op_s(b->estimator, &many), 351.82e-6,
                          0.002 * 351.82e-6);
}
END_TEST

/* Between powers of two a step is a line, and its slope says so: the sum of
 * steps from 300 to 340 tokens is that of the ends. */
START_TEST(test_line)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load(DECODE, "decode-attention.flash=2", NULL));
  RaDecodeAttentionLaw law = {0};
  RaDevice device = b->profile->spec;
  RaOp op = bench_attention(RA_OP_DECODE_ATTENTION, 2, 2, 600, 600, 8, 2, 128);
  RaOp end = op;
  uint64_t until;
  double slope;

  ck_assert(ra_decode_attention_law_init(&law, b->profile, &device,
                                         "decode-attention", NULL));
  slope = ra_decode_attention_line(&law, &op, &until);
  ck_assert_uint_eq(until, 1024);
  ck_assert_double_gt(slope, 0);
  end.dim[2] = end.dim[3] = 680;
  bench_check(ra_decode_attention_s(&law, &end),
              ra_decode_attention_s(&law, &op) + 80 * slope);
  ra_decode_attention_law_clear(&law);
}
END_TEST

static Suite *
flash_suite(void)
{
  Suite *suite = suite_create("flash");
  TCase *tc = tcase_create("core");

  tcase_add_test(tc, test_tiles);
  tcase_add_test(tc, test_window);
  tcase_add_test(tc, test_splits);
  tcase_add_test(tc, test_decode);
  tcase_add_test(tc, test_products);
  tcase_add_test(tc, test_fp8);
  tcase_add_test(tc, test_line);
  suite_add_tcase(suite, tc);
  return suite;
}

RA_CHECK_MAIN(flash_suite)
