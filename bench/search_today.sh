#!/bin/bash
# What search finds beside the placement strategies, on what people run today,
# and what tune makes of published configurations.
#
#     bench/search_today.sh [BUILD] [EFFORT] [CASE ...]
#
# BUILD: build.  EFFORT: --time=20, or --steps=N, of which a busy machine finds
# the same (tune has its time alone).  CASE: a word of the list,
# tests/data/search_today.tsv, to run these lines only; all take hours of a CPU.
#
# A line a case: the best plan that was found and the best strategy that fits,
# op by op, mean of 5 samples, the first over the second, and CPU seconds; for a
# configuration that is tuned, an iteration then and now.  At the end
# `search-today-behind`, cases in which found is more than 0.1 % slower or, as a
# strategy is the answer, fits in none of the finalists, `search-today-none`,
# those without a plan, and the geometric means.  Bars: 0, 0, 0.93.
set -u
here=$(dirname "$0")
reallot=${1:-build}/reallot
effort=${2:---time=20}
shift $(($# < 2 ? $# : 2))
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
out=$folder/out

# THEN NOW of a tuning.
of_tuning() {
  awk -F'\t' '$1 == "now" { now = $2 } $1 == "then" { then = $2; note = $NF }
    END { print note ~ /fit/ || !then ? "-" : then, now ? now : "-" }' "$out"
}

# search WORKLOAD CLUSTER [OPTION ...]
search() {
  "$reallot" search --workload="$1" --cluster="$2" "${@:3}" --no-cache \
    "$effort" --threads=2 --samples=5 --format=tsv >"$out" 2>/dev/null
}

# run WHAT FILE CLUSTER CHANGES
run() {
  local sets=() given
  local import=$here/../tests/data/import/$2
  case $1 in
  search)
    [ "$4" = - ] || IFS=';' read -ra given <<<"$4"
    for change in "${given[@]}"; do sets+=("--set=$change"); done
    search "$2.workload" "$3.cluster" "${sets[@]}"
    ;;
  imported)
    "$reallot" import "$import" --name=x --force -o "$folder" >/dev/null 2>&1 &&
      search "$folder/x.workload" "$folder/x.cluster"
    ;;
  tune)
    case $effort in --time=*) sets=("$effort") ;; *) sets=(--time=20) ;; esac
    "$reallot" tune "$import" "${sets[@]}" --threads=2 --format=tsv >"$out" \
      2>/dev/null
    ;;
  esac
}

is_wanted() {
  local words=" $1 " word
  shift
  [ $# -eq 0 ] && return 0
  for word; do case $words in *" $word "*) return 0 ;; esac; done
  return 1
}

printf 'what\tcase\tfound_s\tbeside_s\tratio\tcpu_s\n'
TIMEFORMAT=%U
while IFS=$'\t' read -r what case file cluster changes; do
  case $what in '#'* | '') continue ;; esac
  is_wanted "$what $case $file" "$@" || continue
  : >"$out"
  cpu_s=$({ time run "$what" "$file" "$cluster" "$changes"; } 2>&1)
  if [ "$what" = tune ]; then
    read -r found beside < <(of_tuning)
  else
    read -r found beside < <(awk -f "$here/peer/finalists.awk" "$out")
  fi
  awk -v what="$what" -v name="$case" -v f="$found" -v b="$beside" \
    -v cpu_s="$cpu_s" 'BEGIN {
      ratio = f == "-" || b == "-" ? "-" : sprintf("%.4f", f / b)
      printf "%s\t%s\t%s\t%s\t%s\t%.1f\n", what, name, f, b, ratio, cpu_s }'
done <"$here/../tests/data/search_today.tsv" | tee /dev/stderr | awk -F'\t' '{
    if ($5 != "-") { sum[$1] += log($5); n[$1]++; behind += $5 > 1.001 }
    if ($3 == "-" && $4 == "-") none++
    else if ($3 == "-" && $1 != "tune") behind++
  }
  END {
    print "search-today-behind " behind + 0
    print "search-today-none " none + 0
    for (w in n) printf "%s-today-mean %.4f of %d\n", w, exp(sum[w] / n[w]), n[w]
  }'
