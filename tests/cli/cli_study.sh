#!/bin/bash
# Studies on the command line: what is kept, what is drawn.  The shipped ones,
# which take long, are all in tests/docs/pages.sh.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

small() { # VALUES: of prompts
  printf '%s\n' '[study]' 'title = Small' 'plan = ppo-tiny-4-colocated.plan' \
    'question = minimum' 'of = iteration' '[axis prompts]' \
    'key = workload.prompts' "values = $1" >small.study
}
small '8, 16, 32'
works study small.study
cp out first
n_kept() { find "$XDG_CACHE_HOME" -name '*.point' | wc -l; }
before=$(n_kept)
works study small.study
cmp -s out first && [ "$(n_kept)" -eq "$before" ]
result $? "the same again from what was kept"
small '8, 16, 32, 64'
works study small.study
[ "$(n_kept)" -eq $((before + 1)) ]
result $? "one value more is one point more"
works study small.study --no-cache --threads=1 --set workload.epochs=2
[ "$(n_kept)" -eq $((before + 1)) ]
result $? "--no-cache keeps nothing"
works study small.study --cache=here
for point in here/*.point; do echo x >"$point"; done
run study small.study --cache=here
[ "$rc" -eq 0 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'damaged cache entry, point run again' err
result $? "what is damaged is run again, and said"

# Two seeds of two values are four replays; the range stands in the answer.
sed 's/^of .*/&\nseeds = 2/' small.study >drawn.study
works study drawn.study --format=tsv
grep -q "$(printf 'sd_frac\terror_frac\tallowed')" out &&
  grep -q "$(printf 'iteration_s\tgpus\tlow\thigh\tshare')" out
result $? "deviation and error have columns"
sed 's/^of .*/&\nseeds = 0/' small.study >bad.study
fails "bad.study:6: 'seeds' is 0" study bad.study

works study small.study --plot=-
grep -q 'iteration (s) over prompts' out
result $? "curves as text"
run study small.study --plot=small.svg
[ -s small.dat ] && grep -q '^"64"' small.dat
result $? "--plot writes its data"
works study small.study --format=json

# Of one curve, which needs no name, all is drawn: band, bars, the line, points
# that do not count, the answer, and the limit, which alone is in the legend.
if command -v gnuplot >/dev/null; then
  sed 's/^of .*/&\nwhere = iteration < 1 h/' small.study >limit.study
  run study limit.study --plot=limit.svg
  [ "$(grep -c 'id="gnuplot_plot_[0-9]*"' limit.svg)" -eq 6 ] &&
    grep -q '<text>limit</text>' limit.svg
  result $? "one curve is drawn with its limit and its answer"
  # Of two axes the marks show one; the other's values stand beside the points.
  sed -e 's/^question.*/question = pareto/' -e 's/^of.*/of = iteration, usd/' \
    -e '$alabels = few, some, many, most' small.study >front.study
  printf '%s\n' '[axis zero]' 'key = call actor_train.zero' 'values = 0, 1' >>front.study
  run study front.study --plot=front.svg
  for label in few some many most; do grep -c ">$label<" front.svg; done |
    tr '\n' ' ' | grep -q '^2 2 2 2 $'
  result $? "points of a front are named by what their marks do not show"
fi

sed 's/^question.*/question = maximum/; s/^of.*/of = goodput/' \
  small.study >none.study
run study none.study
[ "$rc" -eq 1 ] && grep -q 'No point answers' out
result $? "no answer is exit status 1"
fails "no file 'nosuch.study'" study nosuch.study
sed 's/^values.*/values = 0, -1/' small.study >bad.study
fails "bad.study: no point can be run: --set 'workload.prompts=0'" \
  study bad.study
sed 's/prompts$/promts/' small.study >bad.study
fails "bad.study:8: --set 'workload.promts=8': unknown key" study bad.study
fails "--threads: '0'" study small.study --threads=0
fails "small.gif" study small.study --plot=small.gif

# What a search finds is a point as any other, no slower than the families that
# compete in it; the same again from what was kept.
printf '%s\n' '[study]' 'title = Found' 'workload = ppo-tiny.workload' \
  'cluster = h100-1n.cluster' 'question = minimum' 'of = iteration' \
  'steps = 32' '[axis how]' 'key = placement' \
  'values = search, real, hybridflow' >found.study
works study found.study --format=tsv
awk -F'\t' '$0 == "# points" { on = 1 } on && $1 == "search" { s = $2 }
  on && ($1 == "real" || $1 == "hybridflow") && $2 != "-" { n++
    least = n == 1 || $2 < least ? $2 : least }
  END { exit !(n > 0 && s > 0 && s <= least * 1.001) }' out
result $? "placement = search is a point, and no slower than families"
cp out first
works study found.study --format=tsv
cmp -s out first
result $? "which is kept"

# A point of 300 iterations op by op takes a minute; Ctrl-C does not wait for it.
# (timeout would send its group another, which ends the command at once.)
printf '%s\n' '[study]' 'title = Long' 'plan = ppo-llama3-70b-1024.plan' \
  'question = minimum' 'of = iteration' 'fidelity = op' 'iterations = 300' \
  '[axis price]' 'key = cluster.price' \
  'values = 2 USD/gpu/h, 3 USD/gpu/h' >long.study
timeout --foreground -s INT --preserve-status 1 "$reallot" study \
  long.study --no-cache \
  --threads=1 >out 2>err
rc=$?
[ "$rc" -eq 1 ] && grep -q '^reallot: stopped after 0 of 2 points$' err
result $? "Ctrl-C in a long point"

echo "1..$n"
