#include "config.h"

#include <string.h>

#include "graph/residency.h"
#include "search/program.h"

/* A program under construction. */
typedef struct {
  const RaSpace *space;
  const RaAugmented *augmented;
  RaProgram *program;
  gboolean is_host; /* some copy is in host memory */
  uint32_t n_like;
} Maker;

static gboolean
has_host(const RaWorkload *w, const RaPoint *point)
{
  for (guint m = 0; m < w->n_models; m++)
    if (point->residency[m] == RA_RESIDENCY_HOST)
      return TRUE;
  return FALSE;
}

static const RaCandidate *
candidate_of(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  return ra_space_candidate(space, call, point->calls[call]);
}

static uint32_t
begin_of(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  return ra_candidate_begin(candidate_of(space, point, call),
                            point->calls[call].position);
}

static gboolean
same_layout(const RaSpace *space, const RaPoint *point, uint32_t a, uint32_t b)
{
  const RaCall *calls = space->workload->calls;

  return calls[a].model != RA_NONE && calls[a].model == calls[b].model &&
         candidate_of(space, point, a)->n_gpus > 0 &&
         candidate_of(space, point, a)->layout ==
             candidate_of(space, point, b)->layout &&
         begin_of(space, point, a) == begin_of(space, point, b);
}

/* The first call that @call shares what it reads with.  Where nothing is in
 * host memory a reader in the training layout stands by itself: its
 * reallocation is off. */
static uint32_t
stand_of(const RaSpace *space, const RaPoint *point, uint32_t call,
         gboolean is_host)
{
  uint32_t model = space->workload->calls[call].model, trainer;

  if (model == RA_NONE)
    return call;
  trainer = ra_workload_trainer(space->workload, model);
  if (!is_host && trainer != RA_NONE &&
      same_layout(space, point, trainer, call))
    return call;
  for (uint32_t v = 0; v < call; v++)
    if (same_layout(space, point, v, call))
      return v;
  return call;
}

/* Versions beside the newest that @call makes training keep, as
 * ra_residency_n_behind() has it: where it reads what training writes. */
static uint32_t
behind_of(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  const RaWorkload *w = space->workload;
  uint32_t model = w->calls[call].model, trainer;

  trainer = model == RA_NONE ? RA_NONE : ra_workload_trainer(w, model);
  if (trainer == RA_NONE || !same_layout(space, point, trainer, call))
    return 0;
  return w->calls[call].staleness +
         (ra_workload_place(w, call) > ra_workload_place(w, trainer) ? 1 : 0);
}

/* How many meshes begin or end before @gpu: its place in their order. */
static uint32_t
place_of(const RaSpace *space, const RaPoint *point, uint32_t gpu)
{
  uint32_t seen[2 * RA_POINT_MAX], n = 0, place = 0;

  for (guint c = 0; c < space->workload->n_calls; c++) {
    uint32_t n_gpus = candidate_of(space, point, c)->n_gpus;
    uint32_t begin = n_gpus ? begin_of(space, point, c) : 0;
    if (n_gpus == 0)
      continue;
    seen[n++] = begin;
    seen[n++] = begin + n_gpus;
  }
  for (uint32_t i = 0; i < n; i++) {
    gboolean is_new = seen[i] < gpu;
    for (uint32_t k = 0; k < i; k++)
      is_new = is_new && seen[k] != seen[i];
    place += is_new;
  }
  return place;
}

void
ra_program_signature(const RaSpace *space, const RaPoint *point, uint8_t *out)
{
  const RaWorkload *w = space->workload;
  gboolean is_host = has_host(w, point);
  uint32_t models = 0;

  memset(out, 0, RA_SIGNATURE_BYTES);
  for (guint m = 0; m < w->n_models; m++)
    models |= (uint32_t)point->residency[m] << 2 * m;
  memcpy(out, &models, sizeof models);
  for (guint c = 0; c < w->n_calls; c++) {
    uint32_t begin, n_gpus = candidate_of(space, point, c)->n_gpus;
    out[4 + c] = (uint8_t)stand_of(space, point, c, is_host);
    if (behind_of(space, point, c) > 0)
      out[4 + c] |= 0x80; /* calls are fewer: RA_POINT_MAX */
    if (!is_host || n_gpus == 0)
      continue;
    begin = begin_of(space, point, c);
    out[4 + RA_POINT_MAX + 2 * c] = (uint8_t)place_of(space, point, begin);
    out[5 + RA_POINT_MAX + 2 * c] =
        (uint8_t)place_of(space, point, begin + n_gpus);
  }
}

/* --- a small plan of the signature --- */

/* Without host memory the GPUs that calls share do not show in the graph, so
 * each stand has a node of its own; with it, every stretch between two ends of
 * meshes is a node.  dp tells stands apart whose meshes are equal. */
static void
place_call(const RaSpace *space, const RaPoint *point, uint32_t call,
           gboolean is_host, RaCallPlan *out)
{
  uint32_t stand = stand_of(space, point, call, is_host), begin, end;
  const RaCandidate *c = candidate_of(space, point, call);

  *out = (RaCallPlan){.set = TRUE,
                      .mesh = {.n_runs = 1, .n_nodes = 1, .gpus_per_node = 1},
                      .dp = 1 + stand,
                      .tp = 1,
                      .pp = 1,
                      .cp = 1,
                      .n_virtual = 1,
                      .optimizer_residency = RA_RESIDENCY_KEEP};
  out->residency = point->residency[space->workload->calls[call].model];
  out->mesh.runs[0] = (RaNodeRun){stand, 1};
  if (!is_host)
    return;
  begin = begin_of(space, point, call);
  end = place_of(space, point, begin + c->n_gpus);
  begin = place_of(space, point, begin);
  out->mesh.runs[0] = (RaNodeRun){begin, end - begin};
  out->mesh.n_nodes = end - begin;
}

/* --- nodes --- */

static uint16_t
slot_of(Maker *m, const RaProgramSlot *slot)
{
  RaProgram *p = m->program;

  for (uint32_t i = 0; i < p->n_slots; i++) {
    const RaProgramSlot *s = &p->slots[i];
    if (s->kind == slot->kind && s->call == slot->call &&
        s->source == slot->source && s->like == slot->like &&
        s->part == slot->part && s->what == slot->what &&
        !(s->bytes < slot->bytes) && !(s->bytes > slot->bytes))
      return (uint16_t)i;
  }
  p->slots[p->n_slots] = *slot;
  return (uint16_t)p->n_slots++;
}

static uint16_t
switch_of(Maker *m, RaNodeKind kind, uint32_t source, uint32_t call)
{
  RaProgram *p = m->program;

  if (m->is_host && kind == RA_NODE_REALLOC)
    return RA_PROGRAM_NONE;
  for (uint32_t i = 0; i < p->n_switches; i++)
    if (p->switches[i].kind == kind && p->switches[i].source == source &&
        p->switches[i].call == call)
      return (uint16_t)i;
  p->switches[p->n_switches] =
      (RaProgramSwitch){(uint8_t)kind, (uint16_t)call, (uint16_t)source};
  return (uint16_t)p->n_switches++;
}

static void
fill_kind(Maker *m, const RaNode *n, RaProgramNode *out, RaProgramSlot *slot)
{
  const RaCall *call = &m->space->workload->calls[n->call];

  out->mesh_a = (uint16_t)n->call;
  switch ((RaNodeKind)n->kind) {
  case RA_NODE_CALL:
    out->is_call = TRUE;
    out->queue = RA_QUEUE_COMPUTE;
    if (call->model == RA_NONE) {
      out->queue = RA_QUEUE_HOST;
      out->mesh_a = RA_PROGRAM_NONE;
    }
    slot->like = (uint16_t)(m->n_like == 1 ? 0 : n->iteration);
    slot->part = (uint16_t)n->part;
    break;
  case RA_NODE_REALLOC:
  case RA_NODE_TRANSFER:
    out->queue =
        n->kind == RA_NODE_REALLOC ? RA_QUEUE_REALLOC : RA_QUEUE_TRANSFER;
    out->mesh_b = (uint16_t)n->source;
    out->switch_at = switch_of(m, (RaNodeKind)n->kind, n->source, n->call);
    slot->source = (uint16_t)n->source;
    slot->bytes = n->kind == RA_NODE_TRANSFER ? n->bytes : 0;
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
  RaProgram *p = m->program;
  uint32_t n_preds = a->pred_begin[id + 1] - a->pred_begin[id];
  RaProgramNode out = {.pred = p->n_preds,
                       .n_always = (uint16_t)n_preds,
                       .switch_at = RA_PROGRAM_NONE,
                       .mesh_b = RA_PROGRAM_NONE,
                       .iteration = (uint8_t)n->iteration};
  RaProgramSlot slot = {
      .kind = n->kind, .call = (uint16_t)n->call, .source = RA_PROGRAM_NONE};

  fill_kind(m, n, &out, &slot);
  out.slot = slot_of(m, &slot);
  /* Training is the first that a reallocation waits for; the others are who
   * still reads what it writes over. */
  if (n->kind == RA_NODE_REALLOC && out.switch_at != RA_PROGRAM_NONE) {
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
  return node == RA_NONE ? RA_PROGRAM_NONE : (uint16_t)node;
}

static void
add_item(Maker *m, RaFoot foot, uint32_t call, uint32_t first, uint32_t last,
         uint16_t switch_at)
{
  m->program->items[m->program->n_items++] =
      (RaProgramItem){(uint16_t)call, node_or_none(first), node_or_none(last),
                      switch_at, (uint8_t)foot};
}

static void
add_copy(Maker *m, const RaCopy *copy)
{
  const RaWorkload *w = m->space->workload;
  uint32_t trainer = ra_workload_trainer(w, copy->model);
  uint16_t switch_at = RA_PROGRAM_NONE;

  if (copy->pinned)
    return;
  if (copy->what == RA_COPY_OPTIMIZER) {
    add_item(m, RA_FOOT_OPTIMIZER, copy->call, copy->first, copy->last,
             RA_PROGRAM_NONE);
    return;
  }
  if (trainer != RA_NONE && copy->call != trainer)
    switch_at = switch_of(m, RA_NODE_REALLOC, trainer, copy->call);
  add_item(m, RA_FOOT_PARAMS, copy->call, copy->first, copy->last, switch_at);
}

static void
add_grads(Maker *m, uint32_t call)
{
  const RaAugmented *a = m->augmented;

  if (m->space->workload->calls[call].kind != RA_CALL_TRAIN)
    return;
  if (a->plan->calls[call].residency != RA_RESIDENCY_HOST) {
    add_item(m, RA_FOOT_GRADS, call, RA_NONE, RA_NONE, RA_PROGRAM_NONE);
    return;
  }
  for (uint32_t n = 0; n < a->n_nodes; n++)
    if (a->nodes[n].kind == RA_NODE_CALL && a->nodes[n].call == call &&
        a->nodes[n].part == 0)
      add_item(m, RA_FOOT_GRADS, call, n, n + a->nodes[n].n_parts - 1,
               RA_PROGRAM_NONE);
}

/* The small plan has readers in the training layout beside it. */
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
      n = MAX(n, behind_of(m->space, point, v));
  for (; n > 0; n--)
    add_item(m, RA_FOOT_PARAMS, call, RA_NONE, RA_NONE, RA_PROGRAM_NONE);
}

/* As ra_memory_items(). */
static void
add_items(Maker *m, const RaPoint *point)
{
  const RaAugmented *a = m->augmented;

  for (uint32_t c = 0; c < m->program->n_calls; c++)
    add_behind(m, point, c);
  for (uint32_t i = 0; i < a->n_copies; i++)
    add_copy(m, &a->copies[i]);
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
list_items(const RaProgram *p, gboolean last, uint32_t **out_begin,
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
mark_after(const RaProgram *p, uint16_t from, uint16_t switch_at,
           uint8_t *marks)
{
  memset(marks, 0, p->n_nodes);
  marks[from] = 1;
  for (uint32_t n = from + 1u; n < p->n_nodes; n++) {
    const RaProgramNode *node = &p->nodes[n];
    gboolean is_on =
        node->switch_at == RA_PROGRAM_NONE || node->switch_at == switch_at;
    uint32_t n_preds = node->n_always + (is_on ? node->n_on : 0u);

    for (uint32_t i = 0; i < n_preds; i++)
      marks[n] |= marks[p->preds[node->pred + i]];
    for (uint32_t k = from; is_on && k < n; k++) {
      const RaProgramNode *other = &p->nodes[k];
      if (marks[k] && other->queue == node->queue &&
          node->mesh_a != RA_PROGRAM_NONE && other->mesh_a == node->mesh_a &&
          other->mesh_b == node->mesh_b && other->switch_at == node->switch_at)
        marks[n] = 1;
    }
  }
}

/* Items that are there throughout. */
static void
count_standing(RaProgram *p)
{
  for (uint32_t i = 0; i < p->n_items; i++)
    if (p->items[i].first == RA_PROGRAM_NONE &&
        p->items[i].last == RA_PROGRAM_NONE)
      p->standing[p->items[i].call][p->items[i].foot]++;
}

/* Items of one call and kind that follow each other are a chain. */
static void
count_most(RaProgram *p)
{
  g_autofree uint8_t *marks = g_new(uint8_t, MAX(p->n_nodes, 1u));
  g_autofree uint8_t *done = g_new0(uint8_t, MAX(p->n_items, 1u));

  for (uint32_t i = 0; i < p->n_items; i++) {
    const RaProgramItem *tail = &p->items[i];
    if (done[i])
      continue;
    p->most[tail->call][tail->foot]++;
    for (uint32_t k = i + 1; k < p->n_items; k++) {
      const RaProgramItem *item = &p->items[k];
      if (tail->last == RA_PROGRAM_NONE)
        break;
      if (done[k] || item->call != tail->call || item->foot != tail->foot ||
          item->first == RA_PROGRAM_NONE || item->first <= tail->last)
        continue;
      mark_after(p, tail->last, tail->switch_at, marks);
      if (!marks[item->first])
        continue;
      done[k] = 1;
      tail = item;
    }
  }
}

RaProgram *
ra_program_new(const RaSpace *space, const RaPoint *point,
               uint32_t n_iterations, uint32_t n_like)
{
  const RaWorkload *w = space->workload;
  RaCluster cluster = *space->cluster;
  RaPlan plan = {.workload = w, .cluster = &cluster};
  g_autofree RaCallPlan *calls = g_new0(RaCallPlan, w->n_calls);
  Maker m = {.space = space, .n_like = n_like};
  RaAugmented *a;
  RaProgram *p = g_new0(RaProgram, 1);
  gsize n_behind = 0;

  m.is_host = has_host(w, point);
  cluster.gpus_per_node = 1;
  cluster.n_nodes = 2 * RA_POINT_MAX;
  plan.calls = calls;
  for (guint c = 0; c < w->n_calls; c++) {
    n_behind += behind_of(space, point, c);
    if (w->calls[c].model != RA_NONE)
      place_call(space, point, c, m.is_host, &calls[c]);
  }
  m.augmented = a = ra_augment_bare(&plan, n_iterations);
  m.program = p;
  p->n_calls = w->n_calls;
  p->n_iterations = n_iterations;
  g_assert(a->n_nodes < RA_PROGRAM_NONE);
  p->nodes = g_new(RaProgramNode, a->n_nodes);
  p->preds = g_new(uint16_t, MAX(a->pred_begin[a->n_nodes], 1u));
  p->slots = g_new0(RaProgramSlot, a->n_nodes);
  p->switches = g_new0(RaProgramSwitch, a->n_nodes + w->n_calls);
  p->items = g_new0(RaProgramItem, a->n_copies + w->n_calls +
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
ra_program_free(RaProgram *program)
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
