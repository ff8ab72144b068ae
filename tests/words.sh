#!/bin/bash
# words.sh [TREE]: does the prose of TREE (default $srcdir) have the field's
# words (docs/glossary.md), and lines that fit a page?
#
# TAP, one test a word; each is first tried on a sentence that it must find.
# What breaks a rule is listed as FILE:LINE: above its `not ok`, LINE the first
# of its paragraph.
# shellcheck disable=SC2016,SC2086 # backquotes of Markdown; $pages are patterns
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
set -u

tree=${1:-${srcdir:-.}}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tree" || exit 99

# Each prints FILE:LINE:TEXT, one paragraph, list item or table row a line.
paragraphs() { # FILE...: Markdown without its code
  awk 'function flush() { if (text != "") print at ":" text; text = "" }
    FNR == 1 { flush(); fence = 0 }
    /^```/ { flush(); fence = !fence; next }
    fence || /^    / || /^$/ { flush(); next }
    /^(#|\||!)/ { flush(); print FILENAME ":" FNR ":" $0; next }
    /^ *([-*]|[0-9]+\.) / { flush() }
    {
      if (text == "") at = FILENAME ":" FNR
      sub(/^ +/, "")
      text = text (text == "" ? "" : " ") $0
    }
    END { flush() }' "$@" | sed 's/`[^`]*`/CODE/g'
}
heads() { # FILE...: the first comment of a source
  awk 'FNR == 1 { over = 0; text = "" }
    over { next }
    { line = $0; gsub(/^ *\/?\*+\/? ?| *\*\/ *$/, "", line)
      text = text (text == "" ? "" : " ") line }
    /\*\// { print FILENAME ":1:" text; over = 1 }' "$@"
}
manual() { # FILE...: a page in roff, a line a line
  awk '{ line = $0; sub(/^\.[A-Z]+ ?/, "", line); gsub(/\\f.|\\/, "", line)
    if (line !~ /^[.'"'"']/ && line != "") print FILENAME ":" FNR ":" line }' "$@"
}
literals() { # FILE...: what a program may print: its strings with a space
  awk 'function flush() {
      gsub(/\\n/, " ", text); gsub(/\\"/, "\"", text); sub(/^# /, "", text)
      if (text ~ / /) print at ":" text
      text = ""
    }
    FNR == 1 { flush() }
    /^[ ]*(\/?\*|#)/ { next }
    { line = $0; joined = text != "" && line ~ /^ *"/
      if (!joined) flush()
      while (match(line, /"([^"\\]|\\.)*"/)) {
        if (text == "") at = FILENAME ":" FNR
        text = text substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
        if (line !~ /^ *"/ && line != "") flush()
      }
    }
    END { flush() }' "$@"
}
remarks() { # FILE...: comments of key files, a paragraph a line
  awk 'function flush() { if (text != "") print at ":" text; text = "" }
    FNR == 1 || !/^#./ { flush() }
    /^#./ { if (text == "") at = FILENAME ":" FNR
      text = text (text == "" ? "" : " ") substr($0, 3); next }
    /[^#]# / { at = FILENAME ":" FNR; text = $0; sub(/^[^#]*# /, "", text)
      flush() }
    END { flush() }' "$@"
}
help() { # COMMAND...: what its --help prints
  local command
  for command; do
    "${builddir:-build}/reallot" "$command" --help |
      awk -v at="$command --help" '{ sub(/^ +(-., )? *--[^ ]* +/, "")
        print at ":" NR ":" $0 }'
  done
}

pages='README.md ARCHITECTURE.md HACKING.md SECURITY.md docs/*.md docs/design/*.md
  share/models/README.md'
pages="$pages $(find base graph traces estimator kernels sim exec search study \
  cli bench tests -name README.md -not -path 'tests/data/*' | LC_ALL=C sort)"
sources='base graph traces estimator kernels sim exec search study cli bench
  tests'
headers=$(find base graph traces estimator kernels sim exec search study cli \
  -name '*.h' | LC_ALL=C sort)
commands='simulate plan search study report plot trace graph inspect calibrate
  validate run compare diff new keys import export'

# What is read: one line a kind.
{
  paragraphs $pages
  heads $headers
  manual share/man/*.[15]
  literals $(find base graph traces estimator kernels sim exec search study \
    cli -name '*.[ch]' | LC_ALL=C sort)
  remarks share/*/*.workload share/*/*.cluster share/*/*.plan share/*/*.study \
    share/*/*.system
  [ ! -x "${builddir:-build}/reallot" ] || help $commands
} >"$tmp/text"

# A word as an extended regular expression, what to write instead, sentences
# that have it, an empty line.
cat >"$tmp/words" <<'EOF'
\b[Qq]uicker\b|\b([Tt]he|is|are|as) quickest\b
faster, fastest
The quickest plan of all families.

\bproducts\b
GEMM, matrix multiplication
Layers have seven products.

\b([Nn]etwork|[Oo]ther|[Ff]aster|its|the|their) cards?\b|\bcards [a-z]
NIC; GPU
Nodes have eight cards each.
The rate of a network card.

\b[Tt]exts? of (the |a |every |each )?(CUDA )?kernels?\b|\bsecond text\b|\bwhose text\b
source, implementation, variant
The text of the kernel has never run.

\b(is|are|was|were) told\b
name what passes the value, or prints it
The receiver is told of the message.

\b(is|are|was|were) asked (of|for)\b
name what calls, and what it needs
The same is asked of every plan.

\b[Dd]rawn (lengths?|batch(es)?|sequences?|tokens?|answers?)\b|\b(lengths?|answers?|tokens?|prompts?|stragglers?) (that )?(are|is|were|was) drawn\b
sampled
Stragglers are slow; lengths are drawn by the seed.
Calls with drawn lengths have no bounds.

(^|[.!?:|] |^[-*] )Of\b
the noun that it is about
Of the chains and of sampled lengths.
- Of it.
--seed | Of the chains and of sampled lengths.

\b([Tt]hreads?|[Rr]anks?|[Pp]rocess(es)?|[Rr]eaders?|[Nn]odes?|[Ss]equences?) who\b|\b[Ww]ho (waits?|sends?|runs?|lags?|has|is|needs?|reads?)\b
which
A rank who waits looks for 1 ms.

\b(waits?|blocks?) for nobody\b|\b[Nn]obody (is waited|waits)\b
does not wait, does not block
Sends wait for nobody.

\b(held|set|put) against\b
compared with
Runs are held against their predictions.

\b(collectives?|communication|computation|computes?|backwards?|GEMMs?|ops|ran|runs?) beside\b
overlaps with, concurrent with
What ran beside a collective took longer.

\b[Ss]ums over GPUs\b
all-reduce
Sums over GPUs take half of the time.

\bcached? keys and values\b|\b([Cc]ache of|[Rr]oom for( all)?|GB for( the)?|[Cc]opying|with|its) keys and values\b
KV cache
A copy of cached keys and values.
8.6 GB for the keys and values of 256 sequences.

\b([Pp]rompts?,?( and)?|[Ll]ong|[Ll]onger|[Ll]ongest|[Ss]horter|[Gg]reedy|[Rr]ejected|[Cc]arried|[Ll]ate|[Gg]iven|[Mm]any|[Ff]ew|prompt's|x [0-9]+) answers?\b|\banswers? of [0-9]
response
384 prompts x 8 answers of Qwen.
The longest answer decides.

[-]-draws\b|\b[Dd]raws_frac\b
--samples, --seeds, sd_frac
--draws=3 samples of the lengths

\b[Uu]nknown law of\b|\b[Ll]aws? of (the )?lengths?\b|\b[Ll]ength laws?\b
length distribution
An unknown law of lengths.

\b[Pp]lacement famil|\b([Bb]est|[Ff]astest|[Ss]econd) family\b|\bwriters of plans\b
placement strategy
12.9 % less than the best family.

\bof winner\b|\bby table\b|\bas if all had the mean\b
ratio; search estimate; mean lengths
of winner 131.3 %

\bfullest (GPU|node|rank)s?\b
the GPU with the highest peak memory
Memory of the fullest GPU.

\b[Ww]ithin the error\b|\bbeaten by none\b|\bnone below [0-9]
90 % interval; Pareto-optimal; lower bound
7 of 21 points are beaten by none in both.
None of both; none below 5.04 s.

\b[Bb]eyond the measurements\b|\bby the laws alone\b|\bno prediction has\b
extrapolated beyond the measured range; what the model does not include
Beyond the measurements, by the laws alone.

\b(GPUs?|lanes?) on which nothing runs\b|\b[Mm]emory where it turns\b|\bon [0-9]+ lanes\b
idle GPU time by cause; memory peaks and troughs; GPU groups
4716 tasks on 4 lanes

\b[Ss]pread anew\b|\bruns dry\b|\b[Ww]hether the rest of the plan is\b|\b[Ww]hat carries between\b
rebalanced, runs out of requests; offload policy; communication backend
What carries between ranks.

\b[Nn]ot expressed\b|\babout right\b
not representable; approximated
Two keys are not expressed.

(^|[^0-9.,=] )1 (rows|labels|seeds|nodes|points|iterations)\b|\bputs? yours there\b
1 row; replace with your own
of 1 rows

^#+ (It|They|Nobody|Nothing)\b
a heading with the words that people search for
## It runs on many machines

EOF

n=0 status=0
result() { # NAME: ok if $tmp/found is empty
  n=$((n + 1))
  if [ -s "$tmp/found" ]; then
    sed -n '1,20s/^/# /p' "$tmp/found"
    echo "not ok $n - $1"
    status=1
  else
    echo "ok $n - $1"
  fi
}
# Where the word is, with what is around it.
find_word() { # REGEX FILE: as the readers above print it
  local at text
  cut -d: -f3- "$2" | grep -nE "$1" | while IFS=: read -r at text; do
    at=$(sed -n "${at}p" "$2" | cut -d: -f1,2)
    grep -oE "(.{0,30}$1|$1).{0,30}" <<<"$text" | sed "s|^|$at: |"
  done
}

while IFS= read -r word; do
  IFS= read -r instead
  : >"$tmp/found"
  while IFS= read -r sentence && [ -n "$sentence" ]; do
    echo "self:1:$sentence" >"$tmp/self"
    [ -n "$(find_word "$word" "$tmp/self")" ] ||
      echo "self: not found in '$sentence'" >>"$tmp/found"
    last=$sentence
  done
  find_word "$word" "$tmp/text" >>"$tmp/found"
  result "$instead: not as in '$last'"
done <"$tmp/words"

late_noun() { # FILE...: comments that do not begin with their noun
  grep -nE '/\*+ *(Of|What|Whether) ' "$@" /dev/null | cut -d: -f1,2
}
printf '/* Of a fit. */\n/* Off it. */\n  /** What it has. */\n' >"$tmp/late.c"
late_noun $(find $sources -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \
  -o -name '*.cc') >"$tmp/found"
[ "$(late_noun "$tmp/late.c" | tr '\n' ' ')" = \
  "$tmp/late.c:1 $tmp/late.c:3 " ] ||
  echo "self: a late noun is not found, or another word is" >>"$tmp/found"
result "comments begin with their noun, not with Of, What or Whether"

long() { # FILE...: lines of prose of more than 120 columns
  awk 'FNR == 1 { fence = 0 } /^```/ { fence = !fence }
    !fence && !/^(\||    )/ && length > 120 { print FILENAME ":" FNR ":" }' "$@"
}
printf '%0121d\n' 0 >"$tmp/long.md"
printf '    %0121d\n| %0121d\n```\n%0121d\n```\n' 0 0 0 >"$tmp/code.md"
long $pages >"$tmp/found"
[ "$(long "$tmp/long.md" "$tmp/code.md")" = "$tmp/long.md:1:" ] ||
  echo "self: a long line is not found, or code is" >>"$tmp/found"
result "lines of Markdown have at most 120 columns, but for code and tables"

# The readers see what they should, and only that.
cat >"$tmp/a.md" <<'EOF'
# Head
One sentence
over two lines, `code` left out.

    a quick command
- item
EOF
printf '/* Head of\n * a file. */\n/* no head */\n' >"$tmp/a.h"
printf '.TH A 1\n.B \\-\\-seed\nThe \\fIquick\\fR way.\n' >"$tmp/a.1"
printf '#!/bin/sh\necho "  -n, --seed=N  Seed of it"\n' >"$tmp/reallot"
printf '/* "no string" */\nf("one\\n"\n  "two", "three four");\ng("five");\n' \
  >"$tmp/a.c"
printf '# One\n# two.\nkey = 1  # three\n\n#\n# Four\n' >"$tmp/a.plan"
chmod +x "$tmp/reallot"
{
  paragraphs "$tmp/a.md"
  heads "$tmp/a.h"
  manual "$tmp/a.1"
  literals "$tmp/a.c"
  remarks "$tmp/a.plan"
  builddir=$tmp help run
} | sed "s|^$tmp/||" >"$tmp/read"
cat >"$tmp/want" <<'EOF'
a.md:1:# Head
a.md:2:One sentence over two lines, CODE left out.
a.md:6:- item
a.h:1:Head of a file.
a.1:1:A 1
a.1:2:--seed
a.1:3:The quick way.
a.c:2:one two
a.c:3:three four
a.plan:1:One two.
a.plan:3:three
a.plan:6:Four
run --help:1:Seed of it
EOF
diff "$tmp/want" "$tmp/read" >"$tmp/found"
result "paragraphs, heads of sources, manual pages, strings and help are read"

echo "1..$n"
exit $status
