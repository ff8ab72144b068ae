#!/bin/bash
# What a terminal shows: tables of 100 columns, colours of verdicts and errors.
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
for command in $commands; do
  "$reallot" "$command" --help
done >out
fits "--help of every command"
# A folded line goes on below its text: no word is lost.
"$reallot" search --help >out
grep -A1 '^  --objective=WHAT' out | tr -s '\n ' ' ' |
  grep -q 'tokens-per-gpu, cost, gpus (the fewest), regret (over worlds of' &&
  grep -A1 '^  --objective=WHAT' out | tail -n 1 | grep -q '^ \{37\}[^ ]'
result $? "a long line of --help goes on below"
printf '%0101d\n' 0 >out
[ -n "$(too_wide <out)" ]
result $? "a wider line would be found"

# --- colours ---

# On a terminal alone, which script(1) gives: the verdict of a plan that does not
# fit, red to its colon, and the name before an error.
large="simulate $two -n 1 --set workload.response-length=fixed(3000)"
red=$(printf '\033[31m') plain=$(printf '\033[0m')
terminal() { # COMMAND: what it shows on a terminal, in out
  # shellcheck disable=SC2086 # words are meant
  script -qc "$reallot $(printf '%q ' $1)" /dev/null </dev/null >out 2>err
}
if script -qc true /dev/null </dev/null >out 2>err; then
  export TERM=xterm
  unset NO_COLOR
  terminal "$large"
  grep -qF "${red}The plan does not fit$plain: GPU" out
  result $? "a verdict is red on a terminal"
  terminal "simulate nosuch.plan"
  grep -qF "${red}reallot:$plain no file" out
  result $? "so is the name before an error"
  plain_there() { # ASSIGNMENT: without colours
    (
      export "${1?}"
      terminal "simulate nosuch.plan"
      grep -q '^reallot: no file' out && ! grep -q '\[3[0-9]m' out
    )
    result $? "but not with $1"
  }
  plain_there NO_COLOR=1
  plain_there TERM=dumb
  # Work of some seconds says how far it is: never more replays than there are.
  terminal "report $plans/ppo-llama3-70b-128.plan --threads=1 -o page.html"
  tr '\r' '\n' <out | sed -n 's/^simulating: [0-9]* s, \([0-9]*\) of \([0-9]*\) replays$/\1 \2/p' |
    awk '$1 < was || $1 > $2 { wrong = 1 } { was = $1 } END { exit !(NR > 0 && !wrong) }'
  result $? "a report says how many of its replays have ended"
  # A tuning that keeps every key searches nothing.  The fault: one that keeps
  # some says that it searches.
  verl=$srcdir/tests/data/import/verl-grpo-qwen2-7b.sh
  terminal "tune $verl --keep=* --threads=1"
  grep -q 'importing: ' out && ! grep -q 'searching: ' out
  result $? "nothing is searched where all keys are kept"
  terminal "tune $verl --keep=*actor* --keep=*ref* --threads=1 --time=3600"
  grep -q 'searching: ' out
  result $? "where some are, it says that it searches"
else
  for what in verdict error NO_COLOR TERM progress kept searched; do
    n=$((n + 1))
    echo "ok $n - colours: $what # SKIP no script(1)"
  done
fi
# shellcheck disable=SC2086 # words are meant
TERM=xterm run $large
[ "$rc" -eq 1 ] && ! grep -q '\[3[0-9]m' out && grep -q '^The plan does not fit' out
result $? "no verdict in a file has a colour"
TERM=xterm run simulate nosuch.plan
[ "$rc" -eq 2 ] && ! grep -q '\[3[0-9]m' err
result $? "no error in a file has one"

echo "1..$n"
