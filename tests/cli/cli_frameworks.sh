#!/bin/bash
# Configurations of slime, AReaL, ROLL, SkyRL and TRL: examples in their form
# come in and are simulated, with values that are derived here by hand; SFT, DPO
# and reward models are plans of their own; what is no training is refused.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

data=$srcdir/tests/data/import

value() { # CALL KEY PLAN
  awk -v group="[call $1]" -v key="$2" '$0 ~ /^\[/ { on = $0 == group }
    on && $1 == key { print $3 }' "$3"
}
is() { # WANT CALL KEY PLAN: the plan's value, '' for none
  [ "$(value "$2" "$3" "$4.plan")" = "$1" ]
  result $? "$4: $2 has $3 = $1"
}
says() { # LINE NAME: of its workload
  grep -qx -- "$1" "$2.workload"
  result $? "$2: $1"
}

# Every key is known, what is lost is nothing, and the plan is simulated (exit
# 1: it does not fit, which is an answer).
comes_in() { # FRAMEWORK FILE
  local name=${2%.*}
  run import "$data/$2" -o . --format=tsv --force
  [ "$rc" -eq 0 ] && [ ! -s err ] && ! grep -q -e ^unknown -e ^lost out &&
    grep -q "($1)" "$name.plan"
  result $? "import $2 of $1"
  grep -h -e ^unknown -e ^lost out err | sed 's/^/# /'
  run simulate "$name.plan" --iterations=1 --fidelity=call
  [ "$rc" -le 1 ] && [ ! -s err ]
  result $? "the plan of $2 is simulated"
  sed 's/^/# /' err
}
changed() { # FILE SED: FILE so changed, imported as x
  local suffix=${1##*.}
  sed "$2" "$data/$1" >"x.$suffix"
  run import "x.$suffix" -o . --name=x --format=tsv --force
  [ "$rc" -eq 0 ] || sed 's/^/# /' err
}
tells() { # EFFECT KEY: out has a line about the key
  grep -q "^lost.$1.[^	]*.$2	" out
  result $? "$2 is told, as it changes $1"
}
answers() { # PATTERN MESSAGE: the script of a command is refused
  printf '%s\n' "$1" >no.sh
  fails "$2" import no.sh -o never
}

# ---- slime ------------------------------------------------------------------

comes_in slime slime-grpo-qwen3-8b.sh
# 8 GPUs / (tp 2 x cp 2) = 2 replicas; 32 prompts x 8 / 128 = 2 steps of 64
# sequences a replica, of 0.10 x 1024 + 0.64 x 7168 = 4690 tokens in the mean, as
# it thinks; a micro-batch has 8192 x cp 2 tokens: 18.3 of them, so 19, and 37
# for 128 sequences in one piece.
is 2 actor_train dp slime-grpo-qwen3-8b
is 19 actor_train micro-batches slime-grpo-qwen3-8b
is 37 actor_inference micro-batches slime-grpo-qwen3-8b
says 'mini-batches = 2' slime-grpo-qwen3-8b
# 8 GPUs / 2 an engine; colocated training sleeps on the host.
is 4 actor_generate dp slime-grpo-qwen3-8b
is host actor_train residency slime-grpo-qwen3-8b
is full actor_train recompute slime-grpo-qwen3-8b
# Engines of 2 GPUs with data-parallel attention: 8 replicas, with half of the
# chunk of 8192 tokens each.
changed slime-grpo-qwen3-8b.sh \
  's/--sglang-mem/--sglang-enable-dp-attention --sglang-dp-size 2 --sglang-mem/'
is 8 actor_generate dp x
is 1 actor_generate tp x
is 4096 actor_generate prefill-tokens x
# MTP layers guess three tokens, of which 0.773 are accepted, as SkyRL measured;
# what is looked up has no such figure.
changed slime-grpo-qwen3-8b.sh \
  's/--sglang-mem/--sglang-speculative-algorithm EAGLE --sglang-speculative-eagle-topk 1 --sglang-mem/'
says 'draft-tokens = 3' x
says 'draft-accepted = 0.773' x
changed slime-grpo-qwen3-8b.sh \
  's/--sglang-mem/--sglang-speculative-algorithm EAGLE --sglang-speculative-num-steps 5 --sglang-mem/'
says 'draft-tokens = 5' x
changed slime-grpo-qwen3-8b.sh \
  's/--sglang-mem/--sglang-speculative-algorithm NGRAM --sglang-mem/'
! grep -q draft-tokens x.workload && grep -q 'drafts: none' out
result $? "slime: drafts that are looked up are a note"
# Ends of the model stay in bf16, a layer each where no number is given.
changed slime-grpo-qwen3-8b.sh \
  's/--sglang-mem/--fp8-format e4m3 --first-last-layers-bf16 --num-layers-at-end-in-bf16 4 --sglang-mem/'
is 1 actor_train bf16-first-layers x
is 4 actor_train bf16-last-layers x
# Moments of 16 bits are the precision-aware optimizer's alone, in Megatron too.
changed slime-grpo-qwen3-8b.sh \
  's/--sglang-mem/--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --sglang-mem/'
is remainders actor_train master-weights x
is bf16 actor_train moments-dtype x
changed slime-grpo-qwen3-8b.sh \
  's/--sglang-mem/--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --sglang-mem/'
is '' actor_train moments-dtype x
# One step an iteration: its log-probabilities are those of the loss.
changed slime-grpo-qwen3-8b.sh 's/--global-batch-size 128/--global-batch-size 256/'
[ -n "$(value ref_inference dp x.plan)" ] &&
  [ -z "$(value actor_inference dp x.plan)" ]
result $? "slime: one step has no log-probabilities before it"
# Engines apart: 4 + 4 GPUs are the halves of a node, one iteration ahead.
changed slime-grpo-qwen3-8b.sh 's/train.py/train_async.py/
  s/--actor-num-gpus-per-node 8/--actor-num-gpus-per-node 4/
  s/--colocate/--rollout-num-gpus 4/'
is 'node0:gpu[4-7]' actor_generate mesh x
is '' actor_train residency x
says 'staleness = 1' x
changed slime-grpo-qwen3-8b.sh \
  's/--sequence-parallel/& --partial-rollout --sglang-mem-fraction 1/
  s/--lr 1e-6/& --num-critic-only-steps 3 --log-probs-chunk-size 1024/'
tells time partial-rollout
tells memory log-probs-chunk-size
tells learning num-critic-only-steps
grep -q '^unknown.*1 keys' out
result $? "slime: a flag that nobody knows is counted"
# Linear layers in fp8: Megatron's recipe is delayed if none is set.
changed slime-grpo-qwen3-8b.sh 's/--sequence-parallel/& --fp8-format e4m3/'
is fp8 actor_train gemm-dtype x
is delayed actor_inference fp8-scaling x
is '' actor_train fp8-params x
changed slime-grpo-qwen3-8b.sh \
  's/--sequence-parallel/& --fp8-format e4m3 --fp8-recipe mxfp8/
  s/--sequence-parallel/& --fp8-param-gather/'
is '' actor_train fp8-scaling x
is true actor_train fp8-params x
grep -q '^approximated.*fp8-recipe	mxfp8	blockwise' out
result $? "slime: mxfp8 counts as blockwise, which is said"
sed 's/--sequence-parallel/& --fp8-format e5m2/' \
  "$data/slime-grpo-qwen3-8b.sh" >no.sh
fails 'expected e4m3 or hybrid' import no.sh -o never
sed 's/--sequence-parallel/& --fp8-format e4m3 --fp8-recipe fine/' \
  "$data/slime-grpo-qwen3-8b.sh" >no.sh
fails 'expected delayed, tensorwise, blockwise or mxfp8' \
  import no.sh -o never
# A checkpoint of one's own has the shape that the arguments say.
changed slime-grpo-qwen3-8b.sh 's/Qwen3-8B /mine-7 /
  s/--hidden-size 4096/& --ffn-hidden-size 12288/'
grep -q '^assumed.*model: Qwen/Qwen3-8B, which has the shape' out &&
  grep -q '^config = .*Qwen3-8B' x.workload
result $? "slime: the arguments of Megatron say the model's shape"
# Experts of an int4 checkpoint: 48 layers x 128 x 3 x 2048 x 768 weights, of
# which an engine's GPU has half, in 17/32 bytes, not 2: 20,304 MiB for keys and
# values.
kv() { # NAME: what the engine of an import has for them, MiB
  changed slime-grpo-qwen3-8b.sh "s/Qwen3-8B /$1 /; /--num-layers/d
    /--hidden-size/d"
  is "$2" actor_generate expert-dtype x
  kv=$(sed -n 's/^kv-memory = \([0-9]*\) MiB/\1/p' x.plan)
}
kv Qwen3-30B-A3B ''
plain=$kv
kv Qwen3-30B-A3B-INT4 mxfp4
[ $((kv - plain)) -eq 20304 ] && grep -q '^assumed.*int4 weights as mxfp4' out
result $? "slime: int4 experts leave $((kv - plain)) MiB more"
# Moonshot publishes these in int4.
for name in Kimi-K2-Thinking/ Kimi-K2.5; do
  changed slime-grpo-qwen3-8b.sh "s:Qwen3-8B :$name :; /--num-layers/d
    /--hidden-size/d"
  is mxfp4 actor_generate expert-dtype x
done
# A word of the file's name is a GPU; no part of a word, and not before --gpu.
for pair in "run_h20_grpo.sh h20" "grpo-H200.sh h200-sxm" \
  "run_h20x.sh h100-sxm" "run_h20_grpo.sh a100-sxm --gpu=a100-sxm"; do
  # shellcheck disable=SC2086
  set -- $pair
  cp "$data/slime-grpo-qwen3-8b.sh" "$1"
  run import "$1" -o . --name=x --format=tsv --force ${3-}
  [ "$rc" -eq 0 ] && grep -qx "gpu = $2" x.cluster
  result $? "$1 ${3-}: $2"
done
# miles: the model's arguments are a program's output.
sed 's/--rm-type math/"${MODEL_ARGS[@]}" &/
  s/^python3/read -ra MODEL_ARGS <<<"$(python3 args.py qwen3-8B)"\n&/' \
  "$data/slime-grpo-qwen3-8b.sh" >words.sh
run import words.sh -o . --name=words --format=tsv --force
[ "$rc" -eq 0 ] && grep -q "'\${MODEL_ARGS\[@\]}' is known only" out &&
  [ "$(tail -n +7 words.plan)" = "$(tail -n +7 slime-grpo-qwen3-8b.plan)" ]
result $? "slime: words that a program prints are none"
changed slime-grpo-qwen3-8b.sh 's/--rm-type math/--loss-type sft_loss/'
says 'dataset = pairs' x
is '' actor_generate dp x
run simulate x.plan -n 1 --fidelity=call
[ "$rc" -le 1 ] && [ ! -s err ]
result $? "slime: SFT is a plan without generation"

# ---- SkyRL ------------------------------------------------------------------

comes_in skyrl skyrl-grpo-qwen2.5-7b.sh
# 256 prompts x 8 on 16 GPUs; mini-batches of 64 x 8 / 16 = 32 sequences, 4 at a
# time; log-probabilities of 2048 / 16 = 128, 8 at a time.
is 8 actor_train micro-batches skyrl-grpo-qwen2.5-7b
is 16 actor_inference micro-batches skyrl-grpo-qwen2.5-7b
says 'mini-batches = 4' skyrl-grpo-qwen2.5-7b
is 'node[0-1]' actor_generate mesh skyrl-grpo-qwen2.5-7b
is 3 actor_train zero skyrl-grpo-qwen2.5-7b
comes_in skyrl skyrl-fully-async.sh
# Eight engines of one GPU behind the eight that train, tp 4 x dp 2; keys of
# answers in flight stay, as the cache is not cleared.
is node1 actor_generate mesh skyrl-fully-async
is in-flight actor_generate service skyrl-fully-async
is 2 actor_train dp skyrl-fully-async
says 'staleness = 2' skyrl-fully-async
comes_in skyrl skyrl-sft-qwen2.5-1.5b.sh
# 64 pairs over 4 GPUs, 4 at a time; 2048 tokens are halved.
is 4 actor_train micro-batches skyrl-sft-qwen2.5-1.5b
says 'prompt-length = fixed(1024)' skyrl-sft-qwen2.5-1.5b
# Keys of Megatron's TransformerConfig, of which these count.
kwargs=trainer.policy.megatron_config.transformer_config_kwargs
changed skyrl-grpo-qwen2.5-7b.sh "s/trainer.strategy=fsdp/trainer.strategy=megatron $kwargs.fp8=e4m3 $kwargs.fp8_recipe=tensorwise/"
is fp8 actor_train gemm-dtype x
is tensorwise actor_train fp8-scaling x
sed 's/num_engines=8/num_engines=4/' "$data/skyrl-grpo-qwen2.5-7b.sh" >half.sh
fails "num_engines' is '4', expected as many GPUs for engines" \
  import half.sh -o never
answers 'python -m skyrl.train.entrypoints.main_generate trainer.policy.model.path=a' \
  'is generation alone, expected training'

answers 'python -m skyrl.train.entrypoints.main_on_policy_distill trainer.policy.model.path=a' \
  'is distillation, expected training'
# Groups of 8 on engines that have 4 sequences: nothing is shared.
changed skyrl-grpo-qwen2.5-7b.sh 's/train_batch_size=256/train_batch_size=8/
  s/mini_batch_size=64/mini_batch_size=8/; s/num_engines=8/num_engines=16/
  s/tensor_parallel_size=2/tensor_parallel_size=1/; s/gpu=8/gpu=4/'
is '' actor_generate prefix-sharing x

# ---- ROLL -------------------------------------------------------------------

comes_in roll roll-rlvr-qwen2.5-7b.yaml
# 16 GPUs / tp 2 = 8 replicas; a step takes 2 x 16 sequences of each, 256 of 512:
# two steps, each of 16 micro-batches of 2; the reference's 64 are 8 of 8.
is 8 actor_train dp roll-rlvr-qwen2.5-7b
is 16 actor_train micro-batches roll-rlvr-qwen2.5-7b
says 'mini-batches = 2' roll-rlvr-qwen2.5-7b
is 8 ref_inference micro-batches roll-rlvr-qwen2.5-7b
# Engines have training's layout, so their weights rest where training's do.
is host actor_generate residency roll-rlvr-qwen2.5-7b
# 12 GPUs, beside 4 for a judge, are no mesh of nodes of 8, nor can six engines
# share 512 sequences: nodes of 4, and four engines on 8 GPUs.
changed roll-rlvr-qwen2.5-7b.yaml '/strategy_name: vllm/,/device_mapping/ s/(0,16)/(0,12)/'
is 'node[0-1]' actor_generate mesh x
is 4 actor_generate dp x
grep -q 'gpus-per-node = 4' x.cluster && grep -q '4 of 6 engines' out
result $? "ROLL: fewer engines and smaller nodes are told"
comes_in roll roll-sft-qwen3-8b.yaml
# 2 x 4 sequences of 8 GPUs, 2 at a time.
says 'prompts = 64' roll-sft-qwen3-8b
is 4 actor_train micro-batches roll-sft-qwen3-8b
comes_in roll roll-dpo-llama-3-8b.yaml
# 1 x 8 comparisons of 4 replicas, each of two answers, which go together.
says 'prompts = 32' roll-dpo-llama-3-8b
says 'samples-per-prompt = 2' roll-dpo-llama-3-8b
is 8 actor_train micro-batches roll-dpo-llama-3-8b
printf 'student:\n  device_mapping: list(range(0,8))\n' >distill.yaml
fails 'is distillation, expected training by RL' import distill.yaml -o never

# ---- AReaL ------------------------------------------------------------------

comes_in areal areal-grpo-qwen2.5-7b.yaml
# fsdp:d8 on the first node, sglang:d4t2 on the second; 128 x 8 / 2 / 8 = 64
# sequences of 0.10 x 1024 + 262 x 2^0.65 = 513 tokens in the mean, which fill
# 12,288 2.7 times: 3.
is node0 actor_train mesh areal-grpo-qwen2.5-7b
is node1 actor_generate mesh areal-grpo-qwen2.5-7b
is 4 actor_generate dp areal-grpo-qwen2.5-7b
is 3 actor_train micro-batches areal-grpo-qwen2.5-7b
is 3 actor_train zero areal-grpo-qwen2.5-7b
is interrupt actor_generate service areal-grpo-qwen2.5-7b
says 'staleness = 2' areal-grpo-qwen2.5-7b
# The same GPUs, in the older form: generation and training by turns.
changed areal-grpo-qwen2.5-7b.yaml '/backend:/d
  1i allocation_mode: vllm:d2t4|fsdp:d4t2
  s/offpolicyness: 2/offpolicyness: 0/'
is node0 actor_generate mesh x
is 4 actor_generate tp x
is 4 actor_train dp x
is 2 actor_train tp x
is '' actor_generate service x
# Turns on shared GPUs leave no staleness.
changed areal-grpo-qwen2.5-7b.yaml '/backend:/d
  1i allocation_mode: "sglang[rollout]:d4t2|fsdp[actor]:d8"'
is 8 actor_train dp x
is '' actor_generate service x
grep -q '^approximated.*max_head_offpolicyness.*take turns' out
result $? "AReaL: shared GPUs take turns, which is told"
# Degrees of attention and of experts: 2 x 2 x 2 GPUs, experts over four.
changed areal-grpo-qwen2.5-7b.yaml 's/"fsdp:d8p1t1"/"megatron:d2p2t2"/'
is 2 actor_train pp x
is 1 actor_train zero x
changed areal-grpo-qwen2.5-7b.yaml 's/"fsdp:d8p1t1"/"megatron:d2p2t2"/
  /^actor:/a\  megatron:\n    use_precision_aware_optimizer: true\n    exp_avg_dtype: bfloat16\n    exp_avg_sq_dtype: bfloat16'
is remainders actor_train master-weights x
is bf16 actor_train moments-dtype x
# Megatron's fp8: the standard recipe, and one that is named.
changed areal-grpo-qwen2.5-7b.yaml 's/"fsdp:d8p1t1"/"megatron:d2p2t2"/
  /^actor:/a\  megatron:\n    fp8_config:\n      param: true'
is fp8 actor_train gemm-dtype x
is delayed actor_train fp8-scaling x
is true actor_train fp8-params x
changed areal-grpo-qwen2.5-7b.yaml 's/"fsdp:d8p1t1"/"megatron:d2p2t2"/
  /^actor:/a\  megatron:\n    fp8_config:\n      recipe: tensorwise\n      first_last_layers_bf16: true'
is tensorwise actor_train fp8-scaling x
is 1 actor_train bf16-first-layers x
is 1 actor_train bf16-last-layers x
comes_in areal areal-rw-qwen2.5-7b.yaml
is 2 actor_train pp areal-rw-qwen2.5-7b
says 'head = value' areal-rw-qwen2.5-7b
sed 's/megatron:d2p2t2/megatron:d2x2/' "$data/areal-rw-qwen2.5-7b.yaml" >x.yaml
fails "'allocation_mode' is 'megatron:d2x2', expected a back end" \
  import x.yaml -o never

# ---- TRL --------------------------------------------------------------------

comes_in trl trl-grpo-qwen2.5-7b.sh
# 4 x 8 steps on 8 GPUs are 256 sequences, 16 prompts of 16; two optimizer steps
# of 4 x 4 sequences a GPU, 4 at a time.
says 'prompts = 16' trl-grpo-qwen2.5-7b
says 'mini-batches = 2' trl-grpo-qwen2.5-7b
is 4 actor_train micro-batches trl-grpo-qwen2.5-7b
is 3 actor_train zero trl-grpo-qwen2.5-7b
# A process's 4 x 8 sequences, for the two of an engine: 64.
is 64 actor_generate max-sequences trl-grpo-qwen2.5-7b
[ -n "$(value ref_inference dp trl-grpo-qwen2.5-7b.plan)" ]
result $? "TRL: a beta above 0 brings the reference"
changed trl-grpo-qwen2.5-7b.sh '/--beta/d; s/--vllm_mode colocate/--vllm_mode server/
  s/--num_processes 8/--num_processes 4/; s/--vllm_tensor_parallel_size 2/--tensor_parallel_size 4/'
is 'node0:gpu[4-7]' actor_generate mesh x
[ -z "$(value ref_inference dp x.plan)" ]
result $? "TRL: a server is apart, and without a beta there is no reference"
# Without shards or DeepSpeed a model in 16 bits is stepped itself; with ZeRO 3
# it has fp32 masters whatever its type.
changed trl-grpo-qwen2.5-7b.sh 's/--beta/--dtype bfloat16 --beta/'
is '' actor_train master-weights x
changed trl-grpo-qwen2.5-7b.sh 's/zero3/multi_gpu/
  s/--beta/--dtype bfloat16 --beta/'
is none actor_train master-weights x
is bf16 actor_train moments-dtype x
changed trl-grpo-qwen2.5-7b.sh 's/zero3/multi_gpu/'
is '' actor_train master-weights x
comes_in trl trl-dpo-llama-3-8b.sh
# 2 x 8 comparisons of 4 GPUs; both answers of two at a time.
says 'prompts = 64' trl-dpo-llama-3-8b
is 8 actor_train micro-batches trl-dpo-llama-3-8b
is 2 actor_train zero trl-dpo-llama-3-8b
says 'base-of = actor' trl-dpo-llama-3-8b
says 'lora-targets = q, v' trl-dpo-llama-3-8b
comes_in trl trl-sft.yaml
is 2 actor_train micro-batches trl-sft
answers 'trl kto --model_name_or_path a --dataset_name b' \
  'is kto, expected training by RL, SFT, DPO'

# XPO and Nash-MD are online DPO but for who gives the second answer, which is
# said.  A system is of vLLM: generate() of transformers has none.
for name in xpo nash_md; do
  echo "python examples/scripts/$name.py --reward_model_path" \
    'EleutherAI/pythia-1b --model_name_or_path EleutherAI/pythia-1b' >$name.sh
  run import $name.sh -o . --force
  says 'samples-per-prompt = 2' $name
  grep -q 'generate: the actor gives both responses' out
  result $? "TRL, $name: the second answer is the actor's here"
  ! grep -q '^system' $name.plan
  result $? "TRL, $name: no engine, no system"
done
grep -q '^system = trl$' trl-grpo-qwen2.5-7b.plan
result $? "TRL: the system of vLLM"

# A flag's words are one list; the rank is TRL's default.
echo 'trl dpo --model_name_or_path Qwen/Qwen2.5-7B --use_peft' \
  '--lora_target_modules "q_proj", "k_proj" v_proj --num_processes 4' >peft.sh
run import peft.sh -o . --force
says 'lora-rank = 16' peft
says 'lora-targets = q, k, v' peft

printf '%s\n' 'trl vllm-serve --model m --a 1 --b 2 --c 3 --d 4 &' \
  'trl grpo --model_name_or_path Qwen/Qwen2.5-7B --num_processes 4 --beta 0' \
  >command.sh
run import command.sh -o . --force
says 'algorithm = grpo' command
is 4 actor_train dp command

run import "$data/trl-sft.yaml" --from=nobody -o never
for name in slime skyrl roll areal trl; do
  grep -q "$name" err
  result $? "--from lists $name"
done

echo "1..$n"
