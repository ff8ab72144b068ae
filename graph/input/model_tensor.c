/* Tensors of a checkpoint: those of the rows of a family's tables that the
 * model has, their shapes and their sums. */
#include "config.h"

#include <string.h>

#include "graph/input/lora.h"
#include "graph/input/model_row.h"

/* Outputs, inputs, split and grain.  A rank has whole heads. */
static const struct {
  guint8 rows, cols, split, grain;
} sizes[] = {
    [SIZE_EXPERTS] = {EXPERTS, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_HEAD] = {HEAD_DIM, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_Q_NORM] = {Q_WIDTH, ONE, RA_SPLIT_COLUMN, HEAD_DIM},
    [SIZE_K_NORM] = {K_WIDTH, ONE, RA_SPLIT_COLUMN, HEAD_DIM},
    [SIZE_GATE] = {Q_WIDTH, HIDDEN, RA_SPLIT_COLUMN, HEAD_DIM},
    [SIZE_HEADS] = {HEADS, ONE, RA_SPLIT_COLUMN, ONE},
    [SIZE_HEADS_IN] = {HEADS, HIDDEN, RA_SPLIT_COLUMN, ONE},
    [SIZE_Q_DOWN] = {Q_RANK, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_Q_RANK] = {Q_RANK, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_Q_UP] = {QK_ALL, Q_RANK, RA_SPLIT_COLUMN, QK_DIM},
    [SIZE_Q_WHOLE] = {QK_ALL, HIDDEN, RA_SPLIT_COLUMN, QK_DIM},
    [SIZE_KV_DOWN] = {KV_DOWN, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_KV_RANK] = {KV_RANK, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_KV_UP] = {KV_ALL, KV_RANK, RA_SPLIT_COLUMN, KV_DIM},
    [SIZE_LATENT_OUT] = {HIDDEN, VALUE_ALL, RA_SPLIT_ROW, VALUE_DIM},
    [SIZE_INDEX_Q] = {INDEX_ALL, Q_RANK, RA_SPLIT_NONE, ONE},
    [SIZE_INDEX_K] = {INDEX_DIM, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_INDEX_NORM] = {INDEX_DIM, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_INDEX_WEIGHTS] = {INDEX_HEADS, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_INDEX_Q_IN] = {INDEX_ALL, HIDDEN, RA_SPLIT_COLUMN, INDEX_DIM},
    [SIZE_Q_HEADS_UP] = {Q_WIDTH, Q_RANK, RA_SPLIT_COLUMN, HEAD_DIM},
    [SIZE_KEY_IN] = {HEAD_DIM, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_GROUPS_OUT] = {O_ALL, GROUP_WIDTH, RA_SPLIT_COLUMN, O_RANK},
    [SIZE_O_OUT] = {HIDDEN, O_ALL, RA_SPLIT_ROW, O_RANK},
    [SIZE_ENTRY_IN] = {ENTRY, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_ENTRY_BIAS] = {COMPRESS, ENTRY, RA_SPLIT_NONE, ONE},
    [SIZE_INDEX_ENTRY_IN] = {INDEX_ENTRY, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_INDEX_ENTRY_BIAS] = {COMPRESS, INDEX_ENTRY, RA_SPLIT_NONE, ONE},
    [SIZE_STREAM_MIXES_IN] = {STREAM_MIXES, STREAM_WIDTH, RA_SPLIT_NONE, ONE},
    [SIZE_STREAM_MIXES] = {STREAM_MIXES, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_STREAM_SCALES] = {STREAM_SCALES, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_STREAM_SUM_IN] = {STREAMS, STREAM_WIDTH, RA_SPLIT_NONE, ONE},
    [SIZE_STREAM_SUM] = {STREAMS, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_ONE] = {ONE, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_KEYS_IN] = {KEYS, HIDDEN, RA_SPLIT_COLUMN, KEY_DIM},
    [SIZE_STATES_IN] = {STATES, HIDDEN, RA_SPLIT_COLUMN, STATE_DIM},
    [SIZE_VALUE_HEADS_IN] = {VALUE_HEADS, HIDDEN, RA_SPLIT_COLUMN, ONE},
    [SIZE_VALUE_HEADS] = {VALUE_HEADS, ONE, RA_SPLIT_COLUMN, ONE},
    [SIZE_CONV] = {CONV, TAPS, RA_SPLIT_COLUMN, ONE},
    [SIZE_CONV_BIAS] = {CONV, ONE, RA_SPLIT_COLUMN, ONE},
    [SIZE_STATE_NORM] = {STATE_DIM, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_STATES_NORM] = {STATES, ONE, RA_SPLIT_COLUMN, STATE_DIM},
    [SIZE_STATES_OUT] = {HIDDEN, STATES, RA_SPLIT_ROW, STATE_DIM},
    [SIZE_KEYS] = {KEYS, ONE, RA_SPLIT_COLUMN, KEY_DIM},
    [SIZE_NARROW_IN] = {STATE_DIM, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_NARROW_KEYS] = {KEYS, STATE_DIM, RA_SPLIT_COLUMN, KEY_DIM},
    [SIZE_NARROW_STATES] = {STATES, STATE_DIM, RA_SPLIT_COLUMN, STATE_DIM},
    [SIZE_SCAN_IN] = {SCAN_IN, ONE, RA_SPLIT_COLUMN, ONE},
    [SIZE_HIDDEN] = {HIDDEN, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_SHORT_CONV] = {HIDDEN, TAPS, RA_SPLIT_COLUMN, ONE},
    [SIZE_THRICE_IN] = {HIDDEN_3, HIDDEN, RA_SPLIT_COLUMN, ONE},
    [SIZE_SQUARE] = {HIDDEN, HIDDEN, RA_SPLIT_ROW, ONE},
    [SIZE_SHARED_IN] = {SHARED, HIDDEN, RA_SPLIT_COLUMN, ONE},
    [SIZE_SHARED_OUT] = {HIDDEN, SHARED, RA_SPLIT_ROW, ONE},
    [SIZE_SHARED_GATE] = {ONE, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_EXPERTS_IN] = {EXPERT_HIDDEN, HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_EXPERTS_OUT] = {HIDDEN, EXPERT_HIDDEN, RA_SPLIT_NONE, ONE},
    [SIZE_VISION_PATCH] = {VISION_HIDDEN, VISION_PATCH, RA_SPLIT_NONE, ONE},
    [SIZE_VISION_POSITIONS] = {VISION_POSITIONS, VISION_HIDDEN, RA_SPLIT_NONE,
                               ONE},
    [SIZE_VISION_NORM] = {VISION_HIDDEN, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_VISION_WIDE_NORM] = {VISION_WIDE, ONE, RA_SPLIT_NONE, ONE},
    [SIZE_VISION_HEADS_IN] = {VISION_HIDDEN, VISION_HIDDEN, RA_SPLIT_COLUMN,
                              VISION_HEAD},
    [SIZE_VISION_HEADS] = {VISION_HIDDEN, ONE, RA_SPLIT_COLUMN, VISION_HEAD},
    [SIZE_VISION_HEADS_OUT] = {VISION_HIDDEN, VISION_HIDDEN, RA_SPLIT_ROW,
                               VISION_HEAD},
    [SIZE_VISION_IN] = {VISION_FFN, VISION_HIDDEN, RA_SPLIT_COLUMN, ONE},
    [SIZE_VISION_INNER] = {VISION_FFN, ONE, RA_SPLIT_COLUMN, ONE},
    [SIZE_VISION_OUT] = {VISION_HIDDEN, VISION_FFN, RA_SPLIT_ROW, ONE},
    [SIZE_VISION_WIDE_IN] = {VISION_WIDE, VISION_WIDE, RA_SPLIT_COLUMN, ONE},
    [SIZE_VISION_WIDE] = {VISION_WIDE, ONE, RA_SPLIT_COLUMN, ONE},
    [SIZE_VISION_WIDE_OUT] = {HIDDEN, VISION_WIDE, RA_SPLIT_ROW, ONE},
};

static gboolean
has_bias(const RaModel *model, const Row *row)
{
  switch (row->kind) {
  case RA_TENSOR_Q:
  case RA_TENSOR_K:
  case RA_TENSOR_V:
    return model->qkv_bias;
  case RA_TENSOR_O:
    return model->out_bias;
  case RA_TENSOR_GATE:
  case RA_TENSOR_UP:
  case RA_TENSOR_DOWN:
    return row->when == WHEN_EXPERT ? model->expert_bias : model->mlp_bias;
  case RA_TENSOR_NORM:
    return model->norm_bias;
  case RA_TENSOR_ROUTER:
    return model->router_bias;
  case RA_TENSOR_HEAD:
    return model->head_bias;
  case RA_TENSOR_MIXER:
    return model->mixer_bias;
  default:
    return FALSE;
  }
}

/* The same of a row of compressed attention, streams or an indexer. */
static gboolean
compressed_has(const RaModel *model, const Row *row, const RaLayerKind *k)
{
  switch (row->when) {
  case WHEN_INDEXER:
    return k->indexer && k->mixer == RA_MIXER_LATENT;
  case WHEN_BLOCKS:
    return k->indexer && k->mixer == RA_MIXER_ATTENTION;
  case WHEN_COMPRESSED:
    return k->mixer == RA_MIXER_COMPRESSED;
  case WHEN_COMPRESSOR:
    return k->compress > 0;
  case WHEN_CHOSEN:
    return k->compress > 0 && k->indexer;
  default:
    return model->n_streams > 0;
  }
}

/* TRUE for a row of a table of layers that layers of kind @k have. */
static gboolean
layer_has(const RaModel *model, const Row *row, const RaLayerKind *k)
{
  gboolean moe = k->ffn == RA_FFN_EXPERTS;
  gboolean latent = k->mixer == RA_MIXER_LATENT;
  gboolean attention = k->mixer == RA_MIXER_ATTENTION;
  gboolean both = k->mixer != RA_MIXER_NONE && k->ffn != RA_FFN_NONE;

  if (row->when >= WHEN_COMPRESSED && row->when <= WHEN_STREAMS)
    return compressed_has(model, row, k);
  switch (row->when) {
  case WHEN_QK_NORM:
    return attention && model->qk_norm != RA_QK_NORM_NONE;
  case WHEN_DENSE:
    return k->ffn == RA_FFN_DENSE;
  case WHEN_MOE:
  case WHEN_EXPERT:
    return moe;
  case WHEN_TWO_NORMS:
    return both && model->n_norms != 1;
  case WHEN_FOUR_NORMS:
    return both && model->n_norms >= 4;
  case WHEN_SEVEN_NORMS:
    return moe && model->n_norms == 7;
  case WHEN_VALUES:
    return attention && !k->one_matrix;
  case WHEN_GATE:
    return attention && model->attention_gate == 1;
  case WHEN_GATE_IN_Q:
    return attention && model->attention_gate == 1 && model->n_key_heads > 0;
  case WHEN_HEAD_GATE:
    return attention && model->attention_gate == 2;
  case WHEN_SINKS:
    return attention && model->sinks;
  case WHEN_SHARED:
    return moe && model->shared_ffn > 0;
  case WHEN_SHARED_GATE:
    return moe && model->shared_gate;
  case WHEN_LATENT_EXPERTS:
    return moe && model->expert_hidden > 0;
  case WHEN_LATENT:
    return latent;
  case WHEN_LATENT_Q:
    return latent && model->q_rank > 0;
  case WHEN_WHOLE_Q:
    return latent && model->q_rank == 0;
  case WHEN_INDEXER:
  case WHEN_BLOCKS:
    return compressed_has(model, row, k);
  case WHEN_DELTA:
    return k->mixer == RA_MIXER_DELTA;
  case WHEN_KIMI:
    return k->mixer == RA_MIXER_KIMI;
  case WHEN_MAMBA:
    return k->mixer == RA_MIXER_MAMBA;
  case WHEN_TAP_BIAS:
    return k->mixer == RA_MIXER_MAMBA && model->conv_bias;
  case WHEN_CONV:
    return k->mixer == RA_MIXER_CONV;
  default:
    return attention || (row->kind != RA_TENSOR_Q && row->kind != RA_TENSOR_K &&
                         row->kind != RA_TENSOR_V && row->kind != RA_TENSOR_O);
  }
}

/* @k: NULL outside layers. */
static gboolean
is_there(const RaModel *model, const Row *row, const RaLayerKind *k)
{
  if (row->bias && !has_bias(model, row))
    return FALSE;
  if (row->kind == RA_TENSOR_GATE && model->mlp != RA_MLP_GATED)
    return FALSE;
  if (k)
    return layer_has(model, row, k);
  switch (row->when) {
  case WHEN_LEARNED:
    return model->position == RA_POSITION_LEARNED;
  case WHEN_EMBEDDING_NORM:
    return model->embedding_norm;
  case WHEN_LM_HEAD:
    return model->head == RA_HEAD_LM && (row->bias || !model->tied_embeddings);
  case WHEN_VALUE_HEAD:
    return model->head == RA_HEAD_VALUE;
  case WHEN_STREAMS:
    return model->n_streams > 0;
  default:
    return TRUE;
  }
}

/* Times that a row is there: neighbours with the same number, more than one,
 * follow each other number by number. */
static guint32
row_times(const RaModel *model, const Row *row)
{
  switch (row->when) {
  case WHEN_EXPERT:
    return model->n_experts;
  case WHEN_VISION_LAYER:
    return model->vision.n_layers;
  case WHEN_VISION_DEEP:
    return model->vision.n_deep;
  default:
    return 1;
  }
}

/* TRUE for rows whose name has a number. */
static gboolean
is_numbered(const Row *row)
{
  return row->when == WHEN_EXPERT || row->when == WHEN_VISION_LAYER ||
         row->when == WHEN_VISION_DEEP;
}

/* Matrices of which a row is one: a gate's outputs are q's. */
static RaTensorKind
matrix_of(const Row *row)
{
  return row->when == WHEN_GATE ? RA_TENSOR_Q : row->kind;
}

/* TRUE for a part of a fused matrix whose A stands behind an earlier part:
 * `q_proj[gate]`, and of a gated delta net `in_proj_qkvz[k]` and so on, where
 * the checkpoint fuses them (graph/input/lora.h). */
static gboolean
shares_a(const RaModel *model, const Row *row)
{
  const char *part = strchr(row->name, '[');

  if (!part || (row->when != WHEN_GATE && row->kind != RA_TENSOR_LINEAR_IN))
    return FALSE;
  switch (part[1]) {
  case 'g':
  case 'k':
  case 'v':
    return TRUE;
  case 'z':
  case 'a':
    return ra_lora_fuses_gates(model);
  default:
    return FALSE;
  }
}

/* Tensors of a row that is there: a matrix with adapters has two behind it, a
 * part of one B alone. */
static guint32
row_n_tensors(const RaModel *model, const Row *row)
{
  guint32 n_adapters = 0;

  if (!row->bias && !is_numbered(row) && row->kind != RA_TENSOR_NORM &&
      ra_lora_has(model, matrix_of(row)))
    n_adapters = shares_a(model, row) ? 1 : 2;
  if (model->lora_only)
    return n_adapters;
  return row_times(model, row) + n_adapters;
}

/* Tensors that a table stands for in a layer of kind @k, or outside layers. */
static guint32
count_rows(const RaModel *model, const Row *rows, const RaLayerKind *k)
{
  guint32 n = 0;
  for (const Row *row = rows; row->name; row++)
    if (is_there(model, row, k))
      n += row_n_tensors(model, row);
  return n;
}

#define MAX_GROUP 24 /* rows that a number has in a table */

/* The row of tensor @index of a table; sets of @t its expert or -1, and which
 * adapter it is; @out_number: expert or layer that its name has. */
static const Row *
find_row(const RaModel *model, const Row *rows, const RaLayerKind *k,
         guint32 index, RaTensor *t, gint32 *out_number)
{
  t->expert = RA_TENSOR_NO_EXPERT;
  *out_number = -1;
  for (const Row *row = rows; row->name;) {
    if (!is_there(model, row, k)) {
      row++;
    } else if (!is_numbered(row) || model->lora_only) {
      guint32 n = row_n_tensors(model, row);

      if (index < n) {
        index += model->lora_only ? 1 : 0;
        t->lora =
            index == 1 && shares_a(model, row) ? RA_LORA_B : (RaLoraPart)index;
        return row;
      }
      index -= n;
      row++;
    } else { /* the checkpoint goes number by number, not row by row */
      const Row *group[MAX_GROUP], *first = row;
      guint32 n = 0, times = row_times(model, row);
      for (; row->name && row->when == first->when; row++)
        if (is_there(model, row, k))
          group[n++] = row;
      if (index < n * times) {
        *out_number = (gint32)(index / n);
        if (first->when == WHEN_EXPERT)
          t->expert = *out_number;
        return group[index % n];
      }
      index -= n * times;
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

static guint64
dim_of(const RaModel *model, guint32 kind, guint8 dim)
{
  guint64 heads = ra_model_kind_heads(model, kind);
  guint64 qk = (guint64)model->nope_dim + model->rope_dim;
  guint64 kv = (guint64)model->nope_dim + model->value_dim;
  guint64 keys = (guint64)model->n_key_heads * model->key_dim;
  guint64 states = (guint64)model->n_value_heads * model->state_dim;
  guint32 head_dim = ra_model_kind_head_dim(model, kind);
  guint64 overlap = ra_model_kind_overlap(model, kind);
  guint64 streams = model->n_streams;
  const RaVision *v = &model->vision;
  const guint64 dims[] = {
      [ONE] = 1,
      [HIDDEN] = model->hidden,
      [EXPERTS] = model->n_experts,
      [HEAD_DIM] = head_dim,
      [HEADS] = heads,
      [Q_WIDTH] = heads * head_dim,
      [K_WIDTH] = (guint64)ra_model_kind_kv_heads(model, kind) * head_dim,
      [Q_RANK] = model->q_rank,
      [KV_RANK] = model->kv_rank,
      [KV_DOWN] = (guint64)model->kv_rank + model->rope_dim,
      [QK_DIM] = qk,
      [QK_ALL] = heads * qk,
      [KV_DIM] = kv,
      [KV_ALL] = heads * kv,
      [VALUE_DIM] = model->value_dim,
      [VALUE_ALL] = heads * model->value_dim,
      [INDEX_DIM] = model->index_dim,
      [INDEX_HEADS] = model->index_heads,
      [INDEX_ALL] = (guint64)model->index_heads * model->index_dim,
      [COMPRESS] = model->kinds[kind].compress,
      [ENTRY] = overlap * head_dim,
      [INDEX_ENTRY] = overlap * model->index_dim,
      [GROUP_WIDTH] = heads * head_dim / MAX(model->o_groups, 1),
      [O_RANK] = model->o_rank,
      [O_ALL] = (guint64)model->o_groups * model->o_rank,
      [STREAMS] = streams,
      [STREAM_WIDTH] = streams * model->hidden,
      [STREAM_MIXES] = streams * (streams + 2),
      [STREAM_SCALES] = 3,
      [KEY_DIM] = model->key_dim,
      [KEYS] = keys,
      [STATE_DIM] = model->state_dim,
      [STATES] = states,
      [VALUE_HEADS] = model->n_value_heads,
      [CONV] = 2 * keys + states,
      [TAPS] = model->conv_taps,
      [SCAN_IN] = 2 * (keys + states) + model->n_value_heads,
      [HIDDEN_3] = 3 * (guint64)model->hidden,
      [SHARED] = model->shared_ffn,
      [EXPERT_HIDDEN] = model->expert_hidden,
      [VISION_HIDDEN] = v->hidden,
      [VISION_HEAD] = v->n_heads > 0 ? v->hidden / v->n_heads : 0,
      [VISION_FFN] = v->ffn,
      [VISION_WIDE] = (guint64)v->merge * v->merge * v->hidden,
      [VISION_PATCH] = v->patch_elements,
      [VISION_POSITIONS] = v->positions,
  };
  return dims[dim];
}

/* The shape of a row that states it. */
static void
set_size(const RaModel *model, guint32 kind, const Row *row, RaTensor *t)
{
  Size size = row->size;

  if (row->when == WHEN_QK_NORM && model->qk_norm != RA_QK_NORM_WIDE)
    size = SIZE_HEAD;
  set_dims(t, dim_of(model, kind, sizes[size].rows),
           dim_of(model, kind, sizes[size].cols),
           (RaTensorSplit)sizes[size].split,
           (guint32)dim_of(model, kind, sizes[size].grain));
}

static void
set_shape(const RaModel *model, guint32 kind, const Row *row, RaTensor *t)
{
  guint64 hidden = model->hidden;
  guint32 dim = ra_model_kind_head_dim(model, kind);
  guint64 q = (guint64)ra_model_kind_heads(model, kind) * dim;
  guint64 kv = (guint64)ra_model_kind_kv_heads(model, kind) * dim;
  gboolean expert = row->when == WHEN_EXPERT;
  guint64 ffn = expert ? model->expert_ffn : model->ffn;
  guint64 wide = expert && model->expert_hidden ? model->expert_hidden : hidden;
  gboolean value = model->head == RA_HEAD_VALUE;

  if (row->size != SIZE_KIND) {
    set_size(model, kind, row, t);
    return;
  }
  switch (row->kind) {
  case RA_TENSOR_EMBEDDING:
    set_dims(t, model->vocab, hidden, RA_SPLIT_VOCAB, 1);
    break;
  case RA_TENSOR_POSITION:
    set_dims(t, model->max_positions, hidden, RA_SPLIT_NONE, 1);
    break;
  case RA_TENSOR_Q:
    set_dims(t, q, hidden, RA_SPLIT_COLUMN, dim);
    break;
  case RA_TENSOR_K:
  case RA_TENSOR_V:
    set_dims(t, kv, hidden, RA_SPLIT_COLUMN, dim);
    break;
  case RA_TENSOR_O:
    set_dims(t, hidden, q, RA_SPLIT_ROW, dim);
    break;
  case RA_TENSOR_ROUTER:
    set_dims(t, model->n_experts, hidden, RA_SPLIT_NONE, 1);
    break;
  case RA_TENSOR_GATE:
  case RA_TENSOR_UP:
    set_dims(t, ffn, wide, RA_SPLIT_COLUMN, 1);
    break;
  case RA_TENSOR_DOWN:
    /* Every tensor of an expert is cut (graph/augment/realloc_cut.c). */
    set_dims(t, wide, ffn, t->bias && expert ? RA_SPLIT_COLUMN : RA_SPLIT_ROW,
             1);
    break;
  case RA_TENSOR_HEAD:
    set_dims(t, value ? 1 : model->vocab, hidden,
             value ? RA_SPLIT_NONE : RA_SPLIT_VOCAB, 1);
    break;
  case RA_TENSOR_NORM:
  case RA_TENSOR_MIXER:
  case RA_TENSOR_LINEAR_IN:
  case RA_TENSOR_LINEAR_OUT:
  case RA_TENSOR_VISION:
    set_dims(t, hidden, 1, RA_SPLIT_NONE, 1);
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

/* Not by printf(): every reallocation asks for the names of all tensors.
 * @number: expert or layer of a name with one. */
static void
set_name(const Naming *naming, const Row *row, gint32 number, RaTensor *t)
{
  static const char adapters[] = "lora_A.lora_B.";
  const char *rest = row->name, *end;
  gsize at = 0;

  if (t->layer >= 0) {
    add_text(t, &at, naming->layer_prefix, strlen(naming->layer_prefix));
    add_number(t, &at, t->layer);
    add_text(t, &at, ".", 1);
  }
  if (number >= 0) {
    end = strchr(rest, '*');
    add_text(t, &at, rest, (gsize)(end - rest));
    add_number(t, &at, number);
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

/* Tensors of a layer of each kind. */
static void
count_layers(const RaModel *model, const Naming *naming, guint32 *out_n)
{
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++)
    out_n[k] = count_rows(model, naming->layer, &model->kinds[k]);
}

guint32
ra_model_n_tensors(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  const Naming *naming = ra_model_naming(model);
  guint32 n_in[RA_MODEL_MAX_KINDS], n_of[RA_MODEL_MAX_KINDS];
  guint32 n = count_rows(model, ra_model_vision_rows(model), NULL) +
              count_rows(model, naming->before, NULL) +
              count_rows(model, naming->after, NULL);

  count_layers(model, naming, n_in);
  ra_model_count_kinds(model, 0, model->n_layers, n_of);
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++)
    n += n_of[k] * n_in[k];
  return n;
}

/* The table that tensor *@index falls into; *@index becomes its place there
 * and *@layer its layer or -1. */
static const Row *
find_table(const RaModel *model, const Naming *naming, guint32 *index,
           gint32 *layer)
{
  guint32 n_in[RA_MODEL_MAX_KINDS];
  const Row *const before[] = {ra_model_vision_rows(model), naming->before};
  guint32 n;

  *layer = RA_TENSOR_NO_LAYER;
  for (guint i = 0; i < G_N_ELEMENTS(before); i++) {
    n = count_rows(model, before[i], NULL);
    if (*index < n)
      return before[i];
    *index -= n;
  }
  count_layers(model, naming, n_in);
  for (guint32 i = 0; i < model->n_layers; i++) {
    n = n_in[ra_model_layer_kind(model, i)];
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
  const Naming *naming = ra_model_naming(model);
  *out = (RaTensor){.name = ""};
  const Row *rows = find_table(model, naming, &index, &out->layer);
  guint32 kind =
      out->layer >= 0 ? ra_model_layer_kind(model, (guint32)out->layer) : 0;
  gint32 number;
  const Row *row =
      find_row(model, rows, out->layer >= 0 ? &model->kinds[kind] : NULL, index,
               out, &number);
  out->kind = row->kind;
  out->bias = row->bias;
  set_shape(model, kind, row, out);
  set_adapter(model, out);
  out->transposed = naming->transposed && out->layer >= 0 && !row->bias &&
                    row->kind != RA_TENSOR_NORM && out->lora == RA_LORA_NONE;
  set_name(naming, row, number, out);
}

/* ---- counts ---------------------------------------------------------- */

static RaParts
part_of(const Row *row)
{
  if (row->when == WHEN_EXPERT)
    return RA_PART_EXPERTS;
  if (row->kind == RA_TENSOR_NORM && row->size == SIZE_KIND)
    return RA_PART_NORMS;
  return row->kind == RA_TENSOR_GATE || row->kind == RA_TENSOR_UP ||
                 row->kind == RA_TENSOR_DOWN || row->kind == RA_TENSOR_ROUTER
             ? RA_PART_FFN
             : RA_PART_MIXER;
}

/* Elements of @t on the rank of @tp that has most. */
static guint64
rank_elements(const RaTensor *t, guint64 tp)
{
  guint64 size = t->split == RA_SPLIT_ROW ? t->cols : t->rows;
  guint64 cut = (size / t->grain + tp - 1) / tp * t->grain;

  if (t->split == RA_SPLIT_NONE)
    return t->rows * t->cols;
  return t->split == RA_SPLIT_ROW ? t->rows * cut : cut * t->cols;
}

guint64
ra_model_kind_n_params(const RaModel *model, guint32 kind, guint parts,
                       guint32 tp)
{
  guint64 n = 0;

  g_return_val_if_fail(kind < RA_MODEL_MAX_KINDS && tp > 0, 0);
  for (const Row *row = ra_model_naming(model)->layer; row->name; row++) {
    guint64 times = row->when == WHEN_EXPERT ? model->n_experts : 1;
    RaTensor t;

    if (!(parts & part_of(row)) || !is_there(model, row, &model->kinds[kind]))
      continue;
    t.bias = row->bias;
    set_shape(model, kind, row, &t);
    n += times * rank_elements(&t, tp);
  }
  return n;
}

guint64
ra_model_vision_n_params(const RaModel *model, guint32 tp)
{
  guint64 n = 0;

  g_return_val_if_fail(model && tp > 0, 0);
  for (const Row *row = ra_model_vision_rows(model); row->name; row++) {
    RaTensor t = {.bias = FALSE};

    set_shape(model, 0, row, &t);
    n += row_times(model, row) * rank_elements(&t, tp);
  }
  return n;
}

guint64
ra_model_kind_n_weights(const RaModel *model, guint32 kind)
{
  guint64 n = 0;

  for (const Row *row = ra_model_naming(model)->layer; row->name; row++) {
    guint64 times = row->when == WHEN_EXPERT ? model->experts_per_token : 1;
    RaTensor t;

    if (row->bias || row->kind == RA_TENSOR_NORM ||
        !is_there(model, row, &model->kinds[kind]))
      continue;
    t.bias = FALSE;
    set_shape(model, kind, row, &t);
    n += t.cols > 1 ? times * t.rows * t.cols : 0;
  }
  return n;
}
