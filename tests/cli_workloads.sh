#!/bin/bash
# Workloads that generate more than once, call tools or train adapters: what is
# shown of them, what is refused.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli_impl.sh"

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
fails "generates trip by trip ('trip-prompts')" search \
  --workload=dapo-qwen2.5-32b.workload --cluster=h100-16n.cluster
fails "'trip-prompts' of its workload, which is simulated, not run" run "$dapo"
fails "'over-sample' with 'trip-prompts' in the workload" simulate "$dapo" \
  --set "call actor_generate.over-sample=1.5"
fails "which runs in each trip, is host" simulate "$dapo" \
  --set "call actor_generate.residency=host"

echo "1..$n"
