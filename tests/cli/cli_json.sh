#!/bin/bash
# Fields of what commands print with --format=json: docs/json.md lists them, and
# whatever a command prints beside that fails here (RA_GOLDEN_UPDATE=yes writes
# the page anew).
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"
export XDG_CACHE_HOME=$tmp/cache
if ! command -v python3 >/dev/null; then
  echo "1..0 # SKIP no python3"
  exit 0
fi
tiny=$plans/ppo-tiny-4-colocated.plan
other=$plans/ppo-tiny-4-interleaving.plan
page=$srcdir/docs/json.md

# The command of a table's heading, and what is added for more of its tables.
shape() { # HEADING ARGUMENT...
  local heading=$1
  shift
  "$reallot" "$@" --format=json >"one.json" 2>err </dev/null
  case $? in 0 | 1) ;; *) sed 's/^/# /' err && return 1 ;; esac
  python3 - "$heading" one.json >>shapes <<'PY'
import json, re, sys

def unique(pairs):
    keys = [key for key, _ in pairs]
    assert len(set(keys)) == len(keys), keys
    return dict(pairs)

def nothing(word):
    raise ValueError(word)  # NaN and Infinity are no JSON

tables = json.load(open(sys.argv[2]), object_pairs_hook=unique, parse_constant=nothing)
for table, rows in tables.items():
    kinds = {}
    for row in rows if isinstance(rows, list) else [rows]:
        for key, value in row.items():
            kind = {str: "text", bool: "true or false", int: "number", float: "number",
                    type(None): ""}[type(value)]
            assert kinds.get(key, "") in ("", kind) or not kind, (table, key)
            kinds[key] = kinds.get(key, "") or kind
    for key in [table, *kinds]:
        assert re.fullmatch(r"[\w-]+", key), key
    for key, kind in kinds.items():
        # An empty or a whole number says less than the key's ending.
        assert kind == "number" or not kind or not re.search(r"_(s|bytes|frac)$", key), key
        print(sys.argv[1], table, key, kind, sep="\t")
PY
}

works simulate "$tiny" -n 1 -t a.trace.tsv
cat >q.study <<END
[study]
title = A question
plan = $tiny
question = minimum
of = iteration
iterations = 1
[axis nic]
key = cluster.allocator-slack
values = 0.1, 0.2
END
for step in 1 2; do
  echo "step:$step - timing_s/gen:10.5 - timing_s/reward:1.0 -" \
    "timing_s/old_log_prob:4.25 - timing_s/ref:4.0 - timing_s/values:1.0 -" \
    "timing_s/update_critic:2.0 - timing_s/update_actor:12.0 -" \
    "timing_s/step:40.0 - response_length/mean:200.5 -" \
    "response_length/max:1024.0 - response_length/clip_ratio:0.03125 -" \
    "prompt_length/mean:100.0 - perf/max_memory_reserved_gb:2.0"
done >trainer.log
mkdir -p data/comm_nccl
{
  echo "gpu,nccl_dir,collective,dtype,num_gpus,bytes,run,time_us"
  for bytes in 1024 1048576 67108864; do
    echo "h100,2.27.3,all_reduce,half,8,$bytes,1,$((30 + bytes / 200000))"
  done
} >data/comm_nccl/aic_nccl_intranode_heldout.csv
while read -r heading arguments; do
  eval "shape '$heading' $arguments"
  result $? "reallot ${arguments//\$srcdir\//}"
done <<'END'
simulate simulate "$tiny" -n 1 --explain
simulate simulate "$plans/grpo-qwen2.5-32b-128-service.plan" -n 1 --fidelity=call
simulate simulate "$plans/ppo-llama2-7b-8.plan" -n 1 --explain --network=flows --estimator=real --set cluster.allocator-slack=0.3
several-plans simulate "$tiny" "$other" -n 1
several-seeds simulate "$tiny" -n 1 --seeds=2
sensitivity simulate "$tiny" -n 1 --sensitivity
diff diff "$tiny" "$other"
list list
keys keys study
inspect inspect llama-3-8b.json
inspect inspect grpo-tools-qwen2.5-7b.workload
inspect inspect h100-a100-4n.cluster
inspect inspect "$plans/ppo-llama2-7b-8.plan"
inspect inspect h100-sxm.profile
inspect inspect verl-fsdp.system
inspect inspect a.trace.tsv
moves inspect "$plans/ppo-llama2-7b-8.plan" --moves
trace trace info a.trace.tsv
compare compare a.trace.tsv a.trace.tsv
study study q.study
export export "$plans/grpo-qwen2.5-7b-32.plan" --to=verl -o exported
import import "$srcdir/tests/data/import/verl-grpo-qwen2-7b.sh" -o imported --all
import-log import-log trainer.log
run run "$plans/grpo-tiny-4.plan" -n 1
validate validate data
search search --workload=ppo-tiny.workload --cluster=h100-1n.cluster --space=real --steps=64 --nodes=1
search search --workload=ppo-tiny.workload --cluster=h100-1n.cluster --rejected=actor_train
tune tune "$srcdir/tests/data/import/verl-grpo-qwen2-7b.sh" --threads=1 --time=3
END
# A command that has --format is one of them.
for command in $commands import-log; do
  "$reallot" "$command" --help | grep -q -e '--format' || continue
  cut -f 1 shapes | grep -qx -e "$command" || echo "$command"
done >missing
[ ! -s missing ]
result $? "every command with --format is tried"
sed 's/^/# /' missing

{
  sed '/^## /,$d' "$page"
  LC_ALL=C sort -u shapes | awk -F'\t' '
    # A field with a kind, of those that some run left empty.
    { key = $1 FS $2 FS $3; if ($4 || !(key in kind)) kind[key] = $4
      if (!(key in seen)) { order[++n] = key; seen[key] } }
    END {
      for (i = 1; i <= n + 1; i++) {
        split(order[i], part, FS)
        if (part[1] FS part[2] != table && table != "")
          print "| `" name "` |" text " |" number " |" truth " |"
        if (part[1] FS part[2] != table) text = number = truth = ""
        if (part[1] != command && i <= n)
          print (i == 1 ? "" : "\n") "## " part[1] "\n\n| table | text | " \
            "number | true or false |\n|---|---|---|---|"
        command = part[1]; name = part[2]; table = part[1] FS part[2]
        if (kind[order[i]] == "number" ||
          (!kind[order[i]] && part[3] ~ /_(s|bytes|frac)$/)) number = number " " part[3]
        else if (kind[order[i]] ~ /true/) truth = truth " " part[3]
        else text = text " " part[3]
      } }'
} >json.md
if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp json.md "$page"; fi
cmp -s json.md "$page"
result $? "docs/json.md has these fields (RA_GOLDEN_UPDATE=yes)"
diff json.md "$page" | head -20 | sed 's/^/# /'

echo "1..$n"
