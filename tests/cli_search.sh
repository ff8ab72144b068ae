#!/bin/bash
# reallot search: the plan it writes, the table beside it, what it refuses.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli_impl.sh"

files="--workload=ppo-llama2-7b.workload --cluster=h100-1n.cluster"
# shellcheck disable=SC2086 # words
works search $files --space=real --steps=20000 --prove=30 -o best.plan \
  --curve=curve.tsv
grep -q '^search: .* s an iteration, .* % less than ' out &&
  grep -q '^Proven in .* no plan of this space is quicker' out
result $? "one node: the best plan of the space, proven"
grep -q '^# Written by: reallot search --workload=ppo-llama2-7b.workload ' \
  best.plan
result $? "the plan says how it came about"
said=$(sed -n 's/^# search: \([0-9.]*\) s an iteration.*/\1/p' best.plan)
run simulate best.plan --format=tsv
awk -F'\t' -v said="$said" '/^plan\t/ { for (i = 1; i <= NF; i++) if ($i == "iteration_s") at = i; next }
  at && !took { took = $at }
  END { off = took / (said + 0) - 1; exit !(took > 0 && off < 1e-5 && off > -1e-5) }' out
result $? "simulate says what the plan says of itself: $said s"
awk -F'\t' 'NR > 3 && $4 >= best { rises = 1 } { best = $4 }
  END { exit rises || NR < 4 }' curve.tsv
result $? "the curve falls"

# Bounded by steps, the result is of the seed and not of the threads.
for threads in 1 2; do
  # shellcheck disable=SC2086
  run search $files --space=real --steps=4096 --seed=3 --threads=$threads \
    --format=tsv
  cp out "table.$threads"
done
cmp -s table.1 table.2
result $? "one thread and two find the same"
# shellcheck disable=SC2086
works search $files --space=real --steps=4096 --format=json
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys
plans = json.load(sys.stdin)["plans"]
assert [p["plan"] for p in plans if p["note"] == "winner"] == ["search"]
assert all(p["of_winner_frac"] >= 1 for p in plans if p["iteration_s"])' <out
  result $? "which is JSON, and no family that fits is quicker than the winner"
fi

# A limit holds.
# shellcheck disable=SC2086
run search $files --space=real --steps=4096 --limit=actor_train.tp=2 \
  -o limited.plan
awk '/^\[call actor_train\]/ { on = 1; next } /^\[/ { on = 0 }
  on && $1 == "tp" { found = $3 } END { exit found != 2 }' limited.plan
result $? "a limit holds: actor_train has tp 2"

# Drawn lengths are searched as if all were alike, and compared as drawn.
works search --workload=rloo-llama3-8b.workload --cluster=h100-4n.cluster \
  --space=real --steps=4096 -o drawn.plan
grep -q '^search-mean ' out && grep -q '^search-long ' out
result $? "drawn lengths: a plan for the mean and one for the longest"
works simulate drawn.plan

# shellcheck disable=SC2086
run search --workload=ppo-llama3-70b.workload --cluster=h100-1n.cluster \
  --steps=4096 -o none.plan
[ "$rc" -eq 1 ] && [ ! -e none.plan ]
result $? "four models of 70B in one node: status 1 and no plan"
# shellcheck disable=SC2086
{
  fails "--space: 'all' is none of real, full" search $files --space=all
  fails '--time: expected more than 0 seconds' search $files --time=0
  fails "--steps: 'x' is no whole number" search $files --steps=x
  fails 'actor_tran' search $files --limit=actor_tran.tp=2
  fails "expected 'reallot search --workload=FILE" search --cluster=h100-1n.cluster
}

echo "1..$n"
