#!/bin/bash
# README.md does what it says: every command of an indented line is run as it
# stands, in a copy of the place that it is written for, and what it shows below
# a `$` line, up to `...`, is in what is printed, numbers within 2 %; figures of
# the demo's plan in the text are those of the plan.  `./bootstrap demo` and
# `check` build; .ci/run and the demo's own test run them.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"
# shellcheck source=tests/docs/page_impl.sh
. "$srcdir/tests/docs/page_impl.sh"

page=$srcdir/README.md
mkdir build demo
ln -s "$builddir"/reallot build/
ln -s "$srcdir"/share share

# Every line of FILE, in order, in the output; numbers within 2 %.
shows() { # FILE OUTPUT
  words "$1" | sed 's/^ *//' >said
  words "$2" | sed 's/^ *//' | grep -F -x -f said >printed
  [ -s said ] && cmp -s said printed || return 1
  words "$2" | sed 's/^ *//' | grep -n -F -x -f said | cut -d: -f1 |
    sed 's/$/p/' >lines
  sed -n -f lines "$2" >shown
  paste <(numbers "$1") <(numbers shown) | awk '{ off = $1 - $2
    if (off < 0) off = -off
    if (off > 0.02 * $1 + 1e-9) { print "# " $0; bad = 1 } } END { exit bad }'
}

n_run=0
run_line() { # COMMAND STATUS
  n_run=$((n_run + 1))
  bash -c "$1" >block 2>errors </dev/null
  [ $? -eq "$2" ] && [ -s block -o "${1/ -o /}" != "$1" ] && [ ! -s errors ]
  result $? "README: $1"
  sed 's/^/# /' errors
}

command=none
: >below
while IFS= read -r line; do
  case $line in
    '    $ build/'*)
      command=${line#    $ }
      : >below
      ;;
    '    build/reallot '*) run_line "${line#    }" 0 ;;
    '    ...') ;;
    '    '*) [ "$command" = none ] || printf '%s\n' "${line#    }" >>below ;;
    *)
      if [ "$command" != none ]; then
        run_line "$command" 1
        cp below example
        cp block example.out
        shows below block
        result $? "and shows what the page has below it"
      fi
      command=none
      ;;
  esac
done <"$page"
[ $n_run -ge 3 ]
result $? "README has $n_run commands"
sed 's/86\.0/95.0/' example >wrong
! shows wrong example.out >/dev/null
result $? "a wrong number would be found"
sed 's/does not fit/does fit/' example >wrong
! shows wrong example.out >/dev/null
result $? "a wrong word would be found"

# (37 s on 128 GPUs), 72 of 80 GiB: of the demo's plan.
run simulate "$plans/ppo-llama3-70b-128.plan"
iteration=$(sed -n 's/^ *iteration  *\([0-9.]*\) s.*/\1/p' out | head -1)
memory=$(sed -n 's/.* \([0-9.]*\) of 80\.0 GiB.*/\1/p' out | head -1)
grep -q "goes ($(printf %.0f "$iteration") s on 128 GPUs)" "$page" &&
  tr '\n' ' ' <"$page" | grep -q "holds ($(printf %.0f "$memory") of 80 GiB)"
result $? "the demo: $iteration s, $memory GiB"

# Errors of B200, H200 and GB200: the least and the largest median of the three,
# as docs/validation.md has them, which a command makes.
medians() { # LEVEL...: "1.2 to 1.7 %"
  awk -F' *[|] *' -v levels="$*" '
    BEGIN { split(levels, list, " "); for (i in list) wanted["`" list[i] "`"] = 1 }
    /^## / { on = $0 == "## Rows held out of the fit" }
    on && $2 in wanted && $3 ~ /^(b200|h200|gb200)$/ && $5 ~ / %$/ {
      if (low == "" || $5 + 0 < low) low = $5 + 0
      if ($5 + 0 > high) high = $5 + 0 }
    END { printf "%.1f to %.1f %%", low, high }' "$srcdir/docs/validation.md"
}
of_siblings() { # FILE
  grep -qF "$(medians gemm-bf16); $(medians attention-prefill \
    attention-decode); $(medians collectives) |" "$1"
}
of_siblings "$page"
result $? "medians of B200, H200 and GB200 are those of docs/validation.md"
sed '/^| B200, H200/s/[0-9]\.[0-9] %/9.9 %/' "$page" >wrong
! of_siblings wrong
result $? "another would be found"

echo "1..$n"
