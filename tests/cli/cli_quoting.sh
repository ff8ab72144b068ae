#!/bin/bash
# No name, title or field that somebody else chose runs anything or adds a line:
# every writer of scripts, comments and keys gets names that try to.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# Each makes the file `pwned` where it is taken for gnuplot's, a shell's ... ;
# the first six can stand in a key file, two of them without a blank.
# shellcheck disable=SC1003,SC2016 # they are not for this shell
names=('`touch pwned`' '`id>pwned`' 'a;id>pwned' '$(touch pwned)' "a';system('touch pwned');#'"
  'a # b;touch pwned|&\' '";system("touch pwned");"'
  $'a\ntouch pwned\nsystem("touch pwned")\n#' $'a\n[call x]\nseed = 1\n')
n_in_keys=6
cp "$srcdir"/share/workloads/{ppo-tiny,grpo-qwen2.5-7b}.workload \
  "$srcdir"/share/clusters/h100-{1n,4n}.cluster .
cp "$srcdir/share/plans/ppo-tiny-8.plan" "$srcdir/share/plans/grpo-qwen2.5-7b-32.plan" .
drawn() { :; }
command -v gnuplot >/dev/null || drawn() { return 1; }

# Nothing was run, and it ended well, or with one line and status 1 or 2.
harmless() { # WHAT NAME
  local wrong=0 pwned
  pwned=$(find . -name pwned)
  [ -z "$pwned" ] || wrong=1
  case $rc in
    0) [ ! -s err ] || wrong=1 ;;
    1 | 2) [ "$(wc -l <err)" -eq 1 ] || wrong=1 ;;
    *) wrong=1 ;;
  esac
  result $wrong "$1 of ${2@Q}"
  [ $wrong -eq 0 ] || sed "s/^/# $rc: /" err
  rm -f pwned
}
well() { # WHAT NAME: harmless, and done
  harmless "$1" "$2"
  [ "$rc" -eq 0 ]
  result $? "and it is done"
}

for name in "${names[@]}"; do
  cp ppo-tiny.workload "$name.workload"
  cp h100-1n.cluster "$name.cluster"
  files=(--workload="$name.workload" --cluster="$name.cluster")
  if drawn; then
    run plot --memory ppo-tiny-8.plan "${files[@]}" -n 1 -o m.svg
    well "a picture of memory" "$name"
    run plot --memory ppo-tiny-8.plan -n 1 --title="$name" -o m.svg
    well "a picture's title" "$name"
    run plot ppo-tiny-8.plan "${files[@]}" -n 1 -o t.svg
    well "a timeline" "$name"
    run plot ppo-tiny-8.plan -n 1 --title="$name" -o t.svg
    well "a timeline's title" "$name"
    [ "$(sed -n 2p t.dat | cut -c1-2)" = '# ' ] &&
      [ "$(grep -c '^lane' t.dat)" -eq 1 ] && [ "$(grep -nm1 '^lane' t.dat)" = \
      "5:$(grep -m1 '^lane' t.dat)" ]
    result $? "and its data have one line of it"
  fi
  run simulate ppo-tiny-8.plan "${files[@]}" -n 1 -t t.trace
  well "a trace" "$name"
  run plot t.trace
  well "which is read again" "$name"
  run plan --strategy=colocated "${files[@]}" --set "workload.algorithm=$name" \
    -o p.plan
  harmless "a plan" "$name"
  if [ "$rc" -eq 0 ]; then
    run simulate p.plan -n 1 --fidelity=call
    well "which is read" "$name"
  fi
  run search "${files[@]}" --steps=1 --threads=1 --samples=1 --top=1 \
    --set "workload.algorithm=$name" -o s.plan
  harmless "a plan that was searched" "$name"
  if [ "$rc" -eq 0 ]; then
    run simulate s.plan -n 1 --fidelity=call
    well "which is read" "$name"
    # The command that is in its head is one, and runs nothing else.
    { sed -n 's/^# Written by: reallot/true/p' s.plan | head -1; } >head.sh
    sh head.sh >out 2>err </dev/null
    rc=$?
    well "its command" "$name"
  fi
  run new "$name" -o new
  harmless "new files" "$name"
  rm -rf new
  run new mine --model="$name" -o new
  harmless "a new model" "$name"
  run graph ppo-tiny-8.plan --set "workload.algorithm=$name"
  harmless "a graph" "$name"
done

# Scripts are run by a shell whose python3 does nothing; YAML is read again.
mkdir bin
printf '#!/bin/sh\nexit 0\n' >bin/python3
chmod +x bin/python3
exported() { # WHAT NAME
  rc=0
  PATH=$tmp/bin:$PATH sh r.sh >out 2>err </dev/null || rc=$?
  well "$1" "$2"
}
for name in "${names[@]}"; do
  cp grpo-qwen2.5-7b-32.plan "$name.plan"
  for to in r.sh r.yaml; do
    run export "$name.plan" --to=verl -o $to
    well "an export to $to" "$name"
  done
  exported "a script" "$name"
  run import r.yaml --from=verl -o back
  well "its YAML" "$name"
  rm -rf back
  cp "$srcdir/share/models/qwen2.5-7b.json" "$name.json"
  sed "s/^algorithm = .*/algorithm = @/; s/qwen2.5-7b.json/@.json/
    s~@~$(printf '%s' "$name" | sed 's/[\\&~]/\\&/g' | head -1)~" \
    grpo-qwen2.5-7b.workload >w.workload
  for to in r.sh r.yaml; do
    run export grpo-qwen2.5-7b-32.plan --workload=w.workload --to=verl -o $to
    harmless "an algorithm and a config in $to" "$name"
  done
  [ "$rc" -ne 0 ] || exported "a script of them" "$name"
done
# Values come back as they were: the YAML says what the workload did.
sed "s/^algorithm = .*/algorithm = ${names[0]}/" grpo-qwen2.5-7b.workload >w.workload
run export grpo-qwen2.5-7b-32.plan --workload=w.workload --to=verl -o r.yaml
# shellcheck disable=SC2016
grep -qxF '  adv_estimator: "`touch pwned`"' r.yaml
result $? "YAML has the algorithm in quotes"

# Imported: the file's name, and a model's, which YAML may spread over lines.
cp "$srcdir/tests/data/import/grpo_math_1B.yaml" . # which it begins with
for name in "${names[@]}"; do
  cp "$srcdir/tests/data/import/grpo_math_8B.yaml" "$name.yaml"
  run import "$name.yaml" --from=nemo-rl --name=i -o i
  harmless "an imported file" "$name"
  if [ "$rc" -eq 0 ]; then
    run simulate i/i.plan -n 1 --fidelity=call
    [ "$rc" -le 1 ] && rc=0
    well "which is read" "$name"
    ! grep -q -e '^seed' -e '^touch' -e '^system(' i/i.*
    result $? "without a line of it"
  fi
  rm -rf i
done
sed 's|model_name: "\(.*\)"|model_name: "\1\\ndtype = fp32"|' \
  "$srcdir/tests/data/import/grpo_math_8B.yaml" >i.yaml
run import i.yaml --from=nemo-rl --model=llama-3-8b.json -o i
well "a model's name with a line of its own" 'dtype = fp32'
! grep -q '^dtype' i/i.workload
result $? "and the workload has no key of it"

if drawn; then
  # A study's title, axis and labels; what a key file can hold.
  for name in "${names[@]:0:n_in_keys}"; do
    cat >s.study <<END
[study]
format = 1
title = "$name"
plan = ppo-tiny-8.plan
question = minimum
of = iteration
along = n
where = fits

[axis n]
key = workload.algorithm
values = x, "$name"

[axis m]
key = workload.prompts
values = 32, 64
END
    rm -f s.svg
    run study s.study --no-cache --plot=s.svg
    harmless "a study" "$name"
    [ "$rc" -ne 0 ] || grep -q '<svg' s.svg
    result $? "and it is drawn"
  done
  # A column of a table of measurements.
  mkdir -p v/train_tables
  head='id,source,gpu,task,sharding,recompute,precision,gpus,layers,hidden,heads'
  head=$head,kv_heads,ffn,vocab,gated_mlp,seq,gbs_seq,mbs,tp,pp,vpp,cp,ep,dp
  for name in "${names[@]:0:n_in_keys}"; do
    {
      echo "$head,step_time_s"
      for gbs in 64 128; do
        echo "x$gbs,$name,H100-80GB,pretrain,,full,bf16,8,32,4096,32,32,11008,32000,1,2048,$gbs,1,1,1,1,1,1,8,$((gbs / 12))"
      done
    } >v/train_tables/train_bench.csv
    run validate v --plot=v.svg
    [ "$rc" -le 1 ] && rc=0
    well "a table of measurements" "$name"
    grep -q '<svg' v.svg
    result $? "and it is drawn"
  done
fi

echo "1..$n"
