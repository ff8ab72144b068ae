/* Flows over links: who shares what, and when each ends.
 *
 * A *link* has a capacity.  A *flow* moves an amount over a set of links at
 * once, at one rate; on each it takes rate x weight of the capacity, so a
 * message has weight 1 everywhere and a ring all-reduce is one flow whose
 * weights are what a ring sends over each link.  Rates are max-min fair: no
 * flow's rate could grow without lowering that of one that is not faster.
 * Equivalently, every flow has a *bottleneck*: a link that is full and on which
 * nobody is faster (Bertsekas and Gallager, Data Networks, section 6.5.2).
 *
 * That criterion is local, which makes changes cheap and exact: only flows
 * whose bottleneck link changed are solved again, the others held; then flows
 * for which the criterion no longer holds join them, until it holds for all.
 *
 *     RaNetwork *net = ra_network_new(capacity, n_links);
 *     ra_network_start(net, links, weights, n, amount, latency_s, payload);
 *     while (ra_network_next_s(net) < INFINITY) {
 *       payload = ra_network_pop(net);       now is ra_network_now_s(net)
 *       ... ra_network_start() what this allows ...
 *     }
 *
 * Many flows over one or two of few links each (sim/network/network_dense.c)
 * are solved by link, from counts, without a look at the flows, others by link
 * from lists (sim/network/network_listed.c) where local solutions keep failing;
 * flows that one link holds back by its clock (sim/network/network_hub.c).
 *
 * Ends come ordered by (time, order of start).  Several ends at one time cost
 * one solution.  A flow alone on its links costs none.
 * Invariants: no link above its capacity, every started flow with a bottleneck,
 * amounts conserved (tests/sim/check_network.c).
 * Typical sizes: 10^2 to 10^5 links, 10^4 flows at a time, 10^7 a run.
 */
#ifndef RA_SIM_NETWORK_NETWORK_H
#define RA_SIM_NETWORK_NETWORK_H

#include <glib.h>
#include <stdint.h>

typedef struct _RaNetwork RaNetwork;

/* What was done so far: the cost of a run in operations. */
typedef struct {
  uint64_t n_flows;   /* started */
  uint64_t n_solved;  /* solutions */
  uint64_t n_listed;  /* of them, by lists (sim/network/network_listed.c) */
  uint64_t n_rounds;  /* of them, regions tried */
  uint64_t n_visited; /* flows looked at in all rounds */
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
 * @n: links; 0: the flow ends after its latency, as one of no amount does
 * @amount: >= 0
 * @latency_s: from now until it takes capacity, >= 0
 * @payload: the caller's
 *
 * Cost: O(n), beside what its start makes to be solved.
 */
void ra_network_start(RaNetwork *network, const uint32_t *links,
                      const double *weights, uint32_t n, double amount,
                      double latency_s, uint32_t payload);

/* Something of the caller's own at @time_s >= now: comes out of
 * ra_network_pop() among the ends. O(log pending), O(1) if none is later. */
void ra_network_at(RaNetwork *network, double time_s, uint32_t payload);

/* Time of the next end, %INFINITY: nothing is left, or all that is left stands
 * still. */
double ra_network_next_s(RaNetwork *network);

/* The same for a caller that has something of its own at @limit_s: where no end
 * is that early, some time after @limit_s, and time stays before it. */
double ra_network_next_by_s(RaNetwork *network, double limit_s);

/* Moves on to the next end, which must exist, and removes it.  Returns its
 * payload. */
uint32_t ra_network_pop(RaNetwork *network);

/* Time goes on to @time_s, which is neither before now nor after
 * ra_network_next_s(): what starts from then on starts then. */
void ra_network_advance(RaNetwork *network, double time_s);

/* Time of the last end popped or advance, 0 before. */
double ra_network_now_s(const RaNetwork *network);

/* Capacity in use on @link after all that was started by now, amount per
 * second.  O(flows on it). */
double ra_network_used(RaNetwork *network, uint32_t link);

/* Flows that have taken capacity and not ended: calls @visit with each one's
 * payload, rate, bottleneck link and links.  For tests and reports. */
typedef void (*RaFlowVisit)(uint32_t payload, double rate, uint32_t bottleneck,
                            const uint32_t *links, uint32_t n, void *data);
void ra_network_visit(RaNetwork *network, RaFlowVisit visit, void *data);

const RaNetworkWork *ra_network_work(const RaNetwork *network);

#endif
