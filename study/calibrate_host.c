/* Traces of a host stay out of profiles of GPUs. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "study/calibrate.h"
#include "traces/trace.h"

/* A host computes bf16 as fp32 (study/host.h); a GPU's data sheet has more of
 * it, or no fp32 at all. */
static gboolean
is_of_host(const RaProfile *profile)
{
  return profile->spec.fp32_flop_per_s > 0 &&
         !(profile->spec.bf16_flop_per_s > profile->spec.fp32_flop_per_s);
}

gboolean
ra_calibrate_check_host(const char *path, const char *name, const char *text,
                        GError **error)
{
  g_autoptr(RaKeyFile) file = NULL;
  g_autoptr(RaProfile) profile = NULL;
  g_autoptr(RaTrace) trace = NULL;

  if (g_str_has_suffix(path, ".json") || g_str_has_suffix(path, ".log"))
    return TRUE;
  file = ra_key_file_parse(name, text, strlen(text), error);
  profile = file ? ra_profile_load(file, error) : NULL;
  trace = profile ? ra_trace_load(path, error) : NULL;
  if (!trace)
    return FALSE;
  if (is_of_host(profile) ||
      g_strcmp0(ra_trace_head(trace, "source"), "run") != 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: was measured on a host's cores, but %s is of a GPU, "
              "expected a profile of 'calibrate --backend=host'",
              path, name);
  return FALSE;
}
