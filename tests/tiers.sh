#!/bin/sh
# The list of tiers names every test once, in order, and the quick tier is
# quick.  Each rule is tried on a list that breaks it.
set -u
: "${srcdir:?is set by make check}" "${RA_TESTS:?}"

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

# CPU seconds of the quick tier.  `./bootstrap check` may take 10 minutes on two
# idle cores: 1,200 CPU seconds.  Packages take up to 2 minutes of them (one
# core), the programs 150 CPU seconds and the quick tests' programs 350; half
# of the rest is left for slower machines.
quick_s=240

broken_rules() { # LIST
  awk -F'\t' '/^#/ { next }
    NF != 3 || $2 !~ /^(quick|full|once)$/ || $3 !~ /^[0-9]+(\.[0-9]+)?$/ {
      print "form: " FILENAME ":" FNR }' "$1"
  grep -v '^#' "$1" | LC_ALL=C sort -c 2>/dev/null || echo "order"
  # Without CUDA there are no tests for a device.
  grep -v '^#' "$1" | cut -f1 | if [ "${RA_HAVE_CUDA:-no}" = yes ]; then cat
  else grep -v '^tests/device/check_gpu'; fi | LC_ALL=C sort >"$tmp/listed"
  echo "$RA_TESTS" | tr ' ' '\n' | grep . | LC_ALL=C sort >"$tmp/tests"
  LC_ALL=C diff "$tmp/listed" "$tmp/tests" | sed -n 's/^[<>]/names:&/p'
  awk -F'\t' -v most=$quick_s '
    !/^#/ && $2 == "quick" { sum += $3 }
    END { if (sum > most) print "slow: " sum " CPU s, at most " most }' "$1"
}

n=0
result() { # STATUS WHAT
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

list=$srcdir/tests/tiers.tsv
broken_rules "$list" >"$tmp/found"
sed 's/^/# /' "$tmp/found"
[ ! -s "$tmp/found" ]
result $? "every test has its tier"

catches() { # RULE SED-SCRIPT
  sed "$2" "$list" >"$tmp/list.tsv"
  broken_rules "$tmp/list.tsv" | grep -q "^$1"
  result $? "a list that breaks it is found: $1"
}
catches form 's/\tfull\t/\tslow\t/'
catches names '/check_arena/d'
catches names 's/check_arena/check_gone/'
catches slow 's/\tquick\t.*/\tquick\t9/'
catches order '$ { s/^/a/ }'

echo "1..$n"
