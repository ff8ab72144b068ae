#!/bin/bash
# Runs over MPI whose processes are killed: bench/kills.sh [--nccl] [N], in a
# build folder; --nccl: ranks over the double of NCCL (tests/double/nccl_double.h),
# where every second run's library tells who is left.
#
# A run of 40 iterations of PPO on 4 processes, a checkpoint after each, gets
# SIGKILL in one of its processes, at a moment that is drawn from when it starts
# to when it has run for a while, N times (50); after each it is resumed, and
# where it ends its last checkpoint is compared with that of a run that nobody
# killed, bit for bit, and it begins anew.  Who is lost before MPI has met
# mpirun names, in a paragraph of its own; after that we do, in one line.
set -u
build=$PWD
program=$build/reallot-mpi
carrier=()
if [ "${1-}" = --nccl ]; then
  program=$build/tests/reallot-cores-mpi
  carrier=(--backend=cuda --communicator=nccl)
  shift
fi
n=${1:-50}
[ "$n" = --quick ] && n=5
reallot=$build/reallot
srcdir=${srcdir:-..}
export RA_DATA_PATH=${RA_DATA_PATH:-$srcdir/share:$srcdir/traces}
RA_DATA_PATH=$(realpath "${RA_DATA_PATH%%:*}"):$(realpath "${RA_DATA_PATH##*:}")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  OMPI_MCA_btl_vader_single_copy_mechanism=none \
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
if [ ! -x "$program" ] || ! command -v mpirun >/dev/null; then
  echo "kills: no ${program##*/} here, or no mpirun"
  exit 0
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1

process_of() { # NUMBER
  local pid
  for pid in $(pgrep -f "checkpoint $tmp/k "); do
    tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
      grep -q "^OMPI_COMM_WORLD_RANK=$1\$" && echo "$pid"
  done
}
now() { date +%s.%N; }
since() { echo "$(now) $1" | awk '{ printf "%.2f", $1 - $2 }'; }

# Whether the run that has ended made what one that nobody killed does.
ended() {
  whole=$((whole + 1))
  diff -r "$tmp/w/iteration-000040" "$tmp/k/iteration-000040" >/dev/null ||
    unlike=$((unlike + 1))
  rm -rf "$tmp/k"
}

"$reallot" run ppo-tiny-8.plan -n 40 --checkpoint "$tmp/w" >/dev/null || exit 1
RANDOM=1
kills=0 hung=0 unnamed=0 whole=0 unlike=0 longest=0
echo "# SIGKILL to one of 4 processes; seconds from the start to it, and from it
# to the end of all; iterations that were whole then"
printf 'kill\tprocess\tat_s\tended_s\tnamed\titerations\n'
while [ "$kills" -lt "$n" ]; do
  NCCL_DOUBLE=$([ $((kills % 2)) -eq 0 ] || echo tells) \
    timeout 300 mpirun -n 4 "$program" run ppo-tiny-8.plan -n 40 \
    --checkpoint "$tmp/k" --resume "${carrier[@]}" >out 2>err </dev/null &
  pid=$!
  at=$((RANDOM % 400))
  sleep "$((at / 100)).$(printf %02d $((at % 100)))"
  process=$((RANDOM % 4))
  victim=$(process_of $process)
  # Before the processes are there, or after the end: nothing to kill.
  # shellcheck disable=SC2086
  if [ -z "$victim" ] || ! kill -KILL $victim 2>/dev/null; then
    wait $pid && ended
    continue
  fi
  begin=$(now)
  if wait $pid; then # it had just ended
    ended
    continue
  fi
  took=$(since "$begin")
  kills=$((kills + 1))
  named=no
  if [ "$(grep -c '^reallot: ' err)" -eq 1 ] &&
    grep -q "^reallot: .*process $process.* died" err; then
    named=yes
  elif [ ! -s out ] && ! grep -q '^reallot: ' err && tr '\n' ' ' <err |
    grep -q "process rank $process with PID .* exited on signal 9"; then
    # MPI had not met: mpirun ends them, and only it can say who was lost.
    named=mpirun
  else
    unnamed=$((unnamed + 1))
    sed 's/^/# /' err
  fi
  longest=$(echo "$longest $took" | awk '{ print ($2 > $1) ? $2 : $1 }')
  [ "${took%.*}" -ge 10 ] && hung=$((hung + 1))
  last=
  for folder in "$tmp"/k/iteration-??????; do
    [ -d "$folder" ] && last=${folder##*/}
  done
  printf '%d\t%d\t%d.%02d\t%s\t%s\t%s\n' "$kills" "$process" $((at / 100)) \
    $((at % 100)) "$took" "$named" "${last:-none}"
done
while [ ! -d "$tmp/k/iteration-000040" ]; do
  timeout 300 mpirun -q -n 4 "$program" run ppo-tiny-8.plan -n 40 \
    --checkpoint "$tmp/k" --resume "${carrier[@]}" >out 2>err </dev/null || break
done
ended
ok() { [ "$1" -le 0 ] && echo ok || echo short; }
echo "# $kills kills, the longest end took $longest s; $whole runs ended"
printf 'bar\thangs beyond 10 s\t%d\t0\t%s\n' "$hung" "$(ok "$hung")"
printf 'bar\tkills that no line named\t%d\t0\t%s\n' "$unnamed" "$(ok "$unnamed")"
printf 'bar\tresumed runs with other bits\t%d\t0\t%s\n' "$unlike" "$(ok "$unlike")"
