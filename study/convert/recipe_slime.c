/* Configurations of slime, and of its forks with the same arguments (miles,
 * vime): flags of train.py and train_async.py.
 *
 * What a missing flag means is what slime/utils/arguments.py says at revision
 * 624b824 (2026-08); calls are those of slime/backends/megatron_utils/actor.py.
 * Further flags are Megatron-LM's, and SGLang's behind `--sglang-`. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/convert/model_name.h"
#include "study/convert/recipe_impl.h"

#define GENERATE calls[RA_RECIPE_GENERATE]
#define TRAIN calls[RA_RECIPE_ACTOR_TRAIN]
/* SGLang's own number of drafts for models with MTP layers (server_args.py,
 * auto_choose_speculative_params()). */
#define DRAFTS 3

static const RaMeaning meanings[] = {
    /* Straight into the recipe. */
    RA_MEANS(COUNT, "rollout-batch-size", NULL, n_prompts),
    RA_MEANS(COUNT, "n-samples-per-prompt", "1", n_samples),
    RA_MEANS(COUNT, "rollout-max-prompt-len", NULL, max_prompt),
    RA_MEANS(COUNT, "rollout-max-response-len", NULL, max_response),
    RA_MEANS(COUNT, "tensor-model-parallel-size", "1", TRAIN.tp),
    RA_MEANS(COUNT, "pipeline-model-parallel-size", "1", TRAIN.pp),
    RA_MEANS(COUNT, "context-parallel-size", "1", TRAIN.cp),
    RA_MEANS(COUNT, "expert-model-parallel-size", "1", TRAIN.ep),
    RA_MEANS(COUNT, "expert-tensor-parallel-size", NULL, TRAIN.etp),
    RA_MEANS(COUNT, "num-virtual-stages-per-pipeline-rank", NULL,
             TRAIN.n_virtual),
    RA_MEANS(COUNT, "decoder-first-pipeline-num-layers", NULL,
             TRAIN.first_layers),
    RA_MEANS(COUNT, "decoder-last-pipeline-num-layers", NULL,
             TRAIN.last_layers),
    RA_MEANS(SWITCH, "sequence-parallel", "false", TRAIN.sequence_parallel),
    RA_MEANS(SWITCH, "overlap-grad-reduce", "false", TRAIN.overlap),
    RA_MEANS(SWITCH, "recompute-activations", "false",
             TRAIN.selective_recompute),
    RA_MEANS(COUNT, "rollout-num-gpus-per-engine", "1", GENERATE.tp),
    RA_MEANS(COUNT, "sglang-pp-size", NULL, GENERATE.pp),
    RA_MEANS(COUNT, "sglang-pipeline-parallel-size", NULL, GENERATE.pp),
    RA_MEANS(COUNT, "sglang-ep-size", NULL, GENERATE.ep),
    RA_MEANS(COUNT, "sglang-expert-parallel-size", NULL, GENERATE.ep),
    /* slime/rollout/sglang_rollout.py sends an engine no more at a time. */
    RA_MEANS(COUNT, "sglang-server-concurrency", "512", GENERATE.max_sequences),
    RA_MEANS(COUNT, "sglang-chunked-prefill-size", "8192",
             GENERATE.prefill_tokens),
    RA_MEANS(FRACTION, "sglang-mem-fraction-static", NULL,
             GENERATE.memory_frac),
    RA_MEANS(TEXT, "advantage-estimator", "grpo", algorithm),
    RA_MEANS(TEXT, "hf-checkpoint", NULL, model[RA_RECIPE_ACTOR]),
    RA_MEANS(TEXT, "sglang-quantization", NULL, rollout_dtype),
    RA_MEANS(TEXT, "sglang-kv-cache-dtype", NULL, rollout_kv_dtype),

    /* The reader's functions. */
    RA_MEANS_CODE("actor-num-nodes"),
    RA_MEANS_CODE("actor-num-gpus-per-node"),
    RA_MEANS_CODE("critic-num-*"),
    RA_MEANS_CODE("num-gpus-per-node"),
    RA_MEANS_CODE("rollout-num-gpus"),
    RA_MEANS_CODE("rollout-max-context-len"),
    RA_MEANS_CODE("global-batch-size"),
    RA_MEANS_CODE("num-steps-per-rollout"),
    RA_MEANS_CODE("micro-batch-size"),
    RA_MEANS_CODE("use-dynamic-batch-size"),
    RA_MEANS_CODE("*max-tokens-per-gpu"),
    RA_MEANS_CODE("num-layers-per-virtual-pipeline-stage"),
    RA_MEANS_CODE("recompute-granularity"),
    RA_MEANS_CODE("colocate"),
    RA_MEANS_CODE("*offload*"),
    RA_MEANS_CODE("kl-coef"),
    RA_MEANS_CODE("use-kl-loss"),
    RA_MEANS_CODE("kl-loss-coef"),
    RA_MEANS_CODE("use-rollout-logprobs"),
    RA_MEANS_CODE("get-mismatch-metrics"),
    RA_MEANS_CODE("keep-old-actor"),
    RA_MEANS_CODE("loss-type"),
    RA_MEANS_CODE("rollout-function-path"),
    RA_MEANS_CODE("over-sampling-batch-size"),
    RA_MEANS_CODE("dynamic-sampling-filter-path"),
    RA_MEANS_CODE("sglang-max-running-requests"),
    RA_MEANS_CODE("sglang-disable-cuda-graph"),
    RA_MEANS_CODE("sglang-disable-radix-cache"),
    RA_MEANS_CODE("debug-*-only"),
    RA_MEANS_CODE("train-backend"),

    /* Time. */
    RA_MEANS_LOST(TIME, "partial-rollout", "off",
                  "aborted responses are not continued"),
    RA_MEANS_NOTHING("mask-offpolicy-in-partial-rollout"),
    RA_MEANS_LOST(TIME, "update-weights-interval", "1",
                  "weights are sent after each iteration"),
    RA_MEANS_LOST(TIME, "custom-generate-function-path", "off",
                  "one turn, without tools"),
    RA_MEANS_LOST(TIME, "rm-url", "off", "a reward that takes no time"),
    RA_MEANS_LOST(TIME, "group-rm", "off", "a reward that takes no time"),
    RA_MEANS_LOST(TIME, "use-opd", "off", "no teacher"),
    RA_MEANS_NOTHING("opd-*"),
    RA_MEANS_LOST(TIME, "rollout-external*", "off", "engines of this run"),
    RA_MEANS_LOST(TIME, "prefill-num-servers", "off",
                  "prompts and responses on the same GPUs"),
    RA_MEANS_LOST(TIME, "sglang-config", "off",
                  "engines that are all the same"),
    RA_MEANS_LOST(TIME, "megatron-config-path", "off",
                  "one configuration of all roles"),
    RA_MEANS_LOST(TIME, "custom-config-path", "off", "the command line alone"),
    RA_MEANS_LOST(TIME, "update-weight-transport", "nccl",
                  "weights over the network"),
    RA_MEANS_LOST(TIME, "update-weight-mode", "full", "all weights are sent"),
    RA_MEANS_NOTHING("*update-weight*"),
    RA_MEANS_LOST(TIME, "use-routing-replay", "off",
                  "no indices of experts are kept"),
    RA_MEANS_LOST(TIME, "use-rollout-routing-replay", "off",
                  "no indices of experts are sent"),
    RA_MEANS_LOST(TIME, "enable-mtp-training", "off", "no draft layers"),
    RA_MEANS_NOTHING("mtp-*"),
    RA_MEANS(TEXT, "sglang-speculative-algorithm", NULL, draft_method),
    RA_MEANS_CODE("sglang-speculative-num-steps"),
    RA_MEANS_NOTHING("sglang-speculative-*"),
    RA_MEANS_CODE("sglang-enable-dp-attention"),
    RA_MEANS_CODE("sglang-dp-size"),
    RA_MEANS_CODE("sglang-data-parallel-size"),
    RA_MEANS_LOST(TIME, "sglang-moe-dense-tp-size", "off",
                  "dense layers of a MoE over the ranks of attention"),
    RA_MEANS_LOST(TIME, "sglang-enable-deterministic-inference", "off",
                  "the ordinary kernels"),
    RA_MEANS_LOST(TIME, "deterministic-mode", "off", "the ordinary kernels"),
    RA_MEANS_LOST(TIME, "sglang-disable-overlap-schedule", "off",
                  "scheduling overlaps"),
    RA_MEANS_LOST(TIME, "sglang-moe-a2a-backend", "off|none", "all-to-all"),
    RA_MEANS_LOST(TIME, "sglang-disaggregation-mode", "off|null",
                  "prompts and responses on the same GPUs"),
    RA_MEANS_NOTHING("sglang-disaggregation-*"),
    RA_MEANS_LOST(TIME, "moe-enable-deepep", "off", "all-to-all"),
    RA_MEANS_LOST(TIME, "moe-token-dispatcher-type", "alltoall|allgather|off",
                  "all-to-all"),
    RA_MEANS_LOST(TIME, "transformer-impl", "transformer_engine|off",
                  "Transformer Engine"),
    RA_MEANS_CODE("fp8-format"),
    RA_MEANS_CODE("fp8-recipe"),
    RA_MEANS_CODE("fp8-param-gather"),
    RA_MEANS_CODE("first-last-layers-bf16"),
    RA_MEANS_CODE("num-layers-at-*-in-bf16"),
    RA_MEANS_NOTHING("fp8-*"),
    RA_MEANS_LOST(TIME, "fp16", "off", "bf16"),
    RA_MEANS_LOST(TIME, "qkv-format", "thd|off", "no padding"),
    RA_MEANS_LOST(TIME, "overlap-param-gather", "off",
                  "weights are gathered after the step"),
    RA_MEANS_LOST(TIME, "overlap-moe-expert-parallel-comm", "off",
                  "experts' communication is not overlapped"),
    RA_MEANS_LOST(TIME, "tp-comm-overlap", "off",
                  "communication of tensor parallelism is not overlapped"),
    RA_MEANS_LOST(TIME, "no-gradient-accumulation-fusion", "off",
                  "gradients are added in the matrix multiplication"),
    RA_MEANS_LOST(TIME, "allgather-cp", "off", "context parallelism by a ring"),
    RA_MEANS_LOST(TIME, "release-train", "off", "trainers stay"),
    RA_MEANS_LOST(TIME, "megatron-deepgemm-*", "off|1", "bf16"),

    /* Memory. */
    RA_MEANS_LOST(MEMORY, "recompute-method", "uniform|off", "every layer"),
    RA_MEANS_LOST(MEMORY, "recompute-num-layers", "1|off", "every layer"),
    RA_MEANS_LOST(MEMORY, "recompute-modules", "core_attn|off",
                  "recomputation of core attention"),
    RA_MEANS_LOST(MEMORY, "recompute-loss-function", "off|true", NULL),
    RA_MEANS_LOST(MEMORY, "log-probs-chunk-size", "-1", "whole logits"),
    RA_MEANS_CODE("use-precision-aware-optimizer"),
    RA_MEANS_CODE("exp-avg-dtype"),
    RA_MEANS_CODE("exp-avg-sq-dtype"),
    RA_MEANS_LOST(MEMORY, "*-dtype", "fp32|off|auto", NULL),
    RA_MEANS_NOTHING("overlap-cpu-optimizer-d2h-h2d"),
    RA_MEANS_LOST(MEMORY, "use-stateless-adam", "off", "AdamW with its state"),
    RA_MEANS_LOST(MEMORY, "freeze-params-name-list", "off",
                  "all parameters learn"),
    RA_MEANS_LOST(MEMORY, "only-train-params-name-list", "off",
                  "all parameters learn"),
    RA_MEANS_LOST(MEMORY, "sglang-cuda-graph-max-bs", "off",
                  "SGLang's own sizes of graphs"),
    RA_MEANS_LOST(MEMORY, "sglang-cuda-graph-bs", "off",
                  "SGLang's own sizes of graphs"),

    /* Learning. */
    RA_MEANS_LOST(LEARNING, "optimizer", "adam", "AdamW"),
    RA_MEANS_LOST(LEARNING, "num-critic-only-steps", "off",
                  "the actor learns from the first step"),
    RA_MEANS_LOST(LEARNING, "ref-update-interval", "off",
                  "one reference throughout"),

    /* Flags of the model's shape: its configuration has them. */
    RA_MEANS_CODE("num-layers"),
    RA_MEANS_CODE("hidden-size"),
    RA_MEANS_CODE("ffn-hidden-size"),
    RA_MEANS_CODE("num-experts"),
    RA_MEANS_NOTHING("num-attention-heads"),
    RA_MEANS_NOTHING("num-query-groups"),
    RA_MEANS_NOTHING("group-query-attention"),
    RA_MEANS_NOTHING("kv-channels"),
    RA_MEANS_NOTHING("v-head-dim"),
    RA_MEANS_NOTHING("qk-*"),
    RA_MEANS_NOTHING("kv-lora-rank"),
    RA_MEANS_NOTHING("q-lora-rank"),
    RA_MEANS_NOTHING("mscale*"),
    RA_MEANS_NOTHING("multi-latent-attention"),
    RA_MEANS_NOTHING("swiglu"),
    RA_MEANS_NOTHING("spec"),
    RA_MEANS_NOTHING("normalization"),
    RA_MEANS_NOTHING("norm-epsilon"),
    RA_MEANS_NOTHING("apply-layernorm-1p"),
    RA_MEANS_NOTHING("post-*-layernorm"),
    RA_MEANS_NOTHING("rotary-*"),
    RA_MEANS_NOTHING("*rope*"),
    RA_MEANS_NOTHING("use-rotary-position-embeddings"),
    RA_MEANS_NOTHING("*position-embedding*"),
    RA_MEANS_NOTHING("vocab-size"),
    RA_MEANS_NOTHING("padded-vocab-size"),
    RA_MEANS_NOTHING("make-vocab-size-divisible-by"),
    RA_MEANS_NOTHING("untie-embeddings-and-output-weights"),
    RA_MEANS_NOTHING("disable-bias-linear"),
    RA_MEANS_NOTHING("add-qkv-bias"),
    RA_MEANS_NOTHING("attention-output-gate"),
    RA_MEANS_NOTHING("use-gated-attention"),
    RA_MEANS_NOTHING("seq-length"),
    RA_MEANS_NOTHING("moe-*"),

    /* Flags that change none of the three. */
    RA_MEANS_NOTHING("accumulate-allreduce-grads-in-fp32"), /* as of bf16 */
    RA_MEANS_NOTHING("use-distributed-optimizer"), /* slime's own default */
    RA_MEANS_NOTHING("bf16"),
    RA_MEANS_NOTHING("attention-*"),
    RA_MEANS_NOTHING("hidden-dropout"),
    RA_MEANS_NOTHING("no-masked-softmax-fusion"),
    RA_MEANS_NOTHING("no-check-for-nan-in-loss-and-grad"),
    RA_MEANS_NOTHING("enable-experimental"),
    RA_MEANS_NOTHING("lr*"),
    RA_MEANS_NOTHING("min-lr"),
    RA_MEANS_NOTHING("weight-decay"),
    RA_MEANS_NOTHING("adam-*"),
    RA_MEANS_NOTHING("clip-grad"),
    RA_MEANS_NOTHING("eps-clip*"),
    RA_MEANS_NOTHING("value-clip"),
    RA_MEANS_NOTHING("kl-loss-type"),
    RA_MEANS_NOTHING("use-unbiased-kl"),
    RA_MEANS_NOTHING("entropy-coef"),
    RA_MEANS_NOTHING("use-rollout-entropy"),
    RA_MEANS_NOTHING("gamma"),
    RA_MEANS_NOTHING("lambd"),
    RA_MEANS_NOTHING("*normaliz*"),
    RA_MEANS_NOTHING("disable-compute-advantages-and-returns"),
    RA_MEANS_NOTHING("calculate-per-token-loss"),
    RA_MEANS_NOTHING("reset-optimizer-states"),
    RA_MEANS_NOTHING("use-tis"),
    RA_MEANS_NOTHING("tis-clip*"),
    RA_MEANS_NOTHING("use-opsm"),
    RA_MEANS_NOTHING("opsm-delta"),
    RA_MEANS_NOTHING("loss-mask-type"),
    RA_MEANS_NOTHING("data-pad-size-multiplier"),
    RA_MEANS_NOTHING("balance-*"),
    RA_MEANS_NOTHING("rollout-*"),
    RA_MEANS_NOTHING("num-rollout"),
    RA_MEANS_NOTHING("num-epoch"),
    RA_MEANS_NOTHING("start-rollout-id"),
    RA_MEANS_NOTHING("disable-rollout-*"),
    RA_MEANS_NOTHING("*-path"),
    RA_MEANS_NOTHING("prompt-data"),
    RA_MEANS_NOTHING("apply-chat-template*"),
    RA_MEANS_NOTHING("*-key"),
    RA_MEANS_NOTHING("*-keys"),
    RA_MEANS_NOTHING("*eval-*"),
    RA_MEANS_NOTHING("rm-type"),
    RA_MEANS_NOTHING("load*"),
    RA_MEANS_NOTHING("save*"),
    RA_MEANS_NOTHING("no-save-optim"),
    RA_MEANS_NOTHING("async-save"),
    RA_MEANS_NOTHING("ref-load"),
    RA_MEANS_NOTHING("ref-ckpt-step"),
    RA_MEANS_NOTHING("ref-micro-batch-size"),
    RA_MEANS_NOTHING("critic-l*"),
    RA_MEANS_NOTHING("critic-save"),
    RA_MEANS_NOTHING("megatron-to-hf-mode"),
    RA_MEANS_NOTHING("model-name"),
    RA_MEANS_NOTHING("tokenizer-*"),
    RA_MEANS_NOTHING("seed"),
    RA_MEANS_NOTHING("*wandb*"),
    RA_MEANS_NOTHING("*tensorboard*"),
    RA_MEANS_NOTHING("tb-*"),
    RA_MEANS_NOTHING("log-*"),
    RA_MEANS_NOTHING("dump-details"),
    RA_MEANS_NOTHING("*memory-*"),
    RA_MEANS_NOTHING("profile*"),
    RA_MEANS_NOTHING("use-pytorch-profiler"),
    RA_MEANS_NOTHING("ci-*"),
    RA_MEANS_NOTHING("check-weight-update-equal"),
    RA_MEANS_NOTHING("train-env-vars"),
    RA_MEANS_NOTHING("distributed-*"),
    RA_MEANS_NOTHING("use-fault-tolerance"),
    RA_MEANS_NOTHING("http-proxy"),
    RA_MEANS_NOTHING("use-distributed-post"),
    RA_MEANS_NOTHING("fetch-trajectory-retry-times"),
    RA_MEANS_NOTHING("min-batch-collection-ratio"),
    RA_MEANS_NOTHING("sglang-deepep-mode"),
    RA_MEANS_NOTHING("sglang-enable-dp-lm-head"),
    RA_MEANS_NOTHING("sglang-watchdog-timeout"),
    RA_MEANS_NOTHING("sglang-page-size"),
    RA_MEANS_NOTHING("sglang-*-backend"),
    RA_MEANS_NOTHING("sglang-*-parser"),
    RA_MEANS_NOTHING("sglang-mamba-scheduler-strategy"),
    RA_MEANS_NOTHING("sglang-*log*"),
    RA_MEANS_NOTHING("sglang-router-*"),
    RA_MEANS_NOTHING("sglang-context-length"),
    RA_MEANS_NOTHING("sglang-enable-metrics"),
    RA_MEANS_NOTHING("sglang-trust-remote-code"),
};
static const guint n_meanings = G_N_ELEMENTS(meanings);

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
  gboolean both, offload, stays;
  gboolean critic = g_str_equal(recipe->algorithm, "ppo");

  if (!ra_settings_bool(s, "offload", FALSE, &both, error) ||
      !ra_settings_bool(s, "offload-train",
                        both || critic ||
                            (!is_apart && recipe->task == RA_RECIPE_RL),
                        &offload, error) ||
      !ra_settings_bool(s, "no-offload-train", FALSE, &stays, error) ||
      !ra_recipe_optimizer(
          s,
          &(RaRecipeOptimizer){"optimizer-cpu-offload",
                               "optimizer-offload-fraction", 1,
                               "use-precision-aware-optimizer"},
          train, error))
    return FALSE;
  if (train->remainders)
    ra_recipe_moments(s, "exp-avg-dtype", "exp-avg-sq-dtype", train);
  train->host = train->optimizer_host = offload && !stays;
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
  return ra_recipe_fp8(s,
                       &(RaRecipeFp8){.format = "fp8-format",
                                      .recipe = "fp8-recipe",
                                      .params = "fp8-param-gather",
                                      .ends = "first-last-layers-bf16",
                                      .first = "num-layers-at-start-in-bf16",
                                      .last = "num-layers-at-end-in-bf16"},
                       train, error) &&
         read_recompute(train, s, error) && read_chunks(train, s, error) &&
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

/* SGLang's data-parallel attention: an engine of T ranks has D groups of T / D,
 * each with sequences of its own, a D-th of the chunk of prefill, and a part of
 * the experts, which all T ranks share (sglang/srt/server_args.py). */
static gboolean
read_attention_groups(RaRecipe *recipe, RaSettings *s, GError **error)
{
  RaRecipeCall *call = call_of(recipe, RA_RECIPE_GENERATE);
  const char *key = ra_settings_has(s, "sglang-dp-size")
                        ? "sglang-dp-size"
                        : "sglang-data-parallel-size";
  uint32_t n;

  if (!ra_recipe_count(s, key, 1, &n, error))
    return FALSE;
  if (n == 1 || !ra_recipe_is_on(s, "sglang-enable-dp-attention"))
    return TRUE;
  if (call->tp % n != 0)
    return ra_settings_fail(s, key, error,
                            "a divisor of the ranks of an engine");
  if (ra_settings_has(s, "num-experts") && call->ep < n) {
    ra_recipe_note(recipe,
                   "generate: experts over %u groups of ranks, not all of "
                   "them cut over all",
                   n);
    call->ep = n;
    call->etp = call->tp / n;
  }
  call->tp /= n;
  call->max_sequences = MAX(1, call->max_sequences / n);
  call->prefill_tokens = MAX(call->max_sequences, call->prefill_tokens / n);
  return TRUE;
}

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
  if (recipe->draft_method &&
      !ra_recipe_count(s, "sglang-speculative-num-steps", DRAFTS,
                       &recipe->drafts.n_tokens, error))
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
  if (!read_attention_groups(recipe, s, error))
    return FALSE;
  if (call->memory_frac <= 0)
    ra_recipe_note(recipe, "generate: a KV cache in as much memory as "
                           "it needs, as SGLang chooses its fraction itself");
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

/* (nullable): type of the weights of checkpoint @name, where it is not bf16; of
 * int4 the experts alone are (tools/convert_hf_to_int4.py), as in those that
 * Moonshot publishes. */
static const char *
dtype_of(const char *name)
{
  static const struct {
    const char *part, *dtype;
  } names[] = {{"-fp8", "fp8"},
               {"-int4", "int4"},
               {"kimi-k2-thinking", "int4"},
               {"kimi-k2.5", "int4"}};
  g_autofree char *lower = g_ascii_strdown(name, -1);

  if (g_str_has_suffix(lower, "/"))
    lower[strlen(lower) - 1] = '\0';
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    if (g_str_has_suffix(lower, names[i].part))
      return names[i].dtype;
  return NULL;
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

  /* Engines load the checkpoint as it is; Megatron trains its own, in bf16. */
  if (name && !recipe->rollout_dtype)
    recipe->rollout_dtype = g_strdup(dtype_of(name));

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
    .meanings = meanings,
    .n_meanings = &n_meanings,
    .read = read_slime,
};
