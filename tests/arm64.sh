#!/bin/sh
# arm64.sh FOLDER [TEST...]: unit tests on a 64-bit ARM, as qemu has it.
#
# Cross-builds TESTs (default: those of base, graph and sim that take half a
# second at most; qemu takes many times that) without CUDA and MPI in FOLDER,
# with Debian's libraries for arm64 unpacked in FOLDER/root, so that the system's
# own packages stay as they are.  Run by hand, at the root of the tree; takes the
# packages gcc-aarch64-linux-gnu and qemu-user-static, and once
# `dpkg --add-architecture arm64 && apt-get update`.  Prints TAP, a point a
# program.
set -eu

[ $# -ge 1 ] || { echo "usage: $0 FOLDER [TEST...]" >&2; exit 2; }
tree=$PWD
mkdir -p "$1/debs" "$1/root" "$1/build"
folder=$(cd "$1" && pwd)
shift
root=$folder/root
lib=$root/usr/lib/aarch64-linux-gnu

packages='check libblkid-dev libblkid1 libffi-dev libffi8 libglib2.0-0
  libglib2.0-dev libjson-glib-1.0-0 libjson-glib-dev libmount-dev libmount1
  libpcre2-8-0 libpcre2-dev libselinux1 libselinux1-dev libsepol-dev libsepol2
  libsubunit-dev libsubunit0 libyaml-0-2 libyaml-dev uuid-dev zlib1g zlib1g-dev'
if [ ! -e "$root/usr/include/check.h" ]; then
  cd "$folder/debs"
  for package in $packages; do
    apt-get download -q "$package:arm64" >&2
  done
  for deb in *.deb; do dpkg -x "$deb" "$root"; done
fi

cd "$folder/build"
if [ ! -e Makefile ]; then
  ldflags=-L$lib
  for at in "$lib" "$root/lib/aarch64-linux-gnu"; do
    ldflags="$ldflags -Wl,-rpath-link,$at"
  done
  PKG_CONFIG_SYSROOT_DIR=$root \
    PKG_CONFIG_LIBDIR=$lib/pkgconfig:$root/usr/share/pkgconfig \
    "$tree/configure" --host=aarch64-linux-gnu --with-cuda=no --with-mpi=no \
    --enable-werror LDFLAGS="$ldflags" CC="${CC:-aarch64-linux-gnu-gcc}" \
    CPPFLAGS="-isystem $root/usr/include -isystem $root/usr/include/aarch64-linux-gnu" >&2
fi
# shellcheck disable=SC2046 # names have no spaces
[ $# -gt 0 ] || set -- $(awk '$2 == "quick" && $3 <= 0.5 &&
  $1 ~ /^tests\/(base|graph|sim)\/check_/ { print $1 }' "$tree/tests/tiers.tsv")
make "$@" >&2

echo "1..$#"
status=0
n=0
for test; do
  n=$((n + 1))
  # Some faults need a process of their own that traps.
  if RA_DATA_PATH=$tree/share:$tree/traces srcdir=$tree \
    builddir=$folder/build G_DEBUG=fatal-warnings LC_ALL=C \
    CK_TIMEOUT_MULTIPLIER=60 \
    qemu-aarch64-static -L /usr/aarch64-linux-gnu \
    -E "LD_LIBRARY_PATH=$lib:$root/lib/aarch64-linux-gnu" \
    "$test" >"$test.out" 2>&1; then
    echo "ok $n - $test"
  else
    grep '^not ok' "$test.out" | sed 's/^/# /'
    echo "not ok $n - $test"
    status=1
  fi
done
exit $status
