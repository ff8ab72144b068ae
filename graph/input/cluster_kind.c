/* Kinds of nodes of a cluster whose nodes are not all alike. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/input/cluster_impl.h"

/* A `[kind NAME]` group as it is written; the mesh syntax names its nodes. */
typedef struct {
  const char *nodes, *gpu;
  uint32_t nics_per_node;
  double nic_bytes_per_s, usd_per_gpu_h;
} KindKeys;

/* clang-format off */
static const RaKeySpec kind_keys[] = {
  {"nodes", RA_KEY_STRING, G_STRUCT_OFFSET(KindKeys, nodes), .required = TRUE,
   .doc = "nodes of this kind, such as node[8-15]; those beyond the "
          "cluster's number of nodes are ignored"},
  {"gpu", RA_KEY_STRING, G_STRUCT_OFFSET(KindKeys, gpu),
   .doc = "profile of their GPU; default: the cluster's"},
  {"nics-per-node", RA_KEY_UINT32, G_STRUCT_OFFSET(KindKeys, nics_per_node),
   .min = 1, .max = 1024, .doc = "NICs per node; default: the cluster's"},
  {"nic", RA_KEY_QUANTITY, G_STRUCT_OFFSET(KindKeys, nic_bytes_per_s),
   .unit = RA_UNIT_BYTES_PER_S, .min = 1, .max = 1e15,
   .doc = "rate of one of their NICs; left out: the cluster's"},
  {"price", RA_KEY_QUANTITY, G_STRUCT_OFFSET(KindKeys, usd_per_gpu_h),
   .unit = RA_UNIT_USD_PER_GPU_H, .min = 0, .max = 1e6,
   .doc = "price of one of their GPUs; left out: the cluster's"},
};
/* clang-format on */

const RaKeySpec *
ra_cluster_kind_key_specs(gsize *out_n)
{
  *out_n = G_N_ELEMENTS(kind_keys);
  return kind_keys;
}

/* Nodes that are named beyond the cluster's are dropped, so that fewer nodes of
 * it can be asked for (`cluster.nodes=4`). */
static gboolean
mark_nodes(RaCluster *cluster, guint group, const char *text, uint8_t kind,
           GError **error)
{
  RaCluster wide = *cluster;
  RaMesh mesh;
  GError *cause = NULL;

  wide.n_nodes = UINT32_MAX;
  if (!ra_mesh_parse(text, &wide, &mesh, &cause)) {
    ra_key_file_fail(cluster->file, group, "nodes", error, "'nodes': %s",
                     cause->message);
    g_error_free(cause);
    return FALSE;
  }
  if (strcmp(text, "all") == 0 || mesh.gpus_per_node != cluster->gpus_per_node)
    return ra_key_file_fail(cluster->file, group, "nodes", error,
                            "'nodes' is '%s', expected some whole nodes, as in "
                            "node[8-15]",
                            text);
  for (uint32_t i = 0; i < mesh.n_runs; i++)
    for (uint32_t k = 0; k < mesh.runs[i].n; k++) {
      uint32_t node = mesh.runs[i].first + k;

      if (node >= cluster->n_nodes)
        break;
      if (cluster->kind_of_node[node] != 0)
        return ra_key_file_fail(
            cluster->file, group, "nodes", error,
            "node %u is of kind '%s' already, expected each node in one", node,
            cluster->kinds[cluster->kind_of_node[node]].name);
      cluster->kind_of_node[node] = kind;
    }
  return TRUE;
}

static gboolean
read_kind(RaCluster *cluster, guint group, GError **error)
{
  RaMachineKind *kind = &cluster->kinds[cluster->n_kinds];
  KindKeys keys = {.usd_per_gpu_h = cluster->usd_per_gpu_h,
                   .gpu = cluster->gpu,
                   .nics_per_node = cluster->nics_per_node,
                   .nic_bytes_per_s = cluster->nic_bytes_per_s};

  if (cluster->n_kinds == RA_NODE_KINDS_MAX)
    return ra_key_file_fail(cluster->file, group, NULL, error,
                            "more than %d kinds of nodes, expected at most "
                            "that many beside the cluster's own",
                            RA_NODE_KINDS_MAX - 1);
  if (!ra_key_file_read_group(cluster->file, group, kind_keys,
                              G_N_ELEMENTS(kind_keys), &keys, error))
    return FALSE;
  if (cluster->nics_per_node > 0 && !(keys.nic_bytes_per_s > 0))
    return ra_key_file_fail(cluster->file, group, NULL, error,
                            "NICs without a rate, expected 'nic'");
  *kind = (RaMachineKind){.name = ra_key_file_group_name(cluster->file, group),
                          .group = group,
                          .gpu = keys.gpu,
                          .nics_per_node = keys.nics_per_node,
                          .nic_bytes_per_s = keys.nic_bytes_per_s,
                          .usd_per_gpu_h = keys.usd_per_gpu_h};
  return mark_nodes(cluster, group, keys.nodes, (uint8_t)cluster->n_kinds++,
                    error);
}

/* Racks are of one kind, so nodes of a kind are mostly in a row. */
static gboolean
check_runs(const RaCluster *cluster, GError **error)
{
  uint32_t n = 0;

  for (uint32_t node = 1; node < cluster->n_nodes; node++)
    n += cluster->kind_of_node[node] != cluster->kind_of_node[node - 1];
  return n <= RA_KIND_RUNS_MAX ||
         ra_key_file_fail(cluster->file, cluster->kinds[1].group, "nodes",
                          error,
                          "kinds of nodes change %u times from node to node, "
                          "expected at most %d times",
                          n, RA_KIND_RUNS_MAX);
}

gboolean
ra_cluster_read_kinds(RaCluster *cluster, GError **error)
{
  guint n_groups = ra_key_file_n_groups(cluster->file), n = 0;

  for (guint group = 0; group < n_groups; group++)
    n += strcmp(ra_key_file_group_noun(cluster->file, group), "kind") == 0;
  if (n == 0)
    return TRUE;
  cluster->kinds = g_new0(RaMachineKind, RA_NODE_KINDS_MAX);
  cluster->kind_of_node = g_new0(uint8_t, cluster->n_nodes);
  cluster->kinds[0] = (RaMachineKind){
      .name = "cluster",
      .group = (guint)ra_key_file_find_group(cluster->file, "cluster", ""),
      .gpu = cluster->gpu,
      .nics_per_node = cluster->nics_per_node,
      .nic_bytes_per_s = cluster->nic_bytes_per_s,
      .usd_per_gpu_h = cluster->usd_per_gpu_h};
  cluster->n_kinds = 1;
  for (guint group = 0; group < n_groups; group++)
    if (strcmp(ra_key_file_group_noun(cluster->file, group), "kind") == 0 &&
        !read_kind(cluster, group, error))
      return FALSE;
  return check_runs(cluster, error);
}

uint32_t
ra_cluster_kinds(const RaCluster *cluster, const RaMesh *mesh)
{
  uint32_t kinds = 0;

  if (!cluster->kind_of_node)
    return 1;
  for (uint32_t i = 0; i < mesh->n_runs; i++)
    for (uint32_t k = 0; k < mesh->runs[i].n; k++)
      kinds |= 1u << cluster->kind_of_node[mesh->runs[i].first + k];
  return kinds;
}

double
ra_cluster_memory_bytes(const RaCluster *cluster, uint32_t kinds)
{
  double least = (double)INFINITY;

  if (!cluster->kind_of_node)
    return cluster->device.memory_bytes;
  /* A search in less memory has set that of the cluster's own. */
  for (uint32_t k = 0; k < cluster->n_kinds; k++)
    if (kinds >> k & 1)
      least = MIN(least, cluster->kinds[k].device.memory_bytes);
  return least + cluster->device.memory_bytes -
         cluster->kinds[0].device.memory_bytes;
}

char *
ra_cluster_gpu_names(const RaCluster *cluster)
{
  GString *out = g_string_new(cluster->gpu);

  for (uint32_t k = 1; k < cluster->n_kinds; k++)
    g_string_append_printf(out, "/%s", cluster->kinds[k].gpu);
  return g_string_free(out, FALSE);
}

double
ra_cluster_usd_per_h(const RaCluster *cluster, const uint32_t *gpus_by_kind)
{
  double usd = 0;

  for (uint32_t k = 0; k < cluster->n_kinds; k++)
    if (gpus_by_kind[k] > 0)
      usd += gpus_by_kind[k] * cluster->kinds[k].usd_per_gpu_h;
  return usd;
}

RaCluster
ra_cluster_of_kind(const RaCluster *cluster, uint32_t kind)
{
  const RaMachineKind *k = &cluster->kinds[kind];
  RaCluster view = *cluster;

  view.gpu = k->gpu;
  view.nics_per_node = k->nics_per_node;
  view.nic_bytes_per_s = k->nic_bytes_per_s;
  view.usd_per_gpu_h = k->usd_per_gpu_h;
  view.device = k->device;
  view.n_kinds = 0;
  view.kinds = NULL;
  view.kind_of_node = NULL;
  return view;
}
