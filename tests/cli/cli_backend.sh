#!/bin/bash
# reallot run --backend: what becomes of it without a GPU, and whole plans on
# the emulated device (tests/reallot-emulated), through the very command.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"
unset CUDA_VISIBLE_DEVICES

# ---- which program ------------------------------------------------------------

fails "unknown value 'cdua', expected one of host, cuda, did you mean 'cuda'?" \
  run grpo-tiny-4.plan --backend=cdua
fails "unknown value '', expected one of host, cuda" run grpo-tiny-4.plan --backend=
fails 'missing argument for --backend' run grpo-tiny-4.plan --backend
fails "unknown value 'gpu', expected one of" calibrate --backend=gpu
works run grpo-tiny-4.plan --backend=host --dry-run
cp out host
works run grpo-tiny-4.plan --dry-run
cmp -s out host
result $? "--backend=host is the default"

no_device() { # WHAT COMMAND...: exit 3, one line, nothing on stdout
  local what=$1
  shift
  "$@" >out 2>err </dev/null
  rc=$?
  [ "$rc" -eq 3 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
    grep -q '^reallot: ' err
  result $? "exit status 3, one line: $what"
  [ "$rc" -eq 3 ] || sed 's/^/# /' err
}

# A program of a folder of its own finds the one beside it, then libexec.
mkdir -p there/bin there/libexec/reallot
cp "$reallot" there/bin/reallot
no_device "no reallot-cuda" there/bin/reallot run grpo-tiny-4.plan \
  --backend=cuda
grep -q 'reallot-cuda: No such file.*which --backend=cuda needs' err
result $? "which is named"
helper() { # PATH: a program that says how it was called
  printf '#!/bin/sh\necho "%s $*"\n' "$1" >"$1"
  chmod +x "$1"
}
becomes() { # WANT ARGUMENT...
  local want=$1
  shift
  there/bin/reallot "$@" >out 2>err </dev/null
  [ "$(cat out)" = "$want" ]
  result $? "becomes '$want'"
  [ "$(cat out)" = "$want" ] || sed 's/^/# /' out err
}
helper there/libexec/reallot/reallot-cuda
becomes 'there/libexec/reallot/reallot-cuda run a.plan --backend cuda -n 2' \
  run a.plan --backend cuda -n 2
helper there/bin/reallot-cuda
becomes 'there/bin/reallot-cuda run --backend=cuda a.plan' \
  run --backend=cuda a.plan
becomes 'there/bin/reallot-cuda calibrate --backend=cuda' \
  calibrate --backend=cuda
# Not where a plan is asked for, which wants no device.
there/bin/reallot calibrate --backend=cuda --dry-run >out 2>err </dev/null &&
  grep -q '^op.points.launches.seconds_s$' out
result $? "calibrate --dry-run becomes nobody else"
# Not where it is a file, another command's, or taken back.
becomes '' run -- --backend=cuda
becomes '' simulate a.plan --backend=cuda
becomes '' run a.plan --backend=cuda --backend=host

if [ "${RA_HAVE_CUDA:?}" = yes ]; then
  if [ "${RA_REQUIRE_GPU:-}" != yes ] &&
    ! "$builddir/reallot-cuda" --selftest >/dev/null 2>&1; then
    no_device "run" "$reallot" run grpo-tiny-4.plan --backend=cuda
    no_device "calibrate" "$reallot" calibrate --backend=cuda
    no_device "run, a process that srun started alone" \
      env PMIX_RANK=0 SLURM_STEP_NUM_TASKS=1 \
      "$reallot" run grpo-tiny-4.plan --backend=cuda
  fi
  env PMIX_RANK=0 SLURM_STEP_NUM_TASKS=2 \
    "$reallot" run grpo-tiny-4.plan --backend=cuda >out 2>err </dev/null
  rc=$?
  [ "$rc" -eq 2 ] && grep -q 'runs in one process, whose ranks share' err
  result $? "several processes are refused"
fi

echo "1..$n"
