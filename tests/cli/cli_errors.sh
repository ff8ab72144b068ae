#!/bin/bash
# The command line: one line for every wrong flag and file, nothing written.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

run simulate "$plan" --trace a.trace.tsv

# ---- errors -----------------------------------------------------------------

set_fails() { # MESSAGE CHANGE
  fails "$1" simulate "$plan" --set "$2"
}

fails "expected a command"
fails "unknown command 'simulat', did you mean 'simulate'?" simulat
fails "unknown command 'xyzzyx', try 'reallot --help'" xyzzyx
fails "unknown option '--verison', did you mean '--version'?" --verison
fails "unknown command 'plto', did you mean 'plot'?" help plto
fails "unexpected argument 'b'" help plot b

for command in $commands; do
  [[ $command = keys || $command = list ]] || # which then say all
    fails "expected 'reallot $command " "$command"
  [[ $command = simulate || $command = validate ]] || # they take several
    fails "unexpected argument" "$command" a b c
  fails "unknown option '--hepl', did you mean '--help'?" "$command" --hepl
  fails "unknown option '-Z'" "$command" -Z
done
for flag in --seed --format --iterations --fidelity --network --estimator --set \
  --workload --cluster --profile --system --trace; do
  fails "missing argument for $flag" simulate "$plan" $flag
done
for value in x -1 1.5 '' ' 1' 0x10 18446744073709551616; do
  fails "--seed: '$value' is not a whole number from 0" simulate "$plan" \
    "--seed=$value"
done
for value in 0 1001 x -3; do
  fails "--iterations: '$value' is not a whole number from 1 to 1000" simulate \
    "$plan" "--iterations=$value"
done
fails "--format: unknown value 'jsn', expected one of text, tsv, json, did you mean 'json'?" \
  simulate "$plan" --format=jsn
fails "--fidelity: unknown value 'ops', expected one of call, stage, op, did you mean 'op'?" \
  simulate "$plan" --fidelity=ops
fails "--network: unknown value 'flow', expected one of off, flows, did you mean 'flows'?" \
  simulate "$plan" --network=flow
fails "links of the cluster have rates of their own, expected --network=flows" \
  simulate "$plan" --set 'link node0/gpu0.rate=1 GB/s'
fails "node 0 has no working link" simulate "$plan" --network=flows \
  --set cluster.nics-per-node=1 --set 'cluster.nic=1 GB/s' \
  --set 'link node0/nic0.rate=0 B/s'
fails "--estimator: unknown value 'realot', expected one of reallot, real, did you mean 'reallot'?" \
  simulate "$plan" --estimator=realot
for flag in --workload --cluster --profile --system --trace; do
  fails "$flag: expected a file name" simulate "$plan" $flag=
done
fails "unknown option '--trace'" graph "$plan" --trace=x
fails "unknown option '--seed'" inspect "$plan" --seed=1

set_fails "expected 'GROUP.KEY=VALUE'" x
set_fails "expected 'GROUP.KEY=VALUE', the group is empty" .tp=4
set_fails "expected 'GROUP.KEY=VALUE', the key is empty" 'call x.=4'
set_fails "expected 'GROUP.KEY=VALUE', the value is empty" cluster.nodes=
set_fails "unknown group 'clster', did you mean 'cluster'?" clster.nodes=3
set_fails "unknown group 'xyzzyx', expected workload" xyzzyx.nodes=3
set_fails "'cluster' with a name" 'cluster x.nodes=3'
set_fails "'call' without a name" call.tp=3
set_fails "unknown key 'tq' in [call NAME], did you mean 'tp'?" \
  'call actor_train.tq=4'
set_fails "unknown key 'tp' in [call NAME] of a workload" \
  'workload:call actor_train.tp=4'
set_fails "'format' may be a key of a workload or a plan" \
  'call actor_train.format=1'
set_fails "has no [call actor_trian], did you mean 'actor_train'?" \
  'call actor_trian.tp=4'
set_fails "has no [model actr], did you mean 'actor'?" 'model actr.dtype=fp8'
fails "expected a GPU with fp8 units: 'a100-sxm' has none" simulate "$plan" \
  --set 'call actor_train.gemm-dtype=fp8' --set cluster.gpu=a100-sxm
set_fails "'gemm-dtype' of the generate call 'actor_generate'" \
  'call actor_generate.gemm-dtype=fp8'
set_fails "expected it beside 'gemm-dtype = fp8'" \
  'call actor_train.fp8-params=true'
set_fails "--set 'cluster.nodes=two': 'nodes' is 'two', expected an integer" \
  cluster.nodes=two
set_fails "--set 'cluster.nic=400': " cluster.nic=400
set_fails "unknown key 'bf61' in [device], did you mean 'bf16'?" \
  'device.bf61=1 TFLOP/s'
set_fails "--set 'device.bf16=1': " device.bf16=1
set_fails "has no [law hots], did you mean 'host'?" law\ hots.x=1
set_fails "--set 'law host.eager=1': " 'law host.eager=1'
set_fails "changes a system, expected --system=FILE" constants.compute-factor=2
set_fails "--set 'call actor_train.mesh=node[0-99]': 'mesh': " \
  'call actor_train.mesh=node[0-99]'
set_fails "no file 'nosuch.workload'" plan.workload=nosuch.workload
set_fails "no file 'nosuch.json'" 'model actor.config=nosuch.json'
set_fails "no file 'nosuch.profile'" cluster.gpu=nosuch
set_fails "no file 'nosuch.system'" plan.system=nosuch
set_fails "expected one line of UTF-8 without control characters" \
  $'cluster.nodes=3\r4'
fails "changes a cluster, found a workload" inspect \
  ppo-llama2-7b.workload --set cluster.nodes=2
fails "--cluster: expected a plan, found a workload" inspect \
  ppo-llama2-7b.workload --cluster=h100-1n.cluster
fails "--workload: expected a plan, found a cluster" inspect \
  h100-1n.cluster --workload=x
fails "--profile: expected a plan, a workload or a cluster, found a model" inspect \
  llama-3-8b.json --profile=x
fails "--system: expected a plan, found a cluster" inspect \
  h100-1n.cluster --system=x
fails "--factor: '1' is out of range, expected a number above 1" simulate "$plan" \
  --sensitivity --factor=1
fails "--plot: expected --sensitivity" simulate "$plan" --plot=-
fails "--sensitivity with --trace" simulate "$plan" --sensitivity --trace=x
fails "several seeds or plans with --sensitivity" simulate "$plan" "$plan" \
  --sensitivity
printf '[system]\nrelease = x\n[constants]\nx = 1\n' >bad.system
fails "bad.system:1: missing key 'derived' in [system]" simulate "$plan" \
  --system=bad.system
fails "bad.system:1: missing key 'derived' in [system]" inspect bad.system
fails "--set: expected a plan, found a trace" plot a.trace.tsv \
  --set=cluster.nodes=2

# Words of other frameworks.
for word in fsdp FSDP2 zero3 deepspeed; do
  fails "hybridflow; colocated is ZeRO-3 on all GPUs" plan --strategy=$word \
    --workload=ppo-tiny.workload --cluster=h100-1n.cluster
done

# Files that are not there, no files, or of the wrong kind.
# The message names folders that are there, each once, in a line that is short
# but for their names.
fails "no file 'nosuch.plan', expected it in '.' or '" simulate nosuch.plan
short() { # FILE: one line, no folder twice
  [ "$(sed "s|'[^']*'||g" "$1" | wc -c)" -le 60 ] &&
    [ -z "$(grep -o "'[^']*'" "$1" | sort | uniq -d)" ]
}
short err
result $? "the message of a missing file is short"
sed "s|or '.*|&, & or &|" err >long
! short long
result $? "one that names a folder twice would be found"
fails "no file 'no/such.plan', expected an existing file" simulate no/such.plan
fails "--profile: no file 'qqq.profile', expected it in" simulate "$plan" \
  --profile=qqq.profile # not near a30.profile
cp "$reallot" alone
RA_DATA_PATH= ./alone simulate nosuch.plan >out 2>err
[ $? -eq 2 ] &&
  grep -q "expected it in '.' or 'plans' of a folder of RA_DATA_PATH$" err
result $? "without shipped files it names RA_DATA_PATH"
mkdir dir dir.plan
fails "dir: Is a directory" inspect dir
fails "'dir.plan' is a directory" simulate dir.plan
fails "no file 'ppo-llama3-70b-182.plan', did you mean 'ppo-llama3-70b-128.plan'?" \
  simulate ppo-llama3-70b-182.plan
for flag in workload cluster profile system; do
  fails "--$flag: no file 'nosuch'" simulate "$plan" --$flag=nosuch
  fails "--$flag: 'dir' is a directory" simulate "$plan" --$flag=dir
done
fails "nosuch: No such file or directory" inspect nosuch
fails "nosuch.tsv: No such file or directory, expected an existing file" plot nosuch.tsv
echo hello >hello
fails "hello: unknown kind of file" inspect hello
: >empty
fails "empty: unknown kind of file" graph empty
for command in simulate plot graph; do
  fails "h100-1n.cluster: " $command "$srcdir/share/clusters/h100-1n.cluster"
done
fails "is a plan, expected a trace" trace info "$plan"
fails "is a workload, expected a plan" simulate \
  "$srcdir/share/workloads/ppo-llama2-7b.workload"
cp "$plan" broken.plan && echo 'tp = 2' >>broken.plan
sed 's/^cluster = .*/cluster = broken.plan/' "$plan" >wrong.plan
fails "broken.plan:" simulate broken.plan
fails "broken.plan:" simulate wrong.plan
head -c 3000 /dev/urandom | tr -d '\n' >noise.plan
fails "noise.plan:1: " simulate noise.plan
printf '# reallot trace 1\nname\n' >bad.tsv
fails "bad.tsv:2: " trace info bad.tsv
printf '{"model_type": "llama"' >bad.json
fails "bad.json:1: " inspect bad.json

fails "unknown value 'expotr', expected one of info, export, did you mean 'export'?" trace expotr \
  a.trace.tsv
fails "--chrome: expected 'trace export'" trace info --chrome a.trace.tsv
fails "--output: expected 'trace export'" trace info a.trace.tsv -o x
fails "--format: expected 'trace info'" trace export --chrome \
  --format=json a.trace.tsv
fails "expected 'reallot calibrate --from DIR" calibrate -o h100-sxm.profile
fails "missing --gpu or --output" calibrate --from "$srcdir"
fails "--backend: unknown value 'metal', expected one of host, cuda" \
  calibrate --backend metal -o x.profile
fails "need a device, expected --backend=host or --backend=cuda" calibrate --quick -o x.profile
fails "--backend measures this machine, expected no --from" \
  calibrate --backend=host --from . -o x.profile
fails "--ranks: '0'" calibrate --backend=host --ranks 0 -o x.profile
fails "--ranks: one rank measures a GPU" \
  calibrate --backend=cuda --dry-run --ranks 2
fails "unknown value 'ncl', expected one of nccl, did you mean 'nccl'?" \
  calibrate --backend=cuda --dry-run --communicator=ncl
fails "--communicator: 'nccl' connects GPUs" \
  calibrate --backend=host --communicator=nccl
fails "--cluster and --largest are for collectives" \
  calibrate --backend=cuda --dry-run --largest=1MiB
fails "need a device, expected --backend=host or --backend=cuda" calibrate --communicator=nccl
fails "--dry-run is not supported here, expected --backend=cuda" calibrate --backend=host --dry-run
fails "expected no --from, --merge" \
  calibrate --backend=cuda --dry-run --merge h100-sxm.profile
fails "'h1000'" calibrate --backend=cuda --dry-run --gpu h1000
fails "no-such.profile" calibrate --backend=cuda --dry-run --refit no-such.profile
fails "'x' does not name a GPU, expected GPU.profile" calibrate --from . -o x
fails "unknown GPU 'x900', expected one of h100-sxm, " calibrate --from . \
  -o x900.profile
fails "no file 'x900.profile'" calibrate --from . --transfer x900.profile \
  -o l40s.profile
fails '/nonexistent: neither a folder nor a trace, expected a folder' \
  calibrate --from /nonexistent --gpu h100-sxm
fails '/nonexistent: not a folder, expected a folder of measurements' \
  validate /nonexistent
fails "no benchmark set 'x'" validate . --level=x
fails "no measurements that can be scored" validate .
fails "no folder of measurements, expected 'reallot validate DIR'" \
  validate
fails "--worst: 'x' is not a whole number" validate . --worst=x
fails "a: not a folder, expected a folder of measurements" \
  validate a b
fails "--worst: 'x' is not a whole number" compare a.trace.tsv a.trace.tsv \
  --worst=x
fails "/nonexistent" compare /nonexistent a.trace.tsv
fails "--reward: unknown rule 'x', expected even" run ppo-tiny-8.plan --reward=x
fails "--kl: 'x' is not a number from 0 to 100" run ppo-tiny-8.plan --kl=x
fails "--beta: 'x' is not a number from 0 to 100" run dpo-tiny-4.plan --beta=x
fails "--show: 'x' is not a whole number" run dpo-tiny-4.plan --show=x
fails "has micro-batches of 1 sequences, expected whole pairs" \
  run dpo-tiny-4.plan --set 'call actor_train.micro-batches=8'
fails "has balance = tokens, which parts its pairs, expected balance = sequences" \
  run dpo-tiny-4.plan --set 'call actor_train.balance=tokens'
fails "text 5 of the data has 6 tokens, expected at most 5, the maximum of its length distribution" \
  run sft-tiny-4.plan --set 'workload.prompt-length=uniform(2, 5)'
fails "the data has 1 responses per prompt, expected 2 for call 'ref_inference'" \
  run dpo-tiny-4.plan --set 'workload.data=count.ids'
fails "'data': " run sft-tiny-4.plan --set 'workload.data=nowhere.ids'
fails "--threads: '0' is" run ppo-tiny-8.plan --threads=0
fails "--top-p: '2' is not a number from 0 to 1" run ppo-tiny-8.plan --top-p=2
fails "call 'actor_train' has zero > 1, which the host" run ppo-tiny-8.plan \
  --set 'call actor_train.zero=2' --set 'call actor_train.pp=1' \
  --set 'call actor_train.dp=2'
fails "call 'actor_train' has expert-tp below tp, which the host" \
  run ppo-tiny-8.plan --set "model actor.config=$srcdir/tests/data/run-mixtral.json" \
  --set 'call actor_train.expert-tp=1' \
  --set 'call actor_train.sequence-parallel=true'
fails "call 'actor_generate' has batching = continuous" \
  run ppo-tiny-8.plan --set 'call actor_generate.batching=continuous'
fails "call 'actor_generate' has a model whose dtype is not fp32" \
  run ppo-tiny-8.plan --set 'model actor.dtype=bf16' \
  --set 'call actor_train.grad-dtype=fp32'
fails "--width: '0' is not a whole number" plot a.trace.tsv --width=0
fails "--height: 'x' is not a whole number" plot a.trace.tsv --height=x
fails "--from: 'x' is not a time" plot a.trace.tsv --from=x
fails "--to: '1 B' is not a time" plot a.trace.tsv --to='1 B'
fails "--to: '1' is not after --from" plot a.trace.tsv --from=2 --to=1
fails "--gpu: expected --memory" plot "$plan" --gpu 1
fails "--gpu: expected a GPU that some call uses" plot "$plan" --memory \
  --gpu 8 -o new.svg
fails "--memory: expected --output" plot "$plan" --memory
fails "--iteration: expected neither --from" plot a.trace.tsv --iteration=1 \
  --to=3
fails "iteration" plot a.trace.tsv --iteration=99
fails "nothing runs between" plot a.trace.tsv --from=1e8 --to=1.1e8

pair='--workload=ppo-llama2-7b.workload --cluster=h100-1n.cluster'
# shellcheck disable=SC2086 # words are split on purpose
{
  fails "expected 'reallot plan --strategy=NAME" plan $pair
  fails "--strategy: unknown value 'colocate', expected one of colocated, interleaving" plan $pair \
    --strategy=colocate
  fails "expected --workload and --cluster" plan --strategy=megatron
  fails "--workload: no file 'nosuch'" plan --strategy=megatron \
    --workload=nosuch --cluster=h100-1n.cluster
  fails "--split: '4:x' is not a list of weights" plan $pair --strategy=disaggregated \
    --split=4:x
  fails "--split: '4:0' is not a list of weights" plan $pair --strategy=disaggregated \
    --split=4:0
  fails "--split: '' is not a list of weights" plan $pair --strategy=disaggregated --split=
  fails "--split: 2 numbers, expected 6, actor_generate:" plan \
    --workload=ppo-llama2-7b.workload --cluster=h100-16n.cluster \
    --strategy=disaggregated --split=4:1
  fails "--split: not supported, expected --strategy=disaggregated" plan $pair \
    --strategy=real --split=1:1
  fails "--generate-tp: not supported, expected --strategy=colocated or interleaving" plan \
    $pair --strategy=real --generate-tp=2
  fails "--generate-tp: '0' is not a whole number from 1" plan $pair \
    --strategy=colocated --generate-tp=0
  fails "--fit: not supported, expected --strategy=megatron" plan $pair --strategy=real --fit
  fails "changes a plan, expected a change of the workload" plan $pair \
    --strategy=megatron --set 'call actor_train.tp=2'
}

# ---- nothing is written on failure ------------------------------------------

# No output replaces an input, whatever it is called: the plan, what it names,
# what a flag names, the trace whose picture has its data in FILE.dat.
cp "$srcdir"/share/workloads/ppo-tiny.workload "$plans/ppo-tiny-8.plan" .
ln -s ppo-tiny-8.plan soft.plan
ln ppo-tiny-8.plan hard.plan
mv ppo-tiny-8.plan x.plan
ln -sf x.plan soft.plan
"$reallot" simulate x.plan -n 1 -t run.dat >/dev/null
cat x.plan ppo-tiny.workload run.dat >before
kept() { # FILE ARGUMENT...
  fails "$1: what is written to '" "${@:2}"
  cat x.plan ppo-tiny.workload run.dat | cmp -s - before
  result $? "and $1 is as it was"
}
kept run.dat plot run.dat -o run.svg
kept x.plan plot x.plan -o y.svg --data=x.plan
kept x.plan simulate x.plan -t x.plan
kept x.plan simulate x.plan -t hard.plan
kept soft.plan graph soft.plan -o x.plan
kept ./ppo-tiny.workload graph x.plan -o ppo-tiny.workload
kept ppo-tiny.workload plan --strategy=real --workload=ppo-tiny.workload \
  --cluster=h100-1n.cluster -o ppo-tiny.workload
kept x.plan search --workload=ppo-tiny.workload --cluster=h100-1n.cluster \
  --pins=x.plan -o x.plan
run plot run.dat -o run.svg --data=other.dat
[ "$rc" -eq 0 ] || grep -q 'gnuplot not found' err
result $? "data elsewhere leave a trace beside the picture"

# A pipe that a file names is not waited for, and of what is no trace the first
# bytes are enough.
mkfifo pipe.workload pipe.safetensors
sed 's/^workload.*/workload = pipe.workload/' x.plan >pipe.plan
fails "'workload': no file 'pipe.workload', " \
  simulate pipe.plan
mkdir weights
cp "$srcdir/share/models/tiny-llama.json" weights/config.json
mv pipe.safetensors weights/model.safetensors
fails 'weights/model.safetensors: no regular file' \
  run x.plan --weights actor=weights
fails "/dev/zero:1: no trace: expected '# reallot trace 1' as the first line" \
  trace info /dev/zero

# Parsers that recurse, and files of any size: what they are is seen before they
# are held.  64 levels are read, 65 are not (base/nesting.h).
levels() { printf '{"traceEvents": %*s' "$1" '' | tr ' ' '['; }
levels 100000 >deep.json
fails 'deep.json:1: nested deeper than 64' calibrate --from deep.json \
  --merge h100-sxm.profile -o never.profile
echo '{"a": "[[[\"[[", "traceEvents": ['"$(printf '[%.0s' {1..62})$(printf ']%.0s' {1..62})"']}' \
  >flat.json
fails 'no known op has a shape' calibrate --from flat.json \
  --merge h100-sxm.profile -o never.profile
head -c 300000 /dev/zero | tr '\0' 9 | sed 's/^/{"a": /' >long.json
fails 'long.json:1: a word of more than 4 KiB' calibrate --from long.json \
  --merge h100-sxm.profile -o never.profile
truncate -s 1G large.csv
fails 'large.csv: file is larger than' simulate x.plan \
  --set "workload.response-length=file($PWD/large.csv)"
mkdir -p large/train_tables && ln large.csv large/train_tables/train_bench.csv
run validate large
[ "$rc" -eq 2 ] && grep -q 'file is larger than' err
result $? "a table of 1 GiB is refused"

# Small limits: fewer threads where there is no room for more, and stacks that
# are large enough (a sanitizer needs more memory than that by itself).
same() { # WHAT LIMIT...: the same seeds as without
  (ulimit "${@:2}" && "$reallot" simulate x.plan -n 1 --seeds=8 --threads=8) \
    >limited 2>err
  cmp -s limited free && [ ! -s err ]
  result $? "$1"
}
if "$reallot" simulate x.plan -n 1 --seeds=8 --threads=8 >free &&
  (ulimit -v 600000 && "$reallot" --version) >/dev/null 2>&1; then
  same "stacks of 256 KiB" -s 256
  # The least room for one thread, to 4 MiB: with 4 MiB more, not one stack of
  # 8 MiB has a place beside it.
  room=8192
  until (ulimit -v $room && "$reallot" simulate x.plan -n 1 --seeds=8 \
    --threads=1) >/dev/null 2>&1 || [ $room -gt 600000 ]; do
    room=$((room + 4096))
  done
  same "no room for threads" -s 8192 -v $((room + 4096))
fi
# A refused file takes at most 256 MiB whatever its size, wherever its fault is:
# 80 MB of rows of 26 bytes, 48 MB of a profiler's kernels of 33, the fault at
# the end.  Rows and kernels that are kept take 100 bytes or more.
small() { # FAULT COMMAND FILE
  (ulimit -v 262144 && "$reallot" "${@:2}") >out 2>err
  rc=$?
  [ $rc -eq 2 ] && grep -qF "$1" err
  result $? "$3 is refused in 256 MiB"
}
if (ulimit -v 262144 && "$reallot" --version) >/dev/null 2>&1; then
  { head -n 1 a.trace.tsv && grep "^name" a.trace.tsv
    yes $'a\t0\ta\ta\t0\ta\t-\t-\t0\t0\t0\t0' | head -n 3000000
    echo fault; } >large.tsv
  small 'large.tsv:3000003: 1 fields, expected 12' trace info large.tsv
  { echo '{"traceEvents":['
    yes '{"cat":"kernel","ts":1,"dur":1},' | head -n 1500000
    echo '{"cat":"kernel",}]}'; } >large.json
  small 'large.json:1500002: no JSON:' inspect large.json
  gzip -1 -f large.json
  small 'large.json.gz:1500002: no JSON:' inspect large.json.gz
  rm -f large.tsv large.json.gz
fi
# Too little memory or no thread: an answer, or one line and exit 2.
short() { # KIB ARGUMENT...
  (ulimit -v "$1" && exec timeout 60 "$reallot" "${@:2}") >out 2>err </dev/null
  rc=$?
  [ $rc -eq 0 ] || [ $rc -eq 127 ] || # the loader's own
    { [[ $rc = [23] ]] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^reallot: ' err; }
  result $? "$1 KiB of memory are enough for $2, or it says so"
}
if (ulimit -v 600000 && "$reallot" --version) >/dev/null 2>&1; then
  for room in 24576 32768 65536 262144; do
    short $room report "$plans/ppo-tiny-8.plan" -n 1 -o r.html
    short $room run "$plans/ppo-tiny-8.plan" -n 1
    short $room simulate x.plan -n 1 --seeds=8 --threads=8
    short $room search --workload=ppo-tiny.workload \
      --cluster=h100-1n.cluster --steps=100 --threads=4 --samples=1
  done
fi

# Whichever standard files are closed, a picture is drawn or refused, and a
# gnuplot that says nothing is none that crashes us.
closed() { # WHAT STATUS: of the command before
  [ "$2" -eq 0 ] && [ -s closed.svg ] || [ "$2" -eq 2 ]
  result $? "a picture with $1 closed"
  rm -f closed.svg
}
draw=("$reallot" plot "$plans/ppo-tiny-8.plan" -n 1 -o closed.svg)
"${draw[@]}" <&-
closed 0 $?
"${draw[@]}" <&- >&-
closed '0 and 1' $?
"${draw[@]}" <&- 2>&-
closed '0 and 2' $?
"${draw[@]}" <&- >&- 2>&-
closed 'all three' $?
mkdir silent
printf '#!/bin/sh\nexit 1\n' >silent/gnuplot
chmod +x silent/gnuplot
PATH=$tmp/silent:$PATH "${draw[@]}" 2>err
[ $? -eq 2 ] && [ "$(cat err)" = 'reallot: gnuplot failed: no reason given' ]
result $? "a gnuplot that fails without a word"


: >before; : >differ
find . -maxdepth 1 | sort >before
fails "no file" simulate nosuch.plan --trace new.tsv
fails "" plot a.trace.tsv -o new.gif
fails "" plot nosuch.tsv -o new.svg
fails "" graph nosuch.plan -o new.dot
fails "" trace export --chrome bad.tsv -o new.json
fails "/nonexistent/x: No such file or directory, expected a folder that exists" \
  simulate "$plan" --trace /nonexistent/x
fails "dir: Is a directory, expected a file" graph "$plan" -o dir
fails "dir: Is a directory" trace export --chrome a.trace.tsv -o dir
find . -maxdepth 1 | sort | diff before - >differ
[ ! -s differ ]
result $? "failures left no file behind"
sed 's/^/# /' differ
echo old >old.tsv
fails "" simulate "$plan" --set call.tp=3 --trace old.tsv
[ "$(cat old.tsv)" = old ]
result $? "a failure leaves the old file as it was"
if [ -w /dev/full ]; then
  for args in --help --version "simulate $plan" "inspect $plan" "graph $plan" \
    "plot $plan" "trace info a.trace.tsv" "simulate --fingerprint $plan" \
    "trace export --chrome a.trace.tsv" "help plot"; do
    # shellcheck disable=SC2086 # words are split on purpose
    "$reallot" $args >/dev/full 2>err
    [ $? -eq 2 ] && grep -q '^reallot: standard output: ' err
    result $? "a full disk is an error: ${args/#"$srcdir"\//}"
  done
  fails "/dev/full: No space left on device" simulate "$plan" --trace /dev/full
fi
"$reallot" --help >&- 2>err
[ $? -eq 2 ]
result $? "a closed standard output is an error"
{ sleep 0.3; "$reallot" --help 2>err; echo $? >status; } | :
sleep 0.1
[ "$(cat status)" = 141 ] && [ ! -s err ]
result $? "a pipe that nobody reads ends the program in silence, by SIGPIPE"

echo "1..$n"
