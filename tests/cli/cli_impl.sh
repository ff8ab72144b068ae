#!/bin/bash
# What the tests of the command line share: tests/cli/cli*.sh source it.
#
# They run in a folder of their own, which goes with them; TAP on stdout.
# Golden outputs are in tests/golden; RA_GOLDEN_UPDATE=yes writes them anew
# (RA_GOLDEN_UPDATE=yes make check TESTS=tests/cli/cli.sh), and the diff is the
# review.
set -u
unset RA_DATA
: "${srcdir:?is set by make check}" "${builddir:?}"
reallot=$builddir/reallot
plans=$srcdir/share/plans
# shellcheck disable=SC2034 # for who sources this
plan=$plans/ppo-llama2-7b-8.plan

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
export HF_HOME=$tmp/huggingface # no models of who runs the tests
unset HF_HUB_CACHE
export XDG_CACHE_HOME=$tmp/cache # nor their searches

# What makes grpo-tiny-bf16-4.plan one for the emulated device in seconds: eight
# short sequences.
emulated_small=(--set workload.prompts=2 --set workload.mini-batches=1
  --set 'workload.prompt-length=fixed(3)'
  --set 'workload.response-length=fixed(3)'
  --set 'call actor_train.micro-batches=1')

# A sanitized program runs one in so many of cases that are alike, as unit tests
# do (tests/support/check_main.h).
share=1
! grep -q __asan_init "$reallot" || share=4

n=0
result() { # STATUS WHAT
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

# Runs reallot; stdout, stderr and the status are left in out, err, rc.
run() {
  "$reallot" "$@" >out 2>err </dev/null
  rc=$?
}

works() { # ARGUMENT...: exit 0, something on stdout, nothing on stderr
  run "$@"
  [ "$rc" -eq 0 ] && [ -s out ] && [ ! -s err ]
  result $? "reallot ${*/#"$srcdir"\//}"
  [ ! -s err ] || sed 's/^/# /' err
}

fails() { # MESSAGE ARGUMENT...: exit 2, one line that has MESSAGE, no output
  local message=$1
  shift
  run "$@"
  [ "$rc" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
    grep -q '^reallot: ' err && grep -qF -- "$message" err
  result $? "refused: reallot ${*/#"$srcdir"\//}"
  if [ "$rc" -ne 2 ] || ! grep -qF -- "$message" err; then
    echo "# status $rc, expected '$message', got: $(head -c 500 err)"
  fi
}

golden() { # NAME ARGUMENT...
  local name=$1 file=$srcdir/tests/golden/$1
  shift
  run "$@"
  if [ "${RA_GOLDEN_UPDATE:-no}" = yes ]; then cp out "$file"; fi
  cmp -s out "$file"
  result $? "golden $name"
  diff "$file" out | sed 's/^/# /'
}

# shellcheck disable=SC2034
commands=$("$reallot" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' |
  grep -v '^help$')
