/* Sets of whole nodes that are not in a row. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/space/node_set.h"

/* So many nodes of each kind; nodes that are all alike are of kind 0. */
typedef struct {
  uint32_t of[RA_NODE_KINDS_MAX];
} Mix;

/* More mixes of kinds than a space could have candidates for. */
#define MIXES_MAX (1u << 16)

struct _RaNodeSets {
  uint32_t n_nodes;
  RaMesh *sets;         /* (n) by nodes, then kinds, owned */
  uint32_t n;           /* in all */
  double *n_left;       /* (n_nodes + 1) owned; NULL: 0 */
  const char *why_none; /* static, nullable */
};

static uint32_t
kind_of(const RaCluster *cluster, uint32_t node)
{
  return cluster->kind_of_node ? cluster->kind_of_node[node] : 0;
}

static Mix
mix_of_all(const RaCluster *cluster)
{
  Mix all = {{0}};

  for (uint32_t node = 0; node < cluster->n_nodes; node++)
    all.of[kind_of(cluster, node)]++;
  return all;
}

static uint64_t
n_mixes(const Mix *all)
{
  uint64_t n = 1;

  for (guint k = 0; k < RA_NODE_KINDS_MAX; k++)
    n *= (uint64_t)all->of[k] + 1;
  return n;
}

static const char *
why_none(const RaCluster *cluster)
{
  const Mix all = mix_of_all(cluster);

  if (cluster->fabric.kind == RA_FABRIC_GRAPH)
    return "the fabric is a graph of links";
  if (cluster->fabric.oversubscription > 1)
    return "the fabric is oversubscribed";
  if (cluster->n_links > 0)
    return "links differ from each other";
  if (cluster->kinds && n_mixes(&all) > MIXES_MAX)
    return "kinds of nodes mix in more than 65,536 ways";
  return NULL;
}

/* --- meshes --- */

/* The nodes of @cluster that are marked in @has. */
static gboolean
mesh_of(const RaCluster *cluster, const gboolean *has, RaMesh *out)
{
  *out = (RaMesh){.gpus_per_node = cluster->gpus_per_node};
  for (uint32_t node = 0; node < cluster->n_nodes; node++) {
    RaNodeRun *last = out->n_runs > 0 ? &out->runs[out->n_runs - 1] : NULL;

    if (!has[node])
      continue;
    out->n_nodes++;
    if (last && last->first + last->n == node)
      last->n++;
    else if (out->n_runs == RA_NODE_SET_RUNS)
      return FALSE;
    else
      out->runs[out->n_runs++] = (RaNodeRun){node, 1};
  }
  return TRUE;
}

/* The next node of @mesh behind (@run, @node); -1: none. */
static int
next_kind(const RaCluster *cluster, const RaMesh *mesh, uint32_t *run,
          uint32_t *node)
{
  if (*run < mesh->n_runs && *node == mesh->runs[*run].n) {
    ++*run;
    *node = 0;
  }
  return *run == mesh->n_runs
             ? -1
             : (int)kind_of(cluster, mesh->runs[*run].first + (*node)++);
}

static int
compare_kinds(const RaCluster *cluster, const RaMesh *a, const RaMesh *b)
{
  uint32_t run_a = 0, run_b = 0, node_a = 0, node_b = 0;

  if (!cluster->kind_of_node)
    return 0;
  for (;;) {
    int x = next_kind(cluster, a, &run_a, &node_a);
    int y = next_kind(cluster, b, &run_b, &node_b);

    if (x != y)
      return x < y ? -1 : 1;
    if (x < 0)
      return 0;
  }
}

gboolean
ra_node_sets_alike(const RaCluster *cluster, const RaMesh *a, const RaMesh *b)
{
  return a->n_nodes == b->n_nodes && compare_kinds(cluster, a, b) == 0;
}

static int
compare_meshes(gconstpointer a, gconstpointer b, gpointer cluster)
{
  const RaMesh *x = a, *y = b;
  int kinds;

  if (x->n_nodes != y->n_nodes)
    return x->n_nodes < y->n_nodes ? -1 : 1;
  kinds = compare_kinds(cluster, x, y);
  if (kinds != 0)
    return kinds;
  for (uint32_t i = 0; i < MIN(x->n_runs, y->n_runs); i++) {
    if (x->runs[i].first != y->runs[i].first)
      return x->runs[i].first < y->runs[i].first ? -1 : 1;
    if (x->runs[i].n != y->runs[i].n)
      return x->runs[i].n < y->runs[i].n ? -1 : 1;
  }
  return x->n_runs < y->n_runs ? -1 : x->n_runs > y->n_runs;
}

/* --- unions of blocks --- */

/* How many blocks each kind has: one more for the kind whose blocks are the
 * largest, as long as there are some. */
static uint32_t
share_blocks(const Mix *all, Mix *out)
{
  uint32_t n = 0;

  for (guint k = 0; k < RA_NODE_KINDS_MAX; k++) {
    out->of[k] = all->of[k] > 0;
    n += out->of[k];
  }
  for (; n < RA_NODE_SET_BLOCKS; n++) {
    guint largest = RA_NODE_KINDS_MAX;

    for (guint k = 0; k < RA_NODE_KINDS_MAX; k++)
      if (out->of[k] < all->of[k] &&
          (largest == RA_NODE_KINDS_MAX ||
           (uint64_t)all->of[k] * out->of[largest] >
               (uint64_t)all->of[largest] * out->of[k]))
        largest = k;
    if (largest == RA_NODE_KINDS_MAX)
      break;
    out->of[largest]++;
  }
  return n;
}

/* By node its block: block b of B has nodes [b N / B, (b + 1) N / B) of the N
 * of its kind.  Returns how many there are. */
static uint32_t
number_blocks(const RaCluster *cluster, uint8_t *out)
{
  const Mix all = mix_of_all(cluster);
  Mix blocks, seen = {{0}}, first = {{0}}, at = {{0}};
  uint32_t n = share_blocks(&all, &blocks), sum = 0;

  for (guint k = 0; k < RA_NODE_KINDS_MAX; k++) {
    first.of[k] = sum;
    sum += blocks.of[k];
  }
  for (uint32_t node = 0; node < cluster->n_nodes; node++) {
    uint32_t k = kind_of(cluster, node);

    while ((uint64_t)(at.of[k] + 1) * all.of[k] / blocks.of[k] <= seen.of[k])
      at.of[k]++;
    seen.of[k]++;
    out[node] = (uint8_t)(first.of[k] + at.of[k]);
  }
  return n;
}

static void
add_unions(RaNodeSets *sets, const RaCluster *cluster, GArray *out)
{
  g_autofree uint8_t *block = g_new(uint8_t, sets->n_nodes);
  g_autofree gboolean *has = g_new(gboolean, sets->n_nodes);
  uint32_t n_blocks = number_blocks(cluster, block);

  for (uint32_t bits = 1; bits < 1u << n_blocks; bits++) {
    RaMesh mesh;

    for (uint32_t node = 0; node < sets->n_nodes; node++)
      has[node] = bits >> block[node] & 1;
    if (mesh_of(cluster, has, &mesh) && mesh.n_runs > 1)
      g_array_append_val(out, mesh);
  }
}

/* --- mixes of kinds that neither runs nor unions have --- */

/* The number of the mix of all kinds that the nodes of @mesh have. */
static uint32_t
number_of(const Mix *all, const Mix *mix)
{
  uint32_t number = 0;

  for (guint k = 0; k < RA_NODE_KINDS_MAX; k++)
    number = number * (all->of[k] + 1) + mix->of[k];
  return number;
}

static void
mark_runs(const RaCluster *cluster, const Mix *all, gboolean *known)
{
  for (uint32_t first = 0; first < cluster->n_nodes; first++) {
    Mix mix = {{0}};

    for (uint32_t node = first; node < cluster->n_nodes; node++) {
      mix.of[kind_of(cluster, node)]++;
      known[number_of(all, &mix)] = TRUE;
    }
  }
}

static void
mark_sets(const RaCluster *cluster, const Mix *all, const GArray *sets,
          gboolean *known)
{
  for (guint i = 0; i < sets->len; i++) {
    const RaMesh *mesh = &g_array_index(sets, RaMesh, i);
    uint32_t run = 0, node = 0;
    Mix mix = {{0}};
    int kind;

    while ((kind = next_kind(cluster, mesh, &run, &node)) >= 0)
      mix.of[kind]++;
    known[number_of(all, &mix)] = TRUE;
  }
}

static double
choose(uint32_t n, uint32_t k)
{
  double ways = 1;

  for (uint32_t i = 1; i <= MIN(k, n - k); i++)
    ways = round(ways * (n + 1 - i) / i);
  return ways;
}

/* The first nodes of each kind, so many as @mix says; else they are left. */
static void
add_mix(RaNodeSets *sets, const RaCluster *cluster, const Mix *all,
        const Mix *mix, GArray *out)
{
  g_autofree gboolean *has = g_new(gboolean, sets->n_nodes);
  Mix seen = {{0}};
  double ways = 1;
  uint32_t n = 0;
  RaMesh mesh;

  for (uint32_t node = 0; node < sets->n_nodes; node++) {
    uint32_t k = kind_of(cluster, node);
    has[node] = seen.of[k]++ < mix->of[k];
  }
  if (mesh_of(cluster, has, &mesh)) {
    g_array_append_val(out, mesh);
    return;
  }
  for (guint k = 0; k < RA_NODE_KINDS_MAX; k++) {
    ways *= choose(all->of[k], mix->of[k]);
    n += mix->of[k];
  }
  sets->n_left[n] += ways;
}

static void
add_mixes(RaNodeSets *sets, const RaCluster *cluster, GArray *out)
{
  const Mix all = mix_of_all(cluster);
  uint32_t n = (uint32_t)n_mixes(&all);
  g_autofree gboolean *known = g_new0(gboolean, n);

  sets->n_left = g_new0(double, sets->n_nodes + 1);
  mark_runs(cluster, &all, known);
  mark_sets(cluster, &all, out, known);
  for (uint32_t number = 1; number < n; number++) {
    uint32_t rest = number;
    Mix mix;

    for (guint k = RA_NODE_KINDS_MAX; k-- > 0; rest /= all.of[k] + 1)
      mix.of[k] = rest % (all.of[k] + 1);
    if (!known[number])
      add_mix(sets, cluster, &all, &mix, out);
  }
}

/* --- all of them --- */

RaNodeSets *
ra_node_sets_new(const RaCluster *cluster, gboolean wanted)
{
  RaNodeSets *sets = g_new0(RaNodeSets, 1);
  GArray *all;

  sets->n_nodes = cluster->n_nodes;
  sets->why_none = wanted ? why_none(cluster) : "only with --space=full";
  if (sets->why_none)
    return sets;
  all = g_array_new(FALSE, FALSE, sizeof(RaMesh));
  add_unions(sets, cluster, all);
  if (cluster->kinds)
    add_mixes(sets, cluster, all);
  g_array_sort_with_data(all, compare_meshes, (gpointer)cluster);
  sets->n = all->len;
  sets->sets = (RaMesh *)(gpointer)g_array_free(all, FALSE);
  return sets;
}

void
ra_node_sets_free(RaNodeSets *sets)
{
  if (!sets)
    return;
  g_free(sets->sets);
  g_free(sets->n_left);
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
ra_node_sets_n_left(const RaNodeSets *sets, uint32_t n_nodes)
{
  return sets->n_left ? sets->n_left[n_nodes] : 0;
}

double
ra_node_sets_n_merged(const RaNodeSets *sets, uint32_t n_nodes)
{
  uint32_t n_sets;

  g_return_val_if_fail(n_nodes >= 1 && n_nodes <= sets->n_nodes, 0);
  ra_node_sets_of(sets, n_nodes, &n_sets);
  return choose(sets->n_nodes, n_nodes) - (sets->n_nodes - n_nodes + 1) -
         n_sets - ra_node_sets_n_left(sets, n_nodes);
}
