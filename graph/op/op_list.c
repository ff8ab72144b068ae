/* Op lists of a piece of a model: forward, backward, decode. */
#include "config.h"

#include "graph/input/plan.h"
#include "graph/op/op_lora.h"

static uint64_t
ceil_div(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

static uint64_t
activation_bytes(const RaOpBuilder *b)
{
  return b->tokens * b->model->hidden * b->element_bytes;
}

/* Before a column-parallel layer: sequence parallelism gathers its input
 * (forward) and scatters its input's gradient (backward); plain tensor
 * parallelism only sums that gradient (arXiv 2205.05198, figure 5).  The
 * gather of the input that Megatron repeats for the weight gradient runs
 * behind the GEMM of the input gradient and is left out. */
static void
add_enter(RaOpBuilder *b)
{
  if (b->phase != RA_PHASE_BACKWARD) {
    if (b->shard->sequence_parallel)
      ra_op_add_tp(b, RA_OP_ALL_GATHER, activation_bytes(b));
  } else {
    ra_op_add_tp(b,
                 b->shard->sequence_parallel ? RA_OP_REDUCE_SCATTER
                                             : RA_OP_ALL_REDUCE,
                 activation_bytes(b));
  }
}

/* After a row-parallel layer: the sum of its parts, scattered or not; backward
 * under sequence parallelism the gather of its output's gradient. */
static void
add_leave(RaOpBuilder *b)
{
  if (b->phase != RA_PHASE_BACKWARD)
    ra_op_add_tp(b,
                 b->shard->sequence_parallel ? RA_OP_REDUCE_SCATTER
                                             : RA_OP_ALL_REDUCE,
                 activation_bytes(b));
  else if (b->shard->sequence_parallel)
    ra_op_add_tp(b, RA_OP_ALL_GATHER, activation_bytes(b));
}

static void
add_norm(RaOpBuilder *b, uint64_t tokens, uint64_t width)
{
  ra_op_add(b, b->phase == RA_PHASE_BACKWARD ? RA_OP_NORM_BACKWARD : RA_OP_NORM,
            tokens, width, 0, 0);
}

/* The scores of one rank's queries with one rank's keys. */
static void
add_attention_step(RaOpBuilder *b, uint64_t pairs)
{
  const RaModel *m = b->model;
  RaOpKind kind = b->phase == RA_PHASE_BACKWARD ? RA_OP_ATTENTION_BACKWARD
                  : b->phase == RA_PHASE_DECODE ? RA_OP_DECODE_ATTENTION
                                                : RA_OP_ATTENTION;
  gboolean core = b->shard->attention != RA_ATTENTION_FLASH;

  if (core && b->phase != RA_PHASE_DECODE)
    kind = b->phase == RA_PHASE_BACKWARD ? RA_OP_ATTENTION_CORE_BACKWARD
                                         : RA_OP_ATTENTION_CORE;
  ra_op_add(b, kind, b->batch->n_sequences, b->tokens,
            ceil_div(b->batch->kv_tokens, b->cp), pairs);
  b->ops[b->n_ops - 1].dim[4] = b->q_heads;
  b->ops[b->n_ops - 1].dim[5] = b->kv_heads;
  b->ops[b->n_ops - 1].dim[6] = m->head_dim;
  if (b->shard->attention == RA_ATTENTION_CORE_DROPOUT)
    b->ops[b->n_ops - 1].flags |= RA_OP_DROPOUT;
  if (core && m->head_dim % 8 != 0)
    b->ops[b->n_ops - 1].flags |= RA_OP_RAGGED;
}

/* A message to the next rank of the ring. */
static void
add_ring_send(RaOpBuilder *b, uint64_t bytes, uint16_t flags)
{
  uint32_t rings = b->shard->cp_rings_per_node;

  ra_op_add(b, RA_OP_SEND, bytes, rings > 0, MAX(rings, 1u), 0);
  b->ops[b->n_ops - 1].flags = flags;
}

/* Attention over the keys of all cp ranks, a rank's at a time: a step on the
 * rank's own, and cp - 1 behind each of which the next keys arrive. */
static void
add_ring(RaOpBuilder *b)
{
  const RaBatch *batch = b->batch;
  gboolean back = b->phase == RA_PHASE_BACKWARD;
  uint64_t cp = b->cp, twice = 2 * batch->pairs - batch->q_tokens;
  uint64_t own, step = ceil_div(twice, 2 * cp * cp);
  uint64_t kv_bytes =
      2 * b->tokens * b->kv_heads * b->model->head_dim * b->element_bytes;
  uint32_t n_layers = b->count;

  own = ceil_div(batch->pairs, cp);
  own -= MIN(own, (cp - 1) * step);
  add_attention_step(b, own);
  b->count = n_layers * (uint32_t)(cp - 1);
  add_attention_step(b, step);
  add_ring_send(b, back ? 2 * kv_bytes : kv_bytes, RA_OP_BEHIND);
  ra_op_add(b, RA_OP_ADD, b->tokens, b->q_heads * b->model->head_dim, 0, 0);
  b->count = n_layers;
  if (back)
    add_ring_send(b, kv_bytes, 0);
}

static void
add_attention_core(RaOpBuilder *b)
{
  if (b->cp > 1)
    add_ring(b);
  else
    add_attention_step(b, b->batch->pairs);
}

/* Per-head work between the projection and the scores. */
static void
add_positions(RaOpBuilder *b)
{
  uint64_t heads = b->q_heads + b->kv_heads;

  if (b->model->qk_norm)
    add_norm(b, b->tokens * heads, b->model->head_dim);
  if (b->model->position == RA_POSITION_ROTARY)
    ra_op_add(b, RA_OP_ROPE, b->tokens, heads, b->model->head_dim, 0);
}

/* The attention block with its residual sum; backward in reverse, where the
 * sum of the two ways' gradients comes last. */
static void
add_attention(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  uint64_t q = b->q_heads * m->head_dim;
  uint64_t kv = b->kv_heads * m->head_dim, qkv = q + 2 * kv;
  RaOpMatrices in = {.kind = {RA_TENSOR_Q, RA_TENSOR_K, RA_TENSOR_V},
                     .out = {q, kv, kv},
                     .n = 3,
                     .in = m->hidden};
  RaOpMatrices out = {
      .kind = {RA_TENSOR_O}, .out = {m->hidden}, .n = 1, .in = q};

  if (b->phase != RA_PHASE_BACKWARD) {
    add_norm(b, b->sp_tokens, m->hidden);
    add_enter(b);
    ra_op_add_linear(b, b->tokens, qkv, m->hidden, 1);
    ra_op_add_adapters(b, &in);
    add_positions(b);
    add_attention_core(b);
    ra_op_add_linear(b, b->tokens, m->hidden, q, 1);
    ra_op_add_adapters(b, &out);
    add_leave(b);
    ra_op_add(b, RA_OP_ADD, b->sp_tokens, m->hidden, 0, 0);
  } else {
    add_leave(b);
    ra_op_add_linear(b, b->tokens, m->hidden, q, 1);
    ra_op_add_adapters(b, &out);
    add_attention_core(b);
    add_positions(b);
    ra_op_add_linear(b, b->tokens, qkv, m->hidden, 1);
    ra_op_add_adapters(b, &in);
    add_enter(b);
    add_norm(b, b->sp_tokens, m->hidden);
    ra_op_add(b, RA_OP_ADD, b->sp_tokens, m->hidden, 0, 0);
  }
}

static void
add_activation(RaOpBuilder *b, uint64_t tokens, uint64_t width)
{
  ra_op_add(b,
            b->phase == RA_PHASE_BACKWARD ? RA_OP_ACTIVATION_BACKWARD
                                          : RA_OP_ACTIVATION,
            tokens, width, b->model->mlp == RA_MLP_GATED, 0);
}

/* The products of an MLP of @width on this rank, of @batch experts with @tokens
 * rows each. */
static void
add_mlp_core(RaOpBuilder *b, uint64_t tokens, uint64_t width, uint64_t batch)
{
  const RaModel *m = b->model;
  gboolean gated = m->mlp == RA_MLP_GATED;
  uint64_t up = gated ? 2 * width : width;
  RaOpMatrices in = {.kind = {RA_TENSOR_UP, RA_TENSOR_GATE},
                     .out = {width, width},
                     .n = gated ? 2 : 1,
                     .in = m->hidden};
  RaOpMatrices out = {
      .kind = {RA_TENSOR_DOWN}, .out = {m->hidden}, .n = 1, .in = width};

  if (b->phase != RA_PHASE_BACKWARD) {
    ra_op_add_linear(b, tokens, up, m->hidden, batch);
    ra_op_add_adapters(b, &in);
    add_activation(b, tokens * batch, width);
    ra_op_add_linear(b, tokens, m->hidden, width, batch);
    ra_op_add_adapters(b, &out);
  } else {
    ra_op_add_linear(b, tokens, m->hidden, width, batch);
    ra_op_add_adapters(b, &out);
    add_activation(b, tokens * batch, width);
    ra_op_add_linear(b, tokens, up, m->hidden, batch);
    ra_op_add_adapters(b, &in);
  }
}

/* TRUE if each tp rank takes its own share of the tokens to the experts, rather
 * than all tp ranks the same tokens. */
static gboolean
sends_share(const RaOpBuilder *b)
{
  uint32_t tp = MAX(b->shard->tp, 1u);

  if (b->expert_tp == tp)
    return b->ep > 1 && b->shard->sequence_parallel;
  return b->shard->sequence_parallel || b->ep * b->expert_tp != tp;
}

/* Ranks of a tp group that divide the choices of the tokens that all of them
 * have among their experts: no exchange, but a sum of the outputs. */
static uint32_t
n_sharers(const RaOpBuilder *b)
{
  return b->expert_tp == b->shard->tp || sends_share(b) ? 1 : b->ep;
}

/* A collective of the ranks that cut the same experts. */
static void
add_expert_tp(RaOpBuilder *b, RaOpKind kind, uint64_t bytes)
{
  if (b->shard->expert_tp == 0)
    ra_op_add_tp(b, kind, bytes);
  else if (b->expert_tp > 1)
    ra_op_add(b, kind, bytes, b->expert_tp, b->shard->expert_tp_ranks_per_node,
              b->shard->expert_tp_groups_per_node);
}

/* Dispatch or combine of @rows tokens of this rank, k copies of each or once to
 * each rank and node.  Ranks that cut the same experts need the tokens that any
 * of them has received. */
static void
add_expert_exchange(RaOpBuilder *b, uint64_t rows, gboolean combine)
{
  const RaShard *shard = b->shard;
  double row_bytes = (double)rows * b->model->hidden * b->element_bytes;
  uint32_t nodes = b->ep / MAX(shard->ep_ranks_per_node, 1u);
  gboolean once = shard->dispatch == RA_DISPATCH_ONCE;
  double copies = once ? ra_experts_parts_met(b->model, b->ep)
                       : b->model->experts_per_token;
  uint64_t bytes = (uint64_t)(row_bytes * copies);

  if (n_sharers(b) > 1)
    return;
  if (sends_share(b) && combine)
    add_expert_tp(b, RA_OP_REDUCE_SCATTER, bytes * b->expert_tp);
  if (b->ep > 1)
    ra_op_add(b, RA_OP_ALL_TO_ALL, bytes, b->ep, shard->ep_ranks_per_node,
              shard->ep_groups_per_node);
  if (b->ep > 1 && once && nodes > 1)
    b->ops[b->n_ops - 1].dim[4] =
        (uint64_t)(row_bytes * ra_experts_parts_met(b->model, nodes) *
                   (nodes - 1) / nodes);
  if (sends_share(b) && !combine)
    add_expert_tp(b, RA_OP_ALL_GATHER, bytes * b->expert_tp);
}

/* A mixture of experts: those of this rank, or its parts of them. */
static void
add_experts(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  uint64_t tp = b->shard->tp, k = m->experts_per_token, parts = n_sharers(b);
  uint64_t rows = sends_share(b) ? ceil_div(b->tokens, tp) : b->tokens;
  /* of the ranks that cut the same experts, and of all that exchange tokens */
  uint64_t choices = ceil_div(b->tokens * b->expert_tp, tp) * k;
  uint64_t tokens = ceil_div(b->tokens * b->ep * b->expert_tp, tp);

  if (parts > 1)
    choices = ceil_div(b->tokens * k, parts);
  if (b->phase == RA_PHASE_BACKWARD) /* of the weights before their logits' */
    ra_op_add(b, RA_OP_ROUTER, rows, m->n_experts, k, 0);
  ra_op_add_linear(b, rows, m->n_experts, m->hidden, 1);
  if (b->phase != RA_PHASE_BACKWARD)
    ra_op_add(b, RA_OP_ROUTER, rows, m->n_experts, k, 0);
  ra_op_add(b, RA_OP_PERMUTE, ceil_div(rows * k, parts), m->hidden, k / parts,
            0);
  add_expert_exchange(b, rows, FALSE);
  if (choices > 0) {
    uint64_t n = ra_experts_met(m, b->ep, tokens, choices);
    guint up = b->n_ops;
    add_mlp_core(b, ceil_div(choices, n), ceil_div(m->expert_ffn, b->expert_tp),
                 n);
    /* Tokens were quantised for the router, before they were copied. */
    b->ops[up].flags |= b->phase == RA_PHASE_BACKWARD ? 0 : RA_OP_QUANTIZED;
  }
  add_expert_exchange(b, rows, TRUE);
  ra_op_add(b, RA_OP_PERMUTE, ceil_div(rows * k, parts), m->hidden, k / parts,
            0);
  /* The share was cut from tokens that all tp ranks have, and need again. */
  if (sends_share(b) && !b->shard->sequence_parallel)
    ra_op_add_tp(b, RA_OP_ALL_GATHER, activation_bytes(b));
}

static void
add_mlp(RaOpBuilder *b, gboolean moe)
{
  const RaModel *m = b->model;
  gboolean back = b->phase == RA_PHASE_BACKWARD;
  gboolean tp = !moe || !sends_share(b);

  if (!back)
    add_norm(b, b->sp_tokens, m->hidden);
  if (tp && back)
    add_leave(b);
  else if (tp)
    add_enter(b);
  if (moe)
    add_experts(b);
  else
    add_mlp_core(b, b->tokens, ceil_div(m->ffn, b->shard->tp), 1);
  if (tp && back)
    add_enter(b);
  else if (tp)
    add_leave(b);
  if (back)
    add_norm(b, b->sp_tokens, m->hidden);
  ra_op_add(b, RA_OP_ADD, b->sp_tokens, m->hidden, 0, 0);
}

/* All layers of one kind, dense or MoE. */
static void
add_layers(RaOpBuilder *b, uint32_t n_layers, gboolean moe)
{
  if (n_layers == 0)
    return;
  b->count = n_layers;
  if (b->phase == RA_PHASE_BACKWARD && b->shard->recompute) {
    b->phase = RA_PHASE_FORWARD;
    if (b->shard->recompute == RA_RECOMPUTE_FULL) {
      add_attention(b);
      add_mlp(b, moe);
    } else {
      add_attention_core(b);
    }
    b->phase = RA_PHASE_BACKWARD;
  }
  if (b->phase == RA_PHASE_BACKWARD) {
    add_mlp(b, moe);
    add_attention(b);
  } else {
    add_attention(b);
    add_mlp(b, moe);
  }
  b->count = 1;
}

static void
add_embedding(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  gboolean back = b->phase == RA_PHASE_BACKWARD;

  if (back && m->lora_rank > 0)
    return; /* frozen, and nothing stands before it */
  if (back) {
    if (m->embedding_norm)
      add_norm(b, b->sp_tokens, m->hidden);
    add_leave(b);
    ra_op_add(b, RA_OP_EMBEDDING_BACKWARD, b->tokens, m->hidden, b->vocab, 0);
    return;
  }
  ra_op_add(b, RA_OP_EMBEDDING, b->tokens, m->hidden, b->vocab, 0);
  add_leave(b);
  if (m->position == RA_POSITION_LEARNED)
    ra_op_add(b, RA_OP_ADD, b->sp_tokens, m->hidden, 0, 0);
  if (m->embedding_norm)
    add_norm(b, b->sp_tokens, m->hidden);
}

/* Logits of training and inference: inference engines pad their tables. */
static void
add_logits(RaOpBuilder *b, uint64_t rows)
{
  guint first = b->n_ops;

  ra_op_add_linear(b, rows, b->vocab, b->model->hidden, 1);
  if (b->vocab % 8 == 0 || b->shard->sampling)
    return;
  for (guint i = first; i < b->n_ops; i++)
    b->ops[i].flags |= RA_OP_RAGGED;
}

/* The lm head of a generate call looks at one position a sequence and gathers
 * the ranks' logits to sample; elsewhere the vocabulary-parallel cross-entropy
 * sums three fp32 values a token over the ranks: maximum, sum of exponentials,
 * the target's logit (arXiv 1909.08053, section 3). */
static void
add_lm_head(RaOpBuilder *b)
{
  uint64_t rows = b->shard->sampling ? b->batch->n_sequences : b->tokens;
  uint16_t unfused =
      b->shard->cross_entropy == RA_CROSS_ENTROPY_UNFUSED ? RA_OP_UNFUSED : 0;

  if (b->phase == RA_PHASE_BACKWARD) {
    ra_op_add(b, RA_OP_CROSS_ENTROPY_BACKWARD, rows, b->vocab, 0, 0);
    b->ops[b->n_ops - 1].flags = unfused;
    add_logits(b, rows);
    return;
  }
  add_logits(b, rows);
  if (b->shard->sampling) {
    ra_op_add_tp(b, RA_OP_ALL_GATHER,
                 rows * b->vocab * b->shard->tp * b->element_bytes);
    ra_op_add(b, RA_OP_SAMPLE, rows, b->model->vocab, 0,
              0); /* padding cut off */
  } else {
    ra_op_add(b, RA_OP_CROSS_ENTROPY, rows, b->vocab, 0, 0);
    b->ops[b->n_ops - 1].flags = unfused;
    ra_op_add_tp(b, RA_OP_ALL_REDUCE, rows * 3 * 4);
  }
}

static void
add_head(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  gboolean back = b->phase == RA_PHASE_BACKWARD;

  if (!back) {
    add_norm(b, b->sp_tokens, m->hidden);
    if (b->shard->sequence_parallel)
      add_enter(b);
  }
  if (back && b->shard->loss)
    ra_op_add(b, RA_OP_LOSS, b->tokens, 0, 0, 0);
  if (m->head == RA_HEAD_VALUE)
    ra_op_add_linear(b, b->tokens, 1, m->hidden, 1);
  else
    add_lm_head(b);
  if (!back && b->shard->loss)
    ra_op_add(b, RA_OP_LOSS, b->tokens, 0, 0, 0);
  if (back) {
    if (m->head != RA_HEAD_VALUE)
      add_enter(b);
    add_norm(b, b->sp_tokens, m->hidden);
  }
}

/* Gathers what came in parts from the stage before, backward: behind. */
static void
add_arrival(RaOpBuilder *b, const RaPiece *piece)
{
  uint32_t end = piece->first_layer + piece->n_layers;
  gboolean first = b->phase == RA_PHASE_BACKWARD ? end == b->model->n_layers
                                                 : piece->first_layer == 0;

  if (piece->n_layers > 0 && !first && !b->shard->sequence_parallel)
    ra_op_add_tp(b, RA_OP_ALL_GATHER, activation_bytes(b));
}

guint
ra_op_list(const RaShard *shard, const RaPiece *piece, RaPhase phase,
           const RaBatch *batch, RaOp *out_ops)
{
  const RaModel *m = shard->model;
  RaOpBuilder b = {
      .shard = shard,
      .model = m,
      .batch = batch,
      .phase = phase,
      .cp = MAX(shard->cp, 1u),
      .ep = MAX(shard->ep, 1u),
      .expert_tp = MAX(shard->expert_tp > 0 ? shard->expert_tp : shard->tp, 1u),
      .element_bytes =
          ra_dtype_bytes(ra_activation_dtype((RaDtype)shard->dtype)),
      .count = 1,
      .ops = out_ops};
  uint32_t n_moe = 0;

  g_return_val_if_fail(phase < RA_N_PHASES, 0);
  b.tokens = ceil_div(batch->q_tokens, b.cp);
  b.sp_tokens =
      shard->sequence_parallel ? ceil_div(b.tokens, shard->tp) : b.tokens;
  b.q_heads = ceil_div(m->n_heads, shard->tp);
  b.kv_heads = ceil_div(m->n_kv_heads, shard->tp);
  b.vocab = ceil_div(m->vocab, shard->tp);
  for (uint32_t i = 0; m->layer_is_moe && i < piece->n_layers; i++)
    n_moe += ra_model_layer_is_moe(m, piece->first_layer + i);
  if (phase == RA_PHASE_BACKWARD && piece->has_head)
    add_head(&b);
  if (phase != RA_PHASE_BACKWARD && piece->has_embedding)
    add_embedding(&b);
  if (shard->scatter_sends)
    add_arrival(&b, piece);
  add_layers(&b, piece->n_layers - n_moe, FALSE);
  add_layers(&b, n_moe, TRUE);
  if (phase != RA_PHASE_BACKWARD && piece->has_head)
    add_head(&b);
  if (phase == RA_PHASE_BACKWARD && piece->has_embedding)
    add_embedding(&b);
  return b.n_ops;
}
