#!/bin/sh
# The shipped profiles are what traces/profiles/derive.sh makes of the
# measurements beside the source tree (../shared/data), number by number within
# 1 %, which leaves room for another awk's exp and log; skipped without them.
# The comparison itself is tried on a profile with one number changed.
set -u
: "${srcdir:?is set by make check}"

data=$srcdir/../shared/data
profiles=$srcdir/traces/profiles
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

# different A B: what differs between two profiles, a line each.
different() {
  awk '
    function group_of(line) { sub(/[ \t]*#.*/, "", line); return line }
    /^#/ || /^[ \t]*$/ { next }
    /^\[/ { group = group_of($0); next }
    {
      key = group " " $1
      value = group_of($0)
      sub(/^[^=]*= */, "", value)
      if (NR == FNR) { was[key] = value; next }
      seen[key] = 1
      if (!(key in was)) { print "# only in the second: " key; next }
      split(was[key], a, " "); split(value, b, " ")
      d = a[1] - b[1]
      if (d < 0) d = -d
      m = a[1] < 0 ? -a[1] : a[1] + 0
      number = "^[-+0-9.][-+0-9.e]*$"
      if (a[1] ~ number && b[1] ~ number ? d > 0.01 * m \
                                         : was[key] != value)
        print "# " key ": " was[key] " | " value
    }
    END { for (key in was) if (!(key in seen)) print "# lost: " key }
  ' "$1" "$2"
}

echo "1..4"
sed 's/^eager-launch-s = .*/eager-launch-s = 1/' \
  "$profiles/h100-sxm.profile" >"$tmp/changed"
if [ "$(different "$profiles/h100-sxm.profile" "$tmp/changed" |
  grep -c 'law host. eager-launch-s')" = 1 ] &&
  [ -z "$(different "$tmp/changed" "$tmp/changed")" ]; then
  echo "ok 1 - the comparison finds one changed number"
else
  echo "not ok 1 - the comparison finds one changed number"
fi
n=1
for gpu in a100-sxm h100-sxm h200-sxm; do
  n=$((n + 1))
  if [ ! -r "$data/misc/hardware_specs.csv" ]; then
    echo "ok $n - $gpu.profile # SKIP no measurements in ../shared/data"
  elif sh "$profiles/derive.sh" "$data" $gpu >"$tmp/$gpu" 2>"$tmp/err" &&
    different "$profiles/$gpu.profile" "$tmp/$gpu" >"$tmp/diff" &&
    [ ! -s "$tmp/diff" ]; then
    echo "ok $n - $gpu.profile is what derive.sh makes"
  else
    sed 's/^/# /' "$tmp/err"
    cat "$tmp/diff" 2>/dev/null
    echo "not ok $n - $gpu.profile is what derive.sh makes"
  fi
done
