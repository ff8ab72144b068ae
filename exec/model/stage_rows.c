/* Rows between GEMMs: the hidden states of a micro-batch's tokens.  The ranks
 * of a tensor-parallel group each have all rows or, with sequence parallelism
 * (arXiv 2205.05198, section 4.2.2), a part.  They gather the parts before
 * GEMMs, and reduce-scatter the results. */
#include "config.h"

#include "exec/model/stage_steps.h"

gsize
ra_stage_room(const RaStage *s, gsize t)
{
  return s->sequence_parallel ? (t + s->n_tp - 1) / s->n_tp : t;
}

gsize
ra_stage_n_rows(const RaStage *s, gsize t)
{
  gsize room = ra_stage_room(s, t);
  gsize first = s->sequence_parallel ? MIN(s->tp->rank * room, t) : 0;

  return MIN(room, t - first);
}

gsize
ra_stage_whole_n(const RaStage *s, gsize t)
{
  gsize n_ranks = s->sequence_parallel ? s->n_tp : 1;

  return ra_stage_room(s, t) * n_ranks * s->model->hidden;
}

RaElem *
ra_stage_take_whole(RaStage *s, gsize t)
{
  return s->sequence_parallel ? ra_stage_take(s, ra_stage_whole_n(s, t)) : NULL;
}

RaElem *
ra_stage_rows_of(const RaStage *s, gsize t, RaElem *whole)
{
  return s->sequence_parallel
             ? ra_stage_at(s, whole,
                           s->tp->rank * ra_stage_room(s, t) * s->model->hidden)
             : whole;
}

const RaElem *
ra_stage_gather_rows(RaStage *s, gsize t, const RaElem *rows, RaElem *whole,
                     gboolean again)
{
  double start = ra_stage_begin(s);
  gsize hidden = s->model->hidden;

  if (!s->sequence_parallel)
    return rows;
  ra_steps_collective(s, RA_STEPS_ALL_GATHER, rows, whole,
                      ra_stage_room(s, t) * hidden);
  if (!again)
    ra_stage_record(s, RA_OP_ALL_GATHER, start,
                    t * hidden * s->backend->elem_bytes, s->n_tp, 0, 0);
  return whole;
}

void
ra_stage_sum_rows(RaStage *s, gsize t, RaElem *whole, RaElem *rows)
{
  double start = ra_stage_begin(s);
  gsize n = t * s->model->hidden, n_rows = ra_stage_n_rows(s, t);
  RaOpKind kind =
      s->sequence_parallel ? RA_OP_REDUCE_SCATTER : RA_OP_ALL_REDUCE;

  if (!s->tp)
    return;
  if (s->sequence_parallel) {
    s->backend->zero(ra_stage_at(s, whole, n),
                     (ra_stage_whole_n(s, t) - n) * s->backend->elem_bytes);
    ra_steps_collective(s, RA_STEPS_REDUCE_SCATTER, whole, rows,
                        ra_stage_room(s, t) * s->model->hidden);
  } else {
    g_assert(whole == rows);
    ra_steps_collective(s, RA_STEPS_ALL_REDUCE, whole, whole, n);
  }
  ra_stage_look(s, kind, n_rows * s->model->hidden, rows);
  ra_stage_record(s, kind, start, n * s->backend->elem_bytes, s->n_tp, 0, 0);
}

void
ra_stage_add_summed_bias(RaStage *s, gsize t, const RaElem *bias, RaElem *y)
{
  if (bias && s->tp)
    s->backend->add_bias(t, s->model->hidden, bias, y);
}

void
ra_stage_add_positions(RaStage *s, gsize t, const uint32_t *positions,
                       RaElem *rows)
{
  double start = ra_stage_begin(s);
  gsize n = ra_stage_n_rows(s, t), hidden = s->model->hidden;
  gsize first = s->sequence_parallel ? s->tp->rank * ra_stage_room(s, t) : 0;
  RaElem *made;

  if (s->model->position != RA_POSITION_LEARNED)
    return;
  made = ra_stage_take(s, n * hidden);
  s->backend->embedding(
      n, hidden, 0, s->model->max_positions, positions + MIN(first, t),
      ra_stage_weight(s, RA_TENSOR_POSITION, RA_TENSOR_NO_LAYER, FALSE), made);
  s->backend->add(n * hidden, made, rows);
  ra_stage_give(s, made);
  ra_stage_record(s, RA_OP_ADD, start, n, hidden, 0, 0);
}
