/* Configurations of slime, and of its forks with the same arguments (miles,
 * vime): flags of train.py and train_async.py.
 *
 * What a missing flag means is what slime/utils/arguments.py says at revision
 * 624b824 (2026-08); calls are those of slime/backends/megatron_utils/actor.py.
 * The table of flags is study/convert/meaning_slime.c. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/convert/model_name.h"
#include "study/convert/recipe_impl.h"

static RaRecipeCall *
call_of(RaRecipe *recipe, RaRecipeKind kind)
{
  return &recipe->calls[kind];
}

/* ---- GPUs ---------------------------------------------------------------- */

/* _get_placement_group_layout() of slime/ray/placement_group.py. */
static gboolean
read_pools(RaRecipe *recipe, RaSettings *s, gboolean *is_apart, GError **error)
{
  uint32_t n_nodes, n_gpus, per_node, own, all;
  gboolean colocate;

  if (!ra_recipe_count(s, "actor-num-nodes", 1, &n_nodes, error) ||
      !ra_recipe_count(s, "actor-num-gpus-per-node", 8, &n_gpus, error) ||
      !ra_recipe_count(s, "num-gpus-per-node", 8, &per_node, error) ||
      !ra_settings_bool(s, "colocate", FALSE, &colocate, error) ||
      !ra_settings_uint32(s, "rollout-num-gpus", 0, 0, RA_RECIPE_COUNT_MAX,
                          &own, error))
    return FALSE;
  all = n_nodes * n_gpus;
  *is_apart = !colocate && recipe->task == RA_RECIPE_RL;
  if (colocate && own > 0 && own != all)
    ra_settings_about(s, "rollout-num-gpus", "%u, those that train", all);
  if (*is_apart && own == 0)
    return ra_settings_fail(s, "rollout-num-gpus", error,
                            "the GPUs that generate, or --colocate");
  if (!*is_apart)
    return ra_recipe_pools(recipe, n_nodes, n_gpus, 0, 0, error);
  if (own % per_node != 0)
    return ra_recipe_pools(recipe, n_nodes, n_gpus, 1, own, error);
  return ra_recipe_pools(recipe, n_nodes, n_gpus, own / per_node, per_node,
                         error);
}

/* ---- Batches ------------------------------------------------------------- */

/* Optimizer steps of an iteration; the batch is in sequences. */
static gboolean
read_batches(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *filter = ra_settings_get(s, "dynamic-sampling-filter-path");
  uint32_t global, steps, over, n;

  if (!ra_settings_get(s, "rollout-batch-size"))
    return ra_settings_fail(s, "rollout-batch-size", error,
                            "the prompts of an iteration");
  if (!ra_recipe_sequences(recipe, &n, error) ||
      !ra_settings_uint32(s, "num-steps-per-rollout", 0, 0, RA_RECIPE_COUNT_MAX,
                          &steps, error) ||
      !ra_settings_uint32(s, "global-batch-size", 0, 0, RA_RECIPE_COUNT_MAX,
                          &global, error) ||
      !ra_recipe_count(s, "over-sampling-batch-size", recipe->n_prompts, &over,
                       error))
    return FALSE;
  if (filter)
    recipe->trips.n_prompts = over;
  else if (over > recipe->n_prompts)
    ra_settings_about(s, "over-sampling-batch-size",
                      "%u prompts, none of which is aborted",
                      recipe->n_prompts);
  if (steps == 0 && global == 0)
    ra_recipe_note(recipe, "mini-batches: one, as neither --global-batch-size "
                           "nor --num-steps-per-rollout is set");
  if (steps == 0)
    steps = global > 0 && n > global ? (n + global - 1) / global : 1;
  recipe->n_mini_batches = MIN(steps, n);
  while (n % recipe->n_mini_batches != 0)
    recipe->n_mini_batches++;
  if (recipe->n_mini_batches != steps)
    ra_settings_about(s, "global-batch-size", "%u mini-batches of %u",
                      recipe->n_mini_batches, n / recipe->n_mini_batches);
  return TRUE;
}

static gboolean
read_lengths(RaRecipe *recipe, RaSettings *s, GError **error)
{
  uint32_t context;

  if (!ra_settings_uint32(s, "rollout-max-context-len", 0, 0,
                          RA_RECIPE_COUNT_MAX, &context, error))
    return FALSE;
  if (recipe->max_prompt == 0 && context > recipe->max_response)
    recipe->max_prompt = context - recipe->max_response;
  ra_recipe_lengths(recipe, 1024, 1024);
  return TRUE;
}

/* ---- Training and inference ---------------------------------------------- */

static gboolean
read_recompute(RaRecipeCall *train, RaSettings *s, GError **error)
{
  const char *key = "recompute-granularity", *word = ra_settings_get(s, key);

  if (word && !g_str_equal(word, "full") && !g_str_equal(word, "selective"))
    return ra_settings_fail(s, key, error, "full or selective");
  if (word) {
    train->full_recompute = g_str_equal(word, "full");
    train->selective_recompute = !train->full_recompute;
  }
  return TRUE;
}

/* Chunks of layers of a stage, by the layers of a chunk. */
static gboolean
read_chunks(RaRecipeCall *train, RaSettings *s, GError **error)
{
  const char *key = "num-layers-per-virtual-pipeline-stage";
  uint32_t each, n_layers;

  if (!ra_settings_uint32(s, key, 0, 0, RA_RECIPE_COUNT_MAX, &each, error) ||
      !ra_settings_uint32(s, "num-layers", 0, 0, RA_RECIPE_COUNT_MAX, &n_layers,
                          error))
    return FALSE;
  if (each == 0)
    return TRUE;
  if (n_layers == 0 || n_layers % ((uint64_t)each * train->pp) != 0)
    return ra_settings_fail(s, key, error,
                            "a divisor of --num-layers over the stages");
  train->n_virtual = n_layers / (each * train->pp);
  return TRUE;
}

/* Colocated training sleeps in host memory while engines generate, and with a
 * critic it always does. */
static gboolean
read_offload(RaRecipe *recipe, RaSettings *s, gboolean is_apart, GError **error)
{
  RaRecipeCall *train = call_of(recipe, RA_RECIPE_ACTOR_TRAIN);
  gboolean both, offload, stays, cpu;
  gboolean critic = g_str_equal(recipe->algorithm, "ppo");

  if (!ra_settings_bool(s, "offload", FALSE, &both, error) ||
      !ra_settings_bool(s, "offload-train",
                        both || critic ||
                            (!is_apart && recipe->task == RA_RECIPE_RL),
                        &offload, error) ||
      !ra_settings_bool(s, "no-offload-train", FALSE, &stays, error) ||
      !ra_settings_bool(s, "optimizer-cpu-offload", FALSE, &cpu, error))
    return FALSE;
  train->host = offload && !stays;
  train->optimizer_host = train->host || cpu;
  ra_settings_about(s, "optimizer-cpu-offload",
                    "state in host memory, the step on the GPU");
  return TRUE;
}

static gboolean
read_micro(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *train = call_of(recipe, RA_RECIPE_ACTOR_TRAIN);
  uint32_t tokens;
  gboolean dynamic;

  if (!ra_settings_bool(s, "use-dynamic-batch-size", FALSE, &dynamic, error) ||
      !ra_recipe_count(s, "micro-batch-size", 1, &train->micro_batch, error) ||
      !ra_settings_uint32(s, "max-tokens-per-gpu", 0, 0, RA_RECIPE_COUNT_MAX,
                          &tokens, error))
    return FALSE;
  if (!dynamic)
    return TRUE;
  if (tokens == 0)
    return ra_settings_fail(s, "use-dynamic-batch-size", error,
                            "--max-tokens-per-gpu too");
  train->micro_tokens = tokens * train->cp;
  return TRUE;
}

static gboolean
read_train(RaRecipe *recipe, RaSettings *s, gboolean is_apart, GError **error)
{
  RaRecipeCall *train = call_of(recipe, RA_RECIPE_ACTOR_TRAIN);
  const char *backend = ra_settings_get(s, "train-backend");

  if (backend && !g_str_equal(backend, "megatron"))
    return ra_settings_fail(s, "train-backend", error, "megatron");
  train->is_there = TRUE;
  train->zero = 1; /* _set_default_megatron_args() */
  train->fp32_grads = TRUE;
  return read_recompute(train, s, error) && read_chunks(train, s, error) &&
         read_offload(recipe, s, is_apart, error) &&
         read_micro(recipe, s, error);
}

/* A forward pass with training's layout and micro-batches of its own. */
static gboolean
read_forward(RaRecipe *recipe, RaSettings *s, RaRecipeKind kind, GError **error)
{
  RaRecipeCall *call = call_of(recipe, kind);
  uint32_t tokens;

  ra_recipe_like(recipe, kind, RA_RECIPE_ACTOR_TRAIN);
  if (call->micro_tokens == 0)
    return TRUE;
  if (!ra_recipe_count(s, "log-probs-max-tokens-per-gpu",
                       call->micro_tokens / call->cp, &tokens, error))
    return FALSE;
  call->micro_tokens = tokens * call->cp;
  return TRUE;
}

/* Log-probabilities: can_reuse_log_probs_in_loss of train_actor(), which skips
 * the actor's where one step follows, and the reference's, whose weights wait
 * in host memory. */
static gboolean
read_logprobs(RaRecipe *recipe, RaSettings *s, GError **error)
{
  gboolean rollout = ra_recipe_is_on(s, "use-rollout-logprobs");
  gboolean mismatch = ra_recipe_is_on(s, "get-mismatch-metrics");
  gboolean old = ra_recipe_is_on(s, "keep-old-actor"), in_loss;
  double kl, kl_loss;
  gboolean reuse;

  if (!ra_settings_double(s, "kl-coef", 0, 0, 1e6, &kl, error) ||
      !ra_settings_double(s, "kl-loss-coef", 0, 0, 1e6, &kl_loss, error) ||
      !ra_settings_bool(s, "use-kl-loss", FALSE, &in_loss, error))
    return FALSE;
  reuse = recipe->n_mini_batches == 1 && kl == 0 && !rollout && !mismatch &&
          !old && !g_str_equal(recipe->algorithm, "ppo") &&
          !g_str_equal(recipe->algorithm, "gspo");
  if ((!rollout || mismatch) && !reuse &&
      !read_forward(recipe, s, RA_RECIPE_ACTOR_INFERENCE, error))
    return FALSE;
  if (old)
    ra_settings_about(s, "keep-old-actor", "the actor's weights");
  if (kl == 0 && !in_loss)
    return TRUE;
  if (!read_forward(recipe, s, RA_RECIPE_REF_INFERENCE, error))
    return FALSE;
  call_of(recipe, RA_RECIPE_REF_INFERENCE)->host = TRUE;
  return TRUE;
}

static gboolean
read_critic(RaRecipe *recipe, RaSettings *s, GError **error)
{
  if (!g_str_equal(recipe->algorithm, "ppo"))
    return TRUE;
  recipe->model[RA_RECIPE_CRITIC] = g_strdup(recipe->model[RA_RECIPE_ACTOR]);
  ra_recipe_like(recipe, RA_RECIPE_CRITIC_TRAIN, RA_RECIPE_ACTOR_TRAIN);
  return read_forward(recipe, s, RA_RECIPE_CRITIC_INFERENCE, error);
}

/* ---- Generation ---------------------------------------------------------- */

static gboolean
read_rollout(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *call = call_of(recipe, RA_RECIPE_GENERATE);
  gboolean eager = ra_recipe_is_on(s, "sglang-disable-cuda-graph");
  gboolean alone = ra_recipe_is_on(s, "sglang-disable-radix-cache");
  uint32_t most = 0;

  if (!ra_settings_uint32(s, "sglang-max-running-requests", 0, 0,
                          RA_RECIPE_COUNT_MAX, &most, error))
    return FALSE;
  call->is_there = TRUE;
  call->graph = !eager;
  call->prefix_sharing = !alone;
  if (most > 0)
    call->max_sequences = MIN(call->max_sequences, most);
  if (call->tp % call->pp != 0)
    return ra_settings_fail(s, "rollout-num-gpus-per-engine", error,
                            "a multiple of the stages of an engine");
  call->tp /= call->pp;
  if (call->ep > 1) /* SGLang: an expert's ranks are tp / ep */
    call->etp = MAX(1, call->tp / call->ep);
  if (call->memory_frac <= 0)
    ra_recipe_note(recipe, "generate: keys and values in as much memory as "
                           "they need, as SGLang chooses its fraction itself");
  return TRUE;
}

/* train_async.py generates one rollout ahead; examples/fully_async without
 * end. */
static void
read_async(RaRecipe *recipe, RaSettings *s)
{
  const char *path = ra_settings_get(s, "rollout-function-path");
  gboolean without_end = path && strstr(path, "fully_async");

  if (!without_end && !strstr(ra_settings_entry(s), "train_async"))
    return;
  recipe->staleness = 1;
  if (without_end) {
    recipe->async.is_service = recipe->async.interrupts = TRUE;
    recipe->async.sync_interval = 1;
    ra_recipe_note(recipe, "staleness: 1 version, as the configuration has no "
                           "limit; set 'staleness' of [workload]");
  }
}

static gboolean
read_task(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *loss = ra_settings_get(s, "loss-type");
  const char *path = ra_settings_get(s, "rollout-function-path");

  if (g_strcmp0(loss, "sft_loss") == 0 || (path && strstr(path, "sft_rollout")))
    recipe->task = RA_RECIPE_SFT;
  if (recipe->task == RA_RECIPE_SFT) {
    g_free(recipe->algorithm);
    recipe->algorithm = g_strdup("sft");
    return TRUE;
  }
  if (ra_recipe_is_on(s, "debug-rollout-only"))
    return ra_recipe_refuse(s, "generation alone", error);
  return TRUE;
}

/* A checkpoint of one's own has a name that nobody knows; the arguments of
 * Megatron (scripts/models/NAME.sh) have its shape. */
static gboolean
read_model(RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *name = recipe->model[RA_RECIPE_ACTOR];
  g_autofree char *known =
      name ? ra_model_name_config(name, ra_settings_name(s), NULL, NULL) : NULL;
  g_autofree char *like = NULL;
  uint32_t n_layers, hidden, ffn, n_experts;

  if (!ra_settings_uint32(s, "num-layers", 0, 0, RA_RECIPE_COUNT_MAX, &n_layers,
                          error) ||
      !ra_settings_uint32(s, "hidden-size", 0, 0, RA_RECIPE_COUNT_MAX, &hidden,
                          error) ||
      !ra_settings_uint32(s, "ffn-hidden-size", 0, 0, RA_RECIPE_COUNT_MAX, &ffn,
                          error) ||
      !ra_settings_uint32(s, "num-experts", 0, 0, RA_RECIPE_COUNT_MAX,
                          &n_experts, error))
    return FALSE;
  if (!known && n_layers > 0)
    like = ra_model_name_of_shape(n_layers, hidden, ffn, n_experts);
  if (like) {
    ra_recipe_note(recipe, "model: %s, which has the shape of the arguments",
                   like);
    g_free(recipe->model[RA_RECIPE_ACTOR]);
    recipe->model[RA_RECIPE_ACTOR] = g_steal_pointer(&like);
  }
  g_free(recipe->model[RA_RECIPE_REF]);
  recipe->model[RA_RECIPE_REF] = g_strdup(recipe->model[RA_RECIPE_ACTOR]);
  return TRUE;
}

static gboolean
read_slime(RaRecipe *recipe, RaSettings *s, GError **error)
{
  gboolean is_apart;

  if (!read_task(recipe, s, error))
    return FALSE;
  if (!read_model(recipe, s, error) ||
      !read_pools(recipe, s, &is_apart, error) ||
      !read_batches(recipe, s, error) || !read_lengths(recipe, s, error) ||
      !read_train(recipe, s, is_apart, error))
    return FALSE;
  if (recipe->task == RA_RECIPE_SFT)
    return TRUE;
  read_async(recipe, s);
  return read_rollout(recipe, s, error) && read_logprobs(recipe, s, error) &&
         read_critic(recipe, s, error);
}

const RaRecipeReader ra_recipe_reader_slime = {
    .name = "slime",
    .prefixes = {"rollout-batch-size", "rollout-num-gpus", "actor-num-nodes"},
    .entries = {"slime."},
    .meanings = ra_meanings_slime,
    .n_meanings = &ra_n_meanings_slime,
    .read = read_slime,
};
