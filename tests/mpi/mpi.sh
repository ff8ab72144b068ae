#!/bin/bash
# Processes over MPI: what they compute is what threads of one process do, bit
# for bit; one that dies, is stopped or differs ends all with a line that names
# it.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/mpi/mpi_impl.sh
. "${srcdir:?is set by make check}/tests/mpi/mpi_impl.sh"

same ppo-tiny-8.plan '2 8' actor -n 3 --check
same ppo-tiny-4-disaggregated.plan 4 actor -n 3 --check
same ppo-tiny-4-interleaving.plan 3 actor -n 3
# The deliberate fault that `same` must see: another seed.
works run grpo-tiny-4.plan -n 2 --format=tsv --seed 1
values >local.values
works_on 2 run grpo-tiny-4.plan -n 2 --format=tsv --seed 2
values >far.values
! cmp -s local.values far.values
result $? "another seed gives others"
# Pipelines, gradients over processes, readers that lag, ops of all ranks.
same grpo-tiny-4.plan '4' actor -n 3 --set 'call actor_train.tp=1' \
  --set 'call actor_train.dp=2' --set 'call actor_train.pp=2'
same ppo-tiny-4-colocated.plan 4 critic -n 2 --ops
# Shards of moments, and of rows: scattered sums, gathered parameters.
same ppo-tiny-8.plan 4 critic -n 2 --set 'call critic_train.zero=1' \
  --set 'call critic_train.sequence-parallel=true' --ops

# Sequences shared: keys and values go from process to process.
same ppo-tiny-8.plan 8 critic -n 2 --set 'call critic_train.tp=1' \
  --set 'call critic_train.dp=1' --set 'call critic_train.cp=4' \
  --set 'call actor_train.pp=1' --set 'call actor_train.cp=2' --ops

# A message goes on while its sender computes, if that nudges it; without, it
# stands still (the fault that the first would show), as no copy from process to
# process is allowed here.
message() { # SAID ARGUMENT...
  rm -f arrived
  timeout 120 mpirun -q -n 2 "$builddir/tests/mpi/mpi-nudge" "$PWD/arrived" \
    "${@:2}" >out 2>err </dev/null && [ "$(cat out)" = "$1" ]
  result $? "a long message: $*"
}
message 'came'
message 'did not come' still

# What else is learnt, from answers that stand in files or are compared.
same sft-tiny-4.plan 4 actor -n 2
same rm-tiny-2.plan 2 reward -n 2
same dpo-tiny-4.plan 4 actor -n 2
same remax-tiny-4.plan 4 actor -n 2
same rloo-tiny-4.plan 2 actor -n 2

# Checkpoints are those of one process, and either goes on from the other's.
works run ppo-tiny-8.plan -n 1 --set 'call critic_train.zero=1' \
  --checkpoint k.local
works_on 8 run ppo-tiny-8.plan -n 1 --set 'call critic_train.zero=1' \
  --checkpoint k.far
diff -r k.local k.far >/dev/null && [ -d k.local/iteration-000001 ]
result $? "the same checkpoints of shards"
rm -rf k.far k.local
works run ppo-tiny-8.plan -n 3 --checkpoint k.local --save actor=local
works_on 4 run ppo-tiny-8.plan -n 3 --checkpoint k.far
diff -r k.local k.far >/dev/null && [ -d k.local/iteration-000003 ]
result $? "the same checkpoints"
rm -rf k.far/iteration-000003 k.local/iteration-000003
works_on 8 run ppo-tiny-8.plan -n 3 --checkpoint k.local --resume \
  --save actor=far
works run ppo-tiny-8.plan -n 3 --checkpoint k.far --resume --save actor=near
cmp -s local/model.safetensors far/model.safetensors &&
  cmp -s local/model.safetensors near/model.safetensors
result $? "either goes on from the other's"

fails_on "no file 'nowhere.plan'" 2 run nowhere.plan
fails_on '9 processes for the 8 ranks' 9 run ppo-tiny-8.plan
timeout 60 mpirun -q -n 1 "$reallot" run ppo-tiny-8.plan : \
  -n 1 "$reallot" run ppo-tiny-8.plan --seed 1 >out 2>err </dev/null
rc=$?
[ "$rc" -eq 2 ] && [ "$(grep -c '^reallot: ' err)" -eq 1 ] &&
  grep -q '^reallot: the task graph of process 1 is not that of process 0' err
result $? "processes whose graphs differ are named before the first task"
[ ! -s out ]
result $? "and nothing has run"
works_on 2 inspect ppo-tiny-8.plan

# Killed, stopped.
loses 2 KILL k.first 'ranks 4 to 5 (process 2 on .*) died'
resumes k.first 4
loses 0 KILL k.second 'ranks 0 to 1 (process 0 on .*) died'
resumes k.second 1
loses 1 STOP k.third 'ranks 2 to 3 (process 1 on .*) sent nothing for 3 s'
# mpirun wakes process 0 before it ends it: by then the others have named it.
loses 0 STOP k.fourth 'ranks 0 to 1 (process 0 on .*) sent nothing for 3 s'

# Parameters that are not finite: the last number of the file.
works run ppo-tiny-8.plan -n 1 --save ref=bad
printf '\0\0\300\177' | dd of=bad/model.safetensors bs=1 conv=notrunc \
  seek=$(($(wc -c <bad/model.safetensors) - 4)) 2>/dev/null
fails_on \
  "it0/ref_inference/.* is the first op whose result is not finite: par" 4 run \
  ppo-tiny-8.plan -n 3 --weights ref=bad --checkpoint k.bad
[ "$rc" -eq 4 ] && ! ls k.bad/iteration-* 2>/dev/null
result $? "exit status 4, and nothing of it is saved"
# Both ranks that share the tensor meet it; which of them is the first that
# process 0 hears of is a matter of time.
the_line() { sed -n 's/^reallot: //; s/, rank [0-9]*,/,/p' err; }
the_line >far.line
"$reallot" run ppo-tiny-8.plan -n 3 --weights ref=bad >out 2>err
[ $? -eq 4 ] && [ -s far.line ] && [ "$(the_line)" = "$(cat far.line)" ]
result $? "threads of one process say the same"

# Every process a rank of the probe: the profile is of the path over MPI.
mpi 2 calibrate --backend=host --quick -o mpi.profile
[ "$rc" -eq 0 ] && grep -q '^# communicator: mpi$' mpi.samples.trace.tsv &&
  grep -q '^derived = .* 2 ranks at the same time over MPI' mpi.profile &&
  awk -F'\t' '$7 == "all_reduce" && $10 > $9 { n++ } END { exit n < 12 }' \
    mpi.samples.trace.tsv
result $? "calibrate --backend=host over MPI measures its collectives"
works simulate ppo-tiny-8.plan -n 1 --profile mpi.profile
fails_on '--backend: over MPI every process is a rank' 2 calibrate \
  --backend=host --ranks=2 -o x.profile

# A disk without room: what was there stays whole.
rm -rf k.first
works_on 2 run ppo-tiny-8.plan -n 1 --checkpoint k.full
cp -r k.full k.before
(ulimit -f 100; exec "$reallot" run ppo-tiny-8.plan -n 3 --checkpoint k.full \
  --resume >out 2>err)
[ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'File too large$' err
result $? "a file over the limit is refused in one line"
diff -r k.before k.full
result $? "and the last checkpoint is as it was, alone"
if mkdir small && mount -t tmpfs -o size=700k none small 2>/dev/null; then
  fails_on 'small/.*No space left' 2 run ppo-tiny-8.plan -n 3 \
    --checkpoint small/k
  [ "$rc" -eq 2 ] && [ -z "$(ls small/k)" ]
  result $? "a full disk: exit status 2, nothing is left"
  umount small
else
  result 0 "a full disk # SKIP no mount"
fi

echo "1..$n"
