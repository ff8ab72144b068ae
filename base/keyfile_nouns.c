/* Which groups a kind of file may have, and its format version. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/keyfile_impl.h"
#include "base/text.h"

/* One entry of the list of nouns, "call *" or "cluster!", taken apart. */
typedef struct {
  char *noun;        /* owned */
  gboolean is_named; /* '*': takes a name */
  gboolean is_one;   /* '!': exactly one must stand */
} Noun;

static void
clear_noun(void *item)
{
  g_free(((Noun *)item)->noun);
}

static GArray *
split_nouns(const char *const *nouns)
{
  GArray *list = g_array_new(FALSE, FALSE, sizeof(Noun));

  g_array_set_clear_func(list, clear_noun);
  for (; *nouns; nouns++) {
    Noun noun = {
        .noun = g_strndup(*nouns, strcspn(*nouns, " *!")),
        .is_named = strchr(*nouns, '*') != NULL,
        .is_one = strchr(*nouns, '!') != NULL,
    };

    g_array_append_val(list, noun);
  }
  return list;
}

static gboolean
fail_unknown(const RaKeyFile *file, guint group, const GArray *list,
             GError **error)
{
  const char *noun = ra_key_file_group(file, group)->noun;
  g_autofree const char **names = g_new0(const char *, list->len + 1);
  g_autofree char *all = NULL;
  const char *nearest;

  for (guint i = 0; i < list->len; i++)
    names[i] = g_array_index(list, Noun, i).noun;
  nearest = ra_text_nearest(noun, names);
  if (nearest)
    return ra_key_file_fail(file, group, NULL, error,
                            "unknown group '%s', did you mean '%s'?", noun,
                            nearest);
  all = g_strjoinv(", ", (char **)names);
  return ra_key_file_fail(file, group, NULL, error,
                          "unknown group '%s', expected one of %s", noun, all);
}

static gboolean
check_group(const RaKeyFile *file, guint group, const GArray *list,
            GError **error)
{
  const RaKeyGroup *g = ra_key_file_group(file, group);
  const Noun *noun = NULL;

  for (guint i = 0; i < list->len && noun == NULL; i++) {
    if (strcmp(g_array_index(list, Noun, i).noun, g->noun) == 0)
      noun = &g_array_index(list, Noun, i);
  }
  if (noun == NULL)
    return fail_unknown(file, group, list, error);
  if (noun->is_named && *g->name == '\0')
    return ra_key_file_fail(file, group, NULL, error,
                            "group [%s] has no name, expected '[%s NAME]'",
                            g->noun, g->noun);
  if (!noun->is_named && *g->name != '\0')
    return ra_key_file_fail(file, group, NULL, error,
                            "group [%s] has the name '%s', expected '[%s]'",
                            g->noun, g->name, g->noun);
  return TRUE;
}

/* Exactly one group of @noun, in a format that we read. */
static gboolean
check_one(const RaKeyFile *file, const Noun *noun, GError **error)
{
  const char *format;
  int found = -1;

  for (guint i = 0; i < file->groups->len; i++) {
    if (strcmp(ra_key_file_group(file, i)->noun, noun->noun) != 0)
      continue;
    if (found >= 0)
      return ra_key_file_fail(file, i, NULL, error,
                              "second group '%s', expected exactly one",
                              noun->noun);
    found = (int)i;
  }
  if (found < 0)
    return ra_key_file_fail_line(file, 1, error,
                                 "missing group '[%s%s]', expected exactly one",
                                 noun->noun, noun->is_named ? " NAME" : "");
  format = ra_key_file_get(file, (guint)found, "format");
  if (format && strcmp(format, "1") != 0)
    return ra_key_file_fail(file, (guint)found, "format", error,
                            "'format' is '%s', expected 1", format);
  return TRUE;
}

gboolean
ra_key_file_check_nouns(const RaKeyFile *file, const char *const *nouns,
                        GError **error)
{
  g_return_val_if_fail(file != NULL && nouns != NULL, FALSE);

  g_autoptr(GArray) list = split_nouns(nouns);

  for (guint i = 0; i < file->groups->len; i++) {
    if (!check_group(file, i, list, error))
      return FALSE;
  }
  for (guint i = 0; i < list->len; i++) {
    const Noun *noun = &g_array_index(list, Noun, i);

    if (noun->is_one && !check_one(file, noun, error))
      return FALSE;
  }
  return TRUE;
}
