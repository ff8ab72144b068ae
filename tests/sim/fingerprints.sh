#!/bin/bash
# The fingerprint of every shipped plan, at every fidelity and with flows: the
# same on any machine and from any compiler.  TAP on stdout.
#
# A change of times is on purpose or it is a fault: on purpose, write
# tests/golden/fingerprints.tsv anew (RA_GOLDEN_UPDATE=yes make check
# TESTS=tests/sim/fingerprints.sh) and say in the commit why.
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# Beside each hash stand the seconds of an iteration, and beside all of them the
# GiB of the fullest GPU, so that a change shows how much it moved.  One
# iteration, so that the largest plan is replayed too; flows replay every
# replica, so those of 16,384 GPUs are left out.
simulated() { # PLAN OPTION...: "SECONDS HASH", and $peak_gib
  "$reallot" simulate -n 1 --format=json "$@" >json
  peak_gib=$(grep -o '"peak_bytes": [0-9.e+]*' json |
    awk '$2 > most { most = $2 } END { printf "%.4g", most / 2^30 }')
  seconds=$(sed -n 's/.*"iteration_s": \([^,]*\),.*/\1/p' json)
  hash=$(sed -n 's/.*"fingerprint": "\([^"]*\)".*/\1/p' json)
  printf -v line '%s\t%.6g\t%s' "$line" "$seconds" "$hash"
}
prints() {
  printf 'plan\tcall_s\tcall\tstage_s\tstage\top_s\top\tflows_s\tflows\tpeak_gib\n'
  for file in "$plans"/*.plan; do
    line=$(basename "$file" .plan)
    for fidelity in call stage op; do
      simulated "$file" --fidelity=$fidelity
    done
    case $file in
      *16384*) line+=$'\t-\t-' ;;
      *) simulated "$file" --network=flows ;;
    esac
    printf '%s\t%s\n' "$line" "$peak_gib"
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
[ "$(grep -cE $'(\t[0-9.e+-]+\t[0-9a-f]{16}){3}\t[0-9.e+-]+\t([0-9a-f]{16}|-)\t[0-9.]+$' \
  fingerprints)" -eq \
  "$(find "$plans" -name '*.plan' | wc -l)" ]
result $? "every plan has all of them"
sed '2s/\t[0-9.]*$/\tx/' fingerprints | cmp -s - "$file"
[ $? -eq 1 ]
result $? "a digit that differs is found"
echo "1..$n"
