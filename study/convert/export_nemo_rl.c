/* A plan as overrides of NeMo-RL's run_grpo.py or run_ppo.py, over the base
 * configuration of each (study/convert/recipe_nemo_rl.c has the sources). */
#include "config.h"

#include "study/convert/export_impl.h"

#define GENERATION "policy.generation."

static const char *const versions[] = {"2026-08", NULL};

static const char *
word(gboolean on)
{
  return on ? "true" : "false";
}

static gboolean
shares(const RaRecipeCall *a, const RaRecipeCall *b)
{
  return a->first_gpu < b->first_gpu + b->n_gpus &&
         b->first_gpu < a->first_gpu + a->n_gpus;
}

/* Whole nodes for each pool, or slices of one node. */
static void
put_pools(RaExport *x, const RaRecipe *r)
{
#define OWN GENERATION "colocated.resources."
  const RaRecipeCall *train = &r->calls[RA_RECIPE_ACTOR_TRAIN];
  const RaRecipeCall *generate = &r->calls[RA_RECIPE_GENERATE];
  uint32_t n = x->is_apart ? train->n_gpus + generate->n_gpus : train->n_gpus;
  uint32_t each = MIN(n, r->n_node_gpus);

  ra_export_put(x, "cluster.", "num_nodes", "%u", n / each);
  ra_export_put(x, "cluster.", "gpus_per_node", "%u", each);
  if (!x->is_apart)
    return;
  ra_export_put(x, GENERATION, "colocated.enabled", "false");
  if (n > each)
    ra_export_put(x, OWN, "num_nodes", "%u", generate->n_gpus / each);
  ra_export_put(x, OWN, "gpus_per_node", "%u",
                n > each ? each : generate->n_gpus);
#undef OWN
}

static void
put_megatron(RaExport *x, const char *p, const RaRecipeCall *call)
{
  gboolean checkpoints = call->full_recompute || call->selective_recompute;

  ra_export_put(x, p, "enabled", "true");
  ra_export_put(x, p, "tensor_model_parallel_size", "%u", call->tp);
  ra_export_put(x, p, "pipeline_model_parallel_size", "%u", call->pp);
  ra_export_put(x, p, "context_parallel_size", "%u", call->cp);
  ra_export_put(x, p, "expert_model_parallel_size", "%u", call->ep);
  if (call->etp > 0)
    ra_export_put(x, "+", ra_recipe_at(p, "expert_tensor_parallel_size"), "%u",
                  call->etp);
  ra_export_put(x, p, "sequence_parallel", "%s", word(call->sequence_parallel));
  ra_export_put(x, p, "activation_checkpointing", "%s", word(checkpoints));
  if (checkpoints)
    ra_export_put(x, "+", ra_recipe_at(p, "recompute_granularity"), "%s",
                  call->full_recompute ? "full" : "selective");
  if (call->first_layers > 0)
    ra_export_put(x, "+", ra_recipe_at(p, "num_layers_in_first_pipeline_stage"),
                  "%u", call->first_layers);
  if (call->last_layers > 0)
    ra_export_put(x, "+", ra_recipe_at(p, "num_layers_in_last_pipeline_stage"),
                  "%u", call->last_layers);
  ra_export_put(x, p, "optimizer.use_distributed_optimizer", "%s",
                word(call->zero > 0));
  ra_export_put(x, p, "optimizer.use_precision_aware_optimizer", "%s",
                word(call->remainders));
  if (call->cpu_optimizer) {
    ra_export_put(x, "+", ra_recipe_at(p, "optimizer.optimizer_cpu_offload"),
                  "true");
    ra_export_put(
        x, "+", ra_recipe_at(p, "optimizer.optimizer_offload_fraction"), "1.0");
  }
  if (call->fp8_gemms) {
    ra_export_put(x, "+", ra_recipe_at(p, "fp8_cfg.enabled"), "true");
    ra_export_put(x, "+", ra_recipe_at(p, "fp8_cfg.fp8"), "e4m3");
    ra_export_put(x, "+", ra_recipe_at(p, "fp8_cfg.fp8_recipe"), "%s",
                  ra_fp8_scaling_words[call->fp8_scaling]);
    ra_export_put(x, "+", ra_recipe_at(p, "fp8_cfg.fp8_param"), "%s",
                  word(call->fp8_params));
  }
  if (call->bf16_first > 0 || call->bf16_last > 0) {
    ra_export_put(x, "+", ra_recipe_at(p, "first_last_layers_bf16"), "true");
    ra_export_put(x, "+", ra_recipe_at(p, "num_layers_at_start_in_bf16"), "%u",
                  call->bf16_first);
    ra_export_put(x, "+", ra_recipe_at(p, "num_layers_at_end_in_bf16"), "%u",
                  call->bf16_last);
  }
  ra_export_put(x, p, "distributed_data_parallel_config.grad_reduce_in_fp32",
                "%s", word(call->fp32_grads));
  ra_export_put(x, p, "distributed_data_parallel_config.overlap_grad_reduce",
                "%s", word(call->overlap));
}

/* FSDP2. */
static void
put_dtensor(RaExport *x, const char *p, const RaRecipeCall *call)
{
  ra_export_put(x, p, "enabled", "true");
  ra_export_put(x, p, "tensor_parallel_size", "%u", call->tp);
  ra_export_put(x, p, "context_parallel_size", "%u", call->cp);
  if (call->ep > 1)
    ra_export_put(x, "+", ra_recipe_at(p, "expert_parallel_size"), "%u",
                  call->ep);
  ra_export_put(x, p, "sequence_parallel", "%s", word(call->sequence_parallel));
  ra_export_put(x, p, "activation_checkpointing", "%s",
                word(call->full_recompute));
  ra_export_put(x, p, "cpu_offload", "%s",
                word(call->host && call->optimizer_host));
}

/* Micro-batches of @model, "policy." or "value.". */
static void
put_micro(RaExport *x, const char *model, const RaRecipeCall *train,
          const RaRecipeCall *infer)
{
  g_autofree char *pack = g_strconcat(model, "sequence_packing.", NULL);

  if (!infer->is_there)
    infer = train;
  ra_export_put(x, model, "dynamic_batching.enabled", "false");
  ra_export_put(x, pack, "enabled", "%s", word(train->micro_tokens > 0));
  if (train->micro_tokens == 0) {
    ra_export_put(x, model, "train_micro_batch_size", "%u", train->micro_batch);
    ra_export_put(x, "+", ra_recipe_at(model, "logprob_batch_size"), "%u",
                  MAX(1, infer->micro_batch));
    return;
  }
  ra_export_put(x, pack, "train_mb_tokens", "%u", train->micro_tokens);
  if (infer->micro_tokens > 0)
    ra_export_put(x, "+", ra_recipe_at(pack, "logprob_mb_tokens"), "%u",
                  infer->micro_tokens);
}

/* Training of @model and its inference. */
static void
put_engine(RaExport *x, const char *model, const RaRecipe *r,
           RaRecipeKind train, RaRecipeKind infer)
{
  const RaRecipeCall *call = &r->calls[train];
  gboolean sharded = call->zero >= 2 && call->pp == 1;
  g_autofree char *megatron = g_strconcat(model, "megatron_cfg.", NULL);
  g_autofree char *dtensor = g_strconcat(model, "dtensor_cfg.", NULL);

  if (!call->is_there)
    return;
  if (sharded)
    put_dtensor(x, dtensor, call);
  else
    put_megatron(x, megatron, call);
  ra_export_put(x, sharded ? megatron : dtensor, "enabled", "false");
  put_micro(x, model, call, &r->calls[infer]);
  if (x->is_apart && call->optimizer_host)
    ra_export_put(x, model, "offload_optimizer_for_logprob", "true");
}

static void
put_batches(RaExport *x, const char *group, const RaRecipe *r)
{
  uint32_t total = r->max_prompt + r->max_response;

  ra_export_put(x, group, "num_prompts_per_step", "%u", r->n_prompts);
  ra_export_put(x, group, "num_generations_per_prompt", "%u", r->n_samples);
  ra_export_put(x, "policy.", "train_global_batch_size", "%u",
                r->n_prompts * r->n_samples / MAX(1, r->n_mini_batches));
  ra_export_put(x, "policy.", "max_total_sequence_length", "%u", total);
  ra_export_put(x, "data.", "max_input_seq_length", "%u", r->max_prompt);
  ra_export_put(x, GENERATION, "max_new_tokens", "%u", r->max_response);
}

static void
put_generation(RaExport *x, const RaRecipe *r)
{
#define VLLM GENERATION "vllm_cfg."
#define KWARGS "+" GENERATION "vllm_kwargs."
  const RaRecipeCall *call = &r->calls[RA_RECIPE_GENERATE];

  ra_export_put(x, GENERATION, "backend", "vllm");
  ra_export_put(x, VLLM, "tensor_parallel_size", "%u", call->tp);
  ra_export_put(x, VLLM, "pipeline_parallel_size", "%u", call->pp);
  if (call->ep > 1)
    ra_export_put(x, VLLM, "expert_parallel_size", "%u", call->ep);
  if (call->memory_frac > 0)
    ra_export_put(x, VLLM, "gpu_memory_utilization", "%.6f", call->memory_frac);
  ra_export_put(x, VLLM, "enforce_eager", "%s", word(!call->graph));
  ra_export_put(x, "+" VLLM, "enable_prefix_caching", "%s",
                word(call->prefix_sharing));
  if (r->rollout_dtype)
    ra_export_put(x, VLLM, "precision", "%s", r->rollout_dtype);
  if (r->rollout_kv_dtype)
    ra_export_put(x, "+" VLLM, "kv_cache_dtype", "%s", r->rollout_kv_dtype);
  if (r->drafts.n_tokens > 0) {
    ra_export_put(x, KWARGS "speculative_config.", "method", "%s",
                  r->draft_method);
    ra_export_put(x, KWARGS "speculative_config.", "num_speculative_tokens",
                  "%u", r->drafts.n_tokens);
  }
  if (call->max_sequences > 0)
    ra_export_put(x, KWARGS, "max_num_seqs", "%u", call->max_sequences);
  if (call->prefill_tokens > 0)
    ra_export_put(x, KWARGS, "max_num_batched_tokens", "%u",
                  call->prefill_tokens);
#undef KWARGS
#undef VLLM
}

/* Settings that make calls beside generation and training. */
static void
put_loss(RaExport *x, const char *group, const RaRecipe *r)
{
  gboolean has_ref = r->calls[RA_RECIPE_REF_INFERENCE].is_there;
  gboolean is_ppo = r->calls[RA_RECIPE_CRITIC_TRAIN].is_there;

  ra_export_put(x, "loss_fn.", "reference_policy_kl_penalty", "%s",
                has_ref ? "0.01" : "0");
  if (!is_ppo)
    ra_export_put(x, "loss_fn.", "force_on_policy_ratio", "%s",
                  word(!r->calls[RA_RECIPE_ACTOR_INFERENCE].is_there));
  if (is_ppo) {
    ra_export_put(x, group, "skip_reference_policy_logprobs_calculation", "%s",
                  word(!has_ref));
    ra_export_put(x, group, "ppo_epochs", "%u", r->n_epochs);
  }
  if (is_ppo || r->staleness == 0)
    return;
  ra_export_put(x, group, "async_grpo.enabled", "true");
  ra_export_put(x, group, "async_grpo.max_trajectory_age_steps", "%u",
                r->staleness);
}

static void
put_nemo_rl(RaExport *export, const RaExportSource *from,
            const RaExportRoles *roles, guint version)
{
  g_autoptr(RaRecipe) r =
      ra_export_recipe(from->plan, RA_FRAMEWORK_NEMO_RL, roles);
  gboolean is_ppo = r->calls[RA_RECIPE_CRITIC_TRAIN].is_there;
  const char *group = is_ppo ? "ppo." : "grpo.";

  (void)version;
  r->n_node_gpus = ra_export_host_gpus(from->plan->cluster);
  export->launcher = "python3";
  export->entry = is_ppo ? "examples/run_ppo.py" : "examples/run_grpo.py";
  export->config = is_ppo ? "--config=examples/configs/ppo_math_1B.yaml"
                          : "--config=examples/configs/grpo_math_1B.yaml";
  export->is_apart =
      !shares(&r->calls[RA_RECIPE_ACTOR_TRAIN], &r->calls[RA_RECIPE_GENERATE]);
  ra_export_put_text(export, "policy.", "model_name",
                     r->model[RA_RECIPE_ACTOR]);
  if (is_ppo)
    ra_export_put_text(export, "value.", "model_name",
                       r->model[RA_RECIPE_CRITIC]);
  put_pools(export, r);
  put_batches(export, group, r);
  put_engine(export, "policy.", r, RA_RECIPE_ACTOR_TRAIN,
             RA_RECIPE_ACTOR_INFERENCE);
  put_engine(export, "value.", r, RA_RECIPE_CRITIC_TRAIN,
             RA_RECIPE_CRITIC_INFERENCE);
  put_generation(export, r);
  put_loss(export, group, r);
}

const RaExportWriter ra_export_writer_nemo_rl = {
    .framework = RA_FRAMEWORK_NEMO_RL,
    .versions = versions,
    .put = put_nemo_rl,
};
