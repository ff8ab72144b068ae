/* Tensors of a checkpoint, family by family, from tables of rows. */
#include "config.h"

#include <string.h>

#include "graph/input/lora.h"

/* When a row of a table below is in the checkpoint.  Beside that, a bias
 * must be switched on in the model and a gate needs a gated MLP. */
typedef enum {
  WHEN_ALWAYS,
  WHEN_LEARNED,        /* learned positions */
  WHEN_EMBEDDING_NORM, /* model has one */
  WHEN_QK_NORM,        /* model has them */
  WHEN_DENSE,          /* layer is not a MoE */
  WHEN_MOE,            /* once in a MoE layer */
  WHEN_EXPERT,         /* once for each expert; such rows are neighbours */
  WHEN_LM_HEAD,        /* untied head of a language model */
  WHEN_VALUE_HEAD      /* head of a critic or reward model */
} When;

typedef struct {
  const char *name;  /* under the layer's prefix; * is the expert */
  RaTensorKind kind; /* what it is */
  When when;         /* whether it is there */
  gboolean bias;     /* offset of its kind */
  gboolean qk;       /* a norm of head_dim, not of hidden */
} Row;

/* How a family names and orders its tensors. */
typedef struct {
  const Row *before;        /* ends in a NULL name */
  const char *layer_prefix; /* the layer follows */
  const Row *layer;         /* ends in a NULL name */
  const Row *after;         /* ends in a NULL name */
  gboolean transposed;      /* matrices of layers are stored (cols, rows) */
} Naming;

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
  {"self_attn.q_norm.weight", NORM, WHEN_QK_NORM, 0, 1}, \
  {"self_attn.k_norm.weight", NORM, WHEN_QK_NORM, 0, 1}

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
/* clang-format on */

static const Naming *
naming_of(const RaModel *model)
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
  default:
    return &llama_naming;
  }
}

static gboolean
has_bias(const RaModel *model, RaTensorKind kind)
{
  switch (kind) {
  case Q:
  case K:
  case V:
    return model->qkv_bias;
  case O:
    return model->out_bias;
  case GATE:
  case UP:
  case DOWN:
    return model->mlp_bias;
  case NORM:
    return model->norm_bias;
  default:
    return FALSE;
  }
}

static gboolean
is_there(const RaModel *model, const Row *row, gboolean moe)
{
  if (row->bias && !has_bias(model, row->kind))
    return FALSE;
  if (row->kind == GATE && model->mlp != RA_MLP_GATED)
    return FALSE;
  switch (row->when) {
  case WHEN_LEARNED:
    return model->position == RA_POSITION_LEARNED;
  case WHEN_EMBEDDING_NORM:
    return model->embedding_norm;
  case WHEN_QK_NORM:
    return model->qk_norm;
  case WHEN_DENSE:
    return !moe;
  case WHEN_MOE:
  case WHEN_EXPERT:
    return moe;
  case WHEN_LM_HEAD:
    return model->head == RA_HEAD_LM && !model->tied_embeddings;
  case WHEN_VALUE_HEAD:
    return model->head == RA_HEAD_VALUE;
  default:
    return TRUE;
  }
}

/* Tensors of a row that is there: a matrix with adapters has two behind it. */
static guint32
row_n_tensors(const RaModel *model, const Row *row)
{
  guint32 n_adapters = 0;

  if (!row->bias && row->when != WHEN_EXPERT && row->kind != NORM &&
      ra_lora_has(model, row->kind))
    n_adapters = 2;
  if (model->lora_only)
    return n_adapters;
  return (row->when == WHEN_EXPERT ? model->n_experts : 1) + n_adapters;
}

/* Tensors that a table stands for in a layer of the given sort. */
static guint32
count_rows(const RaModel *model, const Row *rows, gboolean moe)
{
  guint32 n = 0;
  for (const Row *row = rows; row->name; row++)
    if (is_there(model, row, moe))
      n += row_n_tensors(model, row);
  return n;
}

/* The row of tensor @index of a table; sets of @t its expert or -1, and which
 * adapter it is. */
static const Row *
find_row(const RaModel *model, const Row *rows, gboolean moe, guint32 index,
         RaTensor *t)
{
  t->expert = RA_TENSOR_NO_EXPERT;
  for (const Row *row = rows; row->name;) {
    if (!is_there(model, row, moe)) {
      row++;
    } else if (row->when != WHEN_EXPERT || model->lora_only) {
      guint32 n = row_n_tensors(model, row);

      if (index < n) {
        t->lora = (RaLoraPart)(index + (model->lora_only ? 1 : 0));
        return row;
      }
      index -= n;
      row++;
    } else { /* the checkpoint goes expert by expert, not row by row */
      const Row *group[3];
      guint32 n = 0;
      for (; row->name && row->when == WHEN_EXPERT; row++)
        if (is_there(model, row, moe))
          group[n++] = row;
      if (index < n * model->n_experts) {
        t->expert = (gint32)(index / n);
        return group[index % n];
      }
      index -= n * model->n_experts;
    }
  }
  g_assert_not_reached();
}

static void
set_dims(RaTensor *t, guint64 rows, guint64 cols, RaTensorSplit split,
         guint32 grain)
{
  /* A bias has the outputs of its matrix; if those are not divided, every
   * rank holds all of it, as the sum over ranks must add it once. */
  if (t->bias && split == RA_SPLIT_ROW)
    split = RA_SPLIT_NONE;
  t->rows = rows;
  t->cols = t->bias ? 1 : cols;
  t->split = split;
  t->grain = split == RA_SPLIT_NONE ? 1 : grain;
}

static void
set_shape(const RaModel *model, const Row *row, RaTensor *t)
{
  guint64 hidden = model->hidden;
  guint64 q = (guint64)model->n_heads * model->head_dim;
  guint64 kv = (guint64)model->n_kv_heads * model->head_dim;
  guint64 ffn = t->expert >= 0 ? model->expert_ffn : model->ffn;
  gboolean value = model->head == RA_HEAD_VALUE;
  switch (row->kind) {
  case EMBEDDING:
    set_dims(t, model->vocab, hidden, RA_SPLIT_VOCAB, 1);
    break;
  case RA_TENSOR_POSITION:
    set_dims(t, model->max_positions, hidden, RA_SPLIT_NONE, 1);
    break;
  case NORM:
    set_dims(t, row->qk ? model->head_dim : hidden, 1, RA_SPLIT_NONE, 1);
    break;
  case Q:
    set_dims(t, q, hidden, RA_SPLIT_COLUMN, model->head_dim);
    break;
  case K:
  case V:
    set_dims(t, kv, hidden, RA_SPLIT_COLUMN, model->head_dim);
    break;
  case O:
    set_dims(t, hidden, q, RA_SPLIT_ROW, model->head_dim);
    break;
  case RA_TENSOR_ROUTER:
    set_dims(t, model->n_experts, hidden, RA_SPLIT_NONE, 1);
    break;
  case GATE:
  case UP:
    set_dims(t, ffn, hidden, RA_SPLIT_COLUMN, 1);
    break;
  case DOWN:
    set_dims(t, hidden, ffn, RA_SPLIT_ROW, 1);
    break;
  case HEAD:
    set_dims(t, value ? 1 : model->vocab, hidden,
             value ? RA_SPLIT_NONE : RA_SPLIT_VOCAB, 1);
    break;
  }
}

/* From its matrix to an adapter of it: what is r wide is not divided, nor is
 * what only reads or makes that. */
static void
set_adapter(const RaModel *model, RaTensor *t)
{
  gboolean is_a = t->lora == RA_LORA_A;
  RaTensorSplit own = is_a ? RA_SPLIT_ROW : RA_SPLIT_COLUMN;

  if (t->lora == RA_LORA_NONE)
    return;
  if (is_a)
    t->rows = model->lora_rank;
  else
    t->cols = model->lora_rank;
  if (t->split == own)
    return;
  t->split = RA_SPLIT_NONE;
  t->grain = 1;
}

/* Adds the first @n bytes of @text to a name. */
static void
add_text(RaTensor *t, gsize *inout_at, const char *text, gsize n)
{
  g_assert(*inout_at + n < sizeof t->name);
  memcpy(t->name + *inout_at, text, n);
  *inout_at += n;
}

static void
add_number(RaTensor *t, gsize *inout_at, gint32 number)
{
  char digits[16], *at = digits + sizeof digits;

  do
    *--at = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  add_text(t, inout_at, at, (gsize)(digits + sizeof digits - at));
}

/* Not by printf(): every reallocation asks for the names of all tensors. */
static void
set_name(const Naming *naming, const Row *row, RaTensor *t)
{
  static const char adapters[] = "lora_A.lora_B.";
  const char *rest = row->name, *end;
  gsize at = 0;

  if (t->layer >= 0) {
    add_text(t, &at, naming->layer_prefix, strlen(naming->layer_prefix));
    add_number(t, &at, t->layer);
    add_text(t, &at, ".", 1);
  }
  if (t->expert >= 0) {
    end = strchr(rest, '*');
    add_text(t, &at, rest, (gsize)(end - rest));
    add_number(t, &at, t->expert);
    rest = end + 1;
  }
  if (t->lora != RA_LORA_NONE) { /* as PEFT has it: q_proj.lora_A.weight */
    end = strstr(rest, "weight");
    add_text(t, &at, rest, (gsize)(end - rest));
    add_text(t, &at, adapters + (t->lora == RA_LORA_A ? 0 : 7), 7);
    rest = end;
  }
  add_text(t, &at, rest, strlen(rest));
  t->name[at] = 0;
}

guint32
ra_model_n_tensors(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  const Naming *naming = naming_of(model);
  guint32 n_moe = ra_model_n_moe_layers(model);
  return count_rows(model, naming->before, FALSE) +
         (model->n_layers - n_moe) * count_rows(model, naming->layer, FALSE) +
         n_moe * count_rows(model, naming->layer, TRUE) +
         count_rows(model, naming->after, FALSE);
}

/* The table that tensor *@index falls into; *@index becomes its place there
 * and *@layer its layer or -1. */
static const Row *
find_table(const RaModel *model, const Naming *naming, guint32 *index,
           gint32 *layer)
{
  *layer = RA_TENSOR_NO_LAYER;
  guint32 n = count_rows(model, naming->before, FALSE);
  if (*index < n)
    return naming->before;
  *index -= n;
  guint32 n_dense = count_rows(model, naming->layer, FALSE);
  guint32 n_moe = count_rows(model, naming->layer, TRUE);
  for (guint32 i = 0; i < model->n_layers; i++) {
    n = ra_model_layer_is_moe(model, i) ? n_moe : n_dense;
    if (*index < n) {
      *layer = (gint32)i;
      return naming->layer;
    }
    *index -= n;
  }
  return naming->after;
}

void
ra_model_tensor(const RaModel *model, guint32 index, RaTensor *out)
{
  g_return_if_fail(model && out);
  g_return_if_fail(index < ra_model_n_tensors(model));
  const Naming *naming = naming_of(model);
  *out = (RaTensor){.name = ""};
  const Row *rows = find_table(model, naming, &index, &out->layer);
  gboolean moe =
      out->layer >= 0 && ra_model_layer_is_moe(model, (guint32)out->layer);
  const Row *row = find_row(model, rows, moe, index, out);
  out->kind = row->kind;
  out->bias = row->bias;
  set_shape(model, row, out);
  set_adapter(model, out);
  out->transposed = naming->transposed && out->layer >= 0 && !row->bias &&
                    row->kind != NORM && out->lora == RA_LORA_NONE;
  set_name(naming, row, out);
}
