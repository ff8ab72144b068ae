#include "config.h"

#include <math.h>
#include <string.h>

#include "exec/stage_experts_impl.h"

#define ELEMS ra_host_elems

/* --- who goes where --- */

static void
softmax(gsize n, float *x)
{
  float most = x[0];
  double sum = 0;

  for (gsize i = 1; i < n; i++)
    most = fmaxf(most, x[i]);
  for (gsize i = 0; i < n; i++) {
    x[i] = expf(x[i] - most);
    sum += (double)x[i];
  }
  for (gsize i = 0; i < n; i++)
    x[i] = (float)((double)x[i] / sum);
}

/* The k largest of (n), largest first, of equal ones the first. */
static void
choose(gsize n, gsize k, const float *probs, uint32_t *out)
{
  for (gsize j = 0; j < k; j++) {
    gsize best = n;

    for (gsize i = 0; i < n; i++) {
      gboolean taken = FALSE;

      for (gsize b = 0; b < j; b++)
        taken |= out[b] == i;
      if (!taken && (best == n || probs[i] > probs[best]))
        best = i;
    }
    out[j] = (uint32_t)best;
  }
}

static void
route(RaExperts *e)
{
  gsize n = e->stage->model->n_experts, k = ra_experts_top_k(e);
  double start = ra_stage_begin(e->stage);

  for (gsize i = 0; i < e->t; i++) {
    float *probs = e->probs + i * n;
    double sum = 0;

    softmax(n, probs);
    choose(n, k, probs, e->choice + i * k);
    for (gsize j = 0; j < k; j++)
      sum += (double)probs[e->choice[i * k + j]];
    if (e->stage->numerics.raw_top_k)
      sum = 1;
    for (gsize j = 0; j < k; j++)
      e->gates[i * k + j] = (float)((double)probs[e->choice[i * k + j]] / sum);
  }
  ra_stage_record(e->stage, RA_OP_ROUTER, start, e->t, n, k, 0);
}

/* Places of the rows and everybody's counts. */
static void
count(RaExperts *e)
{
  RaComm *ep = e->stage->ep;
  gsize n = e->stage->model->n_experts;
  g_autofree uint32_t *mine = g_new0(uint32_t, n + 1);
  g_autofree uint32_t *next = g_new0(uint32_t, n + 1);

  for (gsize i = 0; i < e->n_sent; i++)
    mine[e->choice[i]]++;
  for (gsize i = 0; i < n; i++)
    next[i + 1] = next[i] + mine[i];
  for (gsize i = 0; i < e->n_sent; i++)
    e->place[i] = next[e->choice[i]]++;
  if (ep)
    ep->table->all_gather(ep, mine, e->counts, n * sizeof *mine);
  else
    memcpy(e->counts, mine, n * sizeof *mine);
  if (e->n_sharers > 1)
    e->stage->tp->table->all_gather(e->stage->tp, e->counts, e->all,
                                    e->stage->n_ep * n * sizeof *mine);
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
spread(const RaExperts *e, const float *x, const float *gates, float *rows)
{
  gsize hidden = e->stage->model->hidden, k = ra_experts_top_k(e);
  double start = ra_stage_begin(e->stage);

  for (gsize i = 0; i < e->n_sent; i++) {
    const float *from = x + i / k * hidden;
    float *to = rows + e->place[i] * hidden;

    for (gsize c = 0; c < hidden; c++)
      to[c] = gates ? gates[i] * from[c] : from[c];
  }
  ra_stage_record(e->stage, RA_OP_PERMUTE, start, e->n_sent, hidden, k, 0);
}

/* A token's rows to their sum; @add: beside what is there. */
static void
collect(const RaExperts *e, const float *rows, const float *gates, gboolean add,
        float *out)
{
  gsize hidden = e->stage->model->hidden, k = ra_experts_top_k(e);
  double start = ra_stage_begin(e->stage);

  for (gsize i = 0; i < e->n_sent; i++) {
    const float *from = rows + e->place[i] * hidden;
    float *to = out + i / k * hidden;
    gboolean first = i % k == 0 && !add;

    for (gsize c = 0; c < hidden; c++)
      to[c] = (first ? 0 : to[c]) + (gates ? gates[i] * from[c] : from[c]);
  }
  ra_stage_record(e->stage, RA_OP_PERMUTE, start, e->n_sent, hidden, k, 0);
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
         gsize n, gsize k, const float *a, const float *b, float *out)
{
  RaStage *s = e->stage;
  double start = ra_stage_begin(s);
  const float *weight = ra_host_floats(ra_stage_weight(s, kind, layer, FALSE));
  float *grad =
      product == PRODUCT_WEIGHT ? ra_stage_grad(s, kind, layer, FALSE) : NULL;
  gsize visited = 0, rows;

  for (uint64_t x = e->mine.begin; x < e->mine.end; x++) {
    gsize m = ra_experts_rows_for(e, x), at = expert_at(e, x, kind);

    visited += m > 0;
    if (m > 0 && product == PRODUCT)
      s->backend->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, m, n, k, ELEMS(a), k,
                       ELEMS(weight + at), k, 0, ELEMS(out), n);
    else if (m > 0 && product == PRODUCT_INPUT)
      s->backend->gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, m, k, n, ELEMS(a), n,
                       ELEMS(weight + at), k, 0, ELEMS(out), k);
    else if (m > 0)
      s->backend->gemm_f32(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, k, m, ELEMS(a),
                           n, ELEMS(b), k, 1, grad + at, k);
    a += m * (product == PRODUCT ? k : n);
    b = b ? b + m * k : NULL;
    out = out ? out + m * (product == PRODUCT ? n : k) : NULL;
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
  gsize k = m->experts_per_token;

  e->stage = s;
  e->t = t;
  e->n_sent = t * k;
  e->mine = ra_layout_experts(m, s->n_ep, ra_experts_rank_of(e));
  e->choice = g_new(uint32_t, e->n_sent + 1);
  e->place = g_new(uint32_t, e->n_sent + 1);
  e->n_sharers = ra_experts_share_rows(s) ? s->n_tp : 1;
  e->all = g_new(uint32_t, e->n_sharers * s->n_ep * (gsize)m->n_experts);
  e->counts = e->all + ra_experts_sharer_of(e) * s->n_ep * (gsize)m->n_experts;
  e->probs = ra_experts_take(s, t * m->n_experts);
  e->gates = ra_experts_take(s, e->n_sent);
  return e;
}

void
ra_experts_free(RaExperts *experts)
{
  RaStage *s;

  if (!experts)
    return;
  s = experts->stage;
  ra_stage_give(s, experts->probs);
  ra_stage_give(s, experts->gates);
  ra_stage_give(s, experts->in);
  ra_stage_give(s, experts->gate_up);
  ra_stage_give(s, experts->active);
  ra_stage_give(s, experts->back);
  g_free(experts->choice);
  g_free(experts->place);
  g_free(experts->all);
  g_free(experts);
}

RaExperts *
ra_experts_forward(RaStage *stage, gint32 layer, gsize t, const RaElem *in,
                   RaElem *made_of)
{
  const float *x = ra_host_floats(in);
  float *out = ra_host_floats(made_of);
  RaExperts *e = experts_new(stage, t);
  gsize hidden = stage->model->hidden, ffn = stage->expert_ffn;
  float *made;

  ra_stage_linear(stage, t, stage->model->n_experts, hidden, in,
                  ra_stage_weight(stage, RA_TENSOR_ROUTER, layer, FALSE), NULL,
                  ELEMS(e->probs));
  route(e);
  count(e);
  e->in = ra_experts_take(stage, e->n_rows * hidden);
  e->gate_up = ra_experts_take(stage, e->n_rows * 2 * ffn);
  e->active = ra_experts_take(stage, e->n_rows * ffn);
  e->back = ra_experts_take(stage, e->n_sent * hidden);
  spread(e, x, NULL, e->back); /* free until the rows are back */
  ra_experts_dispatch(e, e->back, e->in);
  multiply(e, layer, RA_TENSOR_GATE, PRODUCT, 2 * ffn, hidden, e->in, NULL,
           e->gate_up);
  ra_stage_swiglu(stage, e->n_rows, ffn, ELEMS(e->gate_up), ELEMS(e->active));
  made = ra_experts_take(stage, e->n_rows * hidden);
  multiply(e, layer, RA_TENSOR_DOWN, PRODUCT, hidden, ffn, e->active, NULL,
           made);
  ra_experts_combine(e, made, e->back);
  ra_stage_give(stage, made);
  collect(e, e->back, e->gates, FALSE, out);
  return e;
}

/* The gradient of the router's logits: of the softmax over all, from that of
 * the weights of the chosen, d_gate = d_out . what the expert made. */
static void
route_backward(const RaExperts *e, const float *d_out, float *d_logits)
{
  gsize n = e->stage->model->n_experts, k = ra_experts_top_k(e);
  gsize hidden = e->stage->model->hidden;
  double start = ra_stage_begin(e->stage);

  memset(d_logits, 0, e->t * n * sizeof *d_logits);
  for (gsize i = 0; i < e->t; i++) {
    const float *probs = e->probs + i * n, *gates = e->gates + i * k;
    const uint32_t *choice = e->choice + i * k;
    float *d = d_logits + i * n;
    double sum = 0, mean = 0, dot = 0;

    for (gsize j = 0; j < k; j++) {
      const float *made = e->back + e->place[i * k + j] * hidden;
      double d_gate = 0;

      for (gsize c = 0; c < hidden; c++)
        d_gate += (double)d_out[i * hidden + c] * (double)made[c];
      d[choice[j]] = (float)d_gate;
      sum += (double)probs[choice[j]];
      mean += d_gate * (double)gates[j];
    }
    for (gsize j = 0; j < k && !e->stage->numerics.raw_top_k; j++)
      d[choice[j]] = (float)(((double)d[choice[j]] - mean) / sum);
    for (gsize j = 0; j < k; j++)
      dot += (double)probs[choice[j]] * (double)d[choice[j]];
    for (gsize x = 0; x < n; x++)
      d[x] = (float)((double)probs[x] * ((double)d[x] - dot));
  }
  ra_stage_record(e->stage, RA_OP_ROUTER, start, e->t, n, k, 0);
}

/* From the gradient of the rows' outputs to that of their inputs. */
static void
rows_backward(const RaExperts *e, gint32 layer, const float *d_made,
              float *d_in)
{
  RaStage *s = e->stage;
  gsize hidden = s->model->hidden, ffn = s->expert_ffn;
  float *d_active = ra_experts_take(s, e->n_rows * 3 * ffn);
  float *d_gate_up = d_active + e->n_rows * ffn;

  multiply(e, layer, RA_TENSOR_DOWN, PRODUCT_INPUT, hidden, ffn, d_made, NULL,
           d_active);
  multiply(e, layer, RA_TENSOR_DOWN, PRODUCT_WEIGHT, hidden, ffn, d_made,
           e->active, NULL);
  ra_stage_swiglu_backward(s, e->n_rows, ffn, ELEMS(e->gate_up),
                           ELEMS(d_active), ELEMS(d_gate_up));
  multiply(e, layer, RA_TENSOR_GATE, PRODUCT_INPUT, 2 * ffn, hidden, d_gate_up,
           NULL, d_in);
  multiply(e, layer, RA_TENSOR_GATE, PRODUCT_WEIGHT, 2 * ffn, hidden, d_gate_up,
           e->in, NULL);
  ra_stage_give(s, d_active);
}

void
ra_experts_backward(const RaExperts *e, gint32 layer, const RaElem *in,
                    const RaElem *d_made, RaElem *d_in_of)
{
  const float *d_out = ra_host_floats(d_made);
  float *d_x = ra_host_floats(d_in_of);
  RaStage *s = e->stage;
  gsize hidden = s->model->hidden, n = s->model->n_experts;
  float *d_logits = ra_experts_take(s, e->t * n);
  float *d_here = ra_experts_take(s, e->n_sent * hidden);
  float *d_there = ra_experts_take(s, e->n_rows * 2 * hidden);
  float *d_in = d_there + e->n_rows * hidden;

  route_backward(e, d_out, d_logits);
  ra_stage_linear_input(s, e->t, n, hidden, ELEMS(d_logits),
                        ra_stage_weight(s, RA_TENSOR_ROUTER, layer, FALSE),
                        d_in_of);
  ra_stage_linear_weight(s, e->t, n, hidden, ELEMS(d_logits), in,
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
