# shellcheck shell=bash disable=SC2154 # variables are node.sh's
# What bench/node.sh can do on a machine with a GPU, a function a step, in a
# folder of its own: what it prints is the step's section of the report, lines
# `bar NAME VALUE LIMIT ok|short` are held, 77 says that the machine lacks it
# (why is the last line).
#
# From node.sh: top, build, bin, reallot, out, jobs, dry, gpu_class, n_gpus.
# With dry=yes the device is the emulated one and everything is tiny.
# shellcheck source=bench/node_plans.sh
. "$top/bench/node_plans.sh"

lacks() { # WHY
  echo "$1"
  return 77
}

# As bench/figure.h's bench_bar(); '-' for what was not measured.
bar() { # NAME VALUE >=|<= LIMIT
  awk -v name="$1" -v value="$2" -v side="$3" -v limit="$4" 'BEGIN {
    met = value != "-" && (side == ">=" ? value >= limit : value <= limit)
    printf "bar\t%s\t%s\t%s%s\t%s\n", name, value, side, limit,
      met ? "ok" : "short" }'
}

median() { # of the numbers on stdin; '-' of none
  sort -g | awk '{ x[NR] = $1 } END {
    if (NR == 0) print "-"
    else printf "%.6g\n", NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'
}

cuda() { # ARGUMENT...: a command on the GPU
  local command=$1
  shift
  "$reallot" "$command" --backend=cuda "$@"
}

# ---- The machine and the build -----------------------------------------------

step_build() {
  [ "$build" != "$top" ] || { echo "a bundle: nothing to build"; return 0; }
  [ "$dry" = no ] || { echo "dry: what lies in $build"; return 0; }
  cd "$top" || return 1
  [ -x configure ] || autoreconf -fi || return 1
  mkdir -p "$build" && cd "$build" || return 1
  [ -f config.status ] || "$top/configure" --with-cuda=yes || return 1
  make -j "$jobs" && make -j "$jobs" check TESTS=
}

step_device() {
  echo "# date (UTC): $(date -u +%FT%TZ)"
  echo "# revision: $(cat "$top/REVISION" 2>/dev/null ||
    git -C "$top" rev-parse HEAD 2>/dev/null || echo -)"
  "$reallot" --version || return 1
  uname -a
  free -g 2>/dev/null
  $smi >smi.txt 2>/dev/null || lacks "no nvidia-smi" || return 77
  cat smi.txt
  ${smi%% *} topo -m
}

# What `make check-gpu` runs, by hand, so that a bundle needs no make.  One
# process a program: a context for each of a hundred cases takes minutes.  What
# hangs is ended, and the next program has its turn.
step_tests() {
  local failed=0 program

  if [ "$dry" = no ]; then
    builddir=$bin RA_HAVE_CUDA=yes RA_REQUIRE_GPU=yes bash "$top/tests/device/gpu.sh" ||
      failed=1
  fi
  for program in "$build"/tests/device/check_gpu*; do
    case ${program##*/} in *.*) continue ;; esac
    echo "# ${program##*/}"
    if [ "$dry" = yes ]; then
      "$program" >tap.txt || failed=1
      head -n 3 tap.txt
    else
      CK_FORK=no RA_REQUIRE_GPU=yes timeout -k 1 40 "$program" || {
        echo "# ${program##*/}: exit status $?"
        failed=1
      }
    fi
  done
  return $failed
}

step_ptxas() {
  command -v nvcc >/dev/null || lacks "no nvcc" || return 77
  [ "$dry" = no ] || lacks "dry: no kernel is compiled" || return 77
  "$top/bench/ptxas.sh"
}

# All cases, as they are small.  The tool follows one process, so tests do not
# fork.
step_sanitize() {
  local failed=0 program

  command -v compute-sanitizer >/dev/null ||
    lacks "no compute-sanitizer" || return 77
  for program in "$build"/tests/device/check_gpu*; do
    case ${program##*/} in *.*) continue ;; esac
    echo "# ${program##*/}"
    CK_FORK=no RA_REQUIRE_GPU=yes compute-sanitizer --error-exitcode=9 \
      "$program" >sanitizer.txt 2>&1 || failed=1
    grep -E '^(========= |not ok)' sanitizer.txt | tail -n 20
  done
  return $failed
}

# ---- Kernels and the profile -------------------------------------------------

step_peer() {
  python3 -c 'import torch' 2>/dev/null || lacks "no PyTorch" || return 77
  [ "$dry" = no ] || lacks "dry: PyTorch has no emulated device" || return 77
  python3 "$top/bench/gpu/gpu_peer.py" | tee "$out/peer.tsv"
  return "${PIPESTATUS[0]}"
}

# The bandwidth of a copy, which decode and reallocation are held against, is
# kept for them.
step_kernels() {
  local args=()

  [ ! -f "$out/peer.tsv" ] || args=("--peer=$out/peer.tsv")
  "$build/bench/gpu_kernels" ${args[@]+"${args[@]}"} | tee kernels.txt
  [ "${PIPESTATUS[0]}" -eq 0 ] || return 1
  [ "$dry" = yes ] || grep -q '^# a copy: ' kernels.txt
}

copy_bytes_per_s() {
  if [ "$dry" = yes ]; then
    echo 1e9
  else
    sed -n 's/^# a copy: \([^ ]*\) bytes.*/\1/p' "$out/report.txt" | tail -n 1
  fi
}

# The coarse grid: what the fit of the whole one takes nobody has measured.  The
# emulated device would take hours: a dry walk has the plan, and the base.
step_calibrate() {
  if [ "$dry" = yes ]; then
    "$reallot" calibrate --backend=cuda --dry-run --quick &&
      cp "$top/traces/profiles/$gpu_class.profile" "$out/mine.profile"
    return
  fi
  cuda calibrate --quick -o "$out/mine.profile" &&
    grep -A 4 '^\[law host\]' "$out/mine.profile"
}

profile() {
  [ -f "$out/mine.profile" ] && echo "$out/mine.profile"
}

# ---- Runs --------------------------------------------------------------------

# The losses of SFT, iteration by iteration.
losses() { # PLAN
  cuda run "$1" -n 3 --check --format=tsv >"$1.run" || return 1
  awk -F'\t' '/^#/ || $1 == "iteration" { next } { print $4 }' "$1.run"
}

# Every layout on one GPU against one rank.  A forward of 8 layers rounds to bf16
# R = 14 x 8 + 3 times (tests/device/check_backend_cuda.c), and 2 x 8 more where the
# library rounds a product before it adds it to the residual stream, each time by
# 2^-9 / sqrt(3) rms, so that two orders of sums are sqrt(2 R / 3) 2^-9 = 1.8 % of a
# row of logits apart, and their losses, means over some thousand rows, by less.
run_layouts() {
  local n=8
  local layouts=('dp=8' 'tp=8' 'pp=8 micro-batches=8' 'dp=2 tp=2 pp=2'
    'tp=8 sequence-parallel=true' 'dp=8 zero=1')

  if [ "$dry" = yes ]; then
    n=2
    layouts=('dp=2' 'pp=2 micro-batches=2')
    write_model small 2 32 32 2 2 64 32
    write_workload layouts sft small 4 '2, 4' '6, 8'
  else
    write_model small 8 512 1408 8 8 64 1024
    write_workload layouts sft small 32 '24, 40' '64, 128'
  fi
  agree layouts $n "${layouts[@]}"
}

agree() { # WORKLOAD RANKS LAYOUT...: each layout's losses against one rank's
  local workload=$1 n=$2 failed=0 layout
  shift 2

  write_plan one "$workload" - - 'mesh=0'
  losses one.plan >one.loss || return 1
  for layout; do
    write_plan other "$workload" - - "mesh=0-$((n - 1)) $layout"
    if losses other.plan >other.loss && paste one.loss other.loss | awk '
        { d = $1 - $2; if (d < 0) d = -d; if (!(d <= 0.02 * $1)) bad = 1 }
        END { exit bad || NR < 3 }'; then
      echo "agrees with one rank: $workload, $layout"
    else
      echo "FAILED: $workload, $layout: $(paste -s other.loss), one rank:" \
        "$(paste -s one.loss)"
      failed=1
    fi
  done
  return $failed
}

# The share of even tokens, half by chance, rises; weights that were reallocated
# have the checksums of those that were trained (--check).
run_learns() { # PLAN ITERATIONS
  cuda run "$1" -n "$2" --check --learning-rate 0.01 --format=tsv >learns.run ||
    return 1
  awk -F'\t' -v name="$1" '/^#/ || $1 == "iteration" { next }
    { if (!n++) first = $2; before = last; last = $2 }
    END { late = (before + last) / 2
      printf "%s: reward %.3f, %.3f after %d iterations\n", name, first, late, n
      exit !(late > first) }' learns.run
}

# Stopped after one iteration and resumed: the bits of one that was not.
run_resumes() { # PLAN
  rm -rf whole resumed kept
  cuda run "$1" -n 2 --save actor=whole >/dev/null &&
    cuda run "$1" -n 1 --checkpoint kept >/dev/null &&
    cuda run "$1" -n 2 --checkpoint kept --resume --save actor=resumed \
      >/dev/null || return 1
  cmp whole/model.safetensors resumed/model.safetensors &&
    echo "resumes to the same bits: $1"
}

# All states wait in host memory between calls, and go and come beside them: the
# bits of those that stay.
run_away() { # PLAN
  local goes=(--set 'call actor_train.optimizer-residency=host') call

  for call in actor_generate ref_inference actor_train; do
    goes+=(--set "call $call.residency=host")
  done
  cuda run "$1" -n 2 --save actor=stays >/dev/null &&
    cuda run "$1" -n 2 "${goes[@]}" --save actor=goes >/dev/null || return 1
  cmp stays/model.safetensors goes/model.safetensors &&
    echo "states in host memory come back to the same bits: $1"
}

# The shipped plans of 4 ranks first, then all 8, whose calls are laid out in
# other ways.
step_run() {
  local failed=0 n=20

  [ "$dry" = no ] || n=6
  write_cluster 8
  run_layouts || failed=1
  run_learns grpo-tiny-bf16-4.plan $n || failed=1
  run_resumes grpo-tiny-bf16-4.plan || failed=1
  run_away grpo-tiny-bf16-4.plan || failed=1
  [ "$dry" = no ] || return $failed
  run_learns ppo-tiny-bf16-4.plan $n || failed=1
  write_workload grpo grpo small 16 '4, 8' '16, 32' 8
  write_workload ppo ppo small 64 '4, 8' '16, 32'
  write_plan grpo grpo 'mesh=0-7 dp=8' 'mesh=0-7 tp=8' 'mesh=0-7 dp=2 tp=2 pp=2'
  write_plan ppo ppo 'mesh=0-3 dp=4' 'mesh=4-7 tp=4' 'mesh=4-7 dp=2 pp=2'
  run_learns grpo.plan 12 || failed=1
  run_learns ppo.plan 12 || failed=1
  run_resumes ppo.plan || failed=1
  return $failed
}

# Kinds of layers that the models of step_run lack, in the layouts that they
# have: experts and norms of heads, ALiBi's distances, keys that come round a
# ring (cp), LayerNorm with biases and a vocabulary that is no multiple of 8.
step_families() {
  local failed=0 family experts='dp=4 ep=4'
  local families=(experts heads ring alibi learned)

  write_cluster 8
  write_families
  [ "$dry" = no ] || families=(experts alibi)
  for family in "${families[@]}"; do
    local layouts=('dp=2 tp=2' 'tp=4 sequence-parallel=true')
    case $family in
      experts | heads) layouts=("$experts" tp=4
        'dp=2 tp=2 ep=2 sequence-parallel=true') ;;
      ring | alibi) layouts+=('cp=4' 'cp=2 tp=2') ;;
    esac
    [ "$dry" = no ] || layouts=("${layouts[0]}")
    agree "$family" 4 "${layouts[@]}" || failed=1
  done
  [ "$dry" = no ] || return $failed
  write_workload experts-grpo grpo experts 16 '4, 8' '16, 32' 8
  write_plan experts-grpo experts-grpo 'mesh=0-3 tp=4' "mesh=0-3 $experts" \
    "mesh=0-3 $experts"
  run_learns experts-grpo.plan 12 || failed=1
  run_resumes experts-grpo.plan || failed=1
  return $failed
}

# ---- The loop ----------------------------------------------------------------

# GRPO and PPO of three sizes predicted, run and compared (bench/gpu/loop_gpu.c); a
# trace of the plan to begin with on any GPU, for who looks at it.
step_loop() {
  local how=("--seconds=$((step_s * 4 / 5))") first=grpo-tiny-bf16-4.plan
  local failed=0

  profile >/dev/null || lacks "no mine.profile: take calibrate first" || return 77
  [ "$dry" = no ] || how=(--tiny)
  "$build/bench/loop_gpu" --program="$reallot" --profile="$(profile)" \
    --gpu="$gpu_class" --gpus="$n_gpus" "${how[@]}" | sed -u 's/^bar\t/&loop_/'
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
  cuda run "$first" -n 3 --trace "$out/run.trace.tsv" || failed=1
  return $failed
}

# ---- Training, decoding, reallocation ----------------------------------------

# The median time of what a trace has of one kind, iterations after the first.
span_s() { # TRACE CALL
  awk -F'\t' -v call="$2" '/^#/ || $1 == "name" || $3 != call || $2 == 0 { next }
    !($2 in begin) || $9 < begin[$2] { begin[$2] = $9 }
    $10 > end[$2] { end[$2] = $10 }
    END { for (i in begin) print end[i] - begin[i] }' "$1" | median
}

# FLOP of a call as the simulator counts them: the model's, nothing recomputed.
call_flop() { # PLAN CALL
  "$reallot" simulate "$1" --format=tsv | awk -F'\t' -v call="$2" '
    /^# / { part = $0; next }
    part == "# gpu_time" && $1 == call { printf "%.9g\n", $2 * $9 }'
}

# 16 sequences of 4,096 tokens; the peak is the data sheet's, dense bf16.
step_train() {
  local peak=989.4e12 size flop s peer name=one args=()

  write_cluster 8
  if [ "$dry" = yes ]; then
    write_model one 2 32 32 2 2 64 32
    write_workload train sft one 2 '4, 4' '4, 4'
  else
    write_model one 16 2048 8192 32 8 64 128256
    write_model three 28 3072 8192 24 8 128 128256
    write_workload train sft one 16 '2048, 2048' '2048, 2048'
    write_workload train-three sft three 16 '2048, 2048' '2048, 2048'
  fi
  printf 'model\tflop\tseconds\tmfu_frac\ttorch_seconds\n'
  for size in train train-three; do
    [ -f "$size.workload" ] || continue
    [ "$size" = train ] || name=three
    write_plan "$size" "$size" - - 'mesh=0 micro-batches=16'
    [ "$dry" = no ] || write_plan "$size" "$size" - - 'mesh=0'
    cuda run "$size.plan" -n 4 --trace train.trace.tsv >run.txt || return 1
    flop=$(call_flop "$size.plan" actor_train)
    s=$(span_s train.trace.tsv actor_train)
    peer=-
    args=("$name.json")
    [ "$dry" = no ] || args+=(--tiny)
    if python3 -c 'import torch' 2>/dev/null; then
      peer=$(python3 "$top/bench/gpu/gpu_train_peer.py" "${args[@]}" | awk -F'\t' '
        $1 == "train" { print $3 }')
    fi
    awk -v name="$name" -v flop="$flop" -v s="$s" -v peak=$peak -v peer="${peer:--}" \
      'BEGIN { printf "%s\t%s\t%s\t%.4f\t%s\n", name, flop, s, flop / s / peak,
        peer }' | tee -a train.tsv
  done
  bar train_mfu "$(cut -f 4 train.tsv | sort -g | head -n 1)" '>=' 0.45
  bar train_of_torch "$(awk -F'\t' '$5 != "-" { print $5 / $3 }' train.tsv |
    sort -g | head -n 1 | grep . || echo -)" '>=' 0.95
}

# A step reads all weights once (of the embedding a few rows) and the keys and
# values of all sequences so far.  A copy's bandwidth, which counts what is read
# and what is written, is that of the memory.  Steps begun op by op, and as
# graphs, which is what the bar is for.
step_decode() {
  local copy layers=2 hidden=32 ffn=32 heads=2 kv=2 dim=64 vocabulary=32
  local batch=2 prompt=4 response=4 s launch

  copy=$(copy_bytes_per_s)
  [ -n "$copy" ] || lacks "no copy's bandwidth: take kernels first" || return 77
  [ "$dry" = yes ] ||
    read -r layers hidden ffn heads kv dim vocabulary batch prompt response \
      <<<'16 2048 8192 32 8 64 128256 16 512 512'
  write_cluster 8
  write_model decode "$layers" "$hidden" "$ffn" "$heads" "$kv" "$dim" \
    "$vocabulary"
  write_workload decode grpo decode "$batch" "$prompt, $prompt" \
    "$response, $response" 2
  sed -i "s/^prompts = .*/prompts = $((batch / 2))/" decode.workload
  for launch in eager graph; do
    write_plan decode decode "mesh=0 launch=$launch" mesh=0 mesh=0
    cuda run decode.plan -n 2 --trace "decode.$launch.trace.tsv" >run.txt ||
      return 1
    s=$(awk -F'\t' '$4 == "decode" && $2 > 0 { print $10 - $9 }' \
      "decode.$launch.trace.tsv" | median)
    awk -v l="$layers" -v h="$hidden" -v f="$ffn" -v a="$heads" -v k="$kv" \
      -v d="$dim" -v v="$vocabulary" -v b="$batch" -v p="$prompt" \
      -v r="$response" -v s="$s" -v copy="$copy" -v launch=$launch 'BEGIN {
        weights = 2 * (l * (h * d * (2 * a + 2 * k) + 3 * h * f + 2 * h) + h * v)
        cache = 4 * l * k * d * b * (p + r / 2)
        bound = r * (weights + cache) / copy
        if (launch == "eager") {
          printf "# weights %.4g bytes, cache %.4g in the middle, %d steps\n",
            weights, cache, r
          printf "launch\tseconds\tbound_s\tbound_frac\n"
        }
        printf "%s\t%.5g\t%.5g\t%.4f\n", launch, s, bound, bound / s }' |
      tee -a decode.tsv
  done
  bar decode_bound_frac "$(tail -n 1 decode.tsv | cut -f 4)" '>=' 0.60
}

# What a link carries to a GPU: the fastest send of `collectives`.
link_bytes_per_s() {
  if [ "$dry" = yes ]; then
    echo 1e9
  elif [ -f "$out/collectives.trace.tsv" ]; then
    awk -F'\t' '$7 == "send" && $10 > $9 { r = $12 / ($10 - $9)
      if (r > most) most = r } END { if (most) printf "%.6g\n", most }' \
      "$out/collectives.trace.tsv"
  fi
}

# A line of moved.tsv: what is reallocated between two layouts, and the time of
# that against what BANDWIDTH takes for the column of bytes of `simulate`.
move_weights() { # NAME LAYOUT TO COLUMN TIMES BANDWIDTH OPTION...
  local name=$1 column=$4 times=$5 bandwidth=$6 s bytes

  write_plan "$name" moved "$2" "$2" "$3"
  shift 6
  cuda run "$name.plan" -n 4 --check --trace moved.trace.tsv "$@" >run.txt ||
    return 1
  s=$(awk -F'\t' '$4 == "realloc" && $2 > 0 { print $10 - $9 }' \
    moved.trace.tsv | median)
  bytes=$("$reallot" simulate "$name.plan" --format=tsv | awk -F'\t' \
    -v column="$column" '/^# / { part = $0; next }
    part == "# moves" && $1 == "move" {
      for (i = 1; i <= NF; i++) if ($i == column) at = i }
    part == "# moves" && $1 == "realloc" && !done { print $at; done = 1 }')
  awk -v name="$name" -v bytes="$bytes" -v s="$s" -v times="$times" \
    -v bandwidth="$bandwidth" 'BEGIN {
      bound = times * bytes / bandwidth
      printf "%s\t%s\t%.5g\t%.5g\t%.4f\n", name, bytes, s, bound, bound / s }' |
    tee -a moved.tsv
}

# Ranks that share a GPU: what moves is read and written once.  Between GPUs it
# goes over their links, each GPU's at a time: the one with most is the bound.
step_reallocation() {
  local copy link last=$((n_gpus - 1)) half=$((n_gpus / 2))
  local layout='mesh=0-3 tp=2 dp=2' to='mesh=0-3 pp=2 dp=2'
  local far="mesh=0-$last tp=2 dp=$half" far_to="mesh=0-$last pp=2 dp=$half"

  copy=$(copy_bytes_per_s)
  [ -n "$copy" ] || lacks "no copy's bandwidth: take kernels first" || return 77
  link=$(link_bytes_per_s)
  write_cluster 8
  if [ "$dry" = yes ]; then
    write_model moved 2 32 32 2 2 64 32
    write_workload moved grpo moved 4 '2, 3' '2, 3' 2
    layout='mesh=0-1 dp=2' to='mesh=0-1 pp=2' far=$layout far_to=$to
  else
    write_model moved 16 2048 8192 32 8 64 128256
    write_workload moved grpo moved 8 '32, 64' '16, 32' 2
  fi
  printf 'plan\tbytes\tseconds\tbound_s\tbound_frac\n'
  move_weights shared "$layout" "$to" bytes 2 "$copy" || return 1
  bar reallocation_bound_frac "$(tail -n 1 moved.tsv | cut -f 5)" '>=' 0.85
  [ "$dry" = yes ] || [ "$half" -ge 1 ] || return 0
  if [ -z "$link" ]; then
    echo "no link's bandwidth: take collectives first"
    bar reallocation_link_frac - '>=' 0.85
    return 0
  fi
  move_weights linked "$far" "$far_to" per_gpu_bytes 1 "$link" \
    --communicator=nccl --stall 60 || return 1
  bar reallocation_link_frac "$(tail -n 1 moved.tsv | cut -f 5)" '>=' 0.85
}

# With nccl-tests on PATH their bandwidth is the bar.
step_collectives() {
  local log=() status test

  for test in all_reduce all_gather reduce_scatter alltoall broadcast; do
    [ "$n_gpus" -ge 2 ] && command -v ${test}_perf >/dev/null || continue
    ${test}_perf -b 1M -e 1G -f 2 -g "$n_gpus" -d half >"${test}_perf.log" ||
      return 1
    log+=("--log=${test}_perf.log")
  done
  [ ${#log[@]} -eq 0 ] || cat ./*_perf.log >"$out/nccl-tests.log"
  "$build/bench/collectives" --trace="$out/collectives.trace.tsv" \
    ${log[@]+"${log[@]}"}
  status=$?
  [ $status -ne 3 ] || return 77
  return $status
}
