/* Test of which shipped models the CUDA back end accepts. */
#include "config.h"

#include "base/error.h"
#include "exec/backend/backend_cuda.h"
#include "exec/model/stage.h"
#include "graph/input/model.h"
#include "tests/support/check_main.h"

/* Which models of share/models the device takes, and what keeps the others
 * from it.  Whoever makes it take one more changes that model's line.
 *
 * Derived from the published shapes.  A head is hidden / heads wide where the
 * file has no head_dim: tiny-llama and tiny-bytes 64 / 8 = 8 (tiny-llama-64 has
 * 64), nemotron-4-340b 18432 / 96 = 192, all others 64 or 128.  The norms of
 * nemotron-4-15b, whose heads fit, are not what the executor runs on any back
 * end.
 */
#define HEADS "heads of a dimension that is not 64 or 128"
#define WIDTHS "widths of a rank that are not multiples of 8"
#define GROUPS "more than 16 query heads of a key head"
#define FAMILY "layers of a family for plans alone"
#define WINDOWS "attention within windows"
#define NORMS "norms whose scale is stored less one"

typedef struct {
  const char *name;
  const char *refusal; /* of one rank; NULL: the device takes it */
} Shipped;

/* clang-format off */
static const Shipped models[] = {
    {"llama-7b", NULL},           {"llama-13b", NULL},
    {"llama-33b", NULL},          {"llama-65b", NULL},
    {"llama-2-7b", NULL},         {"llama-2-13b", NULL},
    {"llama-2-70b", NULL},        {"llama-3-8b", NULL},
    {"llama-3-70b", NULL},        {"llama-3.1-405b", NULL},
    {"llama-3.2-1b", NULL},       {"codellama-34b", NULL},
    {"mistral-7b", NULL},         {"qwen2.5-1.5b", NULL},
    {"qwen2.5-7b", NULL},         {"qwen2.5-32b", NULL},
    {"qwen2.5-72b", NULL},        {"qwen3-8b", NULL},
    {"qwen3-32b", NULL},          {"mixtral-8x7b", NULL},
    {"qwen3-30b-a3b", NULL},      {"qwen3-235b-a22b", NULL},
    {"tiny-llama-64", NULL},
    {"bloom-176b", NULL},         {"mpt-7b", NULL},
    {"tiny-llama", HEADS},        {"tiny-bytes", HEADS},
    {"nemotron-4-340b", HEADS},
    {"tiny-glm4-moe", FAMILY},
    {"tiny-ministral", WINDOWS},
    {"tiny-gpt-oss", FAMILY},
    {"tiny-deepseek-v3", FAMILY},
    {"tiny-deepseek-v2", FAMILY},
    {"gpt2", NULL},               {"gpt2-xl", NULL},
    {"nemotron-4-15b", NORMS},
    {"deepseek-v3", FAMILY},
    {"kimi-k2", FAMILY},
    {"moonlight-16b-a3b", FAMILY},
    {"glm-4.5-air", FAMILY},
    {"glm-4.5", FAMILY},
    {"gpt-oss-120b", FAMILY},
    {"gpt-oss-20b", FAMILY},
    {"qwen3-next-80b-a3b", FAMILY},
    {"nemotron-nano-9b-v2", FAMILY},
    {"nemotron-3-nano-30b-a3b", FAMILY},
    {"gemma-2-2b", FAMILY},
    {"gemma-3-1b", FAMILY},
    {"gemma-3-27b", FAMILY},
    {"glm-4-9b-0414", FAMILY},
    {"glm-4.7-flash", FAMILY},
    {"minimax-m2", FAMILY},
    {"pythia-1b", FAMILY},
    {"qwen1.5-moe-a2.7b", FAMILY},
    {"qwen3.5-35b-a3b", FAMILY},
    {"qwen3.5-9b", FAMILY},
    {"qwen3.5-0.8b", FAMILY},
    {"qwen3.5-2b", FAMILY},
    {"qwen3.5-4b", FAMILY},
    {"hy3", FAMILY},
    {"gemma-4-26b-a4b", FAMILY},
    {"gemma-4-31b", FAMILY},
    {"qwen3.5-27b", FAMILY},
    {"qwen3.5-122b-a10b", FAMILY},
    {"qwen3.5-397b-a17b", FAMILY},
    {"nemotron-3-super-120b-a12b", FAMILY},
    {"nemotron-nano-12b-v2", FAMILY},
    {"glm-5", FAMILY},
    {"glm-5.2", FAMILY},
    {"deepseek-v4-flash", FAMILY},
    {"minimax-m3", FAMILY},
    {"deepseek-v4-pro", FAMILY},
};
/* clang-format on */

static char *
in_tree(const char *file)
{
  const char *srcdir = g_getenv("srcdir");
  return g_build_filename(srcdir ? srcdir : ".", "share/models", file, NULL);
}

static RaModel *
shipped(const char *name)
{
  g_autofree char *file = g_strdup_printf("%s.json", name);
  g_autofree char *path = in_tree(file);
  g_autoptr(GError) error = NULL;
  RaModel *model = ra_model_load(path, &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "no error");
  return model;
}

/* As exec/run_new.c asks, in its order; @refusal, or NULL: neither refuses. */
static void
assert_answer(const RaModel *model, uint32_t n_tp, const char *refusal)
{
  g_autoptr(GError) error = NULL;
  gboolean taken = ra_backend_cuda()->supports(model, n_tp, &error) &&
                   ra_stage_supports(model, &error);
  g_autofree char *head = g_strdup_printf("model '%s' has %s, ", model->name,
                                          refusal ? refusal : "nothing");

  if (!refusal) {
    ck_assert_msg(taken, "tp %u: %s", n_tp, taken ? "" : error->message);
    return;
  }
  ck_assert_msg(!taken, "'%s' is taken, expected '%s'", model->name, refusal);
  ck_assert_msg(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT) &&
                    g_str_has_prefix(error->message, head),
                "%s, expected '%s'", error->message, head);
}

/* A taken model is taken by as many ranks of a node as its heads divide by,
 * its MLP too: a multiple of 64 in all of them. */
START_TEST(test_shipped)
{
  const Shipped *s = &models[_i];
  g_autoptr(RaModel) model = shipped(s->name);

  assert_answer(model, 1, s->refusal);
  for (uint32_t tp = 2; tp <= 8 && !s->refusal; tp *= 2)
    if (model->n_heads % tp == 0)
      assert_answer(model, tp, NULL);
}
END_TEST

/* Every file of share/models is in the table above, once. */
START_TEST(test_all_shipped)
{
  g_autofree char *path = in_tree("");
  g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
  g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
  guint n = 0;

  ck_assert_ptr_nonnull(dir);
  for (guint i = 0; i < G_N_ELEMENTS(models); i++)
    ck_assert(g_hash_table_add(names, (gpointer)models[i].name));
  for (const char *file; (file = g_dir_read_name(dir)) != NULL;)
    n += g_str_has_suffix(file, ".json");
  ck_assert_uint_eq(n, G_N_ELEMENTS(models));
}
END_TEST

/* The deliberate faults: one change each to llama-3-8b, which is taken, that
 * the back end must not let by.  A table may have any number of tokens; 32
 * heads of one key head are 32 of it; of mixtral-8x7b twelve experts: rows of
 * 24 bytes in bf16. */
START_TEST(test_faults)
{
  g_autoptr(RaModel) model = shipped("llama-3-8b");
  g_autoptr(RaModel) experts = shipped("mixtral-8x7b");

  model->head_dim = 96;
  assert_answer(model, 1, HEADS);
  model->head_dim = 128;
  model->vocab++;
  assert_answer(model, 2, NULL);
  model->n_kv_heads = 1;
  assert_answer(model, 1, GROUPS);
  assert_answer(model, 2, NULL);
  experts->n_experts = 12;
  assert_answer(experts, 1, WIDTHS);
  experts->n_experts = 2048;
  assert_answer(experts, 1, "more experts, or of a token, than 1024 and 32");
}
END_TEST

static Suite *
backend_cuda_models_suite(void)
{
  Suite *suite = suite_create("backend_cuda_models");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_shipped, 0, G_N_ELEMENTS(models));
  tcase_add_test(tcase, test_all_shipped);
  tcase_add_test(tcase, test_faults);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_models_suite)
