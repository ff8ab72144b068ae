/* Configurations of OpenRLHF: flags of openrlhf.cli.train_ppo_ray, train_sft,
 * train_dpo and train_rm, dotted since 2026 (`--vllm.num_engines`) or not.
 *
 * What a missing flag means is what openrlhf/cli has at revision 3c3be62
 * (2026-08) and v0.9.9; `prompt_max_len` and `generate_max_len` are from before
 * (914d18fa, 2025-05).  Groups of GPUs that are not shared are put one after
 * the other, the largest first, as Ray packs them.  The table of flags is
 * study/convert/meaning_openrlhf.c. */
#include "config.h"

#include <string.h>

#include "study/convert/recipe_impl.h"

#define NODE_GPUS 8 /* of the nodes that its examples are for */

/* The flag that is set, by its dotted name or the one before. */
static const char *
either(RaSettings *s, const char *now, const char *before)
{
  return ra_settings_get(s, before) ? before : now;
}

/* TRUE for the dotted flags of 2026, some of whose defaults differ. */
static gboolean
is_dotted(const RaSettings *s)
{
  return ra_settings_has(s, "train.") || ra_settings_has(s, "ds.") ||
         ra_settings_has(s, "actor.");
}

/* Groups of GPUs. */
enum { ACTOR, REF, CRITIC, REWARD, VLLM, N_GROUPS };

typedef struct {
  gboolean is_there;
  uint32_t n_gpus, first;
  int shares; /* the group whose GPUs it has; -1: its own */
} Group;

static gboolean
read_groups(RaSettings *s, Group *groups, GError **error)
{
  static const char *const names[] = {"actor", "ref", "critic", "reward"};

  for (guint g = 0; g < VLLM; g++) {
    g_autofree char *nodes = g_strconcat(names[g], "_num_nodes", NULL);
    g_autofree char *gpus = g_strconcat(names[g], "_num_gpus_per_node", NULL);
    g_autofree char *now = g_strconcat(names[g], ".num_nodes", NULL);
    g_autofree char *each = g_strconcat(names[g], ".num_gpus_per_node", NULL);
    uint32_t n, m;

    if (!ra_settings_uint32(s, either(s, now, nodes), 1, 1, 4096, &n, error) ||
        !ra_settings_uint32(s, either(s, each, gpus), 8, 1, 72, &m, error))
      return FALSE;
    groups[g].n_gpus = n * m;
  }
  return TRUE;
}

/* Which groups have GPUs of their own. */
static gboolean
read_sharing(const RaRecipe *recipe, RaSettings *s, Group *groups,
             GError **error)
{
  gboolean all, actor_ref, critic_reward;

  if (!ra_settings_bool(s,
                        either(s, "train.colocate_all", "colocate_all_models"),
                        FALSE, &all, error) ||
      !ra_settings_bool(
          s, either(s, "train.colocate_actor_ref", "colocate_actor_ref"), FALSE,
          &actor_ref, error) ||
      !ra_settings_bool(
          s,
          either(s, "train.colocate_critic_reward", "colocate_critic_reward"),
          FALSE, &critic_reward, error))
    return FALSE;
  for (guint g = 0; g < N_GROUPS; g++)
    groups[g].shares = -1;
  if (all) {
    groups[REF].shares = groups[CRITIC].shares = groups[REWARD].shares = ACTOR;
    if (recipe->staleness == 0) /* an engine that runs ahead has its own */
      groups[VLLM].shares = ACTOR;
  }
  if (actor_ref)
    groups[REF].shares = ACTOR;
  if (critic_reward && !all && groups[CRITIC].is_there)
    groups[REWARD].shares = CRITIC;
  return TRUE;
}

/* Puts the groups one after the other, none across a node's end that need not
 * be. */
static void
place(Group *groups)
{
  gboolean placed[N_GROUPS] = {FALSE};
  uint32_t next = 0;

  for (guint n = 0; n < N_GROUPS; n++) {
    int best = -1;

    for (guint g = 0; g < N_GROUPS; g++) {
      if (groups[g].is_there && groups[g].shares < 0 && !placed[g] &&
          (best < 0 || groups[g].n_gpus > groups[best].n_gpus))
        best = (int)g;
    }
    if (best < 0)
      break;
    placed[best] = TRUE;
    if (next % NODE_GPUS + groups[best].n_gpus > NODE_GPUS)
      next = (next + NODE_GPUS - 1) / NODE_GPUS * NODE_GPUS;
    groups[best].first = next;
    next += groups[best].n_gpus;
  }
  for (guint g = 0; g < N_GROUPS; g++) {
    if (groups[g].shares >= 0)
      groups[g].first = groups[groups[g].shares].first;
  }
}

/* ---- Calls --------------------------------------------------------------- */

/* Micro-batches in sequences, or in tokens of all GPUs of a replica
 * (openrlhf/utils/seqlen_balancing.py). */
static gboolean
read_micro(RaRecipe *recipe, RaSettings *s, gboolean train, RaRecipeCall *call,
           GError **error)
{
  static const char flag[] = "train.dynamic_batch_enable";
  const char *dynamic_key = either(s, flag, "use_dynamic_batch");
  const char *key =
      train ? either(s, "train.micro_batch_size", "micro_train_batch_size")
            : either(s, "rollout.micro_batch_size", "micro_rollout_batch_size");
  gboolean pairs =
      recipe->task == RA_RECIPE_DPO || recipe->task == RA_RECIPE_RM;
  gboolean of_rl = recipe->task == RA_RECIPE_RL, dynamic;
  uint32_t fallback = recipe->task == RA_RECIPE_RM ? 1
                      : !of_rl                     ? 8
                      : is_dotted(s)               ? 1
                      : train                      ? 4
                                                   : 8;
  uint32_t tokens;

  if (!ra_recipe_count(s, key, fallback, &call->micro_batch, error) ||
      !ra_settings_bool(s, dynamic_key, FALSE, &dynamic, error))
    return FALSE;
  call->micro_batch *= pairs ? 2 : 1;
  if (!dynamic)
    return TRUE;
  if (!ra_recipe_count(
          s, either(s, "train.max_tokens_per_gpu", "train_max_tokens_per_gpu"),
          16192, &tokens, error) ||
      (!train && !ra_recipe_count(s,
                                  either(s, "rollout.max_tokens_per_gpu",
                                         "rollout_max_tokens_per_gpu"),
                                  tokens, &tokens, error)))
    return FALSE;
  call->micro_tokens = tokens * call->cp * call->tp;
  ra_settings_about(s, dynamic_key,
                    "as many micro-batches as sequences of the mean length "
                    "fill, all of one size");
  return TRUE;
}

/* Where the parameters of a call that only infers are. */
static gboolean
read_offload(RaSettings *s, RaRecipeKind kind, RaRecipeCall *call,
             GError **error)
{
  if (kind == RA_RECIPE_REF_INFERENCE)
    return ra_settings_bool(
        s,
        ra_settings_get(s, "ref_offload")
            ? "ref_offload"
            : either(s, "ref.offload", "ref_reward_offload"),
        FALSE, &call->host, error);
  return kind != RA_RECIPE_REWARD_INFERENCE ||
         ra_settings_bool(s, either(s, "reward.offload", "ref_reward_offload"),
                          FALSE, &call->host, error);
}

static gboolean
read_train(RaSettings *s, RaRecipeCall *call, GError **error)
{
  const char *adam = either(s, "ds.adam_offload", "adam_offload");
  const char *type =
      ra_settings_get(s, either(s, "ds.grad_accum_dtype", "grad_accum_dtype"));
  const char *checkpoint =
      ra_settings_get(s, "model.gradient_checkpointing_enable")
          ? "model.gradient_checkpointing_enable"
          : either(s, "actor.gradient_checkpointing_enable",
                   "gradient_checkpointing");

  call->fp32_grads =
      type && (g_str_equal(type, "fp32") || g_str_equal(type, "float32"));
  if (!ra_settings_bool(s, checkpoint, FALSE, &call->full_recompute, error) ||
      !ra_settings_bool(s, either(s, "ds.overlap_comm", "overlap_comm"), FALSE,
                        &call->overlap, error) ||
      !ra_settings_bool(s, adam, FALSE, &call->cpu_optimizer, error))
    return FALSE;
  return TRUE;
}

/* A call of DeepSpeed on @group. */
static gboolean
read_call(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind,
          const Group *group, GError **error)
{
  RaRecipeCall *call = &recipe->calls[kind];
  gboolean train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;

  call->is_there = TRUE;
  call->first_gpu = group->first;
  call->n_gpus = group->n_gpus;
  return ra_settings_uint32(s, either(s, "ds.zero_stage", "zero_stage"), 2, 0,
                            3, &call->zero, error) &&
         ra_recipe_count(
             s, either(s, "ds.tensor_parallel_size", "ds_tensor_parallel_size"),
             1, &call->tp, error) &&
         ra_recipe_count(s, either(s, "ds.ring_attn_size", "ring_attn_size"), 1,
                         &call->cp, error) &&
         read_micro(recipe, s, train, call, error) &&
         (train ? read_train(s, call, error)
                : read_offload(s, kind, call, error));
}

/* vLLM's engines.  vllm/engine/arg_utils.py: AsyncLLM, which OpenRLHF starts
 * since 2025-08, has 128 sequences and 2,048 tokens at a time; before, 256. */
static gboolean
read_engines(RaRecipe *recipe, RaSettings *s, Group *groups, GError **error)
{
  RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  const char *key = either(s, "vllm.num_engines", "vllm_num_engines");
  gboolean older = ra_settings_has(s, "generate_max_len");
  uint32_t n_engines;
  gboolean eager;

  if (!ra_settings_uint32(s, key, 0, 0, 65536, &n_engines, error))
    return FALSE;
  if (n_engines == 0)
    return ra_settings_fail(s, key, error, "at least 1");
  if (!ra_settings_bool(s, either(s, "vllm.enforce_eager", "enforce_eager"),
                        FALSE, &eager, error))
    return FALSE;
  call->is_there = groups[VLLM].is_there = TRUE;
  call->n_gpus = groups[VLLM].n_gpus = n_engines * call->tp;
  call->graph = !eager;
  call->max_sequences = older ? 256 : 128;
  call->prefill_tokens = older ? 0 : 2048;
  ra_recipe_note(recipe, "generate: %u sequences at a time, vLLM's own",
                 call->max_sequences);
  return TRUE;
}

/* ---- Batches, lengths, models -------------------------------------------- */

/* Prompts are trained on in the order in which groups of use come
 * (openrlhf/trainer/ppo_utils/samples_generator.py). */
static gboolean
read_trips(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *key =
      either(s, "algo.dynamic_filtering_enable", "dynamic_filtering");
  gboolean filtered;

  if (!ra_settings_bool(s, key, FALSE, &filtered, error))
    return FALSE;
  if (!filtered)
    return TRUE;
  ra_settings_about(s, key, "other prompts in trips, not one for one");
  return ra_recipe_count(
      s,
      either(s, "rollout.vllm_generate_batch_size", "vllm_generate_batch_size"),
      recipe->n_prompts, &recipe->trips.n_prompts, error);
}

static gboolean
read_lengths(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t total, most;
  uint32_t fallback =
      recipe->task == RA_RECIPE_DPO || recipe->task == RA_RECIPE_RM ? 512
                                                                    : 2048;

  if (ra_settings_has(s, "prompt_max_len") ||
      ra_settings_has(s, "generate_max_len"))
    return ra_recipe_count(s, "prompt_max_len", 1024, &recipe->max_prompt,
                           error) &&
           ra_recipe_count(s, "generate_max_len", 1024, &recipe->max_response,
                           error);
  if (!ra_recipe_count(s, either(s, "data.max_len", "max_len"), fallback,
                       &total, error) ||
      !ra_recipe_count(s, either(s, "rollout.max_new_tokens", "max_new_tokens"),
                       total, &most, error))
    return FALSE;
  ra_recipe_split(recipe, total, total, most);
  return TRUE;
}

static gboolean
read_batches(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *key = either(s, "train.batch_size", "train_batch_size");
  uint32_t batch, n;
  gboolean async;

  if (!ra_recipe_count(s, key, 128, &batch, error) ||
      !ra_settings_bool(s, either(s, "train.async_enable", "async_train"),
                        FALSE, &async, error) ||
      !ra_settings_uint32(
          s, either(s, "train.async_queue_size", "async_queue_size"), 1, 1,
          1000, &recipe->staleness, error) ||
      !read_lengths(recipe, s, error))
    return FALSE;
  if (!async)
    recipe->staleness = 0;
  if (recipe->task != RA_RECIPE_RL) { /* comparisons are pairs */
    recipe->n_prompts = batch;
    recipe->n_samples = recipe->task == RA_RECIPE_SFT ? 1 : 2;
    recipe->n_epochs = 1;
    return TRUE;
  }
  n = recipe->n_prompts * recipe->n_samples;
  if (batch > n || n % batch != 0)
    return ra_settings_fail(s, key, error,
                            "a divisor of the sequences of a rollout");
  recipe->n_mini_batches = n / batch;
  return read_trips(recipe, s, error);
}

/* One rank for actor and critic; the reference is a model of its own. */
static gboolean
read_adapters(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *rank = either(s, "ds.lora.rank", "lora_rank");
  const char *targets = either(s, "ds.lora.target_modules", "target_modules");

  if (!ra_recipe_lora(recipe, s, RA_RECIPE_ACTOR, rank, targets, error) ||
      !ra_recipe_lora(recipe, s, RA_RECIPE_CRITIC, rank, targets, error))
    return FALSE;
  recipe->lora_merged = TRUE;
  if (recipe->lora[RA_RECIPE_ACTOR].rank > 0 && recipe->task == RA_RECIPE_RL)
    ra_settings_about(s, rank, "engines are sent merged weights");
  return TRUE;
}

/* Calls of the algorithm, by the models that are present. */
static gboolean
read_roles(RaRecipe *recipe, RaSettings *s, Group *groups, GError **error)
{
  gboolean by_rules = ra_settings_has(s, "reward.remote_url") ||
                      ra_settings_has(s, "remote_rm_url") ||
                      ra_settings_has(s, "train.agent_func_path") ||
                      ra_settings_has(s, "agent_func_path");
  const char *reward = recipe->model[RA_RECIPE_REWARD];
  double kl;

  ra_recipe_text(s,
                 either(s, "algo.advantage.estimator", "advantage_estimator"),
                 "gae", &recipe->algorithm);
  groups[ACTOR].is_there = TRUE;
  groups[CRITIC].is_there = g_str_equal(recipe->algorithm, "gae");
  if (groups[CRITIC].is_there) {
    g_free(recipe->algorithm);
    recipe->algorithm = g_strdup("ppo");
  }
  groups[REWARD].is_there = reward && !by_rules;
  if (!recipe->model[RA_RECIPE_CRITIC])
    recipe->model[RA_RECIPE_CRITIC] = g_strdup(
        groups[REWARD].is_there ? reward : recipe->model[RA_RECIPE_ACTOR]);
  if (!ra_settings_double(s, either(s, "algo.kl.init_coef", "init_kl_coef"),
                          0.01, 0.0, 1e9, &kl, error))
    return FALSE;
  groups[REF].is_there = kl > 0;
  return TRUE;
}

static gboolean
read_calls(RaRecipe *recipe, RaSettings *s, const Group *groups, GError **error)
{
  static const struct {
    RaRecipeKind kind;
    guint group;
  } calls[] = {
      {RA_RECIPE_ACTOR_INFERENCE, ACTOR},
      {RA_RECIPE_ACTOR_TRAIN, ACTOR},
      {RA_RECIPE_REF_INFERENCE, REF},
      {RA_RECIPE_REWARD_INFERENCE, REWARD},
      {RA_RECIPE_CRITIC_INFERENCE, CRITIC},
      {RA_RECIPE_CRITIC_TRAIN, CRITIC},
  };

  recipe->calls[RA_RECIPE_GENERATE].first_gpu = groups[VLLM].first;
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    const Group *group = &groups[calls[i].group];
    Group placed = *group;

    if (!group->is_there)
      continue;
    if (group->shares >= 0)
      placed.n_gpus = groups[group->shares].n_gpus;
    if (!read_call(recipe, s, calls[i].kind, &placed, error))
      return FALSE;
  }
  return TRUE;
}

/* Engines and trainers that take turns on the same GPUs; vLLM gives its memory
 * back here in any case. */
static gboolean
read_sleep(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *key = either(s, "ds.enable_sleep", "deepspeed_enable_sleep");
  gboolean sleep;

  if (!ra_settings_bool(s, key, FALSE, &sleep, error))
    return FALSE;
  if (!sleep)
    return TRUE;
  recipe->calls[RA_RECIPE_ACTOR_TRAIN].optimizer_host = TRUE;
  recipe->calls[RA_RECIPE_CRITIC_TRAIN].optimizer_host = TRUE;
  ra_settings_about(s, key, "the optimizer state is kept in host memory");
  return TRUE;
}

/* ---- The whole ----------------------------------------------------------- */

/* Task that is started, by the program in openrlhf/cli. */
static gboolean
find_task(RaRecipe *recipe, RaSettings *s, GError **error)
{
  static const struct {
    const char *program, *algorithm;
    RaRecipeTask task;
  } programs[] = {{"train_sft", "sft", RA_RECIPE_SFT},
                  {"train_dpo", "dpo", RA_RECIPE_DPO},
                  {"train_rm", "rm", RA_RECIPE_RM}};
  const char *words = ra_settings_entry(s);
  const char *cli = strstr(words, "openrlhf.cli.");
  g_autofree char *name = NULL, *what = NULL;

  if (strstr(words, "train_ppo_ray"))
    return TRUE;
  if (!cli)
    cli = strstr(words, "openrlhf/cli/");
  if (!cli)
    return TRUE;
  cli += strlen("openrlhf.cli.");
  for (guint i = 0; i < G_N_ELEMENTS(programs); i++) {
    if (g_str_has_prefix(cli, programs[i].program)) {
      recipe->task = programs[i].task;
      recipe->algorithm = g_strdup(programs[i].algorithm);
      return TRUE;
    }
  }
  name = g_strndup(cli, strcspn(cli, " "));
  what = g_strconcat("openrlhf.cli.", name, NULL);
  return ra_recipe_refuse(s, what, error);
}

/* All GPUs that deepspeed finds, which no flag tells. */
static gboolean
read_supervised(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const Group all = {TRUE, NODE_GPUS, 0, -1};

  ra_recipe_note(recipe,
                 "cluster: one node of %d GPUs, as deepspeed takes those that "
                 "it finds",
                 NODE_GPUS);
  return read_call(recipe, s, RA_RECIPE_ACTOR_TRAIN, &all, error) &&
         (recipe->task != RA_RECIPE_DPO ||
          read_call(recipe, s, RA_RECIPE_REF_INFERENCE, &all, error));
}

/* Micro-batches of DPO's reference are those of training. */
static void
read_padding(RaRecipe *recipe, RaSettings *s)
{
  RaRecipeCall *train = &recipe->calls[RA_RECIPE_ACTOR_TRAIN];
  RaRecipeCall *ref = &recipe->calls[RA_RECIPE_REF_INFERENCE];
  const char *packed = either(s, "ds.packing_samples", "packing_samples");

  if (recipe->task == RA_RECIPE_DPO)
    ref->micro_batch = train->micro_batch;
  if (ra_settings_get(s, packed) || train->micro_tokens > 0 || train->cp > 1)
    return;
  /* zero_pad_sequences() of a micro-batch (openrlhf/utils/seqlen_balancing.py
   * and trainer/ppo_utils/replay_buffer.py). */
  for (RaRecipeKind k = RA_RECIPE_ACTOR_INFERENCE; k < RA_N_RECIPE_CALLS; k++)
    recipe->calls[k].padding = RA_PADDING_MICRO_BATCH;
}

static gboolean
read_openrlhf(RaRecipe *recipe, RaSettings *s, GError **error)
{
  Group groups[N_GROUPS] = {{FALSE, 0, 0, -1}};
  gboolean ok;

  if (!find_task(recipe, s, error) || !read_batches(recipe, s, error) ||
      !read_adapters(recipe, s, error))
    return FALSE;
  if (recipe->task != RA_RECIPE_RL) {
    ok = read_supervised(recipe, s, error);
  } else {
    ok = read_roles(recipe, s, groups, error) &&
         read_groups(s, groups, error) &&
         read_engines(recipe, s, groups, error) &&
         read_sharing(recipe, s, groups, error);
    if (ok)
      place(groups);
    ok = ok && read_calls(recipe, s, groups, error) &&
         read_sleep(recipe, s, error);
  }
  if (!ok)
    return FALSE;
  ra_recipe_nodes(recipe, NODE_GPUS);
  read_padding(recipe, s);
  return TRUE;
}

const RaRecipeReader ra_recipe_reader_openrlhf = {
    .name = "openrlhf",
    .prefixes = {"vllm_num_engines", "actor_num_", "vllm.num_engines",
                 "actor.num_"},
    .entries = {"openrlhf.cli", "openrlhf/cli", "train_ppo_ray"},
    .meanings = ra_meanings_openrlhf,
    .n_meanings = &ra_n_meanings_openrlhf,
    .read = read_openrlhf,
};
