#!/bin/bash
# A machine's topology by nvidia-smi or NCCL: looked at, and as a cluster that
# plans are made for.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

data=$srcdir/tests/data/topologies

run inspect "$data/h100-8-cloud.xml" --format=tsv
[ "$rc" -eq 0 ] && [ ! -s err ] && grep -q "h100-sxm.*18.*yes" out
result $? "inspect: 8 GPUs of 18 links to switches"
run inspect "$data/h200-8.topo"
[ "$rc" -eq 0 ] && grep -q '^gpu .*no GPU name in the matrix' out &&
  grep -q '^nic .*400 Gbit/s .*no rates' out
result $? "inspect says what is assumed, and why"

run import "$data/h100-8-cloud.xml" --nodes=4 --name=cloud
[ "$rc" -eq 0 ] && grep -q '^nic = 200 Gbit/s' cloud.cluster &&
  grep -q '^gpu = h100-sxm' cloud.cluster && grep -q '^nodes = 4' cloud.cluster
result $? "import writes a cluster of four such nodes"
run plan --strategy=real --workload=ppo-llama2-7b.workload \
  --cluster=cloud.cluster -o cloud.plan
[ "$rc" -eq 0 ] && [ -s cloud.plan ]
result $? "a plan is made for it"
run import "$data/h200-8.topo" --gpu=h200-sxm --nodes=2 --name=two -o there
[ "$rc" -eq 0 ] && grep -q '^gpu = h200-sxm' there/two.cluster &&
  grep -q '# assumed: it gives no rates' there/two.cluster
result $? "import of a matrix says what it assumed in the file"

fails "unknown GPU, expected --gpu=PROFILE" import "$data/h200-8.topo"
fails "no file 'h900.profile'" import "$data/h200-8.topo" --gpu=h900
fails "--from: expected a framework's configuration" \
  import "$data/h100-8-cloud.xml" --from=verl
fails "--nodes: '0' is" import "$data/h100-8-cloud.xml" --nodes=0
fails "--nodes: expected a machine's topology" \
  import "$srcdir/tests/data/import/verl-grpo-qwen2-7b.sh" --nodes=2
printf '\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV2\t X \n' >bad.topo
fails "bad.topo:3: is not symmetric at 'GPU1'" inspect bad.topo
[ ! -e h200-8.cluster ] && [ ! -e h100-8-cloud.cluster ]
result $? "what is refused writes nothing"

echo "1..$n"
