/* Comparison of the hosts of ranks with the nodes of the plan. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "exec/comm/places.h"
#include "graph/augment/augment.h"

#define HOST_BYTES 256
#define LINE_BYTES 1024

char *
ra_places_fault(uint32_t n_ranks, const uint32_t *node_of_rank,
                const char *const *host_of_rank)
{
  g_autoptr(GHashTable) first = g_hash_table_new(g_str_hash, g_str_equal);

  for (uint32_t i = 0; i < n_ranks; i++) {
    const char *host = host_of_rank[i];
    gpointer known;

    if (i > 0 && node_of_rank[i] == node_of_rank[i - 1] &&
        !g_str_equal(host, host_of_rank[i - 1]))
      return g_strdup_printf(
          "node %u of the plan is on two hosts, rank %u on %s and rank %u on "
          "%s, expected one: processes in the order of the nodes",
          node_of_rank[i], i - 1, host_of_rank[i - 1], i, host);
    if (!g_hash_table_lookup_extended(first, host, NULL, &known))
      g_hash_table_insert(first, (gpointer)host,
                          GUINT_TO_POINTER(node_of_rank[i]));
    else if (GPOINTER_TO_UINT(known) != node_of_rank[i])
      return g_strdup_printf("nodes %u and %u of the plan are both on %s, "
                             "expected one host per node",
                             GPOINTER_TO_UINT(known), node_of_rank[i], host);
  }
  return NULL;
}

/* The fault of the hosts of all processes. */
static char *
find_fault(const RaTaskGraph *graph, const GPtrArray *hosts,
           const RaWorld *world)
{
  const RaCluster *cluster = graph->augmented->plan->cluster;
  uint32_t n_gpus = ra_cluster_n_gpus(cluster), n = 0;
  g_autofree uint32_t *nodes = g_new(uint32_t, n_gpus + 1);
  g_autofree const char **names = g_new(const char *, n_gpus + 1);

  for (uint32_t gpu = 0; gpu < n_gpus; gpu++)
    if (graph->lane_of_gpu[gpu] != RA_NONE)
      nodes[n++] = gpu / cluster->gpus_per_node;
  for (uint32_t i = 0; i < n; i++)
    names[i] = hosts ? g_bytes_get_data(
                           hosts->pdata[ra_world_process(world, i, n)], NULL)
                     : "this host";
  return ra_places_fault(n, nodes, names);
}

gboolean
ra_places_check(RaWorld *world, const RaTaskGraph *graph, GError **error)
{
  g_autoptr(GPtrArray) hosts = NULL;
  g_autofree char *fault = NULL;
  char host[HOST_BYTES] = "", line[LINE_BYTES] = "";

  if (gethostname(host, sizeof host - 1) != 0)
    g_strlcpy(host, "?", sizeof host);
  if (world)
    hosts = world->table->gather(world, host, sizeof host);
  if (!world || hosts)
    fault = find_fault(graph, hosts, world);
  if (fault)
    g_strlcpy(line, fault, sizeof line);
  if (world)
    world->table->share(world, line, sizeof line);
  if (line[0] == '\0')
    return TRUE;
  g_set_error_literal(error, RA_ERROR, RA_ERROR_INPUT, line);
  return FALSE;
}

gboolean
ra_places_first(const RaWorld *world, uint32_t n_ranks, uint32_t n_devices,
                uint32_t *out_rank, GError **error)
{
  uint32_t process = world ? world->process : 0, begin = 0, end, first;

  while (begin < n_ranks && ra_world_process(world, begin, n_ranks) < process)
    begin++;
  for (end = begin;
       end < n_ranks && ra_world_process(world, end, n_ranks) == process;)
    end++;
  first = begin;
  while (world && n_devices != end - begin && first > 0 &&
         ra_world_process(world, first - 1, n_ranks) >= world->first_here)
    first--;
  *out_rank = first;
  if (begin == end || end - first <= n_devices)
    return TRUE;
  begin = MAX(begin, first + n_devices);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "rank %u needs GPU %u of its machine, which has %u, expected one "
              "per rank",
              begin, begin - first, n_devices);
  return FALSE;
}
