/* The numbers of a plan: a column of each table of the evaluator. */
#include "config.h"

#include <math.h>

#include "search/evaluate/evaluate_impl.h"

/* --- costs of a lane --- */

static double
transfer_s(RaEvaluator *e, const RaLane1 *l, guint edge)
{
  RaEdgeCost *cost = &g_array_index(e->edges, RaEdgeCost, edge);
  uint32_t from = cost->slot.source, to = cost->slot.call;
  gboolean one_node = (l->node[from] == l->node[to]) & (l->node[to] != RA_NONE);
  uint32_t i = l->dp_at[from], k = l->dp_at[to];
  uint32_t at = (i * e->n_dp + k) * 2 + (one_node != 0), kinds = 0;
  const RaCandidate *x = l->candidate[from], *y = l->candidate[to];
  /* A plan's own mini-batches share a batch in another way. */
  gboolean is_kept = !x->plan.n_mini_batches && !y->plan.n_mini_batches;
  double *slot, seconds;

  if (e->n_kind_sets > 1) {
    kinds = x->kinds | y->kinds;
    at = at * e->n_kind_sets + kinds;
  }
  slot = &cost->seconds[at];
  if (is_kept && !isnan(*slot))
    return *slot;
  seconds = ra_cost_table_transfer_s(e->costs, &cost->slot, &x->plan, &y->plan,
                                     one_node, x->kinds | y->kinds);
  if (is_kept)
    *slot = seconds;
  return seconds;
}

static inline uint64_t
spread_bits(uint64_t key)
{
  return key * UINT64_C(0x9e3779b97f4a7c15);
}

/* The name of the class of a pair, one of them a set: looked up by what was
 * chosen. */
static uint64_t
pair_key(RaEvaluator *e, const RaLane1 *l, uint32_t from, uint32_t to,
         gboolean adapters)
{
  RaChoice x = l->point.calls[from], y = l->point.calls[to];
  RaPairSlot pair = {.from = (uint64_t)x.candidate << 32 | x.position,
                     .to = (uint64_t)y.candidate << 32 | y.position,
                     .to_call = to,
                     .adapters = adapters != 0};
  RaPairSlot *slot =
      &e->pairs[spread_bits(spread_bits(pair.from + to) ^ pair.to) >> 40 &
                (RA_PAIR_SLOTS - 1)];

  if (slot->key && slot->from == pair.from && slot->to == pair.to &&
      slot->to_call == to && slot->adapters == pair.adapters)
    return slot->key;
  pair.key = ra_cost_table_realloc_key(e->costs, l->candidate[from], x.position,
                                       l->candidate[to], y.position, adapters);
  e->work.n_hashes++;
  *slot = pair;
  return pair.key;
}

RaReallocSlot *
ra_simd_realloc_slot(RaEvaluator *e, const RaLane1 *l, uint32_t from,
                     uint32_t to, uint64_t *out_key)
{
  gboolean adapters =
      ra_cost_table_moves_adapters(e->costs, to, l->point.residency);

  if (l->set[from] || l->set[to])
    *out_key = pair_key(e, l, from, to, adapters);
  else
    *out_key = ra_cost_table_realloc_key(
        e->costs, l->candidate[from], l->point.calls[from].position,
        l->candidate[to], l->point.calls[to].position, adapters);
  return &e->reallocs[spread_bits(*out_key) >> 48 & (RA_REALLOC_SLOTS - 1)];
}

/* Its bound while it was not asked. */
static double
realloc_s(RaEvaluator *e, RaLane1 *l, uint32_t from, uint32_t to)
{
  uint64_t key;
  RaReallocSlot *slot = ra_simd_realloc_slot(e, l, from, to, &key);
  double seconds;

  if (slot->key == key)
    return slot->seconds;
  if (!ra_cost_table_realloc_seen(e->costs, key, e->round, &seconds)) {
    l->unasked |= 1u << to;
    return ra_cost_table_realloc_bound_s(
        e->costs, e->workload->calls[to].model, l->candidate[from],
        l->point.calls[from].position, l->candidate[to],
        l->point.calls[to].position);
  }
  *slot = (RaReallocSlot){key, seconds};
  return seconds;
}

/* Time of part @at of @call: the least, if the call has no place yet; its
 * bound, if its cost is unknown. */
static inline double
call_part_s(const RaEvaluator *e, const RaLane1 *l, uint32_t call, uint32_t at)
{
  if (l->parts[call])
    return l->parts[call][at];
  return ra_cost_table_part_bound_s(e->costs, call,
                                    l->point.calls[call].candidate, at);
}

static inline double
slot_s(RaEvaluator *e, guint lane, uint32_t index)
{
  RaLane1 *l = &e->lanes[lane];
  const RaFlatGraphSlot *slot = &l->use->program->slots[index];
  uint32_t call = slot->call, candidate = l->point.calls[call].candidate;
  uint16_t at;

  switch ((RaNodeKind)slot->kind) {
  case RA_NODE_CALL:
    return call_part_s(e, l, call, slot->like * e->n_parts[call] + slot->part);
  case RA_NODE_TRANSFER:
    return l->begin[slot->source] == l->end[slot->source] ||
                   l->begin[call] == l->end[call]
               ? 0
               : transfer_s(e, l, l->use->edge[index]);
  case RA_NODE_REALLOC:
    l->unasked &= ~(1u << call);
    at = l->use->realloc_switch[call];
    return at != RA_FLAT_GRAPH_NONE && e->on[at].of[lane] == 0
               ? 0
               : realloc_s(e, l, slot->source, call);
  default:
    return ra_cost_table_copy_s(e->costs, call, candidate, slot->what,
                                slot->kind == RA_NODE_OFFLOAD);
  }
}

/* --- a lane --- */

/* GPUs of the mesh of @call, which of a host call has others behind the one
 * that it is on. */
static inline uint32_t
mesh_gpus(const RaEvaluator *e, const RaLane1 *l, uint32_t call)
{
  return e->space->host_meshes && l->layout[call] == RA_NONE
             ? ra_mesh_n_gpus(&l->candidate[call]->plan.mesh)
             : l->end[call] - l->begin[call];
}

/* Transfers stay out where both calls spread the same replicas over the same
 * GPUs, reallocations where the layout is that of training. */
static inline gboolean
is_on(const RaEvaluator *e, const RaLane1 *l, const RaFlatGraphSwitch *s)
{
  uint32_t a = s->source, b = s->call;
  gboolean alike = ra_simd_begin_alike(e, l, a, b);

  if (s->kind == RA_NODE_TRANSFER)
    alike &= (l->dp_at[a] == l->dp_at[b]) &
             (mesh_gpus(e, l, a) == mesh_gpus(e, l, b));
  else
    alike &= l->layout[a] == l->layout[b];
  return (l->begin[a] < l->end[a]) & (l->begin[b] < l->end[b]) & !alike;
}

static inline void
fill_switch(RaEvaluator *e, guint lane, uint32_t s)
{
  const RaLane1 *l = &e->lanes[lane];
  gboolean on = is_on(e, l, &l->use->program->switches[s]);

  e->on[s].of[lane] = 0 - (uint64_t)(on != 0);
}

/* Permanent memory on the GPUs of @call, whether it runs or not. */
static void
fill_standing(RaEvaluator *e, guint lane, uint32_t call)
{
  const RaLane1 *l = &e->lanes[lane];
  const uint64_t *bytes = l->candidate[call]->footprint.most.bytes;
  const uint8_t *most = l->use->program->most[call];
  uint16_t at = l->use->realloc_switch[call];
  uint64_t sum = 0;

  for (guint k = RA_FOOT_GRADS; k <= RA_FOOT_PACKED; k++)
    sum += most[k] * bytes[k];
  if (at != RA_FLAT_GRAPH_NONE && e->on[at].of[lane] == 0)
    sum = 0;
  else
    sum += most[RA_FOOT_PARAMS] * bytes[RA_FOOT_PARAMS];
  e->standing[call].of[lane] = (double)sum;
}

/* Memory that the smallest GPU of @kinds lacks against the largest one. */
static uint64_t
most_lack_bytes(const RaEvaluator *e, uint32_t kinds)
{
  uint64_t most = 0;

  for (uint32_t k = 0; e->n_kind_sets > 1 && k < RA_NODE_KINDS_MAX; k++)
    if (kinds >> k & 1)
      most = MAX(most, e->lack_bytes[k]);
  return most;
}

/* Numbers that do not depend on other calls. */
void
ra_simd_fill_own(RaEvaluator *e, guint lane, uint32_t call)
{
  RaLane1 *l = &e->lanes[lane];
  const uint64_t *bytes = l->candidate[call]->footprint.most.bytes;
  uint32_t n_parts = e->n_parts[call];
  uint32_t candidate = l->point.calls[call].candidate;
  const double *parts = candidate == RA_NONE
                            ? e->least_s[call]
                            : ra_evaluator_seen_s(e, call, candidate);
  double least_s = (double)INFINITY;

  e->transient[call].of[lane] =
      (double)(bytes[RA_FOOT_KV] + bytes[RA_FOOT_WORK] +
               most_lack_bytes(e, l->candidate[call]->kinds));
  l->unknown &= ~(1u << call);
  l->parts[call] = parts;
  if (!parts) {
    l->unknown |= 1u << call;
    for (uint32_t k = 0; k < e->n_like; k++) {
      e->call_s[call * e->n_like + k].of[lane] =
          ra_cost_table_bound_s(e->costs, call, candidate);
      e->last_s[call * e->n_like + k].of[lane] = 0;
    }
    return;
  }
  for (uint32_t k = 0; k < e->n_like; k++, parts += n_parts) {
    double sum = 0;
    for (uint32_t p = 0; p < n_parts; p++)
      sum += parts[p];
    least_s = MIN(least_s, sum);
    e->call_s[call * e->n_like + k].of[lane] = sum;
    e->last_s[call * e->n_like + k].of[lane] = parts[n_parts - 1];
  }
  if (candidate != RA_NONE && e->briefs[call][candidate].least_s < least_s)
    e->briefs[call][candidate].least_s = least_s;
}

/* Numbers of a call without a place. */
static const RaBrief nowhere = {.n_runs = 1};
static const RaTraits no_traits;

/* A mesh that is a set. */
static void
choose_set(const RaEvaluator *e, RaLane1 *l, uint32_t call,
           const uint64_t *places, uint32_t index)
{
  uint64_t cells = places[index];

  l->set[call] = &l->candidate[call]->sets[index];
  l->cells[call] = cells;
  l->begin[call] =
      e->sets_are_cells
          ? (uint32_t)__builtin_ctzll(cells) << e->cell_shift
          : l->set[call]->runs[0].first * l->set[call]->gpus_per_node;
}

void
ra_simd_choose(RaEvaluator *e, guint lane, uint32_t call, RaChoice choice)
{
  RaLane1 *l = &e->lanes[lane];
  const RaBrief *brief = choice.candidate == RA_NONE
                             ? &nowhere
                             : &e->briefs[call][choice.candidate];
  const RaTraits *traits = choice.candidate == RA_NONE
                               ? &no_traits
                               : &e->traits[call][choice.candidate];
  uint32_t n = brief->n_gpus, begin = brief->first;
  uint32_t width = e->space->cluster->gpus_per_node;

  l->point.calls[call] = choice;
  l->candidate[call] = ra_space_candidate(e->space, call, choice);
  l->layout[call] = traits->layout;
  l->dp_at[call] = traits->dp_at;
  begin += choice.position * brief->step;
  l->begin[call] = begin;
  l->set[call] = NULL;
  if (choice.position >= brief->n_runs)
    choose_set(e, l, call, traits->places, choice.position - brief->n_runs);
  else
    l->cells[call] = n > 0 ? ra_cells_of(e, begin, begin + n) : 0;
  l->end[call] = l->begin[call] + n;
  l->node[call] = n > width || n == 0 ? RA_NONE : begin / width;
  if (l->layout[call] == RA_NONE && l->candidate[call]->plan.mesh.n_nodes > 1)
    l->node[call] = RA_NONE;
}

static inline void
fill_slot(RaEvaluator *e, guint lane, uint32_t s)
{
  const RaFlatGraphSlot *slot = &e->lanes[lane].use->program->slots[s];
  double seconds = slot_s(e, lane, s);

  e->duration_s[s].of[lane] = seconds;
  if (slot->kind == RA_NODE_REALLOC)
    e->realloc_s[slot->call].of[lane] = seconds;
}

void
ra_simd_fill_slot(RaEvaluator *e, guint lane, uint32_t s)
{
  fill_slot(e, lane, s);
  e->work.n_slots++;
}

/* All that the program of the lane asks. */
static void
fill_program(RaEvaluator *e, guint lane)
{
  const RaFlatGraph *p = e->lanes[lane].use->program;

  for (uint32_t s = 0; s < p->n_switches; s++)
    fill_switch(e, lane, s);
  e->lanes[lane].unasked = 0;
  for (uint32_t c = 0; c < e->n_calls; c++)
    e->realloc_s[c].of[lane] = 0;
  for (uint32_t s = 0; s < p->n_slots; s++)
    fill_slot(e, lane, s);
  e->work.n_slots += p->n_slots;
  for (uint32_t c = 0; c < e->n_calls; c++)
    fill_standing(e, lane, c);
}

void
ra_simd_fill(RaEvaluator *e, guint lane)
{
  ra_simd_fill_meshes(e, lane);
  for (uint32_t c = 0; c < e->n_calls; c++)
    ra_simd_fill_own(e, lane, c);
  fill_program(e, lane);
  e->work.n_filled++;
}

void
ra_simd_fill_moved(RaEvaluator *e, guint lane, uint32_t call)
{
  const RaFlatGraphUse *use = e->lanes[lane].use;

  ra_simd_fill_mesh(e, lane, call);
  ra_simd_fill_own(e, lane, call);
  for (uint32_t i = use->switch_begin[call]; i < use->switch_begin[call + 1];
       i++)
    fill_switch(e, lane, use->switches[i]);
  for (uint32_t i = use->slot_begin[call]; i < use->slot_begin[call + 1]; i++)
    fill_slot(e, lane, use->slots[i]);
  e->work.n_slots += use->slot_begin[call + 1] - use->slot_begin[call];
  e->work.n_moved++;
  for (uint32_t c = 0; c < e->n_calls; c++)
    if (c == call || (e->trainer[c] == call && e->trainer[c] != RA_NONE))
      fill_standing(e, lane, c);
}
