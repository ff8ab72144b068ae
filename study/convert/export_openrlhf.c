/* A plan as flags of OpenRLHF's train_ppo_ray: dotted since 2026, before that
 * with names of their own (study/convert/recipe_openrlhf.c has the sources). */
#include "config.h"

#include "study/convert/export_impl.h"

static const char *const versions[] = {"2026-08", "0.9.9", NULL};

typedef struct {
  RaExport *x;
  const RaRecipe *recipe;
  guint version;
} Writer;

/* The flag's name in the version. */
static const char *
name(const Writer *w, const char *now, const char *before)
{
  return w->version == 0 ? now : before;
}

static void
put(const Writer *w, const char *now, const char *before, uint32_t n)
{
  ra_export_put(w->x, "", name(w, now, before), "%u", n);
}

static void
put_if(const Writer *w, gboolean on, const char *now, const char *before)
{
  if (on)
    ra_export_put_switch(w->x, name(w, now, before));
}

/* Nodes and GPUs of the group @now, or @before, which has those of @kind. */
static void
put_group(const Writer *w, const char *group, RaRecipeKind kind)
{
  const RaRecipeCall *call = &w->recipe->calls[kind];
  uint32_t each = MIN(call->n_gpus, w->recipe->n_node_gpus);
  g_autofree char *mark = g_strconcat(group, w->version == 0 ? "." : "_", NULL);

  if (!call->is_there)
    return;
  ra_export_put(w->x, mark, "num_nodes", "%u", call->n_gpus / MAX(1, each));
  ra_export_put(w->x, mark, "num_gpus_per_node", "%u", each);
}

static gboolean
shares(const Writer *w, RaRecipeKind a, RaRecipeKind b)
{
  const RaRecipeCall *x = &w->recipe->calls[a], *y = &w->recipe->calls[b];

  return x->is_there && y->is_there &&
         x->first_gpu < y->first_gpu + y->n_gpus &&
         y->first_gpu < x->first_gpu + x->n_gpus;
}

static void
put_groups(const Writer *w)
{
  const RaRecipeCall *generate = &w->recipe->calls[RA_RECIPE_GENERATE];
  gboolean all = shares(w, RA_RECIPE_GENERATE, RA_RECIPE_ACTOR_TRAIN);

  put_group(w, "actor", RA_RECIPE_ACTOR_TRAIN);
  put_group(w, "ref", RA_RECIPE_REF_INFERENCE);
  put_group(w, "critic", RA_RECIPE_CRITIC_TRAIN);
  put_group(w, "reward", RA_RECIPE_REWARD_INFERENCE);
  put(w, "vllm.num_engines", "vllm_num_engines",
      generate->n_gpus / MAX(1, generate->tp * generate->pp));
  put(w, "vllm.tensor_parallel_size", "vllm_tensor_parallel_size",
      generate->tp);
  put_if(w, all, "train.colocate_all", "colocate_all_models");
  put_if(w, !all && shares(w, RA_RECIPE_ACTOR_TRAIN, RA_RECIPE_REF_INFERENCE),
         "train.colocate_actor_ref", "colocate_actor_ref");
  put_if(w,
         !all && shares(w, RA_RECIPE_CRITIC_TRAIN, RA_RECIPE_REWARD_INFERENCE),
         "train.colocate_critic_reward", "colocate_critic_reward");
  if (generate->memory_frac > 0)
    ra_export_put(
        w->x, "",
        name(w, "vllm.gpu_memory_utilization", "vllm_gpu_memory_utilization"),
        "%.6f", generate->memory_frac);
  put_if(w, !generate->graph, "vllm.enforce_eager", "enforce_eager");
  put_if(w, generate->prefix_sharing, "vllm.enable_prefix_caching",
         "enable_prefix_caching");
}

static void
put_micro(const Writer *w)
{
  const RaRecipeCall *train = &w->recipe->calls[RA_RECIPE_ACTOR_TRAIN];
  const RaRecipeCall *infer = &w->recipe->calls[RA_RECIPE_ACTOR_INFERENCE];
  uint32_t ranks = train->cp * train->tp;

  if (!infer->is_there)
    infer = train;
  if (train->micro_tokens == 0) {
    put(w, "train.micro_batch_size", "micro_train_batch_size",
        train->micro_batch);
    put(w, "rollout.micro_batch_size", "micro_rollout_batch_size",
        MAX(1, infer->micro_batch));
    put_if(w, train->padding == RA_PADDING_NONE, "ds.packing_samples",
           "packing_samples");
    return;
  }
  put_if(w, TRUE, "train.dynamic_batch_enable", "use_dynamic_batch");
  put(w, "train.max_tokens_per_gpu", "train_max_tokens_per_gpu",
      (train->micro_tokens + ranks - 1) / ranks);
  if (infer->micro_tokens > 0)
    put(w, "rollout.max_tokens_per_gpu", "rollout_max_tokens_per_gpu",
        (infer->micro_tokens + ranks - 1) / ranks);
}

static void
put_train(const Writer *w)
{
  const RaRecipeCall *train = &w->recipe->calls[RA_RECIPE_ACTOR_TRAIN];
  const RaRecipeCall *calls = w->recipe->calls;

  put(w, "ds.zero_stage", "zero_stage", train->zero);
  if (train->tp > 1)
    put(w, "ds.tensor_parallel_size", "ds_tensor_parallel_size", train->tp);
  if (train->cp > 1)
    put(w, "ds.ring_attn_size", "ring_attn_size", train->cp);
  put_if(w, train->full_recompute, "actor.gradient_checkpointing_enable",
         "gradient_checkpointing");
  put_if(w, train->cpu_optimizer, "ds.adam_offload", "adam_offload");
  put_if(w, train->optimizer_host, "ds.enable_sleep", "deepspeed_enable_sleep");
  put_if(w, train->overlap, "ds.overlap_comm", "overlap_comm");
  if (train->fp32_grads)
    ra_export_put(w->x, "", name(w, "ds.grad_accum_dtype", "grad_accum_dtype"),
                  "fp32");
  put_if(w,
         calls[RA_RECIPE_REF_INFERENCE].host ||
             (w->version > 0 && calls[RA_RECIPE_REWARD_INFERENCE].host),
         "ref.offload", "ref_reward_offload");
  put_if(w, w->version == 0 && calls[RA_RECIPE_REWARD_INFERENCE].host,
         "reward.offload", "");
}

static void
put_batches(const Writer *w)
{
  const RaRecipe *r = w->recipe;

  put(w, "rollout.batch_size", "rollout_batch_size", r->n_prompts);
  put(w, "rollout.n_samples_per_prompt", "n_samples_per_prompt", r->n_samples);
  put(w, "train.batch_size", "train_batch_size",
      r->n_prompts * r->n_samples / MAX(1, r->n_mini_batches));
  put(w, "train.max_epochs", "max_epochs", r->n_epochs);
  put(w, "data.max_len", "max_len", r->max_prompt + r->max_response);
  put(w, "rollout.max_new_tokens", "max_new_tokens", r->max_response);
  if (r->staleness == 0)
    return;
  put_if(w, TRUE, "train.async_enable", "async_train");
  put(w, "train.async_queue_size", "async_queue_size", r->staleness);
}

/* The estimator that the label names, or that of GRPO (openrlhf/cli/
 * train_ppo_ray.py, choices of the flag). */
static const char *
estimator_of(const RaRecipe *recipe)
{
  static const char *const words[] = {
      "reinforce", "rloo", "reinforce_baseline", "group_norm", "dr_grpo", NULL};

  if (recipe->calls[RA_RECIPE_CRITIC_TRAIN].is_there)
    return "gae";
  return recipe->algorithm && g_strv_contains(words, recipe->algorithm)
             ? recipe->algorithm
             : "group_norm";
}

static void
put_models(const Writer *w)
{
  static const char *const keys[RA_N_RECIPE_MODELS][2] = {
      [RA_RECIPE_ACTOR] = {"actor.model_name_or_path", "pretrain"},
      [RA_RECIPE_CRITIC] = {"critic.model_name_or_path", "critic_pretrain"},
      [RA_RECIPE_REF] = {NULL, NULL}, /* the actor's */
      [RA_RECIPE_REWARD] = {"reward.model_name_or_path", "reward_pretrain"}};
  const RaRecipeCall *calls = w->recipe->calls;

  for (RaRecipeModel m = 0; m < RA_N_RECIPE_MODELS; m++)
    if (w->recipe->model[m] && keys[m][w->version])
      ra_export_put_text(w->x, "", keys[m][w->version], w->recipe->model[m]);
  ra_export_put(w->x, "",
                name(w, "algo.advantage.estimator", "advantage_estimator"),
                "%s", estimator_of(w->recipe));
  ra_export_put(w->x, "", name(w, "algo.kl.init_coef", "init_kl_coef"), "%s",
                calls[RA_RECIPE_REF_INFERENCE].is_there ? "0.01" : "0");
}

static void
put_openrlhf(RaExport *export, const RaExportSource *from,
             const RaExportRoles *roles, guint version)
{
  g_autoptr(RaRecipe) recipe =
      ra_export_recipe(from->plan, RA_FRAMEWORK_OPENRLHF, roles);
  Writer w = {.x = export, .recipe = recipe, .version = version};

  recipe->n_node_gpus = ra_export_host_gpus(from->plan->cluster);
  export->has_flags = TRUE;
  export->launcher = "python3 -m";
  export->entry = "openrlhf.cli.train_ppo_ray";
  export->is_apart = !shares(&w, RA_RECIPE_GENERATE, RA_RECIPE_ACTOR_TRAIN);
  put_models(&w);
  put_groups(&w);
  put_batches(&w);
  put_micro(&w);
  put_train(&w);
}

const RaExportWriter ra_export_writer_openrlhf = {
    .framework = RA_FRAMEWORK_OPENRLHF,
    .versions = versions,
    .put = put_openrlhf,
};
