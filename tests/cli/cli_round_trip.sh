#!/bin/bash
# Every shipped plan out to every framework, in again, out and in once more: what
# a framework can say of a plan stays as it is.  The first way out may lose what
# it cannot say, which is listed (cli_import.sh); the second must lose nothing.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# Lines of the plan that SCRIPT is imported as, in FOLDER, with a workload's.
in_again() { # SCRIPT FOLDER
  "$reallot" import "$1" -o "$2" --name=x --force >/dev/null 2>err &&
    grep -hv '^#' "$2/x.plan" "$2/x.workload"
}

# The plan of FILE as TARGET says it, twice: first.txt and second.txt.  FALSE:
# the framework has nothing like it.
twice() { # FILE TARGET
  "$reallot" export "$1" --to="$2" -o first.sh >/dev/null 2>err || return 1
  in_again first.sh first >first.txt
  "$reallot" export first/x.plan --to="$2" -o second.sh >/dev/null 2>err
  in_again second.sh second >second.txt
}

for target in verl nemo-rl openrlhf openrlhf@0.9.9 slime; do
  tried=0 bad=
  for plan in "$plans"/*.plan; do
    case $plan in *tiny*) continue ;; esac # models without a name
    twice "$plan" $target || continue
    tried=$((tried + 1))
    [ -s first.txt ] && cmp -s first.txt second.txt && continue
    bad="$bad $(basename "$plan")"
    diff first.txt second.txt | sed 's/^/# /' | head -n 8
  done
  [ -z "$bad" ] && [ $tried -ge 15 ]
  result $? "$target: $tried plans stay as they are:$bad"
done

# Engines with 8-bit weights and caches, where a framework has a key for them.
sed 's/^\[call actor_generate\]/&\ndtype = fp8\nkv-dtype = fp8/' \
  "$plans/grpo-qwen2.5-7b-32.plan" >fp8.plan
for target in verl nemo-rl slime; do
  twice fp8.plan $target
  grep -q '^dtype = fp8' first.txt && grep -q '^kv-dtype = fp8' first.txt &&
    cmp -s first.txt second.txt
  result $? "$target: 8-bit weights and caches stay"
done

# Linear layers in fp8, where a framework has a key for them.
sed '/^\[call actor_\(train\|inference\)\]/a gemm-dtype = fp8\nfp8-scaling = tensorwise\nfp8-params = true' \
  "$plans/grpo-qwen2.5-7b-32.plan" |
  sed 's/^cluster = a100/cluster = h100/' >gemms.plan
for target in verl nemo-rl slime; do
  twice gemms.plan $target
  [ "$(grep -c '^fp8-scaling = tensorwise' first.txt)" -ge 2 ] &&
    grep -q '^fp8-params = true' first.txt && cmp -s first.txt second.txt
  result $? "$target: linear layers in fp8 stay"
done

# The fault to find: an export of another plan.
twice "$plans/grpo-qwen2.5-7b-32.plan" nemo-rl
sed 's/tensor_model_parallel_size=[0-9]*/tensor_model_parallel_size=8/' \
  second.sh >fault.sh
in_again fault.sh fault >fault.txt
! cmp -s first.txt fault.txt
result $? "another degree is found"

echo "1..$n"
