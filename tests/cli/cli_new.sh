#!/bin/bash
# Starter files simulate; the page of keys is of today's tables.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

for kind in grpo ppo sft; do
  works new "$kind" --algorithm="$kind" --nodes=2 -o new
  works simulate "new/$kind.plan" --fidelity=call
  for suffix in workload cluster; do
    works inspect "new/$kind.$suffix"
    grep -q '^# Further keys of' "new/$kind.$suffix"
    result $? "$kind.$suffix names what else may be set"
  done
done
works new other --model=llama-3-8b.json --gpu=h200-sxm -o new
grep -q 'config = llama-3-8b.json' new/other.workload &&
  grep -q 'gpu = h200-sxm' new/other.cluster
result $? "its model and GPU are those of the flags"
# A name may have folders, which the files' own names of each other have not.
works new deep/er/mine --nodes=1 --model=qwen2.5-1.5b.json -o new
works simulate new/deep/er/mine.plan --fidelity=call
XDG_CACHE_HOME=$tmp/cache works study new/sft.study
# A key that stands as a comment is one that can be set.
sed 's/^# \(staleness = \)0 /\11 /' new/grpo.workload >new/stale.workload
works simulate new/grpo.plan --workload=new/stale.workload --fidelity=call
grep -q '^staleness = 1 ' new/stale.workload
result $? "without its # a key counts"
fails 'new/sft.workload: exists already' new sft -o new
works new sft --algorithm=sft -o new --force
fails '--algorithm' new x --algorithm=dreaming
fails 'no-such.json' new x --model=no-such.json
run new x --algorithm=ppo --nodes=1 --model=llama-3.1-405b.json -o never
[ "$rc" -eq 1 ] && [ ! -e never ] && more=$(sed -n 's/.*; \(--nodes=[0-9]*\) has a plan$/\1/p' err)
result $? "what fits no plan is exit status 1, and nothing is written"
run new x --algorithm=ppo ${more-} --model=llama-3.1-405b.json -o enough
[ "$rc" -eq 0 ] && [ -n "${more-}" ] && [ -e enough/x.plan ]
result $? "the nodes that are named have a plan: ${more-}"

works keys
works keys plan --format=tsv
# Every key that a shipped plan, workload or cluster has is in the table.
for kind in plan workload cluster; do
  run keys "$kind" --format=tsv
  awk -F'\t' '$1 !~ /^#/ { print $1 }' out | sort -u >known
  cat "$srcdir/share/${kind}s"/*."$kind" |
    sed -n 's/^\([a-z][a-z-]*\) = .*/\1/p' | sort -u >used
  echo format >>known
  sort -u known -o known
  [ -z "$(comm -23 used known)" ] && [ "$(wc -l <used)" -gt 5 ]
  result $? "keys $kind has every key that is shipped"
  comm -23 used known | sed 's/^/# /'
done
run keys --markdown
if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp out "$srcdir/docs/keys.md"; fi
cmp -s out "$srcdir/docs/keys.md"
result $? "docs/keys.md is what the tables say (RA_GOLDEN_UPDATE=yes)"
diff out "$srcdir/docs/keys.md" | head -5 | sed 's/^/# /'
fails 'KIND' keys plans

echo "1..$n"
