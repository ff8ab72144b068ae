/* Rows of whole blocks of latent attention, sparse or not, as the ops that they
 * are lowered to. */
#include "config.h"

#include <string.h>

#include "traces/measured_impl.h"

#define V4(name_, width, rank, chosen)                                         \
  {                                                                            \
    name_,                                                                     \
    {                                                                          \
      .hidden = (width), .q_rank = (rank), .head_dim = 512, .rope_dim = 64,    \
      .o_rank = 1024, .index_heads = 64, .index_dim = 128,                     \
      .index_top_k = (chosen)                                                  \
    }                                                                          \
  }

/* Models of the rows: config.json of each, as published. */
static const struct {
  const char *name;
  RaModel model;
} models[] = {
    {"deepseek-ai/DeepSeek-V3.2",
     {.hidden = 7168,
      .q_rank = 1536,
      .kv_rank = 512,
      .nope_dim = 128,
      .rope_dim = 64,
      .value_dim = 128,
      .index_heads = 64,
      .index_dim = 128,
      .index_top_k = 2048}},
    {"zai-org/GLM-5",
     {.hidden = 6144,
      .q_rank = 2048,
      .kv_rank = 512,
      .nope_dim = 192,
      .rope_dim = 64,
      .value_dim = 256,
      .index_heads = 32,
      .index_dim = 128,
      .index_top_k = 2048}},
    {"deepseek-ai/DeepSeek-V3",
     {.hidden = 7168,
      .q_rank = 1536,
      .kv_rank = 512,
      .nope_dim = 128,
      .rope_dim = 64,
      .value_dim = 128}},
    {"MiniMaxAI/MiniMax-M3",
     {.hidden = 6144,
      .head_dim = 128,
      .qk_norm = RA_QK_NORM_HEAD,
      .index_dim = 128,
      .index_block = 128,
      .index_top_k = 2048}},
    V4("sgl-project/DeepSeek-V4-Flash-FP8", 4096, 1024, 512),
    V4("sgl-project/DeepSeek-V4-Pro-FP8", 7168, 1536, 1024),
    V4("deepseek-ai/DeepSeek-V4-Pro", 7168, 1536, 1024),
};

#define GROUP_HEADS 8 /* of the outputs of both models of V4 */
#define M3_HEADS 16   /* that share a head of keys and one of the indexer */

/* TRUE if @op is of the layer around the block: the norm before it and the sum
 * after it. */
static gboolean
is_around(const RaModel *model, const RaOp *op)
{
  return op->kind == RA_OP_ADD ||
         (op->kind == RA_OP_NORM && op->dim[1] == model->hidden);
}

/* The layer of @block that was measured, with the sizes of @model that depend
 * on it. */
static RaLayerKind
kind_of(const RaMeasuredBlock *block, RaModel *model)
{
  model->n_layers = model->n_kinds = 1;
  model->n_heads = model->n_kv_heads = block->heads;
  model->position = RA_POSITION_ROTARY;
  if (model->kv_rank > 0) {
    model->head_dim = model->nope_dim + model->rope_dim;
    return (RaLayerKind){.mixer = RA_MIXER_LATENT,
                         .ffn = RA_FFN_NONE,
                         .indexer = model->index_top_k > 0};
  }
  if (model->index_block > 0) {
    model->n_kv_heads = model->index_heads = MAX(block->heads / M3_HEADS, 1);
    return (RaLayerKind){
        .mixer = RA_MIXER_ATTENTION, .ffn = RA_FFN_NONE, .indexer = 1};
  }
  model->n_kv_heads = 1;
  model->o_groups = MAX(block->heads / GROUP_HEADS, 1);
  return (RaLayerKind){.mixer = RA_MIXER_COMPRESSED,
                       .ffn = RA_FFN_NONE,
                       .indexer = block->compress == 4,
                       .window = 128,
                       .compress = block->compress};
}

guint
ra_measured_block(const RaMeasured *row, RaOp *out_ops)
{
  const RaMeasuredBlock *b = &row->block;
  RaModel model = models[b->model - 1].model;
  RaShard shard = {.model = &model,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 1,
                   .dtype = b->gemm_dtype,
                   .kv_dtype = (uint8_t)(1 + b->kv_dtype),
                   .by_block = b->gemm_dtype == RA_DTYPE_FP8,
                   .sampling = 1,
                   .second_stream = model.kv_rank > 0}; /* TensorRT-LLM */
  RaPiece piece = {.n_layers = 1};
  guint n, kept = 0;

  model.kinds[0] = kind_of(b, &model);
  n = ra_op_list(&shard, &piece,
                 b->is_step ? RA_PHASE_DECODE : RA_PHASE_FORWARD, &b->batch,
                 out_ops);
  for (guint i = 0; i < n; i++)
    if (!is_around(&model, &out_ops[i]))
      out_ops[kept++] = out_ops[i];
  return kept;
}

static const char *const columns[] = {"batch",      "kv_len", "heads",
                                      "latency_us", "model",  "kv_dtype",
                                      "gemm_dtype", NULL};
static const char *const prefill_columns[] = {
    "batch",    "prefix",     "heads", "latency_us", "model",
    "kv_dtype", "gemm_dtype", "seq_q", NULL};

/* The batch of @n sequences of @prefix cached tokens and @q new ones each. */
static RaBatch
batch_of(uint64_t n, uint64_t prefix, uint64_t q)
{
  return (RaBatch){.n_sequences = (uint32_t)n,
                   .q_tokens = n * q,
                   .kv_tokens = n * (prefix + q),
                   .pairs = n * (q * prefix + q * (q + 1) / 2)};
}

/* Tokens of an entry in the rows of @source; 0: they have none. */
static uint16_t
compress_of(const char *source)
{
  return g_str_has_prefix(source, "entry-indexer") ? 4
         : g_str_has_prefix(source, "compressed")  ? 128
                                                   : 0;
}

/* The op of a block that the law of @source is of. */
static RaOpKind
own_op(const char *source)
{
  static const struct {
    const char *start;
    RaOpKind kind;
  } ops[] = {{"compressed", RA_OP_COMPRESSED},
             {"entry-indexer", RA_OP_INDEXER},
             {"indexer-step", RA_OP_INDEXER},
             {"latent-block-step", RA_OP_LATENT_DECODE},
             {"latent-block", RA_OP_LATENT},
             {"block-sparse-step", RA_OP_DECODE_ATTENTION},
             {"block-sparse", RA_OP_ATTENTION}};

  for (guint i = 0; i < G_N_ELEMENTS(ops); i++)
    if (g_str_has_prefix(source, ops[i].start))
      return ops[i].kind;
  return RA_OP_LATENT_DECODE;
}

/* The block's time, at the op that the law is of: prompts' attention, a decode
 * step's indexer, attention of both to entries or blocks. */
static gboolean
read_block(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  gboolean step = g_str_has_suffix(r->source, "step");
  RaMeasured row = {
      .block = {.is_step = step, .compress = compress_of(r->source)}};
  RaOpKind own = own_op(r->source);
  RaOp ops[RA_OP_LIST_MAX];
  double v[4], q[1] = {1};
  guint n;

  if (!ra_csv_numbers(line, 0, 4, v, error) ||
      (!step && !ra_csv_numbers(line, 7, 1, q, error)))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(models); i++)
    if (strcmp(line->field[4], models[i].name) == 0)
      row.block.model = (guint8)(i + 1);
  if (strcmp(line->field[6], "fp8block") == 0)
    row.block.gemm_dtype = RA_DTYPE_FP8;
  else if (strcmp(line->field[6], "bf16") != 0)
    return TRUE; /* GEMMs that are not lowered */
  if (strcmp(line->field[5], "fp8") == 0)
    row.block.kv_dtype = RA_DTYPE_FP8;
  if (row.block.model == 0 || v[0] < 1 || v[2] < 1 || v[3] <= 0 ||
      (step ? v[1] < 1 : q[0] < (own == RA_OP_LATENT ? 1 : 2)))
    return TRUE; /* not published; or a sparse prompt of a token, a step */
  row.block.heads = (guint32)MIN(v[2], UINT32_MAX);
  row.block.batch =
      batch_of(ra_measured_whole(v[0]),
               step ? ra_measured_whole(v[1]) - 1 : ra_measured_whole(v[1]),
               ra_measured_whole(q[0]));
  n = ra_measured_block(&row, ops);
  for (guint i = 0; i < n; i++)
    if (ops[i].kind == own && ops[i].dim[2] > 0) {
      guint at = r->rows->len;

      ra_measured_add(r, ops[i], v[3], row.block.model * 1000 + row.block.heads,
                      0);
      g_array_index(r->rows, RaMeasured, at).block = row.block;
    }
  return TRUE;
}

gboolean
ra_measured_sparse(RaMeasuredReader *r, const char *const *data, GError **error)
{
  const char *folder, *start, *unused;
  g_autofree char *prefix = NULL;

  /* The RTX PRO 6000's rows of V4 are of a reference kernel. */
  if (compress_of(r->source) > 0 && g_str_equal(r->gpu, "rtxpro6000"))
    return TRUE;
  ra_measured_place(r->source, &folder, &start, &unused);
  prefix = g_strdup_printf("%s%s_bf16", start, r->gpu);
  return ra_measured_files(
      data, folder, prefix, r,
      g_str_has_suffix(r->source, "step") ? columns : prefill_columns,
      read_block, error);
}
