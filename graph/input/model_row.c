/* Tables of tensors, family by family. */
#include "config.h"

#include "graph/input/model_row.h"

/* clang-format off */
#define EMBEDDING RA_TENSOR_EMBEDDING
#define NORM RA_TENSOR_NORM
#define Q RA_TENSOR_Q
#define K RA_TENSOR_K
#define V RA_TENSOR_V
#define O RA_TENSOR_O
#define GATE RA_TENSOR_GATE
#define UP RA_TENSOR_UP
#define DOWN RA_TENSOR_DOWN
#define HEAD RA_TENSOR_HEAD

/* Source of all names and their order: the state_dict of each family's
 * modeling_*.py in huggingface/transformers 4.51. */

static const Row llama_before[] = {
  {"model.embed_tokens.weight", EMBEDDING, WHEN_ALWAYS, 0, 0},
  /* no llama has it: a bare shape may */
  {"model.embed_positions.weight", RA_TENSOR_POSITION, WHEN_LEARNED, 0, 0},
  {NULL, 0, 0, 0, 0}
};

#define LLAMA_ATTENTION \
  {"self_attn.q_proj.weight", Q, WHEN_ALWAYS, 0, 0}, \
  {"self_attn.q_proj.bias", Q, WHEN_ALWAYS, 1, 0}, \
  {"self_attn.k_proj.weight", K, WHEN_ALWAYS, 0, 0}, \
  {"self_attn.k_proj.bias", K, WHEN_ALWAYS, 1, 0}, \
  {"self_attn.v_proj.weight", V, WHEN_ALWAYS, 0, 0}, \
  {"self_attn.v_proj.bias", V, WHEN_ALWAYS, 1, 0}, \
  {"self_attn.o_proj.weight", O, WHEN_ALWAYS, 0, 0}, \
  {"self_attn.o_proj.bias", O, WHEN_ALWAYS, 1, 0}, \
  {"self_attn.q_norm.weight", NORM, WHEN_QK_NORM, 0, SIZE_HEAD}, \
  {"self_attn.k_norm.weight", NORM, WHEN_QK_NORM, 0, SIZE_HEAD}

#define LLAMA_NORMS \
  {"input_layernorm.weight", NORM, WHEN_ALWAYS, 0, 0}, \
  {"input_layernorm.bias", NORM, WHEN_ALWAYS, 1, 0}, \
  {"post_attention_layernorm.weight", NORM, WHEN_ALWAYS, 0, 0}, \
  {"post_attention_layernorm.bias", NORM, WHEN_ALWAYS, 1, 0}

static const Row llama_layer[] = {
  LLAMA_ATTENTION,
  {"mlp.gate.weight", RA_TENSOR_ROUTER, WHEN_MOE, 0, 0},
  {"mlp.experts.*.gate_proj.weight", GATE, WHEN_EXPERT, 0, 0},
  {"mlp.experts.*.up_proj.weight", UP, WHEN_EXPERT, 0, 0},
  {"mlp.experts.*.down_proj.weight", DOWN, WHEN_EXPERT, 0, 0},
  {"mlp.gate_proj.weight", GATE, WHEN_DENSE, 0, 0},
  {"mlp.gate_proj.bias", GATE, WHEN_DENSE, 1, 0},
  {"mlp.up_proj.weight", UP, WHEN_DENSE, 0, 0},
  {"mlp.up_proj.bias", UP, WHEN_DENSE, 1, 0},
  {"mlp.down_proj.weight", DOWN, WHEN_DENSE, 0, 0},
  {"mlp.down_proj.bias", DOWN, WHEN_DENSE, 1, 0},
  LLAMA_NORMS,
  {NULL, 0, 0, 0, 0}
};

static const Row phi3_layer[] = {
  {"self_attn.o_proj.weight", O, WHEN_ALWAYS, 0, 0},
  {"self_attn.qkv_proj.weight[q]", Q, WHEN_ALWAYS, 0, 0},
  {"self_attn.qkv_proj.weight[k]", K, WHEN_ALWAYS, 0, 0},
  {"self_attn.qkv_proj.weight[v]", V, WHEN_ALWAYS, 0, 0},
  {"mlp.gate_up_proj.weight[gate]", GATE, WHEN_ALWAYS, 0, 0},
  {"mlp.gate_up_proj.weight[up]", UP, WHEN_ALWAYS, 0, 0},
  {"mlp.down_proj.weight", DOWN, WHEN_ALWAYS, 0, 0},
  LLAMA_NORMS,
  {NULL, 0, 0, 0, 0}
};

static const Row mixtral_layer[] = {
  LLAMA_ATTENTION,
  {"block_sparse_moe.gate.weight", RA_TENSOR_ROUTER, WHEN_MOE, 0, 0},
  {"block_sparse_moe.experts.*.w1.weight", GATE, WHEN_EXPERT, 0, 0},
  {"block_sparse_moe.experts.*.w2.weight", DOWN, WHEN_EXPERT, 0, 0},
  {"block_sparse_moe.experts.*.w3.weight", UP, WHEN_EXPERT, 0, 0},
  LLAMA_NORMS,
  {NULL, 0, 0, 0, 0}
};

static const Row llama_after[] = {
  {"model.norm.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"model.norm.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"lm_head.weight", HEAD, WHEN_LM_HEAD, 0, 0},
  {"score.weight", HEAD, WHEN_VALUE_HEAD, 0, 0},
  {NULL, 0, 0, 0, 0}
};

static const Row gpt2_before[] = {
  {"transformer.wte.weight", EMBEDDING, WHEN_ALWAYS, 0, 0},
  {"transformer.wpe.weight", RA_TENSOR_POSITION, WHEN_LEARNED, 0, 0},
  {NULL, 0, 0, 0, 0}
};

static const Row gpt2_layer[] = {
  {"ln_1.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"ln_1.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"attn.c_attn.weight[q]", Q, WHEN_ALWAYS, 0, 0},
  {"attn.c_attn.weight[k]", K, WHEN_ALWAYS, 0, 0},
  {"attn.c_attn.weight[v]", V, WHEN_ALWAYS, 0, 0},
  {"attn.c_attn.bias[q]", Q, WHEN_ALWAYS, 1, 0},
  {"attn.c_attn.bias[k]", K, WHEN_ALWAYS, 1, 0},
  {"attn.c_attn.bias[v]", V, WHEN_ALWAYS, 1, 0},
  {"attn.c_proj.weight", O, WHEN_ALWAYS, 0, 0},
  {"attn.c_proj.bias", O, WHEN_ALWAYS, 1, 0},
  {"ln_2.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"ln_2.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"mlp.c_fc.weight", UP, WHEN_ALWAYS, 0, 0},
  {"mlp.c_fc.bias", UP, WHEN_ALWAYS, 1, 0},
  {"mlp.c_proj.weight", DOWN, WHEN_ALWAYS, 0, 0},
  {"mlp.c_proj.bias", DOWN, WHEN_ALWAYS, 1, 0},
  {NULL, 0, 0, 0, 0}
};

static const Row gpt2_after[] = {
  {"transformer.ln_f.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"transformer.ln_f.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"lm_head.weight", HEAD, WHEN_LM_HEAD, 0, 0},
  {"score.weight", HEAD, WHEN_VALUE_HEAD, 0, 0},
  {NULL, 0, 0, 0, 0}
};

static const Row bloom_before[] = {
  {"transformer.word_embeddings.weight", EMBEDDING, WHEN_ALWAYS, 0, 0},
  {"transformer.word_embeddings_layernorm.weight", NORM,
   WHEN_EMBEDDING_NORM, 0, 0},
  {"transformer.word_embeddings_layernorm.bias", NORM,
   WHEN_EMBEDDING_NORM, 1, 0},
  {NULL, 0, 0, 0, 0}
};

static const Row bloom_layer[] = {
  {"input_layernorm.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"input_layernorm.bias", NORM, WHEN_ALWAYS, 1, 0},
  /* stored head by head as (n_heads, 3, head_dim, hidden) */
  {"self_attention.query_key_value.weight[q]", Q, WHEN_ALWAYS, 0, 0},
  {"self_attention.query_key_value.weight[k]", K, WHEN_ALWAYS, 0, 0},
  {"self_attention.query_key_value.weight[v]", V, WHEN_ALWAYS, 0, 0},
  {"self_attention.query_key_value.bias[q]", Q, WHEN_ALWAYS, 1, 0},
  {"self_attention.query_key_value.bias[k]", K, WHEN_ALWAYS, 1, 0},
  {"self_attention.query_key_value.bias[v]", V, WHEN_ALWAYS, 1, 0},
  {"self_attention.dense.weight", O, WHEN_ALWAYS, 0, 0},
  {"self_attention.dense.bias", O, WHEN_ALWAYS, 1, 0},
  {"post_attention_layernorm.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"post_attention_layernorm.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"mlp.dense_h_to_4h.weight", UP, WHEN_ALWAYS, 0, 0},
  {"mlp.dense_h_to_4h.bias", UP, WHEN_ALWAYS, 1, 0},
  {"mlp.dense_4h_to_h.weight", DOWN, WHEN_ALWAYS, 0, 0},
  {"mlp.dense_4h_to_h.bias", DOWN, WHEN_ALWAYS, 1, 0},
  {NULL, 0, 0, 0, 0}
};

static const Row mpt_layer[] = {
  {"norm_1.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"norm_1.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"attn.Wqkv.weight[q]", Q, WHEN_ALWAYS, 0, 0},
  {"attn.Wqkv.weight[k]", K, WHEN_ALWAYS, 0, 0},
  {"attn.Wqkv.weight[v]", V, WHEN_ALWAYS, 0, 0},
  {"attn.Wqkv.bias[q]", Q, WHEN_ALWAYS, 1, 0},
  {"attn.Wqkv.bias[k]", K, WHEN_ALWAYS, 1, 0},
  {"attn.Wqkv.bias[v]", V, WHEN_ALWAYS, 1, 0},
  {"attn.out_proj.weight", O, WHEN_ALWAYS, 0, 0},
  {"attn.out_proj.bias", O, WHEN_ALWAYS, 1, 0},
  {"norm_2.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"norm_2.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"ffn.up_proj.weight", UP, WHEN_ALWAYS, 0, 0},
  {"ffn.up_proj.bias", UP, WHEN_ALWAYS, 1, 0},
  {"ffn.down_proj.weight", DOWN, WHEN_ALWAYS, 0, 0},
  {"ffn.down_proj.bias", DOWN, WHEN_ALWAYS, 1, 0},
  {NULL, 0, 0, 0, 0}
};

static const Row mpt_after[] = {
  {"transformer.norm_f.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"transformer.norm_f.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"lm_head.weight", HEAD, WHEN_LM_HEAD, 0, 0},
  {"score.weight", HEAD, WHEN_VALUE_HEAD, 0, 0},
  {NULL, 0, 0, 0, 0}
};

#define MIXER RA_TENSOR_MIXER
#define IN RA_TENSOR_LINEAR_IN
#define OUT RA_TENSOR_LINEAR_OUT

/* Layers of all other families: attention, latent attention and linear mixers
 * by the names of their first families (deepseek_v3, deepseek_v32, qwen3_next,
 * kimi_linear, nemotron_h, lfm2); of what a family fuses the parts. */
static const Row other_layer[] = {
  {"self_attn.q_proj.weight", Q, WHEN_ALWAYS, 0, 0},
  {"self_attn.q_proj.bias", Q, WHEN_ALWAYS, 1, 0},
  {"self_attn.q_proj.weight[gate]", MIXER, WHEN_GATE, 0, SIZE_GATE},
  {"self_attn.q_proj.bias[gate]", Q, WHEN_GATE_IN_Q, 1, SIZE_Q_NORM},
  {"self_attn.k_proj.weight", K, WHEN_ALWAYS, 0, 0},
  {"self_attn.k_proj.bias", K, WHEN_ALWAYS, 1, 0},
  {"self_attn.v_proj.weight", V, WHEN_VALUES, 0, 0},
  {"self_attn.v_proj.bias", V, WHEN_VALUES, 1, 0},
  {"self_attn.o_proj.weight", O, WHEN_ALWAYS, 0, 0},
  {"self_attn.o_proj.bias", O, WHEN_ALWAYS, 1, 0},
  {"self_attn.g_proj.weight", MIXER, WHEN_HEAD_GATE, 0, SIZE_HEADS_IN},
  {"self_attn.sinks", MIXER, WHEN_SINKS, 0, SIZE_HEADS},
  {"self_attn.q_norm.weight", NORM, WHEN_QK_NORM, 0, SIZE_Q_NORM},
  {"self_attn.q_norm.bias", NORM, WHEN_QK_NORM, 1, SIZE_Q_NORM},
  {"self_attn.k_norm.weight", NORM, WHEN_QK_NORM, 0, SIZE_K_NORM},
  {"self_attn.k_norm.bias", NORM, WHEN_QK_NORM, 1, SIZE_K_NORM},
  {"self_attn.indexer.q_proj.weight", MIXER, WHEN_BLOCKS, 0, SIZE_INDEX_Q_IN},
  {"self_attn.indexer.k_proj.weight", MIXER, WHEN_BLOCKS, 0, SIZE_INDEX_K},
  {"self_attn.indexer.q_norm.weight", NORM, WHEN_BLOCKS, 0, SIZE_INDEX_NORM},
  {"self_attn.indexer.k_norm.weight", NORM, WHEN_BLOCKS, 0, SIZE_INDEX_NORM},
  {"self_attn.q_a_proj.weight", MIXER, WHEN_LATENT_Q, 0, SIZE_Q_DOWN},
  {"self_attn.q_a_proj.bias", Q, WHEN_LATENT_Q, 1, SIZE_Q_RANK},
  {"self_attn.q_a_layernorm.weight", NORM, WHEN_LATENT_Q, 0, SIZE_Q_RANK},
  {"self_attn.q_b_proj.weight", MIXER, WHEN_LATENT_Q, 0, SIZE_Q_UP},
  {"self_attn.q_proj.weight", MIXER, WHEN_WHOLE_Q, 0, SIZE_Q_WHOLE},
  {"self_attn.kv_a_proj_with_mqa.weight", MIXER, WHEN_LATENT, 0, SIZE_KV_DOWN},
  {"self_attn.kv_a_proj_with_mqa.bias", K, WHEN_LATENT, 1, SIZE_KV_DOWN},
  {"self_attn.kv_a_layernorm.weight", NORM, WHEN_LATENT, 0, SIZE_KV_RANK},
  {"self_attn.kv_b_proj.weight", MIXER, WHEN_LATENT, 0, SIZE_KV_UP},
  {"self_attn.o_proj.weight", MIXER, WHEN_LATENT, 0, SIZE_LATENT_OUT},
  {"self_attn.o_proj.bias", O, WHEN_LATENT, 1, SIZE_HIDDEN},
  {"self_attn.indexer.wq_b.weight", MIXER, WHEN_INDEXER, 0, SIZE_INDEX_Q},
  {"self_attn.indexer.wk.weight", MIXER, WHEN_INDEXER, 0, SIZE_INDEX_K},
  {"self_attn.indexer.k_norm.weight", MIXER, WHEN_INDEXER, 0,
   SIZE_INDEX_NORM},
  {"self_attn.indexer.k_norm.bias", MIXER, WHEN_INDEXER, 0, SIZE_INDEX_NORM},
  {"self_attn.indexer.weights_proj.weight", MIXER, WHEN_INDEXER, 0,
   SIZE_INDEX_WEIGHTS},
  {"self_attn.sinks", MIXER, WHEN_COMPRESSED, 0, SIZE_HEADS},
  {"self_attn.q_a_proj.weight", MIXER, WHEN_COMPRESSED, 0, SIZE_Q_DOWN},
  {"self_attn.q_a_norm.weight", NORM, WHEN_COMPRESSED, 0, SIZE_Q_RANK},
  {"self_attn.q_b_proj.weight", MIXER, WHEN_COMPRESSED, 0, SIZE_Q_HEADS_UP},
  {"self_attn.kv_proj.weight", MIXER, WHEN_COMPRESSED, 0, SIZE_KEY_IN},
  {"self_attn.kv_norm.weight", NORM, WHEN_COMPRESSED, 0, SIZE_HEAD},
  {"self_attn.o_a_proj.weight", MIXER, WHEN_COMPRESSED, 0, SIZE_GROUPS_OUT},
  {"self_attn.o_b_proj.weight", MIXER, WHEN_COMPRESSED, 0, SIZE_O_OUT},
  {"self_attn.compressor.position_bias", NORM, WHEN_COMPRESSOR, 0,
   SIZE_ENTRY_BIAS},
  {"self_attn.compressor.kv_proj.weight", MIXER, WHEN_COMPRESSOR, 0,
   SIZE_ENTRY_IN},
  {"self_attn.compressor.gate_proj.weight", MIXER, WHEN_COMPRESSOR, 0,
   SIZE_ENTRY_IN},
  {"self_attn.compressor.kv_norm.weight", NORM, WHEN_COMPRESSOR, 0, SIZE_HEAD},
  {"self_attn.compressor.indexer.position_bias", NORM, WHEN_CHOSEN, 0,
   SIZE_INDEX_ENTRY_BIAS},
  {"self_attn.compressor.indexer.kv_proj.weight", MIXER, WHEN_CHOSEN, 0,
   SIZE_INDEX_ENTRY_IN},
  {"self_attn.compressor.indexer.gate_proj.weight", MIXER, WHEN_CHOSEN, 0,
   SIZE_INDEX_ENTRY_IN},
  {"self_attn.compressor.indexer.kv_norm.weight", NORM, WHEN_CHOSEN, 0,
   SIZE_INDEX_NORM},
  {"self_attn.compressor.indexer.q_b_proj.weight", MIXER, WHEN_CHOSEN, 0,
   SIZE_INDEX_Q},
  {"self_attn.compressor.indexer.scorer.weights_proj.weight", MIXER,
   WHEN_CHOSEN, 0, SIZE_INDEX_WEIGHTS},
  {"linear_attn.in_proj_qkvz.weight[q]", IN, WHEN_DELTA, 0, SIZE_KEYS_IN},
  {"linear_attn.in_proj_qkvz.weight[k]", IN, WHEN_DELTA, 0, SIZE_KEYS_IN},
  {"linear_attn.in_proj_qkvz.weight[v]", IN, WHEN_DELTA, 0,
   SIZE_STATES_IN},
  {"linear_attn.in_proj_qkvz.weight[z]", IN, WHEN_DELTA, 0,
   SIZE_STATES_IN},
  {"linear_attn.in_proj_ba.weight[b]", IN, WHEN_DELTA, 0,
   SIZE_VALUE_HEADS_IN},
  {"linear_attn.in_proj_ba.weight[a]", IN, WHEN_DELTA, 0,
   SIZE_VALUE_HEADS_IN},
  {"linear_attn.conv1d.weight", MIXER, WHEN_DELTA, 0, SIZE_CONV},
  {"linear_attn.dt_bias", MIXER, WHEN_DELTA, 0, SIZE_VALUE_HEADS},
  {"linear_attn.A_log", MIXER, WHEN_DELTA, 0, SIZE_VALUE_HEADS},
  {"linear_attn.norm.weight", MIXER, WHEN_DELTA, 0, SIZE_STATE_NORM},
  {"linear_attn.out_proj.weight", OUT, WHEN_DELTA, 0, SIZE_STATES_OUT},
  {"self_attn.q_proj.weight", MIXER, WHEN_KIMI, 0, SIZE_KEYS_IN},
  {"self_attn.k_proj.weight", MIXER, WHEN_KIMI, 0, SIZE_KEYS_IN},
  {"self_attn.v_proj.weight", MIXER, WHEN_KIMI, 0, SIZE_STATES_IN},
  {"self_attn.qkv_conv1d.weight", MIXER, WHEN_KIMI, 0, SIZE_CONV},
  {"self_attn.A_log", MIXER, WHEN_KIMI, 0, SIZE_VALUE_HEADS},
  {"self_attn.f_a_proj.weight", MIXER, WHEN_KIMI, 0, SIZE_NARROW_IN},
  {"self_attn.f_b_proj.weight", MIXER, WHEN_KIMI, 0, SIZE_NARROW_KEYS},
  {"self_attn.dt_bias", MIXER, WHEN_KIMI, 0, SIZE_KEYS},
  {"self_attn.b_proj.weight", MIXER, WHEN_KIMI, 0, SIZE_VALUE_HEADS_IN},
  {"self_attn.g_a_proj.weight", MIXER, WHEN_KIMI, 0, SIZE_NARROW_IN},
  {"self_attn.g_b_proj.weight", MIXER, WHEN_KIMI, 0, SIZE_NARROW_STATES},
  {"self_attn.o_norm.weight", MIXER, WHEN_KIMI, 0, SIZE_STATE_NORM},
  {"self_attn.o_proj.weight", MIXER, WHEN_KIMI, 0, SIZE_STATES_OUT},
  {"mixer.in_proj.weight[z]", MIXER, WHEN_MAMBA, 0, SIZE_STATES_IN},
  {"mixer.in_proj.weight[x]", MIXER, WHEN_MAMBA, 0, SIZE_STATES_IN},
  {"mixer.in_proj.weight[b]", MIXER, WHEN_MAMBA, 0, SIZE_KEYS_IN},
  {"mixer.in_proj.weight[c]", MIXER, WHEN_MAMBA, 0, SIZE_KEYS_IN},
  {"mixer.in_proj.weight[dt]", MIXER, WHEN_MAMBA, 0, SIZE_VALUE_HEADS_IN},
  {"mixer.in_proj.bias", MIXER, WHEN_MAMBA, 1, SIZE_SCAN_IN},
  {"mixer.conv1d.weight", MIXER, WHEN_MAMBA, 0, SIZE_CONV},
  {"mixer.conv1d.bias", MIXER, WHEN_TAP_BIAS, 0, SIZE_CONV_BIAS},
  {"mixer.dt_bias", MIXER, WHEN_MAMBA, 0, SIZE_VALUE_HEADS},
  {"mixer.A_log", MIXER, WHEN_MAMBA, 0, SIZE_VALUE_HEADS},
  {"mixer.D", MIXER, WHEN_MAMBA, 0, SIZE_VALUE_HEADS},
  {"mixer.norm.weight", MIXER, WHEN_MAMBA, 0, SIZE_STATES_NORM},
  {"mixer.out_proj.weight", MIXER, WHEN_MAMBA, 0, SIZE_STATES_OUT},
  {"mixer.out_proj.bias", MIXER, WHEN_MAMBA, 1, SIZE_HIDDEN},
  {"conv.in_proj.weight", MIXER, WHEN_CONV, 0, SIZE_THRICE_IN},
  {"conv.conv.weight", MIXER, WHEN_CONV, 0, SIZE_SHORT_CONV},
  {"conv.out_proj.weight", MIXER, WHEN_CONV, 0, SIZE_SQUARE},
  {"mlp.gate.weight", RA_TENSOR_ROUTER, WHEN_MOE, 0, 0},
  {"mlp.gate.bias", RA_TENSOR_ROUTER, WHEN_MOE, 1, 0},
  {"mlp.latent_in.weight", RA_TENSOR_ROUTER, WHEN_LATENT_EXPERTS, 0,
   SIZE_EXPERTS_IN},
  {"mlp.latent_out.weight", RA_TENSOR_ROUTER, WHEN_LATENT_EXPERTS, 0,
   SIZE_EXPERTS_OUT},
  {"mlp.shared_experts.gate_proj.weight", GATE, WHEN_SHARED, 0,
   SIZE_SHARED_IN},
  {"mlp.shared_experts.up_proj.weight", UP, WHEN_SHARED, 0, SIZE_SHARED_IN},
  {"mlp.shared_experts.down_proj.weight", DOWN, WHEN_SHARED, 0,
   SIZE_SHARED_OUT},
  {"mlp.shared_expert_gate.weight", RA_TENSOR_ROUTER, WHEN_SHARED_GATE, 0,
   SIZE_SHARED_GATE},
  {"mlp.experts.*.gate_proj.weight", GATE, WHEN_EXPERT, 0, 0},
  {"mlp.experts.*.gate_proj.bias", GATE, WHEN_EXPERT, 1, 0},
  {"mlp.experts.*.up_proj.weight", UP, WHEN_EXPERT, 0, 0},
  {"mlp.experts.*.up_proj.bias", UP, WHEN_EXPERT, 1, 0},
  {"mlp.experts.*.down_proj.weight", DOWN, WHEN_EXPERT, 0, 0},
  {"mlp.experts.*.down_proj.bias", DOWN, WHEN_EXPERT, 1, 0},
  {"mlp.gate_proj.weight", GATE, WHEN_DENSE, 0, 0},
  {"mlp.gate_proj.bias", GATE, WHEN_DENSE, 1, 0},
  {"mlp.up_proj.weight", UP, WHEN_DENSE, 0, 0},
  {"mlp.up_proj.bias", UP, WHEN_DENSE, 1, 0},
  {"mlp.down_proj.weight", DOWN, WHEN_DENSE, 0, 0},
  {"mlp.down_proj.bias", DOWN, WHEN_DENSE, 1, 0},
  {"input_layernorm.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"input_layernorm.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"post_attention_layernorm.weight", NORM, WHEN_TWO_NORMS, 0, 0},
  {"post_attention_layernorm.bias", NORM, WHEN_TWO_NORMS, 1, 0},
  {"pre_feedforward_layernorm.weight", NORM, WHEN_FOUR_NORMS, 0, 0},
  {"post_feedforward_layernorm.weight", NORM, WHEN_FOUR_NORMS, 0, 0},
  {"pre_feedforward_layernorm_2.weight", NORM, WHEN_SEVEN_NORMS, 0, 0},
  {"post_feedforward_layernorm_1.weight", NORM, WHEN_SEVEN_NORMS, 0, 0},
  {"post_feedforward_layernorm_2.weight", NORM, WHEN_SEVEN_NORMS, 0, 0},
  {"attn_hc.fn", MIXER, WHEN_STREAMS, 0, SIZE_STREAM_MIXES_IN},
  {"attn_hc.base", MIXER, WHEN_STREAMS, 0, SIZE_STREAM_MIXES},
  {"attn_hc.scale", MIXER, WHEN_STREAMS, 0, SIZE_STREAM_SCALES},
  {"ffn_hc.fn", MIXER, WHEN_STREAMS, 0, SIZE_STREAM_MIXES_IN},
  {"ffn_hc.base", MIXER, WHEN_STREAMS, 0, SIZE_STREAM_MIXES},
  {"ffn_hc.scale", MIXER, WHEN_STREAMS, 0, SIZE_STREAM_SCALES},
  {"router.scale", MIXER, WHEN_SEVEN_NORMS, 0, SIZE_HIDDEN},
  {"router.per_expert_scale", MIXER, WHEN_SEVEN_NORMS, 0, SIZE_EXPERTS},
  {NULL, 0, 0, 0, 0}
};

static const Row other_after[] = {
  {"model.norm.weight", NORM, WHEN_ALWAYS, 0, 0},
  {"model.norm.bias", NORM, WHEN_ALWAYS, 1, 0},
  {"model.hc_head.hc_fn", MIXER, WHEN_STREAMS, 0, SIZE_STREAM_SUM_IN},
  {"model.hc_head.hc_base", MIXER, WHEN_STREAMS, 0, SIZE_STREAM_SUM},
  {"model.hc_head.hc_scale", MIXER, WHEN_STREAMS, 0, SIZE_ONE},
  {"lm_head.weight", HEAD, WHEN_LM_HEAD, 0, 0},
  {"lm_head.bias", HEAD, WHEN_LM_HEAD, 1, 0},
  {"score.weight", HEAD, WHEN_VALUE_HEAD, 0, 0},
  {NULL, 0, 0, 0, 0}
};

/* Vision towers: modeling_qwen2_vl.py, modeling_qwen2_5_vl.py and
 * modeling_qwen3_vl.py of transformers 5.24; tensor parallelism as vLLM cuts
 * them (vllm/model_executor/models/qwen2_5_vl.py). */
#define VISION RA_TENSOR_VISION
#define BLOCK WHEN_VISION_LAYER
#define DEEP WHEN_VISION_DEEP

#define VISION_ATTENTION \
  {"visual.blocks.*.attn.qkv.weight[q]", VISION, BLOCK, 0, \
   SIZE_VISION_HEADS_IN}, \
  {"visual.blocks.*.attn.qkv.weight[k]", VISION, BLOCK, 0, \
   SIZE_VISION_HEADS_IN}, \
  {"visual.blocks.*.attn.qkv.weight[v]", VISION, BLOCK, 0, \
   SIZE_VISION_HEADS_IN}, \
  {"visual.blocks.*.attn.qkv.bias[q]", VISION, BLOCK, 0, SIZE_VISION_HEADS}, \
  {"visual.blocks.*.attn.qkv.bias[k]", VISION, BLOCK, 0, SIZE_VISION_HEADS}, \
  {"visual.blocks.*.attn.qkv.bias[v]", VISION, BLOCK, 0, SIZE_VISION_HEADS}, \
  {"visual.blocks.*.attn.proj.weight", VISION, BLOCK, 0, \
   SIZE_VISION_HEADS_OUT}, \
  {"visual.blocks.*.attn.proj.bias", VISION, BLOCK, 0, SIZE_VISION_NORM}

#define VISION_LINEAR(name, when, weight, bias) \
  {name ".weight", VISION, when, 0, weight}, \
  {name ".bias", VISION, when, 0, bias}

#define VISION_LAYER_NORMS \
  VISION_LINEAR("visual.blocks.*.norm1", BLOCK, SIZE_VISION_NORM, \
                SIZE_VISION_NORM), \
  VISION_LINEAR("visual.blocks.*.norm2", BLOCK, SIZE_VISION_NORM, \
                SIZE_VISION_NORM)

static const Row qwen2_vision[] = {
  {"visual.patch_embed.proj.weight", VISION, WHEN_ALWAYS, 0, SIZE_VISION_PATCH},
  VISION_LAYER_NORMS,
  VISION_ATTENTION,
  VISION_LINEAR("visual.blocks.*.mlp.fc1", BLOCK,
                SIZE_VISION_IN, SIZE_VISION_INNER),
  VISION_LINEAR("visual.blocks.*.mlp.fc2", BLOCK,
                SIZE_VISION_OUT, SIZE_VISION_NORM),
  VISION_LINEAR("visual.merger.ln_q", WHEN_ALWAYS,
                SIZE_VISION_NORM, SIZE_VISION_NORM),
  VISION_LINEAR("visual.merger.mlp.0", WHEN_ALWAYS,
                SIZE_VISION_WIDE_IN, SIZE_VISION_WIDE),
  VISION_LINEAR("visual.merger.mlp.2", WHEN_ALWAYS,
                SIZE_VISION_WIDE_OUT, SIZE_HIDDEN),
  {NULL, 0, 0, 0, 0}
};

static const Row qwen2_5_vision[] = {
  {"visual.patch_embed.proj.weight", VISION, WHEN_ALWAYS, 0, SIZE_VISION_PATCH},
  {"visual.blocks.*.norm1.weight", VISION, BLOCK, 0, SIZE_VISION_NORM},
  {"visual.blocks.*.norm2.weight", VISION, BLOCK, 0, SIZE_VISION_NORM},
  VISION_ATTENTION,
  VISION_LINEAR("visual.blocks.*.mlp.gate_proj", BLOCK,
                SIZE_VISION_IN, SIZE_VISION_INNER),
  VISION_LINEAR("visual.blocks.*.mlp.up_proj", BLOCK,
                SIZE_VISION_IN, SIZE_VISION_INNER),
  VISION_LINEAR("visual.blocks.*.mlp.down_proj", BLOCK,
                SIZE_VISION_OUT, SIZE_VISION_NORM),
  {"visual.merger.ln_q.weight", VISION, WHEN_ALWAYS, 0, SIZE_VISION_NORM},
  VISION_LINEAR("visual.merger.mlp.0", WHEN_ALWAYS,
                SIZE_VISION_WIDE_IN, SIZE_VISION_WIDE),
  VISION_LINEAR("visual.merger.mlp.2", WHEN_ALWAYS,
                SIZE_VISION_WIDE_OUT, SIZE_HIDDEN),
  {NULL, 0, 0, 0, 0}
};

static const Row qwen3_vision[] = {
  VISION_LINEAR("visual.patch_embed.proj", WHEN_ALWAYS,
                SIZE_VISION_PATCH, SIZE_VISION_NORM),
  {"visual.pos_embed.weight", VISION, WHEN_ALWAYS, 0, SIZE_VISION_POSITIONS},
  VISION_LAYER_NORMS,
  VISION_ATTENTION,
  VISION_LINEAR("visual.blocks.*.mlp.linear_fc1", BLOCK,
                SIZE_VISION_IN, SIZE_VISION_INNER),
  VISION_LINEAR("visual.blocks.*.mlp.linear_fc2", BLOCK,
                SIZE_VISION_OUT, SIZE_VISION_NORM),
  VISION_LINEAR("visual.merger.norm", WHEN_ALWAYS,
                SIZE_VISION_NORM, SIZE_VISION_NORM),
  VISION_LINEAR("visual.merger.linear_fc1", WHEN_ALWAYS,
                SIZE_VISION_WIDE_IN, SIZE_VISION_WIDE),
  VISION_LINEAR("visual.merger.linear_fc2", WHEN_ALWAYS,
                SIZE_VISION_WIDE_OUT, SIZE_HIDDEN),
  VISION_LINEAR("visual.deepstack_merger_list.*.norm", DEEP,
                SIZE_VISION_WIDE_NORM, SIZE_VISION_WIDE_NORM),
  VISION_LINEAR("visual.deepstack_merger_list.*.linear_fc1", DEEP,
                SIZE_VISION_WIDE_IN, SIZE_VISION_WIDE),
  VISION_LINEAR("visual.deepstack_merger_list.*.linear_fc2", DEEP,
                SIZE_VISION_WIDE_OUT, SIZE_HIDDEN),
  {NULL, 0, 0, 0, 0}
};

static const Row no_vision[] = {{NULL, 0, 0, 0, 0}};

static const Naming llama_naming = {
  llama_before, "model.layers.", llama_layer, llama_after, FALSE};
static const Naming phi3_naming = {
  llama_before, "model.layers.", phi3_layer, llama_after, FALSE};
static const Naming mixtral_naming = {
  llama_before, "model.layers.", mixtral_layer, llama_after, FALSE};
static const Naming gpt2_naming = {
  gpt2_before, "transformer.h.", gpt2_layer, gpt2_after, TRUE};
static const Naming bloom_naming = {
  bloom_before, "transformer.h.", bloom_layer, gpt2_after, FALSE};
static const Naming mpt_naming = {
  gpt2_before, "transformer.blocks.", mpt_layer, mpt_after, FALSE};
static const Naming other_naming = {
  llama_before, "model.layers.", other_layer, other_after, FALSE};
/* clang-format on */

const Naming *
ra_model_naming(const RaModel *model)
{
  switch (model->family) {
  case RA_FAMILY_MIXTRAL:
    return &mixtral_naming;
  case RA_FAMILY_PHI3:
    return &phi3_naming;
  case RA_FAMILY_GPT2:
    return &gpt2_naming;
  case RA_FAMILY_BLOOM:
    return &bloom_naming;
  case RA_FAMILY_MPT:
    return &mpt_naming;
  case RA_FAMILY_OTHER:
    return &other_naming;
  default:
    return &llama_naming;
  }
}

const Row *
ra_model_vision_rows(const RaModel *model)
{
  static const Row *const rows[] = {[RA_VISION_NONE] = no_vision,
                                    [RA_VISION_QWEN2] = qwen2_vision,
                                    [RA_VISION_QWEN2_5] = qwen2_5_vision,
                                    [RA_VISION_QWEN3] = qwen3_vision};

  return rows[model->vision.kind];
}
