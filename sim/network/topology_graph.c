/* Paths over the links that the cluster file lists. */
#include "config.h"

#include "base/hash.h"
#include "sim/network/topology_impl.h"

/* Cards have one link mostly, so ways are kept to what is at its other end. */
static uint32_t
last_switch(const RaLinkGraph *graph, uint32_t card)
{
  return graph->begin[card + 1] - graph->begin[card] == 1
             ? graph->ways[graph->begin[card]].to
             : card;
}

static const uint16_t *
distances_to(RaTopology *t, uint32_t vertex)
{
  void *key = GUINT_TO_POINTER(vertex);
  uint16_t *distance = g_hash_table_lookup(t->distances, key);

  if (!distance) {
    distance = ra_link_graph_distances(t->cluster->graph, vertex);
    g_hash_table_insert(t->distances, key, distance);
  }
  return distance;
}

/* The GPU's NIC; where that is not in the wanted @part of the graph, the first
 * NIC of its node that is. */
static uint32_t
card_of(const RaTopology *t, uint32_t gpu, uint32_t part)
{
  const RaLinkGraph *graph = t->cluster->graph;
  uint32_t n = graph->nics_per_node, node = ra_topology_node(t, gpu);
  uint32_t own = node * n + t->port[gpu] % t->n_ports * n / t->n_ports;

  if (part == UINT32_MAX || graph->part[own] == part)
    return own;
  for (uint32_t k = 0; k < n; k++)
    if (graph->part[node * n + k] == part)
      return node * n + k;
  return UINT32_MAX;
}

/* Cards from which there is a way: the receiver's own, else one of the part
 * that reaches all nodes. */
static void
choose_cards(const RaTopology *t, uint32_t from, uint32_t to, uint32_t *out_a,
             uint32_t *out_b)
{
  const RaLinkGraph *graph = t->cluster->graph;

  *out_b = card_of(t, to, UINT32_MAX);
  *out_a = card_of(t, from, graph->part[*out_b]);
  if (*out_a != UINT32_MAX)
    return;
  *out_a = card_of(t, from, graph->whole);
  *out_b = card_of(t, to, graph->whole);
}

static void
take_way(RaTopology *t, uint32_t from, RaGraphWay way, double part,
         RaTakeLink take, double *latency_s)
{
  const RaGraphLink *link =
      &g_array_index(t->cluster->graph->links, RaGraphLink, way.link);
  double share = ra_cluster_nic_share_bytes_per_s(t->cluster);

  take(t, t->first_graph_link + 2 * way.link + (link->ends[0] != from),
       part * share / link->bytes_per_s);
  *latency_s += link->latency_s;
}

double
ra_topology_cross_graph(RaTopology *t, uint32_t from, uint32_t to, double part,
                        RaTakeLink take)
{
  const RaLinkGraph *graph = t->cluster->graph;
  uint64_t flow = (uint64_t)from << 32 | to;
  const uint16_t *distance;
  double latency_s = 0;
  uint32_t at, card, last;

  if (ra_topology_node(t, from) == ra_topology_node(t, to))
    return 0;
  choose_cards(t, from, to, &at, &card);
  last = last_switch(graph, card);
  distance = distances_to(t, last);
  while (at != last) {
    RaGraphWay way = ra_link_graph_next(graph, at, distance, flow);

    take_way(t, at, way, part, take, &latency_s);
    at = way.to;
  }
  if (last != card)
    take_way(t, last, (RaGraphWay){card, graph->ways[graph->begin[card]].link},
             part, take, &latency_s);
  return latency_s;
}
