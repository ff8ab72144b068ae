/* Division of a cluster into disjoint meshes by weights. */
#include "config.h"

#include "search/family/cluster_split.h"

typedef struct {
  const RaCluster *cluster;
  RaSplitMay may;
  void *user;
  uint32_t n_left; /* GPUs */
  uint32_t *size;  /* (n) GPUs of each part, 0: none yet */
} Split;

/* The next size that a mesh can have, GPUs: powers of two that divide a node,
 * then nodes. */
static uint32_t
next_size(const RaCluster *cluster, uint32_t size)
{
  uint32_t node = cluster->gpus_per_node;
  uint32_t next = size == 0 ? 1 : 2 * size;

  if (size >= node)
    return size + node;
  return next < node && node % next == 0 ? next : node;
}

/* A mesh of @size GPUs that begins at GPU @first, aligned. */
static RaMesh
mesh_at(const RaCluster *cluster, uint32_t first, uint32_t size)
{
  uint32_t node = cluster->gpus_per_node;
  RaMesh mesh = {.n_runs = 1,
                 .n_nodes = MAX(size / node, 1),
                 .first_gpu = first % node,
                 .gpus_per_node = MIN(size, node)};

  mesh.runs[0] = (RaNodeRun){first / node, mesh.n_nodes};
  return mesh;
}

/* The next size at which @part can work, within what is left; 0: none. */
static uint32_t
grown(const Split *split, guint part)
{
  uint32_t limit = split->size[part] + split->n_left;

  for (uint32_t size = next_size(split->cluster, split->size[part]);
       size <= limit; size = next_size(split->cluster, size)) {
    RaMesh mesh = mesh_at(split->cluster, 0, size);

    if (!split->may || split->may(split->user, part, &mesh))
      return size;
  }
  return 0;
}

static void
resize(Split *split, guint part, uint32_t size)
{
  split->n_left -= size - split->size[part];
  split->size[part] = size;
}

/* Largest first, so that every one begins at a multiple of its size. */
static void
place(const Split *split, guint n, RaMesh *out_meshes)
{
  g_autofree gboolean *placed = g_new0(gboolean, n);
  uint32_t first = 0;

  for (guint i = 0; i < n; i++) {
    guint largest = n;

    for (guint p = 0; p < n; p++) {
      if (!placed[p] && (largest == n || split->size[p] > split->size[largest]))
        largest = p;
    }
    out_meshes[largest] = mesh_at(split->cluster, first, split->size[largest]);
    first += split->size[largest];
    placed[largest] = TRUE;
  }
}

gboolean
ra_cluster_split(const RaCluster *cluster, const double *weights, guint n,
                 RaSplitMay may, void *user, RaMesh *out_meshes)
{
  g_autofree uint32_t *size = g_new0(uint32_t, n);
  Split split = {.cluster = cluster,
                 .may = may,
                 .user = user,
                 .n_left = ra_cluster_n_gpus(cluster),
                 .size = size};

  for (guint p = 0; p < n; p++)
    out_meshes[p] = (RaMesh){.n_nodes = 0};
  for (guint p = 0; p < n; p++) {
    uint32_t least = grown(&split, p);

    if (least == 0)
      return FALSE;
    resize(&split, p, least);
    out_meshes[p] = mesh_at(cluster, 0, least);
  }
  for (;;) {
    guint behind = n;
    uint32_t to = 0;

    for (guint p = 0; p < n; p++) {
      uint32_t next = grown(&split, p);

      if (next > 0 && (behind == n ||
                       weights[p] / size[p] > weights[behind] / size[behind])) {
        behind = p;
        to = next;
      }
    }
    if (behind == n)
      break;
    resize(&split, behind, to);
  }
  place(&split, n, out_meshes);
  return TRUE;
}
