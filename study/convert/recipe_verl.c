/* Configurations of verl: hydra overrides of verl.trainer.main_ppo and of the
 * trainers derived from it, or the YAML that hydra composes.
 *
 * What a missing key means is what verl/trainer/config says at revision 1dda039
 * (2026-08), and for keys that are gone there at b178a3c (2026-01) and v0.5.0.
 * Sizes of micro-batches `_per_gpu` are sequences of a replica
 * (verl/workers/fsdp_workers.py divides mini-batches by GPUs over Ulysses
 * ranks, and takes those as they are); the older keys without it count all
 * replicas.  The table of keys is study/convert/meaning_verl.c. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/recipe_impl.h"

#define ACTOR "actor_rollout_ref.actor."
#define ROLLOUT "actor_rollout_ref.rollout."
#define REF "actor_rollout_ref.ref."
#define MODEL "actor_rollout_ref.model."
#define REWARD "reward.reward_model."
#define GENERATE calls[RA_RECIPE_GENERATE]

/* Back ends of training; torchtitan's keys are as VeOmni's but for names. */
typedef enum { FSDP, MEGATRON, VEOMNI, TORCHTITAN } Backend;

/* Keys of one call that trains or infers. */
typedef struct {
  const char *engine;     /* "actor_rollout_ref.actor." */
  const char *fsdp, *old; /* prefixes of FSDP's keys; before 2026 */
  const char *micro;      /* size of micro-batches, without `_per_gpu` */
  const char *tokens;     /* tokens of a micro-batch */
  const char *dynamic;    /* whether tokens or sequences bound them */
} Engine;

static const Engine engines[RA_N_RECIPE_CALLS] = {
    [RA_RECIPE_ACTOR_INFERENCE] = {ACTOR, ACTOR "fsdp_config.", NULL,
                                   ROLLOUT "log_prob_micro_batch_size",
                                   ROLLOUT "log_prob_max_token_len_per_gpu",
                                   ROLLOUT "log_prob_use_dynamic_bsz"},
    [RA_RECIPE_REF_INFERENCE] = {REF, REF "fsdp_config.", NULL,
                                 REF "log_prob_micro_batch_size",
                                 REF "log_prob_max_token_len_per_gpu",
                                 REF "log_prob_use_dynamic_bsz"},
    [RA_RECIPE_REWARD_INFERENCE] =
        {"reward_model.", "reward_model.model.fsdp_config.", NULL,
         "reward_model.micro_batch_size",
         "reward_model.forward_max_token_len_per_gpu",
         "reward_model.use_dynamic_bsz"},
    [RA_RECIPE_CRITIC_INFERENCE] = {"critic.", "critic.fsdp.",
                                    "critic.model.fsdp_config.",
                                    "critic.forward_micro_batch_size",
                                    "critic.forward_max_token_len_per_gpu",
                                    "critic.use_dynamic_bsz"},
    [RA_RECIPE_ACTOR_TRAIN] = {ACTOR, ACTOR "fsdp_config.", NULL,
                               ACTOR "ppo_micro_batch_size",
                               ACTOR "ppo_max_token_len_per_gpu",
                               ACTOR "use_dynamic_bsz"},
    [RA_RECIPE_CRITIC_TRAIN] = {"critic.", "critic.fsdp.",
                                "critic.model.fsdp_config.",
                                "critic.ppo_micro_batch_size",
                                "critic.ppo_max_token_len_per_gpu",
                                "critic.use_dynamic_bsz"},
};

/* PREFIX.KEY as text, for a moment: a few buffers in turn. */
static const char *
at(const char *prefix, const char *key)
{
  static _Thread_local char buffers[8][192];
  static _Thread_local guint next;
  char *out = buffers[next++ % G_N_ELEMENTS(buffers)];

  g_snprintf(out, sizeof buffers[0], "%s%s", prefix, key);
  return out;
}

/* The first of @a, @b (nullable) and @c (nullable) that is set, else @a. */
static const char *
one_of(RaSettings *s, const char *a, const char *b, const char *c)
{
  return ra_settings_get(s, a)        ? a
         : b && ra_settings_get(s, b) ? b
         : c && ra_settings_get(s, c) ? c
                                      : a;
}

/* Size of micro-batches, in sequences or, where they are dynamic, tokens. */
static gboolean
read_micro(RaSettings *s, const Engine *engine, const RaRecipeCall *base,
           const RaRecipeCall *actor, RaRecipeCall *call, GError **error)
{
  const char *each = at(engine->micro, "_per_gpu");
  /* ppo_max_token_len_per_gpu of actor.yaml and critic.yaml. */
  uint32_t own = g_str_has_prefix(engine->engine, "actor") ? 16384 : 32768;
  uint32_t tokens =
      base->micro_tokens > 0 ? base->micro_tokens / MAX(1, base->cp) : own;
  gboolean dynamic;
  uint32_t all = 0;

  /* Critic and reward model do as the actor (critic.yaml, use_dynamic_bsz). */
  if (!ra_settings_bool(s, engine->dynamic,
                        base->micro_tokens > 0 || actor->micro_tokens > 0,
                        &dynamic, error) ||
      !ra_settings_uint32(s, each, 0, 0, RA_RECIPE_COUNT_MAX,
                          &call->micro_batch, error) ||
      !ra_settings_uint32(s, engine->micro, 0, 0, RA_RECIPE_COUNT_MAX, &all,
                          error))
    return FALSE;
  if (dynamic) {
    if (!ra_recipe_count(s, engine->tokens, tokens, &call->micro_tokens, error))
      return FALSE;
    call->micro_tokens *= call->cp;
    ra_settings_about(s, engine->dynamic,
                      "number of micro-batches for sequences of mean length, "
                      "as many sequences in each");
    return TRUE;
  }
  if (call->micro_batch == 0 && all > 0)
    call->micro_batch = MAX(1, all / MAX(1, call->dp));
  return TRUE;
}

/* Without use_remove_padding dp_actor.py computes on the whole of a batch that
 * the driver padded to the longest prompt and answer that there may be;
 * megatron_actor.py first cuts it to the longest of the micro-batch
 * (verl/models/mcore/model_forward.py: remove_left_padding()). */
static gboolean
read_padding(const RaRecipe *recipe, RaSettings *s, const Engine *engine,
             Backend backend, RaRecipeCall *call, GError **error)
{
  gboolean critic = g_str_has_prefix(engine->engine, "critic"), packs;
  const char *key =
      critic ? "critic.model.use_remove_padding" : MODEL "use_remove_padding";

  if (g_str_has_prefix(engine->engine, "reward"))
    return TRUE;
  if (backend == MEGATRON)
    key = one_of(s, at(engine->engine, "megatron.use_remove_padding"),
                 critic ? NULL : ACTOR "megatron.use_remove_padding", NULL);
  if (!ra_settings_bool(s, key, TRUE, &packs, error))
    return FALSE;
  if (!packs && backend == MEGATRON)
    call->padding = RA_PADDING_MICRO_BATCH;
  else if (!packs)
    call->padded_length = recipe->max_prompt + recipe->max_response;
  return TRUE;
}

/* A degree: @key of the engine, else of the one that it is like. */
static gboolean
read_degree(RaSettings *s, const char *own, const char *base, const char *key,
            uint32_t *out, GError **error)
{
  return ra_recipe_count(s, one_of(s, at(own, key), at(base, key), NULL), 1,
                         out, error);
}

static gboolean
read_offload(RaSettings *s, const char *prefix, RaRecipeCall *call,
             GError **error)
{
  const char *grad = at(prefix, "grad_offload");

  if (!ra_settings_bool(s, at(prefix, "param_offload"), FALSE, &call->host,
                        error) ||
      !ra_settings_bool(s, at(prefix, "optimizer_offload"), FALSE,
                        &call->optimizer_host, error))
    return FALSE;
  call->grads_released = !call->host && ra_recipe_is_on(s, grad);
  return TRUE;
}

/* Megatron's default is to recompute nothing; verl's
 * `enable_gradient_checkpointing` is not read there
 * (verl/workers/engine/megatron). */
static gboolean
read_megatron(RaSettings *s, const Engine *engine, const Engine *base,
              RaRecipeCall *call, GError **error)
{
#define TRANSFORMER "megatron.override_transformer_config."
#define OPTIMIZER "optim.override_optimizer_config."
  const char *own = engine->engine, *like = base->engine;
  const char *text;

  if (!read_degree(s, own, like, "megatron.tensor_model_parallel_size",
                   &call->tp, error) ||
      !read_degree(s, own, like, "megatron.pipeline_model_parallel_size",
                   &call->pp, error) ||
      !read_degree(s, own, like, "megatron.context_parallel_size", &call->cp,
                   error) ||
      !read_degree(s, own, like, "megatron.expert_model_parallel_size",
                   &call->ep, error) ||
      !read_degree(s, own, like,
                   "megatron.virtual_pipeline_model_parallel_size",
                   &call->n_virtual, error) ||
      !ra_settings_uint32(
          s,
          one_of(s, at(own, "megatron.expert_tensor_parallel_size"),
                 at(like, "megatron.expert_tensor_parallel_size"), NULL),
          0, 0, RA_RECIPE_COUNT_MAX, &call->etp, error) ||
      !ra_settings_uint32(
          s, at(like, TRANSFORMER "num_layers_in_first_pipeline_stage"), 0, 0,
          RA_RECIPE_COUNT_MAX, &call->first_layers, error) ||
      !ra_settings_uint32(
          s, at(like, TRANSFORMER "num_layers_in_last_pipeline_stage"), 0, 0,
          RA_RECIPE_COUNT_MAX, &call->last_layers, error))
    return FALSE;
  call->zero = 1;
  call->fp32_grads = TRUE;
  text = ra_settings_get(s, at(like, TRANSFORMER "moe_token_dispatcher_type"));
  call->dispatches_once = g_strcmp0(text, "flex") == 0;
  text = ra_settings_get(s, at(like, TRANSFORMER "recompute_granularity"));
  call->selective_recompute = g_strcmp0(text, "selective") == 0;
  call->full_recompute = g_strcmp0(text, "full") == 0;
  return ra_settings_bool(
             s, at(like, "megatron.override_ddp_config.overlap_grad_reduce"),
             FALSE, &call->overlap, error) &&
         ra_settings_bool(s, at(own, "megatron.sequence_parallel"), TRUE,
                          &call->sequence_parallel, error) &&
         read_offload(s, at(own, "megatron."), call, error) &&
         ra_recipe_optimizer(
             s,
             &(RaRecipeOptimizer){
                 at(own, OPTIMIZER "optimizer_cpu_offload"),
                 at(own, OPTIMIZER "optimizer_offload_fraction"), 0,
                 at(own, OPTIMIZER "use_precision_aware_optimizer")},
             call, error) &&
         ra_recipe_fp8(
             s,
             &(RaRecipeFp8){
                 .format = at(like, TRANSFORMER "fp8"),
                 .recipe = at(like, TRANSFORMER "fp8_recipe"),
                 .params = at(like, TRANSFORMER "fp8_param"),
                 .ends = at(like, TRANSFORMER "first_last_layers_bf16"),
                 .first = at(like, TRANSFORMER "num_layers_at_start_in_bf16"),
                 .last = at(like, TRANSFORMER "num_layers_at_end_in_bf16")},
             call, error);
#undef OPTIMIZER
#undef TRANSFORMER
}

/* Shards over all ranks, or over groups of @size of them. */
static void
put_shards(RaRecipeCall *call, const char *size)
{
  int64_t group = size ? g_ascii_strtoll(size, NULL, 10) : -1;

  call->zero_group = group > 0 && group < call->n_gpus
                         ? MAX(1, (uint32_t)group / call->cp)
                         : 0;
  call->fp32_grads = call->overlap = TRUE;
}

/* Key of the Ulysses ranks of @engine.  The older one, which the reference has
 * from the actor, counts if it is more than 1 (verl/workers/config/actor.py,
 * dp_ref.yaml). */
static const char *
ulysses_key(RaSettings *s, const Engine *engine, const Engine *base)
{
  static const char key[] = "ulysses_sequence_parallel_size";
  const char *older =
      one_of(s, at(engine->engine, key), at(base->engine, key), NULL);
  const char *size = ra_settings_get(s, older);

  return size && !g_str_equal(size, "1") ? older : at(engine->fsdp, key);
}

static gboolean
read_fsdp(RaSettings *s, const Engine *engine, const Engine *base,
          RaRecipeCall *call, GError **error)
{
  const char *prefix = engine->old && ra_settings_has(s, engine->old)
                           ? engine->old
                           : engine->fsdp;
  const char *own = ulysses_key(s, engine, base);
  gboolean reshard;

  if (!ra_recipe_count(s, own, 1, &call->cp, error) ||
      !ra_settings_bool(s, at(prefix, "reshard_after_forward"), TRUE, &reshard,
                        error) ||
      !ra_settings_bool(s, at(prefix, "forward_prefetch"), FALSE,
                        &call->prefetches, error))
    return FALSE;
  if (call->cp > 1)
    ra_settings_about(s, own, "context parallelism of %u (a ring)", call->cp);
  call->zero = reshard ? 3 : 2;
  ra_recipe_loaded_in(call, ra_settings_get(s, at(prefix, "model_dtype")));
  put_shards(call, ra_settings_get(s, at(prefix, "fsdp_size")));
  return read_offload(s, prefix, call, error);
}

/* VeOmni and torchtitan: FSDP2 with experts over ranks. */
static gboolean
read_sharded(RaSettings *s, const Engine *engine, const Engine *base,
             gboolean is_titan, RaRecipeCall *call, GError **error)
{
  const char *name = is_titan ? "torchtitan." : "veomni.";
  const char *own = at(engine->engine, name), *like = at(base->engine, name);
  gboolean full;

  if (!read_degree(s, own, like,
                   is_titan ? "context_parallel_size" : "ulysses_parallel_size",
                   &call->cp, error) ||
      !read_degree(s, own, like, "expert_parallel_size", &call->ep, error) ||
      !ra_settings_bool(s, at(like, "enable_full_shard"), TRUE, &full, error))
    return FALSE;
  if (is_titan &&
      (!read_degree(s, own, like, "tensor_parallel_size", &call->tp, error) ||
       !read_degree(s, own, like, "pipeline_parallel_size", &call->pp, error)))
    return FALSE;
  call->etp = 1;
  call->zero = full ? 3 : 2;
  put_shards(call,
             ra_settings_get(s, at(like, is_titan ? "data_parallel_shard_size"
                                                  : "fsdp_size")));
  return read_offload(s, own, call, error);
}

/* The back end of @engine: its strategy, else the configuration's. */
static gboolean
find_backend(RaSettings *s, const Engine *engine, Backend *out, GError **error)
{
  static const char *const names[] = {"fsdp", "megatron", "veomni",
                                      "torchtitan"};
  const char *config = ra_settings_get(s, "config-name");
  const char *key =
      one_of(s, at(engine->engine, "strategy"), ACTOR "strategy",
             one_of(s, "model_engine", ACTOR "model_engine", NULL));
  const char *word = ra_settings_get(s, key);

  *out = FSDP;
  if (!word && ((config && strstr(config, "megatron")) ||
                ra_settings_has(s, ACTOR "megatron.")))
    *out = MEGATRON;
  if (!word || g_str_equal(word, "dp") || g_str_has_prefix(word, "fsdp"))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    *out = (Backend)i;
    if (g_str_equal(word, names[i]))
      return TRUE;
  }
  return ra_settings_fail(s, key, error,
                          "fsdp, fsdp2, megatron, veomni or torchtitan");
}

/* One call of training or inference on the GPUs of training; @base: the call
 * whose keys stand for those that are missing. */
static gboolean
read_engine(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind,
            RaRecipeKind base, GError **error)
{
  RaRecipeCall *call = &recipe->calls[kind];
  const Engine *engine = &engines[kind], *like = &engines[base];
  Backend backend;
  gboolean ok;

  if (!find_backend(s, engine, &backend, error))
    return FALSE;
  call->is_there = TRUE;
  call->n_gpus = recipe->calls[RA_RECIPE_ACTOR_TRAIN].n_gpus;
  ok = backend == MEGATRON ? read_megatron(s, engine, like, call, error)
       : backend == FSDP
           ? read_fsdp(s, engine, like, call, error)
           : read_sharded(s, engine, like, backend == TORCHTITAN, call, error);
  if (!ok)
    return FALSE;
  call->dp = call->n_gpus / MAX(1, call->tp * call->pp * call->cp);
  if (backend != MEGATRON) {
    gboolean critic = kind == RA_RECIPE_CRITIC_TRAIN;

    if (!ra_settings_bool(s,
                          critic ? "critic.model.enable_gradient_checkpointing"
                                 : MODEL "enable_gradient_checkpointing",
                          TRUE, &call->full_recompute, error))
      return FALSE;
  }
  return read_padding(recipe, s, engine, backend, call, error) &&
         read_micro(s, engine, &recipe->calls[base],
                    &recipe->calls[RA_RECIPE_ACTOR_TRAIN], call, error);
}

static gboolean
read_rollout(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *call = &recipe->GENERATE;
  static const char *const known[] = {"vllm", "sglang", "hf", NULL};
  const char *name = ra_settings_get(s, ROLLOUT "name");
  uint32_t most;
  gboolean eager;

  call->is_there = TRUE;
  if (!ra_settings_bool(s, ROLLOUT "enforce_eager", FALSE, &eager, error) ||
      !ra_settings_uint32(s, ROLLOUT "max_model_len", 0, 0, RA_RECIPE_COUNT_MAX,
                          &most, error))
    return FALSE;
  if (most > 0 && most < (uint64_t)recipe->max_prompt + recipe->max_response)
    ra_settings_about(s, ROLLOUT "max_model_len",
                      "prompts and responses as long as their own limits");
  if (name && !g_strv_contains(known, name))
    ra_settings_about(s, ROLLOUT "name", "an engine like vLLM");
  if (ra_recipe_is_on(s, MODEL "mtp.enable_rollout") &&
      !ra_recipe_count(s,
                       one_of(s, MODEL "mtp.num_speculative_tokens",
                              MODEL "mtp.speculative_num_steps", NULL),
                       1, &recipe->drafts.n_tokens, error))
    return FALSE;
  call->graph = !eager;
  call->of_free = g_strcmp0(name, "sglang") == 0;
  call->etp = call->ep > 1 ? 1 : 0;      /* whole experts, as in vLLM */
  if (name && g_str_equal(name, "hf")) { /* one batch, of the trained weights */
    call->max_sequences = call->prefill_tokens = 0;
    call->memory_frac = 0;
    call->tp = 1;
    call->graph = FALSE;
    ra_settings_about(s, ROLLOUT "name", "one static batch on whole weights");
  } else if (!ra_settings_get(s, ROLLOUT "max_num_seqs")) {
    ra_recipe_note(recipe, "rollout.max_num_seqs: 256, verl's default since "
                           "2026 (1,024 before)");
  }
  return TRUE;
}

/* ---- Pools of GPUs ------------------------------------------------------- */

static gboolean
read_pool(RaSettings *s, const char *prefix, uint32_t n_nodes, uint32_t n_gpus,
          uint32_t *out_nodes, uint32_t *out_gpus, GError **error)
{
  return ra_settings_uint32(s, at(prefix, "nnodes"), n_nodes, 0,
                            RA_RECIPE_COUNT_MAX, out_nodes, error) &&
         ra_recipe_count(s, at(prefix, "n_gpus_per_node"), n_gpus, out_gpus,
                         error);
}

/* The GPUs of training, and those of generation where these are others. */
static gboolean
read_pools(RaRecipe *recipe, RaSettings *s, gboolean is_apart, GError **error)
{
  const char *pool = ra_settings_has(s, "rollout.n") ? "rollout." : ROLLOUT;
  uint32_t n_nodes, n_gpus, own_nodes = 0, own_gpus = 0;

  if (!ra_recipe_count(s, "trainer.nnodes", 1, &n_nodes, error) ||
      !ra_recipe_count(s, "trainer.n_gpus_per_node", 8, &n_gpus, error) ||
      (is_apart &&
       !read_pool(s, pool, 0, n_gpus, &own_nodes, &own_gpus, error)))
    return FALSE;
  if (is_apart && own_nodes == 0)
    return ra_settings_fail(s, at(pool, "nnodes"), error,
                            "the nodes that generate, at least 1");
  return ra_recipe_pools(recipe, n_nodes, n_gpus, own_nodes, own_gpus, error);
}

/* ---- Asynchronous trainers ----------------------------------------------- */

/* Batches and versions of verl/experimental/fully_async_policy: training takes
 * `require_batches` mini-batches at a time, and a version goes out every
 * `trigger_parameter_sync_step` of these. */
static gboolean
read_fully_async(RaRecipe *recipe, RaSettings *s, uint32_t mini, GError **error)
{
#define ASYNC "async_training."
  double threshold;
  uint32_t n_batches;

  if (!ra_recipe_count(s, ASYNC "require_batches", 1, &n_batches, error) ||
      !ra_recipe_count(s, ASYNC "trigger_parameter_sync_step", 4,
                       &recipe->async.sync_interval, error) ||
      !ra_settings_double(s, ASYNC "staleness_threshold", 0.1, 0, 1000,
                          &threshold, error) ||
      !ra_settings_bool(s, ASYNC "partial_rollout", TRUE,
                        &recipe->async.interrupts, error))
    return FALSE;
  recipe->n_prompts = n_batches * mini;
  recipe->staleness = (uint32_t)(threshold + 0.999);
  recipe->async.is_service = recipe->staleness > 0;
  if (threshold > 0 && threshold < recipe->staleness)
    ra_settings_about(s, ASYNC "staleness_threshold", "%u version%s",
                      recipe->staleness, recipe->staleness > 1 ? "s" : "");
  return TRUE;
#undef ASYNC
}

/* Which trainer of verl it is, by its entry point. */
typedef struct {
  gboolean one_step_off, fully_async;
  gboolean is_apart; /* generation has GPUs of its own */
} Trainer;

static gboolean
find_trainer(RaSettings *s, Trainer *out, GError **error)
{
  static const char *const others[] = {
      "sft_trainer", "main_generation",   "main_eval",  "model_merger",
      "main_gkd",    "distillation.main", "main_dance", "print_cfg"};
  const char *entry = ra_settings_entry(s);
  const char *v1 = ra_settings_get(s, "trainer.v1.trainer_mode");
  gboolean hybrid;

  for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
    if (strstr(entry, others[i]) && !strstr(entry, "main_ppo")) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: starts %s, expected a trainer of reinforcement learning",
                  ra_settings_name(s), others[i]);
      return FALSE;
    }
  }
  if (ra_recipe_is_on(s, "trainer.val_only"))
    return ra_recipe_refuse(s, "evaluation alone (trainer.val_only)", error);
  if (!ra_settings_bool(s, "actor_rollout_ref.hybrid_engine", TRUE, &hybrid,
                        error))
    return FALSE;
  out->fully_async =
      strstr(entry, "fully_async") != NULL ||
      ra_settings_has(s, "async_training.require_batches") ||
      ra_settings_has(s, "async_training.staleness_threshold") ||
      ra_settings_has(s, "async_training.trigger_parameter_sync_step");
  if (!out->fully_async && ra_recipe_is_on(s, "async_training.partial_rollout"))
    ra_settings_about(s, "async_training.partial_rollout",
                      "responses are finished in their own iteration");
  out->one_step_off =
      strstr(entry, "one_step_off") || g_strcmp0(v1, "separate_async") == 0 ||
      (!hybrid && !out->fully_async && ra_settings_has(s, "rollout.nnodes"));
  out->is_apart = out->one_step_off || out->fully_async ||
                  (!hybrid && ra_settings_has(s, ROLLOUT "nnodes"));
  if (!hybrid && !out->is_apart)
    ra_settings_about(s, "actor_rollout_ref.hybrid_engine",
                      "generation on the GPUs of training, as no others are "
                      "set");
  if (v1 && !g_str_equal(v1, "sync") && !g_str_equal(v1, "separate_async"))
    ra_settings_about(s, "trainer.v1.trainer_mode",
                      "all calls one after another");
  return TRUE;
}

/* ---- The whole ----------------------------------------------------------- */

/* Batches of training and trips of generation. */
static gboolean
read_batches(RaRecipe *recipe, RaSettings *s, const Trainer *trainer,
             GError **error)
{
  uint32_t mini, filtered = 0;
  gboolean filter;

  if (!ra_recipe_count(s, ACTOR "ppo_mini_batch_size", 256, &mini, error) ||
      !ra_settings_bool(s, "algorithm.filter_groups.enable", FALSE, &filter,
                        error))
    return FALSE;
  if (trainer->fully_async)
    return read_fully_async(recipe, s, mini, error) &&
           (recipe->n_mini_batches = MAX(1, recipe->n_prompts / mini)) > 0;
  recipe->staleness = trainer->one_step_off;
  if (recipe->n_prompts == 0)
    return ra_settings_fail(s, "data.train_batch_size", error,
                            "at least 1, as this trainer is not fully "
                            "asynchronous");
  if (!ra_recipe_count(s, "data.gen_batch_size", recipe->n_prompts, &filtered,
                       error))
    return FALSE;
  if (!filter && filtered != recipe->n_prompts)
    ra_settings_about(s, "data.gen_batch_size",
                      "train_batch_size, as no groups are filtered");
  if (filter) {
    if (!ra_settings_uint32(s, "algorithm.filter_groups.max_num_gen_batches", 0,
                            0, RA_RECIPE_COUNT_MAX, &recipe->trips.most, error))
      return FALSE;
    recipe->trips.n_prompts = filtered;
  }
  mini = MIN(mini, recipe->n_prompts);
  recipe->n_mini_batches = (recipe->n_prompts + mini - 1) / mini;
  while (recipe->n_prompts % recipe->n_mini_batches != 0)
    recipe->n_mini_batches++;
  if (recipe->n_prompts / recipe->n_mini_batches != mini)
    ra_settings_about(s, ACTOR "ppo_mini_batch_size", "%u mini-batches of %u",
                      recipe->n_mini_batches,
                      recipe->n_prompts / recipe->n_mini_batches);
  return TRUE;
}

/* verl/experimental/agent_loop: turns end at the first limit. */
static gboolean
read_turns(RaRecipe *recipe, RaSettings *s, GError **error)
{
#define TURN ROLLOUT "multi_turn."
  gboolean enabled;
  uint32_t user;

  if (!ra_settings_bool(s, TURN "enable", FALSE, &enabled, error) ||
      !ra_settings_uint32(s, TURN "max_assistant_turns", 0, 0, 1000,
                          &recipe->turns.most, error) ||
      !ra_settings_uint32(s, TURN "max_user_turns", 0, 0, 1000, &user, error) ||
      !ra_recipe_count(s, TURN "max_tool_response_length", 256,
                       &recipe->turns.tool_tokens, error))
    return FALSE;
#undef TURN
  if (!enabled)
    recipe->turns.most = 0;
  else if (user > 0 && (recipe->turns.most == 0 || user < recipe->turns.most))
    recipe->turns.most = user + 1;
  if (enabled && recipe->turns.most == 0)
    ra_recipe_note(recipe, "turns: one, as the configuration has no limit; set "
                           "'turns' of [workload]");
  return TRUE;
}

/* verl/trainer/ppo/ray_trainer.py: with adapters the reference is the actor
 * without them (ref_in_actor); engines are sent the adapters alone. */
static gboolean
read_adapters(RaRecipe *recipe, RaSettings *s, RaRecipeModel model,
              const char *prefix, GError **error)
{
  const char *old = ra_settings_get(s, at(prefix, "lora_rank"));
  gboolean is_new = !old || g_str_equal(old, "0");

  recipe->lora_ref = TRUE;
  return ra_recipe_lora(
      recipe, s, model, at(prefix, is_new ? "lora.rank" : "lora_rank"),
      at(prefix, is_new ? "lora.target_modules" : "target_modules"), error);
}

/* A reference model is there if its divergence counts somewhere, and in SPIN,
 * which compares with it. */
static gboolean
read_ref(RaRecipe *recipe, RaSettings *s, GError **error)
{
  gboolean in_loss, in_reward;

  return ra_settings_bool(s, ACTOR "use_kl_loss", FALSE, &in_loss, error) &&
         ra_settings_bool(s, "algorithm.use_kl_in_reward", FALSE, &in_reward,
                          error) &&
         ((!in_loss && !in_reward &&
           !strstr(ra_settings_entry(s), "main_spin")) ||
          read_engine(recipe, s, RA_RECIPE_REF_INFERENCE, RA_RECIPE_ACTOR_TRAIN,
                      error));
}

/* Log-probabilities under the weights that training starts from, unless those
 * of generation are taken. */
static gboolean
read_old_logprobs(RaRecipe *recipe, RaSettings *s, const Trainer *trainer,
                  GError **error)
{
  gboolean bypass;

  /* one_step_off_ppo_trainer.yaml, fully_async_ppo_trainer.yaml */
  gboolean is_late =
      trainer->fully_async ||
      (trainer->one_step_off && strstr(ra_settings_entry(s), "experimental"));

  return ra_settings_bool(s, "algorithm.rollout_correction.bypass_mode",
                          is_late, &bypass, error) &&
         (bypass || read_engine(recipe, s, RA_RECIPE_ACTOR_INFERENCE,
                                RA_RECIPE_ACTOR_TRAIN, error));
}

static gboolean
read_critic(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *train = &recipe->calls[RA_RECIPE_CRITIC_TRAIN];
  RaRecipeCall *infer = &recipe->calls[RA_RECIPE_CRITIC_INFERENCE];
  uint32_t mini = 0;
  gboolean enabled;

  if (!ra_settings_bool(s, "critic.enable",
                        g_str_equal(recipe->algorithm, "ppo"), &enabled, error))
    return FALSE;
  if (!enabled)
    return TRUE;
  ra_recipe_text(
      s, one_of(s, "critic.model.path", "critic.model.model_path", NULL),
      recipe->model[RA_RECIPE_ACTOR], &recipe->model[RA_RECIPE_CRITIC]);
  if (!read_adapters(recipe, s, RA_RECIPE_CRITIC, "critic.model.", error) ||
      !read_engine(recipe, s, RA_RECIPE_CRITIC_TRAIN, RA_RECIPE_CRITIC_TRAIN,
                   error) ||
      !read_engine(recipe, s, RA_RECIPE_CRITIC_INFERENCE,
                   RA_RECIPE_CRITIC_TRAIN, error) ||
      !ra_settings_uint32(s, "critic.ppo_mini_batch_size", 0, 0,
                          RA_RECIPE_COUNT_MAX, &mini, error))
    return FALSE;
  if (infer->micro_batch == 0)
    infer->micro_batch = train->micro_batch;
  if (mini > 0 && mini < recipe->n_prompts && recipe->n_prompts % mini == 0)
    train->n_mini_batches = recipe->n_prompts / mini;
  return TRUE;
}

/* Before 2025-11 an engine like the others; since then one of vLLM
 * (use_reward_loop of 2026-01 chooses). */
static gboolean
read_reward(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *call = &recipe->calls[RA_RECIPE_REWARD_INFERENCE];
  const char *own = REWARD "enable_resource_pool";
  gboolean enabled, older, apart, loop;

  if (!ra_settings_bool(s, REWARD "enable", FALSE, &enabled, error) ||
      !ra_settings_bool(s, "reward_model.enable", FALSE, &older, error) ||
      !ra_settings_bool(s, own, FALSE, &apart, error) ||
      !ra_settings_bool(s, "reward_model.use_reward_loop",
                        ra_settings_has(s, "reward_model.rollout."), &loop,
                        error))
    return FALSE;
  if (!enabled && !older)
    return TRUE;
  if (apart)
    ra_settings_about(s, own, "on the GPUs of training");
  ra_recipe_text(
      s, one_of(s, REWARD "model_path", "reward_model.model.path", NULL), NULL,
      &recipe->model[RA_RECIPE_REWARD]);
  if (!enabled && !loop)
    return read_engine(recipe, s, RA_RECIPE_REWARD_INFERENCE,
                       RA_RECIPE_REWARD_INFERENCE, error);
  call->is_there = TRUE;
  call->n_gpus = recipe->calls[RA_RECIPE_ACTOR_TRAIN].n_gpus;
  /* It sleeps while others work, and takes as many tokens in a step as
   * reward.yaml says. */
  call->host = TRUE;
  if (!ra_recipe_count(s,
                       one_of(s, REWARD "rollout.max_num_batched_tokens",
                              "reward_model.rollout.max_num_batched_tokens",
                              NULL),
                       8192, &call->micro_tokens, error))
    return FALSE;
  return ra_recipe_count(
      s,
      one_of(s, REWARD "rollout.tensor_model_parallel_size",
             "reward_model.rollout.tensor_model_parallel_size", NULL),
      2, &call->tp, error);
}

/* One of verl's names of advantages (verl/trainer/ppo/core_algos.py). */
static void
read_algorithm(RaRecipe *recipe, RaSettings *s)
{
  ra_recipe_text(s, "algorithm.adv_estimator", "gae", &recipe->algorithm);
  recipe->is_greedy_too = g_str_equal(recipe->algorithm, "remax");
  if (!g_str_equal(recipe->algorithm, "gae"))
    return;
  g_free(recipe->algorithm);
  recipe->algorithm = g_strdup("ppo");
}

static gboolean
read_verl(RaRecipe *recipe, RaSettings *s, GError **error)
{
  Trainer trainer = {FALSE, FALSE, FALSE};

  if (!find_trainer(s, &trainer, error))
    return FALSE;
  read_algorithm(recipe, s);
  if (!read_pools(recipe, s, trainer.is_apart, error) ||
      !read_batches(recipe, s, &trainer, error) ||
      !read_rollout(recipe, s, error) || !read_turns(recipe, s, error) ||
      !read_adapters(recipe, s, RA_RECIPE_ACTOR, MODEL, error) ||
      !read_engine(recipe, s, RA_RECIPE_ACTOR_TRAIN, RA_RECIPE_ACTOR_TRAIN,
                   error) ||
      !read_old_logprobs(recipe, s, &trainer, error) ||
      !read_ref(recipe, s, error) || !read_critic(recipe, s, error) ||
      !read_reward(recipe, s, error))
    return FALSE;
  /* Keys of models that the algorithm does not have say nothing. */
  if (!recipe->calls[RA_RECIPE_CRITIC_TRAIN].is_there)
    ra_settings_ignore(s, "critic.*");
  if (!recipe->calls[RA_RECIPE_REF_INFERENCE].is_there)
    ra_settings_ignore(s, REF "*");
  if (!recipe->calls[RA_RECIPE_REWARD_INFERENCE].is_there) {
    ra_settings_ignore(s, "reward_model.*");
    ra_settings_ignore(s, REWARD "*");
  }
  return TRUE;
}

const RaRecipeReader ra_recipe_reader_verl = {
    .name = "verl",
    .prefixes = {"actor_rollout_ref."},
    .entries = {"verl."},
    .meanings = ra_meanings_verl,
    .n_meanings = &ra_n_meanings_verl,
    .read = read_verl,
};
