/* Settings: what is kept of them, and how their values are asked for. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/convert/setting_impl.h"

static void
free_setting(void *item)
{
  RaSetting *setting = item;

  g_free(setting->key);
  g_free(setting->value);
  g_free(setting->place);
  g_free(setting->note);
  g_free(setting);
}

RaSettings *
ra_settings_new(const char *name)
{
  RaSettings *settings = g_new0(RaSettings, 1);

  settings->name = g_strdup(name);
  settings->list = g_ptr_array_new_with_free_func(free_setting);
  settings->last = g_hash_table_new(g_str_hash, g_str_equal);
  settings->texts = g_ptr_array_new_with_free_func(g_free);
  settings->notes = g_ptr_array_new_with_free_func(g_free);
  return settings;
}

void
ra_settings_free(RaSettings *settings)
{
  if (!settings)
    return;
  g_free(settings->name);
  g_hash_table_unref(settings->last);
  g_ptr_array_unref(settings->list);
  g_ptr_array_unref(settings->texts);
  g_ptr_array_unref(settings->notes);
  if (settings->lists)
    g_hash_table_unref(settings->lists);
  g_free(settings->entry);
  g_free(settings);
}

gboolean
ra_settings_add_at(RaSettings *settings, const char *key, const char *value,
                   const char *file, guint line, gboolean is_own,
                   GError **error)
{
  RaSetting *setting, *before;

  if (settings->list->len == RA_SETTINGS_MAX) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: more than %d settings",
                file, line, RA_SETTINGS_MAX);
    return FALSE;
  }
  setting = g_new0(RaSetting, 1);
  setting->key = g_strdup(key);
  setting->value = g_strdup(value);
  setting->place = g_strdup_printf("%s:%u", file, line);
  setting->state = is_own ? RA_SETTING_UNREAD : RA_SETTING_IGNORED;
  setting->is_standard = !is_own;
  before = g_hash_table_lookup(settings->last, key);
  if (before)
    before->state = RA_SETTING_REPLACED;
  g_hash_table_replace(settings->last, setting->key, setting);
  g_ptr_array_add(settings->list, setting);
  return TRUE;
}

/* @sets (nullable): overrides, which come last. */
static RaSettings *
parse(const char *name, const char *text, gsize n_bytes, gboolean yaml,
      const char *const *sets, GError **error)
{
  g_autoptr(RaSettings) settings = ra_settings_new(name);
  gboolean ok;

  if (yaml)
    ok = ra_settings_read_yaml(settings, text, n_bytes, error) &&
         ra_settings_override(settings, sets, error);
  else
    ok = ra_settings_read_script(settings, text, n_bytes, sets, error);
  return ok ? g_steal_pointer(&settings) : NULL;
}

void
ra_settings_drop(RaSettings *settings, const char *key)
{
  RaSetting *setting = g_hash_table_lookup(settings->last, key);

  if (!setting)
    return;
  g_hash_table_remove(settings->last, key);
  setting->state = RA_SETTING_REPLACED;
}

RaSettings *
ra_settings_parse(const char *name, const char *text, gsize n_bytes,
                  gboolean yaml, GError **error)
{
  g_return_val_if_fail(name != NULL && text != NULL, NULL);
  return parse(name, text, n_bytes, yaml, NULL, error);
}

RaSettings *
ra_settings_load_with(const char *path, const char *const *sets, GError **error)
{
  g_autofree char *text = NULL;
  gsize n_bytes;

  g_return_val_if_fail(path != NULL, NULL);
  if (!ra_file_read(path, RA_SETTINGS_BYTES_MAX, &text, &n_bytes, error))
    return NULL;
  return parse(path, text, n_bytes,
               g_str_has_suffix(path, ".yaml") ||
                   g_str_has_suffix(path, ".yml") ||
                   g_str_has_suffix(path, ".json"),
               sets, error);
}

const char *
ra_settings_name(const RaSettings *settings)
{
  return settings->name;
}

void
ra_settings_note(RaSettings *settings, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  g_ptr_array_add(settings->notes, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

const GPtrArray *
ra_settings_notes(const RaSettings *settings)
{
  return settings->notes;
}

guint
ra_settings_n(const RaSettings *settings)
{
  return settings->list->len;
}

const RaSetting *
ra_settings_at(const RaSettings *settings, guint index)
{
  g_return_val_if_fail(index < settings->list->len, NULL);
  return settings->list->pdata[index];
}

const char *
ra_settings_entry(const RaSettings *settings)
{
  return settings->entry ? settings->entry : "";
}

gboolean
ra_settings_has(const RaSettings *settings, const char *prefix)
{
  for (guint i = 0; i < settings->list->len; i++) {
    if (g_str_has_prefix(ra_settings_at(settings, i)->key, prefix))
      return TRUE;
  }
  return FALSE;
}

/* ---- Values ---------------------------------------------------------- */

const char *
ra_settings_get(RaSettings *settings, const char *key)
{
  RaSetting *setting = g_hash_table_lookup(settings->last, key);
  char *value;

  if (!setting)
    return NULL;
  if (setting->state == RA_SETTING_UNREAD)
    setting->state = RA_SETTING_READ;
  value = ra_settings_resolve(settings, key, setting->value);
  g_ptr_array_add(settings->texts, value);
  return *value == '\0' || g_str_equal(value, "null") ||
                 g_str_equal(value, "~") || g_str_equal(value, "None") ||
                 g_str_equal(value, "???")
             ? NULL
             : value;
}

/* TRUE for false, null, 0, and what is empty. */
static gboolean
is_off(const char *value)
{
  static const char *const off[] = {"",  "false", "no", "off", "null", "~",
                                    "0", "none",  "[]", "{}",  "0.0"};

  for (guint i = 0; i < G_N_ELEMENTS(off); i++) {
    if (g_ascii_strcasecmp(value, off[i]) == 0)
      return TRUE;
  }
  return FALSE;
}

gboolean
ra_settings_is(RaSettings *settings, guint index, const char *standard)
{
  const RaSetting *setting = ra_settings_at(settings, index);
  g_autofree char *value =
      ra_settings_resolve(settings, setting->key, setting->value);
  g_auto(GStrv) items = g_strsplit(standard, "|", -1);
  double number, other;

  for (guint i = 0; items[i]; i++) {
    if (g_ascii_strcasecmp(items[i], value) == 0 ||
        (g_str_equal(items[i], "off") && is_off(value)) ||
        (ra_text_double(items[i], &number) && ra_text_double(value, &other) &&
         number == other))
      return TRUE;
  }
  return FALSE;
}

void
ra_settings_settle(RaSettings *settings, guint index, const char *effect,
                   const char *note)
{
  RaSetting *setting = settings->list->pdata[index];

  setting->state = effect ? RA_SETTING_LOST : RA_SETTING_IGNORED;
  setting->effect = effect;
  g_free(setting->note);
  setting->note = g_strdup(note);
}

gboolean
ra_settings_match(const char *pattern, const char *key)
{
  const char *star = NULL, *from = NULL; /* the last `*`, and what it is at */
  gsize n = strlen(pattern), n_key = strlen(key);

  if (n > 0 && n_key > 0 && pattern[n - 1] != '*' &&
      pattern[n - 1] != key[n_key - 1])
    return FALSE; /* most, as keys end in words */
  while (*key) {
    if (*pattern == '*') {
      star = pattern++;
      from = key;
    } else if (*pattern == *key) {
      pattern++;
      key++;
    } else if (star) {
      pattern = star + 1;
      key = ++from;
    } else {
      return FALSE;
    }
  }
  while (*pattern == '*')
    pattern++;
  return *pattern == '\0';
}

void
ra_settings_ignore(RaSettings *settings, const char *pattern)
{
  for (guint i = 0; i < settings->list->len; i++) {
    RaSetting *setting = settings->list->pdata[i];

    if (setting->state == RA_SETTING_UNREAD &&
        ra_settings_match(pattern, setting->key))
      setting->state = RA_SETTING_IGNORED;
  }
}

void
ra_settings_about(RaSettings *settings, const char *key, const char *format,
                  ...)
{
  RaSetting *setting = g_hash_table_lookup(settings->last, key);
  va_list arguments;

  if (setting && setting->is_standard)
    setting->state = RA_SETTING_READ;
  if (!setting || setting->is_standard)
    return;
  setting->state = RA_SETTING_ABOUT;
  g_free(setting->note);
  va_start(arguments, format);
  setting->note = g_strdup_vprintf(format, arguments);
  va_end(arguments);
}

gboolean
ra_settings_fail(const RaSettings *settings, const char *key, GError **error,
                 const char *expected)
{
  const RaSetting *setting = g_hash_table_lookup(settings->last, key);
  g_autofree char *first = g_strconcat(key, ".0", NULL);

  if (!setting) { /* a list */
    setting = g_hash_table_lookup(settings->last, first);
    key = setting ? first : key;
  }
  if (setting && setting->is_unknown)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: '%s' is '%s', which is known only when the script runs; "
                "expected %s (--set %s=VALUE says it)",
                setting->place, key, setting->value, expected, key);
  else if (setting)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: '%s' is '%s', expected %s", setting->place, key,
                setting->value, expected);
  else
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: '%s' is not set, expected %s", settings->name, key,
                expected);
  return FALSE;
}

gboolean
ra_settings_uint32(RaSettings *settings, const char *key, uint32_t fallback,
                   uint32_t min, uint32_t max, uint32_t *out_value,
                   GError **error)
{
  const char *text = ra_settings_get(settings, key);
  g_autofree char *expected = NULL;
  uint64_t value = fallback;

  if (!text || (ra_text_uint64(text, &value) && value >= min && value <= max)) {
    *out_value = (uint32_t)value;
    return TRUE;
  }
  expected = g_strdup_printf("a whole number from %u to %u", min, max);
  return ra_settings_fail(settings, key, error, expected);
}

gboolean
ra_settings_double(RaSettings *settings, const char *key, double fallback,
                   double min, double max, double *out_value, GError **error)
{
  const char *text = ra_settings_get(settings, key);
  g_autofree char *expected = NULL;
  double value = fallback;

  if (!text || (ra_text_double(text, &value) && value >= min && value <= max)) {
    *out_value = value;
    return TRUE;
  }
  expected = g_strdup_printf("a number from %g to %g", min, max);
  return ra_settings_fail(settings, key, error, expected);
}

gboolean
ra_settings_bool(RaSettings *settings, const char *key, gboolean fallback,
                 gboolean *out_value, GError **error)
{
  static const char *const on[] = {"true", "yes", "1", "on"};
  static const char *const off[] = {"false", "no", "0", "off"};
  const char *text = ra_settings_get(settings, key);

  *out_value = fallback;
  if (!text)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(on); i++) {
    if (g_ascii_strcasecmp(text, on[i]) == 0)
      *out_value = TRUE;
    else if (g_ascii_strcasecmp(text, off[i]) == 0)
      *out_value = FALSE;
    else
      continue;
    return TRUE;
  }
  return ra_settings_fail(settings, key, error, "true or false");
}
