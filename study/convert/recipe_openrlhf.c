/* Configurations of OpenRLHF: flags of openrlhf.cli.train_ppo_ray.
 *
 * What a missing flag means is what openrlhf/cli/train_ppo_ray.py has at
 * revision 914d18fa (2025-05); vLLM's own 256 sequences where it is not said.
 * Groups of GPUs that are not shared are put one after the other, the largest
 * first, as Ray packs them. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/recipe_impl.h"

#define NODE_GPUS 8 /* of the nodes that its examples are for */

static const char *const idle[] = {
    "*learning_rate",
    "*_path",
    "*_key",
    "*_data*",
    "address",
    "runtime-env-json",
    "no-wait",
    "working-dir",
    "bf16",
    "flash_attn",
    "attn_implementation",
    "max_samples",
    "normalize_reward",
    "actor_init_on_gpu",
    "save_*",
    "logging_steps",
    "eval_*",
    "use_wandb*",
    "wandb_*",
    "use_tensorboard",
    "apply_chat_template",
    "input_template",
    "kl_*",
    "use_kl_*",
    "*_clip*",
    "gamma",
    "lambd",
    "seed",
    "num_episodes",
    "vllm_sync_backend",
    "vllm_sync_with_ray",
    "l2",
    "max_norm",
    "lr_*",
    "lora_alpha",
    "lora_dropout",
    "target_modules", /* without a rank */
    "adam_betas",
    "top_p",
    "temperature",
    "load_checkpoint",
    "disable_ds_ckpt",
    "max_ckpt_*",
    "reward_clip_range",
    "no_advantage_std_norm",
    "entropy_loss_coef",
};

/* Groups of GPUs. */
enum { ACTOR, REF, CRITIC, REWARD, VLLM, N_GROUPS };

typedef struct {
  gboolean is_there;
  uint32_t n_gpus, first;
  int shares; /* the group whose GPUs it has; -1: its own */
} Group;

static gboolean
read_groups(RaSettings *s, Group *groups, GError **error)
{
  static const char *const names[] = {"actor", "ref", "critic", "reward"};

  for (guint g = 0; g < VLLM; g++) {
    g_autofree char *nodes = g_strconcat(names[g], "_num_nodes", NULL);
    g_autofree char *gpus = g_strconcat(names[g], "_num_gpus_per_node", NULL);
    uint32_t n, m;

    if (!ra_settings_uint32(s, nodes, 1, 1, 4096, &n, error) ||
        !ra_settings_uint32(s, gpus, 8, 1, 72, &m, error))
      return FALSE;
    groups[g].n_gpus = n * m;
  }
  return TRUE;
}

/* Which groups have GPUs of their own. */
static gboolean
read_sharing(const RaRecipe *recipe, RaSettings *s, Group *groups,
             GError **error)
{
  gboolean all, actor_ref, critic_reward;

  if (!ra_settings_bool(s, "colocate_all_models", FALSE, &all, error) ||
      !ra_settings_bool(s, "colocate_actor_ref", FALSE, &actor_ref, error) ||
      !ra_settings_bool(s, "colocate_critic_reward", FALSE, &critic_reward,
                        error))
    return FALSE;
  for (guint g = 0; g < N_GROUPS; g++)
    groups[g].shares = -1;
  if (all) {
    groups[REF].shares = groups[CRITIC].shares = groups[REWARD].shares = ACTOR;
    if (recipe->staleness == 0) /* an engine that runs ahead has its own */
      groups[VLLM].shares = ACTOR;
  }
  if (actor_ref)
    groups[REF].shares = ACTOR;
  if (critic_reward && !all && groups[CRITIC].is_there)
    groups[REWARD].shares = CRITIC;
  return TRUE;
}

/* Puts the groups one after the other, none across a node's end that need not
 * be; fills the recipe's nodes. */
static void
place(RaRecipe *recipe, Group *groups)
{
  gboolean placed[N_GROUPS] = {FALSE};
  uint32_t next = 0;

  for (guint n = 0; n < N_GROUPS; n++) {
    int best = -1;

    for (guint g = 0; g < N_GROUPS; g++) {
      if (groups[g].is_there && groups[g].shares < 0 && !placed[g] &&
          (best < 0 || groups[g].n_gpus > groups[best].n_gpus))
        best = (int)g;
    }
    if (best < 0)
      break;
    placed[best] = TRUE;
    if (next % NODE_GPUS + groups[best].n_gpus > NODE_GPUS)
      next = (next + NODE_GPUS - 1) / NODE_GPUS * NODE_GPUS;
    groups[best].first = next;
    next += groups[best].n_gpus;
  }
  for (guint g = 0; g < N_GROUPS; g++) {
    if (groups[g].shares >= 0)
      groups[g].first = groups[groups[g].shares].first;
  }
  recipe->n_node_gpus = NODE_GPUS;
  recipe->n_nodes = (next + NODE_GPUS - 1) / NODE_GPUS;
}

/* A call of DeepSpeed on @group. */
static gboolean
read_call(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind,
          const Group *group, GError **error)
{
  RaRecipeCall *call = &recipe->calls[kind];
  gboolean is_train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;

  call->is_there = TRUE;
  call->first_gpu = group->first;
  call->n_gpus = group->n_gpus;
  if (!ra_settings_uint32(s, "zero_stage", 2, 0, 3, &call->zero, error) ||
      !ra_recipe_count(s, "ds_tensor_parallel_size", 1, &call->tp, error) ||
      !ra_recipe_count(s, "ring_attn_size", 1, &call->cp, error) ||
      !ra_recipe_count(
          s, is_train ? "micro_train_batch_size" : "micro_rollout_batch_size",
          is_train ? 4 : 8, &call->micro_batch, error))
    return FALSE;
  if (!is_train)
    return kind == RA_RECIPE_ACTOR_INFERENCE ||
           kind == RA_RECIPE_CRITIC_INFERENCE ||
           ra_settings_bool(s, "ref_reward_offload", FALSE, &call->host, error);
  return ra_settings_bool(s, "gradient_checkpointing", FALSE,
                          &call->full_recompute, error) &&
         ra_settings_bool(s, "overlap_comm", FALSE, &call->overlap, error) &&
         ra_settings_bool(s, "adam_offload", FALSE, &call->optimizer_host,
                          error);
}

static gboolean
read_engines(RaRecipe *recipe, RaSettings *s, Group *groups, GError **error)
{
  RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  uint32_t n_engines;
  gboolean eager;

  if (!ra_settings_uint32(s, "vllm_num_engines", 0, 0, 65536, &n_engines,
                          error))
    return FALSE;
  if (n_engines == 0)
    return ra_settings_fail(s, "vllm_num_engines", error, "at least 1");
  if (!ra_recipe_count(s, "vllm_tensor_parallel_size", 1, &call->tp, error) ||
      !ra_settings_double(s, "vllm_gpu_memory_utilization", 0.95, 0.01, 1.0,
                          &call->memory_frac, error) ||
      !ra_settings_bool(s, "enforce_eager", FALSE, &eager, error))
    return FALSE;
  call->is_there = groups[VLLM].is_there = TRUE;
  call->n_gpus = groups[VLLM].n_gpus = n_engines * call->tp;
  call->graph = !eager;
  call->max_sequences = 256;
  return TRUE;
}

/* Batches, lengths, models. */
static gboolean
read_common(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t batch, n;
  gboolean async;

  if (!ra_recipe_count(s, "rollout_batch_size", 1024, &recipe->n_prompts,
                       error) ||
      !ra_recipe_count(s, "n_samples_per_prompt", 1, &recipe->n_samples,
                       error) ||
      !ra_recipe_count(s, "train_batch_size", 128, &batch, error) ||
      !ra_recipe_count(s, "max_epochs", 1, &recipe->n_epochs, error) ||
      !ra_recipe_count(s, "prompt_max_len", 1024, &recipe->max_prompt, error) ||
      !ra_recipe_count(s, "generate_max_len", 1024, &recipe->max_response,
                       error) ||
      !ra_settings_bool(s, "async_train", FALSE, &async, error) ||
      !ra_settings_uint32(s, "async_queue_size", 1, 1, 1000, &recipe->staleness,
                          error))
    return FALSE;
  if (!async)
    recipe->staleness = 0;
  n = recipe->n_prompts * recipe->n_samples;
  if (batch > n || n % batch != 0)
    return ra_settings_fail(s, "train_batch_size", error,
                            "a divisor of the sequences of a rollout");
  recipe->n_mini_batches = n / batch;
  ra_recipe_text(s, "pretrain", NULL, &recipe->model[RA_RECIPE_ACTOR]);
  ra_recipe_text(s, "pretrain", NULL, &recipe->model[RA_RECIPE_REF]);
  ra_recipe_text(s, "reward_pretrain", NULL, &recipe->model[RA_RECIPE_REWARD]);
  ra_recipe_text(s, "critic_pretrain", NULL, &recipe->model[RA_RECIPE_CRITIC]);
  if (!recipe->model[RA_RECIPE_CRITIC])
    recipe->model[RA_RECIPE_CRITIC] = g_strdup(
        recipe->model[RA_RECIPE_REWARD] ? recipe->model[RA_RECIPE_REWARD]
                                        : recipe->model[RA_RECIPE_ACTOR]);
  /* One rank for actor and critic; the reference is a model of its own. */
  if (!ra_recipe_lora(recipe, s, RA_RECIPE_ACTOR, "lora_rank", "target_modules",
                      error) ||
      !ra_recipe_lora(recipe, s, RA_RECIPE_CRITIC, "lora_rank",
                      "target_modules", error))
    return FALSE;
  recipe->lora_merged = TRUE;
  if (recipe->lora[RA_RECIPE_ACTOR].rank > 0)
    ra_settings_about(s, "lora_rank", "engines are sent merged weights");
  return TRUE;
}

/* Calls of the algorithm, by the models that are present. */
static gboolean
read_roles(RaRecipe *recipe, RaSettings *s, Group *groups, GError **error)
{
  double kl;

  ra_recipe_text(s, "advantage_estimator", "gae", &recipe->algorithm);
  groups[ACTOR].is_there = TRUE;
  groups[CRITIC].is_there = g_str_equal(recipe->algorithm, "gae");
  if (groups[CRITIC].is_there) {
    g_free(recipe->algorithm);
    recipe->algorithm = g_strdup("ppo");
  }
  groups[REWARD].is_there = recipe->model[RA_RECIPE_REWARD] != NULL &&
                            !ra_settings_get(s, "remote_rm_url") &&
                            !ra_settings_get(s, "agent_func_path");
  if (!ra_settings_double(s, "init_kl_coef", 0.01, 0.0, 1e9, &kl, error))
    return FALSE;
  groups[REF].is_there = kl > 0;
  return TRUE;
}

static gboolean
read_calls(RaRecipe *recipe, RaSettings *s, const Group *groups, GError **error)
{
  static const struct {
    RaRecipeKind kind;
    guint group;
  } calls[] = {
      {RA_RECIPE_ACTOR_INFERENCE, ACTOR},
      {RA_RECIPE_ACTOR_TRAIN, ACTOR},
      {RA_RECIPE_REF_INFERENCE, REF},
      {RA_RECIPE_REWARD_INFERENCE, REWARD},
      {RA_RECIPE_CRITIC_INFERENCE, CRITIC},
      {RA_RECIPE_CRITIC_TRAIN, CRITIC},
  };

  recipe->calls[RA_RECIPE_GENERATE].first_gpu = groups[VLLM].first;
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    const Group *group = &groups[calls[i].group];
    Group placed = *group;

    if (!group->is_there)
      continue;
    if (group->shares >= 0)
      placed.n_gpus = groups[group->shares].n_gpus;
    if (!read_call(recipe, s, calls[i].kind, &placed, error))
      return FALSE;
  }
  return TRUE;
}

/* Engines and trainers that take turns on the same GPUs. */
static gboolean
read_sleep(RaRecipe *recipe, RaSettings *s, GError **error)
{
  gboolean sleep;

  if (!ra_settings_bool(s, "deepspeed_enable_sleep", FALSE, &sleep, error))
    return FALSE;
  if (sleep) {
    recipe->calls[RA_RECIPE_ACTOR_TRAIN].optimizer_host = TRUE;
    recipe->calls[RA_RECIPE_CRITIC_TRAIN].optimizer_host = TRUE;
    ra_settings_about(s, "deepspeed_enable_sleep",
                      "the optimizer state is kept in host memory");
  }
  ra_settings_ignore(s, "vllm_enable_sleep"); /* memory is given back here */
  return TRUE;
}

static gboolean
read_openrlhf(RaRecipe *recipe, RaSettings *s, GError **error)
{
  Group groups[N_GROUPS] = {{FALSE, 0, 0, -1}};

  if (!read_common(recipe, s, error) || !read_roles(recipe, s, groups, error) ||
      !read_groups(s, groups, error) ||
      !read_engines(recipe, s, groups, error) ||
      !read_sharing(recipe, s, groups, error))
    return FALSE;
  place(recipe, groups);
  if (!read_calls(recipe, s, groups, error) || !read_sleep(recipe, s, error))
    return FALSE;
  ra_settings_get(s, "packing_samples");
  ra_settings_about(s, "packing_samples",
                    "as always here: no micro-batch has padding");
  for (guint i = 0; i < G_N_ELEMENTS(idle); i++)
    ra_settings_ignore(s, idle[i]);
  return TRUE;
}

const RaRecipeReader ra_recipe_reader_openrlhf = {
    .name = "openrlhf",
    .prefixes = {"vllm_num_", "actor_num_"},
    .entries = {"openrlhf.", "train_ppo_ray"},
    .read = read_openrlhf,
};
