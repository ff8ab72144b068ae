/* Topology of a cluster: its links and their capacities. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/network/topology_impl.h"

/* Shares that fill a link to its capacity add up to it but for rounding, which
 * must slow no flow. */
#define ROOM_FRAC 1e-9

/* ---- Links --------------------------------------------------------------- */

static gboolean
fail(const RaTopology *t, GError **error, const char *what, uint32_t where)
{
  const RaKeyFile *file = t->cluster->file;

  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: %s %u has no working link, expected one",
              file ? ra_key_file_name(file) : "cluster", what, where);
  return FALSE;
}

/* Rate of one NIC of @node. */
static double
nic_bytes_per_s(const RaCluster *c, uint32_t node)
{
  return c->kinds ? c->kinds[c->kind_of_node[node]].nic_bytes_per_s
                  : c->nic_bytes_per_s;
}

/* Several cards a port where there are more than GPUs. */
static void
set_ports(RaTopology *t)
{
  const RaCluster *c = t->cluster;
  double of_port;

  t->n_ports = MIN(c->nics_per_node, c->gpus_per_node);
  if (t->n_ports == 0)
    return;
  of_port = (double)c->nics_per_node / t->n_ports;
  t->gpu_share = (double)t->n_ports / c->gpus_per_node;
  t->port_frac = g_new(double, (gsize)c->n_nodes * t->n_ports);
  for (gsize i = 0; i < (gsize)c->n_nodes * t->n_ports; i++)
    t->port_frac[i] = 1;
  for (uint32_t i = 0; i < c->n_links; i++) {
    const RaClusterLink *link = &c->links[i];

    if (link->kind == RA_LINK_NIC)
      t->port_frac[link->where * t->n_ports +
                   link->index * t->n_ports / c->nics_per_node] +=
          (link->bytes_per_s / nic_bytes_per_s(c, link->where) - 1) / of_port;
  }
  for (uint32_t v = 0; c->graph && v < c->graph->n_cards; v++)
    if (c->graph->begin[v] == c->graph->begin[v + 1])
      t->port_frac[v / c->nics_per_node * t->n_ports +
                   v % c->nics_per_node * t->n_ports / c->nics_per_node] -=
          1 / of_port;
}

/* Every GPU's port: its own, or the next that works. */
static gboolean
route_gpus(RaTopology *t, GError **error)
{
  const RaCluster *c = t->cluster;
  uint32_t n_gpus = ra_cluster_n_gpus(c);

  t->port = g_new0(uint32_t, MAX(n_gpus, 1u));
  for (uint32_t i = 0; i < n_gpus && t->n_ports > 0; i++) {
    uint32_t first = ra_topology_node(t, i) * t->n_ports;
    uint32_t own = i % c->gpus_per_node * t->n_ports / c->gpus_per_node, k = 0;

    while (k < t->n_ports &&
           !(t->port_frac[first + (own + k) % t->n_ports] > 1e-12))
      k++;
    if (k == t->n_ports && t->graph->lane_of_gpu[i] != RA_NONE)
      return fail(t, error, "node", ra_topology_node(t, i));
    t->port[i] = first + (own + k) % t->n_ports;
  }
  return TRUE;
}

/* Identity of a port: the lanes of its GPUs, and its rate. */
static void
append_gpu(GString **of_port, const RaTopology *t, uint32_t gpu)
{
  GString **text = &of_port[t->port[gpu]];

  if (!*text) {
    *text = g_string_new(NULL);
    g_string_append_printf(*text, "%a/%u", t->port_frac[t->port[gpu]],
                           ra_cluster_kind(t->cluster, gpu));
  }
  g_string_append_printf(*text, " %u", t->graph->lane_of_gpu[gpu]);
}

/* GPUs are gone through in order, so equal lists are equal texts. */
static void
class_ports(RaTopology *t)
{
  gsize n = (gsize)t->cluster->n_nodes * t->n_ports;
  g_autoptr(GHashTable) classes =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autofree GString **of_port = g_new0(GString *, MAX(n, 1));

  t->port_class = g_new(uint32_t, MAX(n, 1));
  t->class_n = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  t->class_port = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  for (uint32_t i = 0; n > 0 && i < ra_cluster_n_gpus(t->cluster); i++)
    if (t->graph->lane_of_gpu[i] != RA_NONE)
      append_gpu(of_port, t, i);
  for (uint32_t port = 0; port < n; port++) {
    void *class;

    t->port_class[port] = RA_NONE;
    if (!of_port[port])
      continue;
    if (!g_hash_table_lookup_extended(classes, of_port[port]->str, NULL,
                                      &class)) {
      uint32_t none = 0;

      class = GUINT_TO_POINTER(t->class_n->len);
      g_array_append_val(t->class_n, none);
      g_array_append_val(t->class_port, port);
      g_hash_table_insert(classes, g_strdup(of_port[port]->str), class);
    }
    t->port_class[port] = GPOINTER_TO_UINT(class);
    g_array_index(t->class_n, uint32_t, t->port_class[port])++;
    g_string_free(of_port[port], TRUE);
  }
}

/* A way up has as much as the cards of a leaf's nodes on its rail, less
 * oversubscription. */
static void
set_leaves(RaTopology *t)
{
  const RaCluster *c = t->cluster;
  uint32_t leaf = c->fabric.n_leaf_nodes;

  t->n_leaf_nodes = leaf ? leaf : c->n_nodes;
  t->n_leaves = (c->n_nodes + t->n_leaf_nodes - 1) / t->n_leaf_nodes;
  t->n_rails = ra_cluster_n_rails(c);
  t->n_spines = MAX(c->fabric.n_spines, 1u);
  t->uplink_share = (double)t->n_rails * MAX(c->fabric.oversubscription, 1.0) /
                    ((double)t->n_leaf_nodes * c->gpus_per_node);
}

/* A GPU's link to its peers: the lane's is that of the slowest. */
static gboolean
limit_lane(RaTopology *t, const RaClusterLink *link, GError **error)
{
  uint32_t gpu = link->where * t->cluster->gpus_per_node + link->index;
  uint32_t lane = t->graph->lane_of_gpu[gpu];
  const RaDevice *device =
      t->cluster->kinds
          ? &t->cluster->kinds[ra_cluster_kind(t->cluster, gpu)].device
          : &t->cluster->device;
  double frac = link->bytes_per_s / device->intra_bytes_per_s;

  if (lane == RA_NONE)
    return TRUE;
  if (!(frac > 0))
    return fail(t, error, "GPU", gpu);
  for (guint k = GPU_OUT; k <= GPU_IN; k++) {
    double *capacity = &t->capacity[N_LANE_LINKS * lane + k];
    *capacity = MIN(*capacity, frac);
  }
  return TRUE;
}

/* The kind by whose law a leaf's ways are full: of its first node. */
static uint32_t
leaf_kind(const RaTopology *t, uint32_t leaf)
{
  return ra_cluster_kind(t->cluster,
                         leaf * t->n_leaf_nodes * t->cluster->gpus_per_node);
}

/* Rate of all NICs of a node of @kind. */
static double
cards_bytes_per_s(const RaCluster *c, uint32_t kind)
{
  return c->kinds
             ? c->kinds[kind].nics_per_node * c->kinds[kind].nic_bytes_per_s
             : c->nics_per_node * c->nic_bytes_per_s;
}

/* Cards below leaf @leaf as parts of what as many of its first node's kind
 * have. */
static double
leaf_cards_frac(const RaTopology *t, uint32_t leaf)
{
  const RaCluster *c = t->cluster;
  uint32_t first = leaf * t->n_leaf_nodes;
  uint32_t end = MIN(first + t->n_leaf_nodes, c->n_nodes);
  double sum = 0;

  if (!c->kinds)
    return 1;
  for (uint32_t node = first; node < end; node++)
    sum += cards_bytes_per_s(c, c->kind_of_node[node]);
  return sum / (end - first) / cards_bytes_per_s(c, leaf_kind(t, leaf));
}

static gboolean
limit_uplink(RaTopology *t, const RaClusterLink *link, GError **error)
{
  double share = cards_bytes_per_s(t->cluster, leaf_kind(t, link->where)) /
                 t->cluster->gpus_per_node;
  double frac = link->bytes_per_s * t->uplink_share / share;

  if (t->n_leaves > 1 && !(frac > 0))
    return fail(t, error, "leaf", link->where);
  for (uint32_t spine = 0; spine < t->n_spines && t->n_leaves > 1; spine++)
    for (guint down = 0; down < 2; down++)
      t->capacity[ra_topology_leaf_link(t, link->where, link->index, spine,
                                        down != 0)] = frac;
  return TRUE;
}

static gboolean
set_capacities(RaTopology *t, GError **error)
{
  const RaCluster *c = t->cluster;

  t->first_port_link = N_LANE_LINKS * t->graph->n_lanes;
  t->first_leaf_link = t->first_port_link + 2 * t->class_n->len;
  t->n_links = t->first_leaf_link;
  if (t->n_leaves > 1)
    t->n_links += 2 * t->n_leaves * t->n_rails * t->n_spines;
  t->first_graph_link = t->n_links;
  if (c->graph)
    t->n_links += 2 * c->graph->links->len;
  t->capacity = g_new(double, MAX(t->n_links, 1u));
  for (uint32_t link = 0; link < t->n_links; link++)
    t->capacity[link] = 1;
  for (uint32_t class = 0; class < t->class_n->len; class ++)
    for (guint in = 0; in < 2; in++)
      t->capacity[t->first_port_link + 2 * class + in] =
          t->port_frac[g_array_index(t->class_port, uint32_t, class)];
  for (uint32_t leaf = 0; leaf < t->n_leaves && t->n_leaves > 1; leaf++)
    for (uint32_t i = 0; i < 2 * t->n_rails * t->n_spines; i++)
      t->capacity[t->first_leaf_link + 2 * leaf * t->n_rails * t->n_spines +
                  i] = leaf_cards_frac(t, leaf);
  for (uint32_t i = 0; i < c->n_links; i++) {
    const RaClusterLink *link = &c->links[i];

    if (link->kind == RA_LINK_GPU && !limit_lane(t, link, error))
      return FALSE;
    if (link->kind == RA_LINK_UPLINK && !limit_uplink(t, link, error))
      return FALSE;
  }
  for (uint32_t link = 0; link < t->n_links; link++)
    t->capacity[link] *= 1 + ROOM_FRAC;
  return TRUE;
}

static void
free_path(void *data)
{
  RaPath *path = data;

  g_array_unref(path->links);
  g_free(path);
}

RaTopology *
ra_topology_new(const RaTaskGraph *graph, GError **error)
{
  g_autoptr(RaTopology) t = g_new0(RaTopology, 1);

  t->graph = graph;
  t->cluster = graph->augmented->plan->cluster;
  t->paths =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_path);
  t->touched = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  t->distances = g_hash_table_new_full(NULL, NULL, NULL, g_free);
  t->gpu = ra_task_graph_gpus(t->graph, ra_cluster_n_gpus(t->cluster),
                              &t->gpu_begin);
  set_ports(t);
  if (!route_gpus(t, error))
    return NULL;
  class_ports(t);
  set_leaves(t);
  if (!set_capacities(t, error))
    return NULL;
  t->sum = g_new0(double, (gsize)t->n_links *RA_N_USES + 1);
  return g_steal_pointer(&t);
}

void
ra_topology_free(RaTopology *t)
{
  if (!t)
    return;
  g_free(t->gpu_begin);
  g_free(t->gpu);
  g_free(t->port_frac);
  g_free(t->port);
  g_free(t->port_class);
  if (t->class_n)
    g_array_unref(t->class_n);
  if (t->class_port)
    g_array_unref(t->class_port);
  g_free(t->capacity);
  g_hash_table_unref(t->paths);
  g_hash_table_unref(t->distances);
  g_free(t->sum);
  g_array_unref(t->touched);
  g_free(t);
}

uint32_t
ra_topology_n_links(const RaTopology *topology)
{
  return topology->n_links;
}

uint32_t
ra_topology_link_kinds(const RaTopology *t, uint32_t link)
{
  uint32_t kinds = 0;

  if (!t->cluster->kinds || link >= t->first_graph_link)
    return 1;
  if (link >= t->first_leaf_link)
    return 1u << leaf_kind(t, (link - t->first_leaf_link) / 2 / t->n_spines /
                                  t->n_rails);
  if (link >= t->first_port_link) {
    uint32_t class = (link - t->first_port_link) / 2;
    uint32_t port = g_array_index(t->class_port, uint32_t, class);

    return 1u << t->cluster->kind_of_node[port / t->n_ports];
  }
  for (uint32_t lane = link / N_LANE_LINKS, i = t->gpu_begin[lane];
       i < t->gpu_begin[lane + 1]; i++)
    kinds |= 1u << ra_cluster_kind(t->cluster, t->gpu[i]);
  return kinds;
}

const double *
ra_topology_capacity(const RaTopology *topology)
{
  return topology->capacity;
}
