#!/bin/sh
# The memory account against peaks of RL trainers.
#
#     sh bench/peer/trainer_peaks.sh REALLOT DATA
#
# DATA/rl_steps/rl_steps.csv has notes with "peak N GiB" for runs of a trainer
# alone (prime-rl: FSDP2, one sequence a GPU, full recomputation): what PyTorch
# had allocated.  Each row is a plan of one train call with zero = 3 under
# verl-fsdp.system, whose states (fp32 shards) those runs share; framework and
# slack are 0, as a peak of allocations has neither.  prime-rl computes the loss
# in chunks, which no plan says, so `account` has more: `no_logits` is without
# 16-bit logits of all tokens, twice (graph/op/activation.h).
# Prints GiB and ratios; nothing is fitted.
set -eu
reallot=$1 table=$2/rl_steps/rl_steps.csv
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '[cluster]\nformat = 1\nnodes = 1\ngpus-per-node = 8\ngpu = gb300\n' >c.cluster
printf 'framework-memory = 0 B\nallocator-slack = 0\n' >>c.cluster
printf 'model\tgpus\ttokens\taccount_gib\tno_logits_gib\tmeasured_gib\tratio\tratio_no_logits\n'
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
  match($0, /peak [0-9.]+ GiB/) {
    peak = substr($0, RSTART + 5, RLENGTH - 9)
    print $c["actor_model"], $c["n_gpus"], int($c["response_len_max"]), peak
  }' "$table" | sort -u |
while read -r model gpus tokens peak; do
  name=$(echo "$model" | sed 's/-Instruct-2507$//')
  cat >w.workload <<END
[workload]
format = 1
algorithm = sft
dataset = pairs
prompts = $gpus
prompt-length = fixed(1)
response-length = fixed($((tokens - 1)))

[model actor]
config = Qwen/$name
trainable = true

[call actor_train]
model = actor
kind = train
inputs = pairs
END
  cat >p.plan <<END
[plan]
format = 1
workload = w.workload
cluster = c.cluster
system = verl-fsdp

[call actor_train]
mesh = node0:gpu[0-$((gpus - 1))]
dp = $gpus
zero = 3
recompute = full
grad-dtype = fp32
END
  [ "$gpus" -gt 1 ] || sed -i 's/gpu\[0-0\]/gpu0/' p.plan
  "$reallot" simulate p.plan --iterations=1 >text || true
  account=$(sed -n 's/^Memory of .* peak: \([0-9.]*\) of .*/\1/p' text)
  echo "$model $gpus $tokens $account $peak"
done | awk '{ logits = $3 * 151936 * 4 / 1073741824
  printf "%s\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\n", $1, $2, $3, $4,
    $4 - logits, $5, $4 / $5, ($4 - logits) / $5 }'
