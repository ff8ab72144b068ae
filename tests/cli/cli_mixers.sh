#!/bin/bash
# Models whose layers attend to a part of their tokens, from starter files to a
# plan.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

# DeepSeek-V4: kinds of layers, and 21 layers that cache 1024 + 132 bytes of 4
# tokens and 20 of 1024 of 128: 6229 a token beyond the window.
works inspect deepseek-ai/DeepSeek-V4-Flash --format=tsv
grep -q '^compressed attention to 128 tokens, 4:1, indexer of 512 + 256 experts and shared	21	2	6595558646	289	' out &&
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

# The executor computes neither.
cat >v4.json <<END
{"model_type": "deepseek_v4", "vocab_size": 256, "hidden_size": 64,
 "num_hidden_layers": 4, "compress_ratios": [0, 4, 128, 4],
 "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 32,
 "qk_rope_head_dim": 16, "q_lora_rank": 32, "o_groups": 2, "o_lora_rank": 16,
 "index_head_dim": 16, "index_n_heads": 4, "index_topk": 8,
 "moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts_per_tok": 2,
 "num_hash_layers": 0, "num_nextn_predict_layers": 0, "torch_dtype": "float32",
 "max_position_embeddings": 4096}
END
fails "compressed attention ('layer_types', 'compress_ratios')" \
  run "$plans/sft-tiny-4.plan" --set "model actor.config=$PWD/v4.json"
cat >m3.json <<END
{"model_type": "minimax_m3_vl_text", "vocab_size": 256, "hidden_size": 64,
 "num_hidden_layers": 4, "moe_layer_freq": [0, 1, 1, 1],
 "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16,
 "rotary_dim": 8, "dense_intermediate_size": 128, "intermediate_size": 32,
 "shared_intermediate_size": 32, "n_shared_experts": 1,
 "num_local_experts": 4, "num_experts_per_tok": 2, "torch_dtype": "float32",
 "sparse_attention_config": {"sparse_attention_freq": [0, 1, 1, 1],
  "sparse_block_size": 128, "sparse_index_dim": 16, "sparse_local_block": 1,
  "sparse_num_index_heads": 4, "sparse_topk_blocks": 16},
 "use_qk_norm": true, "max_position_embeddings": 4096}
END
fails "an indexer of blocks ('layer_types', 'sparse_attention_config')" \
  run "$plans/sft-tiny-4.plan" --set "model actor.config=$PWD/m3.json"

echo "1..$n"
