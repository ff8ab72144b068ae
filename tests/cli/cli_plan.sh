#!/bin/bash
# The command line: plans that `reallot plan` writes.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# ---- plans that are written -------------------------------------------------

# megatron asks no estimator, so its keys depend on no coefficient.
run plan --strategy=megatron --workload=ppo-llama3-70b.workload \
  --cluster=h100-16n.cluster
grep -v '^#' out >keys
golden_plan=$srcdir/tests/golden/megatron.plan
if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp keys "$golden_plan"; fi
cmp -s keys "$golden_plan"
result $? "the keys of a megatron plan"
diff "$golden_plan" keys | sed 's/^/# /'
grep -q '^# Written by: reallot plan --strategy=megatron' out
result $? "a plan says how it was written"
for strategy in colocated interleaving disaggregated megatron real \
  hybridflow; do
  run plan --strategy=$strategy --workload=ppo-llama2-7b.workload \
    --cluster=h100-16n.cluster --set cluster.nodes=4 -o written.plan
  [ "$rc" -eq 0 ] && [ ! -s out ] && [ ! -s err ]
  result $? "plan --strategy=$strategy -o written.plan"
  works simulate written.plan --set cluster.nodes=4
done
mkdir -p own && cp "$srcdir/share/workloads/sft-llama3-8b.workload" own/w.workload
run plan --strategy=hybridflow --workload=own/w.workload \
  --cluster=h100-1n.cluster -o written.plan
grep -q "^workload = /.*/own/w.workload$" written.plan &&
  grep -q '^cluster = h100-1n.cluster$' written.plan
result $? "a plan names files so that they are found from where it is"
works simulate written.plan
run plan --strategy=hybridflow --workload=own/w.workload \
  --cluster=h100-1n.cluster -o own/written.plan
grep -q '^workload = w.workload$' own/written.plan
result $? "and briefly where they stand beside it"
run plan --strategy=megatron --workload=ppo-llama2-7b.workload \
  --cluster=h100-1n.cluster --system=reallhf-2024.system -o written.plan
grep -q '^system = reallhf-2024.system$' written.plan
result $? "and the system that runs it"
works simulate written.plan
run plan --strategy=megatron --workload=ppo-llama3-70b.workload \
  --cluster=h100-1n.cluster -o none.plan
[ "$rc" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e none.plan ] &&
  grep -q '^reallot: megatron: does not fit: ' err
result $? "a plan that does not fit is refused with status 1"
# 96 GPUs are 3 x 32: no dp of 512 sequences, tp of 64 heads and even pp of two
# has them, but pipelines of 3, 6 and 12 do; ZeRO-3 has no pipeline, so that
# colocated leaves 4 of 12 nodes idle.
eight="--workload=ppo-llama3-70b.workload --cluster=h100-128n.cluster"
run plan --strategy=real $eight --set cluster.nodes=12 -o odd.plan
[ "$rc" -eq 0 ] && grep -q '^mesh = node\[0-11\]$' odd.plan && ! grep -q idle odd.plan
result $? "real has a plan for 12 nodes, on all of them"
run plan --strategy=colocated $eight --set cluster.nodes=12 -o odd.plan
[ "$rc" -eq 0 ] && grep -q '^mesh = node\[0-7\]$' odd.plan &&
  tr -s '#\n ' ' ' <odd.plan | grep -q 'Of the 12 nodes 4 are idle, as no layout was found on all'
result $? "colocated has one, on 8 of them"
works simulate odd.plan --set cluster.nodes=12 -n 1 --fidelity=call
run plan --strategy=colocated --generate-tp=16 \
  --workload=ppo-llama2-7b.workload --cluster=h100-4n.cluster
[ "$rc" -eq 1 ] && [ ! -s out ] &&
  grep -q "in 1 part with tp 16 for 8 GPUs of a node and 32 heads" err
result $? "and one that asks for more tensor parallelism than a node has"

# 18 bytes of each of 70 x 10^9 parameters are 157 GB a GPU of 8.
run plan --strategy=disaggregated --workload=ppo-llama3-70b.workload \
  --cluster=h100-1n.cluster
[ "$rc" -eq 1 ] && [ ! -s out ] &&
  grep -q "'actor_train' has no layout on 8 GPUs .* at most 64.0 GiB per GPU" err
result $? "pools of calls that have no room on all GPUs are not weighed"

echo "1..$n"
