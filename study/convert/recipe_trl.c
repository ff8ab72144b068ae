/* Configurations of TRL: arguments of its scripts (`accelerate launch
 * examples/scripts/dpo.py ...`, `trl grpo ...`), or their YAML.
 *
 * What a missing argument means is what trl/trainer/<name>_config.py says at
 * revision f2cd577 (2026-07), and transformers.TrainingArguments: 8 sequences a
 * device, no accumulation; other keys are those of accelerate's file. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/recipe_impl.h"

#define GENERATE calls[RA_RECIPE_GENERATE]
#define TRAIN calls[RA_RECIPE_ACTOR_TRAIN]

static const RaMeaning meanings[] = {
    /* Straight into the recipe. */
    RA_MEANS(COUNT, "max_prompt_length", NULL, max_prompt),
    RA_MEANS(TEXT, "model_name_or_path", NULL, model[RA_RECIPE_ACTOR]),
    RA_MEANS(TEXT, "model_name_or_path", NULL, model[RA_RECIPE_REF]),

    /* The reader's functions. */
    RA_MEANS_CODE("per_device_train_batch_size"),
    RA_MEANS_CODE("gradient_accumulation_steps"),
    RA_MEANS_CODE("num_generations"),
    RA_MEANS_CODE("steps_per_generation"),
    RA_MEANS_CODE("generation_batch_size"),
    RA_MEANS_CODE("num_iterations"),
    RA_MEANS_CODE("max_completion_length"),
    RA_MEANS_CODE("max_new_tokens"),
    RA_MEANS_CODE("max_length"),
    RA_MEANS_CODE("max_seq_length"),
    RA_MEANS_CODE("max_staleness"),
    RA_MEANS_CODE("response_length"),
    RA_MEANS_CODE("num_ppo_epochs"),
    RA_MEANS_CODE("num_mini_batches"),
    RA_MEANS_CODE("reward_model_path"),
    RA_MEANS_CODE("sft_model_path"),
    RA_MEANS_CODE("beta"),
    RA_MEANS_CODE("use_vllm"),
    RA_MEANS_CODE("vllm_mode"),
    RA_MEANS_CODE("vllm_tensor_parallel_size"),
    RA_MEANS_CODE("vllm_gpu_memory_utilization"),
    RA_MEANS_CODE("vllm_importance_sampling_correction"),
    RA_MEANS_CODE("tensor_parallel_size"),
    RA_MEANS_CODE("data_parallel_size"),
    RA_MEANS_CODE("gradient_checkpointing"),
    RA_MEANS_CODE("precompute_ref_log_probs"),
    RA_MEANS_CODE("use_peft"),
    RA_MEANS_CODE("dtype"),
    RA_MEANS_CODE("torch_dtype"),
    RA_MEANS_CODE("lora_r"),
    RA_MEANS_CODE("lora_target_modules*"),
    RA_MEANS_CODE("config_file"),
    RA_MEANS_CODE("accelerate_config"),
    RA_MEANS_CODE("deepspeed"),
    RA_MEANS_CODE("fsdp"),
    RA_MEANS_CODE("num_processes"),
    RA_MEANS_CODE("num_machines"),
    RA_MEANS_CODE("nnodes"),
    RA_MEANS_CODE("nproc*"),
    RA_MEANS_CODE("launcher.*"),
    RA_MEANS_CODE("distributed_type"),
    RA_MEANS_CODE("*zero_stage"),
    RA_MEANS_CODE("deepspeed_config.*"),
    RA_MEANS_CODE("*offload_optimizer_device"),
    RA_MEANS_CODE("*offload_param_device"),
    RA_MEANS_CODE("*fsdp_reshard_after_forward"),
    RA_MEANS_CODE("*fsdp_offload_params"),
    RA_MEANS_CODE("*fsdp_activation_checkpointing"),
    RA_MEANS_CODE("*parallelism_config_*_size"),

    /* Time. */
    RA_MEANS_LOST(TIME, "packing", NULL, "sequences as long as max_length"),
    RA_MEANS_NOTHING("packing_strategy"),
    RA_MEANS_LOST(TIME, "padding_free", "off|true", NULL),
    RA_MEANS_LOST(TIME, "attn_implementation", NULL, "flash attention"),
    RA_MEANS_LOST(TIME, "torch_compile", "off", "eager kernels"),
    RA_MEANS_LOST(TIME, "bf16", "true|off", "bf16"),
    RA_MEANS_LOST(TIME, "fp16", "off", "bf16"),
    RA_MEANS_LOST(TIME, "mixed_precision", "bf16|no", "bf16"),
    RA_MEANS_LOST(TIME, "optim", "adamw_torch_fused|adamw_torch", "AdamW"),
    RA_MEANS_LOST(TIME, "vllm_model_impl", "vllm", "vLLM's own kernels"),
    RA_MEANS_LOST(TIME, "use_transformers_*", "off", "one static batch"),
    RA_MEANS_NOTHING("transformers_continuous_batching_config*"),
    RA_MEANS_LOST(TIME, "local_rollout_forward_batch_size", "64",
                  "one static batch"),
    RA_MEANS_LOST(TIME, "max_tool_calling_iterations", "off", "one turn"),
    RA_MEANS_LOST(TIME, "environment_factory", "off", "one turn"),
    RA_MEANS_LOST(TIME, "tools", "off", "one turn"),
    RA_MEANS_LOST(TIME, "ds3_gather_for_generation", "true",
                  "weights are gathered before generation"),
    RA_MEANS_LOST(TIME, "fsdp_config.fsdp_sharding_strategy",
                  "FULL_SHARD|1|off", "all ranks shard all"),
    RA_MEANS_LOST(TIME, "max_inflight_tasks", "-1|off", "no limit"),
    RA_MEANS_LOST(TIME, "weight_sync_steps", "1",
                  "weights are sent after each iteration"),

    /* Memory. */
    RA_MEANS_LOST(MEMORY, "vllm_enable_sleep_mode", "off|true", NULL),
    RA_MEANS_LOST(MEMORY, "use_liger_kernel", "off", "plain kernels"),
    RA_MEANS_LOST(MEMORY, "use_liger_loss", "off", "logits are in memory"),
    RA_MEANS_LOST(MEMORY, "activation_offloading", "off", "activations stay"),
    RA_MEANS_LOST(MEMORY, "load_in_8bit", "off", "bf16 weights"),
    RA_MEANS_LOST(MEMORY, "load_in_4bit", "off", "bf16 weights"),
    RA_MEANS_NOTHING("bnb_4bit_*"),
    RA_MEANS_NOTHING("use_bnb_nested_quant"),
    RA_MEANS_LOST(MEMORY, "lora_target_parameters*", "off",
                  "lora_target_modules"),
    RA_MEANS_LOST(MEMORY, "lora_modules_to_save*", "off",
                  "adapters alone learn"),
    RA_MEANS_LOST(MEMORY, "use_dora", "off", "LoRA"),
    RA_MEANS_LOST(MEMORY, "cast_lm_head_to_fp32", "off", "bf16"),

    /* Learning. */
    RA_MEANS_LOST(LEARNING, "sync_ref_model", "off",
                  "one reference throughout"),
    RA_MEANS_NOTHING("ref_model_*"),
    RA_MEANS_LOST(LEARNING, "top_entropy_quantile", "1", "all tokens"),

    /* Keys that change none of the three. */
    RA_MEANS_NOTHING("dataset*"),
    RA_MEANS_NOTHING("datasets.*"),
    RA_MEANS_NOTHING("streaming"),
    RA_MEANS_NOTHING("*learning_rate"),
    RA_MEANS_NOTHING("lr_*"),
    RA_MEANS_NOTHING("warmup_*"),
    RA_MEANS_NOTHING("weight_decay"),
    RA_MEANS_NOTHING("adam_*"),
    RA_MEANS_NOTHING("max_grad_norm"),
    RA_MEANS_NOTHING("num_train_epochs"),
    RA_MEANS_NOTHING("max_steps"),
    RA_MEANS_NOTHING("total_episodes"),
    RA_MEANS_NOTHING("num_sample_generations"),
    RA_MEANS_NOTHING("output_dir"),
    RA_MEANS_NOTHING("run_name"),
    RA_MEANS_NOTHING("report_to"),
    RA_MEANS_NOTHING("logging_*"),
    RA_MEANS_NOTHING("log_*"),
    RA_MEANS_NOTHING("save_*"),
    RA_MEANS_NOTHING("*eval*"),
    RA_MEANS_NOTHING("do_*"),
    RA_MEANS_NOTHING("no_remove_unused_columns"),
    RA_MEANS_NOTHING("remove_unused_columns"),
    RA_MEANS_NOTHING("push_to_hub"),
    RA_MEANS_NOTHING("hub_*"),
    RA_MEANS_NOTHING("*project*"),
    RA_MEANS_NOTHING("*trackio*"),
    RA_MEANS_NOTHING("*wandb*"),
    RA_MEANS_NOTHING("seed"),
    RA_MEANS_NOTHING("data_seed"),
    RA_MEANS_NOTHING("dataloader_*"),
    RA_MEANS_NOTHING("ddp_*"),
    RA_MEANS_NOTHING("temperature"),
    RA_MEANS_NOTHING("top_p"),
    RA_MEANS_NOTHING("top_k"),
    RA_MEANS_NOTHING("min_p"),
    RA_MEANS_NOTHING("repetition_penalty"),
    RA_MEANS_NOTHING("generation_kwargs*"),
    RA_MEANS_NOTHING("cache_implementation"),
    RA_MEANS_NOTHING("*epsilon*"),
    RA_MEANS_NOTHING("delta"),
    RA_MEANS_NOTHING("loss_*"),
    RA_MEANS_NOTHING("*reward*"),
    RA_MEANS_NOTHING("scale_rewards"),
    RA_MEANS_NOTHING("normalize_advantages"),
    RA_MEANS_NOTHING("multi_objective_aggregation"),
    RA_MEANS_NOTHING("mask_truncated_completions"),
    RA_MEANS_NOTHING("importance_sampling_level"),
    RA_MEANS_NOTHING("sapo_*"),
    RA_MEANS_NOTHING("vespo_*"),
    RA_MEANS_NOTHING("*entropy*"),
    RA_MEANS_NOTHING("off_policy_mask_threshold"),
    RA_MEANS_NOTHING("use_bias_correction_kl"),
    RA_MEANS_NOTHING("kl_*"),
    RA_MEANS_NOTHING("cliprange*"),
    RA_MEANS_NOTHING("vf_coef"),
    RA_MEANS_NOTHING("gamma"),
    RA_MEANS_NOTHING("lam"),
    RA_MEANS_NOTHING("whiten_rewards"),
    RA_MEANS_NOTHING("missing_eos_penalty"),
    RA_MEANS_NOTHING("stop_token*"),
    RA_MEANS_NOTHING("label_smoothing"),
    RA_MEANS_NOTHING("truncation_mode"),
    RA_MEANS_NOTHING("shuffle_dataset"),
    RA_MEANS_NOTHING("pad_*"),
    RA_MEANS_NOTHING("eos_token"),
    RA_MEANS_NOTHING("chat_template*"),
    RA_MEANS_NOTHING("*_only_loss"),
    RA_MEANS_NOTHING("completion_only_loss"),
    RA_MEANS_NOTHING("disable_dropout"),
    RA_MEANS_NOTHING("router_aux_loss_coef"),
    RA_MEANS_NOTHING("trust_remote_code"),
    RA_MEANS_NOTHING("model_revision"),
    RA_MEANS_NOTHING("model_init_kwargs*"),
    RA_MEANS_NOTHING("lora_alpha"),
    RA_MEANS_NOTHING("lora_dropout"),
    RA_MEANS_NOTHING("lora_task_type"),
    RA_MEANS_NOTHING("use_rslora"),
    RA_MEANS_NOTHING("*adapter_name"),
    RA_MEANS_NOTHING("gradient_checkpointing_kwargs*"),
    RA_MEANS_NOTHING("torch_empty_cache_steps"),
    RA_MEANS_NOTHING("num_completions_to_print"),
    RA_MEANS_NOTHING("vllm_server_*"),
    RA_MEANS_NOTHING("vllm_group_port"),
    RA_MEANS_NOTHING("vllm_max_model_length"),
    RA_MEANS_NOTHING("vllm_importance_*"),
    RA_MEANS_NOTHING("vllm_structured_*"),
    RA_MEANS_NOTHING("max_model_len*"),
    RA_MEANS_NOTHING("config"),
    /* The file of `accelerate config`. */
    RA_MEANS_NOTHING("compute_environment"),
    RA_MEANS_NOTHING("debug"),
    RA_MEANS_NOTHING("downcast_bf16"),
    RA_MEANS_NOTHING("enable_cpu_affinity"),
    RA_MEANS_NOTHING("fsdp_config.*"),
    RA_MEANS_NOTHING("gpu_ids"),
    RA_MEANS_NOTHING("machine_rank"),
    RA_MEANS_NOTHING("main_*"),
    RA_MEANS_NOTHING("rdzv_backend"),
    RA_MEANS_NOTHING("same_network"),
    RA_MEANS_NOTHING("tpu_*"),
    RA_MEANS_NOTHING("use_cpu"),
    RA_MEANS_NOTHING("parallelism_config.*"),
};
static const guint n_meanings = G_N_ELEMENTS(meanings);

typedef enum {
  GRPO,
  RLOO,
  PPO,
  ONLINE_DPO,
  XPO,
  NASH_MD,
  SFT,
  DPO,
  REWARD,
  OTHER
} Trainer;

/* Tasks by script, or by the word behind `trl`. */
static const struct {
  const char *word; /* a script's name begins with it */
  Trainer trainer;
} trainers[] = {
    {"async_grpo", GRPO}, {"grpo", GRPO},  {"gspo", GRPO},
    {"rloo", RLOO},       {"ppo", PPO},    {"online_dpo", ONLINE_DPO},
    {"sft", SFT},         {"dpo", DPO},    {"reward_modeling", REWARD},
    {"reward", REWARD},   {"kto", OTHER},  {"orpo", OTHER},
    {"cpo", OTHER},       {"bco", OTHER},  {"tpo", OTHER},
    {"gkd", OTHER},       {"gold", OTHER}, {"distillation", OTHER},
    {"sdft", OTHER},      {"sdpo", OTHER}, {"ssd", OTHER},
    {"prm", OTHER},       {"xpo", XPO},    {"nash_md", NASH_MD},
    {"mpo", OTHER},
};

/* Keys that only one trainer has, for YAML that no command starts. */
static const struct {
  const char *key;
  Trainer trainer;
} hints[] = {
    {"num_ppo_epochs", PPO},
    {"max_completion_length", GRPO},
    {"num_generations", GRPO},
    {"use_vllm", GRPO},
    {"precompute_ref_log_probs", DPO},
    {"beta", DPO},
    {"center_rewards_coefficient", REWARD},
    {"packing", SFT},
    {"max_length", SFT},
};

/* The row of a word of the command, or -1. */
static int
find_word(const char *word, gboolean behind_trl)
{
  const char *slash = strrchr(word, '/');
  const char *base = slash ? slash + 1 : word;

  if (!behind_trl && !g_str_has_suffix(base, ".py"))
    return -1;
  for (guint i = 0; i < G_N_ELEMENTS(trainers); i++) {
    gsize n = strlen(trainers[i].word);

    if (strncmp(base, trainers[i].word, n) == 0 &&
        (base[n] == '\0' || base[n] == '.' || base[n] == '_'))
      return (int)i;
  }
  return -1;
}

static gboolean
find_trainer(RaSettings *s, Trainer *out, gboolean *is_async, GError **error)
{
  g_auto(GStrv) words = g_strsplit(ra_settings_entry(s), " ", -1);
  gboolean behind = FALSE;
  int row = -1;

  for (guint i = 0; words[i] && row < 0; i++) {
    row = find_word(words[i], behind);
    behind = g_str_equal(words[i], "trl") || g_str_has_suffix(words[i], "/trl");
  }
  if (row >= 0) {
    *out = trainers[row].trainer;
    *is_async = g_str_equal(trainers[row].word, "async_grpo");
    return *out != OTHER || ra_recipe_refuse(s, trainers[row].word, error);
  }
  *is_async = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(hints); i++) {
    *out = hints[i].trainer;
    if (ra_settings_get(s, hints[i].key))
      return TRUE;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no trainer of TRL, expected one of its scripts, or keys "
              "such as num_generations",
              ra_settings_name(s));
  return FALSE;
}

/* ---- GPUs and sharding --------------------------------------------------- */

/* Any of the names that a launcher gives to one number; NULL: none. */
static const char *
any_of(RaSettings *s, const char *const *keys)
{
  for (guint i = 0; keys[i]; i++) {
    if (ra_settings_get(s, keys[i]))
      return keys[i];
  }
  return NULL;
}

/* Processes of `accelerate launch`, or of torchrun, are GPUs. */
static gboolean
read_processes(RaRecipe *recipe, RaSettings *s, uint32_t *n_nodes,
               uint32_t *n_gpus, GError **error)
{
  static const char *const all[] = {"num_processes", "launcher.num_processes",
                                    NULL};
  static const char *const nodes[] = {"num_machines", "launcher.num_machines",
                                      "launcher.nnodes", "nnodes", NULL};
  static const char *const each[] = {"launcher.nproc-per-node",
                                     "launcher.nproc_per_node",
                                     "nproc-per-node", "nproc_per_node", NULL};
  const char *entry = ra_settings_entry(s), *key = any_of(s, nodes);
  uint32_t n = 8;

  *n_nodes = 1;
  if (key && !ra_recipe_count(s, key, 1, n_nodes, error))
    return FALSE;
  key = any_of(s, each);
  if (key)
    return ra_recipe_count(s, key, 1, n_gpus, error);
  key = any_of(s, all);
  if (key && !ra_recipe_count(s, key, 1, &n, error))
    return FALSE;
  if (!key) {
    if (*entry && !g_str_has_prefix(entry, "trl ") &&
        !ra_settings_has(s, "launcher."))
      n = 1; /* python alone; `trl` starts accelerate */
    ra_recipe_note(recipe, "GPUs: %u, as no key gives their number", n);
  }
  if (n % *n_nodes != 0)
    return ra_settings_fail(s, key ? key : "num_machines", error,
                            "a multiple of num_machines");
  *n_gpus = n / *n_nodes;
  return TRUE;
}

static gboolean
is_cpu(RaSettings *s, const char *key)
{
  const char *text = ra_settings_get(s, key);

  if (!text)
    text = ra_settings_get(s, ra_recipe_at("deepspeed_config.", key));
  return g_strcmp0(text, "cpu") == 0;
}

/* ZeRO's stage: the file of `accelerate config`, else what the name of that
 * file, or of DeepSpeed's, says.  TRL ships zero1, zero2, zero3, fsdp1, fsdp2,
 * multi_gpu and single_gpu. */
static gboolean
read_zero(RaSettings *s, RaRecipeCall *call, GError **error)
{
  static const char *const files[] = {"config_file",
                                      "accelerate_config",
                                      "launcher.config_file",
                                      "deepspeed",
                                      "fsdp",
                                      NULL};
  static const char *const stages[] = {"deepspeed_config.zero_stage",
                                       "zero_stage", NULL};
  const char *type = ra_settings_get(s, "distributed_type");
  const char *key = any_of(s, stages), *file = any_of(s, files);
  const char *name = file ? ra_settings_get(s, file) : "";
  const char *reshard =
      ra_settings_get(s, "fsdp_config.fsdp_reshard_after_forward");
  const char *zero = strstr(name, "zero");

  if (g_strcmp0(file, "fsdp") == 0 || g_strcmp0(type, "FSDP") == 0 ||
      strstr(name, "fsdp")) {
    call->zero = reshard && (g_ascii_strcasecmp(reshard, "false") == 0 ||
                             g_str_equal(reshard, "SHARD_GRAD_OP"))
                     ? 2
                     : 3;
    call->host = call->optimizer_host =
        ra_recipe_is_on(s, "fsdp_config.fsdp_offload_params");
    call->fp32_grads = TRUE;
    return TRUE;
  }
  if (key && !ra_settings_uint32(s, key, 0, 0, 3, &call->zero, error))
    return FALSE;
  if (!key && zero && g_ascii_isdigit(zero[4]))
    call->zero = (uint32_t)(zero[4] - '0');
  else if (!key && zero && zero[4] && g_ascii_isdigit(zero[5]))
    call->zero = (uint32_t)(zero[5] - '0');
  call->host = is_cpu(s, "offload_param_device");
  call->optimizer_host = call->host || is_cpu(s, "offload_optimizer_device");
  return TRUE;
}

static gboolean
read_degree(RaSettings *s, const char *name, uint32_t *out, GError **error)
{
  g_autofree char *key =
      g_strdup_printf("parallelism_config.parallelism_config_%s_size", name);

  return !ra_settings_get(s, key) || ra_recipe_count(s, key, 1, out, error);
}

static gboolean
read_train(RaRecipe *recipe, RaSettings *s, GError **error)
{
  static const char *const types[] = {"dtype", "torch_dtype", NULL};
  RaRecipeCall *call = &recipe->TRAIN;
  const char *type = any_of(s, types);

  call->is_there = call->overlap = TRUE;
  if (!read_zero(s, call, error) || !read_degree(s, "cp", &call->cp, error) ||
      !read_degree(s, "sp", &call->cp, error) ||
      !read_degree(s, "tp", &call->tp, error) ||
      !ra_settings_bool(s, "gradient_checkpointing", TRUE,
                        &call->full_recompute, error) ||
      !ra_recipe_count(s, "per_device_train_batch_size", 8, &call->micro_batch,
                       error))
    return FALSE;
  if (call->zero > 3)
    call->zero = 3;
  /* FSDP of accelerate has fp32 parameters and DeepSpeed fp32 masters, whatever
   * the type; peft's adapters are fp32. */
  if (call->zero == 0 && !ra_recipe_is_on(s, "use_peft"))
    ra_recipe_loaded_in(call, type ? ra_settings_get(s, type) : NULL);
  call->full_recompute |=
      ra_recipe_is_on(s, "fsdp_config.fsdp_activation_checkpointing");
  return TRUE;
}

/* ---- Adapters ------------------------------------------------------------ */

/* With adapters the reference is the model without them; peft's default for
 * decoders of Hugging Face is q_proj and v_proj. */
static gboolean
read_adapters(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeLora *lora = &recipe->lora[RA_RECIPE_ACTOR];
  gboolean named = ra_settings_has(s, "lora_target_modules");

  if (!ra_recipe_is_on(s, "use_peft"))
    return TRUE;
  recipe->lora_ref = TRUE;
  recipe->lora_merged = TRUE; /* merge_adapter() before weights are sent */
  lora->rank = 16;            /* ModelConfig.lora_r */
  if (!ra_recipe_lora(recipe, s, RA_RECIPE_ACTOR, "lora_r",
                      "lora_target_modules", error))
    return FALSE;
  if (!named)
    lora->targets = g_strdup("q, v");
  return TRUE;
}

/* ---- Generation ---------------------------------------------------------- */

/* trl/generation/vllm_generation.py; without vLLM, generate() of transformers
 * on each process, which is one static batch. */
static gboolean
read_rollout(RaRecipe *recipe, RaSettings *s, Trainer trainer, uint32_t steps,
             gboolean is_apart, GError **error)
{
  RaRecipeCall *call = &recipe->GENERATE;

  call->is_there = TRUE;
  if (!is_apart && !ra_recipe_is_on(s, "use_vllm"))
    return TRUE;
  if (is_apart
          ? !ra_recipe_count(s, "tensor_parallel_size", 1, &call->tp, error)
          : !ra_recipe_count(s, "vllm_tensor_parallel_size", 1, &call->tp,
                             error))
    return FALSE;
  call->graph = call->prefix_sharing = TRUE;
  call->prefill_tokens = is_apart ? 8192 : 4096;
  call->max_sequences =
      is_apart ? 256 : recipe->TRAIN.micro_batch * call->tp * steps;
  return ra_settings_double(s, "vllm_gpu_memory_utilization",
                            is_apart                ? 0.9
                            : trainer == ONLINE_DPO ? 0.55
                                                    : 0.3,
                            0, 1, &call->memory_frac, error);
}

/* The GPUs of `trl vllm-serve`, beside those of training. */
static gboolean
read_pools(RaRecipe *recipe, RaSettings *s, gboolean is_apart, GError **error)
{
  uint32_t n_nodes, n_gpus, tp, dp;

  if (!read_processes(recipe, s, &n_nodes, &n_gpus, error) ||
      !ra_recipe_count(s, "tensor_parallel_size", 1, &tp, error) ||
      !ra_recipe_count(s, "data_parallel_size", 1, &dp, error))
    return FALSE;
  if (is_apart && !ra_settings_has(s, "tensor_parallel_size") &&
      !ra_settings_has(s, "data_parallel_size"))
    ra_recipe_note(recipe, "generate: one GPU, as no key says how many the "
                           "server of vLLM has");
  return is_apart ? ra_recipe_pools(recipe, n_nodes, n_gpus, 1, tp * dp, error)
                  : ra_recipe_pools(recipe, n_nodes, n_gpus, 0, 0, error);
}

/* ---- Trainers ------------------------------------------------------------ */

/* Sequences that an optimizer step takes: of all replicas. */
static gboolean
read_batch(const RaRecipe *recipe, RaSettings *s, uint32_t *accumulate,
           uint32_t *out, GError **error)
{
  const RaRecipeCall *call = &recipe->TRAIN;
  double n;

  if (!ra_recipe_count(s, "gradient_accumulation_steps", 1, accumulate, error))
    return FALSE;
  n = (double)call->micro_batch * *accumulate * call->n_gpus /
      ((double)call->cp * call->tp);
  *out = (uint32_t)CLAMP(n, 1, RA_WORKLOAD_SEQUENCES_MAX);
  return n <= RA_WORKLOAD_SEQUENCES_MAX ||
         ra_settings_fail(s, "gradient_accumulation_steps", error,
                          "fewer sequences of an optimizer step");
}

static gboolean
has_reference(RaSettings *s, double standard, gboolean *out, GError **error)
{
  double beta;

  if (!ra_settings_double(s, "beta", standard, 0, 1e6, &beta, error))
    return FALSE;
  *out = beta > 0;
  return TRUE;
}

/* GRPO and RLOO: a batch of generation is steps_per_generation batches of the
 * processes, and trained on num_iterations times. */
static gboolean
read_grpo(RaRecipe *recipe, RaSettings *s, Trainer trainer, gboolean is_async,
          gboolean is_apart, GError **error)
{
  uint32_t accumulate, batch, steps, whole, per_step, iterations;
  gboolean ref, corrects;

  recipe->algorithm = g_strdup(trainer == RLOO ? "rloo" : "grpo");
  if (!read_batch(recipe, s, &accumulate, &batch, error) ||
      !ra_recipe_count(s, "num_generations", trainer == RLOO ? 2 : 8,
                       &recipe->n_samples, error) ||
      !ra_recipe_count(s, "num_iterations", 1, &iterations, error) ||
      !ra_recipe_count(s, "max_completion_length", is_async ? 2048 : 512,
                       &recipe->max_response, error) ||
      !ra_settings_uint32(s, "generation_batch_size", 0, 0, RA_RECIPE_COUNT_MAX,
                          &whole, error) ||
      !ra_recipe_count(s, "steps_per_generation", accumulate, &steps, error) ||
      !ra_settings_bool(s, "vllm_importance_sampling_correction", TRUE,
                        &corrects, error) ||
      !has_reference(s, trainer == RLOO ? 0.05 : 0, &ref, error))
    return FALSE;
  per_step = batch / accumulate;
  if (whole > 0)
    steps = MAX(1, whole / MAX(1, per_step));
  whole = (uint32_t)MIN((uint64_t)per_step * steps, RA_RECIPE_COUNT_MAX);
  if (whole == 0 || whole % recipe->n_samples != 0)
    return ra_settings_fail(s, "num_generations", error,
                            "a divisor of the sequences of a generation");
  recipe->n_prompts = whole / recipe->n_samples;
  recipe->n_mini_batches = MAX(1, steps / accumulate);
  recipe->n_epochs = iterations;
  if (!read_rollout(recipe, s, trainer, steps, is_apart, error))
    return FALSE;
  if (accumulate % ((uint64_t)steps * iterations) != 0 ||
      ((is_apart || ra_recipe_is_on(s, "use_vllm")) && corrects && !is_async))
    ra_recipe_like(recipe, RA_RECIPE_ACTOR_INFERENCE, RA_RECIPE_ACTOR_TRAIN);
  if (ref)
    ra_recipe_like(recipe, RA_RECIPE_REF_INFERENCE, RA_RECIPE_ACTOR_TRAIN);
  if (!is_async)
    return TRUE;
  recipe->async.is_service = recipe->async.interrupts = TRUE;
  recipe->async.sync_interval = 1;
  return ra_recipe_count(s, "max_staleness", 4, &recipe->staleness, error);
}

static void
read_reward(RaRecipe *recipe, RaSettings *s)
{
  if (!ra_settings_get(s, "reward_model_path"))
    return;
  ra_recipe_text(s, "reward_model_path", NULL,
                 &recipe->model[RA_RECIPE_REWARD]);
  ra_recipe_like(recipe, RA_RECIPE_REWARD_INFERENCE, RA_RECIPE_ACTOR_TRAIN);
}

static gboolean
read_ppo(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t accumulate;

  recipe->algorithm = g_strdup("ppo");
  if (!read_batch(recipe, s, &accumulate, &recipe->n_prompts, error) ||
      !ra_recipe_count(s, "num_mini_batches", 1, &recipe->n_mini_batches,
                       error) ||
      !ra_recipe_count(s, "num_ppo_epochs", 4, &recipe->n_epochs, error) ||
      !ra_recipe_count(s, "response_length", 53, &recipe->max_response, error))
    return FALSE;
  if (recipe->n_prompts % recipe->n_mini_batches != 0)
    return ra_settings_fail(s, "num_mini_batches", error,
                            "a divisor of the batch");
  ra_recipe_text(s, "sft_model_path", recipe->model[RA_RECIPE_ACTOR],
                 &recipe->model[RA_RECIPE_ACTOR]);
  ra_recipe_text(s, "reward_model_path", recipe->model[RA_RECIPE_ACTOR],
                 &recipe->model[RA_RECIPE_CRITIC]);
  read_reward(recipe, s);
  ra_recipe_like(recipe, RA_RECIPE_ACTOR_INFERENCE, RA_RECIPE_ACTOR_TRAIN);
  ra_recipe_like(recipe, RA_RECIPE_REF_INFERENCE, RA_RECIPE_ACTOR_TRAIN);
  ra_recipe_like(recipe, RA_RECIPE_CRITIC_INFERENCE, RA_RECIPE_ACTOR_TRAIN);
  ra_recipe_like(recipe, RA_RECIPE_CRITIC_TRAIN, RA_RECIPE_ACTOR_TRAIN);
  return read_rollout(recipe, s, PPO, 1, FALSE, error);
}

/* Two responses to a prompt, of which a model or a judge prefers one.  XPO's
 * and Nash-MD's trainers are made from that of online DPO
 * (trl/experimental/xpo, nash_md: _generate_completions()); they differ in
 * who gives the second. */
static gboolean
read_online_dpo(RaRecipe *recipe, RaSettings *s, Trainer trainer,
                gboolean is_apart, GError **error)
{
  uint32_t accumulate;

  recipe->algorithm = g_strdup(trainer == XPO       ? "xpo"
                               : trainer == NASH_MD ? "nash-md"
                                                    : "online-dpo");
  recipe->n_samples = 2;
  if (!read_batch(recipe, s, &accumulate, &recipe->n_prompts, error) ||
      !ra_recipe_count(s, "max_new_tokens", 64, &recipe->max_response, error))
    return FALSE;
  recipe->TRAIN.micro_batch *= 2;
  read_reward(recipe, s);
  ra_recipe_like(recipe, RA_RECIPE_REF_INFERENCE, RA_RECIPE_ACTOR_TRAIN);
  if (trainer == XPO)
    ra_recipe_note(recipe, "generate: the actor gives both responses; XPO's "
                           "second is by the reference, of the same shape");
  if (trainer == NASH_MD)
    ra_recipe_note(recipe,
                   "generate: the actor gives both responses; Nash-MD's "
                   "second is by a mixture of actor and reference, "
                   "which runs both for each of its tokens");
  return read_rollout(recipe, s, ONLINE_DPO, accumulate, is_apart, error);
}

/* SFT, DPO, reward models: an iteration is one optimizer step. */
static gboolean
read_supervised(RaRecipe *recipe, RaSettings *s, Trainer trainer,
                GError **error)
{
  uint32_t accumulate, length;

  recipe->task = trainer == SFT   ? RA_RECIPE_SFT
                 : trainer == DPO ? RA_RECIPE_DPO
                                  : RA_RECIPE_RM;
  recipe->algorithm = g_strdup(trainer == SFT   ? "sft"
                               : trainer == DPO ? "dpo"
                                                : "rm");
  recipe->n_samples = trainer == SFT ? 1 : 2;
  if (!read_batch(recipe, s, &accumulate, &recipe->n_prompts, error) ||
      !ra_recipe_count(
          s, ra_settings_get(s, "max_length") ? "max_length" : "max_seq_length",
          1024, &length, error))
    return FALSE;
  recipe->TRAIN.micro_batch *= recipe->n_samples;
  if (trainer == DPO && !ra_recipe_is_on(s, "precompute_ref_log_probs"))
    ra_recipe_like(recipe, RA_RECIPE_REF_INFERENCE, RA_RECIPE_ACTOR_TRAIN);
  ra_recipe_halve(recipe, length);
  return TRUE;
}

static gboolean
read_trl(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *mode = ra_settings_get(s, "vllm_mode");
  gboolean is_async, is_apart, ok;
  Trainer trainer;

  if (!find_trainer(s, &trainer, &is_async, error))
    return FALSE;
  is_apart = is_async ||
             (ra_recipe_is_on(s, "use_vllm") && g_strcmp0(mode, "server") == 0);
  if (!read_pools(recipe, s, is_apart, error) || !read_train(recipe, s, error))
    return FALSE;
  ok = trainer == GRPO || trainer == RLOO
           ? read_grpo(recipe, s, trainer, is_async, is_apart, error)
       : trainer == PPO ? read_ppo(recipe, s, error)
       : trainer == ONLINE_DPO || trainer == XPO || trainer == NASH_MD
           ? read_online_dpo(recipe, s, trainer, is_apart, error)
           : read_supervised(recipe, s, trainer, error);
  if (!ok || !read_adapters(recipe, s, error))
    return FALSE;
  ra_recipe_lengths(recipe, 512, 512);
  return TRUE;
}

const RaRecipeReader ra_recipe_reader_trl = {
    .name = "trl",
    .prefixes = {"per_device_train_batch_size", "model_name_or_path",
                 "max_completion_length", "dataset_name"},
    .entries = {"trl ", "trl/scripts/", "trl.scripts."},
    .meanings = meanings,
    .n_meanings = &n_meanings,
    .read = read_trl,
};
