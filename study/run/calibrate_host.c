/* Traces of a host stay out of profiles of GPUs, and those out of a host's. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "estimator/calibrate/calibrate.h"
#include "traces/kineto.h"
#include "traces/nccl_log.h"
#include "traces/trace.h"

/* A host computes bf16 as fp32 (study/run/host.h); a GPU's data sheet has more
 * of it, or no fp32 at all. */
static gboolean
is_of_host(const RaProfile *profile)
{
  return profile->spec.fp32_flop_per_s > 0 &&
         !(profile->spec.bf16_flop_per_s > profile->spec.fp32_flop_per_s);
}

typedef enum { OF_NEITHER, OF_HOST, OF_GPU } Origin;

/* Machine that was measured; a simulation may assume any machine. */
static Origin
origin_of(const RaTrace *trace)
{
  const char *backend = ra_trace_head(trace, RA_TRACE_BACKEND);

  if (g_strcmp0(ra_trace_head(trace, "source"), "run") != 0)
    return OF_NEITHER;
  return !backend || strcmp(backend, "host") == 0 ? OF_HOST : OF_GPU;
}

static gboolean
find_origin(const char *path, Origin *out, GError **error)
{
  g_autoptr(RaTrace) trace = NULL;
  RaKinetoTally tally;

  if (ra_nccl_log_is(path)) {
    *out = OF_GPU;
    return TRUE;
  }
  if (ra_kineto_is_named(path))
    trace = ra_kineto_load(path, &tally, error);
  else
    trace = ra_trace_load(path, error);
  if (!trace)
    return FALSE;
  if (ra_kineto_is_named(path))
    *out = tally.n_kernels > 0 ? OF_GPU : OF_NEITHER;
  else
    *out = origin_of(trace);
  return TRUE;
}

gboolean
ra_calibrate_check_host(const char *path, const char *name, const char *text,
                        GError **error)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse(name, text, strlen(text), error);
  g_autoptr(RaProfile) profile = file ? ra_profile_load(file, error) : NULL;
  Origin origin;

  if (!profile || !find_origin(path, &origin, error))
    return FALSE;
  if (origin == OF_HOST && !is_of_host(profile))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: was measured on a host's cores, but %s is a GPU's, "
                "expected a profile of 'calibrate --backend=host'",
                path, name);
  else if (origin == OF_GPU && is_of_host(profile))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: was measured on a GPU, but %s is a host's, expected a "
                "profile of a GPU",
                path, name);
  else
    return TRUE;
  return FALSE;
}
