/* Configurations of AReaL: YAML of its examples, with the GPUs and degrees of
 * each role as `backend: fsdp:d4p1t1`, or all in `allocation_mode`.
 *
 * What a missing key means is what areal/api/cli_args.py says at revision
 * 4aef98d (2026-05); the words of degrees are those of areal/api/alloc_mode.py:
 *
 *     sglang:d4t2+megatron:d2p2t2   generation apart from training
 *     vllm:d2t2|fsdp:d4             on the same GPUs
 *     megatron:(attn:d2p2t2|ffn:d1p2e4)   experts with degrees of their own */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/recipe_impl.h"

#define GENERATE calls[RA_RECIPE_GENERATE]
#define STALENESS_MAX 16 /* of a limit that is none */

static const RaMeaning meanings[] = {
    RA_MEANS(COUNT, "train_dataset.batch_size", "1", n_prompts),
    RA_MEANS(COUNT, "gconfig.n_samples", "1", n_samples),
    RA_MEANS(TEXT, "actor.path", NULL, model[RA_RECIPE_ACTOR]),
    RA_MEANS(TEXT, "ref.path", NULL, model[RA_RECIPE_REF]),
    RA_MEANS(TEXT, "critic.path", NULL, model[RA_RECIPE_CRITIC]),

    RA_MEANS_CODE("allocation_mode"),
    RA_MEANS_CODE("*.backend"),
    RA_MEANS_CODE("cluster.n_*"),
    RA_MEANS_CODE("train_dataset.type"),
    RA_MEANS_CODE("train_dataset.max_length"),
    RA_MEANS_CODE("gconfig.max_new_tokens"),
    RA_MEANS_CODE("gconfig.max_tokens"),
    RA_MEANS_CODE("rollout.max_concurrent_rollouts"),
    RA_MEANS_CODE("rollout.max_head_offpolicyness"),
    RA_MEANS_CODE("rollout.scheduling_strategy.type"),
    RA_MEANS_CODE("*.ppo_n_minibatches"),
    RA_MEANS_CODE("actor.recompute_logprob"),
    RA_MEANS_CODE("actor.use_decoupled_loss"),
    RA_MEANS_CODE("actor.prox_logp_method"),
    RA_MEANS_CODE("actor.kl_ctl"),
    RA_MEANS_CODE("*.max_tokens_per_mb"),
    RA_MEANS_CODE("*.mb_spec.n_mbs"),
    RA_MEANS_CODE("*.gradient_checkpointing"),
    RA_MEANS_CODE("*.fsdp.offload_params"),
    RA_MEANS_CODE("*.archon.offload_params"),
    RA_MEANS_CODE("*.archon.ac_mode"),
    RA_MEANS_CODE("*.megatron.virtual_pipeline_parallel_size"),
    RA_MEANS_CODE("*.megatron.recompute_granularity"),
    RA_MEANS_CODE("*.megatron.ddp.overlap_grad_reduce"),
    RA_MEANS_CODE("*.megatron.fp8_config.mode"),
    RA_MEANS_CODE("*.megatron.fp8_config.recipe"),
    RA_MEANS_CODE("*.megatron.fp8_config.param"),
    RA_MEANS_CODE("*.megatron.fp8_config.first_last_layers_bf16"),
    RA_MEANS_CODE("*.megatron.fp8_config.num_layers_at_*_in_bf16"),
    RA_MEANS_CODE("*.use_lora"),
    RA_MEANS_CODE("*.lora_rank"),
    RA_MEANS_CODE("*.target_modules*"),
    RA_MEANS_CODE("enable_offload"),
    RA_MEANS_CODE("sglang.mem_fraction_static"),
    RA_MEANS_CODE("sglang.max_running_requests"),
    RA_MEANS_CODE("sglang.*prefill_*"),
    RA_MEANS_CODE("sglang.disable_*"),
    RA_MEANS_CODE("vllm.gpu_memory_utilization"),
    RA_MEANS_CODE("vllm.max_num_seqs"),
    RA_MEANS_CODE("vllm.enforce_eager"),
    RA_MEANS_CODE("vllm.no_enable_prefix_caching"),

    RA_MEANS_LOST(TIME, "async_training", "off|true", NULL),
    RA_MEANS_LOST(TIME, "dynamic_bs", "off", "batches of one size"),
    RA_MEANS_LOST(TIME, "*.enable_tree_training", "off",
                  "prompts are computed for every response"),
    RA_MEANS_LOST(TIME, "*.pad_to_maximum", "off", "no padding"),
    RA_MEANS_LOST(TIME, "*.weight_update_mode", "xccl",
                  "weights over the network"),
    RA_MEANS_LOST(TIME, "*.dtype", "bfloat16|bf16|off", "bf16"),
    RA_MEANS_LOST(TIME, "*.attn_impl", "flash_attention_2|off",
                  "flash attention"),
    RA_MEANS_LOST(TIME, "*.use_kernels", "off", "ordinary kernels"),
    RA_MEANS_LOST(TIME, "*.per_layer_optim_step", "off",
                  "the optimizer steps on the GPU"),
    RA_MEANS_LOST(TIME, "*.archon.enable_compile", "off", "eager kernels"),
    RA_MEANS_LOST(TIME, "*.archon.pp_schedule", "Interleaved1F1B", "1F1B"),
    RA_MEANS_LOST(TIME, "*.fp8_config*.mode", "disabled|off", "bf16"),
    RA_MEANS_NOTHING("*.fp8_config*"),
    RA_MEANS_LOST(TIME, "*.moe_enable_deepep", "off", "all-to-all"),
    RA_MEANS_LOST(TIME, "*.moe_token_dispatcher_type", "alltoall|allgather",
                  "all-to-all"),
    RA_MEANS_LOST(TIME, "*.moe_shared_expert_overlap", "off",
                  "shared experts are not overlapped"),
    RA_MEANS_LOST(TIME, "*.overlap_param_gather*", "off",
                  "weights are gathered after the step"),
    RA_MEANS_LOST(TIME, "*use_deterministic_algorithms", "off",
                  "ordinary kernels"),
    RA_MEANS_LOST(TIME, "sglang.enable_dp_attention", "off",
                  "attention by tensor parallelism"),
    RA_MEANS_LOST(TIME, "sglang.ep_size", "1", "experts are not shared out"),
    RA_MEANS_LOST(TIME, "sglang.enable_torch_compile", "off", "eager kernels"),
    RA_MEANS_LOST(TIME, "sglang.enable_mixed_chunk", "off",
                  "prompts in batches of their own"),
    RA_MEANS_LOST(TIME, "*.kv_cache_dtype", "auto|off", "bf16"),
    RA_MEANS_LOST(TIME, "*.cpu_offload_gb", "off", "weights on the GPU"),
    RA_MEANS_LOST(TIME, "*return_routed_experts", "off",
                  "no indices of experts are sent"),
    RA_MEANS_LOST(TIME, "*max_turns", "1|off", "one turn"),
    RA_MEANS_LOST(TIME, "tir.enable_tools", "off", "no tools"),
    RA_MEANS_NOTHING("tir.*"),
    RA_MEANS_LOST(TIME, "max_tokens_per_trajectory", NULL, "gconfig's"),
    RA_MEANS_LOST(TIME, "max_llm_calls_per_run", "1|off", "one turn"),
    RA_MEANS_LOST(TIME, "n_trajs", "1|off", "gconfig.n_samples"),
    RA_MEANS_LOST(TIME, "judge_engine.*", NULL, "a reward that takes no time"),
    RA_MEANS_LOST(TIME, "econfig.max_steps", "1|off", "one turn"),
    RA_MEANS_LOST(TIME, "rollout.agent.mode", "inline", "one turn"),
    RA_MEANS_CODE("*.use_precision_aware_optimizer"),
    RA_MEANS_CODE("*.exp_avg_dtype"),
    RA_MEANS_CODE("*.exp_avg_sq_dtype"),
    RA_MEANS_LOST(MEMORY, "*.grad_reduce_dtype", "float32|off",
                  "fp32 gradients"),
    RA_MEANS_LOST(MEMORY, "*.grad_reduce_in_fp32", "true", "fp32 gradients"),
    RA_MEANS_LOST(MEMORY, "*.main_*_dtype", "float32", "fp32"),
    RA_MEANS_LOST(MEMORY, "*.use_distributed_optimizer", "true", "ZeRO 1"),
    RA_MEANS_LOST(MEMORY, "*.recompute_num_layers", "1|off", "every layer"),
    RA_MEANS_LOST(MEMORY, "*.recompute_modules", "off|core_attn",
                  "recomputation of core attention"),
    RA_MEANS_LOST(MEMORY, "sglang.cuda_graph_*", "off",
                  "SGLang's own sizes of graphs"),
    RA_MEANS_LOST(MEMORY, "*.optimizer.type", "adam|adamw|off", "AdamW"),

    RA_MEANS_NOTHING("*experiment_name"),
    RA_MEANS_NOTHING("*trial_name"),
    RA_MEANS_NOTHING("*fileroot"),
    RA_MEANS_NOTHING("*tokenizer_path"),
    RA_MEANS_NOTHING("seed"),
    RA_MEANS_NOTHING("total_train_*"),
    RA_MEANS_NOTHING("cluster.*"),
    RA_MEANS_NOTHING("*scheduling_spec*"),
    RA_MEANS_NOTHING("*scheduling_strategy*"),
    RA_MEANS_NOTHING("scheduler.*"),
    RA_MEANS_NOTHING("saver.*"),
    RA_MEANS_NOTHING("recover.*"),
    RA_MEANS_NOTHING("evaluator.*"),
    RA_MEANS_NOTHING("stats_logger.*"),
    RA_MEANS_NOTHING("perf_tracer.*"),
    RA_MEANS_NOTHING("memory_profiler*"),
    RA_MEANS_NOTHING("valid_dataset*"),
    RA_MEANS_NOTHING("train_dataset.*"),
    RA_MEANS_NOTHING("eval_gconfig.*"),
    RA_MEANS_NOTHING("gconfig.*"),
    RA_MEANS_NOTHING("rollout.*"),
    RA_MEANS_NOTHING("*.optimizer*"),
    RA_MEANS_NOTHING("*_norm*"),
    RA_MEANS_NOTHING("*clip*"),
    RA_MEANS_NOTHING("*.rejection_sampling*"),
    RA_MEANS_NOTHING("actor.reward_*"),
    RA_MEANS_NOTHING("actor.overlong_*"),
    RA_MEANS_NOTHING("actor.sapo_*"),
    RA_MEANS_NOTHING("actor.use_sapo_loss"),
    RA_MEANS_NOTHING("actor.importance_sampling_level"),
    RA_MEANS_NOTHING("actor.beh*_imp_weight_*"),
    RA_MEANS_NOTHING("actor.m2_threshold"),
    RA_MEANS_NOTHING("actor.discount"),
    RA_MEANS_NOTHING("actor.gae_lambda"),
    RA_MEANS_NOTHING("actor.kl_estimator"),
    RA_MEANS_NOTHING("actor.log_agent_*"),
    RA_MEANS_NOTHING("actor.beta"),
    RA_MEANS_NOTHING("actor.loss_type"),
    RA_MEANS_NOTHING("*.max_new_tokens"),
    RA_MEANS_NOTHING("*.temperature"),
    RA_MEANS_NOTHING("*.mask_no_eos_with_zero"),
    RA_MEANS_NOTHING("*.init_from_scratch"),
    RA_MEANS_NOTHING("*.is_critic"),
    RA_MEANS_NOTHING("*.disable_dropout"),
    RA_MEANS_NOTHING("*.mb_spec.*"),
    RA_MEANS_NOTHING("*.lora_alpha"),
    RA_MEANS_NOTHING("*.peft_type"),
    RA_MEANS_NOTHING("*.fsdp.*"),
    RA_MEANS_NOTHING("*.archon.*"),
    RA_MEANS_NOTHING("*.megatron.*"),
    RA_MEANS_NOTHING("ref.*"),
    RA_MEANS_NOTHING("critic.*"),
    RA_MEANS_NOTHING("sglang.*"),
    RA_MEANS_NOTHING("vllm.*"),
    RA_MEANS_NOTHING("econfig.*"),
    RA_MEANS_NOTHING("*workflow*"),
    RA_MEANS_NOTHING("model_path"),
    RA_MEANS_NOTHING("launcher.*"),
    RA_MEANS_NOTHING("reward_fn_path"),
    RA_MEANS_NOTHING("log_agent_stats"),
    RA_MEANS_NOTHING("export_style"),
    RA_MEANS_NOTHING("agent_builder_path"),
    RA_MEANS_NOTHING("config"),
};
static const guint n_meanings = G_N_ELEMENTS(meanings);

/* ---- Degrees ------------------------------------------------------------- */

/* Allocation of a role: `fsdp:d4p1t1`. */
typedef struct {
  char *name;             /* owned: "fsdp"; "" if not given */
  uint32_t d, p, t, c, e; /* degrees, 1 where they are not given */
  uint32_t etp;           /* tensor parallelism of experts */
} Role;

static void
role_clear(Role *role)
{
  g_clear_pointer(&role->name, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Role, role_clear)

/* Letters with numbers, up to what is none; the end in @out. */
static gboolean
read_dims(const char *text, uint32_t *const slots[5], const char **out)
{
  static const char letters[] = "dptce";
  const char *p = text;

  while (*p && strchr(letters, *p)) {
    char *end;
    uint64_t n = g_ascii_strtoull(p + 1, &end, 10);
    uint32_t *slot = slots[strchr(letters, *p) - letters];

    if (end == p + 1 || n == 0 || n > RA_RECIPE_COUNT_MAX || !slot)
      return FALSE;
    *slot = (uint32_t)n;
    p = end;
  }
  *out = p;
  return p > text;
}

/* TRUE if the role has no more GPUs than a cluster may have. */
static gboolean
is_small(const Role *role)
{
  return (double)role->d * role->p * role->t * role->c <= RA_RECIPE_COUNT_MAX;
}

/* One role, such as `megatron:(attn:d2p2t2|ffn:d1p2e4)`. */
static gboolean
parse_role(const char *text, Role *role)
{
  const char *colon = strchr(text, ':'), *p = colon ? colon + 1 : text;
  const char *bracket = strchr(text, '[');
  uint32_t ignored = 1;
  uint32_t *const all[] = {&role->d, &role->p, &role->t, &role->c, &role->e};
  uint32_t *const ffn[] = {&ignored, &ignored, &role->etp, NULL, &role->e};

  role->d = role->p = role->t = role->c = role->e = role->etp = 1;
  if (colon && bracket && bracket < colon)
    role->name = g_strndup(text, (gsize)(bracket - text));
  else
    role->name = g_strndup(text, colon ? (gsize)(colon - text) : 0);
  if (g_str_equal(role->name, "attn")) { /* without a back end */
    g_free(role->name);
    role->name = g_strdup("megatron");
    p = text;
  }
  p += *p == '(';
  if (g_str_has_prefix(p, "attn:")) {
    if (!read_dims(p + strlen("attn:"), all, &p) ||
        !g_str_has_prefix(p, "|ffn:") ||
        !read_dims(p + strlen("|ffn:"), ffn, &p))
      return FALSE;
    p += *p == ')';
    return *p == '\0' && is_small(role);
  }
  return read_dims(p, all, &p) && *p == '\0' && is_small(role);
}

/* The part of `allocation_mode` about generation or training, else the role's
 * own backend.  (nullable) (transfer full); @shares: '|' between the two. */
static char *
find_role(RaSettings *s, gboolean generates, gboolean *shares)
{
  const char *mode = ra_settings_get(s, "allocation_mode");
  const char *own =
      ra_settings_get(s, generates ? "rollout.backend" : "actor.backend");
  const char *strategy = ra_settings_get(s, "rollout.scheduling_strategy.type");
  const char *cut, *pipe;

  *shares = g_strcmp0(strategy, "colocation") == 0;
  if (own)
    return g_strdup(own);
  if (!mode || !*mode)
    return NULL;
  cut = strchr(mode, '+');
  pipe = strchr(mode, '|');
  if (!cut && pipe && !strstr(mode, "attn:")) {
    cut = pipe;
    *shares = TRUE;
  }
  if (!cut)
    return g_str_has_prefix(mode, "sglang") || g_str_has_prefix(mode, "vllm") ||
                   generates
               ? NULL
               : g_strdup(mode);
  if (generates)
    return g_strndup(mode, (gsize)(cut - mode));
  pipe = strstr(cut, "attn:") ? NULL : strchr(cut + 1, '|');
  return pipe ? g_strndup(cut + 1, (gsize)(pipe - cut) - 1) : g_strdup(cut + 1);
}

/* ---- Training and inference ---------------------------------------------- */

static gboolean
read_recompute(RaSettings *s, const char *name, const Role *role,
               RaRecipeCall *call, GError **error)
{
  const char *key = ra_recipe_at(name, ".megatron.recompute_granularity");
  const char *mode = ra_settings_get(s, ra_recipe_at(name, ".archon.ac_mode"));
  const char *word = ra_settings_get(s, key);
  gboolean on;

  if (!ra_settings_bool(s, ra_recipe_at(name, ".gradient_checkpointing"), FALSE,
                        &on, error))
    return FALSE;
  if (g_str_equal(role->name, "archon"))
    word = mode ? mode : "selective";
  call->selective_recompute = on && g_strcmp0(word, "selective") == 0;
  call->full_recompute =
      on && !call->selective_recompute && g_strcmp0(word, "none") != 0;
  return TRUE;
}

/* FP8EngineConfig (areal/api/cli_args.py): on where the section is. */
static gboolean
read_fp8(RaSettings *s, const char *name, RaRecipeCall *call, GError **error)
{
  const char *section = ra_recipe_at(name, ".megatron.fp8_config.");

  return !ra_settings_has(s, section) ||
         ra_recipe_fp8(s,
                       &(RaRecipeFp8){
                           ra_recipe_at(section, "mode"), "e4m3",
                           ra_recipe_at(section, "recipe"), NULL,
                           ra_recipe_at(section, "param"),
                           ra_recipe_at(section, "first_last_layers_bf16"),
                           ra_recipe_at(section, "num_layers_at_start_in_bf16"),
                           ra_recipe_at(section, "num_layers_at_end_in_bf16")},
                       call, error);
}

/* FSDP2 and Archon shard weights over all data-parallel ranks; Megatron has a
 * distributed optimizer. */
static gboolean
read_engine(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind,
            const char *name, const Role *role, GError **error)
{
  RaRecipeCall *call = &recipe->calls[kind];
  gboolean is_megatron = g_str_equal(role->name, "megatron") ||
                         (!*role->name && (role->p > 1 || role->e > 1));

  if (*role->name && !is_megatron && !g_str_equal(role->name, "fsdp") &&
      !g_str_equal(role->name, "archon"))
    return ra_settings_fail(s, "actor.backend", error,
                            "fsdp, megatron or archon");
  call->is_there = TRUE;
  call->dp = role->d, call->tp = role->t, call->pp = role->p;
  call->cp = role->c, call->ep = role->e;
  call->etp = role->e > 1 ? role->etp : 0;
  call->n_gpus = role->d * role->t * role->p * role->c;
  call->zero = is_megatron ? 1 : 3;
  call->remainders =
      is_megatron &&
      ra_recipe_is_on(
          s, ra_recipe_at(name, ".megatron.use_precision_aware_optimizer"));
  if (call->remainders)
    ra_recipe_moments(s, ra_recipe_at(name, ".megatron.exp_avg_dtype"),
                      ra_recipe_at(name, ".megatron.exp_avg_sq_dtype"), call);
  call->fp32_grads = TRUE;
  call->sequence_parallel = role->t > 1;
  call->overlap =
      !is_megatron ||
      ra_recipe_is_on(s,
                      ra_recipe_at(name, ".megatron.ddp.overlap_grad_reduce"));
  call->host = call->optimizer_host =
      ra_recipe_is_on(s, ra_recipe_at(name, ".fsdp.offload_params")) ||
      ra_recipe_is_on(s, ra_recipe_at(name, ".archon.offload_params"));
  return read_recompute(s, name, role, call, error) &&
         (!is_megatron || read_fp8(s, name, call, error)) &&
         (!is_megatron ||
          ra_recipe_count(
              s, ra_recipe_at(name, ".megatron.virtual_pipeline_parallel_size"),
              1, &call->n_virtual, error)) &&
         ra_settings_uint32(s, ra_recipe_at(name, ".mb_spec.n_mbs"), 0, 0,
                            RA_RECIPE_COUNT_MAX, &call->n_micro_batches,
                            error) &&
         ra_settings_uint32(s, ra_recipe_at(name, ".mb_spec.max_tokens_per_mb"),
                            0, 0, RA_RECIPE_COUNT_MAX, &call->micro_tokens,
                            error);
}

/* A role that is not the actor: with a back end of its own, or the actor's. */
static gboolean
read_other(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind, const char *name,
           const Role *actor, GError **error)
{
  const char *key = ra_recipe_at(name, ".backend");
  const char *text = ra_settings_get(s, key);
  g_auto(Role) own = {.name = NULL};

  if (text && !parse_role(text, &own))
    return ra_settings_fail(s, key, error,
                            "a back end and its degrees, such "
                            "as fsdp:d4");
  return read_engine(recipe, s, kind, name, text ? &own : actor, error);
}

/* ---- Generation ---------------------------------------------------------- */

static gboolean
read_engines(RaRecipe *recipe, RaSettings *s, gboolean is_sglang,
             GError **error)
{
  RaRecipeCall *call = &recipe->GENERATE;
  uint32_t concurrent, most;
  gboolean eager, alone;

  if (!ra_settings_uint32(s, "rollout.max_concurrent_rollouts", 0, 0,
                          RA_RECIPE_COUNT_MAX, &concurrent, error) ||
      !ra_settings_bool(
          s, is_sglang ? "sglang.disable_cuda_graph" : "vllm.enforce_eager",
          FALSE, &eager, error) ||
      !ra_settings_bool(s,
                        is_sglang ? "sglang.disable_radix_cache"
                                  : "vllm.no_enable_prefix_caching",
                        TRUE, &alone, error) ||
      !ra_settings_double(s,
                          is_sglang ? "sglang.mem_fraction_static"
                                    : "vllm.gpu_memory_utilization",
                          0.9, 0, 1, &call->memory_frac, error) ||
      !ra_settings_uint32(
          s, is_sglang ? "sglang.max_running_requests" : "vllm.max_num_seqs",
          is_sglang ? 0 : 256, 0, RA_RECIPE_COUNT_MAX, &most, error))
    return FALSE;
  if (concurrent == 0)
    concurrent = recipe->n_prompts;
  concurrent = (uint32_t)MIN(
      RA_RECIPE_COUNT_MAX,
      ((uint64_t)concurrent * recipe->n_samples + call->dp - 1) / call->dp);
  call->max_sequences = most > 0 ? MIN(most, concurrent) : concurrent;
  call->prefill_tokens = is_sglang ? 32768 : 8192; /* their defaults here */
  call->graph = !eager;
  call->prefix_sharing = !alone;
  return TRUE;
}

static gboolean
read_rollout(RaRecipe *recipe, RaSettings *s, const Role *role, GError **error)
{
  const char *key = "rollout.max_head_offpolicyness";
  RaRecipeCall *call = &recipe->GENERATE;
  gboolean is_sglang = g_str_equal(role->name, "sglang");
  uint32_t stale;

  if (!is_sglang && !g_str_equal(role->name, "vllm"))
    return ra_settings_fail(s, "rollout.backend", error, "sglang or vllm");
  call->is_there = TRUE;
  call->dp = role->d, call->tp = role->t, call->pp = role->p;
  call->n_gpus = role->d * role->t * role->p;
  if (!ra_settings_uint32(s, key, 0, 0, UINT32_MAX - 1, &stale, error))
    return FALSE;
  recipe->staleness = MIN(stale, STALENESS_MAX);
  if (stale > STALENESS_MAX)
    ra_settings_about(s, key, "%d versions", STALENESS_MAX);
  recipe->async.is_service = stale > 0;
  recipe->async.interrupts = TRUE;
  recipe->async.sync_interval = 1;
  return read_engines(recipe, s, is_sglang, error);
}

/* ---- The whole ----------------------------------------------------------- */

static gboolean
read_adapters(RaRecipe *recipe, RaSettings *s, GError **error)
{
  return !ra_recipe_is_on(s, "actor.use_lora") ||
         (ra_recipe_lora(recipe, s, RA_RECIPE_ACTOR, "actor.lora_rank",
                         "actor.target_modules", error) &&
          (recipe->lora[RA_RECIPE_ACTOR].rank > 0 ||
           (recipe->lora[RA_RECIPE_ACTOR].rank = 32)));
}

/* should_compute_prox_logp() of PPOActorConfig; a reference where its
 * divergence counts. */
static gboolean
read_logprobs(RaRecipe *recipe, RaSettings *s, const Role *role, GError **error)
{
  const char *method = ra_settings_get(s, "actor.prox_logp_method");
  gboolean decoupled = ra_recipe_is_on(s, "actor.use_decoupled_loss");
  gboolean again = decoupled ? !method || !g_str_equal(method, "loglinear")
                             : ra_recipe_is_on(s, "actor.recompute_logprob");
  double kl;

  if (!ra_settings_double(s, "actor.kl_ctl", 0.1, 0, 1e6, &kl, error))
    return FALSE;
  return (!again || read_engine(recipe, s, RA_RECIPE_ACTOR_INFERENCE, "actor",
                                role, error)) &&
         (kl <= 0 || !ra_settings_has(s, "ref.") ||
          read_other(recipe, s, RA_RECIPE_REF_INFERENCE, "ref", role, error));
}

static gboolean
read_critic(RaRecipe *recipe, RaSettings *s, const Role *role, GError **error)
{
  if (!ra_settings_has(s, "critic."))
    return TRUE;
  g_free(recipe->algorithm);
  recipe->algorithm = g_strdup("ppo");
  return read_other(recipe, s, RA_RECIPE_CRITIC_TRAIN, "critic", role, error) &&
         read_other(recipe, s, RA_RECIPE_CRITIC_INFERENCE, "critic", role,
                    error) &&
         ra_recipe_count(s, "critic.ppo_n_minibatches", 4,
                         &recipe->calls[RA_RECIPE_CRITIC_TRAIN].n_mini_batches,
                         error);
}

/* The type of the data is the task: rl, sft, dpo or rw. */
static gboolean
read_task(RaRecipe *recipe, RaSettings *s, GError **error)
{
  static const struct {
    const char *type, *algorithm;
    RaRecipeTask task;
    uint32_t n_samples;
  } tasks[] = {{"sft", "sft", RA_RECIPE_SFT, 1},
               {"dpo", "dpo", RA_RECIPE_DPO, 2},
               {"rw", "rm", RA_RECIPE_RM, 2}};
  const char *type = ra_settings_get(s, "train_dataset.type");
  uint32_t length, room;

  recipe->algorithm = g_strdup("grpo");
  if (!ra_settings_uint32(s, "train_dataset.max_length", 0, 0,
                          RA_RECIPE_COUNT_MAX, &length, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(tasks); i++) {
    if (g_strcmp0(type, tasks[i].type) != 0)
      continue;
    recipe->task = tasks[i].task;
    recipe->n_samples = tasks[i].n_samples;
    g_free(recipe->algorithm);
    recipe->algorithm = g_strdup(tasks[i].algorithm);
    ra_recipe_halve(recipe, length);
    return TRUE;
  }
  recipe->max_prompt = length;
  if (!ra_recipe_count(s, "gconfig.max_new_tokens", 16384,
                       &recipe->max_response, error) ||
      !ra_recipe_count(s, "gconfig.max_tokens", 32768, &room, error))
    return FALSE;
  if (length == 0)
    ra_recipe_lengths(recipe, 1024, 1024);
  if (room > recipe->max_prompt)
    recipe->max_response = MIN(recipe->max_response, room - recipe->max_prompt);
  return TRUE;
}

/* Sleeps on the host while engines generate on the same GPUs. */
static void
put_apart(RaRecipe *recipe, RaSettings *s, gboolean shares)
{
  RaRecipeCall *generate = &recipe->GENERATE;
  gboolean offload = ra_recipe_is_on(s, "enable_offload");

  if (!shares)
    generate->first_gpu = recipe->calls[RA_RECIPE_ACTOR_TRAIN].n_gpus;
  if (shares && recipe->async.is_service) {
    recipe->async.is_service = FALSE;
    recipe->staleness = 0;
    ra_settings_about(s, "rollout.max_head_offpolicyness",
                      "0, as generation and training take turns");
  }
  for (guint k = RA_RECIPE_ACTOR_INFERENCE; k < RA_N_RECIPE_CALLS; k++) {
    RaRecipeCall *call = &recipe->calls[k];

    call->host |= shares && offload;
    if (k == RA_RECIPE_ACTOR_TRAIN || k == RA_RECIPE_CRITIC_TRAIN)
      call->optimizer_host |= shares && offload;
  }
}

static gboolean
read_areal(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *key =
      ra_settings_get(s, "actor.backend") ? "actor.backend" : "allocation_mode";
  g_auto(Role) actor = {.name = NULL}, rollout = {.name = NULL};
  gboolean shares = FALSE;
  g_autofree char *train = find_role(s, FALSE, &shares);
  g_autofree char *generate = find_role(s, TRUE, &shares);
  uint32_t n_gpus;

  if (ra_settings_has(s, "teacher."))
    return ra_recipe_refuse(s, "distillation", error);
  if (!read_task(recipe, s, error))
    return FALSE;
  if (!train && generate)
    return ra_recipe_refuse(s, "generation alone", error);
  if (!train || !parse_role(train, &actor))
    return ra_settings_fail(s, key, error,
                            "a back end and its degrees, such as fsdp:d4");
  if (!ra_recipe_count(s, "cluster.n_gpus_per_node", 8, &n_gpus, error) ||
      !read_engine(recipe, s, RA_RECIPE_ACTOR_TRAIN, "actor", &actor, error) ||
      !read_adapters(recipe, s, error))
    return FALSE;
  if (recipe->task == RA_RECIPE_DPO &&
      !read_other(recipe, s, RA_RECIPE_REF_INFERENCE, "ref", &actor, error))
    return FALSE;
  if (recipe->task != RA_RECIPE_RL) {
    ra_recipe_nodes(recipe, n_gpus);
    return TRUE;
  }
  if (!generate || !parse_role(generate, &rollout))
    return ra_settings_fail(s, "rollout.backend", error,
                            "an engine and its degrees, such as sglang:d4t2");
  if (!ra_recipe_count(s, "actor.ppo_n_minibatches", 4, &recipe->n_mini_batches,
                       error) ||
      !read_rollout(recipe, s, &rollout, error) ||
      !read_logprobs(recipe, s, &actor, error) ||
      !read_critic(recipe, s, &actor, error))
    return FALSE;
  put_apart(recipe, s, shares);
  ra_recipe_nodes(recipe, n_gpus);
  return TRUE;
}

const RaRecipeReader ra_recipe_reader_areal = {
    .name = "areal",
    .prefixes = {"actor.mb_spec.", "gconfig.", "rollout.max_head_",
                 "actor.backend"},
    .entries = {"areal."},
    .meanings = meanings,
    .n_meanings = &n_meanings,
    .read = read_areal,
};
