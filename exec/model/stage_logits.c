/* Logits of a rank: rows of its part of the vocabulary, padded
 * (ra_logits_row()), and the ops on them. */
#include "config.h"

#include "exec/comm/device_comm.h"
#include "exec/model/stage_steps.h"

RaSpan
ra_stage_vocab(const RaStage *stage)
{
  uint64_t vocab = stage->model->vocab, pad = stage->vocab_pad;
  uint64_t rank = stage->tp ? stage->tp->rank : 0;

  return (RaSpan){.begin = MIN(rank * pad, vocab),
                  .end = MIN((rank + 1) * pad, vocab)};
}

/* Columns of this rank's logits. */
static gsize
n_vocab(const RaStage *stage)
{
  RaSpan vocab = ra_stage_vocab(stage);

  return vocab.end - vocab.begin;
}

/* The tensor that the head multiplies by: NULL: none of its rows here. */
static const RaParam *
head_param(const RaStage *stage)
{
  RaTensorKind kind =
      stage->model->head == RA_HEAD_VALUE || !stage->model->tied_embeddings
          ? RA_TENSOR_HEAD
          : RA_TENSOR_EMBEDDING;

  return ra_params_find(stage->params, kind, RA_TENSOR_NO_LAYER, FALSE);
}

const RaElem *
ra_stage_head_weight(const RaStage *stage)
{
  const RaParam *param = head_param(stage);

  return param ? ra_stage_at(stage, (const RaElem *)stage->params->weights,
                             param->offset)
               : NULL;
}

float *
ra_stage_head_grad(const RaStage *stage)
{
  const RaParam *param = head_param(stage);

  return param ? stage->params->grads + param->offset : NULL;
}

/* TRUE if rows of some rank have padding columns, of undefined value. */
static gboolean
logits_padded(const RaStage *stage)
{
  return stage->logits_row * stage->n_tp != stage->model->vocab;
}

void
ra_stage_logits(RaStage *s, gsize t, const RaElem *x, RaElem *logits)
{
  double start = ra_stage_begin(s);
  gsize n = n_vocab(s), k = s->model->hidden;

  if (t > 0)
    s->backend->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, t, n, k, x, k,
                     ra_stage_head_weight(s), k, 0, logits, s->logits_row);
  if (!logits_padded(s))
    ra_stage_look(s, RA_OP_GEMM, t * n, logits);
  ra_stage_record(s, RA_OP_GEMM, start, t, n, k, 1);
}

void
ra_stage_logits_backward(RaStage *s, gsize t, const RaElem *d_logits,
                         RaElem *d_x)
{
  double start = ra_stage_begin(s);
  gsize n = n_vocab(s), k = s->model->hidden;

  if (t > 0)
    s->backend->gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, t, k, n, d_logits,
                     s->logits_row, ra_stage_head_weight(s), k, 0, d_x, k);
  ra_stage_look(s, RA_OP_GEMM, t * k, d_x);
  ra_stage_record(s, RA_OP_GEMM, start, t, k, n, 1);
}

void
ra_stage_logits_weight(RaStage *s, gsize t, const RaElem *d_logits,
                       const RaElem *x)
{
  double start = ra_stage_begin(s);
  gsize n = n_vocab(s), k = s->model->hidden;
  float *d_weight = ra_stage_head_grad(s);

  if (t > 0)
    s->backend->gemm_f32(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, k, t, d_logits,
                         s->logits_row, x, k, 1, d_weight, k);
  ra_stage_look_f32(s, RA_OP_GEMM, n * k, d_weight);
  ra_stage_record(s, RA_OP_GEMM, start, n, k, t, 1);
}

/* The three numbers of a row are gathered, not summed: as many bytes, and the
 * maximum needs no collective of its own. */
void
ra_stage_log_prob(RaStage *s, gsize t, const RaElem *logits,
                  const uint32_t *targets, float *out_log_prob, float *out_lse)
{
  double start = ra_stage_begin(s);
  RaSpan vocab = ra_stage_vocab(s);
  gsize n_bytes = t * sizeof(RaCpuLogSum), rank = s->tp ? s->tp->rank : 0;
  RaCpuLogSum *sums = ra_stage_take_bytes(s, s->n_tp * n_bytes);

  s->backend->log_sum(t, (uint32_t)vocab.begin,
                      (uint32_t)(vocab.end - vocab.begin), s->logits_row,
                      logits, targets, sums + rank * t);
  ra_stage_record(s, RA_OP_CROSS_ENTROPY, start, t, s->vocab_pad, 0, 0);
  start = ra_stage_begin(s);
  if (s->tp) {
    ra_device_comm_all_gather(s->backend, s->tp, sums + rank * t, sums,
                              n_bytes);
    ra_stage_record(s, RA_OP_ALL_REDUCE, start, n_bytes, s->n_tp, 0, 0);
  }
  s->backend->log_prob(t, s->n_tp, sums, out_log_prob, out_lse);
  ra_stage_look_last(s, RA_OP_CROSS_ENTROPY, t, out_log_prob, TRUE);
  ra_stage_give(s, sums);
}

void
ra_stage_log_prob_backward(RaStage *s, gsize t, const uint32_t *targets,
                           const float *lse, const float *d_log_prob,
                           RaElem *logits)
{
  double start = ra_stage_begin(s);
  RaSpan vocab = ra_stage_vocab(s);

  s->backend->log_prob_backward(
      t, (uint32_t)vocab.begin, (uint32_t)(vocab.end - vocab.begin),
      s->logits_row, targets, lse, d_log_prob, logits);
  ra_stage_look(s, RA_OP_CROSS_ENTROPY_BACKWARD, t * s->logits_row, logits);
  ra_stage_record(s, RA_OP_CROSS_ENTROPY_BACKWARD, start, t, s->vocab_pad, 0,
                  0);
}

/* (t, vocab) of all ranks from (t, this rank's); @out: in device memory. */
static void
gather_logits(RaStage *s, gsize t, const RaElem *logits, RaElem *out)
{
  double start;
  gsize n_mine = n_vocab(s), vocab = s->model->vocab;
  gsize part = t * s->vocab_pad;
  RaElem *all, *mine_at;

  if (!s->tp) {
    s->backend->copy_rect(t, vocab, logits, s->logits_row, out, vocab);
    return;
  }
  all = ra_stage_take(s, part * s->n_tp);
  mine_at = ra_stage_at(s, all, s->tp->rank * part);
  s->backend->copy_rect(t, n_mine, logits, s->logits_row, mine_at,
                        s->vocab_pad);
  start = ra_stage_begin(s);
  ra_steps_collective(s, RA_STEPS_ALL_GATHER, mine_at, all, part);
  ra_stage_record(s, RA_OP_ALL_GATHER, start,
                  part * s->n_tp * s->backend->elem_bytes, s->n_tp, 0, 0);
  for (gsize rank = 0; rank < s->n_tp; rank++) {
    gsize first = MIN(rank * s->vocab_pad, vocab);

    s->backend->copy_rect(t, MIN(s->vocab_pad, vocab - first),
                          ra_stage_at(s, all, rank * part), s->vocab_pad,
                          ra_stage_at(s, out, first), vocab);
  }
  ra_stage_give(s, all);
}

RaElem *
ra_stage_take_logits(RaStage *s, gsize n)
{
  return s->backend->is_host ? NULL : ra_stage_take(s, n * s->model->vocab);
}

void
ra_stage_row_logits(RaStage *s, gsize n, const RaElem *normed, RaElem *all)
{
  gboolean are_all = !s->tp && s->logits_row == s->model->vocab;
  RaElem *logits = are_all ? all : ra_stage_take(s, n * s->logits_row);

  ra_stage_logits(s, n, normed, logits);
  if (!are_all)
    gather_logits(s, n, logits, all);
  if (logits_padded(s) || !s->checks_ops)
    ra_stage_look_last(s, RA_OP_GEMM, n * s->model->vocab, all, FALSE);
  if (!are_all)
    ra_stage_give(s, logits);
}

static void
draw_tokens(RaStage *s, gsize n, const RaElem *logits)
{
  const RaDraw *d = s->draw;
  uint32_t vocab = s->model->vocab;
  double start = ra_stage_begin(s);

  if (d->slots)
    s->backend->draw(n, vocab, logits, &d->how, d->uniforms, d->n_slots,
                     d->slots, d->out);
  else
    s->backend->sample(n, vocab, logits, &d->how, d->uniforms, d->out);
  ra_stage_record(s, RA_OP_SAMPLE, start, n, vocab, 0, 0);
}

void
ra_stage_end_logits(RaStage *s, gsize n, const RaElem *all, float *out)
{
  if (s->draw)
    draw_tokens(s, n, all);
  else if (!s->backend->is_host)
    s->backend->read_elems(n * s->model->vocab, all, out);
}
