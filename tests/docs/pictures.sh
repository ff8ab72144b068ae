#!/bin/bash
# No picture of README.md and docs is one that nobody can draw again: each has
# its command in bench/pictures.sh, each that is linked is there, each that is
# there is linked.  The search is tried on a tree that breaks all three.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

pictures() { # NAME: how bench/pictures.sh is called; in the build folder
  (cd "$builddir" && bash "$srcdir/bench/pictures.sh" "$@")
}
pictures "$srcdir" --list | sort >list
[ "$(wc -l <list)" -ge 8 ]
result $? "bench/pictures.sh lists $(wc -l <list) pictures"

# What is wrong with the pages and pictures of TREE; LIST has a command each.
faults() { # TREE LIST
  local page folder name
  : >linked
  for page in "$1"/*.md "$1"/docs/*.md; do
    folder=${page%/*}
    grep -o '!\[[^]]*\]([^)]*)' "$page" | sed 's/.*(\(.*\))/\1/' |
      while read -r name; do
        [ -e "$folder/$name" ] || echo "${page##*/}: no picture $name"
        echo "${name##*/}" >>linked
      done
  done
  for name in "$1"/docs/*.png "$1"/docs/*.svg; do
    [ -e "$name" ] || continue
    name=${name##*/}
    grep -qx "$name" linked || echo "$name: no page shows it"
    grep -qx "${name%.*}" "$2" || echo "$name: no command"
  done
  while read -r name; do
    [ -e "$1/docs/$name.png" ] || echo "$name: a command without a picture"
  done <"$2"
}
faults "$srcdir" list >wrong
[ ! -s wrong ]
result $? "every picture has a command and a page"
sed 's/^/# /' wrong

mkdir -p tree/docs
touch tree/docs/old.png tree/docs/shown.png
printf '![a](docs/shown.png)\n![b](docs/gone.png)\n' >tree/README.md
printf 'shown\nnever\n' >few
printf '%s\n' 'README.md: no picture docs/gone.png' 'old.png: no page shows it' \
  'old.png: no command' 'never: a command without a picture' >want
faults tree few 2>/dev/null | cmp -s - want
result $? "a picture without a command, a page or a file is found"

if command -v gnuplot >/dev/null; then
  mkdir -p copy/docs copy/bench
  cp "$srcdir/bench/pictures.sh" copy/bench
  ln -s "$srcdir/share" "$srcdir/traces" copy
  pictures "$tmp/copy" ppo-timeline >out 2>err
  [ -s copy/docs/ppo-timeline.png ] && [ ! -s err ] &&
    [ "$(find copy/docs -type f | wc -l)" -eq 1 ]
  result $? "and its command draws it"
else
  n=$((n + 1))
  echo "ok $n - its command draws it # SKIP no gnuplot"
fi

echo "1..$n"
