/* Configurations of SkyRL: overrides of skyrl.train.entrypoints.main_base and
 * of the entry points derived from it, and of skyrl.train.main_sft.
 *
 * What a missing key means is what skyrl/train/config says at revision a956457
 * (2026-08); some names are those that skyrl-train had before. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/recipe_impl.h"

#define ENGINE "generator.inference_engine."
#define PLACE "trainer.placement."
#define ALGORITHM "trainer.algorithm."
#define GENERATE calls[RA_RECIPE_GENERATE]
#define TRAIN calls[RA_RECIPE_ACTOR_TRAIN]

static const RaMeaning meanings[] = {
    /* Straight into the recipe. */
    RA_MEANS(COUNT, "trainer.train_batch_size", "1024", n_prompts),
    RA_MEANS(COUNT, "generator.n_samples_per_prompt", "5", n_samples),
    RA_MEANS(COUNT, "trainer.max_prompt_length", "512", max_prompt),
    RA_MEANS(COUNT, "generator.sampling_params.max_generate_length", "1024",
             max_response),
    RA_MEANS(COUNT, "trainer.update_epochs_per_batch", "1", n_epochs),
    RA_MEANS(COUNT, ENGINE "tensor_parallel_size", "1", GENERATE.tp),
    RA_MEANS(COUNT, "generator.inference_engine_tensor_parallel_size", NULL,
             GENERATE.tp),
    RA_MEANS(COUNT, ENGINE "pipeline_parallel_size", "1", GENERATE.pp),
    RA_MEANS(COUNT, "generator.inference_engine_pipeline_parallel_size", NULL,
             GENERATE.pp),
    RA_MEANS(COUNT, ENGINE "expert_parallel_size", "1", GENERATE.ep),
    RA_MEANS(COUNT, "generator.inference_engine_expert_parallel_size", NULL,
             GENERATE.ep),
    RA_MEANS(COUNT, ENGINE "max_num_seqs", "1024", GENERATE.max_sequences),
    RA_MEANS(COUNT, "generator.max_num_seqs", NULL, GENERATE.max_sequences),
    RA_MEANS(COUNT, ENGINE "max_num_batched_tokens", "8192",
             GENERATE.prefill_tokens),
    RA_MEANS(COUNT, "generator.max_num_batched_tokens", NULL,
             GENERATE.prefill_tokens),
    RA_MEANS(FRACTION, ENGINE "gpu_memory_utilization", "0.8",
             GENERATE.memory_frac),
    RA_MEANS(FRACTION, "generator.gpu_memory_utilization", NULL,
             GENERATE.memory_frac),
    RA_MEANS(SWITCH, ENGINE "enable_prefix_caching", "true",
             GENERATE.prefix_sharing),
    RA_MEANS(TEXT, "trainer.algorithm.advantage_estimator", "grpo", algorithm),
    RA_MEANS(TEXT, "trainer.policy.model.path", "Qwen/Qwen2.5-1.5B-Instruct",
             model[RA_RECIPE_ACTOR]),

    /* The reader's functions. */
    RA_MEANS_CODE("trainer.placement.*"),
    RA_MEANS_CODE("placement.*"),
    RA_MEANS_CODE("trainer.strategy"),
    RA_MEANS_CODE("strategy"),
    RA_MEANS_CODE("model.path"),
    RA_MEANS_CODE("batch_size"),
    RA_MEANS_CODE("max_length"),
    RA_MEANS_CODE("trainer.*_mini_batch_size"),
    RA_MEANS_CODE("*micro_*_batch_size_per_gpu"),
    RA_MEANS_CODE("*max_tokens_per_microbatch"),
    RA_MEANS_CODE("*.sequence_parallel_size"),
    RA_MEANS_CODE("sequence_parallel_size"),
    RA_MEANS_CODE("*fsdp_config.fsdp_size"),
    RA_MEANS_CODE("*fsdp_config.reshard_after_forward"),
    RA_MEANS_CODE("*fsdp_config.cpu_offload"),
    RA_MEANS_CODE("*.offload_after_step"),
    RA_MEANS_CODE("*megatron_config.*_parallel_size"),
    RA_MEANS_CODE("*.overlap_grad_reduce"),
    RA_MEANS_CODE("*.recompute_granularity"),
    RA_MEANS_CODE("*.num_layers_in_first_pipeline_stage"),
    RA_MEANS_CODE("*.num_layers_in_last_pipeline_stage"),
    RA_MEANS_CODE("*.optimizer_cpu_offload"),
    RA_MEANS_CODE("*.lora_config.merge_lora"),
    RA_MEANS_CODE("*.lora.rank"),
    RA_MEANS_CODE("*.lora.target_modules"),
    RA_MEANS_CODE("trainer.gradient_checkpointing"),
    RA_MEANS_CODE("trainer.critic.model.path"),
    RA_MEANS_CODE("trainer.ref.model.path"),
    RA_MEANS_CODE("trainer.algorithm.use_kl_*"),
    RA_MEANS_CODE("trainer.algorithm.dynamic_sampling.*"),
    RA_MEANS_CODE("trainer.fully_async.enabled"),
    RA_MEANS_CODE("trainer.fully_async.max_staleness_steps"),
    RA_MEANS_CODE("trainer.fully_async.clear_kv_cache_on_weight_sync"),
    RA_MEANS_CODE("*num_engines"),
    RA_MEANS_CODE("generator.num_inference_engines"),
    RA_MEANS_CODE("generator.*data_parallel_size"),
    RA_MEANS_CODE("generator.*enforce_eager"),
    RA_MEANS_CODE("generator.max_turns"),
    RA_MEANS_CODE("generator.max_input_length"),

    /* Time. */
    RA_MEANS_CODE("trainer.remove_microbatch_padding"),
    RA_MEANS_CODE("trainer.use_sample_packing"),
    RA_MEANS_LOST(TIME, "*remove_microbatch_padding", "true", "no padding"),
    RA_MEANS_LOST(TIME, "*use_sample_packing", "true", "no padding"),
    RA_MEANS_LOST(TIME, "use_sequence_packing", "true|off", "no padding"),
    RA_MEANS_LOST(TIME, "trainer.flash_attn", "true", "flash attention"),
    RA_MEANS_LOST(TIME, "trainer.logprobs_chunk_size", "1024",
                  "log-probabilities in one piece"),
    RA_MEANS_LOST(TIME, "trainer.recompute_old_logprobs_per_minibatch", "true",
                  "log-probabilities before training"),
    RA_MEANS_LOST(TIME, "*.model.fake_int4_qat.enabled", "off", "bf16"),
    RA_MEANS_NOTHING("*.model.fake_int4_qat.*"),
    RA_MEANS_LOST(TIME, "generator.*run_engines_locally", "true",
                  "engines of this run"),
    RA_MEANS_LOST(TIME, ENGINE "external_*", "off", "engines of this run"),
    RA_MEANS_LOST(TIME, ENGINE "enable_pd", "off",
                  "prompts and responses on the same GPUs"),
    RA_MEANS_NOTHING(ENGINE "num_prefill"),
    RA_MEANS(NATURAL, ENGINE "speculative_config.num_speculative_tokens", NULL,
             drafts.n_tokens),
    RA_MEANS(TEXT, ENGINE "speculative_config.method", NULL, draft_method),
    RA_MEANS_NOTHING(ENGINE "speculative_config.*"),
    RA_MEANS_LOST(TIME, ENGINE "speculative_config*", "off", "no draft"),
    RA_MEANS_CODE("trainer.mtp.enabled"),
    RA_MEANS_CODE("trainer.mtp.num_speculative_tokens"),
    RA_MEANS_NOTHING("trainer.mtp.*"),
    RA_MEANS_LOST(TIME, "*.mtp_num_layers", "off", "no draft layers"),
    RA_MEANS_NOTHING("*.mtp_loss_*"),
    RA_MEANS_LOST(TIME, ENGINE "weight_sync_backend", "nccl",
                  "weights over the network"),
    RA_MEANS_NOTHING("*weight_sync*"),
    RA_MEANS_LOST(TIME, ENGINE "offload_kv_for_weight_sync", "off",
                  "the KV cache stays"),
    RA_MEANS_LOST(TIME, ENGINE "enable_return_routed_experts", "off",
                  "no indices of experts are sent"),
    RA_MEANS_NOTHING("*.moe_enable_routing_replay"),
    RA_MEANS_LOST(TIME, ENGINE "fully_sharded_loras", "off",
                  "adapters are not sharded"),
    RA_MEANS_LOST(TIME, ENGINE "engine_init_kwargs.quantization", "off",
                  "bf16"),
    RA_MEANS_LOST(TIME, ENGINE "engine_init_kwargs.kv_cache_dtype", "auto|off",
                  "bf16"),
    RA_MEANS_LOST(TIME, ENGINE "engine_init_kwargs.kv_transfer_config*", "off",
                  "the KV cache stays"),
    RA_MEANS_LOST(TIME, "trainer.fully_async.num_parallel_generation_workers",
                  NULL, "as many as the staleness allows"),
    RA_MEANS_LOST(TIME, "trainer.fully_async.sample_full_batch", "off",
                  "every group counts"),
    RA_MEANS_LOST(TIME, "trainer.fully_async.simulate_*", "off",
                  "training takes place"),
    RA_MEANS_LOST(TIME, "generator.rate_limit.enabled", "off", "no limit"),
    RA_MEANS_NOTHING("generator.rate_limit.*"),
    RA_MEANS_LOST(TIME, "generator.batched", "off|true", NULL),
    RA_MEANS_LOST(TIME, "generator.step_wise_trajectories", "off",
                  "a conversation is one sequence"),
    RA_MEANS_NOTHING("generator.merge_stepwise_output"),
    RA_MEANS_LOST(TIME, "generator.vision_language_generator", "off",
                  "no images"),
    RA_MEANS_LOST(TIME, "generator.enable_child_agents", "off", "one agent"),
    RA_MEANS_NOTHING("generator.train_child_trajectories"),
    RA_MEANS_LOST(TIME, "*.use_torch_compile", "off", "eager kernels"),
    RA_MEANS_LOST(TIME, "*.overlap_param_gather", "off",
                  "weights are gathered after the step"),
    RA_MEANS_LOST(TIME, "*.moe_token_dispatcher_type", "alltoall|allgather",
                  "all-to-all"),
    RA_MEANS_LOST(TIME, "trainer.override_entrypoint", "off",
                  "SkyRL's own trainer"),
    RA_MEANS_LOST(TIME, "trainer.arctic_rl.*", "off", "SkyRL's own trainer"),

    /* Memory. */
    RA_MEANS_LOST(MEMORY, "*.recompute_method", "uniform|off", "every layer"),
    RA_MEANS_LOST(MEMORY, "*.recompute_num_layers", "1|off", "every layer"),
    RA_MEANS_LOST(MEMORY, "*.recompute_modules*", "core_attn|['core_attn']|off",
                  "recomputation of core attention"),
    RA_MEANS_CODE("*.use_precision_aware_optimizer"),
    RA_MEANS_CODE("*.optimizer_offload_fraction"),
    RA_MEANS_NOTHING("*.overlap_cpu_optimizer_d2h_h2d"),
    RA_MEANS_LOST(MEMORY, "trainer.fused_lm_head_logprob", "off",
                  "logits are in memory"),
    RA_MEANS_NOTHING("trainer.fused_lm_head_logprob_backend"),
    RA_MEANS_LOST(MEMORY, "*.grad_reduce_in_fp32", "true", "fp32 gradients"),
    RA_MEANS_LOST(MEMORY, "*.mixed_precision.param_dtype", "bf16|off", "bf16"),
    RA_MEANS_NOTHING("*.mixed_precision*"),
    RA_MEANS_LOST(MEMORY, "trainer.bf16", "true", "bf16"),
    RA_MEANS_LOST(MEMORY, "*.inference_only_init", "off", "training's state"),

    /* Learning. */
    RA_MEANS_LOST(LEARNING, "trainer.update_ref_every_epoch", "off",
                  "one reference throughout"),
    RA_MEANS_LOST(LEARNING, "*.freeze_moe_router", "off",
                  "all parameters learn"),

    /* Keys that change none of the three. */
    RA_MEANS_NOTHING("*optimizer_config.*"),
    RA_MEANS_NOTHING("*.optimizer_config_kwargs.*"),
    RA_MEANS_NOTHING("*fsdp_config.wrap_policy*"),
    RA_MEANS_CODE("*.transformer_config_kwargs.fp8"),
    RA_MEANS_CODE("*.transformer_config_kwargs.fp8_recipe"),
    RA_MEANS_CODE("*.transformer_config_kwargs.fp8_param"),
    RA_MEANS_CODE("*.transformer_config_kwargs.first_last_layers_bf16"),
    RA_MEANS_CODE("*.transformer_config_kwargs.num_layers_at_*_in_bf16"),
    RA_MEANS_NOTHING("*.transformer_config_kwargs.*"),
    RA_MEANS_NOTHING("*model_config_kwargs*"),
    RA_MEANS_NOTHING("*.ddp_config.*"),
    RA_MEANS_NOTHING("*.hf_export_config.*"),
    RA_MEANS_NOTHING("*.lora_config.*"),
    RA_MEANS_NOTHING("*.lora.*"),
    RA_MEANS_NOTHING("*.moe_*"),
    RA_MEANS_NOTHING("*.empty_cuda_cache"),
    RA_MEANS_NOTHING("*dist_ckpt*"),
    RA_MEANS_NOTHING("*async_save_*"),
    RA_MEANS_NOTHING("*language_model_only"),
    RA_MEANS_NOTHING("*record_memory"),
    RA_MEANS_NOTHING("*torch_profiler_config*"),
    RA_MEANS_NOTHING("trainer.algorithm.*"),
    RA_MEANS_NOTHING("trainer.*_interval"),
    RA_MEANS_NOTHING("trainer.epochs"),
    RA_MEANS_NOTHING("trainer.max_training_steps"),
    RA_MEANS_NOTHING("trainer.eval_*"),
    RA_MEANS_NOTHING("trainer.*path"),
    RA_MEANS_NOTHING("trainer.resume_mode"),
    RA_MEANS_NOTHING("trainer.max_ckpts_to_keep"),
    RA_MEANS_NOTHING("trainer.logger"),
    RA_MEANS_NOTHING("trainer.*_name"),
    RA_MEANS_NOTHING("trainer.tags"),
    RA_MEANS_NOTHING("trainer.seed"),
    RA_MEANS_NOTHING("trainer.dump_*"),
    RA_MEANS_NOTHING("trainer.*samples"),
    RA_MEANS_NOTHING("trainer.enable_ray_gpu_monitor"),
    RA_MEANS_NOTHING("trainer.disable_fast_tokenizer"),
    RA_MEANS_NOTHING("trainer.use_expandable_segments"),
    RA_MEANS_NOTHING("trainer.sequence_parallel_backend"),
    RA_MEANS_NOTHING("trainer.vocab_entropy_chunk_*"),
    RA_MEANS_NOTHING("trainer.gradient_checkpointing_use_reentrant"),
    RA_MEANS_NOTHING("generator.*backend"),
    RA_MEANS_NOTHING("generator.async_engine"),
    RA_MEANS_NOTHING(ENGINE "async_engine"),
    RA_MEANS_NOTHING(ENGINE "enable_chunked_prefill"),
    RA_MEANS_NOTHING(ENGINE "model_dtype"),
    RA_MEANS_NOTHING(ENGINE "served_model_name"),
    RA_MEANS_NOTHING(ENGINE "use_expandable_segments"),
    RA_MEANS_NOTHING(ENGINE "vllm_v1_disable_multiproc"),
    RA_MEANS_NOTHING(ENGINE "enable_ray_prometheus_stats"),
    RA_MEANS_NOTHING(ENGINE "thunder_agent_*"),
    RA_MEANS_NOTHING(ENGINE "router_init_kwargs*"),
    RA_MEANS_NOTHING(ENGINE "engine_init_kwargs.max_model_len"),
    RA_MEANS_NOTHING(ENGINE "engine_init_kwargs.enable_log_requests"),
    RA_MEANS_NOTHING(ENGINE "engine_init_kwargs.chat_template"),
    RA_MEANS_NOTHING(ENGINE "engine_init_kwargs.language_model_only"),
    RA_MEANS_NOTHING("generator.*sampling_params.*"),
    RA_MEANS_NOTHING("generator.eval_*"),
    RA_MEANS_NOTHING("generator.*chat_template*"),
    RA_MEANS_NOTHING("generator.*_multi_turn"),
    RA_MEANS_NOTHING("generator.apply_overlong_filtering"),
    RA_MEANS_NOTHING("generator.zero_reward_on_non_stop"),
    RA_MEANS_NOTHING("generator.use_cache_salt"),
    RA_MEANS_NOTHING("generator.task"),
    RA_MEANS_NOTHING("generator.miniswe_*"),
    RA_MEANS_NOTHING("environment.*"),
    RA_MEANS_NOTHING("data.*"),
    /* SFT. */
    RA_MEANS_NOTHING("*dataset*"),
    RA_MEANS_NOTHING("*_key"),
    RA_MEANS_NOTHING("eval_*"),
    RA_MEANS_NOTHING("num_steps"),
    RA_MEANS_NOTHING("num_epochs"),
    RA_MEANS_NOTHING("num_workers"),
    RA_MEANS_NOTHING("max_training_steps"),
    RA_MEANS_NOTHING("logger"),
    RA_MEANS_NOTHING("*_name"),
    RA_MEANS_NOTHING("ckpt_*"),
    RA_MEANS_NOTHING("*_interval"),
    RA_MEANS_NOTHING("export_path"),
    RA_MEANS_NOTHING("resume_from"),
    RA_MEANS_NOTHING("seed"),
    RA_MEANS_NOTHING("dummy_run_*"),
    RA_MEANS_NOTHING("train_on_what"),
    RA_MEANS_NOTHING("*cache*"),
    RA_MEANS_NOTHING("sampler*"),
};
static const guint n_meanings = G_N_ELEMENTS(meanings);
/* The first of @a and @b that is set, else @a. */
static const char *
either(RaSettings *s, const char *a, const char *b)
{
  return !ra_settings_get(s, a) && ra_settings_get(s, b) ? b : a;
}

/* ---- Training and inference ---------------------------------------------- */

static gboolean
read_fsdp(RaSettings *s, const char *prefix, RaRecipeCall *call, GError **error)
{
  const char *fsdp = ra_recipe_at(prefix, "fsdp_config.");
  const char *shards = ra_recipe_at(fsdp, "reshard_after_forward");
  const char *size = ra_settings_get(s, ra_recipe_at(fsdp, "fsdp_size"));
  const char *ulysses = ra_recipe_at(prefix, "sequence_parallel_size");
  const char *word = ra_settings_get(s, shards);
  int64_t group = size ? g_ascii_strtoll(size, NULL, 10) : -1;
  gboolean offload;

  if (!ra_recipe_count(s, ulysses, 1, &call->cp, error) ||
      !ra_settings_bool(s, ra_recipe_at(fsdp, "cpu_offload"), FALSE, &offload,
                        error))
    return FALSE;
  if (call->cp > 1)
    ra_settings_about(s, ulysses, "context parallelism of %u (a ring)",
                      call->cp);
  call->zero = word && g_ascii_strcasecmp(word, "false") == 0 ? 2 : 3;
  if (group > 0 && group < call->n_gpus)
    call->zero_group = MAX(1, (uint32_t)group / call->cp);
  call->fp32_grads = call->overlap = TRUE;
  call->host |= offload;
  call->optimizer_host |= offload;
  return TRUE;
}

static gboolean
read_megatron(RaSettings *s, const char *prefix, RaRecipeCall *call,
              GError **error)
{
#define OPTIMIZER "optimizer_config_kwargs."
  const char *own = ra_recipe_at(prefix, "megatron_config.");
  const char *kwargs = ra_recipe_at(own, "transformer_config_kwargs.");
  const char *word =
      ra_settings_get(s, ra_recipe_at(kwargs, "recompute_granularity"));

  if (!ra_recipe_megatron(s, own, call, error) ||
      !ra_settings_bool(s, ra_recipe_at(own, "ddp_config.overlap_grad_reduce"),
                        FALSE, &call->overlap, error) ||
      !ra_recipe_optimizer(
          s,
          &(RaRecipeOptimizer){
              ra_recipe_at(own, OPTIMIZER "optimizer_cpu_offload"),
              ra_recipe_at(own, OPTIMIZER "optimizer_offload_fraction"), 0,
              ra_recipe_at(own, OPTIMIZER "use_precision_aware_optimizer")},
          call, error) ||
      !ra_settings_uint32(
          s, ra_recipe_at(kwargs, "num_layers_in_first_pipeline_stage"), 0, 0,
          RA_RECIPE_COUNT_MAX, &call->first_layers, error) ||
      !ra_settings_uint32(
          s, ra_recipe_at(kwargs, "num_layers_in_last_pipeline_stage"), 0, 0,
          RA_RECIPE_COUNT_MAX, &call->last_layers, error) ||
      !ra_recipe_fp8(
          s,
          &(RaRecipeFp8){ra_recipe_at(kwargs, "fp8"), NULL,
                         ra_recipe_at(kwargs, "fp8_recipe"), NULL,
                         ra_recipe_at(kwargs, "fp8_param"),
                         ra_recipe_at(kwargs, "first_last_layers_bf16"),
                         ra_recipe_at(kwargs, "num_layers_at_start_in_bf16"),
                         ra_recipe_at(kwargs, "num_layers_at_end_in_bf16")},
          call, error))
    return FALSE;
  call->sequence_parallel = call->tp > 1;
  call->selective_recompute = g_strcmp0(word, "selective") == 0;
  call->full_recompute = !word || g_str_equal(word, "full");
  return TRUE;
#undef OPTIMIZER
}

/* One call of the role with @prefix, on the GPUs of training. */
static gboolean
read_engine(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind,
            const char *prefix, GError **error)
{
  const char *root = recipe->task == RA_RECIPE_SFT ? "" : "trainer.";
  const char *key = ra_recipe_at(root, "strategy");
  const char *name = ra_settings_get(s, key);
  gboolean is_train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;
  RaRecipeCall *call = &recipe->calls[kind];
  gboolean checkpoints, megatron, packs;
  uint32_t tokens;

  if (!name)
    name = recipe->task == RA_RECIPE_SFT ? "megatron" : "fsdp";
  call->is_there = TRUE;
  call->n_gpus = recipe->calls[RA_RECIPE_ACTOR_TRAIN].n_gpus;
  if (!ra_settings_bool(s, "trainer.gradient_checkpointing", TRUE, &checkpoints,
                        error))
    return FALSE;
  megatron = g_str_equal(name, "megatron");
  if (!ra_settings_bool(s,
                        ra_settings_get(s, "trainer.use_sample_packing")
                            ? "trainer.use_sample_packing"
                            : "trainer.remove_microbatch_padding",
                        TRUE, &packs, error))
    return FALSE;
  /* The batch is padded to its longest; Megatron's workers cut that to the
   * longest of the micro-batch (megatron_model_wrapper.py,
   * remove_left_padding()). */
  if (!packs)
    call->padding = megatron ? RA_PADDING_MICRO_BATCH : RA_PADDING_BATCH;
  if (megatron) {
    if (!read_megatron(s, prefix, call, error))
      return FALSE;
    call->full_recompute &= checkpoints;
  } else if (g_str_has_prefix(name, "fsdp")) {
    call->full_recompute = checkpoints;
    if (!read_fsdp(s, prefix, call, error))
      return FALSE;
  } else {
    return ra_settings_fail(s, key, error, "fsdp, fsdp2 or megatron");
  }
  if (!ra_recipe_count(
          s,
          ra_recipe_at(root, is_train ? "micro_train_batch_size_per_gpu"
                                      : "micro_forward_batch_size_per_gpu"),
          recipe->task == RA_RECIPE_SFT ? 2 : 1, &call->micro_batch, error))
    return FALSE;
  key = ra_recipe_at(root, "max_tokens_per_microbatch");
  if (!ra_settings_get(s, key) ||
      g_str_has_prefix(ra_settings_get(s, key), "-"))
    return TRUE;
  if (!ra_recipe_count(s, key, 1, &tokens, error))
    return FALSE;
  call->micro_tokens = tokens;
  return TRUE;
}

/* ---- GPUs ---------------------------------------------------------------- */

static gboolean
read_pools(RaRecipe *recipe, RaSettings *s, gboolean *is_apart, GError **error)
{
  const RaRecipeCall *generate = &recipe->calls[RA_RECIPE_GENERATE];
  const char *engines =
      either(s, ENGINE "num_engines", "generator.num_inference_engines");
  const char *replicas =
      either(s, ENGINE "data_parallel_size",
             "generator.inference_engine_data_parallel_size");
  uint32_t n_nodes, n_gpus, n_engines, n_replicas, own;
  gboolean colocate;
  double all;

  if (!ra_recipe_count(s, PLACE "policy_num_nodes", 1, &n_nodes, error) ||
      !ra_recipe_count(s, PLACE "policy_num_gpus_per_node", 1, &n_gpus,
                       error) ||
      !ra_recipe_count(s, engines, 1, &n_engines, error) ||
      !ra_recipe_count(s, replicas, 1, &n_replicas, error) ||
      !ra_settings_bool(s, PLACE "colocate_all", TRUE, &colocate, error))
    return FALSE;
  all = (double)n_engines * n_replicas * generate->tp * generate->pp;
  if (all > RA_RECIPE_COUNT_MAX)
    return ra_settings_fail(s, engines, error, "fewer GPUs of engines");
  own = (uint32_t)all;
  *is_apart = !colocate;
  if (colocate && own != n_nodes * n_gpus)
    return ra_settings_fail(s, engines, error,
                            "as many GPUs for engines as for the policy, as "
                            "colocate_all is on");
  if (colocate)
    return ra_recipe_pools(recipe, n_nodes, n_gpus, 0, 0, error);
  if (own % n_gpus == 0)
    return ra_recipe_pools(recipe, n_nodes, n_gpus, own / n_gpus, n_gpus,
                           error);
  return ra_recipe_pools(recipe, n_nodes, n_gpus, 1, own, error);
}

/* ---- Batches ------------------------------------------------------------- */

static gboolean
read_batches(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *key = "trainer.policy_mini_batch_size";
  const char *kind = ra_settings_get(s, ALGORITHM "dynamic_sampling.type");
  const char *most =
      ra_settings_get(s, ALGORITHM "dynamic_sampling.max_sample_batches");
  uint32_t mini;

  if (!ra_recipe_count(s, key, 256, &mini, error))
    return FALSE;
  if (ra_recipe_is_on(s, "trainer.fully_async.enabled"))
    recipe->n_prompts = mini; /* a step takes one mini-batch */
  mini = MIN(mini, recipe->n_prompts);
  if (recipe->n_prompts % mini != 0)
    return ra_settings_fail(s, key, error, "a divisor of train_batch_size");
  recipe->n_mini_batches = recipe->n_prompts / mini;
  if (!kind)
    return TRUE;
  if (g_str_equal(kind, "filter")) {
    recipe->trips.n_prompts = recipe->n_prompts;
    recipe->trips.most = 30;
    if (most && g_str_has_prefix(most, "-"))
      recipe->trips.most = 0; /* without end */
    else if (!ra_recipe_count(s,
                              ALGORITHM "dynamic_sampling.max_sample_batches",
                              30, &recipe->trips.most, error))
      return FALSE;
  } else {
    ra_settings_about(s, ALGORITHM "dynamic_sampling.type",
                      "no group is replaced");
  }
  return TRUE;
}

/* skyrl/train/generators: a turn may be as long as max_generate_length, and the
 * last one begins no later than at max_input_length. */
static gboolean
read_turns(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t turns, input, room;

  if (!ra_recipe_count(s, "generator.max_turns", 1, &turns, error) ||
      !ra_recipe_count(s, "generator.max_input_length", recipe->max_prompt,
                       &input, error))
    return FALSE;
  room = recipe->max_response +
         (input > recipe->max_prompt ? input - recipe->max_prompt : 0);
  ra_recipe_turns(recipe, turns, recipe->max_response, room);
  return TRUE;
}

/* ---- Generation ---------------------------------------------------------- */

static gboolean
read_async(RaRecipe *recipe, RaSettings *s, GError **error)
{
#define ASYNC "trainer.fully_async."
  const char *entry = ra_settings_entry(s);
  gboolean clears;

  if (!ra_recipe_is_on(s, ASYNC "enabled")) {
    recipe->staleness = strstr(entry, "main_async") != NULL;
    return TRUE;
  }
  if (!ra_recipe_count(s, ASYNC "max_staleness_steps", 4, &recipe->staleness,
                       error) ||
      !ra_settings_bool(s, ASYNC "clear_kv_cache_on_weight_sync", FALSE,
                        &clears, error))
    return FALSE;
  recipe->async.is_service = TRUE;
  recipe->async.interrupts = clears;
  recipe->async.in_flight = !clears;
  recipe->async.sync_interval = 1;
  return TRUE;
#undef ASYNC
}

static gboolean
read_rollout(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  const char *eager =
      either(s, ENGINE "enforce_eager", "generator.enforce_eager");

  if (ra_recipe_is_on(s, "trainer.mtp.enabled") &&
      !ra_recipe_count(s, "trainer.mtp.num_speculative_tokens", 1,
                       &recipe->drafts.n_tokens, error))
    return FALSE;
  call->is_there = TRUE;
  call->graph = !ra_recipe_is_on(s, eager);
  call->etp = call->ep > 1 ? 1 : 0; /* whole experts, as in vLLM */
  return read_async(recipe, s, error) && read_turns(recipe, s, error);
}

/* ---- The whole ----------------------------------------------------------- */

static gboolean
read_adapters(RaRecipe *recipe, RaSettings *s, RaRecipeModel model,
              const char *prefix, GError **error)
{
  const char *merge =
      ra_recipe_at(prefix, "megatron_config.lora_config.merge_lora");

  if (!ra_recipe_lora(recipe, s, model, ra_recipe_at(prefix, "model.lora.rank"),
                      ra_recipe_at(prefix, "model.lora.target_modules"), error))
    return FALSE;
  if (model == RA_RECIPE_ACTOR && recipe->lora[model].rank > 0 &&
      recipe->calls[RA_RECIPE_ACTOR_TRAIN].zero == 1)
    return ra_settings_bool(s, merge, TRUE, &recipe->lora_merged, error);
  return TRUE;
}

static gboolean
read_critic(RaRecipe *recipe, RaSettings *s, GError **error)
{
#define CRITIC "trainer.critic."
  RaRecipeCall *train = &recipe->calls[RA_RECIPE_CRITIC_TRAIN];
  uint32_t mini;

  if (!g_str_equal(recipe->algorithm, "gae"))
    return TRUE;
  g_free(recipe->algorithm);
  recipe->algorithm = g_strdup("ppo");
  ra_recipe_text(s, CRITIC "model.path", recipe->model[RA_RECIPE_ACTOR],
                 &recipe->model[RA_RECIPE_CRITIC]);
  if (!read_engine(recipe, s, RA_RECIPE_CRITIC_TRAIN, CRITIC, error) ||
      !read_engine(recipe, s, RA_RECIPE_CRITIC_INFERENCE, CRITIC, error) ||
      !ra_recipe_count(s, "trainer.critic_mini_batch_size", 256, &mini, error))
    return FALSE;
  mini = MIN(mini, recipe->n_prompts);
  if (recipe->n_prompts % mini == 0)
    train->n_mini_batches = recipe->n_prompts / mini;
  return read_adapters(recipe, s, RA_RECIPE_CRITIC, CRITIC, error);
#undef CRITIC
}

/* A reference is there if its divergence counts in the loss, as it does by
 * default, or in the reward. */
static gboolean
read_ref(RaRecipe *recipe, RaSettings *s, GError **error)
{
  gboolean in_loss, in_reward;

  if (!ra_settings_bool(s, ALGORITHM "use_kl_loss", TRUE, &in_loss, error) ||
      !ra_settings_bool(s, ALGORITHM "use_kl_in_reward", FALSE, &in_reward,
                        error))
    return FALSE;
  if (!in_loss && !in_reward)
    return TRUE;
  ra_recipe_text(s, "trainer.ref.model.path", recipe->model[RA_RECIPE_ACTOR],
                 &recipe->model[RA_RECIPE_REF]);
  return read_engine(recipe, s, RA_RECIPE_REF_INFERENCE, "trainer.ref.", error);
}

/* With colocate_all each model is on the GPUs only while it works. */
static void
put_to_sleep(RaRecipe *recipe)
{
  for (guint k = RA_RECIPE_ACTOR_INFERENCE; k < RA_N_RECIPE_CALLS; k++) {
    recipe->calls[k].host = TRUE;
    recipe->calls[k].optimizer_host =
        k == RA_RECIPE_ACTOR_TRAIN || k == RA_RECIPE_CRITIC_TRAIN;
  }
}

static gboolean
read_sft(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t n_nodes, n_gpus, length;

  recipe->task = RA_RECIPE_SFT;
  g_free(recipe->algorithm);
  recipe->algorithm = g_strdup("sft");
  recipe->n_samples = 1;
  ra_recipe_text(s, "model.path", "Qwen/Qwen3-0.6B",
                 &recipe->model[RA_RECIPE_ACTOR]);
  if (!ra_recipe_count(s, "batch_size", 4, &recipe->n_prompts, error) ||
      !ra_recipe_count(s, "placement.num_nodes", 1, &n_nodes, error) ||
      !ra_recipe_count(s, "placement.num_gpus_per_node", 4, &n_gpus, error) ||
      !ra_recipe_pools(recipe, n_nodes, n_gpus, 0, 0, error) ||
      !ra_settings_uint32(s, "max_length", 0, 0, RA_RECIPE_COUNT_MAX, &length,
                          error))
    return FALSE;
  ra_recipe_halve(recipe, length);
  return read_engine(recipe, s, RA_RECIPE_ACTOR_TRAIN, "", error) &&
         read_adapters(recipe, s, RA_RECIPE_ACTOR, "", error);
}

static gboolean
read_skyrl(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *entry = ra_settings_entry(s);
  gboolean is_apart = FALSE;

  if (g_regex_match_simple("main_\\w*generate\\b", entry, 0, 0))
    return ra_recipe_refuse(s, "generation alone", error);
  if (g_regex_match_simple("main_\\w*distill", entry, 0, 0))
    return ra_recipe_refuse(s, "distillation", error);
  if (strstr(entry, "main_sft") || ra_settings_has(s, "placement."))
    return read_sft(recipe, s, error);
  if (!read_pools(recipe, s, &is_apart, error) ||
      !read_batches(recipe, s, error) || !read_rollout(recipe, s, error) ||
      !read_engine(recipe, s, RA_RECIPE_ACTOR_TRAIN, "trainer.policy.",
                   error) ||
      !read_engine(recipe, s, RA_RECIPE_ACTOR_INFERENCE, "trainer.policy.",
                   error) ||
      !read_adapters(recipe, s, RA_RECIPE_ACTOR, "trainer.policy.", error) ||
      !read_ref(recipe, s, error) || !read_critic(recipe, s, error))
    return FALSE;
  if (!is_apart)
    put_to_sleep(recipe);
  return TRUE;
}

const RaRecipeReader ra_recipe_reader_skyrl = {
    .name = "skyrl",
    .prefixes = {"trainer.policy.", "trainer.placement."},
    .entries = {"skyrl.train.entrypoints.main_", "skyrl.train.main_sft",
                "skyrl_train.entrypoints.main_"},
    .meanings = meanings,
    .n_meanings = &n_meanings,
    .read = read_skyrl,
};
