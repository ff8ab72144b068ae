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

/* ---- deepseek_v4: compressed attention, residual streams ------------- */

/* How transformers 5.24 names layers, and how published files do. */
static const struct {
  const char *word;    /* of layer_types */
  gint64 ratio;        /* of compress_ratios */
  const char *rate;    /* spelling of its own of compress_rates */
  guint32 compress;    /* tokens of an entry if no key says; 0: no entries */
  gboolean is_indexed; /* an indexer chooses entries */
} compressed_types[] = {
    {"sliding_attention", 0, NULL, 0, FALSE},
    {"compressed_sparse_attention", 4, "compress_rate_csa", 4, TRUE},
    {"heavily_compressed_attention", 128, "compress_rate_hca", 128, FALSE},
};

enum { WINDOW, SPARSE, HEAVY, N_TYPES };

gboolean
ra_model_is_compressed(const char *type)
{
  return g_str_equal(type, "deepseek_v4");
}

/* Elements @key of an array for @m's layers, and perhaps for those of
 * multi-token prediction behind them, which transformers cuts off. */
static JsonArray *
compressed_layers_of(RaConfigReader *reader, const RaModel *m, const char *key)
{
  JsonArray *array = ra_config_reader_array(reader, key);
  guint n = array ? json_array_get_length(array) : 0;

  if (!array || n >= m->n_layers)
    return array;
  ra_config_reader_fail(reader, key,
                        "'%s' has %u elements, expected at least %u, one for "
                        "each of 'num_hidden_layers'",
                        key, n, m->n_layers);
  return NULL;
}

static guint
type_of_word(JsonArray *array, guint32 i)
{
  const char *word = ra_model_word_at(array, i);
  guint t = 0;

  while (t < N_TYPES && g_strcmp0(word, compressed_types[t].word) != 0)
    t++;
  return t;
}

static guint
type_of_ratio(JsonArray *array, guint32 i)
{
  JsonNode *node = json_array_get_element(array, i);
  guint t = 0;

  if (!JSON_NODE_HOLDS_VALUE(node) ||
      json_node_get_value_type(node) != G_TYPE_INT64)
    return N_TYPES;
  while (t < N_TYPES && json_node_get_int(node) != compressed_types[t].ratio)
    t++;
  return t;
}

/* The type of layer @i: of layer_types, of compress_ratios, which must agree,
 * or two heavily compressed layers and then sparse ones between heavy ones. */
static guint
type_of(RaConfigReader *reader, JsonArray *words, JsonArray *ratios, guint32 i)
{
  guint by_word = words ? type_of_word(words, i) : N_TYPES;
  guint by_ratio = ratios ? type_of_ratio(ratios, i) : N_TYPES;

  if (words && by_word == N_TYPES)
    ra_config_reader_fail(reader, "layer_types",
                          "element %u of 'layer_types' is no known type of "
                          "layer, expected sliding_attention, "
                          "compressed_sparse_attention or "
                          "heavily_compressed_attention",
                          i);
  else if (ratios && by_ratio == N_TYPES)
    ra_config_reader_fail(reader, "compress_ratios",
                          "element %u of 'compress_ratios' is no known ratio, "
                          "expected 0, 4 or 128",
                          i);
  else if (words && ratios && by_word != by_ratio)
    ra_config_reader_fail(reader, "compress_ratios",
                          "element %u of 'compress_ratios' is of a %s layer, "
                          "expected that of 'layer_types', %s",
                          i, compressed_types[by_ratio].word,
                          compressed_types[by_word].word);
  if (reader->failed)
    return WINDOW;
  if (words || ratios)
    return words ? by_word : by_ratio;
  return i >= 2 && i % 2 == 1 ? SPARSE : HEAVY;
}

/* Tokens of an entry of each type: compress_rates, and later keys of each. */
static void
read_rates(RaConfigReader *reader, guint32 *out_rates)
{
  RaConfigReader saved;
  gboolean inner = ra_config_reader_enter(reader, "compress_rates", &saved);

  for (guint t = 0; t < N_TYPES; t++)
    out_rates[t] = compressed_types[t].compress;
  for (guint t = SPARSE; inner && t < N_TYPES; t++)
    out_rates[t] = ra_config_reader_size_or(reader, compressed_types[t].word, 1,
                                            RA_MODEL_MAX_INNER,
                                            compressed_types[t].compress);
  if (inner)
    ra_config_reader_leave(reader, &saved);
  for (guint t = SPARSE; t < N_TYPES; t++)
    out_rates[t] = ra_config_reader_size_or(reader, compressed_types[t].rate, 1,
                                            RA_MODEL_MAX_INNER, out_rates[t]);
}

static void
read_entry_indexer(RaConfigReader *reader, RaModel *m)
{
  m->index_heads = ra_config_reader_size_or(reader, "index_n_heads", 1,
                                            RA_MODEL_MAX_HIDDEN, 64);
  m->index_dim = ra_config_reader_size_or(reader, "index_head_dim", 1,
                                          RA_MODEL_MAX_HIDDEN, 128);
  m->index_top_k = ra_config_reader_size_or(reader, "index_topk", 1,
                                            RA_MODEL_MAX_INNER, 512);
}

static void
read_compressed_layers(RaConfigReader *reader, RaModel *m)
{
  JsonArray *words = compressed_layers_of(reader, m, "layer_types");
  JsonArray *ratios = compressed_layers_of(reader, m, "compress_ratios");
  guint32 window =
      ra_config_reader_size_or(reader, "sliding_window", 1, G_MAXINT32, 128);
  guint32 rates[N_TYPES];
  gboolean indexed = FALSE;

  read_rates(reader, rates);
  for (guint32 i = 0; i < m->n_layers && !reader->failed; i++) {
    guint t = type_of(reader, words, ratios, i);
    RaLayerKind kind = {.mixer = RA_MIXER_COMPRESSED,
                        .ffn = RA_FFN_EXPERTS,
                        .indexer = (guint8)compressed_types[t].is_indexed,
                        .window = window,
                        .compress = rates[t]};

    indexed |= compressed_types[t].is_indexed;
    ra_model_set_layer(m, i, &kind);
  }
  if (indexed)
    read_entry_indexer(reader, m);
}

/* Layers whose experts a table of token ids chooses: mlp_layer_types, or the
 * first num_hash_layers.  Their routers have the others' weights. */
static void
note_tables(RaConfigReader *reader, RaModel *m)
{
  const char *key = "mlp_layer_types";
  JsonArray *array = compressed_layers_of(reader, m, key);
  guint32 n = ra_config_reader_size_or(reader, "num_hash_layers", 0,
                                       RA_MODEL_MAX_LAYERS, 3);

  n = array ? 0 : MIN(n, m->n_layers);
  for (guint32 i = 0; array && i < m->n_layers && !reader->failed; i++) {
    const char *word = ra_model_word_at(array, i);

    if (g_strcmp0(word, "hash_moe") == 0)
      n++;
    else if (g_strcmp0(word, "moe") != 0)
      ra_config_reader_fail(reader, key,
                            "element %u of '%s' is no known type of layer, "
                            "expected hash_moe or moe",
                            i, key);
  }
  if (n > 0 && !reader->failed)
    ra_model_note(m,
                  "experts that a table of tokens chooses, of %u layers, are "
                  "counted as chosen evenly, and the table not",
                  n);
}

/* Keys that the family's classes pass over, with values that contradict what
 * these build. */
static void
refuse_compressed(RaConfigReader *reader, const RaModel *m)
{
  guint32 shared = ra_config_reader_size_or(reader, "n_shared_experts", 0,
                                            RA_MODEL_MAX_EXPERTS, 1);
  guint64 width = (guint64)m->n_heads * m->head_dim;

  if (!reader->failed && m->n_kv_heads != 1)
    ra_config_reader_fail(reader, "num_key_value_heads",
                          "'num_key_value_heads' is %u, expected 1: one head "
                          "is keys and values of all",
                          m->n_kv_heads);
  if (!reader->failed && shared != 1)
    ra_config_reader_fail(reader, "n_shared_experts",
                          "'n_shared_experts' is %u, expected 1: a layer has "
                          "one shared expert",
                          shared);
  if (!reader->failed && (guint64)m->o_groups * m->o_rank > RA_MODEL_MAX_INNER)
    ra_config_reader_fail(reader, "o_lora_rank",
                          "'o_lora_rank' is %u, of %u 'o_groups' together "
                          "expected at most %u",
                          m->o_rank, m->o_groups, RA_MODEL_MAX_INNER);
  if (!reader->failed && width % m->o_groups != 0)
    ra_config_reader_fail(reader, "o_groups",
                          "'o_groups' is %u, expected a divisor of %" //
                          G_GUINT64_FORMAT ", the width of all heads",
                          m->o_groups, width);
}

void
ra_model_read_compressed(RaConfigReader *reader, RaModel *m)
{
  m->q_rank = ra_config_reader_size_or(reader, "q_lora_rank", 1,
                                       RA_MODEL_MAX_HIDDEN, 1024);
  m->rope_dim = ra_config_reader_size_or(reader, "qk_rope_head_dim", 0,
                                         m->head_dim, m->head_dim / 8);
  m->o_groups =
      ra_config_reader_size_or(reader, "o_groups", 1, RA_MODEL_MAX_HIDDEN, 8);
  m->o_rank = ra_config_reader_size_or(reader, "o_lora_rank", 1,
                                       RA_MODEL_MAX_HIDDEN, 1024);
  m->n_streams = ra_config_reader_size_or(reader, "hc_mult", 1, 64, 4);
  m->shared_ffn = m->expert_ffn;
  m->sinks = 1;
  refuse_compressed(reader, m);
  if (reader->failed)
    return;
  read_compressed_layers(reader, m);
  note_tables(reader, m);
}

/* ---- minimax_m3: attention to blocks of keys ------------------------- */

gboolean
ra_model_is_minimax_m3(const char *type)
{
  return g_str_equal(type, "minimax_m3_vl_text") ||
         g_str_equal(type, "minimax_m3");
}

/* Which layers are sparse.  Files of transformers have a word for each layer;
 * published files have 1 for a sparse layer and 0 for another. */
typedef struct {
  const char *key, *sparse,
      *other;                 /* words: of the sparse type, of the other */
  const char *older;          /* key of numbers */
  JsonArray *words, *numbers; /* nullable */
  gboolean fallback;
} SparseLayers;

/* TRUE if layer @i is of the sparse type. */
static gboolean
is_sparse_layer(RaConfigReader *reader, const SparseLayers *l, guint32 i)
{
  const char *word = l->words ? ra_model_word_at(l->words, i) : NULL;
  JsonNode *node = l->numbers ? json_array_get_element(l->numbers, i) : NULL;
  gint64 number = node && JSON_NODE_HOLDS_VALUE(node) &&
                          json_node_get_value_type(node) == G_TYPE_INT64
                      ? json_node_get_int(node)
                      : -1;

  if (l->words && g_strcmp0(word, l->sparse) != 0 &&
      g_strcmp0(word, l->other) != 0)
    ra_config_reader_fail(reader, l->key,
                          "element %u of '%s' is no known type of layer, "
                          "expected %s or %s",
                          i, l->key, l->other, l->sparse);
  else if (l->numbers && number != 0 && number != 1)
    ra_config_reader_fail(reader, l->older,
                          "element %u of '%s' is no type of layer, expected 0 "
                          "or 1",
                          i, l->older);
  else if (l->words && l->numbers && g_str_equal(word, l->sparse) != number)
    ra_config_reader_fail(reader, l->older,
                          "element %u of '%s' contradicts '%s', which is %s", i,
                          l->older, l->key, word);
  return l->words     ? g_strcmp0(word, l->sparse) == 0
         : l->numbers ? number == 1
                      : l->fallback;
}

/* Sizes of the indexer: keys of sparse_attention_config, which win, or of the
 * file. */
static void
read_block_indexer(RaConfigReader *reader, RaModel *m)
{
  RaConfigReader saved;
  guint32 blocks;
  gboolean inner;

  m->index_heads = ra_config_reader_size_or(reader, "index_n_heads", 1,
                                            RA_MODEL_MAX_HIDDEN, 4);
  m->index_dim = ra_config_reader_size_or(reader, "index_head_dim", 1,
                                          RA_MODEL_MAX_HIDDEN, 128);
  m->index_block =
      ra_config_reader_size_or(reader, "index_block_size", 1, 65536, 128);
  blocks = ra_config_reader_size_or(reader, "index_topk_blocks", 1, 16384, 16);
  inner = ra_config_reader_enter(reader, "sparse_attention_config", &saved);
  if (inner) {
    m->index_heads =
        ra_config_reader_size_or(reader, "sparse_num_index_heads", 1,
                                 RA_MODEL_MAX_HIDDEN, m->index_heads);
    m->index_dim = ra_config_reader_size_or(reader, "sparse_index_dim", 1,
                                            RA_MODEL_MAX_HIDDEN, m->index_dim);
    m->index_block = ra_config_reader_size_or(reader, "sparse_block_size", 1,
                                              65536, m->index_block);
    blocks = ra_config_reader_size_or(reader, "sparse_topk_blocks", 1, 16384,
                                      blocks);
    ra_config_reader_leave(reader, &saved);
  }
  m->index_top_k = blocks * m->index_block;
  if (!reader->failed && m->n_heads % m->index_heads != 0)
    ra_config_reader_fail(reader, "index_n_heads|sparse_attention_config",
                          "%u heads of the indexer, expected a divisor of %u, "
                          "'num_attention_heads'",
                          m->index_heads, m->n_heads);
}

void
ra_model_read_minimax_m3(RaConfigReader *reader, RaModel *m)
{
  SparseLayers mixers = {"layer_types",
                         "minimax_m3_sparse",
                         "full_attention",
                         "sparse_attention_freq",
                         NULL,
                         NULL,
                         FALSE};
  SparseLayers ffns = {
      "mlp_layer_types", "sparse", "dense", "moe_layer_freq", NULL, NULL, TRUE};
  RaConfigReader saved;
  gboolean any = FALSE;

  mixers.words = ra_model_layers_of(reader, m, mixers.key);
  ffns.words = ra_model_layers_of(reader, m, ffns.key);
  ffns.numbers = ra_model_layers_of(reader, m, ffns.older);
  if (ra_config_reader_enter(reader, "sparse_attention_config", &saved)) {
    mixers.numbers = ra_model_layers_of(reader, m, mixers.older);
    ra_config_reader_leave(reader, &saved);
  }
  m->ffn = ra_config_reader_size_or(reader, "dense_intermediate_size", 1,
                                    RA_MODEL_MAX_INNER, 12288);
  m->shared_ffn = ra_config_reader_size_or(reader, "shared_intermediate_size",
                                           1, RA_MODEL_MAX_INNER, 3072);
  for (guint32 i = 0; i < m->n_layers && !reader->failed; i++) {
    RaLayerKind kind = {.mixer = RA_MIXER_ATTENTION};

    kind.indexer = (guint8)is_sparse_layer(reader, &mixers, i);
    kind.ffn =
        is_sparse_layer(reader, &ffns, i) ? RA_FFN_EXPERTS : RA_FFN_DENSE;
    any |= kind.indexer;
    ra_model_set_layer(m, i, &kind);
  }
  if (any)
    read_block_indexer(reader, m);
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
