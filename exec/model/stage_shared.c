/* Shared experts, forward and backward. */
#include "config.h"

#include "exec/model/stage_shared.h"

struct _RaShared {
  RaStage *stage;  /* borrowed */
  gsize t;         /* tokens */
  gsize width;     /* of the MLP, of this rank */
  RaElem *gate_up; /* (t, 2 width) */
  RaElem *active;  /* (t, width) */
  RaElem *made;    /* (t, hidden) */
  RaElem *gate;    /* (t) logits of the gate; NULL: there is none */
  RaElem *gated;   /* (t, hidden) with the gate */
};

/* The row of the gate is behind those of the router. */
static gsize
gate_offset(const RaModel *m)
{
  return (gsize)m->n_experts * m->hidden;
}

static const RaElem *
gate_weight(const RaStage *s, gint32 layer)
{
  return ra_stage_at(s, ra_stage_weight(s, RA_TENSOR_ROUTER, layer, FALSE),
                     gate_offset(s->model));
}

static float *
gate_grad(const RaStage *s, gint32 layer)
{
  return ra_stage_grad(s, RA_TENSOR_ROUTER, layer, FALSE) +
         gate_offset(s->model);
}

static void
gate_forward(RaShared *h, gint32 layer, const RaElem *x)
{
  RaStage *s = h->stage;
  gsize hidden = s->model->hidden;
  double start;

  h->gate = ra_stage_take(s, h->t);
  h->gated = ra_stage_take(s, h->t * hidden);
  ra_stage_linear(s, h->t, 1, hidden, x, gate_weight(s, layer), NULL, h->gate);
  start = ra_stage_begin(s);
  s->backend->gate_rows(h->t, hidden, h->gate, h->made, h->gated);
  ra_stage_record(s, RA_OP_ADD, start, h->t, hidden, 0, 0);
}

RaShared *
ra_shared_forward(RaStage *s, gint32 layer, gsize t, const RaElem *x)
{
  RaShared *h = g_new0(RaShared, 1);
  gsize hidden = s->model->hidden, width = s->model->shared_ffn / s->n_tp;

  h->stage = s;
  h->t = t;
  h->width = width;
  h->gate_up = ra_stage_take(s, t * 2 * width);
  h->active = ra_stage_take(s, t * width);
  h->made = ra_stage_take(s, t * hidden);
  ra_stage_linear(s, t, 2 * width, hidden, x,
                  ra_stage_weight(s, RA_TENSOR_GATE, layer, FALSE), NULL,
                  h->gate_up);
  ra_stage_swiglu(s, t, width, h->gate_up, h->active);
  ra_stage_linear(s, t, hidden, width, h->active,
                  ra_stage_weight(s, RA_TENSOR_DOWN, layer, FALSE), NULL,
                  h->made);
  if (s->model->shared_gate)
    gate_forward(h, layer, x);
  return h;
}

const RaElem *
ra_shared_out(const RaShared *shared)
{
  return shared->gate ? shared->gated : shared->made;
}

/* @d_made: (t, hidden), written; @d_x: added to. */
static void
gate_backward(const RaShared *h, gint32 layer, const RaElem *x,
              const RaElem *d_out, RaElem *d_made, RaElem *d_x)
{
  RaStage *s = h->stage;
  gsize hidden = s->model->hidden;
  RaElem *d_gate = ra_stage_take(s, h->t);
  RaElem *d = ra_stage_take(s, h->t * hidden);
  double start = ra_stage_begin(s);

  s->backend->gate_rows_backward(h->t, hidden, h->gate, h->made, d_out, d_made,
                                 d_gate);
  ra_stage_record(s, RA_OP_ADD, start, h->t, hidden, 0, 0);
  ra_stage_linear_input(s, h->t, 1, hidden, d_gate, gate_weight(s, layer), d);
  ra_stage_linear_weight(s, h->t, 1, hidden, d_gate, x, gate_grad(s, layer),
                         NULL);
  s->backend->add(h->t * hidden, d, d_x);
  ra_stage_give(s, d);
  ra_stage_give(s, d_gate);
}

void
ra_shared_backward(RaShared *h, gint32 layer, const RaElem *x,
                   const RaElem *d_out, RaElem *d_x)
{
  RaStage *s = h->stage;
  gsize hidden = s->model->hidden, t = h->t, width = h->width;
  RaElem *d_active = ra_stage_take(s, t * 3 * width);
  RaElem *d_gate_up = ra_stage_at(s, d_active, t * width);
  RaElem *d_made = h->gate ? ra_stage_take(s, t * hidden) : NULL;

  s->backend->zero(d_x, t * hidden * s->backend->elem_bytes);
  if (h->gate) {
    gate_backward(h, layer, x, d_out, d_made, d_x);
    d_out = d_made;
  }
  ra_stage_linear_input(s, t, hidden, width, d_out,
                        ra_stage_weight(s, RA_TENSOR_DOWN, layer, FALSE),
                        d_active);
  ra_stage_linear_weight(s, t, hidden, width, d_out, h->active,
                         ra_stage_grad(s, RA_TENSOR_DOWN, layer, FALSE), NULL);
  ra_stage_swiglu_backward(s, t, width, h->gate_up, d_active, d_gate_up);
  if (!d_made)
    d_made = ra_stage_take(s, t * hidden);
  ra_stage_linear_input(s, t, 2 * width, hidden, d_gate_up,
                        ra_stage_weight(s, RA_TENSOR_GATE, layer, FALSE),
                        d_made);
  ra_stage_linear_weight(s, t, 2 * width, hidden, d_gate_up, x,
                         ra_stage_grad(s, RA_TENSOR_GATE, layer, FALSE), NULL);
  s->backend->add(t * hidden, d_made, d_x);
  ra_stage_give(s, d_made);
  ra_stage_give(s, d_active);
}

void
ra_shared_free(RaShared *shared)
{
  RaStage *s;

  if (!shared)
    return;
  s = shared->stage;
  ra_stage_give(s, shared->gate_up);
  ra_stage_give(s, shared->active);
  ra_stage_give(s, shared->made);
  ra_stage_give(s, shared->gate);
  ra_stage_give(s, shared->gated);
  g_free(shared);
}
