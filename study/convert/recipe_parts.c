/* Parts that several readers share: copies of calls, lengths without a limit,
 * the keys of Megatron. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/recipe_impl.h"

const char *
ra_recipe_at(const char *prefix, const char *key)
{
  static _Thread_local char buffers[16][192];
  static _Thread_local guint next;
  char *out = buffers[next++ % G_N_ELEMENTS(buffers)];

  g_snprintf(out, sizeof buffers[0], "%s%s", prefix, key);
  return out;
}

void
ra_recipe_lengths(RaRecipe *recipe, uint32_t prompt, uint32_t response)
{
  if (recipe->max_prompt == 0)
    ra_recipe_note(recipe,
                   "prompts: at most %u tokens, as the configuration has no "
                   "limit; --prompt-length changes it",
                   recipe->max_prompt = prompt);
  if (recipe->max_response == 0)
    ra_recipe_note(recipe,
                   "responses: at most %u tokens, as the configuration has no "
                   "limit; --response-length changes it",
                   recipe->max_response = response);
}

void
ra_recipe_halve(RaRecipe *recipe, uint32_t length)
{
  if (length > 1) {
    recipe->max_prompt = length / 2;
    recipe->max_response = length - length / 2;
    ra_recipe_note(
        recipe,
        "lengths: prompts and responses have half of %u tokens each, "
        "as the configuration bounds their sum",
        length);
  }
  ra_recipe_lengths(recipe, 1024, 1024);
}

/* Tokens of what an environment answers: no key bounds them. */
#define TOOL_TOKENS 256

void
ra_recipe_turns(RaRecipe *recipe, uint32_t turns, uint32_t each, uint32_t room)
{
  uint32_t tokens = MIN(TOOL_TOKENS, room / (2 * MAX(1, turns)));
  uint64_t most =
      (uint64_t)turns * each + (uint64_t)(MAX(1, turns) - 1) * tokens;

  if (turns < 2)
    return;
  recipe->turns.most = turns;
  recipe->turns.tool_tokens = tokens;
  recipe->max_response = (uint32_t)MIN(most, room);
  ra_recipe_note(recipe,
                 "turns: environments answer with %u tokens; set 'tool-tokens' "
                 "of [workload]",
                 recipe->turns.tool_tokens);
}

static uint32_t
gcd(uint32_t a, uint32_t b)
{
  return b == 0 ? a : gcd(b, a % b);
}

/* TRUE if the call's GPUs are whole nodes, or an aligned slice of one. */
static gboolean
is_mesh(const RaRecipeCall *call, uint32_t each)
{
  if (call->n_gpus % each == 0)
    return call->first_gpu % each == 0;
  return call->n_gpus < each && (call->n_gpus & (call->n_gpus - 1)) == 0 &&
         call->first_gpu % call->n_gpus == 0;
}

void
ra_recipe_nodes(RaRecipe *recipe, uint32_t n_gpus)
{
  uint32_t last = 0, each, common = 0;
  gboolean fits = TRUE;

  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    const RaRecipeCall *call = &recipe->calls[k];

    if (!call->is_there)
      continue;
    last = MAX(last, call->first_gpu + call->n_gpus);
    common = gcd(call->first_gpu, gcd(call->n_gpus, common));
  }
  each = MAX(1, MIN(n_gpus, last));
  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++)
    fits &= !recipe->calls[k].is_there || is_mesh(&recipe->calls[k], each);
  if (!fits) {
    ra_recipe_note(
        recipe,
        "cluster: nodes of %u GPUs instead of %u, as a mesh is whole "
        "nodes",
        common, each);
    each = common;
  }
  recipe->n_node_gpus = each;
  recipe->n_nodes = (last + each - 1) / each;
}

void
ra_recipe_like(RaRecipe *recipe, RaRecipeKind kind, RaRecipeKind base)
{
  recipe->calls[kind] = recipe->calls[base];
  recipe->calls[kind].is_there = TRUE;
}

gboolean
ra_recipe_refuse(const RaSettings *settings, const char *what, GError **error)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: is %s, expected training by RL, SFT, DPO or of a reward "
              "model",
              ra_settings_name(settings), what);
  return FALSE;
}

gboolean
ra_recipe_sequences(const RaRecipe *recipe, uint32_t *out, GError **error)
{
  uint64_t n = (uint64_t)recipe->n_prompts * recipe->n_samples;

  *out = (uint32_t)n;
  if (n > 0 && n <= RA_WORKLOAD_SEQUENCES_MAX)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%u prompts of %u samples, expected 1 to %d sequences",
              recipe->n_prompts, recipe->n_samples, RA_WORKLOAD_SEQUENCES_MAX);
  return FALSE;
}

gboolean
ra_recipe_is_on(RaSettings *settings, const char *key)
{
  gboolean on = FALSE;

  return ra_settings_bool(settings, key, FALSE, &on, NULL) && on;
}

gboolean
ra_recipe_megatron(RaSettings *s, const char *prefix, RaRecipeCall *call,
                   GError **error)
{
  static const struct {
    const char *key;
    gsize offset;
  } rows[] = {
      {"tensor_model_parallel_size", G_STRUCT_OFFSET(RaRecipeCall, tp)},
      {"pipeline_model_parallel_size", G_STRUCT_OFFSET(RaRecipeCall, pp)},
      {"context_parallel_size", G_STRUCT_OFFSET(RaRecipeCall, cp)},
      {"expert_model_parallel_size", G_STRUCT_OFFSET(RaRecipeCall, ep)},
      {"expert_tensor_parallel_size", G_STRUCT_OFFSET(RaRecipeCall, etp)},
      {"virtual_pipeline_model_parallel_size",
       G_STRUCT_OFFSET(RaRecipeCall, n_virtual)},
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const char *key = ra_recipe_at(prefix, rows[i].key);
    uint32_t *out = G_STRUCT_MEMBER_P(call, rows[i].offset);

    if (ra_settings_get(s, key) && !ra_recipe_count(s, key, 1, out, error))
      return FALSE;
  }
  call->zero = 1;
  call->fp32_grads = TRUE;
  return TRUE;
}

/* The plan's word for a type of 16 bits, as PyTorch or Megatron names it; NULL:
 * another one. */
static const char *
half_word(const char *text)
{
  static const struct {
    const char *name, *word;
  } names[] = {{"bfloat16", "bf16"},
               {"bf16", "bf16"},
               {"float16", "fp16"},
               {"fp16", "fp16"}};

  if (text && g_str_has_prefix(text, "torch."))
    text += strlen("torch.");
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    if (g_strcmp0(text, names[i].name) == 0)
      return names[i].word;
  return NULL;
}

void
ra_recipe_moments(RaSettings *s, const char *first_key, const char *second_key,
                  RaRecipeCall *call)
{
  const char *const keys[] = {first_key, second_key};
  const char *text[2], *word[2];

  for (guint i = 0; i < 2; i++) {
    text[i] = ra_settings_get(s, keys[i]);
    word[i] = half_word(text[i]);
  }
  call->moments = g_strcmp0(word[0], word[1]) == 0 ? word[0] : NULL;
  for (guint i = 0; i < 2 && !call->moments; i++)
    if (text[i] && !strstr(text[i], "32"))
      ra_settings_about(s, keys[i], "both moments in fp32");
}

void
ra_recipe_loaded_in(RaRecipeCall *call, const char *text)
{
  call->moments = half_word(text);
  call->no_masters = call->moments != NULL;
}

gboolean
ra_recipe_optimizer(RaSettings *s, const RaRecipeOptimizer *keys,
                    RaRecipeCall *call, GError **error)
{
  gboolean cpu;
  double fraction;

  if (!ra_settings_bool(s, keys->cpu, FALSE, &cpu, error) ||
      !ra_settings_double(s, keys->fraction, keys->standard, 0, 1, &fraction,
                          error) ||
      !ra_settings_bool(s, keys->aware, FALSE, &call->remainders, error))
    return FALSE;
  call->cpu_optimizer = cpu && fraction >= 0.5;
  if (cpu && fraction <= 0)
    ra_settings_about(s, keys->cpu,
                      "nothing, as the fraction that it moves is 0");
  if (cpu && fraction > 0 && fraction < 1)
    ra_settings_about(s, keys->fraction,
                      call->cpu_optimizer ? "the whole state on the CPU"
                                          : "the whole state on the GPU");
  return TRUE;
}

/* Recipes of Megatron's --fp8-recipe (megatron/training/arguments.py).  Blocks
 * of mxfp8 are of 32 values, with scales of a byte: as many bytes. */
static const struct {
  const char *word;
  RaFp8Scaling scaling;
} fp8_recipes[] = {{"delayed", RA_FP8_DELAYED},
                   {"tensorwise", RA_FP8_TENSORWISE},
                   {"blockwise", RA_FP8_BLOCKWISE},
                   {"mxfp8", RA_FP8_BLOCKWISE}};

gboolean
ra_recipe_fp8(RaSettings *s, const RaRecipeFp8 *keys, RaRecipeCall *call,
              GError **error)
{
  const char *format = ra_settings_get(s, keys->format);
  const char *recipe = ra_settings_get(s, keys->recipe);
  guint i = 0;

  if (!format)
    format = keys->format_standard;
  if (!recipe)
    recipe = keys->recipe_standard;
  if (!ra_settings_bool(s, keys->params, FALSE, &call->fp8_params, error))
    return FALSE;
  if (!format) {
    call->fp8_params = FALSE;
    return TRUE;
  }
  if (!g_str_equal(format, "e4m3") && !g_str_equal(format, "hybrid"))
    return ra_settings_fail(s, keys->format, error, "e4m3 or hybrid");
  while (recipe && i < G_N_ELEMENTS(fp8_recipes) &&
         !g_str_equal(recipe, fp8_recipes[i].word))
    i++;
  if (i == G_N_ELEMENTS(fp8_recipes))
    return ra_settings_fail(s, keys->recipe, error,
                            "delayed, tensorwise, blockwise or mxfp8");
  if (recipe && g_str_equal(recipe, "mxfp8"))
    ra_settings_about(s, keys->recipe, "blockwise");
  if (ra_recipe_is_on(s, keys->ends) &&
      (!ra_settings_uint32(s, keys->first, 1, 0, RA_RECIPE_COUNT_MAX,
                           &call->bf16_first, error) ||
       !ra_settings_uint32(s, keys->last, 1, 0, RA_RECIPE_COUNT_MAX,
                           &call->bf16_last, error)))
    return FALSE;
  call->fp8_gemms = TRUE;
  call->fp8_scaling = fp8_recipes[i].scaling;
  return TRUE;
}
