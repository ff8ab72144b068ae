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
 * some layer is a mixture of experts; layers[i] < n_kinds; ra_model_n_params()
 * <= 2^56 for either head, so that params * (bytes per parameter) never
 * overflows 64 bits.  What differs between layers is data: a layer has a kind
 * (RaLayerKind), models have 1 to 4 of them.
 * Typical sizes: 12 to 126 layers, 10^8 to 10^12 parameters, 150 to 50,000
 * tensors.  A record is 600 bytes; every function but the tensor iterator
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
#define RA_MODEL_MAX_KINDS 8u          /* kinds of layers of a model */
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
  RA_FAMILY_SHAPE, /* from bare shape keys; tensor names as in llama */
  RA_FAMILY_OTHER  /* graph/input/model_family.h: `type` says */
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

/* Part of a layer that mixes tokens. */
typedef enum {
  RA_MIXER_ATTENTION,  /* softmax attention, query heads that share keys */
  RA_MIXER_LATENT,     /* multi-head latent attention (MLA, arXiv 2405.04434) */
  RA_MIXER_DELTA,      /* gated delta net (arXiv 2412.06464) */
  RA_MIXER_KIMI,       /* Kimi delta attention (KDA, arXiv 2510.26692) */
  RA_MIXER_MAMBA,      /* Mamba-2 (arXiv 2405.21060) */
  RA_MIXER_CONV,       /* gated short convolution: lfm2 */
  RA_MIXER_COMPRESSED, /* one head is keys and values, of a window and of
                          entries that some tokens are compressed to, and
                          outputs leave by groups of heads: deepseek_v4 */
  RA_MIXER_NONE,       /* the layer is a feed-forward part alone */
  RA_N_MIXERS
} RaMixer;

/* Feed-forward part of a layer. */
typedef enum {
  RA_FFN_DENSE,   /* one MLP */
  RA_FFN_EXPERTS, /* routed experts, perhaps with shared ones */
  RA_FFN_NONE     /* the layer is a mixer alone */
} RaFfn;

/* Norms on queries and keys. */
typedef enum {
  RA_QK_NORM_NONE,
  RA_QK_NORM_HEAD,  /* (head_dim), one for all heads */
  RA_QK_NORM_WIDE,  /* over the heads together: (heads * head_dim) */
  RA_QK_NORM_VALUES /* RA_QK_NORM_HEAD, and one without parameters on values */
} RaQkNorm;

/* Kind of layer: layers of one kind have equal tensors, ops and caches. */
typedef struct {
  guint8 mixer;       /* RaMixer */
  guint8 ffn;         /* RaFfn */
  guint8 indexer;     /* 1: has an indexer of its own (RaModel.index_heads) */
  guint8 nope;        /* 1: attention without positions */
  guint32 window;     /* keys that a query attends to at most, its own
                         included; 0: all */
  guint32 n_heads;    /* of attention; 0: RaModel.n_heads */
  guint32 n_kv_heads; /* 0: RaModel.n_kv_heads */
  guint32 head_dim;   /* 0: RaModel.head_dim */
  guint32 one_matrix; /* 1: one matrix gives keys and values: gemma4 */
  guint32 compress;   /* tokens of an entry of compressed attention; 0: a
                         window alone */
} RaLayerKind;

/* Towers that make tokens of images (graph/input/model_vision.h). */
typedef enum {
  RA_VISION_NONE,
  RA_VISION_QWEN2,   /* qwen2_vl: LayerNorm, a plain MLP */
  RA_VISION_QWEN2_5, /* qwen2_5_vl: RMSNorm, a gated MLP, windows */
  RA_VISION_QWEN3    /* qwen3_vl, qwen3_5: LayerNorm, a table of positions */
} RaVisionKind;

/* A transformer over the patches of an image, without a mask. */
typedef struct {
  guint8 kind;            /* RaVisionKind */
  guint32 n_layers;       /* > 0 */
  guint32 hidden;         /* width, elements */
  guint32 n_heads;        /* of layers; divides hidden */
  guint32 ffn;            /* inner width of an MLP, elements */
  guint32 patch_elements; /* inputs of a patch: channels, frames, pixels */
  guint32 merge;          /* a token of the text is merge^2 patches */
  guint32 positions;      /* rows of a table of positions; 0: none */
  guint32 n_deep;         /* mergers of inner layers (DeepStack), 0: none */
  guint32 window;         /* patches of a window; 0: layers see the image */
  guint32 n_whole;        /* layers that see the image all the same */
} RaVision;

typedef struct {
  char *name;               /* owned; file name without .json, or given */
  const char *type;         /* static, nullable: `model_type` of OTHER */
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
  RaQkNorm qk_norm;         /* on queries and keys, RMS but of OTHER */
  gboolean embedding_norm;  /* norm (hidden) after the embedding: bloom */
  guint8 n_norms;           /* norms of a layer with both parts: 2, but of
                               OTHER also 1 (parallel parts), 4 (before and
                               after both) and 7 (and of experts beside a dense
                               MLP: gemma4); 0 counts as 2 */
  guint32 n_experts;        /* routed experts of a MoE layer; 0: dense */
  guint32 experts_per_token; /* experts that a token visits; 0: dense */
  guint32 expert_ffn;        /* inner width of one expert, elements; 0: dense */
  guint32 shared_ffn;        /* inner width of all shared experts together */
  guint32 expert_hidden;     /* width at which experts work (latent MoE); 0:
                                hidden */
  guint8 shared_gate;        /* 1: a gate (1, hidden) scales the shared ones */
  guint16 expert_skew;       /* exponent of the power law of experts' loads,
                                hundredths; 0: even */
  guint8 router_bias;        /* 1: the router has a bias (n_experts) */
  guint8 expert_bias;        /* 1: experts have biases */
  guint8 head_bias;          /* 1: the lm head has a bias (vocab) */
  guint8 attention_gate;     /* 1: a gate (q's width) scales the output of
                                attention; 2: one value a head */
  guint8 sinks;              /* 1: a learned score (n_heads) that no key has */
  /* latent attention; 0: there is none */
  guint32 q_rank;    /* width of the latent queries; 0: not latent */
  guint32 kv_rank;   /* width of the latent keys and values */
  guint32 nope_dim;  /* of a head's query and key, elements without positions */
  guint32 rope_dim;  /* and with; the keys' part is shared by all heads */
  guint32 value_dim; /* elements of a head's value */
  /* sparse attention over the keys that an indexer chooses; 0: there is none */
  guint32 index_heads; /* heads of the indexer */
  guint32 index_dim;   /* elements of one */
  guint32 index_top_k; /* keys, or compressed entries, that a query keeps */
  guint32 index_block; /* keys of a block, of which an indexer of attention
                          chooses whole ones; 0: it chooses keys */
  guint32 o_groups;    /* groups of heads of compressed attention's outputs */
  guint32 o_rank;      /* width of a group between its two matrices */
  guint32 n_streams;   /* residual streams (hyper-connections, arXiv
                          2409.19606); 0: one, that is added to */
  /* linear mixers; of Mamba-2: groups, heads, state, head; 0: there are none */
  guint32 n_key_heads;   /* heads of queries and keys */
  guint32 n_value_heads; /* heads of values, each with a state */
  guint32 key_dim;       /* elements of a key, rows of a state */
  guint32 state_dim;     /* elements of a value, columns of a state */
  guint32 conv_taps;     /* taps of the causal convolution */
  guint32 scan_chunk;    /* tokens of a chunk of the scan */
  guint8 conv_bias;      /* 1: the convolution has a bias */
  guint8 mixer_bias;     /* 1: the projections of linear mixers have biases */
  guint32 n_kinds;       /* kinds of layers, 0 counts as 1 */
  RaLayerKind kinds[RA_MODEL_MAX_KINDS]; /* in the order of their op lists */
  guint8 *layer_kind;   /* (n_layers), owned, index into kinds; NULL: all 0 */
  RaVision vision;      /* kind RA_VISION_NONE: none, or not modelled */
  guint32 image_tokens; /* tokens of a prompt that are images, of a workload */
  guint32 n_images;     /* images of a prompt, >= 1 if image_tokens > 0 */
  double prompt_tokens; /* mean of a prompt, > 0 if image_tokens > 0 */
  guint32 param_bytes;  /* bytes of one parameter as published: 1, 2, 4 */
  guint32 lora_rank;    /* of its adapters, graph/input/lora.h; 0: none */
  guint32 lora_targets; /* matrices with adapters: bits by RaTensorKind */
  gboolean lora_only;   /* its tensors are the adapters alone */
  char *path;           /* owned, nullable: file that states the shape */
  GPtrArray *notes;     /* (element-type utf8) owned, nullable: what the
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

/* Shapes of a plain layer; where a layer's kind has others, its row in
 * graph/input/model_tensor.c says them. */
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
  RA_TENSOR_HEAD,      /* (vocab, hidden), or (1, hidden) of a value head */
  RA_TENSOR_MIXER,     /* any other tensor of a mixer */
  RA_TENSOR_VISION,    /* any tensor of a vision tower */
  RA_TENSOR_LINEAR_IN, /* gated delta net: (outputs, hidden) */
  RA_TENSOR_LINEAR_OUT /* gated delta net: (hidden, states) */
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

/* The same of @model: `type` if its family is OTHER. */
const char *ra_model_type(const RaModel *model);

/* Number of kinds of layers, >= 1. */
guint32 ra_model_n_kinds(const RaModel *model);

/* Kind of layer @layer, from 0: an index into kinds. */
guint32 ra_model_layer_kind(const RaModel *model, guint32 layer);

/* Numbers of the layers of each kind among @n_layers from @first_layer on.
 * @out_n: (out) (array length=RA_MODEL_MAX_KINDS). */
void ra_model_count_kinds(const RaModel *model, guint32 first_layer,
                          guint32 n_layers, guint32 *out_n);

/* Sizes of attention in layers of kind @kind: the kind's or the model's. */
guint32 ra_model_kind_heads(const RaModel *model, guint32 kind);
guint32 ra_model_kind_kv_heads(const RaModel *model, guint32 kind);
guint32 ra_model_kind_head_dim(const RaModel *model, guint32 kind);

/* (transfer full): kind @kind in words, "mla + 256 experts". */
char *ra_model_kind_text(const RaModel *model, guint32 kind);

/* TRUE if layer @layer, from 0, is a mixture of experts. */
gboolean ra_model_layer_is_moe(const RaModel *model, guint32 layer);

/* Number of layers that are mixtures of experts: 0 to n_layers. */
guint32 ra_model_n_moe_layers(const RaModel *model);

/* Gives layer @layer the kind @kind, a new one if no layer has had it.  FALSE:
 * it would be one more than RA_MODEL_MAX_KINDS. */
gboolean ra_model_set_layer(RaModel *model, guint32 layer,
                            const RaLayerKind *kind);

/* Makes the layers that @is_moe (array length=n_layers) marks mixtures of
 * experts, the others dense; otherwise they are plain. */
void ra_model_set_moe_layers(RaModel *model, const guint8 *is_moe);

/* TRUE if some layer's attention is within a window. */
gboolean ra_model_has_window(const RaModel *model);

/* TRUE if all layers are a plain attention of the model's sizes with all
 * positions and keys, and a dense MLP or routed experts. */
gboolean ra_model_is_plain(const RaModel *model);

/**
 * ra_model_n_params:
 *
 * Number of all stored parameters (a tied head adds none):
 *
 *     vision tower + embedding + positions + embedding norm
 *     + sum of layers + final norm + head
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
guint64 ra_model_mixer_n_params(const RaModel *model, guint32 layer);
guint64 ra_model_mlp_n_params(const RaModel *model, guint32 layer);
guint64 ra_model_expert_n_params(const RaModel *model); /* 0 if dense */
guint64 ra_model_layer_n_params(const RaModel *model, guint32 layer);
/* With what sums the residual streams before it. */
guint64 ra_model_final_norm_n_params(const RaModel *model);
guint64 ra_model_head_n_params(const RaModel *model); /* 0 if tied lm */

/* Parameters of the vision tower on the rank of @tp that has most; 0: none. */
guint64 ra_model_vision_n_params(const RaModel *model, guint32 tp);

/* Parts of a layer's parameters. */
typedef enum {
  RA_PART_MIXER = 1,   /* with norms on queries and keys */
  RA_PART_FFN = 2,     /* dense MLP, router, shared experts */
  RA_PART_EXPERTS = 4, /* routed experts */
  RA_PART_NORMS = 8,   /* of the residual stream */
  RA_PART_ALL = 15
} RaParts;

/**
 * ra_model_kind_n_params:
 * @kind: < ra_model_n_kinds()
 * @parts: sum of RaParts
 * @tp: ranks of tensor parallelism, >= 1
 *
 * Parameters of one layer of kind @kind on the rank that has most: replicated
 * tensors count in full, cut ones are rounded up to whole heads.  Routed
 * experts count once each, cut as @tp cuts a dense MLP.  Adapters do not count.
 * O(rows of the family's table).
 */
guint64 ra_model_kind_n_params(const RaModel *model, guint32 kind, guint parts,
                               guint32 tp);

/* Weights of matrices that a token meets in one layer of kind @kind, which is
 * half of their FLOP: of the experts those that it visits. */
guint64 ra_model_kind_n_weights(const RaModel *model, guint32 kind);

/* Cache of @n_layers layers from @first_layer on, on one rank of @tp: of each
 * token, where no window limits it, and of each sequence of at most @n_tokens
 * tokens, whatever its length: full windows, and states.
 *
 * A token in a layer; a rank has at least one head:
 *
 *     attention   2 ceil(n_kv_heads / tp) head_dim element_bytes
 *     latent      (kv_rank + rope_dim) element_bytes, on every rank
 *     compressed  head_dim element_bytes in the window, and as much for every
 *                 `compress` tokens, on every rank
 *     an indexer  index_dim + 4 ceil(index_dim / 128) more, of every token or
 *                 compressed entry: fp8 with a scale for every 128 elements
 *                 (vLLM, DeepseekV32IndexerCache); of blocks of keys index_dim
 *                 elements of 16 bits or more (TensorRT-LLM,
 *                 MiniMaxM3SparseAttentionConfig)
 *
 * A state in a layer:
 *
 *     delta rules, Mamba-2   ceil(n_value_heads / tp) key_dim state_dim 4
 *       and a convolution    (conv_taps - 1) width / tp element_bytes
 *     compressed             c compress tokens of 2 c (head_dim, + index_dim
 *                            with an indexer) elements of 4 bytes: keys and
 *                            scores to be compressed; c is 2 with an indexer,
 *                            whose entries overlap, else 1 (vLLM,
 *                            CompressorStateCache; transformers keeps those
 *                            that no entry has yet, in the model's type)
 *
 * Of a compressed token a fraction is cached: of all layers of a kind together,
 * rounded up.
 *
 * The recurrent state is fp32 (SGLang's MambaPool, and what `mamba_ssm_dtype`
 * of Qwen3.5 and Nemotron-H says to vLLM).  The width is that of queries, keys
 * and values; of Mamba-2 heads x head + 2 groups x state; of lfm2 hidden. */
void ra_model_cache_bytes(const RaModel *model, guint32 first_layer,
                          guint32 n_layers, guint32 tp, guint element_bytes,
                          guint64 n_tokens, guint64 *out_token,
                          guint64 *out_sequence);

/* Keys that a query of a layer of kind @kind attends to at most, in its window
 * or by the choice of an indexer; 0: all. */
guint32 ra_model_kind_window(const RaModel *model, guint32 kind);

/* TRUE if kind @kind is attention of all heads to all keys, which the ranks of
 * context parallelism can pass round. */
gboolean ra_model_kind_has_ring(const RaModel *model, guint32 kind);

/* Elements that the layers pass on for a token: of all residual streams. */
guint64 ra_model_stream_width(const RaModel *model);

/* Streams that compressed entries of kind @kind are made of: 2 of those that an
 * indexer chooses, which overlap, else 1 (DeepSeek-V4's report, section 2.3.1).
 */
guint32 ra_model_kind_overlap(const RaModel *model, guint32 kind);

/* Channels of the causal convolution of a layer of kind @kind; 0: none. */
guint64 ra_model_conv_width(const RaModel *model, guint32 kind);

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
