/* Configurations of ROLL: YAML of its RLVR, agentic, SFT and DPO pipelines.
 *
 * What a missing key means is what roll/configs and roll/pipeline say at
 * revision 8eb27cc (2026-08).  Every worker has a list of GPUs
 * (`device_mapping`) and a strategy of its own. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/convert/recipe_impl.h"

#define GENERATE calls[RA_RECIPE_GENERATE]
#define INFER "actor_infer.strategy_args.strategy_config."

static const RaMeaning meanings[] = {
    RA_MEANS(COUNT, "rollout_batch_size", "128", n_prompts),
    RA_MEANS(COUNT, "num_return_sequences_in_group", "1", n_samples),
    RA_MEANS(COUNT, "prompt_length", NULL, max_prompt),
    RA_MEANS(COUNT, "response_length", NULL, max_response),
    RA_MEANS(COUNT, "ppo_epochs", "1", n_epochs),
    RA_MEANS(TEXT, "adv_estimator", "gae", algorithm),
    RA_MEANS(TEXT, "pretrain", NULL, model[RA_RECIPE_ACTOR]),
    RA_MEANS(TEXT, "pretrain", NULL, model[RA_RECIPE_REF]),
    RA_MEANS(TEXT, "reward_pretrain", NULL, model[RA_RECIPE_CRITIC]),
    RA_MEANS(COUNT, INFER "tensor_parallel_size", NULL, GENERATE.tp),
    RA_MEANS(COUNT, INFER "tp_size", NULL, GENERATE.tp),
    RA_MEANS(COUNT, INFER "pipeline_parallel_size", NULL, GENERATE.pp),
    RA_MEANS(COUNT, INFER "max_num_seqs", "256", GENERATE.max_sequences),
    RA_MEANS(COUNT, INFER "max_running_requests", NULL, GENERATE.max_sequences),
    RA_MEANS(COUNT, INFER "max_num_batched_tokens", "8192",
             GENERATE.prefill_tokens),
    RA_MEANS(FRACTION, INFER "gpu_memory_utilization", "0.9",
             GENERATE.memory_frac),
    RA_MEANS(FRACTION, INFER "mem_fraction_static", NULL, GENERATE.memory_frac),
    RA_MEANS(SWITCH, INFER "enable_prefix_caching", "true",
             GENERATE.prefix_sharing),

    RA_MEANS_CODE("num_gpus_per_node"),
    RA_MEANS_CODE("num_nodes"),
    RA_MEANS_CODE("sequence_length"),
    RA_MEANS_CODE("max_actions_per_traj"),
    RA_MEANS_CODE("max_tokens_per_step"),
    RA_MEANS_CODE("train_env_manager.group_size"),
    RA_MEANS_CODE("async_generation_ratio"),
    RA_MEANS_CODE("use_kl_loss"),
    RA_MEANS_CODE("init_kl_coef"),
    RA_MEANS_CODE("enable_reference"),
    RA_MEANS_CODE("*enable_old_logprobs_recompute"),
    RA_MEANS_CODE("force_disable_old_logprobs_recompute"),
    RA_MEANS_CODE("*.device_mapping"),
    RA_MEANS_CODE("*.strategy_name"),
    RA_MEANS_CODE("*_parallel_size"),
    RA_MEANS_CODE("*.num_gpus_per_worker"),
    RA_MEANS_CODE("*.per_device_train_batch_size"),
    RA_MEANS_CODE("*.gradient_accumulation_steps"),
    RA_MEANS_CODE("*.infer_batch_size"),
    RA_MEANS_CODE("*.use_dynamic_batching_in_*"),
    RA_MEANS_CODE("*.max_tokens_per_microbatch_in_*"),
    RA_MEANS_CODE("*.max_packed_sequence_length_*"),
    RA_MEANS_CODE("*.ulysses_size"),
    RA_MEANS_CODE("*.disable_gradient_checkpointing"),
    RA_MEANS_CODE("*.recompute_granularity"),
    RA_MEANS_CODE("*.sequence_parallel"),
    RA_MEANS_CODE("*.overlap_grad_reduce"),
    RA_MEANS_CODE("*.fsdp_size"),
    RA_MEANS_CODE("*.reshard_after_forward"),
    RA_MEANS_CODE("*.offload_policy"),
    RA_MEANS_CODE("*.lora_rank"),
    RA_MEANS_CODE("*.lora_target"),
    RA_MEANS_CODE(INFER "enforce_eager"),
    RA_MEANS_CODE(INFER "disable_cuda_graph"),
    RA_MEANS_CODE("is_use_additional_prompts"),
    RA_MEANS_CODE("max_additional_running_prompts"),
    RA_MEANS_CODE("rewards.*.model_name_or_path"),

    RA_MEANS_LOST(TIME, "*.moe_token_dispatcher_type", "alltoall|allgather|off",
                  "all-to-all"),
    RA_MEANS_LOST(TIME, "*.moe_shared_expert_overlap", "off",
                  "shared experts are not overlapped"),
    RA_MEANS_LOST(TIME, "*.overlap_param_gather", "off",
                  "weights are gathered after the step"),
    RA_MEANS_LOST(TIME, "*.overlap_p2p_comm", "off|true", NULL),
    RA_MEANS_LOST(TIME, "*.use_remove_padding", "true", "no padding"),
    RA_MEANS_LOST(TIME, "*.use_sequence_packing", "true", "no padding"),
    RA_MEANS_LOST(TIME, INFER "quantization", "off", "bf16"),
    RA_MEANS_LOST(TIME, INFER "speculative_*", "off", "no draft"),
    RA_MEANS_LOST(TIME, "*.mtp_training_mode", "disabled|off",
                  "no draft layers"),
    RA_MEANS_LOST(TIME, "*.dtype", "bf16|off", "bf16"),
    RA_MEANS_LOST(TIME, "*.fp8*", "off", "bf16"),
    RA_MEANS_LOST(TIME, "*.model_update_frequency", "1",
                  "weights are sent after each iteration"),
    RA_MEANS_LOST(TIME, "partial_gpu_mode", "off|true", NULL),
    RA_MEANS_LOST(TIME, "train_env_manager.group_size_redundancy", "off",
                  "no over-sampling"),
    RA_MEANS_LOST(TIME, "user_defined_rollout_loop_cls", "off",
                  "ROLL's own rollout loop"),
    RA_MEANS_LOST(TIME, "rollout_mock.enable", "off", "generation takes place"),
    RA_MEANS_NOTHING("rollout_mock.*"),
    RA_MEANS_LOST(TIME, "use_opd", "off", "no teacher"),
    RA_MEANS_LOST(TIME, "teacher.*", NULL, "no teacher"),
    RA_MEANS_LOST(TIME, "*.query_filter_config.type", "no_filter|off",
                  "every group counts"),
    RA_MEANS_NOTHING("*.query_filter_config.*"),
    RA_MEANS_LOST(TIME, "*.router_replay.mode", "disable|off",
                  "no indices of experts are sent"),
    RA_MEANS_LOST(TIME, "*.ep_size", "1|off", "experts are not shared out"),
    RA_MEANS_NOTHING("*.efsdp_size"),
    RA_MEANS_LOST(TIME, "*.pipeline_model_parallel_layout", "off",
                  "even stages"),
    RA_MEANS_LOST(MEMORY, "*.apply_tiled_mlp", "off", "no tiles"),
    RA_MEANS_NOTHING("*.tiled_num_shards"),
    RA_MEANS_LOST(MEMORY, "*cuda*graph_*", "off", "the engine's own sizes"),
    RA_MEANS_LOST(MEMORY, "*.recompute_modules", "core_attn|off",
                  "recomputation of core attention"),
    RA_MEANS_LOST(MEMORY, "*.moe_layer_recompute", "off",
                  "experts are not recomputed"),
    RA_MEANS_NOTHING("*.recompute_method"),
    RA_MEANS_LOST(MEMORY, "*.recompute_num_layers", "1|off", "every layer"),
    RA_MEANS_LOST(MEMORY, "*.use_distributed_optimizer", "true", "ZeRO 1"),
    RA_MEANS_LOST(MEMORY, "*.use_precision_aware_optimizer", "off",
                  "fp32 optimizer state"),
    RA_MEANS_LOST(MEMORY, "*.optimizer_cpu_offload", "off",
                  "the optimizer sleeps between iterations only"),
    RA_MEANS_LOST(MEMORY, "is_offload_optimizer_states_in_train_step", "off",
                  "the optimizer sleeps between iterations only"),
    RA_MEANS_LOST(MEMORY, "*.freeze_module_prefix", "off",
                  "all parameters learn"),
    RA_MEANS_LOST(MEMORY, "*.param_dtype", "bf16|off", "bf16"),
    RA_MEANS_LOST(MEMORY, "*.reduce_dtype", "float32|fp32|off",
                  "fp32 gradients"),
    RA_MEANS_LOST(LEARNING, "critic_warmup", "off",
                  "the actor learns from the first step"),

    RA_MEANS_NOTHING("is_offload_states"),
    RA_MEANS_NOTHING("*.data_args.*"),
    RA_MEANS_NOTHING("*.training_args.*"),
    RA_MEANS_NOTHING("*.generating_args.*"),
    RA_MEANS_NOTHING("*.model_args.*"),
    RA_MEANS_NOTHING("validation.*"),
    RA_MEANS_NOTHING("val_*"),
    RA_MEANS_NOTHING("hydra.*"),
    RA_MEANS_NOTHING("system_envs.*"),
    RA_MEANS_NOTHING("*.system_envs.*"),
    RA_MEANS_NOTHING("checkpoint_config.*"),
    RA_MEANS_NOTHING("track*"),
    RA_MEANS_NOTHING("exp_name"),
    RA_MEANS_NOTHING("model_name"),
    RA_MEANS_NOTHING("seed"),
    RA_MEANS_NOTHING("*_dir"),
    RA_MEANS_NOTHING("*_steps"),
    RA_MEANS_NOTHING("*clip*"),
    RA_MEANS_NOTHING("*mask"),
    RA_MEANS_NOTHING("difficulty_*"),
    RA_MEANS_NOTHING("*_weight"),
    RA_MEANS_NOTHING("*_coef"),
    RA_MEANS_NOTHING("norm_*"),
    RA_MEANS_NOTHING("whiten_*"),
    RA_MEANS_NOTHING("*reward_norm*"),
    RA_MEANS_NOTHING("reward_s*"),
    RA_MEANS_NOTHING("use_reward_*"),
    RA_MEANS_NOTHING("rewards.*"),
    RA_MEANS_NOTHING("add_*"),
    RA_MEANS_NOTHING("loss_agg_mode"),
    RA_MEANS_NOTHING("error_max_len*"),
    RA_MEANS_NOTHING("lambd"),
    RA_MEANS_NOTHING("gamma"),
    RA_MEANS_NOTHING("step_reward_*"),
    RA_MEANS_NOTHING("importance_sampling"),
    RA_MEANS_NOTHING("*pg_*"),
    RA_MEANS_NOTHING("use_p*"),
    RA_MEANS_NOTHING("use_topr*"),
    RA_MEANS_NOTHING("max_grad_norm"),
    RA_MEANS_NOTHING("max_ckpt_to_keep"),
    RA_MEANS_NOTHING("max_running_requests"),
    RA_MEANS_NOTHING("is_num_return_sequences_expand"),
    RA_MEANS_NOTHING("generate_opt_level"),
    RA_MEANS_NOTHING("resume_from_checkpoint"),
    RA_MEANS_NOTHING("rpc_timeout"),
    RA_MEANS_NOTHING("profiler_*"),
    RA_MEANS_NOTHING("*train_infer_*"),
    RA_MEANS_NOTHING("*_pattern"),
    RA_MEANS_NOTHING("*template*"),
    RA_MEANS_NOTHING("*_key"),
    RA_MEANS_NOTHING("*env*"),
    RA_MEANS_NOTHING("agent_*"),
    RA_MEANS_NOTHING("default_history_length"),
    RA_MEANS_NOTHING("batch_adjust_mode"),
    RA_MEANS_NOTHING("ratio_type"),
    RA_MEANS_NOTHING("format_penalty"),
    RA_MEANS_NOTHING("*_format_penalty"),
    RA_MEANS_NOTHING("lora_*"),
    RA_MEANS_NOTHING("*offload_nccl"),
    RA_MEANS_NOTHING("*.worker_cls"),
    RA_MEANS_NOTHING("*.max_concurrency"),
    RA_MEANS_NOTHING("*.world_size"),
    RA_MEANS_NOTHING("*.backend_timeout"),
    RA_MEANS_NOTHING("*.topr_*"),
    RA_MEANS_NOTHING("*.sequence_length_round_in_*"),
    RA_MEANS_NOTHING("*.sequence_packing_args.*"),
    RA_MEANS_NOTHING("*.strategy_config"),
    RA_MEANS_NOTHING("*.wrap_policy.*"),
    RA_MEANS_NOTHING("*.bf16"),
    RA_MEANS_NOTHING("*_fusion"),
    RA_MEANS_NOTHING("*.moe_grouped_gemm"),
    RA_MEANS_NOTHING("*.moe_use_grouped_mm"),
    RA_MEANS_NOTHING("*.account_for_*"),
    RA_MEANS_NOTHING("*.use_batched_model_update"),
    RA_MEANS_NOTHING(INFER "block_size"),
    RA_MEANS_NOTHING(INFER "max_model_len"),
    RA_MEANS_NOTHING(INFER "load_format"),
    RA_MEANS_NOTHING(INFER "sleep_level"),
    RA_MEANS_NOTHING(INFER "optimization_level"),
    RA_MEANS_NOTHING(INFER "disable_*"),
    RA_MEANS_NOTHING("model_update_buffer_size_mb"),
    RA_MEANS_NOTHING("target_kl"),
    RA_MEANS_NOTHING("kl_*"),
    RA_MEANS_NOTHING("model_download_type"),
    RA_MEANS_NOTHING("*.moe_aux_loss_coeff"),
    RA_MEANS_NOTHING("*.apply_expert_patch"),
    RA_MEANS_NOTHING("*.max_grad_norm"),
    RA_MEANS_NOTHING("*.name"),
    RA_MEANS_NOTHING("beta"),
    RA_MEANS_NOTHING("ipo"),
    RA_MEANS_NOTHING("label_smoothing"),
};
static const guint n_meanings = G_N_ELEMENTS(meanings);

/* ---- Workers ------------------------------------------------------------- */

/* The GPUs of `list(range(0,8))`, `[0,1,2]` or a sequence, which must be
 * consecutive. */
static gboolean
read_devices(RaSettings *s, const char *worker, RaRecipeCall *call,
             GError **error)
{
  const char *key = ra_recipe_at(worker, ".device_mapping");
  const char *text = ra_settings_get(s, key);
  uint32_t first = UINT32_MAX, last = 0, n = 0;

  for (uint32_t i = 0; !text && i < RA_RECIPE_COUNT_MAX; i++) {
    g_autofree char *item = g_strdup_printf("%s.%u", key, i);
    uint32_t gpu;

    if (!ra_settings_get(s, item))
      break;
    if (!ra_settings_uint32(s, item, 0, 0, RA_RECIPE_COUNT_MAX, &gpu, error))
      return FALSE;
    first = MIN(first, gpu), last = MAX(last, gpu), n++;
  }
  for (const char *p = text; p && *p;) {
    gboolean is_range = g_str_has_prefix(p, "range(");
    char *end;

    p += is_range ? strlen("range(") : 0;
    if (is_range) {
      uint64_t a = g_ascii_strtoull(p, &end, 10), b = a;

      p = end + strspn(end, " ");
      if (*p == ',')
        b = g_ascii_strtoull(p + 1, &end, 10);
      else
        a = 0;
      if (b <= a || b > RA_RECIPE_COUNT_MAX || *end != ')')
        break;
      first = MIN(first, (uint32_t)a), last = MAX(last, (uint32_t)b - 1);
      n += (uint32_t)(b - a);
      p = end;
    } else if (g_ascii_isdigit(*p)) {
      uint32_t gpu =
          (uint32_t)MIN(g_ascii_strtoull(p, &end, 10), RA_RECIPE_COUNT_MAX);

      first = MIN(first, gpu), last = MAX(last, gpu), n++;
      p = end;
    } else {
      p++;
    }
  }
  if (n == 0 || last - first + 1 != n)
    return ra_settings_fail(s, key, error,
                            "consecutive GPUs such as list(range(0,8))");
  call->first_gpu = first;
  call->n_gpus = n;
  return TRUE;
}

/* roll/distributed/strategy/megatron_strategy.py; bf16 adds up in fp32
 * (mcore_adapter's training_args.py). */
static gboolean
read_megatron(RaSettings *s, const char *config, RaRecipeCall *call,
              GError **error)
{
  const char *word =
      ra_settings_get(s, ra_recipe_at(config, "recompute_granularity"));

  if (!ra_recipe_megatron(s, config, call, error))
    return FALSE;
  call->full_recompute = g_strcmp0(word, "full") == 0;
  call->selective_recompute = g_strcmp0(word, "selective") == 0;
  call->sequence_parallel =
      ra_recipe_is_on(s, ra_recipe_at(config, "sequence_parallel"));
  call->overlap =
      ra_recipe_is_on(s, ra_recipe_at(config, "overlap_grad_reduce"));
  return TRUE;
}

static gboolean
read_fsdp(RaSettings *s, const char *worker, const char *config,
          RaRecipeCall *call, GError **error)
{
  gboolean reshard, plain;
  uint32_t size;

  if (!ra_recipe_count(s, ra_recipe_at(worker, ".model_args.ulysses_size"), 1,
                       &call->cp, error) ||
      !ra_settings_bool(s, ra_recipe_at(config, "reshard_after_forward"), TRUE,
                        &reshard, error) ||
      !ra_settings_bool(
          s, ra_recipe_at(worker, ".model_args.disable_gradient_checkpointing"),
          FALSE, &plain, error) ||
      !ra_settings_uint32(s, ra_recipe_at(config, "fsdp_size"), 0, 0,
                          RA_RECIPE_COUNT_MAX, &size, error))
    return FALSE;
  call->zero = reshard ? 3 : 2;
  call->zero_group = size < call->n_gpus ? size / call->cp : 0;
  call->full_recompute = !plain;
  call->fp32_grads = call->overlap = TRUE;
  call->host = call->optimizer_host =
      ra_recipe_is_on(s, ra_recipe_at(config, "offload_policy"));
  return TRUE;
}

/* ZeRO by the name of the shared mapping that a configuration refers to, such
 * as ${deepspeed_zero3_cpuoffload}. */
static void
read_deepspeed(RaSettings *s, const char *worker, RaRecipeCall *call)
{
  const char *key = ra_recipe_at(worker, ".strategy_args.strategy_config");
  const char *name = ra_settings_get(s, key);

  call->zero = name && strstr(name, "zero2") ? 2 : 3;
  call->optimizer_host = call->host = name && strstr(name, "offload");
  call->full_recompute = call->overlap = TRUE;
}

/* Sequences or tokens of a micro-batch. */
static gboolean
read_micro(RaSettings *s, const char *worker, gboolean is_train,
           RaRecipeCall *call, GError **error)
{
  const char *part = is_train ? "train" : "infer";
  g_autofree char *dynamic =
      g_strdup_printf("%s.use_dynamic_batching_in_%s", worker, part);
  g_autofree char *tokens =
      g_strdup_printf("%s.max_tokens_per_microbatch_in_%s", worker, part);

  if (!ra_recipe_count(
          s,
          ra_recipe_at(worker,
                       is_train ? ".training_args.per_device_train_batch_size"
                                : ".infer_batch_size"),
          is_train ? 8 : 16, &call->micro_batch, error))
    return FALSE;
  return !ra_recipe_is_on(s, dynamic) ||
         (ra_settings_uint32(s, tokens, 0, 0, RA_RECIPE_COUNT_MAX,
                             &call->micro_tokens, error));
}

static gboolean
read_worker(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind,
            const char *worker, GError **error)
{
  RaRecipeCall *call = &recipe->calls[kind];
  gboolean is_train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;
  const char *key = ra_recipe_at(worker, ".strategy_args.strategy_name");
  const char *name = ra_settings_get(s, key);
  const char *config = ra_recipe_at(worker, ".strategy_args.strategy_config.");

  call->is_there = TRUE;
  if (!read_devices(s, worker, call, error))
    return FALSE;
  if (!name)
    return ra_settings_fail(s, key, error, "a strategy");
  if (g_str_has_prefix(name, "megatron")) {
    if (!read_megatron(s, config, call, error))
      return FALSE;
  } else if (g_str_has_prefix(name, "fsdp2")) {
    if (!read_fsdp(s, worker, config, call, error))
      return FALSE;
  } else if (g_str_has_prefix(name, "deepspeed")) {
    read_deepspeed(s, worker, call);
  } else if (!g_str_equal(name, "hf_infer") || is_train) {
    return ra_settings_fail(s, key, error,
                            "megatron_train, fsdp2_train or deepspeed_train, "
                            "or one that infers");
  }
  call->dp = call->n_gpus / MAX(1, call->tp * call->pp * call->cp);
  return read_micro(s, worker, is_train, call, error);
}

/* ---- Generation ---------------------------------------------------------- */

static gboolean
read_rollout(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *call = &recipe->GENERATE;
  const char *key = "actor_infer.strategy_args.strategy_name";
  const char *name = ra_settings_get(s, key);
  double ratio;

  call->is_there = TRUE;
  if (name && !g_str_equal(name, "vllm") && !g_str_equal(name, "sglang"))
    return ra_settings_fail(s, key, error, "vllm or sglang");
  if (!read_devices(s, "actor_infer", call, error) ||
      !ra_settings_double(s, "async_generation_ratio", 0, 0, 1000, &ratio,
                          error))
    return FALSE;
  if (g_strcmp0(name, "sglang") == 0 && call->tp == 1 &&
      !ra_recipe_count(s, "actor_infer.num_gpus_per_worker", 1, &call->tp,
                       error))
    return FALSE;
  call->graph = !ra_recipe_is_on(s, INFER "enforce_eager") &&
                !ra_recipe_is_on(s, INFER "disable_cuda_graph");
  recipe->staleness = (uint32_t)ceil(ratio);
  if (ratio > 0 && ratio < recipe->staleness)
    ra_settings_about(s, "async_generation_ratio", "%u", recipe->staleness);
  if (ra_recipe_is_on(s, "is_use_additional_prompts"))
    ra_settings_about(s, "is_use_additional_prompts",
                      "every group counts, none is replaced");
  return TRUE;
}

/* ---- Batches ------------------------------------------------------------- */

/* Optimizer steps: a step takes per_device_train_batch_size times
 * gradient_accumulation_steps sequences of each replica. */
static gboolean
read_steps(RaRecipe *recipe, RaSettings *s, const char *worker, uint32_t dp,
           uint32_t *out, GError **error)
{
  const char *key =
      ra_recipe_at(worker, ".training_args.gradient_accumulation_steps");
  uint32_t each, steps, n;

  if (!ra_recipe_sequences(recipe, &n, error) ||
      !ra_recipe_count(
          s, ra_recipe_at(worker, ".training_args.per_device_train_batch_size"),
          8, &each, error) ||
      !ra_recipe_count(s, key, 1, &steps, error))
    return FALSE;
  *out = (uint32_t)MAX(1, n / MAX(1, (uint64_t)each * steps * dp));
  while (n % *out != 0)
    ++*out;
  if (n / *out != (uint64_t)each * steps * dp)
    ra_settings_about(s, key, "%u mini-batches of %u sequences", *out,
                      n / *out);
  return TRUE;
}

/* Trajectories of agents come in groups; their turns share sequence_length. */
static gboolean
read_batches(RaRecipe *recipe, RaSettings *s, GError **error)
{
  gboolean is_agentic = ra_settings_has(s, "train_env_manager.");
  uint32_t length, turns, each, group;

  if (!ra_settings_uint32(s, "sequence_length", 0, 0, RA_RECIPE_COUNT_MAX,
                          &length, error) ||
      !ra_recipe_count(s, "max_actions_per_traj", 1, &turns, error) ||
      !ra_recipe_count(s, "max_tokens_per_step", 1024, &each, error) ||
      !ra_recipe_count(s, "train_env_manager.group_size", 1, &group, error))
    return FALSE;
  if (recipe->max_prompt == 0 && length > 0)
    recipe->max_prompt = MIN(1024, length / 2);
  if (recipe->max_response == 0 && length > recipe->max_prompt)
    recipe->max_response = length - recipe->max_prompt;
  ra_recipe_lengths(recipe, 1024, 1024);
  if (!is_agentic)
    return TRUE;
  if (recipe->n_prompts % group != 0)
    return ra_settings_fail(s, "rollout_batch_size", error,
                            "a multiple of train_env_manager.group_size");
  recipe->n_prompts /= group;
  recipe->n_samples = group;
  ra_recipe_turns(recipe, turns, each, recipe->max_response);
  return TRUE;
}

/* ---- The whole ----------------------------------------------------------- */

static gboolean
read_adapters(RaRecipe *recipe, RaSettings *s, const char *worker,
              GError **error)
{
  recipe->lora_ref = TRUE; /* is_lora_training() of the pipelines */
  return ra_recipe_lora(recipe, s, RA_RECIPE_ACTOR,
                        ra_recipe_at(worker, ".model_args.lora_rank"),
                        ra_recipe_at(worker, ".model_args.lora_target"), error);
}

/* PPOConfig: a divergence brings the reference, and more than one step the log
 * probabilities before training. */
static gboolean
read_logprobs(RaRecipe *recipe, RaSettings *s, GError **error)
{
  gboolean ref = ra_recipe_is_on(s, "enable_reference");
  gboolean old = ra_recipe_is_on(s, "enable_old_logprobs_recompute");
  double kl;

  if (!ra_settings_double(s, "init_kl_coef", 0.2, 0, 1e6, &kl, error))
    return FALSE;
  ref |= kl > 0 || ra_recipe_is_on(s, "use_kl_loss");
  old |= kl > 0 || recipe->n_mini_batches > 1 ||
         g_str_equal(recipe->algorithm, "step_reinforce") ||
         g_str_equal(recipe->algorithm, "gigpo");
  if (ra_recipe_is_on(s, "force_disable_old_logprobs_recompute"))
    old = FALSE;
  if (ref && recipe->lora[RA_RECIPE_ACTOR].rank > 0) {
    ra_recipe_like(recipe, RA_RECIPE_REF_INFERENCE, RA_RECIPE_ACTOR_TRAIN);
    ref = FALSE;
  }
  return (!ref || read_worker(recipe, s, RA_RECIPE_REF_INFERENCE, "reference",
                              error)) &&
         (!old || read_worker(recipe, s, RA_RECIPE_ACTOR_INFERENCE,
                              "actor_train", error));
}

static gboolean
read_critic(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *train = &recipe->calls[RA_RECIPE_CRITIC_TRAIN];

  if (!g_str_equal(recipe->algorithm, "gae"))
    return TRUE;
  g_free(recipe->algorithm);
  recipe->algorithm = g_strdup("ppo");
  return read_worker(recipe, s, RA_RECIPE_CRITIC_TRAIN, "critic", error) &&
         read_worker(recipe, s, RA_RECIPE_CRITIC_INFERENCE, "critic", error) &&
         read_steps(recipe, s, "critic", train->dp, &train->n_mini_batches,
                    error);
}

/* A judge with GPUs of its own is an inference engine of its own model. */
static void
read_judges(RaRecipe *recipe, RaSettings *s)
{
  for (guint i = 0; i < ra_settings_n(s); i++) {
    const char *key = ra_settings_at(s, i)->key;

    if (g_str_has_prefix(key, "rewards.") &&
        g_str_has_suffix(key, ".device_mapping"))
      ra_settings_settle(s, i, "time", "a judge that takes no time");
  }
  (void)recipe;
}

/* Between its calls a model's state is in host memory where engines share its
 * GPUs (base_worker.py: is_offload_states). */
static void
put_to_sleep(RaRecipe *recipe)
{
  const RaRecipeCall *generate = &recipe->GENERATE;

  for (guint k = RA_RECIPE_ACTOR_INFERENCE; k < RA_N_RECIPE_CALLS; k++) {
    RaRecipeCall *call = &recipe->calls[k];
    gboolean meets = generate->is_there && call->is_there &&
                     call->first_gpu < generate->first_gpu + generate->n_gpus &&
                     generate->first_gpu < call->first_gpu + call->n_gpus;

    call->host |= meets;
    if (k == RA_RECIPE_ACTOR_TRAIN || k == RA_RECIPE_CRITIC_TRAIN)
      call->optimizer_host |= meets;
  }
}

/* SFT and DPO: an iteration is one optimizer step. */
static gboolean
read_supervised(RaRecipe *recipe, RaSettings *s, const char *worker,
                GError **error)
{
  RaRecipeCall *train = &recipe->calls[RA_RECIPE_ACTOR_TRAIN];
  gboolean is_dpo = recipe->task == RA_RECIPE_DPO;
  uint32_t each, steps, length;

  g_free(recipe->algorithm);
  recipe->algorithm = g_strdup(is_dpo ? "dpo" : "sft");
  if (!read_worker(recipe, s, RA_RECIPE_ACTOR_TRAIN, worker, error) ||
      !ra_recipe_count(
          s, ra_recipe_at(worker, ".training_args.per_device_train_batch_size"),
          8, &each, error) ||
      !ra_recipe_count(
          s, ra_recipe_at(worker, ".training_args.gradient_accumulation_steps"),
          1, &steps, error) ||
      !ra_settings_uint32(s, "sequence_length", 0, 0, RA_RECIPE_COUNT_MAX,
                          &length, error) ||
      !read_adapters(recipe, s, worker, error))
    return FALSE;
  recipe->n_prompts = each * steps * train->dp;
  recipe->n_samples = is_dpo ? 2 : 1;
  train->micro_batch = each * recipe->n_samples;
  ra_recipe_halve(recipe, length);
  return !is_dpo ||
         read_worker(recipe, s, RA_RECIPE_REF_INFERENCE, "reference", error);
}

static gboolean
read_roll(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *train = &recipe->calls[RA_RECIPE_ACTOR_TRAIN];
  uint32_t per_node;
  gboolean ok;

  if (!ra_recipe_count(s, "num_gpus_per_node", 8, &per_node, error))
    return FALSE;
  if (ra_settings_has(s, "student"))
    return ra_recipe_refuse(s, "distillation", error);
  if (ra_settings_has(s, "sft_train."))
    recipe->task = RA_RECIPE_SFT;
  else if (!ra_settings_has(s, "actor_infer."))
    recipe->task = RA_RECIPE_DPO;
  else if (!ra_settings_has(s, "actor_train.device_mapping"))
    return ra_recipe_refuse(s, "generation alone", error);
  if (recipe->task != RA_RECIPE_RL)
    ok = read_supervised(
        recipe, s, recipe->task == RA_RECIPE_SFT ? "sft_train" : "actor_train",
        error);
  else
    ok = read_batches(recipe, s, error) && read_rollout(recipe, s, error) &&
         read_worker(recipe, s, RA_RECIPE_ACTOR_TRAIN, "actor_train", error) &&
         read_adapters(recipe, s, "actor_train", error) &&
         read_steps(recipe, s, "actor_train", train->dp,
                    &recipe->n_mini_batches, error) &&
         read_logprobs(recipe, s, error) && read_critic(recipe, s, error);
  if (!ok)
    return FALSE;
  read_judges(recipe, s);
  put_to_sleep(recipe);
  ra_recipe_nodes(recipe, per_node);
  return TRUE;
}

const RaRecipeReader ra_recipe_reader_roll = {
    .name = "roll",
    .prefixes = {"actor_infer.", "sft_train.", "actor_train.strategy_args.",
                 "student"},
    .entries = {"start_rlvr_pipeline", "start_agentic_pipeline"},
    .meanings = meanings,
    .n_meanings = &n_meanings,
    .read = read_roll,
};
