#!/bin/sh
# The shipped profiles are, byte for byte, what `reallot calibrate` makes of the
# measurements beside the source tree (../shared/data and data-2026); skipped
# without them.
# A profile with one number changed, and a row that is none, must show.
set -u
: "${srcdir:?is set by make check}" "${builddir:=.}"

data=$srcdir/../shared/data
more=$srcdir/../shared/data-2026
profiles=$srcdir/traces/profiles
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

calibrate() { # DATA GPU OPTION...
  from=$1
  to=$tmp/$2.profile
  shift 2
  "$builddir/reallot" calibrate --from "$from" -o "$to" "$@" \
    2>"$tmp/err" >/dev/null
}

n=0
point() { # STATUS TEXT
  n=$((n + 1))
  if [ "$1" = 0 ]; then
    echo "ok $n - $2"
  else
    sed 's/^/# /' "$tmp/err" 2>/dev/null | head -20
    echo "not ok $n - $2"
  fi
}

sed 's/^eager-launch-s = .*/eager-launch-s = 1/' \
  "$profiles/h100-sxm.profile" >"$tmp/changed"
cmp -s "$profiles/h100-sxm.profile" "$tmp/changed"
point $((1 - $?)) "the comparison finds one changed number"

mkdir -p "$tmp/bad/kernels_gemm" "$tmp/bad/misc"
cat >"$tmp/bad/misc/hardware_specs.csv" <<'END'
system,mem_bytes,mem_bw_Bps,bf16_flops,fp8_flops,intra_node_Bps_per_gpu,pcie_Bps,p2p_latency_s
h100_sxm,1e10,1e12,1e15,2e15,1e11,1e10,1e-5
END
printf 'm,n,k,latency_us\n1,128,128,2.5\n1,128,many,2.5\n' \
  >"$tmp/bad/kernels_gemm/gemm_h100_bf16_mine.csv"
calibrate "$tmp/bad" h100-sxm
[ $? = 2 ] && [ ! -e "$tmp/h100-sxm.profile" ] &&
  grep -q "gemm_h100_bf16_mine.csv:3: 'k' is 'many', expected" "$tmp/err"
point $? "a field that is no number is refused by file and line"

# Every law says how far it is off what it has not seen, or why nobody can.
unsaid() { # PROFILE...: laws that do not
  awk '/^\[law /  { law = $2; said = 0 }
    /^held-out = not measured: ./ { said = 1 }
    /^held-out = / && !/= not measured/ { said = 2 }
    /^error-median = -$/ { if (said != 1) print FILENAME, law }
    /^error-median = [0-9]/ { if (said != 2) print FILENAME, law }' "$@"
}
sed '/^\[law gemm.fp8\]/,/^error/{/^held-out/d;}' "$profiles/h200-sxm.profile" \
  >"$tmp/unsaid.profile"
unsaid "$profiles"/*.profile >"$tmp/err"
[ ! -s "$tmp/err" ] && [ "$(unsaid "$tmp/unsaid.profile" | wc -l)" = 1 ]
point $? "every law of every profile has a held-out error or a reason"

# Merging a row: its cell has two samples, cells without any near it may take
# from it, one row more is counted and told of; the rest stands.
printf 'm,n,k,latency_us\n1,128,128,4.2\n' \
  >"$tmp/bad/kernels_gemm/gemm_h100_bf16_mine.csv"
"$builddir/reallot" calibrate --from "$tmp/bad" --gpu h100-sxm \
  --merge "$profiles/h100-sxm.profile" -o "$tmp/merged.profile" 2>"$tmp/err" ||
  echo failed >"$tmp/merged.profile"
diff "$profiles/h100-sxm.profile" "$tmp/merged.profile" | grep '^[<>]' \
  >"$tmp/diff"
grep -q '^> rows = 21547$' "$tmp/diff" &&
  grep -q '^> at-128-128 = [-0-9.]*\*2~' "$tmp/diff" &&
  grep -q '^> source = kernels_gemm/.*; and 1 row of ' "$tmp/diff" &&
  ! grep -v '^. rows = 2154\|^. at-[0-9]*-[0-9]* \|^. source = kernels_gemm/' \
    "$tmp/diff"
point $? "merging a row changes its cell, the number of rows and the source"

# What the head of a profile says that it was made by: its bases stand beside.
for profile in "$profiles"/*.profile; do
  gpu=$(basename "$profile" .profile)
  bases=$(sed -n '1s/.*--from DATA\(.*\) -o .*/\1/p' "$profile" |
    sed "s|--transfer |&$profiles/|g")
  if [ ! -r "$data/misc/hardware_specs.csv" ] || [ ! -d "$more" ]; then
    n=$((n + 1))
    echo "ok $n - $gpu.profile # SKIP no measurements in ../shared"
  else
    # shellcheck disable=SC2086 # options, without blanks in names
    calibrate "$data" $gpu --from "$more" $bases && cmp "$profile" \
      "$tmp/$gpu.profile" >"$tmp/err" 2>&1
    point $? "$gpu.profile is what calibrate makes"
  fi
done

# The MI300X has the MI355X's law with the share of the peak that its own best
# shape reached: half of it, of half the FLOP/s, but for what the GEMM takes
# beside products (the fault: another's share stays).
if [ -r "$data/misc/mamf_best_matmul_tflops.csv" ] && [ -d "$more" ]; then
  mkdir "$tmp/half" && ln -s "$data"/* "$tmp/half" && rm "$tmp/half/misc" &&
    cp -r "$data/misc" "$tmp/half"
  sed -i 's/AMD MI300X,668.4,/AMD MI300X,334.2,/' \
    "$tmp/half/misc/mamf_best_matmul_tflops.csv"
  calibrate "$tmp/half" mi300x --from "$more" --transfer \
    "$profiles/mi355x.profile" --transfer "$profiles/h100-sxm.profile"
  awk '/^peak-frac/ && !seen[FILENAME]++ { of[++n] = $3 }
    END { exit !(n == 2 && of[2] / of[1] > 0.49 && of[2] / of[1] < 0.51) }' \
    "$profiles/mi300x.profile" "$tmp/mi300x.profile"
  point $? "half of the best shape's FLOP/s is half of the share of the peak"
fi

# Those that were measured here are what their samples make of their base.
for samples in "$profiles"/measured/*.samples.trace.tsv; do
  profile=${samples%.samples.trace.tsv}.profile
  gpu=$(basename "$profile" .profile)
  "$builddir/reallot" calibrate --from "$samples" --refit "$profiles/$gpu.profile" \
    -o "$tmp/$gpu.measured.profile" 2>"$tmp/err" &&
    cmp "$profile" "$tmp/$gpu.measured.profile" >"$tmp/err" 2>&1
  point $? "measured/$gpu.profile is what its samples make"
  # The timer's own part is in every sample: left in, the floors are longer.
  sed '/^# timer-s/d' "$samples" >"$tmp/$gpu.samples.trace.tsv"
  "$builddir/reallot" calibrate --from "$tmp/$gpu.samples.trace.tsv" \
    --refit "$profiles/$gpu.profile" -o "$tmp/$gpu.longer.profile" 2>"$tmp/err" &&
    ! cmp -s "$profile" "$tmp/$gpu.longer.profile"
  point $? "and without what the timer adds it is another"
done
echo "1..$n"
