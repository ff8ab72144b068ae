#!/bin/bash
# Pages say what the tree prints: every `$` line of docs/studies.md,
# docs/direction.md and docs/faq.md is run (tests/docs/page_impl.sh), and every bold
# number of the studies' prose is one that a study of its section prints, as far
# as it is written out.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"
# shellcheck source=tests/docs/page_impl.sh
. "$srcdir/tests/docs/page_impl.sh"

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

for name in studies direction faq; do
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

# Every shipped study has an answer, and asks for nothing that is not there:
# no point is a fault of a file.  Their points are those that the pages have run.
for study in "$srcdir"/share/studies/*.study; do
  run study "$study" --format=tsv
  grep -q '^# answer$' out && grep -q '^# points$' out && [ "$rc" -eq 0 ] &&
    [ ! -s err ] && ! grep -q -e '--set' out
  result $? "study ${study##*/} has an answer"
  cat err
  grep -e '--set' out | head -3 | sed 's/^/# /'
done

# Between 16K and 24K the best family changes: points between are run, and the
# place is within the two that are next to it.
works study lengths.study --format=tsv
awk -F'\t' '/^# / { table = $2 == "" ? $1 : $2; at = substr($0, 3); next }
  at == "points" && $1 == "hybridflow" { n++; bad += $2 + 0 <= last
    last = $2 + 0 }
  at == "answer" && $1 + 0 > 8 { found++; bad += $1 + 0 <= before
    before = $1 + 0 }
  END { exit !(n > 4 && found > 0 && bad == 0) }' out
result $? "crossovers are looked for between values"
sed 's/^question.*/&\nbisect = 0/' "$srcdir/share/studies/lengths.study" >no.study
works study no.study --format=tsv
[ "$(grep -c "^hybridflow" out)" -eq 4 ]
result $? "bisect = 0 does not look"

page=$srcdir/docs/studies.md
[ "$(grep -o '\*\*[0-9]' "$page" | wc -l)" -ge 20 ]
result $? "studies.md has bold numbers"
strangers "$page" >strange
[ ! -s strange ]
result $? "which its studies print"
sed 's/^/# /' strange
# A number that is off by a twentieth would be found.
sed '/^## .*gpus.study/,/^## /s/\*\*48\.6/**51.0/' "$page" >off.md
[ "$(strangers off.md)" = "gpus: 51.0" ]
result $? "a wrong number would be found"

echo "1..$n"
