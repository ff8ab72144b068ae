/* Laws at their bounds: each coefficient's value without losses. */
#include "config.h"

#include <string.h>

#include "traces/law.h"
#include "traces/roofline.h"

/* The value of a coefficient at which it costs nothing, or leaves all of a
 * rate; NULL: that of the profile. */
static const char *
ideal_value(const char *name)
{
  static const char *const ones[] = {"sms", "tile-m", "tile-n", NULL};
  static const char *const zeros[] = {
      "wave-frac",   "serial-frac", "ramp-k",        "flash", "product-frac",
      "memory-frac", "comm-frac",   "head-dim-half", NULL};

  if (strcmp(name, "split-k") == 0)
    return "1e9";
  if (g_str_has_suffix(name, "-s") || g_str_has_suffix(name, "-bytes") ||
      g_strv_contains(zeros, name))
    return "0";
  return g_str_has_suffix(name, "-frac") || g_strv_contains(ones, name) ? "1"
                                                                        : NULL;
}

/* New value of @law's @key; NULL: as it is. */
static const char *
replaced(const RaLawSpec *law, const char *key)
{
  for (guint i = 0; law && i < law->n_coefficients; i++)
    if (strcmp(law->coefficients[i].name, key) == 0)
      return ideal_value(key);
  return NULL;
}

RaProfile *
ra_profile_roofline(const RaProfile *profile, GError **error)
{
  const RaKeyFile *file = profile->file;
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(RaKeyFile) ideal = NULL;

  for (guint g = 0; g < ra_key_file_n_groups(file); g++) {
    const char *noun = ra_key_file_group_noun(file, g), *key;
    const char *name = ra_key_file_group_name(file, g);
    const RaLawSpec *law = strcmp(noun, "law") == 0 ? ra_law_spec(name) : NULL;

    if (strcmp(noun, "table") == 0)
      continue;
    g_string_append_printf(text, "[%s%s%s]\n", noun, *name ? " " : "", name);
    for (guint i = 0; (key = ra_key_file_key(file, g, i)) != NULL; i++) {
      const char *value = replaced(law, key);

      g_string_append_printf(text, "%s = %s\n", key,
                             value ? value : ra_key_file_value(file, g, i));
    }
  }
  ideal = ra_key_file_parse("roofline.profile", text->str, text->len, error);
  return ideal ? ra_profile_load(ideal, error) : NULL;
}
