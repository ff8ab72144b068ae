/* Settings of a YAML or JSON file: composed, or as a logger has kept them. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "study/convert/setting_compose.h"

/* TRUE if @node is `{desc: ..., value: ...}`, or has `value` alone. */
static gboolean
is_wrapped(const RaNode *node)
{
  guint n = ra_node_child(node, "desc") != NULL;

  return node->kind == RA_NODE_MAPPING && ra_node_child(node, "value") &&
         node->nodes->len == n + 1;
}

/* Weights & Biases keeps `key: {desc: ..., value: ...}`: @root with the values
 * themselves.  What it says of itself is left out. */
static void
unwrap(RaForest *forest, RaNode *root)
{
  gboolean is_wandb =
      ra_node_child(root, "wandb_version") || ra_node_child(root, "_wandb");

  ra_node_remove(root, "wandb_version");
  ra_node_remove(root, "_wandb");
  for (guint i = 0; !is_wandb && i < root->nodes->len; i++) {
    if (root->nodes->pdata[i] && !is_wrapped(root->nodes->pdata[i]))
      return;
  }
  for (guint i = 0; i < root->nodes->len; i++) {
    RaNode *child = root->nodes->pdata[i];

    if (child && is_wrapped(child))
      ra_node_put(forest, root, root->names->pdata[i],
                  ra_node_child(child, "value"));
  }
}

/* wandb-metadata.json has the words of the command line in `args`. */
static gboolean
read_command(RaSettings *settings, const RaNode *program, const RaNode *words,
             GError **error)
{
  g_autoptr(GString) text = g_string_new("python ");

  g_string_append(text, program->value);
  for (guint i = 0; i < words->nodes->len; i++) {
    const RaNode *word = words->nodes->pdata[i];
    g_autofree char *quoted =
        ra_quote_shell(word->kind == RA_NODE_SCALAR ? word->value : "");

    g_string_append_printf(text, " %s", quoted);
  }
  return ra_settings_read_script(settings, text->str, text->len, NULL, error);
}

gboolean
ra_settings_read_yaml(RaSettings *settings, const char *text, gsize n_bytes,
                      GError **error)
{
  return ra_settings_read_composed(settings, settings->name, text, n_bytes,
                                   NULL, TRUE, error);
}

gboolean
ra_settings_read_composed(RaSettings *settings, const char *path,
                          const char *text, gsize n_bytes, RaSettings *command,
                          gboolean is_own, GError **error)
{
  g_autoptr(RaForest) forest = ra_forest_new(settings);
  RaNode *root, *program, *words;

  forest->is_own = is_own;
  root = ra_compose(forest, path, text, n_bytes, command, error);
  if (!root)
    return FALSE;
  program = ra_node_child(root, "program");
  words = ra_node_child(root, "args");
  if (program && words && program->kind == RA_NODE_SCALAR &&
      words->kind == RA_NODE_SEQUENCE)
    return read_command(settings, program, words, error);
  unwrap(forest, root);
  return ra_node_flatten(forest, root, error);
}
