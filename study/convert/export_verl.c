/* A plan as overrides of a trainer of verl; study/convert/recipe_verl.c reads
 * them.  Keys as of 1dda039 (2026-08), b178a3c (2026-01) and v0.5.0. */
#include "config.h"

#include <string.h>

#include "graph/input/length.h"
#include "graph/input/lora.h"
#include "graph/input/plan_service.h"
#include "graph/input/turns.h"
#include "study/convert/export_impl.h"

#define ACTOR "actor_rollout_ref.actor."
#define ROLLOUT "actor_rollout_ref.rollout."
#define REF "actor_rollout_ref.ref."
#define MODEL "actor_rollout_ref.model."
#define TRANSFORMER "megatron.override_transformer_config."
#define MAX_SEQUENCES 256 /* rollout.yaml of 2026-08 */
#define WORD(x) ((x) ? "True" : "False")

/* Newest first, as versions[] has them. */
typedef enum { V2026_08, V2026_01, V2025_07 } Version;

static const char *const versions[] = {"2026-08", "2026-01", "2025-07", NULL};

/* State that all functions here share. */
typedef struct {
  RaExport *export;
  const RaPlan *plan;
  const RaExportRoles *roles;
  Version version;
  gboolean is_megatron; /* verl has one back end for all that trains */
  gboolean any_even;    /* some call has dynamic batches */
} Writer;

static const RaCallPlan *
plan_of(const Writer *w, RaRecipeKind kind)
{
  uint32_t c = w->roles->call[kind];

  return c == RA_NONE ? NULL : &w->plan->calls[c];
}

/* TRUE if tokens bound the micro-batches of @c. */
static gboolean
is_even(const Writer *w, uint32_t c)
{
  return w->plan->calls[c].balance == RA_BALANCE_TOKENS;
}

/* FSDP cuts by ZeRO alone; all else is Megatron's. */
static gboolean
is_megatron(const RaCallPlan *how)
{
  return how->tp > 1 || how->pp > 1 || how->ep > 1 || how->zero < 2;
}

/* (transfer full): peft's modules are our targets with `_proj`; Megatron's have
 * several of them. */
static char *
modules_of(const RaModel *model, const char *targets, gboolean is_megatron)
{
  const char *in = is_megatron                  ? "in_proj"
                   : ra_lora_fuses_gates(model) ? "in_proj_qkvz,in_proj_ba"
                                                : "in_proj_qkv,in_proj_z,"
                                                  "in_proj_b,in_proj_a";
  static const struct {
    const char *target, *module;
  } fused[] = {{"q", "linear_qkv"},    {"k", "linear_qkv"},
               {"v", "linear_qkv"},    {"o", "linear_proj"},
               {"gate", "linear_fc1"}, {"up", "linear_fc1"},
               {"down", "linear_fc2"}};
  g_auto(GStrv) words = g_strsplit(targets, ", ", -1);
  GString *out = g_string_new("[");

  for (guint i = 0; words[i]; i++) {
    g_autofree char *module = g_str_equal(words[i], "in")
                                  ? g_strdup(in)
                                  : g_strconcat(words[i], "_proj", NULL);

    for (guint k = 0; is_megatron && k < G_N_ELEMENTS(fused); k++) {
      if (g_str_equal(words[i], fused[k].target)) {
        g_free(module);
        module = g_strdup(fused[k].module);
      }
    }
    if (!strstr(out->str, module))
      g_string_append_printf(out, "%s%s", out->len > 1 ? "," : "", module);
  }
  g_string_append_c(out, ']');
  return g_string_free(out, FALSE);
}

/* Adapters of what @kind trains. */
static void
put_lora(const Writer *w, RaRecipeKind kind, const char *prefix)
{
  const RaWorkload *workload = w->plan->workload;
  const RaModel *model =
      workload->models[workload->calls[w->roles->call[kind]].model].model;
  g_autofree char *text = NULL, *modules = NULL;

  if (model->lora_rank == 0 || (w->is_megatron && w->version == V2025_07))
    return;
  ra_export_put(w->export, prefix, w->is_megatron ? "lora.rank" : "lora_rank",
                "%u", model->lora_rank);
  text = ra_lora_targets_text(model);
  modules =
      text ? modules_of(model, text, w->is_megatron) : g_strdup("all-linear");
  if (text || !w->is_megatron)
    ra_export_put(w->export, prefix,
                  w->is_megatron ? "lora.target_modules" : "target_modules",
                  "%s", modules);
}

/* Layers of the stages at the ends, where only these differ; of actors only,
 * as the others have no such key. */
static void
put_stages(const Writer *w, const RaCallPlan *how, uint32_t n_layers)
{
  static const char *const names[] = {"num_layers_in_first_pipeline_stage",
                                      "num_layers_in_last_pipeline_stage"};
  g_autofree uint32_t *even = g_new(uint32_t, how->pp);
  uint32_t last = how->pp - 1;

  if (how->pp < 2 || how->n_virtual > 1)
    return;
  ra_stage_layers_even(n_layers, how->pp, even);
  if (memcmp(even, how->stage_layers, how->pp * sizeof *even) == 0)
    return;
  ra_export_put(w->export, "+" ACTOR TRANSFORMER, names[0], "%u",
                how->stage_layers[0]);
  ra_export_put(w->export, "+" ACTOR TRANSFORMER, names[1], "%u",
                how->stage_layers[last]);
}

/* Keys of Megatron that stand in dictionaries without a schema. */
static void
put_overrides(const Writer *w, const RaCallPlan *how, const char *prefix)
{
  if (how->overlap_grad_reduce)
    ra_export_put(w->export, prefix,
                  "megatron.override_ddp_config.overlap_grad_reduce", "True");
  if (how->ep > 1 && how->dispatch == RA_DISPATCH_ONCE) {
    ra_export_put(w->export, prefix, TRANSFORMER "moe_enable_deepep", "True");
    ra_export_put(w->export, prefix, TRANSFORMER "moe_token_dispatcher_type",
                  "flex");
  }
  if (!how->fp8_gemms)
    return;
  ra_export_put(w->export, prefix, TRANSFORMER "fp8", "e4m3");
  ra_export_put(w->export, prefix, TRANSFORMER "fp8_recipe", "%s",
                ra_fp8_scaling_words[how->fp8_scaling]);
  if (how->fp8_params)
    ra_export_put(w->export, prefix, TRANSFORMER "fp8_param", "True");
  if (how->bf16_first == 0 && how->bf16_last == 0)
    return;
  ra_export_put(w->export, prefix, TRANSFORMER "first_last_layers_bf16",
                "True");
  ra_export_put(w->export, prefix, TRANSFORMER "num_layers_at_start_in_bf16",
                "%u", how->bf16_first);
  ra_export_put(w->export, prefix, TRANSFORMER "num_layers_at_end_in_bf16",
                "%u", how->bf16_last);
}

static void
put_recompute(const Writer *w, const RaCallPlan *how, const char *prefix)
{
  gboolean full = how->recompute == RA_RECOMPUTE_FULL;

  if (how->recompute == RA_RECOMPUTE_NONE)
    return;
  ra_export_put(w->export, prefix, TRANSFORMER "recompute_granularity", "%s",
                full ? "full" : "selective");
  if (!full)
    return;
  ra_export_put(w->export, prefix, TRANSFORMER "recompute_method", "uniform");
  ra_export_put(w->export, prefix, TRANSFORMER "recompute_num_layers", "1");
}

/* Keys of Megatron's optimizer. */
static void
put_optimizer(const Writer *w, const RaCallPlan *how, const char *prefix)
{
#define OPTIMIZER "optim.override_optimizer_config."
  g_autofree char *added = g_strconcat("+", prefix, NULL);

  if (how->optimizer_residency == RA_RESIDENCY_CPU) {
    ra_export_put(w->export, added, OPTIMIZER "optimizer_cpu_offload", "True");
    ra_export_put(w->export, added, OPTIMIZER "optimizer_offload_fraction",
                  "1");
  }
  if (how->master_weights == RA_MASTER_REMAINDERS)
    ra_export_put(w->export, added, OPTIMIZER "use_precision_aware_optimizer",
                  "True");
#undef OPTIMIZER
}

static void
put_megatron(const Writer *w, const RaCallPlan *how, const char *prefix,
             gboolean is_train)
{
  RaExport *x = w->export;

  ra_export_put(x, prefix, "megatron.tensor_model_parallel_size", "%u",
                how->tp);
  ra_export_put(x, prefix, "megatron.pipeline_model_parallel_size", "%u",
                how->pp);
  if (is_train && how->n_virtual > 1)
    ra_export_put(x, prefix, "megatron.virtual_pipeline_model_parallel_size",
                  "%u", how->n_virtual);
  ra_export_put(x, prefix, "megatron.context_parallel_size", "%u", how->cp);
  ra_export_put(x, prefix, "megatron.expert_model_parallel_size", "%u",
                MAX(1, how->ep));
  ra_export_put(x, prefix, "megatron.sequence_parallel", "%s",
                WORD(how->sequence_parallel || how->tp == 1));
  ra_export_put(x, prefix, "megatron.param_offload", "%s",
                WORD(how->residency == RA_RESIDENCY_HOST));
  if (!is_train)
    return;
  ra_export_put(x, prefix, "megatron.optimizer_offload", "%s",
                WORD(how->optimizer_residency == RA_RESIDENCY_HOST));
  if (how->releases_grads)
    ra_export_put(x, prefix, "megatron.grad_offload", "True");
  put_optimizer(w, how, prefix);
}

/* FSDP's keys are below @fsdp. */
static void
put_fsdp(const Writer *w, const RaCallPlan *how, const char *prefix,
         const char *fsdp, gboolean is_train)
{
  RaExport *x = w->export;

  ra_export_put(x, prefix, "ulysses_sequence_parallel_size", "%u", how->cp);
  if (how->zero_group < how->dp)
    ra_export_put(x, fsdp, "fsdp_size", "%u", how->zero_group * how->cp);
  if (how->zero == 2)
    ra_export_put(x, fsdp, "reshard_after_forward", "False");
  if (how->zero == 3 && how->gathers == RA_GATHERS_AHEAD)
    ra_export_put(x, fsdp, "forward_prefetch", "True");
  ra_export_put(x, fsdp, "param_offload", "%s",
                WORD(how->residency == RA_RESIDENCY_HOST));
  if (!is_train)
    return;
  ra_export_put(x, fsdp, "optimizer_offload", "%s",
                WORD(how->optimizer_residency == RA_RESIDENCY_HOST));
  if (how->master_weights == RA_MASTER_NONE && how->moments_dtype > 0)
    ra_export_put(x, fsdp, "model_dtype", "%s",
                  how->moments_dtype == 1 + RA_DTYPE_BF16 ? "bfloat16"
                                                          : "float16");
}

/* Packing, or padding.  FSDP's key is below @model; its default is padding
 * before 0.7, for critics also in 0.7. */
static void
put_padding(const Writer *w, const RaCallPlan *how, const char *prefix,
            const char *model)
{
  if (!w->is_megatron)
    ra_export_put(w->export, model, "use_remove_padding", "%s",
                  WORD(how->padded_length == 0));
  if (w->is_megatron && how->padding == RA_PADDING_MICRO_BATCH &&
      w->version != V2025_07)
    ra_export_put(w->export, prefix, "megatron.use_remove_padding", "False");
}

/* ---- The parts ----------------------------------------------------------- */

/* Nodes and GPUs of the mesh of @how, for a pool of verl. */
static void
put_pool(const Writer *w, const char *prefix, const RaCallPlan *how)
{
  guint n_gpus = ra_mesh_n_gpus(&how->mesh);
  guint host =
      MIN(how->mesh.gpus_per_node, ra_export_host_gpus(w->plan->cluster));
  guint each = MIN(n_gpus, host);

  ra_export_put(w->export, prefix, "nnodes", "%u", n_gpus / each);
  ra_export_put(w->export, prefix, "n_gpus_per_node", "%u", each);
}

/* The trainer: all calls in turn on all GPUs, or generation apart, for the next
 * iteration or as a service. */
static void
put_trainer(const Writer *w)
{
  static const char *const one_step[] = {
      "verl.experimental.one_step_off_policy.main_ppo",
      "verl.experimental.one_step_off_policy.main_ppo",
      "recipe.one_step_off_policy.main_ppo"};
  const RaCallPlan *generate = plan_of(w, RA_RECIPE_GENERATE);
  const RaCallPlan *train = plan_of(w, RA_RECIPE_ACTOR_TRAIN);
  RaExport *x = w->export;
  gboolean is_service =
      generate->service != RA_SERVICE_NONE && w->version != V2025_07;

  x->launcher = "python3 -m";
  x->entry = "verl.trainer.main_ppo";
  x->is_apart =
      ra_export_is_apart(w->plan->cluster, &generate->mesh, &train->mesh);
  if (w->is_megatron && w->version == V2026_08)
    ra_export_put(x, "", "model_engine", "megatron");
  if (!x->is_apart) {
    uint32_t each = ra_export_host_gpus(w->plan->cluster);

    ra_export_put(x, "trainer.", "nnodes", "%u",
                  ra_cluster_n_gpus(w->plan->cluster) / each);
    ra_export_put(x, "trainer.", "n_gpus_per_node", "%u", each);
    if (w->is_megatron && w->version != V2026_08)
      x->config = "--config-name=ppo_megatron_trainer";
    return;
  }
  x->entry = is_service ? "verl.experimental.fully_async_policy."
                          "fully_async_main"
                        : one_step[w->version];
  if (w->is_megatron)
    x->config = is_service ? "--config-name=fully_async_ppo_megatron_trainer"
                           : "--config-name=one_step_off_ppo_megatron_trainer";
  ra_export_put(x, "actor_rollout_ref.", "hybrid_engine", "False");
  put_pool(w, "trainer.", train);
  put_pool(w, "rollout.", generate);
}

/* Batches of the fully asynchronous trainer. */
static void
put_service(const Writer *w, uint32_t n_pieces)
{
  const RaCallPlan *how = plan_of(w, RA_RECIPE_GENERATE);
  const RaCall *call =
      &w->plan->workload->calls[w->roles->call[RA_RECIPE_GENERATE]];

#define ASYNC "async_training."
  ra_export_put(w->export, "data.", "train_batch_size", "0");
  ra_export_put(w->export, ASYNC, "require_batches", "%u", n_pieces);
  ra_export_put(w->export, ASYNC, "trigger_parameter_sync_step", "%u",
                ra_plan_sync_interval(how));
  ra_export_put(w->export, ASYNC, "staleness_threshold", "%u",
                MAX(1, call->staleness));
  ra_export_put(w->export, ASYNC, "partial_rollout", "%s",
                WORD(how->service != RA_SERVICE_DRAIN));
#undef ASYNC
}

/* Trips: a filter of groups, since 2026-08 in the trainer of all. */
static void
put_trips(const Writer *w)
{
  const RaWorkload *workload = w->plan->workload;

  if (workload->n_trip_prompts == 0 || w->version != V2026_08)
    return;
  ra_export_put(w->export, "algorithm.filter_groups.", "enable", "True");
  ra_export_put(w->export, "algorithm.filter_groups.", "max_num_gen_batches",
                "%u", workload->max_trips);
  ra_export_put(w->export, "data.", "gen_batch_size", "%u",
                workload->n_trip_prompts);
}

/* Turns: as many as the workload has at most.  Returns the longest response,
 * with those of the tools. */
static uint64_t
put_turns(const Writer *w)
{
  const RaWorkload *workload = w->plan->workload;

  if (!ra_turns_are_set(workload))
    return workload->response_length.max_tokens;
#define TURN ROLLOUT "multi_turn."
  ra_export_put(w->export, TURN, "enable", "True");
  ra_export_put(w->export, TURN, "max_assistant_turns", "%u",
                workload->turns.max_tokens);
  ra_export_put(w->export, TURN, "max_tool_response_length", "%u",
                workload->tool_tokens.max_tokens);
#undef TURN
  return ra_turns_max_tokens(workload);
}

/* Tokens of the longest sequences, which verl's limits are. */
static void
put_common(const Writer *w)
{
  const RaWorkload *workload = w->plan->workload;
  const RaExportRoles *roles = w->roles;
  const RaCall *generate = &workload->calls[roles->call[RA_RECIPE_GENERATE]];
  uint32_t c = roles->call[RA_RECIPE_ACTOR_TRAIN];
  const RaCall *train = &workload->calls[c];
  uint32_t n_pieces = ra_call_plan_n_pieces(train, &w->plan->calls[c]);
  RaExport *x = w->export;

  ra_export_put_text(x, "algorithm.", "adv_estimator",
                     roles->call[RA_RECIPE_CRITIC_TRAIN] != RA_NONE
                         ? "gae"
                         : workload->algorithm);
  ra_export_put(x, "algorithm.", "use_kl_in_reward", "False");
  ra_export_put(x, "data.", "max_prompt_length", "%u",
                workload->prompt_length.max_tokens);
  ra_export_put(x, "data.", "max_response_length", "%" G_GUINT64_FORMAT,
                put_turns(w));
  if (x->is_apart && plan_of(w, RA_RECIPE_GENERATE)->service &&
      w->version != V2025_07)
    put_service(w, n_pieces);
  else
    ra_export_put(x, "data.", "train_batch_size", "%u", workload->n_prompts);
  put_trips(w);
  ra_export_put(x, ROLLOUT, "n", "%u", generate->samples_per_prompt);
  ra_export_put(x, ACTOR, "ppo_mini_batch_size", "%u",
                MAX(1, workload->n_prompts / n_pieces));
  ra_export_put(x, ACTOR, "ppo_epochs", "%u", train->n_epochs);
  ra_export_put(x, ACTOR, "use_kl_loss", "%s",
                WORD(roles->call[RA_RECIPE_REF_INFERENCE] != RA_NONE));
  if (w->version != V2025_07)
    ra_export_put(x, "algorithm.rollout_correction.", "bypass_mode", "%s",
                  WORD(roles->call[RA_RECIPE_ACTOR_INFERENCE] == RA_NONE));
}

static void
put_drafts(const Writer *w)
{
#define SPECULATIVE "engine_kwargs.vllm.speculative_config."
  const RaPlan *plan = w->plan;
  const RaDrafts *drafts =
      &plan->workload->calls[w->roles->call[RA_RECIPE_GENERATE]].drafts;

  if (drafts->n_tokens == 0)
    return;
  ra_export_put(w->export, "+" ROLLOUT SPECULATIVE, "method", "%s",
                ra_export_draft_method(RA_FRAMEWORK_VERL, drafts->kind));
  ra_export_put(w->export, "+" ROLLOUT SPECULATIVE, "num_speculative_tokens",
                "%u", drafts->n_tokens);
#undef SPECULATIVE
}

static void
put_rollout(const Writer *w)
{
  const RaCallPlan *how = plan_of(w, RA_RECIPE_GENERATE);
  RaExport *x = w->export;

  ra_export_put(x, ROLLOUT, "name", "vllm");
  ra_export_put(x, ROLLOUT, "tensor_model_parallel_size", "%u", how->tp);
  if (how->pp > 1)
    ra_export_put(x, "+" ROLLOUT, "pipeline_model_parallel_size", "%u",
                  how->pp);
  if (how->ep > 1 && w->version != V2025_07)
    ra_export_put(x, ROLLOUT, "expert_parallel_size", "%u", how->ep);
  ra_export_put(x, ROLLOUT, "enforce_eager", "%s",
                WORD(how->launch != RA_LAUNCH_GRAPH));
  ra_export_put(x, "+" ROLLOUT, "enable_prefix_caching", "%s",
                WORD(how->prefix_sharing));
  if (how->dtype == 1 + RA_DTYPE_FP8)
    ra_export_put(x, ROLLOUT, "quantization", "fp8");
  if (how->kv_dtype == 1 + RA_DTYPE_FP8)
    ra_export_put(x, "+" ROLLOUT, "engine_kwargs.vllm.kv_cache_dtype", "fp8");
  put_drafts(w);
  /* verl knows no static batches; a number makes all versions alike. */
  ra_export_put(x, ROLLOUT, "max_num_seqs", "%u",
                how->batching == RA_BATCHING_CONTINUOUS ? how->max_sequences
                                                        : MAX_SEQUENCES);
  if (how->batching != RA_BATCHING_CONTINUOUS)
    return;
  ra_export_put(x, ROLLOUT, "max_num_batched_tokens", "%u",
                how->prefill_tokens);
  if (how->kv_memory_bytes > 0)
    ra_export_put(
        x, ROLLOUT, "gpu_memory_utilization", "%.6f",
        ra_export_memory_frac(w->plan, w->roles->call[RA_RECIPE_GENERATE]));
}

/* Tokens that bound a micro-batch of a GPU of @c.  verl refuses a bound below
 * the longest sequence (verl/utils/seqlen_balancing.py:
 * rearrange_micro_batches()). */
static uint32_t
token_bound(const Writer *w, uint32_t c)
{
  uint32_t cp = MAX(1, w->plan->calls[c].cp);

  return (ra_export_micro_tokens(w->plan, c, TRUE) + cp - 1) / cp;
}

/* Micro-batches of @c, bounded in tokens if @even, in sequences otherwise. */
static void
put_bound(const Writer *w, const char *prefix, const char *name, gboolean even,
          uint32_t c)
{
  g_autofree char *key = g_strconcat(prefix, name, NULL);

  if (even)
    ra_export_put(w->export, key, "max_token_len_per_gpu", "%u",
                  token_bound(w, c));
  else
    ra_export_put(w->export, key, "micro_batch_size_per_gpu", "%u",
                  ra_export_micro(w->plan, c));
}

/* PREFIX + use_dynamic_bsz; without a value a call does as others, so each has
 * one as soon as one call is dynamic. */
static void
put_dynamic(const Writer *w, const char *prefix, gboolean even)
{
  if (w->any_even)
    ra_export_put(w->export, prefix, "use_dynamic_bsz", "%s", WORD(even));
}

/* The micro-batches of @c, whose keys are below PREFIX + NAME; use_dynamic_bsz
 * is below @dynamic. */
static void
put_micro(const Writer *w, const char *dynamic, const char *prefix,
          const char *name, uint32_t c)
{
  gboolean even = is_even(w, c);

  put_dynamic(w, dynamic, even);
  put_bound(w, prefix, name, even, c);
}

static void
put_actor(const Writer *w)
{
  uint32_t c = w->roles->call[RA_RECIPE_ACTOR_TRAIN];
  uint32_t infer = w->roles->call[RA_RECIPE_ACTOR_INFERENCE];
  const RaCallPlan *how = &w->plan->calls[c];
  const RaWorkloadModel *model =
      &w->plan->workload->models[w->plan->workload->calls[c].model];
  RaExport *x = w->export;

  ra_export_put_model(x, MODEL, "path", w->plan, c);
  put_lora(w, RA_RECIPE_ACTOR_TRAIN, MODEL);
  put_padding(w, how, ACTOR, MODEL);
  if (w->is_megatron) {
    put_megatron(w, how, ACTOR, TRUE);
    put_stages(w, how, model->model->n_layers);
    put_recompute(w, how, "+" ACTOR);
    put_overrides(w, how, "+" ACTOR);
    if (ra_call_plan_spreads_experts(how))
      ra_export_put(x, ACTOR, "megatron.expert_tensor_parallel_size", "%u",
                    ra_call_plan_expert_tp(how));
  } else {
    ra_export_put(x, MODEL, "enable_gradient_checkpointing", "%s",
                  WORD(how->recompute == RA_RECOMPUTE_FULL));
    put_fsdp(w, how, ACTOR, ACTOR "fsdp_config.", TRUE);
  }
  put_micro(w, ACTOR, ACTOR, "ppo_", c);
  if (infer != RA_NONE)
    put_micro(w, ROLLOUT "log_prob_", ROLLOUT, "log_prob_", infer);
}

static void
put_critic(const Writer *w)
{
  static const char *const fsdp[] = {
      "critic.fsdp.", "critic.model.fsdp_config.", "critic.model.fsdp_config."};
  uint32_t c = w->roles->call[RA_RECIPE_CRITIC_TRAIN];
  uint32_t values = w->roles->call[RA_RECIPE_CRITIC_INFERENCE];
  const RaCallPlan *how = c == RA_NONE ? NULL : &w->plan->calls[c];
  RaExport *x = w->export;
  gboolean even;

  if (!how)
    return;
  even = is_even(w, c);
  ra_export_put_model(x, "critic.", "model.path", w->plan, c);
  put_lora(w, RA_RECIPE_CRITIC_TRAIN, "critic.model.");
  put_padding(w, how, "critic.", "critic.model.");
  if (w->is_megatron) {
    put_megatron(w, how, "critic.", TRUE);
    put_recompute(w, how, "+critic.");
    put_overrides(w, how, "+critic.");
  } else {
    ra_export_put(x, "critic.model.", "enable_gradient_checkpointing", "%s",
                  WORD(how->recompute == RA_RECOMPUTE_FULL));
    put_fsdp(w, how, "critic.", fsdp[w->version], TRUE);
  }
  put_micro(w, "critic.", "critic.", "ppo_", c);
  /* Training decides for values, too. */
  if (values != RA_NONE && (even || !w->is_megatron))
    put_bound(w, "critic.", "forward_", even, values);
}

/* The reference and the reward model. */
static void
put_others(const Writer *w)
{
  uint32_t ref = w->roles->call[RA_RECIPE_REF_INFERENCE];
  uint32_t c = w->roles->call[RA_RECIPE_REWARD_INFERENCE];
  gboolean is_new = w->version == V2026_08;
  RaExport *x = w->export;

  if (ref != RA_NONE) {
    if (w->is_megatron)
      put_megatron(w, &w->plan->calls[ref], REF, FALSE);
    else
      put_fsdp(w, &w->plan->calls[ref], REF, REF "fsdp_config.", FALSE);
    put_micro(w, REF "log_prob_", REF, "log_prob_", ref);
  }
  if (c == RA_NONE)
    return;
  ra_export_put(x, is_new ? "reward.reward_model." : "reward_model.", "enable",
                "True");
  ra_export_put_model(x, is_new ? "reward." : "",
                      is_new ? "reward_model.model_path"
                             : "reward_model.model.path",
                      w->plan, c);
  if (w->version != V2025_07) {
    ra_export_put(x, is_new ? "reward." : "", "reward_model.rollout.name",
                  "vllm");
    ra_export_put(x, is_new ? "reward." : "",
                  "reward_model.rollout.tensor_model_parallel_size", "%u",
                  w->plan->calls[c].tp);
    return;
  }
  if (w->is_megatron)
    put_megatron(w, &w->plan->calls[c], "reward_model.", FALSE);
  else
    put_fsdp(w, &w->plan->calls[c], "reward_model.",
             "reward_model.model.fsdp_config.", FALSE);
  put_dynamic(w, "reward_model.", is_even(w, c));
  put_bound(w, "reward_model.", is_even(w, c) ? "forward_" : "", is_even(w, c),
            c);
}

static void
put_verl(RaExport *export, const RaExportSource *from,
         const RaExportRoles *roles, guint version)
{
  Writer w = {.export = export,
              .plan = from->plan,
              .roles = roles,
              .version = (Version)version};

  w.is_megatron = is_megatron(plan_of(&w, RA_RECIPE_ACTOR_TRAIN));
  for (uint32_t c = 0; c < w.plan->workload->n_calls; c++)
    w.any_even |= is_even(&w, c);
  put_trainer(&w);
  put_common(&w);
  put_actor(&w);
  put_rollout(&w);
  put_critic(&w);
  put_others(&w);
}

const RaExportWriter ra_export_writer_verl = {
    .framework = RA_FRAMEWORK_VERL,
    .versions = versions,
    .put = put_verl,
};
