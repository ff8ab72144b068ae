#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "search/node_set.h"

struct _RaNodeSets {
  uint32_t n_nodes;
  RaMesh *sets;         /* (n) by nodes, owned */
  uint32_t n;           /* in all */
  const char *why_none; /* static, nullable */
};

static const char *
why_none(const RaCluster *cluster)
{
  if (cluster->kinds)
    return "nodes are of several kinds";
  if (cluster->fabric.kind == RA_FABRIC_GRAPH)
    return "the fabric is a graph of links";
  if (cluster->fabric.oversubscription > 1)
    return "the fabric is oversubscribed";
  if (cluster->n_links > 0)
    return "links differ";
  return NULL;
}

/* The union of the blocks whose bits are in @bits. */
static RaMesh
union_of(const RaCluster *cluster, uint32_t n_blocks, uint32_t bits)
{
  RaMesh mesh = {.gpus_per_node = cluster->gpus_per_node};

  for (uint32_t b = 0; b < n_blocks; b++) {
    uint32_t first = (uint32_t)((uint64_t)b * cluster->n_nodes / n_blocks);
    uint32_t end = (uint32_t)((uint64_t)(b + 1) * cluster->n_nodes / n_blocks);
    RaNodeRun *last = mesh.n_runs > 0 ? &mesh.runs[mesh.n_runs - 1] : NULL;

    if (!(bits >> b & 1))
      continue;
    mesh.n_nodes += end - first;
    if (last && last->first + last->n == first)
      last->n += end - first;
    else
      mesh.runs[mesh.n_runs++] = (RaNodeRun){first, end - first};
  }
  return mesh;
}

static int
compare_meshes(const void *a, const void *b)
{
  const RaMesh *x = a, *y = b;

  if (x->n_nodes != y->n_nodes)
    return x->n_nodes < y->n_nodes ? -1 : 1;
  for (uint32_t i = 0; i < MIN(x->n_runs, y->n_runs); i++) {
    if (x->runs[i].first != y->runs[i].first)
      return x->runs[i].first < y->runs[i].first ? -1 : 1;
    if (x->runs[i].n != y->runs[i].n)
      return x->runs[i].n < y->runs[i].n ? -1 : 1;
  }
  return x->n_runs < y->n_runs ? -1 : x->n_runs > y->n_runs;
}

RaNodeSets *
ra_node_sets_new(const RaCluster *cluster, gboolean wanted)
{
  RaNodeSets *sets = g_new0(RaNodeSets, 1);
  uint32_t n_blocks = MIN(cluster->n_nodes, (uint32_t)RA_NODE_SET_BLOCKS);

  sets->n_nodes = cluster->n_nodes;
  sets->why_none = wanted ? why_none(cluster) : "only in the full space";
  if (sets->why_none)
    return sets;
  sets->sets = g_new(RaMesh, (gsize)1 << n_blocks);
  for (uint32_t bits = 1; bits < 1u << n_blocks; bits++) {
    RaMesh mesh = union_of(cluster, n_blocks, bits);

    if (mesh.n_runs > 1)
      sets->sets[sets->n++] = mesh;
  }
  qsort(sets->sets, sets->n, sizeof *sets->sets, compare_meshes);
  return sets;
}

void
ra_node_sets_free(RaNodeSets *sets)
{
  if (!sets)
    return;
  g_free(sets->sets);
  g_free(sets);
}

const RaMesh *
ra_node_sets_of(const RaNodeSets *sets, uint32_t n_nodes, uint32_t *out_n)
{
  uint32_t first = 0, end;

  while (first < sets->n && sets->sets[first].n_nodes < n_nodes)
    first++;
  for (end = first; end < sets->n && sets->sets[end].n_nodes == n_nodes; end++)
    continue;
  *out_n = end - first;
  return *out_n > 0 ? &sets->sets[first] : NULL;
}

const char *
ra_node_sets_why_none(const RaNodeSets *sets)
{
  return sets->why_none;
}

double
ra_node_sets_n_merged(const RaNodeSets *sets, uint32_t n_nodes)
{
  double n_all = 1;
  uint32_t n_sets;

  g_return_val_if_fail(n_nodes >= 1 && n_nodes <= sets->n_nodes, 0);
  ra_node_sets_of(sets, n_nodes, &n_sets);
  for (uint32_t i = 1; i <= MIN(n_nodes, sets->n_nodes - n_nodes); i++)
    n_all = round(n_all * (sets->n_nodes + 1 - i) / i);
  return n_all - (sets->n_nodes - n_nodes + 1) - n_sets;
}
