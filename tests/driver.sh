#!/bin/sh
# driver.sh TAP-DRIVER OPTION... -- TEST: automake's TAP driver, which also
# writes what the test cost behind its results: `:cpu-seconds:` of all its
# processes and `:wall-seconds:` in the .trs file (tests/times.sh reads them).
driver=$1
shift
trs=
previous=
for argument; do
  [ "$previous" != --trs-file ] || trs=$argument
  previous=$argument
done

begin=$(date +%s.%N)
"${SHELL:-/bin/sh}" "$driver" "$@"
status=$?
# The second line of times: user and system seconds of children.  In a pipe it
# would count those of a subshell.
times >"$trs.tmp"
date +%s.%N >>"$trs.tmp"
awk -v begin="$begin" '
  function seconds(text) {
    split(text, part, /[ms]/)
    return 60 * part[1] + part[2]
  }
  NR == 2 { cpu = seconds($1) + seconds($2) }
  NR == 3 { printf ":cpu-seconds: %.1f\n:wall-seconds: %.1f\n", cpu, $1 - begin }
' "$trs.tmp" >>"$trs"
rm -f "$trs.tmp"
exit $status
