/* Shipped cluster of a GPU. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "study/gpu_cluster.h"

char *
ra_gpu_name(const char *gpu)
{
  g_autofree char *profile = g_strconcat(gpu, ".profile", NULL);
  g_autofree char *found = ra_share_find("profiles", profile, NULL, NULL);
  char *base = found ? g_path_get_basename(found) : NULL;

  if (base)
    base[strlen(base) - strlen(".profile")] = '\0';
  return base;
}

RaKeyFile *
ra_gpu_cluster(const char *gpu, char **out_name)
{
  g_auto(GStrv) names = ra_share_list("clusters", ".cluster");
  g_autofree char *base = ra_gpu_name(gpu);

  for (guint i = 0; base && names[i]; i++) {
    g_autofree char *path = ra_share_find("clusters", names[i], NULL, NULL);
    g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, NULL) : NULL;
    int group = file ? ra_key_file_find_group(file, "cluster", "") : -1;
    const char *its =
        group < 0 ? NULL : ra_key_file_get(file, (guint)group, "gpu");

    if (!its || !g_str_equal(its, base))
      continue;
    *out_name = g_strdup(names[i]);
    return g_steal_pointer(&file);
  }
  return NULL;
}
