#!/bin/bash
# The tutorial does what it says: every `$` line is run, and what it prints is
# compared with what stands below it: the same words, numbers within a fifth.
# RA_GOLDEN_UPDATE=yes writes the page anew.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli_impl.sh"

page=$srcdir/docs/tutorial.md
PATH=$builddir:$PATH
export PATH XDG_CACHE_HOME=$tmp/cache

# Writes the page as it would be today to new.md.
n_commands=0
printing=no
while IFS= read -r line; do
  case $line in
    '    $ '*)
      printing=yes
      n_commands=$((n_commands + 1))
      printf '%s\n' "$line" >>new.md
      bash -c "${line#    $ }" >block 2>errors </dev/null
      [ ! -s errors ]
      result $? "tutorial: ${line#    $ }"
      sed 's/^/# /' errors
      grep . block | sed 's/^/    /; s/ *$//' >>new.md
      ;;
    '    '*) [ $printing = yes ] || printf '%s\n' "$line" >>new.md ;;
    *)
      printing=no
      printf '%s\n' "$line" >>new.md
      ;;
  esac
done <"$page"
[ $n_commands -ge 10 ]
result $? "it has $n_commands commands"
if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp new.md "$page"; fi

words() { sed 's/[0-9][0-9.]*/N/g; s/  *-*  */ /g; s/--*/-/g' "$1"; }
numbers() { grep -o '[0-9][0-9.]*[0-9]\|[0-9]' "$1"; }
same() { # FILE: is like the page
  diff <(words "$page") <(words "$1") >differ || return 1
  paste <(numbers "$page") <(numbers "$1") |
    awk '{ off = $1 - $2; if (off < 0) off = -off
      if (off > 0.2 * $1 + 1e-9) { print "# " $0; bad = 1 } } END { exit bad }'
}
same new.md
result $? "and prints what the page says"
sed 's/^/# /' differ
# A number that is off by a half, and a word that is another, would be found.
sed 's/^\(      iteration *\)\([0-9.]*\)/\199\2/' new.md >off.md
! same off.md >/dev/null
result $? "a wrong number would be found"
sed 's/The knee/The nail/' new.md >off.md
! same off.md >/dev/null
result $? "a wrong word would be found"

echo "1..$n"
