/* Configurations of verl: hydra overrides of verl.trainer.main_ppo, or YAML.
 *
 * What a missing key means is what verl/trainer/config has at revision
 * 035682ed (2025-10; rollout/rollout.yaml) and, for keys of actor, critic and
 * data, in ppo_trainer.yaml of 1acd1081.  Sizes of micro-batches `_per_gpu` are
 * sequences of a replica (verl/workers/fsdp_workers.py divides mini-batches by
 * GPUs over Ulysses ranks, and takes those as they are); the older keys without
 * it count all replicas. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/recipe_impl.h"

#define ACTOR "actor_rollout_ref.actor."
#define ROLLOUT "actor_rollout_ref.rollout."
#define REF "actor_rollout_ref.ref."

/* Keys that change neither seconds nor bytes, or name what we do not read. */
static const char *const idle[] = {
    "data.*_files",
    "data.*_key",
    "data.val_*",
    "data.shuffle",
    "data.seed",
    "data.truncation",
    "data.filter_overlong_prompts*",
    "data.return_raw_*",
    "data.trust_remote_code",
    "data.dataloader_num_workers",
    "*.optim.*",
    "*.clip_ratio*",
    "*.cliprange*",
    "*.grad_clip",
    "*.entropy_*",
    "*.kl_loss_*",
    "*.kl_coef",
    "*.kl_ctrl.*",
    "*.kl_penalty",
    "*.loss_agg_mode",
    "*.loss_scale_factor",
    "*.temperature",
    "*.top_p",
    "*.top_k",
    "*.do_sample",
    "*.val_kwargs.*",
    "*.trust_remote_code",
    "*.lora_alpha",
    "*.layered_summon",
    "*.target_modules", /* without a rank */
    "*.checkpoint.*",
    "*.load_format",
    "*.mode",
    "*.disable_log_stats",
    "*.free_cache_engine",
    "*.use_remove_padding",
    "*.use_rmpad",
    "*.grad_offload",
    "*.response_length",
    "*.prompt_length",
    "*.max_model_len",
    "*.tokenizer_path",
    "*.input_tokenizer",
    "algorithm.gamma",
    "algorithm.lam",
    "algorithm.norm_adv_by_std_in_grpo",
    "trainer.*",
    "ray_init.*",
    "ray_kwargs.*",
    "global_profiler.*",
    "custom_reward_function.*",
    "reward_model.reward_manager",
    "reward_model.reward_kwargs.*",
    "config-path",
    "config-name",
    "config_path",
    "config_name",
};

/* Where the keys of an engine that trains or infers stand. */
typedef struct {
  const char *engine; /* "actor_rollout_ref.actor." */
  const char *fsdp;   /* "actor_rollout_ref.actor.fsdp_config." */
  const char *micro;  /* of the size of micro-batches, without `_per_gpu` */
  const char *tokens; /* of tokens in a micro-batch */
  const char *dynamic;
} Engine;

static const Engine engines[RA_N_RECIPE_CALLS] = {
    [RA_RECIPE_ACTOR_INFERENCE] = {ACTOR, ACTOR "fsdp_config.",
                                   ROLLOUT "log_prob_micro_batch_size",
                                   ROLLOUT "log_prob_max_token_len_per_gpu",
                                   ROLLOUT "log_prob_use_dynamic_bsz"},
    [RA_RECIPE_REF_INFERENCE] = {REF, REF "fsdp_config.",
                                 REF "log_prob_micro_batch_size",
                                 REF "log_prob_max_token_len_per_gpu",
                                 REF "log_prob_use_dynamic_bsz"},
    [RA_RECIPE_REWARD_INFERENCE] =
        {"reward_model.", "reward_model.model.fsdp_config.",
         "reward_model.micro_batch_size",
         "reward_model.forward_max_token_len_per_gpu",
         "reward_model.use_dynamic_bsz"},
    [RA_RECIPE_CRITIC_INFERENCE] = {"critic.", "critic.model.fsdp_config.",
                                    "critic.forward_micro_batch_size",
                                    "critic.forward_max_token_len_per_gpu",
                                    "critic.use_dynamic_bsz"},
    [RA_RECIPE_ACTOR_TRAIN] = {ACTOR, ACTOR "fsdp_config.",
                               ACTOR "ppo_micro_batch_size",
                               ACTOR "ppo_max_token_len_per_gpu",
                               ACTOR "use_dynamic_bsz"},
    [RA_RECIPE_CRITIC_TRAIN] = {"critic.", "critic.model.fsdp_config.",
                                "critic.ppo_micro_batch_size",
                                "critic.ppo_max_token_len_per_gpu",
                                "critic.use_dynamic_bsz"},
};

/* PREFIX.KEY as text, for a moment: a few buffers in turn. */
static const char *
at(const char *prefix, const char *key)
{
  static _Thread_local char buffers[4][160];
  static _Thread_local guint next;
  char *out = buffers[next++ % G_N_ELEMENTS(buffers)];

  g_snprintf(out, sizeof buffers[0], "%s%s", prefix, key);
  return out;
}

/* Size of micro-batches, in sequences or, where they are dynamic, tokens. */
static gboolean
read_micro(RaSettings *s, const Engine *engine, gboolean actor_dynamic,
           RaRecipeCall *call, GError **error)
{
  const char *each = at(engine->micro, "_per_gpu");
  gboolean dynamic;
  uint32_t all = 0;

  if (!ra_settings_bool(s, engine->dynamic, actor_dynamic, &dynamic, error) ||
      !ra_settings_uint32(s, each, 0, 0, RA_RECIPE_COUNT_MAX,
                          &call->micro_batch, error) ||
      !ra_settings_uint32(s, engine->micro, 0, 0, RA_RECIPE_COUNT_MAX, &all,
                          error))
    return FALSE;
  if (dynamic) {
    if (!ra_recipe_count(s, engine->tokens, 16384, &call->micro_tokens, error))
      return FALSE;
    call->micro_tokens *= call->cp;
    ra_settings_about(s, engine->dynamic,
                      "number of micro-batches for sequences of maximal "
                      "length, all of one size");
    return TRUE;
  }
  if (call->micro_batch == 0 && all > 0)
    call->micro_batch = MAX(1, all / MAX(1, call->dp));
  return TRUE;
}

static gboolean
read_megatron(RaSettings *s, const Engine *engine, const Engine *base,
              RaRecipeCall *call, GError **error)
{
  static const struct {
    const char *key;
    gsize offset;
  } degrees[] = {
      {"megatron.tensor_model_parallel_size",
       G_STRUCT_OFFSET(RaRecipeCall, tp)},
      {"megatron.pipeline_model_parallel_size",
       G_STRUCT_OFFSET(RaRecipeCall, pp)},
      {"megatron.context_parallel_size", G_STRUCT_OFFSET(RaRecipeCall, cp)},
      {"megatron.expert_model_parallel_size",
       G_STRUCT_OFFSET(RaRecipeCall, ep)},
  };

  for (guint i = 0; i < G_N_ELEMENTS(degrees); i++) {
    uint32_t value = 1;

    if (!ra_recipe_count(s, at(base->engine, degrees[i].key), 1, &value,
                         error) ||
        !ra_recipe_count(s, at(engine->engine, degrees[i].key), value, &value,
                         error))
      return FALSE;
    G_STRUCT_MEMBER(uint32_t, call, degrees[i].offset) = value;
  }
  call->zero = 1;
  call->fp32_grads = TRUE;
  return ra_settings_bool(s, at(engine->engine, "megatron.sequence_parallel"),
                          TRUE, &call->sequence_parallel, error) &&
         ra_settings_bool(s, at(engine->engine, "megatron.param_offload"),
                          FALSE, &call->host, error) &&
         ra_settings_bool(s, at(engine->engine, "megatron.optimizer_offload"),
                          FALSE, &call->optimizer_host, error);
}

static gboolean
read_fsdp(RaSettings *s, const Engine *engine, const Engine *base,
          RaRecipeCall *call, GError **error)
{
  const char *own = at(engine->engine, "ulysses_sequence_parallel_size");
  int64_t group = -1;
  const char *text;
  uint32_t cp = 1;

  if (!ra_recipe_count(s, at(base->engine, "ulysses_sequence_parallel_size"), 1,
                       &cp, error) ||
      !ra_recipe_count(s, own, cp, &call->cp, error))
    return FALSE;
  if (call->cp > 1)
    ra_settings_about(s, own, "context parallelism of %u (a ring)", call->cp);
  text = ra_settings_get(s, at(engine->fsdp, "fsdp_size"));
  if (text)
    group = g_ascii_strtoll(text, NULL, 10);
  call->zero = 3;
  call->zero_group =
      group > 0 && group < call->n_gpus ? (uint32_t)group / call->cp : 0;
  call->fp32_grads = call->overlap = TRUE;
  return ra_settings_bool(s, at(engine->fsdp, "param_offload"), FALSE,
                          &call->host, error) &&
         ra_settings_bool(s, at(engine->fsdp, "optimizer_offload"), FALSE,
                          &call->optimizer_host, error);
}

/* One call of training or inference on all GPUs; @checkpointing is the key of
 * gradient checkpointing (nullable). */
static gboolean
read_engine(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind,
            RaRecipeKind base, gboolean actor_dynamic, GError **error)
{
  RaRecipeCall *call = &recipe->calls[kind];
  const Engine *engine = &engines[kind];
  const char *strategy = ra_settings_get(s, at(engine->engine, "strategy"));
  const char *name = ra_settings_get(s, "config-name");
  const char *actor = ra_settings_get(s, ACTOR "strategy");
  gboolean megatron;

  if (!strategy)
    strategy = actor;
  megatron = strategy ? g_str_equal(strategy, "megatron")
                      : (name && strstr(name, "megatron")) ||
                            ra_settings_has(s, ACTOR "megatron.");
  if (strategy && !megatron && !g_str_has_prefix(strategy, "fsdp"))
    return ra_settings_fail(s, ACTOR "strategy", error,
                            "fsdp, fsdp2 or megatron");
  call->is_there = TRUE;
  call->n_gpus = recipe->n_nodes * recipe->n_node_gpus;
  if (!(megatron ? read_megatron(s, engine, &engines[base], call, error)
                 : read_fsdp(s, engine, &engines[base], call, error)))
    return FALSE;
  call->dp = call->n_gpus / MAX(1, call->tp * call->pp * call->cp);
  return read_micro(s, engine, actor_dynamic, call, error);
}

static gboolean
read_rollout(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  const char *name = ra_settings_get(s, ROLLOUT "name");
  gboolean eager;

  call->is_there = TRUE;
  call->n_gpus = recipe->n_nodes * recipe->n_node_gpus;
  if (name && g_str_equal(name, "hf"))
    return ra_settings_fail(s, ROLLOUT "name", error, "vllm or sglang");
  if (!ra_recipe_count(s, ROLLOUT "tensor_model_parallel_size", 2, &call->tp,
                       error) ||
      !ra_recipe_count(s, ROLLOUT "pipeline_model_parallel_size", 1, &call->pp,
                       error) ||
      !ra_recipe_count(s, ROLLOUT "n", 1, &recipe->n_samples, error) ||
      !ra_recipe_count(s, ROLLOUT "max_num_seqs", 1024, &call->max_sequences,
                       error) ||
      !ra_recipe_count(s, ROLLOUT "max_num_batched_tokens", 8192,
                       &call->prefill_tokens, error) ||
      !ra_settings_double(s, ROLLOUT "gpu_memory_utilization", 0.5, 0.01, 1.0,
                          &call->memory_frac, error) ||
      !ra_settings_bool(s, ROLLOUT "enforce_eager", FALSE, &eager, error))
    return FALSE;
  call->graph = !eager;
  return TRUE;
}

/* Batches, lengths, the cluster. */
static gboolean
read_common(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t mini;

  if (!ra_recipe_count(s, "trainer.nnodes", 1, &recipe->n_nodes, error) ||
      !ra_recipe_count(s, "trainer.n_gpus_per_node", 8, &recipe->n_node_gpus,
                       error) ||
      !ra_recipe_count(s, "data.train_batch_size", 1024, &recipe->n_prompts,
                       error) ||
      !ra_recipe_count(s, "data.max_prompt_length", 512, &recipe->max_prompt,
                       error) ||
      !ra_recipe_count(s, "data.max_response_length", 512,
                       &recipe->max_response, error) ||
      !ra_recipe_count(s, ACTOR "ppo_mini_batch_size", 256, &mini, error) ||
      !ra_recipe_count(s, ACTOR "ppo_epochs", 1, &recipe->n_epochs, error))
    return FALSE;
  if (mini > recipe->n_prompts || recipe->n_prompts % mini != 0)
    return ra_settings_fail(s, ACTOR "ppo_mini_batch_size", error,
                            "a divisor of data.train_batch_size");
  recipe->n_mini_batches = recipe->n_prompts / mini;
  ra_recipe_text(s, "actor_rollout_ref.model.path", NULL,
                 &recipe->model[RA_RECIPE_ACTOR]);
  ra_recipe_text(s, "actor_rollout_ref.model.path", NULL,
                 &recipe->model[RA_RECIPE_REF]);
  /* verl/trainer/ppo/ray_trainer.py: with adapters the reference is the actor
   * without them (ref_in_actor); engines are sent the adapters alone. */
  recipe->lora_ref = TRUE;
  return ra_recipe_lora(recipe, s, RA_RECIPE_ACTOR,
                        "actor_rollout_ref.model.lora_rank",
                        "actor_rollout_ref.model.target_modules", error);
}

/* TRUE if there is a reference model: its divergence counts somewhere.  Before
 * these switches verl always had one, and its keys were set. */
static gboolean
read_ref(RaRecipe *recipe, RaSettings *s, gboolean dynamic, GError **error)
{
  gboolean in_loss, in_reward;
  gboolean older = !ra_settings_has(s, ACTOR "use_kl_loss") &&
                   !ra_settings_has(s, "algorithm.use_kl_in_reward") &&
                   ra_settings_has(s, REF);

  return ra_settings_bool(s, ACTOR "use_kl_loss", older, &in_loss, error) &&
         ra_settings_bool(s, "algorithm.use_kl_in_reward", FALSE, &in_reward,
                          error) &&
         ((!in_loss && !in_reward) ||
          read_engine(recipe, s, RA_RECIPE_REF_INFERENCE, RA_RECIPE_ACTOR_TRAIN,
                      dynamic, error));
}

static gboolean
read_critic(RaRecipe *recipe, RaSettings *s, gboolean dynamic, GError **error)
{
  RaRecipeCall *train = &recipe->calls[RA_RECIPE_CRITIC_TRAIN];
  RaRecipeCall *infer = &recipe->calls[RA_RECIPE_CRITIC_INFERENCE];

  if (!g_str_equal(recipe->algorithm, "ppo"))
    return TRUE;
  ra_recipe_text(s, "critic.model.path", recipe->model[RA_RECIPE_ACTOR],
                 &recipe->model[RA_RECIPE_CRITIC]);
  if (!ra_recipe_lora(recipe, s, RA_RECIPE_CRITIC, "critic.model.lora_rank",
                      "critic.model.target_modules", error) ||
      !read_engine(recipe, s, RA_RECIPE_CRITIC_TRAIN, RA_RECIPE_CRITIC_TRAIN,
                   dynamic, error) ||
      !read_engine(recipe, s, RA_RECIPE_CRITIC_INFERENCE,
                   RA_RECIPE_CRITIC_TRAIN, dynamic, error) ||
      !ra_settings_bool(s, "critic.model.enable_gradient_checkpointing", TRUE,
                        &train->full_recompute, error))
    return FALSE;
  if (infer->micro_batch == 0)
    infer->micro_batch = train->micro_batch;
  return TRUE;
}

static gboolean
read_reward(RaRecipe *recipe, RaSettings *s, gboolean dynamic, GError **error)
{
  gboolean enabled;

  if (!ra_settings_bool(s, "reward_model.enable", FALSE, &enabled, error))
    return FALSE;
  if (!enabled)
    return TRUE;
  ra_recipe_text(s, "reward_model.model.path", NULL,
                 &recipe->model[RA_RECIPE_REWARD]);
  return read_engine(recipe, s, RA_RECIPE_REWARD_INFERENCE,
                     RA_RECIPE_REWARD_INFERENCE, dynamic, error);
}

gboolean
ra_recipe_read_verl(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *train = &recipe->calls[RA_RECIPE_ACTOR_TRAIN];
  const char *granularity;
  gboolean dynamic;

  ra_recipe_text(s, "algorithm.adv_estimator", "gae", &recipe->algorithm);
  if (g_str_equal(recipe->algorithm, "gae")) {
    g_free(recipe->algorithm);
    recipe->algorithm = g_strdup("ppo");
  }
  if (g_str_equal(recipe->algorithm, "remax"))
    return ra_settings_fail(s, "algorithm.adv_estimator", error,
                            "an algorithm that generates once per prompt");
  if (!read_common(recipe, s, error) || !read_rollout(recipe, s, error) ||
      !ra_settings_bool(s, ACTOR "use_dynamic_bsz", FALSE, &dynamic, error) ||
      !read_engine(recipe, s, RA_RECIPE_ACTOR_TRAIN, RA_RECIPE_ACTOR_TRAIN,
                   dynamic, error) ||
      !read_engine(recipe, s, RA_RECIPE_ACTOR_INFERENCE, RA_RECIPE_ACTOR_TRAIN,
                   dynamic, error) ||
      !ra_settings_bool(s,
                        "actor_rollout_ref.model.enable_gradient_checkpointing",
                        TRUE, &train->full_recompute, error) ||
      !read_ref(recipe, s, dynamic, error) ||
      !read_critic(recipe, s, dynamic, error) ||
      !read_reward(recipe, s, dynamic, error))
    return FALSE;
  granularity = ra_settings_get(
      s, ACTOR "megatron.override_transformer_config.recompute_granularity");
  if (granularity) {
    train->selective_recompute = g_str_equal(granularity, "selective");
    train->full_recompute = !train->selective_recompute;
  }
  for (guint i = 0; i < G_N_ELEMENTS(idle); i++)
    ra_settings_ignore(s, idle[i]);
  ra_settings_ignore_off(s, "*");
  return TRUE;
}
