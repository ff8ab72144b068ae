/* Max-min fair rates in the region that a change affects; the tournament. */
#include "config.h"

#include <math.h>

#include "sim/network/network_impl.h"

/* Rates that differ by less are equal: a solution's rounding, 10^4 additions of
 * half an ulp, is smaller; a region does not grow for it. */
#define SAME_FRAC 1e-11

enum {
  MIN_WHOLE = 16, /* flows; fewer are solved in no time either way */
  WHOLE_COST = 1, /* fillings of all that growing may cost */
  MAX_SKIP = 64   /* solutions in a row without a try to be local */
};

/* ---- The tournament ------------------------------------------------------ */

static inline uint32_t
winner_at(const RaWinner *winner, uint32_t i)
{
  return i >= winner->n_leaves ? i - winner->n_leaves : winner->node[i];
}

static inline uint32_t
play(const RaWinner *winner, uint32_t i)
{
  uint32_t a = winner_at(winner, 2 * i), b = winner_at(winner, 2 * i + 1);

  return ra_event_before(&winner->leaf[b], &winner->leaf[a]) ? b : a;
}

void
ra_winner_set(RaNetwork *net, uint32_t slot, double time_s)
{
  RaWinner *winner = &net->winner;

  winner->leaf[slot] = (RaEvent){time_s, net->flows[slot].seq, slot};
  for (uint32_t i = (winner->n_leaves + slot) / 2; i > 0; i /= 2) {
    uint32_t best = play(winner, i);

    if (winner->node[i] == best && best != slot)
      break;
    winner->node[i] = best;
  }
}

void
ra_winner_rebuild(RaNetwork *net)
{
  for (uint32_t i = net->winner.n_leaves - 1; i > 0; i--)
    net->winner.node[i] = play(&net->winner, i);
}

void
ra_network_hand_over(RaNetwork *net, void (*attach)(RaNetwork *network,
                                                    uint32_t slot, double left))
{
  for (guint i = 0; i < net->region->len; i++) {
    uint32_t slot = g_array_index(net->region, uint32_t, i);
    RaFlow *flow = &net->flows[slot];

    attach(net, slot,
           MAX(flow->left - flow->rate * (net->now_s - flow->since_s), 0));
    flow->in_run = FALSE;
    net->winner.leaf[slot].time_s = (double)INFINITY;
  }
  ra_winner_rebuild(net);
}

void
ra_winner_grow(RaNetwork *net, uint32_t n_slots)
{
  RaWinner *winner = &net->winner;
  uint32_t n_leaves = MAX(2, winner->n_leaves), n_old = winner->n_leaves;

  while (n_leaves < n_slots)
    n_leaves *= 2;
  winner->n_leaves = n_leaves;
  winner->node = g_renew(uint32_t, winner->node, n_leaves);
  winner->leaf = g_renew(RaEvent, winner->leaf, n_leaves);
  for (uint32_t i = n_old; i < n_leaves; i++)
    winner->leaf[i] = (RaEvent){(double)INFINITY, UINT32_MAX, i};
  ra_winner_rebuild(net);
}

/* ---- The region ---------------------------------------------------------- */

/* A link of a single flow caps that flow and no other, so it does not matter
 * before the level of filling has come to it: all that is kept of these is the
 * least. */
static inline gboolean
left_alone(RaNetwork *net, const RaLink *link)
{
  if (link->n != 1 || net->weighted)
    return FALSE;
  net->least_single = MIN(net->least_single, link->capacity);
  return TRUE;
}

static void
join(RaNetwork *net, uint32_t slot)
{
  const RaFlowPath *path = &net->paths[slot];
  const RaFlowRef *refs = ra_path_refs(&net->paths[slot]);

  if (net->flows[slot].region == net->n_regions)
    return;
  net->flows[slot].region = net->n_regions;
  g_array_append_val(net->region, slot);
  for (uint32_t i = 0; i < path->n_refs; i++) {
    RaLink *link = &net->links[refs[i].link];

    if (link->region == net->n_regions || left_alone(net, link))
      continue;
    link->region = net->n_regions;
    g_array_append_val(net->touched, refs[i].link);
  }
}

/* Flows that have no rate yet, and those whose bottleneck changed. */
static void
begin_region(RaNetwork *net)
{
  net->n_regions++;
  net->least_single = (double)INFINITY;
  g_array_set_size(net->region, 0);
  g_array_set_size(net->touched, 0);
  for (guint i = 0; i < net->dirty->len; i++) {
    uint32_t l = g_array_index(net->dirty, uint32_t, i);
    RaLink *link = &net->links[l];

    link->dirty = FALSE;
    for (uint32_t j = 0; j < link->n; j++) {
      uint32_t bottleneck = net->flows[link->flows[j].slot].bottleneck;

      if (bottleneck == l || bottleneck == RA_NO_LINK)
        join(net, link->flows[j].slot);
    }
  }
  g_array_set_size(net->dirty, 0);
}

static inline double
weight_of(const RaNetwork *net, const RaOnLink *at)
{
  return net->weighted ? ra_path_refs(&net->paths[at->slot])[at->ref].weight
                       : 1;
}

/* Computes the capacity of @l that held flows leave to the open ones. */
static void
open_link(RaNetwork *net, uint32_t l)
{
  RaLink *link = &net->links[l];

  link->free = link->capacity;
  link->n_open = 0;
  link->open_weight = 0;
  link->level = -1;
  if (net->has_whole && !net->weighted) {
    link->n_open = link->n;
    link->open_weight = link->n;
  }
  for (uint32_t j = 0, n = link->n - link->n_open; j < n; j++) {
    const RaFlow *flow = &net->flows[link->flows[j].slot];
    double weight = weight_of(net, &link->flows[j]);

    if (net->has_whole || flow->region == net->n_regions) {
      link->n_open++;
      link->open_weight += weight;
    } else {
      link->free -= weight * flow->rate;
    }
  }
  link->free = MAX(link->free, 0);
  net->work.n_visited += link->n;
  if (link->n_open > 0)
    ra_queue_push(&net->filling,
                  (RaEvent){link->free / link->open_weight, l, l});
}

static inline void
take(RaLink *link, double weight, double rate)
{
  link->n_open--;
  link->open_weight -= weight;
  link->free = MAX(link->free - weight * rate, 0);
}

/* Link @l fills first: its open flows have @rate, which the other links that
 * they are on lose. */
static void
fix_flows(RaNetwork *net, uint32_t l, double rate)
{
  RaLink *links = net->links, *link = &links[l];

  link->level = rate;
  for (uint32_t j = 0; j < link->n; j++) {
    const RaOnLink *at = &link->flows[j];
    RaFlow *flow = &net->flows[at->slot];

    if (net->fixed[at->slot] == net->n_fillings ||
        (!net->has_whole && flow->region != net->n_regions))
      continue;
    net->fixed[at->slot] = net->n_fillings;
    net->n_open--;
    flow->solved_rate = rate;
    flow->bottleneck = l;
    if (!net->weighted && at->n_other <= RA_INLINE_OTHERS) {
      for (uint32_t i = 0; i < at->n_other; i++)
        take(&links[at->other[i]], 1, rate);
    } else {
      RaFlowPath *path = &net->paths[at->slot];
      const RaFlowRef *refs = ra_path_refs(path);

      for (uint32_t i = 0; i < path->n_refs; i++)
        if (i != at->ref)
          take(&links[refs[i].link], refs[i].weight, rate);
    }
  }
  link->n_open = 0;
}

/* The links of a single flow that join() has left, where nothing has fixed that
 * flow yet. */
static void
open_single_links(RaNetwork *net)
{
  for (guint i = 0; i < net->region->len; i++) {
    uint32_t slot = g_array_index(net->region, uint32_t, i);
    RaFlowPath *path = &net->paths[slot];
    const RaFlowRef *refs = ra_path_refs(path);

    if (net->fixed[slot] == net->n_fillings)
      continue;
    for (uint32_t j = 0; j < path->n_refs; j++)
      if (net->links[refs[j].link].n == 1)
        open_link(net, refs[j].link);
  }
}

/* Progressive filling of the region.  A link's level only rises while others
 * fill, so one that comes up with an old level goes back with its new one. */
static void
fill(RaNetwork *net)
{
  RaEvent event;

  net->n_fillings++;
  net->n_open = net->region->len;
  for (guint i = 0; i < net->touched->len; i++)
    open_link(net, g_array_index(net->touched, uint32_t, i));
  if (net->least_single < (double)INFINITY)
    ra_queue_push(&net->filling, (RaEvent){net->least_single, 0, RA_NO_LINK});
  while (net->n_open > 0 && ra_queue_pop(&net->filling, &event)) {
    RaLink *link;
    double level;

    if (event.task == RA_NO_LINK) {
      open_single_links(net);
      continue;
    }
    link = &net->links[event.task];
    if (link->n_open == 0)
      continue;
    level = link->free / link->open_weight;
    if (level > event.time_s) {
      event.time_s = level;
      ra_queue_push(&net->filling, event);
      continue;
    }
    fix_flows(net, event.task, event.time_s);
  }
  net->filling.n = 0;
  net->work.n_rounds++;
}

/* The flows outside on @l for which the criterion fails, or which make it fail
 * for one inside, join. */
static void
check_link(RaNetwork *net, uint32_t l)
{
  RaLink *link = &net->links[l];
  double fastest = 0, used = 0;
  gboolean full;

  if (link->n == 1) /* which is inside */
    return;
  for (uint32_t j = 0; j < link->n; j++) {
    const RaFlow *flow = &net->flows[link->flows[j].slot];
    gboolean inside = flow->region == net->n_regions;
    double rate = inside ? flow->solved_rate : flow->rate;

    used += rate * weight_of(net, &link->flows[j]);
    if (inside)
      fastest = MAX(fastest, rate);
  }
  full = used >= link->capacity * (1 - SAME_FRAC);
  for (uint32_t j = 0; j < link->n; j++) {
    uint32_t slot = link->flows[j].slot;
    const RaFlow *flow = &net->flows[slot];

    if (flow->region == net->n_regions)
      continue;
    if ((link->level >= 0 && flow->rate > link->level * (1 + SAME_FRAC)) ||
        (flow->bottleneck == l &&
         (!full || flow->rate < fastest * (1 - SAME_FRAC))))
      join(net, slot);
  }
}

/* All flows there are. */
static void
take_whole(RaNetwork *net)
{
  g_array_set_size(net->region, 0);
  g_array_set_size(net->touched, 0);
  for (uint32_t slot = 0; slot < net->n_slots; slot++)
    if (net->flows[slot].placed)
      g_array_append_val(net->region, slot);
  net->least_single = (double)INFINITY;
  for (uint32_t l = 0; l < net->n_links; l++)
    if (net->links[l].n > 0 && !left_alone(net, &net->links[l]))
      g_array_append_val(net->touched, l);
  net->has_whole = TRUE;
}

static gboolean
grow_region(RaNetwork *net)
{
  guint before = net->region->len, n_touched = net->touched->len;

  for (guint i = 0; i < n_touched; i++)
    check_link(net, g_array_index(net->touched, uint32_t, i));
  return net->region->len > before;
}

/* TRUE if the end moved. */
static gboolean
apply(RaNetwork *net, RaFlow *flow)
{
  if (flow->rate == flow->solved_rate)
    return FALSE;
  flow->left = MAX(flow->left - flow->rate * (net->now_s - flow->since_s), 0);
  flow->since_s = net->now_s;
  flow->rate = flow->solved_rate;
  flow->in_run = FALSE;
  return TRUE;
}

/* Grows the region until the criterion holds.  Where that ends up with most of
 * all it could reach, it is cheaper to take all at once: the next solutions do,
 * twice as many each time that growing has not paid. */
static void
solve_region(RaNetwork *net)
{
  uint64_t before = net->work.n_visited;

  net->has_whole = FALSE;
  if (net->n_to_skip > 0) {
    net->n_to_skip--;
    take_whole(net);
    fill(net);
    return;
  }
  do
    fill(net);
  while (grow_region(net));
  if (net->region->len < MIN_WHOLE ||
      net->work.n_visited - before <= WHOLE_COST * net->n_entries) {
    net->skip = 0;
    return;
  }
  net->skip = MIN(MAX(2 * net->skip, 1), MAX_SKIP);
  net->n_to_skip = net->skip;
}

void
ra_network_solve(RaNetwork *net)
{
  gboolean many;

  if ((net->dense && ra_dense_solve(net)) || (net->hub && ra_hub_solve(net)))
    return;
  begin_region(net);
  if (net->region->len == 0)
    return;
  net->work.n_solved++;
  solve_region(net);
  many = net->region->len > net->n_slots / 8;
  for (guint i = 0; i < net->region->len; i++) {
    uint32_t slot = g_array_index(net->region, uint32_t, i);
    RaFlow *flow = &net->flows[slot];

    if (!apply(net, flow))
      continue;
    if (many)
      net->winner.leaf[slot] = (RaEvent){ra_flow_end_s(flow), flow->seq, slot};
    else
      ra_winner_set(net, slot, ra_flow_end_s(flow));
  }
  if (many)
    ra_winner_rebuild(net);
  if (ra_dense_wanted(net))
    ra_dense_enter(net);
  else if (ra_hub_wanted(net))
    ra_hub_enter(net);
}
