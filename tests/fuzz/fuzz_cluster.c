/* Fuzz entry of clusters and meshes: the text is a cluster file, and each of
 * its comment lines that begins with #@ is a mesh in it.
 *
 * Without a fuzzer check_cluster replays tests/corpus/cluster through it.
 */
#include "config.h"

#include <string.h>

#include "graph/input/cluster.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static void
check_error(gboolean ok, GError *error)
{
  g_assert(ok == (error == NULL));
  if (error == NULL)
    return;
  g_assert(strpbrk(error->message, "\n\r") == NULL);
  g_error_free(error);
}

/* A mesh that is accepted is canonical after one round, and all in the cluster.
 */
static void
check_mesh(const RaCluster *cluster, const char *text)
{
  RaMesh mesh, again;
  GError *error = NULL;
  gboolean ok = ra_mesh_parse(text, cluster, &mesh, &error);
  char *format;
  uint32_t n;

  check_error(ok, error);
  if (!ok)
    return;
  format = ra_mesh_format(&mesh, cluster);
  g_assert(ra_mesh_parse(format, cluster, &again, NULL));
  g_assert(ra_mesh_equal(&mesh, &again));
  g_assert(ra_mesh_overlaps(&mesh, &again));
  n = ra_mesh_n_gpus(&mesh);
  g_assert(n > 0 && n <= ra_cluster_n_gpus(cluster));
  g_assert(ra_mesh_gpu(&mesh, cluster, n - 1) < ra_cluster_n_gpus(cluster));
  g_free(format);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  GError *error = NULL;
  RaKeyFile *file =
      ra_key_file_parse("f.cluster", (const char *)data, size, &error);
  RaCluster *cluster = file ? ra_cluster_load(file, &error) : NULL;

  fuzz_accepted = cluster != NULL;
  check_error(cluster != NULL, error);
  if (cluster) {
    char *text = g_strndup((const char *)data, size);
    char **lines = g_strsplit(text, "\n", -1);

    g_assert(cluster->n_nodes >= 1 && cluster->gpus_per_node >= 1);
    g_assert(cluster->n_nodes == 1 || cluster->nic_bytes_per_s > 0);
    g_assert(cluster->fabric.oversubscription >= 1);
    for (guint i = 0; lines[i]; i++) {
      if (g_str_has_prefix(lines[i], "#@"))
        check_mesh(cluster, lines[i] + 2);
    }
    g_strfreev(lines);
    g_free(text);
  }
  ra_cluster_free(cluster);
  if (file)
    ra_key_file_unref(file);
  return 0;
}
