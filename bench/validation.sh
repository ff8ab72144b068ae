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

./reallot validate "$data" "$more" --cross --plot="$tmp/validation.png" \
  --format=tsv >"$tmp/cross"
./reallot validate "$data" "$more" --format=tsv >"$tmp/shipped"

# errors FILE: its scores as Markdown, a row a set and what it is of
errors() {
  printf '| set | of | rows | median | p90 | worst | bias | limits | |\n'
  printf '|---|---|--:|--:|--:|--:|--:|--:|---|\n'
  awk -F'\t' '
    function percent(x) { return x == "-" ? x : sprintf("%.1f %%", 100 * x) }
    /^# / { t = $0; head = 1; next }
    head { for (i = 1; i <= NF; i++) at[t, $i] = i; head = 0; next }
    t == "# scores" {
      printf "| `%s` | %s | %d", $at[t, "level"], $at[t, "of"], $at[t, "rows"]
      printf " | %s | %s", percent($at[t, "median_frac"]), percent($at[t, "p90_frac"])
      printf " | %s | %s", percent($at[t, "worst_frac"]), percent($at[t, "bias_frac"])
      bar = $at[t, "median_bar_frac"]
      p90 = $at[t, "p90_bar_frac"]
      if (bar != "-") bar = 100 * bar (p90 == "-" ? "" : " / " 100 * p90) " %"
      printf " | %s | %s |\n", bar, $at[t, "verdict"]
    }' "$1"
}

# reasons FILE: why sets are beyond their limits
reasons() {
  printf '\n| set | of | beyond its limits, because |\n|---|---|---|\n'
  awk -F'\t' '/^# / { t = $0; head = 1; next } head { head = 0; next }
    t == "# short" { printf "| `%s` | %s | %s |\n", $1, $2, $5 }' "$1"
}

{
  cat "$srcdir/docs/validation.head.md"
  printf '\n## Rows held out of the fit\n\n'
  printf '`reallot validate DIR MORE --cross`. Limits: of the median and of the 90th percentile.\n\n'
  errors "$tmp/cross"
  reasons "$tmp/cross"
  printf '\n![predicted against measured, one panel a benchmark set]'
  printf '(validation.png)\n\n'
  printf '## Shipped profiles, unchanged\n\n'
  printf '`reallot validate DIR MORE`. Most laws and tables were fitted to these '
  printf 'rows, so the errors above count, not these.\n\n'
  errors "$tmp/shipped"
  reasons "$tmp/shipped"
  printf '\n## Benchmark sets\n\n'
  printf '| set | of what | how it is predicted |\n|---|---|---|\n'
  cat "$tmp/cross" "$tmp/shipped" | awk -F'\t' '
    /^# / { t = $0; head = 1; next } head { head = 0; next }
    t == "# levels" && !seen[$1]++ { printf "| `%s` | %s | %s |\n", $1, $2, $4 }'
} | sed "s|$more|MORE|g; s|$data|DIR|g" >"$tmp/validation.md" # notes name files: not this machine's
mv "$tmp/validation.md" "$tmp/validation.png" "$srcdir/docs/"
