#!/bin/sh
# times.sh [--update]: what the tests cost when they last ran.
#
# Reads the .trs files below $builddir/tests and prints the sums of each tier
# and the ten slowest.  --update writes the measured CPU seconds into
# $srcdir/tests/tiers.tsv; a new test enters as `full`.
set -u
: "${srcdir:?is set by make}" "${builddir:?}"

tiers=$srcdir/tests/tiers.tsv
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

find "$builddir/tests" -name '*.trs' | while read -r trs; do
  name=${trs#"$builddir"/}
  name=${name%.trs}
  [ ! -f "$srcdir/$name.sh" ] || name=$name.sh
  awk -v name="$name" '/^:cpu-seconds:/ { cpu = $2 } /^:wall-seconds:/ {
    print name "\t" cpu "\t" $2 }' "$trs"
done >"$tmp/measured"

if [ "${1:-}" = --update ]; then
  grep '^#' "$tiers" >"$tmp/new"
  awk -F'\t' -v OFS='\t' -v tree="$srcdir" '
    FNR == NR { cpu[$1] = $2; next }
    /^#/ { next }
    $1 in cpu { $3 = cpu[$1]; delete cpu[$1] }
    { print }
    END {
      # A program of no source any more has left its results.
      for (name in cpu)
        if ((getline line < (tree "/" name ".c")) > 0 || name ~ /\.sh$/)
          print name, "full", cpu[name]
    }
  ' "$tmp/measured" "$tiers" | LC_ALL=C sort >>"$tmp/new"
  cp "$tmp/new" "$tiers"
fi

awk -F'\t' '
  /^#/ { next }
  FNR == NR { tier[$1] = $2; next }
  { cpu[tier[$1]] += $2; n[tier[$1]]++ }
  END {
    for (name in n)
      printf "%-6s %4d tests %7.0f CPU s\n", name, n[name], cpu[name]
  }' "$tiers" "$tmp/measured" | sort
sort -t'	' -k2,2nr "$tmp/measured" | head -n 10 |
  awk -F'\t' '{ printf "%7.1f CPU s %7.1f s  %s\n", $2, $3, $1 }'
