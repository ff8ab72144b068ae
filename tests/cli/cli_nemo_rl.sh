#!/bin/bash
# Configurations of NeMo-RL come in: each key that decides time, memory or
# learning is in the plan, or is a line that says what is lost.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

cp "$srcdir/tests/data/import/nemo-rl.yaml" .

# `a.b.c=value` as YAML.
nested() {
  local indent='' key=${1%%=*}
  while [ "$key" != "${key#*.}" ]; do
    echo "$indent${key%%.*}:"
    key=${key#*.}
    indent="$indent  "
  done
  echo "$indent$key: ${1#*=}"
}
# Imports BASE with some keys changed, as x.
import() { # BASE KEY=VALUE... [-- ARGUMENT...]
  local base=$1 i=0
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    i=$((i + 1))
    { echo "defaults: $base" && nested "$1"; } >"change$i.yaml"
    base=change$i.yaml
    shift
  done
  [ $# -gt 0 ] && shift
  echo "defaults: $base" >x.yaml
  run import x.yaml -o . --force --format=tsv --all "$@"
}
# The value of KEY of CALL in the plan; of [workload] in the workload.
value() { # CALL KEY
  awk -v group="[$1]" -v key="$2" '$0 ~ /^\[/ { on = $0 == group }
    on && $1 == key { print $3 }' x.plan x.workload
}
is() { # CALL KEY WANTED: "" means that the key is not there
  [ "$rc" -eq 0 ] && [ "$(value "$1" "$2")" = "$3" ]
  result $? "[$1] $2 = $3"
  [ "$(value "$1" "$2")" = "$3" ] || echo "# is '$(value "$1" "$2")': $(cat err)"
}
longest() { # prompt|response TOKENS
  [ "$rc" -eq 0 ] && grep -q "^$1-length = .*[( ]$2)\$" x.workload
  result $? "the longest $1 has $2 tokens"
}
calls() { # WANTED WHAT
  [ "$(sed -n 's/^\[call \(.*\)\]/\1/p' x.plan | sort | tr '\n' ' ')" = "$1" ]
  result $? "$2"
}
simulates() { # WHAT (exit 1: it does not fit, which is an answer)
  run simulate x.plan -n 1 --fidelity=call
  [ "$rc" -le 1 ] && [ ! -s err ]
  result $? "$1 is simulated"
}
lost() { # EFFECT KEY: the row of a key that has no place in a plan
  grep -q "^lost	$1	[^	]*	$2	" out
  result $? "$2 is lost: $1"
}
refuses() { # MESSAGE WHAT
  [ "$rc" -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$1" err
  result $? "$2 is refused by name"
}

import nemo-rl.yaml
! grep -q -e '^lost' -e '^unknown' out && [ "$rc" -eq 0 ]
result $? "what is off, or not used, is no line"
calls 'actor_generate actor_inference actor_train ref_inference reward ' \
  "calls of GRPO with a reference"
# 16 GPUs / (2 x 2 x 2) = 2 replicas; 64 x 8 / 256 = 2 steps.
is 'call actor_train' dp 2
is 'call actor_train' cp 2
is 'call actor_train' zero 1
is workload mini-batches 2
# 4,096 tokens of which 3,072 are generated.
longest prompt 1024
longest response 3072
# 512 / 2 / 2 = 128 sequences of 1,024 + 262 x 3^0.65 = 1,559 tokens in the
# mean fill 24.4 times 8,192; 256 as often 16,384.
is 'call actor_train' micro-batches 25
is 'call actor_inference' micro-batches 25
is 'call actor_train' balance tokens
# use_precision_aware_optimizer is on.
is 'call actor_train' master-weights remainders
# 16 / 4 engines; 0.6 x 80 GiB = 49,152 MiB less 8.03e9 x 2 B / 4 = 3,829 MiB,
# less the largest step: 16,384 tokens of an MLP, 16,384 x (2 x 14,336 / 4 + 2 x
# 4,096) x 2 B = 480 MiB at least, and 1,024 rows of logits.
is 'call actor_generate' dp 4
cache() { # MOST_MIB: less a step of 480 MiB to 1 GiB
  local mib
  mib=$(value 'call actor_generate' kv-memory)
  [ "${mib:-0}" -le $(($1 - 480)) ] && [ "${mib:-0}" -ge $(($1 - 1024)) ]
  result $? "the cache is what weights and a step leave of $1 MiB"
}
cache 45323
is 'call actor_generate' max-sequences 1024
is 'call actor_generate' prefix-sharing true
is 'call actor_generate' launch graph
# Its optimizer is on the host while engines generate; its gradients are bf16.
is 'call actor_train' optimizer-residency host
is 'call ref_inference' residency host
is 'call actor_train' grad-dtype ''
is 'call actor_train' overlap-grad-reduce true
simulates "the base"

# Which calls there are (nemo_rl/algorithms/grpo.py).
import nemo-rl.yaml loss_fn.reference_policy_kl_penalty=0
calls 'actor_generate actor_inference actor_train reward ' \
  "no divergence, no reference"
import nemo-rl.yaml loss_fn.force_on_policy_ratio=true \
  policy.train_global_batch_size=512
calls 'actor_generate actor_train ref_inference reward ' \
  "on policy by force, no log-probabilities of the actor"
import nemo-rl.yaml loss_fn.force_on_policy_ratio=true \
  policy.train_global_batch_size=512 grpo.seq_logprob_error_threshold=2
calls 'actor_generate actor_inference actor_train ref_inference reward ' \
  "unless a threshold needs them"

# Micro-batches.  512 + 512 tokens, 8 a micro-batch: 128 / 8; the longest may
# have 4,096.
import nemo-rl.yaml -- --prompt-length='fixed(512)' --response-length='fixed(512)'
is 'call actor_train' micro-batches 16
# 128 of 1,559 tokens fill 12.2 times 16,384.
import nemo-rl.yaml policy.sequence_packing.enabled=false \
  policy.dynamic_batching.enabled=true
is 'call actor_train' micro-batches 13
import nemo-rl.yaml policy.sequence_packing.enabled=false
is 'call actor_inference' micro-batches 64
import nemo-rl.yaml data.max_input_seq_length=512
is workload prompt-length 'fixed(512)'

# Megatron.  32 layers on 4 stages, 7 at either end: (32 - 14) / 2 = 9.
import nemo-rl.yaml policy.megatron_cfg.pipeline_model_parallel_size=4 \
  policy.megatron_cfg.num_layers_in_first_pipeline_stage=7 \
  policy.megatron_cfg.num_layers_in_last_pipeline_stage=7
is 'call actor_train' stage-layers 7,9,9,7
import nemo-rl.yaml policy.megatron_cfg.virtual_pipeline_model_parallel_size=2
is 'call actor_train' schedule interleaved:2
import nemo-rl.yaml policy.megatron_cfg.activation_checkpointing=true
is 'call actor_train' recompute full
import nemo-rl.yaml policy.megatron_cfg.activation_checkpointing=true \
  policy.megatron_cfg.recompute_granularity=selective
is 'call actor_train' recompute selective
import nemo-rl.yaml \
  policy.megatron_cfg.optimizer.use_distributed_optimizer=false \
  policy.megatron_cfg.distributed_data_parallel_config.grad_reduce_in_fp32=true \
  policy.megatron_cfg.distributed_data_parallel_config.overlap_grad_reduce=false
is 'call actor_train' zero ''
is 'call actor_train' grad-dtype fp32
is 'call actor_train' overlap-grad-reduce ''
import nemo-rl.yaml policy.megatron_cfg.peft.enabled=true \
  policy.megatron_cfg.peft.target_modules='[linear_qkv, linear_fc2]'
is 'model actor' lora-rank 8
grep -qx 'lora-targets = q, k, v, down' x.workload
result $? "Megatron's names of matrices"

# DTensor: FSDP2, whose gradients are fp32.
fsdp=(policy.megatron_cfg.enabled=false policy.dtensor_cfg.enabled=true)
import nemo-rl.yaml "${fsdp[@]}" policy.dtensor_cfg.context_parallel_size=2
is 'call actor_train' zero 3
is 'call actor_train' dp 8
is 'call actor_train' grad-dtype fp32
# 16 replicas in 2 copies: groups of 8.
import nemo-rl.yaml "${fsdp[@]}" policy.dtensor_cfg.dp_replicate_size=2
is 'call actor_train' zero-group 8
import nemo-rl.yaml "${fsdp[@]}" policy.dtensor_cfg.cpu_offload=true
is 'call actor_train' residency host
is 'call actor_train' optimizer-residency host
import nemo-rl.yaml "${fsdp[@]}" policy.dtensor_cfg.lora_cfg.enabled=true \
  policy.dtensor_cfg.lora_cfg.dim=128
is 'model actor' lora-rank 128
! grep -q allocator-slack x.cluster
result $? "segments are fixed"
import nemo-rl.yaml "${fsdp[@]}" \
  policy.dtensor_cfg.env_vars.PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
grep -qx 'allocator-slack = 0' x.cluster
result $? "expandable segments leave no slack"
# Moments of Transformer Engine's FusedAdam: 16 bits if both have them.
kwargs=policy.optimizer.kwargs
import nemo-rl.yaml "${fsdp[@]}" $kwargs.exp_avg_dtype=torch.bfloat16 \
  $kwargs.exp_avg_sq_dtype=torch.bfloat16
is 'call actor_train' moments-dtype bf16
import nemo-rl.yaml "${fsdp[@]}" $kwargs.exp_avg_dtype=torch.bfloat16
is 'call actor_train' moments-dtype ''
grep -q 'both moments in fp32' out
result $? "one moment of 16 bits is told"
moe=policy.model_name=Qwen/Qwen3-30B-A3B
import nemo-rl.yaml "${fsdp[@]}" $moe policy.dtensor_cfg.expert_parallel_size=8
is 'call actor_train' ep 8
is 'call actor_train' zero 3
is 'call actor_train' zero-group ''
import nemo-rl.yaml "${fsdp[@]}" $moe policy.dtensor_cfg.expert_parallel_size=8 \
  policy.dtensor_cfg.dp_replicate_size=2
is 'call actor_train' zero 3
grep -q 'not sets of 8, beside experts' out
result $? "copies of shards beside experts are told"
import nemo-rl.yaml "${fsdp[@]}" $moe policy.dtensor_cfg.expert_parallel_size=8 \
  policy.dtensor_cfg.tensor_parallel_size=8 cluster.num_nodes=1 \
  policy.dtensor_cfg.sequence_parallel=true
is 'call actor_train' dp 1
is 'call actor_train' zero 1

# Generation.
import nemo-rl.yaml policy.generation.vllm_cfg.async_engine=true \
  policy.generation.vllm_cfg.enforce_eager=true \
  policy.generation.vllm_cfg.enable_prefix_caching=false
is 'call actor_generate' max-sequences 128
is 'call actor_generate' prefill-tokens 2048
is 'call actor_generate' launch ''
is 'call actor_generate' prefix-sharing ''
import nemo-rl.yaml policy.generation.vllm_kwargs.max_num_seqs=64 \
  policy.generation.vllm_kwargs.max_num_batched_tokens=4096 \
  policy.generation.vllm_kwargs.kv_cache_memory_bytes=1073741824
is 'call actor_generate' max-sequences 64
is 'call actor_generate' prefill-tokens 4096
is 'call actor_generate' kv-memory 1024
import nemo-rl.yaml $moe policy.megatron_cfg.tensor_model_parallel_size=1 \
  policy.megatron_cfg.expert_model_parallel_size=4 \
  policy.megatron_cfg.moe_token_dispatcher_type=flex \
  policy.generation.vllm_cfg.tensor_parallel_size=1 \
  policy.generation.vllm_cfg.expert_parallel_size=8
is 'call actor_generate' ep 8
is 'call actor_train' ep 4
is 'call actor_train' dispatch once
# Megatron's engine has the policy's degrees, and a cache in GiB.
import nemo-rl.yaml policy.generation.backend=megatron
is 'call actor_generate' tp 2
is 'call actor_generate' pp 2
is 'call actor_generate' kv-memory 20480
import nemo-rl.yaml policy.generation.backend=megatron \
  policy.generation.mcore_generation_config.tensor_model_parallel_size=8 \
  policy.generation.mcore_generation_config.pipeline_model_parallel_size=1
is 'call actor_generate' dp 2
is 'call actor_generate' prefill-tokens 4096
import nemo-rl.yaml policy.generation.backend=sglang \
  policy.generation.sglang_cfg.tp_size=2 \
  policy.generation.sglang_cfg.mem_fraction_static=0.5
# 40,960 MiB less 15,317 / 2.
cache 33302
import nemo-rl.yaml policy.generation.backend=trtllm \
  policy.generation.trtllm_cfg.tensor_parallel_size=2 \
  policy.generation.trtllm_cfg.max_batch_size=32
is 'call actor_generate' max-sequences 32
import nemo-rl.yaml policy.generation.backend=dynamo
is 'call actor_generate' dp 4
import nemo-rl.yaml policy.generation.backend=hf
refuses "expected vllm, dynamo, sglang, trtllm or megatron" "another back end"

# GPUs of its own: the second node; or the second half of one.
apart=policy.generation.colocated.enabled=false
own=policy.generation.colocated.resources
import nemo-rl.yaml $apart $own.num_nodes=1 $own.gpus_per_node=8
is 'call actor_train' mesh node0
is 'call actor_generate' mesh node1
is 'call actor_train' optimizer-residency ''
import nemo-rl.yaml $apart $own.gpus_per_node=4 cluster.num_nodes=1 \
  policy.megatron_cfg.context_parallel_size=1
is 'call actor_train' mesh 'node0:gpu[0-3]'
is 'call actor_generate' mesh 'node0:gpu[4-7]'
import nemo-rl.yaml $apart $own.num_nodes=2 $own.gpus_per_node=8
refuses "num_nodes' is '2', expected some GPUs" "a cluster that only generates"

# Nodes of 4 GPUs are trays of GB200 (tests/test_suites/README.md), which NVLink
# joins: 4 trays, or 2 segments of 2; with engines on one of 3, singly.
trays=(cluster.num_nodes=4 cluster.gpus_per_node=4)
node() { # COUNT GPUS WHAT: of the cluster
  grep -qx "nodes = $1" x.cluster &&
    grep -qx "gpus-per-node = $2" x.cluster
  result $? "$3: $1 nodes of $2 GPUs"
}
import nemo-rl.yaml "${trays[@]}"
node 1 16 "trays in a rack"
grep -qx 'gpu = gb200' x.cluster
result $? "whose GPU is GB200"
# What goes back has trays again, as has verl's.
run export x.plan --to=nemo-rl
grep -q 'cluster.num_nodes=4' out && grep -q 'cluster.gpus_per_node=4' out
result $? "exported as trays"
run export x.plan --to=verl
grep -q 'trainer.nnodes=4' out && grep -q 'trainer.n_gpus_per_node=4' out
result $? "and for verl"
import nemo-rl.yaml "${trays[@]}" cluster.segment_size=2
node 2 8 "segments"
import nemo-rl.yaml "${trays[@]}" -- --gpu=h100-sxm
node 4 4 "other GPUs"
import nemo-rl.yaml "${trays[@]}" $apart $own.num_nodes=2 $own.gpus_per_node=4
node 2 8 "pools"
import nemo-rl.yaml "${trays[@]}" cluster.num_nodes=3 $apart \
  $own.num_nodes=1 $own.gpus_per_node=4
node 3 4 "pools of 2 trays and 1"

# Ahead of training.
ahead=("$apart" "$own.num_nodes=1" "$own.gpus_per_node=8"
  grpo.async_grpo.enabled=true)
import nemo-rl.yaml "${ahead[@]}" grpo.async_grpo.max_trajectory_age_steps=2
is workload staleness 2
is 'call actor_generate' service drain
simulates "a service"
import nemo-rl.yaml "${ahead[@]}" grpo.async_grpo.in_flight_weight_updates=true
is 'call actor_generate' service in-flight
import nemo-rl.yaml "${ahead[@]}" grpo.async_grpo.in_flight_weight_updates=true \
  grpo.async_grpo.recompute_kv_cache_after_weight_updates=true
is 'call actor_generate' service interrupt
import nemo-rl.yaml $apart $own.num_nodes=1 $own.gpus_per_node=8 \
  grpo.async_grpo=null async_rl.sampler.max_lookahead_versions=3
is workload staleness 3

# Trips and turns: 1.5 x 64 prompts a trip.
import nemo-rl.yaml grpo.use_dynamic_sampling=true grpo.batch_multiplier=1.5
is workload trip-prompts 96
is workload max-trips 10
simulates "dynamic sampling"
# Weights of a call of each trip are not sent to the host, nor those of a call
# with its layout.
import nemo-rl.yaml grpo.use_dynamic_sampling=true cluster.num_nodes=1 \
  policy.megatron_cfg.pipeline_model_parallel_size=1 \
  policy.megatron_cfg.context_parallel_size=1 \
  policy.generation.vllm_cfg.tensor_parallel_size=2
is 'call actor_generate' residency ''
is 'call actor_train' residency ''
import nemo-rl.yaml grpo.max_rollout_turns=4
is workload turns 'fixed(4)'

# A reward model on the GPUs of training.
import nemo-rl.yaml env.reward_model.model_name=meta-llama/Llama-3.1-8B \
  env.reward_model.resources.num_nodes=1 \
  env.reward_model.resources.gpus_per_node=8
is 'call reward_inference' mesh node0
grep -q '^approximated.*env.reward_model.resources' out
result $? "and it is said that it shares them"

# Engines with 8-bit weights and caches.
import nemo-rl.yaml policy.generation.vllm_cfg.precision=fp8 \
  policy.generation.vllm_cfg.kv_cache_dtype=fp8
is 'call actor_generate' dtype fp8
is 'call actor_generate' kv-dtype fp8

# Linear layers in fp8, of all calls of the policy: what the base has where a
# recipe only turns it on, and what it says.
import nemo-rl.yaml policy.megatron_cfg.fp8_cfg.enabled=true
for call in actor_train actor_inference; do
  is "call $call" gemm-dtype fp8
  is "call $call" fp8-scaling '' # blockwise
  is "call $call" fp8-params ''
done
is 'call actor_generate' gemm-dtype ''
simulates "training in fp8"
import nemo-rl.yaml policy.megatron_cfg.fp8_cfg.enabled=true \
  policy.megatron_cfg.fp8_cfg.fp8=hybrid \
  policy.megatron_cfg.fp8_cfg.fp8_recipe=tensorwise \
  policy.megatron_cfg.fp8_cfg.fp8_param=true
is 'call actor_train' fp8-scaling tensorwise
is 'call actor_train' fp8-params true
import nemo-rl.yaml policy.megatron_cfg.fp8_cfg.fp8=e4m3
is 'call actor_train' gemm-dtype ''

# What has no place in a plan.
while read -r effect key set; do
  import nemo-rl.yaml "$key=$set"
  lost "$effect" "$key"
done <<'END'
time policy.quant_cfg NVFP4_DEFAULT_CFG
time policy.generation.real_quant true
time policy.draft.enabled true
time policy.megatron_cfg.mtp_num_layers 1
time policy.megatron_cfg.cuda_graph_impl full_iteration
time data_plane.enabled true
time env.should_use_nemo_gym true
time policy.generation.refit_transport nixl
time grpo.dynamic_sampling_oversample_ratio 1.5
learning grpo.zero_variance_prompt_filtering true
memory policy.logprob_chunk_size 2048
memory policy.megatron_cfg.use_fused_linear_logprobs true
memory policy.megatron_cfg.fine_grained_activation_offloading true
END
import nemo-rl.yaml grpo.strange=7
grep -q '^unknown.*grpo.strange	7' out
result $? "a key of the algorithm that nobody knows is a line"
import nemo-rl.yaml policy.megatron_cfg.strange=7
grep -q '^unknown.*policy.megatron_cfg.strange	7' out
result $? "a key that nobody knows is a line"

# PPO: a critic, `value`, with a strategy of its own; 4 epochs if none is set.
sed -e 's/^grpo:/ppo:/' -e 's/async_grpo/async_ppo/' nemo-rl.yaml >ppo.yaml
import ppo.yaml value.model_name=meta-llama/Llama-3.1-8B \
  value.megatron_cfg.enabled=true \
  value.megatron_cfg.tensor_model_parallel_size=4 \
  loss_fn.reference_policy_kl_penalty=0
calls 'actor_generate actor_inference actor_train critic_inference critic_train reward ' \
  "PPO has a critic"
is 'call critic_train' tp 4
is 'call critic_train' dp 4
is workload epochs 4
simulates "PPO"

# Training on given answers: a batch an iteration, comparisons in pairs.
rest() { sed -n '/^checkpointing/,$p' nemo-rl.yaml; }
{ echo 'sft: {max_num_epochs: 1}' && rest; } >sft.yaml
import sft.yaml
calls 'actor_train ' "SFT trains"
is workload prompts 256
# 256 / 2 replicas of 4,096 tokens, 2 at a time.
is 'call actor_train' micro-batches 64
simulates "SFT"
{ echo 'dpo: {reference_policy_kl_penalty: 0.05}' && rest; } >dpo.yaml
import dpo.yaml policy.sequence_packing.enabled=false
calls 'actor_train ref_inference ' "DPO has a reference"
is workload samples-per-prompt 2
# 256 pairs / 2 replicas, 2 pairs at a time.
is 'call actor_train' micro-batches 64
simulates "DPO"
{ echo 'rm: {max_num_epochs: 1}' && rest; } >rm.yaml
import rm.yaml
calls 'actor_train ' "a reward model trains"
is 'model actor' head value
simulates "a reward model"

# What is none of these is refused.
{ echo 'distillation: {topk_logits_k: 64}' && cat nemo-rl.yaml; } >teach.yaml
import teach.yaml
refuses "is distillation, expected training by RL" distillation
import nemo-rl.yaml on_policy_distillation.enabled=true
refuses "is distillation, expected training by RL" "distillation on policy"
printf 'eval: {metric: pass@k}\ngeneration:\n  vllm_cfg: {precision: bfloat16}\n' >eval.yaml
import eval.yaml
refuses "is an evaluation" evaluation
rest >none.yaml
import none.yaml
refuses "is a policy without an algorithm" "what trains nothing"
echo 'uv run examples/run_grpo.py --config gone.yaml policy.model_name=a' >run.sh
fails "expected that file itself" import run.sh -o never

echo "1..$n"
