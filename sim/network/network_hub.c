/* Max-min fair rates of flows with one common bottleneck.
 *
 * If every flow crosses one link that is the bottleneck of all (a shared bus, a
 * narrow uplink), all rates are its level, capacity over weights, as long as no
 * other link fills.  The link keeps a clock, the integral of its level: a flow
 * that starts at clock V with amount A left ends when the clock shows V + A.  A
 * start or an end thus costs only the links of its flow.
 *
 * Another link fills no earlier than at the level capacity / weights of its
 * flows.  The least of these is searched again only when the level has passed a
 * bound of it.
 */
#include "config.h"

#include <math.h>

#include "sim/network/network_impl.h"

enum {
  LEAST_FLOWS = 16,
  MAX_SKIP = 16, /* solutions without a try after one that has not paid */
  PAID = 8       /* solutions that make up for a try */
};

struct _RaHub {
  uint32_t link;
  double level;   /* of all flows */
  double clock;   /* integral of it, at since_s */
  double since_s; /* of the clock */
  double safe;    /* level up to which no other link fills */
  double *weight; /* (n_links) of the flows on each */
  RaQueue ends;   /* by clock; payload: slot */
  uint32_t n_solved;
  GArray *fresh; /* (uint32_t) slots placed since the last solution */
};

/* Adds the flow's weights @by times; whether it crosses the hub. */
static gboolean
add_weights(RaNetwork *net, uint32_t slot, double by)
{
  RaHub *hub = net->hub;
  const RaFlowPath *path = &net->paths[slot];
  const RaFlowRef *refs = ra_path_refs(&net->paths[slot]);
  gboolean crosses = FALSE;

  for (uint32_t i = 0; i < path->n_refs; i++) {
    uint32_t l = refs[i].link;

    hub->weight[l] += by * refs[i].weight;
    crosses = crosses || l == hub->link;
    if (by > 0 && l != hub->link)
      hub->safe = MIN(hub->safe, net->links[l].capacity / hub->weight[l]);
  }
  return crosses;
}

/* The level at which another link would fill. */
static double
least_filling(const RaNetwork *net)
{
  double least = (double)INFINITY;

  for (uint32_t l = 0; l < net->n_links; l++)
    if (l != net->hub->link && net->links[l].n > 0)
      least = MIN(least, net->links[l].capacity / net->hub->weight[l]);
  return least;
}

static void
attach(RaNetwork *net, uint32_t slot, double left)
{
  RaHub *hub = net->hub;
  RaFlow *flow = &net->flows[slot];

  flow->bottleneck = hub->link;
  flow->left = hub->clock + left; /* of the clock */
  ra_queue_push(&hub->ends, (RaEvent){flow->left, flow->seq, slot});
}

/* After a solution: all flows, and one bottleneck. */
gboolean
ra_hub_wanted(RaNetwork *net)
{
  uint32_t n = net->region->len, first;

  if (n < LEAST_FLOWS || n != net->n_placed)
    return FALSE;
  if (net->hub_to_skip > 0) {
    net->hub_to_skip--;
    return FALSE;
  }
  first = g_array_index(net->region, uint32_t, 0);
  for (guint i = 1; i < n; i++) {
    uint32_t slot = g_array_index(net->region, uint32_t, i);

    if (net->flows[slot].bottleneck != net->flows[first].bottleneck)
      return FALSE;
  }
  return TRUE;
}

void
ra_hub_enter(RaNetwork *net)
{
  RaHub *hub = g_new0(RaHub, 1);
  uint32_t first = g_array_index(net->region, uint32_t, 0);

  net->hub = hub;
  hub->link = net->flows[first].bottleneck;
  hub->since_s = net->now_s;
  hub->weight = g_new0(double, net->n_links);
  hub->fresh = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  hub->safe = (double)INFINITY;
  ra_queue_init(&hub->ends, 64);
  for (guint i = 0; i < net->region->len; i++)
    add_weights(net, g_array_index(net->region, uint32_t, i), 1);
  hub->level = net->links[hub->link].capacity / hub->weight[hub->link];
  ra_network_hand_over(net, attach);
}

void
ra_hub_clear(RaNetwork *net)
{
  RaHub *hub = net->hub;

  if (!hub)
    return;
  g_free(hub->weight);
  g_array_free(hub->fresh, TRUE);
  ra_queue_clear(&hub->ends);
  g_free(hub);
  net->hub = NULL;
}

static void
advance(RaNetwork *net)
{
  RaHub *hub = net->hub;

  hub->clock += hub->level * (net->now_s - hub->since_s);
  hub->since_s = net->now_s;
}

/* Every flow has its rate and what it has left again. */
void
ra_hub_leave(RaNetwork *net)
{
  RaHub *hub = net->hub;

  advance(net);
  for (uint32_t slot = 0; slot < net->n_slots; slot++) {
    RaFlow *flow = &net->flows[slot];

    if (!flow->placed || flow->bottleneck == RA_NO_LINK)
      continue;
    flow->left = MAX(flow->left - hub->clock, 0);
    flow->rate = hub->level;
    flow->since_s = net->now_s;
    net->winner.leaf[slot] = (RaEvent){ra_flow_end_s(flow), flow->seq, slot};
  }
  ra_winner_rebuild(net);
  if (hub->n_solved >= PAID)
    net->hub_skip = 0;
  else
    net->hub_skip = MIN(MAX(2 * net->hub_skip, 1), MAX_SKIP);
  ra_hub_clear(net);
  net->hub_to_skip = net->hub_skip;
}

gboolean
ra_hub_place(RaNetwork *net, uint32_t slot)
{
  if (!add_weights(net, slot, 1)) {
    ra_hub_leave(net);
    return FALSE;
  }
  g_array_append_val(net->hub->fresh, slot);
  return TRUE;
}

void
ra_hub_remove(RaNetwork *net, uint32_t slot)
{
  RaEvent end;

  add_weights(net, slot, -1);
  ra_queue_pop(&net->hub->ends, &end);
}

gboolean
ra_hub_solve(RaNetwork *net)
{
  RaHub *hub = net->hub;
  double level = net->links[hub->link].capacity / hub->weight[hub->link];

  if (net->n_placed < LEAST_FLOWS) {
    ra_hub_leave(net);
    return FALSE;
  }
  if (level > hub->safe) {
    net->work.n_visited += net->n_links;
    hub->safe = least_filling(net);
  }
  if (level > hub->safe) {
    ra_hub_leave(net);
    return FALSE;
  }
  for (guint i = 0; i < net->dirty->len; i++)
    net->links[g_array_index(net->dirty, uint32_t, i)].dirty = FALSE;
  g_array_set_size(net->dirty, 0);
  hub->n_solved++;
  net->work.n_solved++;
  net->work.n_visited++;
  advance(net);
  hub->level = level;
  for (guint i = 0; i < hub->fresh->len; i++) {
    uint32_t slot = g_array_index(hub->fresh, uint32_t, i);

    attach(net, slot, net->flows[slot].left);
  }
  g_array_set_size(hub->fresh, 0);
  return TRUE;
}

/* Flows end in the order of the clock, so the heap's first is one that runs. */
RaEvent
ra_hub_end(const RaNetwork *net)
{
  const RaHub *hub = net->hub;
  RaEvent first;

  if (hub->ends.n == 0)
    return (RaEvent){(double)INFINITY, UINT32_MAX, 0};
  first = hub->ends.events[0];
  first.time_s = hub->since_s + MAX(first.time_s - hub->clock, 0) / hub->level;
  return first;
}
