#!/bin/sh
# fuzz.sh SECONDS KIND...: what `make fuzz` does.
#
# Builds every reader with clang's fuzzer and its address and undefined
# behaviour sanitizers below $builddir/fuzz, and runs the entry of each KIND
# (tests/fuzz/fuzz_KIND.c; none: all of them) for SECONDS from its corpus and the
# shipped files of its kind.  Prints a row a kind; the exit status is 1 where
# an input was found that breaks one: it is kept as $builddir/fuzz/KIND-*,
# `fuzz_KIND FILE` runs it again and `fuzz_KIND -minimize_crash=1 FILE` makes
# it short.  Once it is mended, the input goes to tests/corpus/KIND.
set -u
: "${srcdir:?is set by make fuzz}" "${builddir:?}"
: "${FUZZ_CC:=clang}" "${FUZZ_CPPFLAGS:=}" "${FUZZ_LIBS:=}"

seconds=$1
shift
if ! command -v "$FUZZ_CC" >/dev/null; then
  echo "fuzz.sh: no $FUZZ_CC, expected a clang with libFuzzer" >&2
  exit 2
fi
if [ $# -eq 0 ]; then
  for entry in "$srcdir"/tests/fuzz/fuzz_*.c; do
    kind=${entry##*/fuzz_}
    set -- "$@" "${kind%.c}"
  done
fi
out=$builddir/fuzz
objects=$out/objects
mkdir -p "$objects" || exit 2
export RA_DATA_PATH="$srcdir/share:$srcdir/traces" LC_ALL=C
export G_DEBUG=fatal-warnings G_SLICE=always-malloc

# -O1: quick to build, and frames stay whole.
flags="-std=c11 -g -O1 -fno-omit-frame-pointer -ffp-contract=off \
  -fno-sanitize-recover=all $FUZZ_CPPFLAGS"

build() { # SANITIZERS ARGUMENT...
  sanitizers=$1
  shift
  # shellcheck disable=SC2086
  "$FUZZ_CC" $flags -I"$builddir" -I"$srcdir" -DRA_DATADIR='"/nowhere"' \
    -DG_LOG_DOMAIN='"reallot"' -fsanitize="$sanitizers" "$@" || exit 2
}

# An object is as old as the newest header: entries are built often, the
# readers behind them rarely.
compile() { # SOURCE OBJECT
  if [ ! -e "$2" ] ||
    [ -n "$(find "$1" "$srcdir"/*/*.h "$srcdir"/*/*/*.h \
      -newer "$2" | head -n 1)" ]; then
    build fuzzer-no-link,address,undefined -c "$1" -o "$2"
  fi
}
for source in "$srcdir"/base/*.c "$srcdir"/graph/*/*.c \
  "$srcdir"/traces/*.c "$srcdir"/estimator/*.c "$srcdir"/sim/*.c \
  "$srcdir"/sim/*/*.c "$srcdir"/study/change.c "$srcdir"/study/file_kind.c \
  "$srcdir"/study/machine/*.c "$srcdir"/study/replay.c \
  "$srcdir"/study/shell/shell*.c \
  "$srcdir"/study/shell/launch.c "$srcdir"/study/convert/setting*.c \
  "$srcdir"/exec/weights/safetensors.c; do
  folder=$(basename "$(dirname "$source")")
  compile "$source" "$objects/$folder-$(basename "$source" .c).o"
done
rm -f "$out/readers.a"
ar rcs "$out/readers.a" "$objects"/*.o || exit 2

# Words of the readers' tables: what a mutation would take long to guess.
cat "$srcdir"/base/units.c "$srcdir"/graph/*/*.c "$srcdir"/traces/*.c |
  grep -o '"[a-zA-Z0-9][-a-zA-Z0-9_./ ]*"' | sort -u >"$out/words.dict"

seeds() { # KIND: files of that kind beside its corpus
  case $1 in
    keyfile) find "$srcdir/share/plans" "$srcdir/share/clusters" -name '*.*' ;;
    safetensors) find "$srcdir/tests/data/checkpoints" -name '*.safetensors' ;;
    shell) find "$srcdir/tests/data/import" -name '*.sh' ;;
    yaml) find "$srcdir/tests/data/import" -name '*.yaml' ;;
    model) find "$srcdir/share/models" -name '*.json' ;;
    *) find "$srcdir/share" "$srcdir/traces/profiles" -name "*.$1" ;;
  esac
}

status=0
printf '# seconds each: %s; edges: covered of those in the program\n' "$seconds"
printf 'kind\tn_executions\texecutions_per_s\tedges\tedges_all\tn_inputs\tfinding\n'
for kind; do
  program=$out/fuzz_$kind corpus=$out/corpus-$kind log=$out/$kind.log
  # shellcheck disable=SC2086
  build fuzzer,address,undefined "$srcdir/tests/fuzz/fuzz_$kind.c" \
    "$out/readers.a" $FUZZ_LIBS -o "$program"
  mkdir -p "$corpus"
  seeds "$kind" | while IFS= read -r file; do cp -f "$file" "$corpus"; done
  "$program" "$corpus" "$srcdir/tests/corpus/$kind" -dict="$out/words.dict" \
    -max_total_time="$seconds" -max_len=16384 -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$out/$kind-" -print_final_stats=1 >"$log" 2>&1 </dev/null
  rc=$?
  awk -v kind="$kind" -v rc=$rc '
    /inline 8-bit counters/ { sub(/^.*modules? *\(/, ""); all = $1 }
    /^stat::number_of_executed_units/ { n = $2 }
    /^stat::average_exec_per_sec/ { rate = $2 }
    match($0, / cov: [0-9]+/) { cov = substr($0, RSTART + 6, RLENGTH - 6) }
    match($0, / corp: [0-9]+/) { corp = substr($0, RSTART + 7, RLENGTH - 7) }
    /^SUMMARY|Assertion|assertion failed|^ERROR: libFuzzer|== ERROR: libFuzzer/ {
      if (found == "") found = $0 }
    END { printf "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", kind, n, rate, cov, all, corp,
            rc == 0 ? "-" : found }' "$log"
  [ "$rc" -eq 0 ] || status=1
done
exit $status
