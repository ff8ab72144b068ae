/* Settings of a YAML file, read by libyaml. */
#include "config.h"

#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "base/text.h"
#include "study/convert/setting_impl.h"

#define DEPTH_MAX 100
#define ANCHORS_MAX 100
#define DEFAULTS_MAX 8 /* files that name each other */

/* One document on its way into settings. */
typedef struct {
  RaSettings *settings;
  yaml_document_t *document;
  guint defaults; /* files that led here */
  GError **error;
} Reader;

static gboolean
fail(const Reader *reader, const yaml_node_t *node, const char *what)
{
  g_set_error(reader->error, RA_ERROR, RA_ERROR_INPUT, "%s:%lu: %s",
              reader->settings->name, (unsigned long)node->start_mark.line + 1,
              what);
  return FALSE;
}

static gboolean flatten(const Reader *reader, int index, const char *key,
                        guint depth);

/* `defaults: FILE` of the top: its settings come before. */
static gboolean
read_defaults(const Reader *reader, const char *name)
{
  RaSettings *settings = reader->settings;
  g_autofree char *folder = g_path_get_dirname(settings->name);
  g_autofree char *path = g_build_filename(folder, name, NULL);
  char *own = settings->name;
  g_autofree char *text = NULL;
  gsize n_bytes;
  gboolean ok;

  if (!ra_file_read(path, RA_SETTINGS_BYTES_MAX, &text, &n_bytes,
                    reader->error))
    return FALSE;
  settings->name = path;
  ok = ra_settings_read_yaml(settings, text, n_bytes, reader->defaults + 1,
                             reader->error);
  settings->name = own;
  return ok;
}

static gboolean
flatten_mapping(const Reader *reader, const yaml_node_t *node, const char *key,
                guint depth)
{
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
       pair < node->data.mapping.pairs.top; pair++) {
    yaml_node_t *name = yaml_document_get_node(reader->document, pair->key);
    yaml_node_t *value = yaml_document_get_node(reader->document, pair->value);
    g_autofree char *full = NULL;

    if (!name || name->type != YAML_SCALAR_NODE)
      return fail(reader, node, "a key is not a word");
    if (depth == 0 && value && value->type == YAML_SCALAR_NODE &&
        strcmp((const char *)name->data.scalar.value, "defaults") == 0) {
      if (!read_defaults(reader, (const char *)value->data.scalar.value))
        return FALSE;
      continue;
    }
    full = g_strdup_printf("%s%s%s", key, *key ? "." : "",
                           (const char *)name->data.scalar.value);
    if (!flatten(reader, pair->value, full, depth + 1))
      return FALSE;
  }
  return TRUE;
}

static gboolean
flatten(const Reader *reader, int index, const char *key, guint depth)
{
  const yaml_node_t *node = yaml_document_get_node(reader->document, index);

  if (depth > DEPTH_MAX)
    return fail(reader, node, "nested deeper than 100");
  if (node->type == YAML_MAPPING_NODE)
    return flatten_mapping(reader, node, key, depth);
  if (node->type == YAML_SEQUENCE_NODE) {
    guint n = 0;

    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
      g_autofree char *full = g_strdup_printf("%s.%u", key, n++);

      if (!flatten(reader, *item, full, depth + 1))
        return FALSE;
    }
    return TRUE;
  }
  if (!*key)
    return fail(reader, node, "expected keys and values");
  return ra_settings_add(reader->settings, key,
                         (const char *)node->data.scalar.value,
                         (guint)node->start_mark.line + 1, reader->error);
}

static void
begin_parser(yaml_parser_t *parser, const char *text, gsize n_bytes)
{
  if (!yaml_parser_initialize(parser))
    g_error("no memory for a YAML parser");
  yaml_parser_set_input_string(parser, (const unsigned char *)text, n_bytes);
}

static void
fail_parser(const RaSettings *settings, const yaml_parser_t *parser,
            GError **error)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%lu: no YAML: %s",
              settings->name, (unsigned long)parser->problem_mark.line + 1,
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
check_size(const RaSettings *settings, const char *text, gsize n_bytes,
           GError **error)
{
  yaml_parser_t parser;
  yaml_event_t event;
  guint depth = 0, n_anchors = 0;
  gboolean ok = TRUE, ended = FALSE;

  begin_parser(&parser, text, n_bytes);
  while (ok && !ended) {
    if (!yaml_parser_parse(&parser, &event)) {
      fail_parser(settings, &parser, error);
      ok = FALSE;
      break;
    }
    ended = event.type == YAML_STREAM_END_EVENT;
    n_anchors += has_anchor(&event);
    if (event.type == YAML_MAPPING_START_EVENT ||
        event.type == YAML_SEQUENCE_START_EVENT)
      depth++;
    else if (event.type == YAML_MAPPING_END_EVENT ||
             event.type == YAML_SEQUENCE_END_EVENT)
      depth--;
    if (depth > DEPTH_MAX || n_anchors > ANCHORS_MAX) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%lu: %s %d",
                  settings->name, (unsigned long)event.start_mark.line + 1,
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

gboolean
ra_settings_read_yaml(RaSettings *settings, const char *text, gsize n_bytes,
                      guint depth, GError **error)
{
  yaml_parser_t parser;
  yaml_document_t document;
  Reader reader = {settings, &document, depth, error};
  gboolean ok;

  if (depth > DEFAULTS_MAX) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: more than %d files that name each other as defaults",
                settings->name, DEFAULTS_MAX);
    return FALSE;
  }
  if (!check_size(settings, text, n_bytes, error))
    return FALSE;
  begin_parser(&parser, text, n_bytes);
  ok = yaml_parser_load(&parser, &document) != 0;
  if (!ok) {
    fail_parser(settings, &parser, error);
  } else {
    ok = !yaml_document_get_root_node(&document) || flatten(&reader, 1, "", 0);
    yaml_document_delete(&document);
  }
  yaml_parser_delete(&parser);
  return ok;
}
