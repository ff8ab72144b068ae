/* Fuzz entry of the profile reader: no text may crash it, and a profile that
 * it accepts has every coefficient of its laws within bounds.
 *
 * Without a fuzzer check_profile replays tests/corpus/profile through it.
 */
#include "config.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "traces/law.h"
#include "traces/profile.h"

gboolean fuzz_accepted;

static void
hold_law(const RaLaw *law)
{
  const RaLawSpec *spec = ra_law_spec(law->name);

  g_assert(spec != NULL && law->source && law->range);
  g_assert(law->n_coefficients == spec->n_coefficients);
  for (guint i = 0; i < law->n_coefficients; i++) {
    const RaCoefficient *c = &law->coefficients[i];
    const RaCoefficientSpec *s = ra_law_coefficient_spec(spec, c->name);

    g_assert(s && c->value >= s->min && c->value <= s->max);
  }
  g_assert(!(law->error_median_frac < 0) && !(law->error_p90_frac < 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("f.profile", (const char *)data, size, &error);
  g_autoptr(RaProfile) profile = file ? ra_profile_load(file, &error) : NULL;

  fuzz_accepted = profile != NULL;
  g_assert(fuzz_accepted == (error == NULL));
  if (!profile) {
    g_assert(g_str_has_prefix(error->message, "f.profile:"));
    g_assert(!strchr(error->message, '\n'));
    return 0;
  }
  g_assert(profile->spec.memory_bytes_per_s > 0);
  for (guint i = 0; i < profile->n_laws; i++) {
    hold_law(&profile->laws[i]);
    g_assert(ra_profile_law(profile, profile->laws[i].name) ==
             &profile->laws[i]);
  }
  return 0;
}
