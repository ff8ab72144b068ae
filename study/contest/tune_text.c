/* The text of a configuration with a tuning's changes. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/contest/tune.h"

static gboolean
is_yaml(const char *path)
{
  return g_str_has_suffix(path, ".yaml") || g_str_has_suffix(path, ".yml");
}

static gboolean
is_key_char(char c)
{
  return g_ascii_isalnum(c) || c == '_' || c == '.';
}

/* End of the value that begins at @value on the command line. */
static const char *
value_end(const char *value)
{
  const char *end = value;

  if (*end == '"' || *end == '\'') {
    const char *quote = strchr(end + 1, *end);

    return quote ? quote + 1 : end + strlen(end);
  }
  while (*end && !g_ascii_isspace(*end) && *end != '\\' && *end != '"' &&
         *end != '\'')
    end++;
  return end;
}

/* `key=value`, or `--key value`, in a script: the place of the value; %NULL: it
 * is not there. */
static const char *
find_in_script(const char *text, const char *key)
{
  gsize n = strlen(key);

  for (const char *at = strstr(text, key); at; at = strstr(at + 1, key)) {
    gboolean is_flag = at - text >= 2 && at[-1] == '-' && at[-2] == '-';

    if ((at > text && is_key_char(at[-1])) || is_key_char(at[n]))
      continue;
    if (at[n] == '=')
      return at + n + 1;
    if (is_flag && at[n] == ' ' && at[n + 1] != '-' && at[n + 1] != '\\')
      return at + n + 1;
  }
  return NULL;
}

/* The line behind the first argument of the command, as `    a.b=c \`, where
 * further ones may stand; %NULL: there is none. */
static const char *
find_place(const char *text, gsize *out_indent)
{
  const char *line = text;

  while (*line) {
    const char *end = strchr(line, '\n'), *at = line;

    if (!end)
      return NULL;
    while (*at == ' ' || *at == '\t')
      at++;
    if (at > line && at < end && end[-1] == '\\' &&
        (is_key_char(*at) || *at == '+' || *at == '-')) {
      *out_indent = (gsize)(at - line);
      return end + 1;
    }
    line = end + 1;
  }
  return NULL;
}

/* @text with @length bytes at @at replaced; (transfer full). */
static char *
replaced(const char *text, const char *at, gsize length, const char *with)
{
  GString *out = g_string_new_len(text, at - text);

  g_string_append(out, with);
  g_string_append(out, at + length);
  return g_string_free(out, FALSE);
}

static char *
change_script(const char *text, const RaTuneChange *change, gboolean hydra)
{
  const char *value = find_in_script(text, change->key), *place;
  g_autofree char *line = NULL, *indent = NULL;
  gsize n_indent = 0;

  if (value)
    return replaced(text, value, (gsize)(value_end(value) - value),
                    change->after);
  place = find_place(text, &n_indent);
  if (!place)
    return NULL;
  indent = g_strnfill(n_indent, ' ');
  line = hydra ? g_strdup_printf("%s%s%s=%s \\\n", indent,
                                 change->is_added ? "++" : "", change->key,
                                 change->after)
               : g_strdup_printf("%s--%s %s \\\n", indent, change->key,
                                 change->after);
  return replaced(text, place, 0, line);
}

/* The scalar at the path of @key in YAML's blocks; %NULL: it is not there. */
static const char *
find_in_yaml(const char *text, const char *key)
{
  g_auto(GStrv) parts = g_strsplit(key, ".", -1);
  guint depth = 0;
  gsize indents[32] = {0};
  const char *line = text;

  while (*line) {
    gsize indent = strspn(line, " "), n = strlen(parts[depth]);
    const char *at = line + indent, *end = line + strcspn(line, "\n");

    if (*at != '#' && at < end) {
      while (depth > 0 && indent <= indents[depth - 1])
        depth--;
      n = strlen(parts[depth]);
      if (strncmp(at, parts[depth], n) == 0 && at[n] == ':' &&
          (depth > 0 || indent == 0)) {
        if (!parts[depth + 1])
          return at + n + 1;
        indents[depth++] = indent;
        if (depth == G_N_ELEMENTS(indents))
          return NULL;
      }
    }
    line = *end ? end + 1 : end;
  }
  return NULL;
}

/* The line behind the one at which a mapping's key stands, and the indent of
 * its entries; %NULL: no entries follow in blocks. */
static const char *
behind_mapping(const char *at, gsize *out_indent)
{
  const char *end = at + strcspn(at, "\n");

  while (at < end && *at == ' ')
    at++;
  if (*end == '\0' || (at < end && *at != '#'))
    return NULL;
  for (const char *line = end + 1; *line;) {
    gsize indent = strspn(line, " ");

    if (line[indent] != '#' && line[indent] != '\n' && line[indent] != '-') {
      *out_indent = indent;
      return indent > 0 ? end + 1 : NULL;
    }
    line += strcspn(line, "\n");
    line += *line != '\0';
  }
  return NULL;
}

/* @text with a line for @change in the innermost mapping of its path that is
 * there, with what lacks of the path; (transfer full) (nullable). */
static char *
insert_yaml(const char *text, const RaTuneChange *change)
{
  g_auto(GStrv) parts = g_strsplit(change->key, ".", -1);
  guint n = g_strv_length(parts);

  for (guint depth = n - 1; depth > 0; depth--) {
    g_autoptr(GString) path = g_string_new(parts[0]);
    g_autoptr(GString) lines = g_string_new(NULL);
    const char *at, *place;
    gsize indent = 0;

    for (guint i = 1; i < depth; i++)
      g_string_append_printf(path, ".%s", parts[i]);
    at = find_in_yaml(text, path->str);
    place = at ? behind_mapping(at, &indent) : NULL;
    if (!place)
      continue;
    for (guint i = depth; i < n; i++)
      g_string_append_printf(
          lines, "%*s%s:%s%s\n", (int)(indent + 2 * (i - depth)), "", parts[i],
          i + 1 < n ? "" : " ", i + 1 < n ? "" : change->after);
    return replaced(text, place, 0, lines->str);
  }
  return NULL;
}

static char *
change_yaml(const char *text, const RaTuneChange *change)
{
  const char *value = find_in_yaml(text, change->key);
  gsize n;

  if (!value)
    return insert_yaml(text, change);
  while (*value == ' ')
    value++;
  n = strcspn(value, "\n#");
  while (n > 0 && value[n - 1] == ' ')
    n--;
  return n > 0 ? replaced(text, value, n, change->after) : NULL;
}

/* TRUE if all keys have their new values in @text. */
static gboolean
is_changed(const RaTune *tune, const char *config, const char *text)
{
  g_autoptr(RaSettings) settings =
      ra_settings_parse(config, text, strlen(text), is_yaml(config), NULL);

  for (guint i = 0; settings && i < tune->changes->len; i++) {
    const RaTuneChange *c = &g_array_index(tune->changes, RaTuneChange, i);

    if (g_strcmp0(ra_settings_get(settings, c->key), c->after) != 0)
      return FALSE;
  }
  return settings != NULL;
}

static void
fail(const RaTune *tune, const char *config, GError **error)
{
  g_autoptr(GString) sets = g_string_new(NULL);

  for (guint i = 0; i < tune->changes->len; i++) {
    const RaTuneChange *c = &g_array_index(tune->changes, RaTuneChange, i);

    g_string_append_printf(sets, " %s=%s", c->key, c->after);
  }
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
              "%s: its values cannot be replaced in place, expected them as "
              "overrides:%s",
              config, sets->str);
}

char *
ra_tune_text(const RaTune *tune, const char *config, GError **error)
{
  gboolean hydra = tune->framework != RA_FRAMEWORK_OPENRLHF &&
                   tune->framework != RA_FRAMEWORK_TRL &&
                   tune->framework != RA_FRAMEWORK_SLIME;
  char *text = NULL;

  if (!g_file_get_contents(config, &text, NULL, error))
    return NULL;
  for (guint i = 0; text && i < tune->changes->len; i++) {
    const RaTuneChange *c = &g_array_index(tune->changes, RaTuneChange, i);
    char *next =
        is_yaml(config) ? change_yaml(text, c) : change_script(text, c, hydra);

    g_free(text);
    text = next;
  }
  if (text && is_changed(tune, config, text))
    return text;
  g_free(text);
  fail(tune, config, error);
  return NULL;
}
