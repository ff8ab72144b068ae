/* Fuzz entry of system profiles: no text may crash the reader, and what it
 * accepts sets a few constants within their bounds. */
#include "config.h"

#include "tests/fuzz/fuzz.h"
#include "traces/system.h"

gboolean fuzz_accepted;

static void
check_system(const RaSystem *system)
{
  const RaSystemConstants *c = &system->constants;
  gsize n_specs;
  const RaKeySpec *specs = ra_system_constant_specs(&n_specs);
  guint n = 0;

  for (gsize i = 0; i < n_specs; i++)
    n += ra_system_sets(system, specs[i].key);
  g_assert(n >= 1 && n <= RA_N_SYSTEM_PHASES * RA_SYSTEM_CONSTANTS_MAX);
  g_assert(c->decode_layer_s >= 0 && c->decode_layer_s <= 1);
  g_assert(c->prefill_layer_s >= 0 && c->prefill_layer_s <= 1);
  g_assert(c->decode_stage_s >= 0 && c->decode_stage_s <= 1);
  g_assert(c->compute_factor >= 0.1 && c->compute_factor <= 10);
  g_assert(*system->release && *system->derived && *system->source &&
           *system->range);
  g_assert(!(system->error_median_frac < 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  GError *error = NULL;
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("f.system", (const char *)data, size, &error);
  g_autoptr(RaSystem) system = file ? ra_system_load(file, &error) : NULL;

  fuzz_accepted = system != NULL;
  if (fuzz_check_error(fuzz_accepted, error))
    check_system(system);
  return 0;
}
