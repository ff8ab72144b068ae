/* The text of an ideal profile, and edits of it. */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_points.h"
#include "tests/support/profile_text.h"
#include "traces/law.h"

/* Value that makes a law ideal, by its coefficient's name. */
static const char *
ideal_value(const char *name)
{
  static const char *const none[] = {
      "wave-frac",    "serial-frac",   "hierarchical-frac", "ramp-k",
      "flash",        "head-dim-half", "quantize-bytes",    "token-bytes",
      "product-frac", "memory-frac",   "comm-frac",         NULL};

  return g_str_has_suffix(name, "-s") || g_strv_contains(none, name) ? "0"
                                                                     : "1";
}

/* The value that the edits give to @law.@key, or @value. */
static const char *
edited(const char *const *edits, const char *law, const char *key,
       const char *value)
{
  g_autofree char *start = g_strdup_printf("%s.%s=", law, key);

  for (; edits && *edits; edits++)
    if (g_str_has_prefix(*edits, start))
      value = *edits + strlen(start);
  return value;
}

/* TRUE if an edit is of @law. */
static gboolean
names(const char *const *edits, const char *law)
{
  g_autofree char *start = g_strdup_printf("%s.", law);

  for (; edits && *edits; edits++)
    if (g_str_has_prefix(*edits, start))
      return TRUE;
  return FALSE;
}

char *
profile_text(const char *const *edits)
{
  static const char *const device[][2] = {
      {"memory", "80 GiB"},          {"memory-bandwidth", "1 GB/s"},
      {"bf16", "1 TFLOP/s"},         {"fp8", "2 TFLOP/s"},
      {"intra-node", "100000 kB/s"}, {"host", "10000 kB/s"},
      {"source", "a test"},
  };
  GString *text = g_string_new("[profile]\nformat = 1\ndevice = ideal\n"
                               "derived = by hand\n[device]\n");

  for (guint i = 0; i < G_N_ELEMENTS(device); i++)
    g_string_append_printf(text, "%s = %s\n", device[i][0],
                           edited(edits, "device", device[i][0], device[i][1]));
  for (guint i = 0; i < ra_law_n_specs(); i++) {
    const RaLawSpec *law = ra_law_spec_at(i);

    if (law->stand_in && !names(edits, law->name))
      continue;
    g_string_append_printf(text, "[law %s]\n", law->name);
    for (guint j = 0; j < law->n_coefficients; j++) {
      const char *name = law->coefficients[j].name;

      g_string_append_printf(text, "%s = %s\n", name,
                             edited(edits, law->name, name, ideal_value(name)));
    }
    g_string_append(text, "source = a test\nrows = 0\nrange = all\n"
                          "error-median = -\nerror-p90 = -\n");
    if (edited(edits, law->name, "transferred", NULL))
      g_string_append_printf(text, "transferred = %s\n",
                             edited(edits, law->name, "transferred", NULL));
  }
  return g_string_free(text, FALSE);
}

static RaProfile *
load(RaKeyFile *file)
{
  GError *error = NULL;
  RaProfile *profile = ra_profile_load(file, &error);

  ck_assert_msg(profile != NULL, "%s", error ? error->message : "no error");
  ra_key_file_unref(file);
  return profile;
}

RaProfile *
profile_text_parse(const char *text)
{
  GError *error = NULL;
  RaKeyFile *file =
      ra_key_file_parse("test.profile", text, strlen(text), &error);

  ck_assert_msg(file != NULL, "%s", error ? error->message : "no error");
  return load(file);
}

RaProfile *
profile_text_load(const char *edit, ...)
{
  const char *edits[64] = {NULL};
  g_autofree char *text = NULL;
  guint n = 0;
  va_list rest;

  va_start(rest, edit);
  for (; edit; edit = va_arg(rest, const char *)) {
    ck_assert_uint_lt(n, G_N_ELEMENTS(edits) - 1);
    edits[n++] = edit;
  }
  va_end(rest);
  text = profile_text(edits);
  return profile_text_parse(text);
}

RaProfile *
profile_text_shipped(const char *device)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *path = g_strdup_printf("%s/traces/profiles/%s.profile",
                                          srcdir ? srcdir : ".", device);
  GError *error = NULL;
  RaKeyFile *file = ra_key_file_load(path, &error);

  ck_assert_msg(file != NULL, "%s", error ? error->message : "no error");
  return load(file);
}
