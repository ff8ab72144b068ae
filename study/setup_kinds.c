/* Profiles, views and estimators of a cluster's node kinds. */
#include "config.h"

#include "base/text.h"
#include "study/setup_impl.h"

gboolean
ra_setup_load_kinds(RaSetup *setup, GError **error)
{
  RaCluster *cluster = setup->cluster;

  if (cluster->n_kinds == 0)
    return TRUE;
  cluster->kinds[0].device = cluster->device;
  for (uint32_t k = 1; k < cluster->n_kinds; k++) {
    RaMachineKind *kind = &cluster->kinds[k];
    g_autofree char *name = g_strconcat(kind->gpu, ".profile", NULL);
    g_autofree char *path = NULL;
    g_autoptr(RaKeyFile) file = NULL;
    GError *cause = NULL;

    path = ra_share_find("profiles", name, ra_key_file_name(cluster->file),
                         &cause);
    if (!path) {
      ra_key_file_fail(cluster->file, kind->group, "gpu", error, "'gpu': %s",
                       cause->message);
      g_error_free(cause);
      return FALSE;
    }
    file = ra_key_file_load(path, error);
    setup->kind_profiles[k] = file ? ra_profile_load(file, error) : NULL;
    if (!setup->kind_profiles[k])
      return FALSE;
    kind->device = setup->kind_profiles[k]->spec;
    setup->kind_clusters[k] = g_new(RaCluster, 1);
    *setup->kind_clusters[k] = ra_cluster_of_kind(cluster, k);
  }
  return TRUE;
}

RaEstimator *
ra_setup_new_estimator(const RaSetup *setup, GError **error)
{
  RaEstimator *estimator =
      ra_estimator_new(setup->profile, setup->cluster, error);

  for (uint32_t k = 1; estimator && k < setup->cluster->n_kinds; k++) {
    RaEstimator *kind = ra_estimator_new(setup->kind_profiles[k],
                                         setup->kind_clusters[k], error);

    if (kind)
      ra_estimator_add_kind(estimator, kind);
    else
      g_clear_pointer(&estimator, ra_estimator_free);
  }
  return estimator;
}
