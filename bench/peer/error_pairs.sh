#!/bin/bash
# What the errors of two runs of one model on one GPU have in common: how far
# predictions of published training runs are off from each other, where the runs
# have the same degrees and where not (study/model_error.h).
#
#     bench/peer/error_pairs.sh BUILD DATA
#
# A line for each kind of pairs of dgxc-bench: their number, the median and the
# 90th percentile of | ln(error of one / error of the other) |.
set -eu
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
"$1/reallot" validate "$2" --level=train-tables-open --worst=1000 \
  --format=tsv >"$rows"
awk -F'[\t]' -v table="$2/train_tables/train_bench.csv" '
  function quantile(kind, q,    i, j, v) {
    for (i = 2; i <= n[kind]; i++) {
      v = d[kind, i]
      for (j = i - 1; j > 0 && d[kind, j] > v; j--) d[kind, j + 1] = d[kind, j]
      d[kind, j + 1] = v
    }
    return d[kind, int((n[kind] - 1) * q) + 1]
  }
  BEGIN {
    getline line < table
    n_columns = split(line, names, ",")
    while ((getline line < table) > 0) {
      split(line, f, ",")
      for (i = 1; i <= n_columns; i++) cell[f[1], names[i]] = f[i]
    }
  }
  /^# / { on = $0 == "# worst"; head = on; next }
  on && head { for (i = 1; i <= NF; i++) at[$i] = i; head = 0; next }
  on && cell[$at["row"], "source"] == "dgxc-bench" {
    id[++m] = $at["row"]
    error[m] = log($at["predicted"] / $at["measured"])
  }
  function same(a, b, keys,    k, i, c) {
    c = split(keys, k, " ")
    for (i = 1; i <= c; i++) if (cell[a, k[i]] != cell[b, k[i]]) return 0
    return 1
  }
  END {
    for (i = 1; i <= m; i++) for (j = 1; j < i; j++) {
      if (!same(id[i], id[j], "gpu model precision")) continue
      kind = !same(id[i], id[j], "tp pp vpp cp ep mbs") ? "other-degrees" : \
        !same(id[i], id[j], "gpus") ? "other-gpus" : ""
      if (kind == "") continue
      x = error[i] - error[j]
      d[kind, ++n[kind]] = x < 0 ? -x : x
    }
    print "pairs\tn\tmedian_frac\tp90_frac"
    for (kind in n)
      printf "%s\t%d\t%.4f\t%.4f\n", kind, n[kind], quantile(kind, 0.5), \
        quantile(kind, 0.9)
  }' "$rows"
