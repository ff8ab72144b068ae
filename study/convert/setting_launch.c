/* The configuration file that a launch names: --config FILE, or hydra's
 * --config-path FOLDER and --config-name NAME, else what the program itself
 * tells hydra. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "study/convert/setting_compose.h"

/* Value of the flag, in either spelling; NULL: it is not there. */
static const char *
flag(RaSettings *settings, const char *dashes, const char *underscores)
{
  const char *value = ra_settings_get(settings, dashes);

  return value || !underscores ? value : ra_settings_get(settings, underscores);
}

/* @path from behind its last part that the shell knows and we do not: "x/y" of
 * "${HOME}/x/y" and of "$(pwd)/x/y". */
static const char *
known_part(const char *path)
{
  const char *last = path;

  for (const char *p = path; *p; p++) {
    if (*p == '}' || *p == ')' || (*p == '$' && p[1] != '{' && p[1] != '('))
      last = p + 1;
  }
  while (last > path && *last && *last != '/')
    last++;
  while (last > path && *last == '/')
    last++;
  return last;
}

/* (transfer full) (nullable): @name, where a launch in @folder may mean it. */
static char *
find(const char *folder, const char *name)
{
  static const char *const folders[] = {"", "config", "configs"};
  const char *known = known_part(name);

  if (g_path_is_absolute(name) && g_file_test(name, G_FILE_TEST_EXISTS))
    return g_strdup(name);
  while (*known == '/')
    known++;
  for (guint i = 0; *known && i < G_N_ELEMENTS(folders); i++) {
    g_autofree char *below = g_build_filename(folders[i], known, NULL);
    char *found = ra_compose_find_above(folder, below);

    if (found)
      return found;
  }
  return NULL;
}

/* (transfer full) (nullable): the file of the module that the launch starts,
 * above @folder: `a/b/main.py` of `python -m a.b.main`; or @beside it.  What
 * its name begins with may be the repository. */
static char *
find_of_module(const RaSettings *settings, const char *folder,
               const char *beside)
{
  g_autofree char *path = g_strdup(ra_settings_entry(settings));
  g_autofree char *file = NULL, *below = NULL;
  const char *inner;
  char *found;

  path[strcspn(path, " ")] = '\0'; /* what it does */
  if (g_str_has_suffix(path, ".py")) {
    file = g_strdup(known_part(path));
  } else {
    g_strdelimit(path, ".", '/');
    file = g_strconcat(path, ".py", NULL);
  }
  if (beside) {
    g_autofree char *parent = g_path_get_dirname(file);

    below = g_build_filename(parent, beside, NULL);
  } else {
    below = g_strdup(file);
  }
  found = ra_compose_find_above(folder, below);
  inner = strchr(below, '/');
  if (!found && inner && strchr(inner + 1, '/'))
    found = ra_compose_find_above(folder, inner + 1);
  return found;
}

/* (transfer full) (nullable): the text in quotes behind @name= at @text, up to
 * the bracket that ends it. */
static char *
argument_of(const char *text, const char *name)
{
  gsize n_bytes = strcspn(text, ")");
  g_autofree char *call = g_strndup(text, n_bytes);
  const char *at = strstr(call, name);

  at = at ? at + strlen(name) : "";
  at += strspn(at, " =");
  return *at == '"' || *at == '\''
             ? g_strndup(at + 1, strcspn(at + 1, *at == '"' ? "\"" : "'"))
             : NULL;
}

/* (transfer full) (nullable): the file that the module @file (nullable) names
 * itself: @hydra.main(config_path="config", config_name="ppo_trainer"). */
static char *
file_of_hydra(const char *file)
{
  g_autofree char *text = NULL, *path = NULL, *name = NULL;
  g_autofree char *parent = NULL, *base = NULL, *found = NULL;
  const char *call;
  gsize n_bytes;

  if (!file ||
      !ra_file_read(file, RA_SETTINGS_BYTES_MAX, &text, &n_bytes, NULL))
    return NULL;
  call = strstr(text, "@hydra.main(");
  path = call ? argument_of(call, "config_path") : NULL;
  name = call ? argument_of(call, "config_name") : NULL;
  if (!path || !name)
    return NULL;
  parent = g_path_get_dirname(file);
  base = g_str_has_suffix(name, ".yaml") ? g_strdup(name)
                                         : g_strconcat(name, ".yaml", NULL);
  found = g_build_filename(parent, path, base, NULL);
  return g_file_test(found, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer(&found)
                                                    : NULL;
}

/* TRUE for a module of a framework itself, whose defaults are no settings of
 * the run. */
static gboolean
is_package(const char *entry)
{
  return g_str_has_prefix(entry, "verl.");
}

/* (transfer full) (nullable): the file that the launch names; *out_own: it is
 * not one of the framework's own. */
static char *
find_config(const RaSettings *settings, const char *folder, const char *config,
            const char *name, const char *path, gboolean *out_own)
{
  g_autofree char *file = NULL, *parent = NULL, *module = NULL;
  const char *places[4];
  guint n = 0;

  *out_own = TRUE;
  if (config)
    return find(folder, config);
  if (!name) {
    *out_own = !is_package(ra_settings_entry(settings));
    module = find_of_module(settings, folder, NULL);
    return file_of_hydra(module);
  }
  file = g_str_has_suffix(name, ".yaml") || g_str_has_suffix(name, ".yml")
             ? g_strdup(name)
             : g_strconcat(name, ".yaml", NULL);
  parent = path ? find(folder, path) : NULL;
  if (!path || !g_path_is_absolute(path)) /* as hydra has it */
    module = find_of_module(settings, folder, path ? path : "config");
  if (parent)
    places[n++] = parent;
  if (module)
    places[n++] = module;
  places[n++] = folder;
  for (guint i = 0; i < n; i++) {
    char *found = g_build_filename(places[i], file, NULL);

    if (g_file_test(found, G_FILE_TEST_IS_REGULAR)) {
      *out_own = places[i] != module;
      return found;
    }
    g_free(found);
  }
  return find(folder, file);
}

/* Replaces the setting of @key in @base, and those below it, whose first is
 * noted in @firsts: key -> index + 1. */
static void
replace(RaSettings *base, GHashTable *firsts, const char *key)
{
  RaSetting *before = g_hash_table_lookup(base->last, key);
  guint first = GPOINTER_TO_UINT(g_hash_table_lookup(firsts, key));
  gsize n = strlen(key);

  if (before)
    before->state = RA_SETTING_REPLACED;
  for (guint i = first; first > 0 && i <= base->list->len; i++) {
    RaSetting *setting = base->list->pdata[i - 1];

    if (strncmp(setting->key, key, n) != 0 || setting->key[n] != '.')
      break;
    setting->state = RA_SETTING_REPLACED;
  }
  g_hash_table_remove(firsts, key);
}

/* Lists of the command line replace those of @base. */
static void
replace_lists(const RaSettings *settings, RaSettings *base, GHashTable *firsts)
{
  GHashTableIter iter;
  gpointer key, keys;

  if (!settings->lists)
    return;
  g_hash_table_iter_init(&iter, settings->lists);
  while (g_hash_table_iter_next(&iter, &key, &keys)) {
    const char *item = ((GPtrArray *)keys)->pdata[0];

    if (g_ascii_isdigit(item[strlen(key) + 1]))
      replace(base, firsts, key);
  }
}

/* Puts the settings of @base before those of @settings, which override them. */
static void
put_before(RaSettings *settings, RaSettings *base)
{
  g_autoptr(GHashTable) firsts =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  GPtrArray *own = settings->list;

  for (guint i = 0; i < base->list->len; i++) {
    const RaSetting *setting = base->list->pdata[i];

    for (const char *dot = strchr(setting->key, '.'); dot;
         dot = strchr(dot + 1, '.')) {
      char *above = g_strndup(setting->key, (gsize)(dot - setting->key));

      if (g_hash_table_contains(firsts, above))
        g_free(above);
      else
        g_hash_table_insert(firsts, above, GUINT_TO_POINTER(i + 1));
    }
  }
  replace_lists(settings, base, firsts);
  for (guint i = 0; i < own->len; i++) {
    const RaSetting *setting = own->pdata[i];

    if (setting->state != RA_SETTING_REPLACED)
      replace(base, firsts, setting->key);
  }
  for (guint i = 0; i < base->list->len; i++) {
    RaSetting *setting = base->list->pdata[i];

    if (setting->state != RA_SETTING_REPLACED)
      g_hash_table_insert(settings->last, setting->key, setting);
  }
  settings->list = g_steal_pointer(&base->list);
  base->list = g_ptr_array_new();
  g_ptr_array_extend_and_steal(settings->list, own);
}

gboolean
ra_settings_compose(RaSettings *settings, const char *path, GError **error)
{
  g_return_val_if_fail(settings != NULL && path != NULL, FALSE);

  g_autofree char *folder = g_path_get_dirname(path);
  const char *config = NULL, *name, *parent;
  g_autofree char *found = NULL, *text = NULL;
  g_autoptr(RaSettings) base = NULL;
  gboolean is_own;
  gsize n_bytes;

  if (*ra_settings_entry(settings) == '\0')
    return TRUE;
  config = flag(settings, "config", NULL);
  name = flag(settings, "config-name", "config_name");
  parent = flag(settings, "config-path", "config_path");
  found = find_config(settings, folder, config, name, parent, &is_own);
  if (!found && !config && !name)
    return TRUE;
  if (!found || !g_file_test(found, G_FILE_TEST_IS_REGULAR)) {
    ra_settings_note(settings,
                     "configuration: %s '%s' was not found; only the command "
                     "line was read",
                     config ? "--config" : "--config-name",
                     config ? config : name);
    return TRUE;
  }
  base = ra_settings_new(found);
  if (!ra_file_read(found, RA_SETTINGS_BYTES_MAX, &text, &n_bytes, error) ||
      !ra_settings_read_composed(base, found, text, n_bytes, settings, is_own,
                                 error))
    return FALSE;
  for (guint i = 0; i < base->notes->len; i++)
    ra_settings_note(settings, "%s", (char *)base->notes->pdata[i]);
  put_before(settings, base);
  return TRUE;
}
