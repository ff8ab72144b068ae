/* Coefficients from a profile into the plain structs of the laws.
 *
 * Done once when an estimator is made, so that a cost is arithmetic on
 * doubles.  A resolver remembers the first failure and then does nothing, so
 * that a law's init reads as a list:
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
  GError **error;           /* where the first failure goes */
} RaResolver;

/* Takes the law called @name; without it sets @error, which names the profile.
 */
void ra_resolver_init(RaResolver *resolver, const RaProfile *profile,
                      const char *name, GError **error);

/* The coefficient's value, SI; 0 after a failure. */
double ra_resolve(RaResolver *resolver, const char *coefficient);

gboolean ra_resolver_ok(const RaResolver *resolver);

/* From here on a rate takes no time: the ideal device of a test. */
#define RA_RATE_IDEAL 1e100

/* Seconds for one unit at @rate (a second); 0 from RA_RATE_IDEAL on, and for
 * the 0 of a resolver that has failed. */
double ra_rate_s(double rate);

#endif
