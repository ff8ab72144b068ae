#!/bin/bash
# What a terminal shows: tables of 100 columns.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"
wide=$plans/rloo-llama3-8b-32.plan
two=$plans/ppo-llama2-7b-8.plan

# --- width ---

# Tables of what is shipped fit into 100 columns; commands to copy are as long as
# they are.
unset COLUMNS
too_wide() { LC_ALL=C.UTF-8 grep -E '^.{101}' | grep -v '^ *reallot '; }
fits() { # WHAT: out has no wider line
  [ -s out ] && [ -z "$(too_wide <out)" ]
  result $? "$1: no line over 100 columns"
  too_wide <out | head -n 3 | sed 's/^/# /'
}
inspected() {
  local file
  for file in "$srcdir"/share/{plans,workloads,clusters,systems,models}/* \
    "$srcdir"/traces/profiles/*.profile; do
    [ -d "$file" ] || "$reallot" inspect "$file" 2>/dev/null
  done
}
inspected >out
fits "inspect of what is shipped"
for one in "$plans"/*.plan; do
  case $one in *tiny*) continue ;; esac
  "$reallot" simulate "$one" -n 1 --fidelity=call
done >out 2>/dev/null
fits "simulate of the shipped plans"
for command in list keys "plot $plans/ppo-llama3-70b-1024.plan -n 2" "simulate $two --explain" "simulate $wide $two" \
  "simulate $two --sensitivity" "diff $wide $two" "export $wide" \
  "import $srcdir/tests/data/import/verl-submit.sh -o width"; do
  # shellcheck disable=SC2086 # words are meant
  run $command
  fits "${command/"$srcdir"\//}"
done
printf '%0101d\n' 0 >out
[ -n "$(too_wide <out)" ]
result $? "a wider line would be found"

echo "1..$n"
