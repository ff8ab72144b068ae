#!/bin/bash
# Slurm: a cluster of this one machine, made here and taken down again; what
# srun starts by PMIx, and mpirun within an allocation, is what threads of one
# process do, bit for bit.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/mpi/mpi_impl.sh
. "${srcdir:?is set by make check}/tests/mpi/mpi_impl.sh"

PATH=$PATH:/usr/sbin
for command in srun salloc slurmctld slurmd munged; do
  command -v $command >/dev/null || skip "no $command"
done
[ "$(id -u)" -eq 0 ] || skip "slurmd wants root"

stop_slurm() {
  local pid
  for pid in slurmd slurmctld munged; do
    [ -s "$tmp/$pid.pid" ] && kill "$(cat "$tmp/$pid.pid")" 2>/dev/null
  done
  sleep 1
  rm -rf "$tmp"
}
trap stop_slurm EXIT

# Ports that other such clusters of this machine do not have.
port=$((20000 + $$ % 20000))
host=$(hostname -s)
mkdir munge state spool
head -c 1024 /dev/urandom >munge/key
chmod 700 munge && chmod 400 munge/key
cat >slurm.conf <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$tmp/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd.log
SelectType=select/linear
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc)
PartitionName=all Nodes=$host Default=YES State=UP OverSubscribe=FORCE
END
export SLURM_CONF=$tmp/slurm.conf
srun --mpi=list 2>&1 | grep -qw pmix || skip "srun does not speak PMIx"
munged --force -S "$tmp/munge/socket" --key-file="$tmp/munge/key" \
  --pid-file="$tmp/munged.pid" --log-file="$tmp/munge/log" \
  --seed-file="$tmp/munge/seed" >munged.out 2>&1 || skip "no munged here"
slurmctld -f slurm.conf >slurmctld.out 2>&1 || skip "no slurmctld here"
slurmd -f slurm.conf >slurmd.out 2>&1 || skip "no slurmd here"
i=0
until sinfo -h -o %t 2>/dev/null | grep -q '^idle'; do
  [ $((i += 1)) -lt 150 ] || skip "no node is ready: $(tail -n 1 slurmd.log)"
  sleep 0.2
done

srun_() { # N ARGUMENT...
  local p=$1
  shift
  timeout 120 srun -Q -O --mpi=pmix -n "$p" "$reallot" "$@" >out 2>err \
    </dev/null
  rc=$?
}

works run ppo-tiny-8.plan -n 3 --save actor=local --format=tsv
values >local.values
for p in 1 2 4; do
  rm -rf far
  srun_ $p run ppo-tiny-8.plan -n 3 --save actor=far --format=tsv
  values >far.values
  [ "$rc" -eq 0 ] && [ "$(wc -l <far.values)" -eq 4 ] &&
    cmp -s local.values far.values &&
    cmp -s local/model.safetensors far/model.safetensors
  result $? "srun --mpi=pmix -n $p: the same numbers and weights"
  grep '^reallot' err | sed 's/^/# /'
done
rm -rf far
timeout 120 salloc -Q -O -n 2 mpirun -q -n 2 "$reallot" run ppo-tiny-8.plan \
  -n 3 --save actor=far --format=tsv >out 2>err </dev/null
values >far.values
cmp -s local.values far.values &&
  cmp -s local/model.safetensors far/model.safetensors
result $? "mpirun within salloc: the same"

printf '%s\n' '[study]' 'title = Small' 'plan = ppo-tiny-4-colocated.plan' \
  'question = minimum' 'of = iteration' '[axis prompts]' \
  'key = workload.prompts' 'values = 8, 16, 24, 32' >small.study
works study small.study --no-cache
cp out one
srun_ 2 study small.study --no-cache
[ "$rc" -eq 0 ] && [ -s one ] && cmp -s one out
result $? "a study of two tasks prints the same"

# One of its tasks is killed.
srun_ 2 run ppo-tiny-8.plan -n 60 --checkpoint k.srun &
pid=$!
i=0
while [ ! -d k.srun/iteration-000002 ] && [ $((i += 1)) -lt 600 ]; do
  sleep 0.05
done
for victim in $(pgrep -f 'checkpoint k.srun'); do
  tr '\0' '\n' <"/proc/$victim/environ" 2>/dev/null |
    grep -q '^PMIX_RANK=1$' && kill -KILL "$victim"
done
begin=$(date +%s)
wait $pid
[ $(($(date +%s) - begin)) -le 10 ] && [ "$(grep -c '^reallot: ' err)" -eq 1 ] &&
  grep -q '^reallot: ranks 4 to 7 (process 1 on .*) died' err
result $? "a task that is killed is named, and all end"
grep -q '^reallot: ranks 4 to 7' err || sed 's/^/# /' err
[ -z "$(pgrep -f 'checkpoint k.srun')" ]
result $? "and nobody is left"

echo "1..$n"
