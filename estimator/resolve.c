/* Coefficients of a profile by name; the first failure is kept. */
#include "config.h"

#include "base/error.h"
#include "estimator/resolve.h"

void
ra_resolver_init(RaResolver *resolver, const RaProfile *profile,
                 const char *name, GError **error)
{
  resolver->profile = profile;
  resolver->law = ra_profile_law(profile, name);
  resolver->error = error;
  if (resolver->law == NULL)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s:1: law '%s' is missing, expected a group '[law %s]'",
                ra_key_file_name(profile->file), name, name);
}

double
ra_resolve(RaResolver *resolver, const char *coefficient)
{
  double value = 0;

  if (resolver->law && !ra_law_get(resolver->profile, resolver->law,
                                   coefficient, &value, resolver->error))
    resolver->law = NULL;
  return value;
}

double
ra_rate_s(double rate)
{
  return rate > 0 && rate < RA_RATE_IDEAL ? 1 / rate : 0;
}

gboolean
ra_resolver_ok(const RaResolver *resolver)
{
  return resolver->law != NULL;
}
