/* Model: the shape of a decoder-only transformer.
 *
 * RaModel is an open record, filled once by a reader and const from then on.
 * Every count, size and tensor that the rest of Reallot uses follows from it
 * exactly.  Nothing here is an estimate or depends on a device.
 *
 *     g_autoptr(RaModel) model = ra_model_load("llama-2-7b.json", &error);
 *     if (model)
 *       g_print("%" G_GUINT64_FORMAT "\n", ra_model_n_params(model));
 *                                                    prints 6738415616
 *
 * Invariants: n_layers, hidden, n_heads, n_kv_heads, head_dim, ffn, vocab
 * are > 0; n_heads is a multiple of n_kv_heads; n_experts > 0 exactly if
 * some layer is a mixture of experts; ra_model_n_params() <= 2^56 for either
 * head, so that params * (bytes per parameter) never overflows 64 bits.
 * Typical sizes: 12 to 126 layers, 10^8 to 4*10^11 parameters, 150 to 37,000
 * tensors.  A record is 220 bytes; every function but the tensor iterator
 * is O(n_layers) or better and none but the readers allocates.
 */
#ifndef RA_GRAPH_INPUT_MODEL_H
#define RA_GRAPH_INPUT_MODEL_H

#include <glib.h>

/* Largest config file that a reader accepts: published ones have 0.5 to 60 KiB.
 */
#define RA_MODEL_MAX_FILE_BYTES ((gsize)1 << 20)
/* Upper limits of the sizes.  With them no product of two sizes exceeds
 * 2^45 and no layer 2^62, so that only the sum over layers needs a check. */
#define RA_MODEL_MAX_LAYERS 16384u     /* layers */
#define RA_MODEL_MAX_HIDDEN (1u << 20) /* hidden, heads, head_dim */
#define RA_MODEL_MAX_INNER (1u << 24)  /* ffn, vocab, positions, q's width */
#define RA_MODEL_MAX_EXPERTS 65536u    /* experts of a layer */
#define RA_MODEL_MAX_PARAMS (G_GUINT64_CONSTANT(1) << 56) /* of a model */

/* Family, which decides checkpoint format and defaults. */
typedef enum {
  RA_FAMILY_LLAMA,
  RA_FAMILY_MISTRAL,
  RA_FAMILY_QWEN2,
  RA_FAMILY_QWEN3,
  RA_FAMILY_MIXTRAL,
  RA_FAMILY_QWEN3_MOE,
  RA_FAMILY_GPT2,
  RA_FAMILY_BLOOM,
  RA_FAMILY_MPT,
  RA_FAMILY_NEMOTRON,
  RA_FAMILY_SEED_OSS,
  RA_FAMILY_SMOLLM3,
  RA_FAMILY_GRANITE,
  RA_FAMILY_PHI3,
  RA_FAMILY_MINISTRAL,
  RA_FAMILY_MINISTRAL3,
  RA_FAMILY_SHAPE /* from bare shape keys; tensor names as in llama */
} RaModelFamily;

typedef enum {
  RA_NORM_RMS,  /* scale only */
  RA_NORM_LAYER /* scale, and an offset if norm_bias */
} RaModelNorm;

typedef enum {
  RA_MLP_GATED, /* down(act(gate(x)) * up(x)): three matrices */
  RA_MLP_PLAIN  /* down(act(up(x))): two matrices */
} RaModelMlp;

typedef enum {
  RA_POSITION_ROTARY,  /* no parameters */
  RA_POSITION_LEARNED, /* a table of (max_positions, hidden) */
  RA_POSITION_ALIBI    /* no parameters */
} RaModelPosition;

typedef enum {
  RA_HEAD_LM,   /* (vocab, hidden), or the embedding itself if tied */
  RA_HEAD_VALUE /* (1, hidden), no bias: critics and reward models */
} RaModelHead;

typedef struct {
  char *name;               /* owned; file name without .json, or given */
  RaModelFamily family;     /* naming and layout of the tensors */
  guint32 n_layers;         /* transformer layers */
  guint32 hidden;           /* width of the residual stream, elements */
  guint32 n_heads;          /* query heads of a layer */
  guint32 n_kv_heads;       /* key/value heads of a layer, divides n_heads */
  guint32 head_dim;         /* elements of one head; n_heads * head_dim is the
                               width of q and may differ from hidden */
  guint32 ffn;              /* inner width of a dense MLP, elements */
  guint32 vocab;            /* rows of the embedding table */
  guint32 max_positions;    /* longest sequence, tokens; 0: not stated */
  RaModelNorm norm;         /* of every norm but qk_norm, which is RMS */
  RaModelMlp mlp;           /* dense MLP and experts alike */
  RaModelPosition position; /* position encoding */
  RaModelHead head;         /* set by ra_model_set_head(), default LM */
  gboolean tied_embeddings; /* lm head shares the embedding table */
  gboolean qkv_bias;        /* biases of width n_heads, n_kv_heads * head_dim */
  gboolean out_bias;        /* bias (hidden) of the attention output */
  gboolean mlp_bias;        /* biases (ffn) and (hidden) of a dense MLP */
  gboolean norm_bias;       /* offset (hidden) of every LayerNorm */
  gboolean qk_norm;         /* RMS norms (head_dim) on q and on k */
  gboolean embedding_norm;  /* norm (hidden) after the embedding: bloom */
  guint32 n_experts;        /* experts of a MoE layer, all routed; 0: dense */
  guint32 experts_per_token; /* experts that a token visits; 0: dense */
  guint32 expert_ffn;        /* inner width of one expert, elements; 0: dense */
  guint8 *layer_is_moe;      /* (n_layers), owned, 1: MoE; NULL: all dense */
  guint32 param_bytes;       /* bytes of one parameter as published: 1, 2, 4 */
  guint32 lora_rank;         /* of its adapters, graph/input/lora.h; 0: none */
  guint32 lora_targets;      /* matrices with adapters: bits by RaTensorKind */
  gboolean lora_only;        /* its tensors are the adapters alone */
  char *path;                /* owned, nullable: file that states the shape */
  GPtrArray *notes;          /* (element-type utf8) owned, nullable: what the
                                file says and the record does not express */
} RaModel;

/* Model shape as a table of shapes gives it; 0 selects the default. */
typedef struct {
  const char *name;          /* nullable, borrowed; default "shape" */
  guint32 layers;            /* > 0 */
  guint32 hidden;            /* > 0, elements */
  guint32 heads;             /* > 0 */
  guint32 kv_heads;          /* default heads */
  guint32 head_dim;          /* elements; default hidden / heads */
  guint32 ffn;               /* elements; default 4 * hidden */
  guint32 vocab;             /* > 0, rows */
  guint32 seq;               /* tokens; required by learned positions */
  RaModelNorm norm;          /* see ra_model_shape_init() */
  RaModelMlp mlp;            /* see ra_model_shape_init() */
  RaModelPosition position;  /* see ra_model_shape_init() */
  gboolean tied;             /* lm head shares the embedding */
  gboolean bias;             /* biases everywhere: linear layers and norms */
  guint32 experts;           /* in every layer; default 0: dense */
  guint32 experts_per_token; /* default 0: dense */
  guint32 expert_ffn;        /* elements; default ffn */
} RaModelShape;

/* Tensor-parallel split by Megatron's convention (arXiv 1909.08053). */
typedef enum {
  RA_SPLIT_NONE,   /* every rank holds the whole tensor */
  RA_SPLIT_COLUMN, /* "column parallel": the rows (outputs) are divided */
  RA_SPLIT_ROW,    /* "row parallel": the cols (inputs) are divided */
  RA_SPLIT_VOCAB   /* the rows are tokens and are divided */
} RaTensorSplit;

/* Adapter matrices of rank r for a matrix W (out, in). */
typedef enum {
  RA_LORA_NONE, /* W itself */
  RA_LORA_A,    /* (r, in) */
  RA_LORA_B     /* (out, r) */
} RaLoraPart;

typedef enum {
  RA_TENSOR_EMBEDDING, /* (vocab, hidden) */
  RA_TENSOR_POSITION,  /* (max_positions, hidden) */
  RA_TENSOR_NORM,      /* (hidden, 1), or (head_dim, 1) of q and k */
  RA_TENSOR_Q,         /* (n_heads * head_dim, hidden) */
  RA_TENSOR_K,         /* (n_kv_heads * head_dim, hidden) */
  RA_TENSOR_V,         /* (n_kv_heads * head_dim, hidden) */
  RA_TENSOR_O,         /* (hidden, n_heads * head_dim) */
  RA_TENSOR_ROUTER,    /* (n_experts, hidden) */
  RA_TENSOR_GATE,      /* (ffn or expert_ffn, hidden) */
  RA_TENSOR_UP,        /* (ffn or expert_ffn, hidden) */
  RA_TENSOR_DOWN,      /* (hidden, ffn or expert_ffn) */
  RA_TENSOR_HEAD       /* (vocab, hidden), or (1, hidden) of a value head */
} RaTensorKind;

#define RA_TENSOR_NAME_BYTES 96
#define RA_TENSOR_NO_LAYER (-1)
#define RA_TENSOR_NO_EXPERT (-1)

/* One tensor of a checkpoint, in the orientation y = W x. */
typedef struct {
  char name[RA_TENSOR_NAME_BYTES]; /* as in the checkpoint; a part of a fused
                                      tensor ends in [q], [k], [v], [gate] or
                                      [up] */
  guint64 rows;                    /* outputs, elements */
  guint64 cols;                    /* inputs, elements; 1: a vector */
  RaTensorSplit split;             /* how tensor parallelism divides it */
  guint32 grain;       /* rows (cols if split by ROW) that stay together:
                          head_dim in attention, 1 elsewhere */
  RaTensorKind kind;   /* role in the model */
  gboolean bias;       /* TRUE: the bias of its kind, not the matrix */
  RaLoraPart lora;     /* adapter matrix, or the matrix of its kind itself */
  gboolean transposed; /* the checkpoint stores (cols, rows): gpt2 */
  gint32 layer;        /* from 0, or RA_TENSOR_NO_LAYER */
  gint32 expert;       /* from 0, or RA_TENSOR_NO_EXPERT */
} RaTensor;

/**
 * ra_model_load:
 * @path: (not nullable): a Hugging Face config.json as published, or bare
 *   shape keys (see graph/input/model_family.c and model_config.c)
 * @error: set to RA_ERROR_INPUT or RA_ERROR_IO, "path:line: ..."
 *
 * Cost: one read, at most %RA_MODEL_MAX_FILE_BYTES.   Thread: any.
 *
 * Returns: (transfer full): the model with an lm head, or %NULL
 */
RaModel *ra_model_load(const char *path, GError **error);

/**
 * ra_model_parse:
 * @name: (not nullable): replaces the path in messages; its base name (or
 *   its folder's, for "config.json") names the model
 * @text: (array length=len): JSON in UTF-8, need not end in NUL
 * @len: bytes of @text; 0 is an error
 * @error: set to RA_ERROR_INPUT, "name:line: ..."
 *
 * Parses the text of a config file like ra_model_load().   Thread: any.
 *
 * Returns: (transfer full): the model with an lm head, or %NULL
 */
RaModel *ra_model_parse(const char *name, const char *text, gsize len,
                        GError **error);

/**
 * ra_model_shape_init:
 * @shape: (out): every field is set
 * @mlp: selects one of the two usual architectures
 *
 * Gated: llama's (RMSNorm, rotary positions, no biases, untied).  Plain:
 * GPT-3's as Megatron-LM trains it (LayerNorm, learned positions, biases,
 * tied).  Its number of parameters is that of arXiv 2104.04473, eq. 2, plus
 * the 2 * hidden of the final norm.
 */
void ra_model_shape_init(RaModelShape *shape, RaModelMlp mlp);

/**
 * ra_model_from_shape:
 * @shape: (not nullable): borrowed; begin with ra_model_shape_init()
 * @error: set to RA_ERROR_INPUT without "path:line: ", which the caller
 *   prefixes from its table of shapes
 *
 * Returns: (transfer full): the model with an lm head, or %NULL
 */
RaModel *ra_model_from_shape(const RaModelShape *shape, GError **error);

/**
 * ra_model_validate:
 * @model: borrowed
 * @error: set to RA_ERROR_INPUT, without "path:line: "
 *
 * Checks the invariants in this file's head; readers call it last.
 *
 * Returns: %TRUE if all hold
 */
gboolean ra_model_validate(const RaModel *model, GError **error);

/**
 * ra_model_set_head:
 * @model: fresh from a reader, not yet shared
 * @head: a value head unties the embedding: the table stays, the head is
 *   LlamaForSequenceClassification's score.weight with one label
 */
void ra_model_set_head(RaModel *model, RaModelHead head);

#define RA_MODEL_NOTE_WEIGHTS                                                  \
  "the weights are published in %s; a workload counts them in its model's "    \
  "'dtype'"

/* Adds a note: a sentence part such as "images are not counted". */
void ra_model_note(RaModel *model, const char *format, ...) G_GNUC_PRINTF(2, 3);

void ra_model_free(RaModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaModel, ra_model_free)

/* "llama", ... as in the model_type of a config file; or "shape". */
const char *ra_model_family_name(RaModelFamily family);

/* TRUE if layer @layer, from 0, is a mixture of experts. */
gboolean ra_model_layer_is_moe(const RaModel *model, guint32 layer);

/* Number of layers that are mixtures of experts: 0 to n_layers. */
guint32 ra_model_n_moe_layers(const RaModel *model);

/**
 * ra_model_n_params:
 *
 * Number of all stored parameters (a tied head adds none):
 *
 *     embedding + positions + embedding norm + sum of layers
 *     + final norm + head
 *
 * The sum includes the parameters of adapters (graph/input/lora.h).
 *
 * Source: the modules of huggingface/transformers, family by family; checked
 * against published counts in tests/graph/check_model.c.
 *
 * Returns: parameters, <= RA_MODEL_MAX_PARAMS
 */
guint64 ra_model_n_params(const RaModel *model);

/* Parameters active for one token: n_params minus the experts that the token
 * does not visit.  The embedding counts in full, as in "30B-A3B". */
guint64 ra_model_n_active_params(const RaModel *model);

/* Numbers of parameters of the pieces, biases included, summed over the ranks
 * of a tensor-parallel group. */
guint64 ra_model_embedding_n_params(const RaModel *model);
guint64 ra_model_position_n_params(const RaModel *model);
guint64 ra_model_embedding_norm_n_params(const RaModel *model);
guint64 ra_model_attention_n_params(const RaModel *model); /* with qk_norm */
guint64 ra_model_mlp_n_params(const RaModel *model, guint32 layer);
guint64 ra_model_expert_n_params(const RaModel *model);      /* 0 if dense */
guint64 ra_model_layer_norms_n_params(const RaModel *model); /* both */
guint64 ra_model_layer_n_params(const RaModel *model, guint32 layer);
guint64 ra_model_final_norm_n_params(const RaModel *model);
guint64 ra_model_head_n_params(const RaModel *model); /* 0 if tied lm */

/**
 * ra_model_kv_layer_bytes:
 * @tp: ranks that share the heads of keys and values, >= 1
 * @element_bytes: bytes of one element of the cache
 *
 * Key and value cache of one token in one layer, on one rank; a rank has at
 * least one head.
 *
 *     2 ceil(n_kv_heads / tp) head_dim element_bytes
 *
 * Returns: bytes
 */
guint64 ra_model_kv_layer_bytes(const RaModel *model, guint32 tp,
                                guint element_bytes);

/* Tensors of the checkpoint; a fused qkv tensor counts as three. */
guint32 ra_model_n_tensors(const RaModel *model);

/**
 * ra_model_tensor:
 * @model: borrowed
 * @index: 0 to ra_model_n_tensors() - 1, in checkpoint order
 * @out: (out caller-allocates): every field is set
 *
 * The sum of rows * cols over all tensors is ra_model_n_params().  A fused
 * qkv tensor (gpt2 c_attn, bloom query_key_value, mpt Wqkv, phi3 qkv_proj)
 * comes as its three parts, since tensor parallelism divides each part by
 * heads; so does phi3's gate_up_proj as two.
 *
 * Cost: O(n_layers), no allocation.   Thread: any.
 */
void ra_model_tensor(const RaModel *model, guint32 index, RaTensor *out);

#endif
