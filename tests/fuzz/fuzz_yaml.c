/* Fuzz entry of YAML settings: what is accepted has a value, or none, for each
 * of its keys, which is the same when it is asked for again.  Files that it
 * names are none of its business: its own folder does not exist. */
#include "config.h"

#include "study/convert/setting.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  g_autofree char *text = g_strndup((const char *)data, size);
  GError *error = NULL;
  g_autoptr(RaSettings) s = NULL;

  fuzz_accepted = FALSE;
  if (strstr(text, "defaults") && strstr(text, "..")) /* out of its folder */
    return 0;
  s = ra_settings_parse("/nowhere/fuzz.yaml", text, strlen(text), TRUE, &error);
  fuzz_accepted = fuzz_check_error(s != NULL, error);
  for (guint i = 0; s && i < MIN(ra_settings_n(s), 100); i++) {
    const char *key = ra_settings_at(s, i)->key;
    const char *value = ra_settings_get(s, key);

    g_assert(g_strcmp0(value, ra_settings_get(s, key)) == 0);
    g_assert(ra_settings_has(s, key));
  }
  return 0;
}
