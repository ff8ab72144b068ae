#!/bin/bash
# A configuration that is tuned: faster, and read back what the table says.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

data=$srcdir/tests/data/import
verl=$data/verl-grpo-qwen2-7b.sh
keep='--keep=*.rollout.* --keep=*.ref.* --keep=*ulysses* --keep=*checkpointing'

cell() { # ROW COLUMN: of the first table in out
  awk -F'\t' -v row="$1" -v column="$2" '
    /^configuration\t/ { for (i = 1; i <= NF; i++) if ($i == column) at = i }
    $1 == row { print $at; exit }' out
}

# Passes of 16 of a GPU's 160 sequences a step cost launches and small GEMMs:
# larger micro-batches that fit are faster, whatever else stays.
# shellcheck disable=SC2086
works tune "$verl" $keep --threads=1 --format=tsv -o faster.sh
now=$(cell now iteration_s) then=$(cell then iteration_s)
awk -v now="$now" -v then="$then" 'BEGIN { exit !(then > 0 && then < now) }'
result $? "it is faster: $now s, then $then s"
grep -q "^actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu	16	" out
result $? "by larger micro-batches"
! grep -q '^actor_rollout_ref.r' out
result $? "what is kept is not changed"
# The written configuration differs in the changed keys alone, and is what the
# simulator says.  The fault: the one as given takes longer.
awk -F'\t' '$1 ~ /^(actor_rollout_ref|critic)/ { n++ } END { print n + 0 }' \
  out >changed
[ "$(diff "$verl" faster.sh | grep -c '^>')" -eq "$(cat changed)" ]
result $? "the written file differs in as many lines as keys"
runs() { # FILE NAME: seconds of an iteration, op by op
  run import "$1" --name="$2" --force -o .
  run simulate "$2.plan" --fidelity=op --format=tsv
  awk -F'\t' '/^plan\t/ { for (i = 1; i <= NF; i++) if ($i == "iteration_s") at = i; next }
    at { print $at; exit }' out
}
faster=$(runs faster.sh faster)
given=$(runs "$verl" given)
[ "$faster" = "$then" ] && [ "$given" = "$now" ] && [ "$faster" != "$given" ]
result $? "both simulate to what the table says: $given s, $faster s"

works tune "$verl" '--keep=*' --threads=1
grep -q '^None of the 1 configurations tried is faster' out
result $? "nothing to change: it says so"

fails "no training program is started" tune "$data/verl-keys.tsv"
fails "is not a whole number" tune "$verl" --threads=x
# No keys of TRL's are known: it says that there is nothing to try.
works tune "$data/trl-sft.yaml" --threads=1
grep -q '^No key of trl is known that could be changed' out
result $? "a framework whose keys are not known"

echo "1..$n"
