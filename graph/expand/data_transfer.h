/* Data transfer between two calls: load of the busiest GPU.
 *
 * Both ends work on the sequences of one set in their order of arrival, divided
 * into pieces (parts, mini-batches).  Each replica has a block of each piece:
 * block d of piece p is [(p D + d) S / (P D), (p D + d + 1) S / (P D)).  One
 * GPU of each replica sends or receives the data of its blocks in the part that
 * moves.  With sampled lengths the busiest is the replica, of either end, with
 * the most tokens.
 *
 *     RaDataTransfer t = {.n_parts = 1, .from = {1, 4}, .to = {1, 1}};
 *     bytes = 4 * ra_data_transfer_most_tokens(&t, set);
 *
 * Typical sizes: 1 to 64 pieces, 1 to 10^3 replicas.
 */
#ifndef RA_GRAPH_EXPAND_DATA_TRANSFER_H
#define RA_GRAPH_EXPAND_DATA_TRANSFER_H

#include "graph/expand/sequence.h"

/* Distribution of a set over a call's pieces and replicas. */
typedef struct {
  uint32_t n_pieces; /* P, >= 1 */
  uint32_t dp;       /* D, >= 1 */
} RaDataEnd;

typedef struct {
  uint32_t part;    /* of the set, < n_parts */
  uint32_t n_parts; /* 1: all at once */
  RaDataEnd from;   /* call that makes the data */
  RaDataEnd to;     /* call that reads them */
} RaDataTransfer;

/* Distribution of the set of @call under @plan. */
RaDataEnd ra_data_end(const RaCall *call, const RaCallPlan *plan);

/* Tokens of all sequences of the part. */
uint64_t ra_data_transfer_tokens(const RaDataTransfer *transfer,
                                 const RaSequenceSet *set);

/**
 * ra_data_transfer_most_tokens:
 * @transfer: part and both ends
 * @set: sampled lengths
 *
 * Cost: O(pieces x replicas) of both ends.   Thread: any.
 *
 * Returns: tokens that the busiest replica of either end sends or receives
 */
uint64_t ra_data_transfer_most_tokens(const RaDataTransfer *transfer,
                                      const RaSequenceSet *set);

#endif
