/* Configurations of NeMo-RL: YAML of examples/run_grpo.py, with what their
 * `defaults` name.
 *
 * All keys stand in grpo_math_1B.yaml, which every recipe has as its default
 * (revision 00294d9b), so that a missing one means what is there. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/recipe_impl.h"

/* Prompts are a part of max_total_sequence_length that no key names.  An
 * assumption, told as a note. */
#define PROMPT_TOKENS 128

static const char *const idle[] = {
    "checkpointing.*",
    "logger.*",
    "data.*",
    "env.*",
    "loss_fn.*",
    "policy.tokenizer.*",
    "policy.optimizer*",
    "policy.scheduler*",
    "policy.megatron_cfg.optimizer.*",
    "policy.megatron_cfg.scheduler.*",
    "policy.max_grad_norm",
    "*.temperature",
    "*.top_p",
    "*.top_k",
    "*.stop_*",
    "*.env_vars*",
    "*.converter_type",
    "*.moe_router_*",
    "*.freeze_moe_router",
    "*.pipeline_dtype",
    "*.sequence_length_round",
    "*.sequence_packing.algorithm",
    "*._v2",
    "grpo.*val*",
    "grpo.max_num_*",
    "grpo.seed",
    "grpo.*reward*",
    "grpo.use_leave_one_out_baseline",
    "grpo.overlong_filtering",
    "policy.make_sequence_length_divisible_by",
    "policy.generation_batch_size",
    "*.max_model_len",
    "*.num_*_layers_in_bf16",
    "*.use_gloo_process_groups",
    "policy.megatron_recipe",
    "*.empty_unused_memory_level",
    "*.apply_rope_fusion",
    "*.train_mb_tokens",
    "*.logprob_mb_tokens",
    "policy.megatron_cfg.enabled",
    "policy.dtensor_cfg.enabled",
    "*.average_in_collective",
    "*.async_engine",
    "policy.generation.vllm_cfg.precision",
};

/* nemo_rl/models/policy/__init__.py, LoRAConfig of the DTensor worker. */
static gboolean
read_lora(RaRecipe *recipe, RaSettings *s, GError **error)
{
#define LORA "policy.dtensor_cfg.lora_cfg."
  gboolean enabled, all;

  if (!ra_settings_bool(s, LORA "enabled", FALSE, &enabled, error) ||
      !ra_settings_bool(s, LORA "match_all_linear", TRUE, &all, error))
    return FALSE;
  if (!enabled) {
    ra_settings_ignore(s, LORA "*");
    return TRUE;
  }
  recipe->lora_merged = TRUE;
  if (!ra_recipe_lora(recipe, s, RA_RECIPE_ACTOR, LORA "dim",
                      LORA "target_modules", error))
    return FALSE;
  if (all)
    g_clear_pointer(&recipe->lora[RA_RECIPE_ACTOR].targets, g_free);
  ra_settings_about(s, LORA "enabled", "engines are sent merged weights");
  ra_settings_ignore(s, LORA "alpha");
  ra_settings_ignore(s, LORA "dropout*");
  ra_settings_ignore(s, LORA "lora_A_init");
  ra_settings_ignore(s, LORA "use_triton");
  return TRUE;
#undef LORA
}

static gboolean
read_common(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t batch, n, total, most;
  gboolean async;

  if (!ra_recipe_count(s, "cluster.num_nodes", 1, &recipe->n_nodes, error) ||
      !ra_recipe_count(s, "cluster.gpus_per_node", 1, &recipe->n_node_gpus,
                       error) ||
      !ra_recipe_count(s, "grpo.num_prompts_per_step", 32, &recipe->n_prompts,
                       error) ||
      !ra_recipe_count(s, "grpo.num_generations_per_prompt", 16,
                       &recipe->n_samples, error) ||
      !ra_recipe_count(s, "policy.train_global_batch_size", 512, &batch,
                       error) ||
      !ra_recipe_count(s, "policy.max_total_sequence_length", 512, &total,
                       error) ||
      !ra_recipe_count(s, "policy.generation.max_new_tokens", total, &most,
                       error) ||
      !ra_settings_bool(s, "grpo.async_grpo.enabled", FALSE, &async, error) ||
      !ra_settings_uint32(s, "grpo.async_grpo.max_trajectory_age_steps", 1, 1,
                          1000, &recipe->staleness, error))
    return FALSE;
  if (!async)
    recipe->staleness = 0;
  n = recipe->n_prompts * recipe->n_samples;
  if (batch > n || n % batch != 0)
    return ra_settings_fail(s, "policy.train_global_batch_size", error,
                            "a divisor of prompts x generations");
  recipe->n_mini_batches = n / batch;
  recipe->max_prompt =
      most < total ? total - most : MIN(PROMPT_TOKENS, MAX(1, total / 2));
  recipe->max_response = total - recipe->max_prompt;
  if (most >= total)
    ra_recipe_note(recipe,
                   "prompts: %u of the %u tokens of a sequence, as no key has "
                   "their length",
                   recipe->max_prompt, total);
  ra_recipe_text(s, "policy.model_name", NULL, &recipe->model[RA_RECIPE_ACTOR]);
  ra_recipe_text(s, "policy.model_name", NULL, &recipe->model[RA_RECIPE_REF]);
  recipe->algorithm = g_strdup("grpo");
  return read_lora(recipe, s, error);
}

/* Generation, and the GPUs that it leaves to the policy. */
static gboolean
read_generation(RaRecipe *recipe, RaSettings *s, uint32_t *out_first,
                uint32_t *out_gpus, GError **error)
{
#define PREFIX "policy.generation."
  RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  uint32_t all = recipe->n_nodes * recipe->n_node_gpus, nodes, gpus;
  const char *backend = ra_settings_get(s, PREFIX "backend");
  gboolean shared, eager;

  if (backend && !g_str_equal(backend, "vllm"))
    return ra_settings_fail(s, PREFIX "backend", error, "vllm");
  if (!ra_recipe_count(s, PREFIX "vllm_cfg.tensor_parallel_size", 1, &call->tp,
                       error) ||
      !ra_recipe_count(s, PREFIX "vllm_cfg.pipeline_parallel_size", 1,
                       &call->pp, error) ||
      !ra_settings_double(s, PREFIX "vllm_cfg.gpu_memory_utilization", 0.6,
                          0.01, 1.0, &call->memory_frac, error) ||
      !ra_settings_bool(s, PREFIX "vllm_cfg.enforce_eager", FALSE, &eager,
                        error) ||
      !ra_settings_bool(s, PREFIX "colocated.enabled", TRUE, &shared, error) ||
      !ra_settings_uint32(s, PREFIX "colocated.resources.num_nodes", 1, 1,
                          65536, &nodes, error) ||
      !ra_recipe_count(s, PREFIX "colocated.resources.gpus_per_node",
                       recipe->n_node_gpus, &gpus, error))
    return FALSE;
#undef PREFIX
  call->is_there = TRUE;
  call->graph = !eager;
  if (call->pp == 1)
    call->max_sequences = 256; /* vLLM's own */
  call->n_gpus = shared ? all : MIN(all, nodes * gpus);
  *out_gpus = shared ? all : all - call->n_gpus;
  *out_first = 0;
  call->first_gpu = all - call->n_gpus;
  if (*out_gpus > 0)
    return TRUE;
  return ra_settings_fail(s, "policy.generation.colocated.resources.num_nodes",
                          error, "fewer nodes than the cluster has");
}

static gboolean
read_policy(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind, GError **error)
{
  RaRecipeCall *call = &recipe->calls[kind];
  gboolean megatron;
  const char *p;
  g_auto(GStrv) keys = g_new0(char *, 7);

  if (!ra_settings_bool(s, "policy.megatron_cfg.enabled", FALSE, &megatron,
                        error))
    return FALSE;
  p = megatron ? "policy.megatron_cfg." : "policy.dtensor_cfg.";
  keys[0] = g_strconcat(
      p, megatron ? "tensor_model_parallel_size" : "tensor_parallel_size",
      NULL);
  keys[1] = g_strconcat(p, "pipeline_model_parallel_size", NULL);
  keys[2] = g_strconcat(p, "context_parallel_size", NULL);
  keys[3] = g_strconcat(p, "expert_model_parallel_size", NULL);
  keys[4] = g_strconcat(p, "sequence_parallel", NULL);
  keys[5] = g_strconcat(p, "activation_checkpointing", NULL);
  call->is_there = TRUE;
  call->zero = megatron ? 1 : 3;
  call->fp32_grads = FALSE;
  call->overlap = TRUE;
  return ra_recipe_count(s, keys[0], 1, &call->tp, error) &&
         ra_recipe_count(s, keys[1], 1, &call->pp, error) &&
         ra_recipe_count(s, keys[2], 1, &call->cp, error) &&
         ra_recipe_count(s, keys[3], 1, &call->ep, error) &&
         ra_settings_bool(s, keys[4], FALSE, &call->sequence_parallel, error) &&
         ra_settings_bool(s, keys[5], FALSE, &call->full_recompute, error);
}

static gboolean
read_nemo_rl(RaRecipe *recipe, RaSettings *s, GError **error)
{
  static const RaRecipeKind kinds[] = {RA_RECIPE_ACTOR_TRAIN,
                                       RA_RECIPE_ACTOR_INFERENCE,
                                       RA_RECIPE_REF_INFERENCE};
  uint32_t first = 0, n_gpus = 0;
  const char *packing;

  if (!read_common(recipe, s, error) ||
      !read_generation(recipe, s, &first, &n_gpus, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    RaRecipeCall *call = &recipe->calls[kinds[i]];

    call->first_gpu = first;
    call->n_gpus = n_gpus;
    if (!read_policy(recipe, s, kinds[i], error) ||
        !ra_recipe_count(s,
                         i == 0 ? "policy.train_micro_batch_size"
                                : "policy.logprob_batch_size",
                         4, &call->micro_batch, error))
      return FALSE;
  }
  /* Its weights are swapped in from the host when they are needed. */
  recipe->calls[RA_RECIPE_REF_INFERENCE].host = TRUE;
  packing = ra_settings_get(s, "policy.sequence_packing.enabled");
  if (packing && g_ascii_strcasecmp(packing, "true") == 0)
    ra_settings_about(
        s, "policy.sequence_packing.enabled",
        "no padding, but as many sequences per micro-batch as without packing");
  ra_settings_get(s, "policy.precision");
  for (guint i = 0; i < G_N_ELEMENTS(idle); i++)
    ra_settings_ignore(s, idle[i]);
  /* The back end that is not used says nothing. */
  ra_settings_ignore(s, recipe->calls[RA_RECIPE_ACTOR_TRAIN].zero == 1
                            ? "policy.dtensor_cfg.*"
                            : "policy.megatron_cfg.*");
  if (!ra_settings_has(s, "grpo.max_rollout_turns") ||
      g_strcmp0(ra_settings_get(s, "grpo.max_rollout_turns"), "1") == 0)
    return TRUE;
  ra_settings_about(s, "grpo.max_rollout_turns",
                    "one turn; [workload] has keys for more");
  return TRUE;
}

const RaRecipeReader ra_recipe_reader_nemo_rl = {
    .name = "nemo-rl",
    .prefixes = {"policy."},
    .entries = {"run_grpo"},
    .read = read_nemo_rl,
};
