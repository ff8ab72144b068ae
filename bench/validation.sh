#!/bin/bash
# validation.sh SRCDIR [DATA [MORE]]: writes SRCDIR/docs/validation.md and .png
# from what `reallot validate` of the build folder says of DATA ($RA_DATA, or
# SRCDIR/../shared/data) and MORE (data-2026 beside it).  Every number there is
# the command's.
# shellcheck disable=SC2016 # backquotes of Markdown
set -eu
srcdir=$1
data=${2:-${RA_DATA:-$srcdir/../shared/data}}
more=${3:-$srcdir/../shared/data-2026}
RA_DATA_PATH=$srcdir/share:$srcdir/traces
export RA_DATA_PATH
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

./reallot validate "$data" "$more" --cross --plot="$tmp/validation.png" >"$tmp/cross"
./reallot validate "$data" "$more" --cross --quick --format=tsv >"$tmp/cross.tsv"
./reallot validate "$data" "$more" >"$tmp/shipped"
{
  cat "$srcdir/docs/validation.head.md"
  printf '\n## Rows held out of the fit\n\n'
  printf '`reallot validate DIR MORE --cross`\n\n```\n'
  cat "$tmp/cross"
  printf '```\n\n![predicted against measured, one panel a benchmark set]'
  printf '(validation.png)\n\n'
  printf '## Shipped profiles, unchanged\n\n'
  printf '`reallot validate DIR MORE`. Most laws and tables were fitted to these '
  printf 'rows, so the errors above count, not these.\n\n```\n'
  cat "$tmp/shipped"
  printf '```\n\n## Benchmark sets\n\n'
  printf '| benchmark set | rows | how they are predicted |\n|---|---|---|\n'
  awk -F'\t' '/^# / { t = $0; head = 1; next } head { head = 0; next }
    t == "# levels" { printf "| `%s` | %s | %s |\n", $1, $2, $4 }' \
    "$tmp/cross.tsv"
} | sed "s|$more|MORE|g; s|$data|DIR|g" >"$tmp/validation.md" # notes name files: not this machine's
mv "$tmp/validation.md" "$tmp/validation.png" "$srcdir/docs/"
