#!/bin/bash
# Reports: one file with everything in it, which a browser shows.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

run report "$plan" -o r.html
[ "$rc" -eq 0 ] && [ ! -s out ] && [ ! -s err ] && [ -s r.html ]
result $? "report writes a file and nothing else"
for section in Timeline 'Where GPU time goes' 'Memory by component' \
  Sensitivity 'Placement strategies' Tables 'Model errors and inputs'; do
  grep -q "<h2>$section" r.html
  result $? "it has: $section"
done
[ "$(grep -c '<svg' r.html)" -eq 4 ] && [ "$(grep -c '</svg>' r.html)" -eq 4 ]
result $? "four pictures"
self_contained() { ! grep -qE '<(script|link|img|iframe)|src=|href=|url\(' "$1"; }
self_contained r.html
result $? "nothing is fetched"
sed 's|</body>|<img src="x.png"></body>|' r.html >fetching.html
! self_contained fetching.html
result $? "a picture that is fetched would be found"
[ "$(grep -c '<title>' r.html)" -gt 100 ]
result $? "boxes say what they are"

# The critical path is the step, without a gap: its lines begin where the one
# before ends, to the 4 digits of a title, and there is more than one call on it.
path_holds() { # FILE
  sed -n 's/.*<title>critical path: \([^,]*\), \([0-9.e+-]*\) to \([0-9.e+-]*\) s<.*/\1 \2 \3/p' "$1" |
    awk '{ calls += $1 != call; call = $1; if (NR > 1 && $2 != end) gaps++
        end = $3 } END { exit !(NR > 1 && calls > 1 && !gaps) }'
}
path_holds r.html
result $? "the critical path is marked"
awk '/<title>critical path/ && n++ == 2 { next } { print }' r.html >gap.html
! path_holds gap.html
result $? "a gap in it would be found"

# The time is the one that simulate says (4 digits of it).
want=$("$reallot" simulate "$plan" --format=tsv |
  awk -F'\t' 'on == 1 { for (i = 1; i <= NF; i++) if ($i == "iteration_s") c = i
      on = 2; next } on == 2 { printf "%.4g", $c; exit }
    /^# summary$/ { on = 1 }')
[ -n "$want" ] && grep -q "this plan</b></td><td>$want</td>" r.html
result $? "an iteration takes what simulate says: $want s"
# How many replays stand behind it: the unchanged plan, two a resource or, for
# stragglers, one and the unchanged plan at op fidelity, and one a GPU.
grep -q '>One replay of 3 iterations with seed 0; an iteration is the mean of 2\.<' r.html
result $? "it says what an iteration is the mean of"
replays=$("$reallot" simulate "$plan" --sensitivity --format=tsv |
  awk -F'\t' '/^#/ { part = $0; head = 1; next } head { head = 0; next }
    part == "# sensitivity" || part == "# gpus" { n += 1 + (part != "# gpus") }
    END { print n + 1 }')
[ "$replays" -gt 20 ] && grep -q " rest on $replays replays" r.html
result $? "its sensitivities rest on $replays replays"
"$reallot" report "$plan" -n 4 --seed=7 |
  grep -q '>One replay of 4 iterations with seed 7; an iteration is the mean of 3\.<'
result $? "and of another run"
for family in colocated interleaving disaggregated megatron real hybridflow; do
  grep -q "<tr><td>$family</td>" r.html
  result $? "it has the family $family"
done
grep -qF 'cluster = h100-1n.cluster' r.html && grep -qF 'gpus-per-node = 8' r.html
result $? "and the text of the inputs"
"$reallot" report "$plan" --threads=1 | cmp -s - r.html
result $? "the same again from one thread"

browser=$(command -v chromium || command -v chromium-browser)
if [ -n "$browser" ]; then
  HOME=$tmp timeout 120 "$browser" --headless --no-sandbox --disable-gpu \
    --window-size=1120,3000 --screenshot="$tmp/r.png" "file://$tmp/r.html" \
    >browser.log 2>&1
  # A page of white alone compresses to next to nothing.
  [ -s r.png ] && [ "$(wc -c <r.png)" -gt 50000 ]
  result $? "a browser draws it"
  HOME=$tmp timeout 120 "$browser" --headless --no-sandbox --disable-gpu \
    --dump-dom "file://$tmp/r.html" >dom.html 2>browser.log
  [ "$(grep -c '<rect' dom.html)" -eq "$(grep -c '<rect' r.html)" ] &&
    ! grep -q 'parsererror' dom.html
  result $? "and has every box that was written"
else
  for what in "a browser draws it" "and has every box that was written"; do
    n=$((n + 1))
    echo "ok $n - $what # SKIP no chromium"
  done
fi
# On a narrow window charts and tables scroll in boxes of their own.
[ "$(grep -c '<div class="chart"><svg' r.html)" -eq 4 ] &&
  [ "$(grep -c '</svg></div>' r.html)" -eq 4 ] &&
  grep -q 'max-width:640px.*padding' r.html &&
  grep -q 'table{display:block;overflow-x:auto}' r.html
result $? "a page of 420 pixels has charts and tables that scroll"
fails 'expected a plan' report llama-3-8b.json

echo "1..$n"
