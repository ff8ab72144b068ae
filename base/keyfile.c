/* The index of a key file: groups, keys, values that flags replace, and
 * messages that name their place.  The scanner is keyfile_scan.c, the typed
 * reader keyfile_read.c. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/keyfile_impl.h"

RaKeyFile *
ra_key_file_new_empty(const char *name)
{
  RaKeyFile *file = g_new0(RaKeyFile, 1);

  g_atomic_ref_count_init(&file->n_refs);
  file->texts = g_string_chunk_new(4096);
  file->name = g_string_chunk_insert(file->texts, name);
  file->lists = g_ptr_array_new_with_free_func(g_free);
  file->groups = g_array_new(FALSE, TRUE, sizeof(RaKeyGroup));
  file->by_name = g_hash_table_new(g_str_hash, g_str_equal);
  return file;
}

RaKeyFile *
ra_key_file_ref(RaKeyFile *file)
{
  g_return_val_if_fail(file != NULL, NULL);

  g_atomic_ref_count_inc(&file->n_refs);
  return file;
}

void
ra_key_file_unref(RaKeyFile *file)
{
  if (file == NULL || !g_atomic_ref_count_dec(&file->n_refs))
    return;
  for (guint i = 0; i < file->groups->len; i++) {
    RaKeyGroup *group = ra_key_file_group(file, i);

    g_clear_pointer(&group->entries, g_array_unref);
    g_clear_pointer(&group->by_entry, g_hash_table_unref);
  }
  g_hash_table_unref(file->by_name);
  g_array_unref(file->groups);
  g_ptr_array_unref(file->lists);
  g_string_chunk_free(file->texts);
  g_free(file->text);
  g_free(file);
}

RaKeyGroup *
ra_key_file_group(const RaKeyFile *file, guint group)
{
  return &g_array_index(file->groups, RaKeyGroup, group);
}

RaKeyEntry *
ra_key_file_entry(const RaKeyFile *file, guint group, const char *key)
{
  const RaKeyGroup *in = ra_key_file_group(file, group);
  guint index = in->by_entry
                    ? GPOINTER_TO_UINT(g_hash_table_lookup(in->by_entry, key))
                    : 0;

  return index > 0 ? &g_array_index(in->entries, RaKeyEntry, index - 1) : NULL;
}

guint
ra_key_file_add_group(RaKeyFile *file, const char *noun, const char *name,
                      guint line)
{
  g_autofree char *id = g_strdup_printf("%s %s", noun, name);
  RaKeyGroup group = {
      .noun = noun,
      .name = name,
      .line = line,
  };

  g_array_append_val(file->groups, group);
  g_hash_table_insert(file->by_name, g_string_chunk_insert(file->texts, id),
                      GUINT_TO_POINTER(file->groups->len));
  return file->groups->len - 1;
}

void
ra_key_file_add_entry(RaKeyFile *file, guint group, const char *key,
                      const char *value, guint line)
{
  RaKeyGroup *target = ra_key_file_group(file, group);
  RaKeyEntry entry = {
      .key = key,
      .value = value,
      .line = line,
  };

  if (target->entries == NULL) {
    target->entries = g_array_new(FALSE, FALSE, sizeof(RaKeyEntry));
    target->by_entry = g_hash_table_new(g_str_hash, g_str_equal);
  }
  g_array_append_val(target->entries, entry);
  g_hash_table_insert(target->by_entry, (gpointer)entry.key,
                      GUINT_TO_POINTER(target->entries->len));
}

const char *
ra_key_file_name(const RaKeyFile *file)
{
  g_return_val_if_fail(file != NULL, NULL);

  return file->name;
}

guint
ra_key_file_n_groups(const RaKeyFile *file)
{
  g_return_val_if_fail(file != NULL, 0);

  return file->groups->len;
}

const char *
ra_key_file_group_noun(const RaKeyFile *file, guint group)
{
  g_return_val_if_fail(file != NULL && group < file->groups->len, NULL);

  return ra_key_file_group(file, group)->noun;
}

const char *
ra_key_file_group_name(const RaKeyFile *file, guint group)
{
  g_return_val_if_fail(file != NULL && group < file->groups->len, NULL);

  return ra_key_file_group(file, group)->name;
}

int
ra_key_file_find_group(const RaKeyFile *file, const char *noun,
                       const char *name)
{
  g_return_val_if_fail(file != NULL && noun != NULL && name != NULL, -1);

  g_autofree char *id = g_strdup_printf("%s %s", noun, name);

  return GPOINTER_TO_INT(g_hash_table_lookup(file->by_name, id)) - 1;
}

const char *
ra_key_file_get(const RaKeyFile *file, guint group, const char *key)
{
  g_return_val_if_fail(file != NULL && group < file->groups->len, NULL);
  g_return_val_if_fail(key != NULL, NULL);

  const RaKeyEntry *entry = ra_key_file_entry(file, group, key);

  return entry ? entry->value : NULL;
}

const char *
ra_key_file_key(const RaKeyFile *file, guint group, guint index)
{
  g_return_val_if_fail(file != NULL && group < file->groups->len, NULL);

  const GArray *entries = ra_key_file_group(file, group)->entries;

  if (entries == NULL || index >= entries->len)
    return NULL;
  return g_array_index(entries, RaKeyEntry, index).key;
}

const char *
ra_key_file_value(const RaKeyFile *file, guint group, guint index)
{
  g_return_val_if_fail(file != NULL && group < file->groups->len, NULL);

  const GArray *entries = ra_key_file_group(file, group)->entries;

  if (entries == NULL || index >= entries->len)
    return NULL;
  return g_array_index(entries, RaKeyEntry, index).value;
}

void
ra_key_file_set(RaKeyFile *file, const char *noun, const char *name,
                const char *key, const char *value)
{
  g_return_if_fail(file != NULL && noun != NULL && name != NULL);
  g_return_if_fail(key != NULL && value != NULL);

  g_autofree char *copy = g_strdup(value);
  char *stripped = g_string_chunk_insert(file->texts, g_strstrip(copy));
  int group = ra_key_file_find_group(file, noun, name);
  RaKeyEntry *entry;

  if (group < 0)
    group = (int)ra_key_file_add_group(
        file, g_string_chunk_insert(file->texts, noun),
        g_string_chunk_insert(file->texts, name), 0);
  entry = ra_key_file_entry(file, (guint)group, key);
  if (entry) {
    entry->value = stripped;
    entry->line = 0;
  } else {
    ra_key_file_add_entry(file, (guint)group,
                          g_string_chunk_insert(file->texts, key), stripped, 0);
  }
}

char *
ra_key_file_header(const RaKeyFile *file, guint group)
{
  const RaKeyGroup *g = ra_key_file_group(file, group);

  return g_strdup_printf("[%s%s%s]", g->noun, *g->name ? " " : "", g->name);
}

/* Takes @message. */
static gboolean
fail_with(GError **error, char *message)
{
  for (char *p = message; *p; p++) {
    if (g_ascii_iscntrl(*p))
      *p = '?';
  }
  g_set_error_literal(error, RA_ERROR, RA_ERROR_INPUT, message);
  g_free(message);
  return FALSE;
}

gboolean
ra_key_file_fail_line(const RaKeyFile *file, guint line, GError **error,
                      const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start(args, format);
  message = g_strdup_vprintf(format, args);
  va_end(args);
  return fail_with(error,
                   g_strdup_printf("%s:%u: %s", file->name, line, message));
}

gboolean
ra_key_file_fail(const RaKeyFile *file, guint group, const char *key,
                 GError **error, const char *format, ...)
{
  g_return_val_if_fail(file != NULL && group < file->groups->len, FALSE);
  g_return_val_if_fail(format != NULL, FALSE);

  const RaKeyGroup *g = ra_key_file_group(file, group);
  const RaKeyEntry *entry = key ? ra_key_file_entry(file, group, key) : NULL;
  guint line = entry ? entry->line : g->line;
  g_autofree char *message = NULL;
  va_list args;

  va_start(args, format);
  message = g_strdup_vprintf(format, args);
  va_end(args);
  if (line > 0)
    return ra_key_file_fail_line(file, line, error, "%s", message);
  /* A group that a flag made has at least the entry that made it. */
  if (entry == NULL)
    entry = &g_array_index(g->entries, RaKeyEntry, 0);
  return fail_with(error, g_strdup_printf("--set '%s%s%s.%s=%s': %s", g->noun,
                                          *g->name ? " " : "", g->name,
                                          entry->key, entry->value, message));
}

uint64_t
ra_key_file_hash(const RaKeyFile *file)
{
  uint64_t hash = RA_HASH_INIT;
  const char *key;

  for (guint g = 0; g < ra_key_file_n_groups(file); g++) {
    hash = ra_hash_text(hash, ra_key_file_group_noun(file, g));
    hash = ra_hash_text(hash, ra_key_file_group_name(file, g));
    for (guint i = 0; (key = ra_key_file_key(file, g, i)); i++) {
      hash = ra_hash_text(hash, key);
      hash = ra_hash_text(hash, ra_key_file_value(file, g, i));
    }
  }
  return hash;
}
