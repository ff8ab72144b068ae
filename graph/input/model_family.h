/* Readers of the families of Hugging Face models, and two checks that bare
 * shapes need too; private to graph/input/model_*.c.
 *
 *     model->family = RA_FAMILY_GPT2;
 *     ra_model_read_family(&reader, model);
 *     if (!reader.failed) ...
 *
 * All functions follow the reader's rule: it keeps the first mistake.
 *
 * Families with layers of several kinds, latent attention, linear mixers or
 * shared experts, and those like llama but for norms and biases, are rows of
 * one table.  A row's features say which keys the configuration class reads and
 * which tensors a layer has; its numbers are that class's defaults.
 */
#ifndef RA_GRAPH_INPUT_MODEL_FAMILY_H
#define RA_GRAPH_INPUT_MODEL_FAMILY_H

#include "base/config_reader.h"
#include "graph/input/model.h"

/* Fills @model, whose name and family are set, from the reader's object. */
void ra_model_read_family(RaConfigReader *reader, RaModel *model);

/* Default head_dim, hidden / heads.  Fails at @hidden_keys if heads do not
 * divide hidden; returns 0 then and after any earlier failure. */
guint32 ra_model_default_head_dim(RaConfigReader *reader, const RaModel *model,
                                  const char *hidden_keys);

/* Fails at @keys unless n_kv_heads divides n_heads. */
void ra_model_check_kv_heads(RaConfigReader *reader, const RaModel *model,
                             const char *keys);

/* The array of @key, which has an element a layer; NULL: none. */
JsonArray *ra_model_layers_of(RaConfigReader *reader, const RaModel *m,
                              const char *key);

/* Text of element @i of @array; NULL: it is none. */
const char *ra_model_word_at(JsonArray *array, guint i);

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

/* TRUE if @type has compressed attention: deepseek_v4. */
gboolean ra_model_is_compressed(const char *type);

/* Fills in what is of compressed attention, of residual streams and of all
 * layers, from the reader's object; heads and experts are set.  Defaults are
 * DeepseekV4Config's. */
void ra_model_read_compressed(RaConfigReader *reader, RaModel *model);

/* TRUE if @type is MiniMax-M3's, whose layers choose blocks of keys. */
gboolean ra_model_is_minimax_m3(const char *type);

/* Fills in its layers and indexers in the same way; defaults are
 * MiniMaxM3VLTextConfig's. */
void ra_model_read_minimax_m3(RaConfigReader *reader, RaModel *model);

/* Row of @type, static; NULL: the table has none. */
const Other *ra_model_other(const char *type);

/* `model_type` of row @index of the table, static; NULL past the last. */
const char *ra_model_other_type(guint index);

/**
 * ra_model_read_other:
 * @type: a `model_type` of the table
 * @model: its name is set
 *
 * Fills @model from the reader's object.  Defaults of what a file leaves out
 * are those of the family's configuration class in transformers 5.24.  The
 * reader keeps the first mistake: contradictory keys, unknown types of layers.
 *
 * Returns: %FALSE if the table has no such type
 */
gboolean ra_model_read_other(RaConfigReader *reader, const char *type,
                             RaModel *model);

#endif
