#!/bin/sh
# No program may need a CUDA library: linking cuBLAS costs a process 70 ms and
# 220 MB before main(), and where it is missing nothing starts.  They are opened
# when first called (exec/backend/cuda_forward.h).  The probe itself is tried on a line
# that does need one.
set -u
: "${builddir:?is set by make check}" "${RA_HAVE_CUDA:?}"

# NEEDED entries of a CUDA library on stdin, which is what readelf -d prints.
cuda_needed() {
  grep -E 'NEEDED.*\[lib(cuda|cudart|cublas|cublasLt|nccl|nvidia-ml)\.so'
}

n=0
result() { # STATUS WHAT
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

printf '%s\n' \
  ' 0x0000000000000001 (NEEDED)  Shared library: [libm.so.6]' \
  ' 0x0000000000000001 (NEEDED)  Shared library: [libcublas.so.13]' |
  cuda_needed >/dev/null
result $? "the probe sees libcublas"

if ! command -v readelf >/dev/null; then
  echo "ok 2 # SKIP no readelf"
  echo "1..2"
  exit 0
fi

for program in $RA_PROGRAMS; do
  if [ ! -f "$builddir/$program" ]; then
    result 1 "$program was built"
  elif readelf -d "$builddir/$program" | cuda_needed | sed 's/^/# /' |
    grep .; then
    result 1 "$program needs no CUDA"
  else
    result 0 "$program needs no CUDA"
  fi
done

# libmpi costs every start a tenth of a second, and may not be there.
! readelf -d "$builddir/reallot" | grep -q 'NEEDED.*\[libmpi'
result $? "reallot needs no MPI"
if [ -f "$builddir/reallot-mpi" ]; then
  readelf -d "$builddir/reallot-mpi" | grep -q 'NEEDED.*\[libmpi'
  result $? "reallot-mpi does"
fi

echo "1..$n"
