/* Counts: parameters of a piece, FLOP of a model. */
#include "config.h"

#include <string.h>

#include "graph/input/lora.h"
#include "graph/op/op_mixer.h"

static uint64_t
ceil_div(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

double
ra_experts_parts_met(double n_experts, double n_chosen, double n_parts)
{
  double part = n_experts / n_parts, none = 1;

  for (double i = 0; i < n_chosen && i < n_experts; i++)
    none *= MAX(n_experts - part - i, 0) / (n_experts - i);
  return n_parts * (1 - none);
}

/* (1 - k / E)^n by squaring: the same on every machine. */
static double
missed_frac(uint64_t k, uint64_t n_experts, uint64_t n)
{
  double base = 1 - (double)k / (double)n_experts, power = 1;

  for (; n > 0; n >>= 1) {
    if (n & 1)
      power *= base;
    base *= base;
  }
  return power;
}

static uint64_t
n_met(uint64_t k, uint64_t n_experts, uint64_t ep, uint64_t n_tokens,
      uint64_t choices)
{
  uint64_t n_local = n_experts / ep;
  double seen = (double)n_local * (1 - missed_frac(k, n_experts, n_tokens));

  return CLAMP((uint64_t)(seen + 0.5), 1, MIN(choices, n_local));
}

uint64_t
ra_experts_met(const RaModel *m, uint32_t ep, uint64_t n_tokens,
               uint64_t choices)
{
  return n_met(m->experts_per_token, m->n_experts, ep, n_tokens, choices);
}

uint64_t
ra_op_experts_rows(const RaOp *op)
{
  return ceil_div(op->dim[0] * op->dim[4], MAX(op->dim[5], 1));
}

uint64_t
ra_op_experts_met(const RaOp *op)
{
  uint64_t n = MAX(op->dim[3], 1), ep = CLAMP(op->dim[5], 1, n);

  return n_met(MIN(op->dim[4], n), n, ep, op->dim[0],
               MAX(ra_op_experts_rows(op), 1));
}

uint64_t
ra_piece_n_expert_params(const RaShard *shard, const RaPiece *piece)
{
  const RaModel *m = shard->model;
  uint32_t cut = shard->expert_tp > 0 ? shard->expert_tp : shard->tp;
  uint32_t n_of[RA_MODEL_MAX_KINDS];
  uint64_t n = 0;

  if (m->n_experts == 0)
    return 0;
  ra_model_count_kinds(m, piece->first_layer, piece->n_layers, n_of);
  for (uint32_t k = 0; k < ra_model_n_kinds(m); k++)
    if (n_of[k] > 0)
      n += n_of[k] * (ra_model_kind_n_params(m, k, RA_PART_EXPERTS, cut) /
                      m->n_experts * (m->n_experts / MAX(shard->ep, 1u)));
  return n;
}

/* Parameters outside layers. */
static uint64_t
ends_n_params(const RaShard *shard, const RaPiece *piece)
{
  const RaModel *m = shard->model;
  uint64_t h = m->hidden, norm = m->norm_bias ? 2 * h : h;
  uint64_t vocab = ceil_div(m->vocab, shard->tp), n = 0;

  if (piece->has_embedding) {
    n += vocab * h + ra_model_vision_n_params(m, shard->tp);
    if (m->position == RA_POSITION_LEARNED)
      n += (uint64_t)m->max_positions * h;
    if (m->embedding_norm)
      n += norm;
  }
  if (piece->has_head) {
    n += ra_model_final_norm_n_params(m) +
         (m->head_bias && m->head != RA_HEAD_VALUE ? vocab : 0);
    if (m->head == RA_HEAD_VALUE)
      n += h;
    else if (!m->tied_embeddings || !piece->has_embedding)
      n += vocab * h; /* a tied head on another stage is a copy */
  }
  return n;
}

RaPiece
ra_piece_fp8_layers(const RaShard *shard, const RaPiece *piece)
{
  uint32_t all = shard->model->n_layers, first, end;

  first = MAX(piece->first_layer, shard->bf16_first);
  end = MIN(piece->first_layer + piece->n_layers,
            all - MIN(shard->bf16_last, all));
  if (!shard->fp8_gemms || first >= end)
    return (RaPiece){.first_layer = piece->first_layer};
  return (RaPiece){.first_layer = first, .n_layers = end - first};
}

static gboolean
same_kinds(const RaModel *model, const RaPiece *a, const RaPiece *b)
{
  uint32_t n_a[RA_MODEL_MAX_KINDS], n_b[RA_MODEL_MAX_KINDS];

  ra_model_count_kinds(model, a->first_layer, a->n_layers, n_a);
  ra_model_count_kinds(model, b->first_layer, b->n_layers, n_b);
  return memcmp(n_a, n_b, sizeof n_a) == 0;
}

gboolean
ra_piece_is_alike(const RaShard *shard, const RaPiece *a, const RaPiece *b)
{
  RaPiece in_a = ra_piece_fp8_layers(shard, a);
  RaPiece in_b = ra_piece_fp8_layers(shard, b);

  return same_kinds(shard->model, a, b) &&
         same_kinds(shard->model, &in_a, &in_b) &&
         a->has_embedding == b->has_embedding && a->has_head == b->has_head &&
         (a->first_layer == 0) == (b->first_layer == 0);
}

uint64_t
ra_piece_n_params(const RaShard *shard, const RaPiece *piece)
{
  const RaModel *m = shard->model;
  guint parts = RA_PART_ALL - RA_PART_EXPERTS;
  uint32_t n_of[RA_MODEL_MAX_KINDS];
  uint64_t n =
      ends_n_params(shard, piece) + ra_piece_n_expert_params(shard, piece) +
      ra_lora_n_params(m, piece->first_layer, piece->n_layers, shard->tp);

  ra_model_count_kinds(m, piece->first_layer, piece->n_layers, n_of);
  for (uint32_t k = 0; k < ra_model_n_kinds(m); k++)
    if (n_of[k] > 0)
      n += n_of[k] * ra_model_kind_n_params(m, k, parts, shard->tp);
  return n;
}

uint64_t
ra_piece_n_trained(const RaShard *shard, const RaPiece *piece)
{
  return shard->model->lora_rank > 0
             ? ra_lora_n_params(shard->model, piece->first_layer,
                                piece->n_layers, shard->tp)
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
  uint32_t n_of[RA_MODEL_MAX_KINDS];
  double n = 0;

  ra_model_count_kinds(m, 0, m->n_layers, n_of);
  for (uint32_t k = 0; k < ra_model_n_kinds(m); k++)
    n += n_of[k] * (double)ra_model_kind_n_weights(m, k);
  return n;
}

/* FLOP by which the mixer of a layer of kind @kind sees other tokens: scores
 * and values of the pairs that it attends to, an indexer's scores of all pairs;
 * of a state its read, its update and, by a delta rule, its correction. */
static double
mixing_flop(const RaModel *m, uint32_t kind, const RaBatch *batch)
{
  const RaLayerKind *k = &m->kinds[kind];
  double heads = ra_model_kind_heads(m, kind), tokens = (double)batch->q_tokens;
  double state = 2 * (double)m->n_value_heads * m->key_dim * m->state_dim;
  double pairs, all = (double)batch->pairs;

  switch ((RaMixer)k->mixer) {
  case RA_MIXER_ATTENTION:
    pairs = (double)ra_op_pairs(batch, ra_model_kind_window(m, kind));
    return 4 * heads * ra_model_kind_head_dim(m, kind) * pairs +
           (k->indexer ? 2 * (double)m->index_heads * m->index_dim * all : 0);
  case RA_MIXER_LATENT:
    pairs = (double)ra_op_pairs(batch, m->index_top_k);
    return 2 * heads * ((double)m->nope_dim + m->rope_dim + m->value_dim) *
               pairs +
           (k->indexer ? 2 * (double)m->index_heads * m->index_dim * all : 0);
  case RA_MIXER_COMPRESSED:
    pairs = (double)ra_op_pairs(batch, k->window);
    if (k->compress > 0)
      pairs += (double)ra_op_entry_pairs(batch, k->compress,
                                         k->indexer ? m->index_top_k : 0);
    if (k->indexer)
      all = (double)ra_op_entry_pairs(batch, k->compress, 0);
    return 4 * heads * m->head_dim * pairs +
           (k->indexer ? 2 * (double)m->index_heads * m->index_dim * all : 0);
  case RA_MIXER_DELTA:
  case RA_MIXER_KIMI:
    return 3 * state * tokens;
  case RA_MIXER_MAMBA:
    return 2 * state * tokens;
  default:
    return 0;
  }
}

/* FLOP of the head per row, with the sum of residual streams before it. */
static double
head_flop(const RaModel *m)
{
  double h = m->hidden, n = m->n_streams;

  return 2 * (n * n * h + (m->head == RA_HEAD_VALUE ? h : h * m->vocab));
}

/* Forward FLOP of @batch with the head at @head_rows positions and the images
 * of @n_prompts prompts. */
static double
forward_flop(const RaModel *m, const RaBatch *batch, double head_rows,
             uint32_t n_prompts)
{
  double adapters = (double)ra_lora_n_params(m, 0, m->n_layers, 1);
  uint32_t n_of[RA_MODEL_MAX_KINDS];
  double mixing = 0;

  ra_model_count_kinds(m, 0, m->n_layers, n_of);
  for (uint32_t k = 0; k < ra_model_n_kinds(m); k++)
    mixing += n_of[k] > 0 ? n_of[k] * mixing_flop(m, k, batch) : 0;
  return 2 * (layer_weights(m) + adapters) * (double)batch->q_tokens +
         head_flop(m) * head_rows + mixing + ra_op_tower_flop(m, n_prompts);
}

/* Parameters of experts that are gathered apart. */
static uint64_t
n_spread(const RaShard *shard, const RaPiece *piece)
{
  return shard->zero_expert_ranks > 0 ? ra_piece_n_expert_params(shard, piece)
                                      : 0;
}

RaOp
ra_op_gather_experts(const RaShard *shard, const RaPiece *piece)
{
  return (RaOp){.kind = RA_OP_ALL_GATHER,
                .dtype = shard->dtype,
                .count = 1,
                .dim = {n_spread(shard, piece) *
                            ra_dtype_bytes((RaDtype)shard->dtype),
                        shard->zero_expert_ranks,
                        shard->zero_expert_ranks_per_node,
                        shard->zero_expert_groups_per_node}};
}

RaOp
ra_op_gather(const RaShard *shard, const RaPiece *piece)
{
  RaOp op = {.kind = RA_OP_ALL_GATHER, .dtype = shard->dtype, .count = 1};

  if (shard->zero_ranks == 0)
    return op;
  op.dim[0] = (ra_piece_n_params(shard, piece) - n_spread(shard, piece)) *
              ra_dtype_bytes((RaDtype)shard->dtype);
  op.dim[1] = shard->zero_ranks;
  op.dim[2] = shard->zero_ranks_per_node;
  op.dim[3] = shard->zero_groups_per_node;
  return op;
}

double
ra_model_forward_flop(const RaModel *model, const RaBatch *batch)
{
  return forward_flop(model, batch, (double)batch->q_tokens,
                      batch->n_sequences);
}

double
ra_model_decode_flop(const RaModel *model, const RaBatch *batch)
{
  return forward_flop(model, batch, (double)batch->q_tokens, 0);
}

double
ra_model_prefill_flop(const RaModel *model, const RaBatch *batch)
{
  return forward_flop(model, batch, (double)batch->n_sequences,
                      batch->n_sequences);
}

double
ra_model_train_flop(const RaModel *model, const RaBatch *batch)
{
  double forward = ra_model_forward_flop(model, batch);
  double frozen =
      (2 * layer_weights(model) + head_flop(model)) * (double)batch->q_tokens +
      2 * ra_op_tower_flop(model, batch->n_sequences);

  return model->lora_rank > 0 ? 3 * forward - frozen : 3 * forward;
}
