#!/bin/bash
# What the tests over MPI share: tests/mpi*.sh source it.
# shellcheck source=tests/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli_impl.sh"

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

mpi() { # N ARGUMENT...
  local p=$1
  shift
  timeout 300 mpirun -q -n "$p" "$reallot" "$@" >out 2>err </dev/null
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
