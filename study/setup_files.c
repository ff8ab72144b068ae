/* Files that a setup was read from. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "study/setup.h"

/* Whole paths, each once. */
static void
add_file(GPtrArray *files, const char *path)
{
  char *whole = path && *path ? g_canonicalize_filename(path, NULL) : NULL;

  if (whole &&
      !g_ptr_array_find_with_equal_func(files, whole, g_str_equal, NULL))
    g_ptr_array_add(files, whole);
  else
    g_free(whole);
}

/* The file of `file(NAME:COLUMN)` and `replay(...)`. */
static void
add_lengths(GPtrArray *files, const RaSetup *setup, const char *key)
{
  const RaKeyFile *file = setup->workload->file;
  int group = ra_key_file_find_group(file, "workload", "");
  const char *text = ra_key_file_get(file, (guint)group, key);
  g_autofree char *name = NULL, *path = NULL;

  if (!text ||
      !(g_str_has_prefix(text, "file(") || g_str_has_prefix(text, "replay(")))
    return;
  name = g_strdup(strchr(text, '(') + 1);
  name[strcspn(name, ":)")] = '\0';
  path = ra_share_find("lengths", g_strstrip(name), setup->workload_path, NULL);
  add_file(files, path);
}

char **
ra_setup_files(const RaSetup *setup, gboolean has_plan)
{
  GPtrArray *files = g_ptr_array_new();
  const RaWorkload *workload = setup->workload;

  add_file(files, setup->workload_path);
  add_file(files, setup->cluster_path);
  add_file(files, setup->profile_path);
  add_file(files, setup->system_path);
  for (guint k = 0; k < RA_NODE_KINDS_MAX; k++)
    if (setup->kind_profiles[k])
      add_file(files, ra_key_file_name(setup->kind_profiles[k]->file));
  if (has_plan)
    add_file(files, setup->plan_path);
  for (guint m = 0; m < workload->n_models; m++)
    add_file(files, workload->models[m].model->path);
  add_lengths(files, setup, "prompt-length");
  add_lengths(files, setup, "response-length");
  g_ptr_array_add(files, NULL);
  return (char **)g_ptr_array_free(files, FALSE);
}
