#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/folder.h"
#include "base/text.h"
#include "exec/weights/weights.h"
#include "tests/support/check_main.h"

/* fp32 roundings on the longest way to a logit, two layers of at most 24 hidden
 * and 96 inner elements: 24 each for two norms, q, k and v, the output and the
 * gate, 96 down, 6 for a score, 7 each for softmax and values, 4 for the
 * activation: 244 a layer; 48 for the last norm and the head; as many on the
 * other side.  If all had one sign they would come to 1,072 u of the largest
 * logit of a position.  That sums cancel is not counted, nor that signs differ:
 * the worst of the checkpoints has 14 u. */
#define BAR (1072 * 0x1p-24)

enum { VOCAB = 29, N_TOKENS = 7 };

/* TEXT of tests/torch/checkpoints.py. */
static const uint32_t text[N_TOKENS] = {3, 17, 0, 28, 9, 9, 21};

static const char *const checkpoints[] = {"llama-sharded",
                                          "llama-half",
                                          "qwen2-tied",
                                          "qwen3",
                                          "mixtral",
                                          "qwen3-moe",
                                          "qwen3-moe-normed",
                                          "qwen2-moe",
                                          "glm4-moe",
                                          "ministral",
                                          "deepseek-v3",
                                          "deepseek-v2",
                                          "glm4-moe-lite",
                                          "gpt-oss",
                                          "gpt2",
                                          "gpt2-bare",
                                          "bloom",
                                          "mpt"};

static char *
checkpoint_folder(const char *name)
{
  return g_build_filename(g_getenv("srcdir") ? g_getenv("srcdir") : ".",
                          "tests/data/checkpoints", name, NULL);
}

static RaWeights *
open_good(const char *folder)
{
  g_autoptr(GError) error = NULL;
  RaWeights *w = ra_weights_open(folder, &error);

  ck_assert_msg(w != NULL, "%s", error ? error->message : "");
  return w;
}

static RaCallPlan
plan_of(uint32_t tp, uint32_t pp, uint32_t *stage_layers)
{
  stage_layers[0] = pp == 1 ? 2 : 1;
  stage_layers[1] = 1;
  return (RaCallPlan){.set = TRUE,
                      .dp = 1,
                      .tp = tp,
                      .pp = pp,
                      .cp = 1,
                      .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                      .n_virtual = 1,
                      .stage_layers = stage_layers};
}

/* Logits of every position: a prefill of one token, then steps. */
static void
run_logits(RaParams *params, const RaNumerics *numerics, float *out)
{
  const RaPiece piece = {.n_layers = 2, .has_embedding = 1, .has_head = 1};
  const uint32_t length = 1, slot = 0, *prompt = text;
  RaStage *stage = ra_stage_new(ra_backend_host(NULL), params, 1, NULL,
                                RA_RECOMPUTE_NONE, 16, numerics);
  g_autoptr(RaTokens) tokens = ra_tokens_new(1, &length, &prompt);
  g_autoptr(RaCache) cache =
      ra_stage_new_cache(stage, &(RaCacheShape){2, 1, 16, 4, 0, 0, FALSE});
  g_autoptr(RaPass) pass = ra_pass_new(stage, &piece, tokens, FALSE);

  ra_pass_forward(pass, NULL, cache, &slot);
  ra_pass_last_logits(pass, out);
  for (uint32_t at = 1; at < N_TOKENS; at++)
    ra_stage_decode(stage, &piece, cache, 1, &slot, text + at, &at, NULL,
                    out + at * VOCAB);
  g_clear_pointer(&pass, ra_pass_free); /* it is of the stage */
  ra_stage_free(stage);
}

/* The worst logit of @folder against its logits.txt, relative to the largest of
 * its position. */
static double
worst_logit(const char *folder, const RaNumerics *numerics)
{
  g_autoptr(RaWeights) w = open_good(folder);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(w->model);
  g_autofree char *path = g_build_filename(folder, "logits.txt", NULL);
  g_autofree char *wanted = NULL;
  float logits[N_TOKENS * VOCAB];
  uint32_t layers[2];
  RaCallPlan plan = plan_of(1, 1, layers);
  g_autoptr(RaParams) params = ra_params_new(table, &plan, 0);
  double worst = 0, off = 0, most = 0;
  char *at;

  ck_assert(ra_weights_check(w, w->model, NULL));
  ra_weights_read(w, params);
  run_logits(params, numerics ? numerics : &w->numerics, logits);
  ck_assert(g_file_get_contents(path, &wanted, NULL, NULL));
  at = wanted;
  for (guint i = 0; i < N_TOKENS * VOCAB; i++) {
    char *end;
    double x = g_ascii_strtod(at, &end);

    ck_assert_ptr_ne(at, end);
    at = end;
    off = fmax(off, fabs((double)logits[i] - x));
    most = fmax(most, fabs(x));
    if (i % VOCAB == VOCAB - 1) {
      worst = fmax(worst, off / most);
      off = most = 0;
    }
  }
  ck_assert_str_eq(g_strstrip(at), "");
  return worst;
}

/* Against transformers: several files of bf16, one of fp16, one with biases
 * everywhere, one with those of q, k and v and a tied head; norms of q and k;
 * experts in every layer and in one, their weights divided by the sum or not;
 * q, k and v in one tensor in three ways, six heads under ALiBi. */
START_TEST(test_logits)
{
  g_autofree char *folder = checkpoint_folder(checkpoints[_i]);

  ck_assert_double_lt(worst_logit(folder, NULL), BAR);
}
END_TEST

/* The fault: the defaults of a run, where config.json says otherwise. */
START_TEST(test_numerics_matter)
{
  g_autofree char *folder = checkpoint_folder("llama-sharded");
  const RaNumerics usual = RA_NUMERICS_DEFAULT;
  g_autofree char *moe = checkpoint_folder("qwen3-moe");
  g_autoptr(RaWeights) w = open_good(moe);
  RaNumerics divided = w->numerics;

  ck_assert_double_gt(worst_logit(folder, &usual), 10 * BAR);
  ck_assert(divided.raw_top_k);
  divided.raw_top_k = FALSE;
  ck_assert_double_gt(worst_logit(moe, &divided), 10 * BAR);
}
END_TEST

/* TRUE if gpt2-bare has it beside weights. */
static gboolean
is_mask(const char *name)
{
  return g_str_has_suffix(name, ".attn.bias") ||
         g_str_has_suffix(name, ".attn.masked_bias");
}

/* Every tensor of @a in @b, as it is stored, and nothing else. */
static void
assert_same(const RaWeights *a, const RaWeights *b)
{
  GHashTableIter iter;
  gpointer name, found;
  guint n = 0;

  g_hash_table_iter_init(&iter, a->tensors);
  while (g_hash_table_iter_next(&iter, &name, &found)) {
    g_autofree char *full = g_strconcat("transformer.", name, NULL);
    g_autofree float *x = NULL, *y = NULL;
    const RaSafetensor *s = found, *t;

    if (is_mask(name))
      continue;
    n++;
    t = g_hash_table_lookup(b->tensors, name);
    t = t ? t : g_hash_table_lookup(b->tensors, full);
    ck_assert_msg(t != NULL, "%s", (const char *)name);
    ck_assert_uint_eq(s->n_dims, t->n_dims);
    ck_assert_mem_eq(s->dims, t->dims, s->n_dims * sizeof *s->dims);
    x = g_new(float, s->n);
    y = g_new(float, s->n);
    ra_safetensor_floats(s, 0, s->n, x);
    ra_safetensor_floats(t, 0, t->n, y);
    ck_assert_mem_eq(x, y, s->n * sizeof(float));
  }
  ck_assert_uint_eq(g_hash_table_size(b->tensors), n);
}

/* Read by every rank of a layout, written from them, in files of @max_bytes,
 * read again: the same bits. */
static void
check_written(const char *name, uint32_t tp, uint32_t pp, uint64_t max_bytes,
              const char *folder, guint n_files)
{
  g_autofree char *source = checkpoint_folder(name);
  g_autoptr(RaWeights) w = open_good(source);
  g_autoptr(RaWeights) again = NULL;
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(w->model);
  g_autoptr(GPtrArray) parts =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_params_free);
  g_autoptr(GError) error = NULL;
  uint32_t layers[2];
  RaCallPlan plan = plan_of(tp, pp, layers);

  for (uint32_t rank = 0; rank < tp * pp; rank++) {
    RaParams *params = ra_params_new(table, &plan, rank);

    ra_weights_read(w, params);
    g_ptr_array_add(parts, params);
  }
  ck_assert_msg(
      ra_weights_write(folder, w->model, &w->numerics,
                       (const RaParams *const *)(gpointer)parts->pdata,
                       parts->len, max_bytes, &error),
      "%s", error ? error->message : "");
  again = open_good(folder);
  ck_assert_uint_eq(again->files->len, n_files);
  ck_assert(ra_weights_check(again, w->model, NULL));
  ck_assert(again->numerics.norm_eps == w->numerics.norm_eps);
  ck_assert(again->numerics.rope.theta == w->numerics.rope.theta);
  ck_assert(again->numerics.raw_top_k == w->numerics.raw_top_k);
  ck_assert(again->numerics.activation == w->numerics.activation);
  assert_same(w, again);
}

/* llama-sharded has 2 x 29 x 16 + 2 x (16 x (16 + 8 + 8 + 16) + 3 x 24 x 16 +
 * 32) + 16 = 4,848 numbers, 19,392 bytes: one file where 10^9 bytes are
 * allowed, three of at most 8,192 (two would hold 16,384, and no cut lost 5,184
 * of 24,576: the largest tensor has 1,856). */
START_TEST(test_write)
{
  g_autofree char *folder = g_dir_make_tmp("weights-XXXXXX", NULL);
  static const uint32_t layouts[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}};

  ck_assert_ptr_nonnull(folder);
  for (guint i = 0; i < G_N_ELEMENTS(layouts); i++) {
    for (guint k = 0; k < G_N_ELEMENTS(checkpoints); k++) {
      gboolean six = k >= G_N_ELEMENTS(checkpoints) - 2; /* heads: bloom, mpt */

      check_written(checkpoints[k],
                    six && layouts[i][0] == 4 ? 3 : layouts[i][0],
                    layouts[i][1], 1000000000, folder, 1);
    }
    /* Several after one, and one after several: what was there is not read. */
    check_written("llama-sharded", layouts[i][0], layouts[i][1], 8192, folder,
                  3);
  }
  ra_folder_remove(folder);
}
END_TEST

/* A critic begins with a language model: all of it but the head, which stays
 * as seeded.  The reverse has no head to begin with. */
START_TEST(test_value_head)
{
  g_autofree char *folder = checkpoint_folder("llama-half");
  g_autoptr(RaWeights) w = open_good(folder);
  g_autofree char *config = g_build_filename(folder, "config.json", NULL);
  g_autoptr(RaModel) critic = ra_model_load(config, NULL);
  g_autoptr(RaTensorTable) table = NULL;
  g_autoptr(RaParams) params = NULL, seeded = NULL;
  const RaParam *head, *norm;
  uint32_t layers[2];
  RaCallPlan plan = plan_of(1, 1, layers);

  ra_model_set_head(critic, RA_HEAD_VALUE);
  table = ra_tensor_table_new(critic);
  params = ra_params_new(table, &plan, 0);
  seeded = ra_params_new(table, &plan, 0);
  ra_params_seed(params, 5);
  ra_params_seed(seeded, 5);
  ck_assert(ra_weights_check(w, critic, NULL));
  ra_weights_read(w, params);
  head = ra_params_find(params, RA_TENSOR_HEAD, RA_TENSOR_NO_LAYER, FALSE);
  norm = ra_params_find(params, RA_TENSOR_NORM, 0, FALSE);
  ck_assert_mem_eq(ra_host_floats(params->weights) + head->offset,
                   ra_host_floats(seeded->weights) + head->offset,
                   ra_param_n(head) * sizeof(float));
  ck_assert_mem_ne(ra_host_floats(params->weights) + norm->offset,
                   ra_host_floats(seeded->weights) + norm->offset,
                   ra_param_n(norm) * sizeof(float));
}
END_TEST

/* ---- what is refused ------------------------------------------------------*/

/* A folder of one good model in which one thing is wrong. */
typedef struct {
  const char *file; /* that is written */
  const char *text; /* what it says then; NULL: it is removed */
  const char *wanted;
} FolderCase;

static const FolderCase folder_cases[] = {
    {"config.json", NULL, "No such file"},
    {"config.json", "{", ""},
    {"model.safetensors.index.json", NULL, "No such file"},
    {"model.safetensors.index.json", "{}", "no object 'weight_map'"},
    {"model.safetensors.index.json", "{\"weight_map\": {\"a\": 5}}",
     "not the name of a file"},
    {"model.safetensors.index.json", "{\"weight_map\": {\"a\": \"../b\"}}",
     "not the name of a file"},
    {"model.safetensors.index.json", "{\"weight_map\": {\"a\": \"b\"}}",
     "b: cannot be read"},
    {"model.safetensors.index.json",
     "{\"weight_map\": {\"a\": \"model-00001-of-00003.safetensors\"}}",
     "tensor 'a' is in none"},
    {"model-00002-of-00003.safetensors", "cut", "3 bytes are not a safe"},
    {"model-00003-of-00003.safetensors", NULL, "cannot be read"},
};

static void
copy_checkpoint(const char *name, const char *to)
{
  g_autofree char *from = checkpoint_folder(name);
  GDir *dir = g_dir_open(from, 0, NULL);
  const char *file;

  ck_assert_ptr_nonnull(dir);
  while ((file = g_dir_read_name(dir))) {
    g_autofree char *source = g_build_filename(from, file, NULL);
    g_autofree char *target = g_build_filename(to, file, NULL);
    g_autofree char *bytes = NULL;
    gsize n;

    ck_assert(g_file_get_contents(source, &bytes, &n, NULL));
    ck_assert(g_file_set_contents(target, bytes, (gssize)n, NULL));
  }
  g_dir_close(dir);
}

START_TEST(test_folders)
{
  for (guint i = 0; i < G_N_ELEMENTS(folder_cases); i++) {
    const FolderCase *c = &folder_cases[i];
    g_autofree char *folder = g_dir_make_tmp("weights-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, c->file, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(RaWeights) w = NULL;

    copy_checkpoint("llama-sharded", folder);
    if (c->text)
      ck_assert(g_file_set_contents(path, c->text, -1, NULL));
    else
      ck_assert_int_eq(g_unlink(path), 0);
    w = ra_weights_open(folder, &error);
    ck_assert_msg(w == NULL, "%s: %s", c->file, c->text ? c->text : "");
    ck_assert_msg(strstr(error->message, c->wanted) != NULL, "%s: %s", c->file,
                  error->message);
    ra_folder_remove(folder);
  }
}
END_TEST

/* config.json with one key changed: what the host back end would get wrong. */
START_TEST(test_config)
{
  static const char *const cases[][4] = {
      {"llama-half", "\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\"",
       "hidden_act"},
      {"llama-half", "\"rope_scaling\": null",
       "\"rope_scaling\": {\"rope_type\": \"dynamic\", \"factor\": 8}",
       "rope_type"},
      {"llama-half", "\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 0",
       "not a number above 0"},
      {"llama-half", "\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": \"x\"",
       "not a number above 0"},
      {"llama-half", "\"vocab_size\": 29",
       "\"vocab_size\": 29, \"sliding_window\": 64", "sliding_window"},
      {"gpt2", "\"gelu_new\"", "\"relu\"", "activation_function"},
      {"gpt2", "\"scale_attn_weights\": true", "\"scale_attn_weights\": false",
       "scale_attn_weights"},
      {"gpt2", "\"scale_attn_by_inverse_layer_idx\": false",
       "\"scale_attn_by_inverse_layer_idx\": true", "inverse_layer_idx"},
      {"gpt2", "\"layer_norm_epsilon\": 0.001", "\"layer_norm_epsilon\": -1",
       "not a number above 0"},
      {"bloom", "\"apply_residual_connection_post_layernorm\": false",
       "\"apply_residual_connection_post_layernorm\": true",
       "post_layernorm' is true"},
      {"mpt", "\"clip_qkv\": null", "\"clip_qkv\": 6", "clip_qkv"},
      {"mpt", "\"softmax_scale\": null", "\"softmax_scale\": 0.5",
       "softmax_scale"},
      {"mpt", "\"alibi_bias_max\": 8", "\"alibi_bias_max\": 16",
       "alibi_bias_max"},
      {"deepseek-v2", "\"norm_topk_prob\": false", "\"norm_topk_prob\": true",
       "divides no weights"},
      {"deepseek-v2", "\"topk_method\": \"group_limited_greedy\"",
       "\"topk_method\": \"noaux_tc\"", "'topk_method' is 'noaux_tc'"},
      {"deepseek-v3", "\"v_head_dim\"",
       "\"scoring_func\": \"softmax\", \"v_head_dim\"",
       "'scoring_func' is 'softmax'"},
      {"mpt", "\"prefix_lm\": false", "\"prefix_lm\": true", "prefix_lm"},
      {"mpt", "\"logit_scale\": null", "\"logit_scale\": \"inv_sqrt_d_model\"",
       "logit_scale"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *folder = g_dir_make_tmp("weights-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "config.json", NULL);
    g_autofree char *was = NULL;
    g_auto(GStrv) parts = NULL;
    g_autofree char *is = NULL;
    g_autoptr(GError) error = NULL;

    copy_checkpoint(cases[i][0], folder);
    ck_assert(g_file_get_contents(path, &was, NULL, NULL));
    parts = g_strsplit(was, cases[i][1], 2);
    ck_assert_msg(g_strv_length(parts) == 2, "%s", cases[i][1]);
    is = g_strjoinv(cases[i][2], parts);
    ck_assert(g_file_set_contents(path, is, -1, NULL));
    ck_assert_ptr_null(ra_weights_open(folder, &error));
    ck_assert_msg(strstr(error->message, cases[i][3]) != NULL, "%s",
                  error->message);
    ra_folder_remove(folder);
  }
}
END_TEST

/* Models that transformers has no class for are neither read nor written. */
START_TEST(test_foreign)
{
  g_autofree char *folder = checkpoint_folder("mpt");
  g_autoptr(RaWeights) mpt = open_good(folder);
  g_autofree char *llama_folder = checkpoint_folder("llama-half");
  g_autoptr(RaWeights) llama = open_good(llama_folder);
  g_autoptr(GError) positions = NULL, keys = NULL, norm = NULL;

  mpt->model->position = RA_POSITION_LEARNED;
  ck_assert(!ra_weights_check(mpt, mpt->model, &positions));
  ck_assert_ptr_nonnull(strstr(positions->message, "other than ALiBi"));
  mpt->model->position = RA_POSITION_ALIBI;
  mpt->model->n_kv_heads = 3;
  ck_assert(!ra_weights_write("never", mpt->model, &mpt->numerics, NULL, 0, 0,
                              &keys));
  ck_assert(!g_file_test("never", G_FILE_TEST_EXISTS));
  ck_assert_ptr_nonnull(strstr(keys->message, "share keys"));
  llama->model->norm = RA_NORM_LAYER;
  ck_assert(!ra_weights_check(llama, llama->model, &norm));
  ck_assert_ptr_nonnull(strstr(norm->message, "LayerNorm"));
}
END_TEST

/* Names beside those of GLM-4.5: those of its layer 2, behind the last, are
 * left out; ends of a router's name, a dense layer's and no number are refused,
 * as is any of Qwen2-MoE.  A test of suffixes alone took all. */
START_TEST(test_names_beside)
{
  static const struct {
    const char *checkpoint, *name;
    gboolean is_good;
  } cases[] = {
      {"glm4-moe", "model.layers.0", FALSE},
      {"glm4-moe", "model.layers.1", FALSE},
      {"glm4-moe", "model.layers.bias", FALSE},
      {"glm4-moe", "model.layers.0.mlp.gate.e_score_correction_bias", FALSE},
      {"qwen2-moe", "model.layers.2.mlp.gate.weight", FALSE},
      {"glm4-moe", "model.layers.2.mlp.gate.weight", TRUE},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *folder = checkpoint_folder(cases[i].checkpoint);
    g_autoptr(RaWeights) w = open_good(folder);
    g_autoptr(GError) error = NULL;
    GHashTableIter iter;
    gpointer any;

    g_hash_table_iter_init(&iter, w->tensors);
    ck_assert(g_hash_table_iter_next(&iter, NULL, &any));
    g_hash_table_insert(w->tensors, (gpointer)cases[i].name, any);
    ck_assert_msg(ra_weights_check(w, w->model, &error) == cases[i].is_good,
                  "%s", cases[i].name);
    g_hash_table_remove(w->tensors, cases[i].name);
  }
}
END_TEST

/* Fused tensors of another shape: one that lies the other way round, as a
 * Linear's would, and the names that are said are the checkpoint's. */
START_TEST(test_fused_shape)
{
  g_autofree char *folder = checkpoint_folder("gpt2");
  g_autoptr(RaWeights) w = open_good(folder);
  g_autoptr(GError) error = NULL, missing = NULL;
  static const char name[] = "transformer.h.1.attn.c_attn.weight";
  RaSafetensor turned =
      *(const RaSafetensor *)g_hash_table_lookup(w->tensors, name);

  turned.dims[0] = 48;
  turned.dims[1] = 16;
  g_hash_table_insert(w->tensors, turned.name, &turned);
  ck_assert(!ra_weights_check(w, w->model, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "1.attn.c_attn.weight' has"));
  ck_assert_ptr_nonnull(strstr(error->message, "48 x 16, expected 16 x 48"));
  g_hash_table_remove(w->tensors, name);
  ck_assert(!ra_weights_check(w, w->model, &missing));
  ck_assert_ptr_nonnull(strstr(missing->message, "c_attn.weight' of model"));
}
END_TEST

/* Weights of another shape, or of fewer or more tensors. */
START_TEST(test_other_model)
{
  g_autofree char *half = checkpoint_folder("llama-half");
  g_autofree char *tied = checkpoint_folder("qwen2-tied");
  g_autoptr(RaWeights) llama = open_good(half);
  g_autoptr(RaWeights) qwen2 = open_good(tied);
  g_autoptr(GError) missing = NULL, more = NULL, shape = NULL, heads = NULL;

  ck_assert(!ra_weights_check(llama, qwen2->model, &missing));
  ck_assert(strstr(missing->message, "bias' of model"));
  ck_assert(strstr(missing->message, "is missing"));
  ck_assert(!ra_weights_check(qwen2, llama->model, &more));
  ck_assert(strstr(more->message, "lm_head.weight' of model"));
  llama->model->ffn = 25;
  ck_assert(!ra_weights_check(llama, llama->model, &shape));
  ck_assert(strstr(shape->message, "mlp.gate_proj.weight' has another shape"));
  /* Shapes that are there, and that should be. */
  ck_assert(strstr(shape->message, ", 24 x 16, expected 25 x 16"));
  qwen2->model->n_heads = 8;
  qwen2->model->head_dim = 2;
  ck_assert(!ra_weights_check(llama, qwen2->model, &heads));
  ck_assert(strstr(heads->message, "4 heads and 2"));
}
END_TEST

static Suite *
weights_suite(void)
{
  Suite *suite = suite_create("weights");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_logits, 0, (int)G_N_ELEMENTS(checkpoints));
  tcase_add_test(tcase, test_numerics_matter);
  tcase_add_test(tcase, test_write);
  tcase_add_test(tcase, test_value_head);
  tcase_add_test(tcase, test_folders);
  tcase_add_test(tcase, test_config);
  tcase_add_test(tcase, test_other_model);
  tcase_add_test(tcase, test_foreign);
  tcase_add_test(tcase, test_names_beside);
  tcase_add_test(tcase, test_fused_shape);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(weights_suite)
