/* Ops of latent attention, of indexers and of linear mixers. */
#include "config.h"

#include "graph/input/lora.h"
#include "graph/input/plan.h"
#include "graph/op/op_mixer.h"

/* Chunk of a scan where a model states none: flash-linear-attention's. */
#define SCAN_CHUNK 64

static uint64_t
ceil_div(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

static gboolean
is_back(const RaOpBuilder *b)
{
  return b->phase == RA_PHASE_BACKWARD;
}

/* A step of a mixer: what is done to the tokens, in order of the forward. */
typedef enum {
  LINEAR,  /* n outputs, k inputs, batch of heads */
  BY_HEAD, /* n outputs, k inputs, heads: a batch in 16 bits */
  NORM,    /* n rows a token, k elements */
  ROPE,    /* n heads, k elements */
  CONV,    /* n channels, k taps */
  GATE,    /* n elements */
  SWAP,    /* n elements: cp ranks exchange tokens for heads */
  PAIRS,   /* attention, of make_pairs() */
  MATRIX,  /* LINEAR that stays in 16 bits */
  POOL,    /* n elements, each with a score: entries of compressed attention */
  SCAN     /* of add_scan() */
} StepKind;

typedef struct {
  StepKind kind;
  uint64_t n, k, batch;
} Step;

#define MAX_STEPS 16

typedef struct {
  Step steps[MAX_STEPS];
  guint n;
} Steps;

static void
add(Steps *s, StepKind kind, uint64_t n, uint64_t k, uint64_t batch)
{
  g_assert(s->n < MAX_STEPS);
  s->steps[s->n++] = (Step){kind, n, k, batch};
}

static uint16_t
pairs_flags(const RaOpBuilder *b, RaOpKind kind, uint32_t window)
{
  if (kind == RA_OP_LATENT_DECODE && b->model->index_top_k > 0)
    return RA_OP_SPARSE;
  return kind == RA_OP_DECODE_ATTENTION && window > 0 ? RA_OP_WINDOW : 0;
}

static RaOp
pairs_op(const RaOpBuilder *b, RaOpKind kind, const RaBatch *batch,
         uint32_t window, const uint64_t *dims)
{
  gboolean cached = kind == RA_OP_DECODE_ATTENTION ||
                    kind == RA_OP_LATENT_DECODE ||
                    (kind == RA_OP_COMPRESSED && !b->shard->loss);
  /* Engines give prompts' kernels the keys and values that they cache. */
  gboolean narrow = b->shard->sampling &&
                    (kind == RA_OP_ATTENTION || kind == RA_OP_LATENT) &&
                    ra_shard_kv_dtype(b->shard) == RA_DTYPE_FP8;
  RaOp op = {.kind = (uint8_t)kind,
             .dtype = cached || narrow ? ra_shard_kv_dtype(b->shard)
                                       : ra_op_dtype(kind, b->shard->dtype),
             .flags = pairs_flags(b, kind, window),
             .count = b->count,
             .dim = {batch->n_sequences, batch->q_tokens,
                     ra_op_kv_tokens(batch, window),
                     ra_op_pairs(batch, window)}};

  if (batch == b->steps || b->phase == RA_PHASE_DECODE) {
    op.dim[1] *= ra_shard_positions(b->shard);
    op.dim[3] *= ra_shard_positions(b->shard);
  }
  for (guint i = 4; i < RA_OP_DIMS; i++)
    op.dim[i] = dims[i - 4];
  return op;
}

/* Makes @op, of all pairs of @batch, one of a kind with compressed entries: an
 * indexer scores them, attention sees those that it has chosen, or all, and the
 * window. */
static void
compress(const RaOpBuilder *b, const RaBatch *batch, RaOp *op)
{
  const RaLayerKind *k = &b->model->kinds[b->kind];
  gboolean scores = op->kind == RA_OP_INDEXER;
  uint32_t top_k = k->indexer && !scores ? b->model->index_top_k : 0;

  op->dim[2] = scores ? 0 : ra_op_kv_tokens(batch, k->window);
  op->dim[3] = scores ? 0 : ra_op_pairs(batch, k->window);
  op->flags = k->indexer ? RA_OP_SPARSE : 0;
  if (k->compress == 0)
    return;
  op->dim[2] += batch->kv_tokens == batch->pairs && top_k > 0
                    ? MIN(batch->kv_tokens / k->compress,
                          (uint64_t)batch->n_sequences * top_k)
                    : batch->kv_tokens / k->compress;
  op->dim[3] += ra_op_entry_pairs(batch, k->compress, top_k);
}

static RaOp
mixer_op(const RaOpBuilder *b, RaOpKind kind, const RaBatch *batch,
         uint32_t window, const uint64_t *dims)
{
  RaOp op = pairs_op(b, kind, batch, window, dims);

  if (b->model->kinds[b->kind].mixer == RA_MIXER_COMPRESSED)
    compress(b, batch, &op);
  return op;
}

void
ra_op_add_pairs(RaOpBuilder *b, RaOpKind kind, RaOpKind decode_kind,
                const uint64_t *dims, const uint64_t *decode_dims)
{
  gboolean decode = b->phase == RA_PHASE_DECODE;
  uint32_t window = decode_kind == RA_OP_INDEXER
                        ? 0
                        : ra_model_kind_window(b->model, b->kind);

  g_assert(b->n_ops < RA_OP_LIST_MAX);
  b->ops[b->n_ops++] = mixer_op(b, decode ? decode_kind : kind, b->mix, window,
                                decode ? decode_dims : dims);
  if (b->steps && b->steps->n_sequences > 0) {
    g_assert(b->n_late < RA_OP_LATE_MAX);
    b->late[b->n_late++] =
        mixer_op(b, decode_kind, b->steps, window, decode_dims);
  }
}

void
ra_op_add_exchange(RaOpBuilder *b, uint64_t width)
{
  uint32_t rings = b->shard->cp_rings_per_node;

  if (b->cp > 1)
    ra_op_add(
        b, RA_OP_SEND,
        ceil_div(b->tokens * width * b->element_bytes * (b->cp - 1), b->cp),
        rings > 0, MAX(rings, 1u), 0);
}

/* TRUE if attention reads the latent cache itself, by absorbed matrices: in
 * decode steps, and where each query has keys of its own, which would have to
 * be made for each; without gradients. */
static gboolean
is_absorbed(const RaOpBuilder *b)
{
  return b->phase == RA_PHASE_DECODE ||
         (b->phase == RA_PHASE_FORWARD && b->model->index_top_k > 0 &&
          !b->shard->loss);
}

/* Attention of the heads, whole or on the latent cache. */
static void
add_latent_pairs(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  uint64_t heads = ceil_div(b->q_heads, b->cp);
  const uint64_t dims[] = {heads, (uint64_t)m->nope_dim + m->rope_dim,
                           m->value_dim};
  const uint64_t chosen[] = {heads, m->kv_rank, m->rope_dim};
  const uint64_t latent[] = {b->q_heads, m->kv_rank, m->rope_dim};

  if (is_absorbed(b))
    ra_op_add_pairs(b, RA_OP_LATENT_DECODE, RA_OP_LATENT_DECODE, chosen,
                    latent);
  else
    ra_op_add_pairs(b, is_back(b) ? RA_OP_LATENT_BACKWARD : RA_OP_LATENT,
                    RA_OP_LATENT_DECODE, dims, latent);
}

/* The choice of keys, which has no gradient; every tp rank makes all of it, cp
 * ranks a part each, counted in heads.  The keys of compressed entries and the
 * weights of their heads come from the compressor's products. */
static void
add_indexer(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  const uint64_t dims[] = {ceil_div(m->index_heads, b->cp), m->index_dim,
                           m->index_top_k};
  gboolean entries = m->kinds[b->kind].mixer == RA_MIXER_COMPRESSED;
  uint64_t heads = m->index_heads;

  if (!m->kinds[b->kind].indexer || is_back(b))
    return;
  ra_op_add(b, RA_OP_GEMM, b->tokens, heads * m->index_dim, m->q_rank, 1);
  if (entries) {
    ra_op_add(b, RA_OP_ROPE, b->tokens, heads, m->index_dim, 0);
  } else {
    ra_op_add(b, RA_OP_GEMM, b->tokens, m->index_dim + heads, m->hidden, 1);
    ra_op_add(b, RA_OP_NORM, b->tokens, m->index_dim, 0, 0);
    ra_op_add(b, RA_OP_ROPE, b->tokens, heads + 1, m->rope_dim, 0);
  }
  ra_op_add_pairs(b, RA_OP_INDEXER, RA_OP_INDEXER, dims, dims);
}

/* TRUE if the builder's layers choose blocks of keys. */
static gboolean
chooses_blocks(const RaOpBuilder *b)
{
  const RaLayerKind *k = &b->model->kinds[b->kind];

  return k->indexer && k->mixer == RA_MIXER_ATTENTION;
}

/* Heads of an indexer of blocks on one tp rank: one a group of query heads. */
static uint64_t
block_heads(const RaOpBuilder *b)
{
  return ceil_div(b->model->index_heads, b->shard->tp);
}

uint64_t
ra_op_index_width(const RaOpBuilder *b)
{
  return chooses_blocks(b) && !is_back(b)
             ? (block_heads(b) + 1) * b->model->index_dim
             : 0;
}

void
ra_op_add_block_indexer(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  const RaBatch *steps = b->steps;
  uint64_t heads = block_heads(b);
  const uint64_t dims[] = {ceil_div(heads, b->cp), m->index_dim,
                           m->index_top_k};

  if (ra_op_index_width(b) == 0 || b->phase == RA_PHASE_DECODE)
    return;

  b->steps = NULL;
  ra_op_add_pairs(b, RA_OP_INDEXER, RA_OP_INDEXER, dims, dims);
  b->steps = steps;
}

void
ra_op_set_blocks(const RaOpBuilder *b, RaOp *op)
{
  if (!chooses_blocks(b) || is_back(b) || b->shard->loss)
    return;
  op->flags = (op->flags | RA_OP_SPARSE) & (uint16_t)~RA_OP_WINDOW;
  if (op->kind == RA_OP_DECODE_ATTENTION)
    op->dim[2] = (b->phase == RA_PHASE_DECODE ? b->mix : b->steps)->kv_tokens;
}

static void
add_compressed_pairs(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  uint64_t ratio = m->kinds[b->kind].compress;
  const uint64_t dims[] = {ceil_div(b->q_heads, b->cp), m->head_dim, ratio};
  const uint64_t step[] = {b->q_heads, m->head_dim, ratio};

  ra_op_add_pairs(b, is_back(b) ? RA_OP_COMPRESSED_BACKWARD : RA_OP_COMPRESSED,
                  RA_OP_COMPRESSED, dims, step);
}

/* Elements that a token gives to compressed entries, and to those of an
 * indexer, each with a score. */
static uint64_t
entry_width(const RaOpBuilder *b)
{
  const RaModel *m = b->model;
  const RaLayerKind *k = &m->kinds[b->kind];

  return k->compress == 0 ? 0
                          : (uint64_t)ra_model_kind_overlap(m, b->kind) *
                                (m->head_dim + (k->indexer ? m->index_dim : 0));
}

/* As vLLM 0.24 runs it (deepseek_v4_attention.py, deepseek_compressor.py): the
 * first matrices of queries and of keys are one product, those of entries,
 * their scores and the indexer's weights another in 16 bits, both latents have
 * one norm, and a kernel norms and rotates heads. */
static void
make_compressed(const RaOpBuilder *b, Steps *s)
{
  const RaModel *m = b->model;
  uint64_t width = b->q_heads * m->head_dim, entry = entry_width(b);
  uint64_t groups = ceil_div(m->o_groups, b->shard->tp);
  uint64_t weights =
      m->kinds[b->kind].indexer && !is_back(b) ? m->index_heads : 0;

  add(s, LINEAR, (uint64_t)m->q_rank + m->head_dim, m->hidden, 1);
  if (entry > 0) {
    add(s, MATRIX, 2 * entry + weights, m->hidden, 1);
    add(s, POOL, entry, 0, 0);
  }
  add(s, NORM, 1, (uint64_t)m->q_rank + m->head_dim, 0);
  add(s, LINEAR, width, m->q_rank, 1);
  add(s, ROPE, b->q_heads + 1, m->head_dim, 0);
  add(s, SWAP, width + m->head_dim * b->cp, 0, 0);
  add(s, PAIRS, 0, 0, 0);
  add(s, SWAP, width, 0, 0);
  add(s, ROPE, b->q_heads, m->head_dim, 0);
  add(s, LINEAR, m->o_rank, ceil_div(width, groups), groups);
  add(s, LINEAR, m->hidden, groups * m->o_rank, 1);
}

static void
make_latent(const RaOpBuilder *b, Steps *s)
{
  const RaModel *m = b->model;
  uint64_t q = b->q_heads * ((uint64_t)m->nope_dim + m->rope_dim);
  uint64_t kv = b->q_heads * ((uint64_t)m->nope_dim + m->value_dim);
  uint64_t down = (uint64_t)m->kv_rank + m->rope_dim;
  gboolean absorbed = is_absorbed(b);

  add(s, LINEAR, down + (m->q_rank ? m->q_rank : q), m->hidden, 1);
  if (m->q_rank > 0) {
    add(s, NORM, 1, m->q_rank, 0);
    if (b->shard->second_stream)
      add(s, NORM, 1, m->kv_rank, 0);
    add(s, LINEAR, q, m->q_rank, 1);
  }
  if (m->q_rank == 0 || !b->shard->second_stream)
    add(s, NORM, 1, m->kv_rank, 0);
  add(s, ROPE, b->q_heads + 1, m->rope_dim, 0);
  if (absorbed)
    add(s, BY_HEAD, m->kv_rank, m->nope_dim, b->q_heads);
  else
    add(s, LINEAR, kv, m->kv_rank, 1);
  add(s, SWAP, 2 * q + b->q_heads * m->value_dim, 0, 0);
  add(s, PAIRS, 0, 0, 0);
  add(s, SWAP, b->q_heads * m->value_dim, 0, 0);
  if (absorbed)
    add(s, BY_HEAD, m->value_dim, m->kv_rank, b->q_heads);
  add(s, LINEAR, m->hidden, b->q_heads * m->value_dim, 1);
}

/* The share of one tp rank: heads are cut; cp ranks exchange what the first
 * matrix makes, and the scan's result. */
static void
make_linear(const RaOpBuilder *b, Steps *s)
{
  const RaModel *m = b->model;
  RaMixer mixer = (RaMixer)m->kinds[b->kind].mixer;
  uint64_t tp = b->shard->tp, heads = ceil_div(m->n_value_heads, tp);
  uint64_t keys = ceil_div(m->n_key_heads, tp) * m->key_dim;
  uint64_t states = heads * m->state_dim;
  uint64_t made =
      2 * keys + 2 * states + (mixer == RA_MIXER_DELTA ? 2 : 1) * heads;

  if (mixer == RA_MIXER_CONV) {
    uint64_t width = ceil_div(m->hidden, tp);

    add(s, LINEAR, 3 * width, m->hidden, 1);
    add(s, GATE, width, 0, 0);
    add(s, SWAP, width, 0, 0);
    add(s, CONV, width, m->conv_taps, 0);
    add(s, SWAP, width, 0, 0);
    add(s, GATE, width, 0, 0);
    add(s, LINEAR, m->hidden, width, 1);
    return;
  }
  if (mixer == RA_MIXER_KIMI) { /* narrow matrices of decay and gate */
    add(s, LINEAR, 2 * keys + states + heads + 2 * (uint64_t)m->state_dim,
        m->hidden, 1);
    add(s, LINEAR, keys, m->state_dim, 1);
    add(s, LINEAR, states, m->state_dim, 1);
  } else {
    add(s, LINEAR, made, m->hidden, 1);
  }
  add(s, SWAP, made, 0, 0);
  add(s, CONV, 2 * keys + states, m->conv_taps, 0);
  add(s, SCAN, 0, 0, 0);
  add(s, SWAP, states, 0, 0);
  add(s, NORM, heads, m->state_dim, 0);
  add(s, GATE, states, 0, 0);
  add(s, LINEAR, m->hidden, states, 1);
}

/* Which mixer's kernels the convolution and the scan of the kind are. */
static uint16_t
mixer_flags(const RaOpBuilder *b)
{
  switch ((RaMixer)b->model->kinds[b->kind].mixer) {
  case RA_MIXER_KIMI:
    return RA_OP_KIMI | RA_OP_DELTA;
  case RA_MIXER_MAMBA:
    return 0;
  default:
    return RA_OP_DELTA;
  }
}

static RaOp
scan_op(const RaOpBuilder *b, RaOpKind kind, const RaBatch *batch)
{
  const RaModel *m = b->model;
  uint64_t parts = (uint64_t)b->shard->tp * b->cp;
  RaOp op = {.kind = (uint8_t)kind,
             .dtype = ra_op_dtype(kind, b->shard->dtype),
             .flags = mixer_flags(b),
             .count = b->count,
             .dim = {batch->n_sequences, batch->q_tokens,
                     ceil_div(m->n_key_heads, parts),
                     ceil_div(m->n_value_heads, parts), m->key_dim,
                     m->state_dim}};

  if (kind == RA_OP_SCAN_STEP)
    op.dim[1] *= ra_shard_positions(b->shard);
  else
    op.dim[6] = m->scan_chunk > 0 ? m->scan_chunk : SCAN_CHUNK;
  return op;
}

static void
add_scan(RaOpBuilder *b)
{
  RaOpKind kind = is_back(b)                    ? RA_OP_SCAN_BACKWARD
                  : b->phase == RA_PHASE_DECODE ? RA_OP_SCAN_STEP
                                                : RA_OP_SCAN;

  g_assert(b->n_ops < RA_OP_LIST_MAX);
  b->ops[b->n_ops++] = scan_op(b, kind, b->mix);
  if (b->steps && b->steps->n_sequences > 0) {
    g_assert(b->n_late < RA_OP_LATE_MAX);
    b->late[b->n_late++] = scan_op(b, RA_OP_SCAN_STEP, b->steps);
  }
}

/* The adapters of the first and the last matrix of a gated delta net; @in: of
 * the first. */
static void
add_linear_adapters(RaOpBuilder *b, gboolean in, uint64_t width)
{
  RaOpMatrices w = {.in = width};

  if (b->model->kinds[b->kind].mixer != RA_MIXER_DELTA)
    return;
  w.kind[0] = RA_TENSOR_LINEAR_OUT;
  w.out[0] = b->model->hidden;
  w.n = 1;
  if (in) {
    w.n = ra_lora_linear_in(b->model, b->shard->tp, w.out);
    for (guint i = 0; i < w.n; i++)
      w.kind[i] = RA_TENSOR_LINEAR_IN;
  }
  ra_op_add_adapters(b, &w);
}

/* The last op overlaps the one before it, if it @may and the engine has a
 * stream for it: the norm of the latent keys that of the queries, and the first
 * GEMM of every head the positions. */
static void
overlap(RaOpBuilder *b, gboolean may)
{
  if (may && b->shard->second_stream && b->model->q_rank > 0)
    b->ops[b->n_ops - 1].flags |= RA_OP_BEHIND;
}

/* Makes the GEMMs from op @first on ones of 16 bits, where a model's are 8. */
static void
stay_wide(RaOpBuilder *b, guint first)
{
  for (guint i = first; i < b->n_ops; i++) {
    b->ops[i].dtype = (uint8_t)ra_activation_dtype((RaDtype)b->shard->dtype);
    b->ops[i].flags &= (uint16_t)~RA_OP_BLOCK;
  }
}

/* The GEMMs with the absorbed matrices, which engines keep in 16 bits, whatever
 * type those that they are made of have: vLLM (mla_attention.py,
 * process_weights_after_loading()), TensorRT-LLM by the times of its blocks. */
static void
add_by_head(RaOpBuilder *b, const Step *s)
{
  guint first = b->n_ops;

  ra_op_add(b, RA_OP_GEMM, b->tokens, s->n, s->k, s->batch);
  stay_wide(b, first);
  overlap(b, b->phase == RA_PHASE_DECODE && s->n == b->model->kv_rank);
}

static void
add_step(RaOpBuilder *b, const Step *s, gboolean first)
{
  gboolean back = is_back(b);
  guint at;

  switch (s->kind) {
  case LINEAR:
    ra_op_add_linear(b, b->tokens, s->n, s->k, s->batch);
    add_linear_adapters(b, first, s->k);
    break;
  case BY_HEAD:
    add_by_head(b, s);
    break;
  case NORM:
    ra_op_add(b, back ? RA_OP_NORM_BACKWARD : RA_OP_NORM, b->tokens * s->n,
              s->k, 0, 0);
    overlap(b, s->k == b->model->kv_rank);
    break;
  case ROPE:
    ra_op_add(b, RA_OP_ROPE, b->tokens, s->n, s->k, 0);
    break;
  case CONV:
    ra_op_add(b, back ? RA_OP_CONV_BACKWARD : RA_OP_CONV, b->tokens, s->n, s->k,
              ceil_div(b->batch->n_sequences, b->cp));
    b->ops[b->n_ops - 1].flags = mixer_flags(b);
    break;
  case POOL:
  case GATE:
    ra_op_add(b, back ? RA_OP_ACTIVATION_BACKWARD : RA_OP_ACTIVATION, b->tokens,
              s->n, 1, 0);
    break;
  case SWAP:
    ra_op_add_exchange(b, s->n);
    break;
  case PAIRS:
    add_indexer(b);
    if (b->model->kinds[b->kind].mixer == RA_MIXER_COMPRESSED)
      add_compressed_pairs(b);
    else
      add_latent_pairs(b);
    break;
  case MATRIX:
    at = b->n_ops;
    ra_op_add_matrix(b, b->tokens, s->n, s->k, s->batch);
    stay_wide(b, at);
    break;
  case SCAN:
    add_scan(b);
    break;
  }
}

void
ra_op_add_streams(RaOpBuilder *b, uint64_t outputs)
{
  uint64_t n = b->model->n_streams, hidden = b->model->hidden;
  uint64_t values = is_back(b) ? 3 * n + (outputs > 0 ? 1 : 2)
                               : (outputs > 0 ? n + 1 : 2 * n + 1);
  guint first = b->n_ops;

  if (outputs > 0)
    ra_op_add_matrix(b, b->sp_tokens, outputs, n * hidden, 1);
  stay_wide(b, first);
  ra_op_add(b, RA_OP_ADD, b->sp_tokens, ceil_div(values * hidden, 3), 0, 0);
}

void
ra_op_add_mixer(RaOpBuilder *b)
{
  Steps s = {.n = 0};

  if (b->model->kinds[b->kind].mixer == RA_MIXER_COMPRESSED)
    make_compressed(b, &s);
  else if (b->model->kinds[b->kind].mixer == RA_MIXER_LATENT)
    make_latent(b, &s);
  else
    make_linear(b, &s);
  for (guint i = 0; i < s.n; i++) {
    guint at = is_back(b) ? s.n - 1 - i : i;

    add_step(b, &s.steps[at], at == 0);
  }
}
