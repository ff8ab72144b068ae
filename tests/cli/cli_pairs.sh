#!/bin/bash
# Intervals of 90 % on measured pairs: the same RL step on two GPUs, or in two
# layouts, of the measurements beside the source tree (skipped without them).
# The bar of their level is a coverage of 85 to 97 %, and its status says whether
# it is met.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"
data=$srcdir/../shared/data

if [ ! -d "$data" ]; then
  echo "1..0 # SKIP no measurements beside the source tree"
  exit 0
fi
run validate "$data" "$data-2026" --level='pairs-*' --format=tsv
coverage=$(awk -F'\t' '$1 == "source" { for (i = 1; i <= NF; i++) at[$i] = i }
  $2 == "pairs-rl-steps" { print $at["coverage_frac"] }' out)
[ "$rc" -eq 0 ] && awk -v c="$coverage" 'BEGIN { exit !(c >= 0.85 && c <= 0.97) }'
result $? "90 % intervals contain $coverage of the measured ratios"
echo "1..$n"
