#!/bin/bash
# What a first look must not get wrong: no answer that is wrong without a word,
# plans set side by side, names that are found.  TAP on stdout.
# tests/cli/seats.tsv has the stumbles of seven first users, each with the test
# that fails when it is back, many of them here.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"
tiny=$plans/ppo-tiny-4-colocated.plan

# --- no silence ---

# Leaves of one node of four, each with a quarter of the bandwidth up.
narrow='cluster.fabric=rail(leaf=1, oversubscription=4)'
wide=$plans/rloo-llama3-8b-32.plan
two=$plans/ppo-llama2-7b-8.plan
fails "the cluster's fabric is oversubscribed 4:1, expected --network=flows" \
  simulate "$wide" --set "$narrow"
works simulate "$wide" -n 1 --set "$narrow" --network=flows
works simulate "$wide" -n 1 --set "${narrow/leaf=1/leaf=4}" # all below one leaf
works simulate "$wide" -n 1 --set "${narrow/tion=4/tion=1}"
printf '%s\n' '[study]' 'title = Fabric' "plan = $wide" 'question = minimum' \
  'of = iteration' 'iterations = 1' '[axis fabric]' \
  'key = cluster.fabric' 'values = flat, "rail(leaf=1, oversubscription=4)"' \
  >fabric.study
run study fabric.study
tr '\n' ' ' <out | grep -q 'oversubscribed 4:1, expected --network=flows (network'
result $? "a study says why the point does not count"
sed -i 's/^of .*/&\nnetwork = flows/' fabric.study
works study fabric.study --format=tsv
! grep -q oversubscribed out
result $? "with flows it counts"

# Four nodes below one leaf are as quick as flat ones, and the first wins in all
# worlds: a plan's errors on one GPU are the same in both.  So a checkpoint of 10 s
# is better than one of 60 s in all.
share_of() { # NAME: of the answer's row of NAME, in percent
  awk -F'\t' -v want="$1" '/^# / { on = $0 == "# answer"; next }
    on && !at { for (i = 1; i <= NF; i++) if ($i == "share") at = i; next }
    on && $1 == want { print 100 * $at }' out
}
sed -i 's/leaf=1/leaf=4/' fabric.study
run study fabric.study --format=tsv
[ "$(share_of flat)" = 100 ]
result $? "of two fabrics of one leaf the first, in all worlds: $(share_of flat) %"
printf '%s\n' '[study]' 'title = Checkpoints' "plan = $two" 'question = maximum' \
  'of = useful-tokens' '[failures]' 'gpu-mtbf = 5000 h' 'checkpoint-time = 10 s' \
  'restart-time = 10 min' '[axis checkpoint]' 'key = failures.checkpoint-time' \
  'values = 60 s, 10 s' >checkpoint.study
run study checkpoint.study --format=tsv
[ "$(share_of '10 s')" = 100 ]
result $? "the shorter checkpoint, in all worlds: $(share_of '10 s') %"
# What did not fit stands below, whole.
printf '%s\n' '[study]' 'title = Too few' 'workload = ppo-llama3-70b.workload' \
  'cluster = h100-4n.cluster' 'question = minimum' 'of = iteration' \
  '[axis how]' 'key = placement' 'values = megatron, colocated' >few.study
run study few.study
tr -s '\n ' ' ' <out |
  grep -q "Not run: megatron: does not fit: '[a-z_]*' and what shares its GPUs need [0-9.]* GiB of a GPU, expected at most 80.0 GiB\."
result $? "why a point was not run, to the last word"

# The mean is that of the lengths as cut (tests/graph/check_length.c).
works inspect ppo-llama3-70b.workload --format=tsv
grep -q "$(printf 'response-length\tlognormal\t1\t1024\t539')" out ||
  grep -q 539 out
result $? "the mean written is the mean of the lengths"
fails "mean is '4000', expected less than the maximum '1000'" simulate "$tiny" \
  --set 'workload.response-length=lognormal(4000, 3000, 1000)'

# Traces of two plans have names of tasks in common, and nothing else.
"$reallot" simulate "$tiny" -n 1 -t a.trace.tsv >/dev/null
cp "$tiny" other.plan
"$reallot" simulate other.plan -n 1 -t b.trace.tsv >/dev/null
fails "the plan of one trace is 'ppo-tiny-4-colocated.plan', of the other" \
  compare a.trace.tsv b.trace.tsv
works compare a.trace.tsv a.trace.tsv
! grep -q '^Load while' out
result $? "no load is said of a machine that was not watched"
works run rm-tiny-2.plan -n 1 --trace loaded.trace.tsv
works simulate rm-tiny-2.plan -n 1 -t idle.trace.tsv
works compare idle.trace.tsv loaded.trace.tsv
load=$(sed -n 's/^# wall-per-cpu: //p' loaded.trace.tsv)
[ -n "$load" ] &&
  grep -q "^Load while measured: $load s passed for each second of a core" out
result $? "the load of a run stands beside its error"
# 2 ranks of as many threads as there are cores: 2 threads a core.
works run rm-tiny-2.plan -n 1 --threads="$(nproc)" --trace loaded.trace.tsv
{ cat "$srcdir/traces/profiles/h100-sxm.profile"
  printf '\n[pace]\nwall-per-cpu = 1.25\nerror = 0.1\ndraws = 1\nsource = %s\n' test
} >paced.profile
works simulate rm-tiny-2.plan -n 1 --profile=paced.profile -t idle.trace.tsv
works compare idle.trace.tsv loaded.trace.tsv
tail -n 4 out | tr '\n' ' ' | grep -q 'not known of ranks with several threads; when the profile was made: 1.2500 s. 2 threads shared a core'
result $? "so do the profile's load, and threads that share a core"
# 1.25 s at 2.5 s: 1.25 / 2.5 - 1 = -50 %.
sed 's/^# threads: .*/&\n# wall-per-cpu: 2.5000/' loaded.trace.tsv >slow.trace.tsv
works compare idle.trace.tsv slow.trace.tsv
tail -n 4 out | tr '\n' ' ' | grep -q 'made: 1.2500 s; that alone explains an error of -50.0 %'
result $? "and what the load alone explains"
# The hosts take what the workload says, 1 ms for a rule that takes 2 us.
works run grpo-tiny-4.plan -n 2 --trace loaded.trace.tsv
works simulate grpo-tiny-4.plan -n 2 --no-fold -t idle.trace.tsv
works compare idle.trace.tsv loaded.trace.tsv --worst=1000
grep -q '^reward .* us  *-  *-$' out && grep -q '^host .* us  *-  *-$' out &&
  ! grep -q '^it[01]/reward' out
result $? "work of the hosts has no error"

# The ending says the format.
"$reallot" simulate "$tiny" -n 1 -t a.json >/dev/null
"$reallot" trace export "$tiny" -n 1 -o b.json
sed 's/reallot simulate/reallot trace export/' a.json | cmp -s - b.json
result $? "-t x.json is what trace export makes of the plan"
"$reallot" simulate "$tiny" -n 1 -t a.json.gz >/dev/null
gzip -dc a.json.gz | cmp -s - a.json
result $? "and x.json.gz is that, compressed"
works simulate "$tiny" -n 1 -t a.tsv.gz
"$reallot" trace info a.tsv.gz >gz.info
"$reallot" trace info a.trace.tsv | cmp -s - gz.info && [ -s gz.info ]
result $? "a compressed trace is read"
cp a.trace.tsv plain.tsv.gz
fails "plain.tsv.gz: is not gzip" trace info plain.tsv.gz
# Without its marks it is what trace export makes of the trace: the same rows, and
# as many threads.
"$reallot" trace export a.trace.tsv -o c.json
rows() { # FILE: rows of nodes and hosts, without marks, by time
  sed -n 's/,"critical":true//; s/,"pid":.*//; /"ph":"X"/p' "$1" | sort
}
# The path's own are twice there, so the sets are compared.
[ "$(rows b.json | uniq)" = "$(rows c.json | uniq)" ] &&
  ! grep -q -e '"ph":"[Csf]"' -e critical c.json
result $? "a trace has its rows and no marks"
# The path covers the iteration once; the fullest moment of the fullest GPU is the
# peak that simulate reports, to the 6 digits of a counter.
awk 'BEGIN { at = "0.000" }
  /"process_name"/ && /"critical path"/ { match($0, /"pid":[0-9]+/)
    pid = substr($0, RSTART, RLENGTH) }
  /"ph":"X"/ { match($0, /"ts":[0-9.]+/); ts = substr($0, RSTART + 5, RLENGTH - 5)
    match($0, /"dur":[0-9.]+/); dur = substr($0, RSTART + 6, RLENGTH - 6)
    if (ts + dur > end) end = ts + dur
    if (pid && index($0, pid ",")) { sum += dur; if (ts != at) gaps++
      at = sprintf("%.3f", ts + dur) } }
  END { exit !(pid && !gaps && sum - end < 0.01 && end - sum < 0.01) }' b.json
result $? "the critical path has no gap and ends with the iteration"
[ "$(grep -c '"ph":"s"' b.json)" -gt 0 ] &&
  [ "$(grep -c '"ph":"s"' b.json)" = "$(grep -c '"ph":"f"' b.json)" ]
result $? "arrows have two ends"
peak=$("$reallot" simulate "$tiny" -n 1 --format=tsv |
  awk -F'\t' '/^# memory$/ { getline; getline; print $2 / 1073741824 }')
awk -v peak="$peak" '/"ph":"C"/ { sub(/.*"args":\{/, ""); gsub(/"[^"]*":/, "")
    n = split($0, gib, /[,}]/); sum = 0
    for (i = 1; i <= n; i++) sum += gib[i]
    if (sum > most) most = sum }
  END { exit !(most > 0.99999 * peak && most < 1.00001 * peak) }' b.json
result $? "memory over time has the peak, $peak GiB"
fails "--set: expected a plan, found a trace" trace export a.trace.tsv \
  --set plan.x=1

# --- side by side ---

run simulate "$two" ppo-llama2-7b-8-colocated-zero3.plan
[ "$rc" -eq 0 ] && grep -q '^plan .* iteration  *error .* fits$' out &&
  grep -q '^actor_train  *[0-9.]* m*s  *[0-9.]* m*s$' out &&
  grep -q '^call actor_train.zero  *1  *3$' out &&
  grep -q 'ppo-llama2-7b-8 is the fastest plan that fits: [0-9.]* % less' out
result $? "plans side by side: time, calls, what differs"
run simulate "$two" ppo-llama2-7b-8-colocated-zero3.plan --format=json \
  --set cluster.allocator-slack=0.2
[ "$rc" -eq 1 ] && grep -q '"fits": false' out && grep -q '"fits": true' out
result $? "one that does not fit is said, and the status is 1"
run simulate "$two" --seeds=2 --set cluster.allocator-slack=0.2
[ "$rc" -eq 1 ] && grep -q ' no ' out
result $? "so is a seed's"

# The same rows without a time; a plan beside itself has none.
run diff "$two" ppo-llama2-7b-8-colocated-zero3.plan
[ "$rc" -eq 1 ] && grep -q '^call actor_train.zero  *1  *3$' out
result $? "diff shows the keys that differ"
run diff "$two" "$two"
[ "$rc" -eq 0 ] && ! grep -q '^call' out
result $? "none of a plan and itself"
# Lengths are fixed: three seeds have one time, and no spread at all.
run simulate "$tiny" --seeds=3 --format=tsv
awk -F'\t' '$2 == 3 { found = $4 == 0 && $5 == $9 } END { exit !found }' out
result $? "equal times have a standard deviation of 0"
# What does not fit is said once; each row says what memory it needs.
run simulate "$two" --sensitivity --set cluster.allocator-slack=0.2
[ "$rc" -eq 1 ] && [ "$(grep -c 'does not fit' out)" = 1 ] &&
  head -1 out | grep -q '^The plan does not fit as it is: it needs 1[0-9]* %' &&
  [ "$(awk 'length > 100' out)" = '' ]
result $? "sensitivity of a plan that does not fit"

# A card on PCIe has 0.60 of the memory's bandwidth and 0.76 of the FLOP/s: it is
# 1.5 to 3 times as slow where its links hold up, and its scaled laws say so.
run simulate ppo-llama3-70b-128.plan --sensitivity --fidelity=call --format=tsv
awk -F'\t' '$1 == "gpu" { for (i = 1; i <= NF; i++) at[$i] = i }
  $1 == "h100-pcie" { pcie = $(at["change_frac"]); scaled = $(at["error_frac"]) }
  $1 == "a100-sxm" { own = $(at["error_frac"]) }
  END { exit !(pcie > 0.5 && pcie < 2 && own > 0 && scaled > own) }' out
result $? "other GPUs with the error of their own laws"

# A step's first call begins with the step.
run simulate "$tiny" --format=tsv
awk -F'\t' '$1 == "actor_generate" && NF == 7 { found = $5 >= 0 && $5 < $6 }
  END { exit !found }' out
result $? "calls begin within their step"

# A band that helps to buy: plans that differ in the GPU alone have no more
# apart than the laws, and the sentence says within how much.
sed 's/^cluster = .*/cluster = h200-16n.cluster/' \
  "$plans/ppo-llama3-70b-128.plan" >h200.plan
works simulate h200.plan ppo-llama3-70b-128.plan
band=$(tr -s '\n ' ' ' <out |
  sed -n 's/.*: \(.*\) % less time than .*interval \(.*\) to \(.*\) %).*/\1 \2 \3/p')
echo "$band" | awk '{ found = $2 < $1 && $1 < $3 && $3 - $2 < 30 } END { exit !found }'
result $? "H200 for H100 within 15 %: % less, and its 90 % interval: $band"

# Another GPU has another price: its own shipped cluster's, unless it is given.
works simulate ppo-llama2-7b-8.plan -n 1 --set cluster.gpu=h200-sxm
grep -q '^  price .* USD (GPU price of h200-16n.cluster)$' out
result $? "the price is the new GPU's, and its cluster is named"
run simulate ppo-llama2-7b-8.plan -n 1 --set cluster.gpu=a40
grep -q "^  price  *- (no price of this GPU is known: --set 'cluster.price" out
result $? "without one there is none, and the key is named"
works simulate ppo-llama2-7b-8.plan -n 1 --set cluster.gpu=h200-sxm \
  --set 'cluster.price=2 USD/gpu/h'
grep -q '^  price .* USD$' out
result $? "a price that is given counts"
works simulate ppo-llama2-7b-8.plan -n 1 --set cluster.gpu=h100
grep -q '^  price .* USD$' out
result $? "the same GPU by another name has the price of the file"
run simulate "$tiny"
grep -q '^  90 % interval  *[0-9.]* m*s to [0-9.]* m*s$' out
result $? "the interval stands beside the time"

# Advice: the plan is slowed by recomputing; a strategy's plan, written by the
# command that is named, takes the share less that is said (to its last digit).
# Taken over the plan's own calls' overrides, it would be as slow.
cp "$two" advised.plan
run simulate advised.plan --explain --set 'call actor_train.recompute=full'
[ "$rc" -eq 0 ] &&
  less=$(sed -n 's/^The plan of strategy .* takes \([0-9.]*\) % less time:$/\1/p' out) &&
  was=$(awk '$1 == "iteration" { print $2; exit }' out) &&
  line=$(grep '^  reallot plan --strategy' out) &&
  eval "\"\$reallot\" ${line#  reallot }" >/dev/null &&
  "$reallot" simulate "${line##* }" |
  awk -v was="$was" -v less="$less" '$1 == "iteration" { found = 1
    by = 100 * (1 - $2 / was) - less; exit !(less > 0 && by * by < 0.01) }
    END { if (!found) exit 1 }'
result $? "explain ends with a faster strategy, which takes what it says: ${less-} %"

# --- remedies: no change alone makes it fit, these do ---
full=$plans/ppo-llama3-70b-128.plan
memory='cluster.framework-memory=24 GiB'
run simulate "$full" --set "$memory"
[ "$rc" -eq 1 ] && grep -q '^Changes that fit together:' out &&
  eval "flags=($(grep "^  --set 'call" out | sed 's/ (peak.*//'))" &&
  [ ${#flags[@]} -gt 2 ] &&
  "$reallot" simulate "$full" --set "$memory" "${flags[@]}" >/dev/null
result $? "several changes that fit together"

# No changes of the starter make answers of up to 49,152 tokens fit:
# a family's plan does, and the command that writes it is said.
works new tail --model=Qwen/Qwen2.5-32B
sed -i 's/^response-length = .*/response-length = lognormal(12000, 8000, 49152)/' \
  tail.workload
run simulate tail.plan -n 1 --fidelity=call
[ "$rc" -eq 1 ] && grep -q '^Another plan that fits:' out &&
  line=$(grep '^  reallot plan --strategy' out) &&
  eval "\"\$reallot\" ${line#  reallot }" &&
  "$reallot" simulate "${line##* }" -n 1 >/dev/null
result $? "another plan that fits, by its command: ${line-}"

# --- prices and GPUs that one can rent ---

# Nodes and price are of a shipped cluster of the GPU, racks too; a GPU without
# one has no price that nobody said.
works new rack --gpu=gb200
grep -q '^nodes = 1$' rack.cluster && grep -q '^gpus-per-node = 72 ' rack.cluster &&
  grep -q '^price = 10.5 USD/gpu/h .*gb200-nvl72.cluster' rack.cluster
result $? "a starter of GB200 is a rack, with its price"
works simulate rack.plan -n 1
works new pcie --gpu=H100-PCIe
grep -q '^gpus-per-node = 8 ' pcie.cluster && ! grep -q '^price' pcie.cluster
result $? "no price is made up"
# Idle GPUs: 4 of 8 run.
run simulate "$tiny" -n 1 --set cluster.nodes=1
grep -q '^stage fidelity, 1 iteration (the first: no steady state), ' out &&
  grep -q '^  price .* (of 4 GPUs; the other 4 are not counted)$' out
result $? "idle GPUs are said to be free, and one iteration to be no steady state"
# Each price has a source with its date; what has none has no price.
for file in "$srcdir"/share/clusters/*.cluster; do
  awk '/^price = / { n++; text = ""; inside = 1 } !/^(price| )/ { inside = 0 }
    inside { text = text $0 }
    inside && text ~ /20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]/ {
      known++; inside = 0 }
    END { exit known != n }' "$file" ||
    echo "${file##*/}"
done >unpriced
[ ! -s unpriced ] && [ "$(grep -l '^price = ' "$srcdir"/share/clusters/*.cluster |
  wc -l)" -gt 10 ]
result $? "prices have a source and a date"
sed 's/^/# /' unpriced

# --- names and places ---
for gpu in h100 H100 H100-SXM; do
  "$reallot" simulate "$tiny" -n 1 --set cluster.gpu=$gpu --fingerprint
done 2>&1 | sort -u | grep -c . | grep -q '^1$'
result $? "a GPU is found by its short name"
fails "'reallot list gpus' has the names" simulate "$tiny" --set cluster.gpu=foo
fails "'.' is a directory" simulate .
fails "--workload: '.' is a directory" simulate "$tiny" --workload=.
# Folders of a new name are made, where it says; a command to copy is quoted.
works new a/b
works new "$tmp/c/d e"
[ -e a/b.plan ] && [ -e "c/d e.plan" ] && [ ! -e tmp ] &&
  grep -qF "Try: reallot simulate '$tmp/c/d e.plan'" out
result $? "new files are where their name says"
echo '{"schemaVersion": 1, "traceEvents": []}' >rank0.json
fails "rank0.json: no known op has a shape" inspect rank0.json
works inspect "$srcdir/tests/data/kineto/cuda.json"
# A program of the build, benchmarks too, finds the share of its source tree.
mkdir -p tree/build/bench tree/share
cp "$reallot" tree/build/bench && cp -r "$srcdir"/share/{plans,workloads,clusters} \
  "$srcdir"/share/{models,local.mk} tree/share
ln -s "$(cd "$srcdir" && pwd)/traces" tree/traces
(unset RA_DATA_PATH && cd / &&
  "$tmp"/tree/build/bench/reallot simulate ppo-tiny-4-colocated.plan -n 1 >/dev/null)
result $? "a benchmark finds the files of the tree"
# An installed tree runs from where it was moved to.
mkdir -p moved/bin moved/share/reallot
cp "$reallot" moved/bin && cp -r "$srcdir"/share/{plans,workloads,clusters} \
  "$srcdir"/share/models "$srcdir"/traces/profiles moved/share/reallot
(unset RA_DATA_PATH && cd / &&
  "$tmp"/moved/bin/reallot simulate ppo-tiny-4-colocated.plan -n 1 >/dev/null)
result $? "a tree that was moved finds its share"

# --- the map ---
while IFS=$'\t' read -r seat what file test; do
  case $seat in '#'*) continue ;; esac
  [ -n "$test" ] && grep -qF -e "$test" "$srcdir/tests/$file" ||
    echo "$seat $what: no '$test' in tests/$file"
done <"$srcdir/tests/cli/seats.tsv" >untested
[ ! -s untested ] && [ "$(grep -c '	' "$srcdir/tests/cli/seats.tsv")" -gt 35 ]
result $? "each stumble has its test"
sed 's/^/# /' untested

echo "1..$n"
