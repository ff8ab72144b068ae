/* Linear layers that compute in fp8: their casts, GEMMs and memory, by hand.
 *
 * tiny.json: h = 64, ffn = 128, 16 layers, 8 heads and 8 kv heads of 8, vocab
 * 512, head of its own.  A layer's linear layers read h (q, k, v), h (o), h
 * (gate, up) and ffn (down), 320 values a token, and write 3 h, h, 2 ffn and h,
 * 576.  Their matrices have 4 x 64 x 64 + 3 x 64 x 128 = 40,960 elements,
 * 655,360 in all layers; the model has 723,008 parameters (check_lora.c).
 *
 * Bytes of a value that is cast, of 2 bytes: with blocks 2 + c (1 + 4 / 128),
 * where c is the number of copies: 4.0625 with two, 3.03125 with one.  A tensor
 * by its own maximum: 2 x 2 + c; by earlier ones: 2 + c. */
#include "config.h"

#include <string.h>

#include "graph/expand/expand_call.h"
#include "graph/memory/memory.h"
#include "graph/op/activation.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

enum { GEN, REF, TRAIN };
enum { LAYERS = 16, TOKENS = 128 };

#define IN (UINT64_C(320) * TOKENS * LAYERS)
#define OUT (UINT64_C(576) * TOKENS * LAYERS)
#define WEIGHTS UINT64_C(655360)
#define PARAMS UINT64_C(723008)
#define FP8 "gemm-dtype = fp8\n"

static PlanText *
text_new(const char *config, const char *actor, const char *train)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\nprompts = 8\n"
      "prompt-length = fixed(64)\nresponse-length = fixed(64)\n"
      "[model actor]\nconfig = %s\ntrainable = true\n%s"
      "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n"
      "[call ref]\nmodel = actor\nkind = inference\ninputs = seq\noutputs = l\n"
      "[call train]\nmodel = actor\nkind = train\ninputs = seq, l\n",
      config, actor);
  g_autofree char *plan = g_strdup_printf(
      "[plan]\nformat = 1\nworkload = x.workload\ncluster = x.cluster\n"
      "[call gen]\nmesh = node0:gpu0\n"
      "[call ref]\nmesh = node0:gpu0\ngemm-dtype = fp8\n"
      "[call train]\n%s%s",
      strstr(train, "mesh") ? "" : "mesh = node0:gpu0\n", train);

  return plan_text_new(workload, cluster, plan, 1);
}

static uint64_t kept(const PlanText *t);

/* Sums over an op list. */
typedef struct {
  double cast_bytes, fp8_flop, other_flop;
} Sums;

static Sums
sums(const PlanText *t, uint32_t call, RaPhase phase)
{
  RaShard shard = ra_call_shard(t->plan, call);
  RaPiece all = {0, shard.model->n_layers, 1, 1};
  RaBatch batch = {1, TOKENS, TOKENS, TOKENS * (TOKENS + 1) / 2};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &all, phase, &batch, ops);
  Sums s = {0};

  for (guint i = 0; i < n; i++) {
    gboolean fp8 = ops[i].dtype == RA_DTYPE_FP8;

    if (ops[i].kind == RA_OP_CAST) {
      s.cast_bytes += ops[i].count * ra_op_bytes(&ops[i]);
      /* A row a token; experts' rows are of two widths. */
      ck_assert_uint_gt(ops[i].dim[4], 0);
      if (shard.model->n_experts == 0 && shard.tp == 1)
        ck_assert_uint_eq(ops[i].dim[0], TOKENS * ops[i].dim[4]);
    }
    if (ops[i].kind != RA_OP_GEMM)
      continue;
    *(fp8 ? &s.fp8_flop : &s.other_flop) += ops[i].count * ra_op_flop(&ops[i]);
    /* Operands have been cast. */
    ck_assert_int_eq((ops[i].flags & RA_OP_QUANTIZED) != 0, fp8);
  }
  return s;
}

/* Forward 2 FLOP for each token and element, backward 4; the head's 64 x 512
 * stay in bf16.  Training casts inputs to two copies, gradients of outputs
 * too; a forward that is computed again casts one copy, and then two; a forward
 * alone one. */
START_TEST(test_ops)
{
  static const struct {
    const char *keys;
    uint32_t call;
    double forward, backward; /* bytes of casts */
  } cases[] = {
      {FP8, TRAIN, 4.0625 * IN, 4.0625 * OUT},
      {FP8 "fp8-scaling = tensorwise\n", TRAIN, 6.0 * IN, 6.0 * OUT},
      {FP8 "fp8-scaling = delayed\n", TRAIN, 4.0 * IN, 4.0 * OUT},
      {FP8 "recompute = full\n", TRAIN, 3.03125 * IN,
       4.0625 * IN + 4.0625 * OUT},
      {FP8 "recompute = selective\n", TRAIN, 4.0625 * IN, 4.0625 * OUT},
      {"", TRAIN, 0, 0},
      {"", REF, 3.03125 * IN, 0},
  };
  double flop = 2.0 * TOKENS * (double)WEIGHTS, head = 2.0 * TOKENS * 64 * 512;

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    PlanText *t = text_new("tiny.json", "", cases[i].keys);
    Sums f = sums(t, cases[i].call, RA_PHASE_FORWARD);
    Sums b = sums(t, TRAIN, RA_PHASE_BACKWARD);
    gboolean again = strstr(cases[i].keys, "full") != NULL;

    ck_assert_double_eq(f.cast_bytes, cases[i].forward);
    ck_assert_double_eq(b.cast_bytes, cases[i].backward);
    if (cases[i].forward > 0) {
      ck_assert_double_eq(f.fp8_flop, flop);
      ck_assert_double_eq(f.other_flop, head);
    }
    if (cases[i].backward > 0) {
      ck_assert_double_eq(b.fp8_flop, (again ? 3 : 2) * flop);
      ck_assert_double_eq(b.other_flop, 2 * head);
    }
    plan_text_free(t);
  }
}
END_TEST

/* With 2 layers of the start and 3 of the end in bf16, 11 of 16 layers cast,
 * compute in fp8 and have 8-bit copies, and 5 keep 2 bytes of an input.  Full
 * recomputation counts a layer of bf16, if there is one: it keeps 640 bytes a
 * token for 330 and 128 (test_activations).  The fault: ends of every piece, of
 * which the model's second half, layers 8 to 15, would lose 5 and not 3. */
START_TEST(test_ends)
{
#define ENDS FP8 "bf16-first-layers = 2\nbf16-last-layers = 3\n"
  PlanText *t = text_new("tiny.json", "", ENDS);
  PlanText *all = text_new("tiny.json", "", FP8);
  PlanText *plain = text_new("tiny.json", "", "");
  RaShard shard = ra_call_shard(t->plan, TRAIN);
  RaPiece whole = {0, LAYERS, 1, 1}, half = {8, 8, 0, 1};
  RaPiece parts[] = {{4, 4, 0, 0}, {8, 4, 0, 0}, {12, 4, 0, 0}};
  RaPiece inner = {2, 11, 0, 0};
  RaBatch batch = {1, TOKENS, TOKENS, TOKENS * (TOKENS + 1) / 2};
  double flop = 2.0 * TOKENS * (double)WEIGHTS, head = 2.0 * TOKENS * 64 * 512;
  Sums f = sums(t, TRAIN, RA_PHASE_FORWARD);
  Sums b = sums(t, TRAIN, RA_PHASE_BACKWARD);

  ck_assert_double_eq(f.cast_bytes, 4.0625 * IN * 11 / 16);
  ck_assert_double_eq(b.cast_bytes, 4.0625 * OUT * 11 / 16);
  ck_assert_double_eq(f.fp8_flop, flop * 11 / 16);
  ck_assert_double_eq(f.other_flop, head + flop * 5 / 16);
  ck_assert_double_eq(b.fp8_flop, 2 * flop * 11 / 16);
  ck_assert_uint_eq(ra_piece_n_fp8(&shard, &whole), WEIGHTS * 11 / 16);
  ck_assert_uint_eq(ra_piece_n_fp8(&shard, &half), WEIGHTS * 5 / 16);
  ck_assert_uint_ne(ra_piece_n_fp8(&shard, &half), WEIGHTS * 3 / 16);
  ck_assert_uint_eq(ra_piece_n_fp8(&shard, &inner), WEIGHTS * 11 / 16);
  ck_assert_uint_eq(16 * (kept(t) - kept(all)), 5 * (kept(plain) - kept(all)));
  ck_assert(ra_piece_is_alike(&shard, &parts[0], &parts[1]));
  ck_assert(!ra_piece_is_alike(&shard, &parts[1], &parts[2]));
  shard.recompute = RA_RECOMPUTE_FULL;
  parts[0].n_layers = 8;
  parts[1] = (RaPiece){4, 12, 0, 0};
  ck_assert_uint_eq(
      ra_workspace_bytes(&shard, &parts[1], RA_PHASE_BACKWARD, &batch) -
          ra_workspace_bytes(&shard, &parts[0], RA_PHASE_BACKWARD, &batch),
      (640 - 330 - 128) * TOKENS);
  plan_text_free(t);
  plan_text_free(all);
  plan_text_free(plain);
#undef ENDS
}
END_TEST

/* Two ranks with sequence parallelism: each casts half of the inputs of q, k, v
 * and of gate and up, 64 a token, and half of the gradients of what o and down
 * put out, as it does of all else, which tp cuts.  One copy is gathered, 1 + 4
 * / 128 bytes, after the cast; adapters gather 2 bytes and cast all of it. */
START_TEST(test_gathers)
{
#define TWO "mesh = node0:gpu[0-1]\ntp = 2\nsequence-parallel = true\n"
  for (guint i = 0; i < 2; i++) {
    PlanText *t = text_new("tiny.json", i ? "lora-rank = 4\n" : "", FP8 TWO);
    RaShard shard = ra_call_shard(t->plan, TRAIN);
    RaPiece layers = {0, LAYERS, 0, 0};
    RaBatch batch = {1, TOKENS, TOKENS, TOKENS * (TOKENS + 1) / 2};
    RaOp ops[RA_OP_LIST_MAX];

    for (guint phase = RA_PHASE_FORWARD; phase <= RA_PHASE_BACKWARD; phase++) {
      guint n = ra_op_list(&shard, &layers, (RaPhase)phase, &batch, ops);
      guint n_gathers = 0;

      for (guint k = 0; k < n; k++) {
        if (ops[k].kind != RA_OP_ALL_GATHER)
          continue;
        n_gathers++;
        ck_assert_uint_eq(ops[k].dim[0], TOKENS * (i ? 128 : 66));
        ck_assert_uint_eq(ops[k - !i].kind, i ? RA_OP_ALL_GATHER : RA_OP_CAST);
      }
      ck_assert_uint_eq(n_gathers, 2);
    }
    if (i == 0) {
      ck_assert_double_eq(sums(t, TRAIN, RA_PHASE_FORWARD).cast_bytes,
                          4.0625 * IN / 2);
      ck_assert_double_eq(sums(t, TRAIN, RA_PHASE_BACKWARD).cast_bytes,
                          4.0625 * OUT / 2);
    }
    plan_text_free(t);
  }
#undef TWO
}
END_TEST

/* Adapters of rank 4 on all seven matrices compute in bf16, 2 x 69,632 FLOP a
 * token forward (check_lora.c).  Frozen matrices have no gradient, whose GEMM
 * would read transposed copies: all casts write one. */
START_TEST(test_adapters)
{
  PlanText *t = text_new("tiny.json", "lora-rank = 4\n", FP8);
  Sums f = sums(t, TRAIN, RA_PHASE_FORWARD);
  Sums b = sums(t, TRAIN, RA_PHASE_BACKWARD);
  double flop = 2.0 * TOKENS * (double)WEIGHTS, head = 2.0 * TOKENS * 64 * 512;

  ck_assert_double_eq(f.cast_bytes, 3.03125 * IN);
  ck_assert_double_eq(b.cast_bytes, 3.03125 * OUT);
  ck_assert_double_eq(f.fp8_flop, flop);
  ck_assert_double_eq(b.fp8_flop, flop);
  ck_assert_double_eq(f.other_flop, head + 2.0 * TOKENS * 69632);
  plan_text_free(t);
}
END_TEST

/* Mixtral: h = 4096, 8 experts of 14336, 2 of them a token, 32 heads and 8 kv
 * heads of 128.  256 rows come to the experts of a layer: h values each, and
 * 14336 after the activation.  Backward the gradients of h and 2 x 14336 values
 * are cast.  Where a law of experts was measured with their casts, forward the
 * transposed copies alone count, 1 + 4 / 128 bytes.  The router stays in bf16.
 * Attention reads 2 h and writes h + 2 x 1024 and h values a token. */
START_TEST(test_experts)
{
  PlanText *t = text_new("mixtral-8x7b.json", "", FP8);
  double rows = 2 * TOKENS, h = 4096, ffn = 14336;
  double in = rows * (h + ffn), out = rows * (h + 2 * ffn);
  double attention_in = TOKENS * 2 * h;
  double attention_out = TOKENS * (2 * h + 2 * 1024);
  RaPiece all = {0, 32, 1, 1};
  RaShard shard;

  for (int has_law = 0; has_law < 2; has_law++) {
    Sums f, b;

    t->cluster->device.groups_experts = has_law;
    shard = ra_call_shard(t->plan, TRAIN);
    f = sums(t, TRAIN, RA_PHASE_FORWARD);
    b = sums(t, TRAIN, RA_PHASE_BACKWARD);
    ck_assert_double_eq(f.cast_bytes, 32 * (in * (has_law ? 1.03125 : 4.0625) +
                                            4.0625 * attention_in));
    ck_assert_double_eq(b.cast_bytes, 32 * 4.0625 * (out + attention_out));
    ck_assert_uint_eq(ra_piece_n_fp8(&shard, &all),
                      32 * (8 * 3 * 4096ull * 14336 + 2 * 4096ull * 4096 +
                            2 * 4096ull * 1024));
  }
  plan_text_free(t);
}
END_TEST

static uint64_t
kept(const PlanText *t)
{
  RaShard shard = ra_call_shard(t->plan, TRAIN);
  RaPiece layers = {0, LAYERS, 0, 0};
  RaBatch batch = {1, TOKENS, TOKENS, TOKENS * (TOKENS + 1) / 2};

  return ra_activation_bytes(&shard, &layers, &batch);
}

/* In bf16 a layer keeps its 320 inputs in 2 bytes each; in fp8 in 1 + 4 / 128,
 * or 1 without blocks, and beside them attention's output, 64 of 2 bytes.  With
 * tp = 2 and sequence parallelism each rank keeps its half of all of this, as
 * it does of the inputs of q, k, v and of gate and up: these are gathered. */
START_TEST(test_activations)
{
  static const struct {
    const char *keys;
    double of_bf16, of_fp8; /* a token and layer */
  } cases[] = {{"", 640, 330 + 128},
               {"fp8-scaling = delayed\n", 640, 320 + 128},
               {"mesh = node0:gpu[0-1]\ntp = 2\nsequence-parallel = true\n",
                320, 165 + 64}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const char *own = strstr(cases[i].keys, "mesh");
    g_autofree char *keys = g_strconcat(cases[i].keys, FP8, NULL);
    PlanText *plain = text_new("tiny.json", "", own ? own : "");
    PlanText *fp8 = text_new("tiny.json", "", keys);

    ck_assert_double_eq((double)kept(plain) - (double)kept(fp8),
                        (cases[i].of_bf16 - cases[i].of_fp8) * TOKENS * LAYERS);
    plan_text_free(plain);
    plan_text_free(fp8);
  }
}
END_TEST

/* Copies of weights with scales of blocks of 16384, 4 bytes each: 655,360 + 4 x
 * 40 for inference, twice this to train, none where weights are stored in fp8.
 * They are in the workspace of every pass.  A step casts 2 bytes a weight to
 * both copies; a tensor is read twice for its maximum. */
START_TEST(test_weights)
{
  static const struct {
    const char *keys;
    uint64_t train_bytes, step_bytes;
  } cases[] = {
      {FP8, 2 * (WEIGHTS + 160), 2 * WEIGHTS + 2 * (WEIGHTS + 160)},
      {FP8 "fp8-scaling = tensorwise\n", 2 * WEIGHTS, 6 * WEIGHTS},
      {FP8 "fp8-params = true\n", 0, 0},
      {"", 0, 0},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    PlanText *t = text_new("tiny.json", "", cases[i].keys);
    RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE, .fold = TRUE};
    g_autoptr(RaTaskGraph) graph = ra_expand_with(t->augmented, &options, NULL);
    g_autoptr(RaMemory) memory = ra_memory_new(t->plan);
    const RaCallMemory *c = &memory->calls[TRAIN];
    RaBatch batch = {1, TOKENS, TOKENS, TOKENS * (TOKENS + 1) / 2};
    uint32_t n_steps = 0;

    ck_assert_uint_eq(memory->calls[REF].stages[0].fp8_bytes, WEIGHTS + 160);
    ck_assert_uint_eq(c->stages[0].fp8_bytes, cases[i].train_bytes);
    ck_assert_uint_eq(c->stages[0].param_bytes, 2 * PARAMS);
    ck_assert_uint_eq(
        ra_call_workspace_bytes(memory, TRAIN, 0, RA_PHASE_FORWARD, &batch),
        ra_workspace_bytes(&c->shard, c->pieces, RA_PHASE_FORWARD, &batch) +
            cases[i].train_bytes);
    for (RaTaskId k = 0; k < graph->n_tasks; k++) {
      const RaOp *op = &graph->works[graph->work[k]].op;

      if (graph->kind[k] != RA_TASK_OPTIMIZER)
        continue;
      n_steps++;
      ck_assert_uint_eq(op->dim[0], PARAMS);
      ck_assert_uint_eq(op->dim[1], cases[i].step_bytes);
      ck_assert_double_eq(ra_op_bytes(op),
                          30.0 * (double)PARAMS + (double)cases[i].step_bytes);
    }
    ck_assert_uint_gt(n_steps, 0);
    plan_text_free(t);
  }
}
END_TEST

/* ZeRO 1 gathers 2 bytes a parameter, and 1 of those stored in fp8. */
START_TEST(test_gather)
{
  for (int params = 0; params < 2; params++) {
    PlanText *t =
        text_new("tiny.json", "",
                 params ? "mesh = node0:gpu[0-1]\ndp = 2\nzero = 1\n"
                          "fp8-params = true\n" FP8
                        : "mesh = node0:gpu[0-1]\ndp = 2\nzero = 1\n" FP8);
    RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE, .fold = TRUE};
    g_autoptr(RaTaskGraph) graph = ra_expand_with(t->augmented, &options, NULL);
    uint32_t n = 0;

    for (RaTaskId k = 0; k < graph->n_tasks; k++) {
      if (graph->kind[k] != RA_TASK_PARAM_GATHER)
        continue;
      n++;
      ck_assert_uint_eq(graph->works[graph->work[k]].op.dim[0],
                        2 * PARAMS - (params ? WEIGHTS : 0));
    }
    ck_assert_uint_gt(n, 0);
    plan_text_free(t);
  }
}
END_TEST

/* Experts are gathered by themselves, among the 2 GPUs of 4 that have the same
 * half of them: of each of 3 layers 8 / 2 x 3 x 64 x 32 = 24,576 parameters, 2
 * bytes each, and 1 of those stored in fp8: all layers, or (the fault: all) but
 * the last. */
START_TEST(test_gather_experts)
{
  static const struct {
    const char *keys;
    uint64_t bytes;
  } cases[] = {
      {FP8, 3 * 2 * 24576ull},
      {FP8 "fp8-params = true\n", 3 * 24576ull},
      {FP8 "fp8-params = true\nbf16-last-layers = 1\n", (2 + 2) * 24576ull}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *train =
        g_strconcat("mesh = node0:gpu[0-3]\ndp = 4\nep = 2\nzero = 1\n",
                    cases[i].keys, NULL);
    PlanText *t = text_new("tiny-glm4-moe.json", "", train);
    RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE, .fold = TRUE};
    g_autoptr(RaTaskGraph) graph = ra_expand_with(t->augmented, &options, NULL);
    uint32_t n = 0;

    for (RaTaskId k = 0; k < graph->n_tasks; k++) {
      const RaOp *op = &graph->works[graph->work[k]].op;

      if (graph->kind[k] != RA_TASK_PARAM_GATHER || op->dim[1] != 2)
        continue;
      n++;
      ck_assert_uint_eq(op->dim[0], cases[i].bytes);
    }
    ck_assert_uint_gt(n, 0);
    plan_text_free(t);
  }
}
END_TEST

static Suite *
fp8_suite(void)
{
  Suite *suite = suite_create("fp8");
  TCase *tcase = tcase_create("fp8");

  tcase_add_test(tcase, test_ops);
  tcase_add_test(tcase, test_adapters);
  tcase_add_test(tcase, test_ends);
  tcase_add_test(tcase, test_gathers);
  tcase_add_test(tcase, test_experts);
  tcase_add_test(tcase, test_activations);
  tcase_add_test(tcase, test_weights);
  tcase_add_test(tcase, test_gather);
  tcase_add_test(tcase, test_gather_experts);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(fp8_suite)
