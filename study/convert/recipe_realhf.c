/* Configurations of ReaLHF: overrides of realhf.apps.quickstart ppo.
 *
 * What a missing key means is what realhf/api/quickstart and
 * realhf/experiments have at revision 21977c47 (2024-10). */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/convert/model_name.h"
#include "study/convert/recipe_impl.h"

static const char *const idle[] = {
    "mode",
    "experiment_name",
    "trial_name",
    "exp_ctrl.*",
    "dataset.path",
    "*.optimizer.lr*",
    "*.warmup_*",
    "*.is_critic",
    "*.init_critic_from_actor",
    "ppo.kl_ctl",
    "ppo.*clip*",
    "ppo.*scaling",
    "ppo.*norm",
    "*.top_p",
    "*.top_k",
    "*.min_new_tokens",
    "total_train_epochs",
    "save_freq_steps",
    "nodelist",
    "*.force_no_logits_mask",
    "ppo.*_eps*",
    "seed",
    "*.temperature",
    "*.optimizer.*",
};

/* Names in ReaL. */
static const struct {
  RaRecipeKind kind;
  const char *name;
} calls[] = {
    {RA_RECIPE_GENERATE, "actor_gen"},
    {RA_RECIPE_REF_INFERENCE, "ref_inf"},
    {RA_RECIPE_REWARD_INFERENCE, "rew_inf"},
    {RA_RECIPE_CRITIC_INFERENCE, "critic_inf"},
    {RA_RECIPE_ACTOR_TRAIN, "actor_train"},
    {RA_RECIPE_CRITIC_TRAIN, "critic_train"},
};

/* `llama-7b` of a class and a size, else the path. */
static void
read_model(RaRecipe *recipe, RaSettings *s, RaRecipeModel model,
           const char *name)
{
  g_autofree char *class_key = g_strconcat(name, ".type._class", NULL);
  g_autofree char *size_key = g_strconcat(name, ".type.size", NULL);
  g_autofree char *path_key = g_strconcat(name, ".path", NULL);
  const char *family = ra_settings_get(s, class_key);
  const char *size = ra_settings_get(s, size_key);
  const char *path = ra_settings_get(s, path_key);
  g_autofree char *by_path =
      path ? ra_model_name_config(path, NULL, NULL, NULL) : NULL;

  if (family && size && !g_str_equal(size, "0"))
    recipe->model[model] = g_strdup_printf("%s-%sb", family, size);
  else if (by_path)
    recipe->model[model] = g_strdup(path);
  else
    recipe->model[model] = g_strdup(family ? family : path);
}

/* `NODE01:0,1,2,3` or `NODE01,NODE02`: GPUs in a row. */
static gboolean
read_mesh(RaRecipe *recipe, RaSettings *s, const char *key, RaRecipeCall *call,
          GError **error)
{
  static const char expected[] =
      "GPUs in a row, as NODE01:0,1,2,3 or NODE01,NODE02";
  const char *text = ra_settings_get(s, key);
  const char *colon = text ? strchr(text, ':') : NULL;
  g_auto(GStrv) items = NULL;
  uint64_t node, gpu, next = 0;
  guint n = 0;

  if (!text || !g_str_has_prefix(text, "NODE"))
    return ra_settings_fail(s, key, error, expected);
  items = g_strsplit(colon ? colon + 1 : text, ",", -1);
  for (; items[n]; n++) {
    const char *digits =
        colon ? items[n] : items[n] + strcspn(items[n], "0123456789");

    if (!ra_text_uint64(digits, &gpu) || (n > 0 && gpu != next) || gpu > 65536)
      return ra_settings_fail(s, key, error, expected);
    if (n == 0)
      call->first_gpu = (uint32_t)gpu;
    next = gpu + 1;
  }
  if (!colon) {
    if (call->first_gpu == 0)
      return ra_settings_fail(s, key, error, expected);
    call->first_gpu = (call->first_gpu - 1) * recipe->n_node_gpus;
    call->n_gpus = n * recipe->n_node_gpus;
    return TRUE;
  }
  node = g_ascii_strtoull(text + strlen("NODE"), NULL, 10);
  if (node == 0 || node > recipe->n_nodes)
    return ra_settings_fail(s, key, error, expected);
  call->first_gpu += (uint32_t)(node - 1) * recipe->n_node_gpus;
  call->n_gpus = n;
  return TRUE;
}

static gboolean
read_manual(RaRecipe *recipe, RaSettings *s, const char *name,
            RaRecipeCall *call, GError **error)
{
  g_autofree char *mesh = g_strconcat(name, ".device_mesh", NULL);
  g_autofree char *dp = g_strconcat(name, ".parallel.data_parallel_size", NULL);
  g_autofree char *tp =
      g_strconcat(name, ".parallel.model_parallel_size", NULL);
  g_autofree char *pp =
      g_strconcat(name, ".parallel.pipeline_parallel_size", NULL);
  g_autofree char *sp =
      g_strconcat(name, ".parallel.use_sequence_parallel", NULL);

  return read_mesh(recipe, s, mesh, call, error) &&
         ra_recipe_count(s, dp, 1, &call->dp, error) &&
         ra_recipe_count(s, tp, 1, &call->tp, error) &&
         ra_recipe_count(s, pp, 1, &call->pp, error) &&
         ra_settings_bool(s, sp, FALSE, &call->sequence_parallel, error);
}

/* `m2d2p2`, letters in any order: every call on all GPUs. */
static gboolean
read_symmetric(const RaRecipe *recipe, const char *mode, RaRecipeCall *call)
{
  uint32_t *degree;

  call->n_gpus = recipe->n_nodes * recipe->n_node_gpus;
  for (const char *p = mode; *p;) {
    char *end;
    guint64 value;

    degree = *p == 'm'   ? &call->tp
             : *p == 'd' ? &call->dp
             : *p == 'p' ? &call->pp
                         : NULL;
    value = g_ascii_strtoull(p + 1, &end, 10);
    if (!degree || end == p + 1 || value < 1 || value > 65536)
      return FALSE;
    *degree = (uint32_t)value;
    p = end;
  }
  return TRUE;
}

static gboolean
read_call(RaRecipe *recipe, RaSettings *s, guint index, GError **error)
{
  RaRecipeCall *call = &recipe->calls[calls[index].kind];
  const char *name = calls[index].name;
  const char *mode = ra_settings_get(s, "allocation_mode");
  g_autofree char *n_mbs = g_strconcat(name, ".n_mbs", NULL);
  g_autofree char *host = g_strconcat(name, ".offload", NULL);

  call->is_there = TRUE;
  if (!mode || g_str_equal(mode, "manual")) {
    if (!read_manual(recipe, s, name, call, error))
      return FALSE;
  } else if (g_str_equal(mode, "heuristic") || g_str_equal(mode, "search")) {
    call->n_gpus = recipe->n_nodes * recipe->n_node_gpus;
    call->tp = recipe->n_node_gpus;
    call->dp = recipe->n_nodes;
    ra_settings_about(s, "allocation_mode",
                      "tp over a node, dp over nodes: ReaL finds its plan when "
                      "it runs; so does 'reallot search'");
  } else if (!read_symmetric(recipe, mode, call)) {
    return ra_settings_fail(s, "allocation_mode", error,
                            "manual, heuristic, search or degrees as d2m2p2");
  }
  return ra_settings_uint32(s, n_mbs, 0, 0, RA_RECIPE_COUNT_MAX,
                            &call->n_micro_batches, error) &&
         ra_settings_bool(s, host, FALSE, &call->host, error);
}

static gboolean
read_train(RaSettings *s, const char *model, RaRecipeCall *call, GError **error)
{
  g_autofree char *checkpoint =
      g_strconcat(model, ".gradient_checkpointing", NULL);
  g_autofree char *host = g_strconcat(model, ".optimizer.offload", NULL);

  call->zero = 1; /* the distributed optimizer of its Megatron back end */
  call->overlap = TRUE;
  return ra_settings_bool(s, checkpoint, TRUE, &call->full_recompute, error) &&
         ra_settings_bool(s, host, FALSE, &call->optimizer_host, error);
}

/* A key of generation, which older revisions have one level up. */
static gboolean
read_new_tokens(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t older;

  return ra_recipe_count(s, "ppo.max_new_tokens", 256, &older, error) &&
         ra_recipe_count(s, "ppo.gen.max_new_tokens", older,
                         &recipe->max_response, error);
}

static gboolean
read_realhf(RaRecipe *recipe, RaSettings *s, GError **error)
{
  gboolean with_critic = ra_settings_has(s, "critic.");
  static const char *const models[] = {"actor", "critic", "ref", "rew"};

  recipe->algorithm = g_strdup(with_critic ? "ppo" : "grpo");
  for (guint m = 0; m < G_N_ELEMENTS(models); m++)
    read_model(recipe, s, m, models[m]);
  if (!ra_recipe_count(s, "n_nodes", 1, &recipe->n_nodes, error) ||
      !ra_recipe_count(s, "n_gpus_per_node", 8, &recipe->n_node_gpus, error) ||
      !ra_recipe_count(s, "dataset.train_bs_n_seqs", 256, &recipe->n_prompts,
                       error) ||
      !ra_recipe_count(s, "group_size", 1, &recipe->n_samples, error) ||
      !ra_recipe_count(s, "dataset.max_prompt_len", 256, &recipe->max_prompt,
                       error) ||
      !ra_recipe_count(s, "ppo.ppo_n_minibatches", 4, &recipe->n_mini_batches,
                       error) ||
      !read_new_tokens(recipe, s, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    gboolean of_critic = ra_recipe_model_of(calls[i].kind) == RA_RECIPE_CRITIC;

    if ((with_critic || !of_critic) && !read_call(recipe, s, i, error))
      return FALSE;
  }
  if (!ra_settings_bool(s, "ppo.gen.use_cuda_graph", FALSE,
                        &recipe->calls[RA_RECIPE_GENERATE].graph, error) ||
      !read_train(s, "actor", &recipe->calls[RA_RECIPE_ACTOR_TRAIN], error) ||
      !read_train(s, "critic", &recipe->calls[RA_RECIPE_CRITIC_TRAIN], error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(idle); i++)
    ra_settings_ignore(s, idle[i]);
  return TRUE;
}

const RaRecipeReader ra_recipe_reader_realhf = {
    .name = "realhf",
    .prefixes = {"ppo.gen.", "actor.type."},
    .entries = {"realhf."},
    .read = read_realhf,
};
