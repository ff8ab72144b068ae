#!/bin/bash
# Whether a search has found by its time what a ten times longer one finds.
#
#     bench/peer/search_longer.sh [BUILD] [SECONDS] [SEEDS]
#       [WORKLOAD CLUSTER [CHANGE ...]]
#
# BUILD: build.  SECONDS: 20, of each of SEEDS (10) searches; one of ten times
# as long, of another seed, is what they are held against.  Without a WORKLOAD:
# grpo-qwen2.5-7b on h100-16n, 128 GPUs.  CHANGE: of --set, cluster.nodes=128.
#
# Seeds draw lengths, too, so all plans are simulated anew with the same five
# samples.  A line a seed: its seconds an iteration, and over the longest's.
# At the end `search-longer-within`, how many are within 1 % of the best of all;
# bar: 9 of 10.
set -u
reallot=${1:-build}/reallot
seconds=${2:-20}
seeds=${3:-10}
workload=${4:-grpo-qwen2.5-7b}
cluster=${5:-h100-16n}
shift $(($# < 5 ? $# : 5))
changes=()
for change; do changes+=("--set=$change"); done
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT

# search SECONDS SEED: seconds an iteration of what it finds; - : nothing
search() {
  local plan=$folder/found.plan
  rm -f "$plan"
  "$reallot" search --workload="$workload.workload" --seed="$2" \
    --cluster="$cluster.cluster" "${changes[@]}" --no-cache --time="$1" \
    --threads=2 -o "$plan" >"$folder/log" 2>&1
  [ -s "$plan" ] || {
    echo -
    return
  }
  for seed in 0 1 2 3 4; do
    "$reallot" simulate "$plan" --seed="$seed" "${changes[@]}" --format=tsv
  done 2>"$folder/log" | awk -F'\t' '
    /^plan\t/ { for (i = 1; i <= NF; i++) if ($i == "iteration_s") at = i
      next }
    at { sum += $at; n++; at = 0 }
    END { if (n == 5) printf "%.9g\n", sum / n; else print "-" }'
}

longest=$(search $((10 * seconds)) 0)
printf 'seed\tfound_s\tlongest_s\tratio\n'
for ((i = 1; i <= seeds; i++)); do
  found=$(search "$seconds" "$i")
  awk -v i="$i" -v f="$found" -v l="$longest" 'BEGIN {
    ratio = f == "-" || l == "-" ? "-" : sprintf("%.4f", f / l)
    printf "%s\t%s\t%s\t%s\n", i, f, l, ratio }'
done | tee /dev/stderr | awk -F'\t' -v best="$longest" '
  { found[NR] = $2; if ($2 != "-" && (best == "-" || $2 < best)) best = $2 }
  END {
    for (i in found) within += found[i] != "-" && found[i] <= 1.01 * best
    printf "search-longer-within %d of %d\n", within, NR }'
