/* Configurations of NeMo-RL: YAML of examples/run_grpo.py, run_ppo.py,
 * run_sft.py, run_dpo.py and run_rm.py, with what their `defaults` name.
 *
 * What a missing key means is what the base configuration has, at revision
 * 7ea279a (2026-08).  Colocated, everything of the policy is on the host while
 * engines generate (nemo_rl/algorithms/grpo.py, refit_policy_generation()): its
 * optimizer's state rests there.  The table of keys is
 * study/convert/meaning_nemo_rl.c. */
#include "config.h"

#include <string.h>

#include "study/convert/recipe_impl.h"

#define GENERATION "policy.generation."
#define GIB 1073741824.0

/* Tasks of a configuration, by its group of keys or its program, with the base
 * configuration of each. */
typedef struct {
  const char *group, *entry;
  const char *algorithm; /* NULL: no plan has it */
  RaRecipeTask task;
  uint32_t batch, micro, total;
} Base;

static const Base bases[] = {
    /* clang-format off */
    {"distillation.", "distillation", NULL, RA_RECIPE_RL, 0, 0, 0},
    {"eval.", "run_eval", NULL, RA_RECIPE_RL, 0, 0, 0},
    {"grpo.", "run_grpo", "grpo", RA_RECIPE_RL, 512, 4, 512},
    {"grpo.", "run_vlm_grpo", "grpo", RA_RECIPE_RL, 512, 4, 512},
    {"ppo.", "run_ppo", "ppo", RA_RECIPE_RL, 512, 4, 16384},
    {"sft.", "run_sft", "sft", RA_RECIPE_SFT, 32, 1, 1024},
    {"sft.", "run_vlm_sft", "sft", RA_RECIPE_SFT, 32, 1, 1024},
    {"dpo.", "run_dpo", "dpo", RA_RECIPE_DPO, 128, 2, 1024},
    {"rm.", "run_rm", "rm", RA_RECIPE_RM, 128, 1, 8192},
    /* clang-format on */
};

static const Base *
find_base(RaSettings *s, GError **error)
{
  const Base *base = NULL;
  gboolean teachers;

  if (!ra_settings_bool(s, "on_policy_distillation.enabled", FALSE, &teachers,
                        error))
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS(bases) && !base; i++) {
    if (ra_settings_has(s, bases[i].group) ||
        strstr(ra_settings_entry(s), bases[i].entry))
      base = &bases[i];
  }
  if (teachers)
    base = &bases[0];
  if (ra_settings_get(s, "config") &&
      !ra_settings_get(s, "policy.train_global_batch_size"))
    ra_settings_fail(s, "config", error,
                     "that file itself: its keys are the configuration");
  else if (!base || !base->algorithm)
    ra_recipe_refuse(s,
                     !base               ? "a policy without an algorithm"
                     : base == &bases[0] ? "distillation"
                                         : "an evaluation",
                     error);
  else
    return base;
  return NULL;
}

/* Keys @prefix@key. */
static gboolean
count_at(RaSettings *s, const char *prefix, const char *key, uint32_t fallback,
         uint32_t *out, GError **error)
{
  return ra_settings_uint32(s, ra_recipe_at(prefix, key), fallback, 0,
                            RA_RECIPE_COUNT_MAX, out, error);
}

static gboolean
switch_at(RaSettings *s, const char *prefix, const char *key, gboolean fallback,
          gboolean *out, GError **error)
{
  return ra_settings_bool(s, ra_recipe_at(prefix, key), fallback, out, error);
}

/* ---- Batches and lengths ------------------------------------------------- */

/* Generation in trips: nemo_rl/algorithms/grpo.py, dynamic_sampling(). */
static gboolean
read_trips(RaRecipe *recipe, RaSettings *s, const Base *base, GError **error)
{
  const char *key = ra_recipe_at(base->group, "batch_multiplier");
  gboolean dynamic;
  double times;

  if (!switch_at(s, base->group, "use_dynamic_sampling", FALSE, &dynamic,
                 error))
    return FALSE;
  if (!dynamic)
    return TRUE;
  if (!ra_settings_double(s, key, 1.0, 0.001, 1000, &times, error) ||
      !count_at(s, base->group, "dynamic_sampling_max_gen_batches", 10,
                &recipe->trips.most, error))
    return FALSE;
  recipe->trips.n_prompts = MAX(1, (uint32_t)(recipe->n_prompts * times));
  return TRUE;
}

static gboolean
read_batches(RaRecipe *recipe, RaSettings *s, const Base *base, GError **error)
{
  uint32_t batch, n, total, input, most;

  if (!ra_recipe_count(s, "policy.train_global_batch_size", base->batch, &batch,
                       error) ||
      !ra_recipe_count(s, "policy.max_total_sequence_length", base->total,
                       &total, error) ||
      !ra_recipe_count(s, "data.max_input_seq_length", total, &input, error) ||
      !ra_recipe_count(s, GENERATION "max_new_tokens", total, &most, error))
    return FALSE;
  if (base->task == RA_RECIPE_RL) {
    ra_recipe_split(recipe, total, input, most);
    n = recipe->n_prompts * recipe->n_samples;
    if (batch > n || n % batch != 0)
      return ra_settings_fail(s, "policy.train_global_batch_size", error,
                              "a divisor of prompts x generations");
    recipe->n_mini_batches = n / batch;
    return read_trips(recipe, s, base, error);
  }
  /* Comparisons are pairs (nemo_rl/algorithms/dpo.py, rm.py). */
  ra_recipe_split(recipe, total, total, total);
  recipe->n_prompts = batch;
  recipe->n_samples = base->task == RA_RECIPE_SFT ? 1 : 2;
  return TRUE;
}

/* ---- Pools of GPUs ------------------------------------------------------- */

/* nemo_rl/algorithms/grpo.py, setup(): a reward model and engines apart get
 * whole nodes, or in a cluster of one node GPUs of it. */
static gboolean
read_pools(RaRecipe *recipe, RaSettings *s, gboolean *out_apart, GError **error)
{
#define OWN GENERATION "colocated.resources."
#define REWARD "env.reward_model.resources."
  uint32_t n_nodes, n_gpus, own_nodes, own_gpus, rm_nodes = 0, rm_gpus = 0;
  gboolean shared, is_one;

  if (!ra_recipe_count(s, "cluster.num_nodes", 1, &n_nodes, error) ||
      !ra_recipe_count(s, "cluster.gpus_per_node", 1, &n_gpus, error) ||
      !ra_settings_bool(s, GENERATION "colocated.enabled", TRUE, &shared,
                        error) ||
      !ra_recipe_count(s, OWN "num_nodes", 1, &own_nodes, error) ||
      !ra_recipe_count(s, OWN "gpus_per_node", n_gpus, &own_gpus, error))
    return FALSE;
  if (ra_settings_has(s, REWARD) &&
      (!ra_recipe_count(s, REWARD "num_nodes", 1, &rm_nodes, error) ||
       !ra_recipe_count(s, REWARD "gpus_per_node", 1, &rm_gpus, error)))
    return FALSE;
  is_one = n_nodes == 1;
  if (!ra_settings_uint32(s, "cluster.segment_size", 0, 0, RA_RECIPE_COUNT_MAX,
                          &recipe->n_segment, error))
    return FALSE;
  if (n_gpus == 4 && !is_one) /* tests/test_suites/README.md */
    recipe->gpu = "gb200";
  *out_apart = !shared && recipe->task == RA_RECIPE_RL;
  if (!is_one)
    n_nodes -= MIN(n_nodes, rm_nodes);
  else
    n_gpus -= MIN(n_gpus, rm_gpus);
  if (!*out_apart)
    own_nodes = own_gpus = 0;
  else if (n_nodes > 1)
    n_nodes -= MIN(n_nodes, own_nodes);
  else
    n_gpus -= MIN(n_gpus, own_gpus);
  if (n_nodes == 0 || n_gpus == 0)
    return ra_settings_fail(s, is_one ? OWN "gpus_per_node" : OWN "num_nodes",
                            error, "some GPUs of the cluster left to train on");
  return ra_recipe_pools(recipe, n_nodes, n_gpus, own_nodes, own_gpus, error);
#undef REWARD
#undef OWN
}

/* ---- Training and inference ---------------------------------------------- */

#define ALLOCATOR_VARIABLE "PYTORCH_CUDA_ALLOC_CONF"

/* Keys of fp8_cfg, which its `enabled` turns on (nemo_rl/models/megatron/
 * setup.py), with the defaults of grpo_math_1B.yaml. */
static gboolean
read_fp8(RaSettings *s, const char *p, RaRecipeCall *call, GError **error)
{
  gboolean enabled;

  if (!switch_at(s, p, "fp8_cfg.enabled", FALSE, &enabled, error))
    return FALSE;
  return !enabled ||
         ra_recipe_fp8(
             s,
             &(RaRecipeFp8){ra_recipe_at(p, "fp8_cfg.fp8"), "e4m3",
                            ra_recipe_at(p, "fp8_cfg.fp8_recipe"), "blockwise",
                            ra_recipe_at(p, "fp8_cfg.fp8_param"),
                            ra_recipe_at(p, "first_last_layers_bf16"),
                            ra_recipe_at(p, "num_layers_at_start_in_bf16"),
                            ra_recipe_at(p, "num_layers_at_end_in_bf16")},
             call, error);
}

static gboolean
read_megatron(RaSettings *s, const char *p, RaRecipeCall *call, GError **error)
{
  g_autofree char *key = g_strconcat(p, "recompute_granularity", NULL);
  g_autofree char *dispatcher =
      g_strconcat(p, "moe_token_dispatcher_type", NULL);
  gboolean distributed, checkpointing;
  const char *text = ra_settings_get(s, key);

  if (!count_at(s, p, "tensor_model_parallel_size", 1, &call->tp, error) ||
      !count_at(s, p, "pipeline_model_parallel_size", 1, &call->pp, error) ||
      !count_at(s, p, "context_parallel_size", 1, &call->cp, error) ||
      !count_at(s, p, "expert_model_parallel_size", 1, &call->ep, error) ||
      !count_at(s, p, "expert_tensor_parallel_size", 1, &call->etp, error) ||
      !count_at(s, p, "virtual_pipeline_model_parallel_size", 0,
                &call->n_virtual, error) ||
      !count_at(s, p, "num_layers_in_first_pipeline_stage", 0,
                &call->first_layers, error) ||
      !count_at(s, p, "num_layers_in_last_pipeline_stage", 0,
                &call->last_layers, error) ||
      !switch_at(s, p, "sequence_parallel", FALSE, &call->sequence_parallel,
                 error) ||
      !switch_at(s, p, "activation_checkpointing", FALSE, &checkpointing,
                 error) ||
      !switch_at(s, p, "moe_enable_deepep", FALSE, &call->dispatches_once,
                 error) ||
      !switch_at(s, p, "optimizer.use_distributed_optimizer", TRUE,
                 &distributed, error) ||
      !switch_at(s, p, "distributed_data_parallel_config.grad_reduce_in_fp32",
                 FALSE, &call->fp32_grads, error) ||
      !switch_at(s, p, "distributed_data_parallel_config.overlap_grad_reduce",
                 TRUE, &call->overlap, error))
    return FALSE;
  if (!ra_recipe_optimizer(
          s,
          &(RaRecipeOptimizer){
              ra_recipe_at(p, "optimizer.optimizer_cpu_offload"),
              ra_recipe_at(p, "optimizer.optimizer_offload_fraction"), 0,
              ra_recipe_at(p, "optimizer.use_precision_aware_optimizer")},
          call, error))
    return FALSE;
  if (g_strcmp0(ra_settings_get(s, dispatcher), "flex") == 0)
    call->dispatches_once = TRUE;
  call->zero = distributed;
  call->selective_recompute =
      checkpointing && g_strcmp0(text, "selective") == 0;
  call->full_recompute = checkpointing && !call->selective_recompute;
  return read_fp8(s, p, call, error);
}

/* FSDP2 with fp32 weights (nemo_rl/models/dtensor/parallelize.py,
 * MixedPrecisionPolicy), gathered again for the backward pass. */
static gboolean
read_dtensor(RaSettings *s, const char *p, RaRecipeCall *call, GError **error)
{
  g_autofree char *dispatcher =
      g_strconcat(p, "automodel_kwargs.backend.dispatcher", NULL);
  uint32_t n_copies;

  if (!count_at(s, p, "tensor_parallel_size", 1, &call->tp, error) ||
      !count_at(s, p, "context_parallel_size", 1, &call->cp, error) ||
      !count_at(s, p, "expert_parallel_size", 1, &call->ep, error) ||
      !count_at(s, p, "dp_replicate_size", 1, &n_copies, error) ||
      !switch_at(s, p, "sequence_parallel", FALSE, &call->sequence_parallel,
                 error) ||
      !switch_at(s, p, "activation_checkpointing", FALSE, &call->full_recompute,
                 error) ||
      !switch_at(s, p, "automodel_kwargs.backend.enable_deepep", FALSE,
                 &call->dispatches_once, error) ||
      !switch_at(s, p, "cpu_offload", FALSE, &call->host, error))
    return FALSE;
  if (g_strcmp0(ra_settings_get(s, dispatcher), "deepep") == 0)
    call->dispatches_once = TRUE;
  call->etp = call->ep > 1 ? 1 : 0;
  call->zero = 3;
  call->fp32_grads = call->overlap = TRUE;
  call->optimizer_host = call->host;
  if (n_copies > 1)
    call->zero_group =
        call->n_gpus / MAX(1, call->tp * call->cp) / MAX(1, n_copies);
  return TRUE;
}

/* Micro-batches of @model, in sequences or in tokens; @times: sequences of an
 * example. */
static gboolean
read_micro(RaRecipe *recipe, RaSettings *s, const char *model, gboolean train,
           const Base *base, RaRecipeCall *call, GError **error)
{
  uint32_t times =
      base->task == RA_RECIPE_DPO || base->task == RA_RECIPE_RM ? 2 : 1;
  uint32_t total = recipe->max_prompt + recipe->max_response, micro;
  gboolean dynamic, packed;
  const char *by;
  g_autofree char *tokens = NULL, *enabled = NULL;

  if (!count_at(s, model, "train_micro_batch_size", base->micro, &micro,
                error) ||
      (!train &&
       !count_at(s, model, "logprob_batch_size", micro, &micro, error)) ||
      !switch_at(s, model, "dynamic_batching.enabled", FALSE, &dynamic,
                 error) ||
      !switch_at(s, model, "sequence_packing.enabled", FALSE, &packed, error))
    return FALSE;
  call->micro_batch = MAX(1, micro * times);
  if (!dynamic && !packed) {
    /* batched_message_log_to_flat_message() pads to the longest of the step
     * (nemo_rl/data/llm_message_utils.py). */
    call->padding = RA_PADDING_BATCH;
    return TRUE;
  }
  by = dynamic ? "dynamic_batching." : "sequence_packing.";
  tokens = g_strconcat(model, by,
                       train ? "train_mb_tokens" : "logprob_mb_tokens", NULL);
  enabled = g_strconcat(model, by, "enabled", NULL);
  if (!ra_recipe_count(s, tokens, MAX(1, total * micro), &call->micro_tokens,
                       error))
    return FALSE;
  ra_settings_about(s, enabled,
                    "as many micro-batches as sequences of the mean length "
                    "fill, all of one size");
  return TRUE;
}

/* Adapters of @model. */
static gboolean
read_lora(RaRecipe *recipe, RaSettings *s, RaRecipeModel model, const char *p,
          GError **error)
{
  g_autofree char *enabled_key = g_strconcat(p, "enabled", NULL);
  g_autofree char *rank = g_strconcat(p, "dim", NULL);
  g_autofree char *targets = g_strconcat(p, "target_modules", NULL);
  gboolean enabled, all;

  if (!ra_settings_bool(s, enabled_key, FALSE, &enabled, error) ||
      !switch_at(s, p, "match_all_linear", TRUE, &all, error))
    return FALSE;
  if (!enabled) {
    ra_settings_ignore(s, ra_recipe_at(p, "*"));
    return TRUE;
  }
  recipe->lora_merged = TRUE;
  if (!ra_recipe_lora(recipe, s, model, rank, targets, error))
    return FALSE;
  if (all && strstr(p, "lora_cfg"))
    g_clear_pointer(&recipe->lora[model].targets, g_free);
  ra_settings_about(s, enabled_key, "engines are sent merged weights");
  return TRUE;
}

/* A call of @model, "policy." or "value.", on the GPUs of training. */
static gboolean
read_engine(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind,
            const char *model, const Base *base, gboolean is_apart,
            GError **error)
{
  gboolean train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;
  RaRecipeCall *call = &recipe->calls[kind];
  gboolean megatron, offload;
  const char *allocator;
  g_autofree char *prefix = NULL, *lora = NULL;

  if (!switch_at(s, model, "megatron_cfg.enabled", FALSE, &megatron, error) ||
      !switch_at(s, model, "offload_optimizer_for_logprob", FALSE, &offload,
                 error))
    return FALSE;
  prefix =
      g_strconcat(model, megatron ? "megatron_cfg." : "dtensor_cfg.", NULL);
  lora = g_strconcat(prefix, megatron ? "peft." : "lora_cfg.", NULL);
  call->is_there = TRUE;
  call->n_gpus = recipe->calls[RA_RECIPE_ACTOR_TRAIN].n_gpus;
  if (!(megatron ? read_megatron(s, prefix, call, error)
                 : read_dtensor(s, prefix, call, error)) ||
      !read_micro(recipe, s, model, train, base, call, error))
    return FALSE;
  /* Transformer Engine's FusedAdam has them, PyTorch's AdamW not. */
  if (!megatron)
    ra_recipe_moments(s, ra_recipe_at(model, "optimizer.kwargs.exp_avg_dtype"),
                      ra_recipe_at(model, "optimizer.kwargs.exp_avg_sq_dtype"),
                      call);
  allocator =
      ra_settings_get(s, ra_recipe_at(prefix, "env_vars." ALLOCATOR_VARIABLE));
  if (allocator && strstr(allocator, "expandable_segments:True"))
    recipe->is_expandable = TRUE;
  ra_settings_ignore(
      s, ra_recipe_at(model, megatron ? "dtensor_cfg.*" : "megatron_cfg.*"));
  if (base->task == RA_RECIPE_RL && (offload || !is_apart))
    call->optimizer_host = TRUE;
  if (kind == RA_RECIPE_REF_INFERENCE)
    call->host = TRUE; /* swapped in when it is needed */
  if (!train)
    return TRUE;
  return read_lora(recipe, s,
                   kind == RA_RECIPE_ACTOR_TRAIN ? RA_RECIPE_ACTOR
                                                 : RA_RECIPE_CRITIC,
                   lora, error);
}

/* ---- Generation ---------------------------------------------------------- */

/* Defaults of vLLM: vllm/engine/arg_utils.py, get_batch_defaults(), for
 * vllm.LLM on a GPU of 70 GiB and more, and for AsyncLLM. */
#define LLM_SEQUENCES 1024
#define LLM_TOKENS 16384
#define ASYNC_SEQUENCES 128
#define ASYNC_TOKENS 2048

/* Keys of a back end; NULL: it has none. */
typedef struct {
  const char *name, *prefix, *tp, *pp, *ep, *memory, *eager;
  const char *sequences, *tokens; /* in full */
} Backend;

#define V GENERATION "vllm_kwargs."
#define S GENERATION "sglang_cfg."
#define T GENERATION "trtllm_cfg."
#define M GENERATION "mcore_generation_config."
static const Backend backends[] = {
    {"vllm", GENERATION "vllm_cfg.", "tensor_parallel_size",
     "pipeline_parallel_size", "expert_parallel_size", "gpu_memory_utilization",
     "enforce_eager", V "max_num_seqs", V "max_num_batched_tokens"},
    {"dynamo", GENERATION "vllm_cfg.", "tensor_parallel_size",
     "pipeline_parallel_size", "expert_parallel_size", "gpu_memory_utilization",
     "enforce_eager", V "max_num_seqs", V "max_num_batched_tokens"},
    {"sglang", S, "tp_size", "pp_size", "ep_size", "mem_fraction_static",
     "disable_cuda_graph", S "max_running_requests", NULL},
    {"trtllm", T, "tensor_parallel_size", NULL, "moe_expert_parallel_size",
     "gpu_memory_utilization", NULL, T "max_batch_size", T "max_num_tokens"},
    {"megatron", M, "tensor_model_parallel_size",
     "pipeline_model_parallel_size", "expert_model_parallel_size", NULL, NULL,
     NULL, M "max_tokens"},
};

static const Backend *
find_backend(RaSettings *s, GError **error)
{
  static const char key[] = GENERATION "backend";
  const char *word = ra_settings_get(s, key);
  const Backend *found = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(backends); i++) {
    if (g_str_equal(word ? word : "vllm", backends[i].name))
      found = &backends[i];
  }
  if (!found)
    ra_settings_fail(s, key, error, "vllm, dynamo, sglang, trtllm or megatron");
  for (guint i = 0; found && i < G_N_ELEMENTS(backends); i++) {
    if (!g_str_equal(backends[i].prefix, found->prefix))
      ra_settings_ignore(s, ra_recipe_at(backends[i].prefix, "*"));
  }
  return found;
}

/* Degrees: the back end's own; Megatron's are the policy's where they are not
 * set. */
static gboolean
read_degrees(RaSettings *s, const Backend *backend, const RaRecipeCall *policy,
             RaRecipeCall *call, GError **error)
{
  gboolean megatron = g_str_equal(backend->name, "megatron");
  uint32_t tp = megatron ? policy->tp : 1, pp = megatron ? policy->pp : 1;
  uint32_t ep = megatron ? policy->ep : 1;

  if (!count_at(s, backend->prefix, backend->tp, tp, &call->tp, error) ||
      (backend->pp &&
       !count_at(s, backend->prefix, backend->pp, pp, &call->pp, error)) ||
      !count_at(s, backend->prefix, backend->ep, ep, &call->ep, error))
    return FALSE;
  call->tp = MAX(1, call->tp);
  call->pp = MAX(1, call->pp);
  call->ep = MAX(1, call->ep);
  call->etp = call->ep > 1 ? 1 : 0; /* whole experts */
  return !megatron ||
         count_at(s, backend->prefix, "expert_tensor_parallel_size",
                  policy->etp, &call->etp, error);
}

/* Share of the memory that an engine takes, and how many sequences at a time.
 */
static gboolean
read_room(RaRecipe *recipe, RaSettings *s, const Backend *backend,
          RaRecipeCall *call, GError **error)
{
  g_autofree char *memory =
      backend->memory ? g_strconcat(backend->prefix, backend->memory, NULL)
                      : NULL;
  gboolean is_async, vllm = g_str_has_suffix(backend->prefix, "vllm_cfg.");
  uint32_t all = MAX(1, recipe->n_prompts * recipe->n_samples);
  double bytes = 0, gib = 0;

  if (!switch_at(s, backend->prefix, "async_engine",
                 g_str_equal(backend->name, "dynamo"), &is_async, error))
    return FALSE;
  call->max_sequences = !vllm      ? all
                        : is_async ? ASYNC_SEQUENCES
                                   : LLM_SEQUENCES;
  call->prefill_tokens = !vllm      ? LLM_TOKENS
                         : is_async ? ASYNC_TOKENS
                                    : LLM_TOKENS;
  if (vllm && !ra_settings_get(s, backend->sequences))
    ra_recipe_note(
        recipe, "generate: %u sequences at a time, vLLM's own for %s",
        call->max_sequences, is_async ? "AsyncLLM" : "GPUs of 70 GiB and more");
  if (backend->sequences &&
      !ra_recipe_count(s, backend->sequences, call->max_sequences,
                       &call->max_sequences, error))
    return FALSE;
  if (backend->tokens &&
      !ra_recipe_count(s, backend->tokens, call->prefill_tokens,
                       &call->prefill_tokens, error))
    return FALSE;
  if (memory &&
      !ra_settings_double(s, memory, 0.6, 0.01, 1.0, &call->memory_frac, error))
    return FALSE;
  if (!ra_settings_double(s, V "kv_cache_memory_bytes", 0, 0, 1e15, &bytes,
                          error) ||
      (!memory &&
       !ra_settings_double(s, M "buffer_size_gb", 10, 0, 1e6, &gib, error)))
    return FALSE;
  call->kv_bytes = gib > 0 ? gib * GIB : bytes;
  return TRUE;
}
#undef V
#undef S
#undef T

static gboolean
read_generation(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  const Backend *backend = find_backend(s, error);
  const char *graphs;
  gboolean eager = FALSE;

  if (!backend ||
      !read_degrees(s, backend, &recipe->calls[RA_RECIPE_ACTOR_TRAIN], call,
                    error) ||
      !read_room(recipe, s, backend, call, error) ||
      (backend->eager &&
       !switch_at(s, backend->prefix, backend->eager, FALSE, &eager, error)))
    return FALSE;
  graphs = backend->memory ? NULL : ra_settings_get(s, M "cuda_graph_impl");
  call->is_there = TRUE;
  call->graph = !eager && g_strcmp0(graphs, "none") != 0;
  return switch_at(s, backend->prefix, "enable_prefix_caching",
                   backend->memory != NULL, &call->prefix_sharing, error);
}
#undef M

/* nemo_rl/algorithms/async_utils and single_controller.py: engines on GPUs of
 * their own run ahead by at most so many versions. */
static gboolean
read_async(RaRecipe *recipe, RaSettings *s, const Base *base, gboolean is_apart,
           GError **error)
{
  g_autofree char *p =
      g_strconcat(base->group, "async_", base->algorithm, ".", NULL);
  gboolean enabled, in_flight, again;

  if (ra_settings_has(s, "async_rl.sampler.")) { /* the single controller */
    if (!ra_settings_uint32(s, "async_rl.sampler.max_lookahead_versions", 1, 0,
                            1000, &recipe->staleness, error) ||
        !ra_settings_bool(s, "async_rl.recompute_kv_cache_after_weight_updates",
                          FALSE, &again, error))
      return FALSE;
    in_flight = TRUE;
  } else if (!switch_at(s, p, "enabled", FALSE, &enabled, error) ||
             !count_at(s, p, "max_trajectory_age_steps", 1, &recipe->staleness,
                       error) ||
             !switch_at(s, p, "in_flight_weight_updates", FALSE, &in_flight,
                        error) ||
             !switch_at(s, p, "recompute_kv_cache_after_weight_updates", FALSE,
                        &again, error)) {
    return FALSE;
  } else if (!enabled) {
    recipe->staleness = 0;
  }
  recipe->async.is_service = is_apart && recipe->staleness > 0 &&
                             recipe->trips.n_prompts == 0 &&
                             recipe->turns.most <= 1;
  recipe->async.in_flight = in_flight && !again;
  recipe->async.interrupts = in_flight && again;
  recipe->async.sync_interval = 1;
  return TRUE;
}

/* ---- The whole ----------------------------------------------------------- */

/* Calls around generation: nemo_rl/algorithms/grpo.py,
 * _resolve_logprob_skip_flags(), and ppo.py. */
static gboolean
read_rl(RaRecipe *recipe, RaSettings *s, const Base *base, gboolean is_apart,
        GError **error)
{
  gboolean is_ppo = g_str_equal(base->algorithm, "ppo");
  gboolean forced, skipped;
  const char *threshold = ra_settings_get(
      s, ra_recipe_at(base->group, "seq_logprob_error_threshold"));
  double kl;

  if (!ra_settings_double(s, "loss_fn.reference_policy_kl_penalty",
                          is_ppo ? 0.0 : 0.01, 0, 1e9, &kl, error) ||
      !ra_settings_bool(s, "loss_fn.force_on_policy_ratio", FALSE, &forced,
                        error) ||
      !switch_at(s, base->group, "skip_reference_policy_logprobs_calculation",
                 is_ppo, &skipped, error) ||
      (is_ppo &&
       !ra_recipe_count(s, "ppo.ppo_epochs", 4, &recipe->n_epochs, error)))
    return FALSE;
  if ((is_ppo || !forced || threshold) &&
      !read_engine(recipe, s, RA_RECIPE_ACTOR_INFERENCE, "policy.", base,
                   is_apart, error))
    return FALSE;
  if (kl > 0 && !skipped &&
      !read_engine(recipe, s, RA_RECIPE_REF_INFERENCE, "policy.", base,
                   is_apart, error))
    return FALSE;
  return !is_ppo || (read_engine(recipe, s, RA_RECIPE_CRITIC_TRAIN, "value.",
                                 base, is_apart, error) &&
                     read_engine(recipe, s, RA_RECIPE_CRITIC_INFERENCE,
                                 "value.", base, is_apart, error));
}

/* A reward model, which is on the GPUs of training here. */
static gboolean
read_reward(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *call = &recipe->calls[RA_RECIPE_REWARD_INFERENCE];

  if (!ra_settings_has(s, "env.reward_model."))
    return TRUE;
  call->is_there = TRUE;
  call->n_gpus = recipe->calls[RA_RECIPE_ACTOR_TRAIN].n_gpus;
  call->zero = 3;
  ra_settings_about(s, "env.reward_model.resources.gpus_per_node",
                    "on the GPUs of training");
  return ra_recipe_count(s, "env.reward_model.dtensor_cfg.tensor_parallel_size",
                         1, &call->tp, error) &&
         count_at(s, "env.reward_model.", "batch_size", 4, &call->micro_batch,
                  error);
}

static void
read_label(RaRecipe *recipe, RaSettings *s, const Base *base)
{
  const char *name =
      ra_settings_get(s, ra_recipe_at(base->group, "adv_estimator.name"));
  gboolean is_grpo = g_str_equal(base->algorithm, "grpo");

  recipe->algorithm = g_strdup(is_grpo && name ? name : base->algorithm);
}

static gboolean
read_nemo_rl(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const Base *base = find_base(s, error);
  gboolean is_apart;

  if (!base)
    return FALSE;
  recipe->task = base->task;
  read_label(recipe, s, base);
  if (!read_batches(recipe, s, base, error) ||
      !read_pools(recipe, s, &is_apart, error) ||
      !read_engine(recipe, s, RA_RECIPE_ACTOR_TRAIN, "policy.", base, is_apart,
                   error))
    return FALSE;
  if (base->task == RA_RECIPE_RL)
    return read_rl(recipe, s, base, is_apart, error) &&
           read_generation(recipe, s, error) &&
           read_async(recipe, s, base, is_apart, error) &&
           read_reward(recipe, s, error);
  recipe->turns.most = 0;
  ra_settings_ignore(s, GENERATION "*");
  return base->task != RA_RECIPE_DPO ||
         read_engine(recipe, s, RA_RECIPE_REF_INFERENCE, "policy.", base,
                     is_apart, error);
}

const RaRecipeReader ra_recipe_reader_nemo_rl = {
    .name = "nemo-rl",
    .prefixes = {"policy.", "generation.vllm_cfg."},
    .entries = {"run_grpo", "run_ppo.py", "run_vlm_grpo"},
    .meanings = ra_meanings_nemo_rl,
    .n_meanings = &ra_n_meanings_nemo_rl,
    .read = read_nemo_rl,
};
