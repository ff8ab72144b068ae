#!/usr/bin/env bash
# Written for the tests, in the form of verl's examples of 2026: arrays, a
# branch by device, a launcher in an array.
set -xeuo pipefail

DEVICE=${DEVICE:-$(python3 -c 'import torch_npu' 2>/dev/null && echo npu || echo gpu)}
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen2.5-7B-Instruct}
NNODES=${NNODES:-2}
INFER_BACKEND=${INFER_BACKEND:-vllm}
rollout_tp=${ROLLOUT_TP:-2}
train_files="['${DATA:-$HOME/data}/a.parquet', '${DATA:-$HOME/data}/b.parquet']"

case "${DEVICE}" in
  gpu)
    NGPUS=8
    MICRO=16
    ;;
  npu)
    NGPUS=16
    MICRO=8
    ;;
  *)
    echo "unknown device ${DEVICE}" >&2
    exit 1
    ;;
esac

DATA_ARGS=(
  algorithm.adv_estimator=grpo
  data.train_files="$train_files"
  data.train_batch_size=$((NNODES * 256))  # 512
  data.max_prompt_length=$((1024 * 1))
  data.max_response_length=$((1024 * 2))
)
ACTOR=(
  actor_rollout_ref.model.path="$MODEL_PATH"
  actor_rollout_ref.actor.ppo_mini_batch_size=128
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=${MICRO}
  actor_rollout_ref.actor.use_kl_loss=True
)
ROLLOUT=(
  actor_rollout_ref.rollout.name=${INFER_BACKEND}
  actor_rollout_ref.rollout.tensor_model_parallel_size=${rollout_tp}
  actor_rollout_ref.rollout.gpu_memory_utilization=0.6
  actor_rollout_ref.rollout.n=8
  actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=${MICRO}
)
ROLLOUT+=(actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu="${REF_MICRO:-"${MICRO}"}")
TRAINER=(
  trainer.logger='["console","wandb"]'
  trainer.n_gpus_per_node=${NGPUS}
  trainer.nnodes=${NNODES}
)
EXTRA=(
)
LAUNCH=(python3)
if [ "${USE_UV:-1}" != 0 ] && [ "${DEVICE}" = gpu ]; then
  LAUNCH=(uv run --frozen --extra "${INFER_BACKEND}" --extra fsdp python3)
fi
"${LAUNCH[@]}" -m verl.trainer.main_ppo \
  "${DATA_ARGS[@]}" "${ACTOR[@]}" "${ROLLOUT[@]}" "${TRAINER[@]}" \
  "${EXTRA[@]}" "$@"
