/* Models by name: folders, files, the Hugging Face cache, the table. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/model_find.h"

#define CONFIG "config.json"

/* @path if a regular file is there (transfer full). */
static char *
file_at(char *path)
{
  if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
    return path;
  g_free(path);
  return NULL;
}

char *
ra_model_folder(const char *name, const char *relative_to)
{
  g_autofree char *folder =
      relative_to ? g_path_get_dirname(relative_to) : g_strdup(".");

  if (*name == '\0')
    return NULL;
  if (g_str_has_prefix(name, "~/"))
    return file_at(
        g_build_filename(g_get_home_dir(), name + strlen("~/"), CONFIG, NULL));
  if (g_path_is_absolute(name))
    return file_at(g_build_filename(name, CONFIG, NULL));
  return file_at(g_build_filename(folder, name, CONFIG, NULL));
}

static int
compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The first config.json of the snapshots in @folder, by their names. */
static char *
find_snapshot(const char *folder)
{
  GDir *dir = g_dir_open(folder, 0, NULL);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  char *found = NULL;
  const char *entry;

  while (dir && (entry = g_dir_read_name(dir)))
    g_ptr_array_add(names, g_strdup(entry));
  if (dir)
    g_dir_close(dir);
  g_ptr_array_sort(names, compare_names);
  for (guint i = 0; i < names->len && !found; i++)
    found = file_at(g_build_filename(folder, names->pdata[i], CONFIG, NULL));
  return found;
}

/* The folder of the cache, as huggingface_hub's constants.py decides it. */
static char *
cache_folder(void)
{
  const char *hub = g_getenv("HF_HUB_CACHE"), *home = g_getenv("HF_HOME");

  if (hub && *hub)
    return g_strdup(hub);
  if (home && *home)
    return g_build_filename(home, "hub", NULL);
  return g_build_filename(g_get_user_cache_dir(), "huggingface", "hub", NULL);
}

/* The config.json of the identifier @name in the cache (nullable). */
static char *
find_cached(const char *name)
{
  g_autofree char *cache = cache_folder(), *base = NULL, *folder = NULL;
  g_auto(GStrv) parts = g_strsplit(name, "/", -1);
  guint n = g_strv_length(parts);

  if (n < 1 || n > 2 || *parts[0] == '\0' || *parts[0] == '~' ||
      *parts[0] == '.' || (n == 2 && *parts[1] == '\0'))
    return NULL;
  base = g_strconcat("models--", parts[0], n == 2 ? "--" : "",
                     n == 2 ? parts[1] : "", NULL);
  folder = g_build_filename(cache, base, "snapshots", NULL);
  return find_snapshot(folder);
}

static RaModel *
find_published(const char *name, const char *relative_to, GError **error)
{
  g_autofree char *path =
      ra_share_find("models", RA_MODEL_HUB_FILE, relative_to, error);
  g_autoptr(RaModelHub) hub = path ? ra_model_hub_load(path, error) : NULL;
  g_autofree char *near = NULL;
  RaModelHubMatch match;

  if (!hub)
    return NULL;
  match = ra_model_hub_find(hub, name);
  if (match.row)
    return ra_model_hub_model(hub, &match, error);
  near = ra_model_hub_nearest(hub, name);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "no shape is known for '%s', %s%s", name,
              near ? "nearest: "
                   : "expected a config file, a folder with " CONFIG
                     " or a name of " RA_MODEL_HUB_FILE,
              near ? near : "");
  return NULL;
}

RaModel *
ra_model_find(const char *name, const char *relative_to, GError **error)
{
  g_autofree char *path = NULL;
  RaModel *model;

  g_return_val_if_fail(name != NULL, NULL);
  if (g_str_has_suffix(name, ".json")) {
    path = ra_share_find("models", name, relative_to, error);
    return path ? ra_model_load(path, error) : NULL;
  }
  path = ra_model_folder(name, relative_to);
  if (!path)
    path = ra_share_find("models", name, relative_to, NULL);
  if (path)
    return ra_model_load(path, error);
  path = find_cached(name);
  if (!path)
    return find_published(name, relative_to, error);
  model = ra_model_load(path, error);
  if (model) { /* not the snapshot's hash */
    g_free(model->name);
    model->name = g_strdup(name);
  }
  return model;
}
