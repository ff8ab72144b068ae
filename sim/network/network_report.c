/* Reports of a network: capacity in use, flows, operations. */
#include "config.h"

#include "sim/network/network_impl.h"

/* Rates are solved, and stand in the flows, not in a form for many of them. */
static void
settle(RaNetwork *net)
{
  if (net->dirty->len > 0)
    ra_network_solve(net);
  if (net->dense)
    ra_dense_leave(net);
  if (net->hub)
    ra_hub_leave(net);
}

double
ra_network_used(RaNetwork *net, uint32_t link)
{
  const RaLink *at = &net->links[link];
  double used = 0;

  settle(net);
  for (uint32_t i = 0; i < at->n; i++) {
    uint32_t slot = at->flows[i].slot;

    used += net->flows[slot].rate *
            ra_path_refs(&net->paths[slot])[at->flows[i].ref].weight;
  }
  return used;
}

void
ra_network_visit(RaNetwork *net, RaFlowVisit visit, void *data)
{
  g_autofree uint32_t *links = NULL;

  settle(net);
  for (uint32_t slot = 0; slot < net->n_slots; slot++) {
    const RaFlow *flow = &net->flows[slot];
    RaFlowPath *path = &net->paths[slot];
    const RaFlowRef *refs = ra_path_refs(path);

    if (flow->bottleneck == RA_NO_LINK)
      continue;
    links = g_renew(uint32_t, links, path->n_refs);
    for (uint32_t i = 0; i < path->n_refs; i++)
      links[i] = refs[i].link;
    visit(path->payload, flow->rate, flow->bottleneck, links, path->n_refs,
          data);
  }
}

const RaNetworkWork *
ra_network_work(const RaNetwork *net)
{
  return &net->work;
}
