#!/bin/bash
# CPU seconds of tests on the emulator, beside those of an earlier revision.
#
#     git worktree add THEN 912cf4f
#     (cd THEN && autoreconf -fi && mkdir build && cd build && ../configure)
#     bench/peer/emulator_then.sh THEN/build [BUILD] [ROUNDS]     build, 2
#
# Both folders are configured alike. Programs are built as the sources are.
# A line a program that both have: least user seconds of ROUNDS runs, in turns,
# of the earlier and of this one, and the ratio; cases that were added count.
# `emulator-then` is the ratio of the sums. Bar: 0.5.
set -u
then_build=${1:?the build folder of an earlier revision}
now_build=${2:-build} rounds=${3:-2}
here=$(cd "$(dirname "$0")/../.." && pwd)
export CK_FORK=no CK_TIMEOUT_MULTIPLIER=60 LC_ALL=C
export RA_DATA_PATH=$here/share:$here/traces

# The program NAME of the folder BUILD, as its sources are; nothing: it has none.
program() {
  local at
  for at in tests tests/device; do
    [ -e "$1/../$at/$2.c" ] || continue
    make -s -C "$1" "$at/$2" >/dev/null 2>&1
    [ ! -x "$1/$at/$2" ] || { echo "$1/$at/$2"; return; }
  done
}

# User seconds of a program; its tests must pass.
seconds() {
  local out
  out=$( { TIMEFORMAT=%U; time "$1" >/dev/null 2>&1 || echo fails; } 2>&1)
  echo "$out"
}

least() { awk -v a="$1" -v b="$2" 'BEGIN { print a == "" || b < a ? b : a }'; }

printf 'program\tthen_s\tnow_s\tratio\n'
for name in check_device check_device_attention check_device_classic \
  check_device_decode check_device_experts check_device_grouped \
  check_device_ring check_device_sums \
  check_backend_cuda check_backend_cuda_layouts check_backend_cuda_models \
  check_backend_cuda_products check_backend_cuda_ring check_backend_cuda_run \
  check_backend_cuda_sample; do
  old=$(program "$then_build" "$name") new=$(program "$now_build" "$name")
  if [ -z "$old" ] || [ -z "$new" ]; then
    echo "# $name is not in both" >&2
    continue
  fi
  a='' b=''
  for ((i = 0; i < rounds; i++)); do
    a=$(least "$a" "$(srcdir=$then_build/.. seconds "$old")")
    b=$(least "$b" "$(srcdir=$here seconds "$new")")
  done
  awk -v n="$name" -v a="$a" -v b="$b" 'BEGIN {
    printf "%s\t%.2f\t%.2f\t%.2f\n", n, a, b, (a > 0 ? b / a : 1) }'
done | tee /dev/stderr | awk -F'\t' '$2 ~ /fails/ || $3 ~ /fails/ { bad++ }
  { then_s += $2; now_s += $3 }
  END { printf "emulator-then %.3f (%.1f s, then %.1f s)\n", now_s / then_s,
      now_s, then_s; exit bad > 0 }'
