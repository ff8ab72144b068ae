#!/bin/sh
# Every data file of the tree is in share/local.mk, so that `make install` and
# the tarball have it; the search is tried on a file that is not.
set -u
: "${srcdir:?is set by make check}"

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

# Data files of tree $1 that list $2 does not name.
forgotten() {
  (cd "$1" && find share traces/profiles -type f 2>/dev/null) | sort |
    while read -r file; do
      case $file in
        share/local.mk | *.md | *~ | *.orig) continue ;;
        share/*) name=%D%/${file#share/} ;;
        *) name=$file ;;
      esac
      grep -v '^#' "$2" | grep -qF " $name" || echo "# $file"
    done
}

mkdir -p "$tmp/share/models" "$tmp/traces/profiles"
touch "$tmp/share/models/a.json" "$tmp/share/models/b.json" \
  "$tmp/traces/profiles/c.profile"
printf '%s\n' 'dist_models_DATA += %D%/models/a.json' \
  '## dist_models_DATA += %D%/models/b.json' \
  'dist_profiles_DATA += traces/profiles/c.profile' >"$tmp/list"

echo "1..2"
if [ "$(forgotten "$tmp" "$tmp/list")" = "# share/models/b.json" ]; then
  echo "ok 1 - the search finds a forgotten file"
else
  echo "not ok 1 - the search finds a forgotten file"
fi
if forgotten "$srcdir" "$srcdir/share/local.mk" | grep .; then
  echo "not ok 2 - share/local.mk lists every data file"
else
  echo "ok 2 - share/local.mk lists every data file"
fi
