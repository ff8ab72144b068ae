#!/bin/bash
# reallot validate on tables laid out like the project's data, every kind: what
# counts are the rows, however the files are called, whatever columns there are
# beside and in whichever order they stand.  tests/data/measured.txt has a few
# made-up rows of each kind.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# A server of 40 requests and the tables of its layers, beside the rest.
serving() { # FOLDER SUFFIX
  local run=$1/serving_e2e_vllm/rtx4090_llama-3.1-8b$2
  local layer=$1/serving_e2e_vllm/profile/rtx4090_llama-3.1-8b_tp1
  mkdir -p "$run" "$layer"
  echo '{"engine_kwargs": {"tensor_parallel_size": 1, "max_num_seqs": 128,
    "max_num_batched_tokens": 2048}}' >"$run/meta.json"
  awk 'BEGIN { print "id,input_tokens,output_tokens,queued_s,first_token_s," \
                     "last_token_s"
               for (i = 0; i < 40; i++)
                 print i "," 64 + 16 * i ",32," i / 10 "," i / 10 + 0.2 "," \
                       i / 10 + 1.5 }' >"$run/requests.csv"
  awk 'BEGIN { print "layer,tokens,time_us"
               for (t = 1; t <= 2048; t *= 2) {
                 print "qkv_proj," t "," 80 + t / 4
                 print "layernorm," t "," 3 + t / 100 } }' >"$layer/dense.csv"
  awk 'BEGIN { print "layer,sequences,time_us"
               for (t = 1; t <= 128; t *= 2)
                 print "lm_head," t "," 700 + t }' >"$layer/per_sequence.csv"
  awk 'BEGIN { print "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us"
               for (n = 1; n <= 64; n *= 4)
                 for (k = 16; k <= 4096; k *= 4)
                   print "0,0," n "," k "," 5 + n * k / 500
               for (q = 16; q <= 2048; q *= 2)
                 print q ",0,0,0," 10 + q / 8 }' >"$layer/attention.csv"
}

# FOLDER: as the project's data, every kind.
unpack() {
  mkdir -p "$1"
  awk -v to="$1" '/^#/ { next }
    /^== / { file = to "/" $2; dir = file; sub("/[^/]*$", "", dir)
             system("mkdir -p \"" dir "\""); next }
    NF { print >file }' "$srcdir/tests/data/measured.txt"
}

# FROM TO: half of its rows; every one of tables of tables.
halve() {
  (cd "$1" && find . -type f) | while read -r file; do
    mkdir -p "$2/${file%/*}"
    case $file in
    */tables.csv | */requests.csv | */profile/*4090* | *.json)
      cp "$1/$file" "$2/$file" ;;
    *) awk 'NR == 1 || NR % 2 == 0' "$1/$file" >"$2/$file" ;;
    esac
  done
}

# FROM TO: the same under `_heldout` names, columns from the last to the first
# between two more.
seal() {
  (cd "$1" && find . -type f) | while read -r file; do
    mkdir -p "$2/${file%/*}"
    case $file in
    *.csv)
      awk -F, '{ line = NR == 1 ? "further" : "x" NR
                 for (i = NF; i > 0; i--) line = line "," $i
                 print line (NR == 1 ? ",more" : ",") }' \
        "$1/$file" >"$2/${file%.csv}_heldout.csv" ;;
    *) cp "$1/$file" "$2/$file" ;;
    esac
  done
}

# Scores and every row of them, without the names of files.
scores() { # FOLDER OPTION...
  local folder=$1
  shift
  run validate "$folder" --format=tsv --worst=1000 "$@"
  awk '/^# / { keep = $2 == "scores" || $2 == "worst" } keep' out |
    sed 's/_heldout//g' >scored
  return "$rc"
}

unpack full
halve full half
serving half ""
seal half sealed
for mode in "" --cross; do
  # shellcheck disable=SC2086
  scores half $mode
  result $? "half of the rows${mode:+, $mode}"
  cp scored expected
  # shellcheck disable=SC2086
  scores sealed $mode && cmp -s scored expected
  result $? "the same rows sealed${mode:+, $mode}"
  diff expected scored | head -n 10 | sed 's/^/# /'
  # Every folder of the layout that is scored, and more than a row of it.
  missing=
  for source in kernels_gemm kernels_gemm_quant kernels_moe kernels_moe_trtllm \
    kernels_attention kernels_vidur comm_nccl \
    comm_nccltests comm_vtrain comm_deepep comm_vidur overlap infer_e2e \
    infer_offline serving_e2e_vllm rlhf_steps train_vtrain train_tables misc; do
    grep -q "^$source	" expected || missing="$missing $source"
  done
  [ -z "$missing" ]
  result $? "every kind is scored${mode:+, $mode}$missing"
done
# A fault that the comparison must catch: one row less.
sed -i '$d' sealed/kernels_gemm/gemm_h100_bf16_heldout.csv
scores sealed && ! cmp -s scored expected
result $? "a row that is gone is seen"

# Requests without the tables of their layers go by the GPU's laws; on two GPUs
# whose tables there are, sums go by their profile's.
serving=half/serving_e2e_vllm
cp -r $serving/profile/rtx4090_llama-3.1-8b_tp1 \
  $serving/profile/rtx4090_llama-3.1-8b_tp2
sed -i 's/"tensor_parallel_size": 1/"tensor_parallel_size": 2/' \
  $serving/rtx4090_llama-3.1-8b/meta.json
tpot() {
  awk -F'\t' '/^# / { t = $0 }
    t == "# worst" && $2 == "TPOT" { print $5 }' out
}
works validate sealed --level=serving --format=tsv --worst=1
one=$(tpot)
works validate half --level=serving --format=tsv --worst=1
grep -q 'all-reduce of its 2 GPUs by their profile.s law' out && [ -n "$one" ] &&
  awk -v one="$one" -v two="$(tpot)" 'BEGIN { exit !(two > 1.1 * one) }'
result $? "two GPUs sum, and say so"
rm -r $serving/profile
works validate half --level=serving --format=tsv --worst=1
grep -q "no tables of its layers, predicted by its GPU.s laws" out && [ -n "$(tpot)" ]
result $? "requests without tables are predicted by laws"

# Rows of tables that nobody lists are of what their own columns say.
mkdir -p lone/comm_nccltests
cp full/comm_nccltests/rows.csv lone/comm_nccltests
works validate lone --format=tsv
grep -q '^comm_nccltests	inter-node	h100	' out &&
  grep -q '^comm_nccltests	all-reduce-nccltests	a100	' out
result $? "rows without the table of their tables are scored"

# One file alone, without rows, and without any one of its columns: a score or
# one line that says what is wrong, never anything else.
lone() { # WHAT
  if [ "$rc" -eq 0 ]; then
    [ -s out ] || [ "$(wc -l <err)" -eq 1 ]
  else
    [ "$rc" -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^reallot: ' err
  fi || bad="$bad $1(rc $rc)"
}
kinds() { (cd full && find . -name '*.csv' | sort); }
for what in alone headless empty; do
  bad=
  for file in $(kinds); do
    rm -rf one
    mkdir -p "one/${file%/*}"
    target=one/${file%.csv}_heldout.csv
    case $what in
    alone) cp "full/$file" "$target" ;;
    headless) head -n 1 "full/$file" >"$target" ;;
    empty) : >"$target" ;;
    esac
    run validate one
    lone "$file"
    run validate one --cross --quick
    lone "$file"
  done
  [ -z "$bad" ]
  result $? "each file $what$bad"
done
# Those of one layout and another GPU or dtype are read by the same reader; three
# rows show as much of that as all.
bad=
for file in $(kinds | grep -v -e gemm_a100 -e gemm_h100_fp8 -e single_node); do
  columns=$(head -n 1 "full/$file" | tr ',' ' ')
  at=0
  for column in $columns; do
    at=$((at + 1))
    rm -rf one
    mkdir -p "one/${file%/*}"
    # Rows and the table of their tables belong together.
    case $file in
    */comm_nccltests/*) cp full/comm_nccltests/*.csv one/comm_nccltests ;;
    esac
    awk -F, -v at=$at 'NR > 4 { exit } { line = ""
      for (i = 1; i <= NF; i++)
        if (i != at) line = line (line == "" ? "" : ",") $i
      print line }' "full/$file" >"one/$file"
    run validate one
    lone "$file:$column"
    [ "$rc" -eq 0 ] || grep -q "there is no column '$column'" err ||
      bad="$bad $file:$column"
  done
done
[ -z "$bad" ]
result $? "a column that is gone is named or not missed$bad"

# A folder that has the layout further down is no such folder, and says so.
mkdir -p outer
cp -r full outer/inner
fails "no measurements that can be scored" validate outer

echo "1..$n"
