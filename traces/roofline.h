/* A profile of the data sheet alone: what a device without losses would take.
 *
 *     g_autoptr(RaProfile) ideal = ra_profile_roofline(profile, &error);
 *     estimator = ra_estimator_new(ideal, cluster, &error);
 *
 * The tables are gone and every law is at its bound: no floors, latencies and
 * launches, all of every rate, tiles of one element, nothing slowed by what
 * runs beside it.  A plan replayed with it has the seconds that FLOP, bytes and
 * links alone ask for.
 */
#ifndef RA_TRACES_ROOFLINE_H
#define RA_TRACES_ROOFLINE_H

#include "traces/profile.h"

/**
 * ra_profile_roofline:
 * @profile: borrowed during the call
 * @error: as ra_profile_load()
 *
 * Returns: (transfer full): ra_profile_free() it
 */
RaProfile *ra_profile_roofline(const RaProfile *profile, GError **error);

#endif
