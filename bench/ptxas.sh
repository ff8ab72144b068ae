#!/bin/bash
# What the CUDA kernels take of a GPU, as ptxas reports it: registers of a
# thread, static shared memory of a block, bytes that spilled, a row a kernel
# and architecture.
#
#   bench/ptxas.sh [SOURCE.cu...]     default: all of kernels/
#   NVCC=nvcc NVCC_ARCH='sm_80 sm_90 sm_90a sm_100' bench/ptxas.sh
#
# Sources named *_sm90a.cu are for sm_90a alone, which is what they get where
# sm_90 is asked for.  A spill is memory traffic in the loop that it is in, so
# the bar is none, as of a warpgroup's products that ptxas serialized.
set -u
case ${1-} in -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
top=$(cd "$(dirname "$0")/.." && pwd)
nvcc=${NVCC:-nvcc}
command -v "$nvcc" >/dev/null || {
  echo "# no $nvcc: the CUDA Toolkit is not in PATH"
  printf 'bar\tspilled_bytes\t-\t<=0\tshort\n'
  printf 'bar\tserialized_wgmma\t-\t<=0\tshort\n'
  exit 0
}
[ $# -gt 0 ] || set -- "$top"/kernels/*.cu
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
printf '# registers of a thread; bytes of a block; bytes of a thread\n'
printf 'source\tarch\tkernel\tregisters\tshared_bytes\tspilled_bytes\n'
for arch in ${NVCC_ARCH:-sm_90}; do for source; do
  code=(-arch="$arch")
  case $source in *_sm90a.cu)
    case $arch in sm_90*) code=(-arch=compute_90a -code=sm_90a) ;; *) continue ;; esac ;;
  esac
  "$nvcc" "${code[@]}" -std=c++17 -I"$top" -Xptxas -v -cubin \
    -o "$out" "$source" 2>&1 | c++filt | awk -v source="${source##*/}" -v arch="$arch" '
      /error/ { print "# " $0; exit 1 }
      /wgmma.*serialized/ { print "# " source ": " $0 }
      /Compiling entry function/ {
        name = $0; sub(/^[^\x27]*\x27/, "", name); sub(/\x27 for .*/, "", name)
        sub(/^void /, "", name); sub(/\(.*/, "", name)
      }
      /spill stores/ { spilled = 0
        for (i = 3; i <= NF; i++) if ($(i - 1) == "bytes" && $i == "spill")
          spilled += $(i - 2) }
      / Used [0-9]* registers/ { shared = 0
        for (i = 1; i < NF; i++) { if ($i == "Used") registers = $(i + 1)
          if ($(i + 1) == "bytes" && $(i + 2) == "smem") shared = $i }
        printf "%s\t%s\t%s\t%d\t%d\t%d\n", source, arch, name, registers,
          shared, spilled
      }'
done; done | awk -F'\t' '
  { print }
  /wgmma.*serialized/ { serialized++ }
  NF == 6 && $1 != "source" { n++; sum += $6 }
  END { if (n) print "bar\tspilled_bytes\t" sum "\t<=0\t" (sum ? "short" : "ok")
        else print "bar\tspilled_bytes\t-\t<=0\tshort"
        print "bar\tserialized_wgmma\t" serialized + 0 "\t<=0\t" \
          (serialized ? "short" : "ok") }'
