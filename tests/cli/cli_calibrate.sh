#!/bin/bash
# reallot calibrate from traces: what docs/calibration.md shows.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

profile=$srcdir/traces/profiles/h100-sxm.profile

quiet() { # ARGUMENT...: exit 0; standard error is for notes
  run "$@"
  result "$rc" "reallot ${*/#"$srcdir"\//}"
  [ "$rc" -eq 0 ] || sed 's/^/# /' err
}

# Seconds of an iteration of $plan with profile $1.
iteration() {
  "$reallot" simulate "$plan" --profile "$1" --format=tsv >all &&
    awk -F'\t' '$1 == "plan" { for (i = 1; i <= NF; i++)
        if ($i == "iteration_s") at = i; next }
      at { print $at; exit }' all
}

# |$1 / $2 - 1| <= $3, of numbers.
near() {
  awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN {
    off = a / b - 1; exit !(a > 0 && b > 0 && off <= most && off >= -most) }'
}

works simulate "$plan" --fidelity=op -n 1 --trace a.trace.tsv
quiet calibrate --from a.trace.tsv --merge "$profile" -o merged.profile
grep -q '^reallot: a.trace.tsv: [0-9]* of [0-9]* ops overlapped with others' err
result $? "ops beside others are told of"
grep -q '^reallot: memory.other: has no table, [0-9]* rows ignored' err
result $? "and rows that no table takes"
quiet calibrate --from a.trace.tsv --refit "$profile" -o refitted.profile
grep -q '^reallot: attention: 3 ops do not determine the [0-9]* coefficients' err
result $? "and laws that a trace does not determine"
# A trace of PyTorch's profiler is one, too.
quiet calibrate --from "$srcdir/tests/data/kineto/cuda.json" --merge "$profile" \
  -o kineto.profile
grep -q 'cuda.json: 1 kernels have no law, 3 ops have one' err
result $? "kernels that no law is for are told of"
works inspect kineto.profile
echo '{' >broken.json
fails 'no JSON' calibrate --from broken.json \
  --merge "$profile" -o never.profile
# A log of nccl-tests is one, too: 28 sizes of an all-reduce of 8 GPUs.
logs=$srcdir/tests/data/nccl-tests
quiet calibrate --from "$logs/all_reduce_perf-8.log" --merge "$profile" \
  -o logged.profile
grep -q 'all_reduce_perf-8.log: not of half precision' err
result $? "what a log is of is told"
sed -n '/^\[law all-reduce\]/,/^\[/p' logged.profile |
  grep -q '; and 28 rows of all_reduce_perf-8.log$'
result $? "a log's rows go into the profile"
works inspect logged.profile
# 16 GiB over two nodes are a knot of the shipped table, which has ten digits of
# it: no second one beside it.
quiet calibrate --from "$logs"/all_reduce_perf-*.log --merge "$profile" \
  -o nodes.profile
axis() { sed -n '/^\[table inter-node\]/,/^axis-1/p' "$1" | tail -n 1; }
[ "$(axis nodes.profile)" = "$(axis "$profile")" ]
result $? "sizes beyond ten digits are one knot"
# A shipped profile is found by its name, as everywhere.
cp "$logs/all_reduce_perf-8.log" all_reduce_perf.txt
quiet calibrate --from all_reduce_perf.txt --merge "$profile" -o named.profile &&
  grep -q '; and 28 rows of all_reduce_perf.txt$' named.profile
result $? "a log is known by its table"
quiet calibrate --from "$logs/all_reduce_perf-8.log" --merge h100-sxm.profile \
  -o named.profile
cmp -s named.profile logged.profile
result $? "--merge finds a shipped profile"
head -n 20 "$logs/all_reduce_perf-8.log" | sed '$s/ *[^ ]*$//' >all_reduce_perf.log
fails 'all_reduce_perf.log:20: 12 fields, expected the 13' \
  calibrate --from all_reduce_perf.log --merge "$profile" -o never.profile
works inspect merged.profile
works inspect refitted.profile

# The merged profile has the old laws and more samples; the refitted one others.
law() { sed -n "/^\[law $2\]/,/^\[/p" "$1" | grep "^$3 = "; }
[ "$(law merged.profile gemm.bf16 peak-frac)" = \
  "$(law "$profile" gemm.bf16 peak-frac)" ] &&
  law merged.profile gemm.bf16 source | grep -q '; and 23 rows of a.trace.tsv$' &&
  [ "$(law merged.profile gemm.bf16 rows)" = "rows = $((21546 + 23))" ]
result $? "--merge keeps laws and adds rows"
law refitted.profile gemm.bf16 source |
  grep -q 'source = 23 ops, [0-9]* samples of a.trace.tsv; robust fit' &&
  law refitted.profile gemm.bf16 range | grep -q 'm [0-9]*\.\.[0-9]*; n ' &&
  [ "$(law refitted.profile attention peak-frac)" = \
    "$(law "$profile" attention peak-frac)" ]
result $? "--refit fits what has rows and keeps the rest"

# Both say of the same plan what the profile said that simulated the trace; one
# of a trace in which products take twice their time does not.
old=$(iteration "$profile")
near "$(iteration merged.profile)" "$old" 0.005
result $? "an iteration costs the same with the merged profile"
# A decode step's ops are not in a trace: its products are beyond the new range.
near "$(iteration refitted.profile)" "$old" 0.03
result $? "and nearly with the refitted one"
# (Products alone, in this one: the fits of the other laws are those of above.)
awk -F'\t' -v OFS='\t' '/^#/ || $1 == "name" { print; next }
  $7 != "gemm" { next }
  { t += $10 - $9 }
  { $9 = sprintf("%.9f", $9 + (last == "" ? 0 : late)); late = t
    $10 = sprintf("%.9f", $10 + late); last = $1; print }' \
  a.trace.tsv >slow.trace.tsv
quiet calibrate --from slow.trace.tsv --refit "$profile" -o slow.profile
! near "$(iteration slow.profile)" "$old" 0.05
result $? "products that took twice their time show"

# Twelve products beside communication took half as long again: the overlap law
# says so.  A simulation's ops are as they are alone, so it says nothing of it.
[ "$(law refitted.profile overlap source)" = "$(law "$profile" overlap source)" ]
result $? "a simulated trace leaves the overlap law"
{
  printf '# reallot trace 1\n'
  grep '^name' a.trace.tsv
  awk -v OFS='\t' 'function row(name, stream, op, shape, begin, end) {
      print name, 0, "call", "op", "0", stream, op, shape,
        sprintf("%.9f", begin), sprintf("%.9f", end), 0, 0 }
    BEGIN { gemm = "m=4096,n=4096,k=4096,batch=1"
      row("alone", "compute", "gemm", gemm, 0, 0.002)
      for (t = 1; t <= 12; t++) {
        row("company." t, "dp", "-", "-", t, t + 0.003)
        row("product." t, "compute", "gemm", gemm, t, t + 0.003) } }'
} >beside.trace.tsv
quiet calibrate --from beside.trace.tsv --refit "$profile" -o beside.profile
grep -q 'overlap: product-frac = 0.5, of 12 samples of 1 ops' err &&
  [ "$(law beside.profile overlap product-frac)" = 'product-frac = 0.5' ] &&
  [ "$(law beside.profile overlap memory-frac)" = \
    "$(law "$profile" overlap memory-frac)" ] &&
  [ "$(law beside.profile overlap error-median)" = 'error-median = -' ]
result $? "products beside communication refit the overlap law"

# Two traces, in either order, by flag or behind it, give the same bytes.
cp a.trace.tsv b.trace.tsv
sed -i 's/a.trace/b.trace/' b.trace.tsv
quiet calibrate --from a.trace.tsv --from b.trace.tsv --merge "$profile" \
  -o two.profile
quiet calibrate --from a.trace.tsv b.trace.tsv --merge "$profile" -o also.profile
cmp -s two.profile also.profile
result $? "sources follow --from or repeat it"

# A run's ops count as a simulation's: each rank's products are samples, the
# ranks of a collective are one, and what a task waits for is no op's.
works run ppo-tiny-8.plan -n 1 --trace run.trace.tsv --ops
sed '/^memory-bandwidth = /i fp32 = 989 TFLOP/s' "$profile" >host.profile
quiet calibrate --from run.trace.tsv --merge host.profile -o x.profile
law x.profile all-reduce source | grep -q '; and [0-9]* rows of run.trace.tsv$'
result $? "a run's ops are rows of laws"
awk -F'\t' '$7 == "all_reduce" { n++; where[$1 " " $2] = where[$1 " " $2] " " $5 }
  $7 == "gemm" { products++ }
  END { for (i in where) two += where[i] ~ / .* /
    exit !(n > 0 && products > n && two > 0) }' run.trace.tsv
result $? "every rank of a collective has a row of one name"
rm -f x.profile

# Refused: one line, nothing written.
for flag in --merge --refit; do
  fails "run.trace.tsv: was measured on a host's cores, but" calibrate \
    --from run.trace.tsv $flag "$profile" -o x.profile
done
sed 's/^# backend: host$/# backend: cuda/' run.trace.tsv >gpu.trace.tsv
! cmp -s run.trace.tsv gpu.trace.tsv
result $? "a run's trace names its back end"
cp "$srcdir/tests/data/nccl-tests/all_reduce_perf-8.log" .
for file in gpu.trace.tsv "$srcdir/tests/data/kineto/cuda.json" \
  all_reduce_perf-8.log; do
  for flag in --merge --refit; do
    fails "${file##*/}: was measured on a GPU, but host.profile is a host's" \
      calibrate --from "$file" $flag host.profile -o x.profile
  done
done
quiet calibrate --from gpu.trace.tsv --merge "$profile" -o y.profile
fails '--refit PROFILE or --merge PROFILE' calibrate --from a.trace.tsv -o x.profile
fails '--merge and --refit exclude each other' calibrate --from a.trace.tsv \
  --merge "$profile" --refit "$profile" -o x.profile
fails '--transfer: the laws come from the profile of --refit' calibrate \
  --from a.trace.tsv --refit "$profile" --transfer a40.profile -o x.profile
fails 'missing: neither a folder nor a trace' calibrate --from . \
  --from missing --gpu h100-sxm
works simulate "$plan" -n 1 --trace stage.trace.tsv
fails 'stage.trace.tsv: there is no row with an op' calibrate \
  --from stage.trace.tsv --refit "$profile" -o x.profile
sed '0,/batch=1/s//batch=x/' a.trace.tsv >bad.trace.tsv
line=$(grep -n 'batch=x' bad.trace.tsv | cut -d: -f1)
fails "bad.trace.tsv:$line: the shape of a gemm is" calibrate \
  --from bad.trace.tsv --refit "$profile" -o x.profile
sed 's/^peak-frac = .*/peak-frac = x/' "$profile" >bad.profile
line=$(grep -n 'peak-frac = x' bad.profile | head -n 1 | cut -d: -f1)
fails "bad.profile:$line: 'peak-frac' is 'x'" calibrate --from a.trace.tsv \
  --refit bad.profile -o x.profile
fails "bad.profile:$line: 'peak-frac' is 'x'" calibrate --from a.trace.tsv \
  --merge bad.profile -o x.profile
sed '/^\[law attention\]/,/^$/d; /^\[table attention\]/,/^$/d' "$profile" \
  >part.profile
fails "part.profile: has no law 'attention'" calibrate --from a.trace.tsv \
  --refit part.profile -o x.profile
fails '--ops: expected --trace' run ppo-tiny-8.plan --ops
[ ! -e x.profile ]
result $? "nothing is written"

# Of two profiles of one name a result says which it is from.
mkdir own
cp "$profile" own/h100-sxm.profile
works simulate "$plan" -n 1 --profile own/h100-sxm.profile
grep -q '^h100-sxm.profile in own: held-out median error' out
result $? "the folder of a profile that is not shipped is said"

# What would be measured of a GPU, on a machine without one: within its seconds,
# the sum of its rows; a slower GPU has no more of it done.
works calibrate --backend=cuda --dry-run
awk -F'\t' 'NR == 1 { next } $1 == "all" { all = $4; next } { s += $4 }
  END { exit !(all > 100 && all <= 150 && s - all < 2 && all - s < 2) }' out
result $? "--dry-run: rows add up, to at most 150 s"
cp out full
works calibrate --backend=cuda --dry-run --refit=l4.profile
[ "$(awk -F'\t' '$1 == "all" { print $2 }' out)" -lt \
  "$(awk -F'\t' '$1 == "all" { print $2 }' full)" ]
result $? "--dry-run: a slower GPU has fewer shapes in that time"
works calibrate --backend=cuda --dry-run --quick
[ "$(awk -F'\t' '$1 == "all" { print ($4 <= 20) }' out)" = 1 ]
result $? "--dry-run --quick: at most 20 s"

echo "1..$n"
