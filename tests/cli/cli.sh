#!/bin/bash
# The command line: every subcommand, format, picture; help, manual and
# completion agree.  What depends on a profile's coefficients (times) is never
# golden: cli_simulate.sh has sums and runs that must be equal instead.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# ---- what must go well ------------------------------------------------------

[ "${commands//$'\n'/ }" = 'simulate inspect graph plan search study plot trace calibrate validate run compare import export report new list keys tune diff' ]
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

# Every file that is shipped is listed, under the name by which it is found.
listed() { # KIND FOLDER ENDING PRINTED-ENDING
  works list "$1" --format=tsv
  (cd "$2" && ls -- *"$3") | sed "s/$3\$/$4/" | LC_ALL=C sort >want
  sed 1,2d out | cut -f 1 | grep . | LC_ALL=C sort >names
  if [ "$1" = models ]; then comm -23 want names >missing
  else LC_ALL=C comm -3 want names >missing; fi
  [ -s want ] && [ ! -s missing ]
  result $? "list $1"
}
share=$srcdir/share
listed gpus "$srcdir/traces/profiles" .profile ''
listed models "$share/models" .json .json
listed clusters "$share/clusters" .cluster .cluster
listed workloads "$share/workloads" .workload .workload
listed plans "$share/plans" .plan .plan
listed studies "$share/studies" .study .study
listed systems "$share/systems" .system .system
mkdir -p mine/clusters
sed 's,^price .*,price = 9 USD/gpu/h,' "$share/clusters/h100-1n.cluster" \
  >mine/clusters/h100-1n.cluster
cp mine/clusters/h100-1n.cluster mine/clusters/zz.cluster
RA_DATA_PATH=$PWD/mine:$RA_DATA_PATH run list clusters --format=tsv
[ "$(awk -F'\t' '$1 == "h100-1n.cluster" || $1 == "zz.cluster" {
  print $1, $5 }' out | tr '\n' ' ')" = 'h100-1n.cluster 9 zz.cluster 9 ' ]
result $? "a file of RA_DATA_PATH hides the shipped one of its name"

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
all_work "and with flows" simulate --network=flows --iterations=1 -- \
  "$plans"/*-128*.plan "$plans"/*-8*.plan
all_work "and at op fidelity" simulate --fidelity=op -- "$plans"/*.plan
all_work "graph of every shipped plan and workload" graph -- \
  "$plans"/*.plan "$srcdir"/share/workloads/*.workload

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

# The critical path of a plan is its whole run: in the data each stretch begins
# where the last one ends, to the end of the run.  A trace does not know it.
path_holds() { # FILE
  awk -F'\t' '/^#/ || $1 == "lane" { next } $7 > last { last = $7 }
    $3 == "path" { gaps += n++ ? $6 - end > 1e-8 : $6 > 1e-8; end = $7 }
    END { exit !(n > 1 && !gaps && end == last) }' "$1"
}
run plot "$plan" --data=path.dat
path_holds path.dat
result $? "plot marks the critical path of a plan"
awk -F'\t' '$3 == "path" && n++ == 1 { next } { print }' path.dat >gap.dat
! path_holds gap.dat
result $? "a gap in it would be found"
run plot a.trace.tsv --data=t.dat
[ "$rc" -eq 0 ] && ! grep -q '	path	' t.dat
result $? "a trace has none"
rm -f t.dat
if command -v gnuplot >/dev/null; then
  "$reallot" plot a.trace.tsv -o t.svg && grep -q '<svg' t.svg && [ -s t.dat ]
  result $? "plot -o t.svg writes a picture and t.dat"
  run plot "$plan" -o path.svg
  [ "$rc" -eq 0 ] && grep -q '>critical path</text>' path.svg &&
    ! grep -q '>critical path</text>' t.svg
  result $? "a picture of a plan names the critical path in its legend"
  "$reallot" plot --memory "$plan" --gpu 4 -o m.svg && grep -q '<svg' m.svg &&
    awk -F'\t' 'NR > 2 { for (i = 3; i <= NF; i++) if ($i < $(i - 1)) bad = 1 }
      END { exit bad || NR < 1000 }' m.dat
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
run graph "$plan" --iterations=2
grep -q 'iteration 0' out && grep -q 'iteration 1' out
result $? "graph --iterations=2 draws two iterations"
run graph "$plan" --iterations=1
grep -q 'iteration 0' out && ! grep -q 'iteration 1' out
result $? "graph --iterations=1 draws one"

# ---- help, manual and completion agree --------------------------------------

help_options() { # COMMAND
  "$reallot" "$1" --help | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' |
    sort -u
}
man_options() { # MAN-PAGE: options that have an item of their own
  sed 's/\\f.//g; s/\\-/-/g' "$1" | sed -n '/^\.TP$/{n;p;}' |
    grep -o -- '--[a-z][a-z-]*' | sort -u
}
completion_options() { # COMMAND
  # shellcheck source=/dev/null
  (. "$srcdir/share/completion/reallot" && _reallot_options "$1") |
    tr -s ' ' '\n' | grep . | sort -u
}
man=$srcdir/share/man
for command in $commands; do
  help_options "$command" >want
  man_options "$man/reallot-$command.1" | diff want - >differ
  [ ! -s differ ] && [ -s want ]
  result $? "the page of $command has its options"
  sed 's/^/# /' differ
  completion_options "$command" | diff want - >differ
  [ ! -s differ ]
  result $? "so has the completion"
  sed 's/^/# /' differ
  grep -q "^\\\\fB$command\\\\fP$" "$man/reallot.1"
  result $? "reallot(1) lists $command"
done
# The test itself finds an option that a page has not.
sed 's/fingerprint/fingerpaint/' "$man/reallot-simulate.1" >misspelt
! man_options misspelt | diff -q <(help_options simulate) - >/dev/null
result $? "a misspelt option in a page is found"
version=$("$reallot" --version | cut -d' ' -f2)
for page in "$man"/*.[15]; do
  grep -q "^\.TH .* \"reallot $version\"" "$page"
  result $? "${page##*/} is of this version"
  if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww "$page" >rendered 2>warnings
    [ -s rendered ] && [ ! -s warnings ]
    result $? "${page##*/} renders without a warning"
    sed 's/^/# /' warnings
  else
    n=$((n + 1))
    echo "ok $n - ${page##*/} renders # SKIP no groff"
  fi
done
# Every key has an item in reallot-files(5), in the section of its kind; format
# is described for all files at once.
man_keys() { # KIND MAN-PAGE
  sed 's/\\f.//g; s/\\-/-/g' "$2" |
    awk -v kind="(.$1)" '/^\.SH / { inside = index($0, kind) > 0 }
      inside && tag { print; tag = 0 } /^\.TP$/ { tag = 1 }' |
    tr -s ', ' '\n' | sort -u
}
for kind in workload cluster plan study system profile; do
  "$reallot" keys "$kind" --format=tsv | awk -F'\t' '/^#/ { head = 1; next }
    head { head = 0; next } NF { print $1 }' | grep -v '^format$' | sort -u >keys
  man_keys "$kind" "$man/reallot-files.5" | comm -23 keys - >missing
  [ -s keys ] && [ ! -s missing ]
  result $? "reallot-files(5) has the keys of a $kind"
  sed 's/^/# /' missing
done
sed 's/trip..prompts/trap/' "$man/reallot-files.5" >misspelt
! man_keys workload misspelt | grep -qx trip-prompts
result $? "a key that the page lacks is found"

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
completes op simulate --fidelity o
completes flows simulate --network = f
completes "reallot real" simulate --estimator = rea
completes a.plan simulate a.p
completes "" simulate b.w
completes b.workload graph b.w
completes export trace e
completes a.trace.tsv trace info a.t
completes a.plan plot --width 3 a.p
completes megatron plan --strategy m
completes b.workload plan --workload b.w
reallot() { "$reallot" "$@"; } # names and keys are those that it lists
completes "gb200 gb300" new --gpu = gb
completes qwen2.5-32b.json new --model = qwen2.5-32
completes "dpo-llama3-70b-128.plan dpo-tiny-4.plan" simulate dpo
completes cluster.nodes= simulate --set cluster.nod
completes plan. simulate --set pl
# fish and zsh read the help: what they offer is what it has.
if command -v fish >/dev/null; then
  mkdir -p bin && ln -sf "$reallot" bin/reallot
  for words in "sim:simulate" "plan --strat:--strategy" "new --gpu gb3:gb300"; do
    PATH=$PWD/bin:$PATH fish --no-config -c "source '$srcdir/share/completion/reallot.fish'
      complete -C 'reallot ${words%%:*}'" 2>/dev/null | cut -f1 | grep -qx -e "${words#*:}"
    result $? "fish completes reallot ${words%%:*}"
  done
fi
if command -v zsh >/dev/null; then
  zsh -n "$srcdir/share/completion/_reallot"
  result $? "zsh reads its completion"
fi

echo "1..$n"
