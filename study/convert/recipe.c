/* Recipes: whose they are, what is read of all of them, what is told. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/convert/recipe_impl.h"

const char *const ra_framework_names[] = {"verl", "openrlhf", "nemo-rl",
                                          "realhf", NULL};
const char *const ra_recipe_models[] = {"actor", "critic", "ref", "reward",
                                        NULL};
const char *const ra_recipe_call_names[] = {
    "actor_generate",   "actor_inference", "ref_inference", "reward_inference",
    "critic_inference", "actor_train",     "critic_train"};

RaRecipeModel
ra_recipe_model_of(RaRecipeKind kind)
{
  static const RaRecipeModel models[RA_N_RECIPE_CALLS] = {
      RA_RECIPE_ACTOR,  RA_RECIPE_ACTOR, RA_RECIPE_REF,   RA_RECIPE_REWARD,
      RA_RECIPE_CRITIC, RA_RECIPE_ACTOR, RA_RECIPE_CRITIC};

  return models[kind];
}

/* Signs of a framework: the beginning of a key, or a word of the
 * script. */
static const struct {
  RaFramework framework;
  const char *prefix, *word;
} marks[] = {
    {RA_FRAMEWORK_VERL, "actor_rollout_ref.", "verl."},
    {RA_FRAMEWORK_NEMO_RL, "policy.", "run_grpo"},
    {RA_FRAMEWORK_REALHF, "ppo.gen.", "realhf."},
    {RA_FRAMEWORK_REALHF, "actor.type.", NULL},
    {RA_FRAMEWORK_OPENRLHF, "vllm_", "openrlhf."},
    {RA_FRAMEWORK_OPENRLHF, "actor_num_", "train_ppo_ray"},
};

RaFramework
ra_framework_guess(const RaSettings *settings)
{
  for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
    if (ra_settings_has(settings, marks[i].prefix))
      return marks[i].framework;
  }
  for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
    if (marks[i].word && strstr(ra_settings_words(settings), marks[i].word))
      return marks[i].framework;
  }
  return RA_N_FRAMEWORKS;
}

void
ra_recipe_free(RaRecipe *recipe)
{
  if (!recipe)
    return;
  g_free(recipe->algorithm);
  for (guint i = 0; i < RA_N_RECIPE_MODELS; i++) {
    g_free(recipe->model[i]);
    g_free(recipe->lora[i].targets);
  }
  g_ptr_array_unref(recipe->notes);
  g_free(recipe);
}

void
ra_recipe_note(RaRecipe *recipe, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  g_ptr_array_add(recipe->notes, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

gboolean
ra_recipe_count(RaSettings *settings, const char *key, uint32_t fallback,
                uint32_t *out, GError **error)
{
  return ra_settings_uint32(settings, key, fallback, 1, RA_RECIPE_COUNT_MAX,
                            out, error);
}

void
ra_recipe_text(RaSettings *settings, const char *key, const char *fallback,
               char **out)
{
  const char *text = ra_settings_get(settings, key);

  g_free(*out);
  *out = g_strdup(text ? text : fallback);
}

uint32_t
ra_recipe_share(const RaRecipe *recipe, RaRecipeKind kind)
{
  const RaRecipeCall *call = &recipe->calls[kind];
  gboolean is_train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;
  uint32_t n = recipe->n_prompts * recipe->n_samples;

  return n / MAX(1, call->dp * (is_train ? recipe->n_mini_batches : 1));
}

/* Reads @framework's settings and completes what they leave. */
RaRecipe *
ra_recipe_read(RaSettings *settings, RaFramework framework, GError **error)
{
  static gboolean (*const readers[RA_N_FRAMEWORKS])(RaRecipe *, RaSettings *,
                                                    GError **) = {
      ra_recipe_read_verl, ra_recipe_read_openrlhf, ra_recipe_read_nemo_rl,
      ra_recipe_read_realhf};
  g_autoptr(RaRecipe) recipe = g_new0(RaRecipe, 1);

  g_return_val_if_fail(settings != NULL && framework < RA_N_FRAMEWORKS, NULL);
  recipe->framework = framework;
  recipe->notes = g_ptr_array_new_with_free_func(g_free);
  recipe->n_prompts = recipe->n_samples = 1;
  recipe->n_mini_batches = recipe->n_epochs = 1;
  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    RaRecipeCall *call = &recipe->calls[k];

    call->tp = call->pp = call->cp = call->ep = 1;
  }
  if (!readers[framework](recipe, settings, error))
    return NULL;
  if ((guint64)recipe->n_prompts * recipe->n_samples >
      RA_WORKLOAD_SEQUENCES_MAX) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%u prompts of %u samples, expected at most %d sequences",
                recipe->n_prompts, recipe->n_samples,
                RA_WORKLOAD_SEQUENCES_MAX);
    return NULL;
  }
  return g_steal_pointer(&recipe);
}

RaTable *
ra_recipe_table(const RaRecipe *recipe, const RaSettings *settings)
{
  static const char *const columns[] = {"what", "where", "key", "value",
                                        "taken"};
  RaTable *table = ra_table_new("import");

  for (guint i = 0; i < G_N_ELEMENTS(columns); i++)
    ra_table_column(table, columns[i], RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < ra_settings_n(settings); i++) {
    const RaSetting *s = ra_settings_at(settings, i);

    if (s->state != RA_SETTING_UNREAD && s->state != RA_SETTING_ABOUT)
      continue;
    ra_table_row(table);
    ra_table_text(table, s->state == RA_SETTING_ABOUT ? "approximated"
                                                      : "not understood");
    ra_table_text(table, s->place);
    ra_table_text(table, s->key);
    ra_table_text(table, s->value);
    ra_table_text(table, s->note ? s->note : "nothing");
  }
  for (guint i = 0; i < recipe->notes->len; i++) {
    ra_table_row(table);
    ra_table_text(table, "assumed");
    for (guint k = 0; k < 3; k++)
      ra_table_missing(table);
    ra_table_text(table, recipe->notes->pdata[i]);
  }
  return table;
}

/* ---- Models ---------------------------------------------------------- */

/* Shapes that are published under several names, longer names first where one
 * begins another.  What Llama 3.1 changed of 3, and Qwen 2.5 of 2, is no
 * shape. */
static const struct {
  const char *prefix, *config; /* letters and digits of the name */
} shapes[] = {
    /* clang-format off */
    {"metallama38b", "llama-3-8b.json"},   {"llama38b", "llama-3-8b.json"},
    {"metallama318b", "llama-3-8b.json"},  {"llama318b", "llama-3-8b.json"},
    {"metallama370b", "llama-3-70b.json"}, {"llama370b", "llama-3-70b.json"},
    {"llama3170b", "llama-3-70b.json"},    {"llama3370b", "llama-3-70b.json"},
    {"llama31405b", "llama-3.1-405b.json"},
    {"llama321b", "llama-3.2-1b.json"},
    {"llama27b", "llama-2-7b.json"},       {"llama213b", "llama-2-13b.json"},
    {"llama270b", "llama-2-70b.json"},     {"vicuna7b", "llama-7b.json"},
    {"llama7b", "llama-7b.json"},          {"llama13b", "llama-13b.json"},
    {"llama33b", "llama-33b.json"},        {"llama65b", "llama-65b.json"},
    {"codellama34b", "codellama-34b.json"},
    {"qwen215b", "qwen2.5-1.5b.json"},     {"qwen2515b", "qwen2.5-1.5b.json"},
    {"qwen27b", "qwen2.5-7b.json"},        {"qwen257b", "qwen2.5-7b.json"},
    {"qwen25math7b", "qwen2.5-7b.json"},   {"qwen2532b", "qwen2.5-32b.json"},
    {"qwen272b", "qwen2.5-72b.json"},      {"qwen2572b", "qwen2.5-72b.json"},
    {"qwen38b", "qwen3-8b.json"},          {"qwen332b", "qwen3-32b.json"},
    {"qwen330ba3b", "qwen3-30b-a3b.json"},
    {"qwen3235ba22b", "qwen3-235b-a22b.json"},
    {"deepseekr1distillqwen7b", "qwen2.5-7b.json"},
    {"deepseekr1distillqwen32b", "qwen2.5-32b.json"},
    {"deepseekr1distillllama8b", "llama-3-8b.json"},
    {"deepseekr1distillllama70b", "llama-3-70b.json"},
    {"deepseekv3", "deepseek-v3-shape.json"},
    {"mistral7b", "mistral-7b.json"},      {"mixtral8x7b", "mixtral-8x7b.json"},
    {"gpt2xl", "gpt2-xl.json"},            {"gpt2", "gpt2.json"},
    {"bloom176b", "bloom-176b.json"},      {"mpt7b", "mpt-7b.json"},
    {"tinyllamatest", "tiny-llama.json"},
    /* clang-format on */
};

char *
ra_recipe_config(const char *name)
{
  const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
  g_autoptr(GString) plain = g_string_new(NULL);

  if (g_str_has_suffix(name, ".json"))
    return g_strdup(base);
  for (const char *p = base; *p; p++) {
    if (g_ascii_isalnum(*p))
      g_string_append_c(plain, g_ascii_tolower(*p));
  }
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    if (g_str_has_prefix(plain->str, shapes[i].prefix))
      return g_strdup(shapes[i].config);
  }
  return NULL;
}
