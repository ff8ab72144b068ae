/* Trips: an iteration that generates again until enough of it can be trained
 * on.
 *
 * Dynamic sampling of DAPO (arXiv 2503.14476, section 3.2): a group of answers
 * that are all right or all wrong has no advantage, so it is thrown away, and
 * prompts are generated trip by trip until enough groups are left.  In a
 * workload:
 *
 *     [workload]
 *     prompts = 512              groups that are trained on
 *     trip-prompts = 1536        prompts of a trip; default: no trips
 *     pass-rate = 0.4            probability of a group to be of use
 *     max-trips = 10             then training takes what there is
 *     [call reward]
 *     each-trip = true           runs in every trip; generate calls do
 *
 * Whether prompt i of an iteration passes is drawn, with probability p, by
 * (seed, iteration, i) alone, so the number of trips T is known before anything
 * is costed; n prompts a trip and N groups wanted, without a limit on trips,
 *
 *     P(T > t) = P(Binomial(t n, p) < N),  E T = sum over t >= 0 of it
 *
 * (n = N = 1: geometric, E T = 1 / p).  What is trained on are the first N that
 * passed; where the last trip has been, the first of those that did not as
 * well.
 *
 *     n_trips = ra_trips_draw(workload, iteration, seed, groups);
 *
 * Cost: O(prompts generated).  Typical sizes: 1 to 10 trips.
 */
#ifndef RA_GRAPH_INPUT_TRIPS_H
#define RA_GRAPH_INPUT_TRIPS_H

#include "graph/input/workload.h"

/* Whether @workload has trips. */
gboolean ra_trips_are_set(const RaWorkload *workload);

/**
 * ra_trips_draw:
 * @out_groups: (out) (array length=prompts) (nullable): numbers of the prompts
 *   that are trained on, counted through all trips, ascending
 *
 * Returns: trips of @iteration, 1 at least and where there are none
 */
uint32_t ra_trips_draw(const RaWorkload *workload, uint32_t iteration,
                       uint64_t seed, uint32_t *out_groups);

/* Expected trips of an iteration, as above, with its limit.  O(max-trips x
 * prompts). */
double ra_trips_expected(const RaWorkload *workload);

/* FALSE with @error set, `file:line: ...`: calls of a trip that read what is
 * made after it, chunks that leave a trip, no generate call or two. */
gboolean ra_trips_check(const RaWorkload *workload, GError **error);

#endif
