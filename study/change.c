/* Changes of single values: parsing and application of `--set`. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/plan.h"
#include "study/change.h"
#include "traces/profile.h"
#include "traces/system.h"

typedef const RaKeySpec *(*KeySpecs)(const char *noun, gsize *out_n);

static const RaKeySpec *
system_key_specs(const char *noun, gsize *out_n)
{
  if (!g_str_equal(noun, "system"))
    return ra_system_key_specs(noun, out_n);
  *out_n = 0;
  return NULL;
}

static const struct {
  RaFileKind kind;
  KeySpecs specs; /* keys that its groups may have */
} files[] = {
    {RA_FILE_WORKLOAD, ra_workload_key_specs},
    {RA_FILE_CLUSTER, ra_cluster_key_specs},
    {RA_FILE_PLAN, ra_plan_key_specs},
    {RA_FILE_PROFILE, ra_profile_key_specs},
    {RA_FILE_SYSTEM, system_key_specs},
};

static const char *const nouns[] = {
    "workload", "model",  "call", "cluster",   "link",   "kind",
    "plan",     "device", "law",  "constants", "memory", NULL};

static gboolean fail(GError **error, const char *text, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static gboolean
fail(GError **error, const char *text, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start(args, format);
  message = g_strdup_vprintf(format, args);
  va_end(args);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "--set '%s': %s", text, message);
  return FALSE;
}

/* ", did you mean 'NEAR'?" or "". */
static char *
hint(const char *word, const char *const *names)
{
  const char *near = ra_text_nearest(word, names);

  return near ? g_strdup_printf(", did you mean '%s'?", near) : g_strdup("");
}

void
ra_change_clear(RaChange *change)
{
  g_free(change->text);
  g_free(change->noun);
  g_free(change->name);
  g_free(change->key);
  g_free(change->value);
  memset(change, 0, sizeof *change);
}

/* `format` may stand in any group; which coefficients a law has depends on its
 * name, so its reader refuses what is none. */
static gboolean
has_key(KeySpecs specs, const char *noun, const char *key)
{
  gsize n;
  const RaKeySpec *keys = specs(noun, &n);

  if (g_str_equal(noun, "law"))
    return specs == ra_profile_key_specs;

  for (gsize i = 0; i < n; i++) {
    if (g_str_equal(keys[i].key, key))
      return TRUE;
  }
  return n > 0 && g_str_equal(key, "format");
}

static gboolean
fail_key(const RaChange *change, int forced, GError **error)
{
  g_autoptr(GPtrArray) known = g_ptr_array_new();
  g_autofree char *near = NULL;

  for (guint f = 0; f < G_N_ELEMENTS(files); f++) {
    gsize n;
    const RaKeySpec *keys = files[f].specs(change->noun, &n);

    for (gsize i = 0; i < n && (forced < 0 || forced == (int)f); i++)
      g_ptr_array_add(known, (void *)keys[i].key);
  }
  g_ptr_array_add(known, NULL);
  near = hint(change->key, (const char *const *)known->pdata);
  return fail(error, change->text, "unknown key '%s' in [%s%s]%s%s",
              change->key, change->noun, *change->name ? " NAME" : "",
              forced < 0 ? "" : " of a ",
              forced < 0 ? near : ra_file_kind_name(files[forced].kind));
}

/* Which file the key goes to; @forced: index into files, or -1. */
static gboolean
find_file(RaChange *change, int forced, GError **error)
{
  int found = -1;

  for (int f = 0; f < (int)G_N_ELEMENTS(files); f++) {
    if ((forced >= 0 && forced != f) ||
        !has_key(files[f].specs, change->noun, change->key))
      continue;
    if (found >= 0)
      return fail(
          error, change->text,
          "'%s' may be a key of a %s or a %s, expected '%s:' or '%s:' in front",
          change->key, ra_file_kind_name(files[found].kind),
          ra_file_kind_name(files[f].kind),
          ra_file_kind_name(files[found].kind),
          ra_file_kind_name(files[f].kind));
    found = f;
  }
  if (found < 0)
    return fail_key(change, forced, error);
  change->kind = files[found].kind;
  return TRUE;
}

/* Strips `workload:`, `cluster:` or `plan:`; index into files, or -1. */
static int
take_prefix(const char **inout_text)
{
  for (int f = 0; f < (int)G_N_ELEMENTS(files); f++) {
    const char *name = ra_file_kind_name(files[f].kind);
    gsize n = strlen(name);

    if (strncmp(*inout_text, name, n) == 0 && (*inout_text)[n] == ':') {
      *inout_text += n + 1;
      return f;
    }
  }
  return -1;
}

/* `NOUN` or `NOUN NAME`. */
static gboolean
split_group(RaChange *change, const char *group, GError **error)
{
  const char *space = strchr(group, ' ');
  gboolean wants_name;
  g_autofree char *near = NULL;

  change->noun =
      space ? g_strndup(group, (gsize)(space - group)) : g_strdup(group);
  change->name = g_strstrip(g_strdup(space ? space : ""));
  if (!g_strv_contains(nouns, change->noun)) {
    near = hint(change->noun, nouns);
    return fail(
        error, change->text, "unknown group '%s'%s%s", change->noun, near,
        *near ? ""
              : ", expected workload, model NAME, call NAME, "
                "cluster, link NAME, kind NAME, plan, device, law NAME or "
                "constants");
  }
  wants_name =
      g_str_equal(change->noun, "model") || g_str_equal(change->noun, "call") ||
      g_str_equal(change->noun, "law") || g_str_equal(change->noun, "link") ||
      g_str_equal(change->noun, "kind");
  if (wants_name != (*change->name != '\0'))
    return fail(error, change->text,
                wants_name ? "'%s' without a name, expected '%s NAME'"
                           : "'%s' with a name, expected '%s' alone",
                change->noun, change->noun);
  return TRUE;
}

/* A message shows only what a file can contain. */
static gboolean
is_line(const char *text, GError **error)
{
  g_autofree char *shown = g_utf8_make_valid(text, -1);
  gboolean clean = g_utf8_validate(text, -1, NULL);

  for (char *p = shown; *p; p++) {
    if (!g_ascii_iscntrl(*p) || *p == '\t')
      continue;
    *p = '?';
    clean = FALSE;
  }
  return clean || fail(error, shown,
                       "expected one line of UTF-8 without control "
                       "characters");
}

gboolean
ra_change_parse(const char *text, RaChange *out_change, GError **error)
{
  g_auto(RaChange) change = {.text = g_strdup(text)};
  g_autofree char *left = NULL, *group = NULL;
  const char *at = text, *equals, *dot;
  int forced;

  g_return_val_if_fail(text != NULL && out_change != NULL, FALSE);
  if (!is_line(text, error))
    return FALSE;
  forced = take_prefix(&at);
  equals = strchr(at, '=');
  left = g_strndup(at, equals ? (gsize)(equals - at) : 0);
  dot = strrchr(left, '.'); /* names have dots, keys have none */
  if (!equals || !dot)
    return fail(error, text, "expected 'GROUP.KEY=VALUE'");
  group = g_strstrip(g_strndup(left, (gsize)(dot - left)));
  change.key = g_strstrip(g_strdup(dot + 1));
  change.value = g_strstrip(g_strdup(equals + 1));
  if (!*group || !*change.key || !*change.value)
    return fail(error, text, "expected 'GROUP.KEY=VALUE', the %s is empty",
                !*group        ? "group"
                : !*change.key ? "key"
                               : "value");
  if (!split_group(&change, group, error) || !find_file(&change, forced, error))
    return FALSE;
  *out_change = change;
  memset(&change, 0, sizeof change);
  return TRUE;
}

/* Names of the groups of @noun. */
static void
add_names(GPtrArray *names, const RaKeyFile *file, const char *noun)
{
  for (guint g = 0; file && g < ra_key_file_n_groups(file); g++) {
    if (g_str_equal(ra_key_file_group_noun(file, g), noun))
      g_ptr_array_add(names, (void *)ra_key_file_group_name(file, g));
  }
}

gboolean
ra_change_apply(const RaChange *change, RaKeyFile *file,
                const RaKeyFile *workload, GError **error)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autofree char *near = NULL;

  g_return_val_if_fail(change != NULL && file != NULL, FALSE);
  add_names(names, file, change->noun);
  if (change->kind == RA_FILE_PLAN)
    add_names(names, workload, change->noun);
  if (g_str_equal(change->noun, "link") ||
      g_str_equal(change->noun, "kind")) /* of all there are */
    g_ptr_array_add(names, change->name);
  g_ptr_array_add(names, NULL);
  if (names->len == 1 ||
      !g_strv_contains((const char *const *)names->pdata, change->name)) {
    near = hint(change->name, (const char *const *)names->pdata);
    return fail(error, change->text, "%s has no [%s%s%s]%s",
                ra_key_file_name(file), change->noun, *change->name ? " " : "",
                change->name, near);
  }
  ra_key_file_set(file, change->noun, change->name, change->key, change->value);
  return TRUE;
}
