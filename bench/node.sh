#!/bin/bash
# Everything that wants a real GPU, on a machine that has one: one command, in
# steps that can be taken one by one and that are not taken twice.
#
#   bench/node.sh [--out=FOLDER] [--again] [STEP...]
#
#   build     configure with CUDA and build in build-node/
#   device    what the machine is: GPU, driver, clocks, libraries
#   tests     the self test, and the kernels' tests on the device
#   ptxas     registers, memory and spills of the kernels
#   peer      PyTorch's attention, where python3 has PyTorch
#   kernels   every kernel against its limit and the peer
#   calibrate the GPU's ops, coarse, as FOLDER/mine.profile
#   collectives  those of the planned grid, over NCCL
#   sanitize  the kernels' tests under compute-sanitizer, where it is
#
# Default: all of them, in this order, each for 8 minutes at most.  A step that
# ended well leaves FOLDER/STEP.txt (default: node/) and is not taken again
# unless --again; one that failed leaves its output in FOLDER/STEP.failed.txt.
# Exit status: 0 all went well or could not be had (said), 1 a step failed.
# shellcheck disable=SC2317 # steps are called by name
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build-node out=node again=no steps=()
for arg; do
  case $arg in
    -h | --help) sed -n '2,21s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --out=?*) out=${arg#--out=} ;;
    --again) again=yes ;;
    build | device | tests | ptxas | peer | kernels | calibrate | \
      collectives | sanitize)
      steps+=("$arg") ;;
    *)
      echo "node.sh: '$arg', expected a step or an option (--help)" >&2
      exit 2 ;;
  esac
done
[ ${#steps[@]} -gt 0 ] ||
  steps=(build device tests ptxas peer kernels calibrate collectives sanitize)
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
jobs=$(getconf _NPROCESSORS_ONLN)

# ---- Steps: output goes to a file; 77: this machine does not have it --------

step_build() {
  cd "$top" || return 1
  [ -x configure ] || autoreconf -fi || return 1
  mkdir -p "$build" && cd "$build" || return 1
  [ -f config.status ] || "$top/configure" --with-cuda=yes || return 1
  make -j "$jobs" && make -j "$jobs" check TESTS=
}

step_device() {
  echo "# date (UTC): $(date -u +%FT%TZ)"
  (cd "$top" && echo "# revision: $(git rev-parse HEAD 2>/dev/null || echo -)")
  "$build/reallot-cuda" --version || return 1
  command -v nvidia-smi >/dev/null || return 77
  nvidia-smi --format=csv --query-gpu=index,name,driver_version,memory.total,\
clocks.max.sm,clocks.max.mem,clocks.sm,clocks.mem,temperature.gpu,power.limit
  nvidia-smi topo -m
}

step_tests() { make -C "$build" -j1 check-gpu; }

step_ptxas() { "$top/bench/ptxas.sh"; }

step_peer() {
  command -v python3 >/dev/null || return 77
  python3 -c 'import torch' 2>/dev/null || { echo "no PyTorch"; return 77; }
  python3 "$top/bench/gpu_peer.py"
}

step_kernels() {
  local peer=()

  [ ! -f "$out/peer.txt" ] || peer=(--peer="$out/peer.txt")
  "$build/bench/gpu_kernels" ${peer[@]+"${peer[@]}"}
}

# With nccl-tests on PATH their bandwidth is the bar.
step_collectives() {
  local log=() status test
  local n
  n=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')

  for test in all_reduce all_gather reduce_scatter alltoall broadcast; do
    command -v ${test}_perf >/dev/null && [ "$n" -ge 2 ] || continue
    ${test}_perf -b 1M -e 1G -f 2 -g "$n" -d half >"$out/${test}_perf.log" ||
      return 1
    log+=("--log=$out/${test}_perf.log")
  done
  "$build/bench/collectives" --trace="$out/collectives.trace.tsv" \
    ${log[@]+"${log[@]}"}
  status=$?
  [ $status -ne 3 ] || return 77
  return $status
}

# The coarse grid: what the fit of the whole one takes nobody has measured.
step_calibrate() {
  RA_DATA_PATH=$top/share:$top/traces "$build/reallot" calibrate \
    --backend=cuda --quick -o "$out/mine.profile" &&
    grep -A 4 '^\[law host\]' "$out/mine.profile"
}

# One process a program: the tool does not follow forks.
step_sanitize() {
  local program

  command -v compute-sanitizer >/dev/null ||
    { echo "no compute-sanitizer"; return 77; }
  for program in "$build"/tests/check_gpu*; do
    case $program in *.*) continue ;; esac
    CK_FORK=no CK_TIMEOUT_MULTIPLIER=100 RA_REQUIRE_GPU=yes \
      compute-sanitizer --error-exitcode=9 "$program" || return 1
  done
}

# ---- All of them -------------------------------------------------------------

export -f step_build step_device step_tests step_ptxas step_peer step_kernels
export -f step_calibrate step_collectives step_sanitize
export top build out jobs
worst=0
for step in "${steps[@]}"; do
  if [ "$again" = no ] && [ -f "$out/$step.txt" ]; then
    echo "$step: taken before ($out/$step.txt)"
    continue
  fi
  rm -f "$out/$step.txt" "$out/$step.failed.txt"
  begin=$(date +%s)
  timeout -k 10 480 bash -c "step_$step" >"$out/$step.failed.txt" 2>&1
  status=$?
  took="in $(($(date +%s) - begin)) s"
  case $status in
    0) mv "$out/$step.failed.txt" "$out/$step.txt"
      echo "$step: ok $took" ;;
    77) echo "$step: not on this machine ($(tail -n 1 "$out/$step.failed.txt"))"
      rm -f "$out/$step.failed.txt" ;;
    *) worst=1
      echo "$step: failed ($status) $took: $out/$step.failed.txt" ;;
  esac
done
exit $worst
