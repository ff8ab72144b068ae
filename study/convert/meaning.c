/* Meanings: a table's rows are read, and what is left is settled. */
#include "config.h"

#include "study/convert/meaning.h"
#include "study/convert/recipe_impl.h"
#include "study/convert/setting_impl.h"

static gboolean
read_row(const RaMeaning *row, RaRecipe *recipe, RaSettings *s, GError **error)
{
  const char *text = ra_settings_get(s, row->key);
  gpointer out = G_STRUCT_MEMBER_P(recipe, row->offset);

  if (!text && !row->standard)
    return TRUE;
  switch (row->kind) {
  case RA_MEANING_COUNT:
  case RA_MEANING_NATURAL:
    return ra_settings_uint32(
        s, row->key,
        row->standard ? (uint32_t)g_ascii_strtoull(row->standard, NULL, 10) : 0,
        row->kind == RA_MEANING_COUNT, RA_RECIPE_COUNT_MAX, out, error);
  case RA_MEANING_SWITCH:
    return ra_settings_bool(s, row->key,
                            row->standard && g_str_equal(row->standard, "true"),
                            out, error);
  case RA_MEANING_FRACTION:
    return ra_settings_double(
        s, row->key, row->standard ? g_ascii_strtod(row->standard, NULL) : 0, 0,
        1, out, error);
  case RA_MEANING_TEXT:
    g_free(*(char **)out);
    *(char **)out = g_strdup(text ? text : row->standard);
    return TRUE;
  default:
    return TRUE;
  }
}

gboolean
ra_meaning_read(const RaMeaning *table, guint n_rows, RaRecipe *recipe,
                RaSettings *settings, GError **error)
{
  for (guint i = 0; i < n_rows; i++) {
    if (table[i].kind >= RA_MEANING_COUNT && table[i].kind <= RA_MEANING_TEXT &&
        !read_row(&table[i], recipe, settings, error))
      return FALSE;
  }
  return TRUE;
}

static const RaMeaning *
find(const RaMeaning *table, guint n_rows, const char *key)
{
  for (guint i = 0; i < n_rows; i++) {
    if (ra_settings_match(table[i].key, key))
      return &table[i];
  }
  return NULL;
}

void
ra_meaning_settle(const RaMeaning *table, guint n_rows, RaSettings *settings)
{
  static const char *const effects[] = {[RA_MEANING_TIME] = "time",
                                        [RA_MEANING_MEMORY] = "memory",
                                        [RA_MEANING_LEARNING] = "learning"};
  for (guint i = 0; i < ra_settings_n(settings); i++) {
    const RaSetting *setting = ra_settings_at(settings, i);
    const RaMeaning *row = setting->state == RA_SETTING_UNREAD
                               ? find(table, n_rows, setting->key)
                               : NULL;

    if (!row)
      continue;
    if (row->kind < RA_MEANING_TIME ||
        (row->standard && ra_settings_is(settings, i, row->standard)))
      ra_settings_settle(settings, i, NULL, NULL);
    else
      ra_settings_settle(settings, i, effects[row->kind],
                         row->says ? row->says : "nothing");
  }
}
