#!/bin/bash
# The command line: every subcommand, format, picture; help, manual and
# completion agree.  What depends on a profile's coefficients (times) is never
# golden: cli_simulate.sh has sums and runs that must be equal instead.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# ---- what must go well ------------------------------------------------------

[ "${commands//$'\n'/ }" = 'simulate inspect graph plan search study plot trace calibrate validate run compare import export report new keys' ]
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
if command -v gnuplot >/dev/null; then
  "$reallot" plot a.trace.tsv -o t.svg && grep -q '<svg' t.svg && [ -s t.dat ]
  result $? "plot -o t.svg writes a picture and t.dat"
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

echo "1..$n"
