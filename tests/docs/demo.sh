#!/bin/bash
# `./bootstrap demo` shows what README.md says of it, without its build: the
# commands that it shows are taken from its text and run on the programs of the
# build folder.  .ci/run runs it whole.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

mkdir demo build
ln -s "$reallot" build/reallot
ln -s "$srcdir/share" share

# The lines of demo() that show a command, continued ones joined.
sed -n '/^demo() {/,/^}/p' "$srcdir/bootstrap" |
  sed -e :a -e '/\\$/{N;s/\\\n *//;ba' -e '}' |
  sed -n 's/^ *shown //p' >commands
[ "$(wc -l <commands)" -eq 3 ]
result $? "the demo shows three commands"
while IFS= read -r line; do
  case $line in build/reallot\ *) ;; *) false ;; esac &&
    bash -c "$line" >>shown 2>errors </dev/null && [ ! -s errors ]
  result $? "$line"
  sed 's/^/# /' errors
done <commands
for file in ppo.trace.tsv ppo.svg ppo.png; do
  [ -s demo/$file ]
  result $? "it leaves demo/$file"
done
says() { # FILE: an iteration takes as long, rounded
  local s
  s=$(sed -n 's/^  iteration  *\([0-9.]*\) s.*/\1/p' "$1")
  [ -n "$s" ] && grep -q "goes ($(printf %.0f "$s") s on 128" "$srcdir/README.md"
}
says shown
result $? "an iteration as README.md says"
sed 's/^\(  iteration *\)/\19/' shown >off
! says off
result $? "another would be found"

echo "1..$n"
