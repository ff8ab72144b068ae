#!/bin/bash
# reallot validate on a small folder of made-up measurements: forms, choices,
# what the environment names.  Figures depend on a profile's coefficients: not
# golden, but sums and rows that must be equal.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

mkdir -p data/kernels_gemm data/comm_nccl
{
  echo "note,latency_us,m,n,k"
  for m in 64 512 4096; do
    for width in 1024 4096; do
      for k in 1024 4096; do
        echo "x,$((5 + m * width * k / 400000000)),$m,$width,$k"
      done
    done
  done
} >data/kernels_gemm/gemm_h100_bf16_heldout.csv
{
  echo "gpu,nccl_dir,collective,dtype,num_gpus,bytes,run,time_us"
  for run in 1 2; do
    for bytes in 1024 1048576 67108864; do
      echo "h100,2.27.3,all_reduce,half,8,$bytes,$run,$((30 + run + bytes / 200000))"
    done
  done
  echo "x900,2.27.3,all_reduce,half,8,1024,1,30"
} >data/comm_nccl/aic_nccl_intranode_heldout.csv

works validate data
grep -q 'x900: 1 rows are not scored: no profile of this GPU' out &&
  grep -q 'error limits are met' out
result $? "text ends in a verdict and says what is not scored"
works validate data --format=json
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; json.load(sys.stdin)' <out
  result $? "which is JSON"
fi
works validate data --format=tsv --worst=2
[ "$(awk -F'\t' '$2 == "gemm-bf16" && $3 == "h100" { print $4 }' out)" = 12 ]
result $? "12 products are 12 rows"
# Five shapes of level, GPU: products, collectives, those of 1 MiB and more.
[ "$(grep -c '^bar	' out)" = 5 ] && tail -n 1 out | grep -q '^bar	'
result $? "TSV ends in the bars: two levels of two and one of one"
[ "$(awk -F'\t' '/^#/ { t = $0 } t == "# worst"' out | wc -l)" = 8 ]
result $? "--worst=2 shows two rows of each of three scores"
cp out all.tsv

RA_DATA=data run validate --format=tsv --worst=2
cmp -s out all.tsv
result $? "RA_DATA names the folder"
# The same products in two folders, one file each: all of them are rows, and as
# shipped each is predicted alone, so the score is that of one folder.
mkdir -p half/kernels_gemm other/kernels_gemm
for part in half other; do
  awk -v part=$part 'NR == 1 || (NR % 2 == 0) == (part == "half")' \
    data/kernels_gemm/gemm_h100_bf16_heldout.csv \
    >$part/kernels_gemm/gemm_h100_bf16.csv
done
scored() { awk '/^#/ { t = $0 } t == "# scores"' out | cut -f1-16; }
works validate data --level=gemm-bf16 --format=tsv
scored >one.tsv
works validate half other --level=gemm-bf16 --format=tsv
scored | cmp -s - one.tsv
result $? "rows of two folders are one table"
works validate half --level=gemm-bf16 --format=tsv
! scored | cmp -s - one.tsv
result $? "which half of them is not"
fails "absent: not a folder" validate data absent
run validate data --level='coll*' --format=tsv
! grep -q gemm out && grep -q '^bar	collectives-1MiB-h100-median-frac	' out
result $? "--level chooses"
works validate data --cross --quick
fails "x.bmp: unknown ending, expected .svg, .png or .pdf" validate data \
  --plot=x.bmp
if command -v gnuplot >/dev/null; then
  for ending in svg png pdf; do
    works validate data --plot=p.$ending
    [ -s p.$ending ] && [ -s p.dat ]
    result $? "a picture and its points"
  done
  # 12 products, 6 collectives, of which 4 are of 1 MiB and more; those of one
  # size and another run fall on one another or not: at least a point a size.
  [ "$(grep -c '^[0-9]' p.dat)" -ge 17 ] && grep -q '^# gemm-bf16 h100' p.dat
  result $? "the points are those of the levels"
fi
works validate data --cross --level=gemm-bf16 --format=tsv
grep '^bar' out >cross
run validate data --level=gemm-bf16 --format=tsv
grep '^bar' out >shipped
[ "$(wc -l <cross)" = 2 ] && ! cmp -s cross shipped
result $? "--cross is another method"

sed 's/1024,1024$/1024,q/' data/kernels_gemm/gemm_h100_bf16_heldout.csv >x
cp x data/kernels_gemm/gemm_h100_bf16_heldout.csv
fails "gemm_h100_bf16_heldout.csv:2: 'k' is 'q', expected a number" \
  validate data --level='gemm-*'
run validate data
[ "$rc" -eq 2 ] && grep -q "gemm_h100_bf16_heldout.csv:2: 'k' is 'q'" err &&
  grep -q '^comm_nccl ' out && ! grep -q '^kernels_gemm' out
result $? "a damaged file does not hide the other levels"

echo "1..$n"
