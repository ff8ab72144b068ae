# shellcheck shell=bash disable=SC2154 # gpu_class and dry are node.sh's
# Plans of bench/node.sh, written into a folder: models as their configuration,
# a cluster of this machine's GPU, a workload, a layout of every call.
#
#   write_cluster GPUS                        node.cluster
#   write_model NAME LAYERS HIDDEN FFN HEADS KV_HEADS HEAD_DIM VOCABULARY
#   write_families                            experts, heads, ring, alibi, learned
#   write_workload NAME ALGORITHM MODEL PROMPTS PROMPT RESPONSE [SAMPLES]
#   write_plan NAME WORKLOAD GENERATE INFER TRAIN
#
# A layout is keys with values, "mesh=0-7 dp=4 tp=2"; '-' where there is no call.

write_cluster() { # GPUS
  cat >node.cluster <<C
[cluster]
nodes = 1
gpus-per-node = $1
gpu = $gpu_class
framework-memory = 0 B
allocator-slack = 0
C
}

write_model() { # NAME LAYERS HIDDEN FFN HEADS KV_HEADS HEAD_DIM VOCABULARY
  cat >"$1.json" <<J
{"model_type": "llama", "num_hidden_layers": $2, "hidden_size": $3,
 "intermediate_size": $4, "num_attention_heads": $5,
 "num_key_value_heads": $6, "head_dim": $7, "vocab_size": $8,
 "max_position_embeddings": 8192, "tie_word_embeddings": false}
J
}

# Models whose layers are not Llama's, with a workload of SFT each.
write_families() {
  local name width=512 layers=4 vocabulary=1024 lengths=('24, 40' '64, 128')
  local prompts=32 rest

  if [ "$dry" = yes ]; then
    width=128 layers=2 vocabulary=64 prompts=4 lengths=('2, 4' '6, 8')
  fi
  rest="\"num_hidden_layers\": $layers, \"hidden_size\": $width,
 \"intermediate_size\": $width, \"num_attention_heads\": $((width / 64)),
 \"num_key_value_heads\": $((width / 128)), \"head_dim\": 64,
 \"max_position_embeddings\": 8192, \"tie_word_embeddings\": false"
  cat >experts.json <<J
{"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2,
 "vocab_size": $vocabulary, $rest}
J
  cat >heads.json <<J
{"model_type": "qwen3_moe", "num_experts": 16, "num_experts_per_tok": 4,
 "moe_intermediate_size": $((width / 2)), "norm_topk_prob": true,
 "mlp_only_layers": [1], "vocab_size": $vocabulary, $rest}
J
  cat >ring.json <<J
{"model_type": "qwen3", "vocab_size": $vocabulary, $rest}
J
  cat >alibi.json <<J
{"model_type": "bloom", "hidden_size": $width, "n_layer": $layers,
 "n_head": $((width / 64)), "vocab_size": $vocabulary}
J
  cat >learned.json <<J
{"model_type": "gpt2", "n_embd": $width, "n_layer": $layers,
 "n_head": $((width / 64)), "vocab_size": 50257, "n_positions": 1024}
J
  for name in experts heads ring alibi learned; do
    write_workload $name sft $name $prompts "${lengths[@]}"
  done
}

add_model() { # NAME CONFIG LINE...
  printf '[model %s]\nconfig = %s.json\ndtype = bf16\n' "$1" "$2"
  shift 2
  printf '%s\n' "$@"
}

add_call() { # NAME MODEL KIND INPUTS [OUTPUTS]
  printf '[call %s]\nmodel = %s\nkind = %s\ninputs = %s\n' "$1" "$2" "$3" "$4"
  [ $# -lt 5 ] || printf 'outputs = %s\n' "$5"
}

write_workload() { # NAME ALGORITHM MODEL PROMPTS PROMPT RESPONSE [SAMPLES]
  local learned='sequences, logprobs, ref_logprobs, rewards'

  [ "$2" != ppo ] || learned="$learned, values"
  {
    printf '[workload]\nalgorithm = %s\nprompts = %s\n' "$2" "$4"
    printf 'prompt-length = uniform(%s)\nresponse-length = uniform(%s)\n' \
      "$5" "$6"
    [ $# -lt 7 ] || printf 'samples-per-prompt = %s\n' "$7"
    if [ "$2" = sft ]; then
      printf 'dataset = pairs\n'
      add_model actor "$3" 'trainable = true'
      add_call actor_train actor train pairs
    else
      printf 'dataset = prompts\n'
      add_model actor "$3" 'trainable = true'
      add_model ref "$3"
      [ "$2" != ppo ] || add_model critic "$3" 'trainable = true' 'head = value'
      add_call actor_generate actor generate prompts 'sequences, logprobs'
      add_call ref_inference ref inference sequences ref_logprobs
      printf '[call reward]\nkind = host\nhost-time = 0.01 ms\n'
      printf 'inputs = sequences\noutputs = rewards\n'
      [ "$2" != ppo ] ||
        add_call critic_inference critic inference sequences values
      add_call actor_train actor train "$learned"
      [ "$2" != ppo ] || add_call critic_train critic train "$learned"
    fi
  } >"$1.workload"
}

add_layout() { # CALL LAYOUT [LINE]
  printf '[call %s]\n' "$1"
  for key in $2; do
    case $key in
      mesh=*) printf 'mesh = node0:gpu[%s]\n' "${key#*=}" ;;
      *) printf '%s = %s\n' "${key%%=*}" "${key#*=}" ;;
    esac
  done
  [ $# -lt 3 ] || printf '%s\n' "$3"
}

write_plan() { # NAME WORKLOAD GENERATE INFER TRAIN
  {
    printf '[plan]\nworkload = %s.workload\ncluster = node.cluster\n' "$2"
    [ "$3" = - ] || add_layout actor_generate "$3"
    [ "$4" = - ] || add_layout ref_inference "$4"
    add_layout actor_train "$5" 'grad-dtype = fp32'
    if grep -q '^algorithm = ppo' "$2.workload"; then
      add_layout critic_inference "$4"
      add_layout critic_train "$5" 'grad-dtype = fp32'
    fi
  } >"$1.plan"
}
