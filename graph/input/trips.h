/* Trips: repeated generation within one iteration, until enough groups of
 * responses are useful for training.
 *
 * They model the dynamic sampling of DAPO (arXiv 2503.14476, section 3.2).  A
 * group of responses that are all right or all wrong has no advantage and is
 * discarded.  Prompts are generated trip by trip until enough groups are left.
 * In a workload:
 *
 *     [workload]
 *     prompts = 512              groups that are trained on
 *     trip-prompts = 1536        prompts per trip; default: no trips
 *     pass-rate = 0.4            probability that a group is useful
 *     max-trips = 10             limit, after which other groups fill up
 *     [call reward]
 *     each-trip = true           runs in every trip; generate calls do
 *
 * Prompt i of an iteration passes with probability p, sampled from (seed,
 * iteration, i) alone, so the number of trips T is known before any cost is.
 * With n prompts per trip and N groups wanted, without a limit on trips,
 *
 *     P(T > t) = P(Binomial(t n, p) < N),  E T = sum over t >= 0 of P(T > t)
 *
 * (n = N = 1: geometric, E T = 1 / p).  Training uses the first N groups that
 * passed.  If the limit of trips ends generation with fewer, the first groups
 * that did not pass fill up.
 *
 *     n_trips = ra_trips_draw(workload, iteration, seed, groups);
 *
 * Cost: O(prompts generated).  Typical sizes: 1 to 10 trips.
 */
#ifndef RA_GRAPH_INPUT_TRIPS_H
#define RA_GRAPH_INPUT_TRIPS_H

#include "graph/input/workload.h"

/* TRUE if @workload has trips. */
gboolean ra_trips_are_set(const RaWorkload *workload);

/**
 * ra_trips_draw:
 * @out_groups: (out) (array length=prompts) (nullable): ascending numbers of
 *   the prompts used for training, counted through all trips
 *
 * Returns: number of trips of @iteration, >= 1; 1 for a workload without trips
 */
uint32_t ra_trips_draw(const RaWorkload *workload, uint32_t iteration,
                       uint64_t seed, uint32_t *out_groups);

/* Expected trips of an iteration, E T above with the limit on trips.
 * O(max-trips x prompts). */
double ra_trips_expected(const RaWorkload *workload);

/* Returns FALSE and sets @error, `file:line: ...`, for calls of a trip that
 * read data made after it, chunks that leave a trip, no generate call or
 * two. */
gboolean ra_trips_check(const RaWorkload *workload, GError **error);

#endif
