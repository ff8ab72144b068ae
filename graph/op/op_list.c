/* Op lists of a piece of a model: forward, backward, decode. */
#include "config.h"

#include "graph/input/plan.h"
#include "graph/op/op_cast.h"
#include "graph/op/op_mixer.h"
#include "graph/op/routing.h"

static uint64_t
ceil_div(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

/* Gives the last op of attention its heads, and its flags. */
static void
set_heads(RaOpBuilder *b, RaOp *op)
{
  uint32_t dim = ra_model_kind_head_dim(b->model, b->kind);
  gboolean core = b->shard->attention != RA_ATTENTION_FLASH;

  op->dim[4] = b->q_heads;
  op->dim[5] = b->kv_heads;
  op->dim[6] = dim;
  if (b->shard->attention == RA_ATTENTION_CORE_DROPOUT)
    op->flags |= RA_OP_DROPOUT;
  if (core && dim % 8 != 0)
    op->flags |= RA_OP_RAGGED;
}

static RaOpKind
attention_kind(const RaOpBuilder *b)
{
  gboolean core = b->shard->attention != RA_ATTENTION_FLASH;

  if (b->phase == RA_PHASE_DECODE)
    return RA_OP_DECODE_ATTENTION;
  if (b->phase == RA_PHASE_BACKWARD)
    return core ? RA_OP_ATTENTION_CORE_BACKWARD : RA_OP_ATTENTION_BACKWARD;
  return core ? RA_OP_ATTENTION_CORE : RA_OP_ATTENTION;
}

/* The scores of one rank's queries with one rank's keys. */
static void
add_attention_step(RaOpBuilder *b, uint64_t pairs)
{
  ra_op_add(b, attention_kind(b), b->batch->n_sequences, b->tokens,
            ceil_div(b->batch->kv_tokens, b->cp), pairs);
  set_heads(b, &b->ops[b->n_ops - 1]);
}

/* The scores of chunks, or of all sequences, and of those that decode. */
static void
add_attention_whole(RaOpBuilder *b)
{
  guint n_late = b->n_late;
  const uint64_t dims[3] = {0, 0, 0};

  ra_op_add_pairs(b, attention_kind(b), RA_OP_DECODE_ATTENTION, dims, dims);
  set_heads(b, &b->ops[b->n_ops - 1]);
  ra_op_set_blocks(b, &b->ops[b->n_ops - 1]);
  if (b->n_late == n_late)
    return;
  set_heads(b, &b->late[n_late]);
  ra_op_set_blocks(b, &b->late[n_late]);
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
  uint32_t dim = ra_model_kind_head_dim(b->model, b->kind);
  uint64_t kv_bytes = 2 * b->tokens * b->kv_heads * dim * b->element_bytes;
  uint32_t n_layers = b->count;

  own = ceil_div(batch->pairs, cp);
  own -= MIN(own, (cp - 1) * step);
  add_attention_step(b, own);
  b->count = n_layers * (uint32_t)(cp - 1);
  add_attention_step(b, step);
  add_ring_send(b, back ? 2 * kv_bytes : kv_bytes, RA_OP_BEHIND);
  ra_op_add(b, RA_OP_ADD, b->tokens, b->q_heads * dim, 0, 0);
  b->count = n_layers;
  if (back)
    add_ring_send(b, kv_bytes, 0);
}

/* Attention within windows of the keys of all cp ranks, which exchange tokens
 * for heads; those with more ranks than keys' heads have copies. */
static void
add_window_exchange(RaOpBuilder *b)
{
  uint64_t q = b->q_heads, kv = b->kv_heads;
  uint64_t dim = ra_model_kind_head_dim(b->model, b->kind);
  uint64_t in = (q + 2 * MAX(kv, b->cp)) * dim;
  gboolean back = b->phase == RA_PHASE_BACKWARD;

  ra_op_add_exchange(b, back ? q * dim : in);
  b->q_heads = ceil_div(q, b->cp);
  b->kv_heads = ceil_div(kv, b->cp);
  add_attention_whole(b);
  b->q_heads = q;
  b->kv_heads = kv;
  ra_op_add_exchange(b, back ? in : q * dim);
}

static void
add_attention_core(RaOpBuilder *b)
{
  if (b->cp == 1)
    add_attention_whole(b);
  else if (ra_model_kind_has_ring(b->model, b->kind))
    add_ring(b);
  else
    add_window_exchange(b);
}

/* Norms on queries and keys.  Those over all heads together need the sums of
 * squares of all ranks (vLLM, MiniMaxText01RMSNormTP). */
static void
add_qk_norms(RaOpBuilder *b)
{
  uint64_t dim = ra_model_kind_head_dim(b->model, b->kind);

  switch (b->model->qk_norm) {
  case RA_QK_NORM_NONE:
    return;
  case RA_QK_NORM_WIDE:
    ra_op_add_norm(b, b->tokens, b->q_heads * dim);
    ra_op_add_norm(b, b->tokens, b->kv_heads * dim);
    ra_op_add_tp(b, RA_OP_ALL_REDUCE, b->tokens * 2 * 4);
    return;
  case RA_QK_NORM_VALUES:
    ra_op_add_norm(b, b->tokens * (b->q_heads + 2 * b->kv_heads), dim);
    return;
  default:
    ra_op_add_norm(
        b, b->tokens * (b->q_heads + b->kv_heads + ra_op_index_width(b) / dim),
        dim);
  }
}

/* Per-head work between the projection and the scores. */
static void
add_positions(RaOpBuilder *b)
{
  uint64_t dim = ra_model_kind_head_dim(b->model, b->kind);

  add_qk_norms(b);
  if (b->model->position == RA_POSITION_ROTARY &&
      !b->model->kinds[b->kind].nope)
    ra_op_add(b, RA_OP_ROPE, b->tokens,
              b->q_heads + b->kv_heads + ra_op_index_width(b) / dim, dim, 0);
}

static void
add_activation(RaOpBuilder *b, uint64_t tokens, uint64_t width)
{
  ra_op_add(b,
            b->phase == RA_PHASE_BACKWARD ? RA_OP_ACTIVATION_BACKWARD
                                          : RA_OP_ACTIVATION,
            tokens, width, b->model->mlp == RA_MLP_GATED, 0);
}

/* The output of attention times its gate. */
static void
add_gate(RaOpBuilder *b, uint64_t width)
{
  if (b->model->attention_gate)
    ra_op_add(b,
              b->phase == RA_PHASE_BACKWARD ? RA_OP_ACTIVATION_BACKWARD
                                            : RA_OP_ACTIVATION,
              b->tokens, width, 1, 0);
}

/* Attention with shared heads, between the collectives. */
static void
add_heads(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  uint64_t dim = ra_model_kind_head_dim(m, b->kind), q = b->q_heads * dim;
  uint64_t kv = b->kv_heads * dim;
  uint64_t qkv = q + (m->kinds[b->kind].one_matrix ? 1 : 2) * kv;
  RaOpMatrices in = {.kind = {RA_TENSOR_Q, RA_TENSOR_K, RA_TENSOR_V},
                     .out = {m->attention_gate == 1 ? 2 * q : q, kv, kv},
                     .n = 3,
                     .in = m->hidden};
  RaOpMatrices out = {
      .kind = {RA_TENSOR_O}, .out = {m->hidden}, .n = 1, .in = q};

  qkv += m->attention_gate == 1 ? q : m->attention_gate == 2 ? b->q_heads : 0;
  if (b->phase != RA_PHASE_BACKWARD) {
    ra_op_add_linear(b, b->tokens, qkv + ra_op_index_width(b), m->hidden, 1);
    ra_op_add_adapters(b, &in);
    add_positions(b);
    ra_op_add_block_indexer(b);
    add_attention_core(b);
    add_gate(b, q);
    ra_op_add_linear(b, b->tokens, m->hidden, q, 1);
    ra_op_add_adapters(b, &out);
  } else {
    ra_op_add_linear(b, b->tokens, m->hidden, q, 1);
    ra_op_add_adapters(b, &out);
    add_gate(b, q);
    add_attention_core(b);
    add_positions(b);
    ra_op_add_linear(b, b->tokens, qkv, m->hidden, 1);
    ra_op_add_adapters(b, &in);
  }
}

/* The passes over residual streams at one end of a block of a layer, its @first
 * in the order of the phase, else the sum behind it. */
static void
add_residual(RaOpBuilder *b, gboolean first)
{
  gboolean back = b->phase == RA_PHASE_BACKWARD;
  uint64_t n = b->model->n_streams;

  if (n > 0)
    ra_op_add_streams(b, first != back ? n * (n + 2) : 0);
  else if (!first)
    ra_op_add(b, RA_OP_ADD, b->sp_tokens, b->model->hidden, 0, 0);
}

/* The mixer's block with its residual sum; backward in reverse, where the sum
 * of the two ways' gradients comes last. */
static void
add_attention(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  gboolean back = b->phase == RA_PHASE_BACKWARD, behind = m->n_norms >= 4;

  if (m->kinds[b->kind].mixer == RA_MIXER_NONE)
    return;
  add_residual(b, TRUE);
  if (!back)
    ra_op_add_norm(b, b->sp_tokens, m->hidden);
  else if (behind)
    ra_op_add_norm(b, b->sp_tokens, m->hidden);
  if (back)
    ra_op_leave(b);
  else
    ra_op_enter(b);
  if (m->kinds[b->kind].mixer == RA_MIXER_ATTENTION)
    add_heads(b);
  else
    ra_op_add_mixer(b);
  if (back)
    ra_op_enter(b);
  else
    ra_op_leave(b);
  if (back || behind)
    ra_op_add_norm(b, b->sp_tokens, m->hidden);
  add_residual(b, FALSE);
}

/* The products of an MLP of @width on this rank. */
static void
add_mlp_core(RaOpBuilder *b, uint64_t width)
{
  const RaModel *m = b->model;
  gboolean gated = m->mlp == RA_MLP_GATED;
  uint64_t tokens = b->tokens, hidden = m->hidden;
  uint64_t up = gated ? 2 * width : width;
  RaOpMatrices in = {.kind = {RA_TENSOR_UP, RA_TENSOR_GATE},
                     .out = {width, width},
                     .n = gated ? 2 : 1,
                     .in = hidden};
  RaOpMatrices out = {
      .kind = {RA_TENSOR_DOWN}, .out = {hidden}, .n = 1, .in = width};

  if (b->phase != RA_PHASE_BACKWARD) {
    ra_op_add_linear(b, tokens, up, hidden, 1);
    ra_op_add_adapters(b, &in);
    add_activation(b, tokens, width);
    ra_op_add_linear(b, tokens, hidden, width, 1);
    ra_op_add_adapters(b, &out);
  } else {
    ra_op_add_linear(b, tokens, hidden, width, 1);
    ra_op_add_adapters(b, &out);
    add_activation(b, tokens, width);
    ra_op_add_linear(b, tokens, up, hidden, 1);
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

/* Width at which the experts work. */
static uint32_t
expert_hidden(const RaModel *model)
{
  return model->expert_hidden > 0 ? model->expert_hidden : model->hidden;
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

/* Load imbalance of ranks: an exchange ends with the one that receives most,
 * and sends it back. */
static double
exchange_imbalance(const RaOpBuilder *b, uint64_t rows)
{
  const RaModel *m = b->model;
  double tokens = (double)rows * b->ep;
  RaRouting loads;

  if (m->expert_skew == 0)
    return 1;
  loads = ra_routing(m->expert_skew, tokens, tokens * m->experts_per_token,
                     m->n_experts);
  return ra_routing_imbalance(&loads, b->ep, (double)m->n_experts / b->ep, 1);
}

/* Makes @op a kernel over NVLink for @rows tokens, which are @sent_bytes at the
 * rank with most.  DeepEP's of low latency, for the few tokens of a decode
 * step, send a copy to each expert. */
static void
set_kernels(const RaOpBuilder *b, RaOp *op, uint64_t rows, double sent_bytes,
            gboolean combine)
{
  gboolean few = b->shard->sampling && rows <= RA_OP_MASKED_TOKENS &&
                 b->ep <= RA_OP_NVLINK_PEERS;

  op->dim[4] = expert_hidden(b->model) * b->element_bytes;
  op->dim[5] = rows;
  op->dim[6] = few ? 0 : RA_OP_EXCHANGE_SMS;
  if (few)
    op->dim[0] = (uint64_t)(sent_bytes * b->model->experts_per_token);
  if (combine)
    op->flags |= RA_OP_ROUTED;
}

/* Dispatch or combine of @rows tokens of this rank, k copies of each or once to
 * each rank and node.  Ranks that cut the same experts need the tokens that any
 * of them has received. */
static void
add_expert_exchange(RaOpBuilder *b, uint64_t rows, gboolean combine)
{
  const RaShard *shard = b->shard;
  double row_bytes = (double)rows * expert_hidden(b->model) * b->element_bytes;
  uint32_t nodes = b->ep / MAX(shard->ep_ranks_per_node, 1u);
  gboolean once = shard->dispatch == RA_DISPATCH_ONCE;
  double k = b->model->experts_per_token, e = b->model->n_experts;
  double copies = once ? ra_experts_parts_met(e, k, b->ep) : k;
  uint64_t bytes;

  if (n_sharers(b) > 1)
    return;
  row_bytes *= exchange_imbalance(b, rows);
  bytes = (uint64_t)(row_bytes * copies);
  if (sends_share(b) && combine)
    add_expert_tp(b, RA_OP_REDUCE_SCATTER, bytes * b->expert_tp);
  if (b->ep > 1)
    ra_op_add(b, RA_OP_ALL_TO_ALL, bytes, b->ep, shard->ep_ranks_per_node,
              shard->ep_groups_per_node);
  if (b->ep > 1 && once && nodes > 1)
    b->ops[b->n_ops - 1].dim[4] =
        (uint64_t)(row_bytes * ra_experts_parts_met(e, k, nodes) * (nodes - 1) /
                   nodes);
  else if (b->ep > 1 && once)
    set_kernels(b, &b->ops[b->n_ops - 1], rows, row_bytes, combine);
  if (sends_share(b) && !combine)
    add_expert_tp(b, RA_OP_ALL_GATHER, bytes * b->expert_tp);
}

/* Between the residual stream and the width of latent experts: their input or
 * output, of the rows of this rank. */
static void
add_latent_experts(RaOpBuilder *b, uint64_t rows, gboolean out)
{
  const RaModel *m = b->model;

  if (m->expert_hidden > 0)
    ra_op_add_linear(b, rows, out ? m->hidden : m->expert_hidden,
                     out ? m->expert_hidden : m->hidden, 1);
}

/* The shared experts: a dense MLP of all tokens, added to the others' output.
 * Where tp ranks take shares of the tokens to the experts, it has its own
 * collectives. */
static void
add_shared(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  gboolean back = b->phase == RA_PHASE_BACKWARD, apart = sends_share(b);

  if (m->shared_ffn == 0)
    return;
  if (apart && back)
    ra_op_leave(b);
  else if (apart)
    ra_op_enter(b);
  add_mlp_core(b, ceil_div(m->shared_ffn, b->shard->tp));
  if (m->shared_gate) {
    ra_op_add_matrix(b, b->tokens, 1, m->hidden, 1);
    ra_op_add(b, RA_OP_ADD, b->tokens, m->hidden, 0, 0);
  }
  ra_op_add(b, RA_OP_ADD, b->tokens, m->hidden, 0, 0);
  if (apart && back)
    ra_op_enter(b);
  else if (apart)
    ra_op_leave(b);
}

/* Weights of 4 bits: of NVFP4 tokens have as many; of MXFP4 they have those of
 * the other products, if 8 in blocks (of 32, MXFP8). */
static void
set_narrow(const RaOpBuilder *b, RaOp *op)
{
  if (b->shard->expert_dtype == RA_EXPERT_DTYPE_SAME)
    return;
  op->flags |= RA_OP_NARROW;
  if (b->shard->expert_dtype == RA_EXPERT_DTYPE_NVFP4) {
    op->dtype = RA_DTYPE_FP8;
    op->flags &= (uint16_t)~RA_OP_BLOCK;
  } else if (op->dtype == RA_DTYPE_FP8) {
    op->flags |= RA_OP_BLOCK;
  }
}

/* The products of the experts of this rank. */
static void
add_grouped(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  gboolean back = b->phase == RA_PHASE_BACKWARD;
  uint64_t tokens = b->tokens; /* of the ranks that cut the same experts */
  RaOp *op;

  if (n_sharers(b) == 1)
    tokens = ceil_div(tokens * b->expert_tp, b->shard->tp) * b->ep;
  ra_op_add(b, back ? RA_OP_EXPERTS_BACKWARD : RA_OP_EXPERTS, tokens,
            expert_hidden(m), ceil_div(m->expert_ffn, b->expert_tp),
            m->n_experts);
  op = &b->ops[b->n_ops - 1];
  op->dim[4] = m->experts_per_token;
  op->dim[5] = b->ep;
  op->dim[6] = m->expert_skew;
  if (b->ep > 1 && n_sharers(b) == 1)
    op->flags |= RA_OP_ROUTED;
  if (m->mlp != RA_MLP_GATED)
    op->flags |= RA_OP_PLAIN;
  if (m->lora_rank > 0 && (back || b->shard->loss))
    op->flags |= RA_OP_FROZEN;
  set_narrow(b, op);
  ra_op_cast_experts(b);
}

/* An op of the layer's routing. */
static void
add_routed(RaOpBuilder *b, RaOpKind kind, uint64_t tokens, uint64_t width,
           uint64_t copies)
{
  ra_op_add(b, kind, tokens, width, copies, 0);
  b->ops[b->n_ops - 1].flags |= RA_OP_ROUTED;
}

/* The copies of the tokens of this rank, sorted by their experts, or summed
 * (@out).  Engines' kernels, whose rows the law of the experts is of, gather
 * what they multiply, and sum.  A trainer's grouped GEMMs take copies that were
 * sorted before; where an exchange takes copies away, they are sorted, and
 * summed, on both of its sides. */
static void
add_permute(RaOpBuilder *b, uint64_t copies, uint64_t n, gboolean out)
{
  gboolean exchanged = b->ep > 1 && n_sharers(b) == 1 &&
                       b->shard->dispatch == RA_DISPATCH_COPIES;

  add_routed(b, RA_OP_PERMUTE, copies, expert_hidden(b->model), n);
  if (exchanged || (!b->shard->sampling && !out))
    b->ops[b->n_ops - 1].flags &= (uint16_t)~RA_OP_ROUTED;
}

/* A mixture of experts: those of this rank, or its parts of them. */
static void
add_experts(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  uint64_t tp = b->shard->tp, k = m->experts_per_token, parts = n_sharers(b);
  uint64_t rows = sends_share(b) ? ceil_div(b->tokens, tp) : b->tokens;
  uint64_t copies = ceil_div(rows * k, parts);

  add_latent_experts(b, rows, FALSE);
  if (b->phase == RA_PHASE_BACKWARD) /* of the weights before their logits' */
    add_routed(b, RA_OP_ROUTER, rows, m->n_experts, k);
  ra_op_add_matrix(b, rows, m->n_experts, m->hidden, 1);
  if (b->phase != RA_PHASE_BACKWARD)
    add_routed(b, RA_OP_ROUTER, rows, m->n_experts, k);
  add_permute(b, copies, k / parts, FALSE);
  add_expert_exchange(b, rows, FALSE);
  if (b->tokens > 0)
    add_grouped(b);
  add_expert_exchange(b, rows, TRUE);
  add_permute(b, copies, k / parts, TRUE);
  add_latent_experts(b, rows, TRUE);
  /* The share was cut from tokens that all tp ranks have, and need again. */
  if (sends_share(b) && !b->shard->sequence_parallel)
    ra_op_add_tp(b, RA_OP_ALL_GATHER, ra_op_activation_bytes(b));
}

/* The feed-forward block with its residual sum. */
static void
add_mlp(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  const RaLayerKind *kind = &m->kinds[b->kind];
  gboolean back = b->phase == RA_PHASE_BACKWARD;
  gboolean moe = kind->ffn == RA_FFN_EXPERTS, tp = !moe || !sends_share(b);
  /* Parallel parts share the norm before them. */
  gboolean norm = m->n_norms != 1 || kind->mixer == RA_MIXER_NONE;

  if (kind->ffn == RA_FFN_NONE)
    return;
  add_residual(b, TRUE);
  if (back ? m->n_norms >= 4 : norm)
    ra_op_add_norm(b, b->sp_tokens, m->hidden);
  if (tp && back)
    ra_op_leave(b);
  else if (tp)
    ra_op_enter(b);
  if (moe) {
    add_experts(b);
    add_shared(b);
    for (int i = 4; i < m->n_norms; i++)
      ra_op_add_norm(b, b->sp_tokens, m->hidden);
  } else {
    add_mlp_core(b, ceil_div(m->ffn, b->shard->tp));
  }
  if (tp && back)
    ra_op_enter(b);
  else if (tp)
    ra_op_leave(b);
  if (back ? norm : m->n_norms >= 4)
    ra_op_add_norm(b, b->sp_tokens, m->hidden);
  add_residual(b, FALSE);
}

/* Selects the kind of the layers that are added next. */
static void
set_kind(RaOpBuilder *b, uint32_t kind)
{
  const RaModel *m = b->model;

  b->kind = kind;
  b->q_heads = ceil_div(ra_model_kind_heads(m, kind), b->shard->tp);
  b->kv_heads = ceil_div(ra_model_kind_kv_heads(m, kind), b->shard->tp);
}

/* The part of a mixer that selective recomputation runs again. */
static void
add_core_again(RaOpBuilder *b)
{
  if (b->model->kinds[b->kind].mixer == RA_MIXER_ATTENTION)
    add_attention_core(b);
}

/* All layers of one kind. */
static void
add_layers(RaOpBuilder *b, uint32_t n_layers, uint32_t kind)
{
  if (n_layers == 0)
    return;
  set_kind(b, kind);
  b->count = n_layers;
  if (b->phase == RA_PHASE_BACKWARD && b->shard->recompute) {
    b->phase = RA_PHASE_FORWARD;
    b->keeps = TRUE;
    if (b->shard->recompute == RA_RECOMPUTE_FULL) {
      add_attention(b);
      add_mlp(b);
    } else {
      add_core_again(b);
    }
    b->phase = RA_PHASE_BACKWARD;
  }
  if (b->phase == RA_PHASE_BACKWARD) {
    add_mlp(b);
    add_attention(b);
  } else {
    add_attention(b);
    add_mlp(b);
  }
  b->count = 1;
}

/* All layers of @piece, kind by kind; of a kind, those that stay in 16 bits
 * beside others in fp8 are the last. */
static void
add_kinds(RaOpBuilder *b, const RaPiece *piece)
{
  const RaShard *shard = b->shard;
  RaPiece fp8 = ra_piece_fp8_layers(shard, piece);
  gboolean differ = shard->fp8_gemms && fp8.n_layers < piece->n_layers;
  uint32_t n_of[RA_MODEL_MAX_KINDS], n_fp8[RA_MODEL_MAX_KINDS] = {0};
  RaShard plain;

  ra_model_count_kinds(b->model, piece->first_layer, piece->n_layers, n_of);
  if (differ) {
    ra_model_count_kinds(b->model, fp8.first_layer, fp8.n_layers, n_fp8);
    plain = *shard;
    plain.fp8_gemms = 0;
  }
  for (uint32_t k = 0; k < ra_model_n_kinds(b->model); k++) {
    add_layers(b, differ ? n_fp8[k] : n_of[k], k);
    if (!differ)
      continue;
    b->shard = &plain;
    add_layers(b, n_of[k] - n_fp8[k], k);
    b->shard = shard;
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
    ra_op_add_tp(b, RA_OP_ALL_GATHER,
                 ra_op_activation_bytes(b) * MAX(b->model->n_streams, 1));
}

/* @chunks: batch of the mixers, with @steps (nullable) beside them. */
static guint
make_list(const RaShard *shard, const RaPiece *piece, RaPhase phase,
          const RaBatch *batch, const RaBatch *chunks, const RaBatch *steps,
          RaOp *out_ops)
{
  const RaModel *m = shard->model;
  RaOp late[RA_OP_LATE_MAX];
  RaOpBuilder b = {
      .shard = shard,
      .model = m,
      .late = late,
      .batch = batch,
      .mix = chunks,
      .steps = steps,
      .phase = phase,
      .positions = phase == RA_PHASE_DECODE ? ra_shard_positions(shard) : 1,
      .cp = MAX(shard->cp, 1u),
      .ep = MAX(shard->ep, 1u),
      .expert_tp = MAX(shard->expert_tp > 0 ? shard->expert_tp : shard->tp, 1u),
      .element_bytes =
          ra_dtype_bytes(ra_activation_dtype((RaDtype)shard->dtype)),
      .count = 1,
      .keeps = shard->loss && shard->recompute != RA_RECOMPUTE_FULL,
      .ops = out_ops};

  g_return_val_if_fail(phase < RA_N_PHASES, 0);
  b.tokens = ceil_div(batch->q_tokens * b.positions, b.cp);
  b.sp_tokens =
      shard->sequence_parallel ? ceil_div(b.tokens, shard->tp) : b.tokens;
  b.vocab = ceil_div(m->vocab, shard->tp);
  if (phase == RA_PHASE_BACKWARD && piece->has_head)
    ra_op_add_head(&b);
  if (phase != RA_PHASE_BACKWARD && piece->has_embedding)
    ra_op_add_embedding(&b);
  if (shard->scatter_sends)
    add_arrival(&b, piece);
  add_kinds(&b, piece);
  if (phase != RA_PHASE_BACKWARD && piece->has_head)
    ra_op_add_head(&b);
  if (phase == RA_PHASE_BACKWARD && piece->has_embedding)
    ra_op_add_embedding(&b);
  for (guint i = 0; i < b.n_late; i++) {
    g_assert(b.n_ops < RA_OP_LIST_MAX);
    b.ops[b.n_ops++] = b.late[i];
  }
  return shard->groups_experts ? b.n_ops : ra_op_list_lower(b.ops, b.n_ops);
}

guint
ra_op_list(const RaShard *shard, const RaPiece *piece, RaPhase phase,
           const RaBatch *batch, RaOp *out_ops)
{
  return make_list(shard, piece, phase, batch, batch, NULL, out_ops);
}

guint
ra_op_list_step(const RaShard *shard, const RaPiece *piece,
                const RaBatch *batch, const RaBatch *chunks,
                const RaBatch *steps, RaOp *out_ops)
{
  return make_list(shard, piece, RA_PHASE_FORWARD, batch, chunks, steps,
                   out_ops);
}
