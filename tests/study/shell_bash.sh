#!/bin/bash
# study/shell/shell.h against bash: the same words for every snippet of
# shell_bash.txt.  bash runs our own snippets only; the evaluator runs nothing.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
set -u
: "${srcdir:?is set by make check}" "${builddir:?}"
words=$builddir/tests/study/shell_words
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

# One file a snippet, with its name on top.
awk -v tmp="$tmp" 'NR > 2 { if ($0 == "#---") { n++; next }
    print >(tmp "/" sprintf("%03d", n) ".sh") }' \
  "$srcdir/tests/study/shell_bash.txt"
set -- "$tmp"/*.sh
echo "1..$(($# + 1))"

# What bash calls `show` with, in the form that shell_words prints.
ask_bash() { # FILE
  { echo 'show() { local w; for w; do printf "<%s>" "$w"; done; echo; } >&3'
    cat "$1"; } >"$tmp/asked"
  env -i PATH="$PATH" LC_ALL=C.UTF-8 bash --norc "$tmp/asked" \
    3>&1 >/dev/null 2>/dev/null </dev/null
}

n=0 n_told=0
: >"$tmp/before"
for file; do
  n=$((n + 1))
  ask_bash "$file" >"$tmp/want"
  "$words" "$file" >"$tmp/got" 2>&1
  if [ -s "$tmp/want" ] && cmp -s "$tmp/want" "$tmp/got"; then
    echo "ok $n - $(head -n 1 "$file")"
  else
    diff "$tmp/want" "$tmp/got" | sed 's/^/# /'
    echo "not ok $n - $(head -n 1 "$file")"
  fi
  cmp -s "$tmp/before" "$tmp/got" || n_told=$((n_told + 1))
  cp "$tmp/want" "$tmp/before"
done

# The oracle tells a wrong answer: what the snippet before must give is never
# taken for this one's.
n=$((n + 1))
[ "$n_told" -eq $# ]
[ $? -eq 0 ] && echo "ok $n - no snippet passes for another" ||
  echo "not ok $n - no snippet passes for another"
