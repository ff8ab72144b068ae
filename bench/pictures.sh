#!/bin/bash
# pictures.sh SRCDIR [NAME...]: draws the pictures of SRCDIR/docs anew, each by
# the command that stands here, in the build folder; NAME...: only these.
#
#     cd build && bash ../bench/pictures.sh .. studies-gpus ppo-timeline
#
# `--list` in place of NAME names them.  All take a quarter of an hour on two
# cores, learning and validation (which wants the measurements, $RA_DATA) most
# of it.  tests/docs/pictures.sh holds that docs has no picture but these.
set -eu
srcdir=$(cd "$1" && pwd)
shift
RA_DATA_PATH=$srcdir/share:$srcdir/traces
export RA_DATA_PATH LC_ALL=C
docs=$srcdir/docs
wanted=" $* "

picture() { # NAME COMMAND...: which writes docs/NAME.png
  local name=$1
  shift
  case $wanted in
    *" --list "*) echo "$name" ;;
    '  ' | *" $name "*)
      echo "$name: $*" | sed "s|$srcdir/||g"
      "$@"
      ;;
  esac
}

plot() { # NAME ARGUMENT...: of `reallot plot`; its data are the plan's
  local name=$1 data
  shift
  data=$(mktemp)
  ./reallot plot "$@" --data="$data" -o "$docs/$name.png"
  rm -f "$data"
}

picture ppo-timeline plot ppo-timeline ppo-llama3-70b-128.plan
for name in gpus lengths price failures; do
  picture studies-$name ./reallot study $name.study \
    --plot="$docs/studies-$name.png" --no-cache
done
picture placement bench/placement --plot "$docs/placement.png"
picture regimes bench/regimes --plot "$docs/regimes.png"
picture learning bash "$srcdir/bench/learning.sh" "$docs/learning"
picture validation bash "$srcdir/bench/validation.sh" "$srcdir"
