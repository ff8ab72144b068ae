#!/bin/bash
# Studies and searches whose processes share the work: what they print is what
# one process prints, byte for byte, whatever their number.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/mpi/mpi_impl.sh
. "${srcdir:?is set by make check}/tests/mpi/mpi_impl.sh"

export XDG_CACHE_HOME=$tmp/cache

alike() { # WHAT: out is as the file one
  [ -s one ] && cmp -s one out
  result $? "$1"
  diff one out | head -5 | sed 's/^/# /'
}
n_kept() { find "$1" -name '*.point' | wc -l; }

small() { # VALUES: of prompts; the last axis has a point that cannot be
  printf '%s\n' '[study]' 'title = Small' 'plan = ppo-tiny-4-colocated.plan' \
    'question = minimum' 'of = iteration' '[axis prompts]' \
    'key = workload.prompts' "values = $1" '[axis dp]' \
    'key = call actor_train.dp' 'values = 2, 3' >small.study
}
small '8, 16, 24, 32, 40, 48'

same() { # FORMAT PROCESSES...
  local format=$1 p
  shift
  works study small.study --no-cache --format="$format"
  cp out one
  for p; do
    works_on "$p" study small.study --no-cache --format="$format" --threads=1
    alike "$p processes print what one does, as $format"
  done
}
same text 2
same json 1 4
grep -q '"allowed": false' one
result $? "a point that cannot be is among them"

# What one process kept another number of them knows, and the other way round.
works study small.study --cache=one.cache
cp out one
works_on 3 study small.study --cache=far.cache
alike "three processes, with a cache"
[ "$(n_kept one.cache)" -gt 5 ] && diff -r one.cache far.cache
result $? "the caches are alike"
rm one.cache/*[0-7].point
works_on 2 study small.study --cache=one.cache
alike "what is missing of a cache is run again"
diff -r one.cache far.cache
result $? "and kept"

# Points of other files are refused before any has run.
sed 's/8, 16/4, 16/' small.study >other.study
timeout 60 mpirun -q -n 1 "$reallot" study small.study : \
  -n 1 "$reallot" study other.study >out 2>err </dev/null
[ $? -eq 2 ] && [ ! -s out ] && [ "$(grep -c '^reallot: ' err)" -eq 1 ] &&
  grep -q '^reallot: the study of process 1 is not that of process 0' err
result $? "processes that study something else are named"
fails_on "no file 'nowhere.study'" 2 study nowhere.study

# No point answers: exit status 1, as of one process.
sed 's/^of = .*/&\nwhere = iteration < 1 us/' small.study >none.study
run study none.study --no-cache
cp out one
[ "$rc" -eq 1 ]
result $? "no answer: exit status 1"
mpi 2 study none.study --no-cache
[ "$rc" -eq 1 ]
result $? "of two processes too"
alike "and the same words"

# Ctrl-C: mpirun ends its processes; what has ended is kept.
seq -s ', ' 8 8 4000 >values
small "$(cat values)"
mpirun -q -n 2 "$reallot" study small.study --cache=cut.cache >out 2>err \
  </dev/null &
pid=$!
i=0
while [ "$(n_kept cut.cache 2>/dev/null)" -lt 3 ] && [ $((i += 1)) -lt 600 ]; do
  sleep 0.05
done
kill -INT $pid
wait $pid
rc=$?
[ "$rc" -ne 0 ] && [ ! -s out ] && [ "$(grep -c '^reallot: ' err)" -eq 1 ] &&
  grep -q '^reallot: stopped after [0-9]* of 1000 points' err
result $? "Ctrl-C says how far it came"
grep -q '^reallot: stopped' err || sed 's/^/# /' err
[ "$(n_kept cut.cache)" -ge 3 ] && [ "$(n_kept cut.cache)" -lt 1000 ]
result $? "and keeps what has ended"

# Chains of a search: the same plan, and the same way there.
find_plan() { # PLAN CURVE COMMAND...
  local best=$1 curve=$2
  shift 2
  "$@" search --workload=ppo-llama3-70b.workload --cluster=h100-16n.cluster \
    --steps=600 --seed=3 --set workload.response-length='fixed(1024)' --top=1 \
    --samples=1 -o "$best" --curve curve >out 2>err </dev/null
  rc=$?
  cut -f1,2,4 curve >"$curve" # not the seconds
  grep '^reallot' err | sed 's/^/# /'
}
find_plan one.plan one.curve "$reallot"
[ "$rc" -eq 0 ] && [ "$(wc -l <one.curve)" -ge 4 ]
result $? "a search, alone"
for p in 1 2 3; do
  rm -f far.plan
  find_plan far.plan far.curve mpirun -q -n $p "$reallot"
  [ "$rc" -eq 0 ] && cmp one.plan far.plan && diff one.curve far.curve
  result $? "the same search on $p processes"
done
# The same of sampled lengths, among all candidates.
find_drawn() { # PLAN COMMAND...
  local best=$1
  shift
  "$@" search --workload=rloo-llama3-8b.workload --cluster=h100-1n.cluster \
    --space=full --steps=64 --seed=3 --top=1 --samples=1 --threads=1 -o "$best" \
    >out 2>err </dev/null
  rc=$?
  grep '^reallot' err | sed 's/^/# /'
}
find_drawn one.plan "$reallot"
[ "$rc" -eq 0 ] && grep -q '^search: ' out
result $? "a search of drawn lengths in the full space, alone"
rm -f far.plan
find_drawn far.plan mpirun -q -n 2 "$reallot"
[ "$rc" -eq 0 ] && cmp one.plan far.plan
result $? "the same search on 2 processes"
timeout 60 mpirun -q -n 1 "$reallot" search --steps=9 \
  --workload=ppo-tiny.workload --cluster=h100-1n.cluster : \
  -n 1 "$reallot" search --steps=9 --seed=1 \
  --workload=ppo-tiny.workload --cluster=h100-1n.cluster >out 2>err </dev/null
rc=$?
[ "$rc" -ne 0 ] && [ "$(grep -c '^reallot: ' err)" -eq 1 ] &&
  grep -q '^reallot: the search of process 1 is not that of process 0' err
result $? "processes that search something else are named"

echo "1..$n"
