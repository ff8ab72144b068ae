/* Keys of frameworks that a tuning may change, and their values. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "study/contest/tune_key.h"

const char *const ra_tune_learning_names[] = {
    "-", "staleness", "mini-batches", "rollout-dtype", "training-dtype", NULL};

#define ACTOR "actor_rollout_ref.actor."
#define ROLLOUT "actor_rollout_ref.rollout."
#define REF "actor_rollout_ref.ref."

/* Degrees of a model trained by Megatron under verl, at @prefix. */
#define MEGATRON(prefix)                                                       \
  {prefix "megatron.tensor_model_parallel_size", RA_TUNE_DEGREE, NULL},        \
      {prefix "megatron.pipeline_model_parallel_size", RA_TUNE_DEGREE, NULL},  \
      {prefix "megatron.context_parallel_size", RA_TUNE_DEGREE, NULL},         \
      {prefix "megatron.expert_model_parallel_size", RA_TUNE_DEGREE, NULL},    \
      {prefix "megatron.expert_tensor_parallel_size", RA_TUNE_DEGREE, NULL},   \
      {prefix "megatron.param_offload", RA_TUNE_SWITCH, NULL},                 \
  {                                                                            \
    prefix "megatron.optimizer_offload", RA_TUNE_SWITCH, NULL                  \
  }

static const RaTuneKey verl[] = {
    {"async_training.staleness_threshold", RA_TUNE_COUNT, NULL},
    {ACTOR "ppo_mini_batch_size", RA_TUNE_COUNT, NULL},
    {"critic.ppo_mini_batch_size", RA_TUNE_COUNT, NULL},
    {ROLLOUT "quantization", RA_TUNE_FP8, "null"},
    {"++" ACTOR "megatron.override_transformer_config.fp8", RA_TUNE_E4M3,
     "null"},
    {ROLLOUT "tensor_model_parallel_size", RA_TUNE_DEGREE, "2"},
    {ROLLOUT "gpu_memory_utilization", RA_TUNE_FRAC, "0.5"},
    {ROLLOUT "max_num_seqs", RA_TUNE_COUNT, "256"},
    {ROLLOUT "max_num_batched_tokens", RA_TUNE_COUNT, "8192"},
    {ROLLOUT "enforce_eager", RA_TUNE_OFF, NULL},
    {ROLLOUT "free_cache_engine", RA_TUNE_SWITCH, NULL},
    {ROLLOUT "log_prob_micro_batch_size_per_gpu", RA_TUNE_COUNT, NULL},
    {ROLLOUT "log_prob_micro_batch_size", RA_TUNE_COUNT, NULL},
    {ROLLOUT "log_prob_max_token_len_per_gpu", RA_TUNE_COUNT, NULL},
    {REF "log_prob_micro_batch_size_per_gpu", RA_TUNE_COUNT, NULL},
    {REF "log_prob_micro_batch_size", RA_TUNE_COUNT, NULL},
    {REF "log_prob_max_token_len_per_gpu", RA_TUNE_COUNT, NULL},
    {REF "fsdp_config.param_offload", RA_TUNE_SWITCH, NULL},
    {REF "ulysses_sequence_parallel_size", RA_TUNE_DEGREE, NULL},
    {ACTOR "ppo_micro_batch_size_per_gpu", RA_TUNE_COUNT, NULL},
    {ACTOR "ppo_micro_batch_size", RA_TUNE_COUNT, NULL},
    {ACTOR "ppo_max_token_len_per_gpu", RA_TUNE_COUNT, NULL},
    {ACTOR "ulysses_sequence_parallel_size", RA_TUNE_DEGREE, "1"},
    {ACTOR "fsdp_config.param_offload", RA_TUNE_SWITCH, NULL},
    {ACTOR "fsdp_config.optimizer_offload", RA_TUNE_SWITCH, NULL},
    {ACTOR "fsdp_config.fsdp_size", RA_TUNE_DEGREE, NULL},
    {"actor_rollout_ref.model.enable_gradient_checkpointing", RA_TUNE_SWITCH,
     "False"},
    MEGATRON(ACTOR),
    MEGATRON(REF),
    {"critic.ppo_micro_batch_size_per_gpu", RA_TUNE_COUNT, NULL},
    {"critic.ppo_max_token_len_per_gpu", RA_TUNE_COUNT, NULL},
    {"critic.forward_micro_batch_size_per_gpu", RA_TUNE_COUNT, NULL},
    {"critic.ulysses_sequence_parallel_size", RA_TUNE_DEGREE, NULL},
    {"critic.model.enable_gradient_checkpointing", RA_TUNE_SWITCH, NULL},
    {"critic.model.fsdp_config.param_offload", RA_TUNE_SWITCH, NULL},
    {"critic.model.fsdp_config.optimizer_offload", RA_TUNE_SWITCH, NULL},
    MEGATRON("critic."),
};

#define VLLM "policy.generation.vllm_cfg."
#define DTENSOR "policy.dtensor_cfg."
#define MCORE "policy.megatron_cfg."

static const RaTuneKey nemo_rl[] = {
    {"grpo.async_grpo.max_trajectory_age_steps", RA_TUNE_COUNT, NULL},
    {"policy.train_global_batch_size", RA_TUNE_COUNT, NULL},
    {VLLM "precision", RA_TUNE_FP8, NULL},
    {VLLM "tensor_parallel_size", RA_TUNE_DEGREE, "1"},
    {VLLM "pipeline_parallel_size", RA_TUNE_DEGREE, NULL},
    {VLLM "expert_parallel_size", RA_TUNE_DEGREE, NULL},
    {VLLM "gpu_memory_utilization", RA_TUNE_FRAC, NULL},
    {VLLM "enforce_eager", RA_TUNE_OFF, NULL},
    {"policy.train_micro_batch_size", RA_TUNE_COUNT, NULL},
    {"policy.logprob_batch_size", RA_TUNE_COUNT, NULL},
    {"policy.dynamic_batching.train_mb_tokens", RA_TUNE_COUNT, NULL},
    {"policy.dynamic_batching.logprob_mb_tokens", RA_TUNE_COUNT, NULL},
    {"policy.sequence_packing.train_mb_tokens", RA_TUNE_COUNT, NULL},
    {"policy.sequence_packing.logprob_mb_tokens", RA_TUNE_COUNT, NULL},
    {DTENSOR "tensor_parallel_size", RA_TUNE_DEGREE, NULL},
    {DTENSOR "context_parallel_size", RA_TUNE_DEGREE, NULL},
    {DTENSOR "sequence_parallel", RA_TUNE_SWITCH, NULL},
    {DTENSOR "activation_checkpointing", RA_TUNE_SWITCH, NULL},
    {DTENSOR "cpu_offload", RA_TUNE_SWITCH, NULL},
    {MCORE "tensor_model_parallel_size", RA_TUNE_DEGREE, NULL},
    {MCORE "pipeline_model_parallel_size", RA_TUNE_DEGREE, NULL},
    {MCORE "context_parallel_size", RA_TUNE_DEGREE, NULL},
    {MCORE "expert_model_parallel_size", RA_TUNE_DEGREE, NULL},
    {MCORE "expert_tensor_parallel_size", RA_TUNE_DEGREE, NULL},
    {"++" MCORE "fp8_cfg.enabled", RA_TUNE_SWITCH, "false"},
    {MCORE "sequence_parallel", RA_TUNE_SWITCH, NULL},
    {MCORE "activation_checkpointing", RA_TUNE_SWITCH, NULL},
};

static const RaTuneKey openrlhf[] = {
    {"train.async_queue_size", RA_TUNE_COUNT, NULL},
    {"async_queue_size", RA_TUNE_COUNT, NULL},
    {"train.batch_size", RA_TUNE_COUNT, NULL},
    {"train_batch_size", RA_TUNE_COUNT, NULL},
    {"vllm.tensor_parallel_size", RA_TUNE_DEGREE, NULL},
    {"vllm.num_engines", RA_TUNE_DEGREE, NULL},
    {"vllm.gpu_memory_utilization", RA_TUNE_FRAC, NULL},
    {"train.micro_batch_size", RA_TUNE_COUNT, NULL},
    {"rollout.micro_batch_size", RA_TUNE_COUNT, NULL},
    {"ds.zero_stage", RA_TUNE_ZERO, NULL},
    {"ds.tensor_parallel_size", RA_TUNE_DEGREE, NULL},
    {"ds.ring_attn_size", RA_TUNE_DEGREE, NULL},
    {"vllm_tensor_parallel_size", RA_TUNE_DEGREE, NULL},
    {"vllm_num_engines", RA_TUNE_DEGREE, NULL},
    {"vllm_gpu_memory_utilization", RA_TUNE_FRAC, NULL},
    {"micro_train_batch_size", RA_TUNE_COUNT, NULL},
    {"micro_rollout_batch_size", RA_TUNE_COUNT, NULL},
    {"zero_stage", RA_TUNE_ZERO, NULL},
    {"ds_tensor_parallel_size", RA_TUNE_DEGREE, NULL},
    {"ring_attn_size", RA_TUNE_DEGREE, NULL},
};

/* Switches of slime have no value that could be replaced, so they stay. */
static const RaTuneKey slime[] = {
    {"global-batch-size", RA_TUNE_COUNT, NULL},
    {"fp8-format", RA_TUNE_E4M3, "null"},
    {"rollout-num-gpus-per-engine", RA_TUNE_DEGREE, "1"},
    {"sglang-ep-size", RA_TUNE_DEGREE, NULL},
    {"sglang-mem-fraction-static", RA_TUNE_FRAC, NULL},
    {"sglang-server-concurrency", RA_TUNE_COUNT, "512"},
    {"sglang-chunked-prefill-size", RA_TUNE_COUNT, "8192"},
    {"tensor-model-parallel-size", RA_TUNE_DEGREE, NULL},
    {"pipeline-model-parallel-size", RA_TUNE_DEGREE, NULL},
    {"context-parallel-size", RA_TUNE_DEGREE, NULL},
    {"expert-model-parallel-size", RA_TUNE_DEGREE, NULL},
    {"expert-tensor-parallel-size", RA_TUNE_DEGREE, NULL},
    {"micro-batch-size", RA_TUNE_COUNT, NULL},
    {"max-tokens-per-gpu", RA_TUNE_COUNT, NULL},
    {"log-probs-max-tokens-per-gpu", RA_TUNE_COUNT, NULL},
};

RaTuneLearning
ra_tune_learns(const char *key)
{
  static const struct {
    const char *end; /* of the key */
    RaTuneLearning learning;
  } ends[] = {{"staleness_threshold", RA_TUNE_STALENESS},
              {"max_trajectory_age_steps", RA_TUNE_STALENESS},
              {"async_queue_size", RA_TUNE_STALENESS},
              {"ppo_mini_batch_size", RA_TUNE_MINI_BATCHES},
              {"train_global_batch_size", RA_TUNE_MINI_BATCHES},
              {"train.batch_size", RA_TUNE_MINI_BATCHES},
              {"train_batch_size", RA_TUNE_MINI_BATCHES},
              {"global-batch-size", RA_TUNE_MINI_BATCHES},
              {"rollout.quantization", RA_TUNE_ROLLOUT_DTYPE},
              {"vllm_cfg.precision", RA_TUNE_ROLLOUT_DTYPE},
              {"override_transformer_config.fp8", RA_TUNE_TRAINING_DTYPE},
              {"fp8_cfg.enabled", RA_TUNE_TRAINING_DTYPE},
              {"fp8-format", RA_TUNE_TRAINING_DTYPE}};

  for (guint i = 0; i < G_N_ELEMENTS(ends); i++)
    if (g_str_has_suffix(key, ends[i].end))
      return ends[i].learning;
  return RA_TUNE_LEARNS_ALIKE;
}

const RaTuneKey *
ra_tune_keys(RaFramework framework, guint *out_n)
{
  *out_n = 0;
  switch (framework) {
  case RA_FRAMEWORK_VERL:
    *out_n = G_N_ELEMENTS(verl);
    return verl;
  case RA_FRAMEWORK_NEMO_RL:
    *out_n = G_N_ELEMENTS(nemo_rl);
    return nemo_rl;
  case RA_FRAMEWORK_OPENRLHF:
    *out_n = G_N_ELEMENTS(openrlhf);
    return openrlhf;
  case RA_FRAMEWORK_SLIME:
    *out_n = G_N_ELEMENTS(slime);
    return slime;
  default:
    return NULL;
  }
}

const char *const *
ra_tune_size_keys(RaFramework framework, gboolean *out_standard)
{
  static const char *const of_verl[] = {"trainer.nnodes", "rollout.nnodes",
                                        ROLLOUT "nnodes", NULL};
  static const char *const of_nemo_rl[] = {
      "cluster.num_nodes", "policy.generation.colocated.resources.num_nodes",
      NULL};
  static const char *const of_openrlhf[] = {"actor.num_nodes",
                                            "critic.num_nodes",
                                            "ref.num_nodes",
                                            "reward.num_nodes",
                                            "vllm.num_engines",
                                            "actor_num_nodes",
                                            "critic_num_nodes",
                                            "ref_num_nodes",
                                            "reward_num_nodes",
                                            "vllm_num_engines",
                                            NULL};
  static const char *const of_slime[] = {"actor-num-nodes", "rollout-num-gpus",
                                         NULL};

  *out_standard = framework != RA_FRAMEWORK_OPENRLHF;
  switch (framework) {
  case RA_FRAMEWORK_VERL:
    return of_verl;
  case RA_FRAMEWORK_NEMO_RL:
    return of_nemo_rl;
  case RA_FRAMEWORK_OPENRLHF:
    return of_openrlhf;
  case RA_FRAMEWORK_SLIME:
    return of_slime;
  default:
    return NULL;
  }
}

static void
add_whole(GPtrArray *out, gint64 value)
{
  if (value >= 1)
    g_ptr_array_add(out, g_strdup_printf("%" G_GINT64_FORMAT, value));
}

GPtrArray *
ra_tune_key_values(const RaTuneKey *key, const char *now)
{
  GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
  gint64 n = g_ascii_strtoll(now, NULL, 10);

  switch (key->kind) {
  case RA_TUNE_SWITCH:
    g_ptr_array_add(
        out, g_strdup(g_ascii_strcasecmp(now, "true") == 0 ? "False" : "True"));
    break;
  case RA_TUNE_OFF:
    if (g_ascii_strcasecmp(now, "true") == 0)
      g_ptr_array_add(out, g_strdup("False"));
    break;
  case RA_TUNE_FRAC:
    for (int tenths = 3; tenths <= 9; tenths++)
      if (abs((int)(10 * g_ascii_strtod(now, NULL) + 0.5) - tenths) == 1 ||
          abs((int)(10 * g_ascii_strtod(now, NULL) + 0.5) - tenths) == 3)
        g_ptr_array_add(out, g_strdup_printf("0.%d", tenths));
    break;
  case RA_TUNE_ZERO:
    for (gint64 stage = 1; stage <= 3; stage++)
      if (stage != n)
        add_whole(out, stage);
    break;
  case RA_TUNE_COUNT:
    add_whole(out, 4 * n);
    G_GNUC_FALLTHROUGH;
  case RA_TUNE_DEGREE:
    add_whole(out, 2 * n);
    if (n % 2 == 0)
      add_whole(out, n / 2);
    break;
  case RA_TUNE_FP8:
    if (g_ascii_strcasecmp(now, "fp8") != 0)
      g_ptr_array_add(out, g_strdup("fp8"));
    break;
  case RA_TUNE_E4M3:
    if (g_ascii_strcasecmp(now, "null") == 0)
      g_ptr_array_add(out, g_strdup("e4m3"));
    break;
  case RA_TUNE_WHOLE:
    break;
  }
  return out;
}
