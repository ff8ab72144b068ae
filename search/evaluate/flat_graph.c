/* Programs: the augmented graph of a signature as flat nodes and slots. */
#include "config.h"

#include <string.h>

#include "graph/input/residency.h"
#include "search/evaluate/flat_graph_impl.h"

/* A program under construction. */
typedef struct {
  const RaSpace *space;
  const RaAugmented *augmented;
  RaFlatGraph *program;
  gboolean is_host; /* some copy is in host memory */
  uint32_t n_like;
} Maker;

/* --- nodes --- */

gboolean
ra_flat_graph_slot_equal(const RaFlatGraphSlot *a, const RaFlatGraphSlot *b)
{
  return a->kind == b->kind && a->call == b->call && a->source == b->source &&
         a->like == b->like && a->part == b->part && a->n_parts == b->n_parts &&
         a->trip == b->trip && a->what == b->what &&
         a->token_bytes == b->token_bytes;
}

static uint16_t
slot_of(Maker *m, const RaFlatGraphSlot *slot)
{
  RaFlatGraph *p = m->program;

  for (uint32_t i = 0; i < p->n_slots; i++)
    if (ra_flat_graph_slot_equal(&p->slots[i], slot))
      return (uint16_t)i;
  p->slots[p->n_slots] = *slot;
  return (uint16_t)p->n_slots++;
}

static uint16_t
switch_of(Maker *m, RaNodeKind kind, uint32_t source, uint32_t call)
{
  RaFlatGraph *p = m->program;

  if (m->is_host && kind == RA_NODE_REALLOC)
    return RA_FLAT_GRAPH_NONE;
  for (uint32_t i = 0; i < p->n_switches; i++)
    if (p->switches[i].kind == kind && p->switches[i].source == source &&
        p->switches[i].call == call)
      return (uint16_t)i;
  p->switches[p->n_switches] =
      (RaFlatGraphSwitch){(uint8_t)kind, (uint16_t)call, (uint16_t)source};
  return (uint16_t)p->n_switches++;
}

static void
fill_kind(Maker *m, const RaNode *n, RaFlatGraphNode *out,
          RaFlatGraphSlot *slot)
{
  const RaCall *call = &m->space->workload->calls[n->call];

  out->mesh_a = (uint16_t)n->call;
  switch ((RaNodeKind)n->kind) {
  case RA_NODE_CALL:
    out->is_call = TRUE;
    out->queue = RA_QUEUE_COMPUTE;
    if (call->model == RA_NONE) {
      out->queue = RA_QUEUE_HOST;
      if (!m->space->host_meshes)
        out->mesh_a = RA_FLAT_GRAPH_NONE;
    }
    slot->like = (uint16_t)(m->n_like == 1 ? 0 : n->iteration);
    slot->part = (uint16_t)(n->trip * n->n_parts + n->part);
    break;
  case RA_NODE_REALLOC:
  case RA_NODE_TRANSFER:
    out->queue =
        n->kind == RA_NODE_REALLOC ? RA_QUEUE_REALLOC : RA_QUEUE_TRANSFER;
    out->mesh_b = (uint16_t)n->source;
    out->switch_at = switch_of(m, (RaNodeKind)n->kind, n->source, n->call);
    slot->source = (uint16_t)n->source;
    if (n->kind == RA_NODE_REALLOC)
      break;
    slot->like = (uint16_t)(m->n_like == 1 ? 0 : n->iteration);
    slot->part = (uint16_t)n->part;
    slot->n_parts = (uint16_t)n->n_parts;
    slot->trip = (uint16_t)n->trip;
    slot->token_bytes = n->token_bytes;
    break;
  default:
    out->queue =
        n->kind == RA_NODE_OFFLOAD ? RA_QUEUE_COPY_OUT : RA_QUEUE_COPY_IN;
    slot->what = n->what;
  }
}

static void
add_node(Maker *m, uint32_t id)
{
  const RaAugmented *a = m->augmented;
  const RaNode *n = &a->nodes[id];
  RaFlatGraph *p = m->program;
  uint32_t n_preds = a->pred_begin[id + 1] - a->pred_begin[id];
  RaFlatGraphNode out = {.pred = p->n_preds,
                         .n_always = (uint16_t)n_preds,
                         .switch_at = RA_FLAT_GRAPH_NONE,
                         .mesh_b = RA_FLAT_GRAPH_NONE,
                         .iteration = (uint8_t)n->iteration};
  RaFlatGraphSlot slot = {
      .kind = n->kind, .call = (uint16_t)n->call, .source = RA_FLAT_GRAPH_NONE};

  fill_kind(m, n, &out, &slot);
  out.slot = slot_of(m, &slot);
  /* A reallocation waits for training first, then for the calls that still
   * read the copy that it overwrites. */
  if (n->kind == RA_NODE_REALLOC && out.switch_at != RA_FLAT_GRAPH_NONE) {
    out.n_always = 1;
    out.n_on = (uint16_t)(n_preds - 1);
  }
  for (uint32_t e = a->pred_begin[id]; e < a->pred_begin[id + 1]; e++)
    p->preds[p->n_preds++] = (uint16_t)a->pred[e];
  p->nodes[p->n_nodes++] = out;
}

/* --- items --- */

static uint16_t
node_or_none(uint32_t node)
{
  return node == RA_NONE ? RA_FLAT_GRAPH_NONE : (uint16_t)node;
}

static void
add_item(Maker *m, RaFoot foot, uint32_t call, uint32_t first, uint32_t last,
         uint16_t switch_at)
{
  m->program->items[m->program->n_items++] =
      (RaFlatGraphItem){(uint16_t)call, node_or_none(first), node_or_none(last),
                        switch_at, (uint8_t)foot};
}

static void
add_copy(Maker *m, const RaPoint *point, const RaCopy *copy)
{
  const RaWorkload *w = m->space->workload;
  uint32_t trainer = ra_workload_trainer(w, copy->model);
  uint16_t switch_at = RA_FLAT_GRAPH_NONE;

  if (copy->pinned || ra_space_is_shared(m->space, point, copy->call))
    return;
  if (copy->what == RA_COPY_OPTIMIZER) {
    add_item(m, RA_FOOT_OPTIMIZER, copy->call, copy->first, copy->last,
             RA_FLAT_GRAPH_NONE);
    return;
  }
  if (trainer != RA_NONE && copy->call != trainer)
    switch_at = switch_of(m, RA_NODE_REALLOC, trainer, copy->call);
  add_item(m, RA_FOOT_PARAMS,
           ra_residency_holder(m->augmented->plan, copy->call), copy->first,
           copy->last, switch_at);
}

static void
add_grads(Maker *m, uint32_t call)
{
  const RaAugmented *a = m->augmented;

  if (m->space->workload->calls[call].kind != RA_CALL_TRAIN)
    return;
  if (!ra_residency_drops_gradients(a->plan, call)) {
    add_item(m, RA_FOOT_GRADS, call, RA_NONE, RA_NONE, RA_FLAT_GRAPH_NONE);
    return;
  }
  for (uint32_t n = 0; n < a->n_nodes; n++)
    if (a->nodes[n].kind == RA_NODE_CALL && a->nodes[n].call == call &&
        a->nodes[n].part == 0)
      add_item(m, RA_FOOT_GRADS, call, n, n + a->nodes[n].n_parts - 1,
               RA_FLAT_GRAPH_NONE);
}

/* Adds the readers in the training layout that the small plan has. */
static void
add_behind(Maker *m, const RaPoint *point, uint32_t call)
{
  const RaWorkload *w = m->space->workload;
  uint32_t n = 0;

  if (m->is_host || w->calls[call].kind != RA_CALL_TRAIN ||
      ra_workload_trainer(w, w->calls[call].model) != call)
    return;
  for (uint32_t v = 0; v < w->n_calls; v++)
    if (w->calls[v].model == w->calls[call].model)
      n = MAX(n, ra_flat_graph_n_behind(m->space, point, v));
  for (; n > 0; n--)
    add_item(m, RA_FOOT_PARAMS, call, RA_NONE, RA_NONE, RA_FLAT_GRAPH_NONE);
}

/* As ra_memory_items(). */
static void
add_items(Maker *m, const RaPoint *point)
{
  const RaAugmented *a = m->augmented;

  for (uint32_t c = 0; c < m->program->n_calls; c++)
    add_behind(m, point, c);
  for (uint32_t i = 0; i < a->n_copies; i++)
    add_copy(m, point, &a->copies[i]);
  for (uint32_t c = 0; c < m->program->n_calls; c++)
    add_grads(m, c);
  for (uint32_t n = 0; n < a->n_nodes; n++) {
    const RaNode *node = &a->nodes[n];
    uint16_t switch_at = m->program->nodes[n].switch_at;
    if (node->kind != RA_NODE_REALLOC)
      continue;
    add_item(m, RA_FOOT_PACKED, node->source, n, n, switch_at);
    add_item(m, RA_FOOT_PACKED, node->call, n, n, switch_at);
  }
}

/* Items by the node that they begin or end with. */
static void
list_items(const RaFlatGraph *p, gboolean last, uint32_t **out_begin,
           uint16_t **out_items)
{
  uint32_t *begin = g_new0(uint32_t, p->n_nodes + 2);
  uint16_t *items = g_new(uint16_t, MAX(p->n_items, 1u));
  uint32_t n = 0;

  for (uint32_t node = 0; node < p->n_nodes; node++) {
    begin[node] = n;
    for (uint32_t i = 0; i < p->n_items; i++)
      if ((last ? p->items[i].last : p->items[i].first) == node)
        items[n++] = (uint16_t)i;
  }
  begin[p->n_nodes] = n;
  *out_begin = begin;
  *out_items = items;
}

/* --- how many of them there are at once --- */

/* Marks what begins only after @from has ended, whatever is off but
 * @switch_at: by predecessors, and by queues that are the same for both. */
static void
mark_after(const RaFlatGraph *p, uint16_t from, uint16_t switch_at,
           uint8_t *marks)
{
  memset(marks, 0, p->n_nodes);
  marks[from] = 1;
  for (uint32_t n = from + 1u; n < p->n_nodes; n++) {
    const RaFlatGraphNode *node = &p->nodes[n];
    gboolean is_on =
        node->switch_at == RA_FLAT_GRAPH_NONE || node->switch_at == switch_at;
    uint32_t n_preds = node->n_always + (is_on ? node->n_on : 0u);

    for (uint32_t i = 0; i < n_preds; i++)
      marks[n] |= marks[p->preds[node->pred + i]];
    for (uint32_t k = from; is_on && k < n; k++) {
      const RaFlatGraphNode *other = &p->nodes[k];
      if (marks[k] && other->queue == node->queue &&
          node->queue != RA_QUEUE_HOST && /* it may have no mesh */
          node->mesh_a != RA_FLAT_GRAPH_NONE && other->mesh_a == node->mesh_a &&
          other->mesh_b == node->mesh_b && other->switch_at == node->switch_at)
        marks[n] = 1;
    }
  }
}

/* Items that are there throughout. */
static void
count_standing(RaFlatGraph *p)
{
  for (uint32_t i = 0; i < p->n_items; i++)
    if (p->items[i].first == RA_FLAT_GRAPH_NONE &&
        p->items[i].last == RA_FLAT_GRAPH_NONE)
      p->standing[p->items[i].call][p->items[i].foot]++;
}

/* Items of one call and kind that follow each other are a chain. */
static void
count_most(RaFlatGraph *p)
{
  g_autofree uint8_t *marks = g_new(uint8_t, MAX(p->n_nodes, 1u));
  g_autofree uint8_t *done = g_new0(uint8_t, MAX(p->n_items, 1u));

  for (uint32_t i = 0; i < p->n_items; i++) {
    const RaFlatGraphItem *tail = &p->items[i];
    if (done[i])
      continue;
    p->most[tail->call][tail->foot]++;
    for (uint32_t k = i + 1; k < p->n_items; k++) {
      const RaFlatGraphItem *item = &p->items[k];
      if (tail->last == RA_FLAT_GRAPH_NONE)
        break;
      if (done[k] || item->call != tail->call || item->foot != tail->foot ||
          item->first == RA_FLAT_GRAPH_NONE || item->first <= tail->last)
        continue;
      mark_after(p, tail->last, tail->switch_at, marks);
      if (!marks[item->first])
        continue;
      done[k] = 1;
      tail = item;
    }
  }
}

RaFlatGraph *
ra_flat_graph_new(const RaSpace *space, const RaPoint *point,
                  uint32_t n_iterations, uint32_t n_like)
{
  const RaWorkload *w = space->workload;
  RaCluster cluster = *space->cluster;
  RaPlan plan = {.workload = w, .cluster = &cluster};
  g_autofree RaCallPlan *calls = g_new0(RaCallPlan, w->n_calls);
  Maker m = {.space = space, .n_like = n_like};
  RaAugmented *a;
  RaFlatGraph *p = g_new0(RaFlatGraph, 1);
  gsize n_behind = 0;

  m.is_host = ra_flat_graph_has_host(space, point);
  cluster.gpus_per_node = 1;
  cluster.n_nodes = 2 * RA_POINT_MAX * RA_NODE_SET_RUNS;
  plan.calls = calls;
  for (guint c = 0; c < w->n_calls; c++) {
    n_behind += ra_flat_graph_n_behind(space, point, c);
    if (w->calls[c].model != RA_NONE || space->host_meshes)
      ra_flat_graph_place_call(space, point, c, m.is_host, &calls[c]);
  }
  m.augmented = a = ra_augment_bare(&plan, n_iterations, space->options.seed);
  m.program = p;
  p->n_calls = w->n_calls;
  p->n_iterations = n_iterations;
  g_assert(a->n_nodes < RA_FLAT_GRAPH_NONE);
  p->nodes = g_new(RaFlatGraphNode, a->n_nodes);
  p->preds = g_new(uint16_t, MAX(a->pred_begin[a->n_nodes], 1u));
  p->slots = g_new0(RaFlatGraphSlot, a->n_nodes);
  p->switches = g_new0(RaFlatGraphSwitch, a->n_nodes + w->n_calls);
  p->items = g_new0(RaFlatGraphItem, a->n_copies + w->n_calls +
                                         3 * (gsize)a->n_nodes + n_behind);
  for (uint32_t n = 0; n < a->n_nodes; n++)
    add_node(&m, n);
  add_items(&m, point);
  list_items(p, FALSE, &p->begins, &p->by_first);
  list_items(p, TRUE, &p->ends, &p->by_last);
  count_standing(p);
  count_most(p);
  ra_augmented_free(a);
  return p;
}

void
ra_flat_graph_free(RaFlatGraph *program)
{
  if (!program)
    return;
  g_free(program->nodes);
  g_free(program->preds);
  g_free(program->slots);
  g_free(program->switches);
  g_free(program->items);
  g_free(program->begins);
  g_free(program->ends);
  g_free(program->by_first);
  g_free(program->by_last);
  g_free(program);
}
