/* Values of overrides in hydra's syntax, and overrides of the command line. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/convert/setting_impl.h"
#include "study/shell/launch.h"

#define DEPTH_MAX 20 /* lists in lists */

typedef struct {
  RaSettings *settings;
  const RaSettingSource *source;
  GPtrArray *keys; /* of the list that is added */
  GError **error;
} Adder;

gboolean
ra_settings_add_from(RaSettings *settings, const char *key, const char *value,
                     const RaSettingSource *source, GError **error)
{
  RaSetting *setting;

  if (!ra_settings_add_at(settings, key, value, source->file, source->line,
                          TRUE, error))
    return FALSE;
  setting = settings->list->pdata[settings->list->len - 1];
  setting->is_unknown = source->is_unknown;
  return TRUE;
}

/* A later value replaces a list with all its items. */
static void
drop_list(RaSettings *settings, const char *key)
{
  GPtrArray *keys =
      settings->lists ? g_hash_table_lookup(settings->lists, key) : NULL;

  for (guint i = 0; keys && i < keys->len; i++)
    ra_settings_drop(settings, keys->pdata[i]);
  if (keys)
    g_hash_table_remove(settings->lists, key);
}

/* Behind the item at @text: at a comma, at what closes the list, or at the
 * end; NULL: a bracket or a quote is open. */
static const char *
item_end(const char *text)
{
  guint depth = 0;

  for (; *text; text++) {
    if (*text == '\'' || *text == '"') {
      const char *close = strchr(text + 1, *text);

      if (!close)
        return NULL;
      text = close;
    } else if (strchr("[{(", *text)) {
      depth++;
    } else if (strchr("]})", *text)) {
      if (depth-- == 0)
        return text;
    } else if (*text == ',' && depth == 0) {
      return text;
    }
  }
  return depth == 0 ? text : NULL;
}

/* TRUE if the bracket that @text begins with is closed by its last byte. */
static gboolean
is_enclosed(const char *text, char close)
{
  gsize n = strlen(text);
  const char *at = text + 1;

  if (n < 2 || text[n - 1] != close)
    return FALSE;
  while ((at = item_end(at)) && *at == ',')
    at++;
  return at && at == text + n - 1;
}

/* (transfer full): without blanks and the quotes around it. */
static char *
unquote(const char *text, gsize n)
{
  char *out = g_strstrip(g_strndup(text, n));

  n = strlen(out);
  if (n >= 2 && (*out == '\'' || *out == '"') && out[n - 1] == *out &&
      strchr(out + 1, *out) == out + n - 1) {
    out[n - 1] = '\0';
    memmove(out, out + 1, n - 1);
  }
  return out;
}

static gboolean add_value(const Adder *adder, const char *key,
                          const char *value, guint depth);

/* One `key: value`. */
static gboolean
add_pair(const Adder *adder, const char *key, const char *text, guint depth)
{
  const char *colon = text;
  g_autofree char *name = NULL, *full = NULL;

  if (*text == '"' || *text == '\'')
    colon = strchr(text + 1, *text);
  colon = colon ? strchr(colon, ':') : NULL;
  if (!colon)
    return TRUE;
  name = unquote(text, (gsize)(colon - text));
  full = g_strdup_printf("%s.%s", key, name);
  return add_value(adder, full, colon + 1, depth + 1);
}

/* The items between the brackets of @text. */
static gboolean
add_items(const Adder *adder, const char *key, const char *text, guint depth)
{
  gboolean is_list = *text == '[', ok = TRUE;
  const char *at = text + 1, *end;
  guint n = 0;

  for (; ok && (end = item_end(at)); at = end + 1) {
    g_autofree char *item = g_strstrip(g_strndup(at, (gsize)(end - at)));
    g_autofree char *full = g_strdup_printf("%s.%u", key, n++);

    if (*item)
      ok = is_list ? add_value(adder, full, item, depth + 1)
                   : add_pair(adder, key, item, depth);
    if (*end != ',')
      break;
  }
  return ok;
}

static gboolean
add_value(const Adder *adder, const char *key, const char *value, guint depth)
{
  g_autofree char *text = g_strstrip(g_strdup(value)), *plain = NULL;

  if (depth < DEPTH_MAX && ((*text == '[' && is_enclosed(text, ']')) ||
                            (*text == '{' && is_enclosed(text, '}'))))
    return add_items(adder, key, text, depth);
  plain = unquote(text, strlen(text));
  if (depth > 0)
    g_ptr_array_add(adder->keys, g_strdup(key));
  return ra_settings_add_from(adder->settings, key, plain, adder->source,
                              adder->error);
}

gboolean
ra_settings_add_override(RaSettings *settings, const char *key,
                         const char *value, const RaSettingSource *source,
                         GError **error)
{
  Adder adder = {settings, source, g_ptr_array_new_with_free_func(g_free),
                 error};
  gboolean ok;

  drop_list(settings, key);
  if (strchr("[{", *value) && *value)
    ra_settings_drop(settings, key);
  ok = add_value(&adder, key, value, 0);
  if (!settings->lists)
    settings->lists = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                            (GDestroyNotify)g_ptr_array_unref);
  if (adder.keys->len > 0)
    g_hash_table_replace(settings->lists, g_strdup(key), adder.keys);
  else
    g_ptr_array_unref(adder.keys);
  return ok;
}

gboolean
ra_settings_add_set(RaSettings *settings, const char *set, GError **error)
{
  static const RaSettingSource source = {"--set", 1, FALSE};
  g_autofree char *key = NULL;
  const char *value;

  if (ra_launch_override(set, &key, &value))
    return ra_settings_add_override(settings, key, value ? value : "null",
                                    &source, error);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--set: found '%s', expected KEY=VALUE", set);
  return FALSE;
}

gboolean
ra_settings_override(RaSettings *settings, const char *const *sets,
                     GError **error)
{
  for (guint i = 0; sets && sets[i]; i++) {
    if (!ra_settings_add_set(settings, sets[i], error))
      return FALSE;
  }
  return TRUE;
}
