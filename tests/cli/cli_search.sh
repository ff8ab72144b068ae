#!/bin/bash
# reallot search: the plan it writes, the table beside it, what it refuses.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# What is looked at does not depend on the set, and this one is small.
files="--workload=ppo-llama2-7b.workload --cluster=h100-1n.cluster --space=real"
# shellcheck disable=SC2086 # words
works search $files --space=real --steps=20000 --prove=30 -o best.plan \
  --curve=curve.tsv
grep -q '^search: .* s per iteration, .* % less than ' out &&
  grep -q '^Proven in .* no plan of this space is faster' out
result $? "one node: the best plan of the space, proven"
grep -q '^# Written by: reallot search --workload=ppo-llama2-7b.workload ' \
  best.plan
result $? "the plan says how it came about"
said=$(sed -n 's/^# search: \([0-9.]*\) s per iteration.*/\1/p' best.plan)
run simulate best.plan --format=tsv
awk -F'\t' -v said="$said" '/^plan\t/ { for (i = 1; i <= NF; i++) if ($i == "iteration_s") at = i; next }
  at && !took { took = $at }
  END { off = took / (said + 0) - 1; exit !(took > 0 && off < 1e-5 && off > -1e-5) }' out
result $? "simulate says what the plan says of itself: $said s"
awk -F'\t' 'NR == 2 { for (i = 1; i <= NF; i++) at[$i] = i; next }
  NR > 3 && $(at["best_s"]) > best { rises = 1 }
  NR > 2 { best = $(at["best_s"]); bound = $(at["bound_s"]); n++ }
  NR > 2 && !(bound > 0 && bound <= best) { above = 1 }
  END { exit rises || above || n < 2 }' curve.tsv
result $? "the curve falls, and never below its bound"
[ "$(grep -c '^# Predicted: .* s, .* computation' best.plan)" -eq 6 ]
result $? "the plan says what each of its 6 calls is predicted to take"

# The second search finds the costs of the first, and what it says is the same
# but for the seconds that it took; so without a cache, or with a damaged one.
drawn="--workload=grpo-qwen2.5-7b.workload --cluster=h100-1n.cluster
  --set workload.prompts=32 --steps=500 --top=1 --samples=1"
said() { sed '/^search: 10^/d' out; }
# shellcheck disable=SC2086 # words
{
  works search $drawn --no-cache -o uncached.plan
  said >uncached
  find "$XDG_CACHE_HOME" -name '*.costs' >before 2>/dev/null
  works search $drawn -o cold.plan
  said >cold
  entry=$(find "$XDG_CACHE_HOME" -name '*.costs' -newer uncached)
  cksum "$entry" >kept
  works search $drawn -o warm.plan
  said >warm
  cksum "$entry" | cmp -s - kept
  result $? "the second search computes nothing new"
  [ -n "$entry" ] && ! grep -q "$entry" before
  result $? "--no-cache writes nothing"
  printf 'x' | dd of="$entry" bs=1 seek=200 conv=notrunc 2>/dev/null
  works search $drawn -o damaged.plan
  said >damaged
  cksum "$entry" | cmp -s - kept
  result $? "a damaged entry is written again"
}
for other in warm uncached damaged; do
  cmp -s cold $other && cmp -s cold.plan $other.plan
  result $? "cold and $other: the same answer and plan"
done

# A static batch of the longest answers does not fit these GPUs, but a strategy
# with sampled ones does: the search is not behind it.
run search --workload=grpo-qwen2.5-7b.workload --cluster=h100-4n.cluster \
  --set cluster.gpu=a40 --set cluster.nodes=2 --set cluster.nics-per-node=2 \
  --set workload.mini-batches=8 --steps=200 -o small.plan
[ "$rc" -eq 0 ] && grep -q '^search .* GiB' out &&
  "$reallot" simulate small.plan >fits && ! grep -q 'does not fit' fits
result $? "the search has a plan where a strategy has one"
# GPUs that divide nothing are left idle, and it is said.
works search --workload=ppo-llama2-7b.workload --cluster=h100-1n.cluster \
  --set cluster.gpus-per-node=9 --steps=200 --top=1 --samples=1
grep -q 'It uses 8 of 9 GPUs\.$' out
result $? "9 GPUs: a plan on 8 of them"
# --time bounds the whole command, strategies and preparation too: this one took
# over a minute.  The best so far is the answer, if a machine has any by then, and
# what was left out is said.
s=$SECONDS
run search --workload=ppo-llama3-70b.workload --cluster=h100-2048n.cluster \
  --set cluster.nodes=128 --space=full --time=2 --no-cache
[ $((SECONDS - s)) -lt 30 ] && grep -q 'the time was up' out &&
  { [ "$rc" -eq 0 ] || grep -q 'expected more --time' out; }
result $? "--time bounds all of it"
# Under a limit, that nothing else may win, it is the answer.
# shellcheck disable=SC2086
run search $files --limit=actor_train.tp=3 --steps=100
[ "$rc" -eq 1 ] && grep -q 'no layout among' err
result $? "limits that leave nothing are a no, with the reason"

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
assert all(p["ratio"] >= 1 for p in plans if p["iteration_s"])' <out
  result $? "which is JSON, and no family that fits is quicker than the winner"
fi

# What a plan is chosen for.  The fewest GPUs that meet 15 s are half a node, and
# the plan says so; half of what that takes needs more; and nothing meets 1 ms.
four="--workload=ppo-llama2-7b.workload --cluster=h100-4n.cluster --steps=1024"
column() { # TABLE COLUMN: of its rows, from out
  awk -F'\t' -v table="# $1" -v name="$2" '/^#/ { on = $0 == table; head = on; next }
    head { for (i = 1; i <= NF; i++) if ($i == name) at = i; head = 0; next }
    on { print $at }' out
}
# shellcheck disable=SC2086
{
  works search $four --objective=gpus --within=15 --format=tsv -o few.plan
  [ "$(column sizes of_gpus | tr '\n' ' ')" = "1 2 4 " ] &&
    [ "$(column sizes note | tail -n 1)" = best ] &&
    ! grep '^mesh = ' few.plan | grep -qv 'gpu\[*[0-3]'
  result $? "the fewest GPUs for 15 s: the first four of a node"
  quick=$(column sizes iteration_s | tail -n 1)
  run simulate few.plan --format=tsv
  column summary iteration_s >at
  awk -v s="$quick" '{ exit !(s / $1 < 1.000001 && s / $1 > 0.999999) }' at
  result $? "which simulates on the whole cluster to what the size says"
  half=$(echo "$quick" | awk '{ print $1 * 0.35 }')
  works search $four --objective=gpus "--within=$half s" --format=tsv
  [ "$(column sizes nodes | tail -n 1)" -gt 1 ] &&
    [ "$(column sizes plan | head -n 1)" = - ]
  result $? "the fewest GPUs for $half s: more than a node"
  run search $four --objective=gpus --within=0.001 -o quick.plan
  [ "$rc" -eq 1 ] && [ ! -e quick.plan ] &&
    grep -q '^No plan fits and is fast enough' out
  result $? "no plan takes 1 ms: status 1 and no plan"
  works search $four --objective=cost --nodes=1,4 --format=tsv -o cheap.plan
  [ "$(column sizes nodes | tr '\n' ' ')" = "1 4 " ]
  result $? "the sizes are those of --nodes"
  column sizes usd | sort -g | head -n 1 >least
  run simulate cheap.plan --format=tsv
  awk -v usd="$(column summary usd)" '{ exit !($1 > 0 && usd / $1 < 1.000001 && usd / $1 > 0.999999) }' least
  result $? "simulate says that the plan costs what the least size costs"
  works search $four --objective=tokens-per-gpu --nodes=1,2
  grep -q ' tokens/s per GPU, ' out
  result $? "tokens/s of a GPU"
}

# Finalists, and why.
# shellcheck disable=SC2086
works search $files --steps=2048 --top=2 --explain --plot=- --samples=2
grep -q '^Finalists (op fidelity, mean of 2 samples)' out &&
  grep -q '^search.2  *1 ' out && grep -q 'the best placement strategy (op' out &&
  tr '\n' ' ' <out | grep -q 'search[.2]* is the fastest in [1-9][0-9]* of 1000 worlds; in 95 % of' &&
  grep -q 'with one call laid out as in the winner$' out &&
  grep -q "^The winner's critical path by cause" out &&
  grep -q '^search: best (\*) and lower bound (-)' out
result $? "finalists, the worlds in which the winner wins, why, and the curve"
# shellcheck disable=SC2086
{
  works search $files --steps=1024 --objective=regret --format=tsv
  awk -v all="$(column finalists best_worlds_frac | awk '{ s += $1 } END { print s }')" \
    'BEGIN { exit !(all > 0.999 && all < 1.001) }'
  result $? "each world has one best"
  works search $files --steps=1024 --objective=p95
  grep -q '^[a-z]*[^:]*: .* s in 95 % of the samples, .* s per iteration' out
  result $? "the 95th percentile"
}
if command -v gnuplot >/dev/null; then
  # shellcheck disable=SC2086
  works search $files --steps=1024 --top=1 --plot=curve.svg
  grep -q '<svg' curve.svg && grep -q '^# search' curve.dat
  result $? "the curve as a picture, with its data beside it"
fi

# Ctrl-C: the best so far.  Sent once, as soon as the program listens (a second
# one ends it): /proc says which signals it catches, SIGINT being the second.
if [ -r /proc/self/status ]; then
  # shellcheck disable=SC2086
  "$reallot" search $files --time=300 -o cut.plan >out 2>err </dev/null &
  job=$!
  for _ in $(seq 600); do
    mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$job/status")
    [ $((0x${mask:-0} & 2)) -eq 0 ] || break
    sleep 0.1
  done
  kill -INT "$job"
  wait "$job"
  # Before the chains it is a strategy's.
  [ $? -eq 0 ] && [ -s cut.plan ] && grep -q '^[a-z]*[:,] .* s per iter' out
  result $? "Ctrl-C: the best plan so far, status 0"
  works simulate cut.plan --fingerprint
fi

# Without captured graphs the best plan takes longer, and says so.
# shellcheck disable=SC2086
run search $files --steps=2048 --top=1 --format=tsv --launch=graph
graph=$(column finalists iteration_s)
# shellcheck disable=SC2086
works search $files --steps=2048 --top=1 --format=tsv --launch=eager -o eager.plan
awk -v eager="$(column finalists iteration_s)" -v graph="$graph" \
  'BEGIN { exit !(graph > 0 && eager > graph) }' &&
  ! grep -q '^launch = graph' eager.plan
result $? "decode launched op by op takes longer than as a graph"

# A limit holds.
# shellcheck disable=SC2086
run search $files --space=real --steps=4096 --limit=actor_train.tp=2 \
  -o limited.plan
awk '/^\[call actor_train\]/ { on = 1; next } /^\[/ { on = 0 }
  on && $1 == "tp" { found = $3 } END { exit found != 2 }' limited.plan
result $? "a limit holds: actor_train has tp 2"

# Mini-batches are the workload's unless a limit allows others; the plan then
# says so, and is what the workload with as many is, to the last event.
# shellcheck disable=SC2086
{
  works search $files --space=real --steps=4096 --top=1 --samples=1 \
    --limit=all.mini-batches=2 -o mini.plan
  mini=$(sed -n 's/^mini-batches = //p' mini.plan)
  [ "$mini" = "2
2" ] && grep -q '^# Trains in 2 mini-batches, the workload in 4' mini.plan &&
    grep -q '^actor_train trains in 2 mini-batches, not in 4' out
  result $? "mini-batches that a limit allows, and the plan says so"
  works simulate mini.plan --fingerprint
  cp out own
  sed '/^mini-batches/d' mini.plan >plain.plan
  works simulate plain.plan --fingerprint
  ! cmp -s own out
  result $? "without them it is another iteration"
  works simulate plain.plan --fingerprint \
    --set workload.mini-batches=2
  cmp -s own out
  result $? "with the workload's changed it is the same"
  fails "'actor_train' cannot have 3 mini-batches, expected a divisor of 256" \
    search $files --limit=actor_train.mini-batches=3
  ! grep -q '^mini-batches' best.plan
  result $? "no limit, no mini-batches"
}

# Sampled lengths are searched as sampled: tables have the times of simulate.
works search --workload=rloo-llama3-8b.workload --cluster=h100-4n.cluster \
  --space=real --steps=4096 -o drawn.plan
grep -q '^search  *[0-9.]* s .*GiB' out && ! grep -q '^search-' out
result $? "sampled lengths: one search, with a plan"
works simulate drawn.plan

# shellcheck disable=SC2086
run search --workload=ppo-llama3-70b.workload --cluster=h100-1n.cluster \
  --steps=4096 -o none.plan
[ "$rc" -eq 1 ] && [ ! -e none.plan ]
result $? "four models of 70B in one node: status 1 and no plan"
# Where nothing fits with parameters on the GPUs, they are in host memory; and a
# plan that fits by the tables only is not the last word.
# shellcheck disable=SC2086
{
  works search $files --steps=2048 --top=1 --samples=1 -o host.plan \
    '--set=cluster.framework-memory=42 GiB'
  grep -q '^residency = host' host.plan
  result $? "too little memory: parameters are in the host's between calls"
  works search $files --steps=4096 --top=1 --samples=1 \
    '--set=cluster.framework-memory=37 GiB'
  grep -q '^search  .* does not fit' out && grep -q '^search-tight .* winner' out
  result $? "a plan that does not fit at stage fidelity is searched for again"
}

# What is no candidate: as many rows as the counts say, each with its rule.
# shellcheck disable=SC2086
{
  works search $files --space=full --rejected=actor_train --format=json
  python3 - <<'END'
import json
tables = json.load(open("out"))
counts = {r["call"]: r for r in tables["candidates"]}["actor_train"]
rows = tables["rejected"]
assert counts["tried"] - counts["candidates"] == len(rows) > 0
over = [r for r in rows if r["reason"] == "memory"]
assert len(over) == counts["memory"] > 0
assert all(r["over_bytes"] > 0 for r in over)
assert all(r["rule"] and r["call"] == "actor_train" for r in rows)
END
  result $? "--rejected: every shape that was tried is a candidate or has a reason"
}

# shellcheck disable=SC2086
{
  fails "--space: unknown value 'all', expected one of real, full" search $files --space=all
  fails '--time: expected more than 0 seconds' search $files --time=0
  fails "--steps: 'x' is not a whole number" search $files --steps=x
  fails '--objective=gpus: missing time limit' search $files --objective=gpus
  fails "--objective: unknown value 'cheap', expected one of time, tokens-per-gpu, cost, gpus, regret, p95" \
    search $files --objective=cheap
  fails '--within: expected more than 0 seconds' search $files --within=0
  fails "--within: 'soon' is not a time" search $files --within=soon
  fails "--nodes: '2,1' is not a list of sizes" search $files --nodes=2,1
  fails '--nodes: the cluster has 1, fewer than 2' search $files --nodes=2
  fails "--launch: unknown value 'late', expected one of eager, graph" search $files --launch=late
  # Of 3 nodes 3 pairs: 2 runs, and the two at the ends.
  works search --workload=ppo-llama2-7b.workload --cluster=h100-4n.cluster \
    --set cluster.nodes=3 --space=full --limit=actor_train.tp=8 \
    --rejected=actor_train --format=tsv
  awk -F'\t' '$1 == 2 && $2 == 2 && $3 == 1 && $4 == 0 { found = 1 }
    END { exit !found }' out
  result $? "--rejected: the set of both ends is a mesh"
  fails "--rejected: no call 'actor_tran'" search $files --rejected=actor_tran
  fails "'late' is not a value of schedule" \
    search $files --limit=actor_train.schedule=late --rejected=all
  fails '--top: ' search $files --top=0
  fails '--samples: ' search $files --samples=x
  fails '.svg, .png or .pdf' search $files --plot=curve.gif
  sed '/^price/d' "$srcdir/share/clusters/h100-1n.cluster" >free.cluster
  fails '--objective=cost: ' search --workload=ppo-llama2-7b.workload \
    --cluster=free.cluster --objective=cost
  fails 'actor_tran' search $files --limit=actor_tran.tp=2
  fails "expected 'reallot search --workload=FILE" search --cluster=h100-1n.cluster
}

# For a framework: what is found is exported whole, but for types and times that
# are the workload's; a family that is not is
# marked and does not win.
tiny="--workload=grpo-tiny.workload --cluster=h100-1n.cluster"
# shellcheck disable=SC2086 # words
works search $tiny --for=verl --steps=1 --samples=1 -o for.plan --format=tsv
awk -F'\t' '/^plan\t/ { for (i = 1; i <= NF; i++) if ($i == "note") at = i; next }
  $at ~ /^not exported whole: / { n++ }
  $1 == "search" && $at == "winner" { won = 1 }
  END { exit !(n > 0 && won) }' out
result $? "for verl: families are marked, what is found wins"
works export for.plan --to=verl -o for.sh --format=tsv
! grep '^\[call' out | grep -vE '	(dtype|grad-dtype|host-time)	'
result $? "and it is exported whole"
# shellcheck disable=SC2086 # words
run search $tiny --for=slime --steps=1
[ "$rc" -eq 1 ] && grep -q 'a further call' out && grep -q '^No plan fits' out
result $? "a framework that trains otherwise has no plan, and why"
# shellcheck disable=SC2086 # words
{
  fails "--for: unknown 'verl@1', expected one of verl@" search $tiny --for=verl@1
  fails "--for and --limit exclude each other" search $tiny --for=verl \
    --limit=all.tp=1
}

echo "1..$n"
