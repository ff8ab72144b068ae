/* Composition: `defaults` of YAML files. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "study/convert/setting_compose.h"

#define FILES_MAX 256
#define OPEN_MAX 32 /* files that lead to each other */

typedef struct {
  RaForest *forest;
  RaNode *root;           /* what is composed */
  RaSettings *command;    /* nullable */
  GPtrArray *folders;     /* (element-type utf8): searched, in order */
  GHashTable *choices;    /* group -> option, owned */
  GHashTable *forced;     /* group -> option of `override`, owned */
  GPtrArray *open;        /* (element-type utf8): files that led here */
  guint n_files, n_found; /* looked for; there */
  GError **error;
} Composer;

/* An entry of hydra's list. */
typedef struct {
  char *group;   /* nullable, "actor" of `actor@x.y: dp` */
  char *name;    /* "dp", or "group/name" without a group */
  char *package; /* nullable, "x.y" */
  gboolean is_optional, is_override;
} Entry;

static void
entry_clear(Entry *entry)
{
  g_free(entry->group);
  g_free(entry->name);
  g_free(entry->package);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Entry, entry_clear)

static gboolean compose_file(Composer *composer, const char *path,
                             const char *text, gsize n_bytes, const char *group,
                             const char *package);

/* ---- Files ----------------------------------------------------------- */

char *
ra_compose_find_above(const char *folder, const char *name)
{
  static const char *const marks[] = {".git", "setup.py", "pyproject.toml"};
  g_autofree char *at = g_canonicalize_filename(folder, NULL);

  for (;;) {
    char *found = g_build_filename(at, name, NULL);
    char *above;

    if (g_file_test(found, G_FILE_TEST_EXISTS))
      return found;
    g_free(found);
    for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
      g_autofree char *mark = g_build_filename(at, marks[i], NULL);

      if (g_file_test(mark, G_FILE_TEST_EXISTS))
        return NULL;
    }
    above = g_path_get_dirname(at);
    if (g_str_equal(above, at)) {
      g_free(above);
      return NULL;
    }
    g_free(at);
    at = above;
  }
}

/* Folders of `hydra.searchpath`: file://FOLDER, pkg://a.b is a/b. */
static void
add_search_path(Composer *composer, RaNode *node)
{
  RaNode *paths = ra_node_find(node, "hydra.searchpath");

  for (guint i = 0;
       paths && paths->kind == RA_NODE_SEQUENCE && i < paths->nodes->len; i++) {
    const RaNode *item = paths->nodes->pdata[i];
    const char *value = item->kind == RA_NODE_SCALAR ? item->value : "";
    g_autofree char *name = NULL;
    char *found;

    if (g_str_has_prefix(value, "pkg://"))
      name = g_strdelimit(g_strdup(value + strlen("pkg://")), ".", '/');
    else
      name = g_strdup(g_str_has_prefix(value, "file://")
                          ? value + strlen("file://")
                          : value);
    found = g_path_is_absolute(name)
                ? g_strdup(name)
                : ra_compose_find_above(composer->folders->pdata[0], name);
    if (found)
      g_ptr_array_add(composer->folders, found);
  }
}

/* (transfer full) (nullable): file of configuration @name; *out_own: it is in
 * the folder of the first file. */
static char *
find_file(const Composer *composer, const char *name, gboolean *out_own)
{
  gboolean has_end =
      g_str_has_suffix(name, ".yaml") || g_str_has_suffix(name, ".yml");
  g_autofree char *file =
      has_end ? g_strdup(name) : g_strconcat(name, ".yaml", NULL);

  for (guint i = 0; i < composer->folders->len; i++) {
    char *path = g_build_filename(composer->folders->pdata[i], file, NULL);

    if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
      *out_own = i == 0;
      return path;
    }
    g_free(path);
  }
  return NULL;
}

static gboolean
compose_path(Composer *composer, const RaNode *from, const char *path,
             const char *group, const char *package)
{
  g_autofree char *text = NULL;
  gsize n_bytes;

  for (const char *p = path; *p; p++) {
    if (g_ascii_iscntrl(*p))
      return ra_node_fail(from, composer->error,
                          "'defaults' is no name of a file");
  }
  if (g_file_test(path, G_FILE_TEST_EXISTS) &&
      !g_file_test(path, G_FILE_TEST_IS_REGULAR))
    return ra_node_fail(from, composer->error,
                        "'defaults': '%s' is no regular file", path);
  for (guint i = 0; i < composer->open->len; i++) {
    if (g_str_equal(composer->open->pdata[i], path))
      return ra_node_fail(from, composer->error,
                          "'defaults' leads back to '%s'", path);
  }
  if (composer->open->len == OPEN_MAX || ++composer->n_files > FILES_MAX)
    return ra_node_fail(from, composer->error,
                        "'defaults' leads to more than %d files",
                        composer->open->len == OPEN_MAX ? OPEN_MAX : FILES_MAX);
  if (!ra_file_read(path, RA_SETTINGS_BYTES_MAX, &text, &n_bytes,
                    composer->error)) {
    g_prefix_error(composer->error, "%s:%u: 'defaults': ", from->file,
                   from->line);
    return FALSE;
  }
  return compose_file(composer, path, text, n_bytes, group, package);
}

/* ---- Entries of hydra's list ------------------------------------------ */

/* Reads @node, `[optional|override] [GROUP@PACKAGE:] NAME`. */
static gboolean
read_entry(const Composer *composer, const RaNode *node, Entry *out)
{
  const RaNode *value = node;
  const char *text = node->value, *at;

  if (node->kind == RA_NODE_MAPPING && node->nodes->len == 1) {
    text = node->names->pdata[0];
    value = node->nodes->pdata[0];
  }
  if (!text || value->kind == RA_NODE_MAPPING)
    return ra_node_fail(node, composer->error,
                        "an entry of 'defaults' is not understood, expected "
                        "NAME or GROUP: NAME");
  if (g_str_has_prefix(text, "optional ")) {
    out->is_optional = TRUE;
    text += strlen("optional ");
  } else if (g_str_has_prefix(text, "override ")) {
    out->is_override = TRUE;
    text += strlen("override ");
  }
  while (*text == ' ')
    text++;
  at = strchr(text, '@');
  out->package = at ? g_strdup(at + 1) : NULL;
  if (value == node)
    out->name = at ? g_strndup(text, (gsize)(at - text)) : g_strdup(text);
  else
    out->group = at ? g_strndup(text, (gsize)(at - text)) : g_strdup(text);
  return TRUE;
}

/* (transfer full): @name of group @group, as a path from the top: "/x" is of
 * the top, "../x" of the group above; above the top it is a folder. */
static char *
path_of(const char *group, const char *name)
{
  g_autofree char *joined =
      *name == '/' ? g_strdup(name) : g_strconcat("/", group, "/", name, NULL);
  g_auto(GStrv) parts = g_strsplit(joined, "/", -1);
  GString *out = g_string_new(NULL);

  for (guint i = 0; parts[i]; i++) {
    const char *slash = strrchr(out->str, '/');
    const char *last = slash ? slash + 1 : out->str;

    if (!*parts[i] || g_str_equal(parts[i], "."))
      continue;
    if (g_str_equal(parts[i], "..") && *last && !g_str_equal(last, ".."))
      g_string_truncate(out, slash ? (gsize)(slash - out->str) : 0);
    else
      g_string_append_printf(out, "%s%s", out->len ? "/" : "", parts[i]);
  }
  return g_string_free(out, FALSE);
}

/* (transfer full): where a configuration is put: @package, else the folder of
 * @path as it is written, below @parent's. */
static char *
package_of(const char *parent, const char *package, const char *path)
{
  g_autofree char *folder = g_path_get_dirname(*path == '/' ? path + 1 : path);
  g_autofree char *own = NULL;
  const char *top;

  if (package && g_str_equal(package, "_here_"))
    package = "";
  if (!package || g_str_equal(package, "_group_")) {
    own = g_strdelimit(
        g_str_equal(folder, ".") ? g_strdup("") : g_strdup(folder), "/", '.');
    package = own;
  }
  top = g_strrstr(package, "_global_");
  if (top) {
    top += strlen("_global_");
    return g_strdup(*top == '.' ? top + 1 : top);
  }
  return g_strconcat(parent, *parent && *package ? "." : "", package, NULL);
}

/* (transfer full) (nullable): NAME of `# @package NAME` above the first key of
 * @file. */
static char *
package_header(const char *file)
{
  g_autofree char *text = NULL;
  g_auto(GStrv) lines = NULL;
  gsize n_bytes;

  if (!ra_file_read(file, RA_SETTINGS_BYTES_MAX, &text, &n_bytes, NULL))
    return NULL;
  lines = g_strsplit(text, "\n", 32);
  for (guint i = 0; lines[i] && (*lines[i] == '#' || !*lines[i]); i++) {
    const char *at = strstr(lines[i], "@package");

    if (at)
      return g_strdup(g_strstrip((char *)at + strlen("@package")));
  }
  return NULL;
}

/* (transfer full): @option with the choices that its ${...} name. */
static char *
choose(const Composer *composer, const char *option)
{
  GString *out = g_string_new(NULL);

  for (const char *p = option; *p;) {
    const char *end = g_str_has_prefix(p, "${") ? strchr(p, '}') : NULL;

    if (end) {
      g_autofree char *name = g_strndup(p + 2, (gsize)(end - p) - 2);
      const char *choice = g_hash_table_lookup(composer->choices, name);

      g_string_append(out, choice ? choice : "");
      p = end + 1;
    } else {
      g_string_append_c(out, *p++);
    }
  }
  return g_string_free(out, FALSE);
}

/* (transfer full): by what a choice for @entry of group @path is named:
 * `path`, and `@package` if that is not where the group is put by itself. */
static char *
key_of(const char *path, const char *parent, const Entry *entry)
{
  g_autofree char *written = g_strconcat(entry->group, "/", NULL);
  g_autofree char *package = package_of(parent, entry->package, written);
  g_autofree char *plain = g_strdelimit(g_strdup(path), "/", '.');

  return g_str_equal(package, plain)
             ? g_strdup(path)
             : g_strconcat(path, "@", *package ? package : "_global_", NULL);
}

/* Choice for @key on the command line, then of an `override`; else NULL. */
static const char *
forced_choice(const Composer *composer, const char *key)
{
  const char *choice =
      composer->command ? ra_settings_get(composer->command, key) : NULL;

  return choice ? choice : g_hash_table_lookup(composer->forced, key);
}

/* Notes the choices of list @defaults before its files are read, as entries may
 * name later ones. */
static gboolean
note_choices(Composer *composer, const RaNode *defaults, const char *group,
             const char *package)
{
  for (guint i = 0; i < defaults->nodes->len; i++) {
    const RaNode *node = defaults->nodes->pdata[i];
    const RaNode *value = node->kind == RA_NODE_MAPPING && node->nodes->len == 1
                              ? node->nodes->pdata[0]
                              : NULL;
    g_auto(Entry) entry = {NULL};
    g_autofree char *path = NULL, *key = NULL;
    const char *choice;

    if (!read_entry(composer, node, &entry))
      return FALSE;
    if (!entry.group || value->kind != RA_NODE_SCALAR)
      continue;
    path = path_of(group, entry.group);
    key = key_of(path, package, &entry);
    if (entry.is_override) {
      if (!g_hash_table_contains(composer->forced, key))
        g_hash_table_insert(composer->forced, g_steal_pointer(&key),
                            g_strdup(value->value));
      continue;
    }
    choice = forced_choice(composer, key);
    if (!choice && strstr(value->value, "${"))
      continue;
    g_hash_table_replace(composer->choices,
                         g_strdelimit(g_strdup(path), "/", '.'),
                         g_strdup(choice ? choice : value->value));
  }
  return TRUE;
}

/* The configuration @name of @group, whose entry stands at @node. */
static gboolean
compose_named(Composer *composer, const RaNode *node, const Entry *entry,
              const char *name, const char *group, const char *package)
{
  g_autofree char *written = entry->group
                                 ? g_strconcat(entry->group, "/", name, NULL)
                                 : g_strdup(name);
  g_autofree char *path = path_of(group, written);
  g_autofree char *folder = g_path_get_dirname(path);
  gboolean is_own = TRUE, before = composer->forest->is_own, ok;
  g_autofree char *file = find_file(composer, path, &is_own);
  g_autofree char *header =
      file && !entry->package ? package_header(file) : NULL;
  g_autofree char *place =
      package_of(package, header ? header : entry->package, written);

  if (!file) {
    if (++composer->n_files > FILES_MAX)
      return ra_node_fail(node, composer->error,
                          "'defaults' leads to more than %d files", FILES_MAX);
    if (!entry->is_optional)
      ra_settings_note(composer->forest->settings,
                       "defaults: %s:%u: '%s' was not found; what the "
                       "framework has is taken",
                       node->file, node->line, path);
    return TRUE;
  }
  composer->n_found++;
  composer->forest->is_own = before && is_own;
  ok = compose_path(composer, node, file,
                    g_str_equal(folder, ".") ? "" : folder, place);
  composer->forest->is_own = before;
  return ok;
}

static gboolean
compose_entry(Composer *composer, const RaNode *node, const char *group,
              const char *package)
{
  const RaNode *value =
      node->kind == RA_NODE_MAPPING ? node->nodes->pdata[0] : NULL;
  g_auto(Entry) entry = {NULL};
  g_autofree char *path = NULL, *name = NULL, *key = NULL;
  const char *choice;
  guint n_found = composer->n_found;

  if (!read_entry(composer, node, &entry))
    return FALSE;
  if (entry.is_override)
    return TRUE;
  if (!entry.group)
    return compose_named(composer, node, &entry, entry.name, group, package);
  path = path_of(group, entry.group);
  key = key_of(path, package, &entry);
  choice = forced_choice(composer, key);
  if (!choice && value->kind == RA_NODE_SEQUENCE) {
    for (guint i = 0; i < value->nodes->len; i++) {
      const RaNode *item = value->nodes->pdata[i];

      if (item->kind == RA_NODE_SCALAR &&
          !compose_named(composer, item, &entry, item->value, group, package))
        return FALSE;
    }
    return TRUE;
  }
  name = choose(composer, choice ? choice : value->value);
  if (*name == '\0' || g_str_equal(name, "null") || g_str_equal(name, "~") ||
      g_str_equal(name, "???"))
    return TRUE;
  if (!compose_named(composer, node, &entry, name, group, package))
    return FALSE;
  if (composer->command && composer->n_found > n_found)
    ra_settings_drop(composer->command, key); /* no value, but a choice */
  return TRUE;
}

/* ---- One file --------------------------------------------------------- */

static gboolean
is_file_name(const RaNode *node)
{
  return node->kind == RA_NODE_SCALAR &&
         (g_str_has_suffix(node->value, ".yaml") ||
          g_str_has_suffix(node->value, ".yml"));
}

/* `defaults: FILE` or a list of files: they are read first. */
static gboolean
compose_files(Composer *composer, const RaNode *defaults, const char *path)
{
  g_autofree char *folder = g_path_get_dirname(path);
  guint n = defaults->kind == RA_NODE_SEQUENCE ? defaults->nodes->len : 1;

  for (guint i = 0; i < n; i++) {
    const RaNode *item = defaults->kind == RA_NODE_SEQUENCE
                             ? defaults->nodes->pdata[i]
                             : defaults;
    g_autofree char *name = g_path_is_absolute(item->value)
                                ? g_strdup(item->value)
                                : g_build_filename(folder, item->value, NULL);

    if (!compose_path(composer, item, name, "", ""))
      return FALSE;
  }
  return TRUE;
}

/* Composes the content of the file itself. NeMo-RL's `_override_: true` in a
 * mapping replaces what was there. */
static gboolean
compose_self(Composer *composer, RaNode *own, const char *package)
{
  for (guint i = 0; i < own->nodes->len; i++) {
    RaNode *child = own->nodes->pdata[i];
    RaNode *mark = child ? ra_node_child(child, "_override_") : NULL;

    if (!mark || mark->kind != RA_NODE_SCALAR)
      continue;
    if (g_ascii_strcasecmp(mark->value, "true") == 0 && *package == '\0')
      ra_node_remove(composer->root, own->names->pdata[i]);
    ra_node_remove(child, "_override_");
  }
  return ra_node_merge(composer->forest, composer->root, package, own,
                       composer->error);
}

static gboolean
compose_list(Composer *composer, RaNode *own, const RaNode *defaults,
             const char *group, const char *package)
{
  gboolean has_self = FALSE;

  if (!note_choices(composer, defaults, group, package))
    return FALSE;
  for (guint i = 0; i < defaults->nodes->len; i++) {
    const RaNode *node = defaults->nodes->pdata[i];
    gboolean is_self =
        node->kind == RA_NODE_SCALAR && g_str_equal(node->value, "_self_");

    if (!(is_self ? compose_self(composer, own, package)
                  : compose_entry(composer, node, group, package)))
      return FALSE;
    has_self |= is_self;
  }
  return has_self || compose_self(composer, own, package);
}

static gboolean
compose_file(Composer *composer, const char *path, const char *text,
             gsize n_bytes, const char *group, const char *package)
{
  RaNode *own =
      ra_node_parse(composer->forest, path, text, n_bytes, composer->error);
  RaNode *defaults = own ? ra_node_child(own, "defaults") : NULL;
  gboolean is_files, ok;

  if (!own)
    return FALSE;
  ra_node_remove(own, "defaults");
  if (composer->open->len == 0) {
    add_search_path(composer, own);
    ra_node_remove(own, "hydra");
  }
  is_files = defaults && is_file_name(defaults);
  if (defaults && defaults->kind == RA_NODE_SEQUENCE) {
    is_files = defaults->nodes->len > 0;
    for (guint i = 0; i < defaults->nodes->len; i++)
      is_files &= is_file_name(defaults->nodes->pdata[i]);
  }
  g_ptr_array_add(composer->open, g_strdup(path));
  if (is_files)
    ok = compose_files(composer, defaults, path) &&
         compose_self(composer, own, package);
  else if (defaults && defaults->kind == RA_NODE_SEQUENCE)
    ok = compose_list(composer, own, defaults, group, package);
  else if (!defaults)
    ok = compose_self(composer, own, package);
  else
    ok = ra_node_fail(defaults, composer->error,
                      "'defaults' is not understood, expected a file or a "
                      "list");
  g_ptr_array_set_size(composer->open, (gint)composer->open->len - 1);
  return ok;
}

/* ---- The whole -------------------------------------------------------- */

RaNode *
ra_compose(RaForest *forest, const char *path, const char *text, gsize n_bytes,
           RaSettings *command, GError **error)
{
  g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GPtrArray) open = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GHashTable) choices =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr(GHashTable) forced =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  Composer composer = {
      forest,  ra_node_new(forest, RA_NODE_MAPPING, path, 1, error),
      command, folders,
      choices, forced,
      open,    0,
      0,       error};

  if (!composer.root)
    return NULL;
  g_ptr_array_add(folders, g_path_get_dirname(path));
  if (!compose_file(&composer, path, text, n_bytes, "", ""))
    return NULL;
  return composer.root;
}
