/* The families of Hugging Face models and the defaults of their files.
 *
 * A key that a file leaves out has the default of the family's configuration
 * class in transformers 4.51 (configuration_<family>.py; from seed_oss on
 * 5.23), quoted at each table.
 * The sizes that make a model what it is (layers, hidden, heads, ffn, vocab)
 * must be there although the classes have defaults for them: transformers
 * always writes them, so that a file without is cut short, not terse.  Keys
 * that change no shape (rope_theta, dropout, ...) are ignored, as foreign
 * files carry many.
 */
#include "config.h"

#include <string.h>

#include "graph/input/model_family.h"

/* ---- parts that families share --------------------------------------- */

/* The element types of checkpoints; "auto" leaves it to the loader. */
static guint32
read_param_bytes(RaConfigReader *reader)
{
  static const char *const words[] = {
      "bfloat16", "float16", "half",          "auto",        "float32",
      "float",    "int8",    "float8_e4m3fn", "float8_e5m2", NULL};
  static const guint32 n_bytes[] = {2, 2, 2, 2, 4, 4, 1, 1, 1};
  return n_bytes[ra_config_reader_word(reader, "torch_dtype|dtype", words, 0)];
}

/* hidden / heads, where no head_dim is given. */
guint32
ra_model_default_head_dim(RaConfigReader *reader, const RaModel *model,
                          const char *hidden_keys)
{
  if (reader->failed)
    return 0;
  if (model->hidden % model->n_heads == 0)
    return model->hidden / model->n_heads;
  ra_config_reader_fail(reader, hidden_keys,
                        "%u hidden elements are not divisible by %u heads and "
                        "there is no 'head_dim'",
                        model->hidden, model->n_heads);
  return 0;
}

void
ra_model_check_kv_heads(RaConfigReader *reader, const RaModel *model,
                        const char *keys)
{
  if (!reader->failed && model->n_heads % model->n_kv_heads != 0)
    ra_config_reader_fail(reader, keys,
                          "%u heads are not divisible by %u key/value heads",
                          model->n_heads, model->n_kv_heads);
}

/* ---- llama and what follows it --------------------------------------- */

typedef enum {
  BIAS_NONE, /* the code has none */
  BIAS_QKV,  /* the code has those of q, k, v */
  BIAS_KEYS, /* attention_bias says: q, k, v and o; default false */
  BIAS_APART /* attention_bias: q, k, v, default true; attention_out_bias: o,
                default false */
} Bias;

typedef struct {
  guint32 kv_heads;      /* num_key_value_heads if absent; 0: as heads */
  guint32 head_dim;      /* head_dim if absent; 0: hidden / heads */
  guint32 max_positions; /* max_position_embeddings if absent, tokens */
  RaModelNorm norm;      /* LAYER has offsets */
  RaModelMlp mlp;        /* of the family's code */
  Bias bias;             /* of attention */
  gboolean mlp_bias;     /* has a key mlp_bias, default false */
  gboolean qk_norm;      /* of the family's code */
  gboolean tied;         /* tie_word_embeddings if absent */
} LlamaLike;

/* clang-format off */
static const LlamaLike llama_likes[] = {
  /*                    kv  dim  positions norm        mlp */
  [RA_FAMILY_LLAMA] = { 0,   0,   2048, RA_NORM_RMS,   RA_MLP_GATED,
                        BIAS_KEYS, TRUE, FALSE, FALSE},
  [RA_FAMILY_MISTRAL] = {8,  0, 131072, RA_NORM_RMS,   RA_MLP_GATED,
                        BIAS_NONE, FALSE, FALSE, FALSE},
  [RA_FAMILY_QWEN2] = {32,   0,  32768, RA_NORM_RMS,   RA_MLP_GATED,
                        BIAS_QKV, FALSE, FALSE, FALSE},
  [RA_FAMILY_QWEN3] = {32, 128,  32768, RA_NORM_RMS,   RA_MLP_GATED,
                        BIAS_KEYS, FALSE, TRUE, FALSE},
  [RA_FAMILY_MIXTRAL] = {8,  0, 131072, RA_NORM_RMS,   RA_MLP_GATED,
                        BIAS_NONE, FALSE, FALSE, FALSE},
  [RA_FAMILY_QWEN3_MOE] = {4, 0, 32768, RA_NORM_RMS,   RA_MLP_GATED,
                        BIAS_KEYS, FALSE, TRUE, FALSE},
  /* LayerNorm1P stores its scale less one: as many parameters */
  [RA_FAMILY_NEMOTRON] = {0, 0,   4096, RA_NORM_LAYER, RA_MLP_PLAIN,
                        BIAS_KEYS, TRUE, FALSE, FALSE},
  [RA_FAMILY_SEED_OSS] = {8, 128, 524288, RA_NORM_RMS, RA_MLP_GATED,
                        BIAS_APART, TRUE, FALSE, FALSE},
  /* every fourth layer has no rotary positions */
  [RA_FAMILY_SMOLLM3] = {4,  0,  32768, RA_NORM_RMS,   RA_MLP_GATED,
                        BIAS_KEYS, TRUE, FALSE, TRUE},
  /* factors on embeddings, residuals, attention and logits */
  [RA_FAMILY_GRANITE] = {0,  0,   2048, RA_NORM_RMS,   RA_MLP_GATED,
                        BIAS_KEYS, TRUE, FALSE, FALSE},
  /* qkv_proj and gate_up_proj are fused */
  [RA_FAMILY_PHI3] = {  0,   0,   4096, RA_NORM_RMS,   RA_MLP_GATED,
                        BIAS_NONE, FALSE, FALSE, FALSE},
  [RA_FAMILY_MINISTRAL] = {8, 0, 131072, RA_NORM_RMS,  RA_MLP_GATED,
                        BIAS_NONE, FALSE, FALSE, FALSE},
  [RA_FAMILY_MINISTRAL3] = {8, 128, 262144, RA_NORM_RMS, RA_MLP_GATED,
                        BIAS_NONE, FALSE, FALSE, FALSE},
};
/* clang-format on */

static void
read_llama_heads(RaConfigReader *reader, const LlamaLike *family,
                 RaModel *model)
{
  const char *kv_key = "num_key_value_heads";
  model->n_heads =
      ra_config_reader_size(reader, "num_attention_heads", RA_MODEL_MAX_HIDDEN);
  /* The classes tell null, which is heads, from absent. */
  guint32 kv =
      json_object_has_member(reader->object, kv_key) ? 0 : family->kv_heads;
  model->n_kv_heads = ra_config_reader_size_or(
      reader, kv_key, 1, RA_MODEL_MAX_HIDDEN, kv ? kv : model->n_heads);
  ra_model_check_kv_heads(reader, model,
                          json_object_has_member(reader->object, kv_key)
                              ? kv_key
                              : "num_attention_heads");
  model->head_dim = ra_config_reader_size_or(
      reader, "head_dim", 1, RA_MODEL_MAX_HIDDEN,
      json_object_has_member(reader->object, "head_dim") ? 0
                                                         : family->head_dim);
  if (model->head_dim == 0)
    model->head_dim = ra_model_default_head_dim(reader, model, "hidden_size");
}

static void
read_llama_biases(RaConfigReader *reader, const LlamaLike *family,
                  RaModel *model)
{
  gboolean apart = family->bias == BIAS_APART;
  gboolean bias = (apart || family->bias == BIAS_KEYS) &&
                  ra_config_reader_flag(reader, "attention_bias", apart);
  model->qkv_bias = bias || family->bias == BIAS_QKV;
  model->out_bias =
      apart ? ra_config_reader_flag(reader, "attention_out_bias", FALSE) : bias;
}

static void
read_llama(RaConfigReader *reader, RaModel *model)
{
  const LlamaLike *family = &llama_likes[model->family];
  model->n_layers =
      ra_config_reader_size(reader, "num_hidden_layers", RA_MODEL_MAX_LAYERS);
  model->hidden =
      ra_config_reader_size(reader, "hidden_size", RA_MODEL_MAX_HIDDEN);
  read_llama_heads(reader, family, model);
  model->ffn =
      ra_config_reader_size(reader, "intermediate_size", RA_MODEL_MAX_INNER);
  model->vocab =
      ra_config_reader_size(reader, "vocab_size", RA_MODEL_MAX_INNER);
  model->max_positions =
      ra_config_reader_size_or(reader, "max_position_embeddings", 1,
                               RA_MODEL_MAX_INNER, family->max_positions);
  model->norm = family->norm;
  model->norm_bias = family->norm == RA_NORM_LAYER;
  model->mlp = family->mlp;
  model->position = RA_POSITION_ROTARY;
  model->tied_embeddings =
      ra_config_reader_flag(reader, "tie_word_embeddings", family->tied);
  read_llama_biases(reader, family, model);
  model->mlp_bias =
      family->mlp_bias && ra_config_reader_flag(reader, "mlp_bias", FALSE);
  model->qk_norm = family->qk_norm;
}

/* MinistralConfig of 4.57: sliding_window 4096, of the layers whose layer_types
 * are sliding_attention, by default all. */
static void
read_ministral(RaConfigReader *reader, RaModel *model)
{
  const char *key = "sliding_window";
  gboolean said = json_object_has_member(reader->object, key);
  JsonArray *types;
  guint32 window;

  read_llama(reader, model);
  window =
      ra_config_reader_size_or(reader, key, 0, G_MAXINT32, said ? 0 : 4096);
  types =
      reader->failed ? NULL : ra_model_layers_of(reader, model, "layer_types");
  for (guint32 i = 0; !reader->failed && i < model->n_layers; i++) {
    const char *word = types ? ra_model_word_at(types, i) : "sliding_attention";
    RaLayerKind kind = {0};

    if (g_strcmp0(word, "sliding_attention") == 0)
      kind.window = window;
    else if (g_strcmp0(word, "full_attention") != 0)
      ra_config_reader_fail(reader, "layer_types",
                            "element %u of 'layer_types' is no known type of "
                            "layer, expected full_attention or "
                            "sliding_attention",
                            i);
    ra_model_set_layer(model, i, &kind);
  }
}

/* MixtralConfig: num_local_experts 8, num_experts_per_tok 2; every layer. */
static void
read_mixtral(RaConfigReader *reader, RaModel *model)
{
  read_llama(reader, model);
  model->n_experts = ra_config_reader_size_or(
      reader, "num_local_experts|num_experts", 1, RA_MODEL_MAX_EXPERTS, 8);
  model->experts_per_token = ra_config_reader_size_or(
      reader, "num_experts_per_tok", 1, MAX(model->n_experts, 1), 2);
  model->expert_ffn = model->ffn;
  if (reader->failed)
    return;
  model->kinds[0].ffn = RA_FFN_EXPERTS;
}

static void
read_mlp_only_layers(RaConfigReader *reader, const RaModel *model,
                     guint8 *is_moe)
{
  const char *key = "mlp_only_layers";
  JsonArray *array = ra_config_reader_array(reader, key);
  guint n = array ? json_array_get_length(array) : 0;
  for (guint i = 0; i < n && !reader->failed; i++) {
    JsonNode *node = json_array_get_element(array, i);
    gint64 layer = -1;
    if (JSON_NODE_HOLDS_VALUE(node) &&
        json_node_get_value_type(node) == G_TYPE_INT64)
      layer = json_node_get_int(node);
    if (layer < 0 || layer >= model->n_layers)
      ra_config_reader_fail(
          reader, key,
          "element %u of '%s' is not a layer, expected an integer from 0 to %u",
          i, key, model->n_layers - 1);
    else
      is_moe[layer] = 0;
  }
}

/* Qwen3MoeConfig: num_experts 128, num_experts_per_tok 8, decoder_sparse_step
 * 1, moe_intermediate_size 768, mlp_only_layers [].  Layer i, from 0, is a
 * MoE if it is not in that list and (i + 1) is a multiple of the step. */
static void
read_qwen3_moe(RaConfigReader *reader, RaModel *model)
{
  read_llama(reader, model);
  guint32 n_experts = ra_config_reader_size_or(
      reader, "num_experts|num_local_experts", 0, RA_MODEL_MAX_EXPERTS, 128);
  guint32 per_token = ra_config_reader_size_or(reader, "num_experts_per_tok", 1,
                                               MAX(n_experts, 1), 8);
  guint32 ffn = ra_config_reader_size_or(reader, "moe_intermediate_size", 1,
                                         RA_MODEL_MAX_INNER, 768);
  guint32 step = ra_config_reader_size_or(reader, "decoder_sparse_step", 1,
                                          RA_MODEL_MAX_LAYERS, 1);
  if (reader->failed)
    return;
  g_autofree guint8 *is_moe = g_malloc(model->n_layers);
  for (guint32 i = 0; i < model->n_layers; i++)
    is_moe[i] = n_experts > 0 && (i + 1) % step == 0;
  read_mlp_only_layers(reader, model, is_moe);
  ra_model_set_moe_layers(model, is_moe);
  if (ra_model_n_moe_layers(model) > 0) {
    model->n_experts = n_experts;
    model->experts_per_token = per_token;
    model->expert_ffn = ffn;
  }
}

/* ---- gpt2, bloom, mpt ------------------------------------------------ */

/* LayerNorm and biases everywhere, as many kv heads as heads, tied. */
static void
set_classic(RaConfigReader *reader, RaModel *model)
{
  model->n_kv_heads = model->n_heads;
  model->norm = RA_NORM_LAYER;
  model->mlp = RA_MLP_PLAIN;
  model->qkv_bias = model->out_bias = model->mlp_bias = TRUE;
  model->norm_bias = TRUE;
  model->tied_embeddings =
      ra_config_reader_flag(reader, "tie_word_embeddings", TRUE);
}

/* GPT2Config: n_positions 1024, n_inner None is 4 n_embd; its attribute_map
 * takes the usual spellings too. */
static void
read_gpt2(RaConfigReader *reader, RaModel *model)
{
  model->n_layers = ra_config_reader_size(reader, "n_layer|num_hidden_layers",
                                          RA_MODEL_MAX_LAYERS);
  model->hidden =
      ra_config_reader_size(reader, "n_embd|hidden_size", RA_MODEL_MAX_HIDDEN);
  model->n_heads = ra_config_reader_size(reader, "n_head|num_attention_heads",
                                         RA_MODEL_MAX_HIDDEN);
  model->head_dim =
      ra_model_default_head_dim(reader, model, "n_embd|hidden_size");
  model->ffn = ra_config_reader_size_or(reader, "n_inner", 1,
                                        RA_MODEL_MAX_INNER, 4 * model->hidden);
  model->vocab =
      ra_config_reader_size(reader, "vocab_size", RA_MODEL_MAX_INNER);
  model->max_positions =
      ra_config_reader_size_or(reader, "n_positions|max_position_embeddings", 1,
                               RA_MODEL_MAX_INNER, 1024);
  model->position = RA_POSITION_LEARNED;
  set_classic(reader, model);
  if (ra_config_reader_flag(reader, "add_cross_attention", FALSE))
    ra_config_reader_fail(reader, "add_cross_attention",
                          "'add_cross_attention' is true, expected a "
                          "decoder-only model");
}

/* BloomConfig: n_embed and hidden_size are one; the MLP is 4 hidden wide.
 * seq_length is in some published files and bounds nothing. */
static void
read_bloom(RaConfigReader *reader, RaModel *model)
{
  model->n_layers = ra_config_reader_size(reader, "n_layer|num_hidden_layers",
                                          RA_MODEL_MAX_LAYERS);
  model->hidden =
      ra_config_reader_size(reader, "n_embed|hidden_size", RA_MODEL_MAX_HIDDEN);
  model->n_heads = ra_config_reader_size(reader, "n_head|num_attention_heads",
                                         RA_MODEL_MAX_HIDDEN);
  model->head_dim =
      ra_model_default_head_dim(reader, model, "n_embed|hidden_size");
  model->ffn = 4 * model->hidden;
  model->vocab =
      ra_config_reader_size(reader, "vocab_size", RA_MODEL_MAX_INNER);
  model->position = RA_POSITION_ALIBI;
  model->embedding_norm = TRUE;
  set_classic(reader, model);
}

/* MptAttentionConfig: multihead_attention, alibi true, qk_ln false; rope and
 * grouped_query_attention with kv_n_heads are llm-foundry's. */
static void
read_mpt_attention(RaConfigReader *reader, RaModel *model, gboolean learned)
{
  static const char *const types[] = {"multihead_attention",
                                      "multiquery_attention",
                                      "grouped_query_attention", NULL};
  RaConfigReader saved;
  model->n_kv_heads = model->n_heads;
  model->position = RA_POSITION_ALIBI;
  if (!ra_config_reader_enter(reader, "attn_config", &saved))
    return;
  guint type = ra_config_reader_word(reader, "attn_type", types, 0);
  if (type == 1)
    model->n_kv_heads = 1;
  if (type == 2)
    model->n_kv_heads =
        ra_config_reader_size(reader, "kv_n_heads", RA_MODEL_MAX_HIDDEN);
  ra_model_check_kv_heads(reader, model, "kv_n_heads|attn_type");
  if (ra_config_reader_flag(reader, "rope", FALSE))
    model->position = RA_POSITION_ROTARY;
  else if (!ra_config_reader_flag(reader, "alibi", TRUE) && learned)
    model->position = RA_POSITION_LEARNED;
  else if (!ra_config_reader_flag(reader, "alibi", TRUE))
    ra_config_reader_fail(reader, "alibi",
                          "'alibi' is false and there is no 'rope' and no "
                          "'learned_pos_emb', expected one");
  if (ra_config_reader_flag(reader, "qk_ln", FALSE))
    ra_config_reader_fail(reader, "qk_ln", "'qk_ln' is true, expected false");
  ra_config_reader_leave(reader, &saved);
}

/* MptConfig: expansion_ratio 4, max_seq_len 2048, learned_pos_emb true (and
 * without meaning under alibi), no_bias true. */
static void
read_mpt(RaConfigReader *reader, RaModel *model)
{
  model->n_layers = ra_config_reader_size(reader, "n_layers|num_hidden_layers",
                                          RA_MODEL_MAX_LAYERS);
  model->hidden =
      ra_config_reader_size(reader, "d_model|hidden_size", RA_MODEL_MAX_HIDDEN);
  model->n_heads = ra_config_reader_size(reader, "n_heads|num_attention_heads",
                                         RA_MODEL_MAX_HIDDEN);
  model->head_dim =
      ra_model_default_head_dim(reader, model, "d_model|hidden_size");
  model->ffn = model->hidden *
               ra_config_reader_size_or(reader, "expansion_ratio", 1, 64, 4);
  model->vocab =
      ra_config_reader_size(reader, "vocab_size", RA_MODEL_MAX_INNER);
  model->max_positions = ra_config_reader_size_or(reader, "max_seq_len", 1,
                                                  RA_MODEL_MAX_INNER, 2048);
  set_classic(reader, model);
  if (ra_config_reader_flag(reader, "no_bias", TRUE))
    model->qkv_bias = model->out_bias = model->mlp_bias = model->norm_bias =
        FALSE;
  read_mpt_attention(reader, model,
                     ra_config_reader_flag(reader, "learned_pos_emb", TRUE));
}

void
ra_model_read_family(RaConfigReader *reader, RaModel *model)
{
  static void (*const readers[])(RaConfigReader *, RaModel *) = {
      [RA_FAMILY_LLAMA] = read_llama,
      [RA_FAMILY_MISTRAL] = read_llama,
      [RA_FAMILY_QWEN2] = read_llama,
      [RA_FAMILY_QWEN3] = read_llama,
      [RA_FAMILY_MIXTRAL] = read_mixtral,
      [RA_FAMILY_QWEN3_MOE] = read_qwen3_moe,
      [RA_FAMILY_GPT2] = read_gpt2,
      [RA_FAMILY_BLOOM] = read_bloom,
      [RA_FAMILY_MPT] = read_mpt,
      [RA_FAMILY_NEMOTRON] = read_llama,
      [RA_FAMILY_SEED_OSS] = read_llama,
      [RA_FAMILY_SMOLLM3] = read_llama,
      [RA_FAMILY_GRANITE] = read_llama,
      [RA_FAMILY_PHI3] = read_llama,
      [RA_FAMILY_MINISTRAL] = read_ministral,
      [RA_FAMILY_MINISTRAL3] = read_llama};
  model->param_bytes = read_param_bytes(reader);
  if (model->family == RA_FAMILY_OTHER)
    return; /* graph/input/model_layers.c has read it */
  g_return_if_fail((guint)model->family < G_N_ELEMENTS(readers));
  readers[model->family](reader, model);
}
