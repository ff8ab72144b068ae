/* Resolving coefficients: from a profile into the plain structs of the laws.
 *
 * This is done once when an estimator is made, so that a cost is arithmetic on
 * doubles.  A resolver keeps its first failure and then does nothing, so that
 * the init function of a law reads as a list:
 *
 *     RaResolver r;
 *     ra_resolver_init(&r, profile, "host-copy", error);
 *     law->latency_s = ra_resolve(&r, "latency-s");
 *     return ra_resolver_ok(&r);
 */
#ifndef RA_ESTIMATOR_RESOLVE_H
#define RA_ESTIMATOR_RESOLVE_H

#include "traces/profile.h"

typedef struct {
  const RaProfile *profile; /* borrowed */
  const RaLaw *law;         /* borrowed; NULL after a failure */
  GError **error;           /* receives the first failure */
} RaResolver;

/* Selects the law @name; if it is missing, sets @error, which names the
 * profile.
 */
void ra_resolver_init(RaResolver *resolver, const RaProfile *profile,
                      const char *name, GError **error);

/* The value of @coefficient, SI; 0 after a failure. */
double ra_resolve(RaResolver *resolver, const char *coefficient);

gboolean ra_resolver_ok(const RaResolver *resolver);

/* Rates from this one on cost no time: the ideal device of a test. */
#define RA_RATE_IDEAL 1e100

/* Seconds for one unit at @rate (units a second); 0 from RA_RATE_IDEAL on, and
 * for 0, which a failed resolver returns. */
double ra_rate_s(double rate);

#endif
