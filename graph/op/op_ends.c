/* The ends of an op list, and what stands between its layers: collectives of
 * tensor parallelism and norms. */
#include "config.h"

#include "graph/input/plan.h"
#include "graph/op/op_mixer.h"

uint64_t
ra_op_activation_bytes(const RaOpBuilder *b)
{
  return b->tokens * b->model->hidden * b->element_bytes;
}

void
ra_op_enter(RaOpBuilder *b)
{
  if (b->phase != RA_PHASE_BACKWARD) {
    if (b->shard->sequence_parallel)
      ra_op_add_tp(b, RA_OP_ALL_GATHER, ra_op_activation_bytes(b));
  } else {
    ra_op_add_tp(b,
                 b->shard->sequence_parallel ? RA_OP_REDUCE_SCATTER
                                             : RA_OP_ALL_REDUCE,
                 ra_op_activation_bytes(b));
  }
}

void
ra_op_leave(RaOpBuilder *b)
{
  if (b->phase != RA_PHASE_BACKWARD)
    ra_op_add_tp(b,
                 b->shard->sequence_parallel ? RA_OP_REDUCE_SCATTER
                                             : RA_OP_ALL_REDUCE,
                 ra_op_activation_bytes(b));
  else if (b->shard->sequence_parallel)
    ra_op_add_tp(b, RA_OP_ALL_GATHER, ra_op_activation_bytes(b));
}

void
ra_op_add_norm(RaOpBuilder *b, uint64_t tokens, uint64_t width)
{
  ra_op_add(b, b->phase == RA_PHASE_BACKWARD ? RA_OP_NORM_BACKWARD : RA_OP_NORM,
            tokens, width, 0, 0);
}

void
ra_op_add_embedding(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  gboolean back = b->phase == RA_PHASE_BACKWARD;

  if (back && m->lora_rank > 0)
    return; /* frozen, and nothing stands before it */
  if (back) {
    if (m->embedding_norm)
      ra_op_add_norm(b, b->sp_tokens, m->hidden);
    ra_op_leave(b);
    ra_op_add(b, RA_OP_EMBEDDING_BACKWARD, b->tokens, m->hidden, b->vocab, 0);
    ra_op_add_tower(b);
    return;
  }
  ra_op_add_tower(b);
  ra_op_add(b, RA_OP_EMBEDDING, b->tokens, m->hidden, b->vocab, 0);
  ra_op_leave(b);
  if (m->position == RA_POSITION_LEARNED)
    ra_op_add(b, RA_OP_ADD, b->sp_tokens, m->hidden, 0, 0);
  if (m->embedding_norm)
    ra_op_add_norm(b, b->sp_tokens, m->hidden);
}

/* Logits of training and inference: inference engines pad their tables. */
static void
add_logits(RaOpBuilder *b, uint64_t rows)
{
  guint i = b->n_ops;

  ra_op_add_matrix(b, rows, b->vocab, b->model->hidden, 1);
  while (b->vocab % 8 != 0 && !b->shard->sampling && i < b->n_ops)
    b->ops[i++].flags |= RA_OP_RAGGED;
}

/* The lm head of a generate call looks at the positions that a pass verifies,
 * one without drafts, and gathers the ranks' logits to sample; elsewhere the
 * vocabulary-parallel cross-entropy sums three fp32 values a token over ranks:
 * maximum, sum of exponentials, its logit (arXiv 1909.08053, section 3). */
static void
add_lm_head(RaOpBuilder *b)
{
  uint64_t rows =
      b->shard->sampling ? b->batch->n_sequences * b->positions : b->tokens;
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

void
ra_op_add_head(RaOpBuilder *b)
{
  const RaModel *m = b->model;
  gboolean back = b->phase == RA_PHASE_BACKWARD;

  if (!back) {
    if (m->n_streams > 0)
      ra_op_add_streams(b, m->n_streams);
    ra_op_add_norm(b, b->sp_tokens, m->hidden);
    if (b->shard->sequence_parallel)
      ra_op_enter(b);
  }
  if (back && b->shard->loss)
    ra_op_add(b, RA_OP_LOSS, b->tokens, 0, 0, 0);
  if (m->head == RA_HEAD_VALUE)
    ra_op_add_matrix(b, b->tokens, 1, m->hidden, 1);
  else
    add_lm_head(b);
  if (!back && b->shard->loss)
    ra_op_add(b, RA_OP_LOSS, b->tokens, 0, 0, 0);
  if (back) {
    if (m->head != RA_HEAD_VALUE)
      ra_op_enter(b);
    ra_op_add_norm(b, b->sp_tokens, m->hidden);
    if (m->n_streams > 0)
      ra_op_add_streams(b, m->n_streams);
  }
}
