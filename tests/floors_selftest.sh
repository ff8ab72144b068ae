#!/bin/sh
# Every rule of floors.sh can fail: a small tree that keeps all of them is
# broken in one place at a time, and floors.sh must name the place and the
# rule, and no other rule.
set -u

floors=${srcdir:-.}/tests/floors.sh
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

n=0
failed=0
result() { # STATUS WHAT
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then
    printf 'ok %d - %s\n' "$n" "$2"
  else
    printf 'not ok %d - %s\n' "$n" "$2"
    failed=1
  fi
}

header() { # FILE: an empty one with its guard
  guard=RA_$(echo "$1" | tr '[:lower:]/.' '[:upper:]__')
  printf '#ifndef %s\n#define %s\n#endif\n' "$guard" "$guard" >"$tmp/tree/$1"
}

clean_tree() {
  rm -rf "$tmp/tree"
  for folder in base graph/input graph/op graph/memory traces estimator \
    estimator/calibrate kernels/cpu kernels sim/network sim exec/comm exec \
    search study/convert study study/plot cli bench tests tests/sim; do
    mkdir -p "$tmp/tree/$folder"
    printf '%s\n' '#include "config.h"' '' "#include \"$folder/own.h\"" '' \
      '/* printf("%s", cudaMalloc()); is a comment, as is the next line:' \
      '   exit(1); atof("//"); */' 'static const char text[] = "puts(/*";' \
      'int printf_like(void);' >"$tmp/tree/$folder/own.c"
  done
  header base/own.h
  # shellcheck disable=SC2016 # backquotes of Markdown
  echo 'See `own.c`, `sim/own.c` and a `fuzz_KIND.c`.' >"$tmp/tree/base/README.md"
}

# Adds LINES to FILE of a clean tree; the first of them must be found by RULE.
broken() { # RULE FILE LINE...
  number=$1 file=$2
  shift 2
  clean_tree
  [ -e "$tmp/tree/$file" ] || case $file in
    *.c) echo '#include "config.h"' >"$tmp/tree/$file" ;;
    *.h) rm "$tmp/tree/base/own.h" && header "$file" ;;
  esac
  touch "$tmp/tree/$file"
  at=$(($(wc -l <"$tmp/tree/$file") + 1))
  printf '%s\n' "$@" >>"$tmp/tree/$file"
  sh "$floors" "$tmp/tree" >"$tmp/out" && echo "# exit 0" >>"$tmp/out"
  grep '^not ok' "$tmp/out" >"$tmp/rules"
  found=1
  grep -q "^# $file:$at:" "$tmp/out" && grep -q "^not ok $number " "$tmp/rules" &&
    [ "$(wc -l <"$tmp/rules")" -eq 1 ] && ! grep -q '^# exit 0' "$tmp/out" &&
    found=0
  [ $found -eq 0 ] || sed 's/^/# /' "$tmp/out"
  result $found "rule $number: $file: $1"
}

clean_tree
sh "$floors" "$tmp/tree" >"$tmp/out"
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$tmp/out"
result $status "a clean tree passes"

# Each folder may not include the floor above it, nor its neighbour.
broken 1 base/own.c '#include "graph/op/own.h"'
broken 1 graph/op/own.h '#include "traces/own.h"'
broken 1 traces/own.c '#include "estimator/own.h"'
broken 1 estimator/own.c '#include "kernels/own.h"'
broken 1 kernels/own.c '#  include "sim/own.h"'
broken 1 sim/own.c '#include "exec/own.h"'
broken 1 exec/own.c '#include "sim/own.h" /* why not */'
broken 1 exec/own.cu '#include "search/own.h"'
broken 1 search/own.c '#include "study/own.h"'
broken 1 study/own.c '#include "cli/own.h"'
broken 1 cli/own.c '#include "tests/own.h"'
broken 1 sim/own.c '#include "nowhere/own.h"'
# Nor a room the one above it, be that a room or the folder itself.
broken 2 graph/input/own.c '#include "graph/op/own.h"'
broken 2 graph/op/own.h '#include "graph/memory/own.h"'
broken 2 sim/network/own.c '#include "sim/own.h"'
broken 2 estimator/own.c '#include "estimator/calibrate/own.h"'
broken 2 study/convert/own.c '#include "study/own.h"'
broken 2 study/own.c '#include "study/plot/own.h"'
broken 5 sim/own.c '#include "event.h"'
broken 5 sim/own.c '#include "../sim/own.h"'
broken 7 sim/own.c '#include <cuda_runtime_api.h>'
broken 7 cli/own.c 'static int launch(void) { return cudaSetDevice(0); }'
broken 7 tests/sim/check_sim.c 'ncclComm_t comm;'
broken 8 kernels/own.c '#include <glib.h>'
broken 8 kernels/own.h 'gboolean is_ok;'
broken 9 base/own.c 'int ra_gpu_count(void);'
broken 9 base/own.h 'typedef struct _RaMesh RaMesh;'
broken 9 base/own.h 'typedef int RaWorkloadId;'
broken 10 sim/own.c '  printf("%d", 1);'
broken 10 graph/op/own.c '/* note */ g_printerr ("x");'
broken 10 exec/own.c '  fputs("x", stderr);'
broken 10 base/own.c "  if (c == '\"') puts(\"x\");"
broken 11 study/own.c '  exit(1);'
broken 12 cli/own.c '  x = strtod(text, &end);'
broken 12 cli/own.c '  setlocale(LC_ALL, "");'
broken 16 sim/own.c "$(printf 'static const char\tx;')"
broken 16 sim/own.c 'int x; '
broken 16 sim/own.c "$(printf '%081d' 0)"
broken 17 kernels/local.mk 'libkernels_a_SOURCES += %D%/adamw.cu adamw.h'
broken 18 study/own.c 'void f(void) { put(out, "set title \"%s\"\n", name); }'
broken 18 study/own.c "void f(void) { put(out, \"set title '%s'\\n\", name); }"
broken 18 bench/own.c \
  "void f(void) { put(\"set title 'of' \" \"'#%06\" PRIx32 \"' '%-4s'\", 1); }"
broken 18 cli/own.c 'void f(void) { put("# From %s.\n[plan]\n", name); }'
# shellcheck disable=SC2016 # $d is the name of a block
broken 18 study/own.c \
  'void f(void) { put("set title 1\n" "$d << EOD\n%sEOD\n", data); }'
# Rules that are about a whole file or folder.
clean_tree
header traces/owns.h
sh "$floors" "$tmp/tree" | grep -A1 '^# traces/owns.h:1:' |
  grep -q '^not ok 19 '
result $? "rule 19: a header and its plural"

clean_tree
header traces/thing.h
header graph/op/part.h
echo 'int ra_thing_count(void);' >>"$tmp/tree/traces/thing.h"
echo 'int ra_thing_sum(void);' >>"$tmp/tree/graph/op/part.h"
sh "$floors" "$tmp/tree" | grep -A1 '^# traces/thing.h:4:' |
  grep -q '^not ok 20 '
result $? "rule 20: a prefix in two rooms"

clean_tree
mkdir "$tmp/tree/graph/attic"
sed 's/RA_BASE_OWN_H/RA_GRAPH_ATTIC_OWN_H/' "$tmp/tree/base/own.h" \
  >"$tmp/tree/graph/attic/own.h"
sh "$floors" "$tmp/tree" | grep -A1 '^# graph/attic:1:' | grep -q '^not ok 3 '
result $? "rule 3: a room without a place"

clean_tree
for i in $(seq 60); do echo text >"$tmp/tree/sim/note_$i"; done
sh "$floors" "$tmp/tree" | grep -A1 '^# sim:1: 61 files' | grep -q '^not ok 4 '
result $? "rule 4: 61 files"

clean_tree
echo '#include <stdio.h>' >"$tmp/tree/sim/first.c"
echo '#include "config.h"' >>"$tmp/tree/sim/first.c"
sh "$floors" "$tmp/tree" | grep -A1 '^# sim/first.c:1:' | grep -q '^not ok 6 '
result $? 'rule 6: "config.h" is not the first include'

clean_tree
echo 'int x;' >"$tmp/tree/sim/none.c"
sh "$floors" "$tmp/tree" | grep -A1 '^# sim/none.c:1:' | grep -q '^not ok 6 '
result $? 'rule 6: no include'

clean_tree
cp "$tmp/tree/base/own.h" "$tmp/tree/sim/copy.h"
sh "$floors" "$tmp/tree" | grep -A1 '^# sim/copy.h:1:' | grep -q '^not ok 13 '
result $? "rule 13: a header with another's guard"

clean_tree
yes 'int x;' | head -n 793 >>"$tmp/tree/sim/own.c"
sh "$floors" "$tmp/tree" | grep -A1 '^# sim/own.c:801:' | grep -q '^not ok 14 '
result $? "rule 14: 801 lines"

clean_tree
{ echo 'static void'; echo 'long_one(void)'; echo '{'
  yes '  x++;' | head -n 61; echo '}'; } >>"$tmp/tree/sim/own.c"
sh "$floors" "$tmp/tree" | grep -A1 '^# sim/own.c:11:' | grep -q '^not ok 15 '
result $? "rule 15: a body of 61 lines"

# FILE LINE...: appended; the function in sim/own.h is for nobody else.
useless() {
  clean_tree
  header sim/own.h
  printf '%s\n' 'int ra_own_n(void);' >>"$tmp/tree/sim/own.h"
  printf '%s\n' 'int' 'ra_own_n(void) { return 1; }' >>"$tmp/tree/sim/own.c"
  [ $# -eq 0 ] || { file=$1; shift; printf '%s\n' "$@" >>"$tmp/tree/$file"; }
  sh "$floors" "$tmp/tree" | grep -A1 '^# sim/own.h:4:' |
    grep -q '^not ok 21 '
}
useless
result $? "rule 21: nobody calls it"
useless sim/own.c '  return ra_own_n();'
result $? "rule 21: only its own file calls it"
useless tests/own.c '  return ra_own_n();'
result $? "rule 21: only a test calls it"
! useless exec/own.c '  return ra_own_n();'
result $? "rule 21: another file calls it"

# shellcheck disable=SC2016 # backquotes of Markdown
broken 22 sim/README.md 'Start at `gone.h`.'
# shellcheck disable=SC2016
broken 22 base/README.md 'Tests: `check_gone.c`.'

echo "1..$n"
exit $failed
