#!/bin/sh
# cores.sh BUILDDIR [TEST...]: tests whose numbers come from the BLAS, with its
# kernels of several CPUs in turn, as OpenBLAS's OPENBLAS_CORETYPE has it; what
# this CPU cannot run is said and left out.  Run from anywhere, after `make check
# TESTS=` in the build folder BUILDDIR has built the tests; exit status 1 if any
# failed.  RA_CORES picks some: CI runs two (bootstrap).
set -u
build=$(cd "${1:?expected the build folder}" && pwd) || exit 2
srcdir=$(cd "$(dirname "$0")/.." && pwd)
builddir=$build
shift
[ $# -gt 0 ] || set -- check_exec_torch check_exec_ops check_cpu_gemm \
  check_cpu_attention check_families check_layouts check_learn check_run \
  check_run_clip check_run_random check_shards check_weights check_checkpoint \
  check_fault cli_run.sh cli_algorithms.sh
RA_DATA_PATH=$srcdir/share:$srcdir/traces
CK_TIMEOUT_MULTIPLIER=${CK_TIMEOUT_MULTIPLIER:-60}
G_DEBUG=fatal-warnings LC_ALL=C
export srcdir builddir RA_DATA_PATH CK_TIMEOUT_MULTIPLIER G_DEBUG LC_ALL
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

# What OpenBLAS runs when asked for core $1: it takes another for one that it
# lacks, and dies of one that the CPU lacks instructions of.
core_of() {
  OPENBLAS_VERBOSE=2 OPENBLAS_CORETYPE=$1 "$build/reallot" run sft-tiny-4.plan \
    -n 1 >"$log" 2>&1 && sed -n 's/^Core: //p' "$log" | head -n 1
}

path_of() { # NAME: its path, which tests/tiers.tsv has
  awk -F'\t' -v name="/$1" \
    'substr($1, length($1) - length(name) + 1) == name { print $1 }' \
    "$srcdir/tests/tiers.tsv"
}

failed=0 ran=0
for core in ${RA_CORES:-Prescott Haswell SkylakeX Zen}; do
  has=$(core_of $core)
  if [ "$has" != $core ]; then
    echo "$core: skipped, OpenBLAS runs '${has:-nothing}'"
    continue
  fi
  for test; do
    case $test in
    *.sh) set_of="bash $srcdir/$(path_of "$test")" ;;
    *) set_of=$build/$(path_of "$test") ;;
    esac
    ran=$((ran + 1))
    # shellcheck disable=SC2086 # words
    if (cd "$build" && OPENBLAS_CORETYPE=$core $set_of) >"$log" 2>&1 &&
      ! grep -q '^not ok' "$log"; then
      echo "$core: $test passes"
    else
      failed=$((failed + 1))
      echo "$core: $test FAILS"
      grep -e '^not ok' -e ':[FE]:' "$log"
    fi
  done
done
echo "$failed of $ran failed"
[ "$failed" = 0 ] && [ "$ran" -gt 0 ]
