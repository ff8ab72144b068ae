#!/bin/sh
# floors.sh [TREE]: does every file of TREE (default $srcdir) keep to its floor?
#
# TAP, one test a rule; what breaks a rule is listed as FILE:LINE: above its
# `not ok`.  floors_selftest.sh shows that each rule can fail.
set -u

tree=${1:-${srcdir:-.}}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tree" || exit 99

# FOLDER:FLOOR:ROOMS.  Floors, lowest first; folders of one floor do not include
# each other.  Rooms of a folder, lowest first; "." is the folder itself.
floors='base:0:. graph:1:input,op,augment,rollout,expand,memory traces:2:.
  estimator:3:.,calibrate kernels:3:cpu,. sim:4:network,generate,.
  exec:4:backend,comm,model,weights,measure,. search:5:family,space,evaluate,.
  study:6:machine,shell,convert,.,run,validate,contest,sweep,plot,report cli:7:.
  bench:9:.,gpu
  tests:9:.,attack,support,emulator,double,device,fuzz,mpi,base,graph,traces,estimator,kernels,sim,exec,search,study'

files=$(for floor in $floors; do
  find "${floor%%:*}" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null
done | LC_ALL=C sort)

# One line per line of code: FILE:LINE:CODE, without comments, and with string
# and character literals emptied except in #include lines.
# shellcheck disable=SC2086
LC_ALL=C awk '
  FNR == 1 { inside = 0 }
  {
    out = ""; rest = $0
    if (!inside && rest ~ /^[ \t]*#[ \t]*include/) {
      sub(/\/\*.*/, "", rest)
      print FILENAME ":" FNR ":" rest
      next
    }
    while (rest != "") {
      if (inside) {
        end = index(rest, "*/")
        if (!end) break
        rest = substr(rest, end + 2); inside = 0
      } else if (match(rest, /"([^"\\]|\\.)*"|'"'"'([^'"'"'\\]|\\.)*'"'"'|\/\*|\/\//)) {
        found = substr(rest, RSTART, RLENGTH)
        out = out substr(rest, 1, RSTART - 1)
        rest = substr(rest, RSTART + RLENGTH)
        if (found == "//") break
        if (found == "/*") { inside = 1; out = out " " }
        else out = out substr(found, 1, 1) substr(found, 1, 1)
      } else { out = out rest; break }
    }
    if (out != "") print FILENAME ":" FNR ":" out
  }' $files /dev/null >"$tmp/code"

# Prints what breaks the rule, if anything; the last line of a rule.
n=0
rule() {
  n=$((n + 1))
  if [ -s "$tmp/found" ]; then
    sed -n '1,20s/^/# /p' "$tmp/found"
    sed -n '$=' "$tmp/found" |
      awk '$1 > 20 { print "# ... and " $1 - 20 " more" }'
    echo "not ok $n - $1"
    status=1
  else
    echo "ok $n - $1"
  fi
}
status=0

# A word of C: not part of a longer name.
calls() { echo "(^|[^A-Za-z0-9_])($1)[ ]*\\("; }
words() { echo "(^|[^A-Za-z0-9_])($1)([^A-Za-z0-9_]|\$)"; }

echo "1..22"

grep -E '^[^:]*:[0-9]*:[[:space:]]*#[[:space:]]*include' "$tmp/code" \
  >"$tmp/includes"

awk -F'"' -v floors="$floors" '
  BEGIN {
    n = split(floors, pairs, /[ \n]+/)
    for (i = 1; i <= n; i++) {
      split(pairs[i], pair, ":"); level[pair[1]] = pair[2]
    }
  }
  NF > 1 && $2 ~ /^[^.].*\// {
    own = $1; sub(/\/.*/, "", own)
    to = $2; sub(/\/.*/, "", to)
    if (to == own || level[own] == 9 && to in level) next
    if (!(to in level) || level[to] >= level[own]) print
  }' "$tmp/includes" >"$tmp/found"
rule "a folder includes itself and lower floors only"

# The rooms of bench and tests stand outside of the order.
awk -F'"' -v floors="$floors" '
  function room(path) {
    sub(/:.*/, "", path); sub(/^[a-z]+\//, "", path)
    return sub(/\/.*/, "", path) ? path : "."
  }
  BEGIN {
    n = split(floors, triples, /[ \n]+/)
    for (i = 1; i <= n; i++) {
      split(triples[i], triple, ":"); k = split(triple[3], rooms, ",")
      for (j = 1; triple[2] < 9 && j <= k; j++)
        order[triple[1] "/" rooms[j]] = j
    }
  }
  NF > 1 && $2 ~ /^[^.].*\// {
    own = $1; sub(/\/.*/, "", own)
    to = $2; sub(/\/.*/, "", to)
    if (to == own && order[to "/" room($2)] > order[own "/" room($1)]) print
  }' "$tmp/includes" >"$tmp/found"
rule "a room includes itself and lower rooms of its folder only"

folders=$(for file in $files; do echo "${file%/*}"; done | LC_ALL=C sort -u)
echo "$folders" | awk -v floors="$floors" '
  BEGIN {
    n = split(floors, triples, /[ \n]+/)
    for (i = 1; i <= n; i++) {
      split(triples[i], triple, ":"); k = split(triple[3], rooms, ",")
      for (j = 1; j <= k; j++)
        known[triple[1] (rooms[j] == "." ? "" : "/" rooms[j])] = 1
    }
  }
  !($1 in known) { print $1 ":1: a room without a place in the order" }
' >"$tmp/found"
rule "every room has its place in the order"

for folder in $folders; do
  n_files=$(find "$folder" -maxdepth 1 -type f | wc -l)
  [ "$n_files" -le 60 ] || echo "$folder:1: $n_files files"
done >"$tmp/found"
rule "no room has more than 60 files"

awk -F'"' 'NF > 1 && $2 != "config.h" &&
  $2 !~ /^[a-z]+\/([a-z]+\/)?[a-z0-9_]+\.(h|cu|cuh)$/' \
  "$tmp/includes" >"$tmp/found"
rule 'includes are "folder/room/file.h" from the top'

for file in $files; do
  case $file in *.c)
    grep "^$file:" "$tmp/includes" | head -n 1 | grep -v '"config.h"'
    grep -q "^$file:" "$tmp/includes" || echo "$file:1: no include at all" ;;
  esac
done >"$tmp/found"
rule 'every .c includes "config.h" first'

{ grep -E '<(cuda|cublas|nccl|nvml|nvtx)' "$tmp/includes"
  grep -E "(^|[^A-Za-z0-9_])(cuda|cublas|nccl|nvml)[A-Z][A-Za-z0-9]*" "$tmp/code"
} | grep -Ev '^(exec|kernels|bench/gpu/|tests/device/(check_)?gpu|tests/kernels/check_kernels|tests/emulator/)' >"$tmp/found"
rule "only exec, kernels and their tests name CUDA"

grep '^kernels/' "$tmp/code" | grep -E \
  '<(glib|gio|gmodule)|(^|[^A-Za-z0-9_])(g_[a-z]|G[A-Z][a-z]+ |gboolean|guint)' \
  >"$tmp/found"
rule "kernels are a plain C ABI without GLib"

# RA_UNIT_USD_PER_GPU_H is a unit that people write, and units live in base.
domain='gpu|cuda|nccl|nvlink|rlhf|ppo|grpo|mesh|workload|transformer|actor|critic'
camel='(Gpu|Cuda|Nccl|Mesh|Workload|Transformer|Actor|Critic)'
{ grep -iE "(^|[^a-z0-9])($domain)s?([^a-z0-9]|\$)" "$tmp/code"
  grep -E "[a-z]$camel|${camel}[A-Z]" "$tmp/code"
} | grep '^base/' | grep -v RA_UNIT_USD_PER_GPU_H >"$tmp/found"
rule "base has no domain word"

# A library that prints cannot be used twice; one that exits, not once.
library='^(cli|bench|tests)/'
{ grep -E "$(calls 'printf|vprintf|puts|putchar|perror|g_print|g_printerr|g_message|g_warning|g_info|g_debug')" "$tmp/code"
  grep -E "$(words 'stdout|stderr')" "$tmp/code"
} | grep -Ev "$library" >"$tmp/found"
rule "only cli prints"

grep -E "$(calls 'exit|_exit|abort|quick_exit')" "$tmp/code" |
  grep -Ev "$library" >"$tmp/found"
rule "only programs exit"

# Reading a number must not depend on the user's locale.
grep -E "$(calls 'setlocale|atof|atoi|strtod|strtof|sscanf|fscanf')" \
  "$tmp/code" >"$tmp/found"
rule "numbers are read with g_ascii_strtod and no locale is set"

for file in $files; do
  case $file in *.h)
    guard=RA_$(echo "$file" | tr '[:lower:]/.' '[:upper:]__')
    grep -q "^#ifndef $guard\$" "$file" || echo "$file:1: expected $guard" ;;
  esac
done >"$tmp/found"
rule "a header's guard is RA_FOLDER_FILE_H"

# shellcheck disable=SC2086
awk 'FNR == 801 { print FILENAME ":801: longer than 800 lines" }' \
  $files /dev/null >"$tmp/found"
rule "no file is longer than 800 lines"

# A function's body lies between braces in the first column.
# shellcheck disable=SC2086
awk '
  /^{/ { first = FNR }
  /^}/ {
    if (first && FNR - first - 1 > 60)
      print FILENAME ":" first ": a body of " FNR - first - 1 " lines"
    first = 0
  }' $files /dev/null >"$tmp/found"
rule "no function is longer than 60 lines"

# shellcheck disable=SC2086
awk 'length($0) > 80 && $0 !~ /[0-9a-z]:\/\// {
    print FILENAME ":" FNR ": " length($0) " columns" }
  /\t/ { print FILENAME ":" FNR ": a tab" }
  /[ \t]$/ { print FILENAME ":" FNR ": space at the end" }' \
  $files /dev/null >"$tmp/found"
rule "lines have at most 80 columns, no tab, no space at the end"

# A name without its folder is found from the top alone: `make dist` fails.
grep -nHE '_SOURCES .*[[:space:]][a-z0-9_]+\.(c|h|cu|cuh|cc)( |$)' \
  ./*/local.mk ./*/*/local.mk 2>/dev/null | sed 's|^\./||' >"$tmp/found"
rule "a source of a local.mk has its folder"

# Where texts become gnuplot, shell, YAML or key files, quote.h quotes them: no
# format has a %s in quotes or behind # of its own.  Messages may.
# shellcheck disable=SC2046
LC_ALL=C awk '
  # What stands open where the %s of a joined literal is.
  function look(text, at,   open, c, i) {
    open = ""
    if (text ~ /<< *[A-Za-z]+\\n%s/) print FILENAME ":" at ": " text
    for (i = 1; i <= length(text); i++) {
      c = substr(text, i, 1)
      if (c == "\\") {
        c = substr(text, ++i, 1)
        if (c == "n") { open = ""; begun = 0; continue }
        if (c != "\"") continue
      }
      if (c == "%" && substr(text, i) ~ /^%[-+ 0-9.*]*s/ && open != "") {
        print FILENAME ":" at ": " text
        return
      }
      if (open == "#") continue
      if (open == "" && substr(text, i, 2) == "# " && !begun)
        open = "#"
      else if (c == open) open = ""
      else if (open == "" && (c == "\"" ||
        c == "\047" && substr(text, i - 1, i > 1) !~ /[a-z]/)) open = c
      begun = 1
    }
  }
  function literal() { if (has) { n++; texts[n] = joined; lines[n] = first }
    has = 0; joined = "" }
  function statement(   i) {
    literal()
    if (code !~ /(error|fail|refuse)[a-z_]*[ ]*\(|(^|[^a-z_])f?printf\(/)
      for (i = 1; i <= n; i++) { begun = 0; look(texts[i], lines[i]) }
    n = 0; code = ""
  }
  FNR == 1 { statement(); inside = 0 }
  /^[ \t]*#/ { next }
  {
    rest = $0
    while (rest != "") {
      if (inside) {
        end = index(rest, "*/")
        if (!end) break
        rest = substr(rest, end + 2); inside = 0
        continue
      }
      if (!match(rest, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|\/\*|\/\/|[;{}]/)) {
        between = rest; found = ""; rest = ""
      } else {
        between = substr(rest, 1, RSTART - 1)
        found = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
      }
      code = code between
      gsub(/PRI[a-zA-Z0-9]+|[ \t]/, "", between)
      if (between != "") literal()
      if (found == "//") break
      if (found == "/*") inside = 1
      else if (found ~ /^"/) {
        if (!has) { has = 1; first = FNR }
        joined = joined substr(found, 2, length(found) - 2)
      } else if (found ~ /^[;{}]/) statement()
    }
  }
  END { statement() }
' $(grep -lE '#include "[a-z/]*(quote|picture|gnuplot)\.h"|"(# |set (title|label|terminal))' \
  $(echo "$files" | grep -Ev '^tests/') /dev/null) /dev/null >"$tmp/found"
rule "text in scripts and comments is quoted by quote.h"

# Files of cli are named after what they print.
headers=$(for file in $files; do
  case $file in cli/* | kernels/* | bench/* | tests/*) ;; *.h) echo "$file" ;; esac
done)
for header in $headers; do
  name=${header##*/}
  name=${name%.h}
  echo "${name%s} $header"
done | sort | awk '
  $1 == last { print $2 ":1: a namesake of " other } { last = $1; other = $2 }
' >"$tmp/found"
rule "no two headers have the same name, an s apart"

# Nouns of a lower room on which higher rooms have functions, too.
shared='activation batching call cluster collective decode device dynamic
  experts file gpu group host inspect key kv link memory model nccl node op
  critical overlap piece profile real realloc rollout run send service slab stage
  strategy study task text turns validation'
grep -E '^[^:]*\.h:[0-9]*:[A-Za-z]' "$tmp/code" |
  grep -Ev '^(cli|kernels|bench|tests)/|:typedef' |
  sed -nE 's/^([^:]*):([0-9]*):.*\bra_([a-z0-9]+)(_[a-z0-9_]*)?\(.*/\3 \1 \2/p' |
  awk -v shared="$shared" '
    BEGIN { n = split(shared, nouns, /[ \n]+/)
      for (i = 1; i <= n; i++) of_several[nouns[i]] = 1 }
    {
      room = $2; sub(/\/[^\/]*$/, "", room)
      if (!($1 in home)) home[$1] = room
      else if (home[$1] != room && !($1 in of_several))
        print $2 ":" $3 ": ra_" $1 "_ is of " home[$1] " already"
    }' >"$tmp/found"
rule "a prefix of functions is in one room, but for shared nouns"

# Counters and views by which a test sees what an interface hides.
views='comm_groups_find cache_held_bytes evaluator_program evaluator_work
  network_used network_visit op_program_n_steps run_n_ahead
  validate_level_at validate_n_levels'
# A function is public for another file, or for a test of what its own uses.
awk -v views="$views" '
  BEGIN { n = split(views, names, /[ \n]+/)
    for (i = 1; i <= n; i++) is_view["ra_" names[i]] = 1 }
  {
    split($0, part, ":"); file = part[1]
    rest = substr($0, length(file) + length(part[2]) + 3)
    at_start = rest ~ /^[A-Za-z]/
    is_test = file ~ /^tests\//; is_header = file ~ /\.h$/
    while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
      name = substr(rest, RSTART, RLENGTH)
      rest = substr(rest, RSTART + RLENGTH)
      if (name !~ /^ra_/) continue
      if (at_start && rest ~ /^\(/) {
        if (!is_header) own[name, file] = 1
        else if (!is_test && file !~ /^bench\//) line[name] = file ":" part[2]
      } else if (is_test) tested[name] = 1
      else if (!((name, file) in seen)) {
        seen[name, file] = 1; users[name] = users[name] " " file
      }
    }
  }
  END {
    for (name in line) {
      n = split(users[name], user, " "); used = 0
      for (i = 1; i <= n; i++)
        if (!((name, user[i]) in own) || name in tested) used = 1
      if (!used && !(name in is_view)) print line[name] ": " name "()"
    }
  }' "$tmp/code" | LC_ALL=C sort >"$tmp/found"
rule "a public function is used by another file"

# A name without a folder is of the README's own room, or a test.
for page in $(echo "$folders" | sed 's|$|/README.md|'); do
  [ -e "$page" ] || continue
  # shellcheck disable=SC2016 # backquotes of Markdown
  grep -noE '`[a-z0-9_/]+\.(c|h|cu|cuh)`' "$page" | tr -d '`' |
    while IFS=: read -r line name; do
      case $name in
        */*) [ -e "$name" ] || [ -e "${page%/*}/$name" ] ;;
        check_*) [ -n "$(find tests -name "$name")" ] ;;
        *) [ -e "${page%/*}/$name" ] ;;
      esac || echo "$page:$line: there is no $name"
    done
done >"$tmp/found"
rule "a README names files that are there"

exit $status
