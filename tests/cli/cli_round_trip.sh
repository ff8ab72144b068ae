#!/bin/bash
# Every shipped plan out to every framework, in again, out and in once more: what
# a framework can say of a plan stays as it is.  The first way out may lose what
# it cannot say, which is listed (cli_import.sh); the second must lose nothing.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# Lines of the plan that SCRIPT is imported as, in FOLDER, with a workload's.
in_again() { # SCRIPT FOLDER
  "$reallot" import "$1" -o "$2" --name=x --force >/dev/null 2>err &&
    grep -hv '^#' "$2/x.plan" "$2/x.workload"
}

# The plan of FILE as TARGET says it, twice: first.txt and second.txt.  FALSE:
# the framework has nothing like it.
twice() { # FILE TARGET
  "$reallot" export "$1" --to="$2" -o first.sh >/dev/null 2>err || return 1
  in_again first.sh first >first.txt
  "$reallot" export first/x.plan --to="$2" -o second.sh >/dev/null 2>err
  in_again second.sh second >second.txt
}

for target in verl nemo-rl openrlhf openrlhf@0.9.9 slime; do
  tried=0 bad=
  for plan in "$plans"/*.plan; do
    case $plan in *tiny*) continue ;; esac # models without a name
    twice "$plan" $target || continue
    tried=$((tried + 1))
    [ -s first.txt ] && cmp -s first.txt second.txt && continue
    bad="$bad $(basename "$plan")"
    diff first.txt second.txt | sed 's/^/# /' | head -n 8
  done
  [ -z "$bad" ] && [ $tried -ge 15 ]
  result $? "$target: $tried plans stay as they are:$bad"
done

# A model in bf16 that is stepped itself, where a framework has a key for it.
sed '/^\[call actor_train\]/,/^$/{/^zero/d;/^seq/d;s/^dp =.*/dp = 32/
  s/^tp =.*/tp = 1/;}
  s/^\[call actor_train\]/&\nzero = 3\nmaster-weights = none\nmoments-dtype = bf16/' \
  "$plans/grpo-qwen2.5-7b-32.plan" >bf16.plan
twice bf16.plan verl && grep -q '^master-weights = none$' first.txt &&
  grep -q '^moments-dtype = bf16$' first.txt && cmp -s first.txt second.txt
result $? "verl: a model in bf16 without masters"

# Engines with 8-bit weights and caches, where a framework has a key for them.
sed 's/^\[call actor_generate\]/&\ndtype = fp8\nkv-dtype = fp8/' \
  "$plans/grpo-qwen2.5-7b-32.plan" >fp8.plan
for target in verl nemo-rl slime; do
  twice fp8.plan $target
  grep -q '^dtype = fp8' first.txt && grep -q '^kv-dtype = fp8' first.txt &&
    cmp -s first.txt second.txt
  result $? "$target: 8-bit weights and caches stay"
done

# Drafts, as many as SkyRL measured the share of.
cp "$share/workloads/grpo-qwen2.5-7b.workload" . 2>/dev/null ||
  cp "$plans/../workloads/grpo-qwen2.5-7b.workload" .
sed -i 's/^kind = generate/&\ndraft-tokens = 2\ndraft-accepted = 0.773/' \
  grpo-qwen2.5-7b.workload
cp "$plans/grpo-qwen2.5-7b-32.plan" drafts.plan
for target in verl nemo-rl slime; do
  twice drafts.plan $target
  grep -qx 'draft-tokens = 2' first.txt && cmp -s first.txt second.txt
  result $? "$target: drafts stay"
done
rm grpo-qwen2.5-7b.workload

# Linear layers in fp8, where a framework has a key for them.
sed '/^\[call actor_\(train\|inference\)\]/a gemm-dtype = fp8\nfp8-scaling = tensorwise\nfp8-params = true\nbf16-first-layers = 2\nbf16-last-layers = 1' \
  "$plans/grpo-qwen2.5-7b-32.plan" |
  sed 's/^cluster = a100/cluster = h100/' >gemms.plan
for target in verl nemo-rl slime; do
  twice gemms.plan $target
  [ "$(grep -c '^fp8-scaling = tensorwise' first.txt)" -ge 2 ] &&
    grep -q '^fp8-params = true' first.txt &&
    grep -q '^bf16-first-layers = 2' first.txt &&
    grep -q '^bf16-last-layers = 1' first.txt && cmp -s first.txt second.txt
  result $? "$target: linear layers in fp8 stay"
done

# Micro-batches bounded in tokens.  A replica trains 1024 x 5 / 4 / 16 = 80
# sequences of 150 + 320 tokens in the mean, 20 micro-batches of them: half a one
# of room makes 80 x 470 / 19.5 = 1,928.2 tokens.  OpenRLHF counts those of one of
# 2 ranks, NeMo-RL refuses 2,048, the longest sequence.  Without the room a batch
# above the mean makes 21.
sed '/^\[call actor_train\]/a balance = tokens' \
  "$plans/grpo-qwen2.5-7b-32.plan" >even.plan
lengths=(--prompt-length='lognormal(150, 80, 1024)'
  --response-length='lognormal(320, 200, 1024)')
while read -r target key bound batches; do
  "$reallot" export even.plan --to="$target" -o even.sh >/dev/null 2>err
  "$reallot" import even.sh -o even --name=x --force "${lengths[@]}" >/dev/null 2>err
  grep -qE -e "${key}[ =]$bound( |\$)" even.sh &&
    sed -n '/^\[call actor_train\]/,/^$/p' even/x.plan >even.txt &&
    grep -q '^balance = tokens' even.txt &&
    grep -q "^micro-batches = $batches\$" even.txt
  result $? "$target: $bound tokens bound a micro-batch, $batches come back"
done <<'END'
slime --max-tokens-per-gpu 1929 20
openrlhf --train.max_tokens_per_gpu 965 20
openrlhf@0.9.9 --train_max_tokens_per_gpu 965 20
nemo-rl policy.sequence_packing.train_mb_tokens 2048 19
verl actor_rollout_ref.actor.ppo_max_token_len_per_gpu 2048 19
END

# The fault to find: an export of another plan.
twice "$plans/grpo-qwen2.5-7b-32.plan" nemo-rl
sed 's/tensor_model_parallel_size=[0-9]*/tensor_model_parallel_size=8/' \
  second.sh >fault.sh
in_again fault.sh fault >fault.txt
! cmp -s first.txt fault.txt
result $? "another degree is found"

echo "1..$n"
