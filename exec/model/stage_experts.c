/* A layer of experts: router, moves of rows to experts and back, GEMMs, and
 * gradients. */
#include "config.h"

#include <string.h>

#include "exec/backend/expert_rows.h"
#include "exec/comm/device_comm.h"
#include "exec/model/stage_experts.h"

/* Rows are ordered by expert and, within an expert, by the rank that they
 * belong to: both on the sending rank and on the expert's. */
struct _RaExperts {
  RaStage *stage; /* borrowed */
  gsize t;        /* tokens here */
  gsize n_sent;   /* rows sent: t k */
  gsize n_came;   /* rows received */
  gsize most;     /* rows received for one expert, at most */
  RaSpan mine;    /* experts of this rank */
  RaCpuRouting routing;
  RaExpertRows rows;  /* rows computed here; with shared rows, those received by
                         all ranks of the tensor-parallel group */
  uint32_t *counted;  /* (n_experts) in device memory, part of rows */
  uint32_t *choice;   /* (t, k) expert of each, in device memory */
  uint32_t *place;    /* (t, k) index among the sent rows, likewise */
  uint32_t *counts;   /* (n_ep, n_experts) in host memory: rows from each rank
                         for each expert here; part of all.  Both are set if
                         ranks share experts. */
  uint32_t *all;      /* the same for each rank that shares rows, owned */
  uint32_t n_sharers; /* number of these ranks, >= 1 */
  float *probs;       /* (t, n_experts) probabilities of the router */
  float *gates;       /* (t, k) weights */
  RaElem *in;         /* (rows, hidden) by expert, then by rank */
  RaElem *gate_up;    /* (rows, 2 expert_ffn) */
  RaElem *active;     /* (rows, expert_ffn) */
  RaElem *back;       /* (n_sent, hidden) outputs of the experts */
};

/* Rows of rank @rank for expert @expert. */
static gsize
count_of(const RaExperts *e, uint32_t rank, uint64_t expert)
{
  return e->counts[rank * (gsize)e->stage->model->n_experts + expert];
}

static uint32_t
rank_of(const RaExperts *e)
{
  return e->stage->ep ? e->stage->ep->rank : 0;
}

/* Rows that rank @sharer received for expert @expert. */
static gsize
rows_of_sharer(const RaExperts *e, uint32_t sharer, uint64_t expert)
{
  gsize n_experts = e->stage->model->n_experts, n = 0;
  const uint32_t *at = e->all + sharer * e->stage->n_ep * n_experts + expert;

  for (uint32_t r = 0; r < e->stage->n_ep; r++)
    n += at[r * n_experts];
  return n;
}

static uint32_t
sharer_of(const RaExperts *e)
{
  return e->n_sharers > 1 ? e->stage->tp->rank : 0;
}

/* Rows that this rank received for expert @expert. */
static gsize
rows_came(const RaExperts *e, uint64_t expert)
{
  return rows_of_sharer(e, sharer_of(e), expert);
}

/* Rows for expert @expert, from all ranks. */
static gsize
rows_for(const RaExperts *e, uint64_t expert)
{
  gsize n = 0;

  for (uint32_t r = 0; r < e->n_sharers; r++)
    n += rows_of_sharer(e, r, expert);
  return n;
}

/* --- moves of rows --- */

/* (n) rows. */
static void
copy_rows(const RaExperts *e, RaElem *to, const RaElem *from, gsize n)
{
  const RaBackend *b = e->stage->backend;

  if (n > 0)
    b->copy(to, from, n * e->stage->model->hidden * b->elem_bytes);
}

/* Row @i of @rows. */
static RaElem *
row_at(const RaExperts *e, RaElem *rows, gsize i)
{
  return ra_stage_at(e->stage, rows, i * e->stage->model->hidden);
}

/* Rows of @rank for the experts of @owner. */
static gsize
rows_between(const RaExperts *e, uint32_t rank, uint32_t owner)
{
  gsize per_rank = e->mine.end - e->mine.begin, n = 0;

  for (gsize x = owner * per_rank; x < (owner + 1) * per_rank; x++)
    n += count_of(e, rank, x);
  return n;
}

/* Between the rows at their experts, by expert and then by rank, and those of
 * one rank, by expert; @to_expert: the latter to the former. */
static void
sort_rows(const RaExperts *e, uint32_t rank, RaElem *at_experts,
          RaElem *of_rank, gboolean to_expert)
{
  for (uint64_t x = e->mine.begin; x < e->mine.end; x++) {
    gsize n = count_of(e, rank, x), before = 0;
    RaElem *at;

    for (uint32_t r = 0; r < rank; r++)
      before += count_of(e, r, x);
    at = row_at(e, at_experts, before);
    if (to_expert)
      copy_rows(e, at, of_rank, n);
    else
      copy_rows(e, of_rank, at, n);
    of_rank = row_at(e, of_rank, n);
    at_experts = row_at(e, at_experts, rows_came(e, x));
  }
}

/* The same of all other ranks' rows, @packed by rank. */
static void
sort_others(const RaExperts *e, RaElem *at_experts, RaElem *packed,
            gboolean to_expert)
{
  uint32_t me = rank_of(e);

  for (uint32_t r = 0; r < e->stage->n_ep; r++) {
    if (r != me)
      sort_rows(e, r, at_experts, packed, to_expert);
    packed = row_at(e, packed, rows_between(e, r, me));
  }
}

/* All-to-all: @here (n_sent, hidden) to or from @there (n_came, hidden).  All
 * receives start before anything is packed. */
static void
exchange(const RaExperts *e, RaElem *here, RaElem *there, gboolean to_expert)
{
  RaStage *s = e->stage;
  gsize row = s->model->hidden * s->backend->elem_bytes, to_me = 0;
  uint32_t me = rank_of(e);
  double start = ra_stage_begin(s);
  g_autofree gsize *ours = g_new(gsize, s->n_ep);
  g_autofree gsize *theirs = g_new(gsize, s->n_ep);
  RaDeviceExchange *going;
  RaElem *packed;

  for (uint32_t r = 0; r < s->n_ep; r++) {
    ours[r] = rows_between(e, me, r) * row;
    theirs[r] = rows_between(e, r, me) * row;
    to_me += r < me ? rows_between(e, me, r) : 0;
  }
  packed = ra_stage_take(s, e->n_came * s->model->hidden);
  going = ra_device_comm_start_all_to_all(
      s->backend, s->ep, to_expert ? packed : here, to_expert ? theirs : ours);
  s->n_ahead += s->n_ep - 1;
  sort_rows(e, me, there, row_at(e, here, to_me), to_expert);
  if (!to_expert)
    sort_others(e, there, packed, FALSE);
  ra_device_comm_end_all_to_all(going, to_expert ? here : packed,
                                to_expert ? ours : theirs);
  if (to_expert)
    sort_others(e, there, packed, TRUE);
  ra_stage_give(s, packed);
  ra_stage_record(s, RA_OP_ALL_TO_ALL, start, e->n_sent * row, s->n_ep, 0, 0);
}

/* Between what came to each rank that shares rows, (n_sharers, most, hidden),
 * and all of it by expert, @rows (n_rows, hidden). */
static void
sort_sharers(const RaExperts *e, RaElem *by_sharer, RaElem *rows,
             gboolean to_expert)
{
  g_autofree gsize *at = g_new0(gsize, e->n_sharers);

  for (uint64_t x = e->mine.begin; x < e->mine.end; x++)
    for (uint32_t r = 0; r < e->n_sharers; r++) {
      gsize n = rows_of_sharer(e, r, x);
      RaElem *of_sharer = row_at(e, by_sharer, r * e->most + at[r]);

      if (to_expert)
        copy_rows(e, rows, of_sharer, n);
      else
        copy_rows(e, of_sharer, rows, n);
      rows = row_at(e, rows, n);
      at[r] += n;
    }
}

/* Gathers the rows received here, @came (n_came, hidden), and by the other
 * ranks that share rows, into @rows (n_rows, hidden). */
static void
gather_sharers(const RaExperts *e, const RaElem *came, RaElem *rows)
{
  RaStage *s = e->stage;
  gsize row = s->model->hidden * s->backend->elem_bytes;
  double start = ra_stage_begin(s);
  RaElem *all = ra_stage_take(s, e->n_sharers * e->most * s->model->hidden);
  RaElem *mine = row_at(e, all, sharer_of(e) * e->most);

  copy_rows(e, mine, came, e->n_came);
  ra_device_comm_all_gather(s->backend, s->tp, mine, all, e->most * row);
  sort_sharers(e, all, rows, TRUE);
  ra_stage_give(s, all);
  ra_stage_record(s, RA_OP_ALL_GATHER, start, e->rows.n_rows * row, s->n_tp, 0,
                  0);
}

/* The sum over the ranks that share rows of their parts @rows (n_rows, hidden)
 * of what came here, to @came (n_came, hidden). */
static void
sum_sharers(const RaExperts *e, RaElem *rows, RaElem *came)
{
  RaStage *s = e->stage;
  gsize hidden = s->model->hidden, row = hidden * s->backend->elem_bytes;
  double start = ra_stage_begin(s);
  RaElem *all = ra_stage_take(s, e->n_sharers * e->most * hidden);
  RaElem *sum = ra_stage_take(s, e->most * hidden);

  s->backend->zero(all, e->n_sharers * e->most * row);
  sort_sharers(e, all, rows, FALSE);
  ra_device_comm_reduce_scatter(s->backend, s->tp, all, sum, e->most * hidden);
  copy_rows(e, came, sum, e->n_came);
  ra_stage_give(s, sum);
  ra_stage_give(s, all);
  ra_stage_record(s, RA_OP_REDUCE_SCATTER, start, e->rows.n_rows * row, s->n_tp,
                  0, 0);
}

/* Moves @here (n_sent, hidden) to @rows (e->rows, hidden) on the ranks of the
 * experts, among ranks that share experts (n_ep > 1). */
static void
dispatch(const RaExperts *e, RaElem *here, RaElem *rows)
{
  RaElem *came;

  if (e->n_sharers == 1) {
    exchange(e, here, rows, TRUE);
    return;
  }
  came = ra_stage_take(e->stage, e->n_came * e->stage->model->hidden);
  exchange(e, here, came, TRUE);
  gather_sharers(e, came, rows);
  ra_stage_give(e->stage, came);
}

static void
combine(const RaExperts *e, RaElem *rows, RaElem *here)
{
  RaElem *came;

  if (e->n_sharers == 1) {
    exchange(e, here, rows, FALSE);
    return;
  }
  came = ra_stage_take(e->stage, e->n_came * e->stage->model->hidden);
  sum_sharers(e, rows, came);
  exchange(e, here, came, FALSE);
  ra_stage_give(e->stage, came);
}

/* --- routing --- */

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
  if (s->model->router_bias) /* of the host alone, whose elements are floats */
    s->backend->add_bias(e->t, n,
                         ra_stage_weight(s, RA_TENSOR_ROUTER, layer, TRUE),
                         ra_host_elems(e->probs));
  ra_stage_look_f32(s, RA_OP_GEMM, e->t * n, e->probs);
  ra_stage_record(s, RA_OP_GEMM, start, e->t, n, hidden, 1);
  start = ra_stage_begin(s);
  s->backend->route(&e->routing, e->t, e->probs, e->choice, e->gates);
  ra_stage_record(s, RA_OP_ROUTER, start, e->t, n, e->routing.top_k, 0);
}

/* Gathers @mine (n_experts), the rows of this rank, from all ranks, and derives
 * the rows here. */
static void
gather_counts(RaExperts *e, const uint32_t *mine)
{
  RaStage *s = e->stage;
  gsize n_bytes = e->routing.n_experts * sizeof *mine;

  s->ep->table->all_gather(s->ep, mine, e->counts, n_bytes);
  if (e->n_sharers > 1)
    s->tp->table->all_gather(s->tp, e->counts, e->all, s->n_ep * n_bytes);
  for (uint32_t r = 0; r < e->n_sharers; r++) {
    gsize came = 0;

    for (uint64_t x = e->mine.begin; x < e->mine.end; x++)
      came += rows_of_sharer(e, r, x);
    e->rows.n_rows += came;
    e->most = MAX(e->most, came);
    e->n_came = r == sharer_of(e) ? came : e->n_came;
  }
}

/* Places of the rows, and how many each expert here has.  Where ranks share
 * experts that is the one thing that the host reads of a layer, as it says how
 * many rows come and go; a rank that has all knows their sum, and waits for
 * nothing. */
static void
count(RaExperts *e)
{
  RaStage *s = e->stage;
  RaExpertRows *rows = &e->rows;
  g_autofree uint32_t *mine = NULL;

  s->backend->place_rows(&e->routing, e->n_sent, e->choice, e->counted,
                         e->place);
  if (!s->ep) {
    rows->n_rows = e->n_came = e->n_sent;
    return;
  }
  mine = g_new(uint32_t, e->routing.n_experts);
  s->backend->read(mine, e->counted, e->routing.n_experts * sizeof *mine);
  gather_counts(e, mine);
  for (uint32_t i = 0; i < rows->n_experts; i++)
    rows->read[i] = (uint32_t)rows_for(e, e->mine.begin + i);
  rows->is_read = TRUE;
  s->backend->write(e->counted, rows->read,
                    rows->n_experts * sizeof *rows->read);
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

/* Sums the rows of each token; @add: to the existing output. */
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

/* Experts that have rows. */
static gsize
n_visited(RaExperts *e)
{
  const uint32_t *counts = ra_expert_rows_counts(e->stage->backend, &e->rows);
  gsize n = 0;

  for (uint32_t x = 0; x < e->rows.n_experts; x++)
    n += counts[x] > 0;
  return n;
}

/* --- biases of experts; a tensor-parallel rank has its columns of those of
 * RA_TENSOR_DOWN, as the sum over the ranks adds each once --- */

/* (n) of each expert, 0 where they are another rank's; give it back. */
static RaElem *
take_biases(const RaExperts *e, gint32 layer, RaTensorKind kind, gsize n)
{
  RaStage *s = e->stage;
  const RaParam *param = ra_params_find_expert(s->params, kind, layer, TRUE);
  gsize width = kind == RA_TENSOR_DOWN ? param->rect.n_rows : n;
  gsize first = kind == RA_TENSOR_DOWN ? param->rect.row : 0;
  RaElem *biases = ra_stage_take(s, e->rows.n_experts * n);

  s->backend->zero(biases, e->rows.n_experts * n * s->backend->elem_bytes);
  s->backend->copy_rect(e->rows.n_experts, width,
                        ra_stage_expert_weight(s, kind, layer, TRUE), width,
                        ra_stage_at(s, biases, first), n);
  return biases;
}

static void
add_biases(RaExperts *e, gint32 layer, RaTensorKind kind, gsize n, RaElem *rows)
{
  const RaBackend *b = e->stage->backend;
  const uint32_t *counts = ra_expert_rows_counts(b, &e->rows);
  RaElem *biases = take_biases(e, layer, kind, n);

  for (uint32_t x = 0; x < e->rows.n_experts; x++) {
    b->add_bias(counts[x], n, ra_elem_at(b, biases, x * n), rows);
    rows = ra_elem_at(b, rows, counts[x] * n);
  }
  ra_stage_give(e->stage, biases);
}

/* Adds the gradients of the biases, by those of the @rows (rows, n). */
static void
add_bias_gradients(RaExperts *e, gint32 layer, RaTensorKind kind, gsize n,
                   const RaElem *rows)
{
  RaStage *s = e->stage;
  const RaBackend *b = s->backend;
  const uint32_t *counts = ra_expert_rows_counts(b, &e->rows);
  const RaParam *param = ra_params_find_expert(s->params, kind, layer, TRUE);
  gsize width = kind == RA_TENSOR_DOWN ? param->rect.n_rows : n;
  gsize first = kind == RA_TENSOR_DOWN ? param->rect.row : 0;
  float *grad = ra_stage_expert_grad(s, kind, layer, TRUE);
  float *sum = ra_stage_take_bytes(s, n * sizeof *sum);

  for (uint32_t x = 0; x < e->rows.n_experts; x++, grad += width) {
    b->zero(sum, n * sizeof *sum);
    b->add_columns(counts[x], n, rows, sum);
    b->add_f32(width, sum + first, grad);
    rows = ra_elem_at(b, rows, counts[x] * n);
  }
  ra_stage_give(s, sum);
}

/* The GEMM of every expert with its rows, one op; @b is the weight except for
 * its gradient, for which @out is NULL.  A record has the number of experts
 * with rows, which the host requests before the first. */
static void
multiply(RaExperts *e, gint32 layer, RaTensorKind kind,
         RaExpertsProduct product, gsize n, gsize k, const RaElem *a,
         const RaElem *b, void *out)
{
  RaStage *s = e->stage;
  gsize visited = s->ops ? n_visited(e) : 1, rows;
  double start;

  if (e->rows.n_rows == 0)
    return;
  start = ra_stage_begin(s);
  if (product == RA_EXPERTS_WEIGHT)
    out = ra_stage_expert_grad(s, kind, layer, FALSE);
  else
    b = ra_stage_expert_weight(s, kind, layer, FALSE);
  s->backend->gemm_experts(product, &e->rows, n, k, a, b, out);
  if (s->model->expert_bias && product == RA_EXPERTS_OUTPUT)
    add_biases(e, layer, kind, n, out);
  else if (s->model->expert_bias && product == RA_EXPERTS_WEIGHT)
    add_bias_gradients(e, layer, kind, n, a);
  rows = (e->rows.n_rows + visited - 1) / visited;
  if (product == RA_EXPERTS_OUTPUT)
    ra_stage_record(s, RA_OP_GEMM, start, rows, n, k, visited);
  else if (product == RA_EXPERTS_INPUT)
    ra_stage_record(s, RA_OP_GEMM, start, rows, k, n, visited);
  else
    ra_stage_record(s, RA_OP_GEMM, start, n, k, rows, visited);
}

gboolean
ra_experts_share_rows(const RaStage *stage)
{
  return stage->n_ep > 1 && stage->sequence_parallel;
}

static RaCpuRouting
routing_of(const RaStage *s, gint32 layer)
{
  const RaModel *m = s->model;
  const RaNumerics *n = &s->numerics;

  return (RaCpuRouting){.n_experts = m->n_experts,
                        .top_k = m->experts_per_token,
                        .raw = n->raw_top_k,
                        .sigmoid = n->sigmoid_router,
                        .n_groups = n->router_groups,
                        .top_groups = n->open_groups,
                        .by_largest = n->groups_by_largest,
                        .scale = n->router_scale,
                        .bias = n->router_bias ? n->router_bias +
                                                     (gsize)layer * m->n_experts
                                               : NULL};
}

static RaExperts *
experts_new(RaStage *s, gint32 layer, gsize t)
{
  const RaModel *m = s->model;
  RaExperts *e = g_new0(RaExperts, 1);

  e->stage = s;
  e->routing = routing_of(s, layer);
  e->t = t;
  e->n_sent = t * m->experts_per_token;
  e->mine = ra_layout_experts(m, s->n_ep, rank_of(e));
  e->counted = ra_stage_take_bytes(s, m->n_experts * sizeof *e->counted);
  e->rows = (RaExpertRows){.n_experts = (uint32_t)(e->mine.end - e->mine.begin),
                           .counts = e->counted};
  e->rows.read = g_new(uint32_t, e->rows.n_experts);
  e->choice = ra_stage_take_bytes(s, e->n_sent * sizeof *e->choice);
  e->place = ra_stage_take_bytes(s, e->n_sent * sizeof *e->place);
  e->n_sharers = ra_experts_share_rows(s) ? s->n_tp : 1;
  e->all = g_new(uint32_t, e->n_sharers * s->n_ep * (gsize)m->n_experts);
  e->counts = e->all + sharer_of(e) * s->n_ep * (gsize)m->n_experts;
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
  ra_stage_give(s, experts->counted);
  ra_stage_give(s, experts->probs);
  ra_stage_give(s, experts->gates);
  ra_stage_give(s, experts->in);
  ra_stage_give(s, experts->gate_up);
  ra_stage_give(s, experts->active);
  ra_stage_give(s, experts->back);
  g_free(experts->rows.read);
  g_free(experts->all);
  g_free(experts);
}

RaExperts *
ra_experts_forward(RaStage *stage, gint32 layer, gsize t, const RaElem *x,
                   RaElem *out)
{
  RaExperts *e = experts_new(stage, layer, t);
  gsize hidden = stage->model->hidden, ffn = stage->expert_ffn;
  gboolean alone = stage->n_ep == 1; /* rows are where their experts are */
  RaElem *made;

  route(e, layer, x);
  count(e);
  e->in = ra_stage_take(stage, e->rows.n_rows * hidden);
  e->gate_up = ra_stage_take(stage, e->rows.n_rows * 2 * ffn);
  e->active = ra_stage_take(stage, e->rows.n_rows * ffn);
  e->back = ra_stage_take(stage, e->n_sent * hidden);
  if (alone) {
    spread(e, x, NULL, e->in);
  } else {
    spread(e, x, NULL, e->back); /* free until the rows are back */
    dispatch(e, e->back, e->in);
  }
  multiply(e, layer, RA_TENSOR_GATE, RA_EXPERTS_OUTPUT, 2 * ffn, hidden, e->in,
           NULL, e->gate_up);
  ra_stage_swiglu(stage, e->rows.n_rows, ffn, e->gate_up, e->active);
  made = alone ? e->back : ra_stage_take(stage, e->rows.n_rows * hidden);
  multiply(e, layer, RA_TENSOR_DOWN, RA_EXPERTS_OUTPUT, hidden, ffn, e->active,
           NULL, made);
  if (!alone) {
    combine(e, made, e->back);
    ra_stage_give(stage, made);
  }
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
rows_backward(RaExperts *e, gint32 layer, const RaElem *d_made, RaElem *d_in)
{
  RaStage *s = e->stage;
  gsize hidden = s->model->hidden, ffn = s->expert_ffn;
  RaElem *d_active = ra_stage_take(s, e->rows.n_rows * 3 * ffn);
  RaElem *d_gate_up = ra_stage_at(s, d_active, e->rows.n_rows * ffn);

  multiply(e, layer, RA_TENSOR_DOWN, RA_EXPERTS_INPUT, hidden, ffn, d_made,
           NULL, d_active);
  multiply(e, layer, RA_TENSOR_DOWN, RA_EXPERTS_WEIGHT, hidden, ffn, d_made,
           e->active, NULL);
  ra_stage_swiglu_backward(s, e->rows.n_rows, ffn, e->gate_up, d_active,
                           d_gate_up);
  multiply(e, layer, RA_TENSOR_GATE, RA_EXPERTS_INPUT, 2 * ffn, hidden,
           d_gate_up, NULL, d_in);
  multiply(e, layer, RA_TENSOR_GATE, RA_EXPERTS_WEIGHT, 2 * ffn, hidden,
           d_gate_up, e->in, NULL);
  ra_stage_give(s, d_active);
}

void
ra_experts_backward(RaExperts *e, gint32 layer, const RaElem *x,
                    const RaElem *d_out, RaElem *d_x)
{
  RaStage *s = e->stage;
  gsize hidden = s->model->hidden, n = s->model->n_experts;
  gboolean alone = s->n_ep == 1;
  RaElem *d_logits = ra_stage_take(s, e->t * n);
  RaElem *d_here = alone ? NULL : ra_stage_take(s, e->n_sent * hidden);
  RaElem *d_there = ra_stage_take(s, e->rows.n_rows * 2 * hidden);
  RaElem *d_in = ra_stage_at(s, d_there, e->rows.n_rows * hidden);

  route_backward(e, d_out, d_logits);
  ra_stage_linear_input(s, e->t, n, hidden, d_logits,
                        ra_stage_weight(s, RA_TENSOR_ROUTER, layer, FALSE),
                        d_x);
  ra_stage_linear_weight(s, e->t, n, hidden, d_logits, x,
                         ra_stage_grad(s, RA_TENSOR_ROUTER, layer, FALSE),
                         ra_stage_grad(s, RA_TENSOR_ROUTER, layer, TRUE));
  spread(e, d_out, e->gates, alone ? d_there : d_here);
  if (!alone)
    dispatch(e, d_here, d_there);
  rows_backward(e, layer, d_there, d_in);
  if (!alone)
    combine(e, d_in, d_here);
  collect(e, alone ? d_in : d_here, NULL, TRUE, d_x);
  ra_stage_give(s, d_there);
  ra_stage_give(s, d_here);
  ra_stage_give(s, d_logits);
}
