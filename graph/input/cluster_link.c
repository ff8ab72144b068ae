/* Links of a cluster that are not like the others. */
#include "config.h"

#include <string.h>

#include "graph/input/cluster_impl.h"

/* A `[link NAME]` group as it is written. */
typedef struct {
  double bytes_per_s;
  const char *ends;
  double latency_s;
} LinkKeys;

/* clang-format off */
static const RaKeySpec link_keys[] = {
  {"rate", RA_KEY_QUANTITY, G_STRUCT_OFFSET(LinkKeys, bytes_per_s),
   .required = TRUE, .unit = RA_UNIT_BYTES_PER_S, .min = 0, .max = 1e15,
   .doc = "rate of the link, each direction, such as 200 Gbit/s; 0 B/s: "
          "failed"},
  {"ends", RA_KEY_STRING, G_STRUCT_OFFSET(LinkKeys, ends),
   .doc = "fabric = graph: the two NICs or switches that it connects"},
  {"latency", RA_KEY_QUANTITY, G_STRUCT_OFFSET(LinkKeys, latency_s),
   .fallback = "0 s", .unit = RA_UNIT_SECONDS, .min = 0, .max = 1,
   .doc = "ends: latency of a message, in addition to the profile's law"},
};
/* clang-format on */

const RaKeySpec *
ra_cluster_link_key_specs(gsize *out_n)
{
  *out_n = G_N_ELEMENTS(link_keys);
  return link_keys;
}

/* "node12": reads the number behind @word; NULL: something else stands there.
 */
static const char *
read_number(const char *text, const char *word, uint32_t *out)
{
  char *end;
  guint64 value;

  if (!g_str_has_prefix(text, word) || !g_ascii_isdigit(text[strlen(word)]))
    return NULL;
  value = g_ascii_strtoull(text + strlen(word), &end, 10);
  *out = (uint32_t)MIN(value, UINT32_MAX);
  return end;
}

static gboolean
parse_name(const char *name, RaClusterLink *link)
{
  static const struct {
    const char *where, *what;
    RaClusterLinkKind kind;
  } forms[] = {{"node", "/nic", RA_LINK_NIC},
               {"node", "/gpu", RA_LINK_GPU},
               {"leaf", "/rail", RA_LINK_UPLINK}};

  for (guint i = 0; i < G_N_ELEMENTS(forms); i++) {
    const char *rest = read_number(name, forms[i].where, &link->where);

    rest = rest ? read_number(rest, forms[i].what, &link->index) : NULL;
    link->kind = forms[i].kind;
    if (rest && *rest == '\0')
      return TRUE;
  }
  return FALSE;
}

/* How many there are of its kind: of nodes or leaves, and of links in one. */
static void
bounds(const RaCluster *cluster, RaClusterLinkKind kind, uint32_t *out_where,
       uint32_t *out_index)
{
  uint32_t leaf = cluster->fabric.n_leaf_nodes;

  *out_where = cluster->n_nodes;
  *out_index = cluster->gpus_per_node;
  if (kind == RA_LINK_NIC)
    *out_index = cluster->nics_per_node;
  if (kind != RA_LINK_UPLINK)
    return;
  *out_where = leaf ? (cluster->n_nodes + leaf - 1) / leaf : 1;
  *out_index = ra_cluster_n_rails(cluster);
}

/* A link of a graph, where @keys has ends. */
static gboolean
read_ends(RaCluster *cluster, guint group, const LinkKeys *keys, GError **error)
{
  if (!cluster->graph)
    return ra_key_file_fail(cluster->file, group, "ends", error,
                            "'ends' without a graph, expected 'fabric = graph' "
                            "in [cluster]");
  return ra_link_graph_add(cluster->graph, cluster->file, group, keys->ends,
                           keys->bytes_per_s, keys->latency_s, error);
}

static gboolean
read_link(RaCluster *cluster, guint group, GError **error)
{
  const char *name = ra_key_file_group_name(cluster->file, group);
  RaClusterLink *link = &cluster->links[cluster->n_links];
  uint32_t n_where, n_index;
  LinkKeys keys = {0};

  if (!ra_key_file_read_group(cluster->file, group, link_keys,
                              G_N_ELEMENTS(link_keys), &keys, error))
    return FALSE;
  if (keys.ends)
    return read_ends(cluster, group, &keys, error);
  if (keys.latency_s > 0)
    return ra_key_file_fail(cluster->file, group, "latency", error,
                            "'latency' without 'ends', expected it of a link "
                            "of a graph");
  if (!parse_name(name, link))
    return ra_key_file_fail(cluster->file, group, NULL, error,
                            "link '%s', expected node0/nic0, node0/gpu0 or "
                            "leaf0/rail0",
                            name);
  bounds(cluster, link->kind, &n_where, &n_index);
  if (link->kind == RA_LINK_UPLINK && cluster->graph)
    return ra_key_file_fail(cluster->file, group, NULL, error,
                            "link '%s' with 'fabric = graph', expected its "
                            "'ends'",
                            name);
  if (link->where >= n_where || link->index >= n_index)
    return ra_key_file_fail(cluster->file, group, NULL, error,
                            "link '%s', expected numbers below %u and %u", name,
                            n_where, n_index);
  link->bytes_per_s = keys.bytes_per_s;
  cluster->n_links++;
  return TRUE;
}

gboolean
ra_cluster_read_links(RaCluster *cluster, GError **error)
{
  guint n_groups = ra_key_file_n_groups(cluster->file);

  cluster->links = g_new0(RaClusterLink, n_groups);
  if (cluster->fabric.kind == RA_FABRIC_GRAPH)
    cluster->graph =
        ra_link_graph_new(cluster->n_nodes, cluster->nics_per_node);
  for (guint group = 0; group < n_groups; group++)
    if (g_str_equal(ra_key_file_group_noun(cluster->file, group), "link") &&
        !read_link(cluster, group, error))
      return FALSE;
  if (!cluster->graph)
    return TRUE;
  return ra_link_graph_finish(
      cluster->graph, cluster->file,
      (guint)ra_key_file_find_group(cluster->file, "cluster", ""), error);
}

uint32_t
ra_cluster_n_rails(const RaCluster *cluster)
{
  uint32_t n = MIN(cluster->nics_per_node, cluster->gpus_per_node);

  return cluster->fabric.kind == RA_FABRIC_RAIL ? MAX(n, 1u) : 1;
}
