#!/bin/bash
# How fast plans are evaluated and simulated, beside an earlier revision's.
#
#     git worktree add THEN 912cf4f
#     (cd THEN && autoreconf -fi && mkdir build && cd build && ../configure &&
#       make bench/search reallot)
#     bench/peer/speed_then.sh [BUILD] THEN [TURNS]
#
# BUILD: build.  ReaL's candidates at 64, 1,024 and 16,384 GPUs, and the demo and
# its 1,024 GPUs op by op: both programs in turns, 5 each, in CPU time.  A line a
# case and figure: the medians, now over then.  Bars: 0.95 of the rates, 1.1 of
# the seconds.
set -u
build=${1:?BUILD} then=${2:?THEN} turns=${3:-5}

# rates FOLDER SIZE: evaluations_per_s proposals_per_s
rates() {
  RA_DATA_PATH=$1/../share:$1/../traces "$1/bench/search" --only="real-$2" \
    2>/dev/null | awk -F'\t' '/^#gpus/ { for (i = 1; i <= NF; i++) at[$i] = i }
      /^[0-9]/ { print $at["evaluations_per_s"], $at["proposals_per_s"] }'
}

# seconds FOLDER ARGUMENT...: of the processor, of `reallot simulate`
seconds() {
  local folder=$1 TIMEFORMAT='%U %S'
  shift
  { time RA_DATA_PATH=$folder/../share:$folder/../traces \
    "$folder/reallot" simulate "$@" >/dev/null 2>&1; } 2>&1 |
    awk '{ print $1 + $2 }'
}

# medians CASE FIGURE...: of lines of both programs' figures, THEN's first
medians() {
  awk -v what="$1" -v names="${*:2}" '
    { for (i = 1; i <= NF; i++) x[i, NR] = $i }
    # Of column i; its rows are put in order.
    function median(i,  a, b, t) {
      for (a = 1; a <= NR; a++)
        for (b = a + 1; b <= NR; b++)
          if (x[i, b] < x[i, a]) { t = x[i, a]; x[i, a] = x[i, b]; x[i, b] = t }
      return (x[i, int((NR + 1) / 2)] + x[i, int(NR / 2) + 1]) / 2
    }
    END {
      n = split(names, name, " ")
      for (i = 1; i <= n; i++)
        printf "%s\t%s\t%.4g\t%.4g\t%.3f\n", what, name[i], median(i + n),
          median(i), median(i + n) / median(i)
    }'
}

printf 'case\tfigure\tnow\tthen\tratio\n'
for gpus in 64 1024 16384; do
  for ((i = 0; i < turns; i++)); do
    echo "$(rates "$then/build" $gpus) $(rates "$build" $gpus)"
  done | medians "search of $gpus GPUs" evaluations_per_s proposals_per_s
done
for plan in 'ppo-llama3-70b-128.plan' '--fidelity=op ppo-llama3-70b-1024.plan'; do
  for ((i = 0; i < turns; i++)); do
    # shellcheck disable=SC2086 # an option and a name
    echo "$(seconds "$then/build" $plan) $(seconds "$build" $plan)"
  done | medians "simulate $plan" cpu_s
done
