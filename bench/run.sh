#!/bin/sh
# run.sh SRCDIR COMPILER PROGRAM...: what `make bench` does.
#
# Runs every benchmark and, where there are measurements ($RA_DATA), `reallot
# validate --cross`, in the build folder; shows the output and keeps it as SRCDIR/bench/results/NAME.tsv under
# a head that says machine, compiler, revision and date.  RA_BENCH_FLAGS is
# handed to each (--quick for a glance).
set -u

srcdir=$1 compiler=$2
shift 2
results=$srcdir/bench/results
mkdir -p "$results" || exit 2

machine=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)
machine="${machine:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN) cores"
compiler="$compiler ($(${compiler%% *} --version | head -n 1))"
revision=$(git -C "$srcdir" describe --always --dirty 2>/dev/null ||
  echo "not a git checkout")

RA_DATA_PATH=$srcdir/share:$srcdir/traces
export RA_DATA_PATH
status=0

run() { # NAME COMMAND...
  name=$1
  shift
  {
    echo "# command: $(basename "$1")${2:+ $2}${RA_BENCH_FLAGS:+ $RA_BENCH_FLAGS}"
    echo "# machine: $machine"
    echo "# compiler: $compiler"
    echo "# revision: $revision"
    echo "# date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  } >"$results/$name.tmp"
  # shellcheck disable=SC2086
  if "$@" ${RA_BENCH_FLAGS:-} >>"$results/$name.tmp"; then
    mv "$results/$name.tmp" "$results/$name.tsv"
    cat "$results/$name.tsv"
  else
    echo "bench: $name failed with exit status $?; nothing kept" >&2
    rm -f "$results/$name.tmp"
    status=1
  fi
}

# The peer of bench/sim, in the build folder: C++, so not the build's business.
peer=bench/simgrid_peer
if command -v c++ >/dev/null && [ -e /usr/include/simgrid/s4u.hpp ] &&
  c++ -O2 -I"$srcdir" -c "$srcdir/bench/peer/simgrid_peer.cc" -o $peer.o &&
  c++ $peer.o bench/traffic.o -lsimgrid -o $peer; then
  RA_SIMGRID_PEER=$PWD/$peer
  export RA_SIMGRID_PEER
fi

for program; do
  run "$(basename "$program")" "./$program"
done
data=${RA_DATA:-$srcdir/../shared/data}
more=$srcdir/../shared/data-2026
if [ -d "$data" ]; then
  if [ -d "$more" ]; then set -- "$data" "$more"; else set -- "$data"; fi
  run validate ./reallot validate --cross --format=tsv "$@"
else
  echo "bench: no measurements in $data; set RA_DATA to validate" >&2
fi

printf '\nbars (name, value, limit)\n'
for file in "$results"/*.tsv; do
  [ -e "$file" ] && awk -F'\t' -v file="$(basename "$file" .tsv)" \
    '$1 == "bar" { printf "%-5s %-20s %-36s %12s %s\n", $5, file, $2, $3, $4 }' \
    "$file"
done
exit $status
