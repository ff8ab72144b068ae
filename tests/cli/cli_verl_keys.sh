#!/bin/bash
# No key of verl is dropped in silence: each of these changes, one at a time, is
# in the files that import writes, has a row of its table that names the key, is
# refused, or is known to change nothing, for the reason that stands there.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

fsdp="@.model.path=Qwen/Qwen3-8B trainer.nnodes=2 trainer.n_gpus_per_node=8
 data.train_batch_size=256 data.max_prompt_length=512
 data.max_response_length=1024 @.rollout.n=8 @.rollout.name=vllm
 @.rollout.tensor_model_parallel_size=2 algorithm.adv_estimator=grpo
 @.actor.use_kl_loss=True @.actor.ppo_mini_batch_size=64
 @.actor.ppo_micro_batch_size_per_gpu=4
 @.rollout.log_prob_micro_batch_size_per_gpu=8
 @.ref.log_prob_micro_batch_size_per_gpu=8"
meg="$fsdp model_engine=megatron
 @.actor.megatron.tensor_model_parallel_size=2"
# shellcheck disable=SC2034  # read by name
moe=${meg/Qwen3-8B/Qwen3-30B-A3B}
# shellcheck disable=SC2034
ppo="${fsdp/=grpo/=gae} critic.model.path=Qwen/Qwen3-8B
 critic.ppo_micro_batch_size_per_gpu=4"

# Imports the base with CHANGES; "@" is actor_rollout_ref.
import() { # BASE CHANGES
  local base=${!1}
  echo "python3 -m verl.trainer.main_ppo ${base//$'\n'/} $2" |
    sed 's/@\./actor_rollout_ref./g' >x.sh
  rm -f x.plan x.workload x.cluster
  "$reallot" import x.sh -o . --format=tsv >out 2>err
}
files() { cat x.plan x.workload x.cluster 2>/dev/null | grep -v '^#'; }

# The outcome of CHANGES: refused, taken, told, unknown or same.
outcome() { # BASE CHANGES
  import "$1" "$2" || { echo refused; return; }
  files | cmp -s - "base.$1" || { echo taken; return; }
  for change in ${2//@./actor_rollout_ref.}; do
    change=${change#+}
    cut -f 4 out | grep -qxF "${change%%=*}" && { echo told; return; }
  done
  grep -q '^unknown' out && { echo unknown; return; }
  echo same
}

for base in fsdp meg moe ppo; do
  import $base ""
  files >base.$base
  [ -s base.$base ] && ! grep -q '^unknown' out
  result $? "base $base is imported, all its keys known"
done
while IFS=$'\t' read -r base changes want; do
  got=$(outcome "$base" "$changes")
  [ "$got" = "${want%%:*}" ]
  result $? "$base, $changes: $want"
  [ "$got" = "${want%%:*}" ] || echo "# it is '$got'"
done <<'END'
fsdp	data.train_batch_size=512	taken
fsdp	data.gen_batch_size=1536	told
fsdp	@.rollout.n=16	taken
fsdp	@.actor.ppo_mini_batch_size=128	taken
fsdp	@.actor.ppo_micro_batch_size_per_gpu=2	taken
fsdp	@.actor.use_dynamic_bsz=True @.actor.ppo_max_token_len_per_gpu=24576	taken
fsdp	@.rollout.log_prob_use_dynamic_bsz=True @.rollout.log_prob_max_token_len_per_gpu=24576	taken
fsdp	data.max_prompt_length=1024	taken
fsdp	data.max_response_length=2048	taken
fsdp	@.rollout.tensor_model_parallel_size=4	taken
fsdp	@.rollout.data_parallel_size=2	same: engines of dense models are alike
fsdp	@.rollout.expert_parallel_size=2	refused
fsdp	@.rollout.pipeline_model_parallel_size=2	taken
fsdp	@.actor.ulysses_sequence_parallel_size=2	taken
fsdp	@.actor.fsdp_config.ulysses_sequence_parallel_size=2	taken
fsdp	@.actor.fsdp_config.param_offload=True	taken
fsdp	@.actor.fsdp_config.optimizer_offload=True	taken
fsdp	@.actor.fsdp_config.offload_policy=True	told
fsdp	@.actor.fsdp_config.fsdp_size=8	taken
fsdp	@.actor.fsdp_config.reshard_after_forward=False	taken
fsdp	@.actor.fsdp_config.model_dtype=bfloat16	taken
fsdp	@.actor.fsdp_config.forward_prefetch=True	taken
fsdp	@.ref.fsdp_config.reshard_after_forward=False	taken
fsdp	@.ref.fsdp_config.param_offload=True	same: a reference under FSDP rests on the host
fsdp	@.rollout.gpu_memory_utilization=0.8	taken
fsdp	@.rollout.max_num_seqs=64	taken
fsdp	@.rollout.max_num_batched_tokens=32768	taken
fsdp	@.rollout.enforce_eager=True	taken
fsdp	@.rollout.free_cache_engine=False	told
fsdp	@.rollout.enable_prefix_caching=False	taken
fsdp	@.rollout.enable_chunked_prefill=False	told
fsdp	@.rollout.dtype=float16	same: as many bytes as bf16
fsdp	@.rollout.quantization=fp8	taken
fsdp	@.rollout.quantization=torchao	same: bf16, which a note says
fsdp	+@.rollout.engine_kwargs.vllm.kv_cache_dtype=fp8	taken
fsdp	@.rollout.max_model_len=1024	told
fsdp	@.rollout.mode=async	same: the default
fsdp	@.hybrid_engine=False	told
fsdp	rollout.nnodes=1 rollout.n_gpus_per_node=8	same: main_ppo shares the GPUs
fsdp	async_training.staleness_threshold=0.5 async_training.trigger_parameter_sync_step=4	refused
fsdp	trainer.v1.trainer_mode=fully_async	told
fsdp	@.model.lora_rank=32	taken
fsdp	@.model.lora.rank=32	taken
fsdp	@.model.enable_gradient_checkpointing=False	taken
fsdp	@.model.enable_activation_offload=True	told
fsdp	@.model.use_remove_padding=False	taken
fsdp	@.model.use_fused_kernels=True	told
fsdp	@.model.override_config.num_hidden_layers=2	told
fsdp	+@.model.override_config.model_config.num_hidden_layers=2	told
fsdp	@.actor.use_kl_loss=False	taken
fsdp	algorithm.use_kl_in_reward=True @.actor.use_kl_loss=False	same: a reference either way
fsdp	algorithm.adv_estimator=gae	taken
fsdp	algorithm.adv_estimator=rloo	taken
fsdp	algorithm.adv_estimator=remax	taken
fsdp	algorithm.adv_estimator=reinforce_plus_plus	taken
fsdp	algorithm.filter_groups.enable=True algorithm.filter_groups.max_num_gen_batches=10	taken
fsdp	algorithm.rollout_correction.bypass_mode=True	taken
fsdp	@.rollout.calculate_log_probs=True	same: the engine has them
fsdp	@.actor.ppo_epochs=2	taken
fsdp	@.actor.entropy_from_logits_with_chunking=True	same: no second logits are kept here
fsdp	@.actor.use_torch_compile=False	told
fsdp	@.rollout.multi_turn.enable=True @.rollout.multi_turn.max_assistant_turns=5	taken
fsdp	@.rollout.agent.num_workers=4	same: processes of the host
fsdp	reward_model.enable=True reward_model.model.path=Qwen/Qwen3-8B reward_model.micro_batch_size_per_gpu=8	taken
fsdp	reward.reward_model.enable=True reward.reward_model.model_path=Qwen/Qwen3-8B	taken
fsdp	reward_model.launch_reward_fn_async=True	same: rules take no time
fsdp	trainer.balance_batch=True	same: the default
fsdp	trainer.n_gpus_per_node=4	taken
fsdp	trainer.nnodes=4	taken
fsdp	trainer.device=npu	told
fsdp	@.actor.strategy=fsdp2	same: the same shards
fsdp	@.actor.strategy=veomni	same: the same shards of a dense model
fsdp	model_engine=megatron	taken
meg	+@.actor.megatron.override_transformer_config.fp8=e4m3	taken
meg	+@.actor.megatron.override_transformer_config.fp8_recipe=blockwise	same: nothing is in fp8
meg	+@.actor.megatron.override_transformer_config.fp8=e5m2	refused
meg	+@.actor.megatron.override_transformer_config.first_last_layers_bf16=True	same: nothing is in fp8
fsdp	@.model.mtp.enable=True	told
fsdp	@.model.mtp.enable_train=True	told
fsdp	@.model.mtp.enable_rollout=True	taken
fsdp	+@.rollout.engine_kwargs.vllm.speculative_config.num_speculative_tokens=2	taken
fsdp	@.rollout.prefill_micro_batch=1	unknown
fsdp	@.rollout.name=trtllm	told
fsdp	@.rollout.name=hf	taken
fsdp	@.actor.optim.optimizer=Muon	told
fsdp	@.actor.checkpoint.async_save=True trainer.save_freq=1	same: no checkpoints in an iteration
fsdp	trainer.test_freq=1	same: no validation in an iteration
fsdp	trainer.critic_warmup=10	told
fsdp	distillation.enabled=True	told
meg	@.actor.megatron.tensor_model_parallel_size=4	taken
meg	@.actor.megatron.pipeline_model_parallel_size=2	taken
meg	@.actor.megatron.pipeline_model_parallel_size=2 @.actor.megatron.virtual_pipeline_model_parallel_size=2	taken
meg	@.actor.megatron.context_parallel_size=2	taken
moe	@.actor.megatron.expert_model_parallel_size=8	taken
moe	@.actor.megatron.expert_model_parallel_size=16 @.actor.megatron.expert_tensor_parallel_size=1	taken
moe	@.actor.megatron.expert_tensor_parallel_size=1	taken
meg	@.actor.megatron.sequence_parallel=False	taken
meg	@.actor.megatron.param_offload=True	taken
meg	@.actor.megatron.grad_offload=True	taken
meg	@.actor.megatron.optimizer_offload=True	taken
meg	@.actor.megatron.use_distributed_optimizer=False	told
meg	+@.actor.megatron.override_transformer_config.recompute_granularity=full	taken
meg	+@.actor.megatron.override_transformer_config.num_layers_in_first_pipeline_stage=11	same: one stage
meg	+@.actor.optim.override_optimizer_config.optimizer_cpu_offload=True	told
meg	+@.actor.optim.override_optimizer_config.optimizer_cpu_offload=True +@.actor.optim.override_optimizer_config.optimizer_offload_fraction=1	taken
meg	+@.actor.optim.override_optimizer_config.use_precision_aware_optimizer=True	taken
meg	@.actor.megatron.use_megatron_fsdp=True	told
meg	@.model.enable_gradient_checkpointing=False	same: Megatron does not read it
meg	@.actor.megatron.override_ddp_config.overlap_grad_reduce=True	taken
ppo	critic.ppo_mini_batch_size=128	taken
ppo	critic.ppo_epochs=2	told
ppo	critic.model.fsdp_config.param_offload=True	taken
ppo	critic.fsdp.param_offload=True	taken
ppo	critic.enable=False	taken
ppo	critic.ulysses_sequence_parallel_size=2	taken
ppo	trainer.critic_warmup=100	told
fsdp	@.rollout.dtype=float32	told
fsdp	trainer.balance_batch=False	told
fsdp	@.rollout.max_model_len=4096	same: longer than both together
meg	@.actor.megatron.grad_offload=True @.actor.megatron.param_offload=True	taken
fsdp	trainer.val_only=True	refused
END

# The oracle tells a key that is dropped: one that import cannot know.
[ "$(outcome fsdp "@.actor.no_such_key=1")" = unknown ]
result $? "a key that does not exist is told as unknown"
[ "$(outcome fsdp "@.rollout.n=8")" = same ]
result $? "a key that is set again as it is changes nothing"

echo "1..$n"
