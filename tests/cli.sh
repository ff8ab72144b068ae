#!/bin/bash
# The command line: every subcommand, flag, error and format.
#
# Golden outputs are in tests/golden; RA_GOLDEN_UPDATE=yes writes them anew
# (`make golden-update`), and the diff is the review.  What depends on a
# profile's coefficients (times) is never golden: for it there are sums that
# must come to 1, runs that must be equal, and names of columns.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
set -u
: "${srcdir:?is set by make check}" "${builddir:?}"
reallot=$builddir/reallot
plans=$srcdir/share/plans
plan=$plans/ppo-llama2-7b-8.plan

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99

n=0
result() { # STATUS WHAT
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

# Runs reallot; stdout, stderr and the status are left in out, err, rc.
run() {
  "$reallot" "$@" >out 2>err </dev/null
  rc=$?
}

# ---- what must go well ------------------------------------------------------

works() { # ARGUMENT...: exit 0, something on stdout, nothing on stderr
  run "$@"
  [ "$rc" -eq 0 ] && [ -s out ] && [ ! -s err ]
  result $? "reallot ${*/#"$srcdir"\//}"
  [ ! -s err ] || sed 's/^/# /' err
}

fails() { # MESSAGE ARGUMENT...: exit 2, one line that has MESSAGE, no output
  local message=$1
  shift
  run "$@"
  [ "$rc" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
    grep -q '^reallot: ' err && grep -qF -- "$message" err
  result $? "refused: reallot ${*/#"$srcdir"\//}"
  if [ "$rc" -ne 2 ] || ! grep -qF -- "$message" err; then
    echo "# status $rc, expected '$message', got: $(head -c 500 err)"
  fi
}

golden() { # NAME ARGUMENT...
  local name=$1 file=$srcdir/tests/golden/$1
  shift
  run "$@"
  if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp out "$file"; fi
  cmp -s out "$file"
  result $? "golden $name"
  diff "$file" out | sed 's/^/# /'
}

commands=$("$reallot" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' |
  grep -v '^help$')
[ "${commands//$'\n'/ }" = 'simulate inspect graph plan plot trace calibrate' ]
result $? "the subcommands that the tests below are for"

works --help
works --version
works help
for command in $commands; do
  works help "$command"
  cp out help
  run "$command" --help
  cmp -s help out && grep -q '^Examples:' out
  result $? "help $command is $command --help and has examples"
done

golden help.txt --help
for format in text tsv json; do
  golden inspect-model.$format inspect llama-3-8b.json --format=$format
  golden inspect-workload.$format inspect ppo-llama2-7b.workload \
    --format=$format
done
# A shape whose count is a sum: vocab h (embedding) + layers (4 h^2 + 3 h f +
# 2 h) + h + vocab h = 80 + 2 (256 + 768 + 16) + 8 + 80 = 2248 for h = 8,
# f = 32, vocab = 10: 4 h^2 = 256, 3 h f = 768, 2 h = 16, and tied: no.
echo '{"layers": 2, "hidden": 8, "heads": 2, "ffn": 32, "vocab": 10,
  "gated_mlp": true}' >tiny.json
run inspect tiny.json --format=tsv
[ "$(awk -F'\t' '$1 == "all" { print $2 }' out)" = 2248 ]
result $? "parameters of a tiny model are those counted by hand"

all_work() { # WHAT ARGUMENT... -- FILE...: one test for many files
  local what=$1 bad=0 file
  local -a args=()
  shift
  while [ "$1" != -- ]; do args+=("$1") && shift; done
  shift
  for file; do
    run "${args[@]}" "$file"
    [ "$rc" -eq 0 ] && [ -s out ] && [ ! -s err ] && continue
    echo "# ${file##*/}: $(cat err)"
    bad=1
  done
  result $bad "$what"
}
all_work "inspect every shipped file" inspect -- "$srcdir"/share/models/*.json \
  "$srcdir"/share/{clusters,workloads,plans}/*.* \
  "$srcdir"/traces/profiles/*.profile "$srcdir"/share/systems/*.system
all_work "simulate every shipped plan" simulate -- "$plans"/*.plan
all_work "and at call fidelity" simulate --fidelity=call -- "$plans"/*.plan
all_work "graph of every shipped plan and workload" graph -- \
  "$plans"/*.plan "$srcdir"/share/workloads/*.workload

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
              $at["host_frac"] + $at["bubble_frac"])
    }
    title == "critical_path" { path += $at["time_s"] }
    END { for (t in share) check(t, share[t])
          check("path", path / makespan); if (n < 5) print "only " n " sums" }'
}
bad=0
for file in "$plans"/*.plan; do
  for fidelity in stage call; do
    run simulate "$file" --format=tsv --fidelity=$fidelity
    sums <out | sed "s|^|# ${file##*/}, $fidelity: |" >wrong
    cat wrong
    [ ! -s wrong ] || bad=1
  done
done
result $bad "shares add up to 1 for every shipped plan"
run simulate "$plan" --format=tsv
awk -F'\t' -v OFS='\t' '$1 == "(idle)" { $3 += 0.001 } { print }' out | sums |
  grep -q '^gpu_time sums to 1.001'
result $? "a share that is off by 0.001 is found"

field() { # COLUMN: of the summary in out
  awk -F'\t' -v name="$1" 'NR == 2 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR == 3 { print $at[name] }' out
}
# 8 GPUs at 2.5 USD/gpu/h for an iteration, and twice the price twice that.
run simulate "$plan" --format=tsv --set 'cluster.price=3.6 USD/gpu/h'
awk -v s="$(field iteration_s)" -v usd="$(field usd)" \
  'BEGIN { d = usd - s * 8 * 3.6 / 3600; exit !(d < 1e-9 && d > -1e-9) }'
result $? "the price is iteration x GPUs x price of a GPU hour"

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
for change in '--iterations=2' '--fidelity=call' \
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
# A system that runs the plan: by flag and by key the same, and it is named.
slow=$(print_of "$plan" --system=reallhf-2024.system)
[ "$slow" != "$first" ] &&
  [ "$slow" = "$(print_of "$plan" --set plan.system=reallhf-2024)" ]
result $? "a system profile changes the run, by flag as by key"
run simulate "$plan" --system=reallhf-2024.system
grep -q '^reallhf-2024.system: ReaLHF, 2024, median error on runs not fitted' out
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

# ---- traces and pictures ----------------------------------------------------

run simulate "$plan" --trace a.trace.tsv
"$reallot" simulate --trace=b.trace.tsv "$plan" >/dev/null
[ "$rc" -eq 0 ] && cmp -s a.trace.tsv b.trace.tsv && [ -s a.trace.tsv ]
result $? "--trace writes the same twice"
works trace info a.trace.tsv
works inspect a.trace.tsv --format=json
works trace export --chrome a.trace.tsv
cp out stdout.json
"$reallot" trace export --chrome a.trace.tsv --output=c.json
cmp -s stdout.json c.json
result $? "--output writes what goes to stdout without it"
works plot "$plan"
# A trace keeps nine digits, which may tip a character that two calls share
# equally; at this width none is.
works plot a.trace.tsv --width=79
cp out plot.txt
works plot "$plan" --width=79
# The first two lines are the title, which names the file.
[ "$(sed 1,3d out)" = "$(sed 1,3d plot.txt)" ]
result $? "a plan is plotted as its trace is"
works plot a.trace.tsv --width=60 --from=0 --to='1 s' --title=x
[ "$(awk 'length > w { w = length } END { print w }' out)" -le 60 ]
result $? "the text is no wider than --width"
if command -v gnuplot >/dev/null; then
  "$reallot" plot a.trace.tsv -o t.svg && grep -q '<svg' t.svg && [ -s t.dat ]
  result $? "plot -o t.svg writes a picture and t.dat"
  "$reallot" plot --memory "$plan" --gpu 4 -o m.svg && grep -q '<svg' m.svg &&
    awk -F'\t' 'NR > 2 { for (i = 3; i <= NF; i++) if ($i < $(i - 1)) exit 1 }
      END { exit NR < 1000 }' m.dat
  result $? "plot --memory stacks a GPU's holders"
else
  n=$((n + 1))
  echo "ok $n - plot -o t.svg # SKIP no gnuplot"
fi
run graph "$plan" -o g.dot
[ "$rc" -eq 0 ] && [ ! -s out ] && head -1 g.dot | grep -q '^digraph'
result $? "graph -o g.dot"
run graph "$plan" --dataflow
cp out dataflow.dot
run graph ppo-llama2-7b.workload
cmp -s out dataflow.dot
result $? "graph --dataflow draws the plan's workload"
run graph "$plan" --iterations=1
grep -q it0 out && ! grep -q it1 out || ! grep -q 'iteration 1' out
result $? "graph --iterations=1 draws one iteration"

# ---- plans that are written -------------------------------------------------

# megatron asks no estimator, so its keys depend on no coefficient.
run plan --strategy=megatron --workload=ppo-llama3-70b.workload \
  --cluster=h100-16n.cluster
grep -v '^#' out >keys
golden_plan=$srcdir/tests/golden/megatron.plan
if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp keys "$golden_plan"; fi
cmp -s keys "$golden_plan"
result $? "the keys of a megatron plan"
diff "$golden_plan" keys | sed 's/^/# /'
grep -q '^# Written by: reallot plan --strategy=megatron' out
result $? "a plan says how it was written"
for strategy in colocated interleaving disaggregated megatron real \
  hybridflow; do
  run plan --strategy=$strategy --workload=ppo-llama2-7b.workload \
    --cluster=h100-16n.cluster --set cluster.nodes=4 -o written.plan
  [ "$rc" -eq 0 ] && [ ! -s out ] && [ ! -s err ]
  result $? "plan --strategy=$strategy -o written.plan"
  works simulate written.plan --set cluster.nodes=4
done
mkdir -p own && cp "$srcdir/share/workloads/sft-llama3-8b.workload" own/w.workload
run plan --strategy=hybridflow --workload=own/w.workload \
  --cluster=h100-1n.cluster -o written.plan
grep -q "^workload = /.*/own/w.workload$" written.plan &&
  grep -q '^cluster = h100-1n.cluster$' written.plan
result $? "a plan names files so that they are found from where it is"
works simulate written.plan
run plan --strategy=hybridflow --workload=own/w.workload \
  --cluster=h100-1n.cluster -o own/written.plan
grep -q '^workload = w.workload$' own/written.plan
result $? "and briefly where they stand beside it"
run plan --strategy=megatron --workload=ppo-llama2-7b.workload \
  --cluster=h100-1n.cluster --system=reallhf-2024.system -o written.plan
grep -q '^system = reallhf-2024.system$' written.plan
result $? "and the system that runs it"
works simulate written.plan
run plan --strategy=megatron --workload=ppo-llama3-70b.workload \
  --cluster=h100-1n.cluster -o none.plan
[ "$rc" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e none.plan ] &&
  grep -q '^reallot: megatron: does not fit: ' err
result $? "a plan that does not fit is refused with status 1"
run plan --strategy=colocated --generate-tp=16 \
  --workload=ppo-llama2-7b.workload --cluster=h100-4n.cluster
[ "$rc" -eq 1 ] && [ ! -s out ] &&
  grep -q "in 1 part with tp 16 for 8 GPUs of a node and 32 heads" err
result $? "and one that asks for more tensor parallelism than a node has"

# ---- errors -----------------------------------------------------------------

set_fails() { # MESSAGE CHANGE
  fails "$1" simulate "$plan" --set "$2"
}

fails "expected a command"
fails "unknown command 'simulat', did you mean 'simulate'?" simulat
fails "unknown command 'xyzzyx', try 'reallot --help'" xyzzyx
fails "unknown option '--verison', did you mean '--version'?" --verison
fails "unknown command 'plto', did you mean 'plot'?" help plto
fails "'b' is one argument too many" help plot b

for command in $commands; do
  fails "expected 'reallot $command " "$command"
  fails "one argument too many" "$command" a b c
  fails "unknown option '--hepl', did you mean '--help'?" "$command" --hepl
  fails "unknown option '-Z'" "$command" -Z
done
for flag in --seed --format --iterations --fidelity --set --workload \
  --cluster --profile --system --trace; do
  fails "missing argument for $flag" simulate "$plan" $flag
done
for value in x -1 1.5 '' ' 1' 0x10 18446744073709551616; do
  fails "--seed: '$value' is no whole number from 0" simulate "$plan" \
    "--seed=$value"
done
for value in 0 1001 x -3; do
  fails "--iterations: '$value' is no whole number from 1 to 1000" simulate \
    "$plan" "--iterations=$value"
done
fails "--format: 'jsn' is none of text, tsv, json, did you mean 'json'?" \
  simulate "$plan" --format=jsn
fails "--fidelity: 'op' is none of call, stage" simulate "$plan" --fidelity=op
for flag in --workload --cluster --profile --system --trace; do
  fails "$flag: expected the name of a file" simulate "$plan" $flag=
done
fails "unknown option '--trace'" graph "$plan" --trace=x
fails "unknown option '--seed'" inspect "$plan" --seed=1

set_fails "expected 'GROUP.KEY=VALUE'" x
set_fails "expected 'GROUP.KEY=VALUE', the group is empty" .tp=4
set_fails "expected 'GROUP.KEY=VALUE', the key is empty" 'call x.=4'
set_fails "expected 'GROUP.KEY=VALUE', the value is empty" cluster.nodes=
set_fails "unknown group 'clster', did you mean 'cluster'?" clster.nodes=3
set_fails "unknown group 'xyzzyx', expected workload" xyzzyx.nodes=3
set_fails "'cluster' with a name" 'cluster x.nodes=3'
set_fails "'call' without a name" call.tp=3
set_fails "unknown key 'tq' in [call NAME], did you mean 'tp'?" \
  'call actor_train.tq=4'
set_fails "unknown key 'tp' in [call NAME] of a workload" \
  'workload:call actor_train.tp=4'
set_fails "'format' may be a key of a workload or a plan" \
  'call actor_train.format=1'
set_fails "has no [call actor_trian], did you mean 'actor_train'?" \
  'call actor_trian.tp=4'
set_fails "has no [model actr], did you mean 'actor'?" 'model actr.dtype=fp8'
set_fails "--set 'cluster.nodes=two': 'nodes' is 'two', expected an integer" \
  cluster.nodes=two
set_fails "--set 'cluster.nic=400': " cluster.nic=400
set_fails "--set 'call actor_train.mesh=node[0-99]': 'mesh': " \
  'call actor_train.mesh=node[0-99]'
set_fails "no file 'nosuch.workload'" plan.workload=nosuch.workload
set_fails "no file 'nosuch.json'" 'model actor.config=nosuch.json'
set_fails "no file 'nosuch.profile'" cluster.gpu=nosuch
set_fails "no file 'nosuch.system'" plan.system=nosuch
set_fails "expected one line of UTF-8 without control characters" \
  $'cluster.nodes=3\r4'
fails "changes a cluster, but a workload was given" inspect \
  ppo-llama2-7b.workload --set cluster.nodes=2
fails "--cluster: expected a plan with it, but a workload was given" inspect \
  ppo-llama2-7b.workload --cluster=h100-1n.cluster
fails "--workload: expected a plan with it, but a cluster was given" inspect \
  h100-1n.cluster --workload=x
fails "--profile: expected a plan, a workload or a cluster with it" inspect \
  llama-3-8b.json --profile=x
fails "--system: expected a plan with it, but a cluster was given" inspect \
  h100-1n.cluster --system=x
printf '[system]\nrelease = x\n[constants]\nx = 1\n' >bad.system
fails "bad.system:1: missing key 'derived' in [system]" simulate "$plan" \
  --system=bad.system
fails "bad.system:1: missing key 'derived' in [system]" inspect bad.system
fails "--set: expected a plan with it, but a trace was given" plot a.trace.tsv \
  --set=cluster.nodes=2

# Files that are not there, no files, or of the wrong kind.
fails "no file 'nosuch.plan', expected it at one of 'nosuch.plan'" simulate \
  nosuch.plan
mkdir dir dir.plan
fails "dir: Is a directory" inspect dir
fails "no file 'dir.plan'" simulate dir.plan
for flag in workload cluster profile system; do
  fails "--$flag: no file 'nosuch'" simulate "$plan" --$flag=nosuch
  fails "--$flag: no file 'dir'" simulate "$plan" --$flag=dir
done
fails "nosuch: No such file or directory" inspect nosuch
fails "nosuch.tsv: No such file or directory" plot nosuch.tsv
echo hello >hello
fails "hello: unknown kind of file" inspect hello
: >empty
fails "empty: unknown kind of file" graph empty
for command in simulate plot graph; do
  fails "h100-1n.cluster: " $command "$srcdir/share/clusters/h100-1n.cluster"
done
fails "is a plan, expected a trace" trace info "$plan"
fails "is a workload, expected a plan" simulate \
  "$srcdir/share/workloads/ppo-llama2-7b.workload"
cp "$plan" broken.plan && echo 'tp = 2' >>broken.plan
sed 's/^cluster = .*/cluster = broken.plan/' "$plan" >wrong.plan
fails "broken.plan:" simulate broken.plan
fails "broken.plan:" simulate wrong.plan
head -c 3000 /dev/urandom | tr -d '\n' >noise.plan
fails "noise.plan:1: " simulate noise.plan
printf '# reallot trace 1\nname\n' >bad.tsv
fails "bad.tsv:2: " trace info bad.tsv
printf '{"model_type": "llama"' >bad.json
fails "bad.json:1: " inspect bad.json

fails "'expotr' is none of info, export, did you mean 'export'?" trace expotr \
  a.trace.tsv
fails "expected --chrome" trace export a.trace.tsv
fails "--chrome: only 'trace export' has it" trace info --chrome a.trace.tsv
fails "--output: only 'trace export' has it" trace info a.trace.tsv -o x
fails "--format: only 'trace info' has it" trace export --chrome \
  --format=json a.trace.tsv
fails "expected 'reallot calibrate --from DIR" calibrate -o h100-sxm.profile
fails "neither --gpu nor --output" calibrate --from "$srcdir"
fails "'x' does not name a GPU, expected GPU.profile" calibrate --from . -o x
fails "unknown GPU 'b300', expected one of h100-sxm, " calibrate --from . \
  -o b300.profile
fails '/nonexistent: is no folder, expected one with measurements' \
  calibrate --from /nonexistent --gpu h100-sxm
fails "--width: '0' is no whole number" plot a.trace.tsv --width=0
fails "--height: 'x' is no whole number" plot a.trace.tsv --height=x
fails "--from: 'x' is no time" plot a.trace.tsv --from=x
fails "--to: '1 B' is no time" plot a.trace.tsv --to='1 B'
fails "--to: '1' is not after --from" plot a.trace.tsv --from=2 --to=1
fails "--gpu: expected with --memory" plot "$plan" --gpu 1
fails "--gpu: expected a GPU that some call uses" plot "$plan" --memory \
  --gpu 8 -o new.svg
fails "--memory: expected with --output" plot "$plan" --memory
fails "--iteration: expected without --from" plot a.trace.tsv --iteration=1 \
  --to=3
fails "iteration" plot a.trace.tsv --iteration=99
fails "nothing runs between" plot a.trace.tsv --from=1e8 --to=1.1e8

pair='--workload=ppo-llama2-7b.workload --cluster=h100-1n.cluster'
# shellcheck disable=SC2086 # words are split on purpose
{
  fails "expected 'reallot plan --strategy=NAME" plan $pair
  fails "--strategy: 'colocate' is none of colocated, interleaving" plan $pair \
    --strategy=colocate
  fails "expected --workload and --cluster" plan --strategy=megatron
  fails "--workload: no file 'nosuch'" plan --strategy=megatron \
    --workload=nosuch --cluster=h100-1n.cluster
  fails "--split: '4:x' is no split" plan $pair --strategy=disaggregated \
    --split=4:x
  fails "--split: '4:0' is no split" plan $pair --strategy=disaggregated \
    --split=4:0
  fails "--split: '' is no split" plan $pair --strategy=disaggregated --split=
  fails "--split: 2 numbers, expected 6, actor_generate:" plan \
    --workload=ppo-llama2-7b.workload --cluster=h100-16n.cluster \
    --strategy=disaggregated --split=4:1
  fails "--split: expected --strategy=disaggregated" plan $pair \
    --strategy=real --split=1:1
  fails "--generate-tp: expected --strategy=colocated or interleaving" plan \
    $pair --strategy=real --generate-tp=2
  fails "--generate-tp: '0' is no whole number from 1" plan $pair \
    --strategy=colocated --generate-tp=0
  fails "--fit: expected --strategy=megatron" plan $pair --strategy=real --fit
  fails "changes a plan, expected a change of the workload" plan $pair \
    --strategy=megatron --set 'call actor_train.tp=2'
}

# ---- nothing is written on failure ------------------------------------------

: >before; : >differ
find . -maxdepth 1 | sort >before
fails "no file" simulate nosuch.plan --trace new.tsv
fails "" plot a.trace.tsv -o new.gif
fails "" plot nosuch.tsv -o new.svg
fails "" graph nosuch.plan -o new.dot
fails "" trace export --chrome bad.tsv -o new.json
fails "/nonexistent/x: No such file or directory" simulate "$plan" \
  --trace /nonexistent/x
fails "dir: Is a directory" graph "$plan" -o dir
fails "dir: Is a directory" trace export --chrome a.trace.tsv -o dir
find . -maxdepth 1 | sort | diff before - >differ
[ ! -s differ ]
result $? "failures left no file behind"
sed 's/^/# /' differ
echo old >old.tsv
fails "" simulate "$plan" --set call.tp=3 --trace old.tsv
[ "$(cat old.tsv)" = old ]
result $? "a failure leaves the old file as it was"
if [ -w /dev/full ]; then
  for args in --help --version "simulate $plan" "inspect $plan" "graph $plan" \
    "plot $plan" "trace info a.trace.tsv" "simulate --fingerprint $plan" \
    "trace export --chrome a.trace.tsv" "help plot"; do
    # shellcheck disable=SC2086 # words are split on purpose
    "$reallot" $args >/dev/full 2>err
    [ $? -eq 2 ] && grep -q '^reallot: standard output: ' err
    result $? "a full disk is an error: ${args/#"$srcdir"\//}"
  done
  fails "/dev/full: No space left on device" simulate "$plan" --trace /dev/full
fi
"$reallot" --help >&- 2>err
[ $? -eq 2 ]
result $? "a closed standard output is an error"
{ sleep 0.3; "$reallot" --help 2>err; echo $? >status; } | :
sleep 0.1
[ "$(cat status)" = 2 ] && grep -q '^reallot: standard output: Broken pipe' err
result $? "so is a pipe that nobody reads"

# ---- help, manual and completion agree --------------------------------------

help_options() { # COMMAND
  "$reallot" "$1" --help | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' |
    sort -u
}
man_options() { # COMMAND MAN-PAGE
  awk -v name="$1" '
    /^\.S[SH] / { inside = $0 == ".SS " name; next }
    inside { text = text " " $0 }
    END {
      gsub(/\\-/, "-", text)
      if (text ~ /options that change files/)
        text = text " --set --workload --cluster --profile --system"
      text = text " --help"
      while (match(text, /--[a-z][a-z-]*/)) {
        print substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
      }
    }' "$2" | sort -u
}
completion_options() { # COMMAND
  # shellcheck source=/dev/null
  (. "$srcdir/share/completion/reallot" && _reallot_options "$1") |
    tr -s ' ' '\n' | grep . | sort -u
}
man=$srcdir/share/man/reallot.1
for command in $commands; do
  help_options "$command" >want
  man_options "$command" "$man" | diff want - >differ
  [ ! -s differ ] && [ -s want ]
  result $? "the manual has the options of $command"
  sed 's/^/# /' differ
  completion_options "$command" | diff want - >differ
  [ ! -s differ ]
  result $? "so has the completion"
  sed 's/^/# /' differ
done
# The test itself finds an option that the manual has not.
sed 's/fingerprint/fingerpaint/' "$man" >misspelt
! man_options simulate misspelt | diff -q <(help_options simulate) - >/dev/null
result $? "a misspelt option in the manual is found"
# Options of the section OPTIONS are those that some command has, and a
# description stands for each.
for option in $(for c in $commands; do help_options "$c"; done | sort -u); do
  sed 's/\\-/-/g' "$man" | grep -A1 '^\.TP$' | grep -q -- "$option"
  result $? "the manual describes $option"
done
grep -q "reallot $("$reallot" --version | cut -d' ' -f2)" "$man"
result $? "the manual is of this version"

touch a.plan b.workload
completes() { # WANT WORD...: words up to the cursor
  local want=$1
  shift
  got=$(
    # shellcheck source=/dev/null
    . "$srcdir/share/completion/reallot"
    COMP_WORDS=(reallot "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _reallot
    echo "${COMPREPLY[*]}"
  )
  [ "$got" = "$want" ]
  result $? "completion of: reallot $*"
  [ "$got" = "$want" ] || echo "# got '$got'"
}
completes simulate sim
completes --fingerprint simulate --fin
completes "text tsv" simulate --format = t
completes call simulate --fidelity c
completes a.plan simulate a.p
completes "" simulate b.w
completes b.workload graph b.w
completes export trace e
completes a.trace.tsv trace info a.t
completes a.plan plot --width 3 a.p
completes megatron plan --strategy m
completes b.workload plan --workload b.w

echo "1..$n"
