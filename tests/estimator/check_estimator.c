/* Every law against its formula by hand; lists of ops. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "estimator/estimator_impl.h"
#include "estimator/fit.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

/* Rates of the ideal device (tests/support/profile_text.h). */
#define PEAK 1e12
#define NO_MEMORY "device.memory-bandwidth=1e100 B/s"

/* Four SMs, tiles of 128 x 256, half of the peak, smaller tiles at half of
 * that. */
static RaProfile *
tiled(const char *more)
{
  return profile_text_load(NO_MEMORY, "gemm.bf16.sms=4", "gemm.bf16.tile-m=128",
                           "gemm.bf16.tile-n=256", "gemm.bf16.floor-s=1e-6",
                           "gemm.bf16.peak-frac=0.5", "gemm.bf16.split-k=64",
                           "gemm.bf16.wave-frac=0.5", "gemm.bf16.ramp-k=16",
                           "gemm.bf16.small-tile-frac=0.5", more, NULL);
}

/* 300 x 500: 3 x 2 = 6 tiles on 4 SMs, x = 1.5 waves, half of the half-empty
 * one lost: 1.75.  A tile takes 2 * 128 * 256 * (1000 + 16) FLOP at a fourth
 * of 0.5e12.  (128 x 128: 12 tiles, 3 waves, at a rate of half: 0.0016 s, and
 * 64 x 64: 40 tiles, 10 waves, at a fourth: 0.0027 s, are slower.) */
START_TEST(test_gemm_waves)
{
  g_autoptr(Bench) b = bench_new(tiled(NULL));
  g_autoptr(Bench) wrong = bench_new(tiled("gemm.bf16.wave-frac=0.51"));
  double expected = 1e-6 + 1.75 * 2 * 128 * 256 * 1016.0 * 4 / 0.5e12;

  bench_check(bench_s(b, RA_OP_GEMM, 300, 500, 1000, 1), expected);
  bench_check_differs(bench_s(wrong, RA_OP_GEMM, 300, 500, 1000, 1), expected);
  /* The same rows as 300 of one product or none of another. */
  ck_assert_double_eq(bench_s(b, RA_OP_GEMM, 0, 500, 1000, 1), 0);
  ck_assert_double_eq(bench_s(b, RA_OP_GEMM, 300, 500, 1000, 0), 0);
  /* 2 x 2 tiles, two of them: 8 tiles are 2 waves, none lost. */
  bench_check(bench_s(b, RA_OP_GEMM, 256, 512, 1000, 2),
              1e-6 + 2.0 * 2 * 128 * 256 * 1016 * 4 / 0.5e12);
}
END_TEST

/* One tile of 128 x 256: k is split over the 4 SMs if a share is at least 64
 * long.  k = 1000: shares of 250; k = 100: of 64; k = 10: not split. */
START_TEST(test_gemm_split)
{
  g_autoptr(Bench) b = bench_new(tiled(NULL));
  g_autoptr(Bench) wrong = bench_new(tiled("gemm.bf16.split-k=65"));
  double tile_k = 2.0 * 128 * 256 * 4 / 0.5e12;

  bench_check(bench_s(b, RA_OP_GEMM, 100, 200, 1000, 1),
              1e-6 + tile_k * (250 + 16));
  bench_check(bench_s(b, RA_OP_GEMM, 100, 200, 100, 1),
              1e-6 + tile_k * (64 + 16));
  bench_check_differs(bench_s(wrong, RA_OP_GEMM, 100, 200, 100, 1),
                      1e-6 + tile_k * (64 + 16));
}
END_TEST

/* A small tile pays where the large one is mostly empty: 64 x 64 on 64 SMs,
 * all tiles at the full rate, k = 10 too short to split: one tile each,
 * 64 x 64 the least. */
START_TEST(test_gemm_small_tile)
{
  g_autoptr(Bench) b = bench_new(
      profile_text_load(NO_MEMORY, "gemm.bf16.sms=64", "gemm.bf16.tile-m=128",
                        "gemm.bf16.tile-n=256", "gemm.bf16.split-k=64", NULL));

  bench_check(bench_s(b, RA_OP_GEMM, 64, 64, 10, 1),
              2.0 * 64 * 64 * 10 * 64 / PEAK);
}
END_TEST

/* Ideal: the roofline.  1000^3: 2e9 FLOP at 1e12/s = 2 ms; 3e6 elements of 2
 * bytes at 1e9/s = 6 ms.  A fourth of the lesser does not hide: 6.5 ms.  FP8
 * halves both; FP32 has half the rate and twice the bytes: 4 and 12 ms. */
START_TEST(test_gemm_roofline)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));
  g_autoptr(Bench) serial =
      bench_new(profile_text_load("gemm.bf16.serial-frac=0.25", NULL));
  g_autoptr(Bench) compute = bench_new(profile_text_load(NO_MEMORY, NULL));
  RaOp op = bench_op(RA_OP_GEMM, 1000, 1000, 1000, 1);

  bench_check(ra_estimator_op_s(b->estimator, &op), 6e-3);
  bench_check(ra_estimator_op_s(serial->estimator, &op), 6.5e-3);
  bench_check(ra_estimator_op_s(compute->estimator, &op), 2e-3);
  bench_check_differs(ra_estimator_op_s(serial->estimator, &op), 6e-3);
  op.dtype = RA_DTYPE_FP8;
  bench_check(ra_estimator_op_s(b->estimator, &op), 3e-3);
  bench_check(ra_estimator_op_s(compute->estimator, &op), 1e-3);
  op.dtype = RA_DTYPE_FP32;
  bench_check(ra_estimator_op_s(b->estimator, &op), 12e-3);
  bench_check(ra_estimator_op_s(compute->estimator, &op), 4e-3);
}
END_TEST

/* With a law of its own (peak 0.5e12, half of bf16's 1e12, of which 0.8): 2 ms
 * / 0.4, and a ragged row costs no more; without one of bf16, that too. */
START_TEST(test_gemm_fp32)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load(NO_MEMORY, "gemm.fp32.peak-frac=0.8", NULL));
  g_autoptr(Bench) ideal = bench_new(profile_text_load(NO_MEMORY, NULL));
  RaOp op = bench_op(RA_OP_GEMM, 1000, 1000, 1000, 1);

  bench_check(ra_estimator_op_s(b->estimator, &op), 2e-3);
  op.dtype = RA_DTYPE_FP32;
  bench_check(ra_estimator_op_s(b->estimator, &op), 5e-3);
  bench_check_differs(ra_estimator_op_s(ideal->estimator, &op), 5e-3);
  op.flags = RA_OP_RAGGED;
  bench_check(ra_estimator_op_s(b->estimator, &op), 5e-3);
}
END_TEST

/* A device without fp8 computes it as bf16, on half the bytes. */
START_TEST(test_gemm_no_fp8)
{
  g_autoptr(Bench) a100 = bench_new(profile_text_shipped("a100-sxm"));
  RaOp op = bench_op(RA_OP_GEMM, 4096, 4096, 4096, 1);
  double bf16_s = ra_estimator_op_s(a100->estimator, &op);

  op.dtype = RA_DTYPE_FP8;
  ck_assert_double_lt(ra_estimator_op_s(a100->estimator, &op), bf16_s);
  ck_assert_double_gt(ra_estimator_op_s(a100->estimator, &op), bf16_s / 2);
}
END_TEST

#define ATTENTION_OF(law)                                                      \
  law ".sms=10", law ".floor-s=1e-6", law ".peak-frac=0.5", law ".row-s=1e-8", \
      law ".head-dim-half=32"
#define ATTENTION                                                              \
  ATTENTION_OF("attention"), "attention-backward.efficiency-frac=0.8"

/* No tiles: 2 sequences of 1000, 8 heads of 96, 4 of keys.  Pairs are
 * 2 * 1000 * 1001 / 2 = 1001000, of 96 + 32 elements: 4 * 1001000 * 8 * 128 /
 * 0.5e12; 16 heads of 1000 rows of 10 ns on 10 SMs are 16 us.  The backward's
 * five products for two at 0.8 of the rate. */
START_TEST(test_attention)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NO_MEMORY, ATTENTION, NULL));
  g_autoptr(Bench) wrong = bench_new(
      profile_text_load(NO_MEMORY, ATTENTION, "attention.tile-s=1e-3", NULL));
  RaOp op = bench_attention(RA_OP_ATTENTION, 2, 2000, 2000, 1001000, 8, 4, 96);
  double work_s = 4 * 1001000.0 * 8 * 128 / 0.5e12 + 16e-6;

  bench_check(ra_estimator_op_s(b->estimator, &op), 1e-6 + work_s);
  /* 16 heads of sequences at 1 ms each on 10 SMs. */
  bench_check(ra_estimator_op_s(wrong->estimator, &op), 1e-6 + work_s + 1.6e-3);
  op.kind = RA_OP_ATTENTION_BACKWARD;
  bench_check(ra_estimator_op_s(b->estimator, &op), 1e-6 + work_s * 2.5 / 0.8);
  bench_check_differs(ra_estimator_op_s(wrong->estimator, &op),
                      1e-6 + work_s * 2.5 / 0.8);
  op.dim[1] = 0;
  ck_assert_double_eq(ra_estimator_op_s(b->estimator, &op), 0);
}
END_TEST

/* One sequence of 64 with one head of 96: one tile of 64 rows, begun in 64
 * times 10 ns, whose 64 x 64 scores one of the 10 SMs computes at twice its
 * share: 2 * 4 * 64 * 64 * 128 * 10 / 0.5e12, more than the work of 64 * 65 / 2
 * pairs on all.  With a slow memory its bytes: (2 * 64 * 96 + 2 * 64 * 96) * 2
 * / 1e8.
 */
START_TEST(test_attention_bounds)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load(NO_MEMORY, ATTENTION, "attention.flash=2",
                                  "attention.lone-frac=2", NULL));
  g_autoptr(Bench) slow = bench_new(profile_text_load(
      "device.memory-bandwidth=1e8 B/s", ATTENTION, "attention.flash=2", NULL));
  RaOp op = bench_attention(RA_OP_ATTENTION, 1, 64, 64, 2080, 1, 1, 96);

  bench_check(ra_estimator_op_s(b->estimator, &op),
              1.64e-6 + 2 * 4 * 64 * 64.0 * 128 * 10 / 0.5e12);
  bench_check(ra_estimator_op_s(slow->estimator, &op),
              1e-6 + 4 * 64 * 96.0 * 2 / 1e8);
}
END_TEST

/* One sequence of 6400 with one head of 96 in windows of 128: 811072 pairs, 100
 * tiles of 64 rows, each with 64 keys more for the block at the far edge, on 10
 * SMs, each tile begun in 64 times 10 ns.  Of 1280 tokens, 155712 pairs, there
 * are 20 tiles; a lone one, at 8 times its share, walks over 2 * 155712 / 1280
 * + 128 = 371.3 of the 1280 keys. */
START_TEST(test_attention_windows)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load(NO_MEMORY, ATTENTION_OF("attention.wide"),
                                  "attention.wide.flash=2", NULL));
  g_autoptr(Bench) lone = bench_new(profile_text_load(
      NO_MEMORY, ATTENTION_OF("attention.wide"), "attention.wide.flash=2",
      "attention.wide.lone-frac=8", NULL));
  RaOp op = bench_attention(RA_OP_ATTENTION, 1, 6400, 6400, 811072, 1, 1, 96);

  bench_check(ra_estimator_op_s(b->estimator, &op),
              1e-6 + 4 * (811072 + 6400 * 64.0) * 128 / 0.5e12 + 6.4e-6);
  op.dim[1] = op.dim[2] = 1280;
  op.dim[3] = 155712;
  bench_check(ra_estimator_op_s(lone->estimator, &op),
              1.64e-6 +
                  8 * 4 * 64 * (2 * 155712 / 1280.0 + 128) * 128 * 10 / 0.5e12);
}
END_TEST

#define DECODE                                                                 \
  "decode-attention.floor-s=20e-6", "decode-attention.tile-s=1e-8",            \
      "decode-attention.bandwidth-frac=0.5"

/* 10 sequences, 8 heads, 2 of keys of 16: 80 heads at 10 ns, 0.8 us; queries
 * and outputs are 2 * 80 * 16 * 2 = 5120 bytes and a token of cache 2 * 2 * 16
 * * 2 = 128, at 0.5e9/s 10.24 and 0.256 us: 40 tokens are 20 + 0.8 + 10.24 +
 * 10.24, 100 are 20 + 0.8 + 10.24 + 25.6 us. */
START_TEST(test_decode_attention)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(DECODE, NULL));
  g_autoptr(Bench) wrong =
      bench_new(profile_text_load(DECODE, "decode-attention.tile-s=0", NULL));
  RaOp op = bench_attention(RA_OP_DECODE_ATTENTION, 10, 10, 40, 40, 8, 2, 16);

  bench_check(ra_estimator_op_s(b->estimator, &op), 41.28e-6);
  op.dim[2] = op.dim[3] = 100;
  bench_check(ra_estimator_op_s(b->estimator, &op), 56.64e-6);
  bench_check_differs(ra_estimator_op_s(wrong->estimator, &op), 56.64e-6);
}
END_TEST

/* 100 tokens of 1000: a norm moves 100 * 1000 * 2 * 2 bytes, 0.4 ms, at half
 * of the bandwidth 0.8 ms, and 0.1 ms of base; below 0.3 ms the floor. */
START_TEST(test_memory_op)
{
  g_autoptr(Bench) b = bench_new(
      profile_text_load("memory.norm.floor-s=3e-4", "memory.norm.base-s=1e-4",
                        "memory.norm.bandwidth-frac=0.5", NULL));

  bench_check(bench_s(b, RA_OP_NORM, 100, 1000, 0, 0), 9e-4);
  bench_check(bench_s(b, RA_OP_NORM, 10, 1000, 0, 0), 3e-4);
  ck_assert_double_eq(bench_s(b, RA_OP_NORM, 0, 1000, 0, 0), 0);
  /* Another op's law is another: the sum's 600,000 bytes at full rate. */
  bench_check(bench_s(b, RA_OP_ADD, 100, 1000, 0, 0), 6e-4);
  bench_check_differs(bench_s(b, RA_OP_NORM, 100, 1000, 0, 0), 4e-4);
  /* AdamW: 4 of gradient, 24 of master and moments, 2 of parameter. */
  bench_check(bench_s(b, RA_OP_OPTIMIZER, 1000000, 0, 0, 0), 30e-3);
  /* Casts that follow: 5 MB; alone: 2 x 2 + 2 (1 + 4 / 128) bytes each. */
  bench_check(bench_s(b, RA_OP_OPTIMIZER, 1000000, 5000000, 0, 0), 35e-3);
  bench_check(bench_s(b, RA_OP_CAST, 1000000, 2, 2, 128), 6.0625e-3);
}
END_TEST

#define CACHES                                                                 \
  "decode-attention.floor-s=0.25", "attention.floor-s=0.25",                   \
      "decode-attention.fp8.floor-s=0.5", "attention.fp8.floor-s=0.5"

/* On Hopper (generation 3) TensorRT-LLM reads an 8-bit cache with kernels of
 * its own, for which the law of 16-bit ones stands: floors of 0.25 s, and not
 * 0.5 s (the fault: one law for all engines).  From generation 4 on, and under
 * other engines, it is the law of 8-bit ones. */
START_TEST(test_8bit_cache)
{
  static const RaOp ops[] = {{.kind = RA_OP_DECODE_ATTENTION,
                              .dtype = RA_DTYPE_FP8,
                              .count = 1,
                              .dim = {1, 1, 10, 10, 2, 1, 16}},
                             {.kind = RA_OP_ATTENTION,
                              .dtype = RA_DTYPE_FP8,
                              .count = 1,
                              .dim = {1, 20, 20, 210, 2, 1, 16}}};
  RaSystemConstants system = {.compute_factor = 1};
  g_autoptr(Bench) hopper = bench_new(profile_text_load(
      CACHES, "decode-attention.fp8.flash=3", "attention.fp8.flash=3", NULL));
  g_autoptr(Bench) later = bench_new(profile_text_load(
      CACHES, "decode-attention.fp8.flash=4", "attention.fp8.flash=4", NULL));

  for (guint kernels = 0; kernels < RA_N_KERNELS; kernels++) {
    system.kernels = (RaKernels)kernels;
    ra_estimator_set_system(hopper->estimator, &system);
    ra_estimator_set_system(later->estimator, &system);
    for (guint i = 0; i < G_N_ELEMENTS(ops); i++) {
      double s = ra_estimator_op_s(hopper->estimator, &ops[i]);

      ck_assert_double_ge(s, kernels == RA_KERNELS_TRTLLM ? 0.25 : 0.5);
      ck_assert_double_lt(s, kernels == RA_KERNELS_TRTLLM ? 0.5 : 0.75);
      ck_assert_double_ge(ra_estimator_op_s(later->estimator, &ops[i]), 0.5);
    }
  }
}
END_TEST

static const struct {
  const char *law, *edit, *near;
  RaOp op;
} optional[] = {
    {"memory.cast",
     "memory.cast.floor-s=0.5",
     "memory.add.floor-s=0.5",
     {.kind = RA_OP_CAST, .dim = {1000, 1, 1, 0, 10}}},
    {"decode-attention.fp8",
     "decode-attention.fp8.floor-s=0.5",
     "decode-attention.floor-s=0.5",
     {.kind = RA_OP_DECODE_ATTENTION,
      .dtype = RA_DTYPE_FP8,
      .dim = {1, 1, 10, 10, 2, 1, 16}}},
    {"attention.wide",
     "attention.wide.floor-s=0.5",
     "attention.floor-s=0.5",
     {.kind = RA_OP_ATTENTION, .dim = {1, 20, 20, 210, 2, 1, 256}}},
    {"attention.wide",
     "attention.wide.floor-s=0.5",
     "attention.floor-s=0.5",
     {.kind = RA_OP_ATTENTION, .dim = {1, 20, 20, 90, 2, 1, 128}}},
    {"decode-attention.wide",
     "decode-attention.wide.floor-s=0.5",
     "decode-attention.floor-s=0.5",
     {.kind = RA_OP_DECODE_ATTENTION, .dim = {1, 1, 10, 10, 2, 1, 256}}},
    {"attention.fp8",
     "attention.fp8.floor-s=0.5",
     "attention.floor-s=0.5",
     {.kind = RA_OP_ATTENTION,
      .dtype = RA_DTYPE_FP8,
      .dim = {1, 20, 20, 210, 2, 1, 16}}},
    {"latent-attention.fp8",
     "latent-attention.fp8.floor-s=0.5",
     "latent-attention.floor-s=0.5",
     {.kind = RA_OP_LATENT,
      .dtype = RA_DTYPE_FP8,
      .dim = {1, 20, 20, 210, 2, 24, 16}}},
    {"latent-absorbed",
     "latent-absorbed.floor-s=0.5",
     "latent-decode.floor-s=0.5",
     {.kind = RA_OP_LATENT_DECODE, .dim = {1, 20, 20, 210, 2, 16, 4}}},
    {"latent-absorbed.fp8",
     "latent-absorbed.fp8.floor-s=0.5",
     "latent-absorbed.floor-s=0.5",
     {.kind = RA_OP_LATENT_DECODE,
      .dtype = RA_DTYPE_FP8,
      .dim = {1, 20, 20, 210, 2, 16, 4}}},
    {"latent-decode.fp8",
     "latent-decode.fp8.floor-s=0.5",
     "latent-decode.floor-s=0.5",
     {.kind = RA_OP_LATENT_DECODE,
      .dtype = RA_DTYPE_FP8,
      .dim = {1, 1, 10, 10, 2, 16, 4}}}};

/* Without a law of casts they take that of additions, 8-bit caches that of
 * 16-bit ones, and wide heads and windows that of others; with one they take
 * their own: the floors of 0.5 s alone.  20 tokens have 210 pairs, 90 in a
 * window of 5. */
START_TEST(test_optional)
{
  for (guint i = 0; i < G_N_ELEMENTS(optional); i++) {
    const char *own[] = {optional[i].edit, NULL},
               *near[] = {optional[i].near, NULL};
    g_autofree char *with = profile_text(own), *text = profile_text(near);
    g_autofree char *head = g_strdup_printf("[law %s]", optional[i].law);
    char *at = strstr(text, head);
    g_autoptr(Bench) both = NULL, one = NULL, none = NULL;

    both = bench_new(profile_text_parse(with));
    one = bench_new(profile_text_parse(text));
    memmove(at, strstr(at + 1, "[law "), strlen(strstr(at + 1, "[law ")) + 1);
    none = bench_new(profile_text_parse(text));
    ck_assert_double_ge(ra_estimator_op_s(both->estimator, &optional[i].op),
                        0.5);
    ck_assert_double_lt(ra_estimator_op_s(one->estimator, &optional[i].op),
                        0.5);
    ck_assert_double_ge(ra_estimator_op_s(none->estimator, &optional[i].op),
                        0.5);
  }
}
END_TEST

/* Laws of the kinds of memory-bound ops. */
START_TEST(test_memory_laws)
{
  static const struct {
    RaOpKind kind;
    const char *edit;
  } cases[] = {
      {RA_OP_NORM_BACKWARD, "memory.norm.floor-s=0.5"},
      {RA_OP_ROPE, "memory.rope.floor-s=0.5"},
      {RA_OP_CAST, "memory.cast.floor-s=0.5"},
      {RA_OP_ACTIVATION, "memory.activation.floor-s=0.5"},
      {RA_OP_ACTIVATION_BACKWARD, "memory.activation.floor-s=0.5"},
      {RA_OP_EMBEDDING, "memory.embedding.floor-s=0.5"},
      {RA_OP_EMBEDDING_BACKWARD, "memory.embedding.floor-s=0.5"},
      {RA_OP_CROSS_ENTROPY, "memory.other.floor-s=0.5"},
      {RA_OP_CROSS_ENTROPY_BACKWARD, "memory.other.floor-s=0.5"},
      {RA_OP_ROUTER, "memory.other.floor-s=0.5"},
      {RA_OP_PERMUTE, "memory.other.floor-s=0.5"},
      {RA_OP_SAMPLE, "memory.other.floor-s=0.5"},
      {RA_OP_LOSS, "memory.other.floor-s=0.5"},
      {RA_OP_OPTIMIZER, "memory.other.floor-s=0.5"},
      /* laws that a profile may have beside */
      {RA_OP_NORM_BACKWARD, "memory.norm-backward.floor-s=0.5"},
      {RA_OP_ACTIVATION_BACKWARD, "memory.activation-backward.floor-s=0.5"},
      {RA_OP_EMBEDDING_BACKWARD, "memory.embedding-backward.floor-s=0.5"},
      {RA_OP_CROSS_ENTROPY, "memory.cross-entropy.floor-s=0.5"},
      {RA_OP_CROSS_ENTROPY_BACKWARD,
       "memory.cross-entropy-backward.floor-s=0.5"},
      {RA_OP_SAMPLE, "memory.sample.floor-s=0.5"},
      {RA_OP_LOSS, "memory.loss.floor-s=0.5"},
      {RA_OP_OPTIMIZER, "memory.optimizer.floor-s=0.5"}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(Bench) b = bench_new(profile_text_load(cases[i].edit, NULL));
    g_autoptr(Bench) ideal = bench_new(profile_text_load(NULL, NULL));
    /* Without casts behind it. */
    uint64_t d1 = cases[i].kind == RA_OP_OPTIMIZER ? 0 : 2;

    ck_assert_double_eq(bench_s(b, cases[i].kind, 2, d1, 2, 0), 0.5);
    ck_assert_double_lt(bench_s(ideal, cases[i].kind, 2, d1, 2, 0), 0.5);
  }
}
END_TEST

/* Kernels of 1 ms at 100,000 bytes of the ideal link and so on: see each. */
static RaOp *
small_list(RaOp ops[4])
{
  ops[0] = bench_op(RA_OP_NORM, 500, 500, 0, 0); /* 1e6 bytes: 1 ms */
  ops[0].count = 3;
  ops[1] = bench_op(RA_OP_ALL_GATHER, 400000, 2, 2, 1); /* 2 ms */
  ops[2] = bench_op(RA_OP_ALL_REDUCE, 400000, 1, 1, 1); /* alone: nothing */
  ops[3] = bench_op(RA_OP_HOST, 7000000, 0, 0, 0);      /* 7 ms of the host */
  return ops;
}

/* Device 3 + 2 ms, host work 7 ms.  Eager at 1 ms a kernel: 4 launches hide
 * behind 5 ms; at 2 ms, 8 - 5 = 3 ms are waited for.  The collective of one
 * rank is not launched.  Graph: 4 ms and 4 gaps of 1 ms. */
START_TEST(test_lists)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load("host.eager-launch-s=1e-3", NULL));
  g_autoptr(Bench) slow = bench_new(
      profile_text_load("host.eager-launch-s=2e-3", "host.graph-launch-s=4e-3",
                        "host.graph-gap-s=1e-3", NULL));
  RaOp ops[4];
  RaCost cost;

  ra_estimator_ops(b->estimator, small_list(ops), 4, RA_LAUNCH_EAGER, &cost);
  bench_check(cost.compute_s, 3e-3);
  bench_check(cost.comm_s, 2e-3);
  bench_check(cost.host_s, 7e-3);
  bench_check(cost.total_s, 12e-3);
  ra_estimator_ops(slow->estimator, ops, 4, RA_LAUNCH_EAGER, &cost);
  bench_check(cost.host_s, 10e-3);
  bench_check(cost.total_s, 15e-3);
  ra_estimator_ops(slow->estimator, ops, 4, RA_LAUNCH_GRAPH, &cost);
  bench_check(cost.host_s, 15e-3);
  bench_check_differs(cost.host_s, 16e-3);
  bench_check(cost.total_s, 20e-3);
  ra_estimator_ops(slow->estimator, ops, 0, RA_LAUNCH_GRAPH, &cost);
  ck_assert_double_eq(cost.total_s, 0);
}
END_TEST

/* The table of decode attention is of two bytes a number, and the A100 has none
 * of one.  64 sequences of 8192 tokens read 2 x 8 x 128 x 2 bytes a token, 2.1
 * GB, in fp8 half of it: nearly half the time, and not the same. */
START_TEST(test_fp8_cache)
{
  g_autoptr(Bench) b = bench_new(profile_text_shipped("a100-sxm"));
  RaOp op = bench_attention(RA_OP_DECODE_ATTENTION, 64, 64, 64 * 8192,
                            64 * 8192, 32, 8, 128);
  double half_s = ra_estimator_op_s(b->estimator, &op), quarter_s;

  op.dtype = RA_DTYPE_FP8;
  quarter_s = ra_estimator_op_s(b->estimator, &op);
  ck_assert_double_lt(quarter_s, 0.6 * half_s);
  ck_assert_double_gt(quarter_s, 0.5 * half_s);
}
END_TEST

/* A work of one op runs on a stream of its own and is not waited for.  One of
 * a shard is launched as its call says: a layer of llama forward is 11 kernels
 * (two norms, qkv, rotary, attention, out, sum, gate and up, SwiGLU, down,
 * sum), 1.1 s of launching, behind which two tokens hide. */
START_TEST(test_work)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load("host.eager-launch-s=0.1", NULL));
  RaOp send = bench_op(RA_OP_SEND, 100000, 0, 1, 0);
  RaModelShape shape;
  g_autoptr(RaModel) model = NULL;
  RaShard shard = {.tp = 1, .launch = RA_LAUNCH_EAGER};
  RaWork works[2] = {{.shard = RA_NONE, .op = send},
                     {.shard = 0,
                      .phase = RA_PHASE_FORWARD,
                      .piece = {.n_layers = 1},
                      .batch = {1, 2, 2, 3}}};
  RaTaskGraph graph = {
      .n_works = 2, .works = works, .n_shards = 1, .shards = &shard};
  RaCost cost;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 1, shape.hidden = 64, shape.heads = 1, shape.vocab = 10;
  model = ra_model_from_shape(&shape, NULL);
  ck_assert_ptr_nonnull(model);
  shard.model = model;
  ra_estimator_work(b->estimator, &graph, 0, &cost);
  bench_check(cost.comm_s, 1e-3);
  bench_check(cost.total_s, 1e-3);
  ra_estimator_work(b->estimator, &graph, 1, &cost);
  ck_assert_double_gt(cost.compute_s, 0);
  bench_check(cost.total_s, 1.1);
}
END_TEST

/* Products of 1 to 16384 rows by sixteens, twice over so that the second round
 * meets what the first left: more than a fork's memo has slots, so that some
 * are pushed out and asked for anew.  The count and what an op is beside are no
 * part of its time; every bit of the kind, precision, flags and shape is. */
START_TEST(test_fork)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));
  g_autoptr(RaEstimator) fork = ra_estimator_fork(b->estimator);
  RaOp op = bench_op(RA_OP_GEMM, 0, 512, 256, 1), other;

  for (guint round = 0; round < 2; round++)
    for (uint64_t m = 1; m <= 1 << 14; m++) {
      op.dim[0] = 16 * m;
      op.count = 1 + (uint32_t)(m + round) % 7;
      ck_assert_double_eq(ra_estimator_op_s(fork, &op),
                          ra_estimator_op_s(b->estimator, &op));
    }
  other = op;
  other.dtype = RA_DTYPE_FP32;
  ck_assert_double_gt(ra_estimator_op_s(fork, &other),
                      ra_estimator_op_s(fork, &op));
  other = op;
  other.flags = RA_OP_RAGGED;
  ck_assert_double_gt(ra_estimator_op_s(fork, &other),
                      ra_estimator_op_s(fork, &op));
  other = op;
  other.dim[3] = 2;
  ck_assert_double_gt(ra_estimator_op_s(fork, &other),
                      ra_estimator_op_s(fork, &op));
}
END_TEST

/* Between the outer keep and its drop a freed fork is the next one again, and
 * has the same bits; a second is another.  A fork may end behind the estimator
 * and those who keep it (a leak checker sees that all are freed).  Faults: a
 * drop of the inner pair that ends the outer one; forks that end with the
 * estimator. */
START_TEST(test_kept_forks)
{
  Bench *b = bench_new(profile_text_load(NULL, NULL));
  RaOp op = bench_op(RA_OP_GEMM, 256, 512, 256, 1);
  RaForks *outer = ra_estimator_keep_forks(b->estimator);
  RaForks *inner = ra_estimator_keep_forks(b->estimator);
  RaEstimator *first = ra_estimator_fork(b->estimator), *second;
  double s = ra_estimator_op_s(b->estimator, &op);
  gpointer room; /* what a fork that was freed would have left */

  ck_assert_double_eq(ra_estimator_op_s(first, &op), s);
  ra_estimator_free(first);
  ra_forks_drop(inner);
  room = g_malloc(sizeof *first);
  ck_assert_ptr_eq(ra_estimator_fork(b->estimator), first);
  second = ra_estimator_fork(b->estimator);
  ck_assert_ptr_ne(second, first);
  ck_assert_double_eq(ra_estimator_op_s(second, &op), s);
  ck_assert_double_eq(ra_estimator_op_s(first, &op), s);
  ra_estimator_free(second);
  bench_free(b);
  ra_forks_drop(outer);
  ra_estimator_free(first); /* behind all: not kept */
  g_free(room);
}
END_TEST

/* Lines of decode steps, eager (bound by the host while they are short) and as
 * a graph: at K a line has what the step at K costs, split alike, to rounding;
 * its other end asks for the same line; and a fork, also one that has met more
 * subjects than it keeps, has the same bits as its estimator, which computes
 * each anew.  Faults: a subject without its launch; compute that does not grow
 * while the host is the bound. */
START_TEST(test_lines)
{
  g_autoptr(Bench) b = bench_new(profile_text_shipped("h100-sxm"));
  g_autoptr(RaEstimator) fork = ra_estimator_fork(b->estimator);
  g_autoptr(RaModel) m = bench_small_model();
  RaRng rng = ra_rng_init(1, 0);
  guint n_bound = 0, n_long = 0;

  for (guint i = 0; i < 40000; i++) {
    RaShard shard = {.model = m,
                     .tp = 1,
                     .tp_ranks_per_node = 1,
                     .tp_groups_per_node = 1,
                     .dtype = RA_DTYPE_BF16,
                     .launch = i % 2 ? RA_LAUNCH_EAGER : RA_LAUNCH_GRAPH};
    RaPiece piece = {.n_layers = m->n_layers, .has_head = i % 3 == 0};
    uint32_t n = 1 + (uint32_t)(ra_rng_bits(&rng) % 512);
    uint64_t k = n + ra_rng_bits(&rng) % ((uint64_t)n * 20000);
    RaDecodeLine line, other, exact;
    RaCost cost;

    ra_estimator_decode_line(fork, &shard, &piece, n, k, &line);
    ck_assert(line.from_tokens <= k && k <= line.until_tokens);
    ra_estimator_decode_line(b->estimator, &shard, &piece, n, k, &other);
    ck_assert_mem_eq(&line, &other, sizeof line);
    ra_estimator_decode_line(fork, &shard, &piece, n, line.from_tokens, &other);
    ck_assert_mem_eq(&line, &other, sizeof line);
    ra_estimator_decode(b->estimator, &shard, &piece, n, k, &exact);
    cost = ra_decode_line_cost(&line, n, k, 1);
    ck_assert_double_eq_tol(cost.total_s, exact.cost.total_s,
                            1e-9 * exact.cost.total_s);
    ck_assert_double_eq_tol(cost.compute_s, exact.cost.compute_s,
                            1e-9 * exact.cost.total_s);
    ck_assert_double_eq_tol(cost.host_s, exact.cost.host_s,
                            1e-9 * exact.cost.total_s);
    n_bound += line.compute_s_per_token > line.s_per_token;
    n_long += k > line.from_tokens;
  }
  ck_assert(n_bound > 1000 && n_long > 30000);
}
END_TEST

/* A law that is missing is said by name; fp8's may be. */
START_TEST(test_missing_law)
{
  static const struct {
    const char *law, *message;
  } cases[] = {
      {"host", "p:1: law 'host' is missing, expected a group '[law host]'"},
      {"send", "p:1: law 'send' is missing, expected a group '[law send]'"},
      {"gemm.bf16", "p:1: law 'gemm.bf16' is missing, expected a group "
                    "'[law gemm.bf16]'"},
      {"gemm.fp8", NULL},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = profile_text(NULL);
    g_autofree char *head = g_strdup_printf("[law %s]", cases[i].law);
    char *at = strstr(text, head), *end = strstr(at + 1, "\n[law");
    g_autoptr(GError) error = NULL;
    RaCluster cluster = {.n_nodes = 1, .gpus_per_node = 8};

    if (end)
      memmove(at, end + 1, strlen(end));
    else
      *at = '\0';
    g_autoptr(RaKeyFile) file =
        ra_key_file_parse("p", text, strlen(text), NULL);
    g_autoptr(RaProfile) profile = ra_profile_load(file, NULL);
    ck_assert_ptr_nonnull(profile);
    cluster.device = profile->spec;
    g_autoptr(RaEstimator) estimator =
        ra_estimator_new(profile, &cluster, &error);
    ck_assert((estimator == NULL) == (cases[i].message != NULL));
    if (cases[i].message) {
      ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
      ck_assert_str_eq(error->message, cases[i].message);
    }
  }
}
END_TEST

static Suite *
estimator_suite(void)
{
  Suite *suite = suite_create("estimator");
  TCase *tcase = tcase_create("laws");

  tcase_add_test(tcase, test_gemm_waves);
  tcase_add_test(tcase, test_gemm_split);
  tcase_add_test(tcase, test_gemm_small_tile);
  tcase_add_test(tcase, test_gemm_roofline);
  tcase_add_test(tcase, test_gemm_no_fp8);
  tcase_add_test(tcase, test_attention);
  tcase_add_test(tcase, test_attention_bounds);
  tcase_add_test(tcase, test_attention_windows);
  tcase_add_test(tcase, test_decode_attention);
  tcase_add_test(tcase, test_memory_op);
  tcase_add_test(tcase, test_8bit_cache);
  tcase_add_test(tcase, test_optional);
  tcase_add_test(tcase, test_gemm_fp32);
  tcase_add_test(tcase, test_memory_laws);
  suite_add_tcase(suite, tcase);
  tcase = tcase_create("lists");
  tcase_add_test(tcase, test_lists);
  tcase_add_test(tcase, test_fp8_cache);
  tcase_add_test(tcase, test_work);
  tcase_add_test(tcase, test_fork);
  tcase_add_test(tcase, test_kept_forks);
  tcase_add_test(tcase, test_lines);
  tcase_add_test(tcase, test_missing_law);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(estimator_suite)
