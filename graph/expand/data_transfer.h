/* Data between two calls: how much of a batch the busiest GPU moves.
 *
 * Both ends work on the sequences of one set in their order of arrival, cut
 * into pieces (parts, mini-batches) of which each replica takes its block:
 * block d of piece p is [(p D + d) S / (P D), (p D + d + 1) S / (P D)).  One
 * GPU of each replica sends or receives what its blocks have of the part that
 * is moved, so with drawn lengths the busiest is the replica, of either end,
 * that drew most.
 *
 *     RaDataTransfer t = {.n_parts = 1, .from = {1, 4}, .to = {1, 1}};
 *     bytes = 4 * ra_data_transfer_most_tokens(&t, set);
 *
 * Typical sizes: 1 to 64 pieces, 1 to 10^3 replicas.
 */
#ifndef RA_GRAPH_EXPAND_DATA_TRANSFER_H
#define RA_GRAPH_EXPAND_DATA_TRANSFER_H

#include "graph/expand/sequence.h"

/* How a call shares a set. */
typedef struct {
  uint32_t n_pieces; /* P, >= 1 */
  uint32_t dp;       /* D, >= 1 */
} RaDataEnd;

typedef struct {
  uint32_t part;    /* of the set, < n_parts */
  uint32_t n_parts; /* 1: all at once */
  RaDataEnd from;   /* who made the data */
  RaDataEnd to;     /* who reads them */
} RaDataTransfer;

/* As @call runs by @plan. */
RaDataEnd ra_data_end(const RaCall *call, const RaCallPlan *plan);

/* Tokens of all sequences of the part. */
uint64_t ra_data_transfer_tokens(const RaDataTransfer *transfer,
                                 const RaSequenceSet *set);

/**
 * ra_data_transfer_most_tokens:
 * @transfer: which part, between whom
 * @set: what was drawn
 *
 * Cost: O(pieces x replicas) of both ends.   Thread: any.
 *
 * Returns: tokens that the busiest replica of either end sends or receives
 */
uint64_t ra_data_transfer_most_tokens(const RaDataTransfer *transfer,
                                      const RaSequenceSet *set);

#endif
