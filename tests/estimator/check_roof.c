/* Laws of latent and linear attention, by hand and against their formula. */
#include "config.h"

#include "estimator/estimator_impl.h"
#include "estimator/fit.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"
#include "traces/system.h"

/* Seconds of an op whose seven sizes are given. */
static double
roof_s(const Bench *b, RaOpKind kind, const uint64_t *dim)
{
  RaOp op = {.kind = (uint8_t)kind,
             .dtype = RA_DTYPE_BF16,
             .count = 1,
             .flags = kind >= RA_OP_CONV ? RA_OP_DELTA : 0};

  for (guint i = 0; i < RA_OP_DIMS; i++)
    op.dim[i] = dim[i];
  return ra_estimator_op_s(b->estimator, &op);
}

static Bench *
bench(void)
{
  return bench_new(profile_text_load(
      "latent-attention.floor-s=0.3", "latent-attention.step-s=0.05",
      "latent-attention.serial-frac=0.25", "latent-decode.floor-s=0.7",
      "scan.floor-s=0.2", "scan.step-s=0.0125", "scan-step.floor-s=0.1",
      "conv.floor-s=0.4", NULL));
}

/* 2 sequences of 256 tokens, 4 heads of 192 and 128: 2 * 256 * 257 / 2 = 65792
 * pairs.  FLOP 2 * 65792 * 4 * 320 = 168427520 at 1e12 a second, bytes 2 * (512
 * * 4 + 512 * 4) * 320 = 2621440 at 1e9: memory.  Two blocks of 128 keys. */
START_TEST(test_latent)
{
  g_autoptr(Bench) b = bench();
  const uint64_t dim[] = {2, 512, 512, 65792, 4, 192, 128};
  double compute = 168427520 / 1e12, memory = 2621440 / 1e9;

  bench_check(roof_s(b, RA_OP_LATENT, dim),
              0.3 + 2 * 0.05 + memory + 0.25 * compute);
  bench_check_differs(roof_s(b, RA_OP_LATENT, dim),
                      0.3 + 0.05 + memory + 0.25 * compute);
}
END_TEST

/* The cache of 3 sequences has 100 tokens: between 96 and 112, quarters of the
 * octave of 64.  With t tokens FLOP are 2 t 64 (1024 + 64), of a whole block of
 * heads, bytes 2 (3 * 8 (576 + 512) + 576 t): memory, which is linear, so the
 * line is exact everywhere. */
START_TEST(test_decode)
{
  g_autoptr(Bench) b = bench();
  const uint64_t dim[] = {3, 3, 100, 100, 8, 512, 64};
  RaRoofLaw laws[RA_N_KERNELS][RA_N_ROOFS], law;
  RaOp op = {.kind = RA_OP_LATENT_DECODE, .dtype = RA_DTYPE_BF16, .count = 1};
  uint64_t until;

  bench_check(roof_s(b, RA_OP_LATENT_DECODE, dim),
              0.7 + 2 * (3 * 8 * 1088 + 576 * 100) / 1e9);
  ck_assert(ra_roof_laws_init(laws, b->profile, &b->cluster.device, NULL));
  law = laws[0][RA_ROOF_LATENT_DECODE];
  for (guint i = 0; i < RA_OP_DIMS; i++)
    op.dim[i] = dim[i];
  /* the difference of two times of 0.7 s, each rounded to 1e-16 of it */
  ck_assert_double_eq_tol(ra_roof_line(&law, &op, &until), 2 * 576 / 1e9,
                          1e-16);
  ck_assert_uint_eq(until, 112);
  op.dim[2] = op.dim[3] = 3; /* below 4 every token is a knot */
  ra_roof_line(&law, &op, &until);
  ck_assert_uint_eq(until, 4);
}
END_TEST

/* A cache of fp8 of 100 tokens a sequence, 128 heads: products of fp8, at 2e12
 * a second, take longer than its bytes at 1e12.  A block has 64 heads, whether
 * all are there or not: 65 take as long as 128, one as long as 64, which is
 * half; by the heads alone it would be a 128th. */
START_TEST(test_decode_fp8)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load("latent-decode.fp8.floor-s=0.9",
                                  "device.memory-bandwidth=1000 GB/s", NULL));
  RaOp op = {.kind = RA_OP_LATENT_DECODE,
             .dtype = RA_DTYPE_FP8,
             .count = 1,
             .dim = {3, 3, 300, 300, 128, 512, 64}};
  double products = 2.0 * 300 * 128 * 1088;

  bench_check(ra_estimator_op_s(b->estimator, &op), 0.9 + products / 2e12);
  op.dtype = RA_DTYPE_BF16;
  bench_check(ra_estimator_op_s(b->estimator, &op), products / 1e12);
  op.dim[4] = 65;
  bench_check(ra_estimator_op_s(b->estimator, &op), products / 1e12);
  op.dim[4] = 1;
  bench_check(ra_estimator_op_s(b->estimator, &op), products / 2e12);
  ck_assert_double_eq(ra_feature(RA_FEATURE_BLOCKS, &op), 3);
  op.dim[4] = 65;
  ck_assert_double_eq(ra_feature(RA_FEATURE_BLOCKS, &op), 6);
}
END_TEST

/* 10 tokens, 3 heads of 8 x 16: 2 bytes of 80 + 128 + 160 elements a head.  One
 * matrix, a side beyond 512 and a batch in 8 bits are the GEMMs' laws', without
 * a floor. */
START_TEST(test_matrices)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load("latent-matrices.floor-s=0.6", NULL));
  const RaOp op = {.kind = RA_OP_GEMM,
                   .dtype = RA_DTYPE_BF16,
                   .count = 1,
                   .dim = {10, 16, 8, 3}};
  RaOp others[] = {op, op, op};

  bench_check(ra_estimator_op_s(b->estimator, &op), 0.6 + 3 * 2 * 368 / 1e9);
  others[0].dim[3] = 1;
  others[1].dim[1] = 513;
  others[2].dtype = RA_DTYPE_FP8;
  for (guint i = 0; i < G_N_ELEMENTS(others); i++)
    ck_assert_double_lt(ra_estimator_op_s(b->estimator, &others[i]), 0.1);
}
END_TEST

/* With a table the law bends at its knots alone: as far as the line holds it is
 * straight, to rounding, and from there on it goes on without a jump. */
START_TEST(test_line)
{
  g_autoptr(RaProfile) profile = profile_text_shipped("h100-sxm");
  g_autoptr(Bench) b = bench_new(g_steal_pointer(&profile));
  RaRoofLaw laws[RA_N_KERNELS][RA_N_ROOFS], law;

  ck_assert(ra_roof_laws_init(laws, b->profile, &b->cluster.device, NULL));
  law = laws[0][RA_ROOF_LATENT_DECODE];
  ck_assert(law.is_there && law.residual.grid);
  for (uint64_t n = 1; n <= 256; n *= 4) {
    for (uint64_t tokens = 5 * n; tokens < 100000 * n;
         tokens = tokens * 7 / 3) {
      RaOp op = {.kind = RA_OP_LATENT_DECODE,
                 .dtype = RA_DTYPE_BF16,
                 .count = 1,
                 .dim = {n, n, tokens, tokens, 16, 512, 64}};
      double from_s = ra_roof_s(&law, &op), slope, far_s;
      uint64_t until;

      slope = ra_roof_line(&law, &op, &until);
      ck_assert_uint_gt(until, tokens);
      op.dim[2] = op.dim[3] = until - 1;
      bench_check(ra_roof_s(&law, &op),
                  from_s + slope * (double)(until - 1 - tokens));
      far_s = from_s + slope * (double)(until - tokens);
      op.dim[2] = op.dim[3] = until;
      bench_check(ra_roof_s(&law, &op), far_s);
    }
  }
}
END_TEST

/* 5 sequences of 130 tokens, chunks of 64: 3 steps.  Decode steps have none. */
START_TEST(test_scan)
{
  g_autoptr(Bench) b = bench();
  RaOp op = {.kind = RA_OP_SCAN,
             .dtype = RA_DTYPE_BF16,
             .flags = RA_OP_DELTA,
             .count = 1,
             .dim = {5, 650, 4, 8, 128, 128, 64}};

  bench_check(ra_estimator_op_s(b->estimator, &op),
              0.2 + 3 * 0.0125 + ra_op_bytes(&op) / 1e9);
  op.flags = 0; /* Mamba-2's has the nearest law, without floor and steps */
  ck_assert_double_lt(ra_estimator_op_s(b->estimator, &op), 0.2);
  op.flags = RA_OP_DELTA;
  op.kind = RA_OP_SCAN_STEP;
  op.dim[1] = 5;
  op.dim[6] = 0;
  bench_check(ra_estimator_op_s(b->estimator, &op),
              0.1 + ra_op_bytes(&op) / 1e9);
}
END_TEST

/* 3 sequences of 10 tokens, 8 channels, 4 taps: 240 elements in and out, and
 * 3 * 3 * 8 that were before them, read and left, of 2 bytes.  Backward, 3
 * passes over the elements for 2 over both. */
START_TEST(test_conv)
{
  g_autoptr(Bench) b = bench();
  const uint64_t dim[] = {30, 8, 4, 3, 0, 0, 0};
  double bytes = 2 * (2 * 240 + 2 * 72), forward = 0.4 + bytes / 1e9;

  bench_check(roof_s(b, RA_OP_CONV, dim), forward);
  bench_check(roof_s(b, RA_OP_CONV_BACKWARD, dim),
              forward * 2 * 3 * 240 / bytes);
}
END_TEST

/* test_conv's of other mixers, which have kernels of their own, but for Kimi's
 * of prompts; 3 sequences of one token are a decode step's. */
START_TEST(test_mixers)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "conv.floor-s=0.4", "conv-step.kda.floor-s=0.6",
      "conv.mamba2.floor-s=0.7", "conv-step.mamba2.floor-s=0.8",
      "scan.floor-s=0.2", "scan.kda.floor-s=0.3", "scan-step.kda.floor-s=0.35",
      "scan.mamba2.floor-s=0.25", NULL));
  RaOp op = {.kind = RA_OP_CONV,
             .dtype = RA_DTYPE_BF16,
             .flags = RA_OP_KIMI | RA_OP_DELTA,
             .count = 1,
             .dim = {30, 8, 4, 3}};
  RaOp step = op, scan = {.kind = RA_OP_SCAN,
                          .dtype = RA_DTYPE_BF16,
                          .flags = RA_OP_DELTA | RA_OP_KIMI,
                          .count = 1,
                          .dim = {5, 650, 4, 8, 128, 128, 64}};
  double bytes_s = 2 * (2 * 240 + 2 * 72) / 1e9;

  step.dim[0] = 3;
  bench_check(ra_estimator_op_s(b->estimator, &op), 0.4 + bytes_s);
  bench_check_differs(ra_estimator_op_s(b->estimator, &op), 0.6 + bytes_s);
  bench_check(ra_estimator_op_s(b->estimator, &step),
              0.6 + ra_op_bytes(&step) / 1e9);
  op.flags = step.flags = 0;
  bench_check(ra_estimator_op_s(b->estimator, &op), 0.7 + bytes_s);
  bench_check(ra_estimator_op_s(b->estimator, &step),
              0.8 + ra_op_bytes(&step) / 1e9);
  op.flags = RA_OP_DELTA;
  bench_check(ra_estimator_op_s(b->estimator, &op), 0.4 + bytes_s);
  bench_check(ra_estimator_op_s(b->estimator, &scan),
              0.3 + ra_op_bytes(&scan) / 1e9);
  scan.kind = RA_OP_SCAN_STEP;
  bench_check(ra_estimator_op_s(b->estimator, &scan),
              0.35 + ra_op_bytes(&scan) / 1e9);
  scan.kind = RA_OP_SCAN;
  scan.flags = 0;
  bench_check(ra_estimator_op_s(b->estimator, &scan),
              0.25 + ra_op_bytes(&scan) / 1e9);
}
END_TEST

/* Sparse attention.  Prompts: 2 sequences of 10 tokens on 65 heads, two tiles
 * each (the fault: one): 40.  54 pairs of two whole tiles are 2 * 54 * 128 *
 * 1088 FLOP at 1e12 a second, bytes 2 (20 * 65 (576 + 512) + 20 * 576) at 1e9.
 * A decode step of 3 sequences takes no less than its 3 tiles, and without an
 * indexer (the fault) has none.  The indexer of a step: its floor and bytes. */
START_TEST(test_sparse)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "latent-sparse.floor-s=0.1", "latent-sparse.step-s=0.3",
      "latent-sparse.serial-frac=0.25", "latent-decode.floor-s=0.7",
      "indexer-step.floor-s=0.2", NULL));
  RaOp op = {.kind = RA_OP_LATENT_DECODE,
             .dtype = RA_DTYPE_BF16,
             .flags = RA_OP_SPARSE,
             .count = 1,
             .dim = {2, 20, 20, 54, 65, 512, 64}};
  RaOp index = {.kind = RA_OP_INDEXER,
                .dtype = RA_DTYPE_BF16,
                .count = 1,
                .dim = {3, 3, 96, 96, 64, 128, 2048}};
  double compute = 2.0 * 54 * 128 * 1088 / 1e12;
  double memory = 2.0 * (20 * 65 * 1088 + 20 * 576) / 1e9;

  bench_check(ra_estimator_op_s(b->estimator, &op),
              0.1 + 40 * 0.3 + memory + 0.25 * compute);
  bench_check_differs(ra_estimator_op_s(b->estimator, &op),
                      0.1 + 20 * 0.3 + memory + 0.25 * compute);
  op = (RaOp){.kind = RA_OP_LATENT_DECODE,
              .dtype = RA_DTYPE_BF16,
              .flags = RA_OP_SPARSE,
              .count = 1,
              .dim = {3, 3, 96, 96, 8, 512, 64}};
  bench_check(ra_estimator_op_s(b->estimator, &op), 3 * 0.3);
  op.flags = 0;
  bench_check(ra_estimator_op_s(b->estimator, &op),
              0.7 + ra_op_bytes(&op) / 1e9);
  bench_check(ra_estimator_op_s(b->estimator, &index),
              0.2 + ra_op_bytes(&index) / 1e9);
}
END_TEST

/* A profile without a mixer's own laws has those of delta nets in their place;
 * one with them (the fault) has another time. */
START_TEST(test_stand_in)
{
  static const char *const gpus[] = {"a100-sxm", "h100-sxm"};

  for (guint i = 0; i < G_N_ELEMENTS(gpus); i++) {
    g_autoptr(Bench) b = bench_new(profile_text_shipped(gpus[i]));
    RaOp op = {.kind = RA_OP_CONV,
               .dtype = RA_DTYPE_BF16,
               .flags = RA_OP_DELTA,
               .count = 1,
               .dim = {2, 4608, 4, 2}};
    double plain_s = ra_estimator_op_s(b->estimator, &op), kimi_s;

    op.flags = RA_OP_KIMI | RA_OP_DELTA;
    kimi_s = ra_estimator_op_s(b->estimator, &op);
    ck_assert((kimi_s == plain_s) == (i == 0));
  }
}
END_TEST

/* Stand-ins have stand-ins: nobody measured prompts on a latent cache on an
 * A100, of fp8 or not, so both are its decode steps' law.  One step alone (the
 * fault) ends at a law that is not there. */
START_TEST(test_stand_in_twice)
{
  static const char *const gpus[] = {"a100-sxm", "h100-sxm"};
  static const RaRoof roofs[] = {RA_ROOF_LATENT_DECODE,
                                 RA_ROOF_LATENT_ABSORBED_FP8};
  const RaOp op = {.kind = RA_OP_LATENT_DECODE,
                   .dtype = RA_DTYPE_FP8,
                   .count = 1,
                   .dim = {1, 512, 512, 131328, 16, 512, 64}};

  for (guint i = 0; i < G_N_ELEMENTS(gpus); i++) {
    g_autoptr(Bench) b = bench_new(profile_text_shipped(gpus[i]));
    const RaRoofLaw *law =
        ra_estimator_roof(b->estimator, &op, RA_KERNELS_COMMON);

    ck_assert_ptr_nonnull(law);
    ck_assert_uint_eq(law->roof, roofs[i]);
    ck_assert_str_eq(ra_fit_law_in(b->profile, &op), ra_roof_name(roofs[i]));
  }
}
END_TEST

/* A backward pass is as much longer than its forward as that of the nearest op:
 * on the ideal device 5 GEMMs of attention for 2, where products bind. */
START_TEST(test_backward)
{
  g_autoptr(Bench) b = bench();
  const uint64_t dim[] = {1, 65536, 65536, 2147516416, 64, 192, 128};
  double forward = roof_s(b, RA_OP_LATENT, dim);

  bench_check(roof_s(b, RA_OP_LATENT_BACKWARD, dim), 2.5 * forward);
}
END_TEST

/* A profile with the law of the gradient: FLOP of test_latent 5 GEMMs, three of
 * keys' and two of values' width: 2 * 65792 * 4 * (3 * 192 + 2 * 128), bytes
 * twice the forward's; memory binds.  2.5 times the forward (the fault) is
 * another. */
START_TEST(test_backward_law)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "latent-backward.floor-s=0.5", "latent-backward.step-s=0.07",
      "latent-backward.serial-frac=0.25", NULL));
  const uint64_t dim[] = {2, 512, 512, 65792, 4, 192, 128};
  double compute = 2.0 * 65792 * 4 * 832 / 1e12, memory = 2 * 2621440 / 1e9;

  bench_check(roof_s(b, RA_OP_LATENT_BACKWARD, dim),
              0.5 + 2 * 0.07 + memory + 0.25 * compute);
  bench_check_differs(roof_s(b, RA_OP_LATENT_BACKWARD, dim),
                      2.5 * roof_s(b, RA_OP_LATENT, dim));
}
END_TEST

static Bench *
engine_bench(const char *flash)
{
  return bench_new(profile_text_load(
      flash, "latent-decode.fp8.sglang.flash=3", "latent-decode.floor-s=0.7",
      "latent-decode.sglang.floor-s=0.9", "latent-decode.sglang.step-s=0.01",
      "latent-decode.fp8.sglang.convert-bytes=6",
      "latent-attention.floor-s=0.3", "latent-attention.sglang.floor-s=0.4",
      NULL));
}

/* A decode step of 3 sequences, 96 tokens in all and 20 heads, under SGLang: a
 * block of heads a sequence; of Triton's kernel two, of which the second reads
 * the cache again (the faults: one block; the common law).  A cache of fp8 is
 * converted, 6 bytes of traffic an element, whatever else it takes. */
START_TEST(test_engine)
{
  static const RaSystemConstants sglang = {.compute_factor = 1,
                                           .kernels = RA_KERNELS_SGLANG};
  g_autoptr(Bench) hopper = engine_bench("latent-decode.sglang.flash=3");
  g_autoptr(Bench) ada = engine_bench("latent-decode.sglang.flash=2");
  const uint64_t dim[] = {3, 3, 96, 96, 20, 512, 64};
  RaOp fp8 = {.kind = RA_OP_LATENT_DECODE, .dtype = RA_DTYPE_FP8, .count = 1};
  double cache = 576 * 96, bytes = 2 * (3 * 20 * 1088 + cache), s;

  bench_check(roof_s(hopper, RA_OP_LATENT_DECODE, dim), 0.7 + bytes / 1e9);
  ra_estimator_set_system(hopper->estimator, &sglang);
  ra_estimator_set_system(ada->estimator, &sglang);
  s = roof_s(hopper, RA_OP_LATENT_DECODE, dim);
  bench_check(s, 0.9 + 3 * 0.01 + bytes / 1e9);
  bench_check_differs(s, 0.7 + bytes / 1e9);
  s = roof_s(ada, RA_OP_LATENT_DECODE, dim);
  bench_check(s, 0.9 + 6 * 0.01 + (bytes + 2 * cache) / 1e9);
  bench_check_differs(s, 0.9 + 3 * 0.01 + bytes / 1e9);
  for (guint i = 0; i < RA_OP_DIMS; i++)
    fp8.dim[i] = dim[i];
  bench_check(ra_estimator_op_s(hopper->estimator, &fp8),
              (bytes / 2 + 6 * cache) / 1e9);
}
END_TEST

/* Seconds that a decode step, a prompt and a training pass of DeepSeek-V3 take
 * under a shipped system more than without one. */
static void
added_s(Bench *b, const char *name, double *out_step_s, double *out_prompt_s,
        double *out_pass_s)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *config = g_strdup_printf("%s/share/models/deepseek-v3.json",
                                            srcdir ? srcdir : ".");
  g_autofree char *path = g_strdup_printf("%s/share/systems/%s.system",
                                          srcdir ? srcdir : ".", name);
  g_autoptr(RaModel) model = ra_model_load(config, NULL);
  g_autoptr(RaKeyFile) file = ra_key_file_load(path, NULL);
  g_autoptr(RaSystem) system = ra_system_load(file, NULL);
  RaShard shard = {.model = model,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 1,
                   .dtype = RA_DTYPE_BF16,
                   .launch = RA_LAUNCH_GRAPH};
  RaPiece piece = {.n_layers = model->n_layers};
  RaMixedBatch mixed = {.chunks = {2, 200, 200, 10100}, .n_sampled = 2};
  RaDecodeLine line[2];
  RaCost prompt[2], pass[2] = {{0}};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &mixed.chunks, ops);

  for (guint i = 0; i < 2; i++) {
    RaSystemConstants constants = RA_SYSTEM_CONSTANTS_NONE;

    constants.kernels = i ? system->constants.kernels : RA_KERNELS_COMMON;
    ra_estimator_set_system(b->estimator, &constants);
    shard.sampling = 1;
    ra_estimator_decode(b->estimator, &shard, &piece, 2, 256, &line[i]);
    ra_estimator_mixed(b->estimator, &shard, &piece, &mixed, &prompt[i]);
    ra_estimator_sum_ops(b->estimator, ops, n, FALSE, &pass[i]);
  }
  *out_step_s = line[1].cost.compute_s - line[0].cost.compute_s;
  *out_prompt_s = prompt[1].compute_s - prompt[0].compute_s;
  *out_pass_s = pass[1].compute_s - pass[0].compute_s;
}

/* Rollouts of DeepSeek-V3's 61 layers under slime run SGLang's kernels, each
 * floor longer by the edits, and a step for the blocks of 2 sequences, of two
 * each; training does not.  Under a system that names no engine (the fault)
 * nothing is added. */
START_TEST(test_rollouts)
{
  g_autoptr(Bench) b = engine_bench("latent-decode.sglang.flash=3");
  double step_s, prompt_s, pass_s;

  added_s(b, "slime", &step_s, &prompt_s, &pass_s);
  ck_assert_double_eq_tol(step_s, 61 * (0.2 + 4 * 0.01), 1e-9);
  ck_assert_double_eq_tol(prompt_s, 61 * 0.1, 1e-9);
  ck_assert_double_eq(pass_s, 0);
  added_s(b, "verl-fsdp", &step_s, &prompt_s, &pass_s);
  ck_assert_double_eq(step_s, 0);
  ck_assert_double_eq(prompt_s, 0);
}
END_TEST

/* Compressed attention.  Prompts: 2 sequences of 10 tokens on 65 heads of 512,
 * 40 tiles; 54 pairs of two blocks of heads are 4 * 54 * 128 * 512 FLOP at 1e12
 * a second, bytes (2 * 2 * 20 * 65 + 25) * 512 at 1e9 of an 8-bit cache.  A
 * step has no tiles, and of 16 bits 2 (2 * 3 * 8 + 40) 512 bytes.  An indexer
 * of entries has a tile a token; one of keys (the fault) has another law, as
 * an indexer of a step has. */
START_TEST(test_compressed)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "compressed.floor-s=0.1", "compressed.step-s=0.3",
      "compressed.serial-frac=0.25", "compressed-step.floor-s=0.7",
      "entry-indexer.floor-s=0.2", "entry-indexer.step-s=0.4",
      "entry-indexer-step.floor-s=0.9", "indexer-step.floor-s=0.6", NULL));
  RaOp op = {.kind = RA_OP_COMPRESSED,
             .dtype = RA_DTYPE_FP8,
             .count = 1,
             .dim = {2, 20, 25, 54, 65, 512, 4}};
  RaOp index = {.kind = RA_OP_INDEXER,
                .dtype = RA_DTYPE_BF16,
                .flags = RA_OP_SPARSE,
                .count = 1,
                .dim = {2, 20, 5, 20, 64, 128, 512}};
  double compute = 4.0 * 54 * 128 * 512 / 1e12;
  double memory = (2.0 * 2 * 20 * 65 + 25) * 512 / 1e9, forward;

  forward = 0.1 + 40 * 0.3 + memory + 0.25 * compute;
  bench_check(ra_estimator_op_s(b->estimator, &op), forward);
  bench_check_differs(ra_estimator_op_s(b->estimator, &op), forward - 20 * 0.3);
  bench_check(ra_estimator_op_s(b->estimator, &index),
              0.2 + 20 * 0.4 + ra_op_bytes(&index) / 1e9);
  op.kind = RA_OP_COMPRESSED_BACKWARD;
  op.dtype = RA_DTYPE_BF16;
  ck_assert_double_gt(ra_estimator_op_s(b->estimator, &op), forward);
  op = (RaOp){.kind = RA_OP_COMPRESSED,
              .dtype = RA_DTYPE_BF16,
              .count = 1,
              .dim = {3, 3, 40, 40, 8, 512, 128}};
  bench_check(ra_estimator_op_s(b->estimator, &op),
              0.7 + 2.0 * (2 * 3 * 8 + 40) * 512 / 1e9);
  index.dim[0] = index.dim[1];
  bench_check(ra_estimator_op_s(b->estimator, &index),
              0.9 + ra_op_bytes(&index) / 1e9);
  index.flags = 0;
  bench_check(ra_estimator_op_s(b->estimator, &index),
              0.6 + ra_op_bytes(&index) / 1e9);
}
END_TEST

/* Attention to blocks of keys.  Prompts: 2 sequences of 10 tokens, 4 heads of
 * keys: 80 tiles, 54 pairs of 64 heads of 128, 4 * 54 * 64 * 128 FLOP at 1e12.
 * A step of 3 sequences that keeps 12 of 96 keys reads those 12 and a key of
 * each of the 96.  Without its law, and if keys come as they are (the faults),
 * it is the step of a cache of 12, or of 96. */
START_TEST(test_blocks)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "block-sparse.floor-s=0.1", "block-sparse.step-s=0.3",
      "block-sparse-step.floor-s=0.7", "decode-attention.floor-s=0.2", NULL));
  g_autoptr(Bench) bare =
      bench_new(profile_text_load("decode-attention.floor-s=0.2", NULL));
  RaOp op = {.kind = RA_OP_ATTENTION,
             .dtype = RA_DTYPE_BF16,
             .flags = RA_OP_SPARSE,
             .count = 1,
             .dim = {2, 20, 20, 54, 64, 4, 128}};
  RaOp step = {.kind = RA_OP_DECODE_ATTENTION,
               .dtype = RA_DTYPE_BF16,
               .flags = RA_OP_SPARSE,
               .count = 1,
               .dim = {3, 3, 96, 12, 64, 4, 128}};
  RaOp seen = step;
  double s = ra_estimator_op_s(b->estimator, &op);

  bench_check(s, 0.1 + 80 * 0.3 + ra_op_bytes(&op) / 1e9);
  op.flags = 0;
  bench_check_differs(ra_estimator_op_s(b->estimator, &op), s);
  bench_check(ra_estimator_op_s(b->estimator, &step),
              0.7 +
                  (2.0 * 128 * (2 * 3 * 64 + 2 * 12 * 4) + 2 * 96 * 128) / 1e9);
  seen.flags = 0;
  seen.dim[2] = 12;
  if (!ra_profile_law(bare->profile, "block-sparse-step"))
    bench_check(ra_estimator_op_s(bare->estimator, &step),
                ra_estimator_op_s(bare->estimator, &seen));
  seen.dim[2] = 96;
  bench_check_differs(ra_estimator_op_s(b->estimator, &step),
                      ra_estimator_op_s(b->estimator, &seen));
}
END_TEST

static Suite *
roof_suite(void)
{
  Suite *suite = suite_create("roof");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_latent);
  tcase_add_test(tcase, test_decode);
  tcase_add_test(tcase, test_line);
  tcase_add_test(tcase, test_scan);
  tcase_add_test(tcase, test_conv);
  tcase_add_test(tcase, test_mixers);
  tcase_add_test(tcase, test_sparse);
  tcase_add_test(tcase, test_compressed);
  tcase_add_test(tcase, test_blocks);
  tcase_add_test(tcase, test_stand_in);
  tcase_add_test(tcase, test_stand_in_twice);
  tcase_add_test(tcase, test_decode_fp8);
  tcase_add_test(tcase, test_matrices);
  tcase_add_test(tcase, test_backward);
  tcase_add_test(tcase, test_backward_law);
  tcase_add_test(tcase, test_engine);
  tcase_add_test(tcase, test_rollouts);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(roof_suite)
