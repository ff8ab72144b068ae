#!/bin/bash
# make node-bundle and bench/node.sh: the bundle is made here, unpacked elsewhere
# and asked what it needs; then its node.sh walks through its steps, dry, with
# nothing of this build in reach.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
set -u
: "${srcdir:?is set by make check}" "${builddir:?}" "${RA_HAVE_CUDA:?}"

skip() { # WHY
  echo "1..0 # SKIP $1"
  exit 0
}
[ "$RA_HAVE_CUDA" = yes ] || skip "built without CUDA"
for tool in readelf strip xz ldd timeout; do
  command -v $tool >/dev/null || skip "no $tool"
done
[ -x "$builddir/tests/reallot-emulated" ] || skip "no emulated device"
[ "$(uname -m)" = x86_64 ] || skip "a bundle is of x86-64"
readelf -s "$builddir/reallot" | grep -q __asan_init &&
  skip "a bundle has no sanitizer"

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0
result() { # STATUS WHAT
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
# An environment with nothing in it.
bare() { env -i PATH=/usr/bin:/bin HOME="$tmp" "$@"; }

# ---- The bundle --------------------------------------------------------------

# The oracle first: with 2.2.5 for the bar there is no such bundle.
! BUNDLE_GLIBC=2.2.5 bash "$srcdir/bench/bundle.sh" "$builddir" \
  "$tmp/old.tar" >/dev/null 2>"$tmp/err" &&
  grep -q '^bundle.sh: needs GLIBC_.*expected 2.2.5 at most' "$tmp/err" &&
  [ ! -e "$tmp/old.tar" ]
result $? "a symbol above the bar is seen"

bash "$srcdir/bench/bundle.sh" "$builddir" "$tmp/node.tar" >"$tmp/made" 2>&1 &&
  tar -C "$tmp" -xf "$tmp/node.tar"
result $? "the bundle is made"
sed 's/^/# /' "$tmp/made"
root=$tmp/reallot-node

find "$root" -type f -perm -u=x ! -name '*.sh' ! -name '*.py' \
  ! -path '*/lib/*' >"$tmp/programs"
grep -q 'bin/reallot-cuda$' "$tmp/programs" &&
  grep -q 'tests/device/check_gpu$' "$tmp/programs"
result $? "it has the programs"

# What each of them and of the libraries needs is glibc's or in the bundle.
glibc='ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libutil'
find "$root/lib" -type f >>"$tmp/programs"
missing=
while read -r file; do
  for soname in $(readelf -d "$file" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    [[ $soname =~ ^($glibc)\.so ]] || [ -e "$root/lib/reallot/$soname" ] ||
      missing="$missing ${file##*/}:$soname"
  done
done <"$tmp/programs"
[ -z "$missing" ] || echo "#$missing"
[ -z "$missing" ]
result $? "nothing is needed beyond glibc and the bundle"
for file in "$root"/bin/* "$root"/bench/gpu_kernels "$root"/tests/device/check_*; do
  bare ldd "$file"
done | awk '$2 == "=>" { print "#", $3 }' | grep -Ev " $tmp/|/($glibc)\.so"
result $((! $?)) "and the loader takes the bundle's"

# ---- Programs in it ----------------------------------------------------------

bare "$root/bin/reallot-cuda" --selftest >"$tmp/out" 2>"$tmp/err"
status=$?
if [ $status -eq 0 ]; then
  result 0 "the self test passes on a device"
else
  [ $status -eq 3 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ]
  result $? "without a driver: status 3 and one line"
fi

# Where there is only glibc: a root folder of the bundle and the C library.
jail=$tmp/jail
mkdir -p "$jail/lib64" "$jail/lib/x86_64-linux-gnu" "$jail/proc"
cp /lib64/ld-linux-x86-64.so.2 "$jail/lib64"
cp /lib/x86_64-linux-gnu/lib{c,m,dl,pthread,rt,resolv,util}.so.* \
  "$jail/lib/x86_64-linux-gnu" 2>/dev/null
# shellcheck disable=SC2016 # they are the inner shell's
enter() { # PROGRAM...
  unshare -rm bash -c 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"' \
    "$jail" "$@"
}
if unshare -rm true 2>/dev/null && cp -r "$root" "$jail" &&
  [ -e "$jail/lib/x86_64-linux-gnu/libc.so.6" ]; then
  enter /reallot-node/bin/reallot-cuda --version >"$tmp/out" 2>"$tmp/err" &&
    grep -q '^reallot .*CUDA 13' "$tmp/out" && ! grep -q cuBLAS "$tmp/out"
  result $? "it starts where there is nothing but glibc, and sees no cuBLAS"
  enter /reallot-node/bin/reallot --version >/dev/null 2>&1
  result $? "and so does reallot"
else
  n=$((n + 1))
  echo "ok $n # SKIP no name spaces"
fi
rm -rf "$jail"

# ---- node.sh, dry ------------------------------------------------------------

node() { bare bash "$root/bench/node.sh" --out="$tmp/out.d" --dry "$@"; }
ended() { sed -n "s/^$1: //p" "$tmp/said"; }

# A program that fails and one that takes too long: named, and the rest goes on.
mv "$root/bench/gpu_kernels" "$tmp/kept"
node build device kernels decode >"$tmp/said"
status=$?
[ $status -eq 1 ] && [[ $(ended kernels) == "failed (1)"* ]] &&
  [[ $(ended decode) == ok* ]] && grep -q '^== kernels: failed' \
  "$tmp/out.d/report.txt"
result $? "a step that fails is named and the rest goes on"
mv "$tmp/kept" "$root/bench/gpu_kernels"
node --step=2 run >"$tmp/said"
[ $? -eq 1 ] && [[ $(ended run) == "cut after 2 s"* ]]
result $? "a step ends when its time is up"
node --total=5 loop >"$tmp/said"
[ $? -eq 1 ] && [[ $(ended loop) == "not begun"* ]]
result $? "and none begins after all time is over"

# All of them, over what was left: what went well is not taken again.
node >"$tmp/said"
status=$?
sed 's/^/# /' "$tmp/said"
[ $status -eq 0 ]
result $? "every step ends well"
[[ $(ended decode) == "taken before"* && $(ended kernels) == ok* ]]
result $? "what went well is not taken again, what failed is"
[ "$(grep -c '^==> kernels' "$tmp/out.d/report.txt")" -eq 1 ]
result $? "a step taken anew stands once"
[ "$(find "$tmp/out.d" -type f | wc -l)" -le 8 ] &&
  [ "$(find "$tmp/out.d" -mindepth 1 | wc -l)" -le 8 ]
result $? "at most 8 files"
[ -s "$tmp/out.d/mine.profile" ] && [ -s "$tmp/out.d/run.trace.tsv" ] &&
  grep -q '^agrees with one rank: layouts, dp=2' "$tmp/out.d/report.txt" &&
  grep -q '^resumes to the same bits' "$tmp/out.d/report.txt"
result $? "profile, trace and what was run are among them"
# Every bar of a machine stands there, and of a dry walk none is met.
for bar in movers_copy_frac gemm_best_frac attention_peer_ratio \
  attention_backward_peer_ratio decode_copy_frac loop_iteration_error_median \
  loop_call_error_median loop_peak_error_median train_mfu train_of_torch \
  decode_bound_frac reallocation_bound_frac reallocation_link_frac; do
  grep -q "	$bar	.*	dry$" "$tmp/out.d/bars.tsv" || echo "# no $bar"
done | grep .
result $((! $?)) "every bar has a row"
! grep -Eq '	(ok|short)$' "$tmp/out.d/bars.tsv"
result $? "of a dry walk no bar is met"

bare bash "$root/bench/node.sh" --out="$tmp/out.d" nonsense 2>"$tmp/err"
[ $? -eq 2 ] && grep -q "'nonsense', expected a step" "$tmp/err"
result $? "a step that there is not is refused"
# What the head of node.sh promises of its limits.
declare -A limit_s=()
eval "$(sed -n '/^declare -A limit_s/,/)$/p' "$srcdir/bench/node.sh")"
sum=0 most=0
for s in "${limit_s[@]}"; do
  sum=$((sum + s))
  [ "$s" -le "$most" ] || most=$s
done
[ "$most" -gt 0 ] && [ "$most" -le 480 ] && [ "$sum" -le 1500 ]
result $? "steps have 8 minutes at most, together 25: $most s, $sum s"
echo "1..$n"
