#!/bin/bash
# Models by their names: published ones, those of this machine, near names.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

property() { # NAME: of the table `model` in out
  awk -F'\t' -v name="$1" '$1 == name { print $2 }' out
}

# 1280 wide, 36 layers: gpt2-large is not gpt2 (768 wide).
works inspect gpt2-large --format=tsv
[ "$(property hidden)" = 1280 ] && [ "$(property layers)" = 36 ]
result $? "a name is matched whole"
works inspect hub.tsv --format=tsv
awk -F'\t' '$1 == "Qwen/Qwen2.5-0.5B-Instruct" { print $5 }' out |
  grep -qx 494032768
result $? "the table is listed, a row a name"
fails "nearest: Qwen/Qwen2.5-3B, Qwen/Qwen2.5-7B" inspect Qwen/Qwen2.5-8B
fails "--cluster: expected a plan, a workload or a cluster, found a model" \
  inspect gpt2-large --cluster=h100-1n.cluster

# Starter files, and --set.
works new mine --model=Qwen/Qwen2.5-3B-Instruct --nodes=1
works simulate mine.plan -n 1 --fidelity=call
works simulate mine.plan -n 1 --fidelity=call \
  --set 'model actor.config=Qwen/Qwen3-0.6B' \
  --set 'model ref.config=Qwen/Qwen3-0.6B'
fails "'config': no shape is known for 'Qwen/Qwen3-0.7B', nearest: Qwen/Qwen3-0.6B" \
  simulate mine.plan --set 'model actor.config=Qwen/Qwen3-0.7B'

# The MLP of this vision tower is 3,420 = 2^2 x 3^2 x 5 x 19 wide.
works new mine --model=Qwen/Qwen2.5-VL-3B-Instruct --nodes=1 --force
sed 's/^tp = .*/tp = 8/; s/^dp = .*/dp = 1/' mine.plan >wide.plan
fails "expected a divisor of 16 and 3420, the heads and the MLP width of the vision tower" \
  simulate wide.plan

# A script's names.
script=$srcdir/tests/data/import/verl-grpo-qwen2-7b.sh
import() { # PATH ARGUMENT...: imports x/run.sh, whose model is PATH
  local path=$1
  shift
  mkdir -p x
  sed "s|actor_rollout_ref.model.path=[^ ]*|actor_rollout_ref.model.path=$path|" \
    "$script" >x/run.sh
  run import x/run.sh -o "out dir" --force --format=tsv "$@"
}
is() { # CONFIG WHAT: what the actor of out dir has
  [ "$rc" -eq 0 ] && [ ! -s err ] &&
    grep -qxF "config = $1" "out dir/run.workload" &&
    "$reallot" inspect "out dir/run.plan" >/dev/null
  result $? "$2"
  sed 's/^/# /' err
}
import /data/models/qwen2.5-7b-instruct/
is Qwen/Qwen2.5-7B-Instruct "a path without a file is a name"
mkdir -p x
printf '%s\n' '{"model_type": "llava", "vision_config": {}, "text_config":' \
  '{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,' \
  '"num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32064}}' \
  >x/llava.json
import Qwen/Qwen2.5-VL-7B-Instruct
is Qwen/Qwen2.5-VL-7B-Instruct "a vision-language model keeps its name"
[ "$(grep -c 'prompts have no images: .image-tokens. of' out)" = 1 ]
result $? "that its images are not given is said once"
works simulate "out dir/run.plan" --set workload.image-tokens=64 --format=tsv
cp out with
works simulate "out dir/run.plan" --format=tsv
! cmp -s out with
result $? "and images take time"
works inspect x/llava.json
grep -q 'vision tower are not counted' out
result $? "inspect says that a tower is not modelled"
import Qwen/Qwen2.5-7B-Instruct-FP8
[ "$(grep -c 'published in fp8' out)" = 1 ]
result $? "types of weights are told"
import Qwen/Qwen2.5-7B-of-mine
[ "$rc" -eq 2 ] && grep -q 'model of the actor: no shape is known for' err &&
  grep -q -- 'gives one$' err
result $? "what only begins like a name is refused"
import '/sft/qwen_2.5_7b_instruct/step_100'
is Qwen/Qwen2.5-7B-Instruct "a path that is not here is the model that it names"
grep -q 'actor: Qwen/Qwen2.5-7B-Instruct by its path, as /sft/' out
result $? "which is an assumption"
import /sft/qwen2.5-7b_2/step_100
[ "$rc" -eq 2 ]
result $? "a number behind a name makes it another"
import /sft/Qwen3-30B-MoE-merge
is Qwen/Qwen3-30B-A3B "the size of active parameters may be left out"
import /sft/gpt2-mine/last
[ "$rc" -eq 2 ]
result $? "a name of one word is no part of another"
import /sft/gpt2/last
[ "$rc" -eq 2 ] && grep -q "at most 1024, the learned positions of 'actor'" err
result $? "but a folder: GPT-2 has 1,024 positions"

# A model of this machine precedes the table: here one of 4 layers.
config='{"model_type": "qwen2", "hidden_size": 512, "intermediate_size": 1024,
"num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8,
"vocab_size": 1000}'
layers() { # PLAN: of its actor
  "$reallot" inspect "$(sed -n 's/^config = //p' "out dir/run.workload" |
    head -n 1)" --format=tsv >out
  property layers
}
mkdir -p x/models/Qwen2.5-7B "$HF_HOME/hub/models--me--mine/snapshots/abc"
echo "$config" >x/models/Qwen2.5-7B/config.json
echo "$config" >"$HF_HOME/hub/models--me--mine/snapshots/abc/config.json"
import models/Qwen2.5-7B
is "$PWD/x/models/Qwen2.5-7B/config.json" "a folder beside the script"
[ "$(layers)" = 4 ]
result $? "whose shape is taken"
import me/mine
is me/mine "a model of the Hugging Face cache"
[ "$(layers)" = 4 ]
result $? "which the workload finds again"
works inspect x/models/Qwen2.5-7B

# What the executor does not compute as llama does.
sed 's/"llama"/"granite"/' "$srcdir/share/models/tiny-llama.json" >granite.json
fails "has factors on embeddings, residuals and logits" \
  run "$plans/sft-tiny-4.plan" --set "model actor.config=$PWD/granite.json"

echo "1..$n"
