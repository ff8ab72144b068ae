#!/bin/bash
# The fingerprint of every shipped plan, at every fidelity and with flows: the
# same on any machine and from any compiler.  TAP on stdout.
#
# A change of times is on purpose or it is a fault: on purpose, write
# tests/golden/fingerprints.tsv anew (RA_GOLDEN_UPDATE=yes make check
# TESTS=tests/sim/fingerprints.sh) and say in the commit why.
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# One iteration, so that the largest plan is replayed too; flows replay every
# replica, so those of 16,384 GPUs are left out.
prints() {
  printf 'plan\tcall\tstage\top\tflows\n'
  for file in "$plans"/*.plan; do
    line=$(basename "$file" .plan)
    for fidelity in call stage op; do
      line+=$'\t'$("$reallot" simulate --fingerprint -n 1 \
        --fidelity=$fidelity "$file")
    done
    case $file in
      *16384*) line+=$'\t'- ;;
      *) line+=$'\t'$("$reallot" simulate --fingerprint -n 1 \
        --network=flows "$file") ;;
    esac
    printf '%s\n' "$line"
  done
}
prints >fingerprints
file=$srcdir/tests/golden/fingerprints.tsv
if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp fingerprints "$file"; fi
cmp -s fingerprints "$file"
result $? "golden fingerprints.tsv"
diff "$file" fingerprints | sed 's/^/# /'

# All are there and no two of a plan are alike but where nothing differs: a
# comparison that had nothing to compare would pass too.
[ "$(grep -cE $'(\t[0-9a-f]{16}){3}\t([0-9a-f]{16}|-)$' fingerprints)" -eq \
  "$(find "$plans" -name '*.plan' | wc -l)" ]
result $? "every plan has all of them"
sed '2s/[0-9a-f]$/x/' fingerprints | cmp -s - "$file"
[ $? -eq 1 ]
result $? "a digit that differs is found"
echo "1..$n"
