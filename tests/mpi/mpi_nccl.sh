#!/bin/bash
# NCCL over several processes, on the double of the library between them
# (tests/double/nccl_double.h): the id over MPI, ranks of each process, and what they
# compute is what threads of one process do, bit for bit; one that dies, is
# stopped, hangs or differs ends all with a line.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/mpi/mpi_impl.sh
. "${srcdir:?is set by make check}/tests/mpi/mpi_impl.sh"

# shellcheck disable=SC2034 # of mpi_impl.sh
program=$builddir/tests/reallot-cores-mpi
carrier=(--backend=cuda --communicator=nccl)

same ppo-tiny-8.plan '2 8' actor -n 3 --check
same grpo-tiny-4.plan 4 actor -n 3 --check
# Scattered sums, gathered parameters; rings; another mesh for generation.
same ppo-tiny-8.plan 4 critic -n 2 --set 'call critic_train.zero=1' \
  --set 'call critic_train.sequence-parallel=true'
same ppo-tiny-8.plan 4 critic -n 2 --set 'call critic_train.tp=1' \
  --set 'call critic_train.dp=1' --set 'call critic_train.cp=4'
same ppo-tiny-4-disaggregated.plan 4 actor -n 2

# A wrong move of weights: what is sent together arrives with another sign.  One
# iteration moves none that anybody reads, so two are compared everywhere.
for iterations in 1 2; do
  works run ppo-tiny-8.plan -n $iterations --format=tsv
  values >local.values
  NCCL_DOUBLE=damage works_on 4 run ppo-tiny-8.plan -n $iterations --format=tsv
  values >far.values
  cmp -s local.values far.values
  [ $? -eq $((iterations - 1)) ]
  result $? "damage, as $iterations iterations show it"
done
NCCL_DOUBLE=damage fails_on 'a reallocation changed a parameter' \
  4 run ppo-tiny-8.plan -n 2 --check

# Another plan, and an id of its own.
other() { # STATUS MESSAGE PLAN WORDS
  timeout 60 mpirun -q -n 3 "$program" run grpo-tiny-4.plan -n 1 --stall 0.5 \
    "${carrier[@]}" : -n 1 env NCCL_DOUBLE="$4" "$program" run "$3" -n 1 \
    --stall 0.5 "${carrier[@]}" >out 2>err </dev/null
  rc=$?
  [ "$rc" -eq "$1" ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
    grep -q "^reallot: $2" err
  result $? "$2"
  grep -q "^reallot: $2" err || sed 's/^/# /' err
}
other 2 'the task graph of process 3 is not that of process 0' \
  ppo-tiny-4-colocated.plan ''
other 4 '.*the communicator of all ranks on rank .*: no other rank arrived within 2 s' \
  grpo-tiny-4.plan id
fails_on '.*: copies between peers: rank 2 is in another process' \
  2 run grpo-tiny-4.plan -n 1 --moves=peer

# Devices: a launcher shows each process its own, or all of the machine's.
for devices in '4 1' '2 2' '2 4'; do
  NCCL_DOUBLE=gpus=${devices#* } works_on "${devices% *}" run \
    grpo-tiny-4.plan -n 1
done
NCCL_DOUBLE=gpus=3 fails_on '.*: rank 3 needs GPU 3 .* which has 3' \
  4 run grpo-tiny-4.plan -n 1
NCCL_DOUBLE=gpus=1 fails_on '.*: rank 1 needs GPU 1 .* which has 1' \
  1 run grpo-tiny-4.plan -n 1

# A GPU that hangs: its host's threads wait as those of the others do, so that
# who gives up first is named, and what for.
NCCL_DOUBLE=hang fails_on 'nccl: a.* on rank .*no other rank arrived within 2 s' \
  4 run ppo-tiny-8.plan -n 2 --stall 0.5
[ "$rc" -eq 4 ]
result $? "exit status 4"

# Killed, where nobody hears of it in NCCL and where all do; stopped.
loses 2 KILL k.first 'ranks 4 to 5 (process 2 on .*) died'
resumes k.first 4
export NCCL_DOUBLE=tells
loses 3 KILL k.second 'ranks 6 to 7 (process 3 on .*) died'
loses 0 KILL k.third 'ranks 0 to 1 (process 0 on .*) died'
resumes k.third 2
unset NCCL_DOUBLE
loses 1 STOP k.fourth 'ranks 2 to 3 (process 1 on .*) sent nothing for 3 s'
resumes k.fourth 4

# With the kernels, and memory that the host cannot look into; not where a
# sanitizer makes their fibers slow, which sees them in one process.
emulated=$builddir/tests/reallot-emulated
if [ -x "$emulated-mpi" ] && ! readelf -s "$program" | grep -q __asan_init; then
  program=$emulated-mpi
  "$emulated" run grpo-tiny-bf16-4.plan -n 2 --backend=cuda --format=tsv \
    "${emulated_small[@]}" >out 2>err </dev/null
  values >local.values
  for p in 2 4; do
    works_on $p run grpo-tiny-bf16-4.plan -n 2 --check --format=tsv \
      "${emulated_small[@]}"
    values >far.values
    [ "$(wc -l <local.values)" -eq 3 ] && cmp -s local.values far.values
    result $? "the same numbers on $p processes with emulated GPUs"
    diff local.values far.values | sed 's/^/# /'
  done
fi

echo "1..$n"
