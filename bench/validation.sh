#!/bin/bash
# validation.sh SRCDIR [DATA]: writes SRCDIR/docs/validation.md and .png from
# what `reallot validate` of the build folder says of DATA ($RA_DATA, or
# SRCDIR/../shared/data).  Every number there is the command's.
# shellcheck disable=SC2016 # backquotes of Markdown
set -eu
srcdir=$1
data=${2:-${RA_DATA:-$srcdir/../shared/data}}
RA_DATA_PATH=$srcdir/share:$srcdir/traces
export RA_DATA_PATH
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

./reallot validate "$data" --cross --plot="$tmp/validation.png" >"$tmp/cross"
./reallot validate "$data" --cross --quick --format=tsv >"$tmp/cross.tsv"
./reallot validate "$data" >"$tmp/shipped"
{
  cat "$srcdir/docs/validation.head.md"
  printf '\n## Lines that a fit has not seen\n\n'
  printf '`reallot validate DIR --cross`\n\n```\n'
  cat "$tmp/cross"
  printf '```\n\n![predicted against measured, a panel a level]'
  printf '(validation.png)\n\n'
  printf '## Shipped profiles, unchanged\n\n'
  printf '`reallot validate DIR`; on these rows most laws and tables were '
  printf 'fitted: what counts is above.\n\n```\n'
  cat "$tmp/shipped"
  printf '```\n\n## What the levels are\n\n| level | rows | how |\n|---|---|---|\n'
  awk -F'\t' '/^# / { t = $0; head = 1; next } head { head = 0; next }
    t == "# levels" { printf "| `%s` | %s | %s |\n", $1, $2, $4 }' \
    "$tmp/cross.tsv"
} | sed "s|$data|DIR|g" >"$tmp/validation.md" # notes name files: not this machine's
mv "$tmp/validation.md" "$tmp/validation.png" "$srcdir/docs/"
