#!/bin/bash
# Goals of seven people who use the program for the first time, reached by the
# commands that stand here, in their order: a transcript that is run.  Each step
# says what its person reads off; nothing is edited but files that the steps
# before wrote.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"
export XDG_CACHE_HOME=$tmp/cache
data=$srcdir/tests/data

# PATTERN may be empty: the command writes a file.
step() { # STATUS WHAT PATTERN COMMAND...: COMMAND prints PATTERN, exits STATUS
  local status=$1 what=$2 pattern=$3
  shift 3
  "$@" >out 2>err </dev/null
  rc=$?
  [ "$rc" -eq "$status" ] && { [ -z "$pattern" ] || grep -qE -e "$pattern" out; }
  result $? "$what"
  [ "$rc" -eq "$status" ] || sed 's/^/# /' err
}
reallot() { "$reallot" "$@"; }

# --- 1. An RL engineer: does GRPO of Qwen2.5-32B fit 4 nodes, and what is faster?

step 0 "files to start from, by the model's name on the Hub" '^\./job\.plan$' \
  reallot new job --model=Qwen/Qwen2.5-32B --nodes=4
sed -i 's/^response-length = .*/response-length = lognormal(4000, 3500, 16384)/
  s/^samples-per-prompt = .*/samples-per-prompt = 16/' job.workload
step 1 "her lengths do not fit, and what does is said" '^Changes that fit together:' \
  reallot simulate job.plan
eval "flags=($(grep "^  --set 'call" out | sed 's/ (peak.*//'))"
step 0 "so it fits, with its error" '^  90 % interval +[0-9.]+ s to [0-9.]+ s$' \
  reallot simulate job.plan "${flags[@]}"
step 0 "another family's plan" '' \
  reallot plan --strategy=real --workload=job.workload --cluster=job.cluster -o real.plan
step 1 "side by side: time, memory, what fits" '^real is the only plan that fits' \
  reallot simulate job.plan real.plan
step 0 "her verl script as a plan" '^assumed .*no price' \
  reallot import "$data/import/verl-grpo-qwen2-7b.sh" --name=verl
step 0 "its time" '^  iteration ' reallot simulate verl.plan
step 0 "and back" 'actor_rollout_ref' reallot export verl.plan --to=verl
step 0 "what would help most" '^resource ' reallot simulate verl.plan --sensitivity

# --- 2. An infrastructure lead: which GPUs for an MoE of 235B?

step 0 "sizes of GPUs that can be rented" '^gb200 ' reallot list gpus
step 0 "clusters with their prices" '^gb200-nvl72.cluster .* 10\.5$' reallot list clusters
step 0 "a start with experts on 256 H100" '^\./moe\.plan$' \
  reallot new moe --model=Qwen/Qwen3-235B-A22B --nodes=32
grep -q '^ep = ' moe.plan
result $? "whose plan shares experts"
step 0 "a rack of GB200" '^\./rack\.plan$' \
  reallot new rack --model=Qwen/Qwen3-235B-A22B --gpu=gb200
sed -e 's/^title.*/title = H100, H200 or B200?/' -e '/^question/,$d' moe.study >buy.study
cat >>buy.study <<'END'
question = pareto
of = iteration, usd-per-mtoken
iterations = 1
[axis gpu]
key = cluster.gpu, cluster.price
values = h100-sxm | 6.155 USD/gpu/h, h200-sxm | 6.305 USD/gpu/h, b200-sxm | 8.6 USD/gpu/h
labels = H100, H200, B200
END
sed -i 's/^cluster = .*/&\nplacement = hybridflow/' buy.study
step 0 "which purchase, with its share of cases" '^gpu .* share$' reallot study buy.study
fails "the cluster's fabric is oversubscribed 4:1, expected --network=flows" \
  simulate moe.plan --set 'cluster.fabric=rail(leaf=4, oversubscription=4)'
step 0 "but a loss of its own" '^  iteration ' reallot simulate moe.plan -n 1 \
  --fidelity=call --network=flows --set 'cluster.fabric=rail(leaf=4, oversubscription=4)'

# --- 3. A person who measures: the profile of a GPU from traces and logs.

step 0 "a profiler's trace is known" 'PyTorch profiler' reallot inspect "$data/kineto/cuda.json"
gzip -c "$data/kineto/cuda.json" >rank0.json.gz
step 0 "as torch writes it, too" '.' reallot inspect rank0.json.gz
step 0 "and refits the laws that it has rows of" '' reallot calibrate \
  --from rank0.json.gz --merge h100-sxm.profile -o mine.profile
step 0 "which a plan is simulated with" '^mine.profile' reallot simulate \
  ppo-tiny-4-colocated.plan --profile=mine.profile
step 0 "a run on this machine's cores" 'iteration' reallot run ppo-tiny-4-colocated.plan \
  -n 2 -t run.trace.tsv
step 0 "its prediction" '^  iteration ' reallot simulate ppo-tiny-4-colocated.plan \
  --no-fold -n 2 -t sim.trace.tsv
step 0 "and both side by side" '^Median absolute error' reallot compare sim.trace.tsv run.trace.tsv
fails "no task in common" compare sim.trace.tsv "$data/kineto/cuda.json"

# --- 4. A researcher: a paper's comparison, and where the time goes.

step 0 "HybridFlow's placements" '^Answer$' reallot study hybridflow-13b.study
step 0 "critical path by cause, op and link" '^Critical path by cause, op and link' \
  reallot simulate ppo-llama3-70b-128.plan --explain
step 0 "the timeline in Perfetto in one command" '' \
  reallot trace export ppo-tiny-4-colocated.plan -o path.json
grep -q '"critical path"' path.json && grep -q '"ph":"C"' path.json
result $? "with the critical path and memory over time"
step 0 "one page of everything" '' reallot report ppo-tiny-4-colocated.plan -o page.html

# --- 5. A contributor: one test of one file, and what a new one needs.

grep -q 'check-one T=' "$srcdir/HACKING.md"
result $? "how one test is built and run alone"
# Paths of its recipes are there (NAME and other placeholders aside).
grep -o '`[a-z]*/[a-z_/]*\.[chm][dk]*`' "$srcdir/HACKING.md" | tr -d '`' | sort -u |
  while read -r file; do [ -e "$srcdir/$file" ] || echo "$file"; done >gone
[ ! -s gone ]
result $? "files that its recipes name"
sed 's/^/# /' gone

# --- 6. Somebody who mistypes: one line that says what was expected.

fails "did you mean 'samples-per-prompt'" simulate job.plan --set workload.samples=8
fails "did you mean 'actor_generate'" simulate job.plan --set 'call actor_gen.tp=4'
fails "did you mean 'Gb/s'" simulate job.plan --set 'cluster.nic=400 gbps'
fails "is a directory" simulate .
fails "expected less than the maximum" simulate job.plan \
  --set 'workload.response-length=lognormal(4000, 3000, 1000)'

# --- 7. A script: fields, not words.

step 0 "JSON with true and false" '"fits": true' reallot simulate \
  ppo-tiny-4-colocated.plan -n 1 --format=json
step 1 "and a status that says no" '"fits": false' reallot simulate \
  ppo-tiny-4-colocated.plan -n 1 --format=json --set 'cluster.framework-memory=80 GiB'
step 1 "what differs in two plans" '"key": ' reallot diff job.plan real.plan --format=json

echo "1..$n"
