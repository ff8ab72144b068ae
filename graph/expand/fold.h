/* Folding: replicas that do the same at the same times are expanded once.
 *
 * Replicas d and d' of a call are *twins*, and so are two lanes, if
 *
 *   1. d and d' work on sequences of the same lengths in the same order, in
 *      every iteration, and their stages are as far from each other (a send
 *      stays within the node for both or for neither);
 *   2. stage s of d and stage s of d' run on the same classes of lanes, and
 *      where zero has sets of shards d's set has as many replicas of each
 *      class as d''s;
 *   3. twin lanes are in the same calls, there in the same stage of twin
 *      replicas.
 *
 * The coarsest such classes are found by refinement: (1) to begin with, then
 * (3) and (2) in turn until nothing splits.
 *
 * Why folding is exact.  Say that two tasks of the unfolded graph are twins if
 * they differ in the replica alone and their replicas are twins.  They have
 * the same duration, by (1).  What a task waits for is given by its place in
 * its pipeline, the same for twins; by the joins and collectives of its
 * node, which are one task for all replicas or, of a set of shards, one for a
 * set, and twins' sets have the same classes by (2); and by the task before it
 * in the queue of each of its lanes.  Queues are static: the queue of a lane
 * is, call by call in program order, the stage's tasks of the one replica that
 * the lane is part of, so by (3) the k-th tasks of twin lanes' queues are
 * twins, and by (2) the sets of tasks that twins wait for are the same up to
 * twins.  A task begins at the maximum of the ends of what it waits for, and a
 * maximum does not see how often a value occurs: so by induction over the order
 * of expansion, twins begin and end at the same instants, to the last bit.  In
 * the folded graph one task stands for its twins and waits for those that
 * stand for what they wait for, so by the same induction it has their times.
 * Sums over GPUs are weighted sums, made without rounding (base/sum.h), so
 * they are the same numbers too.
 *
 * Nothing is approximated in order to fold: with sampled lengths the replicas
 * of a call differ and only lanes fold.
 *
 * Cost: O((GPUs + sequences) x calls) beside O(lanes log lanes) a round of
 * refinement, of which there are 2 or 3; never O(tasks of the unfolded graph).
 */
#ifndef RA_GRAPH_EXPAND_FOLD_H
#define RA_GRAPH_EXPAND_FOLD_H

#include "graph/expand/builder.h"

/* What of the plan the graph will have. */
typedef struct {
  uint32_t only_call;   /* this call, in `iteration`; RA_NONE: all */
  uint32_t iteration;   /* with only_call */
  gboolean whole_calls; /* call fidelity: replicas do not show */
} RaFoldScope;

/**
 * ra_fold_apply:
 * @builder: (inout): without any task or group
 * @scope: of the graph
 *
 * Makes the lanes of @builder classes of lanes, and gives replicas weights.
 */
void ra_fold_apply(RaBuilder *builder, const RaFoldScope *scope);

#endif
