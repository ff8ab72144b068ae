#!/bin/bash
# What `reallot run --save` writes opens in transformers with the same logits: of
# every family a checkpoint of tests/data/checkpoints is read, run for an iteration
# at a rate of 0 on two ranks and written, and transformers' logits of what was
# written are those of what was read, tests/data/checkpoints/*/logits.txt, within
# 1e-4; after an iteration at another rate they are not.  Not part of `make check`:
#
#     PYTHON=V/bin/python tests/exec/transformers.sh build/reallot
#
# where V has torch, safetensors and transformers 4.51 or later (Qwen3).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
reallot=$(realpath "${1:?expected the path of reallot}")
python=${PYTHON:-python3}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export RA_DATA_PATH="$here/../share:$here/../traces" LC_ALL=C

# Whether two files of numbers are within 1e-4 of 1 or of themselves.
alike() {
  awk 'NR == FNR { for (i = 1; i <= NF; i++) a[++n] = $i; next }
    { for (i = 1; i <= NF; i++) { d = $i - a[++m]; d = d < 0 ? -d : d
        s = $i < 0 ? -$i : $i; if (d > 1e-4 * (s > 1 ? s : 1)) bad++ } }
    END { exit !(n > 100 && n == m && bad == 0) }' "$1" "$2"
}

save() { # FOLDER RATE TO
  printf '[workload]\nformat = 1\nalgorithm = sft\ndataset = prompts
prompts = 8\nprompt-length = fixed(4)\nresponse-length = fixed(6)
[model actor]\nconfig = %s/config.json\ntrainable = true\ndtype = fp32
[call train]\nmodel = actor\nkind = train\ninputs = prompts\n' "$1" \
    >"$tmp/w.workload"
  printf '[plan]\nformat = 1\nworkload = w.workload
cluster = h100-1n.cluster\n[call train]\nmesh = node0:gpu[0-1]\ntp = 2\n' \
    >"$tmp/p.plan"
  "$reallot" run "$tmp/p.plan" -n 1 --weights actor="$1" --learning-rate="$2" \
    --save actor="$3" >/dev/null
}

names="llama-half llama-sharded llama-biases qwen2-tied qwen3 mixtral qwen3-moe
  qwen3-moe-normed qwen2-moe glm4-moe ministral deepseek-v3 deepseek-v2 gpt-oss
  gpt2 gpt2-bare bloom mpt"
for name in $names; do
  save "$here/data/checkpoints/$name" 0 "$tmp/same-$name"
  save "$here/data/checkpoints/$name" 0.01 "$tmp/other-$name"
done
# One process: to load transformers takes longer than all else.
"$python" "$here/torch/checkpoints.py" --open "$tmp"/same-* "$tmp"/other-*

failed=0
for name in $names; do
  logits=$here/data/checkpoints/$name/logits.txt
  if alike "$logits" "$tmp/same-$name/logits.txt" &&
    ! alike "$logits" "$tmp/other-$name/logits.txt"; then
    echo "ok - $name"
  else
    echo "not ok - $name"
    failed=1
  fi
done
exit $failed
