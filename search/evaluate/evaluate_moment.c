/* When what GPUs hold changes in the last replay, in order.
 *
 * What begins and ends with which node is the same for all plans of a program,
 * so it is listed once, as forms; a plan has times for them. */
#include "config.h"

#include "graph/memory/memory_table.h"
#include "search/evaluate/evaluate_impl.h"

/* At equal times, ends of nodes that take time come first. */
#define LATE (1u << 16)

static void
add_form(RaFlatGraphUse *use, uint32_t node, uint32_t change,
         uint32_t switch_at, gboolean is_end)
{
  use->forms[use->n_forms++] = (RaMomentForm){
      .node = (uint16_t)node,
      .change = (uint16_t)(change + (is_end ? RA_CHANGE_GOES : 0)),
      .switch_at = (uint16_t)switch_at,
      .call = (uint8_t)(change / RA_N_CHANGES),
      .is_end = is_end != 0};
}

/* A call holds its most while it runs; a cache grows in steps. */
static void
add_call(RaFlatGraphUse *use, uint32_t node, uint32_t call)
{
  uint32_t base = call * RA_N_CHANGES;

  add_form(use, node, base + RA_CHANGE_BEGIN, RA_FLAT_GRAPH_NONE, FALSE);
  for (uint32_t k = 1; k < RA_MEMORY_STEPS; k++) {
    add_form(use, node, base + RA_CHANGE_BEGIN + k, RA_FLAT_GRAPH_NONE, FALSE);
    use->forms[use->n_forms - 1].step = (uint8_t)k;
  }
  add_form(use, node, base + RA_CHANGE_ALL, RA_FLAT_GRAPH_NONE, TRUE);
}

static void
add_items(RaFlatGraphUse *use, const uint32_t *range, const uint16_t *items,
          uint32_t node, gboolean is_end)
{
  for (uint32_t i = range[0]; i < range[1]; i++) {
    const RaFlatGraphItem *item = &use->program->items[items[i]];
    add_form(use, node, item->call * RA_N_CHANGES + item->foot, item->switch_at,
             is_end);
  }
}

/* Begins of a node come before its ends, as a node may take no time. */
void
ra_evaluator_form_moments(RaEvaluator *e, RaFlatGraphUse *use)
{
  const RaFlatGraph *p = use->program;

  use->forms = g_new0(RaMomentForm, e->n_moments);
  use->at_first = g_new(uint16_t, p->n_items + 1);
  for (uint32_t n = 0; n < p->n_nodes; n++) {
    const RaFlatGraphNode *node = &p->nodes[n];

    add_items(use, &p->begins[n], p->by_first, n, FALSE);
    if (node->is_call && node->mesh_a != RA_FLAT_GRAPH_NONE)
      add_call(use, n, node->mesh_a);
    add_items(use, &p->ends[n], p->by_last, n, TRUE);
  }
  for (uint32_t i = 0; i < p->n_items; i++)
    if (p->items[i].first == RA_FLAT_GRAPH_NONE)
      use->at_first[use->n_at_first++] = (uint16_t)i;
}

static inline gboolean
is_before(const RaMemoryMoment *a, const RaMemoryMoment *b)
{
  return (a->time_s < b->time_s) |
         (!(b->time_s < a->time_s) & (a->tie < b->tie));
}

/* Behind those before it, which are in order; most often at the end. */
static inline void
insert(RaMemoryMoment *moments, uint32_t n, RaMemoryMoment moment)
{
  while (n > 0 && is_before(&moment, &moments[n - 1])) {
    moments[n] = moments[n - 1];
    n--;
  }
  moments[n] = moment;
}

static inline RaMemoryMoment
moment_of(const RaMomentForm *form, double begin_s, double end_s)
{
  gboolean is_early = form->is_end & (end_s > begin_s);
  double time_s = form->is_end ? end_s : begin_s;

  if (form->step > 0)
    time_s += (end_s - begin_s) * form->step / RA_MEMORY_STEPS;
  return (RaMemoryMoment){time_s, form->node | (is_early ? 0 : LATE),
                          form->change};
}

uint32_t
ra_evaluator_list_moments(RaEvaluator *e, guint lane, uint32_t there)
{
  const RaLane1 *l = &e->lanes[lane];
  const RaMomentForm *forms = l->use->forms;
  RaMemoryMoment last = {0, 0, 0};
  uint32_t n = 0;

  for (uint32_t i = 0; i < l->use->n_forms; i++) {
    const RaMomentForm *form = &forms[i];
    RaMemoryMoment moment;

    if (!(there >> form->call & 1) || (form->switch_at != RA_FLAT_GRAPH_NONE &&
                                       e->on[form->switch_at].of[lane] == 0))
      continue;
    if (form->step > 0 &&
        l->candidate[form->call]->footprint.most.bytes[RA_FOOT_KV] == 0) {
      i += RA_MEMORY_STEPS - 2u; /* the others of the cache */
      continue;
    }
    moment = moment_of(form, e->begin_s[form->node].of[lane],
                       e->end_s[form->node].of[lane]);
    if (is_before(&moment, &last)) {
      insert(e->moments, n++, moment);
      continue;
    }
    e->moments[n++] = last = moment;
  }
  e->work.n_moments += n;
  return n;
}
