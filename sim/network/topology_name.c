/* Names of links. */
#include "config.h"

#include "base/text.h"
#include "sim/network/topology_impl.h"

/* GPUs of a lane, or of a class of ports, as ranges. */
static char *
gpus_of(const RaTopology *t, uint32_t lane, uint32_t class)
{
  uint32_t n = ra_cluster_n_gpus(t->cluster);
  g_autofree guint8 *in = g_new0(guint8, n);

  for (uint32_t gpu = 0; gpu < n; gpu++)
    in[gpu] = t->graph->lane_of_gpu[gpu] != RA_NONE &&
              (class == RA_NONE ? t->graph->lane_of_gpu[gpu] == lane
                                : t->port_class[t->port[gpu]] == class);
  return ra_text_ranges(in, n);
}

static char *
graph_link_name(const RaTopology *t, uint32_t i)
{
  const RaLinkGraph *graph = t->cluster->graph;
  const RaGraphLink *link = &g_array_index(graph->links, RaGraphLink, i / 2);
  g_autofree char *from = ra_link_graph_name(graph, link->ends[i % 2]);
  g_autofree char *to = ra_link_graph_name(graph, link->ends[1 - i % 2]);

  return g_strdup_printf("%s to %s", from, to);
}

char *
ra_topology_link_name(const RaTopology *t, uint32_t link)
{
  static const char *const lane_links[] = {"peers out", "peers in", "host out",
                                           "host in"};
  uint32_t i = link - t->first_leaf_link;
  g_autofree char *gpus = NULL;

  if (link < t->first_port_link) {
    gpus = gpus_of(t, link / N_LANE_LINKS, RA_NONE);
    return g_strdup_printf("%s, GPUs %s", lane_links[link % N_LANE_LINKS],
                           gpus);
  }
  if (link < t->first_leaf_link) {
    gpus = gpus_of(t, RA_NONE, (link - t->first_port_link) / 2);
    return g_strdup_printf("network %s, GPUs %s",
                           (link - t->first_port_link) % 2 ? "in" : "out",
                           gpus);
  }
  if (link >= t->first_graph_link)
    return graph_link_name(t, link - t->first_graph_link);
  return g_strdup_printf("leaf %u rail %u spine %u %s",
                         i / 2 / t->n_spines / t->n_rails,
                         i / 2 / t->n_spines % t->n_rails, i / 2 % t->n_spines,
                         i % 2 ? "down" : "up");
}
