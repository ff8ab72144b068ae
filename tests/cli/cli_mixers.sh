#!/bin/bash
# Models whose layers attend to a part of their tokens, from starter files to a
# plan.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# DeepSeek-V4: kinds of layers, and 21 layers that cache 1024 + 132 bytes of 4
# tokens and 20 of 1024 of 128: 6229 a token beyond the window.
works inspect deepseek-ai/DeepSeek-V4-Flash --format=tsv
grep -q '^compressed attention to 128 tokens and 4 to 1, indexer of 512 + 256 experts and shared ones	21	2	6595558646	289	' out &&
  awk -F'\t' '$1 == 8192 { near = $3 } $1 == 32768 { far = $3 }
    END { exit far - near != 6229 * (32768 - 8192) }' out
result $? "compressed attention is counted"
works new v4 --model=deepseek-ai/DeepSeek-V4-Flash --gpu=h200-sxm --nodes=16
works simulate v4.plan -n 1
works simulate v4.plan -n 1 --set 'call actor_generate.dtype=fp8'
works plan --strategy=real --workload=v4.workload --cluster=v4.cluster
fails "'tp' is 16, expected a divisor of 8, the groups of attention outputs" \
  simulate v4.plan --set 'call actor_train.tp=16' --set 'call actor_train.pp=4'

# MiniMax-M3: 57 of 60 layers cache 128 elements beside 2 * 4 * 128, of 2 bytes.
works inspect MiniMaxAI/MiniMax-M3 --format=tsv
awk -F'\t' '$1 == 8192 { near = $3 } $1 == 32768 { far = $3 }
  END { exit far - near != (60 * 2048 + 57 * 256) * (32768 - 8192) }' out
result $? "keys of indexers are counted"
works new m3 --model=MiniMaxAI/MiniMax-M3 --gpu=h200-sxm --nodes=16
works simulate m3.plan -n 1
works simulate m3.plan -n 1 --set 'call actor_generate.dtype=fp8'

echo "1..$n"
