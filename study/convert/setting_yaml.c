/* Settings of a YAML file, read by libyaml: composed, or as a logger has kept
 * them. */
#include "config.h"

#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "base/quote.h"
#include "study/convert/setting_compose.h"

#define DEPTH_MAX 100
#define ANCHORS_MAX 100

/* One document on its way into nodes. */
typedef struct {
  RaForest *forest;
  const char *name;
  yaml_document_t *document;
  GError **error;
} Reader;

static RaNode *build(const Reader *reader, int index, guint depth);

static RaNode *
fail(const Reader *reader, const yaml_node_t *node, const char *what)
{
  g_set_error(reader->error, RA_ERROR, RA_ERROR_INPUT, "%s:%lu: %s",
              reader->name, (unsigned long)node->start_mark.line + 1, what);
  return NULL;
}

/* `<<: *base` or `<<: [*base, *other]`: what is not there yet is taken. */
static gboolean
unite(const Reader *reader, RaNode *out, int index, guint depth)
{
  const yaml_node_t *node = yaml_document_get_node(reader->document, index);
  RaNode *other;

  if (node->type == YAML_SEQUENCE_NODE && depth < DEPTH_MAX) {
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
      if (!unite(reader, out, *item, depth + 1))
        return FALSE;
    }
    return TRUE;
  }
  if (node->type != YAML_MAPPING_NODE)
    return fail(reader, node, "'<<' is not a mapping") != NULL;
  other = build(reader, index, depth + 1);
  if (!other)
    return FALSE;
  for (guint i = 0; i < other->nodes->len; i++) {
    if (!ra_node_child(out, other->names->pdata[i]))
      ra_node_put(reader->forest, out, other->names->pdata[i],
                  other->nodes->pdata[i]);
  }
  return TRUE;
}

static RaNode *
build_mapping(const Reader *reader, const yaml_node_t *node, RaNode *out,
              guint depth)
{
  for (gboolean is_merge = FALSE; is_merge < 2; is_merge++) {
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
      yaml_node_t *name = yaml_document_get_node(reader->document, pair->key);
      RaNode *child;
      const char *text;

      if (!name || name->type != YAML_SCALAR_NODE)
        return fail(reader, node, "a key is not a word");
      text = (const char *)name->data.scalar.value;
      for (const char *p = text; *p; p++) {
        if (g_ascii_iscntrl(*p))
          return fail(reader, name, "a key is not a word");
      }
      if (is_merge != (name->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                       strcmp(text, "<<") == 0))
        continue;
      if (is_merge) {
        if (!unite(reader, out, pair->value, depth))
          return NULL;
        continue;
      }
      child = build(reader, pair->value, depth + 1);
      if (!child)
        return NULL;
      ra_node_put(reader->forest, out, text, child);
    }
  }
  return out;
}

static RaNode *
build(const Reader *reader, int index, guint depth)
{
  static const RaNodeKind kinds[] = {
      [YAML_SCALAR_NODE] = RA_NODE_SCALAR,
      [YAML_SEQUENCE_NODE] = RA_NODE_SEQUENCE,
      [YAML_MAPPING_NODE] = RA_NODE_MAPPING,
  };
  const yaml_node_t *node = yaml_document_get_node(reader->document, index);
  RaNode *out;

  if (depth > DEPTH_MAX)
    return fail(reader, node, "nested deeper than 100");
  out = ra_node_new(reader->forest, kinds[node->type], reader->name,
                    (guint)node->start_mark.line + 1, reader->error);
  if (!out)
    return NULL;
  if (node->type == YAML_MAPPING_NODE)
    return build_mapping(reader, node, out, depth);
  if (node->type == YAML_SCALAR_NODE) {
    out->value = g_string_chunk_insert(reader->forest->texts,
                                       (const char *)node->data.scalar.value);
    return out;
  }
  for (yaml_node_item_t *item = node->data.sequence.items.start;
       item < node->data.sequence.items.top; item++) {
    RaNode *child = build(reader, *item, depth + 1);

    if (!child)
      return NULL;
    ra_node_put(reader->forest, out, NULL, child);
  }
  return out;
}

static void
begin_parser(yaml_parser_t *parser, const char *text, gsize n_bytes)
{
  if (!yaml_parser_initialize(parser))
    g_error("no memory for a YAML parser");
  yaml_parser_set_input_string(parser, (const unsigned char *)text, n_bytes);
}

static void
fail_parser(const char *name, const yaml_parser_t *parser, GError **error)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%lu: no YAML: %s", name,
              (unsigned long)parser->problem_mark.line + 1,
              parser->problem ? parser->problem : "cannot be read");
}

static gboolean
has_anchor(const yaml_event_t *event)
{
  return (event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor) ||
         (event->type == YAML_SEQUENCE_START_EVENT &&
          event->data.sequence_start.anchor) ||
         (event->type == YAML_MAPPING_START_EVENT &&
          event->data.mapping_start.anchor);
}

/* TRUE if @text has neither too many levels nor too many anchors.  The loader's
 * time grows with the square of both, so parser events are counted first. */
static gboolean
check_size(const char *name, const char *text, gsize n_bytes,
           guint *out_documents, GError **error)
{
  yaml_parser_t parser;
  yaml_event_t event;
  guint depth = 0, n_anchors = 0;
  gboolean ok = TRUE, ended = FALSE;

  begin_parser(&parser, text, n_bytes);
  while (ok && !ended) {
    if (!yaml_parser_parse(&parser, &event)) {
      fail_parser(name, &parser, error);
      ok = FALSE;
      break;
    }
    ended = event.type == YAML_STREAM_END_EVENT;
    *out_documents += event.type == YAML_DOCUMENT_START_EVENT;
    n_anchors += has_anchor(&event);
    if (event.type == YAML_MAPPING_START_EVENT ||
        event.type == YAML_SEQUENCE_START_EVENT)
      depth++;
    else if (event.type == YAML_MAPPING_END_EVENT ||
             event.type == YAML_SEQUENCE_END_EVENT)
      depth--;
    if (depth > DEPTH_MAX || n_anchors > ANCHORS_MAX) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%lu: %s %d", name,
                  (unsigned long)event.start_mark.line + 1,
                  depth > DEPTH_MAX ? "nested deeper than"
                                    : "more anchors than",
                  depth > DEPTH_MAX ? DEPTH_MAX : ANCHORS_MAX);
      ok = FALSE;
    }
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
  return ok;
}

RaNode *
ra_node_parse(RaForest *forest, const char *name, const char *text,
              gsize n_bytes, GError **error)
{
  yaml_parser_t parser;
  yaml_document_t document;
  Reader reader = {forest, name, &document, error};
  RaNode *out = NULL;
  guint n_documents = 0;

  if (!check_size(name, text, n_bytes, &n_documents, error))
    return NULL;
  if (n_documents > 1)
    ra_settings_note(forest->settings,
                     "%s: the first of %u documents; the others are not read",
                     name, n_documents);
  begin_parser(&parser, text, n_bytes);
  if (!yaml_parser_load(&parser, &document)) {
    fail_parser(name, &parser, error);
  } else {
    const yaml_node_t *root = yaml_document_get_root_node(&document);

    if (!root)
      out = ra_node_new(forest, RA_NODE_MAPPING, name, 1, error);
    else if (root->type != YAML_MAPPING_NODE)
      fail(&reader, root, "expected keys and values");
    else
      out = build(&reader, 1, 0);
    yaml_document_delete(&document);
  }
  yaml_parser_delete(&parser);
  return out;
}

/* ---- What a logger has kept ------------------------------------------- */

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
    g_autofree char *quoted = ra_quote_shell(
        word->kind == RA_NODE_SCALAR && word->value ? word->value : "");

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
  if (program && words && program->kind == RA_NODE_SCALAR && program->value &&
      words->kind == RA_NODE_SEQUENCE)
    return read_command(settings, program, words, error);
  unwrap(forest, root);
  return ra_node_flatten(forest, root, error);
}
