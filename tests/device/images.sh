#!/bin/bash
# Images of the kernels for each architecture that NVCC_ARCH may name: every
# kernel compiles, no register spills, and ptxas serializes no product of a
# warpgroup.  And the line of a driver that is too old for the build, with the
# variables that it finds at its first call.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
set -u
: "${srcdir:?is set by make check}" "${builddir:?}" "${RA_HAVE_CUDA:?}"
[ "$RA_HAVE_CUDA" = yes ] || { echo "1..0 # SKIP built without CUDA"; exit 0; }
nvcc=${NVCC:-nvcc}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0

result() { # STATUS WHAT
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

# CUDA 12.4 to 12.7 know no Blackwell.
archs=
"$nvcc" --list-gpu-code >"$tmp/known" || exit 99
for arch in sm_80 sm_90 sm_100 sm_120; do
  grep -qx "$arch" "$tmp/known" && archs="$archs $arch"
done
NVCC=$nvcc NVCC_ARCH=$archs bash "$srcdir/bench/ptxas.sh" >"$tmp/rows"
for arch in $archs; do
  # Kernels of sm_90a stand under sm_90 and nowhere else.
  awk -F'\t' -v arch="$arch" 'NF == 6 && $2 == arch && $1 !~ /_sm90a/ {
    print $1, $3 }' "$tmp/rows" | LC_ALL=C sort >"$tmp/$arch"
  [ -s "$tmp/$arch" ] && cmp -s "$tmp/sm_80" "$tmp/$arch"
  result $? "all kernels compile for $arch"
done
grep -q '^attention_backward_sm90a' "$tmp/rows" &&
  grep -q '^grouped_sm90a' "$tmp/rows"
result $? "those of sm_90a"
for bar in spilled_bytes serialized_wgmma; do
  grep -q "^bar	$bar	0	" "$tmp/rows"
  result $? "$bar"
  grep -q "^bar	$bar	0	" "$tmp/rows" ||
    awk -F'\t' '/^#/ || (NF == 6 && $6 > 0) { print "# " $0 }' "$tmp/rows"
done

# A driver's library that has nothing but its version, of CUDA 11.0: older than
# any release that this is built with.
cat >"$tmp/driver.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static void say(FILE *to, const char *name)
{
  fprintf(to, "%s=%s\n", name, getenv(name) ? getenv(name) : "");
}
int cuDriverGetVersion(int *v)
{
  FILE *to = fopen(getenv("RA_DRIVER_SAW"), "w");
  say(to, "CUDA_MODULE_LOADING");
  say(to, "CUDA_DEVICE_MAX_CONNECTIONS");
  say(to, "NCCL_COMM_SPLIT_SHARE_RESOURCES");
  fclose(to);
  *v = 11000;
  return 0;
}
END
cc -shared -fPIC -o "$tmp/libcuda.so.1" "$tmp/driver.c" || exit 99
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}protect_shadow_gap=0:detect_leaks=0 \
  LD_LIBRARY_PATH=$tmp RA_DRIVER_SAW=$tmp/saw "$builddir/reallot-cuda" run \
  grpo-tiny-4.plan -n 1 --backend=cuda >"$tmp/out" 2>"$tmp/err"
status=$?
said='^reallot: no CUDA device: the driver is for CUDA 11\.0, expected [0-9.]+'
said="$said or newer, which a build with CUDA 1[2-9]\.[0-9]+ needs\$"
[ $status -eq 3 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
  grep -Eq "$said" "$tmp/err"
result $? "the driver that is needed"
# Modules load, and streams have queues, before a receive can stand in front of
# them; communicators share nothing.
printf '%s\n' CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=32 \
  NCCL_COMM_SPLIT_SHARE_RESOURCES=0 | cmp -s - "$tmp/saw"
result $? "what the driver finds in the environment"
echo "1..$n"
