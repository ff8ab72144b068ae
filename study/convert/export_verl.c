/* A plan as overrides of verl.trainer.main_ppo; study/convert/recipe_verl.c
 * reads them.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graph/input/length.h"
#include "graph/input/lora.h"
#include "study/convert/export_impl.h"

#define ACTOR "actor_rollout_ref.actor."
#define ROLLOUT "actor_rollout_ref.rollout."
#define REF "actor_rollout_ref.ref."
#define WORD(x) ((x) ? "True" : "False")

/* Where models are published. */
static const struct {
  const char *config, *name;
} published[] = {
    {"llama-2-7b.json", "meta-llama/Llama-2-7b-hf"},
    {"llama-2-13b.json", "meta-llama/Llama-2-13b-hf"},
    {"llama-2-70b.json", "meta-llama/Llama-2-70b-hf"},
    {"llama-3-8b.json", "meta-llama/Meta-Llama-3-8B"},
    {"llama-3-70b.json", "meta-llama/Meta-Llama-3-70B"},
    {"llama-3.1-405b.json", "meta-llama/Llama-3.1-405B"},
    {"llama-3.2-1b.json", "meta-llama/Llama-3.2-1B"},
    {"qwen2.5-1.5b.json", "Qwen/Qwen2.5-1.5B"},
    {"qwen2.5-7b.json", "Qwen/Qwen2.5-7B"},
    {"qwen2.5-32b.json", "Qwen/Qwen2.5-32B"},
    {"qwen2.5-72b.json", "Qwen/Qwen2.5-72B"},
    {"qwen3-8b.json", "Qwen/Qwen3-8B"},
    {"qwen3-32b.json", "Qwen/Qwen3-32B"},
    {"qwen3-30b-a3b.json", "Qwen/Qwen3-30B-A3B"},
    {"qwen3-235b-a22b.json", "Qwen/Qwen3-235B-A22B"},
    {"mistral-7b.json", "mistralai/Mistral-7B-v0.1"},
    {"mixtral-8x7b.json", "mistralai/Mixtral-8x7B-v0.1"},
};

static const char *
published_name(const char *config)
{
  g_autofree char *base = g_path_get_basename(config);

  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    if (g_str_equal(base, published[i].config))
      return published[i].name;
  }
  return config;
}

/* The role of @call: by its kind, and by its model's head and training. */
static RaRecipeKind
role_of(const RaWorkload *workload, const RaCall *call)
{
  const RaWorkloadModel *model;
  gboolean value;

  if (call->kind == RA_CALL_HOST)
    return RA_N_RECIPE_CALLS;
  model = &workload->models[call->model];
  value = model->head != RA_HEAD_LM;
  if (call->kind == RA_CALL_GENERATE)
    return RA_RECIPE_GENERATE;
  if (call->kind == RA_CALL_TRAIN)
    return value ? RA_RECIPE_CRITIC_TRAIN : RA_RECIPE_ACTOR_TRAIN;
  if (model->trainable)
    return value ? RA_RECIPE_CRITIC_INFERENCE : RA_RECIPE_ACTOR_INFERENCE;
  return value ? RA_RECIPE_REWARD_INFERENCE : RA_RECIPE_REF_INFERENCE;
}

RaExportRoles
ra_export_roles(const RaWorkload *workload)
{
  RaExportRoles roles;

  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++)
    roles.call[k] = RA_NONE;
  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t c = workload->order[i];
    RaRecipeKind kind = role_of(workload, &workload->calls[c]);

    if (kind < RA_N_RECIPE_CALLS && roles.call[kind] == RA_NONE)
      roles.call[kind] = c;
  }
  return roles;
}

/* Sequences of one micro-batch of a replica. */
static uint32_t
micro_of(const RaPlan *plan, uint32_t c)
{
  const RaCall *call = &plan->workload->calls[c];
  const RaCallPlan *how = &plan->calls[c];

  return MAX(1, call->n_sequences / MAX(1, ra_call_plan_n_pieces(call, how) *
                                               how->dp * how->n_micro_batches));
}

/* Adapters of what @c trains; peft's modules are our targets with `_proj`. */
static void
put_lora(RaExport *export, const RaWorkload *workload, uint32_t c,
         const char *prefix)
{
  const RaModel *model = workload->models[workload->calls[c].model].model;
  g_autofree char *text = NULL;
  g_auto(GStrv) words = NULL;
  g_autoptr(GString) modules = g_string_new(NULL);

  if (model->lora_rank == 0)
    return;
  ra_export_put(export, prefix, "lora_rank", "%u", model->lora_rank);
  text = ra_lora_targets_text(model);
  words = g_strsplit(text ? text : "", ", ", -1);
  for (guint i = 0; words[i]; i++)
    g_string_append_printf(modules, "%s%s_proj", i ? "," : "", words[i]);
  if (text)
    ra_export_put(export, prefix, "target_modules", "[%s]", modules->str);
  else
    ra_export_put(export, prefix, "target_modules", "all-linear");
}

/* How @call's engine is cut, under @prefix; FSDP's keys are below @fsdp. */
static void
put_engine(RaExport *export, const RaCallPlan *how, const char *prefix,
           const char *fsdp)
{
  gboolean is_fsdp = how->zero == 3 && how->tp == 1 && how->pp == 1;

  ra_export_put(export, prefix, "strategy", is_fsdp ? "fsdp" : "megatron");
  if (is_fsdp) {
    ra_export_put(export, prefix, "ulysses_sequence_parallel_size", "%u",
                  how->cp);
    if (how->zero_group < how->dp)
      ra_export_put(export, fsdp, "fsdp_size", "%u", how->zero_group * how->cp);
    ra_export_put(export, fsdp, "param_offload", "%s",
                  WORD(how->residency == RA_RESIDENCY_HOST));
    ra_export_put(export, fsdp, "optimizer_offload", "%s",
                  WORD(how->optimizer_residency == RA_RESIDENCY_HOST));
    return;
  }
  ra_export_put(export, prefix, "megatron.tensor_model_parallel_size", "%u",
                how->tp);
  ra_export_put(export, prefix, "megatron.pipeline_model_parallel_size", "%u",
                how->pp);
  ra_export_put(export, prefix, "megatron.context_parallel_size", "%u",
                how->cp);
  ra_export_put(export, prefix, "megatron.expert_model_parallel_size", "%u",
                MAX(1, how->ep));
  ra_export_put(export, prefix, "megatron.sequence_parallel", "%s",
                WORD(how->sequence_parallel));
  ra_export_put(export, prefix, "megatron.param_offload", "%s",
                WORD(how->residency == RA_RESIDENCY_HOST));
  ra_export_put(export, prefix, "megatron.optimizer_offload", "%s",
                WORD(how->optimizer_residency == RA_RESIDENCY_HOST));
}

/* Tokens of the longest sequences, which verl's limits are. */
static void
put_common(RaExport *export, const RaExportSource *from,
           const RaExportRoles *roles)
{
  const RaWorkload *workload = from->plan->workload;
  const RaCall *generate = &workload->calls[roles->call[RA_RECIPE_GENERATE]];
  uint32_t at = roles->call[RA_RECIPE_ACTOR_TRAIN];
  const RaCall *train = &workload->calls[at];
  const char *algorithm = workload->algorithm;

  ra_export_put_text(
      export, "algorithm.", "adv_estimator",
      roles->call[RA_RECIPE_CRITIC_TRAIN] != RA_NONE ? "gae" : algorithm);
  ra_export_put(export, "algorithm.", "use_kl_in_reward", "False");
  ra_export_put(export, "data.", "train_batch_size", "%u", workload->n_prompts);
  ra_export_put(export, "data.", "max_prompt_length", "%u",
                workload->prompt_length.max_tokens);
  ra_export_put(export, "data.", "max_response_length", "%u",
                workload->response_length.max_tokens);
  ra_export_put(export, "trainer.", "nnodes", "%u",
                from->plan->cluster->n_nodes);
  ra_export_put(export, "trainer.", "n_gpus_per_node", "%u",
                from->plan->cluster->gpus_per_node);
  ra_export_put(export, ROLLOUT, "n", "%u", generate->samples_per_prompt);
  ra_export_put(
      export, ACTOR, "ppo_mini_batch_size", "%u",
      MAX(1, workload->n_prompts /
                 ra_call_plan_n_pieces(train, &from->plan->calls[at])));
  ra_export_put(export, ACTOR, "ppo_epochs", "%u", train->n_epochs);
  ra_export_put(export, ACTOR, "use_kl_loss", "%s",
                WORD(roles->call[RA_RECIPE_REF_INFERENCE] != RA_NONE));
}

static void
put_rollout(RaExport *export, const RaExportSource *from, uint32_t c)
{
  const RaCallPlan *how = &from->plan->calls[c];
  const RaWorkloadModel *model =
      &from->plan->workload->models[from->plan->workload->calls[c].model];
  double weights_bytes =
      2.0 * (double)ra_model_n_params(model->model) / (how->tp * how->pp);

  ra_export_put(export, ROLLOUT, "name", "vllm");
  ra_export_put(export, ROLLOUT, "tensor_model_parallel_size", "%u", how->tp);
  if (how->pp > 1)
    ra_export_put(export, ROLLOUT, "pipeline_model_parallel_size", "%u",
                  how->pp);
  ra_export_put(export, ROLLOUT, "enforce_eager", "%s",
                WORD(how->launch != RA_LAUNCH_GRAPH));
  if (how->batching != RA_BATCHING_CONTINUOUS)
    return;
  ra_export_put(export, ROLLOUT, "max_num_seqs", "%u", how->max_sequences);
  ra_export_put(export, ROLLOUT, "max_num_batched_tokens", "%u",
                how->prefill_tokens);
  if (how->kv_memory_bytes > 0)
    ra_export_put(export, ROLLOUT, "gpu_memory_utilization", "%.6f",
                  ((double)how->kv_memory_bytes + weights_bytes) /
                      from->plan->cluster->device.memory_bytes);
}

static void
put_actor(RaExport *export, const RaExportSource *from,
          const RaExportRoles *roles)
{
  uint32_t c = roles->call[RA_RECIPE_ACTOR_TRAIN];
  uint32_t infer = roles->call[RA_RECIPE_ACTOR_INFERENCE];
  const RaCallPlan *how = &from->plan->calls[c];
  const char *config =
      from->plan->workload->models[from->plan->workload->calls[c].model].config;

  ra_export_put_text(export, "actor_rollout_ref.model.", "path",
                     published_name(config));
  put_lora(export, from->plan->workload, c, "actor_rollout_ref.model.");
  ra_export_put(export, "actor_rollout_ref.model.",
                "enable_gradient_checkpointing", "%s",
                WORD(how->recompute == RA_RECOMPUTE_FULL));
  put_engine(export, how, ACTOR, ACTOR "fsdp_config.");
  if (how->recompute == RA_RECOMPUTE_SELECTIVE &&
      (how->zero != 3 || how->tp > 1 || how->pp > 1))
    ra_export_put(export, ACTOR,
                  "megatron.override_transformer_config.recompute_granularity",
                  "selective");
  ra_export_put(export, ACTOR, "ppo_micro_batch_size_per_gpu", "%u",
                micro_of(from->plan, c));
  if (infer != RA_NONE)
    ra_export_put(export, ROLLOUT, "log_prob_micro_batch_size_per_gpu", "%u",
                  micro_of(from->plan, infer));
}

/* Models other than the actor. */
static void
put_others(RaExport *export, const RaExportSource *from,
           const RaExportRoles *roles)
{
  const RaPlan *plan = from->plan;
  uint32_t ref = roles->call[RA_RECIPE_REF_INFERENCE];
  uint32_t reward = roles->call[RA_RECIPE_REWARD_INFERENCE];
  uint32_t critic = roles->call[RA_RECIPE_CRITIC_TRAIN];
  uint32_t values = roles->call[RA_RECIPE_CRITIC_INFERENCE];
  const RaWorkload *workload = from->plan->workload;

  if (ref != RA_NONE) {
    put_engine(export, &plan->calls[ref], REF, REF "fsdp_config.");
    ra_export_put(export, REF, "log_prob_micro_batch_size_per_gpu", "%u",
                  micro_of(plan, ref));
  }
  if (critic != RA_NONE) {
    ra_export_put_text(
        export, "critic.", "model.path",
        published_name(workload->models[workload->calls[critic].model].config));
    put_lora(export, workload, critic, "critic.model.");
    ra_export_put(export, "critic.", "model.enable_gradient_checkpointing",
                  "%s",
                  WORD(plan->calls[critic].recompute == RA_RECOMPUTE_FULL));
    put_engine(export, &plan->calls[critic], "critic.",
               "critic.model.fsdp_config.");
    ra_export_put(export, "critic.", "ppo_micro_batch_size_per_gpu", "%u",
                  micro_of(plan, critic));
  }
  if (values != RA_NONE)
    ra_export_put(export, "critic.", "forward_micro_batch_size_per_gpu", "%u",
                  micro_of(plan, values));
  if (reward == RA_NONE)
    return;
  ra_export_put(export, "reward_model.", "enable", "True");
  ra_export_put_text(
      export, "reward_model.", "model.path",
      published_name(workload->models[workload->calls[reward].model].config));
  put_engine(export, &plan->calls[reward], "reward_model.",
             "reward_model.model.fsdp_config.");
  ra_export_put(export, "reward_model.", "micro_batch_size_per_gpu", "%u",
                micro_of(plan, reward));
}

RaExport *
ra_export_verl(const RaExportSource *from, GError **error)
{
  g_return_val_if_fail(from != NULL && from->plan != NULL, NULL);

  RaExportRoles roles = ra_export_roles(from->plan->workload);
  g_autoptr(RaExport) export = ra_export_new(from->plan_path);
  g_autofree char *script = NULL;
  GError *cause = NULL;

  if (roles.call[RA_RECIPE_GENERATE] == RA_NONE ||
      roles.call[RA_RECIPE_ACTOR_TRAIN] == RA_NONE) {
    g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                "%s: no model both generates and is trained, as verl requires",
                from->plan_path);
    return NULL;
  }
  put_common(export, from, &roles);
  put_actor(export, from, &roles);
  put_rollout(export, from, roles.call[RA_RECIPE_GENERATE]);
  put_others(export, from, &roles);
  script = ra_export_script(export);
  if (!ra_export_compare(export, from, &roles, script, &cause)) {
    g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                "%s: verl cannot run the closest configuration: %s",
                from->plan_path, cause->message);
    g_error_free(cause);
    return NULL;
  }
  return g_steal_pointer(&export);
}
