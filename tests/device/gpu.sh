#!/bin/sh
# reallot-cuda against its CPU references.  Without a device the test is
# skipped, unless RA_REQUIRE_GPU=yes (`make check-gpu`); what can be said
# without one, the exit status and the one line of the message, is tested.
set -u
: "${builddir:?is set by make check}" "${RA_HAVE_CUDA:?}"

# AddressSanitizer's shadow lies where the driver wants to map.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}protect_shadow_gap=0:detect_leaks=0
export ASAN_OPTIONS

skip() { # WHY
  if [ "${RA_REQUIRE_GPU:-}" = yes ]; then
    echo "1..1"
    echo "not ok 1 - $1"
    exit 1
  fi
  echo "1..0 # SKIP $1"
  exit 0
}

[ "$RA_HAVE_CUDA" = yes ] || skip "built without CUDA"

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
"$builddir/reallot-cuda" --selftest --seed=1 >"$tmp/out" 2>"$tmp/err"
status=$?
if [ $status -eq 3 ] && [ "${RA_REQUIRE_GPU:-}" != yes ]; then
  echo "1..3"
  if [ -s "$tmp/out" ]; then echo "not ok 1 - nothing on stdout"
  else echo "ok 1 - nothing on stdout"; fi
  if [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
    grep -q '^reallot: no CUDA d' "$tmp/err"; then
    echo "ok 2 - one line says that there is no driver or device"
  else
    sed 's/^/# /' "$tmp/err"
    echo "not ok 2 - one line says that there is no driver or device"
  fi
  echo "ok 3 # SKIP $(cat "$tmp/err")"
  exit 0
fi

echo "1..3"
n=0
for check in rmsnorm gemm allreduce; do
  n=$((n + 1))
  if grep "^$check  *ok: " "$tmp/out" | sed 's/^/# /' | grep .; then
    echo "ok $n - $check"
  else
    sed 's/^/# /' "$tmp/err"
    echo "not ok $n - $check (exit status $status)"
  fi
done
