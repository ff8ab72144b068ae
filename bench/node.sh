#!/bin/bash
# Everything that wants a real GPU, on a machine that has one: one command, in
# steps that can be taken one by one and that are not taken twice.  In a source
# tree it builds first; out of `make node-bundle` it takes what lies beside it.
#
#   bench/node.sh [--out=FOLDER] [--again] [--dry] [--step=SECONDS]
#                 [--total=SECONDS] [STEP...]
#
#   build     configure with CUDA and build in build-node/
#   device    what the machine is: GPU, driver, clocks, libraries
#   tests     the self test, and the kernels' tests on the device
#   peer      PyTorch's attention, where python3 has PyTorch
#   kernels   every kernel against its limit and the peer
#   calibrate the GPU's ops, coarse, as FOLDER/mine.profile
#   run       8 ranks on one GPU in all layouts; GRPO and PPO learn, resume
#   families  layers of experts, ALiBi, rings and learned positions in layouts
#   loop      bench/loop_gpu: profile, prediction, run; over NCCL where it can
#   train     a training step against the GPU's peak and compiled PyTorch
#   decode    decoding against the bandwidth of weights and cache
#   collectives  those of the planned grid, over NCCL
#   reallocation  weights between layouts against the bandwidth of a copy, and
#             between GPUs against that of their links
#   ptxas     registers, memory and spills of the kernels
#   sanitize  the kernels' tests under compute-sanitizer, where it is
#
# Default: all of them, in this order, each for 8 minutes at most (--step, or
# what limit_s says below) and all for 25 (--total); what a step has printed and
# written when its time is up stays.  Left in FOLDER (default: node/), 8 files at
# most:
#
#   report.txt            what every step printed, and how it ended
#   now.txt               while a step is under way: what it has printed
#   bars.tsv              figures against their bars
#   mine.profile, mine.samples.trace.tsv          calibrate
#   run.trace.tsv, collectives.trace.tsv, nccl-tests.log, peer.tsv
#
# A step that ended well is not taken again unless --again.  --dry: the steps'
# logic on an emulated device, with models of a toy's size; figures mean nothing.
# Exit status: 0 all went well or could not be had (said), 1 a step failed.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=${NODE_BUILD:-$top/build-node} bin=${NODE_BUILD:-$top/build-node}
[ ! -d "$top/bin" ] || build=$top bin=$top/bin # a bundle
out=node again=no dry=no step_s='' total_s=1500 steps=()
longest_s=480 # of any step, for a machine that ends a command after 600 s

# Limits of the steps, seconds; together 25 minutes.  calibrate took 17 s on an
# H100; the others rest on no measurement, and end what hangs.
declare -A limit_s=([build]=260 [device]=20 [tests]=90 [peer]=60 [kernels]=90
  [calibrate]=150 [run]=120 [families]=90 [loop]=210 [train]=150 [decode]=40
  [reallocation]=40 [collectives]=60 [ptxas]=60 [sanitize]=60)
every=(build device tests peer kernels calibrate run families loop train decode
  collectives reallocation ptxas sanitize)

usage() { # WHY
  echo "node.sh: $1 (--help)" >&2
  exit 2
}

for arg; do
  case $arg in
    -h | --help) sed -n '2,43s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --out=?*) out=${arg#--out=} ;;
    --again) again=yes ;;
    --dry) dry=yes ;;
    --step=*[!0-9]* | --step= | --total=*[!0-9]* | --total=)
      usage "'$arg', expected seconds" ;;
    --step=*) step_s=${arg#--step=} ;;
    --total=*) total_s=${arg#--total=} ;;
    -*) usage "'$arg', expected a step or an option" ;;
    *) [ -n "${limit_s[$arg]-}" ] || usage "'$arg', expected a step or an option"
      steps+=("$arg") ;;
  esac
done
[ ${#steps[@]} -gt 0 ] || steps=("${every[@]}")
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
report=$out/report.txt bars=$out/bars.tsv now=$out/now.txt
touch "$report" "$bars"

# ---- The machine -------------------------------------------------------------

jobs=$(getconf _NPROCESSORS_ONLN)
smi=nvidia-smi
if [ "$dry" = yes ]; then # a stand-in: one H200
  smi=$work/nvidia-smi
  cat >"$smi" <<'S'
#!/bin/sh
case "$*" in
  -L) echo 'GPU 0: NVIDIA H200 (UUID: GPU-0)' ;;
  'topo -m') printf '\tGPU0\tCPU Affinity\nGPU0\t X \t0-15\n' ;;
  *) echo 'name, driver_version'; echo 'NVIDIA H200, emulated' ;;
esac
S
  chmod +x "$smi"
fi
n_gpus=$($smi -L 2>/dev/null | grep -c '^GPU')
gpu_class=h100-sxm # whose data sheet a plan's cluster has
! $smi -L 2>/dev/null | grep -q H200 || gpu_class=h200-sxm
[ "$dry" = yes ] || smi="nvidia-smi --format=csv --query-gpu=index,name,\
driver_version,memory.total,clocks.max.sm,clocks.max.mem,clocks.sm,clocks.mem,\
temperature.gpu,power.limit"
reallot=$bin/reallot-cuda
if [ "$dry" = yes ]; then reallot=$build/tests/reallot-emulated; fi
RA_DATA_PATH=$top/share:$top/traces
# What reallot-cuda looks for itself, and where this python3 says it is.
RA_CUDA_LIBRARIES=${RA_CUDA_LIBRARIES:+$RA_CUDA_LIBRARIES:}$(python3 -c '
import glob, sys
print(":".join(f for p in sys.path for f in glob.glob(p + "/nvidia/*/lib")))
' 2>/dev/null)
export RA_DATA_PATH RA_CUDA_LIBRARIES
export top build bin reallot out jobs dry smi gpu_class n_gpus

# ---- The files ---------------------------------------------------------------

# How @1 ended when it was last taken: "ok in 12 s".
ended() { # STEP
  sed -n "s/^== $1: //p" "$report" | tail -n 1
}

# A step that is taken anew leaves nothing of what it was.
forget() { # STEP
  awk -v step="$1" '/^==> / { mine = $2 == step } !mine' "$report" \
    >"$work/report" && cat "$work/report" >"$report"
  awk -F'\t' -v step="$1" '$1 != step' "$bars" >"$work/bars" &&
    cat "$work/bars" >"$bars"
}

# A machine with limits may return files of at most 16 MiB.  What a dry walk has
# measured meets no bar.
keep() { # STEP OUTPUT ENDED
  {
    echo "==> $1"
    tail -c 1000000 "$2"
    echo "== $1: $3"
  } >>"$report"
  awk -F'\t' -v step="$1" -v dry=$dry '
    $1 == "bar" { print step, $2, $3, $4, dry == "yes" ? "dry" : $5 }' \
    OFS='\t' "$2" >>"$bars"
}

# ---- The steps ---------------------------------------------------------------

begin_s=$SECONDS
worst=0
for step in "${steps[@]}"; do
  if [ "$again" = no ] && [[ $(ended "$step") == ok* ]]; then
    echo "$step: taken before ($report)"
    continue
  fi
  left_s=$((total_s - (SECONDS - begin_s)))
  if [ $left_s -le 10 ]; then
    echo "$step: not begun, $total_s s are over"
    worst=1
    continue
  fi
  most_s=${limit_s[$step]}
  [ "$dry" = no ] || most_s=$longest_s # emulated, on a machine that may be busy
  most_s=${step_s:-$most_s}
  [ "$most_s" -le $longest_s ] || most_s=$longest_s
  [ "$most_s" -le $left_s ] || most_s=$left_s
  forget "$step"
  rm -rf "$work/step" && mkdir "$work/step"
  from_s=$SECONDS
  # The last second is the kill's: a step that ignores the end.
  (cd "$work/step" && step_s=$most_s exec timeout -k 1 $((most_s - 1)) bash -c \
    ". \"\$top/bench/node_steps.sh\" && step_$step") >"$now" 2>&1
  status=$?
  took="in $((SECONDS - from_s)) s"
  case $status in
    0) end="ok $took" ;;
    77) end="not on this machine ($(tail -n 1 "$now"))" ;;
    124 | 137) end="cut after $most_s s, what it did stays" worst=1 ;;
    *) end="failed ($status) $took" worst=1 ;;
  esac
  n_short=$(grep -c '^bar	.*	short$' "$now")
  [ "$n_short" -eq 0 ] || end="$end, $n_short bars short"
  keep "$step" "$now" "$end" && rm -f "$now"
  echo "$step: $end"
done
exit $worst
