/* Programs of the signatures met so far, and where a call shows in them. */
#include "config.h"

#include <string.h>

#include "graph/memory/memory_table.h"
#include "search/evaluate/evaluate_impl.h"

guint
ra_signature_hash(gconstpointer item)
{
  const uint8_t *key = item;
  guint hash = 5381;

  for (guint i = 0; i < key[RA_SIGNATURE_LENGTH_AT]; i++)
    hash = hash * 33 + key[i];
  return hash;
}

gboolean
ra_signature_equal(gconstpointer a, gconstpointer b)
{
  const uint8_t *x = a, *y = b;

  return memcmp(x, y, RA_SIGNATURE_LENGTH_AT + 1) == 0 &&
         memcmp(x, y, x[RA_SIGNATURE_LENGTH_AT]) == 0;
}

void
ra_flat_graph_use_free(gpointer item)
{
  RaFlatGraphUse *use = item;

  ra_flat_graph_free(use->program);
  g_free(use->edge);
  g_free(use->slots);
  g_free(use->switches);
  g_free(use->forms);
  g_free(use->at_first);
  g_free(use);
}

/* The edge that a transfer is of; a new one if none is like it. */
static uint16_t
edge_of(RaEvaluator *e, const RaFlatGraphSlot *slot)
{
  RaEdgeCost cost = {*slot, NULL};
  gsize n = (gsize)e->n_dp * e->n_dp * 2 * e->n_kind_sets;

  for (guint i = 0; i < e->edges->len; i++) {
    const RaEdgeCost *known = &g_array_index(e->edges, RaEdgeCost, i);
    if (ra_flat_graph_slot_equal(&known->slot, slot))
      return (uint16_t)i;
  }
  cost.seconds = g_new(double, n);
  memset(cost.seconds, 0xff, n * sizeof *cost.seconds); /* NANs */
  g_array_append_val(e->edges, cost);
  return (uint16_t)(e->edges->len - 1);
}

static void
list_calls(const RaEvaluator *e, RaFlatGraphUse *use)
{
  const RaFlatGraph *p = use->program;
  uint32_t n_slots = 0, n_switches = 0;

  use->slots = g_new(uint16_t, 2 * (gsize)p->n_slots + 1);
  use->switches = g_new(uint16_t, 2 * (gsize)p->n_switches + 1);
  for (uint32_t c = 0; c < e->n_calls; c++) {
    use->slot_begin[c] = n_slots;
    use->switch_begin[c] = n_switches;
    for (uint32_t s = 0; s < p->n_slots; s++)
      if (p->slots[s].call == c || p->slots[s].source == c)
        use->slots[n_slots++] = (uint16_t)s;
    for (uint32_t s = 0; s < p->n_switches; s++)
      if (p->switches[s].call == c || p->switches[s].source == c)
        use->switches[n_switches++] = (uint16_t)s;
  }
  use->slot_begin[e->n_calls] = n_slots;
  use->switch_begin[e->n_calls] = n_switches;
}

/* New numbers of lanes where a program needs more than there are; those of
 * lanes are filled again by whoever changes to it. */
static void
make_room(RaEvaluator *e, const RaFlatGraph *p)
{
  e->n_nodes = MAX(e->n_nodes, p->n_nodes);
  e->n_slots = MAX(e->n_slots, p->n_slots);
  e->n_switches = MAX(e->n_switches, p->n_switches);
  e->n_moments = MAX(e->n_moments, (gsize)p->n_nodes * (RA_MEMORY_STEPS + 1) +
                                       2 * (gsize)p->n_items);
  e->moments = g_renew(RaMemoryMoment, e->moments, e->n_moments);
}

RaFlatGraphUse *
ra_evaluator_use(RaEvaluator *e, const RaPoint *point)
{
  uint8_t key[RA_SIGNATURE_BYTES];
  RaFlatGraphUse *use;

  ra_flat_graph_signature(e->space, point, key);
  use = g_hash_table_lookup(e->programs, key);
  if (use)
    return use;
  use = g_new0(RaFlatGraphUse, 1);
  memcpy(use->key, key, sizeof key);
  use->program = ra_flat_graph_new(e->space, point, e->n_iterations, e->n_like);
  use->edge = g_new(uint16_t, MAX(use->program->n_slots, 1u));
  for (uint32_t s = 0; s < use->program->n_slots; s++)
    use->edge[s] = use->program->slots[s].kind == RA_NODE_TRANSFER
                       ? edge_of(e, &use->program->slots[s])
                       : RA_FLAT_GRAPH_NONE;
  memset(use->realloc_switch, 0xff, sizeof use->realloc_switch);
  for (uint32_t s = 0; s < use->program->n_switches; s++)
    if (use->program->switches[s].kind == RA_NODE_REALLOC)
      use->realloc_switch[use->program->switches[s].call] = (uint16_t)s;
  list_calls(e, use);
  make_room(e, use->program);
  ra_evaluator_form_moments(e, use);
  g_hash_table_insert(e->programs, use->key, use);
  return use;
}
