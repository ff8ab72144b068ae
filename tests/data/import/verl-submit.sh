#!/bin/bash
# Written for the tests, in the form of recipes that are submitted to ray:
# nested defaults, arithmetic, a usage check, a function, a loop.
if [ $# -gt 3 ]; then
  echo "usage: $0 [NAME]"
  exit 1
fi
HERE="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"
RAY_DATA_HOME=${RAY_DATA_HOME:-"${HOME}/verl"}
MODEL_PATH=${MODEL_PATH:-"${RAY_DATA_HOME}/models/Qwen2.5-32B"}
NNODES=${NNODES:-4}
sp=4
max_prompt=$((1024 * 2))
max_response=$((1024 * 20))
tokens=$(((max_prompt + max_response) / sp))
offload=True

args=""
add() {
  local key=$1 value=$2
  args="$args actor_rollout_ref.${key}=${value}"
}
for role in actor ref; do
  add $role.ulysses_sequence_parallel_size $sp
  add $role.fsdp_config.param_offload ${offload,,}
done
add rollout.tensor_model_parallel_size 4
[[ $MODEL_PATH == *32B ]] && add rollout.gpu_memory_utilization 0.8

ray job submit --no-wait --runtime-env="${RUNTIME_ENV:-"${HERE}/env.yaml"}" \
  --working-dir "${WORKING_DIR:-"${PWD}"}" \
  -- python3 -m verl.trainer.main_ppo \
  algorithm.adv_estimator=grpo \
  data.train_files="${TRAIN_FILE:-"${RAY_DATA_HOME}/data/a.parquet"}" \
  data.train_batch_size=512 \
  data.max_prompt_length=${max_prompt} \
  data.max_response_length=${max_response} \
  actor_rollout_ref.model.path="${MODEL_PATH}" \
  actor_rollout_ref.actor.ppo_mini_batch_size=32 \
  actor_rollout_ref.actor.use_dynamic_bsz=True \
  actor_rollout_ref.actor.ppo_max_token_len_per_gpu=${tokens} \
  actor_rollout_ref.rollout.name=vllm \
  actor_rollout_ref.rollout.n=16 \
  $args \
  trainer.n_gpus_per_node=8 \
  trainer.nnodes="${NNODES}"
