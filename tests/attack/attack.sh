#!/bin/bash
# Mutated files of all kinds through the command line, with a fixed seed, half a
# minute or less.  A find is printed with its case, which `attack ... =CASE` repeats.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
set -u
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
echo "1..2"
attack=${builddir:?}/tests/attack/attack

# It sees what is wrong: a program that is not reallot fails every case.
cat >reallot <<'END'
#!/bin/sh
case $* in *made*) mkdir -p made/ck/iteration-000001 made/w
  for f in run.tsv ops.tsv run.csv ck/iteration-000001/a w/a; do : >made/$f; done ;;
*) case $(($$ % 3)) in 0) : >pwned ;; 1) kill -SEGV $$ ;; 2) exit 2 ;; esac ;;
esac
END
chmod +x reallot
"$attack" "${srcdir:?}" "$tmp/reallot" "$tmp/finds" 1 46 >self 2>&1
n=$(grep -c '^# case' self)
[ "$n" -eq 46 ] || { echo -n "not "; sed 's/^/# /' self; }
echo "ok 1 - a program that crashes, is silent or runs commands is found ($n of 46)"

"$attack" "$srcdir" "$builddir/reallot" "$tmp/finds" 1 "${ATTACK:-230}" |
  sed '/ok 1 /s/ 1 / 2 /'
