/* Families of Hugging Face models by one table of features. */
#include "config.h"

#include <string.h>

#include "graph/input/model_family.h"
#include "graph/input/model_layers.h"

/* Features of a family. */
enum {
  BIAS = 1 << 0,       /* key attention_bias: q, k, v, o; default false */
  BIAS_ON = 1 << 1,    /* its default is true */
  NO_OUT = 1 << 2,     /* it is of q, k, v alone */
  USE_BIAS = 1 << 3,   /* key use_bias: all linear layers; with BIAS_ON true */
  MLP_BIAS = 1 << 4,   /* key mlp_bias, default false; with ALL_BIAS always */
  ALL_BIAS = 1 << 5,   /* biases of all linear layers, no key */
  QK_HEAD = 1 << 6,    /* norms of heads' queries and keys */
  QK_WIDE = 1 << 7,    /* norms over all heads */
  QK_KEY = 1 << 8,     /* only if use_qk_norm is true */
  LAYER = 1 << 9,      /* LayerNorm with offsets */
  NO_OFFSET = 1 << 10, /* LayerNorm without */
  PLAIN = 1 << 11,     /* MLP without a gate */
  ONE_NORM = 1 << 12,  /* parallel parts */
  FOUR_NORMS = 1 << 13,
  TIED = 1 << 14,        /* tie_word_embeddings if absent */
  GATE = 1 << 15,        /* attention has a gate of its width */
  SINKS = 1 << 16,       /* attention has sinks */
  LATENT = 1 << 17,      /* attention is latent */
  INDEXER = 1 << 18,     /* and sparse, by an indexer */
  DELTA = 1 << 19,       /* linear layers: gated delta net */
  KIMI = 1 << 20,        /* linear layers: Kimi delta attention */
  MAMBA = 1 << 21,       /* linear layers: Mamba-2 */
  CONV = 1 << 22,        /* linear layers: short convolution */
  MOE = 1 << 23,         /* experts */
  ROUTER_BIAS = 1 << 24, /* the router has a bias */
  EXPERT_BIAS = 1 << 25, /* experts have biases */
  SHARED_GATE = 1 << 26, /* shared experts have a gate */
  HEAD_BIAS = 1 << 27,   /* lm head has a bias; MOE: key lm_head_bias */
  NOPE = 1 << 28,        /* layers that attend to all have no positions */
  BLOCKS = 1 << 29,      /* a layer is a mixer or a feed-forward part */
  CHUNKED = 1 << 30      /* windows are chunks: attention_chunk_size */
};

typedef struct {
  const char *type;
  guint32 features;
  guint16 kv;      /* num_key_value_heads if absent; 0: as heads */
  guint16 head;    /* head_dim if absent; 0: hidden / heads */
  guint8 period;   /* without layer_types every such layer, from the last of
                      the first, attends to all; 0: all layers are alike */
  guint8 n_dense;  /* dense layers before experts if no key says */
  guint16 experts; /* number if absent; 0: required */
  guint16 chosen;  /* experts of a token if absent */
} Other;

/* clang-format off */
static const Other others[] = {
  /* type, features, kv, head, period, dense, experts, chosen */
  {"deepseek_v2", LATENT | MOE | BIAS, 0, 0, 0, 0, 64, 6},
  {"deepseek_v3", LATENT | MOE | BIAS, 0, 0, 0, 3, 256, 8},
  {"kimi_k2", LATENT | MOE | BIAS, 0, 0, 0, 3, 256, 8},
  {"deepseek_v32", LATENT | INDEXER | MOE | BIAS, 0, 0, 0, 3, 256, 8},
  {"glm_moe_dsa", LATENT | INDEXER | MOE | BIAS, 0, 0, 0, 3, 256, 8},
  {"glm4_moe_lite", LATENT | MOE | BIAS, 0, 0, 0, 1, 64, 4},
  {"youtu", LATENT | BIAS | TIED, 0, 0, 0, 0, 0, 0},
  {"minicpm3", LATENT | BIAS | TIED, 0, 0, 0, 0, 0, 0},
  {"sarvam_mla", LATENT | MOE | BIAS, 0, 0, 0, 1, 128, 8},
  {"kimi_linear", LATENT | KIMI | MOE | BIAS, 0, 0, 4, 1, 256, 8},
  {"glm4_moe", MOE | BIAS | NO_OUT | QK_HEAD | QK_KEY, 8, 0, 0, 1, 128, 8},
  {"glm4v_moe_text", MOE | BIAS | BIAS_ON | NO_OUT, 8, 0, 0, 1, 128, 8},
  {"solar_open", MOE | BIAS | NO_OUT, 8, 128, 0, 0, 128, 8},
  {"sarvam_moe", MOE | BIAS | NO_OUT | QK_HEAD | QK_KEY, 4, 0, 0, 1, 128, 6},
  {"dots1", MOE | BIAS | QK_HEAD, 0, 0, 0, 0, 0, 0},
  {"hy_v3", MOE | BIAS | QK_HEAD, 8, 128, 0, 1, 192, 8},
  {"qwen2_moe", MOE | BIAS | BIAS_ON | NO_OUT | SHARED_GATE, 16, 0, 0, 0, 60,
   4},
  {"qwen3_next", MOE | BIAS | QK_HEAD | GATE | DELTA | SHARED_GATE, 2, 256, 4,
   0, 512, 10},
  {"qwen3_5_text", BIAS | QK_HEAD | GATE | DELTA, 4, 256, 4, 0, 0, 0},
  {"qwen3_5_moe_text", MOE | BIAS | QK_HEAD | GATE | DELTA | SHARED_GATE, 2,
   256, 4, 0, 256, 8},
  {"gpt_oss", MOE | BIAS | BIAS_ON | SINKS | ROUTER_BIAS | EXPERT_BIAS, 8, 64,
   2, 0, 128, 4},
  {"minimax_m2", MOE | QK_WIDE, 8, 128, 0, 0, 256, 8},
  {"olmoe", MOE | BIAS | QK_WIDE, 0, 0, 0, 0, 64, 8},
  {"flex_olmo", MOE | BIAS | QK_WIDE, 0, 0, 0, 0, 7, 5},
  {"granitemoe", MOE | BIAS, 0, 0, 0, 0, 8, 2},
  {"granitemoeshared", MOE | BIAS, 0, 0, 0, 0, 8, 2},
  {"granitemoe_swa", MOE | BIAS | SINKS, 0, 0, 0, 0, 8, 2},
  {"granitemoehybrid", MOE | BIAS | MAMBA, 0, 0, 0, 0, 8, 2},
  {"phimoe", MOE | BIAS | LAYER | HEAD_BIAS, 8, 0, 0, 0, 16, 2},
  {"ernie4_5_moe", MOE | TIED | ROUTER_BIAS, 4, 0, 0, 1, 64, 6},
  {"exaone_moe", MOE | QK_HEAD, 0, 0, 4, 1, 64, 8},
  {"afmoe", MOE | BIAS | QK_HEAD | FOUR_NORMS | GATE | ROUTER_BIAS, 0, 128, 4,
   1, 64, 6},
  {"llama4_text", MOE | BIAS | NOPE | CHUNKED, 8, 128, 4, 0, 16, 1},
  {"hunyuan_v1_moe", MOE | BIAS | QK_HEAD, 0, 0, 0, 0, 0, 0},
  {"cohere2_moe", MOE | BIAS | NO_OFFSET | ONE_NORM | TIED, 0, 128, 4, 0, 8,
   2},
  {"nemotron_h", MOE | MAMBA | PLAIN | BLOCKS, 8, 128, 0, 0,
   8, 2},
  {"bamba", MAMBA | BIAS | MLP_BIAS, 8, 0, 0, 0, 0, 0},
  {"lfm2", CONV | QK_HEAD | TIED, 8, 0, 0, 0, 0, 0},
  {"lfm2_moe", CONV | MOE | QK_HEAD | TIED | ROUTER_BIAS, 8, 0, 0, 2, 0, 0},
  {"gemma", BIAS | TIED, 16, 256, 0, 0, 0, 0},
  {"gemma2", BIAS | TIED | FOUR_NORMS, 4, 256, 2, 0, 0, 0},
  {"vaultgemma", BIAS | TIED, 4, 256, 2, 0, 0, 0},
  {"gemma3_text", BIAS | TIED | FOUR_NORMS | QK_HEAD, 4, 256, 6, 0, 0, 0},
  {"olmo2", BIAS | QK_WIDE, 0, 0, 0, 0, 0, 0},
  {"olmo3", BIAS | QK_WIDE, 0, 0, 4, 0, 0, 0},
  {"cohere", BIAS | NO_OFFSET | ONE_NORM | TIED, 0, 0, 0, 0, 0, 0},
  {"cohere2", BIAS | NO_OFFSET | ONE_NORM | TIED, 0, 128, 4, 0, 0, 0},
  {"phi", ALL_BIAS | LAYER | ONE_NORM | PLAIN | HEAD_BIAS, 0, 0, 0, 0, 0, 0},
  {"ernie4_5", USE_BIAS | TIED, 2, 128, 0, 0, 0, 0},
  {"hunyuan_v1_dense", BIAS | QK_HEAD, 0, 0, 0, 0, 0, 0},
  {"arcee", BIAS | MLP_BIAS | PLAIN, 0, 0, 0, 0, 0, 0},
  {"glm", BIAS | BIAS_ON | NO_OUT, 2, 128, 0, 0, 0, 0},
  {"glm4", BIAS | BIAS_ON | NO_OUT | FOUR_NORMS, 2, 128, 0, 0, 0, 0},
  {"glm4v_text", BIAS | BIAS_ON | NO_OUT | FOUR_NORMS, 2, 0, 0, 0, 0, 0},
  {"exaone", BIAS | MLP_BIAS, 8, 0, 0, 0, 0, 0},
  {"exaone4", QK_HEAD, 0, 0, 4, 0, 0, 0},
  {"starcoder2", USE_BIAS | BIAS_ON | LAYER | PLAIN | TIED, 2, 0, 0, 0, 0, 0},
  {"stablelm", BIAS | NO_OUT | LAYER, 0, 0, 0, 0, 0, 0},
  {"gpt_neox", BIAS | BIAS_ON | ALL_BIAS | LAYER | PLAIN, 0, 0, 0, 0, 0, 0},
  {"persimmon", ALL_BIAS | LAYER | PLAIN | QK_HEAD, 0, 0, 0, 0, 0, 0},
  {"internlm3", BIAS | MLP_BIAS, 2, 128, 0, 0, 0, 0},
  {"helium", BIAS | NO_OUT | MLP_BIAS, 0, 128, 0, 0, 0, 0},
  {"cwm", MLP_BIAS, 8, 128, 4, 0, 0, 0},
  {"iquestcoder", BIAS | MLP_BIAS, 8, 128, 0, 0, 0, 0},
  {"olmo_hybrid", BIAS | QK_WIDE | DELTA, 0, 0, 4, 0, 0, 0},
  {"granite_swa", BIAS | MLP_BIAS | TIED | SINKS, 4, 0, 0, 0, 0, 0},
};
/* clang-format on */

const char *
ra_model_other_type(guint index)
{
  return index < G_N_ELEMENTS(others) ? others[index].type : NULL;
}

static gboolean
has(const Other *o, guint32 feature)
{
  return (o->features & feature) != 0;
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
    m->qk_norm = RA_QK_NORM_HEAD;
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
      reader, "num_experts_per_tok|num_experts_per_token|moe_k|moe_topk", 1,
      MAX(m->n_experts, 1), o->chosen);
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

/* Text of element @i of @array; NULL: it is none. */
static const char *
word_at(JsonArray *array, guint i)
{
  JsonNode *node = json_array_get_element(array, i);

  return JSON_NODE_HOLDS_VALUE(node) &&
                 json_node_get_value_type(node) == G_TYPE_STRING
             ? json_node_get_string(node)
             : NULL;
}

/* The array of @key, which has an element a layer; NULL: none. */
static JsonArray *
layers_of(RaConfigReader *reader, const RaModel *m, const char *key)
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
  array = layers_of(reader, m, first);
  for (guint32 i = 0; array && i < m->n_layers && !reader->failed; i++) {
    const char *word = word_at(array, i);

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
  JsonArray *array = layers_of(reader, m, "mlp_layer_types");
  guint32 n_dense = size_or(
      reader, "first_k_dense_replace|num_dense_layers|moe_layer_start_index",
      RA_MODEL_MAX_LAYERS, l->o->n_dense);
  guint32 step = ra_config_reader_size_or(
      reader,
      "decoder_sparse_step|moe_layer_freq|interleave_moe_layer_step|"
      "moe_layer_interval",
      1, RA_MODEL_MAX_LAYERS, 1);

  for (guint32 i = 0; i < m->n_layers && !reader->failed; i++) {
    const char *word = array ? word_at(array, i) : NULL;
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
  JsonArray *array = layers_of(reader, m, "indexer_types");

  for (guint32 i = 0; i < m->n_layers && has(l->o, INDEXER); i++) {
    const char *word = array ? word_at(array, i) : "full";

    if (!word || (!g_str_equal(word, "full") && !g_str_equal(word, "shared"))) {
      fail_word(reader, "indexer_types", i, "full or shared");
      return;
    }
    l->layers[i].indexer = word[0] == 'f';
  }
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
  const Other *o = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(others) && !o; i++)
    o = g_str_equal(others[i].type, type) ? &others[i] : NULL;
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
  if (has(o, MOE))
    read_experts(reader, o, m);
  if (!reader->failed)
    read_layers(reader, o, m);
  if (!reader->failed && ra_model_n_moe_layers(m) == 0)
    m->n_experts = m->experts_per_token = m->expert_ffn = m->shared_ffn = 0;
  return TRUE;
}
