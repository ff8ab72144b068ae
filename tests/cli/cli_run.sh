#!/bin/bash
# reallot run: tiny plans, whole.  Numbers of a run depend on the machine's
# rounding, so nothing is golden; runs that must be equal are compared.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# Columns of the TSV: iteration, reward, kl, policy loss ..., time last.
values() { grep -v '^#' out | cut -f1-7; }

works run ppo-tiny-8.plan --dry-run
grep -q ' tasks on 8 ranks of this machine, seed 0$' out &&
  grep -q '^memory: peak ' out && [ "$(wc -l <out)" = 2 ]
result $? "--dry-run says what would run, and no more"

works run ppo-tiny-8.plan -n 2 --check --trace run.trace.tsv
[ "$(grep -c ' s$' out)" = 2 ]
result $? "a line an iteration"
# Eight ranks; the line comes where this machine has fewer cores than that.
line="^8 threads share $(getconf _NPROCESSORS_ONLN) cores: "
if [ "$(getconf _NPROCESSORS_ONLN)" -lt 8 ]; then
  grep -q "$line" out
else
  ! grep -q ' threads share ' out
fi
result $? "more threads than cores are said"
works trace info run.trace.tsv
grep -q 'it1/realloc/actor_train>actor_generate\|it0/realloc' run.trace.tsv &&
  grep -q '	it0/actor_generate/d0/b0/decode	\|it0/actor_generate/d0/b0/decode' \
    run.trace.tsv
result $? "the trace has reallocations and generations"

# The same tasks by the same names as the simulation's, each once.
works simulate ppo-tiny-8.plan -n 2 --no-fold --trace sim.trace.tsv
names() { grep -v '^#' "$1" | tail -n +2 | cut -f1 | LC_ALL=C sort; }
names run.trace.tsv >run.names
names sim.trace.tsv >sim.names
[ -s run.names ] && cmp -s run.names sim.names
result $? "run and simulate have the same tasks"
works compare sim.trace.tsv run.trace.tsv
works compare sim.trace.tsv run.trace.tsv --format=json --worst=1
works compare sim.trace.tsv sim.trace.tsv --format=tsv --worst=0
awk -F'\t' '$1 == "# kinds" { kinds = 1; next } /^#/ { kinds = 0 }
  kinds && $1 == "kind" { off = $5; next }
  kinds { rows++; if ($5 != 0 && $1 != "host") bad = 1 }
  END { exit bad || !rows || off != "error_frac" }' out
result $? "a trace beside itself is not off"
diff sim.names run.names | head -n 5 | sed 's/^/# /'
# And the same ops in them, by name and shape: a row a rank, or a group.
works run ppo-tiny-8.plan -n 1 --ops --trace run.ops.tsv
works simulate ppo-tiny-8.plan -n 1 --no-fold --fidelity=op --decode-ops \
  --trace sim.ops.tsv
ops() { awk -F'\t' '!/^#/ && $7 != "-" { print $1, $7, $8 }' "$1" | LC_ALL=C sort -u; }
ops run.ops.tsv >run.ops
ops sim.ops.tsv >sim.ops
[ "$(wc -l <run.ops)" -gt 10000 ] && cmp -s run.ops sim.ops
result $? "run --ops and simulate --decode-ops have the same ops"
# No core does more than a second's work in a second, but for what reading two
# clocks takes around ops of some microseconds: a few % of a machine with a
# core a thread, either way.  The inverse, 1 of 4 where two cores carry eight
# threads, does not pass.
paced() {
  awk '/^# wall-per-cpu: / { n++; ok = $3 > 0.9 && $3 < 1000; print FILENAME ": " $0 }
    END { exit n != 1 || !ok }' "$1"
}
paced run.ops.tsv && paced run.trace.tsv
result $? "a run says what a second of a core was on the wall, with its ops or not"
diff sim.ops run.ops | head -n 5 | sed 's/^/# /'
works compare sim.ops.tsv run.ops.tsv --plot=- --worst=0
grep -q '^gemm  ' out && grep -q '^Time that the model lacks, by call: ' out &&
  grep -q '^simulated gpu 0' out && grep -q '^measured gpu 0' out
result $? "compare: ops by kind, what lacks, both timelines"
works compare sim.ops.tsv sim.ops.tsv --format=tsv
awk -F'\t' '$1 == "# ops" { at = 1; next } /^#/ { at = 0 }
  at && $1 == "op" { off = $5; next }
  at { rows++; if ($5 != 0 || $7 != 0 || $8 != 0) bad = 1 }
  END { exit bad || rows < 15 || off != "error_frac" }' out
result $? "ops beside themselves are not off"
fails 'unknown ending' compare sim.ops.tsv run.ops.tsv --plot both.jpg
fails '--decode-ops: expected --trace=FILE and --fidelity=op' simulate ppo-tiny-8.plan \
  --decode-ops --trace x.tsv

works run grpo-tiny-4.plan -n 2 --seed 3 --format=tsv
values >first
works run grpo-tiny-4.plan -n 2 --seed 3 --format=tsv
values >second
cmp -s first second && [ "$(wc -l <first)" = 3 ]
result $? "the same run twice gives the same numbers"
works run grpo-tiny-4.plan -n 2 --seed 3 --format=tsv --threads=3
values >second
cmp -s first second
result $? "and on three threads a rank"
works run grpo-tiny-4.plan -n 2 --seed 4 --format=tsv
values >second
! cmp -s first second
result $? "another seed gives others"
works run ppo-tiny-4-colocated.plan -n 1 --format=json --temperature 0.5 \
  --top-k 10 --top-p 0.9
works run ppo-tiny-4-interleaving.plan -n 2 --check
works run ppo-tiny-4-disaggregated.plan -n 2 --check

# What was generated is recorded, and a simulation replays it under another
# seed: decoding costs the same, as it has the same steps, replica by replica.
works run grpo-tiny-4.plan -n 2 --seed 3 --lengths lengths.csv
[ "$(head -n 1 lengths.csv)" = \
  iteration,sequence,prompt_tokens,response_tokens,admitted_step ] &&
  [ "$(wc -l <lengths.csv)" = 129 ]
result $? "--lengths: a row a sequence"
replayed=(--set "workload.prompt-length=replay($PWD/lengths.csv:prompt_tokens)"
  --set "workload.response-length=replay($PWD/lengths.csv:response_tokens)")
works run grpo-tiny-4.plan -n 2 --seed 99 --lengths again.csv "${replayed[@]}"
cmp -s lengths.csv again.csv
result $? "replay(...) has the lengths of the run under another seed"
works run grpo-tiny-4.plan -n 2 --seed 99 --lengths other.csv
! cmp -s lengths.csv other.csv
result $? "which draws others"
decodes() { grep '/decode	' out.tsv | cut -f1,2,9-; }
works simulate grpo-tiny-4.plan -n 2 --seed 3 --no-fold --trace out.tsv
decodes >first
works simulate grpo-tiny-4.plan -n 2 --seed 99 --no-fold --trace out.tsv \
  "${replayed[@]}"
decodes >second
works simulate grpo-tiny-4.plan -n 2 --seed 99 --no-fold --trace out.tsv
decodes >third
[ -s first ] && cmp -s first second && ! cmp -s first third
result $? "a simulation of what was recorded decodes as long"
# Admissions too: every step of every replica has the sequences that it had in
# the run, op by op by name and shape; drawn anew (the fault) it has others.
steps() { grep '/decode/step' out.tsv | cut -f1,7,8 | sort -u; }
works run grpo-tiny-4.plan -n 2 --seed 3 --ops --trace out.tsv
steps >first
works simulate grpo-tiny-4.plan -n 2 --seed 99 --no-fold --trace out.tsv \
  --fidelity=op --decode-ops "${replayed[@]}"
steps >second
works simulate grpo-tiny-4.plan -n 2 --seed 99 --no-fold --trace out.tsv \
  --fidelity=op --decode-ops
steps >third
[ "$(wc -l <first)" -gt 1000 ] && cmp -s first second && ! cmp -s first third
result $? "and admits the same sequences to every step"
# This machine, measured: the profile, its samples, a second start.
run calibrate --backend=host --quick --ranks 1 -o mine.profile
[ "$rc" -eq 0 ] && [ -s mine.samples.trace.tsv ] && grep -q '^device = mine$' mine.profile
result $? "calibrate --backend=host writes a profile and its samples"
works trace info mine.samples.trace.tsv
cp mine.samples.trace.tsv first.samples
cp mine.profile first.profile
run calibrate --backend=host --quick --ranks 1 -o mine.profile
[ "$rc" -eq 0 ] && grep -q '^reallot: 0 of [0-9]* shapes measured' err &&
  cmp first.profile mine.profile
result $? "a second start measures nothing again"
sed 's/^/# /' err
# Stopped half way: what was measured stays, the rest is measured.
rows=$(grep -vc '^#' mine.samples.trace.tsv)
head -n "$((rows / 2))" first.samples >mine.samples.trace.tsv
run calibrate --backend=host --quick --ranks 1 -o mine.profile
left=$(sed -n 's/^reallot: \([0-9]*\) of \([0-9]*\) shapes measured.*/\1 \2/p' err)
[ "$rc" -eq 0 ] && [ "${left% *}" -gt 0 ] && [ "${left% *}" -lt "${left#* }" ]
result $? "one that was stopped half way measures the other half ($left)"
# Lower quartiles at half of what they were are more than 10 % from the upper
# ones, whatever this machine does; measured as they are, it may say so or not.
awk 'BEGIN { FS = OFS = "\t" }
  $1 ~ /\/low$/ { $10 = sprintf("%.9f", $9 + ($10 - $9) / 2) } 1' \
  first.samples >noisy.samples.trace.tsv
run calibrate --backend=host --quick --ranks 1 -o noisy.profile
[ "$rc" -eq 0 ] && grep -q '^reallot: this machine is noisy: half of the' err
result $? "repeats that are far apart are said"
fails "its grid is 'quick, 1 ranks at the same time', expected 'full, 1" \
  calibrate --backend=host --ranks 1 -o mine.profile
works run ppo-tiny-8.plan -n 2 --profile mine.profile
[ "$(grep -c ' s  .* s .* %$' out)" = 2 ] && grep -q 'predicted    error$' out
result $? "with it a line has what was predicted"
works simulate ppo-tiny-8.plan -n 2 --profile mine.profile

# No machine has the memory of 405 thousand million fp32 parameters.
run run ppo-tiny-8.plan --set 'model actor.config=llama-3.1-405b.json' \
  --set 'model ref.config=llama-3.1-405b.json'
[ "$rc" -eq 1 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] &&
  grep -q 'most of it .* of ' err
result $? "a plan that needs too much memory is refused before it starts"
sed 's/^/# /' err

# A checkpoint there and back: what nothing trains is written as it was read,
# whatever the layout; a model is its own reference, so the KL begins at 0.
works run ppo-tiny-8.plan -n 1 --seed 5 --save ref=w.first --save actor=w.tuned
[ -s w.first/config.json ] && [ -s w.first/model.safetensors ]
result $? "--save writes a checkpoint"
works run ppo-tiny-8.plan -n 1 --weights ref=w.first --save ref=w.second
cmp -s w.first/model.safetensors w.second/model.safetensors
result $? "--weights reads what --save wrote, bit for bit"
! cmp -s w.first/model.safetensors w.tuned/model.safetensors
result $? "what was trained is another"
works run ppo-tiny-8.plan -n 1 --weights actor=w.tuned --weights ref=w.tuned \
  --format=tsv
[ "$(values | awk -F'\t' '$1 == "0" { k = $3 + 0; print (k < 1e-6 && k > -1e-6) }')" = 1 ]
result $? "an actor that is its reference has no KL"
works run ppo-tiny-8.plan -n 1 --save critic=w.values
fails "'nobody=w.first' is not MODEL=FOLDER" \
  run ppo-tiny-8.plan --weights nobody=w.first
fails "'actor' is not MODEL=FOLDER" run ppo-tiny-8.plan --save actor
fails "model 'ref' occurs twice" \
  run ppo-tiny-8.plan --weights ref=w.first --weights ref=w.first
fails "nowhere/config.json: No such file" \
  run ppo-tiny-8.plan --weights ref=nowhere
fails "tensor 'lm_head.weight' of model 'tiny-llama' is missing" \
  run ppo-tiny-8.plan --weights actor=w.values

# A run that is killed, at whatever moment, goes on to the same bits.
works run ppo-tiny-4-colocated.plan -n 8 --save actor=k.whole
for try in 1 2 3; do
  "$reallot" run ppo-tiny-4-colocated.plan -n 8 --checkpoint k.all --resume \
    >/dev/null 2>&1 </dev/null &
  pid=$!
  i=0
  while [ ! -d "k.all/iteration-00000$try" ] && [ $((i += 1)) -lt 600 ]; do
    sleep 0.05
  done
  kill -KILL $pid 2>/dev/null
  wait $pid 2>/dev/null
done
# Ops end after their task has begun, also where checkpoints were saved since.
works run rm-tiny-2.plan -n 3 --ops --checkpoint k.ops --trace ops.tsv
awk -F'\t' '!/^#/ && $1 != "name" {
    if ($7 == "-") { begin[$1] = $9; next }
    t = $1; sub(/\/(l[0-9]+|embedding|head)\/[^\/]*$/, "", t)
    if ($10 > last[t]) last[t] = $10 }
  END { for (t in last) if (t in begin) { n++; bad += last[t] < begin[t] }
    exit !(n > 30 && bad == 0) }' ops.tsv
result $? "ops keep their times where checkpoints are saved"
works run ppo-tiny-4-colocated.plan -n 8 --checkpoint k.all --resume \
  --save actor=k.resumed
cmp -s k.whole/model.safetensors k.resumed/model.safetensors
result $? "killed three times and resumed: the same bits"
[ "$(find k.all -mindepth 1 -maxdepth 1 | wc -l)" = 2 ]
result $? "the newest two checkpoints stay"
fails "k.all/iteration-000008' exists, expected --resume" \
  run ppo-tiny-4-colocated.plan --checkpoint k.all
fails "it is of another workload" run ppo-tiny-4-colocated.plan -n 9 \
  --checkpoint k.all --resume --set 'workload.response-length=fixed(4)'
works run ppo-tiny-4-colocated.plan -n 9 --checkpoint k.all --resume \
  --anyway --set 'workload.response-length=fixed(4)'
fails "--anyway: expected --resume" run ppo-tiny-8.plan --anyway
fails "--every, --keep and --resume: expected --checkpoint" run ppo-tiny-8.plan --resume
fails "it has 9 iterations, expected fewer than the 8" \
  run ppo-tiny-4-colocated.plan -n 8 --checkpoint k.all --resume

echo "1..$n"
