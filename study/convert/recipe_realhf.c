/* Configurations of ReaLHF: overrides of realhf.apps.quickstart and of its
 * examples' own experiments.
 *
 * What a missing key means is what realhf/api/quickstart and
 * realhf/experiments have at revision 21977c47 (2024-10). */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "study/convert/model_name.h"
#include "study/convert/recipe_impl.h"

static const RaMeaning meanings[] = {
    /* Straight into the recipe. */
    RA_MEANS(COUNT, "n_nodes", "1", n_nodes),
    RA_MEANS(COUNT, "n_gpus_per_node", "8", n_node_gpus),
    RA_MEANS(COUNT, "dataset.train_bs_n_seqs", "256", n_prompts),
    RA_MEANS(COUNT, "dataset.max_prompt_len", "256", max_prompt),
    RA_MEANS(COUNT, "ppo.ppo_n_minibatches", "4", n_mini_batches),
    /* A key of generation was one level up before. */
    RA_MEANS(COUNT, "ppo.max_new_tokens", "256", max_response),
    RA_MEANS(COUNT, "gen.max_new_tokens", NULL, max_response),
    RA_MEANS(COUNT, "ppo.gen.max_new_tokens", NULL, max_response),
    RA_MEANS(SWITCH, "gen.use_cuda_graph", "false",
             calls[RA_RECIPE_GENERATE].graph),
    RA_MEANS(SWITCH, "ppo.gen.use_cuda_graph", NULL,
             calls[RA_RECIPE_GENERATE].graph),

    /* The functions below. */
    RA_MEANS_CODE("allocation_mode"),
    RA_MEANS_CODE("group_size"),
    RA_MEANS_CODE("dataset.max_seqlen"),
    RA_MEANS_CODE("*.device_mesh"),
    RA_MEANS_CODE("*.parallel.*"),
    RA_MEANS_CODE("*.n_mbs"),
    RA_MEANS_CODE("*.offload"),
    RA_MEANS_CODE("*.optimizer.offload"),
    RA_MEANS_CODE("*.gradient_checkpointing"),
    RA_MEANS_CODE("*.zero_stage"),
    RA_MEANS_CODE("*.backend"),
    RA_MEANS_CODE("*.type._class"),
    RA_MEANS_CODE("*.type.size"),
    RA_MEANS_CODE("*.path"),

    RA_MEANS_LOST(TIME, "*.enable_bf16", "off|true", NULL),
    RA_MEANS_LOST(TIME, "dataset.pad_to_max_length", "off", "no padding"),
    RA_MEANS_LOST(MEMORY, "*.lora*", "off", "all parameters are trained"),
    RA_MEANS_LOST(LEARNING, "dataset.max_pairs_per_prompt", "1|2",
                  "one pair of a prompt"),

    /* Keys that change none of the three. */
    RA_MEANS_NOTHING("mode"),
    RA_MEANS_NOTHING("debug"),
    RA_MEANS_NOTHING("partition"),
    RA_MEANS_NOTHING("wandb_mode"),
    RA_MEANS_NOTHING("image_name"),
    RA_MEANS_NOTHING("recover_*"),
    RA_MEANS_NOTHING("ignore_worker_error"),
    RA_MEANS_NOTHING("allocation_use_cache"),
    RA_MEANS_NOTHING("cache_clear_freq"),
    RA_MEANS_NOTHING("nodelist"),
    RA_MEANS_NOTHING("experiment_name"),
    RA_MEANS_NOTHING("trial_name"),
    RA_MEANS_NOTHING("exp_ctrl.*"),
    RA_MEANS_NOTHING("total_train_epochs"),
    RA_MEANS_NOTHING("save_freq_steps"),
    RA_MEANS_NOTHING("seed"),
    RA_MEANS_NOTHING("beta"),
    RA_MEANS_NOTHING("*reward_output_*"),
    RA_MEANS_NOTHING("discount"),
    RA_MEANS_NOTHING("adv_norm"),
    RA_MEANS_NOTHING("ref_ema_eta"),
    RA_MEANS_NOTHING("dataset.*"),
    RA_MEANS_NOTHING("*.optimizer.*"),
    RA_MEANS_NOTHING("*.enable_fp16"),
    RA_MEANS_NOTHING("*.type.is_critic"),
    RA_MEANS_NOTHING("*.init_*"),
    RA_MEANS_NOTHING("ppo.*"),
    RA_MEANS_NOTHING("gen.*"),
};
static const guint n_meanings = G_N_ELEMENTS(meanings);

/* Names in ReaL; `allocation` is that of the one call of sft and rw. */
typedef struct {
  RaRecipeKind kind;
  const char *name, *alone;
} Name;

static const Name names[] = {
    {RA_RECIPE_GENERATE, "actor_gen", "sample_gen"},
    {RA_RECIPE_REF_INFERENCE, "ref_inf", NULL},
    {RA_RECIPE_REWARD_INFERENCE, "rew_inf", "sample_rew_inf"},
    {RA_RECIPE_CRITIC_INFERENCE, "critic_inf", NULL},
    {RA_RECIPE_ACTOR_TRAIN, "actor_train", "allocation"},
    {RA_RECIPE_CRITIC_TRAIN, "critic_train", NULL},
};

/* Experiments: the word behind the program, and the calls that it makes. */
#define CALLS(...)                                                             \
  {                                                                            \
    __VA_ARGS__, RA_N_RECIPE_CALLS                                             \
  }
typedef struct {
  const char *word, *algorithm;
  RaRecipeTask task;
  RaRecipeKind calls[7];
} Experiment;

static const Experiment experiments[] = {
    {"sft", "sft", RA_RECIPE_SFT, CALLS(RA_RECIPE_ACTOR_TRAIN)},
    {"rw", "rm", RA_RECIPE_RM, CALLS(RA_RECIPE_ACTOR_TRAIN)},
    {"dpo", "dpo", RA_RECIPE_DPO,
     CALLS(RA_RECIPE_REF_INFERENCE, RA_RECIPE_ACTOR_TRAIN)},
    {"gen", NULL, RA_RECIPE_RL, CALLS(RA_RECIPE_GENERATE)},
    {"profile", NULL, RA_RECIPE_RL, CALLS(RA_RECIPE_GENERATE)},
    {"reinforce", "remax", RA_RECIPE_RL,
     CALLS(RA_RECIPE_GENERATE, RA_RECIPE_REWARD_INFERENCE,
           RA_RECIPE_ACTOR_TRAIN)},
    {"grpo", "grpo", RA_RECIPE_RL,
     CALLS(RA_RECIPE_GENERATE, RA_RECIPE_REF_INFERENCE,
           RA_RECIPE_REWARD_INFERENCE, RA_RECIPE_ACTOR_TRAIN)},
    /* Any other is a variant of it. */
    {"ppo", "ppo", RA_RECIPE_RL,
     CALLS(RA_RECIPE_GENERATE, RA_RECIPE_REF_INFERENCE,
           RA_RECIPE_REWARD_INFERENCE, RA_RECIPE_CRITIC_INFERENCE,
           RA_RECIPE_ACTOR_TRAIN, RA_RECIPE_CRITIC_TRAIN)},
};

static const Experiment *
find_experiment(const RaSettings *s, GError **error)
{
  g_auto(GStrv) words = g_strsplit(ra_settings_entry(s), " ", -1);
  const Experiment *found = &experiments[G_N_ELEMENTS(experiments) - 1];
  g_autofree char *what = NULL;
  gboolean is_next = FALSE;

  for (guint w = 0; words[w]; w++) {
    for (guint i = 0; is_next && i < G_N_ELEMENTS(experiments); i++) {
      if (g_str_equal(words[w], experiments[i].word))
        found = &experiments[i];
    }
    is_next = g_str_has_suffix(words[w], "realhf.apps.quickstart") ||
              g_str_has_suffix(words[w], ".py");
  }
  if (found->algorithm)
    return found;
  what = g_strdup_printf("the experiment '%s'", found->word);
  ra_recipe_refuse(s, what, error);
  return NULL;
}

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
    recipe->model[model] = g_strdup(path ? path : family);
}

/* (transfer full): @text (nullable) without hydra's quotes. */
static char *
unquoted(const char *text)
{
  gsize n = text ? strlen(text) : 0;

  return n > 1 && (*text == '\'' || *text == '"') && text[n - 1] == *text
             ? g_strndup(text + 1, n - 2)
             : g_strdup(text ? text : "");
}

/* `NODE01:0,1,2,3` or `NODE01,NODE02`: GPUs in a row. */
static gboolean
read_mesh(RaRecipe *recipe, RaSettings *s, const char *key, RaRecipeCall *call,
          GError **error)
{
  static const char expected[] =
      "GPUs in a row, as NODE01:0,1,2,3 or NODE01,NODE02";
  g_autofree char *text = unquoted(ra_settings_get(s, key));
  const char *colon = strchr(text, ':');
  g_auto(GStrv) items = NULL;
  uint64_t node, gpu, next = 0;
  guint n = 0;

  if (!*text) { /* without one, all GPUs */
    call->n_gpus = recipe->n_nodes * recipe->n_node_gpus;
    return TRUE;
  }
  if (!g_str_has_prefix(text, "NODE"))
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

/* Identical for every call: pipelines of data or tensor parallelism, which are
 * alone below 8 GPUs (realhf/experiments/common/common.py). */
static void
read_pipe(const RaRecipe *recipe, gboolean data, RaRecipeCall *call)
{
  uint32_t all = recipe->n_nodes * recipe->n_node_gpus;
  uint32_t inside = all < 8 ? all : recipe->n_node_gpus;

  call->n_gpus = all;
  call->pp = MAX(1, all / inside);
  call->tp = data ? 1 : inside;
  call->dp = data ? inside : 1;
}

/* The mode, `pipe_model` if it is not set. */
static gboolean
read_mode(RaRecipe *recipe, RaSettings *s, const char *name, RaRecipeCall *call,
          GError **error)
{
  const char *set = ra_settings_get(s, "allocation_mode");
  const char *mode = set ? set : "pipe_model";
  g_autofree char *own = g_strconcat(name, ".", NULL);

  if (g_str_equal(mode, "manual") || (!set && ra_settings_has(s, own)))
    return read_manual(recipe, s, name, call, error);
  if (g_str_equal(mode, "heuristic") || g_str_equal(mode, "search")) {
    call->n_gpus = recipe->n_nodes * recipe->n_node_gpus;
    call->tp = recipe->n_node_gpus;
    call->dp = recipe->n_nodes;
    ra_settings_about(s, "allocation_mode",
                      "tp over a node, dp over nodes: ReaL finds its plan when "
                      "it runs; so does 'reallot search'");
    return TRUE;
  }
  if (g_str_has_prefix(mode, "pipe_")) {
    read_pipe(recipe, g_str_equal(mode, "pipe_data"), call);
    return TRUE;
  }
  return read_symmetric(recipe, mode, call) ||
         ra_settings_fail(s, "allocation_mode", error,
                          "manual, heuristic, search, pipe_data, pipe_model or "
                          "degrees as d2m2p2");
}

static gboolean
read_call(RaRecipe *recipe, RaSettings *s, const Name *names_of, GError **error)
{
  RaRecipeCall *call = &recipe->calls[names_of->kind];
  g_autofree char *other =
      names_of->alone ? g_strconcat(names_of->alone, ".", NULL) : NULL;
  const char *name =
      other && ra_settings_has(s, other) ? names_of->alone : names_of->name;
  g_autofree char *n_mbs = g_strconcat(name, ".n_mbs", NULL);
  g_autofree char *host = g_strconcat(name, ".offload", NULL);

  call->is_there = TRUE;
  return read_mode(recipe, s, name, call, error) &&
         ra_settings_uint32(s, n_mbs, 0, 0, RA_RECIPE_COUNT_MAX,
                            &call->n_micro_batches, error) &&
         ra_settings_bool(s, host, FALSE, &call->host, error);
}

/* @model: "actor", "critic"; sft's and rw's is "model". */
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

/* Given responses; comparisons are pairs of them. */
static gboolean
read_supervised(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t total;

  if (!ra_recipe_count(s, "dataset.max_seqlen", 1024, &total, error))
    return FALSE;
  ra_recipe_split(recipe, total, total, total);
  recipe->n_mini_batches = 1;
  recipe->n_samples = recipe->task == RA_RECIPE_SFT ? 1 : 2;
  return TRUE;
}

static gboolean
read_realhf(RaRecipe *recipe, RaSettings *s, GError **error)
{
  static const char *const models[] = {"actor", "critic", "ref", "rew"};
  const char *trained = ra_settings_has(s, "model.") ? "model" : models[0];
  const Experiment *experiment = find_experiment(s, error);
  gboolean is_grpo, is_rl;

  if (!experiment)
    return FALSE;
  recipe->task = experiment->task;
  recipe->algorithm = g_strdup(experiment->algorithm);
  is_rl = recipe->task == RA_RECIPE_RL;
  is_grpo = g_str_equal(recipe->algorithm, "grpo");
  recipe->is_greedy_too = g_str_equal(recipe->algorithm, "remax");
  if (recipe->is_greedy_too)
    recipe->n_mini_batches = 1; /* reinforce_exp.py has one step */
  for (guint m = 0; m < G_N_ELEMENTS(models); m++)
    read_model(recipe, s, m, m == 0 ? trained : models[m]);
  if (!ra_recipe_count(s, "group_size", is_grpo ? 4 : 1, &recipe->n_samples,
                       error) ||
      (!is_rl && !read_supervised(recipe, s, error)))
    return FALSE;
  for (const RaRecipeKind *k = experiment->calls; *k < RA_N_RECIPE_CALLS; k++) {
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
      if (names[i].kind == *k && !read_call(recipe, s, &names[i], error))
        return FALSE;
    }
  }
  ra_settings_about(s, "greedy_gen.device_mesh", "where sample_gen is");
  return read_train(s, trained, &recipe->calls[RA_RECIPE_ACTOR_TRAIN], error) &&
         read_train(s, "critic", &recipe->calls[RA_RECIPE_CRITIC_TRAIN], error);
}

const RaRecipeReader ra_recipe_reader_realhf = {
    .name = "realhf",
    .prefixes = {"ppo.gen.", "actor.type.", "model.type."},
    .entries = {"realhf."},
    .meanings = meanings,
    .n_meanings = &n_meanings,
    .read = read_realhf,
};
