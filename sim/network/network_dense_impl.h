/* What solving by link shares: by counts (sim/network/network_dense.c) and by
 * lists (sim/network/network_listed.c).
 *
 * Private to sim/.
 */
#ifndef RA_SIM_NETWORK_NETWORK_DENSE_IMPL_H
#define RA_SIM_NETWORK_NETWORK_DENSE_IMPL_H

#include "sim/network/network_impl.h"

struct _RaDense {
  uint32_t n;    /* links */
  double *count; /* (n x n) flows on both; on the diagonal on it alone; NULL:
                    listed */
  double *level; /* (n) rate of the flows it is the bottleneck of; 0: of none */
  double *clock; /* (n) integral of the level, at since_s */
  double since_s;      /* of the clocks */
  double *open, *free; /* (n) scratch of filling */
  uint32_t *place;     /* (n) in the order in which links fill */
  uint32_t *order;     /* (n) links in that order */
  RaQueue *ends;       /* (n) of its flows, by clock; some have moved on */
  GArray *fresh;       /* (uint32_t) slots placed since the last solution */
  uint32_t n_flows;    /* placed */
  /* listed: */
  uint32_t n_solved;
  uint32_t *full;  /* (n) links that are some flow's bottleneck */
  uint32_t n_full; /* of them */
  double *key;     /* (n) level at which a link would fill alone; (place) and
                      (order) are by it */
};

/* @left of @slot goes at the pace of link @l from now on. */
void ra_dense_attach(RaNetwork *network, uint32_t slot, uint32_t l,
                     double left);

/* Listed: the order of links, made, and kept after a change of @l's flows. */
void ra_dense_sort_links(RaNetwork *network);
void ra_dense_sort_link(RaNetwork *network, uint32_t l);

/* Listed: progressive filling; clocks stand at now.  O(flows x their links). */
void ra_dense_fill_listed(RaNetwork *network);

#endif
