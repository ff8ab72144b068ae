#!/bin/bash
# Laws of valid plans, a few with a fixed seed; `make attack` tries 1,000.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
set -u
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
echo "1..2"
metamorphic=${builddir:?}/tests/attack/metamorphic

# It sees what is wrong: times that grow with every replay break the laws.
cat >reallot <<END
#!/bin/sh
case \$1 in
plan) : >a.plan ;;
simulate) date +%N >>"$tmp/n"; n=\$(wc -l <"$tmp/n")
  printf '# summary\niteration_s\n%d\n# memory\npeak_bytes\tpeak_frac\n1\t2\n' "\$n"
  printf '# base\niteration_s\n1\n# sensitivity\nresource\tmore_s\tless_s\nhbm\t2\t0.5\n' ;;
*) exit 2 ;;
esac
END
chmod +x reallot
"$metamorphic" "$tmp/reallot" 1 1 >self
for what in 'status is another' 'other bytes' 'unfolded' 'than one' \
  'slower with more' 'faster with less'; do
  grep -q "$what" self || echo "# not found: $what"
done >missed
[ ! -s missed ] || { cat missed self; echo -n "not "; }
echo "ok 1 - plans that break a law are found"

"$metamorphic" "$builddir/reallot" 1 "${PLANS:-10}" | sed '/ok 1 /s/ 1 / 2 /'
