/* Trees of settings: how they are made, merged and turned into settings. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "study/convert/setting_node.h"

#define DEPTH_MAX 100
#define NODES_MAX (2 * RA_SETTINGS_MAX) /* with mappings and sequences */

static void
free_node(void *item)
{
  RaNode *node = item;

  if (node->names)
    g_ptr_array_unref(node->names);
  if (node->nodes)
    g_ptr_array_unref(node->nodes);
  if (node->places)
    g_hash_table_unref(node->places);
  g_free(node);
}

RaForest *
ra_forest_new(RaSettings *settings)
{
  RaForest *forest = g_new0(RaForest, 1);

  forest->settings = settings;
  forest->texts = g_string_chunk_new(4096);
  forest->nodes = g_ptr_array_new_with_free_func(free_node);
  forest->is_own = TRUE;
  return forest;
}

void
ra_forest_free(RaForest *forest)
{
  if (!forest)
    return;
  g_ptr_array_unref(forest->nodes);
  g_string_chunk_free(forest->texts);
  g_free(forest);
}

gboolean
ra_node_fail(const RaNode *node, GError **error, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  ra_error_at(error, node->file, node->line, format, arguments);
  va_end(arguments);
  return FALSE;
}

RaNode *
ra_node_new(RaForest *forest, RaNodeKind kind, const char *file, guint line,
            GError **error)
{
  RaNode *node;

  if (forest->nodes->len == NODES_MAX) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: more than %d settings",
                file, line, RA_SETTINGS_MAX);
    return NULL;
  }
  node = g_new0(RaNode, 1);
  node->kind = kind;
  node->file = g_string_chunk_insert_const(forest->texts, file);
  node->line = line;
  node->is_own = forest->is_own;
  if (kind != RA_NODE_SCALAR)
    node->nodes = g_ptr_array_new();
  if (kind == RA_NODE_MAPPING) {
    node->names = g_ptr_array_new();
    node->places = g_hash_table_new(g_str_hash, g_str_equal);
  }
  g_ptr_array_add(forest->nodes, node);
  return node;
}

RaNode *
ra_node_child(const RaNode *node, const char *name)
{
  guint place = node->kind == RA_NODE_MAPPING
                    ? GPOINTER_TO_UINT(g_hash_table_lookup(node->places, name))
                    : 0;

  return place > 0 ? node->nodes->pdata[place - 1] : NULL;
}

RaNode *
ra_node_find(RaNode *node, const char *path)
{
  g_auto(GStrv) names = g_strsplit(path, ".", -1);

  for (guint i = 0; node && names[i]; i++) {
    if (node->kind == RA_NODE_SEQUENCE) {
      guint64 index = g_ascii_strtoull(names[i], NULL, 10);

      node = g_ascii_isdigit(*names[i]) && index < node->nodes->len
                 ? node->nodes->pdata[index]
                 : NULL;
    } else {
      node = ra_node_child(node, names[i]);
    }
  }
  return node;
}

void
ra_node_put(RaForest *forest, RaNode *node, const char *name, RaNode *child)
{
  char *own;
  guint place;

  if (node->kind == RA_NODE_SEQUENCE) {
    g_ptr_array_add(node->nodes, child);
    return;
  }
  place = GPOINTER_TO_UINT(g_hash_table_lookup(node->places, name));
  if (place > 0) {
    node->nodes->pdata[place - 1] = child;
    return;
  }
  own = g_string_chunk_insert_const(forest->texts, name);
  g_ptr_array_add(node->names, own);
  g_ptr_array_add(node->nodes, child);
  g_hash_table_insert(node->places, own, GUINT_TO_POINTER(node->nodes->len));
}

void
ra_node_remove(RaNode *node, const char *name)
{
  guint place = GPOINTER_TO_UINT(g_hash_table_lookup(node->places, name));

  if (place == 0)
    return;
  node->nodes->pdata[place - 1] = NULL;
  g_hash_table_remove(node->places, name);
}

/* A copy of @node; NULL with @error: there are too many. */
static RaNode *
copy(RaForest *forest, const RaNode *node, guint depth, GError **error)
{
  RaNode *out = ra_node_new(forest, node->kind, node->file, node->line, error);

  if (!out || node->kind == RA_NODE_SCALAR || depth > DEPTH_MAX) {
    if (out)
      out->value = node->value ? node->value : "";
    return out;
  }
  out->is_own = node->is_own;
  for (guint i = 0; i < node->nodes->len; i++) {
    RaNode *child = node->nodes->pdata[i];
    RaNode *twin = child ? copy(forest, child, depth + 1, error) : NULL;

    if (child && !twin)
      return NULL;
    if (twin)
      ra_node_put(forest, out, node->names ? node->names->pdata[i] : NULL,
                  twin);
  }
  return out;
}

/* Target of @node, at @key of @root, if it is a reference to a mapping or a
 * sequence; else NULL. *out_path (nullable, transfer full): its key. */
static RaNode *
referred(RaNode *root, const char *key, const RaNode *node, char **out_path)
{
  g_autoptr(GPtrArray) paths = NULL;

  if (node->kind != RA_NODE_SCALAR || !g_str_has_prefix(node->value, "${"))
    return NULL;
  paths = ra_settings_references(key, node->value);
  for (guint i = 0; i < paths->len; i++) {
    RaNode *found = ra_node_find(root, paths->pdata[i]);

    if (!found)
      continue;
    if (found->kind == RA_NODE_SCALAR)
      return NULL;
    if (out_path)
      *out_path = g_strdup(paths->pdata[i]);
    return found;
  }
  return NULL;
}

static gboolean merge_child(RaForest *forest, RaNode *root, const char *key,
                            RaNode *into, const char *name, RaNode *from,
                            GError **error);

static gboolean
merge(RaForest *forest, RaNode *root, const char *key, RaNode *into,
      RaNode *from, GError **error)
{
  for (guint i = 0; i < from->nodes->len; i++) {
    RaNode *child = from->nodes->pdata[i];

    if (child && !merge_child(forest, root, key, into, from->names->pdata[i],
                              child, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
merge_child(RaForest *forest, RaNode *root, const char *key, RaNode *into,
            const char *name, RaNode *from, GError **error)
{
  RaNode *before = ra_node_child(into, name), *whole;
  g_autofree char *full = g_strconcat(key, *key ? "." : "", name, NULL);

  if (before && from->kind == RA_NODE_SCALAR && g_str_equal(from->value, "???"))
    return TRUE;
  if (before && from->kind == RA_NODE_MAPPING &&
      (whole = referred(root, full, before, NULL)) != NULL) {
    before = copy(forest, whole, 0, error);
    if (!before)
      return FALSE;
    ra_node_put(forest, into, name, before);
  }
  if (before && before->kind == RA_NODE_MAPPING &&
      from->kind == RA_NODE_MAPPING)
    return merge(forest, root, full, before, from, error);
  ra_node_put(forest, into, name, from);
  return TRUE;
}

gboolean
ra_node_merge(RaForest *forest, RaNode *root, const char *key, RaNode *from,
              GError **error)
{
  g_auto(GStrv) names = g_strsplit(key, ".", -1);
  RaNode *into = root;

  for (guint i = 0; names[i]; i++) {
    RaNode *next = ra_node_child(into, names[i]);

    if (!next || next->kind != RA_NODE_MAPPING) {
      next =
          ra_node_new(forest, RA_NODE_MAPPING, from->file, from->line, error);
      if (!next)
        return FALSE;
      ra_node_put(forest, into, names[i], next);
    }
    into = next;
  }
  return merge(forest, root, key, into, from, error);
}

/* Adds the scalars of @node at @key.  With @source, they are those of another
 * node, which @node refers to: each becomes a reference to @source's. */
static gboolean
flatten(RaForest *forest, RaNode *root, const RaNode *node, const char *key,
        const RaNode *place, const char *source, guint depth, GError **error)
{
  g_autofree char *reference = NULL;
  RaNode *whole = referred(root, source ? source : key, node, &reference);

  if (depth > DEPTH_MAX)
    return ra_node_fail(node, error, "nested deeper than %d", DEPTH_MAX);
  if (whole)
    return flatten(forest, root, whole, key, place ? place : node, reference,
                   depth + 1, error);
  if (node->kind == RA_NODE_SCALAR) {
    const RaNode *at = place ? place : node;

    reference = source ? g_strdup_printf("${%s}", source) : NULL;
    return ra_settings_add_at(forest->settings, key,
                              reference ? reference : node->value, at->file,
                              at->line, at->is_own, error);
  }
  for (guint i = 0; i < node->nodes->len; i++) {
    const RaNode *child = node->nodes->pdata[i];
    g_autofree char *number = g_strdup_printf("%u", i);
    const char *name = node->names ? node->names->pdata[i] : number;
    g_autofree char *full = g_strconcat(key, *key ? "." : "", name, NULL);
    g_autofree char *from =
        source ? g_strconcat(source, ".", name, NULL) : NULL;

    if (child &&
        !flatten(forest, root, child, full, place, from, depth + 1, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
ra_node_flatten(RaForest *forest, RaNode *root, GError **error)
{
  return flatten(forest, root, root, "", NULL, NULL, 0, error) &&
         ra_settings_check_references(forest->settings, error);
}
