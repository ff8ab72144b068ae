/* LoRA: what adapters add to tensors, ops, memory and what moves, by hand.
 *
 * tiny.json: h = 64, ffn = 128, 16 layers, 8 heads and 8 kv heads of 8, vocab
 * 512, head of its own.  A layer's matrices have 4 x 64 x 64 + 3 x 64 x 128 =
 * 40,960 parameters, its norms 128; with embedding, head (32,768 each) and the
 * last norm 723,008 in all.
 * Adapters of rank 4: q, k, v, o 4 (64 + 64) each, gate, up, down 4 (64 + 128):
 * 4 (4 x 128 + 3 x 192) = 4,352 a layer, 69,632 in all. */
#include "config.h"

#include <string.h>

#include "graph/input/lora.h"
#include "graph/memory/memory.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

enum { RANK = 4, LAYERS = 16, TOKENS = 100 };
enum { GENERATE, REF, TRAIN };

#define BASE UINT64_C(723008)
#define LAYER_WEIGHTS UINT64_C(40960)
#define HEAD UINT64_C(32768)
#define ADAPTERS UINT64_C(69632)

static char *
workload_text(const char *actor, const char *ref)
{
  return g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\nprompts = 8\n"
      "prompt-length = fixed(16)\nresponse-length = fixed(16)\n"
      "[model actor]\nconfig = tiny.json\n%s\n"
      "[model ref]\nconfig = tiny.json\n%s\n"
      "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n"
      "[call ref]\nmodel = ref\nkind = inference\ninputs = seq\noutputs = l\n"
      "[call train]\nmodel = actor\nkind = train\ninputs = seq, l\n",
      actor, ref);
}

static const char adapted[] = "trainable = true\nlora-rank = 4";

/* Generation on GPU 1, reference and training on GPU 0, but for @keys. */
static PlanText *
text_new(const char *actor, const char *ref, const char *keys[3])
{
  static const char *const own[] = {"mesh = node0:gpu1", "mesh = node0:gpu0",
                                    "mesh = node0:gpu0"};
  g_autofree char *workload = workload_text(actor, ref);
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *plan = g_strdup_printf(
      "[plan]\nformat = 1\nworkload = x.workload\ncluster = x.cluster\n"
      "[call gen]\n%s\n[call ref]\n%s\n[call train]\n%s\n",
      keys[0] ? keys[0] : own[0], keys[1] ? keys[1] : own[1],
      keys[2] ? keys[2] : own[2]);

  return plan_text_new(workload, cluster, plan, 2);
}

static uint64_t
sum_tensors(const RaModel *model)
{
  uint64_t n = 0;

  for (guint32 i = 0; i < ra_model_n_tensors(model); i++) {
    RaTensor t;

    ra_model_tensor(model, i, &t);
    n += t.rows * t.cols;
  }
  return n;
}

START_TEST(tensors)
{
  const char *keys[3] = {NULL};
  PlanText *t = text_new(adapted, "", keys);
  const RaWorkloadModel *m = &t->workload->models[0];
  RaTensor tensor;

  ck_assert_uint_eq(ra_model_n_params(m->model), BASE + ADAPTERS);
  ck_assert_uint_eq(ra_model_n_params(m->base), BASE);
  ck_assert_uint_eq(ra_model_n_params(m->adapters), ADAPTERS);
  ck_assert_uint_eq(sum_tensors(m->model), BASE + ADAPTERS);
  ck_assert_uint_eq(sum_tensors(m->base), BASE);
  ck_assert_uint_eq(sum_tensors(m->adapters), ADAPTERS);
  ck_assert_uint_eq(ra_model_n_tensors(m->adapters), LAYERS * 7 * 2);
  /* A behind its matrix, then B: of layer 0, q's. */
  ra_model_tensor(m->model, 2, &tensor);
  ck_assert_str_eq(tensor.name,
                   "model.layers.0.self_attn.q_proj.lora_A.weight");
  ck_assert_uint_eq(tensor.rows, RANK);
  ck_assert_uint_eq(tensor.cols, 64);
  ck_assert_int_eq(tensor.split, RA_SPLIT_NONE);
  ra_model_tensor(m->adapters, 1, &tensor);
  ck_assert_str_eq(tensor.name,
                   "model.layers.0.self_attn.q_proj.lora_B.weight");
  ck_assert_int_eq(tensor.split, RA_SPLIT_COLUMN);
  ck_assert_uint_eq(tensor.grain, 8);
  plan_text_free(t);
  /* Fewer targets: 16 layers x 4 x 2 x 128. */
  t = text_new("trainable = true\nlora-rank = 4\nlora-targets = q, v", "",
               keys);
  ck_assert_uint_eq(ra_model_n_params(t->workload->models[0].adapters),
                    16 * 4 * 2 * 128);
  plan_text_free(t);
}
END_TEST

/* --- ops --- */

static double
gemm_flop_of(const RaShard *shard, const RaPiece *piece, RaPhase phase)
{
  RaBatch batch = {1, TOKENS, TOKENS, TOKENS * (TOKENS + 1) / 2};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(shard, piece, phase, &batch, ops);
  double flop = 0;

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == RA_OP_GEMM)
      flop += ops[i].count * ra_op_flop(&ops[i]);
  return flop;
}

static double
gemm_flop(const RaShard *shard, RaPhase phase)
{
  return gemm_flop_of(shard, &(RaPiece){0, LAYERS, 1, 1}, phase);
}

/* GEMMs of all layers of a whole hybrid model. */
static double
layers_flop(const RaShard *shard, RaPhase phase)
{
  return gemm_flop_of(shard, &(RaPiece){0, shard->model->n_layers, 0, 0},
                      phase);
}

static double
reduced_bytes(const RaShard *shard, RaPhase phase)
{
  RaPiece piece = {0, LAYERS, 0, 0};
  RaBatch batch = {1, TOKENS, TOKENS, TOKENS * (TOKENS + 1) / 2};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(shard, &piece, phase, &batch, ops);
  double bytes = 0;

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == RA_OP_ALL_REDUCE)
      bytes += ops[i].count * (double)ops[i].dim[0];
  return bytes;
}

/* With T tokens, W weights and A adapters: forward 2 T (W + A), backward 2 T W
 * of inputs and 4 T A; of all weights 4 T W. */
START_TEST(flop)
{
  const char *keys[3] = {NULL};
  PlanText *t = text_new(adapted, "", keys);
  const RaWorkloadModel *m = &t->workload->models[0];
  double w = (double)(LAYERS * LAYER_WEIGHTS + HEAD), a = (double)ADAPTERS;
  double twice = 2.0 * TOKENS;
  RaShard s = {.model = m->model, .tp = 1, .loss = 1}, whole = s;
  RaBatch batch = {1, TOKENS, TOKENS, TOKENS * (TOKENS + 1) / 2};
  double pairs = 4.0 * 64 * LAYERS * (double)batch.pairs;

  whole.model = m->base;
  ck_assert_double_eq(gemm_flop(&s, RA_PHASE_FORWARD), twice * (w + a));
  ck_assert_double_eq(gemm_flop(&s, RA_PHASE_BACKWARD), twice * (w + 2 * a));
  ck_assert_double_eq(gemm_flop(&whole, RA_PHASE_FORWARD), twice * w);
  ck_assert_double_eq(gemm_flop(&whole, RA_PHASE_BACKWARD), 2 * twice * w);
  ck_assert_double_eq(ra_model_train_flop(m->model, &batch),
                      twice * (2 * w + 3 * a) + 3 * pairs);
  ck_assert_double_eq(ra_model_train_flop(m->base, &batch),
                      3 * (twice * w + pairs));
  /* The fault: gradients of all weights would not pass for these. */
  ck_assert_double_ne(3 * ra_model_forward_flop(m->model, &batch),
                      ra_model_train_flop(m->model, &batch));
  plan_text_free(t);
}
END_TEST

/* tp = 2 sums 64 wide activations twice a layer and pass; r wide ones forward
 * behind o and down, where it trains, and backward 3 r wide before q, k, v and
 * 2 r wide before gate and up. */
START_TEST(tensor_parallel)
{
  const char *keys[3] = {NULL};
  PlanText *t = text_new(adapted, "", keys);
  RaShard s = {.model = t->workload->models[0].model,
               .tp = 2,
               .tp_ranks_per_node = 2,
               .tp_groups_per_node = 1,
               .loss = 1};
  RaPiece piece = {0, LAYERS, 0, 0};
  double row = 2.0 * TOKENS * LAYERS, wide = 2 * 64 * row;

  ck_assert_double_eq(reduced_bytes(&s, RA_PHASE_FORWARD),
                      wide + 2 * RANK * row);
  ck_assert_double_eq(reduced_bytes(&s, RA_PHASE_BACKWARD),
                      wide + 5 * RANK * row);
  s.loss = 0;
  ck_assert_double_eq(reduced_bytes(&s, RA_PHASE_FORWARD), wide);
  /* q, k, v: A whole, half of B; o: half of A, B whole: 4 x 4 (64 + 32); gate,
   * up, down 3 x 4 (64 + 64). */
  ck_assert_uint_eq(ra_piece_n_trained(&s, &piece),
                    LAYERS * (4 * 4 * 96 + 3 * 4 * 128));
  plan_text_free(t);
}
END_TEST

/* --- memory and what moves --- */

START_TEST(memory_account)
{
  const char *keys[3] = {NULL};
  const char *zero[3] = {NULL, NULL, "mesh = node0:gpu[0-1]\ndp = 2\nzero = 1"};
  PlanText *t = text_new(adapted, "", keys);
  RaMemory *account = ra_memory_new(t->plan);
  const RaStageMemory *s = &account->calls[TRAIN].stages[0];

  ck_assert_uint_eq(s->param_bytes, 2 * (BASE + ADAPTERS));
  ck_assert_uint_eq(s->grad_bytes, 2 * ADAPTERS);
  ck_assert_uint_eq(s->optimizer_bytes, 12 * ADAPTERS);
  ra_memory_free(account);
  plan_text_free(t);
  t = text_new(adapted, "", zero);
  account = ra_memory_new(t->plan);
  ck_assert_uint_eq(account->calls[TRAIN].stages[0].optimizer_bytes,
                    12 * ADAPTERS / 2);
  ra_memory_free(account);
  plan_text_free(t);
  /* The fault: all of it trained. */
  t = text_new("trainable = true", "", keys);
  account = ra_memory_new(t->plan);
  ck_assert_uint_eq(account->calls[TRAIN].stages[0].optimizer_bytes, 12 * BASE);
  ra_memory_free(account);
  plan_text_free(t);
}
END_TEST

/* Bytes that the tasks of @kind send in all, of their vectors. */
static double
task_bytes(const RaTaskGraph *g, RaTaskKind kind)
{
  double bytes = 0;

  for (RaTaskId id = 0; id < g->n_tasks; id++)
    if (g->kind[id] == kind)
      bytes += (double)g->works[g->work[id]].op.dim[0];
  return bytes;
}

/* Two iterations of one mini-batch: each rank has the adapters' gradients. */
START_TEST(reduced)
{
  const char *keys[3] = {NULL, NULL, "mesh = node0:gpu[0-1]\ndp = 2"};
  PlanText *t = text_new(adapted, "", keys);
  g_autoptr(RaTaskGraph) g =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);

  ck_assert_double_eq(task_bytes(g, RA_TASK_GRAD_REDUCE), 2 * 2.0 * ADAPTERS);
  g_clear_pointer(&g, ra_task_graph_free);
  plan_text_free(t);
}
END_TEST

static double
moved_bytes(const char *sync, const char *residency)
{
  g_autofree char *actor = g_strdup_printf("%s\nlora-sync = %s", adapted, sync);
  g_autofree char *gen =
      g_strdup_printf("mesh = node0:gpu1\nresidency = %s", residency);
  const char *keys[3] = {gen, NULL, NULL};
  PlanText *t = text_new(actor, "", keys);
  double bytes = 0;

  for (uint32_t i = 0; i < t->augmented->n_nodes; i++)
    if (t->augmented->nodes[i].kind == RA_NODE_REALLOC)
      bytes += t->augmented->nodes[i].bytes;
  plan_text_free(t);
  return bytes;
}

START_TEST(moves)
{
  ck_assert_double_eq(moved_bytes("adapters", "keep"), 2.0 * ADAPTERS);
  ck_assert_double_eq(moved_bytes("adapters", "release"),
                      2.0 * (BASE + ADAPTERS));
  ck_assert_double_eq(moved_bytes("merged", "keep"), 2.0 * BASE);
  ck_assert_double_eq(moved_bytes("merged", "release"), 2.0 * BASE);
}
END_TEST

/* Copies of @model's parameters. */
static guint
n_copies(const char *ref, const char *gen_keys, const char *ref_keys)
{
  const char *keys[3] = {gen_keys, ref_keys, NULL};
  PlanText *t = text_new(adapted, ref, keys);
  guint n = 0;

  for (uint32_t i = 0; i < t->augmented->n_copies; i++)
    n += t->augmented->copies[i].model == 1;
  plan_text_free(t);
  return n;
}

/* The reference has no copy where actor's own or a kept one is. */
START_TEST(shared_base)
{
  static const char kept[] = "mesh = node0:gpu1\nresidency = keep";
  static const char other[] = "mesh = node0:gpu1";

  ck_assert_uint_eq(n_copies("", NULL, NULL), 1);
  ck_assert_uint_eq(n_copies("base-of = actor", NULL, NULL), 0);
  ck_assert_uint_eq(n_copies("base-of = actor", NULL, other), 1);
  ck_assert_uint_eq(n_copies("base-of = actor", kept, other), 0);
  ck_assert_uint_eq(
      n_copies("base-of = actor", NULL, "mesh = node0:gpu0\nresidency = host"),
      3); /* pinned, and in each iteration reloaded */
  ck_assert_uint_eq(
      n_copies("base-of = actor", NULL, "mesh = node0:gpu[0-1]\ntp = 2"), 1);
}
END_TEST

/* --- hybrid models --- */

/* The actor of @config with adapters of rank 4 on one GPU, but for @train. */
static PlanText *
hybrid_new(const char *config, const char *targets, const char *train)
{
  g_autofree char *actor =
      g_strdup_printf("trainable = true\nlora-rank = 4\n%s", targets);
  g_autofree char *tiny = workload_text(actor, "");
  g_auto(GStrv) parts = g_strsplit(tiny, "tiny.json", -1);
  g_autofree char *workload = g_strjoinv(config, parts);
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *plan = g_strdup_printf(
      "[plan]\nformat = 1\nworkload = x.workload\ncluster = x.cluster\n"
      "[call gen]\nmesh = node0:gpu0\n[call ref]\nmesh = node0:gpu0\n"
      "[call train]\n%s\n",
      train);

  return plan_text_new(workload, cluster, plan, 1);
}

/* Qwen3.5-4B: h = 2560, ffn = 9216; 8 of 32 layers have attention of 16 heads
 * and 4 kv heads of 256, 24 are gated delta nets of 16 heads of keys and 32 of
 * values of 128.  Inputs and outputs of the linear layers that PEFT finds,
 * all-linear, in a layer:
 *
 *     in_proj_qkv  2560 + 2 x 2048 + 4096 = 10,752
 *     in_proj_z    2560 + 4096            =  6,656
 *     in_proj_b, a 2 (2560 + 32)          =  5,184
 *     out_proj     4096 + 2560            =  6,656   29,248 of a delta net
 *     q_proj       2560 + 2 x 4096        = 10,752   with its gate
 *     k, v_proj    2 (2560 + 1024)        =  7,168
 *     o_proj       4096 + 2560            =  6,656   24,576 of attention
 *     MLP          3 (2560 + 9216)        = 35,328
 *
 * 24 x 29,248 + 8 x 24,576 + 32 x 35,328 = 2,029,056 a rank.  On one of two tp
 * ranks what is cut is half: 24 x 21,024 + 8 x 17,408 + 32 x 21,504 =
 * 1,331,968.  The base has 4,205,751,296 parameters: attention 36,700,672 and
 * delta nets 42,139,840 a layer, MLP and norms 70,784,000, embedding (tied) and
 * last norm 635,701,760. */
START_TEST(hybrid)
{
  static const char one[] = "mesh = node0:gpu0";
  static const char two[] = "mesh = node0:gpu[0-1]\ntp = 2";
  PlanText *t = hybrid_new("qwen3.5-4b.json", "", one);
  const RaWorkloadModel *m = &t->workload->models[0];
  RaBatch batch = {1, TOKENS, TOKENS, TOKENS * (TOKENS + 1) / 2};
  double twice = 2.0 * TOKENS, a = 4 * 2029056.0;
  RaShard s = {.model = m->model, .tp = 1, .loss = 1}, whole = s;
  RaMemory *account;

  whole.model = m->base;
  ck_assert_uint_eq(ra_model_n_params(m->adapters), 4 * 2029056ull);
  ck_assert_uint_eq(sum_tensors(m->adapters), 4 * 2029056ull);
  ck_assert_uint_eq(ra_model_n_params(m->base), 4205751296ull);
  ck_assert_uint_eq(sum_tensors(m->model), 4205751296ull + 4 * 2029056ull);
  /* A of qkv behind q, and B of its three parts; z, b and a have their own:
   * 4 + 6 in, 1 + 1 out, and 6 of the MLP; attention 1 + 2 of q, 6, 6. */
  ck_assert_uint_eq(ra_model_n_tensors(m->adapters), 24 * 18 + 8 * 15);
  /* All weights but the embedding's compute gradients of inputs. */
  ck_assert_double_eq(layers_flop(&s, RA_PHASE_FORWARD) -
                          layers_flop(&whole, RA_PHASE_FORWARD),
                      twice * a);
  ck_assert_double_eq(layers_flop(&s, RA_PHASE_BACKWARD),
                      layers_flop(&whole, RA_PHASE_FORWARD) + 2 * twice * a);
  ck_assert_double_eq(ra_model_forward_flop(m->model, &batch) -
                          ra_model_forward_flop(m->base, &batch),
                      twice * a);
  plan_text_free(t);
  t = hybrid_new("qwen3.5-4b.json", "", two);
  account = ra_memory_new(t->plan);
  ck_assert_uint_eq(account->calls[TRAIN].stages[0].grad_bytes,
                    2 * 4 * 1331968ull);
  ck_assert_uint_eq(ra_piece_n_trained(&account->calls[TRAIN].shard,
                                       account->calls[TRAIN].pieces),
                    4 * 1331968ull);
  ra_memory_free(account);
  plan_text_free(t);
  /* Delta nets alone. */
  t = hybrid_new("qwen3.5-4b.json", "lora-targets = in, out\n", one);
  ck_assert_uint_eq(ra_model_n_params(t->workload->models[0].adapters),
                    4 * 24 * 29248ull);
  plan_text_free(t);
}
END_TEST

/* Qwen3-Next-80B-A3B: h = 2048; 36 delta nets of the same heads, whose z is in
 * the matrix of q, k and v, and a in that of b: 2048 + 12,288, 2048 + 64 and
 * 4096 + 2048, 22,592 a layer; 12 layers of 16 heads and 2 kv heads of 256,
 * 10,240 + 2 x 2,560 + 6,144 = 21,504.  Experts have none. */
START_TEST(fused)
{
  PlanText *t = hybrid_new("qwen3-next-80b-a3b.json", "", "mesh = node0:gpu0");
  const RaWorkloadModel *m = &t->workload->models[0];

  ck_assert_uint_eq(ra_model_n_params(m->adapters),
                    4 * (36 * 22592ull + 12 * 21504ull));
  ck_assert_uint_eq(sum_tensors(m->adapters),
                    4 * (36 * 22592ull + 12 * 21504ull));
  plan_text_free(t);
}
END_TEST

/* Latent attention has matrices of other shapes. */
START_TEST(not_modelled)
{
  g_autofree char *tiny = workload_text(adapted, "");
  g_auto(GStrv) parts = g_strsplit(tiny, "tiny.json", -1);
  g_autofree char *text = g_strjoinv("deepseek-v3.json", parts);
  g_autofree char *name =
      g_build_filename(g_getenv("srcdir"), "tests", "data", "x.workload", NULL);
  g_autoptr(RaKeyFile) file = ra_key_file_parse(name, text, strlen(text), NULL);
  g_autoptr(GError) error = NULL;

  ck_assert_ptr_null(ra_workload_load(file, &error));
  ck_assert_ptr_nonnull(
      strstr(error->message, "neither plain attention nor gated delta nets"));
}
END_TEST

/* Merged weights compute as a model without adapters. */
START_TEST(merged)
{
  const char *keys[3] = {NULL};
  PlanText *t =
      text_new("trainable = true\nlora-rank = 4\nlora-sync = merged", "", keys);

  ck_assert_ptr_eq(ra_lora_call_model(t->workload, GENERATE),
                   t->workload->models[0].base);
  ck_assert_ptr_eq(ra_lora_call_model(t->workload, TRAIN),
                   t->workload->models[0].model);
  plan_text_free(t);
}
END_TEST

START_TEST(bad)
{
  static const struct {
    const char *actor, *ref, *says;
  } cases[] = {
      {"trainable = true\nlora-targets = q", "", "expected 'lora-rank' too"},
      {"trainable = true\nlora-sync = merged", "", "expected 'lora-rank' too"},
      {"trainable = true\nlora-rank = 4\nlora-targets = w", "",
       "unknown target 'w'"},
      {"trainable = true\nlora-rank = 4\nlora-targets = in", "",
       "has no dense matrix 'in' to adapt"},
      {"trainable = true\nlora-rank = 5000", "", "4096"},
      {"trainable = true", "base-of = actor",
       "expected a model with 'lora-rank'"},
      {adapted, "base-of = critic", "expected a model with 'lora-rank'"},
      {adapted, "base-of = actor\ndtype = fp32", "cannot be the base"},
      {adapted, "lora-rank = 4", "expected 'trainable = true'"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = workload_text(cases[i].actor, cases[i].ref);
    g_autofree char *name = g_build_filename(g_getenv("srcdir"), "tests",
                                             "data", "x.workload", NULL);
    GError *error = NULL;
    g_autoptr(RaKeyFile) file =
        ra_key_file_parse(name, text, strlen(text), &error);

    ck_assert(file != NULL);
    ck_assert_ptr_null(ra_workload_load(file, &error));
    ck_assert_msg(strstr(error->message, cases[i].says), "%u: %s", i,
                  error->message);
    ck_assert_ptr_nonnull(strstr(error->message, "x.workload:"));
    g_error_free(error);
  }
}
END_TEST

static Suite *
lora_suite(void)
{
  Suite *suite = suite_create("lora");
  TCase *tcase = tcase_create("lora");

  tcase_add_test(tcase, tensors);
  tcase_add_test(tcase, flop);
  tcase_add_test(tcase, tensor_parallel);
  tcase_add_test(tcase, memory_account);
  tcase_add_test(tcase, reduced);
  tcase_add_test(tcase, moves);
  tcase_add_test(tcase, shared_base);
  tcase_add_test(tcase, hybrid);
  tcase_add_test(tcase, fused);
  tcase_add_test(tcase, not_modelled);
  tcase_add_test(tcase, merged);
  tcase_add_test(tcase, bad);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(lora_suite)
