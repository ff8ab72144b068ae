/* Types of the weights and of the cache of a generate call of its own. */
#include "config.h"

#include <string.h>

#include "graph/augment/layout.h"
#include "graph/expand/expand_call.h"
#include "graph/input/plan_batching.h"
#include "graph/input/plan_write.h"
#include "graph/input/residency.h"
#include "graph/memory/memory.h"
#include "graph/op/activation.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

#define WORKLOAD_OF(config)                                                    \
  "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\nprompts = 64\n"   \
  "prompt-length = fixed(128)\nresponse-length = fixed(384)\n"                 \
  "[model actor]\nconfig = " config "\ntrainable = true\n"                     \
  "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"             \
  "outputs = seq\n[call train]\nmodel = actor\nkind = train\ninputs = seq\n"
#define WORKLOAD WORKLOAD_OF("llama-2-7b.json")
#define PLAN(keys)                                                             \
  "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call gen]\nmesh = node0\n"  \
  "tp = 8\n" keys "[call train]\nmesh = node0\ntp = 8\n"

enum { GEN, TRAIN };

static PlanText *
make(const char *plan)
{
  g_autofree char *cluster = plan_text_cluster(1);

  return plan_text_new(WORKLOAD, cluster, plan, 1);
}

/* Bytes of the op list of a decode step of 8 sequences of 512 tokens, products
 * and attention apart.  Products of 8 bits that a rollout chose itself have a
 * scale a block. */
static void
step_bytes(const PlanText *t, double *out_products, double *out_attention)
{
  RaShard shard = ra_call_shard(t->plan, GEN);
  RaPiece all = {0, 32, TRUE, TRUE};
  RaBatch batch = {8, 8, 8 * 512, 8 * 512};
  RaOp list[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &all, RA_PHASE_DECODE, &batch, list);

  *out_products = *out_attention = 0;
  for (guint i = 0; i < n; i++) {
    if (list[i].kind == RA_OP_GEMM) {
      ck_assert_int_eq(list[i].dtype, shard.dtype);
      ck_assert_int_eq((list[i].flags & RA_OP_BLOCK) != 0,
                       shard.dtype == RA_DTYPE_FP8);
      *out_products += list[i].count * ra_op_bytes(&list[i]);
    }
    if (list[i].kind == RA_OP_DECODE_ATTENTION)
      *out_attention += list[i].count * ra_op_bytes(&list[i]);
  }
}

/* With 8-bit weights in the same layout generation has a copy of its own, of
 * half the bytes: n / 8 parameters of one byte beside those of two; training's
 * is as it was.  The cache of a token, 2 x 32 layers x 4 heads x 128, keeps the
 * model's two bytes, and has one with an 8-bit cache. */
START_TEST(test_memory)
{
  static const struct {
    const char *keys;
    uint32_t param_bytes, kv_bytes;
    gboolean same;
  } cases[] = {{"", 2, 2, TRUE},
               {"dtype = bf16\n", 2, 2, TRUE},
               {"dtype = fp8\n", 1, 2, FALSE},
               {"kv-dtype = fp8\n", 2, 1, TRUE},
               {"dtype = fp8\nkv-dtype = fp8\n", 1, 1, FALSE}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf(PLAN("%s"), cases[i].keys);
    PlanText *t = make(text);
    g_autoptr(RaMemory) memory = ra_memory_new(t->plan);
    uint64_t n = memory->calls[TRAIN].stages[0].param_bytes / 2;

    ck_assert_uint_eq(memory->calls[GEN].stages[0].param_bytes,
                      n * cases[i].param_bytes);
    ck_assert_uint_eq(ra_call_kv_token_bytes(memory, GEN, 0),
                      2 * 32 * 4 * 128 * cases[i].kv_bytes);
    ck_assert_int_eq(ra_residency_same_copy(t->plan, GEN, TRAIN),
                     cases[i].same);
    plan_text_free(t);
  }
}
END_TEST

/* A step reads weights and cache once: products move half as much with 8-bit
 * weights but for their results, and attention as before; the other way round
 * with an 8-bit cache. */
START_TEST(test_ops)
{
  PlanText *plain = make(PLAN("")), *weights = make(PLAN("dtype = fp8\n"));
  PlanText *cache = make(PLAN("kv-dtype = fp8\n"));
  double p, a, p8, a8, pk, ak;

  step_bytes(plain, &p, &a);
  step_bytes(weights, &p8, &a8);
  step_bytes(cache, &pk, &ak);
  ck_assert_double_eq_tol(p8 / p, 0.5, 0.01);
  ck_assert_double_eq(a8, a);
  ck_assert_double_eq(pk, p);
  ck_assert_double_eq_tol(ak / a, 0.5, 0.01);
  plan_text_free(plain);
  plan_text_free(weights);
  plan_text_free(cache);
}
END_TEST

/* A plan reads as it was written: its types, and none where a key says the
 * model's own. */
START_TEST(test_written)
{
  static const struct {
    const char *keys, *written; /* NULL: no such key */
  } cases[] = {
      {"dtype = fp8\nkv-dtype = fp8\n", "dtype = fp8\nkv-dtype = fp8\n"},
      {"kv-dtype = fp16\n", "kv-dtype = fp16\n"},
      {"dtype = bf16\n", NULL}};
  const RaPlanWords words = {.workload = "w", .cluster = "c"};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *from = g_strdup_printf(PLAN("%s"), cases[i].keys);
    PlanText *t = make(from), *back;
    g_autofree char *text = ra_plan_write(t->plan, &words, NULL);

    ck_assert_ptr_nonnull(text);
    if (cases[i].written)
      ck_assert_ptr_nonnull(strstr(text, cases[i].written));
    else
      ck_assert_ptr_null(strstr(text, "dtype"));
    back = make(text);
    ck_assert_int_eq(back->plan->calls[GEN].dtype, t->plan->calls[GEN].dtype);
    ck_assert_int_eq(back->plan->calls[GEN].kv_dtype,
                     t->plan->calls[GEN].kv_dtype);
    plan_text_free(t);
    plan_text_free(back);
  }
}
END_TEST

/* Weights that the busiest GPU casts at a refit, and the node that does it.
 * Linear layers of Llama-2-7B have 32 (4 x 4096^2 + 3 x 4096 x 11008) =
 * 6,476,005,376 weights.  Of these each of 8 ranks has its eighth, and casts it
 * though nothing travels; with half of the layers a sixteenth.  Engines and
 * gathers have whole tensors, of their stages.  16-bit rollouts cast none, nor
 * do adapters that move to a kept copy.  The fault: the head's and the
 * embedding's 2 x 32,000 x 4096 weights too. */
START_TEST(test_casts)
{
  static const struct {
    const char *keys;
    gboolean engine;
    uint64_t n;
  } cases[] = {
      {"tp = 8\n", FALSE, 0},
      {"tp = 8\ndtype = bf16\n", TRUE, 0},
      {"tp = 8\ndtype = fp8\n", FALSE, 809500672},
      {"tp = 8\ndtype = fp8\nrealloc = p2p\n", FALSE, 809500672},
      {"tp = 4\npp = 2\nmicro-batches = 2\ndtype = fp8\n", FALSE, 809500672},
      {"tp = 4\ndp = 2\ndtype = fp8\n", FALSE, 1619001344},
      {"tp = 8\ndtype = fp8\nrealloc = all-gather\n", FALSE, 6476005376},
      {"tp = 8\ndtype = fp8\n", TRUE, 6476005376},
      {"tp = 4\npp = 2\nmicro-batches = 2\ndtype = fp8\n", TRUE, 3238002688}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text =
        g_strdup_printf("[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                        "[call gen]\nmesh = node0\n%s"
                        "[call train]\nmesh = node0\ntp = 8\n",
                        cases[i].keys);
    PlanText *t = make(text);
    g_autoptr(RaAugmented) a = NULL;
    g_autoptr(RaTaskGraph) graph = NULL;
    uint64_t n = 0, op_n = 0;

    t->cluster->habits.engine = cases[i].engine;
    a = ra_augment(t->plan, 2);
    graph = ra_expand(a, RA_FIDELITY_CALL, 0, NULL);
    for (uint32_t k = 0; k < a->n_nodes; k++)
      n = MAX(n, a->nodes[k].cast_elements);
    for (uint32_t w = 0; w < graph->n_works; w++)
      if (graph->works[w].op.kind == RA_OP_REALLOC)
        op_n = MAX(op_n, graph->works[w].op.dim[3]);
    ck_assert_uint_eq(n, cases[i].n);
    ck_assert_uint_eq(op_n, cases[i].n);
    ck_assert_uint_ne(n, cases[i].n + 2 * 32000 * UINT64_C(4096) / 8);
    plan_text_free(t);
  }
}
END_TEST

/* Weights travel in the model's 16 bits, and a layer packed for that has as
 * many on either side: 4 x 4096^2 + 3 x 4096 x 11008 over 8 ranks, and 2 norms
 * of 4096.  The fault: 8 bits at the receiver. */
START_TEST(test_packed)
{
  const uint64_t n = (4 * 4096 + 3 * 11008) * UINT64_C(4096) / 8 + 2 * 4096;
  PlanText *t = make(PLAN("dtype = fp8\n"));
  g_autoptr(RaMemory) memory = ra_memory_new(t->plan);

  ck_assert_uint_eq(memory->calls[TRAIN].stages[0].packed_bytes, 2 * n);
  ck_assert_uint_eq(memory->calls[GEN].stages[0].packed_bytes, 2 * n);
  plan_text_free(t);
}
END_TEST

static RaOp
experts_of_step(const PlanText *t)
{
  RaShard shard = ra_call_shard(t->plan, GEN);
  RaPiece all = {0, 24, TRUE, TRUE};
  RaBatch batch = {8, 8, 8 * 512, 8 * 512};
  RaOp list[RA_OP_LIST_MAX];
  guint n, i = 0;

  shard.groups_experts = 1;
  n = ra_op_list(&shard, &all, RA_PHASE_DECODE, &batch, list);
  while (i + 1 < n && list[i].kind != RA_OP_EXPERTS)
    i++;
  ck_assert_int_eq(list[i].kind, RA_OP_EXPERTS);
  return list[i];
}

/* @written is the plan of @t, which is not equal to one of other experts, nor
 * has its layout. */
static void
check_reads(const PlanText *t, const char *workload, const char *written)
{
  g_autofree char *cluster = plan_text_cluster(1);
  PlanText *back = plan_text_new(workload, cluster, written, 1);
  const RaCallPlan *gen = &t->plan->calls[GEN];
  g_autofree RaCallPlan *calls =
      g_memdup2(t->plan->calls, 2 * sizeof *t->plan->calls);
  RaPlan other = *t->plan;

  ck_assert_int_eq(back->plan->calls[GEN].expert_dtype, gen->expert_dtype);
  other.calls = calls;
  ck_assert(ra_plan_equal(t->plan, &other));
  calls[GEN].expert_dtype = (gen->expert_dtype + 1) % 3;
  ck_assert(!ra_plan_equal(t->plan, &other));
  ck_assert(!ra_call_plan_same_layout(gen, &calls[GEN]));
  plan_text_free(back);
}

/* Experts of gpt-oss-20b in 4 bits beside other weights of 16 or 8: of 32 x 24
 * with 3 x 2880^2 weights and 3 x 2880 biases a GPU has an eighth, which it
 * casts at a refit where the others stay.  The fault: all weights in 4 bits. */
START_TEST(test_experts)
{
  static const struct {
    const char *keys;
    double bytes, expert_bytes;
    uint8_t dtype;
    uint16_t flags;
  } cases[] = {
      {"", 2, 2, RA_DTYPE_BF16, 0},
      {"expert-dtype = mxfp4\n", 2, 17. / 32, RA_DTYPE_BF16, RA_OP_NARROW},
      {"expert-dtype = nvfp4\n", 2, 9. / 16, RA_DTYPE_FP8, RA_OP_NARROW},
      {"dtype = fp8\nexpert-dtype = mxfp4\n", 1, 17. / 32, RA_DTYPE_FP8,
       RA_OP_BLOCK | RA_OP_NARROW},
      {"dtype = fp8\nexpert-dtype = nvfp4\n", 1, 9. / 16, RA_DTYPE_FP8,
       RA_OP_NARROW}};
  const uint64_t n = 3 * (2880 * UINT64_C(2880) + 2880) * 32 * 24 / 8;
  const RaPlanWords words = {.workload = "w", .cluster = "c"};
  g_autofree char *cluster = plan_text_cluster(1);
  uint64_t all = 0;

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text =
        g_strdup_printf("[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                        "[call gen]\nmesh = node0\ntp = 8\nep = 8\n"
                        "expert-tp = 1\n%s[call train]\nmesh = node0\ntp = 8\n"
                        "sequence-parallel = true\nep = 8\nexpert-tp = 1\n",
                        cases[i].keys);
    PlanText *t =
        plan_text_new(WORKLOAD_OF("gpt-oss-20b.json"), cluster, text, 1);
    g_autoptr(RaMemory) memory = ra_memory_new(t->plan);
    g_autoptr(RaAugmented) a = ra_augment(t->plan, 2);
    g_autofree char *written = ra_plan_write(t->plan, &words, NULL);
    RaOp op = experts_of_step(t);
    uint64_t cast = 0;

    all = i == 0 ? memory->calls[GEN].stages[0].param_bytes / 2 : all;
    ck_assert_uint_eq(memory->calls[GEN].stages[0].param_bytes,
                      (uint64_t)((double)(all - n) * cases[i].bytes +
                                 (double)n * cases[i].expert_bytes));
    ck_assert_uint_lt(n, all);
    ck_assert_int_eq(op.dtype, cases[i].dtype);
    ck_assert_int_eq(op.flags & (RA_OP_BLOCK | RA_OP_NARROW), cases[i].flags);
    for (uint32_t k = 0; k < a->n_nodes; k++)
      cast = MAX(cast, a->nodes[k].cast_elements);
    if (cases[i].bytes > 1)
      ck_assert_uint_eq(cast, i > 0 ? n : 0);
    else
      ck_assert_uint_gt(cast, n);
    ck_assert_ptr_nonnull(strstr(written, cases[i].keys));
    check_reads(t, WORKLOAD_OF("gpt-oss-20b.json"), written);
    plan_text_free(t);
  }
}
END_TEST

/* 2 rows of 64 by 64 x 32: operands and results of 16 bits, weights of 17 / 32
 * bytes. */
START_TEST(test_narrow_bytes)
{
  RaOp op = {.kind = RA_OP_GEMM,
             .flags = RA_OP_NARROW,
             .count = 1,
             .dim = {2, 32, 64, 1}};

  ck_assert_double_eq(ra_op_bytes(&op), 256 + 128 + 1088);
  op.dtype = RA_DTYPE_FP8;
  op.flags |= RA_OP_BLOCK;
  ck_assert_double_eq(ra_op_bytes(&op), 128 + 64 + 1088);
}
END_TEST

static Suite *
precision_suite(void)
{
  Suite *suite = suite_create("precision");
  TCase *tcase = tcase_create("precision");

  tcase_add_test(tcase, test_memory);
  tcase_add_test(tcase, test_ops);
  tcase_add_test(tcase, test_written);
  tcase_add_test(tcase, test_casts);
  tcase_add_test(tcase, test_packed);
  tcase_add_test(tcase, test_experts);
  tcase_add_test(tcase, test_narrow_bytes);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(precision_suite)
