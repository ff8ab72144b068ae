/* Models of the families that are one table of features. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "graph/input/model_family.h"

static gboolean
has(const Other *o, guint32 feature)
{
  return (o->features & feature) != 0;
}

static gboolean
is_gemma4(const Other *o)
{
  return strcmp(o->type, "gemma4_text") == 0;
}

static guint32
size_or(RaConfigReader *reader, const char *keys, guint32 max, guint32 fallback)
{
  return ra_config_reader_size_or(reader, keys, 0, max, fallback);
}

/* ---- attention ------------------------------------------------------- */

static void
read_biases(RaConfigReader *reader, const Other *o, RaModel *m)
{
  gboolean on = has(o, BIAS_ON), all = has(o, ALL_BIAS);

  if (has(o, USE_BIAS))
    all = ra_config_reader_flag(reader, "use_bias", on);
  if (has(o, BIAS))
    m->qkv_bias = ra_config_reader_flag(
        reader, "attention_bias|qkv_bias|use_qkv_bias", on);
  else
    m->qkv_bias = all;
  m->out_bias = m->qkv_bias && !has(o, NO_OUT);
  m->mlp_bias = all || (has(o, MLP_BIAS) &&
                        ra_config_reader_flag(reader, "mlp_bias", FALSE));
}

/* Keys that the family's classes do not read, or whose tensors the table does
 * not have. */
static void
refuse_biases(RaConfigReader *reader, const Other *o)
{
  static const struct {
    const char *key;
    guint32 features; /* that read it */
  } keys[] = {{"mlp_bias", MLP_BIAS | ALL_BIAS},
              {"use_bias", USE_BIAS | ALL_BIAS}};

  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    if (!has(o, keys[i].features) &&
        ra_config_reader_flag(reader, keys[i].key, FALSE))
      ra_config_reader_fail(reader, keys[i].key,
                            "'%s' of a %s is true, expected false: no such "
                            "biases are known",
                            keys[i].key, o->type);
}

static void
read_norms(RaConfigReader *reader, const Other *o, RaModel *m)
{
  gboolean on =
      !has(o, QK_KEY) || ra_config_reader_flag(reader, "use_qk_norm", FALSE);

  m->norm = has(o, LAYER | NO_OFFSET) ? RA_NORM_LAYER : RA_NORM_RMS;
  m->norm_bias = has(o, LAYER);
  m->n_norms = has(o, ONE_NORM) ? 1 : has(o, FOUR_NORMS) ? 4 : 2;
  if (on && has(o, QK_HEAD))
    m->qk_norm = is_gemma4(o) ? RA_QK_NORM_VALUES : RA_QK_NORM_HEAD;
  if (on && has(o, QK_WIDE))
    m->qk_norm = RA_QK_NORM_WIDE;
  if (!has(o, QK_HEAD | QK_WIDE) && strcmp(o->type, "llama4_text") != 0 &&
      (ra_config_reader_flag(reader, "use_qk_norm", FALSE) ||
       ra_config_reader_flag(reader, "qk_layernorm", FALSE)))
    ra_config_reader_fail(reader, "use_qk_norm|qk_layernorm",
                          "'use_qk_norm' or 'qk_layernorm' of a %s is true, "
                          "expected false: its norms are not known",
                          o->type);
  if (has(o, LAYER) && !has(o, ONE_NORM) && strcmp(o->type, "stablelm") == 0 &&
      ra_config_reader_flag(reader, "use_parallel_residual", FALSE))
    m->n_norms = 1;
}

static void
read_latent(RaConfigReader *reader, RaModel *m)
{
  gboolean none = json_object_has_member(reader->object, "q_lora_rank");

  m->q_rank =
      size_or(reader, "q_lora_rank", RA_MODEL_MAX_HIDDEN, none ? 0 : 1536);
  m->kv_rank =
      ra_config_reader_size(reader, "kv_lora_rank", RA_MODEL_MAX_HIDDEN);
  m->nope_dim =
      ra_config_reader_size(reader, "qk_nope_head_dim", RA_MODEL_MAX_HIDDEN);
  m->rope_dim =
      ra_config_reader_size(reader, "qk_rope_head_dim", RA_MODEL_MAX_HIDDEN);
  m->value_dim =
      ra_config_reader_size(reader, "v_head_dim", RA_MODEL_MAX_HIDDEN);
  m->n_kv_heads = m->n_heads;
  m->head_dim = m->nope_dim + m->rope_dim;
}

static void
read_indexer(RaConfigReader *reader, RaModel *m)
{
  m->index_heads =
      ra_config_reader_size(reader, "index_n_heads", RA_MODEL_MAX_HIDDEN);
  m->index_dim =
      ra_config_reader_size(reader, "index_head_dim", RA_MODEL_MAX_HIDDEN);
  m->index_top_k =
      ra_config_reader_size(reader, "index_topk", RA_MODEL_MAX_INNER);
  if (!reader->failed && m->q_rank == 0)
    ra_config_reader_fail(reader, "q_lora_rank",
                          "'q_lora_rank' is null, expected a number: the "
                          "indexer reads latent queries");
}

static void
read_heads(RaConfigReader *reader, const Other *o, RaModel *m)
{
  const char *kv = "num_key_value_heads|num_kv_heads";
  gboolean null = json_object_has_member(reader->object, "num_key_value_heads");

  m->n_heads =
      ra_config_reader_size(reader, "num_attention_heads", RA_MODEL_MAX_HIDDEN);
  if (has(o, LATENT)) {
    read_latent(reader, m);
    if (has(o, INDEXER))
      read_indexer(reader, m);
    return;
  }
  m->n_kv_heads =
      ra_config_reader_size_or(reader, kv, 1, RA_MODEL_MAX_HIDDEN,
                               null || o->kv == 0 ? m->n_heads : o->kv);
  ra_model_check_kv_heads(reader, m, kv);
  m->head_dim = ra_config_reader_size_or(reader, "head_dim", 1,
                                         RA_MODEL_MAX_HIDDEN, o->head);
  if (m->head_dim == 0)
    m->head_dim = ra_model_default_head_dim(reader, m, "hidden_size");
}

/* ---- linear mixers --------------------------------------------------- */

/* Kimi's sizes are in linear_attn_config of what Moonshot publishes. */
static void
read_kimi(RaConfigReader *reader, RaModel *m)
{
  RaConfigReader saved;
  gboolean inner = ra_config_reader_enter(reader, "linear_attn_config", &saved);

  m->n_key_heads = ra_config_reader_size(
      reader, inner ? "num_heads" : "linear_num_heads", RA_MODEL_MAX_HIDDEN);
  m->key_dim = ra_config_reader_size(
      reader, inner ? "head_dim" : "linear_head_dim", RA_MODEL_MAX_HIDDEN);
  m->conv_taps = ra_config_reader_size_or(
      reader, "linear_conv_kernel_dim|short_conv_kernel_size", 1, 64, 4);
  if (inner)
    ra_config_reader_leave(reader, &saved);
  m->n_value_heads = m->n_key_heads;
  m->state_dim = m->key_dim;
}

static void
read_linear(RaConfigReader *reader, const Other *o, RaModel *m)
{
  const guint32 max = RA_MODEL_MAX_HIDDEN;

  if (has(o, KIMI)) {
    read_kimi(reader, m);
  } else if (has(o, DELTA)) {
    m->n_key_heads = ra_config_reader_size(reader, "linear_num_key_heads", max);
    m->n_value_heads =
        ra_config_reader_size(reader, "linear_num_value_heads", max);
    m->key_dim = ra_config_reader_size(reader, "linear_key_head_dim", max);
    m->state_dim = ra_config_reader_size(reader, "linear_value_head_dim", max);
    m->conv_taps =
        ra_config_reader_size_or(reader, "linear_conv_kernel_dim", 1, 64, 4);
  } else if (has(o, MAMBA)) {
    m->n_value_heads =
        ra_config_reader_size(reader, "mamba_num_heads|mamba_n_heads", max);
    m->state_dim =
        ra_config_reader_size(reader, "mamba_head_dim|mamba_d_head", max);
    m->key_dim =
        ra_config_reader_size(reader, "ssm_state_size|mamba_d_state", max);
    m->n_key_heads =
        ra_config_reader_size(reader, "n_groups|mamba_n_groups", max);
    m->conv_taps =
        ra_config_reader_size_or(reader, "conv_kernel|mamba_d_conv", 1, 64, 4);
    m->scan_chunk = ra_config_reader_size_or(
        reader, "chunk_size|mamba_chunk_size", 1, 65536, 256);
    m->conv_bias = (guint8)ra_config_reader_flag(
        reader, "use_conv_bias|mamba_conv_bias", TRUE);
    m->mixer_bias =
        (guint8)ra_config_reader_flag(reader, "mamba_proj_bias", FALSE);
  } else if (has(o, CONV)) {
    m->conv_taps = ra_config_reader_size_or(reader, "conv_L_cache", 1, 64, 3);
    if (ra_config_reader_flag(reader, "conv_bias", FALSE))
      ra_config_reader_fail(reader, "conv_bias",
                            "'conv_bias' is true, expected false");
  }
  if (!reader->failed && m->n_key_heads > 0 &&
      m->n_value_heads % m->n_key_heads != 0)
    ra_config_reader_fail(
        reader, "linear_num_value_heads|mamba_num_heads|mamba_n_heads",
        "%u heads of values are not divisible by %u heads or groups of keys",
        m->n_value_heads, m->n_key_heads);
}

/* ---- experts --------------------------------------------------------- */

static void
read_shared(RaConfigReader *reader, const Other *o, RaModel *m)
{
  guint32 n = size_or(
      reader, "n_shared_experts|num_shared_experts|moe_num_shared_experts",
      RA_MODEL_MAX_EXPERTS, 0);
  guint32 width = size_or(reader,
                          "shared_expert_intermediate_size|"
                          "moe_shared_expert_intermediate_size|"
                          "shared_intermediate_size",
                          RA_MODEL_MAX_INNER, 0);
  guint64 all =
      width > 0 ? (guint64)MAX(n, 1) * width : (guint64)n * m->expert_ffn;

  if (strcmp(o->type, "llama4_text") == 0)
    all = m->expert_ffn;
  if (is_gemma4(o)) { /* the dense MLP goes beside the experts */
    all = m->ffn;
    m->n_norms = 7;
  }
  if (all > RA_MODEL_MAX_INNER) {
    ra_config_reader_fail(
        reader, "n_shared_experts|num_shared_experts|moe_num_shared_experts",
        "the shared experts are %" G_GUINT64_FORMAT
        " elements wide, expected at most %u",
        all, RA_MODEL_MAX_INNER);
    return;
  }
  m->shared_ffn = (guint32)all;
  m->shared_gate = has(o, SHARED_GATE) && all > 0;
}

static void
read_experts(RaConfigReader *reader, const Other *o, RaModel *m)
{
  const char *keys =
      "n_routed_experts|num_experts|num_local_experts|moe_num_experts";

  m->n_experts = o->experts == 0
                     ? ra_config_reader_size(reader, keys, RA_MODEL_MAX_EXPERTS)
                     : size_or(reader, keys, RA_MODEL_MAX_EXPERTS, o->experts);
  m->experts_per_token = ra_config_reader_size_or(
      reader,
      "num_experts_per_tok|num_experts_per_token|moe_k|moe_topk|top_k_experts",
      1, MAX(m->n_experts, 1), o->chosen);
  if (!reader->failed && m->n_experts > 0 && m->experts_per_token == 0)
    ra_config_reader_size(reader, "num_experts_per_tok", m->n_experts);
  m->expert_ffn = ra_config_reader_size_or(reader, "moe_intermediate_size", 1,
                                           RA_MODEL_MAX_INNER, m->ffn);
  m->expert_hidden = size_or(reader, "moe_latent_size", RA_MODEL_MAX_HIDDEN, 0);
  m->router_bias = has(o, ROUTER_BIAS);
  m->expert_bias = has(o, EXPERT_BIAS);
  read_shared(reader, o, m);
  if (strcmp(o->type, "llama4_text") == 0)
    m->ffn = ra_config_reader_size_or(reader, "intermediate_size_mlp", 1,
                                      RA_MODEL_MAX_INNER, m->ffn);
}

/* ---- layers ---------------------------------------------------------- */

const char *
ra_model_word_at(JsonArray *array, guint i)
{
  JsonNode *node = json_array_get_element(array, i);

  return JSON_NODE_HOLDS_VALUE(node) &&
                 json_node_get_value_type(node) == G_TYPE_STRING
             ? json_node_get_string(node)
             : NULL;
}

JsonArray *
ra_model_layers_of(RaConfigReader *reader, const RaModel *m, const char *key)
{
  JsonArray *array = ra_config_reader_array(reader, key);
  guint n = array ? json_array_get_length(array) : 0;

  if (array && n != m->n_layers) {
    ra_config_reader_fail(reader, key,
                          "'%s' has %u elements, expected %u, one for each of "
                          "'num_hidden_layers'",
                          key, n, m->n_layers);
    return NULL;
  }
  return array;
}

static void
fail_word(RaConfigReader *reader, const char *key, guint i,
          const char *expected)
{
  ra_config_reader_fail(reader, key,
                        "element %u of '%s' is no known type of layer, "
                        "expected %s",
                        i, key, expected);
}

static RaMixer
linear_mixer(const Other *o)
{
  return has(o, DELTA)   ? RA_MIXER_DELTA
         : has(o, KIMI)  ? RA_MIXER_KIMI
         : has(o, MAMBA) ? RA_MIXER_MAMBA
                         : RA_MIXER_CONV;
}

static gboolean
has_linear(const Other *o)
{
  return has(o, DELTA | KIMI | MAMBA | CONV);
}

static RaMixer
whole_mixer(const Other *o)
{
  return has(o, LATENT) ? RA_MIXER_LATENT : RA_MIXER_ATTENTION;
}

/* The kinds of a file's layers, one by one. */
typedef struct {
  const Other *o;
  RaLayerKind *layers; /* (n_layers) owned */
  guint32 window;      /* of layers that have one */
  gboolean windowed;   /* some layer has one */
} Layers;

/* A type of layer_types or layers_block_type. */
static gboolean
set_type(Layers *l, guint32 i, const char *word)
{
  RaLayerKind *k = &l->layers[i];
  gboolean linear = g_str_equal(word, "linear_attention") ||
                    g_str_equal(word, "mamba") || g_str_equal(word, "conv");

  if (linear && has_linear(l->o)) {
    k->mixer = (guint8)linear_mixer(l->o);
  } else if (g_str_equal(word, "full_attention") ||
             g_str_equal(word, "attention") ||
             g_str_equal(word, "indexed_attention")) {
    k->mixer = (guint8)whole_mixer(l->o);
    k->nope = has(l->o, NOPE);
  } else if (g_str_equal(word, "sliding_attention") ||
             g_str_equal(word, "chunked_attention")) {
    k->mixer = (guint8)whole_mixer(l->o);
    k->window = l->window;
    l->windowed = TRUE;
  } else if (has(l->o, BLOCKS) && g_str_equal(word, "moe")) {
    k->mixer = RA_MIXER_NONE;
    k->ffn = RA_FFN_EXPERTS;
  } else if (has(l->o, BLOCKS) && g_str_equal(word, "mlp")) {
    k->mixer = RA_MIXER_NONE;
  } else {
    return FALSE;
  }
  if (has(l->o, BLOCKS) && k->mixer != RA_MIXER_NONE)
    k->ffn = RA_FFN_NONE;
  return TRUE;
}

/* hybrid_override_pattern: M Mamba-2, * attention, - MLP, E experts. */
static gboolean
set_pattern(RaConfigReader *reader, const RaModel *m, Layers *l)
{
  static const char letters[] = "M*-E";
  static const char *const words[] = {"mamba", "attention", "mlp", "moe"};
  const char *key = "hybrid_override_pattern";
  const char *text = ra_config_reader_text(reader, key);
  const char *at;

  if (!text)
    return FALSE;
  if (strlen(text) != m->n_layers) {
    ra_config_reader_fail(reader, key,
                          "'%s' has %" G_GSIZE_FORMAT
                          " letters, expected %u, one for each of "
                          "'num_hidden_layers'",
                          key, strlen(text), m->n_layers);
    return TRUE;
  }
  for (guint32 i = 0; i < m->n_layers && !reader->failed; i++) {
    at = strchr(letters, text[i]);
    if (!at)
      fail_word(reader, key, i, "one of M, *, -, E");
    else
      set_type(l, i, words[at - letters]);
  }
  return TRUE;
}

/* Element @i of @array, a layer that counts from @first; -1: it is none. */
static gint64
layer_at(RaConfigReader *reader, const RaModel *m, const char *key,
         JsonArray *array, guint i, guint first)
{
  JsonNode *node = json_array_get_element(array, i);
  gint64 layer = JSON_NODE_HOLDS_VALUE(node) &&
                         json_node_get_value_type(node) == G_TYPE_INT64
                     ? json_node_get_int(node)
                     : -1;

  if (layer >= first && layer - first < m->n_layers)
    return layer - first;
  ra_config_reader_fail(reader, key,
                        "element %u of '%s' is not a layer, expected an "
                        "integer from %u to %u",
                        i, key, first, m->n_layers - 1 + first);
  return -1;
}

/* Layers that attend to all, by their numbers in a list. */
static gboolean
set_listed(RaConfigReader *reader, const RaModel *m, const char *key,
           guint first, Layers *l)
{
  JsonArray *array = ra_config_reader_array(reader, key);

  if (!array)
    return FALSE;
  for (guint32 i = 0; i < m->n_layers; i++)
    set_type(l, i, "linear_attention");
  for (guint i = 0; i < json_array_get_length(array) && !reader->failed; i++) {
    gint64 layer = layer_at(reader, m, key, array, i, first);

    if (layer >= 0)
      set_type(l, (guint32)layer, "full_attention");
  }
  return TRUE;
}

static gboolean
set_kimi_lists(RaConfigReader *reader, const RaModel *m, Layers *l)
{
  RaConfigReader saved;
  gboolean found;

  if (!ra_config_reader_enter(reader, "linear_attn_config", &saved))
    return FALSE;
  found = set_listed(reader, m, "full_attn_layers", 1, l);
  ra_config_reader_leave(reader, &saved);
  return found;
}

/* Mixers of all layers: from lists, or by a period. */
static void
read_mixers(RaConfigReader *reader, const RaModel *m, Layers *l)
{
  const char *key = "layer_types|layers_block_type";
  const char *first = "layer_types";
  JsonArray *array;
  guint32 period;

  if (!ra_config_reader_has(reader, first))
    first = "layers_block_type";
  array = ra_model_layers_of(reader, m, first);
  for (guint32 i = 0; array && i < m->n_layers && !reader->failed; i++) {
    const char *word = ra_model_word_at(array, i);

    if (!word || !set_type(l, i, word))
      fail_word(reader, key, i,
                "full_attention, sliding_attention, or one of its family");
  }
  if (array || reader->failed || set_pattern(reader, m, l) ||
      set_listed(reader, m, "full_attn_idxs|attn_layer_indices", 0, l) ||
      set_kimi_lists(reader, m, l))
    return;
  if (strcmp(l->o->type, "bamba") == 0) {
    for (guint32 i = 0; i < m->n_layers; i++)
      set_type(l, i, "mamba");
    return;
  }
  if (has(l->o, BLOCKS) || (has(l->o, MAMBA | CONV) && l->o->period == 0)) {
    ra_config_reader_fail(reader, "layer_types",
                          "'layer_types' is missing, expected the type of each "
                          "layer");
    return;
  }
  period = ra_config_reader_size_or(
      reader,
      "full_attention_interval|sliding_window_pattern|"
      "global_attn_every_n_layers|no_rope_layer_interval",
      1, RA_MODEL_MAX_LAYERS, l->o->period);
  for (guint32 i = 0; i < m->n_layers && l->o->period > 0; i++)
    set_type(l, i,
             (i + 1) % period == 0 ? "full_attention"
             : has_linear(l->o)    ? "linear_attention"
                                   : "sliding_attention");
}

/* Feed-forward parts: lists, else the first layers dense and the others by a
 * step. */
static void
read_ffns(RaConfigReader *reader, const RaModel *m, Layers *l)
{
  JsonArray *array = ra_model_layers_of(reader, m, "mlp_layer_types");
  guint32 n_dense = size_or(
      reader, "first_k_dense_replace|num_dense_layers|moe_layer_start_index",
      RA_MODEL_MAX_LAYERS, l->o->n_dense);
  guint32 step = ra_config_reader_size_or(
      reader,
      "decoder_sparse_step|moe_layer_freq|interleave_moe_layer_step|"
      "moe_layer_interval",
      1, RA_MODEL_MAX_LAYERS, 1);

  for (guint32 i = 0; i < m->n_layers && !reader->failed; i++) {
    const char *word = array ? ra_model_word_at(array, i) : NULL;
    gboolean moe = word ? g_str_equal(word, "sparse")
                        : i >= n_dense && (i + 1) % step == 0;

    if (array && (!word || (!moe && !g_str_equal(word, "dense"))))
      fail_word(reader, "mlp_layer_types", i, "dense or sparse");
    l->layers[i].ffn = m->n_experts > 0 && moe ? RA_FFN_EXPERTS : RA_FFN_DENSE;
  }
}

static void
read_mlp_only(RaConfigReader *reader, const RaModel *m, Layers *l)
{
  const char *key = "mlp_only_layers";
  JsonArray *array = ra_config_reader_array(reader, key);

  for (guint i = 0; array && i < json_array_get_length(array); i++) {
    gint64 layer = layer_at(reader, m, key, array, i, 0);

    if (layer < 0)
      return;
    l->layers[layer].ffn = RA_FFN_DENSE;
  }
}

/* The indexer of layers with one: GLM's `shared` use an earlier layer's. */
static void
read_indexers(RaConfigReader *reader, const RaModel *m, Layers *l)
{
  JsonArray *array = ra_model_layers_of(reader, m, "indexer_types");

  for (guint32 i = 0; i < m->n_layers && has(l->o, INDEXER); i++) {
    const char *word = array ? ra_model_word_at(array, i) : "full";

    if (!word || (!g_str_equal(word, "full") && !g_str_equal(word, "shared"))) {
      fail_word(reader, "indexer_types", i, "full or shared");
      return;
    }
    l->layers[i].indexer = word[0] == 'f';
  }
}

/* Gemma 4's layers that attend to all have other heads. */
static void
read_global(RaConfigReader *reader, const RaModel *m, RaLayerKind *layers)
{
  gboolean one = ra_config_reader_flag(reader, "attention_k_eq_v", FALSE);
  guint32 dim = ra_config_reader_size_or(reader, "global_head_dim", 1,
                                         RA_MODEL_MAX_HIDDEN, 512);
  guint32 kv = ra_config_reader_size_or(reader, "num_global_key_value_heads", 1,
                                        m->n_heads, m->n_kv_heads);

  for (guint32 i = 0; i < m->n_layers; i++) {
    if (layers[i].window > 0)
      continue;
    layers[i].head_dim = dim;
    layers[i].one_matrix = one;
    layers[i].n_kv_heads = one ? kv : 0;
  }
}

/* Sizes of attention of one layer. */
static void
read_own_sizes(RaConfigReader *reader, const RaModel *m, RaLayerKind *kind)
{
  g_autoptr(GList) keys = json_object_get_members(reader->object);

  for (GList *at = keys; at && !reader->failed; at = at->next)
    if (!g_str_equal(at->data, "head_dim") &&
        !g_str_equal(at->data, "num_key_value_heads"))
      ra_config_reader_fail(reader, at->data,
                            "'%s' of one layer, expected 'head_dim' or "
                            "'num_key_value_heads': no other size is modelled "
                            "layer by layer",
                            (char *)at->data);
  kind->head_dim = ra_config_reader_size_or(reader, "head_dim", 1,
                                            RA_MODEL_MAX_HIDDEN, m->head_dim);
  kind->n_kv_heads = ra_config_reader_size_or(
      reader, "num_key_value_heads", 1, m->n_heads,
      kind->n_kv_heads > 0 ? kind->n_kv_heads : m->n_kv_heads);
}

/* per_layer_config, in which transformers 5 saves such sizes under the layers'
 * numbers, of as many digits as the last has. */
static void
read_own(RaConfigReader *reader, const RaModel *m, RaLayerKind *layers)
{
  RaConfigReader saved, inner;

  if (!ra_config_reader_enter(reader, "per_layer_config", &saved))
    return;
  for (guint32 i = 0; i < m->n_layers && !reader->failed; i++) {
    int width = snprintf(NULL, 0, "%u", m->n_layers - 1);
    g_autofree char *key = g_strdup_printf("%0*u", width, i);

    if (!ra_config_reader_enter(reader, key, &inner))
      continue;
    read_own_sizes(reader, m, &layers[i]);
    ra_config_reader_leave(reader, &inner);
  }
  ra_config_reader_leave(reader, &saved);
}

static void
check_own(RaConfigReader *reader, const RaModel *m, const RaLayerKind *layers)
{
  for (guint32 i = 0; i < m->n_layers && !reader->failed; i++)
    if (layers[i].n_kv_heads > 0 && m->n_heads % layers[i].n_kv_heads != 0)
      ra_config_reader_fail(
          reader, "num_global_key_value_heads|per_layer_config",
          "%u heads of keys of layer %u, expected a divisor of %u, "
          "'num_attention_heads'",
          layers[i].n_kv_heads, i, m->n_heads);
}

static void
read_layers(RaConfigReader *reader, const Other *o, RaModel *m)
{
  const char *window =
      has(o, CHUNKED) ? "attention_chunk_size" : "sliding_window";
  g_autofree RaLayerKind *layers = NULL;
  Layers l = {.o = o};

  l.window = size_or(reader, window, G_MAXINT32, 0);
  if (reader->failed)
    return;
  l.layers = layers = g_new0(RaLayerKind, m->n_layers);
  for (guint32 i = 0; i < m->n_layers; i++)
    layers[i].mixer = (guint8)whole_mixer(o);
  if (has(o, MOE) && !has(o, BLOCKS)) {
    read_ffns(reader, m, &l);
    read_mlp_only(reader, m, &l);
  }
  read_mixers(reader, m, &l);
  read_indexers(reader, m, &l);
  if (is_gemma4(o))
    read_global(reader, m, layers);
  read_own(reader, m, layers);
  check_own(reader, m, layers);
  if (!reader->failed && l.windowed && l.window == 0 &&
      ra_config_reader_has(reader, "layer_types"))
    ra_config_reader_fail(reader, "layer_types",
                          "'layer_types' has layers with a window and there is "
                          "no '%s'",
                          window);
  for (guint32 i = 0; i < m->n_layers && !reader->failed; i++)
    if (!ra_model_set_layer(m, i, &layers[i]))
      ra_config_reader_fail(reader, "layer_types",
                            "the layers are of more than %u kinds",
                            RA_MODEL_MAX_KINDS);
}

/* ---- the whole file -------------------------------------------------- */

/* Gemma 4's smallest models have embeddings of each layer, layers that attend
 * to an earlier one's keys, and MLPs of two widths. */
static void
refuse_gemma4(RaConfigReader *reader)
{
  static const struct {
    const char *key;
    guint32 fallback;
  } sizes[] = {{"hidden_size_per_layer_input", 256},
               {"num_kv_shared_layers", 0}};

  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
    if (size_or(reader, sizes[i].key, RA_MODEL_MAX_INNER, sizes[i].fallback))
      ra_config_reader_fail(reader, sizes[i].key,
                            "'%s' of a gemma4_text is not 0, expected 0: such "
                            "layers are not modelled",
                            sizes[i].key);
  if (ra_config_reader_flag(reader, "use_double_wide_mlp", FALSE))
    ra_config_reader_fail(reader, "use_double_wide_mlp",
                          "'use_double_wide_mlp' is true, expected false");
}

/* lfm2 has two thirds of the width, up to a multiple. */
static guint32
adjusted_ffn(RaConfigReader *reader, guint32 ffn)
{
  guint32 unit = ra_config_reader_size_or(reader, "block_multiple_of", 1,
                                          RA_MODEL_MAX_HIDDEN, 256);

  return (2 * ffn / 3 + unit - 1) / MAX(unit, 1) * unit;
}

static void
read_sizes(RaConfigReader *reader, const Other *o, RaModel *m)
{
  gboolean is_list =
      has(o, BLOCKS) && !ra_config_reader_has(reader, "num_hidden_layers");
  JsonArray *blocks =
      is_list ? ra_config_reader_array(reader, "layers_block_type") : NULL;

  if (blocks)
    m->n_layers = MIN(json_array_get_length(blocks), RA_MODEL_MAX_LAYERS);
  if (m->n_layers == 0)
    m->n_layers =
        ra_config_reader_size(reader, "num_hidden_layers", RA_MODEL_MAX_LAYERS);
  m->hidden = ra_config_reader_size(reader, "hidden_size", RA_MODEL_MAX_HIDDEN);
  m->ffn = ra_config_reader_size_or(
      reader, "intermediate_size", 1, RA_MODEL_MAX_INNER,
      ra_config_reader_size_or(reader, "moe_intermediate_size", 1,
                               RA_MODEL_MAX_INNER, 0));
  if (!reader->failed && m->ffn == 0)
    ra_config_reader_size(reader, "intermediate_size", RA_MODEL_MAX_INNER);
  if (strcmp(o->type, "lfm2") == 0 &&
      ra_config_reader_flag(reader, "block_auto_adjust_ff_dim", TRUE))
    m->ffn = adjusted_ffn(reader, m->ffn);
  m->vocab = ra_config_reader_size(reader, "vocab_size", RA_MODEL_MAX_INNER);
  m->max_positions = size_or(reader, "max_position_embeddings|model_max_length",
                             RA_MODEL_MAX_INNER, 0);
  m->mlp = has(o, PLAIN) ? RA_MLP_PLAIN : RA_MLP_GATED;
  m->position = RA_POSITION_ROTARY;
  m->tied_embeddings =
      ra_config_reader_flag(reader, "tie_word_embeddings", has(o, TIED));
  if (m->tied_embeddings && has(o, KIMI | BLOCKS))
    ra_config_reader_fail(reader, "tie_word_embeddings",
                          "'tie_word_embeddings' of a %s is true, expected "
                          "false: its class ties nothing",
                          o->type);
  m->attention_gate = has(o, GATE);
  m->sinks = has(o, SINKS);
  m->head_bias =
      has(o, HEAD_BIAS) &&
      (!has(o, MOE) || ra_config_reader_flag(reader, "lm_head_bias", FALSE));
}

gboolean
ra_model_read_other(RaConfigReader *reader, const char *type, RaModel *m)
{
  const Other *o = ra_model_other(type);

  if (!o)
    return FALSE;
  m->family = RA_FAMILY_OTHER;
  m->type = o->type;
  read_sizes(reader, o, m);
  if (!reader->failed)
    read_heads(reader, o, m);
  read_biases(reader, o, m);
  refuse_biases(reader, o);
  read_norms(reader, o, m);
  if (has_linear(o))
    read_linear(reader, o, m);
  if (is_gemma4(o))
    refuse_gemma4(reader);
  if (is_gemma4(o) ? ra_config_reader_flag(reader, "enable_moe_block", FALSE)
                   : has(o, MOE))
    read_experts(reader, o, m);
  if (!reader->failed && ra_model_is_compressed(o->type))
    ra_model_read_compressed(reader, m);
  else if (!reader->failed && ra_model_is_minimax_m3(o->type))
    ra_model_read_minimax_m3(reader, m);
  else if (!reader->failed)
    read_layers(reader, o, m);
  if (!reader->failed && ra_model_n_moe_layers(m) == 0)
    m->n_experts = m->experts_per_token = m->expert_ffn = m->shared_ffn = 0;
  return TRUE;
}
