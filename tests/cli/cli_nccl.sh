#!/bin/bash
# reallot run --communicator=nccl: wrong values, who becomes what, and a plan on
# emulated devices over a double of NCCL, through the very command.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

fails "unknown value 'ncl', expected one of local, nccl, did you mean 'nccl'?" \
  run grpo-tiny-4.plan --communicator=ncl
fails "'nccl' connects GPUs, expected --backend=cuda" \
  run grpo-tiny-4.plan --communicator=nccl
fails "unknown value 'peers', expected one of grouped, peer, did you mean 'peer'?" \
  run grpo-tiny-4.plan --moves=peers
fails "--moves: 'peer' copies between GPUs, expected --communicator=nccl" \
  run grpo-tiny-4.plan --moves=peer
fails "unknown value 'all', expected one of any, planned" run grpo-tiny-4.plan --hosts=all
works run grpo-tiny-4.plan --hosts=planned --dry-run

# Two nodes on one host.
cat >two.cluster <<END
[cluster]
format = 1
nodes = 2
gpus-per-node = 2
gpu = h100-sxm
nics-per-node = 2
nic = 400 Gbit/s
END
two=(--set "plan.cluster=$tmp/two.cluster")
for call in actor_generate ref_inference actor_train; do
  two+=(--set "call $call.mesh=node[0-1]")
done
works run grpo-tiny-4.plan "${two[@]}" --dry-run
fails "nodes 0 and 1 of the plan are both on this host, expected one host per node" \
  run grpo-tiny-4.plan "${two[@]}" --hosts=planned --dry-run

# Several processes want the program that has both.
emulated=$builddir/tests/reallot-emulated
if [ -x "$emulated" ]; then
  mkdir there
  cp "$emulated" there/reallot-emulated
  env PMIX_RANK=0 SLURM_STEP_NUM_TASKS=2 there/reallot-emulated run \
    grpo-tiny-4.plan --backend=cuda --communicator=nccl >out 2>err </dev/null
  rc=$?
  [ "$rc" -eq 2 ] &&
    grep -q 'reallot-cuda-mpi: No such file.*with GPUs of their own need' err
  result $? "several processes become reallot-cuda-mpi"

  # Groups have two members at most, and a + b is b + a: the numbers are those
  # of ranks that share one device, where sums are in the order of the ranks.
  # Two iterations, as the first reads no weights that have moved.
  for carrier in local nccl 'nccl --moves=peer'; do
    # shellcheck disable=SC2086
    "$emulated" run grpo-tiny-bf16-4.plan --backend=cuda -n 2 --check --format=tsv \
      --communicator=$carrier "${emulated_small[@]}" >out 2>err </dev/null
    rc=$?
    [ "$rc" -eq 0 ] && [ ! -s err ]
    result $? "a plan on emulated devices, $carrier"
    sed 's/^/# /' err
    grep -v '^#' out | cut -f1-7 >"${carrier##*=}.values"
  done
  [ "$(wc -l <local.values)" -eq 3 ] && cmp -s local.values nccl.values &&
    cmp -s local.values peer.values
  result $? "the same numbers"
fi

echo "1..$n"
