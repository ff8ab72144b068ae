#!/bin/bash
# A configuration that is tuned: faster, and read back what the table says.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

data=$srcdir/tests/data/import
verl=$data/verl-grpo-qwen2-7b.sh
# Each run ends before its time does, however slow the build: a time that runs
# out has what was found so far.
keep='--time=3600 --keep=*.rollout.* --keep=*.ref.* --keep=*ulysses* --keep=*checkpointing
  --keep=*dynamic*'

cell() { # ROW COLUMN: of the first table in out
  awk -F'\t' -v row="$1" -v column="$2" '
    /^configuration\t/ { for (i = 1; i <= NF; i++) if ($i == column) at = i }
    $1 == row { print $at; exit }' out
}

# Passes of 16 of a GPU's 160 sequences a step cost launches and small GEMMs:
# larger micro-batches that fit are faster, whatever else stays.
# shellcheck disable=SC2086
works tune "$verl" $keep --threads=1 --format=tsv -o faster.sh \
  --report=page.html
cp out tuned # to be read again
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
runs() { # FILE NAME [FLAG]...: seconds of an iteration, op by op
  run import "$1" --name="$2" --force -o . "${@:3}"
  run simulate "$2.plan" --fidelity=op --format=tsv
  awk -F'\t' '/^plan\t/ { for (i = 1; i <= NF; i++) if ($i == "iteration_s") at = i; next }
    at { print $at; exit }' out
}
faster=$(runs faster.sh faster)
given=$(runs "$verl" given)
[ "$faster" = "$then" ] && [ "$given" = "$now" ] && [ "$faster" != "$given" ]
result $? "both simulate to what the table says: $given s, $faster s"

# The critical path of an iteration, scaled to it: its causes add up to the
# iteration, now and then, to the digits that are printed.  The fault: the sums
# of the whole run, three iterations.
cp tuned out
awk -F'\t' -v now="$now" -v then="$then" '
  /^# / { on = $2 == "" && $0 == "# critical_path" ? 1 : 0; next }
  on == 1 { on = 2; next }
  on { a += $4; b += $5; saved += $6 }
  END { exit !(a / now - 1 < 1e-4 && 1 - a / now < 1e-4 &&
    b / then - 1 < 1e-4 && 1 - b / then < 1e-4 && saved > 0) }' out
result $? "the causes of the critical path add up to both times"
# The difference is that of diff, a second program.
awk '/^# / { on = $0 == "# diff"; head = 1; next } on && !head { print }
  { head = 0 }' out | tail -n +3 >hunks
diff -U3 "$verl" faster.sh | tail -n +3 | cmp -s - hunks && [ -s hunks ]
result $? "the difference is what diff says"
[ "$(grep -c '<svg' page.html)" -eq 6 ] && grep -q '<h2>Why' page.html &&
  grep -q '^@@ ' page.html && ! grep -qE '<(script|link|img)|src=' page.html
result $? "a page has three pictures of each, why, and the difference"

# Other sizes: as given on two nodes is what import makes of two, and the file
# that is written has them.  The fault: the times of one node.
# shellcheck disable=SC2086
works tune "$verl" $keep --threads=1 --format=tsv --nodes=1,2 -o two.sh
size() { # NODES COLUMN
  awk -F'\t' -v row="$1" -v column="$2" '/^nodes\t/ { on = 1
      for (i = 1; i <= NF; i++) if ($i == column) at = i }
    on && $1 == row { print $at; exit }' out
}
now2=$(size 2 now_s) then2=$(size 2 then_s)
[ "$(size 1 now_s)" = "$now" ] && [ "$(size 1 then_s)" = "$then" ] &&
  [ "$(size 2 gpus)" = 16 ]
result $? "one node of two sizes is what it is alone"
[ "$(runs "$verl" given --set trainer.nnodes=2)" = "$now2" ] &&
  [ "$(runs two.sh two)" = "$then2" ] && grep -q '^nodes *= *2$' two.cluster
result $? "two nodes: as given and as written, $now2 s and $then2 s"
works tune "$verl" '--keep=*' --threads=1 --format=tsv --gpus=16
[ "$(size 2 now_s)" = "$now2" ]
result $? "sixteen GPUs are two nodes"
fails "a node has 8" tune "$verl" --gpus=12
fails "exclude each other" tune "$verl" --gpus=8 --nodes=1
fails "no key of its nodes is set" tune "$data/trl-sft.yaml" --nodes=2

# Nothing fits: the fewest nodes in powers of two that do, and a GPU that does,
# each by a simulation of the import; half of the nodes do not.
run tune "$verl" '--keep=*' --model=llama-3-70b.json --threads=1
[ "$rc" -eq 1 ] && [ "$(grep -c 'It would fit on' out)" -eq 1 ]
result $? "nothing fits: exit status 1, and what would do"
nodes=$(sed -n 's/.*fit on \([0-9]*\) nodes.*/\1/p' out)
gpu=$(sed -n 's/.* of \([a-z0-9-]*\) ([0-9]* GiB a GPU).*/\1/p' out)
rc_of() { # FLAG...: exit status of simulating the import
  run import "$verl" --name=big --force -o . --model=llama-3-70b.json "$@"
  run simulate big.plan --fidelity=op
  echo "$rc"
}
[ "$(rc_of --set "trainer.nnodes=$nodes")" -eq 0 ] &&
  [ "$(rc_of --set "trainer.nnodes=$((nodes / 2))")" -eq 1 ]
result $? "it fits on $nodes nodes, not on half of them"
[ -z "$gpu" ] || [ "$(rc_of "--gpu=$gpu")" -eq 0 ]
result $? "and on the GPU that is named: ${gpu:-none}"

works tune "$verl" '--keep=*' --threads=1
grep -q '^No other configuration could be tried' out
result $? "nothing to change: it says so"

fails "--allow: unknown value 'batch', expected one of staleness, mini-batches" \
  tune "$verl" --allow=batch

fails "no training program is started" tune "$data/verl-keys.tsv"
fails "is not a whole number" tune "$verl" --threads=x
# No keys of TRL's are known: it says that there is nothing to try.
works tune "$data/trl-sft.yaml" --threads=1
grep -q '^No key of trl is known that could be changed' out
result $? "a framework whose keys are not known"

# A sanitized program leaves the other keys and frameworks out: their code is
# what has run so far.
[ "$share" -eq 1 ] || { echo "1..$n" && exit; }

# slime's flags: what is written runs as the table says.  In engines of four or
# eight GPUs instead of two, a GPU reads half or a quarter of the weights in a
# decode step, and as many keys and values, so an iteration is faster.
works tune "$data/slime-grpo-qwen3-8b.sh" '--keep=*tokens*' '--keep=*-size' \
  --threads=1 --format=tsv -o engines.sh
now=$(cell now iteration_s) then=$(cell then iteration_s)
grep -q "^rollout-num-gpus-per-engine	2	[48]	" out &&
  [ "$(runs engines.sh engines)" = "$then" ] &&
  [ "$(runs "$data/slime-grpo-qwen3-8b.sh" given)" = "$now" ] &&
  awk -v a="$now" -v b="$then" 'BEGIN { exit !(b < a) }'
result $? "slime: larger engines, $now s, then $then s"

# What changes the learning is tried only where it is allowed: with half as many
# optimizer steps an iteration reads weights and reduces gradients half as
# often.  The fault: without the flag the key is not changed.
learns='--time=3600 --keep=*.rollout.* --keep=*.ref.* --keep=*micro* --keep=*ulysses* --keep=*checkpointing --keep=*offload --keep=*model*'
# shellcheck disable=SC2086
works tune "$verl" $learns --threads=1 --format=tsv
! grep -q 'ppo_mini_batch_size	256' out
result $? "optimizer steps stay"
# shellcheck disable=SC2086
works tune "$verl" $learns --threads=1 --format=tsv --allow=mini-batches \
  -o steps.sh
then=$(cell then iteration_s)
grep -q '^actor_rollout_ref.actor.ppo_mini_batch_size	256	' out &&
  [ "$(runs steps.sh steps)" = "$then" ]
result $? "where it is allowed they change, and the script runs as the table says"
# So are types: GEMMs of training are a third of the time of a 7B model on a node,
# and linear layers take about half of theirs in fp8, beside their casts.  The
# fault: without the flag they stay in bf16.
megatron=$data/verl-grpo-megatron.sh
fp8=actor_rollout_ref.actor.megatron.override_transformer_config.fp8
types='--time=3600 --keep=*.rollout.* --keep=*.ref.* --keep=*micro* --keep=*parallel_size --keep=*checkpointing --keep=*offload --keep=*model.*'
# shellcheck disable=SC2086
works tune "$megatron" $types --threads=1 --format=tsv
! grep -q "^$fp8	" out
result $? "training stays in bf16"
# shellcheck disable=SC2086
works tune "$megatron" $types --threads=1 --format=tsv --allow=training-dtype \
  -o fp8.sh
now=$(cell now iteration_s) then=$(cell then iteration_s)
grep -q "^$fp8	-	e4m3	" out && grep -q "++$fp8=e4m3" fp8.sh &&
  [ "$(runs fp8.sh fp8)" = "$then" ] &&
  awk -v a="$now" -v b="$then" 'BEGIN { exit !(b < a) }'
result $? "where it is allowed linear layers train in fp8: $now s, then $then s"
echo "1..$n"
