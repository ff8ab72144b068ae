/* Typed reading of the keys of a JSON object. */
#include "config.h"

#include <string.h>

#include "base/config_reader.h"
#include "base/error.h"

/* TRUE if @word is one of the spellings "a|b|c". */
static gboolean
is_spelling(const char *keys, const char *word)
{
  gsize len = strlen(word);
  for (const char *p = keys; p; p = strchr(p, '|')) {
    p += *p == '|';
    if (strncmp(p, word, len) == 0 && (p[len] == '|' || p[len] == '\0'))
      return TRUE;
  }
  return FALSE;
}

/* The longest spelling has 23 bytes (num_experts_per_tok's is 19). */
#define KEY_BYTES 64

/* Spelling number @i of "a|b|c" into @key; whether there is one. */
static gboolean
spelling(const char *keys, guint i, char key[KEY_BYTES])
{
  for (; i > 0; i--) {
    keys = strchr(keys, '|');
    if (!keys)
      return FALSE;
    keys++;
  }
  gsize len = strcspn(keys, "|");
  g_assert(len > 0 && len < KEY_BYTES);
  memcpy(key, keys, len);
  key[len] = '\0';
  return TRUE;
}

static const char *
parse_problem(const GError *error)
{
  if (error->domain != JSON_PARSER_ERROR)
    return "expected JSON";
  switch (error->code) {
  case JSON_PARSER_ERROR_TRAILING_COMMA:
    return "comma after the last value";
  case JSON_PARSER_ERROR_MISSING_COMMA:
    return "a comma is missing";
  case JSON_PARSER_ERROR_MISSING_COLON:
    return "a colon is missing after a key";
  default:
    return "not JSON, expected keys, values, commas and colons";
  }
}

/* The parser forgets its place when it fails, but its message begins with
 * "<data>:LINE:COLUMN: ". */
static guint
parse_line(const GError *error)
{
  const char *colon = strchr(error->message, ':');
  guint64 line = colon ? g_ascii_strtoull(colon + 1, NULL, 10) : 0;
  return (guint)CLAMP(line, 1, G_MAXINT);
}

gboolean
ra_config_reader_init(RaConfigReader *reader, const char *name,
                      const char *text, gsize len, GError **error)
{
  *reader = (RaConfigReader){.name = name, .error = error, .failed = TRUE};
  reader->index = ra_json_index_new(name, text, len, error);
  if (!reader->index)
    return FALSE;
  g_autoptr(GError) problem = NULL;
  reader->parser = json_parser_new_immutable();
  /* The index has limited depth and length: this cannot run away. */
  if (!json_parser_load_from_data(reader->parser,
                                  ra_json_index_text(reader->index),
                                  (gssize)len, &problem)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: %s", name,
                parse_line(problem), parse_problem(problem));
    return FALSE;
  }
  JsonNode *root = json_parser_get_root(reader->parser);
  g_return_val_if_fail(root && JSON_NODE_HOLDS_OBJECT(root), FALSE);
  reader->object = json_node_get_object(root);
  reader->number = RA_JSON_ROOT;
  reader->failed = FALSE;
  return TRUE;
}

void
ra_config_reader_clear(RaConfigReader *reader)
{
  g_clear_object(&reader->parser);
  g_clear_pointer(&reader->index, ra_json_index_free);
}

void
ra_config_reader_take_error(RaConfigReader *reader, const char *keys,
                            GError *problem)
{
  char key[KEY_BYTES];
  guint line = 1;
  for (guint i = 0; !reader->failed && line == 1 && spelling(keys, i, key); i++)
    line = ra_json_index_line(reader->index, reader->number, key);
  if (!reader->failed)
    g_set_error(reader->error, problem->domain, problem->code, "%s:%u: %s",
                reader->name, line, problem->message);
  reader->failed = TRUE;
  g_error_free(problem);
}

void
ra_config_reader_fail(RaConfigReader *reader, const char *keys,
                      const char *format, ...)
{
  va_list args;
  va_start(args, format);
  GError *problem = g_error_new_valist(RA_ERROR, RA_ERROR_INPUT, format, args);
  va_end(args);
  ra_config_reader_take_error(reader, keys, problem);
}

/* Foreign text for a message: at most 64 bytes, one line, whole characters. */
static char *
shown_text(const char *text)
{
  g_autofree char *start = g_strndup(text, 64);
  g_autofree char *valid = g_utf8_make_valid(start, -1);
  return g_strescape(valid, NULL);
}

/* The value of the first spelling that is there and not null, and which that
 * is; NULL if none.  Two spellings must not differ. */
static JsonNode *
get(RaConfigReader *reader, const char *keys, char key[KEY_BYTES])
{
  JsonNode *found = NULL;
  char other[KEY_BYTES];
  spelling(keys, 0, key);
  for (guint i = 0; spelling(keys, i, other); i++) {
    JsonNode *node = json_object_get_member(reader->object, other);
    if (!node || JSON_NODE_HOLDS_NULL(node))
      continue;
    if (!found) {
      found = node;
      memcpy(key, other, KEY_BYTES);
    } else if (!json_node_equal(found, node)) {
      ra_config_reader_fail(reader, other,
                            "'%s' and '%s' are one key and differ, expected "
                            "the same value or one of them",
                            key, other);
      return NULL;
    }
  }
  return found;
}

gboolean
ra_config_reader_has(const RaConfigReader *reader, const char *keys)
{
  char key[KEY_BYTES];
  for (guint i = 0; spelling(keys, i, key); i++) {
    JsonNode *node = json_object_get_member(reader->object, key);
    if (node && !JSON_NODE_HOLDS_NULL(node))
      return TRUE;
  }
  return FALSE;
}

static const char *
type_name(JsonNode *node)
{
  if (JSON_NODE_HOLDS_OBJECT(node))
    return "an object";
  if (JSON_NODE_HOLDS_ARRAY(node))
    return "an array";
  GType type = json_node_get_value_type(node);
  if (type == G_TYPE_STRING)
    return "a string";
  if (type == G_TYPE_BOOLEAN)
    return "true or false";
  return type == G_TYPE_DOUBLE ? "not an integer" : "an integer";
}

static gboolean
holds(JsonNode *node, GType type)
{
  return JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == type;
}

static guint32
get_size(RaConfigReader *reader, JsonNode *node, const char *key, guint32 min,
         guint32 max)
{
  if (!holds(node, G_TYPE_INT64)) {
    ra_config_reader_fail(reader, key,
                          "'%s' is %s, expected an integer from %u to %u", key,
                          type_name(node), min, max);
    return 0;
  }
  gint64 value = json_node_get_int(node);
  if (value < min || value > max) {
    ra_config_reader_fail(reader, key,
                          "'%s' is %" G_GINT64_FORMAT
                          ", expected an integer from %u to %u",
                          key, value, min, max);
    return 0;
  }
  return (guint32)value;
}

guint32
ra_config_reader_size(RaConfigReader *reader, const char *keys, guint32 max)
{
  char key[KEY_BYTES];
  JsonNode *node = reader->failed ? NULL : get(reader, keys, key);
  if (node)
    return get_size(reader, node, key, 1, max);
  if (!reader->failed)
    ra_config_reader_fail(reader, key,
                          "'%s' is missing, expected an integer from 1 to %u",
                          key, max);
  return 0;
}

guint32
ra_config_reader_size_or(RaConfigReader *reader, const char *keys, guint32 min,
                         guint32 max, guint32 fallback)
{
  char key[KEY_BYTES];
  JsonNode *node = reader->failed ? NULL : get(reader, keys, key);
  return node ? get_size(reader, node, key, min, max) : fallback;
}

gboolean
ra_config_reader_flag(RaConfigReader *reader, const char *keys,
                      gboolean fallback)
{
  char key[KEY_BYTES];
  JsonNode *node = reader->failed ? NULL : get(reader, keys, key);
  if (!node)
    return fallback;
  if (holds(node, G_TYPE_BOOLEAN))
    return json_node_get_boolean(node);
  if (holds(node, G_TYPE_INT64) && (json_node_get_int(node) >> 1) == 0)
    return json_node_get_int(node) == 1;
  ra_config_reader_fail(reader, key, "'%s' is %s, expected true or false", key,
                        type_name(node));
  return fallback;
}

const char *
ra_config_reader_text(RaConfigReader *reader, const char *keys)
{
  char key[KEY_BYTES];
  JsonNode *node = reader->failed ? NULL : get(reader, keys, key);
  if (!node)
    return NULL;
  if (holds(node, G_TYPE_STRING))
    return json_node_get_string(node);
  ra_config_reader_fail(reader, key, "'%s' is %s, expected a string", key,
                        type_name(node));
  return NULL;
}

guint
ra_config_reader_word(RaConfigReader *reader, const char *keys,
                      const char *const *words, guint fallback)
{
  const char *text = ra_config_reader_text(reader, keys);
  if (!text)
    return fallback;
  for (guint i = 0; words[i]; i++)
    if (strcmp(words[i], text) == 0)
      return i;
  char key[KEY_BYTES];
  get(reader, keys, key);
  g_autofree char *shown = shown_text(text);
  g_autofree char *known = g_strjoinv(", ", (char **)words);
  ra_config_reader_fail(reader, key, "'%s' is '%s', expected one of %s", key,
                        shown, known);
  return fallback;
}

JsonArray *
ra_config_reader_array(RaConfigReader *reader, const char *keys)
{
  char key[KEY_BYTES];
  JsonNode *node = reader->failed ? NULL : get(reader, keys, key);
  if (!node)
    return NULL;
  if (JSON_NODE_HOLDS_ARRAY(node))
    return json_node_get_array(node);
  ra_config_reader_fail(reader, key, "'%s' is %s, expected an array", key,
                        type_name(node));
  return NULL;
}

gboolean
ra_config_reader_enter(RaConfigReader *reader, const char *key,
                       RaConfigReader *saved)
{
  char found[KEY_BYTES];
  JsonNode *node = reader->failed ? NULL : get(reader, key, found);
  if (!node)
    return FALSE;
  if (!JSON_NODE_HOLDS_OBJECT(node)) {
    ra_config_reader_fail(reader, key, "'%s' is %s, expected an object", key,
                          type_name(node));
    return FALSE;
  }
  *saved = *reader;
  reader->number = ra_json_index_child(reader->index, reader->number, key);
  reader->object = json_node_get_object(node);
  return TRUE;
}

void
ra_config_reader_leave(RaConfigReader *reader, const RaConfigReader *saved)
{
  reader->object = saved->object;
  reader->number = saved->number;
}

void
ra_config_reader_refuse_others(RaConfigReader *reader, const char *const *known,
                               const char *expected)
{
  JsonObjectIter iter;
  const char *key;
  json_object_iter_init_ordered(&iter, reader->object);
  while (!reader->failed && json_object_iter_next_ordered(&iter, &key, NULL)) {
    gboolean is_known = FALSE;
    for (guint i = 0; known[i] && !is_known; i++)
      is_known = is_spelling(known[i], key);
    if (is_known)
      continue;
    g_autofree char *shown = shown_text(key);
    g_set_error(reader->error, RA_ERROR, RA_ERROR_INPUT,
                "%s:%u: unknown key '%s', expected %s", reader->name,
                ra_json_index_line(reader->index, reader->number, key), shown,
                expected);
    reader->failed = TRUE;
  }
}
