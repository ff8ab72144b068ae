#!/bin/bash
# Pages say what the tree prints: every `$` line of docs/studies.md and
# docs/direction.md is run (tests/page_impl.sh), and every bold number of their
# prose is one that a study of its section prints, as far as it is written out.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli_impl.sh"
# shellcheck source=tests/page_impl.sh
. "$srcdir/tests/page_impl.sh"

# Bold numbers of PAGE that no study named in their section prints.
strangers() { # PAGE
  local line number section=none
  while IFS= read -r line; do
    case $line in
      '## '*)
        section=$(sed 's/.*`\(.*\)\.study`.*/\1/; t; s/.*/none/' <<<"$line")
        [ "$section" = none ] || [ -s "$section.all" ] ||
          reallot study "$section.study" --format=tsv |
          grep -v '^#' | tr '\t' '\n' | grep '^[0-9.e+-]*$' >"$section.all"
        continue
        ;;
    esac
    while IFS= read -r number; do
      awk -v said="$number" 'BEGIN {
          gsub(",", "", said)
          digits = index(said, ".") ? length(said) - index(said, ".") : 0
          if (!digits && match(said, /0+$/)) digits = -RLENGTH
          half = 0.51 * 10 ^ -digits }
        function near(x) { return x - said <= half && said - x <= half }
        near($1) || near(100 * $1) || near($1 / 60) { found = 1 }
        END { exit !found }' "$section.all" || echo "$section: $number"
    done < <(grep -o '\*\*[0-9][0-9.,]*' <<<"$line" | tr -d '*')
  done <"$1"
}

for name in studies direction; do
  page=$srcdir/docs/$name.md
  run_page "$page"
  [ "$n_commands" -ge 2 ]
  result $? "$name.md has $n_commands commands"
  same "$page" new.md 0.02
  result $? "$name.md prints what it says"
  sed 's/^/# /' differ
done

# Pictures are of the same numbers: what they are drawn of is beside them.
for name in gpus lengths price failures; do
  works study $name.study --plot=studies-$name.png
  if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then
    cp studies-$name.png studies-$name.dat "$srcdir/docs"
  fi
  same "$srcdir/docs/studies-$name.dat" studies-$name.dat 0.02
  result $? "the picture studies-$name.png is of today"
done

page=$srcdir/docs/studies.md
[ "$(grep -o '\*\*[0-9]' "$page" | wc -l)" -ge 20 ]
result $? "studies.md has bold numbers"
strangers "$page" >strange
[ ! -s strange ]
result $? "which its studies print"
sed 's/^/# /' strange
# A number that is off by a twentieth would be found.
sed '/^## .*gpus.study/,/^## /s/\*\*52\.2/**54.9/' "$page" >off.md
[ "$(strangers off.md)" = "gpus: 54.9" ]
result $? "a wrong number would be found"

echo "1..$n"
