#!/bin/bash
# Workloads that generate more than once, call tools or train adapters: what is
# shown of them, what is refused.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# column TABLE NAME: its first row, of TSV on stdin
column() {
  awk -F'\t' -v table="$1" -v name="$2" '
    at { print $at; exit }
    $1 == table { for (i = 1; i <= NF; i++) if ($i == name) at = i }'
}

# --- trips ---

dapo=$plans/dapo-qwen2.5-32b-128.plan
works inspect dapo-qwen2.5-32b.workload
grep -q '^trip prompts .* expected trips ' out
result $? "inspect has the trips"
grep -q '1,536 *0.3 *10 *1.99[0-9]* *actor_generate,reward$' out
result $? "and how many are expected"
works simulate "$dapo" --trace=dapo.trace.tsv
cut -f1 dapo.trace.tsv | grep -q '^it0/actor_generate\.t1/d0/b0/decode$' &&
  cut -f1 dapo.trace.tsv | grep -q '^it0/reward\.t1$'
result $? "the second trip has tasks of its own"
works simulate "$dapo" --seeds=2
run search --workload=dapo-qwen2.5-32b.workload --cluster=h100-16n.cluster \
  --set cluster.nodes=2 --set workload.prompts=32 \
  --set workload.trip-prompts=64 \
  --set 'workload.response-length=lognormal(200, 175, 1024)' \
  --steps=256 --top=1 --samples=1 --threads=1 -o trips.plan
[ "$rc" -eq 0 ] && grep -q '^search  *winner$' out
result $? "trips are searched, and a plan is found that is ahead of strategies"
fails "has 'trip-prompts', which can be simulated but not run" run "$dapo"
fails "'over-sample' with 'trip-prompts' in the workload" simulate "$dapo" \
  --set "call actor_generate.over-sample=1.5"
fails "which runs in each round, is host" simulate "$dapo" \
  --set "call actor_generate.residency=host"

# --- turns ---

tools=$plans/grpo-tools-qwen2.5-7b-32.plan
works inspect grpo-tools-qwen2.5-7b.workload
grep -q '^mean turns .* tool latency .* mean tokens$' out &&
  grep -q '^ *3 *5 *247.* lognormal *2 s *1544$' out
result $? "inspect has the turns"
iteration_s() { "$reallot" simulate "$@" --format=tsv | column plan iteration_s; }
kept=$(iteration_s "$tools")
dropped=$(iteration_s "$tools" --set 'call actor_generate.tool-kv=drop')
at_once=$(iteration_s "$tools" --set 'workload.tool-latency=constant(0 s)')
awk "BEGIN { exit !($at_once > 0 && $at_once < $kept && $kept < $dropped) }"
result $? "tools take time, and so do keys that were dropped"
# The search has plans with turns, and none is slower than a strategy's.
run search --workload=grpo-tools-qwen2.5-7b.workload --cluster=h100-1n.cluster \
  --set workload.prompts=32 --steps=100 --threads=1 -o turns.plan
[ "$rc" -eq 0 ] && grep -q '^search  *[0-9.]* s .* GiB' out &&
  grep -q '^batching = continuous' turns.plan
result $? "turns are searched"
run plan --strategy=hybridflow --workload=grpo-tools-qwen2.5-7b.workload \
  --cluster=h100-4n.cluster -o tools.plan
[ "$rc" -eq 0 ] && grep -q '^batching = continuous' tools.plan &&
  grep -q '^kv-memory = [0-9]* MiB' tools.plan && "$reallot" simulate tools.plan \
  >out 2>err && grep -q '^  iteration ' out
result $? "a plan of turns has continuous batches, and runs"
fails "('turns'), expected --batching=continuous" plan --strategy=real \
  --batching=static --workload=grpo-tools-qwen2.5-7b.workload \
  --cluster=h100-4n.cluster
fails "'batching = continuous' with 'kv-memory', as its sequences have turns" \
  simulate "$tools" --workload=grpo-tools-qwen2.5-7b.workload \
  --set 'call actor_generate.batching=static'
fails "expected 'turns' in the workload" simulate \
  "$plans/grpo-tools-qwen2.5-7b-32.plan" --set 'workload.turns=fixed(1)'

# --- adapters ---

lora=$plans/grpo-lora-qwen2.5-32b-8.plan
works inspect grpo-lora-qwen2.5-32b.workload
grep -q '^actor .* 33,032,311,808 ' out && grep -q '^ref .* 32,763,876,352 ' out
result $? "a model's adapters are among its parameters"
moved() { "$reallot" simulate "$@" --format=tsv |
  awk -F'\t' '$1 == "realloc" && $3 == "actor_generate" { print $4; exit }'; }
alone=$(moved "$lora")
merged=$(moved "$lora" --set 'model actor.lora-sync=merged')
awk "BEGIN { exit !($alone > 0 && $merged > 100 * $alone) }"
result $? "adapters move alone: $alone bytes, merged $merged"
works plan --strategy=real --workload=grpo-lora-qwen2.5-32b.workload \
  --cluster=h100-1n.cluster
works search --workload=grpo-lora-qwen2.5-32b.workload --steps=50 --threads=1 \
  --cluster=h100-1n.cluster
fails "a model with 'lora-rank', which the host back end does not run" \
  run "$plans/ppo-tiny-8.plan" --set 'model actor.lora-rank=4'
fails "optimizer state that is not fp32, which the host back end does not run" \
  run "$plans/ppo-tiny-8.plan" --set 'call actor_train.moments-dtype=bf16'
fails "expected 'lora-rank' too" inspect \
  grpo-lora-qwen2.5-32b.workload --set 'model actor.lora-rank=0'

# --- a service whose versions are apart ---

service=$plans/grpo-qwen2.5-32b-128-service.plan
run simulate "$service" -n 6 --format=tsv
cp out every
run simulate "$service" -n 6 --format=tsv \
  --set 'call actor_generate.sync-interval=2'
awk -F'\t' '/^# / { in_it = $1 == "# staleness" } in_it && $1 ~ /^[0-9]/ {
  n += $2; share += $3 } END { exit !(n == 6 * 128 * 16 && share > 0.999999 && share < 1.000001) }' out
result $? "staleness is a table: all sequences, shares that add up"
mean() { awk -F'\t' '/^# / { in_it = $1 == "# staleness" }
  in_it && $1 ~ /^[0-9]/ { sum += $1 * $3 } END { print sum + 0 }' "$1"; }
awk "BEGIN { exit !($(mean every) > 0.5 && $(mean out) > $(mean every) + 0.3) }"
result $? "a version every other batch is staler: $(mean every), $(mean out)"
"$reallot" simulate "$service" -n 6 --trace=synced.trace.tsv \
  --set 'call actor_generate.sync-interval=2' >out 2>err
[ "$(cut -f1 synced.trace.tsv | grep -c '/realloc/actor_train>actor_generate$')" -eq 1 ] &&
  cut -f1 synced.trace.tsv | grep -q '^it1/realloc/actor_train>actor_generate$'
result $? "and so many fewer versions move"
run simulate "$service" -n 6 --format=tsv --set 'call actor_generate.dp=8' \
  --set 'call actor_generate.pp=2' --set 'call actor_generate.micro-batches=2'
awk -F'\t' '/^# / { in_it = $1 == "# staleness" } in_it && $1 ~ /^[0-9]/ {
  n += $2 } END { exit !(n == 6 * 128 * 16) }' out
result $? "a service over two stages: all sequences have a staleness"
fails "expected 'service' too" simulate "$service" \
  --set 'call actor_generate.service=none' \
  --set 'call actor_generate.sync-interval=2'

echo "1..$n"
