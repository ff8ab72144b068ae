#!/bin/bash
# Configurations of OpenRLHF, dotted or not, and of ReaLHF come in: each flag
# that decides time, memory or learning is in the plan, or is told.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

data=$srcdir/tests/data/import

# Imports FILE as x, its last flag followed by others.
import() { # FILE [FLAGS]...
  local from=$1
  shift
  sed "\$s|\$| $*|" "$data/$from" >x.sh
  run import x.sh -o . --force --format=tsv --all
}
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
told() { # WHAT KEY: a row of the table
  grep -q "^$1	[^	]*	[^	]*	$2	" out
  result $? "$2 is $1"
}
refuses() { # MESSAGE WHAT
  [ "$rc" -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$1" err
  result $? "$2 is refused by name"
}

# Both spellings of one configuration.
import openrlhf-flat.sh
! grep -q -e '^lost' -e '^unknown' -e '^approximated' out && [ "$rc" -eq 0 ]
result $? "flags of v0.9.9: nothing is lost or unknown"
cat x.plan x.workload >flat
import openrlhf-dotted.sh
! grep -q -e '^lost' -e '^unknown' -e '^approximated' out && [ "$rc" -eq 0 ]
result $? "dotted flags: nothing is lost or unknown"
cat x.plan x.workload | cmp -s - flat
result $? "and the same plan"
calls 'actor_generate actor_inference actor_train critic_inference critic_train ref_inference reward_inference ' \
  "calls of PPO"
# 128 x 8 / 256 = 4 steps; 256 / 8 replicas, 2 at a time; 1,024 / 8, 4.
is workload mini-batches 4
is workload epochs 2
is 'call actor_train' micro-batches 16
is 'call actor_inference' micro-batches 32
# 4,096 tokens of which 3,072 are generated.
longest prompt 1024
longest response 3072
is 'call actor_train' zero 3
is 'call actor_train' overlap-grad-reduce true
is 'call actor_generate' dp 4
# What AsyncLLM has if nothing is said.
is 'call actor_generate' max-sequences 128
is 'call actor_generate' prefix-sharing true
simulates "it"
! grep -q '^system' x.plan || grep -q 'openrlhf-' x.plan
result $? "no system of 2024"

# Which models there are.
import openrlhf-dotted.sh --algo.kl.init_coef 0 \
  --algo.advantage.estimator group_norm --reward.remote_url rules.py
calls 'actor_generate actor_inference actor_train reward ' \
  "no divergence, no reference; no critic; rules"
import openrlhf-flat.sh --init_kl_coef 0 --advantage_estimator rloo \
  --agent_func_path agent.py
calls 'actor_generate actor_inference actor_train reward ' "nor without dots"
told lost agent_func_path

# Strategies.
import openrlhf-dotted.sh --ds.ring_attn_size 2 --ds.tensor_parallel_size 2 \
  --ds.adam_offload --ref.offload --ds.grad_accum_dtype fp32
is 'call actor_train' cp 2
is 'call actor_train' tp 2
is 'call actor_train' dp 2
is 'call actor_train' optimizer-residency cpu
is 'call actor_train' grad-dtype fp32
is 'call ref_inference' residency host
is 'call reward_inference' residency ''
import openrlhf-flat.sh --ref_reward_offload --deepspeed_enable_sleep
is 'call reward_inference' residency host
is 'call actor_train' optimizer-residency host
# Sequences have 0.10 x 1,024 + 262 x 3^0.65 = 637 tokens in the mean: 32 of
# them fill 1.2 times 16,384, 128 2.5 times 32,768 and 5.0 times 16,384.
import openrlhf-dotted.sh --train.dynamic_batch_enable \
  --train.max_tokens_per_gpu 16384 --rollout.max_tokens_per_gpu 32768
is 'call actor_train' micro-batches 2
is 'call actor_inference' micro-batches 3
import openrlhf-flat.sh --use_dynamic_batch --train_max_tokens_per_gpu 16384
is 'call actor_inference' micro-batches 5
import openrlhf-dotted.sh --ds.lora.rank 16 --vllm.enforce_eager
is 'model critic' lora-rank 16
is 'call actor_generate' launch ''

# Lengths, of which each may be missing.
import openrlhf-dotted.sh --rollout.max_new_tokens 4096
longest prompt 128
longest response 3968
grep -q '^assumed.*prompts: 128 of the 4096' out
result $? "and that is an assumption"

# Ahead of training, on engines of their own: 8 GPUs more.
import openrlhf-flat.sh --async_train --async_queue_size 2 --partial_rollout
is workload staleness 2
is 'call actor_generate' mesh node1
told lost partial_rollout
# Groups that are no slices of a node of 8: 6 GPUs train, 2 generate.
import openrlhf-dotted.sh --train.colocate_all false --train.colocate_actor_ref \
  --actor.num_gpus_per_node 6 --ref.num_gpus_per_node 6 \
  --vllm.num_engines 1 --algo.advantage.estimator rloo \
  --rollout.batch_size 96 --train.batch_size 768 --reward.remote_url rules.py
is 'call actor_train' mesh 'node[0-2]'
is 'call actor_generate' mesh node3
# Groups that are of no use are replaced.
import openrlhf-dotted.sh --algo.dynamic_filtering_enable \
  --rollout.vllm_generate_batch_size 192 --reward.remote_url rules.py
is workload trip-prompts 192
simulates "dynamic filtering"

# What has no place in a plan.
while read -r key flags; do
  import openrlhf-dotted.sh "$flags"
  told lost "$key"
done <<'END'
ds.zpg --ds.zpg 8
ds.deepcompile --ds.deepcompile
ds.attn_implementation --ds.attn_implementation eager
actor.optim --actor.optim muon
ds.load_in_4bit --ds.load_in_4bit
ds.use_liger_kernel --ds.use_liger_kernel
train.enable_ema --train.enable_ema
critic.freezing_steps --critic.freezing_steps 10
data.max_images_per_prompt --data.max_images_per_prompt 2
END
import openrlhf-dotted.sh --ds.strange 1
told unknown ds.strange

# Training on given answers: a batch an iteration, on the GPUs that are there.
supervised() { # PROGRAM FLAGS...
  echo "deepspeed --module openrlhf.cli.$*" >x.sh
  run import x.sh -o . --force --format=tsv --all
}
supervised train_sft --model.model_name_or_path meta-llama/Meta-Llama-3-8B \
  --train.batch_size 256 --train.micro_batch_size 2 --data.max_len 2048 \
  --ds.zero_stage 3 --train.max_epochs 3
calls 'actor_train ' "SFT trains"
# 256 / 8, 2 at a time; epochs are not of a batch.
is 'call actor_train' micro-batches 16
is workload epochs ''
simulates "SFT"
supervised train_dpo --pretrain meta-llama/Meta-Llama-3-8B \
  --train_batch_size 256 --micro_train_batch_size 1 --ref_offload
calls 'actor_train ref_inference ' "DPO has a reference"
# 256 pairs / 8, one pair at a time; 512 tokens and ZeRO 2 if nothing is said.
is 'call actor_train' micro-batches 32
is 'call actor_train' zero 2
is 'call ref_inference' residency host
longest response 384
simulates "DPO"
supervised train_rm --model.model_name_or_path meta-llama/Meta-Llama-3-8B
calls 'actor_train ' "a reward model trains"
is 'model actor' head value
simulates "a reward model"
supervised serve_rm --port 5000
refuses "is openrlhf.cli.serve_rm, expected training by RL" "a server"

# ---- ReaLHF -------------------------------------------------------------

real() { # EXPERIMENT KEY=VALUE...
  echo "python3 -m realhf.apps.quickstart $*" >x.sh
  run import x.sh -o . --force --format=tsv --all --model=llama-2-7b.json
}
llama() { # MODEL...
  printf '%s.type._class=llama ' "$@"
}
all=$(llama actor critic ref rew)
# Quotes that are there twice: hydra's, in the shell's.
# shellcheck disable=SC2086
real ppo $all allocation_mode=manual \
  "$(printf "\"%s.device_mesh='NODE01:0,1,2,3'\" " actor_gen ref_inf rew_inf critic_inf actor_train critic_train)" \
  "$(printf '%s.parallel.data_parallel_size=4 ' actor_gen ref_inf rew_inf critic_inf actor_train critic_train)"
is 'call actor_train' mesh 'node0:gpu[0-3]'
# Without a mode it is pipe_model: tp over a node, pp over nodes.
# shellcheck disable=SC2086
real ppo $all n_nodes=2
is 'call actor_train' tp 8
is 'call actor_train' pp 2
# shellcheck disable=SC2086
real ppo $all n_nodes=2 allocation_mode=pipe_data
is 'call actor_train' dp 8
# shellcheck disable=SC2046
real grpo $(llama actor ref rew) allocation_mode=d8 ppo.gen.max_new_tokens=64
is workload samples-per-prompt 4
calls 'actor_generate actor_train ref_inference reward_inference ' \
  "GRPO of ReaLHF"
# shellcheck disable=SC2046
real reinforce $(llama actor rew) allocation_mode=d8 gen.max_new_tokens=64
calls 'actor_generate actor_train greedy_generate greedy_reward_inference reward_inference ' \
  "REINFORCE of ReaLHF has a greedy answer"
longest response 64
simulates "it"
# shellcheck disable=SC2046
real sft $(llama model) dataset.train_bs_n_seqs=64 \
  allocation.parallel.pipeline_parallel_size=2 \
  allocation.parallel.data_parallel_size=4
calls 'actor_train ' "SFT of ReaLHF"
is 'call actor_train' dp 4
is workload prompts 64
simulates "it"
# shellcheck disable=SC2046
real dpo $(llama actor ref) allocation_mode=d8
calls 'actor_train ref_inference ' "DPO of ReaLHF"
real gen model.type._class=llama
refuses "is the experiment 'gen'" generation
real profile n_nodes=1
refuses "is the experiment 'profile'" profiling

echo "1..$n"
