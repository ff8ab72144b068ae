/* A roofline profile: a device without losses, from the data sheet alone.
 *
 *     g_autoptr(RaProfile) ideal = ra_profile_roofline(profile, &error);
 *     estimator = ra_estimator_new(ideal, cluster, &error);
 *
 * It has no tables, and every law is at its bound: no floors, latencies or
 * launches, the full rates, tiles of one element, and no slowdown by overlap.
 * The replay of a plan with it has the time that FLOP, bytes and links alone
 * require.
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
