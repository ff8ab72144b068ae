#!/bin/bash
# The command line: what runs must say.  Times depend on a profile, so there are
# sums that must come to 1, runs that must be equal, and names of columns.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# ---- simulate: structure and sums -------------------------------------------

# "TITLE: COLUMNS" of every table of a TSV output.
titles() {
  awk -F'\t' '/^# / { title = substr($0, 3); getline; print title ": " $0 }' "$1"
}
run simulate "$plan" --format=tsv
titles out >columns
golden_columns=$srcdir/tests/golden/simulate-columns.txt
if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp columns "$golden_columns"; fi
cmp -s columns "$golden_columns"
result $? "tables and columns of simulate --format=tsv"
diff "$golden_columns" columns | sed 's/^/# /'

# Sums over a TSV output on stdin: the shares of GPU time and of the critical
# path over their rows, and the causes of every row that has them, are 1; so is
# the time of the critical path over the makespan.  Prints what is not.
sums() {
  awk -F'\t' '
    function check(what, sum) {
      n++
      if (sum < 0.999999 || sum > 1.000001) print what " sums to " sum
    }
    /^# / { title = substr($0, 3); getline; delete at
            for (i = 1; i <= NF; i++) at[$i] = i; next }
    title == "summary" { makespan = $at["makespan_s"] }
    title == "gpu_time" || title == "critical_path" {
      share[title] += $at["share_frac"]
      if ($at["compute_frac"] != "-")
        check(title " " $1, $at["compute_frac"] + $at["comm_frac"] + \
              $at["host_frac"] + $at["bubble_frac"] + \
              $at["interference_frac"])
    }
    title == "path_causes" { share[title] += $at["share_frac"] }
    title == "critical_path" { path += $at["time_s"] }
    END { for (t in share) check(t, share[t])
          check("path", path / makespan); if (n < 6) print "only " n " sums" }'
}
bad=0 at=0
for file in "$plans"/*.plan; do
  [ $((at++ % share)) -eq 0 ] || continue
  for fidelity in stage call op; do
    run simulate "$file" --format=tsv --fidelity=$fidelity --explain
    sums <out | sed "s|^|# ${file##*/}, $fidelity: |" >wrong
    cat wrong
    [ ! -s wrong ] || bad=1
  done
done
result $bad "shares add up to 1 for every shipped plan"
run simulate "$plan" --format=tsv --explain
awk -F'\t' -v OFS='\t' '$1 == "(idle)" { $3 += 0.001 } { print }' out | sums |
  grep -q '^gpu_time sums to 1.001'
result $? "a share that is off by 0.001 is found"
# Memory over time: its highest turn is the peak that the account has.
run simulate "$plan" --format=tsv --explain
awk -F'\t' '/^# / { title = substr($0, 3); getline; delete at
      for (i = 1; i <= NF; i++) at[$i] = i; next }
    title == "memory_extremes" { n++
      if ($at["memory_bytes"] > most) most = $at["memory_bytes"] }
    title == "memory_over_time" { holders++ }
    title == "memory" { peak = $at["peak_bytes"] }
    END { exit !(n > 4 && holders > n && peak > 0 &&
      most > peak * 0.999999 && most < peak * 1.000001) }' out
result $? "memory over time has the peak"
run simulate "$plan" --explain
grep -q '^Memory peaks and troughs of each group.s GPU' out && grep -q '  peak  ' out
result $? "and says so to people"

field() { # COLUMN: of the summary in out
  awk -F'\t' -v name="$1" 'NR == 2 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR == 3 { print $at[name] }' out
}
# 8 GPUs at 2.5 USD/gpu/h for an iteration, and twice the price twice that.
run simulate "$plan" --format=tsv --set 'cluster.price=3.6 USD/gpu/h'
awk -v s="$(field iteration_s)" -v usd="$(field usd)" \
  'BEGIN { d = usd - s * 8 * 3.6 / 3600; exit !(d < 1e-9 && d > -1e-9) }'
result $? "the price is iteration x GPUs x price of a GPU hour"

# ---- sensitivity ----------------------------------------------------------------

# The rates that it names are what --set would make of them.
run simulate "$plan" --sensitivity --format=tsv
twice=$(awk -F'\t' '$1 == "hbm" { print $3 }' out)
[ "$(head -1 out)" = '# base' ] && grep -q '^# sensitivity' out &&
  grep -q '^h200-sxm' out
result $? "sensitivity has its tables"
run simulate "$plan" --format=tsv --set 'device.memory-bandwidth=6.7 TB/s'
[ -n "$twice" ] && [ "$twice" = "$(field iteration_s)" ]
result $? "twice the bandwidth is what --set makes of it"
works simulate "$plan" --sensitivity --factor=1.5 --plot=-
grep -q '^hbm .*#|' out
result $? "a tornado as text: more bandwidth to the left"
works simulate "$plan" --system reallhf-2024.system \
  --set constants.compute-factor=1

# ---- experts and contexts over GPUs -------------------------------------------

# Mixtral visits 2 of 8 experts: MFU is of those, and between what published
# runs reach and nothing at all.
run simulate "$plans/sft-mixtral-8x7b-32k-32.plan" --format=tsv
grep -q 'tp2 cp4 dp4 ep4' out
result $? "simulate says cp and ep"
awk -v mfu="$(field mfu_frac)" 'BEGIN { exit !(mfu > 0.2 && mfu < 0.55) }'
result $? "a mixture of experts is counted by the experts that a token visits"
mixtral() { # CP EP: seconds of an iteration on 32 GPUs
  run simulate "$plans/sft-mixtral-8x7b-32k-32.plan" --format=tsv \
    --set "call actor_train.cp=$1" \
    --set "call actor_train.dp=$((16 / $1))" \
    --set "call actor_train.ep=$2"
  field iteration_s
}
[ "$(mixtral 4 4)" != "$(mixtral 4 2)" ] &&
  [ "$(mixtral 4 4)" != "$(mixtral 8 4)" ]
result $? "cp and ep change an iteration"

# ---- continuous batching ------------------------------------------------------

grpo=$plans/grpo-qwen2.5-7b-32.plan
served() { # --set...: seconds of an iteration with continuous batching
  run simulate "$grpo" --format=tsv \
    --set 'call actor_generate.batching=continuous' "$@"
  field iteration_s
}
all=$(served)
sums <out >wrong
[ -n "$all" ] && [ ! -s wrong ]
result $? "shares add up to 1 with continuous batching"
few=$(served --set 'call actor_generate.max-sequences=8')
shared=$(served --set 'call actor_generate.prefix-sharing=true')
awk -v all="$all" -v few="$few" -v shared="$shared" \
  'BEGIN { exit !(few > all && shared < all && shared > 0) }'
result $? "few at a time take longer, shared prompts less"
# Over two stages, and with choices about the tail: longest first is sooner done
# than in order where places are few.
piped=$(served --set 'call actor_generate.pp=2' \
  --set 'call actor_generate.dp=8' --set 'call actor_generate.kv-memory=20 GiB')
longest=$(served --set 'call actor_generate.max-sequences=8' \
  --set 'call actor_generate.assignment=length')
awk -v all="$all" -v few="$few" -v piped="$piped" -v longest="$longest" \
  'BEGIN { exit !(piped > 0 && piped != all && longest > 0 && longest < few) }'
result $? "continuous batching over stages, and longest first"
# The holder at its most, over time: it fills what it may have, to the digits
# of the data, whatever the GPU's peak is made of.  Without gnuplot the data are
# written all the same.
run plot --memory "$grpo" -o kv.svg \
  --set 'call actor_generate.batching=continuous' \
  --set 'call actor_generate.kv-memory=4 GiB'
awk -F'\t' '$1 == "time_s" {
    for (i = 1; i <= NF; i++) if ($i ~ /^KV cache of actor_generate/) at = i
    next
  }
  at { held = $at - $(at - 1); if (held > most) most = held }
  END { exit !(most > 3.9 && most < 4.001) }' kv.dat
result $? "keys and values stay within kv-memory"
fails "'kv-memory' has room for 2 blocks of 16 tokens" simulate "$grpo" \
  --set 'call actor_generate.batching=continuous' \
  --set 'call actor_generate.kv-memory=1 MiB'
fails "'max-sequences' with static batching" simulate "$grpo" \
  --set 'call actor_generate.max-sequences=8'

# A GPU that has nothing left: 1, and the verdict names it, the time, holders.
run simulate "$plan" --set 'cluster.framework-memory=79 GiB'
[ "$rc" -eq 1 ] && [ ! -s err ] && tr '\n' ' ' <out |
  grep -q 'The plan does not fit: GPU [0-9]* needs .* of 80.0 GiB at .* framework 79.0 GiB'
result $? "a plan that does not fit is a negative answer"
run simulate "$plan" --set 'cluster.framework-memory=79 GiB' --format=tsv
[ "$rc" -eq 1 ] && awk -F'\t' '/^# memory$/ { getline; getline
  exit $(NF - 1) != "no" || $NF != "-" }' out
result $? "and the tables say so, and that nothing helps"
# The remedy that is named: "--set 'call NAME.KEY=VALUE' ... (N GiB ...)".
remedied() { # PLAN FRAMEWORK-GIB: does not fit, and does with what is named
  local memory="cluster.framework-memory=$2 GiB" flags
  run simulate "$1" --set "$memory" --format=tsv
  remedy=$(awk -F'\t' '/^# memory$/ { getline; getline; print $NF }' out)
  eval "flags=(${remedy% (*})"
  [ "$rc" -eq 1 ] && [ ${#flags[@]} -gt 0 ] &&
    "$reallot" simulate "$1" --set "$memory" "${flags[@]}" >/dev/null
}
remedied "$plans/ppo-llama3-70b-128.plan" 20
result $? "the change that is named makes a plan fit"

# Two calls read one copy of ref: where that goes to the host, both must say so.
# Tensor parallel of 8, a GPU has 1/8 of 65.3e9 x 2 B = 16.3 GB of ref, which
# the last inference lets go of again and training does not see on the host;
# nothing that comes first helps: dp is 1, the norms are split, micro-batches
# are of one sequence and recomputed.
{
  printf '[workload]\nalgorithm = dpo\ndataset = data\nprompts = 64\n'
  printf 'prompt-length = fixed(1024)\nresponse-length = fixed(1024)\n'
  printf '[model actor]\nconfig = llama-7b.json\ntrainable = true\n'
  printf '[model ref]\nconfig = llama-65b.json\n'
  printf '[model reward]\nconfig = llama-7b.json\n'
  printf '[call %s]\nmodel = %s\nkind = inference\ninputs = %s\noutputs = %s\n' \
    first reward data a chosen ref 'data, a' b rejected ref 'data, b' c \
    last reward 'data, c' d
  printf '[call train]\nmodel = actor\nkind = train\ninputs = data, d\n'
} >shared.workload
{
  printf '[plan]\nworkload = shared.workload\ncluster = h100-1n.cluster\n'
  for call in first chosen rejected last train; do
    printf '[call %s]\nmesh = all\ntp = 8\nmicro-batches = 64\n' "$call"
    printf 'sequence-parallel = true\n'
  done
  printf 'recompute = full\n'
} >shared.plan
remedied shared.plan 46 &&
  [ "${remedy% (*}" = "--set 'call chosen.residency=host' \
--set 'call rejected.residency=host'" ]
result $? "and names every call that has to change with it"

# ---- runs that must be equal or differ --------------------------------------

print_of() { "$reallot" simulate --fingerprint "$@"; }
first=$(print_of "$plan")
echo "$first" | grep -qE '^[0-9a-f]{16}$'
result $? "a fingerprint has 16 digits"
[ "$first" = "$(print_of "$plan")" ]
result $? "two runs are the same"
[ "$first" = "$("$reallot" simulate "$plan" --seed 0 --fingerprint \
  --iterations=3)" ]
result $? "defaults are seed 0, 3 iterations; the order of options is free"
[ "$first" = "$(cd / && print_of "$plan")" ]
result $? "and in another folder"
(cd "$plans" && print_of ppo-llama2-7b-8.plan) | grep -q "$first"
result $? "and with a relative path"
print_of ppo-llama2-7b-8.plan | grep -q "$first"
result $? "and by the name of a shipped plan"
[ "$first" = "$(print_of "$plan" --set 'cluster.price=9 USD/gpu/h')" ]
result $? "a price changes no event"
for change in '--iterations=2' '--fidelity=call' '--fidelity=op' \
  '--set=workload.prompts=128' '--set=call actor_generate.launch=eager' \
  '--profile=a100-sxm.profile' '--cluster=h100-16n.cluster'; do
  case $change in
    *call\ actor_gen*)
      # Whichever it is in the file, the other differs.
      [ "$(print_of "$plan" --set 'call actor_generate.launch=eager')" != \
        "$(print_of "$plan" --set 'call actor_generate.launch=graph')" ] ;;
    --cluster=*) # the same GPUs: no event changes
      [ "$first" = "$(print_of "$plan" "$change")" ] ;;
    *) [ "$first" != "$(print_of "$plan" "$change")" ] ;;
  esac
  result $? "$change does what it should to the fingerprint"
done
[ "$(print_of "$plan" --fidelity=op --set cluster.jitter=0.05)" != \
  "$(print_of "$plan" --fidelity=op)" ] &&
  [ "$first" = "$(print_of "$plan" --set cluster.jitter=0.05)" ]
result $? "jitter is felt at op fidelity"
for format in text tsv json; do
  run simulate "$plan" --explain --network=flows --format=$format
  [ "$rc" -eq 0 ] && grep -q gemm out && grep -q 'peers out' out
  result $? "--explain names ops and links, as $format"
done
run simulate "$plan" --explain
! grep -q '^Links' out && grep -q '^Critical path by cause' out
result $? "links only with flows"
[ "$first" = "$(print_of "$plan" --explain)" ]
result $? "asking why changes nothing"
apart=$(dirname "$plan")/rloo-llama3-8b-32.plan
[ "$first" = "$(print_of "$plan" --network=off)" ] &&
  [ "$(print_of "$apart" --no-fold)" = "$(print_of "$apart" --network=flows)" ]
result $? "flows that do not meet change nothing"
run simulate "$apart" --cluster=h100-4n-graph.cluster --network=flows --explain \
  --format=tsv
[ "$rc" -eq 0 ] && grep -q '^leaf0 to spine' out && ! grep -q 'leaf1 to spine3' out
result $? "flows over a graph go round the link that has failed"
# Seeds 3 to 6 of two plans: the rows of each are those of a run alone, and the
# same whatever the number of threads.
drawn=$(dirname "$plan")/grpo-tiny-4.plan
for threads in 1 3; do
  run simulate "$plan" "$drawn" --seeds=4 --seed=3 --threads=$threads \
    --format=tsv
  mv out many.$threads
done
cmp -s many.1 many.3 && awk -F'\t' -v print5="$(print_of "$drawn" --seed=5)" \
  -v drawn="${drawn##*/}" '
    $1 == drawn && NF == 7 && $2 == 5 { equal = $7 == print5 && $6 == "yes" }
    NF == 7 && $2 ~ /^[3-6]$/ { n++ }
    $1 == drawn && NF == 9 {
      ordered = $2 == 4 && $4 > 0 && $5 < $3 && $3 < $9 && $5 <= $6 &&
        $6 <= $7 && $7 <= $8 && $8 <= $9 }
    END { exit !(equal && ordered && n == 8) }' many.1
result $? "seeds and plans side by side, the same with any number of threads"
run simulate "$plan" --seeds=2 --explain
[ "$rc" -eq 2 ] && grep -q 'several seeds or plans with --explain' err
result $? "one replay is explained"
run simulate "$apart" --cluster=h100-4n-graph.cluster
[ "$rc" -eq 2 ] && grep -q 'expected --network=flows' err
result $? "a graph without flows is refused"
demo=$plans/ppo-llama3-70b-128.plan
slow=$(print_of "$demo" --network=flows --set 'link node3/nic2.rate=10 GB/s')
[ -n "$slow" ] && [ "$slow" != "$(print_of "$demo" --network=flows)" ]
result $? "a slow link is felt"
[ "$(print_of "$plan" --fidelity=op --set cluster.stragglers=0.5)" = \
  "$(print_of "$plan" --fidelity=op --set cluster.stragglers=0.5)" ]
result $? "and so are stragglers, the same ones each time"
run simulate "$plans"/rm-llama3-8b-8.plan --fidelity=op --iterations=1 \
  --trace ops.trace.tsv
[ "$rc" -eq 0 ] && grep -q 's0/b0/m0/fwd/l0/attention\.' ops.trace.tsv
result $? "a trace of op fidelity has the ops"
# ReaL's estimator replays the same plan: other times, its own table, and the
# same at either fidelity, as it knows whole calls only.
real=$(print_of "$plan" --estimator=real)
[ "$real" != "$first" ] && [ "$real" != "$(print_of "$plan" --fidelity=call)" ] &&
  [ "$real" = "$(print_of "$plan" --estimator=real --fidelity=stage)" ] &&
  [ "$first" = "$(print_of "$plan" --estimator=reallot)" ]
result $? "--estimator=real costs calls as ReaL does"
run simulate "$plan" --estimator=real --format=tsv
titles out | grep -q '^real_calls: call	strategy	time_s	memory_bytes$' &&
  sums <out >wrong && [ ! -s wrong ]
result $? "and simulate shows what it takes for each call"
run simulate "$plan" --estimator=real
grep -q '^calls and reallocations by ReaL.s estimator' out &&
  grep -q '^call fidelity' out
result $? "and says so"
# A system that runs the plan: by flag and by key the same, and it is named.
slow=$(print_of "$plan" --system=reallhf-2024.system)
[ "$slow" != "$first" ] &&
  [ "$slow" = "$(print_of "$plan" --set plan.system=reallhf-2024)" ]
result $? "a system profile changes the run, by flag as by key"
run simulate "$plan" --system=reallhf-2024.system
grep -q '^reallhf-2024.system: ReaLHF, 2024, held-out median error' out
result $? "simulate says which system it is"
run simulate "$plan" --system=reallhf-2024.system --format=tsv
awk -F'\t' 'NR == 2 { for (i = 1; i <= NF; i++) at[$i] = i }
  NR == 3 { exit $at["system"] != "reallhf-2024" }' out
result $? "and so does its summary"
# Its lengths are fixed, so replicas fold: columns 13 and 14 of the summary say
# how much, and the last one is the fingerprint of what was replayed.
run simulate "$plan" --format=tsv
[ "$(field n_tasks_replayed)" -lt "$(field n_tasks)" ]
result $? "replicas that do the same are replayed once"
awk -F'\t' -v OFS='\t' 'NR == 3 { $13 = $14 = $NF = "" } { print }' out >folded
run simulate "$plan" --format=tsv --no-fold
[ "$(field n_tasks_replayed)" -eq "$(field n_tasks)" ]
result $? "and every one by itself with --no-fold"
awk -F'\t' -v OFS='\t' 'NR == 3 { $13 = $14 = $NF = "" } { print }' out |
  cmp -s - folded
result $? "with the same numbers"

# Its lengths are fixed; those of the 70B are not.
sampled=$plans/ppo-llama3-70b-128.plan
[ "$(print_of "$sampled")" != "$(print_of "$sampled" --seed=1)" ] &&
  [ "$first" = "$(print_of "$plan" --seed=1)" ]
result $? "a seed matters where lengths are sampled"
# The plan has 4 micro-batches.
want=$(print_of "$plan" --set 'call actor_train.micro-batches=8')
[ "$want" != "$first" ] && [ "$want" = "$(print_of "$plan" \
  --set 'call actor_train.micro-batches=2' \
  --set 'plan:call actor_train.micro-batches=8')" ]
result $? "the last --set of a key counts, a prefix changes nothing"
run simulate "$plan" --workload "$srcdir/share/workloads/ppo-llama2-7b.workload" \
  --format=tsv
[ "$(field fingerprint)" = "$first" ]
result $? "--workload with the plan's own workload changes nothing"

# A program that is run where it was built finds its source tree's profiles.
mkdir -p top/build && ln -s "$srcdir/share" "$srcdir/traces" top/ &&
  cp "$reallot" top/build/
[ "$first" = "$(cd / && env -u RA_DATA_PATH "$tmp/top/build/reallot" \
  simulate --fingerprint "$plan")" ]
result $? "the source tree is found from the folder of the program"

# ---- copies in host memory --------------------------------------------------

# The shipped plan reloads ref and reward behind other calls and takes the
# optimizer state of two models out and in: 4 reloads, 2 offloads, none exposed.
offload=$plans/ppo-llama2-7b-8-offload.plan
works simulate "$offload" --format=tsv
awk -F'\t' '/^# moves|^move\t/ { on = 1; next } /^#/ || !NF { on = 0 }
  on && $1 ~ /^(re|off)load$/ { n[$1]++; if ($8 > 0) late = 1 }
  END { exit !(n["reload"] == 4 && n["offload"] == 2 && !late) }' out
result $? "reloads and offloads are in the table of moves, hidden"
run simulate "$offload" --set 'call ref_inference.residency=away'
[ "$rc" -eq 2 ] && grep -q 'expected one of release, keep, host' err
result $? "an unknown residency is refused"
run simulate "$offload" --fingerprint
first_offload=$(cat out)
run simulate "$offload" --fingerprint \
  --set 'call ref_inference.residency=release'
[ "$rc" -eq 0 ] && [ "$(cat out)" != "$first_offload" ]
result $? "a residency changes the fingerprint"

# ---- weights in shards ------------------------------------------------------

# With zero 3 everywhere nothing moves between layouts, but generation waits for
# weights more than it computes; with whole weights it does not, and they move.
zero3=$plans/ppo-llama2-7b-8-colocated-zero3.plan
works simulate "$zero3" --format=tsv
awk -F'\t' '/^# / { on = $0 } on == "# gpu_time" && $1 == "actor_generate" {
    bound = $5 > $4 } $1 == "realloc" { moves = 1 }
  END { exit !(bound && !moves) }' out
result $? "generation with zero 3 is bound by gathers, and nothing is moved"
works simulate "$zero3" --set 'call actor_generate.zero=0' --format=tsv
awk -F'\t' '/^# / { on = $0 } on == "# gpu_time" && $1 == "actor_generate" {
    bound = $5 > $4 } $1 == "realloc" { moves = 1 }
  END { exit !(!bound && moves) }' out
result $? "generation with whole weights is not, and they are moved"
fails "'zero-group' is 3, expected a divisor of 8, 'dp'" \
  simulate "$zero3" --set 'call actor_train.zero-group=3'
fails "'zero' of 'ref_inference' is 2, expected 0 or 3" \
  simulate "$zero3" --set 'call ref_inference.zero=2'

# What GPUs send to each other sums to what the reallocations move.
works inspect "$plan" --moves --format=tsv
cp out moves
works inspect "$plan" --format=tsv
moved=$(awk -F'\t' '/^# / { on = $0 == "# reallocations"; next }
  on && $4 + 0 > 0 { sum += $4 } END { printf "%.0f", sum }' out)
sent=$(awk -F'\t' '$5 + 0 > 0 { sum += $5 } END { printf "%.0f", sum }' moves)
# to the 9 digits that a cell has
awk -v a="${moved:-0}" -v b="${sent:-0}" \
  'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (1e-8 * a) ^ 2) }'
result $? "--moves says who sends what: $sent bytes of $moved"
fails "is a cluster, expected a plan" inspect --moves h100-1n.cluster

# ---- GPUs that nobody here has ----
works simulate "$plans/sft-llama3-8b-8.plan" --cluster h20-2n.cluster
tr '\n' ' ' <out | grep -q 'h20 is scaled from other GPUs for gemm.bf16 (from the '
result $? "a derived profile says so"
works simulate "$plans/ppo-llama2-7b-8-colocated-zero3.plan" \
  --cluster l40s-1n.cluster
run simulate "$plans/sft-llama3-8b-8.plan" --cluster h100-1n.cluster
! tr '\n' ' ' <out | grep -q 'scaled from other GPUs'
result $? "a measured one does not"
run inspect h20.profile --format=tsv
awk -F'\t' '$1 == "gemm.bf16" && $2 == "h100-sxm" { of = 1 }
  $1 == "h20" && $2 == "h100-sxm" { base = 1 }
  END { exit !(of && base) }' out
result $? "inspect says whose law it is"

run inspect h100-4n-graph.cluster --format=tsv
awk -F'\t' '{ for (i = 1; i <= NF; i++) if (at && $i == "graph") found = 1
              else if ($i == "fabric") at = 1 } END { exit !found }' out
result $? "inspect of a cluster whose network is a graph"

# Laws of an H100 that nobody has rows of, and one that has; norms of micro-batches
# are longer than any that was measured.
run simulate "$plans/ppo-llama3-70b-128.plan"
sed -n '/^Extrapolated beyond the measured range/,/^$/p' out | tr '\n' ' ' >beyond
grep -q 'memory.norm bytes [0-9]* (measured to 133169152)' beyond &&
  grep -q 'assumed, not measured: .*memory.other' beyond &&
  ! grep -q 'assumed, not measured: .*gemm' beyond
result $? "what is beyond the measurements, and what nobody measured, is said"

# Decode steps op by op where nodes are of two kinds: on the last node, an A100,
# every row is that of a cluster of A100; with a stage on each kind the same op
# takes longer on the second.
short="--set workload.response-length=fixed(3) --set workload.prompts=16
  --set workload.mini-batches=1 -n 1 --fidelity=op --decode-ops --no-fold"
sed 's/node0/node3/' "$plans/ppo-llama2-7b-8.plan" >last.plan
sed '/^\[call actor_generate\]/,/^\[/{s/node3/node[1-2]/;s/^pp = 1/pp = 2/}' \
  last.plan >both.plan
# shellcheck disable=SC2086
{
  works simulate last.plan --cluster=a100-4n.cluster $short -t alike.tsv
  works simulate last.plan --cluster=h100-a100-4n.cluster $short -t mixed.tsv
  works simulate both.plan --cluster=h100-a100-4n.cluster $short -t both.tsv
}
grep -v '^#' alike.tsv >alike
grep -v '^#' mixed.tsv >mixed
grep -q '/decode/' mixed && cmp -s alike mixed
result $? "decode steps on nodes of one of two kinds are those of that kind"
awk -F'\t' '$1 ~ /actor_generate.d0.*decode.step2.*.l(1|30).gemm/ {
    s = $1 ~ /.l1.gemm/ ? 0 : 1; sum[s] += $10 - $9; n[s]++ }
  END { exit !(n[0] > 0 && n[0] == n[1] && sum[1] > 1.2 * sum[0]) }' both.tsv
result $? "and of a pipeline over both each stage is at its own pace"

echo "1..$n"
