#!/bin/bash
# front_door.sh [--keys] FOLDER...: how much of the frameworks' own scripts and
# recipes `reallot import` takes, run in a build folder.
#
#     cd build && ../bench/peer/front_door.sh ~/verl ~/NeMo-RL >front-door.tsv
#
# Prints one row a file and one a framework, then bars over the frameworks that
# were asked for first (verl to ReaLHF) and the others; exit status 1 if a bar is
# missed.  --keys adds the most frequent reasons.  Progress is on stderr.
#
# A file is *.sh, *.yaml or *.yml outside hidden folders and outside tests/ (but
# verl's tests/special_*, which are whole runs); of TRL, which has no scripts,
# each command in the texts of its scripts and of its docs (FILE#LINE).  Its
# framework and kind come from this rule, from its text without comments; the
# first line that is true:
#
#  script  entry point                                     framework  kind
#          openrlhf.cli.train_{ppo_ray,sft,dpo,rm,kto..}   openrlhf   by name
#          realhf.apps.quickstart {ppo,sft,dpo,rw,gen}     realhf     by name
#          trl {grpo,sft..}, scripts/{grpo,sft..}.py       trl        by name
#          verl..sft_trainer, main_generation, main_eval   verl       sft, eval
#          trainer.val_only=True                           verl       eval
#          main_gkd                                        verl       distillation
#          diffusion models (dance)                        verl       other
#          python .. main_*, *_main, verl.trainer.*        verl       rl
#          with actor_rollout_ref.*
#          either, without the other                       verl       launch
#          *.main_* of skyrl, trainer.policy.model.path    skyrl      by name
#          --actor-num-nodes, --rollout-batch-size         slime      by name
#          start_*_pipeline.py                             roll       launch
#          bash FILE, python .. --config FILE alone        -          launch
#          run_{grpo,..}.py --config                       nemo-rl    launch
#          anything else                                   -          other
#  recipe  policy + {grpo,ppo,sft,dpo,rm,distillation},    nemo-rl    by name or
#          or `defaults` that is a file                               key
#          actor_train + actor_infer, sft_train, student   roll       by name
#          experiment_name + trial_name + actor            areal      by name
#          .. eval, or in evals/                           nemo-rl    eval
#          actor_rollout_ref, `defaults` with ppo_trainer  verl       part
#          anything else                                   -          other
#
# "by name": grpo.. first, then sft, dpo, rm or rw, distill or mopd, eval or
# generate in the entry point or the file's name, else rl.  "part" is composed by something else and "launch"
# only names a recipe, which is a row of its own: neither counts.
#
# A file whose model is open (not set, `/path/to/model`, a checkpoint of the
# author's) names none: it counts as not imported as it is.
#
# --model: where only a model's name is unknown, import again with the shipped
# config whose size is nearest to the one in the name (8B if it has none).
#
# A table says of every file that does not fit what it needs, has and lacks on
# the largest GPU that was tried, what of, and why (why_of below).
#
# fits: on the GPU that the file names (gpu_of below), yes or no.  A file
# that names none is tried on GPUs of 80, 96, 141 and 180 GB: yes, the first that
# it fits, or no.  In brackets, and not judged: with a model of another size, or
# on hardware without a profile (-).
set -u
reallot=$PWD/reallot
srcdir=$(cd "$(dirname "$0")/../.." && pwd)
export RA_DATA_PATH=${RA_DATA_PATH:-$srcdir/share:$srcdir/traces} LC_ALL=C
keys=no
[ "${1-}" = --keys ] && keys=yes && shift
if [ $# -eq 0 ] || [ ! -x "$reallot" ]; then
  echo "usage: front_door.sh [--keys] FOLDER..., in a build folder" >&2
  exit 2
fi
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT

# FILE FRAMEWORK KIND of every file named on stdin.
classify() {
  # shellcheck disable=SC2016
  tr '\n' '\0' | xargs -0 -r awk '
    function by_name(text) {
      if (text ~ /^(vlm_)?(grpo|dapo|ppo)[-_]/) return "rl"
      if (text ~ /sft/) return "sft"
      if (text ~ /(^|[^a-z])dpo/) return "dpo"
      if (text ~ /(train_|run_|^|[-_])(rm|rw|kto|prm)([-_.]|$)/) return "rm"
      if (text ~ /distill?(ation)?|mopd/ && text !~ /deepseek-?r1-?distill/)
        return "distillation"
      if (text ~ /serve_rm|main_generate|run_eval|agent_rollout|profile|(^|[-_.])gen([-_.]|$)/)
        return "eval"
      return "rl"
    }
    function flush(    base, name) {
      if (file == "") return
      base = tolower(file); sub(/.*\//, "", base)
      name = base; sub(/\.[a-z]+$/, "", name); sub(/from_sft/, "", name)
      framework = "-"; kind = "other"
      if (file ~ /\.(sh|trl#[0-9]+)$/) script(name); else recipe(name)
      print file "\t" framework "\t" kind
    }
    # Trainers of TRL that generate; the name of its script or command.
    function of_trl(entry) {
      sub(/.*[\/ ]/, "", entry); sub(/\.py$/, "", entry)
      if (entry ~ /^(async_)?(grpo|rloo|ppo|gspo|online_dpo|nash_md|xpo)(_|$)/)
        return "rl"
      if (entry ~ /^(kto|cpo|orpo|bco|prm|reward|gkd|gold|mpo|tpo)/) return "rm"
      return entry ~ /^(sft|dpo)/ ? substr(entry, 1, 3) : "other"
    }
    function script(name,    entry) {
      if (file ~ /\.trl#/ && match(text,
          /(scripts\/([a-z_]+\/)?[a-z_0-9]+\.py|trl [a-z]+)/)) {
        framework = "trl"; kind = of_trl(substr(text, RSTART, RLENGTH))
        if (text !~ /--(model|reward|sft|num_|max_)/) kind = "launch"
      } else if (match(text, /openrlhf\.cli\.[a-z_]+/)) {
        framework = "openrlhf"
        kind = by_name(substr(text, RSTART, RLENGTH))
      } else if (match(text, /realhf\.apps\.quickstart[ \\]+[a-z]+/)) {
        framework = "realhf"
        entry = substr(text, RSTART + 22, RLENGTH - 22)
        gsub(/[ \\]/, "", entry)
        kind = by_name(entry)
      } else if (text ~ /realhf\.apps|customized_exp\/|new_algorithms\//) {
        framework = "realhf"; kind = by_name(name)
      } else if (text ~ /verl[a-z_.]*sft_trainer|verl_mlite/ && name ~ /sft/ ||
                 text ~ /verl\.trainer[a-z_.]*sft_trainer/) {
        framework = "verl"; kind = "sft"
      } else if (text ~ /verl\.trainer\.main_(generation|eval)|val_only=True/ &&
                 text !~ /verl\.trainer\.main_ppo/) {
        framework = "verl"; kind = "eval"
      } else if (text ~ /main_gkd/) {
        framework = "verl"; kind = "distillation"
      } else if (text ~ /main_dance/) {
        framework = "verl"
      } else if (text ~ /val_only=True/) {
        framework = "verl"; kind = "eval"
      } else if (text ~ /actor_rollout_ref\./ && text ~ /python|verl\.|\$\{?CMD/) {
        framework = "verl"; kind = name ~ /^eval/ ? "eval" : "rl"
      } else if (text ~ /verl\.trainer\.main_ppo|actor_rollout_ref\./) {
        framework = "verl"; kind = "launch"
      } else if (match(text, /(entrypoints?|skyrl\.train|callbacks)\.main_[a-z_]+/) ||
                 text ~ /trainer\.policy\.model\.path/) {
        framework = "skyrl"
        kind = by_name(RLENGTH > 0 ? substr(text, RSTART, RLENGTH) : name)
        if (kind == "rl") kind = by_name(name)
      } else if (text ~ /--(actor-num-nodes|rollout-batch-size)/) {
        framework = "slime"
        kind = name ~ /sft/ ? "sft" : "rl"
      } else if (text ~ /start_[a-z_]*pipeline\.py/) {
        framework = "roll"; kind = "launch"
      } else if (text ~ /run_(grpo|ppo|sft|dpo|rm|distillation|eval)[a-z_]*\.py/) {
        framework = "nemo-rl"; kind = "launch"
      } else if (text ~ /(^|\n)(bash|sh) [^ \n]+\.sh|--config [^ \n]+\.ya?ml/) {
        kind = "launch"
      }
    }
    function recipe(name,    i) {
      for (i in other) if (other[i] in key) return
      if ("actor_rollout_ref" in key || "ppo_trainer" in key) {
        framework = "verl"; kind = "part"
      } else if ("experiment_name" in key && "trial_name" in key &&
                 "actor" in key) {
        framework = "areal"; kind = by_name(name)
      } else if ("sft_train" in key || "student" in key || "student_train" in key ||
                 "actor_train" in key && ("actor_infer" in key || name ~ /dpo/)) {
        framework = "roll"
        kind = "sft_train" in key ? "sft" : "actor_train" in key ? "rl" : "distillation"
        if (kind == "rl") kind = by_name(name)
      } else if ("policy" in key || parent != "") {
        framework = "nemo-rl"
        if (name ~ /^mopd/) kind = "distillation"
        else if ("eval" in key || file ~ /\/evals\//) kind = "eval"
        else if ("grpo" in key || "ppo" in key) kind = "rl"
        else if ("sft" in key) kind = "sft"
        else if ("dpo" in key) kind = "dpo"
        else if ("rm" in key) kind = "rm"
        else if ("distillation" in key) kind = "distillation"
        else kind = by_name(name)
        if (kind == "rl" && parent != "" && by_name(parent) != "rl" &&
            !("grpo" in key)) kind = by_name(parent)
      }
    }
    BEGIN { other[1] = "jobs"; other[2] = "run"; other[3] = "apiVersion"
            other[4] = "compute_environment"; other[5] = "repos" }
    FNR == 1 { flush(); file = FILENAME; text = parent = ""; split("", key); list = 0 }
    /^[ \t]*#/ { next }
    file ~ /\.(sh|trl#[0-9]+)$/ { text = text $0 "\n"; next }
    list && /^[ ]*-[ ]*ppo_(megatron_)?trainer$/ { key["ppo_trainer"] = 1 }
    list && /^[ ]*-[ ]/ {
      parent = tolower($2); sub(/.*\//, "", parent)
      if (parent !~ /\.ya?ml/) parent = ""
      list = 0
      next
    }
    { list = 0 }
    match($0, /^[A-Za-z_]+:/) {
      name = substr($0, 1, RLENGTH - 1); key[name] = 1
      if (name == "defaults" && NF > 1) parent = tolower($2)
      if (name == "defaults" && NF == 1) list = 1
      sub(/.*\//, "", parent)
      if (parent !~ /\.ya?ml/) parent = ""
    }
    END { flush() }'
}

# The shipped config nearest to the size in NAME, and its role, from a message.
model_for() { # MESSAGE FILE
  printf '%s\n%s\n' "$1" "$2" | awk '
    function size(text) {
      text = tolower(text)
      if (text ~ /a[0-9]+b|moe|gpt.?oss|moonlight|671b|kimi|glm-?[45]|minimax/ ||
          text ~ /deepseek.?v[34]|dsv3|hy.?v?3|nemotron.?3|nanov3|super-omni/)
        moe = 1
      if (text ~ /30b-?_?a3b/) return 30.5
      if (!match(text, /[0-9]+([._p][0-9]+)?b([^a-z]|a[0-9]|$)/)) return 0
      text = substr(text, RSTART, RLENGTH); sub(/[_p]/, ".", text)
      return text + 0
    }
    NR == 1 {
      role = "actor"
      if (match($0, /model of the [a-z]+:/))
        role = substr($0, RSTART + 13, RLENGTH - 14)
      quoted = $0; sub(/[^\047]*\047/, "", quoted); sub(/\047.*/, "", quoted)
      b = size(quoted)
    }
    NR == 2 {
      if (b == 0) b = size($0)
      if (b == 0) b = moe ? 235 : 8
      if (moe)
        config = b < 50 ? "qwen3-30b-a3b" : b < 400 ? "qwen3-235b-a22b" : \
          "deepseek-v3"
      else
        config = b < 1.3 ? "llama-3.2-1b" : b < 4 ? "qwen2.5-1.5b" : \
          b < 20 ? "qwen3-8b" : b < 50 ? "qwen3-32b" : "qwen2.5-72b"
      print role "=" config ".json"
    }'
}

# TRUE if the message is of a model that the file leaves open.
names_none() { # MESSAGE
  printf %s "$1" | head -n 1 | grep -qiE "model of the [a-z]+: (not set|no shape \
is known for '([^']*(/path/|path_to|your_|instructions|checkpoint|ckpt|\
global_step)[^']*|[a-z_]*model_path|\\$\{[a-z_]+\})')"
}

# The commands of TRL's texts below FOLDER, a file each, whose names it prints:
# from `trl`, `accelerate launch` or `python` to the line that no backslash ends.
commands_of() { # FOLDER
  [ -d "$1/trl/trainer" ] || return
  mkdir -p "$tmp/trl"
  find "$1/examples/scripts" "$1/docs/source" -name '*.py' -o -name '*.md' |
    sort | while read -r text; do
    awk -v out="$tmp/trl/$(printf %s "${text#"$1/"}" | tr / :).trl#" '
      !at && /^ *(([A-Z_]+=[^ ]* )*(accelerate launch|python [a-z_\/]*scripts\/)|trl [a-z]+ )/ {
        at = FNR }
      at { line = $0; sub(/\\\\$/, "\\", line); print line >(out at) }
      at && !/\\$/ { close(out at); at = 0 }' "$text"
  done
  find "$tmp/trl" -type f
}

# The GPU that FILE names; nothing if it names none.  Rows: its path, the GPU
# ("-": hardware without a profile), the place that names it; the first counts.
gpu_of() { # FILE
  awk -F'\t' -v file="$1" 'file ~ $1 { print $2; exit }' <<'END'
npu|ascend	-	the name: Ascend
_amd_	-	the name: AMD
qwen3_5_(27b|35b)_fsdp_turbo	-	its head: Ascend
(nemo.?rl|/RL)/.*[0-9]n4g	gb200	tests/test_suites/README.md: 4 GPUs per node
(nemo.?rl|/RL)/.*[0-9]n8g	h100-sxm	tests/test_suites/README.md: 8 GPUs per node
140GB	h200-sxm	the name
80GB	h100-sxm	the name
96gb|_h20_	h20	the name
h800	h100-sxm	the name: memory of an H100
fully_async_policy/shell/.*trtllm	gb200	its head
(fully_async|one_step_off)_policy/shell/	h20	README.md: Machine: H20
low_precision/.*trtllm_fp8e2e	gb200	its head
low_precision/	h100-sxm	README.md: 2 nodes x 8 GPUs (H100)
recipe/dynamo/	h200-sxm	README.md: H20-3e, 140.4 GiB
ppo_trainer/run_deepseek_math_gsm8k_megatron	h20	its head: runnable on H20 * 8
scaling/run_qwen2_5_32b_megatron	h200-sxm	its head: 8xH20/H100/H200
scaling/run_qwen2_5_72b_fsdp	h200-sxm	its head: 32xH800/H200
run_qwen3_vl_30b_a3b_megatron|run_qwen3_vl-30b-megatron	h100-sxm	its head: 80GB each
slime/scripts/run-(deepseek-r1|glm|qwen3-)	h100-sxm	docs/en/examples: H100
END
}

# Why a published example does not fit, by its path; the first counts.
why_of() { # FILE
  awk -F'\t' -v file="$1" 'file ~ $1 { print $2; exit }' <<'END'
tau2/config_8b_airline	tree training shares prefixes, and Archon recomputes op by op: a plan has neither
configs/ppo_math_1B	a base configuration for others: 65,536 tokens a micro-batch, taken as full, nothing recomputed
qwen3-vl-30BA3B-rlvr	recompute_modules: moe, layernorm; a plan recomputes attention or whole layers
kimi-k2-Thinking-int4	a GPU has 67 GiB of experts in 4 bits, and 30 of cache: that GPU is the folder's, not the script's
run-minimax-m2	experts over 4 ranks alone: a rank has 27 billion parameters, with fp32 gradients 162 GiB; unexplained how it runs
run_deepseek_math_gsm8k	the critic is at tp 1, pp 1, verl's defaults: 36 GiB of weights and fp32 gradients beside the engine
megatron_96gb	nothing is recomputed; micro-batches of a token budget that the mean length does not fill
qwen30b_sapo	its number of nodes is known only to Slurm: one node is taken
deepseek-v3-64n8g-fp8	the engine's weights have 8 bits there, 16 in a plan
async_flow	pools of GPUs that only the recipe's own code reads (async_resources)
fp8rollout	nothing is recomputed, verl's default of Megatron; micro-batches are taken as even
END
}

# GPU, GiB that it needs, has and lacks, and what is in it, of a report on stdin.
lack_of() { # GPU
  awk -v gpu="$1" '
    / needs [0-9.]+ of [0-9.]+ GiB/ { at = 1 }
    at && NF == 0 { at = 0 }
    at { line = $0; ends = sub(/ *(No|Smallest single) change that.*|Changes that.*/, "", line)
         text = text " " line; at = !ends }
    END {
      gsub(/  +/, " ", text)
      match(text, /needs [0-9.]+ of [0-9.]+/)
      split(substr(text, RSTART, RLENGTH), n, " ")
      sub(/.*begins: /, "", text); sub(/\. *$/, "", text)
      printf "%s\t%s\t%s\t%.1f\t%s\n", gpu, n[2], n[4], n[2] - n[4], text
    }'
}

# Whether FILE fits, as the head says; its first simulation is OUT/s.
fit_of() { # FILE OUT MODELS
  local gpu tried verdict
  gpu=$(gpu_of "$1")
  [ "$gpu" = - ] && { echo '(-)'; return; }
  for tried in ${gpu:-h100-sxm h20 h200-sxm b200-sxm}; do
    timeout 20 "$reallot" import "$1" -o "$2" --force --gpu "$tried" \
      ${3:+--model "$3"} >/dev/null 2>&1 || { echo failed; return; }
    timeout 60 "$reallot" simulate "$2"/*.plan -n 1 --format=tsv >"$2/now" 2>"$2/e"
    case $? in
      0) verdict=yes ;;
      1) verdict=no ;;
      *) echo failed; return ;;
    esac
    [ -f "$2/s" ] || mv "$2/now" "$2/s"
    [ $verdict = yes ] && break
  done
  [ $verdict = yes ] && [ -z "$gpu" ] && [ "$tried" != h100-sxm ] &&
    verdict=$tried
  [ $verdict = no ] && timeout 60 "$reallot" simulate "$2"/*.plan -n 1 |
    lack_of "$tried" >"$2/lack"
  [ -n "$3" ] && verdict="($verdict)"
  echo "$verdict"
}

# What becomes of one file: a row.
one() { # FILE FRAMEWORK KIND FOLDER
  local out=$4 models='' imported=no with_model=no fits=- iteration=- reason=-
  local begin message plan taken=yes
  rm -rf "$out" && mkdir -p "$out"
  begin=$(date +%s%N)
  if message=$(timeout 20 "$reallot" import "$1" -o "$out" 2>&1 >/dev/null); then
    imported=yes with_model=yes
  else
    reason=${message:-it took more than 20 s}
    for _ in 1 2 3 4; do
      case $message in *'model of the '*) ;; *) break ;; esac
      models+=${models:+,}$(model_for "$message" "$1")
      if message=$(timeout 20 "$reallot" import "$1" -o "$out" \
        --model "$models" 2>&1 >/dev/null); then
        with_model=yes
        break
      fi
      reason+=" | $message"
    done
  fi
  plan=$(echo "$out"/*.plan)
  if [ -f "$plan" ]; then
    fits=$(fit_of "$1" "$out" "$models")
    [ "$fits" = failed ] && reason="simulate: $(head -n 1 "$out/e")"
    iteration=$(awk -F'\t' '/^# summary/ { s = 2; next }
      s == 2 { for (i = 1; i <= NF; i++) if ($i == "iteration_s") c = i
               s = 1; next }
      s == 1 { print $c; exit }' "$out/s" 2>/dev/null)
  fi
  [ "$3 $fits" = "rl no" ] &&
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$(cat "$out/lack")" "$(why_of "$1")" >>"$4.lacks"
  [ "$3" = rl ] || grep -qs '^kind = generate' "$out"/*.workload || taken=no
  [ $taken = no ] && [ -f "$plan" ] && with_model="as $3"
  [ $imported = no ] && names_none "$reason" && imported=open
  reason=$(printf %s "$reason" | tr '\t\n' '  ' |
    sed -E "s|reallot: ||g; s|$1:[0-9]+: ||g; s|$1: ||g" | cut -c1-600)
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$imported" \
    "$with_model" "$(($(date +%s%N) - begin))" "$fits" "${iteration:--}" "$reason"
}

for folder; do
  folder=$(realpath "$folder") # a path with `..` has hidden parts
  commands_of "$folder"
  find -L "$folder" -path '*/.*' -prune -o -type f \
    \( -name '*.sh' -o -name '*.yaml' -o -name '*.yml' \) -print
done | awk '!/\/tests\// || /\/tests\/special_/' | sort -u | classify >"$tmp/list"
n=$(wc -l <"$tmp/list")
for worker in 0 1; do
  awk -v w=$worker 'NR % 2 == w' "$tmp/list" |
    while IFS=$'\t' read -r file framework kind; do
      one "$file" "$framework" "$kind" "$tmp/out$worker" </dev/null
    done >"$tmp/rows$worker" &
done
while [ -n "$(jobs -r)" ]; do
  [ -t 2 ] && printf '\r%d of %d' "$(cat "$tmp"/rows? | wc -l)" "$n" >&2
  sleep 1
done
[ -t 2 ] && echo >&2
printf 'file\tframework\tkind\timported\twith_model\tseconds\tfits\titeration_s\treason\n'
sort "$tmp"/rows? | awk -F'\t' -v OFS='\t' '{ $6 = sprintf("%.2f", $6 / 1e9); print }' |
  tee "$tmp/rows"
if [ $keys = yes ]; then
  printf '\ncount\treason of an RL file that is not imported, even with --model\n'
  awk -F'\t' '$3 == "rl" && $5 == "no" { sub(/.* \| /, "", $9); print $2 "\t" $9 }' \
    "$tmp/rows" | sed -E "s/ (is|for the [a-z]+) '[^']*'/ \1 .../g" |
    sort | uniq -c | sort -rn | head -n 40 | sed -E 's/^ *([0-9]+) /\1\t/'
fi
printf '\nfile\tframework\tgpu\tneeds_gib\thas_gib\tlacks_gib\tof\twhy\n'
cat "$tmp"/*.lacks 2>/dev/null | sort
awk -F'\t' '
  function bar(name, value, limit, ok) {
    printf "bar\t%s\t%s\t%s\t%s\n", name, value, limit, ok ? "ok" : "short"
    missed += !ok
  }
  # The bars of frameworks first to last, over the files of all of them.
  function groups(names, first, last, least, least_with,    i, f, text, n, a, w) {
    for (i = first; i <= last; i++) if ((f = names[i]) in seen) {
      text = text (text ? ", " : "") f
      n += rl[f]; a += as[f]; w += with[f]
    }
    if (!n) return
    bar(text ": imported as they are", share(a, n), least " %", a * 100 >= least * n)
    bar(text ": with --model", share(w, n), least_with " %",
        w * 100 >= least_with * n)
  }
  function share(a, b) { return b ? sprintf("%.1f %%", 100 * a / b) : "-" }
  $3 == "rl" && $4 == "open" { open[$2]++ }
  $3 == "rl" { rl[$2]++; as[$2] += $4 == "yes"; with[$2] += $5 == "yes"
               judged[$2] += $7 ~ /^(yes|no|[a-z]+[0-9].*)$/
               not[$2] += $7 == "no"; larger[$2] += $7 ~ /^[a-z]+[0-9]/
               seen[$2] }
  $3 != "rl" && $3 != "part" && $3 != "launch" {
    others[$2]++; taken[$2] += $5 == "yes"; seen[$2] }
  END {
    print "\nframework\trl_files\tmodel_open\tas_it_is\twith_model\tnot_rl_files\t" \
      "taken_as_rl\tjudged\tdo_not_fit\tneed_a_larger_gpu"
    n = split("verl openrlhf nemo-rl realhf slime areal roll skyrl trl -", names, " ")
    for (i = 1; i <= n; i++) if ((f = names[i]) in seen)
      printf "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", f, rl[f], open[f],
        as[f], with[f], others[f], taken[f], judged[f], not[f], larger[f]
    print ""
    groups(names, 1, 4, 90, 97)
    groups(names, 5, 9, 80, 80)
    for (i = 1; i <= n; i++) {
      all_not += not[names[i]]; all_judged += judged[names[i]]
      all_taken += taken[names[i]]
    }
    bar("judged not to fit", share(all_not, all_judged), "5 %",
        all_not * 100 <= 5 * all_judged)
    bar("not RL, taken as RL", all_taken + 0, 0, !all_taken)
    exit missed > 0
  }' "$tmp/rows"
