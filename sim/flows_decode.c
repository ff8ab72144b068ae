/* Flows of generations: chains of cycles. */
#include "config.h"

#include "estimator/kinds.h"
#include "sim/flows_impl.h"

/* A part's cycles of computing and communicating, about: how finely what its
 * steps do is told apart, where steps are more. */
#define CYCLES 128

/* Cycles are short of the law by so much, so that rounding makes none late. */
#define ROOM_FRAC 1e-12

/* A generation that runs. */
typedef struct {
  guint slot; /* in hand */
  uint64_t cycle, n_cycles;
  double compute_scale, comm_scale; /* of the task's time to its slots' */
  double cycle_s;                   /* longest that a cycle should take */
} Chain;

static const RaDecodeLinks *
links_of(const RaFlows *f, RaTaskId task)
{
  uint32_t d = f->graph->dynamic ? f->graph->dynamic[task] : RA_NONE;

  return d == RA_NONE ? NULL : f->decodes[d];
}

static uint32_t
part_of(const RaFlows *f, RaTaskId task)
{
  return f->graph->mini_batch[task] -
         f->graph->dynamics[f->graph->dynamic[task]].first_part;
}

void
ra_flows_add_decodes(RaFlows *f, const RaEstimator *estimator)
{
  const RaTaskGraph *graph = f->graph;
  g_autofree uint32_t *stages = NULL, *kinds = NULL;

  f->chains = g_hash_table_new_full(NULL, NULL, NULL, g_free);
  f->decodes = g_new0(RaDecodeLinks *, (gsize)graph->n_dynamics + 1);
  f->n_decodes = graph->n_dynamics;
  if (f->n_kinds > 1)
    kinds = ra_dynamic_kinds_new(graph, &stages);
  for (uint32_t d = 0; d < graph->n_dynamics; d++)
    f->decodes[d] = ra_decode_links_new(graph, estimator, d,
                                        kinds ? kinds + stages[d] : NULL);
}

void
ra_flows_free_decodes(RaFlows *f)
{
  for (uint32_t d = 0; d < f->n_decodes; d++) /* the graph may be gone */
    ra_decode_links_free(f->decodes[d]);
  g_free(f->decodes);
  if (f->chains)
    g_hash_table_unref(f->chains);
}

gboolean
ra_flows_decodes(const RaFlows *f, RaTaskId task)
{
  const RaDecodeLinks *links = links_of(f, task);

  return links && ra_decode_links_any(links);
}

/* Seconds that a row has a link full for, by the laws of its nodes' kinds; of a
 * link of several kinds the most. */
static double
full_s(const RaFlows *f, const RaDecodeLinks *links, uint32_t part, guint slot,
       uint32_t row, const RaPathLink *at)
{
  uint32_t kinds = ra_topology_link_kinds(f->topology, at->link);
  double most_s = 0;

  for (uint32_t k = 0; k < f->n_kinds; k++) {
    const RaDecodeUse *use = ra_decode_links_use(links, part, slot, row, k);
    double of_s = at->use == RA_USE_INTRA ? use->intra_s : use->inter_s;

    if (kinds >> k & 1)
      most_s = MAX(most_s, of_s);
  }
  return most_s;
}

/* Takes the slot's links for @comm_s; what messages wait for links' own latency
 * in it, a stage on average. */
static double
take_slot(RaFlows *f, RaTaskId task, guint slot, double comm_s)
{
  const RaDecodeLinks *links = links_of(f, task);
  uint32_t part = part_of(f, task);
  uint32_t pp = f->graph->dynamics[f->graph->dynamic[task]].n_stages;
  double late_s = 0;

  for (uint32_t row = 0; row < 2 * pp - 1; row++) {
    uint32_t of = MIN(row, pp);
    double latency_s;
    const GArray *path =
        ra_topology_row_path(f->topology, task, row, &latency_s);

    late_s += ra_decode_links_use(links, part, slot, of, 0)->n_messages *
              latency_s / pp;
    for (guint i = 0; i < path->len; i++) {
      const RaPathLink *at = &g_array_index(path, RaPathLink, i);
      double used_s = full_s(f, links, part, slot, of, at);

      if (used_s > 0)
        ra_flows_take(f, at->link, at->share * MIN(used_s / comm_s, 1));
    }
  }
  return late_s;
}

void
ra_flows_list_decode(RaFlows *f, RaTaskId task)
{
  guint n;
  const RaDecodeSlot *slots =
      ra_decode_links_slots(links_of(f, task), part_of(f, task), &n);

  g_array_set_size(f->links, 0);
  for (guint slot = 0; slot < n; slot++)
    if (slots[slot].comm_s > 0)
      take_slot(f, task, slot, slots[slot].comm_s);
  ra_flows_weigh(f);
}

/* The next cycle of the chain: first computes, then communicates. */
static void
start_cycle(RaFlows *f, RaTaskId task, Chain *chain)
{
  guint n;
  const RaDecodeSlot *slot = &ra_decode_links_slots(
      links_of(f, task), part_of(f, task), &n)[chain->slot];
  double compute_s = (slot->wall_s - slot->comm_s) * chain->compute_scale;
  double comm_s = slot->comm_s * chain->comm_scale, late_s = 0;

  if (chain->cycle == 0) {
    double n_cycles = (compute_s + comm_s) / chain->cycle_s;

    chain->n_cycles =
        (uint64_t)CLAMP(n_cycles + 0.5, 1, MAX((double)slot->n_steps, 1));
  }
  g_array_set_size(f->links, 0);
  if (comm_s > 0)
    late_s = take_slot(f, task, chain->slot, slot->comm_s);
  ra_flows_weigh(f);
  ra_flows_begin(f, task, comm_s / (double)chain->n_cycles,
                 (compute_s + late_s) / (double)chain->n_cycles);
  if (++chain->cycle == chain->n_cycles) {
    chain->slot++;
    chain->cycle = 0;
  }
}

/* The task's time is its slots', but for rounding, jitter, a service: what it
 * takes longer it computes. */
static void
set_scales(Chain *chain, const RaDecodeSlot *slots, guint n, double duration_s)
{
  double wall_s = 0, comm_s = 0;

  for (guint i = 0; i < n; i++) {
    wall_s += slots[i].wall_s;
    comm_s += slots[i].comm_s;
  }
  duration_s *= 1 - ROOM_FRAC;
  if (duration_s > comm_s && wall_s > comm_s) {
    chain->compute_scale = (duration_s - comm_s) / (wall_s - comm_s);
    chain->comm_scale = 1;
  } else {
    chain->compute_scale = chain->comm_scale =
        wall_s > 0 ? duration_s / wall_s : 0;
  }
}

void
ra_flows_start_decode(RaFlows *f, RaTaskId task, double duration_s)
{
  Chain *chain = g_new0(Chain, 1);
  guint n;
  const RaDecodeSlot *slots =
      ra_decode_links_slots(links_of(f, task), part_of(f, task), &n);

  set_scales(chain, slots, n, duration_s);
  chain->cycle_s = duration_s / CYCLES;
  g_hash_table_insert(f->chains, GUINT_TO_POINTER(task), chain);
  if (n > 0) {
    start_cycle(f, task, chain);
    return;
  }
  g_array_set_size(f->links, 0);
  ra_flows_weigh(f);
  ra_flows_begin(f, task, 0, 0);
}

gboolean
ra_flows_go_on(RaFlows *f, RaTaskId task)
{
  Chain *chain = g_hash_table_lookup(f->chains, GUINT_TO_POINTER(task));
  guint n;

  if (!chain)
    return FALSE;
  ra_decode_links_slots(links_of(f, task), part_of(f, task), &n);
  if (chain->slot < n) {
    start_cycle(f, task, chain);
    return TRUE;
  }
  g_hash_table_remove(f->chains, GUINT_TO_POINTER(task));
  return FALSE;
}
