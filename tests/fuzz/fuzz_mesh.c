/* Fuzz entry of meshes: the text is a mesh of three clusters of different
 * shape; what is accepted is canonical after one round and inside of it. */
#include "config.h"

#include "graph/input/cluster.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static gboolean
check_mesh(const RaCluster *cluster, const char *text)
{
  g_autofree char *format = NULL;
  GError *error = NULL;
  RaMesh mesh, again;
  gboolean ok = ra_mesh_parse(text, cluster, &mesh, &error);
  uint32_t n, last = 0;

  if (!fuzz_check_error(ok, error))
    return FALSE;
  format = ra_mesh_format(&mesh, cluster);
  g_assert(ra_mesh_parse(format, cluster, &again, NULL));
  g_assert(ra_mesh_equal(&mesh, &again));
  g_assert(ra_mesh_overlaps(&mesh, &again));
  n = ra_mesh_n_gpus(&mesh);
  g_assert(n > 0 && n <= ra_cluster_n_gpus(cluster));
  for (uint32_t i = 0; i < n; i++) {
    uint32_t gpu = ra_mesh_gpu(&mesh, cluster, i);

    g_assert(gpu < ra_cluster_n_gpus(cluster));
    g_assert(i == 0 || gpu > last);
    last = gpu;
  }
  return TRUE;
}

static RaCluster *
make_cluster(uint32_t n_nodes, uint32_t gpus_per_node)
{
  g_autofree char *text =
      g_strdup_printf("[cluster]\nnodes = %u\ngpus-per-node = %u\ngpu = x\n"
                      "nics-per-node = 8\nnic = 400 Gbit/s\n",
                      n_nodes, gpus_per_node);
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("fixed", text, strlen(text), NULL);
  RaCluster *cluster = ra_cluster_load(file, NULL);

  g_assert(cluster);
  return cluster;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static RaCluster *clusters[3];
  g_autofree char *text = g_strndup((const char *)data, size);
  g_autofree char *valid = g_utf8_make_valid(text, -1);

  if (!clusters[0]) {
    clusters[0] = make_cluster(40, 8);
    clusters[1] = make_cluster(1, 8);
    clusters[2] = make_cluster(7, 6);
  }
  fuzz_accepted = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(clusters); i++)
    fuzz_accepted |= check_mesh(clusters[i], valid);
  return 0;
}
