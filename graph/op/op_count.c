/* Counts: parameters of a piece, FLOP of a model. */
#include "config.h"

#include "graph/input/lora.h"
#include "graph/op/op.h"

static uint64_t
ceil_div(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

/* Width-like size of one rank's part of a tensor dimension. */
static uint64_t
split(uint64_t size, uint64_t grain, uint32_t tp)
{
  return ceil_div(size / grain, tp) * grain;
}

double
ra_experts_parts_met(const RaModel *m, uint32_t n_parts)
{
  double part = (double)m->n_experts / n_parts, none = 1;

  for (uint32_t i = 0; i < m->experts_per_token; i++)
    none *= MAX(m->n_experts - part - i, 0) / (m->n_experts - i);
  return n_parts * (1 - none);
}

/* (1 - k / E)^n by squaring: the same on every machine. */
static double
missed_frac(const RaModel *m, uint64_t n)
{
  double base = 1 - (double)m->experts_per_token / m->n_experts, power = 1;

  for (; n > 0; n >>= 1) {
    if (n & 1)
      power *= base;
    base *= base;
  }
  return power;
}

uint64_t
ra_experts_met(const RaModel *m, uint32_t ep, uint64_t n_tokens,
               uint64_t choices)
{
  uint64_t n_local = m->n_experts / ep;
  double seen = (double)n_local * (1 - missed_frac(m, n_tokens));

  return CLAMP((uint64_t)(seen + 0.5), 1, MIN(choices, n_local));
}

uint64_t
ra_piece_n_expert_params(const RaShard *shard, const RaPiece *piece)
{
  const RaModel *m = shard->model;
  uint64_t matrices = m->mlp == RA_MLP_GATED ? 3 : 2;
  uint32_t cut = shard->expert_tp > 0 ? shard->expert_tp : shard->tp;
  uint64_t width = ceil_div(m->expert_ffn, cut);
  uint64_t n_moe = 0;

  for (uint32_t i = 0; i < piece->n_layers; i++)
    n_moe += ra_model_layer_is_moe(m, piece->first_layer + i);
  return n_moe * (m->n_experts / MAX(shard->ep, 1u)) * matrices * m->hidden *
         width;
}

uint64_t
ra_piece_n_params(const RaShard *shard, const RaPiece *piece)
{
  const RaModel *m = shard->model;
  uint64_t h = m->hidden, tp = shard->tp;
  uint64_t q =
      split((uint64_t)m->n_heads * m->head_dim, m->head_dim, shard->tp);
  uint64_t kv =
      split((uint64_t)m->n_kv_heads * m->head_dim, m->head_dim, shard->tp);
  uint64_t matrices = m->mlp == RA_MLP_GATED ? 3 : 2;
  uint64_t norm = m->norm_bias ? 2 * h : h;
  uint64_t vocab = ceil_div(m->vocab, tp);
  uint64_t attention = (2 * q + 2 * kv) * h + (m->qkv_bias ? q + 2 * kv : 0) +
                       (m->out_bias ? h : 0) +
                       (m->qk_norm ? 2 * (uint64_t)m->head_dim : 0);
  uint64_t n =
      ra_piece_n_expert_params(shard, piece) +
      piece->n_layers * ra_lora_rank_layer_n_params(shard->model, shard->tp);

  for (uint32_t i = 0; i < piece->n_layers; i++) {
    n += attention + 2 * norm;
    if (ra_model_layer_is_moe(m, piece->first_layer + i)) {
      n += m->n_experts * h; /* router */
    } else {
      uint64_t ffn = ceil_div(m->ffn, tp);
      n += matrices * h * ffn;
      if (m->mlp_bias)
        n += (matrices - 1) * ffn + h;
    }
  }
  if (piece->has_embedding) {
    n += vocab * h;
    if (m->position == RA_POSITION_LEARNED)
      n += (uint64_t)m->max_positions * h;
    if (m->embedding_norm)
      n += norm;
  }
  if (piece->has_head) {
    n += norm;
    if (m->head == RA_HEAD_VALUE)
      n += h;
    else if (!m->tied_embeddings || !piece->has_embedding)
      n += vocab * h; /* a tied head on another stage is a copy */
  }
  return n;
}

uint64_t
ra_piece_n_trained(const RaShard *shard, const RaPiece *piece)
{
  return shard->model->lora_rank > 0
             ? piece->n_layers *
                   ra_lora_rank_layer_n_params(shard->model, shard->tp)
             : ra_piece_n_params(shard, piece);
}

uint64_t
ra_piece_n_trained_experts(const RaShard *shard, const RaPiece *piece)
{
  return shard->model->lora_rank > 0 ? 0
                                     : ra_piece_n_expert_params(shard, piece);
}

/* Weights of all layers that a token meets, adapters left out. */
static double
layer_weights(const RaModel *m)
{
  double h = m->hidden, q = (double)m->n_heads * m->head_dim;
  double kv = (double)m->n_kv_heads * m->head_dim;
  double matrices = m->mlp == RA_MLP_GATED ? 3 : 2;
  double n_moe = m->layer_is_moe ? ra_model_n_moe_layers(m) : 0;
  double n_dense = m->n_layers - n_moe;

  return m->n_layers * (2 * q + 2 * kv) * h + n_dense * matrices * h * m->ffn +
         n_moe * h *
             (m->n_experts + matrices * m->experts_per_token * m->expert_ffn);
}

/* FLOP of the head per row. */
static double
head_flop(const RaModel *m)
{
  double h = m->hidden;

  return 2 * (m->head == RA_HEAD_VALUE ? h : h * m->vocab);
}

/* Forward FLOP of @batch with the head at @head_rows positions. */
static double
forward_flop(const RaModel *m, const RaBatch *batch, double head_rows)
{
  double q = (double)m->n_heads * m->head_dim;
  double adapters = (double)m->n_layers * ra_lora_layer_n_params(m);

  return 2 * (layer_weights(m) + adapters) * (double)batch->q_tokens +
         head_flop(m) * head_rows + 4 * q * m->n_layers * (double)batch->pairs;
}

RaOp
ra_op_gather(const RaShard *shard, const RaPiece *piece)
{
  RaOp op = {.kind = RA_OP_ALL_GATHER, .dtype = shard->dtype, .count = 1};

  if (shard->zero_ranks == 0)
    return op;
  op.dim[0] =
      ra_piece_n_params(shard, piece) * ra_dtype_bytes((RaDtype)shard->dtype);
  op.dim[1] = shard->zero_ranks;
  op.dim[2] = shard->zero_ranks_per_node;
  op.dim[3] = shard->zero_groups_per_node;
  return op;
}

double
ra_model_forward_flop(const RaModel *model, const RaBatch *batch)
{
  return forward_flop(model, batch, (double)batch->q_tokens);
}

double
ra_model_prefill_flop(const RaModel *model, const RaBatch *batch)
{
  return forward_flop(model, batch, (double)batch->n_sequences);
}

double
ra_model_train_flop(const RaModel *model, const RaBatch *batch)
{
  double forward = ra_model_forward_flop(model, batch);
  double frozen =
      (2 * layer_weights(model) + head_flop(model)) * (double)batch->q_tokens;

  return model->lora_rank > 0 ? 3 * forward - frozen : 3 * forward;
}
