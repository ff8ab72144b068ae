#include "config.h"

#include <string.h>

#include "exec/stage_experts_impl.h"

/* --- who goes where --- */

/* Logits are fp32, so that ranks that have made a token's states alike but for
 * roundings seldom choose otherwise. */
static void
route(RaExperts *e, gint32 layer, const RaElem *x)
{
  RaStage *s = e->stage;
  gsize n = e->routing.n_experts, hidden = s->model->hidden;
  double start = ra_stage_begin(s);

  if (e->t > 0)
    s->backend->gemm_f32(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, e->t, n, hidden, x,
                         hidden,
                         ra_stage_weight(s, RA_TENSOR_ROUTER, layer, FALSE),
                         hidden, 0, e->probs, n);
  ra_stage_look_f32(s, RA_OP_GEMM, e->t * n, e->probs);
  ra_stage_record(s, RA_OP_GEMM, start, e->t, n, hidden, 1);
  start = ra_stage_begin(s);
  s->backend->route(&e->routing, e->t, e->probs, e->choice, e->gates);
  ra_stage_record(s, RA_OP_ROUTER, start, e->t, n, e->routing.top_k, 0);
}

/* Places of the rows and everybody's counts: the one thing that the host reads
 * of a layer, as it says how many rows its products have. */
static void
count(RaExperts *e)
{
  RaStage *s = e->stage;
  gsize n_bytes = e->routing.n_experts * sizeof(uint32_t);
  g_autofree uint32_t *mine = g_malloc(n_bytes);
  uint32_t *counted = ra_stage_take_bytes(s, n_bytes);

  s->backend->place_rows(&e->routing, e->n_sent, e->choice, counted, e->place);
  s->backend->read(mine, counted, n_bytes);
  ra_stage_give(s, counted);
  if (s->ep)
    s->ep->table->all_gather(s->ep, mine, e->counts, n_bytes);
  else
    memcpy(e->counts, mine, n_bytes);
  if (e->n_sharers > 1)
    s->tp->table->all_gather(s->tp, e->counts, e->all, s->n_ep * n_bytes);
  for (uint32_t r = 0; r < e->n_sharers; r++) {
    gsize came = 0;

    for (uint64_t x = e->mine.begin; x < e->mine.end; x++)
      came += ra_experts_rows_of_sharer(e, r, x);
    e->n_rows += came;
    e->most = MAX(e->most, came);
    e->n_came = r == ra_experts_sharer_of(e) ? came : e->n_came;
  }
}

/* Each token to its rows, @gates (nullable): times their weights. */
static void
spread(const RaExperts *e, const RaElem *x, const float *gates, RaElem *rows)
{
  gsize hidden = e->stage->model->hidden;
  double start = ra_stage_begin(e->stage);

  e->stage->backend->spread_rows(&e->routing, e->t, hidden, e->place, x, gates,
                                 rows);
  ra_stage_record(e->stage, RA_OP_PERMUTE, start, e->n_sent, hidden,
                  e->routing.top_k, 0);
}

/* A token's rows to their sum; @add: beside what is there. */
static void
collect(const RaExperts *e, const RaElem *rows, const float *gates,
        gboolean add, RaElem *out)
{
  gsize hidden = e->stage->model->hidden;
  double start = ra_stage_begin(e->stage);

  e->stage->backend->collect_rows(&e->routing, e->t, hidden, e->place, rows,
                                  gates, add, out);
  ra_stage_record(e->stage, RA_OP_PERMUTE, start, e->n_sent, hidden,
                  e->routing.top_k, 0);
}

/* --- what experts do --- */

/* Where the tensor of expert @expert is, from that of the rank's first: each
 * has its matrices of a product one behind the other. */
static gsize
expert_at(const RaExperts *e, uint64_t expert, RaTensorKind kind)
{
  const RaStage *s = e->stage;
  gsize n = (gsize)s->expert_ffn * s->model->hidden;

  return (expert - e->mine.begin) * (kind == RA_TENSOR_DOWN ? n : 2 * n);
}

typedef enum { PRODUCT, PRODUCT_INPUT, PRODUCT_WEIGHT } Product;

/* A product of every expert with its rows: y (rows, n) of x (rows, k), or of
 * gradients; one op. */
static void
multiply(const RaExperts *e, gint32 layer, RaTensorKind kind, Product product,
         gsize n, gsize k, const RaElem *a, const RaElem *b, RaElem *out)
{
  RaStage *s = e->stage;
  double start = ra_stage_begin(s);
  const RaElem *weight = ra_stage_weight(s, kind, layer, FALSE);
  float *grad =
      product == PRODUCT_WEIGHT ? ra_stage_grad(s, kind, layer, FALSE) : NULL;
  gsize visited = 0, rows;

  for (uint64_t x = e->mine.begin; x < e->mine.end; x++) {
    gsize m = ra_experts_rows_for(e, x), at = expert_at(e, x, kind);

    visited += m > 0;
    if (m > 0 && product == PRODUCT)
      s->backend->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, m, n, k, a, k,
                       ra_stage_at(s, weight, at), k, 0, out, n);
    else if (m > 0 && product == PRODUCT_INPUT)
      s->backend->gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, m, k, n, a, n,
                       ra_stage_at(s, weight, at), k, 0, out, k);
    else if (m > 0)
      s->backend->gemm_f32(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, k, m, a, n, b, k,
                           1, grad + at, k);
    a = ra_stage_at(s, a, m * (product == PRODUCT ? k : n));
    b = b ? ra_stage_at(s, b, m * k) : NULL;
    out = out ? ra_stage_at(s, out, m * (product == PRODUCT ? n : k)) : NULL;
  }
  if (visited == 0)
    return;
  rows = (e->n_rows + visited - 1) / visited;
  if (product == PRODUCT)
    ra_stage_record(s, RA_OP_GEMM, start, rows, n, k, visited);
  else if (product == PRODUCT_INPUT)
    ra_stage_record(s, RA_OP_GEMM, start, rows, k, n, visited);
  else
    ra_stage_record(s, RA_OP_GEMM, start, n, k, rows, visited);
}

gboolean
ra_experts_share_rows(const RaStage *stage)
{
  return stage->n_ep > 1 && stage->sequence_parallel;
}

static RaExperts *
experts_new(RaStage *s, gsize t)
{
  const RaModel *m = s->model;
  RaExperts *e = g_new0(RaExperts, 1);

  e->stage = s;
  e->routing = (RaCpuRouting){.n_experts = m->n_experts,
                              .top_k = m->experts_per_token,
                              .raw = s->numerics.raw_top_k};
  e->t = t;
  e->n_sent = t * m->experts_per_token;
  e->mine = ra_layout_experts(m, s->n_ep, ra_experts_rank_of(e));
  e->choice = ra_stage_take_bytes(s, e->n_sent * sizeof *e->choice);
  e->place = ra_stage_take_bytes(s, e->n_sent * sizeof *e->place);
  e->n_sharers = ra_experts_share_rows(s) ? s->n_tp : 1;
  e->all = g_new(uint32_t, e->n_sharers * s->n_ep * (gsize)m->n_experts);
  e->counts = e->all + ra_experts_sharer_of(e) * s->n_ep * (gsize)m->n_experts;
  e->probs = ra_stage_take_bytes(s, t * m->n_experts * sizeof *e->probs);
  e->gates = ra_stage_take_bytes(s, e->n_sent * sizeof *e->gates);
  return e;
}

void
ra_experts_free(RaExperts *experts)
{
  RaStage *s;

  if (!experts)
    return;
  s = experts->stage;
  ra_stage_give(s, experts->choice);
  ra_stage_give(s, experts->place);
  ra_stage_give(s, experts->probs);
  ra_stage_give(s, experts->gates);
  ra_stage_give(s, experts->in);
  ra_stage_give(s, experts->gate_up);
  ra_stage_give(s, experts->active);
  ra_stage_give(s, experts->back);
  g_free(experts->all);
  g_free(experts);
}

RaExperts *
ra_experts_forward(RaStage *stage, gint32 layer, gsize t, const RaElem *x,
                   RaElem *out)
{
  RaExperts *e = experts_new(stage, t);
  gsize hidden = stage->model->hidden, ffn = stage->expert_ffn;
  RaElem *made;

  route(e, layer, x);
  count(e);
  e->in = ra_stage_take(stage, e->n_rows * hidden);
  e->gate_up = ra_stage_take(stage, e->n_rows * 2 * ffn);
  e->active = ra_stage_take(stage, e->n_rows * ffn);
  e->back = ra_stage_take(stage, e->n_sent * hidden);
  spread(e, x, NULL, e->back); /* free until the rows are back */
  ra_experts_dispatch(e, e->back, e->in);
  multiply(e, layer, RA_TENSOR_GATE, PRODUCT, 2 * ffn, hidden, e->in, NULL,
           e->gate_up);
  ra_stage_swiglu(stage, e->n_rows, ffn, e->gate_up, e->active);
  made = ra_stage_take(stage, e->n_rows * hidden);
  multiply(e, layer, RA_TENSOR_DOWN, PRODUCT, hidden, ffn, e->active, NULL,
           made);
  ra_experts_combine(e, made, e->back);
  ra_stage_give(stage, made);
  collect(e, e->back, e->gates, FALSE, out);
  return e;
}

static void
route_backward(const RaExperts *e, const RaElem *d_out, RaElem *d_logits)
{
  RaStage *s = e->stage;
  double start = ra_stage_begin(s);

  s->backend->route_backward(&e->routing, e->t, s->model->hidden, e->probs,
                             e->choice, e->gates, e->place, d_out, e->back,
                             d_logits);
  ra_stage_record(s, RA_OP_ROUTER, start, e->t, e->routing.n_experts,
                  e->routing.top_k, 0);
}

/* From the gradient of the rows' outputs to that of their inputs. */
static void
rows_backward(const RaExperts *e, gint32 layer, const RaElem *d_made,
              RaElem *d_in)
{
  RaStage *s = e->stage;
  gsize hidden = s->model->hidden, ffn = s->expert_ffn;
  RaElem *d_active = ra_stage_take(s, e->n_rows * 3 * ffn);
  RaElem *d_gate_up = ra_stage_at(s, d_active, e->n_rows * ffn);

  multiply(e, layer, RA_TENSOR_DOWN, PRODUCT_INPUT, hidden, ffn, d_made, NULL,
           d_active);
  multiply(e, layer, RA_TENSOR_DOWN, PRODUCT_WEIGHT, hidden, ffn, d_made,
           e->active, NULL);
  ra_stage_swiglu_backward(s, e->n_rows, ffn, e->gate_up, d_active, d_gate_up);
  multiply(e, layer, RA_TENSOR_GATE, PRODUCT_INPUT, 2 * ffn, hidden, d_gate_up,
           NULL, d_in);
  multiply(e, layer, RA_TENSOR_GATE, PRODUCT_WEIGHT, 2 * ffn, hidden, d_gate_up,
           e->in, NULL);
  ra_stage_give(s, d_active);
}

void
ra_experts_backward(const RaExperts *e, gint32 layer, const RaElem *x,
                    const RaElem *d_out, RaElem *d_x)
{
  RaStage *s = e->stage;
  gsize hidden = s->model->hidden, n = s->model->n_experts;
  RaElem *d_logits = ra_stage_take(s, e->t * n);
  RaElem *d_here = ra_stage_take(s, e->n_sent * hidden);
  RaElem *d_there = ra_stage_take(s, e->n_rows * 2 * hidden);
  RaElem *d_in = ra_stage_at(s, d_there, e->n_rows * hidden);

  route_backward(e, d_out, d_logits);
  ra_stage_linear_input(s, e->t, n, hidden, d_logits,
                        ra_stage_weight(s, RA_TENSOR_ROUTER, layer, FALSE),
                        d_x);
  ra_stage_linear_weight(s, e->t, n, hidden, d_logits, x,
                         ra_stage_grad(s, RA_TENSOR_ROUTER, layer, FALSE),
                         NULL);
  spread(e, d_out, e->gates, d_here);
  ra_experts_dispatch(e, d_here, d_there);
  rows_backward(e, layer, d_there, d_in);
  ra_experts_combine(e, d_in, d_here);
  collect(e, d_here, NULL, TRUE, d_x);
  ra_stage_give(s, d_there);
  ra_stage_give(s, d_here);
  ra_stage_give(s, d_logits);
}
