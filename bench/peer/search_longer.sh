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
# Seeds draw lengths, too: found is the best plan by the numbers over the best
# strategy, with the same samples.  (The command's answer may be the simpler of
# two plans that cannot be told apart.)  A line a seed: that, and over the
# longest's.  At the end `search-longer-within`, how many are within 1 % of the
# best of all; bar: 9 of 10.
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

# search SECONDS SEED: the best found over the best strategy; - : nothing
search() {
  "$reallot" search --workload="$workload.workload" --seed="$2" \
    --cluster="$cluster.cluster" "${changes[@]}" --no-cache --time="$1" \
    --threads=2 --format=tsv >"$folder/out" 2>"$folder/log"
  awk -f "$(dirname "$0")/finalists.awk" "$folder/out" |
    awk '{ if ($1 == "-" || $2 == "-") print "-"; else printf "%.6f\n", $1 / $2 }'
}

longest=$(search $((10 * seconds)) 0)
printf 'seed\tfound\tlongest\tratio\n'
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
