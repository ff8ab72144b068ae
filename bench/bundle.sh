#!/bin/bash
# A tar of what bench/node.sh needs, for a machine with a GPU and little else:
# x86-64 Linux with glibc >= 2.36, CUDA 13's libraries and bash.
#
#   bench/bundle.sh BUILD FILE.tar[.xz]        (make node-bundle)
#
# In it: the programs of the folder BUILD, stripped; in lib/reallot what they
# link or open beyond glibc, where their run path looks (Makefile.am); the
# shipped data; this folder's scripts.  CUDA's libraries are not in it
# (542 MB): exec/backend/cuda_library.h has where they are looked for.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
case ${1-} in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ $# -eq 2 ] || { echo "bundle.sh: expected BUILD FILE.tar[.xz]" >&2; exit 2; }
build=$1 file=$2
glibc=${BUNDLE_GLIBC:-2.36}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/reallot-node

fail() { # WHY
  echo "bundle.sh: $1" >&2
  exit 1
}

# ---- Programs and data -------------------------------------------------------

put() { # FOLDER PROGRAM...: stripped
  local to=$root/$1
  shift
  mkdir -p "$to"
  for program; do
    [ -x "$program" ] || fail "no $program, expected a build with CUDA"
    strip -o "$to/${program##*/}" "$program"
  done
}

put bin "$build/reallot" "$build/reallot-cuda"
put bench "$build/bench/gpu_kernels" "$build/bench/collectives" \
  "$build/bench/loop_gpu"
for program in "$build"/tests/device/check_gpu*; do
  case ${program##*/} in *.*) ;; *) put tests/device "$program" ;; esac
done
[ ! -x "$build/tests/reallot-emulated" ] ||
  put tests "$build/tests/reallot-emulated" # node.sh --dry
cp "$top/tests/device/gpu.sh" "$root/tests/device"
cp "$top"/bench/node*.sh "$root/bench"
mkdir -p "$root/bench/gpu"
cp "$top"/bench/gpu/gpu_*peer.py "$root/bench/gpu"
cp "$top/LICENSE" "$root"
(cd "$top" && git rev-parse HEAD 2>/dev/null || echo -) >"$root/REVISION"
(cd "$top" && find share traces -type f ! -name '*.[ch]' ! -name '*.mk' \
  -exec cp --parents {} "$root" \;)

# ---- Libraries ---------------------------------------------------------------

# What is opened at run time, by kernels/cpu/cpu_gemm.c; and what NCCL links, which a
# machine without a compiler may lack.
opened='libopenblas.so.0 libstdc++.so.6'

libraries() { # FILE...: paths beyond glibc's own
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -Ev '/(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libutil)\.so'
}

mkdir -p "$root/lib/reallot"
for soname in $opened; do
  path=$(ldconfig -p | awk -v so="$soname" '$1 == so && /x86-64/ {
    print $NF; exit }')
  [ -n "$path" ] || fail "no $soname on this machine"
  libraries "$path" | cat - <(echo "$path")
done >"$stage/libraries"
libraries "$root"/bin/* "$root/bench/gpu_kernels" \
  "$root/bench/collectives" "$root/bench/loop_gpu" "$root"/tests/device/check_gpu* \
  >>"$stage/libraries"
sort -u "$stage/libraries" | while read -r path; do
  cp -L "$path" "$root/lib/reallot"
done

# ---- What it asks of a machine -----------------------------------------------

find "$root" -type f \( -path '*/lib/*' -o -perm -u=x \) ! -name '*.sh' \
  ! -name '*.py' >"$stage/files"
newest=$(xargs readelf -V <"$stage/files" | grep -o 'GLIBC_2\.[0-9.]*' |
  sort -uV | tail -n 1)
[ "$(printf '%s\nGLIBC_%s\n' "$newest" "$glibc" | sort -V | tail -n 1)" = \
  "GLIBC_$glibc" ] || fail "needs $newest, expected $glibc at most: build on an \
older system"

case $file in
  *.xz) tar -C "$stage" --sort=name --owner=0 --group=0 -cf - reallot-node |
    xz -T0 >"$file" ;;
  *) tar -C "$stage" --sort=name --owner=0 --group=0 -cf "$file" reallot-node ;;
esac
echo "$file: $(du -h "$file" | cut -f 1), $newest"
