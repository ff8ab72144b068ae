/* What a plan is in numbers: a column of each table of the evaluator. */
#include "config.h"

#include <math.h>

#include "search/evaluate_impl.h"

/* MEASURED: bench/search, asked_cpu_s of so many asked and the rate of
 * proposals, 64 and 16,384 GPUs: proposals in the time of a simulated task, and
 * of a GPU of either mesh of a reallocation. */
#define PROPOSALS_PER_TASK 2
#define PROPOSALS_PER_GPU 8

/* --- costs of a lane --- */

static double
transfer_s(RaEvaluator *e, const RaLane1 *l, guint edge)
{
  RaEdgeCost *cost = &g_array_index(e->edges, RaEdgeCost, edge);
  uint32_t from = cost->source, to = cost->call;
  gboolean one_node = l->node[from] == l->node[to] && l->node[to] != RA_NONE;
  uint32_t i = e->dp_at[from][l->point.calls[from].candidate];
  uint32_t k = e->dp_at[to][l->point.calls[to].candidate];
  uint32_t kinds = l->candidate[from]->kinds | l->candidate[to]->kinds;
  double *slot = &cost->seconds[((i * e->n_dp + k) * 2 + (one_node != 0)) *
                                    e->n_kind_sets +
                                (e->n_kind_sets > 1 ? kinds : 0)];

  if (isnan(*slot))
    *slot = ra_cost_table_transfer_s(
        e->costs, cost->bytes, l->candidate[from]->plan.dp,
        l->candidate[to]->plan.dp, one_node, kinds);
  return *slot;
}

static RaReallocSlot *
realloc_slot(RaEvaluator *e, uint64_t key)
{
  return &e->reallocs[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 48 &
                      (RA_REALLOC_SLOTS - 1)];
}

/* Its bound while it was not asked. */
static double
realloc_s(RaEvaluator *e, RaLane1 *l, uint32_t from, uint32_t to)
{
  gboolean adapters =
      ra_cost_table_moves_adapters(e->costs, to, l->point.residency);
  uint64_t key = ra_cost_table_realloc_key(
      e->costs, l->candidate[from], l->point.calls[from].position,
      l->candidate[to], l->point.calls[to].position, adapters);
  RaReallocSlot *slot = realloc_slot(e, key);
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

/* Of a call that is nowhere the least; of one that is not known its bound,
 * which parts do not share. */
static double
call_part_s(const RaEvaluator *e, uint32_t call, uint32_t candidate,
            uint32_t at)
{
  const double *parts;

  if (candidate == RA_NONE)
    return e->least_s[call][at];
  parts = ra_evaluator_seen_s(e, call, candidate);
  if (parts)
    return parts[at];
  return e->workload->calls[call].n_parts == 1
             ? ra_cost_table_bound_s(e->costs, call, candidate)
             : 0;
}

static double
slot_s(RaEvaluator *e, guint lane, uint32_t index)
{
  RaLane1 *l = &e->lanes[lane];
  const RaProgramSlot *slot = &l->use->program->slots[index];
  uint32_t call = slot->call, candidate = l->point.calls[call].candidate;
  uint16_t at;

  switch ((RaNodeKind)slot->kind) {
  case RA_NODE_CALL:
    return call_part_s(e, call, candidate,
                       slot->like * e->workload->calls[call].n_parts +
                           slot->part);
  case RA_NODE_TRANSFER:
    return l->candidate[slot->source]->n_gpus == 0 ||
                   l->candidate[call]->n_gpus == 0
               ? 0
               : transfer_s(e, l, l->use->edge[index]);
  case RA_NODE_REALLOC:
    l->unasked &= ~(1u << call);
    at = l->use->realloc_switch[call];
    return at != RA_PROGRAM_NONE && e->on[at].of[lane] == 0
               ? 0
               : realloc_s(e, l, slot->source, call);
  default:
    return ra_cost_table_copy_s(e->costs, call, candidate, slot->what,
                                slot->kind == RA_NODE_OFFLOAD);
  }
}

/* --- a lane --- */

static gboolean
same_mesh(const RaLane1 *l, uint32_t a, uint32_t b)
{
  return l->begin[a] == l->begin[b] && l->end[a] == l->end[b] &&
         ra_same_set(l->set[a], l->set[b]);
}

/* GPUs [@begin, @end) and a set of whole nodes. */
static gboolean
set_meets(const RaMesh *set, uint32_t begin, uint32_t end)
{
  for (uint32_t i = 0; i < set->n_runs; i++) {
    uint32_t first = set->runs[i].first * set->gpus_per_node;

    if (first < end && begin < first + set->runs[i].n * set->gpus_per_node)
      return TRUE;
  }
  return FALSE;
}

gboolean
ra_lane_overlaps(const RaLane1 *l, uint32_t a, uint32_t b)
{
  if (l->set[a] && l->set[b])
    return ra_mesh_overlaps(l->set[a], l->set[b]);
  return l->set[a] ? l->begin[b] < l->end[b] &&
                         set_meets(l->set[a], l->begin[b], l->end[b])
                   : l->begin[a] < l->end[a] &&
                         set_meets(l->set[b], l->begin[a], l->end[a]);
}

/* Transfers stay out where both calls spread the same replicas over the same
 * GPUs, reallocations where the layout is that of training. */
static gboolean
is_on(const RaLane1 *l, const RaProgramSwitch *s)
{
  const RaCandidate *x = l->candidate[s->source], *y = l->candidate[s->call];

  if (x->n_gpus == 0 || y->n_gpus == 0)
    return FALSE;
  if (s->kind == RA_NODE_TRANSFER)
    return !(same_mesh(l, s->source, s->call) && x->plan.dp == y->plan.dp);
  return !(x->layout == y->layout && l->begin[s->source] == l->begin[s->call] &&
           ra_same_set(l->set[s->source], l->set[s->call]));
}

static void
fill_switch(RaEvaluator *e, guint lane, uint32_t s)
{
  const RaLane1 *l = &e->lanes[lane];

  e->on[s].of[lane] = is_on(l, &l->use->program->switches[s]) ? UINT64_MAX : 0;
}

/* The same where one of the two is a set. */
static void
fill_sets(RaEvaluator *e, guint lane, uint32_t c, uint32_t d)
{
  const RaLane1 *l = &e->lanes[lane];
  uint64_t meet = ra_lane_overlaps(l, c, d) ? UINT64_MAX : 0;

  ra_lane_pair(e->overlap, e, c, d)->of[lane] = meet;
  ra_lane_pair(e->overlap, e, d, c)->of[lane] = meet;
  ra_lane_pair(e->share, e, c, d)->of[lane] = meet;
  ra_lane_pair(e->share, e, d, c)->of[lane] = meet;
  ra_lane_pair(e->cover, e, c, d)->of[lane] =
      meet && ra_lane_rank(l, d, l->begin[c]) != RA_NONE ? UINT64_MAX : 0;
  ra_lane_pair(e->cover, e, d, c)->of[lane] =
      meet && ra_lane_rank(l, c, l->begin[d]) != RA_NONE ? UINT64_MAX : 0;
}

/* Whom @call shares GPUs with, and whose first GPU is whose. */
static void
fill_meshes(RaEvaluator *e, guint lane, uint32_t call)
{
  const RaLane1 *l = &e->lanes[lane];
  uint32_t x0 = l->begin[call], x1 = l->end[call];

  for (uint32_t d = 0; d < e->n_calls; d++) {
    uint32_t y0 = l->begin[d], y1 = l->end[d];
    uint64_t meet = x0 < y1 && y0 < x1 ? UINT64_MAX : 0;
    uint64_t x_in_y = meet && x0 >= y0 ? UINT64_MAX : 0;
    uint64_t y_in_x = meet && y0 >= x0 ? UINT64_MAX : 0;

    if (l->set[call] || l->set[d]) {
      fill_sets(e, lane, call, d);
      continue;
    }
    ra_lane_pair(e->overlap, e, call, d)->of[lane] = meet;
    ra_lane_pair(e->overlap, e, d, call)->of[lane] = meet;
    ra_lane_pair(e->cover, e, call, d)->of[lane] = x_in_y;
    ra_lane_pair(e->cover, e, d, call)->of[lane] = y_in_x;
    ra_lane_pair(e->share, e, call, d)->of[lane] = x_in_y;
    ra_lane_pair(e->share, e, d, call)->of[lane] = y_in_x;
  }
}

/* What stands on the GPUs of @call, whether it runs or not. */
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
  if (at != RA_PROGRAM_NONE && e->on[at].of[lane] == 0)
    sum = 0;
  else
    sum += most[RA_FOOT_PARAMS] * bytes[RA_FOOT_PARAMS];
  e->standing[call].of[lane] = (double)sum;
}

/* What the smallest GPU of @kinds has less than the largest of the cluster. */
static uint64_t
most_lack_bytes(const RaEvaluator *e, uint32_t kinds)
{
  uint64_t most = 0;

  for (uint32_t k = 0; e->n_kind_sets > 1 && k < RA_NODE_KINDS_MAX; k++)
    if (kinds >> k & 1)
      most = MAX(most, e->lack_bytes[k]);
  return most;
}

/* What does not depend on the others. */
static void
fill_own(RaEvaluator *e, guint lane, uint32_t call)
{
  RaLane1 *l = &e->lanes[lane];
  const uint64_t *bytes = l->candidate[call]->footprint.most.bytes;
  uint32_t n_parts = e->workload->calls[call].n_parts;
  uint32_t candidate = l->point.calls[call].candidate;
  const double *parts = candidate == RA_NONE
                            ? e->least_s[call]
                            : ra_evaluator_seen_s(e, call, candidate);

  e->transient[call].of[lane] =
      (double)(bytes[RA_FOOT_KV] + bytes[RA_FOOT_WORK] +
               most_lack_bytes(e, l->candidate[call]->kinds));
  l->unknown &= ~(1u << call);
  if (!parts) {
    l->unknown |= 1u << call;
    for (uint32_t k = 0; k < e->n_like; k++) {
      e->call_s[call * e->n_like + k].of[lane] =
          ra_cost_table_bound_s(e->costs, call, candidate);
      e->last_s[call * e->n_like + k].of[lane] = 0;
    }
    return;
  }
  if (candidate != RA_NONE)
    e->briefs[call][candidate].least_s = (double)INFINITY;
  for (uint32_t k = 0; k < e->n_like; k++, parts += n_parts) {
    double sum = 0;
    for (uint32_t p = 0; p < n_parts; p++)
      sum += parts[p];
    if (candidate != RA_NONE)
      e->briefs[call][candidate].least_s =
          MIN(e->briefs[call][candidate].least_s, sum);
    e->call_s[call * e->n_like + k].of[lane] = sum;
    e->last_s[call * e->n_like + k].of[lane] = parts[n_parts - 1];
  }
}

void
ra_lane_choose(RaEvaluator *e, guint lane, uint32_t call, RaChoice choice)
{
  RaLane1 *l = &e->lanes[lane];
  const RaCandidate *c = ra_space_candidate(e->space, call, choice);
  uint32_t width = e->space->cluster->gpus_per_node;

  l->point.calls[call] = choice;
  l->candidate[call] = c;
  l->set[call] = ra_candidate_set(c, choice.position);
  l->begin[call] = ra_candidate_begin(c, choice.position);
  l->end[call] = l->begin[call] + c->n_gpus;
  l->node[call] =
      c->n_gpus > width || c->n_gpus == 0 ? RA_NONE : l->begin[call] / width;
}

static void
fill_slot(RaEvaluator *e, guint lane, uint32_t s)
{
  const RaProgramSlot *slot = &e->lanes[lane].use->program->slots[s];
  double seconds = slot_s(e, lane, s);

  e->duration_s[s].of[lane] = seconds;
  if (slot->kind == RA_NODE_REALLOC)
    e->realloc_s[slot->call].of[lane] = seconds;
}

/* All that the program of the lane asks. */
static void
fill_program(RaEvaluator *e, guint lane)
{
  const RaProgram *p = e->lanes[lane].use->program;

  for (uint32_t s = 0; s < p->n_switches; s++)
    fill_switch(e, lane, s);
  e->lanes[lane].unasked = 0;
  for (uint32_t c = 0; c < e->n_calls; c++)
    e->realloc_s[c].of[lane] = 0;
  for (uint32_t s = 0; s < p->n_slots; s++)
    fill_slot(e, lane, s);
  for (uint32_t c = 0; c < e->n_calls; c++)
    fill_standing(e, lane, c);
}

void
ra_lane_fill(RaEvaluator *e, guint lane)
{
  for (uint32_t c = 0; c < e->n_calls; c++) {
    fill_meshes(e, lane, c);
    fill_own(e, lane, c);
  }
  fill_program(e, lane);
}

void
ra_lane_fill_moved(RaEvaluator *e, guint lane, uint32_t call)
{
  const RaProgramUse *use = e->lanes[lane].use;

  fill_meshes(e, lane, call);
  fill_own(e, lane, call);
  for (uint32_t i = use->switch_begin[call]; i < use->switch_begin[call + 1];
       i++)
    fill_switch(e, lane, use->switches[i]);
  for (uint32_t i = use->slot_begin[call]; i < use->slot_begin[call + 1]; i++)
    fill_slot(e, lane, use->slots[i]);
  for (uint32_t c = 0; c < e->n_calls; c++)
    if (c == call || (e->trainer[c] == call && e->trainer[c] != RA_NONE))
      fill_standing(e, lane, c);
}

/* Costs call @c, and what is in the lane for it. */
static void
learn_call(RaEvaluator *e, guint lane, uint32_t c)
{
  const RaLane1 *l = &e->lanes[lane];
  const RaProgramUse *use = l->use;

  ra_cost_table_call_s(e->costs, c, l->point.calls[c].candidate);
  e->mine[c][l->point.calls[c].candidate] = 1;
  fill_own(e, lane, c);
  for (uint32_t i = use->slot_begin[c]; i < use->slot_begin[c + 1]; i++)
    if (use->program->slots[use->slots[i]].kind == RA_NODE_CALL)
      fill_slot(e, lane, use->slots[i]);
}

/* Into what this evaluator has seen. */
static void
ask_realloc(RaEvaluator *e, const RaLane1 *l, uint32_t from, uint32_t to)
{
  gboolean adapters =
      ra_cost_table_moves_adapters(e->costs, to, l->point.residency);
  uint64_t key = ra_cost_table_realloc_key(
      e->costs, l->candidate[from], l->point.calls[from].position,
      l->candidate[to], l->point.calls[to].position, adapters);

  *realloc_slot(e, key) = (RaReallocSlot){
      key, ra_cost_table_realloc_s(e->costs, from, l->point.calls[from], to,
                                   l->point.calls[to], adapters)};
}

static void
learn_realloc(RaEvaluator *e, guint lane, uint32_t c)
{
  const RaLane1 *l = &e->lanes[lane];
  const RaProgramUse *use = l->use;

  for (uint32_t i = use->slot_begin[c]; i < use->slot_begin[c + 1]; i++) {
    const RaProgramSlot *slot = &use->program->slots[use->slots[i]];
    if (slot->kind != RA_NODE_REALLOC || slot->call != c)
      continue;
    ask_realloc(e, l, slot->source, c);
    fill_slot(e, lane, use->slots[i]);
  }
}

void
ra_lane_learn(RaEvaluator *e, guint lane)
{
  RaLane1 *l = &e->lanes[lane];

  for (uint32_t c = 0; c < e->n_calls && (l->unknown | l->unasked); c++) {
    if (l->unknown >> c & 1)
      learn_call(e, lane, c);
    if (l->unasked >> c & 1)
      learn_realloc(e, lane, c);
  }
}

void
ra_evaluator_ask(RaEvaluator *evaluator, guint lane)
{
  RaLane1 *l = &evaluator->lanes[lane];

  if (l->unasked)
    learn_realloc(evaluator, lane, (uint32_t)g_bit_nth_lsf(l->unasked, -1));
  else if (l->unknown)
    learn_call(evaluator, lane, (uint32_t)g_bit_nth_lsf(l->unknown, -1));
}

double
ra_evaluator_ask_price(const RaEvaluator *evaluator, guint lane)
{
  const RaLane1 *l = &evaluator->lanes[lane];
  uint32_t to, from;

  if (l->unasked) {
    to = (uint32_t)g_bit_nth_lsf(l->unasked, -1);
    from = evaluator->trainer[to];
    return PROPOSALS_PER_GPU *
           (double)(l->candidate[from]->n_gpus + l->candidate[to]->n_gpus);
  }
  if (!l->unknown)
    return 0;
  to = (uint32_t)g_bit_nth_lsf(l->unknown, -1);
  return PROPOSALS_PER_TASK *
         ra_cost_table_n_tasks(evaluator->costs, to,
                               l->point.calls[to].candidate);
}

void
ra_evaluator_see(RaEvaluator *evaluator, gint round)
{
  evaluator->round = round;
}
