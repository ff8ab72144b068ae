/* Rows of tensors: how a family names, orders and shapes its tensors; private
 * to graph/input/model_tensor.c and model_row.c.
 *
 * A family has three tables: tensors before the layers, of a layer, and behind
 * the layers.  A row is in a layer's table for all kinds of layers; it says
 * when a layer has it.
 */
#ifndef RA_GRAPH_INPUT_MODEL_ROW_H
#define RA_GRAPH_INPUT_MODEL_ROW_H

#include "graph/input/model.h"

/* When a row of a table below is in the checkpoint.  Beside that, a bias
 * must be switched on in the model, a gate needs a gated MLP, and q, k, v and o
 * need a mixer that is attention. */
typedef enum {
  WHEN_ALWAYS,
  WHEN_LEARNED,        /* learned positions */
  WHEN_EMBEDDING_NORM, /* model has one */
  WHEN_QK_NORM,        /* model has them, and the layer attention */
  WHEN_DENSE,          /* layer is not a MoE */
  WHEN_MOE,            /* once in a MoE layer */
  WHEN_EXPERT,         /* once for each expert; such rows are neighbours */
  WHEN_LM_HEAD,        /* untied head of a language model */
  WHEN_VALUE_HEAD,     /* head of a critic or reward model */
  WHEN_TWO_NORMS,      /* layer with a norm for each of two parts */
  WHEN_FOUR_NORMS,     /* and one behind each */
  WHEN_SEVEN_NORMS,    /* and of experts and of the dense MLP beside them */
  WHEN_VALUES,         /* attention whose values have a matrix of their own */
  WHEN_GATE,           /* attention with a gate of its width */
  WHEN_GATE_IN_Q,      /* whose gate is in the matrix of q: qwen3_next */
  WHEN_HEAD_GATE,      /* attention with a gate a head */
  WHEN_SINKS,          /* attention with sinks */
  WHEN_SHARED,         /* MoE layer with shared experts */
  WHEN_SHARED_GATE,    /* and a gate before them */
  WHEN_LATENT_EXPERTS, /* MoE layer whose experts have a width of their own */
  WHEN_LATENT,         /* latent attention */
  WHEN_LATENT_Q,       /* with latent queries */
  WHEN_WHOLE_Q,        /* without */
  WHEN_INDEXER,        /* latent attention with an indexer */
  WHEN_BLOCKS,         /* attention with an indexer of blocks */
  WHEN_DELTA,          /* gated delta net */
  WHEN_KIMI,           /* Kimi delta attention */
  WHEN_MAMBA,          /* Mamba-2 */
  WHEN_TAP_BIAS,       /* whose convolution has a bias */
  WHEN_CONV,           /* gated short convolution */
  WHEN_COMPRESSED,     /* compressed attention */
  WHEN_COMPRESSOR,     /* with compressed entries */
  WHEN_CHOSEN,         /* which an indexer chooses */
  WHEN_STREAMS,        /* model with residual streams */
  WHEN_VISION_LAYER,   /* once a layer of the vision tower; neighbours */
  WHEN_VISION_DEEP     /* once a merger of an inner layer of it; neighbours */
} When;

/* A dimension of a tensor. */
typedef enum {
  ONE,
  HIDDEN,
  EXPERTS,         /* routed */
  HEAD_DIM,        /* of attention */
  HEADS,           /* query heads */
  Q_WIDTH,         /* heads * head_dim */
  K_WIDTH,         /* kv heads * head_dim */
  Q_RANK,          /* latent attention: */
  KV_RANK,         /* ... */
  KV_DOWN,         /* kv_rank + rope_dim */
  QK_DIM,          /* nope_dim + rope_dim */
  QK_ALL,          /* heads * (nope_dim + rope_dim) */
  KV_DIM,          /* nope_dim + value_dim */
  KV_ALL,          /* heads * (nope_dim + value_dim) */
  VALUE_DIM,       /* ... */
  VALUE_ALL,       /* heads * value_dim */
  INDEX_DIM,       /* of the indexer */
  INDEX_HEADS,     /* ... */
  INDEX_ALL,       /* index_heads * index_dim */
  COMPRESS,        /* compressed attention: tokens of an entry */
  ENTRY,           /* head_dim, twice if entries overlap */
  INDEX_ENTRY,     /* the same of index_dim */
  GROUP_WIDTH,     /* heads * head_dim / o_groups */
  O_RANK,          /* of a group's output */
  O_ALL,           /* o_groups * o_rank */
  STREAMS,         /* residual streams, n */
  STREAM_WIDTH,    /* n * hidden */
  STREAM_MIXES,    /* n (n + 2) */
  STREAM_SCALES,   /* 3 */
  KEY_DIM,         /* of linear mixers: */
  KEYS,            /* n_key_heads * key_dim */
  STATE_DIM,       /* ... */
  STATES,          /* n_value_heads * state_dim */
  VALUE_HEADS,     /* ... */
  CONV,            /* channels of the convolution */
  TAPS,            /* of the convolution */
  SCAN_IN,         /* outputs of Mamba-2's input projection */
  HIDDEN_3,        /* 3 hidden */
  SHARED,          /* width of the shared experts */
  EXPERT_HIDDEN,   /* width at which experts work */
  VISION_HIDDEN,   /* of the vision tower: hidden */
  VISION_HEAD,     /* elements of a head */
  VISION_FFN,      /* ... */
  VISION_WIDE,     /* of the patches of a token: merge^2 hidden */
  VISION_PATCH,    /* patch_elements */
  VISION_POSITIONS /* ... */
} Dim;

/* Shape of a row: that of its kind, or one of sizes[]. */
typedef enum {
  SIZE_KIND,
  SIZE_EXPERTS,
  SIZE_HEAD,
  SIZE_Q_NORM,
  SIZE_K_NORM,
  SIZE_GATE,
  SIZE_HEADS,
  SIZE_HEADS_IN,
  SIZE_Q_DOWN,
  SIZE_Q_RANK,
  SIZE_Q_UP,
  SIZE_Q_WHOLE,
  SIZE_KV_DOWN,
  SIZE_KV_RANK,
  SIZE_KV_UP,
  SIZE_LATENT_OUT,
  SIZE_INDEX_Q,
  SIZE_INDEX_K,
  SIZE_INDEX_NORM,
  SIZE_INDEX_WEIGHTS,
  SIZE_INDEX_Q_IN,
  SIZE_Q_HEADS_UP,
  SIZE_KEY_IN,
  SIZE_GROUPS_OUT,
  SIZE_O_OUT,
  SIZE_ENTRY_IN,
  SIZE_ENTRY_BIAS,
  SIZE_INDEX_ENTRY_IN,
  SIZE_INDEX_ENTRY_BIAS,
  SIZE_STREAM_MIXES_IN,
  SIZE_STREAM_MIXES,
  SIZE_STREAM_SCALES,
  SIZE_STREAM_SUM_IN,
  SIZE_STREAM_SUM,
  SIZE_ONE,
  SIZE_KEYS_IN,
  SIZE_STATES_IN,
  SIZE_VALUE_HEADS_IN,
  SIZE_VALUE_HEADS,
  SIZE_CONV,
  SIZE_CONV_BIAS,
  SIZE_STATE_NORM,
  SIZE_STATES_NORM,
  SIZE_STATES_OUT,
  SIZE_KEYS,
  SIZE_NARROW_IN,
  SIZE_NARROW_KEYS,
  SIZE_NARROW_STATES,
  SIZE_SCAN_IN,
  SIZE_HIDDEN,
  SIZE_SHORT_CONV,
  SIZE_THRICE_IN,
  SIZE_SQUARE,
  SIZE_SHARED_IN,
  SIZE_SHARED_OUT,
  SIZE_SHARED_GATE,
  SIZE_EXPERTS_IN,
  SIZE_EXPERTS_OUT,
  SIZE_VISION_PATCH,
  SIZE_VISION_POSITIONS,
  SIZE_VISION_NORM,
  SIZE_VISION_WIDE_NORM,
  SIZE_VISION_HEADS_IN,
  SIZE_VISION_HEADS,
  SIZE_VISION_HEADS_OUT,
  SIZE_VISION_IN,
  SIZE_VISION_INNER,
  SIZE_VISION_OUT,
  SIZE_VISION_WIDE_IN,
  SIZE_VISION_WIDE,
  SIZE_VISION_WIDE_OUT
} Size;

typedef struct {
  const char *name;  /* under the layer's prefix; * is the expert, or the
                        layer of a vision tower */
  RaTensorKind kind; /* what it is */
  When when;         /* whether it is there */
  gboolean bias;     /* offset of its kind */
  Size size;         /* its shape */
} Row;

/* How a family names and orders its tensors. */
typedef struct {
  const Row *before;        /* ends in a NULL name */
  const char *layer_prefix; /* the layer follows */
  const Row *layer;         /* ends in a NULL name */
  const Row *after;         /* ends in a NULL name */
  gboolean transposed;      /* matrices of layers are stored (cols, rows) */
} Naming;

/* Tables of @model's family, static. */
const Naming *ra_model_naming(const RaModel *model);

/* Table of @model's vision tower, static; ends in a NULL name, which is its
 * first if there is none. */
const Row *ra_model_vision_rows(const RaModel *model);

#endif
