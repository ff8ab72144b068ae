#!/bin/bash
# What the tests of pages share: tests/docs/tutorial.sh and tests/docs/pages.sh source it
# after tests/cli/cli_impl.sh.
#
# A page does what it says: every `$` line of it is run, and what that prints is
# compared with what stands below it: the same words, numbers within a part.
# RA_GOLDEN_UPDATE=yes writes the page anew.
PATH=$builddir:$PATH
export PATH XDG_CACHE_HOME=$tmp/cache

# Writes the page as it would be today to new.md.
run_page() { # PAGE
  local printing=no line
  n_commands=0
  rm -f new.md
  while IFS= read -r line; do
    case $line in
      '    $ '*)
        printing=yes
        n_commands=$((n_commands + 1))
        printf '%s\n' "$line" >>new.md
        bash -c "${line#    $ }" >block 2>errors </dev/null
        [ ! -s errors ]
        result $? "${1##*/}: ${line#    $ }"
        sed 's/^/# /' errors
        grep . block | sed 's/^/    /; s/ *$//' >>new.md
        ;;
      '    '*) [ $printing = yes ] || printf '%s\n' "$line" >>new.md ;;
      *)
        printing=no
        printf '%s\n' "$line" >>new.md
        ;;
    esac
  done <"$1"
  if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp new.md "$1"; fi
}

words() { sed 's/[0-9][0-9.]*/N/g; s/  *-*  */ /g; s/--*/-/g' "$1"; }
numbers() { grep -o '[0-9][0-9.]*[0-9]\|[0-9]' "$1"; }
same() { # PAGE FILE PART: FILE is like PAGE, numbers within PART
  diff <(words "$1") <(words "$2") >differ || return 1
  paste <(numbers "$1") <(numbers "$2") |
    awk -v part="$3" '{ off = $1 - $2; if (off < 0) off = -off
      if (off > part * $1 + 1e-9) { print "# " $0; bad = 1 } } END { exit bad }'
}
