#!/bin/bash
# learning.sh OUTPUT: the mean reward of an iteration as `reallot run` trains
# the tiny models, in eight plans from five seeds: OUTPUT.dat and OUTPUT.png.
#
#     cd build && bash ../bench/learning.sh ../docs/learning
#
# RA_LEARNING_ITERATIONS (50); some minutes on two cores.
set -eu

output=$1
srcdir=$(cd "$(dirname "$0")/.." && pwd)
RA_DATA_PATH=$srcdir/share:$srcdir/traces
export RA_DATA_PATH LC_ALL=C
plans='ppo-tiny-4-colocated ppo-tiny-4-interleaving '
plans+='ppo-tiny-4-disaggregated ppo-tiny-8 grpo-tiny-4 '
plans+='grpo-tiny-4-colocated grpo-tiny-4-interleaving '
plans+=grpo-tiny-4-disaggregated
generate=actor_generate reference=ref_inference train=actor_train

# What makes grpo-tiny-4.plan, a layout a call, the other kinds of plan.
changes() {
  case $1 in
    grpo*-colocated) set -- $generate.dp=2 $generate.tp=2 $train.pp=1 \
      $train.tp=2 ;;
    grpo*-interleaving) set -- $generate.dp=2 $generate.tp=2 \
      "$reference.mesh=node0:gpu[0-1]" $reference.dp=1 \
      "$train.mesh=node0:gpu[2-3]" $train.dp=1 ;;
    grpo*-disaggregated) set -- "$generate.mesh=node0:gpu[0-1]" \
      $generate.dp=2 "$reference.mesh=node0:gpu[2-3]" $reference.dp=1 \
      "$train.mesh=node0:gpu[2-3]" $train.dp=2 $train.pp=1 ;;
    *) set -- ;;
  esac
  sets=()
  for change; do sets+=("--set=call $change"); done
}
n=${RA_LEARNING_ITERATIONS:-50}

for plan in $plans; do
  changes "$plan"
  case $plan in grpo-*) file=grpo-tiny-4 ;; *) file=$plan ;; esac
  for seed in 0 1 2 3 4; do
    ./reallot run "$file.plan" -n "$n" --seed "$seed" --check --format=tsv \
      ${sets[@]+"${sets[@]}"} |
      awk -F'\t' -v plan="$plan" -v seed="$seed" \
        '/^[0-9]/ { print plan "\t" seed "\t" $1 "\t" $2 }'
  done
done | {
  printf '# reallot run PLAN -n %s --seed SEED --check --format=tsv\n' "$n"
  printf '# plan\tseed\titeration\treward\n'
  cat
} >"$output.dat"

gnuplot <<END
set terminal pngcairo size 1000,680 font 'Sans,9'
set output '$output.png'
set multiplot layout 2,4
set yrange [0.4:1.02]
set xlabel 'iteration'
set xtics 20
unset key
do for [plan in '$plans'] {
  set title plan noenhanced
  plot for [seed=0:4] '$output.dat' using \\
    ((strcol(1) eq plan && \$2 == seed) ? \$3 : NaN):4 with lines lw 1.2, \\
    0.9 with lines dt 2 lc 'gray'
}
END

# The last ten iterations of each run: 90 % of the most there is, and the seeds of
# every plan overlap those of the co-located one of its algorithm.
awk -F'\t' -v n="$n" '
  !/^#/ && $3 >= n - 10 { sum[$1 "\t" $2] += $4; rows[$1 "\t" $2]++ }
  END {
    for (run in sum) {
      split(run, part, "\t")
      plan = part[1]
      mean = sum[run] / rows[run]
      if (!(plan in low) || mean < low[plan]) low[plan] = mean
      if (!(plan in high) || mean > high[plan]) high[plan] = mean
      if (least == "" || mean < least) least = mean
    }
    print "# mean reward of the last ten iterations, five seeds"
    print "plan\tlowest\thighest"
    for (plan in low) {
      printf "%s\t%.4f\t%.4f\n", plan, low[plan], high[plan]
      base = (plan ~ /^ppo/ ? "ppo" : "grpo") "-tiny-4-colocated"
      if (low[base] - high[plan] > worst) worst = low[base] - high[plan]
      if (low[plan] - high[base] > worst) worst = low[plan] - high[base]
    }
    printf "bar\tlowest_reward\t%.4f\t>=0.9\t%s\n", least,
      (least >= 0.9 ? "ok" : "short")
    printf "bar\tplans_outside_of_seeds\t%.4f\t<=0\t%s\n", worst,
      (worst <= 0 ? "ok" : "short")
  }' "$output.dat"
