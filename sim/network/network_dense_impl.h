/* Solver by link, from counts (sim/network/network_dense.c) or from lists
 * (sim/network/network_listed.c): state and shared functions.
 *
 * Private to sim/network/network*.c.
 */
#ifndef RA_SIM_NETWORK_NETWORK_DENSE_IMPL_H
#define RA_SIM_NETWORK_NETWORK_DENSE_IMPL_H

#include "sim/network/network_impl.h"

struct _RaDense {
  uint32_t n;     /* links */
  double *count;  /* (n x n) flows on both links; on the diagonal, on that link
                     alone; NULL: listed */
  double *level;  /* (n) rate of the flows whose bottleneck it is; 0: none */
  double *clock;  /* (n) integral of the level, at since_s */
  double since_s; /* time of the clocks */
  double *open, *free; /* (n) scratch of filling */
  uint32_t *place;     /* (n) position in the order in which links fill */
  uint32_t *order;     /* (n) links in that order */
  RaQueue *ends;       /* (n) ends of its flows, by clock; some are stale */
  GArray *fresh;       /* (uint32_t) slots placed since the last solution */
  uint32_t n_flows;    /* placed flows */
  /* listed: */
  uint32_t n_solved;
  uint32_t *full;  /* (n) links that are some flow's bottleneck */
  uint32_t n_full; /* number of these */
  double *key;     /* (n) level at which a link would fill alone; order of
                      (place) and (order) */
};

/* Attaches @slot, with @left to move, to the clock of link @l. */
void ra_dense_attach(RaNetwork *network, uint32_t slot, uint32_t l,
                     double left);

/* Listed: makes the order of links, or updates it after a change of @l's flows.
 */
void ra_dense_sort_links(RaNetwork *network);
void ra_dense_sort_link(RaNetwork *network, uint32_t l);

/* Listed: progressive filling; clocks must be at now.  O(flows x their
 * links). */
void ra_dense_fill_listed(RaNetwork *network);

#endif
