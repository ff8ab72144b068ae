/* Network of flows over shared links: max-min fair rates and times of ends.
 *
 * A *link* has a capacity.  A *flow* moves an amount over a set of links at
 * once, at one rate.  On each link it uses rate x weight of the capacity.  A
 * message has weight 1 everywhere; a ring all-reduce is one flow whose weights
 * are the amounts that a ring sends over each link.
 *
 * Rates are max-min fair: no flow's rate could grow without lowering that of a
 * flow that is not faster.  Equivalently, every flow has a *bottleneck*: a full
 * link on which no flow is faster (Bertsekas and Gallager, Data Networks,
 * section 6.5.2).  This criterion is local, which makes changes cheap and
 * exact.  Only flows whose bottleneck link changed are solved again, while the
 * others keep their rates.  Then flows for which the criterion no longer holds
 * join them, until it holds for all.
 *
 *     RaNetwork *net = ra_network_new(capacity, n_links);
 *     ra_network_start(net, links, weights, n, amount, latency_s, payload);
 *     while (ra_network_next_s(net) < INFINITY) {
 *       payload = ra_network_pop(net);       now is ra_network_now_s(net)
 *       ... ra_network_start() what this allows ...
 *     }
 *
 * Three special solvers take over where they are faster:
 *
 * dense    Many flows over one or two of few links each: solved by link, from
 *          counts, without visiting flows (sim/network/network_dense.c).
 * listed   Local solutions keep failing: solved by link, from lists
 *          (sim/network/network_dense.c).
 * hub      One link is the bottleneck of all flows: solved by its clock
 *          (sim/network/network_hub.c).
 *
 * Ends are ordered by (time, order of start).  Several ends at one time cost
 * one solution.  A flow alone on its links costs none.
 *
 * Invariants: no link above its capacity, every started flow with a bottleneck,
 * amounts conserved (tests/sim/check_network.c).
 *
 * Typical sizes: 10^2 to 10^5 links, 10^4 concurrent flows, 10^7 per run.
 */
#ifndef RA_SIM_NETWORK_NETWORK_H
#define RA_SIM_NETWORK_NETWORK_H

#include <glib.h>
#include <stdint.h>

typedef struct _RaNetwork RaNetwork;

/* Cost of a run so far, in operations. */
typedef struct {
  uint64_t n_flows;   /* flows started */
  uint64_t n_solved;  /* solutions */
  uint64_t n_listed;  /* solutions by lists (sim/network/network_dense.c) */
  uint64_t n_rounds;  /* regions tried in all solutions */
  uint64_t n_visited; /* flows visited in all rounds */
} RaNetworkWork;

/**
 * ra_network_new:
 * @capacity: (array length=n_links): amount per second, >= 0; 0: failed
 *
 * Returns: (transfer full): ra_network_free() it
 */
RaNetwork *ra_network_new(const double *capacity, uint32_t n_links);
void ra_network_free(RaNetwork *network);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaNetwork, ra_network_free)

/**
 * ra_network_start:
 * @links: (array length=n): each at most once
 * @weights: (array length=n) (nullable): > 0; %NULL: 1 each
 * @n: number of links; 0: the flow ends after its latency, like one with
 *   amount 0
 * @amount: >= 0
 * @latency_s: time from now until the flow uses capacity, >= 0
 * @payload: the caller's value
 *
 * Starts a flow.   Cost: O(n), plus the solution that the start requires.
 */
void ra_network_start(RaNetwork *network, const uint32_t *links,
                      const double *weights, uint32_t n, double amount,
                      double latency_s, uint32_t payload);

/* Adds the caller's own event at @time_s >= now; ra_network_pop() returns it
 * among the ends.  O(log pending), O(1) if none is later. */
void ra_network_at(RaNetwork *network, double time_s, uint32_t payload);

/* Time of the next end; %INFINITY: no flow is left, or all have rate 0. */
double ra_network_next_s(RaNetwork *network);

/* Like ra_network_next_s() for a caller with its own event at @limit_s.  If no
 * end is that early, it returns some time after @limit_s, and time stays before
 * @limit_s. */
double ra_network_next_by_s(RaNetwork *network, double limit_s);

/* Advances to the next end, which must exist, and removes it.  Returns its
 * payload. */
uint32_t ra_network_pop(RaNetwork *network);

/* Advances time to @time_s, which is neither before now nor after
 * ra_network_next_s(); later starts happen at that time. */
void ra_network_advance(RaNetwork *network, double time_s);

/* Time of the last end popped or advance, 0 before. */
double ra_network_now_s(const RaNetwork *network);

/* Capacity in use on @link after all starts so far, amount per second.  O(flows
 * on it). */
double ra_network_used(RaNetwork *network, uint32_t link);

/* Calls @visit for every flow that uses capacity, with its payload, rate,
 * bottleneck link and links.  For tests and reports. */
typedef void (*RaFlowVisit)(uint32_t payload, double rate, uint32_t bottleneck,
                            const uint32_t *links, uint32_t n, void *data);
void ra_network_visit(RaNetwork *network, RaFlowVisit visit, void *data);

const RaNetworkWork *ra_network_work(const RaNetwork *network);

#endif
