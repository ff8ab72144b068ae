#!/bin/sh
# Derive a shipped profile from published measurements.
#
# usage: derive.sh DATA GPU > GPU.profile
#   DATA  folder laid out like the project's data of measurements by others:
#         kernels_gemm, kernels_attention, kernels_vidur, comm_nccl,
#         comm_nccltests, comm_deepep, misc
#   GPU   h100-sxm, a100-sxm or h200-sxm
#
# Needs a POSIX shell and awk; no random numbers, a few seconds.  Each law
# names the file that it comes from; every constant that is not fitted says so
# in its own line.  tests/profiles.sh repeats this and compares.
# shellcheck disable=SC2016  # awk programs stand in single quotes
set -eu
LC_ALL=C
export LC_ALL
AWK=${AWK:-awk}
here=$(dirname "$0")
if [ $# -ne 2 ]; then
  echo "usage: $0 DATA h100-sxm|a100-sxm|h200-sxm" >&2
  exit 2
fi
data=$1
gpu=$2
derived=
case $gpu in
h100-sxm) from=h100 sms=132 ;;
a100-sxm) from=a100 sms=108 ;;
h200-sxm) from=h100 sms=132 derived=yes ;;
*) echo "$0: unknown GPU '$gpu'" >&2; exit 2 ;;
esac

# spec ROW COLUMN: a value of misc/hardware_specs.csv.
spec() {
  "$AWK" -F, -v row="$1" -v column="$2" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    $1 == row { printf "%.10g\n", $at[column] + 0 }' \
    "$data/misc/hardware_specs.csv"
}
# sheet KEY COLUMN SCALE UNIT: its line in [device]; none where not published.
sheet() {
  "$AWK" -v key="$1" -v value="$(spec "$row" "$2")" -v scale="$3" \
    -v unit="$4" 'BEGIN { if (value > 0)
      printf "%s = %.6g %s\n", key, value / scale, unit }'
}
row=$(echo "$gpu" | tr - _)
base=${from}_sxm
fit() {
  "$AWK" -v DERIVED="$derived" -f "$here/fit.awk" "$@"
}

cat <<HEAD
# Derived by traces/profiles/derive.sh DATA $gpu; do not edit, run it again.
# Fits are on short runs at full clocks: under a power limit sustained matrix
# products reach about 0.80 of the H100's and 0.87 of the A100's peak
# (misc/mamf_best_matmul_tflops.csv).
[profile]
format = 1
device = $gpu
HEAD
if [ -n "$derived" ]; then
  echo "derived = transferred from h100-sxm: its fractions of peak on" \
    "this device's data sheet; no row of this device was seen"
else
  echo "derived = fitted on published measurements of others, see each" \
    "law's source; 2026-11"
fi
cat <<DEVICE

[device]
$(sheet memory mem_bytes 1073741824 GiB)
$(sheet memory-bandwidth mem_bw_Bps 1e9 GB/s)
$(sheet bf16 bf16_flops 1e12 TFLOP/s)
$(sheet fp8 fp8_flops 1e12 TFLOP/s; sheet intra-node intra_node_Bps_per_gpu 1e9 GB/s)
$(sheet host pcie_Bps 1e9 GB/s)
source = misc/hardware_specs.csv, row $row: data sheet, one direction

DEVICE

bw=$(spec "$base" mem_bw_Bps)
peak=$(spec "$base" bf16_flops)
fit -v SMS="$sms" -v PEAK="$peak" -v BW="$bw" -v E=2 -v LAW=gemm.bf16 \
  -v FILE="kernels_gemm/gemm_${from}_bf16.csv" -f "$here/gemm.awk" \
  "$data/kernels_gemm/gemm_${from}_bf16.csv"
if [ "$from" = h100 ]; then
  fit -v SMS="$sms" -v PEAK="$(spec "$base" fp8_flops)" -v BW="$bw" -v E=1 \
    -v LAW=gemm.fp8 -v FILE=kernels_gemm/gemm_h100_fp8.csv \
    -f "$here/gemm.awk" "$data/kernels_gemm/gemm_h100_fp8.csv"
fi
for kind in prefill decode; do
  file=kernels_attention/${kind}_${from}_bf16.csv
  fit -v KIND=$kind -v SMS="$sms" -v PEAK="$peak" -v BW="$bw" \
    -v FILE="$file" -f "$here/attention.awk" "$data/$file"
done
cat <<BACKWARD
[law attention-backward]
efficiency-frac = 0.863 # 0.63 / 0.73
source = arXiv 2307.08691 (FlashAttention-2), A100: up to 73 % of peak forward, 63 % backward; no measurement of others was found
rows = 0
range = cited for the A100 at long sequences
error-median = -
error-p90 = -

BACKWARD
fit -v GPU="$from" -v BW="$bw" -f "$here/memory.awk" \
  "$data/kernels_vidur/models.csv" "$data"/kernels_vidur/"$from"_*.csv
fit -v GPU="$from" -v LINK="$(spec "$base" intra_node_Bps_per_gpu)" \
  -v NIC_LATENCY="$(spec "$base" p2p_latency_s)" -f "$here/collective.awk" \
  "$data/comm_nccl/aic_nccl_intranode.csv" \
  "$data/comm_nccltests/tables.csv" "$data/comm_nccltests/rows.csv" \
  "$data/comm_deepep/expert_alltoall.csv"

# Device to host: the A100-class sample over its link's data sheet.
copy=$("$AWK" -F, '$1 == "host_to_device_memcpy_ce" { print $3 * 1e9 }' \
  "$data/misc/nvbandwidth_readme.csv")
"$AWK" -v rate="$copy" -v sheet="$(spec a100_sxm pcie_Bps)" \
  -v latency="$(spec "$base" p2p_latency_s)" 'BEGIN {
    print "[law host-copy]"
    printf "latency-s = %.4g # misc/hardware_specs.csv p2p_latency_s\n", latency
    printf "bandwidth-frac = %.4g # host_to_device_memcpy_ce over PCIe 4\n", \
      rate / sheet
    print "source = misc/nvbandwidth_readme.csv, an A100-class node"
    print "rows = 1"
    print "range = large pinned copies, one direction at a time"
    print "error-median = -"
    print "error-p90 = -"
    print ""
  }'

# Launch: the same all-reduce kernel called eagerly and replayed in a graph.
"$AWK" -F, -v GPU="$from" '
  FNR > 1 && $1 == GPU && $3 == "vLLM_custom_graph" { graph[$5, $6] = $7 }
  FNR > 1 && $1 == GPU && $3 == "vLLM_custom_eager" { eager[$5, $6] = $7 }
  function quantile(q) { return A[int(q * (n - 1)) + 1] }
  END {
    for (k in eager) {
      split(k, part, SUBSEP)
      if (!(k in graph) || part[2] > 65536)
        continue
      x = eager[k] - graph[k]
      for (i = n++; i > 0 && A[i] > x; i--)
        A[i + 1] = A[i]
      A[i + 1] = x
    }
    print "[law host]"
    printf "eager-launch-s = %.4g\n", quantile(0.5) * 1e-6
    printf "graph-launch-s = %.4g # a graph is launched by one call as well\n", \
      quantile(0.5) * 1e-6
    print "graph-gap-s = 0 # the floors of graph replays hold the gap"
    print "source = comm_nccl/aic_custom_allreduce.csv, vLLM eager less graph, median up to 65536 elements"
    printf "rows = %d\n", n
    print "range = one framework call and kernel; Megatron-DeepSpeed in train_vtrain takes several kernels where the op list has one"
    print "error-median = -"
    print "error-p90 = -"
  }' "$data/comm_nccl/aic_custom_allreduce.csv"
