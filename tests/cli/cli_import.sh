#!/bin/bash
# Configurations of other frameworks: three real ones a framework come in, a
# plan that verl can express survives the way out and in.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

data=$srcdir/tests/data/import

lines() { # WHAT: of the table in out
  awk -F'\t' -v what="$1" '$1 == what { n++ } END { print n + 0 }' out
}
value() { # CALL KEY PLAN
  awk -v group="[call $1]" -v key="$2" '$0 ~ /^\[/ { on = $0 == group }
    on && $1 == key { print $3 }' "$3"
}
is() { # WANT CALL KEY PLAN: the plan's value
  [ "$(value "$2" "$3" "$4.plan")" = "$1" ]
  result $? "$4: $2 has $3 = $1"
}

# Nothing of the examples is not understood, and the plan is simulated (exit 1:
# it does not fit, which is an answer).
comes_in() { # FILE ARGUMENT...
  local file=$1 name
  shift
  name=${file%.*}
  run import "$data/$file" -o . --format=tsv "$@"
  [ "$rc" -eq 0 ] && [ ! -s err ] && [ "$(lines 'not understood')" -eq 0 ] &&
    [ "$(lines assumed)" -ge 2 ]
  result $? "import $file"
  grep -e 'not understood' out err | sed 's/^/# /'
  run simulate "$name.plan" --iterations=1 --fidelity=call
  [ "$rc" -le 1 ] && [ ! -s err ]
  result $? "the plan of $file is simulated"
  sed 's/^/# /' err
}

comes_in verl-grpo-qwen2-7b.sh
comes_in verl-grpo-megatron.sh
comes_in verl-ppo-qwen2.5-32b.sh
comes_in verl-arrays.sh
comes_in verl-submit.sh
comes_in openrlhf-ppo-70b.sh
comes_in openrlhf-ppo-hybrid.sh
comes_in openrlhf-reinforce-async.sh
comes_in grpo_math_1B.yaml
comes_in grpo_math_8B.yaml
comes_in grpo-qwen3-30ba3b-4n8g.yaml
comes_in realhf-ppo-manual.sh
comes_in realhf-ppo-symm.sh --model=llama-2-7b.json
comes_in realhf-ppo-heuristic.sh --model=llama-2-7b.json

# One configuration in four forms is one plan: as it is, as Weights & Biases
# keeps it, named by a launch, and named by one that changes what was there.
same() { # WHAT FILE
  run import "$2" -o . --name=again --force
  [ "$rc" -eq 0 ] && diff <(grep -v '^#' once.plan | sed s/once/again/) \
    <(grep -v '^#' again.plan) && diff <(grep -v '^#' once.workload) \
    <(grep -v '^#' again.workload)
  result $? "$1 is the same plan"
  sed 's/^/# /' err
}
cat >once.yaml <<'YAML'
data: {train_batch_size: 64, max_prompt_length: 512, max_response_length: 512}
actor_rollout_ref: {model: {path: Qwen/Qwen2.5-7B}, actor: {ppo_mini_batch_size: 32, ppo_micro_batch_size_per_gpu: 4}, ref: {log_prob_micro_batch_size_per_gpu: 4}, rollout: {name: vllm, n: 4, tensor_model_parallel_size: 2, log_prob_micro_batch_size_per_gpu: 4}}
algorithm: {adv_estimator: grpo}
trainer: {nnodes: 1, n_gpus_per_node: 8}
YAML
sed -E 's/^([a-z_]+): (.*)/\1: {desc: null, value: \2}/' once.yaml >wandb.yaml
sed 's/n: 4,/n: 5,/; s/nnodes: 1/nnodes: 3/' once.yaml >other.yaml
printf 'python3 -m verl.trainer.main_ppo --config-name once\n' >named.sh
printf 'python3 -m verl.trainer.main_ppo --config-name other %s %s\n' \
  actor_rollout_ref.rollout.n=4 trainer.nnodes=1 >changed.sh
run import once.yaml -o . --name=once
[ "$rc" -eq 0 ] && [ "$(value actor_train dp once.plan)" = 8 ]
result $? "a composed configuration"
same "what W&B keeps" wandb.yaml
same "what a launch names" named.sh
same "what a launch names and changes" changed.sh

# Values by hand.  verl: 1024 prompts x 5 answers / 4 mini-batches / 8 replicas
# = 160 sequences, 16 at a time: 10 micro-batches.
is 8 actor_train dp verl-grpo-qwen2-7b
is 3 actor_train zero verl-grpo-qwen2-7b
is 10 actor_train micro-batches verl-grpo-qwen2-7b
is full actor_train recompute verl-grpo-qwen2-7b
is host ref_inference residency verl-grpo-qwen2-7b
is 4 actor_generate dp verl-grpo-qwen2-7b
# The system of a framework; NeMo-RL's actor is in host memory while its GPUs
# generate.  Answers of at most 1024 tokens: a mean of 262 and a
# deviation of 0.57 x 262 = 149; prompts of at most 1024: 102 and 58.
for pair in verl-grpo-qwen2-7b=verl-fsdp verl-grpo-megatron=verl-megatron \
    openrlhf-ppo-70b=openrlhf-deepspeed grpo_math_8B=nemo-rl; do
  grep -q "^system = ${pair#*=}\$" "${pair%%=*}.plan"
  result $? "${pair%%=*} runs under ${pair#*=}"
done
is host actor_train residency grpo_math_8B
is host actor_train optimizer-residency grpo_math_8B
grep -q '^response-length = lognormal(262, 149, 1024)$' \
  verl-grpo-qwen2-7b.workload &&
  grep -q '^prompt-length = lognormal(102, 58, 1024)$' \
    verl-grpo-qwen2-7b.workload
result $? "lengths are below their maximum"
# Megatron: 8 GPUs / (2 x 2) = 2 replicas; 5120 / 4 / 2 = 640, 4 at a time.
is 2 actor_train dp verl-grpo-megatron
is 160 actor_train micro-batches verl-grpo-megatron
# The older key counts all replicas: 16 over 32 GPUs is less than one.
is 8 actor_train micro-batches verl-ppo-qwen2.5-32b
# 8 engines of 4 GPUs, and 0.3 x 80 GiB of each less 65.5 GB / 4 of weights.
is 8 actor_generate dp verl-ppo-qwen2.5-32b
# Ray packs 4 + 4 GPUs of actor and critic on the first node, the engines' 4
# and ref's and reward's 2 + 2 on the second.
is 'node0:gpu[0-3]' actor_train mesh openrlhf-ppo-70b
is 'node0:gpu[4-7]' critic_train mesh openrlhf-ppo-70b
is 'node1:gpu[0-3]' actor_generate mesh openrlhf-ppo-70b
is 'node1:gpu[6-7]' reward_inference mesh openrlhf-ppo-70b
# DeepSpeed's adam_offload steps on the CPU.
is cpu actor_train optimizer-residency openrlhf-ppo-70b
is node0 actor_generate mesh openrlhf-ppo-hybrid
grep -q '^staleness = 1$' openrlhf-reinforce-async.workload
result $? "async_train is a staleness of 1"
# 64 x 32 = 2048 sequences are 4 batches of 512 over 8 replicas: 64, packed.  128
# + 262 x 3.875^0.65 = 760 tokens each fill 11.9 times 4,096.
is 12 actor_train micro-batches grpo_math_8B
is tokens actor_train balance grpo_math_8B
is 8 actor_train ep grpo-qwen3-30ba3b-4n8g
is 16 actor_generate dp grpo-qwen3-30ba3b-4n8g
grep -q '^config = meta-llama/' grpo_math_8B.workload &&
  ! grep -q 'qwen' grpo_math_8B.workload
result $? "a file wins over its defaults"
is 'node0:gpu[2-3]' reward_inference mesh realhf-ppo-manual
is 4 ref_inference pp realhf-ppo-manual
is graph actor_generate launch realhf-ppo-manual
is 2 actor_generate micro-batches realhf-ppo-symm

# Scripts: 512 prompts x 8 / 4 mini-batches / 16 replicas = 64 sequences, 16 at
# a time; of the branches, gpu's.  (2048 + 20480) / 4 tokens are 5,632.
is 16 actor_train dp verl-arrays
is 4 actor_train micro-batches verl-arrays
is 4 actor_train cp verl-submit
is 4 actor_generate tp verl-submit
run import "$data/verl-arrays.sh" -o sets --set NNODES=1 \
  --set actor_rollout_ref.rollout.n=4 --format=tsv
is 8 actor_train dp sets/verl-arrays
grep -q '^samples-per-prompt = 4$' sets/verl-arrays.workload
result $? "--set says a variable and a key"
grep -q "taken: false; if true: .*trainer.n_gpus_per_node=16 (here 8)" out
result $? "the other branch is told"
sed 's/nnodes=.*/nnodes=$(nproc)/' "$data/verl-submit.sh" >late.sh
fails "late.sh:46: 'trainer.nnodes' is '\$(nproc)', which is known only when" \
  import late.sh -o never
fails "no training program is started" import "$srcdir/bootstrap" -o never

# LoRA: rank and matrices; verl's reference is the actor without them.
lora() { # FILE FROM TO: FILE with TO behind FROM, as lora.sh
  sed "s|$2|& $3|" "$data/$1" >lora.sh
  run import lora.sh -o . --force --format=tsv
  [ "$rc" -eq 0 ] && ! grep -q 'not understood' out
}
model() { # NAME: its lines of lora.workload
  awk -v group="[model $1]" '/^\[/ { on = $0 == group } on' lora.workload
}
lora verl-grpo-qwen2-7b.sh 'actor_rollout_ref.model.path=[^ ]*' \
  'actor_rollout_ref.model.lora_rank=64 actor_rollout_ref.model.target_modules=[q_proj,v_proj] actor_rollout_ref.model.lora_alpha=32' &&
  model actor | grep -qx 'lora-rank = 64' &&
  model actor | grep -qx 'lora-targets = q, v' &&
  ! model actor | grep -q lora-sync && model ref | grep -qx 'base-of = actor'
result $? "verl's adapters, and the reference without them"
run simulate lora.plan -n 1
[ "$rc" -le 1 ] && [ ! -s err ]
result $? "a plan with adapters is simulated"
run export lora.plan --to=verl -o lora-out.sh --format=tsv
[ "$rc" -eq 0 ] && ! grep -qi -e lora -e base-of out &&
  grep -qF "target_modules='[q_proj,v_proj]'" lora-out.sh
result $? "go out again"
run export lora.plan -o lora-out.yaml
"$reallot" import lora-out.yaml -o again --name=lora >/dev/null &&
  model actor | grep ^lora >mine && [ -s mine ] &&
  grep ^lora again/lora.workload | cmp -s - mine
result $? "and in again, from YAML too"
# A hybrid model: in_proj_* of its gated delta nets, out and in again.
sed 's|actor_rollout_ref.model.path=[^ ]*|actor_rollout_ref.model.path=Qwen/Qwen3.5-4B actor_rollout_ref.model.lora_rank=8 actor_rollout_ref.model.target_modules=[in_proj_qkv,in_proj_z,q_proj,out_proj]|' \
  "$data/verl-grpo-qwen2-7b.sh" >lora.sh
run import lora.sh -o . --force --format=tsv
model actor | grep -qx 'lora-targets = in, q, out' &&
  run export lora.plan --to=verl -o lora-out.sh --format=tsv &&
  grep -qF "target_modules='[q_proj,in_proj_qkv,in_proj_z,in_proj_b,in_proj_a,out_proj]'" lora-out.sh
result $? "adapters of gated delta nets"
lora openrlhf-ppo-70b.sh '--bf16' '--lora_rank 16' &&
  model critic | grep -qx 'lora-rank = 16' &&
  model actor | grep -qx 'lora-sync = merged' &&
  ! model actor | grep -q lora-targets && ! model ref | grep -q base-of
result $? "OpenRLHF's adapters of all matrices, of actor and critic"
sed 's|actor_rollout_ref.model.path=[^ ]*|& actor_rollout_ref.model.lora_rank=8 actor_rollout_ref.model.target_modules=[wqkv]|' \
  "$data/verl-grpo-qwen2-7b.sh" >wqkv.sh
fails "target_modules.0' is 'wqkv', expected all-linear, or of q_proj" \
  import wqkv.sh -o never

# What is not understood is told, with its line; what is wrong is refused.
sed 's/ppo_micro_batch_size_per_gpu=16/strange_thing=7/' \
  "$data/verl-grpo-qwen2-7b.sh" >strange.sh
run import strange.sh -o . --format=tsv
grep -q "^unknown.*	1 keys that are not known" out
result $? "keys that nobody knows are counted"
run import strange.sh -o . --force --all --format=tsv
grep -q "^unknown.-.strange.sh:14.actor_rollout_ref.actor.strange_thing.7" out
result $? "a key that nobody knows is a line under --all"
# What matters comes first: time, memory, learning; a default is no line.
sed 's/ppo_micro_batch_size_per_gpu=16/& trainer.critic_warmup=5 \\\
  actor_rollout_ref.rollout.free_cache_engine=False \\\
  actor_rollout_ref.rollout.over_sample_rate=0.1 \\\
  actor_rollout_ref.rollout.enable_chunked_prefill=True \\\
  actor_rollout_ref.model.use_liger=false/' \
  "$data/verl-grpo-qwen2-7b.sh" >worst.sh
run import worst.sh -o . --format=tsv
[ "$(grep '^lost' out | cut -f2,4 | tr '\t\n' ' ,')" = \
  "time actor_rollout_ref.rollout.over_sample_rate,memory actor_rollout_ref.rollout.free_cache_engine,learning trainer.critic_warmup," ]
result $? "what changes time comes first, then memory, then learning"
fails 'keys or assumptions are open, expected none under --strict' \
  import worst.sh -o . --force --strict
sed 's/rollout.n=5/rollout.n=five/' "$data/verl-grpo-qwen2-7b.sh" >five.sh
fails "five.sh:23: 'actor_rollout_ref.rollout.n' is 'five', expected a whole" \
  import five.sh -o never
[ ! -e never ]
result $? "and nothing was written"
fails '--model actor=CONFIG gives one' import \
  "$data/realhf-ppo-symm.sh" -o never
echo 'python3 train.py --some=thing' >nobody.sh
fails '--from=NAME' import nobody.sh -o never
printf 'a: [1\n' >bad.yaml
fails 'bad.yaml:2: no YAML' import bad.yaml --from=nemo-rl
# What somebody may have edited since stays, but for --force.
mkdir edited
echo '# mine' >edited/mine.cluster
fails 'edited/mine.cluster: exists already, expected a new name or --force' \
  import "$data/verl-grpo-qwen2-7b.sh" -o edited --name=mine
[ "$(ls edited)" = mine.cluster ] && grep -qx '# mine' edited/mine.cluster
result $? "and nothing is written"
works import "$data/verl-grpo-qwen2-7b.sh" -o edited --name=mine --force
[ -s edited/mine.plan ] && ! grep -qx '# mine' edited/mine.cluster
result $? "--force replaces"

works import "$data/verl-grpo-qwen2-7b.sh" -o laws --gpu=a100-sxm --name=mine \
  --prompt-length='lognormal(150, 80, 1024)' --response-length='uniform(64, 512)'
grep -q 'uniform(64, 512)' laws/mine.workload && grep -q a100 laws/mine.cluster
result $? "flags say what the configuration does not"

# 64 prompts x 4 answers / 4 steps / 6 replicas are no whole number; with 72 they
# are 12.  Generation apart without GPUs of its own is told, not refused.
cat >six.sh <<'EOF'
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \
  data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=16 \
  actor_rollout_ref.rollout.n=4 trainer.n_gpus_per_node=6 \
  actor_rollout_ref.hybrid_engine=False \
  actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct
EOF
run import six.sh -o . --format=tsv
grep -q '^prompts = 72$' six.workload &&
  grep -q '^assumed.*prompts: 72 instead of 64' out
result $? "a batch that replicas do not divide is padded, and it is said"
grep -q '^approximated.*hybrid_engine.False.*on the GPUs of training' out
result $? "no GPUs of its own: generation is on those of training"

# ---- out, and in again ------------------------------------------------------

fingerprint() { "$reallot" simulate --fingerprint "$1"; }
survives() { # NAME
  run export "$1.plan" --to=verl -o "$1-out.sh" --format=tsv
  [ "$rc" -eq 0 ] && [ "$(wc -l <out)" -le 2 ]
  result $? "$1: nothing is lost on the way out"
  sed 's/^/# /' out
  "$reallot" import "$1-out.sh" -o again --name="$1" >/dev/null
  grep -v '^#' "again/$1.plan" >a
  grep -v '^#' "$1.plan" | diff a - >differ
  [ ! -s differ ] && [ -s a ]
  result $? "$1: the same plan comes in again"
  sed 's/^/# /' differ
  fingerprint "$1.plan" >print
  [ -s print ] && fingerprint "again/$1.plan" | cmp -s - print
  result $? "$1: and the same iteration"
  "$reallot" export "$1.plan" -o "$1-out.yaml" >/dev/null &&
    "$reallot" import "$1-out.yaml" -o yaml --name="$1" >/dev/null
  grep -v '^#' "yaml/$1.plan" | cmp -s - a
  result $? "$1: as YAML, too"
}
survives verl-grpo-qwen2-7b
survives verl-grpo-megatron
survives verl-ppo-qwen2.5-32b

# Dynamic batches are dynamic again, in every call.  Training of dynamic.sh has
# 256 x 8 / 4 mini-batches / 16 replicas = 32 sequences of 102 + 262 x 2^0.65 =
# 513 tokens in the mean: 1.1 times its bound, so two micro-batches, whose bound
# has room for half a one: 32 x 512.9 / 1.5, as laws end at their limits.  All of alone.sh fits in one micro-batch.
cat >dynamic.sh <<'EOF'
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \
  data.train_batch_size=256 data.max_prompt_length=1024 \
  data.max_response_length=2048 actor_rollout_ref.rollout.n=8 \
  actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \
  actor_rollout_ref.actor.ppo_mini_batch_size=64 \
  actor_rollout_ref.actor.use_kl_loss=True \
  actor_rollout_ref.actor.use_dynamic_bsz=True \
  actor_rollout_ref.actor.ppo_max_token_len_per_gpu=14336 \
  trainer.n_gpus_per_node=8 trainer.nnodes=2
EOF
sed 's|=grpo|=gae critic.model.path=Qwen/Qwen2.5-7B-Instruct|
  s|rollout.n=8|rollout.n=1|' dynamic.sh >alone.sh
for name in dynamic alone; do
  run import $name.sh -o .
  # all but generate, whose batches are no micro-batches
  calls=$(grep -c '^micro-batches' $name.plan)
  [ "$calls" -ge 4 ] &&
    [ "$(grep -c '^balance = tokens$' $name.plan)" -eq $((calls - 1)) ]
  result $? "$name: tokens bound the micro-batches of every call"
  survives $name
done
survives verl-submit
is 2 actor_train micro-batches dynamic
is 1 critic_train micro-batches alone
grep -q 'actor.ppo_max_token_len_per_gpu=10941 ' dynamic-out.sh &&
  ! grep -q micro_batch_size dynamic-out.sh alone-out.sh
result $? "their bound has room for samples above the mean"
# verl refuses a bound below the longest sequence: (2048 + 20480) / cp 4.
"$reallot" import "$data/verl-submit.sh" -o . --name=long \
  --response-length='lognormal(7987, 4553, 20480)' >/dev/null
run export long.plan --to=verl -o long-out.sh
grep -q 'actor.ppo_max_token_len_per_gpu=5632 ' long-out.sh
result $? "no bound is below the longest sequence"
run export alone.plan --set 'call critic_train.balance=sequences' -o mixed.sh \
  --format=tsv
grep -q 'critic.use_dynamic_bsz=False' mixed.sh &&
  grep -q 'critic.ppo_micro_batch_size_per_gpu=4 ' mixed.sh &&
  grep -q '^\[call critic_inference\]	balance	tokens	' out
result $? "micro-batches in place of a bound are a line"
# The reward model of 2025 is an engine like the others.
sed 's|=gae|& reward_model.enable=True reward_model.model.path=Qwen/Qwen3-8B|' \
  alone.sh >judge.sh
run import judge.sh -o .
run export judge.plan --to=verl@2025-07 -o judge-out.sh --format=tsv
[ "$rc" -eq 0 ] && [ "$(wc -l <out)" -le 2 ] &&
  grep -q 'reward_model.use_dynamic_bsz=True' judge-out.sh &&
  grep -q 'reward_model.forward_max_token_len_per_gpu=[0-9]' judge-out.sh
result $? "a reward model's are dynamic, too"
sed 's/^/# /' out

# The other frameworks, from a configuration of theirs.
comes_back() { # FILE TARGET
  local name=${1%.*}-back
  run import "$data/$1" -o . --name="$name" --force
  run export "$name.plan" --to="$2" -o "$name.sh" --format=tsv
  [ "$rc" -eq 0 ] && [ "$(wc -l <out)" -le 2 ]
  result $? "$2: nothing of $1 is lost on the way out"
  sed 's/^/# /' out
  "$reallot" import "$name.sh" -o again --name="$name" --force >/dev/null
  grep -v '^#' "again/$name.plan" >a
  grep -v '^#' "$name.plan" | diff a - >differ
  [ ! -s differ ] && [ -s a ]
  result $? "$2: the plan of $1 comes in again"
  sed 's/^/# /' differ
}
comes_back slime-grpo-qwen3-8b.sh slime@2026-08
grep -q '^ *--colocate ' slime-grpo-qwen3-8b-back.sh
result $? "slime: a switch has no value"
comes_back nemo-rl.yaml nemo-rl
comes_back openrlhf-dotted.sh openrlhf@2026-08
comes_back openrlhf-flat.sh openrlhf@0.9.9

# A plan of our own, Megatron and FSDP in one run, changed until verl can say it.
works export "$plans/grpo-qwen2.5-7b-32.plan"
grep -q '^# \[call ref_inference\] *mesh *node\[2-3\] *node\[0-3\]' out
result $? "a mesh that verl has not is a line"
grep -q '^# \[workload\] *response-length *lognormal(320, 200, 1024) *lognormal(262, 149, 1024)' out
result $? "so is a law of lengths"
# One fault that the comparison must find: a key that is not exported.
"$reallot" export verl-grpo-megatron.plan --set 'call actor_train.launch=graph' \
  -o x.sh --format=tsv >out
grep -q 'actor_train.*launch.graph' out
result $? "what no flag says is found"
run export "$plans/sft-llama3-8b-8.plan"
[ "$rc" -eq 1 ] && grep -q 'no model both generates' err
result $? "what verl does not do is exit status 1"
fails "unknown 'nobody', expected one of verl, nemo-rl, openrlhf, slime" \
  export "$plan" --to=nobody
fails "'trl' is imported but not exported, expected one of verl, nemo-rl" \
  export "$plan" --to=trl
fails "slime, did you mean 'openrlhf'?" export "$plan" --to=openrlfh
fails "unknown 'verl@2019-01', expected one of verl@2026-08, verl@2026-01" \
  export "$plan" --to=verl@2019-01

# Every key that a version gets is one that hydra found in that version
# (tests/data/import/verl-keys.tsv); `++` adds those of open dictionaries.
unknown_keys() { # VERSION: keys of exports of all shipped plans
  for p in "$plans"/*.plan dynamic.plan alone.plan judge.plan; do
    "$reallot" export "$p" --to="verl@$1" 2>/dev/null
  done | sed -n 's/^ *\([a-z][a-zA-Z0-9_.]*\)=.*/\1/p' | sort -u >exported
  awk -F'\t' -v v="$1" '$2 ~ v { print $1 }' "$data/verl-keys.tsv" |
    sort -u >known
  [ "$(wc -l <exported)" -gt 40 ] && comm -23 exported known
}
for version in 2026-08 2026-01 2025-07; do
  [ -z "$(unknown_keys $version)" ]
  result $? "exports to verl@$version set keys that it has"
done
# The fault to find: keys of one version in another.
cp exported older
awk -F'\t' '$2 ~ "2026-08" { print $1 }' "$data/verl-keys.tsv" | sort -u |
  comm -13 - older | grep -q '^critic.model.fsdp_config'
result $? "a key that is gone is found"
grep -q one_step_off "$(
  "$reallot" export "$plans/grpo-qwen2.5-32b-128-async.plan" -o apart.sh \
    >/dev/null
  echo apart.sh
)" && grep -q 'rollout.nnodes=8' apart.sh && grep -q 'trainer.nnodes=8' apart.sh
result $? "a pool of its own for generation is the one-step-off trainer"

# Bad input: one line, exit status 2, nothing written.
refuses() { # MESSAGE FILE
  fails "$1" import "$2" -o never
  [ ! -e never ]
  result $? "$2: nothing is written"
}
launch='python3 -m verl.trainer.main_ppo trainer.nnodes=1'
echo 'This is a letter.' >letter.yaml
echo 'dear sir or madam' >letter.sh
truncate -s 100M large.sh large.yaml
printf '%s \\\n  trainer.n_gpus_per_no' "$launch" >cut.sh
printf 'policy:\n  model_name: "Qwen' >cut.yaml
printf '%s\n' 'A=x; while true; do A=$A$A; done' "$launch" >grows.sh
printf '%s\n' 'f() { f; }; f' "$launch" >calls.sh
echo 'source sources.sh' >sources.sh
printf 'defaults: two.yaml\ngrpo: {}\n' >one.yaml
printf 'defaults: one.yaml\n' >two.yaml
echo 'policy: {a: "${policy.b}", b: "${policy.a}"}' >refers.yaml
awk 'BEGIN { for (i = 0; i < 100001; i++) print "k" i ": 1" }' >many.yaml
awk 'BEGIN { for (; i < 200; i++) printf "%*sa:\n", i, "" }' >deep.yaml
refuses 'letter.yaml:1: expected keys and values' letter.yaml
refuses 'letter.sh: no training program is started' letter.sh
refuses 'large.sh: file is larger than' large.sh
refuses 'large.yaml: file is larger than' large.yaml
refuses "cut.sh:2: 'trainer.n_gpus_per_no' has no value" cut.sh
refuses 'cut.yaml:2: no YAML' cut.yaml
refuses 'grows.sh:1: a value has more than 1 MiB' grows.sh
refuses 'calls.sh:1: calls nested deeper than' calls.sh
refuses "sources.sh:1: 'sources.sh' sources itself" sources.sh
refuses "'defaults' leads back to" one.yaml
refuses "refers.yaml:1: 'policy.a' refers to itself" refers.yaml
refuses 'many.yaml:100001: more than 100000 settings' many.yaml
refuses 'deep.yaml:101: nested deeper than 100' deep.yaml

echo "1..$n"
