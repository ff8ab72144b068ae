#!/bin/bash
# What search finds beside the placement strategies, on what people run today,
# and what tune makes of published configurations.
#
#     bench/search_today.sh [BUILD] [SECONDS]      BUILD: build, SECONDS: 20
#
# A line a case of the list below: the best plan that was found and the
# best strategy, op by op, mean of 5 samples, and the first over the second; for
# a configuration an iteration then and now.  At the end `search-today-behind`,
# cases in which found is more than 0.1 % slower, `search-today-none`, those
# without a plan, and the geometric means.  Bars: 0, 0, 0.93.
set -u
here=$(dirname "$0")
reallot=${1:-build}/reallot
seconds=${2:-20}
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT

# FOUND FAMILY of the finalists that fit; - : none.  Equal plans are one
# finalist: a family that was found again counts for both.
of_finalists() {
  awk -F'\t' '/^# / { on = $0 ~ /^# plans/ ? 1 : $0 ~ /^# finalists/ ? 2 : 0
      head = on; next }
    on && head { for (i = 1; i <= NF; i++) at[$i] = i; head = 0; next }
    on == 1 && NF > 1 { plan[$1] = $at["iteration_s"] }
    on == 2 && $at["note"] !~ /fit/ && NF > 1 {
      s = $at["iteration_s"]
      if (plan[$1] == plan["search"] && (!found || s < found)) found = s
      if ($1 ~ /^search/) { if (!found || s < found) found = s }
      else if (!family || s < family) family = s
    }
    END { print found ? found : "-", family ? family : "-" }' "$out"
}

# THEN NOW of a tuning.
of_tuning() {
  awk -F'\t' '$1 == "now" { now = $2 } $1 == "then" { then = $2; note = $NF }
    END { print note ~ /fit/ || !then ? "-" : then, now ? now : "-" }' "$out"
}

# search or tune, a name, arguments; separated by tabs.
read -r -d '' cases <<'CASES'
search	grpo-7b-4	--workload=grpo-qwen2.5-7b.workload --cluster=h100-4n.cluster
search	grpo-7b-16	--workload=grpo-qwen2.5-7b.workload --cluster=h100-16n.cluster
search	grpo-32b-async-16	--workload=grpo-qwen2.5-32b-async.workload --cluster=h100-16n.cluster
search	grpo-32b-async-8	--workload=grpo-qwen2.5-32b-async.workload --cluster=h100-16n.cluster --set cluster.nodes=8
search	grpo-32b-4	--workload=grpo-qwen2.5-32b.workload --cluster=h100-4n.cluster
search	grpo-32b-16	--workload=grpo-qwen2.5-32b.workload --cluster=h100-16n.cluster
search	grpo-32b-tails-4	--workload=grpo-qwen2.5-32b.workload --cluster=h100-4n.cluster --set "workload.response-length=lognormal(4000, 3500, 16384)"
search	grpo-lora-32b-4	--workload=grpo-lora-qwen2.5-32b.workload --cluster=h100-4n.cluster
search	grpo-30b-a3b-4	--workload=grpo-qwen3-30b-a3b.workload --cluster=h100-4n.cluster
search	grpo-30b-a3b-16	--workload=grpo-qwen3-30b-a3b.workload --cluster=h100-16n.cluster
search	grpo-tools-7b-4	--workload=grpo-tools-qwen2.5-7b.workload --cluster=h100-4n.cluster
search	grpo-long-7b-4	--workload=grpo-long-qwen2.5-7b.workload --cluster=h100-4n.cluster
search	dapo-32b-16	--workload=dapo-qwen2.5-32b.workload --cluster=h100-16n.cluster
search	ppo-70b-16	--workload=ppo-llama3-70b.workload --cluster=h100-16n.cluster
search	ppo-7b-1	--workload=ppo-llama2-7b.workload --cluster=h100-1n.cluster
search	rloo-8b-4	--workload=rloo-llama3-8b.workload --cluster=h100-4n.cluster
search	remax-7b-4	--workload=remax-llama2-7b.workload --cluster=h100-4n.cluster
search	sft-mixtral-4	--workload=sft-mixtral-8x7b-32k.workload --cluster=h100-4n.cluster
search	dpo-70b-b200-8	--workload=dpo-llama3-70b.workload --cluster=b200-8n.cluster
search	sft-mixtral-16	--workload=sft-mixtral-8x7b-32k.workload --cluster=h100-16n.cluster
search	grpo-7b-a40	--workload=grpo-qwen2.5-7b.workload --cluster=h100-4n.cluster --set cluster.gpu=a40 --set cluster.nodes=2 --set cluster.nics-per-node=2 --set workload.mini-batches=8
tune	verl-qwen2-7b	verl-grpo-qwen2-7b.sh
tune	verl-megatron	verl-grpo-megatron.sh
tune	verl-qwen2.5-32b	verl-ppo-qwen2.5-32b.sh
tune	verl-arrays	verl-arrays.sh
tune	verl-submit	verl-submit.sh
tune	nemo-rl-math-8b	grpo_math_8B.yaml
tune	nemo-rl-math-1b	grpo_math_1B.yaml
tune	nemo-rl-30b-a3b	grpo-qwen3-30ba3b-4n8g.yaml
tune	openrlhf-hybrid	openrlhf-ppo-hybrid.sh
tune	openrlhf-70b	openrlhf-ppo-70b.sh
tune	openrlhf-async	openrlhf-reinforce-async.sh
tune	openrlhf-dotted	openrlhf-dotted.sh
tune	slime-qwen3-8b	slime-grpo-qwen3-8b.sh
CASES

printf 'what\tcase\tfound_s\tbeside_s\tratio\tseconds\n'
while IFS=$'\t' read -r what case arguments; do
  case $what in '#'* | '') continue ;; esac
  begin=$(date +%s.%N)
  if [ "$what" = search ]; then
    eval "$reallot search $arguments --no-cache --time=$seconds --threads=2 --draws=5 --format=tsv" >"$out" 2>/dev/null
    read -r found beside < <(of_finalists)
  else
    eval "$reallot tune $here/../tests/data/import/$arguments --time=$seconds --threads=2 --format=tsv" >"$out" 2>/dev/null
    read -r found beside < <(of_tuning)
  fi
  awk -v what="$what" -v name="$case" -v f="$found" -v b="$beside" \
    -v begin="$begin" -v end="$(date +%s.%N)" 'BEGIN {
      ratio = f == "-" || b == "-" ? "-" : sprintf("%.4f", f / b)
      printf "%s\t%s\t%s\t%s\t%s\t%.1f\n", what, name, f, b, ratio, end - begin }'
done <<<"$cases" | tee /dev/stderr | awk -F'\t' '{
    if ($5 != "-") { sum[$1] += log($5); n[$1]++; behind += $5 > 1.001 }
    if ($3 == "-" && $4 == "-") none++
  }
  END {
    print "search-today-behind " behind + 0
    print "search-today-none " none + 0
    for (w in n) printf "%s-today-mean %.4f of %d\n", w, exp(sum[w] / n[w]), n[w]
  }'
