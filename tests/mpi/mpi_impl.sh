#!/bin/bash
# What the tests over MPI share: tests/mpi/mpi*.sh source it.
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

skip() {
  echo "1..0 # SKIP $1"
  exit 0
}
[ -x "$builddir/reallot-mpi" ] || skip "built without MPI"
command -v mpirun >/dev/null || skip "no mpirun"

# More ranks than cores, as root, without what containers forbid.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  OMPI_MCA_btl_vader_single_copy_mechanism=none \
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# Open MPI 4.1 leaves memory of components that it has unloaded by then, so that
# no suppression finds their names; what else a sanitizer finds still counts.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# What runs as several processes, with what further arguments.
program=$reallot
carrier=()

mpi() { # N ARGUMENT...
  local p=$1
  shift
  timeout 300 mpirun -q -n "$p" "$program" "$@" "${carrier[@]}" \
    >out 2>err </dev/null
  rc=$?
}

works_on() { # N ARGUMENT...
  mpi "$@"
  [ "$rc" -eq 0 ] && [ -s out ] && [ ! -s err ]
  result $? "mpirun -n ${*/#"$srcdir"\//}"
  [ ! -s err ] || sed 's/^/# /' err | head
}

fails_on() { # MESSAGE N ARGUMENT...: exit not 0, one line of ours
  local message=$1
  shift
  mpi "$@"
  [ "$rc" -ne 0 ] && [ "$(grep -c '^reallot: ' err)" -eq 1 ] &&
    grep -q -- "^reallot: $message" err
  result $? "refused: mpirun -n $*"
  grep -q -- "^reallot: $message" err || sed 's/^/# /' err
}

# Columns: iteration, reward, kl, losses, norm, near ties; the time is last.
values() { grep -v '^#' out | cut -f1-7; }
names() { grep -v '^#' "$1" | cut -f1-7 | LC_ALL=C sort; }

# The same numbers, trained weights and tasks as threads of one process.
same() { # PLAN PROCESSES MODEL ARGUMENT...
  local plan=$1 processes=$2 model=$3 p
  shift 3
  works run "$plan" "$@" --format=tsv --save "$model=local" --trace local.tsv
  values >local.values
  for p in $processes; do
    rm -rf far
    works_on "$p" run "$plan" "$@" --format=tsv --save "$model=far" \
      --trace far.tsv
    values >far.values
    [ "$(wc -l <local.values)" -ge 3 ] && cmp -s local.values far.values
    result $? "the same numbers on $p processes"
    diff local.values far.values | sed 's/^/# /'
    [ -s local/model.safetensors ] &&
      cmp -s local/model.safetensors far/model.safetensors
    result $? "the same weights on $p processes"
    names local.tsv >local.names
    names far.tsv >far.names
    [ "$(wc -l <local.names)" -gt 20 ] && cmp -s local.names far.names
    result $? "the same tasks in the trace of $p processes"
  done
  rm -rf local far
}

# The process of number $1 of the run here whose command line has $2: another
# test may have the same in its folder at the same time.
process_of() {
  local pid
  for pid in $(pgrep -f -- "$2"); do
    [ "/proc/$pid/cwd" -ef . ] || continue
    tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
      grep -q "^OMPI_COMM_WORLD_RANK=$1\$" && echo "$pid"
  done
}

# Process $1 gets signal $2 when folder $3 has a checkpoint after two
# iterations; all end within 10 s, in one line that says $4.
loses() { # PROCESS SIGNAL FOLDER SAYS
  local i=0 begin pid
  timeout 120 mpirun -q -n 4 "$program" run ppo-tiny-8.plan -n 40 \
    --checkpoint "$3" --resume --stall 3 "${carrier[@]}" >out 2>err </dev/null &
  pid=$!
  while [ ! -d "$3/iteration-000002" ] && [ $((i += 1)) -lt 1200 ]; do
    sleep 0.05
  done
  begin=$(date +%s)
  # shellcheck disable=SC2046
  kill -"$2" $(process_of "$1" "checkpoint $3 ")
  wait $pid
  rc=$?
  [ "$rc" -ne 0 ] && [ $(($(date +%s) - begin)) -le 10 ]
  result $? "process $1 gets SIG$2: all end within 10 s"
  [ "$(grep -c '^reallot: ' err)" -eq 1 ] && grep -q "^reallot: $4" err
  result $? "in one line: $4"
  grep -q "^reallot: $4" err || sed 's/^/# /' err
  [ -z "$(process_of "$1" "checkpoint $3 ")" ]
  result $? "and nobody is left"
}

# What was lost in folder $1 goes on for two iterations, on $2 processes or as
# threads of one, to the bits of a run that nobody stopped.
resumes() { # FOLDER PROCESSES
  local last until
  last=$(find "$1" -name 'iteration-??????' | LC_ALL=C sort | tail -n 1)
  until=$((10#0${last##*-} + 2))
  rm -rf whole again
  works run ppo-tiny-8.plan -n "$until" --save actor=whole
  set -- "$2" run ppo-tiny-8.plan -n "$until" --checkpoint "$1" --resume \
    --save actor=again
  if [ "$1" = 1 ]; then works "${@:2}"; else works_on "$@"; fi
  [ "$until" -gt 3 ] && cmp -s whole/model.safetensors again/model.safetensors
  result $? "resumed by $1: the same bits"
}
