#!/bin/bash
# How fast plans are evaluated, beside an earlier revision's.
#
#     git worktree add THEN 912cf4f
#     (cd THEN && autoreconf -fi && mkdir build && cd build && ../configure &&
#       make bench/search)
#     bench/peer/search_then.sh [BUILD] THEN [TURNS]
#
# BUILD: build.  ReaL's candidates at 64, 1,024 and 16,384 GPUs: both programs
# in turns, 5 each, in CPU time.  A line a size and rate: the medians, now over
# then.  Bar: 0.95.
set -u
build=${1:?BUILD} then=${2:?THEN} turns=${3:-5}

# rates FOLDER SIZE: evaluations_per_s proposals_per_s
rates() {
  RA_DATA_PATH=$1/../share:$1/../traces "$1/bench/search" --only="real-$2" \
    2>/dev/null | awk -F'\t' '/^#gpus/ { for (i = 1; i <= NF; i++) at[$i] = i }
      /^[0-9]/ { print $at["evaluations_per_s"], $at["proposals_per_s"] }'
}

printf 'gpus\trate\tnow\tthen\tratio\n'
for gpus in 64 1024 16384; do
  for ((i = 0; i < turns; i++)); do
    echo "$(rates "$then/build" $gpus) $(rates "$build" $gpus)"
  done | awk -v gpus=$gpus '
    { for (i = 1; i <= 4; i++) x[i, NR] = $i }
    # Of column i; its rows are put in order.
    function median(i,  a, b, t) {
      for (a = 1; a <= NR; a++)
        for (b = a + 1; b <= NR; b++)
          if (x[i, b] < x[i, a]) { t = x[i, a]; x[i, a] = x[i, b]; x[i, b] = t }
      return (x[i, int((NR + 1) / 2)] + x[i, int(NR / 2) + 1]) / 2
    }
    END {
      for (i = 1; i <= 2; i++)
        printf "%d\t%s_per_s\t%.0f\t%.0f\t%.3f\n", gpus,
          i == 1 ? "evaluations" : "proposals", median(i + 2), median(i),
          median(i + 2) / median(i)
    }'
done
